"""The language of protocols: terms, state, actions, parameters, and a protocol as a whole.

Authors of protocols import from here. docs/own-protocol.md shows how.
"""

from fencepost.encoding.language.actions import Action, each, in_turn, log
from fencepost.encoding.language.bounded_sequences import (
    Sequence,
    Sequences,
    at,
    insert,
    is_prefix,
    last,
    length,
    rest,
    sequence_of,
    sequences,
    without,
)
from fencepost.encoding.language.channels import Channel, channel
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.declarations import anything, one_of
from fencepost.encoding.language.liveness import always_eventually, eventually, eventually_always, leads_to
from fencepost.encoding.language.messages import Broadcast, Message, message, to_each
from fencepost.encoding.language.parameters import parameter, require, switch
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.quantifiers import (
    at_least,
    count,
    everywhere,
    exists,
    exists_over,
    forall,
    forall_over,
    maximum,
)
from fencepost.encoding.language.queues import queues
from fencepost.encoding.language.record_values import Record, Records, records
from fencepost.encoding.language.sets import (
    Subset,
    full,
    is_in,
    is_one_of,
    majority,
    overlap,
    set_of,
    size,
    those,
)
from fencepost.encoding.language.sorts import (
    BOOL,
    Sort,
    Subsets,
    integers,
    labels,
    members,
    optional,
    subsets,
)
from fencepost.encoding.language.state import StateSpace, choice, definition, family, variable
from fencepost.encoding.language.step_properties import always_step, refines
from fencepost.encoding.language.system import Invariant, Liveness, Observed, Property, System
from fencepost.encoding.language.terms import Parameter, Read, Term, TermLike, all_of, any_of
from fencepost.encoding.language.traces import Trace

__all__ = [
    "BOOL",
    "Action",
    "Broadcast",
    "Channel",
    "Invariant",
    "Liveness",
    "Message",
    "Observed",
    "Parameter",
    "Property",
    "Protocol",
    "Read",
    "Record",
    "Records",
    "Sequence",
    "Sequences",
    "Sort",
    "StateSpace",
    "Subset",
    "Subsets",
    "System",
    "Term",
    "TermLike",
    "Trace",
    "all_of",
    "always_eventually",
    "always_step",
    "any_of",
    "anything",
    "at",
    "at_least",
    "channel",
    "choice",
    "count",
    "definition",
    "each",
    "eventually",
    "eventually_always",
    "everywhere",
    "exists",
    "exists_over",
    "family",
    "forall",
    "forall_over",
    "full",
    "if_",
    "implies",
    "in_turn",
    "insert",
    "integers",
    "is_in",
    "is_one_of",
    "is_prefix",
    "labels",
    "last",
    "leads_to",
    "length",
    "log",
    "majority",
    "maximum",
    "members",
    "message",
    "one_of",
    "optional",
    "overlap",
    "parameter",
    "queues",
    "records",
    "refines",
    "require",
    "rest",
    "sequence_of",
    "sequences",
    "set_of",
    "size",
    "subsets",
    "switch",
    "those",
    "to_each",
    "variable",
    "without",
]
