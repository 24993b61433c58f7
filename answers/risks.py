"""Risks of a deployment: known bugs that affect a configuration and release, and any other loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from fencepost.answers.affected import bugs_of_releases, has
from fencepost.answers.without_spare import violations_without_spare
from fencepost.encoding import keys as k
from fencepost.encoding.documents import Key, has_keys, parse_toml
from fencepost.encoding.engine.check import check
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Result, Verdict, worst
from fencepost.encoding.errors import TIME_OUT, BadInput
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
    """A deployment of BookKeeper: configuration, number of bookies, release, and settings of the bookies.

    The settings are whether data is journaled, whether it is checked after a crash, and the storage.
    """

    configuration: Configuration
    bookies: int
    release: str
    journal: bool = True
    checks: bool = False
    storage: str = "sorted"
    sync: bool = True
    """Whether a bookie answers only after the fsync of its journal (journalSyncData)."""
    features: frozenset[str] = frozenset()
    """Settings that some public loss needs and that no model has, such as `several-ledger-directories`."""

    @property
    def unsynced(self) -> bool:
        """Whether a crash of a machine can lose entries and fences without a check afterwards.

        The check of dataIntegrityChecking runs only with journalWriteData=false (EmbeddedServer).
        """
        return not self.sync and (self.journal or not self.checks)

    @property
    def traits(self) -> frozenset[str]:
        """The words of `risks.toml` that describe this setup."""
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
        return self.features | {trait for trait, holds in held.items() if holds}

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the model. It has one spare bookie at most, which stands for all."""
        ensemble, write_quorum, ack_quorum = self.configuration.sizes
        quorums = {"ensemble": ensemble, "write_quorum": write_quorum, "ack_quorum": ack_quorum}
        return {"bookies": min(self.bookies, ensemble + 1), **quorums}


@dataclass(frozen=True)
class Risk:
    """A known bug with its consequences for a setup."""

    bug: Expectation
    loses: bool
    needs: frozenset[str]
    remedy: str
    asks: tuple[str, ...] = LOSSES
    """The properties of which the bug violates at least one."""
    entries: int | None = None
    """The number of entries that the bug needs, if its own instance has more because of another property."""
    unsynced: bool = False
    """Whether the journal has no fsync, so that a crash loses all that a bookie has of the ledger."""

    @property
    def is_large(self) -> bool:
        """Whether the search needs more than two entries. At E = 3 that instance takes minutes to build."""
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
    **k.keys(
        loses=k.flag(),
        needs=Key(list, f"a list of {', '.join(TRAITS)}", lambda v: set(v) <= set(TRAITS)),
        remedy=k.text("what to do"),
    ),
    "asks": Key(list, "names of properties"),
    "entries": Key(int, "a number of entries"),
    "unsynced": Key(dict, "the same keys, for a journal without fsync"),
}


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    path = TABLES / "risks.toml"
    return parse_toml(path.read_text(encoding="utf-8"), path.name, "it is part of this package")


def needed_setup(bug: str) -> list[str]:
    """Return the conditions of a setup that the known bug needs, in words; none if no release has the bug."""
    needed = _table().get(bug, {}).get("needs", ())
    return [words for trait, words in TRAITS.items() if trait in needed]


def risks(setup: Setup) -> list[Risk]:
    """Return the known bugs of the setup's release whose conditions the setup meets."""
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
    """Return the switches, and striping, because of which the all-sizes theorem does not cover the setup."""
    apart = differing(setup.release, replace(TODAY, **_sizes(setup)))
    return apart | ({"E > WQ": "with unset_acks=while-acking"} if "striped" in setup.traits else {})


def _sizes(setup: Setup) -> dict[str, Any]:
    return dict(setup.sizes)


@dataclass(frozen=True)
class Finding:
    """The answer to one question, and the instance that it is about."""

    verdict: Verdict
    shown_on: dict[str, int]
    """The sizes of the instance that the verdict is about."""
    command: list[str]
    reason: str = ""
    """The reason why the question was not decided at the sizes asked about."""
    counterexample: Counterexample | None = None
    out_of_time: bool = False
    """Whether the search at the sizes asked about ended because of the time limit."""

    @property
    def decided(self) -> bool:
        """Whether the question is answered."""
        return self.verdict in DECIDED

    def to_json(self) -> dict[str, Any]:
        """Return the finding as `fencepost.advice/2` has it."""
        said = {"verdict": self.verdict.value, "sizes": self.shown_on, "command": self.command}
        return {**said, "reason": self.reason or None}


DECIDED = (Verdict.VIOLATED, Verdict.PROVED)
"""The verdicts that answer a question."""


def shown(risk: Risk, setup: Setup, others: Iterable[Expectation], limits: Limits) -> Finding:
    """Search for the bug at these sizes in this release.

    The other known bugs are fixed, so that none of them explains a violation. A bug that needs no spare
    bookie is searched for without one first (`violations_without_spare`).
    """
    sizes = dict(setup.sizes) | ({"entries": risk.entries} if risk.entries else {})
    return _asked(risk, risk.asks, setup, sizes, others, limits)


def shown_small(risk: Risk, setup: Setup, others: Iterable[Expectation], limits: Limits) -> Finding:
    """Search for the bug in this release on the small instance of its row."""
    return _asked(risk, (risk.bug.property,), setup, {}, others, limits)


def mended_for(bugs: Iterable[Expectation]) -> dict[str, str]:
    """Return the switches that fix these bugs, without those about crashes."""
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
    """Return the preset and settings for the search of a bug, at these sizes or at those of its row."""
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
    """Return the storage of the setup, with every loss of a bookie fixed but the one of this bug.

    docs/durability.md has the switches.
    """
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
"""Settings of a crash before the first fsync, which loses entries and fence. Remedies are on but for the
bug's own.
"""


def _as_shipped(setup: Setup) -> dict[str, str]:
    """Return the settings of a crash: what it loses, and what the bookie does after it.

    With the journal nothing is lost. Without it entries are lost and fences are not, because fences are
    always journaled.
    """
    lost = {"lose": "nothing" if setup.journal else "entries"}
    return (
        lost
        if setup.checks
        else lost | {"fence_on_unclean_shutdown": "no", "limbo_on_unclean_shutdown": "no"}
    )


def anything_else(setup: Setup, mended: list[Expectation], limits: Limits) -> Finding:
    """Search for a lost entry at these sizes that no known bug explains: the known bugs are fixed."""
    settings = {name: str(value) for name, value in setup.sizes.items()}
    return _decided("bookkeeper", settings | mended_for(mended), setup.release, LOSSES, limits)


def _of_crashes(known: Expectation) -> bool:
    return _of_lost_disks(known) or _of_durability(known)


def _of_lost_disks(known: Expectation) -> bool:
    """Return whether the bug is about a crash that may lose entries.

    In such a setting losing the last copy is expected. Recovery closing the ledger as if the entry had never
    existed is a bug.
    """
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
    return Finding(verdict, sizes, command, reason, _counterexample(instance, results), timed_out)


def _needed(protocol: Protocol, settings: Mapping[str, str], release: str) -> dict[str, str]:
    """Return the settings without those that do not change the instance."""
    wanted, needed = protocol.parameters(settings.items(), release), dict(settings)
    for name in settings:
        fewer = {other: value for other, value in needed.items() if other != name}
        with suppress(BadInput):
            if protocol.parameters(fewer.items(), release) == wanted:
                needed = fewer
    return needed


def _counterexample(instance: Instance, results: Sequence[Result]) -> Counterexample | None:
    found = next((r for r in results if r.trace is not None), None)
    if found is None or found.trace is None:
        return None
    (prop,) = instance.properties(found.property)
    sentence = f"{found.property}: {found.verdict.value}"
    return Counterexample(found.trace, instance.system, prop, sentence, instance.changed_switches)
