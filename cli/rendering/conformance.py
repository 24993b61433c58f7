"""The results of conformance runs, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.cli.rendering.check_text import paragraph
from fencepost.cli.rendering.reproduction import SETTING, code_lines, spoken
from fencepost.encoding import keys as k
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import amount, show_all
from fencepost.realcode.conformance import ENOUGH, Conformance, Found, parameters_of, rare, spelled
from fencepost.realcode.copies_runs import CopiesGround
from fencepost.realcode.release_behaviour import mending


def as_text(found: Conformance) -> str:
    """Return the setting, how often each action fired, and each kind of departure with its shortest run."""
    lines = [f"{found.protocol} on {spoken(found.setting)}", ""]
    lengths = found.lengths or [0]
    lines += paragraph(
        f"{amount(found.runs, 'run')} of {min(lengths)} to {max(lengths)} steps, {sum(lengths)} in all, "
        f"with seed {found.seed}: {found.runs - found.departed} agree after each step, "
        f"{found.departed} depart"
        f"{f', of {found.asked} asked for' if found.runs < found.asked else ''}."
    )
    counts = sorted(found.fired.items(), key=lambda item: (item[1], item[0]))
    lines += ["", "runs in which each action was taken on the code:"]
    lines += paragraph(", ".join(f"{name} {runs}" for name, runs in counts), "  ")
    if rare(found):
        lines += paragraph(f"in fewer than {ENOUGH}: {', '.join(sorted(rare(found)))}", "  ")
    lines += ["", f"In {found.wider} of them the model allows a step later than the code takes it."]
    for number, one in enumerate(found.found.values(), 1):
        lines += ["", *_departure(number, one), *_own_switches(found, one)]
    if found.failed is not None:
        lines += ["", *paragraph(f"The harness failed, which says nothing about the code: {found.failed}")]
    return "\n".join(lines)


def _departure(number: int, found: Found) -> Iterator[str]:
    departure = found.departure
    where = f"{amount(found.runs, 'run')}; the shortest has {amount(len(departure.steps), 'step')}"
    yield from paragraph(f"departure {number}: {departure.reason}. In {where}, with")
    yield from paragraph(show_all(_settings(found)) or "the defaults", "  ")
    if departure.run.lost:
        yield f"  lost: {', '.join(departure.run.lost)}"
    for step, code in zip(departure.steps, departure.code, strict=False):
        yield f"{step.index:3}  {show(step.actor)} {step.name}"
        yield from code_lines(code)


def _own_switches(found: Conformance, one: Found) -> list[str]:
    """Return a remark with the switches that the release has otherwise, if there are any."""
    setting = found.setting
    if isinstance(one.ground, CopiesGround):  # its runs take the release's switches unless --set has others
        return []
    switches = mending(setting.release, setting.storage, parameters_of(one.ground.instance))
    if not switches:
        return []
    return paragraph(
        f"By its own switches {setting.release} has {show_all(switches)}. With --set the model takes "
        "them too, and runs show what else departs.",
        "  ",
    )


def _settings(found: Found) -> dict[str, object]:
    subject = found.ground.instance.subject
    sizes = {name: value for name, value in subject.parameters.items() if value}
    of_storage = ("second_copy", "storage", "deletion_mark", "remembers_deleted")
    return {**sizes, **{name: value for name, value in subject.switches.items() if name in of_storage}}


DEPARTURE = k.keys(
    kind=k.text("the kind of departure").of("departure.kind"),
    reason=k.text("how the code departs from the model").of("departure.reason"),
    runs=k.whole("the number of runs that depart so", 1),
    settings=k.table(k.PLAIN, "the parameters and switches of the shortest of them"),
    lost=k.texts("what is lost in it").of("departure.run.lost"),
    steps=k.ruled(list, "its actions, each a list of its name and arguments", items=k.list_schema(str)),
)
CONFORMANCE = k.document(
    "fencepost.conform/2",
    protocol=k.text("the name of the protocol"),
    **SETTING,
    seed=k.ruled(int, "the seed"),
    asked=k.whole("the number of runs asked for"),
    runs=k.whole("the number of runs that were made"),
    steps=k.whole("the steps of all runs together"),
    wider=k.whole("the number of runs in which the model allows a step later than the code takes it"),
    seconds=k.seconds("seconds for everything"),
    fired=k.table(int, "by action, the number of runs in which the code took it"),
    departures=k.many(DEPARTURE, "a departure of each kind"),
    failed=k.null(k.text("how the harness failed after these runs"), "if it did not"),
)


def as_json(found: Conformance) -> dict[str, object]:
    """Return the same, for programs."""
    return k.from_record(
        CONFORMANCE,
        found,
        steps=sum(found.lengths),
        seconds=round(found.seconds, 1),
        fired=dict(sorted(found.fired.items())),
        departures=[_departure_json(one) for one in found.found.values()],
    )


def _departure_json(found: Found) -> dict[str, object]:
    subject = found.ground.instance.subject
    settings = {**subject.parameters, **subject.switches}
    return k.from_record(DEPARTURE, found, settings=settings, steps=spelled(found.departure.run))
