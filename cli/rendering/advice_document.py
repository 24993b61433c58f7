"""The document of `advise`: its keys and its content."""

from __future__ import annotations

import json
from typing import Any

from fencepost.answers.advice import Advice, AdviceAnswer, Loss, LossState
from fencepost.answers.better import Better, better_setups
from fencepost.answers.risk_search import RiskFinding
from fencepost.answers.risks import COINCIDENCES, unmet
from fencepost.answers.setups import Setup
from fencepost.cli.commands.quorum import SETTER, VALUE
from fencepost.cli.rendering.advice import for_all_sizes, left_out, of_table, survived
from fencepost.cli.rendering.advice_answer import headline
from fencepost.cli.rendering.advice_steps import TIMES, AdviceStep, steps
from fencepost.encoding import keys as k
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.protocols.bookkeeper.releases import TAGS
from fencepost.quorums.calculator import warnings

FINDING = k.keys(
    verdict=k.among((v.value for v in Verdict), "the verdict"),
    sizes=k.table(int, "the sizes that the verdict is for"),
    command=k.texts("the command that shows it, word by word"),
    reason=k.null(k.text("why it was not decided at the sizes asked about")),
    computed_with=k.null(k.text("the version that answered it earlier"), "if it was asked now"),
)
NAME = k.text("the name of a known bug, a setting or a public report")
ACTION = k.text("what can be done and checked in production")
COINCIDENCE = k.among(COINCIDENCES, "the events that must come together")
LOSS = k.keys(
    name=NAME,
    short=k.text("what goes wrong in a few words"),
    loses=k.text("what goes wrong"),
    coincidence=COINCIDENCE,
    events=k.text("the same in words: how many, within what time; may be empty"),
    seen=k.text("what is public about how often it was seen; may be empty"),
    action=ACTION,
    state=k.among((s.value for s in LossState), "what was found about it at the sizes asked about"),
    accepted=k.flag("the loss is accepted (--accept)"),
    source=k.null(k.text("the public address"), "unless it is public and not checked here"),
    finding=k.null(k.one(FINDING, "the verdict of the search"), "if it was not searched for"),
)
DOES = k.keys(
    action=ACTION,
    against=k.texts("the names of the losses that it is against"),
    when=k.among(
        TIMES, "the time of the action: before a bookie stops, before it starts, once, after an event"
    ),
    required=k.flag("the action rules these losses out, and a yes needs it"),
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
ANSWER = k.among((a.value for a in AdviceAnswer), "the answer")
BETTER = k.keys(
    changes=k.texts("the differences from the setup asked about"),
    setup=k.one(SETUP, "the setup"),
    avoids=k.texts("the losses that it does not have"),
    remains=k.texts("the losses whose conditions it meets"),
    answer=k.among((a.value for a in AdviceAnswer), "the answer if all that remains happens"),
)
SURVIVED = k.keys(name=k.text("the name of the number"), value=VALUE)
OTHER = k.keys(name=NAME, action=ACTION, command=k.texts("the command that shows it, word by word"))
FILE = k.keys(
    read=k.texts("the keys that were read"),
    notes=k.texts("what is known of keys that change what is durable and that no model has"),
)
ADVICE = k.document(
    "fencepost.advice/3",
    answer=ANSWER,
    headline=k.text("the answer in words"),
    remark=k.text("that it was computed earlier, or why the answer that ships is not used; may be empty"),
    actions=k.many(DOES, "what to do, in the order in which it is done"),
    better=k.many(BETTER, "the nearest setup with fewer losses, and the one with the fewest"),
    losses=k.many(LOSS, "the losses that were asked about, the one that needs the least first"),
    **{"else": k.one(FINDING, "the same for any other loss")},
    survives=k.many(SURVIVED, "the numbers of losses survived"),
    warnings=k.texts("warnings about the sizes"),
    **SETUP,
    pulsar=k.text("the BookKeeper of the release of Pulsar that was asked about; empty if none was"),
    commit=k.text("the commit of the release's tag"),
    set_by=k.named(SETTER, "what set each of these values"),
    files=k.named(FILE, "by the name of a file, its keys"),
    unmodelled=k.UNMODELLED,
    unlike_theorem=k.table(str, "what keeps the proof for all sizes from this setup"),
    for_all_sizes=k.text("the same in words"),
    other=k.many(OTHER, "known bugs that lose nothing acknowledged"),
    deciding=k.texts("the losses that speak against the setup"),
    undecided=k.texts("the losses that were not decided"),
)


def as_json(advice: Advice) -> str:
    """Return the document as text."""
    return json.dumps(document(advice), indent=2)


def document(advice: Advice) -> dict[str, Any]:
    """Return the document `fencepost.advice/3`."""
    return k.from_record(
        ADVICE,
        advice,
        headline=headline(advice),
        actions=[_does(step) for step in steps(advice)],
        better=[_better(better) for better in better_setups(advice)] if advice.deciding else [],
        losses=[_loss(loss) for loss in advice.losses],
        survives=survived(advice),
        warnings=[warning.text for warning in warnings(advice.deployment)],
        **{"else": _finding(advice.rest)},
        **_setup(advice.setup),
        pulsar=advice.pulsar.sentence if advice.pulsar else "",
        commit=TAGS[advice.setup.release],
        set_by=advice.set_by,
        files=advice.sources,
        unmodelled=left_out(advice),
        unlike_theorem=unmet(advice.setup),
        for_all_sizes=for_all_sizes(advice.setup, switches=True),
        other=[
            k.from_record(OTHER, risk, name=risk.bug.name, command=of_table(risk).split())
            for risk in advice.other
        ],
        deciding=[loss.name for loss in advice.deciding],
        undecided=[loss.name for loss in advice.open],
    )


def _does(step: AdviceStep) -> dict[str, Any]:
    against = [loss.name for loss in step.against]
    return k.from_record(DOES, step, against=against, required=step.is_required)


def _loss(loss: Loss) -> dict[str, Any]:
    finding = None if loss.finding is None else _finding(loss.finding)
    return k.from_record(LOSS, loss, source=loss.source or None, finding=finding)


def _better(better: Better) -> dict[str, Any]:
    return k.from_record(BETTER, better, setup=_setup(better.setup), remains=list(better.remains))


def _finding(finding: RiskFinding) -> dict[str, Any]:
    earlier = finding.computed_with or None
    return k.from_record(
        FINDING, finding, sizes=finding.shown_on, reason=finding.reason or None, computed_with=earlier
    )


def _setup(setup: Setup) -> dict[str, Any]:
    ensemble, write_quorum, ack_quorum = setup.configuration.sizes
    sizes = {"ensemble": ensemble, "write_quorum": write_quorum, "ack_quorum": ack_quorum}
    sizes |= {"bookies": setup.bookies}
    return k.from_record(SETUP, setup, parameters=sizes, features=sorted(setup.features))
