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
from fencepost.quorums.facts import SECTIONS, Fact

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


def mappings(value: object) -> list[Mapping[Any, Any]]:
    """Return the mappings in a list; none of another value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def variables_of(
    variables: list[Any], component: str | None, path: tuple[str, ...], member: str
) -> Iterator[Fact]:
    """Yield the facts of a list of variables: `NAME=value`, or a name and a value."""
    for variable in variables:
        if isinstance(variable, str):
            name, equals, value = variable.partition("=")
            if equals:
                yield Fact(component, (*path, name), value, member)
            else:
                yield Fact(component, (*path, name, "valueFrom"), name, member)
        elif isinstance(variable, dict) and "name" in variable and "value" in variable:
            yield Fact(component, (*path, str(variable["name"])), variable["value"], member)
        elif isinstance(variable, dict) and "valueFrom" in variable:
            yield Fact(
                component, (*path, str(variable.get("name")), "valueFrom"), variable.get("name"), member
            )


# docker-compose.


def services_of(document: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the services of a docker-compose file; none of another document."""
    keys = {"image", "build", "command", "environment", "env_file", "extends"}
    found = document.get("services")
    services = found if isinstance(found, dict) else {}
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
        deploy = service.get("deploy")
        replicas = deploy.get("replicas") if isinstance(deploy, dict) else None
        yield Fact(component, (*path, "replicas"), replicas or service.get("scale") or 1, name)
    yield Fact(component, (*path, "image"), service.get("image"), name)
    for key in ("env_file", "extends"):
        if service.get(key):
            yield Fact(component, (*path, key), service[key], name)
    volumes = service.get("volumes")
    volumes = volumes if isinstance(volumes, list) else []
    mounted = [
        str(one.get("source")) if isinstance(one, dict) else str(one).partition(":")[0] for one in volumes
    ]
    if component in (BOOKIE, BROKER) and any(one.endswith(CONFIG_FILES) for one in mounted):
        yield Fact(
            component, (*path, "volumes"), [one for one in mounted if one.endswith(CONFIG_FILES)], name
        )
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


def config_map_facts(document: Mapping[Any, Any]) -> Iterator[Fact]:
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


def workload_facts(document: Mapping[Any, Any]) -> Iterator[Fact]:
    """Yield the variables of a workload's containers, and the number of its pods."""
    spec = document.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    component = _role(_named(document))
    name = _own_name(document)
    if "replicas" in spec:
        yield Fact(component, ("spec", "replicas"), spec["replicas"], name)
    template = spec.get("template")
    pod = template.get("spec") if isinstance(template, dict) else spec
    for container in mappings(pod.get("containers") if isinstance(pod, dict) else None):
        variables = container.get("env")
        path = ("containers", str(container.get("name", "")), "env")
        maps = [one["configMapRef"] for one in mappings(container.get("envFrom")) if "configMapRef" in one]
        if maps:
            yield Fact(
                component, (*path[:2], "envFrom"), [str(one.get("name")) for one in mappings(maps)], name
            )
        yield from variables_of(variables if isinstance(variables, list) else [], component, path, name)
