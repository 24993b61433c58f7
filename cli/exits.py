"""Exit codes: one table for all commands."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of all commands."""

    SUCCESS = 0  # proved, or holds up to the bound given; all as expected
    VIOLATED = 1  # something is violated, refuted or rejected, or not the verdict expected
    BAD_INPUT = 2  # one line on stderr: the value, the rule, what would be valid
    UNDECIDED = 3  # undecided or vacuous
    INTERNAL = 4  # the tool contradicts itself; says what to send
    INTERRUPTED = 130  # Ctrl-C, after printing what is known so far


MEANINGS = {
    ExitCode.SUCCESS: "success",
    ExitCode.VIOLATED: "violated or refuted",
    ExitCode.BAD_INPUT: "bad input",
    ExitCode.UNDECIDED: "undecided or vacuous",
    ExitCode.INTERNAL: "internal error",
    ExitCode.INTERRUPTED: "interrupted",
}
"""The meaning of each exit code, in words."""
