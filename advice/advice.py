"""The advice on a setup: its losses by what they need, the steps, and the change that removes most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from fencepost.advice.losses import LEVELS, WHEN, WHO, Loss, possible
from fencepost.advice.setups import Setup
from fencepost.advice.steps import STEPS, Precaution, steps_of
from fencepost.encoding.language.state import amount
from fencepost.protocols.bookkeeper.pulsar_releases import PulsarRelease, pulsars_with
from fencepost.protocols.bookkeeper.releases import TAGS, ordered
from fencepost.quorums.deployment import Deployment
from fencepost.quorums.files.persistence import CHARTS_PERSISTENCE
from fencepost.quorums.files.setters import Setter
from fencepost.quorums.files.sources import Source
from fencepost.quorums.stripes import Configuration


@dataclass(frozen=True)
class Ignored:
    """A loss that the user ignores until a day."""

    reason: str
    until: str


@dataclass(frozen=True)
class AdvisedChange:
    """Another release or setting, and the losses that it removes."""

    words: str
    setup: Setup
    step: Precaution
    removes: tuple[str, ...] = ()
    eases: tuple[str, ...] = ()
    """The losses that need more after it."""
    remains: tuple[str, ...] = ()

    @property
    def is_release(self) -> bool:
        """Whether it is another release."""
        return self.words.startswith("BookKeeper ")


@dataclass(frozen=True)
class NumberedStep:
    """A step with its number and the losses that it is against."""

    number: int
    step: Precaution
    against: tuple[Loss, ...]
    done: bool


@dataclass(frozen=True, eq=False)
class Advice:
    """The losses of a setup and the steps against them, computed from the conditions alone."""

    setup: Setup
    deployment: Deployment
    sources: Mapping[str, Source] = field(default_factory=dict)
    set_by: Mapping[str, Setter] = field(default_factory=dict)
    """The setter of each value of the setup, by the name of the value in JSON."""
    pulsar: PulsarRelease | None = None
    """The release of Pulsar that was asked about."""
    persistence: str = ""
    """The setting by which disks outlive their pods, in the keys of the files; empty if no file has one."""
    warning: str = ""
    """Sentences about a release or about keys that were not read; empty if there are none."""
    ignored: Mapping[str, Ignored] = field(default_factory=dict)

    @property
    def may_be_pulsars(self) -> bool:
        """Whether the clients may be Pulsar's brokers: not if files were read and none is of Pulsar."""
        return self.deployment.pulsar or not self.sources

    @cached_property
    def losses(self) -> list[Loss]:
        """The losses that can happen and are not ignored, the easiest first."""
        return [loss for loss in possible(self.setup) if loss.name not in self.ignored]

    def level(self, loss: Loss) -> str:
        """Return the events that a loss needs in this setup."""
        return loss.level_in(self.setup)

    def fails_on(self, level: str) -> bool:
        """Return whether a loss needs these events or less."""
        order = list(LEVELS)
        return any(order.index(self.level(loss)) <= order.index(level) for loss in self.losses)

    @cached_property
    def change(self) -> AdvisedChange | None:
        """The one change of release or setting that removes most; None if none removes a loss."""
        now = possible(self.setup)
        best, least = None, self._weight(self.setup, now)
        for change in _changes(self.setup, self.deployment):
            then = possible(change.setup)
            weight = self._weight(change.setup, then)
            if weight < least:
                best, least = change, weight
        return None if best is None else self._told(best)

    def _weight(self, setup: Setup, losses: list[Loss]) -> tuple[int, ...]:
        """Return how many losses take everything by one crash or less, then how many there are by level."""
        counted = [loss for loss in losses if loss.name not in self.ignored]
        levels = Counter(loss.level_in(setup) for loss in counted)
        order = list(LEVELS)
        one_fault = [one for one in counted if one.everything and order.index(one.level_in(setup)) < 3]
        return len(one_fault), *(levels[level] for level in LEVELS)

    def _told(self, change: AdvisedChange) -> AdvisedChange:
        after = {loss.name: loss.level_in(change.setup) for loss in possible(change.setup)}
        order = list(LEVELS)
        removes = tuple(loss.name for loss in self.losses if loss.name not in after)
        eases = tuple(
            loss.name
            for loss in self.losses
            if loss.name in after and order.index(after[loss.name]) > order.index(self.level(loss))
        )
        remains = tuple(name for name in after if name not in self.ignored)
        return replace(change, removes=removes, eases=eases, remains=remains)

    @cached_property
    def steps(self) -> list[NumberedStep]:
        """The steps: that of the change, then by time and by who does them; those that are done come last."""
        against: dict[Precaution, list[Loss]] = {}
        change = self.change
        for loss in self.losses:
            if change and loss.name in (*change.removes, *change.eases):
                against.setdefault(change.step, []).append(loss)
            if not (change and loss.name in change.removes):
                for step in steps_of(loss):
                    against.setdefault(step, []).append(loss)
        for step in STEPS.values():
            if step.is_done(self.setup) and step not in against:
                against[step] = []
        first = change.step if change else None

        def place(step: Precaution) -> tuple[bool, bool, int, int]:
            done = step.is_done(self.setup)
            return done, step is not first, WHEN.index(step.when), WHO.index(step.who)

        ordered_steps = sorted(against, key=place)
        return [
            NumberedStep(number, step, tuple(against[step]), step.is_done(self.setup))
            for number, step in enumerate(ordered_steps, 1)
        ]

    def words(self, step: Precaution) -> str:
        """Return a step in the words of the release, with the keys of the files for persistence."""
        text = step.text_in(self.setup.release)
        return text.replace(CHARTS_PERSISTENCE, self.persistence or CHARTS_PERSISTENCE)

    def action(self, loss: Loss) -> str:
        """Return what to do against a loss."""
        return " ".join(map(self.words, steps_of(loss)))

    def numbers(self, loss: Loss) -> list[int]:
        """Return the numbers of the steps against a loss that are not done, the step of the change first."""
        mine = {one.step: one.number for one in self.steps if loss in one.against and not one.done}
        order = [*([self.change.step] if self.change else []), *steps_of(loss)]
        return [mine[step] for step in dict.fromkeys(order) if step in mine]


COMPACTION = "transactional-compaction"


def _changes(setup: Setup, deployment: Deployment) -> Iterator[AdvisedChange]:
    """Yield each single change that may remove losses, of changes that remove as much the nearest first."""
    e, wq, aq = setup.configuration.sizes
    if "ephemeral-disks" in setup.features:
        step = STEPS["persistent-volumes"]
        yield AdvisedChange("persistent volumes", _without(setup, "ephemeral-disks"), step)
    if aq == 1:
        sizes = Configuration(max(e, 2), max(wq, 2), 2)
        bookies = max(setup.bookies, sizes.ensemble + min(1, setup.bookies - e))
        words = f"{sizes} on {amount(bookies, 'bookie')}"
        text = f"Keep two copies: {words} for new ledgers, in broker.conf and in each namespace policy."
        other = replace(setup, configuration=sizes, bookies=bookies)
        yield AdvisedChange(words, other, Precaution("clients", "change", text))
    if not setup.journal:
        yield AdvisedChange("journalWriteData=true", replace(setup, journal=True), STEPS["journal-on"])
    if not setup.sync:
        yield AdvisedChange("journalSyncData=true", replace(setup, journal=True, sync=True), STEPS["sync-on"])
    if e > wq:
        other = replace(setup, configuration=Configuration(wq, wq, aq))
        yield AdvisedChange(f"E = WQ = {wq}", other, STEPS["unstriped"])
    for feature, words, step in (
        ("no-collection", "gcOverreplicatedLedgerWaitTime=0", STEPS["no-collection"]),
        (
            COMPACTION,
            "useTransactionalCompaction=true",
            Precaution("bookies", "change", COMPACT, rules_out=True),
        ),
    ):
        if feature not in setup.features:
            yield AdvisedChange(words, replace(setup, features=setup.features | {feature}), step)
    now = ordered(setup.release)
    later = [release for release in TAGS if ordered(release) > now]
    for release in sorted(later, key=lambda one: (ordered(one)[:2] != now[:2], ordered(one))):
        pulsars = pulsars_with(release)
        if pulsars or not deployment.pulsar:
            of_pulsar = (
                f" Pulsar {', '.join(pulsars)} or later of the line has it." if deployment.pulsar else ""
            )
            text = (
                f"Run bookies and clients with BookKeeper {release} or later of its line; Pulsar's brokers "
                f"are clients.{of_pulsar} Check the version in the first lines of each log."
            )
            step = Precaution("bookies", "change", text, rules_out=True)
            yield AdvisedChange(f"BookKeeper {release}", replace(setup, release=release), step)


COMPACT = "Set useTransactionalCompaction=true on each bookie."


def _without(setup: Setup, feature: str) -> Setup:
    return replace(setup, features=setup.features - {feature})
