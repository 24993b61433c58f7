"""The forms in which a counterexample can be told, each a function from a story to text."""

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
    """How a story is written, and how the file it is written to ends."""

    write: Callable[[Counterexample], str]
    ending: str


FORMS: Mapping[str, Form] = {
    "itf": Form(itf, ".itf.json"),
    "mermaid": Form(mermaid, ".mmd"),
    "sequencediagram": Form(sequencediagram, ".sequencediagram.txt"),
    "html": Form(html, ".html"),
}
"""By the name that `--format` takes; each tells one story. The forms `text` and `json` tell any number."""
