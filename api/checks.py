"""Checks of a protocol from Python, as `fencepost check` does them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from fencepost.arguments import number, texts
from fencepost.cli.options.numbers import COUNT, LIMIT, ROUNDS, SECONDS, STEPS
from fencepost.cli.options.shared import budgets as read_budgets
from fencepost.cli.rendering.check_report import CheckReport
from fencepost.cli.requests import (
    AskedRequests,
    Request,
    ask_all,
    find_protocol,
    request_of,
    says_nothing,
    small_instances,
    with_hints,
)
from fencepost.encoding.check import refuse_uncheckable
from fencepost.encoding.engine.limits import Limits, Minimize, Patience
from fencepost.encoding.engine.verdicts import Outcome
from fencepost.encoding.enumeration.count import StateCount, count_states
from fencepost.encoding.errors import BadInput
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.protocol import load as load_file
from fencepost.encoding.language.sorts import show
from fencepost.encoding.liveness.live_check import check_all
from fencepost.encoding.logs.events import read_logs
from fencepost.encoding.logs.following import LogAnswer
from fencepost.encoding.logs.following import follow as follow_logs
from fencepost.results import Checked


def load(file: str | Path) -> Protocol:
    """Run a Python file and return its `PROTOCOL`. Raises BadInput if it has none."""
    return load_file(Path(file))


def check(
    protocol: Protocol | str | Path,
    *,
    properties: str | Iterable[str] = (),
    settings: Mapping[str, object] | None = None,
    release: str | None = None,
    budgets: Mapping[str, int] | None = None,
    bound: int | None = None,
    rounds: int | None = None,
    minimize: str | None = None,
    engines: str | Iterable[str] = (),
    solver: str = "cadical",
    jobs: int = 2,
    timeout: float = 300.0,
) -> Checked:
    """Search a protocol for violations of its properties, and for proofs; return a result for each.

    The protocol is the name of a preset, the path of a Python file, or what `load` returns. The arguments
    are the options of `fencepost check`; `timeout` counts seconds. Raises BadInput, and KeyboardInterrupt
    after Ctrl-C.
    """
    if minimize is not None and minimize not in list(Minimize):
        raise BadInput(f"minimize={minimize}: valid: {', '.join(Minimize)}")
    limits = Limits(
        bound=None if bound is None else number("bound", bound, STEPS),
        rounds=None if rounds is None else number("rounds", rounds, ROUNDS),
        budgets=read_budgets([f"{fault}={most}" for fault, most in (budgets or {}).items()]),
        minimize=Minimize(minimize or "steps"),
        patience=Patience() if minimize is None else None,
        timeout=number("timeout", timeout, SECONDS),
        solver=solver,
        jobs=number("jobs", jobs, COUNT),
        engines=texts(engines),
        enumeration_first=True,
    )
    family, made = _family(protocol), _settings(settings)
    request = request_of(family, made, texts(properties), release, limits)
    small = small_instances(family, made, request)
    refuse_uncheckable(request.system, request.limits)
    asked = AskedRequests(request)
    ask_all(asked, small, limits, _ask, says_nothing)
    asked.outcome = with_hints(asked)
    return Checked(CheckReport(asked.checked()))


def count(
    protocol: Protocol | str | Path,
    *,
    properties: str | Iterable[str] = (),
    settings: Mapping[str, object] | None = None,
    release: str | None = None,
    symmetry: bool = False,
    states: int | None = None,
) -> StateCount:
    """Count the reachable states of a protocol, as `fencepost check --engine states` does.

    With `symmetry`, states that differ in a renaming only are visited once. `states` limits the states
    visited: then `is_complete` is false. Raises BadInput.
    """
    most = None if states is None else number("states", states, LIMIT)
    instance = _family(protocol).instance(_settings(settings), release)
    asked = instance.properties(*texts(properties))
    sent_at_most_once(instance.system)
    *_, counted = count_states(instance.system, asked, symmetry, most)
    return counted


def follow(
    protocol: Protocol | str | Path,
    *logs: str | Path,
    properties: str | Iterable[str] = (),
    settings: Mapping[str, object] | None = None,
    release: str | None = None,
    silent: str | Iterable[str] = (),
    names: Mapping[str, str] | None = None,
    reader: Callable[[str], Iterable[Mapping[str, object]]] | None = None,
    timeout: float = 300.0,
) -> LogAnswer:
    """Return whether an execution of a protocol has the events of these logs, as `fencepost follow` does.

    Each of `logs` is a file. The arguments are the options of the command; `reader` is a function from a line
    to its events. Raises BadInput.
    """
    instance = _family(protocol).instance(_settings(settings), release)
    asked = instance.properties(*texts(properties)) if properties else []
    found = read_logs([Path(log) for log in logs], instance.system, names or {}, reader)
    return follow_logs(instance, found, texts(silent), asked, number("timeout", timeout, SECONDS))


def _family(protocol: Protocol | str | Path) -> Protocol:
    """Return the protocol, or the one of that name or file. Raises BadInput."""
    return protocol if isinstance(protocol, Protocol) else find_protocol(str(protocol))


def _settings(settings: Mapping[str, object] | None) -> list[tuple[str, str]]:
    """Return the settings as the command line has them."""
    return [(name, show(value)) for name, value in (settings or {}).items()]


def _ask(request: Request, limits: Limits) -> Outcome:
    """Return the outcome of a request. Raises KeyboardInterrupt after Ctrl-C."""
    outcome = check_all(request.instance, request.properties, limits)
    if outcome.interrupted:
        raise KeyboardInterrupt
    return outcome
