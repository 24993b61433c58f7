"""Answers to names that no model checks: public numbers, and log lines that operators have in hand."""

from __future__ import annotations

import re

import pytest

from fencepost.advice.known import KNOWN, named
from fencepost.advice.losses import LOSSES, PUBLIC_LOSSES, possible
from fencepost.advice.outside import NUMBERS, PHRASES, answers_to
from fencepost.advice.setups import Setup
from fencepost.advice.steps import LOG_LINES, action_of
from fencepost.cli.main import run
from fencepost.quorums.stripes import Configuration


@pytest.mark.parametrize("name", [one.name for one in PUBLIC_LOSSES] + [one.name for one in NUMBERS])
def test_each_number_of_the_public_tables_is_answered(name: str) -> None:
    """By its name and by its bare number. Planted: a number is looked for among the known bugs alone."""
    number = re.search(r"\d{3,6}$", name)
    for asked in (name, number[0] if number else name):
        if named(KNOWN, asked):  # a known bug has the number in its source, and the model is asked
            continue
        (told,) = [one for one in answers_to(asked) if one.startswith(f"{name}: ")]
        assert ": out of scope, because " in told and "https://" in told
        assert not re.search(r"\{[a-z-]+\}", told), "a log line is written out"


def test_each_name_that_a_screen_has_is_answered() -> None:
    """The screens say `known NAME`. Planted: the names of quorums and settings are no known bugs."""
    for loss in LOSSES:
        if named(KNOWN, loss.name):
            continue
        (told, *_) = answers_to(loss.name)
        assert told.startswith(f"{loss.name}: ") and loss.loses[1:] in told and loss.source in told
    (disks,) = answers_to("disks")
    assert disks.startswith("disks: a consequence of the number of copies, which `fencepost quorum` counts.")


def test_a_number_that_a_model_has_is_not_out_of_scope() -> None:
    """Planted: #1591 has a row here although known.toml has one, and the model would not be asked."""
    for one in NUMBERS:
        bare = re.sub("^pulsar ", "", one.name)
        assert not named(KNOWN, bare) and not named(PUBLIC_LOSSES, bare)
    for known in KNOWN:
        assert answers_to(known.name) == []


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("There are directories without a cookie", "#4812"),
        ("2026-01-02 ERROR There are directories without a cookie, and this is neither a new", "#4812"),
        ("not enough non-faulty bookies available", "no-writes"),
        ("Error while recovering ledger 17", "no-failover"),
        ("New ensemble: [b1, b2] is not adhering to Placement Policy", "replaced-rack"),
        ("New Ensemble: [b1:3181, b2:3181] for ledger: 320092", "#4651"),
        ("Metadata conflict when closing ledger 5", "unawaited-fence"),
        ("in_recovery", "no-failover"),
    ],
)
def test_a_log_line_is_found_with_its_values_and_leads_to_its_losses(line: str, names: str) -> None:
    """Planted: capitals matter; a line must be the text of the table to the letter."""
    assert any(re.search(rf"See .*{re.escape(names)}", told) for told in answers_to(line)), answers_to(line)


@pytest.mark.parametrize("text", ["a line of no release", "ledger", "Ensemble"])
def test_a_text_of_no_log_line_or_a_short_one_has_no_answer(text: str) -> None:
    """Planted: a word that is in many lines finds them all."""
    assert answers_to(text) == []


def test_each_line_of_the_table_has_a_meaning_or_a_loss() -> None:
    texts = {text for line in LOG_LINES.values() for text in line.texts.values()}
    assert texts <= set(PHRASES)
    assert all(one.means for one in PHRASES.values() if one.text not in texts)


def test_the_command_explains_and_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["known", "18236", "There are directories without a cookie"]) == 0
    out = capsys.readouterr().out
    assert "pulsar #18236: out of scope, because cursors stand above the ledger." in out and "#4812" in out
    for arguments, message in (
        (["4242"], "4242: no such known bug, public loss or log line; valid: "),
        (["no line of any log"], "no line of any log: no such known bug, public loss or log line"),
        (["two words"], "two words: no such known bug, public loss or log line"),
        (["19444", "--format", "json"], "19444: no model has it, so it has no result"),
    ):
        assert run(["known", *arguments]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1 and len(error) < 200


def names(release: str, storage: str, sizes: tuple[int, int, int] = (2, 2, 2), bookies: int = 3) -> set[str]:
    setup = Setup(Configuration(*sizes), bookies, release, storage=storage)
    return {loss.name for loss in possible(setup)}


def test_a_disk_that_was_full_concerns_each_storage() -> None:
    """Sorted storage was driven and lost nothing; the model loses there, by reading."""
    assert all("#4855" in names("4.17.4", storage) for storage in ("db", "interleaved", "sorted"))
    (loss,) = [one for one in LOSSES if one.name == "#4855"]
    assert action_of(loss, "4.17.4").startswith("Stop a bookie before its full disk gets room")


def test_the_key_of_a_deleted_ledger_stays_up_to_4_15_5() -> None:
    assert "deleted-key" in names("4.15.5", "db") and "deleted-key" not in names("4.16.0", "db")
    assert "deleted-key" not in names("4.15.5", "sorted") and "deleted-key" not in names(
        "4.15.5", "db", bookies=2
    )


def test_a_copy_that_compaction_spoils_needs_the_other_copies_too() -> None:
    """Planted: one copy that cannot be read counts as a lost entry at AQ = 2."""
    (loss,) = [one for one in PUBLIC_LOSSES if one.name == "#3604"]
    two, one = (
        Setup(Configuration(*sizes), 3, "4.17.4", storage="sorted") for sizes in ((2, 2, 2), (1, 1, 1))
    )
    assert (loss.level_in(two), loss.level_in(one)) == ("two-crashes", "operation")
