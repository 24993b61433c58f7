"""Exit codes: one table for all commands."""

from __future__ import annotations

from enum import IntEnum

from fencepost.encoding.engine.verdicts import Outcome, Verdict, worst


class ExitCode(IntEnum):
    """The exit codes of all commands."""

    SUCCESS = 0  # proved, or holds up to the bound given; all as expected
    VIOLATED = 1  # something is violated, refuted or rejected, or not the verdict expected
    BAD_INPUT = 2  # one line on stderr: the value, the rule, what would be valid
    UNDECIDED = 3  # undecided or vacuous; `holds` under --require-proof
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


def exit_code(outcome: Outcome, require_proof: bool, expect: str | None, certify: bool) -> ExitCode:
    """Return the code of the worst verdict; a proof that lacks its certificate is undecided at best."""
    if outcome.interrupted:
        return ExitCode.INTERRUPTED
    code = _verdict_code(outcome, require_proof, expect)
    lacking = any(r.verdict is Verdict.PROVED and r.certificate is None for r in outcome.results)
    return ExitCode.UNDECIDED if certify and lacking and code is ExitCode.SUCCESS else code


def _verdict_code(outcome: Outcome, require_proof: bool, expect: str | None) -> ExitCode:
    if not outcome.results:
        return ExitCode.SUCCESS
    verdict = worst(result.verdict for result in outcome.results)
    if expect is not None:
        if verdict is Verdict(expect):
            return ExitCode.SUCCESS
        return ExitCode.UNDECIDED if verdict is Verdict.UNDECIDED else ExitCode.VIOLATED
    if verdict is Verdict.VIOLATED:
        return ExitCode.VIOLATED
    if verdict in (Verdict.UNDECIDED, Verdict.VACUOUS) or (require_proof and verdict is Verdict.HOLDS):
        return ExitCode.UNDECIDED
    return ExitCode.SUCCESS
