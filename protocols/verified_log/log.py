"""The whole Verified Log: all actions, in the order in which messages flow."""

from __future__ import annotations

from fencepost.encoding.language.actions import Group, Schema, each
from fencepost.encoding.language.sorts import Sort, integers
from fencepost.encoding.language.system import System
from fencepost.protocols.verified_log import consumers, coordinator, nodes, producers
from fencepost.protocols.verified_log.parameters import LogParameters
from fencepost.protocols.verified_log.state import Log


def verified_log(parameters: LogParameters) -> System:
    """Return the transition system of one instance, without properties."""
    s = Log(parameters)
    faults = {"crashes": parameters.crashes}
    return System(
        state=s,
        actions=(
            *(each(producers.start, s, s.only(p)) for p in s.producer),
            *(_requests(s) if parameters.coordinator == "yes" else ()),
            *(_takeover(s) if parameters.takeover == "yes" else ()),
            *(_answers(s) if parameters.coordinator == "yes" else ()),
            *_writing(s),
            *(_closing(s) if parameters.coordinator == "yes" else ()),
            *(_crashes(s) if parameters.crashes else ()),
            *(_reading(s) if parameters.consumers else ()),
        ),
        caps={
            "segments": parameters.segments,
            "attempts": parameters.attempts,
            "resends": parameters.resends,
            **({"reads": parameters.reads} if parameters.consumers else {}),
            **{name: most for name, most in faults.items() if most},
        },
    )


def _again(most: int) -> list[Sort]:
    """Return the attempts after the first, if there are any."""
    return [integers(2, most)] if most > 1 else []


def _before_last(s: Log) -> list[Sort]:
    """Return the segments that another one may follow, if there are any."""
    most = s.parameters.segments
    return [integers(1, most - 1)] if most > 1 else []


def _requests(s: Log) -> list[Schema | Group]:
    p = s.parameters
    attempt, since = integers(1, p.attempts), integers(0, p.segments)
    followed = integers(1, p.segments)
    return [
        *(each(producers.repeat_request, s, s.producer, since, again) for again in _again(p.attempts)),
        *([each(coordinator.handle_first_request, s, s.producer, attempt)] if p.takeover == "no" else []),
        each(coordinator.handle_request, s, s.producer, followed, attempt),
    ]


def _takeover(s: Log) -> list[Schema | Group]:
    p = s.parameters
    attempt, sending = integers(1, p.attempts), integers(1, 1 + p.resends)
    at_once = _before_last(s) if p.seal == "none" else []
    return [
        *(each(producers.repeat_take_over, s, s.producer, again) for again in _again(p.attempts)),
        each(coordinator.handle_take_over, s, s.producer, attempt),
        *(each(coordinator.open_at_once, s, s.producer, attempt, last, s.placement) for last in at_once),
        each(nodes.handle_suspend, s, s.segment, s.node, sending),
        *(
            each(coordinator.receive_suspend_answer, s, last, s.node, sending, s.placement)
            for last in _before_last(s)
        ),
        each(coordinator.receive_late_suspend_answer, s, s.segment, s.node, sending),
    ]


def _answers(s: Log) -> list[Schema | Group]:
    p = s.parameters
    attempt, since = integers(1, p.attempts), integers(0, p.segments)
    one_by_one = [s.only(producer) for producer in s.producer]
    return [
        *(each(producers.receive_grant, s, one, s.segment) for one in one_by_one),
        *(each(producers.receive_answer, s, one, since, attempt) for one in one_by_one),
        *(
            each(producers.receive_second_answer, s, one, since, attempt)
            for one in one_by_one
            if p.double_answer == "yes"
        ),
        *(
            each(producers.receive_take_over_answer, s, one, attempt, s.segment)
            for one in one_by_one
            if p.takeover == "yes"
        ),
    ]


def _writing(s: Log) -> list[Schema | Group]:
    return [
        each(nodes.handle_append, s, s.segment, s.entry, s.node),
        *(each(producers.receive_ack, s, s.only(p), s.segment, s.own(s.only(p)), s.node) for p in s.producer),
        *([each(producers.time_out, s, s.producer, s.segment)] if s.parameters.coordinator == "yes" else []),
    ]


def _closing(s: Log) -> list[Schema | Group]:
    p = s.parameters
    sending = integers(1, p.close_orders)
    return [
        *([each(coordinator.coordinator_time_out, s, s.time)] if p.resends else []),
        each(nodes.handle_close, s, s.segment, s.order, s.node, sending),
        *(
            each(coordinator.receive_close_answer, s, last, s.node, sending, s.placement)
            for last in _before_last(s)
        ),
        each(coordinator.receive_late_close_answer, s, s.segment, s.order, s.node, sending),
    ]


def _crashes(s: Log) -> list[Schema | Group]:
    return [each(nodes.crash, s, s.node), each(coordinator.report_failure, s, s.node)]


def _reading(s: Log) -> list[Schema | Group]:
    p = s.parameters
    attempt, place = integers(1, p.reads), integers(1, p.entries + 1)
    here = s.consumer, s.segment
    return [
        each(consumers.start_consumer, s, s.consumer),
        *(_locating(s, attempt) if p.coordinator == "yes" else []),
        *(each(consumers.repeat_read, s, *here, place, again, s.read_node) for again in _again(p.reads)),
        each(nodes.handle_read, s, *here, place, attempt, s.read_node),
        each(consumers.receive_entry, s, *here, s.place, attempt, s.read_node, s.read_node),
        *(
            each(consumers.receive_next_segment, s, s.consumer, t, place, attempt, s.read_node)
            for t in _before_last(s)
        ),
        each(consumers.receive_useless_read_answer, s, *here, place, attempt, s.read_node),
    ]


def _locating(s: Log, attempt: Sort) -> list[Schema | Group]:
    here = s.consumer, s.segment
    return [
        *(each(consumers.repeat_where, s, *here, again) for again in _again(s.parameters.reads)),
        each(coordinator.handle_where, s, *here, attempt),
        each(consumers.receive_where_answer, s, *here, attempt, s.node),
        each(consumers.receive_useless_where_answer, s, *here, attempt),
    ]
