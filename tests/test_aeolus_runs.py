"""The runs of A1 to A9: networks, plans, what is measured of a run, and one result from end to end."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from paceline import analysis, experiments
from paceline.experiments.aeolus import goodput, guarantees, incast, oversubscribed, timeouts
from paceline.experiments.aeolus.measures import facts
from paceline.experiments.aeolus.networks import fat_tree, flat_spine_leaf, spine_leaf
from paceline.experiments.aeolus.schemes import STACKS, priority_queueing, scenario
from paceline.progress import Mode
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Values, intervals, verdicts
from paceline.reproduce.model import Outcome, Scale
from paceline.reproduce.regenerate import reproduce
from paceline.run import simulate
from paceline.scenario import ExpressPass, FlowRow, Flows, GraphTopology, Topology
from paceline.sweeps.points import Point, Run, Runs
from paceline.sweeps.runner import prepare

OURS = [experiment for experiment in experiments.experiments() if experiment.id.startswith("A")]


def one_packet_us(topology: Topology, src: int, dst: int, switch_delay: str = "0s") -> tuple[float, float]:
    """FCT of one packet with NDP, which adds nothing to its wires: at the receiver, and with the ACK at the sender."""
    flow = Flows(rows=[FlowRow(src=src, dst=dst, bytes="1460B")])
    run = scenario("one", STACKS["ndp"], topology, [flow], buffer="200KB", switch_delay=switch_delay)
    flows = simulate(run, progress="none").flows
    return float(flows["fct_receiver_ps"][0]) / 1e6, float(flows["fct_sender_ps"][0]) / 1e6


def test_base_round_trips_are_those_of_the_paper() -> None:
    # Closed forms: store and forward, 1538 B one way and 84 B back.
    assert one_packet_us(spine_leaf(), 0, 143, "250ns") == pytest.approx((1.858, 3.424), abs=0.001)
    assert one_packet_us(spine_leaf(), 0, 15, "250ns") == pytest.approx((0.896, 1.560), abs=0.001)
    assert one_packet_us(fat_tree(), 0, 191) == pytest.approx((25.74, 50.78), abs=0.01)
    assert one_packet_us(fat_tree(1.0, 0.0), 0, 191)[1] == pytest.approx(12.8, abs=0.1)
    assert one_packet_us(flat_spine_leaf(), 0, 63)[1] == pytest.approx(4.5, abs=0.5)


def test_the_fat_tree_is_three_to_one_oversubscribed_at_its_racks() -> None:
    tree = fat_tree()
    assert isinstance(tree, GraphTopology)
    ends = [(link.a.rstrip("0123456789"), link.b.rstrip("0123456789")) for link in tree.links]
    assert Counter(ends) == {("host", "tor"): 192, ("tor", "agg"): 64, ("agg", "core"): 64}
    at_core = Counter(link.b for link in tree.links if link.b.startswith("core"))
    assert set(at_core.values()) == {8}
    assert {link.delay for link in tree.links if link.a.startswith("host")} == {"5000ns"}
    assert {link.delay_back for link in tree.links if link.a.startswith("host")} == {"4000ns"}


@pytest.mark.parametrize("scale", Scale)
def test_the_engine_takes_every_scenario(scale: Scale) -> None:
    for experiment in OURS:
        points = experiment.plan(scale)
        distinct = {(tuple(sorted(p.key.items())), p.seed) for p in points}
        assert len(distinct) == len(points)
        # Seeds share all but the seed: one of each is enough to check.
        prepare([point for point in points if point.seed == 1])
        if scale is not Scale.TINY and experiment.id in ("A1", "A2", "A3", "A4", "A5"):
            assert len({point.seed for point in points}) >= 3


def test_what_a7_leaves_out_it_says_and_reports(monkeypatch) -> None:
    """Homa + Aeolus that asks again after 40 us loses scheduled packets: its runs were left out without a word."""
    runs = Runs(tuple(Run(point, Path(str(i))) for i, point in enumerate(guarantees.plan_a7(Scale.TINY))))
    assert set(runs.values("scheme")) == {"express_pass_aeolus", "ndp_aeolus", "homa_aeolus"}

    def lossy(run: Run) -> SimpleNamespace:
        forgets = run.point.key["variant"] == "aeolus_rto_40us"
        return SimpleNamespace(scheduled_drops=5 * forgets, unscheduled_drops=1)

    monkeypatch.setattr(guarantees, "facts", lossy)
    monkeypatch.setattr(guarantees, "_idle_ps", lambda run: 0)
    found = {(v.id, v.variant): v for v in guarantees.judge_a7(runs, Scale.TINY)}
    kept = found["A7.homa_aeolus.scheduled_drops", "default"]
    assert (kept.measured, "but for those with repair after 40" in kept.statement) == (0, True)
    assert found["A7.homa_aeolus.scheduled_drops", "aeolus_rto_40us"].measured > 0
    assert "but for" not in found["A7.ndp_aeolus.scheduled_drops", "default"].statement


def test_transmissions_are_accounted_for(tmp_path) -> None:
    """Packets sent are those needed, those lost and those sent needlessly; the shares of table 4 count them."""
    stack = priority_queueing("20us")
    assert isinstance(stack.scheme, ExpressPass)
    eager = replace(stack, scheme=replace(stack.scheme, late_repair="at_once"))
    (point,) = [p for p in timeouts.plan_a2(Scale.TINY) if p.key == {"scheme": "express_pass", "variant": "default"}]
    point = replace(point, scenario=replace(point.scenario, schemes={"scheme": eager.scheme}))
    simulate(point.scenario, tmp_path / "run", progress="none")
    seen = facts(Run(point, tmp_path / "run"))
    assert seen.needed == 20 * 274
    lost = seen.unscheduled_drops + seen.scheduled_drops
    assert seen.sent - seen.delivered <= lost  # control packets may be among the lost
    assert 0 < seen.duplicates < 1 - seen.efficiency
    assert seen.delivered_bytes / seen.delivered == pytest.approx(400_000 / 274, rel=0.01)


@pytest.mark.parametrize("name", oversubscribed.SCHEMES)
def test_losses_are_told_by_place(tmp_path, name: str) -> None:
    """With one spine two hosts of a leaf meet on its uplink, and two at the leaf of their receiver on its link."""
    rows = [FlowRow(src=src, dst=8 + src, bytes="20KB") for src in (0, 1)]
    rows += [FlowRow(src=src, dst=31, bytes="20KB") for src in (24, 25)]
    run = scenario("losses", oversubscribed.SCHEMES[name], flat_spine_leaf(1), [Flows(rows=rows)], buffer="200KB")
    results = simulate(run, out=tmp_path / "run", progress="none")
    seen, counters = oversubscribed.losses(results), results.summary["counters"]
    assert seen.core["unscheduled"] > 0
    assert seen.last["unscheduled"] > 0
    assert seen.core["unscheduled"] + seen.last["unscheduled"] == counters["drops_unscheduled"]
    assert seen.core["scheduled"] == seen.last["scheduled"] == 0
    assert sum(seen.sent.values()) == counters["data_packets"]


@pytest.mark.parametrize(("ratio", "spines"), oversubscribed.SPINES.items())
def test_hosts_have_so_many_times_what_their_uplinks_carry(ratio: int, spines: int) -> None:
    net = flat_spine_leaf(spines)
    assert (net.host_rate, net.hosts_per_leaf) == (net.fabric_rate, ratio * net.spines)


def test_percentiles_of_few_values_are_the_largest() -> None:
    assert analysis.nearest_rank(np.arange(1.0, 33.0), 99) == 32.0
    assert analysis.nearest_rank(np.arange(1.0, 201.0), 99) == 198.0
    assert np.isnan(analysis.nearest_rank(np.empty(0), 99))


def made_up(values: dict[int, float]) -> tuple[Runs, dict[int, float]]:
    point = Point(scenario="", key={})
    return Runs(tuple(Run(replace(point, seed=seed), None) for seed in values)), values  # type: ignore[arg-type]


@pytest.mark.parametrize(("pooled", "seeds"), [(False, 3), (True, 3), (False, 1), (True, 1)])
def test_seeds_become_intervals(pooled: bool, seeds: int) -> None:
    runs, table = made_up({seed: 10.0 + seed for seed in range(1, seeds + 1)})

    def measure(chosen: Runs) -> Values:
        return {("x",): float(np.mean([table[run.point.seed] for run in chosen]))}

    def rule(values: Values) -> list[Claim]:
        return [Claim("x", "x", values["x",], judge.at_least(5)), Claim("free", "x", values["x",])]

    found = verdicts("A0", measure, rule, runs, Scale.QUICK, pooled=pooled)
    assert [v.verdict for v in found] == [Outcome.PASS if seeds == 3 else Outcome.UNDECIDED, Outcome.REPORT]
    assert found[0].measured == pytest.approx(np.mean(list(table.values())))
    drawn = intervals(measure, runs, pooled=pooled)
    assert drawn == ({("x",): found[0].interval} if seeds == 3 else {})  # figures show what verdicts are judged by
    tiny = verdicts("A0", measure, rule, runs, Scale.TINY, pooled=pooled)
    assert tiny[0].verdict is Outcome.NOT_JUDGED


def test_a8_passes_and_a_burst_of_another_length_would_not(tmp_path) -> None:
    (a8,) = experiments.chosen(["A8"])
    (judged,) = reproduce([a8], Scale.TINY, cache=tmp_path, progress=Mode.NONE)
    assert judged.count(Outcome.FAIL) == 0
    assert judged.count(Outcome.PASS) == 5
    assert next(v for v in judged.verdicts if v.id == "A8.burst").measured == 84
    assert next(v for v in judged.verdicts if v.id == "A8.probe").measured == 64


def test_figures_have_a_curve_for_each_scheme() -> None:
    values = {
        ("default", name, n, what): float(n) for name in STACKS for n in incast.FAN_IN for what in ("mean", "p99")
    }
    drawn = list(incast._drawings(values, {}))
    assert [d.name for d in drawn] == ["A3-mean", "A3-p99"]
    for drawing in drawn:
        (ax,) = drawing.figure.axes
        assert len(ax.get_lines()) == len(STACKS)
        assert [float(t) for t in ax.get_xticks()] == list(incast.FAN_IN)
    of_load = {("default", name, load): load for name in STACKS for load in (0.5, 0.9)}
    (figure,) = goodput._drawings(of_load, {}, (0.5, 0.9))
    assert len(figure.figure.axes[0].get_lines()) == len(STACKS) + len(goodput.PUBLISHED)
