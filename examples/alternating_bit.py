"""The alternating bit protocol: a value that is sent arrives, if both receipts are strongly fair.

The sender repeats a value with a bit until the bit comes back. Each way has room for one message. A loss is
an action, and it may hit every message. A message that is sent again and again arrives: this is strong
fairness of its receipt. A weakly fair receipt does not suffice, because a loss disables it again and again.

    fencepost check examples/alternating_bit.py
    fencepost check examples/alternating_bit.py --set receipts=weak

Source: Lamport, Specifying Systems, section 14.5.
"""

from dataclasses import dataclass

from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    Protocol,
    StateSpace,
    System,
    each,
    implies,
    integers,
    labels,
    leads_to,
    parameter,
    switch,
    variable,
)


@dataclass(frozen=True)
class Parameters:
    """The number of values, and the fairness of the receipts."""

    data: int = parameter(2, "values that may be sent")
    receipts: str = switch(("strong", "weak"), "the fairness of both receipts", "this example")


class State(StateSpace):
    """The two ends and the two ways."""

    def __init__(self, p: Parameters) -> None:
        """Declare the variables."""
        self.parameters = p
        self.datum = labels("datum", "d", p.data)
        self.bit = integers(0, 1)
        self.sent = variable(self.datum)
        self.sent_bit = variable(self.bit)
        self.acked_bit = variable(self.bit)
        self.received = variable(self.datum)
        self.received_bit = variable(self.bit)
        self.is_under_way = variable(BOOL)
        self.message_datum = variable(self.datum)
        self.message_bit = variable(self.bit)
        self.ack_is_under_way = variable(BOOL)
        self.ack_bit = variable(self.bit)


def send(s: State, datum: Parameter) -> Action:
    """Take a new value, with the other bit. Resending sends it."""
    return Action(
        when=s.acked_bit == s.sent_bit,
        then=[s.sent.set(datum), s.sent_bit.set(1 - s.sent_bit)],
        actor="sender",
    )


def resend(s: State) -> Action:
    """Send the value, again and again until its bit has come back."""
    return Action(
        when=(s.acked_bit != s.sent_bit) & ~s.is_under_way,
        then=[s.is_under_way.set(True), s.message_datum.set(s.sent), s.message_bit.set(s.sent_bit)],
        actor="sender",
    )


def receive(s: State) -> Action:
    """Take the value and the bit of a message."""
    return Action(
        when=s.is_under_way,
        then=[
            s.is_under_way.set(False),
            s.received.set(s.message_datum),
            s.received_bit.set(s.message_bit),
        ],
        actor="receiver",
    )


def acknowledge(s: State) -> Action:
    """Send back the bit that the receiver has."""
    return Action(
        when=~s.ack_is_under_way,
        then=[s.ack_is_under_way.set(True), s.ack_bit.set(s.received_bit)],
        actor="receiver",
    )


def receive_ack(s: State) -> Action:
    """Take the bit that came back."""
    return Action(
        when=s.ack_is_under_way,
        then=[s.ack_is_under_way.set(False), s.acked_bit.set(s.ack_bit)],
        actor="sender",
    )


def lose(s: State) -> Action:
    """Lose a message on its way."""
    return Action(when=s.is_under_way, then=[s.is_under_way.set(False)], actor="network", fault="lost")


def lose_ack(s: State) -> Action:
    """Lose an answer on its way."""
    return Action(
        when=s.ack_is_under_way, then=[s.ack_is_under_way.set(False)], actor="network", fault="lost"
    )


def build(p: Parameters) -> System:
    """Return the system."""
    s = State(p)
    right = Property(
        name="right-value",
        meaning="a receiver with the bit of the sender has its value",
        holds=implies(s.received_bit == s.sent_bit, s.received == s.sent),
        witness=(s.received_bit == s.sent_bit) & (s.acked_bit != s.sent_bit),
        witness_meaning="a value has arrived, and the sender does not know",
    )
    return System(
        s,
        (
            each(send, s, s.datum),
            each(resend, s, fair="weak"),
            each(lose, s),
            each(receive, s, fair=p.receipts),
            each(acknowledge, s, fair="weak"),
            each(lose_ack, s),
            each(receive_ack, s, fair=p.receipts),
        ),
        (
            right,
            leads_to(
                "value-arrives",
                "a value that is sent arrives",
                s.sent_bit != s.received_bit,
                s.sent_bit == s.received_bit,
            ),
            leads_to(
                "sender-learns",
                "the sender of a value learns that it has arrived",
                s.sent_bit != s.acked_bit,
                s.sent_bit == s.acked_bit,
            ),
        ),
    )


PROTOCOL = Protocol("alternating-bit", "the alternating bit protocol", Parameters(), build)
