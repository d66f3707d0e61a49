"""What counts as a table, and what is told of what does not."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from molehill.tables.table import Table, as_table, as_tables
from written_tables import labelled_table, problem_of


def test_frames_of_pandas_polars_and_arrow_are_tables():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    for data in (
        frame,
        pl.DataFrame({"a": [1, 2], "b": ["x", None]}),
        pa.table({"a": [1, 2], "b": ["x", None]}),
    ):
        pd.testing.assert_frame_equal(as_table(data).frame, frame)


def test_a_table_is_taken_as_it_is():
    table = labelled_table()
    assert as_table(table) is table


def test_polars_whole_numbers_and_truth_with_gaps_keep_their_type():
    data = pl.DataFrame({"n": [1, None], "t": [True, None], "c": pl.Series(["x", None], dtype=pl.Categorical)})
    assert as_table(data).frame.dtypes.astype(str).tolist() == ["Int64", "boolean", "category"]


def test_an_index_is_left_behind():
    frame = pd.DataFrame({"a": [1, 2, 3]}).iloc[[2, 0]]
    assert as_table(frame).frame.index.tolist() == [0, 1]
    assert as_table(frame).frame["a"].tolist() == [3, 1]


@pytest.mark.parametrize("data", [None, [1, 2], {"a": [1]}, np.zeros((2, 2)), pd.Series([1]), pl.LazyFrame({"a": [1]})])
def test_what_is_not_a_table_is_told_what_is(data):
    assert "Give a Table, or a frame of pandas, Polars or Arrow" in problem_of(lambda: as_table(data))


def test_a_path_is_told_to_be_read_first():
    problem = problem_of(lambda: as_table("people.csv", argument="released"))
    assert problem.startswith("released: ")
    assert "read_table('people.csv')" in problem


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame([[1, 2, 3]], columns=["b", "a", "b"]), "called 'b'"),
        (pd.DataFrame([[1, 2]]), "not text"),
        (pd.DataFrame(index=[0, 1]), "no columns"),
        (pd.DataFrame({"a": []}), "no records"),
    ],
)
def test_frames_that_cannot_be_used_are_refused(frame, words):
    assert words in problem_of(lambda: as_table(frame))
    assert words in problem_of(lambda: as_table(Table(frame)))


def test_released_tables_are_one_or_several():
    frame = pd.DataFrame({"a": [1, 2]})
    assert len(as_tables(frame)) == 1
    assert [table.frame["a"].tolist() for table in as_tables((frame, pl.DataFrame({"a": [3]})))] == [[1, 2], [3]]
    assert problem_of(lambda: as_tables([])).startswith("released: it contains no dataset")
    assert problem_of(lambda: as_tables([frame, None])).startswith("released: ")
