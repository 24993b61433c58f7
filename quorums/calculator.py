"""Warnings about a configuration, each with its source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.quorums.deployment import (
    Deployment,
    creates_without_a_rack,
    most_of_a_rack,
    writes_without_a_rack,
)
from fencepost.quorums.quantities import bookie_count


@dataclass(frozen=True)
class Warning:
    """A reason to change the configuration or to use it with care; `source` is the rule or issue."""

    text: str
    source: str


def warnings(deployment: Deployment) -> Iterator[Warning]:
    """Yield the warnings about a deployment."""
    e, wq, aq = deployment.configuration.sizes
    client, racks = deployment.client, deployment.racks
    if deployment.asked != deployment.configuration:
        yield Warning(
            f"only {bookie_count(deployment.bookies)}: new ledgers have {deployment.configuration}, not "
            f"{deployment.asked}",
            "row 13, opportunisticStriping",
        )
    if aq == 1:
        yield Warning(
            "AQ = 1: only one copy of an acknowledged entry is guaranteed, and one silent bookie blocks "
            "failover",
            "rows 5 and 7, lemma sure-losses; seen in pulsar #11434, bookkeeper #4651",
        )
    if aq == wq and wq > 1:
        yield Warning(
            "AQ = WQ: one slow bookie delays all its adds, and one false NoSuchEntry loses an entry (QC = 1)",
            "rows 2 and 14, issues #2908 and #2612",
        )
    if deployment.spare == 0:
        slack = wq - aq
        survived = slack if client.delay_ensemble_change else 0
        yield Warning(
            f"N = E: no spare bookie. A running writer survives {bookie_count(survived, 'failure')}; "
            + (
                "auto-recovery survives none"
                if client.opportunistic_striping
                else "new ledgers and auto-recovery survive none"
            ),
            "rows 11 and 16, issue #3905, pulsar #17814",
        )
    if racks is not None and most_of_a_rack(deployment, racks) >= aq:
        yield Warning(
            f"one rack can hold {most_of_a_rack(deployment, racks)} bookies of a write set: losing AQ = "
            f"{aq} of them blocks recovery",
            "row 19, lemma loss-is-fencing",
        )
    if deployment.policy_off:
        yield Warning(
            "racks are not enforced: Pulsar hands bookkeeperClientEnforceMinNumRacksPerWriteQuorum to its "
            "client only if bookkeeperClientRackawarePolicyEnabled or "
            "bookkeeperClientRegionawarePolicyEnabled is true",
            "row 19, BookKeeperClientFactoryImpl.setDefaultEnsemblePlacementPolicy",
        )
    if client.enforce_min_racks and deployment.autorecovery and deployment.recovery_racks == 1:
        yield Warning(
            "auto-recovery enforces no racks: set enforceMinNumRacksPerWriteQuorum=true for the bookies, and "
            "for the daemon of auto-recovery if it runs alone",
            "row 19, RackawareEnsemblePlacementPolicyImpl.replaceBookie",
        )
    if deployment.replaceable < deployment.spare:
        yield Warning(
            f"racks are enforced: a writer survives {bookie_count(deployment.replaceable, 'failure')}, "
            f"not N - E = {deployment.spare}, because a bookie is replaced only from its own rack or "
            "from a rack without a bookie of the ensemble",
            "rows 8, 11, 12 and 16, RackawareEnsemblePlacementPolicyImpl.replaceBookie",
        )
    if client.enforce_min_racks and racks is None:
        yield Warning(
            "racks are enforced, but --racks does not give the bookies of each rack: the rows ignore racks",
            "rows 1, 8, 11 to 13 and 16",
        )
    if deployment.enforced and e > wq:
        yield Warning(
            "E > WQ with racks enforced: the client picks bookies one by one, and may fail although an "
            "ensemble exists",
            "rows 1, 13 and 21, RackawareEnsemblePlacementPolicyImpl.newEnsembleInternal",
        )
    if racks is not None and not writes_without_a_rack(deployment, racks):
        new_ones = deployment.enforced is not None and creates_without_a_rack(deployment)
        lost = (
            "closes ledgers that write to it with an error" if new_ones else "stops writes until it is back"
        )
        yield Warning(f"losing {'a' if new_ones else 'the largest'} rack {lost}", "row 21")
    if e > wq:
        yield Warning(
            "E > WQ: with today's client an ensemble change can acknowledge entries that have too few copies",
            "issues #3005 and #4097, open",
        )
        if deployment.pulsar:
            yield Warning("E > WQ: Pulsar turns sticky reads off", "bookkeeperEnableStickyReads")
    if deployment.pulsar and e > 5:
        yield Warning(f"E = {e} exceeds the broker's default cap of 5", "managedLedgerMaxEnsembleSize")
