"""A counterexample in the syntax of sequencediagram.org, as the published BookKeeper diagrams are."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fencepost.encoding.forms.counterexample import Counterexample, identifiers
from fencepost.encoding.forms.script import Arrow, Note, diagram_parts, title


def sequencediagram(counterexample: Counterexample) -> str:
    """Return `w->b1: …` for a message received, `w--xb1: …` for one lost, `note over …` for changes."""
    names = identifiers(counterexample.participants)
    lines = [f"title {_text((title(counterexample),))}", ""]
    lines += [f"participant {name}" for name in names.values()]
    lines.append("")
    lines += [_line(part, names) for part in diagram_parts(counterexample)]
    return "\n".join(lines) + "\n"


def _line(part: Arrow | Note, names: Mapping[str, str]) -> str:
    match part:
        case Arrow(sender=sender, receiver=receiver, lines=lines, is_lost=is_lost):
            return f"{names[sender]}{'--x' if is_lost else '->'}{names[receiver]}: {_text(lines)}"
        case Note(over=over, lines=lines):
            return f"note over {','.join(names[name] for name in over)}: {_text(lines)}"


def _text(lines: tuple[str, ...]) -> str:
    r"""Return lines as one, joined by `\n`; doubled signs of its markup get a `\` between."""
    return r"\n".join(re.sub(r"([*/+~-])(?=\1)", r"\1\\", line.replace("\\", "\\\\")) for line in lines)
