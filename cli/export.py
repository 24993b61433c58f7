"""`fencepost export`: write a query for other solvers."""

from __future__ import annotations

import click

from fencepost.cli.check import budget_option, budgets, find_protocol, setting, settings_option
from fencepost.cli.handing import outer_timeout_option
from fencepost.cli.numbers import ROUNDS
from fencepost.cli.output import emit, output_option
from fencepost.encoding.checking.limits import known_faults
from fencepost.encoding.errors import BadInput
from fencepost.encoding.evidence.queries import ABOUT_ONE_PROPERTY, Encoded, Kind, Query, remarks
from fencepost.encoding.versions import version

FORMATS = ("dimacs", "smt2")


@click.command()
@click.argument("protocol", metavar="PROTOCOL|FILE.py")
@settings_option
@click.option(
    "--what",
    type=click.Choice([kind.value for kind in Kind]),
    default=Kind.PROPERTY.value,
    show_default=True,
    help="Which query.",
)
@click.option("--property", "name", metavar="NAME", help="The property that the query is about.")
@click.option("--rounds", type=ROUNDS, required=True, metavar="R", help="How many rounds it is about.")
@budget_option
@click.option(
    "--format", "form", type=click.Choice(FORMATS), required=True, help="For SAT solvers, or for SMT solvers."
)
@output_option
@outer_timeout_option
def command(
    protocol: str,
    settings: tuple[str, ...],
    what: str,
    name: str | None,
    rounds: int,
    budget: tuple[str, ...],
    form: str,
    output: str | None,
) -> None:
    """Write a query about PROTOCOL, or the one in FILE.py, so that other solvers can answer it.

    The queries are those that verdicts rest on: is the property false after an execution of up to R rounds, does
    any execution need more than R rounds (completeness), is a step within them not well-defined, is the property's
    witness true after one; and base and step of an induction over R rounds. The file says what sat and unsat mean.
    """
    query = _query(Kind(what), rounds, name)
    limits = budgets(budget)
    instance = find_protocol(protocol).instance(setting(text, "NAME=VALUE") for text in settings)
    known_faults(instance.system, limits)
    properties = instance.properties(name) if name is not None else []
    encoded = Encoded(instance.system, properties, limits)
    said = [
        f"Fencepost {version()}: a query for other solvers",
        *remarks(query, instance.subject, limits),
    ]
    emit(_text(form, encoded, query, said).rstrip("\n"), output)


def _query(kind: Kind, rounds: int, name: str | None) -> Query:
    if kind in ABOUT_ONE_PROPERTY and name is None:
        raise BadInput(f"--what {kind.value}: is about one property; say which with --property NAME")
    if kind not in ABOUT_ONE_PROPERTY and name is not None:
        raise BadInput(f"--property {name}: --what {kind.value} is about no property; leave it out")
    return Query(kind, rounds, name)


def _text(form: str, encoded: Encoded, query: Query, said: list[str]) -> str:
    from fencepost.encoding.evidence.smtlib import smtlib

    return smtlib(encoded, query, said) if form == "smt2" else encoded.clauses(query).dimacs(said)
