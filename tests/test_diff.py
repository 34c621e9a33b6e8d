"""``paceline diff``: who compares two runs learns whether they are the same, and if not, what differs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Outcome
from helpers.synthetic import write_run
from paceline.differences import compare
from paceline.results import Results

SCENARIO = """
name = "small"
[topology]
kind = "star"
hosts = 5
[schemes.hpcc]
cc = "hpcc"
[[workloads]]
kind = "poisson"
sizes = "20KB"
load = { value = 0.6 }
max_flows = 40
"""


@pytest.fixture
def run(paceline: Callable[..., Outcome], tmp_path: Path) -> Callable[..., str]:
    """Runs the scenario into a folder of this name."""
    (tmp_path / "small.toml").write_text(SCENARIO)

    def call(out: str, *options: str) -> str:
        assert paceline("run", "small.toml", "--out", out, "-q", *options).code == 0
        return out

    return call


def test_equal_runs_are_said_to_be(paceline: Callable[..., Outcome], run: Callable[..., str]) -> None:
    """Threads and the name of a scenario change nothing that was simulated, and the exit code says so."""
    ended = paceline("diff", run("a"), run("b", "--threads", "2", "--set", "name=other"))
    assert ended.code == 0
    assert "Simulated the same: all counters, every row (40 in flows" in ended.out
    assert "name     small  other" in ended.out


def test_what_differs_is_told(paceline: Callable[..., Outcome], run: Callable[..., str]) -> None:
    """A setting that acts is shown beside what it did, to the first flow and over all."""
    ended = paceline("diff", run("a"), run("b", "--set", "schemes.hpcc.eta=0.5"))
    assert ended.code == 1
    assert "schemes.hpcc.eta  0.95  0.5" in ended.out
    assert "fct_sender_ps, fct_receiver_ps" in ended.out
    assert "40 finished flows of the same source" in ended.out


BARE = [f"records.{name}" for name in ("queues=off", "links=false", "pauses=false", "series.interval=off")]


def test_what_no_table_tells_of_differs_all_the_same(paceline: Callable[..., Outcome], run: Callable[..., str]) -> None:
    """Two runs with no more than flows on record were "the same", though one had marks and the other none."""
    bare = [part for text in BARE for part in ("--set", text)]
    marking = [f"switch.ecn.{name}=1KB" for name in ("k_min", "k_max")]
    ended = paceline("diff", run("a", *bare), run("b", *bare, *(part for text in marking for part in ("--set", text))))
    assert ended.code == 1
    assert "none of 40 rows differ" in ended.out
    assert [line.split()[:2] for line in ended.out.splitlines() if line.startswith("marks")] == [["marks", "0"]]


def test_what_one_run_did_not_record_is_no_difference(
    paceline: Callable[..., Outcome], run: Callable[..., str]
) -> None:
    """The same run with fewer records was said to have been simulated otherwise."""
    ended = paceline("diff", run("a"), run("b", *(part for text in BARE for part in ("--set", text))))
    assert ended.code == 0
    assert "Not compared, since recorded otherwise: queues, links, series" in ended.out
    assert "Simulated the same: all counters, every row (40 in flows)" in ended.out


def test_the_first_row_that_differs_is_the_first(paceline: Callable[..., Outcome], run: Callable[..., str]) -> None:
    """Somebody who looks for the instant at which two runs part finds it."""
    first, second = (Results.load(run(*call)) for call in (("a",), ("b", "--set", "schemes.hpcc.eta=0.5")))
    flows = next(rows for rows in compare(first, second).rows if rows.table == "flows")
    a, b = first.flows["fct_sender_ps"], second.flows["fct_sender_ps"]
    assert flows.row == (a != b).argmax()
    assert flows.different_rows == (a != b).sum() > 0
    assert (flows.first, flows.second) == (str(a[flows.row]), str(b[flows.row]))


def test_other_workloads_cannot_be_paired(paceline: Callable[..., Outcome], run: Callable[..., str]) -> None:
    """Runs of different length are told apart, not compared row by row as if they were alike."""
    ended = paceline("diff", run("a"), run("b", "--set", "workloads.0.max_flows=50"), "--json")
    assert ended.code == 1
    told = json.loads(ended.out)
    flows = told["rows"][0]
    assert (told["equal"], flows["first_rows"], flows["second_rows"], flows["different_rows"]) == (False, 40, 50, None)
    assert [(s["first"], s["second"]) for s in told["settings"]] == [(40, 50)]


def test_differences_fit_a_terminal(paceline: Callable[..., Outcome], run: Callable[..., str]) -> None:
    """One line named all columns of a table that differ, and its first row behind them: 190 characters."""
    said = paceline("diff", run("a"), run("b", "--seed", "2")).out
    tables = said.partition("What was simulated\n")[2].partition("\n\n")[0].splitlines()
    assert tables
    assert max(map(len, tables)) <= 100
    assert any(line.strip().startswith("first row 0: ") for line in tables)
    assert all(line[0].isalpha() or line.startswith("     ") for line in tables)


def test_bad_folders_are_bad_input(paceline: Callable[..., Outcome], run: Callable[..., str]) -> None:
    """A folder that is none ends with 2, not with "they differ"."""
    ended = paceline("diff", run("a"), "nowhere")
    assert (ended.code, ended.out) == (2, "")
    assert "nowhere" in ended.err


def test_a_build_of_changed_sources_is_not_that_of_their_commit(tmp_path: Path) -> None:
    """The mark of such a build stands behind the commit's forty digits, of which twelve were compared and shown."""
    commit = "0123456789abcdef" + "0" * 24
    first, second = (
        Results.load(write_run(tmp_path / name, flows=20, tables=False, name=name, git=git))
        for name, git in (("a", commit), ("b", f"{commit}-dirty"))
    )
    assert compare(first, second).versions == ("0.1.0 (0123456789ab)", "0.1.0 (0123456789ab-dirty)")
    assert compare(first, first).versions is None
