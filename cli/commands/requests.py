"""The instances of `check` and `simulate`, and the share of the time that each of them has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fencepost.cli.process.handover import elapsed
from fencepost.cli.rendering.check_report import Request
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.language.protocol import Protocol


def requests_of(
    protocol: Protocol,
    settings: Sequence[tuple[str, str]],
    names: tuple[str, ...],
    release: str | None,
    limits: Limits,
    drop_declared: bool = False,
) -> list[Request]:
    """Return the instance with these settings, then the small instances of properties that have their own."""
    shared = protocol.parameters(settings, release)
    return [
        Request(instance, properties, limits, instance.parameters != shared)
        for instance, properties in protocol.instances(settings, names, release, drop_declared)
    ]


def share_of(request: Request, waiting: int) -> Limits:
    """Return the limits of a request that shares the time left with `waiting` requests, itself included.

    Time that a request does not use goes to the later ones.
    """
    gone = elapsed()
    share = max(0.0, request.limits.timeout - gone) / waiting
    return replace(request.limits, timeout=min(gone + share, request.limits.timeout), gone=gone)
