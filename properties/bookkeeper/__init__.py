"""What must hold of a BookKeeper ledger."""
