"""A counterexample in the Informal Trace Format of Apalache (ADR 015), for other tools and viewers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.language.record_values import Kind, RecordFamily
from fencepost.encoding.language.sequence_families import SequenceFamily
from fencepost.encoding.language.sets import SetFamily
from fencepost.encoding.language.sorts import Sort, Value
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.traces import Json, plain, shown_family, shown_index
from fencepost.encoding.versions import version

TAKEN = "mbt::actionTaken"
"""The variable in which Quint and readers of its traces expect the action that led to a state."""


def itf(counterexample: Counterexample) -> str:
    """Return each state in full: a family is a map from its index (a tuple for several) to its value."""
    trace, families = counterexample.trace, _families(counterexample)
    states = [_state(counterexample, families, index) for index in range(len(trace.steps) + 1)]
    meta = {
        "format": "ITF",
        "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
        "source": f"fencepost {version()}",
        "description": counterexample.explanation or counterexample.prop.meaning,
        "status": "violation",
        **trace.subject.to_json(),
        "property": trace.property,
        "faults": dict(trace.faults),
        "varTypes": {**{name: _type(group) for name, group in families.items()}, TAKEN: "Str"},
    }
    parts = {"#meta": _dumped(meta), "vars": _dumped([*families, TAKEN]), "states": _listing(states)}
    if trace.loop is not None:
        parts["loop"] = _dumped(trace.loop.begins)
    return "{" + ",\n".join(f"{_dumped(key)}: {part}" for key, part in parts.items()) + "}\n"


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _listing(values: Sequence[object]) -> str:
    """Return a list with each of its values on a line of its own."""
    return "[\n" + ",\n".join(map(_dumped, values)) + "\n]"


def _families(counterexample: Counterexample) -> Mapping[str, list[Variable]]:
    """Return the variables of the trace, by family."""
    families: dict[str, list[Variable]] = {}
    for variable in counterexample.places.values():
        families.setdefault(shown_family(variable.family), []).append(variable)
    return families


def _state(
    counterexample: Counterexample, families: Mapping[str, Sequence[Variable]], index: int
) -> dict[str, object]:
    step = counterexample.trace.steps[index - 1] if index else None
    meta: dict[str, object] = {"index": index}
    if step is not None:
        meta |= {"action": step.action, "arguments": dict(step.arguments), "actor": step.actor}
    values = {name: _family(counterexample, group, index) for name, group in families.items()}
    return {"#meta": meta, **values, TAKEN: step.action if step is not None else "init"}


def _family(counterexample: Counterexample, group: Sequence[Variable], index: int) -> object:
    if not shown_index(group[0].family, group[0].index):
        return _of(counterexample, group[0], index)
    return {"#map": [[_tuple(shown_index(v.family, v.index)), _of(counterexample, v, index)] for v in group]}


def _of(counterexample: Counterexample, variable: Variable, index: int) -> object:
    """Return a value of a state; a set is a `#set`, a sequence a list."""
    whole = variable.family.whole
    shown = counterexample.shown_value(variable, index)
    if whole is None:
        return _value(shown)
    return _composed(whole.plain(str(shown)))


def _composed(found: Any) -> object:
    """Return a set, a sequence or a record; other values as they are."""
    match found:
        case frozenset():
            return {"#set": sorted(map(_composed, found), key=str)}
        case tuple():
            return list(map(_composed, found))
        case dict():
            return {name: _composed(value) for name, value in found.items()}
    return _value(plain(found))


def _tuple(index: Sequence[Value]) -> object:
    values = [_value(plain(value)) for value in index]
    return values[0] if len(values) == 1 else {"#tup": values}


def _value(value: Json) -> object:
    """Return a value of a state; every integer is a `#bigint`, however small."""
    return {"#bigint": str(value)} if type(value) is int else value


def _type(group: Sequence[Variable]) -> str:
    """Return the type of a family as Apalache writes it: `<<Str, Int>> -> Bool`."""
    first = group[0]
    whole, shown = first.family.whole, shown_index(first.family, first.index)
    domain = _item(first.domain)
    if isinstance(whole, SetFamily):
        domain = f"Set({_item(whole.of)})"
    if isinstance(whole, RecordFamily):
        domain = _item(whole.kind)
    if isinstance(whole, SequenceFamily):
        domain = f"Seq({_item(whole.kind.of)})"
    if not shown:
        return domain
    kinds = [_kind(value) for value in shown]
    key = kinds[0] if len(kinds) == 1 else f"<<{', '.join(kinds)}>>"
    return f"{key} -> {domain}"


def _item(of: Kind) -> str:
    if isinstance(of, Sort):
        return _kind(of.values[0])
    return f"{{ {', '.join(f'{name}: {_item(sort)}' for name, sort in of.fields)} }}"


def _kind(value: Value) -> str:
    shown = plain(value)
    return "Bool" if isinstance(shown, bool) else "Int" if isinstance(shown, int) else "Str"
