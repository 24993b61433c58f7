"""Results as the document of a check has them."""

from __future__ import annotations

from typing import Any

from fencepost.cli.rendering.check_documents import result_object
from fencepost.encoding.engine.verdicts import Result


def object_of(result: Result) -> dict[str, Any]:
    """Return the object of a result, with nothing that the command adds."""
    nothing = dict.fromkeys(("uncertified", "try_next", "instance"))
    return result_object(result, **nothing, known=(), may_hide=(), false_because=())
