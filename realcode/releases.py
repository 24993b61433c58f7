"""What the releases of BookKeeper do where the model has a switch, and which known bug is in which of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fencepost.protocols.bookkeeper.parameters import TODAY, V4_13, Parameters
from fencepost.realcode.library import ordered

_OF_THE_CODE = (
    "recovery_reads_fence",
    "recovery_floor",
    "positive_read",
    "read_decision",
    "recovery_metadata",
    "recovery_start",
    "writer_close",
    "timeouts",
    "reuse_ensembles",
    "coverage",
    "unset_acks",
    "ensemble_change",
    "resends",
    "recovery_writes",
    "fence_answers",
    "recovery_lac",
    "ensemble_change_commit",
)
"""Switches that say what the code does, rather than what happens to it or how it is set up."""


SECOND_COPY = {"sorted": "dropped", "interleaved": "replaces", "db": "replaces"}
"""By storage, what becomes of an add of an entry that the bookie has in memory: in 4.13.0, 4.17.3 and 4.17.4 alike."""


def as_in(release: str, storage: str, parameters: Parameters) -> Parameters:
    """The same instance with the switches of that release, which are those of a preset (`bookkeeper` since 4.14), and storage."""
    code = TODAY if ordered(release) >= (4, 14, 0) else V4_13
    changed = {name: getattr(code, name) for name in _OF_THE_CODE} | {"second_copy": SECOND_COPY[storage]}
    if (
        "yes" in (parameters.fence_on_unclean_shutdown, parameters.limbo_on_unclean_shutdown)
        and parameters.crashes
    ):
        changed |= {"boot_fence_scope": "non-closed-in-last-ensemble", "limbo": "as-coded"}
    return replace(parameters, **changed)


def mending(release: str, storage: str, parameters: Parameters) -> dict[str, str]:
    """The switches in which this release with that storage differs from the instance, with the release's values."""
    own = as_in(release, storage, parameters)
    names = (*_OF_THE_CODE, "second_copy", "boot_fence_scope", "limbo")
    return {n: str(getattr(own, n)) for n in names if getattr(own, n) != getattr(parameters, n)}


@dataclass(frozen=True)
class Span:
    """The releases that have a bug: from `first` on (None: from before 4.13), up to and without `mended` (None: all)."""

    first: str | None = None
    mended: str | None = None
    storages: tuple[str, ...] = tuple(SECOND_COPY)
    """With which it is there."""

    def has(self, release: str, storage: str) -> bool:
        """Whether the bug is there in that release, with that storage."""
        begun = self.first is None or ordered(self.first) <= ordered(release)
        mended = self.mended is not None and ordered(release) >= ordered(self.mended)
        return begun and not mended and storage in self.storages


_BEFORE = Span(mended="4.13.0")
"""Mended before the first release that can be driven, or never in a release."""

SPANS = {
    "BOOKKEEPER-799": _BEFORE,
    "early-commit": _BEFORE,
    "#1067": _BEFORE,
    "#1591": _BEFORE,
    "pulsar#6505": _BEFORE,
    "PR-2281": _BEFORE,
    "#2614": Span(mended="4.14.0"),
    "#2614-tla": Span(mended="4.14.0"),
    "#2614-3/3/3": Span(mended="4.14.0"),
    "#2614-2/2/2": Span(mended="4.14.0"),
    "#2615": Span(mended="4.14.0"),
    "#2615-stuck": Span(mended="4.14.0"),
    "#3005": Span(),
    "#3005-3/2/2": Span(),
    "#4651": Span(),
    "#4701": Span(mended="4.17.4"),
    "BP-46-1": Span(),
    "BP-46-2": Span(),
    "BP-46-closed": _BEFORE,  # phase one makes an unknown ledger with an empty key, and so refuses all adds (findings.md)
    "BP-46-served": Span(first="4.15.0"),
    "bare-fence": Span(),
    "#4812": Span(),
    "phantom-read": Span(),
    "phantom-read-2": Span(),
    "too-few-copies": Span(
        storages=("interleaved", "db")
    ),  # by that trace: sorted drops the second copy of an entry
    "too-few-copies-2": Span(),
}
"""By the name of a bug of BookKeeper in `properties.known`, the releases that have it, as docs/known.md says."""
