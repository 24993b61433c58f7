"""`fencepost explore`: step through a protocol by hand, and ask the solver from there."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.options import shared
from fencepost.cli.options.grouped import LIMITS, grouped_command, option
from fencepost.cli.options.numbers import PORT, SECONDS, STEPS
from fencepost.cli.options.protocols import InstanceOptions, find_protocol
from fencepost.cli.process.handover import say
from fencepost.encoding.documents import read_json
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.safe_text import defused
from fencepost.explore.explorer import Explorer
from fencepost.explore.paths import ExplorerPath
from fencepost.explore.saved_paths import opened
from fencepost.explore.solver_questions import SolverDesk

START = "Start"

HINT = "give a trace that `check --traces` or an exploration wrote"


class ExploreOptions(InstanceOptions):
    """The options of `fencepost explore`."""

    file: str | None = option("--trace FILE", "Begin with a saved trace.", START)
    step: int | None = option(
        "--step N", "With --trace: begin after step N.  [default: its end]", START, STEPS
    )
    port: int = option("--port N", "Port of the page.  [default: a free one]", START, PORT, default=0)
    no_browser: bool = option("--no-browser", "Print the address of the page and open no browser.", START)
    timeout: float = option(
        "--timeout-per-question SECONDS",
        "Time for each question to the solver.  [default: 60]",
        LIMITS,
        SECONDS,
        default=60.0,
    )


@grouped_command(example="fencepost explore bookkeeper-4.13")
def command(asked: ExploreOptions) -> int:
    """Step through PROTOCOL, or the one in FILE.py, by hand, in the browser.

    The page shows the actions that are possible and what each changes, why the others are not possible, and,
    asked of the solver, how they can become possible.
    """
    if asked.step is not None and asked.file is None:
        raise BadInput(f"--step {asked.step}: only with --trace; add it, or leave --step out")
    saved = None if asked.file is None else read_json(Path(asked.file), HINT)
    explorer = Explorer(_instance(asked.protocol, asked.settings, asked.release, saved))
    path = ExplorerPath() if asked.file is None else opened(explorer, saved, asked.file, asked.step)
    explorer.at(path)
    return _serve(
        explorer, SolverDesk(explorer, Limits(timeout=asked.timeout)), path, asked.port, asked.no_browser
    )


def _instance(protocol: str, settings: shared.Settings, release: str | None, saved: object) -> Instance:
    """Return the instance of a saved trace, with the settings given on the command line; raises BadInput."""
    theirs: dict[str, object] = {}
    if isinstance(saved, dict):
        for kind in ("parameters", "switches"):
            theirs |= saved[kind] if isinstance(saved.get(kind), dict) else {}
    return find_protocol(protocol).instance({**theirs, **dict(settings)}.items(), release)


def _serve(explorer: Explorer, asker: SolverDesk, path: ExplorerPath, port: int, no_browser: bool) -> int:
    """Serve the page until the command is interrupted."""
    try:
        from fencepost.explore.server import serve
    except ModuleNotFoundError as error:
        raise BadInput(f"the page needs {error.name}; pip install 'fencepost[explore]'") from error

    def ready(address: str) -> None:
        say(defused(address) + "\n")
        click.echo("Ctrl-C ends it. Keep the address to yourself: it contains the access token.", err=True)
        if not no_browser and any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
            webbrowser.open(address)

    serve(explorer, asker, path, port, ready)
    return ExitCode.SUCCESS
