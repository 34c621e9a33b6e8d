"""How numbers, sizes, rates, times and labels are written in tables and figures."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from paceline.words import percent


def clean_label(text: str, longest: int = 40) -> str:
    """A label fit for a figure: control characters as spaces, at most ``longest`` characters.

    Long ones lose their middle: names often differ at their ends.
    """
    plain = "".join(c if c.isprintable() else " " for c in text).strip() or "(no name)"
    if len(plain) <= longest:
        return plain
    end = longest // 2 - 1
    return f"{plain[: longest - 1 - end]}…{plain[-end:]}"


def clean_labels(texts: Iterable[str], longest: int = 40) -> list[str]:
    """Labels that are read together, each as :func:`clean_label` has it; those that would be alike keep their middle.

    Without that two runs, or two curves, were taken for one where their names differ in the middle only.
    """
    whole = list(texts)
    cut = [clean_label(text, longest) for text in whole]
    of: dict[str, set[str]] = {}
    for short, text in zip(cut, whole, strict=True):
        of.setdefault(short, set()).add(text)
    return [clean_label(t, len(t)) if len(of[s]) > 1 else s for s, t in zip(cut, whole, strict=True)]


def format_size(size_bytes: float) -> str:
    """Bytes in at most two significant digits below a hundred units: 900, 1.5K, 28K, 200K, 2M (K = 1000)."""
    for unit, factor in (("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if size_bytes >= factor * 0.9995:
            value = size_bytes / factor
            return f"{value:.0f}{unit}" if value >= 9.95 else f"{value:.1f}".removesuffix(".0") + unit
    return f"{size_bytes:.0f}"


_SIZE_UNITS = (("G", 1e9), ("M", 1e6), ("K", 1e3), ("", 1.0))
_RATE_UNITS = tuple((f" {unit}b/s", factor) for unit, factor in (("T", 1e12), *_SIZE_UNITS))


def format_sizes(sizes_bytes: Sequence[float]) -> list[str]:
    """Sizes that are read together, as on an axis: one unit, and as many decimals: 0, 0.5M, 1.0M."""
    return _in_one_unit(sizes_bytes, _SIZE_UNITS)


def format_rates(rates_bps: Sequence[float]) -> list[str]:
    """Rates that are read together, as on an axis, as :func:`format_sizes`."""
    return _in_one_unit(rates_bps, _RATE_UNITS)


def _in_one_unit(values: Sequence[float], units: Sequence[tuple[str, float]]) -> list[str]:
    most = max(map(abs, values), default=0.0)
    unit, factor = next(((u, f) for u, f in units if most >= f * 0.9995), units[-1])
    texts = same_decimals([v / factor for v in values])
    return [text + unit if v else "0" for v, text in zip(values, texts, strict=True)]


def same_decimals(values: Sequence[float], digits: int = 6) -> list[str]:
    """Numbers with as many decimals as the one of them needs that has most, up to so many ``digits``: 0.05, 0.10."""
    decimals = max((len(f"{v:.{digits}g}".partition(".")[2]) for v in values if _is_plain(v, digits)), default=0)
    return [f"{v:,.{decimals}f}" if _is_plain(v, digits) else f"{v:,.{digits}g}" for v in values]


def _is_plain(value: float, digits: int) -> bool:
    """Whether a number is written without a power of ten."""
    return "e" not in f"{value:.{digits}g}" and math.isfinite(value)


BINARY = (("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0))
DECIMAL = (("MB", 1e6), ("KB", 1e3), ("B", 1.0))


def size_units(sizes_bytes: Iterable[float]) -> Sequence[tuple[str, float]]:
    """The units that sizes given by somebody are of: binary ones where only in these they are round numbers."""
    odd = any(float(f"{size:.4g}") != size for size in sizes_bytes)
    return BINARY if odd and all(size % 1024 == 0 for size in sizes_bytes) else DECIMAL


def format_given(size_bytes: float) -> str:
    """A size that somebody has chosen, in the unit in which it is round: 500 KB, 32 MiB."""
    units = size_units([size_bytes])
    unit, factor = next(((u, f) for u, f in units if size_bytes >= f), units[-1])
    return f"{size_bytes / factor:.4g} {unit}"


def format_rate(rate_bps: float) -> str:
    """A rate in the unit that suits it: 100 Gb/s, 2.5 Mb/s, 0."""
    for unit, factor in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if rate_bps >= factor * 0.9995:
            return f"{rate_bps / factor:.3g} {unit}b/s"
    return f"{rate_bps:.3g} b/s" if rate_bps else "0"


def format_bytes(size_bytes: float) -> str:
    """Bytes as :func:`format_size`, with the unit: 95 B, 1.2 KB, 131 KB; a dash for nan.

    What is not just 2 KB, but rounds to it, is 2.0 KB, and what is less than a byte no 0.
    """
    if not math.isfinite(size_bytes):
        return "–"
    text = format_size(size_bytes)
    if text == "0":
        return "< 1 B" if size_bytes > 0 else text
    if text[-1].isdigit():
        return f"{text} B"
    number, unit = text[:-1], text[-1]
    rounded = len(number) == 1 and float(number) * dict(_SIZE_UNITS)[unit] != size_bytes
    return f"{number}{'.0' if rounded else ''} {unit}B"


def format_share(share: float) -> str:
    """A share in percent: 2.3 %, 0.30 %, 0.000014 %, 0; a dash for nan. Below 1 % with two digits, however small."""
    if not math.isfinite(share):
        return "–"
    if share == 0 or share >= 0.00995:
        return percent(share) if share else "0"
    # Without a power of ten, which with a percent sign would be two factors to multiply; hardly any run counts more.
    digits = f"{share * 100:.2g}"
    return f"{float(digits):.{1 - math.floor(math.log10(float(digits)))}f} %" if share >= 1e-9 else f"{digits} %"


def format_time(time_ps: float, digits: int = 3, *, all_digits: bool = False) -> str:
    """A duration in the unit that suits it: 850 ns, 1.2 µs, 30 ms; with ``all_digits`` 1.20 µs, as beside others."""
    form = f"{'#' if all_digits else ''}.{digits}g"
    for unit, factor in (("s", 1e12), ("ms", 1e9), ("µs", 1e6), ("ns", 1e3)):
        if time_ps >= factor * 0.9995:
            text = f"{time_ps / factor:{form}}".removesuffix(".")
            return f"{f'{time_ps / factor:,.0f}' if 'e+' in text else text} {unit}"
    return f"{time_ps:.3g} ps"


def format_number(value: float, digits: int = 3) -> str:
    """A number in full when whole or at least 1000, else to ``digits`` significant digits; a dash for nan."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:#,.{digits}g}".removesuffix(".")
    # In so few digits what is just below a thousand has a power of ten.
    whole = abs(value) >= 1000 or value == int(value) or "e+" in text
    return f"{value:,.0f}" if whole else text


def format_alike(values: Sequence[float]) -> list[str]:
    """Numbers that are read together: all whole, or all with as many decimals as three digits of their median need.

    Nothing is a bare 0, and what is too little for these decimals is no 0; a dash for nan.
    """
    seen = sorted(abs(v) for v in values if math.isfinite(v) and v != 0)
    middle = seen[len(seen) // 2] if seen else 0.0
    # A decimal behind thousands would be of the little ones' making.
    whole = all(v == int(v) for v in seen) or middle >= 100 or max(seen, default=0.0) >= 1000
    decimals = 0 if whole else 1 if middle >= 10 else 2
    least = 10.0**-decimals

    def text(v: float) -> str:
        if not math.isfinite(v):
            return "–"
        return "0" if v == 0 else f"< {least:g}" if 0 < v < least / 2 else f"{v:,.{decimals}f}"

    return [text(v) for v in values]


def format_columns(rows: Sequence[Sequence[float]], shares: Collection[int] = ()) -> list[list[str]]:
    """Numbers of a table by rows; the columns at ``shares`` in percent.

    A column in which some are whole and others not, as means of counts are, is written alike; others number by number.
    """

    def column(i: int, values: Sequence[float]) -> list[str]:
        if i in shares:
            return [format_share(v) for v in values]
        seen = [v for v in values if math.isfinite(v) and v != 0]
        whole = sum(v == int(v) for v in seen)
        return format_alike(values) if 0 < whole < len(seen) else [format_number(v) for v in values]

    columns = [column(i, values) for i, values in enumerate(zip(*rows, strict=True))]
    return [list(row) for row in zip(*columns, strict=True)]


def format_slowdown(value: float) -> str:
    """A slowdown: 1.03, 15.43, 119.7, 14,458; a dash for nan."""
    if not math.isfinite(value):
        return "–"
    return f"{value:,.2f}" if value < 99.995 else f"{value:,.1f}" if value < 999.95 else f"{value:,.0f}"
