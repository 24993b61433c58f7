"""Quorum arithmetic: its formulas, the lemmas that justify them, and the calculator."""
