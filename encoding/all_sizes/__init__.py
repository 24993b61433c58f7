"""Proofs for all sizes: induction with quantifiers over sorts of any size, and refinement."""
