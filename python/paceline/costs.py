"""What a run would cost: the engine's estimate, and what Paceline knows beside it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any, Final

from paceline import _native

HOP_COST: Final = {"homa": 1.9, "ndp": 2.2, "express_pass": 2.1, "new_reno": 1.9, "cubic": 1.9, "vegas": 1.9}
"""CPU time per link that a data packet crosses, over that of HPCC, which the engine's estimate is made for.

Measured over the runs of C1 at quick scale, and in docs/performance.md. Their ports take exact steps one by one, and
there is more than one control packet for each data packet.
"""


def size_up(text: str, name: str, overrides: Sequence[str], base: str | None) -> dict[str, Any]:
    """What the engine tells of a scenario without running it, its run time corrected for what the transport costs."""
    found = _native.check(text, name, list(overrides), base)
    schemes = tomllib.loads(found["resolved"])["schemes"].values()
    found["network"] = dict(zip(("hosts", "switches", "links"), found["size"], strict=True))
    found["run_s"] *= max((HOP_COST.get(scheme["cc"], 1.0) for scheme in schemes), default=1.0)
    return found
