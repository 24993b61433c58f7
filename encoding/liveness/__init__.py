"""Liveness: what comes about in the end, by fair components of the states, or as safety of a monitored system."""
