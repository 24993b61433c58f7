"""Judges: each decides from observations of the code alone whether a property is violated."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from fencepost.protocols.bookkeeper.observed import FORCED, UNANSWERED
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.realcode.observations import TOLD_LAC, UNANSWERED_AGAIN, Observations


def violated(
    name: str, observations: Observations, told: Sequence[str], parameters: BookKeeperParameters
) -> bool | None:
    """Return whether the property is violated; None if the observations do not decide it."""
    judge = JUDGES.get(name)
    return None if judge is None else judge(observations, told, parameters)


def _acknowledged(observations: Observations) -> list[int]:
    """Return the acknowledged entries, of a writer with DEFERRED_SYNC those that a force has covered."""
    name = FORCED if any(n.startswith(f"{FORCED}[") for n in observations) else "acknowledged"
    start = len(name) + 1
    return [int(n[start:-1]) for n, is_so in observations.items() if n.startswith(f"{name}[") and is_so]


def _closed_at(observations: Observations) -> int | None:
    last = observations.get("last entry")
    return last if isinstance(last, int) else None


def _no_divergence(observations: Observations, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    last = _closed_at(observations)
    reported = [n for name, n in observations.items() if name.startswith("closed at[")]
    return last is not None and (_cut_off(observations, told, parameters) or any(n != last for n in reported))


def write_set(entry: int, observations: Observations, parameters: BookKeeperParameters) -> list[str]:
    """Return the bookies on which the metadata places the entry."""
    fragments = {
        int(n[14:]): str(e).split(", ") for n, e in observations.items() if n.startswith("ensemble from ")
    }
    first = max(f for f in fragments if f <= entry)
    size = parameters.ensemble
    return [fragments[first][(entry - 1 + i) % size] for i in range(parameters.write_quorum)]


def _copies(entry: int, observations: Observations, parameters: BookKeeperParameters) -> int:
    """Return how many bookies of its write set store the entry as the writer pushed it."""
    return sum(
        observations.get(f"stored[{b}, {entry}]") == entry for b in write_set(entry, observations, parameters)
    )


def _acked_readable(
    observations: Observations, told: Sequence[str], parameters: BookKeeperParameters
) -> bool:
    return any(_copies(entry, observations, parameters) == 0 for entry in _acknowledged(observations))


def _ack_quorum(observations: Observations, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    last = _closed_at(observations)
    entries = _acknowledged(observations) if last is None else range(1, last + 1)
    return any(_copies(entry, observations, parameters) < parameters.ack_quorum for entry in entries)


def _on_enough_racks(
    observations: Observations, told: Sequence[str], parameters: BookKeeperParameters
) -> bool:
    """Return whether the copies of an acknowledged entry are on too few racks before the close."""

    def racks(entry: int) -> int:
        bookies = write_set(entry, observations, parameters)
        stored = [b for b in bookies if observations.get(f"stored[{b}, {entry}]") == entry]
        return len({int(b[1:]) % parameters.racks for b in stored})

    needed = min(parameters.write_quorum, parameters.racks)
    is_open = _closed_at(observations) is None
    return is_open and any(racks(entry) < needed for entry in _acknowledged(observations))


def _in_order(observations: Observations, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    stored = [
        (re.findall(r"\d+", n), content) for n, content in observations.items() if n.startswith("stored[")
    ]
    return any(content not in (0, int(numbers[1])) for numbers, content in stored)


def _dirty_read(observations: Observations, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    last = _closed_at(observations)
    lacs = [n for name, n in observations.items() if name.startswith(TOLD_LAC)]
    return last is not None and any(isinstance(lac, int) and lac > last for lac in lacs)


def _invalid_fragment(
    observations: Observations, told: Sequence[str], parameters: BookKeeperParameters
) -> bool:
    """Return whether a recovery failed although all its requests were answered.

    closeRecovered throws IllegalStateException. The step of that name in the model is continued until the
    recoverer reports, with everything delivered.
    """
    return any(": opened: LedgerRecoveryException" in line for line in told)


def _fencing_enough(
    observations: Observations, told: Sequence[str], parameters: BookKeeperParameters
) -> bool:
    """Return whether a client reads while AQ bookies of a window of the last ensemble are unfenced."""
    if not any(is_so for name, is_so in observations.items() if name.startswith("reading[")):
        return False
    last = max(int(n[14:]) for n in observations if n.startswith("ensemble from "))
    ensemble = str(observations[f"ensemble from {last}"]).split(", ")
    size, window = parameters.ensemble, parameters.write_quorum
    return any(
        sum(not observations[f"fenced[{ensemble[(start + i) % size]}]"] for i in range(window))
        >= parameters.ack_quorum
        for start in range(size)
    )


def _stuck(observations: Observations, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    """Return whether no recovery succeeded although everything that could arrive was delivered."""
    return not any(": opened: OK" in line for line in told)


def unanswered(observations: Observations) -> list[int]:
    """Return the entries that the writer's application waits for."""
    names = (f"{UNANSWERED}[", f"{UNANSWERED_AGAIN}[")
    return sorted(
        {int(n[:-1].split("[")[1]) for n, waits in observations.items() if n.startswith(names) and waits}
    )


def _add_hangs(observations: Observations, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    """Return whether an add has no answer although everything that was under way was delivered."""
    return bool(unanswered(observations))


def _absent(observations: Observations, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    """Return whether a reader was told that an acknowledged entry does not exist."""
    confirmed = set(_acknowledged(observations)) | set(range(1, (_closed_at(observations) or 0) + 1))
    absent = [n for n, is_so in observations.items() if n.startswith("absent[") and is_so]
    return any(int(n[:-1].split(", ")[1]) in confirmed for n in absent)


def _low_end(observations: Observations, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    """Return whether a reader knows that the ledger is closed, and has a LAC below the last entry."""
    last = _closed_at(observations)
    knowing = [n[10:-1] for n, is_so in observations.items() if n.startswith("knows end[") and is_so]
    lacs = [observations[f"lac[{reader}]"] for reader in knowing]
    return last is not None and any(isinstance(lac, int) and lac < last for lac in lacs)


def _cut_off(observations: Observations, told: Sequence[str], parameters: BookKeeperParameters) -> bool:
    """Return whether the ledger is closed without an entry that was acknowledged."""
    last = _closed_at(observations)
    return last is not None and any(entry > last for entry in _acknowledged(observations))


JUDGES: Mapping[str, Callable[[Observations, Sequence[str], BookKeeperParameters], bool]] = {
    "no-divergence": _no_divergence,
    "acked-entries-readable": _acked_readable,
    "ack-quorum-reached": _ack_quorum,
    "acked-on-enough-racks": _on_enough_racks,
    "entries-in-order": _in_order,
    "no-dirty-read": _dirty_read,
    "fencing-is-enough": _fencing_enough,
    "recovery-can-finish": _stuck,
    "adds-answered": _add_hangs,
    "valid-fragments": _invalid_fragment,
    "reads-find-entries": _absent,
    "readers-see-the-end": _low_end,
    "acknowledged-adds-stay": _cut_off,
}
"""The judges by property. The model alone judges other properties, while the code agrees with it."""
