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
from fencepost.cli.options.numbers import GIB, PORT, SECONDS, STEPS
from fencepost.cli.options.protocols import find_protocol
from fencepost.cli.options.settings import setting, settings_option
from fencepost.cli.process.handover import say
from fencepost.cli.rendering.output import write_whole
from fencepost.encoding.documents import read_json
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.reachability import ReachabilityAnswer
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.safe_text import defused
from fencepost.encoding.solving.solvers import SOLVERS
from fencepost.explore.explorer import Explorer
from fencepost.explore.paths import ExplorerPath
from fencepost.explore.saved_paths import opened
from fencepost.explore.shell import Shell, World, talk
from fencepost.explore.solver_questions import SolverDesk

HINT = "give a trace that `check --traces` or an exploration wrote"


@click.command()
@click.argument("protocol", metavar="PROTOCOL|FILE.py")
@settings_option
@click.option("--trace", "file", type=click.Path(), metavar="FILE", help="Begin with a saved trace.")
@click.option(
    "--step", type=STEPS, metavar="N", help="With --trace: stand after its step N (default: its end)."
)
@click.option(
    "--port", type=PORT, default=0, metavar="N", help="Serve the page at this port (default: a free one)."
)
@click.option("--no-browser", is_flag=True, help="Only print the address of the page.")
@click.option("--text", is_flag=True, help="In the terminal: a command a line from standard input.")
@click.option(
    "--timeout",
    type=SECONDS,
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for each question.",
)
@click.option("--memory", type=GIB, metavar="GIB", help="Memory for each solver process.")
@click.option(
    "--solver", type=click.Choice(list(SOLVERS)), default="cadical", show_default=True, help="Who answers."
)
def command(
    protocol: str,
    settings: tuple[str, ...],
    file: str | None,
    step: int | None,
    text: bool,
    port: int,
    no_browser: bool,
    **limits: Any,
) -> int:
    """Step through PROTOCOL, or the one in FILE.py, by hand: what is possible, what it would change, what is not
    possible and why; and ask the solver how something can become so from there. In the browser, or with --text in
    the terminal.
    """
    if step is not None and file is None:
        raise BadInput(f"--step {step}: only with --trace; add it, or leave --step out")
    saved = None if file is None else read_json(Path(file), HINT)
    explorer = Explorer(_instance(protocol, settings, saved))
    walk = ExplorerPath() if file is None else opened(explorer, saved, file, step)
    explorer.at(walk)
    asker = SolverDesk(explorer, Limits(**limits))
    if not text:
        return _serve(explorer, asker, walk, port, no_browser)
    if port or no_browser:
        raise BadInput(f"{'--no-browser' if no_browser else f'--port {port}'}: not with --text; leave it out")
    world = World(write_whole, _tell, stays=sys.stdin.isatty())
    talk(Shell(explorer, asker, world, walk), _lines(), _say, not sys.stdin.isatty())
    return int(ExitCode.AS_WISHED)


def _instance(protocol: str, settings: tuple[str, ...], saved: object) -> Instance:
    """The protocol, set as a saved trace is unless told otherwise; raises BadInput."""
    given = dict(setting(text, "NAME=VALUE") for text in settings)
    theirs: dict[str, object] = {}
    if isinstance(saved, dict):
        for kind in ("parameters", "switches"):
            theirs |= saved[kind] if isinstance(saved.get(kind), dict) else {}
    return find_protocol(protocol).instance({**theirs, **given}.items())


def _serve(explorer: Explorer, asker: SolverDesk, walk: ExplorerPath, port: int, no_browser: bool) -> int:
    """Serve the page until somebody ends it."""
    try:
        from fencepost.explore.server import serve
    except ModuleNotFoundError as error:
        raise BadInput(
            f"the page needs {error.name}; pip install 'fencepost[explore]', or say --text"
        ) from error

    def ready(address: str) -> None:
        _say(address)
        click.echo("Ctrl-C ends it. The address is for you alone: it has the token of this start.", err=True)
        if not no_browser and any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
            webbrowser.open(address)

    serve(explorer, asker, walk, port, ready)
    return int(ExitCode.AS_WISHED)


def _lines() -> Iterator[str]:
    """The commands; on a terminal each is asked for."""
    if not sys.stdin.isatty():
        yield from sys.stdin
        return
    _take_terminal()
    say("`look` says where you are, `help` what there is, `quit` ends it\n> ")
    for line in sys.stdin:
        yield line
        say("> ")


def _take_terminal() -> None:
    """Be the one who reads from the terminal, and hears its Ctrl-C: what is supervised stands in the background else."""
    with suppress(OSError):
        os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _say(line: str) -> None:
    say(defused(line) + "\n")


def _tell(answer: ReachabilityAnswer) -> None:
    """How a question goes, on a terminal."""
    if sys.stderr.isatty():
        click.echo(
            f"\r\x1b[K{'' if answer.over else defused(f'{answer}; {answer.doing}')[:100]}", err=True, nl=False
        )
