"""The rounds encoding: many actions in one copy of the state.

In one round every ground action has one slot, in the causal order of the system; a Boolean says whether
it fires there, and the state threads through the slots. The clauses of one round are made once, as a
`Template`; the clauses of round r are the template with its variables renumbered, and rounds hang together
by sharing the Booleans of the state between them.

Normal form: in round r > 1, slot b fires only if something fired that b may not move left past, from its
own slot in round r - 1 (its own firing there counts) to its slot in round r. docs/encoding.md argues why
every execution has such a form with the same final state, and what follows from that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencepost.encoding.cnf import Clause, to_cnf
from fencepost.encoding.formulas import Symbolic
from fencepost.encoding.logic import TRUE, Formula, conj, disj, iff, named, neg, substitute
from fencepost.encoding.terms import Term


@dataclass(frozen=True)
class Template:
    """One round as plain data: everything a solver process needs, without z3.

    Local variables are numbered from 1: first the `width` Booleans of the state before the round, then
    those after it, then the choices, then the rest. `fires` has one variable for each slot, `outputs` one
    for each property and witness over the state after the round, named as given.
    """

    clauses: list[Clause]
    size: int
    width: int
    choices: int
    fires: list[int]
    outputs: Mapping[str, int]
    initial: list[bool]
    blockers: list[list[int]]
    bit_names: list[str]
    choice_names: list[str]


def template(symbolic: Symbolic, blockers: list[list[int]], outputs: Mapping[str, Term]) -> Template:
    """The clauses of one round of a system.

    `outputs` are truth-valued terms to be read off the state after the round; each gets a variable that
    holds exactly if the term does. The output `wrong` is added: some action set a variable twice or
    outside its domain.
    """
    system = symbolic.system
    state = {v.place: symbolic.bits[v.place] for v in system.variables if v.place in symbolic.written}
    before = [b for own in state.values() for b in own]
    choices = [b for v in system.variables if v.is_choice for b in symbolic.bits[v.place]]
    constraints: list[Formula] = []
    current: dict[int, list[Formula]] = dict(state)
    wrong: list[Formula] = []
    for slot, effect in enumerate(symbolic.effects):
        fire = named(f"fire{slot}")
        touched = effect.reads | effect.after.keys()
        renaming = [
            (old, new)
            for place in touched & state.keys()
            for old, new in zip(state[place], current[place], strict=True)
            if old is not new
        ]
        constraints.append(disj((neg(fire), substitute(effect.guard, renaming))))
        wrong.append(conj((fire, substitute(effect.wrong, renaming))))
        for place, after in effect.after.items():
            copies = [named(f"{bit}@{slot}") for bit in state[place]]
            for copy, new, old in zip(copies, after, current[place], strict=True):
                constraints.extend(_chosen(copy, fire, substitute(new, renaming), old))
            current[place] = copies
    for place, own in state.items():
        if current[place] is own:
            current[place] = [named(f"{bit}@end") for bit in own]
            constraints.extend(iff(copy, bit) for copy, bit in zip(current[place], own, strict=True))
    last = [bit for place in state for bit in current[place]]
    final = list(zip(before, last, strict=True))
    formulas = {name: substitute(symbolic.predicate(term), final) for name, term in outputs.items()}
    formulas["wrong"] = disj(wrong)
    for name, formula in formulas.items():
        output = named(f"output:{name}")
        constraints.extend((disj((neg(output), formula)), disj((output, neg(formula)))))
    return _numbered(
        constraints,
        first=[*before, *last, *choices],
        fires=[named(f"fire{slot}") for slot in range(len(symbolic.effects))],
        outputs={name: named(f"output:{name}") for name in formulas},
        width=len(before),
        initial=[
            system.initial[place] == value
            for place in state
            for value in system.variables[place].domain.values[1:]
        ],
        blockers=blockers,
    )


def _chosen(copy: Formula, fire: Formula, new: Formula, old: Formula) -> Iterator[Formula]:
    """`copy` is `new` if the slot fires, else `old`: as clauses, which z3 would spend another variable on."""
    yield disj((neg(fire), neg(copy), new))
    yield disj((neg(fire), copy, neg(new)))
    yield disj((fire, neg(copy), old))
    yield disj((fire, copy, neg(old)))


def _numbered(
    constraints: list[Formula],
    first: list[Formula],
    fires: list[Formula],
    outputs: Mapping[str, Formula],
    width: int,
    initial: list[bool],
    blockers: list[list[int]],
) -> Template:
    """The constraints as clauses, with the interface variables first."""
    cnf = to_cnf(c for c in constraints if c is not TRUE)
    names = [str(f) for f in (*first, *fires, *outputs.values())]
    order = {name: number for number, name in enumerate(names, 1)}
    renumbered = [0] * (cnf.size + 1)
    for name, number in cnf.numbers.items():
        renumbered[number] = order.get(name, 0)
    size = len(names)
    for number in range(1, cnf.size + 1):
        if not renumbered[number]:
            size += 1
            renumbered[number] = size
    clauses = [[renumbered[lit] if lit > 0 else -renumbered[-lit] for lit in clause] for clause in cnf.clauses]
    choices = len(first) - 2 * width
    return Template(
        clauses=clauses,
        size=size,
        width=width,
        choices=choices,
        fires=[order[str(f)] for f in fires],
        outputs={name: order[str(f)] for name, f in outputs.items()},
        initial=initial,
        blockers=blockers,
        bit_names=names[:width],
        choice_names=names[2 * width : 2 * width + choices],
    )


class Unrolling:
    """The variables and clauses of the rounds added so far.

    Choices come first, then the state before round 1; each round added takes the next free variables, and
    others may `reserve` some in between.
    """

    def __init__(self, template: Template) -> None:
        self.template = template
        self.top = template.choices + template.width
        """The largest variable in use."""
        self._offsets: list[int] = []

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return len(self._offsets)

    def reserve(self, top: int) -> None:
        """Leave the variables up to `top` to others."""
        self.top = max(self.top, top)

    def choice(self, position: int) -> int:
        """The variable of a choice, by its position in `choice_names`."""
        return position + 1

    def bit(self, position: int, round_: int) -> int:
        """The variable of a state Boolean after that round; round 0 is the initial state."""
        width = self.template.width
        start = self.template.choices if round_ == 0 else self._offsets[round_ - 1]
        assert 0 <= position < width
        return start + position + 1

    def _local(self, number: int, round_: int) -> int:
        width, choices = self.template.width, self.template.choices
        if number <= width:
            return self.bit(number - 1, round_ - 1)
        if number <= 2 * width:
            return self.bit(number - width - 1, round_)
        if number <= 2 * width + choices:
            return self.choice(number - 2 * width - 1)
        return self._offsets[round_ - 1] + number - width - choices

    def fire(self, slot: int, round_: int) -> int:
        """The variable that says whether a slot fires in a round."""
        return self._local(self.template.fires[slot], round_)

    def output(self, name: str, round_: int) -> int:
        """The variable that says whether a property or witness holds after a round."""
        return self._local(self.template.outputs[name], round_)

    def fires(self, round_: int) -> list[int]:
        """The variables of all slots of a round."""
        return [self.fire(slot, round_) for slot in range(len(self.template.fires))]

    def start(self) -> list[Clause]:
        """The initial state."""
        return [
            [self.bit(position, 0) if value else -self.bit(position, 0)]
            for position, value in enumerate(self.template.initial)
        ]

    def add_round(self) -> list[Clause]:
        """One more round: its clauses, the normal form included."""
        size = self.template.size
        self._offsets.append(self.top)
        self.top += size - self.template.width - self.template.choices
        round_ = self.rounds
        table = [0] * (2 * size + 1)
        for number in range(1, size + 1):
            table[number] = self._local(number, round_)
            table[-number] = -table[number]
        clauses = [[table[literal] for literal in clause] for clause in self.template.clauses]
        if round_ > 1:
            clauses.extend(self.normal_form(round_))
        return clauses

    def normal_form(self, round_: int) -> Iterator[Clause]:
        """A slot fires only if something it may not move left past fired since its slot a round earlier."""
        for slot, blocking in enumerate(self.template.blockers):
            earlier = [self.fire(a, round_ - 1) for a in blocking if a >= slot]
            same = [self.fire(a, round_) for a in blocking if a < slot]
            yield [-self.fire(slot, round_), *earlier, *same]


def fired(unrolling: Unrolling, rounds: int, model: Sequence[int]) -> list[int]:
    """The slots that fire in a model, in the order of the execution; model[v - 1] is v or -v."""
    return [
        slot
        for round_ in range(1, rounds + 1)
        for slot in range(len(unrolling.template.fires))
        if model[unrolling.fire(slot, round_) - 1] > 0
    ]


def true_choices(unrolling: Unrolling, model: Sequence[int]) -> Iterable[str]:
    """The names of the choices that are true in a model."""
    names = unrolling.template.choice_names
    return (name for position, name in enumerate(names) if model[unrolling.choice(position) - 1] > 0)
