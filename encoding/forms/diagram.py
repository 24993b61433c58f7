"""The diagram of a story as a piece of a page: drawn for wide and for narrow places, of which it shows what fits.

Whatever page has it brings along `style()` and `script()`; the script defines `Diagram`, which marks a step and shows
it. So a page that steps through a saved trace and one that takes steps by itself draw the same.
"""

from __future__ import annotations

from importlib.resources import files

from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.forms.lifelines import NARROW, WIDE, Drawing

SHRUNK = 0.84
"""A wide drawing is shown where it need not be made smaller than that."""
_GROWN = 1.15
"""No drawing is made larger than that."""


def diagram(story: Counterexample) -> str:
    """An element of class `diagram`: it scrolls by itself if it is given a height, and its heads stay in view."""
    wide, narrow = Drawing(story, WIDE), Drawing(story, NARROW)
    sizes = f"--wide: {wide.width * _GROWN:.0f}px; --narrow: {narrow.width * _GROWN:.0f}px; --least: {narrow.width:.0f}px"
    room = round(wide.width * SHRUNK)
    return (
        f'<section class="diagram" aria-label="Sequence diagram" tabindex="0" style="{sizes}">\n'
        f"<style>@container diagram (min-width: {room}px) {{ .diagram .narrow {{ display: none; }} }}\n"
        f"@container diagram (max-width: {room - 0.01:.2f}px) {{ .diagram .wide {{ display: none; }} }}</style>\n"
        f'<div class="drawings">\n'
        f"{wide.heads()}{narrow.heads()}\n{wide.body()}\n{narrow.body()}\n{part('diagram.html').rstrip()}\n</div>\n</section>"
    )


def style() -> str:
    """The colours, and how a diagram looks."""
    return f"{part('palette.css').rstrip()}\n{part('diagram.css').rstrip()}"


def script() -> str:
    """The class `Diagram`: `paint(step, of)`, `reveal(step, floor)`, and `onstep` to hear of a click on a row."""
    return part("diagram.js").rstrip()


def part(name: str) -> str:
    """A file beside this one."""
    return files("fencepost.encoding.forms").joinpath(name).read_text(encoding="utf-8")
