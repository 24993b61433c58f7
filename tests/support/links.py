"""Broken links in the pages: to a file that does not exist, or to a heading that its page does not have.

python -m support.links [PAGE ...]        all Markdown files that git tracks, if none is named

Web addresses are not requested. Exit code 1 if a link is broken.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

READER = MarkdownIt("commonmark").enable("table")
TARGETS = {"link_open": "href", "image": "src"}


def dead_links(page: Path, root: Path) -> Iterator[str]:
    """Yield a line for each broken link of a page; a link out of the project counts as broken."""
    for target, line in _links(page):
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        where = f"{page}:{line}: {target}"
        file = (page.parent / unquote(parts.path)).resolve() if parts.path else page.resolve()
        if not file.is_relative_to(root.resolve()) or not file.exists():
            yield f"{where}: no such file in the project"
        elif parts.fragment and unquote(parts.fragment) not in anchors(file):
            yield f"{where}: {file.name} has no such heading"


def _links(page: Path) -> Iterator[tuple[str, int]]:
    """Yield every link and image of a page with the line on which its paragraph begins."""
    for block in _tokens(page):
        for token in block.children or ():
            if token.type in TARGETS:
                yield str(token.attrs[TARGETS[token.type]]), (block.map or (0, 0))[0] + 1


def _tokens(page: Path) -> list[Token]:
    return READER.parse(page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page: its headings as GitHub names them, and anchors set by hand."""
    if page.suffix != ".md":
        return frozenset()
    tokens, seen, found = _tokens(page), Counter[str](), set[str]()
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            name = slug(_words(inline))
            found.add(f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1
    by_hand = re.findall(r'<a (?:id|name)="([^"]+)">', page.read_text(encoding="utf-8"))
    return frozenset(found | set(by_hand))


def _words(inline: Token) -> str:
    """Return the text of a heading without its marks."""
    return "".join(token.content for token in inline.children or ())


def slug(heading: str) -> str:
    """Return GitHub's anchor of a heading: lower case, no punctuation, a hyphen for each space."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def main(arguments: Sequence[str]) -> int:
    """Print the broken links."""
    root = Path.cwd()
    tracked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    names = arguments or subprocess.run(tracked, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    dead = [line for name in names if name and Path(name).exists() for line in dead_links(Path(name), root)]
    print("\n".join(dead) or "all links lead somewhere", file=sys.stderr if dead else sys.stdout)
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
