"""Proofs in one piece: the questions behind a verdict, certificates of the answers, and their export."""
