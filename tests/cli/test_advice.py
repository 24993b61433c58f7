"""`fencepost advise`: the known bugs of a setup, the exit code, and the settings that files give."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.answers.advice import Advice, AdviceAnswer, LossState, judged
from fencepost.answers.advice_search import CONFLICTS, advice_on
from fencepost.answers.affected import bugs_of_releases, has
from fencepost.answers.asked_setup import accepted, unasked
from fencepost.answers.better import better_setups
from fencepost.answers.known import decide
from fencepost.answers.public_losses import PUBLIC_LOSSES, public_losses
from fencepost.answers.risk_search import RiskFinding, RiskQuestion, _needed, at_these_sizes, instance_of
from fencepost.answers.risks import LOSSES, OF_SETTINGS, VARIANTS, _table, risks, unmet
from fencepost.answers.setups import Setup
from fencepost.answers.without_recoverer import WriterAlone, violations_by_the_writer
from fencepost.answers.without_spare import replayed_in, violations_without_spare
from fencepost.cli.commands.advise import CODES, FORMS
from fencepost.cli.exits import ExitCode
from fencepost.cli.main import run
from fencepost.cli.process.conclusion import Conclusion
from fencepost.cli.rendering.advice_answer import headline
from fencepost.cli.rendering.advice_page import in_html, page
from fencepost.cli.rendering.advice_steps import steps
from fencepost.cli.rendering.advice_text import as_text
from fencepost.encoding.check import check
from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.system import choose
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Expectation, as_expected
from fencepost.protocols.bookkeeper.pulsar_releases import pulsars_with
from fencepost.protocols.bookkeeper.releases import TAGS
from fencepost.quorums.deployment import Deployment
from fencepost.quorums.files.sources import read_source
from fencepost.quorums.stripes import Configuration
from support.advising import begun, smallest
from support.tiers import each_third

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


SORTED = ["flushed-fence", "unawaited-fence", "key-without-entry"]
OFF = ["bare-fence", "#4812", "flushed-fence", "unawaited-fence"]
"""The losses of a journaled fence, which are the same without the journal, and #4812."""
OFF_AT_ONCE = "journalWriteData=false"
COPIES = ["recover-twice", "collector-beside-recover", "lost-session"]
STRIPED = ["recover-twice", "recover-other-position", "collector-beside-recover", "lost-session"]
"""The losses of closed ledgers, which need a bookie to copy to."""
RETURNED = "returned-copy"
DELETED = ["deleted-ledger", "deleted-ledger-restart"]
"""The losses of deleted ledgers, before and after bookies remembered deletions. Each setup has one."""
FAILED = "failed-flush"
"""The loss of DbLedgerStorage with a journal that every release has."""
DB = ["flushed-fence-db", "unawaited-fence", "key-without-entry-db"]


def setup(
    sizes: tuple[int, int, int],
    bookies: int,
    release: str,
    journal: bool = True,
    checks: bool = False,
    storage: str = "sorted",
    sync: bool = True,
) -> Setup:
    return Setup(Configuration(*sizes), bookies, release, journal, checks, storage, sync)


def test_every_bug_of_a_release_has_a_risk_and_no_other_has() -> None:
    """Planted: a row is missing in risks.toml."""
    of_releases = {b[0].name for b in bugs_of_releases() if any(has(b[0], release) for release in TAGS)}
    assert set(_table()) == of_releases | {setting.name for setting in OF_SETTINGS}


def test_each_loss_has_its_coincidence_and_the_events_in_words() -> None:
    """Planted: a row without `events`."""
    for name, row in _table().items():
        for one in (row, *(row[variant] for variant in VARIANTS if variant in row)):
            assert one["loses"] is bool(one.get("coincidence")) is bool(one.get("events")), name
            assert one["loses"] is bool(one.get("short")), name


@pytest.mark.parametrize(
    ("asked", "losing"),
    [
        (setup((2, 2, 2), 2, "4.17.4"), ["bare-fence", "#4812", *SORTED]),
        (setup((2, 2, 2), 2, "4.17.3"), ["#4701", "bare-fence", "#4812", *SORTED]),
        (setup((2, 2, 2), 2, "4.17.4", storage="db"), [FAILED, "bare-fence", "#4812", *DB]),
        (
            setup((2, 2, 2), 2, "4.15.0", storage="db"),
            [FAILED, "#4701", "bare-fence", "#4812", "unawaited-fence"],
        ),
        (
            setup((3, 3, 2), 4, "4.18.0"),
            ["#4651", "stale-ensemble", "bare-fence", "#4812", *SORTED, *COPIES],
        ),
        (
            setup((5, 3, 2), 6, "4.15.5"),
            ["#3005", "stale-ensemble", "#4701", "bare-fence", "#4812", *SORTED, *STRIPED],
        ),
        (
            setup((2, 2, 2), 3, "4.15.0", storage="db"),
            [
                "stale-ensemble",
                FAILED,
                "#4701",
                "bare-fence",
                "#4812",
                "unawaited-fence",
                *COPIES,
                f"{RETURNED}-checkpoint",
            ],
        ),
        (
            setup((2, 2, 2), 3, "4.17.4", storage="db"),
            ["#4651", "stale-ensemble", FAILED, "bare-fence", "#4812", *DB, *COPIES, RETURNED],
        ),
        (setup((3, 3, 2), 3, "4.13.0"), ["#2614", "#4701", "bare-fence", "#4812", *SORTED]),
        (setup((2, 2, 1), 2, "4.13.0"), ["#4701", "bare-fence", "#4812", *SORTED]),
        (setup((3, 3, 2), 3, "4.17.4", journal=False), ["BP-46-2", *OFF, OFF_AT_ONCE]),
        (
            setup((3, 3, 2), 3, "4.17.4", journal=False, storage="db"),
            ["BP-46-2", "bare-fence", "#4812", "flushed-fence-db", "unawaited-fence", OFF_AT_ONCE],
        ),
        (
            setup((3, 3, 2), 3, "4.17.4", journal=False, checks=True),
            ["BP-46-closed", "BP-46-served", *OFF, OFF_AT_ONCE],
        ),
        (
            setup((3, 3, 2), 3, "4.17.4", checks=True, sync=False),
            ["BP-46-2", "bare-fence", "#4812", *SORTED, "journalSyncData=false"],
        ),
        (
            setup((3, 3, 2), 3, "4.17.4", journal=False, sync=False),
            ["BP-46-2", *OFF, OFF_AT_ONCE, "journalSyncData=false"],
        ),
        (
            setup((3, 3, 2), 3, "4.17.4", journal=False, checks=True, sync=False),
            ["BP-46-closed", "BP-46-served", *OFF, OFF_AT_ONCE],
        ),
    ],
)
def test_the_bugs_that_bite_are_those_of_the_release_whose_conditions_are_met(
    asked: Setup, losing: list[str]
) -> None:
    """Planted: the conditions of a bug are ignored."""
    found = [risk.bug.name for risk in risks(asked) if risk.loses]
    assert [name for name in found if name not in DELETED] == losing
    remembers = asked.release in ("4.16.7", "4.17.2", "4.17.3", "4.17.4", "4.18.0")
    assert [name for name in found if name in DELETED] == [DELETED[remembers]]


@pytest.mark.parametrize("storage", ["sorted", "interleaved", "db"])
def test_only_a_storage_with_a_memtable_drops_entries_there(storage: str) -> None:
    """Planted: interleaved storage, whose index is in files too."""
    asked = replace(setup((2, 2, 2), 2, "4.17.4", storage=storage), features=frozenset({"reused-ids"}))
    assert ("reused-memtable" in {risk.bug.name for risk in risks(asked)}) == (storage == "sorted")


def looked_for(bug: str, asked: Setup) -> RiskFinding:
    """Return the finding about a bug at the sizes of the setup, with the other known bugs fixed."""
    losing = [risk for risk in risks(asked) if risk.loses]
    (risk,) = (risk for risk in losing if risk.bug.name == bug)
    question = at_these_sizes(risk, asked, [other.bug for other in losing])
    return question.ask(Limits(jobs=1, conflicts=20_000))


@pytest.mark.parametrize("release", each_third(["4.6.0", "4.13.0", "4.14.8"]))
def test_a_bookie_set_up_anew_loses_an_entry_before_4_15_too(release: str) -> None:
    """The bug was once undecided in these releases, because the boot sequence was refused before 4.15.

    Planted: the boot sequence is refused.
    """
    found = looked_for("#4812", setup((3, 3, 2), 4, release))
    assert (found.verdict, found.shown_on["bookies"]) == (Verdict.VIOLATED, 4)
    assert found.counterexample is not None
    assert found.counterexample.trace.faults["reimages"] == 1


@pytest.mark.parametrize("bug", ["collector-beside-recover", "lost-session"])
def test_a_loss_of_copies_is_found_in_the_ensemble_that_was_asked_about(bug: str) -> None:
    """Planted: an ensemble of WQ bookies is searched."""
    asked = setup((2, 1, 1), 4, "4.17.4")
    found = looked_for(bug, asked)
    assert (found.verdict, found.shown_on) == (Verdict.VIOLATED, dict(asked.sizes) | {"entries": 1})
    assert found.counterexample is not None
    sizes = {name: found.counterexample.trace.parameters[name] for name in asked.sizes}
    assert sizes == dict(asked.sizes)


def test_the_other_losses_of_copies_are_fixed_but_not_by_the_settings_of_the_row() -> None:
    """Two recoveries at once were once searched for with the lock that excludes them.

    Planted: the mends of others win over the row.
    """
    asked = setup((2, 2, 2), 3, "4.17.4", storage="db")
    losing = [risk for risk in risks(asked) if risk.loses]
    (twice,) = (risk for risk in losing if risk.bug.name == "recover-twice")
    name, settings = instance_of(twice, asked, asked.sizes, [risk.bug for risk in losing])
    assert (name, settings["recover_lock"], settings["update_checks"]) == (
        "ledger-copies",
        "no",
        "old-bookie",
    )
    assert (settings["session"], settings["deletion_mark"]) == ("kept", "until-return")


@pytest.mark.parametrize("journal", [True, False])
@pytest.mark.parametrize("checks", [True, False])
def test_each_bug_has_an_instance_in_each_release_that_has_it(journal: bool, checks: bool) -> None:
    """A bug without an instance in a release stays undecided, however long the search runs.

    Planted: boot=whole is refused before 4.15.
    """
    for release in ("4.6.0", "4.8.2", "4.13.0", "4.14.8", "4.15.0", "4.16.6", "4.18.0"):
        for storage in ("sorted", "db"):
            asked = setup((3, 2, 2), 4, release, journal, checks, storage)
            for risk in risks(asked):
                for sizes in ({}, asked.sizes):
                    name, settings = instance_of(risk, asked, sizes, [])
                    assert find(name).parameters(settings.items(), release)


SMALL = {"bookies": "3", "ensemble": "2", "write_quorum": "2", "recovery_reads_fence": "no"}
"""2/2/2 with a spare bookie. The bug #2614 needs no spare bookie."""


def carried() -> tuple[Result, ...]:
    """Return the violations of 2/2/2 on two bookies that are also violations on three."""
    instance = find("bookkeeper").instance(SMALL.items())
    limits = Limits(minimize=Minimize.NONE, jobs=1, conflicts=20_000)
    return violations_without_spare(instance, instance.properties("no-divergence"), limits)


def test_a_violation_without_a_spare_bookie_is_one_with_a_spare_bookie() -> None:
    """Planted: the trace on two bookies is reported for three bookies."""
    (result,) = carried()
    assert result.trace is not None
    assert (result.verdict, result.trace.parameters["bookies"]) == (Verdict.VIOLATED, 3)
    bookies = {str(value) for step in result.trace.steps for value in step.arguments.values()}
    assert "b3" not in bookies


def test_a_violation_that_does_not_replay_with_a_spare_bookie_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(instance: object, trace: object) -> None:
        raise NotAnExecution("step 1: not enabled")

    monkeypatch.setattr("fencepost.answers.without_spare.replayed_in", refused)
    assert carried() == ()


def test_without_a_spare_bookie_nothing_is_searched_twice() -> None:
    instance = find("bookkeeper").instance({**SMALL, "bookies": "2"}.items())
    assert violations_without_spare(instance, instance.properties("no-divergence"), Limits()) == ()


def test_steps_that_do_not_violate_in_another_instance_are_no_execution_of_it() -> None:
    """#2614 is fixed in the other instance. Planted: a violation is taken over without a replay."""
    (result,) = carried()
    assert result.trace is not None
    other = find("bookkeeper").instance({**SMALL, "recovery_reads_fence": "yes"}.items())
    with pytest.raises(NotAnExecution):
        replayed_in(other, result.trace)


def test_the_theorem_is_claimed_only_where_its_assumptions_are_met() -> None:
    races = {
        "lac_read_in_change": "racing",
        "add_ensemble": "when-made",
        "refused_change": "continues",
        "chained_changes": "one-difference",
        "acks_after_change": "next-answer",
    }
    assert unmet(setup((3, 3, 2), 3, "4.17.3")) == {"fence_atomic": "no", **races}
    assert unmet(setup((3, 2, 2), 3, "4.17.4")).keys() == {*races, "E > WQ"}


def finding(verdict: Verdict) -> RiskFinding:
    sizes = {"bookies": 2, "ensemble": 2, "write_quorum": 2, "ack_quorum": 2, "entries": 1}
    return RiskFinding(verdict, sizes, ["fencepost"])


SETTLED = finding(Verdict.PROVED)


@pytest.mark.parametrize(
    ("known", "rest", "accepted", "answer"),
    [
        (Verdict.PROVED, Verdict.PROVED, "", AdviceAnswer.YES),
        (Verdict.VIOLATED, Verdict.PROVED, "", AdviceAnswer.CONDITIONS),
        (Verdict.VIOLATED, Verdict.PROVED, "bare-fence", AdviceAnswer.YES),
        (Verdict.VIOLATED, Verdict.UNDECIDED, "bare-fence", AdviceAnswer.UNKNOWN),
        (Verdict.VIOLATED, Verdict.UNDECIDED, "", AdviceAnswer.NO),
        (Verdict.PROVED, Verdict.VIOLATED, "bare-fence", AdviceAnswer.NO),
        (Verdict.UNDECIDED, Verdict.PROVED, "", AdviceAnswer.UNKNOWN),
        (Verdict.VACUOUS, Verdict.PROVED, "", AdviceAnswer.UNKNOWN),
        (Verdict.PROVED, Verdict.HOLDS, "", AdviceAnswer.UNKNOWN),
    ],
)
def test_what_was_found_decides_the_answer(
    known: Verdict, rest: Verdict, accepted: str, answer: AdviceAnswer
) -> None:
    """Planted: the verdict vacuous counts as settled; open questions do not count beside a condition."""
    names = frozenset(filter(None, [accepted]))
    said = replace(advice_of("bare-fence", finding(known)), rest=finding(rest), accepted=names)
    assert said.answer is answer
    assert headline(said).startswith(BEGINS[answer])
    assert as_text(said).replace("\n    ", " ").replace("\n", " ").startswith(headline(said))


BEGINS = {
    AdviceAnswer.YES: "Yes: ",
    AdviceAnswer.CONDITIONS: (
        "Yes, with 1 condition, for 2/2/2 on 2 bookies with BookKeeper 4.17.4: bare-fence "
    ),
    AdviceAnswer.NO: "No for 2/2/2 on 2 bookies with BookKeeper 4.17.4: ",
    AdviceAnswer.UNKNOWN: "Not known for 2/2/2 on 2 bookies with BookKeeper 4.17.4: ",
}


def test_a_loss_that_nobody_can_rule_out_makes_a_no() -> None:
    """Planted: a slow bookie is taken for a condition."""
    assert judged(["operator", "crash", "two-crashes"]) is AdviceAnswer.CONDITIONS
    for coincidence in ("slow-bookie", "nothing"):
        assert judged(["operator", coincidence]) is AdviceAnswer.NO
    assert (judged([]), judged([], has_open=True)) == (AdviceAnswer.YES, AdviceAnswer.UNKNOWN)
    assert {CODES[answer] for answer in (AdviceAnswer.NO, AdviceAnswer.CONDITIONS)} == {ExitCode.VIOLATED}
    assert (CODES[AdviceAnswer.YES], CODES[AdviceAnswer.UNKNOWN]) == (ExitCode.SUCCESS, ExitCode.UNDECIDED)


def advice_of(bug: str, found: RiskFinding, asked: Setup | None = None) -> Advice:
    """Return advice on 2/2/2 that holds only this finding about a bug."""
    asked = asked or setup((2, 2, 2), 2, "4.17.4")
    (risk,) = (risk for risk in risks(asked) if risk.bug.name == bug)
    deployment = Deployment(asked.configuration, asked.bookies)
    settled = replace(SETTLED, shown_on=dict(asked.sizes) | {"entries": 1})
    return Advice(asked, deployment, {}, {}, [(risk, found)], [], [], settled, frozenset())


def test_losses_are_ranked_by_what_must_coincide() -> None:
    """Public losses are among them. Planted: the order of the table."""
    asked = setup((3, 3, 2), 4, "4.16.6", storage="db")
    found = replace(finding(Verdict.VIOLATED), shown_on=dict(asked.sizes) | {"entries": 1})
    losing = [(risk, found) for risk in risks(asked) if risk.loses]
    public = public_losses(asked.release, asked.traits)
    said = replace(advice_of("#4651", found, asked), losing=losing, public=public)
    assert [loss.name for loss in said.losses] == [
        "#4651",
        "stale-ensemble",
        "deleted-ledger",
        "#4701",
        "chained-changes",
        FAILED,
        "bare-fence",
        "unawaited-fence",
        "PR 4607",
        "key-without-entry-db",
        "lost-session",
        "#4812",
        "flushed-fence-db",
        "recover-twice",
        "collector-beside-recover",
        "returned-copy",
    ]


def test_the_headline_names_the_loss_that_needs_the_least() -> None:
    """Planted: a loss that was found comes before a public one that needs nothing special.

    The sentence after it would then name a change that leaves the loss of the headline in place.
    """
    asked = replace(setup((2, 2, 2), 2, "4.18.0", storage="db"), sync=False)
    found = replace(SETTLED, verdict=Verdict.VIOLATED, shown_on=dict(asked.sizes) | {"entries": 1})
    said = advice_of("journalSyncData=false", found, asked)
    assert "journalSyncData=false loses an acknowledged entry if crashes come close together." in headline(
        said
    )
    (worst,) = [one for one in PUBLIC_LOSSES if one.coincidence == "nothing"][:1]
    more = headline(replace(said, public=[worst]))
    public = f"{worst.name} ({worst.short}; a public report, not searched for)"
    assert f"{public} loses an acknowledged entry in normal operation." in more


def test_one_crash_loses_what_one_bookie_acknowledges() -> None:
    kinds: dict[tuple[int, str], str] = {}
    for ack_quorum in (1, 2):
        asked = replace(setup((2, 2, ack_quorum), 2, "4.18.0", journal=False), sync=False)
        kinds |= {(ack_quorum, risk.bug.name): risk.coincidence for risk in risks(asked) if risk.at_once}
    assert kinds == {
        (1, "journalWriteData=false"): "crash",
        (1, "journalSyncData=false"): "crash",
        (2, "journalWriteData=false"): "two-crashes",
        (2, "journalSyncData=false"): "two-crashes",
    }


def test_no_change_is_promised_to_be_a_yes_while_a_question_is_open() -> None:
    said = every_loss(setup((2, 2, 2), 2, "4.17.3"))
    assert "useTransactionalCompaction=true it is a yes, with conditions." in headline(said)
    begun = replace(said, rest=replace(SETTLED, verdict=Verdict.UNDECIDED))
    assert "it may be a yes, with conditions: ask again with this change." in headline(begun)
    alone = headline(replace(begun, losing=[]))
    assert ": #3604 (compaction mixes the bytes of an entry log; a public report, not searched for)" in alone
    assert " loses an acknowledged entry in normal operation; the search has not ended." in alone


def test_public_losses_that_are_not_checked_are_asked_and_can_be_accepted() -> None:
    """The headline once said that no loss is known on 4.16.1. Planted: a public loss does not count."""
    asked = setup((2, 2, 2), 3, "4.17.1", storage="db")
    settled = replace(SETTLED, shown_on=dict(asked.sizes) | {"entries": 1})
    said = replace(advice_of("bare-fence", settled, asked), public=public_losses("4.17.1", asked.traits))
    assert said.answer is AdviceAnswer.NO
    assert "wrong moment; the search found no loss." in headline(said)
    assert "Public reports name chained-changes and PR 4607 in this release." in headline(said)
    one = replace(said, accepted=accepted(["chained-changes"]))
    assert (one.answer, [loss.name for loss in one.deciding]) == (AdviceAnswer.CONDITIONS, ["PR 4607"])
    assert "Public reports name PR 4607 in this release." in headline(one)
    assert "step 1 below is against it." in headline(one)
    assert replace(said, accepted=accepted(["chained-changes", "4607"])).answer is AdviceAnswer.YES


def test_what_was_found_on_a_small_instance_alone_decides_nothing() -> None:
    """#4651 at 2/2/1 was once reported for 2/2/2. Planted: the sizes are ignored."""
    asked = setup((2, 2, 2), 3, "4.17.4")
    small = replace(finding(Verdict.VIOLATED), shown_on=dict(asked.sizes) | {"ack_quorum": 1, "entries": 2})
    said = advice_of("#4651", small, asked)
    assert ([loss.name for loss in said.losses], said.deciding) == (["#4651"], [])
    assert (said.losses[0].state, said.answer) == (LossState.OPEN, AdviceAnswer.UNKNOWN)
    assert "Not decided for your configuration" in " ".join(as_text(said).split())


def test_the_headline_blames_the_time_only_if_the_time_was_over() -> None:
    """The headline once said "within the time" although the instance could not be made.

    Planted: the headline gives this reason for every undecided bug.
    """
    begins = "Not known for 2/2/2 on 2 bookies with BookKeeper 4.17.4: bare-fence "
    spent = replace(finding(Verdict.UNDECIDED), reason="100,000 conflicts spent")
    assert headline(advice_of("bare-fence", spent)) == (
        f"{begins}(100,000 conflicts spent; run its command, which --commands prints)."
    )
    late = replace(finding(Verdict.UNDECIDED), reason="time-out after 9 s", out_of_time=True)
    assert headline(advice_of("bare-fence", late)) == (
        f"{begins}(the time was over; ask again with a longer --timeout)."
    )


def test_a_release_with_fewer_losses_is_proposed_and_never_an_earlier_one() -> None:
    """Planted: earlier releases are proposed; losses that were proved absent count as remaining."""
    asked = setup((3, 3, 2), 3, "4.17.2", storage="db")
    found = replace(finding(Verdict.VIOLATED), shown_on=dict(asked.sizes) | {"entries": 1})
    absent = replace(found, verdict=Verdict.PROVED)
    losing = [(risk, found if risk.bug.name == "#4701" else absent) for risk in risks(asked) if risk.loses]
    said = replace(advice_of("#4701", found, asked), losing=losing)
    (better,) = better_setups(said)
    assert (better.changes, better.avoids, better.remains) == (("BookKeeper 4.17.4",), ("#4701",), {})
    assert "With BookKeeper 4.17.4 it is a yes." in headline(said)
    assert "Change to BookKeeper 4.17.4." in as_text(said)


@pytest.mark.parametrize(
    "pulsar, said",
    [
        (True, "Change to E = 2. E is managedLedgerDefaultEnsembleSize of the brokers; a namespace"),
        (False, "Change to E = 2. E is the ensemble size with which the application creates ledgers"),
    ],
)
def test_a_smaller_ensemble_comes_with_the_place_where_it_is_set(pulsar: bool, said: str) -> None:
    # Planted: the change without its key.
    asked = setup((3, 2, 2), 4, "4.17.4", storage="db")
    found = replace(finding(Verdict.VIOLATED), shown_on=dict(asked.sizes) | {"entries": 1})
    losing = [(risk, found) for risk in risks(asked) if risk.loses]
    public = public_losses(asked.release, asked.traits)
    advice = replace(advice_of("#3005", found, asked), losing=losing, public=public)
    placed = replace(advice, deployment=replace(advice.deployment, pulsar=pulsar))
    assert said in " ".join(as_text(placed).split())


def test_an_earlier_release_is_never_proposed() -> None:
    """Releases before 4.16.0 do not have #4651, and their own losses are accepted here.

    Planted: earlier releases are proposed.
    """
    asked = setup((3, 3, 2), 4, "4.18.0", storage="db")
    found = replace(finding(Verdict.VIOLATED), shown_on=dict(asked.sizes) | {"entries": 1})
    losing = [(risk, found) for risk in risks(asked) if risk.loses]
    public = {loss.name for loss in PUBLIC_LOSSES}
    accepted = frozenset({"#4701", *public, *(r.bug.name for r, _ in losing if r.bug.name != "#4651")})
    said = replace(advice_of("#4651", found, asked), losing=losing, accepted=accepted)
    assert [loss.name for loss in said.deciding] == ["#4651"]
    assert better_setups(said) == []


def test_compaction_in_a_transaction_is_proposed_where_entry_logs_are_compacted_without() -> None:
    """#3604 concerns SortedLedgerStorage in every release. Planted: it counts for each setting."""
    asked = setup((2, 2, 2), 2, "4.18.0")
    said = replace(advice_of("bare-fence", SETTLED, asked), public=public_losses("4.18.0", asked.traits))
    said = replace(said, losing=[(risk, SETTLED) for risk in risks(asked) if risk.loses])
    assert said.answer is AdviceAnswer.NO
    (better,) = better_setups(said)
    assert (better.changes, better.avoids) == (("useTransactionalCompaction=true",), ("#3604",))
    assert "With useTransactionalCompaction=true it is a yes." in headline(said)


def every_loss(asked: Setup) -> Advice:
    """Return advice on the setup in which each loss that is asked about was found."""
    found = replace(finding(Verdict.VIOLATED), shown_on=dict(asked.sizes) | {"entries": 1})
    losing = [(risk, found) for risk in risks(asked) if risk.loses]
    settled = replace(SETTLED, shown_on=dict(asked.sizes) | {"entries": 1})
    said = replace(advice_of("bare-fence", found, asked), losing=losing, rest=settled)
    return replace(said, public=public_losses(asked.release, asked.traits))


def test_the_steps_are_in_the_order_in_which_they_are_done() -> None:
    """Bookies were once restarted for an upgrade in step 1, and step 3 said what must come before a restart.

    Planted: the change comes first; a step against a slow bookie is required.
    """
    said = every_loss(setup((3, 3, 2), 4, "4.16.6", storage="db"))
    listed = steps(said)
    assert list(dict.fromkeys(step.when for step in listed)) == [
        "stop",
        "start",
        "change",
        "ensemble-change",
        "crash",
    ]
    by_loss = {loss.name: step for step in listed for loss in step.against}
    assert set(by_loss) == {loss.name for loss in said.deciding}
    assert by_loss["#4701"] is by_loss["PR 4607"], "the change is one step"
    assert [name for name, step in by_loss.items() if not step.is_required] == ["#4651"]
    assert "IN_RECOVERY" in listed[0].action and "Change to BookKeeper" in by_loss["#4701"].action
    text = " ".join(as_text(said).split())
    number = listed.index(by_loss["#4651"]) + 1
    assert f"{number}. A broker logs `New Ensemble" in text and f"Do step {number}." in text
    assert "Limits, and does not rule out, #4651" in text


def test_the_change_names_the_releases_of_pulsar_that_have_it() -> None:
    """Planted: the release of BookKeeper alone is named, which no operator of Pulsar can install."""
    asked = setup((2, 2, 2), 2, "4.17.1", storage="db")
    said = replace(every_loss(asked), deployment=Deployment(asked.configuration, 2, pulsar=True))
    (change,) = (step.action for step in steps(said) if step.when == "change")
    assert "No release of Pulsar that was read has BookKeeper 4.17.4." in change
    assert pulsars_with("4.17.2") == ["4.1.0", "4.0.6", "3.3.8"]


@pytest.mark.parametrize("journal", [True, False])
def test_the_setting_of_the_journal_is_not_blamed_for_other_losses(journal: bool) -> None:
    """The answer once read as if the journal without fsync were the cause of #4651.

    Planted: each loss counts as one of the setting.
    """
    said = headline(every_loss(setup((3, 3, 2), 4, "4.17.4", journal=journal, sync=False)))
    setting = "journalSyncData=false" if journal else "journalWriteData=false and journalSyncData=false"
    assert f"BookKeeper 4.17.4, and {setting}: whatever the journal's settings, #3604 (compaction" in said
    added = ["BP-46-2", "journalWriteData=false", "journalSyncData=false"]
    of_setting = said.partition("This setting of the journal adds ")[2].partition(". ")[0]
    assert set(of_setting.replace(" and ", ", ").split(", ")) == set(added[:1] + added[1 + journal :])
    synced = headline(every_loss(setup((3, 3, 2), 4, "4.17.4")))
    assert "of the journal" not in synced and "whatever" not in synced


def test_the_page_has_code_where_a_text_has_backticks() -> None:
    """Planted: only the first part between backticks is code; the text is not escaped."""
    assert in_html("run `a < b`, then `c`.") == "run <code>a &lt; b</code>, then <code>c</code>."
    assert "`" not in page(every_loss(setup((3, 3, 2), 4, "4.16.6", storage="db"))).partition("<body")[2]


def test_settings_with_fewer_losses_are_proposed() -> None:
    """#3005 needs E > WQ. A loss that was proved absent at E > WQ may remain at E = WQ.

    Planted: it is left out there too.
    """
    asked = setup((3, 2, 2), 4, "4.18.0", sync=False, storage="db")
    found = replace(finding(Verdict.VIOLATED), shown_on=dict(asked.sizes) | {"entries": 1})
    losing = [(risk, found) for risk in risks(asked) if risk.loses]
    public = public_losses(asked.release, asked.traits)
    nearest, fewest = better_setups(replace(advice_of("#3005", found, asked), losing=losing, public=public))
    assert (nearest.changes, nearest.avoids) == (("E = 2",), ("#3005", "recover-other-position"))
    assert fewest.changes == ("journalSyncData=true", "E = 2")
    assert fewest.avoids == ("#3005", "BP-46-2", "journalSyncData=false", "recover-other-position")
    assert fewest.answer is AdviceAnswer.NO
    assert "#4651" in fewest.remains


def test_a_search_that_ends_at_its_limit_in_conflicts_is_not_out_of_time() -> None:
    """Planted: each undecided search is reported as out of time."""
    asked = setup((2, 2, 2), 2, "4.17.4")
    (risk,) = (risk for risk in risks(asked) if risk.bug.name == "bare-fence")
    found = at_these_sizes(risk, asked, []).ask(Limits(jobs=1, conflicts=1))
    assert (found.verdict, found.out_of_time) == (Verdict.UNDECIDED, False)
    assert "conflict" in found.reason


def test_known_bugs_are_looked_for_with_a_limit_in_conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each bug once had a share of the wall clock, and a busy machine found fewer known bugs.

    Planted: two jobs; no limit in conflicts; half of the time that is left.
    """
    asked: list[tuple[int, int | None]] = []
    times: list[float] = []

    def nothing_found(_: RiskQuestion, limits: Limits) -> RiskFinding:
        asked.append((limits.jobs, limits.conflicts))
        times.append(limits.timeout)
        return finding(Verdict.UNDECIDED)

    monkeypatch.setattr(RiskQuestion, "ask", nothing_found)
    setup_ = setup((5, 3, 2), 6, "4.16.6")
    *before, advice = advice_on(
        unasked(setup_, Deployment(setup_.configuration, 6)), lambda: 270.0, fresh=True
    )
    assert set(asked) == {(1, CONFLICTS)}
    names = [risk.bug.name for risk, _ in advice.losing]
    assert names == [risk.bug.name for risk in risks(setup_) if risk.loses]
    assert len(before) == len(names) + 1
    assert all(late > 269 for late in times), times


def test_questions_without_a_spare_bookie_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """#4651 and #3005 took longest, and once took the time of all others. Planted: the order of the table."""
    told: list[str] = []
    monkeypatch.setattr(RiskQuestion, "ask", lambda *_: SETTLED)
    setup_ = setup((5, 3, 2), 6, "4.16.6")
    about = unasked(setup_, Deployment(setup_.configuration, 6))
    list(advice_on(about, lambda: 270.0, told.append, fresh=True))
    asked = [said.partition(": ")[2] for said in told]
    later = asked[asked.index("anything else") + 1 :]
    assert later == ["#4651", "stale-ensemble", *STRIPED, "#3005"]


def killed_after(found: int, bug: str) -> Callable[..., Iterator[Advice]]:
    """Return a stand-in for `advice_on` that finds this bug and is then killed."""

    def asking(unasked: Advice, *_: Any) -> Iterator[Advice]:
        here = replace(finding(Verdict.VIOLATED), shown_on=dict(unasked.setup.sizes) | {"entries": 1})
        by_risk = [(risk, here if risk.bug.name == bug else none) for risk, none in unasked.losing]
        for known in (unasked.losing, by_risk)[: found + 1]:
            yield replace(unasked, losing=known, public=[], other=[])
        raise KeyboardInterrupt

    return asking


@pytest.mark.parametrize(
    ("found", "code", "begins"),
    [
        (0, ExitCode.UNDECIDED, "Not known for 5/5/3 on 6 bookies"),
        (1, ExitCode.VIOLATED, "No for 5/5/3 on 6"),
    ],
)
def test_what_was_found_is_handed_over_before_the_time_is_over(
    found: int, code: ExitCode, begins: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seven verdicts were once thrown away when the command was killed at its time limit.

    Planted: nothing is handed over before the end.
    """
    handed: list[Conclusion] = []
    monkeypatch.setattr("fencepost.cli.commands.advise.hand_over", handed.append)
    monkeypatch.setattr("fencepost.cli.commands.advise.advice_on", killed_after(found, "#4701"))
    run(
        [
            "advise",
            *[
                "-e",
                "5",
                "-w",
                "5",
                "-a",
                "3",
                "-n",
                "6",
                "--release",
                "4.17.2",
                "--storage",
                "db",
                "--timeout",
                "12",
            ],
        ]
    )
    assert (handed[-1].code, len(handed)) == (code, found + 1)
    assert handed[-1].printed.startswith(begins)
    assert "Not asked, because the time was over: " in handed[-1].printed


@pytest.mark.parametrize(
    ("is_terminal", "columns", "widest"), [(True, "80", 80), (True, "20", 40), (False, "80", 110)]
)
def test_a_terminal_of_80_columns_has_no_longer_lines(
    is_terminal: bool, columns: str, widest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines of 110 columns were broken twice. Planted: the terminal's width is not asked for."""
    handed: list[Conclusion] = []
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("os.isatty", lambda file: is_terminal)
    monkeypatch.setattr("fencepost.cli.commands.advise.hand_over", handed.append)
    monkeypatch.setattr("fencepost.cli.commands.advise.advice_on", killed_after(0, "#4701"))
    run(["advise", "-e", "2", "-w", "2", "-a", "2", "-n", "2", "--storage", "db"])
    lengths = [len(line) for line in handed[0].printed.splitlines() if " " in line.strip()]
    assert widest - 8 <= max(lengths) <= widest


def test_the_time_is_bounded_once_there_is_something_to_print(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few seconds on a busy machine printed nothing. Planted: the option bounds the time at once."""
    events: list[str] = []

    def handed(conclusion: Conclusion | None) -> None:
        events.append("handed" if conclusion and conclusion.printed else "")

    monkeypatch.setattr("fencepost.cli.commands.advise.hand_over", handed)
    monkeypatch.setattr("fencepost.cli.process.handover.report", lambda **said: events.append(str(said)))
    monkeypatch.setattr("fencepost.cli.commands.advise.advice_on", killed_after(0, "#4701"))
    run(["advise", "-e", "2", "-w", "2", "-a", "2", "-n", "2", "--storage", "db", "--timeout", "3"])
    assert events[:2] == ["handed", "{'limit': 3.0}"]


@pytest.mark.parametrize(
    ("release", "storage", "answer", "named"),
    [
        ("4.18.0", "db", AdviceAnswer.UNKNOWN, ""),
        ("4.18.0", "sorted", AdviceAnswer.NO, "#3604"),
        ("4.16.5", "db", AdviceAnswer.UNKNOWN, "deleted-ledger"),
    ],
)
def test_without_any_search_the_lists_are_answered(
    release: str, storage: str, answer: AdviceAnswer, named: str
) -> None:
    asked = setup((2, 2, 2), 2, release, storage=storage)
    said = unasked(asked, Deployment(asked.configuration, 2))
    assert (said.answer, named in headline(said)) == (answer, True)
    assert "bare-fence" in headline(said) and "the time was over" in headline(said)


def test_without_any_search_a_loss_that_can_be_ruled_out_makes_no_no() -> None:
    """Planted: each public loss makes it a no; a loss of a setting is left out."""
    asked = replace(setup((2, 2, 2), 2, "4.18.0", storage="db"), features=frozenset({"no-autorecovery"}))
    said = unasked(asked, Deployment(asked.configuration, 2))
    assert said.answer is AdviceAnswer.UNKNOWN
    assert "Public reports name auto-recovery off in this release." in headline(said)
    unsynced = replace(asked, sync=False)
    assert unasked(unsynced, Deployment(asked.configuration, 2)).answer is AdviceAnswer.NO


@pytest.mark.slow
def test_the_race_of_an_ensemble_change_is_found_without_recovery_and_replayed_with_it() -> None:
    """#3005 at 5/3/2 was once not decided, and at 3/2/2 the load of the machine decided whether it was found.

    Planted: recoverers act in the search; the whole instance is searched first.
    """
    found = looked_for("#3005", setup((3, 2, 2), 4, "4.18.0"))
    assert (found.verdict, found.shown_on["bookies"]) == (Verdict.VIOLATED, 4)
    assert found.counterexample is not None
    trace = found.counterexample.trace
    assert (trace.property, trace.parameters["recoverers"]) == ("ack-quorum-reached", 1)
    assert not [step for step in trace.steps if "r1" in step.arguments.values()]
    assert not trace.faults.get("lost")


def test_without_recoverers_no_action_has_one() -> None:
    """Planted: the actions of the whole instance."""
    instance = find("bookkeeper").instance({"ack_quorum": "1", "ensemble": "2", "write_quorum": "2"}.items())
    whole, fewer = instance.system.ground_actions, WriterAlone(instance).system.ground_actions
    assert fewer == tuple(action for action in whole if "r1" not in action.arguments)
    assert 0 < len(fewer) < len(whole)


def test_a_violation_by_the_writer_that_does_not_replay_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(instance: object, trace: object) -> None:
        raise NotAnExecution("step 1: not enabled")

    settings = {"bookies": "3", "ensemble": "2", "write_quorum": "2", "ack_quorum": "1", "entries": "2"}
    instance = find("bookkeeper").instance({**settings, "lac_read_in_change": "racing"}.items())
    asked = instance.properties("acked-entries-readable")
    limits = Limits(minimize=Minimize.NONE, jobs=1, conflicts=20_000)
    (result,) = violations_by_the_writer(instance, asked, limits)
    assert result.verdict is Verdict.VIOLATED
    monkeypatch.setattr("fencepost.answers.without_spare.replayed_in", refused)
    assert violations_by_the_writer(instance, asked, limits) == ()


@pytest.mark.long
def test_a_loss_ends_the_search_for_others() -> None:
    """#4651 violates both properties at 2/2/1. Planted: `one_is_enough` is ignored."""
    sizes = {"bookies": "3", "ensemble": "2", "write_quorum": "2", "ack_quorum": "1", "entries": "2"}
    instance = find("bookkeeper").instance(sizes.items(), "4.18.0")
    limits = Limits(minimize=Minimize.NONE, engines=("rounds",), one_is_enough=True)
    outcome = check(instance, choose(instance.system, LOSSES), limits)
    assert sorted(r.verdict.value for r in outcome.results) == ["undecided", "violated"]


def test_a_command_names_what_makes_its_instance_and_no_more() -> None:
    """Planted: no setting is left out; every setting is left out."""
    protocol = find("bookkeeper")
    settings = {"bookies": "3", "ensemble": "3", "ack_quorum": "2", "lac_read_in_change": "blocked"}
    assert _needed(protocol, settings, "4.18.0") == {"bookies": "3", "lac_read_in_change": "blocked"}


def test_files_say_which_keys_were_read(tmp_path: Path) -> None:
    broker = read_source(EXAMPLES / "broker.conf")
    assert (len(broker.read), broker.settings.journal, broker.pulsar) == (3, None, True)
    helm = read_source(EXAMPLES / "values.yaml")
    assert (helm.settings.bookies, helm.settings.journal) == (4, True)
    assert "bookkeeper.replicaCount" in helm.read
    server = tmp_path / "bk_server.conf"
    server.write_text(
        "journalWriteData=false\ndataIntegrityChecking=true\nbookiePort=3181\n", encoding="utf-8"
    )
    found = read_source(server)
    said = found.settings
    assert (found.pulsar, said.journal, said.checks, said.storage) == (False, False, True, None)
    assert found.read == ("journalWriteData", "dataIntegrityChecking")
    shipped = read_source(EXAMPLES / "bk_server.conf")
    said = shipped.settings
    assert (said.journal, said.checks, said.storage, said.sync) == (True, False, "db", True)
    assert "journalSyncData" in shipped.read
    server.write_text("ledgerStorageClass=org.example.OwnStorage\n", encoding="utf-8")
    with pytest.raises(
        BadInput, match=r"ledgerStorageClass is .*OwnStorage.*; known are SortedLedgerStorage"
    ):
        read_source(server)
    server.write_text("journalWriteData=maybe\n", encoding="utf-8")
    with pytest.raises(
        BadInput, match=r"bk_server\.conf: journalWriteData is .*maybe.*; it must be true or false$"
    ):
        read_source(server)
    server.write_text("listen=3181\n", encoding="utf-8")
    found = read_source(server)
    assert (found.read, found.is_empty) == ((), True)
    assert found.notes[0].startswith("it has no key of a broker.conf or a bk_server.conf; give a broker.conf")


CHART = """\
bookkeeper:
  component: bookie
  replicaCount: 4
  configData:
    BOOKIE_MEM: -Xms128m
    journalWriteData: "true"
autorecovery:
  configData:
    PULSAR_PREFIX_useV2WireProtocol: "true"
broker:
  replicaCount: 3
  configData:
    managedLedgerDefaultEnsembleSize: "2"
    managedLedgerDefaultWriteQuorum: "2"
    managedLedgerDefaultAckQuorum: "2"
"""
"""Values in the form of Pulsar's Helm chart."""

OVERLAY = """\
bookkeeper:
  replicaCount: 5
  configData:
    PULSAR_PREFIX_dataIntegrityChecking: "true"
    journalWriteData: "false"
broker:
  configData:
    managedLedgerDefaultEnsembleSize: "3"
    managedLedgerDefaultWriteQuorum: "3"
"""
"""An overlay for the chart: some of the sizes, and other values for bookies."""


def quick_advice(unasked: Advice, *_: Any) -> Iterator[Advice]:
    """Return advice on the setup without asking a question."""
    settled = replace(SETTLED, shown_on=dict(unasked.setup.sizes) | {"entries": 1})
    losing = [
        (risk, replace(settled, verdict=VERDICTS.get(risk.bug.name, settled.verdict)))
        for risk, _ in unasked.losing
    ]
    yield replace(unasked, losing=losing, public=[], other=[], rest=settled)


VERDICTS = dict.fromkeys(("journalSyncData=false", "journalWriteData=false", "BP-46-2"), Verdict.VIOLATED)
"""The verdicts that `quick_advice` takes for granted; other losses count as proved absent."""


@pytest.fixture
def two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the options that name the chart's values and the overlay. The command asks no question."""
    monkeypatch.setattr("fencepost.cli.commands.advise.advice_on", quick_advice)
    monkeypatch.chdir(tmp_path)
    Path("values.yaml").write_text(CHART, encoding="utf-8")
    Path("overlay.yaml").write_text(OVERLAY, encoding="utf-8")
    return ["--from", "values.yaml", "--from", "overlay.yaml", "--accept", "chained-changes"]


def test_the_last_file_wins_for_each_value_that_it_has(
    two_files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Helm has the same rule.

    Planted: the first file wins; a file with only some of the sizes is refused.
    """
    assert run(["advise", *two_files, "-n", "6", "--format", "json"]) == ExitCode.VIOLATED
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == "fencepost.advice/3"
    assert said["parameters"] == {"ensemble": 3, "write_quorum": 3, "ack_quorum": 2, "bookies": 6}
    assert (said["journal"], said["checks"], said["storage"]) == (False, True, "db")
    overlay, values = ({"kind": "file", "name": name} for name in ("overlay.yaml", "values.yaml"))
    assert said["set_by"] == {
        "ensemble": overlay,
        "write_quorum": overlay,
        "ack_quorum": values,
        "bookies": {"kind": "option", "name": "-n"},
        "release": {"kind": "default", "name": ""},
        "journal": overlay,
        "checks": overlay,
        "sync": {"kind": "default", "name": ""},
        "storage": {"kind": "default", "name": ""},
    }


def test_text_and_page_say_what_set_each_value(
    two_files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The chart's file is named again at the end of the options, and its values win.

    Planted: files are read in the order of their first mention.
    """
    lines = [
        "overlay.yaml sets dataIntegrityChecking on",
        "values.yaml sets E 2, WQ 2, AQ 2, N 4, journal on",
        "options set release 4.17.4",
        "defaults set db storage",
    ]
    for form in ("text", "html"):
        again = [*two_files, "--from", "values.yaml", "--release", "4.17.4", "--format", form]
        assert run(["advise", *again]) == ExitCode.SUCCESS
        said = capsys.readouterr().out
        assert all(line in said for line in lines), said


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_a_journal_without_fsync_has_no_clean_bill(
    form: str, two_files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The key was once ignored: the headline said that the journal is on, and the exit code was 0.

    Planted: only the questions decide about the loss, and they may run out of time.
    """
    Path("overlay.yaml").write_text(
        "bookkeeper: {configData: {journalSyncData: 'false'}}\n", encoding="utf-8"
    )
    assert run(["advise", *two_files, "--format", form]) == ExitCode.VIOLATED
    out = capsys.readouterr().out
    if form == "json":
        said = json.loads(out)
        assert (said["journal"], said["sync"]) == (True, False)
        assert said["deciding"] == ["BP-46-2", "journalSyncData=false"]
        assert said["answer"] == "yes, with conditions"
        assert said["set_by"]["sync"] == {"kind": "file", "name": "overlay.yaml"}
    else:
        words = " ".join(out.split())
        assert (
            "Yes, with 1 condition, for 2/2/2 on 4 bookies with BookKeeper 4.18.0, and journalSync" in words
        )
        assert "Change to journalSyncData=true." in words
        assert "AQ machines crash before their disks have an entry" in words
    assert run(["advise", *two_files, "--sync", "on"]) == ExitCode.SUCCESS
    accepted = ["--accept", "BP-46-2"]
    assert run(["advise", *two_files, *accepted]) == ExitCode.VIOLATED
    assert run(["advise", *two_files, *accepted, "--accept", "journalSyncData=false"]) == ExitCode.SUCCESS


@pytest.mark.parametrize("name", ["journalSyncData=false", "journalWriteData=false"])
def test_the_loss_of_a_setting_counts_although_its_search_ran_out_of_time(name: str) -> None:
    """Planted: only the search decides about it."""
    asked = setup((2, 2, 2), 2, "4.18.0", journal="Write" not in name, sync="Sync" not in name)
    said = advice_of(name, replace(finding(Verdict.UNDECIDED), out_of_time=True), asked)
    assert (said.answer, [loss.name for loss in said.deciding]) == (AdviceAnswer.CONDITIONS, [name])
    assert "It follows from the setting at every size" in as_text(said)


@pytest.mark.parametrize("setting", OF_SETTINGS, ids=lambda setting: setting.name)
def test_each_setting_loses_an_entry_in_as_few_steps_as_the_table_says(setting: Expectation) -> None:
    (run_,) = setting.runs()
    outcome = decide(run_, Limits())
    assert as_expected(run_, outcome.results[0])


@pytest.mark.parametrize(
    ("bug", "release", "storage", "checks"),
    [
        ("journalWriteData=false", "4.18.0", "db", True),
        pytest.param("journalWriteData=false", "4.8.2", "sorted", False, marks=pytest.mark.long),
        ("bare-fence", "4.16.6", "sorted", True),
        pytest.param("bare-fence", "4.14.8", "db", False, marks=pytest.mark.long),
        pytest.param("flushed-fence", "4.16.6", "sorted", False, marks=pytest.mark.long),
        pytest.param("flushed-fence-db", "4.18.0", "db", True, marks=pytest.mark.slow),
        pytest.param("unawaited-fence", "4.16.6", "sorted", False, marks=pytest.mark.long),
    ],
)
def test_without_the_journal_fences_and_all_copies_can_be_lost(
    bug: str, release: str, storage: str, checks: bool
) -> None:
    """The answer was once that nothing is lost: these bugs needed the journal.

    Planted: they do; AQ - 1 bookies crash at once.
    """
    asked = setup((2, 2, 2), 2, release, journal=False, checks=checks, storage=storage)
    found = looked_for(bug, asked)
    assert (found.verdict, found.shown_on["bookies"]) == (Verdict.VIOLATED, 2)
    assert found.counterexample is not None
    trace = found.counterexample.trace
    if bug == "journalWriteData=false":
        assert (trace.faults["crashes"], trace.switches["lose"]) == (2, "entries")
    elif trace.switches["storage"] != "any":
        assert trace.switches["entries_journaled"] == "no"


@pytest.mark.slow
def test_without_fsync_a_crash_of_one_machine_loses_an_entry() -> None:
    """The loss remains with dataIntegrityChecking, which acts only if the journal is off.

    Planted: the crash keeps the entries.
    """
    asked = setup((2, 2, 2), 2, "4.17.4", checks=True, sync=False)
    (risk,) = (risk for risk in risks(asked) if risk.bug.name == "BP-46-2")
    found = at_these_sizes(risk, asked, []).ask(Limits(jobs=1))
    assert found.verdict is Verdict.VIOLATED
    assert found.counterexample is not None
    assert found.counterexample.trace.switches["lose"] == "both"
    assert found.counterexample.trace.switches["limbo_on_unclean_shutdown"] == "no"


def test_sorted_storage_that_is_switched_off_is_interleaved(
    two_files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The rule is that of ServerConfiguration.getLedgerStorageClass.

    Planted: the key is ignored; DbLedgerStorage is taken for interleaved storage.
    """
    storage = "ledgerStorageClass: org.apache.bookkeeper.bookie.SortedLedgerStorage\n"
    Path("overlay.yaml").write_text(f"sortedLedgerStorageEnabled: false\n{storage}", encoding="utf-8")
    assert run(["advise", *two_files, "--format", "json"]) == ExitCode.SUCCESS
    said = json.loads(capsys.readouterr().out)
    assert (said["storage"], said["set_by"]["storage"]["name"]) == ("interleaved", "overlay.yaml")
    Path("overlay.yaml").write_text("journalWriteData: true\nsortedLedgerStorageEnabled: false\n")
    assert run(["advise", *two_files, "--format", "json"]) == ExitCode.SUCCESS
    assert json.loads(capsys.readouterr().out)["storage"] == "db"


def test_of_the_other_keys_those_that_change_what_is_durable_are_named(
    two_files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted: keys with `journal` in their name are listed."""
    Path("overlay.yaml").write_text(
        "bookkeeper:\n  configData:\n"
        + "".join(f"    journalKey{number}: 1\n" for number in range(9))
        + "    journalWriteData: true\n    skipReplayJournalInvalidRecord: true\n",
        encoding="utf-8",
    )
    assert run(["advise", *two_files]) == ExitCode.SUCCESS
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "bookkeeper.configData.skipReplayJournalInvalidRecord=true: a replay leaves out the rest of a "
        "journal file after a damaged record." in out
    )
    assert "journalKey" not in out and "ignored" not in out


def test_keys_that_stand_elsewhere_in_helm_values_are_not_read(tmp_path: Path) -> None:
    """Planted: the sizes of any section are taken for those of the broker."""
    values = tmp_path / "values.yaml"
    values.write_text("proxy: {configData: {managedLedgerDefaultAckQuorum: 1}}\n" + CHART, encoding="utf-8")
    found = read_source(values)
    assert found.settings.ack_quorum == 2
    (note,) = found.notes
    assert note == (
        "proxy.configData.managedLedgerDefaultAckQuorum is not read: it does not stand in the section of "
        "a broker."
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-e", "3", "-w", "3", "-a", "2"], "no -n: give -e, -w, -a and -n, or --from FILE"),
        (
            ["-e", "3", "-w", "3", "-a", "2", "-n", "3", "--release", "9.9.9"],
            "9.9.9: not one of the 48 releases",
        ),
        (["-e", "3", "-w", "3", "-a", "2", "-n", "3", "--accept", "1"], "--accept 1: no such loss; valid: "),
        (
            ["-e", "3", "-w", "3", "-a", "2", "-n", "3", "--accept", "Bare-Fense"],
            "--accept Bare-Fense: no such loss (did you mean bare-fence?); valid: BOOKKEEPER-799, ",
        ),
        (["-e", "3", "-w", "3", "-a", "2", "-n", "2"], "ensemble 3 exceeds the 2 bookies"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["advise", *arguments]) == ExitCode.BAD_INPUT
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["PR 4607", "pr4607", "#4607", "4607", "Pr-4607", "pull/4607"])
def test_a_public_loss_is_named_in_any_way(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Planted: capitals matter; a pull request needs its blank."""
    assert accepted([name]) == {"PR 4607"}
    assert run(["known", name]) == ExitCode.BAD_INPUT
    assert "PR 4607 is a public loss that no model has" in capsys.readouterr().err


GOLDEN = Path(__file__).parent / "golden"


def word_for_word(advice: Advice, form: str, file: str, request: pytest.FixtureRequest) -> None:
    out = FORMS[form](advice) + "\n"
    if request.config.getoption("--refresh-goldens"):
        (GOLDEN / file).write_text(out, encoding="utf-8")
    assert out == (GOLDEN / file).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(("form", "file"), [("text", "advise.txt"), ("json", "advise-json.txt")])
def test_advice_is_word_for_word(form: str, file: str, request: pytest.FixtureRequest) -> None:
    """The smallest configuration has known losses in 4.17.3, and the user accepts one of them.

    No other loss is found.
    """
    word_for_word(smallest(), form, file, request)


@pytest.mark.parametrize(("form", "file"), [("text", "advise-begun.txt"), ("json", "advise-begun-json.txt")])
def test_advice_before_the_search_is_word_for_word(
    form: str, file: str, request: pytest.FixtureRequest
) -> None:
    """The known losses are there, and the search for others has not begun."""
    word_for_word(next(begun()), form, file, request)


@pytest.mark.slow
def test_the_command_says_it_in_each_form(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Planted: the exit code ignores the accepted bugs."""
    monkeypatch.setattr("fencepost.cli.commands.advise.advice_on", lambda *_: iter([smallest()]))
    sizes = ["-e", "1", "-w", "1", "-a", "1", "-n", "1", "--release", "4.17.3", "--accept", "bare-fence"]
    for form, begins in (("text", "No for 1/1/1 on 1 bookie"), ("json", "{"), ("html", "<!DOCTYPE html>")):
        file = tmp_path / form
        assert run(["advise", *sizes, "--format", form, "--output", str(file)]) == ExitCode.VIOLATED
        assert file.read_text(encoding="utf-8").startswith(begins)


@pytest.mark.slow
def test_what_is_found_of_a_bug_is_that_bug() -> None:
    """A bug is searched for with the other known bugs fixed.

    The counterexample of bare-fence was once one of #4701. Planted: `shown` ignores `others`.
    """
    for risk, found in smallest().losing:
        assert found.counterexample is not None
        switches = found.counterexample.trace.switches
        assert switches["fence_atomic"] == ("no" if risk.bug.name == "#4701" else "yes")
        went_down = any(
            step.action.startswith(("crash", "stop and start", "restart"))
            for step in found.counterexample.trace.steps
        )
        assert went_down is (risk.bug.name != "#4701"), [
            step.action for step in found.counterexample.trace.steps
        ]
