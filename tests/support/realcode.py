"""The kept traces of known bugs for the real code, and transcripts of real runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest import MonkeyPatch

from fencepost.advice.known import KNOWN, chosen
from fencepost.cli.main import run
from fencepost.cli.options.shared import PLAYBACK, TRANSCRIPT
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.language.traces import Trace
from fencepost.explore.scripts import run_script, script_in
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Run
from fencepost.realcode.course import Ending
from fencepost.realcode.harness_session import Harness, answering
from fencepost.realcode.matrix import kept
from fencepost.realcode.transcripts import Transcript, read_transcript

TRANSCRIPTS = Path(__file__).parent.parent / "realcode" / "transcripts"
SCRIPTS = Path(__file__).parents[2] / "examples" / "scripts"
OF_SCRIPTS = TRANSCRIPTS.parent / "scripts"
"""The scripts that are shown as examples, and transcripts of real runs of them."""


def run_kept(arguments: Sequence[str]) -> int:
    """Run a command; `--playback FILE` and `--transcript FILE` stand for the variables of the environment."""
    words, variables = list(arguments), {"--playback": PLAYBACK, "--transcript": TRANSCRIPT}
    with MonkeyPatch.context() as patch:
        for option, variable in variables.items():
            if option in words:
                at = words.index(option)
                patch.setenv(variable, words[at + 1])
                del words[at : at + 2]
        return run(words)


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


def not_driven(bug: str, file: Path) -> Path:
    """Write the transcript of a run that ended before it began: sorted storage has no seam for the bug."""
    run = transcript_of(bug, "4.17.4", "db")
    setting = replace(run.setting, storage="sorted")
    none = replace(run, setting=setting, lines=(), ending=Ending.UNDRIVABLE, step=None)
    file.write_text(none.to_json_lines(), encoding="utf-8")
    return file


@cache
def script_trace(name: str, folder: Path = SCRIPTS) -> Trace:
    """Return the trace of a script, as the model runs it."""
    script = script_in(folder / f"{name}.txt")
    assert script is not None
    return run_script(script).trace


JVM_CRASH = "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n#  SIGSEGV (0xb)\n"
"""The beginning of what a JVM prints on its stdout when native code crashes it."""

_ANSWERING = """
import json, os, sys
answers = json.load(open(sys.argv[1]))
pipe = open(sys.argv[3], "w")
for answer in answers:
    sys.stdin.readline()
    print("# a library prints this", flush=True)
    print(answer, file=pipe, flush=True)
sys.stdin.readline()
os.write(1, sys.argv[2].encode())
os.abort()
"""


@contextmanager
def crashing_code(answers: Sequence[str]) -> Iterator[Harness]:
    """Run a process in the place of the code: it gives these answers, printing between them, and crashes."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "answers")
        file.write_text(json.dumps(list(answers)), encoding="utf-8")
        command = [sys.executable, "-c", _ANSWERING, str(file), JVM_CRASH]
        with answering(command, Path(folder)) as harness:
            yield harness
