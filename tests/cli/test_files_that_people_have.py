"""Files that people have, in each form, read by `quorum` and `advise`: each case was read wrongly once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from fencepost.cli.exits import ExitCode
from fencepost.cli.main import run
from fencepost.cli.rendering.advice_text import as_text
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
        ("x.conf", "a=b\n", "x.conf: has no key of a broker.conf or a bk_server.conf; give -e"),
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
    text = "".join(f"proxy{n}: {{configData: {{journalSyncData: 'true'}}}}\n" for n in range(500))
    (note,) = notes(asking.advise({"values.yaml": CHART + text}, *SIZES))
    assert note.startswith("proxy0.configData.journalSyncData (and at 499 other places) is not read")


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


# Files that are joined.

WITH_PARENT = f"""\
pulsar:
  bookkeeper: {{replicaCount: 5, configData: {{journalSyncData: "false", dataIntegrityChecking: "true"}}}}
  broker: {{configData: {{{QUORUMS}}}}}
"""
AT_THE_TOP = "bookkeeper: {configData: {journalSyncData: 'true'}}"


@pytest.mark.parametrize(
    ("files", "sync", "said"),
    [
        ({"u.yaml": WITH_PARENT, "o.yaml": AT_THE_TOP}, True, "at the top, and those of u.yaml below"),
        ({"o.yaml": AT_THE_TOP, "u.yaml": WITH_PARENT}, False, "pulsar, and those of o.yaml at the top"),
        ({"u.yaml": WITH_PARENT, "o.yaml": f"pulsar: {{{AT_THE_TOP}}}"}, True, ""),
        ({"u.yaml": WITH_PARENT, "o.yaml": "tls: {enabled: true}"}, False, ""),
    ],
)
def test_an_overlay_without_the_parent_of_an_umbrella_chart_counts_and_the_answer_says_so(
    files: Mapping[str, str], sync: bool, said: str, asking: Asking
) -> None:
    """Planted: the files are joined without a word; the first one wins."""
    answer = asking.advise(files)
    setup = answer.setup
    assert (setup.sync, setup.checks, setup.bookies, setup.storage) == (sync, True, 5, "db")
    joined = [note for note in notes(answer) if "both are read as values of one cluster" in note]
    assert (len(joined) == 1, said in "".join(joined)) == (bool(said), True)


def test_files_below_different_parents_are_refused(
    capsys: pytest.CaptureFixture[str], asking: Asking
) -> None:
    """The last one won in silence."""
    files = {"a.yaml": WITH_PARENT, "b.yaml": "eu: {pulsar: {bookkeeper: {replicaCount: 3}}}"}
    assert run(["advise", *given(files)]) == ExitCode.BAD_INPUT
    assert capsys.readouterr().err == (
        "fencepost: b.yaml: its sections stand below eu.pulsar, and those of a.yaml below pulsar, so they "
        "are not values of one cluster; give the files of one cluster\n"
    )


# Argo CD and Flux.

ARGO = f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: pulsar}}
spec:
  source:
    repoURL: https://pulsar.apache.org/charts
    chart: pulsar
    helm:
      valueFiles: [base.yaml]
      values: |
        bookkeeper:
          replicaCount: 3
          configData:
            journalSyncData: "false"
        broker: {{configData: {{{QUORUMS}}}}}
      parameters:
      - {{name: bookkeeper.replicaCount, value: "4"}}
      - {{name: broker.configData.managedLedgerDefaultAckQuorum, value: "1"}}
"""
OBJECT = f"""\
kind: Application
spec:
  sources:
  - {{chart: grafana}}
  - helm:
      values: "bookkeeper: {{replicaCount: 9}}"
      valuesObject:
        bookkeeper: {{replicaCount: 4, configData: {{journalSyncData: "false"}}}}
        broker: {{configData: {{{QUORUMS.replace('Quorum: "2"', 'Quorum: "1"')}}}}}
"""
IN_A_LIST = "kind: List\nitems:\n- " + OBJECT.replace("\n", "\n  ")
OF_A_SET = ARGO.replace("Application", "ApplicationSet").replace(
    "spec:\n  so", "spec:\n template:\n  spec:\n   so"
)
FLUX = f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: pulsar}}
spec:
  chart: {{spec: {{chart: pulsar}}}}
  valuesFrom: [{{kind: ConfigMap, name: base}}]
  values:
    bookkeeper: {{replicaCount: 4, configData: {{journalSyncData: "false"}}}}
    broker: {{configData: {{{QUORUMS}}}}}
"""


@pytest.mark.parametrize(
    ("text", "sizes", "elsewhere"),
    [
        (ARGO, (2, 2, 1), "helm.valueFiles is not read; give base.yaml with --from too, before this file."),
        (OBJECT, (2, 1, 1), ""),
        (IN_A_LIST, (2, 1, 1), ""),
        (OF_A_SET, (2, 2, 1), "base.yaml"),
        (
            FLUX,
            (2, 2, 2),
            "spec.valuesFrom is not read; give ConfigMap base as files with --from too, before",
        ),
    ],
    ids=["values", "valuesObject", "list", "set", "flux"],
)
def test_the_values_in_resources_of_argo_cd_and_flux(
    text: str, sizes: tuple[int, ...], elsewhere: str, asking: Asking
) -> None:
    """Nothing was read of them. Planted: parameters do not win; values are added to valuesObject."""
    answer = asking.advise({"app.yaml": text})
    setup = answer.setup
    assert (setup.configuration.sizes, setup.bookies, setup.sync, setup.storage) == (sizes, 4, False, "db")
    assert elsewhere in " ".join(notes(answer)) and bool(elsewhere) == bool(notes(answer))


def test_a_parameter_of_too_many_parts_is_refused(asking: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    """Planted: each part is a level of the values."""
    name = ".".join("a" * 3000)
    text = f"kind: Application\nspec: {{source: {{helm: {{parameters: [{{name: {name}, value: x}}]}}}}}}\n"
    assert run(["advise", *given({"app.yaml": text}), *SIZES]) == ExitCode.BAD_INPUT
    assert "app.yaml: a name in helm.parameters has 3000 parts; at most 100" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("        a: [\n", "is not YAML (line "),
        ("        a: 1\n        a: 2\n", "'a' is given twice in one mapping (lines 1 and 2)"),
    ],
)
def test_a_text_of_values_that_cannot_be_read_is_refused(
    values: str, said: str, asking: Asking, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"kind: Application\nspec:\n  source:\n    helm:\n      values: |\n{values}"
    assert run(["advise", *given({"app.yaml": text}), *SIZES]) == ExitCode.BAD_INPUT
    assert f"app.yaml: the text of helm.values: {said}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "services: {bookie: {image: apache/bookkeeper, environment: 5}}",
            "services.bookie.environment is 5; it must be a list or an object",
        ),
        (
            "kind: ConfigMap\nmetadata: {name: bookie}\ndata: {bk.conf: 'a=\\u00zz'}\n",
            "a text is no Java properties (Invalid \\u escape sequence: \\u00zz); write four digits",
        ),
        ("kind:\nextra: {journalSyncData: maybe}\n", "extra.journalSyncData is 'maybe'; it must be true or"),
    ],
)
def test_a_value_that_has_no_form_is_refused(
    text: str, said: str, asking: Asking, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first two were internal errors. Planted: a kind that is null is a kind of resources."""
    assert run(["advise", *given({"v.yaml": text}), *SIZES]) == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    assert (f"fencepost: v.yaml: {said}" in error, error.count("\n")) == (True, 1)


# Bookies that differ.

SETS = f"""\
kind: PulsarCluster
spec:
  bookkeeper:
    config: {{journalSyncData: BASE}}
    sets:
      az1: {{replicas: 1, config: {{journalSyncData: ONE}}}}
      az2: {{replicas: 2, config: {{useTransactionalCompaction: true}}}}
  broker: {{config: {{{QUORUMS}}}}}
"""


def sets(base: str, one: str) -> dict[str, str]:
    return {"k.yaml": SETS.replace("BASE", base).replace("ONE", one)}


TWO_FILES = """\
kind: ConfigMap
metadata: {name: bookies}
data:
  bookie1.conf: |
    journalSyncData=true
    dataIntegrityChecking=true
  bookie2.conf: |
    journalSyncData=false
"""
TWO_BOOKIES = {
    "bookie1.conf": "bookiePort=3181\njournalSyncData=false\nuseTransactionalCompaction=true\n",
    "bookie2.conf": "bookiePort=3181\ndataIntegrityChecking=true\nledgerDirectories=/a,/b\n",
}
NAMED = {
    "a.conf": "bookieId=a\n" + TWO_BOOKIES["bookie1.conf"],
    "b.conf": "bookieId=b\n" + TWO_BOOKIES["bookie2.conf"],
}


@pytest.mark.parametrize(
    ("files", "sync", "note"),
    [
        (sets("true", "false"), False, "is false for az1, and true for az2."),
        (sets("false", "true"), False, "is true for az1, and false for az2."),
        (sets("null", "false"), False, "is false for az1, and true for az2."),
        (sets("true", "true"), True, ""),
        ({"c.yaml": TWO_FILES}, False, "is true for bookie1.conf, and false for bookie2.conf. false counts"),
        (
            TWO_BOOKIES,
            False,
            "is false for bookie1.conf, and true for bookie2.conf. false counts for all, bec",
        ),
        (dict(reversed(TWO_BOOKIES.items())), False, "is true for bookie2.conf, and false for bookie1.conf."),
        (NAMED, False, "is false for a.conf, and true for b.conf."),
        ({"c.yaml": COMPOSE.replace("SYNC:-false", "SYNC:-true")}, False, "is false for bk1, and true for"),
    ],
    ids=["a set", "base", "default", "alike", "config map", "files", "reversed", "named", "compose"],
)
def test_of_bookies_that_differ_the_weaker_setting_counts(
    files: Mapping[str, str], sync: bool, note: str, asking: Asking
) -> None:
    """Sets were refused, and of files the last one won. Planted: the last or the first one counts."""
    answer = asking.advise(files, *SIZES)
    assert (answer.setup.sync, answer.setup.checks) == (sync, False)
    assert "transactional-compaction" not in answer.setup.features
    said = " ".join(notes(answer))
    assert note in said and bool(note) == ("journalSyncData is" in said)
    if len(files) > 1:
        assert answer.setup.features == {"several-ledger-directories"}
        assert answer.set_by["sync"].name in ("bookie1.conf", "a.conf")
        assert "are read as the files of single bookies of one cluster." in said


def test_of_two_storages_none_is_the_weaker(asking: Asking, capsys: pytest.CaptureFixture[str]) -> None:
    db = "ledgerStorageClass=org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage\n"
    files = {"a/bk.conf": db, "b/bk.conf": db.replace("storage.ldb.Db", "Sorted")}
    for folder in "ab":
        Path(folder).mkdir()
    assert run(["advise", *given(files), *SIZES]) == ExitCode.BAD_INPUT
    assert capsys.readouterr().err == (
        "fencepost: b/bk.conf: ledgerStorageClass is db for a/bk.conf, and sorted for b/bk.conf; none of "
        "them is the weaker, so ask for each with --storage\n"
    )
    assert asking.advise(files, *SIZES, "--storage", "db").setup.storage == "db"


def test_stateful_sets_of_bookies_are_counted_together(asking: Asking) -> None:
    """Planted: the number of one of them is taken."""
    one = WORKLOAD.replace("{template", "{replicas: 2, template")
    two = one.replace("x-", "a-") + "---\n" + one.replace("x-", "b-").replace("'false'", "'true'")
    answer = asking.advise({"sets.yaml": two}, *SIZES[:6])
    assert (answer.setup.bookies, answer.setup.sync) == (4, False)


# Persistence.

CHARTS = "volumes.persistence and bookkeeper.volumes.persistence to true in "
THREE = "bookkeeper: {replicaCount: 3}"


@pytest.mark.parametrize(
    ("loss", "text", "said"),
    [
        (
            "volumes.persistence=false",
            f"volumes: {{persistence: false}}\n{THREE}",
            "Set volumes.persistence to",
        ),
        (
            "volumes.persistence=false",
            "bookkeeper: {volumes: {persistence: false}}",
            "Set bookkeeper.volumes.persistence to true in f.yaml.",
        ),
        (
            "volumes.persistence=false",
            f"pulsarv3: {{{THREE}, volumes: {{persistence: false}}}}",
            "Set pulsarv3.volumes.persistence to true in f.yaml.",
        ),
        (
            "volumes.persistence=false",
            f"persistence: false\nextra: {{autoRecovery: true}}\n{THREE}",
            "Set persistence to true in f.yaml.",
        ),
        (
            "volumes.persistence=false",
            SETS.replace("spec:", "spec:\n  global: {persistence: false}"),
            "Set spec.global.persistence to true in f.yaml.",
        ),
        ("#4812", THREE, f"set {CHARTS}f.yaml."),
        (
            "#4812",
            f"pulsar: {{{THREE}}}",
            "set pulsar.volumes.persistence and pulsar.bookkeeper.volumes.pers",
        ),
        ("#4812", f"extra: {{autoRecovery: true}}\n{THREE}", "set persistence to true in f.yaml."),
        ("#4812", SETS, "set spec.global.persistence to true in f.yaml."),
        (
            "#4812",
            "kaap: {cluster: {spec: {bookkeeper: {replicas: 3}}}}",
            "set kaap.cluster.spec.global.pers",
        ),
        (
            "#4812",
            PRAVEGA,
            "set spec.storage.journalVolumeClaimTemplate and spec.storage.ledgerVolumeClaimTem",
        ),
        (
            "#4812",
            STREAMNATIVE,
            "set spec.storage.journal.volumeClaimTemplate and spec.storage.ledger.volumeC",
        ),
        ("#4812", "services: {bk: {image: apache/bookkeeper}}", f"set {CHARTS}the values of Pulsar's chart."),
    ],
)
def test_the_action_for_persistence_names_the_keys_of_the_form_that_was_read(
    loss: str, text: str, said: str, asking: Asking
) -> None:
    """It named those of Pulsar's chart. Planted: the keys of Pulsar's chart for each form."""
    text = text.replace("BASE", "true").replace("ONE", "true")
    answer = asking.advise({"f.yaml": text}, *SIZES)
    (found,) = [one for one in answer.losses if one.name == loss]
    assert said in answer.action(found)


# Forms that are not read.

ANSIBLE = "bookkeeper_config: {journalSyncData: 'false'}\npulsar_version: 4.0.5\n"
PATCHES = """\
kind: Kustomization
patches: [{patch: "- {op: replace, path: /data/journalSyncData, value: 'false'}"}]
"""


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "vars.yml",
            "journal_sync_data: false\n",
            "journal_sync_data has journalSyncData in a form that is not read",
        ),
        (
            "k.yaml",
            PATCHES,
            "a resource of kind Kustomization is not read; give the output of `kustomize build`",
        ),
        (
            "t.yaml",
            "bookkeeper:\n  replicaCount: {{ .Values.n }}\n",
            "is not YAML (line 2); if it is a template, give",
        ),
        (
            "main.tf",
            'journalSyncData = "false"\n',
            "is Terraform, which is not read; give what it sets as lines of",
        ),
        (
            "bookie.service",
            "Environment=BK_journalSyncData=false\n",
            "is a unit of systemd, which is not read; give",
        ),
        (
            "bk.xml",
            "<name>journalSyncData</name>\n",
            "is XML, which is not read; give what it sets as lines of KEY",
        ),
    ],
)
def test_a_form_that_is_not_read_is_refused_by_its_name(
    name: str, text: str, said: str, asking: Asking, capsys: pytest.CaptureFixture[str]
) -> None:
    """Most of these were answered for the defaults. Planted: a file of which nothing is read is answered."""
    assert run(["advise", *given({name: text}), *SIZES]) == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    assert (f"fencepost: {name}: {said}" in error, error.count("\n")) == (True, 1)


BITNAMI = """\
bookkeeper:
  replicaCount: 4
  persistence: {enabled: false}
  extraEnvVars: [{name: BOOKIE_journalSyncData, value: "no"}]
  configuration: |-
    journalWriteData=false
"""
FROM_ELSEWHERE = """\
services:
  bookie:
    image: apache/bookkeeper:4.16.6
    volumes: ["./bk.conf:/conf/bk.conf", "data:/data"]
    environment: [BK_journalSyncData]
"""
LONG_FORMS = """\
services:
  bookie:
    image: apache/bookkeeper:4.16.6
    volumes: [{type: bind, source: ./bk.conf, target: /conf/bk.conf}]
    environment: {BK_journalSyncData: null}
"""
OF_A_MAP = """\
kind: StatefulSet
metadata: {name: bookie}
spec:
  replicas: 4
  template:
    spec:
      containers:
      - name: bookie
        envFrom: [{configMapRef: {name: settings}}]
        env: [{name: journalSyncData, valueFrom: {configMapKeyRef: {name: x, key: y}}}]
"""


@pytest.mark.parametrize(
    ("text", "noted", "warned"),
    [
        (
            BITNAMI,
            "bookkeeper.persistence.enabled=false",
            "extraEnvVars.BOOKIE_journalSyncData has journalSyncData in a form that is not read.",
        ),
        (
            FROM_ELSEWHERE,
            "services.bookie.volumes is not read; it mounts ./bk.conf; give that with --from too.",
            "services.bookie.environment.BK_journalSyncData.valueFrom has journalSyncData in a form that",
        ),
        (
            LONG_FORMS,
            "services.bookie.volumes is not read; it mounts ./bk.conf; give that with --from too.",
            "services.bookie.environment.BK_journalSyncData.valueFrom has journalSyncData in a form that",
        ),
        (
            OF_A_MAP,
            "containers.bookie.envFrom is not read; give the ConfigMap settings with --from too.",
            "containers.bookie.env.journalSyncData.valueFrom has journalSyncData in a form that is not read.",
        ),
        (
            CHART + "bk: {journal_sync_data: 'false'}",
            "",
            "bk.journal_sync_data has journalSyncData in a form",
        ),
        (
            CHART + "standalone: {configData: {journalSyncData: 'false'}}",
            "standalone.configData.journalSync",
            "",
        ),
        (CHART, "", ""),
    ],
    ids=["bitnami", "compose", "long forms", "kubernetes", "other spelling", "standalone", "chart"],
)
def test_a_key_that_is_not_read_beside_others_is_warned_of_in_the_answer(
    text: str, noted: str, warned: str, asking: Asking
) -> None:
    """The answer was for the defaults, without a word. Planted: the key of another component is warned of."""
    answer = asking.advise({"f.yaml": text}, *SIZES)
    assert answer.setup.sync
    assert noted in " ".join(notes(answer))
    said = " ".join(as_text(answer).split("What to do")[0].split())
    assert (warned in said, "Warning: f.yaml: " in said) == (True, bool(warned))


def test_a_service_that_extends_another_file_is_a_bookie_too(asking: Asking) -> None:
    """The whole file was not read as one of docker-compose. Planted: each service needs an image."""
    extended = "  bk3: {extends: {file: common.yml, service: bookie}}\n"
    answer = asking.advise({"compose.yaml": COMPOSE + extended})
    assert (answer.setup.bookies, answer.setup.sync) == (4, False)
    assert "services.bk3.extends is not read; give what `docker compose config` prints" in " ".join(
        notes(answer)
    )
