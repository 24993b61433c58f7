"""`fencepost check`: search a protocol for violations of its properties."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from fencepost.cli.attaching import prepare_certificates, with_certificates
from fencepost.cli.exits import exit_code
from fencepost.cli.handing import elapsed, timeout_option, without_limit
from fencepost.cli.known_names import line, names_of, new
from fencepost.cli.numbers import COUNT, GIB, ROUNDS, SEED, STEPS
from fencepost.cli.output import FORMATS, emit, output_option, prepare_folder, write_whole
from fencepost.cli.progress import Progress, tell_spent
from fencepost.cli.render import heading, trace_text, verdict_sentence
from fencepost.cli.saved import own_protocol
from fencepost.cli.settings import budget_option, budgets, setting, settings_option
from fencepost.cli.telling import story_form_option, tell
from fencepost.cli.walking import take
from fencepost.encoding.checking.limits import INDUCTION, Limits, Minimize
from fencepost.encoding.checking.running import check
from fencepost.encoding.checking.verdicts import Outcome, Result, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms import FORMS
from fencepost.encoding.forms.story import Story
from fencepost.encoding.language.protocol import Instance, Protocol
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.solving.solvers import SOLVERS
from fencepost.encoding.versions import version


def find_protocol(name: str) -> Protocol:
    """A protocol by name, or the one in a Python file."""
    if name.endswith(".py") or "/" in name:
        return own_protocol(name)
    from fencepost.properties.catalogue import find

    return find(name)


@dataclass(frozen=True)
class Request:
    """What is to be checked: the instance, its properties, and how."""

    instance: Instance
    properties: list[Property]
    limits: Limits

    @property
    def system(self) -> System:
        """The system of the instance."""
        return self.instance.system

    @property
    def subject(self) -> Subject:
        """The names and values under which the instance is reported."""
        return self.instance.subject


@click.command()
@click.argument("protocol", required=False, metavar="[PROTOCOL|FILE.py]")
@settings_option
@click.option(
    "--release", metavar="R", help="With the switches of this release (fencepost releases); --set wins."
)
@click.option(
    "--property",
    "names",
    multiple=True,
    metavar="NAME",
    help="Check this property (repeatable; default: all).",
)
@click.option("--bound", type=STEPS, metavar="K", help="Look at executions of at most K protocol steps.")
@click.option("--rounds", type=ROUNDS, metavar="R", help="Search at most R rounds (default: until decided).")
@budget_option
@click.option(
    "--minimize",
    type=click.Choice([m.value for m in Minimize]),
    default=Minimize.STEPS.value,
    callback=lambda context, option, value: Minimize(value),
    show_default=True,
    help="What to make small in a counterexample.",
)
@click.option(
    "--count",
    type=COUNT,
    default=1,
    show_default=True,
    metavar="N",
    help="Give N counterexamples that fire different actions or lose different messages.",
)
@click.option(
    "--walks",
    type=COUNT,
    metavar="N",
    help="Take N random walks instead: no solver, proves nothing.",
)
@click.option("--known", is_flag=True, help="Check the table of known bugs instead of a PROTOCOL.")
@click.option(
    "--bug", "bugs", multiple=True, metavar="NAME", help="With --known: only this bug (repeatable)."
)
@timeout_option()
@click.option("--memory", type=GIB, metavar="GIB", help="Memory for each solver process.")
@click.option(
    "--solver", type=click.Choice(list(SOLVERS)), default="cadical", show_default=True, help="Who answers."
)
@click.option(
    "--jobs",
    type=COUNT,
    default=2,
    metavar="N",
    show_default=True,
    help="Searches side by side; there are two or three to run.",
)
@click.option(
    "--seed", type=SEED, metavar="N", help="Shuffle what the solver sees; for --walks, the seed (default 1)."
)
@story_form_option
@output_option
@click.option(
    "--traces", type=click.Path(), metavar="DIR", help="Write each counterexample to a file in this folder."
)
@click.option(
    "--certificates",
    type=click.Path(),
    metavar="DIR",
    help="Write a certificate of what is proved to this new folder.",
)
@click.option(
    "--induction",
    type=click.Choice(INDUCTION),
    default="actions",
    show_default=True,
    help="Proofs by induction: over one action where there are facts, then over rounds; over rounds only; none.",
)
@click.option("--require-proof", is_flag=True, help="Exit with 3 if a property only holds up to a bound.")
@click.option(
    "--known-as-expected",
    is_flag=True,
    help="A violation that a known bug explains does not decide the exit code: only what is new does.",
)
@click.option(
    "--expect",
    type=click.Choice([v.value for v in Verdict]),
    metavar="VERDICT",
    help="Exit with 0 if this is the worst verdict, else with 1.",
)
@click.option(
    "-v", "--verbose", is_flag=True, help="Say on stderr what is being done, and where the time went."
)
def command(
    protocol: str | None,
    settings: tuple[str, ...],
    release: str | None,
    names: tuple[str, ...],
    budget: tuple[str, ...],
    walks: int | None,
    known: bool,
    bugs: tuple[str, ...],
    form: str,
    output: str | None,
    traces: str | None,
    certificates: str | None,
    require_proof: bool,
    known_as_expected: bool,
    expect: str | None,
    verbose: bool,
    **limits: Any,
) -> int:
    """Search PROTOCOL, or the one in FILE.py, for violations of its properties.

    Deepens round by round until every property is violated or proved. Exits with 0 if all are proved (or hold
    up to the bound given), 1 if any is violated, 3 if any is undecided or vacuous.

    With --known there is no PROTOCOL: each known bug is looked for on a small instance, with the bug and
    without it, one after the other; unless --timeout says how long, as long as it takes. Exits with 0 if all come out as expected, 1 if one does not, 3 if one is undecided.
    """
    if known:
        from fencepost.cli.bugs import check_known, refuse_unused

        refuse_unused()
        if form in FORMS:
            raise BadInput(f"--format {form}: not with --known; valid: {', '.join(FORMATS)}")
        if click.get_current_context().get_parameter_source("timeout") is ParameterSource.DEFAULT:
            limits["timeout"] = without_limit()
        return int(check_known(bugs, Limits(gone=elapsed(), **limits), form, output, verbose))
    if bugs:
        raise BadInput(f"--bug {bugs[0]}: only with --known; add it, or leave --bug out")
    if known_as_expected and expect is not None:
        raise BadInput(f"--expect {expect}: not with --known-as-expected; leave one of them out")
    if protocol is None:
        raise BadInput("no PROTOCOL: give a protocol's name, a Python file, or --known")
    made = [setting(text, "NAME=VALUE") for text in settings]
    instance = find_protocol(protocol).instance(made, release)
    asked = Limits(budgets=budgets(budget), gone=elapsed(), **limits).of(instance.system)
    request = Request(instance, instance.properties(*names), asked)
    if traces is not None:
        prepare_folder(Path(traces))
    if certificates is not None:
        prepare_certificates(Path(certificates))
    with Progress(verbose) as progress:
        outcome = (
            take(walks, request.instance, request.properties, request.limits)
            if walks
            else _check(request, progress)
        )
        if certificates is not None:
            folder, asked_of = Path(certificates), (request.system, request.subject, request.limits)
            outcome = with_certificates(folder, *asked_of, outcome, progress.hear)
    if traces is not None:
        _write_traces(Path(traces), request, outcome.results, form)
    known_ones = [names_of(result) for result in outcome.results]
    if form in FORMS:
        click.echo("\n".join(map(line, outcome.results, known_ones)), err=True)
        stories = [story for result in outcome.results for story in _stories(request, result)]
        tell(stories, form, output, "Choose with --property, or say --traces DIR for a file of each.")
    else:
        said = (
            _json(request, outcome, known_ones)
            if form == "json"
            else _text(request, outcome, walks, known_ones)
        )
        emit(said, output)
    if verbose:
        tell_spent(outcome.spent)
    deciding = new(outcome, known_ones) if known_as_expected else outcome
    return int(exit_code(deciding, require_proof, expect, certificates is not None))


def _check(request: Request, progress: Progress) -> Outcome:
    return check(request.system, request.subject, request.properties, request.limits, progress.hear)


def _in_force(request: Request, outcome: Outcome) -> Limits:
    """The limits that bound the verdicts: a proof covers executions of any number of rounds."""
    if all(result.verdict is Verdict.PROVED for result in outcome.results):
        return replace(request.limits, rounds=None)
    return request.limits


def _text(request: Request, outcome: Outcome, walks: int | None, known: Sequence[Sequence[str]]) -> str:
    limits = _in_force(request, outcome)
    parts = [heading(request.instance, limits)]
    properties = {p.name: p for p in request.properties}
    for result in outcome.results:
        if result.trace is not None:
            parts.append(
                f"{result.property}, counterexample:\n{trace_text(result.trace, properties[result.property])}"
            )
        for number, trace in enumerate(result.more_traces, 2):
            parts.append(
                f"{result.property}, counterexample {number}:\n{trace_text(trace, properties[result.property])}"
            )
    parts.append("\n".join(map(line, outcome.results, known)))
    parts += [
        exercise
        for result in outcome.results
        if (exercise := _exercise(request.instance.protocol.name, result))
    ]
    if walks:
        parts.append("Random walks find violations; they never prove that there are none.")
    folders = {result.certificate for result in outcome.results if result.certificate is not None}
    parts += [f"certificate: {folder} (fencepost certify checks it)" for folder in folders]
    if outcome.interrupted:
        parts.append("Interrupted: this is what was known by then.")
    return "\n\n".join(parts)


def _exercise(protocol: str, result: Result) -> str:
    """How a vacuous property of a preset can be exercised, if it has an instance for that."""
    from fencepost.properties.instances import EXERCISED

    settings = EXERCISED.get(protocol, {}).get(result.property)
    if settings is None or result.verdict is not Verdict.VACUOUS:
        return ""
    chosen = " ".join(f"--set {name}={value}" for name, value in settings.items())
    return f"To test {result.property}:\n  fencepost check {protocol} --property {result.property} {chosen}"


def _json(request: Request, outcome: Outcome, known: Sequence[Sequence[str]]) -> str:
    limits = _in_force(request, outcome)
    caps: dict[str, object] = dict(request.system.caps)
    caps |= {
        name: value
        for name, value in (("steps", limits.bound), ("rounds", limits.rounds))
        if value is not None
    }
    caps |= {name: limits.budgets[name] for name in request.system.faults if name in limits.budgets}
    document = {
        "schema": "fencepost.check/2",
        "version": version(),
        **request.subject.to_json(),
        "changed_switches": request.instance.changed_switches,
        "release": request.instance.release,
        "unlike_release": request.instance.unlike_release,
        "caps": caps,
        "results": [{**r.to_json(), "known": list(k)} for r, k in zip(outcome.results, known, strict=True)],
        "interrupted": outcome.interrupted,
        "seconds": round(outcome.seconds, 3),
    }
    return json.dumps(document, indent=2)


def _stories(request: Request, result: Result) -> list[Story]:
    """The counterexamples of a property, with what is needed to tell them."""
    (prop,) = (p for p in request.properties if p.name == result.property)
    changed = request.instance.changed_switches
    traces = [result.trace, *result.more_traces] if result.trace else []
    return [Story(trace, request.system, prop, verdict_sentence(result), changed) for trace in traces]


def _write_traces(folder: Path, request: Request, results: Sequence[Result], form: str) -> None:
    """A file for each counterexample that `trace` can read, and one in the form asked for if that tells a story."""
    protocol = re.sub(r"[^A-Za-z0-9.-]+", "-", request.instance.protocol.name)
    for result in results:
        stories = _stories(request, result)
        for number, story in enumerate(stories, 1):
            suffix = f".{number}" if len(stories) > 1 else ""
            name = f"{protocol}.{result.property}{suffix}"
            write_whole(folder / f"{name}.json", json.dumps(story.trace.to_json(), indent=2) + "\n")
            if form in FORMS:
                write_whole(folder / f"{name}{FORMS[form].ending}", FORMS[form].write(story))
