"""Quorum arithmetic: coverage rules, the calculator, and lemmas proved for every ensemble size."""
