"""Lines and words of htsim's files, with errors that name their place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NoReturn

from paceline import _native
from paceline.files import open_input

MOST_IN_LINE = 4096
"""Bytes of the longest line that is read."""

_SHOWN = 60
_DIGITS = 18


@dataclass(frozen=True)
class Line:
    """A line that says something: its number and its words."""

    file: str
    number: int
    words: tuple[str, ...]

    def refuse(self, problem: str, field: str, value: str | None, allowed: str) -> NoReturn:
        """Raises the InputError of this line."""
        shown = value if value is None or len(value) <= _SHOWN else value[:_SHOWN] + "..."
        raise _native.input_error(
            problem, file=self.file, line=self.number, field=field, value=shown, allowed=allowed
        ) from None

    def whole(self, field: str, word: str | None, least: int, most: int) -> int:
        """A whole number in a range, which may be written as ``1e6`` or ``5.0``."""
        allowed = f"a whole number from {least} to {most}"
        if word is None:
            self.refuse("has no value", field, None, allowed)
        number = _decimal(word)
        # An exponent of a billion must not become that many digits.
        if not number.is_finite() or (number.adjusted() <= _DIGITS and number != number.to_integral_value()):
            self.refuse("not a whole number", field, word, allowed)
        if not least <= number <= most:
            self.refuse("out of range", field, word, allowed)
        return int(number)


def _decimal(word: str) -> Decimal:
    try:
        return Decimal(word) if word.isascii() and "_" not in word else Decimal("nan")
    except InvalidOperation:
        return Decimal("nan")


def lines(path: Path, kind: str) -> Iterator[Line]:
    """The lines of a file, one at a time, without comments and empty ones. InputError when it is no such text."""
    name = str(path)
    try:
        with open_input(path, kind) as file:
            number = 0
            while raw := file.readline(MOST_IN_LINE + 1):
                number += 1
                if len(raw) > MOST_IN_LINE:
                    allowed = f"up to {MOST_IN_LINE} bytes in a line"
                    raise _native.input_error("the line is too long", file=name, line=number, allowed=allowed)
                try:
                    words = tuple(raw.decode("utf-8-sig" if number == 1 else "utf-8").split())
                except UnicodeDecodeError:
                    raise _native.input_error("is not text in UTF-8", file=name, line=number, allowed=kind) from None
                if words and not words[0].startswith("#"):
                    yield Line(name, number, words)
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise _native.input_error(problem, file=name, allowed=kind) from error
