"""Liveness of one ledger: which of its actions are fair, and what then comes about in the end.

Deliveries, steps of clients, answers of the metadata store and time-outs are fair. Calls of the application,
faults and giving up are not. A lost message is never sent again, so only a time-out helps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fencepost.encoding.language.actions import Schema, changed
from fencepost.encoding.language.liveness import leads_to
from fencepost.encoding.language.parameters import require, switch
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.system import Liveness, System
from fencepost.encoding.language.terms import FALSE, Term, TermLike, any_of, lift
from fencepost.properties.bookkeeper.recovery import GIVING_UP
from fencepost.protocols.bookkeeper.ledger import ledger
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NO_BOOKIE, WRITER, Phase, Status

CALLS = ("create ledger", "push", "begin recovery", "close ledger", GIVING_UP[0])
"""Actions that nobody must take: calls of the application, and the choice to give up a recovery."""

TIME_OUTS = ("begin change", "read lac first", "change locally", "note failure", "ignore failure")
"""Actions that begin when an answer is late."""

WITHOUT = ("crashes", "restarts", "forces", "power_losses", "readers", "deletions", "journals", "racks")
"""Parameters of layers whose actions have no fairness here."""


@dataclass(frozen=True)
class LivenessParameters(BookKeeperParameters):
    """Sizes and rules of one ledger, and the fairness of its time-outs.

    Raises BadInput as for one ledger, and for a layer whose fairness is not stated.
    """

    fair_time_outs: str = switch(
        ("yes", "no"), "a client that waits for an add times out in the end, or may wait for ever", "the code"
    )

    def __post_init__(self) -> None:
        """Check the sizes, and refuse layers."""
        super().__post_init__()
        on = self.turned_on(*WITHOUT)
        require(
            f"{', '.join(on)} exclude liveness: no fairness of their actions is stated",
            not on,
            on,
            "leave them out, or check `bookkeeper`",
        )


SMALL = LivenessParameters(bookies=3, ensemble=2, write_quorum=2, ack_quorum=2)
"""The smallest instance with a spare bookie in which each add needs two bookies."""


def bookkeeper_in_the_end(parameters: LivenessParameters) -> System:
    """Build one ledger with fair actions, and with what then comes about in the end."""
    system = ledger(parameters)
    s = system.state
    assert isinstance(s, Ledger)
    unfair = CALLS if parameters.fair_time_outs == "yes" else (*CALLS, *TIME_OUTS)

    def fair(schema: Schema) -> Schema:
        """Return the action with weak fairness if it must happen."""
        is_fair = schema.action.fault is None and schema.name not in unfair
        return replace(schema, fair="weak") if is_fair else schema

    return replace(
        system,
        actions=tuple(changed(item, fair) for item in system.actions),
        properties=(recovery_ends(s), adds_are_answered_in_the_end(s), changes_end(s)),
    )


def recovery_ends(s: Ledger) -> Liveness:
    """Return the property that a recovery ends."""

    def at_work(r: Term) -> Term:
        return (s.phase[r] == Phase.ACTIVE) & ~s.overtaken[r]

    return _ends(
        s,
        "recovery-ends",
        "a recovery that has begun ends: the recoverer reports the ledger closed, or gives up",
        exists(s.recoverer, lambda r: at_work(r) & ~_meets_cap(s, r)),
        exists(s.recoverer, at_work),
    )


def adds_are_answered_in_the_end(s: Ledger) -> Liveness:
    """Return the property that an add that was pushed is acknowledged, or its writer told."""

    def waits(e: Term) -> Term:
        return s.pending(WRITER, e) & (s.dropped[WRITER] < e)

    waiting = (s.phase[WRITER] == Phase.ACTIVE) & exists(s.entry, waits)
    return _ends(
        s,
        "adds-end",
        "an add that was pushed is acknowledged, or its writer is told that it failed",
        waiting & ~_meets_cap(s, WRITER),
        waiting,
    )


def changes_end(s: Ledger) -> Liveness:
    """Return the property that an ensemble change ends."""

    def changing(c: TermLike) -> Term:
        begun = any_of(s.changing(c), s.about_to_replace[c] != NO_BOOKIE)
        return (s.phase[c] == Phase.ACTIVE) & begun

    return _ends(
        s,
        "changes-end",
        "an ensemble change that has begun ends: it is committed, or given up",
        exists(s.client, lambda c: changing(c) & ~_meets_cap(s, c)),
        exists(s.client, changing),
    )


def _ends(s: Ledger, name: str, meaning: str, owed: Term, begun: Term) -> Liveness:
    """Return the property that no client stays in such a state, unless it needs one more fragment."""
    return replace(leads_to(name, meaning, begun, ~owed), excused=("fragments",) * _has_cap(s))


def _has_cap(s: Ledger) -> bool:
    """Return whether the cap on fragments can stop an ensemble change."""
    return s.parameters.bookies > s.parameters.ensemble


def _meets_cap(s: Ledger, client: TermLike) -> Term:
    """Return whether the client would commit an ensemble change if there were one more fragment."""
    if not _has_cap(s):
        return FALSE
    at_cap = s.own_last_fragment[client] == s.parameters.possible_fragments
    refused = (lift(WRITER) == client) & (s.status != Status.OPEN)
    return s.changing(client) & at_cap & ~refused
