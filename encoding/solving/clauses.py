"""Clauses, the input of SAT solvers."""

from __future__ import annotations

Clause = list[int]
"""A disjunction of literals: v or -v for a variable v >= 1."""
