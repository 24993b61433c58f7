"""The advice on a setup as text: the answer and what to do first, then the evidence, then the setup."""

from __future__ import annotations

import shlex
import textwrap

from fencepost.answers.advice import ANYTHING_ELSE, Advice, Loss, LossState
from fencepost.answers.risk_search import NOT_ASKED
from fencepost.cli.rendering.advice import (
    RATES,
    WORDS,
    asked,
    besides,
    better_lines,
    for_all_sizes,
    found_of,
    left_out,
    read,
    rest_of,
    survived,
    told,
)
from fencepost.cli.rendering.advice_answer import answered
from fencepost.cli.rendering.advice_steps import by_time, purpose, remedy, rule, steps
from fencepost.cli.rendering.check_text import WIDTH, sentence
from fencepost.quorums.calculator import warnings


def as_text(advice: Advice, commands: bool = False, width: int = WIDTH) -> str:
    """Return the advice, the answer in its first line; with `commands`, also the command of each verdict."""
    unasked = [loss.name for loss in advice.losses if loss.finding and loss.finding.reason == NOT_ASKED]
    told_of = [one for one in advice.losses if one.state is not LossState.ABSENT and one.name not in unasked]
    absent = [loss.name for loss in advice.losses if loss.state is LossState.ABSENT]
    lines = [*answered(advice), *([advice.remark] if advice.remark else []), *_steps(advice)]
    lines += ["", "Better", *(f"  {line}" for line in better_lines(advice))] if advice.deciding else []
    lines += ["", "Losses, the one that needs the least first"]
    lines += [f"  {RATES}"] if told_of else []
    lines += [line for loss in told_of for line in _loss(loss, advice, commands)] or ["  none"]
    lines += [f"  Searched for, and not possible at these sizes: {', '.join(absent)}"] if absent else []
    lines += [f"  Not asked, because the time was over: {', '.join(unasked)}"] if unasked else []
    lines += [f"  Anything else: {rest_of(advice, commands)}"] if ANYTHING_ELSE not in unasked else []
    lines += [f"    {shlex.join(advice.rest.command)}"] if commands and advice.rest.command else []
    lines += ["", "Words", *(f"  {word}: {meaning}" for word, meaning in WORDS.items())] if told_of else []
    lines += ["", "Survives"]
    lines += [f"  {quantity.name}: {quantity.value}" for quantity in survived(advice)]
    lines += [f"  warning: {warning.text}" for warning in warnings(advice.deployment)]
    lines += ["", "Setup", *(f"  {line}" for line in (asked(advice), *read(advice)))]
    lines += [f"  {sentence(left_out(advice))}", f"  {for_all_sizes(advice.setup, commands)}"]
    lines += ["", "Other known bugs of this release (no data loss; not checked here)"]
    lines += [f"  {besides(risk)}" for risk in advice.other] or ["  none"]
    hint = "fencepost known NAME shows a bug; --commands prints the command of each verdict, at these sizes."
    lines += [] if commands else ["", hint]
    return "\n".join(part for line in lines for part in _broken(line, width))


def _steps(advice: Advice) -> list[str]:
    listed = steps(advice)
    lines = ["", "What to do", *([f"  {rule(advice)}"] if rule(advice) else [])] if listed else []
    for time, group in by_time(listed):
        lines.append(f"  {time}:")
        for number, step in group:
            lines += [f"  {number}. {step.action}", f"     {purpose(step)}."]
    return lines


def _loss(loss: Loss, advice: Advice, commands: bool) -> list[str]:
    accepted = " (accepted)" if loss.accepted else ""
    wrong, needs = told(loss)
    lines = [f"  {loss.name}{accepted}: {wrong}", f"    {needs} {found_of(loss, advice)}."]
    lines += [f"    {remedy(loss, advice)}"]
    shows = commands and loss.finding is not None
    return [*lines, f"    {shlex.join(loss.finding.command)}"] if shows and loss.finding else lines


def _broken(line: str, width: int) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(
        line, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    ) or [""]
