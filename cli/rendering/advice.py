"""The advice on a setup in words, for the text and the page."""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.answers.advice import ANYTHING_ELSE, UNAVOIDABLE, Advice, Answer, Loss, State
from fencepost.answers.better import Better, better_setups
from fencepost.answers.risk_search import Finding, mended_for
from fencepost.answers.risks import Risk, unmet
from fencepost.answers.setups import Setup
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.language.state import amount
from fencepost.properties.catalogue import unmodelled
from fencepost.quorums.quantities import Quantity, quantities
from fencepost.quorums.setters import DEFAULT, setter_lines

LOSSES = (6, 7, 11, 13, 16)
"""The numbers of the quantities that count losses survived."""

NEEDS = {
    "nothing": "nothing special",
    "slow-bookie": "a slow bookie or a late message",
    "crash": "a crash",
    "two-crashes": "two crashes close together",
    "operator": "a step of an operator",
}
"""The coincidence that a loss needs, in words."""


# The answer.


def headline(advice: Advice) -> str:
    """Return the answer: yes, no, yes with conditions or not known, with the worst loss."""
    return " ".join(answered(advice))


def answered(advice: Advice) -> list[str]:
    """Return the sentences of the answer. The first one has the worst loss, the next what makes it a yes."""
    setup = subject(advice.setup)
    undecided = [f"Not decided: {_undecided(advice)}."] if advice.open else []
    match advice.answer:
        case Answer.YES:
            return [
                f"Yes: no loss of an acknowledged entry is known or found for {setup}{_but_accepted(advice)}."
            ]
        case Answer.CONDITIONS:
            conditions = amount(len(to_do(advice)), "condition")
            how = "Do what is listed below, and accept each loss (--accept) for a plain yes."
            return [f"Yes, with {conditions}, for {setup}: {_worst(advice)}.", how, *_public(advice)]
        case Answer.NO:
            return [f"No for {setup}: {_worst(advice)}.", _remedy(advice), *_public(advice), *undecided]
    return [f"Not known for {setup}: {_undecided(advice)}."]


def subject(setup: Setup) -> str:
    """Return the sizes, the release, and a journal that is not on or not synced."""
    journal = "" if setup.journal else ", journal off"
    sync = "" if setup.sync else ", journal without fsync"
    sizes = f"{setup.configuration} on {amount(setup.bookies, 'bookie')}"
    return f"{sizes} with BookKeeper {setup.release}{journal}{sync}"


def _but_accepted(advice: Advice) -> str:
    names = [loss.name for loss in advice.losses if loss.accepted and loss.state is not State.ABSENT]
    return f", but for what you accepted ({', '.join(names)})" if names else ""


def _worst(advice: Advice) -> str:
    """Return the worst loss with the coincidence that it needs."""
    found = [loss for loss in advice.deciding if loss.state is State.FOUND]
    if not found:
        return "no loss is found, but public losses that are not checked here concern it"
    needs = "with nothing special"
    if found[0].coincidence != "nothing":
        needs = f"if {NEEDS[found[0].coincidence]} comes at the wrong moment"
    return f"{found[0].name} loses an acknowledged entry {needs}"


def _public(advice: Advice) -> list[str]:
    """Return a sentence that names the public losses that decide and are not checked here, if any."""
    names = [loss.name for loss in advice.deciding if loss.state is State.PUBLIC]
    return [f"Public losses that are not checked here: {_listed(names)}."] if names else []


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _remedy(advice: Advice) -> str:
    """Return what would make the answer a yes."""
    better = better_setups(advice)
    usable = next((one for one in better if one.answer is not Answer.NO), None)
    if usable is not None:
        then = "a yes, with conditions" if usable.remains else "a yes"
        return f"With {_listed(usable.changes)} it is {then}."
    remains = {one.name: one.coincidence for one in advice.deciding} if not better else better[-1].remains
    hard = [name for name, coincidence in remains.items() if coincidence in UNAVOIDABLE]
    if not hard:
        return "It is a yes if you do what is listed below, accept it (--accept), and decide the rest."
    place = f"with {_listed(better[-1].changes)}" if better else "with every release and setting here"
    verb = "still loses entries" if len(hard) == 1 else "still lose entries"
    return f"Even {place} {_listed(hard)} {verb}; it is a yes only if you accept that (--accept)."


def _undecided(advice: Advice) -> str:
    """Return the questions that were not decided, grouped by their reason, and how to decide them."""
    by_reason: dict[str, list[str]] = {}
    for loss in advice.open:
        assert loss.finding is not None
        name = "whether anything else loses an entry" if loss.name == ANYTHING_ELSE else loss.name
        by_reason.setdefault(why_open(loss.finding), []).append(name)
    return "; ".join(f"{_listed(names)} ({reason})" for reason, names in by_reason.items())


def why_open(found: Finding) -> str:
    """Return why a question was not decided at the sizes asked about, and how to decide it."""
    if found.out_of_time:
        return "the time was over; ask again with a longer --timeout"
    return f"{found.reason or found.verdict.value}; run its command, which --commands prints"


def to_do(advice: Advice) -> list[tuple[str, list[Loss]]]:
    """Return the actions in order, each with the losses that it is against.

    A change of release or settings comes first: the nearest whose answer is not no, else the one with the
    fewest losses. The ways to decide open questions come last.
    """
    found: dict[str, list[Loss]] = {}
    better = better_setups(advice)
    change = next((one for one in better if one.answer is not Answer.NO), better[-1] if better else None)
    for loss in advice.deciding:
        avoided = change is not None and loss.name in change.avoids
        found.setdefault(_change(change) if change and avoided else loss.action, []).append(loss)
    listed = sorted(found.items(), key=lambda item: change is None or item[0] != _change(change))
    for loss in advice.open:
        found.setdefault(_deciding(loss), []).append(loss)
    return [*listed, *(item for item in found.items() if item not in listed)]


def _deciding(loss: Loss) -> str:
    """Return how to decide an open question."""
    if loss.finding is None or loss.finding.out_of_time:
        return "Ask again with a longer --timeout."
    return "Run the command of the question, which --commands prints: it has no limit of conflicts."


CONFIGURATION = "GET /api/v1/config/server_config of each bookie"
"""The request that returns the running configuration of a bookie."""


def _change(better: Better) -> str:
    """Return the change to a better setup as an action that can be checked."""
    checks = {
        "Bo": "the version in the first lines of each log",
        "jo": CONFIGURATION,
        "us": CONFIGURATION,
    }
    checked = [checks.get(change[:2], "`bookkeeper shell ledgermetadata`") for change in better.changes]
    return f"Change to {_listed(better.changes)}. Check {_listed(dict.fromkeys(checked))}."


def better_lines(advice: Advice) -> list[str]:
    """Return the nearest setup with fewer losses and the one with the fewest, a line each."""
    lines = []
    for better in better_setups(advice):
        now = [loss.name for loss in advice.losses]
        added = [name for name in better.remains if name not in now]
        kept = [name for name in better.remains if name in now]
        lines.append(
            f"{_listed(better.changes)}: without {', '.join(better.avoids)}; "
            f"still {', '.join(kept) or 'none'}" + (f"; new there: {', '.join(added)}" if added else "")
        )
    return lines or ["No later release or other setting here has fewer losses."]


def told(loss: Loss) -> list[str]:
    """Return a loss in sentences: what goes wrong, what it needs, and what was found."""
    events = f": {loss.events}" if loss.events else ""
    return [f"{loss.loses[:1].upper()}{loss.loses[1:]}.", f"Needs {NEEDS[loss.coincidence]}{events}."]


# The setup.


def asked(advice: Advice) -> str:
    """Return the setup in words."""
    setup = advice.setup
    newest = " (the newest that was read; yours: --release)" if _by_default(advice, "release") else ""
    checks = ", dataIntegrityChecking on" if setup.checks else ""
    bookies = amount(setup.bookies, "bookie")
    said = (
        f"{setup.configuration} on {bookies}, BookKeeper {setup.release}{newest}, journal "
        f"{_on(setup.journal)}{'' if setup.sync else ' without fsync'}{checks}"
    )
    return f"{said}, {setup.storage} storage{_assumed(advice)}"


def _by_default(advice: Advice, name: str) -> bool:
    return advice.set_by.get(name) == DEFAULT


def _assumed(advice: Advice) -> str:
    """Return whose default the storage is, if it was not given."""
    if not _by_default(advice, "storage"):
        return ""
    whose = "Pulsar's" if advice.setup.storage == "db" else "BookKeeper's"
    return f" ({whose} default; yours: --storage)"


def read(advice: Advice) -> list[str]:
    """Return a line for each file, the notes about its keys, and lines about what set each value."""
    files = [
        line
        for name, source in advice.sources.items()
        for line in (f"{name}: read {', '.join(source.read) or 'nothing'}", *(f"  {n}" for n in source.notes))
    ]
    of_pulsar = [advice.pulsar.sentence] if advice.pulsar else []
    return files + of_pulsar + setter_lines(values(advice.setup), advice.set_by)


def values(setup: Setup) -> dict[str, str]:
    """Return each value of a setup in words, by its name in JSON."""
    e, wq, aq = setup.configuration.sizes
    return {
        "ensemble": f"E {e}",
        "write_quorum": f"WQ {wq}",
        "ack_quorum": f"AQ {aq}",
        "bookies": f"N {setup.bookies}",
        "release": f"release {setup.release}",
        "journal": f"journal {_on(setup.journal)}",
        "sync": f"journalSyncData {_on(setup.sync)}",
        "checks": f"dataIntegrityChecking {_on(setup.checks)}",
        "storage": f"{setup.storage} storage",
    }


def _on(flag: bool) -> str:
    return "on" if flag else "off"


def left_out(advice: Advice) -> str:
    """Return one line that names the parts that the models leave out."""
    return "; ".join(unmodelled(["bookkeeper", *(risk.bug.protocol for risk, _ in advice.losing)]))


def survived(advice: Advice) -> list[Quantity]:
    """Return the quantities that count losses survived."""
    return [quantity for quantity in quantities(advice.deployment) if quantity.number in LOSSES]


# The evidence.


def besides(risk: Risk) -> str:
    """Return the action against a bug that loses nothing."""
    return f"{risk.bug.name}: {risk.action}"


def of_table(risk: Risk) -> str:
    """Return the command that shows a bug on its small instance."""
    return f"fencepost known {risk.bug.name.removeprefix('#')}"


def found_of(loss: Loss, advice: Advice) -> str:
    """Return the finding about a loss, as a sentence without its full stop."""
    found = loss.finding
    if found is None:
        return f"Public, not checked here: {loss.source}"
    if loss.state is State.FOUND and found.verdict is not Verdict.VIOLATED:
        return "It follows from the setting at every size; the search was not decided"
    elsewhere = "" if advice.here(found) else f". Not decided for your configuration ({why_open(found)})"
    said = _verdict(found)
    return said[:1].upper() + said[1:] + elsewhere


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def _verdict(found: Finding) -> str:
    shown = found.shown_on
    sizes = "{ensemble}/{write_quorum}/{ack_quorum}".format(**shown)
    sizes += f" on {amount(shown['bookies'], 'bookie')} with {_entries(shown['entries'])}"
    match found.verdict:
        case Verdict.VIOLATED:
            return f"found now, at {sizes}"
        case Verdict.PROVED:
            return f"does not happen at {sizes}: proved now"
        case _:
            return f"not decided now, at {sizes} ({found.verdict.value}: {found.reason})"


def rest_of(advice: Advice, switches: bool = False) -> str:
    """Return whether anything else loses an entry; with `switches`, the switches that fix the known bugs."""
    said = (
        _verdict(advice.rest)
        .replace("found now", "a loss is found now")
        .replace("does not happen", "nothing else found")
    )
    mends = mended_for(risk.bug for risk, _ in advice.losing)
    if not mends:
        return said
    named = ", ".join(f"{switch}={value}" for switch, value in mends.items())
    return f"{said}, assuming the bugs above are fixed{f' ({named})' if switches else ''}"


def for_all_sizes(setup: Setup, switches: bool = False) -> str:
    """Return whether the all-sizes proof covers the code of this release."""
    apart = unmet(setup)
    if not apart:
        return (
            "The all-sizes proof (fencepost prove bookkeeper) covers the switches of this release: the "
            "core is safe for any number of bookies, entries and recoverers without crashes. The model is "
            "checked against the core size by size."
        )
    said = "The all-sizes proof (fencepost prove bookkeeper) does not cover this "
    if not switches:
        return said + ("setup, because E > WQ." if list(apart) == ["E > WQ"] else "release.")
    named = (f"{name}={value}" if name != "E > WQ" else f"{name} {value}" for name, value in apart.items())
    return f"{said}release, which has {', '.join(named)}."
