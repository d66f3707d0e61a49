"""The synthesizers that ship: each a function that returns a synthesizer for one sensitive column.

Importing this package loads JAX and NumPyro; `import molehill` does not.
"""

from molehill.models.multinomial import multinomial
from molehill.models.negative_binomial import negative_binomial
from molehill.models.normal_linear import normal_linear
from molehill.models.poisson import poisson
from molehill.models.semicontinuous import semicontinuous
from molehill.models.tdp_mixture import tdp_mixture

__all__ = ["multinomial", "negative_binomial", "normal_linear", "poisson", "semicontinuous", "tdp_mixture"]
