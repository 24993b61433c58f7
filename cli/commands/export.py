"""`fencepost export`: write a query for other solvers."""

from __future__ import annotations

import click

from fencepost.cli.options.numbers import ROUNDS
from fencepost.cli.options.protocols import find_protocol
from fencepost.cli.options.settings import budget_option, budgets, setting, settings_option
from fencepost.cli.process.handover import outer_timeout_option
from fencepost.cli.rendering.output import emit, output_option
from fencepost.encoding.engine.limits import known_faults
from fencepost.encoding.errors import BadInput
from fencepost.encoding.evidence.one_action import BEGINNING, ActionStep
from fencepost.encoding.evidence.queries import ABOUT_ONE_PROPERTY, Kind, Query
from fencepost.encoding.evidence.question_files import Asking, Question, remarks
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.versions import version

FORMATS = ("dimacs", "smt2")

ACTION = "action"
"""What is asked of the actions of one name: `--action` says of which."""


@click.command()
@click.argument("protocol", metavar="PROTOCOL|FILE.py")
@settings_option
@click.option(
    "--what",
    type=click.Choice([*(kind.value for kind in Kind), BEGINNING, ACTION]),
    default=Kind.PROPERTY.value,
    show_default=True,
    help="Which query.",
)
@click.option(
    "--property",
    "names",
    multiple=True,
    metavar="NAME",
    help="The property that the query is about; those that an induction over one action carries beside the facts (repeatable).",
)
@click.option("--rounds", type=ROUNDS, metavar="R", help="How many rounds it is about.")
@click.option(
    "--action", metavar="NAME", help="With --what action: which, by its name, such as 'handle add'."
)
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
    names: tuple[str, ...],
    rounds: int | None,
    action: str | None,
    budget: tuple[str, ...],
    form: str,
    output: str | None,
) -> None:
    """Write a query about PROTOCOL, or the one in FILE.py, so that other solvers can answer it.

    The queries are those that verdicts rest on: is the property false after an execution of up to R rounds, does
    any execution need more than R rounds (completeness), is a step within them not well-defined, is the property's
    witness true after one; base and step of an induction over R rounds; and, of an induction over one action, whether
    what it carries can be false at first (beginning), and whether an action can make it false. The file says what sat
    and unsat mean.
    """
    limits = budgets(budget)
    instance = find_protocol(protocol).instance(setting(text, "NAME=VALUE") for text in settings)
    known_faults(instance.system, limits)
    if what in (BEGINNING, ACTION):
        _refuse(what, rounds=rounds, budget=limits or None)
        query: Question = _step(instance, what, names, action)
    else:
        _refuse(what, action=action)
        query = _query(Kind(what), rounds, names)
    asking = Asking(instance.system, instance.properties(*names) if names else [], limits)
    said = [
        f"Fencepost {version()}: a query for other solvers",
        *remarks(query, instance.subject, limits),
    ]
    text = asking.smtlib(query, said) if form == "smt2" else asking.clauses(query).dimacs(said)
    emit(text.rstrip("\n"), output)


def _refuse(what: str, **options: object) -> None:
    """Raise BadInput for an option that the query has no use for."""
    for name, value in options.items():
        if value is not None:
            raise BadInput(f"--{name}: --what {what} has no use for it; leave it out")


def _step(instance: Instance, what: str, names: tuple[str, ...], action: str | None) -> ActionStep:
    """The question about the beginning, or about an action, of all facts and these properties."""
    system = instance.system
    claims = tuple(c.name for c in (*system.invariants, *(instance.properties(*names) if names else ())))
    if not claims:
        raise BadInput(f"--what {what}: no facts are declared here; say which property with --property NAME")
    if what == BEGINNING:
        _refuse(what, action=action)
        return ActionStep(None, claims)
    known = list(dict.fromkeys(schema.name for schema in system.schemas))
    if action not in known:
        given = "is about the actions of one name" if action is None else f"{action}: no such action"
        raise BadInput(f"--what {what}: {given}; valid for --action: {', '.join(known)}")
    return ActionStep(action, claims)


def _query(kind: Kind, rounds: int | None, names: tuple[str, ...]) -> Query:
    if rounds is None:
        raise BadInput(f"--what {kind.value}: is about rounds; say how many with --rounds R")
    if kind in ABOUT_ONE_PROPERTY and len(names) != 1:
        raise BadInput(f"--what {kind.value}: is about one property; say which with --property NAME")
    if kind not in ABOUT_ONE_PROPERTY and names:
        raise BadInput(f"--property {names[0]}: --what {kind.value} is about no property; leave it out")
    return Query(kind, rounds, names[0] if names else None)
