"""The rows that are measured: each a command line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.encoding.solving.solvers import SOLVERS


@dataclass(frozen=True)
class Row:
    """One measurement."""

    name: str
    label: str
    arguments: tuple[str, ...]
    """The arguments after `fencepost check`, without `SUFFIX`."""

    @property
    def command(self) -> str:
        """The command as a person types it."""
        return f"fencepost check {' '.join(self.arguments)}"


NO_DIVERGENCE = ("--property", "no-divergence")
FENCE = ("--set", "recovery_reads_fence=yes")
FIXED = (*FENCE, "--set", "recovery_floor=fragment")
FIRST = ("--minimize", "none")
ALL_AT_N3 = (*NO_DIVERGENCE, "--property", "ack-quorum-reached", "--property", "entries-in-order")
N4, L2 = ("--set", "bookies=4"), ("--set", "entries=2")


def family(protocol: str) -> Iterator[Row]:
    """Yield the main measurements at N=3, L=1."""
    short = protocol.removeprefix("bookkeeper-")
    subject = (protocol, *NO_DIVERGENCE)
    yield Row(f"{short}-first-trace", f"{short}, first trace", (*subject, *FIRST))
    yield Row(f"{short}-fewest-steps", f"{short}, trace with fewest steps", subject)
    yield Row(f"{short}-proof", f"{short}, proof", (*subject, *FENCE))
    every = (protocol, *ALL_AT_N3, *FENCE)
    yield Row(f"{short}-proof-of-three", f"{short}, proof of three properties", every)


def larger() -> Iterator[Row]:
    """Yield measurements with four bookies or two entries."""
    subject = ("bookkeeper-4.13", *NO_DIVERGENCE)
    yield Row("4.13-n4-first-trace", "4.13 N=4, first trace", (*subject, *FIRST, *N4))
    yield Row("4.13-n4-fewest-steps", "4.13 N=4, trace with fewest steps", (*subject, *N4))
    yield Row("4.13-n4-proof", "4.13 N=4, proof", (*subject, *FIXED, *N4))
    yield Row("4.13-l2-first-trace", "4.13 L=2, first trace", (*subject, *FIRST, *L2))
    yield Row("4.13-l2-fewest-steps", "4.13 L=2, trace with fewest steps", (*subject, *L2))
    yield Row("4.13-l2-proof", "4.13 L=2, proof", (*subject, *FIXED, *L2))
    today = ("bookkeeper", *NO_DIVERGENCE)
    yield Row("today-n4-proof", "today N=4, inflight 1, proof", (*today, "--set", "inflight=1"))
    striped = ("--set", "ensemble=5", "--set", "bookies=5", "--set", "entries=2")
    yield Row("today-5-3-2-proof", "today 5/3/2 L=2, proof", (*today, *striped))
    bounded = (*subject, *FIXED, *N4, *L2, "--bound", "rounds=10")
    yield Row("4.13-n4-l2-ten-rounds", "4.13 N=4 L=2, ten rounds", bounded)


def growth_row(bookies: int, entries: int, fragments: int) -> Row:
    """Return the proof at one size; default values are left out of the command."""
    sizes = (("bookies", bookies, 3), ("entries", entries, 1), ("fragments", fragments, 2))
    options = [f"{name}={value}" for name, value, default in sizes if value != default]
    arguments = [word for option in options for word in ("--set", option)]
    shown = fragments if bookies > 3 else 1
    label = f"N={bookies} L={entries}, {shown} fragment{'s' if shown > 1 else ''}"
    name = f"growth-n{bookies}-l{entries}-f{shown}"
    return Row(name, label, ("bookkeeper-4.13", *NO_DIVERGENCE, *FIXED, *arguments))


TIMES = (*family("bookkeeper-4.13"), *family("bookkeeper-4.13-tla"), *larger())
BY_SOLVER = tuple(
    Row(f"solver-{name}", name, ("bookkeeper-4.13", *NO_DIVERGENCE, *FENCE, "--solver", name))
    for name in SOLVERS
)
GROWTH = (
    growth_row(3, 1, 2),
    growth_row(3, 2, 2),
    growth_row(4, 1, 1),
    growth_row(4, 1, 2),
    growth_row(4, 1, 3),
    growth_row(4, 2, 1),
    growth_row(4, 2, 2),
)
ROWS = (*TIMES, *BY_SOLVER, *GROWTH)
