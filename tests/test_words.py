"""Words and numbers as people read them."""

import pytest

from paceline.words import in_words, percent, readable, signed, typeset


@pytest.mark.parametrize(
    ("plain", "printed"),
    [
        ("-0.0439 at quick", "\N{MINUS SIGN}0.0439 at quick"),
        ("[-3.5, -.2]", "[\N{MINUS SIGN}3.5, \N{MINUS SIGN}.2]"),
        ("≥ -0.02; -∞", "≥ \N{MINUS SIGN}0.02; \N{MINUS SIGN}∞"),
        ("2.518e-05 at paper", "2.518~\N{MULTIPLICATION SIGN}~10⁻⁵ at paper"),
        ("1e-05", "10⁻⁵"),
        ("1.2e+10", "1.2~\N{MULTIPLICATION SIGN}~10¹⁰"),
        # Names, ranges, settings, commits.
        ("HPCC-2 from 1-3, seed1-813c82.toml", "HPCC-2 from 1-3, seed1-813c82.toml"),
        ("--set x=-1 --jobs 2, y=1e-05", "--set x=-1 --jobs 2, y=1e-05"),
        ("commit 12e4567, f829f28e-05a", "commit 12e4567, f829f28e-05a"),
    ],
)
def test_numbers_have_the_signs_of_print_and_what_is_typed_keeps_its_own(plain: str, printed: str) -> None:
    """Pages had "-0.0439", where a hyphen is no minus, and shares as "2.518e-05". A setting is still one to copy."""
    assert signed(plain) == printed.replace("~", "\N{NO-BREAK SPACE}")


def test_percentages_are_written_one_way() -> None:
    """A page had "2.1%" in a table beside "95 %" in its caption."""
    assert percent(0.0214) == "2.1 %"
    assert percent(1.0, 0) == "100 %"
    assert typeset(percent(0.0214)) == "2.1\N{NO-BREAK SPACE}%", "a line that begins with % is no percentage"


def test_times_of_the_engine_are_rounded_and_its_tiers_have_arrows() -> None:
    """A page said "at 11.250000009ms 5 flows are unfinished" and "tor->tor", beside tables with "tor → tor"."""
    assert readable("at 11.250000009ms 5 flows") == "at 11.250 ms 5 flows"
    assert readable("lookahead 1.00086us") == "lookahead 1.001 µs"
    assert readable("after 1234567ps") == "after 1.235 µs"
    assert readable("tor->tor: offered load") == "tor → tor: offered load"
    assert readable("flow 0 (0 -> 64) waited") == "flow 0 (0 → 64) waited"
    assert readable("run.stop (1.5ms), 20ps") == "run.stop (1.5ms), 20ps", "settings as they are typed"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("limiter_per_adapter", "limiter per adapter"),
        ("ack_8_200us", "ACK 8 / 200 µs"),
        ("dcqcn_50_50_55", "DCQCN 50 / 50 / 55"),
        ("w_ai_10_mbps", "additive increase 10 Mb/s"),
        ("batch_16_paced@queries_4kb", "batch 16 paced, queries 4 KB"),
        ("buffer_500KB", "buffer 500 KB"),
        ("rto_min_200ms", "RTO min 200 ms"),
        ("eta_0.9", "eta 0.9"),
        ("default", "default"),
    ],
)
def test_variants_are_called_by_words(name: str, words: str) -> None:
    """Tables had "HPCC, TCP, batch_1_paced@min_window_1"."""
    assert in_words(name) == words
