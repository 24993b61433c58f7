"""`fencepost prove`: lemmas for all configurations, their expected outcomes and their results."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.options import shared
from fencepost.cli.options.grouped import OUTPUT, SEARCH, argument, grouped_command, option
from fencepost.cli.options.numbers import SIZE
from fencepost.cli.process.handover import elapsed, say, timeout_option
from fencepost.cli.rendering.output import ResultOptions, emit
from fencepost.encoding import keys as k

if TYPE_CHECKING:
    from fencepost.quorums.lemmas import Example, LemmaResult

INDENT = " " * 11


class ProveOptions(ResultOptions):
    """The options of `fencepost prove`."""

    lemma: tuple[str, ...] = argument("[LEMMA]...", nargs=-1)
    only_list: bool = option("--list", "List the lemmas and decide none.")
    bookies: int | None = option(
        "--most-bookies N",
        "Most bookies of the instances that tie a theorem to its protocol.  [default: 3]",
        SEARCH,
        SIZE,
    )
    settings: shared.Settings = shared.settings_option(
        "Set a parameter or a switch (repeatable): tie a theorem to its protocol on this instance alone."
    )
    timeout: float = timeout_option(of_cpu=True)
    smt2: str | None = option("--smt2 DIR", "Write each proof obligation to a file in SMT-LIB 2.", OUTPUT)


@grouped_command(example="fencepost prove fewest-answers")
def command(asked: ProveOptions) -> int:
    """Decide the lemmas named, or all of them, for configurations of all sizes.

    Each lemma has an expected outcome. Some are refutations, of rules that were once in the code or of
    tempting claims. For a lemma that is named its proof obligations are listed too. Exits with 0 if all
    come out as expected, 1 if one does not, 3 if one is undecided.
    """
    from fencepost.cli.process.listener import INTERRUPTED, listen
    from fencepost.cli.rendering.progress import CheckProgress
    from fencepost.encoding.engine.events import PreparationPhase
    from fencepost.encoding.solving.answers import Deadline
    from fencepost.encoding.solving.workers import Worker
    from fencepost.properties import lemmas as catalogue
    from fencepost.quorums import arithmetic
    from fencepost.quorums.lemmas import LemmaJob

    lemmas = catalogue.chosen(asked.lemma)
    if asked.only_list:
        emit("\n".join(f"{found.name:<32} {found.sentence}" for found in lemmas), asked.output)
        return ExitCode.SUCCESS

    instances = catalogue.tied_on(lemmas, asked.bookies, asked.settings)
    job = LemmaJob(arithmetic.BP46, catalogue.UP_TO, Deadline(asked.timeout - elapsed()), *instances)
    if asked.smt2 is not None:
        count = catalogue.write_files(Path(asked.smt2), catalogue.files(lemmas, job.formulas))
        click.echo(f"{count} proof obligations written to {asked.smt2}", err=True)

    started = time.monotonic()
    streams = asked.form == "text" and asked.output is None
    detailed = bool(asked.lemma)
    results: list[LemmaResult] = []

    def hear(said: str | LemmaResult) -> None:
        if isinstance(said, str):
            progress.hear(PreparationPhase(said))
        else:
            results.append(said)
            if streams:
                say(text_of(said, detailed) + "\n")

    with CheckProgress() as progress:
        worker = Worker("proving", catalogue.deciding, lemmas, job, gib=None, with_children=True)
        cut_short = listen(worker, "deciding lemmas", asked.timeout, hear, spare=SLOW, of_cpu=True)
    seconds = time.monotonic() - started
    verdict = catalogue.overall(results).value
    if len(results) < len(lemmas) and verdict == "proved":
        verdict = "undecided"
    last = summary(results, seconds, len(lemmas), cut_short)
    if asked.form == "json":
        emit(object_of(results, verdict, catalogue.UP_TO, seconds, cut_short), asked.output)
    elif streams:
        say(last + "\n")
    else:
        emit("\n".join([*(text_of(r, detailed) for r in results), last]), asked.output)
    return ExitCode.INTERRUPTED if cut_short == INTERRUPTED else EXITS[verdict]


SLOW = 1.0
"""The seconds after the time-out in which a solver may still report it, before it is ended."""


EXITS = {"proved": ExitCode.SUCCESS, "refuted": ExitCode.VIOLATED, "undecided": ExitCode.UNDECIDED}
"""The exit code of the worst outcome."""


def text_of(result: LemmaResult, detailed: bool) -> str:
    """Return the text of a lemma: verdict, name, statement, basis, and the counterexample if any."""
    lines = [
        f"{result.verdict.value:<10} {result.name}  ({_expectation(result)}, {result.seconds:.1f} s)",
        f"{INDENT}{result.sentence}",
        f"{INDENT}{result.statement}",
        f"{INDENT}by {result.basis}",
        f"{INDENT}{_confirmed(result)}",
    ]
    if result.reason:
        lines.append(f"{INDENT}why: {result.reason}")
    if result.example is not None:
        lines += _example_lines("counterexample", result.example)
    if detailed:
        lines += [
            f"{INDENT}{s.answer.value:<10} {s.name}: {s.sentence} "
            f"[{s.solver}; {s.confirmed}, {s.seconds:.2f} s]"
            for s in result.obligations
        ]
    return "\n".join([*lines, ""])


def _expectation(result: LemmaResult) -> str:
    return "as expected" if result.as_expected else f"EXPECTED {result.expected.value.upper()}"


def _confirmed(result: LemmaResult) -> str:
    said = result.confirmed
    return said if said.startswith("not confirmed") else f"confirmed: {said}"


def _example_lines(title: str, example: Example) -> list[str]:
    lines = [f"{INDENT}{title} at {example.configuration}: {example.sentence}"]
    lines += [f"{INDENT}  {n:>2}  {step}" for n, step in enumerate(example.steps, start=1)]
    if example.sets:
        shown = (f"{name}: {' '.join(members) or 'nobody'}" for name, members in example.sets.items())
        lines.append(f"{INDENT}  {'; '.join(shown)}")
    return lines


def summary(results: list[LemmaResult], seconds: float, asked: int, cut_short: str | None) -> str:
    """How many came out as expected, the names of those that did not, and why some were not reached."""
    others = [r.name for r in results if not r.as_expected]
    said = f"{len(results) - len(others)} of {asked} lemmas as expected in {seconds:.1f} s"
    if cut_short is not None:
        said = f"{said}; {asked - len(results)} not reached: {cut_short}"
    return f"{said}; not: {', '.join(others)}" if others else said


VERDICT = k.among(("proved", "holds", "refuted", "vacuous", "undecided"), "the verdict")
REASON = replace(k.null(k.text("why it is undecided")), written=lambda reason: reason or None)
OBLIGATION = k.keys(
    name=k.text("the name of the proof obligation"),
    sentence=k.text("what it says"),
    verdict=VERDICT.of("answer"),
    solver=k.text("the solver that decided it"),
    confirmed=k.text("how another solver confirmed it"),
    seconds=k.seconds("seconds for the proof obligation"),
    reason=REASON,
)
EXAMPLE = k.keys(
    configuration=k.text("the configuration"),
    sentence=k.text("what is wrong with it"),
    sets=k.ruled(dict, "by the name of a set, the bookies in it", additionalProperties=k.list_schema(str)),
    steps=k.texts("the steps, if it is an execution"),
)
LEMMA = k.keys(
    lemma=k.text("the name of the lemma").of("name"),
    sentence=k.text("what it says"),
    statement=k.text("the same as a formula"),
    expected=replace(VERDICT, meaning="the verdict that the theory says"),
    verdict=VERDICT,
    basis=k.text("how it was decided"),
    confirmed=k.text("how that was confirmed"),
    seconds=k.seconds("seconds for the lemma"),
    reason=REASON,
    counterexample=k.null(k.one(EXAMPLE, "the counterexample"), "unless it is refuted").of("example"),
    proof_obligations=k.many(OBLIGATION, "the proof obligations for all sizes").of("obligations"),
)
LEMMAS = k.document(
    "fencepost.prove/2",
    up_to=k.whole("the largest ensemble that was enumerated", 1),
    as_expected=k.flag("every lemma came out as expected"),
    results=k.many(LEMMA, "a result for each lemma"),
    reason=k.null(k.text("why some lemmas were not reached")),
    seconds=k.seconds("seconds for all lemmas"),
)


def object_of(
    results: list[LemmaResult], verdict: str, up_to: int, seconds: float, cut_short: str | None
) -> dict[str, Any]:
    """Return the JSON object, of the schema `fencepost.prove/2`."""
    return k.from_record(
        LEMMAS,
        None,
        up_to=up_to,
        as_expected=verdict == "proved",
        results=results,
        reason=cut_short,
        seconds=seconds,
    )
