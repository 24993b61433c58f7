"""The document of an error: what `--format json` prints on stdout when a command has no result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

from fencepost.cli.exits import MEANINGS, ExitCode
from fencepost.encoding import keys as k
from fencepost.encoding.safe_text import defused

ERROR = k.document(
    "fencepost.error/1",
    error=k.text("the line that stands on stderr: the value, the rule that it broke, what would be valid"),
    exit_code=k.whole("the exit code of the command"),
    meaning=k.among(MEANINGS.values(), "the meaning of the exit code"),
)


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether the arguments of a command ask for JSON: the last `--format` counts."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    words = [word for argument in own for word in argument.split("=", 1)]
    forms = [form for name, form in pairwise(words) if name == "--format"]
    return forms[-1:] == ["json"]


def error_document(message: str, code: int) -> str:
    """Return the document of an error as text. A code above 128 is that of a signal."""
    known = ExitCode.INTERRUPTED if code > 128 else ExitCode(code)
    content = {"error": message, "exit_code": code, "meaning": MEANINGS[known]}
    return defused(json.dumps(k.headed(ERROR, content), indent=2)) + "\n"
