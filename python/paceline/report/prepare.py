"""What comes before a report is drawn: where it goes, its runs opened and checked, and all that they lack made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from paceline import _native
from paceline.files import check_folder, replaceable
from paceline.progress import Mode
from paceline.report.page import Page
from paceline.results import Baseline, Results, Side, alone
from paceline.run import restore_tables


def prepare(
    folders: Sequence[Path],
    out: Path | None = None,
    *,
    baseline: Baseline = "line_rate",
    side: Side | None = None,
    group: str | None = None,
    threads: int = 1,
    progress: Mode = Mode.NONE,
) -> tuple[Page, Path]:
    """The page of result folders, yet to be drawn, and the file that it goes to: ``out``, or in it, or in the first.

    Restores tables that a killed run left unwritten, and simulates flows alone where the baseline is that. ``side`` is
    the receiver's where flows are over UDP, else the sender's, unless given.

    Raises InputError for a place that cannot be written to or holds somebody's files, a group that a run does not have,
    and a baseline that does not go with the side or the run; and ResultsError for a folder that cannot be read.
    """
    if baseline == "hpcc" and side == "receiver":
        problem = "the baseline hpcc is of the sender's times only"
        raise _native.input_error(problem, field="side", value=side, allowed="sender")
    target = _target(out or folders[0])
    if out is not None:
        check_folder("out", target.parent, typed=out)
        replaceable.check_report(target)
    runs = [Results.load(folder) for folder in folders]
    if out is None:
        check_folder("folders", target.parent)
    # As tables do, figures go beside the page.
    check_folder("folders" if out is None else "out", target.parent / "figures")
    for run in runs:
        run.read_all()
        _restore(run, target.parent)
    if group is not None:
        runs = [_of_group(run, group) for run in runs]
    if side is None:
        # The formula is of the sender's times only.
        datagrams = baseline != "hpcc" and any(run.default_side() == "receiver" for run in runs)
        side = "receiver" if datagrams else "sender"
    for run in runs if baseline == "alone" else ():
        if not (run.path / alone.FILE).exists():
            check_folder("folders", run.path)  # the flows alone are kept there
        alone.load(run.path, run.flows.rows, threads=threads, progress=progress)
    return Page(runs, baseline, side, as_files=True), target


def _target(at: Path) -> Path:
    """The page for what was given as its place: a file, or ``report.html`` in a folder."""
    try:
        is_folder = at.is_dir()
    except OSError as error:
        problem, allowed = error.strerror or str(error), "a folder, or a file that ends in .html"
        raise _native.input_error(problem, field="out", value=str(at), allowed=allowed) from None
    if at.suffix == ".html" and not is_folder:
        return at
    if at.suffix.lower() in (".htm", ".html", ".pdf", ".png", ".svg") and not is_folder:
        # A folder of that name was made.
        allowed = "a folder, or a file that ends in .html"
        raise _native.input_error("neither a page nor a folder", field="out", value=str(at), allowed=allowed)
    return at / "report.html"


def _restore(run: Results, place: Path) -> None:
    """Restores the tables of a run where its folder can be written to, as it must be where the report goes there."""
    try:
        restore_tables(run)
    except OSError:
        # A disk that is full, or may only be read. The report needs no restored table, but a place of its own.
        if place.absolute() == run.path.absolute():
            raise


def _of_group(run: Results, group: str) -> Results:
    try:
        return run.of_group(group)
    except ValueError:
        allowed = ", ".join(map(str, run.summary["groups"])) or "none: the run has no groups on record"
        raise _native.input_error(
            "no such group", field="group", value=group, allowed=allowed, file=str(run.path)
        ) from None
