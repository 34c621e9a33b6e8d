"""Words and numbers as people read them, for terminal and page; imports nothing heavy."""

import re
from collections.abc import Iterable

from paceline.units import PICOSECONDS, quantity

_EXACT = re.compile(r"(?<![\w.])([0-9]{4,}ps|[0-9]+\.[0-9]{4,}(?:n|u|m|)s)\b")
_ARROW = re.compile(r"(?<=\w) ?-> ?(?=\w)")


def many(count: int, what: str, plural: str = "s") -> str:
    """A count with its noun: ``1 switch``, ``20 switches``."""
    return f"{count:,} {what}{'' if count == 1 else plural}"


def listed(words: Iterable[str]) -> str:
    """Words in a row: ``30, 50 and 70``."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def revision(git: str) -> str:
    """A commit in twelve digits, as what is built from it says it, marked where sources had been changed since."""
    return git[:12] + ("-dirty" if git.endswith("-dirty") else "")


def run_time(seconds: float) -> str:
    """An estimate of real or CPU time, no finer than it is."""
    if seconds < 0.1:
        return "0.1 s or less"
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def simulated(ps: int) -> str:
    """A simulated time for people: three digits or more, in the unit that suits."""
    for unit, scale in (("s", 10**12), ("ms", 10**9), ("µs", 10**6)):
        if ps >= scale:
            return f"{ps / scale:.3f} {unit}"
    return f"{ps / 1000:.3f} ns"


def as_ratio(above: str, below: str) -> str:
    """Two names as a ratio: ``A over B``, and ``A, with C, over B``, as the first would end anywhere else."""
    return f"{above}{',' if ',' in above else ''} over {below}"


def headed(text: str) -> str:
    """A text as a heading or a line of its own: its first word with a capital, unless that is a name such as p99."""
    first = text.partition(" ")[0].rstrip(",:;")
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


def percent(share: float, decimals: int = 1) -> str:
    """A share in percent: 2.3 %."""
    return f"{share * 100:.{decimals}f} %"


_ABBREVIATED = {
    "ack": "ACK",
    "cnp": "CNP",
    "dcqcn": "DCQCN",
    "hpcc": "HPCC",
    "max_stage": "maxStage",
    "rto": "RTO",
    "sack": "SACK",
    "w_ai": "additive increase",
}
"""Parts of names that read otherwise than their letters."""
_PART = re.compile(rf"(?<![a-z])({'|'.join(_ABBREVIATED)})(?![a-z])")
_NUMBER_UNIT = re.compile(r"(?<![a-z0-9])([0-9]+)(us|ms|s|kb| ?[mg]bps)\b", re.IGNORECASE)


def in_words(name: str) -> str:
    """The name of a variant as people read it: "ACK 8 / 200 µs" for ``ack_8_200us``; records keep the name."""
    text = _PART.sub(lambda found: _ABBREVIATED[found[0]], name.replace("@", ", "))
    text = re.sub(r"(?<=[0-9])_(?=[0-9])", " / ", text).replace("_", " ")
    units = {"us": "µs", "kb": "KB", "mbps": "Mb/s", "gbps": "Gb/s"}
    return _NUMBER_UNIT.sub(lambda found: f"{found[1]} {units.get(found[2].strip().lower(), found[2])}", text)


_MINUS = re.compile(r"(?<![^\s(\[/±≥≤<>→,;:])-(?=\.?[0-9]|∞)")
_POWER = re.compile(r"(?<![\w.=])([0-9](?:\.[0-9]+)?)e([-+])0*([0-9]{1,3})(?![\w.])")
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def signed(text: str) -> str:
    """A text as print has its numbers: a true minus sign, and 10⁻⁵ for 1e-05.

    For pages and figures. What is typed or read by programs keeps the characters of a keyboard, as settings (``x=-1``)
    and the terminal do.
    """
    return _POWER.sub(_power, _MINUS.sub("\N{MINUS SIGN}", text))


def _power(found: re.Match[str]) -> str:
    digits, sign, exponent = found.groups()
    raised = "10" + f"{'-' if sign == '-' else ''}{exponent}".translate(_RAISED)
    return raised if digits == "1" else f"{digits}\N{NO-BREAK SPACE}\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}{raised}"


_UNIT = "(?:%|[pnµm]?s|[KMGT]?i?B|[KMGT]?b/s)"
_TIED = re.compile(
    rf"(?<=[0-9]) (?={_UNIT}(?![\w/])|±)| (?=\({_UNIT}\))|(?<=\bnot) (?=judged\b)|(?<=[<>≤≥±]) (?=[0-9])"
    r"|(?<=\bQCN) (?=[0-9])"
)


def tied(text: str) -> str:
    """A text that keeps together a number, its unit and what compares it, "not judged", and a unit in brackets."""
    return _TIED.sub("\N{NO-BREAK SPACE}", text)


def typeset(text: str) -> str:
    """A text as a page has it: :func:`signed` and :func:`tied`."""
    return tied(signed(text))


def tier_text(tier: str, direction: str | None = None) -> str:
    """A tier of links as tables name it: tor → host; of a tier between equals a direction: tor → tor (to lower ids)."""
    return _ARROW.sub(" → ", tier) + (f" ({direction})" if direction else "")


def _rounded(found: re.Match[str]) -> str:
    return simulated(round(quantity(found[0], PICOSECONDS) or 0))


def readable(text: str) -> str:
    """A text of the engine, with long times as :func:`simulated` writes them, and arrows as tables have them."""
    return tier_text(_EXACT.sub(_rounded, text))
