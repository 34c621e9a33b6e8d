"""The command ``paceline``. Thin: each command calls the function of the package that does the work."""

# What a command needs is imported inside it, so that `paceline --help` need not wait for matplotlib.
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from paceline import _native, errors
from paceline.errors import Failure, Interrupted
from paceline.options import (
    AsJson,
    Baseline,
    Cache,
    ExecutorName,
    Jobs,
    JsonErrors,
    Overrides,
    Progress,
    Quiet,
    ScenarioFile,
)
from paceline.progress import Mode

app = typer.Typer(
    name="paceline",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 failure, 2 bad input, 130 interrupted (what was simulated until then is kept).",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json, rest = errors.take_json_flag(given)
    return errors.guard(lambda: app(args=rest, prog_name="paceline", standalone_mode=False), as_json=as_json)


def _print_version(wanted: bool) -> None:
    if wanted:
        revision = _native.git_revision()
        built = f" ({revision[:12]}{'-dirty' if revision.endswith('-dirty') else ''})" if revision else ""
        print(f"paceline {_native.version()}{built}")
        raise typer.Exit


@app.callback()
def paceline(
    context: typer.Context,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Prints the version and exits.")
    ] = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Simulates congestion control in datacenter networks, packet by packet.

    \b
    A first run:
      paceline list
      paceline init incast
      paceline run incast.toml
      paceline report results/incast
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def run(
    scenario: ScenarioFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", show_default="results/SCENARIO", help="Where the result goes."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option("--threads", "-j", metavar="N", show_default="1", help="The result does not depend on it."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="S", show_default="the scenario's", help="Seed of all randomness."),
    ] = None,
    overrides: Overrides = None,
    follow_flow: Annotated[
        list[int] | None,
        typer.Option(
            "--follow-flow", metavar="ID", show_default=False, help="Records rate and window; may be repeated."
        ),
    ] = None,
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
    from paceline.run import result_folder
    from paceline.run import run as run_scenario

    summary = run_scenario(
        scenario,
        out,
        threads=1 if threads is None else threads,
        seed=seed,
        overrides=overrides or (),
        follow_flows=follow_flow or (),
        progress=Mode.NONE if quiet else progress,
    )
    folder = result_folder(scenario, out)
    if not quiet:
        _tell_summary(summary)
        print(f"result in {folder}; `paceline report {folder}` draws it")
    _raise_unless_ended(summary, f"the result until then is in {folder}")


@app.command()
def report(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR", show_default=False, help="Result folders, one or more.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", show_default="the first DIR", help="Where the report goes."),
    ] = None,
    baseline: Annotated[
        Baseline,
        typer.Option(
            "--baseline",
            metavar="|".join(get_args(Baseline)),
            help="What slowdowns are against: line rate, the HPCC simulator's formula, or each flow simulated alone.",
        ),
    ] = "line_rate",
    threads: Annotated[int, typer.Option("--threads", "-j", metavar="N", min=1, help="For flows simulated alone.")] = 1,
    progress: Progress = Mode.AUTO,
    quiet: Quiet = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Draws results: figures and one HTML page.

    Prints the tables, too. The page needs no other file. Several folders are compared. Tables that a killed run left
    unwritten are restored first.

    \b
    Examples:
      paceline report results/incast
      paceline report results/hpcc results/none --out results/comparison
      paceline report results/incast --baseline alone
    """
    from paceline.run import restore

    for folder in folders:
        restore(folder)

    from paceline import queries, tables
    from paceline.report import write_report
    from paceline.results import Results

    runs = [Results.load(folder) for folder in folders]
    if baseline == "alone":
        from paceline import alone

        for run in runs:
            alone.load(run.path, run.flows.rows, threads=threads, progress=Mode.NONE if quiet else progress)
    page = write_report(folders, (out or folders[0]) / "report.html", baseline=baseline)
    if not quiet:
        found = queries.all_groups(runs)
        if found:
            print("\n".join(table.plain() for table in queries.tables(found)))
        if not found or any(run.measured.any() for run in runs):
            print(tables.slowdown_table(runs, baseline=baseline))
        print(tables.figures_table(runs))
        print(page)


@app.command()
def hpcc(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG.txt", show_default=False, help="Configuration of the HPCC simulator.")
    ],
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Warns of what the HPCC simulator would ignore, instead of refusing it.")
    ] = False,
    qlen_dump_ms: Annotated[
        int,
        typer.Option(
            "--qlen-dump-ms",
            metavar="MS",
            min=1,
            max=18_446_744,
            help="Period of the queue histograms, simulated time.",
        ),
    ] = 100,
    quirk: Annotated[
        list[str] | None,
        typer.Option(
            "--quirk",
            metavar="NAME",
            show_default="all",
            help="Keeps only this behaviour of the HPCC simulator (`none`: none of them); may be repeated.",
        ),
    ] = None,
    without_quirk: Annotated[
        list[str] | None,
        typer.Option(
            "--without-quirk",
            metavar="NAME",
            show_default=False,
            help="Keeps all behaviours of the HPCC simulator but this one; may be repeated.",
        ),
    ] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="NAME", show_default="by the scenario", help="Engine to use.")
    ] = None,
    progress: Progress = Mode.AUTO,
    quiet: Quiet = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Runs a configuration of the HPCC ns-3 simulator.

    Writes the files it names; file names in it are relative to the current directory. Standard output stays empty.

    \b
    Examples:
      paceline hpcc config.txt
      paceline hpcc mix/config.txt --lenient --qlen-dump-ms 10
      paceline hpcc config.txt --without-quirk clock_1ns
    """
    from paceline.hpcc import hpcc as run_config

    summary = run_config(
        config,
        lenient=lenient,
        qlen_dump_ms=qlen_dump_ms,
        quirks=None if not quirk else [name for name in quirk if name != "none"],
        without_quirks=without_quirk or (),
        engine=engine,
        progress=Mode.NONE if quiet else progress,
    )
    if not quiet:
        _tell_summary(summary, to_stderr=True)
    _raise_unless_ended(summary, "the files hold what was simulated until then")


@app.command()
def htsim(
    matrix: Annotated[Path, typer.Argument(metavar="FILE.cm", show_default=False, help="Connection matrix of htsim.")],
    topo: Annotated[
        Path | None,
        typer.Option("--topo", metavar="FILE.topo", show_default="fat tree", help="Topology of htsim."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="NAME.toml", show_default="FILE.toml", help="The scenario to write."),
    ] = None,
    mtu: Annotated[int, typer.Option("--mtu", metavar="BYTES", help="Payload of a full packet.")] = 9000,
    cwnd: Annotated[int, typer.Option("--cwnd", metavar="N", help="First window, packets.")] = 30,
    queue: Annotated[int, typer.Option("--queue", metavar="N", help="Packets that wait before a port trims.")] = 8,
    linkspeed: Annotated[
        int | None,
        typer.Option("--linkspeed", metavar="MBPS", show_default="100000", help="Rate of all links; without --topo."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replaces files that are there.")] = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Turns htsim's connection matrix into a scenario.

    Writes NAME.toml and the flow table NAME-flows.csv; NDP has htsim's settings. Triggers, failures and priorities
    of connections are refused.

    \b
    Examples:
      paceline htsim perm.cm && paceline run perm.toml
      paceline htsim perm.cm --topo leaf_spine.topo --mtu 1500 --out spine.toml
    """
    from paceline.htsim.convert import Options, convert

    made = convert(matrix, topo, out, Options(mtu, cwnd, queue, linkspeed), force=force)
    print(f"{made.hosts:,} hosts, {made.connections:,} flows")
    print(f"{made.scenario} and {made.flows} written; `paceline run {made.scenario}` runs them")


mpi = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.add_typer(mpi, name="mpi")


@mpi.callback()
def mpi_schedules() -> None:
    """Writes and reads schedules of message-passing programs.

    \b
    Examples:
      paceline mpi export ft --class B --ranks 64 -o ft.goal
      paceline mpi info ft.goal
    """


@mpi.command("export")
def mpi_export(
    program: Annotated[str, typer.Argument(metavar="bt|cg|ft|is|mg|wrf", show_default=False, help="NAS, or a halo.")],
    ranks: Annotated[int, typer.Option("--ranks", metavar="N", min=1, max=1 << 20, show_default=False, help="Ranks.")],
    problem_class: Annotated[
        str | None, typer.Option("--class", metavar="S|W|A|B|C|D", show_default=False, help="Problem class of NAS.")
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option("--iterations", metavar="N", min=1, max=1_000_000, show_default="the class's", help="Iterations."),
    ] = None,
    compute_rate: Annotated[
        float, typer.Option("--compute-rate", metavar="X", help="Operations per second of a rank.")
    ] = 1e9,
    seed: Annotated[int, typer.Option("--seed", metavar="S", min=0, help="Seed of what is drawn (is).")] = 1,
    alltoall: Annotated[
        str, typer.Option("--alltoall", metavar="auto|bruck|posted|pairwise", help="Algorithm (ft, is).")
    ] = "auto",
    allreduce: Annotated[
        str,
        typer.Option("--allreduce", metavar="auto|recursive_doubling|reduce_scatter", help="Algorithm (is, mg)."),
    ] = "auto",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE.goal", show_default="PROGRAM.goal", help="The schedule to write."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replaces a file that is there.")] = False,
    as_json: AsJson = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Writes a generated program as GOAL text.

    Scenarios (program = "goal"), LogGOPSim and ATLAHS read it.

    \b
    Examples:
      paceline mpi export ft --class B --ranks 64 --iterations 3 -o ft.goal
      paceline mpi export wrf --ranks 256
    """
    from paceline.mpi import export, lines

    target, found = export(
        program,
        out,
        ranks=ranks,
        problem_class=problem_class,
        iterations=iterations,
        compute_rate=compute_rate,
        seed=seed,
        alltoall=alltoall,
        allreduce=allreduce,
        force=force,
    )
    if as_json:
        _print_json(found)
        return
    print("\n".join(lines(found)))
    print(f"{target} written")


@mpi.command("info")
def mpi_info(
    file: Annotated[Path, typer.Argument(metavar="FILE.goal", show_default=False, help="GOAL schedule.")],
    as_json: AsJson = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Says what is in a GOAL schedule.

    Also whether all that is sent is received: the schedule is tried out on a network that takes no time; messages
    above 32 KiB wait for their receive.

    \b
    Examples:
      paceline mpi info ft.goal
    """
    from paceline.mpi import info, lines

    found = info(file)
    if as_json:
        _print_json(found)
    else:
        print("\n".join(lines(found)))


@app.command()
def check(
    scenario: ScenarioFile,
    overrides: Overrides = None,
    resolved: Annotated[bool, typer.Option("--resolved", help="Prints the scenario, all defaults filled in.")] = False,
    as_json: AsJson = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Validates a scenario and sizes up a run of it.

    Network, flows, engine, run time and memory. Nothing is run.

    \b
    Examples:
      paceline check incast.toml
      paceline check incast.toml --set workloads.0.senders=8 --resolved
    """
    from paceline.catalogue import check_lines
    from paceline.run import check as check_scenario

    found = check_scenario(scenario, overrides or ())
    if as_json:
        _print_json(found)
        return
    for warning in found["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    print(found["resolved"].rstrip("\n") if resolved else "\n".join(check_lines(found)))


@app.command()
def reproduce(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", show_default=False, help="Results; see --list.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All results, and a scoreboard over them.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Lists results, with CPU minutes at each scale.")] = False,
    scale: Annotated[
        str,
        typer.Option("--scale", metavar="tiny|quick|paper", help="Size of the runs: seconds, minutes, as published."),
    ] = "quick",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", show_default="results/reproduce/SCALE", help="Where pages go."),
    ] = None,
    cache: Cache = Path("results/cache"),
    executor: ExecutorName = None,
    jobs: Jobs = None,
    recorded: Annotated[
        Path | None,
        typer.Option(
            "--verdicts", metavar="FILE", show_default="Paceline's own", help="Recorded verdicts to compare with."
        ),
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Rewrites the recorded verdicts instead.")] = False,
    as_json: AsJson = False,
    progress: Progress = Mode.AUTO,
    quiet: Quiet = False,
    _json_errors: JsonErrors = False,
) -> int:
    """Regenerates published results and judges them.

    Writes figures, verdicts and the exact scenarios, a page per result. Finished runs are kept: a command that was
    interrupted goes on where it was. Exits with 1 when a verdict or a measured value is not as recorded.

    \b
    Examples:
      paceline reproduce --list
      paceline reproduce H13 --scale tiny
      paceline reproduce --all --executor dask://cluster:8786 --cache /shared/cache
    """
    from paceline.reproduce import command

    if list_:
        command.list_experiments(ids or (), as_json=as_json)
        return 0
    return command.reproduce(
        ids or (),
        everything=everything,
        scale=scale,
        out=out,
        cache=cache,
        executor=executor,
        jobs=jobs,
        recorded=recorded,
        update=update,
        as_json=as_json,
        progress=Mode.NONE if quiet else progress,
        quiet=quiet,
    )


@app.command()
def sweep(
    scenario: ScenarioFile,
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="KEY=A,B,...", show_default=False, help="Values of a field; may be repeated."),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Seeds, from the scenario's on.")] = 1,
    overrides: Overrides = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", show_default="results/SCENARIO-sweep", help="Where the table goes."),
    ] = None,
    cache: Cache = Path("results/cache"),
    executor: ExecutorName = None,
    jobs: Jobs = None,
    progress: Progress = Mode.AUTO,
    quiet: Quiet = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Runs a scenario over values and seeds into one table.

    All combinations of the values; one row per run, in sweep.csv and, with pyarrow, sweep.parquet. Finished runs are
    kept and not run again.

    \b
    Examples:
      paceline sweep incast.toml --vary workloads.0.senders=8,16,32 --seeds 3
      paceline sweep demo.toml --vary workloads.0.scheme=hpcc,none --vary workloads.0.load.value=0.3,0.5
    """
    from paceline.reproduce import command

    command.sweep(
        scenario,
        vary or (),
        seeds=seeds,
        overrides=overrides or (),
        out=out,
        cache=cache,
        executor=executor,
        jobs=jobs,
        progress=Mode.NONE if quiet else progress,
        quiet=quiet,
    )


@app.command("size-buffers")
def size_buffers(
    scenarios: Annotated[list[Path], typer.Argument(metavar="SCENARIO...", help="Scenario files, a curve each.")],
    buffers: Annotated[
        str | None,
        typer.Option(
            "--buffers", metavar="A,B,...", show_default="the scenario's, halved 7 times", help="Sizes to try."
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="KEY=A,B,...", show_default=False, help="Values of a field, a curve each."),
    ] = None,
    p99: Annotated[
        str,
        typer.Option("--p99", metavar="X|Nx|off", help="Largest p99 slowdown, or times that with the largest buffer."),
    ] = "1.1x",
    drops: Annotated[
        str, typer.Option("--drops", metavar="SHARE|off", help="Largest share of data packets dropped, 0 to 1.")
    ] = "0",
    paused: Annotated[
        str, typer.Option("--paused", metavar="SHARE|off", help="Largest share of time any port is paused, 0 to 1.")
    ] = "off",
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Seeds, from the scenario's on.")] = 1,
    overrides: Overrides = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", show_default="results/SCENARIO-buffers", help="Where results go."),
    ] = None,
    cache: Cache = Path("results/cache"),
    executor: ExecutorName = None,
    jobs: Jobs = None,
    progress: Progress = Mode.AUTO,
    quiet: Quiet = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Finds the smallest switch buffer that will do.

    That is one with which slowdown, drops and pauses keep within limits, as with all larger ones tried.

    Runs the scenarios with buffers of several sizes; writes a table (buffers.csv) and a figure. Finished runs are kept
    and not run again.

    \b
    Examples:
      paceline size-buffers incast.toml --buffers 64KB,128KB,256KB,512KB
      paceline size-buffers hpcc.toml dcqcn.toml --vary switch.pfc.alpha=0.0625,0.125 --p99 20 --paused 0.01
    """
    from paceline.reproduce import command

    command.size_buffers(
        scenarios,
        buffers=buffers,
        vary=vary or (),
        p99=p99,
        drops=drops,
        paused=paused,
        seeds=seeds,
        overrides=overrides or (),
        out=out,
        cache=cache,
        executor=executor,
        jobs=jobs,
        progress=Mode.NONE if quiet else progress,
        quiet=quiet,
    )


@app.command()
def explain(
    field: Annotated[
        str, typer.Argument(metavar="FIELD", show_default=False, help="A field of scenarios, or its last part.")
    ],
    _json_errors: JsonErrors = False,
) -> None:
    """Tells what a field of scenarios means.

    Default, unit, range and source.

    \b
    Examples:
      paceline explain switch.ecn.k_max
      paceline explain eta
    """
    print(_native.explain(field).rstrip("\n"))


@app.command()
def init(
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="Template; see `paceline list`.")],
    force: Annotated[bool, typer.Option("--force", help="Replaces NAME.toml if there is one.")] = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Writes a commented starter scenario to NAME.toml.

    \b
    Example:
      paceline init incast && paceline run incast.toml
    """
    text = _native.template(name)
    path = Path(f"{name}.toml")
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Failure(f"{path} exists; --force replaces it") from None
    print(f"{path} written; `paceline run {path}` runs it")


@app.command("list")
def list_(as_json: AsJson = False, _json_errors: JsonErrors = False) -> None:
    """Lists what scenarios can be made of.

    Topologies, workloads, congestion controls, flow sizes, templates.

    \b
    Examples:
      paceline list
      paceline list --json
    """
    catalogue = _native.catalogue()
    if as_json:
        _print_json(catalogue)
        return
    from paceline.catalogue import lines, width

    print("\n".join(lines(catalogue, width())))


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": ["--help"]}
)
def bench(context: typer.Context) -> None:
    """Measures the engine: paceline bench [NAME...] [--json].

    Hands everything to the program `paceline-bench`, which `make setup` builds; that measures itself, without Python.

    \b
    Examples:
      paceline bench
      paceline bench incast --json
    """
    from paceline.bench import bench as run_bench

    run_bench(context.args)


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, indent=2))


def _tell_summary(summary: dict[str, Any], *, to_stderr: bool = False) -> None:
    from paceline.summary import lines

    print("\n".join(lines(summary)), file=sys.stderr if to_stderr else sys.stdout)


def _raise_unless_ended(summary: dict[str, Any], partial: str) -> None:
    """Turns the status of a run into the exit code: stopped by the user, or stuck."""
    if summary.get("status") == "interrupted":
        raise Interrupted(partial)
    if summary.get("status") == "stalled":
        raise Failure(f"no flow made progress any more; {partial}")
