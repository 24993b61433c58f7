"""What must hold of a chain of ledgers."""
