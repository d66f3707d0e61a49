import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import comb

from agreement import assert_mean
from molehill import InputError
from molehill.surveys import population_risk
from molehill.surveys.rarity import mean_inverse


def by_integral(f, p):
    """The mean of 1 / F is the integral of the mean of exp(-t F), and that is (p e^-t / (1 - q e^-t))^f."""
    q = 1 - p
    return quad(lambda x: np.exp(-x) / f * p / (p + q * np.exp(-x / f)), 0, 60, epsabs=0, epsrel=1e-12, limit=500)[0]


@pytest.mark.parametrize("p", [1e-5, 0.01, 0.3, 0.499, 0.5, 0.9, 0.999, 1 - 1e-9])
def test_the_mean_is_right_for_any_number_and_chance(p):
    numbers = np.array([1, 2, 3, 4, 7, 29, 30, 100, 5000])
    found = mean_inverse(numbers, numbers / p)
    np.testing.assert_allclose(found, [by_integral(f, p) for f in numbers], rtol=1e-9)


def test_the_mean_is_the_sum_over_the_negative_binomial():
    f, p = 4, 0.2
    sizes = np.arange(f, 400)
    chances = comb(sizes - 1, f - 1) * p**f * (1 - p) ** (sizes - f)
    assert mean_inverse([f], [f / p])[0] == pytest.approx((chances / sizes).sum(), rel=1e-12)


@pytest.mark.parametrize("p", [0.001, 0.1, 0.6, 0.8])
def test_the_known_closed_forms(p):
    q = 1 - p
    known = [
        p / q * np.log(1 / p),
        p / q**2 * (p * np.log(p) + q),
        p / (2 * q**3) * (q * (3 * q - 2) - 2 * p**2 * np.log(p)),
    ]
    f = np.array([1, 2, 3])
    np.testing.assert_allclose(mean_inverse(f, f / p), known, rtol=1e-9)


def test_frequencies_risks_and_uniques_by_hand():
    table = pd.DataFrame({"town": ["A", "B", "B", None, "C"], "age": [30, 41, 44, 50, 20]})
    found = population_risk(table, ["town", "age"], [4.0, 10.0, 30.0, 8.0, 0.5], breaks={"age": [40]})
    assert found.sample_frequency.tolist() == [1, 2, 2, 1, 1]
    # A weight below 1 still stands for the record itself.
    assert found.population_frequency.tolist() == [4, 40, 40, 8, 1]
    assert found.risk[0] == pytest.approx(np.log(4) / 3)
    assert found.risk[4] == 1
    assert found.expected_uniques == pytest.approx(1 / 4 + 1 / 8 + 1)
    assert found.expected_matches == pytest.approx(found.risk.sum())
    assert "3 unique in the sample, 1.4 expected to be unique in the population" in repr(found)


def test_uniques_are_counted_as_in_a_population():
    # Cells of a population of which each unit is drawn with chance 1/5; the size of a cell is geometric, as the prior
    # of the method, flat on the logarithm, nearly says.
    rng = np.random.default_rng(5)
    expected, true = [], []
    for _ in range(20):
        cell = np.repeat(np.arange(3000), rng.choice(np.arange(1, 200), p=harmonic(), size=3000))
        size = np.bincount(cell)
        drawn = cell[rng.random(len(cell)) < 0.2]
        found = population_risk(pd.DataFrame({"cell": drawn}), "cell", np.full(len(drawn), 5.0))
        alone = found.sample_frequency == 1
        expected.append((found.expected_uniques, found.expected_matches))
        true.append(((size[drawn[alone]] == 1).sum(), (1 / size[drawn]).sum()))
    assert_mean(np.subtract(true, expected), 0.0, detects=np.mean(expected, axis=0) * [0.25, 0.1])


def harmonic():
    chances = 1 / np.arange(1, 200)
    return chances / chances.sum()


@pytest.mark.parametrize("weights", [[0.5, 0.5], [1.0], [-1.0, 9.0], [np.nan, 9.0]])
def test_weights_that_say_nothing_of_a_population_are_refused(weights):
    with pytest.raises(InputError, match=r"^weights: "):
        population_risk(pd.DataFrame({"town": ["A", "B"]}), "town", weights)


def test_what_does_not_occur_has_no_risk():
    with pytest.raises(InputError, match="a sample frequency is below 1"):
        mean_inverse([0], [10.0])
    with pytest.raises(InputError, match=r"^known: "):
        population_risk(pd.DataFrame({"town": ["A", "B"]}), [], [5.0, 5.0])


def test_uniques_of_real_people(shared):
    table = pd.read_csv(shared / "nist_ma.csv", low_memory=False)
    found = population_risk(table, ["PUMA", "AGEP", "SEX", "RAC1P"], table["PWGTP"])
    assert (found.sample_frequency == 1).sum() == 565
    assert found.expected_uniques == pytest.approx((1 / table["PWGTP"][found.sample_frequency == 1]).sum())
