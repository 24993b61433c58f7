"""The contents of a certificate: clauses, proofs, and traces to witnesses."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.engine.clauses import with_found
from fencepost.encoding.engine.events import PreparationPhase
from fencepost.encoding.engine.named_clauses import clauses_of
from fencepost.encoding.engine.verdicts import Result
from fencepost.encoding.errors import InternalError
from fencepost.encoding.evidence.manifests import (
    MANIFEST,
    PROVER,
    Claim,
    Contents,
    LiveClaim,
    claimed,
    clauses_file,
    live_folder,
    manifest,
    never_reached,
    proof_file,
    trace_file,
    witness_part,
)
from fencepost.encoding.evidence.queries import Clauses, Encoded, Kind, Query
from fencepost.encoding.evidence.question_files import Asking, monitored_system, questions, remarks
from fencepost.encoding.induction.directed_simulation import traces_to_witnesses
from fencepost.encoding.language.system import Property, System, choose
from fencepost.encoding.language.traces import Subject, Trace
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.encoding.rounds.search import counters, executed, within
from fencepost.encoding.solving.answers import GaveUp, SolverGaveUpError, Yes
from fencepost.encoding.solving.solvers import Refuted, refute


def contents_of(proved: Sequence[Result], budgets: Mapping[str, int], drop_declared: bool) -> Contents:
    """Return what a certificate of these proofs is to prove."""
    claims: list[Claim] = []
    liveness: list[LiveClaim] = []
    for r in proved:
        assert r.basis is not None
        claim = claimed(r.property, r.basis, r.rounds, r.invariants)
        if r.live is None:
            claims.append(claim)
        else:
            liveness.append(LiveClaim(r.live.by, r.live.rounds, claim, r.found))
    found = tuple(dict.fromkeys(clause for r in proved if r.live is None for clause in r.found))
    return Contents(budgets, tuple(claims), found, drop_declared, liveness=tuple(liveness))


def fill(system: System, subject: Subject, proves: Contents, folder: Path) -> Iterator[PreparationPhase]:
    """Make a certificate in a folder that is not yet in use."""
    parts = (yield from _fill(system, subject, proves, folder)) if proves.claims else ()
    liveness = []
    for live in proves.liveness:
        watched = monitored_system(live, system, subject, proves.budgets)
        own = replace(proves, claims=(live.claim,), found=live.found)
        place = folder / live_folder(live.claim.property)
        place.mkdir()
        needed = yield from _fill(watched, subject, own, place)
        liveness.append(replace(live, parts=needed))
    proves = replace(proves, liveness=tuple(liveness))
    _write(folder / MANIFEST, json.dumps(manifest(subject, proves, parts).to_json(), indent=2) + "\n")


def _fill(
    system: System, subject: Subject, proves: Contents, folder: Path
) -> Generator[PreparationPhase, None, tuple[str, ...]]:
    """Write the parts of the claims about the states of one system, and return their names."""
    yield PreparationPhase("certificate: building")
    claims, budgets = proves.claims, proves.budgets
    system = with_found(system, clauses_of(system, proves.found))
    properties = choose(system, tuple(claim.property for claim in claims))
    asking = Asking(system, properties, budgets)
    parts = []
    for question in questions(claims, system):
        name = question.name
        yield PreparationPhase(f"certificate: {name}")
        clauses = asking.clauses(question)
        _write(clauses_file(folder, name), clauses.dimacs(remarks(question, subject, budgets)))
        _write(proof_file(folder, name), "".join(f"{line}\n" for line in refutation(clauses, name)))
        parts.append(name)
    for prop in properties:
        yield PreparationPhase(f"certificate: witness of {prop.name}")
        simulated = traces_to_witnesses(Replayer(system, subject), [prop], budgets)
        trace = next(simulated, None) or find_witness(asking.rounds, subject, prop)
        _write(trace_file(folder, prop), json.dumps(trace.to_json(), indent=2) + "\n")
        parts.append(witness_part(prop.name))
    return tuple(parts)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def refutation(clauses: Clauses, name: str) -> Sequence[str]:
    """Return a proof, in lines, that the clauses are unsatisfiable. Raises InternalError if they are not."""
    match refute(PROVER, clauses.clauses):
        case Refuted(proof):
            return proof
        case Yes():
            raise InternalError(
                f"{name}: the search found the question unsatisfiable, and {PROVER} finds a model"
            )
        case GaveUp(why):
            raise SolverGaveUpError(f"{PROVER}, {name}: {why}")


def find_witness(encoded: Encoded, subject: Subject, prop: Property) -> Trace:
    """Return a replayed trace to a state in which the property's witness is true; there must be one."""
    query = Query(Kind.WITNESS, 1, prop.name)
    solver = RoundSolver(encoded.template(query), "cadical")
    limits, found = counters(solver, encoded.limits()), False
    while not found:
        solver.deepen()
        witness = solver.unrolling.output(f"witness:{prop.name}", solver.rounds)
        found = solver.solve([*within(limits), witness])
    execution = executed(solver)
    actions = [encoded.symbolic.actions[slot] for slot in execution.slots]
    lost = [encoded.system.choices[position].name for position in execution.choices]
    replayer = Replayer(encoded.system, subject)
    return replayer.spare_faults(never_reached(prop), actions, lost, execution.beginning)
