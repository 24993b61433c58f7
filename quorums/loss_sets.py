"""The lemmas about losses with stripes: the same losses lose data and block fencing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import z3

from fencepost.quorums.arithmetic import Formulas
from fencepost.quorums.coverage import AQ, VALID, WQ, E, set_script
from fencepost.quorums.set_claims import LOST, Bits, SetClaim, every_window_covered, fewer_than
from fencepost.quorums.smt import ProofObligation, obligation
from fencepost.quorums.stripes import Configuration


def loss_obligations(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligations of `loss-is-fencing`."""
    first, quotient, rest, start, entry = z3.Ints("first quotient rest start entry")
    lost, kept, acks_lost, acks_kept = z3.Ints("lost kept acks_lost acks_kept")
    split = z3.If(start >= rest, first + start - rest, first + start - rest + E)
    turns = z3.If(start >= rest, quotient, quotient + 1)
    all_acks_lost = z3.Exists(
        [acks_lost, acks_kept],
        z3.And(
            acks_lost >= 0,
            acks_lost <= lost,
            acks_kept >= 0,
            acks_kept <= kept,
            acks_lost + acks_kept >= AQ,
            acks_kept == 0,
        ),
    )
    return [
        obligation(
            "loss-is-fencing.every-window-used",
            "Among any E consecutive entries, the write set of one starts at a given position",
            [
                E >= 1,
                first == E * quotient + rest,
                rest >= 0,
                rest < E,
                start >= 0,
                start < E,
                entry == split,
            ],
            z3.And(first <= entry, entry < first + E, entry == E * turns + start),
        ),
        obligation(
            "loss-is-fencing.per-window",
            "A whole ack quorum of a write set is lost if and only if the window has at least AQ lost "
            "bookies",
            [*VALID, lost >= 0, kept >= 0, lost + kept == WQ],
            all_acks_lost == (lost >= AQ),
        ),
    ]


def loss_sets(formulas: Formulas) -> list[ProofObligation]:
    """Return the proof obligations of `loss-is-fencing` over finite sets."""
    given = ["(= (set.card window) WQ)", "(= lost_here (set.inter window lost))"]
    quorum = "(and (set.subset acks window) (>= (set.card acks) AQ) (set.subset acks lost))"
    return [
        set_script(
            "loss-is-fencing.sets.lost-then-blocked",
            "If a whole ack quorum is lost, the window has AQ lost bookies",
            "window lost lost_here acks",
            [*given, quorum, "(< (set.card lost_here) AQ)"],
        ),
        set_script(
            "loss-is-fencing.sets.blocked-then-lost",
            "If a window has AQ lost bookies, they are an ack quorum that is lost",
            "window lost lost_here acks",
            [*given, "(>= (set.card lost_here) AQ)", "(= acks lost_here)", f"(not {quorum})"],
        ),
    ]


def loss_claims(formulas: Formulas, configuration: Configuration) -> Iterable[SetClaim]:
    """Yield two claims: an entry is lost only if fencing is blocked, and the other way round.

    With E entries the write sets are exactly the windows.
    """
    kept, fenced = _keeping(configuration, configuration.ensemble), every_window_covered(configuration)
    yield SetClaim(
        "no entry is lost, yet fencing is blocked",
        lambda lost: kept(lost) and not fenced(lost),
        configuration.positions,
        LOST,
    )
    yield SetClaim(
        "an entry is lost, yet the ledger can be fenced",
        lambda lost: fenced(lost) and not kept(lost),
        configuration.positions,
        LOST,
    )


def few_entries_claims(formulas: Formulas, configuration: Configuration) -> Iterable[SetClaim]:
    """Yield claims about fewer than E entries: some window is then no entry's write set."""
    fenced = every_window_covered(configuration)
    for entries in range(1, configuration.ensemble):
        kept = _keeping(configuration, entries)
        yield SetClaim(
            f"a fragment of entries 1 to {entries}, none of them lost, yet fencing is blocked",
            lambda lost, kept=kept: kept(lost) and not fenced(lost),  # type: ignore[misc]
            configuration.positions,
            LOST,
        )


def _keeping(configuration: Configuration, entries: int) -> Callable[[Bits], bool]:
    """Return the test whether no write set of the first entries has lost a whole ack quorum."""
    write_sets = [configuration.write_set(entry) for entry in range(1, entries + 1)]
    return fewer_than(configuration.ack_quorum, write_sets)
