"""The alert rules for the losses of a setup: a PrometheusRule."""

from __future__ import annotations

import yaml

from fencepost.advice.advice import Advice
from fencepost.advice.alerts import Alert, alerts_for
from fencepost.cli.rendering.advice_text import UNSHOWN, asked, broken, listed

PREFIX = "BookKeeper"
"""The begin of the name of each alert."""


def as_rules(advice: Advice) -> str:
    """Return the alert rules as a resource of the Prometheus operator, in YAML."""
    found, unshown = alerts_for(advice.setup, advice.losses, advice.may_be_pulsars)
    rules = [_rule(alert, shown, advice) for alert, shown in found]
    resource = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "bookkeeper-losses"},
        "spec": {"groups": [{"name": "bookkeeper-losses", "rules": rules}]},
    }
    head = [f"Alert rules for {asked(advice)}.", *([f"{UNSHOWN}: {listed(unshown)}."] if unshown else [])]
    comments = [f"# {line}" for text in head for line in broken(text, 108)]
    text = yaml.safe_dump(resource, sort_keys=False, width=2**20, allow_unicode=True)
    return "\n".join([*comments, text.rstrip()])


def _rule(alert: Alert, shown: list[str], advice: Advice) -> dict[str, object]:
    steps = sorted({n for loss in advice.losses if loss.name in shown for n in advice.numbers(loss)})
    return {
        "alert": f"{PREFIX}{alert.name}",
        "expr": alert.expression(advice.setup),
        "for": alert.wait,
        "labels": {"severity": "critical" if alert.after else "warning"},
        "annotations": {
            "summary": f"{alert.tells[0].upper()}{alert.tells[1:]}.",
            "description": (
                f"{'An entry may be lost by' if alert.after else 'It can lead to'}: {listed(shown)}. "
                f"{'Steps' if len(steps) > 1 else 'Step'} {listed(list(map(str, steps)))} of "
                f"`fencepost advise --all` {'are' if len(steps) > 1 else 'is'} against it."
            ),
            "exported_by": "; ".join(alert.settings),
            "source": "; ".join(alert.sources),
        },
    }
