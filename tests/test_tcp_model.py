"""TCP against `models.tcp`: the engines share one stack, this shares none."""

from __future__ import annotations

import dataclasses
import random

import pytest

import paceline as pl
from models.tcp import Network, Rules

G = 10**9
US = 1_000_000
CASES = 100


def draw(seed: int, cc: str):
    """A tree of one or two switches with small buffers, and a few flows to mostly the same host."""
    rng = random.Random(seed)
    hosts, switches = rng.randint(2, 5), rng.randint(1, 2)
    links = []
    for host in range(hosts):
        delay = rng.randint(10**5, rng.choice([5, 50, 500]) * US)
        links.append((host, hosts + rng.randrange(switches), rng.choice([1, 10, 25]) * G, delay))
    if switches == 2:
        links.append((hosts, hosts + 1, rng.choice([1, 5, 10]) * G, rng.randint(10**5, 30 * US)))
    flows = []
    for _ in range(rng.randint(1, 5)):
        src, dst = rng.sample(range(hosts), 2)
        if rng.random() < 0.7 and src:
            dst = 0
        size = rng.choice([1, 1459, 1460, 1461, rng.randint(1, 100_000), rng.randint(1, 1_000_000)])
        flows.append((src, dst, size, rng.randrange(100 * US)))
    sack, ecn = rng.random() < 0.5, rng.random() < 0.4
    rules = Rules(
        buffer=rng.choice([3000, 10_000, 20_000, 100_000]),
        k=rng.choice([3000, 8000, 30_000]) if ecn else 0,
        rto_initial=rng.choice([1000, 10_000]) * US,
        rto_min=rng.choice([0, 200, 1000, 10_000]) * US,
        rto_max=rng.choice([20_000, 60_000_000]) * US,
        ack_segments=rng.choice([1, 2, 2, 4]),
        ack_delay=rng.choice([50, 500, 40_000]) * US,
        initial_window=rng.choice([1, 2, 10, 10, 40]),
        limited_transmit=rng.random() < 0.6,
        timestamps=rng.random() < 0.7,
        sack=sack,
        prr=sack and rng.random() < 0.6,
        ecn=ecn,
        receive_buffer=rng.choice([20_000, 4_000_000, 4_000_000]),
        tries=rng.choice([3, 15]),
    )
    if cc == "vegas":
        alpha = rng.randint(0, 3)
        gamma = rng.choice([None, None, 0, 1, 3])
        rules = dataclasses.replace(
            rules, alpha=alpha, beta=alpha + rng.randint(0, 3), gamma=gamma, ticks=rng.random() < 0.4
        )
    return hosts, switches, links, flows, rules, cc


def scenario(hosts, switches, links, flows, rules, cc):
    """The engine's form of a case."""
    names = [f"h{i}" for i in range(hosts)] + [f"s{i}" for i in range(switches)]
    tcp = {"receive_buffer_max": f"{rules.receive_buffer}B"}
    for name, value in dataclasses.asdict(rules).items():
        unit = "B" if name == "receive_buffer" else "ps" if name.startswith("rto_") or name == "ack_delay" else None
        if name not in ("buffer", "k", "alpha", "beta", "gamma", "ticks", "slop", "inherit"):
            tcp[name] = f"{value}{unit}" if unit else value
    k = f"{rules.k}B"
    vegas = pl.Vegas(
        alpha=rules.alpha,
        beta=rules.beta,
        gamma="off" if rules.gamma is None else rules.gamma,
        arithmetic="ticks" if rules.ticks else "exact",
        halving="flight",
    )
    marks = [pl.EcnAtRate(rate=f"{rate}bps", k_min=k, k_max=k) for rate in sorted({link[2] for link in links})]
    return pl.Scenario(
        name="model",
        topology=pl.GraphTopology(
            hosts=names[:hosts],
            switches=names[hosts:],
            links=[
                pl.GraphLink(a=names[a], b=names[b], rate=f"{rate}bps", delay=f"{delay}ps")
                for a, b, rate, delay in links
            ],
        ),
        framing=pl.Framing(preset="ethernet"),
        switch=pl.Switch(
            buffer=f"{rules.buffer}B",
            model="per_port",
            pfc=pl.Pfc(enabled=False),
            ecn=pl.Ecn(enabled=rules.ecn, by_rate=marks),
        ),
        host=pl.Host(tcp=pl.Tcp(**tcp)),
        schemes={"tcp": {"new_reno": pl.NewReno(), "cubic": pl.Cubic(), "vegas": vegas}[cc]},
        workloads=[
            pl.Flows(
                scheme="tcp",
                rows=[
                    pl.FlowRow(src=src, dst=dst, bytes=f"{size}B", start=f"{start}ps")
                    for src, dst, size, start in flows
                ],
            )
        ],
    )


def ends(results: pl.Results, model: Network) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Of each flow when its last byte came and was acknowledged, and its packets sent again: here, and there."""
    columns = ("start_ps", "fct_receiver_ps", "fct_sender_ps", "retransmitted_packets")
    starts, *measured = (results.flows[name].tolist() for name in columns)
    expected = [
        (flow.arrived and flow.arrived - start, flow.ended and flow.ended - start, flow.retransmitted)
        for flow, start in zip(model.flows, starts, strict=True)
    ]
    return list(zip(*measured, strict=True)), expected


@pytest.mark.parametrize("cc", ["new_reno", "cubic", "vegas"])
def test_every_connection_ends_at_the_picosecond_of_the_model(tmp_path, cc):
    """Losses, timeouts, marks, delayed ACKs and windows: an error in one of them moves some flow's end."""
    seen = dict.fromkeys(("drops_buffer", "timeouts", "fast_retransmits", "marks", "ecn_reductions"), 0)
    for seed in range(CASES):
        case = draw(seed, cc)
        model = Network(*case)
        if model.ties:
            continue
        results = pl.simulate(scenario(*case), tmp_path / str(seed))
        measured, expected = ends(results, model)
        counters = results.summary["counters"]
        totals = {name: counters[name] for name in ("drops_buffer", "timeouts", "marks")}
        assert measured == expected, f"case {seed}"
        assert totals == {"drops_buffer": model.drops, "timeouts": model.timeouts, "marks": model.marks}, f"case {seed}"
        for what in seen:
            seen[what] += counters[what]
    assert min(seen.values()) > 0, seen
