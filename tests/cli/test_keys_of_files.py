"""Keys of configuration files: racks, auto-recovery, keys that no model has, releases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from fencepost.advice.losses import FEATURES
from fencepost.cli.exits import ExitCode
from fencepost.cli.main import run
from fencepost.protocols.bookkeeper.pulsar_releases import LINES, pulsar_release
from fencepost.protocols.bookkeeper.releases import TAGS
from fencepost.quorums.files.config_keys import CONFIG_KEYS
from fencepost.quorums.placement import Racks
from fencepost.quorums.quantities import quantities
from support.asking import BROKER, CHART, SIZES, Asking, notes


@pytest.fixture
def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asking:
    return Asking(tmp_path, monkeypatch)


# Racks.

ENFORCED = BROKER + "bookkeeperClientEnforceMinNumRacksPerWriteQuorum=true\n"
BOTH_OFF = "bookkeeperClientRackawarePolicyEnabled=false\nbookkeeperClientRegionawarePolicyEnabled=false\n"
REGION = "bookkeeperClientRackawarePolicyEnabled=false\nbookkeeperClientRegionawarePolicyEnabled=true\n"
BOOKIE_ENFORCES = "bookiePort=3181\nenforceMinNumRacksPerWriteQuorum=true\n"


@pytest.mark.parametrize(
    ("files", "kept", "says"),
    [
        ({"broker.conf": ENFORCED}, True, "theirs is not given here"),
        ({"broker.conf": ENFORCED + BOTH_OFF}, False, ""),
        ({"broker.conf": ENFORCED, "overlay.conf": BOTH_OFF}, False, ""),
        ({"broker.conf": ENFORCED + REGION}, True, "theirs is not given here"),
        ({"broker.conf": ENFORCED, "bookkeeper.conf": BOOKIE_ENFORCES}, True, "both do"),
        ({"broker.conf": ENFORCED, "bookkeeper.conf": "bookiePort=3181\n"}, False, "the bookies do not"),
        ({"broker.conf": BROKER, "bookkeeper.conf": BOOKIE_ENFORCES}, False, ""),
    ],
)
def test_racks_are_kept_only_if_broker_and_bookies_enforce_them(
    asking: Asking, files: Mapping[str, str], kept: bool, says: str
) -> None:
    """Planted: the policy is not read; the setting of the bookies is not read."""
    deployment = asking.quorum(files, "--racks", "3,3")
    (row,) = (row for row in quantities(deployment) if row.number == 19)
    assert (row.value, says in row.meaning) == (kept, True)
    assert deployment.policy_off is (BOTH_OFF in "".join(files.values()))


def test_without_auto_recovery_the_setting_of_the_bookies_says_nothing(asking: Asking) -> None:
    enforced = "bookkeeperClientEnforceMinNumRacksPerWriteQuorum: true"
    chart = CHART.replace("configData: {", f"configData: {{{enforced}, ")
    options = ("--racks", "2,2")
    for components, kept in (("", False), ("components: {autorecovery: false}\n", True)):
        deployment = asking.quorum({"values.yaml": components + chart}, *options)
        (row,) = (row for row in quantities(deployment) if row.number == 19)
        assert row.value is kept


def test_the_option_that_enforces_racks_wins_over_the_policy_of_a_file(asking: Asking) -> None:
    deployment = asking.quorum({"b.conf": BROKER + BOTH_OFF}, "--racks", "3,3", "--enforce-min-racks")
    assert deployment.client.enforce_min_racks and not deployment.policy_off
    assert deployment.racks == Racks((3, 3))


# Auto-recovery.


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("", True),
        ("components: {autorecovery: true}\n", True),
        ("components: {autorecovery: false}\n", False),
        ("components: {autorecovery: 'false'}\n", False),
        ("autorecovery: {replicaCount: 0}\n", False),
        ("autorecovery: {enabled: false}\n", False),
        ("autorecovery: {replicaCount: 2}\n", True),
    ],
)
def test_a_chart_can_leave_auto_recovery_out(asking: Asking, text: str, runs: bool) -> None:
    """Planted: the key is not read; it is read and not handed on."""
    files = {"values.yaml": text + CHART}
    assert asking.quorum(files).autorecovery is runs
    answer = asking.advise(files)
    assert answer.deployment.autorecovery is runs
    assert ("no-autorecovery" in answer.setup.features) is not runs


def test_a_release_of_the_chart_without_bookies_says_nothing_of_theirs(asking: Asking) -> None:
    files = {
        "bookies.yaml": CHART + "components: {autorecovery: true}\n",
        "zookeeper.yaml": "components: {zookeeper: true, bookkeeper: false, autorecovery: false}\n",
    }
    assert asking.quorum(files).autorecovery
    assert asking.quorum(dict(reversed(files.items()))).autorecovery


@pytest.mark.parametrize(
    ("files", "runs"),
    [
        ({"bookkeeper.conf": "autoRecoveryDaemonEnabled=false\n"}, False),
        ({"bookkeeper.conf": "autoRecoveryDaemonEnabled=true\n"}, True),
        ({"v.yaml": "bookkeeper: {configData: {autoRecoveryDaemonEnabled: 'false'}}"}, False),
        (
            {
                "v.yaml": "bookkeeper: {configData: {autoRecoveryDaemonEnabled: 'false'}}",
                "w.yaml": "autorecovery: {resources: {limits: {cpu: 1}}}",
            },
            True,
        ),
        (
            {
                "a.yaml": "components: {autorecovery: false}",
                "b.yaml": "bookkeeper: {configData: {autoRecoveryDaemonEnabled: 'true'}}",
            },
            True,
        ),
    ],
)
def test_a_daemon_in_the_bookies_counts(asking: Asking, files: Mapping[str, str], runs: bool) -> None:
    assert asking.advise(files, *SIZES).deployment.autorecovery is runs


# Keys that no model has.


@pytest.mark.parametrize(
    ("key", "value", "feature", "note"),
    [
        ("ledgerDirectories", "/d0,/d1", "several-ledger-directories", "a storage of its own"),
        ("ledgerDirectories", "/d0", "", ""),
        ("journalDirectories", "/j0, /j1", "several-journal-directories", "several journals"),
        ("dbStorage_directIOEntryLogger", "true", "direct-io", "other code"),
        ("dbStorage_directIOEntryLogger", "false", "", ""),
        ("gcWaitTime", "900000", "", ""),
        ("gcWaitTime", "60000", "", "not modelled"),
        ("useTransactionalCompaction", "true", "transactional-compaction", "not modelled"),
        ("journalMaxGroupWaitMSec", "20", "", "when the journal is synced"),
        ("openFileLimit", "20000", "", ""),
        ("PULSAR_GC", "-XX:+UseG1GC", "", ""),
    ],
)
def test_only_keys_that_change_what_is_durable_are_named(
    asking: Asking, key: str, value: str, feature: str, note: str
) -> None:
    """Planted: a default is named; a key that has nothing to do with durability is named."""
    for files in (
        {"bk_server.conf": f"bookiePort=3181\n{key}={value}\n"},
        {"values.yaml": f"bookkeeper: {{configData: {{{key}: '{value}'}}}}\n"},
    ):
        answer = asking.advise(files, *SIZES)
        assert answer.setup.features == ({feature} if feature else frozenset())
        (said,) = notes(answer) or [""]
        assert (note in said) and bool(note) == bool(said)


@pytest.mark.parametrize(
    ("text", "formatted"),
    [
        ("volumes: {persistence: false}\n", True),
        ("bookkeeper: {volumes: {persistence: false}}\n", True),
        ("persistence: false\n", False),
        ("zookeeper: {volumes: {persistence: false}}\n", None),
        ("volumes: {persistence: true}\n", None),
    ],
)
def test_disks_that_go_with_their_pods_are_named(asking: Asking, text: str, formatted: bool | None) -> None:
    """Without persistence the chart formats the bookie and deletes its cookie at each start."""
    answer = asking.advise({"values.yaml": text}, *SIZES)
    assert ("ephemeral-disks" in answer.setup.features) is (formatted is not None)
    assert [("#4812" in note) for note in notes(answer)] == ([] if formatted is None else [formatted])
    later = asking.advise({"values.yaml": text, "o.yaml": text.replace("false", "true")}, *SIZES)
    assert later.setup.features == frozenset()


def test_several_volumes_of_a_chart_are_several_directories(asking: Asking) -> None:
    text = "bookkeeper: {volumes: {ledgers: {useMultiVolumes: true}, journal: {useMultiVolumes: false}}}"
    answer = asking.advise({"values.yaml": text}, *SIZES)
    assert answer.setup.features == {"several-ledger-directories"}


@pytest.mark.parametrize(
    ("texts", "is_on"),
    [
        (["tls: {enabled: true, bookie: {enabled: true}}"], True),
        (["pulsar: {tls: {enabled: 'true', bookie: {enabled: 'true'}}}"], True),
        (["tls: {enabled: true, bookie: {enabled: false}}"], False),
        (["tls: {enabled: false, bookie: {enabled: true}}"], False),
        (["tls: {bookie: {enabled: true}}"], False),
        (["tls: {enabled: true, broker: {enabled: true}}"], False),
        (["tls: {bookie: {enabled: true}}", "tls: {enabled: true}"], True),
        (["tls: {enabled: true, bookie: {enabled: true}}", "tls: {enabled: false}"], False),
        (["bookkeeper: {configData: {PULSAR_PREFIX_tlsProviderFactoryClass: o.a.b.tls.Factory}}"], True),
        (["bookkeeper: {configData: {tlsProvider: OpenSSL}}"], False),
    ],
)
def test_tls_between_brokers_and_bookies_is_read(asking: Asking, texts: list[str], is_on: bool) -> None:
    """The chart sets `tlsProviderFactoryClass` if both keys are true. `tlsProvider` alone turns nothing on.

    Planted: one of the keys is enough; tlsProvider turns it on.
    """
    files = {f"{number}.yaml": f"{text}\n" for number, text in enumerate(texts)}
    answer = asking.advise({"chart.yaml": CHART} | files, *SIZES)
    assert ("tls" in answer.setup.features) is is_on


def test_zookeeper_without_fsync_in_the_options_of_its_jvm_is_named(asking: Asking) -> None:
    text = "pulsar: {zookeeper: {configData: {PULSAR_GC: '-XX:+UseG1GC -Dzookeeper.forceSync=no'}}}"
    (note,) = notes(asking.advise({"milvus.yaml": text}, *SIZES))
    assert note.startswith("pulsar.zookeeper.configData.PULSAR_GC.forceSync=no: without fsync ZooKeeper")


def test_every_key_that_tells_a_feature_is_read() -> None:
    """Planted: a feature of the table of public losses is told by a key that no file is asked for."""
    of_charts = {key for key in FEATURES if "." in key or key == "persistence"}  # read by their place
    of_clients = {"explicitLacInterval", "LedgerHandleAdv"}  # of applications; no file that is read has them
    assert set(FEATURES) - of_charts - of_clients <= {key.name for key in CONFIG_KEYS.values() if key.known}


def test_a_key_that_the_release_does_not_know_has_no_effect(asking: Asking) -> None:
    """Planted: the value of the file is taken for every release."""
    files = {"bk_server.conf": "journalWriteData=false\ndbStorage_directIOEntryLogger=true\n"}
    old, new = (asking.advise(files, *SIZES, "--release", release) for release in ("4.13.0", "4.16.6"))
    assert (old.setup.journal, new.setup.journal) == (True, False)
    assert [sorted(answer.setup.features) for answer in (old, new)] == [[], ["direct-io"]]
    assert (
        "journalWriteData has no effect: BookKeeper 4.13.0 does not know it (4.14.0 and later do)."
        in notes(old)
    )
    assert all(key.since in ("", *TAGS) for key in CONFIG_KEYS.values())


# Releases of Pulsar.


@pytest.mark.parametrize(
    ("pulsar", "release", "is_read"),
    [
        ("4.0.12", "4.17.3", True),
        ("v4.0.8", "4.17.2", True),
        ("4.0.99", "4.17.3", False),
        ("2.8.0", "4.14.1", True),
        ("2.8.2", "4.14.2", True),
        ("2.10.0", "4.14.4", True),
        ("2.10.1", "4.14.5", True),
        ("2.10.5", "4.14.7", True),
        ("2.10.6", "4.14.8", True),
        ("3.0.0", "4.16.1", True),
        ("3.0.1", "4.16.2", True),
    ],
)
def test_a_release_of_pulsar_names_its_bookkeeper(
    asking: Asking, pulsar: str, release: str, is_read: bool
) -> None:
    """Planted: a release that was not read is answered without a word."""
    answer = asking.advise({}, *SIZES, "--pulsar", pulsar)
    assert (answer.setup.release, answer.setup.storage) == (release, "db")
    said = pulsar_release(pulsar).sentence
    assert release in said and "https://github.com/apache/pulsar/pull/" in said
    assert said.startswith("warning: Pulsar 4.0.99 is after 4.0.12") is not is_read


@pytest.mark.parametrize(
    ("option", "release", "answered", "words"),
    [
        ("--release", "4.19.0", "4.18.0", "is for 4.18.0, the newest that was; 4.19.0 may"),
        ("--release", "4.18.99", "4.18.0", "is for 4.18.0, the newest of its line that was;"),
        ("--release", "4.16.99", "4.16.7", "is for 4.16.7, the newest of its line that was;"),
        (
            "--pulsar",
            "4.0.99",
            "4.17.3",
            "Pulsar 4.0.99 is after 4.0.12, the newest of its line that was read.",
        ),
        ("--pulsar", "4.5.1", "4.17.3", "Pulsar 4.5.1 is after 4.1.3, the newest that was read."),
    ],
)
def test_a_later_release_is_answered_as_the_newest_before_it_with_a_warning(
    asking: Asking, option: str, release: str, answered: str, words: str
) -> None:
    """It was refused. Planted: the warning does not stand in the answer."""
    advice = asking.advise({}, *SIZES, option, release)
    assert advice.setup.release == answered
    assert words in advice.warning and advice.warning.startswith("Note: ")
    read = asking.advise({}, *SIZES, "--release", "4.18.0")
    assert read.warning == ""


@pytest.mark.parametrize("release", ["4.13.-1", "4.16.2.1", "9.9.9", "5.0.0", "newer"])
def test_another_release_is_refused(release: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["advise", *SIZES, "--release", release]) == ExitCode.BAD_INPUT
    assert f"{release}: not one of the" in capsys.readouterr().err


def test_the_table_of_pulsars_releases_names_releases_that_were_read() -> None:
    for line, row in LINES.items():
        assert all(release.startswith(line + ".") for release in (*row["has"], row["read"]))
        assert all(bookkeeper in TAGS for bookkeeper, _ in row["has"].values())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--pulsar", "9.0.0"), "no release of 9.0 was read"),
        (("--pulsar", "3.1.0"), "the oldest release of its line that was read is 3.1.1"),
        (("--pulsar", "newer"), "--pulsar newer: is no release of Pulsar; give one as 4.0.12"),
        (("--pulsar", "4.0.12", "--release", "4.17.3"), "leave one of them out"),
    ],
)
def test_what_is_no_release_of_pulsar_is_refused(
    options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["advise", *SIZES, *options]) == ExitCode.BAD_INPUT
    assert said in capsys.readouterr().err
