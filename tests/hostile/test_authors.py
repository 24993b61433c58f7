"""Mistakes of a protocol's author: each gives a sentence with the remedy, and never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fencepost.cli.main import run
from support.refusing import refused

SIMULATION = ("--engine", "simulation", "--runs", "1")

RIGHT = '''
from dataclasses import dataclass
from enum import Enum

from fencepost.encoding.language import (
    BOOL, Action, Invariant, Property, Protocol, Sort, StateSpace, System, at_least, channel, choice,
    definition, each, exists, family, forall, if_, integers, is_prefix, labels, members, message, one_of,
    optional, parameter, sequence_of, sequences, subsets, switch, variable,
)


class Phase(Enum):
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True)
class Parameters:
    entries: int = parameter(1, "entries that are sent")


class State(StateSpace):
    def __init__(self, p):
        self.entry = integers(1, p.entries)
        self.sent = family(BOOL, self.entry)
        self.phase = variable(members(Phase))
        self.closed = variable(BOOL)
        self.limits = [1]

    @definition
    def is_quiet(self):
        return ~self.closed


def send(s, entry):
    """An entry is sent."""
    return Action(when=~s.sent[entry] & (s.phase == Phase.OPEN), then=[s.sent[entry].set(True)], actor="w")


def build(p):
    s = State(p)
    found = Property("all-quiet", "none sent", holds=~s.sent[1], witness=s.sent[1], witness_meaning="sent")
    return System(s, (each(send, s, s.entry),), (found,))


PROTOCOL = Protocol("quiet", "a protocol", Parameters(), build)
'''

MISTAKES = {
    "no brackets": (
        "(s.phase == Phase.OPEN)",
        "s.phase == Phase.OPEN",
        "& and | bind tighter than ==: write (s.a",
    ),
    "no brackets around truths": (
        "(s.phase == Phase.OPEN)",
        "s.closed == Phase.OPEN",
        "& and | bind tighter than ==",
    ),
    "and": ("] & (s.phase", "] and (s.phase", "a term has no truth value: use & | ~"),
    "a chain": ("(s.phase == Phase.OPEN)", "(0 < s.phase < 2)", "a term of type int is needed here"),
    "not": ("~s.sent[entry] &", "(not s.sent[entry]) &", "a term has no truth value: use & | ~"),
    "a string is the initial value where a member is needed": (
        "variable(members(Phase))",
        'variable(members(Phase), initial="closed")',
        "initial value closed is not in its domain Phase; 'closed' is a string; write Phase.CLOSED",
    ),
    "a string is the index where a member is needed": (
        "self.closed = variable(BOOL)",
        "self.closed = variable(BOOL); self.by_phase = family(BOOL, members(Phase)); self.by_phase['open']",
        "by_phase: open is not in Phase; 'open' is a string; write Phase.OPEN",
    ),
    "a family beside a term": ("~s.sent[entry] &", "~s.closed & s.sent &", "sent is used without its index"),
    "a family is set": (
        "s.sent[entry].set(True)",
        "s.sent.set(True)",
        "sent is updated without its index; write sent[1..1].set(…)",
    ),
    "a family of sets is updated": (
        "variable(BOOL)",
        "variable(BOOL); self.late = family(subsets(self.entry), self.entry); self.late.add(1)",
        "late is updated without its index; write late[1..1].add(…)",
    ),
    "an index is assigned to": (
        "def build(p):",
        "def build(p):\n    State(p).sent[1] = True",
        "sent[…] = … is no update; write sent[1..1].set(…) in then=",
    ),
    "a remainder": (
        "(s.phase == Phase.OPEN)",
        "(entry % 2 == 1)",
        "% is not defined on terms: write a table, self.next = family(",
    ),
    "a remainder by a term": ("(s.phase == Phase.OPEN)", "(3 % entry == 1)", "% is not defined on terms"),
    "a quotient": ("(s.phase == Phase.OPEN)", "(entry // 2 == 0)", "division is not defined on terms"),
    "a power": ("(s.phase == Phase.OPEN)", "(entry**2 == 1)", "** is not defined on terms: write a table"),
    "a negative term": (
        "(s.phase == Phase.OPEN)",
        "(-entry == -1)",
        "unary - is not defined on terms: write 0 - x",
    ),
    "an absolute value": ("(s.phase == Phase.OPEN)", "(abs(entry) == 1)", "write if_(x < 0, 0 - x, x)"),
    "exclusive or": (
        "~s.sent[entry] &",
        "(s.sent[entry] ^ s.closed) &",
        "^ is not defined on terms: write a != b",
    ),
    "an arrow": (
        "~s.sent[entry] &",
        "(s.sent[entry] >> s.closed) &",
        ">> is not defined on terms: write implies(a, b)",
    ),
    "the larger one": (
        "(s.phase == Phase.OPEN)",
        "(max(entry, 0) == 1)",
        "instead of and, or, not, if, min and max",
    ),
    "a chain of numbers": (
        "(s.phase == Phase.OPEN)",
        "(0 < entry < 2)",
        "(a < b) & (b < c) instead of a < b < c",
    ),
    "the length of a set": (
        "variable(BOOL)",
        "variable(BOOL); self.late = variable(subsets(self.entry)); len(self.late)",
        "len() is not defined on terms: write size(s.quorum) for a set",
    ),
    "the length of a sequence": (
        "variable(BOOL)",
        "variable(BOOL); self.log = variable(sequences(self.entry, most=1)); len(self.log)",
        "length(s.log) for a sequence",
    ),
    "a channel as a family": (
        "variable(BOOL)",
        "variable(BOOL); self.ask = channel('ask', 'w', 'b'); self.ask[1]",
        "ask is a channel: write s.ask.is_sent(…), is_received(…) or under_way(…)",
    ),
    "a quantifier over two sorts": (
        "~s.sent[entry] &",
        "exists((s.entry, s.entry), lambda e, f: s.sent[e]) &",
        "a tuple is no sort: write a sort of the state, such as s.entry, and of several forall_over(",
    ),
    "a quantifier over a list": (
        "~s.sent[entry] &",
        "at_least(1, [1, 2], lambda e: s.sent[e]) &",
        "a list is no sort: write a sort of the state",
    ),
    "a quantifier over a set of the state": (
        "variable(BOOL)",
        (
            "variable(BOOL); self.late = variable(subsets(self.entry)); "
            "self.quiet = exists(self.late, lambda e: ~self.sent[e])"
        ),
        "a set of the state is no sort: write exists(s.node, lambda n: is_in(n, s.quorum) & …)",
    ),
    "None for nobody": (
        "variable(BOOL)",
        "variable(BOOL); self.vote = variable(optional(labels('node', 'n', 2))); self.vote.set(None)",
        'a member of an Enum; for nobody, optional(…) has the label "none"',
    ),
    "a field of a message after its index": (
        "variable(BOOL)",
        (
            "variable(BOOL); self.ask = channel('ask', 'w', 'b', about={'e': self.entry}, says={'v': BOOL}); "
            "self.ask.said(self.closed, 'v')"
        ),
        'ask: write said("field", …): the name comes first, then the index',
    ),
    "a message in then": (
        "then=[s.sent[entry].set(True)]",
        'then=[message("add", "w", "b")]',
        "then=: one item is a Message; a message stands in sent= or in received=",
    ),
    "received is a list": (
        'actor="w")',
        'actor="w", received=[message("add", "b", "w")])',
        "received= is a list; write one message",
    ),
    "no each": (
        "each(send, s, s.entry),",
        "send,",
        "write (each(send, s, s.entry), …), each action by each()",
    ),
    "an action by itself": ("(each(send, s, s.entry),)", "(send(s, 1),)", "each action by each()"),
    "then is no list": (
        "then=[s.sent[entry].set(True)]",
        "then=s.sent[entry].set(True)",
        "then= is a Update; write a list",
    ),
    "== in then": (
        "then=[s.sent[entry].set(True)]",
        "then=[s.sent[entry] == True]",
        "then=: one item is a term; write s.closed.set(True); == only compares",
    ),
    "then is None": ("then=[s.sent[entry].set(True)]", "then=None", "then= is None; write a list of updates"),
    "when is None": (
        "when=~s.sent[entry] & (s.phase == Phase.OPEN)",
        "when=None",
        "when= is None; write a term",
    ),
    "when is a number": (
        "when=~s.sent[entry]",
        "when=entry if True else s.closed",
        "when= is a term of type int",
    ),
    "when of a message is a label": (
        'actor="w")',
        'actor="w", sent=[message("add", "w", "b", when=s.phase)])',
        "add: when= is a term of type Phase; compare it with something",
    ),
    "a trap is a label": (
        'witness_meaning="sent"',
        'witness_meaning="sent", traps={"stuck": s.phase}',
        "all-quiet: traps=: stuck is a term of type Phase; compare it with something",
    ),
    "a default that is too small": (
        "Parameters(), build",
        "Parameters(entries=0), build",
        "defaults=: entries=0: must be 1 or more",
    ),
    "a default that is no number": (
        "Parameters(), build",
        "Parameters(entries=True), build",
        "defaults=: entries=True: a whole number is needed",
    ),
    "a default that is no value of the switch": (
        'entries: int = parameter(1, "entries that are sent")',
        (
            'entries: int = parameter(1, "sent"); fence: str = switch(("no", "yes"), "a", "b")\n'
            "    def __post_init__(self): object.__setattr__(self, 'fence', 'n0')"
        ),
        "defaults=: fence=n0: not a value of this switch; valid: no, yes",
    ),
    "parameters that are not frozen": (
        "@dataclass(frozen=True)",
        "@dataclass",
        "defaults= is not frozen; write @dataclass(frozen=True) class Parameters",
    ),
    "parameters that change themselves": (
        'entries: int = parameter(1, "entries that are sent")',
        (
            'entries: int = parameter(2, "entries that are sent")\n'
            "    def __post_init__(self): object.__setattr__(self, 'entries', 1)"
        ),
        "entries=2: the parameters change it to 1; refuse a value by require()",
    ),
    "a fault without a name": (
        "self.closed = variable(BOOL)",
        'self.closed = variable(BOOL); self.lost = choice(fault="")',
        "choice(fault=''): a fault needs a name; write choice(fault='lost')",
    ),
    "an action's fault without a name": (
        'actor="w")',
        'actor="w", fault="")',
        "fault= is ''; write the name",
    ),
    "two values of one text": (
        'CLOSED = "closed"',
        'CLOSED = "1"; SHUT = 1',
        "sort Phase: Phase.CLOSED and Phase.SHUT are both written 1; give each value its own text",
    ),
    "two names of one member": (
        'CLOSED = "closed"',
        'CLOSED = "closed"; SHUT = "closed"',
        "members of Phase: SHUT is another name of CLOSED; give each member its own value",
    ),
    "members that say themselves if they are equal": (
        'CLOSED = "closed"',
        'CLOSED = "closed"\n    __hash__ = Enum.__hash__\n    def __eq__(self, other): return True',
        "sort Phase: the class Phase has an __eq__ of its own; remove it",
    ),
    "no parameter()": (
        'parameter(1, "entries that are sent")',
        "1",
        "write entries: int = parameter(1, 'what",
    ),
    "a switch of one word": (
        'parameter(1, "entries that are sent")',
        'switch("no", "a", "b")',
        "is not a list of words; write switch(('no', 'yes'), …)",
    ),
    "no properties": ("(found,))", "())", "has no properties; give at least one with properties=(…,)"),
    "build returns None": (
        "    return System(",
        "    System(",
        "this line makes the System and drops it: give it to",
    ),
    "build returns the state": (
        "    return System(",
        "    return s\n    System(",
        "the result of build is a State",
    ),
    "parameters are no dataclass": (
        "Parameters(), build",
        "{'entries': 1}, build",
        "is not an instance of a dataclass",
    ),
    "parameters are the class": (
        "Parameters(), build",
        "Parameters, build",
        "is not an instance of a dataclass",
    ),
    "holds is a plain truth": ("holds=~s.sent[1]", "holds=False", "all-quiet: holds= is False; write a term"),
    "witness is a plain truth": (
        "witness=s.sent[1]",
        "witness=True",
        "all-quiet: witness= is True; write a term",
    ),
    "holds is no truth": (
        "holds=~s.sent[1]",
        "holds=s.phase",
        "is a term of type Phase; compare it with something",
    ),
    "holds is None": ("holds=~s.sent[1]", "holds=None", "all-quiet: holds= is None; write a term"),
    "an Enum without members": ("variable(members(Phase))", "variable(Phase)", "write members(Phase)"),
    "a family of an Enum": ("family(BOOL, self.entry)", "family(Phase, self.entry)", "write members(Phase)"),
    "a family over a number": (
        "family(BOOL, self.entry)",
        "family(BOOL, 3)",
        "3 is not a sort; write BOOL, integers",
    ),
    "members of a value": (
        "members(Phase)",
        "members(Phase.OPEN)",
        "which is not an Enum; give the class itself",
    ),
    "a forgotten comma, properties": (
        "(found,))",
        "(found))",
        "write a tuple: (Property(…),) with its comma",
    ),
    "a forgotten comma, actions": (
        "(each(send, s, s.entry),)",
        "(each(send, s, s.entry))",
        "actions= is a Schema",
    ),
    "a forgotten comma, sources": (
        "build)",
        'build, sources=("BP-46"))',
        "write a tuple: ('…',) with its comma",
    ),
    "a forgotten comma, sent": (
        'actor="w")',
        'actor="w", sent=message("add", "w", "b"))',
        "sent= is a Message; write",
    ),
    "the state's class": ("System(s,", "System(State,", "give an instance of your own class of StateSpace"),
    "an action that returns nothing": (
        "    return Action(",
        "    Action(",
        "this line makes the Action and drops it: give it to",
    ),
    "an action over a number": (
        "each(send, s, s.entry)",
        "each(send, s, 3)",
        "an index set is 3; write a sort of",
    ),
    "too few index sets": (
        "each(send, s, s.entry)",
        "each(send, s)",
        "send takes entry, but 0 index sets are given",
    ),
    "a note that names nothing": ('actor="w")', 'actor="w", note="{ledger}")', "its note names {ledger}"),
    "a name with a slash": (
        '"all-quiet"',
        '"../../all"',
        "is named '../../all'; give it a name of up to 100",
    ),
    "a name of two lines": (
        '"all-quiet"',
        '"a\\nno-divergence: proved"',
        "give it a name of up to 100 letters",
    ),
    "a name that clears the screen": ('"all-quiet"', '"\\x1b[2J"', "give it a name of up to 100 letters"),
    "a name of 300 letters": ('"all-quiet"', '"x" * 300', "give it a name of up to 100 letters"),
    "an empty name": ('"all-quiet"', '""', "give it a name of up to 100 letters"),
    "a name that is a number": ('"all-quiet"', "7", "a property is named 7; give it a name"),
    "a protocol's name of two lines": ('"quiet"', '"quiet\\nx"', "a protocol is named"),
    "a label of two lines": ('"closed"', '"a\\nb"', "write a word of printable characters"),
    "a range to 10**9": (
        "integers(1, p.entries)",
        "integers(1, 10**9)",
        "sort 1..1000000000: 1,000,000,000 values",
    ),
    "10**9 labels": (
        "integers(1, p.entries)",
        'labels("entry", "e", 10**9)',
        "sort entry: 1,000,000,000 values",
    ),
    "10**9 variables": (
        "family(BOOL, self.entry)",
        "family(BOOL, *[integers(1, 1000)] * 3)",
        (
            "sent: 1..1000 (1000) by 1..1000 (1000) by 1..1000 (1000) makes 1,000,000,000, "
            "and at most 100,000 are allowed"
        ),
    ),
    "10**6 actions": (
        "each(send, s, s.entry)",
        "each(lambda s, a, b: send(s, 1), s, *[integers(1, 1000)] * 2)",
        "makes 1,000,000, and at most 100,000 are allowed",
    ),
    "a value that is not in the domain": (
        "variable(BOOL)",
        "variable(BOOL, initial=3)",
        "closed: initial value 3 is not in",
    ),
    "an index too few": ("~s.sent[entry] &", "~s.sent &", "sent is used without its index; write sent[1..1]"),
    "an index too many": ("~s.sent[entry] &", "~s.sent[entry, 1] &", "sent has 1 indices, not 2"),
    "an index outside": ("holds=~s.sent[1]", "holds=~s.sent[9]", "sent: 9 is not in 1..1"),
    "syntax": ("def build(p):", "def build(p:", "line 40: "),
    "an import": ("from enum import Enum", "from enum import Enam", "ImportError"),
    "a long message": (
        "    s = State(p)",
        "    raise ValueError('x' * 20000 + '\\n' * 50)",
        "ValueError: xxx",
    ),
    "a message of two lines": (
        "    s = State(p)",
        "    raise ValueError('a\\nquiet: proved')",
        "a\\nquiet: proved",
    ),
    "an assertion": ("    s = State(p)", "    assert False", "AssertionError"),
    "in a set": (
        "(s.phase == Phase.OPEN)",
        "(s.phase in {Phase.OPEN})",
        "write is_one_of(x, (A, B)) instead",
    ),
    "not in a set": (
        "(s.phase == Phase.OPEN)",
        "(s.phase not in frozenset([Phase.OPEN]))",
        "write is_one_of(x, (A, B)) instead",
    ),
    "in a list": ("(s.phase == Phase.OPEN)", "(s.phase in [Phase.OPEN])", "write is_one_of(x, (A, B))"),
    "in a sort": ("(s.phase == Phase.OPEN)", "(s.phase in members(Phase))", "write is_one_of(x, Phase)"),
    "a key of a dict": (
        "(s.phase == Phase.OPEN)",
        "{Phase.OPEN: s.closed}.get(s.phase, ~s.closed)",
        "cannot be looked up in a set or a dict",
    ),
    "is": ("(s.phase == Phase.OPEN)", "(s.phase is not Phase.OPEN)", "write == and !="),
    "is not None": ("(s.phase == Phase.OPEN)", "(s.phase is not None)", "a term is never None"),
    "is None, by a name": (
        "(s.phase == Phase.OPEN)",
        "(lambda phase: phase is None)(s.phase)",
        "a term is never None: `is` compares Python objects, never values of the state: write == and !=",
    ),
    "~ of a plain Boolean": (
        "(s.phase == Phase.OPEN)",
        "((s.phase == Phase.OPEN) if ~(1 > 0) else True)",
        "~True is the number -2: a plain Boolean is negated by not",
    ),
    "match": (
        "    return Action(",
        "    match s.closed:\n        case True:\n            pass\n    return Action(",
        "write == and !=",
    ),
    "a definition that is not called": (
        "(s.phase == Phase.OPEN)",
        "(s.is_quiet == True)",
        "a definition is compared before it is called",
    ),
    "a family that is not declared": (
        "holds=~s.sent[1]",
        "holds=~s.sent[1] & ~family(BOOL, s.entry)[1]",
        "reads a family, which this state space does not declare",
    ),
    "a sort on the left": ("(s.phase == Phase.OPEN)", "(members(Phase) == s.phase)", "is a Sort; a value is"),
    "a fault that is a term": (
        'actor="w")',
        'actor="w", fault=s.closed)',
        "fault= is a term; write the name",
    ),
    "str": ("(s.phase == Phase.OPEN)", "(str(s.phase) == 'open')", "a term has no text"),
    "an f-string": ("(s.phase == Phase.OPEN)", "(f'{entry}' == '1')", "a term has no text"),
    "the name of a parameter": (
        "(s.phase == Phase.OPEN)",
        "(entry.name == '1')",
        "'Parameter' object has no attribute 'name'",
    ),
    "the value of a variable": (
        "(s.phase == Phase.OPEN)",
        "(s.phase.value == 'open')",
        "no attribute 'value'",
    ),
    "a family without its index": (
        "(s.phase == Phase.OPEN)",
        "(s.sent == True)",
        "sent is compared without its index; write sent[1..1]",
    ),
    "None": ("(s.phase == Phase.OPEN)", "(s.phase == None)", "None is a NoneType; a value is a bool, an int"),
    "a float": ("holds=~s.sent[1]", "holds=~s.sent[1.0]", "1.0 is a float; a value is a bool, an int"),
    "a typo in a label": (
        "(s.phase == Phase.OPEN)",
        '(s.phase == "opem")',
        "send compares phase == opem, and opem is not a value of phase; valid: open, closed",
    ),
    "a typo in a branch": (
        "(s.phase == Phase.OPEN)",
        '(s.phase == if_(s.closed, "opem", s.phase))',
        "opem is not a value of phase; valid: open, closed",
    ),
    "a typo in a branch of a branch": (
        "holds=~s.sent[1]",
        'holds=if_(s.closed, s.phase, if_(s.sent[1], s.phase, "opem")) != s.phase',
        "opem is not a value of phase",
    ),
    "a typo in a sequence": (
        "holds=~s.sent[1]",
        'holds=sequence_of(members(Phase), s.phase) != sequence_of(members(Phase), "opem")',
        "sequence_of(Phase, …): opem is not in Phase; valid: open, closed",
    ),
    "a typo in a prefix": (
        "holds=~s.sent[1]",
        'holds=is_prefix(sequence_of(members(Phase), "opem"), sequence_of(members(Phase), s.phase))',
        "sequence_of(Phase, …): opem is not in Phase; valid: open, closed",
    ),
    "a label for nobody": (
        "holds=~s.sent[1]",
        (
            'holds=exists(optional(labels("n", "n", 2)), lambda v: (v == "none")'
            ' | exists(labels("n", "n", 2), lambda n: (n == v) & (n != "none")))'
        ),
        "none is not a value of n; valid",
    ),
    "a label for a member": (
        "(s.phase == Phase.OPEN)",
        '(s.phase == "open")',
        "phase == open, and open is not a value of phase; 'open' is a string; write Phase.OPEN",
    ),
    "a member of another Enum of that name": (
        "(s.phase == Phase.OPEN)",
        '(s.phase == Enum("Phase", "OPEN CLOSED").OPEN)',
        "a member of another Phase is not a value of phase",
    ),
    "a number past the domain": (
        "holds=~s.sent[1]",
        "holds=exists(s.entry, lambda e: e == 2)",
        "2 is not a value",
    ),
    "a typo in the content of a message": (
        'actor="w")',
        'actor="w", sent=[message("a", "w", "b", says={"x": s.phase == "opem"})])',
        "opem is not a value of phase",
    ),
    "a count that is a term": (
        "holds=~s.sent[1]",
        "holds=exists(s.entry, lambda e: at_least(e, s.entry, lambda x: s.sent[x]))",
        "at_least(a term, …): the count is an integer of 0 or more",
    ),
    "a count that is a float": (
        "holds=~s.sent[1]",
        "holds=at_least(1.0, s.entry, lambda x: s.sent[x])",
        "at_least(1.0, …): the count is an integer",
    ),
    "a variable that leaks out of its quantifier": (
        "holds=~s.sent[1]",
        "holds=(lambda kept: forall(s.entry, lambda e: kept.append(e) or s.sent[e]) & s.sent[kept[0]])([])",
        "which nothing binds here",
    ),
    "a family replaced in an action": (
        '    """An entry is sent."""',
        "    s.closed = True",
        "s.closed = … replaces a part of the state space",
    ),
    "a family declared twice": (
        "self.closed = variable(BOOL)",
        "self.closed = variable(BOOL); self.closed = 1",
        "closed: is declared twice",
    ),
    "values of two types": ("integers(1, p.entries)", 'Sort("entry", (False, 2))', "are of two types"),
    "True among numbers": ("integers(1, p.entries)", 'Sort("entry", (1, True))', "are of two types"),
    "a float as a value": (
        "integers(1, p.entries)",
        'Sort("entry", (1, 1.5))',
        "value 1.5; a value is a bool",
    ),
    "a list of values": ("integers(1, p.entries)", 'Sort("entry", [1, 2])', "is not a tuple; write tuple(…)"),
    "a part with a label of its own": (
        "self.closed = variable(BOOL)",
        'self.on = family(BOOL, labels("node", "n", 2), Sort("some", ("n3",), part_of="node"))',
        "sort some: n3 is not in node, which it is part of; valid: (n1, n2)",
    ),
    "labels named like an Enum": (
        "self.closed = variable(BOOL)",
        'self.closed = variable(BOOL); self.other = variable(Sort("Phase", ("open", "closed")))',
        "sort Phase: two different sorts have that name",
    ),
    "an initial function without return": (
        "family(BOOL, self.entry)",
        "family(BOOL, self.entry, initial=lambda e: None)",
        "initial= is a function that returns None for 1; return an initial value",
    ),
    "a set as a sequence": (
        "self.closed = variable(BOOL)",
        "self.closed = variable(BOOL); self.log = variable(sequences(self.entry, most=1), initial={1})",
        "initial={1} is a set, which has no order; write a tuple",
    ),
    "a table as a set": (
        "self.closed = variable(BOOL)",
        "self.closed = variable(BOOL); self.some = variable(subsets(self.entry), initial={1: False})",
        "initial={1: False} is a table; write the set of the members alone",
    ),
    "a name of a part": (
        "self.closed = variable(BOOL)",
        "self.log_length = 1; self.closed = variable(BOOL); self.log = variable(sequences(BOOL, most=1))",
        "log_length: log makes a state variable of that name, and the state space has an attribute",
    ),
    "a list of the state space that an action changes": (
        "    return Action(",
        "    s.limits[0] = 2\n    return Action(",
        "'tuple' object does not support item assignment",
    ),
    "a sort named like a part of the state space": (
        "self.limits = [1]",
        'self.places = labels("place", "p", 2)',
        "places: a state space has an attribute of that name; choose another",
    ),
    "a definition named like a part of the state space": (
        "def is_quiet(self)",
        "def variables(self)",
        "State.variables: a state space has an attribute of that name; rename it",
    ),
    "a table as initial values": (
        "family(BOOL, self.entry)",
        "family(BOOL, self.entry, initial={1: True})",
        "sent[1]: initial= is a dict; write one value of its domain, one_of(…), or a function of the index",
    ),
    "a term as an initial value": (
        "self.closed = variable(BOOL)",
        "self.closed = variable(BOOL); self.open = variable(BOOL, initial=self.closed)",
        "open: initial= is a term; write one value of its domain",
    ),
    "one_of in one_of": (
        "self.closed = variable(BOOL)",
        "self.closed = variable(BOOL); self.open = variable(BOOL, initial=one_of(one_of(True)))",
        "open: initial= is a OneOf; write one value",
    ),
    "the switches of a release cannot be said": (
        "build)",
        'build, in_release=lambda release, p: 1 / 0, newest="1.0")',
        "ZeroDivisionError: division by zero; correct the protocol's code",
    ),
    "the switches of a release are no parameters": (
        "build)",
        'build, in_release=lambda release, p: None, newest="1.0")',
        "the result of in_release is None; return the parameters",
    ),
    "what is left out is no text": (
        "build)",
        "build, unmodelled=lambda p: 3)",
        "the result of unmodelled is 3; write a text of one line",
    ),
    "what is left out cannot be said": (
        "build)",
        "build, unmodelled=lambda p: 1 / 0)",
        "ZeroDivisionError: division by zero; correct the protocol's code",
    ),
    "a sort named like a type": (
        "integers(1, p.entries)",
        'labels("int", "n", 2)',
        "sort int: a type of the language has that name",
    ),
    "no PROTOCOL": ("PROTOCOL =", "PROTOCOLS =", "has no PROTOCOL; assign"),
    "endless recursion": ("    s = State(p)", "    build(p)", "RecursionError"),
}

IN_SYSTEM = {
    'default_rounds="3"': "default_rounds= is '3'; write a whole number of 1 or more, such as 4",
    "default_rounds=True": "default_rounds= is True; write a whole number",
    "default_rounds=0": "default_rounds= is 0; write a whole number",
    "caps=3": "caps= is 3; write a table of numbers",
    'caps={"entries": "2"}': "caps=: entries is '2'; write a table of numbers",
    "caps={2: 2}": "caps=: one name is 2; write a table of numbers",
    "axioms=(found,)": "axioms=: one item is a Property; write a tuple",
    "at_first=None": "at_first= is None; write a tuple",
}
IN_PROTOCOL = {
    "summary=3": "summary= is 3; write a text",
    "in_release='4.13'": "in_release= is '4.13'; give a function",
    "newest=4.17": "newest= is a float; write a release as a text",
    "observed={}": "observed= is a dict; give a function",
    "exercised=('all-quiet',)": "exercised= is a tuple; write a table",
    "exercised={'all-quiet': 4}": "exercised=: all-quiet is 4; write a table",
}
IN_PROPERTY = {
    "meaning=3": "all-quiet: meaning= is 3; write what must hold",
    "explain='because'": "all-quiet: explain= is 'because'; give a function",
    "traps={'stuck': True}": "all-quiet: traps=: stuck is True; write a table of terms",
}
OF_ANOTHER_TYPE = {
    **{wrong: ("(found,))", f"(found,), {wrong})", says) for wrong, says in IN_SYSTEM.items()},
    **{
        wrong: ('"quiet", "a protocol", Parameters(), build', f'"quiet", {given}, {wrong}', says)
        for wrong, says in IN_PROTOCOL.items()
        for given in [
            "defaults=Parameters(), build=build"
            if wrong.startswith("summary")
            else "'a', Parameters(), build"
        ]
    },
    **{
        wrong: ('witness_meaning="sent"', f'witness_meaning="sent", {wrong}', says)
        for wrong, says in IN_PROPERTY.items()
        if not wrong.startswith("meaning")
    },
    "meaning=3": ('"none sent", holds', "meaning=3, holds", IN_PROPERTY["meaning=3"]),
    "build=3": ("Parameters(), build)", "Parameters(), 3)", "build= is 3; give the function"),
}
"""Fields of a System, a Protocol or a Property with a value of another type."""

MISTAKES |= OF_ANOTHER_TYPE

LINE = '"x\\nall-quiet: proved"'
FORGED = {
    "an actor": ('actor="w"', f"actor={LINE}"),
    "a note": ('actor="w")', f'actor="w", note={LINE})'),
    "a fault": ('actor="w")', f'actor="w", fault={LINE})'),
    "a fault that is a choice": ("variable(BOOL)", f"variable(BOOL); self.lost = choice(fault={LINE})"),
    "a kind of message": ('actor="w")', f'actor="w", sent=[message({LINE}, "w", "b")])'),
    "a receiver": ('actor="w")', f'actor="w", sent=[message("add", "w", {LINE})])'),
    "a field": ('actor="w")', f'actor="w", sent=[message("add", "w", "b", about={{{LINE}: entry}})])'),
    "an action": ("def build(p):", f"send.__name__ = {LINE}\n\ndef build(p):"),
    "a state variable": ("self.limits = [1]", f"setattr(self, {LINE}, variable(BOOL))"),
    "a sort": ("self.limits = [1]", f"self.other = labels({LINE}, 'o', 2)"),
    "a cap": ("(found,))", f"(found,), caps={{{LINE}: 1}})"),
    "a trap": ('witness_meaning="sent"', f'witness_meaning="sent", traps={{{LINE}: s.closed}}'),
    "a meaning": ('"none sent"', LINE),
    "a meaning of a witness": ('witness_meaning="sent"', f"witness_meaning={LINE}"),
    "a summary": ('"a protocol"', LINE),
    "what is left out": ("build)", f"build, unmodelled={LINE})"),
    "what is left out, by a function": ("build)", f"build, unmodelled=lambda p: {LINE})"),
}
"""Names of two lines, which could forge a line with a verdict."""

MISTAKES |= {f"two lines: {name}": (*change, "x\\nall-quiet: proved") for name, change in FORGED.items()}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_explained_with_what_to_write_instead(
    mistake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong, says = MISTAKES[mistake]
    assert right in RIGHT
    path = tmp_path / "quiet.py"
    path.write_text(RIGHT.replace(right, wrong), encoding="utf-8")
    line = refused(capsys, "check", path, *SIMULATION)
    assert says in line
    assert "quiet" in line


def test_a_step_that_sets_a_string_names_the_member(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "quiet.py"
    path.write_text(RIGHT.replace(".set(True)]", '.set(True), s.phase.set("CLOSED")]'), encoding="utf-8")
    line = refused(capsys, "check", path, *SIMULATION)
    assert "phase.set(…): CLOSED is not in Phase; 'CLOSED' is a string; write Phase.CLOSED" in line


def test_an_argument_that_may_be_missing_is_compared_with_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "quiet.py"
    helper = """
def both(one, more=None, *, also=None):
    last = None
    last = one if last is None else last
    one = one if more is None else one & more
    one = one if also is None else one & also
    return one & last if ~1 else one


def send("""
    text = RIGHT.replace("def send(", helper.lstrip())
    path.write_text(text.replace("~s.sent[entry] & (", "both(~s.sent[entry], ~s.closed, also=~s.closed) & ("))
    assert run(["check", str(path), *SIMULATION]) == 1, capsys.readouterr().err


@pytest.mark.parametrize(
    ("explain", "says"),
    [
        ("lambda trace: None", "explain returned None; return a sentence"),
        ("lambda trace: 1 / 0", "Its explanation failed: ZeroDivisionError"),
        ("lambda trace: '\\x1b[2J'", "\\x1b[2J"),
    ],
)
def test_an_explanation_that_fails_does_not_hide_the_trace(
    explain: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:

    path = tmp_path / "quiet.py"
    path.write_text(RIGHT.replace('witness_meaning="sent"', f'witness_meaning="sent", explain={explain}'))
    assert run(["check", str(path), *SIMULATION]) == 1
    output = capsys.readouterr()
    assert says in output.out
    assert "\x1b" not in output.out + output.err


def test_what_a_protocol_prints_is_no_part_of_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "quiet.py"
    path.write_text(
        'print("from the file")' + RIGHT.replace("    s = State(p)", "    s = State(p); print('built')")
    )
    assert run(["check", str(path), *SIMULATION, "--format", "json"]) == 1
    output = capsys.readouterr()
    assert json.loads(output.out)["protocol"] == "quiet"
    assert "from the file\n" in output.err
    assert "built\n" in output.err


def test_an_explanation_cannot_change_the_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "quiet.py"
    change = "lambda trace: trace.states[-1].clear() or trace.steps[0].changes.clear() or 'Changed.'"
    path.write_text(RIGHT.replace('witness_meaning="sent"', f'witness_meaning="sent", explain={change}'))
    assert run(["check", str(path), *SIMULATION]) == 1
    output = capsys.readouterr().out
    assert "Changed." in output
    assert "False: sent[1] is yes since step 1." in output


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("/bin/ls", "is not a Python file"),
        ("/dev/null", "no such file"),
        ("/dev/zero", "no such file"),
        ("./" + "x" * 300 + ".py", "no such file"),
        ("x" * 300, "no such protocol"),
        ("\udc80", "\\udc80: no such protocol"),
        ("a\nb", "a\\nb: no such protocol"),
        ("\x1b[2J", "\\x1b[2J: no such protocol"),
        ("./a\0b.py", "no such file"),
        ("\u202eyzal", "\\u202eyzal: no such protocol"),
        ("", "no such protocol"),
    ],
)
@pytest.mark.parametrize("command", ["check", "protocols"])
def test_a_name_that_is_no_protocol(
    command: str, name: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in refused(capsys, command, name)


ASKED = "self.asked = variable(BOOL); self.left = variable(BOOL); self.ask_lost = choice(fault='lost'); "
TIME_OUT = """
def ask(s):
    sent = [message("ask", "w", "r", lost=s.ask_lost)]
    return Action(when=~s.asked, then=[s.asked.set(True)], actor="w", sent=sent)


def give_up(s):
    return Action(when=s.asked & s.ask_lost & ~s.left, then=[s.left.set(True)], actor="w")


"""
"""A message that may be lost, and a time-out that happens only then; no action of the file takes them."""


@pytest.mark.parametrize(
    ("right", "wrong", "remark"),
    [
        ("(s.phase == Phase.OPEN)", "s.closed", "send never happens: its guard is false for all arguments"),
        (
            ".set(True)]",
            ".set(True), s.closed.set(False, when=s.closed)]",
            "send never sets closed: the condition is false for all arguments",
        ),
        (
            "holds=~s.sent[1]",
            "holds=~s.closed",
            "all-quiet is true by its text: no action sets what it reads",
        ),
        (
            "holds=~s.sent[1]",
            "holds=s.sent[1] | True",
            "all-quiet is true by its text: its formula is true in every state",
        ),
        (
            "each(send, s, s.entry),",
            "each(send, s, s.entry), each(give_up, s), each(ask, s)",
            (
                "give up depends on ask_lost, which no process sees: if it receives the message, name it in "
                "received=; if it is a time-out, it may also happen without a loss"
            ),
        ),
    ],
    ids=["a guard", "an update", "a property", "a formula", "a loss"],
)
def test_text_that_says_nothing_is_named_beside_the_verdict(
    right: str, wrong: str, remark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "quiet.py"
    text = RIGHT.replace("def build", f"{TIME_OUT}def build").replace("self.limits", f"{ASKED}self.limits")
    path.write_text(text)
    run(["check", str(path), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["remarks"] == []
    path.write_text(text.replace(right, wrong))
    run(["check", str(path)])
    assert f"\nremark: {remark}\n" in capsys.readouterr().out
    run(["check", str(path), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["remarks"][0] == remark


def test_a_small_instance_that_lacks_a_value_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = RIGHT.replace("parameter(1,", "parameter(2,").replace(
        "holds=~s.sent[1]", "holds=~s.sent[1] | (s.last == 2)"
    )
    text = text.replace("self.closed =", "self.last = variable(self.entry); self.closed =")
    path = tmp_path / "quiet.py"
    path.write_text(text.replace("build)", 'build, exercised={"all-quiet": {"entries": 1}})'))
    line = refused(capsys, "check", path)
    assert "exercised={'all-quiet': …} cannot be built" in line
    assert "2 is not a value of last" in line
