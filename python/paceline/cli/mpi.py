"""``paceline mpi``: schedules of message-passing programs."""

from pathlib import Path
from typing import Annotated

import typer

from paceline.cli.endings import print_json
from paceline.errors import plain
from paceline.options import AsJson, JsonErrors, naming


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
    """Writes a generated program as GOAL text.

    Scenarios (program = "goal"), LogGOPSim and ATLAHS read it.

    \b
    Examples:
      paceline mpi export ft --class B --ranks 64 --iterations 3 -o ft.goal
      paceline mpi export wrf --ranks 256
    """
    from paceline import mpi

    with naming(
        out="--out",
        ranks="--ranks",
        iterations="--iterations",
        compute_rate="--compute-rate",
        alltoall="--alltoall",
        allreduce="--allreduce",
        **{"class": "--class"},
    ):
        target, found = mpi.export(
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

    Also whether all that is sent is received: the schedule is tried out on a network that takes no time; messages
    above 32 KiB wait for their receive.

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
