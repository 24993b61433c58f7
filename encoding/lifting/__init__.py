"""Clauses that IC3 found at a small size, lifted to quantified invariants of every size."""
