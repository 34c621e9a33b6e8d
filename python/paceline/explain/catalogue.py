"""What scenarios can be made of, and what a check found, as text for a terminal."""

from __future__ import annotations

import re
import shutil
import textwrap
import tomllib
from collections.abc import Iterable
from typing import Any

from paceline.words import many, readable, run_time

_KINDS = (
    ("topologies", "Topologies ([topology] kind)"),
    ("workloads", "Workloads ([[workloads]] kind)"),
    ("schemes", "Congestion control ([schemes.NAME] cc)"),
)


def width() -> int:
    """Columns to fill: those of the terminal, at most 110."""
    return min(shutil.get_terminal_size((100, 24)).columns, 110)


def folded(text: str, columns: int) -> str:
    """Text with its long lines broken; what follows a word and a colon at the margin of a block stays beside them."""
    found = []
    for line in text.splitlines():
        beside = re.match(r" +(\w+: +)?", line)
        hang = " " * (len(beside[0]) if beside else 4)
        found += _wrapped(line.strip(), line[: len(line) - len(line.lstrip())], columns, hang) if line else [""]
    return "\n".join(found)


_PRESETS = ("preset", "stack")
"""Settings whose words stand for the defaults of several others."""


def presets(settings: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Words of sections, as the engine lists these, that stand for several defaults, with what they make each of them.

    Each has the ``setting``, its ``name``, what else must be chosen (``only_with``), whether it is the ``default``, and
    the ``values`` as TOML.
    """
    found: list[dict[str, Any]] = []
    for section in settings:
        by_word: dict[tuple[str, str], dict[str, str]] = {}
        for parameter in section["parameters"]:
            key, texts = parameter["default_by"] or ("", [])
            for word, text in texts if key in _PRESETS else ():
                by_word.setdefault((key, word), {})[parameter["name"]] = text
        defaults = {parameter["name"]: parameter["default"] for parameter in section["parameters"]}
        for (key, word), values in by_word.items():
            entry = {"setting": ".".join([*section["path"], key]), "name": word, "only_with": dict(section["chosen"])}
            found.append(entry | {"default": defaults[key] == f'"{word}"', "values": values})
    return found


def lines(catalogue: dict[str, Any], columns: int) -> list[str]:
    """Topologies, workloads, schemes, presets, flow-size distributions and templates, with parameters and defaults."""
    found = []
    for section, title in _KINDS:
        found += [title, ""]
        for entry in catalogue[section]:
            found += _entry(entry["name"], entry["meaning"], entry["parameters"], columns)
        if section == "workloads":
            found += _entry("any", "What all kinds have.", catalogue["workload_parameters"], columns)
    found += ["Presets (what a word makes of defaults that are not given)", ""]
    for preset in catalogue["presets"]:
        only = "".join(f' with {key} = "{word}"' for key, word in preset["only_with"].items())
        name = f'{preset["setting"].replace("*", "NAME")} = "{preset["name"]}"{only}'
        values = ", ".join(f"{key} = {value}".replace(" ", _BLANK) for key, value in preset["values"].items())
        default = ", the default" if preset["default"] else ""
        found += [*_wrapped(f"{name}{default}: {values}", "  ", columns, "    "), ""]
    found += ['Flow sizes (sizes = "NAME"; the part after @ is the source, see docs/references.md)', ""]
    found += [*_wrapped(", ".join(catalogue["distributions"]), "  ", columns), ""]
    found += ["Templates (paceline init NAME)", ""]
    names = [t["name"] for t in catalogue["templates"]]
    for template in catalogue["templates"]:
        name = f"  {template['name']:{max(map(len, names))}}  "
        found += textwrap.wrap(template["meaning"], columns, initial_indent=name, subsequent_indent=" " * len(name))
    return [*found, "", "`paceline explain FIELD` tells unit, range and source of a parameter."]


def _entry(name: str, meaning: str, parameters: Iterable[dict[str, Any]], columns: int) -> list[str]:
    found = [*_wrapped(f"{name}: {' '.join(meaning.split())}", "  ", columns, "    ")]
    always: list[str] = []
    special: dict[str, list[str]] = {}
    for parameter in parameters:
        only = parameter.get("only_with")
        where = ", ".join(f'{k} = "{v}"' for k, v in only.items()) if only else ""
        (special.setdefault(where, []) if where else always).append(_parameter(parameter))
    if always:
        found += _wrapped(", ".join(always), "    ", columns)
    for where, texts in special.items():
        found += _wrapped(f"with {where}: {', '.join(texts)}", "    ", columns, "      ")
    return [*found, ""]


def _parameter(parameter: dict[str, Any]) -> str:
    name, default = parameter["name"], parameter["default"]
    if default is not None:
        # The blanks of one assignment stay together when lines are broken.
        return f"{name} = {default}".replace(" ", _BLANK)
    return f"{name}{_BLANK}(required)" if parameter["required"] else str(name)


_BLANK = "\N{NO-BREAK SPACE}"


def _wrapped(text: str, indent: str, columns: int, further: str | None = None) -> list[str]:
    wrapped = textwrap.wrap(
        text,
        columns,
        initial_indent=indent,
        subsequent_indent=indent if further is None else further,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_BLANK, " ") for line in wrapped]


def check_lines(found: dict[str, Any]) -> list[str]:
    """What a check tells: size, traffic, engine, and what a run would cost; arguments between double backquotes."""
    names = {"hosts": ("host",), "switches": ("switch", "es"), "links": ("link",)}
    network = ", ".join(many(found["network"][key], *name) for key, name in names.items())
    about = "about " if found["extrapolated"] else ""
    rows = [
        ("network", network),
        ("flows", f"{about}{found['flows']:,}, {_amount(found['bytes'])} of payload"),
        ("packet hops", f"about {_rounded(found['data_hops'])} of data packets, if none is sent again"),
        ("engine", f"{found['engine']}: {readable(found['why'])}"),
        ("run time", _run_time(found)),
        ("memory", f"about {found['memory_mib']:.0f} MiB, {found['engine_mib']:.1f} of them for the simulation"),
    ]
    if found["priorities"]:
        rows.insert(2, ("priorities", _priorities(**found["priorities"])))
    wanted = tomllib.loads(found["resolved"])["records"]["packets"]["rows"]
    if wanted:
        # Answers cross as many links as data, at most.
        held = min(wanted, 2 * found["data_hops"])
        rows.append(("records", f"at most {_rounded(held)} packets, {_amount(_PACKET_BYTES * held)} on disk"))
    return [f"{name:12} {text}" for name, text in rows]


_LONG_S = 5.0
"""Seconds from which a run is worth a second thread."""


def _run_time(found: dict[str, Any]) -> str:
    text = f"about {run_time(found['run_s'])} on one core"
    several = found["engine"] == "windowed" and found["run_s"] >= _LONG_S
    return f"{text}; ``threads`` may shorten it, with the same result" if several else text


_PACKET_BYTES = 64 + 60
"""Of a record in ``packets.bin`` and, about, a row of ``packets.csv``."""


def _priorities(levels: int, unscheduled: int, cutoffs_bytes: list[int]) -> str:
    """How Homa divides its priorities among messages."""
    text = f"{unscheduled} of {levels} for unscheduled packets"
    # Several levels end at one size where many messages have it: all but the first of them are empty.
    sizes = [_amount(size) for size in dict.fromkeys(cutoffs_bytes)]
    return f"{text}: of messages up to {', '.join(sizes)} and above" if sizes else text


def _rounded(count: float) -> str:
    """An estimate, with no more digits than it has."""
    for unit, scale in (("billion", 1e9), ("million", 1e6)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{float(f'{count:.3g}'):,.0f}"


def _amount(size_bytes: float) -> str:
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.3g} {unit}"
    return f"{size_bytes:.0f} B"
