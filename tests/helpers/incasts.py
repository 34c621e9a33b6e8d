"""Points of small incasts, as tests of sweeps need them."""

from __future__ import annotations

import paceline as pl


def incast(senders: int, seed: int = 1, **key: int) -> pl.Point:
    scenario = pl.Scenario(
        name=f"incast{senders}",
        topology=pl.Star(hosts=9),
        schemes={"hpcc": pl.Hpcc()},
        workloads=[pl.SynchronousIncast(senders=senders, sizes="20KB")],
    )
    return pl.Point(scenario=scenario, key={"senders": senders, **key}, seed=seed)
