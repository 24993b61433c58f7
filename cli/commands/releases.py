"""`fencepost releases`: which known bug is in which release of BookKeeper, and the switches of a release."""

from __future__ import annotations

import json
import textwrap

import click

from fencepost.answers.affected import Bug, affected, bugs_of_releases, mended, set_up_since, span, unless
from fencepost.answers.risks import needed_setup
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.completion import release_names
from fencepost.cli.options.grouped import grouped_command
from fencepost.cli.rendering.check_text import WIDTH
from fencepost.cli.rendering.output import emit, form_option, output_option
from fencepost.encoding import keys as k
from fencepost.protocols.bookkeeper.releases import RULES, TAGS, Rule, listed
from fencepost.realcode.release_behaviour import driven, seen


@grouped_command(example="fencepost releases 4.16.6")
@click.argument("release", required=False, metavar="[RELEASE]", shell_complete=release_names)
@form_option
@output_option
def command(release: str | None, form: str, output: str | None) -> int:
    """List the known bugs by the releases that have them, or the bugs and switches of one RELEASE.

    A release is known if its public source was read. Where a bug was driven on real bookies the outcome is
    shown.
    """
    if release is None:
        emit(json.dumps(_all_as_json(), indent=2) if form == "json" else _all(), output)
    else:
        one = listed(release)
        emit(json.dumps(_one_as_json(one), indent=2) if form == "json" else _one(one), output)
    return int(ExitCode.SUCCESS)


def on_real_code(bug: Bug) -> dict[str, str]:
    """Return the outcome on real bookies by release, where the bug could be driven."""
    name = bug[0].name
    return {release: cells[name] for release, cells in seen().items() if driven(cells.get(name, ""))}


def needs(bug: Bug) -> list[str]:
    """Return the setups that the bug needs, in words; none if any setup has it."""
    return needed_setup(bug[0].name)


# All releases.


def _all() -> str:
    rows = [("bug", "in", "needs", "mended in", "seen on real bookies")]
    rows += [
        (bug[0].name, span(affected(bug)), ", ".join(needs(bug)) or "-", _mended(bug), _seen(bug))
        for bug in bugs_of_releases()
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{c:{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    head = f"Known bugs of BookKeeper's code in the {len(TAGS)} releases that were read, {span(list(TAGS))}."
    more = (
        "Each bug is described in docs/known.md. The switches of a release: fencepost releases 4.16.6. "
        "To check a release: fencepost check bookkeeper --release 4.16.6"
    )
    return "\n".join([head, "", *lines, "", *textwrap.wrap(more, WIDTH, break_on_hyphens=False)])


def _mended(bug: Bug) -> str:
    if since := set_up_since(bug):
        return f"{since[0]} if {since[1]}"
    return ", ".join(mended(bug)) or "-"


def _seen(bug: Bug) -> str:
    """Return the outcomes on real bookies, releases with the same outcome together."""
    by_text: dict[str, list[str]] = {}
    for release, text in on_real_code(bug).items():
        by_text.setdefault(", ".join(map(str, driven(text))), []).append(release)
    return "; ".join(f"{', '.join(releases)}: {text}" for text, releases in by_text.items()) or "-"


UNLESS = k.keys(since=k.text("a release"), set=k.text("what must be set for the bug to be gone since then"))
BUG = k.keys(
    bug=k.text("the name of the bug, as known takes it"),
    sentence=k.text("what goes wrong"),
    source=k.text("where it was reported and mended"),
    affected=k.texts("the releases that have it, or may have it, depending on what is set up"),
    needs=k.texts("what it needs of a setup, in words such as: journal off"),
    mended=k.texts("the first release of each line without it; none if the newest has it"),
    unless=k.null(k.one(UNLESS, "the release since which it is gone if something is set"), "if nothing is"),
    seen=k.table(str, "by release, what became of it on real bookies, where it could be driven"),
)
IN_RELEASES = k.document(
    "fencepost.known-in-releases/2",
    releases=k.table(str, "the releases whose source was read, oldest first, with the commits of their tags"),
    bugs=k.many(BUG, "the known bugs of the code of BookKeeper"),
)


def _all_as_json() -> dict[str, object]:
    content = {
        "releases": dict(TAGS),
        "bugs": [
            {
                "bug": bug[0].name,
                "sentence": bug[0].wrong,
                "source": bug[0].source,
                "affected": affected(bug),
                "needs": needs(bug),
                "mended": mended(bug),
                "unless": None
                if (since := set_up_since(bug)) is None
                else {"since": since[0], "set": since[1]},
                "seen": on_real_code(bug),
            }
            for bug in bugs_of_releases()
        ],
    }
    return k.headed(IN_RELEASES, content)


# One release.


def _one(release: str) -> str:
    lines = [f"BookKeeper {release} (tag release-{release}, commit {TAGS[release]})", "", "Known bugs in it"]
    for bug in bugs_of_releases():
        if release in affected(bug):
            lines += _told(bug, release)
    lines += ["", f"Its switches (fencepost check bookkeeper --release {release} sets them)"]
    for rule in RULES.values():
        value = rule.value(release)
        if value is not None:
            lines += [f"  {rule.switch}={value}{f' with {rule.set_up}' if rule.set_up else ''}"]
            lines += [f"      {rule.read}{_since(rule, release)}"]
    return "\n".join(lines)


def _told(bug: Bug, release: str) -> list[str]:
    known = bug[0]
    condition = f"; needs {', '.join(needs(bug))}" if needs(bug) else ""
    condition += f"; not with {said}" if (said := unless(known, release)) else ""
    lines = textwrap.wrap(
        f"{known.name}: {known.wrong} ({known.source}){condition}",
        WIDTH,
        initial_indent="  ",
        subsequent_indent="      ",
    )
    real = on_real_code(bug).get(release)
    return [
        *lines,
        f"      fencepost known {known.name.removeprefix('#')}{f'; real bookies: {real}' if real else ''}",
    ]


def _since(rule: Rule, release: str) -> str:
    """Return the releases and commits that brought the value, if earlier releases had another."""
    change = next((c for c in reversed(rule.changes) if release in c), None)
    if change is None:
        return ""
    return f" (since {', '.join(f'{first}, {commit}' for first, commit in change.commits.items())})"


RELEASE = k.document(
    "fencepost.release/1",
    release=k.text("the release"),
    commit=k.text("the commit of its tag"),
    bugs=k.texts("the names of the known bugs in it"),
    switches=k.table((str, type(None)), "the switches with their values there; null if the rule came later"),
)


def _one_as_json(release: str) -> dict[str, object]:
    content = {
        "release": release,
        "commit": TAGS[release],
        "bugs": [bug[0].name for bug in bugs_of_releases() if release in affected(bug)],
        "switches": {rule.switch: rule.value(release) for rule in RULES.values()},
    }
    return k.headed(RELEASE, content)
