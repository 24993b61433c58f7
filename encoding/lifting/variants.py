"""Stronger and shorter forms of a template: a statement or a guard less, if no state refutes that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from fencepost.encoding.lifting.templates import Comparison, Template, ValueGuard, tidy

MOST = 40
"""The most forms of one template."""

WEAKER = {Comparison.NEXT: Comparison.BELOW, Comparison.BELOW: Comparison.DIFFERENT}
"""For some comparisons, one that is true of more values."""


def stronger(template: Template, is_true: Callable[[Template], bool]) -> list[Template]:
    """Return forms of the template that imply it and are true, found by leaving out one part at a time."""
    found, waiting = dict.fromkeys([template]), [template]
    while waiting and len(found) <= MOST:
        for form in _steps(waiting.pop(0)):
            if form not in found and is_true(form):
                found[form] = None
                waiting.append(form)
    return [form for form in found if form != template]


def _steps(template: Template) -> Iterator[Template]:
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
