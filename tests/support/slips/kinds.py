"""Kinds of slips that people make in Python's names, operators and values, one at a time, at every place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from support.slips.files import File
from support.slips.texts import Spot, Text


@dataclass(frozen=True)
class Slip:
    """A file with a slip. `meant` is the text that says in the language what this one says to a reader.

    `must_refuse` is set if no text of the language says it: the file has to be refused.
    """

    kind: str
    text: str
    meant: str
    must_refuse: bool = False


@dataclass(frozen=True)
class Edit:
    """Other text at some places of a file."""

    instead: Mapping[Text, str]
    must_refuse: bool = False
    meant: Mapping[Text, str] | None = None


Maker = Callable[[File, Spot], Iterator[Edit]]
KINDS: dict[str, tuple[str, Maker]] = {}
"""The kinds by name: the kind of place, and what can be wrong there."""


def slip(name: str, at: str) -> Callable[[Maker], Maker]:
    """Return a decorator that adds a kind of slip."""

    def add(maker: Maker) -> Maker:
        KINDS[name] = (at, maker)
        return maker

    return add


def slips(kind: str, file: File) -> Iterator[Slip]:
    """Yield the file with that slip, at each place and in each form."""
    at, maker = KINDS[kind]
    for spot in file.spots:
        if spot.text.kind == at:
            for edit in maker(file, spot):
                text = file.with_(edit.instead)
                meant = text if edit.meant is None else file.with_(edit.meant)
                yield Slip(kind, text, meant, edit.must_refuse)


def spot_of(file: File, kind: str) -> Text:
    """Return the only place of that kind."""
    (found,) = [spot.text for spot in file.spots if spot.text.kind == kind]
    return found


def _instead(text: Text, *others: str, must: bool = False) -> Iterator[Edit]:
    for other in others:
        yield Edit({text: other}, must)


def _compared(spot: Spot) -> bool:
    """Return whether the place is a side of an equality, and not an index within it."""
    return bool(spot.inside) and spot.inside[-1] == "equal"


# values --------------------------------------------------------------------------------------------


@slip("a typo in a label", "label")
def _typo(file: File, spot: Spot) -> Iterator[Edit]:
    name = str(spot.text).strip('"')
    yield from _instead(spot.text, f'"{name}9"', f'"{name.upper()}"', f'"{name[0]}"', must=_compared(spot))


@slip("a label of another sort", "label")
def _other_sort(file: File, spot: Spot) -> Iterator[Edit]:
    other = {"n": "c", "c": "n"}[str(spot.text)[1]]
    yield from _instead(spot.text, f'"{other}1"', f'"{other}2"', must=_compared(spot))


@slip("a number for a label", "label")
def _number(file: File, spot: Spot) -> Iterator[Edit]:
    yield from _instead(spot.text, str(spot.text)[2:-1], "True", "1.0", must=_compared(spot))


@slip("None for a label or member", "equal")
def _none(file: File, spot: Spot) -> Iterator[Edit]:
    about = spot.text.about
    operator = "!=" if about["negated"] else "=="
    yield from _instead(spot.text, f"({about['left']} {operator} None)", must=True)


@slip("the value of a member", "member")
def _value(file: File, spot: Spot) -> Iterator[Edit]:
    name = str(spot.text).removeprefix("Phase.")
    yield from _instead(spot.text, f'"{name.lower()}"', f'"{name}"', must=_compared(spot))


_TWIN = """def other_phases():
    class Phase(Enum):
        IDLE = "idle"
        BUSY = "busy"
        DONE = "done"

    return Phase


Other = other_phases()


"""


@slip("a member of another Enum of the same name", "member")
def _same_name(file: File, spot: Spot) -> Iterator[Edit]:
    name = str(spot.text).removeprefix("Phase.")
    yield Edit({spot.text: f"Other.{name}", spot_of(file, "module"): _TWIN}, _compared(spot))


@slip("a member of another Enum", "member")
def _other_enum(file: File, spot: Spot) -> Iterator[Edit]:
    name = str(spot.text).removeprefix("Phase.")
    role = 'class Role(Enum):\n    IDLE = "idle"\n    BUSY = "busy"\n    DONE = "done"\n\n\n'
    yield Edit({spot.text: f"Role.{name}", spot_of(file, "module"): role}, _compared(spot))


@slip("a label sort named like an Enum", "equal")
def _named_like(file: File, spot: Spot) -> Iterator[Edit]:
    if spot.text.about["sort"] == "Phase" and "body" not in spot.inside and "definition" not in spot.inside:
        declared = '        self.twin = labels("Phase", "p", 2)\n        self.odd = variable(self.twin)\n'
        left = spot.text.about["left"]
        for text in (f"({left} == s.odd)", f"exists(s.twin, lambda t: t == {left})", f'({left} == "p1")'):
            yield Edit({spot.text: text, spot_of(file, "declared"): declared}, True)


@slip("a value one past a domain", "number")
def _past(file: File, spot: Spot) -> Iterator[Edit]:
    yield from _instead(spot.text, str(file.most + 1), "-1")


@slip("a value one past a domain, in an update", "update")
def _past_update(file: File, spot: Spot) -> Iterator[Edit]:
    if spot.text.about["variable"] == "num":
        yield from _instead(
            spot.text, "s.num.set(s.num + 1)", "s.num.set(s.num - 1)", f"s.num.set({file.most + 1})"
        )


@slip("a float or a truth for a number", "number")
def _float(file: File, spot: Spot) -> Iterator[Edit]:
    number = str(spot.text)
    yield from _instead(spot.text, f"{number}.0", f"{number}.5", str(number != "0"), f'"{number}"', "None")


@slip("a number for a truth", "truth")
def _as_number(file: File, spot: Spot) -> Iterator[Edit]:
    yield from _instead(spot.text, f"({spot.text} == 1)", f"({spot.text} != 0)", f"({spot.text} > 0)")
    yield from _instead(
        spot.text, f"({spot.text} == 2)", f'({spot.text} == "yes")', f"({spot.text} + 1 == 2)"
    )


@slip("a number for a truth, in an update", "constant")
def _set_number(file: File, spot: Spot) -> Iterator[Edit]:
    yield from _instead(spot.text, "1" if str(spot.text) == "True" else "0", "None", '"yes"', "2", "1.0")


@slip("a wrong initial value", "initial")
def _initial(file: File, spot: Spot) -> Iterator[Edit]:
    wrong = {
        "leader": ('"n9"', "1", "None", '"c1"', "Phase.IDLE", "0"),
        "num": (str(file.most + 1), "-1", "True", "1.0", "0.5", '"0"', "None"),
        "closed": ("1", "0", "2", "None", '"no"'),
    }.get(spot.text.about["variable"], ('"idle"', "0", "None", "Phase", '"n1"'))
    yield from _instead(spot.text, *(f", initial={value}" for value in wrong))


@slip("an index of another sort", "index")
def _index(file: File, spot: Spot) -> Iterator[Edit]:
    yield from _instead(spot.text, "1", "True", "Phase.IDLE", "None", '"n9"', "0.0")
    yield from _instead(spot.text, '"c1"' if spot.text.about["sort"] == "node" else '"n1"')


# Python's operators and functions ------------------------------------------------------------------


def _neighbour(file: File, spot: Spot) -> str:
    """Return another value of the sort of an equality."""
    match spot.text.about["sort"]:
        case "Phase":
            return "Phase.BUSY" if str(spot.text.about["right"]) != "Phase.BUSY" else "Phase.IDLE"
        case sort:
            return f'"{sort[0]}1"' if str(spot.text.about["right"])[2:-1] != "1" else f'"{sort[0]}2"'


def _is_plain(spot: Spot) -> bool:
    """Return whether the right side of the equality is a literal."""
    return spot.text.about["right"].kind in ("label", "member")


def _contained(container: str) -> Maker:
    def maker(file: File, spot: Spot) -> Iterator[Edit]:
        about = spot.text.about
        operator = "not in" if about["negated"] else "in"
        if _is_plain(spot):
            one = container.format(about["right"])
            two = container.format(f"{about['right']}, {_neighbour(file, spot)}")
            yield from _instead(spot.text, f"({about['left']} {operator} {two})")
            yield from _instead(spot.text, f"({about['left']} {operator} {one})")
            yield from _instead(spot.text, f"({about['left']} not {operator} {two})".replace("not not ", ""))

    return maker


for _name, _form in {
    "set": "{{{}}}",
    "tuple": "({},)",
    "list": "[{}]",
    "frozenset": "frozenset([{}])",
    "dictionary": "dict.fromkeys([{}])",
}.items():
    slip(f"`in` a {_name}", "equal")(_contained(_form))


@slip("`in` a sort or an Enum", "equal")
def _in_sort(file: File, spot: Spot) -> Iterator[Edit]:
    about = spot.text.about
    me = "self" if "definition" in spot.inside else "s"
    sort = "members(Phase)" if about["sort"] == "Phase" else f"{me}.{about['sort']}"
    for container in (sort, f"{sort}.values", f"set({sort})", f"list({sort})[1:]"):
        yield from _instead(spot.text, f"({about['left']} in {container})")
        yield from _instead(spot.text, f"({about['left']} not in {container})")


@slip("a set or a dictionary of terms", "equal")
def _hashed(file: File, spot: Spot) -> Iterator[Edit]:
    left, right = (spot.text.about[side] for side in ("left", "right"))
    other = _neighbour(file, spot)
    yield from _instead(
        spot.text,
        f"({{{right}: True}}.get({left}, False))",
        f"({{{left}}} == {{{right}}})",
        f"({{{left}}} <= {{{right}, {other}}})",
        f"(len({{{left}, {right}}}) == 1)",
        f"([{right}].count({left}) == 1)",
        f"{{{right}}}.isdisjoint([{left}])",
        f"(({left},) == ({right},))",
    )


@slip("`is` and `is not`", "equal")
def _is(file: File, spot: Spot) -> Iterator[Edit]:
    about = spot.text.about
    operator = "is not" if about["negated"] else "is"
    yield Edit({spot.text: f"({about['left']} {operator} {about['right']})"}, meant={})


@slip("`is` a truth", "truth")
def _is_true(file: File, spot: Spot) -> Iterator[Edit]:
    for text, meant in (
        (f"({spot.text} is True)", str(spot.text)),
        (f"({spot.text} is not False)", str(spot.text)),
        (f"({spot.text} is False)", f"~{spot.text}"),
        (f"({spot.text} is not True)", f"~{spot.text}"),
    ):
        yield Edit({spot.text: text}, meant={spot.text: meant})


@slip("`str()` of a term", "equal")
def _str(file: File, spot: Spot) -> Iterator[Edit]:
    about = spot.text.about
    operator = "!=" if about["negated"] else "=="
    if _is_plain(spot):
        right = str(about["right"])
        quoted = right if right.startswith('"') else f'"{right}"'
        for form in ("str({})", "repr({})", 'f"{{{}}}"', '"{{}}".format({})', '"%s" % {}'):
            left = form.format(about["left"]) if '"%' not in form else f'"%s" % ({about["left"]},)'
            if '"' not in str(about["left"]) or not form.startswith("f"):
                yield from _instead(spot.text, f"({left} {operator} {quoted})")


@slip("`.name` and `.value`", "equal")
def _attribute(file: File, spot: Spot) -> Iterator[Edit]:
    left, right = str(spot.text.about["left"]), str(spot.text.about["right"])
    word = right.removeprefix("Phase.").strip('"')
    yield from _instead(
        spot.text,
        f'({left}.name == "{word}")',
        f'({left}.value == "{word.lower()}")',
        f'({left}.name in ("{word}", "BUSY"))',
        f'({left}.name != "{word}")',
    )


@slip("`len()` of a term", "equal")
def _len(file: File, spot: Spot) -> Iterator[Edit]:
    yield from _instead(
        spot.text, *(f"(len({spot.text.about['left']}) {test})" for test in ("== 2", "> 2", "== 1"))
    )


@slip("`and`, `or`, `if`", "both")
def _and(file: File, spot: Spot) -> Iterator[Edit]:
    left, right = (spot.text.about[side] for side in ("left", "right"))
    word = {"&": "and", "|": "or"}[spot.text.about["operator"]]
    yield from _instead(spot.text, f"({left} {word} {right})", f"({right} if {left} else {left})")
    yield from _instead(spot.text, f"bool({spot.text})")


@slip("`not`", "not")
def _not(file: File, spot: Spot) -> Iterator[Edit]:
    operand = str(spot.text)[1:]
    yield from _instead(spot.text, f"(not {operand})", f"(False if {operand} else True)", f"(-{operand})")


@slip("a chained comparison", "compare")
def _chain(file: File, spot: Spot) -> Iterator[Edit]:
    me = "self" if "definition" in spot.inside else "s"
    yield from _instead(
        spot.text, f"(0 < {me}.num < {file.most})", f"(0 <= {me}.num <= 1)", f"({me}.num == 0 == {me}.num)"
    )


@slip("a chained equality", "equal")
def _chained(file: File, spot: Spot) -> Iterator[Edit]:
    left, right = (spot.text.about[side] for side in ("left", "right"))
    other = _neighbour(file, spot)
    yield from _instead(spot.text, f"({right} == {left} != {other})", f"({left} == {right} == {left})")


@slip("brackets left out", "both")
def _precedence(file: File, spot: Spot) -> Iterator[Edit]:
    left, right = (spot.text.about[side] for side in ("left", "right"))
    operator = spot.text.about["operator"]
    bare = {
        side: str(text)[1:-1]
        for side, text in (("left", left), ("right", right))
        if text.kind in ("equal", "compare")
    }
    if "right" in bare:
        yield from _instead(spot.text, f"({left} {operator} {bare['right']})")
    if "left" in bare:
        yield from _instead(spot.text, f"({bare['left']} {operator} {right})")


@slip("Python's functions of numbers", "compare")
def _functions(file: File, spot: Spot) -> Iterator[Edit]:
    me = "self" if "definition" in spot.inside else "s"
    num = f"{me}.num"
    yield from _instead(
        spot.text,
        *(f"({test})" for test in (f"max({num}, 1) == 1", f"abs({num}) == 1", f"int({num}) == 1")),
        *(f"({test})" for test in (f"{num} % 2 == 0", f"{num} * 2 == 2", f"-{num} == 0", f"1 + {num} == 2")),
        *(
            f"({test})"
            for test in (f"{num} in range(1, 3)", f"{num} in (0, 1)", f"[True, False, True, False][{num}]")
        ),
        *(f"({test})" for test in (f"{num} in {{0, 1}}", f"{num} not in {{1}}", f"str({num}) == '1'")),
    )


@slip("`any` and `all` of Python", "quantified")
def _any(file: File, spot: Spot) -> Iterator[Edit]:
    about = spot.text.about
    me = "self" if "definition" in spot.inside else "s"
    each = f"for {about['name']} in {me}.{about['sort']}"
    for form in (
        "any({} {})",
        "all([{} {}])",
        "(sum({} {}) >= 1)",
        "(True in [{} {}])",
        "(True in {{{} {}}})",
    ):
        yield from _instead(spot.text, form.format(about["body"], each))
