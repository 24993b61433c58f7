"""The tools of `fencepost serve`. Each runs one command of Fencepost in a process of its own.

A program that connects chooses names and numbers, never a whole command line. Each value stands behind the
name of its option, so no value is read as an option.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from pydantic import ConfigDict, ValidationError

from fencepost.cli.exits import MEANINGS, ExitCode
from fencepost.encoding.documents import shown
from fencepost.encoding.errors import BadInput, unknown_name
from fencepost.encoding.versions import version
from fencepost.properties.catalogue import find

MOST_CHARACTERS = 20_000
"""The most characters of an answer."""

GRACE = 10.0
"""Seconds that a command has beyond its own limit before it is ended from outside."""

ANSWERS = (ExitCode.SUCCESS, ExitCode.VIOLATED, ExitCode.UNDECIDED)

INSTRUCTIONS = (
    "Fencepost checks protocols of replicated logs. A verdict is about one instance: its sizes and switches. "
    "Only `proved` covers every execution; `holds` is up to a bound, `undecided` and `vacuous` say nothing. "
    "`describe` lists the settings and properties of a protocol."
)

Settings = dict[str, str | int | bool]


def bounded(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a text of about that length at most. The middle is left out, because verdicts are at the end."""
    if len(text) <= most:
        return text
    half, lacking = most // 2, len(text) - most
    return f"{text[:half]}\n… {lacking} characters are left out; ask for one property …\n{text[-half:]}"


@dataclass(frozen=True)
class Door:
    """The limits of a server: the folder that it reads, whether it runs files, the seconds of a command."""

    folder: Path | None
    allow_run: bool
    seconds: float
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Commands run one after the other."""

    def inside(self, name: str) -> Path:
        """Return the file of that name in the folder, links followed. Raises ToolError for any other."""
        if self.folder is None:
            raise ToolError(f"{name}: this server reads no files; start it with --folder DIR")
        try:
            path = (self.folder / name).resolve()
            found = path.is_relative_to(self.folder.resolve()) and path.is_file()
        except (OSError, ValueError):
            found = False
        if not found:
            raise ToolError(f"{name}: no file in the folder of this server; valid: a path from that folder")
        return path

    def protocol(self, name: str) -> str:
        """Return the preset of that name, or the path of a file that may be run. Raises ToolError."""
        if not name.endswith(".py"):
            try:
                return find(name).name
            except BadInput as error:
                raise ToolError(str(error)) from error
        path = self.inside(name)
        if not self.allow_run:
            raise ToolError(f"{name}: is run as Python; start the server with --allow-run, or name a preset")
        return str(path)

    async def answer(self, command: str, *words: str) -> str:
        """Return what a command prints, and its exit code. Raises ToolError if it gives no answer."""
        try:
            async with asyncio.timeout(self.seconds + GRACE), self.turn:
                code, printed, told = await self._run(command, *words)
        except TimeoutError as error:
            raise ToolError(f"undecided: time-out after {self.seconds:g} s") from error
        if code not in ANSWERS:
            raise ToolError(bounded(told.strip() or f"exit code {code}"))
        return f"{bounded((printed or told).rstrip())}\n\nexit code {code}: {MEANINGS[ExitCode(code)]}"

    async def _run(self, *words: str) -> tuple[int, str, str]:
        program = [sys.executable, "-P", "-m", "fencepost.cli", *words]  # -P: import nothing from here
        process = await asyncio.create_subprocess_exec(*program, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
        try:
            out, err = await process.communicate()
        finally:
            await _end(process)
        return process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace")


async def _end(process: Process) -> None:
    """End a process that still runs. Its supervisor ends the processes that work for it."""
    if process.returncode is None:
        process.terminate()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(process.wait()), GRACE)
    if process.returncode is None:
        process.kill()
        await process.wait()


def words(*, set: Settings | None = None, property: list[str] | None = None, **values: object) -> list[str]:
    """Return an option for each value that is not None. A Boolean setting is a switch value."""
    names = {True: "yes", False: "no"}
    said = {n: names[v] if isinstance(v, bool) else v for n, v in (set or {}).items()}
    options = [f"--set={name}={value}" for name, value in said.items()]
    options += [f"--property={name}" for name in property or ()]
    return [*options, *(f"--{name.replace('_', '-')}={v}" for name, v in values.items() if v is not None)]


@dataclass(frozen=True)
class Tools:
    """The tools behind a door. A program sees the name, the arguments and the docstring of each method."""

    door: Door

    @property
    def limit(self) -> str:
        """The option that bounds the time of a command."""
        return f"--timeout={self.door.seconds:g}"

    async def protocols(self) -> str:
        """List the protocols that can be checked by name."""
        return await self.door.answer("protocols")

    async def describe(self, protocol: str) -> str:
        """Describe a protocol: its parameters, switches, properties, and what is not modelled.

        `protocol` is the name of a preset, or a Python file in the folder of the server.
        """
        return await self.door.answer("protocols", self.door.protocol(protocol))

    async def check(
        self,
        protocol: str,
        settings: Settings | None = None,
        properties: list[str] | None = None,
        release: str | None = None,
        bound: int | None = None,
    ) -> str:
        """Search a protocol for violations of its properties, and for proofs.

        `settings` are parameters and switches, `properties` those to be checked (all, if none is named).
        `bound` is the largest number of steps of an execution. A counterexample is shown step by step.
        """
        asked = words(set=settings, property=properties, release=release, bound=bound)
        return await self.door.answer("check", self.door.protocol(protocol), *asked, self.limit)

    async def replay(self, trace: str, protocol: str | None = None) -> str:
        """Replay a saved trace, a file in the folder of the server, and show it.

        `protocol` is the Python file of the protocol, if it is no preset.
        """
        source = words(protocol=None if protocol is None else self.door.protocol(protocol))
        return await self.door.answer("export", str(self.door.inside(trace)), *source, self.limit)

    async def count(
        self,
        protocol: str,
        settings: Settings | None = None,
        release: str | None = None,
        symmetry: bool = False,
    ) -> str:
        """Count the reachable states, how often each action fires, and where each witness is true."""
        asked = [
            *words(set=settings, release=release, engine="states"),
            *(["--symmetry"] if symmetry else []),
        ]
        return await self.door.answer("check", self.door.protocol(protocol), *asked, self.limit)

    async def find_invariants(
        self, protocol: str, settings: Settings | None = None, properties: list[str] | None = None
    ) -> str:
        """Look for invariants that prove the properties, as Python that an author can paste."""
        asked = words(set=settings, property=properties)
        return await self.door.answer(
            "invariants", self.door.protocol(protocol), "--find", *asked, self.limit
        )

    async def quorum(
        self, ensemble: int, write_quorum: int, ack_quorum: int, bookies: int | None = None
    ) -> str:
        """Calculate what an E/WQ/AQ configuration survives."""
        sizes = words(ensemble=ensemble, write_quorum=write_quorum, ack_quorum=ack_quorum, bookies=bookies)
        return await self.door.answer("quorum", *sizes)

    async def advise(
        self,
        ensemble: int | None = None,
        write_quorum: int | None = None,
        ack_quorum: int | None = None,
        bookies: int | None = None,
        release: str | None = None,
        pulsar: str | None = None,
        files: list[str] | None = None,
    ) -> str:
        """Say what a configuration on a release of BookKeeper or Pulsar can lose, by what that needs.

        `files` are configuration files in the folder of the server, such as broker.conf.
        """
        sizes = words(ensemble=ensemble, write_quorum=write_quorum, ack_quorum=ack_quorum, bookies=bookies)
        read = [f"--from={self.door.inside(file)}" for file in files or ()]
        return await self.door.answer("advise", *sizes, *words(release=release, pulsar=pulsar), *read)


class StrictTool(Tool):
    """A tool that refuses arguments that it does not have, and values of another type, in one line."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        """Run the tool with arguments. Raises ToolError for those that its schema does not allow."""
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            raise ToolError(self._refusal(error)) from error
        return await super().run(arguments, context, convert_result)

    def _refusal(self, error: ValidationError) -> str:
        """Return one line about the first argument that is refused."""
        first = error.errors(include_url=False)[0]
        where, given = ".".join(map(str, first["loc"])), shown(first["input"])
        if first["type"] == "extra_forbidden":
            return str(unknown_name(where, f"argument of {self.name}", self.parameters["properties"]))
        if first["type"] == "missing":
            return f"{where}: {self.name} needs this argument; add it"
        return f"{where} = {given}: {first['msg']}"


def strict_tool(function: Callable[..., Any]) -> Tool:
    """Return the tool that calls a function, with a schema that allows its parameters only."""
    tool = StrictTool.from_function(function)
    arguments = tool.fn_metadata.arg_model
    arguments.model_config = ConfigDict(**arguments.model_config, extra="forbid", strict=True)
    arguments.model_rebuild(force=True)
    tool.parameters = arguments.model_json_schema(by_alias=True)
    return tool


def mcp_server(door: Door) -> MCPServer[Any]:
    """Return the server with all its tools."""
    tools = Tools(door)
    explained = (tools.check, tools.replay, tools.count, tools.find_invariants)
    offered = (tools.protocols, tools.describe, *explained, tools.quorum, tools.advise)
    return MCPServer(
        "fencepost",
        instructions=INSTRUCTIONS,
        version=version(),
        tools=[strict_tool(tool) for tool in offered],
    )
