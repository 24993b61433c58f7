"""`fencepost export`: a protocol as its specification or a query, a saved trace, or a sweep's results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fencepost.cli.commands.export_trace import TRACE_FORMS, replays_in, write_replays
from fencepost.cli.exits import ExitCode
from fencepost.cli.options import shared
from fencepost.cli.options.completion import property_names, protocol_names
from fencepost.cli.options.grouped import OUTPUT, argument, grouped_command, option, refuse
from fencepost.cli.options.numbers import ROUNDS
from fencepost.cli.options.old_names import new_option
from fencepost.cli.options.protocols import asked_instance
from fencepost.cli.process.handover import timeout_option
from fencepost.cli.rendering.output import FORMATS, ResultOptions, emit, write_whole
from fencepost.cli.rendering.spec_text import instance_spec, spec_document
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
    from fencepost.sweeps.object_store import ObjectStore
    from fencepost.sweeps.store import Store

CIRCUIT = "aiger"
"""The form that has the whole instance, not a query."""

QUERY_FORMS = ("smt2", CIRCUIT)

KINDS = tuple(kind.value for kind in Kind if kind is not Kind.COMPLETENESS)
"""The queries about rounds. A certificate has the one of completeness."""

QUERIES = (*KINDS, BEGINNING)
"""The queries that can be exported, besides those about the actions of one name."""

PROTOCOL_FORMS = (*FORMATS, *QUERY_FORMS)

SWEEP_FORMS = ("text", "csv", "markdown")
"""The forms of the results of a sweep."""

FORMS = tuple(dict.fromkeys((*TRACE_FORMS, *SWEEP_FORMS, *QUERY_FORMS)))

OF_QUERIES = ("budgets", "what", "rounds", "folder")
"""The parameters that mean something for a query alone."""

OF_PROTOCOLS = ("settings", "release", *OF_QUERIES)
"""The parameters that mean something for a protocol alone."""

QUERY, SWEEP = "Of a protocol", "Of a sweep"


class ExportOptions(ResultOptions):
    """The options of `fencepost export`."""

    protocol: str = argument("PROTOCOL|FILE|DIR", type=click.Path(), shell_complete=protocol_names)
    form: str = option(
        "--format FORM", "Form of the result, one of those above.", OUTPUT, FORMS, default="text"
    )
    names: tuple[str, ...] = option(
        "--property NAME",
        "The property of the query, or of the traces (repeatable).",
        OUTPUT,
        multiple=True,
        shell_complete=property_names,
    )
    timeout: float = timeout_option()
    source: str | None = shared.source
    row: str | None = option("--row ID", "Write the counterexample of this row, as a saved trace.", SWEEP)
    settings: shared.Settings = shared.settings
    release: str | None = shared.release
    budgets: dict[str, int] = shared.budget
    what: str = option(
        "--what QUERY", f"{', '.join(QUERIES)}, or the name of an action.", QUERY, default=Kind.PROPERTY.value
    )
    rounds: int | None = option("--rounds R", "The number of rounds of the query.", QUERY, ROUNDS)
    folder: str | None = option(
        "--certificate DIR",
        "For induction: the claims of this certificate, and the clauses found for it.",
        QUERY,
    )


@grouped_command(example="fencepost export found/bookkeeper-4.13.no-divergence.json --format html -o it.html")
def command(asked: ExportOptions) -> int:
    """Write a saved trace, the results of a sweep, or a protocol in another form.

    FILE is a trace that `check --traces` wrote, or a result of `check --format json`, of which every trace
    is replayed, or a script of your own. It is replayed step by step on plain values. Exits with 1 if a step
    is impossible, if it does not change what FILE says, or if nothing is violated at the end. The forms:
    text, json, itf, mermaid, html.

    DIR is the folder or the address of a sweep. Its rows are shown by property, by E/WQ/AQ, and one by one.
    Exits with 3 if some cases have no row. The forms: text, csv, markdown.

    PROTOCOL, or the one in FILE.py, is written as its specification (text, json): each action with its
    guard, updates, messages and methods of the code, after the switches are folded. Or it is written as a
    query for SMT solvers (smt2), or as a circuit for hardware model checkers (aiger: AIGER 1.9, binary, to a
    file). The file of a query says what the answers sat and unsat mean. Queries about executions of up to R
    rounds: can the property be false after one (property), can its witness be true after one (witness), is a
    step badly defined (well-defined). Induction over one action: can an invariant be false at first
    (beginning), or after the action of that name.
    """
    if asked.form in QUERY_FORMS or _is_protocol(asked.protocol):
        _require(asked.form, "a protocol", PROTOCOL_FORMS)
        refuse("a protocol", "source", "row")
        instance = asked_instance(asked.protocol, asked.settings, asked.release)
        if asked.form in QUERY_FORMS:
            write_query(instance, asked)
        else:
            refuse("a specification", *OF_QUERIES, "names")
            asked.show(instance, instance_spec, spec_document)
        return ExitCode.SUCCESS
    if os.path.isdir(asked.protocol) or "://" in asked.protocol:
        refuse("the results of a sweep", *OF_PROTOCOLS, "source", "names")
        if asked.row is not None:
            refuse("--row", "form")
            return write_row(asked.protocol, asked.row, asked.output)
        if new := new_option("export DIR", f"--format {asked.form}"):
            raise BadInput(new)
        _require(asked.form, "the results of a sweep", SWEEP_FORMS)
        return write_sweep(asked.protocol, asked.form, asked.output)
    refuse("a saved trace", *OF_PROTOCOLS, "row")
    _require(asked.form, "a saved trace", TRACE_FORMS)
    replays = replays_in(Path(asked.protocol), asked.source, asked.names)
    return write_replays(replays, asked.protocol, asked.form, asked.output)


def _is_protocol(name: str) -> bool:
    from fencepost.properties.catalogue import FAMILIES

    return name in FAMILIES or name.endswith(".py")


def _require(form: str, what: str, valid: Sequence[str]) -> None:
    """Raise BadInput for a form that this does not have."""
    if form not in valid:
        raise BadInput(f"--format {form}: {what} has no such form; valid: {', '.join(valid)}")


def write_sweep(folder: str, form: str, output: str | None) -> ExitCode:
    """Write the rows of a sweep in a form; undecided if some cases have no row."""
    from fencepost.cli.rendering.sweep_matrices import SweepReport
    from fencepost.cli.rendering.sweep_text import csv_table, markdown, text
    from fencepost.sweeps.summary import in_order_of_sizes

    store = _store(folder)
    rows = store.rows()
    missing = store.missing(rows)
    report = SweepReport(store.manifest(), in_order_of_sizes(rows))
    emit({"text": text, "csv": csv_table, "markdown": markdown}[form](report), output)
    if missing:
        click.echo(report.unfinished, err=True)
    return ExitCode.UNDECIDED if missing else ExitCode.SUCCESS


def write_row(folder: str, name: str, output: str | None) -> ExitCode:
    """Write the counterexample of the row of that name as it was saved; raises BadInput."""
    found = {row["id"]: row["trace"] for row in _store(folder).rows()}
    if found.get(name) is None:
        why = "its row has no counterexample" if name in found else "no such row"
        raise BadInput(f"{name}: {why} in {folder}; fencepost export {folder} names them")
    emit(found[name], output)
    return ExitCode.SUCCESS


def _store(folder: str) -> Store | ObjectStore:
    from fencepost.sweeps.object_store import ObjectStore, is_address
    from fencepost.sweeps.spark import require_arrow
    from fencepost.sweeps.store import Store

    require_arrow()
    store = ObjectStore(folder.rstrip("/")) if is_address(folder) else Store(Path(folder))
    store.manifest()
    return store


def write_query(instance: Instance, asked: ExportOptions) -> None:
    """Write a query about an instance as SMT-LIB, or the whole instance as a circuit; raises BadInput."""
    limits, names, what = asked.budgets, asked.names, asked.what
    system = instance.system
    known_faults(system, limits)
    if asked.form == CIRCUIT:
        if what != Kind.PROPERTY.value:
            raise BadInput(f"--what {what}: --format {CIRCUIT} has no queries; leave it out")
        refuse(f"--format {CIRCUIT}", "rounds", "budgets", "folder")
        _write_circuit(instance, names, asked.output)
        return
    if what not in KINDS:
        refuse(f"--what {what}", "rounds", "budgets")
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
    sent_at_most_once(instance.system)
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
