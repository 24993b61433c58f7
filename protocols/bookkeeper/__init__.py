"""One BookKeeper ledger: parameters, state, bookies, clients, and all of it put together in `ledger`."""
