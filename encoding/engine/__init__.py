"""Checks of a system, from the question to the verdict."""
