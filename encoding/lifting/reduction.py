"""Few and short templates among those that are inductive: none can be left out.

Which ones are left depends on the order in which they are tried, so several orders are tried: first the
longest are left out first, then the order is drawn. The result with the least cost is kept. It is proved at
all sizes, like any other.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost.encoding.lifting.at_size import AtSize
from fencepost.encoding.lifting.judge import Judge
from fencepost.encoding.lifting.templates import Comparison, Template, ValueGuard, tidy

MOST_KEPT = 100
"""The most templates among which few are chosen. Of more, only those that were used are."""

ORDERS = 8
"""The number of orders that are drawn."""

SECONDS = 10.0
"""The seconds after which no further order is drawn."""

SMALLEST = 2
"""The number of sizes at which templates are left out, before all sizes are asked."""

EACH = 4
"""What an invariant costs beside its length."""

Judges = Sequence[tuple[AtSize, Judge]]


def reduced(sizes: Sequence[AtSize], kept: Mapping[str, Template]) -> dict[str, Template]:
    """Return few and short templates that are inductive and prove the properties, shortest first.

    `kept` are inductive at all sizes and prove the properties there. The result has forms of them that say
    more in fewer words, if these are inductive too.
    """
    needed = _needed([(at, at.judge(kept)) for at in sizes], set(kept))
    choice = Reduction(sizes, _with_forms(sizes, {n: t for n, t in kept.items() if n in needed}))
    left = choice.least()
    return {name: choice.templates[name] for name in sorted(left, key=lambda n: (choice.cost({n}), n))}


def _needed(judges: Judges, kept: set[str]) -> set[str]:
    """Return the templates on which the proofs of the properties rest at some size, and nothing else."""
    while len(kept) > MOST_KEPT:
        used = set[str]()
        for at, judge in judges:
            used |= judge.judge({*at.names, *at.declared, *kept}).used(at.names)
        if inductive(judges, kept & used) != kept & used or kept <= used:
            break
        kept = kept & used
    return kept


def _with_forms(sizes: Sequence[AtSize], kept: Mapping[str, Template]) -> dict[str, Template]:
    """Return the templates and stronger forms of them, as far as no simulated state refutes these."""
    found = dict(kept)
    known = set(kept.values())
    for name, template in kept.items():
        forms = stronger(template, lambda form: all(at.samples.true(form) for at in sizes))
        for number, form in enumerate(forms, 1):
            if form not in known:
                known.add(form)
                found[f"{name}.{number}"] = form
    return found


def inductive(judges: Judges, names: set[str]) -> set[str] | None:
    """Return the largest part that is inductive at every size, or None if it proves not all properties."""
    while True:
        before = len(names)
        for at, judge in judges:
            own = {name for name in names if name in judge.claims}
            judged = judge.judge({*at.names, *at.declared, *own})
            if not judged.proves([*at.names, *at.declared]):
                return None
            names = names - (own - judged.left)
        if len(names) == before:
            return names


@dataclass
class Reduction:
    """Templates to choose from, and the proof obligations of all of them at each size."""

    sizes: Sequence[AtSize]
    templates: dict[str, Template]

    def __post_init__(self) -> None:
        """Make the proof obligations, and leave out the templates that are not inductive."""
        self.judges = [(at, at.judge(self.templates)) for at in self.sizes]
        left = inductive(self.judges, set(self.templates))
        assert left is not None
        self.templates = {name: t for name, t in self.templates.items() if name in left}

    def cost(self, names: set[str]) -> int:
        """Return the length of templates, and a share for each of them."""
        return sum(self.templates[name].weight + EACH for name in names)

    def least(self) -> set[str]:
        """Return the names of templates of which none can be left out, with the least cost of those seen."""
        order = sorted(self.templates, key=lambda name: (self.templates[name].weight, name))
        best, chance, end = self.enough(order), random.Random(1), time.perf_counter() + SECONDS
        for _ in range(ORDERS):
            if time.perf_counter() > end:
                break
            other = self.enough(chance.sample(order, len(order)))
            if self.cost(other) < self.cost(best):
                best = other
        return best

    def enough(self, order: Sequence[str]) -> set[str]:
        """Return names of which none can be left out. Those that come first are preferred.

        The smallest sizes answer quickly, so they are asked first.
        """
        few = _enough(self.judges[:SMALLEST], order)
        if inductive(self.judges, few) == few:
            return few
        return _enough(self.judges, order)


def _enough(judges: Judges, order: Sequence[str]) -> set[str]:
    """Return names of which none can be left out, at these sizes.

    More templates never prove less. So the last one that cannot be left out ends the shortest beginning of
    the order that is enough, which is found by halving. Then the same is asked of what comes before it.
    """
    found, left = set[str](), list(order)
    while inductive(judges, found) is None:
        low, high = 1, len(left)
        while low < high:
            middle = (low + high) // 2
            if inductive(judges, {*found, *left[:middle]}) is None:
                low = middle + 1
            else:
                high = middle
        found.add(left[low - 1])
        left = left[: low - 1]
    return found


MOST_FORMS = 40
"""The most forms of one template."""

WEAKER = {Comparison.NEXT: Comparison.BELOW, Comparison.BELOW: Comparison.DIFFERENT}
"""For some comparisons, one that is true of more values."""


def stronger(template: Template, is_true: Callable[[Template], bool]) -> list[Template]:
    """Return forms of the template that imply it and are true, found by leaving out one part at a time."""
    found, waiting = dict.fromkeys([template]), [template]
    while waiting and len(found) <= MOST_FORMS:
        for form in _shorter(waiting.pop(0)):
            if form not in found and is_true(form):
                found[form] = None
                waiting.append(form)
    return [form for form in found if form != template]


def _shorter(template: Template) -> Iterator[Template]:
    """Yield the forms with one statement or guard less, or with a weaker guard."""
    patterns, guards = template.patterns, template.guards
    if len(patterns) + len(template.groups) > 1:
        for one in patterns:
            yield tidy(replace(template, patterns=tuple(p for p in patterns if p != one)))
        for group in template.groups:
            yield tidy(replace(template, groups=tuple(g for g in template.groups if g != group)))
    for guard in guards:
        others = tuple(g for g in guards if g != guard)
        yield tidy(replace(template, guards=others))
        if guard.comparison in WEAKER:
            weaker = ValueGuard(guard.left, WEAKER[guard.comparison], guard.right)
            yield tidy(replace(template, guards=(*others, weaker)))
