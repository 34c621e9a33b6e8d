"""Result folders made up from a seed, in the format the engine writes: for tests of everything that reads results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paceline.results import FLOW_RECORD, STATUS
from paceline.results.columns import TABLES

Records = np.ndarray[Any, np.dtype[Any]]

# Points of a web-search-like distribution: many small flows, most bytes in few large ones.
SIZE_BYTES = (1_000, 10_000, 30_000, 80_000, 200_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 30_000_000)
SIZE_SHARE = (0.0, 0.15, 0.3, 0.53, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0)

LINK_PS_PER_BYTE = 80  # 100 Gb/s
SPAN_PS = 50_000_000_000  # 50 ms
HOSTS = 32
FAILED_AFTER_PS = 3_000_000_000  # 3 ms


def flow_records(
    seed: int, flows: int = 3000, *, unfinished: int = 12, failed: int = 2, schemes: int = 1, spread: float = 1.0
) -> Records:
    """Flow records with ``unfinished`` flows still running and ``failed`` given up; ``spread`` scales the queueing."""
    rng = np.random.default_rng(seed)
    r = np.zeros(flows, dtype=FLOW_RECORD)
    r["size_bytes"] = np.maximum(np.interp(rng.random(flows), SIZE_SHARE, SIZE_BYTES), 1).astype(np.uint64)
    r["start_ps"] = np.sort(rng.integers(0, SPAN_PS * 9 // 10, flows))
    r["src"] = rng.integers(0, HOSTS, flows)
    r["dst"] = (r["src"] + rng.integers(1, HOSTS, flows)) % HOSTS
    r["scheme"] = np.arange(flows) % schemes
    r["hops"] = np.where(r["src"] // 8 == r["dst"] // 8, 2, 4)
    r["class"] = 3
    ideal = r["size_bytes"] * np.uint64(LINK_PS_PER_BYTE) * np.uint64(1048) // np.uint64(1000) + 6_000_000
    r["ideal_receiver_ps"] = ideal
    r["ideal_sender_ps"] = ideal + 4_200_000
    r["ideal_hpcc_ps"] = ideal + 4_150_000
    wait = rng.exponential(spread * (0.25 + 0.2 * r["scheme"]), flows) + rng.pareto(3.0, flows) * 0.15 * spread
    r["fct_sender_ps"] = (r["ideal_sender_ps"] * (1 + wait)).astype(np.uint64)
    r["fct_receiver_ps"] = r["fct_sender_ps"] - 4_200_000
    r["status"] = STATUS.index("finished")
    r["retransmitted_packets"] = rng.poisson(0.02, flows)
    # Those that do not finish are large flows of the second half, as in a loaded network.
    late = np.flatnonzero(r["start_ps"] > SPAN_PS // 2)
    stuck = late[np.argsort(r["size_bytes"][late], kind="stable")][::-1][: unfinished + failed]
    r["status"][stuck] = STATUS.index("running")
    r["status"][stuck[:failed]] = STATUS.index("failed")
    r["fct_sender_ps"][stuck] = 0
    r["fct_receiver_ps"][stuck] = 0
    r["fct_sender_ps"][stuck[:failed]] = FAILED_AFTER_PS
    return r


def write_flows(path: Path, records: Records, *, stated: int | None = None) -> None:
    """``flows.bin``; ``stated`` is the count in the header, 0 as while a run goes on."""
    count = len(records) if stated is None else stated
    header = b"PACELFLW" + np.array([1, 80], "<u4").tobytes() + np.array([count], "<u8").tobytes()
    path.write_bytes(header.ljust(64, b"\0") + records.tobytes())


def summary(name: str, records: Records, schemes: Sequence[str], **changes: Any) -> dict[str, Any]:
    """``summary.json`` that fits the records; ``changes`` replace top-level fields."""
    status = np.bincount(records["status"], minlength=4)
    whole: dict[str, Any] = {
        "schema_version": 1,
        "name": name,
        "version": "0.1.0",
        "git": "0123456789abcdef0123456789abcdef01234567",
        "seed": 1,
        "status": "completed",
        "engine": {"kind": "windowed", "why": "lookahead 1 us, 96 ports", "lookahead_ps": 1_000_000, "threads": 2},
        "simulated_ps": SPAN_PS,
        "flows": {
            "total": len(records),
            "finished": int(status[2]),
            "failed": int(status[3]),
            "unfinished": int(status[0] + status[1]),
        },
        "counters": {
            "events": 48_210_332,
            "data_hops": 20_114_870,
            "control_hops": 19_802_114,
            "drops_buffer": 0,
            "drops_wire": 0,
            "drops_link_down": 0,
            "lossless_drops": 0,
            "marks": 13_402,
            "pause_frames": 214,
            "resume_frames": 214,
            "ties": 90_210,
            "retransmitted_packets": int(records["retransmitted_packets"].sum()),
            "max_buffer_bytes": 2_411_008,
            # Those of message transports, of which there are none here.
            **dict.fromkeys(("data_packets", "unscheduled_packets", "drops_unscheduled", "trimmed_packets"), 0),
            **dict.fromkeys(("returned_headers", "permits", "drops_credit", "probes", "timeouts"), 0),
        },
        "machine": {"setup_s": 0.031, "run_s": 5.42, "cpu_s": 9.87, "peak_rss_mib": 84.2, "hops_per_s": 7_364_000.0},
        "load": [
            {"tier": "host->tor", "capacity_bps": HOSTS * 100_000_000_000, "offered": 0.512, "carried": 0.498},
            {"tier": "tor->agg", "capacity_bps": 16 * 400_000_000_000, "offered": 0.193, "carried": 0.188},
            {"tier": "agg->tor", "capacity_bps": 16 * 400_000_000_000, "offered": 0.193, "carried": 0.188},
            {"tier": "tor->host", "capacity_bps": HOSTS * 100_000_000_000, "offered": 0.512, "carried": 0.497},
        ],
        "schemes": [{"name": s, "cc": "hpcc", "eta": 0.95, "max_stage": 5} for s in schemes],
        "groups": ["background"],
        "measure": {"warmup_ps": SPAN_PS // 50, "end_ps": None},
        "hosts": HOSTS,
        "switches": 8,
        "links": 48,
        "warnings": [],
        "without_effect": [],
        "diagnosis": None,
    }
    return whole | changes


def _ports() -> list[tuple[int, int, int, str, int]]:
    """(node, port, peer, tier, rate) of a small two-tier network: hosts 0-31, ToRs 32-35, aggregation 36-39."""
    ports = []
    for host in range(HOSTS):
        tor = HOSTS + host // 8
        ports += [(host, 0, tor, "host->tor", 100_000_000_000), (tor, host % 8, host, "tor->host", 100_000_000_000)]
    for tor in range(4):
        for agg in range(4):
            a, b = HOSTS + tor, HOSTS + 4 + agg
            ports += [(a, 8 + agg, b, "tor->agg", 400_000_000_000), (b, tor, a, "agg->tor", 400_000_000_000)]
    return ports


def _queue_rows(rng: np.random.Generator, ports: list[tuple[int, int, int, str, int]]) -> list[str]:
    edges = [0, 1, *(int(1024 * 2 ** (k / 4)) for k in range(44))]
    rows = []
    for node, port, peer, tier, rate in ports:
        scale = rng.gamma(0.6, 30_000 if tier == "tor->host" else 6_000)
        middle = (np.array(edges[1:-1]) + np.array(edges[2:])) / 2
        busy = np.exp(-middle / max(scale, 800)) * np.diff(edges[1:]) / max(scale, 800)
        share = np.concatenate([[1.2], busy])
        time = (share / share.sum() * SPAN_PS).astype(np.int64)
        place = f"{node},{port},{peer},{tier},3,{rate}"
        rows.extend(f"{place},{edges[k]},{edges[k + 1]},{time[k]},1" for k in np.flatnonzero(time))
    return rows


def _series_rows(rng: np.random.Generator, busiest: list[tuple[int, int]]) -> list[str]:
    rows = []
    time = np.arange(0, SPAN_PS, SPAN_PS // 2500)
    for node, port in busiest:
        walk = np.maximum(np.cumsum(rng.normal(-200, 9_000, len(time))), 0)
        level = np.maximum(walk - np.minimum.accumulate(walk) - 15_000, 0).astype(np.int64)
        rows += [f"{t},queue_bytes,{node}:{port},{v}" for t, v in zip(time, level, strict=True)]
    return rows


def write_run(
    folder: Path,
    seed: int = 1,
    *,
    name: str = "websearch 50 %",
    flows: int = 3000,
    schemes: Sequence[str] = ("hpcc",),
    unfinished: int = 12,
    failed: int = 2,
    spread: float = 1.0,
    tables: bool = True,
    **changes: Any,
) -> Path:
    """A result folder, without ``tables`` with nothing in them. ``changes`` replace fields of the summary."""
    folder.mkdir(parents=True, exist_ok=True)
    records = flow_records(seed, flows, unfinished=unfinished, failed=failed, schemes=len(schemes), spread=spread)
    write_flows(folder / "flows.bin", records)
    (folder / "summary.json").write_text(json.dumps(summary(name, records, schemes, seed=seed, **changes)))
    (folder / "scenario.toml").write_text(f'name = "{name}"\nseed = {seed}\n\n[topology]\nkind = "fat_tree"\n')
    if not tables:
        for table in TABLES:
            if table.name in ("queues", "series", "ranks") and changes.get("status") != "running":
                (folder / f"{table.name}.csv").write_text(",".join(table.kinds) + "\n")
        return folder
    rng = np.random.default_rng(seed + 1000)
    ports = _ports()
    head = "node,port,peer,tier,class,rate_bps,bin_low_bytes,bin_high_bytes,time_ps,ports"
    (folder / "queues.csv").write_text("\n".join([head, *_queue_rows(rng, ports)]) + "\n")
    head = "node,port,peer,tier,rate_bps,delay_ps,data_packets,control_packets,data_bytes,control_bytes"
    links = []
    for node, port, peer, tier, rate in ports:
        use = float(np.clip(rng.normal(0.55 if "host" in tier else 0.2, 0.07), 0.01, 0.99))
        sent = int(use * SPAN_PS / 1e12 * rate / 8)
        links.append(
            f"{node},{port},{peer},{tier},{rate},1000000,{sent // 1048},{sent // 1048},{sent},{sent // 16},"
            f"{int(use * SPAN_PS)},{rng.poisson(200)},0,0,0,0,0,0,0"
        )
    head += ",busy_ps,marks,drops_buffer,drops_wire,drops_link_down,trims,drops_credit,drops_unscheduled,drops_control"
    (folder / "links.csv").write_text("\n".join([head, *links]) + "\n")
    head = "node,port,peer,tier,class,pause_frames,resume_frames,paused_ps,paused_share"
    pauses = [
        f"{node},{port},{peer},{tier},3,{n},{n},{n * 4_000_000},{n * 4_000_000 / SPAN_PS:.6f}"
        for (node, port, peer, tier, _), n in zip(ports, rng.poisson(3, len(ports)), strict=True)
        if n > 0 and tier in ("host->tor", "agg->tor")
    ]
    (folder / "pauses.csv").write_text("\n".join([head, *pauses]) + "\n")
    rows = _series_rows(rng, [(32, 1), (33, 4), (35, 0)])
    (folder / "series.csv").write_text("\n".join(["time_ps,kind,id,value", *rows]) + "\n")
    return folder
