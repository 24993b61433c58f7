"""One round of a system, as formulas and as clauses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fencepost.encoding.formulas.cnf import numbered
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.formulas.templates import RoundTemplate
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Term
from fencepost.encoding.solving.logic import TRUE, Formula, Renaming, conj, disj, iff, name_of, named, neg


@dataclass(frozen=True)
class Round:
    """One round of a system as formulas.

    `constraints` are over the Booleans of the state `before` and `after` the round, the `choices`, the slots
    that fire (`fires`), the terms over the state after it (`outputs`, by name), and copies of the state in
    `between`.
    """

    constraints: list[Formula]
    before: list[Formula]
    between: list[Formula]
    after: list[Formula]
    choices: list[Formula]
    fires: list[Formula]
    outputs: Mapping[str, Formula]


def template(
    symbolic: Symbolic,
    blockers: list[list[int]],
    outputs: Mapping[str, Term],
    upheld: Mapping[str, Term] | None = None,
) -> RoundTemplate:
    """Return the clauses of `one_round`."""
    system = symbolic.system
    state = [v for v in system.variables if v.place in symbolic.varying]
    made = _numbered(
        one_round(symbolic, outputs, upheld or {}),
        widths=[len(symbolic.bits[v.place]) for v in state],
        initial=[_initial(system, v, value) for v in state for value in v.domain.values[1:]],
        blockers=blockers,
    )
    if not system.varied and system.beginning is None:
        return made
    first = numbered(symbolic.initial(), [bit for v in state for bit in symbolic.bits[v.place]])
    ends = itertools.accumulate(made.widths, initial=0)
    return replace(
        made,
        beginning=first.clauses,
        auxiliary=first.size - made.width,
        varied=tuple(
            (begin, width)
            for v, begin, width in zip(state, ends, made.widths, strict=False)
            if v in system.varied
        ),
    )


def _initial(system: System, variable: Variable, value: Value) -> bool | None:
    """Return whether a variable has that value in each initial state; None if it depends on the state."""
    firsts = system.firsts[variable.place]
    return value in firsts if len(firsts) == 1 else None


def one_round(
    symbolic: Symbolic, outputs: Mapping[str, Term], upheld: Mapping[str, Term] | None = None
) -> Round:
    """Return one round of a system as formulas.

    `outputs` are Boolean terms over the state after the round. Each gets a variable that is true exactly if
    the term is. The output `wrong` is added: some action sets a variable twice or outside its domain. For
    each term in `upheld` the output `early:NAME` is added: the term is false in some state before a slot
    that fires. Outputs may read only the state.
    """
    system = symbolic.system
    state = {v.place: symbolic.bits[v.place] for v in system.variables if v.place in symbolic.varying}
    before = [b for own in state.values() for b in own]
    choices = [b for v in system.choices for b in symbolic.bits[v.place]]
    constraints: list[Formula] = []
    current: dict[int, list[Formula]] = dict(state)
    copied: list[Formula] = []
    wrong: list[Formula] = []
    early: dict[str, list[Formula]] = {name: [] for name in upheld or {}}
    holds = {name: symbolic.predicate(term) for name, term in (upheld or {}).items()}
    for slot, effect in enumerate(symbolic.effects):
        fire = named(f"fire{slot}")
        if early:
            here = Renaming([p for place in state for p in zip(state[place], current[place], strict=True)])
            for name, fails in early.items():
                fails.append(conj((fire, neg(here(holds[name])))))
        touched = effect.reads | effect.after.keys()
        renaming = Renaming(
            [
                (old, new)
                for place in touched & state.keys()
                for old, new in zip(state[place], current[place], strict=True)
                if old is not new
            ]
        )
        constraints.append(disj((neg(fire), renaming(effect.guard))))
        wrong.append(conj((fire, renaming(effect.wrong))))
        for place, after in effect.after.items():
            copies = [named(f"{bit}@{slot}") for bit in state[place]]
            copied.extend(copies)
            for copy, new, old in zip(copies, after, current[place], strict=True):
                constraints.extend(_chosen(copy, fire, renaming(new), old))
            current[place] = copies
    for place, own in state.items():
        if current[place] is own:
            current[place] = [named(f"{bit}@end") for bit in own]
            constraints.extend(iff(copy, bit) for copy, bit in zip(current[place], own, strict=True))
    last = [bit for place in state for bit in current[place]]
    kept = set(map(id, last))
    final = Renaming(list(zip(before, last, strict=True)))
    formulas = {name: final(symbolic.predicate(term)) for name, term in outputs.items()}
    formulas["wrong"] = disj(wrong)
    formulas |= {f"early:{name}": disj(fails) for name, fails in early.items()}
    for name, formula in formulas.items():
        output = named(f"output:{name}")
        constraints.extend((disj((neg(output), formula)), disj((output, neg(formula)))))
    return Round(
        constraints=[c for c in constraints if c is not TRUE],
        before=before,
        between=[copy for copy in copied if id(copy) not in kept],
        after=last,
        choices=choices,
        fires=[named(f"fire{slot}") for slot in range(len(symbolic.effects))],
        outputs={name: named(f"output:{name}") for name in formulas},
    )


def _chosen(copy: Formula, fire: Formula, new: Formula, old: Formula) -> Iterator[Formula]:
    """Yield that `copy` is `new` if the slot fires, else `old`. These clauses save a variable of z3's."""
    yield disj((neg(fire), neg(copy), new))
    yield disj((neg(fire), copy, neg(new)))
    yield disj((fire, neg(copy), old))
    yield disj((fire, copy, neg(old)))


def _numbered(
    round_: Round, widths: list[int], initial: list[bool | None], blockers: list[list[int]]
) -> RoundTemplate:
    """Return the constraints as clauses, with the interface variables first."""
    state = [*round_.before, *round_.after, *round_.choices]
    cnf = numbered(round_.constraints, [*state, *round_.fires, *round_.outputs.values()])
    return RoundTemplate(
        clauses=cnf.clauses,
        size=cnf.size,
        width=sum(widths),
        widths=widths,
        choices=len(round_.choices),
        fires=[cnf.numbers[name_of(f)] for f in round_.fires],
        outputs={name: cnf.numbers[name_of(f)] for name, f in round_.outputs.items()},
        initial=initial,
        blockers=blockers,
    )
