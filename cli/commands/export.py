"""`fencepost export`: a protocol as a query or a circuit, a saved trace, or the results of a sweep."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fencepost.cli.commands.export_query import QUERIES, QUERY_FORMS, write_query
from fencepost.cli.commands.export_sweep import SWEEP_FORMS, write_row, write_sweep
from fencepost.cli.commands.export_trace import TRACE_FORMS, replays_in, write_replays
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.completion import property_names, protocol_names
from fencepost.cli.options.grouped import Choice, grouped_command, option
from fencepost.cli.options.numbers import ROUNDS
from fencepost.cli.options.old_names import new_option
from fencepost.cli.options.protocols import asked_instance
from fencepost.cli.options.refused import refuse
from fencepost.cli.options.saved import source_option
from fencepost.cli.options.settings import budget_option, budgets, release_option, settings_option
from fencepost.cli.process.handover import outer_timeout_option
from fencepost.cli.rendering.output import output_option
from fencepost.encoding.errors import BadInput
from fencepost.encoding.evidence.queries import Kind

FORMS = tuple(dict.fromkeys((*TRACE_FORMS, *SWEEP_FORMS, *QUERY_FORMS)))

OF_QUERIES = ("settings", "release", "budget", "what", "rounds", "action", "folder")
"""The parameters that mean something for a protocol alone."""

QUERY, SWEEP = "Of a protocol", "Of a sweep"


@grouped_command(example="fencepost export found/bookkeeper-4.13.no-divergence.json --format html -o it.html")
@click.argument("protocol", metavar="PROTOCOL|FILE|DIR", type=click.Path(), shell_complete=protocol_names)
@option(
    "--format",
    "form",
    type=Choice(FORMS),
    default="text",
    show_default=True,
    metavar="FORM",
    help="Form of the result, one of those above.",
)
@output_option
@option(
    "--property",
    "names",
    multiple=True,
    metavar="NAME",
    shell_complete=property_names,
    help="The property of the query, or of the traces (repeatable).",
)
@outer_timeout_option
@source_option
@option("--row", metavar="ID", group=SWEEP, help="Write the counterexample of this row, as a saved trace.")
@settings_option
@release_option
@budget_option
@option(
    "--what",
    type=Choice(QUERIES),
    metavar="QUERY",
    default=Kind.PROPERTY.value,
    show_default=True,
    group=QUERY,
    help=f"Query: {', '.join(QUERIES)}.",
)
@option("--rounds", type=ROUNDS, metavar="R", group=QUERY, help="The number of rounds of the query.")
@option("--action", metavar="NAME", group=QUERY, help="With --what action: its name, such as 'handle add'.")
@option(
    "--certificate",
    "folder",
    type=click.Path(),
    metavar="DIR",
    group=QUERY,
    help="With --what beginning or action: the claims of this certificate, and its found clauses.",
)
def command(
    protocol: str,
    form: str,
    output: str | None,
    names: tuple[str, ...],
    source: str | None,
    row: str | None,
    settings: tuple[str, ...],
    release: str | None,
    budget: tuple[str, ...],
    what: str,
    rounds: int | None,
    action: str | None,
    folder: str | None,
) -> int:
    """Write a saved trace, the results of a sweep, or a query about a protocol in another form.

    FILE is a trace that `check --traces` wrote, or a result of `check --format json`, of which every trace
    is replayed, or a script of your own. It is replayed step by step on plain values. Exits with 1 if a step
    is impossible, if it does not change what FILE says, or if nothing is violated at the end. The forms:
    text, json, itf, mermaid, html.

    DIR is the folder or the address of a sweep. Its rows are shown by property, by E/WQ/AQ, and one by one.
    Exits with 3 if some cases have no row. The forms: text, csv, markdown.

    PROTOCOL, or the one in FILE.py, is written as a query for SMT solvers (smt2), or as a circuit for
    hardware model checkers (aiger: AIGER 1.9, binary, to a file). The file of a query says what the answers
    sat and unsat mean. Queries about executions of up to R rounds: can the property be false after one
    (property), can its witness be true after one (witness), is a step badly defined (well-defined).
    Induction over one action: can an invariant be false at first (beginning), or after an action (action).
    """
    if form in QUERY_FORMS or _is_protocol(protocol):
        _require(form, "a protocol", QUERY_FORMS)
        refuse("a protocol", "source", "row")
        limits = budgets(budget)
        instance = asked_instance(protocol, settings, release)
        asked: dict[str, Any] = {
            "what": what,
            "names": names,
            "rounds": rounds,
            "action": action,
            "folder": folder,
        }
        write_query(instance, form, output, limits=limits, **asked)
        return int(ExitCode.SUCCESS)
    if os.path.isdir(protocol) or "://" in protocol:
        refuse("the results of a sweep", *OF_QUERIES, "source", "names")
        if row is not None:
            refuse("--row", "form")
            return int(write_row(protocol, row, output))
        if new := new_option("export DIR", f"--format {form}"):
            raise BadInput(new)
        _require(form, "the results of a sweep", SWEEP_FORMS)
        return int(write_sweep(protocol, form, output))
    refuse("a saved trace", *OF_QUERIES, "row")
    _require(form, "a saved trace", TRACE_FORMS)
    return int(write_replays(replays_in(Path(protocol), source, names), protocol, form, output))


def _is_protocol(name: str) -> bool:
    from fencepost.properties.catalogue import FAMILIES

    return name in FAMILIES or name.endswith(".py")


def _require(form: str, what: str, valid: Sequence[str]) -> None:
    """Raise BadInput for a form that this does not have."""
    if form not in valid:
        raise BadInput(f"--format {form}: {what} has no such form; valid: {', '.join(valid)}")
