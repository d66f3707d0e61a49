import numpy as np
import pandas as pd
import pytest

from molehill import InputError
from molehill.tables.patterns import learn_patterns, match_patterns
from molehill.tables.table import Table


def table(**columns):
    return Table(pd.DataFrame(columns))


def test_equal_combinations_have_equal_numbers():
    learned = learn_patterns(table(a=["x", "y", "x", None], b=[1, 1, 1, 1]), ["a", "b"])
    assert learned.number == 3
    assert learned.codes[0] == learned.codes[2]
    assert len(set(learned.codes)) == 3
    words = learned.labels().iloc[learned.codes]
    assert words["a"].tolist() == ["x", "y", "x", "missing"]
    assert words["b"].tolist() == ["1"] * 4


def test_no_columns_make_one_pattern():
    learned = learn_patterns(table(a=[1, 2]), [])
    assert learned.number == 1
    assert learned.codes.tolist() == [0, 0]
    assert learned.labels().shape == (1, 0)
    assert match_patterns(learned, table(a=[5])).tolist() == [0]


def test_another_table_is_read_by_what_was_learned():
    learned = learn_patterns(table(a=["x", "y", "y"], b=[1, 2, 1]), ["a", "b"])
    found = match_patterns(learned, table(a=["y", "x", "z", "y"], b=[2, 2, 1, 1]))
    # x with 2 never occurred together, z never at all.
    assert found.tolist() == [learned.codes[1], -1, -1, learned.codes[2]]


@pytest.mark.parametrize("kind", ["int64", "float64", "Int64", "Float64", "int8"])
def test_numbers_match_across_types(kind):
    learned = learn_patterns(table(a=[1, 2, 3]), ["a"])
    other = Table(pd.DataFrame({"a": pd.Series([3, 1, 9], dtype=kind)}))
    assert match_patterns(learned, other).tolist() == [learned.codes[2], learned.codes[0], -1]


def test_missing_matches_missing_only_if_it_was_seen():
    gaps = table(a=pd.Series([1, None], dtype="Int64"))
    learned = learn_patterns(gaps, ["a"])
    assert match_patterns(learned, table(a=[np.nan, 1.0])).tolist() == learned.codes[::-1].tolist()
    assert match_patterns(learn_patterns(table(a=[1.0, 2.0]), ["a"]), table(a=[np.nan, 1.0])).tolist() == [-1, 0]


def test_unused_and_reordered_categories():
    learned = learn_patterns(table(a=pd.Categorical(["x", "y"], categories=["w", "x", "y"])), ["a"])
    assert learned.number == 2
    other = table(a=pd.Categorical(["y", "x", None], categories=["y", "x"]))
    assert match_patterns(learned, other).tolist() == [learned.codes[1], learned.codes[0], -1]


def test_the_same_columns_give_the_same_array():
    data = table(a=pd.Categorical(["x", "y"]), b=[1, 2], c=["p", "q"])
    learned = learn_patterns(data, ["a", "b", "c"])
    assert match_patterns(learned, Table(data.frame.copy())) is learned.codes


def test_a_column_coded_otherwise_is_refused():
    with pytest.raises(InputError, match="released: no value of variable 'a'"):
        match_patterns(learn_patterns(table(a=[1, 2]), ["a"]), table(a=["1", "2"]))
