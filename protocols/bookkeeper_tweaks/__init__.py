"""Two variants of the BookKeeper protocol: guaranteed write quorum and unbounded ledgers."""
