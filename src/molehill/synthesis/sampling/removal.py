"""Effect of removing one record on a posterior, without refitting: leave-one-out importance weights.

With record i, whose likelihood is raised to its weight a_i, parameters have the pseudo posterior p(theta). Without it
they have the density

    p(theta) / p(y_i | x_i, theta)^a_i        up to a factor,

so that draws with the record, weighted by p(y_i | x_i, theta)^-a_i, are draws without it. The largest weights are
smoothed by a Pareto distribution, whose shape should be below 0.7 (Vehtari and others). Parts of a synthesizer have
separate parameters, so that their ratios multiply.

With a survey the exponent is a_i d_i. With variance correction, the released parameters are not the draws theta but
m + (theta - m) W, with m their mean (see `molehill.synthesis.sandwich`). Without the record, mean and matrix are m' and
W'. The ratio for released parameters u is then that of the pseudo posterior without the record at m' + (u - m') W'^-1
to the pseudo posterior with it at m + (u - m) W^-1.

A `DirectSynthesizer`, for example a forest, compares releases itself. Encodings learned from the data, such as centre
and scale, and the survey weights of the other records are held fixed: a removed record stays in the design with weight
0.

References
----------
Vehtari, Simpson, Gelman, Yao and Gabry, Pareto smoothed importance sampling (2024).
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from arviz_stats.base.array import array_stats

from molehill.arrays import Floats, Integers, derive_seed, freeze
from molehill.errors import InputError
from molehill.runtime import double_precision
from molehill.surveys.design import Sample
from molehill.synthesis.synthesizer import DirectSynthesizer, Inputs, Synthesizer

if TYPE_CHECKING:
    from molehill.synthesis.posterior import Posterior

# Draws times records computed at a time, and maximum number of draws used.
_AT_ONCE, ENOUGH = 2**22, 1000
# Minimum number of records per stratum for which the bootstrap weights of a forest are treated as independent.
_LEAST_STRATUM = 10
# With variance correction, maximum number of draws times records times removed records, and minimum number of draws.
_RECENTRED, _FEWEST = 2**27, 200


@dataclass(frozen=True, eq=False)
class Removal:
    """Log likelihood ratios of one part of a fit without each of some records to with it.

    Attributes
    ----------
    by_draw
        (draws, records), at the draws of the parameters; None if releases are compared.
    releases
        (releases, records), of simulated releases; None if parameters are compared.
    pareto
        One per record: Pareto shape of the largest weights; minus infinity without weights.
    """

    by_draw: Floats | None
    releases: Floats | None
    pareto: Floats


class Reason(NamedTuple):
    """Why a result is not available, and the remedy."""

    problem: str
    remedy: str


def why_not(posterior: "Posterior") -> Reason | None:
    """The reason why the effect of removing a record cannot be computed; None if it can."""
    if posterior.options.get("component_draw") == "posterior":
        problem = "components are drawn given the confidential values"
        return Reason(problem, "Draw them from the prior: posterior.drawing_by(component_draw='prior')")
    survey, synthesizer = posterior.survey, posterior.synthesizer
    if isinstance(synthesizer, DirectSynthesizer):
        if synthesizer.compare_releases is None:
            return Reason(f"{synthesizer.name!r} has no `compare_releases`", "Implement it")
        if synthesizer.surveyed and survey is not None and survey.sandwich and not _drawn_alone(survey.sample):
            problem = "the survey design has clusters or small strata, whose records are not independent"
            return Reason(problem, "Fit without variance correction: sandwich=False")
    return next(filter(None, map(why_not, posterior.parts.values())), None)


def _drawn_alone(sample: Sample) -> bool:
    """Whether records were drawn individually, from strata that are large enough."""
    alone = len(sample.stratum_of) == sample.records
    return alone and bool(np.bincount(sample.stratum_of).min() >= _LEAST_STRATUM)


def spread_places(number: int, most: int) -> Integers:
    """Indices of at most `most` of `number` draws, evenly spaced."""
    return np.unique(((np.arange(min(number, most)) + 0.5) * number / min(number, most)).astype(int))


def log_contributions(posterior: "Posterior", rows: Integers, *, most: int = ENOUGH) -> Floats:
    """Contributions of records to the log pseudo posterior at its draws, a_i log p(y_i | x_i, theta): (draws, rows).

    Parameters
    ----------
    posterior
        Of a single `Synthesizer`.
    rows
        Rows of the records, from 0.
    most
        Maximum number of draws, evenly spaced.
    """
    # A record of weight 0 contributes 0 even if its density is zero or NaN.
    own = posterior.weights[rows]
    return np.where(own > 0, own * log_densities(posterior, posterior.learned.inputs, rows, most), 0.0)


def log_densities(posterior: "Posterior", inputs: Inputs, rows: Integers, most: int) -> Floats:
    """Log densities of some records at draws of a part, (draws, rows), with given inputs of its model."""
    # Imported here and below so that forests do not load JAX.
    import jax.numpy as jnp  # noqa: PLC0415

    from molehill.synthesis.sandwich import log_likelihoods  # noqa: PLC0415

    synthesizer = posterior.synthesizer
    assert isinstance(synthesizer, Synthesizer)
    places, at_once = spread_places(posterior.number, most), max(_AT_ONCE // len(posterior.weights), 1)
    with double_precision():
        given = {name: jnp.asarray(value) for name, value in inputs.items()}
        stacked = {name: values.reshape(-1, *values.shape[2:])[places] for name, values in posterior.draws.items()}
        logs = []
        for first in range(0, len(places), at_once):
            some = {name: jnp.asarray(values[first : first + at_once]) for name, values in stacked.items()}
            logs.append(np.asarray(log_likelihoods(synthesizer.model, some, given))[:, rows])
    return np.concatenate(logs)


def remove_records(posterior: "Posterior", rows: Integers, *, datasets: int, releases: int, seed: int) -> list[Removal]:
    """Compute the effect of removing each of some records, for every part of a posterior.

    Parameters
    ----------
    posterior
        From `fit`; its datasets must depend on a record's values through parameters only.
    rows
        Rows of the records, from 0.
    datasets, releases
        Datasets per release, and number of simulated releases, if releases are compared.
    seed
        Of the simulation.
    """
    reason = why_not(posterior)
    if reason is not None:
        raise InputError("posterior", reason.problem, reason.remedy)
    if posterior.parts:
        own = [(name, part, derive_seed(seed, "part", name)) for name, part in posterior.parts.items()]
        how = {"datasets": datasets, "releases": releases}
        return [one for _, part, its in own for one in remove_records(part, rows, seed=its, **how)]
    synthesizer = posterior.synthesizer
    if isinstance(synthesizer, DirectSynthesizer):
        return [_compare(posterior, synthesizer, rows, datasets, releases, seed)]
    corrected = posterior.correction is not None and posterior.correction.corrected
    logs = _remove_corrected(posterior, rows) if corrected else log_contributions(posterior, rows)
    smoothed, shapes = smooth_weights(logs)
    return [Removal(freeze(smoothed), None, freeze(shapes))]


def smooth_weights(logs: Floats) -> tuple[Floats, Floats]:
    """Pareto-smooth importance weights and scale them to mean 1.

    Parameters
    ----------
    logs
        (draws, weights): minus the logarithms of the raw weights.

    Returns
    -------
    smoothed
        (draws, weights): logarithms of the weights.
    shapes
        Pareto shapes; minus infinity if all weights are equal.
    """
    smoothed, shapes = np.zeros_like(logs), np.full(logs.shape[1], -np.inf)
    moving = np.ptp(logs, axis=0) > 0
    if moving.any():
        # It takes minus the log weights, and returns weights that sum to 1.
        found, shape = array_stats.psislw(logs[:, moving], axis=0)
        smoothed[:, moving] = np.asarray(found).T + np.log(len(logs))
        shapes[moving] = shape
    return smoothed, shapes


def _remove_corrected(posterior: "Posterior", rows: Integers) -> Floats:
    """Minus the log ratios for draws with variance correction, (draws, rows)."""
    from molehill.synthesis.sandwich import undo_correction  # noqa: PLC0415

    synthesizer, survey, weights = posterior.synthesizer, posterior.survey, posterior.weights
    assert isinstance(synthesizer, Synthesizer)
    assert survey is not None
    most = int(np.clip(_RECENTRED // (len(weights) * len(rows)), _FEWEST, ENOUGH))
    places, risk = spread_places(posterior.number, most), posterior.risk_weights
    with double_precision():
        before = undo_correction(synthesizer, posterior.learned, posterior.draws, risk, survey)
        # The mean uses all draws: its error is not part of any interval.
        own = log_contributions(replace(posterior, draws=before.draws), rows, most=posterior.number)
        centres = np.exp(smooth_weights(own)[0]).T @ before.positions / len(own)
        logs, moved = np.zeros((len(places), len(rows))), before.moved[places]
        whole = before.energy(before.positions[places], weights)
        for place, row in enumerate(rows.tolist()):
            if np.ptp(own[:, place]) > 0:
                rest = np.arange(len(weights)) != row
                narrower = before.narrower(centres[place], np.where(rest, risk, 0.0))
                others = centres[place] + (moved - centres[place]) @ narrower
                logs[:, place] = before.energy(others, np.where(rest, weights, 0.0)) - whole
    return logs


def _compare(
    posterior: "Posterior",
    synthesizer: DirectSynthesizer,
    rows: Integers,
    datasets: int,
    releases: int,
    seed: int,
) -> Removal:
    compare, number = synthesizer.compare_releases, posterior.number
    assert compare is not None
    places = ((np.arange(datasets) + 0.5) * number / datasets).astype(int).tolist()
    survey = posterior.survey
    apart = synthesizer.surveyed and survey is not None and not survey.plain
    weights, how = (posterior.risk_weights, {"survey": survey}) if apart else (posterior.weights, {})
    found = compare(posterior.draws, posterior.learned, weights, rows, places, releases, seed, **how)
    if synthesizer.find_deciding is not None:
        # Without such a record other values would be released.
        deciding = synthesizer.find_deciding(posterior.table, weights, posterior.learned, rows, **how)
        found = np.where(deciding, -np.inf, found)
    return Removal(None, freeze(found), freeze(np.full(len(rows), -np.inf)))
