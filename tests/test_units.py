"""Sizes, times and rates as scenarios have them, read as the engine reads them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.units import BITS_PER_SECOND, BYTES, KINDS, PICOSECONDS, PLAIN, quantity


@pytest.mark.parametrize(
    ("text", "units", "value"),
    [
        ("1.5us", PICOSECONDS, 1_500_000),
        (".25 us", PICOSECONDS, 250_000),
        ("0s", PICOSECONDS, 0),
        ("100Gbps", BITS_PER_SECOND, 100 * 10**9),
        ('"32MiB"', BYTES, 32 << 20),
        ("256KB", BYTES, 256_000),
        ("1TiB", BYTES, 1 << 40),
        ("1_000", PLAIN, 1000),
        ("1_", PLAIN, None),
        ("1__0", PLAIN, None),
        ("1e999", PLAIN, None),
        ("2.5e-3", PLAIN, 0.0025),
        ("1us", BYTES, None),
        ("1", BYTES, None),
        ("us", PICOSECONDS, None),
        ("-1us", PICOSECONDS, None),
        ("1.2.3us", PICOSECONDS, None),
        ("inf s", PICOSECONDS, None),
        ("", PLAIN, None),
    ],
)
def test_quantities(text, units, value):
    assert quantity(text, units) == value


@given(st.text("019_.e+-\"' KBusbp"), st.sampled_from(KINDS))
def test_any_text_is_a_finite_quantity_or_none(text, units):
    """Cases of a sweep that were called 1_, 2_ and 3_ ended it with a trace, after all its runs."""
    value = quantity(text, units)
    assert value is None or math.isfinite(value)
