"""Cases of advice: each is one question that `advise` asks about setups, and setups share many of them.

A grid names setups. A question is an instance with all its settings, the properties of which a violation of
one is enough, and the search that comes first. The column `property` has the names of all these properties.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.answers.advice import Advice
from fencepost.answers.advice_search import limits_of
from fencepost.answers.asked_setup import unasked
from fencepost.answers.risk_search import DECIDED, RiskQuestion, Shortcut, searched
from fencepost.answers.setups import Setup
from fencepost.answers.usual import ROW, model_of, questions, setup_of, small_questions
from fencepost.answers.without_recoverer import violations_by_the_writer
from fencepost.answers.without_spare import violations_by_rounds, violations_without_spare
from fencepost.encoding import keys as k
from fencepost.encoding.documents import Key, has_keys, whole
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import TIME_OUT, BadInput
from fencepost.encoding.language.traces import shown_name
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.releases import listed
from fencepost.quorums.deployment import Deployment
from fencepost.quorums.storages import STORAGES
from fencepost.quorums.stripes import Configuration
from fencepost.sweeps import ranges
from fencepost.sweeps.ranges import LISTED
from fencepost.sweeps.rows import ERROR, Row, unanswered
from fencepost.sweeps.sweep_cases import ADVICE, SweepCase

JOURNALS = {"on": (True, True), "unsynced": (True, False), "off": (False, True)}
"""Whether the journal is on, and whether it is synced, by the values of the key `journal`."""

SPARES = {"ensemble": 0, "ensemble+1": 1}
"""The number of spare bookies by the values of the key `bookies`."""

KEYS = {
    "advice": Key(LISTED, "E/WQ/AQ, such as ['3/2/2']", needed=True),
    "releases": Key(LISTED, "releases of BookKeeper, such as ['4.17.4']", needed=True),
    "bookies": Key(LISTED, f"some of {', '.join(SPARES)}"),
    "storages": Key(LISTED, f"some of {', '.join(STORAGES)}"),
    "journal": Key(LISTED, f"some of {', '.join(JOURNALS)}"),
}
"""The keys of a table `[[grid]]` that asks for advice. Without `bookies` there is a spare one, without
`storages` it is db, and without `journal` the journal is on."""

FIRST: Mapping[str, Shortcut | None] = {
    "": None,
    "by-rounds": violations_by_rounds,
    "by-writer": violations_by_the_writer,
    "without-spare": violations_without_spare,
}
"""The search that comes first, by its name in the setting `first`."""


def setups(table: Mapping[str, Any]) -> Iterator[Setup]:
    """Yield the setups of a table. Raises BadInput."""
    has_keys(table, KEYS, "[[grid]]")
    sizes = [_sizes(str(one)) for one in ranges.listed("advice", table["advice"])]
    releases = [listed(str(one)) for one in ranges.listed("releases", table["releases"])]
    spares = ranges.names("bookies", table.get("bookies", "ensemble+1"), tuple(SPARES))
    storages = ranges.names("storages", table.get("storages", "db"), tuple(STORAGES))
    journals = ranges.names("journal", table.get("journal", "on"), tuple(JOURNALS))
    for one, release, spare, storage, journal in itertools.product(
        sizes, releases, spares, storages, journals
    ):
        bookies = one.ensemble + SPARES[spare]
        is_on, is_synced = JOURNALS[journal]
        yield Setup(one, bookies, release, journal=is_on, storage=storage, sync=is_synced)


def _sizes(given: str) -> Configuration:
    match [whole(part) for part in given.split("/")]:
        case [int() as ensemble, int() as write_quorum, int() as ack_quorum]:
            return Configuration(ensemble, write_quorum, ack_quorum)
    raise BadInput(f"advice = {given!r}: is no E/WQ/AQ; write one as '3/2/2'")


def asked(table: Mapping[str, Any]) -> Iterator[SweepCase]:
    """Yield the cases of a table. Raises BadInput."""
    for setup in setups(table):
        yield from cases_of(unadvised(setup))


def unadvised(setup: Setup) -> Advice:
    """Return the advice on a setup before any question."""
    return unasked(setup, Deployment(setup.configuration, setup.bookies))


def cases_of(about: Advice) -> Iterator[SweepCase]:
    """Yield the questions about a setup, and those on small instances, as cases."""
    yield from map(case_of, (*questions(about).values(), *small_questions(about).values()))


def case_of(question: RiskQuestion) -> SweepCase:
    """Return the case of a question. The larger the instance, the harder it is."""
    subject, parameters = question.instance.subject, question.instance.parameters
    settings = {**subject.parameters, **subject.switches}
    settings["first"] = next(name for name, search in FIRST.items() if search is question.first)
    return SweepCase(
        question.preset,
        tuple((name, str(value)) for name, value in settings.items()),
        "+".join(question.properties),
        ADVICE,
        weight=parameters.bookies * getattr(parameters, "entries", 1),
    )


def ask(case: SweepCase, timeout: float) -> Row:
    """Return the columns of the answer to a case, asked with the limits of `advise`."""
    begun, settings = time.perf_counter(), dict(case.settings)
    first = FIRST[settings.pop("first")]
    limits = limits_of(timeout)
    instance = find(case.protocol).instance(settings.items())
    verdict, reason, trace = searched(instance, tuple(case.property.split("+")), first, limits)
    found = {"trace": json.dumps(trace.to_json()), "steps": len(trace.steps)} if trace else {}
    return {**unanswered(verdict.value, reason, time.perf_counter() - begun), **found}


def usual_row(about: Advice, answered: Mapping[str, Row], engine: str) -> dict[str, Any] | None:
    """Return the row that ships for a setup, from rows by id; None if one is an error or out of time."""
    asked, small = questions(about), small_questions(about)
    found = {}
    for name, question in asked.items():
        row = shown = answered[case_of(question).identify(engine)]
        if row["verdict"] not in [verdict.value for verdict in DECIDED] and name in small:
            shown = answered[case_of(small[name]).identify(engine)]
        if any(one["verdict"] == ERROR or TIME_OUT in (one["reason"] or "") for one in (row, shown)):
            return None
        is_small = shown is not row and shown["verdict"] == Verdict.VIOLATED.value
        shown, question = (shown, small[name]) if is_small else (row, question)
        found[name] = {
            "verdict": shown["verdict"],
            "reason": row["reason"] or "",
            "small": is_small,
            "execution": _execution(shown, question),
        }
    return k.headed(ROW, {"setup": setup_of(about.setup), "model": model_of(asked), "answers": found})


def _execution(row: Row, question: RiskQuestion) -> dict[str, Any] | None:
    """Return what replays the trace of a row: its property, how it begins, and its actions."""
    if row["trace"] is None:
        return None
    trace, system = json.loads(row["trace"]), question.instance.system
    choices = {v.name for v in system.choices}
    varied = {shown_name(v.family, v.index) for v in system.varied}
    begins = {
        name: value
        for name, value in trace["initial"].items()
        if name in varied or (name in choices and value is True)
    }
    steps = [[step["action"], *step["arguments"].values()] for step in trace["steps"]]
    return {"property": trace["property"], "initial": begins, "steps": steps}
