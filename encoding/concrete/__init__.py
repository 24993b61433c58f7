"""The plain reading: terms evaluated on values, executions explored, replayed and kept as traces."""
