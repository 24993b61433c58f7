"""One more storage of bookies, added as docs/house.md says, and what each place makes of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from fencepost.advice.asked_setup import asked_setup
from fencepost.advice.known import KNOWN, chosen
from fencepost.encoding.errors import BadInput
from fencepost.protocols.bookkeeper.releases import NEWEST, STORAGES_READ
from fencepost.protocols.ledger_copies.parameters import CopiesParameters
from fencepost.quorums.storages import STORAGES, BookieStorage
from fencepost.realcode.copies_reproduction import must_be_drivable
from fencepost.realcode.copies_runs import copies_grounds
from fencepost.realcode.drive.code import NoSeam
from fencepost.realcode.release_behaviour import is_there
from fencepost.realcode.reproduction import Setting

NEW = BookieStorage("org.example.DirectStorage", "replaces", "table", "write-cache")


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add the row of the recipe."""
    monkeypatch.setitem(STORAGES, "direct", NEW)
    yield


def test_advice_refuses_a_storage_that_no_release_was_read_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted: the row alone. The advice was then that of DbLedgerStorage without the losses of it."""
    with pytest.raises(BadInput, match=r"^direct: no release was read with this storage.*; valid: sorted, "):
        asked_setup(3, 3, 2, 4, storage="direct")
    read = {**STORAGES_READ, "direct": "bookie/DirectStorage.java"}
    monkeypatch.setattr("fencepost.advice.asked_setup.STORAGES_READ", read)
    assert asked_setup(3, 3, 2, 4, storage="direct").setup.storage == "direct"


@pytest.mark.parametrize("storage", ["sorted", "interleaved", "db"])
def test_each_storage_that_ships_was_read(storage: str) -> None:
    assert asked_setup(3, 3, 2, 4, storage=storage).setup.storage == storage
    assert STORAGES_READ[storage].endswith(STORAGES[storage].java_class.rpartition(".")[2] + ".java")


def stores(storage: str, **settings: str) -> set[str]:
    """Return the storages of the models of conformance runs of copies on that storage of bookies."""
    grounds = copies_grounds({"bookies": 2, **settings}, storage, NEWEST)
    return {ground.instance.parameters.storage for ground in grounds}


def test_runs_of_copies_take_the_storage_of_the_row() -> None:
    """Planted: a table by name, with a default for others."""
    assert stores("direct") == stores("db") == {"write-cache"}
    assert stores("sorted") == stores("interleaved") == {"at-once"}
    assert stores("sorted", reuse="at-once") == {"memtable"}
    assert stores("interleaved", reuse="at-once") == {"at-once"}
    of_cache = replace(CopiesParameters(), storage="write-cache")
    must_be_drivable(of_cache, Setting(NEWEST, "direct"))
    with pytest.raises(NoSeam, match="its trace is of db or direct storage"):
        must_be_drivable(of_cache, Setting(NEWEST, "sorted"))


def test_a_bug_of_second_copies_is_there_if_the_row_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    (known,) = chosen(KNOWN, ["too-few-copies"])
    assert is_there(known, NEWEST, "direct")
    monkeypatch.setitem(STORAGES, "direct", replace(NEW, second_copy="dropped"))
    assert not is_there(known, NEWEST, "direct")


PIECES = """
from fencepost.quorums.storages import STORAGES, BookieStorage
STORAGES["direct"] = BookieStorage("org.example.DirectStorage", "replaces", "files", "at-once")
from fencepost.advice.setups import TRAITS, Setup
from fencepost.quorums.storages import STORAGES
from fencepost.quorums.stripes import Configuration
from fencepost.realcode.release_behaviour import DRIVEN_ON
setup = Setup(Configuration(3, 3, 2), 3, "4.17.4", storage="direct")
print(sorted(setup.traits & {*STORAGES, "index-files"}), TRAITS["direct"], TRAITS["index-files"], DRIVEN_ON)
"""


@pytest.mark.slow  # a process of its own
def test_the_row_alone_gives_a_storage_its_conditions_and_claims_nothing_that_was_seen() -> None:
    """The tables are made from the rows, so a new process adds the row first."""
    told = subprocess.run([sys.executable, "-c", PIECES], check=True, capture_output=True, text=True).stdout
    conditions, words = "['direct', 'index-files'] DirectStorage", "sorted or interleaved or direct storage"
    assert told == f"{conditions} {words} ('sorted', 'interleaved', 'db')\n"
