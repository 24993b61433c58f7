"""Properties and invariants of the two proposed changes of BookKeeper."""
