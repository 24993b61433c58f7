"""`fencepost export PROTOCOL`: a query for other solvers, or a circuit for model checkers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.cli.options.grouped import refuse
from fencepost.cli.options.settings import budgets
from fencepost.cli.rendering.output import emit, write_whole
from fencepost.encoding.engine.clauses import with_found
from fencepost.encoding.engine.limits import known_faults
from fencepost.encoding.engine.named_clauses import NotAClauseError, clauses_of
from fencepost.encoding.errors import BadInput
from fencepost.encoding.evidence.manifests import read_manifest
from fencepost.encoding.evidence.one_action import BEGINNING, ActionStep, steps
from fencepost.encoding.evidence.queries import ABOUT_ONE_PROPERTY, Kind, Query
from fencepost.encoding.evidence.question_files import Asking, Question, remarks
from fencepost.encoding.formulas.aiger import CircuitBuilder, circuit_remarks
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.system import System
from fencepost.encoding.versions import version

if TYPE_CHECKING:
    from fencepost.cli.commands.export import ExportOptions

CIRCUIT = "aiger"
"""The form that has the whole instance, not a query."""

QUERY_FORMS = ("smt2", CIRCUIT)

KINDS = tuple(kind.value for kind in Kind if kind is not Kind.COMPLETENESS)
"""The queries about rounds. A certificate has the one of completeness."""

QUERIES = (*KINDS, BEGINNING)
"""The queries that can be exported, besides those about the actions of one name."""


def write_query(instance: Instance, asked: ExportOptions) -> None:
    """Write a query about an instance as SMT-LIB, or the whole instance as a circuit; raises BadInput."""
    limits, names, what = budgets(asked.budget), asked.names, asked.what
    system = instance.system
    known_faults(system, limits)
    if asked.form == CIRCUIT:
        if what != Kind.PROPERTY.value:
            raise BadInput(f"--what {what}: --format {CIRCUIT} has no queries; leave it out")
        refuse(f"--format {CIRCUIT}", "rounds", "budget", "folder")
        _write_circuit(instance, names, asked.output)
        return
    if what not in KINDS:
        refuse(f"--what {what}", "rounds", "budget")
        if asked.folder is not None:
            refuse("--certificate", "names")
            system, claims = _certified(Path(asked.folder), instance)
        else:
            claims = _declared(instance, what, names)
        query: Question = _step(system, what, claims)
    else:
        refuse(f"--what {what}", "folder")
        query = _query(Kind(what), asked.rounds, names)
    sent_at_most_once(instance.system)
    asking = Asking(system, instance.properties(*names) if names else [], limits)
    said = [
        f"Fencepost {version()}: a query for other solvers",
        *remarks(query, instance.subject, limits),
    ]
    emit(asking.smtlib(query, said).rstrip("\n"), asked.output)


def _write_circuit(instance: Instance, names: tuple[str, ...], output: str | None) -> None:
    """Write the instance as a circuit. Raises BadInput without a file, because the form is binary."""
    if output is None:
        raise BadInput(f"--format {CIRCUIT}: is binary; say to which file with --output FILE.aig")
    properties = instance.properties(*names)
    builder = CircuitBuilder(instance.system, properties)
    varied = dict.fromkeys(v.family.name for v in instance.system.varied)
    remarks = circuit_remarks(instance.subject, properties, builder.constant, list(varied))
    said = [f"Fencepost {version()}: an instance for model checkers", *remarks]
    write_whole(Path(output), builder.circuit().aiger(said))


def _declared(instance: Instance, what: str, names: tuple[str, ...]) -> list[str]:
    """Return the names of the declared invariants and of these properties."""
    asked = instance.properties(*names) if names else []
    claims = [*(i.name for i in instance.system.invariants), *(prop.name for prop in asked)]
    if not claims:
        raise BadInput(
            f"--what {what}: no invariants are declared here; say which property with --property NAME"
        )
    return claims


def _certified(folder: Path, instance: Instance) -> tuple[System, list[str]]:
    """Return the system with the clauses of a certificate, and the names of the claims in it."""
    found = read_manifest(folder)
    if found.subject != instance.subject:
        raise BadInput(f"--certificate {folder}: is of another instance; give the settings that it names")
    try:
        system = with_found(instance.system, clauses_of(instance.system, found.found))
    except NotAClauseError as error:
        raise BadInput(f"--certificate {folder}: {error}") from error
    claims = [name for one in found.claims if one.rounds is None for name in (one.property, *one.invariants)]
    if not claims:
        raise BadInput(f"--certificate {folder}: has no proof by induction over one action")
    return system, claims


def _step(system: System, what: str, claims: Iterable[str]) -> ActionStep:
    """Return the proof obligations of the initial state, or of the actions of one name, for these claims."""
    by_name = {step.action or BEGINNING: step for step in steps(system, claims)}
    if what not in by_name:
        valid = ", ".join(dict.fromkeys((*QUERIES, *by_name)))
        raise BadInput(f"--what {what}: no such query, and no action of that name; valid: {valid}")
    return by_name[what]


def _query(kind: Kind, rounds: int | None, names: tuple[str, ...]) -> Query:
    if rounds is None:
        raise BadInput(f"--what {kind.value}: is about rounds; say how many with --rounds R")
    if kind in ABOUT_ONE_PROPERTY and len(names) != 1:
        raise BadInput(f"--what {kind.value}: is about one property; say which with --property NAME")
    if kind not in ABOUT_ONE_PROPERTY and names:
        raise BadInput(f"--property {names[0]}: --what {kind.value} is about no property; leave it out")
    return Query(kind, rounds, names[0] if names else None)
