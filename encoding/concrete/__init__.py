"""The concrete reading: terms evaluated on plain values; executions explored, simulated and replayed."""
