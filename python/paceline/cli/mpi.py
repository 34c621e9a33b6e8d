"""``paceline mpi``: schedules of message-passing programs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from paceline.cli.endings import print_json
from paceline.cli.options import AsJson, JsonErrors, Overrides, naming
from paceline.errors import plain


def schedules(context: typer.Context) -> None:
    """Writes and reads schedules of message-passing programs.

    \b
    Examples:
      paceline mpi export ft --class B --ranks 64 -o ft.goal
      paceline mpi info ft.goal
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


def export(
    program: Annotated[
        str,
        typer.Argument(
            metavar="bt|cg|ft|is|mg|wrf|SCENARIO.toml", show_default=False, help="NAS, a halo, or that of a scenario."
        ),
    ],
    ranks: Annotated[
        int | None, typer.Option("--ranks", metavar="N", min=1, max=1 << 20, show_default=False, help="Ranks.")
    ] = None,
    problem_class: Annotated[
        str | None, typer.Option("--class", metavar="S|W|A|B|C|D|E|F", show_default=False, help="Problem class of NAS.")
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option("--iterations", metavar="N", min=1, max=1_000_000, show_default="the class's", help="Iterations."),
    ] = None,
    compute_rate: Annotated[
        float | None,
        typer.Option("--compute-rate", metavar="X", show_default="1e9", help="Operations per second of a rank."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="S", min=0, show_default="1", help="Seed of what is drawn (is).")
    ] = None,
    alltoall: Annotated[
        str | None,
        typer.Option(
            "--alltoall", metavar="auto|bruck|posted|pairwise", show_default="auto", help="Algorithm (ft, is)."
        ),
    ] = None,
    allreduce: Annotated[
        str | None,
        typer.Option(
            "--allreduce",
            metavar="auto|recursive_doubling|reduce_scatter",
            show_default="auto",
            help="Algorithm (is, mg).",
        ),
    ] = None,
    overrides: Overrides = None,
    workload: Annotated[
        int | None,
        typer.Option(
            "--workload",
            metavar="N",
            min=0,
            show_default="the only one",
            help="Which workload of the scenario, from 0.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            readable=False,
            metavar="FILE.goal",
            show_default="PROGRAM.goal",
            help="The schedule to write.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replaces a file that is there.")] = False,
    as_json: AsJson = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Writes a generated program, or that of a scenario, as GOAL text.

    Scenarios (program = "goal"), LogGOPSim and ATLAHS read it. A scenario says itself how many ranks there are, and all
    the rest.

    \b
    Examples:
      paceline mpi export ft --class B --ranks 64 --iterations 3 -o ft.goal
      paceline mpi export wrf --ranks 256
      paceline mpi export all-reduce.toml --workload 0
    """
    from paceline import mpi

    of_program: dict[str, Any] = {
        "ranks": ranks,
        "class": problem_class,
        "iterations": iterations,
        "compute_rate": compute_rate,
        "seed": seed,
        "alltoall": alltoall,
        "allreduce": allreduce,
    }
    given = {key: value for key, value in of_program.items() if value is not None}
    with naming(**{key: "--" + key.replace("_", "-") for key in (*of_program, "workload")}):
        target, found = mpi.export_named(
            program, out, settings=given, overrides=overrides or (), workload=workload, force=force
        )
    if as_json:
        print_json(found)
        return
    print("\n".join(mpi.lines(found)))
    print(f"{plain(str(target))} written")


def info(
    file: Annotated[
        Path, typer.Argument(readable=False, metavar="FILE.goal", show_default=False, help="GOAL schedule.")
    ],
    as_json: AsJson = False,
    _json_errors: JsonErrors = False,
) -> None:
    """Says what is in a GOAL schedule.

    Also whether it comes to its end, and all that is sent is received: the schedule is tried out on a network that
    takes no time; messages above 32 KiB wait for their receive. Exits with 0 whatever it finds; for scripts `matched`
    of --json says whether all is well.

    \b
    Examples:
      paceline mpi info ft.goal
    """
    from paceline import mpi

    found = mpi.info(file)
    if as_json:
        print_json(found)
    else:
        print("\n".join(mpi.lines(found)))
