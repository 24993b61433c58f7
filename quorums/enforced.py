"""Enforced racks: which ensembles the client creates, and which bookies may replace a failed one.

With `enforceMinNumRacksPerWriteQuorum` every window of a new ensemble spans at least min(WQ,
minNumRacksPerWriteQuorum) racks. If no ensemble does, the client creates none
(`RackawareEnsemblePlacementPolicyImpl.newEnsembleInternal`). A bookie is replaced only from its own rack, or
from a rack that has no other bookie of the ensemble (`replaceBookie`, which ignores windows). An ensemble is
given by its number of bookies in each rack. The worst ensemble that may be created is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

from fencepost.encoding.errors import BadInput
from fencepost.quorums.stripes import Configuration

LARGEST_STRIPED = 10
"""The largest ensemble whose windows are checked. With E = WQ there is one window, so any size is checked."""

MOST = 100_000
"""The most ensembles, or ways to lose bookies, that are checked. A cluster with more is refused."""


@cache
def spreads(counts: tuple[int, ...], write_quorum: int, racks: int) -> bool:
    """Return whether bookies of these racks fit in a circle in which each window spans `racks` racks."""
    ensemble = sum(counts)
    if write_quorum == ensemble or racks == 1:
        return len([count for count in counts if count]) >= racks

    def placed(chosen: tuple[int, ...], left: tuple[int, ...]) -> bool:
        if len(chosen) >= write_quorum and len(set(chosen[-write_quorum:])) < racks:
            return False
        if len(chosen) == ensemble:
            circle = chosen + chosen[: write_quorum - 1]
            return all(len(set(circle[start : start + write_quorum])) >= racks for start in range(ensemble))
        return any(
            placed((*chosen, rack), (*left[:rack], count - 1, *left[rack + 1 :]))
            for rack, count in enumerate(left)
            if count
        )

    return placed((), counts)


@cache
def ensembles(
    sizes: tuple[int, ...], configuration: Configuration, racks: int
) -> tuple[tuple[int, ...], ...]:
    """Return the ensembles that may be created, as the bookies of each rack. Raises BadInput if too many.

    If neighbouring racks have the same size, the earlier one has at least as many bookies.
    """
    shared = tuple(islice(_shared_out(sizes, configuration.ensemble), MOST + 1))
    if len(shared) > MOST:
        raise BadInput(
            f"{len(sizes)} racks and E = {configuration.ensemble}: with --enforce-min-racks more than "
            f"{MOST:,} ensembles would have to be looked at; give fewer racks, or a smaller E"
        )
    return tuple(counts for counts in shared if _in_a_circle(counts, configuration, racks))


def _in_a_circle(counts: tuple[int, ...], configuration: Configuration, racks: int) -> bool:
    e, wq, _ = configuration.sizes
    if e > max(wq, LARGEST_STRIPED):
        raise BadInput(
            f"E = {e} > WQ = {wq}: with --enforce-min-racks an ensemble that is larger than its write sets "
            f"has at most {LARGEST_STRIPED} bookies; give a smaller E, or leave the option out"
        )
    return spreads(tuple(sorted(filter(None, counts))), wq, racks)


def _shared_out(sizes: tuple[int, ...], bookies: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """Yield the ways to take `bookies` from racks; `most` bounds the first rack, if given."""
    if not sizes:
        yield from [()] if bookies == 0 else []
        return
    first, rest = sizes[0], sizes[1:]
    for count in range(min(first, bookies if most is None else min(most, bookies)), -1, -1):
        if sum(rest) + count < bookies:
            return
        same = count if rest and rest[0] == first else None
        for others in _shared_out(rest, bookies - count, same):
            yield count, *others


def creatable(sizes: Sequence[int], configuration: Configuration, racks: int) -> bool:
    """Return whether there is an ensemble that the client may create."""
    if configuration.ensemble == configuration.write_quorum:
        return sum(sizes) >= configuration.ensemble and len([s for s in sizes if s]) >= racks
    return _some_ensemble(tuple(min(size, configuration.ensemble) for size in sizes), configuration, racks)


@cache
def _some_ensemble(sizes: tuple[int, ...], configuration: Configuration, racks: int) -> bool:
    shared = _shared_out(sizes, configuration.ensemble)
    return any(_in_a_circle(counts, configuration, racks) for counts in shared)


def failures_before_creation(sizes: Sequence[int], configuration: Configuration, racks: int) -> int:
    """Return how many bookies may fail, in any combination, while the client can create an ensemble."""
    if configuration.ensemble == configuration.write_quorum:
        fewest_racks = sum(sorted(sizes)[: len(sizes) - racks + 1])
        return min(sum(sizes) - configuration.ensemble, fewest_racks - 1)
    found, failures = {tuple(sorted(sizes))}, 0
    while all(creatable(left, configuration, racks) for left in found):
        found = {
            tuple(sorted((*left[:rack], left[rack] - 1, *left[rack + 1 :])))
            for left in found
            for rack in range(len(left))
            if left[rack]
        }
        failures += 1
        if len(found) > MOST:
            raise BadInput(
                f"{sum(sizes)} bookies in {len(sizes)} racks: with --enforce-min-racks and E > WQ more than "
                f"{MOST:,} ways to lose some would have to be looked at; give fewer of them"
            )
    return failures - 1


def fewest_successors(sizes: tuple[int, ...], configuration: Configuration, racks: int) -> int:
    """Return the fewest bookies outside an ensemble that may replace one of its members."""
    return min(
        size - count + sum(other for other, used in zip(sizes, counts, strict=True) if not used)
        for counts in ensembles(sizes, configuration, racks)
        for size, count in zip(sizes, counts, strict=True)
        if count
    )


def replaces_a_rack(sizes: tuple[int, ...], configuration: Configuration, racks: int) -> bool:
    """Return whether the members of any one rack can be replaced, each from a rack of its own."""
    return all(
        max(counts) <= len([used for used in counts if not used])
        for counts in ensembles(sizes, configuration, racks)
    )
