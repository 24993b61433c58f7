"""Advice as one page that loads nothing: the answer, its evidence, and an execution for each loss."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from html import escape

from fencepost.answers.advice import ANYTHING_ELSE, Advice, Answer, Loss, State
from fencepost.answers.risk_search import Finding
from fencepost.answers.risks import Risk
from fencepost.cli.rendering.advice import (
    NEEDS,
    asked,
    besides,
    better_lines,
    for_all_sizes,
    found_of,
    headline,
    left_out,
    of_table,
    read,
    rest_of,
    survived,
    to_do,
    told,
)
from fencepost.cli.rendering.check_text import sentence
from fencepost.cli.rendering.page_parts import filled, part
from fencepost.cli.rendering.words import SIGNS
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.forms.diagram import diagram, style
from fencepost.encoding.versions import version
from fencepost.protocols.bookkeeper.releases import TAGS
from fencepost.quorums.calculator import warnings


def page(advice: Advice) -> str:
    """Return the page."""
    setup = advice.setup
    return filled(
        "advice.html",
        version=escape(version()),
        title=escape(f"{setup.configuration} on BookKeeper {setup.release}"),
        style=f"{style()}\n{part('page.css').rstrip()}\n{part('advice.css').rstrip()}",
        asked=escape(asked(advice)),
        commit=escape(TAGS[setup.release]),
        files="".join(f'<p class="read">{escape(line)}</p>' for line in read(advice)),
        verdict=TONES[advice.answer].value,
        conclusion=escape(headline(advice)),
        actions=_actions(advice),
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
    Answer.YES: Verdict.PROVED,
    Answer.CONDITIONS: Verdict.UNDECIDED,
    Answer.UNKNOWN: Verdict.UNDECIDED,
    Answer.NO: Verdict.VIOLATED,
}
"""The verdict that gives each answer its colour."""


def _actions(advice: Advice) -> str:
    """Return the actions as a numbered list in HTML."""
    items = "".join(
        f"<li>{escape(action)} <small>Against "
        + escape(", ".join(f"{loss.name} ({NEEDS[loss.coincidence]})" for loss in losses))
        + ".</small></li>"
        for action, losses in to_do(advice)
    )
    return f'<ol class="actions">{items}</ol>' if items else "<p>Nothing.</p>"


def _loss(loss: Loss, advice: Advice) -> str:
    accepted = " (accepted)" if loss.accepted else ""
    more = "".join(f"<p>{escape(text[:1].upper() + text[1:])}</p>" for text in told(loss))
    more += f'<p class="remedy"><b>Do:</b> {escape(loss.action)}</p>'
    verdict = State.PUBLIC.value if loss.finding is None else loss.finding.verdict.value
    return _card(verdict, f"{loss.name}{accepted}", found_of(loss, advice), more, loss.finding)


def _card(verdict: str, name: str, said: str, more: str, found: Finding | None) -> str:
    """Return one card in HTML. A loss that nobody searched for has no verdict, and no command."""
    tone = Verdict.UNDECIDED.value if found is None else verdict
    sign = f'<span class="sign" aria-hidden="true">{SIGNS[tone]}</span>'
    return (
        f'<article class="{tone}"><h3><span class="badge">{sign} {verdict}</span> '
        f"{escape(name)}</h3>\n"
        f'<p class="finding">{escape(said[:1].upper() + said[1:])}.</p>{more}\n'
        + ("" if found is None else f'<pre class="command"><code>{_command(found)}</code></pre>')
        + ("" if found is None else _shown(found.counterexample))
        + "</article>"
    )


def _command(found: Finding) -> str:
    """Return the command in HTML, with line breaks only between words."""
    return " ".join(f"<span>{escape(shlex.quote(word))}</span>" for word in found.command)


def _shown(counterexample: Counterexample | None) -> str:
    """Return the execution of a loss, which was replayed and is not the shortest, as HTML."""
    if counterexample is None:
        return ""
    lead = f'<p class="lead">{escape(counterexample.explanation)}</p>' if counterexample.explanation else ""
    steps = len(counterexample.trace.steps)
    return (
        f"<details><summary>How it comes about, in {steps} steps</summary>{lead}{diagram(counterexample)}"
        '<p class="rest">Found now and replayed. The command above gives the fewest steps.</p></details>'
    )


def _besides(risks: Iterable[Risk]) -> str:
    """Return the bugs that lose nothing as HTML, each with its command on one line."""
    items = "".join(
        f'<li>{escape(besides(risk))} <code class="whole">{escape(of_table(risk))}</code></li>'
        for risk in risks
    )
    return f"<ul>{items}</ul>" if items else ""


def _list(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""
