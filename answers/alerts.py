"""Alert rules for the losses of a setup: metrics that its release has, and the setting that exports each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.answers.losses import CONDITIONS, LOSSES, Loss, document
from fencepost.answers.setups import Setup
from fencepost.encoding import keys as k
from fencepost.encoding.documents import Key, has_keys
from fencepost.encoding.errors import BadInput
from fencepost.protocols.bookkeeper.releases import TAGS, ordered

PROMQL = frozenset(["increase", "sum", "count", "time", "and", "or", "unless", "on", "instance", "success"])
"""The words of the expressions that are no metrics."""


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


METRIC = k.keys(
    kind=k.among(("counter", "summary", "gauge")),
    since=k.among(TAGS),
    setting=k.text("the setting that exports it"),
    source=k.text("the classes that count it"),
)
_OF_SETUP = Key(list, "a list of conditions", lambda value: set(value) <= set(CONDITIONS))
ALERT = {
    **k.keys(
        tells=k.text("the alert in words"),
        expr=k.text("an expression over the metrics of the table"),
        shows=Key(list, "names of losses", lambda value: set(value) <= {loss.name for loss in LOSSES}),
    ),
    "for": k.text("a time"),
    "needs": _OF_SETUP,
    "unless": _OF_SETUP,
    "after": k.flag(),
}


def alerts_of(table: Mapping[str, Any], where: str) -> tuple[Alert, ...]:
    """Return the alerts of a table. Raises BadInput for a metric without its setting, or one used wrongly."""
    metrics = {
        name: Metric(name, **has_keys(row, METRIC, f"{where}, {name}"))
        for name, row in table["metrics"].items()
    }
    found = []
    for name, row in table["alerts"].items():
        place = f"{where}, {name}"
        row = has_keys(row, ALERT, place)
        used = tuple(_metrics_in(row["expr"], metrics, place))
        conditions = {key: frozenset(row.get(key, ())) for key in ("shows", "needs", "unless")}
        wait, after = row.get("for", "0m"), row.get("after", False)
        found.append(Alert(name, row["tells"], row["expr"], wait, used, after=after, **conditions))
    return tuple(found)


def _metrics_in(expr: str, metrics: Mapping[str, Metric], place: str) -> Iterable[Metric]:
    """Yield the metrics of an expression. Raises BadInput for one that is unknown or used wrongly."""
    bare = re.sub(r'"[^"]*"|\[\w+\]|\{spares\}', "", expr)
    for word in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", bare)):
        if word in PROMQL:
            continue
        metric = metrics.get(word) or metrics.get(word.removesuffix("_count"))
        if metric is None:
            raise BadInput(f"{place}: {word} is no metric of the table; valid: {', '.join(metrics)}")
        if metric.kind == "summary" and word == metric.name:
            raise BadInput(
                f"{place}: {word} is a summary, whose quantiles are no count; use increase({word}_count[…])"
            )
        if metric.kind != "gauge" and f"increase({word}" not in expr:
            raise BadInput(f"{place}: {word} only grows, so it is never 0 again; use increase({word}[…])")
        yield metric


ALERTS: tuple[Alert, ...] = alerts_of(document("alerts.toml"), "alerts.toml")
"""The alerts of the table."""


def alerts_for(setup: Setup, losses: Iterable[Loss]) -> tuple[list[tuple[Alert, list[str]]], list[str]]:
    """Return the alerts of a setup with the losses that each shows, and the losses that no metric shows."""
    names = [loss.name for loss in losses]
    found = [
        (alert, shown)
        for alert in ALERTS
        if alert.is_for(setup) and (shown := [name for name in names if name in alert.shows])
    ]
    seen = {name for _, shown in found for name in shown}
    return found, [name for name in names if name not in seen]
