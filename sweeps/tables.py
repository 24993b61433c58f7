"""The summary tables of a sweep, computed once by Spark SQL when the last row is committed.

Each table is a query over the rows, in a view `found`. The results are Parquet files in the folder
`summary` of the sweep, so that a report needs no Spark.
"""

from __future__ import annotations

from typing import Any

from fencepost.sweeps.object_store import ObjectStore
from fencepost.sweeps.rows import VERDICTS
from fencepost.sweeps.store import Store
from fencepost.sweeps.summary import SIZES

_NUMBER_OF = "count_if(verdict = '{0}') AS {0}"
_COUNTS = ", ".join(_NUMBER_OF.format(verdict) for verdict in VERDICTS)
"""The number of rows with each verdict, one column for each."""

_SIZES = ", ".join(f"int(settings['{name}']) AS {name}" for name in (*SIZES, "bookies"))

TABLES = {
    "properties": f"""
        SELECT protocol, property, count(*) AS cases, {_COUNTS}, sum(seconds) AS seconds
        FROM found
        GROUP BY protocol, property
        ORDER BY protocol, property
    """,
    "configurations": f"""
        SELECT protocol, property, {_SIZES}, count(*) AS cases, {_COUNTS},
               max(rounds) FILTER (WHERE verdict = 'proved' AND basis = 'rounds') AS most_rounds,
               min(searched) FILTER (WHERE verdict IN ('holds', 'undecided')) AS least_searched,
               min(steps) AS fewest_steps,
               min(aggregate(map_values(faults), 0L, (sum, one) -> sum + one)) AS fewest_faults,
               sum(seconds) AS seconds
        FROM found
        WHERE size(array_intersect(map_keys(settings), array{(*SIZES, "bookies")})) = {len(SIZES) + 1}
        GROUP BY ALL
        ORDER BY protocol, property, ensemble, write_quorum, ack_quorum, bookies
    """,
    "times": """
        SELECT protocol, solver, weight, count(*) AS cases,
               count_if(verdict = 'undecided') AS undecided,
               min(seconds) AS shortest, median(seconds) AS median, max(seconds) AS longest
        FROM found
        GROUP BY protocol, solver, weight
        ORDER BY protocol, solver, weight
    """,
    "solvers": """
        WITH answers AS (
            SELECT *, verdict NOT IN ('undecided', 'error') AS decided,
                   struct(protocol, map_entries(settings), property, bound, most_rounds, minimize,
                          drop_declared) AS question
            FROM found
        ), compared AS (
            SELECT *, every(decided) OVER (PARTITION BY question) AS all_decided,
                   min(seconds) FILTER (WHERE decided) OVER (PARTITION BY question) AS best,
                   size(collect_set(verdict = 'violated') FILTER (WHERE decided)
                        OVER (PARTITION BY question)) AS sides
            FROM answers
        )
        SELECT solver, count(*) AS cases, count_if(decided) AS decided,
               count_if(decided AND seconds = best) AS fastest,
               count_if(decided AND sides > 1) AS contradicted,
               count_if(all_decided) AS decided_by_all,
               sum(seconds) FILTER (WHERE all_decided) AS seconds_on_those, sum(seconds) AS seconds
        FROM compared
        GROUP BY solver
        ORDER BY solver
    """,
}
"""The queries of the tables by name.

`properties`: the number of cases by property and verdict.

`configurations`: the same for each E/WQ/AQ and number of bookies, with the rounds that proofs cover, the
least number of rounds that unproved cases were searched to, and the fewest steps and faults of
counterexamples.

`times`: seconds by size, which is the number of state variables.

`solvers`: the number of cases that each solver decided, how often it was the fastest, how often another
solver contradicted it, and its seconds on the cases that all solvers decided.
"""

Table = list[dict[str, Any]]


def summarize(spark: Any, store: Store | ObjectStore) -> None:
    """Write the tables of all committed rows, and make them part of the sweep."""
    store.frame(spark).createOrReplaceTempView("found")
    store.commit_tables({name: spark.sql(query) for name, query in TABLES.items()})


def read_summary(store: Store | ObjectStore) -> dict[str, Table] | None:
    """Return the tables by name; None if the sweep is not finished.

    Raises BadInput if the tables were changed since they were made.
    """
    found = store.tables(tuple(TABLES))
    return None if found is None else {name: table.to_pylist() for name, table in found.items()}
