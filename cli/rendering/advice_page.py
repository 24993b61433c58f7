"""Advice as one page that loads nothing: the answer, its evidence, and an execution for each loss."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from html import escape

from fencepost.answers.advice import ANYTHING_ELSE, Advice, AdviceAnswer, Loss, LossState
from fencepost.answers.risk_search import RiskFinding
from fencepost.answers.risks import Risk
from fencepost.cli.rendering.advice import (
    RATES,
    WORDS,
    asked,
    besides,
    better_lines,
    for_all_sizes,
    found_of,
    left_out,
    of_table,
    read,
    rest_of,
    survived,
    told,
    when,
)
from fencepost.cli.rendering.advice_answer import answered
from fencepost.cli.rendering.advice_steps import by_time, purpose, remedy, rule, steps
from fencepost.cli.rendering.check_text import sentence
from fencepost.cli.rendering.page_parts import filled, part
from fencepost.cli.rendering.words import SIGNS
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.forms.diagram import diagram, style
from fencepost.encoding.versions import version
from fencepost.protocols.bookkeeper.releases import TAGS
from fencepost.quorums.calculator import warnings


def page(advice: Advice) -> str:
    """Return the page."""
    setup = advice.setup
    conclusion, explained = _answer(advice)
    return filled(
        "advice.html",
        version=escape(version()),
        title=escape(f"{setup.configuration} on BookKeeper {setup.release}"),
        style=f"{style()}\n{part('page.css').rstrip()}\n{part('advice.css').rstrip()}",
        asked=escape(asked(advice)),
        commit=escape(TAGS[setup.release]),
        files="".join(f'<p class="read">{escape(line)}</p>' for line in read(advice)),
        verdict=TONES[advice.answer].value,
        conclusion=conclusion,
        explained=explained,
        actions=_steps(advice),
        rates=escape(RATES),
        words="".join(f"<div><dt>{w}</dt><dd>{escape(meaning)}</dd></div>" for w, meaning in WORDS.items()),
        better=_list(better_lines(advice)) if advice.deciding else "<p>Not needed.</p>",
        left_out=escape(sentence(left_out(advice))),
        losses="\n".join(_loss(loss, advice) for loss in advice.losses if loss.name != ANYTHING_ELSE)
        or "<p>None.</p>",
        rest=_card(advice.rest.verdict.value, "Anything else", rest_of(advice), "", advice.rest),
        survives="".join(
            f'<tr><th scope="row">{escape(quantity.name)}</th>'
            f'<td class="value">{escape(str(quantity.value))}</td>'
            f"<td>{escape(quantity.meaning)}</td></tr>"
            for quantity in survived(advice)
        ),
        warnings=_list(warning.text for warning in warnings(advice.deployment)),
        for_all_sizes=escape(for_all_sizes(setup)),
        other=_besides(advice.other) or "<p>None.</p>",
    )


TONES = {
    AdviceAnswer.YES: Verdict.PROVED,
    AdviceAnswer.CONDITIONS: Verdict.UNDECIDED,
    AdviceAnswer.UNKNOWN: Verdict.UNDECIDED,
    AdviceAnswer.NO: Verdict.VIOLATED,
}
"""The verdict that gives each answer its colour."""


def _answer(advice: Advice) -> tuple[str, str]:
    """Return the answer in HTML, with its setup in bold and what makes it a yes; and the explanation."""
    first, *others = answered(advice)
    about, colon, worst = first.partition(": ")
    box = [worst[:1].upper() + worst[1:], *others[:1]] if colon else others[:1]
    spans = "".join(f"<span>{in_html(said)}</span>" for said in box)
    return f"<b>{escape(about)}{'.' if colon else ''}</b>{spans}", in_html(
        " ".join([*others[1:], advice.remark]).strip()
    )


def in_html(said: str) -> str:
    """Return a text in HTML. The parts between backticks are code."""
    parts = enumerate(escape(said).split("`"))
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in parts)


def _steps(advice: Advice) -> str:
    """Return the steps in HTML, numbered through, below the headings of their times."""
    listed = steps(advice)
    if not listed:
        return "<p>Nothing.</p>"
    said = f'<p class="about">{escape(rule(advice))}</p>' if rule(advice) else ""
    for time, group in by_time(listed):
        items = "".join(
            f"<li>{in_html(step.action)} <small>{escape(purpose(step))}.</small></li>" for _, step in group
        )
        said += f'<h3>{escape(time)}</h3><ol class="actions" start="{group[0][0]}">{items}</ol>'
    return said


def _loss(loss: Loss, advice: Advice) -> str:
    accepted = " (accepted)" if loss.accepted else ""
    more = "".join(f"<p>{in_html(said[:1].upper() + said[1:])}</p>" for said in told(loss))
    more += f'<p class="remedy">{in_html(remedy(loss, advice))}</p>'
    verdict = LossState.PUBLIC.value if loss.finding is None else loss.finding.verdict.value
    name = f"{loss.name}: {loss.short}" if loss.short else loss.name
    return _card(verdict, f"{name}{accepted}", found_of(loss, advice), more, loss.finding)


def _card(verdict: str, name: str, said: str, more: str, found: RiskFinding | None) -> str:
    """Return one card in HTML. A loss that nobody searched for has no verdict, and no command."""
    tone = Verdict.UNDECIDED.value if found is None else verdict
    sign = f'<span class="sign" aria-hidden="true">{SIGNS[tone]}</span>'
    return (
        f'<article class="{tone}"><h3><span class="badge">{sign} {verdict}</span> '
        f"{escape(name)}</h3>\n"
        f'<p class="finding">{escape(said[:1].upper() + said[1:])}.</p>{more}\n'
        + ("" if found is None else _shown(found) + _command(found))
        + "</article>"
    )


def _command(found: RiskFinding) -> str:
    """Return the command in HTML, folded, with line breaks only between words. Its options name switches."""
    if not found.command:
        return ""
    words = " ".join(f"<span>{escape(shlex.quote(word))}</span>" for word in found.command)
    return f'<details><summary>Its command</summary><pre class="command"><code>{words}</code></pre></details>'


def _shown(found: RiskFinding) -> str:
    """Return the execution of a loss, which was replayed and is not the shortest, as HTML."""
    counterexample = found.counterexample
    if counterexample is None:
        return ""
    lead = f'<p class="lead">{escape(counterexample.explanation)}</p>' if counterexample.explanation else ""
    steps = len(counterexample.trace.steps)
    return (
        f"<details><summary>How it comes about, in {steps} steps</summary>{lead}{diagram(counterexample)}"
        f'<p class="rest">Found {when(found)} and replayed. Its command gives the fewest steps.</p></details>'
    )


def _besides(risks: Iterable[Risk]) -> str:
    """Return the bugs that lose nothing as HTML, each with its command on one line."""
    items = "".join(
        f'<li>{in_html(besides(risk))} <code class="whole">{escape(of_table(risk))}</code></li>'
        for risk in risks
    )
    return f"<ul>{items}</ul>" if items else ""


def _list(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{in_html(said)}</li>" for said in texts)
    return f"<ul>{items}</ul>" if items else ""
