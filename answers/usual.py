"""Answers to usual setups, which were computed earlier and ship in `usual.jsonl`. `make usual` computes them.

A row is used only if its questions are those of today: the same setup, losses, properties and ground systems.
A violation in it is replayed before anybody is told of it. All other answers are told as computed earlier.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fencepost.answers.advice import ANYTHING_ELSE, Advice
from fencepost.answers.risk_search import RiskFinding, RiskQuestion, any_other, at_own_sizes, at_these_sizes
from fencepost.answers.setups import Setup
from fencepost.encoding import keys as k
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.saved_traces import saved_execution
from fencepost.encoding.documents import Key, has_keys, is_a, parse_json, read_text
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.canonical import digest
from fencepost.encoding.language.system import choose
from fencepost.encoding.language.traces import Trace

PLACE = Path(__file__).with_name("usual.jsonl")
"""The rows, one a line, sorted by their setups."""

HINT = "it is part of this package; --fresh does without it"

SETUP = k.keys(
    ensemble=k.whole("E", 1),
    write_quorum=k.whole("WQ", 1),
    ack_quorum=k.whole("AQ", 1),
    bookies=k.whole("the number of bookies, E + 1 at most: one spare stands for all", 1),
    release=k.text("the release of BookKeeper"),
    storage=k.text("the storage of the ledgers"),
    journal=k.flag("the journal is on"),
    sync=k.flag("the journal is synced"),
    checks=k.flag("the checks of the bookie are on"),
)
EXECUTION = k.keys(
    property=k.text("the property that it violates"),
    initial=k.table(k.PLAIN, "the choices that are true, and variables with several initial values"),
    steps=Key(
        list,
        "a list of steps, each a list: the name of the action, then its arguments",
        lambda steps: all(isinstance(s, list) and s and all(is_a(v, k.PLAIN) for v in s) for s in steps),
    ),
)
FOUND = k.keys(
    verdict=k.among((v.value for v in Verdict), "the verdict"),
    reason=k.text("why it was not decided at these sizes; empty if it was"),
    small=k.flag("the verdict is for the small instance of the known bug"),
    execution=k.null(k.one(EXECUTION, "the execution that violates a property"), "unless violated"),
)
ROW = k.document(
    "fencepost.usual/1",
    setup=k.one(SETUP, "the setup asked about"),
    model=k.text("a digest (SHA-256) of the questions: losses, properties and ground systems"),
    answers=k.named(FOUND, "by the name of a loss, the answer to the question about it"),
)
"""The keys of a row."""


class NotUsable(Exception):
    """A row that must not be used. The message says why."""


def questions(unasked: Advice) -> dict[str, RiskQuestion]:
    """Return the questions about a setup by the name of the loss, each at the sizes asked about."""
    setup, bugs = unasked.setup, [risk.bug for risk, _ in unasked.losing]
    found = {risk.bug.name: at_these_sizes(risk, setup, bugs) for risk, _ in unasked.losing}
    return {**found, ANYTHING_ELSE: any_other(setup, bugs)}


def small_questions(unasked: Advice) -> dict[str, RiskQuestion]:
    """Return the same questions on the small instances of the known bugs."""
    bugs = [risk.bug for risk, _ in unasked.losing]
    return {risk.bug.name: at_own_sizes(risk, unasked.setup, bugs) for risk, _ in unasked.losing}


def model_of(asked: Mapping[str, RiskQuestion]) -> str:
    """Return the digest of these questions. It covers what can happen and what is asked, not the words."""
    lines = (f"{name} {q.properties} {digest(q.instance.written)}\n" for name, q in sorted(asked.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def setup_of(setup: Setup) -> dict[str, Any]:
    """Return the setup as a row has it. All that decides its questions is in it."""
    sizes = setup.sizes
    return {name: sizes[name] if name in sizes else getattr(setup, name) for name in SETUP}


def rows() -> list[dict[str, Any]]:
    """Return the rows that ship. Raises BadInput if a line is no JSON."""
    lines = read_text(PLACE, HINT).splitlines()
    return [parse_json(line, f"{PLACE.name}: line {n}", HINT) for n, line in enumerate(lines, 1)]


def answered_earlier(unasked: Advice) -> Advice:
    """Return the advice with the answers of its row. If no row can be used, nothing is answered.

    The remark of the advice says which version answered, or why the row is not used.
    """
    asked = setup_of(unasked.setup)
    row = next((row for row in rows() if isinstance(row, dict) and row.get("setup") == asked), None)
    if row is None:
        return unasked
    try:
        return _with_answers(unasked, row)
    except (NotUsable, NotAnExecution, BadInput) as why:
        return replace(unasked, remark=f"The answer that ships for this setup is not used: {why}.")


def _with_answers(unasked: Advice, row: Mapping[str, Any]) -> Advice:
    has_keys(row, ROW, "its row")
    asked, small = questions(unasked), small_questions(unasked)
    answers = row["answers"]
    if answers.keys() != asked.keys() or row["model"] != model_of(asked):
        raise NotUsable("it is of another model")
    found = {
        name: replace(
            _finding(name, answers[name], asked[name], small.get(name)), computed_with=row["version"]
        )
        for name in asked
    }
    return replace(
        unasked,
        losing=[(risk, found[risk.bug.name]) for risk, _ in unasked.losing],
        rest=found[ANYTHING_ELSE],
        remark=f"Computed with version {row['version']}, not checked again here; --fresh computes it.",
    )


def _finding(
    name: str, answer: Mapping[str, Any], here: RiskQuestion, small: RiskQuestion | None
) -> RiskFinding:
    """Return the finding of an answer. Raises NotUsable and NotAnExecution unless it fits its question."""
    has_keys(answer, FOUND, name)
    question = small if answer["small"] else here
    verdict, execution = Verdict(answer["verdict"]), answer["execution"]
    is_violated = verdict is Verdict.VIOLATED
    if question is None or is_violated != (execution is not None) or is_violated < answer["small"]:
        raise NotUsable(f"{name}: {verdict.value} does not fit the rest of its answer")
    if execution is None:
        return question.finding(verdict, answer["reason"], None)
    found = question.finding(verdict, "", _replayed(name, question, execution))
    return replace(found, reason=answer["reason"])


def _replayed(name: str, question: RiskQuestion, execution: Mapping[str, Any]) -> Trace:
    """Return the trace of an execution, replayed in the instance of the question.

    The system is the one as written: to fold it takes longer than to replay a few steps.
    """
    has_keys(execution, EXECUTION, name)
    if execution["property"] not in question.properties:
        raise NotUsable(f"{name}: {execution['property']} was not asked")
    system = question.instance.written
    steps = [{"action": action, "arguments": dict(enumerate(given))} for action, *given in execution["steps"]]
    saved = {"protocol": question.preset, "initial": execution["initial"], "steps": steps}
    (prop,) = choose(system, (execution["property"],))
    return Replayer(system, question.instance.subject).replay(prop, *saved_execution(saved, system))
