"""What should be known before a configuration is used: warnings that name their source, and the table of trade-offs."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from fencepost.quorums import arithmetic
from fencepost.quorums.deployment import Client, Deployment
from fencepost.quorums.quantities import Value, bookie_count
from fencepost.quorums.rack_losses import creates_without_a_rack, most_of_a_rack, writes_without_a_rack
from fencepost.quorums.stripes import configurations


@dataclass(frozen=True)
class Warning:
    """Something that should change the configuration, or at least be known; `source` is the rule or issue."""

    text: str
    source: str


def warnings(deployment: Deployment) -> list[Warning]:
    """What should be known about this deployment before it is used."""
    e, wq, aq = deployment.configuration.sizes
    client, racks = deployment.client, deployment.racks
    found = []
    if deployment.asked != deployment.configuration:
        found.append(
            Warning(
                f"only {bookie_count(deployment.bookies)}: ledgers get {deployment.configuration}, not {deployment.asked}",
                "row 13, opportunisticStriping",
            )
        )
    if aq == 1:
        found.append(
            Warning(
                "AQ = 1: an acknowledged entry has one sure copy, and one silent bookie of the ensemble blocks failover",
                "rows 5 and 7, lemma sure-losses; seen in pulsar #11434, bookkeeper #4651",
            )
        )
    if aq == wq and wq > 1:
        found.append(
            Warning(
                "AQ = WQ: one slow bookie delays every add to it, and one false NoSuchEntry drops an entry (QC = 1)",
                "rows 2 and 14, issues #2908 and #2612",
            )
        )
    if deployment.spare == 0:
        slack = wq - aq
        survived = slack if client.delay_ensemble_change else 0
        found.append(
            Warning(
                f"N = E: no spare bookie; a writer survives {bookie_count(survived, 'failure')}, new ledgers and auto-recovery none"
                if not client.opportunistic_striping
                else f"N = E: no spare bookie; a writer survives {bookie_count(survived, 'failure')}, auto-recovery none",
                "rows 11 and 16, issue #3905, pulsar #17814",
            )
        )
    if racks is not None and most_of_a_rack(deployment, racks) >= aq:
        found.append(
            Warning(
                f"losing one rack can take {most_of_a_rack(deployment, racks)} of a write set: AQ = {aq} of them block recovery",
                "row 19, lemma loss-is-fencing",
            )
        )
    if deployment.replaceable < deployment.spare:
        found.append(
            Warning(
                f"racks are enforced: a writer survives {bookie_count(deployment.replaceable, 'failure')}, "
                f"not N - E = {deployment.spare}, as a bookie is replaced from its rack or from one without "
                "a bookie of the ensemble",
                "rows 8, 11, 12 and 16, RackawareEnsemblePlacementPolicyImpl.replaceBookie",
            )
        )
    if client.enforce_min_racks and racks is None:
        found.append(
            Warning(
                "racks are enforced, and --racks does not say how many bookies each has: no row counts that",
                "rows 1, 8, 11 to 13 and 16",
            )
        )
    if deployment.enforced and e > wq:
        found.append(
            Warning(
                "E > WQ with racks enforced: the client picks bookies one by one, and may fail where an "
                "ensemble exists",
                "rows 1, 13 and 21, RackawareEnsemblePlacementPolicyImpl.newEnsembleInternal",
            )
        )
    if racks is not None and not writes_without_a_rack(deployment, racks):
        new_ones = deployment.enforced is not None and creates_without_a_rack(deployment)
        lost = (
            "closes ledgers that write to it with an error" if new_ones else "stops writes until it returns"
        )
        found.append(Warning(f"losing {'a' if new_ones else 'the largest'} rack {lost}", "row 21"))
    if e > wq:
        found.append(
            Warning(
                "E > WQ: with today's client an ensemble change can acknowledge entries that are then on too few bookies",
                "issues #3005 and #4097, open",
            )
        )
        if deployment.pulsar:
            found.append(Warning("E > WQ: Pulsar's sticky reads are off", "bookkeeperEnableStickyReads"))
    if deployment.pulsar and e > 5:
        found.append(
            Warning(f"E = {e} exceeds the broker's default cap of 5", "managedLedgerMaxEnsembleSize")
        )
    return found


TABLE_COLUMNS = (
    "configuration",
    "bookies",
    "copies",
    "storage_factor",
    "losses",
    "lucky_losses",
    "slack",
    "QC",
    "EC",
    "fewest_answers",
    "writer_failures",
    "writer_failures_delayed",
    "blocking_sets",
    "share_per_bookie",
)


def table(up_to: int, bookies: int | None, client: Client) -> list[dict[str, Value]]:
    """A row of trade-offs for each configuration with E at most `up_to` (and at most N), smallest first."""
    rows = []
    for configuration in configurations(up_to if bookies is None else min(up_to, bookies)):
        e, wq, aq = sizes = configuration.sizes
        deployment = Deployment(configuration, e if bookies is None else bookies, client)
        row: tuple[Value, ...] = (
            str(configuration),
            deployment.bookies,
            aq,
            wq,
            arithmetic.sure_losses(*sizes),
            arithmetic.lucky_losses(*sizes),
            arithmetic.slack(*sizes),
            arithmetic.negative_answers(*sizes),
            arithmetic.fencing_answers(*sizes),
            arithmetic.fewest_answers(*sizes),
            deployment.spare,
            deployment.spare + arithmetic.slack(*sizes),
            f"{arithmetic.blocking_sets(*sizes)}/{comb(e, aq)}",
            round(wq / e, 3),
        )
        rows.append(dict(zip(TABLE_COLUMNS, row, strict=True)))
    return rows
