"""A deployment: a configuration on a number of bookies, in racks, with the settings of a client."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.errors import BadInput
from fencepost.quorums.enforced import (
    creatable,
    failures_before_creation,
    fewest_successors,
    replaces_a_rack,
)
from fencepost.quorums.placement import Racks
from fencepost.quorums.stripes import Configuration

DEFAULT_MIN_RACKS = 2
"""minNumRacksPerWriteQuorum unless it is set (AbstractConfiguration)."""


@dataclass(frozen=True)
class Client:
    """The settings of the BookKeeper client that change an answer, with their defaults."""

    delay_ensemble_change: bool = False
    opportunistic_striping: bool = False
    min_racks: int | None = None
    enforce_min_racks: bool = False

    def least_racks(self, write_quorum: int) -> int:
        """Return how many racks a window must span: minNumRacksPerWriteQuorum, by default 2, capped at WQ."""
        return min(write_quorum, DEFAULT_MIN_RACKS if self.min_racks is None else self.min_racks)


@dataclass(frozen=True)
class Deployment:
    """A configuration on N writable bookies, in racks if known.

    Raises BadInput if no ledger can be created.
    """

    asked: Configuration
    bookies: int
    client: Client = Client()
    racks: Racks | None = None
    pulsar: bool = False
    autorecovery: bool = True
    """Whether a daemon of auto-recovery runs, which copies the entries of a lost bookie to others."""
    recovery_racks: int | None = None
    """The racks that auto-recovery keeps in every write set: 1 if it enforces none, None if not known."""
    policy_off: bool = False
    """Whether racks are to be enforced, but not by Pulsar, because no policy that knows racks is on."""

    def __post_init__(self) -> None:
        """Raise BadInput if no ledger can be created."""
        if self.bookies < 1:
            raise BadInput(f"-n {self.bookies}: the number of bookies must be at least 1")
        if self.racks is not None and self.racks.placement is None and sum(self.racks.sizes) != self.bookies:
            raise BadInput(
                f"racks of {', '.join(map(str, self.racks.sizes))} bookies are {sum(self.racks.sizes)}, not "
                f"{self.bookies}: the sizes must add up to -n"
            )
        self._check_bookies()
        self._check_racks()

    def _check_bookies(self) -> None:
        if self.bookies >= self.asked.ensemble:
            return
        if not self.client.opportunistic_striping:
            raise BadInput(
                f"ensemble {self.asked.ensemble} exceeds the {self.bookies} bookies: E must be at most N, "
                "unless opportunistic striping is on"
            )
        if self.bookies < self.asked.write_quorum:
            raise BadInput(
                f"write quorum {self.asked.write_quorum} exceeds the {self.bookies} bookies: "
                "opportunistic striping shrinks E, never below WQ"
            )

    def _check_racks(self) -> None:
        """Raise BadInput if the client enforces more racks than an ensemble can have here."""
        if self.racks is None or not self.client.enforce_min_racks:
            return
        racks = self.least_racks
        spanned = self.racks.racks_per_window(self.configuration)
        if spanned is not None and spanned < racks:
            raise BadInput(
                f"racks {','.join(self.racks.placement or ())}: a write set spans {spanned} of them, and "
                f"{racks} are enforced; the client does not create this ensemble"
            )
        if self.enforced is not None and not creatable(self.enforced, self.configuration, racks):
            raise BadInput(
                f"racks of {', '.join(map(str, self.enforced))} bookies: no ensemble of {self.configuration} "
                f"has {racks} racks in every write set, as the client enforces, so no ledger can be created "
                "(BKNotEnoughBookiesException)"
            )

    @property
    def least_racks(self) -> int:
        """The racks that every write set of a new ensemble must span, if racks are enforced."""
        return self.client.least_racks(self.asked.write_quorum)

    @property
    def enforced(self) -> tuple[int, ...] | None:
        """The bookies of each rack, largest first, if racks are enforced and only these numbers are known."""
        if self.racks is None or self.racks.placement is not None or not self.client.enforce_min_racks:
            return None
        return tuple(sorted(self.racks.sizes, reverse=True))

    @property
    def replaceable(self) -> int:
        """The failures after which each failed bookie is replaced: N - E, or fewer with enforced racks."""
        if self.enforced is None:
            return self.spare
        return fewest_successors(self.enforced, self.configuration, self.least_racks)

    @property
    def configuration(self) -> Configuration:
        """The configuration of new ledgers. With opportunistic striping E shrinks until it fits."""
        e, wq, aq = self.asked.sizes
        found = Configuration(min(e, self.bookies), wq, aq)
        while self.client.opportunistic_striping and found.ensemble > wq and not self._fits(found):
            found = Configuration(found.ensemble - 1, wq, aq)
        return found

    def _fits(self, configuration: Configuration) -> bool:
        return self.enforced is None or creatable(self.enforced, configuration, self.least_racks)

    @property
    def spare(self) -> int:
        """The number of writable bookies outside an ensemble."""
        return self.bookies - self.configuration.ensemble


# Losses of bookies and of racks


def creations_survived(deployment: Deployment, floor: int) -> int:
    """Return the number of failures after which an ensemble of `floor` or more bookies can be created."""
    if deployment.enforced is None:
        return deployment.bookies - floor
    _, wq, aq = deployment.asked.sizes
    return failures_before_creation(deployment.enforced, Configuration(floor, wq, aq), deployment.least_racks)


def most_of_a_rack(deployment: Deployment, racks: Racks) -> int:
    """Return the most bookies of one rack in a write set, also after auto-recovery has moved copies."""
    if not deployment.client.enforce_min_racks:
        return racks.most_in_a_window(deployment.configuration)
    kept = deployment.recovery_racks if deployment.autorecovery else None
    enforced = deployment.least_racks if kept is None else min(deployment.least_racks, kept)
    return racks.most_in_a_window(deployment.configuration, enforced)


def writes_without_a_rack(deployment: Deployment, racks: Racks) -> bool:
    """Return whether the writer's ledger and new ledgers can be written after the loss of any rack."""
    if deployment.enforced is not None:
        return creates_without_a_rack(deployment) and replaces_a_rack(
            deployment.enforced, deployment.configuration, deployment.least_racks
        )
    wanted = deployment.least_racks if deployment.client.enforce_min_racks else 1
    return (
        len(racks.sizes) - 1 >= wanted
        and deployment.bookies - racks.largest >= deployment.configuration.ensemble
    )


def creates_without_a_rack(deployment: Deployment) -> bool:
    """Return whether new ensembles can be created after the loss of any of the enforced racks."""
    sizes = deployment.enforced or ()
    return all(
        creatable((*sizes[:lost], *sizes[lost + 1 :]), deployment.configuration, deployment.least_racks)
        for lost in range(len(sizes))
    )


def enforced_by(deployment: Deployment) -> str:
    """Return who must enforce racks, if the client does: auto-recovery moves copies by its own settings."""
    if not deployment.client.enforce_min_racks or not deployment.autorecovery:
        return ""
    rule = " Client and bookies must both enforce racks, because auto-recovery uses the bookies' setting"
    if deployment.recovery_racks is None:
        return f"{rule} (enforceMinNumRacksPerWriteQuorum); theirs is not given here."
    return f"{rule}, and {'both do' if deployment.recovery_racks > 1 else 'the bookies do not'}."
