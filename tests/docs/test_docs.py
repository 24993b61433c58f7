"""The pages in docs/ are true: their code is the code, and their commands print what the pages show."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from preset_instances import BOOT, InstanceExpectations, title

from fencepost.advice.affected import OF_BOOKKEEPER, OF_COPIES, has
from fencepost.advice.affected import span as range_of
from fencepost.advice.known import KNOWN
from fencepost.advice.losses import PUBLIC_LOSSES, Loss
from fencepost.advice.steps import action_of
from fencepost.cli.exits import ExitCode
from fencepost.cli.main import run
from fencepost.encoding import language as authors
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.state import show_all
from fencepost.properties.expectations import Expectation
from fencepost.protocols.bookkeeper.releases import TAGS
from fencepost.realcode.drive.actions import DRIVEN, Drive
from fencepost.realcode.left_out import AT_ONCE, ELSEWHERE, UNDRIVABLE
from fencepost.realcode.release_behaviour import seen
from fencepost.sweeps.grid import plan
from support.exploration import explore
from support.instances import differences
from support.names import DOTTED, FILE, OF_OTHERS, PLACED, code, dead_names, pages

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / "docs" / "own-protocol.md"
LANGUAGE = ROOT / "docs" / "language.md"
BUGS = ROOT / "docs" / "known.md"
EXAMPLE = Path("examples/two_copies.py")
ENDLESS = Path("examples/one_owner.py")
SMALL = Path("examples/lease_lock.py")
CRITICAL = Path("examples/ricart_agrawala.py")
VOICES = Path("examples/two_voices.py")
RING = Path("examples/ring_leader.py")
ABSTRACT, SAFRA = Path("examples/corpus/async_termination.py"), Path("examples/corpus/ewd998.py")
SETS = Path("examples/two_phase_commit_sets.py")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


NUMBERS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
"""Numbers as pages write them in words."""


@dataclass(frozen=True)
class Transcript:
    """A console block of a page, with the changes to the example that its section asks for."""

    section: str
    changes: tuple[str, ...]
    text: str

    @property
    def example(self) -> Path:
        """Return the first example that its commands name, to which its changes apply."""
        named = re.search(r"examples/[\w/]+\.py", self.text)
        return Path(named[0]) if named else EXAMPLE

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each command with the lines that it prints."""
        for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            yield command, lines


def blocks(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of a page in that language."""
    return [text for name, text in BLOCK.findall(page.read_text(encoding="utf-8")) if name == language]


def transcripts(page: Path) -> list[Transcript]:
    """Return the console blocks of a page; a diff applies to the blocks after it in its section."""
    found = []
    for section in re.split(r"^##+ ", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
        title, changes = section.split("\n")[0], []
        for language, text in BLOCK.findall(section):
            if language == "diff":
                changes.append(text)
            elif language == "console":
                found.append(Transcript(title, tuple(changes), text))
    return found


def changed(source: str, changes: tuple[str, ...]) -> str:
    """Return the source after the changes, each a diff of whole lines that occur once."""
    for change in changes:
        sides = [[line[1:] for line in change.splitlines() if line[0] == sign] for sign in "-+"]
        old, new = ("\n".join(side) + "\n" for side in sides)
        assert source.count(old) == 1, f"occurs {source.count(old)} times in the example:\n{old}"
        source = source.replace(old, new)
    return source


def printed_as_shown(shown: list[str], printed: str) -> bool:
    """Return whether the lines are those shown; `...` in a page stands for any text, and times may differ."""
    pattern = re.escape("\n".join(shown)).replace(re.escape("..."), ".*")
    pattern = re.sub(r"\\\[\d+\\\.\d\\ s\\\]", r"\\[\\d+\\.\\d\\ s\\]", pattern)
    return re.fullmatch(pattern, printed, flags=re.DOTALL) is not None


def test_the_code_in_the_tutorial_is_that_of_the_examples() -> None:
    files = (SMALL, EXAMPLE, ENDLESS, VOICES, SETS, RING, CRITICAL, ABSTRACT, SAFRA)
    small, *others = ((ROOT / file).read_text(encoding="utf-8") for file in files)
    whole, *parts = [*blocks(OWN, "python"), *blocks(LANGUAGE, "python")]
    assert whole == small, "the first Python block of the tutorial must be the whole file"
    for part in parts:
        assert any(part in source for source in (small, *others)), (
            f"in none of {', '.join(map(str, files))}:\n{part}"
        )


def test_the_code_in_the_page_for_tla_is_that_of_its_example() -> None:
    source = (ROOT / "examples" / "paxos.py").read_text(encoding="utf-8")
    parts = blocks(ROOT / "docs" / "from-tla.md", "python")
    assert len(parts) > 5
    assert [part for part in parts if part not in source] == []


class AtAGlance(authors.StateSpace):
    """The names that the table of the page for TLA+ uses. Its `a` is an index and a condition."""

    def __init__(self) -> None:
        self.acceptor, self.few = authors.BOOL, authors.integers(1, 5)
        self.x, self.f = authors.variable(self.few), authors.family(self.few, self.acceptor)
        self.a, self.b, self.c = (authors.variable(authors.BOOL) for _ in "abc")
        self.r = authors.family(authors.BOOL, self.acceptor, self.acceptor)
        self.q = authors.variable(authors.sequences(self.few, most=3))
        self.now = authors.variable(self.acceptor)
        told = authors.channel("told", self.few, self.few)
        self.n, self.i, self.queue = 1, 1, authors.queues(self.few, [told], room=2)
        self.quorum = authors.variable(authors.subsets(self.few))
        self.entry = authors.records(term=self.few, value=self.few)


def test_the_terms_in_the_table_for_tla_are_terms_of_the_language() -> None:
    """Planted: `everywhere(lambda …, sort)`, `sum` of the family, `implies` of one condition."""
    page = (ROOT / "docs" / "from-tla.md").read_text(encoding="utf-8")
    table = page.partition("## At a glance")[2].partition("\n## ")[0]
    terms = [code for row in table.splitlines() for code in re.findall("`([^`]+)`", row.rpartition(" | ")[2])]
    s = AtAGlance()
    few = {"S": s.few, "T": s.few, "Q": s.quorum, "e": 3, "t": 3, "v": 3, "argument": 3}
    names = {**vars(authors), **vars(s), **few, "s": s, "act": lambda s, a: authors.Action(actor="w")}
    called = [term for term in terms if "(" in term and "…" not in term]
    assert len(called) > 15
    for term in called:
        eval(term, names)


def test_the_rule_about_parameters_in_the_reference_is_printed_as_the_page_says() -> None:
    page = LANGUAGE.read_text(encoding="utf-8")
    call, printed = re.search(r"`(require\(.+\))`\. With one server it prints `(.+)`\.", page).groups()  # type: ignore[union-attr]
    for servers, says in ((2, ""), (1, printed)):
        try:
            eval(call, vars(authors), {"self": SimpleNamespace(servers=servers)})
            said = ""
        except BadInput as error:
            said = str(error)
        assert said == says


class Asking(authors.StateSpace):
    """Nodes that ask one another."""

    def __init__(self) -> None:
        self.node = authors.labels("node", "n", 3)
        self.ask = authors.channel("ask", self.node, self.node)


def test_a_message_to_all_others_as_the_reference_writes_it_does_not_go_to_its_sender() -> None:
    (code,) = re.findall(r"`sent=(\[s\.ask\.send.+?\])`", LANGUAGE.read_text(encoding="utf-8"))

    def ask(s: Asking, node: authors.Parameter) -> authors.Action:
        return authors.Action(actor=node, sent=eval(code, {"s": s, "node": node}))

    s = Asking()
    _, after, *_ = explore(authors.System(s, (authors.each(ask, s, s.node),)))
    sent = {v.index for v in s.variables if v.family.name == "ask_sent" and after.state[v.place]}
    assert sent == {("n1", "n2"), ("n1", "n3")}


class Rounds(authors.StateSpace):
    """A client that asks again once it was answered, with or without a number in its question."""

    def __init__(self, numbered: bool) -> None:
        self.round = authors.integers(1, 2)
        self.asked = authors.variable(authors.integers(0, 2))
        about = {"round": self.round} if numbered else {}
        self.ask = authors.channel("ask", "client", "server", about=about)
        self.waits = authors.variable(authors.BOOL)


@pytest.mark.parametrize("numbered", [True, False])
def test_a_channel_sends_an_equal_message_once_as_the_page_for_tla_says(numbered: bool) -> None:
    def ask(s: Rounds, number: authors.Parameter) -> authors.Action:
        then = [s.asked.set(number), s.waits.set(True)]
        message = s.ask.send(number) if numbered else s.ask.send()
        return authors.Action(~s.waits & (s.asked + 1 == number), then, "client", sent=[message])

    def answer(s: Rounds, number: authors.Parameter) -> authors.Action:
        message = s.ask.deliver(number) if numbered else s.ask.deliver()
        return authors.Action(s.asked == number, [s.waits.set(False)], received=message)

    s = Rounds(numbered)
    system = authors.System(s, tuple(authors.each(act, s, s.round) for act in (ask, answer)))
    happened = {visit.action.name for visit in explore(system) if visit.action is not None}
    assert happened == {"ask(1)", "answer(1)"} | ({"ask(2)", "answer(2)"} if numbered else set())


def test_the_grid_in_the_tutorial_asks_what_the_page_says() -> None:
    (grid,) = (block for block in blocks(OWN, "toml") if "[[grid]]" in block)
    made = plan(tomllib.loads(grid), load(ROOT / EXAMPLE))
    asked = [dict(case.settings) for case in made.cases]
    assert made.invalid == 0
    mended = [o for o in asked if o["fence"] == "yes" and o["acknowledge"] == "both"]
    counts = re.search(
        r"Of its (\w+) instances (\w+) are violated: .* (\w+) are proved\.", OWN.read_text("utf-8")
    )
    assert counts is not None
    assert [NUMBERS.index(number.lower()) for number in counts.groups()] == [
        len(asked),
        len(asked) - len(mended),
        len(mended),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "transcript",
    [t for page in sorted((ROOT / "docs").glob("*.md")) for t in transcripts(page)],
    ids=lambda t: t.section,
)
def test_the_commands_in_a_page_do_what_it_shows(
    transcript: Transcript,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = (ROOT / transcript.example).read_text(encoding="utf-8")
    shutil.copytree(ROOT / EXAMPLE.parent, tmp_path / EXAMPLE.parent)
    shutil.copytree(ROOT / "docs" / "traces", tmp_path / "docs" / "traces")
    (tmp_path / transcript.example).write_text(changed(source, transcript.changes), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code: int | None = None
    for command, shown in transcript.commands():
        if command == "echo $?":
            assert [str(code)] == shown, "exit code"
            continue
        name, *arguments = shlex.split(command)
        assert name == "fencepost"
        code = run(arguments)
        printed = capsys.readouterr()
        text = (printed.err if code == ExitCode.BAD_INPUT else printed.out).rstrip("\n")
        assert printed_as_shown(shown, text), f"{command}\nshown:\n{transcript.text}\nprinted:\n{text}"


# docs/findings.md: each finding has the same five parts, and its commands can be run.

FINDINGS = ROOT / "docs" / "findings.md"
SAID = ["Result", "Since", "Shortest", "For users", "Known"]


def findings() -> dict[str, str]:
    """Return the sections of the page that are findings, by their headings."""
    parts = re.split(r"^### ", FINDINGS.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {part.split("\n")[0]: re.split(r"^## ", part, flags=re.MULTILINE)[0] for part in parts}


@pytest.mark.parametrize("finding", findings().values(), ids=findings())
def test_a_finding_says_what_since_when_and_how_to_see_it(finding: str) -> None:
    assert re.findall(r"^- \*\*([\w ]+)\.\*\*", finding, flags=re.MULTILINE) == SAID
    shown = re.findall(r"^ {6}(\w[^\\\n]*(?:\\\n[^\\\n]*)*)", finding, flags=re.MULTILINE)
    assert shown, "no command"
    for command in shown:
        name, *arguments = shlex.split(command.replace("\\\n", " "))
        assert name in ("fencepost", "python")
        if name == "fencepost" and arguments[0] != "known":
            assert run([*arguments, "--timeout", "0.01", "--output", "/dev/null"]) != ExitCode.BAD_INPUT


# docs/README.md: the index, from which the site takes its navigation too.

INDEX = ROOT / "docs" / "README.md"


def unlisted(index: str) -> list[Path]:
    """Return the pages that the index does not list.

    The pages of a folder need no line if the index lists that folder's own index.
    """
    docs = INDEX.parent
    shown = {docs / name for name in re.findall(r"^- \[[^]]+\]\(([^)]+)\): .*\b[Yy]ou ", index, re.MULTILINE)}
    pages = sorted(set(docs.rglob("*.md")) - {INDEX})
    return [page for page in pages if page not in shown and page.with_name("README.md") not in shown]


def test_the_index_lists_every_page_and_says_what_one_can_do_then() -> None:
    text = INDEX.read_text(encoding="utf-8")
    assert unlisted(text) == []
    assert unlisted(text.replace("](encoding.md)", "](lemmas.md)")) == [INDEX.with_name("encoding.md")]
    assert unlisted(text.replace(". You look up", ". Look up")) == [INDEX.with_name("glossary.md")]


# Names of code in the pages.


def test_every_file_and_every_name_of_code_in_a_page_is_there() -> None:
    assert {page.name: dead for page in pages() if (dead := list(dead_names(page.read_text("utf-8"))))} == {}


def named() -> Iterator[str]:
    """Yield the file names and code names in the pages, without those of other projects."""
    for page in pages():
        for span in re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8")):
            path, name = FILE.fullmatch(span), DOTTED.fullmatch(span)
            if (path and span.endswith(".py")) or (name and not re.search(r"[a-z][A-Z]|^[A-Z]+\.", span)):
                yield span


def test_a_name_that_is_wrong_in_a_page_is_noticed() -> None:
    # Planted: every name of a page, with a suffix.
    every = set(named())
    assert len(every) > 300
    wrong = {re.sub(r"(\.py|\(\))?$", r"_gone\1", span, count=1) for span in every}
    assert [span for span in wrong if not list(dead_names(f"See `{span}`."))] == []


def test_a_name_that_is_in_another_file_than_a_page_says_is_noticed() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    assert PLACED.findall(text)
    for name, file in PLACED.findall(text):
        assert not list(dead_names(f"`{name}` in `{file}`"))
        assert list(dead_names(f"`{name}` in `{Path(__file__).name}`"))


def test_names_of_other_projects_are_listed_only_if_pages_have_them_and_code_has_not() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    assert [name for name in OF_OTHERS if name in code().words or name not in text] == []


# Tables that are written from data.


def line(cells: Iterable[str]) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |\n"


def check_table(
    page: Path, columns: int, rows: Iterable[str], request: pytest.FixtureRequest, head: str = ""
) -> None:
    """Check the lines of the page's first table with so many columns or that head.

    --refresh-goldens writes the lines.
    """
    text, rule = page.read_text(encoding="utf-8"), re.escape(f"{head}|{'---|' * columns}\n")
    table = re.compile(rf"(?<=^{rule})(?:\|.*\n)*", re.MULTILINE)
    expected, found = table.subn(lambda _: "".join(rows), text, count=1)
    assert found, f"{page.name} has no table of {columns} columns"
    if request.config.getoption("--refresh-goldens"):
        page.write_text(expected, encoding="utf-8")
        text = expected
    assert text == expected, "pytest tests/docs/test_docs.py --refresh-goldens writes the table anew"


# docs/known.md: the bugs by family, against the table that is tested.

FAMILIES = {
    "BookKeeper": ("bookkeeper", "bookkeeper-4.13", "bookkeeper-4.13-tla"),
    "BookKeeper without the journal": ("bookkeeper-no-journal",),
    "Tweaks of BookKeeper": ("bookkeeper-guaranteed-write-quorum", "bookkeeper-unbounded"),
    "A chain of ledgers": ("ledger-chain",),
    "The copies of a closed ledger": ("ledger-copies",),
    "The Verified Log": tuple(f"verified-log-0{stage}" for stage in range(1, 5)),
}


def by_family() -> str:
    """Return the known bugs as the page has them: each consequence once, and a line for each instance."""
    text = ""
    for family, protocols in FAMILIES.items():
        bugs: dict[tuple[str, str], list[Expectation]] = {}
        for known in (known for known in KNOWN if known.protocol in protocols):
            bugs.setdefault((known.wrong, known.source), []).append(known)
        if bugs:
            text += f"### {family}\n\n" + "\n".join(
                family_lines(wrong, source, b) for (wrong, source), b in bugs.items()
            )
    return text


def family_lines(wrong: str, source: str, bugs: Sequence[Expectation]) -> str:
    """Return the lines of a bug: its name, its consequence and source, and each instance that shows it."""
    return f"**{bugs[0].name}**: {wrong} ({source}).\n" + "".join(
        shown_by(known, len(bugs) > 1) for known in bugs
    )


def shown_by(known: Expectation, one_of_several: bool) -> str:
    """Return an instance of a bug, with the bug and without it; by name if there are several."""
    name = f"{known.name}: " if one_of_several else ""
    instance = " ".join([known.protocol, *filter(None, [show_all(known.settings)])])
    found = f"violated{f' in {known.steps} steps' if known.steps else ''}"
    if known.switch:
        found = f"`{known.switch}={known.broken}` {found}, `{known.mended}` {_without(known)}"
    return f"- {name}`{known.property}` of `{instance}`: {found}\n"


# docs/generated/mends.md: for each known bug the rule that rules it out, against the table that is tested.

MENDS = ROOT / "docs" / "generated" / "mends.md"


def mend_row(known: Expectation) -> str:
    """Return the line of a row: its size, fewest steps, releases, rule, and what is proved with the rule."""
    mend = f"`{known.switch}`: `{known.broken}` to `{known.mended}`" if known.switch else "none in the model"
    is_code = known.protocol in (*OF_BOOKKEEPER, OF_COPIES)
    has_it = [release for release in TAGS if is_code and has(known, release)]
    without = _without(known) if known.switch else "-"
    size = " ".join([known.protocol, *filter(None, [show_all(known.settings)])])
    steps = "not shown" if known.steps is None else str(known.steps)
    return line(
        [known.name, known.property, f"`{size}`", steps, range_of(has_it) if has_it else "-", mend, without]
    )


def test_the_mends_in_the_page_are_those_that_are_checked(request: pytest.FixtureRequest) -> None:
    """Planted: a row of the table without its mend."""
    head = line(("bug", "property", "instance", "fewest steps", "releases", "rule and mend", "with it"))
    check_table(MENDS, 7, map(mend_row, KNOWN), request, head)


def test_the_page_of_repairs_names_each_bug() -> None:
    """Planted: a bug of the table that the page leaves out."""
    text = (MENDS.parent / "repairs.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| (\S+) \| [-\d]", text, flags=re.MULTILINE)
    assert named == [known.name for known in KNOWN]


def _without(known: Expectation) -> str:
    return known.without.value if known.mended_bound is None else f"holds up to {known.mended_bound} steps"


def test_the_bugs_in_the_page_are_those_that_are_checked(request: pytest.FixtureRequest) -> None:
    assert {known.protocol for known in KNOWN} <= {name for names in FAMILIES.values() for name in names}
    text = BUGS.read_text(encoding="utf-8")
    begin, end = text.index("### "), text.index("## Bugs that nobody had reported")
    expected = f"{text[:begin]}{by_family()}\n{text[end:]}"
    if request.config.getoption("--refresh-goldens"):
        BUGS.write_text(expected, encoding="utf-8")
        text = expected
    assert text == expected, "pytest tests/docs/test_docs.py --refresh-goldens writes the bugs anew"


def public_row(loss: Loss) -> str:
    """Return the line of a public loss."""
    told = f"{loss.loses} *{action_of(loss, loss.releases[-1])}*"
    read = " (from the report)" if loss.read == "notes" else ""
    cells = [
        f"[{loss.name}]({loss.source})",
        range_of(loss.releases) + read,
        ", ".join(loss.conditions) or "-",
    ]
    return line([*cells, told])


def test_the_public_losses_in_the_page_are_those_that_advise_asks(request: pytest.FixtureRequest) -> None:
    head = "| loss | in | needs | what is lost, and what to do |\n"
    check_table(BUGS, 4, map(public_row, PUBLIC_LOSSES), request, head)


# docs/no-journal.md: its table against the one that is tested.

BOOTING = ROOT / "docs" / "no-journal.md"


def boot_row(way: InstanceExpectations) -> str:
    """Return a way to boot as a line of the page's table."""
    settings = show_all(differences(way))
    return line([title(way), f"`{settings}`" if settings else "", *map(worth, way)])


def worth(expected: Expectation) -> str:
    """Return a verdict, or the fewest steps of a violation."""
    return f"**{expected.steps}**" if expected.steps else expected.verdict.value


def test_the_table_of_ways_to_boot_is_the_one_that_is_checked(request: pytest.FixtureRequest) -> None:
    check_table(BOOTING, 5, map(boot_row, BOOT), request)


# docs/real-code.md: its table of known bugs against what `fencepost known --list` shows.

REAL = ROOT / "docs" / "real-code.md"


def seen_row(bug: str) -> str:
    """Return the line of a bug with each release that was driven; a long cell is not repeated."""
    cells = [on_release[bug] for on_release in seen().values()]
    again = [n > 0 and cell == cells[n - 1] and len(cell) > 20 for n, cell in enumerate(cells)]
    return line([bug, *("the same" if same else cell for same, cell in zip(again, cells, strict=True))])


def test_the_table_of_what_was_seen_on_real_code_is_the_one_that_releases_shows(
    request: pytest.FixtureRequest,
) -> None:
    rows = map(seen_row, next(iter(seen().values())))
    check_table(REAL, 1 + len(seen()), rows, request, line(("bug", *seen())))


# docs/conformance.md: its tables against the code that drives each action, and what runs leave out.

RUNS_PAGE = ROOT / "docs" / "conformance.md"


def driven_row(action: str, drive: Drive) -> str:
    """Return the line of an action: what drives it, what is observed then, and where runs leave it out."""
    at_once = f"at once: {AT_ONCE[action]}" if action in AT_ONCE else ""
    return line([action, drive.how, drive.seen, at_once or ELSEWHERE.get(action, "")])


def test_the_tables_of_what_drives_each_action_are_those_of_the_driver(
    request: pytest.FixtureRequest,
) -> None:
    head = line(("action", "driven by", "seen then", "in runs"))
    check_table(RUNS_PAGE, 4, (driven_row(*item) for item in DRIVEN.items()), request, head)
    check_table(RUNS_PAGE, 2, map(line, UNDRIVABLE.items()), request, line(("action", "why not")))


# docs/formats.md (tests/docs/test_formats.py has the documents).

FORMATS = ROOT / "docs" / "formats.md"


def test_the_exit_codes_in_the_page_are_those_there_are() -> None:
    section = FORMATS.read_text(encoding="utf-8").split("## Exit codes")[1]
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", section, flags=re.MULTILINE)] == list(ExitCode)


# docs/glossary.md.

ASKED_FOR = (
    "round",
    "witness",
    "cap",
    "LAC",
    "limbo",
    "in flight",
    "silent",
    "fragment",
    "invariant",
)


def test_the_words_of_verdicts_and_pages_are_explained() -> None:
    # Planted: a verdict without its line; a page of BookKeeper without a link to the glossary.
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([^|]+) \| [^|]{20,} \|$", text, re.MULTILINE)
    assert set(words) >= {verdict.value for verdict in Verdict} | set(ASKED_FOR)
    assert len(words) == len(set(words))
    for page in ("bookkeeper", "encoding", "known", "no-journal", "traces", "which-configuration"):
        assert "(glossary.md)" in (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"), page
