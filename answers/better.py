"""Better setups: later releases and other settings with fewer losses, by the conditions of each loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

from fencepost.answers.advice import ANYTHING_ELSE, UNAVOIDABLE, Advice, AdviceAnswer, LossState, judged
from fencepost.answers.public_losses import public_losses
from fencepost.answers.risks import risks
from fencepost.answers.setups import Setup
from fencepost.protocols.bookkeeper.releases import TAGS, ordered
from fencepost.quorums.storages import STORAGES
from fencepost.quorums.stripes import Configuration


@dataclass(frozen=True)
class Better:
    """A setup with fewer losses than the one asked about."""

    setup: Setup
    changes: tuple[str, ...]
    """The differences from the setup asked about, in words."""
    avoids: tuple[str, ...]
    """The losses of the setup asked about that this one does not have."""
    remains: Mapping[str, str]
    """The losses that this setup may have, each with its coincidence."""

    @property
    def answer(self) -> AdviceAnswer:
        """The answer for this setup, if each loss whose conditions it meets happens."""
        return judged(self.remains.values())


COMPACTION = "transactional-compaction"
"""The feature of `useTransactionalCompaction=true`, which public losses of storages with entry logs lack."""

Costs = tuple[int, tuple[int, ...]]
"""The number of changes of a setup, and its release: the smaller, the nearer."""


@lru_cache(maxsize=8)
def better_setups(advice: Advice) -> list[Better]:
    """Return the nearest setup with fewer losses, and the one with the fewest; none if there is none.

    Only later releases are proposed, never earlier ones. A loss that was proved absent at the sizes asked
    about counts for no setup of these sizes. Other losses count if their conditions are met. A loss that no
    known bug explains counts for each of them.
    """
    carried = {loss.name: loss.coincidence for loss in advice.deciding if loss.name == ANYTHING_ELSE}
    asked = [loss for loss in advice.losses if loss.decides or loss.is_open]
    now = carried | {loss.name: loss.coincidence for loss in asked if loss.name != ANYTHING_ELSE}
    absent = {loss.name for loss in advice.losses if loss.state is LossState.ABSENT}
    found: list[tuple[Costs, Better]] = []
    for changes, setup, lines in _neighbours(advice.setup):
        same_sizes = setup.configuration == advice.setup.configuration
        left_out = advice.accepted | (absent if same_sizes else set())
        remains = carried | {n: kind for n, kind in _losses(setup).items() if n not in left_out}
        if _weight(remains) < _weight(now) and len(remains) < len(now):
            avoids = tuple(name for name in now if name not in remains)
            costs = len(changes) + lines, ordered(setup.release)
            found.append((costs, Better(setup, changes, avoids, remains)))
    if not found:
        return []
    nearest = min(found, key=lambda one: (one[0][0], _weight(one[1].remains), one[0][1]))[1]
    fewest = min(found, key=lambda one: (_weight(one[1].remains), one[0]))[1]
    return [nearest] if nearest == fewest else [nearest, fewest]


def _weight(losses: Mapping[str, str]) -> tuple[int, int]:
    """Return how many losses nobody can rule out, and how many losses there are."""
    return sum(kind in UNAVOIDABLE for kind in losses.values()), len(losses)


def _losses(setup: Setup) -> dict[str, str]:
    """Return the losses whose conditions a setup meets, each with its coincidence."""
    known = {risk.bug.name: risk.coincidence for risk in risks(setup) if risk.loses}
    return known | {loss.name: loss.coincidence for loss in public_losses(setup.release, setup.traits)}


def _neighbours(setup: Setup) -> Iterator[tuple[tuple[str, ...], Setup, int]]:
    """Yield other setups, each with its changes in words, and 1 if its release is of a later line."""
    ensemble, write_quorum, ack_quorum = setup.configuration.sizes
    later = [release for release in TAGS if ordered(release) >= ordered(setup.release)]
    unstriped = Configuration(write_quorum, write_quorum, ack_quorum)
    compaction = setup.features | ({COMPACTION} if STORAGES[setup.storage].index == "files" else set())
    for release, journal, sync, sizes, features in product(
        later,
        {setup.journal, True},
        {setup.sync, True},
        dict.fromkeys((setup.configuration, unstriped)),
        dict.fromkeys((setup.features, compaction)),
    ):
        changes = [
            (release != setup.release, f"BookKeeper {release}"),
            (journal != setup.journal, "journalWriteData=true"),
            (sync != setup.sync, "journalSyncData=true"),
            (sizes.ensemble != ensemble, f"E = {write_quorum}"),
            (features != setup.features, "useTransactionalCompaction=true"),
        ]
        said = tuple(words for differs, words in changes if differs)
        other = replace(
            setup, release=release, journal=journal, sync=sync, configuration=sizes, features=features
        )
        if said:
            yield said, other, int(ordered(release)[:2] != ordered(setup.release)[:2])
