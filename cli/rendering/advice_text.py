"""The advice on a setup as text: one screen, or all of it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from fencepost.advice.advice import Advice, AdvisedChange, NumberedStep
from fencepost.advice.alerts import alerts_for
from fencepost.advice.checked import search_of
from fencepost.advice.losses import CAUSES, CONDITIONS, Loss, harmless
from fencepost.advice.steps import ATTRIBUTES_SINCE
from fencepost.cli.rendering.check_text import WIDTH
from fencepost.encoding.language.state import amount
from fencepost.properties.catalogue import IN_NO_INSTANCE
from fencepost.protocols.bookkeeper.releases import ordered
from fencepost.quorums.calculator import warnings
from fencepost.quorums.files.setters import DEFAULT, setter_lines
from fencepost.quorums.quantities import values_of

MOST = 24
"""The lines of the first screen."""

SHORT = {
    "operation": "operation",
    "slow-bookie": "slow bookie",
    "crash": "one crash",
    "two-crashes": "two crashes",
    "operator": "operator",
}
"""The levels as the table's first column says them."""

TIMES = {
    "change": "Once",
    "stop": "Before a bookie is stopped, also for a change of settings or release",
    "start": "Before a bookie is started again",
    "ensemble-change": "After each change of an ensemble",
    "crash": "After each crash of a bookie or loss of a disk",
    "use": "Each time it is used",
}
"""The times of steps in words."""

EDGE = (
    "The answer is about one ledger's entries. Not looked at: lists of ledgers (`fencepost "
    "known 19444`), cursors, schemas and system topics such as __change_events, whose quorums are the "
    "defaults at their creation; room on disks; whether auto-recovery runs (it logs `Ledger replicated "
    "successfully`); nodes with several roles."
)
"""The edge of the answer."""

SHOWN = "Log lines have their values as attributes, named behind the class: %X in the layout shows them."
"""A note on the log lines of newer releases."""


# Words shared with the page.


def asked(advice: Advice) -> str:
    """Return the setup in words."""
    setup = advice.setup
    of = f"in Pulsar {advice.pulsar.name}, " if advice.pulsar else ""
    newest = f" ({of}the newest that was read)" if advice.set_by.get("release") == DEFAULT else ""
    checks = ", dataIntegrityChecking on" if setup.checks else ""
    journal = "on" if setup.journal else "off"
    return (
        f"{setup.configuration} on {amount(setup.bookies, 'bookie')}, BookKeeper {setup.release}{newest}, "
        f"{setup.storage} storage, journal {journal}{'' if setup.sync else ' without fsync'}{checks}"
    )


def read(advice: Advice) -> list[str]:
    """Return what set each value, a line for each file, for the options and for the defaults."""
    setup = advice.setup
    e, wq, aq = setup.configuration.sizes
    on = {True: "on", False: "off"}
    values = {
        "ensemble": f"E {e}",
        "write_quorum": f"WQ {wq}",
        "ack_quorum": f"AQ {aq}",
        "bookies": f"N {setup.bookies}",
        "release": f"release {setup.release}",
        "journal": f"journal {on[setup.journal]}",
        "sync": f"journalSyncData {on[setup.sync]}",
        "checks": f"dataIntegrityChecking {on[setup.checks]}",
        "storage": f"{setup.storage} storage",
    }
    return setter_lines(values, advice.set_by)


def survived(advice: Advice) -> list[tuple[str, int]]:
    """Return what the setup survives, in numbers of bookies and racks."""
    values = values_of(advice.deployment)
    return [
        ("bookies whose disks may be lost for good", int(values["sure"])),
        ("bookies that may be down while a ledger is written", int(values["spare"])),
        ("bookies that may be down while a new owner recovers it", int(values["rewriting"])),
        ("bookies whose copies auto-recovery restores", int(values["restored"])),
        ("racks that each write set needs to survive the loss of one", int(values["racks_enough"])),
    ]


@dataclass(frozen=True)
class Row:
    """A row of the table: losses of one cause at one level."""

    level: str
    losses: tuple[Loss, ...]
    words: str
    steps: tuple[int, ...]

    @property
    def names(self) -> list[str]:
        """The names of the losses."""
        return [loss.name for loss in self.losses]


def rows(advice: Advice) -> list[Row]:
    """Return the losses as rows, the easiest level first."""
    grouped: dict[tuple[str, str], list[Loss]] = {}
    change = advice.change
    for loss in advice.losses:
        gone = change is not None and change.is_release and loss.name in change.removes
        grouped.setdefault((advice.level(loss), "gone" if gone else loss.cause or loss.name), []).append(loss)
    found = []
    for (level, cause), losses in grouped.items():
        words = CAUSES.get(cause) or short(losses[0], advice)
        if change is not None and cause == "gone":
            version = change.words.removeprefix("BookKeeper ")
            words = f"gone with {version}" + (f": {words}" if len(losses) == 1 else "")
        numbers = dict.fromkeys(number for loss in losses for number in advice.numbers(loss))
        found.append(Row(level, tuple(losses), words, tuple(numbers)))
    return found


def short(loss: Loss, advice: Advice) -> str:
    """Return a loss in a few words, with the numbers of the setup."""
    letters = advice.setup.letters
    stop = min(letters["AQ"] - 1, letters["N"] - letters["E"]) + 1
    return loss.short.format(acks=amount(letters["AQ"], "bookie"), stop=amount(stop, "bookie"))


def changed(advice: Advice) -> str:
    """Return the change that removes most, and what remains after it."""
    change = advice.change
    if change is None:
        return "No later release and no setting here removes a loss: the steps limit them."
    gone = f"{counted(change.removes)} go{'es' if len(change.removes) == 1 else ''}" if change.removes else ""
    eased = (
        f"{listed(change.eases)} then need{'s' if len(change.eases) == 1 else ''} more"
        if change.eases
        else ""
    )
    return f"First (step 1): {change.words}. {'; '.join(filter(None, (gone, eased)))}. {_remains(change)}"


def _remains(change: AdvisedChange) -> str:
    if not change.remains:
        return "Nothing known remains."
    return f"{len(change.remains)} of the table remain, the first is {change.remains[0]}."


def counted(names: Sequence[str], most: int = 5) -> str:
    """Return a few names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def listed(names: Sequence[str]) -> str:
    """Return names with commas."""
    return ", ".join(names)


def purpose(one: NumberedStep) -> str:
    """Return the losses that a step is against, and whether it rules them out."""
    if not one.against:
        return "done"
    verb = "rules out" if one.step.rules_out else "limits"
    return f"{verb} {listed([loss.name for loss in one.against])}"


# The screen.


def as_text(advice: Advice, whole: bool = False, width: int = WIDTH) -> str:
    """Return the advice: one screen of at most 24 lines, or all of it."""
    given = read(advice) if whole else [line for line in read(advice) if not line.startswith("defaults")]
    head = [*broken(asked(advice), width), *_cut(f"Read: {'; '.join(given)}.", 9 if whole else 2, width)]
    head += _cut(advice.warning, 2 if not whole else 9, width) if advice.warning else []
    numbers = "; ".join(f"{words}: {value}" for words, value in survived(advice))
    if survived(advice)[-1][1] > advice.setup.configuration.write_quorum:
        numbers += " (impossible with this WQ)"
    head += _cut(f"Survives: {numbers}.", 4, width)
    foot = _cut(changed(advice), 2, width)
    foot += _done(advice, width)
    foot += _cut(EDGE, 9 if whole else 3, width)
    foot += [] if whole else ["All of it, with the steps: the same command with --all."]
    table = _table(advice, None if whole else MOST - len(head) - len(foot) - 1, width)
    parts = [*head, *table, *foot]
    return "\n".join([*parts, *_rest(advice, width)] if whole else parts)


def _done(advice: Advice, width: int) -> list[str]:
    done = [one for one in advice.steps if one.done]
    ignored = [f"{name} (until {one.until}: {one.reason})" for name, one in advice.ignored.items()]
    by = [CONDITIONS[word] for one in done for word in sorted(one.step.done_by)]
    said = f"Done: {', '.join(by)}." if done else ""
    return [*_cut(said, 2, width), *_cut(f"Ignored: {'; '.join(ignored)}." if ignored else "", 1, width)]


def _table(advice: Advice, room: int | None, width: int) -> list[str]:
    found = rows(advice)
    hidden = found[room - 1 :] if room is not None and len(found) > room else []
    lines = [f"{'needs':<11} {'what can go wrong, the easiest first':<{NAMES + width - FIXED}} step"]
    level = ""
    for row in found[: len(found) - len(hidden)]:
        lines.append(_line(row, "" if row.level == level else SHORT[row.level], width))
        level = row.level
    more = [name for row in hidden for name in row.names]
    return lines + ([_shortened(f"{'':<11} and {len(more)} more: {listed(more)}", width)] if more else [])


NAMES = 30
FIXED = 11 + 1 + NAMES + 1 + 1 + 6
"""The columns of the table besides the words."""


def _line(row: Row, level: str, width: int) -> str:
    numbers = ", ".join(map(str, row.steps[:2]))
    room = max(20, width - FIXED)
    words = _shortened(row.words, room)
    return f"{level:<11} {_names(row.names):<{NAMES}} {words:<{room}} {numbers:>6}".rstrip()


def _names(names: Sequence[str]) -> str:
    """Return the names that have room, and how many more there are."""
    for shown in range(len(names), 0, -1):
        more = f" +{len(names) - shown}" if shown < len(names) else ""
        said = listed(names[:shown]) + more
        if len(said) <= NAMES or shown == 1:
            return _shortened(said, NAMES)
    return ""


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def _cut(text: str, most: int, width: int) -> list[str]:
    """Return a text on a few lines. The last one ends with "…" if there is more."""
    lines = broken(text, width) if text else []
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], _shortened(" ".join(line.strip() for line in lines[most - 1 :]), width)]


def broken(text: str, width: int, indent: int = 2) -> list[str]:
    """Return a text in lines of this width."""
    return textwrap.wrap(
        text, width, subsequent_indent=" " * indent, break_on_hyphens=False, break_long_words=False
    )


# The rest of `--all`.

UNSHOWN = "No metric shows these losses"
"""The words before the losses that no alert shows."""


PACKAGE = "org.apache.bookkeeper.stats.prometheus."
"""The package of the class that exports metrics, which the rules have in full."""


def alert_lines(advice: Advice, width: int) -> Iterable[str]:
    """Yield the metrics of the alerts by the setting that exports them, and the losses that none shows."""
    found, unshown = alerts_for(advice.setup, advice.losses, advice.may_be_pulsars)
    by_setting: dict[str, list[str]] = {}
    for alert, _ in found:
        setting = alert.settings[0].replace(PACKAGE, "…")
        by_setting.setdefault(setting, []).append(alert.metrics[0].name)
    told = "; ".join(f"{listed(metrics)} with {setting}" for setting, metrics in by_setting.items())
    parts = [f"Alerts (--format prometheus-rules): {told}."] if told else []
    parts += [f"{UNSHOWN}: {listed(unshown)}."] if unshown else []
    yield from broken(" ".join(parts), width)


def grouped_steps(advice: Advice) -> list[tuple[str, list[NumberedStep]]]:
    """Return the steps below a heading that says when they are done; those that are done come last."""

    def time(one: NumberedStep) -> str:
        return "Done, by settings and defaults" if one.done else TIMES[one.step.when]

    return [(heading, list(group)) for heading, group in groupby(advice.steps, key=time)]


WHOSE = {"bookies": "Bookies", "clients": "Clients"}
"""The systems whose operators do a step, as its first word."""


def _rest(advice: Advice, width: int) -> Iterable[str]:
    yield ""
    for heading, group in grouped_steps(advice):
        yield f"{heading}:"
        for one in group:
            mark = " x" if one.done else f"{one.number:>2}"
            said = ", ".join(CONDITIONS[word] for word in sorted(one.step.done_by))
            text = said if one.done else f"{WHOSE[one.step.who]}: {advice.words(one.step)}"
            yield from broken(f"{mark}. {text} [{purpose(one)}]", width, 4)
    yield from alert_lines(advice, width)
    for note in notes(advice):
        yield from broken(note, width)


def notes(advice: Advice) -> list[str]:
    """Return the notes of the files, the warnings about the sizes, and the names of the other known bugs."""
    found = [f"{name}: {note}" for name, source in advice.sources.items() for note in source.notes]
    found += [advice.pulsar.sentence] if advice.pulsar and advice.pulsar.is_read else []
    found += [f"Note: {one.text}." for one in warnings(advice.deployment)]
    others = listed([bug[0].name for bug in harmless(advice.setup)])
    release = advice.setup.release
    other = f"Other known bugs of {release}, which lose nothing: {others}. " if others else ""
    shown = f"{SHOWN} " if ordered(release) >= ATTRIBUTES_SINCE else ""
    detail = f"In detail: fencepost known NAME (--set: at your sizes), or --release {release} for all."
    left = left_out()
    found += [f"{other}{shown}{search_of(advice.setup, advice.losses)} {detail} {left[0].upper()}{left[1:]}."]
    return found


def left_out() -> str:
    """Return one line that names the parts that the models leave out in every instance.

    Layers that are off by default are not named: the table has the losses of every setting.
    """
    return f"not modelled in any instance of {'; of '.join(map(': '.join, IN_NO_INSTANCE.items()))}"
