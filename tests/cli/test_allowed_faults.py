"""A proof names the faults that its executions may have and the faults that the instance leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest
from preset_instances import ALL_ONE, INSTANCES

from fencepost.cli.main import run
from fencepost.cli.rendering.check_text import FAULTS, allowed
from fencepost.encoding.language.protocol import load
from fencepost.properties.catalogue import find

LACKING = (
    "without silent bookies, crashes, restarts, losses of power, failed flushes, full disks, lost disks "
    "or re-imaged bookies"
)


@pytest.mark.parametrize(
    "protocol, settings, said",
    [
        ("bookkeeper-4.13", {}, f"with any number of lost or late messages; {LACKING}"),
        (
            "bookkeeper-no-journal",
            {"crashes": "2"},
            "with any number of lost or late messages and at most 2 crashes; without silent bookies, "
            + "restarts, losses of power, failed flushes, full disks, lost disks or re-imaged bookies",
        ),
        ("verified-log-02", {}, "with any number of lost or late messages and at most 1 crash"),
        ("verified-log-01", {}, "without crashes"),
        ("ledger-chain", {}, "and the instance has no faults"),
    ],
)
def test_what_is_allowed_comes_from_the_instance(protocol: str, settings: dict[str, str], said: str) -> None:
    assert allowed(find(protocol).instance(settings.items())) == said


BESIDE = {"bookkeeper": [{**ALL_ONE, "journals": 1, "crashes": 1, "failed_flushes": 1}]}
"""Instances of layers that no test instance of their preset has."""


def faults_of(name: str) -> set[str]:
    """Return the faults of the test instances of a preset."""
    instances = (
        find(name).instance(settings.items()) for settings in (*INSTANCES[name], *BESIDE.get(name, ()))
    )
    return {fault for instance in instances for fault in instance.written.faults}


@pytest.mark.parametrize("name", INSTANCES)
def test_every_fault_of_a_preset_has_its_words(name: str) -> None:
    """A fault without words is shown by its bare name and is never named as left out.

    Planted: the table lacks a fault.
    """
    assert faults_of(name) <= set(FAULTS)


def test_all_words_are_of_a_fault_that_some_preset_has() -> None:
    """Most faults are a parameter of a preset. Losses, stops and lost sessions are not."""
    named = {option.name for name in INSTANCES for option in find(name).options()}
    assert set(FAULTS) <= named | faults_of("bookkeeper-4.13") | faults_of("ledger-copies")


def test_a_proof_without_crashes_does_not_read_as_if_it_covered_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The text once said `within any budget` of an instance in which no bookie can crash."""
    settings = [
        "--set=bookies=2",
        "--set=ensemble=2",
        "--set=write_quorum=2",
        "--set=recovery_reads_fence=yes",
    ]
    assert run(["check", "bookkeeper-4.13", "--property=no-divergence", *settings]) == 0
    said = capsys.readouterr().out
    assert (
        f"no execution of any length violates it, with any number of lost or late messages; {LACKING}  ["
        in said
    )


def test_a_fault_of_ones_own_is_named_as_it_is() -> None:
    copies = load(Path(__file__).parents[2] / "examples" / "two_copies.py")
    said = allowed(copies.instance([("storage", "memory")]))
    assert said == "with any number of lost or late messages and any number of restarts"
