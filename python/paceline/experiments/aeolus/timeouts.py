"""A1 and A2, tables 4 and 5: ExpressPass with unscheduled packets at low priority, against Aeolus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from paceline.experiments.aeolus.measures import facts
from paceline.experiments.aeolus.networks import fat_tree, single_switch
from paceline.experiments.aeolus.schemes import STACKS, Stack, priority_queueing, scenario
from paceline.formats import format_number, format_share
from paceline.reproduce import judge
from paceline.reproduce.claims import Claim, Place, Values, at, ratio, verdicts
from paceline.reproduce.model import Experiment, Scale, Shown, Verdict
from paceline.scenario import ExpressPass, FlowRow, Flows, Load, Poisson
from paceline.sweeps.points import KeyValue, Point, Runs, over_seeds
from paceline.tables import Cell, Table, number_rows
from paceline.words import in_words

SOURCE: Final = "Aeolus, SIGCOMM 2020, section 5"

# ---- Table 4.


def _one_timeout(of: str) -> Stack:
    """One timeout for all: unscheduled and scheduled packets, requests, and credits that stay away."""
    stack = priority_queueing(of, of)
    assert isinstance(stack.scheme, ExpressPass)
    return replace(stack, scheme=replace(stack.scheme, retransmit_timeout=of, credit_timeout=of))


TABLE_4: Final[Mapping[str, Stack]] = {
    "rto_10ms": _one_timeout("10ms"),
    "rto_20us": _one_timeout("20us"),
    "rto_20us_unscheduled": priority_queueing("20us", "10ms"),
    "express_pass": STACKS["express_pass"],
    "express_pass_aeolus": STACKS["express_pass_aeolus"],
}
TABLE_4_LOADS: Final = (0.4, 0.6)
DELAYS: Final = {"default": (1.0, 0.0), "links_4us": (4.0, 1.0)}
"""Delay of the links and time through a host, µs: base RTT 12.8 µs, and 50.8 µs as in the authors' 10 Gb/s script."""

_FLOWS: Final = {Scale.TINY: (60, 1), Scale.QUICK: (1500, 3), Scale.PAPER: (10_000, 5)}


def plan_a1(scale: Scale) -> Sequence[Point]:
    """The fat tree under cache-follower flows, with both timeouts and for comparison without."""
    flows, seeds = _FLOWS[scale]
    found = []
    for variant, (link_us, host_us) in DELAYS.items():
        for load in TABLE_4_LOADS:
            for name, stack in TABLE_4.items():
                # With 4 µs links 20 µs for everything repeats each packet three times over: slow, and nothing new.
                if variant == "links_4us" and name == "rto_20us":
                    continue
                arrivals = Poisson(
                    sizes="cachefollower@xpass",
                    max_flows=flows,
                    duration="10s",
                    load=Load(value=load, bytes="wire", of="tor_uplink", mean="nominal"),
                )
                run = scenario(f"A1-{name}", stack, fat_tree(link_us, host_us), [arrivals], buffer="200KB")
                key: dict[str, KeyValue] = {"scheme": name, "load": load, "variant": variant}
                found += over_seeds(run, key, seeds)
    return found


def measure_a1(runs: Runs) -> Values:
    """Largest FCT (us), efficiency and duplicates by variant, load and scheme; the mean over seeds."""
    found: dict[Place, float] = {}
    for variant in runs.values("variant"):
        for load in TABLE_4_LOADS:
            for name in TABLE_4:
                seen = [facts(run) for run in runs.where(variant=variant, load=load, scheme=name)]
                if seen:
                    place = (variant, load, name)
                    found[(*place, "max")] = sum(f.fct_us.max() for f in seen) / len(seen)
                    found[(*place, "mean")] = sum(f.fct_us.mean() for f in seen) / len(seen)
                    found[(*place, "efficiency")] = sum(f.efficiency for f in seen) / len(seen)
                    found[(*place, "duplicates")] = sum(f.duplicates for f in seen) / len(seen)
    return found


def rule_a1(values: Values) -> list[Claim]:
    """Slow repair with 10 ms, needless repetitions and so less efficiency with 20 µs."""
    found = []
    for load in TABLE_4_LOADS:
        of = f"load{round(load * 100)}"
        slow, fast = (("default", load, name) for name in ("rto_10ms", "rto_20us"))

        def said(text: str, load: float = load) -> str:
            return f"Cache follower, load {load:g}: {text}"

        found += [
            Claim(
                f"{of}.max.rto_10ms",
                said("largest FCT with RTO 10 ms (µs)"),
                at(values, *slow, "max"),
                judge.at_least(10_000),
            ),
            Claim(
                f"{of}.max.ratio",
                said("largest FCT, RTO 10 ms over 20 µs"),
                ratio(values, (*slow, "max"), (*fast, "max")),
                judge.at_least(2.5),
            ),
            Claim(
                f"{of}.duplicates.rto_10ms",
                said("share of packets sent needlessly, RTO 10 ms"),
                at(values, *slow, "duplicates"),
                judge.below(0.001),
            ),
            Claim(
                f"{of}.duplicates.rto_20us",
                said("share of packets sent needlessly, RTO 20 µs"),
                at(values, *fast, "duplicates"),
                judge.at_least(0.02),
            ),
            Claim(
                f"{of}.efficiency",
                said("packets needed over packets sent, RTO 20 µs over 10 ms"),
                ratio(values, (*fast, "efficiency"), (*slow, "efficiency")),
                judge.below(1),
            ),
        ]
    for (variant, at_load, name, what), value in values.items():
        if what in ("max", "efficiency"):
            words = "largest FCT (µs)" if what == "max" else "efficiency"
            text = f"load {at_load}, {TABLE_4[str(name)].title}: {words}"
            found.append(
                Claim(f"table.load{round(float(at_load) * 100)}.{name}.{what}", text, value, variant=str(variant))
            )
    return found


def _table_a1(values: Values) -> Table:
    rows = []
    for variant in DELAYS:
        for load in TABLE_4_LOADS:
            for name, stack in TABLE_4.items():
                if (variant, load, name, "max") in values:
                    v = [values[variant, load, name, what] for what in ("mean", "max", "efficiency", "duplicates")]
                    cells = [format_number(v[0]), format_number(v[1]), f"{v[2]:.3f}", format_share(v[3])]
                    rows.append(
                        tuple(Cell(text) for text in (f"{stack.title}, {in_words(variant)}, load {load:g}", *cells))
                    )
    head = ("Scheme, variant, load", "Mean FCT (µs)", "Largest FCT (µs)", "Needed over sent", "Sent needlessly")
    return Table("Table 4: the published values are not in the text at hand", head, rows)


def show_a1(runs: Runs, _scale: Scale) -> Shown:
    """The table."""
    remarks = [
        "Default: 1 µs links, base RTT 12.8 µs. Variant links 4 µs: the ExpressPass authors' script for 10 Gb/s, base "
        "RTT 50.8 µs, where a timeout of 20 µs fires for every packet to another pod on an idle network; 20 µs for "
        "everything is not run there: each packet would be sent three times over.",
        "RTO 20 µs is that of unscheduled and scheduled packets and of requests; where scheduled ones have 10 ms, as "
        "the paper has it for its table 5, requests have them, too.",
        "Needed over sent, the efficiency: data packets that carry all flows once over those sent. Sent needlessly: "
        "share of the packets sent whose data the receiver had already. Both are means over the seeds.",
        "Load counts only flows that leave their rack, 186 of 191. The ExpressPass authors' script counts all: by its "
        "measure these runs have 2.7 % more load.",
    ]
    return Shown(tables=[_table_a1(measure_a1(runs))], remarks=remarks)


# ---- Table 5.

SENDERS, FLOW_BYTES = 20, 400_000

TIMES_5: Final = 10.0
"""About how many times as long FCTs are with priority queueing as with Aeolus, by the text beside table 5."""

_WHOLE = f"{FLOW_BYTES}B"


def _whole(stack: Stack) -> Stack:
    assert isinstance(stack.scheme, ExpressPass)
    return replace(stack, scheme=replace(stack.scheme, first_bytes=_WHOLE, stop="never"))


def _again_unscheduled(stack: Stack) -> Stack:
    assert isinstance(stack.scheme, ExpressPass)
    return replace(stack, scheme=replace(stack.scheme, late_repair="at_once"))


TABLE_5: Final[Mapping[str, Stack]] = {
    "express_pass": STACKS["express_pass"],
    "express_pass_aeolus": STACKS["express_pass_aeolus"],
    "pq_10ms": priority_queueing("10ms"),
    "pq_20us": priority_queueing("20us"),
    "pq_10ms_whole": _whole(priority_queueing("10ms")),
    "pq_20us_whole": _whole(priority_queueing("20us")),
    "pq_20us_again": _again_unscheduled(priority_queueing("20us")),
}
"""``whole``: the burst is the whole flow and the first credit does not stop it. ``again``: repaired unscheduled."""

_MORE_5: Final = {"whole": ", burst of the whole flow", "again": ", repaired unscheduled"}


def _title_5(name: str) -> str:
    """What a row is, in as few words as a column has room for."""
    title = TABLE_5[name].title.replace("ExpressPass + priority", "Priority").partition(", of scheduled")[0]
    return title + _more_5(name)


def _more_5(name: str) -> str:
    """What a row has besides the scheme's own title."""
    return _MORE_5.get(name.rpartition("_")[2], "")


VARIANTS_5: Final[Mapping[str, tuple[str, str, str]]] = {
    "default": ("200KB", "1us", "6KiB"),
    "buffer_500KB": ("500KB", "1us", "6KiB"),
    "links_4us": ("200KB", "4us", "6KiB"),
    "threshold_30KB": ("200KB", "1us", "30KB"),
}
"""Buffer of the port, delay of the links, threshold of Aeolus."""

_SEEDS_5: Final = {Scale.TINY: 1, Scale.QUICK: 5, Scale.PAPER: 20}


def plan_a2(scale: Scale) -> Sequence[Point]:
    """20 senders of 400 KB to one receiver at one switch."""
    flows = Flows(rows=[FlowRow(src=i, dst=SENDERS, bytes=f"{FLOW_BYTES}B") for i in range(SENDERS)])
    found = []
    for variant, (buffer, delay, threshold) in VARIANTS_5.items():
        for name, stack in TABLE_5.items():
            if variant == "threshold_30KB" and stack.ports != "selective":
                continue
            net = single_switch(SENDERS + 1, delay)
            run = scenario(f"A2-{name}", stack, net, [flows], buffer=buffer, threshold=threshold)
            key = {"scheme": name, "variant": variant}
            found += over_seeds(run, key, _SEEDS_5[scale])
    return found


def measure_a2(runs: Runs) -> Values:
    """Mean and largest FCT (us) and dropped scheduled packets by variant and scheme; the mean over seeds."""
    found: dict[Place, float] = {}
    for variant in runs.values("variant"):
        for name in TABLE_5:
            seen = [facts(run) for run in runs.where(variant=variant, scheme=name)]
            if seen:
                found[variant, name, "mean"] = sum(f.fct_us.mean() for f in seen) / len(seen)
                found[variant, name, "max"] = sum(f.fct_us.max() for f in seen) / len(seen)
                found[variant, name, "scheduled_drops"] = sum(f.scheduled_drops for f in seen) / len(seen)
                found[variant, name, "unscheduled_drops"] = sum(f.unscheduled_drops for f in seen) / len(seen)
    return found


def rule_a2(values: Values) -> list[Claim]:
    """Priority queueing is about ten times slower, and loses scheduled packets when its burst goes on."""
    aeolus, found = "express_pass_aeolus", []

    def against(name: str, what: str) -> Claim:
        text = f"{TABLE_5[name].title}{_more_5(name)}, over Aeolus: {'mean' if what == 'mean' else 'largest'} FCT"
        value = ratio(values, ("default", name, what), ("default", aeolus, what))
        return Claim(f"{name}.{what}", text, value, judge.about(TIMES_5), TIMES_5)

    # With 20 µs for unscheduled packets, too; also with both ways in which more scheduled packets are lost.
    compared = ("pq_10ms", "pq_20us", "pq_20us_whole", "pq_20us_again")
    found += [against(name, what) for name in compared for what in ("mean", "max")]
    lost = at(values, "default", "pq_10ms", "scheduled_drops")
    text = "Priority queueing, RTO 10 ms: scheduled packets dropped"
    found.append(Claim("pq_10ms.scheduled_drops", text, lost, judge.above(0), count=True))
    whole = ("default", "pq_10ms_whole", "scheduled_drops")
    found.append(
        Claim(
            "pq_10ms_whole.scheduled_drops",
            "Priority queueing whose burst is not stopped by the first credit: scheduled packets dropped",
            at(values, *whole),
            judge.above(0),
            count=True,
        )
    )
    found.append(
        Claim(
            "aeolus.mean",
            "ExpressPass + Aeolus over ExpressPass: mean FCT",
            ratio(values, ("default", aeolus, "mean"), ("default", "express_pass", "mean")),
            judge.percent_of(1, 5),
        )
    )
    for (variant, name, what), value in values.items():
        if what != "unscheduled_drops":
            words = {"mean": "mean FCT (µs)", "max": "largest FCT (µs)", "scheduled_drops": "scheduled packets dropped"}
            text = f"20-to-1 incast of 400 KB, {_title_5(str(name))}: {words[str(what)]}"
            found.append(Claim(f"table.{name}.{what}", text, value, variant=str(variant)))
    return found


def judge_a2(runs: Runs, scale: Scale) -> list[Verdict]:
    """The ratios, and that Aeolus loses no scheduled packet at all."""
    found = verdicts("A2", measure_a2, rule_a2, runs, scale)
    lost = sum(facts(run).scheduled_drops for run in runs.where(scheme="express_pass_aeolus"))
    return [
        *found,
        judge.exact("A2.aeolus.scheduled_drops", "Aeolus: scheduled packets dropped, all variants", 0, lost),
    ]


def show_a2(runs: Runs, _scale: Scale) -> Shown:
    """The table."""
    values, rows = measure_a2(runs), {}
    for variant in VARIANTS_5:
        for name in TABLE_5:
            if (variant, name, "mean") in values:
                kinds = ("mean", "max", "unscheduled_drops", "scheduled_drops")
                rows[f"{_title_5(name)}, {in_words(variant)}"] = [values[variant, name, what] for what in kinds]
    head = ("Scheme, variant", "Mean FCT (µs)", "Largest FCT (µs)", "Unscheduled drops", "Scheduled drops")
    remarks = [
        "The wire needs 674 µs for all data, 711 µs at the 94.8 % that credits leave. Published: about ten times; the "
        "values of table 5 are not in the text at hand, nor are the delay of its links and the size of its buffer.",
        "RTO: that of unscheduled packets; of scheduled ones it is 10 ms throughout.",
        "Burst of the whole flow: it is not ended by the first credit. Repaired unscheduled: a packet that is late is "
        "sent again at once, not on a credit.",
        "Variants buffer 500 KB, links 4 µs and threshold 30 KB change what they name.",
        "With 20 µs for unscheduled packets only flows that lose a scheduled packet wait for 10 ms, two or three of 20 "
        "at quick scale; the others end as early as with Aeolus. So the mean is far below the largest FCT.",
    ]
    return Shown(tables=[Table("Table 5: mean over seeds", head, number_rows(rows))], remarks=remarks)


EXPERIMENTS = (
    Experiment(
        id="A1",
        title="Priority queueing: RTO 10 ms or 20 µs (table 4)",
        statement="With unscheduled packets at low priority a timeout of 10 ms makes the largest FCT long, and one of "
        "20 µs makes many needless transmissions.",
        source=f"{SOURCE}, table 4",
        plan=plan_a1,
        judge=lambda runs, scale: verdicts("A1", measure_a1, rule_a1, runs, scale),
        show=show_a1,
    ),
    Experiment(
        id="A2",
        title="20-to-1 incast: priority queueing or Aeolus (table 5)",
        statement="In an incast priority queueing has FCTs about ten times those of Aeolus: unscheduled packets take "
        "the buffer that scheduled ones need.",
        source=f"{SOURCE}, table 5",
        plan=plan_a2,
        judge=judge_a2,
        show=show_a2,
    ),
)
