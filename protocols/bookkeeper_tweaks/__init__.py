"""Two tweaks of the BookKeeper protocol, guaranteed write quorum and unbounded ledgers, and what they share."""
