from typing import Any

import numpy as np
import pandas as pd
import pytest

from molehill import InputError
from molehill.utility import estimate, regression


def coefficients(data, formula, family: Any = "linear") -> Any:
    return estimate(data, data, regression(formula, family)).set_index("analysis")


def test_a_line_by_hand():
    data = pd.DataFrame({"y": [0.0, 1.0, 1.0, 4.0], "x": [0.0, 1.0, 2.0, 3.0]})
    found = coefficients(data, "y ~ x")
    slope = found.loc["x in y ~ x"]
    # Sxx = 5, Sxy = 6; residuals 0.3, 0.1, -1.1, 0.7: sum of squares 1.8, two degrees, t = 4.302653.
    assert slope["confidential"] == pytest.approx(1.2)
    assert slope["confidential_high"] - 1.2 == pytest.approx(4.302653 * np.sqrt(1.8 / 2 / 5), abs=1e-5)
    assert found.loc["Intercept in y ~ x", "confidential"] == pytest.approx(-0.3)
    assert found[["overlap", "width_ratio"]].to_numpy() == pytest.approx(np.ones((2, 2)))
    assert (found["column"] == "y").all()


@pytest.mark.parametrize("outcome", [[0, 1], ["no", "yes"], [False, True]])
def test_log_odds_by_hand(outcome):
    # Town A: 4 of 10, town B: 12 of 16.
    y = [outcome[0]] * 6 + [outcome[1]] * 4 + [outcome[0]] * 4 + [outcome[1]] * 12
    data = pd.DataFrame({"y": y, "town": ["A"] * 10 + ["B"] * 16})
    found = coefficients(data, "y ~ town", "logit").loc["town[B] in y ~ town (logit)"]
    assert found["confidential"] == pytest.approx(np.log(3) - np.log(4 / 6))
    variance = 1 / 6 + 1 / 4 + 1 / 4 + 1 / 12
    assert found["confidential_high"] - found["confidential"] == pytest.approx(1.959964 * variance**0.5, abs=1e-4)


def test_log_rates_by_hand():
    data = pd.DataFrame({"count": [1, 3, 2, 6, 8, 10], "town": pd.Categorical(["A"] * 3 + ["B"] * 3, list("ABC"))})
    found = coefficients(data, "count ~ town", "poisson").loc["town[B] in count ~ town (poisson)"]
    assert found["confidential"] == pytest.approx(np.log(4))
    assert found["confidential_high"] - np.log(4) == pytest.approx(1.959964 * np.sqrt(1 / 6 + 1 / 24), abs=1e-4)


def test_coefficients_mean_the_same_in_every_table():
    """A released table in which a level comes first, or is missing in between, keeps the confidential levels."""
    data = pd.DataFrame({"y": [1.0, 2.0, 3.0, 5.0, 8.0, 9.0], "town": list("AABBCC")})
    released = [data, data.iloc[::-1]]
    found = estimate(data, released, regression("y ~ town", terms=["town[C]", "town[B]"]))
    assert found["analysis"].tolist() == ["town[C] in y ~ town", "town[B] in y ~ town"]
    assert found["confidential"].tolist() == pytest.approx([7.0, 2.5])
    assert found["released"].tolist() == pytest.approx([7.0, 2.5])


def test_released_coefficients_are_combined():
    rng = np.random.default_rng(8)
    x = rng.normal(size=50)
    data = pd.DataFrame({"x": x, "y": x + rng.normal(size=50)})
    released = [data.assign(y=x + rng.normal(size=50)) for _ in range(3)]
    found = estimate(data, released, regression("y ~ x", terms="x")).iloc[0]
    slopes, variances = [], []
    for table in released:
        centred = x - x.mean()
        slope = centred @ table["y"] / (centred @ centred)
        rest = table["y"] - table["y"].mean() - slope * centred
        slopes.append(slope)
        variances.append(rest @ rest / 48 / (centred @ centred))
    assert found["released"] == pytest.approx(np.mean(slopes))
    total = np.mean(variances) + np.var(slopes, ddof=1) / 3
    reach = (found["released_high"] - found["released_low"]) / 2
    assert 1.96 * total**0.5 < reach < 2.1 * total**0.5


def test_functions_and_odd_names():
    rng = np.random.default_rng(9)
    data = pd.DataFrame({"the pay": np.exp(rng.normal(size=40)), "class": rng.integers(1, 4, 40)})
    found = coefficients(data, "log(`the pay`) ~ C(class)")
    assert found.index[1] == "C(class)[2] in log(`the pay`) ~ C(class)"
    logs = data["the pay"].map(np.log).groupby(data["class"]).mean()
    assert found["confidential"].iloc[1] == pytest.approx(logs[2] - logs[1])


BASE = pd.DataFrame({"y": [1.0, 2.0, 4.0, 4.0, 0.0, 7.0], "x": [0.0, 1, 2, 3, 5, 9], "town": list("AABBCC")})


@pytest.mark.parametrize(
    ("formula", "family", "released", "message"),
    [
        ("y ~ age", "linear", BASE, "analyses: there is no variable 'age'"),
        ("y ~ twn", "linear", BASE, "Did you mean 'town'"),
        ("log(y) ~ x", "linear", BASE, "data: the formula 'log\\(y\\) ~ x' gives a value that is not finite"),
        ("y ~ x + I(2*x)", "linear", BASE, "data: the predictors of the formula are constant or collinear"),
        ("town ~ x", "linear", BASE, "data: the outcome 'town' is categorical"),
        ("y ~ x", "logit", BASE, "data: the outcome 'y' has values other than 0 and 1"),
        ("y ~ town*x", "linear", BASE, "data: there are 6 records for 6 coefficients"),
        ("y ~ x +", "linear", BASE, "formula: the formula cannot be read"),
        ("y ~ town", "linear", BASE.assign(town=list("AABBZZ")), "released: variable 'town' has a category"),
        ("y ~ C(x)", "linear", BASE.assign(x=7.0), "released: a variable within C"),
        (
            "y ~ town",
            "linear",
            BASE.assign(town=list("AABBBB")),
            "released: coefficient number",
        ),
        ("y ~ x", "linear", BASE.assign(x=1.0), "released: the predictors of the formula are constant"),
        ("y ~ x", "linear", BASE.assign(y=1.0), "released: the outcome 'y' is the same for every record"),
        ("y ~ x", "linear", BASE.drop(columns="x"), "released: there is no variable 'x'"),
        ("y ~ x", "linear", BASE.assign(x="1"), "released: the variable 'x' is not numeric"),
        ("y ~ x", "linear", BASE.assign(x=np.nan), "released: 6 records have a missing value of 'y' or 'x'"),
        ("y ~ x", "poisson", BASE.assign(y=-1.0), "released: the outcome 'y' has negative values"),
    ],
)
def test_bad_input_is_named(formula, family, released, message):
    data = BASE.assign(x=[0.0, 0, 0, 1, 1, 1]) if "C(x)" in formula else BASE
    with pytest.raises(InputError, match=message):
        estimate(data, released, regression(formula, family))


def test_a_perfect_predictor_of_an_outcome_is_refused():
    data = pd.DataFrame({"y": [0, 0, 0, 1, 1, 1], "x": [1.0, 2, 3, 4, 5, 6]})
    with pytest.raises(InputError, match="did not converge"):
        estimate(data, data, regression("y ~ x", "logit"))


def test_a_term_that_is_not_there_is_named():
    with pytest.raises(InputError, match=r"terms: there is no coefficient 'twn\[b\]'. Did you mean 'town'") as caught:
        estimate(BASE, BASE, regression("y ~ town", terms="twn[b]"))
    # A level is a value of the table.
    assert "town[B]" not in str(caught.value)
    assert "name[level]" in str(caught.value)
    with pytest.raises(InputError, match="family: 'probit' is not a choice"):
        coefficients(BASE, "y ~ x", "probit")
