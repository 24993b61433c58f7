"""Objects made of records: the table of keys says which fields are taken, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

from fencepost.encoding import keys as k
from fencepost.encoding.versions import version


class Colour(Enum):
    """A value that JSON does not have."""

    RED = "red"


@dataclass(frozen=True)
class Part:
    """A record that knows its own form."""

    number: int

    def to_json(self) -> dict[str, int]:
        """Return the form."""
        return {"n": self.number}


@dataclass(frozen=True)
class Record:
    """A record with a field that no key names."""

    secret: str
    colour: Colour
    parts: tuple[Part, ...]
    ratio: float


RECORD = Record("not asked for", Colour.RED, (Part(1), Part(2)), 0.123456)
KEYS = k.keys(
    parts=k.ruled(list, "parts"),
    colour=k.among(["red"]),
    size=k.whole(),
    ratio=k.ruled(float, "a number"),
)
MADE = {"parts": [{"n": 1}, {"n": 2}], "colour": "red", "size": 3, "ratio": 0.123456}


def test_each_key_has_the_value_given_or_else_the_field_of_its_name() -> None:
    found = k.from_record(KEYS, RECORD, size=3)
    assert list(found.items()) == list(MADE.items())


def test_parts_are_made_of_records_too_and_seconds_are_rounded() -> None:
    """Planted: a part keeps all its fields, or an object that is made already is made again."""
    part = k.keys(colour=k.among(["red"]), ratio=k.seconds("seconds"))
    form = k.keys(
        one=k.one(part, "a part"),
        none=k.null(k.one(part, "a part")),
        many=k.many(part, "parts"),
        named=k.named(part, "parts by name"),
        own=k.one(part, "a part that knows its form"),
    )
    made = {"colour": "red", "ratio": 0.123}
    given = {"one": RECORD, "none": None, "many": (RECORD, {"made": 1}), "named": {"a": RECORD}}
    found = k.from_record(form, None, **given, own=Part(1))
    assert found == {
        "one": made,
        "none": None,
        "many": [made, {"made": 1}],
        "named": {"a": made},
        "own": {"n": 1},
    }


def test_a_document_gets_its_schema_and_the_version_first() -> None:
    found = k.from_record(k.document("test.form/1", **KEYS), RECORD, size=3)
    head = {"schema": "test.form/1", "version": version()}
    assert list(found.items()) == list((head | MADE).items())
    assert k.from_record(k.document("test.form/1"), None, version="0.1")["version"] == "0.1"


@pytest.mark.parametrize("others", [{"sise": 3}, {"size": 3, "schema": "another"}])
def test_a_value_for_a_key_that_is_not_in_the_table_is_refused(others: dict[str, Any]) -> None:
    # Planted: a misspelt key, which would be left out without a word.
    with pytest.raises(TypeError, match=r"no such keys: (sise|schema)"):
        k.from_record(KEYS, RECORD, **others)


def test_a_key_without_a_field_and_without_a_value_is_an_error() -> None:
    with pytest.raises(AttributeError, match="size"):
        k.from_record(KEYS, RECORD)
