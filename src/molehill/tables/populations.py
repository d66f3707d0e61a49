"""Simulated populations: the paper's count mixture, and a survey like its CE sample.

No record of a real survey is used. The survey is a sequence of small probability tables and an income equation, tuned
to the summaries that the paper prints.
"""

import operator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.errors import InputError

NB_SHARES = (0.7, 0.3)
NB_MEANS = (100.0, 100.0)
NB_DISPERSIONS = (20.0, 5.0)

LEVELS = {
    "gender": ("female", "male"),
    "age": ("under 25", "25-34", "35-49", "50-64", "65 and over"),
    "education": (
        *("no schooling", "grades 1-8", "grades 9-12, no diploma", "high school"),
        *("some college", "associate degree", "bachelor's degree", "master's degree or higher"),
    ),
    "region": ("northeast", "midwest", "south", "west"),
    "urban": ("urban", "rural"),
    "marital": ("married", "widowed", "divorced", "separated", "never married"),
    "urban_type": ("urbanized area", "urban cluster", "rural area"),
    "cbsa": ("principal city", "elsewhere in a CBSA", "outside any CBSA"),
    "family_size": (*(str(size) for size in range(1, 11)), "11 or more"),
    "earner": ("earner", "not an earner"),
}
ORDERED = ("age", "education", "family_size")

# Percentages. The last axis runs over the levels of the variable drawn, the others over the variables it depends on.
GENDER = np.array([53, 47])
AGE = np.array([6.5, 16, 25.5, 27.5, 24.5])
REGION = np.array([18, 21, 37, 24])
EDUCATION_BY_AGE = np.array(
    [
        [0.2, 0.8, 6, 27, 45, 7, 13, 1],
        [0.3, 2.2, 5, 21, 21, 11, 27.5, 12],
        [0.4, 3.1, 6, 22, 18, 11, 24, 15.5],
        [0.5, 3.5, 6, 26, 20, 11, 19.5, 13.5],
        [0.8, 6.2, 8, 30, 19, 8, 15, 13],
    ]
)
URBAN_BY_REGION = np.array([[96, 4], [89, 11], [92, 8], [97, 3]])
# Urban status goes by county, urban type by settlement: open country inside an urban county is "rural area".
URBAN_TYPE_BY_URBAN = np.array([[82, 8, 10], [0, 0, 100]])
CBSA_BY_URBAN_TYPE = np.array([[42, 58, 0], [10, 60, 30], [0, 45, 55]])
MARITAL_BY_AGE_GENDER = np.array(
    [
        [[11, 0.2, 1, 1.3, 86.5], [8, 0.1, 0.7, 0.7, 90.5]],
        [[43, 0.5, 7, 3.5, 46], [43, 0.2, 4.3, 1.5, 51]],
        [[55, 1.5, 17, 4.5, 22], [62, 0.5, 12.5, 2, 23]],
        [[52, 7, 25, 3, 13], [62, 2.5, 18, 2.5, 15]],
        [[38, 37, 18, 1, 6], [66, 13, 14, 1, 6]],
    ]
)
FAMILY_SIZE_BY_MARRIED_AGE = np.reshape(
    [
        [52, 25, 12, 6, 2.5, 1.2, 0.6, 0.3, 0.2, 0.1, 0.1],
        [42, 27, 15, 9, 3.8, 1.6, 0.7, 0.3, 0.2, 0.2, 0.2],
        [41, 26, 16, 10, 3.7, 1.5, 0.7, 0.4, 0.3, 0.2, 0.2],
        [61, 24, 8, 4, 1.4, 0.6, 0.4, 0.2, 0.2, 0.1, 0.1],
        [78, 16, 4, 1, 0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05],
        [1, 45, 32, 14, 5, 1.5, 0.6, 0.4, 0.2, 0.1, 0.2],
        [1, 28, 27, 26, 11, 3.5, 1.5, 0.8, 0.4, 0.4, 0.4],
        [1, 15, 21, 35, 16, 6, 2.5, 1.3, 0.8, 0.6, 0.8],
        [1, 52, 24, 14, 5, 2, 0.7, 0.4, 0.3, 0.3, 0.3],
        [1.5, 84, 10, 2.6, 1, 0.4, 0.1, 0.1, 0.1, 0.1, 0.1],
    ],
    (2, 5, 11),
)
EARNER_BY_AGE = np.array([78, 84, 84, 69, 24])
EARNER_SHIFT_BY_EDUCATION = np.array([-20, -16, -14, -4, 1, 4, 7, 9])

# Additions to the mean of log income.
LOG_INCOME_CENTRE = 10.90
LOG_INCOME_EFFECTS = {
    "age": np.array([-0.45, -0.05, 0.10, 0.12, 0.05]),
    "education": np.array([-0.70, -0.62, -0.48, -0.22, -0.05, 0.05, 0.37, 0.66]),
    "region": np.array([0.08, -0.02, -0.05, 0.07]),
    "urban": np.array([0.0, -0.12]),
    "marital": np.array([0.30, -0.14, -0.17, -0.32, -0.17]),
    "family_size": np.array([-0.15, 0.02, 0.10, 0.14, 0.12, 0.10, 0.08, 0.06, 0.04, 0.02, 0.0]),
    "earner": np.array([0.0, -0.37]),
}
# Factors of the spread of log income: the young, the little schooled and the unmarried differ more among themselves.
SPREAD_FACTORS = {
    "age": np.array([1.35, 1.0, 0.9, 1.05, 1.1]),
    "education": np.array([1.2, 1.15, 1.1, 1.05, 1.0, 1.0, 0.95, 0.9]),
    "marital": np.array([0.9, 1.1, 1.1, 1.1, 1.15]),
}
# Percentages of the ways to have an income, for earners and for the others. "part" is work for a part of the week or
# of the year, a small pension or a benefit; "top" has the upper tail.
INCOME_KINDS = ("full", "part", "top", "few dollars", "zero", "loss")
INCOME_KIND_BY_EARNER = np.array([[82.38, 10, 6, 0.7, 0.7, 0.22], [59.78, 32, 4, 1, 3, 0.22]])
# What the first three add to the centre of log income, the factors by which they take the effects, and their spreads.
KIND_SHIFT = np.array([0.0, -1.3, 0.5])
KIND_SLOPE = np.array([1.1, 1.3, 1.2])
KIND_SPREAD = np.array([0.47, 0.85, 0.9])
INCOME_CAP = 1_800_000
FEW_CEILING = 5_000
LOSS_LIMIT = 7_000
ROUNDING_UNITS = np.array([1, 100, 500, 1_000, 5_000, 10_000])
ROUNDING = np.array([50, 13, 3, 21, 9, 4])


def nb_mixture(n: int, seed: int) -> pd.DataFrame:
    """Draw the skewed counts of the paper's simulation study.

    A well-populated mode and a heavier tail around the same mean: 0.7 NB(100, 20) + 0.3 NB(100, 5), where
    NB(mu, phi) has mean mu and variance mu + mu**2 / phi, as Stan's ``neg_binomial_2``. The mixture has mean
    100 and variance 1050.

    Parameters
    ----------
    n
        The number of records; the paper takes 1000.
    seed
        The same ``n`` and ``seed`` give the same dataset under the same version of NumPy.

    Returns
    -------
    pandas.DataFrame
        One variable of whole numbers, ``outcome``.

    Examples
    --------
    >>> nb_mixture(1000, seed=1).shape
    (1000, 1)
    """
    n = _whole("n", n, least=1)
    rng = np.random.default_rng(_whole("seed", seed, least=0))
    component = rng.choice(len(NB_SHARES), size=n, p=NB_SHARES)
    mean, dispersion = np.array(NB_MEANS)[component], np.array(NB_DISPERSIONS)[component]
    outcome = rng.negative_binomial(dispersion, dispersion / (dispersion + mean))
    return pd.DataFrame({"outcome": outcome.astype(np.int64)})


def consumer_survey(n: int = 6208, seed: int = 2017) -> pd.DataFrame:
    """Simulate a survey of consumer units that resembles the Consumer Expenditure Survey sample of the paper.

    Ten categorical predictors with the category counts of the paper's Table 1, and family income: a mixture, more
    variable in some groups than in others, half of it reported in round numbers, with zeros and losses. All constants
    are invented and tuned to published summaries (mean 72 thousand, median 50, 90% quantile 154, 97.5% quantile 270,
    range -7 to 1,800, 40 patterns of gender, age and region). The defaults give the data of all demonstrations.

    Each variable is drawn given earlier ones: education given age; marital status given gender and age; family size
    given marital status and age; earner given age and education; urban status given region, and urban type and CBSA
    given that. Log income is a mixture of three regressions: full incomes (about three quarters), part incomes (one in
    ten earners, one in three of the others), and top incomes (one in twenty), whose variance depends on age, education
    and marital status. A few percent of the records have a few dollars, zero or a loss. Half of the amounts are rounded
    to 100, 500, 1,000, 5,000 or 10,000 dollars, as far as their size allows.

    Parameters
    ----------
    n
        The number of consumer units. In a small survey rare categories may be empty, but they stay declared.
    seed
        The same ``n`` and ``seed`` give the same dataset under the same version of NumPy.

    Returns
    -------
    pandas.DataFrame
        Ten categorical variables and ``income`` in whole dollars.

    Examples
    --------
    >>> survey = consumer_survey()
    >>> survey.shape
    (6208, 11)
    >>> survey.groupby(["gender", "age", "region"], observed=True).ngroups
    40
    """
    n = _whole("n", n, least=1)
    rng = np.random.default_rng(_whole("seed", seed, least=0))
    codes = _predictors(n, rng)
    columns: dict[str, Any] = {
        name: pd.Categorical.from_codes(codes[name], dtype=pd.CategoricalDtype(levels, ordered=name in ORDERED))
        for name, levels in LEVELS.items()
    }
    return pd.DataFrame(columns | {"income": _income(codes, rng)})


def _predictors(n: int, rng: np.random.Generator) -> dict[str, NDArray[np.int8]]:
    """Draw the level numbers of the ten predictors, each given those before it."""
    everyone = np.zeros(n, dtype=np.int8)
    codes = {
        name: _draw(table[None], everyone, rng=rng)
        for name, table in (("gender", GENDER), ("age", AGE), ("region", REGION))
    }
    age = codes["age"]
    codes["education"] = _draw(EDUCATION_BY_AGE, age, rng=rng)
    codes["urban"] = _draw(URBAN_BY_REGION, codes["region"], rng=rng)
    codes["marital"] = _draw(MARITAL_BY_AGE_GENDER, age, codes["gender"], rng=rng)
    codes["urban_type"] = _draw(URBAN_TYPE_BY_URBAN, codes["urban"], rng=rng)
    codes["cbsa"] = _draw(CBSA_BY_URBAN_TYPE, codes["urban_type"], rng=rng)
    married = (codes["marital"] == LEVELS["marital"].index("married")).astype(np.int8)
    codes["family_size"] = _draw(FAMILY_SIZE_BY_MARRIED_AGE, married, age, rng=rng)
    earning = EARNER_BY_AGE[:, None] + EARNER_SHIFT_BY_EDUCATION
    earner = np.stack([earning, 100 - earning], axis=-1)
    codes["earner"] = _draw(earner, age, codes["education"], rng=rng)
    return codes


def _income(codes: dict[str, NDArray[np.int8]], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw whole dollars given the predictors, and round many of them as respondents do when asked."""
    kind = _draw(INCOME_KIND_BY_EARNER, codes["earner"], rng=rng)
    few, zero, loss = (kind == INCOME_KINDS.index(name) for name in ("few dollars", "zero", "loss"))
    regular = np.where(kind < len(KIND_SHIFT), kind, 0)
    effects = sum(effect[codes[name]] for name, effect in LOG_INCOME_EFFECTS.items())
    centre = LOG_INCOME_CENTRE + KIND_SHIFT[regular] + KIND_SLOPE[regular] * effects
    spread = KIND_SPREAD[regular]
    for name, factor in SPREAD_FACTORS.items():
        spread *= factor[codes[name]]
    income = np.exp(centre + spread * rng.standard_normal(len(kind)))
    # Redrawn, not clipped: a heap of records at the cap would distort every risk measure.
    while (above := np.flatnonzero(income > INCOME_CAP)).size:
        income[above] = np.exp(centre[above] + spread[above] * rng.standard_normal(above.size))

    income[few] = FEW_CEILING ** np.sqrt(rng.random(few.sum()))
    income[zero] = 0
    income[loss] = -1 - (LOSS_LIMIT - 1) * rng.random(loss.sum())

    step = _draw(ROUNDING[None], np.zeros_like(kind), rng=rng)
    # Rounding changes at most an eighth of an income, so that no income becomes zero.
    coarsest = np.searchsorted(4 * ROUNDING_UNITS[1:], income, side="right")
    unit = ROUNDING_UNITS[np.minimum(step, coarsest)]
    return (np.round(income / unit) * unit).astype(np.int64)


def _draw(table: NDArray[Any], *given: NDArray[np.int8], rng: np.random.Generator) -> NDArray[np.int8]:
    """Draw one level number per record from the row of a percentage table that its earlier levels select."""
    ends = np.cumsum(table, axis=-1)
    uniform = 100 * rng.random(len(given[0]))
    level = np.zeros(len(uniform), dtype=np.int8)
    # One pass per level keeps memory at one number per record, whatever the number of levels.
    for end in range(table.shape[-1] - 1):
        level += uniform >= ends[(*given, end)]
    return level


def _whole(argument: str, value: int, *, least: int) -> int:
    """Check that a number is whole and at least ``least``."""
    remedy = f"Give a whole number of at least {least}"
    try:
        whole = operator.index(value)
    except TypeError:
        raise InputError(argument, f"it is {value!r}, not a whole number", remedy) from None
    if isinstance(value, bool) or whole < least:
        raise InputError(argument, f"it is {value!r}", remedy)
    return whole
