"""Patterns and uniques against tables of a few rows, counted by hand."""

import numpy as np
import pandas as pd
import pytest

from molehill import InputError
from molehill.attacks.identity import k_anonymity, linkage, replicated_uniques, replicated_uniques_vs_control

DATA = pd.DataFrame(
    {
        "town": ["A", "A", "A", "A", "B", "B", "C", "D", "E", None],
        "age": [20, 24, 30, 30, 41, 42, 50, 51, 60, 70],
    }
)


def test_records_by_the_size_of_their_pattern():
    found = k_anonymity(DATA, "town")
    assert (found.smallest, found.patterns) == (1, 6)
    assert found.records == {"1": 4, "2": 2, "3 to 4": 4, "5 to 9": 0, "10 and more": 0}
    assert k_anonymity(DATA, "age", breaks={"age": [25]}).records == {
        "1": 0,
        "2": 2,
        "3 to 4": 0,
        "5 to 9": 8,
        "10 and more": 0,
    }
    assert k_anonymity(pd.concat([DATA] * 3), "town").records["10 and more"] == 12


def test_uniques_are_those_of_the_definition():
    # Unique in the data: C, D, E and missing. In the first table C once, D twice, missing once, F once, A never.
    first = pd.DataFrame({"town": ["C", "D", "D", None, "F"]})
    second = pd.DataFrame({"town": ["A", "A", "B", "B", "C"]})
    found = replicated_uniques(DATA, [first, second], "town")
    assert found.original.value == 0.4
    assert found.synthetic.value == pytest.approx((3 / 5 + 1 / 5) / 2)
    assert found.found.value == pytest.approx((3 / 10 + 1 / 10) / 2)
    assert found.replicated.value == pytest.approx((2 / 10 + 1 / 10) / 2)
    assert found.replicated_of_uniques.value == pytest.approx((2 / 4 + 1 / 4) / 2)
    assert found.replicated.low < found.replicated.value < found.replicated.high
    assert np.isnan(replicated_uniques(DATA, first, "town").replicated.low)


def test_who_keeps_the_known_columns_replicates_every_unique():
    found = replicated_uniques(DATA, DATA, ["town", "age"])
    assert found.original.value == found.replicated.value == 0.8
    assert found.replicated_of_uniques.value == 1.0


def test_without_uniques_none_is_replicated():
    twice = pd.concat([DATA, DATA])
    found = replicated_uniques(twice, DATA, "town")
    assert found.replicated.value == 0
    assert np.isnan(found.replicated_of_uniques.value)


def test_people_who_were_not_used_are_unique_again_by_chance():
    released = pd.DataFrame({"town": ["A", "B", "B", "C", "D", "Z"]})
    people = pd.DataFrame({"town": ["A", "C", "C", "D", "Y", "Z", "A", "B", "B", "E"]})
    found = replicated_uniques_vs_control(DATA, [released, released], "town", control=people)
    # C and D of the data; D and Z of the others, and E is nowhere.
    assert (found.rate.value, found.control.value) == (0.2, 0.2)
    assert found.risk.value == pytest.approx(0.0)
    assert np.isnan(replicated_uniques_vs_control(DATA, released, "town").risk.value)
    # As many are asked on both sides: whoever is alone among few need not be so among many.
    many = replicated_uniques_vs_control(pd.concat([DATA] * 2), released, "town", control=people, seed=1)
    assert (many.attacks, many.controls) == (10, 10)


def test_links_are_counted_by_hand():
    # True towns: A A A A B B C D E missing. Released ones below: A thrice, two of them rightly; B twice, one rightly;
    # C once, not for the person of C; D and E nowhere; missing once, rightly.
    released = pd.DataFrame({"town": ["A", "A", "B", "C", "A", "B", "F", "F", "F", None]})
    found = linkage(DATA, released, "town")
    assert found.found.value == 0.8
    assert found.expected.value == pytest.approx(2 / 3 + 1 / 2 + 1)
    assert found.unique.value == 2  # the person of C, and that of the missing town
    assert found.right.value == 1
    assert found.right_share.value == 0.5


def test_a_key_links_records_wherever_they_stand():
    data = DATA.assign(name=range(10))
    mixed = data.iloc[::-1].iloc[:7]
    found = linkage(data, mixed, "town", key="name")
    # Left out are the first three of A: the fourth is unique in the release, for all four of A.
    assert found.unique.value == 4 + 4
    assert found.right.value == 5
    assert found.expected.value == pytest.approx(5 + 2 * 0.5)


def test_bad_input_is_refused_without_a_value():
    with pytest.raises(InputError, match="known: no column is named"):
        k_anonymity(DATA, [])
    with pytest.raises(InputError, match="breaks: 'age' is not among"):
        k_anonymity(DATA, "town", breaks={"age": [3]})
    with pytest.raises(InputError, match="released: it has 9 records where"):
        linkage(DATA, DATA.iloc[1:], "town")
    with pytest.raises(InputError, match="key: column 'town' of data has repeated or missing"):
        linkage(DATA, DATA, "age", key="town")
    with pytest.raises(InputError, match="released: no value of variable 'town' occurs"):
        replicated_uniques(DATA, pd.DataFrame({"town": ["x"]}), "town")
