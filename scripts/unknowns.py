"""What the open questions about ExpressPass, Homa and NDP over Aeolus come to: Markdown tables.

usage: .venv/bin/python scripts/unknowns.py [--flows N] [--seeds N] [express_pass|homa|ndp ...]

The paper's text at hand leaves details open; each is a parameter. From the defaults one at a time is changed, on two
runs in a spine-leaf network of 32 hosts: an incast of 64,000 bytes from all to one, and web server flows at 60 % of
the hosts' links. The first row is chance: the defaults with other seeds.
"""

import argparse
import sys
from dataclasses import dataclass
from typing import Final

import numpy as np

from paceline import InputError, simulate
from paceline.experiments.aeolus.loads import FLAT
from paceline.experiments.aeolus.schemes import STACKS, scenario
from paceline.scenario import LeafSpine, Load, Poisson, SynchronousIncast
from paceline.scenario import Workload as AnyWorkload

NETWORK: Final = LeafSpine(
    leaves=4, spines=4, hosts_per_leaf=8, host_rate="100Gbps", fabric_rate="200Gbps", link_delay="450ns"
)
STACK: Final = {
    "express_pass": STACKS["express_pass_aeolus"],
    "homa": FLAT["homa_aeolus"],
    "ndp": STACKS["ndp_aeolus"],
}
INCAST: Final[list[AnyWorkload]] = [SynchronousIncast(senders=31, sizes="64000B")]

DROP: Final = "switch.selective_drop"
SCHEME: Final = "schemes.scheme"
COMMON: Final = {
    "threshold before the packet: after it": [f'{DROP}.accounting="after"'],
    "threshold 6 KiB: 6000 B": [f'{DROP}.threshold="6000B"'],
    "lost packets first: new packets first": [f'{SCHEME}.repair="new_first"'],
    "packets of unknown fate are not sent again: they are": [f"{SCHEME}.resend_open=true"],
    "200 KB per port: 500 KB": ['switch.buffer="500KB"'],
    "the same as a pool of the switch (2.4 MB, alpha 1)": ['switch.model="shared"', 'switch.buffer="2400KB"'],
    "links of 450 ns: 1 us": ['topology.link_delay="1us"'],
}
QUESTIONS: Final[dict[str, dict[str, list[str]]]] = {
    "express_pass": {
        "the first credit ends the burst: it does not": [f'{SCHEME}.stop="never"'],
        "a request before the burst: the probe is the request": [f"{SCHEME}.request_in_probe=true"],
        "feedback of the simulator: of the paper, from memory": [f'{SCHEME}.feedback="paper"'],
        "w at first 1/16: 1/2": [f"{SCHEME}.w_init=0.5"],
        "first rate 1/2: 1/16": [f"{SCHEME}.alpha=0.0625"],
        "short flows start slower: they do not": [f"{SCHEME}.full_rate_packets=1"],
        "target loss 1/8: 1/10": [f"{SCHEME}.target_loss=0.1"],
        "8 credits wait: 2": [f"{SCHEME}.credit_queue=2"],
        "credits of random size: of one": [f'{SCHEME}.credit_spread="0B"'],
        "requests repeated after 10 ms: 100 us": [f'{SCHEME}.retransmit_timeout="100us"'],
    },
    "homa": {
        "the whole port's queue counts: that of the class": [f'{DROP}.per="class"'],
        "unscheduled packets at levels by size: by what remains": [f'{SCHEME}.unscheduled_priority="remaining"'],
        "the same: all at the lowest": [f'{SCHEME}.unscheduled_priority="lowest"'],
        "the first grant ends the burst: it does not": [f'{SCHEME}.stop="never"'],
        "grants outstanding are capped: they are not": [f"{SCHEME}.cap_outstanding=false"],
        "three messages granted: seven": [f"{SCHEME}.overcommitment=7"],
        "the same: as many as there are levels for it, 2 and 6": [f'{SCHEME}.overcommitment="auto"'],
        "no tail boost: with it": [f"{SCHEME}.tail_boost=true"],
        "repair after 10 ms: 40 us": [f'{SCHEME}.resend_timeout="40us"', f'{SCHEME}.sender_timeout="40us"'],
        "repair of a whole gap: of one packet": [f"{SCHEME}.resend_packets=1"],
        "sprayed packets: one path per flow": ['routing.choice="flow_hash"'],
    },
    "ndp": {
        "pulls do not end the burst: the first does": [f'{SCHEME}.stop="first_credit"'],
        "a pull for each packet the probe misses: none": [f"{SCHEME}.pull_missing=false"],
        "idle pulls are kept: thrown away": [f"{SCHEME}.keep_idle_pulls=false"],
        "late packets count as lost at the probe: 5 us later": [f'{SCHEME}.verdict_delay="5us"'],
        "a window of one round trip, 33 packets: 8 more": [f"{SCHEME}.first_window=41"],
        "pulls at the link's rate: 99 %": [f"{SCHEME}.pull_spacing=1.0101"],
        "pulls outstanding: any number: three windows at most": [f'{SCHEME}.pull_limit="auto"'],
        "sprayed packets: one path per flow": ['routing.choice="flow_hash"'],
    },
}


@dataclass(frozen=True)
class Outcome:
    """Flows of several seeds together."""

    fct_us: np.ndarray
    unscheduled_drops: int
    other_drops: int

    @property
    def mean(self) -> float:
        """Mean FCT, us."""
        return float(self.fct_us.mean())

    @property
    def p99(self) -> float:
        """99th percentile of the FCT, us."""
        return float(np.percentile(self.fct_us, 99, method="inverted_cdf"))


def outcome(name: str, workloads: list[AnyWorkload], seeds: range, overrides: list[str]) -> Outcome:
    """Runs a scheme over Aeolus."""
    fct, unscheduled, other = [], 0, 0
    for seed in seeds:
        run = scenario("unknowns", STACK[name], NETWORK, workloads, buffer="200KB")
        results = simulate(run, seed=seed, overrides=overrides, progress="none")
        counters = results.summary["counters"]
        fct.append(results.fct("receiver").value / 1e6)
        unscheduled += int(counters["drops_unscheduled"])
        other += int(counters["drops_buffer"]) - int(counters["drops_unscheduled"])
    return Outcome(np.concatenate(fct), unscheduled, other)


def moved(ratio: float) -> str:
    """How a value compares with that of the defaults."""
    if ratio >= 2:
        return f"{ratio:.1f} times"
    percent = round(100 * (ratio - 1), 1)
    return f"{percent:+.1f} %" if percent else "0"


def table(name: str, flows: int, seeds: int) -> str:
    """The table of one transport."""
    load: list[AnyWorkload] = [
        Poisson(sizes="webserver@xpass", max_flows=flows, duration="1s", load=Load(value=0.6, mean="nominal"))
    ]
    usual = range(1, seeds + 1)
    rows: dict[str, tuple[range, list[str]]] = {
        "defaults": (usual, []),
        "chance: other seeds": (range(seeds + 1, 2 * seeds + 1), []),
    }
    rows |= {text: (usual, sets) for text, sets in (COMMON | QUESTIONS[name]).items()}
    head = ["taken: instead", "incast, mean", "p99", "load, mean", "p99", "unscheduled lost", "others lost"]
    lines, base = [head, ["---"] * len(head)], None
    for text, (which, sets) in rows.items():
        pair = [outcome(name, workloads, which, sets) for workloads in (INCAST, load)]
        values = [value for o in pair for value in (o.mean, o.p99)]
        if base is None:
            cells = [f"{value:.1f} us" for value in values]
            base = values
        else:
            cells = [moved(value / of) for value, of in zip(values, base, strict=True)]
        lost = [str(sum(getattr(o, kind) for o in pair)) for kind in ("unscheduled_drops", "other_drops")]
        lines.append([text, *cells, *lost])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> int:
    """Prints a table for each transport."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("transports", nargs="*", metavar="TRANSPORT", help=f"of {', '.join(QUESTIONS)}; default all")
    parser.add_argument("--flows", type=int, default=2000, help="web server flows of a run (default 2000)")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each row (default 3)")
    given = parser.parse_args()
    unknown = [name for name in given.transports if name not in QUESTIONS]
    if unknown or given.flows < 1 or given.seeds < 1:
        parser.error(f"no such transport: {unknown[0]}" if unknown else "--flows and --seeds are 1 or more")
    for name in given.transports or QUESTIONS:
        try:
            print(f"\n{STACK[name].title}\n\n{table(name, given.flows, given.seeds)}", flush=True)
        except (InputError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
