"""Proofs by induction: what holds before a step, or a few, and after it, holds always."""
