"""The rounds encoding: many actions in one copy of the state.

In one round every ground action has one slot, in the causal order of the system. A Boolean says whether the
slot fires, and each slot reads the state that the slot before it leaves. The clauses of one round are made
once, as a `Template`. The clauses of round r are the template with its variables renumbered. Adjacent rounds
share the Booleans of the state between them.

Normal form (a variant of Foata's): in round r > 1, slot b fires only if a slot fired that b may not move left
past, between b's slot in round r - 1 (included) and its slot in round r. docs/encoding.md argues why every
execution has such a form with the same final state, and what follows from that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fencepost.encoding.formulas.templates import RoundTemplate
from fencepost.encoding.solving.clauses import Clause


class Unrolling:
    """The variables and clauses of the rounds added so far.

    Choices come first, then the state before round 1, then auxiliary variables of the condition on it. Each
    round added takes the next free variables, and counters `reserve` variables in between.
    """

    def __init__(self, template: RoundTemplate) -> None:
        """Start with the choices and the state before round 1, without any round."""
        self.template = template
        self.top = template.choices + template.width + template.auxiliary
        """The largest variable in use."""
        self._offsets: list[int] = []

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return len(self._offsets)

    def reserve(self, top: int) -> None:
        """Mark the variables up to `top` as used."""
        self.top = max(self.top, top)

    def fresh(self) -> int:
        """Return a variable that nothing else uses."""
        self.top += 1
        return self.top

    def choice(self, position: int) -> int:
        """Return the variable of a choice, by its position among the choices."""
        return position + 1

    def bit(self, position: int, round_: int) -> int:
        """Return the variable of a state Boolean after that round; round 0 is the initial state."""
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
        """Return the variable that says whether a slot fires in a round."""
        return self._local(self.template.fires[slot], round_)

    def output(self, name: str, round_: int) -> int:
        """Return the variable that says whether a property or witness holds after a round."""
        return self._local(self.template.outputs[name], round_)

    def fires(self, round_: int) -> list[int]:
        """Return the variables of all slots of a round."""
        return [self.fire(slot, round_) for slot in range(len(self.template.fires))]

    def start(self) -> list[Clause]:
        """Return the clauses for the initial states and for the choices that are fixed."""
        template, before = self.template, self.template.choices
        bits = {self.bit(position, 0): value for position, value in enumerate(template.initial)}
        first = {bit: value for bit, value in bits.items() if value is not None}
        first |= {self.choice(position): value for position, value in template.given.items()}
        return [
            *([variable if value else -variable] for variable, value in first.items()),
            *([x + before if x > 0 else x - before for x in clause] for clause in template.beginning),
        ]

    def add_round(self) -> list[Clause]:
        """Add a round, and return its clauses and those of its normal form."""
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
        """Yield for each slot: it fires only if a blocking slot fired within one round before it."""
        for slot, blocking in enumerate(self.template.blockers):
            earlier = [self.fire(a, round_ - 1) for a in blocking if a >= slot]
            same = [self.fire(a, round_) for a in blocking if a < slot]
            yield [-self.fire(slot, round_), *earlier, *same]


def fired(unrolling: Unrolling, rounds: int, model: Sequence[int]) -> list[int]:
    """Return the slots that fire in a model, in the order of the execution; model[v - 1] is v or -v."""
    return [
        slot
        for round_ in range(1, rounds + 1)
        for slot in range(len(unrolling.template.fires))
        if model[unrolling.fire(slot, round_) - 1] > 0
    ]


def beginning(unrolling: Unrolling, model: Sequence[int]) -> list[int]:
    """Return the position of the initial value of each variable that has several, in a model."""
    own = [
        [model[unrolling.bit(position, 0) - 1] > 0 for position in range(begin, begin + width)]
        for begin, width in unrolling.template.varied
    ]
    return [bits.index(True) + 1 if any(bits) else 0 for bits in own]


def true_choices(unrolling: Unrolling, model: Sequence[int]) -> list[int]:
    """Return the positions of the choices that are true in a model."""
    return [c for c in range(unrolling.template.choices) if model[unrolling.choice(c) - 1] > 0]
