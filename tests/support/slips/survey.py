"""The files of each kind of slip, in a fixed order, and what was found in them.

PYTHONPATH=tests python -m support.slips.survey 200 20     # 200 files of each kind, each 20th through `check`
"""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import support.slips.names
import support.slips.objects
import support.slips.operators
import support.slips.parts
import support.slips.values  # noqa: F401 - their kinds
from support.slips.files import File, write
from support.slips.kinds import KINDS, Slip, slips
from support.slips.losses import PLACES, shared
from support.slips.reference import Reading, TooLarge, read
from support.slips.running import Answer, ask, finding

EACH = 4
"""How many slips of a kind are taken from one file."""

LOSSES = {
    f"one loss for several sendings: {where}{more}": (where, not more)
    for more in ("", ", without received=")
    for where in PLACES
}
ALL = (*KINDS, *LOSSES)


@cache
def base(seed: int) -> tuple[File, Reading] | None:
    """Return the file of a seed without a slip, with its reading; None if it says too little or too much."""
    file = write(seed)
    try:
        reading = read(str(file.text))
    except TooLarge:
        return None
    told = any(
        verdict != ("violated", 0) and verdict[0] != "vacuous" for verdict in reading.verdicts.values()
    )
    usable = not (reading.bad or reading.meaningless) and reading.states > 2 and told
    return (file, reading) if usable else None


def bases() -> Iterator[tuple[File, Reading]]:
    """Yield the files without a slip, in the order of their seeds."""
    return (found for seed in itertools.count() if (found := base(seed)) is not None)


def files(kind: str) -> Iterator[Slip]:
    """Yield the files of a kind: some slips of each file in turn."""
    if kind in LOSSES:
        for seed in itertools.count():
            yield from shared(*LOSSES[kind], seed)
    for file, _ in bases():
        made = list(slips(kind, file))
        yield from random.Random(file.seed).sample(made, min(EACH, len(made)))


@dataclass
class Row:
    """What was found in the files of one kind."""

    kind: str
    files: int = 0
    refused: int = 0
    agreed: int = 0
    found: Counter[str] = field(default_factory=Counter)
    first: dict[str, tuple[Slip, Reading, Answer]] = field(default_factory=dict)

    def note(self, slip: Slip, reading: Reading, answer: Answer) -> None:
        self.files += 1
        wrong = finding(reading, answer, slip.must_refuse)
        if wrong:
            self.found[wrong] += 1
            known = self.first.get(wrong)
            if known is None or len(slip.text) < len(known[0].text):
                self.first[wrong] = slip, reading, answer
        elif answer.refused:
            self.refused += 1
        else:
            self.agreed += 1

    def __str__(self) -> str:
        found = ", ".join(f"{name} {number}" for name, number in self.found.most_common())
        return f"{self.kind:60} {self.files:5} {self.refused:7} {self.agreed:6}  {found}"


def survey(kind: str, number: int, folder: Path, command_each: int = 0) -> Row:
    """Return what is found in so many files of a kind.

    All states of each are visited; every `command_each`-th also goes through the command with its engines.
    """
    row, seen = Row(kind), set[str]()
    for slip in files(kind):
        if row.files == number:
            break
        if slip.text in seen:
            continue
        seen.add(slip.text)
        try:
            reading = read(slip.meant)
        except TooLarge:
            continue
        answer = ask(slip.text, folder, command=False)
        wrong = finding(reading, answer, slip.must_refuse)
        if command_each and row.files % command_each == 0 and not wrong:
            answer = ask(slip.text, folder, command=True)
        row.note(slip, reading, answer)
    return row


def main(number: int, command_each: int, *kinds: str) -> None:
    """Print the table, and a shortest file of each finding."""
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for kind in kinds or ALL:
            rows.append(survey(kind, number, Path(folder), command_each))
            print(rows[-1], flush=True)
    for row in rows:
        for wrong, (slip, reading, answer) in row.first.items():
            print(f"\n=== {row.kind}: {wrong}\n{slip.text}\n--- {reading}\n--- {answer}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
