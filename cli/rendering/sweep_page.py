"""A sweep as one page that loads nothing: matrices, a plot of times, and the evidence of each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path

from fencepost.cli.rendering.check_text import counterexample_text, sentence
from fencepost.cli.rendering.page_parts import filled, part
from fencepost.cli.rendering.sweep_matrices import (
    Matrix,
    SweepReport,
    asked,
    changed,
    matrices,
    named,
    unlike,
)
from fencepost.cli.rendering.sweep_plot import MARKS, plot
from fencepost.cli.rendering.sweep_text import COLUMNS, solver_lines
from fencepost.cli.rendering.words import (
    MEANINGS,
    SIGNS,
    brief,
    certify_command,
    check_command,
    meaning,
    trace_command,
)
from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.concrete.saved_traces import check_saved, saved_trace
from fencepost.encoding.documents import parse_json
from fencepost.encoding.engine.named_clauses import text_of
from fencepost.encoding.engine.verdicts import Basis
from fencepost.encoding.errors import BadInput, InternalError
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.forms.diagram import diagram, script, style
from fencepost.encoding.forms.html import terms
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.state import amount, show_all
from fencepost.encoding.language.system import Property
from fencepost.encoding.versions import version
from fencepost.sweeps.rows import Row, case_of
from fencepost.sweeps.solve import instance
from fencepost.sweeps.summary import finding, left_out, varying
from fencepost.sweeps.sweep_cases import SweepCase

WIDE = 3
"""The most columns of a matrix whose cells show steps and faults on one line."""

FEW = 2
"""The most protocols that the title of the page names."""


def page(report: SweepReport) -> str:
    """Return the page. Raises InternalError if a counterexample is of another row or does not replay."""
    sections = [_section(report, protocol, rows) for protocol, rows in report.protocols.items()]
    names = list(report.protocols)
    named_few = ", ".join(names) if len(names) <= FEW else amount(len(names), "protocol")
    return filled(
        "page.html",
        version=escape(version()),
        title=escape(f"Sweep of {named_few}"),
        asked=_small(f"{names[0]}, {asked(report.rows)}") if len(names) == 1 else "",
        style=f"{style()}\n{part('page.css').rstrip()}",
        script=f'"use strict";\n{script()}\n{part("page.js").rstrip()}',
        cases=str(len(report.rows)),
        engine=escape(str(report.manifest["engine"])),
        left_out=escape(_left_out(report)),
        unfinished=f'<p class="unfinished">{escape(report.unfinished)}</p>' if report.unfinished else "",
        legend=_legend(report.rows),
        solvers=_solvers(report),
        sections="\n".join(sections),
        details="\n".join(_detail(report, row) for row in report.rows),
    )


def _small(text: str) -> str:
    return f" <small>{escape(text)}</small>"


def _left_out(report: SweepReport) -> str:
    number = report.manifest["invalid"]
    return f"Left out: {amount(number, 'combination')} that break a rule of their protocol." if number else ""


def _legend(rows: Sequence[Row]) -> str:
    """Return the meaning of each verdict in the rows, the best first."""
    found = {row["verdict"] for row in rows}
    return "".join(
        f'<div class="{verdict}"><dt>{_sign(verdict)} {verdict}</dt>'
        f"<dd>{escape(MEANINGS[verdict])}</dd></div>"
        for verdict in SIGNS
        if verdict in found
    )


def _sign(verdict: str) -> str:
    return f'<span class="sign" aria-hidden="true">{SIGNS[verdict]}</span>'


def _solvers(report: SweepReport) -> str:
    """Return the table of solvers, if there are several and the sweep is finished."""
    solvers = (report.summary or {}).get("solvers", [])
    if len(solvers) < 2:
        return ""
    return f'<section><h2>Solvers</h2><div class="scroll">{_table(solver_lines(solvers))}</div></section>'


def _table(lines: Sequence[Sequence[str]]) -> str:
    head, *others = lines
    heads = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in others)
    return f'<table class="plain"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'


# A protocol.


def _section(report: SweepReport, protocol: str, rows: Sequence[Row]) -> str:
    summary = report.summary or {}
    times = [line for line in summary.get("times", []) if line["protocol"] == protocol]
    found = matrices(rows)
    drawn = plot(rows, times)
    configurations = [line for line in summary.get("configurations", []) if line["protocol"] == protocol]
    return filled(
        "page.section.html",
        protocol=escape(protocol),
        asked=_small(asked(rows)),
        unlike="".join(
            f'<p class="unlike">{escape(sentence(said))}</p>'
            for said in [*filter(None, [unlike(rows)]), *left_out(rows)]
        ),
        properties="".join(_meaning(report, protocol, name) for name in _names(rows)),
        common=_common(rows),
        matrices="\n".join(map(_matrix, found)),
        kind="sized" if found[0].sized else "listed",
        configurations=_configurations(configurations) if configurations and found[0].sized else "",
        plot=_growth(drawn, rows) if drawn else "",
    )


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["property"] for row in rows))


def _meaning(report: SweepReport, protocol: str, name: str) -> str:
    """Return a property with its meaning, and the number of its cases by verdict."""
    row = next(row for row in report.rows if (row["protocol"], row["property"]) == (protocol, name))
    prop = _property(row)
    counted = [
        f'<span class="tally {verdict}">{_sign(verdict)} {line[verdict]} {verdict}</span>'
        for line in (report.summary or {}).get("properties", [])
        if (line["protocol"], line["property"]) == (protocol, name)
        for verdict in SIGNS
        if line[verdict]
    ]
    meaning = f"{escape(prop.meaning)}." if prop else ""
    return f"<p><strong>{escape(name)}</strong>: {meaning} {' '.join(counted)}</p>"


def _common(rows: Sequence[Row]) -> str:
    """Return the settings that all rows of the protocol share, first those that are no defaults."""
    differing, unusual = set(varying(rows)), changed(rows[0])
    shared = {n: v for n, v in rows[0]["settings"].items() if n not in differing}
    ordered = sorted(shared.items(), key=lambda pair: pair[0] not in unusual)
    return terms(dict(ordered), unusual)


def _matrix(matrix: Matrix) -> str:
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in (*matrix.heads, *matrix.columns))
    lines = []
    before = None
    for labels, cells in matrix.lines:
        group = labels[0].partition("/")[0]
        first = ' class="first"' if matrix.sized and before not in (None, group) else ""
        before = group
        names = "".join(f'<th scope="row">{_parts(label)}</th>' for label in labels)
        lines.append(f"<tr{first}>{names}{''.join(_cell(matrix, row) for row in cells)}</tr>")
    caption = f"<caption>{escape(matrix.title)}</caption>" if matrix.title else ""
    narrow = " narrow" if len(matrix.columns) > WIDE else ""
    return (
        f'<div class="scroll"><table class="matrix{narrow}">{caption}<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>{chr(10).join(lines)}</tbody></table></div>"
    )


def _cell(matrix: Matrix, row: Row | None) -> str:
    if row is None:
        return '<td class="none"></td>'
    seconds = "" if matrix.sized else f" <span>{row['seconds']:.1f} s</span>"
    label = escape(f"{named(row)}, {row['property']}: {finding(row)}")
    return (
        f'<td class="{row["verdict"]}"><a href="#{row["id"]}" title="{label}">'
        f"<b>{_sign(row['verdict'])} {row['verdict']}</b> "
        f"<small>{_parts(brief(row))}{seconds}</small></a></td>"
    )


def _parts(words: str) -> str:
    """Words that are broken at their commas only."""
    return ", ".join(f"<i>{escape(part)}</i>" for part in words.split(", "))


def _configurations(lines: Sequence[Mapping[str, object]]) -> str:
    """Return the table of configurations, folded: the matrices show the same."""
    columns = COLUMNS["configurations"]
    cells = [list(columns), *([cell(line) for cell in columns.values()] for line in lines)]
    return (
        "<details><summary>Each configuration in numbers, over the switches that were asked</summary>"
        f'<div class="scroll">{_table(cells)}</div></details>'
    )


def _growth(drawn: str, rows: Sequence[Row]) -> str:
    found = {row["verdict"] for row in rows}
    keys = "".join(
        f'<span class="{verdict}"><svg viewBox="-7 -7 14 14" aria-hidden="true">{MARKS[verdict]}</svg>'
        f"{verdict}</span>"
        for verdict in SIGNS
        if verdict in found
    )
    return (
        f'<figure class="growth"><figcaption>How time grows<span class="keys">{keys}'
        f'<span class="line">median</span></span></figcaption>\n{drawn}\n'
        "<p>A state variable is one thing that the model remembers, such as whether a bookie has an entry. "
        "Each point is a cell above."
        "</p></figure>"
    )


# A row.


def _detail(report: SweepReport, row: Row) -> str:
    return filled(
        "page.detail.html",
        id=row["id"],
        verdict=row["verdict"],
        sign=_sign(row["verdict"]),
        name=escape(named(row)),
        property=escape(row["property"]),
        protocol=escape(row["protocol"]),
        asked=escape(asked([row])),
        finding=escape(sentence(finding(row))),
        meaning=escape(meaning(row)),
        evidence=_evidence(report, row),
        settings=escape(show_all(row["settings"])),
        check=escape(check_command(row)),
        rest=escape("; ".join([_rest(row), *left_out([row])])),
    )


def _rest(row: Row) -> str:
    work = f"{row['solver']}, {row['seconds']:.1f} s on {row['host']}"
    return f"{work}; {row['weight']} state variables; row {row['id']}"


def _evidence(report: SweepReport, row: Row) -> str:
    """Return the evidence of a verdict: a counterexample or a certificate."""
    if row["trace"] is not None:
        counterexample = _counterexample(row)
        if counterexample is None:
            return "<p>This version of Fencepost does not have this protocol, and cannot show its traces.</p>"
        lead = (
            f'<p class="lead">{escape(counterexample.explanation)}</p>' if counterexample.explanation else ""
        )
        steps = escape(counterexample_text(counterexample))
        return (
            f"<h4>The counterexample</h4>{lead}{diagram(counterexample)}"
            "<details><summary>As text, with changes</summary>"
            f'<pre class="trace">{steps}</pre></details>'
            f"<p>Replay it:</p>{_command(trace_command(report.folder, row))}"
        )
    if row["certificate"] is not None:
        return _certificate(report, row)
    if row["verdict"] == "proved":
        why = row["reason"] or "no certificate was kept: run the sweep with --certificates"
        return f"<p>{escape(sentence(why))}</p>"
    if row["verdict"] == "error":
        return f"<pre>{escape(row['reason'])}</pre>"
    return ""


def _certificate(report: SweepReport, row: Row) -> str:
    """Return the certificate and its command as HTML; raises InternalError if it is of another case."""
    from fencepost.encoding.evidence.manifests import claimed, read_manifest

    said = f"What the proof rests on is in <code>{escape(row['certificate'])}</code>"
    folder = Path(report.folder) / row["certificate"]
    if not folder.is_dir():
        return f"<h4>The certificate</h4><p>{said}, which is not there any more.</p>"
    rounds, basis = int(row["rounds"]), Basis(row["basis"])
    claim = claimed(row["property"], basis, rounds, row["invariants"])
    manifest = read_manifest(folder)
    subject = manifest.subject
    settings = _texts(subject.parameters, subject.switches)
    found = list(map(text_of, manifest.found))
    about = (subject.protocol, settings, manifest.drop_declared, manifest.claims, found)
    if about != (row["protocol"], row["settings"], row["drop_declared"], (claim,), row["found"]):
        raise InternalError(f"{row['id']}: its certificate {row['certificate']} is of another case")
    command = _command(certify_command(report.folder, row))
    return f"<h4>The certificate</h4><p>{said}. Check it without trusting the search:</p>{command}"


def _texts(*settings: Mapping[str, object]) -> dict[str, str]:
    """Parameters and switches as a row has them."""
    return {name: str(value) for some in settings for name, value in some.items()}


def _command(text: str) -> str:
    return f'<pre class="command"><code>{escape(text)}</code></pre>'


@cache
def _instance(case: SweepCase) -> Instance | None:
    """Return the instance of a case, if this version has it."""
    try:
        return instance(case)
    except BadInput:
        return None


def _property(row: Row) -> Property | None:
    """Return the property of a row, if this version has it."""
    found = _instance(case_of(row))
    try:
        return found.properties(row["property"])[0] if found else None
    except BadInput:
        return None


def _counterexample(row: Row) -> Counterexample | None:
    """Return the counterexample of a row, replayed, if this version has its protocol.

    Raises InternalError if it is of another row or does not replay.
    """
    found, prop, where = _instance(case_of(row)), _property(row), f"row {row['id']}"
    saved = saved_trace(parse_json(row["trace"], where, "answer it again"), where)
    if found is None or prop is None:
        return None
    about = (saved["protocol"], saved["property"], _texts(saved["parameters"], saved["switches"]))
    if about != (row["protocol"], row["property"], row["settings"]):
        raise InternalError(f"{row['id']}: its trace is of another case")
    try:
        trace = check_saved(saved, found.system, found.subject, prop)
    except NotAnExecution as error:
        raise InternalError(f"{row['id']}: its trace does not replay: {error}") from error
    return Counterexample(trace, found.system, prop, finding(row), found.changed_switches)
