"""The documents of `check` and `known`: the keys of `fencepost.check`, `fencepost.known` and their parts."""

from __future__ import annotations

from typing import Any

from fencepost.encoding import keys as k
from fencepost.encoding.concrete.saved_traces import SUBJECT, TRACE
from fencepost.encoding.engine.limits import Minimize
from fencepost.encoding.engine.named_clauses import CLAUSE_WITH_TEXT, found_json
from fencepost.encoding.engine.verdicts import Basis, Fewest, LiveBasis, Result, Verdict
from fencepost.encoding.forms.falsified import FALSE_BECAUSE

CAPS = k.table(
    (int, str),
    "what bounds the verdicts: caps and constraint of the model, steps, rounds and faults with a budget",
)
SUBJECT_WITH_CAPS = SUBJECT | k.keys(caps=CAPS)
VERDICT = k.among((v.value for v in Verdict), "the verdict")
BASIS = k.among(
    (basis.value for basis in Basis),
    "why a proof covers every execution; enumeration rests on the concrete reading alone",
)
FEWEST = k.among(
    (Fewest.OF_ALL.value, Fewest.WITHIN_ROUNDS.value), "among which traces none is shorter or costs less"
)
REACHED = k.keys(
    longer=k.null(k.whole("some execution needs more rounds than that"), "if not known"),
    frames=k.null(k.whole("frames of IC3"), "if it did not begin"),
    clauses=k.null(k.whole("clauses of IC3, alike ones counted once"), "if it did not begin"),
    states=k.null(k.whole("states that the enumeration visited"), "if it did not begin"),
    steps=k.null(k.whole("steps to the visited states that are farthest away"), "if it did not begin"),
    memory=k.null(k.whole("the most bytes that one process had"), "if not known"),
)
VISITED = k.keys(
    states=k.whole("all states that are reachable within the caps", 1),
    orbits=k.null(k.whole("visited states, if each stands for those that symmetry makes of it", 1)),
    steps=k.whole("no state is farther away than that"),
)
LIVE = k.keys(
    by=k.among(
        (by.value for by in LiveBasis),
        "states: the graph of all states; ends: every execution ends; rounds: a largest number of rounds of "
        "fairness; loops: a search for a fair loop",
    ),
    rounds=k.null(k.whole("the largest number of rounds of fairness while it is owed"), "unless by rounds"),
    fair=k.texts("the fair actions, or the names under which some are fair together"),
    excused=k.texts("the caps of the model that the property excuses: it says nothing where one is met"),
)
RESULT = k.keys(
    property=k.text("the name of the property"),
    verdict=VERDICT,
    basis=k.null(BASIS, "unless the verdict is proved"),
    rounds=k.whole("rounds of the trace, or that cover every execution, or that were searched"),
    searched=k.whole("the deepest round searched"),
    steps=k.null(k.whole("steps of the trace"), "without a trace"),
    shortest_at_least=k.null(
        k.whole("no violation takes fewer steps; the steps if the trace is the shortest"),
        "if nothing is proved of it",
    ),
    minimized=k.null(k.among(Minimize, "what was made small in the trace"), "without a trace"),
    fewest=k.null(FEWEST, "if not asked, or nothing is violated"),
    faults=k.null(k.table(int, "how many faults of each kind the trace has"), "without a trace"),
    complete=k.flag("every execution within the caps was searched, by rounds or by enumeration"),
    invariants=k.texts("the names of the invariants that the induction carries along and so proves too"),
    found=k.many(CLAUSE_WITH_TEXT, "the clauses that an engine found and that the proof uses"),
    visited=k.null(k.one(VISITED, "the visited states"), "unless an enumeration decided it"),
    bound=k.null(k.whole("--bound"), "without"),
    witness=k.flag("the witness of the property was reached"),
    reason=k.null(
        k.text(
            "why it is undecided or not proved, why there are few traces, or how many simulations violate it"
        )
    ),
    seconds=k.seconds("seconds until this property was settled"),
    solver=k.text("--solver, or simulation"),
    trace=k.null(k.one(TRACE, "the counterexample"), "unless the verdict is violated"),
    more_traces=k.many(TRACE, "further counterexamples, under --count"),
    certificate=k.null(k.text("the folder with the certificate of this proof"), "if none was written"),
    live=k.null(k.one(LIVE, "what the verdict rests on"), "unless it is about liveness"),
    reached=k.null(k.one(REACHED, "how far the engines came"), "unless it is undecided"),
    uncertified=k.null(k.text("under --certificates, why there is no certificate")),
    try_next=k.null(k.text("what may decide it"), "unless it is undecided"),
    known=k.texts("the known bugs that explain the traces; none if one of them has no explanation"),
    may_hide=k.texts("other known bugs of the same rules that violate the property; known shows each"),
    false_because=k.many(
        FALSE_BECAUSE, "for trace and for each of more_traces: why the property is false at its end"
    ),
    instance=k.null(
        k.one(
            SUBJECT_WITH_CAPS,
            "the instance on which it was checked, because that of the document does not exercise it",
        ),
        "if it was",
    ),
)
CHECK = k.document(
    "fencepost.check/3",
    **SUBJECT,
    changed_switches=k.table(str, "the switches that differ from the default of their family"),
    release=k.null(k.text("the release whose switches the instance has (--release)")),
    unlike_release=k.table(str, "the switches that differ from that release, or else from the newest one"),
    drop_declared=k.flag("--drop-declared: the declared invariants are not used"),
    unmodelled=k.UNMODELLED,
    remarks=k.texts("actions, updates and properties whose text says nothing on this instance"),
    caps=CAPS,
    results=k.many(RESULT, "a result for each property; those with an instance of their own are the last"),
    interrupted=k.INTERRUPTED,
    seconds=k.seconds("seconds for the check"),
)


def result_object(result: Result, **others: Any) -> dict[str, Any]:
    """Return a result for programs; `others` has the keys that the command adds."""
    minimized, found = result.minimized if result.trace else None, found_json(result.found)
    return k.from_record(RESULT, result, minimized=minimized, found=found, **others)


# fencepost known.

EXPECTED = k.keys(
    verdict=k.among((v.value for v in Verdict), "violated with the bug, nearly always proved without"),
    steps=k.null(k.whole("the fewest steps of a trace"), "without the bug"),
)
FOUND = {
    name: RESULT[name] for name in ("verdict", "steps", "fewest", "rounds", "complete", "basis", "reason")
}
RUN = k.keys(
    bug=k.text("the name of the bug, as known takes it").of("run.known.name"),
    sentence=k.text("what goes wrong").of("run.known.wrong"),
    source=k.text("where it was reported and mended, and which releases have it").of("run.known.source"),
    protocol=k.text("the name of the protocol").of("run.known.protocol"),
    settings=k.table(k.PLAIN, "what the instance changes in the defaults, apart from the switch").of(
        "run.known.settings"
    ),
    switch=k.null(k.text("the switch that carries the bug"), "if nothing mends it").of("run.known.switch"),
    value=k.null(k.text("its value in this run"), "without a switch").of("run.value"),
    with_bug=k.flag("this value has the bug").of("run.with_bug"),
    property=k.text("the property checked").of("run.known.property"),
    expected=k.one(EXPECTED, "what must come out").of("run"),
    found=k.one(FOUND, "what came out").of("result"),
    as_expected=k.null(k.flag("it came out as expected"), "if that is not decided"),
    seconds=k.seconds("seconds until the property was settled").of("result.seconds"),
)
KNOWN_BUGS = k.document(
    "fencepost.known/2",
    unmodelled=k.texts("what the models leave out of the code, each line once"),
    results=k.many(RUN, "two runs for each bug, with it and without it; one if nothing mends it"),
    interrupted=k.INTERRUPTED,
    seconds=k.seconds("seconds for the command"),
)
