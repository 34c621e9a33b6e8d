"""The head of a report: what a reader must know first, and the numbers in large print."""

from __future__ import annotations

import tomllib

import numpy as np

from paceline import analysis
from paceline.report.flows import TCP
from paceline.report.links import failed
from paceline.report.page import Page
from paceline.results import Baseline, Results, Side
from paceline.tables import format_time, slowdown_cell
from paceline.words import readable

_SAID = {
    "running": "This run is going on, or was killed",
    "stopped": "This run stopped at its time limit",
    "interrupted": "This run was interrupted",
    "stalled": "This run stalled",
    "completed": "Diagnosis",
}


def notices(page: Page) -> list[tuple[str, str, list[str]]]:
    """(kind, heading, lines) of what a reader must know before anything else."""
    found = []
    for run, label in page.pairs:
        own = "" if page.alone else f"{label}: "
        diagnosis = run.summary["diagnosis"]
        if run.status != "completed" or diagnosis:
            why = [_sentence(readable(diagnosis))] if diagnosis else []
            kind = "info" if run.status == "stopped" else "bad"
            why += [f"It got to {format_time(run.simulated_ps)} of simulated time."]
            if run.status == "running":
                why.append(
                    "Flows that had begun or ended after the last record are not known, nor are the counters (–): "
                    "percentiles are lower bounds (≥)."
                )
            else:
                why.append("Percentiles count unfinished flows at their age.")
            found.append((kind, f"{own}{_SAID[run.status]}", why))
        if run.summary["counters"]["lossless_drops"]:
            drops = f"{run.summary['counters']['lossless_drops']:,} packets of a lossless class were dropped."
            found.append(("bad", f"{own}Lossless was violated", [drops]))
        if page.side == "sender" and run.default_side() == "receiver":
            said = (
                "A sender of datagrams is done when the last has left: its FCT and slowdown do not show what is lost. "
            )
            found.append(("warn", f"{own}Flows over UDP are timed at the sender", [said + "--side receiver does."]))
        late = _late_acks(run) if page.side == "sender" and page.baseline == "line_rate" else None
        if late:
            found.append(("info", f"{own}Flows over TCP are timed at the sender", [late]))
        down = failed(run)
        if down:
            found.append(("info", f"{own}Links failed", down))
        if run.summary["warnings"]:
            found.append(("warn", f"{own}Warnings", [readable(text) for text in run.summary["warnings"]]))
    return found


_LATE = 10
"""A last acknowledgement that took so many times as long as it had to was held back, or met a queue."""


def _late_acks(run: Results) -> str | None:
    """What delayed ACKs did to times at the sender, if anything: short flows look as if the network had been slow."""
    cc, chosen = [s.get("cc") for s in run.summary["schemes"]], run.flows.where(run.measured)
    over_tcp = np.isin(run.measured_codes("scheme"), [i for i, name in enumerate(cc) if name in TCP])
    sender, receiver, least, least_receiver = (
        chosen[f"{what}_{side}_ps"].astype(np.int64) for what in ("fct", "ideal") for side in ("sender", "receiver")
    )
    late = over_tcp & (sender > 0) & (receiver > 0) & (sender - receiver > _LATE * (least - least_receiver))
    if not late.any():
        return None
    try:
        set_to = tomllib.loads(run.scenario_toml or "").get("host", {}).get("tcp", {}).get("ack_delay")
    except (tomllib.TOMLDecodeError, AttributeError):
        set_to = None  # somebody has written to it
    delayed = f"delayed ACKs, host.tcp.ack_delay {set_to}, hold it back" if set_to else "delayed ACKs hold it back"
    return (
        f"The last acknowledgement of {late.sum():,} of {over_tcp.sum():,} took more than {_LATE} times as long as it "
        f"had to: {delayed}. --side receiver does not count it."
    )


def _sentence(text: str) -> str:
    """What the engine says in the middle of a line, as a sentence of its own."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def tiles(run: Results, baseline: Baseline, side: Side) -> list[tuple[str, str]]:
    """Headline numbers of a single run."""
    counts, known = run.flow_counts(side), run.status != "running"
    asked = run.summary.get("queries")
    found = [("queries answered / issued", f"{asked['answered']:,} / {asked['issued']:,}")] if asked else []
    programs = [p for p in run.summary.get("mpi", []) if p["slowdown"]]
    found += [(f"slowdown of {p['group']}", f"{p['slowdown']:.3f}") for p in programs]
    if sum(counts.values()) or not found:
        p50, p99 = analysis.percentiles(run.slowdown(baseline, side), (50.0, 99.0))
        where = "" if run.group is None else ", all groups"
        unfinished = f"{counts['running']:,}" if known else "–"
        found += [
            (f"flows finished{where}", f"{counts['finished']:,}"),
            (f"unfinished / failed{where}", f"{unfinished} / {counts['failed']:,}"),
            ("median slowdown", slowdown_cell(p50).text),
            ("p99 slowdown", slowdown_cell(p99, 99.0).text),
        ]
    c = run.summary["counters"]
    drops = c["drops_buffer"] + c["drops_wire"] + c["drops_link_down"]
    counted = [("drops", f"{drops:,}"), ("pause frames", f"{c['pause_frames']:,}")]
    return [*found, *((name, value if known else "–") for name, value in counted)]


def notice_text(page: Page) -> str:
    """:func:`notices` for the terminal, a line for each thing said and a blank one at the end; empty without any."""
    found = ["\n  ".join([f"{heading}:", *said]) + "\n" for _, heading, said in notices(page)]
    return "".join([*found, "\n"]) if found else ""


def schemes(run: Results) -> str:
    """The schemes its measured flows use, with controllers where names do not tell; all without such a flow."""
    used = [run.schemes[int(code)] for code in np.unique(run.measured_codes("scheme"))]
    control = {str(s["name"]): str(s.get("cc", "")) for s in run.summary["schemes"]}
    return ", ".join(_with_control(name, control.get(name, "")) for name in used or run.schemes)


def _with_control(name: str, control: str) -> str:
    plain = name.lower().replace("-", "_")
    return name if not control or control in plain else f"{name} ({control})"
