"""NDP, Homa and ExpressPass, plain and with Aeolus, against independent models, to the picosecond.

Over one switch, NDP and Homa also sprayed over leaves and spines.
"""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import numpy as np
import pytest

import paceline as pl
from models.express_pass import ExpressPassStar
from models.homa import HomaStar
from models.ndp import NdpStar
from models.star import FULL, US, WIRE, G, Star

CASES = 100
NO_LIMIT = 1 << 62
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


def spines(rng):
    """Rate and delays to both leaves of each spine, where there are any."""
    rate = rng.choice([40, 100]) * G
    return [
        (rate, (rng.randint(10**5, 10**6), rng.randint(10**5, 10**6))) for _ in range(rng.choice([0, 0, 1, 2, 3, 5]))
    ]


def scenario(links, flows, settings, switch, scheme):
    names, spines = [f"h{i}" for i in range(len(links))], settings.get("spines", [])
    leaves = ["l0", "l1"] if spines else ["s"]

    def link(a, b, rate, back, delay):
        loss = settings["loss"]
        return pl.GraphLink(a=a, b=b, rate=f"{rate}bps", rate_back=f"{back}bps", delay=f"{delay}ps", error_rate=loss)

    return pl.Scenario(
        name="model",
        topology=pl.GraphTopology(
            hosts=names,
            switches=leaves + [f"s{i}" for i in range(len(spines))],
            links=[link(name, leaves[i % len(leaves)], *links[i]) for i, name in enumerate(names)]
            + [
                link(leaf, f"s{i}", rate, rate, delays[j])
                for j, leaf in enumerate(leaves)
                for i, (rate, delays) in enumerate(spines)
            ],
        ),
        routing=pl.Routing(choice="spray" if spines else "flow_hash"),
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


def repairs(rng):
    """What permits are spent on."""
    return {
        "repair": rng.choice(["lost_first", "lost_first", "new_first"]),
        "resend_open": rng.random() < 0.2,
    }


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
    more = repairs(rng) | {
        "keep_idle_pulls": rng.random() < (0.8 if settings["aeolus"] else 0.2),
        "pull_missing": rng.random() < 0.8,
        "pull_spacing": rng.choice([1.0, 1.0, 0.5, 2.0]),
        "pad_last": rng.random() < 0.3,
        "rto_jitter": rng.choice([0, 0, 0, 20]),
    }
    limit = rng.choice(["off", "off", 3, 40])
    own = {"stop": rng.random() < 0.2, "verdict_delay": rng.choice([0, 0, 5]) * US}
    settings |= more | own | {"pull_limit": NO_LIMIT if limit == "off" else limit}
    of_switch = ("data_packets", "header_packets", "headers_per_data", "return_to_sender")
    trimming = pl.Trimming(enabled=True, **{name: settings[name] for name in of_switch})
    scheme = pl.Ndp(
        first_rtt="aeolus" if settings["aeolus"] else "burst",
        stop="first_credit" if settings["stop"] else "never",
        **{name: settings[name] for name in ("first_window", "returned_ack_share")},
        pull_limit=limit,
        **times(settings, ["rto", "verdict_delay"]),
        **more,
    )
    return settings, buffered(settings) if settings["aeolus"] else switch(trimming=trimming), scheme


def homa(rng):
    first = rng.choice(["burst", "burst", "aeolus"])
    same = repairs(rng) | {
        "levels": rng.choice([2, 4, 8, 8]),
        "unscheduled_levels": rng.choice(["auto", "auto", 1, 3, 7]),
        "unscheduled_priority": rng.choice(["size", "size", "remaining", "lowest"]),
        "overcommitment": rng.choice(["auto", 1, 2, 7]),
        "one_resend_per_peer": rng.random() < 0.8,
        "pad_last": rng.random() < 0.2,
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
        "rtt_packets": rng.choice([1, 8, 30]),
        "buffer": rng.choice([20_000, 100_000, 32 << 20]),
        "threshold": rng.choice([1, 3000, 6144]),
    }
    scheme = pl.Homa(
        first_rtt=first,
        rtt_bytes=f"{settings['rtt_packets'] * (FULL + WIRE)}B",
        cap_outstanding=settings["cap"],
        stop="first_credit" if settings["stop"] else "never",
        **same,
        **times(waits, waits),
    )
    settings |= same | waits
    return settings, buffered(settings), scheme


def express_pass(rng):
    first = rng.choice(["wait", "aeolus", "burst"])
    same = repairs(rng) | {
        "alpha": rng.choice([0.5, 1.0, 0.0625]),
        "full_rate_packets": rng.choice([1, 40]),
        "w_init": rng.choice([0.0625, 0.25]),
        "w_min": rng.choice([0.01, 0.05]),
        "w_max": rng.choice([0.5, 0.25]),
        "w_step": rng.choice([0.05, 0.1]),
        "target_loss": rng.choice([0.125, 0.1]),
        "feedback": rng.choice(["simulator", "simulator", "paper"]),
        "jitter": rng.choice([0.0, 0.1, 0.1]),
        "early_stop": rng.random() < 0.8,
        "credit_queue": rng.choice([2, 8]),
        "credit_burst": rng.choice([2, 10]),
        "request_in_probe": rng.random() < 0.3,
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
        "stop": rng.random() < 0.7,
        "credit_spread": rng.choice([0, 8, 8]),
        "buffer": rng.choice([1600, 3200, 500_000]),
        "threshold": rng.choice([1, 3000, 6144]),
    }
    scheme = pl.ExpressPass(
        first_rtt=first,
        first_bytes=f"{settings['burst'] * (FULL + WIRE)}B",
        stop="first_credit" if settings["stop"] else "never",
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
        if draw is not express_pass:
            settings["spines"] = spines(rng)
        expected = model(links, flows, settings)
        if expected.ties:
            # The engine decides by a hash which of two packets comes first.
            continue
        results = pl.simulate(scenario(links, flows, settings, ports, scheme), folder / str(seed), progress="none")
        ends = np.array([(flow.arrived - flow.start, flow.ended - flow.start) for flow in expected.messages])
        got = np.stack([results.flows[name] for name in ("fct_receiver_ps", "fct_sender_ps")], 1)
        assert np.array_equal(got, ends), f"case {seed}"
        for what, name in counters.items():
            assert results.summary["counters"][name] == expected.seen.get(what, 0), f"case {seed}: {name}"
            seen[what] += expected.seen.get(what, 0)
    assert min(seen.values()) > 0, seen


@pytest.mark.parametrize(
    ("draw", "scheme", "left_out"),
    [
        (ndp, pl.Ndp, set()),
        (homa, pl.Homa, set()),
        # No sender stops credits before it knows the round trip.
        (express_pass, pl.ExpressPass, {"credit_stop_timeout"}),
    ],
)
def test_every_setting_is_drawn(draw, scheme, left_out):
    """A new setting is compared, too, or named here. Of NDP and Homa `first_rtt = "wait"` is not."""
    schemes = [draw(random.Random(seed))[2] for seed in range(CASES)]
    fields = {field.name for field in dataclasses.fields(scheme)}
    varied = {name for name in fields if len({repr(getattr(each, name)) for each in schemes}) > 1}
    assert fields - varied == left_out


def test_ndp_trims_pulls_and_repairs_at_the_picosecond_of_the_model(tmp_path):
    """Queues, service, pacing of pulls, returned headers, probes, timeouts: an error in one moves some flow's end."""
    own = {"trimmed": "trimmed_packets", "returned": "returned_headers", "wasted": "wasted_permits"}
    compare(tmp_path, NdpStar, ndp, own)


def test_homa_grants_and_repairs_at_the_picosecond_of_the_model(tmp_path):
    """Order of senders and grants, levels, overcommitment, probes, RESENDs and the senders' own timeouts."""
    compare(tmp_path, HomaStar, homa, {})


def test_express_pass_sends_credits_at_the_picosecond_of_the_model(tmp_path):
    """Feedback, jitter, the ports' credit queues and buckets, bursts, stops, NACKs and requests sent again."""
    compare(tmp_path, ExpressPassStar, express_pass, {"credits lost": "drops_credit", "wasted": "wasted_permits"})
