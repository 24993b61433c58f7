"""`fencepost check --engine states`: the number of reachable states, and what happens in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fencepost.cli.exits import ExitCode
from fencepost.cli.process.handover import elapsed
from fencepost.cli.process.listener import INTERRUPTED, listen
from fencepost.cli.rendering.check_report import Wanted
from fencepost.cli.rendering.check_text import heading
from fencepost.cli.rendering.columns import columns
from fencepost.cli.rendering.output import FORMATS
from fencepost.cli.rendering.progress import StatusLine
from fencepost.encoding import keys as k
from fencepost.encoding.concrete.saved_traces import SUBJECT
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.messages import Visiting
from fencepost.encoding.enumeration.count import StateCount, count_states
from fencepost.encoding.errors import BadInput
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.state import amount
from fencepost.encoding.solving.workers import Worker

Counted = tuple[Instance, StateCount, str | None]
"""An instance, what was counted, and why not all was, if it was not."""

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


def count(asked: Wanted, names: Sequence[str], symmetry: bool, timeout: float, memory: float | None) -> int:
    """Count states, actions and witnesses, and print them. Return 0 if all states were counted, else 3."""
    if asked.form not in FORMATS:
        raise BadInput(f"--format {asked.form}: --engine states finds none; valid: {', '.join(FORMATS)}")
    instance = asked.instance()
    properties = instance.properties(*names)
    sent_at_most_once(instance.system)
    given = instance.system, properties, symmetry, None
    worker = Worker("count", count_states, *given, gib=memory)
    with CountProgress() as progress:
        reason = listen(worker, "count", timeout, progress.hear, gib=memory)
    asked.show((instance, progress.counted, reason), _text, _json)
    code = ExitCode.SUCCESS if reason is None else ExitCode.UNDECIDED
    return ExitCode.INTERRUPTED if reason == INTERRUPTED else code


class CountProgress(StatusLine):
    """The newest count, shown on stderr: on a terminal as it changes, elsewhere every ten seconds."""

    def __init__(self) -> None:
        """Begin without a count."""
        super().__init__("building")
        self.counted = StateCount(0, None, 1, 0, False, {}, {})

    def hear(self, message: StateCount) -> None:
        """Keep a count."""
        self.counted = message
        self.show(str(Visiting(message.states, message.steps)))


def _text(found: Counted) -> str:
    instance, counted, reason = found
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


def _json(found: Counted) -> dict[str, Any]:
    instance, counted, reason = found
    return k.from_record(
        COUNT_OF_STATES,
        counted,
        **instance.subject.to_json(),
        symmetries=None if counted.orbits is None else counted.symmetries,
        complete=reason is None,
        reason=reason,
        interrupted=reason == INTERRUPTED,
        seconds=elapsed(),
    )
