"""What was not meant to leave does not: planted in random tables, looked for in everything that is published."""

import re
import string
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agreement import assert_agrees
from molehill.plan.suggest import suggest_settings
from molehill.release import release as saving
from molehill.release.runs import run
from molehill.report.page.page import render_report
from molehill.tables.formats.formats import read_table, write_table
from properties import examples

N = 150


def plant(seed: int, first: int, label: str, cents: int) -> tuple[pd.DataFrame, list[str]]:
    """A random table sorted by its amounts, with a number of every person, a name, a rare label and a true amount."""
    random = np.random.default_rng(seed)
    pay = np.sort(np.exp(random.normal(8, 0.7, N)).round(2))
    amount = 900_000 + cents / 100
    pay[-1] = amount
    frame = pd.DataFrame(
        {
            "person_id": random.permutation(N) + first,
            "surname": [f"Zyx{number}qua" for number in random.permutation(N)],
            "birth": pd.Timestamp("1950-01-01") + pd.to_timedelta(random.integers(0, 20_000, N), unit="D"),
            "diagnosis": np.where(np.arange(N) == 40, label, random.choice(["a", "b"], N)),
            "sex": random.choice(["f", "m"], N),
            "region": random.choice(["N", "S"], N),
            "pay": pay,
        }
    )
    secrets = [*map(str, frame["person_id"]), *frame["surname"], label, f"{amount:.2f}", f"{amount:,.2f}"]
    return frame[random.permutation(frame.columns)], secrets


@pytest.fixture
def published(monkeypatch):
    """What stays inside needs no report: only what is published is looked at."""

    def render(dossier, *, edition, **how):
        return "" if edition == "internal" else render_report(dossier, edition=edition, **how)

    monkeypatch.setattr(saving, "render_report", render)


# Few, because each is a whole run.
@pytest.mark.usefixtures("published")
@examples(2)
@given(
    seed=st.integers(0, 2**31),
    # Up to 0xFFFFFF a number may be that of a colour: the drawing code of the page lists those that have names.
    first=st.integers(17_000_000, 90_000_000),
    label=st.text(string.ascii_lowercase, min_size=3, max_size=9).map(lambda text: f"zq{text}"),
    cents=st.integers(1, 9_999_999).filter(lambda number: number % 10),
)
def test_nothing_planted_is_found_in_what_is_published(capsys, seed, first, label, cents):
    with tempfile.TemporaryDirectory() as folder:
        release_planted(Path(folder), capsys, plant(seed, first, label, cents), seed)


def release_planted(tmp_path, capsys, planted, seed):
    frame, secrets = planted
    write_table(frame, tmp_path / "people.csv")
    table = read_table(tmp_path / "people.csv")
    suggested = suggest_settings(table, path="people.csv").settings
    assert {*suggested.synthesize} == {"diagnosis", "pay"}
    assert set(suggested.drop) == {"person_id", "surname", "birth"}
    quick = {
        "datasets": 2,
        "compare": (),
        "expected_risk_draws": 0,
        "attacks": "none",
        "min_leaf_size": 20,
        "seed": seed,
    }
    chosen = suggested.but(**quick)
    told: list[str] = []
    run(table, chosen, tmp_path / "out", progress=False, on_stage=told.append)
    said = "\n".join(told) + capsys.readouterr().out
    for path in (tmp_path / "out" / "release").iterdir():
        text = path.read_text(encoding="utf-8") + said
        # Numbers of a drawing may hold any digits; what is planted is longer than those.
        there = [secret for secret in secrets if secret in text]
        found = [secret for secret in there if re.search(rf"(?<![\d.]){re.escape(secret)}(?!\d)", text)]
        assert not found, (path.name, len(found))
    released = read_table(tmp_path / "out" / "release" / "synthetic_01.csv").frame
    assert set(released.columns) == {"diagnosis", "sex", "region", "pay"}
    # The order of the file was that of the amounts: what is published is in no such order, and no amount is a true one.
    order = np.corrcoef(np.arange(N), released["pay"])[0, 1]
    assert_agrees(order, 0, 1 / np.sqrt(N - 1), detects=0.7, of="order of the amounts")
    assert not set(released["pay"].round(2)) >= set(frame["pay"])
    assert released["pay"].between(*(chosen.of_column(end, "pay") for end in ("lower", "upper"))).all()
    # Decimals are those of the file.
    assert (released["pay"].round(2) == released["pay"]).all()
