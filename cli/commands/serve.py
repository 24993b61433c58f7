"""`fencepost serve`: answer programs that write or read protocols."""

from __future__ import annotations

from pathlib import Path

from fencepost.cli.exits import ExitCode
from fencepost.cli.options.grouped import LIMITS, Options, grouped_command, option
from fencepost.cli.options.numbers import SECONDS
from fencepost.encoding.errors import BadInput

START = "Start"


class ServeOptions(Options):
    """The options of `fencepost serve`."""

    folder: str | None = option("--folder DIR", "Read files in this folder only.  [default: no files]", START)
    allow_run: bool = option("--allow-run", "Run Python files of the folder as protocols.", START)
    seconds: float = option(
        "--timeout-per-question SECONDS",
        "Time for each command of a question.  [default: 120]",
        LIMITS,
        SECONDS,
        default=120.0,
    )


@grouped_command(example="fencepost serve --folder protocols --allow-run")
def command(asked: ServeOptions) -> int:
    """Answer programs that connect: describe, check, count, explain, find invariants, quorum, advise.

    They speak the Model Context Protocol on stdin and stdout. Every answer is bounded in size and time.
    Nothing outside the folder is read, and a Python file in it is run only with --allow-run. A file that is
    run can do all that you can do.
    """
    if asked.allow_run and asked.folder is None:
        raise BadInput("--allow-run: no folder is named; add --folder DIR, or leave it out")
    if asked.folder is not None and not Path(asked.folder).is_dir():
        raise BadInput(f"--folder {asked.folder}: is no folder; give the one that has the files")
    try:
        from fencepost.cli.mcp_server import Door, mcp_server
    except ModuleNotFoundError as error:
        raise BadInput(f"serve needs {error.name}; pip install 'fencepost[mcp]'") from error
    mcp_server(
        Door(None if asked.folder is None else Path(asked.folder).resolve(), asked.allow_run, asked.seconds)
    ).run()
    return ExitCode.SUCCESS
