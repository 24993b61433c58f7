"""A lock with a lease: a holder that was paused does not know that its lease has run out."""

from dataclasses import dataclass

from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    Protocol,
    StateSpace,
    System,
    each,
    exists,
    family,
    forall,
    implies,
    integers,
    message,
    parameter,
    switch,
    variable,
)


@dataclass(frozen=True)
class Parameters:
    holders: int = parameter(2, "how often the lock is granted")
    storage: str = switch(("trusts", "checks"), "whether the storage compares tokens", "fencing tokens")


class Lock(StateSpace):
    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.token = integers(1, parameters.holders)
        self.granted = family(BOOL, self.token)
        self.expired = family(BOOL, self.token)
        self.sent = family(BOOL, self.token)
        self.stored = family(BOOL, self.token)
        self.overwritten = variable(BOOL)


def grant(s: Lock, token: Parameter) -> Action:
    """The lock service grants the lock once all leases before have run out."""
    free = forall(s.token, lambda t: implies(t < token, s.expired[t]))
    return Action(when=~s.granted[token] & free, then=[s.granted[token].set(True)], actor="service")


def expire(s: Lock, token: Parameter) -> Action:
    """A lease runs out, whatever its holder is doing."""
    running = s.granted[token] & ~s.expired[token]
    return Action(when=running, then=[s.expired[token].set(True)], actor="service")


def write(s: Lock, token: Parameter) -> Action:
    """A holder sends its write."""
    sending = [message("write", "holder", "storage", about={"token": token})]
    fresh = s.granted[token] & ~s.sent[token]
    return Action(when=fresh, then=[s.sent[token].set(True)], actor="holder", sent=sending)


def store(s: Lock, token: Parameter) -> Action:
    """The storage takes a write, unless it has one with a later token and checks."""
    later = exists(s.token, lambda t: (t > token) & s.stored[t])
    taken = ~later if s.parameters.storage == "checks" else True
    return Action(
        when=s.sent[token] & ~s.stored[token] & taken,
        then=[s.stored[token].set(True), s.overwritten.set(True, when=later)],
        actor="storage",
        received=message("write", "holder", "storage", about={"token": token}),
    )


def build(p: Parameters) -> System:
    s = Lock(p)
    actions = [each(handler, s, s.token) for handler in (grant, expire, write, store)]
    kept = Property(
        name="last-holder-wins",
        meaning="the write of a holder is not overwritten by that of one before it",
        holds=~s.overwritten,
        witness=exists(s.token, lambda t: (t > 1) & s.stored[t]),
        witness_meaning="the second holder has written",
    )
    return System(s, tuple(actions), (kept,))


PROTOCOL = Protocol("lease-lock", "a lock with a lease, and what its holders write", Parameters(), build)
