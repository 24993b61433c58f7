"""The drive of each model action on the real code: `actions` has the table, `code` the driven code."""
