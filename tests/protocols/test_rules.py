"""Which rules and layers an instance of BookKeeper has, and in which order they replace one another."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.canonical import digest
from fencepost.encoding.language.parameters import assign, options
from fencepost.protocols.bookkeeper import layers, state
from fencepost.protocols.bookkeeper.ledger import ledger
from fencepost.protocols.bookkeeper.parameters import TODAY, BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import Selection, in_order, only_if, rule, rule_of, rules_in
from fencepost.protocols.bookkeeper.state import RULES, ledger_state
from fencepost.protocols.bookkeeper.switches import JOURNAL_MARK
from fencepost.protocols.bookkeeper.today import Today


def chosen(**settings: str) -> list[str]:
    """Return the classes of rules that an instance of today's protocol has with these settings."""
    made = assign(TODAY, settings.items())
    return [found.__name__ for found in RULES if rule_of(found).applies(made)]


def test_today_has_no_rule() -> None:
    assert chosen() == []


def test_a_value_has_its_rule() -> None:
    assert chosen(coverage="count") == ["CountedFences"]
    assert chosen(coverage="pr-2281", timeouts="lost-only") == ["WindowsOrEntries", "TimeoutsOfLost"]


def test_a_rule_that_changes_nothing_is_left_out() -> None:
    assert chosen(chained_changes="one-difference") == []
    assert chosen(chained_changes="one-difference", fragments="3") == ["Chains", "IdleChanges"]


def test_an_unknown_switch_or_value_is_refused() -> None:
    with pytest.raises(ModelError, match="no such switch; valid: recovery_reads_fence, "):
        rule("coverag", "count")
    with pytest.raises(ModelError, match="no value besides today's; valid: lost-only"):
        rule("timeouts", "none")


def test_a_rule_for_todays_value_is_refused() -> None:
    with pytest.raises(ModelError, match="no value besides today's; valid: lost-only"):
        rule("timeouts", "any")


def test_two_rules_for_one_value_are_refused() -> None:
    @rule("timeouts", "lost-only")
    class Never(Today):
        pass

    with pytest.raises(ModelError, match="timeouts=lost-only: two rules, TimeoutsOfLost and Never"):
        in_order(*RULES, Never)


def test_a_class_that_is_no_rule_is_refused() -> None:
    class Stray(Today):
        pass

    with pytest.raises(ModelError, match="Stray: is no rule"):
        in_order(Stray)


def test_each_rule_of_a_layer_is_listed() -> None:
    # Planted: a layer is left out of the modules in `state`.
    names = [f"{layers.__name__}.{found.name}" for found in iter_modules(layers.__path__)]
    assert set(rules_in(*map(import_module, names))) == set(RULES)


def test_each_value_but_todays_has_a_rule_or_is_read_where_it_is_needed() -> None:
    ruled = {(found.switch, found.value) for found in map(rule_of, RULES) if found.switch}
    switches = {switch for switch, _ in ruled}
    values = {(o.name, v) for o in options(BookKeeperParameters) if o.name in switches for v in o.values[1:]}
    assert ruled == values


STRIPED = {"bookies": 4, "write_quorum": 2, "ack_quorum": 2, "entries": 2, "fragments": 3}
"""A spare bookie, write sets that differ, and three fragments: each rule changes something here."""

MARKED = {"journals": 2, "other_dirs": 1, "failed_flushes": 1}
"""Further settings that the rules of the journal's mark need."""


@pytest.mark.parametrize(
    "found",
    [rule_of(part) for part in RULES if rule_of(part).switch],
    ids=lambda found: f"{found.switch}={found.value}",
)
def test_each_rule_changes_the_model(found: Selection) -> None:
    sizes = {**STRIPED, **(MARKED if found.switch in JOURNAL_MARK else {})}
    settings = {name: str(value) for name, value in sizes.items()}
    changed = {**settings, str(found.switch): str(found.value)}
    assert digest(ledger(assign(TODAY, changed.items()))) != digest(ledger(assign(TODAY, settings.items())))


@only_if(lambda p: True)
class _First(Today):
    def said_when_refused(self) -> str:
        return "first"


@only_if(lambda p: True)
class _Second(Today):
    def said_when_refused(self) -> str:
        return f"second after {super().said_when_refused()}"


def test_a_later_rule_replaces_what_an_earlier_one_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "RULES", in_order(_First, _Second))
    assert ledger_state(TODAY).said_when_refused() == "second after first"
    monkeypatch.setattr(state, "RULES", in_order(_Second, _First))
    assert ledger_state(TODAY).said_when_refused() == "first"
