"""Kinds of slips about what a name stands for: Enums, sorts, families, states, and types."""

from __future__ import annotations

import re
from collections.abc import Iterator

from support.slips.files import File
from support.slips.kinds import Edit, instead, slip, spot_of
from support.slips.texts import Spot, Text


def _claims(file: File) -> Iterator[Text]:
    return (spot.text for spot in file.spots if spot.text.kind == "holds")


def _first_update(file: File) -> tuple[Text, str]:
    """Return the updates of the first action of the file, open at their end."""
    text = next(spot.text for spot in file.spots if spot.text.kind == "then")
    return text, str(text).removesuffix("]")


@slip("an Enum of another kind", "enum")
def _enum(file: File, spot: Spot) -> Iterator[Edit]:
    """Yield Enums whose members are texts or numbers, with an alias, or with values that look the same."""
    heads = {
        "StrEnum": ('"idle"', '"busy"', '"done"'),
        "IntEnum": ("0", "1", "2"),
        "Enum": ("0", "1", "2"),
        "str, Enum": ('"idle"', '"busy"', '"done"'),
        "Enum ": ('"idle"', '"idle"', '"done"'),
        "Enum  ": ("1", '"1"', "2"),
        "Enum   ": ("True", "False", '"yes"'),
        "Enum    ": ("None", "(1, 2)", "1.5"),
        "float, Enum": ("0.0", "1.0", "2.0"),
    }
    for head, values in heads.items():
        pairs = zip(file.phases, values, strict=False)
        text = f"class Phase({head.strip()}):\n" + "".join(f"    {name} = {v}\n" for name, v in pairs)
        yield Edit({spot.text: text})
        for other in (s.text for s in file.spots if s.text.kind == "member"):
            position = file.phases.index(str(other).removeprefix("Phase."))
            yield Edit({spot.text: text, other: values[position]})


@slip("a label sort named like an Enum that is no sort", "declared")
def _named(file: File, spot: Spot) -> Iterator[Edit]:
    declared = '        self.twin = labels("Role", "r", 2)\n        self.odd = variable(self.twin)\n'
    role = 'class Role(Enum):\n    ONE = "r1"\n    TWO = "r2"\n\n\n'
    for place in (s.text for s in file.spots if s.text.kind in ("holds", "guard", "witness")):
        for test in (
            "(s.odd == Role.ONE)",
            "~(s.odd == Role.TWO)",
            "(s.odd != Role.ONE)",
            "exists(s.twin, lambda t: t == Role.ONE)",
        ):
            made = {spot.text: declared, spot_of(file, "module"): role}
            yield Edit({**made, place: f"({place}) & {test}"}, True)


@slip("a family under two names", "declared")
def _two_names(file: File, spot: Spot) -> Iterator[Edit]:
    for claim in _claims(file):
        for use in ('s.again["n1"]', '~s.again["n2"]'):
            meant = use.replace("again", "on")
            yield Edit(
                {spot.text: "        self.again = self.on\n", claim: f"({claim}) & {use}"},
                meant={claim: f"({claim}) & {meant}"},
            )


@slip("one declaration for two names", "declared")
def _one_for_two(file: File, spot: Spot) -> Iterator[Edit]:
    then, updates = _first_update(file)
    for claim in _claims(file):
        for declared in ("self.left = self.right = variable(BOOL)", "self.left = self.right = family(BOOL)"):
            for test in ("s.left | ~s.right", "~s.right", "s.right | ~s.left"):
                made = {then: f"{updates}, s.left.set(True)]", claim: f"({claim}) & ({test})"}
                yield Edit({spot.text: f"        {declared}\n", **made}, True)


@slip("a family that the state does not declare", "module")
def _undeclared(file: File, spot: Spot) -> Iterator[Edit]:
    then, updates = _first_update(file)
    class_ = spot_of(file, "class")
    declared = spot_of(file, "declared")
    for claim in _claims(file):
        for made, name in (
            ({spot.text: 'LOOSE = family(BOOL, labels("node", "n", 2))\n\n\n'}, "LOOSE"),
            ({class_: "    extra = family(BOOL, integers(1, 2))\n\n"}, "s.extra"),
            ({declared: '        self.more = {"one": family(BOOL, self.node)}\n'}, 's.more["one"]'),
            ({declared: "        self.more = [family(BOOL, self.node)]\n"}, "s.more[0]"),
            ({declared: '        self.__dict__["quiet"] = family(BOOL, self.node)\n'}, "s.quiet"),
        ):
            index = "1" if name == "s.extra" else '"n1"'
            both: dict[Text, str] = {**made, then: f"{updates}, {name}[{index}].set(True)]"}
            yield Edit({**both, claim: f"({claim}) & ~{name}[{index}]"}, True)
            yield Edit({**made, claim: f"({claim}) & ~{name}[{index}]"}, True)


@slip("terms of another state", "holds")
def _other_state(file: File, spot: Spot) -> Iterator[Edit]:
    yield Edit({spot.text: re.sub(r"\bs\.", "State(p).", str(spot.text))}, meant={})
    yield Edit({spot.text: f'({spot.text}) & State(p).on["n1"]'})


@slip("terms of another state, in a guard", "guard")
def _other_guard(file: File, spot: Spot) -> Iterator[Edit]:
    text = re.sub(r"\bs\.", "State(s.parameters).", str(spot.text))
    if text != str(spot.text):
        yield Edit({spot.text: text}, meant={})


@slip("a quantifier over what is no such sort", "quantified")
def _over(file: File, spot: Spot) -> Iterator[Edit]:
    about = spot.text.about
    me = "self" if "definition" in spot.inside else "s"
    sort = f"{me}.{about['sort']}"
    others = [
        "members(Phase)",
        "Phase",
        f"list({sort})",
        f"{sort}.values",
        f"{me}.on",
        "BOOL",
        "2",
        "integers(1, 2)",
    ]
    others += [
        f'Sort("few", ("{about["sort"][0]}1",))',
        f'Sort("few", ("{about["sort"][0]}1",), part_of="{about["sort"]}")',
    ]
    for other in others:
        yield from instead(spot.text, str(spot.text).replace(f"{sort},", f"{other},", 1))


@slip("an action over another sort", "actions")
def _over_sort(file: File, spot: Spot) -> Iterator[Edit]:
    text = str(spot.text)
    for old in ("s.node", "s.copy", "members(Phase)"):
        for new in (
            "s.copy",
            "members(Phase)",
            "Phase",
            "s.node",
            "integers(1, 2)",
            'Sort("few", ("n1",), "node")',
        ):
            if old in text and new != old and not (new == "s.copy" and "held" not in file.variables):
                yield from instead(spot.text, text.replace(old, new, 1))


@slip("an action that is listed twice, or not at all", "actions")
def _listed(file: File, spot: Spot) -> Iterator[Edit]:
    parts = re.findall(r"each\((?:[^()]|\([^()]*\))*\)", str(spot.text))
    for part in parts:
        yield from instead(spot.text, f"{spot.text}, {part}")
        yield from instead(spot.text, ", ".join(other for other in parts if other != part))


@slip("an operator that a type lacks", "equal")
def _lacks(file: File, spot: Spot) -> Iterator[Edit]:
    left, right = (spot.text.about[side] for side in ("left", "right"))
    yield from instead(
        spot.text,
        *(f"({left} {operator} {right})" for operator in ("<", ">=", "^", "-", "&", "+", "%")),
        f"({spot.text} ^ {spot.text})",
        f"(~{left} == {right})",
        f"({left}[0] == {right})",
        f"({left}.set({right}))",
    )


@slip("a truth in other words", "truth")
def _truths(file: File, spot: Spot) -> Iterator[Edit]:
    text = spot.text
    yield from instead(
        text, f"({text} == True)", f"({text} != True)", f"({text} == False)", f"({text} ^ True)", f"~~{text}"
    )
    yield from instead(
        text, f"({text} >= True)", f"({text} & 1)", f"({text} | 0)", f"({text}, True)", f"[{text}]"
    )
    yield from instead(
        text, f"{text}.value", f"{text}()", f"{text}.set(True)", f"({text} == None)", f"({text} * True)"
    )


@slip("a condition of an update that is no truth", "condition")
def _condition(file: File, spot: Spot) -> Iterator[Edit]:
    yield from instead(spot.text, "True", "False", "1", "0", "None", '"yes"', "s.on", "s.leader", "[]")


@slip("a value of another type", "value")
def _typed(file: File, spot: Spot) -> Iterator[Edit]:
    text = spot.text
    yield from instead(
        text, "1", "True", "None", '"n1"', "Phase.IDLE", "0.0", "s.on", 's.on["n1"]', "lambda: True"
    )
    for other in ("1", '"n1"', "Phase.BUSY", "None"):
        yield from instead(text, f'if_(s.on["n1"], {text}, {other})', f'if_(s.on["n1"], {other}, {text})')
    yield from instead(text, f'({text} if s.on["n1"] else {text})', f"if_(1, {text}, {text})")


@slip("an index left out", "equal")
def _no_index(file: File, spot: Spot) -> Iterator[Edit]:
    left, right = (str(spot.text.about[side]) for side in ("left", "right"))
    if left.endswith("]"):
        name = left[: left.index("[")]
        for text in (f"({name} == {right})", f"({name} != {right})", f"({right} == {name})"):
            yield Edit({spot.text: text}, True)


@slip("an index left out of a truth", "truth")
def _no_index_of_truth(file: File, spot: Spot) -> Iterator[Edit]:
    text = str(spot.text)
    if text.endswith("]"):
        name = text[: text.index("[")]
        for form in ("({} == True)", "({} != False)", "(not {})", "({0} or {0})", "bool({})"):
            yield Edit({spot.text: form.format(name)}, True)
        yield Edit({spot.text: f"({text} if {name} else ~{text})"}, True)


@slip("a definition that is not called", "truth")
def _not_called(file: File, spot: Spot) -> Iterator[Edit]:
    text = str(spot.text)
    if text.startswith("s.ready"):
        name = text[: text.index("(")]
        for form in ("({} == True)", "({} != True)", "(not {})", "{}", "~{}", "({0} is True)"):
            yield Edit({spot.text: form.format(name)}, True)
        yield Edit({spot.text: f"({name} and {text})"}, True)
        yield Edit({spot.text: f"({text} if {name} else ~{text})"}, True)


@slip("a value before its term", "equal")
def _reversed(file: File, spot: Spot) -> Iterator[Edit]:
    left, right = (spot.text.about[side] for side in ("left", "right"))
    yield from instead(spot.text, f"({right} == {left})", f"({right} != {left})")
    for wrong in ('"n9"', "None", "Phase", "members(Phase)", "{1}", "1.5", "Parameters", "s.on"):
        if not (wrong == "s.on" and "definition" in spot.inside):
            yield Edit({spot.text: f"({wrong} == {left})"}, True)


@slip("a loop that takes a parameter's name", "start")
def _reused(file: File, spot: Spot) -> Iterator[Edit]:
    for name in spot.text.about["scope"]:
        for values in ("s.node", "members(Phase)", "s.node.values[:1]", "(1, 2)"):
            yield Edit({spot.text: f"    for {name} in {values}:\n        pass\n"})


@slip("a parameter that leaks out of its action", "start")
def _leaks(file: File, spot: Spot) -> Iterator[Edit]:
    for name, sort in spot.text.about["scope"].items():
        kept = {spot_of(file, "module"): "KEPT = []\n\n\n", spot.text: f"    KEPT.append({name})\n"}
        family = {"node": "on", "copy": "held"}.get(sort)
        test = f"s.{family}[KEPT[0]]" if family else "(KEPT[0] == Phase.IDLE)"
        for claim in _claims(file):
            yield Edit({**kept, claim: f"({claim}) & {test}"}, True)
            yield Edit({**kept, claim: f"({claim}) & exists(s.node, lambda n: s.on[n] & {test})"}, True)


@slip("an actor that is nobody", "actor")
def _actor(file: File, spot: Spot) -> Iterator[Edit]:
    more = ["s.leader"] if "leader" in file.variables else []
    wrong = ("None", "1", "s.on", 's.on["n1"]', '["n1"]', "lambda: 1", "Phase", "Phase.IDLE", '""', "1.5")
    yield from instead(spot.text, *wrong, *more, '"a\\nb"', '"\\x1b[2J"', "s.node", "b'n'", "(1, 2)")


@slip("a note or a fault that is no text", "actor")
def _note(file: File, spot: Spot) -> Iterator[Edit]:
    notes = ['"{"', '"{}"', '"{0}"', '"{nobody}"', "None", "5", '"a\\nb"', "[]", 's.on["n1"]', '"\\x1b[2J"']
    fields = ("{n}", "{n.name}", "{n[0]}", "{n!r}", "{n:>9}", "{n:d}", "{n!x}", "{n:{n}}", "{n.__class__}")
    for name in spot.text.about["scope"]:
        notes += [f'"{field.replace("n", name, 1)}"' for field in fields]
    for note in notes:
        yield Edit({spot.text: f"{spot.text},\n        note={note}"})
    for fault in ("1", "True", '""', '"a b"', '"a\\nb"', "None", '"lost"', "s.on", '"lost=1"'):
        yield Edit({spot.text: f"{spot.text},\n        fault={fault}"})
