"""Advice on a configuration from Python, as `fencepost advise` gives it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from html import escape
from os import PathLike, fspath
from typing import Any

from fencepost.answers.advice import Advice
from fencepost.answers.advice_search import advice_on
from fencepost.answers.asked_setup import asked_setup
from fencepost.arguments import number, texts
from fencepost.cli.options.numbers import SECONDS, SIZE
from fencepost.cli.rendering.advice_document import document
from fencepost.cli.rendering.advice_page import page
from fencepost.cli.rendering.advice_text import as_text
from fencepost.results import table


@dataclass(frozen=True, repr=False)
class Advised:
    """The answer to "may I run this configuration on this release?", and the losses behind it."""

    _advice: Advice

    @property
    def answer(self) -> str:
        """The answer: `yes`, `yes, with conditions`, `no` or `not known`."""
        return self._advice.answer.value

    @property
    def headline(self) -> str:
        """The answer in words."""
        return str(self._document["headline"])

    @property
    def actions(self) -> list[dict[str, Any]]:
        """The steps: `action`, `when`, the losses that it is `against`, and whether it is `required`."""
        return list(self._document["actions"])

    @property
    def losses(self) -> list[dict[str, Any]]:
        """The losses that were asked about: `name`, `state`, `coincidence`, `source` and others."""
        return list(self._document["losses"])

    @property
    def deciding(self) -> list[str]:
        """The names of the losses that speak against the configuration."""
        return list(self._document["deciding"])

    @property
    def undecided(self) -> list[str]:
        """The names of the losses that were not decided."""
        return list(self._document["undecided"])

    def text(self, commands: bool = False) -> str:
        """Return what `fencepost advise` prints, with `--commands` if asked for."""
        return as_text(self._advice, commands)

    def html(self) -> str:
        """Return the page that `fencepost advise --format html` writes."""
        return page(self._advice)

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
        """Return the answer, and the steps as a table, which notebooks show."""
        steps = [(one["action"], ", ".join(one["against"]), _yes(one["required"])) for one in self.actions]
        shown = table(("step", "against", "required"), steps) if steps else ""
        return f"<p>{escape(self.headline)}</p>{shown}"


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
    accept: str | Iterable[str] = (),
    timeout: float = 300.0,
    fresh: bool = False,
) -> Advised:
    """Say whether a configuration on a release may lose acknowledged entries, and what to do.

    The arguments are the options of `fencepost advise`; `files` are those of `--from`, and `timeout` counts
    seconds. A value that is not given is that of the last file that has it, or the default. The answer to a
    usual setup ships, and `fresh` computes it. Raises BadInput, and KeyboardInterrupt after Ctrl-C.
    """
    until = time.perf_counter() + number("timeout", timeout, SECONDS)
    paths = (files,) if isinstance(files, str | PathLike) else files
    given = {
        "ensemble": ensemble,
        "write_quorum": write_quorum,
        "ack_quorum": ack_quorum,
        "bookies": bookies,
    }
    unasked = asked_setup(
        **{name: number(name, size, SIZE) for name, size in given.items() if size is not None},
        release=release,
        pulsar=pulsar,
        files=[fspath(path) for path in paths],
        journal=journal,
        sync=sync,
        checks=checks,
        storage=storage,
        accept=texts(accept),
    )
    *_, advice = advice_on(unasked, lambda: until - time.perf_counter(), fresh=fresh)
    return Advised(advice)


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
