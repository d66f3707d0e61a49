import numpy as np
import pandas as pd
import pytest

from molehill import InputError
from molehill.surveys import weighted_distances, weighted_ecdf
from molehill.utility import ecdf_distances


def test_equal_weights_give_the_plain_distances():
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=40).round(1), rng.normal(0.3, size=70).round(1)
    plain = ecdf_distances(pd.DataFrame({"y": one}), pd.DataFrame({"y": other}), "y")
    found = weighted_distances(one, np.full(40, 7.0), other, np.full(70, 0.2))
    for measure in ("U_m", "U_a", "U_m_benchmark", "U_a_benchmark"):
        assert getattr(found, measure) == pytest.approx(plain.value(measure), rel=1e-12)


def test_a_weight_is_as_good_as_copies():
    values, weights = np.array([1.0, 2.0, 4.0]), np.array([3, 1, 2])
    others = np.array([1.0, 3.0])
    copies = np.repeat(values, weights)
    at = np.linspace(0, 5, 21)
    np.testing.assert_allclose(weighted_ecdf(values, weights, at), [(copies <= point).mean() for point in at])
    found = weighted_distances(values, weights, others, [1, 1])
    assert found.U_m == pytest.approx(
        ecdf_distances(pd.DataFrame({"y": copies}), pd.DataFrame({"y": others}), "y").value("U_m")
    )
    # By hand: differences 0, 1/6, 1/3 at 1, 2, 4 with counts 1.5, 0.5, 1, and 0 and -1/3 at 1 and 3 of the other table.
    differences = {1: 3 / 6 - 1 / 2, 2: 4 / 6 - 1 / 2, 3: 4 / 6 - 1, 4: 0.0}
    counts = {1: 1.5 + 1, 2: 0.5, 3: 1.0, 4: 1.0}
    expected = sum(counts[z] * differences[z] ** 2 for z in counts) / 5
    assert found.U_a == pytest.approx(expected)


def test_no_scale_of_weights_and_no_empty_record_matters():
    rng = np.random.default_rng(2)
    one, other, w, v = rng.normal(size=30), rng.normal(size=20), rng.gamma(2, size=30), rng.gamma(2, size=20)
    found = weighted_distances(one, w, other, v)
    assert weighted_distances(one, 100 * w, other, v / 3) == pytest.approx(found)
    far = weighted_distances(np.append(one, 99.0), np.append(w, 0.0), other, v)
    assert far.U_m == pytest.approx(found.U_m)


@pytest.mark.parametrize(
    ("values", "weights"),
    [([1.0, np.nan], [1, 1]), ([1.0], [1, 1]), ([1.0, 2.0], [0, 0]), ([1.0, 2.0], [1, -1]), ([], [])],
)
def test_what_cannot_be_compared_is_refused(values, weights):
    with pytest.raises(InputError):
        weighted_distances(values, weights, [1.0], [1.0])
