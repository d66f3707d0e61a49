"""Transformations of amounts and their inverses, for NumPy and JAX arrays."""

from typing import Any, Literal, get_args

import numpy as np

from molehill.arrays import Floats
from molehill.errors import InputError

Transform = Literal["identity", "log", "signed", "root"]
TRANSFORMS = get_args(Transform)
# The sixth root: between the logarithm, which gives incomes a long lower tail, and the identity.
ROOT = 6
# Gain in log-likelihood over logarithms that the root needs; number of quantiles, and of EM steps, to compute it.
CLEARLY, QUANTILES, STEPS = 5.0, 5_000, 50
# Share of the amounts at either end that is clipped, so that one tiny amount does not determine the choice.
OUTERMOST = 0.001
# For positive amounts only.
POSITIVE: tuple[Transform, ...] = ("log", "root")
Support = tuple[float, float]


def usual_transform(values: Floats) -> Transform:
    """Choose the transformation: "log" or "root" for positive amounts, otherwise "signed" (sign(y) log(1 + |y|)).

    "root" if a mixture of two normal components fits the transformed amounts clearly better: on the log scale a third
    component would be needed for the long lower tail of incomes, and the upper tail would be too long.

    Examples
    --------
    >>> usual_transform(np.array([2.0, np.nan])), usual_transform(np.array([2.0, 0.0]))
    ('log', 'signed')
    """
    present = values[~np.isnan(values)]
    if not (present > 0).all():
        return "signed"
    known = np.quantile(present, (np.arange(QUANTILES) + 0.5) / QUANTILES) if len(present) > QUANTILES else present
    known = np.clip(known, *np.quantile(known, [OUTERMOST, 1 - OUTERMOST])) if len(known) else known
    if not len(known) or np.ptp(known) == 0:
        return "log"
    gain = _likelihood(known, "root") - _likelihood(known, "log")
    return "root" if gain * len(present) > CLEARLY else "log"


def _likelihood(values: Floats, transform: Transform) -> float:
    """Mean log-likelihood of positive amounts under a mixture of two normals on the transformed scale."""
    moved = apply_transform(values, transform)
    centre, scale = moved.mean(), moved.std()
    slope = np.log(values) * (1 / ROOT - 1) - np.log(ROOT) if transform == "root" else -np.log(values)
    z = (moved - centre) / scale
    outer = np.abs(z - np.median(z)) > np.median(np.abs(z - np.median(z)))
    shares = np.where(np.stack([outer, ~outer], axis=1), 0.9, 0.1)
    logs = shares
    for _ in range(STEPS):
        number = shares.sum(axis=0)
        mean = z @ shares / number
        # A minimum variance, so that a component does not collapse onto a heap of round amounts.
        variance = (shares * (z[:, None] - mean) ** 2).sum(axis=0) / number + 0.01
        logs = np.log(number / len(z)) - 0.5 * (np.log(2 * np.pi * variance) + (z[:, None] - mean) ** 2 / variance)
        shares = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    return float(np.mean(np.logaddexp.reduce(logs, axis=1) - np.log(scale) + slope))


def apply_transform(values: Any, transform: Transform) -> Any:
    """Transform amounts to the scale of the model.

    Examples
    --------
    >>> apply_transform(np.array([-np.expm1(2.0), 0.0]), "signed").round(12).tolist()
    [-2.0, 0.0]
    """
    of = values.__array_namespace__()
    if transform == "log":
        return of.log(values)
    if transform == "root":
        return values ** (1 / ROOT)
    return of.sign(values) * of.log1p(of.abs(values)) if transform == "signed" else values


def restore(values: Any, transform: Transform) -> Any:
    """Invert `apply_transform`."""
    of = values.__array_namespace__()
    if transform == "log":
        return of.exp(values)
    if transform == "root":
        return of.maximum(values, 0.0) ** ROOT
    return of.sign(values) * of.expm1(of.abs(values)) if transform == "signed" else values


def transformed_support(support: Support, transform: Transform) -> Support:
    """The support on the scale of the model."""
    if transform in POSITIVE and support[1] <= 0:
        raise InputError("upper", f"it is not positive, as {transform!r} requires", "Give a positive bound, or none")
    if transform == "log":
        low, high = (np.log(end) if end > 0 else -np.inf for end in support)
        return float(low), float(high)
    if transform == "root":
        support = (max(support[0], 0.0), support[1])
    low, high = (float(apply_transform(np.array([end]), transform)[0]) for end in support)
    return low, high
