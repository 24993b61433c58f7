"""Counterexamples in the forms that tell one story each: `--format itf`, `mermaid`, `sequencediagram` and `html`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fencepost.cli.options.grouped import option
from fencepost.cli.rendering.output import FORMATS, emit, form_option_of
from fencepost.encoding.forms import FORMS
from fencepost.encoding.forms.counterexample import Counterexample

counterexample_form_option = form_option_of((*FORMATS, *FORMS))
traces_option = option(
    "--traces", type=click.Path(), metavar="DIR", help="Write each counterexample to a file in this folder."
)


def told(
    stories: Sequence[Counterexample], form: str, output: str | None, more: str
) -> tuple[str | None, str]:
    """Return the first story in that form, or None without one, and a line on what else there is, or none.

    `more` says how to get the others.
    """
    if not stories:
        unwritten = f"; {output} is not written" if output else ""
        return None, f"No counterexample, so there is nothing to show as {form}{unwritten}."
    first, *others = stories
    text = FORMS[form].write(first).rstrip("\n")
    if not others:
        return text, ""
    names = ", ".join(dict.fromkeys(story.trace.property for story in others))
    return (
        text,
        f"Shown: {first.trace.property}, one of {len(stories)} counterexamples; also: {names}. {more}",
    )


def tell(stories: Sequence[Counterexample], form: str, output: str | None, more: str) -> None:
    """Write the first story to stdout or a file, and on stderr what else there is.

    Without a story nothing is written: a file that is there stays as it was.
    """
    text, others = told(stories, form, output, more)
    if text is not None:
        emit(text, output)
    if others:
        click.echo(others, err=True)
