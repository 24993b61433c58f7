"""One walk over a document: a key counts where it stands, for the component that a name above it says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import javaproperties

from fencepost.encoding.documents import DEPTH, SETTINGS, parse_yaml_documents, read_text, shown
from fencepost.encoding.errors import BadInput
from fencepost.quorums.files.config_keys import BOOKIE, CONFIG_KEYS, WRITTEN
from fencepost.quorums.files.facts import Fact, bare
from fencepost.quorums.files.places import (
    COMMAND,
    FOREIGN,
    IMAGE,
    STANDALONE,
    component_of,
    is_false,
    is_true,
    words,
)
from fencepost.quorums.files.texts import HINT, PROPERTIES, VARIABLES, as_data, has_keys, properties


@dataclass(frozen=True)
class ConfigFile:
    """The facts of a file, and what else the reader must know of it."""

    facts: tuple[Fact, ...]
    comments: frozenset[str] = frozenset()
    """The keys that stand in comments of a file of Java properties, as in a stock bk_server.conf."""
    notes: tuple[str, ...] = ()
    """Sentences about the file itself."""
    is_yaml: bool = True


UNREAD = {
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
YAML = (".yaml", ".yml", ".json")


def read_config(path: Path) -> ConfigFile:
    """Return the facts of a file. A text whose name does not say its form is tried. Raises BadInput."""
    text = read_text(path, HINT, SETTINGS)
    if path.suffix in UNREAD:
        hint = "give what it sets as lines of KEY=value, or the values of its chart as YAML"
        raise BadInput(f"{path}: is {UNREAD[path.suffix]}, which is not read; {hint}")
    if path.suffix in YAML:
        hint = "if it is a template, give what it renders to (helm template)" if "{{" in text else HINT
        documents = parse_yaml_documents(text, str(path), hint)
        for document in documents:
            if document is not None and not has_keys(document):
                raise BadInput(f"{path}: is {shown(document)}, not an object with sections and keys; {HINT}")
    else:
        documents = [] if path.suffix in PROPERTIES else as_data(text, "", str(path))
        if not any(map(has_keys, documents)) or _is_properties(text):
            return _properties(path, text)
    try:
        facts = tuple(fact for document in filter(has_keys, documents) for fact in walk(document, Fact()))
    except BadInput as error:  # of a text in a value
        raise BadInput(f"{path}: {error}") from error
    return ConfigFile(facts)


def _is_properties(text: str) -> bool:
    """Return whether each line of a text is a key with a value, a comment or empty."""
    return all(re.match(r"\s*([#!]|[A-Za-z_][\w.\-]*\s*=|$)", line) for line in text.splitlines())


def _properties(path: Path, text: str) -> ConfigFile:
    """Return the facts of a file of Java properties, the keys in its comments, and notes on repeated keys."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    comments, notes, line = set[str](), list[str](), 1
    try:
        properties(text)
    except BadInput as error:
        raise BadInput(f"{path}: is no file of Java properties; {error}") from error
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
    facts = tuple(fact for key, value in values.items() for fact in _value(key, value, Fact()))
    return ConfigFile(facts, frozenset(comments), tuple(notes), is_yaml=False)


# The walk.


def walk(value: Any, at: Fact) -> Iterator[Fact]:
    """Yield the facts of a mapping or a list at this place. Raises BadInput for a bad text in it."""
    if isinstance(value, dict):
        yield from _section(value, at)
        return
    for number, item in enumerate(value):
        if isinstance(item, dict) and "name" in item and {"value", "valueFrom"} & item.keys():
            yield from _value(str(item["name"]), item.get("value", {"valueFrom": item["name"]}), at)
        elif isinstance(item, dict):
            named = item.get("name")
            yield from walk(item, at.below(named if isinstance(named, str) else str(number)))
        elif isinstance(item, str):
            key, equals, held = item.partition("=")
            if re.fullmatch(r"[A-Za-z_][\w.\-]*", key) and (equals or bare(key) in WRITTEN):
                yield from _value(key, held if equals else {"valueFrom": key}, at)
            else:
                yield from _value(str(number), item, at)


def _section(section: Mapping[Any, Any], at: Fact) -> Iterator[Fact]:
    """Yield the facts of a section and of those below it, without the ones that are switched off."""
    single = _parameters(section)
    if single:  # these win over the values of the same chart
        winning = list(walk(single, _values_root(at)))
        paths = {fact.path for fact in winning}
        rest = {key: value for key, value in section.items() if key not in ("parameters", "set")}
        yield from (fact for fact in _section(rest, at) if fact.path not in paths)
        yield from winning
        return
    at = _resource(section, at)
    if _program(section) == STANDALONE:
        yield at.leaf(STANDALONE, True)
    about = "|".join(names for mark, names in ABOUT.items() if mark in section) or "(?!)"
    for name, value in section.items():
        key = str(name)
        if isinstance(value, dict) and is_false(value.get("enabled")):
            yield at.below(key).leaf("enabled", False)
        elif key == "services" and _are_containers(value):
            for word, service in value.items():
                if isinstance(service, dict):
                    yield from _service(service, replace(at.below(key).below(str(word)), member=str(word)))
        elif key == "emptyDir" and OF_ENTRIES.search(at.path[-1] if at.path else ""):
            yield at.below(key).leaf("persistence", False)
        elif not (_is_off(key, value, section) or re.fullmatch(about, key)):
            yield from _value(key, value, at)


ABOUT = {"kind": "metadata|status", "services": "x-.*", "line": "regexp?"}
"""Names that set nothing beside a key: a resource's name and state, templates and patterns."""
OF_ENTRIES = re.compile(r"journal|ledger|disk|(?<![a-z])data(?![a-z])")
"""The names of a pod's volumes that have entries."""


def _value(key: str, value: Any, at: Fact) -> Iterator[Fact]:
    """Yield the facts of a key's value: a section, a list, a text that holds keys, or a plain value."""
    inner = at.below(key)
    if key == "sets" and at.component == BOOKIE and isinstance(value, dict):
        for name, one in value.items():
            yield from _value(str(name), one, replace(inner, member=str(name), is_whole=True))
        return
    if isinstance(value, str):
        yield from _text(key, value, at)
    elif key in WHOLE or (bare(key) in WRITTEN and not isinstance(value, dict)):
        yield at.leaf(key, value)
    elif isinstance(value, dict | list):
        yield from walk(value, _values_root(inner) if key in VALUES else inner)
    else:
        yield inner if value is None else at.leaf(key, value)


WHOLE = ("multiVolumes", "env_file", "envFrom", "extends", "valueFiles", "valuesFrom")
"""Keys whose lists are read as one value. All but the first name settings elsewhere."""


def _text(key: str, value: str, at: Fact) -> Iterator[Fact]:
    """Yield the facts of a text: those of the keys that it holds, or the text itself."""
    default = re.fullmatch(r"\$\{\w+:?-(.*)\}", value)  # as docker-compose puts it in
    value = default[1] if default else value
    if bare(key) in WRITTEN:
        is_open = "{{" in value or "${" in value
        yield at.below(key).leaf("valueFrom", key) if is_open else at.leaf(key, value)
        return
    inner = at.below(key) if key.endswith(PROPERTIES) else replace(at, path=(*at.path, key))
    if key.endswith(PROPERTIES):
        inner = replace(inner, member=key, is_whole=True)
    if key in VALUES and "\n" in value:
        data = parse_yaml_documents(value, f"the text of {'.'.join(inner.path[-2:])}", HINT)
    else:
        data = as_data(value, key, f"in the text of {inner.where}")
    if not data:
        yield at.leaf(key, value)
    for one in filter(has_keys, data):
        yield from walk(one, _values_root(inner) if key in VALUES else inner)


# Switches.


def _is_off(name: str, value: Any, section: Mapping[Any, Any]) -> bool:
    """Return whether a section is switched off beside it: by `components`, or because it is elsewhere."""
    parts = [section.get(part) for part in ("components", "extra")]
    said = [
        on
        for part in parts
        if isinstance(part, dict)
        for word, on in part.items()
        if str(word).lower() == name.lower()
    ]
    elsewhere = name == "inCluster" and is_true(section.get("external"))
    is_less = name == "values" and bool(section.get("valuesObject"))  # Argo CD then takes the object alone
    return is_less or (isinstance(value, dict) and (elsewhere or (bool(said) and all(map(is_false, said)))))


# Resources and containers.


def _resource(section: Mapping[Any, Any], at: Fact) -> Fact:
    """Return the place with the component that a resource, a container or a chart's root says for itself."""
    kind, metadata = section.get("kind"), section.get("metadata")
    if program := _program(section):
        return replace(at, component=component_of(program))
    if isinstance(kind, str) and {"metadata", "spec", "data"} & section.keys():
        about = metadata if isinstance(metadata, dict) else {}
        labels = about["labels"] if isinstance(about.get("labels"), dict) else {}
        name = str(about.get("name", ""))
        said = labels.get("component") or labels.get("app.kubernetes.io/component") or name
        own = component_of(str(said)) if "data" in section or _has_containers(section) else None
        if component_of(name) == FOREIGN:
            own = FOREIGN
        return replace(at, path=(), component=own or component_of(kind), member=name)
    if {"zookeeperUri", "options"} <= section.keys():  # the values of Pravega's chart of bookies
        return replace(at, component=BOOKIE)
    if at.component is None and IMAGE.search(str(section.get("image", ""))):
        return replace(at, component=BOOKIE)
    return at


def _program(section: Mapping[Any, Any]) -> str:
    """Return the program of Pulsar or BookKeeper that a container's command starts; empty if none."""
    found = COMMAND.search(" ".join(words(section.get(key)) for key in ("entrypoint", "command", "args")))
    return found[1] if found else ""


def _has_containers(section: Mapping[Any, Any]) -> bool:
    spec = section.get("spec")
    return isinstance(spec, dict) and bool({"containers", "template"} & spec.keys())


CONTAINER = {"image", "build", "command", "environment", "env_file", "extends"}
"""Keys of a service of docker-compose."""


def _are_containers(services: Any) -> bool:
    return isinstance(services, dict) and any(
        isinstance(one, dict) and CONTAINER & one.keys() for one in services.values()
    )


def _service(service: Mapping[Any, Any], at: Fact) -> Iterator[Fact]:
    """Yield the facts of a container: its variables, its number, and the files that it mounts."""
    at = replace(_resource(service, at), is_whole=True)
    deploy = service.get("deploy")
    replicas = deploy.get("replicas") if isinstance(deploy, dict) else None
    yield at.leaf("replicas", replicas or service.get("scale") or 1)
    variables = service.get("environment") or []
    if not isinstance(variables, list | dict):
        raise BadInput(f"{at.where}.environment is {shown(variables)}; it must be a list or an object")
    if isinstance(variables, dict):
        variables = {key: {"valueFrom": key} if held is None else held for key, held in variables.items()}
    volumes = service.get("volumes")
    mounted = [
        str(one.get("source")) if isinstance(one, dict) else str(one).partition(":")[0]
        for one in (volumes if isinstance(volumes, list) else [])
    ]
    files = [one for one in mounted if one.endswith(VARIABLES)]
    if files:
        yield at.leaf("volumes", files)
    rest = {key: value for key, value in service.items() if key not in ("volumes", "deploy", "scale")}
    yield from _section(rest | {"environment": variables}, at)


# Values of a chart within a resource.

VALUES = {"values", "valuesObject", "valuesContent"}
"""Keys whose value is the values of a chart: of Argo CD, Flux, k3s and Milvus's operator."""


def _values_root(at: Fact) -> Fact:
    """Return the place of a chart's values, without the names that wrap them in a resource."""
    wraps = VALUES | {"spec", "template", "source", "sources", "helm", "inCluster", "dependencies"}
    return replace(at, path=tuple(name for name in at.path if name not in wraps and not name.isdigit()))


def _parameters(section: Mapping[Any, Any]) -> dict[str, Any]:
    """Return single values beside a chart's, `helm.parameters` or `set`, as a mapping of sections."""
    parameters, given = section.get("parameters"), section.get("set")
    if isinstance(parameters, list):
        given = {str(p["name"]): p.get("value") for p in parameters if isinstance(p, dict) and "name" in p}
    pairs = given if isinstance(given, dict) and any("." in str(name) for name in given) else {}
    found: dict[str, Any] = {}
    for name, value in pairs.items():
        *outer, last = [part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", str(name))]
        if len(outer) >= DEPTH:
            raise BadInput(f"a name in helm.parameters has {len(outer) + 1} parts; at most {DEPTH} are read")
        inner = found
        for part in outer:
            if not isinstance(inner.get(part), dict):
                inner[part] = {}
            inner = inner[part]
        inner[last] = value
    return found
