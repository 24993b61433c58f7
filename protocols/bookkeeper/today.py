"""One ledger, as the client and the bookies of today's code keep it, in five chapters.

The chapters are modules: `metadata`, `fencing`, `adds`, `ensemble_change`, `recovery`. A definition of one
reads its own chapter and those before it. Each chapter has its state variables, the definitions over them,
and its actions in the order in which messages flow. Rules of other releases and specifications, and faults
beyond lost messages, are in layers/.
"""

from __future__ import annotations

from fencepost.protocols.bookkeeper.recovery import Recovery


class Today(Recovery):
    """The state of one ledger, and what is defined from it: all five chapters.

    State variables record events: stored, fenced, sent, answered. Everything else is defined from them:
    messages on their way, coverage, the LAC. One value has to be kept: a client's LAC is frozen while an
    ensemble change is in progress.
    """
