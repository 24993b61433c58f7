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


def as_in(release: str, parameters: Parameters) -> Parameters:
    """The same instance with the switches that this release has: those of the presets, `bookkeeper` since 4.14."""
    code = TODAY if ordered(release) >= (4, 14, 0) else V4_13
    changed = {name: getattr(code, name) for name in _OF_THE_CODE}
    if (
        "yes" in (parameters.fence_on_unclean_shutdown, parameters.limbo_on_unclean_shutdown)
        and parameters.crashes
    ):
        changed |= {"boot_fence_scope": "non-closed-in-last-ensemble", "limbo": "as-coded"}
    return replace(parameters, **changed)


def mending(release: str, parameters: Parameters) -> dict[str, str]:
    """The switches in which this release differs from that instance, with the release's values."""
    own = as_in(release, parameters)
    names = (*_OF_THE_CODE, "boot_fence_scope", "limbo")
    return {n: str(getattr(own, n)) for n in names if getattr(own, n) != getattr(parameters, n)}


@dataclass(frozen=True)
class Span:
    """The releases that have a bug: from `first` on (None: from before 4.13), up to and without `mended` (None: all)."""

    first: str | None = None
    mended: str | None = None

    def __contains__(self, release: str) -> bool:
        begun = self.first is None or ordered(self.first) <= ordered(release)
        return begun and (self.mended is None or ordered(release) < ordered(self.mended))


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
}
"""By the name of a bug of BookKeeper in `properties.known`, the releases that have it, as docs/known.md says."""
