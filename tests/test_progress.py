"""Progress: what is shown of a run, and where."""

import errno
import io
import subprocess
import sys
from pathlib import Path

import pytest

import paceline as pl
from paceline import progress
from paceline.progress import Mode


def snapshot(**changed):
    start = {"sim_ps": 0, "end_ps": None, "flows_started": 0, "flows_done": 0, "flows_total": None}
    return {**start, "steps_done": 0, "steps_total": None, "hops": 0, "wall_s": 0.0, **changed}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("changed", "share"),
    [
        ({}, None),
        ({"end_ps": 100, "sim_ps": 25}, 0.25),
        ({"flows_total": 8, "flows_done": 4}, 0.5),
        # An end time far off must not hide that the flows are nearly through.
        ({"end_ps": 10**14, "sim_ps": 10**9, "flows_total": 10, "flows_done": 9}, 0.9),
        # Nor that a program is: ETAs of a minute's run were hundreds of hours.
        ({"end_ps": 10**14, "sim_ps": 10**9, "steps_total": 4, "steps_done": 1}, 0.25),
        ({"end_ps": 100, "sim_ps": 101}, 1.0),
    ],
)
def test_the_share_done_follows_what_ends_the_run(changed, share):
    assert progress.fraction(snapshot(**changed)) == share


@pytest.mark.parametrize(
    ("workload", "known"),
    [
        (pl.Poisson(sizes="5KB", load=pl.Load(value=0.3), end="100s", max_flows=300), {"flows_total": 300}),
        # The end may come first: nobody knows how many there will be.
        (pl.Poisson(sizes="5KB", load=pl.Load(value=0.3), end="10us", max_flows=30), {"flows_total": None}),
        (pl.ScatterGather(interval="10us", end="100s", max_queries=40), {"end_ps": 400 * 10**6}),
    ],
)
def test_a_run_up_to_a_number_is_shown_by_it(workload, known):
    """By an end far behind it a run of minutes had hundreds of hours left, to its last second."""
    seen = []
    scenario = pl.Scenario(topology=pl.Star(hosts=8), schemes={"s": pl.Hpcc()}, workloads=[workload])
    pl.simulate(scenario, progress=lambda told: seen.append(told) or True)
    assert seen
    assert all(told[key] == value for told in seen for key, value in known.items())


def test_the_time_left_follows_the_pace_so_far():
    assert progress.seconds_left(0.25, 10.0) == 30.0
    assert progress.seconds_left(0.0, 10.0) is None
    assert progress.seconds_left(None, 10.0) is None
    assert progress.clock(3725.4) == "1:02:05"


def test_away_from_a_terminal_there_is_a_line_every_five_seconds():
    stream = io.StringIO()
    with progress.view(Mode.AUTO, "incast", stream) as view:
        for tenth in range(121):
            share = snapshot(wall_s=tenth / 10, sim_ps=tenth * 10**9, end_ps=240 * 10**9, hops=tenth * 200_000)
            view.show(share | {"flows_total": 1000, "flows_done": tenth})
    lines = stream.getvalue().splitlines()
    assert lines == [
        "incast:  21 %, 50.000 ms simulated, 50/1,000 flows, 2.00 M hops/s, 0:00:19 left",
        "incast:  42 %, 100.000 ms simulated, 100/1,000 flows, 2.00 M hops/s, 0:00:14 left",
    ]


def test_programs_are_shown_by_their_steps():
    """A program over open connections has no flow of its own: "0 flows" for minutes looks like a standstill."""
    told = progress.describe(snapshot(wall_s=1.0, sim_ps=10**9, steps_total=2000, steps_done=1500))
    assert told == "1.000 ms simulated, 1,500/2,000 steps, 0.00 M hops/s"


def test_a_terminal_gets_a_bar_with_the_time_left(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    stream = Terminal()
    with progress.view(Mode.AUTO, "incast [1]", stream) as view:
        view.show(snapshot(wall_s=1.0))
        view.show(snapshot(wall_s=10.0, sim_ps=25, end_ps=100))
    shown = stream.getvalue()
    assert "incast [1]" in shown
    assert "25 %" in shown
    assert "0:00:30 left" in shown


def test_plain_is_plain_on_a_terminal_too_and_none_is_nothing():
    plain, nothing = Terminal(), Terminal()
    with progress.view(Mode.PLAIN, "incast", plain) as view:
        view.show(snapshot(wall_s=6.0))
    with progress.view(Mode.NONE, "incast", nothing) as view:
        view.show(snapshot(wall_s=6.0))
    assert plain.getvalue() == "incast: 0.000 ns simulated, 0 flows, 0.00 M hops/s\n"
    assert nothing.getvalue() == ""


@pytest.mark.parametrize("mode", [Mode.PLAIN, Mode.AUTO])
def test_a_run_goes_on_where_its_progress_cannot_be_shown(monkeypatch, mode):
    """A disk that was full of logs, or a terminal that had gone, ended runs whose results had room elsewhere."""

    class Gone(Terminal):
        def write(self, _text):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setenv("TERM", "xterm")
    with progress.view(mode, "incast", Gone()) as view:
        for wall_s in (6.0, 12.0):
            view.show(snapshot(wall_s=wall_s))


def test_a_log_on_a_full_disk_is_no_failure_of_the_command(tmp_path):
    """What standard error still held would have changed the exit code to 120 at the end."""
    incast = pl.Scenario(
        topology=pl.Star(hosts=3), workloads=[pl.SynchronousIncast(senders=2)], schemes={"h": pl.Hpcc()}
    )
    (tmp_path / "s.toml").write_text(incast.to_toml())
    code = (
        "import sys; from paceline import __main__, progress; progress.PLAIN_INTERVAL_S = 0; sys.exit(__main__.main())"
    )
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-c", code, "run", "s.toml", "--progress", "plain"]
        done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=full, text=True)
    assert (done.returncode, "completed" in done.stdout) == (0, True)


def test_a_narrow_terminal_keeps_the_time_left():
    note = "3.141 ms simulated, 2,005 flows, 9.03 M hops/s, 0:00:13 left"
    assert progress.shortened(note, 60) == note
    assert progress.shortened(note, 50) == "3.141 ms simulated, 2,005 flows, 0:00:13 left"
    assert progress.shortened(note, 5) == "0:00:13 left"
