"""The few lines that end a run, from what ``summary.json`` says."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from paceline.words import many, readable, simulated, tier_text

SHORTEST_S = 0.1
"""CPU time from which a run says how fast the machine is: less is start-up, and a few ticks of its clock."""

_NOTABLE = {
    "drops_buffer": ("drop in buffers", "drops in buffers"),
    "drops_wire": ("drop on wires", "drops on wires"),
    "drops_link_down": ("drop on links down", "drops on links down"),
    "lossless_drops": ("drop in lossless classes", "drops in lossless classes"),
    "marks": ("ECN mark", "ECN marks"),
    "pause_frames": ("PFC pause", "PFC pauses"),
    "retransmitted_packets": ("retransmission", "retransmissions"),
    "timeouts": ("timeout", "timeouts"),
    "drops_unscheduled": ("unscheduled drop", "unscheduled drops"),
    "trimmed_packets": ("trimmed packet", "trimmed packets"),
    "drops_credit": ("credit dropped", "credits dropped"),
    "ties": ("tie of simultaneous events", "ties of simultaneous events"),
}


_MOST_SETTINGS = 12
"""Settings without effect that a terminal names."""


def lines(
    summary: dict[str, Any], given: Collection[str] | None = None, received: Mapping[str, int] | None = None
) -> list[str]:
    """How the run ended, what happened in it and how fast it was; what the summary lacks is left out.

    Of the settings without effect only those are told that the user made: ``given``, dotted; all without it.
    ``received`` are flows by status at the receiver, where a report counts them there: over UDP, whose senders are done
    whatever is lost.
    """
    return [
        *_ending(summary, received),
        *mpi_lines(summary),
        *_counts(summary),
        *_load(summary),
        *_speed(summary),
        *remarks(summary, given),
    ]


def _ending(summary: dict[str, Any], received: Mapping[str, int] | None) -> list[str]:
    flows, how = summary.get("flows", {}), "finished"
    if received is not None:
        flows, how = {**flows, **received}, "received whole"
    queries = summary.get("queries")
    finished = f"; {flows['finished']:,} of {flows['total']:,} flows {how}" if flows else ""
    if summary.get("mpi") and not flows.get("total"):
        finished = ""  # programs have lines of their own
    if queries:
        answered = f"; {queries['answered']:,} of {queries['issued']:,} queries answered"
        finished = answered + (finished if flows.get("total") else "")
    failed = f", {flows['failed']:,} failed" if flows.get("failed") else ""
    at = f" after {simulated(summary['simulated_ps'])} simulated" if "simulated_ps" in summary else ""
    return [f"{summary.get('name', 'run')}: {summary.get('status', 'ended')}{at}{finished}{failed}"]


def mpi_lines(summary: dict[str, Any]) -> list[str]:
    """How the message-passing programs of a run went, a line each."""
    said = []
    for run in summary.get("mpi", []):
        name = f"{run['group']} on {many(run['ranks'], 'rank')} over {run['scheme']}"
        if run["runtime_ps"] is None:
            said.append(f"{name}: not through")
            continue
        slowdown = f", {run['slowdown']:.3f} times the ideal network's" if run["slowdown"] else ""
        said.append(f"{name}: {simulated(run['runtime_ps'])}{slowdown}")
    return said


def _counts(summary: dict[str, Any]) -> list[str]:
    counters = summary.get("counters", {})
    seen = [f"{counters[key]:,} {words[counters[key] != 1]}" for key, words in _NOTABLE.items() if counters.get(key)]
    return [", ".join(seen)] if seen else []


def _load(summary: dict[str, Any]) -> list[str]:
    """Offered and carried load of every tier; a dash where nothing is offered at a rate, as of an incast."""

    def share(value: float) -> str:
        return f"{100 * value:.1f} %" if value else "–"

    loads = [
        f"{tier_text(load['tier'], load['direction'])} {share(load['offered'])} / {share(load['carried'])}"
        for load in summary.get("load", [])
    ]
    return [f"load, offered / carried: {', '.join(loads)}"] if loads else []


def _speed(summary: dict[str, Any]) -> list[str]:
    machine, counters = summary.get("machine", {}), summary.get("counters", {})
    if not machine:
        return []
    hops = counters.get("data_hops", 0) + counters.get("control_hops", 0)
    pace = f" ({machine['hops_per_s'] / 1e6:.2f} M hops per CPU second)" if machine["cpu_s"] >= SHORTEST_S else ""
    return [f"{hops:,} packet hops in {machine['run_s']:.2f} s{pace}, peak memory {machine['peak_rss_mib']:.0f} MiB"]


def warnings(summary: dict[str, Any]) -> list[str]:
    """Warnings and a diagnosis, a line each."""
    said = [f"warning: {readable(warning)}" for warning in summary.get("warnings", [])]
    if summary.get("diagnosis"):
        said.append(f"diagnosis: {readable(summary['diagnosis'])}")
    return said


def _no_effect(summary: dict[str, Any], given: Collection[str] | None) -> dict[str, str]:
    """Settings without effect, of those ``given`` as for :func:`lines`, and why."""
    found: dict[str, str] = {}
    for text in summary.get("without_effect", []):
        names, _, why = text.partition(":")
        found |= {name: why.strip() for name in names.split(", ") if given is None or _made(name, given)}
    return found


def remarks(summary: dict[str, Any], given: Collection[str] | None) -> list[str]:
    """Warnings, settings without effect (of those ``given``, as for :func:`lines`) and a diagnosis, a line each."""
    settings = list(_no_effect(summary, given))
    # A scenario with all its defaults filled in gives dozens.
    more = f" and {len(settings) - _MOST_SETTINGS} more" if len(settings) > _MOST_SETTINGS else ""
    listed = f"had no effect: {', '.join(settings[:_MOST_SETTINGS])}{more} (why: summary.json)"
    said = warnings(summary)
    last = len(said) - bool(summary.get("diagnosis"))
    return [*said[:last], *([listed] if settings else []), *said[last:]]


def without_effect(summaries: Sequence[dict[str, Any]], given: Collection[str]) -> dict[str, str]:
    """Settings, of those ``given``, that changed nothing in any of some runs, and why."""
    each = [_no_effect(summary, given) for summary in summaries]
    return {name: why for name, why in (each[0].items() if each else ()) if all(name in other for other in each)}


def no_effect_lines(settings: Mapping[str, str]) -> list[str]:
    """Those of :func:`without_effect`, a line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for name, why in settings.items():
        by_reason.setdefault(why, []).append(name)
    said = [f"had no effect: {', '.join(names)} ({readable(why)})" for why, names in by_reason.items()]
    more = len(said) - _MOST_SETTINGS
    return said if more <= 0 else [*said[:_MOST_SETTINGS], f"had no effect: {more} more (summary.json has them)"]


def _made(setting: str, given: Collection[str]) -> bool:
    """Whether a setting that had no effect, or a part of it, was given; options of the command line always were."""
    if setting.startswith("--"):
        return True
    plain = ".".join(part for part in setting.partition(" ")[0].split(".") if not part.isdecimal())
    return any(name == plain or name.startswith(f"{plain}.") for name in given)
