"""Hundreds of random messy tables through init and plan: a plan comes out, or an InputError, and nothing else."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.plan.plan import plan_settings
from molehill.plan.settings import Settings, format_settings
from molehill.plan.suggest import suggest_settings

NAMES = [
    "age",
    "id",
    "income",
    "name",
    "a,b",
    'q"uote',
    "<b>",
    "\u897f",
    "x y",
    "Straße",
    "e-mail",
    "date",
    "=1+1",
    "n\nl",
]


def messy_column(random: np.random.Generator, records: int) -> Any:
    numbers = random.normal(0, 10.0 ** random.integers(0, 9), records)
    texts = random.choice(["a", "b", "n/a", "", "Ann Lee", "<script>", "=cmd()", "12", "x" * 300], records)
    choices = [
        numbers,
        numbers.round().astype(int),
        np.where(random.random(records) < 0.3, np.nan, numbers),
        np.where(random.random(records) < 0.05, np.inf, numbers),
        np.full(records, np.nan),
        np.full(records, 7),
        random.integers(0, 3, records),
        np.arange(records),
        texts,
        np.where(random.random(records) < 0.1, "n/a", numbers.round(2).astype(str)),
        random.choice([True, False], records),
        pd.array([(1, 2, None)[random.integers(3)] for _ in range(records)], dtype="Int64"),
        pd.Categorical(random.choice(["u", "v"], records), categories=["w", "v", "u"]),
        pd.Timestamp("2001-01-01") + pd.to_timedelta(random.integers(0, 9999, records), unit="D"),
        [(1, "x", None, 2.5)[random.integers(4)] for _ in range(records)],
        [[1, 2]] * records,
        [2**70] * records,
        [b"bytes"] * records,
    ]
    return choices[random.integers(len(choices))]


def messy_table(seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    records = int(random.choice([1, 2, 5, 40, 200]))
    names = random.choice(NAMES, random.integers(1, 9), replace=bool(random.random() < 0.05))
    frame = pd.concat([pd.Series(messy_column(random, records)) for _ in names], axis=1)
    return frame.set_axis(list(names), axis=1)


@pytest.mark.parametrize("tables", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_only_an_input_error_comes_out(tables):
    planned, refused = 0, []
    for seed in range(tables):
        try:
            suggested = suggest_settings(messy_table(seed))
            settings = suggested.settings
            settings = settings.but(drop=(*settings.drop, *settings.undecided), undecided=())
            text = format_settings(settings, notes=suggested.notes, reasons=suggested.reasons)
            planned += "Estimate: about" in str(plan_settings(messy_table(seed), settings))
        except InputError as error:
            refused.append(error)
            continue
        assert isinstance(settings, Settings)
        assert "[columns]" in text
    # Neither in its text nor behind it does an error carry what another library said of a value.
    assert all(error.__cause__ is None and (error.__suppress_context__ or not error.__context__) for error in refused)
    assert planned > tables / 3
