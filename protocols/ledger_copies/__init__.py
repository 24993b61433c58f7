"""The copies of a closed ledger: re-replication, and the collector of over-replicated ledgers."""
