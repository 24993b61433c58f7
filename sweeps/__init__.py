"""Sweeps: grids of instances, each checked as a case of its own, on Spark."""
