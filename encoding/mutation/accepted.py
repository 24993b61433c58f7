"""The file of accepted survivors: mutants that nothing notices, each with the reason why that is right."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from fencepost.encoding.errors import BadInput
from fencepost.encoding.mutation.mutants import Mutant

KEYS = ("action", "text", "change", "reason")
Accepted: TypeAlias = Mapping[Mutant, str]


def read_accepted(file: str, made: Sequence[Mutant]) -> Accepted:
    """Return the reason for each accepted mutant. Raises BadInput."""
    try:
        tables = tomllib.loads(Path(file).read_text(encoding="utf-8")).get("survivor", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{file}: {error}; give a file with tables [[survivor]]") from error
    found: dict[Mutant, str] = {}
    for number, table in enumerate(tables if isinstance(tables, list) else [tables], 1):
        where = f"{file}: survivor {number}"
        given: dict[str, str] = dict(table) if isinstance(table, dict) else {}
        if sorted(given) != sorted(KEYS) or not all(isinstance(v, str) and v.strip() for v in given.values()):
            raise BadInput(f"{where}: has {', '.join(given) or 'no keys'}; write the texts {', '.join(KEYS)}")
        own = [m for m in made if all(getattr(m, name) == given[name] for name in KEYS[:3])]
        if not own:
            raise BadInput(
                f"{where}: {given['text']}: no mutant of {given['action']} has this text and change; "
                "copy action, text and change from --format json"
            )
        found |= dict.fromkeys(own, given["reason"])
    return found
