"""Other people's protocols: the verdict, the fewest steps and the number of states of each row."""

from __future__ import annotations

from pathlib import Path

import corpus
import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.enumeration.count import count_states
from fencepost.encoding.language.protocol import load
from support.bare import Bare
from support.exploration import explore

CASES = [
    (row, pytest.param(row, id=row.name, marks=pytest.mark.long if row.long else pytest.mark.slow))
    for row in corpus.rows()
]
ROWS = [case for row, case in CASES if row.expect != "open"]
COUNTED = [case for row, case in CASES if row.states is not None and row.orbits is None]
UP_TO_SYMMETRY = [case for row, case in CASES if row.orbits is not None]


@pytest.mark.parametrize("row", ROWS)
def test_the_verdict_and_the_fewest_steps(row: corpus.Row) -> None:
    system = row.system()
    assert not system.invariants or row.file.parent != corpus.FOLDER, "nothing is declared in the corpus"
    engines = (row.engine,) if row.engine else ()
    limits = Limits(
        jobs=1, timeout=1800, minimize=Minimize.STEPS, engines=engines, enumeration_first=not engines
    )
    properties = [prop for prop in system.properties if prop.name == row.prop]
    (result,) = check(Bare(system), properties, limits).results
    assert result.verdict.value == row.expect
    if row.steps is not None:
        assert result.trace is not None
        assert len(result.trace.steps) == row.steps


@pytest.mark.parametrize("row", COUNTED)
def test_the_number_of_reachable_states(row: corpus.Row) -> None:
    assert sum(1 for _ in explore(row.system())) == row.states


@pytest.mark.parametrize("row", UP_TO_SYMMETRY)
def test_the_number_of_states_up_to_symmetry(row: corpus.Row) -> None:
    system = row.system()
    *_, counted = count_states(system, system.properties, with_symmetry=True, most=None)
    assert (counted.states, counted.orbits) == (row.states, row.orbits)


@pytest.mark.slow
@pytest.mark.parametrize("guard", ["& is_first", ""])
def test_the_specification_of_snapshot_isolation_loses_no_update(guard: str, tmp_path: Path) -> None:
    """Planted: a specification in which every running transaction may commit."""
    text = (corpus.FOLDER.parent / "snapshot_isolation.py").read_text(encoding="utf-8")
    file = tmp_path / "specification.py"
    file.write_text(text.replace("& is_first", guard), encoding="utf-8")
    system = load(file).instance().system
    limits = Limits(jobs=1, minimize=Minimize.STEPS, enumeration_first=True)
    (result,) = check(Bare(system), system.properties, limits).results
    assert (result.verdict.value, result.steps) == (("proved", None) if guard else ("violated", 6))


def test_each_protocol_has_a_row_that_is_not_long() -> None:
    files = set(corpus.FOLDER.glob("*.py"))
    assert files <= {row.file for row in corpus.rows() if not row.long}


def test_a_misspelt_key_of_a_row_is_refused() -> None:
    with pytest.raises(TypeError, match="stats"):
        corpus.Row(**dict.fromkeys(("file", "original", "original_lines", "prop", "expect", "stats")))  # type: ignore[arg-type]


MISTAKE_OF_2015 = {
    ("elect", ("n1", 1, "{n1,n2,n3}")),
    ("append", ("n1", "{n1,n3,n4}")),
    ("elect", ("n2", 2, "{n2,n3,n4}")),
    ("append", ("n2", "{n2,n3,n4}")),
    ("replicate", ("n2", "n3")),
    ("commit", ("n2",)),
    ("elect", ("n1", 3, "{n1,n4}")),
    ("replicate", ("n1", "n4")),
    ("commit", ("n1",)),
}


BEGINNING = {
    ("request", (1, 1, 1)),
    ("request", (2, 2, 1)),
    ("request", (2, 2, 2)),
    ("request", (2, 2, 3)),
    ("change view", (2, 2)),
    ("change view", (1, 2)),
    ("do view change", (1, 2)),
    ("do view change", (2, 2)),
    ("start view", (2, 2, 1, 2)),
}
END = {
    ("change view", (3, 3)),
    ("change view", (1, 3)),
    ("do view change", (3, 3)),
    ("do view change", (1, 3)),
    ("start view", (3, 3, 3, 1)),
    ("receive start", (1, 3)),
    ("receive start", (2, 3)),
}
TRUNCATED = {
    *BEGINNING,
    ("receive prepare", (3, 1, 1)),
    ("execute", (1, 1, 1)),
    ("truncate", (3, 2)),
    *END,
}
"""Replica 3 has the committed value, does not know that it is committed, and truncates its log."""
LATE_VIEW = {
    *BEGINNING,
    ("transfer", (3, 2, 2)),
    ("receive prepare", (3, 2, 3)),
    ("execute", (2, 2, 1)),
    ("receive start", (3, 2)),
    *END,
}
"""Replica 3 has a value of view 2 by state transfer, and then takes the log with which view 2 began."""


def zab_epoch(leader: str, follower: str) -> set[tuple[str, tuple[object, ...]]]:
    """Return the actions by which a server leads a new epoch, and commits a transaction with a follower."""
    down, up = (leader, follower), (follower, leader)
    return {
        ("lead", (leader,)),
        ("follow", (follower,)),
        *[(name, down) for name in ("choose epoch", "synchronize", "establish")],
        *[(name, up) for name in ("connect", "accept epoch", "take history")],
        ("commit history", (follower,)),
        ("write", (leader,)),
        ("propose", (leader, 1)),
        ("store", (*up, 1)),
        ("commit", (*down, 1)),
    }


OLD_HISTORY = {
    *zab_epoch("s1", "s2"),
    *zab_epoch("s2", "s3"),
    *zab_epoch("s1", "s3"),
    *[("time out", (s,)) for s in ("s2", "s3")],
}
"""Server 1 has a transaction of epoch 1 that nobody else has, and leads again after epoch 2."""
HALF_HISTORY = {
    *zab_epoch("s1", "s2"),
    *zab_epoch("s1", "s3"),
    *[("begin history", pair) for pair in (("s2", "s1"), ("s3", "s1"), ("s2", "s3"))],
    *zab_epoch("s3", "s2"),
    ("time out", ("s2",)),
    ("restart", ("s3",)),
}
"""Server 3 restarts when it has stored epoch 2 and not yet its history, and leads epoch 3."""
ZAB = "servers=3 epochs=3"


@pytest.mark.parametrize(
    ("stem", "settings", "actions", "steps"),
    [
        ("raft_reconfig", "own_term=ignored", MISTAKE_OF_2015, 10),
        ("raft_reconfig", "own_term=committed", MISTAKE_OF_2015, None),
        ("viewstamped", "transfer=truncates", TRUNCATED, 18),
        ("viewstamped", "transfer=replaces", TRUNCATED, None),
        ("viewstamped", "late_view=taken", LATE_VIEW, 18),
        ("viewstamped", "late_view=ignored", LATE_VIEW, None),
        ("zab", f"{ZAB} timeouts=2 restarts=0 recovery=length", OLD_HISTORY, 32),
        ("zab", f"{ZAB} timeouts=2 restarts=0", OLD_HISTORY, None),
        ("zab", f"{ZAB} store=epoch_first", HALF_HISTORY, 37),
        ("zab", ZAB, HALF_HISTORY, None),
    ],
)
def test_a_known_loss_is_reached_unless_it_is_mended(
    stem: str, settings: str, actions: set[tuple[str, tuple[object, ...]]], steps: int | None
) -> None:
    assert losses(stem, settings, None, actions, {"truncate", "begin history"}) == steps


def losses(
    stem: str,
    settings: str,
    prop: str | None,
    actions: set[tuple[str, tuple[object, ...]]],
    of_the_bug: set[str],
) -> int | None:
    """Return the fewest steps to a loss by these ground actions alone, each any number of times; or None.

    The actions `of_the_bug` may be missing.
    """
    row = next(row for row in corpus.rows() if row.file.stem == stem)
    protocol = row.protocol()
    given = [(name, value) for name, _, value in (word.partition("=") for word in settings.split())]
    concrete = Concrete(system := protocol.system(protocol.parameters(given)))
    some = [s for s in concrete.steps if (s.action.schema.name, s.action.arguments) in actions]
    missing = {name for name, _ in actions} - {step.action.schema.name for step in some}
    assert missing <= of_the_bug, "only the mend takes an action away"
    (asked,) = [p for p in system.properties if p.name == prop] if prop else system.properties[:1]
    holds, level = concrete.predicate(asked.holds), {concrete.initial()}
    seen, depth = set(level), 0
    while level and all(map(holds, level)):
        level = {after for state in level for step in some for after in step.successors(state)} - seen
        seen |= level
        depth += 1
    return depth if level else None


def oxia_election(
    term: int, leader: str, other: str, named: bool = False
) -> set[tuple[str, tuple[object, ...]]]:
    """Return the actions by which a node gets to lead a term, and, if asked, is named the leader."""
    return {
        ("start election", (term,)),
        *[("fence", (node, term)) for node in (leader, other)],
        *[("hear", (term, node)) for node in (leader, other)],
        ("choose", (term, leader)),
        ("become leader", (leader, term)),
        *([("finish election", (term,))] if named else []),
    }


def oxia_stored(leader: str, follower: str, *values: int) -> set[tuple[str, tuple[object, ...]]]:
    """Return the actions by which a follower stores values of a leader, which hears of it."""
    return {(name, (leader, follower, value)) for value in values for name in ("send", "confirm")}


REPLACED = {
    *oxia_election(1, "n1", "n2", named=True),
    ("fence", ("n3", 1)),
    ("write", ("n1", 1)),
    *oxia_stored("n1", "n2", 1),
    ("swap", (2, "n1", "n4")),
    *oxia_election(2, "n3", "n4", named=True),
    ("fence", ("n1", 2)),
    ("hear", (2, "n1")),
}
"""Nodes 1 and 2 have a confirmed value. Node 4 takes the place of node 1, and node 2 is not heard."""
OLD_ENTRY = {
    *oxia_election(1, "n1", "n2"),
    ("write", ("n1", 1)),
    *oxia_election(2, "n2", "n3"),
    ("write", ("n2", 2)),
    *oxia_election(3, "n1", "n3"),
    ("truncate", ("n3", "n1", 0, 0)),
    *oxia_stored("n1", "n3", 1),
    *oxia_election(4, "n2", "n3", named=True),
}
"""Node 1 commits in term 3 what it wrote in term 1, and node 2 has a later entry."""
LONGER_LOG = {
    *oxia_election(1, "n1", "n2"),
    *[("write", ("n1", value)) for value in (1, 2)],
    *oxia_election(2, "n2", "n3"),
    ("write", ("n2", 3)),
    *oxia_stored("n2", "n3", 3),
    *oxia_election(3, "n1", "n2", named=True),
}
"""Node 1 has two entries of term 1. The one entry of term 2 is confirmed."""
FAILED_LEADER = {
    *oxia_election(1, "n1", "n2"),
    ("write", ("n1", 1)),
    *oxia_stored("n1", "n2", 1),
    *oxia_election(2, "n2", "n1"),
    ("fail to lead", ("n2", 2)),
    ("write", ("n2", 2)),
    *oxia_stored("n2", "n1", 2),
    *oxia_election(3, "n2", "n1", named=True),
}
"""Node 2 fails to become the leader of term 2, and commits an entry all the same."""
CUT_TOO_LITTLE = {
    *oxia_election(1, "n1", "n3"),
    *oxia_election(2, "n2", "n3"),
    *oxia_election(3, "n1", "n3"),
    *oxia_election(4, "n2", "n3", named=True),
    *[("write", place) for place in (("n1", 1), ("n2", 2), ("n1", 3), ("n2", 4))],
    ("truncate", ("n3", "n2", 0, 0)),
    *oxia_stored("n2", "n3", 2, 4),
    ("fence", ("n1", 4)),
    ("add follower", ("n2", "n1", 4)),
    *[("truncate", ("n1", "n2", *cut)) for cut in ((2, 1), (0, 0))],
    ("send", ("n2", "n1", 2)),
}
"""Node 1 has entries of terms 1 and 3, node 2 has one of term 2. Node 1 keeps that of term 1."""


@pytest.mark.parametrize(
    ("settings", "prop", "actions", "steps"),
    [
        ("nodes=4 swap=unchecked", "confirmed-kept", REPLACED, 20),
        ("nodes=4 swap=caught_up", "confirmed-kept", REPLACED, 22),
        ("nodes=4", "confirmed-kept", REPLACED, None),
        ("terms=4 values=2 commit=any_term", "confirmed-kept", OLD_ENTRY, 34),
        ("terms=4 values=2", "confirmed-kept", OLD_ENTRY, None),
        ("terms=3 values=3 election=offset", "confirmed-kept", LONGER_LOG, 27),
        ("terms=3 values=3 election=either", "confirmed-kept", LONGER_LOG, 27),
        ("terms=3 values=3", "confirmed-kept", LONGER_LOG, None),
        ("terms=3 values=2 serve=early", "confirmed-applied", FAILED_LEADER, 28),
        pytest.param("terms=4 values=4", "logs-agree", CUT_TOO_LITTLE, 42, marks=pytest.mark.slow),
        pytest.param(
            "terms=4 values=4 truncation=until_found",
            "logs-agree",
            CUT_TOO_LITTLE,
            None,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_loss_of_oxia_is_reached_unless_it_is_mended(
    settings: str, prop: str, actions: set[tuple[str, tuple[object, ...]]], steps: int | None
) -> None:
    assert losses("oxia", settings, prop, actions, {"swap"}) == steps
