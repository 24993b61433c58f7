"""Names of commands, options and forms that 1.0 had: an error says what to use now. They go with 2.0."""

from __future__ import annotations

from collections.abc import Sequence

COMMANDS = {
    "trace": "export FILE",
    "count": "check PROTOCOL --engine states",
    "simulate": "check PROTOCOL --engine simulation",
    "releases": "known --list` or `fencepost known --release R",
    "sweep run": "sweep GRID.toml DIR",
    "sweep report": "export DIR",
    "sweep trace": "export DIR --row ID",
}
OPTIONS = {
    "check --rounds": "check --bound rounds=R",
    "protocols --spec": "export PROTOCOL",
    "protocols --set": "export PROTOCOL --set NAME=VALUE",
    "protocols --release": "export PROTOCOL --release R",
    "export --action": "export PROTOCOL --what NAME",
    "follow --unread": "follow --format json",
    "known --bookkeeper": "reproduce [BUG]... --bookkeeper LIB",
    "prove --up-to": "prove",
    "quorum --format csv": "quorum --format json",
    "quorum --min-racks": "quorum --from FILE",
    "quorum --delay-ensemble-change": "quorum --from FILE",
    "quorum --opportunistic-striping": "quorum --from FILE",
    "serve --mcp": "serve",
    "sweep --bookkeeper": "conform PROTOCOL --bookkeeper LIB --seed N",
    "check --require-proof": "check --expect proved",
    "check --known-as-expected": "check --expect known",
    "check --format sequencediagram": "check --format mermaid",
    "export --format sequencediagram": "export FILE --format mermaid",
    "export --diff": "export OTHER | diff - TEXT",
    "export --eval": "export FILE --format json",
    "advise --checks": "advise --from FILE",
    "advise --format html": "advise --format json",
    "export DIR --format html": "export DIR --format csv",
}


def new_command(words: Sequence[str]) -> str | None:
    """Return what the old command that these words begin with is now, if they do."""
    for old, new in COMMANDS.items():
        if list(words[: len(old.split())]) == old.split():
            return f"{old}: is now `fencepost {new}`"
    return None


def new_option(command: str | None, option: str) -> str | None:
    """Return what an old option of a command is now, or an old value of one, if it is one."""
    new = OPTIONS.get(f"{command} {option}")
    return None if new is None else f"{option}: is now `fencepost {new}`"
