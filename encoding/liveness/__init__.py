"""Liveness: what comes about in the end, by the graph of the states, or as safety of a monitored system."""
