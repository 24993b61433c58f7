"""The values of a Helm chart in the resources of Argo CD and Flux."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fencepost.encoding.documents import DEPTH, parse_yaml_documents
from fencepost.encoding.errors import BadInput
from fencepost.quorums.facts import mapping, mappings

HELD_IN = ("Application", "ApplicationSet", "HelmRelease")
"""The kinds of resources that hold the values of a chart."""

Values = Mapping[str, Any]


def held_values(resource: Values) -> Iterator[tuple[Values, list[tuple[tuple[str, str], Any]]]]:
    """Yield the values of each chart in a resource, with the key that names files of values below them.

    Raises BadInput for a text of values that is not YAML.
    """
    spec = mapping(resource.get("spec"))
    if resource.get("kind") == "HelmRelease":
        yield mapping(spec.get("values")), _given(spec, "spec", "valuesFrom")
        return
    if resource.get("kind") == "ApplicationSet":
        spec = mapping(mapping(spec.get("template")).get("spec"))
    for source in [mapping(spec.get("source")), *mappings(spec.get("sources"))]:
        helm = mapping(source.get("helm"))
        if helm:
            yield _of_argo(helm), _given(helm, "helm", "valueFiles")


def _of_argo(helm: Values) -> Values:
    """Return the values of an Application: `valuesObject`, or else the text `values`, below `parameters`."""
    values = helm.get("valuesObject")
    merged = _copied(values if isinstance(values, dict) else _parsed(helm.get("values")))
    for parameter in mappings(helm.get("parameters")):
        if "name" in parameter:
            _put(merged, str(parameter["name"]), parameter.get("value"))
    return merged


def _parsed(text: object) -> Values:
    if not isinstance(text, str):
        return {}
    documents = parse_yaml_documents(text, "the text of helm.values", "give the values of the chart there")
    return documents[0] if len(documents) == 1 and isinstance(documents[0], dict) else {}


def _put(values: dict[Any, Any], name: str, value: object) -> None:
    """Set a value by the path that `helm --set` takes: names, with points between them that may be quoted."""
    *outer, last = [part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", name)]
    if len(outer) >= DEPTH:
        raise BadInput(f"a name in helm.parameters has {len(outer) + 1} parts; at most {DEPTH} are read")
    for part in outer:
        if not isinstance(values.get(part), dict):
            values[part] = {}
        values = values[part]
    values[last] = value


def _copied(values: object) -> dict[Any, Any]:
    """Return the mappings of a document as new ones, so that aliases do not share what is set later."""
    return {k: _copied(v) if isinstance(v, dict) else v for k, v in mapping(values).items()}


def _given(section: Values, place: str, key: str) -> list[tuple[tuple[str, str], Any]]:
    return [((place, key), section[key])] if section.get(key) else []
