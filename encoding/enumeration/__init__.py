"""Enumeration: every reachable state visited on plain values, breadth first, also up to symmetry."""
