"""Topologies (``.topo``): trees of two or three tiers, and what they are in a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

from paceline.htsim.matrix import MOST_NODES
from paceline.htsim.text import Line, lines
from paceline.scenario import FatTree, GraphLink, GraphTopology, LeafSpine

KIND: Final = "a topology of htsim"
MOST_LINKS: Final = 1_000_000
MOST_LEAVES: Final = 4096
"""Leaves, and spines, of a leaf-spine in a scenario."""
_HEADER: Final = {"nodes": (2, MOST_NODES), "tiers": (2, 3), "podsize": (1, MOST_NODES)}
_TIER: Final = {
    "downlink_speed_gbps": (1, 10_000),
    "downlink_latency_ns": (1, 5 * 10**8),
    "switch_latency_ns": (0, 5 * 10**8),
    "radix_down": (1, 65_535),
    "radix_up": (1, 65_535),
    "bundle": (1, 1024),
    "oversubscribed": (1, 65_535),
}
_DEFAULT: Final = {"switch_latency_ns": 0, "bundle": 1, "oversubscribed": 1}
_SPELLED: Final = {
    name.lower(): name
    for name in (
        *("Nodes", "Tiers", "Podsize", "Downlink_speed_Gbps", "Downlink_Latency_ns", "Switch_Latency_ns"),
        *("Radix_Down", "Radix_Up", "Bundle", "Oversubscribed"),
    )
}


@dataclass
class Tier:
    """Switches of one height, tier 0 next to the hosts, with the links below them."""

    line: Line
    """Where it begins, or where a value stands that is asked for later."""
    values: dict[str, int] = field(default_factory=dict)
    places: dict[str, Line] = field(default_factory=dict)

    def __getitem__(self, key: str) -> int:
        return self.values.get(key, _DEFAULT.get(key, 0))

    def refuse(self, problem: str, key: str, allowed: str) -> NoReturn:
        """Raises the InputError of a value of this tier, or of its absence."""
        value = str(self[key]) + ("" if key in self.values else " (not given)")
        self.places.get(key, self.line).refuse(problem, _SPELLED[key], value, allowed)


@dataclass(frozen=True)
class Tree:
    """A tree of htsim whose numbers fit together.

    Each lower switch has ``bundle`` links to every switch above it in its pod; aggregation switch i of a pod is linked
    to the cores i, i + A, i + 2 A, ... with A aggregation switches in a pod.
    """

    hosts: int
    tiers: tuple[Tier, ...]
    pods: int
    tors: int
    """Lowest switches in a pod."""
    aggs: int
    """Switches above them in a pod; in two tiers there is one pod."""
    cores: int
    links: int

    @property
    def switch_delay_ns(self) -> int:
        """Time through a switch where it is the same in all tiers, else 0: then it is in the links' delays."""
        delays = {tier["switch_latency_ns"] for tier in self.tiers}
        return delays.pop() if len(delays) == 1 else 0

    def regular(self) -> LeafSpine | FatTree | None:
        """The fat tree or leaf-spine that it is, if it is one."""
        low, above = self.tiers[0], self.tiers[1]
        latencies = {tier["downlink_latency_ns"] for tier in self.tiers}
        even = len(latencies) == 1 and len({tier["switch_latency_ns"] for tier in self.tiers}) == 1
        speeds = {tier["downlink_speed_gbps"] for tier in self.tiers[1:]}
        rates = {
            "host_rate": f"{low['downlink_speed_gbps']}Gbps",
            "fabric_rate": f"{above['downlink_speed_gbps']}Gbps",
            "link_delay": f"{low['downlink_latency_ns']}ns",
        }
        # Beyond these a scenario knows no leaf-spine.
        if even and len(self.tiers) == 2 and max(self.tors, self.aggs) <= MOST_LEAVES:
            return LeafSpine(
                leaves=self.tors,
                spines=self.aggs,
                hosts_per_leaf=low["radix_down"],
                links_per_pair=above["bundle"],
                **rates,
            )
        half, single = self.tors, all(tier["bundle"] == 1 for tier in self.tiers)
        square = self.aggs == half and self.cores == half * half and self.pods == 2 * half
        if even and single and square and len(speeds) == 1 and half <= 64:
            return FatTree(k=2 * half, hosts_per_edge=low["radix_down"], **rates)
        return None

    def graph(self) -> GraphTopology:
        """All links one by one."""
        names = {tier: [f"{tier}{i}" for i in range(n)] for tier, n in self._sizes().items()}
        switches = [*names["tor"], *names["agg"], *names["core"]]
        return GraphTopology(hosts=names["host"], switches=switches, links=list(self._links()))

    def _sizes(self) -> Mapping[str, int]:
        return {"host": self.hosts, "tor": self.tors * self.pods, "agg": self.aggs * self.pods, "core": self.cores}

    def _links(self) -> Iterator[GraphLink]:
        down = self.tiers[0]["radix_down"]
        for host in range(self.hosts):
            yield self._link(f"host{host}", f"tor{host // down}", 0)
        for tor in range(self.tors * self.pods):
            for agg in range(self.aggs):
                for _ in range(self.tiers[1]["bundle"]):
                    yield self._link(f"tor{tor}", f"agg{tor // self.tors * self.aggs + agg}", 1)
        for agg in range(self.aggs * self.pods if self.cores else 0):
            for core in range(agg % self.aggs, self.cores, self.aggs):
                for _ in range(self.tiers[2]["bundle"]):
                    yield self._link(f"agg{agg}", f"core{core}", 2)

    def _link(self, below: str, above: str, tier: int) -> GraphLink:
        values = self.tiers[tier]
        up = down = values["downlink_latency_ns"]
        if not self.switch_delay_ns:  # time through a switch is that of what leaves it
            up += self.tiers[tier - 1]["switch_latency_ns"] if tier else 0
            down += values["switch_latency_ns"]
        back = None if up == down else f"{down}ns"
        rate = f"{values['downlink_speed_gbps']}Gbps"
        return GraphLink(a=below, b=above, rate=rate, delay=f"{up}ns", delay_back=back)


def read(path: Path) -> Tree:
    """Reads a topology. InputError for the first line that is wrong, or for numbers that do not fit together."""
    header: dict[str, tuple[Line, int]] = {}
    tiers: dict[int, Tier] = {}
    now: Tier | None = None
    last = Line(str(path), 1, ())
    for line in lines(path, KIND):
        last, key = line, line.words[0].lower()
        value = line.words[1] if len(line.words) > 1 else None
        if len(line.words) > 2 and not line.words[2].startswith("#"):
            line.refuse("more than one value", line.words[0], " ".join(line.words[1:]), "one whole number")
        if key == "tier":
            number = line.whole("Tier", value, 0, 2)
            if number in tiers:
                line.refuse("there twice", "Tier", value, "each tier once")
            now = tiers[number] = Tier(line)
        elif key in _HEADER and now is None:
            if key in header:
                line.refuse("there twice", line.words[0], value, "once")
            header[key] = (line, line.whole(_SPELLED[key], value, *_HEADER[key]))
        elif key in _TIER and now is not None:
            if key in now.values:
                line.refuse("there twice in a tier", line.words[0], value, "once")
            now.values[key] = line.whole(_SPELLED[key], value, *_TIER[key])
            now.places[key] = line
        elif key in ("queue_up", "queue_down"):
            line.refuse("queues by tier cannot be run", line.words[0], value, "no such line; ``queue`` for all ports")
        else:
            known = _HEADER if now is None else _TIER
            place = "before the first Tier" if now is None else "in a tier"
            allowed = f"{place}: {', '.join(_SPELLED[name] for name in known)}, Tier"
            line.refuse("no such field here", line.words[0], value, allowed)
    for key in _HEADER:
        if key not in header:
            last.refuse("is missing", _SPELLED[key], None, "before the first Tier, with a whole number")
    return _fitted(header, tiers, last)


def _fitted(header: Mapping[str, tuple[Line, int]], tiers: Mapping[int, Tier], last: Line) -> Tree:
    hosts, count, podsize = (header[key][1] for key in _HEADER)
    for number in range(count):
        if number not in tiers:
            last.refuse("is missing", f"Tier {number}", None, f"tiers 0 to {count - 1}, as Tiers says")
    for number, tier in tiers.items():
        if number >= count:
            tier.line.refuse("one too many", "Tier", str(number), f"0 to {count - 1}, as Tiers says")
        wanted = ["downlink_speed_gbps", "downlink_latency_ns", "radix_down"] + ["radix_up"] * (number < count - 1)
        for key in wanted:
            if key not in tier.values:
                tier.line.refuse("is missing", _SPELLED[key], None, f"in tier {number}, with a whole number")
        if number == count - 1 and "radix_up" in tier.values:
            tier.refuse("the highest tier has no links up", "radix_up", "no such line")
    low, above = tiers[0], tiers[1]
    if hosts % podsize or (count == 2 and podsize != hosts):
        allowed = str(hosts) if count == 2 else f"a divisor of Nodes, {hosts}"
        header["podsize"][0].refuse("does not fit", "Podsize", str(podsize), f"{allowed}")
    if low["bundle"] != 1:
        low.refuse("a host has one link", "bundle", "1 in tier 0")
    if podsize % low["radix_down"]:
        low.refuse("does not fit", "radix_down", f"a divisor of Podsize, {podsize}")
    pods, tors = hosts // podsize, podsize // low["radix_down"]
    for number in range(count - 1):
        below, over = tiers[number], tiers[number + 1]
        if below["radix_up"] % over["bundle"]:
            below.refuse("does not fit", "radix_up", f"a multiple of tier {number + 1}'s Bundle, {over['bundle']}")
    aggs = low["radix_up"] // above["bundle"]
    cores = aggs * (above["radix_up"] // tiers[2]["bundle"]) if count == 3 else 0
    reach = {1: (tors, "lower switches in a pod"), 2: (pods, "pods")}
    for number in range(1, count):
        each, what = reach[number]
        bundle = tiers[number]["bundle"]
        if tiers[number]["radix_down"] != each * bundle:
            allowed = f"{each * bundle}: {bundle} to each of the {each} {what}"
            tiers[number].refuse("does not fit", "radix_down", allowed)
    for number in range(count - 1):
        _check_share(tiers[number], tiers[number + 1], number)
    links = hosts + pods * tors * low["radix_up"] + cores * (tiers[2]["radix_down"] if count == 3 else 0)
    if links > MOST_LINKS:
        header["nodes"][0].refuse("too many links", "Nodes", str(hosts), f"up to {MOST_LINKS:,} links; here {links:,}")
    return Tree(hosts, tuple(tiers[number] for number in range(count)), pods, tors, aggs, cores, links)


def _check_share(below: Tier, above: Tier, number: int) -> None:
    """Refuses an oversubscription by which htsim would count other upper switches than the radices say."""
    down = below["downlink_speed_gbps"] * below["radix_down"]
    up = above["downlink_speed_gbps"] * below["radix_up"]
    if down != up * below["oversubscribed"]:
        share = f"{down / up:g}" if down % up == 0 else f"none: {down} Gb/s below and {up} above"
        below.refuse("does not fit speeds and radices", "oversubscribed", f"{share} in tier {number}")
