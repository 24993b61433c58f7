"""The site that `make site` builds: reading it sends no request, and every link in it leads somewhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from support.links import READER

pytest.importorskip("material", reason="mkdocs-material is not installed: make dev")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site")]

ROOT = Path(__file__).resolve().parents[2]
LOADED = re.compile(r"url\(\s*['\"]?((?:https?:)?//[^)'\"]+)|@import\s+['\"]((?:https?:)?//[^'\"]+)")
"""The addresses on other hosts that a style sheet loads."""


class Page(HTMLParser):
    """The links of a page, the addresses that it loads by itself, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.classes: set[str] = set()
        self.feed(text)
        self.loads += [one or other for one, other in LOADED.findall(text)]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Add the links and anchors of a tag."""
        given = {name: value or "" for name, value in attrs}
        self.classes.update(given.get("class", "").split())
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag != "a":
            self.loads += [given[name] for name in ("src", "href", "data") if name in given]


@cache
def page(file: Path) -> Page:
    """Return a built page."""
    return Page(file.read_text(encoding="utf-8"))


def from_elsewhere(read: Page) -> list[str]:
    """Return the addresses that a page loads from other hosts.

    For a diagram of that class the theme would load Mermaid.
    """
    asked = [address for address in read.loads if urlsplit(address).netloc]
    return asked + [name for name in ("mermaid",) if name in read.classes]


def dead_links(file: Path) -> Iterator[str]:
    """Yield the links of a page that lead to no file or anchor; `#step=15` is for the script of a page."""
    for link in page(file).links + page(file).loads:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        anchor = unquote(parts.fragment)
        lands = not anchor or "=" in anchor or anchor in page(target).anchors if target.is_file() else False
        if not lands:
            yield f"{file.name}: {link}"


def test_reading_the_site_sends_no_request_to_anywhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert (site / "index.html") in pages
    assert {file.name: found for file in pages if (found := from_elsewhere(page(file)))} == {}
    styles = [file.read_text(encoding="utf-8") for file in site.rglob("*.css")]
    assert styles
    assert not any(LOADED.search(style) for style in styles)


@pytest.mark.parametrize(
    "planted",
    [
        '<script src="https://unpkg.com/mermaid"></script>',
        '<link rel="preconnect" href="https://fonts.gstatic.com" crossorigin>',
        '<img src="//example.org/a.png">',
        "<style>@import 'https://example.org/a.css'</style>",
        '<p style="background: url(https://example.org/a.png)">',
        '<pre class="mermaid">',
    ],
)
def test_what_comes_from_elsewhere_is_noticed(planted: str) -> None:
    assert from_elsewhere(Page(planted))
    assert not from_elsewhere(Page('<a href="https://example.org">a link sends nothing</a>'))


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    """This includes links out of docs/: to code, to README.md, to CONTRIBUTING.md."""
    pages = [file for file in sorted(site.rglob("*.html")) if file.name != "404.html"]
    assert [dead for file in pages for dead in dead_links(file)] == []
    code = site / "repository" / "examples" / "two_copies.py.html"
    assert "PROTOCOL" in code.read_text(encoding="utf-8")


def test_a_link_of_the_site_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "planted.html"
    links = ["planted.html#here", "planted.html#gone", "gone.html", "https://example.org"]
    file.write_text('<p id="here">' + "".join(f'<a href="{link}">' for link in links))
    assert list(dead_links(file)) == ["planted.html: planted.html#gone", "planted.html: gone.html"]


def parts(html: str) -> Counter[str]:
    """Return how many paragraphs of each kind a page has."""
    return Counter(re.findall(r"<(li|ul|ol|pre|tr|strong|em|img|h[1-6])[ >]", html))


def test_a_page_has_the_lists_tables_and_code_in_the_site_that_it_has_on_the_forge(site: Path) -> None:
    # Planted: lists left unchanged, though two readers of Markdown differ in where a list begins.
    pages = sorted((ROOT / "docs").rglob("*.md"))
    assert len(pages) > 20
    for file in pages:
        where = site / file.relative_to(ROOT / "docs")
        built = where.with_name("index.html" if file.stem == "README" else f"{file.stem}.html")
        text = built.read_text(encoding="utf-8").split("<article")[1].split("</article>")[0]
        assert parts(text) == parts(READER.render(file.read_text(encoding="utf-8"))), file.name


def test_the_navigation_has_every_page_of_the_index(site: Path) -> None:
    # Planted: navigation.indexes, which uses the index of a folder as the heading of its section.
    index = (site / "index.html").read_text(encoding="utf-8")
    named = re.findall(
        r"^- \[([^]]+)\]", (ROOT / "docs" / "README.md").read_text("utf-8"), flags=re.MULTILINE
    )
    shown = re.findall(r'<span class="md-ellipsis">\s*(.*?)\s*<', index)
    assert len(named) > 20
    assert [name for name in named if name not in shown] == []


def test_the_site_can_be_searched_and_be_dark(site: Path) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    assert 'data-md-component="search"' in index
    assert 'data-md-color-scheme="slate"' in index
    assert "counterexample" in (site / "search" / "search_index.json").read_text(encoding="utf-8")
