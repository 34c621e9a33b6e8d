"""``paceline reproduce``, ``sweep`` and ``size-buffers``, which run many scenarios: their options and help."""

from pathlib import Path
from typing import Annotated

import typer

from paceline import _native
from paceline.cli.options import (
    AsJson,
    Cache,
    CheckOnly,
    ExecutorName,
    Jobs,
    JsonErrors,
    OneShare,
    Overrides,
    Progress,
    Quiet,
    ScenarioFile,
    Sweeping,
)
from paceline.progress import Mode
from paceline.sweeps import CACHE


def reproduce(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", show_default=False, help="Results; see --list.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All results, and a scoreboard over them.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="Lists results, with CPU minutes at each scale.")] = False,
    scale: Annotated[
        str,
        typer.Option("--scale", metavar="tiny|quick|paper", help="Size of the runs: seconds, minutes, as published."),
    ] = "quick",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", readable=False, metavar="DIR", show_default="results/reproduce/SCALE", help="Where pages go."
        ),
    ] = None,
    cache: Cache = CACHE,
    executor: ExecutorName = None,
    jobs: Jobs = None,
    shard: OneShare = None,
    check: CheckOnly = False,
    recorded: Annotated[
        Path | None,
        typer.Option(
            "--verdicts",
            readable=False,
            metavar="FILE",
            show_default="Paceline's own",
            help="Recorded verdicts to compare with.",
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
      paceline reproduce --all --cache /shared --executor dask://cluster:8786
    """
    from paceline.cli import reproducing

    if list_:
        given = {"--out": out, "--shard": shard, "--check": check, "--verdicts": recorded, "--update": update}
        for option, value in given.items():
            if value:
                raise _native.input_error("has no effect on --list", field=option, allowed="--list without it")
        reproducing.list_experiments(ids or (), scale=scale, as_json=as_json)
        return 0
    return reproducing.reproduce(
        ids or (),
        everything=everything,
        scale=scale,
        out=out,
        recorded=recorded,
        update=update,
        as_json=as_json,
        how=Sweeping.of(cache, executor, jobs, progress, quiet=quiet, shard=shard, check=check),
    )


def sweep(
    scenario: ScenarioFile,
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="KEY=A,B,...", show_default=False, help="Values of a field; may be repeated."),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            "--case",
            metavar='"NAME: KEY=A; KEY=B"',
            show_default=False,
            help="Fields set together, as a value of one more axis; may be repeated.",
        ),
    ] = None,
    ablate: Annotated[
        bool,
        typer.Option(
            "--ablate", help="A case for each setting that the scenario gives, with that setting as by default."
        ),
    ] = False,
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Seeds, from the scenario's on.")] = 1,
    group: Annotated[
        str | None,
        typer.Option("--group", metavar="NAME", show_default="all", help="Times only flows of this workload group."),
    ] = None,
    overrides: Overrides = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            readable=False,
            metavar="DIR",
            show_default="results/SCENARIO-sweep",
            help="Where the table goes.",
        ),
    ] = None,
    cache: Cache = CACHE,
    executor: ExecutorName = None,
    jobs: Jobs = None,
    shard: OneShare = None,
    check: CheckOnly = False,
    progress: Progress = Mode.AUTO,
    quiet: Quiet = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Runs a scenario over values and seeds into one table.

    All combinations of the values; one row per run, in sweep.csv and, with pyarrow, sweep.parquet; printed are means
    over the seeds, and drawn where a field has three or more numbers. Finished runs are kept and not run again.

    \b
    Examples:
      paceline sweep incast.toml --vary workloads.0.senders=8,16,32 --seeds 3
      paceline sweep demo.toml --vary workloads.0.scheme=hpcc,none \\
        --vary workloads.0.load.value=0.3,0.5
      paceline sweep s.toml --case "a: schemes.s.cc=hpcc" \\
        --case "b: schemes.s.cc=dctcp; switch.ecn.p_max=1"
      paceline sweep s.toml --ablate
    """
    from paceline.cli import sweeping

    sweeping.sweep(
        scenario,
        vary or (),
        cases=case or (),
        ablate=ablate,
        seeds=seeds,
        group=group,
        overrides=overrides or (),
        out=out,
        how=Sweeping.of(cache, executor, jobs, progress, quiet=quiet, shard=shard, check=check),
    )


def size_buffers(
    scenarios: Annotated[
        list[Path], typer.Argument(readable=False, metavar="SCENARIO.toml", help="Scenario files, a curve each.")
    ],
    buffers: Annotated[
        str | None,
        typer.Option(
            "--buffers", metavar="A,B,...", show_default="the scenario's, halved up to 7 times", help="Sizes to try."
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
        typer.Option(
            "--out",
            "-o",
            readable=False,
            metavar="DIR",
            show_default="results/SCENARIO-buffers",
            help="Where results go.",
        ),
    ] = None,
    cache: Cache = CACHE,
    executor: ExecutorName = None,
    jobs: Jobs = None,
    shard: OneShare = None,
    check: CheckOnly = False,
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
      paceline size-buffers incast.toml --buffers 1MB,2MB,4MB,8MB
      paceline size-buffers hpcc.toml dcqcn.toml --p99 20 --paused 0.01 \\
        --vary switch.pfc.alpha=0.0625,0.125
    """
    from paceline.cli import sweeping

    sweeping.size_buffers(
        scenarios,
        buffers=buffers,
        vary=vary or (),
        p99=p99,
        drops=drops,
        paused=paused,
        seeds=seeds,
        overrides=overrides or (),
        out=out,
        how=Sweeping.of(cache, executor, jobs, progress, quiet=quiet, shard=shard, check=check),
    )
