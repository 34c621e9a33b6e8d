"""What comes with Paceline to draw flow sizes from, and what the documents say of it."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from paceline import _native

ROOT = Path(__file__).resolve().parents[1]
NAMES = _native.catalogue()["distributions"]


def told() -> dict[str, list[str]]:
    """The rows of the page's table, by name."""
    page = (ROOT / "docs/references.md").read_text().partition("## Flow sizes\n")[2]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")]
    return {row[0].strip("`"): row[1:] for row in rows if "@" in row[0]}


def in_bytes(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


def test_the_page_has_every_distribution():
    """`paceline list` had nothing but names: nobody could tell `websearch@hpcc` from `websearch@xpass`."""
    assert list(told()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_page_tells_mean_and_largest_size(name):
    data = (ROOT / "crates/paceline-sim/src/workload/sizes.txt").read_text()
    head, _, body = data.partition(f"\n@ {name} ")[2].partition("\n\n@ ")[0].partition("\n")
    sampling, stated = head.split()
    points = [(float(a), float(b)) for a, b in re.findall(r"(?<!\S)(\d+):([\d.e-]+)", body)]
    first = points[0][0] * points[0][1]
    mean = first + sum((b if sampling == "step" else (a + b) / 2) * (q - p) for (a, p), (b, q) in pairwise(points))
    short, drawn, nominal, largest, _, file = told()[name]
    assert in_bytes(drawn) == pytest.approx(mean, rel=0.006)
    assert in_bytes(largest) == pytest.approx(points[-1][0], rel=0.006)
    assert (in_bytes(nominal) == pytest.approx(float(stated), rel=0.006)) if stated != "-" else nominal == ""
    assert file.strip("`") in body
    if short:
        assert f"({short.strip('`')}, {name})" in re.sub('"', "", aliases())


def aliases() -> str:
    return (ROOT / "crates/paceline-sim/src/workload/builtin.rs").read_text().partition("const ALIASES")[2]


@pytest.mark.parametrize(
    ("asked", "names"), [("websearch", ["websearch@hpcc", "websearch@xpass"]), ("W4@homa", ["w4@homa"])]
)
def test_explain_knows_distributions(paceline, asked, names):
    """It said `websearch`: no such field; allowed: a field of docs/parameters.md."""
    outcome = paceline("explain", asked)
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    place = lines.index("It is a distribution of flow sizes, for `sizes`:")
    assert [line.split()[0] for line in lines[place + 1 : place + 1 + len(names)]] == names
    assert "docs/references.md" in lines[place + 1]
