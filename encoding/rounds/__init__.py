"""Bounded model checking over rounds: the unrolling, the solver that holds it, and the searches."""
