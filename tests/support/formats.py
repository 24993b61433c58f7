"""Every document that a command reads or writes, with its keys; docs/formats/ is made of them.

python -m support.formats                                      writes the schemas
    pytest tests/docs/test_formats.py --refresh-goldens            writes the examples
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fencepost.cli.commands.certify import CERTIFIED
from fencepost.cli.commands.check_count import COUNT_OF_STATES
from fencepost.cli.commands.conform import FREE_RUNS
from fencepost.cli.commands.export_trace import REPLAYS
from fencepost.cli.commands.follow import FOLLOW
from fencepost.cli.commands.follow_ledgers import FOLLOW_LEDGERS
from fencepost.cli.commands.known_repairs import REPAIRS
from fencepost.cli.commands.protocols import PROTOCOL, PROTOCOL_LIST
from fencepost.cli.commands.prove import LEMMAS
from fencepost.cli.commands.quorum import QUORUM
from fencepost.cli.commands.reproduce import MATRIX
from fencepost.cli.commands.weaken import WEAKENED
from fencepost.cli.error_document import ERROR
from fencepost.cli.rendering.advice_document import ADVICE
from fencepost.cli.rendering.check_documents import CHECK, KNOWN_BUGS
from fencepost.cli.rendering.conformance import CONFORMANCE
from fencepost.cli.rendering.releases import IN_RELEASES, RELEASE
from fencepost.cli.rendering.reproduction import REPRODUCED
from fencepost.cli.rendering.spec_text import SPEC
from fencepost.encoding import keys as k
from fencepost.encoding.concrete.saved_traces import PATH, TRACE
from fencepost.encoding.documents import Key, Keys
from fencepost.encoding.evidence.manifests import MANIFEST_KEYS
from fencepost.realcode import run_files, transcripts
from fencepost.sweeps import advice_cases, grid
from fencepost.sweeps.rows import COLUMNS, Column
from fencepost.sweeps.sweep_manifest import SWEEP

FOLDER = Path(__file__).parents[2] / "docs" / "formats"

KINDS: Mapping[str, Callable[[str], Key]] = {
    "text": k.text,
    "integer": partial(k.ruled, int),
    "number": partial(k.ruled, (int, float)),
    "boolean": k.flag,
    "texts": k.texts,
    "settings": partial(k.table, str),
    "counts": partial(k.table, int),
}
"""The kinds of the columns of a row."""


def _column(column: Column) -> Key:
    key = KINDS[column.kind](column.meaning)
    return k.null(key) if column.optional else key


ROW = k.keys(**{column.name: _column(column) for column in COLUMNS})
_TABLES = {
    "type": "object",
    "anyOf": [k.object_schema(keys) for keys in (grid.KEYS, grid.KNOWN_KEYS, advice_cases.KEYS)],
}
GRID = k.keys(
    grid=k.ruled(
        list,
        "tables: of instances, of known bugs, or of the conditions of `advise`",
        minItems=1,
        items=_TABLES,
    )
)
_NAMED: tuple[Keys, ...] = (
    *(
        CHECK,
        KNOWN_BUGS,
        REPAIRS,
        COUNT_OF_STATES,
        FOLLOW,
        FOLLOW_LEDGERS,
        FREE_RUNS,
        WEAKENED,
        TRACE,
        PATH,
        REPLAYS,
        MANIFEST_KEYS,
        CERTIFIED,
        PROTOCOL_LIST,
        PROTOCOL,
        SPEC,
    ),
    *(
        QUORUM,
        LEMMAS,
        ADVICE,
        IN_RELEASES,
        RELEASE,
        REPRODUCED,
        MATRIX,
        CONFORMANCE,
        SWEEP,
        ERROR,
    ),
)

FORMATS: Mapping[str, Keys] = {
    **{k.schema_name(keys): keys for keys in _NAMED},
    transcripts.SCHEMA: transcripts.KEYS,
    "exchange": transcripts.EXCHANGE,
    "transcript-end": transcripts.END,
    run_files.SCHEMA: run_files.KEYS,
    "conformance-run": run_files.RUN,
    "runs-end": run_files.END,
    "row": ROW,
    "grid": GRID,
}
"""The keys of each document by its schema. Rows, grids and the later lines of a JSON Lines file name none."""

SCHEMAS: Mapping[str, dict[str, Any]] = {name: k.json_schema(name, keys) for name, keys in FORMATS.items()}


def file_of(name: str, kind: str) -> Path:
    """Return the file of a format in docs/formats/, `kind` being `schema` or `example`."""
    return FOLDER / f"{name.removeprefix('fencepost.').replace('/', '-')}.{kind}.json"


WIDTH = 110
"""Characters of a line in docs/formats/, where a value fits on one."""


def text_of(document: object) -> str:
    """Return the text of a file in docs/formats/: a value on one line if it fits, a list of texts always."""
    return _text(document, "") + "\n"


def _text(value: object, indent: str, key: str = "") -> str:
    line = f"{indent}{key}{json.dumps(value, ensure_ascii=False)}"
    if len(line) < WIDTH or not isinstance(value, dict | list) or _are_texts(value):
        return line
    inner = indent + "  "
    if isinstance(value, dict):
        lines = [_text(part, inner, f"{json.dumps(name)}: ") for name, part in value.items()]
    else:
        lines = [_text(part, inner) for part in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return f"{indent}{key}{begin}\n" + ",\n".join(lines) + f"\n{indent}{end}"


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def rules_for(value: object, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the alternative of the schema that fits the value by name or keys, or else the schema itself."""
    for one in schema.get("anyOf", ()):
        if not isinstance(value, dict) or one.get("title") != value.get("schema"):
            continue
        if value.keys() <= one.get("properties", {}).keys():
            return dict(one)
    return schema


def parts(value: object, schema: Mapping[str, Any]) -> Iterator[tuple[str | int, Any, Mapping[str, Any]]]:
    """Yield the key or index of each part of a value, the part, and the schema of the part."""
    schema = rules_for(value, schema)
    if isinstance(value, dict):
        others = schema.get("additionalProperties") or {}
        for name, part in value.items():
            yield name, part, schema.get("properties", {}).get(name, others)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield place, part, schema.get("items", {})


def objects(value: object, schema: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Yield every object of a document whose keys the schema names, with its schema."""
    rules = rules_for(value, schema)
    if isinstance(value, dict) and "properties" in rules:
        yield value, rules
    for _, part, below in parts(value, schema):
        yield from objects(part, below)


def shortened(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a document of the same form with few items in each list, and two in each table.

    Of a list the first item is kept, and of the others those with a list that is empty in all items before.
    """
    found = {place: shortened(part, below) for place, part, below in parts(value, schema)}
    if isinstance(value, list):
        return _telling(list(found.values()))
    if isinstance(value, dict):
        named = "properties" in rules_for(value, schema)
        return found if named else dict(list(found.items())[:2])
    return value


def _telling(items: list[Any]) -> list[Any]:
    """Return the first item, and each of the others that has a list which is empty in all kept before."""
    kept = items[:1]
    for item in filter(_lists, items[1:]):
        if not _lists(item) <= set().union(*map(_lists, kept)):
            kept.append(item)
    return kept


def _lists(item: Any) -> set[str]:
    """Return the keys of an object whose values are lists with an item."""
    return (
        {key for key, part in item.items() if isinstance(part, list) and part}
        if isinstance(item, dict)
        else set()
    )


def main() -> None:
    """Write the schemas."""
    FOLDER.mkdir(exist_ok=True)
    for name, schema in SCHEMAS.items():
        file_of(name, "schema").write_text(text_of(schema), encoding="utf-8")


if __name__ == "__main__":
    main()
