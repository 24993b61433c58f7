"""Kinds of slips in values: labels, members, numbers and truths that a sort does not have."""

from __future__ import annotations

from collections.abc import Iterator

from support.slips.files import File
from support.slips.kinds import Edit, instead, is_compared, slip, spot_of
from support.slips.texts import Spot


@slip("a typo in a label", "label")
def _typo(file: File, spot: Spot) -> Iterator[Edit]:
    name = str(spot.text).strip('"')
    yield from instead(spot.text, f'"{name}9"', f'"{name.upper()}"', f'"{name[0]}"', must=is_compared(spot))


@slip("a label of another sort", "label")
def _other_sort(file: File, spot: Spot) -> Iterator[Edit]:
    other = {"n": "c", "c": "n"}[str(spot.text)[1]]
    yield from instead(spot.text, f'"{other}1"', f'"{other}2"', must=is_compared(spot))


@slip("a number for a label", "label")
def _number(file: File, spot: Spot) -> Iterator[Edit]:
    yield from instead(spot.text, str(spot.text)[2:-1], "True", "1.0", must=is_compared(spot))


@slip("None for a label or member", "equal")
def _none(file: File, spot: Spot) -> Iterator[Edit]:
    about = spot.text.about
    operator = "!=" if about["negated"] else "=="
    yield from instead(spot.text, f"({about['left']} {operator} None)", must=True)


@slip("the value of a member", "member")
def _value(file: File, spot: Spot) -> Iterator[Edit]:
    name = str(spot.text).removeprefix("Phase.")
    yield from instead(spot.text, f'"{name.lower()}"', f'"{name}"', must=is_compared(spot))


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
    yield Edit({spot.text: f"Other.{name}", spot_of(file, "module"): _TWIN}, is_compared(spot))


@slip("a member of another Enum", "member")
def _other_enum(file: File, spot: Spot) -> Iterator[Edit]:
    name = str(spot.text).removeprefix("Phase.")
    role = 'class Role(Enum):\n    IDLE = "idle"\n    BUSY = "busy"\n    DONE = "done"\n\n\n'
    yield Edit({spot.text: f"Role.{name}", spot_of(file, "module"): role}, is_compared(spot))


@slip("a label sort named like an Enum", "equal")
def _named_like(file: File, spot: Spot) -> Iterator[Edit]:
    if spot.text.about["sort"] == "Phase" and "body" not in spot.inside and "definition" not in spot.inside:
        declared = '        self.twin = labels("Phase", "p", 2)\n        self.odd = variable(self.twin)\n'
        left = spot.text.about["left"]
        for text in (f"({left} == s.odd)", f"exists(s.twin, lambda t: t == {left})", f'({left} == "p1")'):
            yield Edit({spot.text: text, spot_of(file, "declared"): declared}, True)


@slip("a value one past a domain", "number")
def _past(file: File, spot: Spot) -> Iterator[Edit]:
    yield from instead(spot.text, str(file.most + 1), "-1")


@slip("a value one past a domain, in an update", "update")
def _past_update(file: File, spot: Spot) -> Iterator[Edit]:
    if spot.text.about["variable"] == "num":
        yield from instead(
            spot.text, "s.num.set(s.num + 1)", "s.num.set(s.num - 1)", f"s.num.set({file.most + 1})"
        )


@slip("a float or a truth for a number", "number")
def _float(file: File, spot: Spot) -> Iterator[Edit]:
    number = str(spot.text)
    yield from instead(spot.text, f"{number}.0", f"{number}.5", str(number != "0"), f'"{number}"', "None")


@slip("a number for a truth", "truth")
def _as_number(file: File, spot: Spot) -> Iterator[Edit]:
    yield from instead(spot.text, f"({spot.text} == 1)", f"({spot.text} != 0)", f"({spot.text} > 0)")
    yield from instead(spot.text, f"({spot.text} == 2)", f'({spot.text} == "yes")', f"({spot.text} + 1 == 2)")


@slip("a number for a truth, in an update", "constant")
def _set_number(file: File, spot: Spot) -> Iterator[Edit]:
    yield from instead(spot.text, "1" if str(spot.text) == "True" else "0", "None", '"yes"', "2", "1.0")


@slip("a wrong initial value", "initial")
def _initial(file: File, spot: Spot) -> Iterator[Edit]:
    wrong = {
        "leader": ('"n9"', "1", "None", '"c1"', "Phase.IDLE", "0"),
        "num": (str(file.most + 1), "-1", "True", "1.0", "0.5", '"0"', "None"),
        "closed": ("1", "0", "2", "None", '"no"'),
    }.get(spot.text.about["variable"], ('"idle"', "0", "None", "Phase", '"n1"'))
    yield from instead(spot.text, *(f", initial={value}" for value in wrong))


@slip("an index of another sort", "index")
def _index(file: File, spot: Spot) -> Iterator[Edit]:
    yield from instead(spot.text, "1", "True", "Phase.IDLE", "None", '"n9"', "0.0")
    yield from instead(spot.text, '"c1"' if spot.text.about["sort"] == "node" else '"n1"')
