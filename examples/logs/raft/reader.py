"""A reader for an implementation of Raft that logs JSON with keys of its own."""

import json
from collections.abc import Iterator

ACTIONS = {"became candidate": "stand", "granted vote": "vote", "became leader": "become leader"}
FIRST_TERM = 7  # the protocol's terms begin with 1


def events(line: str) -> Iterator[dict[str, object]]:
    """Yield the event that a line tells, if any."""
    told = json.loads(line)
    if told["msg"] in ACTIONS:
        arguments = {"server": told["node"], "term": told["term"] - FIRST_TERM + 1}
        if "to" in told:
            arguments["candidate"] = told["to"]
        yield {"action": ACTIONS[told["msg"]], "process": told["node"], "arguments": arguments}
