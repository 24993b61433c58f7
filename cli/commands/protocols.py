"""`fencepost protocols`: what can be checked."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.cli.options.completion import protocol_names
from fencepost.cli.options.grouped import argument, grouped_command
from fencepost.cli.options.protocols import find_protocol
from fencepost.cli.rendering.output import ResultOptions
from fencepost.encoding import keys as k
from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.state import show_all
from fencepost.properties.catalogue import FAMILIES, find

FORMULA = 300
"""Characters of a formula: enough for what it says, where all of it may take pages."""


class ProtocolsOptions(ResultOptions):
    """The options of `fencepost protocols`."""

    protocol: str | None = argument("[PROTOCOL|FILE.py]", required=False, shell_complete=protocol_names)


@grouped_command(example="fencepost protocols bookkeeper")
def command(asked: ProtocolsOptions) -> None:
    """List the protocols that can be checked, or describe one.

    A description has the parameters and switches with their defaults, the properties, the invariants that
    proofs use, the actions, the sources, and what is not modelled. `fencepost export` writes the actions
    themselves.
    """
    if asked.protocol is not None:
        asked.show(find_protocol(asked.protocol), _text, _described)
    else:
        asked.show([find(name) for name in FAMILIES], _listed_text, _listed)


def _listed_text(protocols: Sequence[Protocol]) -> str:
    return "\n".join(f"{p.name}\n    {p.summary}" for p in protocols)


def _listed(protocols: Sequence[Protocol]) -> dict[str, object]:
    return k.headed(PROTOCOL_LIST, {"protocols": [k.from_record(LISTED, p) for p in protocols]})


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
    meaning=k.text("what must hold in every reachable state, or come about in the end"),
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
    system, options = protocol.instance().system, protocol.options()
    return k.from_record(
        PROTOCOL,
        protocol,
        parameters=[option for option in options if not option.values],
        switches=[option for option in options if option.values],
        properties=[
            k.from_record(
                PROPERTY, p, witness=p.witness_meaning, exercised=protocol.exercised.get(p.name, {})
            )
            for p in (*system.properties, *system.liveness)
        ],
        invariants=[k.from_record(INVARIANT, i, formula=line(i.holds, FORMULA)) for i in system.invariants],
        actions=_once(system.schemas),
        unmodelled=protocol.left_out(protocol.defaults),
    )


def _text(protocol: Protocol) -> str:
    system = protocol.instance().system
    lines = [f"{protocol.name}: {protocol.summary}", "", "Parameters (--set NAME=VALUE)"]
    lines += [f"  {o.name}={o.default}  {o.meaning}" for o in protocol.options() if not o.values]
    switches = [o for o in protocol.options() if o.values]
    if switches:
        lines += ["", "Switches (--set NAME=VALUE; the value in force here first)"]
    for switch in switches:
        others = [v for v in switch.values if v != switch.default]
        lines += [f"  {switch.name}={switch.default} | {' | '.join(others)}"]
        lines += [f"      {switch.meaning} ({switch.source})"]
    lines += ["", "Properties (--property NAME)"]
    for prop in (*system.properties, *system.liveness):
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
