"""Counterexamples in the forms that hold one: `--format itf`, `mermaid` and `html`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fencepost.cli.options.grouped import OUTPUT, option
from fencepost.cli.rendering.output import FORMATS, emit, form_option_of
from fencepost.encoding.forms import FORMS, in_form
from fencepost.encoding.forms.counterexample import Counterexample

counterexample_form_option = form_option_of((*FORMATS, *FORMS))
traces_option = option("--traces DIR", "Write each counterexample to a file in this folder.", OUTPUT)


def formatted(
    counterexamples: Sequence[Counterexample], form: str, output: str | None, more: str
) -> tuple[str | None, str]:
    """Return the first counterexample in that form or None, and a line about the others.

    `more` says how to get the others.
    """
    if not counterexamples:
        unwritten = f"; {output} is not written" if output else ""
        return None, f"No counterexample, so there is nothing to show as {form}{unwritten}."
    first, *others = counterexamples
    text = in_form(first, form).rstrip("\n")
    if not others:
        return text, ""
    names = ", ".join(dict.fromkeys(counterexample.trace.property for counterexample in others))
    shown = f"Shown: {first.trace.property}, one of {len(counterexamples)} counterexamples"
    return text, f"{shown}; also: {names}. {more}"


def write_first(counterexamples: Sequence[Counterexample], form: str, output: str | None, more: str) -> None:
    """Write the first counterexample to stdout or a file, and a line about the others to stderr.

    Without a counterexample nothing is written, and an existing file stays as it is.
    """
    text, others = formatted(counterexamples, form, output, more)
    if text is not None:
        emit(text, output)
    if others:
        click.echo(others, err=True)
