"""A joint model of two amounts as a synthesizer: both are observed, weighted by their joint risk, and drawn together.

Run it: python examples/joint_model.py
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd

import molehill


def wages(married: Any, hers: Any = None, his: Any = None) -> None:
    """Wages of couples, lognormal and related: one term per record at each of the two observed sites."""
    level = numpyro.sample("level", dist.Normal(8.0, 1.0).expand([2]).to_event(1))
    years = numpyro.sample("years", dist.Normal(0.0, 0.1))
    share = numpyro.sample("share", dist.Normal(0.0, 1.0))
    spread = numpyro.sample("spread", dist.HalfNormal(1.0).expand([2]).to_event(1))
    with numpyro.plate("records", len(married)):
        centre = level[0] + years * married
        her = numpyro.sample("hers", dist.LogNormal(centre, spread[0]), obs=hers)
        # The second wage is given the first: with both, the product of the two terms is the joint density.
        numpyro.sample("his", dist.LogNormal(level[1] + share * (jnp.log(her) - centre), spread[1]), obs=his)


def couples(n: int, seed: int) -> pd.DataFrame:
    """Simulate couples of two towns."""
    random = np.random.default_rng(seed)
    married = random.integers(0, 30, n)
    hers = np.exp(7.6 + 0.01 * married + 0.5 * random.normal(size=n))
    his = np.exp(7.8 + 0.6 * (np.log(hers) - 7.6 - 0.01 * married) + 0.4 * random.normal(size=n))
    towns = random.choice(["north", "south"], n)
    return pd.DataFrame({"town": towns, "married": married, "hers": hers.round(), "his": his.round()})


def main() -> None:
    """Measure the joint risk, weigh the records, fit, and draw both wages."""
    data = couples(800, seed=1)
    view = molehill.Intruder(known="town", sensitive=["hers", "his"], radius={"hers": 0.2, "his": 0.2}).view(data)
    risk = molehill.confidential_risk(view, order=2)
    synthesizer = molehill.Synthesizer(wages, sensitive=("hers", "his"))
    posterior = molehill.fit(synthesizer, data, molehill.risk_weights(risk), seed=1)
    released = molehill.draw(posterior, datasets=5, seed=2)
    after = molehill.release_risk(view, released)
    before, now = (np.log(table[["hers", "his"]]).corr().iloc[0, 1] for table in (data, released[0]))
    print(posterior)
    print(f"correlation of the logarithms: {before:.2f}, in the first table {now:.2f}")
    print(f"mean joint risk: {risk.risk.mean():.3f} (order 2), after release {after.realised.mean():.3f}")


if __name__ == "__main__":
    main()
