"""Advice for tests: the smallest setup, on a release with a race that loses one of its entries."""

from __future__ import annotations

from functools import cache

from fencepost.answers.advice import Advice
from fencepost.answers.setups import Setup
from fencepost.cli.commands.advise import advice_on
from fencepost.quorums.deployment import Deployment
from fencepost.quorums.setters import DEFAULT, Setter
from fencepost.quorums.stripes import Configuration

OPTIONS = {
    "ensemble": "-e",
    "write_quorum": "-w",
    "ack_quorum": "-a",
    "bookies": "-n",
    "release": "--release",
    "storage": "--storage",
}
SET_BY = {name: Setter("option", flag) for name, flag in OPTIONS.items()} | {
    "journal": DEFAULT,
    "sync": DEFAULT,
    "checks": DEFAULT,
}


@cache
def smallest() -> Advice:
    """Return advice on 1/1/1 and one bookie of 4.17.3, with bare-fence accepted; other losses decide."""
    setup = Setup(Configuration(1, 1, 1), 1, "4.17.3")
    deployment = Deployment(setup.configuration, setup.bookies)
    *_, advice = advice_on(setup, deployment, {}, SET_BY, frozenset({"bare-fence"}), 300.0)
    return advice
