"""Acks from several racks (layers/fault_domains): the rule, its defect, and that it is free when off."""

from __future__ import annotations

from functools import cache

import pytest

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.state import Ledger
from support.instances import built

Step = tuple[object, ...]

TWO_RACKS = {"bookies": 4, "entries": 2, "racks": 2}
"""3/3/2: b1 and b3 are on one rack, b2 and b4 on the other."""
PUSHED: tuple[Step, ...] = (("create ledger",), ("push", 1, 1), ("push", 1, 2))


def stored(*bookies: str) -> tuple[Step, ...]:
    """Return the steps by which these bookies ack the first entry."""
    adds = [("handle add", "w", 1, 1, b) for b in bookies]
    return (*adds, *(("receive ack", "w", 1, 1, b) for b in bookies))


REPLACED: tuple[Step, ...] = (
    *PUSHED,
    *stored("b2"),
    ("begin change", "w", 1, 2, "b2"),
    ("commit change", "w", 1, "b2", "b4"),
    *stored("b1", "b3"),
)
"""b2 has acked the entry and is replaced. Then AQ bookies of one rack ack it."""


@cache
def replayer_of(replaced_racks: str) -> tuple[Replayer, Ledger]:
    instance = find("bookkeeper").instance({**TWO_RACKS, "replaced_racks": replaced_racks}.items())
    assert isinstance(instance.system.state, Ledger)
    return Replayer(instance.system, instance.subject), instance.system.state


def lac_after(steps: tuple[Step, ...], replaced_racks: str = "kept") -> object:
    """Return the writer's LAC after these steps."""
    replayer, s = replayer_of(replaced_racks)
    actions = [replayer.system.find(str(action), [str(a) for a in arguments]) for action, *arguments in steps]
    assert None not in actions
    state = replayer.follow([a for a in actions if a is not None], ())[-1]
    return replayer.concrete.evaluate(s.lac("w"), {}, state)


@pytest.mark.parametrize(("bookies", "lac"), [(("b1", "b3"), 0), (("b1", "b2"), 1), (("b1", "b3", "b2"), 1)])
def test_an_entry_needs_acks_from_two_racks(bookies: tuple[str, ...], lac: int) -> None:
    """Planted: AQ acks are enough."""
    assert lac_after((*PUSHED, *stored(*bookies))) == lac


def test_the_rack_of_a_replaced_bookie_counts_in_the_code_and_not_with_the_mend() -> None:
    """Planted: the two values of the switch exchanged."""
    assert lac_after(REPLACED, "kept") == 1
    assert lac_after(REPLACED, "withdrawn") == 0


def test_a_replacement_keeps_each_write_set_on_two_racks() -> None:
    """Planted: any bookie that is not in the ensemble may stand in. An add could then wait for ever."""
    pair = {"bookies": 3, "ensemble": 2, "write_quorum": 2, "racks": 2}
    system, _ = built("bookkeeper", pair)
    replayer = Replayer(system, find("bookkeeper").instance(pair.items()).subject)

    def follow(failed: str) -> None:
        steps = (("create ledger",), ("push", 1, 1), ("begin change", "w", 1, 1, failed))
        actions = [system.find(str(name), [str(a) for a in given]) for name, *given in steps]
        replayer.follow([a for a in actions if a is not None], ())

    follow("b1")  # b3 is on its rack
    with pytest.raises(NotAnExecution):
        follow("b2")  # the spare bookie is on the rack of b1


def test_without_racks_there_is_no_state_variable_of_the_layer() -> None:
    """Planted: a state variable that is declared always."""
    off, _ = built("bookkeeper", {"bookies": 4})
    on, _ = built("bookkeeper", {"bookies": 4, "racks": 2})
    names = [{v.name.split("[")[0] for v in s.variables} for s in (off, on)]
    assert names[1] - names[0] == {"has_succeeded", "on_rack"}
    assert {schema.name for schema in on.schemas} == {schema.name for schema in off.schemas}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"replaced_racks": "withdrawn"}, "replaced_racks without racks changes nothing"),
        (
            {"racks": 2, "fragments": 3, "chained_changes": "one-difference"},
            "racks and chained_changes=one-difference exclude each other",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        find("bookkeeper").instance({"bookies": 4, **settings}.items())
