"""Mutants: a system with one change of the author's text.

A change is of one conjunct, update, `when=`, comparison, constant, quantifier or field of a message, or of
`fair=` if the system has properties of liveness. All that one expression of the author makes, in a loop too,
is changed together. Inner expressions are changed only if origins were recorded (`language/origins.py`),
because only these say which terms the author wrote.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import is_
from pathlib import PurePath
from textwrap import shorten
from typing import Any, TypeAlias, TypeVar

from fencepost.encoding.language.actions import Action, Schema
from fencepost.encoding.language.actions import changed as each_changed
from fencepost.encoding.language.conditional_terms import UNDEFINED
from fencepost.encoding.language.fold import Folding, is_false
from fencepost.encoding.language.origins import Origin
from fencepost.encoding.language.patterns import flattened, mapped, same, subterms
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.step_properties import judged
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    AtLeast,
    Constant,
    Less,
    Not,
    Quantified,
    Term,
    Update,
    all_of,
    lift,
)

PARTS = ("conjunct", "update", "when", "comparison", "constant", "quantifier", "field", "fairness")
_ORDERS = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
_OTHER = {"forall": "exists", "exists": "forall"}
Wording: TypeAlias = tuple[str, ...]
_Item = TypeVar("_Item", Term, Update)


@dataclass(frozen=True)
class Mutant:
    """A change of one part of an action. Its position is the same in every instance with as many parts."""

    action: str
    part: str
    position: int
    of: int
    text: str
    """The part as its author wrote it; as Fencepost prints it if no origin is known."""
    change: str
    """The change: `left out`, `skipped`, `always applies`, `< becomes <=`."""
    place: str
    """The file and the line of the text; empty if they are not known."""
    schema: Schema = field(compare=False, repr=False)
    """The changed action."""

    @property
    def wording(self) -> Wording:
        """The change in the author's words, which are the same at every size."""
        return self.action, self.part, self.text, self.change, self.place

    def __str__(self) -> str:
        """Return the action, the part and its position."""
        return f"{self.action}, {self.part} {self.position} of {self.of}"


def exchanged(system: System, old: Schema, new: Schema) -> System:
    """Return the system with the new action in place of the old one."""
    actions = (each_changed(item, lambda s: new if s is old else s) for item in system.actions)
    return replace(system, actions=tuple(actions))


def named_actions(system: System) -> Mapping[str, Schema]:
    """Return the actions by unique names; those with the same name get the index sets that differ."""
    named: dict[str, Schema] = {}
    for schema in system.schemas:
        name, twins = schema.name, [s.parameters for s in system.schemas if s.name == schema.name]
        if len(twins) > 1:
            telling = (
                parameter.sort.name
                for n, parameter in enumerate(schema.parameters)
                if any(n < len(other) and other[n].sort != parameter.sort for other in twins)
            )
            name += f" ({', '.join(telling)})"
        while name in named:
            name += "'"
        named[name] = schema
    return named


_Changes: TypeAlias = Iterator[tuple[str, "Term | Update | str", str, Schema]]
"""Changes of an action: the part, the item that is changed or its text, the change, the changed action."""


def mutants(system: System) -> list[Mutant]:
    """Return all mutants of a system as its author wrote it, in the order of the actions."""
    found = []
    for name, schema in named_actions(system).items():
        guard = [id(conjunct) for conjunct in flattened(lift(schema.unjudged.action.when))]
        changes = [*_changes(schema.unjudged), *(_less_fair(schema) if system.liveness else ())]
        for part in PARTS:
            own = [change for change in changes if change[0] == part]
            places = guard if part == "conjunct" else [id(item) for _, item, _, _ in own]
            for number, (_, item, change, made) in enumerate(own):
                position = places.index(id(item)) if part == "conjunct" else number
                text, place = _wording(item)
                new = judged(system, made)
                found.append(Mutant(name, part, position + 1, len(places), text, change, place, new))
    return found


def _less_fair(schema: Schema) -> _Changes:
    """Yield the action weakly fair in place of strongly, or not fair in place of weakly.

    All actions of a group have the same strength, so an action of a group is taken out of it.
    """
    if schema.fair is not None:
        is_strong = schema.fair.startswith("strong") and " of " not in schema.fair
        less = schema.fair.replace("strong", "weak", 1) if is_strong else None
        change = "strong becomes weak" if is_strong else "left out"
        yield "fairness", f'fair="{schema.fair}"', change, replace(schema.unjudged, fair=less)


def changed(system: System, mutant: Mutant) -> System:
    """Return the system with that change."""
    return exchanged(system, named_actions(system)[mutant.action], mutant.schema)


def is_idle(folding: Folding, old: Schema, mutant: Mutant) -> bool:
    """Return whether constants alone say that the change has no effect."""
    before, after = folding.action(old.action), folding.action(mutant.schema.action)
    one, two = ([a.when, *(t for u in a.then for t in (u.target, u.value, u.when))] for a in (before, after))
    is_same = before.when is FALSE is after.when or (len(one) == len(two) and all(map(same, one, two)))
    return is_same and keeps_constants(folding, mutant)


def keeps_constants(folding: Folding, mutant: Mutant) -> bool:
    """Return whether the constants of the unchanged system are constants of the mutant.

    If not, the other actions of the mutant are not those of the folded system.
    """
    action = mutant.schema.action
    return is_false(folding.term(lift(action.when))) or not any(
        folding.changes(u) or not folding.is_well_defined(u, action)
        for u in action.then
        if u.target.family in folding.constants
    )


def _wording(item: Term | Update | str) -> tuple[str, str]:
    """Return the text of a part, and its file and line."""
    if isinstance(item, str):
        return item, ""
    origin = item.origin
    place = "" if origin is None else f"{PurePath(origin.file).name}:{origin.line}"
    if origin is not None and origin.text:
        return origin.text, place
    if isinstance(item, Term):
        return line(item), place
    condition = "" if same(item.when, TRUE) else f" if {line(item.when, 60)}"
    return f"{line(item.target, 60)} := {line(item.value, 60)}{condition}", place


def _groups(items: Iterable[_Item], calls: int | None = None) -> Iterator[dict[int, _Item]]:
    """Yield the items that an author's expression made, by identity, in order; calls beyond do not count.

    The room in a queue, or an undefined step, comes with a message: nobody wrote it.
    """
    found: dict[Hashable, dict[int, _Item]] = {}
    for item in items:
        origin = item.origin
        found.setdefault(id(item) if origin is None else origin.way[:calls], {})[id(item)] = item
    for group in found.values():
        origin = next(iter(group.values())).origin
        is_of_message = origin is not None and origin.text.startswith("Action(")
        undefined = (isinstance(item, Update) and item.target.family is UNDEFINED for item in group.values())
        if not is_of_message and not all(undefined):
            yield group


def _changes(schema: Schema) -> _Changes:
    """Yield the changes of the guard and of the updates of an action."""
    action = schema.action
    parts = flattened(lift(action.when))
    for group in _groups(parts):
        rest = all_of(*(part for part in parts if id(part) not in group))
        yield "conjunct", _first(group), "left out", replace(schema, action=replace(action, when=rest))
    for updates in _groups(action.then):
        for part, change, of_update in _of_statement([*updates.values()]):
            made = (of_update(u) if id(u) in updates else u for u in action.then)
            then = tuple(update for update in made if update is not None)
            yield part, _first(updates), change, replace(schema, action=replace(action, then=then))
    roots = [lift(action.when), *(t for u in action.then for t in (*u.target.index, u.value, u.when))]
    for terms in _groups((term for term in subterms(*roots) if term.origin is not None), 1):
        for part, change, of_term in _of_expression([*terms.values()]):
            new = _rewritten(action, terms, of_term)
            yield part, _first(terms), change, replace(schema, action=new)


def _first(group: Mapping[int, _Item]) -> _Item:
    return next(iter(group.values()))


def _of_statement(group: Sequence[Update]) -> Iterator[tuple[str, str, Callable[[Update], Update | None]]]:
    """Yield the changes of one update as written: without it, its `when=`, its value, the fields it sends."""
    yield "update", "skipped", lambda u: None
    call, value = _parsed(group[0].origin), group[0].value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    is_sent, arguments = call.func.attr == "send", call.args[:1]
    if not is_sent and any(k.arg == "when" for k in call.keywords):
        yield "when", "always applies", lambda u: replace(u, when=TRUE)
    is_plain = arguments and all(isinstance(a, ast.Constant | ast.Attribute) for a in arguments)
    if call.func.attr == "set" and is_plain and isinstance(value, Constant) and value.type != "bool":
        values = group[0].target.family.domain.values
        if value.value in values and len(values) > 1:
            other = values[(values.index(value.value) + 1) % len(values)]
            constant, change = Constant(value.type, other), f"becomes {getattr(other, 'value', other)}"
            yield "constant", change, lambda u: replace(u, value=constant)
    for keyword in call.keywords if is_sent else []:
        sent = {id(u) for u in group if u.target.family.name.endswith(f"_{keyword.arg}")}
        if 0 < len(sent) < len(group):
            yield "field", f"{keyword.arg} left out", partial(_unless_among, sent)


def _unless_among(sent: Collection[int], update: Update) -> Update | None:
    return None if id(update) in sent else update


_Rewriting: TypeAlias = Callable[[Term], Term]


def _of_expression(terms: Sequence[Term]) -> Iterator[tuple[str, str, _Rewriting]]:
    """Yield the changes of one expression: its order, its quantifier, the whole numbers directly in it."""
    tree, found = _parsed(terms[0].origin), list[tuple[str, str, _Rewriting]]()
    name, numbers = "", set[int]()
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in _ORDERS:
        found.append(("comparison", "{} becomes {}".format(*_ORDERS[type(tree.ops[0])]), _other_bound))
    if isinstance(tree, ast.Call):
        name = getattr(tree.func, "id", "").removesuffix("_over")
    if name in _OTHER:
        found.append(("quantifier", f"{name} becomes {_OTHER[name]}", partial(_other_quantifier, name)))
    if isinstance(tree, ast.Compare | ast.BinOp) or (tree is not None and name == "at_least"):
        parts = [c.value for c in ast.iter_child_nodes(tree) if isinstance(c, ast.Constant)]
        numbers = {value for value in parts if type(value) is int}
    for number in sorted(numbers):
        other = number - 1 if number > 0 else number + 1
        found.append(("constant", f"{number} becomes {other}", partial(_other_number, number, other)))
    return (one for one in found if any(one[2](term) is not term for term in terms))


def _other_number(number: int, other: int, term: Term) -> Term:
    value: Any = term.count if isinstance(term, AtLeast) else getattr(term, "value", None)
    if type(value) is not int or value != number:
        return term
    return replace(term, count=other) if isinstance(term, AtLeast) else lift(other)


def _other_quantifier(kind: str, term: Term) -> Term:
    if isinstance(term, Quantified) and term.quantifier == kind:
        return replace(term, quantifier=_OTHER[kind])
    return term


def _other_bound(term: Term) -> Term:
    """Return `a <= b` for `a < b`, and the other way round; `a <= b` is `not b < a`."""
    if isinstance(term, Not) and isinstance(term.operand, Less):
        return Less("bool", term.operand.right, term.operand.left)
    return Not("bool", Less("bool", term.right, term.left)) if isinstance(term, Less) else term


def _rewritten(action: Action, own: Collection[int], change: _Rewriting) -> Action:
    """Return the action with some of its terms, by identity, changed from the outside inwards."""
    known = dict[Term, Term]()

    def term_of(term: Term) -> Term:
        if term not in known:
            new = change(term) if id(term) in own else term
            known[term] = mapped(term, term_of) if new is term else new
        return known[term]

    def update(u: Update) -> Update:
        before = (*u.target.index, u.value, u.when)
        *index, value, when = after = [term_of(term) for term in before]
        if all(map(is_, before, after)):
            return u
        return replace(u, target=replace(u.target, index=tuple(index)), value=value, when=when)

    return replace(action, when=term_of(lift(action.when)), then=tuple(map(update, action.then)))


def _parsed(origin: Origin | None) -> ast.expr | None:
    """Return the expression at an origin as a tree, None if it is none."""
    try:
        return None if origin is None else ast.parse(origin.text, mode="eval").body
    except SyntaxError:
        return None


def brief(text: str) -> str:
    """Return the text of a part in one line of at most 100 characters."""
    return shorten(text, 100, placeholder=" …")
