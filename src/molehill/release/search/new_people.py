"""Tables of new people, no record of which is anybody's: how much is told apart.

Nobody has an own record in such tables, so that identification risk says nothing. What is left of a
person is a trace in the model: parts of a forest that hold few people repeat them. So the largest parts are taken that
keep how columns go together; what is left of the trace is measured like everything else.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from molehill.models import BUILT_IN
from molehill.plan.cost import LEAVES
from molehill.plan.plan import model_of
from molehill.release.making import Job, fit_quietly
from molehill.runtime import is_spreading, parallel_map
from molehill.synthesis.fitting import draw
from molehill.tables.table import Table
from molehill.utility import agreement

# Tables that are made to see how columns go together.
_TABLES = 4
# Of what a fresh sample shows, so much more is no loss.
_TENTH = 0.1


def find_parts(job: Job, *, progress: bool) -> Job:
    """Find the largest parts of forests that keep how pairs of columns go together, from large to small.

    They do if pairs lie no farther apart than two samples of one population would, give or take a tenth of what a fresh
    sample shows. If none does, those that lose least are taken, and of those that lose as little the largest.
    """
    settings = job.settings
    models = {model_of(settings, job.view.schema[name].kind) for name in settings.synthesize}
    if settings.min_leaf_size != "auto" or not all("min_leaf_size" in BUILT_IN[name].takes for name in models):
        return job
    leaves = sorted((leaf for leaf in LEAVES if leaf <= max(job.view.records / 4, LEAVES[0])), reverse=True)
    tried, fresh = dict[float, float](), 0.0
    calls = [(leaf, progress and not is_spreading()) for leaf in leaves]
    for leaf, found in zip(leaves, parallel_map(_try_parts, calls, shared=(job, job.table)), strict=False):
        tried[leaf], fresh = found
        if tried[leaf] <= _TENTH * fresh:
            break
    least = min(tried.values())
    chosen = max(leaf for leaf, lost in tried.items() if lost <= least + _TENTH * fresh)
    return replace(job, settings=settings.but(min_leaf_size=chosen), model=job.model_at(chosen))


def _try_parts(job: Job, table: Table, leaf: float, progress: bool) -> tuple[float, float]:  # noqa: FBT001
    """Say how much farther apart pairs of columns lie than two samples would, and what a fresh sample shows."""
    columns, schema = job.settings.synthesize, job.view.schema
    own: dict[str, Any] = {"seed": job.seed("parts", f"{leaf:g}"), "progress": progress}
    fitted = fit_quietly(job.model_at(leaf), table, np.ones(job.view.records), **own, **job.design)
    tables = draw(fitted, datasets=_TABLES, seed=job.seed("draw parts", f"{leaf:g}"), records=job.view.records)
    exact = {name: () for name in columns if schema[name].kind == "categorical"}
    pairs = agreement(job.expand([table])[0], tables, columns, columns=columns, ways=2, breaks=exact).sets
    lost = np.maximum(pairs["distance"] - np.sqrt(2) * pairs["fresh"], 0.0)
    return float(lost.mean()), float(pairs["fresh"].mean())
