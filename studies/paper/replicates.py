"""Replicates of a release: one scheme fitted once, its tables drawn many times over, and all that the paper measures.

A replicate is what the authors published once: L tables from as many draws of the posterior. The spread over the
replicates says how far each of their numbers would have moved, had they run their program again.
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill import Intruder, confidential_risk, draw, fit, models, release_risk, risk_weights
from molehill.utility import (
    combine,
    ecdf_distances,
    mean_and_variance,
    quantile_and_variance,
    quantile_degrees,
    resample_means,
    resample_quantiles,
)
from studies.paper.stages import Arrays, run_stages

Floats = NDArray[np.float64]
# Tables of a release, in all of the paper but its table 6.
TABLES = 20
RESAMPLES = 1000
# So few replicates are a quick look, which takes fewer draws and does not wait for a fit to converge.
QUICK, QUICK_DRAWS = 4, 500
# Parts of the draws whose means show the Monte Carlo error.
BLOCKS = 20
SHARES = {"median": 0.5, "90% quantile": 0.9}


@dataclass(frozen=True)
class PaperScheme:
    """A row of the paper's tables: how the records are weighted, and how often a release of it is measured.

    Attributes
    ----------
    name, radius
        What the paper calls it, and the radius of its weights.
    order, scale, shift
        As in `confidential_risk` and `risk_weights`; order 0 leaves all weights 1.
    tables
        Numbers of tables in a release that estimates are made of.
    """

    name: str
    order: int
    radius: float
    scale: float = 1.0
    shift: float = 0.0
    tables: tuple[int, ...] = (TABLES,)


@dataclass(frozen=True)
class Survey:
    """Which columns of a table play which part.

    Attributes
    ----------
    sensitive, known, predictors
        What is protected, what the intruder knows, what the model conditions on.
    regressors, term
        Of the regression: its columns, and the column and level whose coefficient is told.
    lower, upper
        The public support of the sensitive column.
    """

    sensitive: str
    known: tuple[str, ...] = ()
    predictors: tuple[str, ...] = ()
    regressors: tuple[str, ...] = ()
    term: tuple[str, str] = ("", "")
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class Study:
    """What is protected, from whom, by which model, and what is measured.

    Attributes
    ----------
    survey
        The parts of the columns.
    synthesizer
        "negative_binomial" or "semicontinuous" of `molehill.models`.
    estimates
        Of "mean", "median", "90% quantile" and "coefficient".
    radii
        At which the risk of released tables is measured.
    step
        Smallest rise of a record's risk that the paper marks.
    seed
        Of everything that is drawn.
    """

    survey: Survey
    synthesizer: str
    estimates: tuple[str, ...]
    radii: tuple[float, ...]
    step: float
    seed: int

    def intruder(self, radius: float) -> Intruder:
        """Give the intruder of the paper, at a radius."""
        return Intruder(self.survey.known, self.survey.sensitive, radius, count_self=True, small_patterns="marginal")


def run_schemes(
    data: pd.DataFrame,
    study: Study,
    schemes: Sequence[PaperScheme],
    folder: Path,
    *,
    replicates: Sequence[int],
    workers: int,
) -> dict[str, list[Arrays]]:
    """Fit every scheme as often as there are numbers of replicates; give by name what each fit was measured to be."""

    def named(scheme: PaperScheme, refit: int) -> str:
        return re.sub(r"\W", "_", f"{scheme.name.lower()} fit {refit + 1}")

    fits = list(enumerate(replicates))
    stages = {named(one, refit): (study, one, refit, number) for refit, number in fits for one in schemes}
    found = run_stages(measure_scheme, data, stages, folder, workers=workers)
    return {one.name: [found[named(one, refit)] for refit, _ in fits] for one in schemes}


def measure_scheme(data: pd.DataFrame, study: Study, scheme: PaperScheme, refit: int, replicates: int) -> Arrays:
    """Fit a scheme, draw the tables of all replicates and measure them.

    Returns
    -------
    dict
        `weights` (records); `rhat`, `effective_size` and `converged` of the fit; `U_m` and `U_a`, (replicates);
        `risk/R` (replicates, records), `expected/R` and `expected_error/R` (records) at radius R; `pooled/E` and
        `combined/E`, (numbers of tables, replicates, 3): point, low and high of estimate E by the paper's pooled
        bootstrap and by the combining rule.
    """
    # Schemes and refits have random numbers of their own.
    place = int.from_bytes(scheme.name.encode(), "big") % 2**32
    of_fit, of_draw, of_rest = map(int, np.random.SeedSequence([study.seed, place, refit]).generate_state(3))
    weights = weigh_records(data, study, scheme)
    posterior = _fit(data, study, weights, of_fit, quick=replicates <= QUICK)
    most, column = max(scheme.tables), study.survey.sensitive
    released = draw(posterior, datasets=replicates * most, seed=of_draw, unconverged="allow")
    random = np.random.default_rng(of_rest)
    places = random.permutation(len(released)).reshape(replicates, most)
    usual = places[:, :TABLES]
    told = posterior.diagnostics
    found: dict[str, np.ndarray] = {
        "weights": weights,
        "rhat": np.array(told.table["rhat"].max()),
        "effective_size": np.array(told.effective_size),
        "converged": np.array(not told.problems),
    }
    distances = ecdf_distances(data, released, column).by_dataset
    for name in ("U_m", "U_a"):
        found[name] = distances.loc[distances["measure"] == name, "value"].to_numpy()[usual].mean(axis=1)
    found |= _measure_risk(data, study, released, usual)
    values = np.stack([table[column].to_numpy(np.float64) for table in released])
    for name in study.estimates:
        releases = [places[:, :number] for number in scheme.tables]
        found |= _measure_estimate(data, study.survey, name, values, releases, random)
    return found


def measure_data(data: pd.DataFrame, study: Study) -> Arrays:
    """Measure the confidential table itself, as one replicate of one table: its risk and its estimates."""
    found = {f"risk/{radius}": confidential_risk(data, study.intruder(radius)).risk[None] for radius in study.radii}
    values = data[study.survey.sensitive].to_numpy(np.float64)[None]
    for name in study.estimates:
        found[f"combined/{name}"] = _combine(*estimate_tables(data, study.survey, name, values), [[[0]]])
        if name == "mean" or name in SHARES:
            statistic = np.mean if name == "mean" else partial(np.quantile, q=SHARES[name])
            found[f"pooled/{name}"] = bootstrap_like_r(values[0], statistic)[None, None]
    return found


def weigh_records(data: pd.DataFrame, study: Study, scheme: PaperScheme) -> Floats:
    """Give the records their weights under a scheme."""
    if scheme.order == 0:
        return np.ones(len(data))
    risk = confidential_risk(data, study.intruder(scheme.radius), order=scheme.order)
    return risk_weights(risk, scale=scheme.scale, shift=scheme.shift)


def estimate_tables(data: pd.DataFrame, survey: Survey, name: str, values: Floats) -> tuple[Floats, Floats, float]:
    """Estimate from every table, (tables, records): points, variances, and the degrees of freedom of one table."""
    if name == "mean":
        return *mean_and_variance(values), np.inf
    if name in SHARES:
        return *quantile_and_variance(values, SHARES[name]), quantile_degrees(values.shape[-1], SHARES[name])
    column, level = survey.term
    dummies = pd.get_dummies(data[list(survey.regressors)].astype("category"), drop_first=True, dtype=np.float64)
    # Only the outcome is replaced, so that one design serves all tables.
    design = np.column_stack([np.ones(len(data)), dummies.to_numpy()])
    place = 1 + list(dummies.columns).index(f"{column}_{level}")
    inverse = np.linalg.pinv(design.T @ design)
    coefficients = values @ design @ inverse
    residuals = values - coefficients @ design.T
    degrees = len(data) - design.shape[1]
    return coefficients[:, place], (residuals**2).sum(axis=1) / degrees * inverse[place, place], float(degrees)


def pool(resampled: Floats) -> Floats:
    """The paper's interval: mean and 2.5% and 97.5% quantiles of the resampled values of all tables together.

    The last two axes run over tables and resamples; the last of the result over point, low and high.
    """
    together = resampled.reshape(*resampled.shape[:-2], -1)
    low, high = np.quantile(together, [0.025, 0.975], axis=-1)
    return np.stack([together.mean(axis=-1), low, high], axis=-1)


def bootstrap_like_r(values: Floats, statistic: Any, *, seed: int = 123) -> Floats:
    """Bootstrap one table with the random numbers that R 3.6 or later gives `sample` after `set.seed(seed)`.

    So the paper's row of the confidential data comes out digit for digit. R fills the Mersenne twister by a linear
    congruential generator, and draws an index as the lowest bits of 16 random ones, again while it is too large.
    """
    state, key = seed, np.empty(625, dtype=np.uint32)
    for step in range(50 + 625):
        state = (69069 * state + 1) % 2**32
        if step >= 50:
            key[step - 50] = state
    twister = np.random.MT19937()
    twister.state = {"bit_generator": "MT19937", "state": {"key": key[1:], "pos": 624}}
    number = len(values)
    mask = 2 ** int(np.ceil(np.log2(number))) - 1
    wanted = RESAMPLES * number
    picks = (twister.random_raw(wanted * 2 * (mask + 1) // number) >> 16).astype(np.int64) & mask
    picks = picks[picks < number][:wanted].reshape(RESAMPLES, number)
    return pool(statistic(values[picks], axis=1)[None])


def _fit(data: pd.DataFrame, study: Study, weights: Floats, seed: int, *, quick: bool) -> Any:
    survey = study.survey
    if study.synthesizer == "negative_binomial":
        synthesizer = models.negative_binomial(survey.sensitive)
    else:
        paper: dict[str, Any] = {"components": 10, "component_draw": "posterior", "transform": "log"}
        ends: dict[str, Any] = {"lower": survey.lower, "upper": survey.upper}
        synthesizer = models.semicontinuous(survey.sensitive, list(survey.predictors), **paper, **ends)
    lengths: dict[str, Any] = {"draws": QUICK_DRAWS, "patience": 0} if quick else {"patience": 1}
    with warnings.catch_warnings():
        # Whether the fit converged is part of the result, and told in the page.
        warnings.filterwarnings("ignore", "the fit has not converged")
        return fit(synthesizer, data, weights, seed=seed, progress=False, **lengths)


def _measure_risk(data: pd.DataFrame, study: Study, released: list[Any], places: np.ndarray) -> dict[str, np.ndarray]:
    found = {}
    for radius in study.radii:
        risk = release_risk(data, released, study.intruder(radius)).by_dataset
        # Neighbours in the chains share a block, so that the spread of the blocks holds their autocorrelation.
        blocks = np.stack([part.mean(axis=0) for part in np.array_split(risk, BLOCKS)])
        found[f"risk/{radius}"] = np.stack([risk[row].mean(axis=0) for row in places]).astype(np.float32)
        found[f"expected/{radius}"] = risk.mean(axis=0)
        found[f"expected_error/{radius}"] = blocks.std(axis=0, ddof=1) / np.sqrt(BLOCKS)
    return found


def _measure_estimate(
    data: pd.DataFrame,
    survey: Survey,
    name: str,
    values: Floats,
    releases: Sequence[np.ndarray],
    random: np.random.Generator,
) -> dict[str, Floats]:
    """Estimate from releases, each (replicates, tables) of places of tables, by both ways that there are."""
    found = {f"combined/{name}": _combine(*estimate_tables(data, survey, name, values), releases)}
    if name == "mean":
        resampled = np.stack([resample_means(row, RESAMPLES, random) for row in values])
    elif name in SHARES:
        resampled = np.stack([resample_quantiles(row, SHARES[name], RESAMPLES, random) for row in values])
    else:
        # A coefficient is not bootstrapped, as in the paper.
        return found
    return found | {f"pooled/{name}": np.stack([pool(resampled[places]) for places in releases])}


def _combine(points: Floats, variances: Floats, degrees: float, releases: Sequence[Any]) -> Floats:
    """Combine the tables of each replicate: (numbers of tables, replicates, 3)."""
    found = [combine(points[rows], variances[rows], degrees=degrees) for rows in map(np.transpose, releases)]
    return np.stack([np.column_stack([one.point, one.low, one.high]) for one in found])
