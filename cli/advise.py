"""`fencepost advise`: may I run this configuration on this release?"""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.handing import elapsed, timeout_option
from fencepost.cli.numbers import SIZE
from fencepost.cli.output import emit, form_option, output_option
from fencepost.cli.render import WIDTH
from fencepost.encoding.checking.limits import Limits
from fencepost.encoding.checking.verdicts import Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.state import amount
from fencepost.encoding.versions import version
from fencepost.properties.advice import Finding, Risk, Setup, anything_else, risks, shown, unmet
from fencepost.properties.known import bugs_of_releases, family, full_names, mended
from fencepost.protocols.bookkeeper.releases import NEWEST, TAGS, listed
from fencepost.quorums.calculator import warnings
from fencepost.quorums.deployment import Client, Deployment
from fencepost.quorums.quantities import quantities
from fencepost.quorums.sources import Source, read_source
from fencepost.quorums.stripes import Configuration

LOSSES = (6, 7, 11, 13, 16)
"""The quantities of the calculator that say how many losses what survives."""


@dataclass(frozen=True)
class Advice:
    """All that is said."""

    setup: Setup
    deployment: Deployment
    sources: dict[str, Source]
    default_release: bool
    losing: list[tuple[Risk, Finding]]
    other: list[Risk]
    rest: Finding
    accepted: frozenset[str]

    @property
    def named(self) -> list[str]:
        """The losses that decide: known ones that were shown here, and what nobody has named."""
        known = [
            risk.bug.name
            for risk, found in self.losing
            if found.verdict is Verdict.VIOLATED and risk.bug.name not in self.accepted
        ]
        return known + (["a loss that is not known"] if self.rest.verdict is Verdict.VIOLATED else [])

    @property
    def undecided(self) -> list[str]:
        """What was not decided: bugs of this release, and whether there is another loss."""
        settled = (Verdict.VIOLATED, Verdict.PROVED)
        known = [
            r.bug.name for r, f in self.losing if f.verdict not in settled and r.bug.name not in self.accepted
        ]
        return known + ([] if self.rest.verdict in settled else ["whether anything else loses an entry"])


@click.command()
@click.option("-e", "--ensemble", type=SIZE, help="E, bookies in an ensemble.")
@click.option("-w", "--write-quorum", type=SIZE, help="WQ, bookies an entry is sent to.")
@click.option("-a", "--ack-quorum", type=SIZE, help="AQ, acks that complete an add.")
@click.option("-n", "--bookies", type=SIZE, help="N, writable bookies.")
@click.option(
    "--release", metavar="R", help=f"The release of BookKeeper.  [default: {NEWEST}, the newest read]"
)
@click.option("--journal", type=click.Choice(["on", "off"]), help="journalWriteData.  [default: on]")
@click.option("--checks", type=click.Choice(["on", "off"]), help="dataIntegrityChecking.  [default: off]")
@click.option(
    "--from",
    "files",
    multiple=True,
    metavar="FILE",
    help="Read a broker.conf, Helm values (.yaml) or a bk_server.conf (repeatable); options win.",
)
@click.option(
    "--accept",
    multiple=True,
    metavar="BUG",
    help="A known bug that does not decide the exit code (repeatable).",
)
@timeout_option()
@form_option
@output_option
def command(
    ensemble: int | None,
    write_quorum: int | None,
    ack_quorum: int | None,
    bookies: int | None,
    release: str | None,
    journal: str | None,
    checks: str | None,
    files: tuple[str, ...],
    accept: tuple[str, ...],
    timeout: float,
    form: str,
    output: str | None,
) -> int:
    """Say what a configuration survives on a release, which known bugs bite, and whether anything else loses an entry.

    Exits with 0 if no loss of an acknowledged entry is known or found, 1 if one is, 3 if that is not decided at this
    size within the time. Everything is checked now, on E/WQ/AQ as given with one spare bookie at most; what decides is named.
    """
    sources = {name: read_source(Path(name)) for name in files}
    told = [source.settings for source in sources.values() if source.settings is not None]
    sizes = [
        _given(flag, option, [getattr(s, name) for s in told])
        for flag, option, name in (
            ("-e", ensemble, "ensemble"),
            ("-w", write_quorum, "write_quorum"),
            ("-a", ack_quorum, "ack_quorum"),
            ("-n", bookies, "bookies"),
        )
    ]
    said = list(sources.values())
    setup = Setup(
        Configuration(*sizes[:3]),
        sizes[3],
        listed(release or NEWEST),
        _flag(journal, [s.journal for s in said], True),
        _flag(checks, [s.checks for s in said], False),
    )
    deployment = Deployment(setup.configuration, setup.bookies, Client(), None, bool(told))
    advice = _advice(setup, deployment, sources, release is None, _accepted(accept), timeout)
    emit(json.dumps(_json(advice), indent=2) if form == "json" else _text(advice), output)
    return int(_exit_code(advice))


def _given(flag: str, option: int | None, from_files: Sequence[int | None]) -> int:
    value = option if option is not None else next((v for v in from_files if v is not None), None)
    if value is None:
        raise BadInput(
            f"no {flag}: give -e, -w, -a and -n, or --from FILE that has them (a broker.conf has no -n)"
        )
    return value


def _flag(option: str | None, from_files: Sequence[bool | None], default: bool) -> bool:
    if option is not None:
        return option == "on"
    return next((value for value in from_files if value is not None), default)


def _accepted(names: Sequence[str]) -> frozenset[str]:
    return full_names([bug[0] for bug in bugs_of_releases()], names, "--accept ")


REST = 0.4
"""The share of the time for what is not known."""


def _advice(
    setup: Setup,
    deployment: Deployment,
    sources: dict[str, Source],
    default_release: bool,
    accepted: frozenset[str],
    timeout: float,
) -> Advice:
    """Ask everything, each question for a fair share of the time that is left; the last seconds are for saying it."""
    found = risks(setup)
    losing = [risk for risk in found if risk.loses]
    findings = []

    def left(share: float) -> float:
        return max(0.1, (0.9 * timeout - elapsed()) * share)

    for number, risk in enumerate(losing):
        click.echo(f"{number + 1} of {len(losing) + 1}: {risk.bug.name}", err=True)
        share = partial(left, (1 - REST) / (len(losing) - number))
        findings.append((risk, shown(risk, setup, share, Limits())))
    click.echo(f"{len(losing) + 1} of {len(losing) + 1}: anything else", err=True)
    rest = anything_else(setup, [risk.bug for risk in losing], Limits(timeout=left(1)))
    return Advice(
        setup,
        deployment,
        sources,
        default_release,
        findings,
        [r for r in found if not r.loses],
        rest,
        accepted,
    )


def _exit_code(advice: Advice) -> ExitCode:
    if advice.named:
        return ExitCode.VIOLATED
    return ExitCode.UNDECIDED if advice.undecided else ExitCode.AS_WISHED


# Text.


def _text(advice: Advice) -> str:
    setup = advice.setup
    newest = " (the newest read; --release says yours)" if advice.default_release else ""
    journal = f"journal {'on' if setup.journal else 'off'}"
    checks = ", dataIntegrityChecking on" if setup.checks else ""
    on = f"{setup.configuration} on {setup.bookies} bookies"
    lines = [f"{on}, BookKeeper {setup.release}{newest}, {journal}{checks}"]
    for name, source in advice.sources.items():
        lines.append(
            f"{name}: read {', '.join(source.read)}; ignored {amount(len(source.ignored), 'key')}{_some(source)}"
        )
    lines += ["", _conclusion(advice), "", "Survives"]
    lines += [f"  {q.name}: {q.value}" for q in quantities(advice.deployment) if q.number in LOSSES]
    lines += [f"  warning: {w.text}" for w in warnings(advice.deployment)]
    lines += ["", "Known losses of an acknowledged entry that this setup meets the conditions of"]
    lines += [line for risk, found in advice.losing for line in _told(risk, found, advice)] or ["  none"]
    lines += ["", "Anything else", f"  {_rest(advice)}", f"    {shlex.join(advice.rest.command)}"]
    lines += ["", "For all sizes", f"  {_for_all_sizes(setup)}"]
    lines += ["", "Known in this release, and no loss of an acknowledged entry (not looked for here)"]
    lines += [f"  {risk.bug.name}: {risk.remedy}" for risk in advice.other] or ["  none"]
    return "\n".join(part for line in lines for part in _broken(line))


def _some(source: Source) -> str:
    """The ignored keys that are about bookies, by name."""
    near = [k for k in source.ignored if "bookkeeper" in k.lower() or "journal" in k.lower()]
    return f" ({', '.join(near[:6])}{', …' if len(near) > 6 else ''})" if near else ""


def _broken(line: str) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(
        line, WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    ) or [""]


def _conclusion(advice: Advice) -> str:
    if advice.named:
        return f"An acknowledged entry can be lost: {', '.join(advice.named)}."
    if advice.undecided:
        return f"Not decided at this size within the time: {', '.join(advice.undecided)}."
    accepted = (
        f", but for what was accepted ({', '.join(sorted(advice.accepted))})" if advice.accepted else ""
    )
    return f"No loss of an acknowledged entry is known or found here{accepted}."


def _told(risk: Risk, found: Finding, advice: Advice) -> list[str]:
    accepted = " (accepted)" if risk.bug.name in advice.accepted else ""
    until = ", ".join(mended(family(risk.bug.name))) or "no release read"
    return [
        f"  {risk.bug.name}{accepted}: {_verdict(found)}{_elsewhere(found, advice.setup)}; gone in {until}",
        f"    {risk.bug.wrong}",
        f"    remedy: {risk.remedy}",
        f"    {shlex.join(found.command)}",
    ]


def _elsewhere(found: Finding, setup: Setup) -> str:
    """That a bug was found, but at other sizes than those asked about."""
    same = all(found.shown_on[name] == size for name, size in setup.sizes.items())
    return "" if same else ", which is not yours: at yours it was not decided in the time"


def _verdict(found: Finding) -> str:
    sizes = "{ensemble}/{write_quorum}/{ack_quorum} on {bookies}, entries {entries}".format(**found.shown_on)
    match found.verdict:
        case Verdict.VIOLATED:
            return f"found now, at {sizes}"
        case Verdict.PROVED:
            return f"does not happen at {sizes}: proved now"
        case _:
            return f"not decided now, at {sizes} ({found.verdict.value}: {found.reason})"


def _rest(advice: Advice) -> str:
    said = (
        _verdict(advice.rest).replace("found now", "a loss is found now").replace("does not happen", "none")
    )
    mends = [
        risk.bug for risk, _ in advice.losing if risk.bug.switch and not risk.bug.protocol.endswith("journal")
    ]
    if not mends:
        return said
    return f"{said}, with {', '.join(f'{k.switch}={k.mended}' for k in mends)} for the known ones"


def _for_all_sizes(setup: Setup) -> str:
    apart = unmet(setup)
    if not apart:
        return (
            "The release's switches are those of the theorem (fencepost prove bookkeeper): the core is safe for any number of "
            "bookies, entries and recoverers without crashes; that the model follows the core is checked size by size."
        )
    return (
        "Not claimed: the theorem (fencepost prove bookkeeper) is of other code, this has "
        + ", ".join(
            f"{name}={value}" if name != "E > WQ" else f"{name} {value}" for name, value in apart.items()
        )
        + "."
    )


# JSON.


def _json(advice: Advice) -> dict[str, Any]:
    setup = advice.setup
    return {
        "schema": "fencepost.advice/1",
        "version": version(),
        "parameters": setup.sizes | {"bookies": setup.bookies},
        "release": setup.release,
        "commit": TAGS[setup.release],
        "journal": setup.journal,
        "checks": setup.checks,
        "files": {n: {"read": list(s.read), "ignored": list(s.ignored)} for n, s in advice.sources.items()},
        "losses": [
            {"bug": r.bug.name, "remedy": r.remedy, "accepted": r.bug.name in advice.accepted, **f.to_json()}
            for r, f in advice.losing
        ],
        "else": advice.rest.to_json(),
        "warnings": [{"bug": risk.bug.name, "remedy": risk.remedy} for risk in advice.other],
        "unlike_theorem": unmet(setup),
        "deciding": advice.named,
        "undecided": advice.undecided,
    }
