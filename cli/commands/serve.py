"""`fencepost serve`: answer programs that write or read protocols."""

from __future__ import annotations

from pathlib import Path

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.options.grouped import LIMITS, grouped_command, option
from fencepost.cli.options.numbers import SECONDS
from fencepost.encoding.errors import BadInput

START = "Start"


@grouped_command(example="fencepost serve --folder protocols --allow-run")
@option(
    "--folder",
    type=click.Path(),
    metavar="DIR",
    group=START,
    help="Read files in this folder only.  [default: no files]",
)
@option("--allow-run", is_flag=True, group=START, help="Run Python files of the folder as protocols.")
@option(
    "--timeout-per-question",
    "seconds",
    type=SECONDS,
    default=120.0,
    metavar="SECONDS",
    group=LIMITS,
    help="Time for each command of a question.  [default: 120]",
)
def command(folder: str | None, allow_run: bool, seconds: float) -> int:
    """Answer programs that connect: describe, check, count, explain, find invariants, quorum, advise.

    They speak the Model Context Protocol on stdin and stdout. Every answer is bounded in size and time.
    Nothing outside the folder is read, and a Python file in it is run only with --allow-run. A file that is
    run can do all that you can do.
    """
    if allow_run and folder is None:
        raise BadInput("--allow-run: no folder is named; add --folder DIR, or leave it out")
    if folder is not None and not Path(folder).is_dir():
        raise BadInput(f"--folder {folder}: is no folder; give the one that has the files")
    try:
        from fencepost.cli.mcp_server import Door, mcp_server
    except ModuleNotFoundError as error:
        raise BadInput(f"serve needs {error.name}; pip install 'fencepost[mcp]'") from error
    mcp_server(Door(None if folder is None else Path(folder).resolve(), allow_run, seconds)).run()
    return int(ExitCode.SUCCESS)
