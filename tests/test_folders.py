"""Result folders that two runs want, that hold the input of a run, or that contradict themselves."""

from __future__ import annotations

import fcntl
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import paceline as pl
from helpers.bad_input_cases import CONFIG, FLOW, GOOD, HEAD, NET, TABLE
from helpers.synthetic import write_run
from paceline import _native
from paceline.files import replaceable, replacing, write
from paceline.report import write_report
from paceline.sweeps.store import Store


def contents(folder: str) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}


def test_a_folder_that_another_run_fills_is_left_alone(paceline):
    """Else a folder would hold tables of two runs, and look whole."""
    Path("s.toml").write_text(GOOD)
    assert paceline("run", "s.toml", "--out", "r").code == 0
    before = contents("r")
    held = os.open("r", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    outcome = paceline("--json-errors", "run", "s.toml", "--out", "r", "--seed", "9")
    parts = json.loads(outcome.err)
    assert (outcome.code, parts["field"], parts["value"]) == (2, "--out", "r")
    assert parts["problem"] == "another run is writing here"
    assert contents("r") == before
    os.close(held)
    assert paceline("run", "s.toml", "--out", "r", "--seed", "9").code == 0
    assert pl.load("r").summary["seed"] == 9


def test_threads_that_want_one_folder_get_it_one_by_one(tmp_path):
    """A run that returns must return its own results, also where others wait for the folder."""

    def one(seed: int) -> int | None:
        try:
            return pl.simulate(GOOD, tmp_path / "same", seed=seed, progress="none").summary["seed"]
        except pl.InputError as error:
            return None if error.problem == "another run is writing here" else -1

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(one, range(1, 13)))
    assert any(found)
    assert all(got in (None, wanted) for got, wanted in zip(found, range(1, 13), strict=True))
    assert pl.load(tmp_path / "same").summary["seed"] in found


@pytest.mark.parametrize("way", ["in the folder", "a link in it", "a link to it"])
def test_a_run_does_not_replace_its_own_input(paceline, way):
    """`series.csv` of an earlier run as a flow table, and its folder for the new results: the table would be gone."""
    Path("s.toml").write_text(GOOD)
    assert paceline("run", "s.toml", "--out", "own").code == 0
    table = "start,src,dst,bytes\n0us,0,1,1KB\n"
    Path("own/series.csv").unlink()
    name = "own/series.csv"
    if way == "a link in it":
        Path("table.csv").write_text(table)
        Path("own/series.csv").symlink_to(Path("table.csv").absolute())
    else:
        Path("own/series.csv").write_text(table)
    if way == "a link to it":
        name = "link.csv"
        Path(name).symlink_to("own/series.csv")
    Path("t.toml").write_text(TABLE.replace("flows.csv", name))
    before = contents("own")
    outcome = paceline("--json-errors", "run", "t.toml", "--out", "own")
    parts = json.loads(outcome.err)
    assert (outcome.code, parts["file"], parts["line"], parts["field"]) == (2, "t.toml", 8, "workloads.0.file")
    assert parts["problem"] == "the run would replace its own input"
    assert contents("own") == before
    assert paceline("run", "t.toml", "--out", "other").code == 0


RPC = GOOD.replace('cc = "hpcc"', 'cc = "new_reno"') + (
    '[[workloads]]\nkind = "rpc"\nmode = "open"\nduration = "200us"\n[switch.pfc]\nenabled = false\n'
)
MPI = HEAD + '[[workloads]]\nkind = "mpi"\nprogram = "cg"\nproblem_class = "S"\niterations = 1\n'


@pytest.fixture(scope="module")
def ended(tmp_path_factory) -> Path:
    """Folders of runs that ended: `pfc`, `rpc` and `mpi`."""
    folder = tmp_path_factory.mktemp("ended")
    for name, text in {"pfc": GOOD, "rpc": RPC, "mpi": MPI}.items():
        assert pl.simulate(text, folder / name, progress="none").status == "completed"
    return folder


def cut_flows(folder: Path) -> None:
    """A flow file that is whole in itself, with one flow less."""
    data = bytearray((folder / "flows.bin").read_bytes()[:-80])
    data[16:24] = ((len(data) - 64) // 80).to_bytes(8, "little")
    (folder / "flows.bin").write_bytes(data)


def cut_queries(folder: Path) -> None:
    (folder / "queries.bin").write_bytes((folder / "queries.bin").read_bytes()[:-64])


def unanswer(folder: Path) -> None:
    data = bytearray((folder / "queries.bin").read_bytes())
    data[-16:-8] = bytes(8)
    (folder / "queries.bin").write_bytes(data)


def gone(name: str):
    return lambda folder: (folder / name).unlink()


def a_folder(name: str):
    def change(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return change


def edited(**changes: object):
    def change(folder: Path) -> None:
        path = folder / "summary.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def counter(value: str):
    def change(folder: Path) -> None:
        path = folder / "summary.json"
        text = json.loads(path.read_text())
        text["counters"]["marks"] = "VALUE"
        path.write_text(json.dumps(text).replace('"VALUE"', value))

    return change


def row(name: str, text: str):
    def change(folder: Path) -> None:
        with (folder / name).open("a") as file:
            file.write(text)

    return change


CONTRADICTIONS = [
    ("pfc", cut_flows, "flows.bin: holds 0 records, and by summary.json there are 1"),
    ("rpc", cut_queries, "queries.bin: holds"),
    ("rpc", unanswer, "queries.bin: "),
    ("rpc", gone("queries.bin"), "queries.bin: is missing"),
    *(("pfc", gone(f"{t}.csv"), f"{t}.csv: is missing") for t in ("links", "queues", "series", "pauses", "saturation")),
    ("mpi", gone("ranks.csv"), "ranks.csv: is missing"),
    ("pfc", a_folder("queues.csv"), "queues.csv: is not a file"),
    ("pfc", edited(schemes=[{"name": "h", "cc": ["x"]}]), "schemes[0].cc is ['x']"),
    ("pfc", edited(queries=5), "queries is 5"),
    ("pfc", edited(queries={"connections": 1}), "queries.connections_failed is missing"),
    ("pfc", edited(mpi=5), "mpi is 5"),
    ("pfc", edited(mpi=[{}]), "mpi[0] needs group"),
    ("pfc", edited(name="\ud800"), "summary.json: is not JSON"),
    ("pfc", edited(hosts=-1), "hosts is -1"),
    ("pfc", counter("{}"), "counters.marks is {}"),
    ("pfc", counter("-1"), "counters.marks is -1"),
    ("pfc", counter("1e20"), "counters.marks is 1e+20"),
    ("pfc", counter("NaN"), "NaN is not a number"),
    ("pfc", counter("Infinity"), "Infinity is not a number"),
    ("pfc", counter("1e999"), "counters.marks is inf"),
    ("pfc", counter("[" * 5000 + "]" * 5000), "summary.json"),
    ("pfc", row("series.csv", "0,queue_bytes,1:1,inf\n"), "value is 'inf', not a finite number"),
    ("pfc", row("series.csv", "0,queue_bytes,1:1,12"), "series.csv: is cut short"),
    ("pfc", row("series.csv", f"0,{'x' * 200_000},1:1,1\n"), "series.csv: line"),
    ("pfc", row("series.csv", f"0,{'x' * 300},1:1,1\n"), "kind has 300 characters, more than 255"),
]


@pytest.mark.parametrize(("base", "change", "told"), CONTRADICTIONS)
def test_a_folder_that_contradicts_itself_is_no_report(paceline, ended, base, change, told):
    """Half a result drawn as a whole one would be believed."""
    shutil.copytree(ended / base, "r")
    change(Path("r"))
    outcome = paceline("report", "r", "-q", "-o", "page")
    assert outcome.code == 2, outcome.err
    assert outcome.err.startswith("error: r/")
    assert told in outcome.err
    assert len(outcome.err) < 1000
    assert not Path("page").exists(), "a figure without a page"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (cut_flows, "flows.bin: holds 0"),
        (lambda folder: (folder / "alone.bin").write_bytes(b""), "alone.bin: ends inside"),
        (lambda folder: (folder / "alone.bin").write_bytes(b"PACELALN12"), "alone.bin: ends inside"),
        (gone("scenario.toml"), "scenario.toml: cannot be read"),
        (lambda folder: (folder / "scenario.toml").write_bytes(b"\xff"), "scenario.toml:1:"),
        (edited(links="many"), "summary.json: links is 'many'"),
        (
            edited(load=[{"tier": "a->b", "offered": 1, "carried": 1, "capacity_bps": -1}]),
            "summary.json: is not as a run",
        ),
    ],
)
def test_a_folder_that_the_baseline_alone_cannot_use_is_bad_input(paceline, ended, change, told):
    shutil.copytree(ended / "pfc", "r")
    change(Path("r"))
    outcome = paceline("report", "r", "-q", "--baseline", "alone", "-o", "page")
    assert (outcome.code, told in outcome.err) == (2, True), outcome.err
    assert not Path("page").exists()


def test_the_engine_finds_too_few_flows_itself(ended, tmp_path):
    """It was told as an interruption (exit 130)."""
    shutil.copytree(ended / "pfc", tmp_path / "r")
    cut_flows(tmp_path / "r")
    with pytest.raises(pl.InputError, match=r"flows\.bin: holds 0 flows, and summary\.json says 1"):
        _native.alone(str(tmp_path / "r"))


def test_programs_and_kept_connections_agree_with_their_summary(tmp_path):
    """What `Results.load` counts must fit every kind of workload."""
    scatter = '[[workloads]]\nkind = "scatter_gather"\ninterval = "200us"\nmax_queries = 5\n'
    net = HEAD.replace('"star"\nhosts = 4', '"leaf_spine"\nleaves = 3\nspines = 2\nhosts_per_leaf = 4')
    rpc = '[[workloads]]\nkind = "rpc"\nmode = "open"\nduration = "100us"\n'
    for i, more in enumerate(
        (
            scatter,
            scatter + 'connections = "open"\n' + rpc,
            rpc + '[run]\nstop = "60us"\n',
            MPI[len(HEAD) :] + 'ranks = 8\nconnections = "open"\n',
            MPI[len(HEAD) :] + 'ranks = 8\nconnections = "new"\n',
        )
    ):
        run = pl.simulate(net + more, tmp_path / str(i), progress="none")
        run.read_all()
        run.check_tables()


def inside(folder: Path) -> Path:
    """The folder of a store in which the runs are."""
    (found,) = (p for p in folder.iterdir() if p.is_dir())
    return found


@pytest.mark.parametrize("damage", ["swapped", "link to another", "dangling link", "a file", "table gone"])
def test_a_store_takes_only_the_run_it_is_asked_for(paceline, damage):
    """Else a sweep would tell results of one point as those of another."""
    Path("s.toml").write_text(GOOD)
    command = ("sweep", "s.toml", "--seeds", "2", "--cache", "c", "-o", "t", "-q", "-j", "1")
    assert paceline(*command).code == 0
    table = Path("t/sweep.csv").read_text()
    one, two = sorted(p for p in inside(Path("c")).iterdir() if p.name != ".parts")
    if damage == "swapped":
        one.rename("aside")
        two.rename(one)
        Path("aside").rename(two)
    elif damage == "table gone":
        (one / "links.csv").unlink()
    else:
        shutil.rmtree(one)
        if damage == "a file":
            one.write_text("")
        else:
            one.symlink_to(two if damage == "link to another" else Path("nowhere"))
    assert paceline(*command).code == 0
    assert Path("t/sweep.csv").read_text() == table
    for run in (one, two):
        assert run.is_dir()
        assert not run.is_symlink()
        pl.load(run).check_tables()
    assert {pl.load(run).summary["seed"] for run in (one, two)} == {1, 2}


def test_only_a_folder_of_its_own_is_marked_as_a_cache(paceline, monkeypatch):
    """Backups leave out what is marked: that must not be somebody's working folder."""
    Path("s.toml").write_text(GOOD)
    monkeypatch.setenv("PACELINE_CACHE", "")
    assert paceline("sweep", "s.toml", "-o", "t", "-q", "-j", "1").code == 0
    assert Path("results/cache/CACHEDIR.TAG").exists()
    assert not Path("CACHEDIR.TAG").exists()
    assert paceline("sweep", "s.toml", "-o", "t", "-q", "-j", "1", "--cache", ".").code == 0
    assert not Path("CACHEDIR.TAG").exists()
    assert paceline("sweep", "s.toml", "-o", "t", "-q", "--cache", "").code == 2


@pytest.mark.parametrize("command", ["run", "sweep", "size-buffers"])
def test_a_result_has_a_place_before_anything_runs(paceline, command):
    Path("s.toml").write_text(GOOD)
    Path("taken").write_text("mine")
    for out in ("taken", "taken/below"):
        outcome = paceline(command, "s.toml", "-o", out, "-q")
        assert outcome.code == 2
        assert f"--out = {out}: taken is no folder" in outcome.err
    assert {p.name for p in Path().iterdir()} == {"s.toml", "taken"}
    assert Path("taken").read_text() == "mine"


SWEEP = ("sweep", "s.toml", "-q", "-j", "1", "--vary", "switch.buffer=1MB,2MB,4MB", "-o")
SIZES = ("size-buffers", "s.toml", "-q", "-j", "1", "--buffers", "1MB", "-o")
REPORT = ("report", "r", "-q", "-o")
REPRODUCE = ("reproduce", "H13", "--scale", "tiny", "-q", "-j", "1", "-o")


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (SWEEP, ("sweep.csv", "sweep.parquet", "sweep.png", "sweep.svg")),
        (SIZES, ("buffers.csv", "buffers.pdf")),
        (REPORT, ("report.html", "tables.md", "tables.tex", "figures/cover.png")),
        (REPRODUCE, ("H13/notes.txt", "H13/scenario-mine.toml", "H13/verdicts.json")),
        (("reproduce", "--all", *REPRODUCE[2:]), ("scoreboard.md", "scoreboard.html", "H2/page")),
    ],
    ids=["sweep", "size-buffers", "report", "reproduce", "reproduce all"],
)
def test_files_of_others_are_not_replaced(paceline, ended, command, names):
    """A sweep removed a `sweep.png`, a report replaced a `tables.tex`, a reproduced result removed scenarios."""
    Path("s.toml").write_text(GOOD)
    shutil.copytree(ended / "pfc", "r")
    before = contents(".")
    for name in names:
        mine = Path("out", name)
        mine.parent.mkdir(parents=True)
        mine.write_text("mine")
        outcome = paceline("--json-errors", *command, "out")
        told = json.loads(outcome.err)
        assert (outcome.code, told["field"], told["value"]) == (2, "--out", str(mine))
        assert "would be replaced" in told["problem"]
        assert contents("out") == {str(mine): b"mine"}
        shutil.rmtree("out")
    assert contents(".") == before, "nothing has run"


@pytest.mark.parametrize("command", [SWEEP, SIZES, REPORT, REPRODUCE], ids=["sweep", "size-buffers", "report", "H13"])
def test_an_earlier_result_is_replaced_and_other_files_stay(paceline, ended, command):
    Path("s.toml").write_text(GOOD)
    shutil.copytree(ended / "pfc", "r")
    Path("out").mkdir()
    Path("out/notes.txt").write_text("mine")
    assert paceline(*command, "out").code == 0
    first = contents("out")
    assert len(first) > 1
    assert paceline(*command, "out").code == 0
    assert contents("out").keys() == first.keys()
    assert Path("out/notes.txt").read_text() == "mine"


def test_a_page_goes_beside_files_of_others_but_not_over_them(paceline, ended):
    shutil.copytree(ended / "pfc", "r")
    for name in ("index.html", "index[1].html"):
        Path(name).write_text("<title>mine</title>")
        outcome = paceline("report", "r", "-q", "-o", name)
        assert outcome.code == 2
        assert f"--out = {name}: is there and not of an earlier report" in outcome.err
        assert Path(name).read_text() == "<title>mine</title>"
    for page in ("a.html", "b.html", "a.html", "r/other.html", "r"):
        assert paceline("report", "r", "-q", "-o", page).code == 0


@pytest.mark.parametrize("command", ["run", "sweep", "size-buffers"])
def test_a_place_that_may_not_be_written_to_is_told_before_anything_runs(paceline, monkeypatch, command):
    """A sweep found that out after hours of runs; with such a cache each run failed, one after the other."""
    Path("s.toml").write_text(GOOD)
    Path("held").mkdir()
    access = os.access

    def answer(path, mode):
        return not (Path(path).name == "held" and mode & os.W_OK) and access(path, mode)

    monkeypatch.setattr(os, "access", answer)
    outcome = paceline(command, "s.toml", "-o", "held/below", "-q")
    assert outcome.code == 2
    assert "--out = held/below: held may not be written to" in outcome.err
    outcome = paceline(command, "s.toml", "-o", "/proc/no-such-process/out", "-q")
    assert outcome.code == 2
    assert "/proc/no-such-process" in outcome.err
    outcome = paceline(command, "s.toml", "-o", "n" * 300, "-q")
    assert outcome.code == 2
    assert "File name too long" in outcome.err
    assert {p.name for p in Path().iterdir()} == {"s.toml", "held"}
    if command != "run":
        arguments = (command, "s.toml", "-o", "out", "-q", "-j", "1", "--cache")
        outcome = paceline(*arguments, "held")
        assert outcome.code == 2
        assert "may not be written to" in outcome.err
        assert {p.name for p in Path().iterdir()} == {"s.toml", "held"}
        # Nothing is written where all runs are there.
        assert paceline(*arguments, "full").code == 0
        Path("held").rmdir()
        Path("full").rename("held")
        assert paceline(*arguments, "held").code == 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("run", "s.toml", "-o"), "--out"),
        (("sweep", "s.toml", "-o"), "--out"),
        (("size-buffers", "s.toml", "-o"), "--out"),
        (("reproduce", "C1", "--scale", "tiny", "-o"), "--out"),
        (("report", "r", "-o"), "--out"),
        (("sweep", "s.toml", "--cache"), "--cache"),
    ],
)
@pytest.mark.parametrize("end", ["", "/below"])
def test_a_name_that_is_too_long_is_told_before_anything_is_done(paceline, ended, arguments, named, end):
    """Below a folder yet to be made nobody saw it: that was made, and all was simulated or drawn for nothing."""
    Path("s.toml").write_text(GOOD)
    shutil.copytree(ended / "pfc", "r")
    before = sorted(Path().rglob("*"))
    # 256 bytes: letters are not what counts.
    name = f"{'ä' * 125}x.html{end}"
    outcome = paceline("--json-errors", *arguments, f"new/{name}")
    parts = json.loads(outcome.err)
    assert (outcome.code, outcome.out) == (2, "")
    assert (parts["field"], parts["problem"]) == (named, "File name too long")
    assert sorted(Path().rglob("*")) == before


def test_a_sweep_of_more_runs_than_there_can_be_is_refused_at_once(paceline):
    Path("s.toml").write_text(GOOD)
    outcome = paceline("--json-errors", "sweep", "s.toml", "--seeds", str(10**12))
    parts = json.loads(outcome.err)
    assert (outcome.code, parts["field"], parts["value"]) == (2, "--seeds", str(10**12))
    assert "at most" in parts["allowed"]


def limited(*command: str, largest: int, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a command that may write files up to a size: the next best thing to a full disk."""
    limits = (largest, largest)
    return subprocess.run(
        [sys.executable, "-B", "-m", "paceline", *command],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits),
        **options,
    )


@pytest.mark.parametrize("largest", [5_000, 32_000])
def test_a_report_on_a_full_disk_names_the_file_and_leaves_the_old_page(ended, tmp_path, largest):
    """First where a figure does not fit, then where the page does not."""
    shutil.copytree(ended / "pfc", tmp_path / "r")
    (tmp_path / "out").mkdir()
    old = "<title>the old page · Paceline report</title>"
    (tmp_path / "out/report.html").write_text(old)
    done = limited("report", "r", "-o", "out", "-q", largest=largest, cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(r"^error: out/(figures/\w+\.(png|pdf)|report\.html): File too large$", done.stderr.strip()), (
        done.stderr
    )
    assert (tmp_path / "out/report.html").read_text() == old
    assert not [p for p in tmp_path.rglob("*") if p.name.endswith(".part")]
    # What was written before is gone, too, else the folder would be somebody's for the next report.
    assert [p.name for p in tmp_path.glob("out/**/*") if p.is_file()] == ["report.html"]


def test_a_run_that_broke_off_says_why(paceline, tmp_path):
    """It is not taken for one that somebody killed, or that goes on."""
    load = "[[workloads]]\nkind = 'poisson'\nduration = '1s'\nsizes = '1KB'\nload = {value = 0.5}\n"
    Path("s.toml").write_text(HEAD + load)
    done = limited("run", "s.toml", "-o", "r", "-q", largest=40_000, cwd=tmp_path)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    results = pl.load("r")
    assert (results.status, results.status_text) == ("running", "broken off")
    assert "File too large" in results.summary["diagnosis"]
    assert paceline("report", "r", "-q").code == 0
    page = Path("r/report.html").read_text()
    assert "This run broke off" in page
    assert ">broken off</span>" in page
    assert "was killed" not in page


def test_a_run_whose_tables_do_not_fit_says_that_it_broke_off(paceline, tmp_path):
    """It was taken for one that goes on or was killed, and what it had counted was lost."""
    load = "[[workloads]]\nkind = 'poisson'\nduration = '100us'\nsizes = '1KB'\nload = {value = 0.5}\n"
    Path("s.toml").write_text(HEAD + load)
    assert paceline("run", "s.toml", "-o", "whole", "-q").code == 0
    files = {p.name: p.stat().st_size for p in Path("whole").iterdir()}
    largest = files["flows.csv"] - 1
    assert all(size <= largest for name, size in files.items() if not name.endswith(("flows.csv", ".parquet"))), files
    done = limited("run", "s.toml", "-o", "r", "-q", largest=largest, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "File too large" in done.stderr
    results, whole = pl.load("r"), pl.load("whole")
    assert (results.status, results.status_text) == ("running", "broken off")
    assert "File too large" in results.summary["diagnosis"]
    assert results.summary["counters"] == whole.summary["counters"]
    assert results.simulated_ps == whole.simulated_ps
    assert not Path("r/flows.csv").exists()
    assert not list(Path("r").glob(".*"))
    told = paceline("report", "r")
    assert told.code == 0
    assert f"Status, {results.name}: counters until it broke off" in told.out
    # What was counted is shown as of the whole run, and said to be until then.
    counted = re.compile(r"^(?:Flows unfinished|Events|Packet hops of data|Drops: .*?|ECN marks)  +.*$", re.MULTILINE)
    assert counted.findall(told.out) == counted.findall(paceline("report", "whole").out)
    page = Path("r/report.html").read_text()
    assert "This run broke off" in page
    assert "nor are the counters" not in page
    tiles = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert (tiles["drops until it broke off"], tiles["unfinished / failed"]) == ("0", "0 / 0")


def test_a_run_that_broke_off_midway_is_told_by_its_counters_too(paceline, tmp_path):
    """Its last records are missing, but not what was counted: of the flows both are told, and which is which."""
    load = "[[workloads]]\nkind = 'poisson'\nduration = '2ms'\nsizes = '1KB'\nload = {value = 0.5}\n"
    Path("s.toml").write_text(HEAD + load)
    assert limited("run", "s.toml", "-o", "r", "-q", largest=40_000, cwd=tmp_path).returncode == 1
    results = pl.load("r")
    finished, on_record = results.summary["flows"]["finished"], results.flow_counts()["finished"]
    assert 0 < on_record < finished
    told = paceline("report", "r").out
    assert "Its records go to" in told
    assert "Flows, drops and all other counters are those until it broke off." in told
    assert re.search(rf"^Flows finished  +{finished:,}$", told, re.MULTILINE)
    assert re.search(rf"^Events  +{results.summary['counters']['events']:,}$", told, re.MULTILINE)
    assert re.search(rf"^all, 1 KB  +{on_record:,} ", told, re.MULTILINE), "percentiles are of those on record"


def on_a_small_disk(size: int, *command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command in `cwd` where `disk` is one of `size` bytes, whose files are in `disk.kept` afterwards.

    It is a tmpfs in a mount namespace of its own, which needs no root where users may have namespaces.
    """
    (cwd / "disk").mkdir(exist_ok=True)
    mounted = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mount = f"mount -t tmpfs -o size={size} none disk"
    if shutil.which("unshare") is None or subprocess.run([*mounted, mount], cwd=cwd, capture_output=True).returncode:
        pytest.skip("no namespace to mount a small disk in")
    script = f'{mount} && {{ "$@"; code=$?; cp -a disk disk.kept; exit $code; }}'
    program = [sys.executable, "-B", "-m", "paceline", *command]
    return subprocess.run([*mounted, script, "sh", *program], capture_output=True, text=True, check=False, cwd=cwd)


TABLES = ["flows.csv", "queries.csv", "packets.csv", "ranks.csv", "queues.csv", "links.csv", "pauses.csv"]
TABLES += ["saturation.csv", "series.csv"]
"""In the order in which they are written."""


@pytest.mark.parametrize("filled_by", ["flows.bin", "packets.bin", "queries.bin", "flows.csv", "series.csv"])
def test_a_run_that_fills_the_disk_says_so_and_leaves_what_opens(paceline, tmp_path, filled_by):
    """While it goes, and as its tables are written: there is room for the last word, and nothing behind a gap."""
    load = "[[workloads]]\nkind = 'poisson'\nduration = '2ms'\nsizes = '1KB'\nload = {value = 0.9}\n"
    rpc = "[[workloads]]\nkind = 'rpc'\nsizes = '1KB'\nresponse = '1B'\nduration = '2ms'\noutstanding = 9\n"
    more = {
        "packets.bin": "[records.packets]\nrows = 1000000\n",
        "queries.bin": rpc,
        "series.csv": "[records.series]\ninterval = '10ns'\nsamples = 1000000\n",
    }
    if filled_by == "queries.bin":
        load = ""
    Path("s.toml").write_text(HEAD + load + more.get(filled_by, ""))
    assert paceline("run", "s.toml", "-o", "whole", "-q").code == 0
    for path in Path("whole").glob("*.parquet"):
        path.unlink()
    sizes = {p.name: p.stat().st_size for p in Path("whole").iterdir()}
    before = [name for name in TABLES[: TABLES.index(filled_by)] if name in sizes] if filled_by in TABLES else []
    others = [name for name in sizes if filled_by in TABLES and (name not in TABLES or name in before)]
    # What is on the disk when the file is half written, and what is kept for the summary.
    size = sum(sizes[name] for name in others) + sizes[filled_by] // 2 + (80 << 10)

    done = on_a_small_disk(size, "run", "s.toml", "-o", "disk/r", "-q", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "No space left on device" in done.stderr
    r, whole = Path("disk.kept/r"), pl.load("whole")
    results = pl.load(r)
    assert (results.status, results.status_text) == ("running", "broken off")
    assert "No space left on device" in results.summary["diagnosis"]
    assert results.summary["counters"]["data_packets"] > 1000
    if filled_by in TABLES:
        assert results.summary["counters"] == whole.summary["counters"]
        assert results.simulated_ps == whole.simulated_ps
    # Every table that is there is whole, and every flow on record one that started.
    there = {p.name for p in r.iterdir()}
    assert not [name for name in there if name.startswith(".")]
    assert there.intersection(TABLES) == set(before)
    for name in before:
        assert (r / name).read_bytes() == (Path("whole") / name).read_bytes()
    flows, true = results.flows, whole.flows
    assert filled_by != "flows.bin" or 0 < flows.rows < true.rows
    assert not (flows["status"] == "not_started").any()
    ended = flows["status"] == "finished"
    for column in ("start_ps", "size_bytes", "fct_sender_ps"):
        assert (flows[column][ended] == true[column][: flows.rows][ended]).all(), column
    assert paceline("report", str(r), "-q").code == 0
    assert "This run broke off" in (r / "report.html").read_text()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_only_be_read_is_reported_elsewhere(paceline, ended):
    shutil.copytree(ended / "rpc", "r")
    Path("r/flows.csv").unlink()
    Path("r").chmod(0o500)
    assert paceline("report", "r", "-o", "out", "-q").code == 0


def test_figures_have_a_place_before_a_report_is_drawn(paceline, ended):
    """All was drawn, and the error then had the exit code of a failure, not of a place that cannot be written to."""
    shutil.copytree(ended / "rpc", "r")
    for out in ("out", "r"):
        Path(out).mkdir(exist_ok=True)
        Path(out, "figures").write_text("mine")
        outcome = paceline("report", "r", "-q", *(() if out == "r" else ("-o", out)))
        assert outcome.code == 2
        assert f"{out}/figures is no folder" in outcome.err
        assert Path(out, "figures").read_text() == "mine"


def test_a_folder_whose_tables_cannot_be_restored_is_reported_elsewhere(paceline, ended, monkeypatch):
    def full(_folder: str) -> None:
        raise OSError(28, "No space left on device", "r/flows.csv")

    shutil.copytree(ended / "rpc", "r")
    monkeypatch.setattr(_native, "restore_csv", full)
    assert paceline("report", "r", "-o", "out", "-q").code == 0
    outcome = paceline("report", "r", "-q")
    assert (outcome.code, outcome.err) == (1, "error: r/flows.csv: No space left on device\n")


@pytest.mark.parametrize("command", [("htsim", "c.cm"), ("mpi", "export", "wrf", "--ranks", "4")])
def test_an_export_goes_into_a_regular_file_only(paceline, command):
    """`--force` with a device replaced the device."""
    Path("c.cm").write_text("Nodes 16\nConnections 1\n0->1 start 0 size 1\n")
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("full").symlink_to("/dev/full")
    before = {p: p.lstat().st_mode for p in Path().iterdir()}
    for out, told in (
        ("folder", "folder"),
        ("pipe", "pipe"),
        ("full", "full"),
        ("/dev/full", "/dev/full"),
        ("nowhere/x", "nowhere/x"),
    ):
        outcome = paceline(*command, "-o", out, "--force")
        assert outcome.code in (1, 2)
        assert f" {told}: " in outcome.err
        assert {p: p.lstat().st_mode for p in Path().iterdir()} == before


def as_killed(folder: Path) -> None:
    """A folder as a run leaves it that is killed under way."""
    edited(status="running", simulated_ps=0)(folder)
    for table in folder.glob("*.csv"):
        table.unlink()


@pytest.mark.parametrize("size", [0, 10, 63, 64, 100])
@pytest.mark.parametrize("name", ["flows.bin", "queries.bin"])
def test_a_run_killed_before_its_records_were_written_opens(paceline, ended, name, size):
    """The header of `queries.bin` came with the first records: a folder killed before could be read by nobody."""
    shutil.copytree(ended / "rpc", "r")
    as_killed(Path("r"))
    data = Path("r", name).read_bytes()
    if name == "flows.bin":
        data = data[:16] + bytes(8) + data[24:]  # how many there are is known at the end
    Path("r", name).write_bytes(data[:size])
    assert {"flows.bin": pl.load("r").flows, "queries.bin": pl.load("r").queries}[name].rows == 0
    outcome = paceline("report", "r", "-q")
    assert (outcome.code, outcome.err) == (0, "")
    table = Path("r", name.replace(".bin", ".csv")).read_text()
    assert table.count("\n") == 1


def test_records_begin_with_their_header_while_the_run_goes(tmp_path):
    """Killed at that moment, it has to be a folder that opens."""
    seen = []

    def look(_snapshot: object) -> None:
        seen.append([(tmp_path / "r" / name).read_bytes()[:8] for name in ("flows.bin", "queries.bin")])

    pl.simulate(RPC.replace("200us", "3ms"), tmp_path / "r", progress=look)
    assert seen[0] == [b"PACELFLW", b"PACELQRY"]


def test_records_without_a_flow_are_checked_too(paceline, ended):
    """A name was looked up by what stands in them: an IndexError."""
    shutil.copytree(ended / "rpc", "r")
    data = bytearray(Path("r/flows.bin").read_bytes())
    first = next(at for at in range(64, len(data), 80) if data[at] == 0)
    data[first + 2] = 3
    Path("r/flows.bin").write_bytes(data)
    with pytest.raises(pl.ResultsError, match=r"flows\.bin: scheme index 3 of no flow"):
        pl.load("r")
    assert paceline("report", "r", "-q", "-o", "page").code == 2


def test_a_flow_without_its_ideal_is_told_before_anything_is_drawn(paceline, ended):
    """The figures of the queries, and restored tables, were there already."""
    shutil.copytree(ended / "rpc", "r")
    as_killed(Path("r"))
    data = bytearray(Path("r/flows.bin").read_bytes())
    first = next(at for at in range(64, len(data), 80) if data[at])
    data[first + 48 : first + 56] = bytes(8)
    Path("r/flows.bin").write_bytes(data)
    before = contents("r")
    outcome = paceline("report", "r", "-q")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert re.search(r"r/flows\.bin: flow \d+ has no ideal_sender_ps", outcome.err)
    assert contents("r") == before


@pytest.mark.parametrize(
    "name", ["summary.json", "flows.bin", "queries.bin", "links.csv", "scenario.toml", "alone.bin"]
)
def test_a_pipe_in_a_result_folder_keeps_nobody_waiting(ended, tmp_path, name):
    shutil.copytree(ended / ("rpc" if name == "queries.bin" else "pfc"), tmp_path / "r")
    (tmp_path / "r" / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / "r" / name)
    command = [sys.executable, "-m", "paceline", "report", "r", "-q", "-o", "page"]
    command += ["--baseline", "alone"] if name == "alone.bin" else []
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60)
    told = (done.returncode, done.stderr.count("\n"), f"r/{name}" in done.stderr)
    assert told == (2, 1, True) or (name == "scenario.toml" and done.returncode == 0), done.stderr


def test_a_run_removes_what_kills_have_left_in_its_folder(paceline):
    """Of a table or figure that the next run does not write, it lay there for ever."""
    Path("s.toml").write_text(GOOD)
    assert paceline("run", "s.toml", "--out", "r").code == 0
    Path("r/figures").mkdir()
    parts = [".ranks.csv.part", ".report.html.part", ".alone.bin.part", "figures/.slowdown_cdf.png.part"]
    for name in parts:
        Path("r", name).write_text("half")
    Path("r/.mine.part").write_text("mine")
    assert paceline("run", "s.toml", "--out", "r").code == 0
    assert [name for name in parts if Path("r", name).exists()] == []
    assert not Path("r/figures").exists()
    assert Path("r/.mine.part").read_text() == "mine"


def test_a_run_removes_the_report_of_the_one_before(paceline):
    """Numbers of another run would go into somebody's paper."""
    Path("s.toml").write_text(GOOD)
    assert paceline("run", "s.toml", "--out", "r").code == 0
    before = set(Path("r").iterdir())
    assert paceline("report", "r", "-q").code == 0
    Path("r/mine.txt").write_text("mine")
    assert {"tables.md", "tables.tex", "report.html", "figures"} <= {path.name for path in Path("r").iterdir()}
    assert paceline("run", "s.toml", "--out", "r").code == 0
    assert set(Path("r").iterdir()) == before | {Path("r/mine.txt")}


def test_a_run_leaves_figures_that_no_report_has_drawn(paceline):
    """A picture of one's own for the paper was gone, and all behind a link to the folder of the paper's."""
    Path("s.toml").write_text(GOOD)
    assert paceline("run", "s.toml", "--out", "r").code == 0
    assert paceline("report", "r", "-q").code == 0
    Path("r/figures/mine.png").write_text("mine")
    assert paceline("run", "s.toml", "--out", "r").code == 0
    assert list(Path("r/figures").iterdir()) == [Path("r/figures/mine.png")]
    assert paceline("report", "r", "-q").code == 0
    drawn = {path.name for path in Path("r/figures").iterdir()}
    Path("r/figures").rename("paper")
    Path("r/figures").symlink_to("../paper")
    assert paceline("run", "s.toml", "--out", "r").code == 0
    assert {path.name for path in Path("paper").iterdir()} == drawn


def test_a_report_removes_the_figures_of_the_one_before(tmp_path):
    """Figures of another run stayed beside the new page, and would go into somebody's paper."""
    few, many = (write_run(tmp_path / str(flows), flows=flows, tables=False) for flows in (2, 1200))

    def report(run: Path, page: str) -> set[str]:
        folder = write_report([run], tmp_path / page).parent / "figures"
        return {path.name for path in folder.iterdir()}

    of_few, of_many = report(few, "few/report.html"), report(many, "out/report.html")
    assert of_many - of_few, "else nothing is to be removed"
    (tmp_path / "out/figures/mine.png").write_text("mine")
    assert report(few, "out/report.html") == of_few | {"mine.png"}
    # Those that another page leads to stay.
    of_both = of_few | of_many | {"mine.png"}
    for page in ("out/other.html", "out/third.html"):
        assert report(many, page) == of_both
    assert report(few, "out/third.html") == of_both


def test_a_folder_may_be_reported_by_several_at_once(ended, tmp_path):
    """Each moved away the files that the others were writing, half written."""
    folder = tmp_path / "r"
    shutil.copytree(ended / "pfc", folder)
    (folder / "flows.csv").unlink()
    command = [sys.executable, "-m", "paceline", "report", str(folder), "-q"]
    several = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    assert [(process.communicate()[1], process.returncode) for process in several] == [("", 0)] * 4
    assert not list(folder.rglob(".*"))


@pytest.mark.parametrize("link", ["..%2Fmine.png", "..%2F..%2Fmine.png", "%00.png", "sub.png", "notes.txt", ".."])
def test_a_page_of_somebody_else_cannot_have_files_removed(tmp_path, link):
    """Who replaces a page that came with a run would lose files of theirs, which it leads to by dots or other names."""
    run = write_run(tmp_path / "in/r", flows=2, tables=False)
    page = write_report([run], run / "report.html")
    page.write_text(page.read_text().replace("</body>", f'<a href="figures/{link}">png</a></body>'))
    (run / "figures/sub.png").mkdir()
    others = [run / "figures/notes.txt", run / "mine.png", run.parent / "mine.png"]
    for other in others:
        other.write_text("mine")
    write_report([run], page)
    assert [other.read_text() for other in others] == ["mine"] * len(others)
    assert (run / "figures/sub.png").is_dir()


@pytest.mark.parametrize("name", ["a" * 249, "a" * 250, "a" * 255, "ü" * 127, "a" * 200])
def test_a_file_may_have_as_long_a_name_as_there_are(tmp_path, name):
    """Of names of more than 249 bytes, which the file system takes, it was said that they are too long."""
    write(tmp_path / name, "new")
    write(tmp_path / name, "newer")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: "newer"}


def test_a_file_is_replaced_by_one_writer_at_a_time(tmp_path):
    target = tmp_path / "x"
    begun, go_on = Event(), Event()

    def slow() -> None:
        with replacing(target) as part:
            part.write_text("slow")
            begun.set()
            assert go_on.wait(10)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(slow)
        assert begun.wait(10)
        second = pool.submit(write, target, "fast")
        time.sleep(0.1)
        assert not second.done()
        assert not target.exists()
        go_on.set()
        first.result(10)
        second.result(10)
    assert target.read_text() == "fast"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_what_is_missing_while_a_lock_is_held_is_told(tmp_path):
    """It was taken for the lock's own file, and the lock was waited for anew."""
    folder = tmp_path / "f"
    folder.mkdir()

    def replaced() -> None:
        with replacing(folder / "x") as part:
            part.write_text("half")
            shutil.rmtree(folder)

    def made() -> None:
        with Store(tmp_path / "c", "0" * 16).part("k"):
            (tmp_path / "nowhere").read_text()

    with pytest.raises(FileNotFoundError, match="f/x"):
        replaced()
    with pytest.raises(FileNotFoundError, match="nowhere"):
        made()
    assert not list((tmp_path / "c").rglob("*.lock"))


def test_flows_are_simulated_alone_by_one_process_at_a_time(paceline, ended):
    shutil.copytree(ended / "pfc", "r")
    held = os.open("r/.alone.bin.part", os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    outcome = paceline("report", "r", "-q", "--baseline", "alone", "-o", "page")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "r: another process is simulating its flows alone" in outcome.err
    os.close(held)
    assert paceline("report", "r", "-q", "--baseline", "alone", "-o", "page").code == 0
    assert not Path("r/.alone.bin.part").exists()


def test_the_hpcc_command_leaves_files_alone_that_another_run_writes(paceline):
    """Both emptied the files and wrote into them."""
    for name, text in {"config.txt": CONFIG, "net.txt": NET, "flow.txt": FLOW, "trace.txt": "0\n"}.items():
        Path(name).write_text(text)
    Path("out").mkdir()
    Path("out/pfc.txt").write_text("of the other one")
    held = os.open("out/pfc.txt", os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    outcome = paceline("hpcc", "config.txt", "-q")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "PFC_OUTPUT_FILE = out/pfc.txt: another run is writing it" in outcome.err
    assert {p.name: p.read_text() for p in Path("out").iterdir()} == {"pfc.txt": "of the other one"}
    os.close(held)
    assert paceline("hpcc", "config.txt", "-q").code == 0


def test_a_file_that_is_too_long_for_ours_is_not_read_to_its_end(tmp_path, monkeypatch):
    """All of somebody's file was read, and made into objects, to see whether the folder is that of a run."""
    summary, table = tmp_path / "summary.json", tmp_path / "tables.md"
    table.write_text("mine")
    text = json.dumps({"schema_version": 1})
    monkeypatch.setattr(replaceable, "_MOST_JSON", len(text))
    summary.write_text(text)
    replaceable.check_report(tmp_path / "report.html")
    summary.write_text(f"{text} ")
    with pytest.raises(pl.InputError, match="it would be replaced"):
        replaceable.check_report(tmp_path / "report.html")
    assert table.read_text() == "mine"
