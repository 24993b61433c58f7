"""May this be run: which known bugs bite in a configuration and a release, and whether anything else loses an entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from fencepost.encoding.checking.limits import Limits, Minimize
from fencepost.encoding.checking.running import check
from fencepost.encoding.checking.verdicts import Result, Verdict, worst
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms.story import Story
from fencepost.encoding.language.protocol import Instance, choose
from fencepost.encoding.reading import Key, has_keys, parse_toml
from fencepost.properties.affected import bugs_of_releases, has
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import TABLES, Expectation
from fencepost.protocols.bookkeeper.parameters import TODAY
from fencepost.protocols.bookkeeper.releases import differing
from fencepost.quorums.stripes import Configuration

LOSSES = ("no-divergence", "acked-entries-readable")
"""The properties whose violation is the loss of an acknowledged entry."""


@dataclass(frozen=True)
class Setup:
    """What is to be run: E/WQ/AQ on N bookies of a release; whether data is journaled, and checked after a crash."""

    configuration: Configuration
    bookies: int
    release: str
    journal: bool = True
    checks: bool = False

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


TRAITS = ("spare", "striped", "two-acks", "journal", "no-journal", "checks", "no-checks")
KEYS = {
    "loses": Key(bool, "true or false", needed=True),
    "needs": Key(list, f"a list of {', '.join(TRAITS)}", lambda v: set(v) <= set(TRAITS), needed=True),
    "remedy": Key(str, "what to do", needed=True),
}


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    path = TABLES / "risks.toml"
    return parse_toml(path.read_text(encoding="utf-8"), path.name, "it is part of this package")


def risks(setup: Setup) -> list[Risk]:
    """The known bugs that this release has and this setup meets the conditions of."""
    found = []
    for known, *_ in bugs_of_releases():
        if has(known, setup.release):
            row = has_keys(_table()[known.name], KEYS, f"risks.toml, {known.name}")
            found.append(Risk(known, row["loses"], frozenset(row["needs"]), row["remedy"]))
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
    story: Story | None = None
    """The counterexample, if there is one."""

    def to_json(self) -> dict[str, Any]:
        """The form in `fencepost.advice/1`."""
        said = {"verdict": self.verdict.value, "sizes": self.shown_on, "command": self.command}
        return {**said, "reason": self.reason or None}


Remaining = Callable[[], float]
"""Seconds that a question may still take."""


def shown(
    risk: Risk, setup: Setup, others: Sequence[Expectation], share: Remaining, limits: Limits
) -> Finding:
    """Whether the bug is found at these sizes in this release; if that is not decided, whether on the table's instance.

    The other known bugs are mended, so that none of them answers for it. Where the release lacks what the bug's instance is made of,
    such as the boot sequence of 4.15, nothing is decided, and the reason says so.
    """
    mended = _mended(other for other in others if other != risk.bug)
    try:
        return _found(risk, setup, mended, share, limits)
    except BadInput as lacking:
        sizes = {"entries": 1} | dict(setup.sizes)
        command = ["fencepost", "check", "--known", f"--bug={risk.bug.name.removeprefix('#')}"]
        return Finding(Verdict.UNDECIDED, sizes, command, str(lacking))


def _found(risk: Risk, setup: Setup, mended: Mapping[str, str], share: Remaining, limits: Limits) -> Finding:
    """At these sizes, or else on the table's instance."""
    found = _asked(risk.bug, setup, setup.sizes, mended, replace(limits, timeout=share() / 2))
    if found.verdict in (Verdict.VIOLATED, Verdict.PROVED):
        return found
    own = _asked(risk.bug, setup, {}, mended, replace(limits, timeout=share()))
    return own if own.verdict is Verdict.VIOLATED else found


def _mended(bugs: Iterable[Expectation]) -> dict[str, str]:
    """The switches that mend them, of those that are not about crashes."""
    return {bug.switch: str(bug.mended) for bug in bugs if bug.switch and not _of_crashes(bug)}


def _asked(
    known: Expectation, setup: Setup, sizes: Mapping[str, int], mended: Mapping[str, str], limits: Limits
) -> Finding:
    settings = {name: str(value) for name, value in (dict(known.settings) | dict(sizes)).items()}
    name = "bookkeeper" if known.protocol.startswith("bookkeeper-4") else known.protocol
    if known.protocol != name and not sizes:
        settings = {o.name: str(o.default) for o in find(known.protocol).options() if not o.values} | settings
    if _of_crashes(known):
        settings = _as_shipped(setup) | settings
    return _decided(name, settings | dict(mended), setup.release, (known.property,), limits)


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
    return _decided("bookkeeper", settings | _mended(mended), setup.release, LOSSES, limits)


def _of_crashes(known: Expectation) -> bool:
    return known.protocol == "bookkeeper-no-journal" or "storage" in known.settings


def _decided(
    name: str, settings: dict[str, str], release: str, properties: tuple[str, ...], limits: Limits
) -> Finding:
    protocol = find(name)
    instance = protocol.instance(settings.items(), release)
    limits = replace(limits, minimize=Minimize.NONE)
    results = check(
        instance.system, instance.subject, choose(instance.system, properties), limits.of(instance.system)
    ).results
    verdict = worst(result.verdict for result in results)
    said = [f"--set={key}={value}" for key, value in settings.items()]
    asked = [f"--property={prop}" for prop in properties]
    command = ["fencepost", "check", name, f"--release={release}", *asked, *said]
    sizes = {
        key: int(getattr(instance.parameters, key))
        for key in ("bookies", "ensemble", "write_quorum", "ack_quorum", "entries")
    }
    reason = next((r.reason for r in results if r.verdict is verdict and r.reason), "")
    return Finding(verdict, sizes, command, reason or "", _story(instance, results))


def _story(instance: Instance, results: Sequence[Result]) -> Story | None:
    found = next((r for r in results if r.trace is not None), None)
    if found is None or found.trace is None:
        return None
    (prop,) = instance.properties(found.property)
    sentence = f"{found.property}: {found.verdict.value}"
    return Story(found.trace, instance.system, prop, sentence, instance.changed_switches)
