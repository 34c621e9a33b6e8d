"""What each behaviour of the HPCC reference simulator does to slowdowns: a Markdown table for configurations of it.

usage: .venv/bin/python scripts/quirks.py CONFIG.txt...

Run it where `paceline hpcc CONFIG.txt` would run. Each configuration is run with all quirks, with all but one, without
any, and with only one; results go to a scratch folder, and the files the configuration names stay as they are.
Slowdown is the completion time over the standalone time of the fct file, at least 1.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from paceline import InputError
from paceline.hpcc import hpcc

QUIRKS = (
    "clock_1ns",
    "insertion_order",
    "nic_round_robin",
    "reference_random",
    "ack_priority_at_hosts",
    "pint_data_only",
    "unpadded_data",
)
OUTPUTS = ("FCT_OUTPUT_FILE", "PFC_OUTPUT_FILE", "QLEN_MON_FILE", "TRACE_OUTPUT_FILE")
PERCENTILES = (50, 95, 99)


def slowdowns(config: Path, **quirks: Any) -> np.ndarray:
    """Completion time over standalone time of each flow, in the order of flows."""
    with tempfile.TemporaryDirectory() as folder:
        lines = [line for line in config.read_text().splitlines() if not line.startswith(OUTPUTS)]
        lines += [f"{key} {Path(folder) / key.lower()}" for key in OUTPUTS]
        copy = Path(folder) / config.name
        copy.write_text("\n".join(lines) + "\n")
        hpcc(copy, lenient=True, **quirks)
        rows = [line.split() for line in (Path(folder) / "fct_output_file").read_text().splitlines()]
    rows.sort(key=lambda row: row[:4])
    return np.array([int(row[6]) / int(row[7]) for row in rows])


def percentile(ratios: np.ndarray, q: int) -> float:
    """A percentile of the slowdown."""
    return float(np.percentile(np.maximum(ratios, 1.0), q))


def cells(these: np.ndarray, base: np.ndarray) -> list[str]:
    """How the percentiles move, in percent, and the share of flows whose completion time is another."""
    moved = [percentile(these, q) / percentile(base, q) - 1 for q in PERCENTILES]
    others = np.mean(these != base) if len(these) == len(base) else 1.0
    return [*(f"{100 * x:+.2f} %" if x else "0" for x in moved), f"{100 * others:.0f} %"]


def table(config: Path) -> str:
    """The table of one configuration."""
    reference, native = slowdowns(config), slowdowns(config, quirks=[])
    head = ["run", *(f"p{q}" for q in PERCENTILES), "flows that change"]
    rows = [head, ["---"] * len(head)]
    for name, base in (("reference (all quirks)", reference), ("native (no quirk)", native)):
        rows.append([name, *(f"{percentile(base, q):.3f}" for q in PERCENTILES), ""])
    rows.append(["native against reference", *cells(native, reference)])
    rows += [[f"reference without `{q}`", *cells(slowdowns(config, without_quirks=[q]), reference)] for q in QUIRKS]
    rows += [[f"native with `{q}`", *cells(slowdowns(config, quirks=[q]), native)] for q in QUIRKS]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> int:
    """Prints a table for each configuration."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("configs", nargs="+", type=Path, metavar="CONFIG.txt")
    for config in parser.parse_args().configs:
        try:
            print(f"\n`{config}`\n\n{table(config)}", flush=True)
        except (InputError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
