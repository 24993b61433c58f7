"""Searches for the risks of a setup: each known bug at its sizes and release, and any other loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from fencepost.answers.affected import OF_COPIES
from fencepost.answers.risks import LOSSES, Risk
from fencepost.answers.setups import Setup
from fencepost.answers.without_recoverer import violations_by_the_writer
from fencepost.answers.without_spare import (
    results_of,
    violations_by_rounds,
    violations_without_spare,
)
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Result, Verdict, worst
from fencepost.encoding.errors import TIME_OUT, BadInput
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.language.protocol import Instance, Protocol
from fencepost.encoding.language.system import Property, choose
from fencepost.encoding.language.traces import Trace
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Expectation
from fencepost.protocols.bookkeeper.switches import DURABILITY
from fencepost.quorums.storages import STORAGES


@dataclass(frozen=True)
class RiskFinding:
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
    computed_with: str = ""
    """The version that answered the question earlier; empty if it was asked now."""

    @property
    def decided(self) -> bool:
        """Whether the question is answered."""
        return self.verdict in DECIDED


Shortcut = Callable[[Instance, Sequence[Property], Limits], Sequence[Result]]
"""A search of fewer executions, which finds violations and proves nothing."""

NOT_ASKED = "not asked: the time was over"
"""The reason of a question that was never asked."""


def not_asked(risk: Risk | None, setup: Setup) -> RiskFinding:
    """Return the finding about a question that was not asked yet; None is the one about anything else."""
    sizes = dict(setup.sizes) | {"entries": (risk.entries if risk else None) or 1}
    return RiskFinding(Verdict.UNDECIDED, sizes, [], NOT_ASKED, out_of_time=True)


DECIDED = (Verdict.VIOLATED, Verdict.PROVED)
"""The verdicts that answer a question."""


@dataclass(frozen=True)
class RiskQuestion:
    """One search: some properties of one instance, of which a violation of one is enough."""

    preset: str
    settings: Mapping[str, str]
    release: str
    properties: tuple[str, ...]
    first: Shortcut | None = None

    @cached_property
    def instance(self) -> Instance:
        """The instance that is searched."""
        return find(self.preset).instance(self.settings.items(), self.release)

    def ask(self, limits: Limits) -> RiskFinding:
        """Search the instance."""
        return self.finding(*searched(self.instance, self.properties, self.first, limits))

    def finding(self, verdict: Verdict, reason: str, trace: Trace | None) -> RiskFinding:
        """Return the finding of a search with this result. The trace is one of the instance."""
        needed = _needed(find(self.preset), self.settings, self.release)
        asked = [f"--property={prop}" for prop in ([trace.property] if trace else self.properties)]
        command = ["fencepost", "check", self.preset, f"--release={self.release}", *asked]
        command += [f"--set={key}={value}" for key, value in needed.items()]
        parameters = self.instance.parameters
        sizes = {
            key: int(getattr(parameters, key))
            for key in ("bookies", "ensemble", "write_quorum", "ack_quorum", "entries")
        }
        timed_out = verdict is not Verdict.VIOLATED and TIME_OUT in reason
        return RiskFinding(verdict, sizes, command, reason, self._counterexample(verdict, trace), timed_out)

    def _counterexample(self, verdict: Verdict, trace: Trace | None) -> Counterexample | None:
        if trace is None:
            return None
        system = self.instance.written
        (prop,) = choose(system, (trace.property,))
        sentence = f"{trace.property}: {verdict.value}"
        return Counterexample(trace, system, prop, sentence, self.instance.changed_switches)


def searched(
    instance: Instance, properties: tuple[str, ...], first: Shortcut | None, limits: Limits
) -> tuple[Verdict, str, Trace | None]:
    """Search an instance with the shortcut first; return the worst verdict, its reason and a trace."""
    limits = replace(limits, minimize=Minimize.NONE, one_is_enough=True)
    chosen = choose(instance.system, properties)
    results = (first(instance, chosen, limits) if first else ()) or results_of(instance, chosen, limits)
    verdict = worst(result.verdict for result in results)
    reason = next((r.reason for r in results if r.verdict is verdict and r.reason), None) or ""
    return verdict, reason, next((r.trace for r in results if r.trace is not None), None)


def at_these_sizes(risk: Risk, setup: Setup, others: Iterable[Expectation]) -> RiskQuestion:
    """Return the search for the bug at these sizes in this release.

    The other known bugs are fixed, so that none of them explains a violation. A bug that needs no spare
    bookie is searched for without one first (`violations_without_spare`).
    """
    sizes = dict(setup.sizes) | ({"entries": risk.entries} if risk.entries else {})
    if risk.at_once:
        sizes["crashes"] = setup.configuration.ack_quorum
    return _question(risk, risk.asks, setup, sizes, others)


def at_own_sizes(risk: Risk, setup: Setup, others: Iterable[Expectation]) -> RiskQuestion:
    """Return the search for the bug in this release on the small instance of its row."""
    return _question(risk, (risk.bug.property,), setup, {}, others)


def mended_for(bugs: Iterable[Expectation]) -> dict[str, str]:
    """Return the switches of the ledger that fix these bugs, without those of layers that it is not about."""
    return {bug.switch: str(bug.mended) for bug in bugs if bug.switch and not _of_other_models(bug)}


def _of_other_models(bug: Expectation) -> bool:
    return (
        bug.protocol == OF_COPIES
        or _of_crashes(bug)
        or any(layer in bug.settings for layer in ("deletions", "journals"))
    )


def _question(
    risk: Risk,
    properties: tuple[str, ...],
    setup: Setup,
    sizes: Mapping[str, int],
    others: Iterable[Expectation],
) -> RiskQuestion:
    name, settings = instance_of(risk, setup, sizes, others)
    if not sizes:
        return RiskQuestion(name, settings, setup.release, properties)
    spared = violations_by_rounds if "spare" in risk.needs else violations_without_spare
    first = violations_by_the_writer if risk.by_writer else spared
    return RiskQuestion(name, settings, setup.release, properties, first)


def instance_of(
    risk: Risk, setup: Setup, sizes: Mapping[str, int], others: Iterable[Expectation]
) -> tuple[str, dict[str, str]]:
    """Return the preset and settings for the search of a bug, at these sizes or at those of its row."""
    if risk.bug.protocol == OF_COPIES:
        return OF_COPIES, _of_copies(risk.bug, sizes, others)
    known, mended = risk.bug, mended_for(other for other in others if other != risk.bug)
    settings = {name: str(value) for name, value in (dict(known.settings) | dict(sizes)).items()}
    name = "bookkeeper" if known.protocol.startswith("bookkeeper-4") else known.protocol
    if known.protocol != name and not sizes:
        settings = {o.name: str(o.default) for o in find(known.protocol).options() if not o.values} | settings
    own = {known.switch: known.broken} if known.switch else {}
    if risk.settings is not None:
        settings |= own | dict(risk.settings)
    elif _of_durability(known):
        settings = {k: v for k, v in settings.items() if k not in DURABILITY} | _stored(setup, known)
    elif _of_crashes(known):
        settings = _as_shipped(setup) | settings
    return name, settings | mended


FLUSHES = {"files": "flush_headers", "table": "db_checkpoint"}
"""The switch of a flush that leaves out keys and fences, by the index of the storage."""


def _of_copies(known: Expectation, sizes: Mapping[str, int], others: Iterable[Expectation]) -> dict[str, str]:
    """Return the settings of `ledger-copies` for one of its bugs, with its other bugs fixed."""
    mended = {o.switch: o.mended for o in others if o.protocol == OF_COPIES and o != known and o.switch}
    settings = {**mended, **known.settings, **sizes, str(known.switch): known.broken}
    return {name: str(value) for name, value in settings.items()}


def _stored(setup: Setup, known: Expectation) -> dict[str, str]:
    """Return the storage of the setup, with every loss of a bookie fixed but the one of this bug.

    docs/durability.md has the switches.
    """
    storage = STORAGES[setup.storage]
    flush = FLUSHES[storage.index]
    mends = {"fence_record": "with-key", "negative_answers": "after-fence", flush: "always"}
    own = {known.switch: known.broken}
    journaled = {} if setup.journal else {"entries_journaled": "no"}
    return {"storage": setup.storage, "second_copy": storage.second_copy, **journaled} | {
        switch: own.get(switch, mend) for switch, mend in mends.items()
    }


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


def any_other(setup: Setup, mended: Iterable[Expectation]) -> RiskQuestion:
    """Return the search for a lost entry at these sizes that no known bug explains: those are fixed."""
    settings = {name: str(value) for name, value in setup.sizes.items()}
    return RiskQuestion("bookkeeper", settings | mended_for(mended), setup.release, LOSSES)


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


def _needed(protocol: Protocol, settings: Mapping[str, str], release: str) -> dict[str, str]:
    """Return the settings without those that do not change the instance."""
    wanted, needed = protocol.parameters(settings.items(), release), dict(settings)
    for name in settings:
        fewer = {other: value for other, value in needed.items() if other != name}
        with suppress(BadInput):
            if protocol.parameters(fewer.items(), release) == wanted:
                needed = fewer
    return needed
