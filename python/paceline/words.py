"""Words and numbers as people read them, for terminal and page; imports nothing heavy."""

import re

_PICOSECONDS = re.compile(r"\b([0-9]{4,})ps\b")


def many(count: int, what: str, plural: str = "s") -> str:
    """A count with its noun: ``1 switch``, ``20 switches``."""
    return f"{count:,} {what}{'' if count == 1 else plural}"


def simulated(ps: int) -> str:
    """A simulated time for people: three digits or more, in the unit that suits."""
    for unit, scale in (("s", 10**12), ("ms", 10**9), ("µs", 10**6)):
        if ps >= scale:
            return f"{ps / scale:.3f} {unit}"
    return f"{ps / 1000:.3f} ns"


def headed(text: str) -> str:
    """A text as a heading or a line of its own: its first word with a capital, unless that is a name such as p99."""
    first = text.partition(" ")[0].rstrip(",:;")
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


_UNIT = "(?:%|[pnµm]?s|[KMGT]?i?B|[KMGT]?b/s)"
_TIED = re.compile(rf"(?<=[0-9]) (?={_UNIT}(?![\w/]))|(?<=,) (?={_UNIT}$)|(?<=\bnot) (?=judged\b)")


def tied(text: str) -> str:
    """A text that keeps together a number and its unit, a unit at its end with what it is of, and "not judged"."""
    return _TIED.sub("\N{NO-BREAK SPACE}", text)


def readable(text: str) -> str:
    """A text of the engine, which writes times exactly, with long times as :func:`simulated` writes them."""
    return _PICOSECONDS.sub(lambda found: simulated(int(found[1])), text)
