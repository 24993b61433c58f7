"""The protocol of one BookKeeper ledger: parameters, state, actions, and the system in `ledger`."""
