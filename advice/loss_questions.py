"""The question to a model that decides about a loss: an instance, and the properties that the loss violates.

`advise` asks none of them. A sweep asks them to prove the conditions, and each is the command that shows
the loss at the sizes of a setup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from fencepost.advice.affected import OF_COPIES
from fencepost.advice.losses import LOST, Loss
from fencepost.advice.setups import Setup
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Expectation
from fencepost.protocols.bookkeeper.switches import DURABILITY
from fencepost.quorums.storages import STORAGES


@dataclass(frozen=True)
class LossQuestion:
    """One search: some properties of one instance, of which a violation of one is enough."""

    preset: str
    settings: Mapping[str, str]
    release: str
    properties: tuple[str, ...]

    @property
    def command(self) -> list[str]:
        """The command that asks it, word by word, without the settings that change nothing."""
        protocol, needed = find(self.preset), dict(self.settings)
        wanted = protocol.parameters(needed.items(), self.release)
        for name in self.settings:
            fewer = {other: value for other, value in needed.items() if other != name}
            with suppress(BadInput):
                if protocol.parameters(fewer.items(), self.release) == wanted:
                    needed = fewer
        asked = [f"--property={name}" for name in self.properties]
        given = [f"--set={name}={value}" for name, value in needed.items()]
        return ["fencepost", "check", self.preset, f"--release={self.release}", *asked, *given]


def question(loss: Loss, setup: Setup, others: Iterable[Loss]) -> LossQuestion:
    """Return the question about the loss of a bug or setting, at the sizes of a setup.

    The other known bugs are fixed, so that none of them explains a violation.
    """
    assert loss.bug is not None, "no model has this loss"
    sizes = dict(setup.sizes) | ({"entries": loss.entries} if loss.entries else {})
    ensemble, write_quorum, _ = setup.configuration.sizes
    if loss.same_bookie and write_quorum == 1:
        entries = int(sizes.get("entries", loss.bug.settings["entries"])) + ensemble - 1
        sizes |= {"entries": entries, "inflight": max(entries, 2)}
    if loss.at_once:
        sizes["crashes"] = setup.configuration.ack_quorum
    bugs = [other.bug for other in others if other.bug and other.bug != loss.bug]
    if loss.bug.protocol == OF_COPIES:
        return LossQuestion(OF_COPIES, _of_copies(loss.bug, sizes, bugs), setup.release, loss.asks)
    known, mended = loss.bug, mended_for(bugs)
    settings = {name: str(value) for name, value in (dict(known.settings) | sizes).items()}
    name = "bookkeeper" if known.protocol.startswith("bookkeeper-4") else known.protocol
    own = {known.switch: str(known.broken)} if known.switch else {}
    if loss.settings is not None:
        settings |= own | dict(loss.settings)
    elif "full_disks" in known.settings:
        storage = STORAGES[setup.storage]
        settings |= own | {"storage": setup.storage, "second_copy": storage.second_copy}
    elif "storage" in known.settings:
        settings = {key: v for key, v in settings.items() if key not in DURABILITY} | _stored(setup, known)
    elif known.protocol == "bookkeeper-no-journal":
        settings = _as_shipped(setup) | settings | own
    return LossQuestion(name, settings | mended, setup.release, loss.asks)


def any_other(setup: Setup, losses: Iterable[Loss]) -> LossQuestion:
    """Return the question about a lost entry that no known bug explains: those are fixed."""
    settings = {name: str(value) for name, value in setup.sizes.items()}
    mended = mended_for(loss.bug for loss in losses if loss.bug)
    return LossQuestion("bookkeeper", settings | mended, setup.release, LOST)


def mended_for(bugs: Iterable[Expectation]) -> dict[str, str]:
    """Return the switches of the ledger that fix these bugs, without those of layers that it is not about."""
    return {bug.switch: str(bug.mended) for bug in bugs if bug.switch and not _of_other_models(bug)}


def _of_other_models(bug: Expectation) -> bool:
    layers = ("deletions", "journals", "storage", "forces", "way_to_read", "given_ids", "lengths")
    own = bug.protocol in (OF_COPIES, "bookkeeper-no-journal")
    return own or any(layer in bug.settings for layer in layers)


def _of_copies(known: Expectation, sizes: Mapping[str, int], others: Iterable[Expectation]) -> dict[str, str]:
    """Return the settings of `ledger-copies` for one of its bugs, with its other bugs fixed."""
    mended = {other.switch: other.mended for other in others if other.protocol == OF_COPIES and other.switch}
    settings = {**mended, **known.settings, **sizes, str(known.switch): known.broken}
    return {name: str(value) for name, value in settings.items()}


FLUSHES = {"files": "flush_headers", "table": "db_checkpoint"}
"""The switch of a flush that leaves out keys and fences, by the index of the storage."""


def _stored(setup: Setup, known: Expectation) -> dict[str, str]:
    """Return the storage of the setup, with every loss of a bookie fixed but the one of this bug.

    docs/durability.md has the switches.
    """
    storage = STORAGES[setup.storage]
    mends = {
        "fence_record": "with-key",
        "negative_answers": "after-fence",
        FLUSHES[storage.index]: "always",
    }
    own = {known.switch: str(known.broken)}
    journaled = {} if setup.journal else {"entries_journaled": "no"}
    return {"storage": setup.storage, "second_copy": storage.second_copy, **journaled} | {
        switch: own.get(switch, mend) for switch, mend in mends.items()
    }


def _as_shipped(setup: Setup) -> dict[str, str]:
    """Return the settings of a crash: what it loses, and what the bookie does after it.

    With the journal nothing is lost. Without it entries are lost and fences are not, because fences are
    always journaled.
    """
    lost = {"lose": "nothing" if setup.journal else "entries"}
    unmended = {"fence_on_unclean_shutdown": "no", "limbo_on_unclean_shutdown": "no"}
    return lost if setup.checks else lost | unmended
