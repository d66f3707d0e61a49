"""Tables that are hard to write, and a way there and back."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from molehill.errors import InputError
from molehill.tables.formats.formats import read_table, write_table
from molehill.tables.table import Dialect, Table

NASTY = [
    "007",
    "NA",
    "",
    "1.5",
    '=cmd|" /C calc"!A0',
    "<b>Größe</b>, 日本\n'\"",
    None,
    "nan",
    " 1 ",
    "inf",
    "0x1F",
]
WORDS = st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), max_size=6))


def labelled_table():
    """A table with labels, gaps, large numbers and all kinds of text."""
    frame = pd.DataFrame(
        {
            "zone": ["Å", "日本\n語", None, '=1+"2"'],
            "status": pd.array([1, 2, None, 2], dtype="Int64"),
            "age": np.array([31, 54, 31, 2**40]),
            "income": [0.1 + 0.2, np.nan, -1e30, 7.0],
        }
    )
    return Table(
        frame,
        column_labels={"zone": 'Région <b>"x"</b>', "age": "年齢"},
        value_labels={"status": {1: "=employed", 2: "sans\nemploi"}},
    )


def written_and_read(data, path):
    """Write a table and read it again."""
    write_table(data, path)
    return read_table(path)


def dialect_of(table) -> Dialect:
    """How the file was written that a table was read from."""
    assert table.dialect is not None
    return table.dialect


def problem_of(call):
    """What a call that must be refused says."""
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)
