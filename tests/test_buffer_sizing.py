"""The rules of E27 to E38 on published statements and altered ones, the plans, and the runs' numbers."""

from __future__ import annotations

import pytest

from paceline import experiments
from paceline.experiments.buffer_sizing import flooding, storage
from paceline.experiments.buffer_sizing.testbed import STACKS, network, scenario
from paceline.queries import groups
from paceline.reproduce.claims import Claim, Place
from paceline.reproduce.model import Scale
from paceline.reproduce.sweep import prepare
from paceline.run import simulate
from paceline.scenario import ClosedRpc

OURS = [e for e in experiments.experiments() if e.id in {f"E{n}" for n in range(27, 39)}]


def failing(claims: list[Claim]) -> set[str]:
    return {claim.id for claim in claims if claim.limits and not claim.holds}


def published() -> dict[Place, float]:
    """What the study says of the flood; where it says "low" or "near zero", a number that is."""
    found: dict[Place, float] = {}
    for name, qps, p99, queue in (
        ("hpcc_tcp", 700.0, 90.0, (29.0, 38.0)),
        ("new_reno", 100.0, 5900.0, (200.0, 256.0)),
        ("hpcc_rdma", 300.0, 60.0, (0.5, 20.0)),
        ("dcqcn", 200.0, 800.0, (150.0, 400.0)),
    ):
        place = ("default", name)
        found |= {(*place, "qps"): qps, (*place, "p99_us"): p99}
        found |= {(*place, f"queue_p{q}_kb"): kb for q, kb in zip((50, 99), queue, strict=True)}
    return found


def test_the_flood_holds_on_what_was_published_and_fails_on_altered_numbers() -> None:
    values = published()
    for rule in (flooding.rate_rule, flooding.rdma_rate_rule, flooding.time_rule, flooding.queue_rule):
        assert failing(rule(values)) == set()
    values["default", "hpcc_tcp", "qps"] = 200.0
    values["default", "dcqcn", "qps"] = 299.0
    values["default", "new_reno", "p99_us"] = 1500.0
    values["default", "hpcc_tcp", "queue_p50_kb"] = 60.0
    assert failing(flooding.rate_rule(values)) == {"ratio"}
    assert failing(flooding.rdma_rate_rule(values)) == {"ratio"}
    assert failing(flooding.time_rule(values)) == {"new_reno.p99_us"}
    assert failing(flooding.queue_rule(values)) == {"hpcc_tcp.queue_p50_kb"}


def test_storage_holds_on_what_was_published_and_fails_on_altered_numbers() -> None:
    values: dict[Place, float] = {}
    for name, median, p99 in (
        ("hpcc_tcp", 1.3, 4.3),
        ("new_reno", 1.5, 100.0),
        ("hpcc_rdma", 1.2, 7.8),
        ("dcqcn", 11.9, 41.6),
    ):
        values[name, 4000, 50] = median
        values[name, "short", 99] = p99
    for name, q, kb in (("hpcc_tcp", 50, 18), ("hpcc_tcp", 99, 65), ("hpcc_rdma", 50, 2.2), ("hpcc_rdma", 99, 74)):
        values[name, "tor->host", q, "busy"] = kb
    values["new_reno", "tor->host", 99, "busy"] = 247
    values["dcqcn", "tor->host", 99, "busy"] = 519
    values |= {("hpcc_rdma", size, "share"): 1.0 for size in storage.SHARES}
    rules = (
        storage.median_rule,
        storage.rdma_tail_rule,
        storage.tcp_tail_rule,
        storage.hpcc_queue_rule,
        storage.baseline_queue_rule,
        storage.size_rule,
    )
    for rule in rules:
        assert failing(rule(values)) == set()
    values["new_reno", "short", 99] = 20.0
    values["dcqcn", "short", 99] = 9.0
    values["hpcc_rdma", "tor->host", 50, "busy"] = 9.0
    assert failing(storage.tcp_tail_rule(values)) == {"new_reno.p99"}
    assert failing(storage.rdma_tail_rule(values)) == {"ratio"}
    assert failing(storage.hpcc_queue_rule(values)) == {"hpcc_rdma.hosts.busy.p50"}


@pytest.mark.parametrize("scale", Scale)
def test_the_engine_takes_every_scenario(scale: Scale) -> None:
    assert len(OURS) == 12
    for experiment in OURS:
        points = experiment.plan(scale)
        assert len({(tuple(sorted(p.key.items())), p.seed) for p in points}) == len(points) > 0
        prepare([point for point in points if point.seed == 1])


def test_servers_have_two_links_and_the_flooded_one_has_one() -> None:
    def degree(name: str, *single: int) -> int:
        return sum(name in (link.a, link.b) for link in network(600, single).links)

    assert (degree("server0"), degree("server0", 0), degree("server1", 0)) == (2, 1, 2)
    assert [degree(f"tor{t}") for t in range(4)] == [6, 6, 6, 6]


@pytest.mark.parametrize(("stack", "round_trip_us"), [("hpcc_rdma", (5.0, 9.5)), ("hpcc_tcp", (18.0, 24.0))])
def test_a_query_between_pods_takes_the_round_trip_of_the_study(stack: str, round_trip_us: tuple[float, float]) -> None:
    """About 9 us over RDMA and 20 us over TCP, whose stack is a part of the wires' delay."""
    lone = ClosedRpc(clients=[0], servers=[5], sizes="100B", response="64B")
    results = simulate(scenario("one", STACKS[stack], [lone], stop_us=400, warmup_us=100), progress="none")
    (group,) = groups(results)
    assert round_trip_us[0] < group.qct.value.max() / 1e6 < round_trip_us[1]
