"""The advice on a setup in words, for the text and the page."""

from __future__ import annotations

from fencepost.answers.advice import Advice, Loss, LossState
from fencepost.answers.better import better_setups
from fencepost.answers.risk_search import RiskFinding, mended_for
from fencepost.answers.risks import Risk, unmet
from fencepost.answers.setups import Setup
from fencepost.cli.rendering.advice_answer import NEEDS, why_open
from fencepost.cli.rendering.check_text import listed
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.language.state import amount
from fencepost.properties.catalogue import unmodelled
from fencepost.quorums.files.setters import DEFAULT, setter_lines
from fencepost.quorums.quantities import Quantity, quantities

LOSSES = (6, 7, 11, 13, 16)
"""The numbers of the quantities that count losses survived."""


def better_lines(advice: Advice) -> list[str]:
    """Return the nearest setup with fewer losses and the one with the fewest, a line each."""
    lines = []
    for better in better_setups(advice):
        now = [loss.name for loss in advice.losses]
        added = [name for name in better.remains if name not in now]
        kept = [name for name in better.remains if name in now]
        lines.append(
            f"{listed(better.changes)}: without {', '.join(better.avoids)}; "
            f"still {', '.join(kept) or 'none'}" + (f"; new there: {', '.join(added)}" if added else "")
        )
    return lines or ["No later release or other setting here has fewer losses."]


def told(loss: Loss) -> list[str]:
    """Return a loss in sentences: what goes wrong, what it needs, and what was found."""
    events = f": {loss.events}" if loss.events else ""
    seen = f" How often: {loss.seen}." if loss.seen else ""
    return [f"{loss.loses[:1].upper()}{loss.loses[1:]}.", f"Needs {NEEDS[loss.coincidence]}{events}.{seen}"]


RATES = (
    "No public source gives the rate of any of these losses. So each says what must come together, and how "
    "often it was seen if that is public."
)
"""The reason why no loss has a probability."""

WORDS = {
    "acknowledged entry": "an entry whose write succeeded for the writer, which in Pulsar is the broker.",
    "fence": "the mark by which a bookie refuses what the old writer of a ledger still sends.",
    "recovery": "the new owner of a topic fences the last ledger of the old owner and closes it.",
    "ensemble": "the E bookies of a ledger, or of its part since a bookie was replaced.",
}
"""The words of the losses that an operator may not know."""


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
    of_pulsar = [advice.pulsar.sentence] if advice.pulsar and advice.pulsar.is_read else []
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
    return "; ".join(
        unmodelled((name, {}) for name in ("bookkeeper", *(risk.bug.protocol for risk, _ in advice.losing)))
    )


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
    if loss.state is LossState.FOUND and found.verdict is not Verdict.VIOLATED:
        return "It follows from the setting at every size; the search was not decided"
    elsewhere = "" if advice.here(found) else f". Not decided for your configuration ({why_open(found)})"
    said = _verdict(found)
    return said[:1].upper() + said[1:] + elsewhere


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def _verdict(found: RiskFinding) -> str:
    shown = found.shown_on
    sizes = "{ensemble}/{write_quorum}/{ack_quorum}".format(**shown)
    sizes += f" on {amount(shown['bookies'], 'bookie')} with {_entries(shown['entries'])}"
    match found.verdict:
        case Verdict.VIOLATED:
            replayed = ", and replayed now" if found.computed_with else ""
            return f"found {when(found)}{replayed}, at {sizes}"
        case Verdict.PROVED:
            return f"does not happen at {sizes}: proved {when(found)}"
        case _:
            return f"not decided {when(found)}, at {sizes} ({found.verdict.value}: {found.reason})"


def when(found: RiskFinding) -> str:
    """Return when a question was answered: now, or with an earlier version."""
    return f"with version {found.computed_with}" if found.computed_with else "now"


def rest_of(advice: Advice, switches: bool = False) -> str:
    """Return whether anything else loses an entry; with `switches`, the switches that fix the known bugs."""
    said = (
        _verdict(advice.rest)
        .replace(f"found {when(advice.rest)}", f"a loss is found {when(advice.rest)}")
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
