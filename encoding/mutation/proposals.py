"""A setting with which a violated property is proved, so that mutants can be graded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from fencepost.encoding.concrete.simulation import simulate
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.system import Liveness
from fencepost.encoding.liveness.live_check import check_all
from fencepost.encoding.mutation.weakening import SIMULATIONS


def proposal(instance: Instance, names: Sequence[str], limits: Limits) -> str | None:
    """Return the setting of one switch with which these properties are proved, None if none was found."""
    until = time.perf_counter() + limits.timeout
    switches = [(o.name, value) for o in instance.protocol.options() for value in o.values or ()]
    for name, value in switches:
        rest = until - time.perf_counter()
        if rest <= 0:
            return None
        with suppress(BadInput, ModelError):
            other = instance.with_setting(name, str(value))
            if other == instance:
                continue
            asked = other.claims(*names)
            plain = [prop for prop in asked if not isinstance(prop, Liveness)]
            if simulate(other.system, other.subject, plain, SIMULATIONS, seed=1, first=True).traces:
                continue
            outcome = check_all(other, asked, replace(limits, gone=0.0, timeout=min(rest, 10.0)))
            if all(result.verdict is Verdict.PROVED for result in outcome.results):
                return f"{name}={value}"
    return None
