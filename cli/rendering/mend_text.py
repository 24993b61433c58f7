"""The mend of a known bug as text: how the rules of the model differ without the bug."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import unified_diff

from fencepost.cli.rendering.check_text import trace_text
from fencepost.cli.rendering.spec_text import spec_text
from fencepost.cli.rendering.verdict_text import verdict_line
from fencepost.encoding.engine.verdicts import Result
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms.action_spec import spec
from fencepost.encoding.language.state import show_all
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Expectation, Run


def require_mends(bugs: Sequence[Expectation], form: str) -> None:
    """Raise BadInput unless there are bugs, a rule mends each of them, and the form is text."""
    if not bugs:
        raise BadInput("--mend: needs the name of a bug; fencepost known --list lists them")
    if form != "text":
        raise BadInput(f"--mend: the difference of the rules is text; leave out --format {form}")
    for known in bugs:
        if known.switch is None:
            raise BadInput(f"--mend: {known.name}: no rule of the model mends it; leave it out")


def shown(title: str, result: Result) -> str:
    """Return the verdict of a run, and the trace of its violation: also of a mend that is not enough."""
    traces = [] if result.trace is None else [trace_text(result.trace)]
    return "\n".join([f"{title}, {verdict_line(result)}", *traces])


def difference_of_rules(known: Expectation) -> str:
    """Return the actions and definitions that the mend changes, each as a difference of its specification."""
    broken, mended = (_sections(run) for run in known.runs())
    of = " ".join(filter(None, [known.protocol, show_all(known.settings)]))
    title = f"{known.name}: rules with {known.switch}={known.broken} (-) and {known.mended} (+), of {of}"
    parts = [title]
    for name in dict.fromkeys([*mended, *broken]):
        changed = list(unified_diff(broken.get(name, []), mended.get(name, []), lineterm="", n=1))
        parts += [name, *(f"  {line}" for line in changed[2:] if not line.startswith("@@"))]
        if not changed:
            parts.pop()
    return "\n".join(parts)


def _sections(run: Run) -> Mapping[str, list[str]]:
    """Return the lines of the specification by action and definition."""
    instance = find(run.known.protocol).instance(run.settings.items(), run.known.release)
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in spec_text(spec(instance.written), run.known.protocol, "").splitlines():
        if line.startswith("#"):
            lines = found.setdefault(line.lstrip("# "), [])
        elif line:
            lines.append(line)
    return found
