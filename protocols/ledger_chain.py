"""A chain of ledgers: each leader in turn closes the last ledger and appends ledgers of its own.

The model follows LedgerChaining.tla of Vanlightly/bookkeeper-tlaplus; each action names the action it
models there. The election of a leader is left open: the store may name another leader at any time, and each
client notices at some later time. A ledger holds one entry, which is enough for order and loss, and its
bookies are treated as one. `bookkeeper` models the events within a ledger.

Differences from the module:

- A ledger's version is left out. It is 0 while the ledger is open and 1 once it is closed, so a comparison
of versions asks whether the ledger is still open. There is no flag for a client that believes it leads: it
does unless it is waiting. The next ledger id and the number of the next entry are derived too. States
correspond one to one.
- The list is kept as the position of each ledger in it. This also describes a client whose list is
unrelated to the store's, which is possible with `append_compares=no`.
- Ledgers are bounded, and elections too if a bound is given. The module bounds ledgers alone.
- The retry of `append_conflict` is not in the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from fencepost.encoding.language.actions import Action, Schema, each, in_turn
from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.parameters import parameter, require, switch
from fencepost.encoding.language.quantifiers import exists, forall, maximum
from fencepost.encoding.language.sorts import BOOL, integers, labels, members
from fencepost.encoding.language.state import StateSpace, definition, family, variable
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Parameter, Term, TermLike, Update

STORE = "store"
NOTHING_READ = -1

# Parameters and switches. The first value of each switch is the protocol, the second a mutant of it.

_MODULE = "Vanlightly/bookkeeper-tlaplus, LedgerChaining.tla"


@dataclass(frozen=True)
class ChainParameters:
    """One instance. Raises BadInput for a retry after a comparison that is not made."""

    clients: int = parameter(3, "clients that may lead")
    ledgers: int = parameter(2, "ledgers that may be created")
    elections: int = parameter(0, "times that the store may elect another leader (0: no bound)", least=0)

    append_compares: str = switch(
        ("yes", "no"),
        "the append to the list compares its version with the one read, or overwrites the list",
        f"{_MODULE}, AppendLedgerSuccess",
    )
    append_conflict: str = switch(
        ("abdicate", "retry"),
        "a leader whose append meets another version stops leading, or reads the list again and appends",
        f"{_MODULE}, AppendLedgerBadVersion; the retry is what a helper around compare-and-set does",
    )
    close_fences: str = switch(
        ("yes", "no"),
        "closing another leader's ledger fences it on the bookies, or only writes the metadata",
        f"{_MODULE}, CloseLastLedgerSuccess",
    )
    write_checks_fence: str = switch(
        ("yes", "no"), "a fenced ledger refuses the entry, or takes it", f"{_MODULE}, WriteToLedger"
    )

    def __post_init__(self) -> None:
        """Refuse a retry without a comparison."""
        require(
            "append_compares=yes if append_conflict=retry",
            self.append_compares == "yes" or self.append_conflict == "abdicate",
            {"append_compares": self.append_compares, "append_conflict": self.append_conflict},
            "an append that does not compare meets no conflict",
        )


# State: the store's metadata, the content of the bookies, and each client's own copy.


class ChainMetadata(Enum):
    """The store's metadata of a ledger."""

    NOT_CREATED = "not created"
    OPEN = "open"
    CLOSED = "closed"


class ChainStatus(Enum):
    """The next step of a client."""

    WAITING = "waiting"
    """The client does not lead, as far as it knows. In any other status it believes that it leads."""
    GET_LAST_LEDGER = "get last ledger"
    CLOSE_LAST_LEDGER = "close last ledger"
    CREATE_LEDGER = "create ledger"
    APPEND_LEDGER = "append ledger"
    LEDGER_OPEN = "ledger open"


class Chain(StateSpace):
    """The list of ledgers, the ledgers, and the clients."""

    stores: ClassVar[Mapping[str, tuple[str, ...]]] = {
        STORE: ("leader", "metadata", "position", "list_version", "elections")
    }

    def __init__(self, parameters: ChainParameters) -> None:
        """Declare the state variables."""
        p = self.parameters = parameters
        client = self.client = labels("client", "c", p.clients)
        ledger = self.ledger = integers(1, p.ledgers)
        count = integers(0, p.ledgers)

        # Metadata store.
        self.leader = variable(client)
        self.metadata = family(members(ChainMetadata), ledger)
        self.position = family(count, ledger)
        """The position of the ledger in the list, from 1; 0 if the ledger is not listed."""
        self.list_version = variable(count)
        self.elections = variable(integers(0, p.elections))
        """The number of elections so far, if elections are bounded."""

        # Bookies.
        self.entry = family(count, ledger)
        """The ledger's entry, numbered through all ledgers in the order of writing; 0 if there is none."""
        self.fenced = family(BOOL, ledger)

        # Clients: the data that each has read or written. It is not read again before it is used.
        self.status = family(members(ChainStatus), client)
        self.own_position = family(count, client, ledger)
        self.own_version = family(integers(NOTHING_READ, p.ledgers), client, initial=NOTHING_READ)
        self.own_ledger = family(count, client)
        """The ledger that the client closes, appends or writes to; 0 if it has had none."""
        self.own_open = family(BOOL, client)
        """Whether that ledger was open when the client read or created it."""

    @definition
    def is_last(self, ledger: TermLike) -> Term:
        """Return whether the ledger is at the end of the list."""
        return (self.position[ledger] > 0) & forall(
            self.ledger, lambda m: self.position[m] <= self.position[ledger]
        )

    def is_next(self, ledger: TermLike) -> Term:
        """Return whether the ledger is the next one to be created."""
        return (self.metadata[ledger] == ChainMetadata.NOT_CREATED) & forall(
            self.ledger, lambda m: implies(m < ledger, self.metadata[m] != ChainMetadata.NOT_CREATED)
        )

    def listed(self, ledger: TermLike) -> Term:
        """Return whether the ledger is in the list."""
        return self.position[ledger] > 0

    def written(self, ledger: TermLike) -> Term:
        """Return whether the ledger has its entry."""
        return self.entry[ledger] > 0

    def on_bookies(self, ledger: TermLike) -> Term:
        """Return whether the bookies know the ledger: it was written, or fenced while empty."""
        return self.written(ledger) | self.fenced[ledger]

    def leads(self, client: TermLike) -> Term:
        """Return whether the client believes that it leads."""
        return self.status[client] != ChainStatus.WAITING

    def at(self, client: TermLike, status: ChainStatus, ledger: TermLike) -> Term:
        """Return whether the client has that status and works on that ledger."""
        return (self.status[client] == status) & (self.own_ledger[client] == ledger)


# Actions, in the order of a client's term as leader. Each is one step, with its calls to store and bookies.


def abdicate(s: Chain, client: Parameter) -> Action:
    """Notice that another client leads, and stop leading; the own ledger stays open (Abdicate)."""
    return Action(
        when=s.leads(client) & (s.leader != client),
        then=[s.status[client].set(ChainStatus.WAITING)],
        actor=client,
        note="notices that it leads no longer",
    )


def elect(s: Chain, client: Parameter) -> Action:
    """Name another client as leader (LeaderChosen)."""
    most = s.parameters.elections
    return Action(
        when=(s.leader != client) & ((s.elections < most) if most else True),
        then=[s.leader.set(client), *([s.elections.set(s.elections + 1)] if most else [])],
        actor=STORE,
        note="elects {client}",
    )


def become_leader(s: Chain, client: Parameter) -> Action:
    """Notice that the client now leads (BecomeLeader)."""
    return Action(
        when=~s.leads(client) & (s.leader == client),
        then=[s.status[client].set(ChainStatus.GET_LAST_LEDGER)],
        actor=client,
        note="notices that it leads",
    )


def find_no_ledger(s: Chain, client: Parameter) -> Action:
    """Read the list, which is empty (GetLastLedger)."""
    return Action(
        when=(s.status[client] == ChainStatus.GET_LAST_LEDGER) & ~exists(s.ledger, s.listed),
        then=[*_read_list(s, client), s.status[client].set(ChainStatus.CREATE_LEDGER)],
        actor=client,
        note="reads the list, which is empty",
    )


def find_last_ledger(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """Read the list, and the metadata of the ledger at its end (GetLastLedger)."""
    return Action(
        when=(s.status[client] == ChainStatus.GET_LAST_LEDGER) & s.is_last(ledger),
        then=[
            *_read_list(s, client),
            s.own_ledger[client].set(ledger),
            s.own_open[client].set(s.metadata[ledger] == ChainMetadata.OPEN),
            s.status[client].set(ChainStatus.CLOSE_LAST_LEDGER),
        ],
        actor=client,
        note="reads the list, and the metadata of ledger {ledger} at its end",
    )


def leave_closed(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """Go on, because the last ledger was already closed when it was read (LedgerAlreadyClosed)."""
    return Action(
        when=s.at(client, ChainStatus.CLOSE_LAST_LEDGER, ledger) & ~s.own_open[client],
        then=[s.status[client].set(ChainStatus.CREATE_LEDGER)],
        actor=client,
        note="has read that ledger {ledger} is closed already",
    )


def close_last_ledger(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """Close the last ledger by compare-and-set of its metadata, and fence it (CloseLastLedgerSuccess)."""
    fences = s.parameters.close_fences == "yes"
    return Action(
        when=s.at(client, ChainStatus.CLOSE_LAST_LEDGER, ledger)
        & s.own_open[client]
        & (s.metadata[ledger] == ChainMetadata.OPEN),
        then=[
            s.metadata[ledger].set(ChainMetadata.CLOSED),
            *([s.fenced[ledger].set(True)] if fences else []),
            s.status[client].set(ChainStatus.CREATE_LEDGER),
        ],
        actor=client,
        note="closes ledger {ledger} (compare-and-set)"
        + (" and fences it on the bookies" if fences else ", and does not fence it"),
    )


def fail_to_close_last_ledger(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """Read the list again because another client closed the last ledger (CloseLastLedgerBadVersion)."""
    return Action(
        when=s.at(client, ChainStatus.CLOSE_LAST_LEDGER, ledger)
        & s.own_open[client]
        & (s.metadata[ledger] == ChainMetadata.CLOSED),
        then=[s.status[client].set(ChainStatus.GET_LAST_LEDGER)],
        actor=client,
        note="cannot close ledger {ledger} (bad version), and will read the list again",
    )


def create_ledger(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """Create a ledger, which is not in the list yet (CreateLedger)."""
    return Action(
        when=(s.status[client] == ChainStatus.CREATE_LEDGER) & s.is_next(ledger),
        then=[
            s.metadata[ledger].set(ChainMetadata.OPEN),
            s.own_ledger[client].set(ledger),
            s.own_open[client].set(True),
            s.status[client].set(ChainStatus.APPEND_LEDGER),
        ],
        actor=client,
        note="creates ledger {ledger}, open",
    )


def append_ledger(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """Append the ledger to the list that the leader has read (AppendLedgerSuccess)."""
    compares = s.parameters.append_compares == "yes"
    unchanged = (s.own_version[client] == s.list_version) if compares else True
    end = maximum(s.ledger, lambda m: s.own_position[client, m]) + 1
    version = s.list_version + 1
    others = [m for m in s.ledger if isinstance(m, int)]
    return Action(
        when=s.at(client, ChainStatus.APPEND_LEDGER, ledger) & unchanged,
        then=[
            *(s.position[m].set(s.own_position[client, m], when=ledger != m) for m in others),
            s.position[ledger].set(end),
            s.list_version.set(version),
            s.own_position[client, ledger].set(end),
            s.own_version[client].set(version),
            s.status[client].set(ChainStatus.LEDGER_OPEN),
        ],
        actor=client,
        note="appends ledger {ledger} to the list that it has read"
        + (" (compare-and-set)" if compares else ", without comparing versions"),
    )


def fail_to_append(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """Stop leading because the list has changed since it was read (AppendLedgerBadVersion)."""
    return Action(
        when=s.at(client, ChainStatus.APPEND_LEDGER, ledger) & (s.own_version[client] < s.list_version),
        then=[s.status[client].set(ChainStatus.WAITING)],
        actor=client,
        note="cannot append ledger {ledger} (bad version), and gives up leading",
    )


def read_list_again(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """Read the changed list again, to append the ledger to it (a mutant)."""
    return Action(
        when=s.at(client, ChainStatus.APPEND_LEDGER, ledger) & (s.own_version[client] < s.list_version),
        then=_read_list(s, client),
        actor=client,
        note="cannot append ledger {ledger} (bad version), reads the list again, and will append to that",
    )


def write(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """Write the entry of the leader's ledger, which the bookies must not know yet (WriteToLedger)."""
    refused = s.on_bookies(ledger) if s.parameters.write_checks_fence == "yes" else s.written(ledger)
    return Action(
        when=s.at(client, ChainStatus.LEDGER_OPEN, ledger) & ~refused,
        then=[s.entry[ledger].set(maximum(s.ledger, lambda m: s.entry[m]) + 1)],
        actor=client,
        note="writes the entry of ledger {ledger}",
    )


def close_own_ledger(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """Close the leader's own ledger to continue with another one (CloseOwnLedgerSuccess).

    The ledger is not fenced, and the list is not read again.
    """
    return Action(
        when=s.at(client, ChainStatus.LEDGER_OPEN, ledger)
        & s.on_bookies(ledger)
        & (s.metadata[ledger] == ChainMetadata.OPEN),
        then=[s.metadata[ledger].set(ChainMetadata.CLOSED), s.status[client].set(ChainStatus.CREATE_LEDGER)],
        actor=client,
        note="closes its own ledger {ledger} (compare-and-set)",
    )


def fail_to_close_own_ledger(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """Stop leading because another client closed the leader's own ledger (CloseOwnLedgerBadVersion)."""
    return Action(
        when=s.at(client, ChainStatus.LEDGER_OPEN, ledger)
        & s.on_bookies(ledger)
        & (s.metadata[ledger] == ChainMetadata.CLOSED),
        then=[s.status[client].set(ChainStatus.WAITING)],
        actor=client,
        note="cannot close its own ledger {ledger} (bad version), and gives up leading",
    )


def _read_list(s: Chain, client: TermLike) -> list[Update]:
    """Return the updates by which the client reads the list and its version."""
    positions = [s.own_position[client, m].set(s.position[m]) for m in s.ledger]
    return [*positions, s.own_version[client].set(s.list_version)]


# The system.


def chain(parameters: ChainParameters) -> System:
    """Return the transition system of one instance, without properties."""
    s = Chain(parameters)
    bounded = {"elections": parameters.elections} if parameters.elections else {}
    return System(
        state=s,
        actions=(
            in_turn(
                "client",
                each(abdicate, s, s.client),
                each(elect, s, s.client),
                each(become_leader, s, s.client),
                each(find_no_ledger, s, s.client),
                each(find_last_ledger, s, s.client, s.ledger),
                each(leave_closed, s, s.client, s.ledger),
                each(fail_to_close_last_ledger, s, s.client, s.ledger),
                each(close_last_ledger, s, s.client, s.ledger),
                in_turn("ledger", *_ledgers_of_its_own(s)),
            ),
        ),
        caps={"ledgers": parameters.ledgers, **bounded},
        default_rounds=None if parameters.elections else 6,
    )


def _ledgers_of_its_own(s: Chain) -> list[Schema]:
    """Return the actions from the creation of a ledger to its close."""
    p = s.parameters
    conflict = fail_to_append if p.append_conflict == "abdicate" else read_list_again
    compares = p.append_compares == "yes"
    return [
        each(create_ledger, s, s.client, s.ledger),
        *([each(conflict, s, s.client, s.ledger)] if compares else []),
        each(append_ledger, s, s.client, s.ledger),
        each(write, s, s.client, s.ledger),
        each(fail_to_close_own_ledger, s, s.client, s.ledger),
        each(close_own_ledger, s, s.client, s.ledger),
    ]
