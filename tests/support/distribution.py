"""The built wheel: it has each file that git tracks, and it works where there is no clone.

PYTHONPATH=tests python -m support.distribution dist/fencepost-*.whl
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "advice",
    "cli",
    "encoding",
    "explore",
    "properties",
    "protocols",
    "quorums",
    "realcode",
    "sweeps",
)
CASE = """[[case]]
protocol = "bookkeeper-4.13"
property = "no-divergence"
set = { recovery_reads_fence = "yes" }
expect = "proved"
"""
GRID = """[[grid]]
protocols = "bookkeeper-4.13"
properties = "no-divergence"
[grid.set]
ensemble = 1
write_quorum = 1
ack_quorum = 1
recovery_reads_fence = "yes"
"""
NOTEBOOK = """
import fencepost
print(fencepost.check("bookkeeper-4.13", properties=["no-divergence"])["no-divergence"].trace.html())
"""
EXPLORE = """
import subprocess, urllib.request
words = ["fencepost", "explore", "bookkeeper-core", "--no-browser"]
with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
    print(urllib.request.urlopen(server.stdout.readline().strip()).read().decode())
    server.terminate()
"""
SERVE = """
import asyncio
from mcp import Client, StdioServerParameters
async def asked():
    async with Client(StdioServerParameters(command="fencepost", args=["serve"])) as client:
        sizes = {"ensemble": 2, "write_quorum": 2, "ack_quorum": 2}
        print((await client.call_tool("quorum", sizes)).content[0].text)
asyncio.run(asked())
"""
"""Programs that ask for the page of a notebook, the page of the explorer, and an answer for programs."""

SMALL = [word for name in ("ensemble", "write_quorum", "ack_quorum") for word in ("--set", f"{name}=1")]

SIZES = ("-e", "2", "-w", "2", "-a", "2", "-n", "2")


class Command(NamedTuple):
    """A command of the new environment, its exit code, and a text in what it prints."""

    words: Sequence[str]
    code: int
    printed: str


COMMANDS = (
    Command(("python", "-c", "import fencepost; print(fencepost.__file__)"), 0, "site-packages"),
    Command(("fencepost", "check", "bookkeeper-4.13", "--property", "no-divergence"), 1, "in 17 steps"),
    Command(("fencepost", "check", "bookkeeper-4.13", "--engine=states", *SMALL), 0, "states within"),
    Command(
        ("fencepost", *["advise", "-e", "2", "-w", "2", "-a", "2", "-n", "2", "--release", "4.17.3"]),
        1,
        "fencepost known NAME",
    ),
    Command(("python", "-c", NOTEBOOK), 0, "finish recovery"),
    Command(("python", "-c", EXPLORE), 0, "<title>Fencepost: explore"),
    Command(("python", "-c", SERVE), 0, "exit code 0: success"),
    Command(("python", "-m", "pytest", "-q", "-p", "no:cacheprovider"), 0, "1 passed"),
    Command(("fencepost", "sweep", "grid.toml", "found"), 0, "1 proved"),
)


def tracked() -> set[str]:
    """Return the files that git tracks in the folders that ship, as they are named in the wheel."""
    names = subprocess.check_output(["git", "ls-files", "api", *FOLDERS], cwd=ROOT, text=True).split()
    return {f"fencepost/{name.removeprefix('api/')}" for name in names}


def differences(files: Collection[str], wanted: Collection[str]) -> list[str]:
    """Return a line for each file that the wheel lacks, and for each that git does not track."""
    shipped = {name for name in files if name.startswith("fencepost/")}
    lacking = [f"{name}: not in the wheel" for name in sorted(set(wanted) - shipped)]
    return lacking + [
        f"{name}: in the wheel, but git does not track it" for name in sorted(shipped - set(wanted))
    ]


def failure(command: Command, programs: Path, folder: Path) -> str | None:
    """Run a command in the folder, and return a line if it does something else."""
    inherited = {n: v for n, v in os.environ.items() if n not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment = inherited | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    program, *arguments = command.words
    ran = subprocess.run(
        [programs / program, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode == command.code and command.printed in ran.stdout:
        return None
    last = " ".join((ran.stderr or ran.stdout).split()[-100:])
    expected = f"expected {command.code} and {command.printed!r}"
    return f"{' '.join(command.words)}: exit code {ran.returncode}, {expected}; {last}"


def failures(wheel: Path, folder: Path) -> list[str]:
    """Install the wheel in a new environment and return a line for each command that fails there."""
    venv.create(folder / "fresh", with_pip=True)
    programs, empty = folder / "fresh" / "bin", folder / "empty"
    empty.mkdir()
    (empty / "small.cases.toml").write_text(CASE, encoding="utf-8")
    (empty / "grid.toml").write_text(GRID, encoding="utf-8")
    packages = [f"{wheel.resolve()}[explore,mcp,spark]", "pytest>=8.4,<9.2"]
    subprocess.run([programs / "pip", "install", "--quiet", *packages], check=True, cwd=empty)
    return [line for command in COMMANDS if (line := failure(command, programs, empty))]


def main(wheel: Path) -> int:
    """Check the wheel, print what is wrong with it, and return the exit code."""
    found = differences(zipfile.ZipFile(wheel).namelist(), tracked())
    if not found:
        with tempfile.TemporaryDirectory() as folder:
            found = failures(wheel, Path(folder))
    print(*(found or [f"{wheel.name}: complete, and works without a clone"]), sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
