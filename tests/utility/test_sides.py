"""Tables side by side, group by group: an error says which group by its number, never by its label."""

import numpy as np
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.utility import ecdf_distances, estimate, mean, regression
from molehill.utility.sides import read_parts

SECRET = ["1244.56", "Ann Smith", "Gr\u00f8n"]
DATA = pd.DataFrame(
    {
        "pay": [1244.56, 1244.56, 20.0, 20.0, 30.0, 30.0],
        "name": ["Ann Smith"] * 2 + ["Bob"] * 2 + ["Gr\u00f8n"] * 2,
        "sex": ["f", "m"] * 3,
        "size": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }
)


@pytest.mark.parametrize(
    ("groups", "released", "words"),
    [
        ("pay", DATA[2:], "released: no record belongs to group 1 of 'pay'"),
        ("name", DATA[:4], "released: no record belongs to group 3 of 'name'"),
        (["name", "sex"], DATA.drop(index=4), "released: no record belongs to group 5 of 'name', 'sex'"),
        ("name", [DATA, DATA[2:]], "released: in table 2, no record belongs to group 1 of 'name'"),
    ],
)
def test_a_group_that_is_not_there_is_told_by_its_number(groups, released, words):
    with pytest.raises(InputError) as caught:
        ecdf_distances(DATA, released, "size", groups=groups)
    assert str(caught.value).startswith(words)
    assert not any(secret in str(caught.value) for secret in SECRET)


@pytest.mark.parametrize(
    ("data", "released", "words"),
    [
        (
            DATA.assign(size=[np.nan, *range(5)]),
            DATA,
            "data: in group 1 of 'name', 1 records have a missing value of 'size'",
        ),
        (DATA, DATA.drop(index=5), "released: in group 3 of 'name', 1 records"),
        (DATA, [DATA, DATA.assign(size=[1.0, 2, np.inf, 4, 5, 6])], "released: in table 2, in group 2 of 'name', "),
    ],
)
def test_what_is_wrong_within_a_group_is_told_by_its_number(data, released, words):
    for analysis in (mean("size"), regression("size ~ 1")):
        with pytest.raises(InputError) as caught:
            estimate(data, released, analysis, groups="name")
        assert not any(secret in str(caught.value) for secret in SECRET)
        if analysis.kind == "mean":
            assert str(caught.value).startswith(words)


def test_the_numbers_of_groups_are_those_of_the_result():
    parts = read_parts(DATA, DATA, ["size"], groups="name", missing="error", argument="column")
    assert [part.group for part in parts] == ["Ann Smith", "Bob", "Gr\u00f8n"]
    assert [part.confidential.where for part in parts] == [f"in group {number} of 'name', " for number in (1, 2, 3)]
