"""Converged Ethernet against `models.cee`: adapters, RED, QCN and pauses, none of which it shares with the engine."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest

import paceline as pl
from models.cee import Cee, Fabric, Pfc, Qcn, Red
from models.freebsd import FreeBsdRules
from models.tcp import Rules
from test_tcp_model import US, G, ends, scenario

CASES = 30
HEADROOM = 12_000
"""Bytes that may come after a pause: two frames, and what is on 2 us of cable both ways."""


def draw(seed: int, aqm: str, stack: str):
    """Some hosts that send to one, behind one switch or two with a slow link."""
    rng = random.Random(seed)
    senders, switches, buffer = rng.randint(1, 8), rng.randint(1, 2), rng.choice([40_000, 102_400])
    hosts = senders + 1
    links = [(host, hosts + host % switches, 10 * G, rng.randrange(2 * US)) for host in range(hosts)]
    if switches == 2:
        links.append((hosts, hosts + 1, rng.choice([5, 10]) * G, rng.randrange(2 * US)))
    sizes = [20_000, 200_000, rng.randint(1, 500_000), rng.randint(1, 3_000_000)]
    flows = [(host, senders, rng.choice(sizes), rng.randrange(200 * US)) for host in range(senders)]
    rules = Rules(
        buffer=buffer,
        rto_initial=10_000 * US,
        rto_min=2_000 * US,
        ack_delay=rng.choice([100, 1000]) * US,
        initial_window=3,
        receive_buffer=262_144,
        ecn=aqm == "red",
    )
    cc = rng.choice(["new_reno", "cubic"])
    if stack == "freebsd":
        slop, inherit = rng.choice([1_000, 20_000]) * US, rng.choice(["nothing", "off", "half", "full"])
        rules, cc = FreeBsdRules(**vars(rules), slop=slop, inherit=inherit), "new_reno"
        # Later connections to the same host.
        again = [(src, start + n * rng.randrange(5_000, 60_000) * US) for src, _, _, start in flows for n in (1, 2)]
        flows += [(src, senders, rng.choice([3_000, 20_000, 200_000]), start) for src, start in again]
    red = Red(
        low=rng.choice([10_000, 25_600]),
        high=rng.choice([25_601, 76_800]),
        weight=rng.choice([0.002, 0.02, 0.3, 1.0]),
        most=rng.choice([0.02, 0.5]),
        packet=1500,
    )
    qcn = Qcn(
        set_point=rng.choice([10_000, 20_480, 67_584]),
        weight=rng.choice([0, 2, 5]),
        base=rng.choice([30_000, 150_000]),
        sample_jitter=rng.choice([0, 15]),
        line_rate=10 * G,
        timer=rng.choice([200, 2_000, 15_000]) * US,
        byte_limit=rng.choice([20_000, 150_000]),
        jitter=rng.choice([0, 15]),
        threshold=rng.choice([1, 5]),
        step=rng.choice([5_000_000, 200_000_000]),
        large_step=50_000_000,
        least=rng.choice([100_000, 500_000_000]),
        gain=1 / 128,
        keeps=0.5,
        keep_target=rng.random() < 0.7,
        clamp=rng.random() < 0.7,
    )
    fabric = Fabric(
        down=10 * US,
        up=24 * US + 500_000,
        buffer=rng.choice([16_384, 524_288, 524_288]),
        red=red if aqm == "red" else None,
        qcn=qcn if aqm == "qcn" else None,
        pfc=Pfc(xoff=buffer - HEADROOM, xon=buffer - 2 * HEADROOM, frame=1518) if rng.random() < 0.5 else None,
    )
    return (hosts, switches, links, flows, rules, cc), fabric


def with_fabric(case, fabric: Fabric) -> pl.Scenario:
    """The engine's form of a case."""
    plain, rules = scenario(*case), case[4]
    if isinstance(rules, FreeBsdRules):
        window = f"{rules.receive_buffer}B"
        tcp = pl.Tcp(
            stack="freebsd",
            rto_min=f"{rules.rto_min}ps",
            rto_slop=f"{rules.slop}ps",
            ack_delay=f"{rules.ack_delay}ps",
            ecn=rules.ecn,
            send_buffer=window,
            send_buffer_max=window,
            receive_buffer=window,
            receive_buffer_max=window,
            host_cache=rules.inherit != "nothing",
            inherit_cwnd="off" if rules.inherit == "nothing" else rules.inherit,
        )
        host = dataclasses.replace(plain.host, tcp=tcp)
        plain = dataclasses.replace(plain, host=host, schemes={"tcp": pl.NewReno(halving="window")})
    switch: dict[str, object] = {"ecn": pl.Ecn(enabled=False), "pfc": pl.Pfc(enabled=False)}
    host = dataclasses.replace(
        plain.host,
        adapter=pl.Adapter(enabled=True, tx_delay="9500ns", delay="500ns", rx_delay="24us", buffer=f"{fabric.buffer}B"),
    )
    if red := fabric.red:
        switch["red"] = pl.Red(
            enabled=True,
            min=f"{red.low}B",
            max=f"{red.high}B",
            weight=red.weight,
            p_max=red.most,
            packet=f"{red.packet}B",
        )
    if qcn := fabric.qcn:
        switch["qcn"] = pl.Qcn(
            enabled=True,
            set_point=f"{qcn.set_point}B",
            weight=float(qcn.weight),
            sample_base=f"{qcn.base}B",
            jitter=qcn.sample_jitter / 100,
        )
        host = dataclasses.replace(
            host,
            qcn=pl.HostQcn(
                timer=f"{qcn.timer}ps",
                byte_limit=f"{qcn.byte_limit}B",
                jitter=qcn.jitter / 100,
                threshold=qcn.threshold,
                ai_rate=f"{qcn.step}bps",
                hai_rate=f"{qcn.large_step}bps",
                min_rate=f"{qcn.least}bps",
                keep_target=qcn.keep_target,
                clamp_target=qcn.clamp,
            ),
        )
    if pfc := fabric.pfc:
        switch |= {"pfc": pl.Pfc(enabled=True, xoff=f"{pfc.xoff}B", xon=f"{pfc.xon}B"), "accounting": "input"}
    return dataclasses.replace(plain, switch=dataclasses.replace(plain.switch, **switch), host=host)


def counted(model: Cee) -> dict[str, int]:
    return {
        "drops_buffer": model.drops,
        "timeouts": model.timeouts,
        "marks": model.marks,
        "notifications": model.notices,
        "pause_frames": model.pauses,
    }


@pytest.mark.parametrize("stack", ["rfc", "freebsd"])
@pytest.mark.parametrize("aqm", ["nothing", "red", "qcn"])
def test_every_connection_ends_at_the_picosecond_of_the_model(tmp_path: Path, aqm: str, stack: str) -> None:
    """Delays, buffers, averages, draws, limiters, pauses: an error in one of them moves some flow's end."""
    seen = dict.fromkeys(("drops_buffer", "timeouts", "marks", "notifications", "pause_frames"), 0)
    compared = 0
    for seed in range(CASES):
        case, fabric = draw(seed, aqm, stack)
        model = Cee(*case, fabric=fabric)
        if model.ties:
            continue
        results = pl.simulate(with_fabric(case, fabric), tmp_path / str(seed))
        measured, expected = ends(results, model)
        counters = results.summary["counters"]
        assert measured == expected, f"case {seed}"
        assert {name: counters[name] for name in seen} == counted(model), f"case {seed}"
        compared += 1
        for what in seen:
            seen[what] += counters[what]
    assert compared > CASES // 2
    wanted = {"drops_buffer", "timeouts", "pause_frames"} | {"red": {"marks"}, "qcn": {"notifications"}}.get(aqm, set())
    assert {what for what, count in seen.items() if count} == wanted, seen
