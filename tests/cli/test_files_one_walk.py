"""One walk reads every file: a known key counts where it stands, whoever wraps it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fencepost.advice.asked_release import newest_pulsar
from fencepost.cli.exits import ExitCode
from fencepost.cli.main import run
from fencepost.cli.rendering.advice_text import asked
from fencepost.quorums.files import facts, walk
from fencepost.quorums.files.joined_files import read_files
from fencepost.quorums.files.places import component_of
from support.asking import BROKER, CHART, QUORUMS, SIZES, Asking, given, notes


@pytest.fixture
def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asking:
    return Asking(tmp_path, monkeypatch)


def indented(text: str, blanks: int) -> str:
    return "".join(f"{' ' * blanks}{line}\n" for line in text.splitlines())


# Values of a chart, whoever wraps them.

VALUES = f"""\
bookkeeper:
  replicaCount: 4
  configData: {{journalSyncData: "false"}}
broker: {{configData: {{{QUORUMS}}}}}
volumes: {{persistence: true}}
"""
K3S = "kind: HelmChart\nmetadata: {name: p}\nspec:\n  chart: pulsar\n  valuesContent: |-\n"
MILVUS = """\
kind: MilvusCluster
metadata: {name: m}
spec:
  dependencies:
    etcd: {inCluster: {values: {replicaCount: 1}}}
"""
WRAPPED = {
    "plain": VALUES,
    "umbrella": "pulsarv3:\n" + indented(VALUES, 2),
    "flux": "kind: HelmRelease\nspec:\n  values:\n" + indented(VALUES, 4),
    "argo text": "kind: Application\nspec:\n  sources:\n  - helm:\n      values: |\n" + indented(VALUES, 8),
    "argo object": "kind: Application\nspec:\n  source:\n    helm:\n      valuesObject:\n"
    + indented(VALUES, 8),
    "k3s": K3S + indented(VALUES, 4),
    "milvus": MILVUS + "    pulsar:\n      inCluster:\n        values:\n" + indented(VALUES, 10),
    "terraform's output": "resource:\n  helm_release:\n    pulsar:\n      values:\n      - |\n"
    + indented(VALUES, 8),
    "a list": "- " + indented(VALUES, 2)[2:],
    "a config map": "kind: ConfigMap\nmetadata: {name: x}\ndata:\n  values.yaml: |\n" + indented(VALUES, 4),
}


@pytest.mark.parametrize("wrap", WRAPPED)
def test_the_values_of_a_chart_are_read_whoever_wraps_them(wrap: str, asking: Asking) -> None:
    """Planted: a text that is YAML is not walked."""
    setup = asking.advise({"f.yaml": WRAPPED[wrap]}).setup
    assert (setup.configuration.sizes, setup.bookies, setup.storage) == ((2, 2, 2), 4, "db")
    assert (setup.sync, setup.features) == (False, frozenset())


def test_parameters_of_k3s_win_over_the_text_of_its_values(asking: Asking) -> None:
    text = K3S + indented(VALUES, 4) + '  set: {bookkeeper.replicaCount: "6"}\n'
    assert asking.advise({"f.yaml": text}).setup.bookies == 6


def test_parameters_of_argo_cd_count_without_values(asking: Asking) -> None:
    """Planted: they count only beside values."""
    text = (
        "kind: Application\nspec: {source: {helm: {parameters: "
        "[{name: bookkeeper.replicaCount, value: '5'}, {name: volumes.persistence, value: 'false'}]}}}"
    )
    setup = asking.advise({"f.yaml": text}, *SIZES[:6]).setup
    assert (setup.bookies, setup.features) == (5, frozenset({"ephemeral-disks"}))


# Variables, options and texts.

BOOKIE_COMPOSE = "services: {bookie: {image: 'apachepulsar/pulsar:4.0.6', environment: ENV}}\n"
DOCKER = """\
#!/bin/bash
docker network create pulsar
docker run -d --name zk --network pulsar apachepulsar/pulsar:4.0.6 bin/pulsar zookeeper
for_one=1
docker run -it -d -e journalSyncData="false" -e clusterName=a \\
   --name bookie1 --network pulsar apachepulsar/pulsar:4.0.6 \\
   bash -c "bin/apply-config-from-env.py && bin/pulsar bookie"
docker run --env=PULSAR_PREFIX_journalSyncData=false --name bk2 apachepulsar/pulsar:4.0.6 bin/pulsar bookie
docker run -d -e managedLedgerDefaultEnsembleSize=2 -e managedLedgerDefaultWriteQuorum=2 \\
   -e managedLedgerDefaultAckQuorum=2 --name broker apachepulsar/pulsar:4.0.6 bin/pulsar broker
"""
HEREDOC = """\
#!/bin/bash
cat > conf/bookkeeper.conf << 'EOF'
bookiePort=3181
journalSyncData=false
EOF
"""
WITHOUT_SYNC = {
    "compose without a prefix": BOOKIE_COMPOSE.replace("ENV", "[journalSyncData=false]"),
    "compose with a map": BOOKIE_COMPOSE.replace("ENV", "{journalSyncData: 'false'}"),
    "compose with a prefix": BOOKIE_COMPOSE.replace("ENV", "{PULSAR_PREFIX_journalSyncData: 'false'}"),
    "a command": "services: {bk: {image: x, command: 'export journalSyncData=false && bin/pulsar bookie'}}",
    "a heredoc in a value": "x:\n  userData: |\n" + indented(HEREDOC, 4),
    "options of a JVM": "bookie: {env: [{name: JAVA_OPTS, value: '-Xmx1g -DjournalSyncData=false -Dx=y'}]}",
    "extraConfig": "bookkeeper:\n  extraConfig: |\n    journalSyncData=false\n    x=1\n",
    "configOverrides": "bookkeeper:\n  configurationOverrides: {journalSyncData: false}\n",
    "ansible": "bookkeeper_config: {journalSyncData: 'false'}\npulsar_version: 4.0.5\n",
    "a play": "- {hosts: all, vars: {journalSyncData: false}}\n",
    "a line in a file": "- hosts: a\n  tasks:\n  - lineinfile: {path: a, line: journalSyncData=false}\n",
    "a pattern": (
        "- {hosts: b, tasks: [{x: {path: a, regexp: ^journalSyncData=true, line: journalSyncData=false}}]}"
    ),
    "a template of compose": "x-a: &a {journalSyncData: false}\nservices: {bk: {image: x, environment: *a}}",
    "a daemon set": (
        "kind: DaemonSet\nmetadata: {name: bookie}\nspec: {template: {spec: {containers: "
        "[{name: b, env: [{name: BK_journalSyncData, value: 'false'}]}]}}}"
    ),
}


@pytest.mark.parametrize("form", WITHOUT_SYNC)
def test_a_bookies_key_counts_where_it_stands(form: str, asking: Asking) -> None:
    """Planted: the key counts only below a section of bookies; a text is not walked."""
    assert asking.advise({"f.yaml": WITHOUT_SYNC[form]}, *SIZES).setup.sync is False


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.sh", HEREDOC),
        ("set.sh", "sed -i 's/journalSyncData=true/journalSyncData=false/' conf/bookkeeper.conf\n"),
        ("set.sh", "sed -i 's|^#*journalSyncData=.*|journalSyncData=false|' conf/bookkeeper.conf\n"),
        ("bookie.env", "# bookies\nPULSAR_PREFIX_journalSyncData=false\nPULSAR_MEM=-Xmx1g\n"),
        ("unit", "bookiePort=1\nEnvironment=BK_journalSyncData=false\n"),
        ("Dockerfile", "FROM apache/bookkeeper\nENV BK_journalSyncData=false BK_x=1\n"),
        ("values", "bookkeeper:\n  configData:\n    journalSyncData: 'false'\n"),
    ],
)
def test_a_file_whose_name_does_not_say_its_form_is_tried(name: str, text: str, asking: Asking) -> None:
    assert asking.advise({name: text}, *SIZES).setup.sync is False


def test_commands_of_docker_are_services(asking: Asking) -> None:
    """Planted: `-e` is not read; each container counts as a bookie."""
    answer = asking.advise({"run.sh": DOCKER})
    setup = answer.setup
    assert (setup.configuration.sizes, setup.bookies, setup.sync) == ((2, 2, 2), 2, False)
    assert (setup.release, answer.set_by["release"].name) == ("4.17.2", "run.sh")


HELM = """\
helm install p apache/pulsar --set bookkeeper.replicaCount=5,volumes.persistence=false \\
  --set broker.configData.managedLedgerDefaultEnsembleSize=2 --set-string x=y \\
  --set broker.configData.managedLedgerDefaultWriteQuorum=2 --set "a=b" \\
  --set broker.configData.managedLedgerDefaultAckQuorum=1
"""


def test_the_options_of_helm_are_values_of_its_chart(asking: Asking) -> None:
    """Planted: the keys of the table alone are read, so that disks seem to outlive their pods."""
    setup = asking.advise({"install.sh": HELM}).setup
    assert (setup.configuration.sizes, setup.bookies) == ((2, 2, 1), 5)
    assert setup.features == {"ephemeral-disks"}


def test_a_comment_in_a_script_sets_nothing(asking: Asking) -> None:
    text = HEREDOC.replace("journalSyncData", "# journalSyncData")
    assert asking.advise({"run.sh": text}, *SIZES).setup.sync


def test_planted_without_its_walk_a_text_sets_nothing(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted mistake: a text is a plain value."""
    text = {"f.yaml": CHART + WITHOUT_SYNC["extraConfig"].replace("bookkeeper", "bookie")}
    assert asking.advise(text).setup.sync is False
    monkeypatch.setattr(walk, "as_data", lambda *_: [])
    answer = asking.advise(text)
    assert answer.setup.sync
    assert "bookie.extraConfig has journalSyncData in a form that is not read." in answer.warning


# The three sizes, by other names.

DL = "bkcEnsembleSize=3\nbkcWriteQuorumSize=3\nbkcAckQuorumSize=2\n"
OLD_DL = "ensemble-size=3\nwrite-quorum-size=3\nack-quorum-size=2\n"
PRAVEGA = "bookkeeper.ensemble.size=3\nbookkeeper.write.quorum.size=3\nbookkeeper.ack.quorum.size=2\n"
POLICY = '{"bookkeeperEnsemble" : 3, "bookkeeperWriteQuorum" : 3, "bookkeeperAckQuorum" : 2, "x" : 0.0}'
LEDGER = (
    "LedgerMetadata{formatVersion=3, ensembleSize=3, writeQuorumSize=3, ackQuorumSize=2, state=OPEN, x={}}"
)
SHELL = f"12:23:17.705 [main] INFO  o.a.b.LedgerMetaDataCommand - ledgerID: 5\n12:23:17.714 - {LEDGER}\n"
OLD_SHELL = "BookieMetadataFormatVersion\t2\nquorumSize: 3\nensembleSize: 3\nlength: 0\nackQuorumSize: 2\n"
OPTIONS = "-Dbookkeeper.ensemble.size=3 -Dbookkeeper.write.quorum.size=3 -Dbookkeeper.ack.quorum.size=2"
DATASTAX = "broker: {ledger: {defaultEnsembleSize: 3, defaultWriteQuorum: 3, defaultAckQuorum: 2}}"
OF_PRAVEGA = "kind: PravegaCluster\nspec:\n  zookeeperUri: zk\n  pravega:\n    options:\n"


@pytest.mark.parametrize(
    ("name", "text", "pulsar"),
    [
        ("distributedlog.conf", DL, False),
        ("distributedlog.conf", OLD_DL, False),
        ("config.properties", PRAVEGA, False),
        ("cluster.yaml", OF_PRAVEGA + indented(PRAVEGA.replace("=", ': "').replace("\n", '"\n'), 6), False),
        (
            "compose.yaml",
            f"services: {{segmentstore: {{image: p, environment: {{JAVA_OPTS: '{OPTIONS}'}}}}}}",
            False,
        ),
        ("compose.yaml", f"services: {{store: {{image: p, environment: ['JAVA_OPTS={OPTIONS}']}}}}", False),
        ("policy.json", POLICY, True),
        ("policy", POLICY, True),
        ("metadata.txt", SHELL, False),
        ("metadata", SHELL + SHELL.replace("ledgerID: 5", "ledgerID: 6"), False),
        ("metadata", OLD_SHELL, False),
        ("internal.json", f'{{"ledgers" : [ {{"ledgerId" : 13, "metadata" : "{LEDGER}"}} ]}}', False),
        ("values.yaml", DATASTAX, True),
    ],
)
def test_the_sizes_by_other_names(name: str, text: str, pulsar: bool, asking: Asking) -> None:
    """Planted: a name is missing in the table; names of other systems make the file one of Pulsar."""
    setup = asking.advise({name: text}, "-n", "4").setup
    assert setup.configuration.sizes == (3, 3, 2)
    assert setup.storage == ("db" if pulsar else "sorted")
    assert asking.quorum({name: text}).asked.sizes == (3, 3, 2)


def test_ledgers_of_other_sizes_are_refused(asking: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    """Planted: the last ledger counts."""
    text = SHELL + SHELL.replace("ackQuorumSize=2", "ackQuorumSize=3")
    assert run(["quorum", *given({"m.txt": text})]) == ExitCode.BAD_INPUT
    assert (
        "LedgerMetadata.ackQuorumSize is '2', and LedgerMetadata.ackQuorumSize is '3'"
        in capsys.readouterr().err
    )


# Places that are not ours.


@pytest.mark.parametrize(
    "text",
    [
        "victoria-metrics-k8s-stack: {grafana: {persistence: {enabled: false}}}",
        "kube-prometheus-stack: {grafana: {persistence: {enabled: false}}, prometheus: {persistence: false}}",
        "minio: {persistence: {enabled: false}, mode: standalone}",
        "log: {persistence: {enabled: false}}",
        "woodpecker: {persistence: {enabled: false}}",
        "standalone: {persistence: {enabled: false}, disk: {enabled: false}}",
        "dekaf: {persistence: {enabled: false}}",
        "tei: {volumes: {persistence: false}}",
        "somebodys-chart: {persistence: {enabled: false}}",
        "zookeeper: {volumes: {persistence: false}}",
        "pulsar_manager: {volumes: {persistence: false}}",
        "grafana: {dashboards: {bookkeeper: {replicaCount: 9, persistence: {enabled: false}}}}",
        "kafka: {broker: {replicaCount: 9}, zookeeper: {persistence: {enabled: false}}}",
        "etcd: {replicaCount: 1, persistence: {enabled: false}}",
    ],
)
@pytest.mark.parametrize("parent", ["", "pulsar"])
def test_the_disks_of_another_chart_are_not_the_bookies(text: str, parent: str, asking: Asking) -> None:
    """Planted: any key of persistence counts; a place is missing in the table."""
    chart = f"{parent}:\n{indented(CHART, 2)}" if parent else CHART
    for files in ({"v.yaml": chart, "o.yaml": text}, {"v.yaml": f"{chart}{text}\n"}):
        answer = asking.advise(files)
        assert (answer.setup.features, answer.setup.bookies) == (frozenset(), 4)
        assert not [note for note in notes(answer) if "has lost its disks" in note]


@pytest.mark.parametrize(
    "text",
    [
        "pulsarv3: {persistence: false}",
        "pulsar: {volumes: {persistence: false}}",
        "kind: PulsarCluster\nspec: {global: {persistence: false}}",
        MILVUS + "    pulsar: {inCluster: {values: {persistence: false}}}",
        "x: {bookkeeper: {persistence: {enabled: false}}}",
        "eu: {persistence: false, broker: {replicaCount: 3}}",
    ],
)
def test_the_disks_of_the_bookies_are(text: str, asking: Asking) -> None:
    assert asking.advise({"v.yaml": text}, *SIZES).setup.features == {"ephemeral-disks"}


POD = """\
kind: StatefulSet
metadata: {{name: pulsar-{name}}}
spec: {{template: {{spec: {{containers: [], volumes: [{{name: {volume}, {disk}: {{}}}}]}}}}}}
"""


@pytest.mark.parametrize(
    ("name", "volume", "disk", "is_lost"),
    [
        ("bookie", "pulsar-bookie-journal", "emptyDir", True),
        ("bookie", "ledgers", "emptyDir", True),
        ("bookie", "data", "emptyDir", True),
        ("bookie", "metadata", "emptyDir", False),
        ("bookie", "tmp", "emptyDir", False),
        ("bookie", "ledgers", "persistentVolumeClaim", False),
        ("broker", "data", "emptyDir", False),
    ],
)
def test_disks_of_a_pod_end_with_it(name: str, volume: str, disk: str, is_lost: bool, asking: Asking) -> None:
    """A chart without persistence renders to them. Planted: an empty mapping says nothing."""
    answer = asking.advise({"v.yaml": POD.format(name=name, volume=volume, disk=disk)}, *SIZES)
    assert ("ephemeral-disks" in answer.setup.features) == is_lost
    said = f"{volume}.emptyDir.persistence=false: a bookie that restarts has lost its disks."
    assert any(said in note for note in notes(answer)) == is_lost
    claims = "spec.volumeClaimTemplates to claims in place of emptyDir in v.yaml"
    assert (claims in answer.persistence) == is_lost
    text = "bookkeeper: {replicaCount: 4}"
    assert asking.advise({"v.yaml": POD.format(name=name, volume=volume, disk=disk), "w.yaml": text}, *SIZES)


def test_milvuss_own_disks_and_pods_are_not_the_bookies(asking: Asking) -> None:
    storage = "    storage: {inCluster: {values: {persistence: {enabled: false}}}}\n"
    pulsar = "    pulsar: {inCluster: {values: {bookkeeper: {replicaCount: 3}}}}\n"
    setup = asking.advise({"m.yaml": MILVUS + storage + pulsar}, *SIZES[:6]).setup
    assert (setup.bookies, setup.features) == (3, frozenset())


def test_other_releases_of_one_file_have_disks_of_their_own(asking: Asking) -> None:
    """Planted: the values of each release stand at the same place."""
    release = "---\nkind: HelmRelease\nmetadata: {name: NAME}\nspec:\n  values:\n"
    other = (
        release + "    {persistence: {enabled: false}, replicas: 9, bookkeeper-exporter: {replicaCount: 3}}\n"
    )
    for name in ("minio", "loki", "redis-1"):
        text = release.replace("NAME", "p") + indented(CHART, 4) + other.replace("NAME", name)
        setup = asking.advise({"all.yaml": text}).setup
        assert (setup.bookies, setup.features) == (4, frozenset())
    text = release.replace("NAME", "p") + indented(CHART, 4) + release.replace("NAME", "own")
    text += "    persistence: {enabled: false}\n"
    assert not asking.advise({"all.yaml": text}).setup.features


def test_planted_without_the_table_a_subcharts_keys_count(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted mistake: a name of the table is missing."""
    text = CHART + "grafana: {dashboards: {bookkeeper: {persistence: {enabled: false}}}}\n"
    assert not asking.advise({"v.yaml": text}).setup.features
    ours = {name: component_of(name) for name in ("bookkeeper", "persistence", "dashboards", "broker")}
    monkeypatch.setattr(facts, "component_of", ours.get)
    assert asking.advise({"v.yaml": text}).setup.features == {"ephemeral-disks"}


# Switches.

OFF = f"""\
pulsar: {{enabled: false, bookkeeper: {{replicaCount: 9, configData: {{journalSyncData: "false"}}}}}}
pulsarv3: {{enabled: true, bookkeeper: {{replicaCount: 3}}, broker: {{configData: {{{QUORUMS}}}}}}}
"""


def test_a_section_that_is_off_is_off_with_what_is_below_it(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted mistake: the switch is not read."""
    setup = asking.advise({"v.yaml": OFF}).setup
    assert (setup.bookies, setup.sync) == (3, True)
    monkeypatch.setattr(walk, "is_false", lambda value: False)
    with pytest.raises(IndexError):  # two values of one key, which are refused
        asking.advise({"v.yaml": OFF})


def test_a_pulsar_that_is_elsewhere_is_not_in_the_cluster(asking: Asking) -> None:
    off = (
        MILVUS
        + "    pulsar: {external: true, inCluster: {values: {bookkeeper: {conf: {journalSyncData: false}}}}}"
    )
    assert asking.advise({"m.yaml": off}, *SIZES).setup.sync


@pytest.mark.parametrize(
    ("texts", "runs"),
    [
        (["components: {autorecovery: true}\nextra: {autoRecovery: false}"], True),
        (["components: {autorecovery: false}\nextra: {autoRecovery: true}"], True),
        (["components: {autorecovery: false}\nextra: {autoRecovery: false}"], False),
        (["components: {autorecovery: true}", "extra: {autoRecovery: false}"], True),
        (["extra: {autoRecovery: true}", "components: {autorecovery: false}"], True),
        (["extra: {autoRecovery: false}"], False),
        (["pulsar: {components: {autorecovery: false}, extra: {autoRecovery: true}}"], True),
    ],
)
def test_two_settings_that_a_chart_joins_with_or(texts: list[str], runs: bool, asking: Asking) -> None:
    """They were refused as values of two clusters. Planted: the last one counts."""
    files = {f"{number}.yaml": text for number, text in enumerate(texts)}
    assert asking.advise({"chart.yaml": CHART} | files, *SIZES).deployment.autorecovery is runs


# One process.


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("standalone: {enabled: true}", (1, 1, 1)),
        ("standalone: {enabled: 'true', configData: {PULSAR_PREFIX_journalSyncData: 'false'}}", (1, 1, 1)),
        ("pulsar: {standalone: {enabled: true}}", (1, 1, 1)),
    ],
)
def test_pulsar_in_one_process_has_one_copy(text: str, sizes: tuple[int, ...], asking: Asking) -> None:
    """It was answered as the chart's bookies. Planted: the sections of the components count."""
    chart = CHART + "bookkeeper2: {configData: {dataIntegrityChecking: 'true'}}\n"
    answer = asking.advise({"values.yaml": chart, "one.yaml": text})
    setup = answer.setup
    assert (setup.configuration.sizes, setup.bookies, setup.checks) == (sizes, 1, False)
    assert (setup.sync, setup.storage) == ("journalSyncData" not in text, "db")
    assert "one process is broker, bookie and metadata" in notes(answer)[-1]
    again = asking.advise({"values.yaml": CHART, "one.yaml": text, "two.yaml": text.replace("true", "false")})
    assert (again.setup.configuration.sizes, again.setup.bookies) == ((2, 2, 2), 4)


@pytest.mark.parametrize(
    "text",
    [
        "services: {pulsar: {image: p, command: 'bash -c \"exec bin/pulsar standalone\"'}}",
        "docker run -d -p 6650:6650 apachepulsar/pulsar:4.0.6 bin/pulsar standalone",
        (
            "kind: StatefulSet\nmetadata: {name: pulsar}\nspec: {template: {spec: {containers: "
            "[{name: pulsar, command: [bin/pulsar, standalone, -nfw]}]}}}"
        ),
    ],
)
def test_a_container_that_runs_all_of_pulsar_has_one_copy(text: str, asking: Asking) -> None:
    setup = asking.advise({"f.yaml" if "docker" not in text else "run.sh": text + "\n"}).setup
    assert (setup.configuration.sizes, setup.bookies) == ((1, 1, 1), 1)


def test_milvuss_standalone_is_none_of_pulsar(asking: Asking) -> None:
    text = "services: {standalone: {image: milvusdb/milvus, command: [milvus, run, standalone]}}\n"
    assert asking.advise({"compose.yaml": text}, *SIZES).setup.configuration.sizes == (2, 2, 2)


def test_oxia_is_named(asking: Asking) -> None:
    (note,) = notes(asking.advise({"v.yaml": CHART + "components: {oxia: true}\n"}))
    assert note.startswith("components.oxia=true: Oxia has the metadata of ledgers, in place of ZooKeeper.")


# Releases.


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("defaultPulsarImageTag: 4.0.6", "4.17.2"),
        ("defaultPulsarImageTag: 4.0.6\nimages: {bookie: {tag: 3.0.5}}", "4.16.5"),
        ("images: {broker: {tag: 4.0.6}, proxy: {tag: 3.0.5}, pulsar_manager: {tag: v0.4.0}}", "4.17.2"),
        ("image: {bookkeeper: {repository: datastax/lunastreaming, tag: 2.10.5_1}}", "4.14.7"),
        ("kind: PulsarCluster\nspec: {global: {image: 'apachepulsar/pulsar:4.0.6'}}", "4.17.2"),
        ('[{"Config": {"Image": "apachepulsar/pulsar:4.0.6", "Cmd": ["bin/pulsar", "bookie"]}}]', "4.17.2"),
        ("services: {bk: {image: 'apache/bookkeeper:4.16.6'}}", "4.16.6"),
        ("services: {bk: {image: 'reg.example.org:5000/apachepulsar/pulsar-all:4.0.6'}}", "4.17.2"),
        ("pulsar_version: 4.0.6\nbookkeeper_config: {}", "4.17.2"),
        ("kind: BookkeeperCluster\nspec: {image: {repository: pravega/bookkeeper, tag: 0.9.0}}", ""),
        ("image: {repository: milvusdb/milvus, tag: v2.4.0}", ""),
        ("grafana: {image: {tag: 10.0.1}}", ""),
        ("x: {image: {tag: 4.0.6}}", ""),
    ],
)
def test_the_tag_of_the_image_is_the_release(text: str, release: str, asking: Asking) -> None:
    """It was not read. Planted: any tag counts; the broker's tag wins over that of the bookies."""
    answer = asking.advise({"f.yaml": text}, *SIZES)
    assert answer.setup.release == (release or "4.18.0")
    assert answer.set_by["release"].name == ("f.yaml" if release else "")
    assert not answer.warning
    assert asking.advise({"f.yaml": text}, *SIZES, "--release", "4.14.8").setup.release == "4.14.8"


@pytest.mark.parametrize("image", ["pulsar", "private-cloud", "sn-platform-slim", "platform"])
def test_a_build_of_pulsar_is_answered_as_its_release_and_said_to_be_one(image: str, asking: Asking) -> None:
    """Planted: the image is of no product that is known, and the newest release is answered instead."""
    text = f"kind: BookKeeperCluster\nspec: {{image: 'streamnative/{image}:2.10.5.1'}}"
    answer = asking.advise({"f.yaml": text}, *SIZES)
    assert answer.setup.release == "4.14.7"
    assert answer.warning.startswith(
        "Note: 2.10.5.1 is answered as Pulsar 2.10.5. A build may have other fixes"
    )


@pytest.mark.parametrize("tag", ["latest", "5.0.0-M1", "2.10_1.5", "main"])
def test_a_tag_that_names_no_release_is_told(tag: str, asking: Asking) -> None:
    answer = asking.advise({"f.yaml": f"images: {{bookie: {{tag: {tag}}}}}"}, *SIZES)
    assert answer.setup.release == newest_pulsar().bookkeeper, "Planted: the newest of BookKeeper's releases"
    assert f"f.yaml: images.bookie.tag is {tag}, which names no release that was read." in answer.warning


def test_pulsars_files_without_a_release_are_answered_as_the_newest_pulsar(asking: Asking) -> None:
    """No release of Pulsar has the newest BookKeeper that was read, so the files cannot run on it."""
    answer = asking.advise({"broker.conf": BROKER}, "-n", "4")
    newest = newest_pulsar()
    assert newest.pulsar is not None
    assert (answer.setup.release, answer.pulsar) == (newest.bookkeeper, newest.pulsar)
    assert f"(in Pulsar {newest.pulsar.name}, the newest that was read)" in asked(answer)


# Folders, the standard input, and files without a known key.


def test_a_folder_is_the_files_in_it(asking: Asking) -> None:
    Path("conf/bk").mkdir(parents=True)
    Path("conf/broker.conf").write_text(BROKER, encoding="utf-8")
    Path("conf/bk/bookkeeper.conf").write_text("bookiePort=3181\njournalSyncData=false\n", encoding="utf-8")
    Path("conf/notes.md").write_text("journalSyncData=true\n", encoding="utf-8")
    found = asking.advise({}, "--from", "conf", "-n", "4")
    assert (found.setup.configuration.sizes, found.setup.sync) == ((2, 2, 2), False)
    assert list(found.sources) == ["conf/bk/bookkeeper.conf", "conf/broker.conf"]


def test_a_folder_without_such_a_file_is_refused(asking: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert run(["quorum", "--from", "empty"]) == ExitCode.BAD_INPUT
    assert "empty: cannot be read (it is a folder without a file .yaml .yml .json" in capsys.readouterr().err


def test_files_that_name_each_other_are_not_said_to_be_missing(asking: Asking) -> None:
    """The ConfigMap was in the same file. Planted: the names of what is given are ignored."""
    config = "kind: ConfigMap\nmetadata: {name: settings}\ndata: {BK_journalSyncData: 'false'}\n---\n"
    pods = (
        "kind: StatefulSet\nmetadata: {name: bookie}\nspec: {replicas: 4, template: {spec: {containers: "
        "[{name: bookie, envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: s}}]}]}}}\n"
    )
    assert notes(asking.advise({"all.yaml": config + pods}, *SIZES)) == []
    assert len(notes(asking.advise({"all.yaml": pods}, *SIZES))) == 1
    compose = "services: {bookie: {image: x, env_file: ./bk.env}}"
    files = {"compose.yaml": compose, "bk.env": "BK_journalSyncData=false\n"}
    assert notes(asking.advise(files, *SIZES)) == []
    application = "kind: Application\nspec: {source: {helm: {valueFiles: [a.yaml, b.yaml]}}}\n"
    (note, *_) = notes(asking.advise({"app.yaml": application, "a.yaml": CHART}))
    assert (
        note
        == "spec.source.helm.valueFiles is not read; give a.yaml, b.yaml with --from too, before this file."
    )
    assert notes(asking.advise({"app.yaml": application, "a.yaml": CHART, "b.yaml": CHART}))[1:] == []


ROCKETMQ = "brokerClusterName=DefaultCluster\nbrokerName=broker-a\nbrokerId=0\nflushDiskType=ASYNC_FLUSH\n"
WITHOUT = {
    "tls.conf": "tlsEnabled=true\nbrokerServicePortTls=6651\n",
    "broker.conf": ROCKETMQ,
    "empty.conf": "",
    "values.yaml": "tls: {proxied: true}\n",
    "chart.yaml": "kind: HelmChart\nspec: {chart: pulsar}\n",
    "app.yaml": "kind: Application\nspec: {source: {path: x}}\n",
    "service.yaml": "kind: Service\nmetadata: {name: x}\nspec: {ports: [{port: 80}]}\n",
    "list.yaml": "- {a: 1}\n",
    "a.json": '{"a": 1}',
    "run.sh": "#!/bin/sh\necho\n",
    "x.env": "A=b\n",
}


@pytest.mark.parametrize("name", WITHOUT)
def test_a_file_without_a_known_key_is_a_note_in_every_form(
    name: str, asking: Asking, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was an error in some forms. Alone it is refused by what it lacks."""
    answer = asking.advise({name: WITHOUT[name], "last.yaml": CHART})
    assert notes(answer)[0].startswith("it has no key of a broker.conf or a bk_server.conf; give")
    assert answer.setup.bookies == 4
    capsys.readouterr()
    for command in ("quorum", "advise"):
        assert run([command, *given({name: WITHOUT[name]}), "-n", "4"]) == ExitCode.BAD_INPUT
        error = capsys.readouterr().err
        assert error.startswith(
            f"fencepost: {name}: has no key of a broker.conf or a bk_server.conf; give -e"
        )
        assert error.count("\n") == 1


def test_the_standard_input_is_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Planted: the name is that of a file."""
    piped: list[Path] = []

    def text(path: Path, *_: Any) -> str:
        piped.append(path)
        return io.StringIO(POLICY).read()

    monkeypatch.setattr(walk, "read_text", text)
    found = read_files(["-"])
    assert (piped, found.chosen("ensemble")[0]) == ([Path("/dev/stdin")], 3)


def test_a_key_in_the_section_of_another_component_is_named_with_its_place(asking: Asking) -> None:
    files: Mapping[str, str] = {
        "v.yaml": CHART + "a: {bookkeeper: {configData: {managedLedgerDefaultAckQuorum: 1}}}\n",
        "w.yaml": "bookkeeper: {configData: {journalSyncData: 'true'}}\nx: {journalSyncData: 'false'}\n",
    }
    answer = asking.advise(files)
    assert (answer.setup.configuration.ack_quorum, answer.setup.sync) == (2, True)
    said = [note.partition(":")[0] for note in notes(answer)]
    assert said == [
        "a.bookkeeper.configData.managedLedgerDefaultAckQuorum is not read",
        "x.journalSyncData is not read",
    ]
