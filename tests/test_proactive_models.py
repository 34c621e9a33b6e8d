"""NDP, Homa and ExpressPass, plain and with Aeolus, over one switch against independent models, to the picosecond."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

import paceline as pl
from express_pass_model import ExpressPassStar
from homa_model import HomaStar
from ndp_model import NdpStar
from star_model import FULL, US, WIRE, G, Star

CASES = 100
COUNTERS = {
    "data": "data_packets",
    "again": "retransmitted_packets",
    "permits": "permits",
    "dropped": "drops_buffer",
    "timeouts": "timeouts",
    "lost": "drops_wire",
    "unasked": "unscheduled_packets",
    "unasked lost": "drops_unscheduled",
    "probes": "probes",
}
"""What models count, and the engine's names for it."""


def traffic(rng, kind):
    """Links and flows: one alone, two to one, incasts, a host that sends to two, hosts at random."""
    hosts = rng.randint(8, 20) if kind == 2 else rng.randint(3, 10)
    rates = rng.choice([(100,), (100, 100, 25, 40)])
    links = []
    for _ in range(hosts):
        rate = rng.choice(rates)
        back = rng.choice([10, 40, 200]) if rng.random() < 0.1 else rate
        links.append((rate * G, back * G, rng.randint(10**5, 2 * 10**6)))
    pairs = [
        [(0, 1)],
        [(1, 0), (2, 0)],
        [(host, 0) for host in range(1, hosts)],
        [(0, 1), (0, 2), (0, 1), (0, 2)],
        [tuple(rng.sample(range(rng.choice([3, hosts])), 2)) for _ in range(12)],
    ][kind]
    within = rng.choice([US, 30 * US])
    sizes = rng.choice([[1, 1460, 1461, 64_000, rng.randint(1, 300_000)], [64_000]])
    return links, [(src, dst, rng.choice(sizes), rng.randrange(within)) for src, dst in pairs]


def scenario(links, flows, loss, switch, scheme):
    names = [f"h{i}" for i in range(len(links))]
    return pl.Scenario(
        name="model",
        topology=pl.GraphTopology(
            hosts=names,
            switches=["s"],
            links=[
                pl.GraphLink(
                    a=name, b="s", rate=f"{rate}bps", rate_back=f"{back}bps", delay=f"{delay}ps", error_rate=loss
                )
                for name, (rate, back, delay) in zip(names, links, strict=True)
            ],
        ),
        framing=pl.Framing(preset="ethernet"),
        switch=switch,
        schemes={"scheme": scheme},
        workloads=[
            pl.Flows(
                rows=[
                    pl.FlowRow(src=src, dst=dst, bytes=f"{size}B", start=f"{start}ps")
                    for src, dst, size, start in flows
                ]
            )
        ],
    )


def switch(**settings):
    return pl.Switch(pfc=pl.Pfc(enabled=False), ecn=pl.Ecn(enabled=False), **settings)


def buffered(settings):
    """Ports with a buffer each, which drop selectively under Aeolus."""
    dropping = pl.SelectiveDrop(enabled=settings["aeolus"], threshold=f"{settings['threshold']}B")
    return switch(model="per_port", buffer=f"{settings['buffer']}B", selective_drop=dropping)


def times(settings, names):
    """The engine's form of some times."""
    return {name: f"{settings[name]}ps" for name in names}


def ndp(rng):
    settings = {
        "aeolus": rng.random() < 0.4,
        "threshold": rng.choice([1, 3000, 6144]),
        "buffer": rng.choice([10_000, 500_000]),
        "data_packets": rng.choice([2, 8]),
        "header_packets": rng.choice([1, 1, 1, 8]),
        "headers_per_data": rng.choice([2, 10]),
        "return_to_sender": rng.random() < 0.7,
        "first_window": rng.choice([1, 8, 30, 60, 60, 60]),
        "returned_ack_share": rng.choice([0, 25, 25, 101]),
        "rto": rng.choice([20, 100, 1000]) * US,
    }
    of_switch = ("data_packets", "header_packets", "headers_per_data", "return_to_sender")
    trimming = pl.Trimming(enabled=True, **{name: settings[name] for name in of_switch})
    scheme = pl.Ndp(
        first_rtt="aeolus" if settings["aeolus"] else "burst",
        **{name: settings[name] for name in ("first_window", "returned_ack_share")},
        **times(settings, ["rto"]),
    )
    return settings, buffered(settings) if settings["aeolus"] else switch(trimming=trimming), scheme


def homa(rng):
    first = rng.choice(["burst", "burst", "aeolus"])
    lowest = rng.random() < 0.3
    same = {
        "levels": 8,
        "unscheduled_levels": rng.choice([1, 3, 7]),
        "overcommitment": rng.choice([1, 2, 7]),
        "tail_boost": rng.random() < 0.3,
        "resend_packets": rng.choice([1, 10**6]),
    }
    waits = {
        "resend_timeout": rng.choice([40, 200]) * US,
        "sender_timeout": rng.choice([40, 200]) * US,
        "done_timeout": rng.choice([50, 300]) * US,
    }
    settings = {
        "aeolus": first == "aeolus",
        "cap": rng.random() < 0.5,
        "stop": rng.random() < 0.5,
        "base": 7 if lowest else 0,
        "rtt_packets": rng.choice([1, 8, 30]),
        "buffer": rng.choice([20_000, 100_000, 32 << 20]),
        "threshold": rng.choice([1, 3000, 6144]),
    }
    scheme = pl.Homa(
        first_rtt=first,
        rtt_bytes=f"{settings['rtt_packets'] * (FULL + WIRE)}B",
        cap_outstanding=settings["cap"],
        stop="first_credit" if settings["stop"] else "never",
        unscheduled_priority="lowest" if lowest else "size",
        **same,
        **times(waits, waits),
    )
    settings |= same | waits
    return settings, buffered(settings), scheme


def express_pass(rng):
    first = rng.choice(["wait", "aeolus", "burst"])
    same = {
        "alpha": rng.choice([0.5, 1.0, 0.0625]),
        "full_rate_packets": rng.choice([1, 40]),
        "w_init": rng.choice([0.0625, 0.5]),
        "w_min": 0.01,
        "w_max": 0.5,
        "w_step": 0.05,
        "target_loss": rng.choice([0.125, 0.1]),
        "feedback": rng.choice(["simulator", "simulator", "paper"]),
        "jitter": rng.choice([0.0, 0.1, 0.1]),
        "early_stop": rng.random() < 0.8,
        "credit_queue": rng.choice([2, 8]),
        "credit_burst": rng.choice([2, 10]),
        "late_repair": rng.choice(["on_credit", "at_once"]),
    }
    waits = {
        "retransmit_timeout": rng.choice([20, 100]) * US,
        "credit_timeout": rng.choice([50, 10_000]) * US,
        "rto_scheduled": rng.choice([30, 200]) * US,
        "rto_unscheduled": rng.choice([10, 100]) * US,
    }
    settings = {
        "aeolus": first == "aeolus",
        "priority": first == "burst",
        "burst": rng.choice([1, 8, 30]),
        "credit_spread": rng.choice([0, 8, 8]),
        "buffer": rng.choice([1600, 3200, 500_000]),
        "threshold": rng.choice([1, 3000, 6144]),
    }
    scheme = pl.ExpressPass(
        first_rtt=first,
        first_bytes=f"{settings['burst'] * (FULL + WIRE)}B",
        credit_spread=f"{settings['credit_spread']}B",
        **same,
        **times(waits, waits),
    )
    settings |= same | waits
    return settings, buffered(settings), scheme


def compare(folder: Path, model: type[Star], draw, counters) -> None:
    """Runs random cases on both; each of the counters is to have counted something in the end."""
    counters = COUNTERS | counters
    seen = dict.fromkeys(counters, 0)
    for seed in range(CASES):
        rng = random.Random(seed)
        links, flows = traffic(rng, (0, 1, 2, 3, 4, 2)[seed % 6])
        settings, ports, scheme = draw(rng)
        settings["loss"] = rng.choice([0.0, 0.0, 0.003, 0.03])
        expected = model(links, flows, settings)
        if expected.ties:
            # The engine decides by a hash which of two packets comes first.
            continue
        results = pl.simulate(
            scenario(links, flows, settings["loss"], ports, scheme), folder / str(seed), progress="none"
        )
        ends = np.array([(flow.arrived - flow.start, flow.ended - flow.start) for flow in expected.messages])
        got = np.stack([results.flows[name] for name in ("fct_receiver_ps", "fct_sender_ps")], 1)
        assert np.array_equal(got, ends), f"case {seed}"
        for what, name in counters.items():
            assert results.summary["counters"][name] == expected.seen.get(what, 0), f"case {seed}: {name}"
            seen[what] += expected.seen.get(what, 0)
    assert min(seen.values()) > 0, seen


def test_ndp_trims_pulls_and_repairs_at_the_picosecond_of_the_model(tmp_path):
    """Queues, service, pacing of pulls, returned headers, probes, timeouts: an error in one moves some flow's end."""
    compare(tmp_path, NdpStar, ndp, {"trimmed": "trimmed_packets", "returned": "returned_headers"})


def test_homa_grants_and_repairs_at_the_picosecond_of_the_model(tmp_path):
    """Order of senders and grants, levels, overcommitment, probes, RESENDs and the senders' own timeouts."""
    compare(tmp_path, HomaStar, homa, {})


def test_express_pass_sends_credits_at_the_picosecond_of_the_model(tmp_path):
    """Feedback, jitter, the ports' credit queues and buckets, bursts, stops, NACKs and requests sent again."""
    compare(tmp_path, ExpressPassStar, express_pass, {"credits lost": "drops_credit"})
