"""Sentences as Python source that can be pasted into a protocol's file."""

from __future__ import annotations

from fencepost.encoding.language.source import SourceWriter
from fencepost.encoding.language.system import Invariant, System
from fencepost.encoding.lifting.sentences import Sentence, source_of


def source(name: str, sentence: Sentence, system: System) -> str:
    """Return the invariant as source: a call of `Invariant` over a state named `s`."""
    names = {parameter: parameter.symbol for parameter in sentence.sorts}
    sorts = {parameter: source_of(place, system) for parameter, place in sentence.sorts.items()}
    writer = SourceWriter(system.state, names, sorts, sentence.spelled)
    return writer.invariant(Invariant(name, sentence.text, sentence.holds))
