"""What travels between clients and bookies, as people see it in a trace."""

from __future__ import annotations

from fencepost.encoding.language.system import Message, message
from fencepost.encoding.language.terms import Read, Term, TermLike, if_
from fencepost.protocols.bookkeeper.state import NOTHING, Ledger


def add(
    s: Ledger,
    client: TermLike,
    fragment: TermLike,
    entry: TermLike,
    bookie: TermLike,
    lac: Term | None = None,
    lost: Read | None = None,
    when: TermLike = True,
) -> Message:
    """An add. Its LAC is the one it was first sent with, unless it is being sent first (`lac`).

    `lost` is the loss of this sending, where it is sent.
    """
    return message(
        "add",
        client,
        bookie,
        about={"entry": entry, "fragment": fragment},
        says={
            "content": s.content_sent(client, entry),
            "lac": s.pushed_lac[client, entry] if lac is None else lac,
        },
        lost=lost,
        when=when,
    )


def add_answer(
    s: Ledger, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike, refused: TermLike
) -> Message:
    """The answer to an add: stored, or refused because the ledger is fenced."""
    return message(
        "add answer",
        bookie,
        client,
        about={"entry": entry, "fragment": fragment},
        says={"fenced": refused},
        lost=s.add_answer_lost[client, fragment, entry, bookie],
    )


def fence(s: Ledger, recoverer: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """A fencing read of the LAC."""
    return message("fence", recoverer, bookie, lost=s.fence_lost[recoverer, bookie], when=when)


def fence_answer(
    s: Ledger, recoverer: TermLike, bookie: TermLike, lac: TermLike, unknown: TermLike
) -> Message:
    """The bookie is fenced, and tells its LAC; in limbo the code cannot tell."""
    says: dict[str, TermLike] = {"lac": lac}
    if s.parameters.limbo_answers_unknown:
        says = {"answer": if_(unknown, "unknown", "lac"), **says}
    return message("fence answer", bookie, recoverer, says=says, lost=s.fence_answer_lost[recoverer, bookie])


def read(s: Ledger, recoverer: TermLike, entry: TermLike, bookie: TermLike, when: TermLike = True) -> Message:
    """A recovery read of an entry."""
    return message(
        "read",
        recoverer,
        bookie,
        about={"entry": entry},
        lost=s.read_lost[recoverer, entry, bookie],
        when=when,
    )


def read_answer(
    s: Ledger, recoverer: TermLike, entry: TermLike, bookie: TermLike, content: Term, unknown: Term
) -> Message:
    """The entry, or NoSuchEntry, or from a ledger in limbo that the bookie does not know."""
    answer = if_(unknown, "unknown", if_(content == NOTHING, "NoSuchEntry", "entry"))
    return message(
        "read answer",
        bookie,
        recoverer,
        about={"entry": entry},
        says={"answer": answer, "content": content},
        lost=s.read_answer_lost[recoverer, entry, bookie],
    )
