"""May this be run: which known bugs bite in a configuration and a release, and whether anything else loses an entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from fencepost.answers.affected import bugs_of_releases, has
from fencepost.answers.without_spare import violations_without_spare
from fencepost.encoding.documents import Key, has_keys, parse_toml
from fencepost.encoding.engine.check import check
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Result, Verdict, worst
from fencepost.encoding.engine.work import TIME_OUT
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.language.protocol import Instance, Protocol, choose
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import TABLES, Expectation
from fencepost.protocols.bookkeeper.parameters import TODAY
from fencepost.protocols.bookkeeper.releases import differing
from fencepost.protocols.bookkeeper.switches import DURABILITY
from fencepost.quorums.stripes import Configuration

LOSSES = ("no-divergence", "acked-entries-readable")
"""The properties whose violation is the loss of an acknowledged entry."""


@dataclass(frozen=True)
class Setup:
    """What is to be run: E/WQ/AQ on N bookies of a release; whether data is journaled, and checked after a crash; the storage."""

    configuration: Configuration
    bookies: int
    release: str
    journal: bool = True
    checks: bool = False
    storage: str = "sorted"
    sync: bool = True
    """Whether a bookie answers only after the fsync of its journal (journalSyncData)."""

    @property
    def unsynced(self) -> bool:
        """Whether a crash of a machine takes entries and fences, and no check follows it.

        The check of dataIntegrityChecking comes only with journalWriteData=false (EmbeddedServer).
        """
        return not self.sync and (self.journal or not self.checks)

    @property
    def traits(self) -> frozenset[str]:
        """What `risks.toml` asks of a setup."""
        ensemble, write_quorum, ack_quorum = self.configuration.sizes
        held = {
            "spare": self.bookies > ensemble,
            "striped": ensemble > write_quorum,
            "two-acks": ack_quorum > 1,
            "journal": self.journal,
            "no-journal": not self.journal,
            "checks": self.checks,
            "no-checks": not self.checks,
            "db": self.storage == "db",
            "no-db": self.storage != "db",
            "unsynced": self.unsynced,
        }
        return frozenset(trait for trait, holds in held.items() if holds)

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the model: one spare bookie stands for all."""
        ensemble, write_quorum, ack_quorum = self.configuration.sizes
        quorums = {"ensemble": ensemble, "write_quorum": write_quorum, "ack_quorum": ack_quorum}
        return {"bookies": min(self.bookies, ensemble + 1), **quorums}


@dataclass(frozen=True)
class Risk:
    """A known bug, and what it means for who runs it."""

    bug: Expectation
    loses: bool
    needs: frozenset[str]
    remedy: str
    asks: tuple[str, ...] = LOSSES
    """The properties of which one is violated where the bug bites."""
    entries: int | None = None
    """Entries that it takes, if the bug's own instance has more for another property."""
    unsynced: bool = False
    """The journal has no fsync: a crash takes all that a bookie has of the ledger."""

    @property
    def is_large(self) -> bool:
        """Whether the search takes more than two entries: at E=3 building such an instance alone takes minutes."""
        return int(self.bug.settings.get("entries", 1)) > 2


TRAITS = {
    "spare": "N > E",
    "striped": "E > WQ",
    "two-acks": "AQ > 1",
    "journal": "journal on",
    "no-journal": "journal off",
    "checks": "dataIntegrityChecking on",
    "no-checks": "dataIntegrityChecking off",
    "db": "DbLedgerStorage",
    "no-db": "no DbLedgerStorage",
    "unsynced": "journalSyncData off",
}
"""The conditions that a bug may need of a setup, in words."""

KEYS = {
    "loses": Key(bool, "true or false", needed=True),
    "needs": Key(list, f"a list of {', '.join(TRAITS)}", lambda v: set(v) <= set(TRAITS), needed=True),
    "remedy": Key(str, "what to do", needed=True),
    "asks": Key(list, "names of properties"),
    "entries": Key(int, "a number of entries"),
    "unsynced": Key(dict, "the same keys, for a journal without fsync"),
}


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    path = TABLES / "risks.toml"
    return parse_toml(path.read_text(encoding="utf-8"), path.name, "it is part of this package")


def needed_setup(bug: str) -> list[str]:
    """Return the conditions that the known bug needs of a setup, in words; none if no release that was read has it."""
    needed = _table().get(bug, {}).get("needs", ())
    return [words for trait, words in TRAITS.items() if trait in needed]


def risks(setup: Setup) -> list[Risk]:
    """The known bugs that this release has and this setup meets the conditions of."""
    found = []
    for known, *_ in bugs_of_releases():
        if has(known, setup.release):
            row = has_keys(_table()[known.name], KEYS, f"risks.toml, {known.name}")
            unsynced = setup.unsynced and "unsynced" in row
            row = has_keys(row["unsynced"], KEYS, f"risks.toml, {known.name}, unsynced") if unsynced else row
            asks = tuple(row.get("asks", (known.property,) if _of_lost_disks(known) else LOSSES))
            needs = frozenset(row["needs"])
            found.append(Risk(known, row["loses"], needs, row["remedy"], asks, row.get("entries"), unsynced))
    return [risk for risk in found if risk.needs <= setup.traits]


def unmet(setup: Setup) -> dict[str, str]:
    """What keeps the theorem for all sizes from this setup: switches that it assumes otherwise, and striping."""
    apart = differing(setup.release, replace(TODAY, **_sizes(setup)))
    return apart | ({"E > WQ": "with unset_acks=while-acking"} if "striped" in setup.traits else {})


def _sizes(setup: Setup) -> dict[str, Any]:
    return dict(setup.sizes)


@dataclass(frozen=True)
class Finding:
    """What was found of one question, and on which instance."""

    verdict: Verdict
    shown_on: dict[str, int]
    """The sizes for which the verdict is."""
    command: list[str]
    reason: str = ""
    """Why it was not decided, at the sizes asked about."""
    story: Counterexample | None = None
    """The counterexample, if there is one."""
    out_of_time: bool = False
    """The search at the sizes asked about ended because the time was over."""

    @property
    def decided(self) -> bool:
        return self.verdict in DECIDED

    def to_json(self) -> dict[str, Any]:
        """The form in `fencepost.advice/2`."""
        said = {"verdict": self.verdict.value, "sizes": self.shown_on, "command": self.command}
        return {**said, "reason": self.reason or None}


DECIDED = (Verdict.VIOLATED, Verdict.PROVED)
"""What settles a question."""


def shown(risk: Risk, setup: Setup, others: Iterable[Expectation], limits: Limits) -> Finding:
    """Whether the bug is found at these sizes in this release.

    The other known bugs are mended, so that none of them answers for it. A bug that needs no spare bookie is looked for
    without one first (`violations_without_spare`).
    """
    sizes = dict(setup.sizes) | ({"entries": risk.entries} if risk.entries else {})
    return _asked(risk, risk.asks, setup, sizes, others, limits)


def shown_small(risk: Risk, setup: Setup, others: Iterable[Expectation], limits: Limits) -> Finding:
    """Whether the bug is found in this release on the instance of the table, which is small."""
    return _asked(risk, (risk.bug.property,), setup, {}, others, limits)


def mended_for(bugs: Iterable[Expectation]) -> dict[str, str]:
    """The switches that mend them, of those that are not about crashes."""
    return {bug.switch: str(bug.mended) for bug in bugs if bug.switch and not _of_crashes(bug)}


def _asked(
    risk: Risk,
    properties: tuple[str, ...],
    setup: Setup,
    sizes: Mapping[str, int],
    others: Iterable[Expectation],
    limits: Limits,
) -> Finding:
    name, settings = instance_of(risk, setup, sizes, others)
    carried = bool(sizes) and "spare" not in risk.needs
    return _decided(name, settings, setup.release, properties, limits, carried)


def instance_of(
    risk: Risk, setup: Setup, sizes: Mapping[str, int], others: Iterable[Expectation]
) -> tuple[str, dict[str, str]]:
    """The protocol and the settings that a bug is looked for on, at these sizes, or at those of its row if there are none."""
    known, mended = risk.bug, mended_for(other for other in others if other != risk.bug)
    settings = {name: str(value) for name, value in (dict(known.settings) | dict(sizes)).items()}
    name = "bookkeeper" if known.protocol.startswith("bookkeeper-4") else known.protocol
    if known.protocol != name and not sizes:
        settings = {o.name: str(o.default) for o in find(known.protocol).options() if not o.values} | settings
    if risk.unsynced:
        settings = UNSYNCED | {str(known.switch): str(known.broken)} | settings
    elif _of_durability(known):
        settings = {k: v for k, v in settings.items() if k not in DURABILITY} | _stored(setup, known)
    elif _of_crashes(known):
        settings = _as_shipped(setup) | settings
    return name, settings | mended


def _stored(setup: Setup, known: Expectation) -> dict[str, str]:
    """The storage of the setup, with all that its bookies may forget mended but for that one bug (docs/durability.md)."""
    flush = "db_checkpoint" if setup.storage == "db" else "flush_headers"
    mends = {"fence_record": "with-key", "negative_answers": "after-fence", flush: "always"}
    second = "dropped" if setup.storage == "sorted" else "replaces"
    own = {known.switch: known.broken}
    return {"storage": setup.storage, "second_copy": second} | {
        switch: own.get(switch, mend) for switch, mend in mends.items()
    }


UNSYNCED = {
    "lose": "both",
    "fence_on_unclean_shutdown": "yes",
    "limbo_on_unclean_shutdown": "yes",
    "boot_fence_scope": "all",
}
"""A crash before the first fsync takes entries and fence; what was done about one of them is mended but for the bug."""


def _as_shipped(setup: Setup) -> dict[str, str]:
    """What a crash takes: nothing with the journal, else entries, fences being journaled all the same; what is done after it."""
    lost = {"lose": "nothing" if setup.journal else "entries"}
    return (
        lost
        if setup.checks
        else lost | {"fence_on_unclean_shutdown": "no", "limbo_on_unclean_shutdown": "no"}
    )


def anything_else(setup: Setup, mended: list[Expectation], limits: Limits) -> Finding:
    """Whether an entry is lost at these sizes by anything but the known bugs, which are mended for this."""
    settings = {name: str(value) for name, value in setup.sizes.items()}
    return _decided("bookkeeper", settings | mended_for(mended), setup.release, LOSSES, limits)


def _of_crashes(known: Expectation) -> bool:
    return _of_lost_disks(known) or _of_durability(known)


def _of_lost_disks(known: Expectation) -> bool:
    """There a crash may take entries with it: that no copy is left is no bug, that recovery is told otherwise is."""
    return known.protocol == "bookkeeper-no-journal"


def _of_durability(known: Expectation) -> bool:
    return "storage" in known.settings


def _decided(
    name: str,
    settings: dict[str, str],
    release: str,
    properties: tuple[str, ...],
    limits: Limits,
    carried: bool = False,
) -> Finding:
    protocol = find(name)
    instance = protocol.instance(settings.items(), release)
    limits = replace(limits, minimize=Minimize.NONE, one_is_enough=True)
    chosen = choose(instance.system, properties)
    results = violations_without_spare(instance, chosen, limits) if carried else ()
    if not results:
        results = check(instance, chosen, limits.of(instance.system)).results
    verdict = worst(result.verdict for result in results)
    said = [f"--set={key}={value}" for key, value in _needed(protocol, settings, release).items()]
    broken = next((r.property for r in results if r.trace is not None), None)
    asked = [f"--property={prop}" for prop in ([broken] if broken else properties)]
    command = ["fencepost", "check", name, f"--release={release}", *asked, *said]
    sizes = {
        key: int(getattr(instance.parameters, key))
        for key in ("bookies", "ensemble", "write_quorum", "ack_quorum", "entries")
    }
    reason = next((r.reason for r in results if r.verdict is verdict and r.reason), None) or ""
    timed_out = verdict is not Verdict.VIOLATED and TIME_OUT in reason
    return Finding(verdict, sizes, command, reason, _story(instance, results), timed_out)


def _needed(protocol: Protocol, settings: Mapping[str, str], release: str) -> dict[str, str]:
    """Those without which the instance would be another."""
    wanted, needed = protocol.parameters(settings.items(), release), dict(settings)
    for name in settings:
        fewer = {other: value for other, value in needed.items() if other != name}
        with suppress(BadInput):
            if protocol.parameters(fewer.items(), release) == wanted:
                needed = fewer
    return needed


def _story(instance: Instance, results: Sequence[Result]) -> Counterexample | None:
    found = next((r for r in results if r.trace is not None), None)
    if found is None or found.trace is None:
        return None
    (prop,) = instance.properties(found.property)
    sentence = f"{found.property}: {found.verdict.value}"
    return Counterexample(found.trace, instance.system, prop, sentence, instance.changed_switches)
