"""Documents as tables of keys, and the same tables as JSON Schema.

A table says of each key which values it may have and what they mean. It stands beside the code that writes or
reads the document. `has_keys` of `documents.py` checks a document against its table. `make formats` writes
the table to docs/formats/. Import this module as `k`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

from fencepost.encoding.documents import Key, Keys, is_a, json_type
from fencepost.encoding.versions import version

PLAIN = (bool, int, str)
"""The types of the values of variables, parameters and fields of messages in files."""

Table = dict[str, Key]


def keys(**keys: Key) -> Table:
    """Return these keys, each of which must be there."""
    return {name: replace(key, needed=True) for name, key in keys.items()}


def document(schema: str, /, **content: Key) -> Table:
    """Return the keys of a document with that schema."""
    name = among((schema,), "the name and the number of this form")
    return keys(schema=name, version=text("the version of Fencepost that wrote it")) | keys(**content)


def headed(keys: Keys, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with these keys: its schema, the version, and then its content."""
    return {"schema": schema_name(keys), "version": version(), **content}


def from_record(keys: Keys, record: object, /, **others: Any) -> dict[str, Any]:
    """Return an object with these keys: each has a value from `others`, or else its own of the record.

    Values become JSON as their keys say: a record becomes an object with the keys of its part, and seconds
    are rounded. A document also gets its schema and the version. Raises TypeError for another key.
    """
    if unknown := others.keys() - keys.keys():
        raise TypeError(f"no such keys: {', '.join(sorted(unknown))}")
    given = headed(keys, others) if "schema" in keys else others
    return {
        name: key.written(given[name] if name in given else attrgetter(key.path or name)(record))
        for name, key in keys.items()
    }


def _object(keys: Keys, value: Any) -> Any:
    """Return an object of a document. It may be made already, or have a `to_json` of its own."""
    if isinstance(value, Mapping):
        return dict(value)
    return value.to_json() if hasattr(value, "to_json") else from_record(keys, value)


def schema_name(keys: Keys) -> str:
    """Return the schema that the keys of a document name."""
    return str(keys["schema"].rules["enum"][0])


# Kinds of keys.


def text(form: str = "a string") -> Key:
    """Return a key for a string."""
    return Key(str, form)


def whole(meaning: str = "", least: int = 0, most: int | None = None) -> Key:
    """Return a key for a whole number from `least` to `most`."""
    up_to = f"to {most:,}" if most is not None else "or more"
    return Key(
        int,
        f"a whole number, {least} {up_to}",
        lambda value: least <= value and (most is None or value <= most),
        meaning=meaning,
        rules={"minimum": least} | ({} if most is None else {"maximum": most}),
    )


def among(values: Iterable[str], meaning: str = "") -> Key:
    """Return a key for one of these strings."""
    listed = tuple(values)
    return Key(
        str,
        f"one of {', '.join(listed)}",
        lambda value: value in listed,
        meaning=meaning,
        rules={"enum": list(listed)},
    )


def table(kind: type | tuple[type, ...], form: str) -> Key:
    """Return a key for an object with values all of that kind."""
    return Key(
        dict,
        form,
        lambda table: all(is_a(value, kind) for value in table.values()),
        rules={"additionalProperties": {"type": json_type(kind)}},
    )


def flag(meaning: str = "") -> Key:
    """Return a key for a Boolean."""
    return Key(bool, "true or false", meaning=meaning)


def seconds(meaning: str) -> Key:
    """Return a key for seconds, never negative."""
    return Key(
        (int, float),
        "seconds",
        lambda value: value >= 0,
        meaning=meaning,
        rules={"minimum": 0},
        written=lambda value: round(value, 3),
    )


def plain(form: str) -> Key:
    """Return a key for a Boolean, a whole number or a string."""
    return Key(PLAIN, form)


def texts(form: str) -> Key:
    """Return a key for a list of strings."""
    return replace(
        ruled(list, form, items={"type": "string"}), fits=lambda texts: all(is_a(text, str) for text in texts)
    )


def ruled(kind: type | tuple[type, ...], form: str, **rules: Any) -> Key:
    """Return a key for a value of that kind. Its other rules are in the schema only."""
    return Key(kind, form, rules=rules)


def one(keys: Keys, form: str) -> Key:
    """Return a key for an object with these keys.

    `has_keys` does not check them: the reader of the object calls it again.
    """
    return replace(ruled(dict, form, **object_schema(keys)), written=partial(_object, keys))


def many(keys: Keys, form: str) -> Key:
    """Return a key for a list of objects with these keys, which `has_keys` does not check."""
    key = ruled(list, form, items={"type": "object", **object_schema(keys)})
    return replace(key, written=lambda values: [_object(keys, value) for value in values])


def named(keys: Keys, form: str) -> Key:
    """Return a key for an object whose values are objects with these keys."""
    key = ruled(dict, form, additionalProperties={"type": "object", **object_schema(keys)})
    return replace(key, written=lambda named: {name: _object(keys, value) for name, value in named.items()})


def either(documents: Iterable[Keys], form: str, *, or_null: bool = False) -> Key:
    """One of these documents."""
    listed = [{"type": "object", "title": schema_name(one), **object_schema(one)} for one in documents]
    if or_null:
        return Key((dict, type(None)), form, rules={"anyOf": [*listed, {"type": "null"}]})
    return Key(dict, form, rules={"anyOf": listed})


def null(key: Key, when: str = "") -> Key:
    """Return the same key with null allowed; `when` says what null means, as in "if there is none"."""
    kinds = key.kind if isinstance(key.kind, tuple) else (key.kind,)
    options = {"enum": [*key.rules["enum"], None]} if "enum" in key.rules else {}
    words = f", or null {when}".rstrip()
    return replace(
        key,
        kind=(*kinds, type(None)),
        form=key.form + words,
        fits=lambda value: value is None or key.fits(value),
        meaning=key.meaning and key.meaning + words,
        rules={**key.rules, **options},
        written=lambda value: None if value is None else key.written(value),
    )


UNMODELLED = text("what the model leaves out of the code, for every verdict; may be empty")
INTERRUPTED = flag("the command was interrupted or killed; the results are what was known by then")


# JSON Schema.


def list_schema(kind: type | tuple[type, ...]) -> dict[str, Any]:
    """Return what JSON Schema says of a list of values of that kind."""
    return {"type": "array", "items": {"type": json_type(kind)}}


def object_schema(keys: Keys) -> dict[str, Any]:
    """Return what JSON Schema says of an object with these keys and no others."""
    return {
        "properties": {name: key_schema(key) for name, key in keys.items()},
        "required": [name for name, key in keys.items() if key.needed],
        "additionalProperties": False,
    }


def key_schema(key: Key) -> dict[str, Any]:
    """Return what JSON Schema says of the value of a key."""
    return {"description": key.meaning or key.form, "type": json_type(key.kind), **key.rules}


def json_schema(title: str, keys: Keys) -> dict[str, Any]:
    """Return the JSON Schema of a whole document."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, "type": "object"}
    return head | object_schema(keys)
