"""Alert rules for the losses of a setup: metrics that its release has, and the setting that exports each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.advice.losses import Loss, document
from fencepost.advice.setups import Setup
from fencepost.protocols.bookkeeper.releases import ordered


@dataclass(frozen=True)
class Metric:
    """A metric of BookKeeper or Pulsar."""

    name: str
    kind: str
    since: str
    setting: str
    """The setting that exports it. By BookKeeper's own default nothing is exported."""
    source: str
    """The classes that count and name it."""


@dataclass(frozen=True)
class Alert:
    """An alert rule with the losses that it shows."""

    name: str
    tells: str
    expr: str
    wait: str
    """The time for which the expression must hold."""
    metrics: tuple[Metric, ...]
    shows: frozenset[str]
    needs: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    after: bool = False
    """Whether it says that a loss has happened, and not only that its events come together."""

    @property
    def of_pulsar(self) -> bool:
        """Whether only Pulsar's brokers export one of its metrics."""
        return any(one.name.startswith("pulsar_") for one in self.metrics)

    def is_for(self, setup: Setup) -> bool:
        """Return whether the setup meets the conditions and its release counts all of the metrics."""
        counted = all(ordered(one.since) <= ordered(setup.release) for one in self.metrics)
        return counted and self.needs <= setup.traits and not self.unless & setup.traits

    def expression(self, setup: Setup) -> str:
        """Return the expression with the numbers of the setup."""
        spares = setup.configuration.ensemble - (setup.bookies <= setup.configuration.ensemble)
        return self.expr.format(spares=spares)

    @property
    def settings(self) -> list[str]:
        """The settings that export its metrics."""
        return list(dict.fromkeys(one.setting for one in self.metrics))

    @property
    def sources(self) -> list[str]:
        """The classes that count its metrics."""
        return list(dict.fromkeys(one.source for one in self.metrics))


def _alerts(table: Mapping[str, Any]) -> Iterator[Alert]:
    """Yield the alerts of the table, each with the metrics of its expression."""
    metrics = {name: Metric(name, **row) for name, row in table["metrics"].items()}
    for name, row in table["alerts"].items():
        words = dict.fromkeys(word.removesuffix("_count") for word in re.findall(r"\w+", row["expr"]))
        lists = {key: frozenset(row.get(key, ())) for key in ("shows", "needs", "unless")}
        yield Alert(name, **row | lists, metrics=tuple(metrics[word] for word in words if word in metrics))


ALERTS: tuple[Alert, ...] = tuple(_alerts(document("alerts.toml")))
"""The alerts of the table."""


def alerts_for(
    setup: Setup, losses: Iterable[Loss], with_pulsars: bool = True
) -> tuple[list[tuple[Alert, list[str]]], list[str]]:
    """Return the alerts of a setup with the losses that each shows, and the losses that no metric shows.

    Metrics of Pulsar's brokers count only `with_pulsars`.
    """
    names = [loss.name for loss in losses]
    found = [
        (alert, shown)
        for alert in ALERTS
        if alert.is_for(setup)
        and (with_pulsars or not alert.of_pulsar)
        and (shown := [name for name in names if name in alert.shows])
    ]
    seen = {name for _, shown in found for name in shown}
    return found, [name for name in names if name not in seen]
