"""The language protocols are written in, and its readings: plain values, formulas, solvers, verdicts."""
