"""Configuration files in the forms that people have, as facts: component, key, value, place in the file.

Forms: Java properties; Helm values, also of an umbrella chart or in resources of Argo CD and Flux;
docker-compose; resources of Kubernetes (ConfigMap, StatefulSet, lists of them) and of the operators kaap,
Pravega's and StreamNative's. YAML may have several documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import javaproperties

from fencepost.encoding.documents import SETTINGS, RepeatedKey, parse_yaml_documents, read_text, shown
from fencepost.encoding.errors import BadInput
from fencepost.quorums.config_keys import BOOKIE, BROKER, CONFIG_KEYS
from fencepost.quorums.container_forms import (
    config_map_facts,
    properties,
    service_facts,
    services_of,
    variables_of,
    workload_facts,
)
from fencepost.quorums.facts import SECTIONS, Fact, mapping, mappings
from fencepost.quorums.helm_values import HELD_IN, held_values

HINT = "give a broker.conf, a bk_server.conf, Helm values, a docker-compose file or Kubernetes resources"

OTHERS = frozenset(
    (
        *("standalone", "proxy", "proxies", "toolset", "bastion", "function", "functions", "websocket"),
        *("function_worker", "functionsworker", "pulsar_manager", "pulsar_metadata", "kafka", "etcd"),
        "minio",
    )
)
"""Sections of other components. A key of a bookie or a broker there is not theirs."""

PLAIN_SECTIONS = frozenset(
    ("configdata", "config", "conf", "custom", "options", "data", "environment", "env", "spec")
)
"""Sections that hold keys, and name no component."""

VARIABLES = frozenset(("environment", "env", "extraenv", "extraenvs", "additionalenv"))
"""Keys of a list of variables, in lower case."""


WORKLOADS = ("StatefulSet", "Deployment", "DaemonSet", "Pod")
"""The kinds of resources with containers."""

OF_BOOKIES = ("BookkeeperCluster", "BookKeeperCluster")
"""The kinds of the operators' resources that are for bookies, Pravega's and StreamNative's."""

READ_KINDS = frozenset((*HELD_IN, *WORKLOADS, *OF_BOOKIES, "ConfigMap", "PulsarBroker", "PulsarCluster"))
"""The kinds of resources that are read."""


@dataclass(frozen=True)
class ConfigFile:
    """The facts of a file, and what else the reader must know of it."""

    facts: tuple[Fact, ...]
    is_yaml: bool
    comments: frozenset[str] = frozenset()
    """The keys that stand in comments of a file of Java properties, as in a stock bk_server.conf."""
    notes: tuple[str, ...] = ()
    """Sentences about the file itself."""
    kinds: frozenset[str] = frozenset()
    """The kinds of the resources of Kubernetes in the file."""


FOREIGN = {
    ".tf": "Terraform",
    ".hcl": "HCL",
    ".nomad": "a job of Nomad",
    ".toml": "TOML",
    ".xml": "XML",
    ".service": "a unit of systemd",
    ".j2": "a template",
    ".tpl": "a template",
    ".gotmpl": "a template",
}
"""Forms that are not read, by the ends of files' names."""
FOREIGN_HINT = "give what it sets as lines of KEY=value, or the values of its chart as YAML"


def read_config(path: Path) -> ConfigFile:
    """Return the facts of a file: YAML if its name says so, else Java properties. Raises BadInput."""
    text = read_text(path, HINT, SETTINGS)
    if path.suffix in FOREIGN:
        raise BadInput(f"{path}: is {FOREIGN[path.suffix]}, which is not read; {FOREIGN_HINT}")
    try:
        if path.suffix not in (".yaml", ".yml", ".json"):
            return _properties(text)
        hint = "if it is a template, give what it renders to (helm template)" if "{{" in text else HINT
        documents = parse_yaml_documents(text, str(path), hint)
        for document in documents:
            if not isinstance(document, dict | None):
                raise BadInput(f"{path}: is {shown(document)}, not an object with sections and keys; {HINT}")
    except javaproperties.InvalidUEscapeError as error:
        raise BadInput(f"{path}: is no file of Java properties ({error}); {HINT}") from error
    resources = [one for document in documents if document for one in _resources(document)]
    try:
        facts = tuple(fact for one in resources for fact in _document(one))
    except BadInput as error:  # of a text in a value
        raise BadInput(f"{path}: {error}") from error
    return ConfigFile(facts, True, kinds=frozenset(str(one["kind"]) for one in resources if one.get("kind")))


# Java properties.


def _properties(text: str) -> ConfigFile:
    """Return the facts of a file of Java properties, the keys in its comments, and notes on repeated keys."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    comments, notes, line = set[str](), list[str](), 1
    for one in javaproperties.parse(text.removeprefix("\ufeff")):
        if isinstance(one, javaproperties.Comment):
            comments.add(one.value.partition("=")[0].strip())
        elif isinstance(one, javaproperties.KeyValue):
            if values.get(one.key, one.value) != one.value and one.key in CONFIG_KEYS:
                notes.append(
                    f"{one.key} is given twice: {shown(values[one.key])} in line {lines[one.key]}, and "
                    f"{shown(one.value)} in line {line}. Java takes the last."
                )
            values[one.key], lines[one.key] = one.value, line
        line += len(one.source.splitlines())
    facts = tuple(Fact(None, (key,), value) for key, value in values.items())
    return ConfigFile(facts, False, frozenset(comments), tuple(notes))


# YAML.


def _resources(document: Mapping[Any, Any]) -> Iterator[Mapping[Any, Any]]:
    """Yield the resources of a YAML document: those of its list, or the document itself."""
    if str(document.get("kind")).endswith("List"):
        for item in mappings(document.get("items")):
            yield from _resources(item)
    else:
        yield document


def _document(document: Mapping[Any, Any]) -> Iterator[Fact]:
    """Yield the facts of one YAML document. Raises BadInput for a text in a value that cannot be read."""
    kind, services = document.get("kind"), services_of(document)
    if kind in HELD_IN:
        for values, files in held_values(document):
            yield from _section(values, None, ())
            yield from (Fact(None, path, value) for path, value in files)
    elif services:
        for name, service in services.items():
            yield from service_facts(str(name), service)
    elif kind == "ConfigMap":
        yield from config_map_facts(document)
    elif kind in WORKLOADS:
        yield from workload_facts(document)
    elif kind == "PulsarBroker":
        yield from _section(document, BROKER, ())
    elif kind in OF_BOOKIES or {"zookeeperUri", "options"} <= set(document):
        yield from _section(document, BOOKIE, ())
    else:
        yield from _section(document, None, ())


def _section(
    section: Mapping[Any, Any], component: str | None, path: tuple[str, ...], member: str = ""
) -> Iterator[Fact]:
    """Yield the facts of a section and of those below it, without the ones that are switched off."""
    is_sets = component == BOOKIE and path[-1:] == ("sets",)
    parts = mapping(section.get("components"))
    off = {str(name).lower() for name, on in parts.items() if _is_false(on)}
    for word, value in section.items():
        name = str(word)
        inner = _component(name, component)
        of = name if is_sets else member
        if isinstance(value, dict):
            if _is_false(value.get("enabled")):
                yield Fact(inner, (*path, name, "enabled"), False, of)
            elif name.lower() not in off:
                yield from _section(value, inner, (*path, name), of)
        elif name.lower() in VARIABLES and isinstance(value, list):
            yield from variables_of(value, component, (*path, name), of)
        elif isinstance(value, list) and mappings(value) and name != "multiVolumes":
            for number, item in enumerate(mappings(value)):
                yield from _section(item, inner, (*path, name, str(number)), of)
        elif name.lower() in PLAIN_SECTIONS and isinstance(value, str) and "\n" in value:
            yield from _section(_held(value, (*path, name)), component, (*path, name), of)
        else:
            yield Fact(inner if value is None else component, (*path, name), value, of)


def _held(text: str, path: tuple[str, ...]) -> Mapping[Any, Any]:
    """Return the keys in a text that a section has as its value: YAML, or Java properties."""
    try:
        documents = parse_yaml_documents(text, f"in the text of {'.'.join(path)}", HINT)
    except RepeatedKey:
        raise
    except BadInput:
        documents = []
    return documents[0] if len(documents) == 1 and isinstance(documents[0], dict) else properties(text)


def _component(name: str, outer: str | None) -> str | None:
    """Return the component of a section: its own, if its name is one, else that of the section around it."""
    return "other" if name.lower() in OTHERS else SECTIONS.get(name.lower(), outer)


def _is_false(value: object) -> bool:
    return value is False or (isinstance(value, str) and value.strip().lower() == "false")
