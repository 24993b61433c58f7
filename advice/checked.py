"""The cells of the grid that proves the conditions of losses, and the manifest of their answers.

A cell is one question about one loss at one size: whether the loss can happen there. Its condition has an
answer, and a sweep has one. `advice.manifest` in `properties/expected/` has a line for each cell that was
answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

from fencepost.advice.loss_questions import LossQuestion, any_other, question
from fencepost.advice.losses import LOSSES, Loss
from fencepost.advice.setups import SETTINGS, SIZES, Setup
from fencepost.encoding.documents import whole
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.state import amount
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import TABLES, Expectation
from fencepost.protocols.bookkeeper.releases import TAGS
from fencepost.quorums.storages import STORAGES
from fencepost.quorums.stripes import Configuration, configurations

MANIFEST = TABLES / "advice.manifest"

LARGEST = 4
"""The largest ensemble of the grid. Each size is asked about without and with a spare bookie."""

JOURNALS = {
    "on": (True, True, False),
    "unsynced": (True, False, False),
    "off": (False, True, False),
    "checked": (False, True, True),
}
"""The journal modes: journalWriteData, journalSyncData and dataIntegrityChecking."""

OTHER = "anything-else"
"""The name of the question about a loss that no row explains."""

Place: TypeAlias = tuple[str, ...]
"""The first columns of a line: loss, sizes, bookies, storage, journal mode and release."""

CAN, CANNOT, UNDECIDED = "violated", "proved", "undecided"
"""The verdicts in the manifest: the loss was found and replayed, it was proved absent, neither."""


@dataclass(frozen=True)
class LossCell:
    """A question about a loss at one size, with what its condition says."""

    name: str
    setup: Setup
    question: LossQuestion
    can_happen: bool

    @property
    def place(self) -> Place:
        """The columns of the line that name the cell."""
        one = self.setup
        mode = next(
            mode for mode, is_set in JOURNALS.items() if is_set == (one.journal, one.sync, one.checks)
        )
        return self.name, f"{one.configuration}", str(one.bookies), one.storage, mode, one.release

    @property
    def expected(self) -> str:
        """The verdict that proves the condition."""
        return CAN if self.can_happen else CANNOT


@dataclass(frozen=True)
class Line:
    """A line of the manifest: a cell, its verdict, the steps of a counterexample, the digest of the model."""

    place: Place
    verdict: str
    steps: int | None
    digest: str

    def __str__(self) -> str:
        """Return the line as the manifest has it."""
        return " ".join(
            (*self.place, self.verdict, "-" if self.steps is None else str(self.steps), self.digest)
        )


def sizes(largest: int = LARGEST) -> list[tuple[Configuration, int]]:
    """Return the sizes of the grid, the smallest first."""
    found = [(one, one.ensemble + spare) for one in configurations(largest) for spare in (0, 1)]
    return sorted(found, key=lambda size: (size[0].ensemble, size[1], size[0].sizes))


def cells(configuration: Configuration, bookies: int, losses: Sequence[Loss] = LOSSES) -> list[LossCell]:
    """Return the cells of one size. A question that several settings share is asked once.

    A loss is asked about in the newest release that has it, with each storage and journal mode that its
    condition allows. Settings that no model has are given as the condition needs them.
    """
    found: dict[object, LossCell] = {}
    for storage in STORAGES:
        for journal, sync, checks in JOURNALS.values():
            asked = Setup(configuration, bookies, "", journal, checks, storage, sync)
            for cell in _of_losses(asked, losses):
                one = cell.question
                key = one.preset, frozenset(one.settings.items()), one.release, one.properties
                first = found.setdefault(key, cell)
                assert first.can_happen is cell.can_happen, (first.place, cell.place)
    others = [_other(Setup(configuration, bookies, release)) for release in _ranges()]
    return [*found.values(), *others]


def _of_losses(asked: Setup, losses: Sequence[Loss]) -> Iterator[LossCell]:
    """Yield the cells of one storage and journal mode, of rows with one name the first that fits."""
    names = set[str]()
    for loss in (one for one in losses if one.bug and one.name not in names):
        release = loss.releases[-1]
        setup = replace(asked, release=release, features=loss.needs - SIZES.keys() - SETTINGS.keys())
        if loss.needs - SIZES.keys() <= setup.traits:
            names.add(loss.name)
            there = [one for one in losses if one.bug and one.is_in(release)]
            yield LossCell(loss.name, setup, question(loss, setup, there), not loss.unmet(setup))


def at_sizes(known: Expectation, given: Mapping[str, str]) -> Expectation:
    """Return a known bug on an instance with these settings, with the verdict that its condition says there.

    A loss is asked about as in a cell: in the newest release that has it, and the violation of one of the
    properties, joined by "+", is enough. Raises BadInput.
    """
    if known.switch is not None and known.switch in given:
        why = f"is the switch of {known.name}, which has its bug here; leave it out"
        raise BadInput(f"--set {known.switch}={given[known.switch]}: {why}")
    own = replace(known, settings={**known.settings, **given}, steps=None, switch=None)
    with_bug = {**own.settings, **_switch_of(known)}
    parameters = find(known.protocol).parameters(with_bug.items())
    if known.name not in {loss.name for loss in LOSSES if loss.bug}:
        return replace(own, settings=with_bug)
    sizes = Configuration(parameters.ensemble, parameters.write_quorum, parameters.ack_quorum)
    asked = [one for one in cells(sizes, parameters.bookies) if one.name == known.name]
    storage = given.get("storage")
    cell = next((one for one in asked if one.question.settings.get("storage", storage) == storage), asked[0])
    one, bounds = cell.question, cell.setup.sizes
    return replace(
        own,
        protocol=one.preset,
        settings={**one.settings, **{name: value for name, value in given.items() if name not in bounds}},
        release=one.release,
        property="+".join(one.properties),
        verdict=Verdict.VIOLATED if cell.can_happen else Verdict.PROVED,
    )


def _switch_of(known: Expectation) -> dict[str, str]:
    return {known.switch: known.broken} if known.switch else {}


def _other(setup: Setup) -> LossCell:
    """Return the cell about a loss that no row explains, with each bug of the release mended."""
    return LossCell(OTHER, setup, any_other(setup, _bugs_in(setup.release)), can_happen=False)


def _bugs_in(release: str) -> list[Loss]:
    return [loss for loss in LOSSES if loss.bug and loss.is_in(release)]


@cache
def _ranges() -> list[str]:
    """Return the first release of each range in which the mended model is the same."""
    found: dict[object, str] = {}
    for release in TAGS:
        one = any_other(Setup(Configuration(1, 1, 1), 1, release), _bugs_in(release))
        found.setdefault(find(one.preset).parameters(one.settings.items(), release), release)
    return list(found.values())


def read_manifest(text: str) -> dict[Place, Line]:
    """Return the lines of a manifest by their place. Raises BadInput for a line that is not right."""
    found: dict[Place, Line] = {}
    for number, row in enumerate(text.splitlines(), 1):
        match row.split():
            case [*place, (("violated" | "proved" | "undecided") as verdict), steps, digest] if (
                len(place) == 6
            ):
                line = Line(tuple(place), verdict, whole(steps), digest)
            case _:
                raise BadInput(
                    f"advice.manifest, line {number}: is not a cell with verdict, steps and digest"
                )
        if line.place in found:
            raise BadInput(f"advice.manifest, line {number}: {' '.join(place)} stands there twice")
        found[line.place] = line
    return found


def written(lines: Mapping[Place, Line]) -> str:
    """Return the text of a manifest, the smallest sizes first."""

    def order(place: Place) -> tuple[str, ...]:
        name, configuration, bookies, *rest = place
        return configuration.split("/")[0], bookies, configuration, name, *rest

    return "".join(f"{lines[place]}\n" for place in sorted(lines, key=order))


def differences(asked: Iterable[LossCell], lines: Mapping[Place, Line]) -> list[str]:
    """Return the cells whose condition says something else than the manifest."""
    return [
        f"{' '.join(cell.place)}: the condition says {cell.expected}, the search {lines[cell.place].verdict}"
        for cell in asked
        if cell.place in lines and lines[cell.place].verdict not in (cell.expected, UNDECIDED)
    ]


@cache
def shipped() -> Mapping[Place, Line]:
    """Return the lines of the manifest that ships."""
    return read_manifest(MANIFEST.read_text(encoding="utf-8"))


def finished(lines: Mapping[Place, Line]) -> list[tuple[str, ...]]:
    """Return the sizes of which each cell is answered, as E/WQ/AQ and N. All sizes have as many cells."""
    answered = Counter(place[1:3] for place in lines)
    return [size for size, number in answered.items() if number == max(answered.values())]


def search_of(setup: Setup, losses: Iterable[Loss]) -> str:
    """Return what searches have shown of the conditions of these losses, in a sentence."""
    done, size = finished(shipped()), (str(setup.configuration), str(setup.sizes["bookies"]))
    here = [line for place, line in shipped().items() if place[1:3] == size]
    if not here:
        begun = {place[1:3] for place in shipped()}
        return (
            f"The conditions were checked by search at {amount(len(done), 'size')} completely, and at "
            f"{len(begun) - len(done)} in part, up to N = {max(int(bookies) for _, bookies in begun)}; "
            "at yours they are the rule."
        )
    found = {line.place[0] for line in here if line.verdict == CAN}
    modelled = [loss.name for loss in losses if loss.bug]
    unfound = [name for name in modelled if name not in found]
    number = f"{len(modelled) - len(unfound)} of {len(modelled)}"
    said = (
        f"Found by search at these sizes, in the newest release with each: {number} losses that a model has."
    )
    return f"{said} By the rule alone: {', '.join(unfound)}." if unfound else said
