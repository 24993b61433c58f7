"""Texts as data: YAML and JSON, Java properties, commands of docker, and lines or options of KEY=value."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from typing import Any

import javaproperties

from fencepost.encoding.documents import RepeatedKey, parse_yaml_documents
from fencepost.encoding.errors import BadInput
from fencepost.quorums.files.config_keys import CONFIG_KEYS, WRITTEN
from fencepost.quorums.files.facts import PREFIXES

HINT = "give a broker.conf, a bk_server.conf, Helm values, a docker-compose file or Kubernetes resources"

PROPERTIES = (".conf", ".properties")
"""The ends of the names of files and texts that are Java properties."""
VARIABLES = (*PROPERTIES, ".env")
"""The ends of names of files that a container may have its settings from."""

_NAMES = "|".join(map(re.escape, sorted(WRITTEN, key=len, reverse=True)))
_BEGIN = r"(?:(?<=-D)|(?<![A-Za-z]))"
NAMED = re.compile(rf"{_BEGIN}(?:{_NAMES})(?![A-Za-z])", re.IGNORECASE)
"""A name of a key of the table in a text."""
_VALUE = r"(\"[^\"]*\"|'[^']*'|[^\s;\"'\\]+)"
GIVEN = re.compile(rf"{_BEGIN}((?:{'|'.join(PREFIXES)})?(?:{_NAMES}))={_VALUE}")
"""A key of the table with its value within a line, as in `-Dkey=value` or `-e key=value`."""
SET = re.compile(r"--set(?:-string)?[ =]([\w\\-]+\.\S+)")
"""Values of a chart on the command line of Helm."""
LINE = re.compile(r"([A-Za-z_][\w.\-]*)\s*=\s*(.*)")
LEDGER = re.compile(r"\b(ensembleSize|writeQuorumSize|quorumSize|ackQuorumSize)[=:]\s*(\d+)")
"""A size in the metadata of a ledger, as BookKeeper prints it; `quorumSize` before 4.8."""


def properties(text: str) -> dict[str, str]:
    """Return keys and values of a text as Java's `Properties` reads it; of a repeated key the last counts.

    Raises BadInput.
    """
    try:
        return javaproperties.loads(text.removeprefix("\ufeff"))
    except javaproperties.InvalidUEscapeError as error:
        raise BadInput(f"a text is no Java properties ({error}); write four digits after \\u") from error


def as_data(text: str, name: str, where: str) -> list[Any]:
    """Return what a text holds as mappings and lists; nothing of a text that is plain.

    `name` is that of the file or key, `where` its place for messages. Raises BadInput.
    """
    if name.endswith(PROPERTIES):
        return [properties(text)]
    if "LedgerMetadata{" in text or "BookieMetadataFormatVersion" in text:
        return list(_ledgers(text))
    if "\n" in text or NAMED.search(text):
        return _documents(text, where) or [one for one in (_containers(text), _pairs(text)) if one]
    return []


def _documents(text: str, where: str) -> list[Any]:
    """Return the documents of YAML or JSON in a text if one of them has keys."""
    try:
        documents = parse_yaml_documents(text, where, HINT)
    except RepeatedKey:
        raise
    except BadInput:
        return []
    return documents if any(has_keys(document) for document in documents) else []


def has_keys(document: Any) -> bool:
    """Return whether a document is a mapping, or a list with one."""
    return isinstance(document, dict) or (
        isinstance(document, list) and any(isinstance(item, dict) for item in document)
    )


def _ledgers(text: str) -> Iterator[dict[str, str]]:
    """Yield the sizes of each ledger, once for those that are alike."""
    seen = []
    for part in re.split(r"(?=LedgerMetadata\{|BookieMetadataFormatVersion)", text):
        found = [(name.replace("quorum", "writeQuorum"), size) for name, size in LEDGER.findall(part)]
        sizes = {f"LedgerMetadata.{name}": size for name, size in found}
        if sizes and sizes not in seen:
            seen.append(sizes)
            yield sizes


def _pairs(text: str) -> dict[str, Any]:
    """Return the keys of lines of KEY=value, of `--set`, and those of the table within other lines."""
    found: dict[str, Any] = {}
    for line in _lines(text):
        whole, chart = LINE.fullmatch(line), SET.findall(line)
        if chart:
            pairs = dict(pair.split("=", 1) for given in chart for pair in given.split(",") if "=" in pair)
            found["values"] = {}
            found["set"] = found.get("set", {}) | {key: value.strip("\"'") for key, value in pairs.items()}
        elif not _is_docker(line):
            replaced = re.sub(r"\bs([/|#,@])(?:(?!\1).)*\1", "", line)  # the pattern of sed
            given = [whole.groups()] if whole else GIVEN.findall(replaced)
            found |= {key: value.strip("\"'/|#,@" if replaced != line else "\"'") for key, value in given}
    return found if "\n" in text or any(NAMED.search(key) for key in found) else {}


def _lines(text: str) -> list[str]:
    """Return the lines of a text without comments and blanks; one that ends with a backslash goes on."""
    lines = re.sub(r"\\\r?\n", " ", text).splitlines()
    return [line.strip() for line in lines if line.strip() and line.strip()[0] not in "#!"]


def _is_docker(line: str) -> bool:
    return re.search(r"\b(?:docker|podman)\s+(?:container\s+)?run\b", line) is not None


def _containers(text: str) -> dict[str, Any]:
    """Return the containers that the commands of docker in a text start, as services of docker-compose."""
    services: dict[str, Any] = {}
    for line in filter(_is_docker, _lines(text)):
        try:
            words = shlex.split(line)
        except ValueError:  # a quotation that does not end
            continue
        after = dict(itertools.pairwise(words))
        images = [word for word in words if re.fullmatch(r"(?![-/.])[\w./:-]+/[\w.-]+(?::[\w.-]+)?", word)]
        files = [file for option, file in itertools.pairwise(words) if option == "--env-file"]
        service = {"image": "".join(images[:1]), "command": words, "env_file": files}
        services[after.get("--name", f"run{len(services) + 1}")] = service
    return {"services": services} if services else {}


MODELLED = {name.lower(): key for name, key in WRITTEN.items() if CONFIG_KEYS[key].sets}
"""The keys that set a value, by their names in lower case."""


def keys_named(name: str, value: object) -> set[str]:
    """Return the modelled keys that a key spelled otherwise, or a text, names."""
    text = words_of(value)
    found = {MODELLED[one.lower()] for one in NAMED.findall(text) if one.lower() in MODELLED}
    squeezed = re.sub("[^a-z]", "", name.lower())
    if name not in CONFIG_KEYS:
        found |= {key for lower, key in MODELLED.items() if squeezed.endswith(lower)}
    return found


def words_of(value: object) -> str:
    """Return a text, or the items of a list as one; an empty text for another value."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else ""
