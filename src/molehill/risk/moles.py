"""Moles: records whose expected risk increases because other records were down-weighted (the paper's whack-a-mole).

With few released datasets the realised risk of a record varies by chance, and many records seem to increase between two
runs of the same method. Moles are therefore defined by the expected risk, beyond its Monte Carlo error, and a count of
increases in realised risk is shown beside the count expected by chance.
"""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from molehill.arrays import Booleans, Floats, freeze
from molehill.errors import InputError

# Pairs of runs drawn for each one used.
_CANDIDATES = 20


@dataclass(frozen=True, eq=False, repr=False)
class Moles:
    """Records whose expected risk increases.

    Attributes
    ----------
    records
        One per record: whether it is a mole.
    rise
        Expected risk minus expected risk under the reference method.
    error
        Standard error of the increase.
    step, errors
        A mole increases by more than `step` plus `errors` standard errors.
    """

    records: Booleans
    rise: Floats
    error: Floats
    step: float
    errors: float

    @property
    def number(self) -> int:
        """Number of moles."""
        return int(self.records.sum())

    def __repr__(self) -> str:
        return f"Moles({self.number:,} of {len(self.records):,} records increase by more than {self.step:g})"


@dataclass(frozen=True)
class Rises:
    """Number of records whose realised risk increases, and the number expected by chance.

    Attributes
    ----------
    number
        Records whose realised risk is higher than under the reference by more than `step`.
    null
        Expected number if the method were the reference itself, run a second time; NaN if the reference has only one
        dataset.
    null_low, null_high
        95% interval of that number.
    step
        Smallest increase counted.
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
    """Find the records whose expected risk increases by more than a step, beyond Monte Carlo error.

    Record i is a mole if `rise_i - errors * error_i > step`, where `error_i` combines the errors of both risks.

    Parameters
    ----------
    risk, error
        Expected risk of every record and its Monte Carlo standard error, as from `expected_risk`.
    reference_risk, reference_error
        The same under the reference method, with another seed.
    step
        Smallest increase that matters, above 0.
    errors
        Number of standard errors by which an increase must exceed the step.

    Examples
    --------
    >>> moles([0.50, 0.50, 0.1], [0.01, 0.1, 0.0], [0.20, 0.20, 0.2], [0.01, 0.0, 0.0]).records
    array([ True, False, False])
    """
    _check_step(step)
    if not np.isfinite(errors) or errors < 0:
        raise InputError("errors", "it must be 0 or larger", "3 is careful")
    arrays = [np.asarray(values, dtype=np.float64) for values in (risk, error, reference_risk, reference_error)]
    if len({array.shape for array in arrays}) > 1 or arrays[0].ndim != 1:
        raise InputError("risk", "the four arrays differ in length", "Give one number per record of the same dataset")
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
    """Count the records whose realised risk increases, and how many would by chance alone.

    Null distribution: run the reference method twice, with as many datasets as the two releases have, and count the
    records that are higher in the first run by more than the step. With independent `runs` of the reference, all
    ordered pairs of runs are counted, which is exact up to Monte Carlo error. Otherwise pairs of runs are resampled
    from the reference's own datasets, keeping those whose difference has the variance of two independent runs. With 20
    datasets the result is within a tenth of the truth; with 5 it can be a third to a half too high.

    Parameters
    ----------
    by_dataset, reference
        (datasets, records): risk of every record in every dataset, `release_risk(...).by_dataset`, of the scheme and of
        the reference.
    step
        Smallest rise that counts, above 0.
    runs
        (runs, records): realised risk in independent runs of the reference, each with as many datasets as the two
        releases (`ExpectedRisk.runs`).
    replicates, seed
        Number of resampled pairs of runs, and the seed.

    Examples
    --------
    >>> scheme, reference = np.array([[0.9, 0.0]]), np.array([[0.1, 0.0]])
    >>> count_increases(scheme, reference).number
    1
    """
    _check_step(step)
    if by_dataset.shape[1] != reference.shape[1]:
        raise InputError("reference", "it has another number of records", "Compare releases of the same data")
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
    """Counts of increases between pairs of resampled runs, of `tables` datasets and of as many as the reference has."""
    own = len(reference)
    one, other = (
        random.multinomial(size, np.full(own, 1 / own), _CANDIDATES * replicates) / size for size in (tables, own)
    )
    # Keep the pairs whose difference has the variance of two independent runs: resampling varies too little on average.
    variance = ((one - other) ** 2).sum(axis=1)
    kept = np.argsort(np.abs(variance - 1 / tables - 1 / own), kind="stable")[:replicates]
    return np.array([(weights @ reference > step).sum() for weights in (one - other)[kept]], dtype=np.float64)


def _check_step(step: float) -> None:
    if not 0 < step < 1:
        raise InputError("step", "it must be between 0 and 1", "0.2 is an increase of 20 percentage points of risk")
