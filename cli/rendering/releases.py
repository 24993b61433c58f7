"""Known bugs and public losses by release of BookKeeper, and a release's switches."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from fencepost.advice.affected import Bug, affected, bugs_of_releases, mended, set_up_since, span, unless
from fencepost.advice.losses import LEVELS, PUBLIC_LOSSES, Loss, needed_setup
from fencepost.advice.steps import action_of
from fencepost.cli.rendering.check_text import WIDTH, paragraph
from fencepost.cli.rendering.columns import columns
from fencepost.encoding import keys as k
from fencepost.encoding.language.parameters import options
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.releases import RULES, TAGS, Rule
from fencepost.realcode.release_behaviour import driven, seen_of

WAYS = next(o.values for o in options(BookKeeperParameters) if o.name == "way_to_read")[1:]
"""The ways in which readers are given entries."""


def on_real_code(bug: Bug) -> dict[str, str]:
    """Return the outcome on real bookies by release, where the bug could be driven."""
    name = bug[0].name
    return {release: cells[name] for release, cells in seen_of(bug[0]).items() if driven(cells.get(name, ""))}


def needs(bug: Bug) -> list[str]:
    """Return the setups that the bug needs, in words; none if any setup has it."""
    return needed_setup(bug[0].name)


INDENT = " " * 6
"""The indent of what is told below a name."""


# All releases.


def all_releases() -> str:
    """Return the known bugs and public losses by release, as text."""
    rows = [("bug", "in", "needs", "mended in", "seen on real bookies")]
    rows += [
        (bug[0].name, span(affected(bug)), _either(needs(bug)), _mended(bug), _seen(bug))
        for bug in bugs_of_releases()
    ]
    head = f"Known bugs of BookKeeper's code in the {len(TAGS)} releases that were read, {span(list(TAGS))}."
    more = (
        "A bug in detail: fencepost known NAME --list. The switches of a release: fencepost known --release "
        "4.16.6. To check a release: fencepost check bookkeeper --release 4.16.6"
    )
    public = [("loss", "in", "needs", "fixed in", "source")]
    public += [
        (o.name, span(o.releases), _either(o.conditions), _either(_fixed(o)), o.source) for o in PUBLIC_LOSSES
    ]
    given = (
        "Ways to read, with the bugs by which a reader is given an entry that was not acknowledged and that "
        "a recovery may leave out. Reads of unconfirmed entries are single reads up to the LAC, and promise "
        "nothing above it."
    )
    told = "Losses that public sources name and that no model has: they are not searched for."
    ways = [*paragraph(given), "", *columns(_ways()), ""]
    parts = [head, "", *columns(rows), "", *ways, told, "", *columns(public), ""]
    return "\n".join([*parts, *textwrap.wrap(more, WIDTH, break_on_hyphens=False)])


def _ways() -> list[tuple[str, str, str]]:
    """Return the ways to read, the releases that have them, and the bugs by which each gives too much."""
    rows = [("way to read", "in", "violated by")]
    for way in WAYS:
        there = [release for release in TAGS if way != "batch" or RULES["batch_read"].settings(release)]
        bugs = [bug for bug in bugs_of_releases() if _gives_too_much(bug, way)]
        rows.append((way, span(there), _either([f"{bug[0].name} ({span(affected(bug))})" for bug in bugs])))
    return rows


def _gives_too_much(bug: Bug, way: str) -> bool:
    return bug[0].property == "no-dirty-read" or bug[0].settings.get("way_to_read") == way


def _either(words: Sequence[str]) -> str:
    return ", ".join(words) or "-"


def _fixed(loss: Loss) -> list[str]:
    """Return the first release of each line with the fix; none if the newest has the fault."""
    return list(loss.fixed.commits) if loss.fixed else []


def _mended(bug: Bug) -> str:
    if since := set_up_since(bug):
        return f"{since[0]} if {since[1]}"
    return _either(mended(bug))


def _seen(bug: Bug) -> str:
    """Return the outcomes on real bookies, releases with the same outcome together."""
    by_text: dict[str, list[str]] = {}
    for release, text in on_real_code(bug).items():
        by_text.setdefault(", ".join(map(str, driven(text))), []).append(release)
    return "; ".join(f"{', '.join(releases)}: {text}" for text, releases in by_text.items()) or "-"


UNLESS = k.keys(since=k.text("a release"), set=k.text("what must be set for the bug to be gone since then"))
BUG = k.keys(
    bug=k.text("the name of the bug, as known takes it").of("name"),
    sentence=k.text("what goes wrong").of("wrong"),
    source=k.text("where it was reported and mended"),
    affected=k.texts("the releases that have it, or may have it, depending on what is set up"),
    needs=k.texts("what it needs of a setup, in words such as: journal off"),
    mended=k.texts("the first release of each line without it; none if the newest has it"),
    unless=k.null(k.one(UNLESS, "the release since which it is gone if something is set"), "if nothing is"),
    seen=k.table(str, "by release, what became of it on real bookies, where it could be driven"),
)
LOSS = k.keys(
    loss=k.text("the issue or pull request that names the loss").of("name"),
    sentence=k.text("what is lost, and when").of("loses"),
    needs=k.texts("what it needs of a setup, in words such as: several journalDirectories").of("conditions"),
    level=k.among(LEVELS, "the events that it needs"),
    action=k.text("what can be done and checked in production"),
    source=k.text("the public address"),
    read=k.among(("code", "notes"), "the origin of the range of releases: the public source, or a report"),
    affected=k.texts("the releases that have it").of("releases"),
    fixed=k.texts("the first release of each line with the fix; none if the newest has the fault"),
)
IN_RELEASES = k.document(
    "fencepost.known-in-releases/3",
    releases=k.table(str, "the releases whose source was read, oldest first, with the commits of their tags"),
    bugs=k.many(BUG, "the known bugs of the code of BookKeeper"),
    public=k.many(LOSS, "the losses that public sources name and that no model has"),
)


def all_releases_as_json() -> dict[str, object]:
    """Return the same as a document."""
    content = {
        "releases": dict(TAGS),
        "bugs": [_bug(bug) for bug in bugs_of_releases()],
        "public": [_public(loss) for loss in PUBLIC_LOSSES],
    }
    return k.headed(IN_RELEASES, content)


def _bug(bug: Bug) -> dict[str, object]:
    since = set_up_since(bug)
    return k.from_record(
        BUG,
        bug[0],
        affected=affected(bug),
        needs=needs(bug),
        mended=mended(bug),
        unless=None if since is None else {"since": since[0], "set": since[1]},
        seen=on_real_code(bug),
    )


def _public(loss: Loss) -> dict[str, object]:
    return k.from_record(LOSS, loss, action=action_of(loss, loss.releases[-1]), fixed=_fixed(loss))


# One release.


def one_release(release: str) -> str:
    """Return the bugs, losses and switches of a release, as text."""
    lines = [f"BookKeeper {release} (tag release-{release}, commit {TAGS[release]})", "", "Known bugs in it"]
    for bug in bugs_of_releases():
        if release in affected(bug):
            lines += _bug_lines(bug, release)
    if losses := _losses(release):
        lines += ["", "Public losses that no model has and that are in it (not searched for)"]
        lines += [line for loss in losses for line in _told_publicly(loss, release)]
    lines += ["", f"Its switches (fencepost check bookkeeper --release {release} sets them)"]
    for rule in RULES.values():
        value = rule.value(release)
        if value is not None:
            lines += [f"  {rule.switch}={value}{f' with {rule.set_up}' if rule.set_up else ''}"]
            lines += [f"      {rule.read}{_since(rule, release)}"]
    return "\n".join(lines)


def _losses(release: str) -> list[Loss]:
    """Return the public losses of a release, whatever the setup."""
    return [loss for loss in PUBLIC_LOSSES if loss.is_in(release)]


def _told_publicly(loss: Loss, release: str) -> list[str]:
    condition = f" Needs {', '.join(loss.conditions)}." if loss.conditions else ""
    wrong = paragraph(f"{loss.name}: {loss.loses}{condition}", "  ", INDENT)
    return [*wrong, *paragraph(action_of(loss, release), INDENT), f"{INDENT}{loss.source}"]


def _bug_lines(bug: Bug, release: str) -> list[str]:
    known = bug[0]
    condition = f"; needs {', '.join(needs(bug))}" if needs(bug) else ""
    condition += f"; not with {said}" if (said := unless(known, release)) else ""
    lines = paragraph(f"{known.name}: {known.wrong} ({known.source}){condition}", "  ", INDENT)
    seen = f"; real bookies: {real}" if (real := on_real_code(bug).get(release)) else ""
    return [*lines, f"{INDENT}fencepost known {known.name.removeprefix('#')}{seen}"]


def _since(rule: Rule, release: str) -> str:
    """Return the releases and commits that brought the value, if earlier releases had another."""
    change = next((c for c in reversed(rule.changes) if release in c), None)
    if change is None:
        return ""
    return f" (since {', '.join(f'{first}, {commit}' for first, commit in change.commits.items())})"


RELEASE = k.document(
    "fencepost.release/2",
    release=k.text("the release"),
    commit=k.text("the commit of its tag"),
    bugs=k.texts("the names of the known bugs in it"),
    public=k.many(LOSS, "the losses in it that public sources name and that no model has"),
    switches=k.table((str, type(None)), "the switches with their values there; null if the rule came later"),
)


def one_release_as_json(release: str) -> dict[str, object]:
    """Return the same as a document."""
    content = {
        "release": release,
        "commit": TAGS[release],
        "bugs": [bug[0].name for bug in bugs_of_releases() if release in affected(bug)],
        "public": [_public(loss) for loss in _losses(release)],
        "switches": {rule.switch: rule.value(release) for rule in RULES.values()},
    }
    return k.headed(RELEASE, content)
