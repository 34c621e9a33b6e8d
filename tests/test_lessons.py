"""The lessons of docs/lessons.md: their tables are what the commands print.

After a change that moves results: ``UPDATE=1 pytest tests/test_lessons.py`` writes the tables anew; then read the text.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "lessons.md"
LESSON = re.compile(r"```sh\n((?:(?!```).*\n)*)```\n\n```text\n((?:(?!```).*\n)*)```\n")
FILE = re.compile(r"examples/lessons/([a-z-]+)\.toml")


def lessons(page: str) -> dict[str, re.Match[str]]:
    """Command and table of each lesson, by the name of its scenario."""
    return {FILE.findall(found[1])[0]: found for found in LESSON.finditer(page)}


LESSONS = lessons(PAGE.read_text())


def test_every_scenario_is_a_lesson_and_says_how_it_is_run():
    """A file without a lesson, or a lesson without its command in the file, is found by nobody."""
    files = {path.stem: path.read_text() for path in (ROOT / "examples" / "lessons").glob("*.toml")}
    assert set(files) == set(LESSONS)
    for name, text in files.items():
        head = text.partition("\nname = ")[0]
        assert f"paceline sweep examples/lessons/{name}.toml" in head
        assert "docs/lessons.md" in head


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_shows_what_its_command_prints(paceline, name):
    command, shown = LESSONS[name].groups()
    words = shlex.split(command.replace("\\\n", " "))
    assert words[0] == "paceline"
    outcome = paceline(
        *(str(ROOT / word) if FILE.fullmatch(word) else word for word in words[1:]), "--progress", "none"
    )
    assert outcome.code == 0
    table = outcome.out.partition("\n\n")[0] + "\n"
    if os.environ.get("UPDATE"):
        text = PAGE.read_text()
        at = lessons(text)[name]
        PAGE.write_text(text[: at.start(2)] + table + text[at.end(2) :])
        return
    assert table == shown, "UPDATE=1 pytest tests/test_lessons.py writes it anew; then read the text"
