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
    all_of,
    channel,
    each,
    exists,
    family,
    forall,
    implies,
    integers,
    parameter,
    switch,
    variable,
)


@dataclass(frozen=True)
class Parameters:
    """One instance, and what the storage does."""

    holders: int = parameter(2, "how often the lock is granted")
    storage: str = switch(("trusts", "checks"), "whether the storage compares tokens", "fencing tokens")


class Lock(StateSpace):
    """The leases, and the writes of their holders."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.token = integers(1, parameters.holders)
        self.granted = family(BOOL, self.token)
        self.expired = family(BOOL, self.token)
        self.write = channel("write", "holder", "storage", about={"token": self.token})
        self.overwritten = variable(BOOL)


def grant(s: Lock, token: Parameter) -> Action:
    """Grant the lock once all earlier leases have run out."""
    free = forall(s.token, lambda t: implies(t < token, s.expired[t]))
    return Action(when=~s.granted[token] & free, then=[s.granted[token].set(True)], actor="service")


def expire(s: Lock, token: Parameter) -> Action:
    """Let a lease run out, at any time."""
    running = s.granted[token] & ~s.expired[token]
    return Action(when=running, then=[s.expired[token].set(True)], actor="service")


def write(s: Lock, token: Parameter) -> Action:
    """Send the write of a holder."""
    return Action(when=s.granted[token], actor="holder", sent=[s.write.send(token)])


def store(s: Lock, token: Parameter) -> Action:
    """Store a write, unless the storage checks and has one with a later token."""
    later = exists(s.token, lambda t: (t > token) & s.write.is_received(t))
    conditions = [~later] if s.parameters.storage == "checks" else []
    return Action(
        when=all_of(*conditions),
        then=[s.overwritten.set(True, when=later)],
        actor="storage",
        received=s.write.deliver(token),
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = Lock(p)
    actions = [each(handler, s, s.token) for handler in (grant, expire, write, store)]
    kept = Property(
        name="last-holder-wins",
        meaning="the write of a holder is not overwritten by that of one before it",
        holds=~s.overwritten,
        witness=exists(s.token, lambda t: (t > 1) & s.write.is_received(t)),
        witness_meaning="the second holder has written",
    )
    return System(s, tuple(actions), (kept,))


PROTOCOL = Protocol("lease-lock", "a lock with a lease, and what its holders write", Parameters(), build)
