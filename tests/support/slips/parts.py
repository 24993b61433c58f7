"""Kinds of slips in definitions, quantifiers, declarations, handlers, and in the losses of messages."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from support.slips.files import File
from support.slips.kinds import Edit, instead, slip, spot_of
from support.slips.texts import Spot, Text

# definitions ---------------------------------------------------------------------------------------


def _definitions(file: File, form: str) -> dict[Text, str]:
    """Return each definition of the file in that form, which has its name, parameters and body."""
    return {
        spot.text: form.format(*(spot.text.about[key] for key in ("name", "parameters", "body")))
        for spot in file.spots
        if spot.text.kind == "definition"
    }


_AGAIN = "    {0} = definition(lambda {1}: {2})\n\n"
_FACTORY = """def made(body):
    @definition
    def ready(self, *arguments):
        return body(self, *arguments)

    return ready


"""
_SECOND = ('on["n1"]', 'on["n2"]')


def _with_more(file: File, form: str) -> Iterator[dict[Text, str]]:
    """Yield the definitions in that form, and two more beside them, of which the claims use both."""
    for first, second in (_SECOND, _SECOND[::-1]):
        more = form.format("one", "self", f"self.{first}") + form.format("two", "self", f"self.{second}")
        for spot in file.spots:
            if spot.text.kind in ("holds", "guard") and "class" not in spot.inside:
                used = f"({spot.text}) & (s.one() | ~s.two())"
                yield {**_definitions(file, form), spot_of(file, "class"): more, spot.text: used}


@slip("definitions that are lambdas", "class")
def _lambdas(file: File, spot: Spot) -> Iterator[Edit]:
    yield Edit(_definitions(file, _AGAIN))
    for made in _with_more(file, _AGAIN):
        yield Edit(made)


@slip("definitions that a factory makes", "class")
def _factory(file: File, spot: Spot) -> Iterator[Edit]:
    for made in _with_more(file, "    {0} = made(lambda {1}: {2})\n\n"):
        yield Edit({**made, spot_of(file, "module"): _FACTORY})


@slip("a definition that is made twice", "class")
def _twice(file: File, spot: Spot) -> Iterator[Edit]:
    for first, second in (_SECOND, _SECOND[::-1]):
        for place in (s.text for s in file.spots if s.text.kind == "holds"):
            form = "    @definition\n    def same(self):\n        return self.{}\n\n"
            more = form.format(first) + "    kept = same\n\n" + form.format(second)
            yield Edit({spot.text: more, place: f"({place}) & (s.kept() | ~s.same())"})


@slip("a definition called with 1 and True", "class")
def _typed(file: File, spot: Spot) -> Iterator[Edit]:
    if "num" not in file.variables:
        return
    for head, given in (
        ("v", ("1", "True", "0", "False", "1.0")),
        ("pair", ("(1, 2)", "(True, 2)", "(0, 2)", "(False, 2)", "(1.0, 2)")),
    ):
        first = "v" if head == "v" else "pair[0]"
        body = f'self.on["n1"] == {first} if isinstance({first}, bool) else self.num == {first}'
        more = f"    @definition\n    def same(self, {head}):\n        return {body}\n\n"
        for place in (s.text for s in file.spots if s.text.kind in ("holds", "guard")):
            one, true, zero, false, real = given
            for used in (
                f"s.same({one}) | ~s.same({true})",
                f"s.same({false}) & ~s.same({zero})",
                f"s.same({real}) & s.same({true})",
            ):
                yield Edit({spot.text: more, place: f"({place}) & ({used})"})


# quantifiers ---------------------------------------------------------------------------------------


@slip("a variable that leaks out of its quantifier", "quantified")
def _leaked(file: File, spot: Spot) -> Iterator[Edit]:
    about = spot.text.about
    module = spot_of(file, "module")
    me = "self" if "definition" in spot.inside else "s"
    family = "on" if about["sort"] == "node" else "held"
    leaking = f"(LEAKED.append({about['name']}) or {about['body']})"
    inner = str(spot.text).removesuffix(f"{about['body']})") + f"{leaking})"
    for use in (f"{me}.{family}[LEAKED[-1]]", f'(LEAKED[-1] == "{about["sort"][0]}1")'):
        for operator in "&|":
            yield Edit({spot.text: f"({inner} {operator} {use})", module: "LEAKED = []\n\n\n"}, True)


@slip("a body that ignores its variable", "body")
def _ignores(file: File, spot: Spot) -> Iterator[Edit]:
    me = "self" if "definition" in spot.inside else "s"
    yield from instead(spot.text, "True", "False", f'{me}.on["n1"]', "1", "None", '"n1"', f"{me}.on")


@slip("a count that is no number", "count")
def _count(file: File, spot: Spot) -> Iterator[Edit]:
    me = "self" if "definition" in spot.inside else "s"
    more = [f"{me}.num", f"{me}.num + 1"] if "num" in file.variables else []
    yield from instead(spot.text, "1.5", "0.5", "-1", "0", "True", "None", '"1"', "9", "1.0", *more)
    yield from instead(spot.text, f'{me}.on["n1"]', f"len({me}.node)")


@slip("a variable of a loop that is bound late", "holds")
def _late(file: File, spot: Spot) -> Iterator[Edit]:
    for made in ("lambda: s.on[node]", 'lambda: (s.on[node] | ~s.on["n1"])'):
        for use in ("all_of(*[test() for test in tests])", "any_of(*[test() for test in tests])"):
            tests = f"[{made} for node in s.node]"
            yield Edit({spot.text: f"(lambda tests: {use} & ({spot.text}))({tests})"})
            yield Edit({spot.text: f"(lambda tests: implies({use}, {spot.text}))({tests})"})


# declarations --------------------------------------------------------------------------------------


def _updates(file: File) -> Iterator[tuple[Text, str]]:
    """Yield the list of updates of each action, as far as it is open at its end."""
    for spot in file.spots:
        if spot.text.kind == "then":
            yield spot.text, str(spot.text).removesuffix("]")


@slip("a badly defined update of what nothing else writes", "declared")
def _bad(file: File, spot: Spot) -> Iterator[Edit]:
    number = "s.num + 1" if "num" in file.variables else "1"
    declared = (
        "        self.mark = family(BOOL, self.node)\n        self.tally = variable(integers(0, 1))\n"
        f"        self.tallies = family(BOOL, integers(0, {file.most}))\n"
    )
    for text, then in _updates(file):
        for more in (
            's.mark["n1"].set(False), s.mark["n1"].set(False)',
            's.mark["n1"].set(False, when=s.on["n1"]), s.mark["n1"].set(False)',
            f"s.tallies[{number}].set(False)",
            f's.tallies[{number}].set(False, when=s.on["n1"])',
            "s.tally.set(s.tally + 2)",
            's.tally.set(0 - 1, when=s.on["n2"])',
            's.tally.set(if_(s.on["n1"], 2, 0))',
        ):
            yield Edit({text: f"{then}, {more}]", spot.text: declared})


_CHOOSE = """def choose(s, odd):
    return Action(when=s.pick != odd, then=[s.pick.set(odd)], actor="p")


"""


def _picked(
    file: File, spot: Spot, sort: str, tests: tuple[str, ...], value: str, module: str = ""
) -> Iterator[Edit]:
    """Yield the file with a variable over one more sort, which an action sets and a claim or guard reads."""
    declared = f"        self.odd = {sort}\n        self.pick = variable(self.odd)\n"
    for text, then in _updates(file):
        for claim in (s.text for s in file.spots if s.text.kind == "holds"):
            for test in tests:
                made = {spot.text: declared, claim: f"({claim}) & {test}"}
                yield Edit({**made, text: f"{then}, s.pick.set({value})]", spot_of(file, "module"): module})
                actions = spot_of(file, "actions")
                by_argument = {actions: f"{actions}, each(choose, s, s.odd)"}
                yield Edit({**made, **by_argument, spot_of(file, "module"): module + _CHOOSE})


@slip("a sort of mixed values", "declared")
def _mixed(file: File, spot: Spot) -> Iterator[Edit]:
    for values, value in (
        ("(False, 2)", "2"),
        ("(0, True)", "True"),
        ("(True, 0)", "0"),
        ("(0, 1.5)", "1.5"),
        ('(0, "one")', '"one"'),
        ("(Phase.IDLE, 1)", "1"),
        ('("n1", Phase.IDLE)', "Phase.IDLE"),
        ("(0, None)", "None"),
        ("(1, 1.0)", "1"),
    ):
        tests = (f"~(s.pick == {value})", "~s.pick", "~(s.pick > 0)", "~(s.pick == 1)", "~(s.pick == True)")
        yield from _picked(file, spot, f'Sort("odd", {values})', tests, value)


@slip("an IntEnum beside numbers", "declared")
def _int_enum(file: File, spot: Spot) -> Iterator[Edit]:
    module = "class Level(IntEnum):\n    LOW = 0\n    HIGH = 1\n    TOP = 2\n\n\n"
    tests = ("~(s.pick == 1)", "~(s.pick == Level.HIGH)", "~(s.pick > 0)", "(s.pick < Level.HIGH)")
    for sort, value in (
        ("members(Level)", "Level.HIGH"),
        ("members(Level)", "1"),
        ('Sort("odd", (Level.LOW, 1))', "1"),
        ('Sort("odd", (0, Level.HIGH))', "Level.HIGH"),
        ("integers(0, 2)", "Level.HIGH"),
        ('Sort("odd", (0, Level.LOW))', "0"),
    ):
        yield from _picked(file, spot, sort, tests, value, module)


@slip("a part of a sort with labels that the sort lacks", "declared")
def _part(file: File, spot: Spot) -> Iterator[Edit]:
    declared = '        self.few = Sort("few", ("n1", "n9"), part_of="node")\n'
    more = ["exists(s.few, lambda f: f == s.leader)"] if "leader" in file.variables else []
    for claim in (s.text for s in file.spots if s.text.kind in ("holds", "guard")):
        for test in (
            "forall(s.few, lambda f: exists(s.node, lambda m: f == m))",
            "exists(s.node, lambda m: forall(s.few, lambda f: f != m))",
            "exists(s.few, lambda f: s.on[f])",
            *more,
        ):
            yield Edit({spot.text: declared, claim: f"({claim}) & {test}"}, True)


@slip("a claim that is a plain truth", "holds")
def _plain(file: File, spot: Spot) -> Iterator[Edit]:
    yield from instead(
        spot.text,
        "True",
        "False",
        '"n1" in ("n1", "n2")',
        "s.node is not None",
        "1",
        "s.on",
        "len(s.node) > 1",
    )


@slip("a witness that is a plain truth", "witness")
def _plain_witness(file: File, spot: Spot) -> Iterator[Edit]:
    yield from instead(spot.text, "True", '"n1" in ("n1", "n2")', "1", "s.on", "False", "None")


@slip("a guard that is a plain truth", "guard")
def _plain_guard(file: File, spot: Spot) -> Iterator[Edit]:
    yield from instead(spot.text, "True", "False", "len(s.node) > 9", "1", "0", "s.on", '"n1"')


# handlers ------------------------------------------------------------------------------------------


@slip("an assignment to the state space", "start")
def _assigned(file: File, spot: Spot) -> Iterator[Edit]:
    values = {
        "closed": "True",
        "leader": '"n1"',
        "num": "1",
        "mode": "Phase.BUSY",
        "on": "family(BOOL, s.node)",
        "ph": "s.on",
        "held": "None",
    }
    for name in file.variables:
        if name in values:
            yield Edit({spot.text: f"    s.{name} = {values[name]}\n"}, True)
    yield Edit({spot.text: "    s.fresh = variable(BOOL)\n"}, True)
    yield Edit({spot.text: "    del s.on\n"}, True)
    yield Edit({spot.text: '    setattr(s, "on", {"n1": False, "n2": True, "n3": True})\n'}, True)
    for name in spot.text.about["scope"]:
        yield Edit({spot.text: f"    s.on[{name}] = True\n"}, True)


@slip("a list that actions share and extend", "module")
def _shared_list(file: File, spot: Spot) -> Iterator[Edit]:
    """Yield files in which each list has the updates of the actions before it too, as Python has it."""
    lists = list(_updates(file))
    growing = "COMMON = []\n\n\ndef grown(more):\n    COMMON.extend(more)\n    return COMMON\n\n\n"
    for first, last in itertools.combinations(range(len(lists) + 1), 2):
        chosen = lists[first:last]
        meant: dict[Text, str] = {}
        before = "["
        for text, then in chosen:
            before += f"{then.removeprefix('[')}, "
            meant[text] = f"{before}]"
        yield Edit({**{text: f"grown({text})" for text, _ in chosen}, spot.text: growing}, meant=meant)


@slip("an update that is only a comparison, or missing", "update")
def _compares(file: File, spot: Spot) -> Iterator[Edit]:
    target = spot.text.about["target"]
    yield from instead(
        spot.text, f"({target} == {target})", "None", f"{target}", f"*[{target}.set({target})]"
    )


# losses --------------------------------------------------------------------------------------------


@slip("a loss that the receiver does not read", "loss")
def _not_read(file: File, spot: Spot) -> Iterator[Edit]:
    yield from instead(spot.text, "True", '~s.lost["n1"]', "~(s.lost[n] & s.on[n])", "s.lost[n]")
    for text in (s.text for s in file.spots if s.text.kind == "received"):
        yield Edit({spot.text: "True", text: ""})
        yield Edit({text: ""})


@slip("a loss that the sender does not name", "named loss")
def _not_named(file: File, spot: Spot) -> Iterator[Edit]:
    yield from instead(
        spot.text, "", ', lost=s.lost["n1"]', ", lost=s.sent[n]", ", lost=~s.lost[n]", ", lost=True"
    )
    for text in (s.text for s in file.spots if s.text.kind == "received"):
        yield Edit({spot.text: "", text: ""})
