"""The kept traces of known bugs for the real code, and transcripts of real runs."""

from __future__ import annotations

from pathlib import Path

from fencepost.answers.known import KNOWN, chosen
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.language.traces import Trace
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Run
from fencepost.realcode.matrix import kept
from fencepost.realcode.transcripts import Transcript, read_transcript

TRANSCRIPTS = Path(__file__).parent.parent / "realcode" / "transcripts"


def kept_trace(bug: str) -> Trace:
    """Return the kept counterexample of a known bug, replayed."""
    (known,) = chosen(KNOWN, [bug])
    instance = find(known.protocol).instance(Run(known).settings.items())
    (prop,) = instance.properties(known.property)
    return kept(known.name, Replayer(instance.system, instance.subject), prop)


def transcript_of(bug: str, release: str, storage: str = "sorted") -> Transcript:
    """Return the transcript of a real run of that bug's counterexample."""
    name = bug.removeprefix("#").replace("/", "-")
    return read_transcript(TRANSCRIPTS / f"{name}.{release}.{storage}.jsonl")
