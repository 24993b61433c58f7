"""The quantities of a configuration: formula, value and meaning of each, as `quantities.toml` has them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import comb
from typing import Any, TypeAlias

from fencepost.encoding.documents import parse_toml
from fencepost.quorums import arithmetic
from fencepost.quorums.deployment import (
    Deployment,
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


class Amount(int):
    """A number that can be written with a noun: `{n:bookie}` is "1 bookie" or "2 bookies"."""

    def __format__(self, noun: str) -> str:
        """Return the number, or a number of things."""
        return bookie_count(int(self), noun) if noun else str(int(self))


def bookie_count(number: int, noun: str = "bookie") -> str:
    """Return a number of bookies, or of another noun, in words."""
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


@cache
def _rows() -> list[dict[str, Any]]:
    name = "quantities.toml"
    text = files("fencepost.quorums").joinpath(name).read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = parse_toml(text, name, "it is part of this package")["rows"]
    return rows


def quantities(deployment: Deployment) -> list[Quantity]:
    """Return the quantities in the order of the table, numbered with those about racks."""
    values = values_of(deployment)
    words = {k: Amount(v) if type(v) is int else v for k, v in values.items()}
    return [
        Quantity(
            number,
            row["name"],
            row["formula"].format_map(words),
            values[row["value"]],
            row["meaning"].format_map(words),
            row["source"],
            row.get("lemma"),
        )
        for number, row in enumerate(_rows(), 1)
        if deployment.racks or "racks" not in row
    ]


def values_of(deployment: Deployment) -> dict[str, Value]:
    """Return the values of a deployment, and the parts of sentences that depend on it, by name."""
    e, wq, aq = sizes = deployment.configuration.sizes
    ec, sure = arithmetic.fencing_answers(*sizes), arithmetic.sure_losses(*sizes)
    slack, spare = arithmetic.slack(*sizes), deployment.replaceable
    blocking = arithmetic.blocking_sets(*sizes)
    enough = arithmetic.sufficient_racks(*sizes)
    return {
        "e": e,
        "wq": wq,
        "aq": aq,
        "n": deployment.bookies,
        "valid": True,
        "none": 0,
        "ec": ec,
        "sure": sure,
        "slack": slack,
        "spare": spare,
        "racks_enough": enough,
        "qc": arithmetic.negative_answers(*sizes),
        "fewest": arithmetic.fewest_answers(*sizes),
        "lucky": arithmetic.lucky_losses(*sizes),
        "all_but_one": wq - 1,
        "one_more": spare + 1,
        "spare_and_slack": spare + slack,
        "restored": min(sure, spare) if deployment.autorecovery else 0,
        "forgetful": arithmetic.forgetful_holders(aq, aq),
        "forgetful_of_all": arithmetic.forgetful_holders(wq, aq),
        "unfenced": arithmetic.forgetful_fences(ec, e, aq),
        "unfenced_of_all": arithmetic.forgetful_fences(e, e, aq),
        "impossible": ". It is impossible here, because it exceeds WQ" if enough > wq else "",
        "part": wq / e,
        "blocking": f"{blocking} of {comb(e, aq)}",
        "blocking_part": blocking / comb(e, aq),
        **_of_client(deployment, sure, slack),
        **_of_racks(deployment),
    }


def _of_client(deployment: Deployment, sure: int, slack: int) -> dict[str, Value]:
    """Return the values and words that depend on the settings of the client."""
    client, spare, is_enforced = deployment.client, deployment.replaceable, deployment.enforced is not None
    delays, shrinks = client.delay_ensemble_change, client.opportunistic_striping
    floor = deployment.configuration.write_quorum if shrinks else deployment.asked.ensemble
    over = f" over at least {bookie_count(deployment.least_racks, 'rack')} in every write set"
    own_rack = ", of its rack or of a rack without a bookie of the ensemble" if is_enforced else ""
    none_left = "" if spare else ". There may be none" if is_enforced else ". There is none"
    domains = 1 if client.min_racks is None else min(deployment.configuration.write_quorum, client.min_racks)
    return {
        "spare_formula": "fewest replacements of a bookie" if is_enforced else "N - E",
        "rewriting": min(sure, spare + (slack if delays else 0)),
        "delayed": " + WQ - AQ" if delays else "",
        "others": f"; {bookie_count(spare, 'spare')} can replace others"
        if delays
        else ", but delayEnsembleChange is off here",
        "creation_formula": "fewest losses that leave no ensemble, minus 1"
        if is_enforced
        else f"N - {'WQ' if shrinks else 'E'}",
        "creations": creations_survived(deployment, floor),
        "floor": floor,
        "over_racks": over if is_enforced else "",
        "shrinks": "; E shrinks to the bookies that are left" if shrinks else "",
        "restores": "A copy of each entry must be left, and each lost bookie needs one outside its ensemble"
        f"{own_rack}{none_left}."
        if deployment.autorecovery
        else "Auto-recovery is off here, so no copy is restored.",
        "domains": domains,
        "not_given": " minNumRacksPerWriteQuorum is not given here." if client.min_racks is None else "",
    }


def _of_racks(deployment: Deployment) -> dict[str, Value]:
    """Return the values and words about racks; none if they are not known."""
    racks = deployment.racks
    if racks is None:
        return {}
    worst, is_enforced = most_of_a_rack(deployment, racks), deployment.enforced is not None
    over = ", over enough racks" if deployment.client.enforce_min_racks else ""
    apart = ", and each lost bookie needs a rack without a bookie of its ensemble" if is_enforced else ""
    is_assumed = racks.placement and deployment.spare
    return {
        "worst": worst,
        "kept": worst < deployment.configuration.ack_quorum,
        "placed": " in the worst placement" if racks.placement is None else "",
        "enforcers": enforced_by(deployment),
        "others_replace": ", and other racks replace its bookies" if is_enforced else "",
        "writes_on": writes_without_a_rack(deployment, racks),
        "remaining": deployment.bookies - racks.largest,
        "needed_racks": f"{over}{apart}",
        "assumed": ". Spare bookies are assumed in other racks" if is_assumed else "",
    }
