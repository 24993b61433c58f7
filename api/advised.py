"""Advice on a configuration from Python, as `fencepost advise` gives it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from html import escape
from os import PathLike, fspath
from typing import Any

from fencepost.advice.advice import Advice
from fencepost.advice.asked_setup import asked_setup
from fencepost.arguments import number
from fencepost.cli.options.numbers import SIZE
from fencepost.cli.rendering.advice_document import document
from fencepost.cli.rendering.advice_text import as_text
from fencepost.results import table


@dataclass(frozen=True, repr=False)
class Advised:
    """The losses of a configuration on a release by what they need, and the steps against them."""

    _advice: Advice

    @property
    def level(self) -> str | None:
        """The events that the easiest loss needs, such as `crash`; None without a loss."""
        found = self._document["level"]
        return None if found is None else str(found)

    @property
    def losses(self) -> list[dict[str, Any]]:
        """The losses and stops that can happen: `name`, `level`, `short`, `steps` and others."""
        return list(self._document["losses"])

    @property
    def impossible(self) -> dict[str, str]:
        """The losses that cannot happen, each with the reason."""
        return dict(self._document["impossible"])

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps: `number`, `text`, `who`, `when`, the losses it is `against`, whether it is `done`."""
        return list(self._document["steps"])

    @property
    def change(self) -> dict[str, Any] | None:
        """The one change that removes most: `words`, `removes`, `remains`; None if none removes a loss."""
        return self._document["change"]  # type: ignore[no-any-return]

    def text(self, whole: bool = False) -> str:
        """Return what `fencepost advise` prints, with `--all` if asked for."""
        return as_text(self._advice, whole)

    def to_json(self) -> dict[str, Any]:
        """Return the document of `fencepost advise --format json`."""
        return dict(self._document)

    @cached_property
    def _document(self) -> dict[str, Any]:
        return document(self._advice)

    def __repr__(self) -> str:
        """Return the text."""
        return self.text()

    def _repr_html_(self) -> str:
        """Return the setup and its losses as a table, which notebooks show."""
        rows = [
            (one["level"], one["name"], one["short"], ", ".join(map(str, one["steps"])))
            for one in self.losses
        ]
        return f"<p>{escape(self._document['asked'])}</p>{table(('needs', 'loss', 'in short', 'step'), rows)}"


def advise(
    ensemble: int | None = None,
    write_quorum: int | None = None,
    ack_quorum: int | None = None,
    bookies: int | None = None,
    *,
    release: str | None = None,
    pulsar: str | None = None,
    files: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    journal: bool | None = None,
    sync: bool | None = None,
    checks: bool | None = None,
    storage: str | None = None,
    ignore: str | PathLike[str] | None = None,
) -> Advised:
    """Say what a configuration on a release can lose, what each loss needs, and what to do.

    The arguments are the options of `fencepost advise`; `files` are those of `--from`. A value that is not
    given is that of the last file that has it, or the default. Raises BadInput.
    """
    paths = (files,) if isinstance(files, str | PathLike) else files
    given = {
        "ensemble": ensemble,
        "write_quorum": write_quorum,
        "ack_quorum": ack_quorum,
        "bookies": bookies,
    }
    advice = asked_setup(
        **{name: number(name, size, SIZE) for name, size in given.items() if size is not None},
        release=release,
        pulsar=pulsar,
        files=[fspath(path) for path in paths],
        journal=journal,
        sync=sync,
        checks=checks,
        storage=storage,
        ignore=None if ignore is None else fspath(ignore),
    )
    return Advised(advice)
