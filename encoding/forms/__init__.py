"""The forms of a counterexample. Each is written by the function of that name, in the module of that name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from fencepost.encoding.forms.counterexample import Counterexample

FORMS: Mapping[str, str] = {
    "itf": ".itf.json",
    "mermaid": ".mmd",
    "html": ".html",
}
"""The forms of one counterexample, by the name that `--format` takes, with the ending of a file.

`text` and `json` take several counterexamples.
"""


def in_form(counterexample: Counterexample, form: str) -> str:
    """Return the counterexample in one of `FORMS`."""
    text: str = getattr(import_module(f"fencepost.encoding.forms.{form}"), form)(counterexample)
    return text
