"""Grids of configurations, each checked as an obligation of its own, on Spark."""
