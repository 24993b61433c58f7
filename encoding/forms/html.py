"""A story as one page that needs nothing else: the diagram, and the state after each step.

It opens at the last step, where the property is violated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from html import escape
from string import Template

from fencepost.encoding.forms.counterexample import (
    Counterexample,
    action_line,
    gathered,
    message_line,
    read_by,
)
from fencepost.encoding.forms.diagram import diagram, part, script, style
from fencepost.encoding.forms.script import title
from fencepost.encoding.language.state import show
from fencepost.encoding.language.traces import Json, TraceStep
from fencepost.encoding.versions import version


def html(story: Counterexample) -> str:
    """The page; it is the same for the same story, and loads nothing."""
    trace = story.trace
    used = {name: value for name, value in trace.parameters.items() if value}
    changed = {f"switch {name}": value for name, value in story.changed_switches.items()}
    caps = {f"at most: {name}": number for name, number in story.system.caps.items()}
    return Template(part("page.html")).substitute(
        version=escape(version()),
        title=escape(title(story)),
        style=f"{style()}\n{part('page.css').rstrip()}",
        script=f'"use strict";\n{script()}\n{part("page.js").rstrip()}',
        property=escape(trace.property),
        protocol=escape(trace.protocol),
        sentence=_with_links(story.explanation or f"Violated: {story.prop.meaning}."),
        meaning=escape(story.prop.meaning),
        verdict=escape(story.verdict),
        instance=_terms(used, ()) + _terms(changed, changed),
        settings=_terms(trace.parameters, ())
        + _terms(caps, ())
        + _terms(trace.switches, story.changed_switches),
        steps=str(len(trace.steps)),
        diagram=diagram(story),
        story=_data(story),
    )


def _with_links(sentence: str) -> str:
    """The sentence, with each step it names as a link to that step."""
    return re.sub(r"\bstep (\d+)", r'<a href="#step=\1">step \1</a>', escape(sentence))


def _terms(values: Mapping[str, Json], changed: Collection[str]) -> str:
    return "".join(
        f'<div class="{"changed" if name in changed else "usual"}">'
        f"<dt>{escape(name)}</dt><dd>{escape(show(value))}</dd></div>"
        for name, value in values.items()
    )


def _data(story: Counterexample) -> str:
    """What the page's script reads, as JSON in which nothing can end the element that holds it."""
    initial = {v.name: show(story.value(v, 0)) for v in story.shown}
    at_stake = read_by(story.prop)
    families: dict[str, list[dict[str, str]]] = {}
    for v in story.shown:
        families.setdefault(v.family.name, []).append(
            {"name": v.name, "index": ", ".join(map(show, v.index))}
        )
    ordered = sorted(families, key=lambda name: name not in story.telling)
    document = {
        "property": story.trace.property,
        "initial": initial,
        "families": [
            {
                "name": name,
                "tells": name in story.telling,
                "at_stake": name in at_stake,
                "variables": families[name],
            }
            for name in ordered
        ],
        "steps": [_step(story, step) for step in story.trace.steps],
    }
    return json.dumps(document, ensure_ascii=False).replace("<", "\\u003c")


def _step(story: Counterexample, step: TraceStep) -> dict[str, object]:
    travel = story.arrivals.get(step.index)
    late = travel is not None and story.is_late(travel)
    meanings = {schema.name: schema.meaning for schema in story.system.schemas}
    kept = [m for m in step.sent if not m.lost]
    return {
        "actor": show(step.actor),
        "action": action_line(step),
        "meaning": meanings[step.action],
        "received": None
        if travel is None
        else f"← {message_line(travel.message)} from {travel.sender}, sent in step {travel.sent}"
        + (", late: overtaken by a message sent after it" if late else ""),
        "late": late,
        "sent": [f"→ {text} to {', '.join(to)}" for text, to in gathered(kept).items()],
        "lost": [f"✕ {message_line(m)} to {show(m.receiver)} is lost" for m in step.sent if m.lost],
        "changes": {name: show(value) for name, value in step.changes.items()},
        **({"beside": list(story.beside[step.index])} if step.index in story.beside else {}),
    }
