"""The head of a report: what a reader must know first, and the numbers in large print."""

from __future__ import annotations

import numpy as np

from paceline import analysis
from paceline.formats import format_time
from paceline.report.links import failed
from paceline.report.page import Page
from paceline.results import Baseline, Results, Side
from paceline.tables import flow_texts, slowdown_cell, until
from paceline.words import readable

_SAID = {
    "running, or killed": "This run is going on, or was killed",
    "broken off": "This run broke off",
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
            # Where the last records are missing, as on a full disk, it has got further.
            got = "It got to" if run.summary["simulated_ps"] or not run.is_counted else "Its records go to"
            why += [f"{got} {format_time(run.simulated_ps)} of simulated time."]
            if run.status == "running":
                counters = "" if run.is_counted else ", nor are the counters (–)"
                why.append(
                    f"Flows that had begun or ended after the last record are not known{counters}: "
                    "percentiles are lower bounds (≥)."
                )
                why += [f"Flows, drops and all other counters are those {until(run)}."] if until(run) else []
            else:
                why.append("Percentiles count unfinished flows at their age.")
            found.append((kind, f"{own}{_SAID[run.status_text]}", why))
        if run.summary["counters"]["lossless_drops"]:
            drops = f"{run.summary['counters']['lossless_drops']:,} packets of a lossless class were dropped."
            found.append(("bad", f"{own}Lossless was violated", [drops]))
        if page.side == "sender" and run.default_side() == "receiver":
            said = (
                "A sender of datagrams is done when the last has left: its FCT and slowdown do not show what is lost. "
                "Those of the side receiver do."
            )
            found.append(("warn", f"{own}Flows over UDP are timed at the sender", [said]))
        down = failed(run)
        if down:
            found.append(("info", f"{own}Links failed", down))
        if run.summary["warnings"]:
            found.append(("warn", f"{own}Warnings", [readable(text) for text in run.summary["warnings"]]))
    return found


def _sentence(text: str) -> str:
    """What the engine says in the middle of a line, as a sentence of its own."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def tiles(run: Results, baseline: Baseline, side: Side) -> list[tuple[str, str]]:
    """Headline numbers of a single run."""
    counts, texts = run.flow_counts(side), flow_texts(run, side)
    asked = run.summary.get("queries")
    found = [("queries answered / issued", f"{asked['answered']:,} / {asked['issued']:,}")] if asked else []
    programs = [p for p in run.summary.get("mpi", []) if p["slowdown"]]
    found += [(f"slowdown of {p['group']}", f"{p['slowdown']:.3f}") for p in programs]
    if sum(counts.values()) or not found:
        p50, p99 = analysis.percentiles(run.slowdown(baseline, side), (50.0, 99.0))
        where = "" if run.group is None else ", all groups"
        found += [
            (f"flows finished{where}", texts["finished"]),
            (f"unfinished / failed{where}", f"{texts['running']} / {texts['failed']}"),
            ("median slowdown", slowdown_cell(p50).text),
            ("p99 slowdown", slowdown_cell(p99, 99.0).text),
        ]
    c = run.summary["counters"]
    drops = c["drops_buffer"] + c["drops_wire"] + c["drops_link_down"]
    counted = [("drops", f"{drops:,}"), ("pause frames", f"{c['pause_frames']:,}")]
    return [*found, *((f"{name} {until(run)}".strip(), value if run.is_counted else "–") for name, value in counted)]


def notice_text(page: Page) -> str:
    """:func:`notices` for the terminal, a line for each thing said and a blank one at the end; empty without any."""
    found = ["\n  ".join([f"{heading}:", *said]) + "\n" for _, heading, said in notices(page)]
    return "".join([*found, "\n"]) if found else ""


def schemes(run: Results) -> str:
    """The schemes of its measured flows, queries and programs (or all), with controllers where names do not tell."""
    flows = {run.schemes[int(code)] for code in np.unique(run.measured_codes("scheme"))}
    asked, groups = run.queries, {run.group} if run.group is not None else set(run.summary["groups"])
    queries = {str(name) for name in np.unique(asked["scheme"][np.isin(asked["group"], sorted(groups))])}
    programs = {str(p["scheme"]) for p in run.summary.get("mpi", []) if p["group"] in groups}
    used = flows | queries | programs
    control = {str(s["name"]): str(s.get("cc", "")) for s in run.summary["schemes"]}
    return ", ".join(_with_control(name, control.get(name, "")) for name in run.schemes if name in used or not used)


def _with_control(name: str, control: str) -> str:
    plain = name.lower().replace("-", "_")
    return name if not control or control in plain else f"{name} ({control})"
