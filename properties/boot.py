"""The boot sequence of BP-46: what each step, order and omission is worth, as a table.

Tests and docs/no-journal.md read it. All of it is for the smallest instance on which every step matters: two bookies,
2/2/2, one entry, one recoverer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.encoding.checking.verdicts import Verdict

PROTOCOL = "bookkeeper-no-journal"

INSTANCE: Mapping[str, int | str] = {
    "boot": "whole",
    "bookies": 2,
    "ensemble": 2,
    "write_quorum": 2,
    "ack_quorum": 2,
}

Expected = Verdict | int
"""A verdict, or the fewest steps of a violation."""

PROVED, VACUOUS = Verdict.PROVED, Verdict.VACUOUS


@dataclass(frozen=True)
class Variant:
    """One way to boot, and what comes of each property."""

    what: str
    settings: Mapping[str, int | str] = field(default_factory=dict)
    divergence: Expected = PROVED
    stuck: Expected = PROVED
    repair: Expected = PROVED

    @property
    def expected(self) -> Mapping[str, Expected]:
        """By property."""
        return {
            "no-divergence": self.divergence,
            "recovery-can-finish": self.stuck,
            "repair-is-complete": self.repair,
        }


_AS_SHIPPED: Mapping[str, int | str] = {
    "lose": "entries",
    "boot_fence_scope": "non-closed-in-last-ensemble",
    "limbo": "as-coded",
}
_WITH_JOURNAL: Mapping[str, int | str] = {"lose": "nothing", "disks": 1, "unclean_check": "no"}

BOOT: tuple[Variant, ...] = (
    Variant("BP-46 as proposed"),
    Variant("… a second crash, at any step of the boot too", {"crashes": 2}, stuck=26),
    Variant("… and a lost disk", {"disks": 1}),
    Variant("no unclean-shutdown check", {"unclean_check": "no"}, 17, repair=VACUOUS),
    Variant("dirty marker set after serving has begun", {"dirty_marker": "after-serving"}, 17),
    Variant("serves while phase one runs", {"phase_one_awaited": "no"}, 17),
    Variant("no note that a check is due", {"check_note": "no"}, repair=VACUOUS),
    Variant("no limbo", {"limbo_on_unclean_shutdown": "no"}, 21),
    Variant("no fence", {"fence_on_unclean_shutdown": "no"}, 21),
    Variant("fence, then limbo", {"phase_one_order": "fence-first", "crashes": 2}, stuck=26),
    Variant("closed ledgers are left out", {"boot_fence_scope": "non-closed"}, 21),
    Variant(
        "only ledgers with this bookie in the last ensemble",
        {"boot_fence_scope": "non-closed-in-last-ensemble"},
        21,
    ),
    Variant("limbo as coded", {"limbo": "as-coded"}),
    Variant("phase one not flushed", {"phase_one_flush": "no", "crashes": 2}, stuck=26),
    Variant("limbo cleared before copying", {"clear_limbo": "before-copying", "crashes": 2}, stuck=26),
    Variant("limbo cleared without recovering", {"clear_limbo": "unrecovered"}, 22, repair=17),
    Variant("a wiped bookie boots as a new one", {"reimages": 1}, 18),
    Variant("as shipped, fences journaled, but phase one awaited", _AS_SHIPPED),
    Variant("as shipped: phase one not awaited", {**_AS_SHIPPED, "phase_one_awaited": "no"}, 17),
    Variant("as shipped and awaited, a disk lost", {**_AS_SHIPPED, "disks": 1}, 28),
    Variant("with the journal, a disk lost, two crashes", {**_WITH_JOURNAL, "crashes": 2}),
    Variant("… no limbo", {**_WITH_JOURNAL, "limbo_on_unclean_shutdown": "no"}, 24),
    Variant("… no fence", {**_WITH_JOURNAL, "fence_on_unclean_shutdown": "no"}, 24),
    Variant("… closed ledgers are left out", {**_WITH_JOURNAL, "boot_fence_scope": "non-closed"}, 24),
    Variant("… phase one not flushed", {**_WITH_JOURNAL, "phase_one_flush": "no", "crashes": 2}, 27),
    Variant(
        "… cookies stamped before phase one",
        {**_WITH_JOURNAL, "cookie_stamp": "before-phase-one", "crashes": 2},
        22,
    ),
    Variant("… missing cookies are not mended", {**_WITH_JOURNAL, "cookie_mismatch": "refuse"}, stuck=19),
)
