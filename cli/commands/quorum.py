"""`fencepost quorum`: the quantities of an E/WQ/AQ configuration, and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fencepost.cli.exits import ExitCode
from fencepost.cli.options.grouped import PLACEMENT, grouped_command, option
from fencepost.cli.options.sizes import SizesOptions, files_option
from fencepost.cli.rendering.output import ResultOptions, emit
from fencepost.encoding import keys as k
from fencepost.encoding.errors import BadInput

if TYPE_CHECKING:
    from fencepost.quorums.deployment import Deployment
    from fencepost.quorums.files.setters import Setter


class QuorumOptions(ResultOptions, SizesOptions):
    """The options of `fencepost quorum`."""

    files: tuple[str, ...] = files_option("a broker.conf or Helm values")
    racks: str | None = option(
        "--racks RACKS", "Bookies in each rack (2,1,1), or the rack of each position (a,b,a).", PLACEMENT
    )
    enforce_min_racks: bool | None = option(
        "--enforce-min-racks", "enforceMinNumRacksPerWriteQuorum is on.", PLACEMENT, default=None
    )


@grouped_command(example="fencepost quorum -e 3 -w 3 -a 2 -n 4 --racks 2,1,1")
def command(asked: QuorumOptions) -> int:
    """Calculate what a configuration survives, and print warnings.

    Each quantity has its formula, value and meaning. N is E unless it is given, or the sum of --racks. A row
    that is a theorem names its lemma (see `fencepost prove`).
    """
    from fencepost.quorums.deployment import Client, Deployment
    from fencepost.quorums.files.joined_files import AskedValues, read_files
    from fencepost.quorums.files.setters import DEFAULT, Setter
    from fencepost.quorums.placement import read_racks

    said = read_files(asked.files)
    found = AskedValues(said)
    configuration = found.sizes(asked.ensemble, asked.write_quorum, asked.ack_quorum, "-e, -w and -a")
    bookies, set_by = found.value("bookies", "-n", asked.bookies), found.set_by
    options = {"enforce_min_racks": asked.enforce_min_racks}
    values = {
        name: found.value(name, "--enforce-min-racks", options.get(name), usual)
        for name, usual in asdict(Client()).items()
    }
    policy_off = said.enforcing_policy
    unenforced = policy_off is not None and set_by["enforce_min_racks"].kind == "file"
    if policy_off is not None:
        for name, none in (("enforce_min_racks", False), ("min_racks", None)):
            if set_by[name].kind == "file":
                values[name], set_by[name] = none, policy_off
    client = Client(**values)
    if client.min_racks is not None and client.min_racks < 1:
        raise BadInput(f"{client.min_racks} racks per write quorum: it must be at least 1")
    placed = read_racks(asked.racks, configuration.ensemble) if asked.racks is not None else None
    if bookies is None:
        bookies = sum(placed.sizes) if placed is not None else configuration.ensemble
        set_by["bookies"] = Setter("option", "--racks") if placed is not None else DEFAULT
    of_files = said.pulsar, said.autorecovery, said.recovery_racks, unenforced
    deployment = Deployment(configuration, bookies, client, placed, *of_files)
    written = _json if asked.form == "json" else as_text
    emit(written(deployment, set_by if asked.files else {}), asked.output)
    return ExitCode.SUCCESS


def as_text(deployment: Deployment, set_by: Mapping[str, Setter]) -> str:
    """Return the quantities and warnings as text; `set_by` has the setters of values from files."""
    from fencepost.quorums.calculator import warnings
    from fencepost.quorums.files.setters import setter_lines
    from fencepost.quorums.quantities import quantities

    lines = [f"{deployment.configuration} (E/WQ/AQ) on N = {deployment.bookies}"]
    lines += [*setter_lines(_settable(deployment), set_by), ""]
    warned = [f"warning: {warning.text} [{warning.source}]" for warning in warnings(deployment)]
    lines += [*warned, ""] if warned else []
    for row in quantities(deployment):
        proof = f"lemma {row.lemma}; " if row.lemma else ""
        lines.append(f"{row.number:>2}  {row.name}: {_shown(row.value)}   = {row.formula}")
        lines.append(f"    {row.meaning} [{proof}{row.source}]")
    return "\n".join(lines)


def _settable(deployment: Deployment) -> dict[str, str]:
    """Return each value that a file or an option can set, in words, by the name of its field."""
    e, wq, aq = deployment.asked.sizes
    client = {name: f"{name} {_shown(value)}" for name, value in asdict(deployment.client).items()}
    sizes = {"ensemble": f"E {e}", "write_quorum": f"WQ {wq}", "ack_quorum": f"AQ {aq}"}
    return {**sizes, "bookies": f"N {deployment.bookies}", **client}


def _shown(value: object) -> str:
    if value is None:
        return "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


SETTER = k.keys(
    kind=k.among(("option", "file", "default"), "what set the value"),
    name=k.text("the flag of the option or the name of the file; empty for a default"),
)
"""The keys that say what set a value."""

SIZES = k.keys(
    bookies=k.whole("the bookies that can be written to", 1),
    ensemble=k.whole("the ensemble size E", 1),
    write_quorum=k.whole("the write quorum WQ", 1),
    ack_quorum=k.whole("the ack quorum AQ", 1),
)
CLIENT = k.keys(
    delay_ensemble_change=k.flag("delayEnsembleChange"),
    opportunistic_striping=k.flag("opportunisticStriping"),
    min_racks=k.null(k.whole("minNumRacksPerWriteQuorum"), "if not set"),
    enforce_min_racks=k.flag("enforceMinNumRacksPerWriteQuorum"),
)
RACKS = k.keys(
    sizes=k.ruled(list, "the bookies in each rack", items={"type": "integer"}),
    placement=k.null(k.texts("the rack of each position of the ensemble"), "if not given"),
)
VALUE = k.ruled((bool, int, float, str), "the value")
QUANTITY = k.keys(
    number=k.whole("the number of the line", 1),
    name=k.text("the name of the quantity"),
    formula=k.text("its formula"),
    value=VALUE,
    meaning=k.text("the value in a sentence"),
    source=k.text("where the rule stands"),
    lemma=k.null(k.text("the lemma that proves it"), "if it is no theorem about sets"),
)
WARNING = k.keys(text=k.text("a warning"), source=k.text("the rule or issue behind it"))
QUORUM = k.document(
    "fencepost.quorum/1",
    parameters=k.one(SIZES, "the sizes"),
    client=k.one(CLIENT, "the settings of the client that change an answer"),
    set_by=k.named(SETTER, "what set each size and setting; empty without --from"),
    racks=k.null(k.one(RACKS, "the racks"), "if not given"),
    quantities=k.many(QUANTITY, "the lines of the answer"),
    warnings=k.many(WARNING, "what should change the configuration, or at least be known"),
)


def _json(deployment: Deployment, set_by: Mapping[str, Setter]) -> dict[str, Any]:
    from fencepost.quorums.calculator import warnings
    from fencepost.quorums.quantities import quantities

    e, wq, aq = deployment.configuration.sizes
    return k.from_record(
        QUORUM,
        deployment,
        parameters={"bookies": deployment.bookies, "ensemble": e, "write_quorum": wq, "ack_quorum": aq},
        set_by=set_by,
        quantities=quantities(deployment),
        warnings=warnings(deployment),
    )
