"""Whether the parts of a scenario in Python are of the classes that belong there, before it is written as TOML.

The engine checks values and names their places. A dict where a class belongs, or what TOML cannot say, it never sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from paceline import _native
from paceline.errors import cut
from paceline.scenario import Scenario, Section


def check_types(scenario: Scenario) -> None:
    """Raises InputError, with the path of the field, for a part that is of no class that it may be of."""
    _section(scenario, "")


@cache
def _fields(kind: Any) -> dict[str, tuple[Any, ...]]:
    """The types that each field may be of."""
    found = get_type_hints(kind)
    return {name: _members(hint) for name, hint in found.items() if get_origin(hint) is not ClassVar}


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _section(section: Section, path: str) -> None:
    kind: Any = type(section)
    for name, members in _fields(kind).items():
        value = getattr(section, name)
        # None is a field left out; `class_` is `class` in TOML and in the engine's errors.
        if value is not None:
            own = name.rstrip("_")
            _value(value, members, f"{path}.{own}" if path else own)


def _value(value: object, members: tuple[Any, ...], path: str) -> None:
    if isinstance(value, Section):
        if not isinstance(value, tuple(_classes(members))):
            raise _wrong(value, members, path)
        _section(value, path)
    elif isinstance(value, str | Integral | Real):
        # Which of these the field takes the engine says.
        if all(member is type(None) or _holds_sections(member) for member in members):
            raise _wrong(value, members, path)
    elif isinstance(value, Mapping):
        inner = _inner(members, Mapping)
        if not inner:
            raise _wrong(value, members, path)
        for name, item in value.items():
            if isinstance(name, str):
                _value(item, _members(inner[1]), f"{path}.{name}")
    elif isinstance(value, Sequence):
        inner = _inner(members, Sequence)
        if not inner and list(_classes(members)):
            raise _wrong(value, members, path)
        # A list in place of a text is for the engine; what is in it has to be TOML all the same.
        wanted = _members(inner[0]) if inner else members
        for i, item in enumerate(value):
            _value(item, wanted, f"{path}.{i}")
    else:
        raise _wrong(value, members, path)


def _is_section(member: Any) -> bool:
    return isinstance(member, type) and issubclass(member, Section)


def _holds_sections(member: Any) -> bool:
    """Whether it is a class of sections, or a list or a dict of them."""
    return _is_section(member) or any(_holds_sections(m) for arg in get_args(member) for m in _members(arg))


def _classes(members: tuple[Any, ...]) -> Iterator[type[Section]]:
    yield from (member for member in members if _is_section(member))


def _inner(members: tuple[Any, ...], kind: type) -> tuple[Any, ...]:
    """What the list, or the dict, among these types holds; nothing if there is none."""
    return next((get_args(member) for member in members if get_origin(member) is kind), ())


def _wrong(value: object, members: tuple[Any, ...], path: str) -> _native.InputError:
    if isinstance(value, type):
        problem = f"is a class; write {value.__name__}(...)"
    else:
        name = type(value).__name__
        problem = f"is {'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
    shown = f"{type(value).__name__}(...)" if isinstance(value, Section) else cut(" ".join(repr(value).split()))
    return _native.input_error(problem, field=path, value=shown, allowed=_allowed(members))


def _allowed(members: tuple[Any, ...]) -> str:
    """The types in words: ``SizeFile of paceline.scenario or str``."""
    names = [kind.__name__ for kind in _classes(members)]
    said = [f"{', '.join(names)} of paceline.scenario"] if names else []
    for member in members:
        args, origin = get_args(member), get_origin(member)
        if member in (str, int, float, bool):
            said.append(member.__name__)
        elif origin is Literal:
            said.append(", ".join(f'"{word}"' for word in args))
        elif origin is Sequence:
            said.append(f"a list of {_allowed(_members(args[0]))}")
        elif origin is Mapping:
            said.append(f"a dict that gives names to {_allowed(_members(args[1]))}")
    return " or ".join(said)
