"""Properties, invariants and witnesses of each protocol, and the expected verdicts."""
