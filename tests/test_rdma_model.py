"""RDMA hosts and switches against `models.rdma`: the engines share one model of the network, this shares none."""

from __future__ import annotations

import random

import numpy as np

import paceline as pl
from models.rdma import Network, Rules

G = 10**9
US = 1_000_000
CASES = 80

CONTROLS = {
    "none": ({}, {}),
    "hpcc": ({"eta": 0.95, "max_stage": 0, "w_ai_rate": 50_000_000, "min_rate": G}, {"max_stage": 5}),
    "hpcc_pint": (
        {"eta": 0.95, "max_stage": 0, "w_ai_rate": 50_000_000, "min_rate": G, "log_base": 1.05, "probability": 1.0},
        {"probability": 0.25},
    ),
    "timely": ({"ai_rate": 100_000_000, "hai_rate": 500_000_000, "min_rate": G, "window": 0}, {"window": 40_000}),
    "dctcp": ({"g": 0.0625, "ai_rate": 615_000_000, "min_rate": G}, {"min_rate": 100_000_000}),
    # Without a window: the engine looks at one that a timer has changed when the next ACK comes.
    "dcqcn": (
        {
            "g": 1 / 256,
            "alpha_interval": US,
            "decrease_interval": 4 * US,
            "increase_interval": 20 * US,
            "fast_recovery": 1,
            "ai_rate": 20_000_000,
            "hai_rate": 200_000_000,
            "min_rate": G,
            "window": 0,
        },
        {"alpha_interval": 50 * US, "decrease_interval": 50 * US, "increase_interval": 55 * US},
    ),
}
"""Defaults by scheme, and what some cases have instead. Rates in bit/s, times in ps, a window of 0 for none."""
CLASSES = {
    "none": pl.NoControl,
    "hpcc": pl.Hpcc,
    "hpcc_pint": pl.HpccPint,
    "timely": pl.Timely,
    "dctcp": pl.Dctcp,
    "dcqcn": pl.Dcqcn,
}


def draw(seed: int):
    """A tree of one to three switches in a row with hosts of various rates, and flows of various kinds."""
    rng = random.Random(seed)
    switches, hosts = rng.randint(1, 3), rng.randint(3, 9)
    pfc, rto = rng.random() < 0.5, rng.choice([200, 1000]) * US
    loss = rng.choice([0.0, 0.0, 0.001, 0.02])
    links = []
    for host in range(hosts):
        rate = rng.choice([100, 100, 25, 40, 10, 200]) * G
        links.append((host, hosts + rng.randrange(switches), rate, rng.randint(10**5, 3 * 10**6), loss))
    for i in range(switches - 1):
        rate = rng.choice([100, 400, 40]) * G
        links.append((hosts + i, hosts + i + 1, rate, rng.randint(10**5, 2 * 10**6), 0.0))
    most = max(sum(hosts + i in link[:2] for link in links) for i in range(switches))
    classes = rng.sample(range(1, 8), rng.randint(1, 3))
    aside = most * len(classes) * (Rules.headroom + Rules.reserve)
    k_min = rng.choice([5_000, 30_000, 100_000])
    rules = Rules(
        buffer=aside + rng.choice([30_000, 100_000, 2_000_000]) if pfc else rng.choice([40_000, 200_000, 2_000_000]),
        pfc=pfc,
        k_min=k_min,
        k_max=k_min * rng.choice([1, 4]),
        p_max=rng.choice([0.2, 1.0]),
        rto=rto,
        nack_interval=rng.choice([50, 500]) * US,
        ack_priority=rng.random() < 0.3,
        classes=len(classes),
        tries=rng.choice([1, 7]),
    )
    schemes = {}
    for name in rng.sample(sorted(CONTROLS), rng.randint(1, 3)):
        settings, others = CONTROLS[name]
        schemes[name] = {"cc": name} | settings | (others if rng.random() < 0.4 else {})
        if name not in ("dcqcn", "timely") and rng.random() < 0.5:
            schemes[name]["window"] = rng.choice([500, 3000, 40_000])
    flows = []
    for _ in range(rng.randint(5, 30)):
        src, dst = rng.sample(range(hosts), 2)
        if rng.random() < 0.7 and src:
            dst = 0
        size = rng.choice([1, 12, 13, 999, 1000, 1001, 50_000, rng.randint(1, 300_000)])
        flows.append((src, dst, size, rng.randrange(100 * US), rng.choice(classes), rng.choice(sorted(schemes))))
    return hosts, switches, links, flows, rules, schemes


def scheme(settings):
    """The engine's form of a scheme."""
    units = {"rate": "bps", "interval": "ps"}
    text = {}
    for name, value in settings.items():
        unit = units.get(name.rsplit("_", 1)[-1])
        if name == "window":
            text[name] = f"{value}B" if value else "off"
        elif name != "cc":
            text[name] = f"{value}{unit}" if unit else value
    return CLASSES[settings["cc"]](**text)


def scenario(hosts, switches, links, flows, rules, schemes):
    """The engine's form of a case."""
    names = [f"h{i}" for i in range(hosts)] + [f"s{i}" for i in range(switches)]
    return pl.Scenario(
        name="model",
        topology=pl.GraphTopology(
            hosts=names[:hosts],
            switches=names[hosts:],
            links=[
                pl.GraphLink(a=names[a], b=names[b], rate=f"{rate}bps", delay=f"{delay}ps", error_rate=loss)
                for a, b, rate, delay, loss in links
            ],
        ),
        switch=pl.Switch(
            buffer=f"{rules.buffer}B",
            pfc=pl.Pfc(enabled=rules.pfc, headroom=f"{rules.headroom}B"),
            ecn=pl.Ecn(k_min=f"{rules.k_min}B", k_max=f"{rules.k_max}B", p_max=rules.p_max),
        ),
        host=pl.Host(
            rto=f"{rules.rto}ps",
            rto_tries=rules.tries,
            nack_interval=f"{rules.nack_interval}ps",
            ack_priority=rules.ack_priority,
        ),
        schemes={name: scheme(settings) for name, settings in schemes.items()},
        workloads=[
            pl.Flows(
                scheme=min(schemes),
                rows=[
                    pl.FlowRow(src=src, dst=dst, bytes=f"{size}B", start=f"{start}ps", class_=group, scheme=name)
                    for src, dst, size, start, group, name in flows
                ],
            )
        ],
    )


def test_every_flow_ends_at_the_picosecond_of_the_model(tmp_path):
    """Losses, timeouts, pauses, marks, rates and classes: an error in one of them moves some flow's end."""
    seen = dict.fromkeys(("drops", "lost", "timeouts", "pauses"), 0)
    for seed in range(CASES):
        case = draw(seed)
        model = Network(*case)
        if model.ties:
            continue
        flows = pl.simulate(scenario(*case), tmp_path / str(seed)).flows
        expected = np.array(
            [
                (flow.arrived - start, flow.ended - start, flow.retransmitted)
                for flow, start in zip(model.flows, flows["start_ps"].tolist(), strict=True)
                if flow.ended
            ]
        )
        columns = ("fct_receiver_ps", "fct_sender_ps", "retransmitted_packets")
        ended = flows["fct_sender_ps"] > 0
        assert np.array_equal(np.stack([flows[name][ended] for name in columns], 1), expected), f"case {seed}"
        for what in seen:
            seen[what] += getattr(model, what)
    assert min(seen.values()) > 0, seen


def test_a_flow_that_gets_nowhere_is_given_up_at_the_picosecond_of_the_model(tmp_path):
    """Its first packet finds no room behind itself, its second does: each NACK repeats both; no timeout runs out."""
    rules = Rules(
        buffer=1000,
        pfc=False,
        k_min=400_000,
        k_max=1_600_000,
        p_max=0.2,
        rto=1000 * US,
        nack_interval=50 * US,
        ack_priority=False,
        classes=1,
        tries=2,
    )
    links = [(host, 2, 100 * G, 200 * US, 0.0) for host in range(2)]
    case = (2, 1, links, [(0, 1, 1100, 0, 3, "none")], rules, {"none": {"cc": "none"}})
    model = Network(*case)
    flows = pl.simulate(scenario(*case), tmp_path / "run", overrides=["run.stop=1s"]).flows  # it went on without end
    assert list(flows["status"]) == ["failed"]
    assert model.timeouts < rules.tries, "not the case it is meant to be"
    assert flows["failed_after_ps"].tolist() == [flow.failed for flow in model.flows]
