"""`paceline run` and `paceline hpcc`: what they hand to the engine, what they print where, how they end."""

import json
import re
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from paceline import _native
from paceline.results import parquet

SCENARIO = "name = 'incast'\nswitch.ecn.k_min = '1KB'\nworkloads = [{ step = '1us' }]\n"
SUMMARY = {
    "name": "incast",
    "status": "completed",
    "simulated_ps": 12_345_000_000,
    "flows": {"total": 3000, "finished": 2999, "failed": 1, "unfinished": 0},
    "counters": {"data_hops": 5_000_000, "control_hops": 1_000_000, "drops_buffer": 0, "marks": 1234},
    "machine": {"run_s": 2.0, "cpu_s": 2.0, "hops_per_s": 3_000_000.0, "peak_rss_mib": 118.4},
    "load": [
        {"tier": "host->tor", "direction": None, "capacity_bps": 10**12, "offered": 0.3, "carried": 0.2504},
        {"tier": "tor->host", "direction": None, "capacity_bps": 10**12, "offered": 0.0, "carried": 0.01},
    ],
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
    # Whether links carried what was asked for stood in no place but the report.
    assert "load, offered / carried: host → tor 30.0 % / 25.0 %, tor → host – / 1.0 %\n" in outcome.out
    assert "warning: the load is above 1" in outcome.out
    # What nobody has set is no news.
    assert "had no effect: switch.ecn, workloads.0.step (why" in outcome.out
    assert out in outcome.out
    assert "drops" not in outcome.out


def test_a_run_of_no_time_does_not_say_how_fast_the_machine_is(paceline, tmp_path):
    """One of 0.00 s was told to make 0.31 M hops per CPU second: a tick or two of its clock."""
    (tmp_path / "s.toml").write_text(_native.template("quickstart"))
    outcome = paceline("run", "s.toml", "--set", "run.stop=1us", "-o", "out")
    assert re.search(r"packet hops in 0\.0\d s, peak memory", outcome.out)


NO_ROOM = """schema = 1
topology = { kind = "star", hosts = 17 }
schemes = { s = { cc = "none" } }
switch = { buffer = "1MiB", pfc = { headroom = "0B" } }
workloads = [{ kind = "incast", senders = 16, receiver = 16, random_senders = false }]
"""


def test_strict_makes_errors_of_warnings_and_of_drops_in_a_lossless_class(paceline, engine, monkeypatch, scenario):
    """There was only `--set run.strict=true`, which one had to know of."""
    paceline("run", str(scenario), "--strict", "--set", "a.b=1")
    assert engine[0][2] == ["a.b=1", "run.strict=true"]
    monkeypatch.undo()
    path = scenario.with_name("s.toml")
    path.write_text(NO_ROOM)
    outcome = paceline("run", str(path), "--strict", "--out", str(path.with_name("r")))
    assert outcome.code == 2
    assert outcome.err.startswith("error: --strict: switch.pfc.headroom sets 0 bytes aside"), outcome.err
    assert not path.with_name("r").exists()


def test_quiet_is_silent(paceline, engine, scenario):
    outcome = paceline("run", str(scenario), "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


def test_a_summary_may_be_short(paceline, engine, scenario, monkeypatch):
    monkeypatch.setattr(_native, "run", lambda *_: ({}, HOLD))
    assert paceline("run", str(scenario)).code == 0


@pytest.mark.parametrize("after", [Path.unlink, lambda scenario: scenario.write_text("[half")])
def test_a_scenario_may_be_edited_while_it_runs(paceline, engine, scenario, monkeypatch, after):
    """A run of hours ended with exit code 2 or 1, as if it had failed, for what its file was by then."""
    monkeypatch.setattr(_native, "run", lambda *_: (after(scenario), ({"status": "completed"}, HOLD))[1])
    outcome = paceline("run", str(scenario))
    assert (outcome.code, outcome.err) == (0, "")
    assert "completed" in outcome.out


@pytest.mark.parametrize(("status", "code"), [("stopped", 0), ("interrupted", 130), ("stalled", 1)])
def test_the_status_of_a_run_decides_the_exit_code(paceline, engine, scenario, monkeypatch, status, code):
    monkeypatch.setattr(_native, "run", lambda *_: ({"status": status}, HOLD))
    outcome = paceline("run", str(scenario))
    assert outcome.code == code
    assert ("results" in outcome.err) == (code != 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_asks_the_engine_to_stop_and_is_handled_as_before_afterwards(
    paceline, engine, scenario, monkeypatch, number
):
    answers = []
    snapshot = dict.fromkeys(("sim_ps", "flows_started", "flows_done", "steps_done", "hops", "wall_s"), 0)
    snapshot |= {"end_ps": None, "flows_total": None, "steps_total": None}

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


def test_a_run_under_nohup_goes_on_when_the_session_ends(paceline, engine, scenario, monkeypatch):
    """That is what nohup(1) is for: it has SIGHUP ignored."""
    snapshot = dict.fromkeys(("sim_ps", "flows_started", "flows_done", "steps_done", "hops", "wall_s"), 0)
    snapshot |= {"end_ps": None, "flows_total": None, "steps_total": None}

    def run(*arguments):
        signal.raise_signal(signal.SIGHUP)
        return {**SUMMARY, "status": "finished" if arguments[-2](snapshot) else "interrupted"}, HOLD

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        monkeypatch.setattr(_native, "run", run)
        assert paceline("run", str(scenario)).code == 0
    finally:
        signal.signal(signal.SIGHUP, before)


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


def test_every_template_runs(paceline):
    for template in json.loads(paceline("list", "--json").out)["templates"]:
        name = template["name"]
        assert paceline("init", name).code == 0
        # The large one is cut short: what counts is that it is understood.
        short = ("--set", "workloads.0.duration='50us'") if name == "hpcc-websearch" else ()
        outcome = paceline("run", f"{name}.toml", "--progress", "none", *short)
        assert (outcome.code, outcome.err) == (0, "")
        assert f"{json.loads(Path(f'results/{name}/summary.json').read_text())['name']}: completed" in outcome.out


TCP_INCAST = """
topology = { kind = "star", hosts = 41, host_rate = "10Gbps" }
switch = { model = "per_port", buffer = "150KB", pfc.enabled = false }
schemes.tcp = { cc = "new_reno" }
workloads = [{ kind = "incast", senders = 40, receiver = 40, random_senders = false, sizes = "64KB" }]
"""


def test_timeouts_are_told(paceline):
    """An incast over TCP took a second, TCP's shortest timeout: nothing but `summary.json` said that one ran out."""
    Path("tcp.toml").write_text(TCP_INCAST)
    lines = paceline("run", "tcp.toml").out.splitlines()
    counters = json.loads(Path("results/tcp/summary.json").read_text())["counters"]
    assert counters["timeouts"] > 1
    assert f" retransmissions, {counters['timeouts']} timeouts" in lines[1]
    report = paceline("report", "results/tcp").out
    assert f"Timeouts {counters['timeouts']}" in " ".join(report.split())


def test_threads_are_reported_as_without_effect_when_asked_for(paceline):
    paceline("init", "incast")
    assert "--threads 4" in paceline("run", "incast.toml", "--threads", "4").out
    assert "--threads" not in paceline("run", "incast.toml").out


def test_a_setting_that_an_override_of_its_section_took_away_is_not_told(paceline):
    """`--set switch.pfc={enabled=false}` leaves nothing of what `[switch.pfc]` had, but that "had no effect"."""
    Path("incast.toml").write_text(NO_ROOM)
    told = paceline("run", "incast.toml", "--set", "switch.pfc={ enabled = false }").out
    assert "switch.pfc.headroom" not in told
    told = paceline("run", "incast.toml", "--set", 'switch.pfc={ enabled = false, alpha = 1, headroom = "0B" }').out
    assert "had no effect: switch.pfc.headroom, switch.pfc.alpha (" in told


def test_a_setting_with_blanks_in_its_key_is_told(paceline):
    """The engine takes `host . tcp . stack = freebsd` as it is meant; that it had no effect nobody said."""
    paceline("init", "incast")
    told = paceline("run", "incast.toml", "--set", "host . tcp . stack = freebsd").out
    assert "had no effect: host.tcp" in told


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


@pytest.mark.parametrize("name", ["r\x1b]0;hi\x07", "a\nb", "it's \x1b", "µ\x9b1m"])
def test_names_of_folders_do_nothing_to_a_terminal(paceline, name):
    """They were printed as they are: `ESC ]0;` renames the window."""
    paceline("init", "incast")
    run = paceline("run", "incast.toml", "-o", name)
    told = run.out + paceline("report", name).out + paceline("report", name, ".", "-o", "x").err
    told += paceline("sweep", "incast.toml", "-o", f"s{name}", "-j", "1").out
    assert told.replace("\n", "").isprintable()
    pasted = run.out.rpartition("result in ")[2].split("`")[1].removeprefix("paceline report ")
    shell = ["bash", "-c", f"printf %s {pasted}"]
    assert subprocess.run(shell, capture_output=True, text=True, check=True).stdout == name
