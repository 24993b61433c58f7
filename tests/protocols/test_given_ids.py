"""Ids that the application gives (layers/given_ids), and the length of the ledger (layers/lengths)."""

from __future__ import annotations

from functools import cache

import pytest
from preset_instances import ALL_ONE

from fencepost.advice.explained_by import names_of
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.system import choose
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.state import Ledger
from support.instances import built

Step = tuple[object, ...]

CREATE: Step = ("create ledger",)
CLOSE: Step = ("close ledger",)
SECOND: tuple[Step, ...] = (("handle second add", "b1"), ("receive second ack", "b1"))


def add(*entries: int) -> tuple[Step, ...]:
    """Return the steps by which the writer adds the entries, each to its end."""
    return tuple(
        step
        for e in entries
        for step in (("push", 1, e), ("handle add", "w", 1, e, "b1"), ("receive ack", "w", 1, e, "b1"))
    )


def again(entry: int) -> Step:
    return ("queue second add", entry)


@cache
def replayer_of(**settings: object) -> tuple[Replayer, Ledger]:
    instance = find("bookkeeper").instance({**ALL_ONE, "entries": 3, "inflight": 3, **settings}.items())
    assert isinstance(instance.system.state, Ledger)
    return Replayer(instance.system, instance.subject), instance.system.state


def after(*steps: Step, **settings: object) -> dict[str, object]:
    """Return the LAC, the last acknowledged entry, the end, and which of the properties hold."""
    replayer, s = replayer_of(**{"given_ids": 1, **settings})
    actions = [replayer.system.find(str(name), [str(a) for a in rest]) for name, *rest in steps]
    assert None not in actions
    state = replayer.follow([a for a in actions if a is not None], ())[-1]
    asked = {"lac": s.lac("w"), "acknowledged": s.acknowledged("w"), "end": s.last_entry}
    asked |= {p: choose(replayer.system, (p,))[0].holds for p in ("adds-answered", "acknowledged-adds-stay")}
    return {name: replayer.concrete.evaluate(term, {}, state) for name, term in asked.items()}


@pytest.mark.parametrize(
    ("steps", "lac", "acknowledged"),
    [
        ((*add(2),), 0, 0),
        ((*add(2, 1),), 2, 2),
        ((*add(1, 2), again(1)), 2, 2),
        ((*add(1, 2), again(1), *add(3)), 2, 2),
        ((*add(1, 2), again(1), *SECOND), 1, 2),
        ((*add(1, 2), again(1), *SECOND, *add(3)), 1, 2),
        ((*add(1), again(1), *add(2)), 1, 1),
        ((*add(1), again(1), *SECOND, *add(2)), 2, 2),
        ((*add(1), again(1), *add(2), *SECOND), 2, 2),
        ((("push", 1, 1), again(1), *SECOND), 0, 0),
        ((*add(1, 2), again(2), *SECOND, *add(3)), 2, 2),
        ((*add(1), ("push", 1, 2), again(2), *add(3)), 1, 1),
    ],
)
def test_the_lac_follows_the_queue(steps: tuple[Step, ...], lac: int, acknowledged: int) -> None:
    """Entry 1 is the first id, 0 in the code.

    Planted: a second add of the first id that is at the head for ever; a later id that is taken again; a LAC
    that falls before the second add has its acks.
    """
    found = after(CREATE, *steps)
    assert (found["lac"], found["acknowledged"]) == (lac, acknowledged)


@pytest.mark.parametrize(
    ("steps", "answered", "stays"),
    [
        ((*add(1, 2), again(1), *SECOND, CLOSE), True, False),
        ((*add(1, 2), again(1), CLOSE), True, True),
        ((*add(1), again(1), *SECOND, CLOSE), True, True),
        ((*add(1, 2), again(2)), True, True),
        ((*add(1, 2), again(2), ("push", 1, 3)), False, True),
        ((*add(1), ("push", 1, 2), again(2)), False, True),
        ((("push", 1, 2), again(2)), True, True),
        ((*add(1, 2), again(1), ("push", 1, 3)), True, True),
        ((*add(1, 2), again(1), *SECOND, ("push", 1, 3)), False, True),
        ((*add(2),), True, True),
    ],
)
def test_an_id_twice_hangs_or_cuts_off(steps: tuple[Step, ...], answered: bool, stays: bool) -> None:
    """An add that waits for an id below it, which nobody has given, does not hang.

    Planted: a hang that counts ids which were not given; `acknowledged-adds-stay` of the LAC.
    """
    found = after(CREATE, *steps)
    assert (found["adds-answered"], found["acknowledged-adds-stay"]) == (answered, stays)


def test_with_the_mend_no_id_is_queued_twice() -> None:
    """Planted: the mend leaves the action in the model."""
    replayer, _ = replayer_of(given_ids=1, id_check="with-queue")
    assert replayer.system.find("queue second add", ["1"]) is None


def test_without_given_ids_entries_are_pushed_in_order() -> None:
    """Planted: the order of ids is dropped for each writer."""
    replayer, _ = replayer_of()
    (create, push) = (replayer.system.find(*one) for one in (("create ledger", []), ("push", ["1", "2"])))
    assert create is not None and push is not None
    with pytest.raises(NotAnExecution):
        replayer.follow([create, push], ())


def recover(*reads: int) -> tuple[Step, ...]:
    """Return the steps of a recovery on one bookie that reads these entries; the last one is not there."""
    found = [
        step
        for e in reads
        for step in (
            ("send reads", "r1", e),
            ("handle read", "r1", e, "b1"),
            ("receive read answer", "r1", e, "b1"),
        )
    ]
    back = [
        step
        for e in reads[:-1]
        for step in (
            ("write back", "r1", 1, e),
            ("handle add", "r1", 1, e, "b1"),
            ("receive ack", "r1", 1, e, "b1"),
        )
    ]
    fence = [("begin recovery", "r1"), ("handle fence", "r1", "b1"), ("receive fence answer", "r1", "b1")]
    return (*fence, *found, *back, ("finish recovery", "r1", reads[-1]))


@pytest.mark.parametrize(
    ("pushed", "rule", "length"),
    [
        ((1, 2), "of-answers", 2),
        ((2, 1), "of-answers", 1),
        ((2, 1), "of-last-entry", 1),
        ((2, 1), "summed", 2),
    ],
)
def test_recovery_takes_the_length_of_its_last_entry(pushed: tuple[int, ...], rule: str, length: int) -> None:
    """Planted: the length that an add carries is its id; a mend that takes the last entry's alone."""
    steps = (CREATE, *(s for e in pushed for s in add(e)[:2]), *recover(1, 2, 3))
    replayer, s = replayer_of(given_ids=1, id_check="with-queue", lengths=1, recovered_length=rule)
    actions = [replayer.system.find(str(name), [str(a) for a in rest]) for name, *rest in steps]
    assert None not in actions
    state = replayer.follow([a for a in actions if a is not None], ())[-1]
    assert replayer.concrete.evaluate(s.length, {}, state) == length


@pytest.mark.long
def test_a_bug_of_given_ids_explains_no_trace_without_them() -> None:
    """A row explains a trace only in its layers. Planted: the switch alone decides."""
    from fencepost.encoding.check import check

    pair = {"bookies": 2, "ensemble": 2, "write_quorum": 2, "ack_quorum": 2, "entries": 2, "lengths": 1}
    instance = find("bookkeeper").instance(pair.items())
    limits = Limits(one_is_enough=True).of(instance.system)
    (result,) = check(instance, instance.properties("length-is-the-sum"), limits).results
    assert names_of(result) == ["recovered-length"]


def test_layers_that_are_off_have_no_state_variable() -> None:
    """Planted: a state variable that is declared always."""
    off, _ = built("bookkeeper", {**ALL_ONE, "entries": 2})
    both, _ = built("bookkeeper", {**ALL_ONE, "entries": 2, "given_ids": 1, "lengths": 1})
    names = [{v.name.split("[")[0] for v in (*s.variables, *s.choices)} for s in (off, both)]
    assert names[1] - names[0] == {
        *("second", "lac_at_second", "second_handled", "second_acked", "second_done"),
        *("length", "carried_length", "told_length", "heard_length"),
    }


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"id_check": "with-queue"}, "id_check without given ids changes nothing"),
        ({"recovered_length": "summed"}, "recovered_length without lengths changes nothing"),
        ({"given_ids": 1}, "given_ids <= 1 needs 2 entries or more"),
        ({"given_ids": 1, "entries": 2, "crashes": 1}, "given_ids and crashes exclude each other"),
        ({"lengths": 1, "forces": 1}, "lengths and forces exclude each other"),
        ({"given_ids": 2, "entries": 2}, "given_ids <= 1"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        find("bookkeeper").instance({**ALL_ONE, **settings}.items())
