"""The systems that ship with Fencepost, each readable alone."""
