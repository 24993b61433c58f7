"""A story in the syntax of sequencediagram.org, in which the published BookKeeper diagrams are written."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fencepost.encoding.forms.counterexample import Counterexample, spelled
from fencepost.encoding.forms.script import Arrow, Note, script, title


def sequencediagram(story: Counterexample) -> str:
    """`w->b1: …` where a message is received, `w--xb1: …` where one is lost, `note over …` for what changes."""
    names = spelled(story.participants)
    lines = [f"title {_text((title(story),))}", ""]
    lines += [f"participant {name}" for name in names.values()]
    lines.append("")
    lines += [_line(part, names) for part in script(story)]
    return "\n".join(lines) + "\n"


def _line(part: Arrow | Note, names: Mapping[str, str]) -> str:
    match part:
        case Arrow(sender=sender, receiver=receiver, lines=lines, is_lost=is_lost):
            return f"{names[sender]}{'--x' if is_lost else '->'}{names[receiver]}: {_text(lines)}"
        case Note(over=over, lines=lines):
            return f"note over {','.join(names[name] for name in over)}: {_text(lines)}"


def _text(lines: tuple[str, ...]) -> str:
    r"""Lines in one line, with `\n` between them; signs that are doubled for bold or struck text get a `\` between."""
    return r"\n".join(re.sub(r"([*/+~-])(?=\1)", r"\1\\", line.replace("\\", "\\\\")) for line in lines)
