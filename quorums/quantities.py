"""The quantities of a configuration: formula, value and meaning of each.

A quantity that is a theorem names its lemma (`fencepost prove NAME`). A quantity that is a definition or a
rule of the client names its source. Numbers are bookies unless the unit is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import TypeAlias

from fencepost.quorums import arithmetic
from fencepost.quorums.deployment import Deployment
from fencepost.quorums.rack_losses import (
    creations_survived,
    enforced_by,
    most_of_a_rack,
    writes_without_a_rack,
)

Value: TypeAlias = int | float | bool | str


@dataclass(frozen=True)
class Quantity:
    """One line of the answer. `lemma` is set if and only if the value is a theorem about sets."""

    number: int
    name: str
    formula: str
    value: Value
    meaning: str
    source: str
    lemma: str | None = None


def bookie_count(number: int, noun: str = "bookie") -> str:
    """Return a number of bookies, or of another noun, in words."""
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def quantities(deployment: Deployment) -> list[Quantity]:
    """Return the quantities in order: quorums, losses, writing, forgetting, racks, cost."""
    return [
        *quorum_quantities(deployment),
        *loss_quantities(deployment),
        *writing_quantities(deployment),
        *forgetting_quantities(deployment),
        *rack_quantities(deployment),
        *cost_quantities(deployment),
    ]


def quorum_quantities(deployment: Deployment) -> list[Quantity]:
    """Return the quantities about quorums."""
    e, wq, aq = sizes = deployment.configuration.sizes
    qc, ec = arithmetic.negative_answers(*sizes), arithmetic.fencing_answers(*sizes)
    fewest = arithmetic.fewest_answers(*sizes)
    return [
        Quantity(
            1,
            "Valid configuration",
            "1 <= AQ <= WQ <= E <= N",
            True,
            f"Ledgers can be created: {e}/{wq}/{aq} on {bookie_count(deployment.bookies)}.",
            "LedgerCreateOp.CreateBuilderImpl.validate",
        ),
        Quantity(
            2,
            "QC, NoSuchEntry answers that declare an entry absent",
            "WQ - AQ + 1",
            qc,
            f"Recovery declares an entry absent after {qc} NoSuchEntry answers from its write set.",
            "BP-46; ReadOpBase",
            "coverage-reads",
        ),
        Quantity(
            3,
            "EC, answers that always suffice to fence",
            "E - AQ + 1",
            ec,
            f"Answers of any {bookie_count(ec)} are enough to fence the ledger.",
            "BP-46; the code tests each window",
            "coverage-fencing",
        ),
        Quantity(
            4,
            "Fewest answers that can suffice to fence",
            "E - floor(E (AQ - 1) / WQ)",
            fewest,
            f"If silent bookies are spread evenly, answers of {bookie_count(fewest)} can be enough. Fewer "
            "never are.",
            "RRQuorumCoverageSet.checkCovered",
            "fewest-answers",
        ),
        Quantity(
            5,
            "Copies of an entry that are guaranteed when it is acknowledged",
            "AQ",
            aq,
            f"An acknowledged entry is on at least {bookie_count(aq)}. WQ = {wq} copies are the aim.",
            "definition: PendingAddOp, BP-31",
        ),
    ]


def loss_quantities(deployment: Deployment) -> list[Quantity]:
    """Return the quantities about lost bookies and bookies that are down."""
    _, wq, aq = sizes = deployment.configuration.sizes
    sure, lucky = arithmetic.sure_losses(*sizes), arithmetic.lucky_losses(*sizes)
    slack = arithmetic.slack(*sizes)
    client = deployment.client
    spare = spare_formula(deployment)
    rewriting = min(sure, deployment.replaceable + (slack if client.delay_ensemble_change else 0))
    return [
        Quantity(
            6,
            "Bookies you can lose for good without losing data",
            "AQ - 1",
            sure,
            f"Any {bookie_count(sure)} can be lost for good without losing an acknowledged entry. "
            f"Up to {lucky} = floor(E (AQ - 1) / WQ) can be lost if no window has {aq} of them.",
            "protocol.md",
            "sure-losses",
        ),
        Quantity(
            7,
            "Bookies that may be down while failover still works",
            "AQ - 1; any set with at most AQ - 1 in each window",
            sure,
            f"Failover works with any {bookie_count(sure)} down. {aq} in one window block it.",
            "RRQuorumCoverageSet.checkCovered",
            "loss-is-fencing",
        ),
        Quantity(
            8,
            "Bookies that may be down while recovery can write back",
            f"min(AQ - 1, {spare} + WQ - AQ)" if client.delay_ensemble_change else f"min(AQ - 1, {spare})",
            rewriting,
            f"With {bookie_count(rewriting)} down recovery still finds bookies to which it can write entries "
            "back.",
            "client: ReadOnlyLedgerHandle.handleBookieFailure",
        ),
        Quantity(
            9,
            "Bookies that may be down while readers can open the ledger without recovery",
            "AQ - 1; any set with at most AQ - 1 in each window",
            sure,
            f"Tailing readers can open the ledger with any {bookie_count(sure)} down.",
            "PendingReadLacOp",
            "loss-is-fencing",
        ),
        Quantity(
            10,
            "Bookies that may be down while an entry of a closed ledger can be read",
            "AQ - 1",
            aq - 1,
            f"With {bookie_count(aq - 1)} down a copy is left; with {wq - 1} down if the entry is on all "
            f"{wq}.",
            "definition: PendingReadOp, from row 5",
        ),
    ]


def writing_quantities(deployment: Deployment) -> list[Quantity]:
    """Return the quantities about writing."""
    sizes = deployment.configuration.sizes
    write_quorum = deployment.configuration.write_quorum
    slack, spare, client = arithmetic.slack(*sizes), deployment.replaceable, deployment.client
    restored = min(arithmetic.sure_losses(*sizes), spare) if deployment.autorecovery else 0
    formula = spare_formula(deployment)
    floor = write_quorum if client.opportunistic_striping else deployment.asked.ensemble
    over_racks = f" over at least {bookie_count(deployment.least_racks, 'rack')} in every write set"
    return [
        Quantity(
            11,
            "Bookie failures that a running writer survives (delayEnsembleChange off)",
            formula,
            spare,
            f"Every failed bookie must be replaced. Failure {spare + 1} closes the ledger with an error.",
            "client: handleBookieFailure",
        ),
        Quantity(
            12,
            "Bookie failures that a running writer survives (delayEnsembleChange on)",
            f"{formula} + WQ - AQ",
            spare + slack,
            f"In a write set {bookie_count(slack, 'failed bookie')} may stay without a replacement"
            + (
                f"; {bookie_count(spare, 'spare')} can replace others."
                if client.delay_ensemble_change
                else ", but delayEnsembleChange is off here."
            ),
            "client: failBookieAndCheck",
            "slack",
        ),
        Quantity(
            13,
            "Bookie failures after which a new ledger can be created",
            "fewest losses that leave no ensemble, minus 1"
            if deployment.enforced
            else "N - WQ"
            if client.opportunistic_striping
            else "N - E",
            creations_survived(deployment, floor),
            f"A new ledger needs {bookie_count(floor)}"
            + (over_racks if deployment.enforced else "")
            + ("; E shrinks to the bookies that are left." if client.opportunistic_striping else "."),
            "client: LedgerCreateOp.initiate",
        ),
        Quantity(
            14,
            "Slow bookies of a write set that do not delay an add",
            "WQ - AQ in each window",
            slack,
            f"An add completes without waiting for {bookie_count(slack)} of its write set.",
            "PendingAddOp",
            "slack",
        ),
        Quantity(
            15,
            "Bookie failures that a writer with DEFERRED_SYNC survives",
            "0",
            0,
            "force() needs all E bookies, and ensemble changes are refused. Entries up to the last force() "
            "are durable.",
            "client: ForceLedgerOp",
        ),
        Quantity(
            16,
            "Bookie failures after which auto-recovery can restore all copies",
            f"min(AQ - 1, {formula})",
            restored,
            "Auto-recovery is off here, so no copy is restored."
            if not deployment.autorecovery
            else "A copy of each entry must be left, and each lost bookie needs one outside its ensemble"
            + (", of its rack or of a rack without a bookie of the ensemble" if deployment.enforced else "")
            + ("." if spare else ". There may be none." if deployment.enforced else ". There is none."),
            "client: issue #3905",
        ),
    ]


def spare_formula(deployment: Deployment) -> str:
    """Return the formula of `Deployment.replaceable`."""
    return "fewest replacements of a bookie" if deployment.enforced else "N - E"


def forgetting_quantities(deployment: Deployment) -> list[Quantity]:
    """Return the quantities about bookies that forget."""
    e, wq, aq = deployment.configuration.sizes
    ec = arithmetic.fencing_answers(e, wq, aq)
    floor, full = arithmetic.forgetful_holders(aq, aq), arithmetic.forgetful_holders(wq, aq)
    least, all_fenced = arithmetic.forgetful_fences(ec, e, aq), arithmetic.forgetful_fences(e, e, aq)
    return [
        Quantity(
            17,
            "Bookies with an entry that may forget it before recovery can lose it",
            "holders - AQ",
            floor,
            f"{floor} of the {aq} bookies that acknowledged the entry, or {full} of {wq} if all have it.",
            "BP-46 scenario 2; issue #2909",
            "forgetting",
        ),
        Quantity(
            18,
            "Fenced bookies that may forget the fence",
            "fenced - EC",
            least,
            f"{least} if only EC = {ec} bookies were fenced, or {all_fenced} if all {e} were.",
            "BP-46 scenario 1",
            "forgetting",
        ),
    ]


def rack_quantities(deployment: Deployment) -> Iterator[Quantity]:
    """Yield the quantities about racks."""
    configuration, racks, client = deployment.configuration, deployment.racks, deployment.client
    e, wq, aq = configuration.sizes
    enough = arithmetic.sufficient_racks(e, wq, aq)
    if racks is not None:
        worst = most_of_a_rack(deployment, racks)
        remaining = deployment.bookies - racks.largest
        kept = worst <= aq - 1
        yield Quantity(
            19,
            "The loss of any one rack loses neither data nor recovery",
            "most bookies of a rack in a window <= AQ - 1",
            kept,
            f"Up to {worst} bookies of a window share a rack"
            + (" in the worst placement" if racks.placement is None else "")
            + f". At most {aq - 1} may."
            + enforced_by(deployment),
            "RRQuorumCoverageSet.checkCovered",
            "loss-is-fencing",
        )
    yield Quantity(
        20,
        "Racks in every write set that are enough for the loss of one rack",
        "WQ - AQ + 2",
        enough,
        f"With {enough} racks in every write set no rack has {aq} of its bookies"
        + (". It is impossible here, because it exceeds WQ." if enough > wq else "."),
        "minNumRacksPerWriteQuorum, enforced",
        "racks",
    )
    if racks is not None:
        yield Quantity(
            21,
            "Writing continues after the loss of any one rack",
            "N - largest rack >= E"
            + (", and other racks replace its bookies" if deployment.enforced else ""),
            writes_without_a_rack(deployment, racks),
            f"{bookie_count(remaining)} remain without the largest rack, and a new ensemble needs {e}"
            + (", over enough racks" if client.enforce_min_racks else "")
            + (
                ", and each lost bookie needs a rack without a bookie of its ensemble"
                if deployment.enforced
                else ""
            )
            + (
                ". Spare bookies are assumed in other racks." if racks.placement and deployment.spare else "."
            ),
            "client: RackawareEnsemblePlacementPolicyImpl",
        )
    domains = min(wq, client.min_racks) if client.min_racks is not None else 1
    yield Quantity(
        22,
        "Racks that have an acknowledged entry, with enforceMinNumFaultDomainsForWrite",
        "min(WQ, minNumRacksPerWriteQuorum)",
        domains,
        "With 2 or more a copy is left after the loss of a rack. Fencing can be blocked until the rack "
        "is back."
        + ("" if client.min_racks is not None else " minNumRacksPerWriteQuorum is not given here."),
        "client: areAckedBookiesAdheringToPlacementPolicy",
    )


def cost_quantities(deployment: Deployment) -> list[Quantity]:
    """Return the quantities about cost."""
    e, wq, aq = deployment.configuration.sizes
    blocking = arithmetic.blocking_sets(e, wq, aq)
    return [
        Quantity(
            23,
            "Storage factor",
            "WQ",
            wq,
            f"Each byte is written {wq} times. Each bookie of the ensemble stores {wq / e:.0%} of a "
            "ledger's entries.",
            "definition: RoundRobinDistributionSchedule",
        ),
        Quantity(
            24,
            "Sets of AQ bookies whose loss loses data and blocks recovery",
            "sets of AQ bookies within a window, of C(E, AQ)",
            f"{blocking} of {comb(e, aq)}",
            f"{blocking / comb(e, aq):.0%} of the ways to lose {bookie_count(aq)} of an ensemble do harm.",
            "counted over the windows",
        ),
    ]
