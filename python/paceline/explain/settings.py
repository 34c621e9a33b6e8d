"""The settings of a scenario as a tree: what sections hold.

The engine explains single fields (``_native.explain``) and lists the sections (``_native.settings``). What users may
mean is found here: that ``switch.pfc`` is a section, that ``failures.link`` can only be ``failures.*.link``, and that
``hpcc`` is what ``schemes.NAME.cc`` may be.
"""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from keyword import iskeyword
from typing import Any

from paceline import _native
from paceline.explain.catalogue import width
from paceline.explain.glossary import meanings, near

_Comparison = Callable[[tuple[str, ...], tuple[str, ...]], bool]
"""Whether a path is, or ends with, what was asked for."""


@dataclass(frozen=True)
class Field:
    """A setting of one variant of a section."""

    path: tuple[str, ...]
    """Parts; ``*`` for the number of an entry, or the name of a scheme."""
    default: str
    """As it is written behind the name: ``= 0.95``, ``(required)``, ``(by preset)``."""
    meaning: str
    """Its first sentence."""
    text: str
    """All that is said of it, its source too."""
    words: tuple[str, ...] = ()
    """The values that it chooses from, where these are words."""
    default_toml: str | None = None
    """The default as a scenario has it; None where there is none, or another setting decides."""
    decided_by: tuple[str, Mapping[str, str]] | None = None
    """The setting of the same section that decides the default, and what it is for each of its values."""

    def default_with(self, values: Mapping[str, Any]) -> str | None:
        """The default, as a scenario has it, where the section has these values; None where there is none."""
        if self.decided_by is None:
            return self.default_toml
        deciding, defaults = self.decided_by
        return defaults.get(values.get(deciding, ""))


@dataclass(frozen=True)
class Variant:
    """A section, or what it is with one ``kind``."""

    path: tuple[str, ...]
    when: str
    """As ``kind = "link"``; empty where there is but one variant."""
    meaning: str
    """All that is said of it."""
    fields: tuple[Field, ...]
    sections: tuple[tuple[str, ...], ...]
    """Paths of the sections within."""
    deciding: tuple[tuple[str, ...], ...] = ()
    """Paths of the fields that choose this variant, as ``schemes.*.cc``."""
    words: tuple[str, ...] = ()
    """What those fields are in it, as ``hpcc``."""

    def is_at(self, place: Sequence[str], values: Mapping[str, Any]) -> bool:
        """Whether a section of a scenario is of this variant, by its place with numbers and names, and its values."""
        fits = len(place) == len(self.path) and all(p in ("*", q) for p, q in zip(self.path, place, strict=True))
        return fits and all(values.get(path[-1]) == word for path, word in zip(self.deciding, self.words, strict=True))


def explain(asked: str) -> str:
    """What the engine says of a field; of a section its settings. Numbers and names of entries may be left out.

    A section may also be asked for by its last part, by the word that chooses it (``leaf_spine``, ``schemes.hpcc``),
    and with a field behind that word (``hpcc.eta``). A word that is no name of any brings the settings that have it as
    a value or are explained with it, as ``ECMP``, and what results call so, as ``slowdown``. ``class_`` is what Python
    calls ``class``. Raises InputError for what is neither.
    """
    asked = ".".join(part[:-1] if iskeyword(part[:-1]) and part.endswith("_") else part for part in asked.split("."))
    try:
        return _known(asked)
    except _native.InputError as error:
        for told in (_with_its_path, _with_its_end, _behind_a_word, _as_a_word):
            text = told(asked)
            if text is not None:
                return text
        raise _with_a_near_word(asked, error) from None


def _known(asked: str) -> str:
    """What the engine says of a field, with the sections of that name. Raises its error where it knows none."""
    said = _native.explain(asked)
    wanted = _wanted(asked)
    return "\n".join([said.rstrip("\n"), *_sections(wanted)]) if wanted else said


def _with_its_path(asked: str) -> str | None:
    """Settings and sections whose path, without numbers and names of entries, is what was asked for."""
    return _found(asked, _is)


def _with_its_end(asked: str) -> str | None:
    """Settings and sections whose path ends with what was asked for, and variants that it chooses."""
    return _found(asked, _ends_with)


def _found(asked: str, among: _Comparison) -> str | None:
    wanted = _wanted(asked)
    if not wanted:
        return None
    paths = dict.fromkeys(path for v in _variants() for path in _settings(v) if among(_plain(path), wanted))
    said = [*_sections(wanted, among), *(_native.explain(".".join(path)).rstrip("\n") for path in paths)]
    return "\n".join(said) if said else None


def _behind_a_word(asked: str) -> str | None:
    """A field or section behind the word that chooses a variant, as ``hpcc.eta``."""
    return "\n".join(dict.fromkeys(_within(_wanted(asked)))) or None


def _as_a_word(asked: str) -> str | None:
    """Where a word is that is no name of a setting: a value, a column of results, or in an explanation."""
    having = _having(asked)
    speaking = [row for row in _speaking_of(asked) if row not in having]
    found = [
        *_in_words("It is a value of:", having),
        *_in_words("It is a distribution of flow sizes, for `sizes`:", _distributions(asked)),
        *_in_words("It is a template:", _templates(asked)),
        *_in_words("Results have it:", meanings(asked)),
        *_in_words("It is in the explanation of:", speaking),
    ]
    return "\n".join([f"No setting is called `{asked}`.", *found]) if found else None


def _with_a_near_word(asked: str, error: _native.InputError) -> _native.InputError:
    """The engine's error; where it allows any field, with a column or another word that is nearly it, if any."""
    if _ANY_FIELD not in (error.allowed or ""):
        return error
    column = near(asked)
    if column:
        allowed = f"{error.allowed}, or a column of docs/results.md, such as `{column}`"
        return _native.input_error(error.problem, value=error.value, allowed=allowed)
    word = next(iter(difflib.get_close_matches(asked.lower(), _words(), 1, 0.8)), None)
    problem = f"{error.problem}, did you mean `{word}`?" if word else error.problem
    return _native.input_error(problem, value=error.value, allowed=error.allowed)


def _words() -> list[str]:
    """What may be asked for beside names of settings and columns."""
    chosen = [word for v in _variants() for word in (*v.words, *(w for f in v.fields for w in f.words))]
    catalogue = _native.catalogue()
    sizes = (name.partition("@")[0] for name in catalogue["distributions"])
    return list(dict.fromkeys([*chosen, *sizes, *(t["name"] for t in catalogue["templates"])]))


def _wanted(asked: str) -> tuple[str, ...]:
    """The parts of what was asked for, without numbers and names of entries."""
    return _plain(asked.replace("[]", "").split("."))


_ANY_FIELD = "a field of docs/parameters.md"
"""What the engine allows where it knows no field with nearly the name."""


def _sections(wanted: tuple[str, ...], among: _Comparison | None = None) -> list[str]:
    """The sections of a name, told; those that end with it unless ``among`` compares otherwise."""
    among = among or _ends_with
    found = [v for v in _variants() if among(_plain(v.path), wanted)]
    if among is _ends_with:
        found += [v for v in _variants() if v not in found and _chosen_by(v, wanted)]
    # Several kinds of workload may have the same section.
    return list(dict.fromkeys(_listed(found)))


def _within(wanted: tuple[str, ...]) -> Iterator[str]:
    """What is said of a field or section behind the word that chooses a variant: ``hpcc.eta``, ``poisson.load``."""
    for v in _variants():
        for k in range(1, len(wanted)):
            if not _chosen_by(v, wanted[:k]):
                continue
            inside = (*_plain(v.path), *wanted[k:])
            own = {_plain(path) for path in (*_settings(v), *v.sections)}
            if inside[: len(_plain(v.path)) + 1] not in own:
                continue
            yield from _sections(inside, _is)
            paths = (path for other in _variants() for path in _settings(other) if _plain(path) == inside)
            for path in dict.fromkeys(paths):
                blocks = re.split(r"\n(?=\S)", _native.explain(".".join(path)).rstrip("\n"))
                # Other variants may have a field of this name.
                yield from [b for b in blocks if f'"{wanted[k - 1]}"' in b.partition("\n")[0]] or blocks


def _in_words(head: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    """Names with what they mean, under a heading; nothing without any."""
    rows = list(dict.fromkeys(rows))
    wide = max((len(name) for name, _ in rows), default=0)
    lines = [line for name, meaning in rows for line in _beside(name, meaning, wide)]
    return [head, *lines] if lines else []


def _having(word: str) -> list[tuple[str, str]]:
    """Settings that have a word as a value."""
    return [(_written(f.path), f.meaning) for v in _variants() for f in v.fields if word.lower() in f.words]


def _distributions(word: str) -> list[tuple[str, str]]:
    """Distributions of flow sizes of a name, with its source or without."""
    names = [str(name) for name in _native.catalogue()["distributions"]]
    return [(n, "docs/references.md says what it is") for n in names if word.lower() in {n, n.partition("@")[0]}]


def _templates(word: str) -> list[tuple[str, str]]:
    """Scenarios to start from of a name."""
    known = _native.catalogue()["templates"]
    return [(name, f"{t['meaning']} `paceline init {name}` writes it.") for t in known if (name := t["name"]) == word]


def _speaking_of(word: str) -> list[tuple[str, str]]:
    """Settings in whose explanation a word is."""
    if not re.fullmatch(r"[A-Za-z][\w-]+", word):
        return []
    whole = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])", re.IGNORECASE)
    return [(_written(f.path), f.meaning) for v in _variants() for f in v.fields if whole.search(f.text)]


def _plain(path: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for part in path if part and part != "*" and not part.isdecimal())


def _settings(v: Variant) -> Iterator[tuple[str, ...]]:
    yield from v.deciding
    yield from (f.path for f in v.fields)


def _is(path: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return path == wanted


def _ends_with(path: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return path[len(path) - len(wanted) :] == wanted


def _chosen_by(v: Variant, wanted: tuple[str, ...]) -> bool:
    return wanted[-1:] != () and wanted[-1] in v.words and _ends_with(_plain(v.path), wanted[:-1])


def _listed(sections: list[Variant]) -> Iterator[str]:
    """Sections as text: a line per setting, or where a section has many variants only the names of each."""
    for v in sections:
        name = _written(v.path)
        # One text each, so that equal ones can be told.
        yield "\n".join(_one(v, name, brief=len(sections) > 3))
    if sections:
        some = next((".".join(_plain(v.fields[0].path)) for v in sections if v.fields), "seed")
        yield f"`paceline explain FIELD`, such as `{some}`, tells unit, range and source."


def _one(v: Variant, name: str, *, brief: bool) -> Iterator[str]:
    yield f"{name}{f' (with {v.when})' if v.when else ''}: {_sentence(v.meaning) if brief else v.meaning}"
    rows = [(f.path[-1], f" {f.default}", f.meaning) for f in v.fields]
    if brief and rows:
        yield "  " + ", ".join(n + d for n, d, _ in rows)
    else:
        wide = max((len(n + d) for n, d, _ in rows), default=0)
        for n, d, meaning in rows:
            yield from _beside(n + d, meaning, wide)
    for path in v.sections:
        yield f"  section {_written(path)}"


def _beside(name: str, meaning: str, wide: int) -> list[str]:
    """A name and what it means, in columns, the first as wide as given or less; no line is wider than the terminal."""
    head = f"  {name:{min(wide, 36)}}  "
    hang = " " * min(len(head), min(wide, 36) + 4)
    return textwrap.wrap(head + meaning, width(), subsequent_indent=hang, break_on_hyphens=False)


def _written(path: tuple[str, ...]) -> str:
    return ".".join(path).replace(".*", "[]") if path[:1] != ("schemes",) else ".".join(path).replace("*", "NAME")


def setting_at(path: Sequence[str], values: Mapping[str, Any]) -> Field | None:
    """The setting that a path in a scenario, with numbers and names of entries, leads to; None where there is none.

    ``values`` are those of its section, some of which may choose what else the section has.
    """
    found = (f for v in _variants() if v.is_at(path[:-1], values) for f in v.fields if f.path[-1] == path[-1])
    return next(found, None)


@cache
def _variants() -> tuple[Variant, ...]:
    return tuple(map(_variant, _native.settings()))


def _variant(section: dict[str, Any]) -> Variant:
    path = tuple(section["path"])
    chosen = section["chosen"]
    return Variant(
        path,
        ", ".join(f'{key} = "{word}"' for key, word in chosen),
        _joined(section["meaning"]),
        tuple(_field(path, setting) for setting in section["parameters"]),
        tuple(map(tuple, section["sections"])),
        tuple((*path, key) for key, _ in chosen),
        tuple(word for _, word in chosen),
    )


def _field(path: tuple[str, ...], setting: dict[str, Any]) -> Field:
    meaning = _joined(setting["meaning"])
    deciding = setting["default_by"]
    text = " ".join((meaning, *(word for word, _ in (deciding[1] if deciding else ())), setting["source"]))
    return Field(
        (*path, setting["name"]),
        _default(setting),
        _sentence(meaning),
        text,
        tuple(setting["words"]),
        None if setting["required"] else setting["default"],
        (deciding[0], dict(deciding[1])) if deciding and not setting["required"] else None,
    )


def _default(setting: dict[str, Any]) -> str:
    """How scenarios write it, or what it follows from."""
    if setting["required"]:
        return "(required)"
    if not setting["default_by"]:
        return f"= {setting['default'] or 'none'}"
    deciding, values = setting["default_by"]
    same = all(value.strip('"') == word for word, value in values)
    return f"(that of {deciding})" if same else f"(by {deciding})"


def _joined(text: str) -> str:
    return " ".join(text.split())


def _sentence(text: str) -> str:
    first, _, _ = text.partition(". ")
    return first.rstrip(".") + "." if first else text
