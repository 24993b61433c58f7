"""The sizes at which invariants are looked for and proved: settings of the parameters that grow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.errors import BadInput, unknown_name
from fencepost.encoding.language.parameters import Option
from fencepost.encoding.language.protocol import Instance, Protocol
from fencepost.encoding.language.system import System

RAISED = 2
"""How often a parameter is raised by one if `--grow` names none."""


@dataclass(frozen=True)
class Growth:
    """A parameter with the values that it takes, in order."""

    name: str
    values: tuple[int, ...]


@dataclass(frozen=True)
class Size:
    """An instance at one size, with the settings of the parameters that grow."""

    instance: Instance
    grown: Mapping[str, int]

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The parameters of the instance that are numbers."""
        return numbers_of(self.instance)

    @property
    def system(self) -> System:
        """The system at this size."""
        return self.instance.system

    @property
    def text(self) -> str:
        """The settings for people: `participants=3`."""
        return " ".join(f"{name}={value}" for name, value in self.grown.items()) or "the size that is set"


def numbers_of(instance: Instance) -> Mapping[str, int]:
    """Return the parameters of an instance that are numbers, by name."""
    found = instance.subject.parameters
    return {name: value for name, value in found.items() if isinstance(value, int)}


def parse(text: str, known: Mapping[str, Option]) -> Growth:
    """Return the growth that `name=a..b` asks for. Raises BadInput."""
    form = re.fullmatch(r"([^=]+)=(\d{1,9})\.\.(\d{1,9})", text)
    if form is None:
        raise BadInput(f"--grow {text}: must have the form NAME=A..B, such as {_example(known)}")
    name, low, high = form[1], int(form[2]), int(form[3])
    if name not in known:
        growing = [option.name for option in known.values() if not option.values]
        raise unknown_name(name, "parameter", growing, place="--grow ")
    if known[name].values:
        raise BadInput(f"--grow {name}: is a switch, and has no size; set it with --set {name}=VALUE")
    if low > high:
        raise BadInput(f"--grow {text}: the range is empty; write {name}={high}..{low}")
    return Growth(name, tuple(range(low, high + 1)))


def _example(known: Mapping[str, Option]) -> str:
    name = next((option.name for option in known.values() if not option.values), "participants")
    return f"{name}=2..4"


def sizes(
    protocol: Protocol, settings: Sequence[tuple[str, str]], grow: Sequence[str], release: str | None
) -> list[Size]:
    """Return the sizes, smallest first: one parameter is raised at a time, the others have their least value.

    `grow` has texts such as `participants=2..9`. Without any, each parameter that sets the size of a sort is
    raised while the settings stay valid. Raises BadInput.
    """
    known = {option.name: option for option in protocol.options()}
    growths = [parse(text, known) for text in grow]
    names = [growth.name for growth in growths]
    for growth in growths:
        if names.count(growth.name) > 1:
            raise BadInput(f"--grow {growth.name}: given twice; give one range")
        if growth.name in dict(settings):
            raise BadInput(f"--grow {growth.name}: is also set with --set; leave one of them out")

    def made(grown: Mapping[str, int]) -> Size:
        return Size(protocol.instance([*settings, *((n, str(v)) for n, v in grown.items())], release), grown)

    if growths:
        least = {growth.name: growth.values[0] for growth in growths}
        raised = [{**least, growth.name: value} for growth in growths for value in growth.values[1:]]
        return [made(least), *(made(grown) for grown in sorted(raised, key=lambda g: sum(g.values())))]
    return list(_by_default(protocol, settings, release))


def joint(
    protocol: Protocol, settings: Sequence[tuple[str, str]], chosen: Sequence[Size], release: str | None
) -> Size | None:
    """Return the size at which all growing parameters have their second value.

    None if fewer than two of them grow, or if the settings are not valid.
    """
    values = {name: sorted({size.grown[name] for size in chosen}) for name in chosen[0].grown}
    if sum(len(own) > 1 for own in values.values()) < 2:
        return None
    raised = {name: own[min(1, len(own) - 1)] for name, own in values.items()}
    return _resized(protocol, settings, release, raised)


def _resized(
    protocol: Protocol, settings: Sequence[tuple[str, str]], release: str | None, numbers: Mapping[str, int]
) -> Size | None:
    """Return the size with these numbers in place of the settings of their names; None if not valid."""
    given = dict(settings) | {name: str(number) for name, number in numbers.items()}
    try:
        return Size(protocol.instance(given.items(), release), numbers)
    except BadInput:
        return None


def _by_default(
    protocol: Protocol, settings: Sequence[tuple[str, str]], release: str | None
) -> Iterator[Size]:
    """Yield the instance as it is set, then each growing parameter raised, one at a time."""
    first = protocol.instance(settings, release)
    numbers = numbers_of(first)
    grown = {
        name: number
        for name, number in numbers.items()
        if _sets_a_size(protocol, settings, release, first, name)
    }
    yield Size(first, grown)
    for more in range(1, RAISED + 1):
        for name, least in grown.items():
            size = _resized(protocol, settings, release, {**grown, name: least + more})
            if size is not None:
                yield size


def _sets_a_size(
    protocol: Protocol, settings: Sequence[tuple[str, str]], release: str | None, first: Instance, name: str
) -> bool:
    """Return whether raising the parameter by one is valid and makes some sort larger."""
    after = _resized(protocol, settings, release, {name: numbers_of(first)[name] + 1})
    if after is None:
        return False
    before = {f.name: f for f in first.system.state.families}
    return any(
        len(one) < len(other)
        for family in after.system.state.families
        if family.name in before
        for one, other in zip(
            (before[family.name].domain, *before[family.name].over),
            (family.domain, *family.over),
            strict=False,
        )
    )
