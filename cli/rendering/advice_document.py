"""The document of `advise`: its keys."""

from __future__ import annotations

from fencepost.cli.commands.quorum import SETTER
from fencepost.encoding import keys as k
from fencepost.encoding.engine.verdicts import Verdict

FINDING = k.keys(
    verdict=k.among((v.value for v in Verdict), "the verdict"),
    sizes=k.table(int, "the sizes that the verdict is for"),
    command=k.texts("the command that shows it, word by word"),
    reason=k.null(k.text("why it was not decided at the sizes asked about")),
)
BUG, REMEDY = k.text("the name of the known bug"), k.text("what to do")
LOSS = k.keys(bug=BUG, remedy=REMEDY, accepted=k.flag("the bug is accepted (--accept)"), **FINDING)
OTHER = k.keys(bug=BUG, remedy=REMEDY, command=FINDING["command"])
FILE = k.keys(
    read=k.texts("the keys that were read"),
    notes=k.texts("what is known of keys that change what is durable and that no model has"),
)
ADVICE = k.document(
    "fencepost.advice/2",
    parameters=k.table(int, "the sizes"),
    release=k.text("the release"),
    pulsar=k.text("the BookKeeper of the release of Pulsar that was asked about; empty if none was"),
    commit=k.text("the commit of its tag"),
    journal=k.flag("the journal is on"),
    sync=k.flag("the journal is synced"),
    checks=k.flag("the checks of the bookie are on"),
    storage=k.text("the storage of the ledgers"),
    set_by=k.named(SETTER, "what set each of these values"),
    files=k.named(FILE, "by the name of a file, its keys"),
    unmodelled=k.UNMODELLED,
    losses=k.many(LOSS, "the known losses whose conditions are met"),
    **{"else": k.one(FINDING, "the same for any other loss")},
    warnings=k.many(OTHER, "known bugs that lose nothing acknowledged"),
    unlike_theorem=k.table(str, "what keeps the proof for all sizes from this setup"),
    deciding=k.texts("the losses that decide: known ones that were shown, and what has no name"),
    undecided=k.texts("the losses that were not decided"),
)
