"""The command line: what it accepts, what it prints where, how it ends."""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

import paceline as pl
from paceline import _native, bench, parquet

COMMANDS = ["run", "report", "hpcc", "htsim", "check", "explain", "init", "list", "bench", "reproduce", "sweep"]
COMMANDS += ["size-buffers", "mpi"]
SCENARIO = "name = 'incast'\nswitch.ecn.k_min = '1KB'\nworkloads = [{ step = '1us' }]\n"
SUMMARY = {
    "name": "incast",
    "status": "completed",
    "simulated_ps": 12_345_000_000,
    "flows": {"total": 3000, "finished": 2999, "failed": 1, "unfinished": 0},
    "counters": {"data_hops": 5_000_000, "control_hops": 1_000_000, "drops_buffer": 0, "marks": 1234},
    "machine": {"run_s": 2.0, "hops_per_s": 3_000_000.0, "peak_rss_mib": 118.4},
    "warnings": ["the load is above 1"],
    "without_effect": ["switch.ecn, switch.buffer: nothing waited", "workloads.0.step: c", "host.rto: none ran out"],
    "diagnosis": None,
}


HOLD = SimpleNamespace(release=lambda: None)


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "incast.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def engine(monkeypatch):
    """Stands in for the engine's `run`: keeps its arguments and returns the summary."""
    calls = []
    monkeypatch.setattr(parquet, "available", lambda: False)

    def run(*arguments):
        calls.append(arguments)
        return SUMMARY, HOLD

    monkeypatch.setattr(_native, "run", run)
    return calls


def test_version_names_version_and_revision(paceline):
    outcome = paceline("--version")
    manifest = tomllib.loads((Path(__file__).parents[1] / "Cargo.toml").read_text())
    assert outcome.code == 0
    assert outcome.out.split()[:2] == ["paceline", manifest["workspace"]["package"]["version"]]
    revision = _native.git_revision()
    assert revision is None or revision[:12] in outcome.out


def test_help_lists_every_command(paceline):
    for arguments in ([], ["--help"], ["-h"]):
        outcome = paceline(*arguments)
        assert outcome.code == 0
        assert all(f"\n  {command} " in outcome.out for command in COMMANDS)
        assert not any(line.endswith("...") for line in outcome.out.splitlines()[1:]), "a description is cut"


def test_mpi_alone_shows_its_help(paceline):
    """It showed it as an error, in one line with its line breaks spelled out."""
    outcome = paceline("mpi")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == paceline("mpi", "--help").out


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself_with_an_example(paceline, command):
    outcome = paceline(command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"\n    paceline {command}" in outcome.out


UDP = """
name = "udp"
[topology]
kind = "star"
hosts = 9
[switch]
buffer = "100KB"
model = "per_port"
pfc = { enabled = false }
[schemes.udp]
cc = "udp"
[[workloads]]
kind = "incast"
group = "burst"
scheme = "udp"
senders = 8
sizes = "200KB"
"""


def test_a_report_of_datagrams_shows_what_was_lost(paceline, tmp_path):
    """With four of five datagrams lost the report said "slowdown 1.00" and nothing else."""
    (tmp_path / "udp.toml").write_text(UDP)
    ended = paceline("run", "udp.toml", "--progress", "none")
    assert ended.code == 0
    # "8 of 8 flows finished" stood here, of which the report says that all have failed.
    assert "; 0 of 8 flows received whole, 8 failed\n" in ended.out
    assert "8 failed" in repr(pl.load("results/udp"))
    alone = paceline("run", "udp.toml", "--set", "workloads.0.senders=1", "--out", "alone", "--progress", "none")
    assert "; 1 of 1 flows received whole\n" in alone.out
    outcome = paceline("report", "results/udp", "--out", "page.html")
    assert outcome.code == 0
    assert (tmp_path / "page.html").is_file(), "a folder page.html was made"
    assert "timed at the receiver" in outcome.out
    assert "8 / 0 / 8" in outcome.out
    assert re.search(r"udp +1,600 +1,305 +81.6% +8 of 8", outcome.out)
    # The tiles and the counters said that all had finished and none failed, beside a table by which all had failed.
    assert re.search(r"Flows finished +0\nFlows unfinished +0\nFlows failed +8\n", outcome.out)
    page = re.sub(r"\s*<[^>]+>\s*", "|", (tmp_path / "page.html").read_text())
    assert "|flows finished|0|" in re.sub(r"\|+", "|", page)
    assert "|unfinished / failed|0 / 8|" in re.sub(r"\|+", "|", page)
    sender = paceline("report", "results/udp", "--side", "sender")
    assert "Flows over UDP are timed at the sender" in sender.out
    assert paceline("report", "results/udp", "--group", "burst").code == 0
    wrong = paceline("report", "results/udp", "--group", "brust")
    assert wrong.code == 2
    assert "--group" in wrong.err
    assert "burst" in wrong.err


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("switch", ("switch.buffer", "section switch.pfc", "Packet buffer")),
        ("switch.pfc", ("headroom", "resume_offset")),
        ("records.series", ("interval", "ports")),
        ("failures.link", ("failures.*.link", "The nodes at its ends")),
        ("failures[].link", ("failures.*.link",)),
        ("workloads.hosts", ("workloads.*.hosts",)),
        ("load", ("workloads[].load", "value = 0.3")),
        ("failures", ('kind = "random"', "repair")),
        ("schemes.cc", ("schemes.*.cc", "express_pass")),
        ("workloads.mode", ('kind = "incast"', 'kind = "rpc"')),
        ("schemes", ('cc = "dcqcn"',)),
    ],
)
def test_explain_knows_sections_and_entries_of_lists(paceline, asked, told):
    """`explain switch` said "no such field; allowed: `switches`?"."""
    outcome = paceline("explain", asked)
    assert (outcome.code, outcome.err) == (0, "")
    assert all(text in outcome.out for text in told)


def test_explain_still_refuses_nonsense(paceline):
    for nonsense in ("nonsense", "switch.nonsense", "", "*"):
        assert paceline("explain", nonsense).code == 2


GRAPH = """
[topology]
kind = "graph"
hosts = ["h0", "h1"]
switches = ["a0"]
links = [{ a = "h0", b = "a0" }, { a = "h1", b = "a0", rate = "25Gbps" }]
[schemes.none]
cc = "none"
[[workloads]]
kind = "permutation"
sizes = "1MB"
"""


def test_check_tells_the_ports_that_settings_ask_for(paceline, tmp_path):
    """`records.series.ports` takes `node:port`, and nothing said which port leads where."""
    (tmp_path / "g.toml").write_text(GRAPH)
    outcome = paceline("check", "g.toml", "--ports")
    assert outcome.code == 0
    assert re.search(r"^2:1 +a0 +1 h1 +25 Gb/s +1 µs$", outcome.out, re.MULTILINE)
    found = json.loads(paceline("check", "g.toml", "--ports", "--json").out)["ports"]
    assert [p["port"] for p in found] == ["0:0", "1:0", "2:0", "2:1"]
    assert paceline("run", "g.toml", "-q", "--set", f"records.series.ports=[{found[-1]['port']!r}]").code == 0
    sizes = json.loads(paceline("check", "g.toml", "--json").out)
    assert sizes["network"] == {"hosts": 2, "switches": 1, "links": 2}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_the_help_name_what_exists(paceline, command):
    """People copy them: `paceline bench incast --json` failed, as the workload is called otherwise."""
    said = paceline(command, "--help").out
    text = " ".join(said.split("\n\nOptions:")[-1].split()) if command != "bench" else ""
    examples = re.findall(rf"^    paceline {command}(.*)$", said, re.MULTILINE)
    workloads = (Path(__file__).parents[1] / "benches/src/workloads.rs").read_text()
    templates = {t["name"] for t in _native.catalogue()["templates"]}
    for example in examples:
        words = example.partition("&&")[0].split()
        for word in words:
            assert not word.startswith("--") or word in text or command in ("bench", "mpi"), f"no option {word}"
        names = [word for word in words if not word.startswith("-")]
        if command == "init":
            assert set(names) <= templates
        if command == "bench":
            assert all(f'"{name}"' in workloads for name in names)
        if command == "explain":
            assert all(paceline("explain", name).code == 0 for name in names)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["fly"], "fly"),
        (["run"], "SCENARIO.toml"),
        (["run", "x.toml", "--treads", "2"], "--treads"),
        (["run", "x.toml", "--threads", "two"], "--threads"),
        (["run", "x.toml", "--seed", "1.5"], "--seed"),
        (["run", "x.toml", "--progress", "loud"], "loud"),
        (["hpcc", "c.txt", "--qlen-dump-ms", "0"], "--qlen-dump-ms"),
        (["report"], "DIR"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_names_what_is_wrong(paceline, arguments, named):
    outcome = paceline(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert named in outcome.err
    assert "--help" in outcome.err
    as_json = paceline("--json-errors", *arguments)
    assert as_json.code == 2
    parts = json.loads(as_json.err)
    assert parts["error"] == "usage"
    assert named in " ".join(parts.values())


def test_run_hands_everything_to_the_engine(paceline, engine, scenario):
    outcome = paceline(
        *("run", str(scenario), "--out", "there", "--threads", "3", "--seed", str(2**63 - 1)),
        *("--set", "a.b=1", "--set", "c=x=y", "--follow-flow", "7", "--follow-flow", "0"),
    )
    assert outcome.code == 0
    text, source, overrides, out, threads, seed, followed, progress, base = engine[0]
    assert (text, source) == (SCENARIO, str(scenario))
    assert (overrides, followed) == (["a.b=1", "c=x=y"], [7, 0])
    assert (out, threads, seed) == ("there", 3, 2**63 - 1)
    assert callable(progress)
    assert base == str(scenario.parent)


def test_run_has_defaults_and_says_how_it_went(paceline, engine, scenario):
    outcome = paceline("run", str(scenario))
    _, _, overrides, out, threads, seed, followed, _, _ = engine[0]
    assert (overrides, seed, followed) == ([], None, [])
    assert Path(out) == Path("results/incast")
    assert threads >= 1
    for said in ("completed", "12.345 ms", "2,999 of 3,000", "1 failed", "1,234 ECN marks", "3.00 M hops", "118 MiB"):
        assert said in outcome.out
    assert "warning: the load is above 1" in outcome.out
    # What nobody has set is no news.
    assert "had no effect: switch.ecn, workloads.0.step (why" in outcome.out
    assert out in outcome.out
    assert "drops" not in outcome.out


def test_quiet_is_silent(paceline, engine, scenario):
    outcome = paceline("run", str(scenario), "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


def test_a_summary_may_be_short(paceline, engine, scenario, monkeypatch):
    monkeypatch.setattr(_native, "run", lambda *_: ({}, HOLD))
    assert paceline("run", str(scenario)).code == 0


@pytest.mark.parametrize(("status", "code"), [("stopped", 0), ("interrupted", 130), ("stalled", 1)])
def test_the_status_of_a_run_decides_the_exit_code(paceline, engine, scenario, monkeypatch, status, code):
    monkeypatch.setattr(_native, "run", lambda *_: ({"status": status}, HOLD))
    outcome = paceline("run", str(scenario))
    assert outcome.code == code
    assert ("results" in outcome.err) == (code != 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_asks_the_engine_to_stop_and_is_handled_as_before_afterwards(
    paceline, engine, scenario, monkeypatch, number
):
    answers = []
    snapshot = dict.fromkeys(("sim_ps", "flows_started", "flows_done", "hops", "wall_s"), 0)
    snapshot |= {"end_ps": None, "flows_total": None}

    def run(*arguments):
        answers.append(arguments[-2](snapshot))
        signal.raise_signal(number)
        answers.append(arguments[-2](snapshot))
        return {"status": "interrupted"}, HOLD

    before = signal.getsignal(number)
    monkeypatch.setattr(_native, "run", run)
    assert paceline("run", str(scenario)).code == 130
    assert answers == [True, False]
    assert signal.getsignal(number) is before


def test_hpcc_leaves_standard_output_empty(paceline, monkeypatch):
    calls = []
    monkeypatch.setattr(_native, "hpcc", lambda *arguments: calls.append(arguments) or SUMMARY)
    Path("mix").mkdir()
    for name in ("mix/config.txt", "c.txt"):
        Path(name).touch()
    outcome = paceline("hpcc", "mix/config.txt", "--lenient", "--qlen-dump-ms", "10")
    assert (outcome.code, outcome.out) == (0, "")
    assert "2,999 of 3,000" in outcome.err
    assert calls[0][:6] == (str(Path("mix/config.txt")), True, 10, None, [], None)
    paceline("hpcc", "c.txt", "--quirk", "none", "--engine", "windowed")
    paceline("hpcc", "c.txt", "--quirk", "clock_1ns", "--quirk", "insertion_order")
    paceline("hpcc", "c.txt", "--without-quirk", "clock_1ns")
    assert [call[1:6] for call in calls[1:]] == [
        (False, 100, [], [], "windowed"),
        (False, 100, ["clock_1ns", "insertion_order"], [], None),
        (False, 100, None, ["clock_1ns"], None),
    ]


def test_check_sizes_up_a_run_and_warns_beside_it(paceline):
    paceline("init", "quickstart")
    outcome = paceline("check", "quickstart.toml", "--set", "switch.ecn.k_max='2GB'")
    assert outcome.code == 0
    for said in ("32 hosts, 6 switches, 40 links", "328, 600 MB of payload", "windowed", "lookahead", " s ", "MiB"):
        assert said in outcome.out
    assert "warning: switch.ecn.k_max" in outcome.err
    resolved = tomllib.loads(paceline("check", "quickstart.toml", "--resolved").out)
    assert resolved["switch"]["pfc"]["alpha"] == 0.125
    assert json.loads(paceline("check", "quickstart.toml", "--json").out)["size"] == [32, 6, 40]
    assert not Path("results").exists()


@pytest.mark.parametrize(
    "size", ["kind = 'star'", "kind = 'leaf_spine'", "kind = 'hpcc_fat320'", "kind = 'fat_tree'\nk = 16"]
)
def test_the_estimate_of_memory_is_within_a_third(tmp_path, size):
    """In processes of their own: a peak never falls."""
    scenario = tmp_path / "s.toml"
    scenario.write_text(
        f"[topology]\n{size}\n[schemes.hpcc]\ncc = 'hpcc'\n"
        "[[workloads]]\nkind = 'poisson'\nduration = '100us'\nload = {value = 0.5}\n"
    )
    run = ("-m", "paceline", "run", str(scenario), "--out", str(tmp_path / "out"), "-q")
    assert run_module(*run).returncode == 0
    measured = json.loads((tmp_path / "out/summary.json").read_text())["machine"]["peak_rss_mib"]
    checked = run_module("-m", "paceline", "check", str(scenario), "--json")
    assert json.loads(checked.stdout)["memory_mib"] == pytest.approx(measured, rel=0.3)


def test_init_writes_a_template_and_replaces_nothing_unasked(paceline, monkeypatch):
    monkeypatch.setattr(_native, "template", lambda name: f"# {name}\n")
    assert paceline("init", "incast").code == 0
    path = Path("incast.toml")
    assert path.read_text() == "# incast\n"
    path.write_text("mine")
    outcome = paceline("init", "incast")
    assert outcome.code == 2
    assert outcome.err.startswith("error: incast.toml: is there already")
    assert "--force" in outcome.err
    assert path.read_text() == "mine"
    assert paceline("init", "incast", "--force").code == 0
    assert path.read_text() == "# incast\n"


def test_list_names_everything_with_its_parameters(paceline, monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    text = paceline("list").out
    catalogue = json.loads(paceline("list", "--json").out)
    assert max(map(len, text.splitlines())) <= 90
    for section in ("topologies", "workloads", "schemes"):
        for entry in catalogue[section]:
            assert f"\n  {entry['name']}: " in text
            assert all(p["name"] in text for p in entry["parameters"])
    assert "eta = 0.95" in text
    assert all(name in text for name in catalogue["distributions"])


def test_explain_tells_default_range_and_source(paceline):
    outcome = paceline("explain", "schemes.hpcc.eta")
    assert outcome.code == 0
    for said in ("Target utilisation", "default: 0.95", "above 0, at most 1", "HPCC, sec. 5.1"):
        assert said in outcome.out


def test_every_template_runs(paceline):
    for template in json.loads(paceline("list", "--json").out)["templates"]:
        name = template["name"]
        assert paceline("init", name).code == 0
        # The large one is cut short: what counts is that it is understood.
        short = ("--set", "workloads.0.duration='50us'") if name == "hpcc-websearch" else ()
        outcome = paceline("run", f"{name}.toml", *short)
        assert (outcome.code, outcome.err) == (0, "")
        assert f"{json.loads(Path(f'results/{name}/summary.json').read_text())['name']}: completed" in outcome.out


def test_threads_are_reported_as_without_effect_when_asked_for(paceline):
    paceline("init", "incast")
    assert "--threads 4" in paceline("run", "incast.toml", "--threads", "4").out
    assert "--threads" not in paceline("run", "incast.toml").out


def test_a_flow_to_follow_that_never_was_is_told(paceline):
    """By the option that asked for it, not by the setting that the option stands for."""
    paceline("init", "incast")
    told = paceline("run", "incast.toml", "--follow-flow", "999").out
    assert "had no effect: --follow-flow 999 (" in told
    assert "records.series" not in told
    assert "--follow-flow 999: there was no flow 999" in Path("results/incast/summary.json").read_text()
    told = paceline("run", "incast.toml", "--set", "records.series.flows=[0, 998, 999]").out
    assert "had no effect: records.series.flows (" in told
    assert "records.series.flows: there was no flow 998, 999" in Path("results/incast/summary.json").read_text()
    off = (
        "--set",
        "records.series.interval=off",
        "--set",
        "records.series.ports=[]",
        "--set",
        "records.series.flows=[]",
    )
    told = paceline("run", "incast.toml", *off, "--follow-flow", "0").out
    assert "warning: --follow-flow 0 has no effect: records.series.interval is" in told


def test_a_flow_followed_twice_is_recorded_once(paceline):
    """The option beside the same flow in the scenario gave each sample twice."""
    paceline("init", "incast")
    for again in (("--follow-flow", "0"), ("--set", "records.series.flows=[0, 0]")):
        told = paceline("run", "incast.toml", *again).out
        assert "records.series" not in told
        rows = Path("results/incast/series.csv").read_text().splitlines()
        assert len(rows) == len(set(rows))


def test_commands_that_are_told_can_be_pasted(paceline, tmp_path):
    paceline("init", "incast")
    (tmp_path / "incast.toml").rename("a b.toml")
    told = paceline("run", "a b.toml").out
    assert "`paceline report 'results/a b'` draws it" in told


def test_report_prints_the_tables_and_where_the_page_is(paceline):
    paceline("init", "incast")
    for cc in ("hpcc", "none"):
        assert paceline("run", "incast.toml", "--set", f"schemes.hpcc.cc={cc}", "-q", "--out", cc).code == 0
    outcome = paceline("report", "hpcc", "none", "--out", "both")
    assert outcome.code == 0
    for said in ("Slowdown p50", "Slowdown p95", "Slowdown p99", "Events", "Packet hops per CPU second", "Peak memory"):
        assert said in outcome.out
    for said in ("Drops", "ECN marks", "PFC pause", "Ties"):
        assert said in outcome.out
    assert outcome.out.splitlines()[-1] == str(Path("both/report.html"))
    assert Path("both/figures/slowdown_cdf.png").exists()
    assert "incast-16 (none)" in Path("both/report.html").read_text()


def test_reports_may_time_flows_at_their_receivers(paceline):
    paceline("init", "incast")
    paceline("run", "incast.toml", "--set", "workloads.0.sizes=10KB", "--out", "run", "-q")
    sent, received = (paceline("report", "run", "--side", side).out for side in ("sender", "receiver"))
    assert sent != received
    assert "(creation to last byte received)" in Path("run/report.html").read_text()
    refused = paceline("report", "run", "--side", "receiver", "--baseline", "hpcc")
    assert refused.code == 2
    assert "--side = receiver" in refused.err
    assert "allowed: sender" in refused.err


def test_report_refuses_what_is_no_folder(paceline):
    outcome = paceline("report", "nowhere")
    assert outcome.code == 2
    assert "nowhere" in outcome.err


def test_bench_hands_its_arguments_to_the_program(paceline, monkeypatch):
    started = []
    monkeypatch.setattr(bench, "program", lambda: Path(sys.executable))
    monkeypatch.setattr(os, "execv", lambda path, arguments: started.append((path, arguments)))
    paceline("bench", "incast", "--json", "--unknown", "3")
    assert started == [(Path(sys.executable), [sys.executable, "incast", "--json", "--unknown", "3"])]


def test_bench_says_how_to_get_the_program(paceline, monkeypatch):
    monkeypatch.setattr(bench, "program", lambda: Path("nowhere/paceline-bench"))
    outcome = paceline("bench")
    assert outcome.code == 1
    assert "make setup" in outcome.err


def run_module(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **options)


def test_the_module_runs_as_a_program():
    done = run_module("-m", "paceline", "fly")
    assert done.returncode == 2
    assert "fly" in done.stderr


def test_help_does_not_wait_for_the_heavy_libraries():
    heavy = "{'matplotlib', 'numpy', 'rich', 'jinja2', 'pydantic'}"
    code = f"import sys; from paceline.cli import main; main(['--help']); sys.exit(bool({heavy} & set(sys.modules)))"
    assert run_module("-c", code).returncode == 0


def test_a_reader_that_leaves_early_is_no_error():
    code = "import sys; from paceline.cli import main; sys.exit(main(['--help']))"
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")
