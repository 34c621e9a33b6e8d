"""Draws the pictures of README and docs anew, from runs of the present engine: make pictures.

Each comes from commands that a reader can give, too. Runs are kept in results/, as those of anybody: once made they are
only drawn.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from PIL import Image  # matplotlib needs it, so it is there

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
OUT = Path("results") / "pictures"


@dataclass(frozen=True)
class Picture:
    """Commands, without the program's name, or scripts of this folder; and the picture that they write."""

    commands: tuple[tuple[str, ...], ...]
    written: Path


def _reproduced(id_: str, name: str) -> Picture:
    """A figure of a reproduced result at quick scale; whether verdicts have changed is no matter here."""
    command = ("reproduce", id_, "--scale", "quick", "--out", str(OUT), "--verdicts", f"{OUT}/verdicts.csv", "--update")
    return Picture((command,), OUT / id_ / "figures" / f"{name}.png")


def _demo() -> Picture:
    runs = [("hpcc", ()), ("fixed-window", ("--set", "workloads.0.scheme=none"))]
    made = [
        ("run", "examples/demo.toml", "--set", f"name={name}", *more, "--out", f"{OUT}/demo/{name}")
        for name, more in runs
    ]
    report = ("report", *(f"{OUT}/demo/{name}" for name, _ in runs), "--out", f"{OUT}/demo")
    return Picture((*made, report), OUT / "demo" / "figures" / "slowdown_p99.png")


def _sized(what: str, names: tuple[str, str], *more: str) -> Picture:
    scenarios = (f"examples/buffers/{what}-{name}.toml" for name in names)
    return Picture((("size-buffers", *scenarios, *more, "--out", f"{OUT}/{what}"),), OUT / what / "buffers.png")


def _lesson() -> Picture:
    names, scenario = ("none", "timely", "dcqcn", "hpcc"), "examples/lessons/incast.toml"
    made = [
        (
            "run",
            scenario,
            "--set",
            f"workloads.0.scheme={name}",
            "--set",
            f"name={name}",
            "--out",
            f"{OUT}/lesson/{name}",
        )
        for name in names
    ]
    report = ("report", *(f"{OUT}/lesson/{name}" for name in names), "--out", f"{OUT}/lesson")
    return Picture((*made, report), OUT / "lesson" / "figures" / "queue_cdf.png")


def _tcp_incast() -> Picture:
    out, scenario = f"{OUT}/tcp-incast", "examples/lessons/tcp-incast.toml"
    axes = ("--vary", "workloads.0.senders=4,8,16,32,64", "--vary", "host.tcp.rto_min=200ms,1ms")
    return Picture((("sweep", scenario, *axes, "--out", out),), OUT / "tcp-incast" / "sweep.png")


def _packets() -> Picture:
    out = f"{OUT}/packets"
    commands = (("run", "examples/packets.toml", "--out", out), ("report", out))
    return Picture(commands, OUT / "packets" / "figures" / "packets.png")


PICTURES = {
    "demo-slowdown": _demo(),
    "tcp-packets": _packets(),
    "lesson-incast-queue": _lesson(),
    "lesson-tcp-incast": _tcp_incast(),
    "size-buffers-tree": _sized("tree", ("hpcc", "dcqcn"), "--buffers", "8MB,12MB,16MB,24MB,32MB", "--paused", "0.001"),
    "size-buffers-testbed": _sized("testbed", ("hpcc", "newreno"), "--buffers", "32KB,64KB,128KB,256KB,512KB"),
    "buffer-sizing-flood-queue": _reproduced("E30", "E30-queue"),
    "buffer-sizing-storage-p99-rdma": _reproduced("E34", "E34-slowdown"),
    "buffer-sizing-storage-p99-tcp": _reproduced("E35", "E35-slowdown"),
    "comparison-sizes-60": _reproduced("C1", "C1-sizes-60"),
    "comparison-loads-small": _reproduced("C1", "C1-loads-small"),
    "aeolus-oversubscribed": _reproduced("A9", "A9-lost"),
    "hpcc-page-websearch30": _reproduced("H1", "H1-websearch30-p95"),
    "hpcc-page-websearch30-paper": Picture(
        (("h1_at_paper.py", "--out", str(OUT / "h1-paper")),), OUT / "h1-paper" / "H1-websearch30-p95.png"
    ),
    "hpcc-page-reference": _reproduced("H2", "H2-reference"),
    "hpcc-page-joining": _reproduced("H15", "H15-queue"),
    "hpcc-page-google-rpc": _reproduced("H17", "H17"),
}
"""By the name of the file in docs/images."""


def shrink(drawn: Path, to: Path) -> None:
    """Writes a picture with a palette of 256 colours, a third of the bytes; no eye can tell."""
    with Image.open(drawn) as picture:
        whole, method = picture.convert("RGB"), Image.Quantize.MAXCOVERAGE
        # Without a step of k-means large areas, as those of grids, are off by a shade.
        few = whole.quantize(256, method=method, kmeans=1, dither=Image.Dither.NONE)
        few.save(to, optimize=True, dpi=picture.info["dpi"])


def main() -> int:
    """Draws those that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    names = parser.parse_args().names or list(PICTURES)
    if unknown := [name for name in names if name not in PICTURES]:
        parser.error(f"no picture is called {', '.join(unknown)}; there are {', '.join(PICTURES)}")
    program = str(Path(sys.executable).parent / "paceline")
    for name in ("demo", "packets", "lesson"):
        shutil.rmtree(ROOT / OUT / name, ignore_errors=True)  # paceline run writes over nothing
    (ROOT / OUT).mkdir(parents=True, exist_ok=True)
    done: set[tuple[str, ...]] = set()
    for name in names:
        for command in PICTURES[name].commands:
            if command not in done:
                of_ours = [sys.executable, str(ROOT / "scripts" / command[0])]
                start = of_ours if command[0].endswith(".py") else [program, command[0]]
                subprocess.run([*start, *command[1:]], cwd=ROOT, check=True)
                done.add(command)
        shrink(ROOT / PICTURES[name].written, IMAGES / f"{name}.png")
        print(f"docs/images/{name}.png")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
