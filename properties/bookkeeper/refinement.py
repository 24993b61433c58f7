"""The refinement mapping from today's BookKeeper to its core: the steps of the core for each action."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from fencepost.encoding.all_sizes.refinement import ByValue, CoreStep, Refinement, Script, Some
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.quantifiers import forall, forall_over
from fencepost.encoding.language.sorts import SubsetSort, Value
from fencepost.encoding.language.system import Invariant, System
from fencepost.encoding.language.terms import FALSE, Term, TermLike, all_of, lift
from fencepost.properties.bookkeeper.common_invariants import listed, took
from fencepost.properties.bookkeeper.core import with_properties
from fencepost.properties.bookkeeper.invariants import is_home, ledger_invariants
from fencepost.protocols.bookkeeper.core import Content, Core, CoreParameters, CoreStatus, core
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Phase, Status


def ledger_refinement(whole: System) -> Refinement:
    """Return the refinement of one instance of the ledger.

    Its core has one entry more, which is never pushed.
    """
    s = whole.state
    assert isinstance(s, Ledger)
    p = s.parameters
    small = with_properties(
        core(
            CoreParameters(
                bookies=p.bookies,
                ensemble=p.ensemble,
                write_quorum=p.write_quorum,
                ack_quorum=p.ack_quorum,
                entries=p.entries + 1,
                recoverers=p.recoverers,
                forgets="entries-then-limbo" if p.crashes else "nothing",
            )
        )
    )
    return Refinement(
        whole=whole,
        core=small,
        mapping=_mapping(s, small),
        scripts=_scripts(s, _core_state(small)),
        invariants=(*ledger_invariants(whole), *_mapping_invariants(s)),
        implied={
            "no-divergence": "no-divergence",
            "acked-entries-readable": "acked-entries-readable",
            "entries-in-order": "entries-in-order",
        },
    )


def _mapping_invariants(s: Ledger) -> tuple[Invariant, ...]:
    """Return the invariants that only the mapping needs, in addition to those of the ledger."""
    return (
        Invariant(
            "fragments-ascend",
            "the fragments of a client's list start in ascending order, two may "
            "start at the same entry, and the first starts at 1",
            forall_over(
                (s.client, s.fragment, s.fragment),
                lambda c, g, h: (
                    implies((g < h) & listed(s, c, h), s.own_first[c, g] <= s.own_first[c, h])
                    & (s.own_first[c, 1] == 1)
                ),
            ),
        ),
        Invariant(
            "idle-recoverers-know-nothing",
            "a recoverer that has not begun knows one fragment, has pushed nothing and has sent no read",
            forall(
                s.recoverer,
                lambda r: implies(
                    s.phase[r] == Phase.IDLE,
                    all_of(
                        s.base[r] == 1,
                        s.own_last_fragment[r] == 1,
                        forall(s.entry, lambda e: ~s.pushed(r, e)),
                        forall(s.read_entry, lambda e: ~s.read_sent[r, e]),
                    ),
                ),
            ),
        ),
        Invariant(
            "reads-are-decided-once",
            "no recovery read has found its entry and also found it absent",
            forall_over((s.recoverer, s.read_entry), lambda r, e: ~(s.positive(r, e) & s.negative(r, e))),
        ),
    )


def _mapping(s: Ledger, small: System) -> Mapping[str, Callable[..., TermLike] | ByValue]:
    """Return each state variable of the core as a term over the ledger.

    Entry 0 and the entry above the last one are never pushed.
    """
    at_first = {v.name: value for v, (value,) in zip(small.variables, small.firsts, strict=True)}

    write_sets = _core_state(small).write_set

    def pushable(entry: Value) -> bool:
        return entry in s.entry.values

    def where_pushable(term: Callable[..., TermLike], otherwise: TermLike) -> Callable[..., TermLike]:
        return lambda c, e, *b: term(c, e, *b) if pushable(e) else otherwise

    def content(value: Term, entry: Value) -> Term:
        """Return the core's value for a content."""
        other = if_(value == entry, Content.PUSHED, Content.OTHER) if pushable(entry) else lift(Content.OTHER)
        return if_(value == NOTHING, Content.NOTHING, other)

    def write_set(name: str, member: Callable[..., Term]) -> ByValue:
        """Return a write set from the predicate of its members. Entry 0 keeps its initial write set."""

        def holds(*index: Value) -> Term:
            *before, value = index
            if before[-1] == 0:
                shown = ", ".join(map(str, before))
                return lift(at_first[f"{name}[{shown}]"] == value)
            return all_of(*(member(*before, b) == (b in write_sets.parts[value]) for b in s.bookie))

        return ByValue(holds)

    def known(r: Value, e: Value, b: Value) -> Term:
        return s.read_handled[r, e, b] & ~s.read_unknown[r, e, b]

    return {
        "status": lambda: if_(
            s.status == Status.CLOSED,
            CoreStatus.CLOSED,
            if_(s.status == Status.IN_RECOVERY, CoreStatus.IN_RECOVERY, CoreStatus.OPEN),
        ),
        "last": lambda: s.last_entry,
        "home": write_set("home", s.in_metadata_write_set),
        "stored": lambda b, e: content(s.stored[b, e], e) if pushable(e) else Content.NOTHING,
        "fenced": lambda b: s.fenced[b],
        "limbo": lambda b: s.limbo[b],
        "placed": write_set("placed", lambda c, e, b: is_home(s, c, e, b)),
        "pushed": where_pushable(s.pushed, False),
        "took": where_pushable(lambda c, e, b: took(s, c, e, b), False),
        "acked": where_pushable(lambda c, e, b: s.acked[c, e, b] & (s.lac(c) < e), False),
        "lac": lambda c: s.lac(c),
        "reported": lambda c: s.phase[c] == Phase.CLOSED,
        "reported_last": lambda c: s.closed_at[c],
        "began": lambda c: c != WRITER and s.phase[c] != Phase.IDLE,
        "reading": lambda c: s.covered(c),
        "asked": write_set("asked", s.read_to),
        "answered": lambda r, e, b: known(r, e, b) if e else FALSE,
        "answer": lambda r, e, b: (
            if_(known(r, e, b), content(s.read_content[r, e, b], e), Content.NOTHING)
            if e
            else Content.NOTHING
        ),
        "found": where_pushable(
            lambda r, e: if_(s.pushed(r, e), content(s.found[r, e], e), Content.NOTHING), Content.NOTHING
        ),
    }


def _scripts(s: Ledger, of_core: Core) -> Mapping[str, Script]:
    """Return the steps of the core for each action of the ledger."""

    @cache
    def confirms(client: Value) -> list[CoreStep]:
        """Return the steps that move the client's LAC, entry by entry, to its value after the action."""

        def confirm(e: Value) -> CoreStep:
            quorum = _every_member(s, of_core.ack_quorum, lambda b: s.acked[client, e, b])
            lac = s.lac(client)
            return CoreStep("confirm", (client, e, quorum), when=lac < e, leaving=~(lac < e))

        return [confirm(e) for e in s.entry]

    @cache
    def moves(client: Value) -> list[CoreStep]:
        """Return the steps that move each entry above the LAC to its write set after the action."""
        change = ("change ensemble",) if client == WRITER else ("change own ensemble", client)
        return [
            CoreStep(
                change[0], (*change[1:], e, _placed(s, of_core.write_set, client, e)), when=s.lac(client) < e
            )
            for e in s.read_entry
        ]

    def handle_add(c: Value, g: Value, e: Value, b: Value) -> list[CoreStep]:
        return [CoreStep("store", (c, e, b), leaving=~s.add_refused[c, g, e, b])]

    def receive_ack(c: Value, g: Value, e: Value, b: Value) -> list[CoreStep]:
        counts = s.still_there(c, g, b) & (s.lac(c) < e)
        return [CoreStep("receive ack", (c, e, b), when=counts), *confirms(c)]

    def handle_read(r: Value, e: Value, b: Value) -> list[CoreStep]:
        unknown = s.read_unknown[r, e, b]
        return [
            CoreStep("answer read", (r, e, b), leaving=~unknown),
            CoreStep("fence", (b,), leaving=unknown),
        ]

    def write_back(r: Value, g: Value, e: Value) -> list[CoreStep]:
        def found(b: Value) -> Term:
            return s.read_handled[r, e, b] & (s.read_content[r, e, b] == s.found[r, e])

        return [CoreStep("write back", (r, e, Some(found)))]

    return {
        "create ledger": list,
        "push": lambda g, e: [CoreStep("push", (e,))],
        "handle add": handle_add,
        "receive ack": receive_ack,
        "receive fenced": lambda c, g, e, b: [],
        "begin change": lambda c, g, e, failed: [],
        "commit change": lambda c, g, failed, spare: [*moves(c), *confirms(c)],
        "try invalid fragment": lambda c, g, failed: [],
        "abandon change": lambda c, g, failed: [],
        "begin recovery": lambda r: [
            CoreStep("begin recovery", (r,)),
            CoreStep("choose start", (r, s.lac(r))),
        ],
        "handle fence": lambda r, b: [CoreStep("fence", (b,))],
        "receive fence answer": lambda r, b: [
            CoreStep("choose start", (r, s.lac(r))),
            CoreStep("begin reading", (r,), leaving=s.covered(r)),
        ],
        "send reads": lambda r, e: [],
        "handle read": handle_read,
        "receive read answer": lambda r, e, b: [],
        "write back": write_back,
        "abandon recovery": lambda r: [],
        "finish recovery": lambda r, e: [
            CoreStep(
                "finish recovery",
                (r, e, _every_member(s, of_core.absent_quorum, lambda b: s.no_such_entry(r, e, b))),
            )
        ],
        "adopt close": lambda r, e: [CoreStep("adopt close", (r,))],
        "close ledger": lambda: [CoreStep("close ledger")],
        "withdraw": list,
        "crash and restart": lambda b: [CoreStep("restart", (b,))],
    }


def _core_state(small: System) -> Core:
    assert isinstance(small.state, Core)
    return small.state


def _every_member(s: Ledger, quorums: SubsetSort, holds: Callable[[Value], Term]) -> Some:
    """Return a choice of a quorum all of whose bookies satisfy the predicate."""
    return Some(lambda quorum: all_of(*(holds(b) for b in s.bookie if b in quorums.parts[quorum])))


def _placed(s: Ledger, write_sets: SubsetSort, client: Value, entry: Value) -> Some:
    """Return a choice of the write set on which the client's list places the entry."""
    return Some(
        lambda write_set: all_of(
            *(is_home(s, client, entry, b) == (b in write_sets.parts[write_set]) for b in s.bookie)
        )
    )
