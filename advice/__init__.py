"""Losses of a configuration by their conditions, the advice against them, and known bugs."""
