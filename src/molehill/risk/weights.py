"""From risk to weights: what a record's likelihood is raised to."""

from collections.abc import Sequence

import numpy as np

from molehill.arrays import Floats, freeze
from molehill.errors import InputError, check_number
from molehill.risk.identification import ConfidentialRisk


def risk_weights(
    risk: ConfidentialRisk | Floats | Sequence[float], *, scale: float = 1.0, shift: float = 0.0
) -> Floats:
    """Turn risk into weights: the riskier a record, the less it shapes the synthesizer.

        weight_i = clip(scale * (1 - risk_i) + shift, 0, 1)

    Scale and shift are the paper's c and g. With scale 1 and shift 0 a record of risk 0.7 has weight 0.3. A larger
    scale lifts the safer records most, a larger shift lifts all alike; values below these lower the weights.

    Parameters
    ----------
    risk
        The result of `confidential_risk`, or one risk from 0 to 1 per record. A record that takes no part in the
        risk (its sensitive value is missing and kept so) has weight 0.
    scale
        c, from 0 up.
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
        raise InputError("scale", "it is negative, which would weight risky records up", "Give a number from 0 up")
    whole = isinstance(risk, ConfidentialRisk)
    values = np.asarray(risk.risk if whole else risk, dtype=np.float64)
    part = ~np.isnan(values) if whole else np.ones(values.shape, dtype=bool)
    if values.ndim != 1:
        raise InputError("risk", f"it has {values.ndim} dimensions", "Give one risk per record")
    # NaN fails the comparison, so it is refused here too.
    if not ((values[part] >= 0) & (values[part] <= 1)).all():
        raise InputError("risk", "it has values outside 0 to 1", "Give risks, as from confidential_risk")
    weights = np.clip(scale * (1 - values) + shift, 0.0, 1.0)
    weights[~part] = 0.0
    return freeze(weights)
