"""BookKeeper with a guaranteed write quorum: entries stay pending until all WQ bookies have them.

Besides the last add confirmed (LAC) each client counts a last add fully replicated (LAFR). Ensemble
changes, recovery and closing use the LAFR. Thus every entry of a completed fragment, and of a closed
ledger, is on all bookies of its write set.

The proposal is today's protocol with E = WQ, three rules of published specifications, and the rules below.
They are numbered as in docs/tweaks.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fencepost.encoding.language.actions import Action, Group, Schema, changed, each, in_turn
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.parameters import parameter, require, switch
from fencepost.encoding.language.quantifiers import at_least, exists, maximum
from fencepost.encoding.language.sorts import BOOL, Sort, integers
from fencepost.encoding.language.state import choice, definition, family
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Family, Parameter, Read, Term, TermLike, Update, any_of, lift
from fencepost.protocols.bookkeeper import adds, ensemble_change, fencing, metadata, recovery
from fencepost.protocols.bookkeeper.layers.published import (
    ChangesInOneStep,
    ClosesOpenLedgersOnly,
    begin_recovery,
)
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import WRITER, Phase, Status

_MODULE = "Vanlightly/bookkeeper-tlaplus, tweaks/ProtocolWithGuaranteedWriteQuorum.tla"


@dataclass(frozen=True)
class TweakSizes:
    """The numbers of bookies.

    Raises BadInput unless 1 <= AQ <= WQ <= N.
    """

    bookies: int = parameter(3, "N: bookies there are")
    write_quorum: int = parameter(2, "WQ: bookies that each entry is sent to, and the size of an ensemble")
    ack_quorum: int = parameter(1, "AQ: acks that make an entry acknowledged")

    def __post_init__(self) -> None:
        """Check the sizes."""
        require(
            "1 <= ack_quorum <= write_quorum <= bookies",
            1 <= self.ack_quorum <= self.write_quorum <= self.bookies,
            {"ack_quorum": self.ack_quorum, "write_quorum": self.write_quorum, "bookies": self.bookies},
            "for example ack_quorum=2, write_quorum=3, bookies=4",
        )


@dataclass(frozen=True)
class GuaranteedParameters(TweakSizes):
    """One instance: the sizes, then a switch for each rule.

    The first value of each switch is the proposal, the second a mutant of it. That of the last is a repair.
    """

    entries: int = parameter(2, "L: entries that the writer may push")
    recoverers: int = parameter(1, "recovery attempts, each by a client of its own")
    fragments: int = parameter(2, "most ensembles the ledger goes through (only 1 is possible when N = WQ)")

    pinning: str = switch(
        ("yes", "no"),
        "a bookie that has acked an entry above the LAFR and up to the LAC is not replaced",
        f"{_MODULE}, change 3 and BookiePinned",
    )
    fragment_start: str = switch(
        ("lafr", "lac"),
        "a new fragment starts above the LAFR, or above the LAC as in the current protocol",
        f"{_MODULE}, change 2",
    )
    recovery_start: str = switch(
        ("lafr", "lac"),
        "fencing tells the LAFR or the LAC, and recovery starts above it",
        f"{_MODULE}, change 6",
    )
    writer_close: str = switch(
        ("at-wq", "any-time"),
        "the writer closes the ledger once all it pushed is at WQ, or whenever it likes",
        f"{_MODULE}, change 4",
    )
    recovery_done: str = switch(
        ("at-wq", "at-aq"), "recovery ends once all it read is at WQ again, or at AQ", f"{_MODULE}, change 5"
    )
    recovery_adds: str = switch(
        ("moving", "frozen"),
        "adds of a recoverer carry its LAC and LAFR as they are, or as they were when it started",
        f"{_MODULE}; tweaks/ProtocolUnboundedLedgersAndGWQ.tla freezes them",
    )

    @property
    def today(self) -> BookKeeperParameters:
        """Today's protocol on this instance, with three rules of the TLA+ modules."""
        return BookKeeperParameters(
            bookies=self.bookies,
            ensemble=self.write_quorum,
            write_quorum=self.write_quorum,
            ack_quorum=self.ack_quorum,
            entries=self.entries,
            recoverers=self.recoverers,
            fragments=self.fragments,
            inflight=self.entries,
            recovery_start="bump",
            writer_close="open-only",
            ensemble_change="one-step",
            recovery_lac=self.recovery_adds,
        )


class GuaranteedLedger(ClosesOpenLedgersOnly, ChangesInOneStep, Ledger):
    """The state of one ledger, and the definitions of today's protocol that the proposal replaces."""

    def __init__(self, proposal: GuaranteedParameters) -> None:
        """Declare the adds that each client sent, with the LAC and LAFR that they carry."""
        super().__init__(proposal.today)
        self.proposal = proposal
        index = self.client, self.fragment, self.entry
        self.sent = family(BOOL, *index)
        """Whether the entry was sent because of that fragment: no sending with one loss happens twice."""
        self.sent_lac = family(self.lac_value, *index)
        self.sent_lafr = family(self.lac_value, *index)

    def carried_values(self) -> Sort:
        """Return the LACs and LAFRs in messages. An entry that is sent again may be acknowledged already."""
        return self.lac_value

    def declare_losses(self) -> None:
        """Declare the losses of adds, one for each sending."""
        self.add_lost = choice(self.client, self.fragment, self.entry, self.bookie, fault="lost")

    def loss_of(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike, again: bool = False
    ) -> Read:
        """Return the loss of a sending."""
        return self.add_lost[client, fragment, entry, bookie]

    is_lost = loss_of

    def loss(self, losses: Family, *index: TermLike) -> Read | None:
        """Return that only adds and their answers can be lost.

        Other messages overtake nothing, so a lost one is the same as one that is late for ever.
        """
        return None

    # The two prefixes of a client (rules 2, 4 and 5). Neither falls.

    @definition
    def lac(self, client: TermLike) -> Term:
        """Return the last add confirmed: AQ acks (rule 4).

        Its value at the last change of the ensemble is kept: acknowledged entries stay acknowledged.
        """
        run, kept = self.highest_acked(client), self.frozen_lac[client]
        return if_(run < kept, kept, run)

    @definition
    def lafr(self, client: TermLike) -> Term:
        """Return the last add fully replicated: WQ acks (rule 2)."""
        wq = self.parameters.write_quorum
        return self.end_of_run(
            client, lambda e: at_least(wq, self.bookie, lambda b: self.acked[client, e, b])
        )

    @definition
    def pending(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether the entry was pushed or written back and is above the LAFR (rule 4)."""
        return self.pushed(client, entry) & (self.lafr(client) < entry)

    # Adds carry both prefixes, and a bookie keeps the highest of each (rules 2 and 3).

    def is_frozen(self, client: TermLike) -> Term:
        """Return whether the client's adds carry the prefixes that it started with."""
        return (lift(WRITER) != client) & (self.proposal.recovery_adds == "frozen")

    def carried_lac(self, client: TermLike) -> Term:
        """Return the LAC that an add carries if it is sent now."""
        return if_(self.is_frozen(client), self.start_lac(client), self.lac(client))

    def start_lac(self, client: TermLike) -> Term:
        """Return the LAC that a recoverer starts with: the LAFR."""
        return self.start(client)

    def carried_lafr(self, client: TermLike) -> Term:
        """Return the LAFR that an add carries if it is sent now."""
        return if_(self.is_frozen(client), self.start(client), self.lafr(client))

    def is_sent(self, client: TermLike, fragment: TermLike, entry: TermLike) -> Term:
        """Return whether the entry was sent because of that fragment, for the first time or again."""
        return (self.pushed_in[client, entry] == fragment) | self.resent[client, fragment, entry]

    def may_send(self, client: TermLike, fragment: TermLike, entry: TermLike) -> Term:
        """Return whether the client has not sent the entry yet."""
        return ~self.sent[client, fragment, entry] & super().may_send(client, fragment, entry)

    def may_resend(self, client: TermLike, fragment: TermLike, entry: TermLike) -> Term:
        """Return whether the entry was not sent because of that fragment."""
        return ~self.sent[client, fragment, entry]

    def on_resend(self, client: TermLike, fragment: TermLike, entry: TermLike, when: Term) -> list[Update]:
        """Return the updates for an entry that is sent again, with the current LAC and LAFR."""
        again = super().on_resend(client, fragment, entry, when)
        return [*again, *self.on_queue(client, fragment, entry, when)]

    def on_queue(
        self, client: TermLike, fragment: TermLike, entry: TermLike, when: TermLike = True
    ) -> list[Update]:
        """Return the updates for an entry that is sent with the current LAC and LAFR."""
        index = client, fragment, entry
        return [
            self.sent[index].set(True, when=when),
            self.sent_lac[index].set(self.carried_lac(client), when=when),
            self.sent_lafr[index].set(self.carried_lafr(client), when=when),
        ]

    def add_says(
        self, client: TermLike, fragment: TermLike, entry: TermLike, lac: Term
    ) -> dict[str, TermLike]:
        """Return the content of an add, with the LAC and LAFR of its sending: the current ones until then."""
        index = client, fragment, entry
        return {
            "content": self.content_sent(client, entry),
            "lac": if_(self.sent[index], self.sent_lac[index], self.carried_lac(client)),
            "lafr": if_(self.sent[index], self.sent_lafr[index], self.carried_lafr(client)),
        }

    def stores_add(self, client: TermLike, entry: TermLike, bookie: TermLike, when: Term) -> list[Update]:
        """Return the update of a bookie that stores the entry. What it heard follows from its adds."""
        return [self.stored[bookie, entry].set(self.content_sent(client, entry), when=when)]

    def heard(self, bookie: TermLike, carried: Family) -> Term:
        """Return the highest LAC or LAFR that came with an add the bookie stored.

        `carried` is `sent_lac` or `sent_lafr`.
        """

        def came(c: Term, g: Term, e: Term) -> Term:
            index = c, g, e, bookie
            return if_(self.add_handled[index] & ~self.add_refused[index], carried[c, g, e], 0)

        return maximum(
            self.client,
            lambda c: maximum(self.fragment, lambda g: maximum(self.entry, lambda e: came(c, g, e))),
        )

    def told_lac(self, bookie: TermLike) -> Term:
        """Return the LAFR that a fenced bookie tells instead of its LAC; recovery starts there (rule 11)."""
        return self.heard(bookie, getattr(self, f"sent_{self.proposal.recovery_start}"))

    def fence_answer_says(
        self, client: TermLike, bookie: TermLike, lac: TermLike, unknown: TermLike
    ) -> dict[str, TermLike]:
        """Return the content of an answer to a fencing read."""
        return {self.proposal.recovery_start: lac}

    def next_answer(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike, refused: Term
    ) -> Term:
        """Return whether the client may receive that answer now: the bookie is in its current ensemble."""
        current = self.own_last_fragment[client]
        here = self.in_ensemble(client, current, bookie)
        return here & super().next_answer(client, fragment, entry, bookie, refused)

    def counts(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return that each answer that is received counts, in whichever position the bookie was."""
        return lift(True)

    # Ensemble changes (rules 6 to 9).

    def moves_above(self, client: TermLike) -> Term:
        """Return the last entry that an ensemble change leaves where it is: the LAFR (rules 6 and 7)."""
        return self.lafr(client) if self.proposal.fragment_start == "lafr" else self.lac(client)

    def goes_below(self, client: TermLike, fragment: TermLike) -> Term:
        """Return that no client looks whether the new fragment starts below its last one: it never does."""
        return lift(False)

    def about_to_change(self, client: TermLike, fragment: TermLike, failed: TermLike) -> Term:
        """Return whether a write to the bookie failed and the bookie is not pinned (rule 8)."""
        change = super().about_to_change(client, fragment, failed)
        return change & ~self.pinned(client, failed) if self.proposal.pinning == "yes" else change

    def pinned(self, client: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie has acked an entry above the LAFR and up to the LAC."""
        return exists(
            self.entry,
            lambda e: (self.lafr(client) < e) & (e <= self.lac(client)) & self.acked[client, e, bookie],
        )

    def may_commit(self, client: Parameter) -> Term:
        """Return whether the ledger is open to the writer's changes, or in recovery (rule 9)."""
        return self.status == (Status.OPEN if client.sort is self.writer else Status.IN_RECOVERY)

    def on_change(self, client: Parameter, called: Term) -> list[Update]:
        """Return the update that keeps the LAC. Without pinning, the acks alone would let it fall."""
        return [self.frozen_lac[client].set(self.lac(client))]

    # Closing.

    def writer_may_close(self) -> Term:
        """Return whether the ledger is open and nothing is pending (rule 10)."""
        at_any_time = self.proposal.writer_close == "any-time"
        nothing_pending = ~exists(self.entry, lambda e: self.pending(WRITER, e))
        return super().writer_may_close() & any_of(at_any_time, nothing_pending)

    def written_up_to(self, client: TermLike) -> Term:
        """Return the entry up to which a recoverer counts as written back: the LAFR (rule 12)."""
        return self.lafr(client) if self.proposal.recovery_done == "at-wq" else self.highest_acked(client)

    def has_recovered(self, client: Parameter, entry: Parameter) -> Term:
        """Return whether reading ended at the entry and all entries below it are written back."""
        active = self.phase[client] == Phase.ACTIVE
        return active & self.negative(client, entry) & (self.written_up_to(client) + 1 == entry)


def change_ensemble(
    s: GuaranteedLedger, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> Action:
    """Replace a bookie that failed the client from LAFR+1 on, and resend pending entries (ChangeEnsemble).

    The old bookie loses its acks above the LAFR. Every pending entry, acknowledged or not, goes to the new
    one (rule 7). The writer commits the change, a recoverer keeps it to itself (rule 9).
    """
    action = ensemble_change.commit_change(s, client, fragment, failed, spare)
    return replace(action, note="replaces {failed} by {spare}, from its LAFR + 1 on")


def adds_and_changes(s: GuaranteedLedger, client: Sort) -> list[Schema | Group]:
    """Return that client's actions for adds, acks and ensemble changes."""
    index = client, s.fragment, s.entry, s.bookie
    found: list[Schema | Group] = [each(adds.handle_add, s, *index), each(adds.receive_ack, s, *index)]
    if s.later_fragments:
        earlier = integers(1, len(s.later_fragments))
        found.append(each(change_ensemble, s, client, earlier, s.bookie, s.bookie))
    return found


MEANINGS = {
    "handle fence": "Fence the ledger on a bookie, and answer with the highest LAFR it received (rule 3).",
    "receive fence answer": "Receive the LAFR of a bookie that is now fenced (rule 11).",
    "receive ack": "Receive an ack of a member of the ensemble. LAC and LAFR may move (rule 2).",
    "receive fenced": "Receive a refusal: the writer withdraws (rule 13).",
    "finish recovery": "Close the ledger just below `entry`, at which reading ended, at the LAFR (rule 12).",
    "close ledger": "Close the open ledger when no entry is pending (rule 10).",
}
"""The meanings of actions whose definitions the proposal replaces."""


def with_meanings(meanings: Mapping[str, str], *actions: Schema | Group) -> tuple[Schema | Group, ...]:
    """Return the actions with the meanings that a proposal gives them. They stand for no code."""

    def said(action: Schema) -> Schema:
        return replace(action, meaning=meanings.get(action.name, action.meaning), code=())

    return tuple(changed(action, said) for action in actions)


def ledger(parameters: GuaranteedParameters) -> System:
    """Return the transition system of one instance, without properties."""
    s = GuaranteedLedger(parameters)
    return System(
        state=s,
        actions=with_meanings(
            MEANINGS,
            each(metadata.create_ledger, s),
            in_turn(
                "fragment",
                each(adds.push, s, s.fragment, s.entry),
                *adds_and_changes(s, s.writer),
                each(adds.receive_fenced, s, s.writer, s.fragment, s.entry, s.bookie),
            ),
            each(begin_recovery, s, s.recoverer),
            each(fencing.handle_fence, s, s.recoverer, s.bookie),
            each(fencing.receive_fence_answer, s, s.recoverer, s.bookie),
            in_turn(
                "entry",
                each(recovery.send_reads, s, s.recoverer, s.read_entry),
                each(recovery.handle_read, s, s.recoverer, s.read_entry, s.bookie),
                each(recovery.receive_read_answer, s, s.recoverer, s.read_entry, s.bookie),
            ),
            in_turn(
                "fragment",
                each(recovery.write_back, s, s.recoverer, s.fragment, s.entry),
                *adds_and_changes(s, s.recoverer),
            ),
            each(recovery.finish_recovery, s, s.recoverer, s.read_entry),
            each(recovery.close_ledger, s),
        ),
        caps={
            "entries": parameters.entries,
            "recoverers": parameters.recoverers,
            "fragments": len(s.fragment),
        },
    )
