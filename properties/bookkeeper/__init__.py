"""Properties and invariants of one BookKeeper ledger and of its core."""
