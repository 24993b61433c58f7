"""The server of the explorer's page, on loopback until it is ended."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from fencepost.encoding.errors import BadInput
from fencepost.explore.explorer import Explorer
from fencepost.explore.paths import ExplorerPath
from fencepost.explore.routes import HOST, ExplorerRoutes, new_token
from fencepost.explore.solver_questions import SolverDesk

GRACE = 1
"""The seconds that a running request may take after the server is told to end."""


def listen(port: int) -> socket.socket:
    """Return a socket at that port of loopback, 0 for a free one; raise BadInput if it is not available."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise BadInput(
            f"--port {port}: cannot be had ({error.strerror}); give another, or none for a free one"
        ) from error
    return listening


def serve(
    explorer: Explorer, asker: SolverDesk, begun: ExplorerPath, port: int, ready: Callable[[str], None]
) -> None:
    """Serve the page. `ready` gets its address, with the token, when a browser may open it.

    Raises BadInput if the port is not available.
    """
    listening, token = listen(port), new_token()
    explorer.warm_up()
    served = ExplorerRoutes(explorer, asker, begun)
    number = listening.getsockname()[1]
    config = uvicorn.Config(
        served.app(number, token),
        log_config=None,
        log_level="error",
        access_log=False,
        lifespan="off",
        ws="none",
        http="h11",
        loop="asyncio",
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    ready(f"http://{HOST}:{number}/#token={token}")
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        served.close()
        listening.close()
