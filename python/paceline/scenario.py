"""Scenarios as Python values.

Generated from the table of fields in crates/paceline-sim/src/spec; do not edit. To refresh:
UPDATE=1 cargo test -p paceline-sim generated_files

Quantities are strings with a unit, as in TOML: "100Gbps", "1us", "32MiB". No value is checked here:
the engine checks the TOML that `Scenario.to_toml` writes and names the field that is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from paceline.sections import Section, as_toml
from paceline.typed import check_types

__all__ = [
    "Adapter",
    "AllToAll",
    "Bt",
    "Cg",
    "ClosedRpc",
    "Collective",
    "Cubic",
    "Dcqcn",
    "Dctcp",
    "Dumbbell",
    "Ecn",
    "EcnAtRate",
    "ExpressPass",
    "Failure",
    "FatTree",
    "FlowRow",
    "Flows",
    "Framing",
    "Ft",
    "Goal",
    "GraphLink",
    "GraphTopology",
    "Homa",
    "Host",
    "HostQcn",
    "Hpcc",
    "HpccFat320",
    "HpccPint",
    "HpccTcp",
    "IncastLoad",
    "Is",
    "LeafSpine",
    "LinkFailure",
    "Load",
    "Mg",
    "Ndp",
    "NewReno",
    "NoControl",
    "OnOffCbr",
    "OnOffFlows",
    "OpenRpc",
    "Packets",
    "ParkingLot",
    "Permutation",
    "Pfc",
    "Poisson",
    "PoissonIncast",
    "Qcn",
    "Quirks",
    "RandomFailures",
    "Records",
    "Red",
    "Routing",
    "Run",
    "ScatterGather",
    "Scenario",
    "Scheme",
    "SelectiveDrop",
    "Series",
    "SizeFile",
    "StaggeredIncast",
    "Star",
    "Switch",
    "SynchronousIncast",
    "Tcp",
    "Timely",
    "Topology",
    "TopologyFile",
    "Trimming",
    "Udp",
    "Vegas",
    "Workload",
    "Wrf",
    "Xgft",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkFailure(Section):
    """A link that fails, both ways: what is on the wire and what waits at its two ports is lost."""

    kind: ClassVar[Literal["link"]] = "link"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    link: Sequence[str]
    """The nodes at its ends: by their names in a graph, else `host0`, `tor1`, `agg0`, `core3`
    and so on, counted from 0 in each tier, or by node id (`"320"`). Source: Paceline.
    """

    number: int | None = None
    """Which of several links between the two, from 0 in the order of their ports; all of them
    when left out. Range [0, 65534]. Source: Paceline.
    """

    down: str
    """When it fails. Unit: time. Range [0s, 1000s]. Source: Paceline."""

    up: str | None = None
    """When it is back; never when left out. Unit: time. Range (0s, 1000s]. Source: Paceline."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RandomFailures(Section):
    """Failures at random: each of a link and at an instant drawn uniformly and independently of
    the others.
    """

    kind: ClassVar[Literal["random"]] = "random"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    count: int = 1
    """How many; none, beside which others of a sweep are seen. Range [0, 10000]. Source:
    Paceline.
    """

    among: Literal["fabric", "hosts", "all"] = "fabric"
    """Among which links: those between switches, those of hosts, or all. Source: Paceline."""

    start: str = "0s"
    """Not before this instant. Unit: time. Range [0s, 1000s]. Source: Paceline."""

    end: str
    """Before this instant. Unit: time. Range (0s, 1000s]. Source: Paceline."""

    repair: str = "never"
    """How long a failed link is down. Unit: time. Range [1ps, 1000s]. Source: Paceline."""


Failure = LinkFailure | RandomFailures
"""Links that fail."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Star(Section):
    """All hosts at one switch."""

    kind: ClassVar[Literal["star"]] = "star"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    hosts: int = 16
    """Number of hosts. Range [2, 65535]. Source: Paceline."""

    host_rate: str = "100Gbps"
    """Rate of the host links. Unit: bit/s. Range [1Mbps, 10Tbps]. Source: HPCC, sec. 5.1."""

    link_delay: str = "1us"
    """Propagation delay of every link. Unit: time. Range [0s, 1s]. Source: HPCC, sec. 5.1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dumbbell(Section):
    """Hosts at two switches with one link, the bottleneck, between them."""

    kind: ClassVar[Literal["dumbbell"]] = "dumbbell"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    left: int = 8
    """Hosts at the first switch. Range [1, 65534]. Source: Paceline."""

    right: int = 8
    """Hosts at the second switch. Range [1, 65534]. Source: Paceline."""

    host_rate: str = "100Gbps"
    """Rate of the host links. Unit: bit/s. Range [1Mbps, 10Tbps]. Source: HPCC, sec. 5.1."""

    bottleneck_rate: str = "100Gbps"
    """Rate of the link between the switches. Unit: bit/s. Range [1Mbps, 10Tbps]. Source:
    Paceline.
    """

    host_delay: str = "1us"
    """Propagation delay of the host links. Unit: time. Range [0s, 1s]. Source: HPCC, sec. 5.1."""

    bottleneck_delay: str = "1us"
    """Propagation delay of the link between the switches. Unit: time. Range [0s, 1s]. Source:
    HPCC, sec. 5.1.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class ParkingLot(Section):
    """A chain of switches. Host 0 at the first and host 1 at the last are the long pair; hosts 2
    + 2 i at switch i and 3 + 2 i at switch i + 1 are the cross pair of hop i.
    """

    kind: ClassVar[Literal["parking_lot"]] = "parking_lot"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    hops: int = 3
    """Links between switches along the chain. Range [1, 253]. Source: Paceline."""

    host_rate: str = "100Gbps"
    """Rate of the host links. Unit: bit/s. Range [1Mbps, 10Tbps]. Source: HPCC, sec. 5.1."""

    chain_rate: str = "100Gbps"
    """Rate of the links between switches. Unit: bit/s. Range [1Mbps, 10Tbps]. Source: Paceline."""

    host_delay: str = "1us"
    """Propagation delay of the host links. Unit: time. Range [0s, 1s]. Source: HPCC, sec. 5.1."""

    chain_delay: str = "1us"
    """Propagation delay of the links between switches. Unit: time. Range [0s, 1s]. Source: HPCC,
    sec. 5.1.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class LeafSpine(Section):
    """Leaves (top-of-rack switches) and spines, every leaf linked to every spine."""

    kind: ClassVar[Literal["leaf_spine"]] = "leaf_spine"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    leaves: int = 4
    """Number of leaves. Range [1, 4096]. Source: Paceline."""

    spines: int = 2
    """Number of spines. Range [1, 4096]. Source: Paceline."""

    hosts_per_leaf: int = 8
    """Hosts at each leaf. Range [1, 65534]. Source: Paceline."""

    links_per_pair: int = 1
    """Links between each leaf and each spine. Range [1, 1024]. Source: Paceline."""

    host_rate: str = "100Gbps"
    """Rate of the host links. Unit: bit/s. Range [1Mbps, 10Tbps]. Source: HPCC, sec. 5.1."""

    fabric_rate: str = "400Gbps"
    """Rate of the links between leaves and spines. Unit: bit/s. Range [1Mbps, 10Tbps]. Source:
    HPCC, sec. 5.1.
    """

    link_delay: str = "1us"
    """Propagation delay of every link. Unit: time. Range [0s, 1s]. Source: HPCC, sec. 5.1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FatTree(Section):
    """A k-ary fat-tree: k pods of k/2 edge and k/2 aggregation switches, k^2/4 core switches."""

    kind: ClassVar[Literal["fat_tree"]] = "fat_tree"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    k: int = 8
    """Ports of every switch; even. Range [2, 128]. Source: Al-Fares et al., SIGCOMM 2008, sec.
    3.
    """

    hosts_per_edge: int | None = None
    """Hosts at each edge switch; k/2 when left out, more oversubscribe it. Range [1, 65471].
    Source: Al-Fares et al., SIGCOMM 2008: k/2.
    """

    host_rate: str = "100Gbps"
    """Rate of the host links. Unit: bit/s. Range [1Mbps, 10Tbps]. Source: HPCC, sec. 5.1."""

    fabric_rate: str = "100Gbps"
    """Rate of the links between switches. Unit: bit/s. Range [1Mbps, 10Tbps]. Source: Al-Fares
    et al., SIGCOMM 2008: one rate everywhere.
    """

    link_delay: str = "1us"
    """Propagation delay of every link. Unit: time. Range [0s, 1s]. Source: HPCC, sec. 5.1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Xgft(Section):
    """The extended generalised fat-tree XGFT(h; m1, ..., mh; w1, ..., wh): any tree of h levels
    of switches. Lists go from the hosts up.
    """

    kind: ClassVar[Literal["xgft"]] = "xgft"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    children: Sequence[int] = (8, 8)
    """Nodes below a switch (m1, ..., mh), level by level; their product is the number of hosts.
    Range [1, 65535]. Source: Oehring et al., IPPS 1995.
    """

    parents: Sequence[int] = (1, 8)
    """Nodes above a node (w1, ..., wh), level by level: NICs of a host, then uplinks of a
    switch. Between hosts that meet at level l there are w1 ... wl shortest paths. Range [1, 65535].
    Source: Oehring et al., IPPS 1995.
    """

    rates: Sequence[str] = ("100Gbps",)
    """Rates of the links, level by level; or one for all. Unit: bit/s. Range [1Mbps, 10Tbps].
    Source: HPCC, sec. 5.1.
    """

    delays: Sequence[str] = ("1us",)
    """Propagation delays of the links, level by level; or one for all. Unit: time. Range [0s,
    1s]. Source: HPCC, sec. 5.1.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class HpccFat320(Section):
    """The tree of the HPCC evaluation as it is: 320 hosts at 100 Gb/s, 20 top-of-rack, 20
    aggregation and 16 core switches, 400 Gb/s between switches, 1 us per link.
    """

    kind: ClassVar[Literal["hpcc_fat320"]] = "hpcc_fat320"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)


@dataclass(frozen=True, kw_only=True, slots=True)
class TopologyFile(Section):
    """A file in the topology format of the HPCC reference simulator, or of SimAI."""

    kind: ClassVar[Literal["file"]] = "file"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    file: str
    """The file. Source: HPCC reference simulator, TOPOLOGY_FILE."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphLink(Section):
    """A full-duplex link, from `a` to `b` and back."""

    a: str
    """Name of the node at one end. Source: Paceline."""

    b: str
    """Name of the node at the other end. Source: Paceline."""

    rate: str = "100Gbps"
    """Rate. Unit: bit/s. Range [1Mbps, 10Tbps]. Source: HPCC, sec. 5.1."""

    delay: str = "1us"
    """Propagation delay. Unit: time. Range [0s, 1s]. Source: HPCC, sec. 5.1."""

    rate_back: str | None = None
    """Rate from `b` to `a`; `rate` when left out. Unit: bit/s. Range [1Mbps, 10Tbps]. Source:
    Paceline.
    """

    delay_back: str | None = None
    """Propagation delay from `b` to `a`; `delay` when left out. Unit: time. Range [0s, 1s].
    Source: Paceline.
    """

    error_rate: float = 0.0
    """Probability that a packet is lost on the wire, either way; pause frames never are. Range
    [0, 1). Source: HPCC reference simulator, ERROR_RATE_PER_LINK.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphTopology(Section):
    """Nodes and links by name. Hosts get the ids from 0 in the order given, then the switches;
    ports are numbered in the order of the links.
    """

    kind: ClassVar[Literal["graph"]] = "graph"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    hosts: Sequence[str]
    """Names of the hosts. Source: Paceline."""

    switches: Sequence[str]
    """Names of the switches. Source: Paceline."""

    links: Sequence[GraphLink] = ()
    """The links."""


Topology = (
    Star
    | Dumbbell
    | ParkingLot
    | LeafSpine
    | FatTree
    | Xgft
    | HpccFat320
    | TopologyFile
    | GraphTopology
)
"""Hosts, switches and links. Node ids: hosts first, from 0, then switches."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Framing(Section):
    """Sizes of everything on the wire. A scheme's telemetry is added to data packets and ACKs."""

    preset: Literal["hpcc", "ethernet"] = "hpcc"
    """Where the sizes that are not given come from. Source: Paceline."""

    payload: str | None = None
    """Payload of a full data packet. Unit: bytes. Range [1B, 9216B]. Default: `"1000B"` (preset
    `hpcc`), `"1460B"` (preset `ethernet`). Source: HPCC reference simulator, PACKET_PAYLOAD_SIZE;
    Ethernet: 1500-byte MTU less IPv4 and TCP headers.
    """

    header: str | None = None
    """Headers of a data packet, telemetry not counted. Unit: bytes. Range [0B, 1000B]. Default:
    `"48B"` (preset `hpcc`), `"58B"` (preset `ethernet`). Source: HPCC reference simulator: 14 PPP,
    20 IP, 8 UDP, 6 sequence and group; Ethernet: 18 with check sum, 20 IPv4, 20 TCP.
    """

    ack_header: str | None = None
    """Headers of an ACK or NACK, telemetry not counted. Unit: bytes. Range [1B, 1000B]. Default:
    `"46B"` (preset `hpcc`), `"58B"` (preset `ethernet`). Source: HPCC reference simulator: 14 PPP,
    20 IP, 12 ACK; Ethernet: as data.
    """

    min_frame: str | None = None
    """Smallest frame; shorter ones are padded. Unit: bytes. Range [0B, 9216B]. Default: `"60B"`
    (preset `hpcc`), `"64B"` (preset `ethernet`). Source: HPCC reference simulator; IEEE 802.3.
    """

    pfc_frame: str | None = None
    """A PFC pause or resume frame. Unit: bytes. Range [1B, 9216B]. Default: `"43B"` (preset
    `hpcc`), `"64B"` (preset `ethernet`). Source: HPCC reference simulator; IEEE 802.1Qbb.
    """

    wire_overhead: str | None = None
    """What the wire adds to every frame and no buffer counts: preamble and gap between frames.
    Unit: bytes. Range [0B, 1000B]. Default: `"0B"` (preset `hpcc`), `"20B"` (preset `ethernet`).
    Source: HPCC reference simulator: none; IEEE 802.3: 8 preamble, 12 gap.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Pfc(Section):
    """Priority flow control, per (ingress port, class). Without it a full buffer drops."""

    enabled: bool = True
    """Whether switches send pause frames. Source: HPCC, sec. 5.1."""

    reserve: str = "4096B"
    """Bytes every (ingress port, class) may hold before it draws on the shared pool. Unit:
    bytes. Range [0B, 1GiB]. Source: HPCC reference simulator (fixed there).
    """

    headroom: str = "3x"
    """Bytes set aside per port and class in use for what arrives after a pause was sent: a size,
    a multiple of rate times delay (half of the time there and back, `reaction` included), or
    `"auto"`, what may arrive at most: rate times the delay there and back, three largest frames
    (one over the threshold, one begun at either end) and eight pause frames. `paceline check` warns
    of less. Unit: bytes. Range [0B, 1GiB]. Source: HPCC reference simulator (fixed there).
    """

    alpha: float = 0.125
    """An (ingress port, class) at host speed is paused when it holds this share of what is free
    in the pool. Range (0, 1]. Source: HPCC reference simulator: 1/8 (fixed there).
    """

    alpha_scales: bool = True
    """Double `alpha` for each factor 2, also one only begun, of the port's rate above that of
    the first host, up to 1. Source: HPCC reference simulator (fixed there).
    """

    resume_offset: str = "3072B"
    """A paused class resumes when it is this far under its threshold. Unit: bytes. Range [0B,
    1GiB]. Source: HPCC reference simulator (fixed there).
    """

    xoff: str = "auto"
    """With `model = "per_port"`: bytes of a class at the port they came by that a pause keeps
    to: it is sent when one more largest frame could take them above. `"auto"`: the port's buffer,
    an equal share for each class in use, less `headroom`. Unit: bytes. Range [1B, 1GiB]. Source:
    HotI 2011: 97 KB of 100 KB (99328 of 102400 bytes).
    """

    xon: str = "auto"
    """With `model = "per_port"`: a paused class resumes at this many bytes. `"auto"`:
    `resume_offset` under `xoff`. Unit: bytes. Range [0B, 1GiB]. Source: HotI 2011: 80 KB of 100 KB
    (81920 of 102400 bytes).
    """

    reaction: str = "0s"
    """From the arrival of a pause or resume frame to its effect. Unit: time. Range [0s, 1ms].
    Source: Paceline; 802.1Qbb allows some 0.6 us at 10 Gb/s.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class EcnAtRate(Section):
    """Thresholds of the ports of one rate."""

    rate: str
    """Port rate. Unit: bit/s. Range [1Mbps, 10Tbps]. Source: HPCC reference simulator, KMIN_MAP."""

    k_min: str
    """No mark at or below this queue. Unit: bytes. Range [0B, 1TiB]. Source: HPCC reference
    simulator, KMIN_MAP.
    """

    k_max: str
    """Always a mark above this queue. Unit: bytes. Range [0B, 1TiB]. Source: HPCC reference
    simulator, KMAX_MAP.
    """

    p_max: float = 0.2
    """Probability of a mark at `k_max`. Range [0, 1]. Source: HPCC reference simulator,
    PMAX_MAP.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Ecn(Section):
    """ECN marking at departure, by the bytes left behind: never at or below `k_min`, with a
    probability that rises to `p_max` at `k_max`, always above. All schemes of a run share the
    thresholds: the defaults suit DCQCN, DCTCP wants one step (`k_min` and `k_max` of `"300KB"` at
    100 Gb/s); the other schemes ignore marks.
    """

    enabled: bool = True
    """Whether switches mark. Source: HPCC reference simulator, ENABLE_QCN 1."""

    per: Literal["class", "port"] = "class"
    """Which queue counts: that of the packet's class or that of the whole port. Source: HPCC
    reference simulator.
    """

    k_min: str = "400KB"
    """No mark at or below this queue, on a port of rate `at`. Unit: bytes. Range [0B, 1TiB].
    Source: HPCC reference simulator, KMIN_MAP.
    """

    k_max: str = "1600KB"
    """Always a mark above this queue, on a port of rate `at`. Unit: bytes. Range [0B, 1TiB].
    Source: HPCC reference simulator, KMAX_MAP.
    """

    p_max: float = 0.2
    """Probability of a mark at `k_max`. Range [0, 1]. Source: HPCC reference simulator,
    PMAX_MAP.
    """

    at: str = "100Gbps"
    """Port rate at which `k_min` and `k_max` hold; for other rates they scale in proportion.
    Unit: bit/s. Range [1Mbps, 10Tbps]. Source: HPCC reference simulator: 400 and 1600 KB at 100
    Gb/s, four times that at 400 Gb/s.
    """

    by_rate: Sequence[EcnAtRate] = ()
    """Thresholds of ports of a certain rate, in place of the scaled ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Red(Section):
    """Random early detection on the average queue, at arrivals, in place of `switch.ecn`: bursts
    pass, standing queues do not. The defaults are those of `HotI` 2011 at 10 Gb/s.
    """

    enabled: bool = False
    """Whether ports have RED; needs `switch.ecn.enabled = false`. Source: Floyd and Jacobson,
    ToN 1993.
    """

    per: Literal["class", "port"] = "class"
    """Which queue is averaged: that of the packet's class or that of the whole port. Source:
    Paceline.
    """

    min: str = "25600B"
    """Nothing is marked while the average is below. Unit: bytes. Range [0B, 1GiB]. Source: HotI
    2011: 25.6 KB.
    """

    max: str = "76800B"
    """Everything is marked while the average is at it or above. Unit: bytes. Range [1B, 1GiB].
    Source: HotI 2011: 76.8 KB.
    """

    weight: float = 0.002
    """Weight of the newest queue in the average; 1 is the queue as it is. Range (0, 1]. Source:
    Floyd and Jacobson, ToN 1993, sec. 6; HotI 2011.
    """

    p_max: float = 0.02
    """Probability of a mark as the average nears `max`. Range [0, 1]. Source: Floyd and
    Jacobson, ToN 1993, sec. 7; HotI 2011.
    """

    packet: str = "1500B"
    """Packets that an idle link is taken to send meanwhile, on the wire. Unit: bytes. Range [1B,
    64KB]. Source: HotI 2011: frames of 1500 B.
    """

    gentle: bool = False
    """From `max` to twice `max` the probability rises from `p_max` to 1, instead of being 1 at
    once. Source: Floyd 2000.
    """

    non_ect: Literal["pass", "drop"] = "pass"
    """What becomes of a packet without ECN in place of a mark; `"drop"` only without PFC.
    Source: HotI 2011: only data feel RED (inferred); RFC 3168, sec. 7: "drop".
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Qcn(Section):
    """Quantized congestion notification (IEEE 802.1Qau): switches sample frames of data classes,
    and tell the senders of some how congested the queue is; the limiters of their adapters
    (`host.qcn`) slow them down. Over TCP; runs in the sequential engine.
    """

    enabled: bool = False
    """Whether switches notify; needs `host.adapter.enabled`. Source: IEEE 802.1Qau."""

    set_point: str = "20480B"
    """Queue at which the loop shall settle (Qeq). Unit: bytes. Range [1B, 1GiB]. Source: HotI
    2011: 20 KB or 66 KB of a port's 100; IEEE8021-CN-MIB: 26,000 B.
    """

    weight: float = 2.0
    """Weight w of the queue's growth since the last sample. Range [0, 1024]. Source: HotI 2011;
    IEEE8021-CN-MIB.
    """

    sample_base: str = "150000B"
    """Bytes between two samples where there is no congestion; an eighth of it where there is
    most. Unit: bytes. Range [1B, 1GiB]. Source: HotI 2011; IEEE8021-CN-MIB.
    """

    jitter: float = 0.15
    """Each interval is drawn from this share of it around it. Range [0, 1]. Source: QCN
    pseudo-code 2.x.
    """

    quantiser: Literal["proportional", "top_bits"] = "proportional"
    """How congestion becomes six bits. Source: IEEE 802.1Qau; QCN pseudo-code: "top_bits"."""

    average_shift: int = 0
    """The queue is averaged with a weight of 2 to the power of minus this for each frame; 0 is
    the queue as it is. Range [0, 16]. Source: IEEE 802.1Qau; 9 averages as RED does with 0.002.
    """

    exempt_syn: bool = False
    """Frames that open a connection (SYN and its answer) are neither sampled nor limited.
    Source: IEEE 802.1Qau knows no TCP; for comparison.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectiveDrop(Section):
    """Aeolus' rule: an unscheduled packet is dropped where the queue is over a small threshold,
    all others only where the buffer is full. What a commodity switch does with RED, both thresholds
    equal, and unscheduled packets marked as not ECN-capable.
    """

    enabled: bool = False
    """Whether ports drop selectively. Source: Aeolus, SIGCOMM 2020, sec. 4.1."""

    threshold: str = "6KiB"
    """Bytes over which unscheduled packets are dropped. Unit: bytes. Range [1B, 1GiB]. Source:
    Aeolus, sec. 6: 6 KB.
    """

    accounting: Literal["before", "after"] = "before"
    """Whether the packet itself counts. Source: as RED does; the text at hand does not say."""

    per: Literal["class", "port"] = "port"
    """Which queue counts: that of the packet's class or that of the whole port. Source: the text
    at hand does not say.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Trimming(Section):
    """NDP's switch ports: a short queue of data, one of headers; what does not fit loses its
    payload, not its header. Takes the place of `buffer`, `model` and `pfc`.
    """

    enabled: bool = False
    """Whether ports trim. Source: NDP, SIGCOMM 2017, sec. 3.1."""

    data_packets: int = 8
    """Full data packets that a port may hold, the one being sent among them. Range [1, 100000].
    Source: NDP, sec. 3.1; the authors' simulator counts the packet being sent.
    """

    header_packets: int = 8
    """Headers and control packets that a port may hold, with the one being sent, as the full
    packets they have the room of. Range [1, 100000]. Source: NDP, sec. 3.1: the same; htsim: twice
    as many.
    """

    headers_per_data: int = 10
    """Headers that go before each data packet. Range [1, 1000000]. Source: NDP, sec. 3.1; htsim:
    100000.
    """

    return_to_sender: bool = True
    """A header that does not fit goes back to its sender. Source: NDP, sec. 3.2.4; htsim: off."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Switch(Section):
    """Every switch."""

    buffer: str = "32MiB"
    """Packet buffer: of the switch (`model = "shared"`) or of each port (`"per_port"`). Unit:
    bytes. Range [1KB, 4GB]. Source: HPCC, sec. 5.1; reference simulator, BUFFER_SIZE 32.
    """

    model: Literal["shared", "per_port"] = "shared"
    """How the buffer is divided: one pool for all ports, or a fixed part per port. Source: HPCC
    reference simulator.
    """

    accounting: Literal["auto", "output", "input", "both"] = "auto"
    """With `model = "per_port"`: at which port a packet takes room. `"auto"`: with PFC at the
    port it came by, without at the port by which it will leave. Source: Paceline; 802.1Qbb pauses
    ingress ports.
    """

    scheduler: Literal["auto", "round_robin", "strict"] = "auto"
    """Who goes next at a switch port where several classes wait: after class 0 the others in
    turn, or by strict priority, the lowest number first. `"auto"`: strict for Homa, NDP and
    ExpressPass, else in turn. Hosts serve their flows in turn, whatever their classes. Source:
    Paceline.
    """

    delay: str = "0s"
    """Time through the switch, added to what leaves it. Unit: time. Range [0s, 1s]. Source:
    Aeolus, fig. 17: 250 ns; HPCC: none.
    """

    egress_alpha: float = 1.0
    """Without PFC and with a shared buffer: an egress queue may hold this many times what is
    free in the pool. Range (0, 1024]. Source: Choudhury and Hahne, ToN 1998: dynamic threshold.
    """

    pfc: Pfc = Pfc()
    """Priority flow control."""

    ecn: Ecn = Ecn()
    """ECN marking."""

    red: Red = Red()
    """RED on the average queue."""

    qcn: Qcn = Qcn()
    """Congestion notifications to the senders' adapters."""

    selective_drop: SelectiveDrop = SelectiveDrop()
    """Dropping of unscheduled packets before others."""

    trimming: Trimming = Trimming()
    """Trimming in place of dropping."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tcp(Section):
    """That of every host: for schemes with `cc = "new_reno"`, `"cubic"`, `"vegas"` or
    `"hpcc_tcp"`. Options take no bytes on the wire: with Ethernet's framing goodput is 1460/1538 of
    the link, with the 12 B of timestamps 1448/1538: `framing.payload = "1448B"`, `framing.header =
    "70B"`.
    """

    stack: Literal["rfc", "freebsd", "user_space"] = "rfc"
    """The stack that gives the defaults below. Source: Paceline."""

    rto_initial: str | None = None
    """Timeout before there is any sample of the round-trip time. Unit: time. Range [1us, 100s].
    Default: `"1s"` (stack `rfc`), `"10ms"` (stack `freebsd`), `"10ms"` (stack `user_space`).
    Source: RFC 6298, sec. 2.1; converged-Ethernet study.
    """

    rto_min: str | None = None
    """Shortest timeout. Unit: time. Range [0s, 100s]. Default: `"1s"` (stack `rfc`), `"2ms"`
    (stack `freebsd`), `"2ms"` (stack `user_space`). Source: RFC 6298, sec. 2.4; converged-Ethernet
    study; Linux: 200 ms.
    """

    rto_max: str | None = None
    """Longest timeout. Unit: time. Range [1us, 1000s]. Default: `"60s"` (stack `rfc`), `"64s"`
    (stack `freebsd`), `"60s"` (stack `user_space`). Source: RFC 6298, sec. 2.5; FreeBSD.
    """

    rto_slop: str | None = None
    """Added to every timeout. Unit: time. Range [0s, 100s]. Default: `"0s"` (stack `rfc`),
    `"20ms"` (stack `freebsd`), `"0s"` (stack `user_space`). Source: FreeBSD: 200 ms, 20 ms in the
    study.
    """

    clock: str = "1us"
    """Tick of the stack's clock. Unit: time. Range [1ns, 1s]. Source: FreeBSD: 1 ms, 1 us in the
    study.
    """

    tries: int | None = None
    """Timeouts in a row at which a segment is sent again; at the next a flow is given up. Range
    [1, 255]. Default: `15` (stack `rfc`), `12` (stack `freebsd`), `15` (stack `user_space`).
    Source: FreeBSD: 12; Linux: 15.
    """

    ack_segments: int | None = None
    """Segments in order for one ACK. Range [1, 1000]. Default: `2` (stack `rfc`), `2` (stack
    `freebsd`), `8` (stack `user_space`). Source: RFC 5681, sec. 4.2; buffer-sizing study: 5 to 10.
    """

    ack_delay: str | None = None
    """Longest time an ACK is held back. Unit: time. Range [0s, 1s]. Default: `"40ms"` (stack
    `rfc`), `"10ms"` (stack `freebsd`), `"50us"` (stack `user_space`). Source: RFC 1122;
    converged-Ethernet study.
    """

    ack_push: bool | None = None
    """The end of a message is acknowledged at once. Default: `false` (stack `rfc`), `false`
    (stack `freebsd`), `true` (stack `user_space`). Source: buffer-sizing study.
    """

    initial_window: Literal["rfc3390"] | int | None = None
    """Window at first: a number of segments, or RFC 3390's two to four. Range [1, 1000000].
    Default: `10` (stack `rfc`), `"rfc3390"` (stack `freebsd`), `10` (stack `user_space`). Source:
    RFC 6928: 10; RFC 3390.
    """

    min_window: int = 1
    """Segments below which the window never falls. Range [1, 1000000]. Source: Paceline."""

    sack: bool | None = None
    """Selective acknowledgements. Default: `true` (stack `rfc`), `false` (stack `freebsd`),
    `false` (stack `user_space`). Source: RFC 2018, RFC 6675.
    """

    prr: bool | None = None
    """Proportional rate reduction: with SACK, data leave a loss recovery evenly instead of after
    a silence and in a burst. Default: `true` (stack `rfc`), `false` (stack `freebsd`), `false`
    (stack `user_space`). Source: RFC 9937; Linux since 3.2.
    """

    timestamps: bool = True
    """Timestamps: a sample of the round-trip time with every ACK. Source: RFC 7323."""

    ecn: bool = False
    """Explicit congestion notification; switches mark where `switch.ecn` says so. Source: RFC
    3168.
    """

    limited_transmit: bool = True
    """New segments for the first two duplicate ACKs. Source: RFC 3042."""

    dup_thresh: int = 3
    """Duplicate ACKs that mean a loss. Range [1, 1000]. Source: RFC 5681."""

    idle_restart: bool = True
    """Start again from the initial window after a timeout without sending; `stack = "freebsd"`:
    without receiving. Source: RFC 5681, sec. 4.1.
    """

    burst: int = 1
    """Segments released at a time, where the window has room for them (segmentation offload).
    Range [1, 1000]. Source: Linux: up to 45.
    """

    pacing: Literal["off", "rate", "window"] = "off"
    """How data leave between one ACK and the next. Source: Linux: 200 and 120 %."""

    send_buffer: str | None = None
    """Sending buffer: what may be unacknowledged, first and at most. Unit: bytes. Range [1KB,
    1000MiB]. Default: `"4MiB"` (stack `rfc`), `"128KiB"` (stack `freebsd`), `"4MiB"` (stack
    `user_space`). Source: FreeBSD: 128 KiB growing to 256 KiB.
    """

    send_buffer_max: str | None = None
    """See `send_buffer`. Unit: bytes. Range [1KB, 1000MiB]. Default: `"4MiB"` (stack `rfc`),
    `"256KiB"` (stack `freebsd`), `"4MiB"` (stack `user_space`). Source: FreeBSD.
    """

    receive_buffer: str | None = None
    """Receiving buffer, announced as window, first and at most. Unit: bytes. Range [1KB,
    1000MiB]. Default: `"4MiB"` (stack `rfc`), `"128KiB"` (stack `freebsd`), `"4MiB"` (stack
    `user_space`). Source: FreeBSD: 128 KiB growing to 256 KiB.
    """

    receive_buffer_max: str | None = None
    """See `receive_buffer`. Unit: bytes. Range [1KB, 1000MiB]. Default: `"4MiB"` (stack `rfc`),
    `"256KiB"` (stack `freebsd`), `"4MiB"` (stack `user_space`). Source: FreeBSD.
    """

    reassembly_limit: int | None = None
    """Segments kept above a gap. Range [0, 1000000]. Default: `10000` (stack `rfc`), `200`
    (stack `freebsd`), `10000` (stack `user_space`). Source: converged-Ethernet study: 200.
    """

    host_cache: bool | None = None
    """A connection takes over the round-trip time and slow-start threshold that earlier ones to
    the same host have left, and `inherit_cwnd`. Default: `false` (stack `rfc`), `true` (stack
    `freebsd`), `false` (stack `user_space`). Source: FreeBSD's host cache; RFC 5681, sec. 3.1:
    none.
    """

    inherit_cwnd: Literal["off", "half", "full"] | None = None
    """What a connection takes over of the window of earlier ones to the same host, with
    `host_cache`. Default: `"off"` (stack `rfc`), `"half"` (stack `freebsd`), `"off"` (stack
    `user_space`). Source: FreeBSD's host cache.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Adapter(Section):
    """What lies between TCP and the link. Frames leave the stack as the windows open and wait in
    the adapter for the link; a full adapter holds the stack back. Without it they wait for the link
    in a queue without limit, and hosts take no time.
    """

    enabled: bool = False
    """Whether hosts have one. Source: Paceline."""

    buffer: str = "512KiB"
    """Frames on their way to the link. Unit: bytes. Range [16KiB, 1GiB]. Source: HotI 2011: 512
    KB.
    """

    delay: str = "500ns"
    """Through the adapter, each way. Unit: time. Range [0s, 1s]. Source: HotI 2011: network
    delay 500 ns, taken as the adapter's.
    """

    tx_delay: str = "9500ns"
    """Through the stack, from TCP to the adapter. Unit: time. Range [0s, 1s]. Source: HotI 2011:
    9.5 us.
    """

    rx_delay: str = "24us"
    """Through the stack, from the adapter to TCP. Unit: time. Range [0s, 1s]. Source: HotI 2011:
    24 us.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class HostQcn(Section):
    """QCN's reaction points: rate limiters in the adapter."""

    limiter: Literal["destination", "flow", "nic"] = "destination"
    """Frames that share a limiter: all to one destination, all of one flow, or all. Source: HotI
    2011 (inferred: QCN delays SYNs); IEEE 802.1Qau: "nic".
    """

    reaction: Literal["limiter", "window"] = "limiter"
    """What a notification does. Source: IEEE 802.1Qau; "window" for comparison."""

    timer: str = "15ms"
    """A stage of the timer. Unit: time. Range [1us, 100s]. Source: HotI 2011; IEEE8021-CN-MIB."""

    byte_limit: str = "150000B"
    """A stage of the byte counter. Unit: bytes. Range [1B, 1GiB]. Source: HotI 2011;
    IEEE8021-CN-MIB.
    """

    jitter: float = 0.15
    """Each stage but the first is drawn from this share of it around it. Range [0, 1]. Source:
    QCN pseudo-code 2.x.
    """

    threshold: int = 5
    """Stages of fast recovery. Range [1, 255]. Source: HotI 2011; IEEE8021-CN-MIB."""

    ai_rate: str = "5Mbps"
    """Step of the target rate in active increase. Unit: bit/s. Range [1Kbps, 1Tbps]. Source:
    HotI 2011; IEEE8021-CN-MIB.
    """

    hai_rate: str = "50Mbps"
    """Step of the target rate in hyper-active increase. Unit: bit/s. Range [1Kbps, 1Tbps].
    Source: HotI 2011; IEEE8021-CN-MIB.
    """

    min_rate: str = "100Kbps"
    """Lowest rate. Unit: bit/s. Range [1Kbps, 1Tbps]. Source: HotI 2011; IEEE8021-CN-MIB: 5
    Mb/s.
    """

    gain: float = 0.0078125
    """Share of the rate that a unit of feedback (1 to 63) takes. Range [0, 1]. Source:
    IEEE8021-CN-MIB: 2^-7; HotI 2011: 0.5 for feedback up to 1.
    """

    min_decrease: float = 0.5
    """Smallest share of the rate that one feedback leaves. Range [0, 1]. Source: HotI 2011;
    IEEE8021-CN-MIB.
    """

    keep_target: bool = True
    """Feedback in the first byte stage leaves target and byte counter alone. Source: QCN
    pseudo-code 2.x; HotI 2011: extra fast recovery (inferred).
    """

    clamp_target: bool = True
    """In a first stage a target above ten times the rate falls to an eighth. Source: QCN
    pseudo-code 2.x; HotI 2011: extra fast recovery (inferred).
    """

    start_above_set_point: bool = False
    """Only feedback of a queue above its set point starts a limiter. Source: one implementation
    of IEEE 802.1Qau.
    """

    stages: Literal["pseudo_code", "standard"] = "pseudo_code"
    """When a stage counts as past the threshold. Source: QCN pseudo-code 2.x; IEEE 802.1Qau:
    "standard".
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Host(Section):
    """Every host and its NIC."""

    ack_priority: bool = False
    """ACKs travel in the control class, which is never paused and, where there is no room,
    dropped, instead of the flow's class. Source: HPCC reference simulator, ACK_HIGH_PRIO 0.
    """

    nack_interval: str = "500us"
    """A receiver repeats a NACK for the same packet after this long. Unit: time. Range [1ns,
    10s]. Source: HPCC reference simulator (fixed there).
    """

    rto: str = "auto"
    """Retransmission timeout, doubled with each try: a time, `"off"`, or `"auto"` (4 base RTTs
    and the drain of all that a switch can hold for its slowest link, at least 1 ms, so that it does
    not fire for queueing at one switch alone). Unit: time. Range [1us, 100s]. Source: Paceline; the
    HPCC reference simulator has none.
    """

    rto_tries: int = 7
    """Timeouts in a row at which a flow sends again; at the next it is given up as failed. So is
    one whose receiver has asked for the same packet for as long as all these take. Range [1, 20].
    Source: InfiniBand: retry count of 3 bits.
    """

    idle_restart: str = "off"
    """A connection that stays open (`kind = "rpc"`) with nothing to send and nothing in flight
    for longer than this begins anew at the next message, with the rate and window of a new flow.
    Over RDMA only. Unit: time. Range [1ns, 100s]. Source: Paceline; HPCC: flows start at line rate.
    """

    base_rtt: str = "network"
    """The base RTT that windows and rates derive from: the largest in the network, that of the
    flow's own pair, or a time. With it goes the bandwidth-delay product: over all pairs the largest
    product of a pair's base RTT and the slowest link of its path (every NIC has that window, slower
    ones too); that of the flow's own pair; or the time by the flow's own NIC (over TCP by the
    fastest). Unit: time. Range [1ns, 10s]. Source: HPCC reference simulator, GLOBAL_T 1.
    """

    tcp: Tcp = Tcp()
    """The TCP stack."""

    adapter: Adapter = Adapter()
    """The time through stack and adapter, and the adapter's buffer."""

    qcn: HostQcn = HostQcn()
    """The adapter's rate limiters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Routing(Section):
    """Choice among shortest paths."""

    choice: Literal["flow_hash", "spray", "flowlet", "d_mod_k", "s_mod_k"] = "flow_hash"
    """Per flow by a hash of its addresses and ports, salted per switch; or per packet, drawn at
    the source; or per flowlet, what a flow sends without a pause of `flowlet_gap`, drawn at the
    source. In trees also per flow by the number of its destination (D-mod-k) or source (S-mod-k):
    on the way up a node takes the uplink of that number, divided by the product of all uplinks
    below it, modulo its own uplinks. Source: HPCC reference simulator: per-flow ECMP.
    """

    flowlet_gap: str = "100us"
    """With `choice = "flowlet"`: from how long a pause on what an end of a flow sends takes a
    path anew. What is shorter than the difference of two paths' delays lets packets overtake each
    other. Unit: time. Range [1ns, 10s]. Source: Let It Flow (NSDI 2017); 100 us: simulator of
    ConWeave (SIGCOMM 2023).
    """

    order: Literal["port", "descending_id"] = "port"
    """How equal next hops are numbered: by port, or by descending node id as the reference
    simulator happens to do. Source: Paceline.
    """

    salt: int = 0
    """Added to each switch's id to salt its hash; salts those by which hosts choose among
    several NICs, too. Range [0, 4294967295]. Source: HPCC reference simulator: the switch's id
    alone.
    """

    nics: Literal["all", "nearest"] = "all"
    """Which NICs of hosts with several a flow may use: all that reach each other; or, where both
    hosts have NICs at one switch, the fastest of these, as GPUs of one server use its NVSwitch.
    Source: Paceline; "nearest": SimAI, GPUs of one server.
    """

    reroute_after: str = "0s"
    """From the failure or repair of a link to the instant at which all switches forward by
    routes that know of it. Unit: time. Range [0s, 1000s]. Source: HPCC reference simulator,
    LINK_DOWN: at once.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Run(Section):
    """When the run ends, which flows are measured, how it is computed."""

    stop: str = "completed"
    """The run ends when every flow has finished or failed; with an instant, then at the latest.
    Unit: time. Range (0s, 1000s]. Source: Paceline.
    """

    warmup: str = "0s"
    """Flows that start before are simulated but not measured. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    measure_end: str = "end"
    """Flows that start at or after this instant are simulated but not measured. Unit: time.
    Range (0s, 1000s]. Source: Paceline.
    """

    engine: Literal["auto", "sequential", "windowed"] = "auto"
    """How events are ordered: by the scenario, one after the other, or in windows of the
    smallest link delay. The results are the same. Source: Paceline.
    """

    stall: str = "10ms"
    """When no flow makes progress for this long, and no timeout that still runs may help, the
    run stops with a diagnosis. With Homa, NDP and ExpressPass four base RTTs at least. It is looked
    for eight times in this time, but every 10 us at most. Unit: time. Range [1us, 1000s]. Source:
    Paceline.
    """

    strict: bool = False
    """Warnings about the scenario are errors, and so are packets that a lossless class drops.
    Source: Paceline.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Series(Section):
    """Time series of queues, rates and windows."""

    interval: str = "10us"
    """From one sample to the next; longer where `samples` are not enough for the run. Unit:
    time. Range [1ns, 1s]. Source: Paceline.
    """

    samples: Literal["auto"] | int = "auto"
    """Samples kept at most: when there are so many, every other one goes and the interval
    doubles. `"auto"`: as many as fit into 1 MiB for all queues that are sampled (those of all
    switch ports, or of `ports` alone with `busiest = 0`), 512 to 4096. `series_interval_ps` of
    `summary.json` is the interval at the end. Range [2, 1000000]. Source: Paceline.
    """

    busiest: int = 8
    """Number of the busiest ports whose queues are sampled. Range [0, 1024]. Source: Paceline."""

    ports: Sequence[str] = ()
    """Ports of switches whose queues are sampled as well. Source: Paceline."""

    flows: Sequence[int] = ()
    """Flow ids whose permitted rates, windows and acknowledged bytes are sampled. Range [0,
    1000000000000]. Source: Paceline.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Packets(Section):
    """Packets one by one, in `packets.bin` and `packets.csv`: what ports sent, trimmed and lost."""

    rows: int = 0
    """Rows kept at most, 64 B each and as much again as CSV: a packet makes one for each link
    that it crosses. 0: packets are not recorded. Range [0, 1000000000]. Source: Paceline.
    """

    ports: Sequence[str] = ()
    """Ports of switches and hosts whose packets are recorded; those of all where there are none.
    Source: Paceline.
    """

    flows: Sequence[int] = ()
    """Flow ids whose packets are recorded; those of all flows, and PFC frames, where there are
    none. Range [0, 1000000000000]. Source: Paceline.
    """

    start: str = "0s"
    """Packets are recorded from here on. Unit: time. Range [0s, 1000s]. Source: Paceline."""

    end: str | None = None
    """Packets are recorded until here; to the end of the run where left out. Unit: time. Range
    (0s, 1000s]. Source: Paceline.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Records(Section):
    """What is recorded beside the flows."""

    queues: Literal["auto", "port", "tier", "off"] = "auto"
    """Exact time-weighted queue histograms: per port, per tier, none, or by the number of ports
    (per port up to 4,096). Source: Paceline.
    """

    links: bool = True
    """Counters of every link. Source: Paceline."""

    pauses: bool = True
    """Pause counters of every port that was paused, and over time how far pauses spread (at the
    samples of `series`). Source: Paceline.
    """

    series: Series = Series()
    """Time series."""

    packets: Packets = Packets()
    """Packets one by one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quirks(Section):
    """Behaviours of the HPCC reference simulator that Paceline does not share."""

    clock_1ns: bool = False
    """Clock of whole nanoseconds; serialisation times truncated as the reference's double
    arithmetic does. Source: HPCC reference simulator.
    """

    insertion_order: bool = False
    """Ties between events go to the one scheduled first. Source: HPCC reference simulator."""

    nic_round_robin: bool = False
    """The NIC's round robin is not adjusted when finished flows are removed, and its pacing
    timer has gaps. Source: HPCC reference simulator.
    """

    reference_random: bool = False
    """Marks and PINT draw the reference's random numbers, in global order of events; `seed` does
    not matter to them. Source: HPCC reference simulator.
    """

    ack_priority_at_hosts: bool = False
    """`host.ack_priority` ends at the host: there ACKs are never paused, switches queue them
    with data. Source: HPCC reference simulator.
    """

    pint_data_only: bool = False
    """PINT measures with data packets only; others reset its clock without being counted.
    Source: HPCC reference simulator.
    """

    unpadded_data: bool = False
    """Data frames shorter than `framing.min_frame` are not padded; ACKs are. Source: HPCC
    reference simulator.
    """

    line_rate_pacing: bool = False
    """Flows are paced at line rate; their rate only sets the window. Source: HPCC reference
    simulator, RATE_BOUND 0.
    """

    link_down: bool = False
    """Packets a failed link takes out of a switch's queue keep their place in its accounts, and
    senders do not notice a new path. Source: HPCC reference simulator, LINK_DOWN.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class SizeFile(Section):
    """A file of points of a cumulative distribution: `bytes probability` per line, the last with
    1, or with 100 in per cent.
    """

    file: str
    """The file. Source: Paceline."""

    sampling: Literal["interpolated", "step"] = "interpolated"
    """What lies between two points. Source: HPCC reference simulator, traffic generator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Load(Section):
    """Offered load."""

    value: float = 0.3
    """Share of the capacity. All sending hosts offer the same, whatever their links. Range (0,
    10]. Source: HPCC, sec. 5.1: 30 %, the normal load.
    """

    bytes: Literal["payload", "wire"] = "payload"
    """Count payload alone, or everything data packets put on the wire. Source: HPCC project
    page: payload over bandwidth.
    """

    of: str = "host"
    """Capacity: all links of the hosts, all uplinks of the top-of-rack switches, or one link
    such as `"tor0->agg1"` (parallel ones together) by its expected share of the flows; nodes are
    named as in `failures.link`. Source: HPCC project page.
    """

    mean: Literal["sampled", "nominal"] = "sampled"
    """Mean flow size: that of the sizes drawn, or the one the distribution's source names.
    Source: HPCC reference simulator, traffic generator.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Poisson(Section):
    """Independent Poisson arrivals at every host, destination uniform over the others. One of
    `end`, `duration` and `max_flows` is needed unless `run.stop` is an instant.
    """

    kind: ClassVar[Literal["poisson"]] = "poisson"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    sizes: str | SizeFile = "websearch@hpcc"
    """Flow sizes: the name of a distribution, one size for all, or a file. Unit: bytes. Range
    [1B, 1TiB]. Source: HPCC, sec. 5.1.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts that send and receive. Source: HPCC, sec. 5.1."""

    end: str | None = None
    """No flow starts at or after this instant. Unit: time. Range (0s, 1000s]. Source: Paceline."""

    duration: str | None = None
    """Length of the arrivals, in place of `end`. Unit: time. Range (0s, 1000s]. Source:
    Paceline.
    """

    max_flows: int | None = None
    """At most this many flows, the first in start order. Range [1, 1000000000000]. Source:
    Paceline.
    """

    load: Load = Load()
    """Offered load."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SynchronousIncast(Section):
    """All senders start at the same instant, `count` times."""

    kind: ClassVar[Literal["incast"]] = "incast"
    mode: ClassVar[Literal["synchronous"]] = "synchronous"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "mode")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    senders: int = 16
    """Hosts that send in one incast. Range [1, 1000000]. Source: Paceline; HPCC, sec. 5.1: 60."""

    random_senders: bool = True
    """Draw the senders anew for each incast; otherwise they are the first of `hosts`. Source:
    HPCC, sec. 5.1.
    """

    receiver: int | str = "random"
    """The receiving host: drawn anew for each incast, or this one. Source: HPCC, sec. 5.1."""

    sizes: str | SizeFile = "500KB"
    """Size of each flow: one size, the name of a distribution, or a file. Unit: bytes. Range
    [1B, 1TiB]. Source: HPCC, sec. 5.1.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts that senders and receivers are drawn from. Source: HPCC, sec. 5.1."""

    count: int = 1
    """Number of incasts. Range [1, 1000000000]. Source: Paceline."""

    period: str = "1ms"
    """From one incast to the next; no effect with one. Unit: time. Range [1ns, 1000s]. Source:
    Paceline.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class StaggeredIncast(Section):
    """One sender starts after the other, `count` times."""

    kind: ClassVar[Literal["incast"]] = "incast"
    mode: ClassVar[Literal["staggered"]] = "staggered"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "mode")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    senders: int = 16
    """Hosts that send in one incast. Range [1, 1000000]. Source: Paceline; HPCC, sec. 5.1: 60."""

    random_senders: bool = True
    """Draw the senders anew for each incast; otherwise they are the first of `hosts`. Source:
    HPCC, sec. 5.1.
    """

    receiver: int | str = "random"
    """The receiving host: drawn anew for each incast, or this one. Source: HPCC, sec. 5.1."""

    sizes: str | SizeFile = "500KB"
    """Size of each flow: one size, the name of a distribution, or a file. Unit: bytes. Range
    [1B, 1TiB]. Source: HPCC, sec. 5.1.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts that senders and receivers are drawn from. Source: HPCC, sec. 5.1."""

    step: str = "10us"
    """From one sender's start to the next one's. Unit: time. Range [1ps, 1000s]. Source:
    Paceline.
    """

    count: int = 1
    """Number of incasts. Range [1, 1000000000]. Source: Paceline."""

    period: str = "1ms"
    """From one incast to the next; no effect with one. Unit: time. Range [1ns, 1000s]. Source:
    Paceline.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class IncastLoad(Section):
    """Offered load of incasts."""

    value: float = 0.02
    """Share of the capacity. Range (0, 10]. Source: HPCC, sec. 5.1: 2 %."""

    bytes: Literal["payload", "wire"] = "payload"
    """Count payload alone, or everything data packets put on the wire. Source: HPCC project
    page: payload over bandwidth.
    """

    of: str = "host"
    """Capacity: all links of the hosts, all uplinks of the top-of-rack switches, or one link
    such as `"tor0->agg1"` (parallel ones together) by its expected share of the flows; nodes are
    named as in `failures.link`. Source: HPCC project page.
    """

    mean: Literal["sampled", "nominal"] = "sampled"
    """Mean flow size: that of the sizes drawn, or the one the distribution's source names.
    Source: HPCC reference simulator, traffic generator.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class PoissonIncast(Section):
    """Incasts arrive as a Poisson process; all senders of one start at the same instant. One of
    `end` and `duration` is needed unless `run.stop` is an instant.
    """

    kind: ClassVar[Literal["incast"]] = "incast"
    mode: ClassVar[Literal["poisson"]] = "poisson"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "mode")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    senders: int = 16
    """Hosts that send in one incast. Range [1, 1000000]. Source: Paceline; HPCC, sec. 5.1: 60."""

    random_senders: bool = True
    """Draw the senders anew for each incast; otherwise they are the first of `hosts`. Source:
    HPCC, sec. 5.1.
    """

    receiver: int | str = "random"
    """The receiving host: drawn anew for each incast, or this one. Source: HPCC, sec. 5.1."""

    sizes: str | SizeFile = "500KB"
    """Size of each flow: one size, the name of a distribution, or a file. Unit: bytes. Range
    [1B, 1TiB]. Source: HPCC, sec. 5.1.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts that senders and receivers are drawn from. Source: HPCC, sec. 5.1."""

    end: str | None = None
    """No incast starts at or after this instant. Unit: time. Range (0s, 1000s]. Source:
    Paceline.
    """

    duration: str | None = None
    """Length of the arrivals, in place of `end`. Unit: time. Range (0s, 1000s]. Source:
    Paceline.
    """

    load: IncastLoad = IncastLoad()
    """Offered load of all incasts together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Permutation(Section):
    """Every host sends one flow and receives one, all at once."""

    kind: ClassVar[Literal["permutation"]] = "permutation"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    sizes: str | SizeFile = "1MiB"
    """Flow sizes: one size, the name of a distribution, or a file. Unit: bytes. Range [1B,
    1TiB]. Source: Paceline.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts that take part. Source: Paceline."""

    shift: Literal["random"] | int = "random"
    """Who sends to whom: drawn for each round, or the host at place i to that at place i +
    shift. Range [1, 4294967295]. Source: Paceline.
    """

    rounds: int = 1
    """Number of rounds. Range [1, 1000000000]. Source: Paceline."""

    period: str = "1ms"
    """From one round to the next; no effect with one. Unit: time. Range [1ns, 1000s]. Source:
    Paceline.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class AllToAll(Section):
    """Every host sends one flow to every other."""

    kind: ClassVar[Literal["all_to_all"]] = "all_to_all"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    sizes: str | SizeFile = "64KiB"
    """Flow sizes: one size, the name of a distribution, or a file. Unit: bytes. Range [1B,
    1TiB]. Source: Paceline.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts that take part. Source: Paceline."""

    step: str = "0s"
    """From a host's start of one flow to that of its next; 0 starts all together. Unit: time.
    Range [0s, 1000s]. Source: Paceline.
    """

    rounds: int = 1
    """Number of rounds. Range [1, 1000000000]. Source: Paceline."""

    period: str = "1ms"
    """From one round to the next; no effect with one. Unit: time. Range [1ns, 1000s]. Source:
    Paceline.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowRow(Section):
    """One flow."""

    start: str = "0s"
    """When it starts, from the workload's `start`. Unit: time. Range [0s, 1000s]. Source:
    Paceline.
    """

    src: int | str
    """The sending host. Source: Paceline."""

    dst: int | str
    """The receiving host. Source: Paceline."""

    bytes: str
    """Payload. Unit: bytes. Range [1B, 1TiB]. Source: Paceline."""

    scheme: str | None = None
    """Name of its scheme, in place of the workload's. Source: Paceline."""

    group: str | None = None
    """Its group, in place of the workload's; may be one that no workload has. Source: Paceline."""

    class_: int | None = None
    """Its class, in place of the workload's. Range [1, 7]. Source: Paceline."""

    rate_cap: str | None = None
    """Its rate limit, in place of the workload's. Unit: bit/s. Range [1Kbps, 10Tbps]. Source:
    Paceline.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Flows(Section):
    """A list of flows, in a file or here; one of the two."""

    kind: ClassVar[Literal["flows"]] = "flows"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    file: str | None = None
    """A flow table (CSV with the columns `start` or `start_ps`, `src`, `dst`, `bytes` and,
    optional, `scheme`, `group`, `class`, `dport`, `rate_cap`; `src` and `dst` are node ids or
    names, a group may be one that no workload has; `paceline export --table` writes one), or a flow
    file of the HPCC reference simulator, whose first flow starts at once and the others as long
    after it as there. Source: Paceline.
    """

    rows: Sequence[FlowRow] = ()
    """The flows, in any order; equal starts keep theirs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosedRpc(Section):
    """Each connection has a fixed number of queries outstanding."""

    kind: ClassVar[Literal["rpc"]] = "rpc"
    mode: ClassVar[Literal["closed"]] = "closed"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "mode")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    clients: Literal["all"] | Sequence[int | str] = "all"
    """Hosts that ask. Source: Paceline."""

    servers: Literal["all"] | Sequence[int | str] = "all"
    """Hosts that answer; a host never asks itself. Source: Paceline."""

    connections: int = 1
    """Connections from each client to each server. Each has one NIC at either end. Range [1,
    100000]. Source: Paceline; buffer-sizing study: 8.
    """

    sizes: str | SizeFile = "4KB"
    """Query sizes: one size, the name of a distribution, or a file. Unit: bytes. Range [1B,
    1TiB]. Source: buffer-sizing study: 4 KB.
    """

    response: str = "64B"
    """Size of a response. Unit: bytes. Range [1B, 1TiB]. Source: Paceline; buffer-sizing study:
    small.
    """

    end: str | None = None
    """No query is issued at or after this instant. Unit: time. Range (0s, 1000s]. Source:
    Paceline.
    """

    duration: str | None = None
    """Time in which queries are issued, in place of `end`. Unit: time. Range (0s, 1000s].
    Source: Paceline.
    """

    outstanding: int = 1
    """Queries outstanding on each connection. Range [1, 1000000]. Source: Paceline;
    buffer-sizing study: 2 and 64.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenRpc(Section):
    """Queries of every client arrive as a Poisson process, spread evenly over its connections."""

    kind: ClassVar[Literal["rpc"]] = "rpc"
    mode: ClassVar[Literal["open"]] = "open"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "mode")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    clients: Literal["all"] | Sequence[int | str] = "all"
    """Hosts that ask. Source: Paceline."""

    servers: Literal["all"] | Sequence[int | str] = "all"
    """Hosts that answer; a host never asks itself. Source: Paceline."""

    connections: int = 1
    """Connections from each client to each server. Each has one NIC at either end. Range [1,
    100000]. Source: Paceline; buffer-sizing study: 8.
    """

    sizes: str | SizeFile = "4KB"
    """Query sizes: one size, the name of a distribution, or a file. Unit: bytes. Range [1B,
    1TiB]. Source: buffer-sizing study: 4 KB.
    """

    response: str = "64B"
    """Size of a response. Unit: bytes. Range [1B, 1TiB]. Source: Paceline; buffer-sizing study:
    small.
    """

    end: str | None = None
    """No query is issued at or after this instant. Unit: time. Range (0s, 1000s]. Source:
    Paceline.
    """

    duration: str | None = None
    """Time in which queries are issued, in place of `end`. Unit: time. Range (0s, 1000s].
    Source: Paceline.
    """

    pick: Literal["random", "idle"] = "random"
    """Which connection to the server gets a query: any, or one with the fewest outstanding, so
    that short queries seldom wait behind long ones. Source: Paceline.
    """

    load: Load = Load()
    """Offered load of the queries."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScatterGather(Section):
    """Queries come to random hosts; each asks a random host in every rack, which asks all other
    hosts of its rack, gathers their replies and answers. `queries.csv` has a row for each. Runs in
    the sequential engine. One of `end`, `duration` and `max_queries` is needed unless `run.stop` is
    an instant.
    """

    kind: ClassVar[Literal["scatter_gather"]] = "scatter_gather"
    chosen: ClassVar[tuple[str, ...]] = ("kind",)

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts that take part; hosts at the same switch are a rack. Source: HotI 2011."""

    interval: str = "1ms"
    """Mean time between two queries to all hosts together; at random instants. Unit: time. Range
    [1ns, 1000s]. Source: HotI 2011: swept; random instants inferred.
    """

    request: str = "20KiB"
    """Size of every request. Unit: bytes. Range [1B, 1TiB]. Source: HotI 2011: queries of 20 KB;
    that requests are so long is inferred.
    """

    response: str = "20KiB"
    """Size of every reply. Unit: bytes. Range [1B, 1TiB]. Source: HotI 2011: 20 KB."""

    connections: Literal["new", "open"] = "new"
    """Which connections carry requests and replies. Source: HotI 2011 (inferred: queries suffer
    from lost SYNs).
    """

    end: str | None = None
    """No query comes at or after this instant. Unit: time. Range (0s, 1000s]. Source: Paceline."""

    duration: str | None = None
    """Time in which queries come, in place of `end`. Unit: time. Range (0s, 1000s]. Source:
    Paceline.
    """

    max_queries: int | None = None
    """At most this many queries. Range [1, 1000000000]. Source: Paceline."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OnOffFlows(Section):
    """Flows start with lognormal gaps while a host is on."""

    kind: ClassVar[Literal["on_off"]] = "on_off"
    mode: ClassVar[Literal["flows"]] = "flows"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "mode")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts that send and receive. Source: Paceline."""

    local: float = 0.7
    """Probability that a flow goes to a host of the same rack; else to one of any other rack.
    Range [0, 1]. Source: HotI 2011: inter-rack to intra-rack 3:7.
    """

    on_median: str = "1ms"
    """Median length of an on period, lognormal. Unit: time. Range [1ns, 100s]. Source: Paceline;
    Benson et al., WREN 2009: lognormal.
    """

    on_sigma: float = 1.0
    """Standard deviation of its logarithm. Range [0, 4]. Source: Paceline."""

    off_sigma: float = 1.0
    """The same of an off period, whose mean follows from the load. Range [0, 4]. Source:
    Paceline.
    """

    end: str | None = None
    """No flow starts at or after this instant. Unit: time. Range (0s, 1000s]. Source: Paceline."""

    duration: str | None = None
    """Length of the arrivals, in place of `end`. Unit: time. Range (0s, 1000s]. Source:
    Paceline.
    """

    sizes: str | SizeFile = "university@trafpy"
    """Flow sizes: the name of a distribution, one size for all, or a file. Unit: bytes. Range
    [1B, 1TiB]. Source: TrafPy, benchmark set v001.
    """

    gap_median: str = "auto"
    """Median gap. `"auto"`: as long as it takes for hosts to be on a third of the time. Unit:
    time. Range [1ns, 100s]. Source: Paceline; Benson et al., WREN 2009: lognormal.
    """

    gap_sigma: float = 1.0
    """Standard deviation of its logarithm. Range [0, 4]. Source: Paceline."""

    load: Load = Load()
    """Offered load; not of one link."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OnOffCbr(Section):
    """One flow for each on period, as many bytes as it sends in that time; meant for a scheme
    over UDP of the same `rate`.
    """

    kind: ClassVar[Literal["on_off"]] = "on_off"
    mode: ClassVar[Literal["cbr"]] = "cbr"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "mode")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts that send and receive. Source: Paceline."""

    local: float = 0.7
    """Probability that a flow goes to a host of the same rack; else to one of any other rack.
    Range [0, 1]. Source: HotI 2011: inter-rack to intra-rack 3:7.
    """

    on_median: str = "1ms"
    """Median length of an on period, lognormal. Unit: time. Range [1ns, 100s]. Source: Paceline;
    Benson et al., WREN 2009: lognormal.
    """

    on_sigma: float = 1.0
    """Standard deviation of its logarithm. Range [0, 4]. Source: Paceline."""

    off_sigma: float = 1.0
    """The same of an off period, whose mean follows from the load. Range [0, 4]. Source:
    Paceline.
    """

    end: str | None = None
    """No flow starts at or after this instant. Unit: time. Range (0s, 1000s]. Source: Paceline."""

    duration: str | None = None
    """Length of the arrivals, in place of `end`. Unit: time. Range (0s, 1000s]. Source:
    Paceline.
    """

    rate: str = "1Gbps"
    """Rate while on, on the wire. Unit: bit/s. Range [1Kbps, 10Tbps]. Source: Paceline."""

    load: Load = Load()
    """Offered load; not of one link."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bt(Section):
    """NAS BT on a square number of ranks."""

    kind: ClassVar[Literal["mpi"]] = "mpi"
    program: ClassVar[Literal["bt"]] = "bt"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "program")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts of the ranks in the order in which they are given; a host has one rank. Source:
    Paceline.
    """

    placement: Literal["in_order", "random"] = "in_order"
    """Which host a rank is on: the i-th has rank i, or they are shuffled. Source: Paceline."""

    eager: str = "32KiB"
    """Largest message that is sent without being asked for. Larger ones are preceded by a
    request and its grant, which are messages too. Unit: bytes. Range [0B, 1TiB]. Source: Paceline;
    customary in MPI over sockets and RDMA: 8 to 64 KiB.
    """

    control: str = "64B"
    """Size of a request and of a grant. Unit: bytes. Range [1B, 1MiB]. Source: Paceline."""

    sends_end: Literal["acknowledged", "arrival"] = "acknowledged"
    """When the sender of a message larger than `eager` may go on: as soon as an acknowledgement
    of its last packet could be there, or at the instant of its arrival, as if it knew (in the
    sequential engine only). Source: Paceline; RDMA completes a send when it is acknowledged.
    """

    connections: Literal["new", "open"] = "open"
    """Which connections carry messages. With `new` the program runs in the sequential engine.
    Source: MPI implementations.
    """

    problem_class: Literal["S", "W", "A", "B", "C", "D", "E", "F"] = "A"
    """Problem class. Source: NPB 3.4."""

    ranks: int | None = None
    """Ranks; as many as hosts where left out. Range [1, 1048576]. Source: Paceline."""

    iterations: int | None = None
    """Time steps; as many as the class has where left out. Range [1, 1000000]. Source: NPB 3.4."""

    compute_rate: float = 1e9
    """Operations per second that a rank computes. Range [1, 1e18]. Source: Paceline: 1 Gop/s."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cg(Section):
    """NAS CG on a power of 2 of ranks."""

    kind: ClassVar[Literal["mpi"]] = "mpi"
    program: ClassVar[Literal["cg"]] = "cg"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "program")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts of the ranks in the order in which they are given; a host has one rank. Source:
    Paceline.
    """

    placement: Literal["in_order", "random"] = "in_order"
    """Which host a rank is on: the i-th has rank i, or they are shuffled. Source: Paceline."""

    eager: str = "32KiB"
    """Largest message that is sent without being asked for. Larger ones are preceded by a
    request and its grant, which are messages too. Unit: bytes. Range [0B, 1TiB]. Source: Paceline;
    customary in MPI over sockets and RDMA: 8 to 64 KiB.
    """

    control: str = "64B"
    """Size of a request and of a grant. Unit: bytes. Range [1B, 1MiB]. Source: Paceline."""

    sends_end: Literal["acknowledged", "arrival"] = "acknowledged"
    """When the sender of a message larger than `eager` may go on: as soon as an acknowledgement
    of its last packet could be there, or at the instant of its arrival, as if it knew (in the
    sequential engine only). Source: Paceline; RDMA completes a send when it is acknowledged.
    """

    connections: Literal["new", "open"] = "open"
    """Which connections carry messages. With `new` the program runs in the sequential engine.
    Source: MPI implementations.
    """

    problem_class: Literal["S", "W", "A", "B", "C", "D", "E", "F"] = "A"
    """Problem class. Source: NPB 3.4."""

    ranks: int | None = None
    """Ranks; as many as hosts where left out. Range [1, 1048576]. Source: Paceline."""

    iterations: int | None = None
    """Outer iterations of 25 steps; as many as the class has where left out. Range [1, 1000000].
    Source: NPB 3.4.
    """

    compute_rate: float = 1e9
    """Operations per second that a rank computes. Range [1, 1e18]. Source: Paceline: 1 Gop/s."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ft(Section):
    """NAS FT on a power of 2 of ranks."""

    kind: ClassVar[Literal["mpi"]] = "mpi"
    program: ClassVar[Literal["ft"]] = "ft"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "program")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts of the ranks in the order in which they are given; a host has one rank. Source:
    Paceline.
    """

    placement: Literal["in_order", "random"] = "in_order"
    """Which host a rank is on: the i-th has rank i, or they are shuffled. Source: Paceline."""

    eager: str = "32KiB"
    """Largest message that is sent without being asked for. Larger ones are preceded by a
    request and its grant, which are messages too. Unit: bytes. Range [0B, 1TiB]. Source: Paceline;
    customary in MPI over sockets and RDMA: 8 to 64 KiB.
    """

    control: str = "64B"
    """Size of a request and of a grant. Unit: bytes. Range [1B, 1MiB]. Source: Paceline."""

    sends_end: Literal["acknowledged", "arrival"] = "acknowledged"
    """When the sender of a message larger than `eager` may go on: as soon as an acknowledgement
    of its last packet could be there, or at the instant of its arrival, as if it knew (in the
    sequential engine only). Source: Paceline; RDMA completes a send when it is acknowledged.
    """

    connections: Literal["new", "open"] = "open"
    """Which connections carry messages. With `new` the program runs in the sequential engine.
    Source: MPI implementations.
    """

    problem_class: Literal["S", "W", "A", "B", "C", "D", "E", "F"] = "A"
    """Problem class. Source: NPB 3.4."""

    ranks: int | None = None
    """Ranks; as many as hosts where left out. Range [1, 1048576]. Source: Paceline."""

    iterations: int | None = None
    """Iterations after the first transform; as many as the class has where left out. Range [1,
    1000000]. Source: NPB 3.4.
    """

    compute_rate: float = 1e9
    """Operations per second that a rank computes. Range [1, 1e18]. Source: Paceline: 1 Gop/s."""

    alltoall: Literal["auto", "bruck", "posted", "pairwise"] = "auto"
    """Algorithm of the transpose; by size with `auto`. Source: MPICH."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Is(Section):
    """NAS IS on a power of 2 of ranks."""

    kind: ClassVar[Literal["mpi"]] = "mpi"
    program: ClassVar[Literal["is"]] = "is"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "program")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts of the ranks in the order in which they are given; a host has one rank. Source:
    Paceline.
    """

    placement: Literal["in_order", "random"] = "in_order"
    """Which host a rank is on: the i-th has rank i, or they are shuffled. Source: Paceline."""

    eager: str = "32KiB"
    """Largest message that is sent without being asked for. Larger ones are preceded by a
    request and its grant, which are messages too. Unit: bytes. Range [0B, 1TiB]. Source: Paceline;
    customary in MPI over sockets and RDMA: 8 to 64 KiB.
    """

    control: str = "64B"
    """Size of a request and of a grant. Unit: bytes. Range [1B, 1MiB]. Source: Paceline."""

    sends_end: Literal["acknowledged", "arrival"] = "acknowledged"
    """When the sender of a message larger than `eager` may go on: as soon as an acknowledgement
    of its last packet could be there, or at the instant of its arrival, as if it knew (in the
    sequential engine only). Source: Paceline; RDMA completes a send when it is acknowledged.
    """

    connections: Literal["new", "open"] = "open"
    """Which connections carry messages. With `new` the program runs in the sequential engine.
    Source: MPI implementations.
    """

    problem_class: Literal["S", "W", "A", "B", "C", "D", "E", "F"] = "A"
    """Problem class. Source: NPB 3.4."""

    ranks: int | None = None
    """Ranks; as many as hosts where left out. Range [1, 1048576]. Source: Paceline."""

    iterations: int | None = None
    """Iterations, the warm-up among them; as many as the class has where left out. Range [1,
    1000000]. Source: NPB 3.4.
    """

    compute_rate: float = 1e9
    """Operations per second that a rank computes. Range [1, 1e18]. Source: Paceline: 1 Gop/s."""

    alltoall: Literal["auto", "bruck", "posted", "pairwise"] = "auto"
    """Algorithm by which ranks tell each other how many keys come; by size with `auto`. Source:
    MPICH.
    """

    allreduce: Literal["auto", "recursive_doubling", "reduce_scatter"] = "auto"
    """Algorithm by which the sizes of buckets are added up; by size with `auto`. Source: MPICH."""

    noise: float = 0.03
    """Largest deviation of a pair's keys from the mean, as a share. Range [0, 1]. Source:
    Paceline.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Mg(Section):
    """NAS MG on a power of 2 of ranks."""

    kind: ClassVar[Literal["mpi"]] = "mpi"
    program: ClassVar[Literal["mg"]] = "mg"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "program")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts of the ranks in the order in which they are given; a host has one rank. Source:
    Paceline.
    """

    placement: Literal["in_order", "random"] = "in_order"
    """Which host a rank is on: the i-th has rank i, or they are shuffled. Source: Paceline."""

    eager: str = "32KiB"
    """Largest message that is sent without being asked for. Larger ones are preceded by a
    request and its grant, which are messages too. Unit: bytes. Range [0B, 1TiB]. Source: Paceline;
    customary in MPI over sockets and RDMA: 8 to 64 KiB.
    """

    control: str = "64B"
    """Size of a request and of a grant. Unit: bytes. Range [1B, 1MiB]. Source: Paceline."""

    sends_end: Literal["acknowledged", "arrival"] = "acknowledged"
    """When the sender of a message larger than `eager` may go on: as soon as an acknowledgement
    of its last packet could be there, or at the instant of its arrival, as if it knew (in the
    sequential engine only). Source: Paceline; RDMA completes a send when it is acknowledged.
    """

    connections: Literal["new", "open"] = "open"
    """Which connections carry messages. With `new` the program runs in the sequential engine.
    Source: MPI implementations.
    """

    problem_class: Literal["S", "W", "A", "B", "C", "D", "E", "F"] = "A"
    """Problem class. Source: NPB 3.4."""

    ranks: int | None = None
    """Ranks; as many as hosts where left out. Range [1, 1048576]. Source: Paceline."""

    iterations: int | None = None
    """V-cycles; as many as the class has where left out. Range [1, 1000000]. Source: NPB 3.4."""

    compute_rate: float = 1e9
    """Operations per second that a rank computes. Range [1, 1e18]. Source: Paceline: 1 Gop/s."""

    allreduce: Literal["auto", "recursive_doubling", "reduce_scatter"] = "auto"
    """Algorithm of the norms' sums; by size with `auto`. Source: MPICH."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wrf(Section):
    """Ranks in a mesh that does not go round compute, then exchange boundaries with their
    neighbours, several times per step.
    """

    kind: ClassVar[Literal["mpi"]] = "mpi"
    program: ClassVar[Literal["wrf"]] = "wrf"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "program")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts of the ranks in the order in which they are given; a host has one rank. Source:
    Paceline.
    """

    placement: Literal["in_order", "random"] = "in_order"
    """Which host a rank is on: the i-th has rank i, or they are shuffled. Source: Paceline."""

    eager: str = "32KiB"
    """Largest message that is sent without being asked for. Larger ones are preceded by a
    request and its grant, which are messages too. Unit: bytes. Range [0B, 1TiB]. Source: Paceline;
    customary in MPI over sockets and RDMA: 8 to 64 KiB.
    """

    control: str = "64B"
    """Size of a request and of a grant. Unit: bytes. Range [1B, 1MiB]. Source: Paceline."""

    sends_end: Literal["acknowledged", "arrival"] = "acknowledged"
    """When the sender of a message larger than `eager` may go on: as soon as an acknowledgement
    of its last packet could be there, or at the instant of its arrival, as if it knew (in the
    sequential engine only). Source: Paceline; RDMA completes a send when it is acknowledged.
    """

    connections: Literal["new", "open"] = "open"
    """Which connections carry messages. With `new` the program runs in the sequential engine.
    Source: MPI implementations.
    """

    ranks: int | None = None
    """Ranks; as many as hosts where left out. Range [1, 1048576]. Source: Paceline."""

    iterations: int = 10
    """Steps. Range [1, 1000000]. Source: Paceline."""

    columns: int | None = None
    """Ranks in a row, east to west; nearest to a square where left out. Range [1, 1048576].
    Source: studies of WRF's traces: 16 of 256 ranks.
    """

    north_south: str = "512KiB"
    """Size of a message to a neighbour north or south. Unit: bytes. Range [0B, 1TiB]. Source:
    Paceline, after studies of WRF's traces: some 100 KB.
    """

    east_west: str = "64KiB"
    """Size of a message to a neighbour east or west. Unit: bytes. Range [0B, 1TiB]. Source:
    Paceline.
    """

    rounds: int = 4
    """Exchanges per step. Range [1, 1000]. Source: Paceline."""

    compute: str = "20ms"
    """Computing per step, shared out over its exchanges. Unit: time. Range [0s, 1000s]. Source:
    Paceline: 10 to 50 ms.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Collective(Section):
    """Ranks compute, then carry out a collective operation together, again and again."""

    kind: ClassVar[Literal["mpi"]] = "mpi"
    program: ClassVar[Literal["collective"]] = "collective"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "program")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts of the ranks in the order in which they are given; a host has one rank. Source:
    Paceline.
    """

    placement: Literal["in_order", "random"] = "in_order"
    """Which host a rank is on: the i-th has rank i, or they are shuffled. Source: Paceline."""

    eager: str = "32KiB"
    """Largest message that is sent without being asked for. Larger ones are preceded by a
    request and its grant, which are messages too. Unit: bytes. Range [0B, 1TiB]. Source: Paceline;
    customary in MPI over sockets and RDMA: 8 to 64 KiB.
    """

    control: str = "64B"
    """Size of a request and of a grant. Unit: bytes. Range [1B, 1MiB]. Source: Paceline."""

    sends_end: Literal["acknowledged", "arrival"] = "acknowledged"
    """When the sender of a message larger than `eager` may go on: as soon as an acknowledgement
    of its last packet could be there, or at the instant of its arrival, as if it knew (in the
    sequential engine only). Source: Paceline; RDMA completes a send when it is acknowledged.
    """

    connections: Literal["new", "open"] = "open"
    """Which connections carry messages. With `new` the program runs in the sequential engine.
    Source: MPI implementations.
    """

    operation: Literal["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast"] = "all_reduce"
    """What they do together. Source: Paceline."""

    algorithm: Literal[
        "auto", "ring", "recursive_doubling", "halving_doubling", "posted", "pairwise", "bruck", "binomial"
    ] = "auto"
    """How: `ring` (not all-to-all), for all-reduce `recursive_doubling` and `halving_doubling`,
    for all-to-all `posted`, `pairwise` and `bruck`, for broadcast `binomial`. With `auto` round a
    ring, but all-to-all and broadcast by size. Source: Patarasuk and Yuan, JPDC 2009; MPICH.
    """

    bytes: str = "16MiB"
    """The whole vector: what a rank has before an all-to-all or reduce-scatter, and after each
    of the others. Among P ranks a block is a P-th of it. Unit: bytes. Range [0B, 1TiB]. Source:
    Paceline.
    """

    channels: int = 1
    """Slices of the vector with which the operation is carried out side by side, none waiting
    for another: while one waits for its next block the links carry the others'. On hosts with
    several NICs they go by these in turn. Range [1, 256]. Source: NCCL: several channels per
    operation.
    """

    ranks: int | None = None
    """Ranks; as many as hosts where left out. Range [1, 1048576]. Source: Paceline."""

    iterations: int = 10
    """How often. Range [1, 1000000]. Source: Paceline."""

    compute: str = "0s"
    """Computing before each operation. Unit: time. Range [0s, 1000s]. Source: Paceline."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal(Section):
    """A schedule in GOAL text, as LogGOPSim and ATLAHS have it."""

    kind: ClassVar[Literal["mpi"]] = "mpi"
    program: ClassVar[Literal["goal"]] = "goal"
    chosen: ClassVar[tuple[str, ...]] = ("kind", "program")

    group: str | None = None
    """Name under which results report its flows; workloads may share one. Default: that of
    `kind`. Source: Paceline.
    """

    scheme: str | None = None
    """Name of the scheme its flows use; may be left out when there is only one, or when each of
    `rows` names its own. Source: Paceline.
    """

    class_: int = 3
    """Traffic class; 0 is kept for control frames. Range [1, 7]. Source: HPCC reference
    simulator: priority group 3.
    """

    start: str = "0s"
    """When it begins; added to every start of a flow table. Unit: time. Range [0s, 1000s].
    Source: Paceline.
    """

    rate_cap: str = "off"
    """Upper limit on the sending rate of each flow, in bytes of frames. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """

    hosts: Literal["all"] | Sequence[int | str] = "all"
    """Hosts of the ranks in the order in which they are given; a host has one rank. Source:
    Paceline.
    """

    placement: Literal["in_order", "random"] = "in_order"
    """Which host a rank is on: the i-th has rank i, or they are shuffled. Source: Paceline."""

    eager: str = "32KiB"
    """Largest message that is sent without being asked for. Larger ones are preceded by a
    request and its grant, which are messages too. Unit: bytes. Range [0B, 1TiB]. Source: Paceline;
    customary in MPI over sockets and RDMA: 8 to 64 KiB.
    """

    control: str = "64B"
    """Size of a request and of a grant. Unit: bytes. Range [1B, 1MiB]. Source: Paceline."""

    sends_end: Literal["acknowledged", "arrival"] = "acknowledged"
    """When the sender of a message larger than `eager` may go on: as soon as an acknowledgement
    of its last packet could be there, or at the instant of its arrival, as if it knew (in the
    sequential engine only). Source: Paceline; RDMA completes a send when it is acknowledged.
    """

    connections: Literal["new", "open"] = "open"
    """Which connections carry messages. With `new` the program runs in the sequential engine.
    Source: MPI implementations.
    """

    file: str
    """The file. Source: Paceline."""

    calc_unit: str = "1ns"
    """Length of one unit of `calc`. Unit: time. Range [1ps, 1s]. Source: LogGOPSim: ns by
    custom.
    """


Workload = (
    Poisson
    | SynchronousIncast
    | StaggeredIncast
    | PoissonIncast
    | Permutation
    | AllToAll
    | Flows
    | ClosedRpc
    | OpenRpc
    | ScatterGather
    | OnOffFlows
    | OnOffCbr
    | Bt
    | Cg
    | Ft
    | Is
    | Mg
    | Wrf
    | Collective
    | Goal
)
"""Traffic of one kind and one scheme."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NoControl(Section):
    """No congestion control: a fixed window and a fixed rate."""

    cc: ClassVar[Literal["none"]] = "none"
    chosen: ClassVar[tuple[str, ...]] = ("cc",)

    window: str = "bdp"
    """Bytes in flight: the bandwidth-delay product (`host.base_rtt`), a size, or no limit. Unit:
    bytes. Range [1B, 1TiB]. Source: HPCC reference simulator, HAS_WIN 1.
    """

    rate: str = "line"
    """Sending rate in bytes of frames (`framing.wire_overhead` comes on top): that of the NIC,
    or a rate up to that. Unit: bit/s. Range [1Kbps, 10Tbps]. Source: Paceline.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Hpcc(Section):
    """HPCC: window and rate from the link utilisation that switches report in every packet
    (INT). A packet has room for five switches; those behind the fifth are not seen, of which a run
    warns. Packets of a flow must keep to one path. Bytes are counted in units of 128 B for each 25
    Gb/s of the fastest host, but no more than a full frame, and queues in units of five eighths of
    that.
    """

    cc: ClassVar[Literal["hpcc"]] = "hpcc"
    chosen: ClassVar[tuple[str, ...]] = ("cc",)

    eta: float = 0.95
    """Target utilisation of a link in bytes of frames; `framing.wire_overhead` comes on top.
    Above 1 a queue is kept. Range (0, 10]. Source: HPCC, sec. 5.1 (0.95); the project page uses
    0.99, and 1.5.
    """

    max_stage: int = 0
    """Rounds of additive increase before a multiplicative adjustment is forced. Range [0, 1000].
    Source: HPCC project page: 0, the 5 of the paper being a typo for the simulations.
    """

    w_ai_rate: str = "50Mbps"
    """Additive increase per round trip, as a rate; the paper's `W_AI` is this times the base
    RTT. Unit: bit/s. Range [0bps, 10Tbps]. Source: HPCC reference simulator, RATE_AI (--hpai 50).
    """

    min_rate: str = "1Gbps"
    """Lowest rate. Unit: bit/s. Range [1Kbps, 10Tbps]. Source: HPCC reference simulator,
    MIN_RATE 1000Mb/s.
    """

    fast_reaction: bool = True
    """React to every ACK against the reference rate, not once per round trip only. Source: HPCC,
    Alg. 1; reference simulator, FAST_REACT 1.
    """

    variable_window: bool = True
    """The window follows the rate; otherwise it stays that of the line rate. Source: HPCC
    reference simulator, VAR_WIN 1.
    """

    window: str = "bdp"
    """Bytes in flight at line rate: the bandwidth-delay product (`host.base_rtt`), or a size.
    Unit: bytes. Range [1B, 1TiB]. Source: HPCC: W_init; reference simulator, HAS_WIN 1.
    """

    start: float = 1.0
    """Rate of a new flow as a share of the line rate. Range [0.0001, 1]. Source: HPCC, sec. 3:
    flows start at line rate.
    """

    multi_rate: bool = False
    """Keep utilisation and rate per hop and send at the lowest, instead of following the busiest
    hop. Not in the paper. Source: HPCC reference simulator, MULTI_RATE 0 in its scripts; not
    compared with its output.
    """

    sample_feedback: bool = False
    """ACKs within a round trip leave out hops whose queue is empty. Not in the paper. Source:
    HPCC reference simulator, SAMPLE_FEEDBACK 0.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class HpccPint(Section):
    """HPCC-PINT: HPCC with the largest link utilisation of the path in one or two bytes, rounded
    at random.
    """

    cc: ClassVar[Literal["hpcc_pint"]] = "hpcc_pint"
    chosen: ClassVar[tuple[str, ...]] = ("cc",)

    eta: float = 0.95
    """Target utilisation of a link in bytes of frames; `framing.wire_overhead` comes on top.
    Above 1 a queue is kept. Range (0, 10]. Source: HPCC, sec. 5.1 (0.95); the project page uses
    0.99, and 1.5.
    """

    max_stage: int = 0
    """Rounds of additive increase before a multiplicative adjustment is forced. Range [0, 1000].
    Source: HPCC project page: 0.
    """

    w_ai_rate: str = "50Mbps"
    """Additive increase per round trip, as a rate; the paper's `W_AI` is this times the base
    RTT. Unit: bit/s. Range [0bps, 10Tbps]. Source: HPCC reference simulator, RATE_AI (--hpai 50).
    """

    min_rate: str = "1Gbps"
    """Lowest rate. Unit: bit/s. Range [1Kbps, 10Tbps]. Source: HPCC reference simulator,
    MIN_RATE 1000Mb/s.
    """

    log_base: float = 1.05
    """Base of the logarithm in which switches write the utilisation, the same for all schemes of
    a run. From about 1.045 on a power fits into one byte. Range [1.001, 2]. Source: HPCC reference
    simulator, PINT_LOG_BASE 1.05.
    """

    probability: float = 1.0
    """Share of the ACKs that count. Range [0.0001, 1]. Source: HPCC reference simulator,
    PINT_PROB 1; PINT, sec. 4.3: p.
    """

    variable_window: bool = True
    """The window follows the rate; otherwise it stays that of the line rate. Source: HPCC
    reference simulator, VAR_WIN 1.
    """

    window: str = "bdp"
    """Bytes in flight at line rate: the bandwidth-delay product (`host.base_rtt`), a size, or no
    limit. Unit: bytes. Range [1B, 1TiB]. Source: HPCC reference simulator, HAS_WIN 1.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Dcqcn(Section):
    """DCQCN: the rate falls with congestion marks and recovers by timers. It needs `switch.ecn`,
    whose thresholds all schemes share. The timers `alpha_interval`, `decrease_interval` and
    `increase_interval` are 1, 4 and 300 us by default, the NIC vendor's; `preset = "paper"` makes
    them the DCQCN paper's 50, 50 and 55 us. As in the HPCC reference simulator each marked packet
    counts as a notification, and there is no byte counter.
    """

    cc: ClassVar[Literal["dcqcn"]] = "dcqcn"
    chosen: ClassVar[tuple[str, ...]] = ("cc",)

    preset: Literal["vendor", "paper"] = "vendor"
    """Timers where not given: the NIC vendor's (1, 4, 300 us) or the DCQCN paper's (50, 50, 55
    us). Source: HPCC, fig. 2, compares the two; reference simulator: scripts dcqcn and dcqcn_paper.
    """

    g: float = 0.00390625
    """Gain of the estimate `alpha` of congestion. Range (0, 1]. Source: DCQCN paper: 1/256;
    reference simulator, EWMA_GAIN.
    """

    alpha_interval: str | None = None
    """From one update of `alpha` to the next. Unit: time. Range [100ns, 1s]. Default: `"1us"`
    (preset `vendor`), `"50us"` (preset `paper`). Source: HPCC reference simulator,
    ALPHA_RESUME_INTERVAL 1 and 50; the DCQCN paper has 55.
    """

    decrease_interval: str | None = None
    """Shortest time from one decrease of the rate to the next. Unit: time. Range [100ns, 1s].
    Default: `"4us"` (preset `vendor`), `"50us"` (preset `paper`). Source: HPCC, fig. 2: Td 4 us
    (vendor), 50 us (DCQCN paper); reference simulator, RATE_DECREASE_INTERVAL.
    """

    increase_interval: str | None = None
    """From one increase of the rate to the next. Unit: time. Range [100ns, 1s]. Default:
    `"300us"` (preset `vendor`), `"55us"` (preset `paper`). Source: HPCC, fig. 2: Ti 300 us
    (vendor), 55 us (DCQCN paper); reference simulator, RP_TIMER.
    """

    fast_recovery: int = 1
    """Increases of fast recovery (F), towards the rate before the decrease, until additive
    increase begins. Range [0, 1000]. Source: HPCC reference simulator, FAST_RECOVERY_TIMES 1; the
    DCQCN paper has 5.
    """

    ai_rate: str = "20Mbps"
    """Additive increase. Made for hosts of 100 Gb/s: take it in proportion elsewhere. Unit:
    bit/s. Range [0bps, 10Tbps]. Source: HPCC reference simulator, RATE_AI 20Mb/s at 100 Gb/s.
    """

    hai_rate: str = "200Mbps"
    """Hyper increase, after the additive one. Made for hosts of 100 Gb/s. Unit: bit/s. Range
    [0bps, 10Tbps]. Source: HPCC reference simulator, RATE_HAI 200Mb/s at 100 Gb/s.
    """

    min_rate: str = "1Gbps"
    """Lowest rate. Unit: bit/s. Range [1Kbps, 10Tbps]. Source: HPCC reference simulator,
    MIN_RATE 1000Mb/s.
    """

    clamp_target_rate: bool = False
    """The rate to recover to falls with every decrease, not only with the first after an
    increase. Source: HPCC reference simulator, CLAMP_TARGET_RATE 0.
    """

    cnp_interval: str = "0s"
    """Notifications sooner than this after the last that counted are ignored. Unit: time. Range
    [0s, 1s]. Source: HPCC reference simulator: every mark counts; the DCQCN paper's N is 50 us.
    """

    variable_window: bool = True
    """The window, where there is one, follows the rate; otherwise it stays that of the line
    rate. Source: HPCC reference simulator, VAR_WIN 1.
    """

    window: str = "off"
    """Bytes in flight at line rate: no limit (DCQCN), the bandwidth-delay product (DCQCN+win;
    `host.base_rtt`), or a size. Unit: bytes. Range [1B, 1TiB]. Source: HPCC, sec. 5: DCQCN and
    DCQCN+win; reference simulator, HAS_WIN.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Timely(Section):
    """TIMELY: the rate follows the round-trip time and its gradient. No help from switches. The
    queues that ACKs meet count as congestion too; the HPCC reference simulator's scripts give ACKs
    priority (`host.ack_priority`, there with `quirks.ack_priority_at_hosts`) with TIMELY, and with
    DCQCN without a window.
    """

    cc: ClassVar[Literal["timely"]] = "timely"
    chosen: ClassVar[tuple[str, ...]] = ("cc",)

    t_low: str = "50us"
    """Below this RTT the rate grows whatever the gradient. Unit: time. Range [0s, 10s]. Source:
    TIMELY paper; reference simulator (fixed there).
    """

    t_high: str = "500us"
    """Above this RTT the rate falls whatever the gradient. Unit: time. Range [0s, 10s]. Source:
    TIMELY paper; reference simulator (fixed there).
    """

    min_rtt: str = "20us"
    """What the difference of two RTTs is divided by to give the gradient. Unit: time. Range
    [1ns, 10s]. Source: TIMELY paper; reference simulator (fixed there).
    """

    ewma: float = 0.875
    """Weight of the newest difference of RTTs. Range (0, 1]. Source: TIMELY, alg. 1: alpha;
    reference simulator (fixed there).
    """

    beta: float = 0.8
    """Multiplicative decrease factor. Range (0, 1]. Source: TIMELY paper; reference simulator
    (fixed there).
    """

    hai_after: int = 5
    """Increases in a row after which `hai_rate` takes the place of `ai_rate`. Range [0, 1000].
    Source: TIMELY paper: N; reference simulator (fixed there).
    """

    ai_rate: str = "100Mbps"
    """Additive increase. Made for hosts of 100 Gb/s: take it in proportion elsewhere. Unit:
    bit/s. Range [0bps, 10Tbps]. Source: HPCC reference simulator, RATE_AI 100Mb/s at 100 Gb/s;
    TIMELY: 10 Mb/s at 10 Gb/s.
    """

    hai_rate: str = "500Mbps"
    """Increase once `hai_after` is reached. Made for hosts of 100 Gb/s. Unit: bit/s. Range
    [0bps, 10Tbps]. Source: HPCC reference simulator, RATE_HAI 500Mb/s at 100 Gb/s; TIMELY: 5 times
    the additive one.
    """

    min_rate: str = "1Gbps"
    """Lowest rate. Unit: bit/s. Range [1Kbps, 10Tbps]. Source: HPCC reference simulator,
    MIN_RATE 1000Mb/s.
    """

    variable_window: bool = True
    """The window, where there is one, follows the rate; otherwise it stays that of the line
    rate. Source: HPCC reference simulator, VAR_WIN 1.
    """

    window: str = "off"
    """Bytes in flight at line rate: no limit (TIMELY), the bandwidth-delay product (TIMELY+win;
    `host.base_rtt`), or a size. Unit: bytes. Range [1B, 1TiB]. Source: HPCC, sec. 5: TIMELY and
    TIMELY+win; reference simulator, HAS_WIN.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Dctcp(Section):
    """DCTCP as a rate: it falls once per window by the share of marked packets, and starts at
    line rate. DCTCP wants switches to mark in one step: `switch.ecn.k_min` and `k_max` of `"300KB"`
    at 100 Gb/s. The thresholds are those of the run, shared by all its schemes; the default ones
    suit DCQCN. Compare schemes that need different ones by separate runs.
    """

    cc: ClassVar[Literal["dctcp"]] = "dctcp"
    chosen: ClassVar[tuple[str, ...]] = ("cc",)

    g: float = 0.0625
    """Gain of the estimate `alpha` of the share of marked packets. Range (0, 1]. Source: DCTCP
    paper: 1/16; reference simulator, EWMA_GAIN.
    """

    ai_rate: str = "615Mbps"
    """Additive increase per round trip, as a rate. Made for hosts of 100 Gb/s. Unit: bit/s.
    Range [0bps, 10Tbps]. Source: HPCC reference simulator, DCTCP_RATE_AI 615Mb/s at 100 Gb/s.
    """

    min_rate: str = "1Gbps"
    """Lowest rate. Unit: bit/s. Range [1Kbps, 10Tbps]. Source: HPCC reference simulator,
    MIN_RATE 1000Mb/s.
    """

    variable_window: bool = True
    """The window follows the rate; otherwise it stays that of the line rate. Source: HPCC
    reference simulator, VAR_WIN 1.
    """

    window: str = "bdp"
    """Bytes in flight at line rate: the bandwidth-delay product (`host.base_rtt`), a size, or no
    limit. Unit: bytes. Range [1B, 1TiB]. Source: HPCC reference simulator, HAS_WIN 1.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class NewReno(Section):
    """TCP with the `NewReno` window: slow start, additive increase, halving. Every flow is a
    connection of its own.
    """

    cc: ClassVar[Literal["new_reno"]] = "new_reno"
    chosen: ClassVar[tuple[str, ...]] = ("cc",)

    abc_limit: int = 2
    """Segments of slow-start growth for one ACK. Range [1, 1000]. Source: RFC 3465: 2; RFC 5681:
    1.
    """

    halving: Literal["flight", "window"] = "flight"
    """What a loss halves: the bytes in flight, or the window in whole segments and with that
    what else differs in FreeBSD (slow start also at ssthresh, a halving with every timeout, at most
    `abc_limit` segments counted for one ACK). Source: RFC 5681, eq. 4; FreeBSD: the window.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Cubic(Section):
    """TCP with the CUBIC window. Every flow is a connection of its own."""

    cc: ClassVar[Literal["cubic"]] = "cubic"
    chosen: ClassVar[tuple[str, ...]] = ("cc",)

    form: Literal["rfc9438", "freebsd2011", "freebsd2011_anew"] = "rfc9438"
    """Which text it follows. Source: RFC 9438; FreeBSD 9."""

    beta: float | None = None
    """Share of the window kept on a loss. Range (0, 0.999]. Default: `0.7` (form `rfc9438`),
    `0.8` (form `freebsd2011`), `0.8` (form `freebsd2011_anew`). Source: RFC 9438, sec. 4.6; FreeBSD
    9.
    """

    c: float = 0.4
    """Steepness, segments per cubed second. Range (0, 1000]. Source: RFC 9438, sec. 5.1."""

    fast_convergence: Literal["auto"] | float = "auto"
    """What a maximum below the last one is multiplied with: half of 1 and `beta`, or a number; 1
    for nothing. Range (0, 1]. Source: RFC 9438, sec. 4.7: (1 + beta) / 2; FreeBSD 9: 0.9, as much
    with its beta.
    """

    abc_limit: int = 2
    """Segments of slow-start growth for one ACK. Range [1, 1000]. Source: RFC 3465: 2."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Vegas(Section):
    """TCP with the Vegas window, which follows the round-trip time. Every flow is a connection
    of its own.
    """

    cc: ClassVar[Literal["vegas"]] = "vegas"
    chosen: ClassVar[tuple[str, ...]] = ("cc",)

    alpha: int = 1
    """The window grows while fewer segments are in queues. Range [0, 1000000]. Source: FreeBSD:
    1; Brakmo and Peterson 1995: 2.
    """

    beta: int = 3
    """The window shrinks while more segments are in queues. Range [0, 1000000]. Source: FreeBSD:
    3; Brakmo and Peterson 1995: 4.
    """

    gamma: Literal["off"] | int = "off"
    """Slow start ends when more segments are in queues. Range [0, 1000000]. Source: FreeBSD: its
    own rule; Brakmo and Peterson 1995: 1; slow start as in Linux, ns-3.
    """

    arithmetic: Literal["exact", "ticks"] = "exact"
    """How it is computed what is queued. Source: Brakmo and Peterson 1995; FreeBSD: ticks."""

    abc_limit: int = 2
    """Segments of slow-start growth for one ACK. Range [1, 1000]. Source: RFC 3465: 2."""

    halving: Literal["flight", "window"] = "window"
    """What a loss halves: the bytes in flight, or the window in whole segments and with that
    what else differs in FreeBSD (slow start also at ssthresh, a halving with every timeout).
    Source: FreeBSD.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class HpccTcp(Section):
    """HPCC over TCP: one probe per round trip collects what switches report (INT) and comes back
    at once; data and ACKs carry nothing. Losses are repaired as `NewReno` repairs them, and do not
    move the window.
    """

    cc: ClassVar[Literal["hpcc_tcp"]] = "hpcc_tcp"
    chosen: ClassVar[tuple[str, ...]] = ("cc",)

    eta: float = 0.95
    """Target utilisation of a link in bytes of frames; `framing.wire_overhead` comes on top.
    Above 1 a queue is kept. Range (0, 10]. Source: HPCC, sec. 5.1.
    """

    max_stage: int = 5
    """Rounds of additive increase before a multiplicative adjustment is forced. Range [0, 1000].
    Source: HPCC, sec. 5.1.
    """

    w_ai_rate: str = "50Mbps"
    """Additive increase per round trip, as a rate; the paper's `W_AI` is this times the base
    RTT. Unit: bit/s. Range [0bps, 10Tbps]. Source: HPCC reference simulator, RATE_AI (--hpai 50).
    """

    min_rate: str = "100Mbps"
    """Lowest rate, which gives the lowest window; `host.tcp.min_window` holds besides. Unit:
    bit/s. Range [1Kbps, 10Tbps]. Source: Paceline.
    """

    window: str = "bdp"
    """Window at line rate: base RTT times line rate, or a size. Unit: bytes. Range [1B, 1TiB].
    Source: HPCC: W_init.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Udp(Section):
    """UDP: datagrams at a fixed rate, delivered or lost. No window, no answers, no repair, no
    ECN; PFC holds them up. A flow is over for its sender when the last datagram has gone. Shares a
    run with schemes over TCP, packet by packet in turn at a host.
    """

    cc: ClassVar[Literal["udp"]] = "udp"
    chosen: ClassVar[tuple[str, ...]] = ("cc",)

    rate: str = "line"
    """Rate of a flow on the wire: that of the NIC, or a rate up to that. Unit: bit/s. Range
    [1Kbps, 10Tbps]. Source: Paceline.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Homa(Section):
    """Homa: short messages at once, long ones as their receiver grants, shortest first, in eight
    priorities. Homa assumes large buffers; over small ones losses are repaired by timeouts, or by
    Aeolus (`first_rtt = "aeolus"`). One transport serves all flows of a run; `workloads.class`,
    `host.rto` and congestion marks mean nothing to it. Hosts put packets into classes 0 to `levels`
    - 1; switches serve them in strict order (`switch.scheduler`).
    """

    cc: ClassVar[Literal["homa"]] = "homa"
    chosen: ClassVar[tuple[str, ...]] = ("cc",)

    first_rtt: Literal["burst", "aeolus", "wait"] = "burst"
    """What a sender does before its receiver has answered. Source: Homa, SIGCOMM 2018, sec. 3.2;
    Aeolus, SIGCOMM 2020, sec. 3.
    """

    rtt_bytes: str = "bdp"
    """Bytes of a message that are sent unasked, and that a receiver keeps on their way: base RTT
    times rate of the fastest host links, or a size. Of frames and what the wire adds to them,
    rounded up to whole packets. Unit: bytes. Range [1B, 1GiB]. Source: Homa, sec. 3.2: RTTbytes.
    """

    levels: int = 8
    """Priorities in use. Range [2, 8]. Source: Homa, sec. 3.4."""

    unscheduled_levels: Literal["auto"] | int = "auto"
    """How many of them, from the highest, unscheduled packets use: by their share of the bytes
    of all messages that the run is expected to have, or so many. Each carries the same number of
    bytes, shorter messages higher. `paceline check` says which sizes separate them. Range [1, 7].
    Source: Homa, sec. 3.4; Homa RFC.
    """

    overcommitment: Literal["auto"] | int = "auto"
    """Messages, of different senders, that a receiver grants at a time: as many as there are
    levels for scheduled packets, or so many. Range [1, 1000]. Source: Homa, sec. 3.5.
    """

    unscheduled_priority: Literal["size", "remaining", "lowest"] = "size"
    """What decides the priority of an unscheduled packet. Source: Homa, sec. 3.4; the authors'
    simulator: remaining.
    """

    cap_outstanding: bool | None = None
    """Grants outstanding over all of a receiver's messages stay within `overcommitment` times
    `rtt_bytes`. Default: `false` (first_rtt `burst`), `true` (first_rtt `aeolus`), `false`
    (first_rtt `wait`). Source: Aeolus needs it to promise that scheduled packets are not lost.
    """

    tail_boost: bool = False
    """A message with less than `rtt_bytes` left has the priority of an unscheduled one of that
    size, if better. Source: the Homa authors' simulator: on.
    """

    resend_timeout: str | None = None
    """A receiver that is owed data and hears nothing this long asks for them again. Granted
    packets may wait long under strict priority: a timer shorter than that sends them twice. Unit:
    time. Range [1us, 100s]. Default: `"5ms"` (first_rtt `burst`), `"10ms"` (first_rtt `aeolus`),
    `"10ms"` (first_rtt `wait`). Source: Homa's Linux module: 5 ms; its ns-3 port: 1 ms; Aeolus,
    sec. 5: 40 us for figure 17, 10 ms in its other results.
    """

    sender_timeout: str | None = None
    """A sender whose message nobody has answered this long repeats its first packet. Unit: time.
    Range [1us, 100s]. Default: `"5ms"` (first_rtt `burst`), `"10ms"` (first_rtt `aeolus`), `"10ms"`
    (first_rtt `wait`). Source: as resend_timeout.
    """

    done_timeout: str = "10ms"
    """A sender that may send nothing more and has heard nothing this long asks whether all has
    arrived. Unit: time. Range [1us, 100s]. Source: Homa's ns-3 port: outbound timeout.
    """

    resend_packets: Literal["auto"] | int = "auto"
    """Most packets asked for at once: the whole first gap, or so many. 1 repairs slowest. Range
    [1, 1000000]. Source: Paceline.
    """

    one_resend_per_peer: bool = True
    """At most one request for repair to a sender at a time. Source: Homa RFC."""

    stop: Literal["first_credit", "never"] | None = None
    """What ends the burst early. Default: `"never"` (first_rtt `burst`), `"first_credit"`
    (first_rtt `aeolus`), `"never"` (first_rtt `wait`). Source: Aeolus; the first grant.
    """

    repair: Literal["lost_first", "new_first"] = "lost_first"
    """Which packets a grant is spent on first. Source: Aeolus, from memory; a variant shows the
    effect.
    """

    resend_open: bool = False
    """When nothing is known to be lost and nothing is new, packets of unknown fate are sent
    again. Source: Paceline.
    """

    pad_last: bool = False
    """Last packets of messages are padded to full size. Source: htsim."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ndp(Section):
    """NDP: a first window at line rate, switches that trim instead of dropping
    (`switch.trimming`), receivers that pull the rest, packet by packet over all paths
    (`routing.choice = "spray"`). One transport serves all flows of a run; `workloads.class`,
    `host.rto` and congestion marks mean nothing to it. Data are in class 1, headers, answers and
    pulls in class 0.
    """

    cc: ClassVar[Literal["ndp"]] = "ndp"
    chosen: ClassVar[tuple[str, ...]] = ("cc",)

    first_rtt: Literal["burst", "aeolus", "wait"] = "burst"
    """What a sender does before its receiver has answered. With `"aeolus"` switches do not trim
    but drop (`switch.selective_drop`). Source: NDP, SIGCOMM 2017, sec. 3.2; Aeolus, SIGCOMM 2020,
    sec. 3.
    """

    first_window: Literal["auto"] | int = "auto"
    """Packets of the first window: base RTT times rate of the fastest host links, and 8 more if
    switches trim; or so many. Range [1, 1000000]. Source: NDP, sec. 3.2 and 6: 30 packets, 23 in
    incasts; a round trip and 8 packets on faster networks.
    """

    pull_spacing: float = 1.0
    """Time between two pulls of a host, in full packets on its link. Range [0.1, 10]. Source:
    NDP, sec. 3.2; htsim: 1/0.99.
    """

    rto: str = "1ms"
    """A packet without an answer for this long is lost; a sender that hears nothing this long
    sends a packet unasked. Unit: time. Range [1us, 100s]. Source: NDP, sec. 3.2.
    """

    rto_jitter: int = 0
    """Each message's timeout lies so many percent around `rto`. Range [0, 100]. Source: NDP
    authors' simulator: 25 in places.
    """

    returned_ack_share: int = 25
    """A returned header is sent again at once when at least so many percent of the recent
    answers were ACKs, as then its path is to blame; 101: not for that reason. Range [0, 101].
    Source: NDP, sec. 3.2.4.
    """

    keep_idle_pulls: bool | None = None
    """A pull that finds nothing to send is kept until there is something. Default: `false`
    (first_rtt `burst`), `true` (first_rtt `aeolus`), `false` (first_rtt `wait`). Source: NDP:
    thrown away; Aeolus needs them for repair.
    """

    pull_limit: Literal["off", "auto"] | int = "off"
    """Pulls that a receiver may have outstanding over all its messages: so many, three first
    windows, or any number: then each message has a window of its own, and senders that were held up
    elsewhere send all of theirs together. Range [1, 1000000]. Source: neither NDP nor Aeolus has
    one; with "auto" NDP over Aeolus loses no scheduled packet.
    """

    pull_missing: bool = True
    """After a probe the receiver pulls once for every packet it lacks. Source: Aeolus."""

    verdict_delay: str = "0s"
    """After a probe's answer packets of unknown fate count as lost only after this long: on
    sprayed paths they may be late. Unit: time. Range [0s, 1s]. Source: Paceline.
    """

    stop: Literal["first_credit", "never"] = "never"
    """What ends the burst early. Source: NDP, sec. 3.2; of Aeolus over NDP the text at hand does
    not say.
    """

    repair: Literal["lost_first", "new_first"] = "lost_first"
    """Which packets a pull is spent on first. Source: Aeolus, from memory; a variant shows the
    effect.
    """

    resend_open: bool = False
    """When nothing is known to be lost and nothing is new, packets of unknown fate are sent
    again. Source: Paceline.
    """

    pad_last: bool = False
    """Last packets of messages are padded to full size. Source: htsim: on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpressPass(Section):
    """ExpressPass: receivers send credits at a rate they control, every port lets credits
    through at the rate of the data they call for, and senders answer each credit with one packet on
    the same path backwards. One transport serves all flows of a run; `workloads.class`, `host.rto`
    and congestion marks mean nothing to it. Credits are in class 0, everything else in class 1;
    with `first_rtt = "burst"`, known as priority queueing, unscheduled packets are in class 2.
    """

    cc: ClassVar[Literal["express_pass"]] = "express_pass"
    chosen: ClassVar[tuple[str, ...]] = ("cc",)

    first_rtt: Literal["burst", "aeolus", "wait"] = "wait"
    """What a sender does before the first credit. `"burst"` is priority queueing: unscheduled
    packets at low priority. Source: ExpressPass, SIGCOMM 2017; Aeolus, SIGCOMM 2020, sec. 5.
    """

    first_bytes: str = "bdp"
    """Bytes of a flow that may go unscheduled: base RTT times rate of the fastest host links, or
    a size. Of frames and what the wire adds to them, rounded up to whole packets. Unit: bytes.
    Range [1B, 1GiB]. Source: Aeolus, sec. 4.
    """

    alpha: float = 0.5
    """First credit rate, as a share of the largest. Range (0, 1]. Source: authors' simulator,
    large-scale script.
    """

    full_rate_packets: int = 40
    """A flow of fewer packets starts in proportion slower. Range [1, 1000000]. Source: authors'
    simulator.
    """

    w_init: float = 0.0625
    """First aggressiveness w. Range (0, 1]. Source: authors' simulator, large-scale script:
    1/16; library: 0.5.
    """

    w_min: float = 0.01
    """Smallest w. Range (0, 1]. Source: ExpressPass, sec. 4: 0.01."""

    w_max: float = 0.5
    """Largest w. Range (0, 1]. Source: ExpressPass, sec. 4: 0.5."""

    w_step: float = 0.05
    """Growth of w with a second update without congestion. Range [0, 1]. Source: authors'
    simulator.
    """

    target_loss: float | None = None
    """Share of credits that may be lost. Range [0, 1]. Default: `0.125` (feedback `simulator`),
    `0.1` (feedback `paper`). Source: authors' simulator, of a flow without rate; paper, of any.
    """

    feedback: Literal["simulator", "paper"] = "simulator"
    """Rule of adaptation. Source: authors' simulator, on which Aeolus was built."""

    jitter: float = 0.1
    """Gaps between credits vary by up to this share. Range [0, 0.999]. Source: authors'
    simulator.
    """

    credit_spread: str = "8B"
    """Credits vary by so many bytes around the smallest frame: it breaks up drops in step. Unit:
    bytes. Range [0B, 32B]. Source: authors' simulator: 76 to 92 bytes.
    """

    early_stop: bool = True
    """Stop credits as soon as those on their way will do: as many as packets remain have come
    within a round trip. Source: authors' simulator.
    """

    credit_queue: int = 8
    """Credits that may wait at a port. Range [1, 100000]. Source: authors' simulator,
    large-scale script; others have 2 and 10.
    """

    credit_burst: int = 2
    """Credits that a port may send in a row after a pause. Range [2, 1000]. Source: authors'
    simulator, large-scale script; library: 10.
    """

    retransmit_timeout: str | None = None
    """Requests, stops, probes and NACKs are repeated after this long. Unit: time. Range [1us,
    100s]. Default: `"100us"` (first_rtt `wait`), `"10ms"` (first_rtt `aeolus`), `"10ms"` (first_rtt
    `burst`). Source: authors' simulator, large-scale script; Aeolus: 10 ms.
    """

    credit_stop_timeout: str = "2ms"
    """Wait for the effect of a credit stop while the round trip is unknown. Unit: time. Range
    [1us, 100s]. Source: authors' simulator.
    """

    credit_timeout: str = "10ms"
    """A sender that waits for credits asks again after so long without any. Unit: time. Range
    [1us, 100s]. Source: Paceline; the authors' simulator waits for ever.
    """

    request_in_probe: bool = False
    """With Aeolus the probe is the request, after the burst, instead of one before it. Source:
    Paceline.
    """

    rto_unscheduled: str = "10ms"
    """Priority queueing: timeout of unscheduled packets. Unit: time. Range [1us, 100s]. Source:
    Aeolus, sec. 5: 10 ms and 20 us.
    """

    rto_scheduled: str = "10ms"
    """Priority queueing: timeout of scheduled packets. Unit: time. Range [1us, 100s]. Source:
    Aeolus, sec. 5: 10 ms.
    """

    late_repair: Literal["on_credit", "at_once"] = "on_credit"
    """Priority queueing: how a late unscheduled packet is sent again. Source: Paceline; the
    paper's text at hand does not say.
    """

    stop: Literal["first_credit", "never"] = "first_credit"
    """What ends the burst early. Source: Aeolus; the first credit."""

    repair: Literal["lost_first", "new_first"] = "lost_first"
    """Which packets a credit is spent on first. Source: Aeolus, from memory; a variant shows the
    effect.
    """

    resend_open: bool = False
    """When nothing is known to be lost and nothing is new, packets of unknown fate are sent
    again. Source: Paceline.
    """


Scheme = (
    NoControl
    | Hpcc
    | HpccPint
    | Dcqcn
    | Timely
    | Dctcp
    | NewReno
    | Cubic
    | Vegas
    | HpccTcp
    | Udp
    | Homa
    | Ndp
    | ExpressPass
)
"""A congestion control with its parameters. Several schemes may share a network; each workload
names the one it uses.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario(Section):
    """A scenario: network, schemes, workloads, and how the run goes."""

    schema: int = 1
    """Version of this schema. Range [1, 1]. Source: Paceline."""

    name: str = "unnamed"
    """Name of the scenario, for result folders and reports. Source: Paceline."""

    seed: int = 1
    """Seed of every random stream. Range [0, 9223372036854775807]. Source: Paceline."""

    failures: Sequence[Failure] = ()
    """Links that fail."""

    topology: Topology
    """Hosts, switches and links."""

    framing: Framing = Framing()
    """Sizes on the wire."""

    switch: Switch = Switch()
    """Switches."""

    host: Host = Host()
    """Hosts and their NICs."""

    routing: Routing = Routing()
    """Choice among shortest paths."""

    run: Run = Run()
    """When the run ends, which flows are measured, how it is computed."""

    records: Records = Records()
    """What is recorded beside the flows."""

    quirks: Quirks = Quirks()
    """Behaviours of the HPCC reference simulator, for comparisons with it."""

    workloads: Sequence[Workload]
    """What the hosts send; at least one."""

    schemes: Mapping[str, Scheme]
    """Congestion control, by name; at least one. Names are 1 to 64 letters, digits, `-` and `_`."""

    def to_toml(self) -> str:
        """Write the scenario as TOML, as the engine and `paceline run` read it, without what is as by default.

        InputError for a part that is of no class that belongs there.
        """
        check_types(self)
        return as_toml(self)
