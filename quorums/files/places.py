"""Names of sections, services and resources: the component that each says, and places that are not ours."""

from __future__ import annotations

import re
from functools import cache

from fencepost.quorums.files.config_keys import AUTORECOVERY, BOOKIE, BROKER, METADATA

FOREIGN, STANDALONE, OTHER = "foreign", "standalone", "other"
"""Components that read none of the keys: of another product, Pulsar in one process, others of Pulsar."""

NOT_OURS = (
    *("grafana", "prometheus", "alertmanager", "victoria-?metrics", "node-exporter", "loki", "burnell"),
    *(
        "minio",
        "etcd",
        "kafka",
        "rocksmq",
        "woodpecker",
        "tei(?![a-z])",
        "attu",
        "heaptrack",
        "mysql",
        "postgres",
    ),
    *("redis", "mongo", "elastic", "cassandra", "keycloak", "cert-?manager", "trino", "presto", "pulsarsql"),
)
"""Subcharts and products beside Pulsar and BookKeeper. Their pods, disks and switches are not ours."""

COMPONENTS = (
    (FOREIGN, rf"(?<![a-z])(?:{'|'.join(NOT_OURS)})"),
    (AUTORECOVERY, r"auto-?_?recovery|(?<![a-z])recovery"),
    (STANDALONE, r"standalone"),
    (OTHER, r"(?<![a-z])init|init(?![a-z])|prox(?:y|ies)|toolset|bastion|function|websocket|manager|dekaf"),
    (OTHER, r"pulsar_metadata"),
    (METADATA, r"zookeeper|(?<![a-z])zk|(?<![a-z])zoo(?![a-z])|oxia|(?<=.)metadata"),
    (BOOKIE, r"bookie|bookkeeper|(?<![a-z])bk(?![a-z])"),
    (BROKER, r"broker"),
)
"""The component of a section, a service or a resource by a part of its name. The first that fits counts."""

COMMAND = re.compile(r"\b(?:pulsar|bookkeeper)\s+(bookie|broker|autorecovery|standalone|proxy|zookeeper)\b")
"""The part of a container's command that names the component."""
IMAGE = re.compile(r"(?:^|/)bookkeeper(?::|$)")
"""An image that runs a bookie, unless a name or the command says something else."""


@cache
def component_of(name: str) -> str | None:
    """Return the component that a name says; None if it says none."""
    found = (component for component, pattern in COMPONENTS if re.search(pattern, name.lower()))
    return next(found, None)


def words(value: object) -> str:
    """Return a command as one text, from a text or a list."""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def is_false(value: object) -> bool:
    """Return whether a value of a file says false, also as a text."""
    return str(value).strip().lower() == "false"


def is_true(value: object) -> bool:
    """Return whether a value of a file says true, also as a text."""
    return str(value).strip().lower() == "true"
