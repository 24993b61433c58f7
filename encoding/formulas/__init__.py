"""The symbolic reading: a system as Boolean formulas, one round as clauses, and commutation of actions."""
