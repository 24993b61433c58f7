"""The options that choose an instance and its faults, for every command that takes a protocol."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.cli.options import completion
from fencepost.cli.options.grouped import INSTANCE, option
from fencepost.encoding.documents import whole
from fencepost.encoding.errors import BadInput


def setting(text: str, form: str) -> tuple[str, str]:
    """Return NAME=VALUE as a pair; raises BadInput."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise BadInput(f"{text}: must have the form {form}")
    return name, value


def settings_of(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return each NAME=VALUE of `--set` as a pair; raises BadInput."""
    return [setting(text, "NAME=VALUE") for text in texts]


MOST_FAULTS = 100_000
"""More faults than executions have steps."""


def budgets(texts: Sequence[str]) -> dict[str, int]:
    """Return the numbers of `--budget FAULT=N` by fault; raises BadInput."""
    found: dict[str, int] = {}
    for text in texts:
        name, value = setting(text, "FAULT=N, such as lost=1")
        number = whole(value)
        if number is None or not 0 <= number <= MOST_FAULTS:
            raise BadInput(f"{text}: a budget is a whole number, 0 to {MOST_FAULTS:,}; it must be one")
        if name in found:
            raise BadInput(f"{text}: set twice; set it once")
        found[name] = number
    return found


settings_option = option(
    "--set NAME=VALUE",
    "Set a parameter or a switch (repeatable).",
    INSTANCE,
    multiple=True,
    shell_complete=completion.settings,
)
release_option = option(
    "--release R",
    "Take the switches of this release of BookKeeper; --set wins.",
    INSTANCE,
    shell_complete=completion.release_names,
)
properties_option = option(
    "--property NAME",
    "Check this property (repeatable).  [default: all]",
    INSTANCE,
    multiple=True,
    shell_complete=completion.property_names,
)
budget_option = option(
    "--budget FAULT=N",
    "Allow at most N faults of a kind (repeatable), such as lost=1.",
    INSTANCE,
    multiple=True,
)
