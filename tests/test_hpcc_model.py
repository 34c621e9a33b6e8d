"""`paceline hpcc` against `models.hpcc`, which shares nothing with it, for the options that no reference run has.

`PACELINE_HPCC_CASES=2000 .venv/bin/python -m pytest tests/test_hpcc_model.py` compares more configurations.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from models.hpcc import Simulation
from models.hpcc_trace import EVENTS, SIZE, as_lines, as_text, parts, seen

CASES = int(os.environ.get("PACELINE_HPCC_CASES", "60"))
PAUSED_AND_FAILED = 4096
"""A case in which a switch has paused a link that fails, and ends the pause later."""
REFERENCE = Path(__file__).parent.parent / "crates/paceline-sim/tests/data/hpcc-ns3"

US, MS = 1000, 1_000_000
BEGIN = 800 * US
"""Flows start from here on, in ns after 2 s; queues are watched until 1 ms, when a block of the qlen file is due."""

CONFIG: dict[str, Any] = {
    "ENABLE_QCN": 1,
    "USE_DYNAMIC_PFC_THRESHOLD": 1,
    "PACKET_PAYLOAD_SIZE": 1000,
    "TOPOLOGY_FILE": "topology.txt",
    "FLOW_FILE": "flow.txt",
    "TRACE_FILE": "trace.txt",
    "TRACE_OUTPUT_FILE": "mix.tr",
    "FCT_OUTPUT_FILE": "fct.txt",
    "PFC_OUTPUT_FILE": "pfc.txt",
    "SIMULATOR_STOP_TIME": 2.005,
    "ALPHA_RESUME_INTERVAL": 1,
    "RATE_DECREASE_INTERVAL": 4,
    "CLAMP_TARGET_RATE": 0,
    "RP_TIMER": 300,
    "EWMA_GAIN": 0.00390625,
    "FAST_RECOVERY_TIMES": 1,
    "RATE_AI": "50Mb/s",
    "RATE_HAI": "50Mb/s",
    "MIN_RATE": "1000Mb/s",
    "DCTCP_RATE_AI": "615Mb/s",
    "ERROR_RATE_PER_LINK": 0,
    "L2_CHUNK_SIZE": 4000,
    "L2_ACK_INTERVAL": 1,
    "L2_BACK_TO_ZERO": 0,
    "HAS_WIN": 1,
    "GLOBAL_T": 1,
    "VAR_WIN": 1,
    "FAST_REACT": 1,
    "U_TARGET": 0.95,
    "MI_THRESH": 0,
    "INT_MULTI": 4,
    "MULTI_RATE": 0,
    "SAMPLE_FEEDBACK": 0,
    "PINT_LOG_BASE": 1.05,
    "PINT_PROB": 1.0,
    "RATE_BOUND": 1,
    "ACK_HIGH_PRIO": 0,
    "LINK_DOWN": "0 0 0",
    "ENABLE_TRACE": 1,
    "BUFFER_SIZE": 32,
    "QLEN_MON_FILE": "qlen.txt",
    "QLEN_MON_START": 2_000_000_000 + BEGIN,
    "QLEN_MON_END": 2_001_000_000,
}
CONTROLS: dict[str, dict[str, Any]] = {
    "hpcc": {"CC_MODE": 3},
    "hpcc_pint": {"CC_MODE": 10},
    "dcqcn": {"CC_MODE": 1, "FAST_REACT": 0, "RATE_AI": "20Mb/s", "RATE_HAI": "200Mb/s"},
    "timely": {"CC_MODE": 7, "RATE_AI": "100Mb/s", "RATE_HAI": "500Mb/s", "ACK_HIGH_PRIO": 1},
    "dctcp": {"CC_MODE": 8, "EWMA_GAIN": 0.0625},
}
OTHERS: list[tuple[float, str, list[Any]]] = [
    (0.7, "BUFFER_SIZE", [1, 1, 1, 2, 4]),
    (0.3, "PACKET_PAYLOAD_SIZE", [100, 512, 999, 1460, 4000]),
    (0.2, "RATE_BOUND", [0]),
    (0.2, "GLOBAL_T", [0]),
    (0.2, "VAR_WIN", [0]),
    (0.3, "FAST_REACT", [0, 1]),
    (0.3, "MI_THRESH", [1, 3, 5]),
    (0.3, "MULTI_RATE", [1]),
    (0.2, "SAMPLE_FEEDBACK", [1]),
    (0.3, "INT_MULTI", [1, 2, 8, 16]),
    (0.3, "MIN_RATE", ["100Mb/s", "10Mb/s", "5Gb/s"]),
    (0.3, "RATE_AI", ["5Mb/s", "500Mb/s", "1.5Gb/s"]),
    (0.3, "RATE_HAI", ["5Mb/s", "5000Mb/s"]),
    (0.3, "EWMA_GAIN", [0.5, 1, 0.01, 0]),
    (0.2, "U_TARGET", [0.5, 0.99, 1.2]),
    (0.2, "ACK_HIGH_PRIO", [0, 1]),
    (0.1, "L2_ACK_INTERVAL", [700, 1001, 5000]),
    (0.2, "L2_CHUNK_SIZE", [1000, 8000]),
    (0.2, "CLAMP_TARGET_RATE", [1]),
    (0.3, "FAST_RECOVERY_TIMES", [0, 2, 5]),
    (0.3, "ALPHA_RESUME_INTERVAL", [1.9, 50, 55]),
    (0.3, "RATE_DECREASE_INTERVAL", [1, 7.7, 50]),
    (0.3, "RP_TIMER", [5, 10, 55]),
    (0.3, "ERROR_RATE_PER_LINK", [0.001, 0.003, 0.01]),
    (0.2, "PINT_LOG_BASE", [1.01, 1.02, 1.06, 1.5]),
    (0.2, "PINT_PROB", [0.5, 0.1, 0, 0.99]),
    (0.1, "ENABLE_QCN", [0]),
]
"""How often an option is another, and what it is then."""


@dataclass
class Links:
    """A network: hosts have the first numbers."""

    hosts: int
    switches: int
    rows: list[list[Any]] = field(default_factory=list)
    spare: list[tuple[int, int]] = field(default_factory=list)
    """Links whose failure leaves a way between all hosts."""

    def add(self, a: int, b: int, rate: int, delay: str) -> None:
        self.rows.append([a, b, f"{rate}Gbps", delay, 0])

    def text(self) -> str:
        numbers = range(self.hosts, self.hosts + self.switches)
        head = f"{self.hosts + self.switches} {self.switches} {len(self.rows)}"
        return "\n".join([head, " ".join(map(str, numbers)), *(" ".join(map(str, row)) for row in self.rows), ""])


def star(rng: random.Random, rates: tuple[int, int], delays: tuple[str, str]) -> Links:
    """Of hosts that are alike, or not."""
    net = Links(rng.randrange(3, 12), 1)
    mixed = rng.random() < 0.5
    for host in range(net.hosts):
        rate, delay = (rng.choice(rates), rng.choice(delays)) if mixed else (rates[0], delays[0])
        net.add(host, net.hosts, rate, delay)
    return net


def dumbbell(rng: random.Random, rates: tuple[int, int], delays: tuple[str, str]) -> Links:
    """With one link in the middle or two, of which the last is used."""
    left, right = rng.randrange(1, 5), rng.randrange(1, 5)
    net = Links(left + right, 2)
    for host in range(net.hosts):
        net.add(host, net.hosts + (host >= left), rates[0], delays[0])
    for _ in range(rng.choice([1, 1, 2])):
        net.add(net.hosts, net.hosts + 1, rates[1], rng.choice(delays))
    return net


def leaf_spine(rng: random.Random, rates: tuple[int, int], delays: tuple[str, str]) -> Links:
    leaves, spines, each = rng.randrange(2, 4), rng.randrange(1, 4), rng.randrange(1, 4)
    net = Links(leaves * each, leaves + spines)
    for host in range(net.hosts):
        net.add(host, net.hosts + host // each, rates[0], delays[0])
    for leaf in range(net.hosts, net.hosts + leaves):
        for spine in range(net.hosts + leaves, net.hosts + leaves + spines):
            net.add(leaf, spine, rates[1], delays[1])
            net.spare += [(leaf, spine)] if spines > 1 else []
    return net


def chain(rng: random.Random, rates: tuple[int, int], delays: tuple[str, str]) -> Links:
    """More switches than INT has room for, perhaps."""
    net = Links(4, rng.randrange(1, 9))
    last = net.hosts + net.switches - 1
    for host in range(net.hosts):
        net.add(host, net.hosts if host < 2 else last, rates[0], delays[0])
    for switch in range(net.hosts, last):
        net.add(switch, switch + 1, rates[1], delays[1])
    return net


def two_nics(rng: random.Random, rates: tuple[int, int], delays: tuple[str, str]) -> Links:
    """Every host has a NIC at each of two leaves."""
    net = Links(rng.randrange(2, 7), 3)
    leaves, spine = (net.hosts, net.hosts + 1), net.hosts + 2
    for host in range(net.hosts):
        for leaf in leaves:
            net.add(host, leaf, rates[0], delays[0])
            net.spare.append((host, leaf))
    for leaf in leaves:
        net.add(leaf, spine, rates[1], delays[1])
    return net


NETWORKS = [star, leaf_spine, dumbbell, two_nics, leaf_spine, chain]


def marking(rng: random.Random, rates: set[int], heeded: bool) -> dict[str, str]:
    """``KMIN_MAP``, ``KMAX_MAP`` and ``PMAX_MAP``: kB and shares by rate. Where marks are heeded they begin early.

    Some leave the slowest ports out, whose thresholds are 0 then.
    """
    low, share = rng.choice([1, 0.2, 0.1] if heeded else [4, 1, 0.2]), rng.choice([0.2, 1.0, 0.01])
    high = rng.choice([16, 4, 4.5, max(low, 1), max(low, 1)])
    named = sorted(rates)
    if rng.random() < 0.15:
        named[0] = 3200

    def by_rate(value):
        return " ".join([str(len(named)), *(f"{rate}000000000 {value(rate)}" for rate in named)])

    return {
        "KMIN_MAP": by_rate(lambda rate: int(rate * low)),
        "KMAX_MAP": by_rate(lambda rate: max(1, int(rate * high))),
        "PMAX_MAP": by_rate(lambda rate: share),
    }


def size(rng: random.Random, kind: str) -> int:
    if kind == "tiny":
        return rng.randrange(1, 300)
    if kind == "round":
        return rng.choice([1, 999, 1000, 1001, 2000, 100_000])
    return rng.randrange(1, 3000) if rng.random() < 0.3 else rng.randrange(3000, 60_000 if kind == "mixed" else 300_000)


def draw(seed: int) -> tuple[str, str, str, str]:
    """Configuration, topology, flows, nodes to trace: each controller and network in turn, all else at random."""
    rng = random.Random(seed)
    name = list(CONTROLS)[seed % len(CONTROLS)]
    options = CONFIG | CONTROLS[name]
    host_rate = rng.choice([10, 25, 40, 100, 100, 100, 200])
    core_rate = rng.choice([host_rate, host_rate, 4 * host_rate, 400, 100])
    options |= marking(rng, {host_rate, core_rate}, name in ("dcqcn", "dctcp"))
    for often, key, values in OTHERS:
        if rng.random() < often:
            options[key] = rng.choice(values)
    # HPCC divides by the window. Without one HPCC-PINT's powers may pass 255: docs/compatibility.md, Not compared.
    if not name.startswith("hpcc") and rng.random() < 0.3:
        options["HAS_WIN"] = 0
    if rng.random() < 0.1:
        options |= {"L2_BACK_TO_ZERO": 1, "L2_CHUNK_SIZE": 4 * options["PACKET_PAYLOAD_SIZE"]}

    delay = rng.choice(["1000ns", "1us", "500ns", "100ns", "5us", "1ns", "0ns"])
    net = NETWORKS[seed % len(NETWORKS)](rng, (host_rate, core_rate), (delay, rng.choice([delay, delay, "2000ns"])))
    if rng.random() < 0.15:
        rng.choice(net.rows)[-1] = 0.004
    if net.spare and rng.random() < 0.4:
        options["LINK_DOWN"] = " ".join(map(str, (BEGIN // US + rng.randrange(1, 80), *rng.choice(net.spare))))

    rows = draw_flows(rng, net.hosts, options["L2_CHUNK_SIZE"] if options["L2_BACK_TO_ZERO"] else 1)
    if net.spare or options["ERROR_RATE_PER_LINK"] or any(row[-1] for row in net.rows):
        # Flows whose last packets are lost never end.
        options["SIMULATOR_STOP_TIME"] = 2.002
    nodes = range(net.hosts + net.switches)
    traced = rng.choice([nodes, nodes, nodes, nodes, rng.sample(nodes, len(nodes) // 2), []])
    traced = [*traced, *traced[: seed % 3], *traced[: seed % 2]]  # rows of what is named twice come twice
    options["PAUSE_TIME"] = rng.choice([5, 1, 70_000])
    config = "".join(f"{key} {value}\n" for key, value in options.items())
    trace = " ".join(map(str, [len(traced), *traced]))
    return config, net.text(), "\n".join([str(len(rows)), *rows, ""]), f"{trace}\n"


def draw_flows(rng: random.Random, count: int, chunk: int) -> list[str]:
    kind = rng.choice(["tiny", "round", "mixed", "long", "long", "long"])
    span = rng.choice([1, 200, 5000, 20_000, 150_000])
    classes = rng.choice([(3,), (3,), (3,), (1,), (1, 2, 3, 4, 5, 6, 7), (2, 5)])
    hosts = range(count)
    sources = hosts if rng.random() < 0.7 else rng.sample(hosts, min(len(hosts), 3))
    to_one = rng.random() < 0.75
    rows = []
    for start in sorted(rng.randrange(span) for _ in range(rng.randrange(1, 50))):
        dst = 0 if to_one and rng.random() < 0.9 else rng.choice(hosts)
        src = rng.choice([host for host in sources if host != dst] or [host for host in hosts if host != dst])
        length = size(rng, kind)
        if rng.random() < 0.95:
            # With L2_BACK_TO_ZERO 1 flows that end within a chunk never end.
            length += -length % chunk
        rows.append(f"{src} {dst} {rng.choice(classes)} 100 {length} 2.{BEGIN + start:09d}")
    return rows


def compare(model: Simulation, files: Iterable[Path]) -> None:
    expected = {"fct": model.fct, "pfc": model.pfc, "qlen": model.qlen}
    for file in files:
        lines, got = expected[file.stem], file.read_text().splitlines()
        for number, (line, other) in enumerate(zip(lines, got, strict=False), 1):
            if line != other:
                pytest.fail(f"{file}, line {number}: {other}\nwith the model: {line}", pytrace=False)
        assert len(got) == len(lines), f"{file}: fewer or more lines than with the model"


def compare_traces(model: Simulation, file: Path) -> None:
    *table, records = parts(file.read_bytes())
    assert tuple(table) == model.trace.table(), file
    expected = bytes(model.trace.records)
    if records == expected:
        # Many of them are large.
        file.unlink()
        return
    rows, other = ([text[i : i + SIZE] for i in range(0, len(text), SIZE)] for text in (expected, records))
    for number, (row, got) in enumerate(zip(rows, other, strict=False)):
        if row != got:
            pytest.fail(f"{file}, record {number}: {as_text(got)}\nwith the model: {as_text(row)}", pytrace=False)
    assert len(rows) == len(other), f"{file}: fewer or more records than with the model"


def test_files_are_equal_to_the_models_whatever_the_options(tmp_path, paceline, monkeypatch):
    """Controllers, PFC, marks, losses, failures, several NICs: an error in one of them moves some line or record."""
    met: Counter[str] = Counter()
    records: Counter[str] = Counter()
    for seed in [*range(CASES), PAUSED_AND_FAILED]:
        folder = tmp_path / str(seed)
        folder.mkdir()
        for name, text in zip(("config", "topology", "flow", "trace"), draw(seed), strict=True):
            (folder / f"{name}.txt").write_text(text)
        monkeypatch.chdir(folder)
        outcome = paceline("hpcc", "--qlen-dump-ms", "1", "config.txt")
        # 1 where flows are left that never end, as in the reference.
        assert outcome.code in (0, 1), f"case {seed}: {outcome.err}"
        model = Simulation(folder / "config.txt", dump=MS)
        compare(model, (folder / f"{name}.txt" for name in ("fct", "pfc", "qlen")))
        compare_traces(model, folder / "mix.tr")
        met += model.seen
        records += seen(model.trace.records)
        met += Counter(
            {
                f"CC_MODE {model.config.mode}": 1,
                "link failures": model.config.link_down[0] > 0,
                "pauses": len(model.pfc),
                "ended flows": len(model.fct),
            }
        )
    kinds = {"ended flows", "pauses", "marks", "drops", "lost", "bytes sent again", "link failures"}
    assert set(met) == kinds | {f"CC_MODE {mode}" for mode in (1, 3, 7, 8, 10)}, met
    kinds = {f"{kind} {event}" for kind in ("data", "ack", "nack", "pfc") for event in EVENTS}
    assert set(records) >= kinds - {"nack lost", "pfc lost"}, records


PAPER = "ALPHA_RESUME_INTERVAL 50;RATE_DECREASE_INTERVAL 50;RP_TIMER 55"
DCQCN = "CC_MODE 1;RATE_AI 20Mb/s;RATE_HAI 200Mb/s;FAST_REACT 0;INT_MULTI 1"
STEP = "KMIN_MAP 2 100000000000 300 400000000000 1200;KMAX_MAP 2 100000000000 300 400000000000 1200"
REFERENCE_RUNS = {
    "hpcc_u95": "CC_MODE 3",
    "hpccpint_u95_log1.05_p1": "CC_MODE 10",
    "dcqcn_vwin": DCQCN,
    "dcqcn_paper_nowin": f"{DCQCN};{PAPER};HAS_WIN 0;VAR_WIN 0;ACK_HIGH_PRIO 1",
    "timely_vwin": "CC_MODE 7;RATE_AI 100Mb/s;RATE_HAI 500Mb/s;FAST_REACT 0;INT_MULTI 1;ACK_HIGH_PRIO 1",
    "dctcp": f"CC_MODE 8;EWMA_GAIN 0.0625;DCTCP_RATE_AI 615Mb/s;{STEP};PMAX_MAP 2 100000000000 1.00 400000000000 1.00",
}
"""What they change in `config.txt`."""


@pytest.mark.parametrize("run", REFERENCE_RUNS)
def test_the_model_has_the_files_of_the_reference(tmp_path, run):
    """What the model is worth: sixteen hosts send to one over a buffer so small that ports pause."""
    (tmp_path / "own").mkdir()
    for name in ("topology.txt", "flow.txt"):
        shutil.copy(REFERENCE / "t6" / name, tmp_path)
    config = tmp_path / "own" / "config.txt"
    changes = f"BUFFER_SIZE 1;{REFERENCE_RUNS[run]};".replace(";", "\n")
    config.write_text((REFERENCE / "config.txt").read_text() + changes)
    # Histograms of these runs are of every 10 ms.
    model = Simulation(config, dump=10 * MS)
    compare(model, (REFERENCE / "t6" / run).iterdir())
    assert len(model.fct) == 16


@pytest.mark.parametrize("run", REFERENCE_RUNS)
def test_the_model_has_the_packet_trace_of_the_reference(tmp_path, run):
    """What the model's records are worth: those of a lone flow, as text of which the checksum is carried."""
    (tmp_path / "own").mkdir()
    for name in ("topology.txt", "flow.txt"):
        shutil.copy(REFERENCE / "t1s" / name, tmp_path)
    (tmp_path / "own" / "trace.txt").write_text("3 0 1 2\n")
    config = tmp_path / "own" / "config.txt"
    changes = f"ENABLE_TRACE 1;{REFERENCE_RUNS[run]};".replace(";", "\n")
    config.write_text((REFERENCE / "config.txt").read_text() + changes)
    lines = as_lines(bytes(Simulation(config, dump=10 * MS).trace.records))
    checksum = 0xCBF29CE484222325
    for byte in "".join(lines).encode():
        checksum = (checksum ^ byte) * 0x100000001B3 & (1 << 64) - 1
    sums = (REFERENCE / "trace_checksums.txt").read_text().splitlines()
    assert f"t1s {run} {len(lines)} {checksum:016x}" in sums
