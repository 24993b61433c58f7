"""`fencepost known NAME --repairs`: stronger guards that rule a known bug out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from fencepost.advice.known import decide
from fencepost.cli.exits import ExitCode
from fencepost.cli.process.handover import elapsed
from fencepost.cli.rendering.mend_text import changed_rules
from fencepost.cli.rendering.output import emit
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
"""The seconds for each bug if there is no limit."""

REPAIR = k.keys(
    action=k.text("the action with the stronger guard, with its arguments"),
    conjunct=k.text("the conjunct that the guard gets"),
    bound=k.null(k.whole("no violation in executions of so many steps", 0), "if it is proved"),
    is_mend=k.flag("the mend in the table of known bugs is the same"),
)
PROPOSED = k.keys(
    bug=k.text("the name of the bug"),
    property=k.text("the property that it violates"),
    verdict=k.text("the verdict with the bug; nothing is tried unless it is violated"),
    steps=k.null(k.whole("steps of the counterexample", 0), "unless it is violated"),
    tried=k.table(int, "the number of changes by what came of them"),
    repairs=k.many(REPAIR, "the changes that rule the bug out, the smallest first"),
    mend_lines=k.whole("how many lines of the rules the mend changes; 0 without a mend", 0),
)
REPAIRS = k.document(
    "fencepost.repairs/1",
    results=k.many(PROPOSED, "the proposals for each bug"),
    seconds=k.seconds("seconds for the command"),
)


def propose(bugs: Sequence[Expectation], limits: Limits, form: str, output: str | None, verbose: bool) -> int:
    """Try stronger guards for each of the bugs and print those that rule it out."""
    proposals = []
    with CheckProgress(verbose) as progress:
        for number, known in enumerate(bugs):
            left = min(SECONDS * (len(bugs) - number), max(limits.timeout - elapsed(), 0.1))
            share = replace(limits, timeout=left / (len(bugs) - number), gone=0.0)
            proposals.append(_proposed(known, share, progress))
    if form == "json":
        document = k.from_record(REPAIRS, None, results=[p for p, _ in proposals], seconds=elapsed())
        emit(json.dumps(document, indent=2), output)
    else:
        emit("\n\n".join(text for _, text in proposals), output)
    return int(ExitCode.SUCCESS if all(p["repairs"] for p, _ in proposals) else ExitCode.UNDECIDED)


def _proposed(known: Expectation, limits: Limits, progress: CheckProgress) -> tuple[dict[str, object], str]:
    """Return the proposals for one bug as a part of the document, and as text."""
    run, begun, rules = known.runs()[0], elapsed(), changed_rules(known)
    progress.begin(known.name)
    result = decide(run, limits, progress.hear).decisive
    lines = [f"{known.name}: {known.protocol} {show_all(run.settings)}", verdict_line(result)]
    tried, found = Counter[Tried](), list[dict[str, object]]()
    if result.trace is not None:
        instance = find(known.protocol).instance(run.settings.items(), known.release)
        folding = Folding(constants(instance.written))
        left = replace(limits, timeout=max(limits.timeout - (elapsed() - begun), 0.1))
        search = RepairSearch(folded(instance.written, folding), instance.subject, result.trace, left)
        search.run(lambda text: progress.show(f"{known.name}: {text}"))
        spelling, tried = TermSpelling(instance.written.state, folding), search.tried
        for one in sorted(search.found, key=lambda repair: repair.change.size):
            found.append(_entry(one, spelling, rules))
            said = "proved" if one.bound is None else f"no violation within {amount(one.bound, 'step')}"
            lines += [f"  {found[-1]['action']}", f"    + if {found[-1]['conjunct']}"]
            lines.append(f"      {said}{', the mend of the table' if found[-1]['is_mend'] else ''}")
    counts = {kind.value: tried[kind] for kind in Tried if tried[kind]}
    lines.append(f"{amount(tried.total(), 'change')} of one guard: {_list(counts)}")
    if known.switch is not None:
        mend = f"{known.switch}={known.mended}"
        lines.append(f"The mend of the table, {mend}, changes {amount(len(rules), 'line')} of the rules")
    about = {"bug": known.name, "property": known.property, "verdict": result.verdict.value}
    rest = {"steps": result.steps, "tried": counts, "repairs": found, "mend_lines": len(rules)}
    return about | rest, "\n".join(lines)


def _entry(one: Repair, spelling: TermSpelling, rules: Set[tuple[str, str]]) -> dict[str, object]:
    """Return a repair as a part of the document."""
    schema, given = one.change.schema, {id(p): term for p, term in one.change.given.items()}
    spelling.taken = [parameter.symbol for parameter in schema.parameters]
    conjunct = unmarked(spelling.text(one.change.form, given=given))
    is_mend = [(name.split("(")[0], line) for name, line in rules] == [(schema.name, f"+ if {conjunct}")]
    action = f"{schema.name}({', '.join(spelling.taken)})"
    return {"action": action, "conjunct": conjunct, "bound": one.bound, "is_mend": is_mend}


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in counts.items()) or "none tried"
