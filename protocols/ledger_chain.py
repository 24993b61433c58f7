"""A chain of ledgers: clients take turns as leader, and each closes the last ledger and appends one of its own.

After LedgerChaining.tla of Vanlightly/bookkeeper-tlaplus; each action names the one it is there. How a leader is
elected, and how anybody finds out, is left open: the store names one, at any time, and the others notice when they
do. A ledger holds one entry, which is enough for order and loss, and its bookies are one: what happens within a
ledger is modelled in `bookkeeper`.

Where this says it otherwise than the module:

- A ledger's version is left out. It is 0 while the ledger is open and 1 once it is closed, so comparing versions is
  asking whether the ledger is still open. Nor is there a flag for a client that believes it leads: it does unless it
  is waiting. The next id, and the number of the next entry, are derived too. States correspond one to one.
- The list is kept as the position of each ledger in it. That a client holds a list which has nothing to do with the
  store's, as it may with `append_compares=no`, can be said as well.
- Ledgers, and elections if there is a bound on them, are capped: the module bounds ledgers alone.
- The retry of `append_conflict` is not in the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from fencepost.encoding.language.parameters import parameter, require, switch
from fencepost.encoding.language.quantifiers import exists, forall, maximum
from fencepost.encoding.language.sorts import BOOL, integers, labels, members
from fencepost.encoding.language.state import StateSpace, definition, family, variable
from fencepost.encoding.language.system import Action, Schema, System, each, in_turn
from fencepost.encoding.language.terms import Parameter, Term, TermLike, Update, implies

STORE = "store"
NOTHING_READ = -1

# Parameters and switches. The first value of each switch is the protocol, the second a mutant of it.

_MODULE = "Vanlightly/bookkeeper-tlaplus, LedgerChaining.tla"


@dataclass(frozen=True)
class ChainParameters:
    """One instance. Raises BadInput if it is to retry after a comparison that it does not make."""

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
        "a leader whose append meets another version gives up, or reads the list again and appends to that",
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
        require(
            "append_compares=yes if append_conflict=retry",
            self.append_compares == "yes" or self.append_conflict == "abdicate",
            {"append_compares": self.append_compares, "append_conflict": self.append_conflict},
            "an append that does not compare meets no conflict",
        )


# State: the store's metadata, what is on the bookies, and what each client has read.


class ChainMetadata(Enum):
    """What the store says of a ledger."""

    NOT_CREATED = "not created"
    OPEN = "open"
    CLOSED = "closed"


class ChainStatus(Enum):
    """What a client is about to do."""

    WAITING = "waiting"
    """It does not lead, as far as it knows. In any other status it believes that it does."""
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
        p = self.parameters = parameters
        client = self.client = labels("client", "c", p.clients)
        ledger = self.ledger = integers(1, p.ledgers)
        count = integers(0, p.ledgers)

        # Metadata store.
        self.leader = variable(client)
        self.metadata = family(members(ChainMetadata), ledger)
        self.position = family(count, ledger)
        """Where the ledger stands in the list, from 1; 0 if it is not in it."""
        self.list_version = variable(count)
        self.elections = variable(integers(0, p.elections))
        """How many there were, if that is bounded."""

        # Bookies.
        self.entry = family(count, ledger)
        """The entry of the ledger, numbered through all ledgers in the order of writing; 0 if there is none."""
        self.fenced = family(BOOL, ledger)

        # Clients: what each has read, or written, and will not look at again before it acts on it.
        self.status = family(members(ChainStatus), client)
        self.own_position = family(count, client, ledger)
        self.own_version = family(integers(NOTHING_READ, p.ledgers), client, initial=NOTHING_READ)
        self.own_ledger = family(count, client)
        """The ledger it closes, appends or writes to; 0 if it has had none."""
        self.own_open = family(BOOL, client)
        """That ledger was open when the client read or created it."""

    @definition
    def is_last(self, ledger: TermLike) -> Term:
        """The ledger ends the list."""
        return (self.position[ledger] > 0) & forall(
            self.ledger, lambda m: self.position[m] <= self.position[ledger]
        )

    def is_next(self, ledger: TermLike) -> Term:
        """The ledger is the one to be created next."""
        return (self.metadata[ledger] == ChainMetadata.NOT_CREATED) & forall(
            self.ledger, lambda m: implies(m < ledger, self.metadata[m] != ChainMetadata.NOT_CREATED)
        )

    def listed(self, ledger: TermLike) -> Term:
        """The ledger is in the list."""
        return self.position[ledger] > 0

    def written(self, ledger: TermLike) -> Term:
        """The ledger has its entry."""
        return self.entry[ledger] > 0

    def on_bookies(self, ledger: TermLike) -> Term:
        """The bookies know the ledger: it was written, or fenced when it was empty."""
        return self.written(ledger) | self.fenced[ledger]

    def leads(self, client: TermLike) -> Term:
        """The client believes that it leads."""
        return self.status[client] != ChainStatus.WAITING

    def at(self, client: TermLike, status: ChainStatus, ledger: TermLike) -> Term:
        """The client has that status, and that ledger in hand."""
        return (self.status[client] == status) & (self.own_ledger[client] == ledger)


# Actions, in the order of a client's term of office. Each is one step, with everything it asks of store and bookies.


def abdicate(s: Chain, client: Parameter) -> Action:
    """A leader notices that it leads no longer; its ledger stays open (Abdicate)."""
    return Action(
        when=s.leads(client) & (s.leader != client),
        then=[s.status[client].set(ChainStatus.WAITING)],
        actor=client,
        note="notices that it leads no longer",
    )


def elect(s: Chain, client: Parameter) -> Action:
    """The store names another leader (LeaderChosen)."""
    most = s.parameters.elections
    return Action(
        when=(s.leader != client) & ((s.elections < most) if most else True),
        then=[s.leader.set(client), *([s.elections.set(s.elections + 1)] if most else [])],
        actor=STORE,
        note="elects {client}",
    )


def become_leader(s: Chain, client: Parameter) -> Action:
    """A client notices that it leads (BecomeLeader)."""
    return Action(
        when=~s.leads(client) & (s.leader == client),
        then=[s.status[client].set(ChainStatus.GET_LAST_LEDGER)],
        actor=client,
        note="notices that it leads",
    )


def find_no_ledger(s: Chain, client: Parameter) -> Action:
    """A leader reads the list, which is empty (GetLastLedger)."""
    return Action(
        when=(s.status[client] == ChainStatus.GET_LAST_LEDGER) & ~exists(s.ledger, s.listed),
        then=[*_read_list(s, client), s.status[client].set(ChainStatus.CREATE_LEDGER)],
        actor=client,
        note="reads the list, which is empty",
    )


def find_last_ledger(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """A leader reads the list, and the metadata of the ledger at its end (GetLastLedger)."""
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
    """A leader has read that the last ledger is closed already (LedgerAlreadyClosed)."""
    return Action(
        when=s.at(client, ChainStatus.CLOSE_LAST_LEDGER, ledger) & ~s.own_open[client],
        then=[s.status[client].set(ChainStatus.CREATE_LEDGER)],
        actor=client,
        note="has read that ledger {ledger} is closed already",
    )


def close_last_ledger(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """A leader closes the last ledger: compare-and-set of its metadata, and a fence (CloseLastLedgerSuccess)."""
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
    """A leader would close the last ledger, but somebody has, and it reads again (CloseLastLedgerBadVersion)."""
    return Action(
        when=s.at(client, ChainStatus.CLOSE_LAST_LEDGER, ledger)
        & s.own_open[client]
        & (s.metadata[ledger] == ChainMetadata.CLOSED),
        then=[s.status[client].set(ChainStatus.GET_LAST_LEDGER)],
        actor=client,
        note="cannot close ledger {ledger} (bad version), and will read the list again",
    )


def create_ledger(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """A leader creates a ledger, which is not in the list yet (CreateLedger)."""
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
    """A leader appends its ledger to the list that it has read (AppendLedgerSuccess)."""
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
        + (" (compare-and-set)" if compares else ", whatever the list is by now"),
    )


def fail_to_append(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """A leader would append its ledger, but the list has changed, and it abdicates (AppendLedgerBadVersion)."""
    return Action(
        when=s.at(client, ChainStatus.APPEND_LEDGER, ledger) & (s.own_version[client] < s.list_version),
        then=[s.status[client].set(ChainStatus.WAITING)],
        actor=client,
        note="cannot append ledger {ledger} (bad version), and gives up leading",
    )


def read_list_again(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """Mutant: the list has changed, and the leader will append its ledger to what it is now."""
    return Action(
        when=s.at(client, ChainStatus.APPEND_LEDGER, ledger) & (s.own_version[client] < s.list_version),
        then=_read_list(s, client),
        actor=client,
        note="cannot append ledger {ledger} (bad version), reads the list again, and will append to that",
    )


def write(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """A leader writes the entry of its ledger, which the bookies must not know yet (WriteToLedger)."""
    refused = s.on_bookies(ledger) if s.parameters.write_checks_fence == "yes" else s.written(ledger)
    return Action(
        when=s.at(client, ChainStatus.LEDGER_OPEN, ledger) & ~refused,
        then=[s.entry[ledger].set(maximum(s.ledger, lambda m: s.entry[m]) + 1)],
        actor=client,
        note="writes the entry of ledger {ledger}",
    )


def close_own_ledger(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """A leader closes its own ledger to go on with another: no fence, and the list as it is (CloseOwnLedgerSuccess)."""
    return Action(
        when=s.at(client, ChainStatus.LEDGER_OPEN, ledger)
        & s.on_bookies(ledger)
        & (s.metadata[ledger] == ChainMetadata.OPEN),
        then=[s.metadata[ledger].set(ChainMetadata.CLOSED), s.status[client].set(ChainStatus.CREATE_LEDGER)],
        actor=client,
        note="closes its own ledger {ledger} (compare-and-set)",
    )


def fail_to_close_own_ledger(s: Chain, client: Parameter, ledger: Parameter) -> Action:
    """A leader would close its own ledger, but somebody has, and it abdicates (CloseOwnLedgerBadVersion)."""
    return Action(
        when=s.at(client, ChainStatus.LEDGER_OPEN, ledger)
        & s.on_bookies(ledger)
        & (s.metadata[ledger] == ChainMetadata.CLOSED),
        then=[s.status[client].set(ChainStatus.WAITING)],
        actor=client,
        note="cannot close its own ledger {ledger} (bad version), and gives up leading",
    )


def _read_list(s: Chain, client: TermLike) -> list[Update]:
    """The client reads the list and its version."""
    positions = [s.own_position[client, m].set(s.position[m]) for m in s.ledger]
    return [*positions, s.own_version[client].set(s.list_version)]


# The system.


def chain(parameters: ChainParameters) -> System:
    """The transition system of one instance, without properties."""
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
    """From the creation of a ledger to its close."""
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
