"""Advice as one page that loads nothing: the table of losses, the change that removes most, and the steps."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from fencepost.answers.advice import Advice
from fencepost.answers.losses import LEVELS
from fencepost.cli.rendering.advice_text import (
    EDGE,
    Row,
    asked,
    changed,
    grouped_steps,
    listed,
    notes,
    purpose,
    read,
    rows,
    survived,
)
from fencepost.cli.rendering.page_parts import filled, part
from fencepost.encoding.forms.diagram import style
from fencepost.encoding.versions import version
from fencepost.protocols.bookkeeper.releases import TAGS


def page(advice: Advice) -> str:
    """Return the page."""
    setup = advice.setup
    return filled(
        "advice.html",
        version=escape(version()),
        title=escape(f"{setup.configuration} on BookKeeper {setup.release}"),
        style=f"{style()}\n{part('page.css').rstrip()}\n{part('advice.css').rstrip()}",
        asked=escape(asked(advice)),
        warning=in_html(advice.warning),
        commit=escape(TAGS[setup.release]),
        read="".join(f"<p>{escape(line)}</p>" for line in read(advice)),
        survives="".join(
            f'<tr><th scope="row">{escape(words)}</th><td class="value">{value}</td></tr>'
            for words, value in survived(advice)
        ),
        losses="".join(_row(row, advice) for row in rows(advice)),
        change=in_html(changed(advice)),
        steps="".join(_steps(advice)),
        notes="".join(f"<li>{in_html(note)}</li>" for note in notes(advice)),
        edge=escape(EDGE),
    )


def in_html(said: str) -> str:
    """Return a text in HTML. The parts between backticks are code."""
    parts = enumerate(escape(said).split("`"))
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in parts)


def _row(row: Row, advice: Advice) -> str:
    about = "".join(f"<dt>{escape(one.name)}</dt><dd>{in_html(one.loses)}</dd>" for one in row.losses)
    numbers = ", ".join(map(str, row.steps))
    return (
        f'<tr class="{row.level}"><td>{escape(LEVELS[row.level])}</td>'
        f"<td><details><summary><b>{escape(listed(row.names))}</b></summary><dl>{about}</dl></details></td>"
        f"<td>{in_html(row.words)}</td><td>{numbers}</td></tr>\n"
    )


def _steps(advice: Advice) -> Iterable[str]:
    for heading, group in grouped_steps(advice):
        items = "".join(
            f'<li value="{one.number}">{in_html(advice.words(one.step))} '
            f"<small>{escape(purpose(one))}</small></li>"
            for one in group
        )
        yield f'<h3>{escape(heading)}</h3><ol class="actions">{items}</ol>'
