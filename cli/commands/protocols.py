"""`fencepost protocols`: what can be checked."""

from __future__ import annotations

import json

import click

from fencepost.cli.commands.check import find_protocol
from fencepost.cli.rendering.output import emit, form_option, output_option
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.state import show_all
from fencepost.encoding.language.system import Schema
from fencepost.encoding.versions import version

FORMULA = 300
"""Characters of a formula: enough for what it says, where all of it may take pages."""


@click.command()
@click.argument("protocol", required=False, metavar="[PROTOCOL|FILE.py]")
@form_option
@output_option
def command(protocol: str | None, form: str, output: str | None) -> None:
    """List the protocols that can be checked, or describe one.

    For PROTOCOL: its parameters and switches with defaults, its properties, the facts that say why it is safe, its
    actions, where they come from, and what is not modelled.
    """
    if protocol is not None:
        found = find_protocol(protocol)
        emit(json.dumps(_described(found), indent=2) if form == "json" else _text(found), output)
        return
    from fencepost.properties.catalogue import PROTOCOLS

    if form == "json":
        listed = [{"name": p.name, "summary": p.summary} for p in PROTOCOLS.values()]
        text = json.dumps(
            {"schema": "fencepost.protocols/1", "version": version(), "protocols": listed}, indent=2
        )
    else:
        text = "\n".join(f"{p.name}\n    {p.summary}" for p in PROTOCOLS.values())
    emit(text, output)


def _described(protocol: Protocol) -> dict[str, object]:
    system = protocol.instance().system
    return {
        "schema": "fencepost.protocol/2",
        "version": version(),
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
            lines.append(f"      checked on {show_all(own)} unless a parameter is set")
    if system.invariants:
        lines += ["", "Why it is safe: facts that proofs by induction carry along"]
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
