"""Known bugs: for each a small instance that shows it, and the switch that mends it.

One table for the tests, for docs/known.md and for `fencepost check --known`. To add a bug, add a `Known` to
`KNOWN`; if it is known on another instance too, `replace` in it what differs. `pytest tests/test_docs.py
--refresh-goldens` then writes the page's table anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fencepost.encoding.checking import Limits, Listener, Outcome, check
from fencepost.encoding.errors import BadInput
from fencepost.encoding.parameters import assign
from fencepost.encoding.protocol import choose
from fencepost.encoding.verdicts import Result, Verdict
from fencepost.properties.catalogue import find


@dataclass(frozen=True)
class Known:
    """A bug that must be found on one instance, and must be gone on the same instance with one switch changed.

    `switch` has the value `broken` with the bug and `mended` without it. A bug that nothing in the model mends
    has no switch: it is looked for, and there is nothing to compare it with. If several changes are needed
    together, put all but one of them into `settings`, so that a single switch decides.

    With the bug `property` is violated in `steps` steps and no fewer; without it the verdict is `without`.
    `slow` marks what takes more than about 20 seconds.
    """

    name: str
    """Unique and short: the issue, and if it is known on several instances, which."""
    wrong: str
    """What goes wrong, in one sentence."""
    source: str
    """Where it was reported and mended, and which releases have it."""
    protocol: str
    property: str
    steps: int
    settings: Mapping[str, int | str] = field(default_factory=dict)
    """What the instance changes in the protocol's defaults, apart from the switch."""
    switch: str | None = None
    broken: str = ""
    mended: str = ""
    without: Verdict = Verdict.PROVED
    slow: bool = False

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
        return Verdict.VIOLATED if self.with_bug else self.known.without

    @property
    def steps(self) -> int | None:
        """The fewest steps expected; None if any number is as good, or nothing should be violated."""
        return self.known.steps if self.with_bug else None


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

KNOWN: tuple[Known, ...] = (
    _UNFENCED_READ,
    replace(_UNFENCED_READ, name="#2614-tla", protocol="bookkeeper-4.13-tla", steps=19),
    replace(_UNFENCED_READ, name="#2614-3/3/3", settings={"ack_quorum": 3}, steps=15),
    replace(_UNFENCED_READ, name="#2614-2/2/2", settings={"ensemble": 2, "write_quorum": 2}, steps=13),
    _LOW_START,
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
    protocol = find(run.known.protocol)
    parameters = assign(protocol.defaults, run.settings.items())
    system = protocol.system(parameters)
    limits = replace(limits, rounds=system.default_rounds)
    subject = protocol.subject(parameters)
    return check(system, subject, choose(system, (run.known.property,)), limits, listener)


def as_expected(run: Run, result: Result) -> bool | None:
    """Whether a result is the one expected; None if the search ended before that was known.

    A violation is as expected only if no shorter one exists.
    """
    if result.verdict is not run.verdict:
        return None if result.verdict is Verdict.UNDECIDED else False
    if run.steps is None or result.steps is None:
        return True
    if result.fewest != "proved":
        return None if result.steps >= run.steps else False
    return result.steps == run.steps
