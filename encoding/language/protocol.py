"""A protocol: a family of systems over parameters and switches, with its sources and what it leaves out."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from types import ModuleType, NoneType
from typing import Any
from typing import Protocol as Protocol_

from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.language.author_errors import (
    must_be,
    must_be_call,
    must_be_file_name,
    must_be_line,
    must_be_list,
    must_be_table,
)
from fencepost.encoding.language.canonical import digest
from fencepost.encoding.language.carried_invariants import carrying
from fencepost.encoding.language.dead_text import dead_actions, dead_properties, unfair, unseen_losses
from fencepost.encoding.language.fold import folded
from fencepost.encoding.language.guarded_builds import built_guarded, built_once
from fencepost.encoding.language.guarded_modules import (
    OwnModules,
    authors_code_runs,
    authors_line,
    installed,
    must_be_as_read,
    note_modules,
    run_guarded,
)
from fencepost.encoding.language.parameters import Option, assign, check_defaults, options
from fencepost.encoding.language.system import Observed, Property, System, choose
from fencepost.encoding.language.traces import Subject, plain


@dataclass(frozen=True)
class Protocol:
    """A family of systems that can be checked by name, or by a file that assigns it to `PROTOCOL`.

    `defaults` is an instance of a frozen dataclass of parameters and switches (see `parameters`), which
    validates itself. `build` makes the system of such an instance, with its properties. A protocol that
    `ships` is part of this version of Fencepost; results about other protocols carry a digest of the system.

    `in_release` is given if releases of some code have this protocol. It maps a release and parameters to the
    parameters with the switches of that release. `newest` is the newest release it knows.

    `not_modelled` lists what the model leaves out. `unmodelled` says it in one line, which every output with
    a verdict repeats. It is a text, or a function of the parameters that returns one. `exercised` has
    properties that say nothing on some instances, each with the settings of a small instance on which they
    do. They are used if the witness is proved to be out of reach. `observed` returns terms that logs name.
    """

    name: str
    summary: str
    defaults: Any
    build: Callable[[Any], System]
    sources: tuple[str, ...] = ()
    not_modelled: tuple[str, ...] = ()
    unmodelled: str | Callable[[Any], str] = ""
    ships: bool = False
    in_release: Callable[[str, Any], Any] | None = None
    newest: str | None = None
    exercised: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    observed: Callable[[Any], Mapping[str, Observed]] | None = None
    own_modules: OwnModules | None = field(default=None, repr=False, compare=False)
    """The modules that the protocol's file imported; `load` gives them."""

    def __post_init__(self) -> None:
        """Validate the fields. Raises ModelError."""
        if not self.ships and self.own_modules is None:
            note_modules()
        must_be_file_name("a protocol", self.name)
        if not dataclasses.is_dataclass(self.defaults) or isinstance(self.defaults, type):
            raise ModelError(
                f"{self.name}: defaults= is not an instance of a dataclass; "
                "write @dataclass(frozen=True) class Parameters: …, and defaults=Parameters()"
            )
        try:
            check_defaults(self.defaults)
        except ModelError as error:
            raise ModelError(f"{self.name}: {error}") from error
        must_be_line(f"{self.name}: summary=", self.summary)
        if not callable(self.unmodelled):
            must_be_line(f"{self.name}: unmodelled=", self.unmodelled)
        must_be_call(f"{self.name}: build=", self.build, "give the function that returns the System")
        for name in ("in_release", "observed"):
            if (own := getattr(self, name)) is not None:
                must_be_call(f"{self.name}: {name}=", own, "give a function, or leave it out")
        must_be(f"{self.name}: newest=", self.newest, (str, NoneType), "write a release as a text")
        table = 'write a table, such as {"its-name": {"bookies": 4}}'
        must_be_table(f"{self.name}: exercised=", self.exercised, Mapping, table)
        for name in ("sources", "not_modelled"):
            must_be_list(
                f"{self.name}: {name}=", getattr(self, name), str, "write a tuple: ('…',) with its comma"
            )

    def system(self, parameters: Any) -> System:
        """Return the system of an instance, folded. Raises ModelError if the protocol's code fails."""
        return self.fold(self.as_written(parameters))

    def fold(self, written: System) -> System:
        """Return a system of this protocol, folded. Raises ModelError if the protocol's code fails."""
        with self.in_one_line():
            return folded(written)

    def as_written(self, parameters: Any) -> System:
        """Return the system of an instance before folding, which is most of the work. Raises ModelError.

        Variables and names are the same as in the folded system.
        """
        with self.in_one_line():
            if self.own_modules is None and not self.ships:
                must_be_as_read()
            built = (built_once if self.ships else built_guarded)(self.build, parameters)
        if not (built.properties or built.liveness):
            raise ModelError(f"{self.name}: has no properties; give at least one with properties=(…,)")
        return built

    @contextmanager
    def in_one_line(self) -> Iterator[None]:
        """Turn any exception of the protocol's code into a ModelError of one line."""
        try:
            with authors_code_runs(), installed(self.own_modules):
                yield
        except ModelError as error:
            raise ModelError(f"{self.name}: {authors_line(error)}{error}") from error
        except BadInput:
            raise
        except Exception as error:
            raise ModelError(
                f"{self.name}: {authors_line(error)}{type(error).__name__}: {error}; "
                "correct the protocol's code"
            ) from error

    def options(self) -> list[Option]:
        """Return the parameters and switches with this protocol's defaults."""
        return options(self.defaults)

    def parameters(self, settings: Iterable[tuple[str, object]], release: str | None = None) -> Any:
        """Return the defaults, or those of a release, with these settings. Raises BadInput."""
        chosen = [(name, str(value)) for name, value in settings]
        found = assign(self.defaults, chosen, self.listing)
        return found if release is None else assign(self.released(release, found), chosen)

    @property
    def listing(self) -> str:
        """The command that lists the parameters, switches and properties."""
        return f"fencepost protocols {self.name if self.ships else 'FILE.py'}"

    def released(self, release: str, parameters: Any) -> Any:
        """Return the parameters with the switches of a release. Raises BadInput."""
        if self.in_release is None:
            raise BadInput(
                f"--release {release}: {self.name} is not a release's code; "
                "leave it out, or check `bookkeeper`"
            )
        with self.in_one_line():
            found = self.in_release(release, parameters)
            must_be("the result of in_release", found, type(self.defaults), "return the parameters")
        return found

    def left_out(self, parameters: Any) -> str:
        """Return the line that says what the model leaves out with these parameters; empty if none does."""
        with self.in_one_line():
            said = self.unmodelled(parameters) if callable(self.unmodelled) else self.unmodelled
            must_be_line("the result of unmodelled", said)
        return said

    def subject(self, parameters: Any, system: System | None = None) -> Subject:
        """Return the names and values under which an instance is reported.

        Pass the `system` to include its digest, as files need it. A protocol that ships needs no digest.
        """
        found = options(parameters)
        return Subject(
            self.name,
            {o.name: plain(o.default) for o in found if not o.values},
            {o.name: plain(o.default) for o in found if o.values},
            None if system is None or self.ships else digest(system),
        )

    def instance(
        self,
        settings: Iterable[tuple[str, object]] = (),
        release: str | None = None,
        drop_declared: bool = False,
    ) -> Instance:
        """Return the instance with these settings, in a release if one is given. Raises BadInput."""
        return Instance(self, self.parameters(settings, release), release, drop_declared)

    def small_instances(
        self,
        name: str,
        settings: Iterable[tuple[str, object]],
        release: str | None = None,
        drop_declared: bool = False,
    ) -> list[Instance]:
        """Return the instances that exercise a property, if the one with these settings does not.

        Each has the sizes that `exercised` gives, and these settings. If both give a size, the first instance
        keeps the setting, the last one takes the size in `exercised`, and those between keep most settings
        first. Instances that the parameters or the text refuse are left out: a label may be missing at a
        size. Empty for a property without sizes.
        """
        made = {setting: str(value) for setting, value in settings}
        of_sizes = {option.name for option in self.options() if not option.values}
        given = {setting: str(value) for setting, value in self.exercised.get(name, {}).items()}
        both = [size for size in given if size in of_sizes and made.get(size, given[size]) != given[size]]
        found: list[Instance] = []
        known = [self.parameters(made.items(), release)]
        for taken in (some for count in range(len(both) + 1) for some in combinations(both, count)):
            chosen = {**given, **made, **{size: given[size] for size in taken}}
            with suppress(BadInput):
                instance = self.instance(chosen.items(), release, drop_declared)
                if instance.parameters not in known and instance.system:
                    known.append(instance.parameters)
                    found.append(instance)
        return found

    def check_exercised(self) -> None:
        """Raise BadInput or ModelError if `exercised` names what does not exist."""
        if not self.exercised:
            return
        known = [p.name for p in self.instance().system.properties]
        for name, sizes in self.exercised.items():
            if name not in known:
                raise ModelError(
                    f"{self.name}: exercised= names {name}: no such property; valid: {', '.join(known)}"
                )
            try:
                self.instance(sizes.items()).properties(name)
            except ModelError as error:
                raise ModelError(f"exercised={{{name!r}: …}} cannot be built: {error}") from error


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
    """A protocol with its parameters and switches set. Instances are built, checked and replayed.

    With `drop_declared` its system has no invariants. The subject stays the same: it names the protocol, and
    its digest is that of the system with the declared invariants.
    """

    protocol: Protocol
    parameters: Any
    release: str | None = None
    drop_declared: bool = False

    @cached_property
    def system(self) -> System:
        """The system, with its properties. Raises ModelError if the protocol's code fails."""
        return carrying(self._declared, ()) if self.drop_declared else self._declared

    @cached_property
    def _declared(self) -> System:
        """The system with the declared invariants."""
        return self.protocol.fold(self.written)

    @cached_property
    def written(self) -> System:
        """The system as its author wrote it. All readings are made from this one."""
        return self.protocol.as_written(self.parameters)

    @cached_property
    def subject(self) -> Subject:
        """The names and values under which the instance is reported."""
        return self.protocol.subject(self.parameters, None if self.protocol.ships else self._declared)

    @cached_property
    def observed(self) -> Mapping[str, Observed]:
        """The terms that lines of a log may name like state variables. Raises ModelError."""
        with self.protocol.in_one_line():
            return {} if self.protocol.observed is None else self.protocol.observed(self.system.state)

    @property
    def unmodelled(self) -> str:
        """The line that says what the model leaves out; empty if there is none."""
        return self.protocol.left_out(self.parameters)

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """The parts of the protocol's text to look at again; every output with a verdict names them.

        The presets that ship have rules that their switches turn off. Of these only properties are named.
        """
        protocol = self.protocol
        own = () if protocol.ships else (*dead_actions(self.written), *unseen_losses(self.written))
        return (*own, *dead_properties(self.written, self._declared), *unfair(self.written))

    @property
    def changed_switches(self) -> dict[str, str]:
        """The switches that differ from the default, which is the first of their values."""
        found = options(self.parameters)
        return {o.name: str(o.default) for o in found if o.values and o.default != o.values[0]}

    @property
    def unlike_release(self) -> dict[str, str]:
        """The switches that differ from the release, or from the newest release if none was asked for."""
        release = self.release or self.protocol.newest
        if release is None:
            return {}
        there = {o.name: o.default for o in options(self.protocol.released(release, self.parameters))}
        return {o.name: str(o.default) for o in options(self.parameters) if o.default != there[o.name]}

    def properties(self, *names: str) -> list[Property]:
        """Return the properties about states of those names, all if none is given. Raises BadInput."""
        return choose(self.system, names, self.protocol.listing)

    def claims(self, *names: str) -> list[Property]:
        """Return the properties of those names, all if none is given, with those of liveness."""
        return choose(self.system, names, self.protocol.listing, with_liveness=True)


def load(path: Path) -> Protocol:
    """Run a Python file and return its `PROTOCOL`. Raises BadInput, in one line, if there is none."""
    try:
        found = path.is_file()
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: no such file ({error}); {_VALID_FILE}") from error
    if not found:
        raise BadInput(f"{path}: no such file; {_VALID_FILE}")
    if path.suffix != ".py":
        raise BadInput(f"{path}: is not a Python file; {_VALID_FILE}, and let its name end in .py")
    module = ModuleType(f"fencepost_protocol_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    own = OwnModules(module.__name__, [str(path.resolve().parent), *sys.path])
    try:
        with authors_code_runs(), installed(own):
            run_guarded(module, path)
    except ModelError as error:
        raise ModelError(f"{path}: {authors_line(error)}{error}") from error
    except BadInput:
        raise
    except SyntaxError as error:
        imported = "" if error.filename == str(path) else f"{Path(error.filename or '').name}, "
        raise BadInput(
            f"{path}: {imported}line {error.lineno}: {error.msg}; correct it and try again"
        ) from error
    except Exception as error:
        raise BadInput(
            f"{path}: cannot be run ({authors_line(error)}{type(error).__name__}: {error}); "
            "correct it and try again"
        ) from error
    protocol = getattr(module, "PROTOCOL", None)
    if not isinstance(protocol, Protocol):
        raise BadInput(
            f"{path}: has no PROTOCOL; assign a fencepost.encoding.language.protocol.Protocol to that name"
        )
    return replace(protocol, ships=False, own_modules=own)


_VALID_FILE = "give a protocol's name or a Python file with a PROTOCOL"
