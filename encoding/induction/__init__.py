"""Proofs by induction over one action, with inductive invariants."""
