"""The sizes and switches of the Verified Log, and a preset for each stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from fencepost.encoding.language.parameters import faults, parameter, require, switch

TAKEOVER_ONLY = (
    "suspend_demotes",
    "one_order",
    "late_takeover",
    "overlap",
    "suspended_appends",
    "seal",
    "completion",
    "vouching",
)
"""The switches that need take-overs."""


@dataclass(frozen=True)
class LogParameters:
    """One instance of the model. The defaults of the switches are stage 04 as its author coded it.

    Raises BadInput unless R <= N - F, and where a size or switch has no effect beside the others.
    """

    nodes: int = parameter(2, "N: log nodes there are")
    replicas: int = parameter(2, "R: nodes that hold a segment; all of them must store an entry")
    entries: int = parameter(1, "L: entries that each producer writes")
    segments: int = parameter(2, "S: most segments that are opened")
    producers: int = parameter(2, "P: producers, each of which takes over from the one before")
    consumers: int = parameter(0, "C: consumers that read the log from its start", least=0)
    crashes: int = faults(0, "F: most log nodes that crash, for good")
    attempts: int = parameter(1, "most times that a producer sends the same request to the coordinator")
    resends: int = parameter(0, "most time-outs of the coordinator", least=0)
    queue: int = parameter(
        4, "most messages under way to one machine (on one link), if the network keeps an order"
    )
    reads: int = parameter(1, "most times that a consumer asks for the same thing")

    coordinator: str = switch(
        ("yes", "no"),
        "a coordinator opens segments, or there is one segment, which exists from the start",
        "folder 01 has no coordinator",
    )
    takeover: str = switch(
        ("yes", "no"),
        "a producer starts by taking the log over, or by asking for its first segment",
        "folder 04 adds the take-over",
    )
    losses: str = switch(
        ("yes", "no"), "messages may be lost", "folder 01 sends reliably; UnreliableSend from 02 on"
    )
    network: str = switch(
        ("bag", "link", "causal"),
        "messages arrive in any order, in the order sent between any two machines, or in the order sent to "
        "each machine by all machines",
        "a P machine has one first-in first-out inbox: causal",
    )
    retry_close: str = switch(
        ("yes", "no"),
        "the coordinator remembers the nodes that it ordered to close a segment, and repeats the orders at a "
        "time-out",
        "the whole difference between folders 02 and 03 (post 4)",
    )
    double_answer: str = switch(
        ("no", "yes"),
        "an owner that asks for its segment again is answered OK, and also ALREADY without nodes",
        "folders 02 and 03 lack the early return of 04",
    )
    ack_matches: str = switch(
        ("no", "yes"),
        "after an answer to a close order, the order is not repeated",
        "Coordinator.p takes the answer from a set of orders; it lacks the count, so it is never in the set",
    )
    suspend_demotes: str = switch(
        ("yes", "no"),
        "a suspend order turns a closed segment back into a suspended one",
        "LogNode.p sets SEG_SUSPENDED in every status",
    )
    one_order: str = switch(
        ("no", "yes"),
        "a take-over waits while the last segment is being closed for its owner, so that no segment gets two "
        "counts",
        "not in the P code: a repair",
    )
    late_takeover: str = switch(
        ("obeyed", "ignored"),
        "a producer asks for a take-over after another producer got the next segment: the coordinator obeys "
        "or ignores the request",
        "not in the P code: a repair",
    )
    overlap: str = switch(
        ("no", "yes"),
        "a producer may start before the one before it has written anything",
        "CreateProducers.p waits for eTookOverLogResponse",
    )
    last_entry: str = switch(
        ("when-closed", "always", "never"),
        "a node serves the last entry that it has of a segment once the segment is closed, always, or never",
        "LogNode.p, on eReadRequest; always: the race of post 2; never: the dilemma of post 3",
    )
    truncation: str = switch(
        ("to-count", "none", "last"),
        "a close cuts a segment down to the count of the order, leaves it alone, or drops its last entry",
        "LogNode.p, on eEndSegment; post 3 has the dilemma",
    )
    suspended_appends: str = switch(
        ("refused", "stored"),
        "a node refuses or stores an append to a suspended segment",
        "LogNode.p; a mutant",
    )
    seal: str = switch(
        ("suspend", "none"),
        "a take-over suspends the last segment first, or opens the next at once",
        'Coordinator.p; the "simple solution" of post 5',
    )
    completion: str = switch(
        ("yes", "no"),
        "a node that lacks the last entry of a segment gets it with the close order",
        "LogNode.p, on eEndSegment; a mutant",
    )
    vouching: str = switch(
        ("yes", "no"),
        "the coordinator declares the last entry of a suspended segment committed",
        "Coordinator.p, on eSuspendSegmentResponse; a mutant",
    )

    def __post_init__(self) -> None:
        """Check the sizes, and refuse values that have no effect."""
        spare = {"N": self.nodes, "R": self.replicas, "F": self.crashes}
        require(
            "R <= N - F",
            self.replicas <= self.nodes - self.crashes,
            spare,
            "the coordinator needs R nodes that are up for a new segment",
        )
        if self.coordinator == "no":
            self._require_happy_path()
        if self.takeover == "no":
            require(
                "takeover=no => P = 1",
                self.producers == 1,
                {"producers": self.producers},
                "without take-over there is one producer",
            )
            self._require_untouched("takeover=no", TAKEOVER_ONLY)
        if not self.coordinator_times_out:
            self._require_untouched("no time-out of the coordinator", ("resends",))
        if not self.consumers:
            self._require_untouched("consumers=0", ("reads",))
        if self.network == "bag":
            self._require_untouched("network=bag", ("queue",))

    def _require_untouched(self, given: str, names: Sequence[str]) -> None:
        """Refuse values other than the default for names that have no effect."""
        for field in fields(self):
            value = getattr(self, field.name)
            require(
                f"{given} => {field.name} = {field.default}",
                field.name not in names or value == field.default,
                {field.name: value},
                "it has no effect here",
            )

    def _require_happy_path(self) -> None:
        given = {
            "nodes": (self.nodes, self.replicas),
            "segments": (self.segments, 1),
            "crashes": (self.crashes, 0),
            "attempts": (self.attempts, 1),
            "takeover": (self.takeover, "no"),
            "losses": (self.losses, "no"),
            "retry_close": (self.retry_close, "no"),
        }
        for name, (value, valid) in given.items():
            require(
                f"coordinator=no => {name} = {valid}",
                value == valid,
                {name: value},
                "the happy path of stage 01 has one segment on all nodes, and nothing fails",
            )

    @property
    def coordinator_times_out(self) -> bool:
        """Whether the coordinator has something to do at a time-out."""
        return self.retry_close == "yes" or self.takeover == "yes"

    @property
    def close_orders(self) -> int:
        """The largest number of close orders with one count for one node and segment.

        One comes from each request, and one from each time-out.
        """
        return self.attempts + self.resends


STAGE_04 = LogParameters()

STAGE_03 = replace(STAGE_04, nodes=3, entries=2, producers=1, crashes=1, takeover="no", double_answer="yes")

STAGE_02 = replace(STAGE_03, retry_close="no")

STAGE_01 = replace(
    STAGE_02, nodes=2, segments=1, consumers=1, crashes=0, coordinator="no", losses="no", double_answer="no"
)
