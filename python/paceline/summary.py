"""The few lines that end a run, from what ``summary.json`` says."""

from collections.abc import Collection, Mapping
from typing import Any

from paceline.words import many, readable, simulated

_NOTABLE = {
    "drops_buffer": ("drop in buffers", "drops in buffers"),
    "drops_wire": ("drop on wires", "drops on wires"),
    "drops_link_down": ("drop on links down", "drops on links down"),
    "lossless_drops": ("drop in lossless classes", "drops in lossless classes"),
    "marks": ("ECN mark", "ECN marks"),
    "pause_frames": ("PFC pause", "PFC pauses"),
    "retransmitted_packets": ("retransmission", "retransmissions"),
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


def _speed(summary: dict[str, Any]) -> list[str]:
    machine, counters = summary.get("machine", {}), summary.get("counters", {})
    if not machine:
        return []
    hops = counters.get("data_hops", 0) + counters.get("control_hops", 0)
    pace = machine["hops_per_s"] / 1e6
    return [
        f"{hops:,} packet hops in {machine['run_s']:.2f} s ({pace:.2f} M hops per CPU second), "
        f"peak memory {machine['peak_rss_mib']:.0f} MiB"
    ]


def remarks(summary: dict[str, Any], given: Collection[str] | None) -> list[str]:
    """Warnings, settings without effect (of those ``given``, as for :func:`lines`) and a diagnosis, a line each."""
    remarks = [f"warning: {readable(warning)}" for warning in summary.get("warnings", [])]
    settings = [name for text in summary.get("without_effect", []) for name in text.partition(":")[0].split(", ")]
    settings = [name for name in settings if given is None or _made(name, given)]
    # A scenario with all its defaults filled in gives dozens.
    more = f" and {len(settings) - _MOST_SETTINGS} more" if len(settings) > _MOST_SETTINGS else ""
    remarks += [f"had no effect: {', '.join(settings[:_MOST_SETTINGS])}{more} (why: summary.json)"] if settings else []
    if summary.get("diagnosis"):
        remarks.append(f"diagnosis: {readable(summary['diagnosis'])}")
    return remarks


def _made(setting: str, given: Collection[str]) -> bool:
    """Whether a setting that had no effect, or a part of it, was given; options of the command line always were."""
    if setting.startswith("--"):
        return True
    plain = ".".join(part for part in setting.partition(" ")[0].split(".") if not part.isdecimal())
    return any(name == plain or name.startswith(f"{plain}.") for name in given)
