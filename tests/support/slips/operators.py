"""Kinds of slips in operators and functions of Python that leave the language."""

from __future__ import annotations

from collections.abc import Iterator

from support.slips.files import File
from support.slips.kinds import Edit, Maker, instead, slip, spot_of
from support.slips.texts import Spot, Text


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
            yield from instead(spot.text, f"({about['left']} {operator} {two})")
            yield from instead(spot.text, f"({about['left']} {operator} {one})")
            yield from instead(spot.text, f"({about['left']} not {operator} {two})".replace("not not ", ""))

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
        yield from instead(spot.text, f"({about['left']} in {container})")
        yield from instead(spot.text, f"({about['left']} not in {container})")


@slip("a set or a dictionary of terms", "equal")
def _hashed(file: File, spot: Spot) -> Iterator[Edit]:
    left, right = (spot.text.about[side] for side in ("left", "right"))
    other = _neighbour(file, spot)
    yield from instead(
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
                yield from instead(spot.text, f"({left} {operator} {quoted})")


@slip("`.name` and `.value`", "equal")
def _attribute(file: File, spot: Spot) -> Iterator[Edit]:
    left, right = str(spot.text.about["left"]), str(spot.text.about["right"])
    word = right.removeprefix("Phase.").strip('"')
    yield from instead(
        spot.text,
        f'({left}.name == "{word}")',
        f'({left}.value == "{word.lower()}")',
        f'({left}.name in ("{word}", "BUSY"))',
        f'({left}.name != "{word}")',
    )


@slip("`len()` of a term", "equal")
def _len(file: File, spot: Spot) -> Iterator[Edit]:
    yield from instead(
        spot.text, *(f"(len({spot.text.about['left']}) {test})" for test in ("== 2", "> 2", "== 1"))
    )


@slip("`and`, `or`, `if`", "both")
def _and(file: File, spot: Spot) -> Iterator[Edit]:
    left, right = (spot.text.about[side] for side in ("left", "right"))
    word = {"&": "and", "|": "or"}[spot.text.about["operator"]]
    yield from instead(spot.text, f"({left} {word} {right})", f"({right} if {left} else {left})")
    yield from instead(spot.text, f"bool({spot.text})")


@slip("`not`", "not")
def _not(file: File, spot: Spot) -> Iterator[Edit]:
    operand = str(spot.text)[1:]
    yield from instead(spot.text, f"(not {operand})", f"(False if {operand} else True)", f"(-{operand})")


@slip("a chained comparison", "compare")
def _chain(file: File, spot: Spot) -> Iterator[Edit]:
    me = "self" if "definition" in spot.inside else "s"
    yield from instead(
        spot.text, f"(0 < {me}.num < {file.most})", f"(0 <= {me}.num <= 1)", f"({me}.num == 0 == {me}.num)"
    )


@slip("a chained equality", "equal")
def _chained(file: File, spot: Spot) -> Iterator[Edit]:
    left, right = (spot.text.about[side] for side in ("left", "right"))
    other = _neighbour(file, spot)
    yield from instead(spot.text, f"({right} == {left} != {other})", f"({left} == {right} == {left})")


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
        yield from instead(spot.text, f"({left} {operator} {bare['right']})")
    if "left" in bare:
        yield from instead(spot.text, f"({bare['left']} {operator} {right})")


@slip("Python's functions of numbers", "compare")
def _functions(file: File, spot: Spot) -> Iterator[Edit]:
    me = "self" if "definition" in spot.inside else "s"
    num = f"{me}.num"
    yield from instead(
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
        yield from instead(spot.text, form.format(about["body"], each))


@slip("`match` on a term", "start")
def _match(file: File, spot: Spot) -> Iterator[Edit]:
    following = file.spots[[other.text for other in file.spots].index(spot.text) :]
    guard = next(other.text for other in following if other.text.kind == "guard")
    subjects = [('s.on["n1"]', "True", "=="), ('s.on["n1"]', "False", "=="), ('s.on["n2"]', "None", "==")]
    if "mode" in file.variables:
        subjects.append(("s.mode", "Phase.BUSY", "=="))
    if "leader" in file.variables:
        subjects.append(("s.leader", '"n2"', "=="))
    for subject, pattern, equal in subjects:
        lines = (
            f'    match {subject}:\n        case {pattern}:\n            allowed = s.on["n2"]\n'
            '        case _:\n            allowed = ~s.on["n2"]\n'
        )
        meant = f'if_({subject} {equal} {pattern}, s.on["n2"], ~s.on["n2"])'
        yield Edit(
            {spot.text: lines, guard: f"({guard}) & allowed"},
            meant={
                guard: f"({guard}) & {meant}",
                spot_of(file, "module"): "from fencepost.encoding.language import if_\n\n\n",
            },
        )


@slip("a list of values that a sort does not have", "equal")
def _one_of(file: File, spot: Spot) -> Iterator[Edit]:
    left, right = (spot.text.about[side] for side in ("left", "right"))
    other = _neighbour(file, spot)
    for values, must in (
        (f"({right}, {other})", False),
        (f"[{other}]", False),
        ("()", False),
        (f'({right}, "n9")', True),
        (f"({right}, None)", True),
        (f"({right})", False),
        (f"{{{other}}}", False),
    ):
        yield Edit({spot.text: f"is_one_of({left}, {values})", **_imported(file)}, must)


def _imported(file: File) -> dict[Text, str]:
    return {spot_of(file, "module"): "from fencepost.encoding.language import is_one_of\n\n\n"}


_MODULE = """helper = types.ModuleType("{}")
exec({!r}, helper.__dict__)


"""


@slip("an operator of Python in another module", "equal")
def _elsewhere(file: File, spot: Spot) -> Iterator[Edit]:
    left, right = (spot.text.about[side] for side in ("left", "right"))
    other = _neighbour(file, spot)
    for name in ("rules", "copybook", "typing_rules", "dataclasses_of_rules"):
        for text, use in (
            ("def test(x, values): return x in set(values)", f"helper.test({left}, [{right}, {other}])"),
            ("def test(x, values): return str(x) in values", f"helper.test({left}, [str({right})])"),
        ):
            module = "import types\n\n" + _MODULE.format(name, text)
            yield Edit({spot.text: use, spot_of(file, "module"): module})
