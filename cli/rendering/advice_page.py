"""Advice as one page that loads nothing: the answer, its evidence, and an execution for each loss."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from html import escape

from fencepost.answers.risks import Finding, Risk
from fencepost.cli.rendering.advice import (
    Advice,
    asked,
    conclusion,
    for_all_sizes,
    found_of,
    left_out,
    of_table,
    read,
    rest_of,
    survived,
    unsynced,
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
        verdict=_tone(advice),
        conclusion=escape(conclusion(advice)),
        left_out=escape(sentence(left_out(advice))),
        unsynced="".join(f"<p>{escape(text)}</p>" for text in unsynced(setup)),
        losses="\n".join(_loss(risk, found, advice) for risk, found in advice.losing) or "<p>None.</p>",
        rest=_card(advice.rest.verdict, "Anything else", rest_of(advice), "", advice.rest),
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


def _tone(advice: Advice) -> str:
    """Return the verdict that gives the answer its colour."""
    if advice.named:
        return Verdict.VIOLATED.value
    return Verdict.UNDECIDED.value if advice.undecided else Verdict.PROVED.value


def _loss(risk: Risk, found: Finding, advice: Advice) -> str:
    accepted = " (accepted)" if risk.bug.name in advice.accepted else ""
    more = f"<p>{escape(risk.bug.wrong[:1].upper() + risk.bug.wrong[1:])}.</p>"
    more += f'<p class="remedy"><b>Remedy:</b> {escape(risk.remedy)}</p>'
    return _card(found.verdict, f"{risk.bug.name}{accepted}", found_of(risk, found, advice), more, found)


def _card(verdict: Verdict, name: str, said: str, more: str, found: Finding) -> str:
    sign = f'<span class="sign" aria-hidden="true">{SIGNS[verdict.value]}</span>'
    return (
        f'<article class="{verdict.value}"><h3><span class="badge">{sign} {verdict.value}</span> '
        f"{escape(name)}</h3>\n"
        f'<p class="finding">{escape(said[:1].upper() + said[1:])}.</p>{more}\n'
        f'<pre class="command"><code>{_command(found)}</code></pre>{_shown(found.counterexample)}</article>'
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
        f"<li>{escape(risk.bug.name)}: {escape(risk.remedy)}; "
        f'<code class="whole">{escape(of_table(risk))}</code></li>'
        for risk in risks
    )
    return f"<ul>{items}</ul>" if items else ""


def _list(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""
