"""The value of each switch of `ledger-copies` in each release of BookKeeper, from `releases.toml` here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any

from fencepost.encoding.documents import parse_toml
from fencepost.protocols.bookkeeper.releases import Rule, listed, rules_of
from fencepost.protocols.ledger_copies.parameters import CopiesParameters

_TABLE = files("fencepost.protocols.ledger_copies").joinpath("releases.toml").read_text(encoding="utf-8")

RULES: Mapping[str, Rule] = rules_of(parse_toml(_TABLE, "releases.toml", "it is part of this package"))
"""The rules by switch. `storage` and `collector` have none, because users set them."""


def as_in(release: str, parameters: CopiesParameters) -> CopiesParameters:
    """Return the same instance with the switches of that release. Raises BadInput for an unknown release."""
    listed(release)
    values: dict[str, Any] = {name: rule.value(release) for name, rule in RULES.items()}
    return replace(parameters, **{name: value for name, value in values.items() if value is not None})
