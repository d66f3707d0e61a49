"""The pseudo likelihood: every record's likelihood raised to its weight."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
from numpyro.primitives import Messenger

from molehill.arrays import Booleans, Floats
from molehill.errors import InputError


class _Weigh(Messenger):
    def __init__(self, model: Callable[..., Any], weights: Any) -> None:
        super().__init__(model)
        self.weights = weights

    def process_message(self, msg: dict[str, Any]) -> None:
        if msg["type"] != "sample" or not msg["is_observed"] or _is_change_of_variables(msg):
            return
        shape, records = tuple(msg["fn"].batch_shape), jnp.shape(self.weights)
        if shape != records:
            raise InputError(
                "model",
                f"the observed site {msg['name']!r} has terms of shape {shape}, not one per record {records}",
                "Sample it in a plate over the records, without .to_event and without another plate around it",
            )
        # A record of weight 0 is left out even if its density is zero or NaN.
        msg["fn"] = msg["fn"].mask(self.weights > 0)
        msg["scale"] = self.weights if msg.get("scale") is None else self.weights * msg["scale"]


def _is_change_of_variables(msg: Mapping[str, Any]) -> bool:
    """Whether a site is NumPyro's log determinant of a transformed latent site, which belongs to the prior."""
    return bool(msg["infer"].get("is_auxiliary")) and re.fullmatch("_.*_log_det", msg["name"]) is not None


def weight_likelihood(model: Callable[..., Any], weights: Any) -> Callable[..., Any]:
    """Raise the likelihood of every record to its weight; the prior is unchanged.

    This gives the pseudo posterior of the paper's equation 4: the product of `p(y_i | x_i, theta) ** weight_i` times
    the prior. Weight 0 leaves the record out, weight 2 counts it twice.

    Parameters
    ----------
    model
        Any NumPyro model whose observed sites have one term per record.
    weights
        One number per record, 0 or larger.

    Examples
    --------
    >>> import numpyro, numpyro.distributions as dist
    >>> from numpyro.infer.util import potential_energy
    >>> def model(y):
    ...     mean = numpyro.sample("mean", dist.Normal(0, 1))
    ...     with numpyro.plate("records", len(y)):
    ...         numpyro.sample("y", dist.Normal(mean, 1), obs=y)
    >>> y, weights = jnp.array([0.5, 3.0]), jnp.array([1.0, 0.0])
    >>> one = potential_energy(weight_likelihood(model, weights), (y,), {}, {"mean": 0.1})
    >>> bool(jnp.allclose(one, potential_energy(model, (y[:1],), {}, {"mean": 0.1})))
    True
    """
    return _Weigh(model, weights)


def who_counts(weights: Floats) -> Booleans:
    """Which records a model learns from: those with a positive weight, or all if there is none.

    Examples
    --------
    >>> who_counts(jnp.array([0.5, 0.0])).tolist(), who_counts(jnp.zeros(2)).tolist()
    ([True, False], [True, True])
    """
    return (weights > 0) | ~weights.any()
