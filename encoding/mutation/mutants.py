"""Mutants: a system with one change of the author's text.

A change is of one conjunct, update, `when=`, comparison, constant, quantifier or field of a message, or of
`fair=` if the system has properties of liveness. All that one expression of the author makes, in a loop too,
is changed together. Inner expressions are changed only if origins were recorded (`language/origins.py`),
because only these say which terms the author wrote.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import is_
from pathlib import PurePath
from textwrap import shorten
from typing import Any, TypeVar

from fencepost.encoding.language.actions import Action, Schema
from fencepost.encoding.language.conditional_terms import UNDEFINED
from fencepost.encoding.language.fold import Folding, is_false
from fencepost.encoding.language.origins import Origin
from fencepost.encoding.language.patterns import mapped, same, subterms
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
from fencepost.encoding.mutation.changed_systems import exchanged, flattened, named_actions

PARTS = ("conjunct", "update", "when", "comparison", "constant", "quantifier", "field", "fairness")
_ORDERS = {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
_OTHER = {"forall": "exists", "exists": "forall"}
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

    def __str__(self) -> str:
        """Return the action, the part and its position."""
        return f"{self.action}, {self.part} {self.position} of {self.of}"


@dataclass(frozen=True)
class _Change:
    """A changed action, before its position among the changes of this kind is known."""

    part: str
    position: int
    of: int
    item: Term | Update
    change: str
    action: Action


def mutants(system: System) -> list[Mutant]:
    """Return all mutants of a system as its author wrote it, in the order of the actions."""
    return [
        mutant
        for name, schema in named_actions(system).items()
        for mutant in (
            *(
                Mutant(name, c.part, c.position, c.of, _text(c.item), c.change, _file(c.item), made)
                for c in _changes(schema.unjudged.action)
                for made in [judged(system, replace(schema, action=c.action))]
            ),
            *(_less_fair(name, schema) if system.liveness else ()),
        )
    ]


def _less_fair(name: str, schema: Schema) -> Iterator[Mutant]:
    """Yield the mutant whose action is weakly fair in place of strongly, or not fair in place of weakly.

    All actions of a group have the same strength, so an action of a group is taken out of it.
    """
    if schema.fair is None:
        return
    is_strong = schema.fair.startswith("strong") and " of " not in schema.fair
    less = schema.fair.replace("strong", "weak", 1) if is_strong else None
    change = "strong becomes weak" if is_strong else "left out"
    made = replace(schema, fair=less)
    yield Mutant(name, "fairness", 1, 1, f'fair="{schema.fair}"', change, "", made)


def changed(system: System, mutant: Mutant) -> System:
    """Return the system with that change."""
    old = named_actions(system)[mutant.action]
    return replace(system, actions=tuple(exchanged(item, old, mutant.schema) for item in system.actions))


def is_idle(folding: Folding, old: Schema, mutant: Mutant) -> bool:
    """Return whether constants alone say that the change has no effect."""
    if not keeps_constants(folding, mutant):
        return False
    before, after = folding.action(old.action), folding.action(mutant.schema.action)
    if before.when is FALSE and after.when is FALSE:
        return True
    kept = [*before.then], [*after.then]
    return same(before.when, after.when) and len(kept[0]) == len(kept[1]) and all(map(_alike, *kept))


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


def _alike(one: Update, two: Update) -> bool:
    pairs = ((one.target, two.target), (one.value, two.value), (one.when, two.when))
    return all(a is b or same(a, b) for a, b in pairs)


def _text(item: Term | Update) -> str:
    origin = item.origin
    if origin is not None and origin.text:
        return origin.text
    if isinstance(item, Term):
        return line(item)
    condition = "" if same(item.when, TRUE) else f" if {line(item.when, 60)}"
    return f"{line(item.target, 60)} := {line(item.value, 60)}{condition}"


def _file(item: Term | Update) -> str:
    origin = item.origin
    return "" if origin is None else f"{PurePath(origin.file).name}:{origin.line}"


def _groups(items: Iterable[_Item], calls: int | None = None) -> list[list[_Item]]:
    """Return the items that one expression made in one group each, in order; calls beyond do not count."""
    found: dict[Hashable, list[_Item]] = {}
    for item in items:
        origin = item.origin
        found.setdefault(id(item) if origin is None else origin.way[:calls], []).append(item)
    return list(found.values())


def _without(items: Iterable[_Item], group: Sequence[_Item]) -> list[_Item]:
    return [item for item in items if all(item is not other for other in group)]


def _is_written(group: Sequence[Term | Update]) -> bool:
    """Return whether an author wrote it: the room in a queue, or an undefined step, comes with a message."""
    if all(isinstance(item, Update) and item.target.family is UNDEFINED for item in group):
        return False
    origin = group[0].origin
    return origin is None or not origin.text.startswith("Action(")


def _changes(action: Action) -> Iterator[_Change]:
    """Yield the changes of an action."""
    parts = flattened(lift(action.when))
    for group in filter(_is_written, _groups(parts)):
        position = next(n for n, part in enumerate(parts, 1) if part is group[0])
        rest = replace(action, when=all_of(*_without(parts, group)))
        yield _Change("conjunct", position, len(parts), group[0], "left out", rest)
    listed = list(filter(_is_written, _groups(action.then)))
    for number, updates in enumerate(listed, 1):
        rest = replace(action, then=tuple(_without(action.then, updates)))
        yield _Change("update", number, len(listed), updates[0], "skipped", rest)
    inner: dict[str, list[tuple[Term | Update, str, Action]]] = {part: [] for part in PARTS}
    for updates in listed:
        for part, change, made in _of_statement(action, updates):
            inner[part].append((updates[0], change, made))
    for terms in _groups(_inner_terms(action), 1):
        for part, change, function in _of_expression(terms):
            inner[part].append((terms[0], change, _rewritten(action, function)))
    for part, found in inner.items():
        for number, (item, change, made) in enumerate(found, 1):
            yield _Change(part, number, len(found), item, change, made)


def _of_statement(action: Action, group: Sequence[Update]) -> Iterator[tuple[str, str, Action]]:
    """Yield the changes of one update as written: of its `when=`, its value, and the fields it sends."""
    call = _parsed(group[0].origin)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return

    def with_(change: Callable[[Update], Update]) -> Action:
        then = (change(u) if any(u is other for other in group) else u for u in action.then)
        return replace(action, then=tuple(then))

    if any(k.arg == "when" for k in call.keywords) and call.func.attr != "send":
        yield "when", "always applies", with_(lambda u: replace(u, when=TRUE))
    value = group[0].value
    plain = call.args and isinstance(call.args[0], ast.Constant | ast.Attribute)
    if (
        plain
        and call.func.attr == "set"
        and isinstance(value, Constant)
        and not isinstance(value.value, bool)
    ):
        values = group[0].target.family.domain.values
        other = values[(values.index(value.value) + 1) % len(values)] if value.value in values else None
        if other is not None and other != value.value:
            named = getattr(other, "value", other)
            yield (
                "constant",
                f"becomes {named}",
                with_(lambda u: replace(u, value=Constant(value.type, other))),
            )
    for keyword in call.keywords if call.func.attr == "send" else []:
        sent = [u for u in group if u.target.family.name.endswith(f"_{keyword.arg}")]
        if sent and len(sent) < len(group):
            yield (
                "field",
                f"{keyword.arg} left out",
                replace(action, then=tuple(_without(action.then, sent))),
            )


def _inner_terms(action: Action) -> Iterator[Term]:
    """Yield the terms of the guard and of the updates whose origin is known."""
    roots = [lift(action.when)]
    roots += [term for u in action.then for term in (*u.target.index, u.value, u.when)]
    return (term for term in subterms(*roots) if term.origin is not None)


_Rewriting = Callable[[Term], Term]


def _of_expression(terms: Sequence[Term]) -> Iterator[tuple[str, str, _Rewriting]]:
    """Yield the changes of one expression: its order, its whole numbers, its quantifier."""
    tree, own = _parsed(terms[0].origin), {id(term) for term in terms}
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in _ORDERS:
        before, after = _ORDERS[type(tree.ops[0])]
        if any(isinstance(term, Less) for term in terms):
            yield "comparison", f"{before} becomes {after}", lambda t: _other_bound(t, own)
    elif isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        kinds = {t.quantifier for t in terms if isinstance(t, Quantified)} & _OTHER.keys()
        if tree.func.id.removesuffix("_over") in kinds:
            (kind,) = kinds & {tree.func.id.removesuffix("_over")}
            yield "quantifier", f"{kind} becomes {_OTHER[kind]}", lambda t: _other_quantifier(t, own)
    for number in sorted(_numbers(tree)):
        less = number - 1 if number > 0 else number + 1
        if any(_has_number(term, number) for term in terms):
            yield "constant", f"{number} becomes {less}", _replacing(own, number, less)


def _numbers(tree: ast.AST | None) -> set[int]:
    """Return the whole numbers that stand directly in an expression."""
    nodes: list[ast.AST] = [tree] if isinstance(tree, ast.Compare | ast.BinOp) else []
    if isinstance(tree, ast.Call) and getattr(tree.func, "id", "") == "at_least":
        nodes = [tree]
    direct = (child for node in nodes for child in ast.iter_child_nodes(node))
    return {c.value for c in direct if isinstance(c, ast.Constant) and type(c.value) is int}


def _has_number(term: Term, number: int) -> bool:
    value: Any = term.count if isinstance(term, AtLeast) else getattr(term, "value", None)
    return type(value) is int and value == number


def _replacing(own: set[int], number: int, other: int) -> _Rewriting:
    def change(term: Term) -> Term:
        if id(term) not in own or not _has_number(term, number):
            return term
        return replace(term, count=other) if isinstance(term, AtLeast) else lift(other)

    return change


def _other_quantifier(term: Term, own: set[int]) -> Term:
    if id(term) in own and isinstance(term, Quantified) and term.quantifier in _OTHER:
        return replace(term, quantifier=_OTHER[term.quantifier])
    return term


def _other_bound(term: Term, own: set[int]) -> Term:
    """Return `a <= b` for `a < b`, and the other way round; `a <= b` is `not b < a`."""
    if id(term) in own and isinstance(term, Not) and isinstance(term.operand, Less):
        return Less("bool", term.operand.right, term.operand.left)
    if id(term) in own and isinstance(term, Less):
        return Not("bool", Less("bool", term.right, term.left))
    return term


def _rewritten(action: Action, change: _Rewriting) -> Action:
    """Return the action with all its terms changed, from the outside inwards."""
    known: dict[Term, Term] = {}

    def term_of(term: Term) -> Term:
        if term not in known:
            new = change(term)
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
