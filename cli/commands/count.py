"""`fencepost count`: the number of reachable states, and what happens in them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fencepost.cli.exits import ExitCode
from fencepost.cli.options.grouped import SEARCH, grouped_command, option
from fencepost.cli.options.numbers import LIMIT
from fencepost.cli.options.protocols import asked_instance, instance_options
from fencepost.cli.options.search import memory_option
from fencepost.cli.options.settings import properties_option
from fencepost.cli.process.conclusion import Conclusion, conclude, placed
from fencepost.cli.process.handover import elapsed, timeout_option
from fencepost.cli.process.listener import INTERRUPTED, listen
from fencepost.cli.rendering.check_text import heading
from fencepost.cli.rendering.columns import columns
from fencepost.cli.rendering.output import form_option, output_option
from fencepost.cli.rendering.progress import StatusLine
from fencepost.encoding import keys as k
from fencepost.encoding.concrete.saved_traces import SUBJECT
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.messages import Visiting
from fencepost.encoding.enumeration.count import StateCount, count_states
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.state import amount
from fencepost.encoding.solving.workers import Ended, Worker, reason_of

COUNT_OF_STATES = k.document(
    "fencepost.count/1",
    **SUBJECT,
    states=k.whole("states visited, with all that symmetry makes of them"),
    orbits=k.null(k.whole("states visited up to symmetry"), "without --symmetry"),
    symmetries=k.null(k.whole("renamings that are symmetries, with the one that changes nothing", 1)),
    steps=k.whole("the fewest steps to the states that are farthest away"),
    complete=k.flag("these are all reachable states"),
    fired=k.table(int, "for each action, the pairs of a state and a state after it"),
    witnesses=k.table(int, "for each property, the states in which its witness is true"),
    reason=k.null(k.text("why not all states were counted"), "if all were"),
    interrupted=k.INTERRUPTED,
    seconds=k.seconds("seconds for the command"),
)


@grouped_command(example="fencepost count examples/two_phase_commit.py --set participants=4 --symmetry")
@instance_options
@properties_option
@option(
    "--symmetry",
    is_flag=True,
    group=SEARCH,
    help="Visit one of the states that differ in a renaming only; count all of them.",
)
@option(
    "--states",
    "most",
    type=LIMIT,
    metavar="N",
    group=SEARCH,
    help="Visit at most N states.  [default: all]",
)
@timeout_option()
@memory_option
@form_option
@output_option
def command(
    protocol: str,
    settings: tuple[str, ...],
    release: str | None,
    names: tuple[str, ...],
    symmetry: bool,
    most: int | None,
    timeout: float,
    memory: float | None,
    form: str,
    output: str | None,
) -> int:
    """Count the reachable states of PROTOCOL, or the one in FILE.py, without checking properties.

    Also counts how often each action leads from a state to another, and in how many states the witness of
    each property is true. A message is lost or not once an action depends on it, so other tools may count
    otherwise. Exits with 0 if all states were counted, else with 3.
    """
    instance = asked_instance(protocol, settings, release)
    properties = instance.properties(*names)
    sent_at_most_once(instance.system)
    worker = Worker("count", count_states, instance.system, properties, symmetry, most, gib=memory)
    progress = CountProgress()
    with progress:
        reason = listen(worker, timeout, progress.hear)
    counted, ended = progress.counted, progress.ended
    if reason is None and ended is not None:
        reason = reason_of(ended, "count", memory)
    if reason is None and not counted.is_complete:
        reason = f"{most:,} states visited"
    text = _json(instance, counted, reason) if form == "json" else _text(instance, counted, reason)
    printed, files = placed(text, output)
    code = ExitCode.SUCCESS if reason is None else ExitCode.UNDECIDED
    return conclude(Conclusion(ExitCode.INTERRUPTED if reason == INTERRUPTED else code, printed, files=files))


class CountProgress(StatusLine):
    """The newest count, shown on stderr: on a terminal as it changes, elsewhere every ten seconds."""

    def __init__(self) -> None:
        """Begin without a count."""
        super().__init__("building")
        self.counted = StateCount(0, None, 1, 0, False, {}, {})
        self.ended: Ended | None = None

    def hear(self, message: StateCount | Ended) -> None:
        """Keep a count, or the end of the worker."""
        if isinstance(message, Ended):
            self.ended = message
            return
        self.counted = message
        self.show(str(Visiting(message.states, message.steps)))


def _text(instance: Instance, counted: StateCount, reason: str | None) -> str:
    states, renamings = f"{counted.states:,} states", amount(counted.symmetries, "renaming")
    if counted.orbits is not None:
        states = f"{counted.orbits:,} states up to symmetry ({renamings}), {states} in all"
    whole = "all that are reachable" if reason is None else f"not all that are reachable: {reason}"
    parts = [heading(instance, Limits()), f"{states} within {counted.steps:,} steps; {whole}"]
    parts.append(_table("An action leads from a state to another", counted.fired))
    parts.append(_table("The witness of a property is true in so many states", counted.witnesses))
    return "\n\n".join(parts)


def _table(title: str, numbers: Mapping[str, int]) -> str:
    rows = [(name, f"{number:,}") for name, number in numbers.items()]
    return "\n".join([title, *(f"  {line}" for line in columns(rows, right=[1]))])


def _json(instance: Instance, counted: StateCount, reason: str | None) -> str:
    content = k.from_record(
        COUNT_OF_STATES,
        counted,
        **instance.subject.to_json(),
        symmetries=None if counted.orbits is None else counted.symmetries,
        complete=reason is None,
        reason=reason,
        interrupted=reason == INTERRUPTED,
        seconds=elapsed(),
    )
    return json.dumps(content, indent=2)
