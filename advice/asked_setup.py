"""The setup that `advise` is asked about, from options and from the files of a deployment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from fencepost.advice.advice import Advice, Ignored
from fencepost.advice.asked_release import AskedRelease, asked_pulsar, asked_release, newest_pulsar
from fencepost.advice.known import full_names
from fencepost.advice.losses import FEATURES, LOSSES
from fencepost.advice.setups import Setup
from fencepost.encoding import keys as k
from fencepost.encoding.documents import Key, has_keys, parse_toml, read_text
from fencepost.encoding.errors import BadInput, unknown_name
from fencepost.protocols.bookkeeper.pulsar_releases import pulsar_release
from fencepost.protocols.bookkeeper.releases import NEWEST, STORAGES_READ, newest_read
from fencepost.quorums.deployment import Client, Deployment
from fencepost.quorums.files.images import Image
from fencepost.quorums.files.joined_files import AskedValues, Files, read_files
from fencepost.quorums.files.setters import DEFAULT
from fencepost.quorums.storages import STORAGES

SIZES = "-e, -w, -a and -n"
"""The options without which a setup is not known."""


def asked_setup(
    ensemble: int | None = None,
    write_quorum: int | None = None,
    ack_quorum: int | None = None,
    bookies: int | None = None,
    *,
    release: str | None = None,
    pulsar: str | None = None,
    files: Iterable[str] = (),
    journal: bool | None = None,
    sync: bool | None = None,
    checks: bool | None = None,
    storage: str | None = None,
    ignore: str | None = None,
) -> Advice:
    """Return the advice on the setup that options and files make, with the setter of each value.

    A value is that of its option, else of the last file that has it, else the default. Raises BadInput.
    """
    if pulsar is not None and release is not None:
        raise BadInput(f"--pulsar {pulsar}: not with --release {release}; leave one of them out")
    if storage not in (None, *STORAGES):
        raise unknown_name(str(storage), "storage", STORAGES, place="--storage ")
    said = read_files(files)
    image, of_image = said.image if pulsar is None and release is None else (None, DEFAULT)
    if image:
        pulsar, release = _of_image(image)
    given = None if release is None else asked_release(release)
    given = given if pulsar is None else asked_pulsar(pulsar)
    values = AskedValues(said)
    value, set_by = values.value, values.set_by
    configuration = values.sizes(ensemble, write_quorum, ack_quorum, SIZES)
    number = value("bookies", "-n", bookies)
    if number is None:
        raise BadInput(f"no -n: give {SIZES}, or --from FILE that has them (a broker.conf has no -n)")
    flag = "--release" if pulsar is None else "--pulsar"
    asked = given or (replace(newest_pulsar(), note="") if said.pulsar else AskedRelease(NEWEST))
    value("release", flag, None if given is None else given.bookkeeper, asked.bookkeeper)
    if image and set_by["release"] != DEFAULT:
        set_by["release"] = of_image
    values.said = said = said.known_to(asked.bookkeeper)
    of_pulsar = said.pulsar or asked.pulsar is not None
    setup = Setup(
        configuration,
        number,
        asked.bookkeeper,
        value("journal", "--journal", journal, True),
        value("checks", "--checks", checks, False),
        value("storage", "--storage", storage, "db" if of_pulsar else "sorted"),
        value("sync", "--sync", sync, True),
        _features(said),
        of_pulsar,
    )
    is_sorted, setter = said.chosen("sorted_storage", default=True)
    if setup.storage == "sorted" and storage is None and not is_sorted:
        setup, set_by["storage"] = replace(setup, storage="interleaved"), setter
    if setup.storage not in STORAGES_READ:
        raise BadInput(
            f"{setup.storage}: no release was read with this storage, so its losses are not known; "
            f"valid: {', '.join(STORAGES_READ)}"
        )
    deployment = Deployment(configuration, number, Client(), None, of_pulsar, said.autorecovery)
    ignored, expired = ignored_losses(ignore)
    warnings = [f"Note: {asked.note}" if asked.note else "", *expired, *_of_files(said)]
    if image and set_by["release"] == DEFAULT:
        found = f"{of_image.name}: {image.where} is {image.tag}, which names no release that was read"
        warnings.append(f"Warning: {found}. Give yours with --pulsar or --release.")
    warning = " ".join(filter(None, warnings))
    return Advice(
        setup, deployment, dict(said.sources), set_by, asked.pulsar, said.persistence(), warning, ignored
    )


def _of_image(image: Image) -> tuple[str | None, str | None]:
    """Return the release of Pulsar or of BookKeeper that a tag names, as --pulsar and --release take it."""
    number = re.match(r"v?(\d+\.\d+\.\d+)(\.\d+)?(?!-M|\d)", image.tag)
    try:
        if number and image.product == "pulsar":
            return pulsar_release(number[1]).name + (number[2] or ""), None
        return None, newest_read(number[1]) and number[1] if number else None
    except BadInput:
        return None, None


def _of_files(said: Files) -> Iterator[str]:
    """Yield a warning for each file with keys that may matter and that are not read."""
    for name, source in said.sources.items():
        more = f" (The notes have {len(source.unread) - 1} more.)" if len(source.unread) > 1 else ""
        if source.unread:
            yield f"Warning: {name}: {source.unread[0]}{more} The answer is without it."


def _features(said: Files) -> frozenset[str]:
    """Return the settings of the files that decide about a loss and that no model has."""
    values = said.unmodelled
    found = {
        feature.name for key, feature in FEATURES.items() if key in values and feature.is_in(values[key])
    }
    others = {
        "ephemeral-disks": not said.persistent,
        "no-autorecovery": not said.autorecovery,
        "delayed-change": said.chosen("delay_ensemble_change", default=False)[0],
    }
    return frozenset(found | {name for name, holds in others.items() if holds})


IGNORED = k.keys(
    reason=k.text("why the loss is ignored"),
    until=Key((date, str), "the last day of it, such as 2027-01-31"),
)
HINT = 'a table for each loss: ["#4812"], reason = "…", until = 2027-01-31'


def ignored_losses(file: str | None) -> tuple[Mapping[str, Ignored], list[str]]:
    """Return the losses that a file ignores, and a sentence for each that expired. Raises BadInput."""
    if file is None:
        return {}, []
    rows = parse_toml(read_text(Path(file), HINT), file, HINT)
    found: dict[str, Ignored] = {}
    expired = []
    for name, row in rows.items():
        place = f"{file}, {name}"
        row = has_keys(row, IGNORED, place)
        try:
            until = row["until"] if isinstance(row["until"], date) else date.fromisoformat(row["until"])
        except ValueError:
            raise BadInput(f"{place}: until = {row['until']!r}: must be a day, such as 2027-01-31") from None
        (full,) = full_names(LOSSES, [name], f"{file}: ", "loss", "fencepost known --list")
        if until < date.today():
            expired.append(f"Note: {file} ignored {full} until {until}, so it counts again.")
        else:
            found[full] = Ignored(row["reason"], str(until))
    return found, expired
