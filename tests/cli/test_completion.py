"""Shell completion: the request passes through both processes of a command, and stderr stays empty."""

from __future__ import annotations

import pytest

from support.commands import said
from support.processes import supervised


def requested(instruction: str, *words: str) -> dict[str, str]:
    """Return the environment of a request to complete the last word."""
    line = {"COMP_WORDS": " ".join(("fencepost", *words)), "COMP_CWORD": str(len(words))}
    return {"_FENCEPOST_COMPLETE": instruction, **line}


def asked(instruction: str, *words: str) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of a request that two processes answer."""
    process = supervised(environment=requested(instruction, *words))
    out, err = process.communicate(timeout=600)
    return process.returncode, out, err


@pytest.mark.parametrize("shell, calls", [("bash", "complete "), ("zsh", "compdef "), ("fish", "complete ")])
def test_each_shell_is_told_how_to_complete(shell: str, calls: str) -> None:
    """The request was once an internal error, because bytes came instead of text."""
    code, out, err = asked(f"{shell}_source")
    assert (code, err) == (0, "")
    assert calls in out
    assert f"_FENCEPOST_COMPLETE={shell}_complete" in out


@pytest.mark.parametrize(
    "words, completions",
    [
        (("ch",), {"plain,check"}),
        (("check", "--certi"), {"plain,--certificates"}),
        (("check", "bookkeeper", "--format", "js"), {"plain,json"}),
        (("check", "verified-log-0"), {f"plain,verified-log-0{n}" for n in (1, 2, 3, 4)}),
        (("explore", "examples/lease"), {"file,examples/lease"}),
        (("check", "bookkeeper", "--property", "no-di"), {"plain,no-divergence", "plain,no-dirty-read"}),
        (("check", "bookkeeper", "--property", "=", "no-div"), {"plain,no-divergence"}),
        (
            ("check", "bookkeeper-4.13", "--set", "recovery_fl"),
            {"plain,recovery_floor=zero", "plain,recovery_floor=fragment"},
        ),
        (("check", "bookkeeper-4.13", "--set", "recovery_floor", "="), {"plain,zero", "plain,fragment"}),
        (("check", "bookkeeper-4.13", "--set", "recovery_floor", "=", "z"), {"plain,zero"}),
        (("check", "bookkeeper-4.13", "--set", "=", "recovery_floor", "=", "z"), {"plain,zero"}),
        (("check", "bookkeeper", "--release", "4.18"), {"plain,4.18.0"}),
        (("known", "--release", "4.18"), {"plain,4.18.0"}),
        (("known", "2614-t"), {"plain,2614-tla"}),
        (("check", "nothing.py", "--property", ""), set()),
    ],
)
def test_bash_is_answered(
    words: tuple[str, ...],
    completions: set[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in requested("bash_complete", *words).items():
        monkeypatch.setenv(name, value)
    code, out, err = said(capsys)
    assert (code, err) == (0, "")
    assert set(out.split()) == completions


@pytest.mark.parametrize(
    "shell, line",
    [
        ("zsh", {"COMP_WORDS": "fencepost check bookkeeper-4.13 --set recovery_floor=z", "COMP_CWORD": "4"}),
        ("fish", {"COMP_WORDS": "fencepost check bookkeeper-4.13 --set", "COMP_CWORD": "recovery_floor=z"}),
    ],
)
def test_zsh_and_fish_replace_the_whole_word(shell: str, line: dict[str, str]) -> None:
    process = supervised(environment={"_FENCEPOST_COMPLETE": f"{shell}_complete", **line})
    out, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (0, "")
    assert "recovery_floor=zero" in out
    assert "fragment" not in out


def test_every_command_can_be_completed() -> None:
    from fencepost.cli.main import COMMANDS

    code, out, _ = asked("bash_complete", "")
    assert (code, set(out.split())) == (0, {f"plain,{name}" for name in COMMANDS})


def test_what_is_no_instruction_is_one_line() -> None:
    code, out, err = asked("tcsh_source")
    assert (code, out) == (2, "")
    assert err == (
        "fencepost: _FENCEPOST_COMPLETE=tcsh_source: is no instruction for a shell; valid: "
        "bash_source, bash_complete, zsh_source, zsh_complete, fish_source, fish_complete\n"
    )
