# %% [markdown]
# # A first simulation from Python
# 16 hosts send to one: what HPCC does to the queue, and what it costs.

# %%
import paceline as pl
from paceline.analysis import nearest_rank


def incast(scheme):
    """Senders 0 to 15, receiver 16, behind one switch."""
    return pl.Scenario(
        name="incast",
        topology=pl.Star(hosts=17),
        schemes={"scheme": scheme},
        workloads=[pl.SynchronousIncast(senders=16, random_senders=False, receiver=16, sizes="500KB")],
        records=pl.Records(series=pl.Series(interval="1us")),
    )


# %%
hpcc = pl.simulate(incast(pl.Hpcc(eta=0.95)))
fixed = pl.simulate(incast(pl.NoControl()))
hpcc

# %% [markdown]
# Results are NumPy columns with units in their names; `.to_pandas()` and `.to_polars()` convert.


# %%
def queue_bytes(results):
    """Bytes waiting at the busiest ports, every microsecond."""
    return results.series["value"][results.series["kind"] == "queue_bytes"]


for name, results in (("HPCC", hpcc), ("fixed window", fixed)):
    slowdown = results.slowdown().value
    queue = queue_bytes(results)
    print(
        f"{name:13} slowdown p50 {nearest_rank(slowdown, 50):.2f}, worst {slowdown.max():.2f}; "
        f"queue on average {queue.mean() / 1000:.1f} KB, at most {queue.max() / 1000:.0f} KB"
    )
