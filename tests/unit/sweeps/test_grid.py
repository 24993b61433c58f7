"""Grids: their cases, the order and the names of the cases, and the grids that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fencepost.advice.known import KNOWN
from fencepost.encoding.engine.limits import Minimize
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Run
from fencepost.sweeps.grid import Plan, plan, read_grid
from fencepost.sweeps.sweep_cases import SweepCase, together
from support.processes import printed

QUORUMS = {"ensemble": "1..3", "write_quorum": "1..3", "ack_quorum": "1..3", "bookies": "ensemble"}
ONE = ["no-divergence"]


def grid(**table: Any) -> Plan:
    return plan({"grid": [table]})


def sizes(case: SweepCase) -> tuple[int, ...]:
    settings = dict(case.settings)
    return tuple(int(settings[n]) for n in ("ensemble", "write_quorum", "ack_quorum", "bookies"))


def test_every_valid_combination_is_asked_for_once_and_the_others_are_counted() -> None:
    made = grid(protocols="bookkeeper-4.13", properties=ONE, set=QUORUMS)
    valid = {(e, w, a, e) for e in range(1, 4) for w in range(1, e + 1) for a in range(1, w + 1)}
    assert sorted(map(sizes, made.cases)) == sorted(valid)
    assert (len(valid), made.invalid) == (10, 27 - 10)


def test_a_value_may_refer_to_another_parameter() -> None:
    made = grid(
        protocols="bookkeeper-4.13", properties=ONE, set=QUORUMS | {"bookies": ["ensemble", "ensemble+1"]}
    )
    spare = {sizes(o)[3] - sizes(o)[0] for o in made.cases}
    assert (len(made.cases), spare) == (20, {0, 1})


def test_switches_properties_solvers_bounds_and_rounds_multiply() -> None:
    made = grid(
        protocols="bookkeeper-4.13",
        properties=["no-divergence", "entries-in-order"],
        solvers=["cadical", "glucose"],
        bounds="10..12",
        rounds=[2, 4],
        set={"recovery_reads_fence": ["no", "yes"]},
    )
    assert len(made.cases) == 2 * 2 * 2 * 3 * 2
    assert len(set(made.cases)) == len(made.cases)


def test_without_properties_all_of_the_instance_are_asked_for() -> None:
    names = {o.property for o in grid(protocols="ledger-chain").cases}
    assert names == {"written-ledgers-listed", "entry-order", "one-open-ledger", "open-when-appended"}


def test_a_property_that_only_some_instances_have_is_left_out_of_the_others_and_counted() -> None:
    made = grid(protocols="bookkeeper", properties=["fencing-is-enough"], set={"crashes": [0, 1]})
    assert (len(made.cases), made.inapplicable) == (1, 1)


@pytest.mark.slow
def test_known_bugs_are_asked_as_they_are_checked() -> None:
    made = plan({"grid": [{"known": "all", "solvers": ["cadical", "z3"]}]})
    runs = [run for known in KNOWN for run in known.runs()]
    assert len(made.cases) + made.repeated == 2 * len(runs)
    for run in runs:
        found = [o for o in made.cases if is_of(o, run)]
        assert [o.solver for o in sorted(found, key=lambda o: o.solver)] == ["cadical", "z3"], run.known.name


def is_of(case: SweepCase, run: Run) -> bool:
    """Return whether the case asks the question of a run of `known`."""
    protocol = find(run.known.protocol)
    parameters = protocol.parameters(run.settings.items())
    subject = protocol.subject(parameters)
    settings = {name: str(value) for name, value in {**subject.parameters, **subject.switches}.items()}
    asked = (case.protocol, dict(case.settings), case.property)
    limits = (case.bound, case.rounds, case.minimize)
    expected = (run.known.protocol, settings, run.known.property)
    return asked == expected and limits == (run.bound, None, run.minimize)


def test_known_bugs_can_be_named_one_by_one() -> None:
    made = plan({"grid": [{"known": ["2614", "#2615"]}]})
    assert {o.property for o in made.cases} == {"no-divergence", "valid-fragments"}
    assert len(made.cases) == 4


def test_what_two_tables_ask_for_is_asked_once() -> None:
    table = {"protocols": "ledger-chain", "properties": ["entry-order"]}
    spelled_out = table | {"set": {"clients": 3}}
    made = plan({"grid": [table, spelled_out]})
    assert (len(made.cases), made.repeated) == (1, 1), "a default spelled out is the same instance"


def test_the_hardest_come_first() -> None:
    weights = [o.weight for o in grid(protocols="bookkeeper-4.13", properties=ONE, set=QUORUMS).cases]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] > weights[-1]


def test_cases_that_differ_in_their_property_alone_are_together() -> None:
    limits: dict[str, Any] = {"solvers": ["cadical", "glucose"], "set": {"clients": [2, 3]}}
    made = plan({"grid": [{"protocols": "ledger-chain", **limits}]})
    tasks = together(made.cases)
    assert {one for task in tasks for one in task} == set(made.cases)
    assert [len({one.property for one in task}) for task in tasks] == [4] * 4
    assert len({(task[0].settings, task[0].solver) for task in tasks}) == 4
    assert [task[0].weight for task in tasks] == sorted((task[0].weight for task in tasks), reverse=True)
    bounded = plan({"grid": [{"protocols": "ledger-chain", "bounds": 5, **limits}]})
    assert len(together(bounded.cases)) == len(bounded.cases), "nothing is shared"


def test_an_id_depends_on_all_that_is_asked_and_on_the_engine_but_not_on_the_estimate() -> None:
    first = SweepCase("p", (("n", "1"),), "q", "cadical", 5, 2, Minimize.STEPS, weight=7)
    others = [
        SweepCase("o", (("n", "1"),), "q", "cadical", 5, 2, Minimize.STEPS),
        SweepCase("p", (("n", "2"),), "q", "cadical", 5, 2, Minimize.STEPS),
        SweepCase("p", (("n", "1"),), "r", "cadical", 5, 2, Minimize.STEPS),
        SweepCase("p", (("n", "1"),), "q", "glucose", 5, 2, Minimize.STEPS),
        SweepCase("p", (("n", "1"),), "q", "cadical", 6, 2, Minimize.STEPS),
        SweepCase("p", (("n", "1"),), "q", "cadical", None, 2, Minimize.STEPS),
        SweepCase("p", (("n", "1"),), "q", "cadical", 5, 3, Minimize.STEPS),
        SweepCase("p", (("n", "1"),), "q", "cadical", 5, 2, Minimize.FAULTS),
    ]
    ids = {o.identify("1") for o in [first, *others]} | {first.identify("2")}
    assert len(ids) == len(others) + 2
    same = SweepCase("p", (("n", "1"),), "q", "cadical", 5, 2, Minimize.STEPS, weight=8)
    assert same.identify("1") == first.identify("1")


def test_ids_and_their_order_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(
        "[[grid]]\nprotocols = ['verified-log-01', 'ledger-chain', 'bookkeeper-4.13']\n"
        "[[grid]]\nprotocols = 'bookkeeper'\nset.ensemble = '1..3'\nset.write_quorum = '1..3'\n"
    )
    code = (
        "import sys; from pathlib import Path; from fencepost.sweeps.grid import read_grid\n"
        "from fencepost.sweeps.engine_version import engine\n"
        "print(*[o.identify(engine()) for o in read_grid(Path(sys.argv[1])).cases])"
    )
    (ids,) = printed(code, str(file))
    assert len(ids.split()) == len(read_grid(file).cases)


BAD = [
    (
        "protcols = 'bookkeeper'",
        "[[grid]]: protcols: unknown key (did you mean protocols?); valid: protocols, set",
    ),
    ("protocols = 'bookkeeper'\ncubes = 4", "[[grid]]: cubes: unknown key; valid: protocols, set"),
    ("properties = 'entry-order'", "[[grid]]: protocols is missing; it must be names of protocols"),
    ("protocols = 'bookeeper'", "bookeeper: no such protocol"),
    ("protocols = []", "protocols = []: is empty"),
    ("protocols = 'bookkeeper'\nset.ensemble = '3..1'", "ensemble = '3..1': an empty range"),
    ("protocols = 'bookkeeper'\nset.ensemble = []", "ensemble = []: is empty"),
    ("protocols = 'bookkeeper'\nset.ensembel = 3", "ensembel: no such parameter or switch"),
    ("protocols = 'bookkeeper'\nset.ensemble = 0", "ensemble=0: must be 1 or more"),
    ("protocols = 'bookkeeper'\nset.ensemble = 1.5", "ensemble = 1.5: must be a whole number or a string"),
    ("protocols = 'bookkeeper'\nset.ensemble = true", "ensemble = True: must be a whole number or a string"),
    ("protocols = 'bookkeeper'\nset.timeouts = 'some'", "timeouts=some: not a value of this switch"),
    ("protocols = 'bookkeeper'\nset.bookies = 'nodes+1'", "nodes: no such parameter"),
    (
        "protocols = 'bookkeeper'\nset.bookies = 'ensemble'\nset.ensemble = 'write_quorum'",
        "ensemble refers to another parameter itself",
    ),
    ("protocols = 'bookkeeper'\nset = 3", "set = 3: must be a table"),
    ("protocols = 'bookkeeper'\nproperties = 'no-loss'", "no-loss: no such property of bookkeeper"),
    ("protocols = 'bookkeeper'\nsolvers = 'magic'", "solvers = 'magic': no such value; valid: cadical"),
    ("protocols = 'bookkeeper'\nrounds = '0..2'", "rounds = '0': a whole number is needed"),
    ("protocols = 'bookkeeper'\nbounds = 'few'", "bounds = 'few': a whole number is needed"),
    ("protocols = 'bookkeeper'\nminimize = ['steps', 'faults']", "only one is possible"),
    ("protocols = 'bookkeeper'\nset.ack_quorum = 9", "asks for nothing: all 1 combinations are invalid"),
    ("known = 'all'\nset.ensemble = 3", "set: not beside known"),
    ("known = 'all'\nset.solver = 3", "set: not beside known"),
    (
        "known = ['#4711']",
        "#4711: no such known bug (did you mean #4701?); fencepost known --list lists them",
    ),
    ("known = []", "known = []: is empty"),
    ("protocols = ", "is not TOML"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[message for _, message in BAD])
def test_a_grid_that_cannot_be_used_is_refused_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(f"[[grid]]\n{text}\n")
    with pytest.raises(BadInput) as refused:
        read_grid(file)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_without_a_grid_or_with_another_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"grid is missing; it must be one table \[\[grid\]\]"):
        plan({})
    with pytest.raises(BadInput, match="grids: unknown key"):
        plan({"grids": []})
    with pytest.raises(BadInput, match="cannot be read"):
        read_grid(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("name", "cases", "invalid"),
    [
        ("bookkeeper-4.13-up-to-3", 20, 34),
        pytest.param("bookkeeper-up-to-5", 140, 360, marks=pytest.mark.slow),
        pytest.param("bookkeeper-up-to-7", 4032, 3108, marks=pytest.mark.long),
        pytest.param("regression-solvers", 490, 0, marks=pytest.mark.long),
    ],
)
def test_the_grids_that_ship_ask_for_what_their_page_says(name: str, cases: int, invalid: int) -> None:
    made = read_grid(Path(__file__).parents[3] / "grids" / f"{name}.toml")
    assert (len(made.cases), made.invalid) == (cases, invalid)
