"""Protocol files made at random, as people write them: small, of several idioms, and without a slip."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from support.slips.texts import Spot, Text, join, listed, place, spots, written

Scope = Mapping[str, str]
"""The names of parameters and bound variables, with the sort of each."""

PHASES = ("IDLE", "BUSY", "DONE")
NAMES = """BOOL, Action, Property, Protocol, Sort, StateSpace, System, all_of, any_of, at_least, choice,
    definition, each, exists, family, forall, if_, implies, integers, labels, maximum, members, message,
    parameter, switch, variable"""


@dataclass(frozen=True)
class File:
    """A file without a slip, with what a slip has to know about it."""

    seed: int
    text: Text
    nodes: int
    most: int
    phases: tuple[str, ...]
    variables: tuple[str, ...]

    @property
    def spots(self) -> list[Spot]:
        return list(spots(self.text))

    def with_(self, instead: Mapping[Text, str]) -> str:
        return written(self.text, instead)


@dataclass
class Author:
    """What the author of one file has chosen, and the expressions that the author writes."""

    seed: int
    me: str = "s"
    bound: int = 0
    definitions: list[tuple[str, str | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.nodes = self.chance.choice((2, 2, 3))
        self.most = self.chance.choice((1, 2, 3))
        self.phases = PHASES[: self.chance.choice((2, 3))]
        optional = ["ph", "leader", "num", "closed", "held", "mode", "mail"]
        self.variables = ["on", *self.chance.sample(optional, self.chance.choice((2, 3, 3)))]
        if "mail" in self.variables:
            self.nodes = 2

    # expressions -----------------------------------------------------------------------------------

    def literal(self, sort: str) -> Text:
        """Return a value of a sort as the author writes it."""
        match sort:
            case "node":
                return place("label", f'"n{self.chance.randint(1, self.nodes)}"', sort=sort)
            case "copy":
                return place("label", f'"c{self.chance.randint(1, 2)}"', sort=sort)
            case "Phase":
                return place("member", f"Phase.{self.chance.choice(self.phases)}", sort=sort)
            case _:
                return place("number", str(self.chance.randint(0, self.most)))

    def value(self, sort: str, scope: Scope, plain: float = 0.4) -> Text:
        """Return a value of a sort: a parameter, a state variable, or a literal."""
        own = [name for name, of in scope.items() if of == sort]
        if own and self.chance.random() > plain:
            return place("parameter", self.chance.choice(own), sort=sort)
        if sort == "node" and "leader" in self.variables and self.chance.random() < 0.3:
            return join("{}.leader", self.me)
        return self.literal(sort)

    def index(self, sort: str, scope: Scope) -> Text:
        return place("index", self.value(sort, scope, 0.25), sort=sort)

    def atom(self, scope: Scope) -> Text:
        """Return a Boolean term without connectives."""
        kind = self.chance.choice([*self.variables, "on", "argument", "definition"])
        match kind:
            case "ph":
                return self.equal(join("{}.ph[{}]", self.me, self.index("node", scope)), "Phase", scope)
            case "mode":
                return self.equal(join("{}.mode", self.me), "Phase", scope)
            case "leader":
                return self.equal(join("{}.leader", self.me), "node", scope)
            case "num":
                return self.compared()
            case "closed":
                return place("truth", f"{self.me}.closed")
            case "held":
                return place("truth", join("{}.held[{}]", self.me, self.index("copy", scope)))
            case "mail":
                which = self.chance.choice(("sent", "handled"))
                return place("truth", join("{}.{}[{}]", self.me, which, self.index("node", scope)))
            case "argument" if own := [n for n, of in scope.items() if of in ("node", "copy", "Phase")]:
                name = self.chance.choice(own)
                return self.equal(place("parameter", name, sort=scope[name]), scope[name], {}, False)
            case "definition" if self.definitions and self.me == "s":
                name, sort = self.chance.choice(self.definitions)
                given = self.value(sort, scope) if sort else ""
                return place("truth", join("s.{}({})", name, given))
            case _:
                return place("truth", join("{}.on[{}]", self.me, self.index("node", scope)))

    def equal(self, left: Text, sort: str, scope: Scope, read: bool = True) -> Text:
        right = self.value(sort, scope) if read else self.literal(sort)
        negated = self.chance.random() < 0.25
        text = join("({} {} {})", left, "!=" if negated else "==", right)
        return place("equal", text, left=left, right=right, sort=sort, negated=negated, read=read)

    def compared(self) -> Text:
        operator = self.chance.choice(("<", "==", ">=", "!=", ">"))
        if self.chance.random() < 0.2:
            body = join("if_({}.on[n], {}.num, 0)", self.me, self.me)
            return join("(maximum({}.node, lambda n: {}) {} 1)", self.me, body, operator)
        number = place("number", str(self.chance.randint(0, self.most)))
        text = join("({}.num {} {})", self.me, operator, number)
        return place("compare", text, operator=operator, number=number)

    def quantified(self, scope: Scope, depth: int) -> Text:
        sort = self.chance.choice(["node", "node", *(["copy"] if "held" in self.variables else [])])
        self.bound += 1
        name = f"{sort[0]}{self.bound}" if self.bound > 1 else sort[0]
        body = place("body", self.condition({**scope, name: sort}, depth - 1, True), name=name)
        how = self.chance.choice(("forall", "exists", "exists", "at_least"))
        count = place("count", str(self.chance.randint(1, 2)))
        text = (
            join("at_least({}, {}.{}, lambda {}: {})", count, self.me, sort, name, body)
            if how == "at_least"
            else join("{}({}.{}, lambda {}: {})", how, self.me, sort, name, body)
        )
        return place("quantified", text, how=how, sort=sort, name=name, body=body)

    def condition(self, scope: Scope, depth: int = 2, atoms: bool = False) -> Text:
        """Return a Boolean term."""
        kind = self.chance.random()
        if depth < 1 or kind < 0.3:
            return self.atom(scope)
        if kind < 0.5 and not atoms:
            return self.quantified(scope, depth)
        if kind < 0.62:
            return place("not", join("~{}", self.atom(scope)))
        if kind < 0.7 and depth > 1:
            return join("implies({}, {})", self.condition(scope, depth - 1), self.atom(scope))
        if kind < 0.75:
            parts = [self.atom(scope), self.condition(scope, depth - 1)]
            return join("{}({})", self.chance.choice(("all_of", "any_of")), listed(parts))
        operator = "&" if self.chance.random() < 0.7 else "|"
        left, right = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
        text = join("({} {} {})", left, operator, right)
        return place("both", text, left=left, right=right, operator=operator)

    def guard(self, scope: Scope) -> Text:
        """Return a part of a guard: often one that is true at first."""
        if self.chance.random() < 0.5:
            return place("not", join("~{}", place("truth", join("s.on[{}]", self.index("node", scope)))))
        return self.condition(scope, 2)

    # updates ---------------------------------------------------------------------------------------

    def update(self, variable: str, scope: Scope) -> tuple[list[Text], Text]:
        """Return what the guard needs for an update of a variable, and the update."""
        guard: list[Text] = []
        when: Text | str = ""
        if self.chance.random() < 0.25:
            when = join(", when={}", place("condition", self.condition(scope, 1)))
        match variable:
            case "num" if self.chance.random() < 0.5:
                bound = place("number", str(self.most))
                guard = [place("compare", join("(s.num < {})", bound), operator="<", number=bound)]
                target, value = join("s.num"), join("s.num + 1")
            case "num":
                bound = place("number", str(self.most))
                target, value = join("s.num"), join("if_(s.num < {}, s.num + 1, 0)", bound)
            case "ph" | "mode":
                target = join("s.ph[{}]", self.index("node", scope)) if variable == "ph" else join("s.mode")
                value = self.value("Phase", scope)
                if self.chance.random() < 0.3:
                    value = join("if_({}, {}, {})", self.atom(scope), value, self.literal("Phase"))
            case "leader":
                target, value = join("s.leader"), self.value("node", scope)
            case "held":
                target, value = join("s.held[{}]", self.index("copy", scope)), self.truth_value(scope)
            case "closed":
                target, value = join("s.closed"), self.truth_value(scope)
            case _:
                target, value = join("s.on[{}]", self.index("node", scope)), self.truth_value(scope)
        text = join("{}.set({}{})", target, place("value", value, variable=variable), when)
        return guard, place("update", text, target=target, variable=variable)

    def truth_value(self, scope: Scope) -> Text:
        kind = self.chance.random()
        if kind < 0.65:
            return place("constant", "True")
        return place("constant", "False") if kind < 0.8 else self.atom(scope)

    # parts of the file -----------------------------------------------------------------------------

    def handler(self, name: str, scope: Scope) -> Text:
        able = [v for v in self.variables if v != "mail"]
        chosen = self.chance.sample(able, min(len(able), self.chance.choice((1, 1, 2))))
        made = [self.update(variable, scope) for variable in chosen]
        guards = [g for guard, _ in made for g in guard]
        guards += [self.guard(scope)] if not guards or self.chance.random() < 0.5 else []
        return self.action(name, scope, guards, [update for _, update in made], "")

    def action(self, name: str, scope: Scope, guards: list[Text], then: list[Text], more: str | Text) -> Text:
        arguments = ", ".join(["s", *scope])
        actor = place("actor", next(iter(scope), '"hub"'), scope=dict(scope))
        guard = place("guard", listed(guards, " & "), first=guards[0])
        named = self.chance.random() < 0.3
        lines = join("    ready = {}\n", guard) if named else ""
        return join(
            'def {}({}):\n    """{}."""\n{}{}    return Action(\n        when={},\n        then={},\n'
            "        actor={},\n{}    )\n\n\n",
            name,
            arguments,
            name.capitalize(),
            place("start", "", scope=dict(scope)),
            lines,
            "ready" if named else guard,
            place("then", join("[{}]", listed(then))),
            actor,
            more,
        )

    def mail(self) -> tuple[list[Text], list[str]]:
        """Return two handlers, of which one sends a message that can be lost and the other receives it."""
        scope = {"n": "node"}
        lost = place("named loss", ", lost=s.lost[n]")
        sent = join('        sent=[message("ask", "hub", n{})],\n', lost)
        sending = [join("~s.sent[n]"), *([self.guard(scope)] if self.chance.random() < 0.5 else [])]
        send = self.action("send", scope, sending, [join("s.sent[n].set(True)")], sent)
        effect = [v for v in self.variables if v != "mail"]
        guard, update = self.update(self.chance.choice(effect), scope)
        read = place("loss", "~s.lost[n]")
        taking = [join("s.sent[n]"), join("~s.handled[n]"), read, *guard]
        received = place("received", '        received=message("ask", "hub", n),\n')
        then = [join("s.handled[n].set(True)"), update]
        return [send, self.action("take", scope, taking, then, received)], ["send", "take"]

    def claim(self, name: str) -> Text:
        kind = self.chance.random()
        witness = self.condition({}, 1)
        if kind < 0.4:
            holds = join("~({} & {})", self.condition({}, 1), self.condition({}, 1))
        elif kind < 0.6:
            body = join("implies({}, {})", self.atom({"n": "node"}), self.condition({"n": "node"}, 1))
            holds = join("forall(s.node, lambda n: {})", body)
        elif kind < 0.75:
            holds = join("implies({}, {})", self.condition({}, 1), self.condition({}, 1))
        else:
            holds = self.condition({}, 2)
        return join(
            '        Property(\n            "{}", "a claim", holds={},\n            witness={}, '
            'witness_meaning="w",\n        ),\n',
            name,
            place("holds", holds),
            place("witness", witness),
        )

    def declarations(self) -> Text:
        """Return the declarations in the constructor of the state."""
        of_phase = place("initial", "", variable="ph")
        lines = {
            "on": join("self.on = family(BOOL, self.node)"),
            "ph": join("self.ph = family(members(Phase), self.node{})", of_phase),
            "mode": join("self.mode = variable(members(Phase){})", place("initial", "", variable="mode")),
            "leader": join("self.leader = variable(self.node{})", place("initial", "", variable="leader")),
            "num": join(
                "self.num = variable(integers(0, {}){})", str(self.most), place("initial", "", variable="num")
            ),
            "closed": join("self.closed = variable(BOOL{})", place("initial", "", variable="closed")),
            "held": join('self.copy = labels("copy", "c", 2)\n        self.held = family(BOOL, self.copy)'),
            "mail": join(
                "self.sent = family(BOOL, self.node)\n        self.handled = family(BOOL, self.node)\n"
                '        self.lost = choice(self.node, fault="lost")'
            ),
        }
        return listed([join("        {}\n", lines[v]) for v in self.variables], "")


def definition_text(author: Author, number: int) -> Text:
    """Return a definition of the state, with a parameter or without."""
    sort = author.chance.choice((None, "node"))
    author.me = "self"
    body = author.condition({"n": "node"} if sort else {}, 1)
    author.me = "s"
    name = f"ready{number}"
    author.definitions.append((name, sort))
    parameters = "self, n" if sort else "self"
    text = join("    @definition\n    def {}({}):\n        return {}\n\n", name, parameters, body)
    return place("definition", text, name=name, parameters=parameters, body=body)


def write(seed: int) -> File:
    """Return the file of a seed."""
    author = Author(seed)
    chance = author.chance
    definitions = [definition_text(author, number) for number in range(1, chance.choice((1, 2, 3)))]
    handlers: list[Text] = []
    actions: list[str] = []
    if "mail" in author.variables:
        handlers, actions = author.mail()
        actions = [f"each({name}, s, s.node)" for name in actions]
    for name in ("go", "stop", "move")[: chance.choice((2, 3))]:
        sort = chance.choice(("node", "node", "Phase", "copy", None))
        sort = "node" if sort == "copy" and "held" not in author.variables else sort
        scope = {} if sort is None else {{"node": "n", "copy": "c", "Phase": "phase"}[sort]: sort}
        handlers.append(author.handler(name, scope))
        over = {None: "", "Phase": ", members(Phase)", "node": ", s.node", "copy": ", s.copy"}[sort]
        actions.append(f"each({name}, s{over})")
    claims = listed([author.claim(name) for name in ("kept", "safe")[: chance.choice((1, 2))]], "")
    imports = "*" if chance.random() < 0.5 else f"(\n    {NAMES},\n)"
    members = "".join(f'    {name} = "{name.lower()}"\n' for name in author.phases)
    text = join(
        '"""A protocol."""\n\nfrom dataclasses import dataclass\nfrom enum import Enum, IntEnum, StrEnum\n\n'
        "from fencepost.encoding.language import {}\n\n\n{}\n\n{}"
        '@dataclass(frozen=True)\nclass Parameters:\n    nodes: int = parameter({}, "nodes")\n\n\n'
        "class State(StateSpace):\n    def __init__(self, p):\n        self.parameters = p\n"
        '        self.node = labels("node", "n", p.nodes)\n{}{}\n{}{}\n{}'
        "def build(p):\n    s = State(p)\n{}    actions = [{}]\n    claims = (\n{}    )\n"
        "    return System(s, tuple(actions), claims)\n\n\n"
        'PROTOCOL = Protocol("made", "a protocol", Parameters(), build)\n',
        imports,
        place("enum", f"class Phase(Enum):\n{members}"),
        place("module", ""),
        str(author.nodes),
        author.declarations(),
        place("declared", ""),
        listed(definitions, ""),
        place("class", ""),
        listed(handlers, ""),
        place("build", ""),
        place("actions", ", ".join(actions)),
        claims,
    )
    return File(seed, text, author.nodes, author.most, author.phases, tuple(author.variables))
