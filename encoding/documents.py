"""Files as plain data: JSON, TOML and YAML within limits, and the keys that a document may have.

Every error is a `BadInput` whose one line begins with the file. Reading a file runs no code. It does not wait
for a pipe without a writer, and it stops at fixed limits of size.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from fencepost.encoding.errors import BadInput, did_you_mean

MIB = 2**20

DOCUMENT = 64 * MIB
"""Largest number of bytes of a document. A trace of a thousand steps has one or two million."""

SETTINGS = MIB
"""Largest number of bytes of a file with settings or a grid. People write these files by hand."""

NODES = 100_000
"""Largest number of values in a YAML document. A value that aliases repeat counts each time."""

DEPTH = 100
"""Largest number of nested levels in a YAML document."""

PIPES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Paths under which a shell offers a pipe that has a writer."""


def other_schema(where: object, found: object, *valid: str) -> BadInput:
    """Return the error for a document of another schema."""
    return BadInput(f"{where}: schema is {shown(found)}; valid: {', '.join(valid)}")


def whole(text: str) -> int | None:
    """Return the number that plain decimal digits stand for, or None for any other text.

    Unlike `int`, it refuses blanks, `1_0`, digits of other scripts, and more than 18 digits.
    """
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None


def read_text(path: Path, hint: str, most: int = DOCUMENT) -> str:
    """Return the text of a file of at most `most` bytes.

    Raises BadInput if the file cannot be read. `hint` then says what to give instead.
    """
    try:
        content = _read_bytes(path, most)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); {hint}") from error
    except ValueError as error:  # a path with a zero byte in it
        raise BadInput(f"{path}: cannot be read ({error}); {hint}") from error
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not UTF-8 text ({error.reason}, byte {error.start}); {hint}") from error


def _read_bytes(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file, or of a pipe that a shell made. Raises OSError for other files."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "is a folder")
        if stat.S_ISFIFO(mode) and str(path).startswith(PIPES):
            os.set_blocking(file.fileno(), True)
        elif not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "is not a regular file")
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"is larger than {most // MIB} MiB")
    return content


def read_json(path: Path, hint: str) -> Any:
    """Return the document in a JSON file. Raises BadInput."""
    return parse_json(read_text(path, hint), str(path), hint)


def parse_json(text: str, where: str, hint: str) -> Any:
    """Return the document in a JSON text. Raises BadInput, also for `NaN` and for a key given twice."""
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise BadInput(f"{where}: is nested too deeply; {hint}") from error
    except ValueError as error:
        raise BadInput(f"{where}: is not JSON ({error}); {hint}") from error


def read_json_lines(path: Path, hint: str, most: int = DOCUMENT) -> tuple[Any, list[tuple[str, Any]]]:
    """Read a file with a JSON document in each line: the first, and each other with its place for messages.

    Of a file with one document over several lines only that document is returned, so its schema can be named.
    """
    text = read_text(path, hint, most)
    head, *rest = text.rstrip("\n").split("\n")
    try:
        first = parse_json(head, str(path), hint)
    except BadInput:
        return parse_json(text, str(path), hint), []
    where = [f"{path}: line {number}" for number in range(2, len(rest) + 2)]
    return first, [(place, parse_json(line, place, hint)) for place, line in zip(where, rest, strict=True)]


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} is given twice in one object")
    return found


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


def parse_toml(text: str, where: str, hint: str) -> dict[str, Any]:
    """Return the document in a TOML text. Raises BadInput."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise BadInput(f"{where}: is nested too deeply; {hint}") from error
    except ValueError as error:
        raise BadInput(f"{where}: is not TOML ({error}); {hint}") from error


def parse_yaml_documents(text: str, where: str, hint: str) -> list[Any]:
    """Return the documents in a YAML text, which lines of `---` separate.

    A value that aliases repeat counts each time. Raises BadInput, and RepeatedKey for a key given twice.
    """
    import yaml

    try:
        _measure(text)
        loader = yaml.SafeLoader(text)
        documents = []
        while loader.check_node():
            node = loader.get_node()
            _refuse_repeated_keys(node, where)
            documents.append(loader.construct_document(node))
        return documents
    except BadInput:
        raise
    except RecursionError as error:
        raise BadInput(f"{where}: is nested too deeply; {hint}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark is not None else ""
        raise BadInput(f"{where}: is not YAML{line}; {hint}") from error
    except (ValueError, TypeError) as error:  # 5,000 digits, a date in the 13th month, a list as a key
        raise BadInput(f"{where}: is not YAML ({error}); {hint}") from error


class RepeatedKey(BadInput):
    """A key that stands twice in one mapping. YAML forbids it, and many readers take the last in silence."""


def _refuse_repeated_keys(root: Any, where: str) -> None:
    """Raise RepeatedKey if a mapping below this node has a key twice. Keys that `<<` merges do not count."""
    import yaml

    seen: set[int] = set()
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))
        is_mapping = isinstance(node, yaml.MappingNode)
        nodes += [part for pair in node.value for part in pair] if is_mapping else node.value
        lines: dict[tuple[str, str], int] = {}
        for key, _ in node.value if is_mapping else ():
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            name, line = (key.tag, key.value), key.start_mark.line + 1
            if name in lines:
                at = f"line {line}" if lines[name] == line else f"lines {lines[name]} and {line}"
                raise RepeatedKey(
                    f"{where}: {shown(key.value)} is given twice in one mapping ({at}); give each key once"
                )
            lines[name] = line


def _measure(text: str) -> None:
    """Raise ValueError if the document has too many values or levels once its aliases are expanded."""
    import yaml

    sizes: dict[str, int] = {}
    open_: list[tuple[str | None, int]] = []
    total = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, total))
        if isinstance(event, yaml.AliasEvent):
            total += sizes.get(event.anchor, NODES)
        elif isinstance(event, yaml.NodeEvent):
            total += 1
        if isinstance(event, yaml.ScalarEvent) and event.anchor:
            sizes[event.anchor] = 1
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_.pop()
            if anchor:
                sizes[anchor] = total - before
        if total > NODES or len(open_) > DEPTH:
            raise ValueError(f"more than {NODES:,} values or {DEPTH} levels, aliases expanded")


def _anything(value: Any) -> bool:
    return True


def _for_json(value: Any) -> Any:
    """Return a value for JSON: an Enum by its value, a record by its own `to_json`."""
    match value:
        case Enum():
            return value.value
        case Mapping():
            return dict(value)
        case list() | tuple():
            return [_for_json(one) for one in value]
        case _:
            return value.to_json() if hasattr(value, "to_json") else value


@dataclass(frozen=True)
class Key:
    """A key of a document: what its value must be, in types and in words, and whether it must be there.

    `form` stands in messages ("must be …"). `meaning` describes the value, if `form` does not.
    `rules` are the keywords of JSON Schema that say the same as `fits` (`formats.py` prints them).
    `written` returns the value for JSON, of a value in Python (`keys.from_record`). `path` leads to the value
    in a record, if it is not the field with the name of the key.
    """

    kind: type | tuple[type, ...]
    form: str
    fits: Callable[[Any], bool] = field(default=_anything)
    needed: bool = False
    meaning: str = ""
    rules: Mapping[str, Any] = field(default_factory=dict)
    written: Callable[[Any], Any] = field(default=_for_json)
    path: str = ""

    def of(self, path: str) -> Key:
        """Return the key with its value elsewhere in a record: a field, or fields with dots between them."""
        return replace(self, path=path)

    def takes(self, value: object) -> bool:
        """Return whether the value has the right type and fits."""
        return is_a(value, self.kind) and self.fits(value)


Keys = Mapping[str, Key]


def is_a(value: object, kind: type | tuple[type, ...]) -> bool:
    """Return whether the value is of that kind. True is not a number; infinity and NaN are not either."""
    if isinstance(value, bool):
        return bool in (kind if isinstance(kind, tuple) else (kind,))
    if isinstance(value, float) and not abs(value) < float("inf"):
        return False
    return isinstance(value, kind)


_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
TYPES = {**_PLAIN, dict: "object", list: "array", type(None): "null"}
"""The names of the types in JSON Schema."""


def json_type(kind: type | tuple[type, ...]) -> str | list[str]:
    """Return the names of the types in JSON Schema. Every integer is a number."""
    names = [TYPES[one] for one in (kind if isinstance(kind, tuple) else (kind,))]
    names = [name for name in names if name != "integer" or "number" not in names]
    return names[0] if len(names) == 1 else names


def has_keys(document: object, keys: Keys, where: str) -> dict[str, Any]:
    """Return the document if it is an object with these keys and fitting values. Raises BadInput."""
    if not isinstance(document, dict):
        raise BadInput(f"{where}: must be an object with {', '.join(keys)}")
    for name, value in document.items():
        if name not in keys:
            near = did_you_mean(name, keys, most=3, alike=0.65)
            raise BadInput(f"{where}: {name}: unknown key{near}; valid: {', '.join(keys)}")
        if not keys[name].takes(value):
            raise BadInput(f"{where}: {name} = {shown(value)}: must be {keys[name].form}")
    for name, key in keys.items():
        if key.needed and name not in document:
            raise BadInput(f"{where}: {name} is missing; it must be {key.form}")
    return document


def shown(value: object) -> str:
    """Return a value from a file as text for a message; a list or object becomes `a list`, `an object`."""
    match value:
        case dict():
            return "an object" if value else "{}"
        case list():
            return "a list" if value else "[]"
        case int() if not isinstance(value, bool) and abs(value) >= 10**18:
            return "a number of more than 18 digits"
    return repr(value)[:100]
