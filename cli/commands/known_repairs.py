"""`fencepost known NAME --repairs`: single stronger guards that rule a known bug out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fencepost.advice.known import decide
from fencepost.cli.exits import ExitCode
from fencepost.cli.process.conclusion import Conclusion, conclude, hand_over, placed
from fencepost.cli.process.handover import elapsed
from fencepost.cli.rendering.mend_text import difference_of_rules
from fencepost.cli.rendering.progress import CheckProgress
from fencepost.cli.rendering.verdict_text import verdict_line
from fencepost.encoding import keys as k
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.forms.spelled_terms import TermSpelling, unmarked
from fencepost.encoding.language.fold import Folding, constants, folded
from fencepost.encoding.language.state import amount, show_all
from fencepost.encoding.mutation.repairs import Repair, RepairSearch, Tried
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Expectation

SECONDS = 120.0
"""The seconds for each bug without a time limit."""
ENOUGH = 0.9
"""The share of the time that is used: a question that is under way needs the rest."""

REPAIR = k.keys(
    action=k.text("the action that gets a stronger guard, with its arguments"),
    conjunct=k.text("the conjunct that its guard gets"),
    verdict=k.text("proved, or the number of steps within which nothing is violated"),
    is_mend=k.flag("the mend in the table of known bugs is the same"),
)
OF_BUG = k.keys(
    bug=k.text("the name of the bug"),
    instance=k.text("the protocol with the settings that have the bug"),
    found=k.text("the verdict with the bug; nothing is tried unless it is violated"),
    tried=k.table(int, "the number of changes by what came of them"),
    repairs=k.many(REPAIR, "the changes that rule the bug out, the smallest first"),
    mend=k.text("the switch that mends the bug in the table; empty if there is none"),
    mend_lines=k.whole("the lines of the rules that this mend changes", 0),
)
REPAIRS = k.document(
    "fencepost.repairs/1",
    results=k.many(OF_BUG, "the repairs of each bug"),
    interrupted=k.INTERRUPTED,
    seconds=k.seconds("seconds for the command"),
)


def repair(bugs: Sequence[Expectation], limits: Limits, form: str, output: str | None, verbose: bool) -> int:
    """Try stronger guards against each of the bugs, and print those that rule it out."""
    results: list[dict[str, Any]] = []

    def conclusion(*more: dict[str, Any], interrupted: bool = False) -> Conclusion:
        shown = [*results, *more]
        document = k.from_record(REPAIRS, None, results=shown, interrupted=interrupted, seconds=elapsed())
        text = "\n\n".join("\n".join(_lines(result)) for result in shown)
        printed, files = placed(document if form == "json" else text, output)
        found = len(shown) == len(bugs) and all(result["repairs"] for result in shown)
        code = ExitCode.SUCCESS if found else ExitCode.UNDECIDED
        return Conclusion(int(ExitCode.INTERRUPTED if interrupted else code), printed, files=files)

    try:
        with CheckProgress(verbose) as progress:
            for number, known in enumerate(bugs):
                share = ENOUGH * (limits.timeout - elapsed()) / (len(bugs) - number)
                left = replace(limits, timeout=SECONDS if share == math.inf else max(share, 0.1), gone=0.0)
                results.append(_repaired(known, left, progress, lambda one: hand_over(conclusion(one))))
    except KeyboardInterrupt:
        return conclude(conclusion(interrupted=True))
    return conclude(conclusion())


def _repaired(
    known: Expectation, limits: Limits, progress: CheckProgress, hand: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Return the repairs of one bug as a part of the document. The part so far goes to `hand`."""
    run, begun = known.runs()[0], elapsed()
    rules = difference_of_rules(known).splitlines()[1:] if known.switch else []
    progress.begin(known.name)
    result = decide(run, limits, progress.hear).decisive
    about: dict[str, Any] = {
        "bug": known.name,
        "instance": f"{known.protocol} {show_all(run.settings)}",
        "found": verdict_line(result),
        "tried": {},
        "repairs": [],
        "mend": f"{known.switch}={known.mended}" if known.switch else "",
        "mend_lines": sum(line.startswith(("  +", "  -")) for line in rules),
    }
    hand(about)
    if result.trace is None:
        return about
    instance = find(known.protocol).instance(run.settings.items(), known.release)
    folding = Folding(constants(instance.written))
    left = replace(limits, timeout=max(limits.timeout - (elapsed() - begun), 0.1))
    search = RepairSearch(folded(instance.written, folding), instance.subject, result.trace, left)
    spelling = TermSpelling(instance.written.state, folding)

    def report() -> dict[str, Any]:
        found = sorted(search.found, key=lambda one: one.change.size)
        tried = {kind.value: search.tried[kind] for kind in Tried if search.tried[kind]}
        return about | {"tried": tried, "repairs": [_entry(one, spelling, rules) for one in found]}

    def tell(text: str) -> None:
        progress.show(f"{known.name}: {text}")
        hand(report())

    search.run(tell)
    return report()


def _entry(one: Repair, spelling: TermSpelling, rules: Sequence[str]) -> dict[str, Any]:
    schema, given = one.change.schema, {id(p): term for p, term in one.change.given.items()}
    spelling.taken = [parameter.symbol for parameter in schema.parameters]
    conjunct = unmarked(spelling.text(one.change.form, given=given))
    changed = [re.sub(r"\[\d+\] ", "", line) for line in rules if line.startswith(("  +", "  -"))]
    is_mend = changed == [f"  +    if {conjunct}"] and rules[0].startswith(f"{schema.name}(")
    verdict = "proved" if one.bound is None else f"no violation within {amount(one.bound, 'step')}"
    action = f"{schema.name}({', '.join(spelling.taken)})"
    return {"action": action, "conjunct": conjunct, "verdict": verdict, "is_mend": is_mend}


def _lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about one bug."""
    yield f"{result['bug']}: {result['instance']}"
    yield result["found"]
    for one in result["repairs"]:
        yield f"  {one['action']}"
        yield f"    + if {one['conjunct']}"
        yield f"      {one['verdict']}; every witness is reached{'; this is the mend' * one['is_mend']}"
    yield f"{amount(sum(result['tried'].values()), 'change')} of one guard tried"
    yield from (f"  {number:5} {kind}" for kind, number in result["tried"].items())
    if result["mend"]:
        yield f"The mend, {result['mend']}, changes {amount(result['mend_lines'], 'line')} of the rules."
