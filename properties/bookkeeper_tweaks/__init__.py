"""What must hold of the tweaks of the protocol."""
