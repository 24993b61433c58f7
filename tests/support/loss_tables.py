"""The keys of the tables about losses in `properties/expected/`, and of the keys of configuration files.

The tables ship, and the program reads them as they are. A test checks each row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import Any

from fencepost.advice.known import KNOWN
from fencepost.advice.losses import CONDITIONS, HOLDS, LEVELS, LOSSES, VARIANTS, WHEN, WHO, document, loss_of
from fencepost.encoding import keys as k
from fencepost.encoding.documents import Key, has_keys, parse_toml
from fencepost.encoding.errors import BadInput
from fencepost.protocols.bookkeeper.releases import TAGS
from fencepost.quorums.files.config_keys import AUTORECOVERY, BOOKIE, BROKER, METADATA

OF_SETUP = Key(list, f"a list of {', '.join(CONDITIONS)}", lambda v: set(v) <= set(CONDITIONS))
COMMITS = Key(dict, "a table of releases that were read, each with a commit", lambda v: set(v) <= set(TAGS))
EASIER = Key(dict, "levels by condition", lambda v: {*v} <= {*CONDITIONS} and {*v.values()} <= {*LEVELS})

ROW = {
    **k.keys(
        loses=Key((bool, str), "whether it loses an entry, or the loss in a sentence"),
        needs=OF_SETUP,
        short=k.text("the loss in a few words"),
        level=k.among(LEVELS),
    ),
    "unless": OF_SETUP,
    "limited_by": OF_SETUP,
    "easier": EASIER,
    "events": k.text("how many events must come together, and within what time"),
    "cause": k.among(document("causes.toml")),
    "steps": Key(list, "names of steps", lambda v: set(v) <= set(document("steps.toml"))),
    "action": k.text("what can be done and checked"),
    "when": k.among(WHEN),
    "who": k.among(WHO),
    "seen": k.text("how often the loss was seen"),
    "everything": k.flag(),
    "source": k.text("where the fault is named"),
    "asks": k.texts("names of properties"),
    "entries": Key(int, "a number of entries"),
    "same_bookie": k.flag(),
    "at_once": k.flag(),
    "set": k.table(str, "settings of the model that win over those of the bug's row"),
    "since": COMMITS,
    "fixed": COMMITS,
    **{variant: Key(dict, "the same keys, for such a setup") for variant in VARIANTS},
}
PUBLIC_ROW = {
    **ROW,
    **k.keys(
        source=Key(str, "an address that begins with https://", lambda v: v.startswith("https://")),
        read=k.among(("code", "notes")),
    ),
}
HARMLESS = {**k.keys(loses=k.flag(), needs=OF_SETUP), "action": k.text("what can be done")}
FEATURE = k.keys(feature=k.text(), words=k.text(), holds=k.among(HOLDS), known=k.text())
LINE = {**k.keys(where=k.text("the class"), texts=Key(dict, "texts by release")), "attributes": k.text()}
STEP = {
    **k.keys(who=k.among(WHO), when=k.among(WHEN), text=k.text("the step")),
    "rules_out": k.flag(),
    "done_by": OF_SETUP,
}
METRIC = k.keys(
    kind=k.among(("counter", "summary", "gauge")),
    since=k.among(TAGS),
    setting=k.text("the setting that exports it"),
    source=k.text("the classes that count it"),
)
ALERT = {
    **k.keys(
        tells=k.text("the alert in words"),
        expr=k.text("an expression over the metrics of the table"),
        shows=Key(list, "names of losses", lambda value: set(value) <= {loss.name for loss in LOSSES}),
    ),
    "wait": k.text("a time"),
    "needs": OF_SETUP,
    "unless": OF_SETUP,
    "after": k.flag(),
}
NUMBER = k.keys(
    source=k.text("the public address"),
    what=k.text("the public facts"),
    because=k.text("why no model has it"),
    modelled=k.text("the part that a model has"),
    action=k.text("what can be done and checked"),
)
NAMED = {one.name for one in LOSSES} | {one.name for one in KNOWN}
PHRASE = k.keys(
    where=k.text("the class"),
    means=k.text("what the line tells"),
    see=Key(list, "names of losses or known bugs", lambda value: set(value) <= NAMED),
)
CONFIG_KEY = {
    **k.keys(component=k.among((BOOKIE, BROKER, AUTORECOVERY, METADATA)), meaning=k.text()),
    "sets": k.text(),
    "form": k.among(("number", "flag", "storage", "paths")),
    "default": k.text(),
    "since": k.text(),
    "known": k.text(),
    "usual": k.texts("a list of values"),
    "also": k.texts("a list of names"),
    "protects": k.flag(),
}


def check_rows(rows: Mapping[str, Any], keys: Mapping[str, Key], where: str) -> None:
    """Raise BadInput for the first row that has not these keys."""
    for name, row in rows.items():
        has_keys(row, keys, f"{where}, {name}")


def check_risks(table: Mapping[str, Any], where: str) -> None:
    """Raise BadInput for a row of a known bug or a setting that is not right, or a variant of one."""
    for name, row in table.items():
        has_keys(row, ROW if row.get("loses") else HARMLESS, f"{where}, {name}")
        for variant in VARIANTS:
            if variant in row:
                has_keys(row[variant], ROW, f"{where}, {name}, {variant}")


def check_public(table: Mapping[str, Any], where: str) -> None:
    """Raise BadInput for a public loss that is not right, or that no release has."""
    check_rows(table["features"], FEATURE, where)
    check_rows(table["losses"], PUBLIC_ROW, where)
    for name, row in table["losses"].items():
        if not loss_of(name, row, kind="public").releases:
            raise BadInput(f"{where}, {name}: no release that was read has it; since must be before fixed")


PROMQL = frozenset(["increase", "sum", "count", "time", "and", "or", "unless", "on", "instance", "success"])
"""The words of the expressions that are no metrics."""


def check_alerts(table: Mapping[str, Any], where: str) -> None:
    """Raise BadInput for a metric without its setting, or an alert that uses a metric wrongly."""
    check_rows(table["metrics"], METRIC, where)
    check_rows(table["alerts"], ALERT, where)
    for name, row in table["alerts"].items():
        _check_metrics(row["expr"], table["metrics"], f"{where}, {name}")


def _check_metrics(expr: str, metrics: Mapping[str, Any], place: str) -> None:
    for word in words_of(expr):
        name = word if word in metrics else word.removesuffix("_count")
        if name not in metrics:
            raise BadInput(f"{place}: {word} is no metric of the table; valid: {', '.join(metrics)}")
        kind = metrics[name]["kind"]
        if kind == "summary" and word == name:
            raise BadInput(
                f"{place}: {word} is a summary, whose quantiles are no count; use increase({word}_count[…])"
            )
        if kind != "gauge" and f"increase({word}" not in expr:
            raise BadInput(f"{place}: {word} only grows, so it is never 0 again; use increase({word}[…])")


def words_of(expr: str) -> Iterable[str]:
    """Return the words of an expression that must be metrics."""
    bare = re.sub(r'"[^"]*"|\[\w+\]|\{spares\}', "", expr)
    return (word for word in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", bare)) if word not in PROMQL)


def check_outside(table: Mapping[str, Any], where: str) -> None:
    """Raise BadInput for a number or a phrase that is not right."""
    check_rows(table["numbers"], NUMBER, where)
    check_rows(table["phrases"], PHRASE, where)


def of_rows(keys: Mapping[str, Key]) -> Callable[[Mapping[str, Any], str], None]:
    """Return a check of a table with one kind of rows."""
    return lambda table, where: check_rows(table, keys, where)


TABLES: Mapping[str, Callable[[Mapping[str, Any], str], None]] = {
    "risks.toml": check_risks,
    "public_losses.toml": check_public,
    "copies.toml": of_rows(ROW),
    "causes.toml": of_rows(k.keys(words=k.text())),
    "steps.toml": of_rows(STEP),
    "log_lines.toml": of_rows(LINE),
    "alerts.toml": check_alerts,
    "outside.toml": check_outside,
    "config_keys.toml": of_rows(CONFIG_KEY),
}
"""The check of each table. It raises BadInput with the table, the row and the rule."""


def table(name: str) -> Mapping[str, Any]:
    """Return a table as it ships."""
    if name != "config_keys.toml":
        return document(name)
    text = files("fencepost.quorums.files").joinpath(name).read_text(encoding="utf-8")
    return parse_toml(text, name, "it is part of this package")
