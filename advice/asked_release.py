"""Releases of BookKeeper and Pulsar as people write them: `v4.16.3`, `4.16`, `pulsar 3.3.2`, `latest`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fencepost.encoding.errors import BadInput
from fencepost.protocols.bookkeeper.pulsar_releases import LINES, PulsarRelease, pulsar_release
from fencepost.protocols.bookkeeper.releases import NEWEST, TAGS, newest_read, ordered
from fencepost.quorums.files.images import REPOSITORY

WRITTEN = re.compile(
    r"(?P<before>(?:.*[/:])?(?:[a-z-]*(?:pulsar|bookkeeper)[a-z -]*[:=]?|release|version)?)[ -]*"
    r"v?(?P<number>\d{1,4}\.\d{1,4}(?:\.\d{1,4})?)(?P<rest>(?:\.\d{1,4})?(?:[-.+_][a-z][\w.-]*)?)"
)
"""A release: its image or whose it is, its number, and the rest of the name of a build of it."""


@dataclass(frozen=True)
class AskedRelease:
    """The release of BookKeeper that is answered, and a note if another one was written."""

    bookkeeper: str
    note: str = ""
    pulsar: PulsarRelease | None = None


def asked_release(written: str) -> AskedRelease:
    """Return the release of BookKeeper that `--release` means. Raises BadInput."""
    text = written.strip()
    if text.lower() in ("latest", "newest"):
        return AskedRelease(NEWEST, f"{text} is answered as {NEWEST}, the newest release that was read.")
    found = WRITTEN.fullmatch(text.lower())
    if found is None:
        return AskedRelease(newest_read(text))
    number, rest = found["number"], found["rest"]
    if _is_pulsars(found["before"]):
        return asked_pulsar(text)
    if ordered(number) < (4, 6):
        hint = f"--pulsar {number}" if number.rpartition(".")[0] in LINES or number in LINES else "--pulsar R"
        raise BadInput(
            f"--release {written}: BookKeeper's releases that were read are {next(iter(TAGS))} to {NEWEST}; "
            f"for a release of Pulsar give {hint}"
        )
    if number.count(".") == 1:
        line = [tag for tag in TAGS if tag.rpartition(".")[0] == number]
        if not line:
            known = newest_read(f"{number}.0")
            note = f"No release of {number} was read. The answer is for {known}, the newest that was."
            return AskedRelease(known, note)
        return AskedRelease(line[-1], f"{number} is answered as {line[-1]}, the newest of that line{READ}")
    if re.match(r"\.\d", rest):  # of BookKeeper no builds with four numbers are known
        return AskedRelease(newest_read(text))
    known = newest_read(number)
    return AskedRelease(known, _of_build(text, known) if rest else _not_read(number, known))


READ = " that was read."
"""The end of a note on the release that is answered."""


def asked_pulsar(written: str) -> AskedRelease:
    """Return the BookKeeper of the release of Pulsar that `--pulsar` means. Raises BadInput."""
    text = written.strip()
    found = WRITTEN.fullmatch(text.lower())
    number, rest = (found["number"], found["rest"]) if found else (text, "")
    if number.lower() in ("latest", "newest"):
        return newest_pulsar(text)
    if number in LINES:
        read = pulsar_release(LINES[number]["read"])
        note = f"Pulsar {number} is answered as {read.name}, the newest of that line{READ}"
        return AskedRelease(read.bookkeeper, note, read)
    if number in TAGS:
        raise BadInput(f"--pulsar {written}: is a release of BookKeeper; give --release {number}")
    try:
        read = pulsar_release(number)
    except BadInput as error:
        raise BadInput(str(error).replace(f"--pulsar {number}", f"--pulsar {written}", 1)) from None
    note = read.warning.removeprefix("warning: ")
    return AskedRelease(
        read.bookkeeper, _of_build(text, f"Pulsar {number}") if rest and not note else note, read
    )


def newest_pulsar(text: str = "newest") -> AskedRelease:
    """Return the BookKeeper of the newest release of Pulsar that was read, with a note."""
    read = pulsar_release(LINES[next(iter(LINES))]["read"])
    note = f"Pulsar {text} is answered as {read.name}, the newest{READ}"
    return AskedRelease(read.bookkeeper, note, read)


def _is_pulsars(image: str) -> bool:
    """Return whether the words before a number name Pulsar, or an image that runs it."""
    found = REPOSITORY.search(image.strip(" :=-"))
    return found is not None and not found[1]


def _of_build(written: str, answered: str) -> str:
    return f"{written} is answered as {answered}. A build may have other fixes than its release."


def _not_read(release: str, answered: str) -> str:
    """Return a note if another release is answered than the one asked about; else an empty text."""
    if release == answered:
        return ""
    line = "of its line " if ordered(release)[:2] == ordered(answered)[:2] else ""
    return (
        f"BookKeeper {release} was not read. The answer is for {answered}, the newest {line}that was; "
        f"{release} may have fewer losses, or others."
    )
