"""Logs of real systems: their events, and whether an execution of a protocol has these events."""
