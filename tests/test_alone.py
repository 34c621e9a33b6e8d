"""The baseline of flows simulated alone: through the API, the report and the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import paceline as pl
from paceline.cli import main
from paceline.errors import ResultsError
from paceline.results import Results, alone

SCENARIO = pl.Scenario(
    name="busy",
    topology=pl.LeafSpine(leaves=2, hosts_per_leaf=4, spines=1),
    schemes={"hpcc": pl.Hpcc()},
    workloads=[pl.Poisson(duration="2ms", sizes="websearch", load=pl.Load(value=0.5))],
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return pl.simulate(SCENARIO, tmp_path_factory.mktemp("alone") / "busy", progress="none")


def test_slowdowns_are_against_the_flow_alone(run: Results) -> None:
    line, own = run.slowdown("line_rate"), run.slowdown("alone")
    times = np.fromfile(run.path / alone.FILE, alone.ENTRY, offset=64)
    for side in ("sender", "receiver"):
        expected = run.flows[f"fct_{side}_ps"] / times[f"fct_{side}_ps"]
        assert run.slowdown("alone", side).value.tolist() == expected.tolist()
    # HPCC leaves 5 % of the rate free and pays for telemetry, with or without others.
    assert np.all(own.value <= line.value)
    assert np.all(own.value > 0.99)
    assert own.value[run.flows["size_bytes"] > 1_000_000].mean() < 0.97 * line.value[line.size_bytes > 1_000_000].mean()


def test_it_is_simulated_once_and_goes_with_the_run(run: Results) -> None:
    run.slowdown("alone")
    file = run.path / alone.FILE
    written = file.stat().st_mtime_ns
    run.slowdown("alone")
    assert file.stat().st_mtime_ns == written
    file.write_bytes(file.read_bytes()[:-16])
    with pytest.raises(ResultsError, match=r"alone\.bin: does not hold .* delete it"):
        run.slowdown("alone")
    again = pl.simulate(SCENARIO, run.path, progress="none")
    assert not file.exists(), "the times of another run"
    again.slowdown("alone")


def test_the_report_takes_it(run: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run.path), "--out", str(tmp_path), "--baseline", "alone", "--threads", "2"]) == 0
    assert "Slowdown by flow size" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text()
    assert "divided by the FCT of the same flow simulated alone, same stack and path" in page


def test_a_run_that_has_not_ended_is_refused(run: Results, tmp_path: Path) -> None:
    for name in ("scenario.toml", "flows.bin"):
        (tmp_path / name).write_bytes((run.path / name).read_bytes())
    summary = (run.path / "summary.json").read_text()
    (tmp_path / "summary.json").write_text(summary.replace('"status": "completed"', '"status": "running"'))
    with pytest.raises(pl.InputError, match=r"summary\.json: status = running: the run has not ended"):
        Results.load(tmp_path).slowdown("alone")
    assert not (tmp_path / alone.FILE).exists()


def test_a_program_that_shares_its_group_is_refused(tmp_path: Path) -> None:
    """Its messages cannot be told from the other flows, which would get its class and rate."""
    program = pl.Is(group="g", hosts="all", connections="new", problem_class="S")
    both = replace(SCENARIO, workloads=[program, pl.Permutation(group="g", sizes="20KB")])
    results = pl.simulate(both, tmp_path / "both", progress="none")
    with pytest.raises(pl.InputError, match=r"workloads\[1\]\.group = g: a program whose messages are flows shares"):
        results.slowdown("alone")


def test_credits_go_the_way_their_data_come(tmp_path: Path) -> None:
    """As in the run, which sends them along the same links back: alone they went by another spine, here a slow one."""
    links = [{"a": f"h{i}", "b": f"t{i // 4}", "delay": "1us"} for i in range(8)]
    links += [{"a": f"t{t}", "b": f"s{s}", "delay": delay} for t in (0, 1) for s, delay in ((0, "1us"), (1, "9us"))]
    scenario = pl.Scenario(
        name="ways",
        topology=pl.GraphTopology(
            hosts=[f"h{i}" for i in range(8)],
            switches=["t0", "t1", "s0", "s1"],
            links=[pl.GraphLink(**link) for link in links],
        ),
        switch=pl.Switch(pfc=pl.Pfc(enabled=False)),
        schemes={"x": pl.ExpressPass()},
        workloads=[pl.Flows(rows=[pl.FlowRow(src=i, dst=7 - i, bytes="20KB", start=f"{i * 10}ms") for i in range(8)])],
    )
    run = pl.simulate(scenario, tmp_path / "ways", progress="none")
    own = run.slowdown("alone").value
    assert np.all((own > 0.8) & (own < 1.25)), own
