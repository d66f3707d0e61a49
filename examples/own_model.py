"""Your own NumPyro model as a synthesizer, from a table to synthetic tables.

Run it: python examples/own_model.py
"""

from typing import Any

import numpyro
import numpyro.distributions as dist
import pandas as pd

import molehill
from molehill.tables.populations import nb_mixture


def counts(region: Any, outcome: Any = None) -> None:
    """Negative binomial counts with a mean for each region: one observed term per record, in a plate over them.

    The arguments are columns of the table (text arrives as numbers from 0); the sensitive one is None when predicting.
    """
    with numpyro.plate("regions", 4):
        mean = numpyro.sample("mean", dist.LogNormal(4.0, 1.0))
    shape = numpyro.sample("shape", dist.LogNormal(2.0, 1.0))
    with numpyro.plate("records", len(region)):
        numpyro.sample("outcome", dist.GammaPoisson(shape, shape / mean[region]), obs=outcome)


def main() -> None:
    """Measure the risk, weigh the records, fit, and draw."""
    data = nb_mixture(1000, seed=1).assign(region=pd.Series(["north", "east", "south", "west"] * 250))
    view = molehill.Intruder(known="region", sensitive="outcome", radius=0.2).view(data)
    risk = molehill.confidential_risk(view, order=2)
    synthesizer = molehill.Synthesizer(counts, sensitive=("outcome",))
    posterior = molehill.fit(synthesizer, data, molehill.risk_weights(risk), seed=1)
    released = molehill.draw(posterior, datasets=20, seed=2)
    after = molehill.release_risk(view, released)
    print(posterior)
    print(posterior.diagnostics.table.round(3))
    print(f"mean of the counts: {data['outcome'].mean():.1f}, in the first table {released[0]['outcome'].mean():.1f}")
    print(f"mean risk: {risk.risk.mean():.3f} (order 2), after release {after.realised.mean():.3f}")


if __name__ == "__main__":
    main()
