"""What another value of one record would have done to a fit, without fitting again: the attribute risk of an intruder.

The intruder of Reiter, Wang and Zhang, and of Hornby and Hu, knows all other records, what this one has beside a value,
the model, and a release; and asks which of some guesses the value is. With the guess g in the place of the true value y
of record i, whose likelihood is raised to a_i, parameters have the density

    p(theta | y) r_g(theta),   r_g(theta) = p(g | x_i, theta)^a_i / p(y | x_i, theta)^a_i   up to a factor,

and the factor makes r_g have the mean 1 over draws of the fit. An intruder who is told the parameters that each of L
datasets was drawn from, all guesses being as likely before, finds by Bayes

    p(guess is g) proportional to r_g(theta_1) ... r_g(theta_L).

Hornby and Hu's own intruder sees the datasets alone, and has the mean of r_g over draws weighted by p(dataset | theta)
for r_g(theta_l). A dataset of n records says so much of theta that hardly any draw but that which made the dataset
counts, so that this mean is close to its value at one draw, and not to be trusted unless parameters are few. Who is
told theta knows more than the datasets say: the mean, over guesses that are true in turn, of what is given to the truth
is no smaller.

The largest r_g are smoothed as in `molehill.synthesis.sampling.removal`. Held to be the same for all guesses is what
was learned beside the parameters (centre and scale, bins), and the weights of the records.

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

# Draws times records times guesses whose densities are computed, and draws at least.
_MOST, _FEWEST = 2**25, 200


@dataclass(frozen=True, eq=False)
class Guessing:
    """How much likelier what one part of a fit shows is with each guess than with the truth, as logarithms.

    Attributes
    ----------
    by_draw
        (draws, records, guesses), at draws of the parameters in the order of the chains; None where releases are
        compared.
    releases
        (releases, records, guesses), of simulated releases; None where there are parameters to compare.
    pareto
        (records, guesses): the shape of the largest weights; minus infinity where nothing is weighted.
    possible
        (records, guesses): which guesses the part does not rule out.
    """

    by_draw: Floats | None
    releases: Floats | None
    pareto: Floats
    possible: Booleans


def why_no_guess(posterior: "Posterior", column: str) -> Reason | None:
    """Say why it cannot be told what another value of a variable would do; None if it can."""
    reason = why_not(posterior) or _why_ruled(posterior, column)
    if reason is not None:
        return reason
    synthesizer = posterior.synthesizer
    if posterior.parts:
        return next(filter(None, (why_no_guess(part, column) for part in posterior.parts.values())), None)
    survey = posterior.survey
    if posterior.correction is not None and posterior.correction.corrected:
        problem = "its uncertainty was brought to that of a survey's design, and is no longer that of the likelihood"
        return Reason(problem, "Fit without it: sandwich=False")
    if isinstance(synthesizer, DirectSynthesizer) and (
        synthesizer.compare_guesses is None or (survey is not None and not survey.plain)
    ):
        problem = f"{synthesizer.name!r} does not say what its releases would be with another value"
        return Reason(problem, "Give it `compare_guesses`, or fit it without a survey")
    if column in synthesizer.sensitive and posterior.learned.observed is None:
        assert isinstance(synthesizer, Synthesizer | DirectSynthesizer)
        problem = f"{synthesizer.name!r} does not say what it would be given of other values"
        return Reason(problem, "Give its Learned an `observed`")
    return None


def _why_ruled(posterior: "Posterior", column: str) -> Reason | None:
    """Say that a constraint names a variable: what that rules out was known before, whatever is released."""
    chain = posterior.synthesizer
    if not isinstance(chain, SequentialSynthesizer) or not any(
        column in one.columns for one in chain.rules.constraints
    ):
        return None
    return Reason(f"a constraint names {column!r}", "Ask about a column that none names")


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
    """Say for every single part of a posterior what other values of some records would do.

    A part that is not of the variable, nor has it for a predictor, says nothing of it.

    Parameters
    ----------
    posterior
        From `fit`; its datasets must depend on a person's values only through parameters.
    rows
        The records, from 0 on.
    column
        The variable that is guessed; of all other variables the intruder knows the true values.
    guesses
        (rows, guesses): values of the variable, none of them missing.
    datasets, releases
        Datasets of a release, and how many releases to simulate, where releases are compared.
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
    """The parts that have parameters of their own, with what a record counts for in each that speaks of it."""
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
    """Whether a part is of a variable, or may have it for a predictor."""
    if column in posterior.synthesizer.sensitive:
        return True
    design = posterior.learned.facts.get("design")
    return design is None or any(column in term for term in design.get("terms", ()))


def _inputs(posterior: "Posterior", column: str, table: Table) -> tuple[dict[str, Any], Booleans | None]:
    """What a part would have been given with a guess, and which records it would have spoken of."""
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
