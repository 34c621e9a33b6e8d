# %% [markdown]
# # Settings for a network of one's own
# DCQCN's thresholds and timers are made for links of 100 Gb/s. Which suit 32 hosts at 25 Gb/s? Optuna chooses what to
# try, a sweep makes the runs, all cores at once. It needs `.venv/bin/pip install optuna`.
#
# Finished runs are kept (`results/cache`), and the sampler is seeded: run again, even after Ctrl-C, this goes on where
# it was.

# %%
import numpy as np
import optuna

import paceline as pl
from paceline.analysis import nearest_rank

SEEDS = [1, 2]
"""Arrivals on which settings are chosen."""
OTHERS = [11, 12, 13, 14]
"""Arrivals on which they are judged: the best of many is better than it should be on those that chose it."""
ROUNDS, AT_ONCE = 10, 4

# %% [markdown]
# What is tried is a mapping of names to numbers; what they mean stands in the scenario.


# %%
def scenario(k_min, k_max_ratio, p_max, increase_us, ai_mbps):
    """Flows of Hadoop at half load; sizes in KB, times in us, rates in Mb/s."""
    return pl.Scenario(
        name="tune",
        topology=pl.LeafSpine(leaves=4, spines=4, hosts_per_leaf=8, host_rate="25Gbps", fabric_rate="50Gbps"),
        switch=pl.Switch(
            pfc=pl.Pfc(headroom="auto"),
            ecn=pl.Ecn(k_min=f"{k_min}KB", k_max=f"{round(k_min * k_max_ratio)}KB", p_max=p_max, at="25Gbps"),
        ),
        schemes={"dcqcn": pl.Dcqcn(increase_interval=f"{increase_us}us", ai_rate=f"{ai_mbps}Mbps", min_rate="100Mbps")},
        workloads=[pl.Poisson(sizes="hadoop", duration="2ms", load=pl.Load(value=0.5))],
    )


DEFAULTS = {"k_min": 100, "k_max_ratio": 4.0, "p_max": 0.2, "increase_us": 300, "ai_mbps": 20}
"""Those of DCQCN here, the thresholds scaled to 25 Gb/s."""


def asked(trial):
    """Where Optuna looks."""
    return {
        "k_min": trial.suggest_int("k_min", 5, 400, log=True),
        "k_max_ratio": trial.suggest_float("k_max_ratio", 1.0, 10.0, log=True),
        "p_max": trial.suggest_float("p_max", 0.01, 1.0, log=True),
        "increase_us": trial.suggest_int("increase_us", 10, 500, log=True),
        "ai_mbps": trial.suggest_int("ai_mbps", 5, 500, log=True),
    }


def p99(settings, seeds, at_least=0):
    """The p99 slowdown of each of some settings, of flows from so many bytes on: the geometric mean over seeds."""
    points = [
        pl.Point(scenario=scenario(**values), key={"settings": i}, seed=seed)
        for i, values in enumerate(settings)
        for seed in seeds
    ]
    runs = pl.sweep(points)

    def one(run):
        slowdown = run.results().slowdown()
        return nearest_rank(slowdown.value[slowdown.size_bytes >= at_least], 99)

    return [float(np.exp(np.mean([np.log(one(run)) for run in runs.where(settings=i)]))) for i in range(len(settings))]


# %%
optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1, constant_liar=True))
study.enqueue_trial(DEFAULTS)
for _ in range(ROUNDS):
    trials = [study.ask() for _ in range(AT_ONCE)]
    for trial, value in zip(trials, p99([asked(trial) for trial in trials], SEEDS), strict=True):
        study.tell(trial, value)

# %%
best = study.best_params
print(f"best of {len(study.trials)}: {best}")
print("p99 slowdown           where chosen  other arrivals  there, from 100 KB on")
chosen_on = {"defaults": study.trials[0].value, "best": study.best_value}
others, long_flows = (p99([DEFAULTS, best], OTHERS, at_least) for at_least in (0, 100_000))
for (name, value), other, long_flow in zip(chosen_on.items(), others, long_flows, strict=True):
    print(f"{name:22} {value:12.2f} {other:15.2f} {long_flow:22.2f}")
