# %% [markdown]
# # A network of your own
# Three racks under two spines, one of which is old: its links have a quarter of the rate. ECMP knows nothing of rates
# and gives it half of the flows. What does that cost, and does it help to take the old spine out?

# %%
import paceline as pl
from paceline.analysis import nearest_rank

RACKS = ["red", "green", "blue"]


def network(spines):
    """Four hosts a rack, `red1` to `blue4`; `spines` maps names of spines to the rates of their links."""
    hosts = [f"{rack}{i}" for rack in RACKS for i in range(1, 5)]
    down = [pl.GraphLink(a=host, b=host[:-1], rate="25Gbps") for host in hosts]
    up = [pl.GraphLink(a=rack, b=spine, rate=rate) for spine, rate in spines.items() for rack in RACKS]
    return pl.GraphTopology(hosts=hosts, switches=[*RACKS, *spines], links=[*down, *up])


def scenario(spines):
    """The hosts of red and blue at half load, green's at one of them now and then; the queues of red's uplinks."""
    return pl.Scenario(
        name="own-network",
        topology=network(spines),
        # As much as these links may still bring after a pause; the default is made for 100 Gb/s.
        switch=pl.Switch(pfc=pl.Pfc(headroom="auto")),
        schemes={"hpcc": pl.Hpcc()},
        # A rack's name stands for its hosts, a host's for itself.
        workloads=[
            pl.Poisson(hosts=["red", "blue"], sizes="100KB", duration="2ms", load=pl.Load(value=0.5)),
            pl.SynchronousIncast(hosts=["green"], senders=3, receiver="blue4", sizes="100KB", count=4, period="500us"),
        ],
        records=pl.Records(series=pl.Series(busiest=0, ports=[f"red->{spine}" for spine in spines])),
    )


# %%
old = pl.simulate(scenario({"new": "100Gbps", "old": "25Gbps"}), "results/own-network/both-spines")
without = pl.simulate(scenario({"new": "100Gbps"}), "results/own-network/new-spine-only")

# %%
for name, results in (("with the old spine", old), ("without it", without)):
    slowdown = results.slowdown().value
    queue = results.series["value"][results.series["kind"] == "queue_bytes"]
    print(
        f"{name:18}  slowdown p50 {nearest_rank(slowdown, 50):.2f}, p99 {nearest_rank(slowdown, 99):.1f}; "
        f"queues of red's uplinks up to {queue.max() / 1000:.0f} KB"
    )
