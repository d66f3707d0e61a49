"""A fit to a survey sample: the survey, what was corrected for its design, and design effects without a model.

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

# Numbers of each functional that design effects are estimated for.
EFFECT_NUMBERS = 10


@dataclass(frozen=True, eq=False)
class Survey:
    """The survey that the records of a fit are from.

    Attributes
    ----------
    sample
        The design as arrays.
    times
        How many records each counts for: the design weights, scaled to sum to the number of records.
    sandwich
        Whether the uncertainty of the fit is brought to that of the design.
    """

    sample: Sample
    times: Floats
    sandwich: bool = True

    @property
    def plain(self) -> bool:
        """Whether the fit is the same as without it."""
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
    """What was done to one part of a fit.

    Attributes
    ----------
    of
        The part or the variables.
    corrected
        Whether its uncertainty is that of the design.
    how
        In words, what was done or why nothing was.
    effects
        Design effects, by parameter or functional: the variance under the design over that of the pseudo posterior as
        it was before the correction.
    """

    of: str
    corrected: bool
    how: str
    effects: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Correction:
    """What was corrected of a fit to a survey, part by part."""

    parts: tuple[Corrected, ...]

    @property
    def corrected(self) -> bool:
        """Whether every part was."""
        return all(part.corrected for part in self.parts)

    @property
    def words(self) -> str:
        """Part by part, what was done."""
        return "; ".join(f"{part.of}: {part.how}" for part in self.parts)

    @property
    def table(self) -> pd.DataFrame:
        """One row for each part and functional: the median and the largest of its design effects."""
        rows = [
            (part.of, part.corrected, name, float(np.median(found)), max(found))
            for part in self.parts
            for name, found in part.effects.items()
        ]
        return pd.DataFrame(rows, columns=["of", "corrected", "functional", "median_effect", "largest_effect"])


def read_survey(given: Any, table: Table, *, sandwich: bool) -> Survey | None:
    """Read the survey that is given to a fit: a design, or what was read from one already."""
    if not isinstance(sandwich, bool):
        raise InputError("sandwich", "it must be True or False", "Leave it out for True")
    if given is None:
        return None
    if not isinstance(given, SurveyDesign | Sample):
        problem = f"it is of type {type(given).__name__}, not a SurveyDesign"
        raise InputError("survey", problem, "Give SurveyDesign(weight='...'), or what its read gives")
    sample = given.read(table) if isinstance(given, SurveyDesign) else given
    if sample.records != len(table.frame):
        problem = f"it has {sample.records:,} records, and the dataset {len(table.frame):,}"
        raise InputError("survey", problem, "Read the design from the dataset that is fitted")
    return Survey(sample, freeze(sample.normalised), sandwich)


def join_corrections(parts: Mapping[str, Correction | None]) -> Correction | None:
    """Join what was corrected of the parts or links of a synthesizer, by their names."""
    told = []
    for name, correction in parts.items():
        own = () if correction is None else correction.parts
        told += [replace(one, of=name if len(own) == 1 else f"{name}: {one.of}") for one in own]
    return Correction(tuple(told)) if told else None


def design_variances(survey: Survey, weights: Floats, scores: Floats) -> Floats:
    """J: covariances under the design of the sums of scores, with what risk weights below 1 add of their own.

    Parameters
    ----------
    survey
        The design.
    weights
        The risk weights, 0 for records that do not count.
    scores
        (records, estimates): the gradient, or the influence, of a record of weight 1.
    """
    kept = np.where(weights[:, None] > 0, scores, 0.0)
    own = np.maximum(weights * (1 - weights), 0.0) * survey.times**2
    return covariances(survey.sample, kept * (weights * survey.times)[:, None]) + (kept * own[:, None]).T @ kept


def column_effects(column: pd.Series, weights: Floats, survey: Survey) -> dict[str, tuple[float, ...]]:
    """Design effects of the mean of a number, or of the shares of a category, that have nothing of a model in them.

    Before the correction the distribution is Dirichlet(a_1 d_1, ..., a_n d_n) over the records.
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
