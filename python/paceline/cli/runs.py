"""``paceline run``, ``report``, ``timeline`` and ``diff``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from paceline import InputError, _native
from paceline.cli.endings import command, print_json, raise_unless_ended, tell_summary
from paceline.cli.options import AsJson, JsonErrors, Overrides, Progress, Quiet, ScenarioFile
from paceline.errors import ExitCode, plain
from paceline.progress import Mode
from paceline.results.timing import BASELINES, SIDES, Baseline, Side

_STRICT = "run.strict=true"
"""What ``--strict`` sets."""


def run(
    scenario: ScenarioFile,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            readable=False,
            metavar="DIR",
            show_default="results/SCENARIO",
            help="Where the result goes; that of an earlier run there is replaced.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", "-j", metavar="N", show_default="1", help="Threads of the engine; the result is the same."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="S", show_default="the scenario's", help="Seed of all randomness."),
    ] = None,
    overrides: Overrides = None,
    follow_flow: Annotated[
        list[int] | None,
        typer.Option(
            "--follow-flow",
            metavar="ID",
            show_default=False,
            help="Records the permitted rate and the window of this flow over time; may be repeated.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Warnings about the scenario are errors, and so are drops in a lossless class (run.strict).",
        ),
    ] = False,
    progress: Progress = Mode.AUTO,
    quiet: Quiet = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Runs a scenario and writes its result folder.

    Ctrl-C ends the run early and keeps what was simulated until then.

    \b
    Examples:
      paceline run incast.toml
      paceline run incast.toml --out results/seed7 --seed 7
      paceline run incast.toml --set workloads.0.senders=8 --follow-flow 0
    """
    from paceline.run import given_settings, read_scenario, result_folder
    from paceline.run import run as run_scenario

    overrides = [*(overrides or ()), *([_STRICT] if strict else [])]
    # Now: while a run goes on, its scenario may be edited, or go.
    text = read_scenario(scenario)
    try:
        summary = run_scenario(
            scenario,
            out,
            threads=1 if threads is None else threads,
            seed=seed,
            overrides=overrides,
            follow_flows=follow_flow or (),
            progress=Mode.NONE if quiet else progress,
        )
    except InputError as error:
        if strict and error.file == f"--set {_STRICT}":
            raise _native.input_error(error.problem, field="--strict", allowed=error.allowed) from None
        raise
    folder = result_folder(scenario, out)
    if not quiet:
        given = given_settings(text, overrides)
        tell_summary(summary, given=given, received=_received(summary, folder))
        print(f"result in {plain(str(folder))}; `{command('report', folder)}` draws it")
    raise_unless_ended(summary, f"the result until then is in {folder}")


def _received(summary: dict[str, Any], folder: Path) -> dict[str, int] | None:
    """Flows by status at the receiver where a report would count them there."""
    if all(scheme.get("cc") != "udp" for scheme in summary.get("schemes", ())):
        return None  # without waiting for NumPy
    from paceline.results import Results

    results = Results.load(folder)
    return results.flow_counts("receiver") if results.default_side() == "receiver" else None


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(readable=False, metavar="DIR", show_default=False, help="Result folders, one or more."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            readable=False,
            metavar="DIR|FILE.html",
            show_default="the first DIR",
            help="Where the report goes.",
        ),
    ] = None,
    baseline: Annotated[
        Baseline,
        typer.Option(
            "--baseline",
            metavar="|".join(BASELINES),
            help="What slowdowns are against: line rate, the HPCC simulator's formula, or each flow simulated alone.",
        ),
    ] = "line_rate",
    side: Annotated[
        Side | None,
        typer.Option(
            "--side",
            metavar="|".join(SIDES),
            show_default="sender; receiver where flows are over UDP",
            help="Flows are timed to the last acknowledgement, which TCP may delay, or to the last byte received.",
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option("--group", metavar="NAME", show_default="all", help="Times only flows of this workload group."),
    ] = None,
    threads: Annotated[
        int, typer.Option("--threads", "-j", metavar="N", min=1, help="Threads for --baseline alone.")
    ] = 1,
    progress: Progress = Mode.AUTO,
    quiet: Quiet = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Draws results: figures and one HTML page.

    Prints the tables, too, and writes them to tables.md and tables.tex. The page needs no other file. Several folders
    are compared. Tables that a killed run left unwritten are restored first.

    \b
    Examples:
      paceline report results/incast
      paceline report results/hpcc results/none --out results/comparison
      paceline report results/incast --baseline alone
      paceline report results/incast --group incast
    """
    from paceline.report.prepare import prepare
    from paceline.report.text import text
    from paceline.report.write import write_page

    if threads > 1 and baseline != "alone":
        problem, allowed = "has no effect without --baseline alone", "--baseline alone with it, or no --threads"
        raise _native.input_error(problem, field="--threads", value=str(threads), allowed=allowed)
    page, target = prepare(
        folders,
        out,
        baseline=baseline,
        side=side,
        group=group,
        threads=threads,
        progress=Mode.NONE if quiet else progress,
    )
    write_page(page, target)
    if not quiet:
        print(plain(text(page), lines=True), end="")
        print(plain(str(target)))


def timeline(
    folder: Annotated[
        Path, typer.Argument(readable=False, metavar="DIR", show_default=False, help="Result folder of a run.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            readable=False,
            metavar="FILE.json|FILE.json.gz",
            show_default="timeline.json.gz in DIR",
            help="Where the timeline goes.",
        ),
    ] = None,
    flows: Annotated[
        int | None,
        typer.Option(
            "--flows",
            metavar="N",
            min=0,
            show_default="20000",
            help="Shows at most so many flows, and queries: those that took longest.",
        ),
    ] = None,
    quiet: Quiet = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Writes a run as a timeline for Perfetto.

    Flows, queries and ranks on their hosts, with what was sampled (queues, followed flows, pauses), and packets that
    were recorded on their links.
    Open the file at https://ui.perfetto.dev or chrome://tracing; nothing leaves your machine.

    \b
    Examples:
      paceline timeline results/incast
      paceline timeline results/incast --flows 500 -o incast.json
    """
    from paceline.results import Results
    from paceline.timeline import MOST_FLOWS, write_timeline
    from paceline.words import many

    found = write_timeline(Results.load(folder), out, most_flows=MOST_FLOWS if flows is None else flows)
    if quiet:
        return
    held = [many(found.flows, "flow"), many(found.counters, "counter")]
    held += [f"{found.queries:,} {'query' if found.queries == 1 else 'queries'}"] if found.queries else []
    held += [many(found.ranks, "rank")] if found.ranks else []
    held += [many(found.packets, "packet")] if found.packets else []
    print(f"{plain(str(found.file))}: {', '.join(held)}")
    if found.left_out:
        print(f"left out: {found.left_out:,} that took less time; `--flows N` shows more")
    if found.packets_left_out:
        print(f"left out: {many(found.packets_left_out, 'packet')} after the first {found.packets:,}")


def diff(
    first: Annotated[
        Path, typer.Argument(readable=False, metavar="DIR", show_default=False, help="Result folder of a run.")
    ],
    second: Annotated[
        Path, typer.Argument(readable=False, metavar="DIR", show_default=False, help="That of another one.")
    ],
    as_json: AsJson = False,
    _json_errors: JsonErrors = False,
) -> int:
    """Tells whether two runs are the same, and what differs.

    Compares settings, and all that was simulated. Exits with 0 when that is the same to the
    last picosecond, else with 1.

    \b
    Examples:
      paceline diff results/incast /from/a/colleague/incast
      paceline diff results/eta95 results/eta99 --json
    """
    from paceline.differences import compare
    from paceline.results import Results

    found = compare(Results.load(first), Results.load(second))
    if as_json:
        print_json(found.as_json())
    else:
        print(plain(found.text(), lines=True), end="")
    return ExitCode.OK if found.equal else ExitCode.FAILURE
