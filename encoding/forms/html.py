"""A counterexample as one self-contained page: the diagram, and the state after each step.

The page opens at the last step, where the property is violated.
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
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.traces import Json, TraceStep, shown_family, shown_index
from fencepost.encoding.versions import version


def html(counterexample: Counterexample) -> str:
    """Return the page, which loads nothing. The same counterexample always gives the same page."""
    trace = counterexample.trace
    used = {name: value for name, value in trace.parameters.items() if value}
    changed = {f"switch {name}": value for name, value in counterexample.changed_switches.items()}
    caps: dict[str, Json] = {
        f"at most: {name}": number for name, number in counterexample.system.caps.items()
    }
    caps |= {"constraint": counterexample.system.within} if counterexample.system.within else {}
    return Template(part("page.html")).substitute(
        version=escape(version()),
        title=escape(counterexample.title),
        style=f"{style()}\n{part('page.css').rstrip()}",
        script=f'"use strict";\n{script()}\n{part("page.js").rstrip()}',
        property=escape(trace.property),
        protocol=escape(trace.protocol),
        sentence=_with_links(counterexample.explanation or f"Violated: {counterexample.prop.meaning}."),
        values=_with_links(counterexample.false_because.sentence),
        meaning=escape(counterexample.prop.meaning),
        verdict=escape(counterexample.verdict),
        instance=terms(used, ()) + terms(changed, changed),
        settings=terms(trace.parameters, ())
        + terms(caps, ())
        + terms(trace.switches, counterexample.changed_switches),
        steps=str(len(trace.steps)),
        diagram=diagram(counterexample),
        counterexample=_data(counterexample),
    )


def _with_links(sentence: str) -> str:
    """Return the sentence with each step that it names as a link."""
    return re.sub(r"\bstep (\d+)", r'<a href="#step=\1">step \1</a>', escape(sentence))


def terms(values: Mapping[str, Json], changed: Collection[str]) -> str:
    """Return settings as entries of a list of definitions; those in `changed` are marked."""
    return "".join(
        f'<div class="{"changed" if name in changed else "usual"}">'
        f"<dt>{escape(name)}</dt><dd>{escape(show(value))}</dd></div>"
        for name, value in values.items()
    )


def _data(counterexample: Counterexample) -> str:
    """Return the data of the page's script, as JSON that cannot close the element that holds it."""
    initial = {name: show(counterexample.shown_value(v, 0)) for name, v in counterexample.places.items()}
    read_by_property = read_by(counterexample.prop)
    families: dict[str, list[dict[str, str]]] = {}
    for name, v in counterexample.places.items():
        families.setdefault(shown_family(v.family), []).append(
            {"name": name, "index": ", ".join(map(show, shown_index(v.family, v.index)))}
        )
    ordered = sorted(families, key=lambda name: name not in counterexample.noted_families)
    document = {
        "property": counterexample.trace.property,
        "initial": initial,
        "families": [
            {
                "name": name,
                "noted": name in counterexample.noted_families,
                "in_property": name in read_by_property,
                "variables": families[name],
            }
            for name in ordered
        ],
        "steps": [_step(counterexample, step) for step in counterexample.trace.steps],
    }
    return json.dumps(document, ensure_ascii=False).replace("<", "\\u003c")


def _step(counterexample: Counterexample, step: TraceStep) -> dict[str, object]:
    travel = counterexample.arrivals.get(step.index)
    late = travel is not None and counterexample.is_late(travel)
    meanings = {schema.name: schema.meaning for schema in counterexample.system.schemas}
    observed = counterexample.observations.get(step.index)
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
        **({"observations": list(observed)} if observed else {}),
    }
