"""Properties and invariants of a chain of ledgers."""
