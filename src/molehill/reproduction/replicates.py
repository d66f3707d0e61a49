"""Replicates of a release: one scheme fitted once, its tables drawn many times over, and all that the paper measures.

A replicate is what the authors published once: L tables from as many draws of the posterior. The spread over the
replicates says how far each of their numbers would have moved, had they run their program again.
"""

import warnings
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from molehill import models
from molehill.reproduction.stages import Arrays, Stage, fingerprint_frame
from molehill.risk.identification import confidential_risk, release_risk
from molehill.risk.weights import risk_weights
from molehill.synthesis.fitting import draw, fit
from molehill.synthesis.sampling.diagnostics import ConvergenceWarning
from molehill.utility.distances import ecdf_distances
from molehill.utility.estimates import combine, mean_and_variance, quantile_and_variance, quantile_degrees
from molehill.utility.resampling import resample_means, resample_quantiles
from molehill.utility.sides import Floats

# Tables of a release, in all of the paper but its table 6.
TABLES = 20
RESAMPLES = 1000
BLOCKS = 20
# So few replicates are a quick look, which takes fewer draws and does not wait for a fit to converge.
QUICK, QUICK_DRAWS = 4, 500
QUANTILES = {"median": 0.5, "90% quantile": 0.9}


@dataclass(frozen=True)
class Scheme:
    """A way to weight the records: order 0 leaves all weights 1."""

    name: str
    order: int
    radius: float
    scale: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True)
class Study:
    """What is protected, from whom, by which model, and what is measured.

    Attributes
    ----------
    column, known, predictors
        The sensitive column, what the intruder knows, what the model conditions on.
    synthesizer, lower, upper
        A name from `molehill.models`, and the public support.
    estimates
        Of "mean", "median", "90% quantile" and "coefficient".
    regressors, term
        Of "coefficient": the columns of the linear regression, and the column and level whose coefficient is meant.
    radii
        At which the risk of released tables is measured.
    step
        Smallest rise of a record's risk that the paper marks.
    seed
        Of everything that is drawn.
    """

    column: str
    known: tuple[str, ...]
    predictors: tuple[str, ...]
    synthesizer: str
    estimates: tuple[str, ...]
    radii: tuple[float, ...]
    step: float
    seed: int
    lower: float | None = None
    upper: float | None = None
    regressors: tuple[str, ...] = ()
    term: tuple[str, str] = ("", "")


def weigh(data: pd.DataFrame, study: Study, scheme: Scheme) -> Floats:
    """Give the records their weights under a scheme."""
    if scheme.order == 0:
        return np.ones(len(data))
    risk = confidential_risk(
        data,
        known=study.known,
        sensitive=study.column,
        radius=scheme.radius,
        order=scheme.order,
        small_patterns="marginal",
    )
    return risk_weights(risk, scale=scheme.scale, shift=scheme.shift)


def plan_stage(
    data: pd.DataFrame,
    study: Study,
    scheme: Scheme,
    *,
    refit: int,
    replicates: int,
    tables: tuple[int, ...] = (TABLES,),
) -> Stage:
    """Say how a scheme is measured: which fit of it, how many replicates, and of how many tables."""
    arguments = (data, study, scheme, refit, replicates, tables)
    facts = {
        "data": fingerprint_frame(data),
        "study": asdict(study),
        "scheme": asdict(scheme),
        "sizes": [refit, replicates, tables],
    }
    return Stage(f"{_plain(scheme.name)}_fit_{refit + 1}", measure_scheme, arguments, facts)


def measure_scheme(
    data: pd.DataFrame, study: Study, scheme: Scheme, refit: int, replicates: int, tables: tuple[int, ...]
) -> Arrays:
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
    of_fit, of_draw, of_rest = np.random.SeedSequence([study.seed, place, refit]).generate_state(3)
    weights = weigh(data, study, scheme)
    with warnings.catch_warnings():
        # Whether the fit converged is part of the result, and told in the page.
        warnings.simplefilter("ignore", ConvergenceWarning)
        quick = replicates <= QUICK
        posterior = fit(
            _synthesizer(study),
            data,
            weights,
            seed=int(of_fit),
            draws=QUICK_DRAWS if quick else None,
            patience=0 if quick else 1,
            progress=False,
        )
    released = draw(posterior, datasets=replicates * max(tables), seed=int(of_draw), unconverged="allow")
    random = np.random.default_rng(int(of_rest))
    places = random.permutation(len(released)).reshape(replicates, max(tables))
    usual = places[:, : min(TABLES, max(tables))]
    found: dict[str, Any] = {
        "weights": weights,
        "rhat": np.array(posterior.diagnostics.table["rhat"].max()),
        "effective_size": np.array(posterior.diagnostics.effective_size),
        "converged": np.array(not posterior.diagnostics.problems),
    }
    by_table = ecdf_distances(data, released, study.column).by_table.pivot(
        index="table", columns="measure", values="value"
    )
    found |= {name: by_table[name].to_numpy()[usual].mean(axis=1) for name in ("U_m", "U_a")}
    found |= _measure_risk(data, study, released, usual)
    values = np.stack([table[study.column].to_numpy(np.float64) for table in released])
    for name in study.estimates:
        points, variances, degrees = estimate_tables(data, study, name, values)
        found[f"combined/{name}"] = np.array(
            [[_combine(points[row[:number]], variances[row[:number]], degrees) for row in places] for number in tables]
        )
        resampled = resample(values, name, random)
        if resampled is not None:
            found[f"pooled/{name}"] = np.array([[pool(resampled[row[:number]]) for row in places] for number in tables])
    return found


def measure_data(data: pd.DataFrame, study: Study) -> Arrays:
    """Measure the confidential table itself: its risk, its estimates and their intervals."""
    found: dict[str, Any] = {}
    for radius in study.radii:
        risk = confidential_risk(data, known=study.known, sensitive=study.column, radius=radius)
        found[f"risk/{radius}"] = risk.risk
    values = data[study.column].to_numpy(np.float64)[None]
    for name in study.estimates:
        points, variances, degrees = estimate_tables(data, study, name, values)
        found[f"combined/{name}"] = np.array(_combine(points, variances, degrees))
        if name == "mean":
            found[f"pooled/{name}"] = np.array(bootstrap_like_r(values[0], np.mean))
        elif name in QUANTILES:
            found[f"pooled/{name}"] = np.array(bootstrap_like_r(values[0], partial(_quantile, share=QUANTILES[name])))
    return found


def estimate_tables(data: pd.DataFrame, study: Study, name: str, values: Floats) -> tuple[Floats, Floats, float]:
    """Estimate from every table, (tables, records): points, variances, and the degrees of freedom of one table."""
    if name == "mean":
        return *mean_and_variance(values), np.inf
    if name in QUANTILES:
        share = QUANTILES[name]
        return *quantile_and_variance(values, share), quantile_degrees(values.shape[-1], share)
    column, level = study.term
    dummies = pd.get_dummies(data[list(study.regressors)].astype("category"), drop_first=True, dtype=np.float64)
    # Only the outcome is replaced, so that one design serves all tables.
    design = np.column_stack([np.ones(len(data)), dummies.to_numpy()])
    place = 1 + list(dummies.columns).index(f"{column}_{level}")
    inverse = np.linalg.pinv(design.T @ design)
    coefficients = values @ design @ inverse
    residuals = values - coefficients @ design.T
    degrees = len(data) - design.shape[1]
    return coefficients[:, place], (residuals**2).sum(axis=1) / degrees * inverse[place, place], float(degrees)


def resample(values: Floats, name: str, random: np.random.Generator) -> Floats | None:
    """Bootstrap every table, (tables, resamples); nothing for a coefficient, as in the paper."""
    if name == "mean":
        return np.stack([resample_means(row, RESAMPLES, random) for row in values])
    if name in QUANTILES:
        return np.stack([resample_quantiles(row, QUANTILES[name], RESAMPLES, random) for row in values])
    return None


def pool(resampled: Floats) -> tuple[float, float, float]:
    """The paper's interval: mean and 2.5% and 97.5% quantiles of the resampled values of all tables together."""
    low, high = np.quantile(resampled, [0.025, 0.975])
    return float(resampled.mean()), float(low), float(high)


def bootstrap_like_r(values: Floats, statistic: Any, *, seed: int = 123) -> tuple[float, float, float]:
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
    return pool(statistic(values[picks], axis=1))


def _measure_risk(data: pd.DataFrame, study: Study, released: list[Any], places: np.ndarray) -> dict[str, np.ndarray]:
    found = {}
    for radius in study.radii:
        risk = release_risk(data, released, known=study.known, sensitive=study.column, radius=radius).by_table
        # Neighbours in the chains share a block, so that the spread of the blocks holds their autocorrelation.
        blocks = np.stack([part.mean(axis=0) for part in np.array_split(risk, BLOCKS)])
        found[f"risk/{radius}"] = np.stack([risk[row].mean(axis=0) for row in places]).astype(np.float32)
        found[f"expected/{radius}"] = risk.mean(axis=0)
        found[f"expected_error/{radius}"] = blocks.std(axis=0, ddof=1) / np.sqrt(BLOCKS)
    return found


def _quantile(samples: Floats, axis: int, *, share: float) -> Floats:
    return np.quantile(samples, share, axis=axis)


def _combine(points: Floats, variances: Floats, degrees: float) -> tuple[float, float, float]:
    found = combine(points, variances, degrees=degrees)
    return found.point, found.low, found.high


def _synthesizer(study: Study) -> Any:
    if study.synthesizer == "negative_binomial":
        return models.negative_binomial(study.column)
    return models.semicontinuous(study.column, list(study.predictors), lower=study.lower, upper=study.upper)


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name.lower())
