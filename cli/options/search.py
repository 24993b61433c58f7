"""The options that several commands give their solvers."""

from __future__ import annotations

from fencepost.cli.options.grouped import LIMITS, OUTPUT, SEARCH, option
from fencepost.cli.options.numbers import COUNT, GIB, SEED
from fencepost.encoding.solving.solvers import SOLVERS

solver_option = option(
    "--solver NAME",
    f"Solver: {', '.join(SOLVERS)}; cadical leaves induction to glucose.",
    SEARCH,
    SOLVERS,
    default="cadical",
)
jobs_option = option("--jobs N", "Processes side by side.", SEARCH, COUNT, default=2)
seed_option = option("--seed N", "Shuffle the clauses that the solver gets.", SEARCH, SEED)
memory_option = option("--memory GIB", "Memory of each solver process.  [default: no limit]", LIMITS, GIB)
drop_declared_option = option("--drop-declared", "Hide the invariants that the protocol declares.")
verbose_option = option("-v, --verbose", "Say on stderr what is being done, and where the time went.", OUTPUT)
