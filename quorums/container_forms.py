"""docker-compose files and resources of Kubernetes with containers, as facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import javaproperties

from fencepost.encoding.documents import shown
from fencepost.encoding.errors import BadInput
from fencepost.quorums.config_keys import AUTORECOVERY, BOOKIE, BROKER, METADATA
from fencepost.quorums.facts import SECTIONS, Fact, mapping, mappings

ROLES = (
    (AUTORECOVERY, r"auto-?_?recovery|\brecovery"),
    ("standalone", r"standalone"),
    ("other", r"init|proxy|toolset|bastion|function|websocket|manager"),
    (METADATA, r"zookeeper|\bzk|oxia|metadata"),
    (BOOKIE, r"bookie|bookkeeper|\bbk"),
    (BROKER, r"broker"),
)
"""The component of a service or a resource, by a part of its name. The first that fits counts."""

COMMAND = re.compile(r"\b(?:pulsar|bookkeeper)\s+(bookie|broker|autorecovery|standalone|proxy|zookeeper)\b")
"""The part of a container's command that names the component."""


def properties(text: str) -> dict[str, str]:
    """Return keys and values of a text as Java's `Properties` reads it; of a repeated key the last counts.

    Raises BadInput.
    """
    try:
        return javaproperties.loads(text.removeprefix("\ufeff"))
    except javaproperties.InvalidUEscapeError as error:
        raise BadInput(f"a text is no Java properties ({error}); write four digits after \\u") from error


def variables_of(
    variables: list[Any], component: str | None, path: tuple[str, ...], member: str
) -> Iterator[Fact]:
    """Yield the facts of a list of variables: `NAME=value`, or a name and a value."""
    for variable in variables:
        given = mapping(variable)
        if isinstance(variable, str):
            key, equals, value = variable.partition("=")
            given = {"name": key, "value" if equals else "valueFrom": value}
        name = str(given.get("name"))
        if "name" in given and "value" in given:
            yield Fact(component, (*path, name), given["value"], member)
        elif "valueFrom" in given:
            yield Fact(component, (*path, name, "valueFrom"), given.get("name"), member)


# docker-compose.


def services_of(document: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the services of a docker-compose file; none of another document."""
    keys = {"image", "build", "command", "environment", "env_file", "extends"}
    services = mapping(document.get("services"))
    of_compose = any(isinstance(service, dict) and keys & set(service) for service in services.values())
    return {name: one for name, one in services.items() if isinstance(one, dict)} if of_compose else {}


def service_facts(name: str, service: Mapping[Any, Any]) -> Iterator[Fact]:
    """Yield the variables of a service, and the number of its containers. Raises BadInput."""
    path: tuple[str, ...] = ("services", name)
    words = [service.get(word) for word in ("entrypoint", "command")]
    command = " ".join(" ".join(map(str, w)) if isinstance(w, list) else str(w or "") for w in words)
    component: str | None = _role(name, command, str(service.get("image", "")))
    if component == "standalone":
        component, path = None, ()
    else:
        replicas = mapping(service.get("deploy")).get("replicas")
        yield Fact(component, (*path, "replicas"), replicas or service.get("scale") or 1, name)
    yield Fact(component, (*path, "image"), service.get("image"), name)
    for key in ("env_file", "extends"):
        if service.get(key):
            yield Fact(component, (*path, key), service[key], name)
    volumes = service.get("volumes")
    mounted = [
        str(one.get("source")) if isinstance(one, dict) else str(one).partition(":")[0]
        for one in (volumes if isinstance(volumes, list) else [])
    ]
    files = [one for one in mounted if one.endswith(CONFIG_FILES)]
    if files and component in (BOOKIE, BROKER):
        yield Fact(component, (*path, "volumes"), files, name)
    variables = service.get("environment") or []
    if not isinstance(variables, list | dict):
        raise BadInput(f"services.{name}.environment is {shown(variables)}; it must be a list or an object")
    if isinstance(variables, dict):
        variables = [
            {"name": key, "valueFrom" if value is None else "value": value}
            for key, value in variables.items()
        ]
    for fact in variables_of(variables, component, (*path, "environment"), name):
        yield replace(fact, value=_interpolated(fact.value))


CONFIG_FILES = (".conf", ".properties", ".env")
"""The ends of names of files that a container may have its settings from."""


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
    labels = mapping(mapping(document.get("metadata")).get("labels"))
    label = labels.get("component") or labels.get("app.kubernetes.io/component") or ""
    return str(label) if label else _own_name(document)


def _own_name(document: Mapping[Any, Any]) -> str:
    """Return the name of a resource, by which it differs from others of its component."""
    return str(mapping(document.get("metadata")).get("name", ""))


def config_map_facts(document: Mapping[Any, Any]) -> Iterator[Fact]:
    """Yield the keys of a ConfigMap. A value may be a whole file of Java properties."""
    component = _role(_named(document))
    for name, value in mapping(document.get("data")).items():
        if str(name).endswith((".conf", ".properties")) and isinstance(value, str):
            of_file = _role(str(name).replace("bk_server", "bookie"))
            for key, held in properties(value).items():
                of = component if of_file == "other" else of_file
                yield Fact(of, ("data", str(name), key), held, str(name))
        else:
            yield Fact(component, ("data", str(name)), value, _own_name(document))


def workload_facts(document: Mapping[Any, Any]) -> Iterator[Fact]:
    """Yield the variables of a workload's containers, and the number of its pods."""
    spec = mapping(document.get("spec"))
    component, name = _role(_named(document)), _own_name(document)
    if "replicas" in spec:
        yield Fact(component, ("spec", "replicas"), spec["replicas"], name)
    template = spec.get("template")
    pod = mapping(template.get("spec")) if isinstance(template, dict) else spec
    for container in mappings(pod.get("containers")):
        variables = container.get("env")
        path = ("containers", str(container.get("name", "")), "env")
        maps = [one["configMapRef"] for one in mappings(container.get("envFrom")) if "configMapRef" in one]
        if maps:
            names = [str(one.get("name")) for one in mappings(maps)]
            yield Fact(component, (*path[:2], "envFrom"), names, name)
        yield from variables_of(variables if isinstance(variables, list) else [], component, path, name)
