"""Counterexamples of several protocols for the tests of forms: late, lost, crashed, and without messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.system import choose
from fencepost.properties.catalogue import find
from support.instances import actions

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_copies.py"


@dataclass(frozen=True)
class Execution:
    """Steps such as `push: w 1 2` and the losses that are true, from which a counterexample is replayed."""

    protocol: str
    prop: str
    steps: Sequence[str]
    settings: Mapping[str, object] = field(default_factory=dict)
    lost: Sequence[str] = ()


EXECUTIONS = {
    "late": Execution(
        "bookkeeper-4.13",
        "no-divergence",
        (
            "create ledger:",
            "push: 1 1",
            "handle add: w 1 1 b2",
            "receive ack: w 1 1 b2",
            "begin recovery: r1",
            "handle fence: r1 b2",
            "receive fence answer: r1 b2",
            "send reads: r1 1",
            "handle read: r1 1 b1",
            "receive read answer: r1 1 b1",
            "finish recovery: r1 1",
            "handle add: w 1 1 b1",
            "receive ack: w 1 1 b1",
        ),
        {"bookies": 2, "ensemble": 2, "write_quorum": 2},
        ("fence_lost[r1, b1]",),
    ),
    "lost": Execution(
        str(EXAMPLE),
        "nothing-lost",
        ("send: 1", "store: 1 c2", "receive answer: 1 c2", "acknowledge: 1", "take over: c1"),
        {"acknowledge": "reachable"},
        ("write_lost[1, c1]",),
    ),
    "crashed": Execution(
        "verified-log-02",
        "progress",
        (
            "start: p1",
            "handle first request: p1 1",
            "receive grant: p1 1",
            "time out: p1 1",
            "handle request: p1 1 1",
            "handle close: 1 asked n2 1",
            "receive close answer: 1 n2 1 n1+n3",
            "crash: n2",
        ),
        lost=("close_lost[1, asked, n1, 1]",),
    ),
    "chained": Execution(
        "ledger-chain",
        "written-ledgers-listed",
        (
            "become leader: c1",
            "find no ledger: c1",
            "create ledger: c1 1",
            "elect: c2",
            "become leader: c2",
            "find no ledger: c2",
            "create ledger: c2 2",
            "append ledger: c1 1",
            "write: c1 1",
            "append ledger: c2 2",
        ),
        {"append_compares": "no"},
    ),
}
"""The executions, each by its special feature. The replay checks that they are executions at all."""


@cache
def counterexample_of(name: str) -> Counterexample:
    """Return one of the counterexamples, replayed."""
    return replayed(EXECUTIONS[name])


def replayed(execution: Execution) -> Counterexample:
    """Return those steps as a counterexample; raise NotAnExecution unless they violate the property."""
    protocol = (
        load(Path(execution.protocol)) if execution.protocol.endswith(".py") else find(execution.protocol)
    )
    instance = protocol.instance(execution.settings.items())
    system, parameters = instance.system, instance.parameters
    (prop,) = choose(system, (execution.prop,))
    replayer = Replayer(system, protocol.subject(parameters))
    trace = replayer.replay(prop, actions(system, execution.steps), execution.lost)
    return Counterexample(trace, system, prop, f"{prop.name}: violated", instance.changed_switches)
