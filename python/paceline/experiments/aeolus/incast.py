"""A3, figure 17: slowdown of N-to-1 incasts in the spine-leaf network, six schemes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from paceline.analysis import nearest_rank
from paceline.experiments.aeolus.measures import facts, slowdowns
from paceline.experiments.aeolus.networks import spine_leaf
from paceline.experiments.aeolus.schemes import AEOLUS_OF, PAIRS, STACKS, Stack, scenario
from paceline.formats import format_slowdown
from paceline.plot import multiples
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Place, Values, at, intervals, ratio, told, verdicts
from paceline.reproduce.model import Drawing, Experiment, Scale, Shown, Verdict
from paceline.scenario import Homa, SynchronousIncast
from paceline.sweeps.points import KeyValue, Point, Runs, over_seeds
from paceline.tables import Cell, Table
from paceline.words import in_words, listed

FAN_IN: Final = (32, 64, 128, 256)
AEOLUS: Final = tuple(PAIRS.values())
FLOW_BYTES: Final = 64_000
"""The paper's 64 KB; 65,536 would be 2 % more."""

DRAIN_US: Final = {n: n * (43 * 1538 + 78 + FLOW_BYTES - 43 * 1460) * 8 / 100e3 for n in FAN_IN}
"""What the receiver's link needs for all flows."""


def _homa(name: str = "homa", **settings: object) -> Stack:
    plain = STACKS[name]
    assert isinstance(plain.scheme, Homa)
    return replace(plain, scheme=replace(plain.scheme, **settings))  # type: ignore[arg-type]


VARIANTS: Final[Mapping[str, Mapping[str, Stack]]] = {
    "default": STACKS,
    "overcommitment_2": {"homa": _homa(overcommitment=2)},
    "overcommitment_7": {name: _homa(name, overcommitment=7) for name in ("homa", "homa_aeolus")},
    "rto_100us": {"homa": _homa(resend_timeout="100us", sender_timeout="100us")},
    "rto_1ms": {"homa": _homa(resend_timeout="1ms", sender_timeout="1ms")},
    "resend_one_packet": {"homa": _homa(resend_packets=1)},
    "buffer_1GB": {"homa": STACKS["homa"]},
    "aeolus_rto_40us": {
        "homa_aeolus": replace(
            STACKS["homa_aeolus"], scheme=Homa(first_rtt="aeolus", resend_timeout="40us", sender_timeout="40us")
        )
    },
}
"""How far Homa falls depends on its way of recovery, about which the paper says that it is a timeout of 40 µs."""

ABOUT: Final = {
    "overcommitment_2": "a receiver grants two messages at a time instead of three",
    "overcommitment_7": "it grants seven, as Homa's rule (one message for each level of scheduled packets) does with "
    "long flows; flows of 64,000 bytes leave three such levels. The paper names no number",
    "rto_100us": "Homa repairs after 100 µs",
    "rto_1ms": "Homa repairs after 1 ms",
    "buffer_1GB": "1 GB for each port of a switch, where nothing is lost: the paper suspects that Homa's authors had "
    "buffers without a limit",
    "resend_one_packet": "each timeout repairs one packet instead of the whole first gap",
    "aeolus_rto_40us": "Homa + Aeolus, too, asks again after 40 µs, though granted packets wait longer than that",
}

_SEEDS: Final = {Scale.TINY: 1, Scale.QUICK: 10, Scale.PAPER: 40}


def plan(scale: Scale) -> Sequence[Point]:
    """Incasts from random senders to a random receiver."""
    found = []
    for variant, stacks in VARIANTS.items():
        for fan_in in FAN_IN:
            for name, stack in stacks.items():
                flows = SynchronousIncast(senders=fan_in, sizes=f"{FLOW_BYTES}B")
                buffer = "1GB" if variant == "buffer_1GB" else "500KB"
                run = scenario(f"A3-{name}-{fan_in}", stack, spine_leaf(), [flows], buffer=buffer, switch_delay="250ns")
                key: dict[str, KeyValue] = {"scheme": name, "fan_in": fan_in, "variant": variant}
                found += over_seeds(run, key, _SEEDS[scale])
    return found


def measure(runs: Runs) -> Values:
    """Mean and p99 slowdown against line rate by variant, scheme and N, flows of all runs together."""
    found: dict[Place, float] = {}
    for variant, stacks in VARIANTS.items():
        for name in stacks:
            for fan_in in FAN_IN:
                chosen = runs.where(variant=variant, scheme=name, fan_in=fan_in)
                if len(chosen):
                    values = slowdowns(chosen)
                    found[variant, name, fan_in, "mean"] = float(values.mean())
                    found[variant, name, fan_in, "p99"] = nearest_rank(values, 99)
                    for what in ("scheduled_drops", "unscheduled_drops"):
                        drops = [getattr(facts(run), what) for run in chosen]
                        found[variant, name, fan_in, what] = sum(drops) / len(drops)
    return found


def rule(values: Values) -> list[Claim]:
    """ExpressPass and NDP as over Aeolus; Homa clearly worse, and it loses packets, scheduled ones and others."""
    found = []
    for fan_in in FAN_IN:
        for plain, aeolus in PAIRS.items():
            for what, least in (("mean", 1.5), ("p99", 1.2)):
                over, under = (("default", name, fan_in, what) for name in (plain, aeolus))
                text = f"{fan_in}-to-1: {what} slowdown, {STACKS[plain].title} over {STACKS[aeolus].title}"
                limits = judge.at_least(least) if plain == "homa" else judge.percent_of(1, 15)
                found.append(Claim(f"{plain}.{fan_in}.{what}", text, ratio(values, over, under), limits))
        for kind in ("scheduled", "unscheduled"):
            lost = at(values, "default", "homa", fan_in, f"{kind}_drops")
            text = f"{fan_in}-to-1, Homa: {kind} packets dropped in one incast"
            found.append(Claim(f"homa.{fan_in}.{kind}_drops", text, lost, judge.above(0), count=True))
    return found


def table_rule(values: Values) -> list[Claim]:
    """All slowdowns without a claim: the points of figure 17 are not in the text at hand."""
    found = []
    for variant, stacks in VARIANTS.items():
        for name in stacks:
            for fan_in in FAN_IN:
                for what in ("mean", "p99"):
                    value = at(values, variant, name, fan_in, what)
                    text = f"{fan_in}-to-1, {STACKS[name].title}: {what} slowdown"
                    found.append(Claim(f"table.{name}.{fan_in}.{what}", text, value, variant=variant))
        if variant != "default" and {"homa", "homa_aeolus"} <= set(stacks):
            for fan_in in FAN_IN:
                for what in ("mean", "p99"):
                    over, under = ((variant, name, fan_in, what) for name in ("homa", "homa_aeolus"))
                    text = f"{fan_in}-to-1: {what} slowdown, Homa over Homa + Aeolus"
                    found.append(Claim(f"homa.{fan_in}.{what}", text, ratio(values, over, under), variant=variant))
    return found


def alone_rule(values: Values) -> list[Claim]:
    """The pairs against each flow alone with its own transport."""
    found = []
    for fan_in in FAN_IN:
        for plain, aeolus in PAIRS.items():
            text = (
                f"{fan_in}-to-1: mean slowdown, {STACKS[plain].title} over {STACKS[aeolus].title}, each against alone"
            )
            value = ratio(values, (plain, fan_in), (aeolus, fan_in))
            found.append(Claim(f"{plain}.{fan_in}.mean", text, value, variant="own_alone"))
    return found


def measure_alone(runs: Runs) -> Values:
    """Mean slowdown by scheme and N, against the same flow alone with the same transport."""
    found: dict[Place, float] = {}
    for name in STACKS:
        for fan_in in FAN_IN:
            chosen = runs.where(variant="default", scheme=name, fan_in=fan_in)
            if len(chosen):
                found[name, fan_in] = float(slowdowns(chosen, alone=True).mean())
    return found


def verdicts_a3(runs: Runs, scale: Scale) -> list[Verdict]:
    """Pairs, Aeolus' losses of scheduled packets and its timeouts (section 6: there are none), tables."""
    lost = sum(facts(run).scheduled_drops for run in runs.where(variant="default", scheme="homa_aeolus"))
    waited = {name: sum(facts(run).timeouts for run in runs.where(variant="default", scheme=name)) for name in AEOLUS}
    return [
        *verdicts("A3", measure, rule, runs, scale, pooled=True),
        judge.exact("A3.homa_aeolus.scheduled_drops", "Homa + Aeolus: scheduled packets dropped, every N", 0, lost),
        *(
            judge.exact(f"A3.{name}.timeouts", f"{STACKS[name].title}: timeouts, every N", 0, waited[name])
            for name in AEOLUS
        ),
        *verdicts("A3", measure, table_rule, runs, scale, pooled=True),
        *verdicts("A3", measure_alone, alone_rule, runs, scale, pooled=True),
    ]


def _drawings(values: Values, bars: Mapping[Place, tuple[float, float]]) -> Iterator[Drawing]:
    for what, letter in (("mean", "a"), ("p99", "b")):
        curves, around = {}, {}
        for name, stack in STACKS.items():
            at = {n: ("default", name, n, what) for n in FAN_IN if ("default", name, n, what) in values}
            curves[stack.title] = (list(at), [values[place] for place in at.values()])
            around[stack.title] = {float(n): bars[place] for n, place in at.items() if place in bars}
        caption = f"Figure 17{letter}: {what} slowdown against line rate. No published points in the text at hand."
        chart = multiples.Chart("", curves, "Senders", f"Slowdown, {what}", log_x=True, intervals=around)
        figure = multiples.charts([[chart]], AEOLUS_OF)
        yield Drawing(f"A3-{what}", figure, caption + told(bars, figure))


def show(runs: Runs, _scale: Scale) -> Shown:
    """Figure 17, and a table with all variants."""
    values, rows = measure(runs), []
    bars = intervals(measure, runs.where(variant="default"), pooled=True)
    for variant, stacks in VARIANTS.items():
        for name in stacks:
            cells = [f"{STACKS[name].title}, {in_words(variant)}"]
            for fan_in in FAN_IN:
                pair = [at(values, variant, name, fan_in, what) for what in ("mean", "p99")]
                cells.append(" / ".join(format_slowdown(float(v)) for v in pair))
            rows.append(tuple(Cell(text) for text in cells))
    head = ("Scheme, variant", *(f"N = {n}: mean / p99" for n in FAN_IN))
    drained = listed(f"{us:,.0f}" for us in DRAIN_US.values())
    remarks = [
        f"The receiver's link needs {drained} µs for all flows: slowdowns around 24, 48, 97 and 194 of the last flow.",
        *(f"Variant {in_words(name)}: {text}." for name, text in ABOUT.items()),
        "Variant own alone: slowdown against the same flow alone with the same transport, where Aeolus' first round "
        "trip makes the divisor smaller.",
    ]
    return Shown(_drawings(values, bars), [Table("Slowdown against line rate", head, rows)], remarks)


EXPERIMENTS = (
    Experiment(
        id="A3",
        title="Heavy incast, slowdown (figure 17)",
        statement="In N-to-1 incasts ExpressPass and NDP do as well as over Aeolus; Homa, losing scheduled packets "
        "and waiting for timeouts, does much worse than Homa + Aeolus.",
        source="Aeolus, SIGCOMM 2020, section 5, figure 17",
        plan=plan,
        judge=verdicts_a3,
        show=show,
    ),
)
