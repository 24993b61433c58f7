"""A configuration where it runs: on so many bookies, in racks, with the settings of a client."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.errors import BadInput
from fencepost.quorums.placement import Racks
from fencepost.quorums.stripes import Configuration


@dataclass(frozen=True)
class Client:
    """Settings of the BookKeeper client that change an answer, with their defaults (A.4; Pulsar's keys in B.1)."""

    delay_ensemble_change: bool = False
    opportunistic_striping: bool = False
    min_racks: int | None = None
    enforce_min_racks: bool = False


@dataclass(frozen=True)
class Deployment:
    """A configuration on N writable bookies, in racks if known. Raises BadInput where no ledger can be created."""

    asked: Configuration
    bookies: int
    client: Client = Client()
    racks: Racks | None = None
    pulsar: bool = False

    def __post_init__(self) -> None:
        if self.bookies < 1:
            raise BadInput(f"-n {self.bookies}: the number of bookies must be at least 1")
        if self.racks is not None and self.racks.placement is None and sum(self.racks.sizes) != self.bookies:
            raise BadInput(
                f"racks of {', '.join(map(str, self.racks.sizes))} bookies are {sum(self.racks.sizes)}, not {self.bookies}: "
                "the sizes must add up to -n"
            )
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

    @property
    def configuration(self) -> Configuration:
        """What ledgers get: E shrinks to N where opportunistic striping allows it."""
        ensemble = min(self.asked.ensemble, self.bookies)
        return Configuration(ensemble, self.asked.write_quorum, self.asked.ack_quorum)

    @property
    def spare(self) -> int:
        """Writable bookies outside an ensemble."""
        return self.bookies - self.configuration.ensemble
