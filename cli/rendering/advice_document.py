"""The documents of `advise`: JSON with its keys, and SARIF."""

from __future__ import annotations

from typing import Any

from fencepost.advice.advice import Advice, AdvisedChange, NumberedStep
from fencepost.advice.checked import search_of
from fencepost.advice.loss_questions import question
from fencepost.advice.losses import LEVELS, WHEN, WHO, Loss, harmless, impossible
from fencepost.advice.setups import Setup
from fencepost.cli.commands.quorum import SETTER
from fencepost.cli.rendering.advice_text import EDGE, asked, left_out, short, survived
from fencepost.cli.rendering.sarif import document_of
from fencepost.encoding import keys as k
from fencepost.protocols.bookkeeper.releases import TAGS
from fencepost.quorums.calculator import warnings

NAME = k.text("the name of a known bug, a setting, a public report or a stop")
LEVEL = k.among(LEVELS, "the events that it needs")
LOSS = k.keys(
    name=NAME,
    kind=k.among(
        ("bug", "setting", "public", "quorum"), "a model has it (bug, setting), none has, or arithmetic"
    ),
    level=LEVEL,
    short=k.text("what goes wrong in a few words"),
    loses=k.text("what goes wrong"),
    events=k.text("the events in words: how many, within what time; may be empty"),
    seen=k.text("what is public about how often it was seen; may be empty"),
    needs=k.texts("its conditions, which this setup meets").of("conditions"),
    limited=k.flag("a setting that was read makes it rarer"),
    steps=k.ruled(list, "the numbers of the steps against it that are not done", items={"type": "integer"}),
    source=k.text("the report, fix or lemma"),
    command=k.null(k.texts("the command that shows it at these sizes, word by word"), "if no model has it"),
)
STEP = k.keys(
    number=k.whole("the number of the step", 1),
    text=k.text("what can be done and checked in production"),
    who=k.among(WHO, "the systems whose operators do it").of("step.who"),
    when=k.among(WHEN, "the time of the step: once, before or after an event").of("step.when"),
    against=k.texts("the names of the losses that it is against"),
    rules_out=k.flag("the losses are gone once it is done; else it limits them").of("step.rules_out"),
    done=k.flag("the settings that were read show that it is done"),
)
SETUP = k.keys(
    parameters=k.table(int, "the sizes"),
    release=k.text("the release"),
    journal=k.flag("the journal is on"),
    sync=k.flag("the journal is synced"),
    checks=k.flag("the checks of the bookie are on"),
    storage=k.text("the storage of the ledgers"),
    features=k.texts("settings that no model has"),
)
CHANGE = k.keys(
    words=k.text("the change"),
    setup=k.one(SETUP, "the setup after it"),
    removes=k.texts("the losses that it does not have"),
    eases=k.texts("the losses that need more after it"),
    remains=k.texts("the losses that it has"),
)
FILE = k.keys(read=k.texts("the keys that were read"), notes=k.texts("what is known of other keys"))
ADVICE = k.document(
    "fencepost.advice/4",
    asked=k.text("the setup in words"),
    level=k.null(LEVEL, "if there is no loss"),
    losses=k.many(LOSS, "the losses and stops that can happen, the easiest first"),
    impossible=k.table(str, "the losses that cannot happen, with the reason"),
    ignored=k.table(str, "the losses that are ignored (--ignore), with the reason"),
    steps=k.many(STEP, "what to do; the step of the change is the first"),
    change=k.null(k.one(CHANGE, "the one change that removes most"), "if none removes a loss"),
    survives=k.table(int, "the numbers of bookies and racks that may be lost or down"),
    warnings=k.texts("warnings about the sizes"),
    warning=k.text("a release or keys that were not read; may be empty"),
    **SETUP,
    pulsar=k.text("the BookKeeper of the release of Pulsar that was asked about; empty if none was"),
    commit=k.text("the commit of the release's tag"),
    set_by=k.named(SETTER, "what set each of these values"),
    files=k.named(FILE, "by the name of a file, its keys"),
    checked=k.text("what searches have shown of the conditions"),
    edge=k.text("what was not looked at"),
    unmodelled=k.UNMODELLED,
    other=k.texts("known bugs of the release that lose nothing acknowledged"),
)


def document(advice: Advice) -> dict[str, Any]:
    """Return the document `fencepost.advice/4`."""
    return k.from_record(
        ADVICE,
        advice,
        asked=asked(advice),
        level=advice.level(advice.losses[0]) if advice.losses else None,
        losses=[_loss(loss, advice) for loss in advice.losses],
        impossible=impossible(advice.setup),
        ignored={name: one.reason for name, one in advice.ignored.items()},
        steps=[_step(one, advice) for one in advice.steps],
        change=None if advice.change is None else _change(advice.change),
        survives=dict(survived(advice)),
        warnings=[warning.text for warning in warnings(advice.deployment)],
        **_setup(advice.setup),
        pulsar=advice.pulsar.sentence if advice.pulsar else "",
        commit=TAGS[advice.setup.release],
        files=advice.sources,
        checked=search_of(advice.setup, advice.losses),
        edge=EDGE,
        unmodelled=left_out(),
        other=[bug[0].name for bug in harmless(advice.setup)],
    )


def _loss(loss: Loss, advice: Advice) -> dict[str, Any]:
    return k.from_record(
        LOSS,
        loss,
        level=advice.level(loss),
        short=short(loss, advice),
        limited=loss.is_limited(advice.setup),
        steps=advice.numbers(loss),
        command=question(loss, advice.setup, advice.losses).command if loss.bug else None,
    )


def _step(one: NumberedStep, advice: Advice) -> dict[str, Any]:
    against = [loss.name for loss in one.against]
    return k.from_record(STEP, one, text=advice.words(one.step), against=against)


def _change(change: AdvisedChange) -> dict[str, Any]:
    return k.from_record(CHANGE, change, setup=_setup(change.setup))


def _setup(setup: Setup) -> dict[str, Any]:
    ensemble, write_quorum, ack_quorum = setup.configuration.sizes
    sizes = {"ensemble": ensemble, "write_quorum": write_quorum, "ack_quorum": ack_quorum}
    sizes |= {"bookies": setup.bookies}
    return k.from_record(SETUP, setup, parameters=sizes, features=sorted(setup.features))


TONES = {"operation": "error", "slow-bookie": "warning", "crash": "warning"}
"""The level of SARIF by the events that a loss needs; `note` for those that need more."""


def as_sarif(advice: Advice) -> str:
    """Return the losses as SARIF 2.1.0. A result names the last file that was read, and has its own level."""
    place = {"physicalLocation": {"artifactLocation": {"uri": next(reversed(list(advice.sources)), "setup")}}}
    rules, results = [], []
    for loss in advice.losses:
        level = {"level": advice.level(loss)}
        rules.append(
            {"id": loss.name, "shortDescription": {"text": short(loss, advice)}, "properties": level}
        )
        text = f"{loss.loses.rstrip('.')}. Needs {LEVELS[level['level']]}."
        results.append(
            {
                "ruleId": loss.name,
                "level": TONES.get(level["level"], "note"),
                "message": {"text": text},
                "locations": [place],
                "properties": level,
            }
        )
    return document_of(rules, results)
