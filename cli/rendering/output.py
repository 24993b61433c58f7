"""Results go to stdout, or to a file that is written whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from fencepost.cli.options.grouped import OUTPUT, Options, option
from fencepost.cli.process.handover import at_home, say
from fencepost.encoding.errors import BadInput
from fencepost.encoding.safe_text import defused

FORMATS = ("text", "json")

Found = TypeVar("Found")


def form_option_of(names: Sequence[str]) -> Any:
    """Return the option `--format` of a command whose result has those forms."""
    return option(
        "--format FORM", f"Form of the result: {', '.join(names)}.", OUTPUT, type=names, default="text"
    )


def _writable(context: click.Context, parameter: click.Parameter, file: str | None) -> str | None:
    """Raise BadInput before any work for a file that could not be written after it."""
    if file is not None:
        try:
            place = at_home(Path(file)).resolve()
            if place.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if renamed_into_place(place):
                tempfile.TemporaryFile(dir=place.parent).close()
        except (OSError, ValueError) as error:
            raise _unwritable(file, error) from error
    return file


def _unwritable(file: str | Path, error: OSError | ValueError) -> BadInput:
    why = getattr(error, "strerror", error)
    return BadInput(f"{file}: cannot be written ({why}); give a file in a folder you can write to")


class _NewFile(click.Path):
    """A file that shells complete, and that `_writable` looks at."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name as it is."""
        return value


def file_option(form: str, help: str) -> Any:
    """Return an option that takes a file to be written; one that cannot be written is refused at once."""
    return option(form, help, OUTPUT, _NewFile(), callback=_writable)


output_option = file_option("-o, --output FILE", "Write the result to a file instead of stdout.")


class ResultOptions(Options):
    """The form of a command's result, and the file that it is written to."""

    form: str = form_option_of(FORMATS)
    output: str | None = output_option

    def show(
        self,
        result: Found,
        text: Callable[[Found], str | Iterable[str]],
        document: Callable[[Found], Mapping[str, Any]],
    ) -> None:
        """Print a result, or write it to the file, as a document or as text, which may be made of lines."""
        if self.form == "json":
            emit(document(result), self.output)
        else:
            told = text(result)
            emit(told if isinstance(told, str) else "\n".join(told), self.output)


Result = str | Mapping[str, Any]
"""A result as text, or as a document for programs."""


def whole_text(result: Result) -> str:
    """Return a result as it is printed; a document becomes JSON.

    Control characters are escaped, because names come from files and protocols of others.
    """
    return defused(result if isinstance(result, str) else json.dumps(result, indent=2)) + "\n"


def emit(result: Result, output: str | None) -> None:
    """Print a result, or write it to the file `output`; raises BadInput if that cannot be."""
    if output is None:
        say(whole_text(result))
    else:
        write_whole(Path(output), whole_text(result))


def write_whole(path: Path, content: str | bytes) -> None:
    """Write `content` to a temporary file beside `path`, then rename it; raises BadInput if it cannot be.

    A device or a pipe is written to directly. A link stays and leads to the content.
    """
    temporary, given = None, path
    try:
        path = at_home(path).resolve()
        if not renamed_into_place(path):
            path.write_bytes(_written(content))
            return
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(_written(content))
        os.chmod(temporary, 0o666 & ~umask())
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        raise _unwritable(given, error) from error
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def _written(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def renamed_into_place(path: Path) -> bool:
    """Return whether a path is written by renaming: it is a regular file or new, not a device or a pipe."""
    return path.is_file() or not path.exists()


def umask() -> int:
    """Return the permissions that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def prepare_folder(folder: Path) -> None:
    """Make the folder if it is not there; raises BadInput if that cannot be."""
    place = at_home(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=place).close()
    except OSError as error:
        raise BadInput(
            f"{folder}: cannot be written to ({error.strerror}); give a folder you can write to"
        ) from error
