"""Files of htsim become scenarios: the same hosts, links and flows, and NDP that takes as long as there."""

from __future__ import annotations

import csv
import json
import random
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline import _native
from paceline.htsim import matrix, tree
from paceline.htsim.convert import Options, convert, scenario
from paceline.run import check, simulate
from paceline.scenario import FatTree, FlowRow, Flows, GraphTopology, LeafSpine, NoControl, Routing, Switch
from test_proactive_reference import PERMUTATION

FAT_TREE = """# fat tree of 128 hosts
Nodes 128
Tiers 3
Podsize 16

Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 4
Downlink_Latency_ns 1000

Tier 1
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 4
Downlink_Latency_ns 1000
Bundle 1

Tier 2
Downlink_speed_Gbps 100
Radix_Down 8
Downlink_Latency_ns 1000
Bundle 1
"""
LEAF_SPINE = """Nodes 32
Tiers 2
Podsize 32
Tier 0
Downlink_speed_Gbps 100
Radix_Down 8
Radix_Up 4
Downlink_Latency_ns 500
Switch_Latency_ns 250
Tier 1
Downlink_speed_Gbps 200
Radix_Down 8
Bundle 2
Downlink_Latency_ns 500
Switch_Latency_ns 250
"""
# 24 hosts, 3 pods of 2 x 2 switches and 4 cores with two links each; everything differs by tier.
UNEVEN = """Nodes 24
Tiers 3
Podsize 8
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 100
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 2000
Switch_Latency_ns 200
Tier 2
Downlink_speed_Gbps 100
Radix_Down 6
Bundle 2
Downlink_Latency_ns 3000
Switch_Latency_ns 300
"""
PAIR = "Nodes 16\nConnections 2\n0->15 id 1 start 0 size 2000000\n3->4 id 2 start 1.5e6 size 1\n"


def permutation() -> str:
    lines = [f"{src}->{dst} id {src + 1} start 0 size 2000000" for src, dst in enumerate(PERMUTATION)]
    return "\n".join(["Nodes 128", "Connections 128", *lines]) + "\n"


@pytest.mark.parametrize("topology", [None, FAT_TREE], ids=["by itself", "from a file"])
def test_the_reference_permutation_takes_as_long_as_in_htsim(paceline, topology: str | None) -> None:
    Path("perm.cm").write_text(permutation())
    more = ["--out", "perm.toml"]
    if topology:
        Path("tree.topo").write_text(topology)
        more += ["--topo", "tree.topo"]
    outcome = paceline("htsim", "perm.cm", *more)
    assert (outcome.code, outcome.err) == (0, "")
    assert "paceline run perm.toml" in outcome.out
    fct = simulate("perm.toml", progress="none").flows["fct_sender_ps"] / 1e6
    assert len(fct) == 128
    assert fct.mean() == pytest.approx(195.923, rel=0.05)
    assert fct.max() == pytest.approx(206.981, rel=0.05)


def test_a_roce_flow_takes_as_long_as_in_htsim() -> None:
    """What the docs say to change for RoCE: 2 MB over six links of 100 Gb/s took 176.216 us there, to six digits."""
    made = scenario("roce", FatTree(k=8), "0s", "", Options(mtu=4000))
    flow = Flows(rows=[FlowRow(src=0, dst=127, bytes="2MB")])
    roce = replace(
        made, switch=Switch(), routing=Routing(), schemes={"roce": NoControl(window="off")}, workloads=[flow]
    )
    fct = simulate(roce, progress="none").flows["fct_sender_ps"]
    assert round(float(fct[0]) / 1e6, 3) == 176.216


def test_flows_are_those_of_the_matrix(paceline) -> None:
    Path("pair.cm").write_text(PAIR.replace("Connections 2", "# two flows\n\nConnections 2"))
    assert paceline("htsim", "pair.cm").code == 0
    with Path("pair-flows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows[1] == {"start": "1500000ps", "src": "3", "dst": "4", "bytes": "1B"}
    flows = simulate("pair.toml", progress="none").flows
    assert flows["size_bytes"].tolist() == [2_000_000, 1]
    assert flows["start_ps"].tolist() == [0, 1_500_000]


def test_nothing_is_replaced_unasked(paceline) -> None:
    Path("pair.cm").write_text(PAIR)
    assert paceline("htsim", "pair.cm").code == 0
    again = paceline("htsim", "pair.cm")
    assert again.code == 2
    assert "--out = pair.toml: is there already" in again.err
    assert "--force" in again.err
    assert paceline("htsim", "pair.cm", "--mtu", "1500", "--force").code == 0
    assert 'payload = "1500B"' in Path("pair.toml").read_text()


def read(text: str) -> tree.Tree:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.topo"
        path.write_text(text)
        return tree.read(path)


def test_trees_that_scenarios_know_are_named() -> None:
    fat = read(FAT_TREE).regular()
    assert isinstance(fat, FatTree)
    assert (fat.k, fat.hosts_per_edge, fat.link_delay) == (8, 4, "1000ns")
    spine = read(LEAF_SPINE)
    net = spine.regular()
    assert isinstance(net, LeafSpine)
    assert (net.leaves, net.spines, net.hosts_per_leaf, net.links_per_pair) == (4, 2, 8, 2)
    assert spine.switch_delay_ns == 250


def test_other_trees_are_written_link_by_link() -> None:
    net = read(UNEVEN).graph()
    assert isinstance(net, GraphTopology)
    assert (len(net.hosts), len(net.switches)) == (24, 6 + 6 + 4)
    kinds = Counter((link.a.rstrip("0123456789"), link.b.rstrip("0123456789")) for link in net.links)
    assert kinds == {("host", "tor"): 24, ("tor", "agg"): 12, ("agg", "core"): 24}
    # Two links to each of its cores, and a core to one aggregation switch of every pod.
    at_core = Counter((link.a, link.b) for link in net.links if link.b.startswith("core"))
    assert set(at_core.values()) == {2}
    assert {a for a, b in at_core if b == "core1"} == {"agg1", "agg3", "agg5"}


def test_a_packet_takes_the_sum_of_its_tiers(tmp_path: Path) -> None:
    """Store and forward of one packet of 9064 bytes over six links, with the time through five switches."""
    (tmp_path / "net.topo").write_text(UNEVEN)
    (tmp_path / "one.cm").write_text("Nodes 24\nConnections 1\n0->23 start 0 size 9000\n")
    made = convert(tmp_path / "one.cm", tmp_path / "net.topo", tmp_path / "one.toml")
    got = simulate(made.scenario, progress="none").flows["fct_receiver_ps"][0]
    frame_ps = 9064 * 80
    wires = 4 * frame_ps + 2 * frame_ps // 2 + 2 * (1000 + 2000 + 3000) * 1000
    assert got == wires + (2 * 100 + 2 * 200 + 300) * 1000


CM, TOPO = ("--out", "s.toml"), ("--topo", "net.topo", "--out", "s.toml")
MANGLED_TOPOLOGIES = [
    ("Radix_Down 8", "Radix_Down 7", "Radix_Down", 21),
    ("Radix_Down 8", "Radix_Down eight", "Radix_Down", 21),
    ("Tiers 3", "Tiers 4", "Tiers", 3),
    ("Podsize 16", "Podsize 17", "Podsize", 4),
    ("Podsize 16\n", "", "Podsize", 22),
    ("Bundle 1", "Bundel 1", "Bundel", 17),
    ("Bundle 1", "Queue_Up 100", "Queue_Up", 17),
    ("Bundle 1", "Radix_Up 4", "Radix_Up", 17),
    ("Radix_Up 4\n", "", "Radix_Up", 6),
    ("Tier 2", "Tier 1", "Tier", 19),
    ("Downlink_speed_Gbps 100", "Downlink_speed_Gbps 50", "Oversubscribed", 6),
    ("Nodes 128", "Nodes 1e99999999", "Nodes", 2),
]


@pytest.mark.parametrize(("old", "new", "field", "at"), MANGLED_TOPOLOGIES)
def test_a_topology_that_does_not_fit_is_refused(paceline, old: str, new: str, field: str, at: int) -> None:
    Path("perm.cm").write_text(permutation())
    Path("net.topo").write_text(FAT_TREE.replace(old, new, 1))
    outcome = paceline("--json-errors", "htsim", "perm.cm", *TOPO)
    parts = json.loads(outcome.err)
    assert (outcome.code, parts["file"], parts["field"], parts["line"]) == (2, "net.topo", field, at)
    assert parts["allowed"]
    assert sorted(p.name for p in Path().iterdir()) == ["net.topo", "perm.cm"]


@pytest.mark.parametrize("text", [PAIR, permutation()], ids=["pair", "permutation"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_mangled_files_are_read_or_refused(text: str, data: st.DataObject) -> None:
    """Whatever becomes of the two files: a scenario that can be run, or an error with its place and nothing written."""
    draw = random.Random(data.draw(st.integers(0, 2**32)))
    files = {"m.cm": text, "m.topo": data.draw(st.sampled_from([FAT_TREE, LEAF_SPINE, UNEVEN]))}
    words = [
        "0",
        "1",
        "-1",
        "1e30",
        "nan",
        "trigger",
        "start",
        "->",
        "0->1",
        "Tier 2",
        "Nodes 16",
        "\x00",
        "\n",
        " ",
        "é",
    ]
    for name in files:
        for _ in range(draw.randrange(3)):
            body = files[name]
            at = draw.randrange(len(body) + 1)
            end = min(len(body), at + draw.choice([0, 1, 5, 40]))
            files[name] = body[:at] + draw.choice([*words, body[at : at + 30], ""]) + body[end:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, body in files.items():
            (folder / file).write_bytes(body.encode())
        topology = folder / "m.topo" if data.draw(st.booleans()) else None
        error = None
        try:
            made = convert(folder / "m.cm", topology, folder / "out.toml")
        except _native.InputError as caught:
            error = caught
        if error is None:
            check(made.scenario)
            return
        assert error.file in {str(folder / "m.cm"), str(folder / "m.topo")}
        assert error.line
        assert error.allowed
        assert {path.name for path in folder.iterdir()} == set(files)


@given(raw=st.binary(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_refused_or_read(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "x"
        path.write_bytes(raw)
        with suppress(_native.InputError):
            list(matrix.Matrix(path))
        with suppress(_native.InputError):
            tree.read(path)


def test_a_byte_order_mark_is_no_word(tmp_path: Path) -> None:
    """Editors of Windows put one in; every other kind of input was read with it."""
    (tmp_path / "c.cm").write_bytes(b"\xef\xbb\xbfNodes 16\r\nConnections 1\r\n0->1 start 0 size 1\r\n")
    assert matrix.Matrix(tmp_path / "c.cm").nodes == 16


def test_a_file_of_one_endless_line_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "long.cm"
    with path.open("wb") as file:
        file.truncate(2**34)  # zeros that take no room on the disk
    with pytest.raises(_native.InputError, match="too long"):
        matrix.Matrix(path)


def test_sizes_of_a_large_matrix_arrive(tmp_path: Path) -> None:
    count = 20_000
    lines = [f"{i % 16}->{(i + 1) % 16} start {i} size {i + 1}" for i in range(count)]
    (tmp_path / "many.cm").write_text("\n".join(["Nodes 16", f"Connections {count}", *lines]))
    made = convert(tmp_path / "many.cm", None, tmp_path / "many.toml")
    found = np.loadtxt(made.flows, delimiter=",", skiprows=1, usecols=(1, 2), dtype=int)
    assert found.shape == (count, 2)
    assert check(made.scenario)["flows"] == count


def topology(nodes: int, podsize: int, *tiers: tuple[int, int, int]) -> str:
    """Tiers of links down, links up and latency in ns, at 100 Gb/s."""
    text = f"Nodes {nodes}\nTiers {len(tiers)}\nPodsize {podsize}\n"
    for i, (down, up, latency) in enumerate(tiers):
        text += f"Tier {i}\nDownlink_speed_Gbps 100\nRadix_Down {down}\nDownlink_Latency_ns {latency}\n"
        text += f"Radix_Up {up}\n" if up else ""
    return text


def test_a_leaf_spine_beyond_those_of_scenarios_is_written_link_by_link(tmp_path: Path) -> None:
    """It was written as one, which `paceline run` then refused."""
    (tmp_path / "t.topo").write_text(topology(10_000, 10_000, (2, 2, 500), (5000, 0, 500)))
    assert tree.read(tmp_path / "t.topo").regular() is None
    (tmp_path / "t.topo").write_text(topology(8192, 8192, (2, 2, 500), (4096, 0, 500)))
    assert isinstance(tree.read(tmp_path / "t.topo").regular(), LeafSpine)


def test_what_no_scenario_holds_is_refused_before_it_is_written(paceline) -> None:
    """A scenario too long to be read was written, and flows of more packets than there are numbers for."""
    Path("c.cm").write_text("Nodes 65536\nConnections 1\n0->1 start 0 size 1000\n")
    Path("t.topo").write_text(topology(65_536, 256, (16, 16, 500), (16, 16, 1000), (256, 0, 1000)))
    outcome = paceline("htsim", "c.cm", "--topo", "t.topo")
    assert outcome.code == 2
    assert "c.cm:1: Nodes = 65536: the network has to be written link by link, and is too long" in outcome.err
    Path("c.cm").write_text(f"Nodes 16\nConnections 1\n0->1 start 0 size {64 * (2**32 - 1) + 1}\n")
    outcome = paceline("htsim", "c.cm", "--mtu", "64")
    assert outcome.code == 2
    assert f"c.cm:3: size = {64 * (2**32 - 1) + 1}: out of range" in outcome.err
    assert {path.name for path in Path().iterdir()} == {"c.cm", "t.topo"}


def test_too_many_links_are_refused_before_they_are_made(paceline, monkeypatch) -> None:
    """A few lines of a file took half a gigabyte, and were refused then."""
    monkeypatch.setattr(tree.Tree, "graph", lambda _: pytest.fail("links are made"))
    Path("c.cm").write_text("Nodes 32768\nConnections 1\n0->1 start 0 size 1000\n")
    slow = topology(32_768, 256, (16, 160, 500), (16, 16, 1000), (128, 0, 1000)).split("Tier 1")
    Path("t.topo").write_text("Tier 1".join([slow[0], slow[1].replace("Gbps 100", "Gbps 10")]))
    outcome = paceline("htsim", "c.cm", "--topo", "t.topo")
    assert outcome.code == 2
    assert "c.cm:1: Nodes = 32768: the network has to be written link by link, and is too long" in outcome.err
