"""Attribute risk of the worst-case intruder: the posterior under another value of one record, without refitting.

The intruder of Reiter, Wang and Zhang, and of Hornby and Hu, knows all other records, the other values of this one, the
model and a release, and compares candidate values (guesses). With the guess g in place of the true value y of record i,
whose likelihood is raised to a_i, parameters have the density

    p(theta | y) r_g(theta),   r_g(theta) = p(g | x_i, theta)^a_i / p(y | x_i, theta)^a_i   up to a factor,

where the factor gives r_g mean 1 over the posterior draws. An intruder who knows the parameters of each of L datasets,
with equal prior probabilities of the guesses, computes

    p(guess is g) proportional to r_g(theta_1) ... r_g(theta_L).

Hornby and Hu's intruder knows the datasets only, and uses the mean of r_g over draws weighted by p(dataset | theta)
instead of r_g(theta_l). With n records, a dataset is nearly compatible only with the draw that generated it, so that
this mean is close to its value at one draw, and unreliable unless there are few parameters. Knowing theta gives the
intruder more information than the datasets, so that the mean probability of the truth is at least as large.

The largest r_g are smoothed as in `molehill.synthesis.sampling.removal`. Encodings learned from the data (centre and
scale, bins) and weights are held fixed for all guesses.

References
----------
Reiter, Wang and Zhang, Bayesian estimation of disclosure risks for multiply imputed, synthetic data (2014). Hornby and
Hu, Bayesian estimation of attribute disclosure risks in synthetic data with the AttributeRiskCalculation R package
(2021).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from molehill.arrays import Booleans, Floats, Integers, derive_seed, freeze
from molehill.errors import InputError
from molehill.synthesis.sampling.removal import ENOUGH, Reason, log_densities, smooth_weights, why_not
from molehill.synthesis.synthesizer import Composite, DirectSynthesizer, SequentialSynthesizer, Synthesizer
from molehill.tables.table import Table, with_columns

if TYPE_CHECKING:
    from molehill.synthesis.posterior import Posterior

# Maximum number of draws times records times guesses, and minimum number of draws.
_MOST, _FEWEST = 2**25, 200


@dataclass(frozen=True, eq=False)
class Guessing:
    """Log likelihood ratios of one part of a fit under each guess to under the truth.

    Attributes
    ----------
    by_draw
        (draws, records, guesses), at the draws of the parameters; None if releases are compared.
    releases
        (releases, records, guesses), of simulated releases; None if parameters are compared.
    pareto
        (records, guesses): Pareto shapes of the largest weights; minus infinity without weights.
    possible
        (records, guesses): which guesses the part does not rule out.
    """

    by_draw: Floats | None
    releases: Floats | None
    pareto: Floats
    possible: Booleans


def why_no_guess(posterior: "Posterior", column: str) -> Reason | None:
    """The reason why the effect of other values of a variable cannot be computed; None if it can."""
    reason = why_not(posterior) or _why_ruled(posterior, column)
    if reason is not None:
        return reason
    synthesizer = posterior.synthesizer
    if posterior.parts:
        return next(filter(None, (why_no_guess(part, column) for part in posterior.parts.values())), None)
    survey = posterior.survey
    if posterior.correction is not None and posterior.correction.corrected:
        problem = "its variance is corrected for a survey design"
        return Reason(problem, "Fit without variance correction: sandwich=False")
    if isinstance(synthesizer, DirectSynthesizer) and (
        synthesizer.compare_guesses is None or (survey is not None and not survey.plain)
    ):
        problem = f"{synthesizer.name!r} has no `compare_guesses`, or is fitted to a survey"
        return Reason(problem, "Implement `compare_guesses`, or fit without a survey")
    if column in synthesizer.sensitive and posterior.learned.observed is None:
        assert isinstance(synthesizer, Synthesizer | DirectSynthesizer)
        return Reason(f"the Learned of {synthesizer.name!r} has no `observed`", "Implement it")
    return None


def _why_ruled(posterior: "Posterior", column: str) -> Reason | None:
    """Whether an edit rule names a variable, which would rule out values without any release."""
    chain = posterior.synthesizer
    if not isinstance(chain, SequentialSynthesizer) or not any(
        column in one.columns for one in chain.rules.constraints
    ):
        return None
    return Reason(f"an edit rule names {column!r}", "Choose a variable that no edit rule names")


def guess_records(
    posterior: "Posterior",
    rows: Integers,
    column: str,
    guesses: Any,
    *,
    datasets: int,
    releases: int,
    seed: int,
) -> list[Guessing]:
    """Compute the effect of other values of some records, for every part of a posterior.

    Parts that neither synthesize the variable nor have it as a predictor are left out.

    Parameters
    ----------
    posterior
        From `fit`; its datasets must depend on a record's values through parameters only.
    rows
        Rows of the records, from 0.
    column
        The variable to guess; the intruder knows the true values of all others.
    guesses
        (rows, guesses): values of the variable, none missing.
    datasets, releases
        Datasets per release, and number of simulated releases, if releases are compared.
    seed
        Of the simulation.
    """
    reason = why_no_guess(posterior, column)
    if reason is not None:
        raise InputError("posterior", reason.problem, reason.remedy)
    tables = [_put(posterior.table, rows, column, guesses[:, place]) for place in range(guesses.shape[1])]
    how = {"datasets": datasets, "releases": releases}
    return [
        _compare(part, powers, rows, column, tables, **how, seed=derive_seed(seed, "part", place))
        for place, (part, powers) in enumerate(_single_parts(posterior, posterior.weights))
        if _depends(part, column)
    ]


def _put(table: Table, rows: Integers, column: str, values: Any) -> Table:
    """The dataset with other values of one variable in some rows."""
    old = table.frame[column]
    levels = values.dtype == object
    new = old.astype(object if levels else np.float64)
    new.iloc[rows] = values
    return with_columns(table, {column: new.astype(old.dtype) if levels else new})


def _single_parts(posterior: "Posterior", powers: Floats) -> "list[tuple[Posterior, Floats]]":
    """The parts with their own parameters, and the exponents of records that the part applies to."""
    synthesizer, found = posterior.synthesizer, []
    if not posterior.parts:
        return [(posterior, powers)]
    for name, part in posterior.parts.items():
        own = part.weights
        if isinstance(synthesizer, Composite):
            plain = np.ones(len(powers)) if posterior.survey is None else posterior.survey.times
            own = plain if name in synthesizer.unweighted else powers
        found += _single_parts(part, own)
    return found


def _depends(posterior: "Posterior", column: str) -> bool:
    """Whether a part synthesizes a variable or may have it as a predictor."""
    if column in posterior.synthesizer.sensitive:
        return True
    design = posterior.learned.facts.get("design")
    return design is None or any(column in term for term in design.get("terms", ()))


def _inputs(posterior: "Posterior", column: str, table: Table) -> tuple[dict[str, Any], Booleans | None]:
    """Inputs of a part under a guess, and the records that it would apply to."""
    learned, changed, applies = posterior.learned, dict(posterior.learned.inputs), None
    if column in posterior.synthesizer.sensitive:
        assert learned.observed is not None
        observed = learned.observed(table)
        changed, applies = {**changed, **observed.inputs}, observed.applies
    elif learned.again is not None:
        changed |= learned.again(table)
    return changed, applies


def _compare(
    posterior: "Posterior",
    powers: Floats,
    rows: Integers,
    column: str,
    tables: Sequence[Table],
    *,
    datasets: int,
    releases: int,
    seed: int,
) -> Guessing:
    synthesizer = posterior.synthesizer
    given = [_inputs(posterior, column, table) for table in tables]
    shape = (len(rows), len(tables))
    if isinstance(synthesizer, DirectSynthesizer):
        compare, number = synthesizer.compare_guesses, posterior.number
        assert compare is not None
        places = ((np.arange(datasets) + 0.5) * number / datasets).astype(int).tolist()
        about = (posterior.draws, posterior.learned, posterior.weights, rows, [one for one, _ in given])
        found = compare(*about, places, releases, seed)
        return Guessing(None, freeze(found), freeze(np.full(shape, -np.inf)), freeze(np.ones(shape, dtype=bool)))
    most = int(np.clip(_MOST // (len(powers) * len(tables)), _FEWEST, ENOUGH))
    own = posterior.weights[rows]
    truth = np.where(own > 0, own * log_densities(posterior, posterior.learned.inputs, rows, most), 0.0)
    logs = np.empty((len(truth), *shape))
    for place, (inputs, applies) in enumerate(given):
        weights = own if column not in synthesizer.sensitive else powers[rows]
        weights = weights if applies is None else np.where(applies[rows], weights, 0.0)
        logs[:, :, place] = truth - np.where(weights > 0, weights * log_densities(posterior, inputs, rows, most), 0.0)
    possible: Booleans = np.asarray(np.isfinite(logs).all(axis=0))
    smoothed, shapes = smooth_weights(np.where(possible, logs, 0.0).reshape(len(truth), -1))
    return Guessing(freeze(smoothed.reshape(logs.shape)), None, freeze(shapes.reshape(shape)), freeze(possible))
