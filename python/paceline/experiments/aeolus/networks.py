"""The networks of the paper's simulations; what the text at hand leaves open is named in ``README.md``."""

from __future__ import annotations

from typing import Final

from paceline.scenario import GraphLink, GraphTopology, LeafSpine, Star, Topology

HOST_BPS: Final = 100e9


def single_switch(hosts: int, link_delay: str = "1us") -> Star:
    """Hosts at one 100 Gb/s switch (tables 4 and 5 name no delay; 1 µs is the ExpressPass authors' star)."""
    return Star(hosts=hosts, link_delay=link_delay)


def spine_leaf() -> LeafSpine:
    """Figures 17 and 18: 4 spines, 9 leaves, 144 hosts at 100 Gb/s, 400 Gb/s between switches, 0.2 µs per link."""
    return LeafSpine(
        leaves=9, spines=4, hosts_per_leaf=16, host_rate="100Gbps", fabric_rate="400Gbps", link_delay="200ns"
    )


def flat_spine_leaf(spines: int = 8) -> LeafSpine:
    """8 leaves, 8 spines, 64 hosts, all links alike and nothing oversubscribed; base RTT 4.12 µs.

    With ``spines`` of which there are fewer the core carries less than the hosts.
    """
    return LeafSpine(
        leaves=8, spines=spines, hosts_per_leaf=8, host_rate="100Gbps", fabric_rate="100Gbps", link_delay="450ns"
    )


def fat_tree(link_us: float = 4.0, host_us: float = 1.0) -> Topology:
    """The tree of the ExpressPass authors' large-scale script: 192 hosts, 3 to 1 oversubscribed at the racks.

    32 of these with 6 hosts and 2 uplinks each, 16 aggregation and 8 core switches, all links at 100 Gb/s. ``host_us``
    is the time through a host, on its way out.
    """
    hosts = [f"host{i}" for i in range(192)]
    tors, aggs, cores = ([f"{tier}{i}" for i in range(n)] for tier, n in (("tor", 32), ("agg", 16), ("core", 8)))
    delay, out = _ns(link_us), _ns(link_us + host_us)
    links = [GraphLink(a=host, b=tors[i // 6], delay=out, delay_back=delay) for i, host in enumerate(hosts)]
    links += [GraphLink(a=tor, b=aggs[i // 4 * 2 + k], delay=delay) for i, tor in enumerate(tors) for k in (0, 1)]
    links += [GraphLink(a=agg, b=core, delay=delay) for i, agg in enumerate(aggs) for core in cores[i % 2 :: 2]]
    return GraphTopology(hosts=hosts, switches=[*tors, *aggs, *cores], links=links)


def _ns(us: float) -> str:
    return f"{round(us * 1000)}ns"
