"""Fits to survey data: the design, variance corrections and design effects.

See `molehill.synthesis.sandwich` for the correction itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Floats, freeze
from molehill.errors import InputError
from molehill.surveys.design import Sample, SurveyDesign
from molehill.surveys.variances import covariances
from molehill.tables.table import Table

# Maximum number of elements of each functional for which design effects are estimated.
EFFECT_NUMBERS = 10


@dataclass(frozen=True, eq=False)
class Survey:
    """The survey design of a fit.

    Attributes
    ----------
    sample
        The design as arrays.
    times
        Survey weights, scaled to sum to the number of records.
    sandwich
        Whether to correct the posterior variance for the design.
    """

    sample: Sample
    times: Floats
    sandwich: bool = True

    @property
    def plain(self) -> bool:
        """Whether it has no effect on a fit."""
        return not self.sandwich and bool((self.times == 1).all())

    def same_as(self, other: "Survey | None") -> bool:
        """Whether another survey has the same design and the same correction."""
        if other is None or self.sandwich != other.sandwich:
            return False
        mine, yours = self.sample, other.sample
        if mine.replicates is not None or yours.replicates is not None:
            return mine.replicates is yours.replicates
        names = ("weights", "cluster", "stratum_of", "fractions")
        return mine.single == yours.single and all(
            np.array_equal(getattr(mine, name), getattr(yours, name)) for name in names
        )


@dataclass(frozen=True)
class Corrected:
    """Variance correction of one part of a fit.

    Attributes
    ----------
    of
        The part or the variables.
    corrected
        Whether its variance is corrected for the design.
    how
        Description of the correction, or the reason for none.
    effects
        Design effects by parameter or functional: the variance under the design over that of the uncorrected pseudo
        posterior.
    """

    of: str
    corrected: bool
    how: str
    effects: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Correction:
    """Variance corrections of a fit, by part."""

    parts: tuple[Corrected, ...]

    @property
    def corrected(self) -> bool:
        """Whether every part was corrected."""
        return all(part.corrected for part in self.parts)

    @property
    def words(self) -> str:
        """Description of all corrections."""
        return "; ".join(f"{part.of}: {part.how}" for part in self.parts)

    @property
    def table(self) -> pd.DataFrame:
        """Median and largest design effect of each part and functional."""
        rows = [
            (part.of, part.corrected, name, float(np.median(found)), max(found))
            for part in self.parts
            for name, found in part.effects.items()
        ]
        return pd.DataFrame(rows, columns=["of", "corrected", "functional", "median_effect", "largest_effect"])


def read_survey(given: Any, table: Table, *, sandwich: bool) -> Survey | None:
    """Read the survey design of a fit, given as a `SurveyDesign` or `Sample`."""
    if not isinstance(sandwich, bool):
        raise InputError("sandwich", "it must be True or False", "Omit it for True")
    if given is None:
        return None
    if not isinstance(given, SurveyDesign | Sample):
        problem = f"it is of type {type(given).__name__}, not a SurveyDesign"
        raise InputError("survey", problem, "Give SurveyDesign(weight='...'), or the result of its `read`")
    sample = given.read(table) if isinstance(given, SurveyDesign) else given
    if sample.records != len(table.frame):
        problem = f"it has {sample.records:,} records, and the dataset {len(table.frame):,}"
        raise InputError("survey", problem, "Read the design from the data that are fitted")
    return Survey(sample, freeze(sample.normalised), sandwich)


def join_corrections(parts: Mapping[str, Correction | None]) -> Correction | None:
    """Combine the corrections of the parts of a synthesizer."""
    joined: list[Corrected] = []
    for name, correction in parts.items():
        own = () if correction is None else correction.parts
        joined += [replace(one, of=name if len(own) == 1 else f"{name}: {one.of}") for one in own]
    return Correction(tuple(joined)) if joined else None


def design_variances(survey: Survey, weights: Floats, scores: Floats) -> Floats:
    """J: design-based covariances of the sums of scores, plus the variance due to risk weights below 1.

    Parameters
    ----------
    survey
        The design.
    weights
        The risk weights, 0 for records that are left out.
    scores
        (records, estimates): the gradient, or the influence, of a record of weight 1.
    """
    kept = np.where(weights[:, None] > 0, scores, 0.0)
    own = np.maximum(weights * (1 - weights), 0.0) * survey.times**2
    return covariances(survey.sample, kept * (weights * survey.times)[:, None]) + (kept * own[:, None]).T @ kept


def column_effects(column: pd.Series, weights: Floats, survey: Survey) -> dict[str, tuple[float, ...]]:
    """Model-free design effects: of the mean of a number, or of the shares of a category.

    Without correction, the distribution is Dirichlet(a_1 d_1, ..., a_n d_n) over the records.
    """
    counted = (weights > 0) & (survey.times > 0) & column.notna().to_numpy()
    powers = np.where(counted, weights * survey.times, 0.0)
    total = powers.sum()
    if not total:
        return {}
    if pd.api.types.is_numeric_dtype(column.dtype):
        name, values = "mean", column.to_numpy(dtype=np.float64, na_value=0.0)[:, None]
    else:
        codes, levels = pd.factorize(column)
        name, values = "shares", (codes[:, None] == np.arange(min(len(levels), EFFECT_NUMBERS))).astype(np.float64)
    values = np.where(counted[:, None], values, 0.0)
    apart = np.where(counted[:, None], values - powers @ values / total, 0.0)
    before = powers @ apart**2 / total / (total + 1)
    after = np.diag(design_variances(survey, np.where(counted, weights, 0.0), apart / total))
    return {name: tuple((after[before > 0] / before[before > 0]).tolist())} if (before > 0).any() else {}
