"""The boot sequence of BP-46: what each step, order and omission is worth (the table in `expected/boot.toml`).

Tests and docs/no-journal.md read it.
"""

from __future__ import annotations

from fencepost.properties.expectations import TABLES, instances

BOOT = instances(TABLES / "boot.toml")
"""The ways to boot. The first one is BP-46 as it was proposed."""

INSTANCE = BOOT[0][0].settings
"""Two bookies, 2/2/2, one entry, one recoverer."""
