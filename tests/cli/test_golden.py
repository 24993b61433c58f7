"""The output of the commands, word for word.

`pytest tests/cli/test_golden.py --refresh-goldens` writes the golden files again.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fencepost.cli.main import run

GOLDEN = Path(__file__).parent / "golden"
TRACE = Path(__file__).parents[2] / "docs" / "traces" / "bookkeeper-4.13.no-divergence.json"
ENDLESS = Path(__file__).parents[2] / "examples" / "one_owner.py"
FIXED = ["--property", "no-divergence", "--set", "recovery_reads_fence=yes"]
CASES = {
    "help": ["--help"],
    "check-help": ["check", "--help"],
    "weaken-help": ["weaken", "--help"],
    "known-help": ["known", "--help"],
    "explore-help": ["explore", "--help"],
    "certify-help": ["certify", "--help"],
    "export-help": ["export", "--help"],
    "protocols-help": ["protocols", "--help"],
    "protocols": ["protocols"],
    "protocols-bookkeeper-4.13": ["protocols", "bookkeeper-4.13"],
    "protocols-induction": ["protocols", str(ENDLESS)],
    "releases": ["known", "--list"],
    "releases-4.16.6": ["known", "--release", "4.16.6"],
    "trace": ["export", str(TRACE)],
    "check-proved": ["check", "bookkeeper-4.13", *FIXED],
    "check-induction": ["check", str(ENDLESS), "--set", "brokers=3", "--engine", "induction"],
    "check-enumeration": ["check", str(ENDLESS), "--set", "brokers=3", "--engine", "enumeration"],
    "check-holds": ["check", "bookkeeper-4.13", *FIXED, "--bound", "rounds=2", "--engine", "rounds"],
    "check-vacuous": ["check", "bookkeeper-4.13", "--property", "valid-fragments", "--bound", "3"],
    "known": ["known", "2614", "2614-3/3/3"],
    "check-proved-json": ["check", "bookkeeper-4.13", *FIXED, "--format", "json"],
}


SLOW = ("known", "check-proved-json")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CASES]
)
def test_output_is_word_for_word(
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    run(CASES[name])
    out = re.sub(r"\[\d+\.\d s\]", "[… s]", capsys.readouterr().out)
    out = re.sub(r'"(seconds|searched)": [\d.]+', r'"\1": "…"', out)
    out = re.sub(r" +\d+\.\d$", "  …", out, flags=re.MULTILINE)
    file = GOLDEN / f"{name}.txt"
    if request.config.getoption("--refresh-goldens"):
        file.write_text(out, encoding="utf-8")
    assert out == file.read_text(encoding="utf-8")
