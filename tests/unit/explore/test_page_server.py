"""The requests that the explorer's page answers, and the answers, without a network."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp, Message

from fencepost.cli.main import run
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.language.protocol import Instance, load
from fencepost.explore.explorer import Explorer
from fencepost.explore.paths import ExplorerPath
from fencepost.explore.routes import LARGEST, TOKEN, ExplorerRoutes
from fencepost.explore.solver_questions import SolverDesk
from support.exploring import served
from support.processes import children, gone

ROOT = Path(__file__).parents[3]
PORT, SECRET = 8123, "the token"
HOST = f"127.0.0.1:{PORT}"
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Response:
    """A response."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@cache
def explorer() -> Explorer:
    return Explorer(load(ROOT / "examples" / "two_copies.py").instance())


@pytest.fixture
def app() -> Iterator[ASGIApp]:
    page = ExplorerRoutes(explorer(), SolverDesk(explorer(), Limits(timeout=600)), ExplorerPath())
    yield page.app(PORT, SECRET)
    page.close()


def _scope(method: str, path: str, headers: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "scheme": "http",
        "server": ("127.0.0.1", PORT),
        "http_version": "1.1",
        "root_path": "",
    }


async def _sent(app: ASGIApp, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Response:
    messages: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        messages.append(message)

    await app(_scope(method, path, headers), receive, send)
    head = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
    text = b"".join(message.get("body", b"") for message in messages[1:]).decode()
    return Response(messages[0]["status"], head, text)


def sent(
    app: ASGIApp, method: str, path: str, headers: Mapping[str, str], body: bytes | object = b""
) -> Response:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return asyncio.run(_sent(app, method, path, headers, data))


def posted(app: ASGIApp, name: str, body: bytes | object, **changed: str) -> Response:
    headers = {"host": HOST, TOKEN: SECRET, **JSON, **changed}
    return sent(app, "POST", f"/api/{name}", {k: v for k, v in headers.items() if v}, body)


def test_its_own_page_is_answered(app: ASGIApp) -> None:
    response = posted(app, "look", {"moves": ["send(1)"], "at": 1}, origin=f"http://{HOST}")
    assert response.status == 200 and response.json["view"]["step"] == 1
    assert posted(app, "look", {"moves": [], "at": 0}, host=f"localhost:{PORT}").status == 200


APIS = ("begin", "look", "why", "ask", "answer", "stop", "save", "open")


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize(
    "changed",
    [
        {TOKEN: ""},
        {TOKEN: "another"},
        {TOKEN: SECRET + " "},
        {"host": f"attacker.example:{PORT}"},
        {"host": "127.0.0.1"},
        {"host": f"127.0.0.1:{PORT + 1}"},
        {"host": ""},
        {"origin": "http://attacker.example"},
        {"origin": f"http://127.0.0.1:{PORT + 1}"},
        {"origin": f"https://{HOST}"},
        {"origin": "null"},
    ],
    ids=str,
)
def test_nobody_else_is(app: ASGIApp, name: str, changed: dict[str, str]) -> None:
    response = posted(app, name, {"moves": [], "at": 0}, **changed)
    assert response.status == 403 and "view" not in response.text


@pytest.mark.parametrize("path", ["/", "/page.js", "/page.css"])
def test_the_page_itself_says_nothing_of_the_instance(app: ASGIApp, path: str) -> None:
    response = sent(app, "GET", path, {"host": HOST})
    assert response.status == 200 and "two-copies" not in response.text and SECRET not in response.text
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert "script-src 'self';" in response.headers["content-security-policy"]
    assert sent(app, "GET", path, {"host": "attacker.example"}).status == 403


def test_no_other_origin_is_let_in(app: ASGIApp) -> None:
    asked = {"host": HOST, "origin": "http://attacker.example", "access-control-request-method": "POST"}
    for response in (
        sent(app, "OPTIONS", "/api/look", asked),
        sent(app, "OPTIONS", "/api/look", {**asked, "origin": f"http://{HOST}"}),
        posted(app, "look", {"moves": [], "at": 0}),
    ):
        assert not [name for name in response.headers if name.startswith("access-control")]
    assert sent(app, "GET", "/api/look", {"host": HOST, TOKEN: SECRET}).status == 405


@pytest.mark.parametrize(
    ("name", "body", "says"),
    [
        ("look", b"", "the request: is not JSON"),
        ("look", b"\xff", "the request: is not UTF-8"),
        ("look", b"[]", "the request: must be an object with moves, at"),
        ("look", {"moves": []}, "at is missing"),
        ("look", {"moves": [], "at": True}, "at = True: must be a whole number"),
        ("look", {"moves": [1], "at": 0}, "moves = a list: must be a list"),
        ("look", {"moves": ["send(1)"] * 1001, "at": 0}, "moves = a list: must be a list"),
        ("look", {"moves": [], "at": 1}, "1: the path has no such position; valid: 0 to 0"),
        ("look", {"moves": ["dance"], "at": 1}, "dance: no such action"),
        ("look", {"moves": [], "at": 0, "more": 1}, "more: unknown key"),
        ("why", {"moves": [], "at": 0}, "action is missing"),
        ("ask", {"moves": [], "at": 0, "goal": "__import__('os')"}, "not part of an expression"),
        ("answer", {}, "nothing is asked"),
        ("open", {"document": {}}, "schema is None"),
        ("open", {"document": {"schema": "fencepost.trace/2"}}, "is missing"),
        ("save", {"moves": [], "at": -1}, "at = -1: must be"),
    ],
    ids=str,
)
def test_what_is_wrong_is_one_line(app: ASGIApp, name: str, body: object, says: str) -> None:
    response = posted(app, name, body)
    assert response.status == 400 and says in response.json["error"] and "\n" not in response.json["error"]


def test_a_request_has_an_end(app: ASGIApp) -> None:
    response = posted(app, "look", b" " * (LARGEST + 1))
    assert response.status == 400 and "larger than" in response.json["error"]


def test_what_a_protocol_says_is_text_in_the_diagram() -> None:
    """The diagram is markup that the page takes as it is."""
    instance = explorer().instance
    system = instance.system
    evil = "<img src=x onerror=alert(1)>"
    schemas = tuple(replace(s, action=replace(s.action, note=evil)) for s in system.schemas)
    changed = Instance(
        replace(instance.protocol, build=lambda _: replace(system, actions=schemas)), instance.parameters
    )
    hostile = Explorer(changed)
    page = ExplorerRoutes(hostile, SolverDesk(hostile, Limits()), ExplorerPath())
    response = posted(page.app(PORT, SECRET), "look", {"moves": ["send(1)"], "at": 1}).json
    assert "&lt;img src" in response["diagram"] and "<img" not in response["diagram"]
    assert "innerHTML" not in (ROOT / "explore" / "page.js").read_text().replace(
        'byId("drawn").innerHTML = drawn;', ""
    )


def test_a_question_goes_on_by_itself_and_can_be_stopped(app: ASGIApp) -> None:
    async def asked() -> list[Any]:
        headers = {"host": HOST, TOKEN: SECRET, **JSON}
        here = {"moves": ["send(1)"], "at": 1}

        async def ask(name: str, body: object) -> Any:
            return json.loads(
                (await _sent(app, "POST", f"/api/{name}", headers, json.dumps(body).encode())).text
            )

        first = await ask("ask", {**here, "goal": "acknowledged[1]"})
        while not (answer := await ask("answer", {}))["over"]:
            await asyncio.sleep(0.02)
        await ask("ask", {**here, "goal": "taken_over and not sent[1]"})
        return [first, answer, await ask("stop", {})]

    first, answer, stopped = asyncio.run(asked())
    assert not first["over"] or first["way"]
    assert "fewest: no shorter way exists" in answer["says"] and answer["way"][-1]["name"].startswith(
        "acknowledge"
    )
    assert stopped["over"] and ("stopped" in stopped["says"] or "never" in stopped["says"])


def test_the_answer_is_that_of_the_last_question(app: ASGIApp) -> None:
    """The search for the question before is stopped, and its late answer is not shown."""

    async def asked() -> Any:
        headers = {"host": HOST, TOKEN: SECRET, **JSON}

        async def ask(name: str, body: object) -> Any:
            return json.loads(
                (await _sent(app, "POST", f"/api/{name}", headers, json.dumps(body).encode())).text
            )

        await ask("ask", {"moves": [], "at": 0, "goal": "nothing-lost"})
        await asyncio.sleep(0)
        await ask("ask", {"moves": [], "at": 0, "goal": "acknowledged[1]"})
        while not (answer := await ask("answer", {}))["over"]:
            await asyncio.sleep(0.001)
        return answer

    answer = asyncio.run(asked())
    assert answer["goal"] == "acknowledged[1] becomes true" and "fewest" in answer["says"] and answer["way"]


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_what_serves_it_the_page_says_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == missing]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("fencepost.explore.server", "fencepost.explore.routes"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    assert run(["explore", str(ROOT / "examples" / "two_copies.py")]) == 2
    response = capsys.readouterr().err
    assert (
        f"the page needs {missing}" in response
        and "fencepost[explore]" in response
        and response.count("\n") == 1
    )


def test_a_port_that_is_taken_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["explore", str(ROOT / "examples" / "two_copies.py"), "--port", str(port)]) == 2
    response = capsys.readouterr()
    assert (
        response.err.startswith(f"fencepost: --port {port}: cannot be had") and response.err.count("\n") == 1
    )
    assert not response.out


@pytest.mark.slow
def test_it_listens_on_loopback_only_and_ends_at_once() -> None:
    with served("bookkeeper-4.13") as (address, process):
        port = int(address.split(":")[2].split("/")[0])
        listening = Path("/proc/net/tcp").read_text().splitlines()[1:]
        ours = [line.split()[1] for line in listening if line.split()[1].endswith(f":{port:04X}")]
        assert ours and all(place.startswith("0100007F:") for place in ours)
        below = children(process.pid)
        begun = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=600)
        assert process.returncode == 130 and "Traceback" not in err
        assert time.monotonic() - begun < 10, (
            "it is meant to take less than two seconds, of a machine of its own"
        )
        assert gone(below)


def test_a_client_who_goes_away_is_not_complained_of(
    app: ASGIApp, capsys: pytest.CaptureFixture[str]
) -> None:
    # The server once printed a traceback when somebody closed the page during a request.

    async def gone_midway() -> list[Message]:
        requests, response = (
            iter([{"type": "http.request", "body": b"{", "more_body": True}]),
            list[Message](),
        )

        async def receive() -> Message:
            return next(requests, {"type": "http.disconnect"})

        async def send(message: Message) -> None:
            response.append(message)

        head = {"host": HOST, TOKEN: SECRET, **JSON}
        await app(_scope("POST", "/api/look", head), receive, send)
        return response

    asyncio.run(gone_midway())
    assert capsys.readouterr().err == ""


POST = "POST /api/API HTTP/1.1\r\nHost: {host}\r\nx-fencepost-token: {token}\r\n"

REQUESTS = {
    "half a body": POST.replace("API", "ask") + "Content-Length: 999\r\n\r\n{{",
    "half a head": "POST /api/ask HTTP/1.1\r\nHost: {host}",
    "no reader": "GET /page.js HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "a question": POST.replace("API", "ask") + "Content-Length: {size}\r\n\r\n{body}",
    "an answer": POST.replace("API", "answer") + "Content-Length: 2\r\n\r\n{{}}",
    "no HTTP": "\x16\x03\x01",
}
"""The bytes that are sent before the client goes away."""


@pytest.mark.slow
def test_whenever_a_client_goes_away_the_server_says_nothing_and_goes_on() -> None:
    body = json.dumps({"moves": [], "at": 0, "goal": "status == closed"})
    with served("bookkeeper-4.13") as (address, process):
        base, token = address.split("#token=")
        host = base.split("/")[2]
        for text in REQUESTS.values():
            for lingers in (True, False):
                with socket.create_connection(("127.0.0.1", int(host.split(":")[1]))) as client:
                    if not lingers:  # it is reset, rather than closed
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    response = text.format(host=host, token=token, body=body, size=len(body))
                    client.sendall(response.encode())
        with socket.create_connection(("127.0.0.1", int(host.split(":")[1]))) as client:
            client.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            answered = b"".join(iter(lambda: client.recv(1 << 16), b""))
        assert answered.startswith(b"HTTP/1.1 200")
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=600)
    opened, interrupted = filter(None, err.splitlines())
    assert opened.startswith("Ctrl-C ends it.")
    assert interrupted == "fencepost: interrupted"
