"""What taking one record out of a fit does to it, without fitting again.

With record i, whose likelihood is raised to its weight a_i, parameters have the pseudo posterior p(theta). Without it
they have the density

    p(theta) / p(y_i | x_i, theta)^a_i        up to a factor,

so that draws with the record, weighted by p(y_i | x_i, theta)^-a_i, are draws without it. Their largest weights are
smoothed by a Pareto distribution whose shape says whether they can be trusted: below .7 they can (Vehtari and others).
Parts of a variable and variables of a chain have parameters of their own: their ratios multiply.

Under a survey the likelihood is raised to a_i d_i, and so is what is divided by. With the correction for the design
what is released are not the draws theta but m + (theta - m) W, with m their mean (see `molehill.synthesis.sandwich`).
Without the record they have another mean and are widened by another matrix, m' and W'. The ratio for the parameters u
that are released is then that of two pseudo posteriors at two places, m' + (u - m') W'^-1 without the record and
m + (u - m) W^-1 with it.

Where a posterior is not drawn from parameters of a density, as that of a forest, the synthesizer compares releases
itself. What was learned beside the parameters, such as centre and scale of a variable, is held to be the same, and so
are the design weights of the others: a record that is taken out stays in the design, as one that counts for nothing.

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

# Draws times records whose densities are computed at a time, and draws that are enough.
_AT_ONCE, ENOUGH = 2**22, 1000
# Records of a stratum that the masses of a forest may be taken for independent in.
_LEAST_STRATUM = 10
# With the correction for a survey's design, draws times records times those that are taken out, and draws at least.
_RECENTRED, _FEWEST = 2**27, 200


@dataclass(frozen=True, eq=False)
class Removal:
    """How much likelier what one part of a fit shows is without each of some records than with it, as logarithms.

    Attributes
    ----------
    by_draw
        (draws, records), at draws of the parameters in the order of the chains; None where releases are compared.
    releases
        (releases, records), of simulated releases; None where there are parameters to compare.
    pareto
        One per record: the shape of the largest weights; minus infinity where nothing is weighted.
    """

    by_draw: Floats | None
    releases: Floats | None
    pareto: Floats


class Reason(NamedTuple):
    """Why nothing can be said, and what to do about it."""

    problem: str
    remedy: str


def why_not(posterior: "Posterior") -> Reason | None:
    """Say why it cannot be told what taking out a record would do; None if it can."""
    if posterior.options.get("component_draw") == "posterior":
        problem = "new values look at the old ones beside the parameters"
        return Reason(problem, "Draw by prior membership: posterior.drawing_by(component_draw='prior')")
    survey, synthesizer = posterior.survey, posterior.synthesizer
    if isinstance(synthesizer, DirectSynthesizer):
        if synthesizer.compare_releases is None:
            problem = f"{synthesizer.name!r} does not say what its releases would be without a record"
            return Reason(problem, "Give it `compare_releases`")
        if synthesizer.surveyed and survey is not None and survey.sandwich and not _drawn_alone(survey.sample):
            problem = "records of a cluster, or of a small stratum of the survey, vary together"
            return Reason(problem, "Fit without the correction for the design: sandwich=False")
    return next(filter(None, map(why_not, posterior.parts.values())), None)


def _drawn_alone(sample: Sample) -> bool:
    """Whether records of a survey were drawn one by one, from strata of enough of them that each varies by itself."""
    alone = len(sample.stratum_of) == sample.records
    return alone and bool(np.bincount(sample.stratum_of).min() >= _LEAST_STRATUM)


def spread_places(number: int, most: int) -> Integers:
    """Of so many draws, or of more than that so many, evenly spaced, the places."""
    return np.unique(((np.arange(min(number, most)) + 0.5) * number / min(number, most)).astype(int))


def log_contributions(posterior: "Posterior", rows: Integers, *, most: int = ENOUGH) -> Floats:
    """Give what records add to the log pseudo posterior of a part at its draws, a_i log p(y_i | x_i, theta).

    Parameters
    ----------
    posterior
        Of one synthesizer with a density, not of a chain or composite.
    rows
        The records, from 0 on.
    most
        Of more draws so many are taken, evenly spaced.

    Returns
    -------
    array
        (draws, rows); 0 for a record that does not count.
    """
    # A record of weight 0 counts for nothing even where its density is zero or not a number.
    own = posterior.weights[rows]
    return np.where(own > 0, own * log_densities(posterior, posterior.learned.inputs, rows, most), 0.0)


def log_densities(posterior: "Posterior", inputs: Inputs, rows: Integers, most: int) -> Floats:
    """Give the log densities of some records at draws of a part, (draws, rows), with such inputs of its model."""
    # Here, as below, because a forest must not wait for JAX to load.
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
    """Say for every single part of a posterior what taking out each of some records would do.

    Parameters
    ----------
    posterior
        From `fit`; its datasets must depend on a person's values only through parameters.
    rows
        The records, from 0 on.
    datasets, releases
        Datasets of a release, and how many releases to simulate, where releases are compared.
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
    """Smooth the largest weights, and bring them to a mean of 1.

    Parameters
    ----------
    logs
        (draws, weights): logarithms of what the density of the draws is divided by.

    Returns
    -------
    smoothed
        (draws, weights): logarithms of the weights.
    shapes
        The shape of the largest of each; minus infinity where all are the same.
    """
    smoothed, shapes = np.zeros_like(logs), np.full(logs.shape[1], -np.inf)
    moving = np.ptp(logs, axis=0) > 0
    if moving.any():
        # It takes the logarithms of what is divided by, and gives weights that add up to 1.
        found, shape = array_stats.psislw(logs[:, moving], axis=0)
        smoothed[:, moving] = np.asarray(found).T + np.log(len(logs))
        shapes[moving] = shape
    return smoothed, shapes


def _remove_corrected(posterior: "Posterior", rows: Integers) -> Floats:
    """What the density of corrected draws is divided by without each of some records, (draws, rows)."""
    from molehill.synthesis.sandwich import undo_correction  # noqa: PLC0415

    synthesizer, survey, weights = posterior.synthesizer, posterior.survey, posterior.weights
    assert isinstance(synthesizer, Synthesizer)
    assert survey is not None
    most = int(np.clip(_RECENTRED // (len(weights) * len(rows)), _FEWEST, ENOUGH))
    places, risk = spread_places(posterior.number, most), posterior.risk_weights
    with double_precision():
        before = undo_correction(synthesizer, posterior.learned, posterior.draws, risk, survey)
        # All draws say what the mean would be: its error is in no interval.
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
        # Without such a record other values would be released, so that no release would be as likely.
        deciding = synthesizer.find_deciding(posterior.table, weights, posterior.learned, rows, **how)
        found = np.where(deciding, -np.inf, found)
    return Removal(None, freeze(found), freeze(np.full(len(rows), -np.inf)))
