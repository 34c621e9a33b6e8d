"""The sweep: what is finished is kept and not run again; results do not depend on where and when they were made."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import paceline as pl
from helpers.incasts import incast
from helpers.long_runs import long_run
from paceline import _native
from paceline.cli import sweeping
from paceline.errors import Failure
from paceline.sweeps.executors import LocalProcesses
from paceline.sweeps.runner import predicted_cpu_s, prepare
from paceline.sweeps.store import FILES, Store, key_of

LONG = long_run("8ms")


def stamps(cache: Path) -> dict[str, int]:
    """When each finished run was written."""
    return {p.parent.name: p.stat().st_mtime_ns for p in cache.glob("[0-9a-f]*/[0-9a-f]*/summary.json")}


def flows(runs: pl.Runs) -> list[bytes]:
    return [(run.folder / "flows.bin").read_bytes() for run in runs]


def test_runs_come_in_the_order_of_the_points_and_shared_ones_run_once(tmp_path):
    points = [incast(4), incast(8), incast(4, other=1), incast(4, seed=2)]
    runs = pl.sweep(points, cache=tmp_path, progress="none")
    assert [run.point for run in runs] == points
    assert runs.runs[0].folder == runs.runs[2].folder
    assert len(stamps(tmp_path)) == 3
    assert runs.values("senders") == (4, 8)
    assert runs.seeds == (1, 2)
    assert [r.results().summary["flows"]["total"] for r in runs.where(senders=8)] == [8]
    with pytest.raises(KeyError):
        runs.one(senders=4)
    # A mistyped name gave no runs, as a value that nobody has does.
    with pytest.raises(KeyError, match="no run has sender; they have other, seed, senders"):
        runs.where(sender=8)


def test_what_a_sweep_cannot_take_is_told(tmp_path):
    """It said that a Scenario has no attribute `overrides`, and of runs only `Runs()`."""
    cache = tmp_path / "cache"
    for points, field in [([incast(1).scenario], "points.0"), (incast(1), "points"), ([incast(1), {}], "points.1")]:
        with pytest.raises(pl.InputError, match=rf"^{field} = .*Point"):
            pl.sweep(points, cache=cache, progress="none")
    with pytest.raises(pl.InputError, match=r'progress = .*allowed: "auto", "plain" or "none"'):
        pl.sweep([incast(1)], cache=cache, progress=print)
    assert not cache.exists()
    runs = pl.sweep([incast(senders, seed) for senders in (1, 2) for seed in (3, 4)], cache=cache, progress="none")
    assert repr(runs) == "<Runs: 4 runs; senders 1, 2; seed 3, 4>"


def test_a_finished_run_is_taken_from_the_cache_and_gives_the_same_bytes(tmp_path):
    points = [incast(4), incast(8)]
    first = flows(pl.sweep(points, cache=tmp_path, progress="none"))
    written = stamps(tmp_path)
    assert flows(pl.sweep(points, cache=tmp_path, progress="none")) == first
    assert stamps(tmp_path) == written
    again = pl.simulate(points[0].scenario, tmp_path / "again", progress="none")
    assert (again.path / "flows.bin").read_bytes() == first[0]


def test_results_of_another_build_are_not_taken(tmp_path):
    (job,) = prepare([incast(4)])
    pl.sweep([job.point], cache=tmp_path, progress="none")
    assert Store(tmp_path).has(job.key)
    assert not Store(tmp_path, "f" * 32).has(job.key)
    assert re.fullmatch("[0-9a-f]{32}", _native.source_digest())


@pytest.mark.parametrize("damage", ["cut", "bit"])
@pytest.mark.parametrize("name", ["summary.json", "flows.bin", "queues.csv", FILES])
def test_a_damaged_result_is_made_again(tmp_path, name, damage):
    """A bit that had flipped gave verdicts of other numbers, a table that was cut an error until it was removed."""
    (before,) = pl.sweep([incast(4)], cache=tmp_path, progress="none")
    file = before.folder / name
    whole, middle = file.read_bytes(), file.stat().st_size // 2
    rest = b"" if damage == "cut" else bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    file.write_bytes(whole[:middle] + rest)
    (after,) = pl.sweep([incast(4)], cache=tmp_path, progress="none")
    assert after.results().status == "completed"
    if name != "summary.json":  # it says how long it took
        assert file.read_bytes() == whole or name == FILES


def test_looking_changes_nothing(tmp_path, paceline):
    """`--check`, which makes no run, removed those that were damaged."""
    (run,) = pl.sweep([incast(4)], cache=tmp_path / "cache", progress="none")
    (run.folder / "queues.csv").write_text("")
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    before = stamps(tmp_path / "cache")
    told = paceline("sweep", "s.toml", "--seeds", "1", "--cache", "cache", "--check")
    assert told.out.startswith("1 of 1 run to make"), told.err
    assert stamps(tmp_path / "cache") == before
    run.folder.rename(tmp_path / "moved")
    run.folder.symlink_to(tmp_path / "moved")
    paceline("sweep", "s.toml", "--seeds", "1", "--cache", "cache", "--check")
    assert run.folder.is_symlink()


def test_the_key_of_a_run_stays():
    """With another one all runs that are kept would be made again. Only the scenario's own name does not count."""
    text = 'schema = 1\nname = "a"\nseed = 1\n\n[topology]\nkind = "star"\nhosts = 4\n'
    assert key_of(text) == "06da2190124a24f130a450956758cfd1"
    assert key_of(text.replace('"a"', '"b"')) == "06da2190124a24f130a450956758cfd1"
    assert key_of(text + 'name = "x"\n') != key_of(text + 'name = "y"\n')
    with pytest.raises(KeyError):
        key_of("schema = 1\n")


def test_a_report_in_a_kept_run_is_no_damage(tmp_path):
    (run,) = pl.sweep([incast(4)], cache=tmp_path, progress="none")
    (run.folder / "flows.csv").write_text("made by paceline report")
    pl.sweep([incast(4)], cache=tmp_path, progress="none")
    assert (run.folder / "flows.csv").exists(), "the run was made again"


def test_an_input_file_with_other_content_is_another_run(tmp_path):
    table = tmp_path / "flows.csv"
    keys = []
    for size in ("1KB", "2KB"):
        table.write_text(f"start,src,dst,bytes\n0s,0,1,{size}\n")
        toml = f'[topology]\nkind = "star"\n[schemes.a]\ncc = "hpcc"\n[[workloads]]\nkind = "flows"\nfile = "{table}"\n'
        keys.append(prepare([pl.Point(scenario=toml, key={})])[0].key)
    assert keys[0] != keys[1]
    text = _native.check(LONG, "long", [], None)["resolved"]
    assert key_of(text) == key_of(text.replace('name = "long"', 'name = "short"')), "a name changes no result"
    assert key_of(text) != key_of(text.replace("seed = 1", "seed = 2"))


def test_any_executor_gives_the_same_results(tmp_path):
    points = [incast(senders, seed) for senders in (4, 8) for seed in (1, 2)]
    here = flows(pl.sweep(points, cache=tmp_path / "a", progress="none"))
    with ThreadPoolExecutor(2) as threads, LocalProcesses(1) as one:
        assert flows(pl.sweep(points, executor=threads, cache=tmp_path / "b", progress="none")) == here
        assert flows(pl.sweep(points, executor=one, cache=tmp_path / "c", progress="none")) == here


def test_a_wrong_point_is_told_before_anything_runs(tmp_path):
    wrong = pl.Point(scenario=incast(4).scenario, key={"eta": "wrong"}, overrides=("schemes.hpcc.eta=20",))
    with pytest.raises(pl.InputError, match="eta") as told:
        pl.sweep([incast(8), wrong], cache=tmp_path / "cache", progress="none")
    assert "eta=wrong" in told.value.__notes__[0]
    assert not (tmp_path / "cache").exists()


def test_a_point_that_fails_leaves_the_others(tmp_path):
    lossy = tmp_path / "gone.csv"
    lossy.write_text("start,src,dst,bytes\n0s,0,1,1KB\n")
    toml = f'[topology]\nkind = "star"\n[schemes.a]\ncc = "hpcc"\n[[workloads]]\nkind = "flows"\nfile = "{lossy}"\n'

    class Losing(ThreadPoolExecutor):
        def submit(self, fn, /, *args, **kwargs):
            lossy.unlink(missing_ok=True)
            return super().submit(fn, *args, **kwargs)

    points = [pl.Point(scenario=toml, key={"which": "bad"}), incast(4)]
    with Losing(1) as executor, pytest.raises(pl.SweepFailed, match=r"1 of 2 runs failed:\n  which=bad") as told:
        pl.sweep(points, executor=executor, cache=tmp_path / "cache", progress="none")
    assert [run.point.key for run in told.value.runs] == [{"senders": 4}]
    assert [run.results().status for run in told.value.runs] == ["completed"]


def test_a_sweep_with_a_failed_run_has_a_table_of_the_others(paceline, tmp_path, monkeypatch):
    """Hours of finished runs gave no table at all when one had failed."""
    from paceline.sweeps import runner as room

    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    run_jobs = room.run_jobs

    def losing(jobs, **how):
        raise pl.SweepFailed({jobs[1].key: "seed=2: no room"}, run_jobs([jobs[0], *jobs[2:]], **how))

    monkeypatch.setattr(room, "run_jobs", losing)
    outcome = paceline("sweep", "s.toml", "--seeds", "3", "-q")
    assert outcome.code == 1
    assert "seed=2: no room" in outcome.err
    rows = list(csv.DictReader((tmp_path / "results/s-sweep/sweep.csv").read_text().splitlines()))
    assert [(r["seed"], r["status"], r["flows_finished"]) for r in rows] == [
        *(("1", "completed", "4"), ("2", "failed", ""), ("3", "completed", "4"))
    ]
    monkeypatch.setattr(room, "run_jobs", run_jobs)
    assert paceline("sweep", "s.toml", "--seeds", "3", "-q").code == 0
    rows = list(csv.DictReader((tmp_path / "results/s-sweep/sweep.csv").read_text().splitlines()))
    assert [r["status"] for r in rows] == ["completed"] * 3


def test_a_killed_process_fails_its_point_alone():
    with LocalProcesses(1) as executor:
        killed = executor.submit(os.abort)
        fine = executor.submit(len, "four")
        with pytest.raises(Failure, match="signal 6"):
            killed.result()
        assert fine.result() == 4
        with pytest.raises(ZeroDivisionError):
            executor.submit(divmod, 1, 0).result()


def test_the_predicted_cost_counts_a_shared_run_once():
    one = predicted_cpu_s([incast(8)])
    assert one > 0
    assert predicted_cpu_s([incast(8), incast(8, other=1)]) == one
    assert predicted_cpu_s([incast(8), incast(8, seed=2)]) == 2 * one


def test_the_predicted_cost_is_that_of_the_transport():
    """NDP's ports take more steps than HPCC's: a sweep of it must not be promised in half the time."""
    point = incast(8)
    off = pl.Switch(pfc=pl.Pfc(enabled=False), trimming=pl.Trimming(enabled=True))
    ndp = replace(point.scenario, schemes={"ndp": pl.Ndp()}, switch=off, routing=pl.Routing(choice="spray"))
    over = predicted_cpu_s([replace(point, scenario=ndp)]) / predicted_cpu_s([point])
    assert 2 < over < 2.2  # 2.2 by hop, less by flow


def start_sweep(folder: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "paceline", "sweep", "long.toml", "--seeds", "4", "-j", "1", "--cache", "c", "-q"]
    return subprocess.Popen(
        [*command, "--out", "out", *more],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Where this runs in the background of a shell, it is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def until_some_are_finished(cache: Path, process: subprocess.Popen[str]) -> None:
    """Waits for a finished run with another one under way."""
    deadline = time.monotonic() + 60
    while not (stamps(cache) and list(cache.glob("*/.parts/*.lock"))):
        assert process.poll() is None, "the sweep ended too soon to be disturbed"
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("number", "send"),
    [
        (signal.SIGKILL, os.kill),
        (signal.SIGINT, os.kill),
        (signal.SIGINT, os.killpg),
        (signal.SIGTERM, os.killpg),
        (signal.SIGHUP, os.killpg),
    ],
)
def test_a_disturbed_sweep_goes_on_where_it_was(tmp_path, number, send):
    (tmp_path / "long.toml").write_text(LONG)
    process = start_sweep(tmp_path)
    until_some_are_finished(tmp_path / "c", process)
    send(process.pid, number)
    _, told = process.communicate(timeout=60)
    if number != signal.SIGKILL:
        assert process.returncode == 130
        assert not list((tmp_path / "c").glob("*/.parts/*")), "a worker was killed in the middle"
        assert re.search(r"interrupted: [1-3] of 4 runs are finished and kept in .*; the same command goes on", told)
    kept = stamps(tmp_path / "c")
    assert 1 <= len(kept) < 4
    assert not (tmp_path / "out").exists()

    again = start_sweep(tmp_path)
    assert again.communicate(timeout=120) == ("", "")
    written = stamps(tmp_path / "c")
    assert len(written) == 4
    assert kept.items() <= written.items(), "a finished run was made again"
    assert not list((tmp_path / "c").glob("*/.parts/*")), "what the killed run left is still there"
    rows = list(csv.DictReader((tmp_path / "out" / "sweep.csv").read_text().splitlines()))
    assert [row["seed"] for row in rows] == ["1", "2", "3", "4"]


def test_shares_are_made_apart_and_give_the_same_table(paceline, tmp_path):
    """Jobs of a batch system: each run in one share only, whatever is there; no table of a part of the runs."""
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    arguments = ("sweep", "s.toml", "--vary", "workloads.0.senders=4,8", "--seeds", "3", "-j", "1", "--cache")
    assert paceline(*arguments, "whole", "-o", "whole-out", "-q").code == 0
    made: set[str] = set()
    for share in ("2/3", "1/3"):
        outcome = paceline(*arguments, "shares", "-o", "out", "--shard", share, "--progress", "none")
        assert outcome.code == 0
        assert f"share {share[0]} of 3: 2 runs, all there" in outcome.out
        now = set(stamps(tmp_path / "shares"))
        assert len(now - made) == 2
        made = now
        assert not Path("out").exists()
    # Again, it finds its own and makes nobody else's.
    assert paceline(*arguments, "shares", "-o", "out", "--shard", "1/3", "-q").code == 0
    assert set(stamps(tmp_path / "shares")) == made
    assert paceline(*arguments, "shares", "-o", "out", "--shard", "3/3", "-q").code == 0
    tables = [list(csv.DictReader(Path(f"{out}/sweep.csv").read_text().splitlines())) for out in ("whole-out", "out")]
    without = [[{k: v for k, v in row.items() if k != "folder"} for row in table] for table in tables]
    assert len(without[0]) == 6
    assert without[0] == without[1]
    for wrong in ("0/3", "4/3", "3", "1/0", "a/b", "1/-2"):
        outcome = paceline(*arguments, "shares", "--shard", wrong)
        assert outcome.code == 2
        assert f"--shard = {wrong}: no such share" in outcome.err


def test_a_failed_run_of_a_share_makes_no_table(paceline, tmp_path, monkeypatch):
    """The runs of other shares are not there either, and would be told as failed."""
    from paceline.sweeps import runner as room

    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    run_jobs = room.run_jobs

    def losing(jobs, **how):
        raise pl.SweepFailed({jobs[1].key: "seed=2: no room"}, run_jobs([jobs[0]], **how))

    monkeypatch.setattr(room, "run_jobs", losing)
    outcome = paceline("sweep", "s.toml", "--seeds", "4", "-q", "-j", "1", "--shard", "1/1")
    assert outcome.code == 1
    assert "seed=2: no room" in outcome.err
    assert not Path("results/s-sweep").exists()


@pytest.mark.parametrize(
    ("vary", "named"),
    [
        ("workloads.0.senders", "not a list of values"),
        ("workloads.0.senders=4,,8", "not a list of values"),
        ("workloads.0.senders=4,4", "a value twice"),
        ("seed=1,2", "--seeds N"),
        ("workloads.0.sender=4", "sender"),
    ],
)
def test_a_wrong_vary_is_told(paceline, tmp_path, vary, named):
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    outcome = paceline("--json-errors", "sweep", "s.toml", "--vary", vary)
    assert outcome.code == 2
    assert named in json.dumps(json.loads(outcome.err))


def test_what_varies_is_not_set_as_well(paceline, tmp_path):
    """`--set` of a field that `--vary` names had no effect, and nobody said so."""
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    vary = ("--vary", "workloads.0.senders=4,8")
    for also in (("--set", "workloads.0.senders=2"), ("--case", "few: workloads.0.senders=2")):
        outcome = paceline("sweep", "s.toml", *vary, *also)
        assert outcome.code == 2
        assert "workloads.0.senders=2" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--vary", "switch.ecn.k_max=1MB,2MB", "--set", "switch . ecn.k_max=3MB"), "switch . ecn.k_max=3MB"),
        (("--vary", "switch.ecn={enabled=true},{enabled=false}", "--set", "switch.ecn.k_max=3MB"), "k_max=3MB"),
        (("--vary", "switch.ecn.k_max=1MB,2MB", "--vary", "switch.ecn={k_min='9KB'},{k_min='8KB'}"), "after --vary"),
        (("--vary", "switch.ecn.k_max=1MB,2MB", "--vary", "switch.ecn . k_max=3MB"), "twice"),
        (("--case", "other: seed=5"), "--seeds N"),
        (
            ("--set", "workloads.0.senders=2", "--case", "few: workloads . 0.senders=4"),
            "--case = few: workloads . 0.senders=4: workloads.0.senders is set twice; "
            "allowed: without --set workloads.0.senders=2",
        ),
        (("--set", "switch.ecn.k_max=3MB", "--case", "a: switch.ecn={p_max=1}"), "switch.ecn.k_max is set twice"),
        (("--case", "a: switch.ecn.k_max=3MB; switch.ecn.k_max=4MB"), "without switch.ecn.k_max=3MB before it"),
        (("--vary", "switch.ecn.k_max=1MB", "--case", "a: switch.ecn.k_max=3MB"), "k_max=3MB in --case a"),
        (("--vary", "switch.ecn.k_max=1MB", "--set", "switch.ecn.k_max=3MB"), "--set switch.ecn.k_max=3MB"),
    ],
)
def test_nothing_in_a_sweep_is_replaced_in_silence(paceline, tmp_path, arguments, named):
    """A table that varies took the place of what had been set in it, a case that of `--set`, the point's seed both."""
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    outcome = paceline("sweep", "s.toml", *arguments)
    assert outcome.code == 2
    assert named in outcome.err


def test_a_strict_sweep_is_refused_for_the_warnings_of_its_points_only(paceline, tmp_path):
    """Those of the scenario as it stands, whose buffer no run has, ended it."""
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    strict = ("--set", "run.strict=true", "--set", "switch={buffer='1MiB'}", "--set", "schemes.hpcc={cc='dcqcn'}")
    arguments = ("sweep", "s.toml", "-q", *strict, "--vary")
    assert paceline(*arguments, "switch.buffer=16MB,32MB").code == 0
    outcome = paceline(*arguments, "switch.buffer=1MB,32MB")
    assert outcome.code == 2
    assert "in the point switch.buffer=1MB" in outcome.err


def test_a_field_of_a_table_that_is_set_may_vary(paceline, tmp_path):
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    arguments = ("--set", "switch.ecn={k_max='1MB'}", "--vary", "switch.ecn.k_max=2MB,3MB", "-q")
    assert paceline("sweep", "s.toml", *arguments).code == 0
    rows = list(csv.DictReader((tmp_path / "results/s-sweep/sweep.csv").read_text().splitlines()))
    assert [row["switch.ecn.k_max"] for row in rows] == ["2MB", "3MB"]


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        (("sweep", "--vary", "switch.ecn.k_max=1MB,3 parsecs"), "--vary switch.ecn.k_max=3 parsecs"),
        (("sweep", "--vary", "switch . ecn.k_max=3 parsecs"), "--vary switch.ecn.k_max=3 parsecs"),
        (("sweep", "--case", "a: switch.ecn.k_max=3 parsecs"), "--case a: switch.ecn.k_max=3 parsecs"),
        (("sweep", "--set", "switch.ecn.k_max=3 parsecs"), "--set switch.ecn.k_max=3 parsecs"),
        (("sweep", "--vary", f"name={'x' * 200},y"), f"--vary name={'x' * 200}"),
        (("size-buffers", "--buffers", "1MB,9999GB"), "--buffers 9999GB"),
        (("size-buffers", "--buffers", "1MB,2MB", "--vary", "schemes.hpcc.eta=0.9,20"), "--vary schemes.hpcc.eta=20"),
        (("size-buffers", "--set", "switch.buffer=9999GB"), "--set switch.buffer=9999GB"),
        (("size-buffers", "--vary", "schemes.hpcc.eta=0.9,20"), "--vary schemes.hpcc.eta=20"),
    ],
)
def test_an_error_in_a_sweep_names_the_option_that_was_typed(paceline, tmp_path, arguments, file):
    """All were said to come from `--set`, which nobody had typed."""
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    outcome = paceline("--json-errors", arguments[0], "s.toml", *arguments[1:])
    assert outcome.code == 2
    assert json.loads(outcome.err)["file"] == file
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("size-buffers", "--buffers", "64KB,,1MB"), "--buffers"),
        (("size-buffers", "--buffers", "64KB,0.064MB"), "--buffers"),
        (("size-buffers", "--buffers", "1MB", "--vary", "switch.buffer=1MB,2MB"), "--vary"),
        (("size-buffers", "--vary", "switch={buffer='1MB'}"), "--vary"),
        (("sweep", "--case", "a: =3"), "--case"),
        (("sweep", "--set", f"seed={2**63 - 2}", "--seeds", "3"), "--seeds"),
    ],
)
def test_a_list_that_is_none_is_told_by_its_option(paceline, tmp_path, arguments, field):
    """Sizes without a value were told as a `--vary switch.buffer=...`, the seed past the last as a field."""
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    outcome = paceline("--json-errors", arguments[0], "s.toml", *arguments[1:])
    assert (outcome.code, json.loads(outcome.err)["field"]) == (2, field)


def test_an_error_in_a_sweep_names_the_point(paceline, tmp_path):
    """All points come from one file and line: which values were wrong was left to guess."""
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    outcome = paceline("sweep", "s.toml", "--vary", "workloads.0.senders=4", "--vary", "schemes.hpcc.eta=0.9,20")
    assert outcome.code == 2
    assert "in the point workloads.0.senders=4, schemes.hpcc.eta=20" in outcome.err


def test_a_case_may_set_a_field_of_a_table_that_is_set(tmp_path):
    from paceline.sweeps.grid import grid

    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    cases = ["a: switch.ecn={k_max='2MB'}; switch.ecn.p_max=1", "b: switch.ecn.k_max=3MB"]
    assert len(grid(tmp_path / "s.toml", [], cases=cases, overrides=["switch={}"])) == 2


def test_cases_set_several_fields_together(tmp_path):
    """HPCC with PFC beside DCTCP with marks in one step took two sweeps and a join by hand."""
    from paceline.sweeps.grid import grid

    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    cases = ["hpcc: switch.pfc.enabled=true", 'dctcp: schemes.hpcc={cc="dctcp"}; switch.ecn.p_max=1']
    points = grid(tmp_path / "s.toml", ["workloads.0.senders=4,8"], cases=cases)
    assert [p.key for p in points] == [
        {"case": case, "workloads.0.senders": n} for case in ("hpcc", "dctcp") for n in ("4", "8")
    ]
    assert points[2].overrides == ('schemes.hpcc={cc="dctcp"}', "switch.ecn.p_max=1", "workloads.0.senders=4")
    assert len(prepare(points)) == 4
    for wrong in (["hpcc"], ["hpcc=1: a=2"], ["a: b"], [*cases, cases[0]]):
        with pytest.raises(pl.InputError, match="case"):
            grid(tmp_path / "s.toml", [], cases=wrong)


def test_commas_inside_a_value_do_not_split_it(tmp_path):
    from paceline.sweeps.grid import grid

    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    points = grid(tmp_path / "s.toml", ['topology={kind="star",hosts=9},{kind="star",hosts=10}'])
    assert [p.key["topology"] for p in points] == ['{kind="star",hosts=9}', '{kind="star",hosts=10}']


def test_one_progress_display_for_the_whole_sweep(tmp_path, capsys, monkeypatch):
    from paceline import progress

    monkeypatch.setattr(progress, "PLAIN_INTERVAL_S", 0.0)
    pl.sweep([incast(4)], cache=tmp_path, progress="plain")
    pl.sweep([incast(4), incast(8)], cache=tmp_path, progress="plain")
    lines = capsys.readouterr().err.splitlines()
    assert re.search(r"^sweep: 100 %, 1 of 1 runs, 0 under way, 0:00:00 left$", "\n".join(lines), re.MULTILINE)
    assert lines[-1] == "sweep: 100 %, 2 of 2 runs (1 were there), 0 under way, 0:00:00 left"


@pytest.mark.parametrize("name", ["dusk://a:1", "dask://", "dask://host", "slurm"])
def test_an_unknown_executor_is_told(paceline, tmp_path, name):
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    outcome = paceline("sweep", "s.toml", "--executor", name)
    assert outcome.code == 2
    assert "dask://host:port" in outcome.err


def test_what_is_to_come_is_told_before_it_is_run(paceline, tmp_path):
    """Who starts a sweep wants to know whether it takes minutes or a night; a wrong value came up hours later."""
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    sweep = ("sweep", "s.toml", "--seeds", "2", "--vary")
    told = paceline(*sweep, "workloads.0.senders=2,3", "--check").out
    assert re.fullmatch(r"4 of 4 runs to make: about .* of CPU time, each up to \d+ MiB\n", told)
    assert not (tmp_path / "results").exists()
    paceline(*sweep, "workloads.0.senders=2", "-q")
    assert paceline(*sweep, "workloads.0.senders=2", "--check").out == "2 runs, all there\n"
    assert paceline(*sweep, "workloads.0.senders=2,3", "--check").out.startswith("2 of 4 runs to make (2 are there): ")
    assert paceline(*sweep, "workloads.0.senders=2,3", "--check", "--shard", "1/4").out.startswith("1 of 1 run to make")
    outcome = paceline(*sweep, "workloads.0.senders=2,0", "--check")
    assert outcome.code == 2
    assert "--vary workloads.0.senders=0" in outcome.err
    assert paceline("size-buffers", "s.toml", "--buffers", "1MB,2MB", "--check").out.startswith("2 of 2 runs to make")


def test_a_sweep_over_what_changes_nothing_says_so(paceline, tmp_path):
    """A table of equal rows was all that came of a threshold that no scheme looks at."""
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    thresholds = ("--vary", "switch.ecn.k_max=1KB,2KB", "--set", "switch.ecn.k_min=1KB")
    outcome = paceline("sweep", "s.toml", *thresholds)
    assert "had no effect: switch.ecn (packets were marked, but no scheme" in outcome.out
    # It matters to one of the two schemes.
    outcome = paceline("sweep", "s.toml", *thresholds, "--vary", "schemes.hpcc.cc=hpcc,dctcp")
    assert "had no effect: switch.ecn" not in outcome.out


def test_a_sweep_over_what_makes_no_difference_says_so(paceline, tmp_path):
    """Without a pause the threshold of pauses changes nothing. No run knows that, and three equal rows were all."""
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    sweep = ("sweep", "s.toml", "--seeds", "2", "--vary", "switch.pfc.alpha=0.1,0.2,0.3")
    same = "made no difference: switch.pfc.alpha (all its values give equal rows)\n"
    assert same in paceline(*sweep, "--set", "switch.buffer=32MB").out
    assert same in paceline(*sweep, "--vary", "workloads.0.senders=2,4").out
    # Whoever sends, all send the same: two seeds are one run twice.
    assert "made no difference: the seed (all seeds give equal rows)\n" in paceline(*sweep).out
    # With one of the two buffers there are pauses.
    outcome = paceline(*sweep, "--vary", "switch.buffer=32MB,500KB", "--set", "workloads.0.sizes=websearch")
    assert "made no difference" not in outcome.out
    # What the run itself knows is said once.
    outcome = paceline("sweep", "s.toml", "--vary", "host.tcp.rto_min=1ms,2ms")
    assert "had no effect: host.tcp" in outcome.out
    assert "made no difference" not in outcome.out


@pytest.mark.parametrize("command", ["sweep s.toml --vary workloads.0.senders=2,3", "size-buffers s.toml --p99 off"])
def test_a_scenario_may_be_edited_while_a_sweep_goes_on(paceline, tmp_path, monkeypatch, command):
    """A sweep of hours ended with a trace, and without what it warns of, for half a line in its scenario by then."""
    run_all = sweeping._run_all

    def edited(*arguments):
        found = run_all(*arguments)
        Path("s.toml").write_text("[half")
        return found

    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    before = paceline(*command.split(), "--cache", "c")
    monkeypatch.setattr(sweeping, "_run_all", edited)
    outcome = paceline(*command.split(), "--cache", "c")
    assert (outcome.code, outcome.out, outcome.err) == (0, before.out, "")


def test_a_sweep_tells_warnings_once_and_of_which_runs(paceline, tmp_path):
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    sweep = ("sweep", "s.toml", "--seeds", "2", "--set", "schemes.hpcc={cc='dcqcn'}", "--vary")
    outcome = paceline(*sweep, "switch.buffer=2MB,4MB,32MB")
    warned = [line for line in outcome.out.splitlines() if line.startswith("warning: switch.ecn.k_max")]
    assert [line.rpartition(" (")[2] for line in warned] == ["switch.buffer 2MB)", "switch.buffer 4MB)"]
    outcome = paceline(*sweep, "switch.buffer=2MB,3MB,4MB,5MB,32MB")
    (line,) = (line for line in outcome.out.splitlines() if line.startswith("warning: switch.ecn.k_max"))
    assert line.endswith(" (the first of 4 such, in 8 of 10 runs)")
    outcome = paceline(*sweep, "switch.buffer=2MB")
    assert outcome.out.count("warning: switch.ecn.k_max") == 1
    assert "(switch.buffer" not in outcome.out


def test_a_damaged_result_that_cannot_be_removed_is_named(tmp_path, monkeypatch):
    """It was `summary.json: Read-only file system`, of one among thousands of that name."""
    (run,) = pl.sweep([incast(4)], cache=tmp_path, progress="none")
    (run.folder / "queues.csv").unlink()

    def refuse(path):
        raise OSError(errno.EROFS, "Read-only file system", "summary.json")

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(OSError, match=f"Read-only file system: '{run.folder}'"):
        pl.sweep([incast(4)], cache=tmp_path, progress="none")


def test_a_point_that_is_wrong_is_named_in_printable_characters(paceline, tmp_path):
    """What is typed is part of the name: a line break made two lines of it, an escape coloured the terminal."""
    (tmp_path / "s.toml").write_text(incast(4).scenario.to_toml())
    outcome = paceline("sweep", "s.toml", "--vary", "workloads.0.\x1b[31msenders\nx=1", "-q")
    assert outcome.code == 2
    assert "in the point workloads.0." in outcome.err
    assert outcome.err.removesuffix("\n").isprintable(), outcome.err


def test_a_sweep_over_several_groups_says_that_it_mixes_them(paceline, tmp_path):
    """Two schemes that share a network came out as one p99."""
    made = incast(4).scenario
    assert isinstance(made, pl.Scenario)
    two = [replace(made.workloads[0], group=name) for name in ("mice", "elephants")]
    (tmp_path / "s.toml").write_text(replace(made, workloads=two).to_toml())
    assert "over groups mice, elephants together" in paceline("sweep", "s.toml", "--seeds", "2").out
    assert "together" not in paceline("sweep", "s.toml", "--seeds", "2", "--group", "mice").out
