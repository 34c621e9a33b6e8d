"""``paceline timeline``: who looks at a run in Perfetto sees its flows when and where they were."""

import gzip
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from conftest import Outcome
from helpers.synthetic import write_run
from paceline import _native
from paceline.results import Results
from paceline.timeline import write_timeline

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
load = { value = 0.9 }
max_flows = 60
"""
GRAPH = """
name = "named"
[topology]
kind = "graph"
hosts = ["alice", "bob", "carol"]
switches = ["middle"]
links = [{ a = "alice", b = "middle" }, { a = "bob", b = "middle" }, { a = "carol", b = "middle" }]
[schemes.hpcc]
cc = "hpcc"
[[workloads]]
kind = "flows"
rows = [{ src = 0, dst = 2, bytes = "1MB" }, { src = 1, dst = 2, bytes = "1MB" }]
"""
QUERIES = """
name = "asked"
[topology]
kind = "star"
hosts = 4
[schemes.hpcc]
cc = "hpcc"
[[workloads]]
kind = "rpc"
clients = [0, 1]
servers = [2, 3]
response = "10KB"
[run]
stop = "200us"
"""
PROGRAM = """
name = "program"
[topology]
kind = "star"
hosts = 4
[schemes.hpcc]
cc = "hpcc"
[[workloads]]
kind = "mpi"
program = "is"
problem_class = "S"
ranks = 4
iterations = 1
"""


UDP = """
[topology]
kind = "star"
hosts = 5
[switch]
buffer = "100KB"
pfc = { enabled = false }
[schemes.udp]
cc = "udp"
[[workloads]]
kind = "incast"
senders = 4
receiver = "host4"
random_senders = false
sizes = "200KB"
[[workloads]]
kind = "flows"
rows = [{ src = 0, dst = 1, bytes = "1KB", start = "1ms" }]
"""


@pytest.fixture
def run(paceline: Callable[..., Outcome], tmp_path: Path) -> Callable[..., Path]:
    """Runs a scenario into ``out``."""

    def call(text: str, *options: str) -> Path:
        (tmp_path / "s.toml").write_text(text)
        assert paceline("run", "s.toml", "--out", "out", "-q", *options).code == 0
        return tmp_path / "out"

    return call


def events(file: Path) -> list[dict[str, Any]]:
    """The events of a timeline, with every number as it is written."""
    data = file.read_bytes()
    text = gzip.decompress(data) if file.suffix == ".gz" else data
    return json.loads(text, parse_float=str)["traceEvents"]


def ps(us: str) -> int:
    """Microseconds as written, in picoseconds."""
    whole, part = us.split(".")
    return int(whole) * 10**6 + int(part)


def test_every_flow_is_where_and_when_it_was(paceline: Callable[..., Outcome], run: Callable[..., Path]) -> None:
    """A slice that began, ended or lay elsewhere would show a run that never was."""
    out = run(SCENARIO)
    assert "60 flows" in paceline("timeline", "out").out
    found = events(out / "timeline.json.gz")
    process = {e["pid"]: e["args"]["name"] for e in found if e["name"] == "process_name"}
    shown = {e["args"]["flow_id"]: (process[e["pid"]], ps(e["ts"]), ps(e["dur"])) for e in found if e["ph"] == "X"}
    flows = Results.load(out).flows
    columns = (flows[name].tolist() for name in ("flow_id", "src", "start_ps", "fct_sender_ps"))
    assert shown == {flow: (f"host {src}", start, fct) for flow, src, start, fct in zip(*columns, strict=True)}


def test_a_flow_that_lost_datagrams_ends_with_the_last_that_left(
    paceline: Callable[..., Outcome], run: Callable[..., Path]
) -> None:
    """Every flow over UDP that lost a packet was shown as one that went on, and ended well, until the run's end."""
    out = run(UDP)
    assert paceline("timeline", "out").code == 0
    found = [e for e in events(out / "timeline.json.gz") if e["ph"] == "X"]
    sample, flows = Results.load(out).fct("receiver"), Results.load(out).flows
    assert [ps(e["dur"]) for e in sorted(found, key=lambda e: e["args"]["flow_id"])] == sample.value.tolist()
    assert 0 < sample.failed_count < flows.rows
    assert sum(e["name"].endswith(" (datagrams lost)") for e in found) == sample.failed_count


def test_slices_of_a_row_do_not_overlap(paceline: Callable[..., Outcome], run: Callable[..., Path]) -> None:
    """Viewers draw what overlaps in a row as calls within calls, and leave out what does not nest."""
    out = run(SCENARIO)
    paceline("timeline", "out")
    rows: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for e in events(out / "timeline.json.gz"):
        if e["ph"] == "X":
            rows.setdefault((e["pid"], e["tid"]), []).append((ps(e["ts"]), ps(e["ts"]) + ps(e["dur"])))
    assert len(rows) > 5, "at 90 % load some flows of a host are under way at once"
    assert all(a[1] <= b[0] for row in rows.values() for a, b in pairwise(sorted(row)))


def test_what_was_sampled_is_a_counter(paceline: Callable[..., Outcome], run: Callable[..., Path]) -> None:
    """Queues and followed flows over time are what a timeline is looked at for."""
    out = run(SCENARIO, "--follow-flow", "7")
    paceline("timeline", "out")
    found = events(out / "timeline.json.gz")
    process = {e["pid"]: e["args"]["name"] for e in found if e["name"] == "process_name"}
    names = {(process[e["pid"]], e["name"]) for e in found if e["ph"] == "C"}
    source = int(Results.load(out).flows["src"][7])
    assert (f"host {source}", "flow 7 window (B)") in names
    assert ("run small", "flows under way") in names
    series = Results.load(out).series
    queue = (series["kind"] == "queue_bytes") & (series["value"] > 0)
    peak = float(series["value"][queue].max())
    waiting = [float(e["args"]["value"]) for e in found if e["ph"] == "C" and e["name"].endswith("waiting (B)")]
    assert max(waiting) == peak


def test_a_graph_keeps_its_names(paceline: Callable[..., Outcome], run: Callable[..., Path]) -> None:
    """Who named the nodes looks for these names."""
    out = run(GRAPH)
    paceline("timeline", "out")
    found = events(out / "timeline.json.gz")
    assert {e["args"]["name"] for e in found if e["name"] == "process_name"} >= {"host 0, alice", "host 1, bob"}
    assert any(e["name"].endswith(", middle, waiting (B)") for e in found if e["ph"] == "C")
    assert {e["name"] for e in found if e["ph"] == "X"} == {"1 MB to carol"}


def test_of_too_many_flows_the_longest_are_shown(paceline: Callable[..., Outcome], run: Callable[..., Path]) -> None:
    """A run of a million flows opens, with those in it that somebody looks for; what is missing is said."""
    out = run(SCENARIO)
    ended = paceline("timeline", "out", "--flows", "10", "-o", "some.json")
    assert "left out: 50" in ended.out
    shown = sorted(e["args"]["fct_sender_ps"] for e in events(Path("some.json")) if e["ph"] == "X")
    assert shown == sorted(Results.load(out).flows["fct_sender_ps"].tolist())[-10:]


def test_the_function_replaces_no_file_of_others(tmp_path: Path) -> None:
    """Only the command looked what is there."""
    results = Results.load(write_run(tmp_path / "run", flows=20))
    notes = tmp_path / "notes.json"
    notes.write_text("mine")
    with pytest.raises(_native.InputError, match=r"^out = .*notes\.json: is no timeline"):
        write_timeline(results, notes)
    with pytest.raises(_native.InputError, match="not the name of a timeline"):
        write_timeline(results, tmp_path / "timeline.txt")
    assert notes.read_text() == "mine"
    made = write_timeline(results, tmp_path / "some.json.gz")
    assert write_timeline(results, made.file) == made, "a timeline is replaced"


def test_a_followed_flow_is_at_its_host_without_a_slice(
    paceline: Callable[..., Outcome], run: Callable[..., Path]
) -> None:
    """A counter of a process without a name could be anybody's."""
    run(SCENARIO, "--follow-flow", "7")
    paceline("timeline", "out", "--flows", "0", "-o", "some.json")
    found = events(Path("some.json"))
    named = {e["pid"] for e in found if e["name"] == "process_name"}
    assert {e["pid"] for e in found} <= named


def test_a_followed_connection_is_a_counter_too(paceline: Callable[..., Outcome], run: Callable[..., Path]) -> None:
    """Its directions have numbers among the flows: the timeline of such a run was refused as if the run had none."""
    run(QUERIES, "--follow-flow", "1")
    assert paceline("timeline", "out", "-o", "some.json").code == 0
    assert "flow 1 window (B)" in {e["name"] for e in events(Path("some.json")) if e["ph"] == "C"}


@pytest.mark.parametrize(("text", "what"), [(QUERIES, "query to host"), (PROGRAM, "rank 3")])
def test_queries_and_programs_are_slices(
    paceline: Callable[..., Outcome], run: Callable[..., Path], text: str, what: str
) -> None:
    """Of a run whose work is queries or programs they are what is asked about."""
    out = run(text)
    paceline("timeline", "out")
    results = Results.load(out)
    shown = [e for e in events(out / "timeline.json.gz") if e["ph"] == "X" and what in e["name"]]
    assert len(shown) == (results.queries.rows or 1)


def test_a_program_that_never_began_is_no_slice(paceline: Callable[..., Outcome], run: Callable[..., Path]) -> None:
    """Its ranks lay at the instant planned, which the run did not come to."""
    out = run(PROGRAM.replace('kind = "mpi"', 'kind = "mpi"\nstart = "1ms"') + "[run]\nstop = '10us'\n")
    assert Results.load(out).ranks.masked("start_ps").mask.all()
    assert paceline("timeline", "out").code == 0
    assert not [e for e in events(out / "timeline.json.gz") if "rank" in e["name"]]


def test_recorded_packets_are_on_their_links(paceline: Callable[..., Outcome], run: Callable[..., Path]) -> None:
    """Each for as long as its link was busy with it: a gap in a row is a link that could have sent."""
    out = run(SCENARIO, "--set", "records.packets.rows=300")
    assert "300 packets" in paceline("timeline", "out").out
    found = events(out / "timeline.json.gz")
    rows = {(e["pid"], e["tid"]): e["args"]["name"] for e in found if e["name"] == "thread_name"}
    (links,) = (e["pid"] for e in found if e["name"] == "process_name" and e["args"]["name"] == "links")
    shown = [e for e in found if e["ph"] == "X" and e["pid"] == links]
    packets = Results.load(out).packets
    assert [ps(e["ts"]) for e in sorted(shown, key=lambda e: ps(e["ts"]))] == packets["time_ps"].tolist()
    # 100 Gb/s: 80 ps for each byte.
    assert all(ps(e["dur"]) == 80 * int(e["args"]["size_bytes"]) for e in shown)
    assert {rows[links, e["tid"]].partition(",")[0] for e in shown} == {
        f"{node} → {peer}" for node, peer in zip(packets["node"].tolist(), packets["peer"].tolist(), strict=True)
    }


PAUSES = """
[topology]
kind = "star"
hosts = 4
[switch]
buffer = "300KB"
delay = "250ns"
[switch.pfc]
headroom = "auto"
reaction = "1234567ps"
[schemes.none]
cc = "none"
[[workloads]]
kind = "incast"
senders = 3
sizes = "100KB"
[records.packets]
rows = 100000
"""


def test_a_packet_ends_when_its_link_is_free(paceline: Callable[..., Outcome], run: Callable[..., Path]) -> None:
    """Not when a pause takes effect, nor when a switch's own delay is over: links looked busy that were not."""
    out = run(PAUSES)
    paceline("timeline", "out")
    found = events(out / "timeline.json.gz")
    shown = [e for e in found if e["ph"] == "X" and e["cat"] == "sent"]
    kinds = {e["name"].partition(" ")[0] for e in shown}
    assert {"pause", "resume", "data", "ack"} <= kinds
    assert [e for e in shown if ps(e["dur"]) != 80 * int(e["args"]["size_bytes"])] == []


def test_a_file_that_is_no_timeline_is_left_alone(paceline: Callable[..., Outcome], run: Callable[..., Path]) -> None:
    """`-o` replaced whatever had that name; a timeline of before is still replaced."""
    run(SCENARIO)
    for name, mine in (("mine.json", b'{"name": "mine"}'), ("mine.json.gz", gzip.compress(b"{}")), ("a.json.gz", b"x")):
        Path(name).write_bytes(mine)
        outcome = paceline("timeline", "out", "-o", name)
        assert outcome.code == 2
        assert f"--out = {name}: is no timeline of Paceline's" in outcome.err
        assert Path(name).read_bytes() == mine
    for name in ("t.json", "t.json.gz"):
        for _ in range(2):
            assert paceline("timeline", "out", "-o", name, "-q").code == 0


def test_equal_runs_give_equal_bytes(paceline: Callable[..., Outcome], run: Callable[..., Path]) -> None:
    """A timeline can be compared, and kept under version control, like other results."""
    found = []
    for threads in ("1", "2"):
        out = run(SCENARIO, "--threads", threads)
        paceline("timeline", "out", "-q")
        found.append((out / "timeline.json.gz").read_bytes())
    assert found[0] == found[1]


def test_a_new_run_removes_the_old_timeline(paceline: Callable[..., Outcome], run: Callable[..., Path]) -> None:
    """Beside new results it would show a run that is gone."""
    out = run(SCENARIO)
    paceline("timeline", "out")
    run(SCENARIO, "--seed", "2")
    assert not (out / "timeline.json.gz").exists()


def test_bad_input_is_told(paceline: Callable[..., Outcome], run: Callable[..., Path]) -> None:
    """One clear error, and nothing half written."""
    out = run(SCENARIO)
    assert paceline("timeline", "nowhere").code == 2
    assert "ends in .json" in paceline("timeline", "out", "-o", "a.html").err
    (out / "series.csv").write_text("time_ps,kind,id,value\n0,rate_bps,99,1\n")
    ended = paceline("timeline", "out")
    assert ended.code == 2
    assert "flow 99" in ended.err
    assert not list(out.glob("*timeline*"))
