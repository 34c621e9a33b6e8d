"""``paceline hpcc``, ``export`` and ``htsim``: files of other simulators."""

import csv
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from paceline import _native
from paceline.cli.endings import command, raise_unless_ended, tell_summary
from paceline.cli.options import JsonErrors, Overrides, Progress, Quiet, naming
from paceline.errors import plain
from paceline.progress import Mode
from paceline.words import many


def hpcc(
    config: Annotated[
        Path,
        typer.Argument(
            readable=False, metavar="CONFIG.txt", show_default=False, help="Configuration of the HPCC simulator."
        ),
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
            help="Keeps only this behaviour of the HPCC simulator (`none`: none of them; docs/compatibility.md has the "
            "names); may be repeated.",
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
        str | None,
        typer.Option("--engine", metavar="sequential|windowed", show_default="by the scenario", help="Engine to use."),
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

    if quirk and without_quirk:
        problem, allowed = "leaves out of all behaviours, and --quirk chose some", "either --quirk or --without-quirk"
        raise _native.input_error(problem, field="--without-quirk", value=without_quirk[0], allowed=allowed)
    with naming(quirk="--quirk", without_quirk="--without-quirk", engine="--engine"):
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
        tell_summary(summary, to_stderr=True)
    raise_unless_ended(summary, "the files hold what was simulated until then")


def export(
    source: Annotated[
        Path,
        typer.Argument(
            readable=False, metavar="SCENARIO.toml|DIR", show_default=False, help="Scenario, or result folder of a run."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            readable=False,
            metavar="DIR",
            show_default="NAME-hpcc; of a result folder NAME-fct",
            help="Where they go.",
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--table",
            readable=False,
            metavar="FILE.csv",
            show_default=False,
            help='Writes only the flows of a scenario, as a flow table that kind = "flows" replays to the picosecond.',
        ),
    ] = None,
    overrides: Overrides = None,
    force: Annotated[bool, typer.Option("--force", help="Replaces files that are there.")] = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Writes a scenario or flows as HPCC ns-3 simulator files.

    A scenario for that simulator itself, or `paceline hpcc`; of a result folder the flows, as fct.txt, for scripts
    that read such files. What the files cannot say is told. With --table the flows for Paceline itself.

    \b
    Examples:
      paceline export incast.toml
      paceline export incast.toml --set workloads.0.senders=8 --out eight
      paceline export results/incast
      paceline export incast.toml --table incast-flows.csv
    """
    from paceline.hpcc import FCT, export_results
    from paceline.hpcc import export as export_scenario
    from paceline.results import Results

    of_results = source.is_dir()
    if of_results and overrides:
        problem, allowed = "has no effect on results", "a scenario, or no --set"
        raise _native.input_error(problem, field="--set", value=overrides[0], allowed=allowed)
    if table is not None:
        _save_table(source, table, overrides or (), out, force=force)
        return
    if of_results:
        made = export_results(Results.load(source), out, force=force)
    else:
        made = export_scenario(source, out, overrides=overrides or (), force=force)
    for notice in made.notices:
        print(f"notice: {notice}", file=sys.stderr)
    written = f"{many(made.flows, 'flow')} written"
    if of_results:
        print(f"{written}: {plain(str(made.folder / FCT))}")
    else:
        print(f"{written}; `cd {plain(shlex.quote(str(made.folder)))} && paceline hpcc config.txt` runs them")


def _save_table(source: Path, table: Path, overrides: Sequence[str], out: Path | None, *, force: bool) -> None:
    from paceline.run import save_flows

    if source.is_dir():
        problem, allowed = "is for the flows of a scenario", "a scenario, such as scenario.toml of the folder"
        raise _native.input_error(problem, field="--table", value=str(source), allowed=allowed)
    if out is not None:
        problem, allowed = "not together with --out", "one of the two"
        raise _native.input_error(problem, field="--table", value=str(table), allowed=allowed)
    with naming(file="--table"):
        flows = save_flows(source, table, overrides=overrides, force=force)
    print(f"{many(flows, 'flow')} written: {plain(str(table))}")
    with table.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        column = next(rows).index("scheme")
        schemes = sorted({row[column] for row in rows})
    if len(schemes) > 1:
        # Without it the engine asks which scheme is meant, though each row names one.
        print(
            f"they are of {len(schemes)} schemes, which a scenario needs as well, and "
            f'scheme = "{schemes[0]}" or another where it names the file; each flow keeps its own'
        )


def htsim(
    matrix: Annotated[
        Path, typer.Argument(readable=False, metavar="FILE.cm", show_default=False, help="Connection matrix of htsim.")
    ],
    topo: Annotated[
        Path | None,
        typer.Option("--topo", readable=False, metavar="FILE.topo", show_default="fat tree", help="Topology of htsim."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", readable=False, metavar="NAME.toml", show_default="FILE.toml", help="The scenario to write."
        ),
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

    with naming(mtu="--mtu", cwnd="--cwnd", queue="--queue", linkspeed="--linkspeed", topology="--topo"):
        made = convert(matrix, topo, out, Options(mtu, cwnd, queue, linkspeed), force=force)
    print(f"{many(made.hosts, 'host')}, {many(made.connections, 'flow')}")
    both = plain(f"{made.scenario} and {made.flows}")
    print(f"{both} written; `{command('run', made.scenario)}` runs them")
