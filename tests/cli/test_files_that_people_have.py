"""Files that people have, in each form, read by `quorum` and `advise`: each case was read wrongly once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from fencepost.cli.exits import ExitCode
from fencepost.cli.main import run
from support.asking import CHART, QUORUMS, SIZES, Asking, given, notes


@pytest.fixture
def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asking:
    return Asking(tmp_path, monkeypatch)


# Components.


def test_a_bookies_key_is_read_in_its_own_section(asking: Asking) -> None:
    """Planted: the last place of the file wins."""
    values = (
        "bookkeeper: {configData: {journalSyncData: 'false'}}\n"
        "standalone: {configData: {journalSyncData: 'true'}}\n"
        "functions: {configData: {dataIntegrityChecking: 'true'}}\n"
    )
    answer = asking.advise({"values.yaml": values}, *SIZES)
    assert (answer.setup.sync, answer.setup.checks) == (False, False)
    assert [note.partition(" ")[0] for note in notes(answer)] == [
        "standalone.configData.journalSyncData",
        "functions.configData.dataIntegrityChecking",
    ]


@pytest.mark.parametrize(
    ("files", "storage"),
    [
        ({"o.yaml": "bookkeeper: {configData: {journalSyncData: 'false'}}"}, "db"),
        ({"o.yaml": "bookkeeper: {resources: {limits: {cpu: 2}}}"}, "db"),
        ({"o.yaml": "pulsar: {bookkeeper: {replicaCount: 3}}"}, "db"),
        ({"o.yaml": "proxy: {replicaCount: 2}"}, "db"),
        ({"o.yaml": "resources: {limits: {cpu: 2}}"}, "sorted"),
        ({"bk_server.conf": "journalSyncData=false\n"}, "sorted"),
        ({"bookkeeper.conf": "metadataServiceUri=metadata-store:zk:a:2181\n"}, "db"),
        (
            {"bk.yaml": "kind: BookkeeperCluster\nspec: {replicas: 3, options: {journalSyncData: 'false'}}"},
            "sorted",
        ),
    ],
)
def test_the_default_storage_is_that_of_the_system_whose_file_it_is(
    asking: Asking, files: Mapping[str, str], storage: str
) -> None:
    """An overlay of Pulsar's chart with a bookie's key only was answered for sorted storage."""
    assert asking.advise(files, *SIZES).setup.storage == storage


def test_two_values_of_one_key_are_refused(asking: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    """Planted: the last one is taken."""
    values = "a: {bookkeeper: {configData: {journalSyncData: 'false'}}}\n"
    values += "b: {bookkeeper: {configData: {journalSyncData: 'true'}}}\n"
    assert run(["advise", *given({"values.yaml": values}), *SIZES]) == ExitCode.BAD_INPUT
    assert capsys.readouterr().err == (
        "fencepost: values.yaml: a.bookkeeper.configData.journalSyncData is 'false', and "
        "b.bookkeeper.configData.journalSyncData is 'true'; give a file with the values of one cluster\n"
    )


# Forms.

UMBRELLA = f"""\
milvus: {{replicas: 1}}
PARENT:
  bookkeeper: {{replicaCount: 5, configData: {{journalSyncData: "false"}}}}
  broker: {{configData: {{{QUORUMS}}}}}
etcd: {{replicaCount: 3}}
"""
COMPOSE = f"""\
services:
  zookeeper: {{image: "apachepulsar/pulsar:4.0.0", command: bin/pulsar zookeeper}}
  pulsar-init: {{image: "apachepulsar/pulsar:4.0.0", environment: [journalSyncData=true]}}
  bk1: {{image: "apachepulsar/pulsar:4.0.0", environment: [PULSAR_PREFIX_journalSyncData=false]}}
  bk2:
    image: "apachepulsar/pulsar:4.0.0"
    deploy: {{replicas: 2}}
    environment: {{PULSAR_PREFIX_journalSyncData: "${{SYNC:-false}}"}}
  node:
    image: "apachepulsar/pulsar:4.0.0"
    command: bash -c "bin/apply-config-from-env.py conf/broker.conf && exec bin/pulsar broker"
    environment: {{{QUORUMS}}}
"""
CONFIG_MAPS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: pulsar-bookie, labels: {component: bookie}}
data: {PULSAR_PREFIX_journalSyncData: "false", journalSyncData: "true"}
---
apiVersion: v1
kind: List
items:
- kind: ConfigMap
  metadata: {name: my-broker}
  data:
    broker.conf: |
      managedLedgerDefaultEnsembleSize=2
      managedLedgerDefaultWriteQuorum=2
      managedLedgerDefaultAckQuorum=2
- kind: StatefulSet
  metadata: {name: pulsar-bookie}
  spec:
    replicas: 3
    template: {spec: {containers: [{name: b, env: [{name: BOOKIE_MEM, value: -Xmx1g}]}]}}
"""
KAAP = f"""\
apiVersion: kaap.oss.datastax.com/v1beta1
kind: PulsarCluster
spec:
  global: {{name: pulsar}}
  bookkeeper:
    replicas: 1
    config: {{journalSyncData: false}}
    sets: {{az1: {{replicas: 1}}, az2: {{replicas: 2}}}}
  broker: {{replicas: 2, config: {{{QUORUMS}}}}}
"""


@pytest.mark.parametrize(
    ("name", "text", "bookies"),
    [
        ("umbrella.yaml", UMBRELLA.replace("PARENT", "pulsar"), 5),
        ("umbrella.yaml", UMBRELLA.replace("PARENT", "pulsarv3"), 5),
        ("umbrella.yaml", "pulsar: {enabled: false, bookkeeper: {replicaCount: 9}}\n" + UMBRELLA, 5),
        ("docker-compose.yml", COMPOSE, 3),
        ("maps.yaml", CONFIG_MAPS, 3),
        ("cluster.yaml", KAAP, 3),
        ("values.yaml", "kaap: {cluster: " + str({"spec": {"bookkeeper": {"replicas": 3}}}) + "}\n", 3),
    ],
    ids=["pulsar", "pulsarv3", "one is off", "compose", "kubernetes", "kaap", "kaap's chart"],
)
def test_each_form_gives_the_sizes_and_the_settings_of_bookies(
    asking: Asking, name: str, text: str, bookies: int
) -> None:
    """Planted: sections are looked for at the top of a file only."""
    answer = asking.advise({name: text}, *(() if "managedLedger" in text else SIZES[:6]))
    setup = answer.setup
    assert (setup.configuration.sizes, setup.bookies, setup.storage) == ((2, 2, 2), bookies, "db")
    assert setup.sync is ("journalSyncData" not in text)
    if "managedLedger" in text:
        assert asking.quorum({name: text}).bookies == bookies


PRAVEGA = """\
apiVersion: bookkeeper.pravega.io/v1alpha1
kind: BookkeeperCluster
spec:
  replicas: 5
  autoRecovery: false
  options: {journalSyncData: "false", ledgerDirectories: "/bk/l0,/bk/l1"}
"""


def test_pravegas_operator(asking: Asking) -> None:
    answer = asking.advise({"bk.yaml": PRAVEGA}, *SIZES[:6])
    assert (answer.setup.bookies, answer.setup.sync, answer.setup.storage) == (5, False, "sorted")
    assert answer.setup.features == {"no-autorecovery", "several-ledger-directories"}


def test_bookkeepers_own_image(asking: Asking) -> None:
    compose = (
        "services: {store: {image: 'apache/bookkeeper:4.17.2', environment: {BK_journalSyncData: 'false'}}}"
    )
    setup = asking.advise({"docker-compose.yml": compose}, *SIZES).setup
    assert (setup.sync, setup.storage) == (False, "sorted")


STOCK = "bookiePort=3181\njournalDirectories=/tmp/txn\n# journalWriteData=true\n# journalSyncData=true\n"


@pytest.mark.parametrize("text", [STOCK, "# journalWriteData=true\n# journalSyncData=true\n"])
def test_a_stock_file_has_the_defaults(asking: Asking, text: str) -> None:
    """Every key of a stock bk_server.conf is a comment, and it was refused."""
    answer = asking.advise({"bk_server.conf": text}, *SIZES)
    setup = answer.setup
    assert (setup.journal, setup.sync, setup.checks, setup.storage) == (True, True, False, "sorted")
    assert {answer.set_by[name].kind for name in ("journal", "sync", "checks", "storage")} == {"default"}


@pytest.mark.parametrize("overlay", ["", "{}", "proxy: {replicaCount: 2}", "tls: {enabled: true}"])
def test_an_overlay_without_any_of_the_keys_changes_nothing(asking: Asking, overlay: str) -> None:
    """It was refused. Planted: it takes values away."""
    files = {"values.yaml": CHART, "overlay.yaml": overlay}
    setup = asking.advise(files).setup
    assert (setup.configuration.sizes, setup.bookies, setup.storage) == ((2, 2, 2), 4, "db")


def test_null_takes_the_value_of_an_earlier_file_away(
    asking: Asking, capsys: pytest.CaptureFixture[str]
) -> None:
    """Helm has the same rule. Planted: null is refused as a value; null leaves the earlier value."""
    base = (
        CHART + "x: {bookkeeper: {configData: {journalSyncData: 'false', dataIntegrityChecking: 'true'}}}\n"
    )
    for null in (
        "bookkeeper: {configData: {journalSyncData: null, dataIntegrityChecking: null}}",
        "bookkeeper: {configData: null}",
    ):
        answer = asking.advise({"values.yaml": base, "overlay.yaml": null})
        assert (answer.setup.sync, answer.setup.checks, answer.setup.bookies) == (True, False, 4)
    assert (
        asking.advise({"values.yaml": base, "last.yaml": "bookkeeper: {configData: {x: null}}"}).setup.sync
        is False
    )
    assert run(["advise", *given({"values.yaml": CHART, "o.yaml": "bookkeeper: null"})]) == ExitCode.BAD_INPUT
    assert "no -n" in capsys.readouterr().err


NO_E = "no managedLedgerDefaultEnsembleSize of a broker in"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("bk_server.conf", "bookiePort=3181\n", f"{NO_E} bk_server.conf; give -e"),
        ("v.yaml", f"proxy: {{configData: {{{QUORUMS}}}}}", f"{NO_E} v.yaml; proxy.configData.managedLedger"),
        ("v.yaml", CHART.replace('"2"', "null", 1), f"{NO_E} v.yaml; give -e"),
        ("v.yaml", "a: [\n", "v.yaml: is not YAML (line 2); give a broker.conf, a bk_server.conf"),
        ("x.conf", "a=b\n", "x.conf: has no key of a broker.conf or a bk_server.conf; give a broker.conf"),
    ],
)
def test_a_refusal_is_true(
    name: str, text: str, said: str, asking: Asking, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file was once said not to have a key that it has below a parent."""
    assert run(["quorum", *given({name: text})]) == ExitCode.BAD_INPUT
    assert said in capsys.readouterr().err


def test_many_places_of_a_key_are_one_note(asking: Asking) -> None:
    """Planted: each place has a line, and the answer is no screen."""
    text = "".join(f"p{n}: {{configData: {{journalSyncData: 'true'}}}}\n" for n in range(500))
    (note,) = notes(asking.advise({"values.yaml": text}, *SIZES))
    assert note.startswith("p0.configData.journalSyncData (and at 499 other places) is not read")


# Read wrongly by a later version: siblings of the cases above.

PLAIN_KEY = "bookkeeper: {configData: {journalSyncData: 'true'}}"
WITH_PREFIX = "bookkeeper: {configData: {PULSAR_PREFIX_journalSyncData: 'false'}}"
STREAMNATIVE = f"""\
kind: BookKeeperCluster
spec: {{replicas: 3, config: {{custom: {{journalSyncData: 'false'}}}}}}
---
kind: PulsarBroker
spec:
  config:
    custom: {{{QUORUMS}}}
"""
STANDALONE = """\
services:
  pulsar:
    command: bin/pulsar standalone
    environment: [PULSAR_PREFIX_journalSyncData=false]
"""


WORKLOAD = """\
kind: StatefulSet
metadata: {name: x-bookkeeper}
spec: {template: {spec: {containers: [{name: bookie, env: [{name: BK_journalSyncData, value: 'false'}]}]}}}
"""


@pytest.mark.parametrize(
    ("overlays", "sync"),
    [
        ([WITH_PREFIX, PLAIN_KEY], False),
        ([PLAIN_KEY, WITH_PREFIX], False),
        ([WITH_PREFIX, WITH_PREFIX.replace("false", "true")], True),
        ([PLAIN_KEY.replace("true", "false"), WITH_PREFIX, WITH_PREFIX.replace("'false'", "null")], False),
        ([WITH_PREFIX, "bookkeeper: null"], True),
    ],
)
def test_a_key_with_the_prefix_of_an_image_wins_over_all_files(
    asking: Asking, overlays: list[str], sync: bool
) -> None:
    """Helm merges the keys of all files, and the image applies those with the prefix last."""
    files = {f"{number}.yaml": text for number, text in enumerate(overlays)}
    assert asking.advise(files, *SIZES).setup.sync is sync


@pytest.mark.parametrize(
    "text",
    [
        STREAMNATIVE,
        STANDALONE,
        "bookkeeper:\n  configData: |\n    journalSyncData: 'false'\n    x: 1\n",
        "bookkeeper:\n  config: |\n    journalSyncData=false\n    x=1\n",
        "bookkeeper: {extraEnvs: [{name: BK_journalSyncData, value: 'false'}]}",
        WORKLOAD,
        "bookkeeper: {configData: {journalSyncData: 'off'}}",
        "bookkeeper: {configData: {journalSyncData: 'No'}}",
    ],
    ids=["streamnative", "standalone", "yaml text", "properties text", "extra", "workload", "off", "No"],
)
def test_a_key_is_read_where_people_write_it(asking: Asking, text: str) -> None:
    assert asking.advise({"values.yaml": text}, *SIZES).setup.sync is False


def test_the_sizes_of_streamnatives_operator(asking: Asking) -> None:
    answer = asking.advise({"bookies.yaml": STREAMNATIVE}, "--release=4.18.0")
    assert (answer.setup.configuration.sizes, answer.setup.bookies) == ((2, 2, 2), 3)


def test_the_name_of_a_container_is_no_section_of_a_chart(asking: Asking) -> None:
    """A bookie of BookKeeper's own image has sorted storage by default."""
    assert asking.advise({"bookies.yaml": WORKLOAD}, *SIZES).setup.storage == "sorted"


def test_a_file_of_variables_is_named_as_not_read(asking: Asking) -> None:
    text = "services: {bookie: {image: apache/bookkeeper, env_file: bk.env}}"
    assert notes(asking.advise({"compose.yaml": text}, *SIZES)) == [
        "services.bookie.env_file is not read; give bk.env with --from too."
    ]


def test_a_brokers_word_for_true_is_true_alone(asking: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    """Java's Boolean.valueOf takes every other word for false, so a person is asked."""
    key = "bookkeeperClientRackawarePolicyEnabled"
    assert run(["advise", *given({"broker.conf": f"{key}=on\n"}), *SIZES]) == ExitCode.BAD_INPUT
    assert capsys.readouterr().err == f"fencepost: broker.conf: {key} is 'on'; it must be true or false\n"


# A key given twice.

TWICE = """\
bookkeeper:
  configData:
    journalSyncData: "false"
    journalMaxSizeMB: "2048"
    journalSyncData: "true"
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            TWICE,
            "v.yaml: 'journalSyncData' is given twice in one mapping (lines 3 and 5); give each key once",
        ),
        ("a: {x: 1, x: 2}\n", "v.yaml: 'x' is given twice in one mapping (line 1); give each key once"),
        ("a: 1\n---\nbroker: {}\nb: [{c: 1,\n c: 1}]\n", "'c' is given twice in one mapping (lines 4 and 5)"),
        (
            "bookkeeper:\n  configData: |\n    a: 1\n    a: 2\n",
            "v.yaml: in the text of bookkeeper.configData: 'a' is given twice in one mapping (lines 1 and 2)",
        ),
    ],
)
def test_a_key_that_stands_twice_in_one_mapping_is_refused(
    text: str, said: str, asking: Asking, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last one counted in silence."""
    assert run(["advise", *given({"v.yaml": text}), *SIZES]) == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    assert (said in error, error.count("\n")) == (True, 1)


def test_a_key_that_is_merged_in_may_be_given_again(asking: Asking) -> None:
    """Planted: keys are counted after the merge, or a key twice in two mappings is refused."""
    text = (
        "x: &x {configData: {journalSyncData: 'true'}, replicaCount: 3}\n"
        "y: &y {<<: *x, configData: {journalSyncData: 'false'}}\nbookkeeper: {<<: *y, replicaCount: 4}\n"
    )
    setup = asking.advise({"v.yaml": text}, *SIZES[:6]).setup
    assert (setup.sync, setup.bookies) == (False, 4)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "bookiePort=3181\njournalSyncData=false\n\n# x\njournalSyncData = true\n",
            "journalSyncData is given twice: 'false' in line 2, and 'true' in line 5. Java takes the last.",
        ),
        (
            "a=\\\n  b\njournalSyncData=false\njournalSyncData=true\n",
            "'false' in line 3, and 'true' in line 4.",
        ),
        ("journalSyncData=true\njournalSyncData=true\n", ""),
        ("bookiePort=3181\nbookiePort=3182\n", ""),
    ],
)
def test_a_key_that_stands_twice_in_properties_is_told(asking: Asking, text: str, note: str) -> None:
    """Planted: equal values are told; a key that has nothing to do with durability is told."""
    answer = asking.advise({"bk_server.conf": text}, *SIZES)
    assert answer.setup.sync
    (said,) = notes(answer) or [""]
    assert note in said and bool(note) == bool(said)
