"""The quorum calculator from Python, as `fencepost quorum` has it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from fencepost.arguments import number
from fencepost.cli.commands.quorum import as_text
from fencepost.cli.options.numbers import SIZE
from fencepost.quorums.calculator import warnings
from fencepost.quorums.deployment import Deployment
from fencepost.quorums.placement import read_racks
from fencepost.quorums.quantities import quantities
from fencepost.quorums.stripes import Configuration


@dataclass(frozen=True, repr=False)
class Quorum:
    """The quantities and warnings of a configuration on N bookies."""

    _deployment: Deployment

    @property
    def quantities(self) -> list[dict[str, Any]]:
        """The quantities: number, name, formula, value, meaning, source and lemma of each."""
        return [asdict(row) for row in quantities(self._deployment)]

    @property
    def warnings(self) -> list[str]:
        """The sentences that advise another configuration, or name a limit of this one."""
        return [warning.text for warning in warnings(self._deployment)]

    def text(self) -> str:
        """Return what `fencepost quorum` prints."""
        return as_text(self._deployment, {})

    def __repr__(self) -> str:
        """Return the text."""
        return self.text()

    def _repr_html_(self) -> str:
        """Return the text as notebooks show it."""
        return f"<pre>{escape(self.text())}</pre>"


def quorum(
    ensemble: int, write_quorum: int, ack_quorum: int, bookies: int | None = None, racks: str | None = None
) -> Quorum:
    """Return what an E/WQ/AQ configuration survives on N bookies. Raises BadInput.

    N is the sum of `racks`, which are written as for `--racks`, or else E, unless it is given.
    """
    configuration = Configuration(
        number("ensemble", ensemble, SIZE),
        number("write_quorum", write_quorum, SIZE),
        number("ack_quorum", ack_quorum, SIZE),
    )
    placed = read_racks(racks, ensemble) if racks is not None else None
    if bookies is None:
        bookies = sum(placed.sizes) if placed is not None else ensemble
    return Quorum(Deployment(configuration, number("bookies", bookies, SIZE), racks=placed))
