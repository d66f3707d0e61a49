"""The chance to be picked, against counting by hand."""

import numpy as np
import pandas as pd
import pytest

from molehill import Intruder, match_rates
from molehill.release.search.picks import expected_picks
from molehill.risk.identification import pick_chances

PEOPLE = pd.DataFrame({"town": ["A"] * 4 + ["B"], "pay": [100.0, 110.0, 120.0, 900.0, 50.0]})
VIEW = Intruder(known="town", sensitive="pay", radius=0.1).view(PEOPLE)
# Balls: 90 to 110, 99 to 121, 108 to 132, 810 to 990; in B 45 to 55.
MOVED = PEOPLE.assign(pay=[105.0, 300.0, 118.0, 105.0, 50.0])
AWAY = PEOPLE.assign(pay=[100.0, 110.0, 120.0, 900.0, 70.0])


def test_picks_are_those_counted_by_hand():
    # Two are close to the first, one of them its own; the second has moved away; who is alone is found.
    found = pick_chances(VIEW, [MOVED, AWAY])
    np.testing.assert_allclose(found, [[1 / 2, 0, 1, 0, 1], [1 / 2, 1 / 3, 1 / 2, 1, 0]])


class Alternating:
    """What a posterior could release: by turns the one and the other table, then only the second."""

    def predict_batch(self, datasets, start, *, at_once, **_):
        tables = [MOVED, AWAY] * (datasets // 4) + [AWAY] * (datasets // 2)
        return tables[start : start + at_once]


def test_expected_picks_are_means_over_tables_in_blocks():
    blocks = expected_picks(Alternating(), VIEW, datasets=80, seed=1)  # pyright: ignore[reportArgumentType]
    assert blocks.shape == (20, 5)
    np.testing.assert_allclose(blocks[:10], np.tile([1 / 2, 1 / 6, 3 / 4, 1 / 2, 1 / 2], (10, 1)))
    np.testing.assert_allclose(blocks[10:], np.tile([1 / 2, 1 / 3, 1 / 2, 1, 0], (10, 1)))


@pytest.mark.parametrize("missing", [False, True])
def test_picks_add_up_to_the_expected_matches(missing):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"town": rng.choice(list("ABCDEFGH"), 60), "pay": rng.lognormal(3, 0.5, 60).round()})
    tables = [data.assign(pay=rng.permutation(data["pay"])) for _ in range(3)]
    if missing:
        for one, row in zip([data, *tables], (3, 5, 3, 8), strict=True):
            one.loc[row, "pay"] = np.nan
    view = Intruder(known="town", sensitive="pay", radius=0.2, missing_values="keep").view(data)
    picks = pick_chances(view, tables)
    assert (np.isnan(picks) == data["pay"].isna().to_numpy()).all()
    np.testing.assert_allclose(np.nansum(picks, axis=1), match_rates(view, tables).expected)
