"""Configuration files in the forms that people have, as facts: component, key, value, place in the file.

Forms: Java properties; Helm values, also of an umbrella chart or in resources of Argo CD and Flux;
docker-compose; resources of Kubernetes (ConfigMap, StatefulSet, lists of them) and of the operators kaap,
Pravega's and StreamNative's. YAML may have several documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import javaproperties

from fencepost.encoding.documents import SETTINGS, RepeatedKey, parse_yaml_documents, read_text, shown
from fencepost.encoding.errors import BadInput
from fencepost.quorums.config_keys import AUTORECOVERY, BOOKIE, BROKER, CONFIG_KEYS, METADATA
from fencepost.quorums.helm_values import HELD_IN, held_values

HINT = "give a broker.conf, a bk_server.conf, Helm values, a docker-compose file or Kubernetes resources"

PREFIXES = ("PULSAR_PREFIX_", "BK_")
"""Images of Pulsar and BookKeeper set a variable of this prefix as the key without it."""

BOOKIES = ("bookkeeper", "bookkeepers", "bookie", "bookies")
"""The names of a section for bookies."""

SECTIONS = {
    **dict.fromkeys(BOOKIES, BOOKIE),
    **dict.fromkeys(("broker", "brokers"), BROKER),
    **dict.fromkeys(("autorecovery", "auto_recovery", "recovery"), AUTORECOVERY),
    **dict.fromkeys(("zookeeper", "zookeepers", "oxia"), METADATA),
}
"""The component of a section by its name, in lower case."""

OTHERS = frozenset(
    (
        *("standalone", "proxy", "proxies", "toolset", "bastion", "function", "functions", "websocket"),
        *(
            "function_worker",
            "functionsworker",
            "pulsar_manager",
            "pulsar_metadata",
            "kafka",
            "etcd",
            "minio",
        ),
    )
)
"""Sections of other components. A key of a bookie or a broker there is not theirs."""

PLAIN_SECTIONS = frozenset(
    ("configdata", "config", "conf", "custom", "options", "data", "environment", "env", "spec")
)
"""Sections that hold keys, and name no component."""

ROLES = (
    (AUTORECOVERY, r"auto-?_?recovery|\brecovery"),
    ("standalone", r"standalone"),
    ("other", r"init|proxy|toolset|bastion|function|websocket|manager"),
    (METADATA, r"zookeeper|\bzk|oxia|metadata"),
    (BOOKIE, r"bookie|bookkeeper|\bbk"),
    (BROKER, r"broker"),
)
"""The component of a service or a resource, by a part of its name. The first that fits counts."""

VARIABLES = frozenset(("environment", "env", "extraenv", "extraenvs", "additionalenv"))
"""Keys of a list of variables, in lower case."""

COMMAND = re.compile(r"\b(?:pulsar|bookkeeper)\s+(bookie|broker|autorecovery|standalone|proxy|zookeeper)\b")
"""The part of a container's command that names the component."""


@dataclass(frozen=True)
class Fact:
    """One value of a file, with its path there and the component whose section it stands in."""

    component: str | None
    """None if the file does not say it."""
    path: tuple[str, ...]
    value: Any
    member: str = ""
    """The set, service, resource or file to which the value belongs; empty if it is for all bookies."""

    @property
    def key(self) -> str:
        """The last part of the path, without the prefix of an image."""
        for prefix in PREFIXES:
            if self.path[-1].startswith(prefix):
                return self.path[-1].removeprefix(prefix)
        return self.path[-1]

    @property
    def has_prefix(self) -> bool:
        """Whether the key has the prefix of an image. Such a key wins over the key without it."""
        return self.path[-1].startswith(PREFIXES)

    @property
    def where(self) -> str:
        """The path in one word."""
        return ".".join(self.path)

    @property
    def section(self) -> str:
        """The name of the section in which the key stands, in lower case; empty for the file itself."""
        return self.path[-2].lower() if len(self.path) > 1 else ""


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


def read_config(path: Path) -> ConfigFile:
    """Return the facts of a file: YAML if its name says so, else Java properties. Raises BadInput."""
    text = read_text(path, HINT, SETTINGS)
    try:
        if path.suffix not in (".yaml", ".yml", ".json"):
            return _properties(text)
        documents = parse_yaml_documents(text, str(path), HINT)
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
    return ConfigFile(facts, True, kinds=frozenset(str(one.get("kind", "")) for one in resources))


# Java properties.


def properties(text: str) -> dict[str, str]:
    """Return keys and values of a text as Java's `Properties` reads it; of a repeated key the last counts."""
    return javaproperties.loads(text.removeprefix("\ufeff"))


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
        for item in _mappings(document.get("items")):
            yield from _resources(item)
    else:
        yield document


def _document(document: Mapping[Any, Any]) -> Iterator[Fact]:
    """Yield the facts of one YAML document. Raises BadInput for a text in a value that cannot be read."""
    kind, services = document.get("kind"), _services(document)
    if kind in HELD_IN:
        for values, files in held_values(document):
            yield from _section(values, None, ())
            yield from (Fact(None, path, value) for path, value in files)
    elif services:
        for name, service in services.items():
            yield from _service(str(name), service)
    elif kind == "ConfigMap":
        yield from _config_map(document)
    elif kind in ("StatefulSet", "Deployment", "DaemonSet", "Pod"):
        yield from _workload(document)
    elif kind == "PulsarBroker":
        yield from _section(document, BROKER, ())
    elif kind in ("BookkeeperCluster", "BookKeeperCluster") or {"zookeeperUri", "options"} <= set(document):
        yield from _section(document, BOOKIE, ())
    else:
        yield from _section(document, None, ())


def _mappings(value: object) -> list[Mapping[Any, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _section(
    section: Mapping[Any, Any], component: str | None, path: tuple[str, ...], member: str = ""
) -> Iterator[Fact]:
    """Yield the facts of a section and of those below it, without the ones that are switched off."""
    is_sets = component == BOOKIE and path[-1:] == ("sets",)
    parts = section.get("components")
    off = (
        {str(name).lower() for name, on in parts.items() if _is_false(on)} if isinstance(parts, dict) else ()
    )
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
            yield from _variables(value, component, (*path, name), of)
        elif isinstance(value, list) and _mappings(value) and name != "multiVolumes":
            for number, item in enumerate(_mappings(value)):
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


def _variables(
    variables: list[Any], component: str | None, path: tuple[str, ...], member: str
) -> Iterator[Fact]:
    """Yield the facts of a list of variables: `NAME=value`, or a name and a value."""
    for variable in variables:
        if isinstance(variable, str):
            name, equals, value = variable.partition("=")
            if equals:
                yield Fact(component, (*path, name), value, member)
        elif isinstance(variable, dict) and "name" in variable and "value" in variable:
            yield Fact(component, (*path, str(variable["name"])), variable["value"], member)


# docker-compose.


def _services(document: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the services of a docker-compose file; none of another document."""
    keys = {"image", "build", "command", "environment", "env_file"}
    found = document.get("services")
    services = found if isinstance(found, dict) else {}
    of_compose = all(isinstance(service, dict) and keys & set(service) for service in services.values())
    return services if of_compose else {}


def _service(name: str, service: Mapping[Any, Any]) -> Iterator[Fact]:
    """Yield the variables of a service, and the number of its containers."""
    path: tuple[str, ...] = ("services", name)
    words = [service.get(word) for word in ("entrypoint", "command")]
    command = " ".join(" ".join(map(str, w)) if isinstance(w, list) else str(w or "") for w in words)
    component: str | None = _role(name, command, str(service.get("image", "")))
    if component == "standalone":
        component, path = None, ()
    else:
        deploy = service.get("deploy")
        replicas = deploy.get("replicas") if isinstance(deploy, dict) else None
        yield Fact(component, (*path, "replicas"), replicas or service.get("scale") or 1, name)
    yield Fact(component, (*path, "image"), service.get("image"), name)
    for key in ("env_file", "extends"):
        if service.get(key):
            yield Fact(component, (*path, key), service[key], name)
    variables = service.get("environment")
    if isinstance(variables, dict):
        variables = [{"name": name, "value": value} for name, value in variables.items()]
    for fact in _variables(variables or [], component, (*path, "environment"), name):
        yield replace(fact, value=_interpolated(fact.value))


def _interpolated(value: Any) -> Any:
    """Return the default of a variable of the shell, as docker-compose puts it in: `${NAME:-default}`."""
    found = re.fullmatch(r"\$\{\w+:?-(.*)\}", value) if isinstance(value, str) else None
    return found[1] if found else value


def _role(name: str, command: str = "", image: str = "") -> str:
    """Return the component that a service or resource runs, by its command, its name or its image."""
    found = COMMAND.search(command)
    if found:
        return "standalone" if found[1] == "standalone" else SECTIONS.get(found[1], "other")
    for component, pattern in ROLES:
        if re.search(pattern, name.lower()):
            return component
    return BOOKIE if re.search(r"(?:^|/)bookkeeper(?::|$)", image) else "other"


# Kubernetes.


def _named(document: Mapping[Any, Any]) -> str:
    """Return the name of a resource and its label `component`."""
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    labels = metadata.get("labels")
    labels = labels if isinstance(labels, dict) else {}
    label = labels.get("component") or labels.get("app.kubernetes.io/component") or ""
    return str(label) if label else _own_name(document)


def _own_name(document: Mapping[Any, Any]) -> str:
    """Return the name of a resource, by which it differs from others of its component."""
    metadata = document.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""


def _config_map(document: Mapping[Any, Any]) -> Iterator[Fact]:
    """Yield the keys of a ConfigMap. A value may be a whole file of Java properties."""
    data = document.get("data")
    component = _role(_named(document))
    for name, value in (data if isinstance(data, dict) else {}).items():
        if str(name).endswith((".conf", ".properties")) and isinstance(value, str):
            of_file = _role(str(name).replace("bk_server", "bookie"))
            for key, held in properties(value).items():
                of = component if of_file == "other" else of_file
                yield Fact(of, ("data", str(name), key), held, str(name))
        else:
            yield Fact(component, ("data", str(name)), value, _own_name(document))


def _workload(document: Mapping[Any, Any]) -> Iterator[Fact]:
    """Yield the variables of a workload's containers, and the number of its pods."""
    spec = document.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    component = _role(_named(document))
    name = _own_name(document)
    if "replicas" in spec:
        yield Fact(component, ("spec", "replicas"), spec["replicas"], name)
    template = spec.get("template")
    pod = template.get("spec") if isinstance(template, dict) else spec
    for container in _mappings(pod.get("containers") if isinstance(pod, dict) else None):
        variables = container.get("env")
        path = ("containers", str(container.get("name", "")), "env")
        yield from _variables(variables if isinstance(variables, list) else [], component, path, name)
