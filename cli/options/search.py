"""The options that several commands give their solvers."""

from __future__ import annotations

from fencepost.cli.options.grouped import LIMITS, OUTPUT, SEARCH, Choice, option
from fencepost.cli.options.numbers import COUNT, GIB, SEED
from fencepost.encoding.solving.solvers import SOLVERS

solver_option = option(
    "--solver",
    type=Choice(list(SOLVERS)),
    metavar="NAME",
    default="cadical",
    show_default=True,
    group=SEARCH,
    help=f"Solver: {', '.join(SOLVERS)}.",
)
jobs_option = option(
    "--jobs",
    type=COUNT,
    default=2,
    show_default=True,
    metavar="N",
    group=SEARCH,
    help="Processes side by side.",
)
seed_option = option(
    "--seed", type=SEED, metavar="N", group=SEARCH, help="Shuffle the clauses that the solver gets."
)
memory_option = option(
    "--memory",
    type=GIB,
    metavar="GIB",
    group=LIMITS,
    help="Memory of each solver process.  [default: no limit]",
)
drop_declared_option = option(
    "--drop-declared",
    is_flag=True,
    group=SEARCH,
    help="Hide the invariants that the protocol declares.",
)
verbose_option = option(
    "-v",
    "--verbose",
    is_flag=True,
    group=OUTPUT,
    help="Say on stderr what is being done, and where the time went.",
)
