"""The one door to solvers, and the processes in which questions are put to them."""
