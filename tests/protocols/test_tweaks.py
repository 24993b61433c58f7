"""The two tweaks of the BookKeeper protocol, explored and simulated; properties/expected has the mutants."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Term
from fencepost.protocols.bookkeeper_tweaks.guaranteed_write_quorum import GuaranteedLedger
from support.instances import built, happens, nearest_violation, number

Settings = Mapping[str, object]

GWQ = "bookkeeper-guaranteed-write-quorum"
UNBOUNDED = "bookkeeper-unbounded"

ONE_ENTRY = {"bookies": 2, "entries": 1}
THREE_COPIES = {"bookies": 3, "write_quorum": 3, "ack_quorum": 2, "values": 1}

TWO_RECOVERERS = {"bookies": 2, "ack_quorum": 2, "recoverers": 2}
DIRTY_READ = """create ledger:
push: 1 1
push: 1 2
handle add: w 1 1 b1
handle add: w 1 2 b1
begin recovery: r1
begin recovery: r2
handle fence: r1 b2
handle fence: r2 b1
receive fence answer: r1 b2
receive fence answer: r2 b1
send reads: r1 1
send reads: r2 1
handle read: r1 1 b1
handle read: r2 1 b2
receive read answer: r1 1 b1
receive read answer: r2 1 b2
send reads: r1 2
handle read: r1 2 b1
receive read answer: r1 2 b1
write back: r1 1 1
handle add: r1 1 1 b1
handle add: r1 1 1 b2
receive ack: r1 1 1 b1
receive ack: r1 1 1 b2
finish recovery: r2 1
write back: r1 1 2
handle add: r1 1 2 b1"""
"""r1 finds both entries on b1 and writes them back.

Meanwhile r2 has only the answer of b2, and closes the ledger as empty.
"""

TAKEN_OVER = """take over: r1
handle fence: r1 b1
handle fence: r1 b2
receive fence answer: r1 b1
receive fence answer: r1 b2
send reads: r1 1
handle read: r1 1 b1
handle read: r1 1 b2
receive read answer: r1 1 b1
receive read answer: r1 1 b2
write back: r1 1 1
handle add: r1 1 1 b1
handle add: r1 1 1 b2
receive ack: r1 1 1 b1
receive ack: r1 1 1 b2
open again: r1 1
"""
"""r1 fences both bookies, finds nothing to read, and writes its NoOp as entry 1."""

AT_AQ = f"""create ledger:
{TAKEN_OVER}push: w 1 1
handle add: w 1 1 b3
push: r1 1 2
handle add: r1 1 2 b2
handle add: r1 1 2 b3"""
"""b3 never gets the NoOp of term 2, and keeps in its place the entry of the client of term 1."""

NOT_TRUNCATED = f"""create ledger:
push: w 1 1
push: w 1 2
handle add: w 1 2 b2
{TAKEN_OVER}push: r1 1 2
handle add: r1 1 2 b1
receive ack: r1 1 2 b1
push: r1 1 3
handle add: r1 1 3 b1
handle add: r1 1 3 b2"""
"""b2 keeps entry 2 of term 1 beyond the NoOp of term 2, and never gets the entry 2 that was written later."""

FOUND = [
    (GWQ, TWO_RECOVERERS, {}, {"recovery_adds": "frozen"}, "no-dirty-read", DIRTY_READ, ()),
    (
        UNBOUNDED,
        THREE_COPIES | {"values": 2},
        {"recovery_done": "at-aq"},
        {},
        "same-value",
        AT_AQ,
        ("add_lost[r1, 1, 1, b3]",),
    ),
    (
        UNBOUNDED,
        {"values": 4},
        {"truncation": "no"},
        {},
        "same-value",
        NOT_TRUNCATED,
        ("add_lost[w, 1, 1, b2]", "add_lost[r1, 1, 2, b2]"),
    ),
]
"""Violations whose fewest steps take minutes to find, as they were found (docs/tweaks.md)."""


REPLACED_TWICE = """create ledger:
push: w 1 1
push: w 1 2
handle add: w 1 2 b1
take over: r1
handle fence: r1 b1
handle fence: r1 b2
receive fence answer: r1 b1
receive fence answer: r1 b2
send reads: r1 1
handle read: r1 1 b1
handle read: r1 1 b2
receive read answer: r1 1 b1
receive read answer: r1 1 b2
write back: r1 1 1
change ensemble: r1 1 b1 b3
handle add: r1 1 1 b2
handle add: r1 2 1 b3
receive ack: r1 1 1 b2
receive ack: r1 2 1 b3
open again: r1 1
push: r1 2 2
change ensemble: r1 2 b2 b1
handle add: r1 2 2 b3
receive ack: r1 2 2 b3
"""
"""b1 has entry 2 of term 1, and is replaced before it gets the NoOp of term 2.

It comes back for the later entry 2, which it never gets.
"""

TWO_TOLD = f"""{REPLACED_TWICE}push: r1 3 3
handle add: r1 3 3 b1
handle add: r1 3 3 b3"""

WRITTEN_OVER = f"""{REPLACED_TWICE}take over: r2
handle fence: r2 b1
handle fence: r2 b3
receive fence answer: r2 b1
receive fence answer: r2 b3
send reads: r2 2
handle read: r2 2 b1
receive read answer: r2 2 b1
write back: r2 3 2
handle add: r2 3 2 b3"""

OLD_ENTRIES = [
    ({"bookies": 3, "values": 4, "fragments": 3}, "same-value", TWO_TOLD),
    ({"bookies": 3, "values": 3, "fragments": 3, "clients": 3}, "acked-values-readable", WRITTEN_OVER),
]


@pytest.mark.parametrize(("instance", "prop", "steps"), OLD_ENTRIES)
def test_a_newcomer_keeps_what_it_has_of_an_earlier_term(instance: Settings, prop: str, steps: str) -> None:
    missed = ("add_lost[w, 1, 1, b1]", "add_lost[r1, 1, 1, b1]", "add_lost[r1, 3, 2, b1]")
    assert happens(UNBOUNDED, instance, prop, steps.splitlines(), missed)
    truncated = (*missed[:1], *missed[2:])
    with_no_op = steps.replace("write back: r1 1 1\n", "write back: r1 1 1\nhandle add: r1 1 1 b1\n")
    assert not happens(UNBOUNDED, instance, prop, with_no_op.splitlines(), truncated)


@pytest.mark.parametrize(("name", "instance", "broken", "sound", "prop", "steps", "lost"), FOUND)
def test_what_took_minutes_to_find_still_happens(
    name: str,
    instance: Settings,
    broken: Settings,
    sound: Settings,
    prop: str,
    steps: str,
    lost: tuple[str, ...],
) -> None:
    assert happens(name, {**instance, **broken}, prop, steps.splitlines(), lost)
    assert not happens(name, {**instance, **sound}, prop, steps.splitlines(), lost)


EXPLORED = [
    (GWQ, {**ONE_ENTRY, "writer_close": "any-time"}, "closed-ledger-at-wq", 5),
    (GWQ, {**ONE_ENTRY, "recovery_done": "at-aq"}, "closed-ledger-at-wq", 20),
    (GWQ, {"pinning": "no"}, "acked-entries-readable", 6),
    (GWQ, {"entries": 1, "fragment_start": "lac"}, "tail-fragments-at-wq", 5),
    pytest.param(
        *(UNBOUNDED, {"ack_quorum": 2, "values": 1, "read_term": "no"}, "acked-values-readable", 15),
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize(("name", "settings", "prop", "steps"), EXPLORED)
def test_exploring_finds_the_same_number_of_steps(
    name: str, settings: Settings, prop: str, steps: int
) -> None:
    assert nearest_violation(name, settings, prop) == steps


STARTS = ("begin recovery", "take over", "receive fence answer")
"""Actions that set the first value of a client's LAC and LAFR."""


def falls(system: System, terms: Mapping[str, Term], runs: int = 150) -> set[str]:
    """Return the names of the terms that some action lowers, in simulations to the end."""
    concrete, chance = Concrete(system), random.Random(1)
    functions = {name: concrete.function(term, {}) for name, term in terms.items()}

    def values(state: State) -> dict[str, int]:
        return {name: number(function(state)) for name, function in functions.items()}

    found: set[str] = set()
    for _ in range(runs):
        state = concrete.initial()
        before = values(state)
        while following := [(step.action, s) for step in concrete.steps for s in step.successors(state)]:
            action, state = chance.choice(following)
            after = values(state)
            if action.schema.name not in STARTS:
                found |= {name for name in terms if after[name] < before[name]}
            before = after
    return found


ACKS_ALONE = "run of entries that AQ have acked, of the writer"


def prefixes(s: GuaranteedLedger) -> dict[str, Term]:
    """Return the LAC and the LAFR of each client, and the LAC that the writer's acks alone would give."""
    lacs = {f"LAC of {c}": s.lac(str(c)) for c in s.client}
    lafrs = {f"LAFR of {c}": s.lafr(str(c)) for c in s.client}
    return lacs | lafrs | {ACKS_ALONE: s.highest_acked(str(s.client.values[0]))}


@pytest.mark.parametrize(
    ("name", "settings", "fallen"),
    [
        (GWQ, ONE_ENTRY, set()),
        (UNBOUNDED, {}, set()),
        pytest.param(GWQ, {}, set(), marks=pytest.mark.slow),
        pytest.param(GWQ, {"pinning": "no"}, {ACKS_ALONE}, marks=pytest.mark.slow),
        pytest.param(UNBOUNDED, {"bookies": 3, "values": 1}, set(), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_lac_and_lafr_never_fall(name: str, settings: Settings, fallen: set[str]) -> None:
    """The acks alone would let the LAC fall, so its value at a change of the ensemble is kept."""
    system = built(name, settings)[0]
    assert isinstance(system.state, GuaranteedLedger)
    assert falls(system, prefixes(system.state)) == fallen
