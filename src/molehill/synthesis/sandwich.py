"""Design-based (sandwich) variance correction for survey data, after Williams and Savitsky.

Each record's likelihood is raised to its risk weight a_i times its survey weight d_i, scaled to sum to the number of
records (the pseudo posterior of Savitsky and Toth). It is centred at the population value, but its variance is that of
independent records. With l_i the log-likelihood of a record and s_i its gradient at the posterior mean t, on the
unconstrained scale of the parameters,

    H = P + sum_i a_i d_i times minus the Hessian of l_i,       P minus the Hessian of the log prior
    J = variance of sum_i a_i d_i s_i under the design + sum_i a_i (1 - a_i) d_i^2 s_i s_i'
    R1' R1 = H^-1 (J + P) H^-1,   R2' R2 = H^-1,   a draw is moved to t + (draw - t) R2^-1 R1

and transformed back. The first term of J contains strata, clusters and replicates; the second is the additional
variance due to risk weights below 1. If all d_i are 1, records are independent and the model holds, J + P is about H,
and draws do not move, whatever the risk weights.

If parameters are not identified, as in a mixture with label switching, draws are not moved. Design effects of
label-invariant functionals are still computed, by the infinitesimal jackknife: increasing the weight of a record by one
changes the mean of a functional by its posterior covariance with l_i, whose sum over records has a design variance.

References
----------
Savitsky and Toth, Bayesian estimation under informative sampling (2016). Williams and Savitsky, Uncertainty estimation
for pseudo-Bayesian inference under complex sampling (2021). Giordano and Broderick, The Bayesian infinitesimal
jackknife for variance (2023).
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpyro import handlers
from numpyro.infer.util import compute_log_probs, constrain_fn, potential_energy, unconstrain_fn

from molehill.arrays import Floats
from molehill.synthesis.survey_fit import EFFECT_NUMBERS, Corrected, Correction, Survey, design_variances
from molehill.synthesis.synthesizer import Inputs, Learned, Synthesizer
from molehill.synthesis.weighting import weight_likelihood

# No correction with more parameters than this.
MOST_PARAMETERS = 1000
# Draws from which design effects are estimated, and maximum number of draws times records.
EFFECT_DRAWS, EFFECT_SIZE = 400, 2**25
# Relative tolerance for directions in which the curvature is not positive.
_FLAT = 1e-12


def correct_draws(
    synthesizer: Synthesizer, learned: Learned, draws: Mapping[str, np.ndarray], weights: Floats, survey: Survey
) -> tuple[Mapping[str, np.ndarray], Correction]:
    """Rescale the draws of a pseudo posterior to the design-based variance, or report why this is not possible.

    Parameters
    ----------
    synthesizer, learned
        The synthesizer and its inputs.
    draws
        Sites to arrays (chains, draws, ...). Sites that the model does not have are unchanged.
    weights
        The risk weights, 0 for records that are left out.
    survey
        The design.
    """
    of = ", ".join(synthesizer.sensitive)
    if not survey.sandwich:
        return draws, Correction((Corrected(of, corrected=False, how="off by setting: the plain pseudo posterior"),))
    inputs = {name: jnp.asarray(value) for name, value in learned.inputs.items()}
    chart = _chart(synthesizer, inputs, draws, len(weights))
    if isinstance(chart, str):
        effects = _functional_effects(synthesizer, inputs, draws, weights, survey)
        return draws, Correction((Corrected(of, corrected=False, how=f"not corrected: {chart}", effects=effects),))
    found = _sandwich(chart, inputs, weights, survey)
    if isinstance(found, str):
        effects = _functional_effects(synthesizer, inputs, draws, weights, survey)
        return draws, Correction((Corrected(of, corrected=False, how=f"not corrected: {found}", effects=effects),))
    effects = chart.by_site(np.diag(found.target) / np.diag(found.inverse))
    if survey.sample.degrees < len(chart.centre):
        many = f"{len(chart.centre)} parameters, and {survey.sample.degrees:.0f} degrees of freedom of the design"
        return draws, Correction((Corrected(of, corrected=False, how=f"not corrected: {many}", effects=effects),))
    moved = chart.centre + (chart.positions - chart.centre) @ found.wider
    source = "replicate weights" if survey.sample.replicates is not None else "strata and clusters of the design"
    how = f"the sandwich of Williams and Savitsky, from the {source}"
    return _move(chart, inputs, draws, moved), Correction((Corrected(of, corrected=True, how=how, effects=effects),))


class Uncorrected(NamedTuple):
    """Uncorrected draws of a pseudo posterior, and functions to correct another fit.

    Attributes
    ----------
    draws
        Sites to arrays (chains, draws, ...).
    positions, moved
        (draws, parameters): draws on the unconstrained scale, before and after the correction.
    narrower
        `(centre, weights) -> matrix`: inverse of the correction of a fit with that mean and those risk weights.
    energy
        `(positions, weights) -> array`: minus the log density of the pseudo posterior with those weights, up to a
        constant.
    """

    draws: Mapping[str, np.ndarray]
    positions: Floats
    moved: Floats
    narrower: Callable[[Floats, Floats], Floats]
    energy: Callable[[Floats, Floats], Floats]


def undo_correction(
    synthesizer: Synthesizer, learned: Learned, draws: Mapping[str, np.ndarray], weights: Floats, survey: Survey
) -> Uncorrected:
    """Invert `correct_draws`, which leaves the mean of the draws unchanged.

    Parameters
    ----------
    synthesizer, learned, draws, weights, survey
        As in `correct_draws`, with its corrected draws.
    """
    inputs = {name: jnp.asarray(value) for name, value in learned.inputs.items()}
    chart = _chart(synthesizer, inputs, draws, len(weights))
    assert not isinstance(chart, str)
    own = _sandwich(chart, inputs, weights, survey)
    assert not isinstance(own, str)
    undone = np.asarray(np.linalg.inv(own.wider), dtype=np.float64)
    positions = chart.centre + (chart.positions - chart.centre) @ undone

    def narrower(centre: Floats, weights: Floats) -> Floats:
        found = _sandwich(chart._replace(centre=centre), inputs, weights, survey)
        # If it cannot be computed, the correction of the fit to all records.
        return undone if isinstance(found, str) else np.asarray(np.linalg.inv(found.wider), dtype=np.float64)

    def energy(positions: Floats, weights: Floats) -> Floats:
        free = jax.vmap(chart.unravel)(jnp.asarray(positions))
        return np.asarray(_compiled(chart.model).energy(free, inputs, jnp.asarray(weights)))

    return Uncorrected(_move(chart, inputs, draws, positions), positions, chart.positions, narrower, energy)


class _Chart(NamedTuple):
    """The draws as vectors of unconstrained parameters, and the inverse."""

    model: Callable[..., Any]
    names: tuple[str, ...]
    positions: Floats
    centre: Floats
    unravel: Callable[[Any], Any]

    def by_site(self, numbers: Floats) -> dict[str, tuple[float, ...]]:
        """Numbers, one per parameter, by site."""
        sites = self.unravel(jnp.asarray(numbers))
        return {name: tuple(np.ravel(value).tolist()) for name, value in sites.items()}


class _Found(NamedTuple):
    """Covariances of the parameters: under the design, and of the pseudo posterior."""

    target: Floats
    inverse: Floats

    @property
    def wider(self) -> Floats:
        """R2^-1 R1: what the distance of a draw to the mean is multiplied by."""
        outer, inner = (np.linalg.cholesky(matrix).T for matrix in (self.target, self.inverse))
        return np.asarray(np.linalg.solve(inner, outer), dtype=np.float64)


def _chart(synthesizer: Synthesizer, inputs: Inputs, draws: Mapping[str, np.ndarray], records: int) -> "_Chart | str":
    """The draws on the unconstrained scale, or the reason why they cannot be corrected."""
    if not synthesizer.identified:
        return "its parameters are not identified"
    first = {name: jnp.asarray(values[0, 0]) for name, values in draws.items()}
    sites = handlers.trace(_given(synthesizer.model, first)).get_trace(**inputs)
    latent = {name: site for name, site in sites.items() if site["type"] == "sample" and not site["is_observed"]}
    if any(site["fn"].support.is_discrete for site in latent.values()):
        return "it has discrete parameters"
    if not latent or any(name not in draws for name in latent):
        return "the sampler keeps other parameters than the model has"
    if any(np.shape(site["value"])[:1] == (records,) for site in latent.values()):
        return "it has parameters of single records"
    stacked = {name: jnp.asarray(draws[name]).reshape(-1, *draws[name].shape[2:]) for name in latent}
    free = _compiled(synthesizer.model).unconstrain(stacked, inputs)
    one, unravel = ravel_pytree({name: values[0] for name, values in free.items()})
    if len(one) > MOST_PARAMETERS:
        return f"it has more than {MOST_PARAMETERS:,} parameters"
    positions = np.asarray(jax.vmap(lambda each: ravel_pytree(each)[0])(free))
    return _Chart(synthesizer.model, tuple(latent), positions, positions.mean(axis=0), unravel)


def _given(model: Callable[..., Any], values: Mapping[str, Any]) -> Callable[..., Any]:
    """The model with given values of its latent sites."""

    def choose(site: Mapping[str, Any]) -> Any:
        return values.get(site["name"]) if site["type"] == "sample" and not site.get("is_observed") else None

    return handlers.substitute(handlers.seed(model, jax.random.key(0)), substitute_fn=choose)


def _sandwich(chart: _Chart, inputs: Inputs, weights: Floats, survey: Survey) -> "_Found | str":
    """H^-1 (J + P) H^-1 and H^-1 at the posterior mean, or the reason why they cannot be computed."""
    program, centre = _compiled(chart.model), chart.unravel(jnp.asarray(chart.centre))
    curvature, prior = (
        np.asarray(program.curvature(centre, inputs, jnp.asarray(powers)))
        for powers in (weights * survey.times, np.zeros(len(weights)))
    )
    scores = np.asarray(program.scores(centre, inputs)).T
    middle = design_variances(survey, weights, scores) + (prior + prior.T) / 2
    sizes = np.linalg.eigvalsh((curvature + curvature.T) / 2)
    if not np.isfinite(middle).all() or not np.isfinite(sizes).all() or sizes[0] <= _FLAT * sizes[-1]:
        return "the Hessian at the posterior mean is not positive definite"
    inverse = np.linalg.inv((curvature + curvature.T) / 2)
    target = inverse @ middle @ inverse
    target, sizes = (target + target.T) / 2, np.linalg.eigvalsh(target)
    if sizes[0] <= _FLAT * sizes[-1]:
        return "the design-based covariance is singular"
    return _Found(target, (inverse + inverse.T) / 2)


def _move(chart: _Chart, inputs: Inputs, draws: Mapping[str, np.ndarray], moved: Floats) -> dict[str, np.ndarray]:
    """Replace the draws by moved parameters, and recompute deterministic sites."""
    free = jax.vmap(chart.unravel)(jnp.asarray(moved))
    sites = _compiled(chart.model).constrain(free, inputs, tuple(draws))
    return {
        name: np.asarray(sites[name], dtype=values.dtype).reshape(values.shape) if name in sites else values
        for name, values in draws.items()
    }


class _Programs(NamedTuple):
    """Compiled functions of a model; data are arguments, because captured arrays would be written to disk."""

    unconstrain: Callable[..., Any]
    constrain: Callable[..., Any]
    curvature: Callable[..., Any]
    scores: Callable[..., Any]
    each: Callable[..., Any]
    energy: Callable[..., Any]


@lru_cache(maxsize=32)
def _compiled(model: Callable[..., Any]) -> _Programs:
    def unconstrain(stacked: Any, inputs: Any) -> Any:
        return jax.lax.map(lambda one: unconstrain_fn(model, (), inputs, one), stacked)

    def constrain(free: Any, inputs: Any, names: tuple[str, ...]) -> Any:
        def one(position: Any) -> Any:
            sites = constrain_fn(model, (), inputs, position, return_deterministic=True)
            return {name: sites[name] for name in names if name in sites}

        return jax.lax.map(one, free)

    def curvature(position: Any, inputs: Any, weights: Any) -> Any:
        flat, unravel = ravel_pytree(position)

        def energy(vector: Any) -> Any:
            return potential_energy(weight_likelihood(model, weights), (), inputs, unravel(vector))

        # One direction at a time, to save memory.
        return jax.lax.map(lambda along: jax.jvp(jax.grad(energy), (flat,), (along,))[1], jnp.eye(len(flat)))

    def scores(position: Any, inputs: Any) -> Any:
        flat, unravel = ravel_pytree(position)

        def logs(vector: Any) -> Any:
            return _each_loglik(model, constrain_fn(model, (), inputs, unravel(vector)), inputs)

        return jax.lax.map(lambda along: jax.jvp(logs, (flat,), (along,))[1], jnp.eye(len(flat)))

    def each(stacked: Any, inputs: Any) -> Any:
        return jax.lax.map(lambda one: _each_loglik(model, one, inputs), stacked)

    def energy(free: Any, inputs: Any, weights: Any) -> Any:
        return jax.lax.map(lambda one: potential_energy(weight_likelihood(model, weights), (), inputs, one), free)

    return _Programs(
        jax.jit(unconstrain),
        jax.jit(constrain, static_argnums=2),
        jax.jit(curvature),
        jax.jit(scores),
        jax.jit(each),
        jax.jit(energy),
    )


def _each_loglik(model: Callable[..., Any], sites: Any, inputs: Any) -> jax.Array:
    """The log-likelihood of every record: the sum of its terms in all observed sites."""
    records: Any = 0.0
    logs, trace = compute_log_probs(model, (), inputs, sites, sum_log_prob=False)
    for name, value in logs.items():
        if trace[name]["is_observed"] and not trace[name]["infer"].get("is_auxiliary"):
            records = records + value
    return records


def log_likelihoods(model: Callable[..., Any], stacked: Mapping[str, Any], inputs: Inputs) -> jax.Array:
    """Log-likelihood of every record at every draw, (draws, records).

    Parameters
    ----------
    model
        A NumPyro model.
    stacked
        Sites to arrays (draws, ...).
    inputs
        The arguments of the model.
    """
    return _compiled(model).each(stacked, inputs)


def _functional_effects(
    synthesizer: Synthesizer,
    inputs: Inputs,
    draws: Mapping[str, np.ndarray],
    weights: Floats,
    survey: Survey,
) -> dict[str, tuple[float, ...]]:
    """Design effects of label-invariant functionals, by the infinitesimal jackknife.

    The covariances with the log-likelihoods are estimated from some hundred draws; the variance due to their Monte
    Carlo error, about the mean posterior variance of l over the number of draws, is subtracted.
    """
    chains, length = next(iter(draws.values())).shape[:2]
    number = min(chains * length, EFFECT_DRAWS, max(EFFECT_SIZE // len(weights), 50))
    places = ((np.arange(number) + 0.5) * chains * length / number).astype(int)
    stacked = {name: jnp.asarray(values.reshape(-1, *values.shape[2:])[places]) for name, values in draws.items()}
    watched = _watch(synthesizer)(stacked, inputs, jnp.asarray(weights * survey.times))
    logs = np.asarray(log_likelihoods(synthesizer.model, stacked, inputs))
    logs = np.where(weights > 0, logs - logs.mean(axis=0), 0.0)
    noise = float(np.diag(design_variances(survey, weights, logs.T)).mean()) / number
    effects = {}
    for name, found in watched.items():
        values = np.asarray(found)[:, :: max(found.shape[1] // EFFECT_NUMBERS, 1)]
        apart = values - values.mean(axis=0)
        before = (apart**2).sum(axis=0) / (number - 1)
        moving = before > 0
        influence = logs.T @ apart[:, moving] / (number - 1)
        after = np.diag(design_variances(survey, weights, influence)) - noise * before[moving]
        if moving.any():
            effects[name] = tuple(np.maximum(after / before[moving], 0.0).tolist())
    return effects


def _watch(synthesizer: Synthesizer) -> Callable[..., Any]:
    def watch(stacked: Any, inputs: Any, weights: Any) -> Any:
        def one(sites: Any) -> Any:
            if synthesizer.functionals is None:
                return {name: jnp.ravel(value) for name, value in sites.items()}
            found = synthesizer.functionals(sites, inputs, weights)
            return {name: jnp.ravel(value) for name, value in found.items() if name != "weighted_loglik"}

        return jax.lax.map(one, stacked)

    return jax.jit(watch)
