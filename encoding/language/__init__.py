"""The language protocols are written in: terms, state, actions, parameters, and a protocol as a whole."""
