"""From a posterior to tables like the one given: types, missing values, levels and labels are kept."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest

from agreement import assert_agrees
from modes import is_private
from molehill.errors import InputError
from molehill.models import normal_linear, semicontinuous
from molehill.synthesis.fitting import draw, draw_to
from molehill.synthesis.posterior import put_back
from molehill.synthesis.synthesizer import Synthesizer
from molehill.tables.formats.formats import read_table
from molehill.tables.schema import infer_schema
from molehill.tables.table import Table
from people import COUNT, PEOPLE, WAGES, made_posterior, quick_fit, user_fit


def test_tables_are_spread_over_chains_and_draws():
    posterior = user_fit()
    chains, draws = 2, 1500
    marked = np.arange(chains * draws, dtype=float).reshape(chains, draws) * 1e6
    marked_posterior = replace(posterior, draws={"slope": marked})
    tables = draw(marked_posterior, datasets=20, seed=1)
    used = [round(float(np.median(table["pay"] / PEOPLE["age"])) / 1e6) for table in tables]
    assert used == [75 + 150 * k for k in range(20)]


def test_tables_go_straight_to_disk_one_at_a_time(tmp_path):
    posterior = user_fit()
    paths = draw_to(tmp_path / "out", posterior, datasets=3, seed=4)
    assert [path.name for path in paths] == ["synthetic_01.parquet", "synthetic_02.parquet", "synthetic_03.parquet"]
    one_by_one = [table for batch in posterior.predict_tables(3, seed=4, at_once=1) for table in batch]
    for path, table in zip(paths, one_by_one, strict=True):
        assert read_table(path).frame["pay"].tolist() == table["pay"].tolist()
        assert is_private(path)
    with pytest.raises(InputError, match=r"folder: .* exists already"):
        draw_to(tmp_path / "out", posterior, datasets=3, seed=4)
    with pytest.raises(InputError, match="effective sample size"):
        draw_to(tmp_path / "more", posterior, datasets=10**6, seed=4)


# Tables like the one given.


def released_of(frame: Any) -> Any:
    return draw(quick_fit(WAGES, frame), datasets=1, seed=3, unconverged="allow")[0]


def test_whole_numbers_stay_whole_and_the_index_is_kept():
    whole = PEOPLE.assign(pay=PEOPLE["pay"].round().astype("int32"))
    released = released_of(whole)
    assert released["pay"].dtype == "int32"
    assert released["pay"].nunique() > 4
    pd.testing.assert_index_equal(released.index, whole.index)
    pd.testing.assert_index_equal(released.columns, whole.columns)


@pytest.mark.parametrize("kind", ["Int64", "float64"])
def test_missing_values_stay_missing_and_take_no_part(kind):
    gaps = PEOPLE.assign(pay=PEOPLE["pay"].round().astype(kind))
    gaps.loc[[3, 50], "pay"] = pd.NA if kind == "Int64" else np.nan
    before = gaps.copy(deep=True)
    posterior = quick_fit(WAGES, gaps)
    assert posterior.diagnostics.accept > 0.5
    assert np.isfinite(posterior.draws["slope"]).all()
    np.testing.assert_array_equal(np.flatnonzero(posterior.weights == 0), [3, 50])
    released = draw(posterior, datasets=1, seed=3, unconverged="allow")[0]
    assert released["pay"].dtype == gaps["pay"].dtype
    np.testing.assert_array_equal(np.flatnonzero(released["pay"].isna()), [3, 50])
    pd.testing.assert_frame_equal(gaps, before)
    # A record without a value is as good as one of weight 0, whatever its value.
    weights = np.where(np.isin(np.arange(COUNT), [3, 50]), 0.0, 1.0)
    whole = quick_fit(WAGES, PEOPLE.assign(pay=PEOPLE["pay"].round()), weights)
    np.testing.assert_allclose(whole.draws["slope"], posterior.draws["slope"], rtol=1e-9)


# Decimals and heaps like those of the column.


def multiples(values: Any, unit: float) -> bool:
    times = np.asarray(values, dtype=float) / unit
    return bool((np.abs(times - np.rint(times)) < 1e-3).all())


@pytest.mark.parametrize(
    ("unit", "kind"),
    [(1.0, "float64"), (0.01, "float64"), (0.5, "Float64"), (100.0, "int64"), (0.1, "float32"), (1.0, "Int64")],
)
def test_released_values_have_the_unit_of_the_column(unit, kind):
    heaped = PEOPLE.assign(pay=(40 * PEOPLE["pay"]).round().mul(unit).round(2).astype(kind))
    heaped.loc[[3, 50], "pay"] = pd.NA if kind in ("Int64", "Float64") else np.nan if kind[0] == "f" else 0
    scaled = Synthesizer(wages_in(40 * unit), sensitive=("pay",))
    posterior = made_posterior(scaled, heaped.fillna({"pay": 0}), slope=2.0)
    posterior = replace(posterior, table=Table(heaped))
    assert posterior.units == {"pay": pytest.approx(unit)}
    released = draw(posterior, datasets=1, seed=3)[0]["pay"]
    assert released.dtype == heaped["pay"].dtype
    assert multiples(released.dropna(), unit)
    assert released.nunique() > 40
    assert released.dropna().astype(str).str.len().max() <= 8


def wages_in(scale):
    def model(age, pay=None):
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        with numpyro.plate("records", len(age)):
            numpyro.sample("pay", dist.Normal(scale * slope * age, scale), obs=pay)

    return model


def test_values_without_a_unit_are_released_as_drawn():
    posterior = user_fit()
    assert posterior.units == {"pay": 0.0}
    assert len(repr(float(draw(posterior, datasets=1, seed=3)[0]["pay"][0]))) > 12


def test_rounded_values_stay_within_the_support():
    hundreds = PEOPLE.assign(pay=(PEOPLE["pay"] * 10).round() * 100)
    synthesizer = normal_linear("pay", ["age"], lower=-1949.0, upper=1951.0)
    posterior = made_posterior(synthesizer, hundreds, beta=np.array([0.0, 1.0]), sigma=1.0)
    values = np.concatenate([table["pay"] for table in draw(posterior, datasets=4, seed=3)])
    assert multiples(values, 100)
    assert values.min() == -1900
    assert values.max() == 1900


def test_positive_amounts_are_not_rounded_to_zero():
    tens = PEOPLE.assign(wage=(PEOPLE["wage"] / 10).round().clip(1) * 10)
    # Most are below 5.
    posterior = made_posterior(normal_linear("wage", transform="log"), tens, beta=np.array([-5.0]), sigma=1.0)
    values = np.concatenate([table["wage"] for table in draw(posterior, datasets=4, seed=3)])
    assert multiples(values, 10)
    assert values.min() == 10


def test_no_sign_changes_by_rounding():
    coarse = PEOPLE.assign(income=(PEOPLE["income"] / 1000).round() * 1000)
    synthesizer = semicontinuous("income")
    # All are gains by the part of the sign, and most of them below 500 by that of their size.
    sites: dict[str, dict[str, Any]] = {
        "sign": {"beta": np.array([[-50.0, 50.0]])},
        "negative": {"beta": np.array([0.0]), "sigma": 1.0},
        "positive": {"beta": np.array([-5.0]), "sigma": 1.0},
    }
    parts = {
        name: made_posterior(part, coarse, **sites[name]) for name, part in synthesizer.parts(Table(coarse)).items()
    }
    posterior = replace(parts["sign"], synthesizer=synthesizer, parts=parts)
    values = np.concatenate([table["income"] for table in draw(posterior, datasets=4, seed=3)])
    assert multiples(values, 1000)
    assert values.min() == 1000


def test_what_is_known_of_the_other_columns_is_kept():
    table = Table(PEOPLE)
    infer_schema(table)
    kept = put_back(table, {"pay": PEOPLE["pay"].to_numpy() + 1}, {})
    assert set(kept.seen_kinds) == set(PEOPLE.columns) - {"pay"}
    assert "pay" in table.seen_kinds


def test_labels_of_a_table_survive():
    labels = {"column_labels": {"pay": "Pay by the hour"}, "value_labels": {"region": {"N": "North"}}}
    released = released_of(Table(PEOPLE, **labels))
    assert isinstance(released, Table)
    assert released.column_labels == labels["column_labels"]
    assert released.value_labels == labels["value_labels"]
    assert not released.frame["pay"].equals(PEOPLE["pay"])


def chance(age, poor=None):
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    with numpyro.plate("records", len(age)):
        numpyro.sample("poor", dist.Bernoulli(logits=slope * age), obs=poor)


POOR = np.where(PEOPLE["age"] + np.random.default_rng(2).logistic(size=COUNT) > 0, "no", "yes")
KINDS = {
    "text": pd.Series(POOR),
    "ordered": pd.Series(pd.Categorical(POOR, ["yes", "maybe", "no"], ordered=True)),
    "boolean": pd.Series(POOR == "no"),
    "nullable": pd.Series(POOR == "no", dtype="boolean").mask(np.arange(COUNT) < 2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_users_model_gives_levels_back_for_codes(kind):
    column = KINDS[kind]
    # Code 1 is "yes" in the order of the alphabet, "no" in that of the categories.
    slope = -30.0 if kind == "text" else 30.0
    posterior = made_posterior(Synthesizer(chance, ("poor",)), PEOPLE.assign(poor=column), slope=slope)
    released = draw(posterior, datasets=1, seed=3)[0]["poor"]
    assert released.dtype == column.dtype
    assert set(released.dropna()) == set(column.dropna())
    np.testing.assert_array_equal(released.isna(), column.isna())
    # The codes are not mixed up: the levels still go with age.
    high = (released == ("no" if kind in ("text", "ordered") else True)).fillna(False).to_numpy(dtype=bool)
    old = (PEOPLE["age"] > 1).to_numpy() & released.notna().to_numpy()
    assert high[old].all()


def test_a_missing_predictor_of_text_is_a_level_of_its_own():
    def model(region, pay=None):
        level: Any = numpyro.sample("level", dist.Normal(0, 10).expand([4]).to_event(1))
        with numpyro.plate("records", len(region)):
            numpyro.sample("pay", dist.Normal(level[region], 0.01), obs=pay)

    gaps = PEOPLE.assign(region=PEOPLE["region"].where(np.arange(COUNT) >= 20))
    posterior = made_posterior(Synthesizer(model, ("pay",)), gaps, level=np.arange(4.0))
    assert list(posterior.learned.facts["levels"]["region"][:3]) == ["N", "S", "W"]
    drawn = draw(posterior, datasets=1, seed=1)[0]["pay"].round()
    np.testing.assert_array_equal(drawn, gaps["region"].map({"N": 0, "S": 1, "W": 2}).fillna(3))


def test_two_sensitive_columns_of_which_one_is_missing():
    def model(age, pay=None, bonus=None):
        slope, share = numpyro.sample("slope", dist.Normal(0, 1)), numpyro.sample("share", dist.Normal(0, 1))
        with numpyro.plate("records", len(age)):
            pay = numpyro.sample("pay", dist.Normal(slope * age, 1), obs=pay)
            numpyro.sample("bonus", dist.Normal(share * pay, 1), obs=bonus)

    gaps = PEOPLE.assign(bonus=0.5 * PEOPLE["pay"], pay=PEOPLE["pay"].where(np.arange(COUNT) > 0))
    posterior = made_posterior(Synthesizer(model, ("pay", "bonus")), gaps, slope=2.0, share=5.0)
    released = draw(posterior, datasets=1, seed=1)[0]
    # The bonus goes with the new pay, but for noise of 1, not with the old one, of which it is half.
    rest = released["bonus"] - 5 * released["pay"]
    assert_agrees(rest[1:].std(), 1.0, 1 / np.sqrt(2 * (COUNT - 1)), detects=4.0, of="noise of the bonus")
    assert released["pay"].isna().tolist() == [True] + [False] * (COUNT - 1)
    assert released["bonus"].notna().all()


def test_a_site_computed_from_confidential_values_is_not_released():
    def model(age, wage=None):
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        with numpyro.plate("records", len(age)):
            logs = numpyro.sample("log_wage", dist.Normal(slope * age, 1), obs=None if wage is None else jnp.log(wage))
            numpyro.deterministic("wage", jnp.exp(logs))

    posterior = made_posterior(Synthesizer(model, ("wage",)), PEOPLE, slope=0.5, wage=PEOPLE["wage"].to_numpy())
    released = draw(posterior, datasets=1, seed=1)[0]
    assert not np.isclose(released["wage"], PEOPLE["wage"]).any()


def test_a_value_too_large_for_its_column_is_not_wrapped_around():
    narrow = PEOPLE.assign(pay=PEOPLE["pay"].round().astype("int8"))
    posterior = made_posterior(WAGES, narrow, slope=1000.0)
    with pytest.raises(InputError, match="a value drawn for 'pay' does not fit into its type, int8"):
        draw(posterior, datasets=1, seed=1)


def test_a_value_that_is_not_finite_is_not_released():
    posterior = replace(user_fit(), draws={"slope": np.full((2, 1500), np.nan)})
    with pytest.raises(InputError, match="does not fit into its type, float64"):
        draw(posterior, datasets=1, seed=1)
