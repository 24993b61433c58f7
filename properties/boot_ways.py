"""The boot sequences of BP-46 that are compared: as proposed, and with one step changed or left out.

The table is in `expected/boot.toml`. Tests and docs/no-journal.md read it.
"""

from __future__ import annotations

from fencepost.properties.expectations import TABLES, read_by_instance

BOOT = read_by_instance(TABLES / "boot.toml")
"""The boot sequences. The first one is BP-46 as proposed."""

INSTANCE = BOOT[0][0].settings
"""Two bookies, 2/2/2, one entry, one recoverer."""
