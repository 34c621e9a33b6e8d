"""Mistakes people make, with what they must be told; see test_bad_input.py."""

from __future__ import annotations

from dataclasses import dataclass, field

HEAD = '[topology]\nkind = "star"\nhosts = 4\n[schemes.h]\ncc = "hpcc"\n'
ONE_FLOW = '[[workloads]]\nkind = "flows"\nrows = [{src = 0, dst = 1, bytes = "1KB"}]\n'
GOOD = HEAD + ONE_FLOW
FROM_FILE = '[topology]\nkind = "file"\nfile = "net.txt"\n[schemes.h]\ncc = "hpcc"\n' + ONE_FLOW
TABLE = HEAD + '[[workloads]]\nkind = "flows"\nfile = "flows.csv"\n'
SIZES = HEAD + '[[workloads]]\nkind = "poisson"\nduration = "1ms"\nsizes = {file = "sizes.txt"}\n'
NET = "5 1 4\n4\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 4 100Gbps 1us 0\n3 4 100Gbps 1us 0\n"
GRAPH = (
    "[topology]\nkind = 'graph'\nhosts = ['a', 'b']\nswitches = ['s']\n"
    "links = [{a = 'a', b = 's'}, {a = 'b', b = 's'}]\n[schemes.h]\ncc = 'hpcc'\n"
) + ONE_FLOW
CONFIG = """ENABLE_QCN 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE net.txt
FLOW_FILE flow.txt
TRACE_FILE trace.txt
TRACE_OUTPUT_FILE mix.tr
FCT_OUTPUT_FILE out/fct.txt
PFC_OUTPUT_FILE out/pfc.txt
QLEN_MON_FILE out/qlen.txt
SIMULATOR_STOP_TIME 2.10
CC_MODE 3
RATE_AI 50Mb/s
RATE_HAI 50Mb/s
L2_ACK_INTERVAL 1
MULTI_RATE 0
SAMPLE_FEEDBACK 0
HAS_WIN 1
VAR_WIN 1
FAST_REACT 1
GLOBAL_T 1
INT_MULTI 1
U_TARGET 0.95
KMAX_MAP 1 100000000000 1600
KMIN_MAP 1 100000000000 400
PMAX_MAP 1 100000000000 0.20
BUFFER_SIZE 32
"""
FLOW = "1\n0 1 3 100 1000 2.0\n"
FAR = (
    "[topology]\nkind = 'graph'\nhosts = ['a', 'b']\nswitches = ['s']\n"
    "links = [{a = 'a', b = 's', delay = '1us'}, {a = 'b', b = 's', delay = '10ms'}]\n"
    "[switch.pfc]\nenabled = false\n[schemes.h]\ncc = 'hpcc'\n[run]\nengine = 'windowed'\n"
) + ONE_FLOW


HEADER = "id,scale,verdict,measured\nH1.a,tiny,pass,1\n"
RECORDED = ("reproduce", "H1", "--scale", "tiny", "--verdicts", "v.csv", "--out", "out")


@dataclass(frozen=True)
class Case:
    """One mistake: files, command, and parts of the error; a part named here must be there and hold the text."""

    name: str
    files: dict[str, str | bytes]
    command: tuple[str, ...]
    told: dict[str, str | int] = field(default_factory=dict)


def toml(name: str, text: str, **told: str | int) -> Case:
    """A mistake in a scenario file."""
    return Case(name, {"s.toml": text}, ("run", "s.toml", "--out", "out"), {"file": "s.toml", **told})


def net(name: str, text: str, **told: str | int) -> Case:
    """A mistake in a topology file."""
    command = ("run", "s.toml", "--out", "out")
    return Case(name, {"s.toml": FROM_FILE, "net.txt": text}, command, {"file": "net.txt", **told})


def table(name: str, text: str | bytes, **told: str | int) -> Case:
    """A mistake in a flow table."""
    command = ("run", "s.toml", "--out", "out")
    return Case(name, {"s.toml": TABLE, "flows.csv": text}, command, {"file": "flows.csv", **told})


def sizes(name: str, text: str, **told: str | int) -> Case:
    """A mistake in a file of flow sizes."""
    command = ("run", "s.toml", "--out", "out")
    return Case(name, {"s.toml": SIZES, "sizes.txt": text}, command, {"file": "sizes.txt", **told})


def config(name: str, change: dict[str, str], *, net: str = NET, flow: str = FLOW, **told: str | int) -> Case:
    """A mistake in a configuration of the HPCC simulator or in a file it names: lines of CONFIG by key, replaced."""
    lines = [change.get(line.split()[0], line) for line in CONFIG.splitlines()]
    lines += [change[key] for key in change if f"{key} " not in CONFIG]
    text = "\n".join(line for line in lines if line) + "\n"
    files = {"config.txt": text, "net.txt": net, "flow.txt": flow, "trace.txt": "0\n"}
    return Case(name, files, ("hpcc", "config.txt"), {"file": "config.txt", **told})


def matrix(name: str, text: str, **told: str | int) -> Case:
    """A mistake in a connection matrix of htsim, whose header is complete."""
    files: dict[str, str | bytes] = {"conn.cm": f"Nodes 16\nConnections 1\n{text}\n"}
    return Case(name, files, ("htsim", "conn.cm", "--out", "out/s.toml"), {"file": "conn.cm", "line": 3, **told})


def line(name: str, command: str, **told: str | int) -> Case:
    """A mistake on the command line."""
    return Case(name, {"s.toml": GOOD}, tuple(command.split()), told)


TOO_FAR = {
    "file": "s.toml",
    "line": 11,
    "field": "run.engine",
    "value": '"windowed"',
    "problem": "longest 10ms, lookahead 1us",
}

CASES = [
    toml(
        "unknown key",
        GOOD + "[switch.ecn]\nk_maxx = '1MB'\n",
        line=10,
        field="switch.ecn.k_maxx",
        value='"1MB"',
        allowed="at, by_rate, enabled, k_max",
    ),
    *(
        Case(f"an engine that cannot, {verb}", {"s.toml": FAR}, (verb, "s.toml"), TOO_FAR)
        for verb in ("run", "check")  # one told what the other refused
    ),
    *(
        toml(
            f"{what} of more packets than can be numbered",
            f"framing.payload = '117B'\n{HEAD}[[workloads]]\n{text}\n",
            field=f"workloads.0.{name}",
            value="1099511627776",
            allowed="at most 502511173515 B, 2^32 packets less one; or a larger framing.payload",
        )
        for what, name, text in (
            ("flows", "sizes", "kind = 'permutation'\nsizes = '1TiB'"),
            ("a listed flow", "rows.0.bytes", "kind = 'flows'\nrows = [{src = 0, dst = 1, bytes = '1TiB'}]"),
            ("responses", "response", "kind = 'scatter_gather'\ninterval = '1ms'\nmax_queries = 1\nresponse = '1TiB'"),
        )
    ),
    toml(
        "responses beyond the numbers of a connection",
        "framing.payload = '500B'\n"
        + HEAD
        + "[[workloads]]\nkind = 'rpc'\nclients = [0]\nservers = [1]\nsizes = '1KB'\nresponse = '1TiB'\nend = '1ms'\n",
        field="workloads.0.outstanding",
        problem="too many packets on one connection over RDMA",
    ),
    table(
        "a flow of a table, likewise",
        "start,src,dst,bytes\n1us,0,1,1KB\n2us,0,1,99999999999999\n",
        line=3,
        field="bytes",
        value="99999999999999",
        allowed="at most 4294967295000 B",
    ),
    toml("not TOML", GOOD + "seed = = 1\n", line=9, allowed="TOML 1.0"),
    toml("range", "seed = -1\n" + GOOD, line=1, field="seed", value="-1", allowed="a whole number, 0 to"),
    toml(
        "unit",
        GOOD + "[switch]\nbuffer = '3 parsecs'\n",
        line=10,
        field="switch.buffer",
        value='"3 parsecs"',
        allowed='a size such as "32MiB" (B, KB',
    ),
    toml(
        "number without unit",
        GOOD + "[switch]\nbuffer = 1000\n",
        line=10,
        field="switch.buffer",
        value="1000",
        allowed='a size such as "32MiB" (B, KB',
    ),
    toml(
        "no such host",
        HEAD + ONE_FLOW.replace("dst = 1", "dst = 9"),
        line=8,
        field="workloads.0.rows.0.dst",
        value="9",
        allowed="node ids of hosts, 0 to 3",
    ),
    toml("missing part", HEAD, line=1, field="workloads", allowed="at least one section"),
    toml(
        "no such distribution",
        HEAD + "[[workloads]]\nkind = 'poisson'\nduration = '1ms'\nsizes = 'websarch@hpcc'\n",
        line=9,
        field="workloads.0.sizes",
        value="websarch@hpcc",
        allowed="`websearch@hpcc` is the nearest",
    ),
    toml("no such file", TABLE, line=8, field="workloads.0.file", value="flows.csv", allowed="a readable file"),
    toml(
        "no such port",
        GOOD + "[records.series]\nports = ['4:9']\n",
        line=10,
        field="records.series.ports.0",
        value="4:9",
        allowed="port numbers 0 to 3, or a link to a neighbour",
    ),
    toml(
        "arrivals without end",
        HEAD + "[[workloads]]\nkind = 'poisson'\n",
        line=6,
        field="workloads.0.end",
        allowed="one of end, duration, max_flows",
    ),
    toml(
        "unconnected graph",
        GRAPH.replace(", {a = 'b', b = 's'}", ""),
        line=1,
        field="topology",
        value="0",
        allowed="1 to 256",
    ),
    toml(
        "windows without a lookahead",
        GOOD.replace("hosts = 4", "hosts = 4\nlink_delay = '1s'") + "[run]\nengine = 'windowed'\n",
        line=11,
        field="run.engine",
        value='"windowed"',
        problem="needs a lookahead",
        allowed='engine = "sequential"',
    ),
    toml(
        "windows longer than a timeout",
        GOOD.replace("hosts = 4", "hosts = 4\nlink_delay = '3us'")
        + "[run]\nengine = 'windowed'\n[host]\nrto = '1us'\n",
        line=13,
        field="host.rto",
        value="1us",
        problem="no shorter than the lookahead",
        allowed='engine = "sequential"',
    ),
    toml(
        "odd k",
        GOOD.replace('"star"\nhosts = 4', '"fat_tree"\nk = 5'),
        line=3,
        field="topology.k",
        value="5",
        allowed="an even whole number, 2 to 128",
    ),
    toml(
        "strict",
        GOOD.replace("hpcc", "dcqcn") + "[run]\nstrict = true\n[switch]\nbuffer = '1MiB'\n",
        field="run.strict",
        value="true",
        allowed="a scenario without warnings",
    ),
    # They named neither file nor line, or a field that nothing has.
    toml(
        "network of a known shape",
        "[topology]\nkind = 'xgft'\nchildren = [2]\nparents = [65535]\n[schemes.s]\ncc = 'hpcc'\n"
        "[[workloads]]\nkind = 'permutation'\nsizes = '1KB'\n",
        line=1,
        field="links of host 0",
        value="65535",
        allowed="1 to 256",
    ),
    toml(
        "smallest frame of ExpressPass",
        "[topology]\nkind = 'star'\n[framing]\npayload = '999B'\nmin_frame = '1500B'\n[switch]\nmodel = 'per_port'\n"
        "pfc = { enabled = false }\n[schemes.s]\ncc = 'express_pass'\n"
        "[[workloads]]\nkind = 'permutation'\nsizes = '1KB'\n",
        line=5,
        field="framing.min_frame",
        value="1500B",
        allowed="0 to 1047 B",
    ),
    net("empty", "", line=1, allowed="a header line with the counts"),
    net("header", "5 1\n", line=1, field="header", value="5 1", allowed="3 numbers `nodes switches links`"),
    net(
        "no such node",
        NET.replace("3 4 100", "3 7 100"),
        line=6,
        field="link.b",
        value="7",
        allowed="a whole number from 0 to 4 (the",
    ),
    net(
        "rate",
        NET.replace("3 4 100Gbps", "3 4 100Gpbs"),
        line=6,
        field="link.rate",
        value="100Gpbs",
        allowed="a number and a unit of bps, Kbps",
    ),
    net(
        "delay",
        NET.replace("0 4 100Gbps 1us", "0 4 100Gbps 1parsec"),
        line=3,
        field="link.delay",
        value="1parsec",
        allowed="a number and a unit of ps, ns",
    ),
    net(
        "error rate",
        NET.replace("2 4 100Gbps 1us 0", "2 4 100Gbps 1us 1.5"),
        line=5,
        field="link.error_rate",
        value="1.5",
        allowed="a probability from 0 to 1",
    ),
    net("loop", NET.replace("2 4", "4 4"), line=5, field="link.b", value="4", allowed="another node"),
    net(
        "short row",
        NET.replace("2 4 100Gbps 1us 0", "2 4 100Gbps"),
        line=5,
        field="link",
        value="2 4 100Gbps",
        allowed="5 words `a b rate delay",
    ),
    net(
        "unreachable",
        NET.replace("5 1 4\n4", "6 2 4\n4 5").replace("2 4", "2 5").replace("3 4", "3 5"),
        field="hosts 0 and 2",
        allowed="networks in which all hosts can",
    ),
    table(
        "column", "start,src,dst,bites\n0s,0,1,1\n", line=1, value="bites", allowed="start, start_ps, src, dst, bytes"
    ),
    table(
        "missing column", "start,src,dst\n0s,0,1\n", line=1, field="bytes", allowed="start, src, dst and bytes at least"
    ),
    table(
        "no such host",
        "start,src,dst,bytes\n0s,0,1,1\n1us,0,44,1\n",
        line=3,
        field="dst",
        value="44",
        allowed="the id or name of a host; the nodes are 0",
    ),
    table("to itself", "start,src,dst,bytes\n0s,1,1,1\n", line=2, field="dst", value="1", allowed="another host"),
    table(
        "size",
        "start,src,dst,bytes\n0s,0,1,-5\n",
        line=2,
        field="bytes",
        value="-5",
        allowed="1 or more, or with a unit: 500KB",
    ),
    table("scheme", "start,src,dst,bytes,scheme\n0s,0,1,5,hpc\n", line=2, field="scheme", value="hpc", allowed="h"),
    table("cells", "start,src,dst,bytes\n0s,0,1\n", line=2, value="3", allowed="4, one per column"),
    table("no flows", "start,src,dst,bytes\n", allowed="a header line and at least one"),
    table("not text", b"start,src,dst,bytes\n0s,0,1,\xff\n", line=2, value="byte 0xff", allowed="UTF-8"),
    Case(
        "a huge configuration",
        {"config.txt": "BUFFER_SIZE 32\n" * 80_000},
        ("hpcc", "config.txt"),
        {"field": "config", "value": "config.txt", "problem": "more than 1048576 B"},
    ),
    Case(
        "too many points",
        {"s.toml": SIZES, "sizes.txt": "100 0\n" * 200_000},
        ("run", "s.toml", "--out", "out"),
        {"field": "workloads.0.sizes", "problem": "more than 1000000 B"},
    ),
    *(
        Case(f"verdicts, {name}", {"v.csv": HEADER + text}, RECORDED, {"file": "v.csv", "line": 3, "problem": problem})
        for name, text, problem in (
            ("a long cell", '"' + "x" * 200_000 + '",tiny,pass,1\n', "not CSV: field larger"),
            ("twice", "H1.a,tiny,fail,2\n", "there twice"),
        )
    ),
    sizes("words", "100 0\nmany 1\n", line=2, field="bytes", value="many", allowed="a whole number from 0 to"),
    sizes("falling", "100 0\n50 1\n", line=2, value="50", allowed="100 or more"),
    sizes("probability", "100 0\n200 1.7\n", line=2, value="1.7", allowed="1, or 100 in per cent"),
    sizes("does not end at 1", "100 0\n200 0.5\n", line=2, value="0.5", allowed="1, or 100 in per cent"),
    sizes("one point", "100 1\n", line=1, value="1", allowed="2 or more"),
    sizes("three numbers", "100 0 7\n200 1\n", line=1, value="100 0 7", allowed="two numbers: bytes cdf"),
    config("unknown key", {"U_TARGT": "U_TARGT 0.95"}, line=27, value="U_TARGT", allowed="a known key; the nearest is"),
    config(
        "value",
        {"CC_MODE": "CC_MODE hpcc"},
        line=11,
        field="CC_MODE",
        value="hpcc",
        allowed="1 (DCQCN), 3 (HPCC), 7 (TIMELY)",
    ),
    config(
        "mode",
        {"CC_MODE": "CC_MODE 99"},
        line=11,
        field="CC_MODE",
        value="99",
        allowed="1 (DCQCN), 3 (HPCC), 7 (TIMELY)",
    ),
    config(
        "rate",
        {"RATE_AI": "RATE_AI fast"},
        line=12,
        field="RATE_AI",
        value="fast",
        allowed="a number and a unit of bps, Kbps",
    ),
    config(
        "missing network",
        {"TOPOLOGY_FILE": "TOPOLOGY_FILE nowhere.txt"},
        line=3,
        field="TOPOLOGY_FILE",
        value="nowhere.txt",
        allowed="a readable file",
    ),
    config(
        "a link that is not there",
        {"LINK_DOWN": "LINK_DOWN 2000000 0 1"},
        line=27,
        field="LINK_DOWN",
        value="0 1",
        allowed="two nodes that TOPOLOGY_FILE links",
    ),
    config("missing key", {"TOPOLOGY_FILE": ""}, field="TOPOLOGY_FILE", allowed="a line such as `TOPOLOGY_FILE"),
    config(
        "missing file",
        {"FLOW_FILE": "FLOW_FILE nowhere.txt"},
        line=4,
        field="FLOW_FILE",
        value="nowhere.txt",
        allowed="a readable file",
    ),
    config(
        "map",
        {"KMAX_MAP": "KMAX_MAP 2 100000000000 1600"},
        line=23,
        field="KMAX_MAP",
        value="2 100000000000 1600",
        allowed="`n rate value rate value ...`",
    ),
    config(
        "flow line",
        {},
        flow="1\n0 1 3 100 2.0\n",
        file="flow.txt",
        line=2,
        field="flow 0",
        value="0 1 3 100 2.0",
        allowed="6 words `src dst pg dport",
    ),
    config(
        "flow host",
        {},
        flow="1\n0 8 3 100 1000 2.0\n",
        file="flow.txt",
        line=2,
        field="flow 0 dst",
        value="8",
        allowed="a whole number from 0 to 4 (the",
    ),
    config(
        "topology",
        {},
        net=NET.replace("3 4 100", "3 7 100"),
        file="net.txt",
        line=6,
        field="link.b",
        value="7",
        allowed="a whole number from 0 to 4 (the",
    ),
    line("no scenario", "run nowhere.toml", file="nowhere.toml", allowed="a scenario in TOML"),
    line(
        "override without value",
        "run s.toml --set seed --out out",
        field="--set",
        value="seed",
        allowed="key=value, the key dotted as the",
    ),
    line(
        "override of nothing",
        "run s.toml --set sede=3 --out out",
        file="--set sede=3",
        field="sede",
        value="3",
        allowed="framing, host, name, quirks",
    ),
    line(
        "override out of range",
        "run s.toml --set switch.pfc.alpha=7 --out out",
        file="--set switch.pfc.alpha=7",
        field="switch.pfc.alpha",
        value="7",
        allowed="a number, above 0, at most 1",
    ),
    # Found only when the switches are made.
    line(
        "override that leaves no buffer",
        "run s.toml --set switch.buffer=64KB --out out",
        file="--set switch.buffer=64KB",
        field="switch.buffer",
        value='"64KB"',
        allowed="a larger buffer",
    ),
    line(
        "override of the sequential engine that leaves no buffer",
        "run s.toml --set run.engine=sequential --set switch.buffer=64KB --out out",
        file="--set switch.buffer=64KB",
        field="switch.buffer",
        value='"64KB"',
        allowed="a larger buffer",
    ),
    line(
        "checked override that leaves no buffer",
        "check s.toml --set switch.buffer=64KB",
        file="--set switch.buffer=64KB",
        field="switch.buffer",
        value='"64KB"',
        allowed="a larger buffer",
    ),
    line(
        "threads",
        "run s.toml --threads 0 --out out",
        field="--threads",
        value="0",
        allowed="a whole number from 1 to 65535",
    ),
    line("seed", "run s.toml --seed -1 --out out", field="--seed", value="-1", allowed="a whole number from 0 to"),
    line(
        "follow",
        "run s.toml --follow-flow -3 --out out",
        field="--follow-flow",
        value="-3",
        allowed="a whole number from 0 to",
    ),
    line("option", "run s.toml --treads 2 --out out", problem="--treads (Possible options: --threads)"),
    line("side", "report . --baseline hpcc --side receiver", field="--side", value="receiver", allowed="sender"),
    line("threads for nothing", "report . --threads 2", field="--threads", value="2", allowed="--baseline alone"),
    line("no folder", "report nowhere", file="nowhere", allowed="the folder of a run of Paceline"),
    line("no result folder", "report .", file=".", allowed="the folder of a run of Paceline"),
    line("template", "init incats", value="incats", allowed="quickstart, hpcc-websearch"),
    line("field", "explain k_maxx", value="k_maxx", allowed="`k_max`?"),
    line(
        "quirk", "hpcc s.toml --quirk clok", field="--quirk", value="clok", allowed="none, clock_1ns, insertion_order"
    ),
    line("line rate", "hpcc s.toml --quirk line_rate_pacing", field="--quirk", allowed="clock_1ns, insertion_order"),
    line("no quirk", "hpcc s.toml --without-quirk clok", field="--without-quirk", value="clok", allowed="clock_1ns"),
    line(
        "quirks both ways",
        "hpcc s.toml --quirk clock_1ns --without-quirk unpadded_data",
        field="--without-quirk",
        value="unpadded_data",
        allowed="either --quirk or",
    ),
    line(
        "threads word", "run s.toml --threads two --out out", field="--threads", value="two", allowed="a whole number"
    ),
    line("letter in a number", "check s.toml --set seed=1_a", field="seed", value='"1_a"', allowed="a whole number"),
    line(
        "underscore in a time",
        "check s.toml --set run.stop=1_0us",
        field="run.stop",
        value='"1_0us"',
        allowed="an instant such as",
    ),
    line("a number too large", f"check s.toml --set seed={10**40}", field="seed", value=str(10**40), allowed="at most"),
    line("period", "hpcc s.toml --qlen-dump-ms 0", field="--qlen-dump-ms", value="0", allowed="1 or more"),
    line("progress", "run s.toml --progress loud", field="--progress", value="loud", allowed="auto, plain, none"),
    config(
        "HPCC without a window",
        {"HAS_WIN": "HAS_WIN 0"},
        line=17,
        field="HAS_WIN",
        value="0",
        allowed="1 with CC_MODE 3",
    ),
    config(
        "an output that is an input",
        {"FCT_OUTPUT_FILE": "FCT_OUTPUT_FILE ./net.txt"},
        line=7,
        field="FCT_OUTPUT_FILE",
        value="./net.txt",
        problem="its own input",
    ),
    config(
        "an output that is the configuration",
        {"QLEN_MON_FILE": "QLEN_MON_FILE config.txt"},
        line=9,
        field="QLEN_MON_FILE",
        value="config.txt",
        problem="its own input",
    ),
    config(
        "two outputs in one file",
        {"PFC_OUTPUT_FILE": "PFC_OUTPUT_FILE out/../out/fct.txt"},
        line=8,
        field="PFC_OUTPUT_FILE",
        value="out/../out/fct.txt",
        problem="is the file of FCT_OUTPUT_FILE too",
    ),
    config(
        "an output that cannot be made",
        {"QLEN_MON_FILE": "QLEN_MON_FILE nowhere/qlen.txt"},
        line=9,
        field="QLEN_MON_FILE",
        value="nowhere/qlen.txt",
        allowed="a writable path",
    ),
    line("engine", "hpcc s.toml --engine fast", field="--engine", value="fast", allowed="sequential, windowed"),
    line("no configuration", "hpcc nowhere.txt", file="nowhere.txt", allowed="a configuration of the HPCC"),
    line("no class", "mpi export ft --ranks 4 -o out/x", field="--class", allowed="S, W, A, B, C, D, E, F"),
    line(
        "class",
        "mpi export ft --ranks 4 --class X -o out/x",
        field="--class",
        value="X",
        allowed="S, W, A, B, C, D, E, F",
    ),
    line("ranks", "mpi export ft --ranks 5 --class S -o out/x", field="--ranks", value="5", allowed="a power of 2"),
    line(
        "algorithm",
        "mpi export ft --ranks 4 --class S --alltoall x -o out/x",
        field="--alltoall",
        value="x",
        allowed="auto, bruck",
    ),
    line(
        "rate of computing",
        "mpi export wrf --ranks 4 --compute-rate 0 -o out/x",
        field="--compute-rate",
        value="0",
        allowed="1 to 1e18",
    ),
    line(
        "a schedule onto a folder",
        "mpi export wrf --ranks 4 --force -o out",
        field="--out",
        value="out",
        problem="is a folder",
    ),
    line(
        "a schedule into a folder that is not there",
        "mpi export wrf --ranks 4 -o nowhere/x",
        field="--out",
        value="nowhere/x",
        allowed="a folder that is there",
    ),
    line(
        "an algorithm of another program",
        "mpi export mg --ranks 4 --class S --alltoall bruck -o out/x",
        field="--alltoall",
        value="bruck",
        allowed="auto, or a program that has the operation: ft, is",
    ),
    line("no schedule", "mpi info nowhere", file="nowhere", problem="No such file or directory", allowed="256 MiB"),
    line("two answers", "check s.toml --ports --resolved", field="--ports", problem="not together with --resolved"),
    line("a page of another kind", "report . --out x.htm", field="--out", value="x.htm", allowed="ends in .html"),
    line("a page as a picture", "report . --out out/x.PDF", field="--out", value="out/x.PDF", allowed="ends in .html"),
    line(
        "times of the p99",
        "size-buffers s.toml --buffers 1MB --p99 0.5x --out out",
        field="--p99",
        value="0.5x",
        allowed="off, or a number from 1",
    ),
    line(
        "a buffer that headroom fills",
        "size-buffers s.toml --buffers 64KB,1MB --out out",
        file="--buffers 64KB",
        field="switch.buffer",
        value='"64KB"',
        allowed="a larger buffer",
    ),
    line("times of drops", "size-buffers s.toml --drops 0x --out out", field="--drops", value="0x", allowed="0 to 1"),
    line(
        "a port above all",
        "sweep s.toml --executor dask://host:65536 -o out",
        field="--executor",
        value="dask://host:65536",
        allowed="dask://host:port",
    ),
    line("pages of the list", "reproduce --list --out out", field="--out", allowed="--list without it"),
    line("record of the list", "reproduce --list --update", field="--update", allowed="--list without it"),
    line(
        "its own scenario", "export s.toml --table s.toml --force", field="--table", value="s.toml", allowed="another"
    ),
    line("program over its scenario", "mpi export s.toml -o s.toml --force", field="--out", value="s.toml"),
    line("a scale of the list", "reproduce --list --scale huge", field="--scale", value="huge", allowed="tiny, quick"),
    line("JSON of runs that are only checked", "reproduce H13 --check --json", field="--json", allowed="--check"),
    line("a record of runs only checked", "reproduce H13 --check --update", field="--update", allowed="--check"),
    line("a cache that is a file", "sweep s.toml --cache s.toml -o out", field="--cache", value="s.toml"),
    matrix("host", "0->16 start 0 size 1", field="dst", value="16", allowed="a whole number from 0 to 15"),
    matrix("itself", "2->2 start 0 size 1", field="dst", value="2", allowed="another host"),
    matrix("start in us", "0->1 start 0.5 size 1", field="start", value="0.5", allowed="a whole number from 0"),
    matrix("no size", "0->1 start 0", field="size", allowed="bytes"),
    matrix("endless flow", "0->1 start 0 size 0", field="size", value="0", allowed="a whole number from 1"),
    matrix("attribute", "0->1 strat 0 size 1", field="strat", value="0", allowed="id, start, size"),
    matrix("trigger", "0->1 trigger 7 size 1", field="trigger", value="7", problem="cannot be run"),
    matrix("triggers", "Triggers 2", field="Triggers", value="2", allowed="0, or no such line"),
    matrix("end trigger", "0->1 start 0 size 1 send_done_trigger 3", field="send_done_trigger", value="3"),
    matrix("failure", "failure switch_type AGG switch_id 0 link_id 0", field="failure", allowed="only connections"),
    matrix("priority", "0->1 start 0 size 1 prio 2", field="prio", value="2", problem="cannot be run"),
    matrix("id twice", "0->1 id 5 start 0 size 1\n1->2 id 5 start 0 size 1", line=4, field="Connections", value="2"),
    matrix("too few", "# none", line=2, field="Connections", allowed="1, as the header says"),
    matrix("not a line", "hello", field="hello", allowed="0->1"),
    line("no matrix", "htsim nowhere.cm", file="nowhere.cm", allowed="a connection matrix of htsim"),
    line("mtu", "htsim s.toml --mtu 9", field="--mtu", value="9", allowed="a whole number from 64 to 9216"),
    line(
        "two rates", "htsim s.toml --topo x --linkspeed 5", field="--linkspeed", value="5", allowed="not together with"
    ),
]
