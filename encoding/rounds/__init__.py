"""Rounds unrolled, and the questions asked of them."""
