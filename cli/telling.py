"""Counterexamples in the forms that tell one story each: `--format itf`, `mermaid`, `sequencediagram` and `html`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fencepost.cli.output import FORMATS, emit, form_option_of
from fencepost.encoding.forms import FORMS
from fencepost.encoding.forms.story import Story

story_form_option = form_option_of((*FORMATS, *FORMS))


def tell(stories: Sequence[Story], form: str, output: str | None, more: str) -> None:
    """Write the first story to stdout or a file, and on stderr what else there is.

    `more` says how to get the others. Without a story nothing is written: a file that is there stays as it was.
    """
    if not stories:
        unwritten = f"; {output} is not written" if output else ""
        click.echo(f"No counterexample, so there is nothing to show as {form}{unwritten}.", err=True)
        return
    first, *others = stories
    emit(FORMS[form].write(first).rstrip("\n"), output)
    if others:
        names = ", ".join(dict.fromkeys(story.trace.property for story in others))
        click.echo(
            f"Shown: {first.trace.property}, one of {len(stories)} counterexamples; also: {names}. {more}",
            err=True,
        )
