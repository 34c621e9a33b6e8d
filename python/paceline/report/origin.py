"""Sections on where results come from: parameters, versions, how to run again and to cite."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Sequence
from typing import Any

from paceline.formats import format_time
from paceline.report.page import Page, Section
from paceline.results import Results
from paceline.tables import Cell
from paceline.words import many, readable


def parameters(page: Page) -> Section:
    """The schemes with their parameters, and settings that changed nothing."""
    rows: list[tuple[Cell, ...]] = []
    for run, label in page.pairs:
        for scheme in run.summary["schemes"]:
            known = {k: v for k, v in scheme.items() if k not in ("name", "cc")}
            listed = ", ".join(f"{k} = {json.dumps(v)}" for k, v in known.items()) or "defaults"
            rows.append((Cell(label), Cell(str(scheme["name"])), Cell(str(scheme.get("cc", "–"))), Cell(listed)))
    table = page.by_run("Schemes", ("Scheme", "Congestion control", "Parameters"), rows)
    section = Section("parameters", "Parameters", tables=[table])
    rows = []
    for run, label in page.pairs:
        for remark in run.summary["without_effect"]:
            setting, _, why = remark.partition(": ")
            rows.append((Cell(label), Cell(setting), Cell(why)))
    if rows:
        section.folded.append(page.by_run("Settings without effect", ("Setting", "Why"), rows))
    return section


def provenance(page: Page) -> Section:
    """Versions, hashes, engine, network and measuring window."""
    rows: list[tuple[Cell, ...]] = []
    for run, label in page.pairs:
        s, toml = run.summary, run.scenario_toml
        digest = hashlib.sha256(toml.encode()).hexdigest() if toml is not None else "no scenario.toml"
        facts = [
            ("Paceline", f"{s['version']}, commit {s['git'] or 'unknown'}"),
            ("Seed", str(s["seed"])),
            ("Scenario, SHA-256", digest),
            ("Engine", f"{s['engine'].get('kind', '–')} ({readable(str(s['engine'].get('why', '–')))})"),
            ("Threads", str(s["engine"].get("threads", "–"))),
            (
                "Network",
                f"{many(s['hosts'], 'host')}, {many(s['switches'], 'switch', 'es')}, {many(s['links'], 'link')}",
            ),
            ("Measured", _window(s["measure"])),
        ]
        rows += [(Cell(label), Cell(name), Cell(value)) for name, value in facts]
    return Section("provenance", "Provenance", tables=[page.by_run("Where these results come from", ("", ""), rows)])


def _window(measure: dict[str, Any]) -> str:
    start, end = measure["warmup_ps"] or 0, measure["end_ps"]
    until = "" if end is None else f" and before {format_time(end)}"
    return f"flows created at or after {format_time(start)}{until}" if start or until else "all flows"


def rerun(run: Results) -> str:
    """The commands that make this run again."""
    scenario = shlex.quote(f"{run.path.resolve().name}/scenario.toml")
    again = shlex.quote(f"{run.path.resolve().name}-again")
    git = str(run.summary["git"] or "")
    commit = git.removesuffix("-dirty")
    changed = "  # built with changes that were not committed" if commit != git else ""
    # A folder may be anybody's: nothing but a commit's hash goes into a line that is meant to be pasted.
    known = re.fullmatch("[0-9a-f]{7,64}", commit)
    at = f"# in a clone of the source\ngit checkout {commit}{changed}\n" if known else ""
    return f"{at}paceline run {scenario} --out {again}"


def citation(runs: Sequence[Results]) -> str:
    """A BibTeX entry with the versions of the runs."""
    versions = sorted({str(r.summary["version"]) for r in runs})
    commits = sorted({str(r.summary["git"]) for r in runs if r.summary["git"]})
    note = f",\n  note    = {{commit {', '.join(commits)}}}" if commits else ""
    title = "{Paceline}: a packet-level datacenter-network simulator"
    return (
        f"@software{{paceline,\n  author  = {{{{The Paceline authors}}}},\n  title   = {{{title}}},\n"
        f"  version = {{{', '.join(versions)}}}{note}\n}}"
    )
