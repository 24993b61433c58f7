"""Releases of BookKeeper and Pulsar as people write them: `v4.16.3`, `4.16`, `pulsar 3.3.2`, `latest`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fencepost.encoding.errors import BadInput
from fencepost.protocols.bookkeeper.pulsar_releases import LINES, PulsarRelease, pulsar_release
from fencepost.protocols.bookkeeper.releases import NEWEST, TAGS, newest_read, ordered

WRITTEN = re.compile(
    r"(?:\S*[/:])??(?P<whose>pulsar|bookkeeper)?[ :=-]*(?:release[- ])?v?"
    r"(?P<number>\d{1,4}\.\d{1,4}(?:\.\d{1,4})?)"
    r"(?P<rest>[-.][A-Za-z][\w.-]*)?"
)
"""A release: whose it is, its number, and what is appended to a build of it."""


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
    number, rest = found["number"], found["rest"] or ""
    if found["whose"] == "pulsar":
        return asked_pulsar(number + rest)
    if ordered(number) < (4, 6):
        hint = f"--pulsar {number}" if number.rpartition(".")[0] in LINES or number in LINES else "--pulsar R"
        raise BadInput(
            f"--release {written}: BookKeeper's releases that were read are {next(iter(TAGS))} to {NEWEST}; "
            f"for a release of Pulsar give {hint}"
        )
    if number.count(".") == 1:
        line = [tag for tag in TAGS if tag.rpartition(".")[0] == number]
        if not line:
            return AskedRelease(newest_read(f"{number}.0"), f"No release of {number} was read.")
        return AskedRelease(
            line[-1], f"{number} is answered as {line[-1]}, the newest of that line that was read."
        )
    known = newest_read(number)
    if rest:
        return AskedRelease(
            known, f"{text} is answered as {known}. A build before {number} may lack its fixes."
        )
    return AskedRelease(known, _not_read(number, known))


def asked_pulsar(written: str) -> AskedRelease:
    """Return the BookKeeper of the release of Pulsar that `--pulsar` means. Raises BadInput."""
    text = re.sub(r"^(?:\S*[/:])?pulsar[ :=-]*|-[a-z][\w.-]*$", "", written.strip().lower()).removeprefix("v")
    if text in ("latest", "newest") or text in LINES:
        newest = LINES[next(iter(LINES)) if text not in LINES else text]["read"]
        found = pulsar_release(newest)
        note = f"Pulsar {text} is answered as {newest}, the newest of that line that was read."
        return AskedRelease(found.bookkeeper, note, found)
    try:
        found = pulsar_release(text)
    except BadInput as error:
        raise BadInput(str(error).replace(f"--pulsar {text}", f"--pulsar {written}", 1)) from None
    return AskedRelease(found.bookkeeper, found.warning.removeprefix("warning: "), found)


def _not_read(release: str, answered: str) -> str:
    """Return a note if another release is answered than the one asked about; else an empty text."""
    if release == answered:
        return ""
    line = "of its line " if ordered(release)[:2] == ordered(answered)[:2] else ""
    return (
        f"BookKeeper {release} was not read. The answer is for {answered}, the newest {line}that was; "
        f"{release} may have fewer losses, or others."
    )
