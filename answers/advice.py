"""The advice on a setup: yes, no, yes with conditions or not known, and the losses behind the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from fencepost.answers.public_losses import PublicLoss
from fencepost.answers.risk_search import NOT_ASKED, RiskFinding
from fencepost.answers.risks import COINCIDENCES, Risk
from fencepost.answers.setups import Setup
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.protocols.bookkeeper.pulsar_releases import PulsarRelease
from fencepost.quorums.deployment import Deployment
from fencepost.quorums.files.persistence import CHARTS_PERSISTENCE
from fencepost.quorums.files.setters import Setter
from fencepost.quorums.files.sources import Source

UNAVOIDABLE = ("nothing", "slow-bookie")
"""The coincidences that nobody can rule out: a loss that needs no more makes the answer a no."""

ANYTHING_ELSE = "anything else"
"""The name of a loss that no known bug, setting or public report explains."""


class AdviceAnswer(StrEnum):
    """The answer to "may I run this?"."""

    NO = "no"
    CONDITIONS = "yes, with conditions"
    UNKNOWN = "not known"
    YES = "yes"


class LossState(StrEnum):
    """What the search has found about a loss at the sizes asked about."""

    FOUND = "found"
    PUBLIC = "public, not checked here"
    """A public source names the loss for this release and setup, and no model has it."""
    OPEN = "not decided"
    ABSENT = "not found"


@dataclass(frozen=True)
class Loss:
    """One way to lose an acknowledged entry: a known bug, a setting, a public report, or anything else."""

    name: str
    short: str
    """The loss in a few words."""
    loses: str
    coincidence: str
    events: str
    """The events that must come together, in words; empty if only their kind is known."""
    action: str
    state: LossState
    accepted: bool
    finding: RiskFinding | None = None
    source: str = ""
    """The public address of a loss that was not checked here."""
    when: str = "change"
    """The time of the action, one of WHEN."""
    seen: str = ""
    """The public facts about how often the loss was seen; empty if there are none."""

    @property
    def decides(self) -> bool:
        """Whether the loss speaks against the setup: it was found or is public, and nobody accepted it."""
        return not self.accepted and self.state in (LossState.FOUND, LossState.PUBLIC)

    @property
    def is_open(self) -> bool:
        """Whether an answer about the loss is missing."""
        return not self.accepted and self.state is LossState.OPEN


def judged(coincidences: Iterable[str], has_open: bool = False) -> AdviceAnswer:
    """Return the answer for losses with these coincidences.

    A condition is a promise: if all are met, nothing is lost. Nobody can promise that while a question is
    open, so a loss that was found then makes the answer a no.
    """
    found = list(coincidences)
    if any(one in UNAVOIDABLE for one in found) or (found and has_open):
        return AdviceAnswer.NO
    if has_open:
        return AdviceAnswer.UNKNOWN
    return AdviceAnswer.CONDITIONS if found else AdviceAnswer.YES


@dataclass(frozen=True, eq=False)
class Advice:
    """The findings about a setup. Two of them are never equal, so that what follows is kept for each."""

    setup: Setup
    deployment: Deployment
    sources: dict[str, Source]
    set_by: Mapping[str, Setter]
    """The setter of each value of the setup, by the name of the value in JSON."""
    losing: list[tuple[Risk, RiskFinding]]
    public: list[PublicLoss]
    other: list[Risk]
    rest: RiskFinding
    accepted: frozenset[str]
    pulsar: PulsarRelease | None = None
    """The release of Pulsar that was asked about."""
    persistence: str = ""
    """The setting by which disks outlive their pods, in the keys of the files; empty if no file has one."""
    warning: str = ""
    """Sentences about a release or about keys that were not read; empty if there are none."""
    remark: str = ""
    """Whether the answers were computed earlier, or why those that ship are not used; else empty."""

    def here(self, found: RiskFinding) -> bool:
        """Return whether a verdict is for the sizes asked about, and not for a small instance."""
        return all(found.shown_on[name] == size for name, size in self.setup.sizes.items())

    @property
    def losses(self) -> list[Loss]:
        """All losses that were asked about, the one that needs the least first; those not found come last."""
        found = [*map(self._of_risk, self.losing), *map(self._of_public, self.public)]
        if self._state(self.rest) is not LossState.ABSENT:
            found.append(self._of_rest())
        return sorted(
            found, key=lambda loss: (loss.accepted, not loss.decides, COINCIDENCES.index(loss.coincidence))
        )

    @property
    def deciding(self) -> list[Loss]:
        """The losses that speak against the setup."""
        return [loss for loss in self.losses if loss.decides]

    @property
    def open(self) -> list[Loss]:
        """The losses of which it is not known whether they happen at these sizes."""
        return [loss for loss in self.losses if loss.is_open]

    @property
    def answer(self) -> AdviceAnswer:
        """The answer: the losses decide that were found or are public, and those that are open.

        While nothing was searched for, a public loss that can be ruled out does not make it a no.
        """
        unsearched = all(found.reason == NOT_ASKED for found in (self.rest, *(f for _, f in self.losing)))
        can_be_met = (one.coincidence not in UNAVOIDABLE and one.finding is None for one in self.deciding)
        if self.open and unsearched and all(can_be_met):
            return AdviceAnswer.UNKNOWN
        return judged((loss.coincidence for loss in self.deciding), bool(self.open))

    def _state(self, found: RiskFinding) -> LossState:
        if not (found.decided and self.here(found)):
            return LossState.OPEN
        return LossState.FOUND if found.verdict is Verdict.VIOLATED else LossState.ABSENT

    def _of_risk(self, asked: tuple[Risk, RiskFinding]) -> Loss:
        risk, found = asked
        name, state = risk.bug.name, self._state(found)
        if risk.at_once and state is LossState.OPEN:  # it follows from the setting at every size
            state = LossState.FOUND
        own = {"loses": risk.bug.wrong, "events": risk.events, "state": state, "finding": found}
        return self._loss(name, risk, own)

    def _of_public(self, loss: PublicLoss) -> Loss:
        own = {
            "loses": loss.loses.rstrip("."),
            "events": "",
            "state": LossState.PUBLIC,
            "source": loss.source,
        }
        return self._loss(loss.name, loss, own)

    def _loss(self, name: str, about: Risk | PublicLoss, own: Mapping[str, Any]) -> Loss:
        """Return a loss. Its action has the keys of the files in place of those of Pulsar's chart."""
        action = about.action
        if self.persistence:
            action = action.replace(CHARTS_PERSISTENCE, self.persistence)
        shared = {field: getattr(about, field) for field in ("short", "coincidence", "when", "seen")}
        return Loss(name, action=action, accepted=name in self.accepted, **shared, **own)

    def _of_rest(self) -> Loss:
        state = self._state(self.rest)
        action = (
            "Report the execution (--format html draws it): no known bug explains it."
            if state is LossState.FOUND
            else "Ask again with a longer --timeout."
        )
        said = "an acknowledged entry is lost in a way that no known bug explains"
        return Loss(
            ANYTHING_ELSE, "no known bug explains it", said, "nothing", "", action, state, False, self.rest
        )
