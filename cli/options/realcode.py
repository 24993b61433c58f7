"""What the commands that drive the real BookKeeper have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from fencepost.encoding.errors import BadInput

log_option: Callable[[Any], Any] = click.option(
    "--log", type=click.Path(path_type=Path), metavar="FILE", help="Where BookKeeper's own log goes."
)


def playback_option(what: str) -> Callable[[Any], Any]:
    """`--playback`, which takes that from a transcript."""
    return click.option(
        "--playback",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"Instead of a LIB, {what} in a transcript.",
    )


def refuse(what: str, unused: Mapping[str, object]) -> None:
    """Raise BadInput for an option that means nothing there."""
    for option, value in unused.items():
        if value:
            raise BadInput(f"{option}: not with {what}; leave it out")
