"""The advice on a setup, in words, as text and as JSON."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from fencepost.answers.affected import family, mended
from fencepost.answers.risks import Finding, Risk, Setup, mended_for, unmet
from fencepost.cli.rendering.advice_document import ADVICE
from fencepost.cli.rendering.check_text import WIDTH, sentence
from fencepost.encoding import keys as k
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.language.state import amount
from fencepost.properties.catalogue import unmodelled
from fencepost.protocols.bookkeeper.pulsar_releases import PulsarRelease
from fencepost.protocols.bookkeeper.releases import TAGS
from fencepost.quorums.calculator import warnings
from fencepost.quorums.deployment import Deployment
from fencepost.quorums.quantities import Quantity, quantities
from fencepost.quorums.setters import DEFAULT, Setter, setter_lines
from fencepost.quorums.sources import Source

LOSSES = (6, 7, 11, 13, 16)
"""The numbers of the quantities that count losses survived."""


UNSYNCED = "journalSyncData=false"
"""A loss at any size: AQ machines that crash at once take entries that only they acknowledged."""
BP_46_2 = "BP-46-2"
"""The known loss after a crash of one machine without fsync; the setting is accepted with it."""


@dataclass(frozen=True)
class Advice:
    """The answers about a setup."""

    setup: Setup
    deployment: Deployment
    sources: dict[str, Source]
    set_by: Mapping[str, Setter]
    """The setter of each value of the setup, by the name of the value in JSON."""
    losing: list[tuple[Risk, Finding]]
    other: list[Risk]
    rest: Finding
    accepted: frozenset[str]
    pulsar: PulsarRelease | None = None
    """The release of Pulsar that was asked about."""

    def here(self, found: Finding) -> bool:
        """Return whether a verdict is for the sizes asked about, and not for a small instance."""
        return all(found.shown_on[name] == size for name, size in self.setup.sizes.items())

    @property
    def named(self) -> list[str]:
        """The losses that decide the exit code: known ones found at these sizes, and any other."""
        known = [
            risk.bug.name
            for risk, found in self._deciding
            if found.verdict is Verdict.VIOLATED and self.here(found)
        ]
        unsynced = [UNSYNCED] if self.setup.unsynced and BP_46_2 not in self.accepted else []
        return (
            unsynced + known + (["a loss that is not known"] if self.rest.verdict is Verdict.VIOLATED else [])
        )

    @property
    def undecided(self) -> list[str]:
        """The questions that were not decided at these sizes."""
        return list(self.open_ones)

    @property
    def open_ones(self) -> dict[str, Finding]:
        """The same questions, each with its finding."""
        known = {r.bug.name: f for r, f in self._deciding if not (f.decided and self.here(f))}
        return known | ({} if self.rest.decided else {"whether anything else loses an entry": self.rest})

    @property
    def _deciding(self) -> list[tuple[Risk, Finding]]:
        return [(risk, found) for risk, found in self.losing if risk.bug.name not in self.accepted]


# Words.


def asked(advice: Advice) -> str:
    """Return the setup in words."""
    setup = advice.setup
    newest = " (the newest that was read; yours: --release)" if _by_default(advice, "release") else ""
    checks = ", dataIntegrityChecking on" if setup.checks else ""
    bookies = amount(setup.bookies, "bookie")
    said = (
        f"{setup.configuration} on {bookies}, BookKeeper {setup.release}{newest}, {_journal(setup)}{checks}"
    )
    return f"{said}, {setup.storage} storage{_assumed(advice)}"


def _journal(setup: Setup) -> str:
    """Return whether entries are journaled, and whether the journal is synced first."""
    return f"journal {_on(setup.journal)}" + ("" if setup.sync else f" without fsync ({UNSYNCED})")


def unsynced(setup: Setup) -> list[str]:
    """Return a warning about a journal without fsync, if the setup has one."""
    if not setup.unsynced:
        return []
    said = (
        f"{UNSYNCED}: a bookie acknowledges an entry before its journal is on disk. A crash of its machine "
        "takes the entries and fences since the last fsync. A crash of its process alone takes none. "
        "dataIntegrityChecking looks for them only with journalWriteData=false."
    )
    return [said]


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


def conclusion(advice: Advice) -> str:
    """Return the answer in a sentence."""
    not_decided = f"Not decided at this size: {_why_open(advice)}."
    if advice.named:
        more = f" {not_decided}" if advice.undecided else ""
        return f"An acknowledged entry can be lost: {', '.join(advice.named)}.{more}"
    if advice.undecided:
        return not_decided
    accepted = (
        f", but for what was accepted ({', '.join(sorted(advice.accepted))})" if advice.accepted else ""
    )
    return f"No loss of an acknowledged entry is known or found at the sizes named below{accepted}."


def _why_open(advice: Advice) -> str:
    """Return the questions that were not decided, grouped by their reason."""
    by_reason: dict[str, list[str]] = {}
    for name, found in advice.open_ones.items():
        by_reason.setdefault(_why_not(found), []).append(name)
    return "; ".join(f"{', '.join(names)} ({reason})" for reason, names in by_reason.items())


def _why_not(found: Finding) -> str:
    """Return why a question was not decided at the sizes asked about."""
    if found.out_of_time:
        return "time-out, see --timeout"
    return found.reason or found.verdict.value


def left_out(advice: Advice) -> str:
    """Return one line that names the parts that the models leave out."""
    return "; ".join(unmodelled(["bookkeeper", *(risk.bug.protocol for risk, _ in advice.losing)]))


def found_of(risk: Risk, found: Finding, advice: Advice) -> str:
    """Return the finding about a known bug, and the releases that fix it."""
    until = ", ".join(mended(family(risk.bug.name))) or "no release that was checked"
    return f"{_verdict(found)}{_elsewhere(found, advice)}; gone in {until}"


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def _besides(risk: Risk) -> str:
    """Return the remedy of a bug that loses nothing, and the command that shows it."""
    return f"{risk.bug.name}: {risk.remedy}; {of_table(risk)}"


def survived(advice: Advice) -> list[Quantity]:
    """Return the quantities that count losses survived."""
    return [quantity for quantity in quantities(advice.deployment) if quantity.number in LOSSES]


def _elsewhere(found: Finding, advice: Advice) -> str:
    """Return a remark on a finding at other sizes than those asked about."""
    return "" if advice.here(found) else f". Not decided for your configuration ({_why_not(found)})"


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


def rest_of(advice: Advice) -> str:
    """Return whether anything else loses an entry."""
    said = (
        _verdict(advice.rest)
        .replace("found now", "a loss is found now")
        .replace("does not happen", "nothing else found")
    )
    mends = mended_for(risk.bug for risk, _ in advice.losing)
    if not mends:
        return said
    fixed = ", ".join(f"{switch}={value}" for switch, value in mends.items())
    return f"{said}, assuming the bugs above are fixed ({fixed})"


def for_all_sizes(setup: Setup) -> str:
    """Return whether the all-sizes proof covers the code of this release."""
    apart = unmet(setup)
    if not apart:
        return (
            "The all-sizes proof (fencepost prove bookkeeper) covers the switches of this release: the "
            "core is safe for any number of bookies, entries and recoverers without crashes. The model is "
            "checked against the core size by size."
        )
    return (
        "The all-sizes proof (fencepost prove bookkeeper) does not cover this release, which has "
        + ", ".join(
            f"{name}={value}" if name != "E > WQ" else f"{name} {value}" for name, value in apart.items()
        )
        + "."
    )


# Text.


def as_text(advice: Advice, commands: bool = False) -> str:
    """Return the advice on one screen; with `commands`, also the command of each verdict."""
    warned = [f"warning: {text}" for text in unsynced(advice.setup)]
    said = [conclusion(advice), sentence(left_out(advice)), *warned]
    lines = [asked(advice), *read(advice), "", *said, "", "Survives"]
    lines += [f"  {quantity.name}: {quantity.value}" for quantity in survived(advice)]
    lines += [f"  warning: {warning.text}" for warning in warnings(advice.deployment)]
    lines += ["", "Known data-loss bugs that affect this setup"]
    lines += [line for risk, found in advice.losing for line in _told(risk, found, advice, commands)] or [
        "  none"
    ]
    lines += ["", "Anything else", f"  {rest_of(advice)}"]
    lines += [f"    {shlex.join(advice.rest.command)}"] if commands else []
    lines += ["", "For all sizes", f"  {for_all_sizes(advice.setup)}"]
    lines += ["", "Other known bugs of this release (no data loss; not checked here)"]
    lines += [f"  {_besides(risk)}" for risk in advice.other] or ["  none"]
    lines += [] if commands else ["", "--commands prints the command of each verdict, at these sizes."]
    return "\n".join(part for line in lines for part in _broken(line))


def _told(risk: Risk, found: Finding, advice: Advice, commands: bool) -> list[str]:
    accepted = " (accepted)" if risk.bug.name in advice.accepted else ""
    lines = [
        f"  {risk.bug.name}{accepted}: {risk.bug.wrong}",
        f"    {_verdict(found)}{_elsewhere(found, advice)}; {of_table(risk)}",
        f"    remedy: {risk.remedy}",
    ]
    return [*lines, f"    {shlex.join(found.command)}"] if commands else lines


def of_table(risk: Risk) -> str:
    """Return the command that shows a bug on its small instance."""
    return f"fencepost known {risk.bug.name.removeprefix('#')}"


def _broken(line: str) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(
        line, WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    ) or [""]


# JSON.


def as_json(advice: Advice) -> str:
    """Return the document `fencepost.advice/2`."""
    setup = advice.setup
    content = {
        "parameters": setup.sizes | {"bookies": setup.bookies},
        "release": setup.release,
        "pulsar": advice.pulsar.sentence if advice.pulsar else "",
        "commit": TAGS[setup.release],
        "journal": setup.journal,
        "sync": setup.sync,
        "checks": setup.checks,
        "storage": setup.storage,
        "set_by": {name: asdict(setter) for name, setter in advice.set_by.items()},
        "files": {n: {"read": list(s.read), "notes": list(s.notes)} for n, s in advice.sources.items()},
        "unmodelled": left_out(advice),
        "losses": [
            {"bug": r.bug.name, "remedy": r.remedy, "accepted": r.bug.name in advice.accepted, **f.to_json()}
            for r, f in advice.losing
        ],
        "else": advice.rest.to_json(),
        "warnings": [
            {"bug": risk.bug.name, "remedy": risk.remedy, "command": of_table(risk).split()}
            for risk in advice.other
        ],
        "unlike_theorem": unmet(setup),
        "deciding": advice.named,
        "undecided": advice.undecided,
    }
    return json.dumps(k.headed(ADVICE, content), indent=2)
