"""Files of conformance runs on the real code, with all exchanges, to be checked again without the code.

A file is JSON Lines: a head, then for each run a line with the run and its exchanges, and last the number of
runs with a digest of the whole file.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.encoding import keys as k
from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.documents import Key, has_keys
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find
from fencepost.realcode.conformance import action_of, ground_of, spelled
from fencepost.realcode.harness_session import Playback
from fencepost.realcode.reproduction import Setting
from fencepost.realcode.runs import ConformanceRun, Ground
from fencepost.realcode.transcripts import (
    DIGEST,
    HEAD,
    Lines,
    Numbered,
    exchange_of,
    exchanges_to_json,
    head,
    json_lines,
    read_run,
)

SCHEMA = "fencepost.runs/4"
HINT = "give what `conform` wrote under FENCEPOST_TRANSCRIPT"

KEYS = HEAD | k.keys(seed=k.whole(least=-(10**18) + 1, most=10**18 - 1))
RUN = k.keys(
    settings=Key(dict, "parameters and switches"),
    lost=Key(list, "names of choices"),
    steps=Key(list, "a list of actions, each with its arguments"),
)
END = k.keys(taken=k.whole(), asked=k.whole(), sha256=DIGEST)


@dataclass(frozen=True)
class RecordedRun:
    """A conformance run, and all that was asked of the code and answered."""

    ground: Ground
    run: ConformanceRun
    lines: Lines

    def playback(self) -> Playback:
        """Return a session that answers as the code did."""
        return Playback(self.lines)


@dataclass(frozen=True)
class RunFile:
    """A file of conformance runs."""

    setting: Setting
    recorded: str
    """The day, as 2026-11-22."""
    protocol: str
    seed: int
    runs: tuple[RecordedRun, ...]
    asked: int
    """The number of runs that were asked for."""

    def to_json_lines(self) -> str:
        """Return the text of its file."""
        return json_lines(self._documents())

    def _documents(self) -> Iterator[dict[str, object]]:
        yield {**head(SCHEMA, self.recorded, self.setting, self.protocol), "seed": self.seed}
        for taken in self.runs:
            yield _written(taken)
            yield from exchanges_to_json(taken.lines)
        yield {"taken": len(self.runs), "asked": self.asked}


def _written(taken: RecordedRun) -> dict[str, object]:
    subject = taken.ground.instance.subject
    defaults = find(subject.protocol).instance(()).subject
    plain = {**defaults.parameters, **defaults.switches}
    given = {**subject.parameters, **subject.switches}
    return {
        "settings": {name: value for name, value in given.items() if plain[name] != value},
        "lost": list(taken.run.lost),
        "steps": spelled(taken.run),
    }


def read_run_file(path: Path) -> RunFile:
    """Return the runs in a file.

    Raises BadInput for another form, or if a run is no execution of today's model.
    """
    first, lines, (where, last), setting = read_run(path, SCHEMA, KEYS, HINT)
    end = has_keys(last, END, where)
    taken = tuple(_taken(path, first["protocol"], lines))
    if len(taken) != end["taken"]:
        raise BadInput(f"{where}: taken = {end['taken']}, but the file has {len(taken)} runs; {HINT}")
    return RunFile(setting, first["recorded"], first["protocol"], first["seed"], taken, end["asked"])


def _taken(path: Path, protocol: str, lines: Numbered) -> Iterator[RecordedRun]:
    grounds: dict[tuple[tuple[str, object], ...], Ground] = {}
    for number, (found, exchanges) in enumerate(_runs(lines), 1):
        key = tuple(found["settings"].items())
        if key not in grounds:
            grounds[key] = ground_of(find(protocol).instance(key))
        yield RecordedRun(grounds[key], _run(f"{path}: run {number}", grounds[key], found), exchanges)


def _runs(lines: Numbered) -> Iterator[tuple[dict[str, Any], Lines]]:
    """Yield each run, and the exchanges in the lines after it."""
    begins = [at for at, (_, line) in enumerate(lines) if at == 0 or begins_run(line)]
    for begin, end in itertools.pairwise([*begins, len(lines)]):
        where, line = lines[begin]
        exchanges = tuple(exchange_of(line, where) for where, line in lines[begin + 1 : end])
        yield has_keys(line, RUN, where), exchanges


def begins_run(document: object) -> bool:
    """Return whether a line has a run, and not an exchange."""
    return isinstance(document, dict) and "steps" in document


def _run(where: str, ground: Ground, document: Mapping[str, list[str]]) -> ConformanceRun:
    choices = {v.name for v in ground.instance.system.choices}
    try:
        if unknown := set(document["lost"]) - choices:
            raise NotAnExecution(f"{min(unknown)}: no such choice")
        actions = tuple(action_of(ground, words) for words in document["steps"])
    except (NotAnExecution, TypeError, AttributeError) as error:
        raise BadInput(
            f"{where}: is no execution of today's model ({error}); {HINT}, with this version"
        ) from error
    return ConformanceRun(tuple(document["lost"]), actions)
