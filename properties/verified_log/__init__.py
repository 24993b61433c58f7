"""Properties and invariants of a Verified Log."""
