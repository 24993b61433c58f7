"""The calculator: its numbers against a simulation that shares no code with it, and its warnings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import pytest

from fencepost.encoding.errors import BadInput
from fencepost.properties import lemmas as catalogue
from fencepost.quorums.calculator import warnings
from fencepost.quorums.deployment import Client, Deployment
from fencepost.quorums.placement import Racks, read_racks
from fencepost.quorums.quantities import Quantity, quantities
from fencepost.quorums.stripes import Configuration, configurations

# The simulation: a BookKeeper client in miniature, written from A.3 and A.4 of the code facts.
# Bookies are 0 .. n-1, some of them dead; a ledger is a list of bookies; one entry goes to every stripe.


class Stopped(Exception):
    """The client gave up: it closes the ledger, or the creation or recovery fails."""


def create_ledger(n: int, e: int, w: int, dead: set[int], opportunistic: bool) -> list[int]:
    alive = [b for b in range(n) if b not in dead]
    if len(alive) < e and not (opportunistic and len(alive) >= w):
        raise Stopped("not enough non-faulty bookies")
    return alive[: min(e, len(alive))]


def write_a_round(ensemble: list[int], w: int, a: int, n: int, dead: set[int], delay: bool) -> list[int]:
    """Add one entry for each stripe, replace failed bookies as the client does, and return the ensemble."""
    current = list(ensemble)
    for entry in range(len(current)):
        add_entry(current, entry, w, a, n, dead, delay)
    return current


def add_entry(current: list[int], entry: int, w: int, a: int, n: int, dead: set[int], delay: bool) -> None:
    while True:
        indexes = [(entry + i) % len(current) for i in range(w)]
        failed = [i for i in indexes if current[i] in dead]
        if not failed or (delay and len(failed) <= w - a):
            acks = w - len(failed)
            assert acks >= a
            return
        replaced = 0
        for index in failed:
            spare = next((b for b in range(n) if b not in dead and b not in current), None)
            if spare is not None:
                current[index] = spare
                replaced += 1
        if replaced == 0:
            raise Stopped("no bookie to replace a failed one")


def fence(ensemble: list[int], w: int, a: int, dead: set[int]) -> None:
    for start in range(len(ensemble)):
        unknown = 0
        for step in range(w):
            if ensemble[(start + step) % len(ensemble)] in dead:
                unknown += 1
        if unknown >= a:
            raise Stopped("fencing not covered")


def recover_and_rewrite(ensemble: list[int], w: int, a: int, n: int, dead: set[int], delay: bool) -> None:
    fence(ensemble, w, a, dead)
    write_a_round(ensemble, w, a, n, dead, delay)


def replicate(ensemble: list[int], w: int, a: int, n: int, dead: set[int]) -> None:
    keep_a_copy(len(ensemble), w, a, {ensemble.index(b) for b in dead if b in ensemble})
    lost = [b for b in ensemble if b in dead]
    outside = [b for b in range(n) if b not in dead and b not in ensemble]
    if len(outside) < len(lost):
        raise Stopped("no bookie outside the ensemble")


def keep_a_copy(e: int, w: int, a: int, dead: set[int]) -> None:
    """Stop if an acknowledged entry may have no copy left: any AQ positions of its window may have it."""
    for start in range(e):
        window = [(start + step) % e for step in range(w)]
        if any(set(holders) <= dead for holders in combinations(window, a)):
            raise Stopped("no copy left")


def force(ensemble: list[int], dead: set[int]) -> None:
    if any(b in dead for b in ensemble):
        raise Stopped("force needs every bookie")


def survives(n: int, failures: int, attempt: Callable[[set[int]], object]) -> bool:
    """Return whether the attempt succeeds for every choice of `failures` dead bookies."""
    for dead in combinations(range(n), failures):
        try:
            attempt(set(dead))
        except Stopped:
            return False
    return True


def most_survived(n: int, attempt: Callable[[set[int]], object]) -> int:
    failures = 0
    while failures < n and survives(n, failures + 1, attempt):
        failures += 1
    return failures


def row(deployment: Deployment, number: int) -> Quantity:
    return next(q for q in quantities(deployment) if q.number == number)


CLUSTERS = [(c, n) for c in configurations(5) for n in range(c.ensemble, c.ensemble + 3)]
IDS = [f"{c}-on-{n}" for c, n in CLUSTERS]


@pytest.mark.parametrize(("c", "n"), CLUSTERS, ids=IDS)
@pytest.mark.parametrize("delay", [False, True], ids=["default", "delayed"])
def test_the_numbers_about_clients_are_those_of_a_simulated_client(
    c: Configuration, n: int, delay: bool
) -> None:
    e, w, a = c.sizes
    ensemble = list(range(e))
    values = {q.number: q.value for q in quantities(Deployment(c, n, Client(delay_ensemble_change=delay)))}
    assert values[12 if delay else 11] == most_survived(
        n, lambda dead: write_a_round(ensemble, w, a, n, dead, delay)
    )
    assert values[8] == most_survived(n, lambda dead: recover_and_rewrite(ensemble, w, a, n, dead, delay))
    assert values[7] == values[9] == most_survived(e, lambda dead: fence(ensemble, w, a, dead))
    assert values[16] == most_survived(n, lambda dead: replicate(ensemble, w, a, n, dead))
    assert values[15] == most_survived(e, lambda dead: force(ensemble, dead))


@pytest.mark.parametrize(("c", "n"), CLUSTERS, ids=IDS)
@pytest.mark.parametrize("opportunistic", [False, True], ids=["fixed", "opportunistic"])
def test_new_ledgers_are_created_as_often_as_simulated(c: Configuration, n: int, opportunistic: bool) -> None:
    e, w, _ = c.sizes
    deployment = Deployment(c, n, Client(opportunistic_striping=opportunistic))
    assert row(deployment, 13).value == most_survived(
        n, lambda dead: create_ledger(n, e, w, dead, opportunistic)
    )


# Racks that are enforced. A bookie is a number, and the number says in which rack it is.


def rack_of(sizes: tuple[int, ...]) -> list[int]:
    return [rack for rack, size in enumerate(sizes) for _ in range(size)]


def allowed(bookies: list[int], e: int, w: int, least: int, racks: list[int]) -> list[tuple[int, ...]]:
    """Return every ensemble of these bookies that the policy allows: each write set on enough racks."""
    return [
        ensemble
        for ensemble in permutations(bookies, e)
        if all(len({racks[ensemble[(s + i) % e]] for i in range(w)}) >= least for s in range(e))
    ]


def successors(ensemble: tuple[int, ...], lost: int, racks: list[int], free: list[int]) -> list[int]:
    """Return the bookies that the policy may choose in place of a lost one.

    They are those of the same rack, or else those of a rack without another member of the ensemble.
    """
    same = [b for b in free if racks[b] == racks[lost]]
    taken = {racks[b] for b in ensemble if b != lost}
    return same or [b for b in free if racks[b] not in taken]


def may_stop(ensemble: tuple[int, ...], w: int, slack: int, racks: list[int], dead: set[int]) -> bool:
    """Return whether a writer may end with an error for some choice of the policy."""
    for start in range(len(ensemble)):
        failed = [i for i in sorted((start + i) % len(ensemble) for i in range(w)) if ensemble[i] in dead]
        if len(failed) <= slack:
            continue
        first = failed[0]
        free = [b for b in range(len(racks)) if b not in dead and b not in ensemble]
        found = successors(ensemble, ensemble[first], racks, free)
        return not found or any(
            may_stop((*ensemble[:first], b, *ensemble[first + 1 :]), w, slack, racks, dead) for b in found
        )
    return False


def may_stay_lost(ensemble: tuple[int, ...], racks: list[int], dead: set[int]) -> bool:
    """Return whether auto-recovery may find no place for a copy.

    It looks at the ensemble as it was before the losses, for each lost bookie.
    """

    def stuck(lost: list[int], free: list[int]) -> bool:
        if not lost:
            return False
        found = successors(ensemble, lost[0], racks, free)
        return not found or any(stuck(lost[1:], [f for f in free if f != b]) for b in found)

    free = [b for b in range(len(racks)) if b not in dead and b not in ensemble]
    return stuck([b for b in ensemble if b in dead], free)


@pytest.mark.parametrize("n", [2, 10])
def test_auto_recovery_that_is_off_restores_nothing(n: int) -> None:
    """Planted: the setting is ignored; the copies that are left are ignored (8 of 10 at 2/2/2)."""
    on, off = (Deployment(Configuration(2, 2, 2), n, autorecovery=runs) for runs in (True, False))
    assert (row(on, 16).value, row(off, 16).value) == (min(1, n - 2), 0)
    assert "off" in row(off, 16).meaning


ENFORCED = [
    ((2, 2, 1), (1, 1), 1, True),
    ((2, 2, 1), (2, 2), 2, False),
    ((2, 2, 2), (2, 1, 1), 2, False),
    ((3, 3, 2), (3, 1), 2, False),
    ((3, 3, 2), (2, 2), 2, True),
    ((3, 3, 2), (2, 2, 2), 2, False),
    ((3, 3, 2), (1, 1, 1, 1, 1), 2, False),
    ((3, 3, 2), (2, 2, 1), 3, False),
    ((3, 3, 1), (3, 1, 1), 3, False),
    ((3, 3, 1), (1, 1, 1, 1, 1, 1), 9, False),
    ((2, 1, 1), (2, 2), 2, False),
    ((3, 2, 1), (2, 2, 1), 2, False),
    ((3, 2, 2), (2, 1, 1, 1), 2, True),
    ((4, 2, 1), (3, 3), 2, False),
    ((4, 3, 2), (2, 2, 1), 2, False),
    ((4, 3, 2), (2, 2, 1), 3, False),
]
"""E/WQ/AQ, bookies of each rack, minNumRacksPerWriteQuorum, and whether striping is opportunistic."""


@pytest.mark.parametrize(("c", "sizes", "least", "opportunistic"), ENFORCED, ids=str)
def test_enforced_racks_count_in_each_row_that_they_change(
    c: tuple[int, int, int], sizes: tuple[int, ...], least: int, opportunistic: bool
) -> None:
    """Check each ensemble that the policy allows, each set of failures and each choice.

    Planted: N - E whatever is enforced.
    """
    e, w, a = c
    racks, n, wanted = rack_of(sizes), sum(sizes), min(w, least)

    def creates(dead: set[int]) -> None:
        alive = [b for b in range(n) if b not in dead]
        smallest = w if opportunistic else e
        if not any(allowed(alive, size, w, wanted, racks) for size in range(smallest, e + 1)):
            raise Stopped("no ensemble")

    def deploy(delay: bool = False) -> Deployment:
        client = Client(delay, opportunistic, least, enforce_min_racks=True)
        return Deployment(Configuration(*c), n, client, Racks(sizes))

    try:
        creates(set())
    except Stopped:
        with pytest.raises(BadInput, match="no ledger can be created"):
            deploy()
        return
    got = deploy().configuration.ensemble
    ensembles = allowed(list(range(n)), got, w, wanted, racks)
    assert ensembles
    assert opportunistic or got == e
    assert not any(allowed(list(range(n)), size, w, wanted, racks) for size in range(got + 1, e + 1))

    def writes(slack: int) -> Callable[[set[int]], None]:
        def attempt(dead: set[int]) -> None:
            if any(may_stop(ensemble, w, slack, racks, dead) for ensemble in ensembles):
                raise Stopped("no bookie to replace a failed one")

        return attempt

    def recovers(dead: set[int]) -> None:
        for ensemble in ensembles:
            keep_a_copy(got, w, a, {at for at, bookie in enumerate(ensemble) if bookie in dead})
        if any(may_stay_lost(ensemble, racks, dead) for ensemble in ensembles):
            raise Stopped("no bookie for a copy")

    def survives_racks() -> bool:
        for rack in range(len(sizes)):
            dead = {b for b in range(n) if racks[b] == rack}
            try:
                if not allowed([b for b in range(n) if b not in dead], got, w, wanted, racks):
                    return False
                writes(0)(dead)
            except Stopped:
                return False
        return True

    values = {q.number: q.value for q in quantities(deploy())}
    assert values[13] == most_survived(n, creates)
    assert values[11] == (kept := most_survived(n, writes(0)))
    assert values[12] == (delayed := most_survived(n, writes(w - a)))
    assert values[8] == min(a - 1, kept)
    assert row(deploy(delay=True), 8).value == min(a - 1, delayed)
    assert values[16] == most_survived(n, recovers)
    assert values[21] is survives_racks()
    most = max(
        max(Counter(racks[ens[(s + i) % got]] for i in range(w)).values())
        for ens in ensembles
        for s in range(got)
    )
    assert most <= a - 1 or values[19] is False


@pytest.mark.parametrize(
    ("sizes", "least", "message"),
    [
        ((3,), None, "racks of 3 bookies: no ensemble of 3/3/2 has 2 racks in every write set"),
        ((2, 2), 3, "racks of 2, 2 bookies: no ensemble of 3/3/2 has 3 racks in every write set"),
    ],
)
def test_a_ledger_that_no_client_creates_is_refused(
    sizes: tuple[int, ...], least: int | None, message: str
) -> None:
    """Without an option, two racks are required. Planted: one rack required by default."""
    client = Client(min_racks=least, enforce_min_racks=True)
    with pytest.raises(BadInput, match=message):
        Deployment(Configuration(3, 3, 2), sum(sizes), client, Racks(sizes))


def test_a_placement_that_no_client_makes_is_refused() -> None:
    # Planted: the racks of positions not looked at.
    client = Client(enforce_min_racks=True)
    with pytest.raises(BadInput, match="racks a,a,a: a write set spans 1 of them, and 2 are enforced"):
        Deployment(Configuration(3, 3, 2), 3, client, read_racks("a,a,a", 3))
    assert Deployment(Configuration(3, 3, 2), 4, client, read_racks("a,a,b", 3)).replaceable == 1


@pytest.mark.parametrize(
    ("c", "sizes", "message"),
    [
        (Configuration(12, 3, 2), (12, 12), "E = 12 > WQ = 3"),
        (Configuration(1000, 3, 2), (500, 500), "E = 1000 > WQ = 3"),
        (Configuration(30, 30, 2), tuple(range(10, 30)), "more than 100,000 ensembles"),
    ],
    ids=str,
)
def test_what_would_take_long_is_refused(c: Configuration, sizes: tuple[int, ...], message: str) -> None:
    # Planted: the windows of any ensemble are computed, until Python's stack is full.
    client = Client(enforce_min_racks=True)
    with pytest.raises(BadInput, match=message):
        quantities(Deployment(c, sum(sizes), client, Racks(sizes)))


def test_opportunistic_striping_shrinks_the_ensemble_and_says_so() -> None:
    deployment = Deployment(Configuration(5, 3, 2), 3, Client(opportunistic_striping=True))
    assert deployment.configuration == Configuration(3, 3, 2)
    assert row(deployment, 13).value == 0
    assert any("3/3/2, not 5/3/2" in w.text for w in warnings(deployment))


@pytest.mark.parametrize("c", list(configurations(4)), ids=str)
def test_a_rack_that_the_calculator_says_is_survived_can_be_lost(c: Configuration) -> None:
    """Compare row 19 with the simulation: kill each rack of each placement and try to fence."""
    _, w, a = c.sizes
    for code in range(3**c.ensemble):
        names = tuple("xyz"[code // 3**position % 3] for position in range(c.ensemble))
        deployment = Deployment(c, c.ensemble, racks=read_racks(",".join(names), c.ensemble))
        lost = [{p for p, name in enumerate(names) if name == rack} for rack in set(names)]
        survived = True
        for dead in lost:
            try:
                fence(list(range(c.ensemble)), w, a, dead)
            except Stopped:
                survived = False
        assert row(deployment, 19).value is survived


@pytest.mark.parametrize("c", list(configurations(5)), ids=str)
def test_every_row_is_there_once_and_in_order(c: Configuration) -> None:
    racks = Racks((1,) * c.ensemble)
    numbers = [q.number for q in quantities(Deployment(c, c.ensemble, racks=racks))]
    assert numbers == list(range(1, 25))


def test_every_theorem_names_a_lemma_that_there_is_and_the_rest_a_source() -> None:
    known = {lemma.name for lemma in catalogue.all_lemmas()}
    rows = quantities(Deployment(Configuration(5, 3, 2), 6, racks=Racks((2, 2, 2))))
    assert {q.lemma for q in rows if q.lemma} <= known
    assert {q.number for q in rows if q.lemma} >= {2, 3, 4, 6, 7, 9, 12, 14, 17, 18, 19, 20}
    for q in rows:
        assert q.lemma or re.match("client|definition|counted|LedgerCreateOp", q.source), q


@pytest.mark.parametrize(
    ("deployment", "expected", "source"),
    [
        (Deployment(Configuration(3, 3, 1), 4), "AQ = 1", "#11434"),
        (Deployment(Configuration(3, 3, 3), 4), "AQ = WQ", "#2908"),
        (Deployment(Configuration(3, 3, 2), 3), "N = E", "#3905"),
        (Deployment(Configuration(3, 3, 2), 4, racks=Racks((2, 2))), "one rack can hold", "loss-is-fencing"),
        (Deployment(Configuration(3, 3, 2), 4, racks=Racks((2, 1, 1))), "stops writes", "row 21"),
        (
            Deployment(Configuration(3, 3, 2), 6, Client(enforce_min_racks=True), Racks((2, 2, 2))),
            "a writer survives 1 failure, not N - E = 3",
            "replaceBookie",
        ),
        (
            Deployment(Configuration(3, 3, 2), 6, Client(enforce_min_racks=True), Racks((2, 2, 2))),
            "losing a rack closes ledgers",
            "row 21",
        ),
        (
            Deployment(Configuration(3, 3, 2), 6, Client(enforce_min_racks=True)),
            "the rows ignore racks",
            "rows 1, 8",
        ),
        (
            Deployment(Configuration(4, 3, 2), 6, Client(enforce_min_racks=True), Racks((2, 2, 2))),
            "picks bookies one by one",
            "newEnsembleInternal",
        ),
        (Deployment(Configuration(4, 3, 2), 5), "E > WQ", "#3005"),
        (Deployment(Configuration(4, 3, 2), 5, pulsar=True), "sticky reads", "StickyReads"),
        (Deployment(Configuration(6, 6, 4), 7, pulsar=True), "cap of 5", "MaxEnsembleSize"),
    ],
)
def test_each_warning_comes_when_it_should_and_names_its_source(
    deployment: Deployment, expected: str, source: str
) -> None:
    found = [w for w in warnings(deployment) if expected in w.text]
    assert len(found) == 1 and source in found[0].source


def test_a_sound_deployment_has_no_warnings() -> None:
    racks = Racks((1, 1, 1, 1))
    assert not list(warnings(Deployment(Configuration(3, 3, 2), 4, racks=racks)))


def test_two_racks_lose_recovery_for_3_3_2_even_with_two_racks_enforced() -> None:
    """The note under B.3: Pulsar's default of two racks per write quorum does not protect 3/3/2."""
    deployment = Deployment(
        Configuration(3, 3, 2), 4, Client(min_racks=2, enforce_min_racks=True), Racks((2, 2))
    )
    assert row(deployment, 19).value is False
    assert row(deployment, 20).value == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Configuration(3, 2, 3), "ack quorum 3 exceeds write quorum 2"),
        (lambda: Configuration(2, 3, 1), "write quorum 3 exceeds ensemble 2"),
        (lambda: Configuration(3, 3, 0), "ack quorum (AQ) is 0"),
        (lambda: Configuration(-1, 3, 1), "ensemble (E) is -1"),
        (lambda: Deployment(Configuration(3, 3, 2), 2), "ensemble 3 exceeds the 2 bookies"),
        (lambda: Deployment(Configuration(3, 3, 2), 0), "-n 0"),
        (
            lambda: Deployment(Configuration(3, 3, 2), 2, Client(opportunistic_striping=True)),
            "write quorum 3 exceeds the 2 bookies",
        ),
        (lambda: Deployment(Configuration(3, 3, 2), 5, racks=Racks((2, 2))), "are 4, not 5"),
        (lambda: read_racks("2,,1", 3), "an empty rack"),
        (lambda: read_racks("2,0", 3), "a rack of 0"),
        (lambda: read_racks("a,b", 3), "2 names for an ensemble of 3"),
        (lambda: read_racks("2,a,1", 3), "2,a,1': numbers (2, 1) and names (a) together"),
        (lambda: read_racks("1,1.5,1", 3), "1,1.5,1': numbers (1, 1) and names (1.5) together"),
    ],
)
def test_bad_input_says_the_value_and_the_rule(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        make()
