"""LedgerChaining.tla read a second time, in plain Python.

It has no terms. Its variables are those of the TLA+ module, and nothing is derived.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fencepost.protocols.ledger_chain import ChainStatus

NO_ENTRY = -1


class Ledger(NamedTuple):
    """Metadata of a ledger, on the store or as a client has it (NoLedgerMetadata at first)."""

    id: int = 0
    open: bool = False
    version: int = -1


class Client(NamedTuple):
    """c_state of one client."""

    leader: bool = False
    status: ChainStatus = ChainStatus.WAITING
    llist: tuple[int, ...] = ()
    llist_version: int = -1
    ledger: Ledger = Ledger()


class Written(NamedTuple):
    """A ledger on the bookies."""

    entry: int
    fenced: bool


class World(NamedTuple):
    """All variables.

    `ledgers[i - 1]` is md_ledgers[i]; `bookies[i - 1]` is the member of b_ledgers with id i, if there is one.
    """

    clients: tuple[Client, ...]
    leader: int = 0
    llist: tuple[int, ...] = ()
    llist_version: int = 0
    ledgers: tuple[Ledger, ...] = ()
    bookies: tuple[Written | None, ...] = ()
    next_entry: int = 0


def successors(w: World, most: int) -> Iterator[World]:
    """Yield every world that is one step away and has at most so many ledgers."""
    for c in range(len(w.clients)):
        if w.leader != c:
            yield w._replace(leader=c)
        yield from _office(w, c)
        if w.clients[c].leader:
            yield from _leads(w, c, most)


def _office(w: World, c: int) -> Iterator[World]:
    """Yield the worlds after BecomeLeader and Abdicate."""
    if not w.clients[c].leader and w.leader == c:
        yield _client(w, c, leader=True, status=ChainStatus.GET_LAST_LEDGER)
    if w.clients[c].leader and w.leader != c:
        yield _gives_up(w, c)


def _leads(w: World, c: int, most: int) -> Iterator[World]:
    """Yield the worlds after a step of a client that believes it is the leader, by its status."""
    me = w.clients[c]
    own = me.ledger
    match me.status:
        case ChainStatus.GET_LAST_LEDGER if w.llist:
            last = w.ledgers[w.llist[-1] - 1]
            read = _client(w, c, llist=w.llist, llist_version=w.llist_version, ledger=last)
            yield _client(read, c, status=ChainStatus.CLOSE_LAST_LEDGER)
        case ChainStatus.GET_LAST_LEDGER:
            yield _client(w, c, status=ChainStatus.CREATE_LEDGER, llist=(), llist_version=w.llist_version)
        case ChainStatus.CLOSE_LAST_LEDGER if not own.open:
            yield _client(w, c, status=ChainStatus.CREATE_LEDGER)
        case ChainStatus.CLOSE_LAST_LEDGER if own.version == w.ledgers[own.id - 1].version:
            there = w.bookies[own.id - 1] or Written(NO_ENTRY, True)
            yield _on_bookies(_closed(w, c), own.id, there._replace(fenced=True))
        case ChainStatus.CLOSE_LAST_LEDGER:
            yield _client(w, c, status=ChainStatus.GET_LAST_LEDGER)
        case ChainStatus.CREATE_LEDGER if len(w.ledgers) < most:
            new = Ledger(len(w.ledgers) + 1, True, 0)
            created = w._replace(ledgers=(*w.ledgers, new), bookies=(*w.bookies, None))
            yield _client(created, c, status=ChainStatus.APPEND_LEDGER, ledger=new)
        case ChainStatus.APPEND_LEDGER if me.llist_version == w.llist_version:
            llist, version = (*me.llist, own.id), w.llist_version + 1
            appended = w._replace(llist=llist, llist_version=version)
            yield _client(appended, c, status=ChainStatus.LEDGER_OPEN, llist=llist, llist_version=version)
        case ChainStatus.APPEND_LEDGER:
            yield _gives_up(w, c)
        case ChainStatus.LEDGER_OPEN if w.bookies[own.id - 1] is None:
            yield _on_bookies(w, own.id, Written(w.next_entry, False))._replace(next_entry=w.next_entry + 1)
        case ChainStatus.LEDGER_OPEN if own.version == w.ledgers[own.id - 1].version:
            yield _closed(w, c)
        case ChainStatus.LEDGER_OPEN:
            yield _gives_up(w, c)


def _client(w: World, c: int, **changes: object) -> World:
    changed = w.clients[c]._replace(**changes)  # type: ignore[arg-type]
    return w._replace(clients=(*w.clients[:c], changed, *w.clients[c + 1 :]))


def _gives_up(w: World, c: int) -> World:
    return _client(w, c, leader=False, status=ChainStatus.WAITING)


def _closed(w: World, c: int) -> World:
    """Return the world in which the client has closed its ledger on the store and is about to create one."""
    i = w.clients[c].ledger.id
    closed = Ledger(i, False, w.ledgers[i - 1].version + 1)
    return _client(
        w._replace(ledgers=(*w.ledgers[: i - 1], closed, *w.ledgers[i:])), c, status=ChainStatus.CREATE_LEDGER
    )


def _on_bookies(w: World, i: int, what: Written) -> World:
    return w._replace(bookies=(*w.bookies[: i - 1], what, *w.bookies[i:]))
