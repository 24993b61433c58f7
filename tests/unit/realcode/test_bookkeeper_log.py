"""Logs of BookKeeper: every release's lines are read, and each ledger's history is judged by them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.releases import ordered
from fencepost.realcode.bookkeeper_log import LineForm, Value, line_forms, read_acked, read_line, read_log
from fencepost.realcode.ledger_histories import SMALLEST, Finding, FindingKind, ask_model, histories, turns

RELEASES: tuple[str, ...] = ("4.13.0", "4.14.8", "4.15.5", "4.16.6", "4.17.4")
"""The releases whose values stand in the text."""

HEAD = "2022-12-03T03:23:42,659+0000 [main] INFO  org.apache.bookkeeper.Some - "

B = ("b-1:3181", "b-2:3181")

CONFLICT = (
    "Metadata conflict when closing ledger 7. Another client may have recovered the ledger while there "
    "were writes outstanding. (local lastEntry:4 length:40)  (metadata lastEntry:2 length:20)"
)

CLIENT: Mapping[str, tuple[str, Mapping[str, Value]]] = {
    "created": ("Ensemble: [b-1:3181, b-2:3181] for ledger: 7", {"ledger": 7, "ensemble": B}),
    "new ensemble": ("New Ensemble: [b-1:3181, b-2:3181] for ledger: 7", {"ledger": 7, "ensemble": B}),
    "add refused": (
        "Fencing exception on write: L7 E5 on b-1:3181",
        {"ledger": 7, "entry": 5, "bookie": "b-1:3181"},
    ),
    "failed for good": ("Write of ledger entry to quorum failed: L7 E5", {"ledger": 7, "entry": 5}),
    "recovered": ("Closing recovered ledger 7 at entry -1", {"ledger": 7, "recorded": -1}),
    "close conflict": (
        CONFLICT,
        {"ledger": 7, "own": 4, "recorded": 2},
    ),
    "replay": ("Replaying journal 17 from position 512", {"journal": 17}),
    "start": ("Finished reading journal, starting bookie", {}),
    "collector": ("Deleting entryLogId 3 as it has no active ledgers!", {"log": 3}),
}
"""Lines that are the same in all releases up to 4.17."""

OTHERS: Sequence[tuple[tuple[str, ...], str, str, Mapping[str, Value]]] = (
    (RELEASES, "fenced", "Ledger: 7  fenced by: /10.0.0.4:41238", {"ledger": 7}),
    (
        RELEASES,
        "fenced",
        "Ledger fence request received for ledger: 7 from address: /10.0.0.4:4",
        {"ledger": 7},
    ),
    (
        RELEASES,
        "add failed",
        "Failed to write entry (7, 5) to bookies {1=b-2:3181}, handling failures.",
        {"ledger": 7, "entry": 5},
    ),
    (("4.13.0",), "add failed", "Failed to write entry (7, 5): Bookie timeout", {"ledger": 7, "entry": 5}),
    (
        RELEASES[1:],
        "add failed",
        "Failed to write entry (7, 5) to bookie (1, b-2:3181): Bookie operation timeout",
        {"ledger": 7, "entry": 5, "bookie": "b-2:3181"},
    ),
    (
        ("4.16.6",),
        "refused at a bookie",
        "Write attempt on fenced ledger 7 by client /10.0.0.4:4",
        {"ledger": 7},
    ),
    (
        ("4.17.4",),
        "refused at a bookie",
        "Write attempt on fenced/deleted ledger 7 by client /10.0.0.4:4",
        {"ledger": 7},
    ),
    (
        RELEASES[:4],
        "refused at a bookie",
        "Ledger fenced while writing entry:5 to ledger:7",
        {"ledger": 7, "entry": 5},
    ),
    (
        ("4.17.4",),
        "refused at a bookie",
        "Ledger fenced/deleted while writing entry:5 to ledger:7",
        {"ledger": 7, "entry": 5},
    ),
)

CONFLICT_TEXT = (
    "Metadata conflict when closing ledger. Another client may have recovered the ledger while there were "
    "writes outstanding."
)

WITH_ATTRIBUTES: Sequence[tuple[str, str, Mapping[str, str], Mapping[str, Value]]] = (
    (
        "created",
        "New ledger",
        {"ensemble": "[b-1:3181, b-2:3181]", "ledgerId": "7"},
        {"ledger": 7, "ensemble": B},
    ),
    (
        "new ensemble",
        "New Ensemble",
        {"ledgerId": "7", "newEnsemble": "[b-1:3181, b-2:3181]"},
        {"ensemble": B},
    ),
    (
        "add failed",
        "Failed to write entry to bookie",
        {"bookieAddr": "b-2:3181", "bookieIndex": "1", "entryId": "5", "error": "timeout", "ledgerId": "7"},
        {"ledger": 7, "entry": 5, "bookie": "b-2:3181"},
    ),
    (
        "add failed",
        "Failed to write entry to bookies, handling failures",
        {"entryId": "5", "failedBookies": "{1=b-2:3181}", "ledgerId": "7"},
        {"ledger": 7, "entry": 5},
    ),
    (
        "add refused",
        "Fencing exception on write",
        {"entryId": "5", "ledgerId": "7"},
        {"ledger": 7, "entry": 5},
    ),
    ("refused at a bookie", "Write attempt on fenced/deleted ledger", {"ledgerId": "7"}, {"ledger": 7}),
    (
        "refused at a bookie",
        "Ledger fenced/deleted while writing entry to ledger",
        {"entryId": "5", "ledgerId": "7"},
        {"ledger": 7, "entry": 5},
    ),
    (
        "failed for good",
        "Write of ledger entry to quorum failed",
        {"entryId": "5", "ledgerId": "7"},
        {"entry": 5},
    ),
    (
        "close conflict",
        CONFLICT_TEXT,
        {"lastEntryId": "4", "length": "40", "ledgerId": "7", "metadataLastEntryId": "2"},
        {"ledger": 7, "own": 4, "recorded": 2},
    ),
    ("recovered", "Closing recovered ledger", {"lastAddConfirmed": "-1", "ledgerId": "7"}, {"recorded": -1}),
    ("fenced", "Ledger fenced", {"fencedBy": "/10.0.0.4:4", "ledgerId": "7"}, {"ledger": 7}),
    ("fenced", "Ledger fence request received", {"address": "/10.0.0.4:4", "ledgerId": "7"}, {"ledger": 7}),
    ("replay", "Replaying journal", {"journalId": "17", "logPosition": "512"}, {"journal": 17}),
    ("collector", "Deleting entryLogId as it has no active ledgers!", {"entryLogId": "3"}, {"log": 3}),
)
"""Lines of 4.18.0."""

TEXTS = [(kind, text, values) for kind, (text, values) in CLIENT.items()]
TEXTS += [(kind, text, values) for _, kind, text, values in OTHERS]


@pytest.mark.parametrize(("kind", "text", "values"), TEXTS, ids=[text[:40] for _, text, _ in TEXTS])
def test_a_line_with_its_values_in_the_text_is_read(
    kind: str, text: str, values: Mapping[str, Value]
) -> None:
    found = read_line(HEAD + text)
    assert found is not None and (found.kind, dict(found.values)) == (kind, dict(values))
    assert found.time == 1670037822.659


@pytest.mark.parametrize(
    ("kind", "text", "told", "values"), WITH_ATTRIBUTES, ids=[text[:40] for _, text, _, _ in WITH_ATTRIBUTES]
)
def test_a_line_of_4_18_is_read_with_x_and_as_json(
    kind: str, text: str, told: Mapping[str, str], values: Mapping[str, Value]
) -> None:
    joined = ", ".join(f"{name}={value}" for name, value in told.items())
    document = {"Timestamp": "2022-12-03T03:23:42.659Z", "Body": text, "Attributes": dict(told)}
    for line in (f"{HEAD}{text} {{{joined}}}", json.dumps(document)):
        found = read_line(line)
        assert found is not None and found.kind == kind and found.time == 1670037822.659
        assert values.items() <= found.values.items()
    bare = read_line(HEAD + text)
    assert bare is not None and not bare.values, "without %X the line has no values"


def test_each_text_of_the_table_is_one_of_its_releases_and_each_kind_is_in_all() -> None:
    """Planted: a text that no release has, a release that lacks one, and a kind that a release cannot log."""
    logged: list[tuple[tuple[str, ...], str]] = [(RELEASES, text) for text, _ in CLIENT.values()]
    logged += [(releases, text) for releases, _, text, _ in OTHERS]
    logged += [(("4.18.0",), text) for _, text, _, _ in WITH_ATTRIBUTES]
    used = set()
    for releases, text in logged:
        for release in releases:
            forms = [form for form in line_forms() if is_in(form, release) and form.pattern.search(text)]
            assert forms, (release, text)
            used |= {form.text for form in forms}
    assert used == {form.text for form in line_forms()}
    for release in (*RELEASES, "4.18.0"):
        held = {form.kind for form in line_forms() if is_in(form, release)}
        assert held == {form.kind for form in line_forms()}, release


def is_in(form: LineForm, release: str) -> bool:
    return ordered(form.first) <= ordered(release) <= ordered(form.last or "4.99.0")


def test_other_lines_that_hold_the_words_are_not_read() -> None:
    for text in (
        "Closing recovered ledger seven at entry 0",
        "a New Ensemble was found",
        "Ledger fenced off",
    ):
        assert read_line(HEAD + text) is None, text


def logs(
    tmp_path: Path, acked: Mapping[int, int] | None = None, **files: Sequence[tuple[int, str]]
) -> list[Finding]:
    """Return the findings of ledger 7 in logs with these seconds and lines."""
    paths = []
    for name, lines in files.items():
        paths.append(tmp_path / f"{name}.log")
        paths[-1].write_text(
            "".join(f"2022-12-03 03:{s // 60:02}:{s % 60:02},000 {text}\n" for s, text in lines)
        )
    return [one for history in histories(read_log(paths), acked or {}) for one in history.findings()]


def created(*bookies: str) -> str:
    return f"Ensemble: [{', '.join(bookies)}] for ledger: 7"


def changed(*bookies: str) -> str:
    return f"New {created(*bookies)}"


END = "Closing recovered ledger 7 at entry 0"


def test_two_owners_are_found_and_a_change_before_the_recovery_is_none(tmp_path: Path) -> None:
    (found,) = logs(tmp_path, a=[(0, created("x")), (400, changed("y"))], b=[(40, END)])
    assert found.kind is FindingKind.TWO_OWNERS and "360 s later by the clocks of both" in found.text
    assert found.lines == ("b.log:1", "a.log:2")
    (found,) = logs(tmp_path, a=[(0, created("x")), (30, changed("y"))], b=[(40, END)])
    assert found.kind is FindingKind.NOTHING
    (found,) = logs(tmp_path, a=[(0, created("x")), (40, END), (30, changed("y"))])
    assert found.kind is FindingKind.TWO_OWNERS, "lines of one file are in their order"


@pytest.mark.parametrize(
    ("lines", "acked", "kind"),
    [
        ([CONFLICT], None, FindingKind.LOST),
        ([CONFLICT.replace("lastEntry:4", "lastEntry:1", 1)], None, FindingKind.NOTHING),
        (["Write of ledger entry to quorum failed: L7 E2"], None, FindingKind.LOST),
        (["Write of ledger entry to quorum failed: L7 E1"], None, FindingKind.NOTHING),
        (["Fencing exception on write: L7 E1 on x"], None, FindingKind.PERHAPS_LOST),
        (["Fencing exception on write: L7 E0 on x"], None, FindingKind.NOTHING),
        (["Fencing exception on write: L7 E1 on x"], 1, FindingKind.LOST),
        (["Fencing exception on write: L7 E1 on x"], 0, FindingKind.NOTHING),
        (
            ["Fencing exception on write: L7 E1 on x", "Write of ledger entry to quorum failed: L7 E1"],
            None,
            FindingKind.NOTHING,
        ),
    ],
)
def test_entries_behind_the_end(
    tmp_path: Path, lines: list[str], acked: int | None, kind: FindingKind
) -> None:
    """Planted: the entry at the end counts as behind it; an add that failed counts as acknowledged."""
    writer = [(0, created("x")), *((50, line) for line in lines)]
    (found,) = logs(tmp_path, {} if acked is None else {7: acked}, a=writer, b=[(40, END)])
    assert found.kind is kind, found.text


def test_a_write_back_of_a_recovery_is_no_add_of_the_writer(tmp_path: Path) -> None:
    failed = (30, "Write of ledger entry to quorum failed: L7 E9")
    assert [one.kind for one in logs(tmp_path, a=[(0, created("x"))], b=[failed, (40, END)])] == [
        FindingKind.NOTHING
    ]
    assert [one.kind for one in logs(tmp_path, a=[(0, created("x")), (40, END), (41, failed[1])])] == [
        FindingKind.NOTHING
    ]


def test_a_bookie_that_came_back_is_found(tmp_path: Path) -> None:
    (found,) = logs(tmp_path, a=[(0, created("x", "y")), (1, changed("x", "z")), (2, changed("x", "y"))])
    assert (
        found.kind is FindingKind.CAME_BACK and found.text.startswith("y left") and found.fits == ("#4459",)
    )
    (found,) = logs(tmp_path, a=[(0, created("x", "y")), (1, changed("x", "z")), (2, changed("x", "v"))])
    assert found.kind is FindingKind.NOTHING


def test_a_restart_between_a_fence_and_an_add_is_found(tmp_path: Path) -> None:
    fence, start = "Ledger: 7  fenced by: /h:1", "Finished reading journal, starting bookie"
    refused = "Fencing exception on write: L7 E0 on x"
    writer = [(0, created("x")), (30, refused)]
    (found,) = logs(tmp_path, a=writer, bookie=[(10, fence), (20, start)])
    assert found.kind is FindingKind.RESTARTED and found.lines == ("bookie.log:1", "bookie.log:2", "a.log:2")
    for others in ([(20, start), (25, fence)], [(10, fence), (40, start)], [(10, fence)]):
        (found,) = logs(tmp_path, a=writer, bookie=others)
        assert found.kind is FindingKind.NOTHING, others


def test_owners_that_recovered_each_others_ledgers_are_named(tmp_path: Path) -> None:
    one, other = tmp_path / "a.log", tmp_path / "b.log"
    one.write_text(f"{created('x')}\nClosing recovered ledger 8 at entry 3\n")
    other.write_text(f"{created('x').replace('7', '8')}\n{END}\n")
    assert len(turns(read_log([one, other]))) == 1
    other.write_text(f"{created('x').replace('7', '9')}\n{END}\n")
    assert not turns(read_log([one, other]))


def test_the_model_refuses_a_change_after_a_recovery_began() -> None:
    words = ask_model(FindingKind.TWO_OWNERS, find("bookkeeper").instance(list(SMALLEST.items())), 600)
    assert words.startswith("with 1/1/1 on 2 bookies no execution has a writer that changes")


@pytest.mark.parametrize(("release", "share"), [("4.17.4", "no"), ("4.13.0", "some")])
def test_the_model_says_whether_an_entry_behind_the_end_can_be_acknowledged(release: str, share: str) -> None:
    one = {"bookies": 1, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
    words = ask_model(FindingKind.LOST, find("bookkeeper").instance(list(one.items()), release), 600)
    assert words.startswith(f"with 1/1/1 on 1 bookie {share} execution without a crash acknowledges")


def test_acknowledged_entries_are_read_and_mistakes_refused(tmp_path: Path) -> None:
    file = tmp_path / "acked.jsonl"
    file.write_text("[7, 0]\n[7, 3]\n[8, 1]\n[7, 2]\n")
    assert read_acked(file) == {7: 3, 8: 1}
    file.write_text("[7, 0]\n[7, true]\n")
    with pytest.raises(BadInput, match=r"line 2: \[7, true\]: must be two whole numbers"):
        read_acked(file)


def test_a_log_without_a_line_or_without_attributes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.write_text("nothing\n")
    with pytest.raises(BadInput, match="has no line of BookKeeper with its values; give a log"):
        read_log([file])
    file.write_text(f"{HEAD}New Ensemble\n")
    with pytest.raises(BadInput, match="1 line without attributes; put %X into the layout"):
        read_log([file])
