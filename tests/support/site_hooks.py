"""The hooks of `make site`: docs/README.md gives the navigation, and pages look as they do on GitHub.

A file outside docs/ that a page links to becomes a page of the site, under repository/.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ENTRY = re.compile(r"^- \[([^]]+)\]\(([^)]+)\)", re.MULTILINE)
ITEM = re.compile(r"(?:[-*+]|\d+[.)]) ")
FIRST_ITEM = re.compile(r"(?:[-*+]|1[.)]) ")
"""How a list may begin without a blank line before it."""
HASH = re.compile(r"^((?:[-*+] )?)#(?=[^#\s])")
"""A hash that makes no heading on the forge."""
FENCE = re.compile(r" *(```+|~~~+)")
LINK = re.compile(r"(?<=\]\()([^()\s#:]+)(?=[)#])")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the navigation from docs/README.md: a section for each heading, a page for each item of a list."""
    index, *sections = (DOCS / "README.md").read_text(encoding="utf-8").split("\n## ")
    nav: list[Any] = [{index.split("\n")[0].removeprefix("# "): "README.md"}]
    nav += [{s.split("\n")[0]: [{name: page} for name, page in ENTRY.findall(s)]} for s in sections]
    config.nav = nav
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add a page for each file outside docs/ that a page links to, directly or through others."""
    seen = {DOCS / file.src_uri for file in files.documentation_pages()}
    waiting = sorted(seen)
    while waiting:
        for target in sorted(set(_linked(waiting.pop())) - seen):
            if not target.is_relative_to(DOCS):
                seen.add(target)
                waiting.append(target)
                text, aside = _as_page(target), InclusionLevel.NOT_IN_NAV
                files.append(File.generated(config, _source(target), content=text, inclusion=aside))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Return the text of a page with its links and its lists as the site needs them."""
    file = DOCS / page.file.src_uri
    return _as_read_on_the_forge(_relinked(markdown, file) if file.exists() else markdown)


def _linked(file: Path) -> Iterator[Path]:
    """Yield each file and folder of the project that a Markdown file or a folder's page links to."""
    if file.suffix == ".md" or file.is_dir():
        for target in LINK.findall(_text(file)):
            path = (_folder(file) / target).resolve()
            if path.is_relative_to(ROOT) and path.exists():
                yield path


def _relinked(text: str, file: Path) -> str:
    """Return the text with every link to a file of the project leading to that file's page."""

    def relinked(link: re.Match[str]) -> str:
        path = (_folder(file) / link[0]).resolve()
        if not (path.is_relative_to(ROOT) and path.exists()):
            return link[0]
        return os.path.relpath(_source(path), os.path.dirname(_source(file)) or ".")

    return LINK.sub(relinked, text)


def _as_read_on_the_forge(text: str) -> str:
    """Return the text changed so that Python-Markdown reads it as the forge does.

    A list gets a blank line before it, and its contents stand four spaces in.
    """
    lines, fence, width, before = list[str](), "", 0, ""
    for line in text.split("\n"):
        begins = not fence and line and not line.startswith(" ")
        if begins:
            item = (ITEM if width or not before else FIRST_ITEM).match(line)
            if item and before and not width:
                lines.append("")
            width = len(item[0]) if item else width if before and not FENCE.match(line) else 0
        if (mark := FENCE.match(line)) and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif not fence:
            line = HASH.sub(r"\1\#", line)
        lines.append(" " * (4 - width) + line if width and line.startswith(" " * width) else line)
        before = line
    return "\n".join(lines)


def _source(path: Path) -> str:
    """Return the name, in the site's sources, of the page that shows a file or a folder."""
    if path.is_relative_to(DOCS):
        return str(path.relative_to(DOCS))
    name = f"repository/{path.relative_to(ROOT)}"
    if path.is_dir():
        return f"{name}/index.md"
    return name if path.suffix == ".md" else f"{name}.md"


def _as_page(path: Path) -> str:
    """Return Markdown as it is, a folder as a list, and any other file as code."""
    if path.suffix == ".md" or path.is_dir():
        return _relinked(_text(path), path)
    return (
        f"# {path.relative_to(ROOT)}\n\n~~~~~~{path.suffix[1:]}\n{path.read_text(encoding='utf-8')}\n~~~~~~\n"
    )


def _text(path: Path) -> str:
    """Return what stands in a Markdown file; of a folder, a list of its files."""
    if not path.is_dir():
        return path.read_text(encoding="utf-8")
    files = sorted(p.name for p in path.iterdir() if p.is_file() and p.suffix)
    return f"# {path.relative_to(ROOT)}\n\n" + "".join(f"- [{name}]({name})\n" for name in files)


def _folder(file: Path) -> Path:
    """Return the folder that the links of a page begin at."""
    return file if file.is_dir() else file.parent
