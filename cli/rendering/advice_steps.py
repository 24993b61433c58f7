"""The steps against the losses of a setup, in the order in which an operator does them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from fencepost.answers.advice import UNAVOIDABLE, Advice, AdviceAnswer, Loss
from fencepost.answers.better import Better, better_setups
from fencepost.cli.rendering.check_text import listed
from fencepost.protocols.bookkeeper.pulsar_releases import pulsars_with

TIMES = {
    "stop": "Before a bookie is stopped",
    "start": "Before a bookie is started again",
    "change": "The change, once",
    "ensemble-change": "After each ensemble change (a broker has replaced a bookie that failed)",
    "crash": "After each crash of a bookie",
    "decide": "For a full answer",
}
"""The times of steps in words, in the order of the list."""


@dataclass(frozen=True)
class AdviceStep:
    """One thing to do, and the losses that it is against."""

    when: str
    """One of TIMES."""
    action: str
    against: tuple[Loss, ...]

    @property
    def is_required(self) -> bool:
        """Whether the step rules its losses out. Then it is a condition of a yes."""
        if self.when == "decide":
            return False
        return self.when == "change" or not any(loss.coincidence in UNAVOIDABLE for loss in self.against)


@lru_cache(maxsize=8)
def steps(advice: Advice) -> list[AdviceStep]:
    """Return the steps by their times.

    The change of release or settings is the nearest whose answer is not no, else the one with the fewest
    losses. It is one step, against all losses that it avoids.
    """
    change = _chosen(better_setups(advice))
    found: dict[tuple[str, str], list[Loss]] = {}
    for loss in advice.deciding:
        avoided = change is not None and loss.name in change.avoids
        step = ("change", _change(change, advice)) if change and avoided else (loss.when, loss.action)
        found.setdefault(step, []).append(loss)
    for loss in advice.open:
        found.setdefault(("decide", _deciding(loss)), []).append(loss)
    order = list(TIMES)
    found_steps = [AdviceStep(when, action, tuple(losses)) for (when, action), losses in found.items()]
    return sorted(found_steps, key=lambda step: order.index(step.when))


def by_time(numbered: Iterable[AdviceStep]) -> list[tuple[str, list[tuple[int, AdviceStep]]]]:
    """Return the steps with their numbers, below the heading of their time."""
    counted = list(enumerate(numbered, 1))
    changes = any(step.when == "change" for _, step in counted)
    also = {"stop": ", also for the change below"} if changes else {}
    groups = groupby(counted, key=lambda one: one[1].when)
    return [(TIMES[when] + also.get(when, ""), list(group)) for when, group in groups]


def rule(advice: Advice) -> str:
    """Return which of the steps must be done, in a sentence or two; empty without steps."""
    needed = [step.is_required for step in steps(advice)]
    if not any(needed):
        return ""
    if all(needed):
        return "All steps are required. To leave one out, accept its losses (--accept)."
    return "Steps marked required rule their losses out. The others do not, but limit the damage."


def purpose(step: AdviceStep) -> str:
    """Return the losses that the step is against, and whether it is required."""
    named = ", ".join(f"{loss.name} ({loss.short})" if loss.short else loss.name for loss in step.against)
    if step.when == "decide":
        return f"Decides {named}"
    return f"Required against {named}" if step.is_required else f"Limits, and does not rule out, {named}"


def remedy(loss: Loss, advice: Advice) -> str:
    """Return the step against a loss, and the action against this loss alone if that differs."""
    mine = [(number, step) for number, step in enumerate(steps(advice), 1) if loss in step.against]
    own = f"Do: {loss.action}"
    if not mine or mine[0][1].when == "decide":
        return own
    number, step = mine[0]
    return (
        f"Do step {number}."
        if step.action == loss.action
        else f"Do step {number}. Against this loss alone: {loss.action}"
    )


def _chosen(better: Sequence[Better]) -> Better | None:
    usable = (one for one in better if one.answer is not AdviceAnswer.NO)
    return next(usable, better[-1] if better else None)


def _deciding(loss: Loss) -> str:
    """Return how to decide an open question."""
    if loss.finding is None or loss.finding.out_of_time:
        return "Ask again with a longer --timeout."
    return "Run the command of the question, which --commands prints: it has no limit of conflicts."


SERVED = (
    "`curl http://BOOKIE:8080/api/v1/config/server_config` of each bookie (port 8000 in Pulsar's chart; "
    "the key is httpServerPort, and httpServerEnabled must be true)"
)
LOGGED = "the version in the first lines of each log, of bookies and of brokers"
CHECKS = {"Bo": LOGGED, "jo": SERVED, "us": SERVED}
"""The check of a change by its first two letters."""


ENSEMBLE_OF_PULSAR = (
    "E is managedLedgerDefaultEnsembleSize of the brokers; a namespace with a persistence policy has its own "
    "(`pulsar-admin namespaces set-persistence`)."
)
ENSEMBLE_OF_OTHERS = (
    "E is the ensemble size with which the application creates ledgers (Pulsar: "
    "managedLedgerDefaultEnsembleSize)."
)


def _change(better: Better, advice: Advice) -> str:
    """Return the change to a better setup as an action that can be checked."""
    metadata = "`bookkeeper shell ledgermetadata -ledgerid L` of a new ledger: ensembleSize = writeQuorumSize"
    checked = [CHECKS.get(change[:2], metadata) for change in better.changes]
    upgrade = ""
    if better.setup.release != advice.setup.release:
        upgrade = " Bookies and clients need the release; Pulsar's brokers are clients."
        upgrade += _pulsars(better.setup.release) if advice.deployment.pulsar else ""
    if better.setup.configuration != advice.setup.configuration:
        upgrade += f" {ENSEMBLE_OF_PULSAR if advice.deployment.pulsar else ENSEMBLE_OF_OTHERS}"
    return f"Change to {listed(better.changes)}.{upgrade} Check {', and '.join(dict.fromkeys(checked))}."


def _pulsars(release: str) -> str:
    """Return which releases of Pulsar have a release of BookKeeper."""
    named = pulsars_with(release)
    if not named:
        return f" No release of Pulsar that was read has BookKeeper {release}."
    return (
        f" Pulsar {', '.join(named)} {'has' if len(named) == 1 else 'have'} it, or a later one of the line."
    )
