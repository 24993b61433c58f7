"""`fencepost protocols`: what can be checked."""

from __future__ import annotations

import json

from fencepost.cli.options.grouped import grouped_command
from fencepost.cli.options.protocols import find_protocol, optional_protocol_argument
from fencepost.cli.rendering.output import emit, form_option, output_option
from fencepost.encoding import keys as k
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.state import show_all
from fencepost.encoding.language.system import Schema

FORMULA = 300
"""Characters of a formula: enough for what it says, where all of it may take pages."""


@grouped_command(example="fencepost protocols bookkeeper-4.13")
@optional_protocol_argument
@form_option
@output_option
def command(protocol: str | None, form: str, output: str | None) -> None:
    """List the protocols that can be checked, or describe one.

    A description has the parameters and switches with their defaults, the properties, the invariants that
    proofs use, the actions, the sources, and what is not modelled.
    """
    if protocol is not None:
        found = find_protocol(protocol)
        emit(json.dumps(_described(found), indent=2) if form == "json" else _text(found), output)
        return
    from fencepost.properties.catalogue import PROTOCOLS

    if form == "json":
        listed = [{"name": p.name, "summary": p.summary} for p in PROTOCOLS.values()]
        text = json.dumps(k.headed(PROTOCOL_LIST, {"protocols": listed}), indent=2)
    else:
        text = "\n".join(f"{p.name}\n    {p.summary}" for p in PROTOCOLS.values())
    emit(text, output)


LISTED = k.keys(name=k.text("the name for check"), summary=k.text("one sentence"))
PROTOCOL_LIST = k.document("fencepost.protocols/1", protocols=k.many(LISTED, "the protocols that ship"))
PARAMETER = k.keys(
    name=k.text("the name for --set"),
    default=k.ruled(int, "its value in this protocol"),
    meaning=k.text("a phrase"),
)
SWITCH = k.keys(
    name=k.text("the name for --set"),
    default=k.text("its value in this protocol"),
    values=k.texts("all values; the first is the default of the family"),
    meaning=k.text("a phrase"),
    source=k.text("where the variants come from"),
)
PROPERTY = k.keys(
    name=k.text("the name for --property"),
    meaning=k.text("what must hold in every reachable state"),
    witness=k.text("the situation that must be reachable for a check to mean anything"),
    exercised=k.table(
        k.PLAIN, "the sizes on which it is checked if the instance asked for does not exercise it"
    ),
)
INVARIANT = k.keys(
    name=k.text("the name, as in a result that rests on it"),
    meaning=k.text("what is true of every reachable state"),
    formula=k.text("the same as a formula"),
)
ACTION = k.keys(name=k.text("the name, as in traces"), meaning=k.text("one sentence"))
PROTOCOL = k.document(
    "fencepost.protocol/2",
    name=k.text("the name of the protocol"),
    summary=k.text("one sentence"),
    parameters=k.many(PARAMETER, "the parameters"),
    switches=k.many(SWITCH, "the switches"),
    properties=k.many(PROPERTY, "the properties"),
    invariants=k.many(INVARIANT, "the invariants that proofs by induction carry along"),
    actions=k.many(ACTION, "the actions in the order of their slots"),
    sources=k.texts("what the model was made from"),
    not_modelled=k.texts("what the model leaves out"),
    unmodelled=k.UNMODELLED,
)


def _described(protocol: Protocol) -> dict[str, object]:
    system = protocol.instance().system
    content = {
        "name": protocol.name,
        "summary": protocol.summary,
        "parameters": [
            {"name": o.name, "default": o.default, "meaning": o.meaning}
            for o in protocol.options()
            if not o.values
        ],
        "switches": [
            {
                "name": o.name,
                "default": o.default,
                "values": list(o.values),
                "meaning": o.meaning,
                "source": o.source,
            }
            for o in protocol.options()
            if o.values
        ],
        "properties": [
            {
                "name": p.name,
                "meaning": p.meaning,
                "witness": p.witness_meaning,
                "exercised": dict(protocol.exercised.get(p.name, {})),
            }
            for p in system.properties
        ],
        "invariants": [
            {"name": i.name, "meaning": i.meaning, "formula": line(i.holds, FORMULA)}
            for i in system.invariants
        ],
        "actions": [{"name": s.name, "meaning": s.meaning} for s in _once(system.schemas)],
        "sources": list(protocol.sources),
        "not_modelled": list(protocol.not_modelled),
        "unmodelled": protocol.unmodelled,
    }
    return k.headed(PROTOCOL, content)


def _text(protocol: Protocol) -> str:
    system = protocol.instance().system
    lines = [f"{protocol.name}: {protocol.summary}", "", "Parameters (--set NAME=VALUE)"]
    lines += [f"  {o.name}={o.default}  {o.meaning}" for o in protocol.options() if not o.values]
    switches = [o for o in protocol.options() if o.values]
    if switches:
        lines += ["", "Switches (--set NAME=VALUE; the value in force here first)"]
    for option in switches:
        others = [v for v in option.values if v != option.default]
        lines += [f"  {option.name}={option.default} | {' | '.join(others)}"]
        lines += [f"      {option.meaning} ({option.source})"]
    lines += ["", "Properties (--property NAME)"]
    for prop in system.properties:
        lines += [f"  {prop.name}: {prop.meaning}", f"      witness: {prop.witness_meaning}"]
        if own := protocol.exercised.get(prop.name):
            lines.append(f"      checked on {show_all(own)} if the instance asked for never reaches this")
    if system.invariants:
        lines += ["", "Why it is safe: the invariants of its proofs by induction"]
        for invariant in system.invariants:
            lines += [f"  {invariant.name}: {invariant.meaning}", f"      {line(invariant.holds, FORMULA)}"]
    lines += ["", "Actions, in causal order"]
    lines += [f"  {schema.name}: {schema.meaning}" for schema in _once(system.schemas)]
    for title, texts in (("Sources", protocol.sources), ("Not modelled", protocol.not_modelled)):
        if texts:
            lines += ["", title, *(f"  {text}" for text in texts)]
    return "\n".join(lines)


def _once(schemas: tuple[Schema, ...]) -> list[Schema]:
    """One schema of each name: the writer's adds and a recoverer's have one text."""
    return list({schema.name: schema for schema in schemas}.values())
