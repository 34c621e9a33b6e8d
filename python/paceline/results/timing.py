"""Where a flow is timed, and what its time is held against; imports nothing heavy, as options of commands need it."""

from typing import Final, Literal, get_args

Baseline = Literal["line_rate", "hpcc", "alone"]
"""What a slowdown is against; :data:`paceline.results.columns.BASELINES` explains them."""
BASELINES: Final[tuple[Baseline, ...]] = get_args(Baseline)

Side = Literal["sender", "receiver"]
"""The end at which a flow is over: with the last acknowledgement at the sender, the last byte at the receiver."""
SIDES: Final[tuple[Side, ...]] = get_args(Side)
