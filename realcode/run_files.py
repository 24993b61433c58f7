"""Files of walks: every walk that was taken on the real code with what was asked and answered, to be checked again without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.documents import Key, has_keys, text_key, whole_key
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find
from fencepost.realcode.conformance import action_of, spelled
from fencepost.realcode.harness_session import Playback
from fencepost.realcode.reproduction import Setting
from fencepost.realcode.runs import ConformanceRun, Ground
from fencepost.realcode.transcripts import HEAD, LINE, LINES, Lines, head, lines_of, lines_to_json, read_run

SCHEMA = "fencepost.walks/1"
HINT = "give what `conform --transcript` wrote"

_KEYS = {
    **HEAD,
    "protocol": text_key("the name of a protocol", needed=True),
    "seed": whole_key(-(10**18) + 1, 10**18 - 1, needed=True),
    "walks": Key(list, "a list of walks", needed=True),
}
_WALK = {
    "settings": Key(dict, "parameters and switches", needed=True),
    "lost": Key(list, "names of choices", needed=True),
    "steps": Key(list, "a list of actions, each with its arguments", needed=True),
    "lines": LINES,
}


@dataclass(frozen=True)
class Taken:
    """A walk as it was taken, and what the code said."""

    ground: Ground
    walk: ConformanceRun
    lines: Lines

    def playback(self) -> Playback:
        """A session that answers as the code did."""
        return Playback(self.lines)


@dataclass(frozen=True)
class RunFile:
    """A file of walks."""

    setting: Setting
    recorded: str
    """The day, as 2026-11-22."""
    protocol: str
    seed: int
    taken: tuple[Taken, ...]

    def to_json(self) -> dict[str, object]:
        """As a file has it."""
        return {
            **head(SCHEMA, self.recorded, self.setting),
            "protocol": self.protocol,
            "seed": self.seed,
            "walks": [_written(taken) for taken in self.taken],
        }


def _written(taken: Taken) -> dict[str, object]:
    subject = taken.ground.instance.subject
    defaults = find(subject.protocol).instance(()).subject
    plain = {**defaults.parameters, **defaults.switches}
    given = {**subject.parameters, **subject.switches}
    return {
        "settings": {name: value for name, value in given.items() if plain[name] != value},
        "lost": list(taken.walk.lost),
        "steps": spelled(taken.walk),
        "lines": lines_to_json(taken.lines),
    }


def read_walks(path: Path) -> RunFile:
    """The walks in a file; raises BadInput if it has not the form of one, or its walks are none of today's model."""
    document, setting = read_run(path, SCHEMA, _KEYS, "a file of walks", HINT)
    taken = tuple(_taken(path, document["protocol"], document["walks"]))
    return RunFile(setting, document["recorded"], document["protocol"], document["seed"], taken)


def _taken(path: Path, protocol: str, documents: Sequence[object]) -> Iterator[Taken]:
    grounds: dict[tuple[tuple[str, object], ...], Ground] = {}
    for number, document in enumerate(documents, 1):
        where = f"{path}: walk {number}"
        found = has_keys(document, _WALK, where)
        for line in found["lines"]:
            has_keys(line, LINE, where)
        key = tuple(found["settings"].items())
        if key not in grounds:
            grounds[key] = Ground(find(protocol).instance(key))
        yield Taken(grounds[key], _walk(where, grounds[key], found), lines_of(found["lines"]))


def _walk(where: str, ground: Ground, document: Mapping[str, list[str]]) -> ConformanceRun:
    choices = {v.name for v in ground.instance.system.choices}
    try:
        if unknown := set(document["lost"]) - choices:
            raise NotAnExecution(f"{min(unknown)}: no such choice")
        actions = tuple(action_of(ground, words) for words in document["steps"])
    except (NotAnExecution, TypeError, AttributeError) as error:
        raise BadInput(
            f"{where}: is no walk of today's model ({error}); {HINT}, with this version"
        ) from error
    return ConformanceRun(tuple(document["lost"]), actions)
