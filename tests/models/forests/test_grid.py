"""Numbers as levels: hand-computed grids, laws of what is drawn, and that nobody's own value is released."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import stats

from agreement import assert_agrees, assert_counts, assert_distribution, assert_rate, assert_rate_at_most
from molehill.models.forests.grid import MARGIN, SHARED, Grid, are_shared, learn_grid
from molehill.synthesis.fitting import NothingCountsError
from molehill.synthesis.transforms import apply_transform
from people import refusal

OPEN = (-np.inf, np.inf)
OPENED = (np.full(5000, -np.inf), np.full(5000, np.inf))
RNG = np.random.default_rng(5)
MANY = 100_000


@pytest.fixture
def random():
    return np.random.default_rng(6)


def grid_of(values: Any, weights: Any = None, support: tuple[float, float] = OPEN) -> Grid:
    values = np.asarray(values, dtype=np.float64)
    return learn_grid(values, np.ones(len(values)) if weights is None else np.asarray(weights, np.float64), support)


def learn(values: np.ndarray, seed: int) -> Grid:
    return learn_grid(values, np.ones(len(values)), OPEN, seed=seed)


def drawn(grid: Grid, codes: Any, low: float = -np.inf, high: float = np.inf, seed: int = 1) -> np.ndarray:
    codes = np.asarray(codes)
    ends = (np.full(len(codes), end) for end in (low, high))
    return grid.draw(codes, np.random.default_rng(seed), *ends)


def redrawn(grid: Grid, values: Any, times: int = 1, seed: int = 1) -> np.ndarray:
    """Draw every value anew from its own level, again and again."""
    return drawn(grid, np.tile(grid.codes(np.asarray(values, dtype=np.float64)), times), *grid.support, seed=seed)


def assert_even(counts: Any) -> None:
    """Assert that values come equally often, where one that is left to its neighbours would be found."""
    shares = np.full(len(counts), 1 / len(counts))
    other = shares * np.where(np.arange(len(counts)) == 0, 0.0, len(counts) / (len(counts) - 1))
    assert_counts(counts, shares, other=other)


def same(one: Grid, other: Grid) -> bool:
    return all(np.array_equal(getattr(one, each.name), getattr(other, each.name)) for each in fields(Grid))


# By hand.


def test_eighty_different_whole_numbers_are_four_bins():
    grid = grid_of(np.arange(1, 81))
    # Somewhere between a value and the one before it.
    np.testing.assert_array_equal(np.ceil(grid.ends), [20, 40, 60])
    assert (grid.ends % 1 != 0).all()
    assert (len(grid.spikes), len(grid.heaps), grid.bins, grid.number) == (0, 0, 4, 4)
    assert (grid.unit, grid.sign) == (1, 1)
    # 1 to 19 are 10 on average; 60 to 80 lie above their end on a scale of their own.
    assert grid.rates[0] == pytest.approx(1 / (grid.ends[0] - 10))
    assert grid.scales[0] == "identity"
    upper = apply_transform(np.append(grid.ends[2], np.arange(60.0, 81.0)), grid.scales[1])
    assert grid.rates[1] == pytest.approx(1 / (upper[1:] - upper[0]).mean())
    codes = grid.codes(np.array([-5, 19, 20, 39, 40, 60, 1e9, np.nan]))
    assert codes.tolist() == [0, 0, 1, 1, 2, 3, 3, -1]
    np.testing.assert_array_equal(grid.middles(), [-np.inf, grid.ends[:2].mean(), grid.ends[1:].mean(), np.inf])


def test_records_of_half_a_weight_are_half_as_many():
    grid = grid_of(np.arange(1, 161), np.full(160, 0.5))
    np.testing.assert_array_equal(np.ceil(grid.ends), [40, 80, 120])
    assert grid.rates[0] == pytest.approx(1 / (grid.ends[0] - 20))


def test_values_that_many_share_are_levels_and_those_that_enough_share_are_heaps():
    # More than a fiftieth of the records have 0: it is a level; 20 share 500, which is not; 700 is shared by nine.
    values = np.concatenate([np.zeros(30), np.full(20, 500.0), np.full(9, 700.0), np.arange(1000.0, 1951.0)])
    grid = grid_of(values)
    assert (grid.spikes.tolist(), grid.heaps.tolist()) == ([0], [500])
    in_bin = ((values > 0) & (grid.codes(values) == grid.heap_bins[0])).sum()
    assert grid.heap_shares[0] == pytest.approx(20 / in_bin)
    assert grid.codes(np.array([0.0, 500.0])).tolist() == [grid.bins, grid.heap_bins[0]]


def test_zero_is_an_end_where_values_lie_on_both_sides():
    grid = grid_of(np.arange(-30, 51))
    assert 0 in grid.ends
    assert grid.sign == 0
    values = redrawn(grid, np.arange(-30, 51), 200)
    # 0 is one of the 51 that are not negative.
    assert (values < 0).sum() == 30 * 200
    assert 0 not in grid_of(np.arange(1, 82)).ends


def test_two_different_values():
    # Both are levels.
    spiked = grid_of(np.repeat([2.0, 5.0], [30, 20]))
    assert (spiked.spikes.tolist(), spiked.ends.tolist(), spiked.number) == ([2, 5], [3.5], 4)
    assert set(redrawn(spiked, [2, 5], 50)) == {2, 5}
    # As near to each other as numbers can be.
    assert np.isfinite(grid_of(np.repeat([0.0, 2.3e-308], 20)).rates).all()
    # Neither is: the end lies between them.
    few = grid_of(np.array([3.0, 7.0]))
    assert 3 < few.ends[0] < 7
    assert (len(few.ends), few.codes(np.array([3.0, 7.0])).tolist()) == (1, [0, 1])
    low = drawn(few, np.zeros(MANY, dtype=int))
    # Cut off at zero, which no value passes.
    assert 0 <= low.min() < low.max() <= few.ends[0]


def test_what_is_the_same_in_every_record_is_refused():
    for values in ([4.0, 4.0, 4.0], [4.0], [4.0, np.nan]):
        text = refusal(lambda values=values: grid_of(values), "column")
        assert "4" not in text
    # Where only those that count are the same, a search may go on with other weights.
    with pytest.raises(NothingCountsError):
        grid_of([4.0, 4.0, 9.0], [1, 1, 0])
    # Nothing counts at all: the fit will say so, and not the grid.
    assert same(grid_of([1.0, 2.0, 5.0], np.zeros(3)), grid_of([1.0, 2.0, 5.0]))


# A record of weight 0, and one that counts much.


@pytest.mark.parametrize("other", [-1e6, 0.0, 3.3, 1e9, np.nan])
def test_a_record_of_weight_0_has_no_part_in_it(other, random):
    values = np.round(random.lognormal(3, 1, 600), 1)
    values[:40] = 12.0
    weights = random.uniform(0.2, 1, 600)
    without = grid_of(values, weights)
    with_it = grid_of(np.append(values, np.full(30, other)), np.append(weights, np.zeros(30)))
    assert same(without, with_it)


def test_a_record_that_counts_much_is_still_one(random):
    values = random.normal(0, 1, 200)
    values[7] = 7.7777
    grid = grid_of(values, np.where(values == 7.7777, 500.0, 1.0))
    assert len(grid.spikes) == len(grid.heaps) == 0
    # But where nothing is shared it counts as if it stood there so often.
    twice, repeated = grid_of(values, np.full(200, 2.0)), grid_of(np.repeat(values, 2))
    np.testing.assert_array_equal(twice.ends, repeated.ends)
    assert (twice.rates, twice.scales) == (pytest.approx(repeated.rates), repeated.scales)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-6, 6), st.integers(1, 25), st.sampled_from([0.0, 0.3, 1.0, 2.5, 40.0])), max_size=9)
)
def test_nothing_that_fewer_than_ten_records_share_is_ever_a_spike_or_a_heap(groups):
    values = np.concatenate([[0.5, 1.5], *(np.full(number, float(value)) for value, number, _ in groups)])
    weights = np.concatenate([[1.0, 1.0], *(np.full(number, weight) for _, number, weight in groups)])
    grid = grid_of(values, weights)
    # What is beyond zero for too few counts as zero.
    values = grid.sign * np.maximum(grid.sign * values, 0.0) if grid.sign else values
    for value in (*grid.spikes, *grid.heaps):
        mine = (values == value) & (weights > 0)
        assert mine.sum() >= SHARED
        assert weights[mine].sum() >= SHARED
    # And the extremes, if they are nobody else's, are no ends.
    counted = np.unique(values[weights > 0])
    for extreme in (counted[0], counted[-1]):
        assert extreme not in grid.ends or extreme == 0 or ((values == extreme) & (weights > 0)).sum() >= SHARED


# No single record decides what is released.


@pytest.mark.parametrize("number", [9, 10, 13, 19, 20])
def test_from_how_many_records_on_a_value_is_shared_is_drawn_for_every_value(number):
    values, many = np.arange(1.0, 4001.0), np.full(4000, float(number))
    found = are_shared(values, many, seed=2)
    expected = np.clip((number - SHARED) / MARGIN, 0, 1)
    assert_rate(found.sum(), len(found), expected, detects=0.1)
    # Another seed, another draw; and one record more is another outcome as often as a tenth of the values.
    assert expected in (0, 1) or (found != are_shared(values, many, seed=3)).any()
    more = are_shared(values, many + 1, seed=2)
    assert (more >= found).all()
    assert_rate_at_most((more != found).sum(), len(found), 1 / MARGIN, detects=0.05)


def test_the_tenth_who_shares_a_value_hardly_ever_changes_what_is_released(random):
    value = np.array([33_333.0])
    changed = [seed for seed in range(1000) if are_shared(value, np.array([10.0]), seed)[0]]
    assert_rate_at_most(len(changed), 1000, 1 / MARGIN, detects=0.1)
    others = np.round(random.lognormal(10, 0.5, 300), 2)
    for seed in (0, 1, 2, 3):
        nine, ten = (learn(np.append(others, np.full(many, 33_333.0)), seed) for many in (9, 10))
        assert 33_333 not in [*nine.spikes, *nine.heaps]
        assert (33_333 in [*ten.spikes, *ten.heaps]) == (seed in changed)


@pytest.mark.parametrize("unit", [0.0, 1.0, 100.0])
def test_no_end_is_a_collected_value(unit, random):
    values = random.lognormal(9, 1, 1500)
    values = np.maximum(np.round(values / unit), 1) * unit if unit else values
    grid, distinct = grid_of(values), np.unique(values)
    assert len(grid.ends) > 20
    assert not np.isin(grid.ends, distinct).any()
    # Every bin has the values that it had before its end was moved: a quantile, and what is above it.
    at = np.searchsorted(distinct, grid.ends)
    assert (distinct[at - 1] < grid.ends).all()
    # All over the gaps.
    share = (grid.ends - distinct[at - 1]) / (distinct[at] - distinct[at - 1])
    assert share.min() < 0.2
    assert share.max() > 0.8


def test_multiples_of_coarser_units_come_as_often_as_they_were_collected(random):
    values = np.rint(random.lognormal(10, 0.7, 4000))
    rounded = random.random(4000)
    values = np.where(
        rounded < 0.3, np.rint(values / 1000) * 1000, np.where(rounded < 0.5, np.rint(values / 50) * 50, values)
    )
    values = values[values > 0]
    grid = grid_of(values)
    assert grid.unit == 1
    again = redrawn(grid, values, 5)
    for step in (50, 1000):
        own = (values % step == 0).mean()
        # Beyond the last end draws have no steps. Without any hardly one would be a multiple.
        error = np.sqrt(own * (1 - own) / len(again))
        assert_agrees((again % step == 0).mean(), own, error, bias=0.06, detects=0.2, of=step)


def test_of_dates_zero_is_a_day_like_others():
    # Of 300 days eight lie before 1970: they are not moved to its first day, and draws lie there as often.
    days = np.arange(-8.0, 292.0)
    grid = learn_grid(days, np.ones(300), OPEN, zero=False)
    assert (grid.sign, 0 in grid.ends) == (0, False)
    again = redrawn(grid, days, 100)
    # Draws are even within a bin, which the days are nearly; were they moved to the first day, none would be before it.
    share = 8 / 300
    assert_agrees((again < 0).mean(), share, np.sqrt(share * (1 - share) / 30_000), bias=share / 3, detects=share)
    assert again.min() < -8


AMOUNTS = 100.0 * np.maximum(np.rint(np.random.default_rng(8).lognormal(5, 0.6, 300)), 1)


@pytest.mark.parametrize("odd", [12_345.0, -5_000.0, 3e9, 0.01])
@pytest.mark.parametrize("spiked", [False, True])
def test_one_odd_record_changes_nothing_in_kind(odd, spiked):
    values = np.where(np.arange(300) % 2, 0.0, 700.0) if spiked else AMOUNTS
    without, with_it = (learn(each, 4) for each in (values, np.append(values[1:], odd)))
    assert (with_it.unit, with_it.sign, with_it.bare) == (without.unit, without.sign, without.bare) == (100, 1, spiked)
    assert with_it.steps.tolist() == without.steps.tolist()
    np.testing.assert_array_equal(with_it.spikes, without.spikes)
    assert np.setxor1d(with_it.heaps, without.heaps).size == 0
    top, top_with = (
        each.draw(np.full(5000, each.bins - 1), np.random.default_rng(1), *OPENED) for each in (without, with_it)
    )
    # The largest that is drawn lies where it would without: not at 3e9, nor on the way to it.
    assert 0.5 < top_with.max() / top.max() < 2
    assert redrawn(with_it, np.append(values, odd), 20).min() >= 0
    if spiked:
        # What nobody else has is drawn as what others have.
        assert set(redrawn(with_it, [odd], 50)) <= {0.0, 700.0}


# What is drawn.


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(0, 1, 3000),
        RNG.lognormal(8, 1, 3000),
        -RNG.lognormal(8, 1, 3000),
        np.where(RNG.random(3000) < 0.4, 0.0, RNG.lognormal(8, 1, 3000)),
        np.append(RNG.normal(0, 1, 40), 9.0),
        np.append(np.zeros(400), [5.0, 900.25, 13.7]),
    ],
    ids=["normal", "positive", "negative", "zeros", "few", "hardly any"],
)
def test_no_collected_value_that_is_not_shared_is_drawn(values):
    grid = grid_of(values)
    shared = np.concatenate([grid.spikes, grid.heaps])
    again = redrawn(grid, values, 20 if len(values) > 1000 else 400)
    released = np.isin(again, values)
    assert set(again[released]) <= set(shared)
    if grid.bare:
        # Too few lie beside the zeros: all are drawn as zero.
        assert set(again) == {0}
        return
    # Nor as good as that: no value is met more closely than chance has it.
    own = np.setdiff1d(values, shared)
    close = np.abs(again[~released][:, None] / own[:: max(1, len(own) // 100)] - 1) < 1e-4
    # By chance one in a thousand draws at most is so close; found is a value that one in twenty repeats.
    for hits in close.sum(axis=0):
        assert_rate_at_most(hits, len(close), 0.001, detects=0.05)


@pytest.mark.parametrize(
    ("values", "weights"),
    [
        (np.append(np.zeros(999), 900.0), None),
        (np.append(np.zeros(998), [5.0, 900.0]), np.append(np.ones(998), [0.4, 0.6])),
        (np.append(np.zeros(990), np.repeat([5.0, 900.0], [1, 9])), None),
        (np.append(np.zeros(999), -900.0), None),
        (np.append(np.full(999, -3.0), 0.0), None),
    ],
)
@pytest.mark.parametrize("support", [OPEN, (-1e4, np.inf), (-np.inf, 1e4), (-1e4, 1e4)])
def test_the_only_record_beside_the_others_is_not_told(values, weights, support):
    grid = grid_of(values, weights, support)
    own = values[-1]
    # The level may be reached by anybody, hardly ever: what matters is what is drawn there.
    for code in range(grid.bins):
        again = drawn(grid, np.full(20_000, code), *support)
        close = np.abs(again - own) <= 1e-3 * max(abs(own), 1.0)
        assert_rate_at_most(close.sum(), len(again), 0.005, detects=0.01, of=code)


def test_a_value_of_one_whole_number_is_drawn_as_often_as_its_neighbours():
    # 1 to 400, and one record at each, but none at 150: nothing tells who was there.
    values = np.setdiff1d(np.arange(1.0, 401.0), [150.0])
    grid = grid_of(values)
    place = grid.codes(np.array([150.0]))[0]
    counts = np.unique_counts(drawn(grid, np.full(MANY, place)))
    first, last = np.ceil(grid.ends[[place - 1, place]]).tolist()
    np.testing.assert_array_equal(counts.values, np.arange(first, last))
    assert_even(counts.counts)


def test_whole_numbers_come_in_their_shares_spikes_and_heaps_among_them(random):
    values = random.negative_binomial(2, 0.06, 1500).astype(float)
    # Rounded answers: some are heaps and some are levels.
    values = np.where(random.random(1500) < 0.4, np.rint(values / 10) * 10, values)
    grid = grid_of(values)
    assert len(grid.spikes) > 3
    assert len(grid.heaps) > 10
    times = 200
    again = redrawn(grid, values, times)
    inner = (grid.codes(values) > 0) & (grid.codes(values) != grid.bins - 1)
    drawn_inner = again[np.tile(inner, times)]
    assert (drawn_inner == np.rint(drawn_inner)).all()
    for value in grid.spikes:
        assert (drawn_inner == value).sum() == (values == value).sum() * times, value
    # A heap is drawn among those of its bin, as often as it was collected among them.
    for value, place in zip(grid.heaps, grid.heap_bins, strict=True):
        if 0 < place < grid.bins - 1:
            within = (grid.codes(values) == place).sum()
            share = (values == value).sum() / within
            assert_rate((drawn_inner == value).sum(), within * times, share, detects=share / 2, of=value)
    # All others have the mean of those that were collected, as far as they are even within a bin.
    others, collected = np.setdiff1d(values, [*grid.spikes, *grid.heaps]), values[inner]
    rest = collected[np.isin(collected, others)]
    drawn_rest = drawn_inner[~np.isin(drawn_inner, [*grid.spikes, *grid.heaps])]
    spread = np.diff(grid.ends).max()
    assert_agrees(drawn_rest.mean(), rest.mean(), spread / np.sqrt(12 * len(rest)), detects=spread / 2)


def test_bins_are_drawn_from_evenly(random):
    grid = grid_of(random.normal(0, 1, 1000))
    for place in (1, grid.bins // 2, grid.bins - 2):
        first, last = grid.ends[place - 1], grid.ends[place]
        share = (drawn(grid, np.full(20_000, place)) - first) / (last - first)
        # A tenth of the draws at the middle of the bin.
        assert_distribution(share, stats.uniform.cdf, other=lambda at: 0.9 * at + 0.1 * (at >= 0.5))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("support", [OPEN, (-50.0, 50.0)])
def test_tails_are_exponential_with_the_mean_excess_and_reach_beyond_the_extremes(sign, support, random):
    values = sign * random.lognormal(0, 1, 2000)
    grid = grid_of(values, support=support)
    place = grid.bins - 1 if sign > 0 else 0
    inner, scale, rate = grid.ends[-1 if sign > 0 else 0], grid.scales[sign > 0], grid.rates[sign > 0]
    assert scale in ("log", "root")

    def distance(given: np.ndarray) -> np.ndarray:
        sizes = apply_transform(np.append(np.abs(inner), np.abs(given)), scale)
        return sizes[1:] - sizes[0]

    beyond = values[grid.codes(values) == place]
    far = np.sort(distance(beyond))
    # The farthest counts as at most five times the mean of the others.
    far[-1] = min(far[-1], 5 * far[:-1].mean())
    assert rate == pytest.approx(1 / far.mean())
    again = drawn(grid, np.full(20_000, place), *support)
    most = distance(np.array([sign * 50.0]))[0] if np.isfinite(support[1]) else np.inf
    law = stats.truncexpon(rate * most, scale=1 / rate) if np.isfinite(most) else stats.expon(scale=1 / rate)
    # A mean excess that is off by a tenth.
    assert_distribution(distance(again), law.cdf, other=lambda at: law.cdf(at / 1.1))
    assert np.abs(values).max() not in np.abs(grid.ends)
    if support == OPEN:
        assert (np.abs(again) > np.abs(values).max()).any()
    else:
        assert (np.abs(again) <= 50).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_nothing_passes_zero_where_no_value_does(sign, random):
    values = sign * random.lognormal(0, 2, 60)
    grid = grid_of(values)
    assert grid.sign == sign
    again = redrawn(grid, values, 500)
    assert (sign * again >= 0).all()
    # But a record that has to lie beyond it does.
    place = 0 if sign > 0 else grid.bins - 1
    ends = (-3.0, -2.0) if sign > 0 else (2.0, 3.0)
    beyond = drawn(grid, np.full(100, place), *ends)
    assert ((beyond >= ends[0]) & (beyond <= ends[1])).all()


def test_of_zeros_and_amounts_only_the_zeros_are_zero(random):
    amounts = random.lognormal(8, 1, 2000)
    values = np.where(random.random(2000) < 0.3, 0.0, amounts)
    grid = grid_of(values, support=(0.0, np.inf))
    assert grid.spikes.tolist() == [0]
    again = redrawn(grid, values, 10)
    assert ((again == 0) == np.tile(values == 0, 10)).all()


@pytest.mark.parametrize("size", [1e12, 1e-9])
def test_the_size_of_the_numbers_changes_nothing(size, random):
    values = random.lognormal(0, 1, 500) - 0.3
    plain, sized = grid_of(values), grid_of(size * values)
    np.testing.assert_allclose(sized.ends, size * plain.ends, rtol=1e-12)
    np.testing.assert_allclose(redrawn(sized, size * values), size * redrawn(plain, values), rtol=1e-6)


def test_ends_far_beyond_all_values_are_kept_where_no_mass_is_left(random):
    grid = grid_of(np.append(random.normal(0, 1, 999), [0.0]))
    values = drawn(grid, np.full(1000, grid.bins - 1), 1e9)
    assert np.isfinite(values).all()
    assert (values >= 1e9).all()
    lower = grid_of(random.uniform(100, 101, 1000))
    values = drawn(lower, np.zeros(1000, dtype=int), 5.0, 6.0)
    assert ((values >= 5) & (values <= 6)).all()


# Ends of every record's own.


NUMBERS = st.one_of(
    st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=60),
    st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=2, max_size=60),
    st.lists(st.integers(1, 400).map(lambda cents: cents / 100), min_size=2, max_size=60),
)


@settings(max_examples=300, deadline=None)
@given(NUMBERS, st.integers(1, 40), st.data())
def test_draws_keep_within_the_ends_of_every_record_and_possible_says_which_levels_can(numbers, times, data):
    values = np.repeat(np.array(numbers), times)
    assume(len(np.unique(values)) > 1)
    grid = grid_of(values)
    somewhere = st.one_of(
        st.sampled_from([-np.inf, np.inf, *grid.ends, *grid.spikes, *values]),
        st.floats(-1e7, 1e7, allow_subnormal=False),
    )
    low, high = sorted(data.draw(st.tuples(somewhere, somewhere)))
    assume(low < np.inf)
    assume(high > -np.inf)
    possible = grid.possible(np.array([low]), np.array([high]))[0]
    first, last = np.append(-np.inf, grid.ends), np.append(grid.ends, np.inf)
    # A bin has its first end and not its last; the outermost ones have no other.
    for place in range(grid.bins):
        assert possible[place] == (low < last[place] and first[place] <= high)
    assert possible[grid.bins :].tolist() == [low <= spike <= high for spike in grid.spikes]
    assert possible.any()
    # A value between the ends has a level that is possible.
    for value in (low, high, (low + high) / 2):
        if np.isfinite(value):
            assert (
                possible[grid.codes(np.array([value]))[0]] or value in grid.spikes or grid.bare or value * grid.sign < 0
            )
    codes = np.repeat(np.flatnonzero(possible), 20)
    again = drawn(grid, codes, low, high)
    assert ((again >= low) & (again <= high)).all()
    bins = codes < grid.bins
    ends = np.stack([first, last])[:, codes[bins]]
    # There and back on a scale of logarithms there is rounding.
    slack = 1e-12 * np.where(np.isfinite(ends), np.abs(ends), 0.0)
    assert (again[bins] >= ends[0] - slack[0]).all()
    assert (again[bins] <= ends[1] + slack[1]).all()
    # Ends in the wrong order leave nothing.
    assert low == high or not grid.possible(np.array([high]), np.array([low])).any()


@settings(max_examples=60, deadline=None)
@given(NUMBERS, st.integers(1, 40), st.integers(0, 10**6))
@example([5.0, 5.0, -5.0], 5, 26)
def test_with_a_support_every_draw_lies_within_it(numbers, times, seed):
    values = np.repeat(np.array(numbers), times)
    assume(len(np.unique(values)) > 1)
    low, high = np.sort(np.random.default_rng(seed).choice(np.append(values, [values.min() - 1, values.max() + 1]), 2))
    assume(low < high)
    grid = grid_of(values, support=(low, high))
    possible = np.flatnonzero(grid.possible(np.array([low]), np.array([high]))[0])
    again = drawn(grid, np.repeat(possible, 30), low, high)
    assert ((again >= low) & (again <= high)).all()


def test_a_support_that_cuts_bins_off():
    grid = grid_of(np.arange(1, 81), support=(10.0, 35.0))
    ends = (np.array([end]) for end in grid.support)
    assert grid.possible(*ends)[0].tolist() == [True, True, False, False]
    again = drawn(grid, np.full(MANY, 1), *grid.support)
    counts = np.unique_counts(again)
    np.testing.assert_array_equal(counts.values, np.arange(20, 36))
    assert_even(counts.counts)


@pytest.mark.parametrize("support", [(-1.0, 2.0), (-0.2, 0.1), (2.1, np.inf), (-np.inf, -2.5), (-4.0, 4.0), OPEN])
def test_the_share_outside_is_that_of_draws_without_a_support(support, random):
    values = np.append(random.normal(0, 1, 1500), np.repeat([-1.5, 0.05, 1.5, 2.2], [25, 22, 20, 40]))
    grid = grid_of(values, support=support)
    assert len(grid.spikes) == 1
    assert len(grid.heaps) == 3
    shares = grid.outside()
    for code in range(grid.number):
        again = drawn(grid, np.full(20_000, code))
        counted = ((again < support[0]) | (again > support[1])).sum()
        assert_rate(counted, len(again), shares[code], detects=0.03, of=code)
