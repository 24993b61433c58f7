"""The routes of the explorer's page.

Each request carries its path, so that a page can be reloaded or sent.

Any page in a browser can send requests to loopback. So the routes answer only requests that name this host.
Requests about the instance also need the token of this start, which only the page that was opened with it
has.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fencepost.encoding import keys as k
from fencepost.encoding.documents import Key, Keys, has_keys, parse_json
from fencepost.encoding.errors import BadInput, InternalError
from fencepost.encoding.forms.diagram import diagram, script, style
from fencepost.encoding.rounds.reachability import ReachabilityAnswer
from fencepost.encoding.safe_text import one_line
from fencepost.explore.explorer import Explorer, Here
from fencepost.explore.paths import LONGEST, ExplorerPath
from fencepost.explore.saved_paths import document, opened
from fencepost.explore.solver_questions import SolverDesk, SolverQuestion
from fencepost.explore.views import in_words, view

HOST = "127.0.0.1"
TOKEN = "x-fencepost-token"
"""The header with the token, which a page of another origin may not send."""

LARGEST = 16 * 2**20
"""The largest request in bytes: a saved trace of some thousand steps."""

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}

PATH = k.keys(
    moves=Key(
        list,
        f"a list of at most {LONGEST} names of moves",
        lambda moves: len(moves) <= LONGEST and all(isinstance(name, str) for name in moves),
    ),
    at=k.whole(most=LONGEST),
)
"""The keys of a request about a path."""

SAVED = {**k.keys(document=Key(dict, "a saved trace")), "step": k.whole(most=LONGEST)}
"""The keys of a request to open a file."""

RouteAnswer = Callable[[Mapping[str, Any]], object]
"""A function from the document of a request to that of its answer."""

Handler = Callable[[Request], Awaitable[Response]]


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(24)


class Guarded:
    """A guard before the app: it checks the host, the origin, and the token where one is needed."""

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        """Guard the app, which is served at that port."""
        self._app, self._token = app, token
        self._hosts = {f"{HOST}:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(k.encode(), v.encode()) for k, v in HEADERS.items()]
            await send(message)

        if scope["type"] != "http":
            return
        refused = self._refused(Request(scope))
        app = self._app if refused is None else PlainTextResponse(refused + "\n", 403)
        await app(scope, receive, sent)

    def _refused(self, request: Request) -> str | None:
        """Return why a request is refused, or None."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if len(request.headers.getlist("host")) != 1 or host not in self._hosts:
            return "this Host is not served here"
        if origin is not None and origin != f"http://{host}":
            return "pages of another origin are not answered"
        if request.url.path.startswith("/api/"):
            given = request.headers.get(TOKEN, "")
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                return "the token of this start is needed: open the address that `fencepost explore` printed"
        return None


class ExplorerRoutes:
    """The routes, and the one question that may run."""

    def __init__(self, explorer: Explorer, asker: SolverDesk, begun: ExplorerPath) -> None:
        """Begin without a question."""
        self._explorer, self._asker, self._begun = explorer, asker, begun
        self._question: SolverQuestion | None = None
        self._answer = ReachabilityAnswer(over=True)
        self._failed: str | None = None
        self._listening: asyncio.Task[None] | None = None

    def app(self, port: int, token: str) -> ASGIApp:
        """Return the guarded app."""
        posts: dict[str, tuple[Keys, RouteAnswer]] = {
            "begin": ({}, self._begin),
            "look": (PATH, self._look),
            "why": ({**PATH, **k.keys(action=k.text())}, self._why),
            "ask": ({**PATH, **k.keys(goal=k.text())}, self._ask),
            "answer": ({}, self._tell),
            "stop": ({}, self._stop),
            "save": (PATH, self._save),
            "open": (SAVED, self._open),
        }
        routes = [
            Route("/", _page("page.html", "text/html")),
            Route("/page.css", _styled),
            Route("/page.js", _scripted),
            *(Route(f"/api/{name}", _api(*asks), methods=["POST"]) for name, asks in posts.items()),
        ]
        return Guarded(Starlette(routes=routes), port, token)

    def _begin(self, asked: Mapping[str, Any]) -> object:
        """Return the instance, and the path to begin with."""
        instance = self._explorer.instance
        return {
            "protocol": instance.protocol.name,
            "summary": instance.protocol.summary,
            "parameters": {k: str(v) for k, v in instance.subject.parameters.items() if v},
            "switches": instance.changed_switches,
            "moves": [move.name for move in self._begun.moves],
            "at": self._begun.at,
        }

    def _look(self, asked: Mapping[str, Any]) -> object:
        path = self._path(asked)
        here = self._explorer.at(path)
        seen = view(here, path.moves[path.at :])
        offers = [(offer.actor, offer.words) for offer in seen.possible]
        return {"view": seen, "diagram": diagram(here.counterexample, offers)}

    def _why(self, asked: Mapping[str, Any]) -> object:
        action = self._explorer.names.action(asked["action"])
        reasons = self._explorer.guards[action].reasons(self._here(asked).state)
        return {"action": action.name, "reasons": reasons}

    def _ask(self, asked: Mapping[str, Any]) -> object:
        here = self._here(asked)
        self._end("another question was asked")
        self._question = self._asker.ask(here, asked["goal"].strip())
        self._failed, self._answer = None, ReachabilityAnswer()
        self._listening = asyncio.create_task(self._listen(self._question))
        return self._told()

    async def _listen(self, question: SolverQuestion) -> None:
        """Follow the question until it ends, whether or not the page asks for the answer."""
        try:
            while question is self._question and not self._answer.over:
                self._answer = question.hear(0)
                await asyncio.sleep(0.05)
        except (BadInput, InternalError) as error:
            question.stop(one_line(str(error)))
            self._failed = one_line(str(error))

    def _tell(self, asked: Mapping[str, Any]) -> object:
        return self._told()

    def _told(self) -> object:
        if self._question is None:
            raise BadInput("nothing is asked; ask first")
        answer = self._answer
        return {
            "goal": self._question.words,
            "over": answer.over or self._failed is not None,
            "says": self._failed or str(answer),
            "doing": answer.doing,
            "way": [
                {"name": move.name, "words": in_words(self._explorer, move)}
                for move in (self._question.way if self._failed is None else [])
            ],
        }

    def _stop(self, asked: Mapping[str, Any]) -> object:
        self._end("stopped")
        return self._told()

    def _end(self, why: str) -> None:
        """Stop the running question."""
        if self._question is not None and not self._answer.over:
            self._question.stop(why)
            with suppress(BadInput, InternalError):
                self._answer = self._question.hear(0)

    def close(self) -> None:
        """Stop everything that runs."""
        self._end("the explorer ends")

    def _save(self, asked: Mapping[str, Any]) -> object:
        here = self._here(asked)
        about = here.violated.name if here.violated else "path"
        return {"name": f"{here.trace.protocol}.{about}.json", "document": document(here)}

    def _open(self, asked: Mapping[str, Any]) -> object:
        path = opened(self._explorer, asked["document"], "the file", asked.get("step"))
        return {"moves": [move.name for move in path.moves], "at": path.at}

    def _path(self, asked: Mapping[str, Any]) -> ExplorerPath:
        return self._explorer.names.path(asked["moves"], asked["at"])

    def _here(self, asked: Mapping[str, Any]) -> Here:
        return self._explorer.at(self._path(asked))


def _api(keys: Keys, answer: RouteAnswer) -> Handler:
    """Return the route that answers a document with these keys, or says in one line what is wrong."""

    async def handler(request: Request) -> Response:
        try:
            asked = parse_json(await _body(request), "the request", "send an object")
            has_keys(asked, keys, "the request")
            said = json.dumps(answer(asked), default=vars)  # views are nested dataclasses
            return Response(said, media_type="application/json")
        except BadInput as error:
            return JSONResponse({"error": one_line(str(error))}, 400)
        except ClientDisconnect:  # the client is gone
            return Response(status_code=400)
        except Exception as error:  # noqa: BLE001 - the page shows it, and goes on
            traceback.print_exc(file=sys.stderr)
            return JSONResponse({"error": one_line(f"internal error: {type(error).__name__}: {error}")}, 500)

    return handler


async def _body(request: Request) -> str:
    found = bytearray()
    async for chunk in request.stream():
        found += chunk
        if len(found) > LARGEST:
            raise BadInput(f"the request: is larger than {LARGEST // 2**20} MiB; send less")
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput("the request: is not UTF-8; send JSON") from error


def _page_part(name: str) -> str:
    return files("fencepost.explore").joinpath(name).read_text(encoding="utf-8")


def _page(name: str, kind: str) -> Handler:
    async def handler(request: Request) -> Response:
        return Response(_page_part(name), media_type=kind)

    return handler


async def _styled(request: Request) -> Response:
    return Response(f"{style()}\n{_page_part('page.css')}", media_type="text/css")


async def _scripted(request: Request) -> Response:
    return Response(f'"use strict";\n{script()}\n{_page_part("page.js")}', media_type="text/javascript")
