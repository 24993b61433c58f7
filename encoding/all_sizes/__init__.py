"""The same text over sorts of any size: proofs by induction with quantifiers, and refinement."""
