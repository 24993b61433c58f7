"""The properties of a closed ledger's copies."""
