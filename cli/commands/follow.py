"""`fencepost follow`: whether a log of a real system is an execution of a protocol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from fencepost.cli.commands.follow_ledgers import answer, is_own_log, json_of, text_of
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.completion import property_names
from fencepost.cli.options.grouped import argument, grouped_command, option, refuse
from fencepost.cli.options.protocols import InstanceOptions
from fencepost.cli.process.handover import elapsed, timeout_option
from fencepost.cli.rendering.check_text import heading
from fencepost.cli.rendering.columns import columns
from fencepost.cli.rendering.output import ResultOptions
from fencepost.encoding import keys as k
from fencepost.encoding.concrete.saved_traces import PATH, SUBJECT
from fencepost.encoding.documents import parse_toml, read_text
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import amount
from fencepost.encoding.logs.events import read_logs, reader_in
from fencepost.encoding.logs.following import (
    Fit,
    FittingExecution,
    LogAnswer,
    Refusal,
    Share,
    Violations,
    follow,
)

EXECUTION = k.keys(
    path=k.one(PATH, "the execution, as `fencepost export` reads it"),
    lines=k.texts("for each step the line that it is, such as n1.log:3; an empty text for a silent step"),
    names=k.table(str, "an object: the values of the protocol that were found for names of the log"),
)
"""The keys of an execution that fits a log."""

FOLLOW = k.document(
    "fencepost.follow/1",
    **SUBJECT,
    fit=k.among(list(Fit), "whether an execution has these events"),
    events=k.whole("the events that were read"),
    unread=k.texts("a list of lines that name no action of the protocol").of("logs.unread"),
    execution=k.null(k.one(EXECUTION, "an execution that has the events"), "if there is none"),
    contradiction=k.texts("a list of lines that contradict each other; empty if an execution fits"),
    smallest=k.flag("each line of the contradiction is needed for it"),
    prefixes=k.texts("a list: the last line of the shortest prefix of each process without an execution"),
    change=k.null(k.text("a change of one line with which there is an execution"), "if none was found"),
    violations=k.table(str, "an object: for each property asked about, " + ", ".join(Share)),
    uninformative=k.texts("a list of lines of which no change is refused"),
    controlled=k.whole("the number of lines that were changed, to see whether a change is refused"),
    reached=k.texts("a list: the next line of each process where an undecided search came farthest"),
    nodes=k.whole("the nodes that the search visited"),
    reason=k.null(k.text("why the search ended early"), "if it did not"),
    seconds=k.seconds("seconds for the command"),
)
"""The keys of the answer to a log."""

OF_LOG = "The log"


class FollowOptions(ResultOptions, InstanceOptions):
    """The options of `fencepost follow`."""

    files: tuple[str, ...] = argument("LOG...", nargs=-1, required=True, type=click.Path())
    names: tuple[str, ...] = option(
        "--property NAME",
        "Ask how many of the executions that fit violate this property (repeatable).",
        OF_LOG,
        multiple=True,
        shell_complete=property_names,
    )
    silent: tuple[str, ...] = option(
        "--silent ACTION",
        "An action that may leave no line (repeatable).  [default: those that no line names]",
        OF_LOG,
        multiple=True,
    )
    always: tuple[str, ...] = option(
        "--logged ACTION",
        "An action that leaves a line each time, though no line may name it (repeatable).",
        OF_LOG,
        multiple=True,
    )
    table: str | None = option(
        "--names FILE.toml",
        "A table of names in the log, each with the value of the protocol that it means.",
        OF_LOG,
    )
    reader: str | None = option(
        "--reader FILE.py",
        "A Python file whose function events(line) turns a line of text into events.",
        OF_LOG,
    )
    acked: str | None = option(
        "--acked FILE",
        "Lines [ledger, entry]: the entries that an application saw acknowledged. For logs of BookKeeper.",
        OF_LOG,
    )
    timeout: float = timeout_option()


@grouped_command(example="fencepost follow examples/two_phase_commit.py examples/logs/coordinator.log")
def command(asked: FollowOptions) -> int:
    """Say whether an execution of PROTOCOL, or of the one in FILE.py, has the events of a log.

    A log is JSON lines: one file for each process, or a field that names it. With --property: do none, some
    or all of the executions that fit violate it? Exits with 0 for an execution, with 1 if none fits or one
    violates a property, with 3 if the search did not end. Logs of brokers and bookies themselves are read for
    the protocol bookkeeper; the answer is about each ledger, and the exit code is 1 if one has a finding.
    """
    paths = [Path(file) for file in asked.files]
    if asked.reader is None and is_own_log(asked.protocol, paths):
        refuse("a log whose lines are no events", "names", "silent", "always", "table")
        ledgers = answer(paths, asked.settings, asked.release, asked.acked, asked.timeout)
        asked.show(ledgers, text_of, json_of)
        return ledgers.exit_code
    if asked.acked is not None:
        raise BadInput("--acked: is for logs of BookKeeper's clients and bookies; leave it out")
    instance = asked.instance()
    properties = instance.properties(*asked.names) if asked.names else []
    names = {} if asked.table is None else names_in(Path(asked.table))
    reader = None if asked.reader is None else reader_in(Path(asked.reader))
    logs = read_logs(paths, instance.system, names, reader)
    found = follow(instance, logs, asked.silent, properties, asked.timeout - elapsed(), asked.always)
    asked.show(found, _lines, _json)
    return exit_code(found)


def names_in(file: Path) -> dict[str, str]:
    """Return the table of names in a TOML file. Raises BadInput for a value that is no text."""
    hint = 'give a table: "10.0.0.3:3181" = "b1"'
    table = parse_toml(read_text(file, hint), str(file), hint)
    for name, value in table.items():
        if not isinstance(value, str):
            raise BadInput(f"{file}: {name} = {value!r}: must be a text, the name of a value of the protocol")
    return table


def exit_code(found: LogAnswer) -> ExitCode:
    """Return the exit code of an answer."""
    shares = {one.share for one in found.violations}
    if found.fit is Fit.NONE or shares & {Share.SOME, Share.ALL}:
        return ExitCode.VIOLATED
    undecided = found.fit is Fit.UNDECIDED or Share.UNDECIDED in shares
    return ExitCode.UNDECIDED if undecided else ExitCode.SUCCESS


def _lines(found: LogAnswer) -> Iterator[str]:
    yield heading(found.instance, Limits())
    yield ""
    match found.fit:
        case Fit.EXECUTION:
            yield from _execution_text(found)
        case Fit.NONE:
            yield from refusal_text(found)
        case Fit.UNDECIDED:
            yield f"undecided: {found.reason}; {found.nodes:,} nodes visited"
            yield from (f"  the search came as far as {event}" for event in found.reached)
    for violations in found.violations:
        yield ""
        yield from _violations_text(violations)
    if found.silent_lines:
        yield ""
        yield "Lines that carry no information, since no change of them is refused:"
        yield from (f"  {event}" for event in found.silent_lines)
    if found.logs.unread:
        yield ""
        yield f"{amount(len(found.logs.unread), 'line')} named no action; --format json lists them"


def _execution_text(found: LogAnswer) -> Iterator[str]:
    execution = found.execution
    assert execution is not None
    steps, silent = amount(len(execution.lines), "step"), execution.lines.count("")
    yield f"an execution: {steps}, of which {silent} left no line; replayed on plain values"
    yield from _step_lines(execution)
    for name, value in execution.names:
        yield f"{name} is {value}"


def _step_lines(execution: FittingExecution) -> Iterator[str]:
    rows = [
        (str(step.index), show(step.actor), step.name, line or "(silent)")
        for step, line in zip(execution.trace.steps, execution.lines, strict=True)
    ]
    yield from (f"  {line}" for line in columns(rows, right=[0]))


def refusal_text(found: LogAnswer) -> Iterator[str]:
    """Yield why no execution has the events, as lines."""
    refusal = found.refusal
    assert refusal is not None
    yield f"none: no execution has these events; all {found.nodes:,} nodes of the search were visited"
    one = len(refusal.core) == 1
    yield "This line cannot happen:" if one else "These lines contradict each other:"
    yield from (f"  {event}" for event in refusal.core)
    if not refusal.is_smallest:
        yield "Fewer lines may do: not every line was left out in turn within the bounds of the search."
    yield f"The shortest prefixes without an execution end with {', '.join(e.where for e in refusal.ends)}."
    if refusal.needed is not None:
        yield refusal.needed


def _violations_text(violations: Violations) -> Iterator[str]:
    words = {
        Share.NONE: "no execution that fits violates it",
        Share.SOME: "some executions that fit violate it, and others do not",
        Share.ALL: "every execution that fits violates it",
        Share.UNDECIDED: "the search did not end",
    }
    yield f"{violations.prop.name}: {violations.share}: {words[violations.share]}"
    if violations.violating is not None:
        yield from _step_lines(violations.violating)


def _json(found: LogAnswer) -> dict[str, Any]:
    refusal = found.refusal or Refusal()
    return k.from_record(
        FOLLOW,
        found,
        **found.instance.subject.to_json(),
        events=len(found.logs.events),
        execution=None if found.execution is None else _execution_json(found.execution),
        contradiction=list(map(str, refusal.core)),
        smallest=refusal.is_smallest,
        prefixes=[event.where for event in refusal.ends],
        change=refusal.needed,
        violations={one.prop.name: str(one.share) for one in found.violations},
        uninformative=[event.where for event in found.silent_lines],
        reached=[event.where for event in found.reached],
        seconds=elapsed(),
    )


def _execution_json(execution: FittingExecution) -> dict[str, Any]:
    return {
        "path": execution.trace.to_path_json(),
        "lines": execution.lines,
        "names": dict(execution.names),
    }
