"""Statistics against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline import analysis
from paceline.analysis import QueueHistogram, Sample, SizeBins

settings.register_profile("quick", max_examples=60, deadline=None)
settings.load_profile("quick")

values = st.lists(st.floats(1, 1e6), min_size=1, max_size=300)
shares = st.sampled_from([1.0, 25.0, 50.0, 90.0, 95.0, 99.0, 99.9])


def sample(value: list[float], size: list[int] | None = None, censored: list[bool] | None = None) -> Sample:
    n = len(value)
    flags = np.array(censored if censored is not None else [False] * n, dtype=bool)
    sizes = np.array(size if size is not None else [1000] * n, dtype=np.int64)
    return Sample(sizes, np.array(value, dtype=float), flags, np.zeros(n, dtype=bool))


@given(values, shares)
def test_percentiles_are_the_order_statistics_of_numpy(value: list[float], q: float) -> None:
    found = analysis.percentiles(sample(value), [q])[0]
    assert found.value == np.percentile(value, q, method="inverted_cdf")
    assert (found.count, found.unfinished, found.failed, found.at_least) == (len(value), 0, 0, False)
    assert found.low <= found.value <= found.high


@given(values, st.sampled_from([50, 95, 99]))
def test_the_hpcc_rule_takes_the_value_its_script_takes(value: list[float], q: int) -> None:
    found = analysis.percentiles(sample(value), [q], rule="hpcc")[0]
    assert found.value == sorted(value)[len(value) * q // 100]


@given(st.integers(1, 400), shares)
def test_confidence_ranks_are_the_tightest_that_hold(n: int, q: float) -> None:
    p = q / 100
    cdf = np.cumsum([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])
    low, high = analysis.confidence_ranks(n, q)
    # The 0-based value i exceeds the percentile with probability cdf[i], and is exceeded with 1 - cdf[i].
    assert low == -1 or cdf[low] <= 0.025 * (1 + 1e-9)
    assert cdf[low + 1] > 0.025 * (1 - 1e-9)
    assert high == n or cdf[high] >= 0.975 * (1 - 1e-9)
    assert high == 0 or cdf[high - 1] < 0.975 * (1 + 1e-9)


def test_a_p99_has_no_upper_bound_below_368_flows() -> None:
    assert analysis.confidence_ranks(367, 99.0)[1] == 367
    assert analysis.confidence_ranks(368, 99.0)[1] == 367


def test_confidence_ranks_of_ten_million_flows_follow_the_normal_law() -> None:
    n, p = 10_000_000, 0.99
    low, high = analysis.confidence_ranks(n, 99.0)
    half = 1.959964 * math.sqrt(n * p * (1 - p))
    assert abs(low - (n * p - half)) < 3
    assert abs(high - (n * p + half)) < 3


@given(st.lists(st.tuples(st.floats(1, 100), st.booleans(), st.floats(0.1, 1)), min_size=1, max_size=200), shares)
def test_a_censored_percentile_is_exact_or_marked_as_a_bound(flows: list[tuple[float, bool, float]], q: float) -> None:
    truth = [v for v, _, _ in flows]
    seen = [v * part if cut else v for v, cut, part in flows]
    exact = analysis.percentiles(sample(truth), [q])[0]
    found = analysis.percentiles(sample(seen, censored=[cut for _, cut, _ in flows]), [q])[0]
    assert found.value <= exact.value
    assert found.at_least or found.value == exact.value
    assert found.low <= exact.low
    assert found.high >= exact.high


def test_flows_that_never_end_shift_the_p99() -> None:
    quick = [1.0 + i / 1000 for i in range(970)]
    alone = analysis.percentiles(sample(quick), [99])[0]
    stuck = analysis.percentiles(sample(quick + [50.0] * 30, censored=[False] * 970 + [True] * 30), [99])[0]
    assert not alone.at_least
    assert alone.value < 2
    assert (stuck.value, stuck.at_least, stuck.unfinished, stuck.high) == (50.0, True, 30, math.inf)


@given(st.lists(st.tuples(st.integers(1, 2000), st.floats(1, 100)), min_size=1, max_size=300))
def test_curves_match_a_loop_over_the_bins(flows: list[tuple[int, float]]) -> None:
    size, value = np.array([s for s, _ in flows]), np.array([v for _, v in flows])
    bins = analysis.bins_from_sizes(size)
    curve = analysis.percentile_curves(sample(list(value), list(size)), bins, [95])[0]
    lower = 0
    for k, upper in enumerate(bins.upper_bytes):
        inside = value[(size > lower) & (size <= upper)] if k else value[size <= upper]
        assert curve.count[k] == len(inside) > 0
        assert curve.value[k] == np.percentile(inside, 95, method="inverted_cdf")
        lower = int(upper)
    assert curve.count.sum() == len(flows)
    assert bins.weight.sum() == pytest.approx(1)
    # The position of an edge is the share of flows up to it, within the width of a bin.
    assert np.all(bins.position + 1e-9 >= [100 * np.mean(size <= u) for u in bins.upper_bytes])


def test_equal_sizes_make_one_bin_at_the_end_of_the_axis() -> None:
    bins = analysis.bins_from_sizes([64_000] * 7)
    assert bins.upper_bytes.tolist() == [64_000]
    assert bins.position.tolist() == [100]
    assert len(analysis.bins_from_sizes([])) == 0


def test_sizes_and_their_places_on_the_axis() -> None:
    # The web-search distribution; the decile sizes are the ones printed on published slowdown figures.
    sizes = [6666, 20_000, 30_000, 50_000, 73_076, 200_000, 1_000_000, 2_000_000, 5_000_000, 30_000_000]
    bins = SizeBins(np.array(sizes), np.arange(10.0, 101.0, 10.0))
    assert bins.position_of(200_000) == pytest.approx(60)
    assert bins.size_at(70) == pytest.approx(1_000_000)
    assert bins.between(above_bytes=200_000).tolist() == [False] * 6 + [True] * 4
    assert bins.index([6666, 6667, 30_000_000, 30_000_001]).tolist() == [0, 1, 9, 10]


@pytest.mark.parametrize(("upper", "position"), [([2, 1], [50, 100]), ([1, 2], [60, 50]), ([1], [50, 100])])
def test_bins_must_ascend(upper: list[int], position: list[float]) -> None:
    with pytest.raises(ValueError, match=r"bins|equally long"):
        SizeBins(np.array(upper), np.array(position, dtype=float))


def test_geometric_mean_ratio_weighs_bins_by_the_cdf() -> None:
    ratio = analysis.geometric_mean_ratio([2, 8, math.nan], [1, 1, 1], [0.5, 0.25, 0.25])
    assert ratio == pytest.approx(2 ** (0.5 / 0.75) * 8 ** (0.25 / 0.75))
    only = analysis.geometric_mean_ratio([2, 8], [1, 1], [0.5, 0.5], np.array([False, True]))
    assert only == pytest.approx(8)
    assert math.isnan(analysis.geometric_mean_ratio([1], [1], [1], np.array([False])))
    with pytest.raises(ValueError, match="same bins"):
        analysis.geometric_mean_ratio([1, 2], [1], [1])


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=50), st.floats(1e-6, 1e6))
def test_jain_is_between_one_nth_and_one_whatever_the_unit(shares_: list[float], unit: float) -> None:
    index = analysis.jain_index(shares_)
    assert 1 / len(shares_) - 1e-9 <= index <= 1 + 1e-9
    if max(shares_) > 1e-100:
        assert analysis.jain_index([s * unit for s in shares_]) == pytest.approx(index)


def test_jain_of_one_taking_all() -> None:
    assert analysis.jain_index([5, 0, 0, 0]) == pytest.approx(0.25)
    with pytest.raises(ValueError, match="at least 0"):
        analysis.jain_index([-1.0])


def test_the_cdf_ends_at_the_finished_share() -> None:
    x, y = analysis.ecdf(sample([3, 1, 2, 9], censored=[False, False, False, True]))
    assert x.tolist() == [1, 2, 3]
    assert y.tolist() == [0.25, 0.5, 0.75]


@given(st.dictionaries(st.integers(0, 20), st.integers(1, 50), min_size=1), st.integers(1, 100))
def test_queue_percentiles_match_a_queue_written_out(time_at: dict[int, int], q: int) -> None:
    level = np.repeat(list(time_at), list(time_at.values()))
    low = np.array(list(time_at) * 2)
    half = [t // 2 for t in time_at.values()]
    time = half + [t - h for t, h in zip(time_at.values(), half, strict=True)]
    h = QueueHistogram.merge(low, low + 1, time)
    expected = np.percentile(level, q, method="inverted_cdf")
    assert analysis.queue_percentile(h, q) == (expected, expected)
    assert h.mean_bytes() == pytest.approx(level.mean())
    if (level > 0).any():
        busy = np.percentile(level[level > 0], q, method="inverted_cdf")
        assert analysis.queue_percentile(h, q, busy=True) == (busy, busy)
    else:
        assert math.isnan(analysis.queue_percentile(h, q, busy=True)[0])


def test_a_queue_percentile_in_a_wide_bin_is_a_range() -> None:
    h = QueueHistogram.merge([0, 1000], [1, 2000], [90, 10])
    assert analysis.queue_percentile(h, 50) == (0, 0)
    assert analysis.queue_percentile(h, 99) == (1000, 1999)
    with pytest.raises(ValueError, match="overlap"):
        QueueHistogram.merge([0, 5], [10, 20], [1, 1])


def test_shares_by_tier_weigh_links_by_rate_and_climb_from_the_hosts() -> None:
    tiers = ["tor->host", "agg->tor", "host->tor", "tor->agg", "tor->agg", "core->agg", "agg->core"]
    uses = analysis.share_by_tier(tiers, [1, 1, 1, 1, 3, 1, 1], [10, 20, 30, 0, 80, 5, 5], 100)
    assert [u.tier for u in uses] == ["host->tor", "tor->agg", "agg->core", "core->agg", "agg->tor", "tor->host"]
    assert (uses[1].links, uses[1].least, uses[1].most) == (2, 0, 0.8)
    assert uses[1].mean == pytest.approx(0.6)
    assert analysis.share_by_tier(["a"], [1], [1], 0) == []
