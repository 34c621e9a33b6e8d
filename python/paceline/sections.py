"""What the sections of a scenario in Python have in common, and how they are written as TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from numbers import Integral, Real
from typing import ClassVar


class Section:
    """What all sections share."""

    __slots__ = ()
    chosen: ClassVar[tuple[str, ...]] = ()
    """Keys that tell which variant of a section this is."""


def _entries(section: Section) -> Iterator[tuple[str, object]]:
    """Keys and values but those that are as by default: a run tells of settings without effect that somebody chose."""
    for key in section.chosen:
        yield key, getattr(section, key)
    for item in fields(section):  # type: ignore[arg-type]
        value = getattr(section, item.name)
        if value is not None and not (type(value) is type(item.default) and value == item.default):
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


def as_toml(scenario: Section) -> str:
    """A scenario as TOML, all parts of which are of the classes that belong there."""
    return "\n".join(_tables(scenario, "")).lstrip("\n") + "\n"


def _tables(section: Section, path: str) -> Iterator[str]:
    """``path`` is that of headers."""
    later: list[tuple[str, str, Section]] = []
    for key, value in _entries(section):
        inner = f"{path}.{key}" if path else key
        if key == "workloads" and not path and isinstance(value, Sequence):
            later.extend((f"[[{inner}]]", inner, item) for item in value)
        elif isinstance(value, Section):
            later.append((f"[{inner}]", inner, value))
        elif isinstance(value, Mapping):
            for name, item in value.items():
                if not isinstance(name, str):
                    raise TypeError(f"cannot be a name in {inner}: {name!r}")
                # The engine refuses a name that is none; in quotes it gets to see it.
                named = name if re.fullmatch(r"[\w-]+", name, re.ASCII) else _literal(name)
                later.append((f"[{inner}.{named}]", f"{inner}.{named}", item))
        else:
            yield f"{key} = {_literal(value)}"
    for header, inner, item in later:
        lines = list(_tables(item, inner))
        # A table that holds other tables only needs no header of its own.
        if header.startswith("[[") or not lines or not lines[0].startswith("\n"):
            yield f"\n{header}"
        yield from lines
