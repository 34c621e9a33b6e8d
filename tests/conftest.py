"""What the tests share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from paceline import errors
from paceline.cli import main

# The same cases every time: one commit always passes or always fails.
settings.register_profile("suite", derandomize=True)
settings.load_profile("suite")


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def paceline(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Runs the command ``paceline`` in this process and in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(errors.TRACEBACK_VARIABLE, raising=False)

    def call(*arguments: str) -> Outcome:
        code = main(list(arguments))
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call
