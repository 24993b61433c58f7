"""The table of public losses that no model has: which release and which setup each row concerns."""

from __future__ import annotations

import pytest

from fencepost.advice.known import KNOWN
from fencepost.advice.losses import CONDITIONS, FEATURES, LEVELS, PUBLIC_LOSSES, possible
from fencepost.advice.setups import Setup
from fencepost.advice.steps import action_of
from fencepost.protocols.bookkeeper.releases import NEWEST, TAGS
from fencepost.quorums.stripes import Configuration

BY_NAME = {loss.name: loss for loss in PUBLIC_LOSSES}


def names(release: str, *features: str, storage: str = "db") -> set[str]:
    """Return the losses of a usual setup without a spare bookie, with these features."""
    setup = Setup(Configuration(2, 2, 2), 2, release, storage=storage, features=frozenset(features))
    return {loss.name for loss in possible(setup)}


@pytest.mark.parametrize(
    ("name", "has", "has_not"),
    [
        ("PR 3979", "4.16.0 4.16.1", "4.15.5 4.16.2 4.17.0 4.18.0"),
        ("PR 4607", "4.14.8 4.16.6 4.17.1", "4.6.2 4.16.7 4.17.2 4.18.0"),
        ("#2908", "4.6.0 4.14.5 4.15.0", "4.14.6 4.15.1 4.16.0 4.18.0"),
        ("PR 4041", "4.16.0 4.16.2", "4.15.5 4.16.3 4.17.0"),
        ("PR 4404", "4.14.6 4.15.5 4.16.5 4.17.0", "4.14.5 4.15.0 4.16.6 4.17.1 4.18.0"),
        ("PR 4196", "4.14.0 4.15.5 4.16.4", "4.13.0 4.16.5 4.17.0"),
        ("PR 4140", "4.16.0 4.16.3", "4.15.5 4.16.4 4.17.0"),
        ("PR 3110", "4.6.0 4.14.4", "4.14.5 4.15.0"),
        ("#3604", "4.8.2 4.9.0 4.18.0", "4.8.1"),
        ("#3466", "4.15.0 4.15.2", "4.14.8 4.15.3 4.16.0"),
        ("#1345", "4.6.0 4.7.3", "4.8.0"),
        ("PR 913", "4.6.0", "4.6.1 4.7.0"),
        ("PR 4843", "4.15.1 4.18.0", "4.14.8 4.15.0"),
        ("#1533", "4.7.0 4.11.1", "4.6.2 4.12.0"),
    ],
)
def test_a_loss_is_in_the_releases_between_its_fault_and_its_fix(name: str, has: str, has_not: str) -> None:
    assert set(has.split()) <= set(BY_NAME[name].releases)
    assert not set(has_not.split()) & set(BY_NAME[name].releases)


def test_a_loss_concerns_a_setup_that_meets_its_conditions_only() -> None:
    assert {"PR 3979", "PR 4607"} <= names("4.16.1")
    assert not {"PR 4041", "PR 4843"} & names("4.16.1")
    assert "PR 4041" in names("4.16.1", "direct-io")
    assert "PR 4843" in names(NEWEST, "explicit-lac")
    assert "PR 4843" not in names(NEWEST, "direct-io")
    assert "#3604" not in names(NEWEST)
    assert "#3604" in names(NEWEST, storage="sorted")
    assert "#3604" not in names(NEWEST, "transactional-compaction", storage="sorted")


def test_each_row_can_be_acted_on_and_looked_up() -> None:
    for loss in PUBLIC_LOSSES:
        assert loss.level in LEVELS
        assert loss.needs <= set(CONDITIONS), loss.name
        assert action_of(loss, NEWEST).endswith(".") and loss.loses.endswith(".")


def test_each_feature_is_told_by_a_key_or_is_an_argument_of_a_call() -> None:
    named = {loss.needs | loss.unless for loss in PUBLIC_LOSSES}
    assert frozenset().union(*named) <= set(CONDITIONS)
    wanted = {
        "several-ledger-directories", "several-journal-directories", "direct-io", "deferred-sync",
        "ephemeral-disks", "no-autorecovery", "entry-log-per-ledger", "force-gc",
    }  # fmt: skip
    assert wanted <= {feature.name for feature in FEATURES.values()}


def test_a_modelled_bug_is_not_in_the_table() -> None:
    """Planted: #4701 as a row would be named twice by `advise`."""
    assert not {loss.name for loss in PUBLIC_LOSSES} & {known.name for known in KNOWN}


def test_a_value_of_a_key_tells_its_feature() -> None:
    directories = FEATURES["ledgerDirectories"]
    assert directories.name == "several-ledger-directories"
    assert directories.is_in("/a,/b") and directories.is_in(["/a", "/b"])
    assert not directories.is_in("/a") and not directories.is_in("/a,") and not directories.is_in(None)
    assert FEATURES["dbStorage_directIOEntryLogger"].is_in("true")
    assert FEATURES["dbStorage_directIOEntryLogger"].is_in(True)
    assert not FEATURES["dbStorage_directIOEntryLogger"].is_in("false")
    assert FEATURES["tlsProviderFactoryClass"].is_in("org.apache.bookkeeper.tls.TLSContextFactory")
    assert not FEATURES["tlsProviderFactoryClass"].is_in(None)
    assert not FEATURES["tlsProviderFactoryClass"].is_in("")
    assert FEATURES["volumes.persistence"].is_in(False)
    assert FEATURES["explicitLacInterval"].is_in(100) and not FEATURES["explicitLacInterval"].is_in("0")


def test_every_release_that_was_read_can_be_asked() -> None:
    public = {loss.name: loss for loss in PUBLIC_LOSSES}
    for release in TAGS:
        assert all(public[name].is_in(release) for name in names(release) & public.keys())
