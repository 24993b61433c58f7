"""Leave out every conjunct of every guard, one at a time, and see whether anything notices.

    python benchmarks/weakening.py                        presets and instances of docs/generated/guards.md
    python benchmarks/weakening.py bookkeeper-4.13        one preset
    python benchmarks/weakening.py --only "handle add"    only actions whose names contain this
    python benchmarks/weakening.py bookkeeper-4.13 --instance "bookies=4 entries=2" --instance ""
    python benchmarks/weakening.py --output docs/generated/guards.md

This takes some minutes for each preset. Each finding is shown on stderr as it comes.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from guard_conjuncts import Conjunct, fingerprint
from guard_instances import GUARD_INSTANCES

from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.state import show_all
from fencepost.encoding.versions import version
from fencepost.properties.catalogue import find
from guards import Effort, Finding, Instance, Known, Outcome, classify

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Study(NamedTuple):
    """The findings about one preset."""

    preset: str
    known: Sequence[Known]
    findings: Sequence[Finding]
    seconds: float


def instances(protocol: Protocol, settings: Sequence[str]) -> list[Instance]:
    """Return the instances of those settings, named A, B, C and so on.

    A setting is `name=value`; several are separated by spaces.
    """
    found = []
    for letter, text in zip(LETTERS, settings, strict=False):
        pairs = [setting.partition("=") for setting in text.split()]
        parameters = protocol.parameters((name, value) for name, _, value in pairs)
        found.append(Instance(letter, protocol.build(parameters), protocol.subject(parameters)))
    return found


def declared(preset: str) -> list[str]:
    """Return the instances of a preset on which guards are tried.

    Presets that are not listed are tried as shipped.
    """
    settings = GUARD_INSTANCES.get(preset, ({},))
    return list(map(show_all, settings))


def study(preset: str, settings: Sequence[str], effort: Effort, only: str) -> Study:
    """Classify the conjuncts of one preset, and show each finding as it comes."""
    begun = time.perf_counter()
    known: list[Known] = []

    def wanted(conjunct: Conjunct) -> bool:
        return only in conjunct.action

    def tell(news: Known | Finding) -> None:
        at = f"{time.perf_counter() - begun:7.1f} s  {preset}"
        if isinstance(news, Known):
            known.append(news)
            print(f"{at} {news.instance.name}: {_covered(news)}", file=sys.stderr, flush=True)
        else:
            print(f"{at} {news.conjunct}: {_outcome(news)}", file=sys.stderr, flush=True)

    findings = classify(instances(find(preset), settings), effort, wanted, tell)
    return Study(preset, known, findings, time.perf_counter() - begun)


def _covered(known: Known) -> str:
    clean = ", ".join(p.name for p in known.clean) or "none"
    rounds = "no complete number of rounds in time" if known.rounds is None else f"{known.rounds} rounds"
    implied = sum(known.implied.values())
    return f"{rounds}; clean: {clean}; {implied} of {len(known.chosen)} conjuncts implied"


def _outcome(finding: Finding) -> str:
    words = {
        Outcome.IMPLIED: f"implied on {finding.reason}",
        Outcome.CAUGHT: f"caught by {finding.reason}",
        Outcome.REFUSED: f"caught by the engine {finding.reason}",
        Outcome.OPEN: f"open: {finding.reason}",
    }
    return words[finding.outcome]


TEXT = """\
# Guards

Every conjunct of every guard is left out, one at a time, to see whether anything notices. A conjunct that
nothing notices is either not needed, or no property asks for what it is there for. Written by

    {command}

on {date} with Fencepost {version} ({minutes:.0f} minutes). Long texts are cut: `…` stands for what is left
out.

Conjuncts that are implied or caught are settled: the table counts them. The sections list those that are
open.

- **Implied**: in all reachable states of every instance that has the action, the rest of the guard implies
  it. Each instance was unrolled to the number of rounds that covers every execution
  ([encoding.md](../encoding.md)), so leaving the conjunct out changes nothing there. It may matter on larger
  instances.
- **Caught**: without it, a property is violated that no execution of the same instance violates with it; the
  execution was replayed. Its steps are those of the first one found, not the fewest.
- **Caught by the engine**: without it the system is refused: a value outside its domain, a variable set
  twice, a message that may be sent twice with one loss, or a message received that was never sent, was lost,
  was received before, or said something else when it was sent.
- **Open**: neither. It is needed to keep something from happening, but either no property is violated then,
  or none was found to be, in {rounds} rounds and {seconds:g} s for each instance.

Not tried are `ledger-copies`, and four layers of `bookkeeper`: `chained_changes=one-difference`,
`acks_after_change=next-answer`, `forces` and `readers`. Nothing here says whether their guards are needed.

The last column is a hash of the texts of all conjuncts. A test compares it with the guards as they are.
After a change of a guard, make this page again.

| preset | conjuncts | implied | caught by a property | caught by the engine | open | guards |
| --- | --- | --- | --- | --- | --- | --- |
{counts}

{studies}
"""


def page(studies: Sequence[Study], effort: Effort) -> str:
    """Return the page of the findings."""
    return TEXT.format(
        command=" ".join(["python benchmarks/weakening.py", *map(_quoted, sys.argv[1:])]),
        date=datetime.date.today().isoformat(),
        version=version(),
        minutes=sum(s.seconds for s in studies) / 60,
        rounds=effort.rounds,
        seconds=effort.seconds,
        counts="\n".join(map(_counts, studies)),
        studies="\n\n".join(map(_section, studies)),
    )


def _quoted(word: str) -> str:
    return f'"{word}"' if not word or " " in word else word


def _counts(study: Study) -> str:
    counts: Mapping[Outcome, int] = Counter(finding.outcome for finding in study.findings)
    numbers = [len(study.findings), *(counts[outcome] for outcome in Outcome)]
    guards = fingerprint({finding.conjunct: finding.text for finding in study.findings})
    return f"| `{study.preset}` | {' | '.join(map(str, numbers))} | `{guards}` |"


def _section(study: Study) -> str:
    lines = [
        f"## {study.preset}",
        "",
        "*Clean* are the properties that no execution of the instance violates. Only these can catch one.",
        "",
        "| instance | settings | rounds | clean | seconds |",
        "| --- | --- | --- | --- | --- |",
        *(_instance_row(study.preset, known) for known in study.known),
        "",
        "| open | conjunct | why |",
        "| --- | --- | --- |",
        *(_row(finding) for finding in study.findings if finding.outcome is Outcome.OPEN),
    ]
    return "\n".join(lines)


def _instance_row(preset: str, known: Known) -> str:
    defaults = find(preset).subject(find(preset).defaults)
    shipped = {**defaults.parameters, **defaults.switches}
    given = {**known.instance.subject.parameters, **known.instance.subject.switches}
    settings = show_all({name: value for name, value in given.items() if value != shipped[name]})
    clean = ", ".join(p.name for p in known.clean) or "none"
    rounds = "not found" if known.rounds is None else str(known.rounds)
    cells = [known.instance.name, f"`{settings}`" if settings else "as shipped", rounds, clean]
    return f"| {' | '.join(cells)} | {known.seconds:.0f} |"


def _row(finding: Finding) -> str:
    return f"| {finding.conjunct} | `{finding.text}` | {finding.reason} |"


def main() -> None:
    """Study the presets asked for and print or write the page."""
    effort = Effort()
    parser = argparse.ArgumentParser(
        description="Leave out every conjunct of every guard, one at a time, and see what notices."
    )
    parser.add_argument(
        "presets", nargs="*", metavar="PRESET", help="protocols by name (default: those declared)"
    )
    parser.add_argument(
        "--instance",
        action="append",
        metavar="SETTINGS",
        help='settings such as "bookies=4 entries=2" (repeatable; default: the declared test instances)',
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only actions whose names contain TEXT")
    parser.add_argument(
        "--rounds", type=int, default=effort.rounds, metavar="R", help="search so deep at most"
    )
    parser.add_argument(
        "--seconds", type=float, default=effort.seconds, metavar="S", help="for each instance"
    )
    parser.add_argument(
        "--whole", type=float, default=effort.whole, metavar="S", help="for each question about an instance"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page")
    arguments = parser.parse_args()
    effort = Effort(arguments.whole, arguments.rounds, arguments.seconds)
    studies: list[Study] = []
    try:
        for preset in arguments.presets or GUARD_INSTANCES:
            settings = arguments.instance or declared(preset)
            studies.append(study(preset, settings, effort, arguments.only))
            if (
                arguments.output
            ):  # after each preset, so that nothing is lost if the next one is not waited for
                arguments.output.write_text(page(studies, effort), encoding="utf-8")
    except BadInput as error:
        parser.error(str(error))
    if not arguments.output:
        print(page(studies, effort))


if __name__ == "__main__":
    main()
