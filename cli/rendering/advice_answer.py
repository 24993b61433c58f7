"""The answer of `advise` in sentences: yes, no, yes with conditions or not known, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fencepost.answers.advice import ANYTHING_ELSE, UNAVOIDABLE, Advice, AdviceAnswer, Loss, LossState
from fencepost.answers.better import better_setups
from fencepost.answers.risk_search import RiskFinding
from fencepost.answers.risks import risks
from fencepost.answers.setups import Setup
from fencepost.cli.rendering.advice_steps import steps
from fencepost.cli.rendering.check_text import listed
from fencepost.encoding.language.state import amount

NEEDS = {
    "nothing": "nothing special",
    "slow-bookie": "a slow bookie or a late message",
    "crash": "a crash",
    "two-crashes": "two crashes close together",
    "operator": "a step of an operator",
}
"""The coincidence that a loss needs, in words."""


def headline(advice: Advice) -> str:
    """Return the answer: yes, no, yes with conditions or not known, with the worst loss."""
    return " ".join(answered(advice))


def answered(advice: Advice) -> list[str]:
    """Return the sentences of the answer. The first one has the worst loss, the next what makes it a yes.

    The ones after them explain the worst loss, the setting of the journal, and the public losses. A warning
    about a release that was not read comes before these.
    """
    said = _sentences(advice)
    warned = [advice.warning[:1].upper() + advice.warning[1:]] if advice.warning else []
    return [*said[:2], *warned, *said[2:]]


def _sentences(advice: Advice) -> list[str]:
    setup = subject(advice.setup)
    undecided = [f"Not decided: {_undecided(advice)}."] if advice.open else []
    match advice.answer:
        case AdviceAnswer.YES:
            return [
                f"Yes: no loss of an acknowledged entry is known or found for {setup}{_but_accepted(advice)}."
            ]
        case AdviceAnswer.CONDITIONS:
            conditions = amount(len(steps(advice)), "condition")
            first = f"Yes, with {conditions}, for {setup}: {_worst(advice)}."
            how = "Do all steps below. Accept each loss (--accept) for a plain yes."
            return [first, how, *_in_detail(advice), *_of_setting(advice), *_public(advice)]
        case AdviceAnswer.NO:
            first = f"No for {setup}: {_worst(advice)}."
            more = [*_in_detail(advice), *_of_setting(advice), *_public(advice), *undecided]
            return [first, _remedy(advice), *more]
    return [f"Not known for {setup}: {_undecided(advice)}.", *_public(advice)]


def subject(setup: Setup) -> str:
    """Return the sizes, the release, and a journal that is not on or not synced."""
    settings = [words for words, is_on in ((OFF, setup.journal), (UNSYNCED, setup.sync)) if not is_on]
    said = f", and {' and '.join(settings)}" if settings else ""
    return f"{setup.configuration} on {amount(setup.bookies, 'bookie')} with BookKeeper {setup.release}{said}"


OFF, UNSYNCED = "journalWriteData=false", "journalSyncData=false"


def _but_accepted(advice: Advice) -> str:
    names = [loss.name for loss in advice.losses if loss.accepted and loss.state is not LossState.ABSENT]
    return f", but for what you accepted ({', '.join(names)})" if names else ""


def _worst(advice: Advice) -> str:
    """Return the worst loss with the coincidence that it needs. Of losses that need as much a found one."""
    worst, found = advice.deciding[0], _first_found(advice)
    if found is not None and found.coincidence == worst.coincidence:
        worst = found
    added = _added(advice)
    apart = "whatever the journal's settings, " if added and worst.name not in added else ""
    public = f" ({worst.short}; a public report, not searched for)" if worst is not found else ""
    searched = "the search has not ended" if advice.open else "the search found no loss"
    rest = f"; {searched}" if found is None else ""
    return f"{apart}{worst.name}{public} loses an acknowledged entry {LOST_IF[worst.coincidence]}{rest}"


LOST_IF = {
    "nothing": "in normal operation",
    "slow-bookie": "if a slow bookie or a late message comes at the wrong moment",
    "crash": "if a crash comes at the wrong moment",
    "two-crashes": "if crashes come close together",
    "operator": "if a step of an operator comes at the wrong moment",
}
"""The same within a sentence about a loss."""


def _first_found(advice: Advice) -> Loss | None:
    return next((loss for loss in advice.deciding if loss.state is LossState.FOUND), None)


def _in_detail(advice: Advice) -> list[str]:
    """Return a sentence about the worst loss: what it is, and which events must come together."""
    worst = _first_found(advice)
    if worst is None or not worst.events:
        return []
    return [f"In {worst.name} {worst.short}. It needs this: {worst.events}."]


def _of_setting(advice: Advice) -> list[str]:
    """Return a sentence that parts the losses of a journal that is off, or not synced, from all others."""
    added = _added(advice)
    others = [one for one in advice.deciding if one.name not in added]
    apart = " The other losses do not come from it." if added and others else ""
    return [f"This setting of the journal adds {listed(added)}.{apart}"] if added else []


def _added(advice: Advice) -> list[str]:
    """Return the losses that a journal adds which is off, or not synced."""
    synced = {risk.bug.name for risk in risks(replace(advice.setup, journal=True, sync=True))}
    found = (
        loss.name for loss in advice.deciding if loss.state is LossState.FOUND and loss.name != ANYTHING_ELSE
    )
    return [name for name in found if name not in synced]


def _verb(names: Sequence[str], one: str, several: str) -> str:
    return one if len(names) == 1 else several


def _public(advice: Advice) -> list[str]:
    """Return sentences about the public losses that decide, which were not searched for, and their steps."""
    concerned = [loss for loss in advice.deciding if loss.state is LossState.PUBLIC]
    if not concerned:
        return []
    names = [loss.name for loss in concerned]
    numbers = [
        str(n) for n, step in enumerate(steps(advice), 1) if any(loss in step.against for loss in concerned)
    ]
    at_once = [loss.name for loss in concerned if loss.coincidence == "nothing"]
    least = f" {listed(at_once)} {_verb(at_once, 'needs', 'need')} nothing special." if at_once else ""
    counted = (
        "It was not searched for, and counts as a loss",
        "They were not searched for, and count as losses",
    )
    below = f"{_verb(numbers, 'step', 'steps')} {listed(numbers)} below {_verb(numbers, 'is', 'are')}"
    return [
        f"Public reports name {listed(names)} in this release.{least}",
        f"{_verb(names, *counted)}; {below} against {_verb(names, 'it', 'them')}.",
    ]


def _remedy(advice: Advice) -> str:
    """Return what would make the answer a yes."""
    better = better_setups(advice)
    usable = next((one for one in better if one.answer is not AdviceAnswer.NO), None)
    if usable is not None:
        then = "a yes, with conditions" if usable.remains else "a yes"
        if advice.open:
            return f"With {listed(usable.changes)} it may be {then}: ask again with this change."
        return f"With {listed(usable.changes)} it is {then}."
    remains = {one.name: one.coincidence for one in advice.deciding} if not better else better[-1].remains
    hard = [name for name, coincidence in remains.items() if coincidence in UNAVOIDABLE]
    if not hard:
        return "It is a yes if you do what is listed below, accept it (--accept), and decide the rest."
    place = f"with {listed(better[-1].changes)}" if better else "with every release and setting here"
    accepted = " ".join(f"--accept {name.removeprefix('#')}" for name in hard)
    verb = _verb(hard, "still loses entries", "still lose entries")
    return f"Even {place}, {listed(hard)} {verb}; it is a yes only if you accept that ({accepted})."


def _undecided(advice: Advice) -> str:
    """Return the questions that were not decided, grouped by their reason, and how to decide them."""
    by_reason: dict[str, list[str]] = {}
    for loss in sorted(advice.open, key=lambda loss: loss.name == ANYTHING_ELSE):
        assert loss.finding is not None
        name = "whether anything else loses an entry" if loss.name == ANYTHING_ELSE else loss.name
        by_reason.setdefault(why_open(loss.finding), []).append(name)
    return "; ".join(f"{listed(names)} ({reason})" for reason, names in by_reason.items())


def why_open(found: RiskFinding) -> str:
    """Return why a question was not decided at the sizes asked about, and how to decide it."""
    if found.out_of_time:
        return "the time was over; ask again with a longer --timeout"
    return f"{found.reason or found.verdict.value}; run its command, which --commands prints"
