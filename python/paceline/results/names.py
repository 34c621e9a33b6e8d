"""What the scenario calls its nodes."""

from __future__ import annotations

import tomllib
from functools import lru_cache

from paceline.results.folder import Results


def node_names(run: Results) -> dict[int, str]:
    """Names of the nodes by number, of a network that the scenario gives as a graph; of others none."""
    return _in_graph(run.scenario_toml or "")


@lru_cache(maxsize=8)
def _in_graph(scenario: str) -> dict[int, str]:
    try:
        topology = tomllib.loads(scenario).get("topology", {})
        if topology.get("kind") != "graph":
            return {}
        # As the engine numbers them: hosts first.
        return {i: str(name) for i, name in enumerate([*topology["hosts"], *topology["switches"]])}
    except (tomllib.TOMLDecodeError, AttributeError, KeyError, TypeError):
        return {}  # somebody has written to it
