"""The forms in which a counterexample can be written, each a function from a `Counterexample` to text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.forms.html import html
from fencepost.encoding.forms.itf import itf
from fencepost.encoding.forms.mermaid import mermaid
from fencepost.encoding.forms.sequencediagram import sequencediagram


@dataclass(frozen=True)
class Form:
    """The function that writes a counterexample in a form, and the ending of its file."""

    write: Callable[[Counterexample], str]
    ending: str


FORMS: Mapping[str, Form] = {
    "itf": Form(itf, ".itf.json"),
    "mermaid": Form(mermaid, ".mmd"),
    "sequencediagram": Form(sequencediagram, ".sequencediagram.txt"),
    "html": Form(html, ".html"),
}
"""The forms of one counterexample, by the name that `--format` takes; `text` and `json` take several."""
