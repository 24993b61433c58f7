"""Every `match` over terms names each kind of term, so that a new kind cannot be forgotten silently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import pytest

from fencepost.encoding.language.patterns import rewritten
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.quantifiers import bind
from fencepost.encoding.language.sorts import BOOL
from fencepost.encoding.language.terms import TRUE, Binder, Joined, Leaf, Node, Pair, Term, children


@dataclass(frozen=True, eq=False, repr=False)
class Eventually(Term):
    """A kind of term that no reading knows."""

    body: Term


def test_the_kinds_of_terms_are_the_classes_that_there_are() -> None:
    groups: list[type[Term]] = [Leaf, Joined, Pair, Binder]
    kinds = set(Term.__subclasses__()).union(*(group.__subclasses__() for group in groups))
    assert set(get_args(Node)) == kinds - {*groups, Eventually}


def test_a_kind_that_is_not_named_is_noticed() -> None:
    planted = Eventually("bool", TRUE)
    for visit in (children, line, lambda term: rewritten(term, lambda read: read)):
        with pytest.raises(AssertionError, match="Eventually"):
            visit(planted)


def test_what_has_no_parts_has_no_children() -> None:
    assert children(TRUE) == children(bind(BOOL)) == ()
    assert rewritten(TRUE, lambda read: read) is TRUE
