"""Whether the parts of a scenario in Python are of the classes that belong there, before it is written as TOML.

The engine checks values and names their places. A dict where a class belongs, or what TOML cannot say, it never sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from paceline import _native
from paceline.errors import cut
from paceline.sections import Section


def check_types(scenario: Section) -> None:
    """Raises InputError, with the path of the field, for a part that is of no class that it may be of."""
    _section(scenario, "")


@dataclass(frozen=True)
class _Allowed:
    """What a value may be, worked out once for each annotation: scenarios of long tables have many values."""

    members: tuple[Any, ...]
    classes: tuple[type[Section], ...]
    plain: bool
    """Texts and numbers too; which of these the field takes the engine says."""
    items: _Allowed | None
    """Of what may be in its list, if it may be one."""
    entries: _Allowed | None
    """Of what may be in its dict, if it may be one."""


@cache
def _allowed(hint: Any) -> _Allowed:
    members = _members(hint)
    lists, dicts = ([get_args(m) for m in members if get_origin(m) is kind] for kind in (Sequence, Mapping))
    return _Allowed(
        members,
        tuple(member for member in members if isinstance(member, type) and issubclass(member, Section)),
        not all(member is type(None) or _holds_sections(member) for member in members),
        _allowed(lists[0][0]) if lists else None,
        _allowed(dicts[0][1]) if dicts else None,
    )


@cache
def _fields(kind: Any) -> tuple[tuple[str, str, _Allowed], ...]:
    """Attributes, what TOML and the engine's errors call them (``class_`` is ``class``), and what they may be."""
    found = get_type_hints(kind)
    return tuple((n, n.rstrip("_"), _allowed(hint)) for n, hint in found.items() if get_origin(hint) is not ClassVar)


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _holds_sections(member: Any) -> bool:
    """Whether it is a class of sections, or a list or a dict of them."""
    if isinstance(member, type) and issubclass(member, Section):
        return True
    return any(_holds_sections(m) for arg in get_args(member) for m in _members(arg))


def _section(section: Section, path: str) -> None:
    kind: Any = type(section)
    for name, own, allowed in _fields(kind):
        value = getattr(section, name)
        # None is a field left out.
        if value is not None and not (allowed.plain and isinstance(value, str | int | float)):
            _value(value, allowed, f"{path}.{own}" if path else own)


def _value(value: object, allowed: _Allowed, path: str) -> None:
    if isinstance(value, Section):
        if not isinstance(value, allowed.classes):
            raise _wrong(value, allowed.members, path)
        _section(value, path)
    elif isinstance(value, str | Integral | Real):
        if not allowed.plain:
            raise _wrong(value, allowed.members, path)
    elif isinstance(value, Mapping):
        if allowed.entries is None:
            raise _wrong(value, allowed.members, path)
        for name, item in value.items():
            if isinstance(name, str):
                _value(item, allowed.entries, f"{path}.{name}")
    elif isinstance(value, Sequence):
        if allowed.items is None and allowed.classes:
            raise _wrong(value, allowed.members, path)
        # A list in place of a text is for the engine; what is in it has to be TOML all the same.
        wanted = allowed.items or allowed
        for i, item in enumerate(value):
            _value(item, wanted, f"{path}.{i}")
    else:
        raise _wrong(value, allowed.members, path)


def _wrong(value: object, members: tuple[Any, ...], path: str) -> _native.InputError:
    if isinstance(value, type):
        problem = f"is a class; write {value.__name__}(...)"
    else:
        name = type(value).__name__
        problem = f"is {'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
    shown = f"{type(value).__name__}(...)" if isinstance(value, Section) else cut(" ".join(repr(value).split()))
    return _native.input_error(problem, field=path, value=shown, allowed=_in_words(members))


def _in_words(members: tuple[Any, ...]) -> str:
    """The types in words: ``SizeFile of paceline.scenario or str``."""
    names = [kind.__name__ for kind in members if isinstance(kind, type) and issubclass(kind, Section)]
    said = [f"{', '.join(names)} of paceline.scenario"] if names else []
    for member in members:
        args, origin = get_args(member), get_origin(member)
        if member in (str, int, float, bool):
            said.append(member.__name__)
        elif origin is Literal:
            said.append(", ".join(f'"{word}"' for word in args))
        elif origin is Sequence:
            said.append(f"a list of {_in_words(_members(args[0]))}")
        elif origin is Mapping:
            said.append(f"a dict that gives names to {_in_words(_members(args[1]))}")
    return " or ".join(said)
