"""Two tweaks of the BookKeeper protocol, each readable alone: guaranteed write quorum, and unbounded ledgers."""
