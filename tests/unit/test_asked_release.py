"""Releases as people write them: builds, lines, images, and numbers of the other product."""

from __future__ import annotations

import pytest

from fencepost.advice.asked_release import asked_pulsar, asked_release
from fencepost.encoding.errors import BadInput

BUILD = "A build may have other fixes than its release."

MEANT = [
    ("4.16.3", "4.16.3", ""),
    ("v4.16.3", "4.16.3", ""),
    ("release-4.16.3", "4.16.3", ""),
    ("BookKeeper 4.16.3", "4.16.3", ""),
    ("bookkeeper-server-4.16.3", "4.16.3", ""),
    ("reg.example.org:5000/apache/bookkeeper:4.16.3", "4.16.3", ""),
    ("4.16.3-SNAPSHOT", "4.16.3", f"4.16.3-SNAPSHOT is answered as 4.16.3. {BUILD}"),
    ("4.16", "4.16.7", "4.16 is answered as 4.16.7, the newest of that line that was read."),
    ("4.16.x", "4.16.7", "4.16 is answered as 4.16.7, the newest of that line that was read."),
    ("4.19", "4.18.0", "No release of 4.19 was read. The answer is for 4.18.0, the newest that was."),
    ("4.18.9", "4.18.0", "BookKeeper 4.18.9 was not read. The answer is for 4.18.0, the newest of its line"),
    ("latest", "4.18.0", "latest is answered as 4.18.0, the newest release that was read."),
    ("pulsar 3.3.2", "4.17.1", ""),
    ("apache-pulsar-3.3.2", "4.17.1", ""),
    ("apachepulsar/pulsar-all:3.3.2", "4.17.1", ""),
    (
        "streamnative/private-cloud:3.3.2.4",
        "4.17.1",
        "streamnative/private-cloud:3.3.2.4 is answered as Pulsar",
    ),
]


@pytest.mark.parametrize(("written", "release", "note"), MEANT)
def test_a_release_is_answered_as_people_write_it(written: str, release: str, note: str) -> None:
    """Planted: a number of an image is always BookKeeper's, and the four parts of a build are no release."""
    found = asked_release(written)
    assert found.bookkeeper == release
    assert found.note.startswith(note) and bool(found.note) == bool(note)


OF_PULSAR = [
    ("v4.0.6", "4.17.2", ""),
    ("3.3.2-SNAPSHOT", "4.17.1", f"3.3.2-SNAPSHOT is answered as Pulsar 3.3.2. {BUILD}"),
    ("3.3.2.4", "4.17.1", f"3.3.2.4 is answered as Pulsar 3.3.2. {BUILD}"),
    ("4.0", "4.17.3", "Pulsar 4.0 is answered as 4.0.12, the newest of that line that was read."),
    ("4.0.x", "4.17.3", "Pulsar 4.0 is answered as 4.0.12, the newest of that line that was read."),
    ("latest", "4.17.3", "Pulsar latest is answered as 4.1.3, the newest that was read."),
    ("apachepulsar/pulsar:3.0.9", "4.16.6", "Pulsar 3.0.9 is after 3.0.6, the newest of its line"),
]


@pytest.mark.parametrize(("written", "release", "note"), OF_PULSAR)
def test_a_release_of_pulsar_is_answered_as_people_write_it(written: str, release: str, note: str) -> None:
    found = asked_pulsar(written)
    assert found.bookkeeper == release and found.pulsar is not None
    assert found.note.startswith(note) and bool(found.note) == bool(note)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("2.10.4", "for a release of Pulsar give --pulsar 2.10.4"),
        ("4.0.12", "for a release of Pulsar give --pulsar 4.0.12"),
        ("4.0", "for a release of Pulsar give --pulsar 4.0"),
        ("3.3.2.4", "for a release of Pulsar give --pulsar 3.3.2"),
        ("4.5.1", "for a release of Pulsar give --pulsar R"),
        ("4.16.3.1", "4.16.3.1: not one of the 48 releases that were read"),
        ("master", "master: not one of the 48 releases that were read"),
        ("x4.16.3", "(did you mean 4.16.3?); fencepost known --list lists them"),
    ],
)
def test_a_number_of_pulsar_or_of_nothing_is_refused(written: str, said: str) -> None:
    """Planted: the message names a command that is gone."""
    with pytest.raises(BadInput) as refused:
        asked_release(written)
    assert said in str(refused.value) and "4.6.0?" not in str(refused.value)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("4.17.3", "--pulsar 4.17.3: is a release of BookKeeper; give --release 4.17.3"),
        ("lts", "--pulsar lts: is no release of Pulsar; give one as 4.0.12"),
        ("2.6.1", "--pulsar 2.6.1: no release of 2.6 was read"),
    ],
)
def test_a_number_of_bookkeeper_is_no_release_of_pulsar(written: str, said: str) -> None:
    """Planted: 4.16.3 is answered as a Pulsar after 4.1, so with another BookKeeper."""
    with pytest.raises(BadInput) as refused:
        asked_pulsar(written)
    assert str(refused.value).startswith(said)
