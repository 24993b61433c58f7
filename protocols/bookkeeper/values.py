"""Values that the state of a ledger has: names, contents, and stages of work."""

from __future__ import annotations

from enum import Enum

WRITER = "w"
"""The client that created the ledger."""

NO_BOOKIE = "none"

NOTHING = 0
"""The content of an entry that is not stored. The writer pushes content e as entry e."""


class Status(Enum):
    """The ledger's status in the metadata store."""

    NONE = "none"
    OPEN = "open"
    IN_RECOVERY = "in-recovery"
    CLOSED = "closed"


class Phase(Enum):
    """The phase of a client's work on the ledger."""

    IDLE = "idle"
    ACTIVE = "active"
    CLOSING = "closing"
    """A writer refused by a fenced bookie. It has dropped its pending adds and may still close the ledger."""
    CLOSED = "closed"
    """A client that reported the ledger as closed, at `closed_at`."""
    GONE = "gone"
    """A client that failed or gave up, and does nothing any more."""


class Stage(Enum):
    """A bookie's stage in its boot sequence (layers/boot)."""

    SERVING = "serving"
    DOWN = "down"
    COOKIES = "checking cookies"
    FIXING = "fixing cookies"
    STAMPING = "stamping disks"
    READY = "ready"
    REFUSED = "refused to boot"
