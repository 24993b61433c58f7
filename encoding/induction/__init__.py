"""Proofs by induction: over rounds (k-induction), and over one action with inductive invariants."""
