"""IC3: inductive invariants that are found from the properties alone (Bradley 2011)."""
