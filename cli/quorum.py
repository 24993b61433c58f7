"""`fencepost quorum`: what an E/WQ/AQ configuration gives, and what to beware of."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.handing import outer_timeout_option
from fencepost.cli.numbers import SIZE
from fencepost.cli.output import emit
from fencepost.encoding.errors import BadInput

if TYPE_CHECKING:
    from fencepost.quorums.deployment import Client, Deployment
    from fencepost.quorums.settings import Settings

LARGEST_TABLE = 20


@click.command()
@click.option("-e", "--ensemble", "--bookkeeper-ensemble", type=SIZE, help="E, bookies in an ensemble.")
@click.option(
    "-w", "--write-quorum", "--bookkeeper-write-quorum", type=SIZE, help="WQ, bookies an entry is sent to."
)
@click.option(
    "-a", "--ack-quorum", "--bookkeeper-ack-quorum", type=SIZE, help="AQ, acks that complete an add."
)
@click.option("-n", "--bookies", type=SIZE, help="N, writable bookies.  [default: E, or the racks' sum]")
@click.option("--racks", help="Bookies in each rack (2,1,1), or the rack of each position (a,b,a).")
@click.option("--min-racks", type=SIZE, help="minNumRacksPerWriteQuorum.")
@click.option(
    "--enforce-min-racks", is_flag=True, default=None, help="enforceMinNumRacksPerWriteQuorum is on."
)
@click.option("--delay-ensemble-change", is_flag=True, default=None, help="delayEnsembleChange is on.")
@click.option("--opportunistic-striping", is_flag=True, default=None, help="opportunisticStriping is on.")
@click.option("--from", "source", metavar="FILE", help="Read a broker.conf, or Helm values (.yaml).")
@click.option("--table", type=SIZE, metavar="E", help="All configurations with ensembles up to this size.")
@click.option(
    "--format", "form", type=click.Choice(["text", "csv", "json"]), default="text", show_default=True
)
@click.option("--output", metavar="FILE", help="Write the result to a file instead of stdout.")
@outer_timeout_option
@click.option("-r", "--ml-mark-delete-max-rate", hidden=True)
@click.option("--ml-storage-class", hidden=True)
@click.argument("namespace", required=False, default=None, metavar="")
def command(
    ensemble: int | None,
    write_quorum: int | None,
    ack_quorum: int | None,
    bookies: int | None,
    racks: str | None,
    min_racks: int | None,
    enforce_min_racks: bool | None,
    delay_ensemble_change: bool | None,
    opportunistic_striping: bool | None,
    source: str | None,
    table: int | None,
    form: str,
    output: str | None,
    ml_mark_delete_max_rate: str | None,
    ml_storage_class: str | None,
    namespace: str | None,
) -> int:
    """Print the quantities of a configuration, each with formula, value and meaning, and warnings.

    The flags of `pulsar-admin namespaces set-persistence` are accepted as typed, its namespace and rate included.
    Options win over what --from reads. A row that is a theorem names its lemma: see `fencepost prove`.
    """
    from fencepost.quorums.deployment import Client, Deployment
    from fencepost.quorums.placement import read_racks
    from fencepost.quorums.settings import read_settings
    from fencepost.quorums.stripes import Configuration

    if table is not None:
        given = {"-e": ensemble, "-w": write_quorum, "-a": ack_quorum, "--racks": racks}
        for flag in (flag for flag, value in given.items() if value is not None):
            raise BadInput(f"{flag}: not with --table, which has all sizes up to one; leave one of them out")
    if min_racks is not None and racks is None:
        raise BadInput(f"--min-racks {min_racks}: says nothing without --racks; give the rack of each bookie")
    settings = read_settings(Path(source)) if source is not None else None
    client = Client(
        delay_ensemble_change=_first(
            delay_ensemble_change, settings and settings.delay_ensemble_change, False
        ),
        opportunistic_striping=_first(
            opportunistic_striping, settings and settings.opportunistic_striping, False
        ),
        min_racks=_first(min_racks, settings and settings.min_racks, None),
        enforce_min_racks=_first(enforce_min_racks, settings and settings.enforce_min_racks, False),
    )
    if client.min_racks is not None and client.min_racks < 1:
        raise BadInput(f"{client.min_racks} racks per write quorum: it must be at least 1")
    bookies = _first(bookies, settings and settings.bookies, None)
    if table is not None:
        emit(_table(table, bookies, client, form), output)
        return int(ExitCode.AS_WISHED)

    configuration = Configuration(
        _size("-e", ensemble, settings, "ensemble"),
        _size("-w", write_quorum, settings, "write_quorum"),
        _size("-a", ack_quorum, settings, "ack_quorum"),
    )
    placed = read_racks(racks, configuration.ensemble) if racks is not None else None
    if bookies is None:
        bookies = sum(placed.sizes) if placed is not None else configuration.ensemble
    pulsar = settings is not None or ml_mark_delete_max_rate is not None
    deployment = Deployment(configuration, bookies, client, placed, pulsar)
    emit({"text": _text, "json": _json, "csv": _csv}[form](deployment), output)
    return int(ExitCode.AS_WISHED)


def _first(option: Any, from_file: Any, default: Any) -> Any:
    """The option if it was given, else what the file says, else the default."""
    if option is not None:
        return option
    return default if from_file is None else from_file


def _size(flag: str, option: int | None, settings: Settings | None, name: str) -> int:
    value = _first(option, settings and getattr(settings, name), None)
    if value is None:
        raise BadInput(f"no {flag}: give -e, -w and -a, or --from FILE, or --table E")
    return int(value)


def _text(deployment: Deployment) -> str:
    from fencepost.quorums.calculator import warnings
    from fencepost.quorums.quantities import quantities

    lines = [f"{deployment.configuration} (E/WQ/AQ) on N = {deployment.bookies}", ""]
    for warning in warnings(deployment):
        lines.append(f"warning: {warning.text} [{warning.source}]")
    if len(lines) > 2:
        lines.append("")
    for row in quantities(deployment):
        proof = f"lemma {row.lemma}; " if row.lemma else ""
        lines.append(f"{row.number:>2}  {row.name}: {_shown(row.value)}   = {row.formula}")
        lines.append(f"    {row.meaning} [{proof}{row.source}]")
    return "\n".join(lines)


def _shown(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _json(deployment: Deployment) -> str:
    from fencepost.quorums.calculator import warnings
    from fencepost.quorums.quantities import quantities

    e, wq, aq = deployment.configuration.sizes
    said = {
        "schema": "fencepost.quorum/1",
        "version": version("fencepost"),
        "parameters": {"bookies": deployment.bookies, "ensemble": e, "write_quorum": wq, "ack_quorum": aq},
        "client": asdict(deployment.client),
        "racks": None if deployment.racks is None else asdict(deployment.racks),
        "quantities": [asdict(row) for row in quantities(deployment)],
        "warnings": [asdict(warning) for warning in warnings(deployment)],
    }
    return json.dumps(said, indent=2)


def _csv(deployment: Deployment) -> str:
    from fencepost.quorums.quantities import quantities

    return _rows_as_csv([asdict(row) for row in quantities(deployment)])


def _rows_as_csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def _table(up_to: int, bookies: int | None, client: Client, form: str) -> str:
    from fencepost.quorums.calculator import table

    if not 1 <= up_to <= LARGEST_TABLE:
        raise BadInput(f"--table {up_to}: ensembles from 1 to {LARGEST_TABLE} can be tabulated")
    if bookies is not None and bookies < 1:
        raise BadInput(f"-n {bookies}: the number of bookies must be at least 1")
    rows = table(up_to, bookies, client)
    if form == "csv":
        return _rows_as_csv(rows)
    if form == "json":
        said = {"schema": "fencepost.quorum-table/1", "version": version("fencepost"), "rows": rows}
        return json.dumps(said, indent=2)
    widths = {name: max(len(name), *(len(str(row[name])) for row in rows)) for name in rows[0]}
    lines = ["  ".join(f"{name:>{width}}" for name, width in widths.items())]
    lines += ["  ".join(f"{row[name]!s:>{width}}" for name, width in widths.items()) for row in rows]
    return "\n".join(lines)
