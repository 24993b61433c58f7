"""The copies of a closed ledger: the losses of the code, the mends that prevent them, planted mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from preset_instances import InstanceExpectations, read_by_instance, title

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.system import System, choose
from fencepost.encoding.language.terms import TRUE
from fencepost.encoding.mutation.mutants import changed, mutants
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import TABLES, Expectation, differs
from fencepost.protocols.ledger_copies.state import Copies
from support.exploration import explore
from support.instances import built, checked_all, nearest_violation
from support.tiers import each_third

Settings = Mapping[str, object]

COPIES = "ledger-copies"
ONE_COPY: Settings = {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
"""One bookie with the entry, and one that is spare."""
AS_RELEASED: Settings = {"recover_lock": "no", "update_checks": "old-bookie"}
TWO_OPERATORS: Settings = {"workers": 0, "operators": 2, "collector": "no"}
OPERATOR: Settings = {"workers": 0}

EXPECTED = read_by_instance(TABLES / "ledger-copies.toml")
VIOLATED = [row for rows in EXPECTED for row in rows if row.steps]
NEAR = [row for row in VIOLATED if row.steps is not None and row.steps <= 8]
"""The others have too many states before the violation to visit them in seconds."""


def by_size(settings: Settings) -> list[pytest.MarkDecorator]:
    """Return the marks of an instance: with three bookies it is no quick test."""
    return [] if settings.get("bookies") == 2 else [pytest.mark.slow]


def first_violation(system: System, prop: str) -> int | None:
    """Return the fewest steps to a violation, or None if no reachable state violates the property."""
    holds = Concrete(system).predicate(choose(system, (prop,))[0].holds)
    return next((visit.steps for visit in explore(system) if not holds(visit.state)), None)


def unnoticed(system: System, ghost: str) -> System:
    """Return the system whose lost disks do not reach that state variable, which only properties read."""
    actions = []
    for schema in system.schemas:
        kept = [update for update in schema.action.then if update.target.family.name != ghost]
        changed = replace(schema, action=replace(schema.action, then=kept))
        actions.append(changed if schema.name == "lose disks" else schema)
    return replace(system, actions=tuple(actions))


@pytest.mark.parametrize("rows", each_third((rows,) for rows in EXPECTED), ids=title)
def test_each_case_comes_out_as_the_table_says(rows: InstanceExpectations) -> None:
    results = checked_all(COPIES, rows[0].settings, [row.property for row in rows])
    assert [differs(row.verdict, row.steps, r) for row, r in zip(rows, results, strict=True)] == [None] * len(
        rows
    )


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id=f"{row.name}-{row.property}",
            marks=[] if row.settings.get("bookies") == 2 else [pytest.mark.slow],
        )
        for row in NEAR
    ],
)
def test_exploring_finds_the_same_number_of_steps(row: Expectation) -> None:
    assert nearest_violation(COPIES, row.settings, row.property) == row.steps


def test_each_property_is_violated_under_the_rules_of_the_code_and_proved_with_the_mends() -> None:
    """A mend is the default of its switch, so the case without settings has both."""
    names = {p.name for p in built(COPIES, {})[0].properties}
    assert {row.property for row in VIOLATED if "reuse" not in row.settings} == names
    (mended,) = [rows for rows in EXPECTED if not rows[0].settings]
    assert {row.property for row in mended if row.verdict.value == "proved"} == names


def test_each_property_of_reuse_is_violated_by_the_code_and_proved_with_the_mend() -> None:
    of_reuse = {p.name for p in built(COPIES, {"reuse": "at-once"})[0].properties}
    own = of_reuse - {p.name for p in built(COPIES, {})[0].properties}
    assert own == {"entries-are-of-the-ledger", "new-ledger-writable"}
    by_id = [row for row in VIOLATED if row.settings.get("lives") == "by-id"]
    assert {row.property for row in by_id} == own | {"acked-copies-readable", "copies-complete"}
    told_apart = [row for rows in EXPECTED for row in rows if row.settings.get("reuse") == "at-once"]
    proved = {
        row.property for row in told_apart if row.verdict.value == "proved" and "lives" not in row.settings
    }
    assert own | {"acked-copies-readable", "copies-complete", "no-bookie-twice"} == proved


@pytest.mark.parametrize(
    ("settings", "states"),
    [
        ({**ONE_COPY}, 1_024),
        pytest.param({**ONE_COPY, "operators": 0, "session": "lost"}, 8_616, marks=pytest.mark.slow),
        pytest.param({**ONE_COPY, **AS_RELEASED, **TWO_OPERATORS}, 8_968, marks=pytest.mark.slow),
        pytest.param({**ONE_COPY, **AS_RELEASED}, 13_272, marks=pytest.mark.slow),
        pytest.param({**OPERATOR}, 30_432, marks=pytest.mark.slow),
        pytest.param({"operators": 0}, 30_432, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_states_reached_are_as_many_as_ever(settings: Settings, states: int) -> None:
    assert sum(1 for _ in explore(built(COPIES, settings)[0])) == states


# The mends, one at a time. Without the collector, `recover_lock` is not needed beside `update_checks`. While
# sessions last, `update_checks` is not needed beside `recover_lock`. Each is needed for a case of the table.


@pytest.mark.slow
def test_a_version_check_does_not_keep_the_collector_away() -> None:
    assert nearest_violation(COPIES, {"recover_lock": "no", **OPERATOR}, "copies-complete") == 5


# Planted mistakes: a mend that checks nothing, a collector that does not look, a copy that is not finished,
# and a write that does not compare versions and so puts a replaced bookie back.


@pytest.mark.parametrize(
    ("settings", "weaker", "prop", "steps"),
    [
        ({**ONE_COPY, **OPERATOR}, "recover bookie, conjunct 4 of 4", "acked-copies-readable", 8),
        ({**ONE_COPY, **OPERATOR}, "update ensemble, conjunct 2 of 5", "copies-complete", 2),
        ({**TWO_OPERATORS, "recover_lock": "no"}, "update ensemble, conjunct 4 of 5", "copies-complete", 7),
        ({**ONE_COPY, **OPERATOR}, "begin collecting, conjunct 4 of 5", "copies-complete", 5),
        ({**ONE_COPY, **OPERATOR}, "begin collecting, conjunct 5 of 5", "acked-copies-readable", 2),
    ],
    ids=str,
)
def test_a_weaker_guard_loses_copies(settings: Settings, weaker: str, prop: str, steps: int) -> None:
    system, _ = built(COPIES, settings)
    (mutant,) = (m for m in mutants(system) if str(m) == weaker)
    assert first_violation(changed(system, mutant), prop) == steps


@pytest.mark.parametrize(
    ("ghost", "prop", "steps"), [("vouched", "copies-complete", 1), ("lost", "acked-copies-readable", 1)]
)
def test_a_property_without_its_condition_is_violated_by_lost_disks(
    ghost: str, prop: str, steps: int
) -> None:
    system, _ = built(COPIES, {**ONE_COPY, **OPERATOR})
    assert first_violation(system, prop) is None
    assert first_violation(unnoticed(system, ghost), prop) == steps


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ack_quorum": 3}, "ack_quorum <= write_quorum <= ensemble <= bookies"),
        ({"fragments": 2}, "fragments <= entries"),
        ({"bookies": 2, "fragments": 2, "entries": 2}, "bookies > ensemble if fragments > 1"),
        ({"workers": 0, "operators": 0}, "workers .* operators >= 1"),
    ],
    ids=str,
)
def test_sizes_that_fit_no_ledger_are_refused(settings: Settings, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        built(COPIES, settings)


# The mend of a session that ends: both of its halves are needed.

NOTICED = {**ONE_COPY, "operators": 0, "session": "lost-and-noticed"}


@pytest.mark.parametrize("half", ["lock", "collection"])
def test_one_half_of_the_mend_of_lost_sessions_is_not_enough(
    half: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: no check of the lock in a write of the metadata; a copy that leaves a collection under way."""
    if half == "lock":
        monkeypatch.setattr(Copies, "may_write", lambda s, replicator: TRUE)
    else:
        monkeypatch.setattr("fencepost.protocols.ledger_copies.replication.ends_collecting", lambda *_: [])
    protocol = find(COPIES)
    system = protocol.build(protocol.parameters(NOTICED.items()))
    assert first_violation(system, "copies-complete") is not None
