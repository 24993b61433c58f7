"""The mutants of the presets that no property notices, each with its explanation.

    python benchmarks/teeth.py FOLDER --output docs/generated/teeth.md

`fencepost weaken` is run for each instance of `INSTANCES`, and its JSON is kept in FOLDER. A file that is
already there is not made again. A preset whose run has not ended is named as such.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TWO_OF_ONE = ("bookies=2", "ensemble=2", "write_quorum=2", "ack_quorum=1")
INSTANCES: dict[str, tuple[str, ...]] = {
    "bookkeeper": TWO_OF_ONE,
    "bookkeeper-no-journal": (),
    "bookkeeper-4.13": ("recovery_reads_fence=yes",),
    "ledger-chain": ("clients=2", "elections=2"),
    "ledger-copies": (),
    "verified-log-01": (),
    "verified-log-02": ("nodes=1", "replicas=1", "crashes=0"),
    "verified-log-03": ("nodes=1", "replicas=1", "crashes=0"),
    "verified-log-04": (
        "nodes=1",
        "replicas=1",
        "suspend_demotes=no",
        "one_order=yes",
        "late_takeover=ignored",
    ),
    "bookkeeper-guaranteed-write-quorum": ("bookies=2", "entries=1"),
    "bookkeeper-unbounded": ("bookies=1", "write_quorum=1", "ack_quorum=1", "values=1"),
}
"""The presets, each with the settings of a small instance on which its main properties hold."""

HEAD = """\
# Changes that no property notices

Written by `python benchmarks/teeth.py`. [teeth.md](../teeth.md) says what follows from these lists.
"""


def result(preset: str, settings: tuple[str, ...], folder: Path, seconds: float) -> dict[str, Any] | None:
    """Return the document of `weaken` about an instance, None if the run has not ended."""
    file = folder / f"{preset}.json"
    if not file.exists() and seconds:
        options = [word for setting in settings for word in ("--set", setting)]
        asked = ["weaken", preset, *options, f"--timeout={seconds:g}", "--format=json", f"--output={file}"]
        subprocess.run([str(Path(sys.executable).with_name("fencepost")), *asked], check=False)
    document: dict[str, Any] | None = json.loads(file.read_text("utf-8")) if file.exists() else None
    return document


def brief(text: str) -> str:
    """Return the text of a mutant as the page has it."""
    text = " ".join(text.split()).replace("|", "\\|")
    return text if len(text) <= 90 else f"{text[:88]} …"


def section(preset: str, settings: tuple[str, ...], document: dict[str, Any] | None) -> Iterator[str]:
    """Yield the lines about one preset."""
    given = "".join(f" --set {setting}" for setting in settings)
    yield f"## {preset}"
    yield ""
    if document is None:
        yield f"The run of `weaken {preset}{given}` has not ended."
        return
    counts = Counter(mutant["outcome"] for mutant in document["mutants"])
    told = ", ".join(f"{number} {outcome}" for outcome, number in counts.most_common())
    clean = ", ".join(name for name, verdict in document["unchanged"].items() if verdict == "proved")
    yield f"`weaken {preset}{given}`: {told}. Proved without a change: {clean}."
    yield ""
    yield "| action | change | text | explanation |"
    yield "|---|---|---|---|"
    for mutant in document["mutants"]:
        if mutant["outcome"] in ("not noticed", "undecided"):
            why = mutant["why"] or mutant["reason"]
            if mutant["outcome"] == "undecided":
                why = f"undecided: {why}"
            if mutant["reason"].startswith("no property depends on"):
                why = mutant["reason"]
            last = f": {mutant['shown'][-1]}" if mutant["shown"] else ""
            yield f"| {mutant['action']} | {mutant['change']} | `{brief(mutant['text'])}` | {why}{last} |"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description="List the mutants of the presets that no property notices.")
    parser.add_argument("folder", type=Path, help="the folder of the JSON documents")
    parser.add_argument("--seconds", type=float, default=600.0, help="for each preset; 0: run nothing")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="write the page")
    given = parser.parse_args()
    lines = [HEAD]
    for preset, settings in INSTANCES.items():
        lines += [*section(preset, settings, result(preset, settings, given.folder, given.seconds)), ""]
        given.output.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
