"""`paceline report`: what it prints and refuses."""

import json
import re
from pathlib import Path

import paceline as pl

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
    assert re.search(r"udp +1,600 +1,305 +81.6 % +8 of 8", outcome.out)
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


def test_short_flows_over_tcp_do_not_wait_for_delayed_acks(paceline, tmp_path):
    """A slowdown of 9,578 stood there for a flow that had arrived after 6 us: its ACK waited for a timer."""
    rows = '[{ src = 0, dst = 1, bytes = "1KB" }, { src = 2, dst = 1, bytes = "1MB" }]'
    workload = f'[[workloads]]\nkind = "flows"\nrows = {rows}\n'
    (tmp_path / "tcp.toml").write_text(UDP.partition("[schemes")[0] + f'[schemes.t]\ncc = "new_reno"\n{workload}')
    assert paceline("run", "tcp.toml", "--progress", "none").code == 0
    assert pl.Results.load(tmp_path / "results/tcp").slowdown(side="sender").value.max() < 10


def test_report_prints_the_tables_and_where_the_page_is(paceline):
    paceline("init", "incast")
    for cc in ("hpcc", "none"):
        assert paceline("run", "incast.toml", "--set", f"schemes.hpcc.cc={cc}", "-q", "--out", cc).code == 0
    outcome = paceline("report", "hpcc", "none", "--out", "both")
    assert outcome.code == 0
    # 16 flows are too few for other percentiles.
    for said in (
        "Slowdown p50",
        "no p95: it needs 20 flows",
        "no p99: it needs 100 flows",
        "Events",
        "Packet hops per CPU second",
        "Peak memory",
    ):
        assert said in " ".join(outcome.out.split())
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


def test_what_a_folder_says_does_nothing_to_a_terminal(paceline):
    """Folders come from others, and their names, warnings and groups were printed as they are."""
    evil = "a\x1b]0;hi\x07\x9b1m"
    paceline("init", "incast")
    paceline("run", "incast.toml")
    file = Path("results/incast/summary.json")
    summary = json.loads(file.read_text())
    summary |= {"name": evil, "warnings": [evil], "without_effect": [evil], "groups": [evil for _ in summary["groups"]]}
    file.write_text(json.dumps(summary))
    told = paceline("report", "results/incast")
    assert "hi" in told.out
    assert (told.out + told.err).replace("\n", "").isprintable()


def test_a_page_whose_name_is_too_long_is_refused_before_it_is_drawn(paceline):
    """It was told as an error of the file system, exit code 1, not as one of the arguments."""
    paceline("init", "incast")
    paceline("run", "incast.toml")
    before = sorted(Path().rglob("*"))
    told = paceline("report", "results/incast", "-o", f"{300 * 'x'}.html")
    assert (told.code, told.out) == (2, "")
    assert "File name too long; allowed: a folder, or a file that ends in .html" in told.err
    assert sorted(Path().rglob("*")) == before
