"""The `fencepost` command. Each subcommand lives in a module of its own, imported when it is called."""

from __future__ import annotations

import errno
import importlib
import os
import traceback
from contextlib import suppress

import click
from click.shell_completion import add_completion_class, shell_complete

from fencepost.cli.error_document import error_document, wants_json
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.old_names import new_command
from fencepost.cli.process.handover import nothing_printed, say_error
from fencepost.encoding.errors import BadInput, InternalError, did_you_mean
from fencepost.encoding.safe_text import defused, one_line
from fencepost.encoding.solving.answers import SolverGaveUpError

TASKS = {
    "Explore a protocol": {
        "protocols": "List the protocols that can be checked, or describe one.",
        "explore": "Step through a protocol by hand, and ask the solver from there.",
    },
    "Check a protocol": {
        "check": "Search for violations of properties, or prove that there are none.",
        "follow": "Say whether a log of a real system is an execution of a protocol.",
        "weaken": "Change the protocol in one place at a time: which property notices?",
        "known": "Check that known bugs are found, and are gone once mended; or list them by release.",
    },
    "Prove and certify": {
        "invariants": "Show which invariants are inductive and what breaks the others, or find some.",
        "certify": "Check a certificate without the solver that made it.",
        "export": "Show a protocol, a saved trace or a sweep in other forms.",
        "prove": "Prove the quorum lemmas for configurations of all sizes.",
    },
    "BookKeeper configurations": {
        "quorum": "Calculate what an E/WQ/AQ configuration survives.",
        "advise": "Rank what a configuration on a release can lose, and what to do.",
    },
    "The real code": {
        "reproduce": "Drive the real BookKeeper through a counterexample or known bugs.",
        "conform": "Compare random executions of a model with the real BookKeeper.",
    },
    "Sweeps": {
        "sweep": "Check a grid of instances on Spark.",
    },
    "Other programs": {
        "serve": "Answer programs that write protocols (Model Context Protocol).",
    },
}
"""The name of each command and its line in `--help`, by task."""

COMMANDS = [name for commands in TASKS.values() for name in commands]
"""The names of the commands: each is in the module of that name, as `command`."""


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of tasks."""
        return COMMANDS

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return the command of that name, if there is one."""
        if name not in COMMANDS:
            return None
        command = importlib.import_module(f"fencepost.cli.commands.{name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name, and the rest of them; fail with one that is like it."""
        name = args[0]
        if new := new_command(args):
            ctx.fail(new)
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No such command {name!r}{did_you_mean(name, COMMANDS)}; valid: {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands of each task under its heading, without importing any of them."""
        width = max(map(len, COMMANDS))
        for task, commands in TASKS.items():
            with formatter.section(task):
                formatter.write_dl([(f"{name:{width}}", line) for name, line in commands.items()])


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 success, 1 violated or refuted, 2 bad input, 3 undecided or vacuous, "
    "4 internal error.",
)
@click.version_option(package_name="fencepost", prog_name="fencepost")
def cli() -> None:
    """Fencepost proves replicated-log protocols safe, or shows how they lose data."""


COMPLETE = "_FENCEPOST_COMPLETE"
"""The variable in which a shell asks for its completion script, or for the words that fit."""

SHELLS = ("bash", "zsh", "fish")


def complete(instruction: str) -> int:
    """Answer a shell; raises BadInput for an instruction that no shell gives."""
    valid = [f"{shell}_{verb}" for shell in SHELLS for verb in ("source", "complete")]
    if instruction not in valid:
        raise BadInput(f"{COMPLETE}={instruction}: is no instruction for a shell; valid: {', '.join(valid)}")
    from fencepost.cli.options.completion import JoinedBash

    add_completion_class(JoinedBash)
    return shell_complete(cli, {}, "fencepost", COMPLETE, instruction)


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""The errors of a file that cannot be written for want of room."""


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; errors become one line on stderr.

    Under `--format json` they become a document on stdout too.
    """
    nothing_printed()
    code, error = _run_command(arguments)
    if error is not None:
        if wants_json(arguments):
            say_error(error_document(error, code))
        _say(f"fencepost: {error}")
    return code


def _run_command(arguments: list[str]) -> tuple[int, str | None]:
    """Run one command and return its exit code, and the line of an error if there is one."""
    try:
        if instruction := os.environ.get(COMPLETE):
            return complete(instruction), None
        result = cli.main(arguments, prog_name="fencepost", standalone_mode=False)
    except click.exceptions.Exit as error:
        return error.exit_code, None
    except click.ClickException as error:
        return _fail(error.format_message(), ExitCode.BAD_INPUT)
    except BadInput as error:
        return _fail(str(error), ExitCode.BAD_INPUT)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", ExitCode.INTERRUPTED)
    except SystemExit as error:
        said = f"the code of the protocol file calls sys.exit({error.code!r}); a protocol only describes"
        return _fail(said, ExitCode.BAD_INPUT)
    except SolverGaveUpError as error:
        return _fail(f"undecided: {error}", ExitCode.UNDECIDED)
    except InternalError as error:
        return _internal(f"internal error: {one_line(str(error))}\n")
    except OSError as error:
        if error.errno not in FULL:
            return _internal(f"internal error\n{traceback.format_exc()}")
        where = error.filename or "a file"
        said = f"{where}: cannot be written ({error.strerror}); make room, or write elsewhere"
        return _fail(said, ExitCode.BAD_INPUT)
    except Exception:  # noqa: BLE001 - a traceback must never look like a verdict
        return _internal(f"internal error\n{traceback.format_exc()}")
    return int(result or 0), None


def _fail(message: str, code: ExitCode) -> tuple[int, str]:
    return int(code), one_line(message)


def _internal(message: str) -> tuple[int, str]:
    return int(ExitCode.INTERNAL), f"{message}Please report this with the command you ran."


def _say(message: str) -> None:
    """Print on stderr; a full disk there changes no exit code."""
    with suppress(OSError):
        click.echo(defused(message), err=True)
