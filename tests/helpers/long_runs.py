"""A scenario that takes a while: short flows on a small network, so that the file of flows grows all the time."""


def long_run(duration: str) -> str:
    """It as TOML. ``8ms`` take a good quarter of a second of simulating."""
    return f"""
name = "long"
[topology]
kind = "star"
hosts = 16
[schemes.hpcc]
cc = "hpcc"
[[workloads]]
kind = "poisson"
sizes = "20KB"
duration = "{duration}"
load = {{ value = 0.4 }}
"""
