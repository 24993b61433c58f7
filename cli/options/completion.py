"""Completion by a shell of names that are not options: protocols, properties, settings, releases, known bugs.

No code of a protocol file is run for it: only protocols that ship are looked into.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, CompletionItem

if TYPE_CHECKING:
    from fencepost.encoding.language.protocol import Protocol


def protocol_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the protocols that ship; if none fits, the word is that of a file."""
    from fencepost.properties.catalogue import FAMILIES

    return _fitting(FAMILIES, incomplete) or [CompletionItem(incomplete, type="file")]


def property_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the properties of the protocol that the command names."""
    protocol = _protocol(context)
    if protocol is None:
        return []
    written = protocol.as_written(protocol.defaults)
    return _fitting((p.name for p in (*written.properties, *written.liveness)), incomplete)


def settings(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return NAME=VALUE for each value of a switch, and for the default of each parameter."""
    protocol = _protocol(context)
    options = [] if protocol is None else protocol.options()
    return _fitting((f"{o.name}={value}" for o in options for value in o.values or (o.default,)), incomplete)


def release_names(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the releases of BookKeeper that were read."""
    from fencepost.protocols.bookkeeper.releases import TAGS

    return _fitting(TAGS, incomplete)


def bug_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the known bugs, without the # that begins a comment in a shell."""
    from fencepost.advice.known import KNOWN

    return _fitting((known.name.removeprefix("#") for known in KNOWN), incomplete)


def _protocol(context: click.Context) -> Protocol | None:
    """Return the protocol of the command, if it ships.

    It is among the arguments, not a parameter, if the option before the cursor has no value yet.
    """
    from fencepost.properties.catalogue import FAMILIES, find

    words = [context.params.get("protocol"), *context.args]
    return next((find(word) for word in words if word in FAMILIES), None)


def _fitting(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class JoinedBash(BashComplete):
    """Completion in bash, which gives `NAME=VALUE` as three words and replaces only the last of them."""

    _joined = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the incomplete one, and this one; words around a = are one."""
        words, incomplete = super().get_completion_args()
        if incomplete == "=":
            words, incomplete = [*words, "="], ""
        last = incomplete
        while len(words) > 1 and words[-1] == "=":
            *words, name, _ = words
            incomplete = f"{name}={incomplete}"
        before = incomplete.removesuffix(last)
        self._joined = before.partition("=")[2] if before.startswith("--") else before
        return words, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """Return the line for bash, without the part that stays."""
        return f"{item.type},{item.value.removeprefix(self._joined)}"
