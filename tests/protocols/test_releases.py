"""The table of releases: it is complete, agrees with the presets, and decides which known bugs are found."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import fields, replace
from pathlib import Path

import pytest

from fencepost.advice.affected import OF_BOOKKEEPER, bugs_of_releases, has, mended, unless
from fencepost.advice.known import KNOWN, chosen
from fencepost.advice.losses import PUBLIC_LOSSES, Loss
from fencepost.cli.main import run
from fencepost.cli.rendering.check_text import heading
from fencepost.encoding.check import check
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.parameters import assign, options
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Expectation
from fencepost.protocols.bookkeeper.parameters import NO_JOURNAL, TODAY, V4_13, BookKeeperParameters
from fencepost.protocols.bookkeeper.releases import (
    NEWEST,
    RULES,
    TAGS,
    Change,
    as_in,
    differing,
    listed,
    ordered,
)
from fencepost.protocols.bookkeeper.switches import Switches
from fencepost.realcode.release_behaviour import driven, seen
from support.bare import Bare

# The table.


def test_releases_are_ordered_as_numbers() -> None:
    assert ordered("4.9.2") < ordered("4.17.3") < ordered("4.18.0")
    assert sorted(TAGS, key=ordered) == list(TAGS)
    assert NEWEST == "4.18.0"


def test_every_switch_has_a_rule_but_those_that_say_what_happens() -> None:
    """Every value of the table is a value of its switch, too."""
    assert {f.name for f in fields(Switches)} - set(RULES) == {
        "lose",
        "boot",
        "second_copy",
        "storage",
        "load",
        "entries_journaled",
        "way_to_read",
    }
    values = {option.name: set(option.values) for option in options(Switches)}
    for name, rule in RULES.items():
        assert {v for release in TAGS for v in rule.settings(release)} <= values[name]
        assert all(first in TAGS for change in rule.changes for first in change.commits)
        assert rule.first is not None or rule.changes


def test_a_change_is_in_the_releases_that_follow_it_on_their_line_and_in_later_lines() -> None:
    change = Change("yes", {"4.16.7": "a", "4.17.2": "b", "4.18.0": "c"})
    has_it = {"4.16.7", "4.17.2", "4.17.3", "4.17.4", "4.18.0"}
    assert {release for release in TAGS if release in change} == has_it


def test_the_presets_are_releases_but_for_what_is_named() -> None:
    """`bookkeeper` is the newest release read, without a race between the client's threads.

    The list of presets says so.
    """
    since_4_9 = {
        "add_ensemble": "when-made",
        "refused_change": "continues",
        "chained_changes": "one-difference",
        "acks_after_change": "next-answer",
    }
    assert differing(NEWEST, TODAY) == {"lac_read_in_change": "racing", **since_4_9}
    assert differing("4.13.0", V4_13) == {"fence_atomic": "no", **since_4_9}
    fixed = f"release {NEWEST} with #4651, stale-ensemble, refused-change, #4459 and blocked-acks fixed"
    assert fixed in find("bookkeeper").summary


def test_what_users_set_up_stays_where_the_release_has_it() -> None:
    without = replace(NO_JOURNAL, limbo_on_unclean_shutdown="no")
    assert as_in("4.17.4", without).limbo_on_unclean_shutdown == "no"
    assert as_in("4.17.4", NO_JOURNAL).limbo_on_unclean_shutdown == "yes"
    assert as_in("4.17.4", NO_JOURNAL).boot_fence_scope == "non-closed-in-last-ensemble"
    assert as_in("4.14.8", NO_JOURNAL).fence_on_unclean_shutdown == "no"
    assert as_in("4.17.4", replace(NO_JOURNAL, boot="whole")).phase_one_awaited == "no"
    flushes = [
        as_in(r, replace(NO_JOURNAL, boot="whole")).phase_one_flush for r in ("4.15.0", "4.15.1", "4.18.0")
    ]
    assert flushes == ["yes", "no", "no"]


def test_a_release_before_the_check_of_bp_46_boots_without_it() -> None:
    # Planted: phase one in such a release. #4812 was undecided on all of them, because the boot of a newly
    # formatted bookie was refused.
    booted = as_in("4.14.8", replace(NO_JOURNAL, boot="whole", reimages=1))
    never = (booted.unclean_check, booted.fence_on_unclean_shutdown, booted.limbo_on_unclean_shutdown)
    assert never == ("no", "no", "no")
    assert booted.cookie_mismatch == "refuse"


def test_what_is_not_there_is_refused_in_one_line() -> None:
    with pytest.raises(
        BadInput,
        match=r"^4\.19\.0: not one of the 48 releases that were read, 4\.6\.0 to 4\.18\.0 "
        r"\(did you mean .*\?\); ",
    ):
        listed("4.19.0")
    with pytest.raises(
        BadInput, match=r"^boot=whole, disks=1: release 4\.14\.8 mends no bookie that lost a disk"
    ):
        as_in("4.14.8", replace(NO_JOURNAL, boot="whole", disks=1))
    with pytest.raises(BadInput, match=r"^--release 4\.16\.6: bookkeeper-4\.13-tla is not a release's code"):
        find("bookkeeper-4.13-tla").instance((), "4.16.6")


SOURCE = os.environ.get("FENCEPOST_BOOKKEEPER_SOURCE", "")
"""A clone of BookKeeper's public source with its tags."""


@pytest.mark.skipif(not SOURCE, reason="FENCEPOST_BOOKKEEPER_SOURCE names no clone of BookKeeper's source")
@pytest.mark.parametrize("name", RULES)
def test_a_change_is_in_the_tags_that_the_table_says(name: str) -> None:
    for change in RULES[name].changes:
        having = {tag for commit in change.commits.values() for tag in containing(commit)}
        assert {release for release in TAGS if release in change} == having & set(TAGS)


@pytest.mark.skipif(not SOURCE, reason="FENCEPOST_BOOKKEEPER_SOURCE names no clone of BookKeeper's source")
@pytest.mark.parametrize(
    "loss", [one for one in PUBLIC_LOSSES if one.read == "code"], ids=lambda one: one.name
)
def test_the_range_of_a_public_loss_is_that_of_the_tags(loss: Loss) -> None:
    for change in filter(None, (loss.since, loss.fixed)):
        having = {tag for commit in change.commits.values() for tag in containing(commit)}
        assert {release for release in TAGS if release in change} == having & set(TAGS)


@pytest.mark.skipif(not SOURCE, reason="FENCEPOST_BOOKKEEPER_SOURCE names no clone of BookKeeper's source")
def test_the_commits_are_those_of_the_tags() -> None:
    assert all(git("rev-parse", f"release-{r}^{{commit}}").startswith(commit) for r, commit in TAGS.items())


def containing(commit: str) -> list[str]:
    """Return the releases whose tags contain that commit."""
    return [tag.removeprefix("release-") for tag in git("tag", "--contains", commit).split()]


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", SOURCE, *arguments], capture_output=True, text=True, check=True
    ).stdout


# Known bugs by release.


def verdict(known: Expectation, parameters: BookKeeperParameters) -> Verdict:
    """Return the verdict on the property of a bug on that instance."""
    protocol = find(known.protocol)
    system = protocol.system(parameters)
    properties = [p for p in system.properties if p.name == known.property]
    limits = Limits(timeout=600, jobs=1, minimize=Minimize.NONE)
    (result,) = check(Bare(system, protocol.subject(parameters)), properties, limits).results
    return result.verdict


def instance(known: Expectation) -> BookKeeperParameters:
    """Return the instance that shows a bug, without the bug."""
    parameters = find(known.protocol).parameters(known.settings.items())
    assert isinstance(parameters, BookKeeperParameters)
    return parameters if known.switch is None else assign(parameters, [(known.switch, known.mended)])


def values() -> list[tuple[Expectation, str, str]]:
    """Return each bug with each value that its switch has in some release, and the first such release.

    A value that brings another bug with the same property is tried with that bug alone.
    """
    others = {(known.switch, known.property, known.broken) for known in KNOWN}
    found: dict[tuple[str, str], tuple[Expectation, str, str]] = {}
    for known in KNOWN:
        rule = RULES.get(known.switch or "")
        if known.protocol in OF_BOOKKEEPER and rule is not None and known.mended_bound is None:
            for release in TAGS:
                value = rule.value(release)
                is_own = value in (known.broken, known.mended)
                if value is not None and (is_own or (known.switch, known.property, value) not in others):
                    found.setdefault((known.name, value), (known, value, release))
    return list(found.values())


def marks(known: Expectation, value: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a case: quick, slow or long."""
    if known.name in QUICK:
        return []
    return [pytest.mark.slow if known.name in SLOW else pytest.mark.long]


QUICK, SLOW = ("#1067",), ("#2614-2/2/2",)


@pytest.mark.parametrize(
    ("known", "value", "release"),
    [pytest.param(*case, id=f"{case[0].name}-{case[1]}", marks=marks(case[0], case[1])) for case in values()],
)
def test_a_bug_is_found_with_the_value_of_a_release_that_has_it_and_gone_with_that_of_another(
    known: Expectation, value: str, release: str
) -> None:
    """Only that switch is changed, so no other bug of the release explains the result.

    Planted: a row whose `broken` and `mended` are exchanged.
    """
    assert known.switch is not None
    found = verdict(known, assign(instance(known), [(known.switch, value)]))
    assert found is (Verdict.VIOLATED if value == known.broken else Verdict.PROVED)
    assert (known.broken in RULES[known.switch].settings(release)) is has(known, release)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("#1067", "4.6.2"),
        ("#2614-2/2/2", "4.8.2"),
        ("pulsar#6505", "4.8.2"),
        ("#2615", "4.13.0"),
        ("phantom-read", NEWEST),
    ],
)
def test_a_bug_is_found_with_all_the_switches_of_a_release_that_has_it(name: str, release: str) -> None:
    (known,) = chosen(KNOWN, [name])
    assert has(known, release)
    assert verdict(known, as_in(release, instance(known))) is Verdict.VIOLATED


def test_a_release_without_the_code_of_a_switch_that_the_row_of_a_bug_names_lacks_the_bug() -> None:
    """DbLedgerStorage came with 4.7.0, and the switch of these two bugs is older."""
    for known in chosen(KNOWN, ["reused-uncleaned", "reused-restart"]):
        assert (has(known, "4.6.2"), has(known, "4.7.0"), has(known, NEWEST)) == (False, True, True)


def test_a_bug_may_depend_on_what_is_set_up() -> None:
    (known,) = chosen(KNOWN, ["BP-46-1"])
    assert (has(known, "4.14.8"), unless(known, "4.14.8")) == (True, "")
    assert (has(known, "4.15.0"), unless(known, "4.15.0")) == (True, "dataIntegrityChecking=true")


def test_the_table_of_known_bugs_says_where_they_were_mended() -> None:
    # Planted: the change of 4.17.4 missing in the rule of #4701, or ascribed to 4.17.3.
    named = {bug[0].name: mended(bug) for bug in bugs_of_releases() if mended(bug)}
    assert named.keys() == {
        "early-commit",
        "#1067",
        "pulsar#6505",
        "#2614",
        "#2615",
        "#4701",
        "deleted-ledger",
        "PR-3329",
        "#4105",
        "deleted-key",
    }
    for known in chosen(KNOWN, list(named)):
        assert all(release.removesuffix(".0") in known.source for release in named[known.name]), known.source


def test_the_rows_of_a_bug_are_in_the_same_releases() -> None:
    for bug in bugs_of_releases():
        assert len({tuple(r for r in TAGS if has(known, r)) for known in bug}) == 1


# The command.


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what `known` prints about all releases, or about those that the arguments name."""
    asked = "--release" if arguments and not arguments[0].startswith("-") else "--list"
    assert run(["known", asked, *arguments]) == 0
    return capsys.readouterr().out


def test_releases_lists_the_bugs_by_the_releases_that_have_them(capsys: pytest.CaptureFixture[str]) -> None:
    bugs = {bug["bug"]: bug for bug in json.loads(printed(capsys, "--format", "json"))["bugs"]}
    assert bugs["#4701"]["mended"] == ["4.17.4", "4.18.0"]
    assert bugs["#4701"]["affected"][-1] == "4.17.3"
    assert bugs["#2614"]["seen"]["4.13.0"] == "has it"
    assert bugs["#3005"]["mended"] == []
    assert (bugs["#1591"]["affected"], bugs["#1591"]["mended"]) == ([], [])
    assert bugs["BP-46-1"]["needs"] == ["journal off", "dataIntegrityChecking off"]
    assert bugs["BP-46-1"]["unless"] == {"since": "4.15.0", "set": "dataIntegrityChecking=true"}


def test_what_was_seen_has_a_verdict_for_each_storage(capsys: pytest.CaptureFixture[str]) -> None:
    """For too-few-copies the text was "interleaved" and no more. Planted: the text up to the first comma."""
    rows = {line.split()[0]: line for line in printed(capsys).splitlines() if line}
    assert rows["too-few-copies"].endswith("4.18.0: has it (interleaved, db), refuses it (sorted)")
    assert rows["#4812"].endswith("4.17.3, 4.17.4, 4.18.0: has it (db)")
    assert "  journal off, dataIntegrityChecking on  " in rows["BP-46-served"]
    assert "; needs journal off, dataIntegrityChecking on" in " ".join(printed(capsys, "4.17.4").split())


UNDRIVEN = ("not this release's", "not driven")


def test_each_part_of_what_was_seen_is_understood() -> None:
    # Planted: a part that is misspelt, and therefore left out.
    for cell in (cell for cells in seen().values() for cell in cells.values()):
        others = [p for p in cell.split("; ") if "cannot be driven" in p or p in UNDRIVEN]
        assert len(driven(cell)) + len(others) == len(cell.split("; ")), cell


def test_a_release_says_its_bugs_and_its_switches(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(printed(capsys, "4.17.4", "--format", "json"))
    assert document["switches"]["fence_atomic"] == "yes"
    assert "#4701" not in document["bugs"]
    assert "  fence_atomic=no\n" in printed(capsys, "4.17.3")


def test_a_release_says_the_public_losses_that_no_model_has(capsys: pytest.CaptureFixture[str]) -> None:
    """The list of bugs was read as all that is known, although PR 4607 deletes live logs of this release."""
    losses = {
        loss["loss"]: loss for loss in json.loads(printed(capsys, "4.16.6", "--format", "json"))["public"]
    }
    assert losses["PR 4607"]["source"] == "https://github.com/apache/bookkeeper/pull/4607"
    assert "PR 3979" not in losses
    said = " ".join(printed(capsys, "4.16.6").split())
    assert "Public losses that no model has" in said
    assert "PR 4607: The garbage collector deletes" in said
    assert "PR 4843: A flush of an idle bookie" in said
    assert "Needs DbLedgerStorage, explicit LACs." in said
    assert "PR 3979:" not in said
    assert "PR 3979:" in " ".join(printed(capsys, "4.16.1").split())


def test_releases_lists_the_public_losses_that_no_model_has(capsys: pytest.CaptureFixture[str]) -> None:
    losses = {loss["loss"]: loss for loss in json.loads(printed(capsys, "--format", "json"))["public"]}
    assert losses["PR 3979"]["affected"] == ["4.16.0", "4.16.1"]
    assert losses["PR 3979"]["fixed"] == ["4.16.2", "4.17.0"]
    assert losses["PR 4843"]["fixed"] == []
    assert losses["PR 4843"]["needs"] == ["DbLedgerStorage", "explicit LACs"]
    assert losses["PR 4607"]["level"] == "crash"
    assert losses["#3604"]["needs"] == [
        "sorted or interleaved storage",
        "not useTransactionalCompaction=true",
    ]
    rows = {line[:7]: line for line in printed(capsys).splitlines() if line}
    assert rows["PR 3979"].split()[2:7] == ["4.16.0", "to", "4.16.1", "-", "4.16.2,"]
    # Planted: "4.7.0 to 4.17.1", as if 4.16.7 had it.
    assert "  4.7.0 to 4.16.6, 4.17.0 to 4.17.1  " in rows["PR 4607"]


def test_check_takes_a_release_and_set_wins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--set=bookies=1", "--set=ensemble=1", "--set=write_quorum=1", "--set=ack_quorum=1"]
    command = ["check", "bookkeeper", "--release=4.13.0", "--property=entries-in-order", *small]
    assert run([*command, "--set=recovery_floor=fragment"]) == 0
    out = capsys.readouterr().out
    assert (
        "\nrelease 4.13.0, but recovery_floor=fragment\nswitches: recovery_reads_fence=no fence_atomic=no "
        "add_ensemble=when-made refused_change=continues chained_changes=one-difference "
        "acks_after_change=next-answer\n" in out
    )
    assert run([*command, "--format=json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["release"], document["unlike_release"]) == ("4.13.0", {})
    assert document["changed_switches"] == {
        "recovery_reads_fence": "no",
        "recovery_floor": "zero",
        "fence_atomic": "no",
        "add_ensemble": "when-made",
        "refused_change": "continues",
        "chained_changes": "one-difference",
        "acks_after_change": "next-answer",
    }


def test_an_instance_says_in_what_it_is_not_the_newest_release() -> None:
    # Planted: the bugs that the release and the instance share; no text without `--release`.
    text = heading(find("bookkeeper").instance(), Limits())
    assert (
        f"\nmodelled: {NEWEST} with #4651, stale-ensemble, refused-change, #4459, blocked-acks fixed "
        "(add_ensemble=when-queued refused_change=gives-up chained_changes=each-alone "
        "acks_after_change=with-change lac_read_in_change=blocked); "
        f"for the release as shipped: --release {NEWEST}\n" in text
    )
    racing = heading(find("bookkeeper").instance([("lac_read_in_change", "racing")]), Limits())
    assert f"\nmodelled: {NEWEST} with stale-ensemble, refused-change, #4459, blocked-acks fixed (" in racing
    assert "modelled" not in heading(find("bookkeeper").instance((), NEWEST), Limits())
    assert "modelled" not in heading(find("bookkeeper-4.13").instance(), Limits())
