"""How each action of the model is driven on the real code: `actions` is the table, `code` is what is driven."""
