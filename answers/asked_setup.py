"""The setup that `advise` is asked about, from options and from the files of a deployment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from fencepost.answers.advice import Advice
from fencepost.answers.affected import bugs_of_releases
from fencepost.answers.known import full_names
from fencepost.answers.public_losses import FEATURES, PUBLIC_LOSSES, public_losses
from fencepost.answers.risk_search import not_asked
from fencepost.answers.risks import OF_SETTINGS, risks
from fencepost.answers.setups import Setup
from fencepost.encoding.errors import BadInput, did_you_mean
from fencepost.protocols.bookkeeper.pulsar_releases import pulsar_release
from fencepost.protocols.bookkeeper.releases import NEWEST, newest_read, ordered
from fencepost.quorums.deployment import Client, Deployment
from fencepost.quorums.files.images import Image
from fencepost.quorums.files.joined_files import Files, read_files
from fencepost.quorums.files.setters import DEFAULT, Setter
from fencepost.quorums.files.settings import QUORUMS
from fencepost.quorums.storages import STORAGES
from fencepost.quorums.stripes import Configuration


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
    accept: Sequence[str] = (),
) -> Advice:
    """Return the advice before any question: the setup, the setter of each value, and what to ask.

    A value is that of its option, else of the last file that has it, else the default. Raises BadInput.
    """
    if pulsar is not None and release is not None:
        raise BadInput(f"--pulsar {pulsar}: not with --release {release}; leave one of them out")
    if storage not in (None, *STORAGES):
        near = did_you_mean(storage or "", STORAGES)
        raise BadInput(f"--storage {storage}: no such storage{near}; valid: {', '.join(STORAGES)}")
    said = read_files(files)
    image, of_image = said.image if pulsar is None and release is None else (None, DEFAULT)
    if image:
        pulsar, release = _of_image(image)
    in_pulsar = None if pulsar is None else pulsar_release(pulsar)
    set_by: dict[str, Setter] = {}

    def value(name: str, flag: str, option: object, default: object) -> Any:
        found, set_by[name] = said.chosen(name, flag, option, default)
        return found

    def size(name: str, flag: str, option: int | None) -> int:
        found = value(name, flag, option, None)
        if found is None and said.sources and name != "bookies":
            raise BadInput(
                f"{said.without(QUORUMS[name])}; give -e, -w, -a and -n, or --from FILE that has them"
            )
        if found is None:
            raise BadInput(
                f"no {flag}: give -e, -w, -a and -n, or --from FILE that has them (a broker.conf has no -n)"
            )
        return int(found)

    configuration = Configuration(
        size("ensemble", "-e", ensemble),
        size("write_quorum", "-w", write_quorum),
        size("ack_quorum", "-a", ack_quorum),
    )
    number = size("bookies", "-n", bookies)
    flag, given = ("--release", release) if in_pulsar is None else ("--pulsar", in_pulsar.bookkeeper)
    wanted = value("release", flag, given, NEWEST)
    if image and set_by["release"] != DEFAULT:
        set_by["release"] = of_image
    known = newest_read(wanted)
    said = said.known_to(known)
    of_pulsar = said.pulsar or in_pulsar is not None
    setup = Setup(
        configuration,
        number,
        known,
        value("journal", "--journal", journal, True),
        value("checks", "--checks", checks, False),
        value("storage", "--storage", storage, "db" if of_pulsar else "sorted"),
        value("sync", "--sync", sync, True),
        _features(said),
    )
    is_sorted, setter = said.chosen("sorted_storage", default=True)
    if setup.storage == "sorted" and storage is None and not is_sorted:
        setup, set_by["storage"] = replace(setup, storage="interleaved"), setter
    deployment = Deployment(configuration, number, Client(), None, of_pulsar, said.autorecovery)
    first = unasked(setup, deployment)
    warnings = [in_pulsar.warning if in_pulsar else _not_read(wanted, known), *_of_files(said)]
    if image and set_by["release"] == DEFAULT:
        found = f"{of_image.name}: {image.where} is {image.tag}, which names no release that was read"
        warnings.append(f"warning: {found}. Give yours with --pulsar or --release.")
    return replace(
        first,
        sources=dict(said.sources),
        set_by=set_by,
        accepted=accepted(accept),
        pulsar=in_pulsar,
        persistence=said.persistence(),
        warning=" ".join(filter(None, warnings)),
    )


def _of_image(image: Image) -> tuple[str | None, str | None]:
    """Return the release of Pulsar or of BookKeeper that a tag names, as --pulsar and --release take it."""
    number = re.match(r"v?(\d+\.\d+\.\d+)(?!-M|\d)", image.tag)
    try:
        if number and image.product == "pulsar":
            return pulsar_release(number[1]).name, None
        return None, newest_read(number[1]) and number[1] if number else None
    except BadInput:
        return None, None


def _of_files(said: Files) -> Iterator[str]:
    """Yield a warning for each file with keys that may matter and that are not read."""
    for name, source in said.sources.items():
        more = f" (The notes below have {len(source.unread) - 1} more.)" if len(source.unread) > 1 else ""
        if source.unread:
            yield f"warning: {name}: {source.unread[0]}{more} The answer is without it."


def _not_read(release: str, answered: str) -> str:
    """Return a warning if another release is answered than the one asked about; else an empty text."""
    if release == answered:
        return ""
    line = "of its line " if ordered(release)[:2] == ordered(answered)[:2] else ""
    return (
        f"warning: BookKeeper {release} was not read. The answer is for {answered}, the newest {line}that "
        f"was; {release} may have fewer losses, or others."
    )


def unasked(setup: Setup, deployment: Deployment) -> Advice:
    """Return the advice on a setup before any question is asked: nothing is decided."""
    found = risks(setup)
    return Advice(
        setup,
        deployment,
        sources={},
        set_by={},
        losing=[(risk, not_asked(risk, setup)) for risk in found if risk.loses],
        public=public_losses(setup.release, setup.traits),
        other=[risk for risk in found if not risk.loses],
        rest=not_asked(None, setup),
        accepted=frozenset(),
    )


def accepted(names: Sequence[str]) -> frozenset[str]:
    """Return the losses of these names, which the answer leaves out. Raises BadInput."""
    known = [bug[0] for bug in bugs_of_releases()]
    return full_names([*known, *OF_SETTINGS, *PUBLIC_LOSSES], names, "--accept ", "loss")


def _features(said: Files) -> frozenset[str]:
    """Return the settings of the files that some public loss needs and that no model has."""
    values = said.unmodelled
    found = {
        feature.name for key, feature in FEATURES.items() if key in values and feature.is_in(values[key])
    }
    others = {"ephemeral-disks": not said.persistent, "no-autorecovery": not said.autorecovery}
    return frozenset(found | {name for name, holds in others.items() if holds})
