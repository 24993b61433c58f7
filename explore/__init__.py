"""The explorer: stepping through a protocol by hand, and asking a solver from any state on the path."""
