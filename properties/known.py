"""Known bugs, and mutants that stand for likely ones: for each a small instance that shows it, and the switch that mends it.

One table for the tests, for docs/known.md and for `fencepost check --known`. To add a bug, add a `Known` to
`KNOWN`; if it is known on another instance too, `replace` in it what differs. `pytest tests/test_docs.py
--refresh-goldens` then writes the page's table anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fencepost.encoding.checking.limits import Limits
from fencepost.encoding.checking.running import Listener, check
from fencepost.encoding.checking.verdicts import Fewest, Outcome, Result, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find


@dataclass(frozen=True)
class Known:
    """A bug that must be found on one instance, and must be gone on the same instance with one switch changed.

    `switch` has the value `broken` with the bug and `mended` without it. A bug that nothing in the model mends
    has no switch: it is looked for, and there is nothing to compare it with. If several changes are needed
    together, put all but one of them into `settings`, so that a single switch decides.

    With the bug `property` is violated in `steps` steps and no fewer (None: any counterexample will do, where showing
    that there is no shorter one takes too long); without it the verdict is `without`, or if `bound` is given, no
    execution of at most so many steps violates it.
    """

    name: str
    """Unique and short: the issue, and if it is known on several instances, which."""
    wrong: str
    """What goes wrong, in one sentence."""
    source: str
    """Where it was reported and mended, and which releases have it."""
    protocol: str
    property: str
    steps: int | None
    settings: Mapping[str, int | str] = field(default_factory=dict)
    """What the instance changes in the protocol's defaults, apart from the switch."""
    switch: str | None = None
    broken: str = ""
    mended: str = ""
    without: Verdict = Verdict.PROVED
    bound: int | None = None

    def runs(self) -> tuple[Run, ...]:
        """With the bug, then without it."""
        return (Run(self, True),) if self.switch is None else (Run(self, True), Run(self, False))


@dataclass(frozen=True)
class Run:
    """A known bug's instance, with the bug or without it."""

    known: Known
    with_bug: bool

    @property
    def value(self) -> str | None:
        """The value of the switch, if there is one."""
        if self.known.switch is None:
            return None
        return self.known.broken if self.with_bug else self.known.mended

    @property
    def settings(self) -> dict[str, str]:
        """Everything that differs from the protocol's defaults, and the switch, as `--set` takes it."""
        found = {name: str(value) for name, value in self.known.settings.items()}
        return found if self.known.switch is None else found | {self.known.switch: str(self.value)}

    @property
    def verdict(self) -> Verdict:
        """The verdict expected."""
        if self.with_bug:
            return Verdict.VIOLATED
        return self.known.without if self.known.bound is None else Verdict.HOLDS

    @property
    def bound(self) -> int | None:
        """Steps to look at; None for all."""
        return None if self.with_bug else self.known.bound

    @property
    def steps(self) -> int | None:
        """The fewest steps expected; None if any number is as good, or nothing should be violated."""
        return self.known.steps if self.with_bug else None

    @property
    def minimize(self) -> str:
        """What to make small in a counterexample: nothing, if any number of steps is as good."""
        return "none" if self.with_bug and self.known.steps is None else "steps"


_UNFENCED_READ = Known(
    name="#2614",
    wrong="a bookie that told recovery it has no entry stores it afterwards, which acknowledges an entry beyond "
    "the end of the closed ledger",
    source="issue 2614, PR 2616; up to 4.13, mended in 4.14.0",
    protocol="bookkeeper-4.13",
    property="no-divergence",
    steps=17,
    switch="recovery_reads_fence",
    broken="no",
    mended="yes",
)

_LOW_START = Known(
    name="#2615",
    wrong="an empty last fragment answers no LAC, recovery reads older fragments again and tries to start one "
    "below the last: it fails, however often it is repeated",
    source="ISSUE-2615, PR 2654; up to 4.13, mended in 4.14.0",
    protocol="bookkeeper-4.13",
    settings={"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "entries": 2},
    property="valid-fragments",
    steps=16,
    switch="recovery_floor",
    broken="zero",
    mended="fragment",
)

_TWO_OF_TWO = {"bookies": 2, "ensemble": 2, "write_quorum": 2}
_NO_PROTECTION = {"fence_on_unclean_shutdown": "no", "limbo_on_unclean_shutdown": "no"}

_ACKED_IN_PASSING = Known(
    name="#3005",
    wrong="while an ensemble change withdraws acks of the replaced bookie, entries that it has not come to yet are "
    "acknowledged with that bookie's ack, and not sent to its successor",
    source="issues 3005 and 4097, PRs 3041 and 4194; open, every release with E > WQ",
    protocol="bookkeeper",
    settings={"bookies": 3, "ensemble": 2, "write_quorum": 1, "ack_quorum": 1, "entries": 4, "inflight": 4},
    property="acked-entries-readable",
    steps=None,
    switch="unset_acks",
    broken="while-acking",
    mended="before-acking",
    bound=11,
)

_FORGOTTEN_FENCE = Known(
    name="BP-46-1",
    wrong="a bookie forgets in a crash that the ledger is fenced, and stores an entry of the old writer after recovery "
    "has closed the ledger as empty",
    source="BP-46, scenario 1, without the journal; fenced on boot since 4.15",
    protocol="bookkeeper-no-journal",
    property="no-divergence",
    steps=18,
    switch="fence_on_unclean_shutdown",
    broken="no",
    mended="yes",
)

_PHANTOM_READ = Known(
    name="phantom-read",
    wrong="a write-back carries the LAC that its recoverer has reached, and readers trust it, but someone else, the "
    "writer or another recoverer, closes the ledger below it",
    source="bookkeeper-tlaplus 5d69fdd freezes that LAC, in a tweak; the code does not, every release",
    protocol="bookkeeper",
    settings={"bookies": 1, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "entries": 2},
    property="no-dirty-read",
    steps=20,
    switch="recovery_lac",
    broken="moving",
    mended="frozen",
)

_OVERWRITTEN_LIST = Known(
    name="chain-overwrite",
    wrong="a leader that was replaced while it created its ledger overwrites the list of ledgers with the one that it had "
    "read, and the ledger that its successor has appended and written is no longer in it",
    source="LedgerChaining.tla keeps it out by comparing versions; no release",
    protocol="ledger-chain",
    settings={"clients": 2, "elections": 2},
    property="written-ledgers-listed",
    steps=10,
    switch="append_compares",
    broken="no",
    mended="yes",
)

_RETRIED_APPEND = replace(
    _OVERWRITTEN_LIST,
    name="chain-retry",
    wrong="a leader whose append meets a newer list reads it again and appends to that: it has not closed the ledger "
    "that was appended in between, and two are open",
    source="LedgerChaining.tla makes it abdicate; no release",
    property="one-open-ledger",
    switch="append_conflict",
    broken="retry",
    mended="abdicate",
)

_CLOSED_UNFENCED = replace(
    _OVERWRITTEN_LIST,
    name="chain-unfenced",
    wrong="a leader closes the last ledger in the metadata only, and the one before writes to it after the next ledger "
    "has been written",
    source="LedgerChaining.tla closes and fences in one step; no release",
    property="entry-order",
    steps=12,
    switch="close_fences",
)

KNOWN: tuple[Known, ...] = (
    Known(
        name="BOOKKEEPER-799",
        wrong="fencing counts as covered when of the first AQ bookies of each window one was heard, although AQ others "
        "of a window may be without a fence",
        source="BOOKKEEPER-799; up to 4.3, mended in 4.4.0",
        protocol="bookkeeper",
        settings={"ensemble": 4},
        property="fencing-is-enough",
        steps=6,
        switch="coverage",
        broken="first-ack-quorum",
        mended="window",
    ),
    Known(
        name="early-commit",
        wrong="recovery commits an ensemble that it changed before its write-backs have reached the new bookie, and the "
        "next recoverer asks that one",
        source="BOOKKEEPER-581; the code up to 4.8, kept local until the close since 4.9 (c766575c)",
        protocol="bookkeeper",
        settings={"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "recoverers": 2},
        property="no-divergence",
        steps=20,
        switch="recovery_metadata",
        broken="at-once",
        mended="at-close",
    ),
    Known(
        name="#1067",
        wrong="a recovery read waits for every bookie, and one that hangs blocks recovery for ever",
        source="issue 1067, PR 1077; up to 4.6, mended in 4.7.0",
        protocol="bookkeeper",
        settings={"bookies": 3, "silent": 1},
        property="recovery-can-finish",
        steps=12,
        switch="read_decision",
        broken="all-answers",
        mended="at-quorum",
    ),
    Known(
        name="#1591",
        wrong="the writer goes on with a new ensemble, and acknowledges entries on it, before the metadata store knows",
        source="issue 1591, PR 1592; mended in 4.7.2 and 4.8.0",
        protocol="bookkeeper",
        settings={"bookies": 3, "ensemble": 2, "write_quorum": 2, "ack_quorum": 1, "entries": 2},
        property="acked-entries-readable",
        steps=8,
        switch="ensemble_change_commit",
        broken="local-first",
        mended="metadata-first",
    ),
    Known(
        name="pulsar#6505",
        wrong="fencing counts as covered only if of each window all or one with entries has answered: with one bookie "
        "down an empty ledger stays in recovery",
        source="Pulsar issue 6505; 4.9 and 4.10, mended in 4.11 (PR 2333)",
        protocol="bookkeeper",
        settings={"bookies": 3, "ensemble": 2, "write_quorum": 2, "silent": 1},
        property="recovery-can-finish",
        steps=5,
        switch="coverage",
        broken="ok-in-window",
        mended="window",
    ),
    Known(
        name="PR-2281",
        wrong="fencing counts as covered once QC bookies have answered with entries, whichever stripes they belong to",
        source="PR 2281, undone by PR 2333 before the first release",
        protocol="bookkeeper-4.13",
        settings={"write_quorum": 2, "ack_quorum": 1, "entries": 2},
        property="no-divergence",
        steps=18,
        switch="coverage",
        broken="pr-2281",
        mended="window",
    ),
    _UNFENCED_READ,
    replace(_UNFENCED_READ, name="#2614-tla", protocol="bookkeeper-4.13-tla", steps=19),
    replace(_UNFENCED_READ, name="#2614-3/3/3", settings={"ack_quorum": 3}, steps=15),
    replace(_UNFENCED_READ, name="#2614-2/2/2", settings={"ensemble": 2, "write_quorum": 2}, steps=13),
    _LOW_START,
    replace(
        _LOW_START,
        name="#2615-stuck",
        settings={**_LOW_START.settings, "fragments": 3},
        property="recovery-can-finish",
        steps=21,
    ),
    _ACKED_IN_PASSING,
    replace(
        _ACKED_IN_PASSING,
        name="#3005-3/2/2",
        settings={"write_quorum": 2, "entries": 3, "inflight": 3},
        property="ack-quorum-reached",
        switch=None,
        broken="",
        mended="",
        bound=None,
    ),
    Known(
        name="#4651",
        wrong="the LAC at which a new fragment starts is read before acknowledging is blocked: what is acknowledged in "
        "between on the old bookies is placed on the new ones",
        source="issue 4651, PR 4660 closed unmerged; partly serialised in 4.16.7 (PR 4557)",
        protocol="bookkeeper",
        settings={"bookies": 3, "ensemble": 2, "write_quorum": 2, "ack_quorum": 1, "entries": 2},
        property="acked-entries-readable",
        steps=8,
        switch="lac_read_in_change",
        broken="racing",
        mended="blocked",
    ),
    Known(
        name="#4701",
        wrong="a bookie looks for a fence, is fenced, and then stores the entry all the same",
        source="issue 4701; two ledger handles at once, up to 4.17.3, mended in 4.17.4 and 4.18.0",
        protocol="bookkeeper",
        settings={"bookies": 3},
        property="no-divergence",
        steps=18,
        switch="fence_atomic",
        broken="no",
        mended="yes",
    ),
    _FORGOTTEN_FENCE,
    Known(
        name="BP-46-2",
        wrong="a bookie loses an entry in a crash and tells recovery that it is not there: the ledger is cut short",
        source="BP-46, scenario 2, without the journal; limbo since 4.15",
        protocol="bookkeeper-no-journal",
        property="no-divergence",
        steps=18,
        switch="limbo_on_unclean_shutdown",
        broken="no",
        mended="yes",
    ),
    replace(
        _FORGOTTEN_FENCE,
        name="BP-46-closed",
        wrong="a crashed bookie does not fence ledgers that are closed, and stores an entry of the old writer",
        source="BP-46 (it says all ledgers, and non-closed ones); DataIntegrityCheckImpl leaves closed ones out, 4.15 on",
        switch="boot_fence_scope",
        broken="non-closed",
        mended="all",
    ),
    replace(
        _FORGOTTEN_FENCE,
        name="BP-46-served",
        wrong="a crashed bookie serves before it has fenced its ledgers again",
        source="BP-46 fences before serving; EmbeddedServer starts the check after an unclean shutdown and goes on, 4.15 on",
        settings={**_TWO_OF_TWO, "boot": "whole"},
        steps=17,
        switch="phase_one_awaited",
    ),
    replace(
        _FORGOTTEN_FENCE,
        name="bare-fence",
        wrong="replaying the journal skips a fence that no entry of the ledger precedes, and the bookie stores an entry of "
        "the old writer after a restart",
        source="BookieImpl.readJournal, read in the code; the journal is on; not reported",
        settings={**_NO_PROTECTION, "lose": "bare-fences"},
        switch=None,
        broken="",
        mended="",
    ),
    replace(
        _FORGOTTEN_FENCE,
        name="#4812",
        wrong="a bookie is set up anew under its old address: it has no fence and no reason to look for one, and stores an "
        "entry of the old writer",
        source="issues 544 and 4812, open; the cookie rules let a bookie without any cookie boot as a new one",
        settings={**_TWO_OF_TWO, "boot": "whole", "reimages": 1},
        steps=18,
        switch=None,
        broken="",
        mended="",
    ),
    _PHANTOM_READ,
    replace(
        _PHANTOM_READ,
        name="phantom-read-2",
        settings={**_TWO_OF_TWO, "entries": 2, "recoverers": 2, "writer_close": "open-only"},
        steps=None,
        switch=None,
        broken="",
        mended="",
    ),
    _OVERWRITTEN_LIST,
    _RETRIED_APPEND,
    replace(_RETRIED_APPEND, name="chain-retry-order", property="entry-order", steps=12),
    _CLOSED_UNFENCED,
    replace(
        _CLOSED_UNFENCED,
        name="chain-unchecked",
        wrong="the bookies take the entry of a ledger that is fenced",
        source="LedgerChaining.tla lets a leader write only to a ledger that the bookies do not know; no release",
        switch="write_checks_fence",
    ),
    Known(
        name="log-happy-path",
        wrong="a node serves the last entry of an open segment, which no other node may have yet",
        source="Verified Log, post 2; mended in folder 01",
        protocol="verified-log-01",
        property="durability",
        steps=4,
        switch="last_entry",
        broken="always",
        mended="when-closed",
    ),
    Known(
        name="log-last-entry",
        wrong="a node closes a segment with all it has, and serves an entry that was never committed",
        source="Verified Log, post 3, which has the dilemma only: that the code once did so is a guess; not in 02",
        protocol="verified-log-02",
        settings={"nodes": 1, "replicas": 1, "crashes": 0},
        property="servable-entries-committed",
        steps=7,
        switch="truncation",
        broken="none",
        mended="to-count",
    ),
    Known(
        name="log-lost-close",
        wrong="a close order is lost and the only node that has closed the segment crashes: readers wait for ever",
        source="Verified Log, post 4; folder 02, mended in folder 03",
        protocol="verified-log-02",
        property="progress",
        steps=8,
        switch="retry_close",
        broken="no",
        mended="yes",
    ),
    Known(
        name="log-double-answer",
        wrong="a producer that asks again is told OK, and then ALREADY without nodes; if it hears only that, it writes to "
        "no node",
        source="Verified Log, folders 02 and 03; mended in folder 04, no post says so",
        protocol="verified-log-03",
        settings={"nodes": 1, "replicas": 1, "crashes": 0, "entries": 1, "segments": 1, "attempts": 2},
        property="assertions",
        steps=5,
        switch="double_answer",
        broken="yes",
        mended="no",
    ),
)
"""Steps are the fewest. 17, 19 and 15 also come out of exploring on plain values (tests/test_bookkeeper.py)."""


def chosen(table: Sequence[Known], names: Sequence[str]) -> list[Known]:
    """The bugs of those names in the order of the table, all if none is named; raises BadInput.

    The `#` of an issue may be left out: a shell takes it for a comment.
    """
    valid = [known.name for known in table]
    wanted = set()
    for name in names:
        full = f"#{name}" if f"#{name}" in valid else name
        if full not in valid:
            raise BadInput(f"{name}: no such known bug; valid: {', '.join(valid)} (# may be left out)")
        wanted.add(full)
    return [known for known in table if known.name in wanted or not names]


def decide(run: Run, limits: Limits, listener: Listener = lambda event: None) -> Outcome:
    """Check the one property on the one instance; a protocol that never completes keeps its number of rounds."""
    instance = find(run.known.protocol).instance(run.settings.items())
    limits = replace(limits, bound=run.bound, minimize=run.minimize).of(instance.system)
    properties = instance.properties(run.known.property)
    return check(instance.system, instance.subject, properties, limits, listener)


def as_expected(run: Run, result: Result) -> bool | None:
    """Whether a result is the one expected; None if the search ended before that was known.

    A violation is as expected only if no shorter one exists.
    """
    if result.verdict is not run.verdict:
        return None if result.verdict is Verdict.UNDECIDED else False
    if run.steps is None or result.steps is None:
        return True
    if result.fewest is not Fewest.OF_ALL:
        return None if result.steps >= run.steps else False
    return result.steps == run.steps
