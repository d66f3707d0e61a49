"""The scales on which amounts are modelled: there, and back again. Arrays of NumPy and of JAX are taken as they are."""

from typing import Any, Literal, get_args

import numpy as np

from molehill.arrays import Floats
from molehill.errors import InputError

Transform = Literal["identity", "log", "signed"]
TRANSFORMS = get_args(Transform)
Support = tuple[float, float]


def usual_transform(values: Floats) -> Transform:
    """Choose logarithms for amounts that are all positive, and else logarithms of either sign.

    Examples
    --------
    >>> usual_transform(np.array([2.0, np.nan])), usual_transform(np.array([2.0, 0.0]))
    ('log', 'signed')
    """
    return "log" if (values[~np.isnan(values)] > 0).all() else "signed"


def apply_transform(values: Any, transform: Transform) -> Any:
    """Take amounts to the scale of the model.

    Examples
    --------
    >>> apply_transform(np.array([-np.expm1(2.0), 0.0]), "signed").round(12).tolist()
    [-2.0, 0.0]
    """
    of = values.__array_namespace__()
    if transform == "log":
        return of.log(values)
    return of.sign(values) * of.log1p(of.abs(values)) if transform == "signed" else values


def restore(values: Any, transform: Transform) -> Any:
    """Bring values back from the scale of the model."""
    of = values.__array_namespace__()
    if transform == "log":
        return of.exp(values)
    return of.sign(values) * of.expm1(of.abs(values)) if transform == "signed" else values


def transformed_support(support: Support, transform: Transform) -> Support:
    """The support on the scale of the model."""
    if transform == "log":
        low, high = (np.log(end) if end > 0 else -np.inf for end in support)
        if high == -np.inf:
            raise InputError(
                "upper", "it is not positive, but logarithms are asked for", "Give a positive one, or none"
            )
        return float(low), float(high)
    low, high = (float(apply_transform(np.array([end]), transform)[0]) for end in support)
    return low, high
