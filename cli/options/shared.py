"""The options that several commands have."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fencepost.cli.options import completion
from fencepost.cli.options.grouped import CODE, INSTANCE, LIMITS, OUTPUT, SEARCH, option
from fencepost.cli.options.numbers import COUNT, GIB
from fencepost.encoding.documents import whole
from fencepost.encoding.errors import BadInput


def _setting(text: str, form: str) -> tuple[str, str]:
    """Return NAME=VALUE as a pair; raises BadInput."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise BadInput(f"{text}: must have the form {form}")
    return name, value


Settings = Sequence[tuple[str, str]]
"""The names and values of `--set`."""


def _settings(context: click.Context, parameter: click.Parameter, texts: Sequence[str]) -> Settings:
    return [_setting(text, "NAME=VALUE") for text in texts]


MOST_FAULTS = 100_000
"""More faults than executions have steps."""


def budgets(texts: Sequence[str]) -> dict[str, int]:
    """Return the numbers of `--budget FAULT=N` by fault; raises BadInput."""
    found: dict[str, int] = {}
    for text in texts:
        name, value = _setting(text, "FAULT=N, such as lost=1")
        number = whole(value)
        if number is None or not 0 <= number <= MOST_FAULTS:
            raise BadInput(f"{text}: a budget is a whole number, 0 to {MOST_FAULTS:,}; it must be one")
        if name in found:
            raise BadInput(f"{text}: set twice; set it once")
        found[name] = number
    return found


def settings_option(help: str, group: str = SEARCH) -> Any:
    """Return the option `--set`. Its value is pairs of a name and a value."""
    rest = {"callback": _settings, "shell_complete": completion.settings}
    return option("--set NAME=VALUE", help, group, multiple=True, **rest)


# The instance.

settings = settings_option("Set a parameter or a switch (repeatable).", INSTANCE)
release = option(
    "--release R",
    "Take the switches of this release of BookKeeper; --set wins.",
    INSTANCE,
    shell_complete=completion.release_names,
)
properties = option(
    "--property NAME",
    "Check this property (repeatable).  [default: all]",
    INSTANCE,
    multiple=True,
    shell_complete=completion.property_names,
)
budget = option(
    "--budget FAULT=N",
    "Allow at most N faults of a kind (repeatable), such as lost=1.",
    INSTANCE,
    multiple=True,
    callback=lambda context, parameter, texts: budgets(texts),
)
source = option(
    "--protocol FILE.py", "The Python file that holds the protocol, if it is one of your own.", INSTANCE
)

# The search.

jobs = option("--jobs N", "Processes side by side.", SEARCH, COUNT, default=2)
memory = option("--memory GIB", "Memory of each solver process.  [default: no limit]", LIMITS, GIB)
drop_declared = option("--drop-declared", "Hide the invariants that the protocol declares.")
verbose = option("-v, --verbose", "Say on stderr what is being done, and where the time went.", OUTPUT)

# The real BookKeeper.

rules = option(
    "--release R",
    "Compare with the rules of this release, for a LIB of another version.",
    CODE,
    shell_complete=completion.release_names,
)
log = option("--log FILE", "Write BookKeeper's own log to this file.", CODE, click.Path(path_type=Path))

PLAYBACK, TRANSCRIPT = "FENCEPOST_PLAYBACK", "FENCEPOST_TRANSCRIPT"
"""The variables with the file of a run: to take its answers from, and to keep all lines asked and answered.

They are for tests, which have no BookKeeper."""


def file_of(variable: str) -> Path | None:
    """Return the file that a variable of the environment names, if it is set."""
    return Path(os.environ[variable]) if os.environ.get(variable) else None
