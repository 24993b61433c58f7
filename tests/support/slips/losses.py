"""Files in which one loss stands for several sendings, read in each place where a loss can be read.

The slipped file has one choice for all attempts. The file that is meant has one for each sending: its choice
has an index for the attempt, or for the sender.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from support.slips.kinds import Slip

FORM = '''"""A message that is sent again."""

from dataclasses import dataclass

from fencepost.encoding.language import *


@dataclass(frozen=True)
class Parameters:
    nodes: int = parameter(2, "nodes")


class State(StateSpace):
    def __init__(self, p):
        self.node = labels("node", "n", p.nodes)
        self.attempt = integers(0, {last})
        self.tries = variable(integers(0, {most}))
        self.asked = family(BOOL, self.node)
        self.done = family(BOOL, self.attempt)
        self.stored = family(BOOL, self.attempt)
        self.lost = choice({over}fault="lost")


def send(s{argument}):
    """Send, or send again."""
    return Action(
        when={can_send},
        then=[{sends}],
        actor="a",
        sent=[message("write", "a", "b", about={{"t": {which}}}{named})],
    )


def take(s, t):
    """Take a message."""
    return Action(
        when={was_sent} & ~s.done[t]{guard},
        then=[{then}],
        actor="b",
        {received}
        {answer}
    )


def build(p):
    s = State(p)
    kept = Property(
        "kept", "a claim", holds={holds}, witness={witness}, witness_meaning="w"
    )
    return System(s, (each(send, s{each}), each(take, s, s.attempt)), (kept,))


PROTOCOL = Protocol("made", "a protocol", Parameters(), build)
'''

PLACES = (
    "guard",
    "condition of an update",
    "value of an update",
    "value of an update, in a choice",
    "contents of a message",
    "condition of a sending",
)


def _literal(chance: random.Random, last: int) -> str:
    name = chance.choice(("stored", "stored", "done"))
    text = f"s.{name}[{chance.randint(0, last)}]"
    return text if chance.random() < 0.6 else f"~{text}"


def _file(seed: int, where: str, received: bool, meant: bool) -> str:
    """Return the file of a seed with a loss that is read there, as it is slipped or as it is meant."""
    chance = random.Random(seed)
    last, senders = chance.choice((1, 1, 2)), chance.random() < 0.3
    last = 1 if senders else last
    wrong = chance.random() < 0.5
    holds = "~(" + " & ".join(_literal(chance, last) for _ in range(chance.choice((2, 3, 4)))) + ")"
    if chance.random() < 0.3:
        holds = f"forall(s.attempt, lambda t: implies(s.done[t], s.stored[t])) | {holds}"
    elif wrong:
        holds = "~((s.done[0] & s.done[1]) & (s.stored[0] & ~s.stored[1]))"
    witness = chance.choice(("s.done[1]", "s.stored[0]", "s.stored[1]", "s.tries == 1"))
    if senders and witness == "s.tries == 1":
        witness = "s.done[0]"
    named = chance.random() < 0.15
    lost = "s.lost[t]" if meant else "s.lost"
    then = ["s.done[t].set(True)"]
    guard = answer = ""
    match where:
        case "guard":
            guard = f" & ~{lost}"
            then += ["s.stored[t].set(True)"]
        case "condition of an update":
            then += [f"s.stored[t].set(True, when=~{lost})"]
        case "value of an update":
            then += [f"s.stored[t].set(~{lost})"]
        case "value of an update, in a choice":
            then += [f"s.stored[t].set(if_({lost}, s.stored[t], True))"]
        case "contents of a message":
            then += ["s.stored[t].set(True)"]
            answer = f'sent=[message("answer", "b", "a", about={{"t": t}}, says={{"well": ~{lost}}})],'
        case _:
            then += ["s.stored[t].set(True)"]
            answer = f'sent=[message("answer", "b", "a", about={{"t": t}}, when=~{lost})],'
    return FORM.format(
        last=last,
        most=last + 1,
        over="self.attempt, " if meant else "",
        argument=", n" if senders else "",
        each=", s.node" if senders else "",
        can_send="~s.asked[n]" if senders else f"(s.tries < {last + 1})",
        sends="s.asked[n].set(True)" if senders else "s.tries.set(s.tries + 1)",
        which='if_(n == "n1", 0, 1)' if senders else "s.tries",
        named=f", lost={'s.lost' if not meant else 's.lost[s.tries]'}" if named and not senders else "",
        was_sent='(s.asked["n1"] & (t == 0) | s.asked["n2"] & (t == 1))' if senders else "(t < s.tries)",
        guard=guard,
        then=", ".join(then),
        received='received=message("write", "a", "b", about={"t": t}),' if received else "",
        answer=answer,
        holds=holds,
        witness=witness,
    )


def shared(where: str, received: bool, seed: int) -> Iterator[Slip]:
    """Yield the file of a seed in which one loss for all sendings is read there."""
    kind = f"one loss for several sendings: {where}{'' if received else ', without received='}"
    yield Slip(kind, _file(seed, where, received, False), _file(seed, where, received, True))
