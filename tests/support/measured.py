"""Points of searches that are measured once: a search measures hundreds of tables, and tests ask for the same ones."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest

from molehill.release.search import points
from molehill.synthesis.synthesizer import Synthesizer

_MEASURED: dict[Any, Any] = {}
# What decides which points are tried and how they are judged, and not what is measured of them.
_JUDGING = {"release_criteria", "max_fits", "max_failure_probability", "max_redraw_share", "max_seconds"}
# Figures that every point has, whatever is asked for.
_ALWAYS = ("matches_true", "matches_expected", "combined_mean")
measure = points.measure


def hash_frame(frame: pd.DataFrame) -> bytes:
    return pd.util.hash_pandas_object(frame).to_numpy().tobytes()


def _hash_draws(posterior: Any) -> bytes:
    found = hashlib.sha256()
    for name, values in sorted(posterior.draws.items()):
        found.update(name.encode() + np.ascontiguousarray(values).tobytes())
    return found.digest()


def measure_once(bench: Any, posterior: Any, *, seed: Any, tables: int | None = None) -> Any:
    """Measure, or give what was measured before of the same draws, by the same seed and for the same questions."""
    made = posterior.synthesizer
    how = made.predict if isinstance(made, Synthesizer) else made.name
    drawn = (_hash_draws(posterior), str(posterior.options), how)
    picks = any(target.measure == "matches_expected" and target.is_of_records for target in bench.targets)
    others = {one.quantity for one in bench.targets if not one.has_own_estimate and one.quantity not in _ALWAYS}
    asked: tuple[Any, ...] = (bool(bench.targets), bench.rules_risk, picks, *sorted(others))
    asked += tuple(analysis.name for analysis in bench.job.analyses)
    settings = bench.settings.model_dump_json(exclude=_JUDGING)
    key = (hash_frame(bench.job.table.frame), drawn, asked, settings, seed, tables)
    if key not in _MEASURED:
        _MEASURED[key] = measure(bench, posterior, seed=seed, tables=tables)
    return _MEASURED[key]


@contextmanager
def measuring_once() -> Iterator[pytest.MonkeyPatch]:
    """Look at fewer tables than for a real release, and measure nothing twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(points, "CONFIRMED_WITH", 200)
        patch.setattr(points, "LOOKED_AT", 20)
        patch.setattr(points, "measure", measure_once)
        yield patch
    _MEASURED.clear()
