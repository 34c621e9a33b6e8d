"""H1 to H12, H16 and H17: slowdown over flow size, and what the page says about it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain, islice, product
from typing import Final

from paceline.experiments.hpcc_page import figures, rules
from paceline.experiments.hpcc_page.curves import LOADS, MAIN, OTHERS, RPC, SCHEMES, TITLES, WORKLOADS
from paceline.experiments.hpcc_page.judging import curves_of, drawn_curves, verdicts
from paceline.experiments.hpcc_page.rules import Rule
from paceline.experiments.hpcc_page.setup import PLAIN, VARIANTS, by_window, points, variant_points, variants_of
from paceline.reproduce.model import Drawing, Experiment, Scale, Shown, Verdict
from paceline.sweeps.points import Point, Runs
from paceline.words import in_words, listed, many

SOURCE: Final = "HPCC project page (hpcc-group.github.io), slowdown figures of 2020"
DEFAULT: Final = "default"
FINISHED: Final = "finished_only"
"""Variant: flows that end after arrivals do are left out, as after the time limit of the authors' script."""

REFERENCE: Final = "reference"
"""Variant: as in the simulator that the published curves come from."""

ABOUT: Final[Mapping[str, str]] = {
    "finished_only": "only flows that finish before arrivals end, as with the time limit of the authors' script",
} | {name: variant.title for name, variant in VARIANTS.items()}


_ALL: Final = tuple(product(WORKLOADS, LOADS))


def window_remark(scale: Scale, places: Collection[tuple[str, int]] = _ALL) -> str:
    """What was run of these workloads and loads, in one sentence."""
    found = [
        f"{w.arrivals_us / 1000:g} ms at {listed(map(str, alike))} %"
        f"{f' ({w.warmup_us / 1000:g} ms of them warm-up)' if w.warmup_us else ''}, {many(w.seeds, 'seed')}"
        for w, alike in by_window(scale, sorted(places, key=lambda place: place[1])).items()
    ]
    return f"Arrivals: {'; '.join(found)}. Every run goes on until its last flow has finished."


def _alone(scale: Scale) -> bool:
    """Whether every figure of the page is drawn of its own too: at tiny, small multiples show that each is there."""
    return scale is not Scale.TINY


def _needed(chosen: Sequence[Rule], scale: Scale) -> list[Point]:
    """The runs that give the curves which the rules look at."""
    curves = {c: None for rule in chosen for c in rules.needed(rule)}
    places = dict.fromkeys((c.workload, c.load, c.scheme) for c in curves)
    return [p for w, load, s in sorted(places) for p in points(scale, [s], workloads=[w], loads=[load])]


def _places(rule: Rule) -> list[tuple[str, int]]:
    found = dict.fromkeys((c.workload, c.load) for c in rules.needed(rule))
    return sorted(found, key=lambda place: (list(TITLES).index(place[0]), place[1]))


def _schemes(rule: Rule) -> list[str]:
    used = {c.scheme for c in rules.needed(rule)}
    return [scheme for scheme in SCHEMES if scheme in used]


def _experiment(
    number: int,
    title: str,
    statement: str,
    rule: Rule,
    *,
    before_backlog: Rule | None = None,
    finished: bool = False,
    judged: Callable[[str, Sequence[Verdict]], Drawing] | None = None,
) -> Experiment:
    """An experiment of one rule; ``before_backlog`` takes its place at quick scale, where 70 % load is not steady.

    ``judged`` draws what the verdicts are about where the curves do not show it.
    """
    name = f"H{number}"

    def judge(runs: Runs, scale: Scale) -> Sequence[Verdict]:
        used = rule if before_backlog is None or scale is Scale.PAPER else before_backlog
        found = verdicts(name, used, runs, scale)
        if finished:
            found += verdicts(name, used, runs, scale, variant=FINISHED, only_finished=True)
        return found

    def show(runs: Runs, scale: Scale) -> Shown:
        measured = drawn_curves(runs, scale)
        remarks = [window_remark(scale, _places(rule))]
        if finished:
            remarks.append(f"Variant {in_words(FINISHED)}: {ABOUT[FINISHED]}.")
        first = [judged(name, judge(runs, scale))] if judged else []
        drawn = figures.overview(name, measured, _schemes(rule), _places(rule), scale)
        return Shown(chain(first, drawn), remarks=remarks)

    return Experiment(
        id=name,
        title=title,
        statement=statement,
        source=SOURCE,
        plan=lambda scale: _needed([rule], scale),
        judge=judge,
        show=show,
    )


def _slowdown(number: int, workload: str) -> Experiment:
    """H1 and H2: all curves of a workload against the published ones."""
    name = f"H{number}"

    def plan(scale: Scale) -> Sequence[Point]:
        return [*points(scale, MAIN, workloads=[workload]), *variant_points(scale, workload)]

    def judge(runs: Runs, scale: Scale) -> Sequence[Verdict]:
        main = Runs(tuple(r for r in runs if r.point.key["variant"] == DEFAULT and r.point.key["scheme"] in MAIN))
        found: list[Verdict] = []
        for load in LOADS:
            here = main.where(load=load)
            absolute = rules.curve_match(workload, load)
            if load == 70 and scale is not Scale.PAPER:
                absolute = rules.without_claims(absolute)
            found += verdicts(name, absolute, here, scale)
        relative = rules.curve_match_relative(workload, 70)
        found += verdicts(name, relative, main.where(load=70), scale)
        found += verdicts(
            name, rules.without_claims(relative), main.where(load=70), scale, variant=FINISHED, only_finished=True
        )
        return found + _variants(name, workload, runs, scale)

    def show(runs: Runs, scale: Scale) -> Shown:
        main = runs.where(variant=DEFAULT)
        native, reference = (curves_of(runs.where(variant=variant), scale) for variant in (DEFAULT, REFERENCE))
        loads = VARIANTS[REFERENCE].loads_at(scale)
        compared = figures.beside_reference(name, native, reference, MAIN, workload, loads, scale)
        drawn = figures.slowdown(name, drawn_curves(main, scale), MAIN, workload, LOADS, scale, alone=_alone(scale))
        remarks = [window_remark(scale), "70 % load: the backlog grows for hundreds of ms; see docs/hpcc-page.md."]
        remarks += [f"Variant {in_words(v)}: {ABOUT[v]}." for v in (FINISHED, *variants_of(workload))]
        return Shown(chain(islice(drawn, 1), [compared], drawn), remarks=remarks)

    return Experiment(
        id=name,
        title=f"Slowdown over flow size, {WORKLOADS[workload]}",
        statement=f"{WORKLOADS[workload]} at 30, 50 and 70 % load: slowdown at p50, p95 and p99 of flows of each size, "
        "for HPCC-PINT, HPCC-INT, DCQCN+w, TIMELY+w and DCTCP.",
        source=SOURCE,
        plan=plan,
        judge=judge,
        show=show,
    )


def _variants(name: str, workload: str, runs: Runs, scale: Scale) -> list[Verdict]:
    """The curves of every variant against the published ones."""
    found: list[Verdict] = []
    for variant, settings in variants_of(workload).items():
        for load in settings.loads_at(scale):
            used = [rules.curve_match(workload, load, settings.schemes)]
            if load == 70:
                used.append(rules.curve_match_relative(workload, load))
            for rule in used if settings.judged else map(rules.without_claims, used):
                found += verdicts(name, rule, runs.where(variant=variant, load=load), scale, variant=variant)
    if workload != "websearch":
        return found
    compared = (*PLAIN, *(f"{scheme}_w" for scheme in PLAIN), "hpcc_int")
    both = Runs(tuple(r for r in runs.where(variant=DEFAULT, load=30) if r.point.key["scheme"] in compared))
    return found + verdicts(name, rules.without_window, both, scale)


def _targets() -> Experiment:
    """H3: figures of both targets, and the sign of every band."""
    schemes = ("hpcc_pint", "hpcc_pint_eta95", "hpcc_int", "hpcc_int_eta95")

    def show(runs: Runs, scale: Scale) -> Shown:
        measured = drawn_curves(runs, scale)
        drawn = (
            d
            for w in WORKLOADS
            for d in figures.slowdown("H3", measured, schemes, w, LOADS, scale, alone=_alone(scale))
        )
        return Shown(drawn, remarks=[window_remark(scale)])

    return Experiment(
        id="H3",
        title="Target utilisation 95 or 99 %",
        statement="A target of 99 % instead of 95 % makes long flows faster and the tail of short ones slower, with "
        "INT and PINT, at every load; over all sizes it matters little.",
        source=SOURCE,
        plan=lambda scale: _needed([rules.targets], scale),
        judge=lambda runs, scale: verdicts("H3", rules.targets, runs, scale),
        show=show,
    )


def _target_150() -> Experiment:
    """H16: the figures with a target of 150 %."""
    places = [(workload, 70) for workload in WORKLOADS]

    def judge(runs: Runs, scale: Scale) -> Sequence[Verdict]:
        rule = rules.target_150 if scale is Scale.PAPER else rules.target_150_relative
        return verdicts("H16", rule, runs, scale)

    def show(runs: Runs, scale: Scale) -> Shown:
        drawn = figures.overview("H16", drawn_curves(runs, scale), [*rules.AT_150, "hpcc_int", *OTHERS], places, scale)
        return Shown(drawn, remarks=[window_remark(scale, places)])

    return Experiment(
        id="H16",
        title="Target utilisation 150 %",
        statement="WebSearch and Hadoop at 70 % load with a target of 150 %, figures of which the page says nothing: "
        "slowdown at p50, p95 and p99 of flows of each size, for HPCC-PINT and HPCC-INT.",
        source=SOURCE,
        plan=lambda scale: [*_needed([rules.target_150], scale), *points(scale, OTHERS, loads=[70])],
        judge=judge,
        show=show,
    )


EXPERIMENTS = (
    _slowdown(1, "websearch"),
    _slowdown(2, "hadoop"),
    _targets(),
    _experiment(
        4,
        "Short flows at 30 % load",
        "The tail slowdown of flows below 200 KB is 34 to 47 % lower with HPCC-PINT than with the others, and much "
        "lower with HPCC-INT, too; the median is alike. Over all sizes the advantage is larger with Hadoop.",
        rules.short_flows_at_30,
    ),
    _experiment(
        5,
        "Long flows at 30 % load",
        "Flows of 1 MB and more take longer with HPCC-INT than with the others: at p50 and p95 5 to 12 % with "
        "WebSearch, 13 to 19 % with Hadoop. With HPCC-PINT they are comparable.",
        rules.long_flows_at_30,
    ),
    _experiment(
        6,
        "PINT instead of INT",
        "HPCC-PINT shortens long flows against HPCC-INT, the more the higher the load, with both workloads.",
        rules.pint_over_int,
    ),
    _experiment(
        7,
        "Short flows at 50 % load",
        "At 50 % load even the median slowdown of flows below 200 KB is lower with HPCC.",
        rules.short_flows_at_50,
    ),
    _experiment(
        8,
        "Short flows and load",
        "The gap in the tail slowdown of short flows grows with the load.",
        rules.short_flow_gap,
        judged=figures.gap,
    ),
    _experiment(
        9,
        "The longest flows at 70 % load",
        "WebSearch flows above 6 MB are slower with HPCC than with DCQCN+w and DCTCP, more so in the tail; than with "
        "TIMELY+w with HPCC-INT, but not with HPCC-PINT.",
        rules.longest_flows_at_70,
        finished=True,
    ),
    _experiment(
        10,
        "Hadoop at 70 % load",
        "Over all Hadoop flows the mean slowdown is lowest with HPCC-PINT, and lower with HPCC-INT than with what is "
        "not HPCC, by more than over all WebSearch flows.",
        rules.hadoop_at_70,
        before_backlog=rules.hadoop_at_70_ordering,
        finished=True,
    ),
    _experiment(
        11,
        "Target utilisation up to 50 % load",
        "A target of 99 % instead of 95 % makes long flows 2 to 9 % faster and the tail of short ones 2 to 5 % slower.",
        rules.targets_to_50,
    ),
    _experiment(
        12,
        "Target utilisation at 70 % load",
        "At 70 % load a target of 99 % makes long flows clearly faster with HPCC-INT, more than at 50 %, and more than "
        "with HPCC-PINT.",
        rules.targets_at_70,
    ),
    _target_150(),
    _experiment(
        17,
        "Slowdown over flow size, Google RPC",
        "Google RPC at 50 % load, figures of the page's repository: slowdown at p50, p95 and p99 of flows of each "
        "size, for HPCC-PINT, HPCC-INT, DCQCN+w, TIMELY+w and DCTCP.",
        rules.curve_match(RPC, 50),
    ),
)
