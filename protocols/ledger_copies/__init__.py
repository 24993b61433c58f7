"""The copies of a closed ledger: re-replication, the collector of over-replicated ledgers, deletion."""
