"""`fencepost invariants --find`: invariants of every size, found from the properties alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fencepost.cli.exits import ExitCode
from fencepost.cli.options.protocols import find_protocol
from fencepost.cli.options.settings import settings_of
from fencepost.cli.process.listener import INTERRUPTED, listen
from fencepost.cli.rendering.check_text import heading, sentence
from fencepost.cli.rendering.found_invariants import discovered_text
from fencepost.cli.rendering.output import emit
from fencepost.cli.rendering.progress import CheckProgress
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.lifting.report import Discovered, discover
from fencepost.encoding.lifting.sizes import joint, sizes
from fencepost.encoding.solving.workers import Ended, Worker, reason_of

if TYPE_CHECKING:
    from fencepost.cli.commands.invariants import InvariantsOptions

JUDGE = "cadical"
"""The solver of the induction. IC3 uses another one."""


def find_invariants(asked: InvariantsOptions) -> int:
    """Look for invariants, print what is found or how far it came, and return the exit code."""
    protocol = find_protocol(asked.protocol)
    made = settings_of(asked.settings)
    chosen = sizes(protocol, made, asked.grow, asked.release)
    chosen[0].instance.properties(*asked.names)
    heard = _Heard()
    with CheckProgress() as progress:
        last = joint(protocol, made, chosen, asked.release)
        arguments = chosen, last, asked.names, asked.drop_declared, JUDGE
        worker = Worker("invariants", discover, *arguments, gib=None)
        cut_short = listen(worker, asked.timeout, lambda event: heard.hear(event, progress))
    stopped = cut_short or heard.gave_up
    parts = [heading(chosen[0].instance, Limits()), discovered_text(heard.found, stopped)]
    if left_out := chosen[0].instance.unmodelled:
        parts.append(sentence(left_out))
    emit("\n\n".join(parts), asked.output)
    return ExitCode.INTERRUPTED if cut_short == INTERRUPTED else heard.code


@dataclass
class _Heard:
    """The newest findings of the process."""

    found: Discovered = field(default_factory=Discovered)
    gave_up: str | None = None

    def hear(self, event: object, progress: CheckProgress) -> None:
        """Note an event of the process; raises the error that ended it."""
        match event:
            case Discovered():
                self.found = event
            case Ended():
                self.gave_up = reason_of(event, "looking for invariants")
            case _:
                progress.hear(event)  # type: ignore[arg-type]

    @property
    def code(self) -> ExitCode:
        """The exit code: found, violated, or neither."""
        if self.found.violated:
            return ExitCode.VIOLATED
        return ExitCode.SUCCESS if self.found.complete else ExitCode.UNDECIDED
