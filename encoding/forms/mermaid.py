"""A counterexample as a sequence diagram of Mermaid, which GitHub and many wikis draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fencepost.encoding.forms.counterexample import Counterexample, identifiers
from fencepost.encoding.forms.script import Arrow, Note, diagram_parts, title

RESERVED = {
    "activate",
    "actor",
    "alt",
    "and",
    "as",
    "autonumber",
    "box",
    "break",
    "create",
    "critical",
    "deactivate",
    "destroy",
    "else",
    "end",
    "link",
    "links",
    "loop",
    "note",
    "opt",
    "option",
    "over",
    "par",
    "par_over",
    "participant",
    "properties",
    "rect",
    "title",
}
"""Words that Mermaid does not accept as a participant."""


def mermaid(counterexample: Counterexample) -> str:
    """Return `w-)b1: …` for a message received, `w-xb1: …` for one lost, `w->>w: …` for other actions."""
    names = identifiers(counterexample.participants, RESERVED)
    lines = ["---", f"title: {_quoted(title(counterexample))}", "---", "sequenceDiagram"]
    lines += [f"    participant {word} as {_text((name,))}" for name, word in names.items()]
    lines += [f"    {_line(part, names)}" for part in diagram_parts(counterexample)]
    return "\n".join(lines) + "\n"


def _line(part: Arrow | Note, names: Mapping[str, str]) -> str:
    match part:
        case Arrow(sender=sender, receiver=receiver, lines=lines):
            return f"{names[sender]}{_head(part)}{names[receiver]}: {_text(lines)}"
        case Note(over=over, lines=lines):
            return f"Note over {','.join(names[name] for name in over)}: {_text(lines)}"


def _head(arrow: Arrow) -> str:
    if arrow.is_lost:
        return "-x"
    return "-)" if arrow.is_message else "->>"


def _text(lines: Iterable[str]) -> str:
    """Return lines as one, with the signs of Mermaid and HTML as entities."""
    entities = {ord(sign): f"#{ord(sign)};" for sign in '#;<>&"'}
    return "<br/>".join(line.translate(entities) for line in lines)


def _quoted(text: str) -> str:
    """Return text as a quoted scalar of YAML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
