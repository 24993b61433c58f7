"""Whether a property is violated on the code: judged on what was seen there, without the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.realcode.observations import TOLD_LAC, Facts


def violated(name: str, facts: Facts, told: Sequence[str], parameters: BookKeeperParameters) -> bool | None:
    """Whether the property of that name is violated; None if what can be seen does not tell."""
    judge = JUDGES.get(name)
    return None if judge is None else judge(facts, told, parameters)


def _acknowledged(facts: Facts) -> list[int]:
    return [int(n[13:-1]) for n, is_so in facts.items() if n.startswith("acknowledged[") and is_so]


def _closed_at(facts: Facts) -> int | None:
    last = facts.get("last entry")
    return last if isinstance(last, int) else None


def _no_divergence(facts: Facts, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    last = _closed_at(facts)
    if last is None:
        return False
    reported = [n for name, n in facts.items() if name.startswith("closed at[")]
    return any(entry > last for entry in _acknowledged(facts)) or any(n != last for n in reported)


def _write_set(entry: int, facts: Facts, parameters: BookKeeperParameters) -> list[str]:
    """The bookies that the metadata places the entry on."""
    fragments = {int(n[14:]): str(e).split(", ") for n, e in facts.items() if n.startswith("ensemble from ")}
    first = max(f for f in fragments if f <= entry)
    size = parameters.ensemble
    return [fragments[first][(entry - 1 + i) % size] for i in range(parameters.write_quorum)]


def _copies(entry: int, facts: Facts, parameters: BookKeeperParameters) -> int:
    """Bookies of its write set that store the entry as the writer pushed it."""
    return sum(facts.get(f"stored[{b}, {entry}]") == entry for b in _write_set(entry, facts, parameters))


def _acked_readable(facts: Facts, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    return any(_copies(entry, facts, parameters) == 0 for entry in _acknowledged(facts))


def _ack_quorum(facts: Facts, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    last = _closed_at(facts)
    entries = _acknowledged(facts) if last is None else range(1, last + 1)
    return any(_copies(entry, facts, parameters) < parameters.ack_quorum for entry in entries)


def _in_order(facts: Facts, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    stored = [(re.findall(r"\d+", n), content) for n, content in facts.items() if n.startswith("stored[")]
    return any(content not in (0, int(numbers[1])) for numbers, content in stored)


def _dirty_read(facts: Facts, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    last = _closed_at(facts)
    lacs = [n for name, n in facts.items() if name.startswith(TOLD_LAC)]
    return last is not None and any(isinstance(lac, int) and lac > last for lac in lacs)


def _invalid_fragment(facts: Facts, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    """A recovery fails although nothing that it sent was left unanswered (closeRecovered: IllegalStateException).

    The step that the model names so is driven on until the recoverer reports, with everything delivered.
    """
    return any(": opened: LedgerRecoveryException" in line for line in told)


def _fencing_enough(facts: Facts, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    """Somebody reads, and AQ bookies of a window of the last ensemble are without a fence."""
    if not any(is_so for name, is_so in facts.items() if name.startswith("reading[")):
        return False
    last = max(int(n[14:]) for n in facts if n.startswith("ensemble from "))
    ensemble = str(facts[f"ensemble from {last}"]).split(", ")
    size, window = parameters.ensemble, parameters.write_quorum
    return any(
        sum(not facts[f"fenced[{ensemble[(start + i) % size]}]"] for i in range(window))
        >= parameters.ack_quorum
        for start in range(size)
    )


def _stuck(facts: Facts, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    """Everything has been let come that could come, and no recovery has succeeded."""
    return not any(": opened: OK" in line for line in told)


JUDGES: Mapping[str, Callable[[Facts, Sequence[str], BookKeeperParameters], bool]] = {
    "no-divergence": _no_divergence,
    "acked-entries-readable": _acked_readable,
    "ack-quorum-reached": _ack_quorum,
    "entries-in-order": _in_order,
    "no-dirty-read": _dirty_read,
    "fencing-is-enough": _fencing_enough,
    "recovery-can-finish": _stuck,
    "valid-fragments": _invalid_fragment,
}
"""By the name of a property; the others are judged by the model alone, while the code agrees with it."""
