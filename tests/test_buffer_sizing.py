"""The rules of E27 to E38 on published statements and altered ones, the plans, and the runs' numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paceline import experiments
from paceline.experiments.buffer_sizing import flooding, measures, storage
from paceline.experiments.buffer_sizing.testbed import FORMS, PFC_ALPHA, STACKS, network, scenario
from paceline.queries import groups
from paceline.reproduce.claims import Claim, Place
from paceline.reproduce.model import Scale
from paceline.run import simulate
from paceline.scenario import ClosedRpc, OpenRpc, Scenario
from paceline.sweeps.points import Point, Run, Runs
from paceline.sweeps.runner import prepare

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
        found |= {
            (*place, "qps"): qps,
            (*place, "jain"): 0.9 if "hpcc" in name else 0.7,
            (*place, "p99_us"): p99,
            (*place, "p95_us"): p99 / 2,
            (*place, "mean_us"): p99 / 3,
        }
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
    values["default", "hpcc_rdma", "p95_us"] = 500.0
    assert failing(flooding.time_rule(values)) == {"new_reno.p99_us", "rdma.p95"}
    assert failing(flooding.queue_rule(values)) == {"hpcc_tcp.queue_p50_kb"}
    values["default", "hpcc_rdma", "queue_p99_kb"] = 401.0
    assert failing(flooding.queue_rule(values)) == {
        "hpcc_tcp.queue_p50_kb",
        "shorter.rdma.p99",
        "shorter.near_zero.p99",
    }
    values["default", "new_reno", "jain"] = 0.95
    values["default", "dcqcn", "jain"] = 0.9
    assert failing(flooding.rate_rule(values)) == {"ratio", "jain"}
    assert failing(flooding.rdma_rate_rule(values)) == {"ratio", "jain"}


def test_storage_holds_on_what_was_published_and_fails_on_altered_numbers() -> None:
    values: dict[Place, float] = {}
    for name, median, p99 in (
        ("hpcc_tcp", 1.3, 4.3),
        ("new_reno", 1.5, 100.0),
        ("hpcc_rdma", 1.2, 7.8),
        ("dcqcn", 11.9, 41.6),
    ):
        values |= {(name, size, 50): median for size in storage.SIZES}
        values |= {(name, where, 99): p99 for where in ("short", 4000)}
    for name, q, kb in (("hpcc_tcp", 50, 18), ("hpcc_tcp", 99, 65), ("hpcc_rdma", 50, 2.2), ("hpcc_rdma", 99, 74)):
        values[name, "tor->host", q, "busy"] = kb
    values["new_reno", "tor->host", 99, "busy"] = 247
    values["dcqcn", "tor->host", 99, "busy"] = 519
    values |= {(variant, "dcqcn", "tor->host", 99, "busy"): 519 for variant in storage.DCQCN}
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
    values["new_reno", 4000, 50] = 2.39
    values["hpcc_tcp", 4000, 50] = 0.9
    values["hpcc_tcp", 32_000, 50] = 2.5
    values["dcqcn", 8000, 50] = 1.1
    wrong = {"new_reno.alike_tcp.4000", "hpcc_tcp.alike.32000", "dcqcn.larger.8000"}
    assert failing(storage.median_rule(values)) == wrong
    values["new_reno", "short", 99] = 20.0
    values["dcqcn", "short", 99] = 9.0
    values["hpcc_rdma", "tor->host", 50, "busy"] = 9.0
    assert failing(storage.tcp_tail_rule(values)) == {"new_reno.p99"}
    assert failing(storage.rdma_tail_rule(values)) == {"ratio", "dcqcn.p99"}
    # The study does not say of which sizes; and what was open at the end counts with its age.
    values["hpcc_tcp", 4000, 99] = 11.0
    values["dcqcn", 4000, 99, "up to"] = 78.0
    assert failing(storage.tcp_tail_rule(values)) == {"new_reno.p99", "hpcc_tcp.p99_4k"}
    widest = {claim.id: claim.up_to for claim in storage.rdma_tail_rule(values)}
    assert widest["ratio_4k"] == pytest.approx(10)
    assert widest["dcqcn.p99_4k"] == 78
    assert failing(storage.hpcc_queue_rule(values)) == {"hpcc_rdma.hosts.busy.p50"}
    # A port holds 256 KiB: whether the study's KB are these is not certain.
    values["new_reno", "tor->host", 99, "busy"] = 262
    assert failing(storage.baseline_queue_rule(values)) == set()
    values["new_reno", "tor->host", 99, "busy"] = 270
    values["dcqcn_cnp_50us", "dcqcn", "tor->host", 99, "busy"] = 800
    values["hpcc_rdma", "tor->host", 99, "busy"] = 519
    assert failing(storage.baseline_queue_rule(values)) == {
        "new_reno.hosts.busy.p99",
        "dcqcn.hosts.busy.p99",
        "longer.dcqcn",
    }


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


def both(points: list[Point], folder: Path) -> Runs:
    """Runs these points one after the other."""
    found = []
    for i, point in enumerate(points):
        assert isinstance(point.scenario, Scenario)
        simulate(point.scenario, folder / str(i), progress="none")
        found.append(Run(point, folder / str(i)))
    return Runs(tuple(found))


def of(module: object, scale: Scale, **key: str) -> list[Point]:
    plan = getattr(module, "plan")  # noqa: B009
    return [p for p in plan(scale) if p.seed == 1 and all(p.key[name] == value for name, value in key.items())]


@pytest.mark.parametrize(("module", "scheme"), [(flooding, "hpcc_tcp"), (storage, "dcqcn"), (storage, "new_reno")])
def test_queues_and_losses_are_those_after_the_warm_up(module: object, scheme: str, tmp_path: Path) -> None:
    """With the warm-up in them the p99 of DCQCN's queue beside the floods would be four times as long."""
    runs = both(of(module, Scale.TINY, scheme=scheme, variant="default"), tmp_path)
    (window,) = measures.windows(runs)
    names = ("connection", "query", "start_ps", "qct_ps")
    long, short = (runs.one(until=until).results().queries for until in ("end", "warmup"))
    answered = [row for row in zip(*(short[name] for name in names), strict=True) if row[3] > 0]
    assert len(answered) > 10
    # Up to the end of the warm-up they are one run: the same queries, answered at the same instants.
    assert set(answered) <= set(zip(*(long[name] for name in names), strict=True))
    left = (window.whole.seconds - window.warmup.seconds) * 1e12
    for _, histogram in window.queues.values():
        assert histogram.time_ps.min() > 0
        assert histogram.time_ps.sum() == pytest.approx(left, rel=1e-9)
    # A frame counts when it begins: the one that the end cuts off takes up to 1538 B at 25 Gb/s.
    assert 0 < window.carried("tor->host").max() <= 1 + 1538 * 8 / 25e9 / (left * 1e-12)
    assert window.count("drops") == window.whole.drops - window.warmup.drops >= 0


def test_a_warm_up_of_another_run_is_refused(tmp_path: Path) -> None:
    """A twin that is not the same run would give queues that never were."""
    points = of(flooding, Scale.TINY, scheme="hpcc_tcp", variant="default")
    other = of(flooding, Scale.TINY, scheme="hpcc_tcp", variant="min_window_1")
    twin = replace(next(p for p in other if p.key["until"] == "warmup"), key=points[1].key)
    (window,) = measures.windows(both([points[0], twin], tmp_path))
    with pytest.raises(ValueError, match="not the same run"):
        window.queue("busiest")


def test_a_queue_at_its_limit_is_known_to_a_bin_only(tmp_path: Path) -> None:
    """E37: NewReno fills the buffer of 262 KB, and the middle of that bin, 254 KB, passed as at most 256 KB."""
    runs = both(of(storage, Scale.TINY, scheme="new_reno", variant="default"), tmp_path)
    claims = {claim.id: claim for claim in storage.baseline_queue_rule(storage.measure(runs))}
    assert claims["new_reno.hosts.busy.p99"].within == (245.76, 262.143)


def test_storage_queries_are_the_same_under_every_scheme() -> None:
    """Counted on the wire, HPCC's telemetry would have bought it 3 % fewer queries than DCQCN has."""
    works = {
        p.key["scheme"]: p.scenario.workloads
        for p in of(storage, Scale.QUICK, variant="default", until="end")
        if isinstance(p.scenario, Scenario)
    }
    assert set(works) == set(STACKS)
    for work in works.values():
        assert work == works["dcqcn"]
        assert isinstance(work[0], OpenRpc)
        assert work[0].load.bytes == "payload"


def test_acks_for_more_packets_than_a_message_has_are_tried_on_longer_messages() -> None:
    """On messages of three segments an ACK per 5, 8, 10 or 16 is all the same: the end of a message is acknowledged."""
    for variant, (acks, _) in flooding.BATCHED.items():
        (point, _twin) = of(flooding, Scale.QUICK, variant=variant)
        assert isinstance(point.scenario, Scenario)
        sizes = {w.sizes for w in point.scenario.workloads if isinstance(w, ClosedRpc) and w.group != "victim"}
        assert sizes == ({"256KB"} if flooding.ACKS[acks].whole else {"4KB"})
        assert 256_000 > max(flooding.BATCHES) * 1460 > 4_000


def test_the_rule_of_e32_asks_for_growth_of_the_tail_and_reports_variants() -> None:
    values: dict[Place, float] = {}
    for acks in flooding.ACKS:
        for n in flooding.BATCHES:
            for paced in (False, True):
                place = (flooding.batch(acks, n, paced=paced), "hpcc_tcp")
                values[(*place, "queue_p50_kb")] = 1.0 if paced else 10.0 + n
                values[(*place, "queue_p99_kb")] = 2.0 if paced else 20.0 + n
    assert failing(flooding.batch_rule(values)) == set()
    values["batch_16", "hpcc_tcp", "queue_p99_kb"] = 20.0
    values["batch_8_paced", "hpcc_tcp", "queue_p50_kb"] = 19.0
    values["batch_16@min_window_1", "hpcc_tcp", "queue_p99_kb"] = 1.0
    assert failing(flooding.batch_rule(values)) == {"growth.p99", "pacing.p50"}


def test_without_stages_hpcc_is_reported_beside_and_the_baselines_are_not_said_twice() -> None:
    values: dict[Place, float] = {(name, "short", 99): 10.0 for name in STACKS}
    values["max_stage_0", "hpcc_rdma", "short", 99] = 5.0
    claims = storage.and_forms(storage.rdma_tail_rule)(values)
    found = {(c.id, c.variant): (c.value, c.limits is None) for c in claims}
    assert found["ratio", "default"] == (1.0, False)
    assert found["ratio", "max_stage_0"] == (2.0, True)
    assert found["hpcc_rdma.p99", "max_stage_0"] == (5.0, True)
    assert ("dcqcn.p99", "max_stage_0") not in found


def test_the_threshold_of_pfc_is_varied_over_rdma_alone_and_in_two_results() -> None:
    """E28 and E36 tell whether it matters; the others need no runs of it but where all of the storage traffic is."""
    for stacks in PFC_ALPHA.values():
        for name, stack in stacks.items():
            switch = scenario("x", stack, [], stop_us=2, warmup_us=1).switch
            default = scenario("x", STACKS[name], [], stop_us=2, warmup_us=1).switch
            assert (default.pfc.alpha, switch.pfc.alpha) == (0.125, 0.11)
            assert replace(switch, pfc=default.pfc) == default
    rdma = {p.key["scheme"] for p in flooding.over_rdma(Scale.TINY) if p.key["variant"] in PFC_ALPHA}
    assert rdma == {"hpcc_rdma", "dcqcn"}
    assert not any(p.key["variant"] in PFC_ALPHA for p in flooding.with_forms(Scale.TINY))
    told = {claim.id for claim in _queue_claims() if claim.variant in PFC_ALPHA}
    assert told
    assert all(name.startswith("hpcc_rdma.") for name in told)


def _queue_claims() -> list[Claim]:
    return list(storage.and_forms(storage.hpcc_queue_rule, PFC_ALPHA)({}))


def test_figures_of_the_flood_show_what_their_results_are_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """E27, E28 and E32 were tables of up to 60 rows alone."""
    values = published()
    for n in flooding.BATCHES:
        for paced in (False, True):
            place = (flooding.batch("default", n, paced=paced), "hpcc_tcp")
            values |= {(*place, f"queue_p{q}_kb"): n * q / (2 if paced else 1) for q in (50, 99)}
    monkeypatch.setattr(flooding, "measure", lambda _: values)
    (rates,) = flooding._rates(Runs(()), "E28")
    told = [label.get_text() for label in rates.figure.axes[0].get_yticklabels()]
    held = "1.5 \N{MULTIPLICATION SIGN} DCQCN, published"
    assert told == ["HPCC, RDMA", "DCQCN, RDMA", held], "what the ratio is judged by"
    assert [list(line.get_xdata()) for line in rates.figure.axes[0].get_lines()] == [[1.5 * 200]]
    assert [bar.get_width() for bar in rates.figure.axes[0].patches] == [300, 200]
    (queues,) = flooding._acknowledged(Runs(()), "E32")
    for ax, q in zip(queues.figure.axes, (50, 99), strict=True):
        plain, paced_line = ax.get_lines()
        assert list(plain.get_ydata()) == [n * q for n in flooding.BATCHES]
        assert list(paced_line.get_ydata()) == [n * q / 2 for n in flooding.BATCHES]
        assert plain.get_linestyle() != paced_line.get_linestyle()


def test_every_variant_on_a_page_is_explained() -> None:
    """A new one without a line in ``ABOUT`` would stand in tables as a name that nobody can look up."""
    assert {*flooding.KNOBS, *FORMS, *PFC_ALPHA} <= set(flooding.ABOUT)
    varied = {*storage.VARIANTS, *storage.HPCC, *storage.DCQCN, *FORMS, *PFC_ALPHA} - {"default"}
    assert varied <= set(storage.ABOUT)
