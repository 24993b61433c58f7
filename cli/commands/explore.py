"""`fencepost explore`: step through a protocol by hand, and ask the solver from there."""

from __future__ import annotations

import os
import signal
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.options.grouped import LIMITS, grouped_command, option
from fencepost.cli.options.numbers import PORT, SECONDS, STEPS
from fencepost.cli.options.protocols import find_protocol, instance_options
from fencepost.cli.options.refused import refuse
from fencepost.cli.options.search import memory_option, solver_option
from fencepost.cli.options.settings import settings_of
from fencepost.cli.process.handover import say
from fencepost.cli.rendering.output import write_whole
from fencepost.encoding.documents import read_json
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.rounds.reachability import ReachabilityAnswer
from fencepost.encoding.safe_text import defused
from fencepost.explore.explorer import Explorer
from fencepost.explore.paths import ExplorerPath
from fencepost.explore.saved_paths import opened
from fencepost.explore.shell import Shell, World, talk
from fencepost.explore.solver_questions import SolverDesk

START = "Start"

HINT = "give a trace that `check --traces` or an exploration wrote"


@grouped_command(example="fencepost explore bookkeeper-4.13 --text")
@instance_options
@option("--trace", "file", type=click.Path(), metavar="FILE", group=START, help="Begin with a saved trace.")
@option(
    "--step",
    type=STEPS,
    metavar="N",
    group=START,
    help="With --trace: begin after step N.  [default: its end]",
)
@option("--text", is_flag=True, group=START, help="Read commands from standard input, without a browser.")
@option(
    "--port", type=PORT, default=0, metavar="N", group=START, help="Port of the page.  [default: a free one]"
)
@option("--no-browser", is_flag=True, group=START, help="Print the address of the page and open no browser.")
@solver_option
@option(
    "--timeout-per-question",
    "timeout",
    type=SECONDS,
    default=60.0,
    metavar="SECONDS",
    group=LIMITS,
    help="Time for each question to the solver.  [default: 60]",
)
@memory_option
def command(
    protocol: str,
    settings: tuple[str, ...],
    release: str | None,
    file: str | None,
    step: int | None,
    text: bool,
    port: int,
    no_browser: bool,
    **limits: Any,
) -> int:
    """Step through PROTOCOL, or the one in FILE.py, by hand.

    In the browser, or with --text in the terminal: the actions that are possible and what each changes, why
    the others are not possible, and, asked of the solver, how they can become possible.
    """
    if step is not None and file is None:
        raise BadInput(f"--step {step}: only with --trace; add it, or leave --step out")
    saved = None if file is None else read_json(Path(file), HINT)
    explorer = Explorer(_instance(protocol, settings, release, saved))
    path = ExplorerPath() if file is None else opened(explorer, saved, file, step)
    explorer.at(path)
    asker = SolverDesk(explorer, Limits(**limits))
    if not text:
        return _serve(explorer, asker, path, port, no_browser)
    refuse("--text", "port", "no_browser")
    world = World(write_whole, _tell, stays=sys.stdin.isatty())
    talk(Shell(explorer, asker, world, path), _lines(), _say, not sys.stdin.isatty())
    return int(ExitCode.SUCCESS)


def _instance(protocol: str, settings: tuple[str, ...], release: str | None, saved: object) -> Instance:
    """Return the instance of a saved trace, with the settings given on the command line; raises BadInput."""
    given = dict(settings_of(settings))
    theirs: dict[str, object] = {}
    if isinstance(saved, dict):
        for kind in ("parameters", "switches"):
            theirs |= saved[kind] if isinstance(saved.get(kind), dict) else {}
    return find_protocol(protocol).instance({**theirs, **given}.items(), release)


def _serve(explorer: Explorer, asker: SolverDesk, path: ExplorerPath, port: int, no_browser: bool) -> int:
    """Serve the page until the command is interrupted."""
    try:
        from fencepost.explore.server import serve
    except ModuleNotFoundError as error:
        raise BadInput(
            f"the page needs {error.name}; pip install 'fencepost[explore]', or say --text"
        ) from error

    def ready(address: str) -> None:
        _say(address)
        click.echo("Ctrl-C ends it. Keep the address to yourself: it contains the access token.", err=True)
        if not no_browser and any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
            webbrowser.open(address)

    serve(explorer, asker, path, port, ready)
    return int(ExitCode.SUCCESS)


def _lines() -> Iterator[str]:
    """Yield the lines of standard input, after a prompt for each on a terminal."""
    if not sys.stdin.isatty():
        yield from sys.stdin
        return
    _take_terminal()
    say("`look` says where you are, `help` what there is, `quit` ends it\n> ")
    for line in sys.stdin:
        yield line
        say("> ")


def _take_terminal() -> None:
    """Make this process the foreground group of the terminal: it reads from there and receives Ctrl-C."""
    with suppress(OSError):
        os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _say(line: str) -> None:
    say(defused(line) + "\n")


def _tell(answer: ReachabilityAnswer) -> None:
    """Show the progress of a question on a terminal."""
    if sys.stderr.isatty():
        click.echo(
            f"\r\x1b[K{'' if answer.over else defused(f'{answer}; {answer.doing}')[:100]}", err=True, nl=False
        )
