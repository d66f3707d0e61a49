"""Moles: records whose risk rises although, or because, others were protected (the paper's whack-a-mole).

With few released tables the risk of a record is an average of coin flips, and many records seem to rise between two
runs of one and the same scheme. So a mole is found in the expected risk, beyond its Monte Carlo error, and a count of
rises in the realised risk always stands beside the count that the reference scheme alone would show.
"""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from molehill.arrays import Booleans, Floats, freeze
from molehill.errors import InputError

# Pairs of runs that are drawn for each one that is kept.
_CANDIDATES = 20


@dataclass(frozen=True, eq=False, repr=False)
class Moles:
    """Records whose expected risk rises.

    Attributes
    ----------
    records
        One per record: whether it is a mole.
    rise
        Expected risk less that under the reference.
    error
        Standard error of the rise.
    step, errors
        A mole rises by more than `step`, by at least `errors` standard errors more.
    """

    records: Booleans
    rise: Floats
    error: Floats
    step: float
    errors: float

    @property
    def number(self) -> int:
        """How many moles there are."""
        return int(self.records.sum())

    def __repr__(self) -> str:
        return f"Moles({self.number:,} of {len(self.records):,} records rise by more than {self.step:g})"


@dataclass(frozen=True)
class Rises:
    """How many records rise in the realised risk, beside how many would by chance.

    Attributes
    ----------
    number
        Records whose realised risk is higher than under the reference by more than `step`.
    null
        Expected number if the scheme were the reference itself, run a second time; NaN if one table is all that is
        known of the reference.
    null_low, null_high
        Where that number lies in 95% of such pairs of runs.
    step
        The step.
    """

    number: int
    null: float
    null_low: float
    null_high: float
    step: float


def moles(
    risk: ArrayLike,
    error: ArrayLike,
    reference_risk: ArrayLike,
    reference_error: ArrayLike,
    *,
    step: float = 0.2,
    errors: float = 3.0,
) -> Moles:
    """Find the records whose expected risk rises by more than a step, beyond Monte Carlo error.

    Record i is a mole if `rise_i - errors * error_i > step`, where `error_i` joins the errors of both expected risks.

    Parameters
    ----------
    risk, error
        Expected risk of every record and its Monte Carlo standard error, as from `expected_risk`.
    reference_risk, reference_error
        The same under the reference scheme, made with another seed.
    step
        Smallest rise that matters, above 0.
    errors
        How many standard errors a rise must clear the step by: with thousands of records some pass two by chance.

    Examples
    --------
    >>> moles([0.50, 0.50, 0.1], [0.01, 0.1, 0.0], [0.20, 0.20, 0.2], [0.01, 0.0, 0.0]).records
    array([ True, False, False])
    """
    _check_step(step)
    if not np.isfinite(errors) or errors < 0:
        raise InputError("errors", "it must be a number from 0 up", "3 is careful")
    arrays = [np.asarray(values, dtype=np.float64) for values in (risk, error, reference_risk, reference_error)]
    if len({array.shape for array in arrays}) > 1 or arrays[0].ndim != 1:
        raise InputError("risk", "the four are not of one length", "Give one number per record of the same table")
    rise = arrays[0] - arrays[2]
    joined = np.hypot(arrays[1], arrays[3])
    found = rise - errors * joined > step
    return Moles(freeze(found), freeze(rise), freeze(joined), step, errors)


def count_increases(
    by_dataset: Floats,
    reference: Floats,
    *,
    step: float = 0.2,
    runs: Floats | None = None,
    replicates: int = 400,
    seed: int = 0,
) -> Rises:
    """Count the records whose realised risk rises, and how many would if nothing but chance were at work.

    The null: run the reference scheme twice, with as many tables as the two releases have, and count the records that
    are higher in the first run by more than the step. If independent `runs` of the reference are given, every ordered
    pair of them is counted, which is exact but for Monte Carlo error. Otherwise pairs of runs are resampled from the
    risks of the reference's own tables, and of these the ones kept whose difference has the variance of two independent
    runs. With 20 tables that is within a tenth of the truth, with 5 it can be a third to a half too high.

    Parameters
    ----------
    by_dataset, reference
        (tables, records): risk of every record in every table, `release_risk(...).by_dataset`, of the scheme and of the
        reference.
    step
        Smallest rise that counts, above 0.
    runs
        (runs, records): realised risk in independent runs of the reference, each with as many tables as the two
        releases (`ExpectedRisk.runs`).
    replicates, seed
        How many pairs of runs to resample, and from which random numbers.

    Examples
    --------
    >>> scheme, reference = np.array([[0.9, 0.0]]), np.array([[0.1, 0.0]])
    >>> count_increases(scheme, reference).number
    1
    """
    _check_step(step)
    if by_dataset.shape[1] != reference.shape[1]:
        raise InputError("reference", "it speaks of another number of records", "Compare releases of one table")
    number = int((by_dataset.mean(axis=0) - reference.mean(axis=0) > step).sum())
    if runs is not None and len(runs) > 1:
        pairs = permutations(range(len(runs)), 2)
        counts = np.array([(runs[one] - runs[other] > step).sum() for one, other in pairs], dtype=np.float64)
    elif len(reference) == 1:
        return Rises(number, np.nan, np.nan, np.nan, step)
    else:
        counts = _resample(reference, len(by_dataset), step, replicates, np.random.default_rng(seed))
    low, high = np.quantile(counts, [0.025, 0.975])
    return Rises(number, float(counts.mean()), float(low), float(high), step)


def _resample(reference: Floats, tables: int, step: float, replicates: int, random: np.random.Generator) -> Floats:
    """Counts of rises between pairs of resampled runs: one of `tables` tables, one of as many as the reference has."""
    own = len(reference)
    one, other = (
        random.multinomial(size, np.full(own, 1 / own), _CANDIDATES * replicates) / size for size in (tables, own)
    )
    # Some pairs repeat few tables often, which would make all records vary too much at once, and on average they vary
    # too little: of many pairs those are kept whose difference has just the variance of two independent runs.
    variance = ((one - other) ** 2).sum(axis=1)
    kept = np.argsort(np.abs(variance - 1 / tables - 1 / own), kind="stable")[:replicates]
    return np.array([(weights @ reference > step).sum() for weights in (one - other)[kept]], dtype=np.float64)


def _check_step(step: float) -> None:
    if not 0 < step < 1:
        raise InputError("step", "it must be between 0 and 1", "0.2 is a rise of twenty points of risk")
