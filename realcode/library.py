"""The user's part: the jars of a BookKeeper release, and a JDK that compiles the harness once."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from fencepost.encoding.errors import BadInput
from fencepost.protocols.bookkeeper.releases import NEWEST, TAGS, listed, ordered

RELEASE = re.compile(r"\d{1,4}\.\d{1,4}\.\d{1,4}")
RUN_AS = re.compile(rf"(?:(?P<version>[\w.-]{{1,60}}) as )?(?P<release>{RELEASE.pattern})")
"""A release as files name it, with the code's version before it if that is another."""
SERVER_JAR = re.compile(r"bookkeeper-server-(\d+\.\d+\.\d+)([.-][\w.-]*)?\.jar")
OLDEST = (4, 13, 0)
"""The first release that the harness supports. Metadata names bookies by id since 4.12."""
OPENED = ("java.lang", "java.io", "java.net", "java.nio", "java.util", "java.util.zip", "sun.nio.ch")
"""The packages of the JDK that Netty and BookKeeper need opened, as in BookKeeper's start script."""


@dataclass(frozen=True)
class Library:
    """The jars of one BookKeeper release, in one folder."""

    folder: Path
    release: str
    """The release whose rules the code is compared with: its own, or the one that the user gives."""
    version: str
    """The version in the name of its jar, such as 4.19.0-SNAPSHOT."""

    @cached_property
    def jars(self) -> tuple[Path, ...]:
        """All jars, sorted by name."""
        return tuple(sorted(self.folder.glob("*.jar")))

    @property
    def class_path(self) -> str:
        """The class path of all jars, for java and javac."""
        return f"{self.folder}/*"


def library(folder: Path, release: str | None = None) -> Library:
    """Return the release whose jars are in that folder, to be compared with that release or with its own.

    Raises BadInput if it cannot be driven, and if a release is given that was not read.
    """
    valid = "give the lib folder of a BookKeeper distribution, 4.13.0 or later"
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder; {valid}")
    jars = {m[1]: m for p in folder.glob("*.jar") if (m := SERVER_JAR.search(p.name)) is not None}
    found = sorted(jars)
    if not found:
        raise BadInput(f"{folder}: has no bookkeeper-server-VERSION.jar in it; {valid}")
    if len(found) > 1:
        raise BadInput(
            f"{folder}: has bookkeeper-server {' and '.join(found)} in it; give a folder with one release"
        )
    if ordered(found[0]) < OLDEST:
        raise BadInput(f"{folder}: release {found[0]} is not one that can be driven; {valid}")
    if release is not None and ordered(listed(release)) < OLDEST:
        raise BadInput(f"{release}: is not one that can be driven; give 4.13.0 or later")
    version = "".join(filter(None, jars[found[0]].groups()))
    return Library(folder.resolve(), release or found[0], version)


def with_rules(lib: Library) -> Library:
    """Return the library; raise BadInput if its release was not read, so that no rules of it are known."""
    if lib.release not in TAGS:
        raise BadInput(
            f"{lib.folder}: version {lib.version} is none of the releases that were read, up to {NEWEST}; "
            f"give the release whose rules it has, such as --release {NEWEST}"
        )
    return lib


def jdk(tool: str) -> str:
    """Return the path of `java` or `javac`, from $JAVA_HOME if set, else from PATH; raise BadInput."""
    home = os.environ.get("JAVA_HOME")
    path = shutil.which(tool, path=f"{home}/bin") if home else shutil.which(tool)
    if path is None:
        where = f"JAVA_HOME={home}" if home else "PATH"
        raise BadInput(f"{where}: has no {tool}; install a JDK, 17 or newer, or set JAVA_HOME to one")
    return path


def compiled(lib: Library) -> Path:
    """Return the folder of the harness's classes, compiled for these jars unless that was done before.

    It is in $FENCEPOST_CACHE, or else in the user's folder for caches. Raises BadInput if there is no JDK, or
    if it cannot compile the harness against these jars.
    """
    javac = jdk("javac")
    sources = harness_sources()
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = os.environ.get("FENCEPOST_CACHE") or Path(caches, "fencepost")
    folder = Path(cache, "realcode", f"{lib.release}-{_digest(lib, sources, javac)}")
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        command = [javac, "-nowarn", "-d", str(making), "-cp", lib.class_path, *map(str, sources)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if result.returncode != 0:
            first = next(
                (line for line in result.stderr.splitlines() if "error:" in line), result.stderr[:200]
            )
            raise BadInput(
                f"{lib.folder}: javac cannot compile the harness against release {lib.release} "
                f"({first.rpartition('/')[2]}); give all jars of the distribution, and a JDK 17 or newer"
            )
        if not folder.is_dir():
            os.replace(making, folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return folder


def harness_sources() -> list[Path]:
    """Return the Java files of the harness."""
    root = Path(str(files("fencepost.realcode").joinpath("harness")))
    return sorted(root.rglob("*.java"))


def _digest(lib: Library, sources: Sequence[Path], javac: str) -> str:
    """Return a digest of everything that the classes depend on: the sources, the jars, the compiler."""
    found = hashlib.sha256(javac.encode())
    for source in sources:
        found.update(source.read_bytes())
    for jar in lib.jars:
        found.update(f"{jar.name} {jar.stat().st_size}".encode())
    return found.hexdigest()[:16]
