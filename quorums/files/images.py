"""The release that the image of a bookie names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fencepost.quorums.files.config_keys import BOOKIE, BROKER
from fencepost.quorums.files.facts import Fact


@dataclass(frozen=True)
class Image:
    """The tag of an image, and the product whose release the tag is."""

    product: str
    """`pulsar` or `bookkeeper`."""
    tag: str
    where: str
    """The place of the tag in its file."""


VERSION = re.compile(r"(?:default)?(pulsar|bookkeeper)_?(?:image_?tag|version)$", re.IGNORECASE)
"""A key that has a tag or a version as its value, as in Pulsar's chart and in variables of Ansible."""
REPOSITORY = re.compile(
    r"(?:^|/)(?:(apache/bookkeeper)|[\w-]*pulsar(?:-all)?|lunastreaming[\w-]*"
    r"|streamnative/(?:private-cloud|(?:sn-)?platform)(?:-slim)?)$"
)
"""The repository of an image that runs bookies. Other images of bookies have tags of their own."""


def image_of(facts: Sequence[Fact]) -> Image | None:
    """Return the image of the bookies, else of the brokers, else the one for all components."""
    found = {component: image for component, image in _images(facts) if image.tag}
    return next((found[c] for c in (BOOKIE, BROKER, None) if c in found), None)


def _images(facts: Sequence[Fact]) -> Iterator[tuple[str | None, Image]]:
    """Yield each image of Pulsar or BookKeeper with the component that it is for."""
    repositories = {fact.path[:-1]: str(fact.value or "") for fact in facts if fact.key == "repository"}
    for fact in facts:
        named, text = VERSION.match(fact.path[-1]), str(fact.value or "")
        if named:
            yield fact.component, Image(named[1].lower(), text, fact.where)
            continue
        repository, _, tag = text.rpartition(":") if fact.key.lower() == "image" else ("", "", "")
        if fact.key == "tag":
            repository, tag = repositories.get(fact.path[:-1], ""), text
        of = REPOSITORY.search(repository)
        if tag and (of or (not repository and fact.component in (BOOKIE, BROKER))):
            yield fact.component, Image("bookkeeper" if of and of[1] else "pulsar", tag, fact.where)
