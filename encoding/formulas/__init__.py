"""The symbolic reading: a system as Boolean formulas, one round of it as clauses, and what may be said of its actions."""
