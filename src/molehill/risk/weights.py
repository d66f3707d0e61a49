"""Risk weights: the exponents of the records' likelihood contributions in the pseudo posterior."""

from collections.abc import Sequence

import numpy as np

from molehill.arrays import Floats, freeze
from molehill.errors import InputError, check_number
from molehill.risk.identification import ConfidentialRisk


def risk_weights(
    risk: ConfidentialRisk | Floats | Sequence[float], *, scale: float = 1.0, shift: float = 0.0
) -> Floats:
    """Compute risk weights: the higher a record's risk, the less it influences the model.

        weight_i = clip(scale * (1 - risk_i) + shift, 0, 1)

    Scale and shift are the paper's c and g. A larger scale raises the weights of low-risk records most; a larger shift
    raises all weights equally.

    Parameters
    ----------
    risk
        The result of `confidential_risk`, or one risk from 0 to 1 per record. A record without risk (its sensitive
        value is missing) has weight 0.
    scale
        c, 0 or larger.
    shift
        g, any finite number.

    References
    ----------
    Hu, Savitsky and Williams, equation 3 and supplement, section 7.

    Examples
    --------
    >>> risk_weights([0.0, 0.5, 0.7, 1.0])
    array([1. , 0.5, 0.3, 0. ])
    >>> risk_weights([0.0, 0.5, 0.8, 1.0], scale=1.5)
    array([1.  , 0.75, 0.3 , 0.  ])
    """
    for argument, number in (("scale", scale), ("shift", shift)):
        check_number(argument, number)
    if scale < 0:
        raise InputError("scale", "it is negative, which would give high-risk records higher weights", "Use 0 or more")
    whole = isinstance(risk, ConfidentialRisk)
    values = np.asarray(risk.risk if whole else risk, dtype=np.float64)
    part = ~np.isnan(values) if whole else np.ones(values.shape, dtype=bool)
    if values.ndim != 1:
        raise InputError("risk", f"it has {values.ndim} dimensions", "Give one risk per record")
    # NaN fails the comparison as well.
    if not ((values[part] >= 0) & (values[part] <= 1)).all():
        raise InputError("risk", "it has values outside 0 to 1", "Give risks as returned by confidential_risk")
    weights = np.clip(scale * (1 - values) + shift, 0.0, 1.0)
    weights[~part] = 0.0
    return freeze(weights)
