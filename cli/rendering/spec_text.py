"""The specification of an instance, as text and as a document (`fencepost export PROTOCOL`)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from fencepost.cli.rendering.check_text import heading
from fencepost.encoding import keys as k
from fencepost.encoding.concrete.saved_traces import SUBJECT
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.forms.action_spec import Spec, SpecAction, SpecDefinition, SpecMessage, spec
from fencepost.encoding.language.protocol import Instance

EACH = k.texts("variables with their values: the item stands for all combinations of them")
CONJUNCT = k.keys(
    position=k.whole("the number of the conjunct in `fencepost weaken`", 1),
    text=k.text("the conjunct; all must hold"),
)
UPDATE = k.keys(
    each=EACH,
    variable=k.text("the state variable"),
    value=k.text("its value after the action, read in the state before it"),
    condition=k.null(k.text("when the update applies"), "if it always applies"),
)
MESSAGE = k.keys(
    each=EACH,
    kind=k.text("the kind of the message"),
    sender=k.text("the participant that sends it"),
    receiver=k.text("the participant that receives it"),
    fields=k.table(str, "the contents by name"),
    condition=k.null(k.text("when it is sent"), "if it always is"),
    loss=k.null(k.text("the choice that says whether it is never delivered"), "if none is named here"),
)
ACTION = k.keys(
    name=k.text("the name, as in traces"),
    parameters=k.table(list, "the index sets of each parameter"),
    meaning=k.text("one sentence"),
    code=k.texts("the methods of the real code that it stands for"),
    actor=k.text("the participant that acts"),
    fault=k.null(k.text("the kind of fault that it is"), "if it is none"),
    guard=k.many(CONJUNCT, "the conjuncts of the guard that constants do not decide"),
    updates=k.many(UPDATE, "the updates; all take effect at once"),
    received=k.null(k.one(MESSAGE, "the message that is received"), "if none is"),
    sent=k.many(MESSAGE, "the messages that are sent"),
)
DEFINITION = k.keys(
    call=k.text("the name and the parameters"),
    meaning=k.text("a phrase"),
    text=k.text("the term that it stands for"),
)
SPEC = k.document(
    "fencepost.spec/1",
    **SUBJECT,
    sets=k.table(list, "the values of each index set"),
    actions=k.many(ACTION, "the actions that may happen, in causal order"),
    definitions=k.many(DEFINITION, "the definitions that the texts name"),
    impossible=k.texts("the actions that never happen, because constants make the guard false"),
)


def spec_document(instance: Instance) -> dict[str, Any]:
    """Return the specification of an instance as a document, under its names and values."""
    return k.headed(SPEC, {**instance.subject.to_json(), **asdict(spec(instance.written))})


def instance_spec(instance: Instance) -> str:
    """Return the specification of an instance as text."""
    return spec_text(spec(instance.written), instance.protocol.name, heading(instance, Limits()))


def spec_text(found: Spec, protocol: str, heading: str) -> str:
    """Return the specification as text, in Markdown. The heading names the instance."""
    sets = (f"- {name}: {', '.join(values)}" for name, values in found.sets.items())
    parts = [f"# Specification of {protocol}", textwrap.indent(heading, "    "), READING]
    parts += ["## Index sets", "\n".join(sets), "## Actions"]
    parts += ["\n".join(_action(action)) for action in found.actions]
    if found.impossible:
        parts.append(f"Never possible in this instance: {', '.join(found.impossible)}.")
    if found.definitions:
        parts.append("## Definitions")
        parts += ["\n".join(_definition(one)) for one in found.definitions]
    return "\n\n".join(parts)


READING = """\
This page is for those who compare the model with the code. It has each action after the switches are folded:
a condition that constants decide is left out, and so is an action that never happens.

- `if [N]` is a conjunct of the guard. All must hold. `fencepost weaken` calls it by the same number.
- `receives` and `sends` are messages. `lost if` names the choice by which a message never arrives.
- `variable := value` is an update. All updates of an action take effect at once. Each value and each
  condition (`when`) is read in the state before the action.
- `name(…)` is a definition, which stands at the end of the page. `name[…]` is a state variable or a constant.
- `code` names the methods that the action stands for.
- Parameters stand for all values of an index set, which has the parameter's name unless `in` says which."""


def _definition(definition: SpecDefinition) -> Iterator[str]:
    yield f"### {definition.call}"
    if definition.meaning:
        yield from ("", definition.meaning)
    yield from ("", _folded(definition.text))


def _action(action: SpecAction) -> Iterator[str]:
    given = (
        name if sets == (name,) else f"{name} in {' or '.join(sets)}"
        for name, sets in action.parameters.items()
    )
    code = ", ".join(f"`{place}`" for place in action.code)
    yield from (f"### {action.name}({', '.join(given)})", "", action.meaning, "")
    yield f"- code: {code or 'none named'}"
    yield f"- actor: {action.actor}" + (f"; fault: {action.fault}" if action.fault else "")
    yield ""
    yield from (_folded(f"if [{c.position}] {c.text}") for c in action.guard)
    if action.received is not None:
        yield _folded(f"receives {_message(action.received)}")
    for update in action.updates:
        yield _folded(f"{_each(update.each)}{update.variable} := {update.value}")
        yield from _when(update.condition)
    for message in action.sent:
        yield _folded(f"sends {_message(message)}")
        yield from _when(message.condition)


def _message(message: SpecMessage) -> str:
    fields = ", ".join(f"{name}={value}" for name, value in message.fields.items())
    loss = f"; lost if {message.loss}" if message.loss else ""
    route = f"{message.kind}({fields}) from {message.sender} to {message.receiver}"
    return f"{_each(message.each)}{route}{loss}"


def _each(each: Sequence[str]) -> str:
    return f"for each {', each '.join(each)}: " if each else ""


def _when(condition: str | None) -> Iterator[str]:
    """Yield the line with the condition of an update or a message, if it has one."""
    if condition is not None:
        yield _folded(f"when {condition}", "        ")


def _folded(text: str, indent: str = "    ") -> str:
    """Return an item on lines of a width that people read, as preformatted text."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


WIDTH = 110
"""The width of a line, if no word is longer."""
