"""Access to solvers, and the processes in which they run. No other package calls a solver."""
