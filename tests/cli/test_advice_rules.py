"""The alert rules of `advise`: metrics with the settings that export them, rules that load, and no more."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from fencepost.advice.advice import Advice
from fencepost.advice.alerts import ALERTS, Alert, alerts_for
from fencepost.advice.asked_setup import asked_setup
from fencepost.cli.main import run
from fencepost.cli.rendering.advice_rules import as_rules
from fencepost.cli.rendering.advice_text import EDGE, as_text

CLIENT = "pulsar_managedLedger_client_bookkeeper_client_NUM_ENSEMBLE_CHANGE"
AUDITOR = "auditor_NUM_UNDER_REPLICATED_LEDGERS"


def advice(bookies: int = 4, release: str = "4.17.4", storage: str = "db") -> Advice:
    return asked_setup(3, 3, 2, bookies, release=release, storage=storage)


def rules(asked: Advice) -> dict[str, dict[str, Any]]:
    """Return the rules by name, as a reader of YAML has them."""
    resource = yaml.safe_load(as_rules(asked))
    assert (resource["apiVersion"], resource["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    (group,) = resource["spec"]["groups"]
    assert all(rule["alert"] and isinstance(rule["expr"], str) for rule in group["rules"])
    return {rule["alert"].removeprefix("BookKeeper"): rule for rule in group["rules"]}


PRAVEGA = "bookkeeper.ensemble.size=3\nbookkeeper.write.quorum.size=3\nbookkeeper.ack.quorum.size=2\n"
DISTRIBUTED_LOG = "ensemble-size=3\nwrite-quorum-size=3\nack-quorum-size=2\n"
PULSAR = """\
managedLedgerDefaultEnsembleSize=3
managedLedgerDefaultWriteQuorum=3
managedLedgerDefaultAckQuorum=2
"""


@pytest.mark.parametrize(("text", "is_pulsars"), [(PRAVEGA, False), (DISTRIBUTED_LOG, False), (PULSAR, True)])
def test_a_metric_of_pulsar_is_named_only_for_its_files(text: str, is_pulsars: bool, tmp_path: Path) -> None:
    """Planted: Pulsar's metric for every client."""
    file = tmp_path / "client.conf"
    file.write_text(text)
    asked = asked_setup(bookies=4, files=[str(file)])
    assert (CLIENT in as_rules(asked)) is is_pulsars
    assert (CLIENT in as_text(asked, whole=True)) is is_pulsars
    unshown = as_rules(asked).partition("apiVersion")[0]
    assert ("#4651" in unshown) is not is_pulsars
    assert CLIENT in as_rules(advice())


@pytest.mark.parametrize("release", ["4.6.0", "4.9.0", "4.14.8", "4.17.4", "4.18.0"])
@pytest.mark.parametrize("bookies", [3, 4])
def test_the_rules_load_and_each_loss_is_in_a_rule_or_said_to_be_in_none(release: str, bookies: int) -> None:
    """Planted: a loss without a metric is left out without a word."""
    asked = advice(bookies, release)
    text = as_rules(asked)
    told = " ".join(line.removeprefix("#").strip() for line in text.split("\n") if line.startswith("#"))
    _, unshown = alerts_for(asked.setup, asked.losses)
    described = " ".join(rule["annotations"]["description"] for rule in rules(asked).values())
    for loss in asked.losses:
        assert (loss.name in unshown) is (re.search(rf"{re.escape(loss.name)}[,.]", told) is not None)
        assert (loss.name in unshown) is not (
            re.search(rf"{re.escape(loss.name)}[,.]", described) is not None
        )


def test_each_rule_names_the_setting_that_exports_its_metrics() -> None:
    """A counter of Pulsar's client is exported by its own setting, which is off by default."""
    found = rules(advice())
    exported = "bookkeeperClientExposeStatsToPrometheus=true in broker.conf (false by default)"
    assert found["EnsembleChanged"]["annotations"]["exported_by"] == exported
    assert "PrometheusMetricsProvider" in found["FlushFailed"]["annotations"]["exported_by"]
    assert exported in " ".join(as_text(advice(), whole=True).split())


def test_a_rule_is_only_for_a_setup_and_a_release_that_have_its_metric() -> None:
    """Before 4.15.0 a flush that fails is not counted; sorted storage has no such metric."""
    assert "FlushFailed" in rules(advice(release="4.15.0"))
    old = advice(release="4.14.8")
    assert "FlushFailed" not in rules(old) and "failed-flush" in alerts_for(old.setup, old.losses)[1]
    assert "FlushFailed" not in rules(advice(storage="sorted"))
    assert "EnsembleChanged" not in rules(advice(bookies=3))


def test_the_number_of_bookies_is_that_of_the_setup() -> None:
    """With a spare the alert comes when the last spare is gone, and without one when a bookie is."""
    assert rules(advice(4))["NoSpareBookie"]["expr"] == "count(bookie_SERVER_STATUS == 1) <= 3"
    assert rules(advice(3))["NoSpareBookie"]["expr"] == "count(bookie_SERVER_STATUS == 1) <= 2"


def test_an_expression_is_balanced_and_has_no_place_left_open() -> None:
    for asked in (advice(3), advice(4)):
        for rule in rules(asked).values():
            for left, right in ("()", "[]"):
                assert rule["expr"].count(left) == rule["expr"].count(right)
            assert re.fullmatch(r'[^{}]*|[^{}]*\{success="false"\}[^{}]*', rule["expr"])


@pytest.mark.parametrize("alert", ALERTS, ids=lambda one: one.name)
def test_each_alert_is_for_some_setup(alert: Alert) -> None:
    """Planted: an alert whose conditions no setup meets, or whose losses are never together with them."""
    asked = [advice(n, storage=storage) for n in (3, 4) for storage in ("db", "sorted")]
    assert any(alert in [one for one, _ in alerts_for(each.setup, each.losses)[0]] for each in asked)


def test_the_command_prints_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["-e", "3", "-w", "3", "-a", "2", "-n", "4", "--release", "4.17.4"]
    assert run(["advise", *sizes, "--format", "prometheus-rules"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["kind"] == "PrometheusRule"


def test_the_edge_of_the_answer_is_said_once_and_whole() -> None:
    """Planted: a longer sentence is cut off on the screen."""
    for whole in (False, True):
        assert " ".join(as_text(advice(), whole=whole).split()).count(EDGE) == 1
