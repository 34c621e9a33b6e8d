"""A4, figure 18: goodput under rising load of WebSearch flows mixed with incasts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from paceline.experiments.aeolus.measures import goodput
from paceline.experiments.aeolus.networks import HOST_BPS, spine_leaf
from paceline.experiments.aeolus.schemes import AEOLUS_OF, PAIRS, STACKS, scenario
from paceline.plot import multiples
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Place, Values, at, intervals, told, verdicts
from paceline.reproduce.model import Drawing, Experiment, Scale, Shown
from paceline.scenario import IncastLoad, Load, Poisson, PoissonIncast, Run
from paceline.sweeps.points import KeyValue, Point, Runs, over_seeds
from paceline.tables import Cell, Table
from paceline.words import percent

HOSTS: Final = 144
PUBLISHED: Final = {"ndp": 0.84, "express_pass": 0.70, "homa": 0.54}
GAINS: Final = {"ndp": 0.02, "express_pass": 0.0, "homa": 0.04}
"""What Aeolus adds, as a share of the link capacity."""

INCAST_SHARE: Final = {"default": 0.10, "incast_5": 0.05}
"""Share of the bytes in incasts, which the paper does not state."""

VARIANT_LOAD: Final = 0.9
"""Where the other share is tried, with the plain schemes."""

LARGE_BUFFER: Final = "buffer_1GB"
"""Variant at that load: Homa with 1 GB for each port, where nothing is lost. The paper suspects that its own result for
Homa is below that of Homa's authors because these had buffers without a limit."""


VARIANTS: Final = (*INCAST_SHARE, LARGE_BUFFER)


@dataclass(frozen=True)
class Window:
    """Goodput is measured from ``start_us`` to ``end_us``; load is offered from the beginning to the end."""

    start_us: int
    end_us: int
    loads: tuple[float, ...]
    seeds: int


WINDOWS: Final = {
    Scale.TINY: Window(50, 150, (0.6, 0.9), 1),
    Scale.QUICK: Window(2000, 5000, (0.6, 0.75, 0.9), 3),
    Scale.PAPER: Window(10_000, 40_000, (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), 5),
}


def plan(scale: Scale) -> Sequence[Point]:
    """Each load twice, stopped at both ends of the window: the difference is what was delivered within it."""
    window, found = WINDOWS[scale], []
    for variant in VARIANTS:
        share = INCAST_SHARE.get(variant, INCAST_SHARE["default"])
        for load in window.loads if variant == "default" else (VARIANT_LOAD,):
            flows = Poisson(group="websearch", sizes="websearch@xpass", load=Load(value=load * (1 - share)))
            incasts = PoissonIncast(group="incast", senders=64, sizes="64KB", load=IncastLoad(value=load * share))
            for name in ("homa",) if variant == LARGE_BUFFER else STACKS if variant == "default" else PAIRS:
                for end_us in (window.start_us, window.end_us):
                    run = scenario(
                        f"A4-{name}",
                        STACKS[name],
                        spine_leaf(),
                        [flows, incasts],
                        buffer="1GB" if variant == LARGE_BUFFER else "500KB",
                        switch_delay="250ns",
                        run=Run(stop=f"{end_us}us", stall="100ms"),
                    )
                    key: dict[str, KeyValue] = {"scheme": name, "load": load, "end_us": end_us, "variant": variant}
                    found += over_seeds(run, key, window.seeds)
    return found


def measure(runs: Runs) -> Values:
    """Goodput by variant, scheme and load, as a share of the hosts' links; the mean over seeds."""
    found: dict[Place, float] = {}
    for variant in VARIANTS:
        for name in STACKS:
            for load in runs.values("load"):
                chosen = runs.where(variant=variant, scheme=name, load=load)
                if len(chosen):
                    found[variant, name, load] = goodput(chosen, HOSTS * HOST_BPS)
    return found


def rule(values: Values) -> list[Claim]:
    """NDP highest, Homa lowest, each as published; Aeolus costs nothing, and Homa and NDP gain as much as published."""
    best = {}
    for name in STACKS:
        at = [value for (variant, scheme, _), value in values.items() if (variant, scheme) == ("default", name)]
        best[name] = max(at, default=float("nan"))
    found = []
    for name, stack in STACKS.items():
        limits = judge.percent_of(PUBLISHED[name], 10) if name in PUBLISHED else None
        said = PUBLISHED.get(name)
        found.append(Claim(f"{name}.max", f"Largest goodput, {stack.title}", best[name], limits, said))
    for over, under in (("ndp", "express_pass"), ("express_pass", "homa"), ("ndp", "homa")):
        text = f"Largest goodput, {STACKS[over].title} less {STACKS[under].title}"
        said = round(PUBLISHED[over] - PUBLISHED[under], 2)
        found.append(Claim(f"{over}_over_{under}", text, best[over] - best[under], judge.above(0), said))
    for plain, aeolus in PAIRS.items():
        limits = judge.at_least(0) if plain == "express_pass" else judge.above(0)
        text = f"Largest goodput, {STACKS[aeolus].title} less {STACKS[plain].title}"
        gain, said = best[aeolus] - best[plain], GAINS[plain]
        found.append(Claim(f"{plain}.gain", text, gain, limits, said))
        if said:
            text += ", over the published difference"
            found.append(Claim(f"{plain}.gain.size", text, gain / said, judge.about(1), 1.0))
    return found


def table_rule(values: Values) -> list[Claim]:
    """The other share of incasts, and Homa where nothing is lost."""
    found = []
    for (variant, name, load), value in values.items():
        if variant != "default":
            share = INCAST_SHARE.get(str(variant))
            what = "1 GB for each port" if share is None else f"{percent(share, 0)} of the bytes in incasts"
            text = f"Goodput at load {load:g}, {what}, {STACKS[str(name)].title}"
            found.append(Claim(f"{name}.load{round(float(load) * 100)}", text, value, variant=str(variant)))
    return found


def _drawings(values: Values, bars: Mapping[Place, tuple[float, float]], loads: Sequence[float]) -> Iterator[Drawing]:
    curves = {
        stack.title: (loads, [at(values, "default", name, load) for load in loads]) for name, stack in STACKS.items()
    }
    said = ", ".join(f"{STACKS[name].title} {percent(value, 0)}" for name, value in PUBLISHED.items())
    around = {
        stack.title: {load: bars[place] for load in loads if (place := ("default", name, load)) in bars}
        for name, stack in STACKS.items()
    }
    caption = (
        "Figure 18: goodput over load, both as shares of the hosts' links. Published maxima, hollow and grey at the "
        f"highest load: {said}."
    )
    names = ("Offered load, share of the links", "Goodput, share of the links")
    held = {STACKS[name].title: ([max(loads)], [value]) for name, value in PUBLISHED.items()}
    chart = multiples.Chart("", curves, *names, scale="linear", published=held, intervals=around)
    figure = multiples.charts([[chart]], AEOLUS_OF)
    yield Drawing("A4-goodput", figure, caption + told(bars, figure))


def table(values: Values, loads: Sequence[float]) -> Table:
    """The values of figure 18."""
    rows = [
        (Cell(stack.title), *(Cell(f"{at(values, 'default', name, load):.3f}") for load in loads))
        for name, stack in STACKS.items()
    ]
    return Table("Goodput, share of the hosts' links", ("Scheme", *(f"load {load:g}" for load in loads)), rows)


def show(runs: Runs, scale: Scale) -> Shown:
    """Figure 18 and its values."""
    values, window = measure(runs), WINDOWS[scale]
    usual, other = (percent(INCAST_SHARE[variant], 0) for variant in ("default", "incast_5"))
    remarks = [
        f"Load: payload over the hosts' links, {usual} of the bytes in 64-to-1 incasts of 64 KB, "
        f"which start at random times; variant incast 5: {other}. The paper does not state it.",
        "Variant buffer 1GB: Homa with 1 GB for each port of a switch, where nothing is lost. The paper suspects that "
        "Homa's authors report more because their buffers had no limit.",
        f"Goodput: payload delivered, each byte once, from {window.start_us / 1000:g} to {window.end_us / 1000:g} ms "
        "after an empty start.",
    ]
    bars = intervals(measure, runs.where(variant="default"), shares=("default",))
    return Shown(_drawings(values, bars, window.loads), [table(values, window.loads)], remarks)


EXPERIMENTS = (
    Experiment(
        id="A4",
        title="Goodput over load (figure 18)",
        statement="NDP reaches the highest goodput, Homa the lowest; Aeolus costs ExpressPass nothing and raises the "
        "goodput of Homa and NDP.",
        source="Aeolus, SIGCOMM 2020, section 5, figure 18",
        plan=plan,
        judge=lambda runs, scale: [
            *verdicts("A4", measure, rule, runs, scale),
            *verdicts("A4", measure, table_rule, runs, scale),
        ],
        show=show,
    ),
)
