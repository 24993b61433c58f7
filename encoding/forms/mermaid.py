"""A story as a sequence diagram of Mermaid, which GitHub and many wikis draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fencepost.encoding.forms.counterexample import Counterexample, spelled
from fencepost.encoding.forms.script import Arrow, Note, script, title

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
"""Words that Mermaid would not take for a participant."""


def mermaid(story: Counterexample) -> str:
    """`w-)b1: …` where a message is received, `w-xb1: …` where one is lost, `w->>w: …` for a step of one's own."""
    names = spelled(story.participants, RESERVED)
    lines = ["---", f"title: {_quoted(title(story))}", "---", "sequenceDiagram"]
    lines += [f"    participant {word} as {_text((name,))}" for name, word in names.items()]
    lines += [f"    {_line(part, names)}" for part in script(story)]
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
    """Lines in one line; what Mermaid would take for its own or for HTML is written as an entity."""
    entities = {ord(sign): f"#{ord(sign)};" for sign in '#;<>&"'}
    return "<br/>".join(line.translate(entities) for line in lines)


def _quoted(text: str) -> str:
    """Text as YAML has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
