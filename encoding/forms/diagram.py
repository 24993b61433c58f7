"""The diagram of a counterexample as a piece of a page, with a wide drawing and a narrow one.

A page with a diagram also includes `style()` and `script()`. The script defines `Diagram`, which marks a step
and scrolls to it. The page of a saved trace and the page of the explorer share all three.
"""

from __future__ import annotations

from importlib.resources import files

from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.forms.lifelines import NARROW, WIDE, Drawing, Offers

SHRUNK = 0.84
"""The smallest scale of the wide drawing; below it the narrow one is shown."""
_GROWN, _GROWN_NARROW = 1.15, 1.25
"""The largest scale of the wide drawing, and of the narrow one."""
_LEAST = 0.85
"""The smallest scale of the narrow drawing; below it the diagram scrolls sideways."""


def diagram(counterexample: Counterexample, offers: Offers | None = None) -> str:
    """Return an element of class `diagram`. With a fixed height it scrolls, and its heads stay in view.

    With `offers` a row at the end shows who can act next.
    """
    wide, narrow = Drawing(counterexample, WIDE, offers), Drawing(counterexample, NARROW, offers)
    most_wide, most_narrow = wide.width * _GROWN, narrow.width * _GROWN_NARROW
    sizes = (
        f"--wide: {most_wide:.0f}px; --narrow: {most_narrow:.0f}px; --least: {narrow.width * _LEAST:.0f}px"
    )
    room = round(wide.width * SHRUNK)
    return (
        f'<section class="diagram" aria-label="Sequence diagram" tabindex="0" style="{sizes}">\n'
        f"<style>{_hides('narrow', f'min-width: {room}px')}\n"
        f"@container diagram (min-width: {room}px) {{ .diagram .above {{ position: absolute; }} }}\n"
        f"{_hides('wide', f'max-width: {room - 0.01:.2f}px')}</style>\n"
        f'<div class="drawings">\n'
        f'<div class="top">{wide.heads()}{narrow.heads()}'
        '<button type="button" class="above" hidden></button></div>\n'
        f"{wide.body()}\n{narrow.body()}\n"
        f"{part('diagram.html').rstrip()}\n</div>\n</section>"
    )


def _hides(drawing: str, width: str) -> str:
    """Return the rule that hides a drawing where the diagram has that width."""
    return f"@container diagram ({width}) {{ .diagram .{drawing} {{ display: none; }} }}"


def style() -> str:
    """Return the style sheet of a diagram, colours included."""
    return f"{part('palette.css').rstrip()}\n{part('diagram.css').rstrip()}"


def script() -> str:
    """Return the JavaScript class `Diagram`."""
    return part("diagram.js").rstrip()


def part(name: str) -> str:
    """Return the text of a file of this package."""
    return files("fencepost.encoding.forms").joinpath(name).read_text(encoding="utf-8")
