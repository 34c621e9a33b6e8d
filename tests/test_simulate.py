"""The Python API: what it takes, returns and leaves behind."""

from __future__ import annotations

import copy
import gc
import pickle
import runpy
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import paceline as pl

TOML = pl.Scenario(
    name="pair",
    topology=pl.Star(hosts=2),
    schemes={"hpcc": pl.Hpcc()},
    workloads=[pl.Flows(rows=[pl.FlowRow(src=0, dst=1, bytes="1MB")])],
).to_toml()


LINK = ("node", "peer", "rate_bps", "delay_ps")


def test_a_star_import_gives_the_classes_of_scenarios():
    """`from paceline import *` left out all that scenarios are made of."""
    names = {}
    exec("from paceline import *", names)
    assert {"Scenario", "Star", "Hpcc", "simulate", "Results"} <= names.keys()
    assert set(pl.__all__) <= set(dir(pl))


def test_a_scenario_its_text_and_its_file_are_the_same(tmp_path):
    path = tmp_path / "pair.toml"
    path.write_text(TOML)
    scenario = pl.Scenario(
        name="pair",
        topology=pl.Star(hosts=2),
        schemes={"hpcc": pl.Hpcc()},
        workloads=[pl.Flows(rows=[pl.FlowRow(src=0, dst=1, bytes="1MB")])],
    )
    runs = [pl.simulate(given, progress="none") for given in (scenario, TOML, path, str(path))]
    assert len({(r.path / "flows.csv").read_bytes() for r in runs}) == 1
    assert len({r.path for r in runs}) == 4


def test_a_scenario_is_written_with_what_was_chosen_only():
    """A run of htsim's files named thirty-three settings without effect, most of which nobody had given."""
    scenario = pl.Scenario(
        topology=pl.Star(hosts=2),
        switch=pl.Switch(pfc=pl.Pfc(enabled=False)),
        schemes={"hpcc": pl.Hpcc(eta=0.9)},
        workloads=[pl.Flows(rows=[pl.FlowRow(src=0, dst=1, bytes="1MB")])],
    )
    text = scenario.to_toml()
    given = ["[topology]", 'kind = "star"', "hosts = 2", "[switch.pfc]", "enabled = false", "[[workloads]]"]
    given += ['kind = "flows"', "[schemes.hpcc]", 'cc = "hpcc"', "eta = 0.9"]
    lines = [line for line in text.splitlines() if line and not line.startswith("rows = ")]
    assert lines == given
    # What is left out is as the engine has it by default.
    run = pl.simulate(scenario, progress="none")
    resolved = (run.path / "scenario.toml").read_text()
    again = pl.simulate(resolved, progress="none")
    assert (again.path / "scenario.toml").read_text() == resolved
    assert (again.path / "flows.csv").read_bytes() == (run.path / "flows.csv").read_bytes()


def test_links_differ_by_direction():
    scenario = pl.Scenario(
        name="directions",
        topology=pl.GraphTopology(
            hosts=["h0", "h1"],
            switches=["s"],
            links=[
                pl.GraphLink(a="h0", b="s", rate="25Gbps", delay="2us", rate_back="100Gbps", delay_back="500ns"),
                pl.GraphLink(a="s", b="h1", rate="25Gbps", delay="2us"),
            ],
        ),
        framing=pl.Framing(preset="hpcc"),
        schemes={"none": pl.NoControl(window="off")},
        workloads=[pl.Flows(rows=[pl.FlowRow(src=0, dst=1, bytes="1KB")])],
    )
    run = pl.simulate(scenario, progress="none")
    links = {(int(n), int(p)): (int(r), int(d)) for n, p, r, d in zip(*(run.links[c] for c in LINK), strict=True)}
    assert links == {
        (0, 2): (25 * 10**9, 2_000_000),
        (2, 0): (100 * 10**9, 500_000),
        (2, 1): (25 * 10**9, 2_000_000),
        (1, 2): (25 * 10**9, 2_000_000),
    }
    # 1048 B at 25 Gb/s twice; an ACK of 60 B at 25 and at 100 Gb/s back.
    there = 2 * 335_360 + 4_000_000
    assert run.flows["fct_receiver_ps"].tolist() == [there]
    assert run.flows["fct_sender_ps"].tolist() == [there + 19_200 + 4_800 + 2_500_000]


def test_input_files_are_relative_to_the_scenario_file(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/flows.csv").write_text("start,src,dst,bytes\n0s,0,1,1000\n")
    rows = next(line for line in TOML.splitlines() if line.startswith("rows = ["))
    text = TOML.replace(rows, 'file = "flows.csv"')
    (tmp_path / "in/s.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert pl.simulate("in/s.toml", progress="none").flows.rows == 1
    with pytest.raises(pl.InputError, match=r"flows\.csv"):
        pl.simulate(text, progress="none")


def test_a_temporary_result_lives_as_long_as_its_object():
    results = pl.simulate(TOML, progress="none")
    folder = results.path
    assert (folder / "flows.csv").exists()
    flows = results.flows
    del results
    gc.collect()
    assert not folder.exists()
    assert flows["size_bytes"].tolist() == [1_000_000]


def test_out_keeps_the_result(tmp_path):
    results = pl.simulate(TOML, tmp_path / "r", seed=5, progress="none")
    assert results.path == tmp_path / "r"
    del results
    gc.collect()
    again = pl.load(tmp_path / "r")
    assert again.summary["seed"] == 5
    assert isinstance(again, pl.Results)


def test_options_reach_the_engine():
    seen = []
    results = pl.simulate(
        TOML,
        overrides=["schemes.hpcc.eta=0.5", "records.series.interval=1us"],
        follow_flows=[np.int64(0)],
        threads=np.int64(3),
        progress=seen.append,
    )
    assert results.summary["schemes"][0]["eta"] == 0.5
    assert "rate_bps" in results.series["kind"]
    assert "--threads 3: this network has 1 part to share out" in results.summary["without_effect"]
    assert seen
    assert all({"sim_ps", "flows_done", "wall_s"} <= set(snapshot) for snapshot in seen)


def test_what_a_progress_function_raises_comes_through():
    def progress(_snapshot):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        pl.simulate(TOML.replace('"1MB"', '"100MB"'), progress=progress)


def test_representations_say_how_the_run_went():
    results = pl.simulate(TOML, progress="none")
    assert "status completed" in repr(results)
    assert "1 finished" in repr(results)
    assert "<table>" in results._repr_html_()
    assert "1 rows of flow_id" in repr(results.flows)


def test_names_are_there_and_only_those():
    assert "LeafSpine" in dir(pl)
    assert pl.LeafSpine().hosts_per_leaf == 8
    with pytest.raises(AttributeError, match="no attribute 'Leafspine'"):
        _ = pl.Leafspine  # type: ignore[attr-defined]
    assert not hasattr(pl, "json"), "a name of the scenario module's own"


def test_the_example_runs(capsys):
    values = runpy.run_path(str(Path(__file__).parents[1] / "examples/quickstart.py"))
    out = capsys.readouterr().out
    assert "HPCC" in out
    assert "fixed window" in out
    queue = [values["queue_bytes"](r).mean() for r in (values["hpcc"], values["fixed"])]
    assert queue[0] < queue[1]


def test_the_example_of_an_own_network_runs(tmp_path, monkeypatch, capsys):
    """It says that the slow spine makes queues, which the fast one alone does not."""
    monkeypatch.chdir(tmp_path)
    values = runpy.run_path(str(Path(__file__).parents[1] / "examples/own_network.py"))
    assert "with the old spine" in capsys.readouterr().out
    p99 = [np.percentile(values[name].slowdown().value, 99) for name in ("old", "without")]
    assert p99[0] > 1.2 * p99[1]


def test_links_fail_by_name():
    scenario = pl.Scenario(
        topology=pl.LeafSpine(leaves=2, spines=2, hosts_per_leaf=2),
        schemes={"none": pl.NoControl()},
        workloads=[pl.AllToAll(sizes="200KB")],
        failures=[
            pl.LinkFailure(link=["tor0", "agg1"], down="10us", up="40us"),
            pl.RandomFailures(count=2, end="30us", repair="5us"),
        ],
        routing=pl.Routing(reroute_after="3us"),
    )
    results = pl.simulate(scenario, progress="none")
    assert results.summary["flows"]["finished"] == 12
    lost = results.summary["counters"]["drops_link_down"]
    assert lost == results.links["drops_link_down"].sum() > 0
    # Which links failed at random is nowhere else on record.
    failures, links = results.summary["failures"], results.links
    assert len(failures) == 3
    assert sorted(f["up_ps"] - f["down_ps"] for f in failures) == [5_000_000, 5_000_000, 30_000_000]
    assert [f["down_ps"] for f in failures] == sorted(f["down_ps"] for f in failures)
    for f in failures:
        there = (links["node"] == f["node"]) & (links["port"] == f["port"])
        assert links["peer"][there].tolist() == [f["peer"]]
        back = (links["node"] == f["peer"]) & (links["port"] == f["peer_port"])
        assert links["peer"][back].tolist() == [f["node"]]
    with pytest.raises(pl.InputError, match=r"failures\.0\.link\.0 = tor2: no such node.*tor0 to tor1"):
        pl.simulate(scenario.to_toml().replace('"tor0"', '"tor2"'), progress="none")


@pytest.mark.parametrize("given", ["seed=2", {"seed": 2}, 2])
def test_overrides_that_are_no_list_are_told_what_one_looks_like(given):
    """Of a dict `--set = seed: is not an assignment` was said, to somebody who had written no command line."""
    with pytest.raises(pl.InputError, match=r'overrides = .*: is no list; allowed: a list such as \["seed=2"\]'):
        pl.simulate(TOML, overrides=given)


def test_results_of_a_temporary_folder_pickle_with_it(tmp_path):
    """Loaded where the first ones were gone, they had flows and no table; so had a group whose run was let go."""
    results = pl.simulate(TOML, progress="none")
    packed, queues = pickle.dumps(results), results.queues.rows
    assert queues
    first = results.path
    copied, group = copy.copy(results), results.of_group("flows")
    del results
    gc.collect()
    assert copied.queues.rows == group.queues.rows == queues, "they keep the folder"
    del copied, group
    gc.collect()
    assert not first.exists()
    loaded = pickle.loads(packed)
    assert loaded.path != first
    assert (loaded.flows.rows, loaded.queues.rows) == (1, queues)
    loaded.read_all()
    again = pickle.loads(pickle.dumps(loaded.of_group("flows")))
    assert (again.group, again.slowdown().value.tolist()) == ("flows", loaded.slowdown().value.tolist())
    second = loaded.path
    del loaded
    gc.collect()
    assert not second.exists(), "nothing is left behind"


def test_results_pickle_with_the_first_releases_of_python_3_11(monkeypatch):
    """With Debian 12's Python, 3.11.2, results did not come back from another process: its tarfile has no filters."""
    whole = tarfile.TarFile.extractall

    def without_filters(self, path=".", members=None, *, numeric_owner=False):
        whole(self, path, members, numeric_owner=numeric_owner)

    packed = pickle.dumps(pl.simulate(TOML, progress="none"))
    monkeypatch.setattr(tarfile.TarFile, "extractall", without_filters)
    assert pickle.loads(packed).flows.rows == 1
    monkeypatch.delattr(tarfile, "data_filter", raising=False)
    assert pickle.loads(packed).flows.rows == 1


def test_results_in_a_folder_pickle_as_its_place(tmp_path, monkeypatch):
    """Also for a process that works elsewhere; where the folder cannot be reached an error says so."""
    monkeypatch.chdir(tmp_path)
    packed = pickle.dumps(pl.simulate(TOML, "out", progress="none"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert pickle.loads(packed).queues.rows
    (tmp_path / "out").rename(tmp_path / "moved")
    with pytest.raises(pl.ResultsError, match="out: no such result folder"):
        pickle.loads(packed)


def test_nodes_of_built_in_networks_have_the_names_that_settings_take():
    """`node_names` was empty, though errors and settings speak of `tor0`."""
    scenario = pl.Scenario(
        topology=pl.FatTree(k=4),
        schemes={"h": pl.Hpcc()},
        workloads=[pl.SynchronousIncast(senders=2, sizes="10KB")],
    )
    results = pl.simulate(scenario, progress="none")
    names, links = results.node_names, results.links
    assert list(names) == list(range(16 + 20))
    assert [names[n] for n in (0, 15, 16)] == ["host0", "host15", "tor0"]
    # The engine is asked: a link that fails is named by the nodes at its ends, and reported by number.
    asked = [k for k, tier in enumerate(links["tier"]) if tier in ("tor->agg", "agg->core")][1::6]
    ends = [(int(links["node"][k]), int(links["peer"][k])) for k in asked]
    failures = [pl.LinkFailure(link=[names[a], names[b]], down="1us", up="2us") for a, b in ends]
    told = pl.simulate(replace(scenario, failures=failures), progress="none").summary["failures"]
    assert sorted(sorted((f["node"], f["peer"])) for f in told) == sorted(map(sorted, ends))
    bare = replace(scenario, records=pl.Records(links=False))
    assert pl.simulate(bare, progress="none").node_names == {}


def test_nodes_of_a_graph_have_the_names_of_the_scenario():
    graph = pl.GraphTopology(
        hosts=["a", "b"], switches=["s"], links=[pl.GraphLink(a="a", b="s"), pl.GraphLink(a="b", b="s")]
    )
    scenario = pl.Scenario(topology=graph, schemes={"h": pl.Hpcc()}, workloads=[pl.Permutation(sizes="10KB")])
    assert pl.simulate(scenario, progress="none").node_names == {0: "a", 1: "b", 2: "s"}


def test_timeouts_that_repeat_what_was_not_lost_are_told():
    """PFC held flows for longer than `host.rto`, and all that was said of it were packets sent again."""
    scenario = pl.Scenario(
        name="impatient",
        topology=pl.Star(hosts=9, host_rate="10Gbps"),
        switch=pl.Switch(buffer="1MB", pfc=pl.Pfc(headroom="auto")),
        host=pl.Host(rto="20us"),
        schemes={"none": pl.NoControl(window="off")},
        workloads=[pl.SynchronousIncast(senders=8, sizes="500KB", receiver=8, random_senders=False)],
    )
    summary = pl.simulate(scenario, progress="none").summary
    (told,) = (text for text in summary["warnings"] if "nothing was lost" in text)
    assert told.startswith(f"{summary['counters']['timeouts']} timeouts had packets sent again")
    assert told.endswith("longer than host.rto, 20us")
    patient = replace(scenario, host=pl.Host())
    assert not pl.simulate(patient, progress="none").summary["warnings"]


def test_what_selective_dropping_takes_is_no_fault_of_pfc():
    """A run that dropped unscheduled packets, as it was told to, said that its class under PFC was not lossless."""
    scenario = pl.Scenario(
        name="dropping",
        topology=pl.Star(hosts=4),
        routing=pl.Routing(choice="spray"),
        switch=pl.Switch(buffer="2MB", pfc=pl.Pfc(headroom="auto"), selective_drop=pl.SelectiveDrop(enabled=True)),
        schemes={"ndp": pl.Ndp(first_rtt="aeolus")},
        workloads=[pl.SynchronousIncast(senders=3, sizes="100KB")],
    )
    summary = pl.simulate(scenario, progress="none").summary
    counters = summary["counters"]
    assert counters["drops_unscheduled"] == counters["drops_buffer"] > 0, "not the case it is meant to be"
    assert counters["lossless_drops"] == 0
    assert not any("lossless" in text for text in summary["warnings"])
