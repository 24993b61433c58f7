"""The tables about losses that ship: each row has its keys, and a row with a mistake is refused."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from fencepost.encoding.errors import BadInput
from support.loss_tables import TABLES, table

CLIENT = "pulsar_managedLedger_client_bookkeeper_client_NUM_ENSEMBLE_CHANGE"
AUDITOR = "auditor_NUM_UNDER_REPLICATED_LEDGERS"


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_ships_is_right(name: str) -> None:
    assert table(name)
    TABLES[name](table(name), name)


GONE = object()
"""In place of a value: the key is missing."""

PLANTED: list[tuple[str, str, object, str]] = [
    ("public_losses.toml", "losses/PR 4607/remedy", "none", "remedy: unknown key; valid: "),
    ("public_losses.toml", "losses/PR 4607/fixed", {"4.16.70": "52d"}, "must be a table of releases"),
    ("public_losses.toml", "losses/PR 4607/needs", ["several-disks"], "needs = a list: must be a list of"),
    ("public_losses.toml", "losses/PR 4607/level", "luck", "level = 'luck': must be one of operation, "),
    (
        "public_losses.toml",
        "losses/PR 4607/source",
        "PR 4607",
        "must be an address that begins with https://",
    ),
    ("public_losses.toml", "losses/PR 4607/since", {"4.18.0": "x"}, "no release that was read has it"),
    ("public_losses.toml", "features/ledgerDirectories/holds", "many", "holds = 'many': must be one of"),
    ("risks.toml", "early-commit/needs", ["spares"], "early-commit: needs = a list: must be a list of"),
    ("risks.toml", "early-commit/easier", {"spare": "never"}, "easier = an object: must be levels"),
    ("risks.toml", "#1067/lose", True, "#1067: lose: unknown key"),
    ("copies.toml", "disks/cause", "luck", "disks: cause = 'luck'"),
    ("copies.toml", "disks/steps", ["pray"], "disks: steps = a list: must be names of steps"),
    ("steps.toml", "journal-on/done_by", ["journals"], "journal-on: done_by = a list"),
    ("steps.toml", "journal-on/who", GONE, "journal-on: who is missing"),
    ("log_lines.toml", "new-ensemble/texts", "New Ensemble", "new-ensemble: texts = 'New Ensemble'"),
    ("outside.toml", "numbers/#3905/because", GONE, "#3905: because is missing"),
    ("config_keys.toml", "journalWriteData/component", "client", "component = 'client'"),
    ("alerts.toml", f"metrics/{CLIENT}/setting", GONE, f"{CLIENT}: setting is missing"),
    ("alerts.toml", "alerts/NothingReplicated/expr", f"{AUDITOR} == 0", f"{AUDITOR} is a summary"),
    ("alerts.toml", "alerts/NothingReplicated/expr", f"{AUDITOR}_count > 0", f"increase({AUDITOR}_count[…])"),
    (
        "alerts.toml",
        "alerts/FlushFailed/expr",
        "increase(bookie_failed_flushes[5m]) > 0",
        "bookie_failed_flushes is no metric of the table",
    ),
    ("alerts.toml", "alerts/FlushFailed/shows", ["failed-flushes"], "FlushFailed: shows"),
]
"""A table, the place of a value in it, another value, and the message that refuses it."""


@pytest.mark.parametrize(("name", "place", "value", "message"), PLANTED)
def test_a_planted_mistake_of_a_table_is_refused(name: str, place: str, value: object, message: str) -> None:
    """Each mistake stands alone: the table as it ships is right."""
    spoilt: dict[str, Any] = copy.deepcopy(dict(table(name)))
    *outer, last = place.split("/")
    row = spoilt
    for part in outer:
        row = row[part]
    if value is GONE:
        del row[last]
    else:
        row[last] = value
    with pytest.raises(BadInput, match=re.escape(message)) as error:
        TABLES[name](spoilt, name)
    assert str(error.value).startswith(f"{name}, ")
