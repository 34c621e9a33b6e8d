"""Packets of flows over time, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from paceline.formats import clean_label, format_sizes
from paceline.plot.style import PALETTE, PAPER, QUIET, legend, style, together
from paceline.plot.timelines import stacked, time_axis, time_unit

Points = tuple[NDArray[Any], NDArray[Any]]
"""Times in ps, ascending, and numbers of packets or bytes."""

_NONE: Points = (np.zeros(0), np.zeros(0))


@dataclass(frozen=True)
class PacketSequence:
    """What became of the packets of a flow, by their numbers; parts may be empty."""

    sent: Points
    """Sent for the first time."""
    again: Points = _NONE
    """Sent again."""
    lost: Points = _NONE
    trimmed: Points = _NONE
    acked: Points = _NONE
    """All below has been acknowledged; holds until the next."""
    in_bytes: bool = False
    """Numbers are those of bytes, not of packets."""

    @property
    def parts(self) -> tuple[Points, ...]:
        """All of them."""
        return (self.sent, self.again, self.lost, self.trimmed, self.acked)


_BLUE, _VERMILION, _GREEN, _BLACK = (PALETTE[i] for i in (0, 1, 2, 4))
_LOOKS: Mapping[str, dict[str, Any]] = {
    "sent": {"color": _BLUE, "marker": "o", "markersize": 1.5, "markeredgewidth": 0},
    "again": {"color": _GREEN, "marker": "^", "markersize": 3, "markerfacecolor": PAPER, "markeredgewidth": 0.7},
    "trimmed": {"color": _BLACK, "marker": "v", "markersize": 2.6, "markeredgewidth": 0},
    "lost": {"color": _VERMILION, "marker": "x", "markersize": 3.4, "markeredgewidth": 0.9},
}
_NAMES = {"sent": "sent", "again": "sent again", "trimmed": "trimmed", "lost": "lost"}
_MOST_POINTS = 600
"""Points of one kind that a panel shows; of more, some that are equally far apart."""

_SILENCE = 0.75
"""Part of the time from first packet to last: where nothing happens for longer, the axis ends before that."""


def sequence_span(flows: Iterable[PacketSequence]) -> tuple[float, float]:
    """From the first packet to the last, in ps.

    Where nothing happens for most of that time, as before a timeout, to the beginning of the silence.
    """
    times = [time for flow in flows for time, _ in flow.parts if len(time)]
    if not times:
        return 0.0, 1.0
    all_times = np.sort(np.concatenate(times))
    start, end = float(all_times[0]), float(all_times[-1])
    gaps = np.diff(all_times)
    if len(gaps) and gaps.max() > _SILENCE * (end - start):
        before = all_times[: int(np.argmax(gaps)) + 1]
        if 2 * len(before) > len(all_times):
            end = 1.02 * float(before[-1])
    return (0.0 if start < end / 4 else start), end


@style()
def packet_sequences(flows: Mapping[str, PacketSequence], *, span: tuple[float, float] | None = None) -> Figure:
    """A panel per flow over one time axis: numbers of the packets that were sent, sent again, lost and acknowledged.

    At most 600 points of a kind are drawn in each. From four flows on the figure is two columns of a paper wide.
    ``span``, in ps, is where the axes of several figures begin and end that are looked at together.
    """
    figure, panels, wide = stacked(len(flows), 1.25)
    start, end = span or sequence_span(flows.values())
    handles: dict[str, Any] = {}
    for k, (ax, (label, flow)) in enumerate(zip(panels, flows.items(), strict=True)):
        if len(flow.acked[0]):
            (handles["acknowledged"],) = ax.step(
                *_thinned(flow.acked), where="post", color=QUIET, linewidth=0.8, zorder=2
            )
        points = {"sent": flow.sent, "again": flow.again, "trimmed": flow.trimmed, "lost": flow.lost}
        for i, (part, found) in enumerate(points.items()):
            if len(found[0]):
                own = {**_LOOKS[part], "linestyle": "none", "zorder": 3 + i}
                ax.plot(*_thinned(found), **own)
                # Shown larger than they are drawn.
                handles[_NAMES[part]] = Line2D([], [], **own | {"markersize": 3.4})
        ax.set_title(clean_label(label, 60), loc="left", fontsize=6.5, pad=2)
        ax.set_ylabel("Byte" if flow.in_bytes else "Packet")
        ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], integer=True))
        if flow.in_bytes:
            ax.yaxis.set_major_formatter(together(format_sizes))
        ax.set_ylim(bottom=0)
        time_axis(ax, start, end, name=False)
        ax.tick_params(labelbottom=k + wide >= len(flows))  # nothing below it
    figure.align_ylabels()
    figure.supxlabel(f"Simulated time ({time_unit(end)[0]})", fontsize=7.5)
    order = [name for name in (*_NAMES.values(), "acknowledged") if name in handles]
    legend(figure, [handles[name] for name in order], order)
    return figure


def _thinned(points: Points) -> Points:
    time, number = points
    if len(time) <= _MOST_POINTS:
        return points
    places = np.linspace(0, len(time) - 1, _MOST_POINTS).astype(int)
    return time[places], number[places]
