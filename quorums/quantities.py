"""What a configuration gives: quantities with formula, value and meaning, and warnings that name their source.

A quantity that is a theorem names its lemma (`fencepost prove NAME`); one that is a definition or a rule of the client
names where it comes from. Numbers are bookies unless the unit is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TypeAlias

from fencepost.quorums import arithmetic
from fencepost.quorums.deployment import Deployment
from fencepost.quorums.rack_losses import creations_survived, most_of_a_rack, writes_without_a_rack

Value: TypeAlias = int | float | bool | str


@dataclass(frozen=True)
class Quantity:
    """One line of the answer. `lemma` is set exactly if the value is a theorem about sets."""

    number: int
    name: str
    formula: str
    value: Value
    meaning: str
    source: str
    lemma: str | None = None


def bookie_count(number: int, noun: str = "bookie") -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def quantities(deployment: Deployment) -> list[Quantity]:
    """The quantities, in order: quorums, losses, writing, forgetting, racks, cost."""
    return [
        *quorum_quantities(deployment),
        *loss_quantities(deployment),
        *writing_quantities(deployment),
        *forgetting_quantities(deployment),
        *rack_quantities(deployment),
        *cost_quantities(deployment),
    ]


def quorum_quantities(deployment: Deployment) -> list[Quantity]:
    e, wq, aq = sizes = deployment.configuration.sizes
    qc, ec = arithmetic.negative_answers(*sizes), arithmetic.fencing_answers(*sizes)
    fewest = arithmetic.fewest_answers(*sizes)
    return [
        Quantity(
            1,
            "valid",
            "1 <= AQ <= WQ <= E <= N",
            True,
            f"Ledgers can be created: {e}/{wq}/{aq} on {bookie_count(deployment.bookies)}.",
            "LedgerCreateOp.CreateBuilderImpl.validate",
        ),
        Quantity(
            2,
            "QC, answers to call an entry absent",
            "WQ - AQ + 1",
            qc,
            f"Recovery declares an entry absent on {qc} NoSuchEntry from its write set.",
            "BP-46; ReadOpBase",
            "coverage-reads",
        ),
        Quantity(
            3,
            "EC, answers that always suffice to fence",
            "E - AQ + 1",
            ec,
            f"Any {bookie_count(ec)} that answer are enough to fence the ledger.",
            "BP-46; the code tests each window",
            "coverage-fencing",
        ),
        Quantity(
            4,
            "fewest answers that can suffice to fence",
            "E - floor(E (AQ - 1) / WQ)",
            fewest,
            f"With the silent spread evenly, {bookie_count(fewest)} can be enough; never fewer.",
            "RRQuorumCoverageSet.checkCovered",
            "fewest-answers",
        ),
        Quantity(
            5,
            "copies guaranteed when acknowledged",
            "AQ",
            aq,
            f"An acknowledged entry is on {bookie_count(aq)}; WQ = {wq} copies are hoped for.",
            "definition: PendingAddOp, BP-31",
        ),
    ]


def loss_quantities(deployment: Deployment) -> list[Quantity]:
    _, wq, aq = sizes = deployment.configuration.sizes
    sure, lucky = arithmetic.sure_losses(*sizes), arithmetic.lucky_losses(*sizes)
    slack = arithmetic.slack(*sizes)
    client = deployment.client
    spare = spare_formula(deployment)
    rewriting = min(sure, deployment.replaceable + (slack if client.delay_ensemble_change else 0))
    return [
        Quantity(
            6,
            "permanent losses surely survived",
            "AQ - 1",
            sure,
            f"Any {bookie_count(sure)} can be lost for ever without losing an acknowledged entry; "
            f"up to {lucky} = floor(E (AQ - 1) / WQ) if no window holds {aq} of them.",
            "protocol.md",
            "sure-losses",
        ),
        Quantity(
            7,
            "bookies down, and still the ledger can be fenced",
            "AQ - 1; any set with at most AQ - 1 in each window",
            sure,
            f"Failover works with any {bookie_count(sure)} down; {aq} next to each other block it.",
            "RRQuorumCoverageSet.checkCovered",
            "loss-is-fencing",
        ),
        Quantity(
            8,
            "and recovery can re-write what it read",
            f"min(AQ - 1, {spare} + WQ - AQ)" if client.delay_ensemble_change else f"min(AQ - 1, {spare})",
            rewriting,
            f"With {bookie_count(rewriting)} down recovery also finds where to write entries back.",
            "client: ReadOnlyLedgerHandle.handleBookieFailure",
        ),
        Quantity(
            9,
            "bookies down, and it can be opened without recovery",
            "AQ - 1; any set with at most AQ - 1 in each window",
            sure,
            f"Tailing readers can open the ledger with any {bookie_count(sure)} down.",
            "PendingReadLacOp",
            "loss-is-fencing",
        ),
        Quantity(
            10,
            "bookies down, and a closed entry can be read",
            "AQ - 1",
            aq - 1,
            f"One holder is up with {bookie_count(aq - 1)} down, or {wq - 1} if the entry reached all {wq}.",
            "definition: PendingReadOp, from row 5",
        ),
    ]


def writing_quantities(deployment: Deployment) -> list[Quantity]:
    sizes = deployment.configuration.sizes
    write_quorum = deployment.configuration.write_quorum
    slack, spare, client = arithmetic.slack(*sizes), deployment.replaceable, deployment.client
    formula = spare_formula(deployment)
    floor = write_quorum if client.opportunistic_striping else deployment.asked.ensemble
    over_racks = f" over at least {bookie_count(deployment.least_racks, 'rack')} in every write set"
    return [
        Quantity(
            11,
            "failures survived by a running writer, no change delayed",
            formula,
            spare,
            f"Every failed bookie must be replaced: failure {spare + 1} closes the ledger with an error.",
            "client: handleBookieFailure",
        ),
        Quantity(
            12,
            "failures survived by a running writer with delayEnsembleChange",
            f"{formula} + WQ - AQ",
            spare + slack,
            f"Up to {slack} failed in a write set need no replacement"
            + (
                f"; {bookie_count(spare, 'spare')} can replace others."
                if client.delay_ensemble_change
                else "; but delayEnsembleChange is off here."
            ),
            "client: failBookieAndCheck",
            "slack",
        ),
        Quantity(
            13,
            "failures after which a new ledger can be created",
            "fewest whose loss leaves no ensemble, less 1"
            if deployment.enforced
            else "N - WQ"
            if client.opportunistic_striping
            else "N - E",
            creations_survived(deployment, floor),
            f"A new ledger needs {bookie_count(floor)}"
            + (over_racks if deployment.enforced else "")
            + (", E shrinks to what is there." if client.opportunistic_striping else "."),
            "client: LedgerCreateOp.initiate",
        ),
        Quantity(
            14,
            "slow bookies hidden from latency",
            "WQ - AQ in each window",
            slack,
            f"An add completes without waiting for {bookie_count(slack)} of its write set.",
            "PendingAddOp",
            "slack",
        ),
        Quantity(
            15,
            "failures survived by a writer with DEFERRED_SYNC",
            "0",
            0,
            "force() needs all E bookies and ensemble change is refused; durable up to the last force().",
            "client: ForceLedgerOp",
        ),
        Quantity(
            16,
            "failures after which auto-recovery can restore all copies",
            formula,
            spare,
            "Each lost bookie of an ensemble needs a live one outside it"
            + (", of its rack or of one without a bookie of the ensemble" if deployment.enforced else "")
            + ("." if spare else "; there may be none." if deployment.enforced else "; there is none."),
            "client: issue #3905",
        ),
    ]


def spare_formula(deployment: Deployment) -> str:
    """Return the formula of `Deployment.replaceable`."""
    return "fewest that may replace one" if deployment.enforced else "N - E"


def forgetting_quantities(deployment: Deployment) -> list[Quantity]:
    e, wq, aq = deployment.configuration.sizes
    ec = arithmetic.fencing_answers(e, wq, aq)
    floor, full = arithmetic.forgetful_holders(aq, aq), arithmetic.forgetful_holders(wq, aq)
    least, all_fenced = arithmetic.forgetful_fences(ec, e, aq), arithmetic.forgetful_fences(e, e, aq)
    return [
        Quantity(
            17,
            "holders that may forget an entry before recovery can drop it",
            "holders - AQ",
            floor,
            f"{floor} of the {aq} that acknowledged it; {full} if it reached all {wq}.",
            "BP-46 scenario 2; issue #2909",
            "forgetting",
        ),
        Quantity(
            18,
            "fenced bookies that may forget the fence",
            "fenced - EC",
            least,
            f"{least} if only EC = {ec} were fenced; {all_fenced} if all {e} were.",
            "BP-46 scenario 1",
            "forgetting",
        ),
    ]


def rack_quantities(deployment: Deployment) -> list[Quantity]:
    configuration, racks, client = deployment.configuration, deployment.racks, deployment.client
    e, wq, aq = configuration.sizes
    enough = arithmetic.sufficient_racks(e, wq, aq)
    found = []
    if racks is not None:
        worst = most_of_a_rack(deployment, racks)
        remaining = deployment.bookies - racks.largest
        kept = worst <= aq - 1
        found.append(
            Quantity(
                19,
                "survives the loss of any one rack: data and recovery",
                "most bookies of a rack in a window <= AQ - 1",
                kept,
                f"Up to {worst} of a window share a rack"
                + (" in the worst placement" if racks.placement is None else "")
                + f"; at most {aq - 1} may.",
                "RRQuorumCoverageSet.checkCovered",
                "loss-is-fencing",
            )
        )
    found.append(
        Quantity(
            20,
            "racks in every write set that are enough for that",
            "WQ - AQ + 2",
            enough,
            f"With {enough} racks in every write set no rack holds {aq} of it"
            + ("; impossible, as that exceeds WQ." if enough > wq else "."),
            "minNumRacksPerWriteQuorum, enforced",
            "racks",
        )
    )
    if racks is not None:
        found.append(
            Quantity(
                21,
                "keeps writing after the loss of any one rack",
                "N - largest rack >= E" + (", and other racks replace it" if deployment.enforced else ""),
                writes_without_a_rack(deployment, racks),
                f"{bookie_count(remaining)} remain after the largest; new ensembles take {e}"
                + (", over enough racks" if client.enforce_min_racks else "")
                + (
                    ", and each lost one a rack without a bookie of its ensemble"
                    if deployment.enforced
                    else ""
                )
                + ("; the spare are taken to be elsewhere." if racks.placement and deployment.spare else "."),
                "client: RackawareEnsemblePlacementPolicyImpl",
            )
        )
    domains = min(wq, client.min_racks) if client.min_racks is not None else 1
    found.append(
        Quantity(
            22,
            "racks an entry is on when acknowledged, with enforceMinNumFaultDomainsForWrite",
            "min(WQ, minNumRacksPerWriteQuorum)",
            domains,
            "Copies survive a rack if that is 2 or more; fencing can stay blocked until the rack returns."
            + ("" if client.min_racks is not None else " minNumRacksPerWriteQuorum is not given here."),
            "client: areAckedBookiesAdheringToPlacementPolicy",
        )
    )
    return found


def cost_quantities(deployment: Deployment) -> list[Quantity]:
    e, wq, aq = deployment.configuration.sizes
    blocking = arithmetic.blocking_sets(e, wq, aq)
    return [
        Quantity(
            23,
            "storage factor",
            "WQ",
            wq,
            f"Each byte is written {wq} times; each bookie of the ensemble takes {wq / e:.0%} of a ledger's entries.",
            "definition: RoundRobinDistributionSchedule",
        ),
        Quantity(
            24,
            "sets of AQ bookies whose loss loses data and recovery",
            "AQ-subsets within a window, of C(E, AQ)",
            f"{blocking} of {comb(e, aq)}",
            f"Of the ways to lose {bookie_count(aq)} of an ensemble, {blocking / comb(e, aq):.0%} do harm.",
            "counted: docs/lemmas.md, section Blocking sets",
        ),
    ]
