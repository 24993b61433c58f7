"""Counterexamples of several protocols, to be told in every form: late, lost, crashed, and without any message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.language.protocol import choose, load
from fencepost.properties.catalogue import find
from support.instances import actions

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_copies.py"


@dataclass(frozen=True)
class Told:
    """What is replayed: steps such as `push: w 1 2`, and the choices that are true."""

    protocol: str
    prop: str
    steps: Sequence[str]
    settings: Mapping[str, object] = field(default_factory=dict)
    lost: Sequence[str] = ()


TOLD = {
    "late": Told(
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
    "lost": Told(
        str(EXAMPLE),
        "nothing-lost",
        ("send: 1", "store: 1 c2", "receive answer: 1 c2", "acknowledge: 1", "take over: c1"),
        {"acknowledge": "reachable"},
        ("write_lost[1, c1]",),
    ),
    "crashed": Told(
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
    "chained": Told(
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
"""By what is special about each. Whether these are executions at all is for the replay to say."""


@cache
def story(name: str) -> Counterexample:
    """One of them, replayed."""
    return replayed(TOLD[name])


def replayed(told: Told) -> Counterexample:
    """Those steps, as a story; raises NotAnExecution unless they violate the property."""
    protocol = load(Path(told.protocol)) if told.protocol.endswith(".py") else find(told.protocol)
    parameters = protocol.parameters(told.settings.items())
    system = protocol.system(parameters)
    (prop,) = choose(system, (told.prop,))
    replayer = Replayer(system, protocol.subject(parameters))
    trace = replayer.replay(prop, actions(system, told.steps), told.lost)
    return Counterexample(
        trace, system, prop, f"{prop.name}: violated", protocol.changed_switches(parameters)
    )
