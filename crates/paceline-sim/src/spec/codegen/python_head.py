"""Scenarios as Python values.

Generated from the table of fields in crates/paceline-sim/src/spec; do not edit. To refresh:
UPDATE=1 cargo test -p paceline-sim generated_files

Quantities are strings with a unit, as in TOML: "100Gbps", "1us", "32MiB". Nothing is checked here:
the engine checks the TOML that `Scenario.to_toml` writes and names the field that is wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import ClassVar, Literal

__all__: list[str] = []


class Section:
    """What all sections share."""

    __slots__ = ()
    chosen: ClassVar[tuple[str, ...]] = ()
    """Keys that tell which variant of a section this is."""


def _entries(section: Section) -> Iterator[tuple[str, object]]:
    for key in section.chosen:
        yield key, getattr(section, key)
    for item in fields(section):  # type: ignore[arg-type]
        value = getattr(section, item.name)
        if value is not None:
            yield item.name.rstrip("_"), value


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Section):
        return "{ " + ", ".join(f"{key} = {_literal(v)}" for key, v in _entries(value)) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    raise TypeError(f"cannot be written as TOML: {value!r}")


_CLASS = "an object of a class of paceline.scenario"


class WrongType(TypeError):
    """A value of a type that its field does not take."""

    def __init__(self, field: str, value: object, allowed: str) -> None:
        kind, text = type(value).__name__, repr(value)
        self.field, self.allowed = field, allowed
        self.value = kind if isinstance(value, Section) else f"{kind} {text if len(text) <= 40 else text[:37] + '...'}"
        super().__init__(f"{field} = {self.value}: wrong type; allowed: {allowed}")


def _tables(section: Section, path: str, where: str = "") -> Iterator[str]:
    """``path`` is that of headers, ``where`` that of errors, which count what is in a list."""
    later: list[tuple[str, str, str, Section]] = []
    for key, value in _entries(section):
        inner = f"{path}.{key}" if path else key
        place = f"{where}.{key}" if where else key
        if key == "workloads" and not path:
            if isinstance(value, Section | str) or not isinstance(value, Sequence):
                raise WrongType(place, value, "a list of workloads")
            later.extend((f"[[{inner}]]", inner, f"{place}.{i}", item) for i, item in enumerate(value))
        elif key == "schemes" and not path and not isinstance(value, Mapping):
            raise WrongType(place, value, "a dict of schemes by name")
        elif isinstance(value, Section):
            later.append((f"[{inner}]", inner, place, value))
        elif isinstance(value, Mapping):
            if key != "schemes":
                raise WrongType(place, value, _CLASS)
            for name, item in value.items():
                if not isinstance(name, str):
                    raise TypeError(f"cannot be a name in {inner}: {name!r}")
                # The engine refuses a name that is none; in quotes it gets to see it.
                bare = re.fullmatch(r"[\w-]+", name, re.ASCII)
                named = name if bare else _literal(name)
                later.append((f"[{inner}.{named}]", f"{inner}.{named}", f"{place}.{named}", item))
        else:
            yield f"{key} = {_literal(value)}"
    for header, inner, place, item in later:
        if not isinstance(item, Section):
            raise WrongType(place, item, _CLASS)
        yield f"\n{header}"
        yield from _tables(item, inner, place)
