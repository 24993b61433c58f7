"""A protocol: a family of systems over parameters and switches, and what a person should know about it."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from typing import Protocol as Protocol_

from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.language.author_errors import file_name, listed, must_be
from fencepost.encoding.language.canonical import digest
from fencepost.encoding.language.fold import folded
from fencepost.encoding.language.parameters import Option, assign, options
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.traces import Json, Subject


@dataclass(frozen=True)
class Protocol:
    """What can be checked by name, or by a file that calls it `PROTOCOL`.

    `defaults` is an instance of a frozen dataclass of parameters and switches (see `parameters`), which
    validates itself; `build` makes the system of such an instance, properties included. A protocol that `ships` is
    the same wherever this version is; what is said of any other carries a digest of its system. `in_release` is there if the
    protocol is some code's: it takes a release and parameters to the parameters with that release's switches, and `newest`
    is the newest release that it knows. `not_modelled` says at length what the model leaves out; `unmodelled` is one line of it,
    which every output that has a verdict repeats. `exercised`
    names the properties that say nothing on the defaults, each with the settings of a small instance on which they do.
    """

    name: str
    summary: str
    defaults: Any
    build: Callable[[Any], System]
    sources: tuple[str, ...] = ()
    not_modelled: tuple[str, ...] = ()
    unmodelled: str = ""
    ships: bool = False
    in_release: Callable[[str, Any], Any] | None = None
    newest: str | None = None
    exercised: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        file_name("a protocol", self.name)
        if not dataclasses.is_dataclass(self.defaults) or isinstance(self.defaults, type):
            raise ModelError(
                f"{self.name}: defaults= is no instance of a dataclass; write @dataclass(frozen=True) class "
                "Parameters: …, and defaults=Parameters()"
            )
        options(self.defaults)
        must_be(f"{self.name}: unmodelled=", self.unmodelled, str, "write a text of one line")
        for name in ("sources", "not_modelled"):
            listed(f"{self.name}: {name}=", getattr(self, name), str, "write a tuple: ('…',) with its comma")

    def system(self, parameters: Any) -> System:
        """The system of an instance, folded; raises ModelError, in one line, if the text of the protocol fails."""
        written = self.as_written(parameters)
        with self._in_one_line():
            return folded(written)

    def as_written(self, parameters: Any) -> System:
        """The same before it is folded, which is most of the work: its variables, and all names, are those of the system."""
        with self._in_one_line():
            built = self.build(parameters)
            must_be("what build returns", built, System, "return System(state, actions, properties)")
            _ = built.initial, built.ground_actions
        if not built.properties:
            raise ModelError(f"{self.name}: has no properties; say with properties=(…,) what must hold")
        return built

    @contextmanager
    def _in_one_line(self) -> Iterator[None]:
        """Raise whatever goes wrong in the text of the protocol as a ModelError."""
        try:
            yield
        except ModelError as error:
            raise ModelError(f"{self.name}: {_line(error)}{error}") from error
        except BadInput:
            raise
        except Exception as error:
            raise ModelError(
                f"{self.name}: {_line(error)}{type(error).__name__}: {error}; mend the text of the protocol"
            ) from error

    def options(self) -> list[Option]:
        """Parameters and switches with this protocol's defaults."""
        return options(self.defaults)

    def parameters(self, settings: Iterable[tuple[str, object]], release: str | None = None) -> Any:
        """The defaults, or what they are in a release, with these settings made; raises BadInput if that cannot be."""
        chosen = [(name, str(value)) for name, value in settings]
        found = assign(self.defaults, chosen)
        return found if release is None else assign(self._released(release, found), chosen)

    def _released(self, release: str, parameters: Any) -> Any:
        if self.in_release is None:
            raise BadInput(
                f"--release {release}: {self.name} is not a release's code; leave it out, or check `bookkeeper`"
            )
        return self.in_release(release, parameters)

    def subject(self, parameters: Any, system: System | None = None) -> Subject:
        """The names and values under which an instance is reported.

        With its `system`, the digest of it too, unless the protocol ships: what is kept in files needs it.
        """
        found = options(parameters)
        return Subject(
            self.name,
            {o.name: _json(o.default) for o in found if not o.values},
            {o.name: _json(o.default) for o in found if o.values},
            None if system is None or self.ships else digest(system),
        )

    def instance(self, settings: Iterable[tuple[str, object]] = (), release: str | None = None) -> Instance:
        """The protocol, or what it is in a release, with these settings made; raises BadInput if that cannot be."""
        return Instance(self, self.parameters(settings, release), release)

    def instances(
        self, settings: Iterable[tuple[str, object]], names: tuple[str, ...], release: str | None = None
    ) -> list[tuple[Instance, list[Property]]]:
        """The instance with these settings and its properties of those names, all if none is given.

        Unless a parameter is set, properties that the defaults do not exercise come after it, each with the instance on
        which they are, switches set there too. Raises BadInput for an unknown property, and for settings that cannot be.
        """
        made = list(settings)
        shared = self.instance(made, release)
        properties = shared.properties(*names)
        if not made:
            self._check_exercised(shared)
        own = self.small_ones(made)
        found = [(shared, rest)] if (rest := [p for p in properties if p.name not in own]) else []
        for chosen in _without_twins(own[p.name] for p in properties if p.name in own):
            instance = self.instance([*chosen.items(), *made], release)
            named = [p.name for p in properties if p.name in own and own[p.name] == chosen]
            found.append((instance, instance.properties(*named)))
        return found

    def small_ones(self, settings: Iterable[tuple[str, object]]) -> Mapping[str, Mapping[str, object]]:
        """The settings of each property's small instance, if it has one of its own; none if a parameter is set."""
        sizes = {option.name for option in self.options() if not option.values}
        return {} if sizes & {name for name, _ in settings} else self.exercised

    def _check_exercised(self, defaults: Instance) -> None:
        """Raise ModelError if it is said how to exercise a property that is not there."""
        known = [p.name for p in defaults.system.properties]
        for name in self.exercised:
            if name not in known:
                raise ModelError(
                    f"{self.name}: exercised= names {name}: no such property; valid: {', '.join(known)}"
                )

    def unlike(self, release: str, parameters: Any) -> dict[str, str]:
        """The switches of an instance that differ from that release, with the instance's values."""
        own = {o.name: o.default for o in options(self._released(release, parameters))}
        return {o.name: str(o.default) for o in options(parameters) if o.default != own[o.name]}

    def changed_switches(self, parameters: Any) -> dict[str, str]:
        """Switches that differ from the default of the family, which is the first of their values."""
        return {o.name: str(o.default) for o in options(parameters) if o.values and o.default != o.values[0]}


class Checkable(Protocol_):
    """A system with the names and values under which it is reported: an `Instance`, or a stand-in for one."""

    @property
    def system(self) -> System:
        """The actions and properties."""

    @property
    def subject(self) -> Subject:
        """The names and values of the report."""


@dataclass(frozen=True)
class Instance:
    """A protocol whose parameters and switches are set: what is built, checked, reported and replayed."""

    protocol: Protocol
    parameters: Any
    release: str | None = None

    @cached_property
    def system(self) -> System:
        """Its actions and properties; raises ModelError, in one line, if the text of the protocol fails."""
        return self.protocol.system(self.parameters)

    @cached_property
    def subject(self) -> Subject:
        """The names and values under which it is reported, and what tells its text from another."""
        return self.protocol.subject(self.parameters, None if self.protocol.ships else self.system)

    @property
    def changed_switches(self) -> dict[str, str]:
        """Switches that differ from the default of the family."""
        return self.protocol.changed_switches(self.parameters)

    @property
    def unlike_release(self) -> dict[str, str]:
        """Switches that differ from the release, or from the newest one if none was asked for: `--set` wins."""
        release = self.release or self.protocol.newest
        return {} if release is None else self.protocol.unlike(release, self.parameters)

    def properties(self, *names: str) -> list[Property]:
        """The properties of those names, all if none is given; raises BadInput for an unknown one."""
        return choose(self.system, names)


def _without_twins(all_settings: Iterable[Mapping[str, object]]) -> list[Mapping[str, object]]:
    found: list[Mapping[str, object]] = []
    for settings in all_settings:
        if settings not in found:
            found.append(settings)
    return found


def _line(error: BaseException) -> str:
    """The line of the author's own text in which an error arose, if it did in one, and a colon."""
    frames = reversed(traceback.extract_tb(error.__traceback__))
    own = (f for f in frames if f.filename[0] != "<" and not Path(f.filename).is_relative_to(_OURS))
    return next((f"{Path(frame.filename).name}, line {frame.lineno}: " for frame in own), "")


_OURS = Path(__file__).parent
"""Where the language lies, whose lines say nothing to an author."""


def _json(value: object) -> Json:
    return value if isinstance(value, bool | int) else str(value)


def choose(system: System, names: tuple[str, ...]) -> list[Property]:
    """The properties of those names, all if none is given; raises BadInput for an unknown one."""
    known = {p.name: p for p in system.properties}
    for name in names:
        if name not in known:
            raise BadInput(f"{name}: no such property; valid: {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)] if names else list(system.properties)


def load(path: Path) -> Protocol:
    """The `PROTOCOL` of a Python file, which is run; raises BadInput, in one line, if there is none."""
    try:
        found = path.is_file()
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: no such file ({error}); {_GIVE}") from error
    if not found:
        raise BadInput(f"{path}: no such file; {_GIVE}")
    if path.suffix != ".py":
        raise BadInput(f"{path}: is no Python file; {_GIVE}, and let its name end in .py")
    name = f"fencepost_protocol_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ModelError as error:
        raise ModelError(f"{path}: {_line(error)}{error}") from error
    except BadInput:
        raise
    except SyntaxError as error:
        raise BadInput(f"{path}: line {error.lineno}: {error.msg}; mend it and try again") from error
    except Exception as error:
        raise BadInput(
            f"{path}: cannot be run ({_line(error)}{type(error).__name__}: {error}); mend it and try again"
        ) from error
    protocol = getattr(module, "PROTOCOL", None)
    if not isinstance(protocol, Protocol):
        raise BadInput(
            f"{path}: has no PROTOCOL; assign a fencepost.encoding.language.protocol.Protocol to that name"
        )
    return replace(protocol, ships=False)


_GIVE = "give a protocol's name or a Python file with a PROTOCOL"
