"""The search behind an advice: known bugs of the setup first, then any other loss, the long ones last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from fencepost.answers.advice import ANYTHING_ELSE, Advice
from fencepost.answers.risk_search import RiskFinding, RiskQuestion
from fencepost.answers.usual import answered_earlier, questions, small_questions
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Verdict

CONFLICTS = 100_000
"""The limit of conflicts of each search.

On 4.13.0 to 4.18.0, at 2/1/1 to 5/3/2, a violation took 2,600 at most and a proof 16,400. Few searches take
10 seconds.
"""


def limits_of(timeout: float) -> Limits:
    """Return the limits of a search with a time-out in seconds."""
    return Limits(conflicts=CONFLICTS, jobs=1, timeout=timeout)


def advice_on(
    unasked: Advice,
    left: Callable[[], float],
    listener: Callable[[str], None] = lambda question: None,
    fresh: bool = False,
) -> Iterator[Advice]:
    """Ask all questions, the long searches last, and yield the advice so far before and after each.

    A question that was not asked yet is not decided. Each search has a limit of conflicts, so that a busy
    machine finds the same losses. The time only ends searches that the command has no time for: `left` says
    how many seconds are left. `listener` is told the number and name of each question. Raises
    KeyboardInterrupt after Ctrl-C.

    Unless `fresh`, answers that ship for the setup are taken, and then nothing is asked.
    """
    if not fresh:
        unasked = answered_earlier(unasked)
        if unasked.rest.computed_with:
            yield unasked
            return
    findings, rest = [found for _, found in unasked.losing], unasked.rest
    losing = [risk for risk, _ in unasked.losing]
    asked, asked_small = questions(unasked), small_questions(unasked)

    def answer(question: RiskQuestion) -> RiskFinding:
        return question.ask(limits_of(max(0.1, round(left(), 1))))

    def look_for(bug: str) -> RiskFinding:
        here = answer(asked.pop(bug))  # a question keeps its instance, which needs memory
        if here.decided:
            return here
        small = answer(asked_small.pop(bug))
        if small.verdict is not Verdict.VIOLATED:
            return here
        return replace(small, reason=here.reason, out_of_time=here.out_of_time)

    yield unasked
    with_spare = [number for number, risk in enumerate(losing) if "spare" in risk.needs]
    with_spare.sort(key=lambda number: losing[number].is_large)
    cheap = [number for number in range(len(losing)) if number not in with_spare]
    for count, number in enumerate((*cheap, None, *with_spare), 1):
        if left() < 0:
            return
        name = "anything else" if number is None else losing[number].bug.name
        listener(f"{count} of {len(losing) + 1}: {name}")
        if number is None:
            rest = answer(asked.pop(ANYTHING_ELSE))
        else:
            findings[number] = look_for(name)
        yield replace(unasked, losing=list(zip(losing, findings, strict=True)), rest=rest)
