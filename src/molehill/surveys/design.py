"""The survey design: weights, strata, clusters, finite population correction and replicate weights."""

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.arrays import Floats, freeze
from molehill.errors import InputError, check_choice, check_names, check_number
from molehill.tables.schema import column_numbers, refuse_infinite
from molehill.tables.table import Table, as_table, find_columns

ReplicateMethod = Literal["brr", "fay", "jk1", "jkn", "bootstrap", "successive"]
Single = Literal["error", "adjust", "certainty"]
Centre = Literal["estimate", "mean"]

# Relative tolerance of the rank of replicate weights (the square of that of R's survey package).
_RANK = 1e-10


@dataclass(frozen=True, repr=False)
class SurveyDesign:
    """The variables that describe the sampling design.

    Attributes
    ----------
    weight
        The survey weight: the number of population units that a record represents.
    stratum
        The stratum.
    cluster
        The primary sampling unit (cluster). Clusters are treated as drawn with replacement, or, with `population`,
        without; later stages enter through their totals.
    nested
        Whether cluster numbers restart in every stratum.
    population
        For the finite population correction: the number of first-stage units (clusters, or records without clusters)
        in the stratum, or their sampling fraction if no value is above 1.
    single
        Treatment of a stratum with a single cluster: "error"; "adjust" (deviation from the mean of all clusters); or
        "certainty" (no variance).
    replicates
        Variables of replicate weights; variances are then computed from these instead of strata and clusters.
    method
        Type of replicate weights: "brr" (balanced half-samples), "fay" (with `fay`), "jk1" (one cluster left out),
        "jkn" (one cluster of a stratum left out; needs `factors`), "bootstrap", "successive" (successive differences,
        as in the American Community Survey: 4 / R).
    fay
        Fay's coefficient, from 0 to below 1.
    scale
        Factor of the sum of squared differences; by default that of the method.
    factors
        Factor of every replicate; for "jkn", (n_h - 1) / n_h of the stratum in which a cluster was left out.
    centre
        Squared differences are taken from the "estimate" with the full weights, or from the "mean" of the replicates.

    Examples
    --------
    >>> table = pd.DataFrame({"w": [2.0, 2.0, 5.0, 5.0], "area": ["A", "A", "B", "B"]})
    >>> SurveyDesign(weight="w", stratum="area").read(table)
    Sample(4 records, 2 strata, 4 units of the first stage, 2 degrees of freedom)
    """

    weight: str
    stratum: str | None = None
    cluster: str | None = None
    nested: bool = False
    population: str | None = None
    single: Single = "error"
    replicates: tuple[str, ...] = ()
    method: ReplicateMethod | None = None
    fay: float = 0.0
    scale: float | None = None
    factors: tuple[float, ...] = ()
    centre: Centre = "estimate"

    def __post_init__(self) -> None:
        check_choice("single", self.single, get_args(Single))
        check_choice("centre", self.centre, get_args(Centre))
        object.__setattr__(self, "replicates", check_names("replicates", self.replicates))
        object.__setattr__(self, "factors", tuple(as_numbers("factors", self.factors).ravel().tolist()))
        seen: dict[str, str] = {}
        for role, name in self.columns:
            if not isinstance(name, str):
                problem = f"a variable's name must be text, not {type(name).__name__}"
                raise InputError(role, problem, "Give the name of a variable")
            if name in seen:
                raise InputError(role, f"{name!r} is also the {seen[name]}", "Name a different variable for each")
            seen[name] = role
        self._check_replicates()

    @property
    def columns(self) -> list[tuple[str, str]]:
        """All design variables, with their roles."""
        return [("weight", self.weight), *self._single, *(("replicates", name) for name in self.replicates)]

    @property
    def _single(self) -> list[tuple[str, str]]:
        parts = [("stratum", self.stratum), ("cluster", self.cluster), ("population", self.population)]
        return [(role, name) for role, name in parts if name is not None]

    def __repr__(self) -> str:
        given = ((one.name, getattr(self, one.name), one.default) for one in fields(self))
        return f"SurveyDesign({', '.join(f'{name}={value!r}' for name, value, default in given if value != default)})"

    def among(self, columns: Collection[str]) -> "SurveyDesign | None":
        """The part of the design that these variables contain; None without the weight.

        Replicate weights are used only if all are present. Without replicates, strata and clusters, records count as
        drawn independently.

        Examples
        --------
        >>> SurveyDesign(weight="w", stratum="area").among(["w", "pay"])
        SurveyDesign(weight='w')
        """
        if self.weight not in columns:
            return None
        present = {role: name for role, name in self._single if name in columns}
        about: dict[str, Any] = {"single": self.single, "nested": self.nested and "cluster" in present}
        if self.replicates and {*self.replicates} <= {*columns}:
            names = ("replicates", "method", "fay", "scale", "factors", "centre")
            about |= {name: getattr(self, name) for name in names}
        if present.keys() < {role for role, _ in self._single}:
            # Population sizes refer to strata and clusters.
            present.pop("population", None)
        return SurveyDesign(self.weight, **present, **about)

    def read(self, data: Any) -> "Sample":
        """Check the design variables of a dataset, and return them as arrays."""
        table = as_table(data)
        for role, name in self.columns:
            find_columns(table, name, role)
        weights = _read_weights(table, self.weight)
        cluster, stratum_of = _read_units(table, self)
        fractions = _read_fractions(table, self, stratum_of[cluster], stratum_of)
        if not self.replicates:
            _check_single(self, stratum_of, fractions)
        replicates = _read_replicates(table, self) if self.replicates else None
        drawn = (freeze(weights), freeze(cluster), freeze(stratum_of), freeze(fractions))
        return Sample(*drawn, self.single, replicates, self.weight)

    def _check_replicates(self) -> None:
        if not self.replicates:
            if self.method is not None:
                raise InputError("method", "there are no replicate weights", "Name their variables in replicates")
            return
        if self.method is None:
            raise InputError("method", "replicate weights need a method", _methods())
        check_choice("method", self.method, get_args(ReplicateMethod))
        if len(self.replicates) < 2:
            raise InputError("replicates", "only one is named", "Name all variables of replicate weights")
        fay = check_number("fay", self.fay)
        if not 0 <= fay < 1 or (self.method != "fay" and fay > 0):
            problem = "it must be from 0 to below 1, and 0 for other methods than 'fay'"
            raise InputError("fay", problem, "Use the value in the documentation of the file, often 0.5 or 0.3")
        if self.scale is not None:
            check_number("scale", self.scale, above=0.0)
        if self.method == "jkn" and not self.factors:
            raise InputError("factors", "'jkn' needs one per replicate", "Give (n_h - 1) / n_h of the stratum of each")
        wrong = not all(np.isfinite(factor) and factor >= 0 for factor in self.factors)
        if self.factors and (wrong or len(self.factors) != len(self.replicates)):
            raise InputError("factors", "they must be one number, 0 or larger, per replicate", "Give one for each")


@dataclass(frozen=True, eq=False)
class Replicates:
    """Replicate weights: `times[i]` times `values[r, units[i]]` for record i; and a factor of each replicate."""

    values: Floats
    units: NDArray[np.int64]
    times: Floats
    factors: Floats
    centre: Centre
    degrees: float


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """A survey design as arrays.

    Attributes
    ----------
    weights
        Survey weight of every record.
    cluster
        First-stage unit of every record, numbered from 0: a cluster, or the record itself.
    stratum_of
        Stratum of every first-stage unit.
    fractions
        Sampling fraction of every stratum; 0 without a finite population correction.
    single
        Treatment of a stratum with a single unit.
    replicates
        Replicate weights, if variances are computed from these.
    weight
        Name of the weight variable.
    """

    weights: Floats
    cluster: NDArray[np.int64]
    stratum_of: NDArray[np.int64]
    fractions: Floats
    single: Single = "error"
    replicates: Replicates | None = None
    weight: str = ""

    @property
    def records(self) -> int:
        """Number of records."""
        return len(self.weights)

    @property
    def expands(self) -> bool:
        """Whether the weights add up to a population rather than to the number of records (weights of mean 1)."""
        return float(self.weights.sum()) > 1.01 * self.records

    @property
    def normalised(self) -> Floats:
        """Weights scaled to mean 1; exactly 1 if all are equal."""
        if (self.weights == self.weights[0]).all():
            return np.ones(self.records)
        return self.weights / self.weights.mean()

    @property
    def effective(self) -> float:
        """Kish's effective sample size."""
        return effective_size(self.weights)

    @property
    def expanded(self) -> NDArray[np.intp]:
        """Row numbers that resample the sample to its own size in proportion to the weights (systematic sampling)."""
        upto = np.cumsum(self.weights)
        return np.searchsorted(upto, (np.arange(self.records) + 0.5) * (upto[-1] / self.records))

    @property
    def degrees(self) -> float:
        """Degrees of freedom of variances of the whole sample."""
        return self.degrees_within(np.ones(self.records, dtype=bool))

    def degrees_within(self, rows: NDArray[np.bool_]) -> float:
        """First-stage units minus strata of records with a weight, or the rank of replicate weights minus 1."""
        if self.replicates is not None:
            return self.replicates.degrees
        units = np.unique(self.cluster[rows & (self.weights > 0)])
        return max(float(len(units) - len(np.unique(self.stratum_of[units]))), 1.0)

    def __repr__(self) -> str:
        strata, units = len(self.fractions), len(self.stratum_of)
        many = f"{strata:,} strat{'um' if strata == 1 else 'a'}, {units:,} units of the first stage"
        if self.replicates is not None:
            many = f"{len(self.replicates.factors):,} replicates"
        return f"Sample({self.records:,} records, {many}, {self.degrees:.0f} degrees of freedom)"


def effective_size(weights: Floats) -> float:
    """Kish's effective sample size: (sum of w)^2 / sum of w^2."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def as_numbers(argument: str, given: Any) -> Floats:
    """Convert to an array of numbers; the error does not quote a value."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(argument, "it contains something that is not a number", "Give numbers only") from None


def _rank(values: Floats) -> int:
    sizes = np.linalg.eigvalsh(values @ values.T)
    return int((sizes > _RANK * sizes[-1]).sum())


def _read_weights(table: Table, name: str) -> Floats:
    weights = _read_numbers(table, name, "weight").copy()
    negative = int((weights < 0).sum())
    if negative:
        problem = f"{negative:,} records have a negative value of {name!r}"
        raise InputError("weight", problem, "Correct them, or name another variable")
    if not weights.any():
        raise InputError("weight", f"{name!r} is zero for every record", "Name another variable")
    return weights


def _read_numbers(table: Table, name: str, role: str) -> Floats:
    values = column_numbers(table, name, role)
    refuse_infinite(values, name, role)
    _refuse_missing(np.isnan(values), name, role)
    return values


def _refuse_missing(absent: Any, name: str, role: str) -> None:
    number = int(np.sum(absent))
    if number:
        problem = f"{number:,} records have a missing value of {name!r}"
        raise InputError(role, problem, "Impute it, or remove records that are not in the sample")


def _read_codes(table: Table, name: str | None, role: str) -> NDArray[np.int64] | None:
    if name is None:
        return None
    codes, _ = pd.factorize(table.frame[name])
    _refuse_missing(codes < 0, name, role)
    return codes.astype(np.int64)


def _read_units(table: Table, design: SurveyDesign) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The unit of every record, and the stratum of every unit."""
    stratum, cluster = (_read_codes(table, getattr(design, role), role) for role in ("stratum", "cluster"))
    stratum = np.zeros(len(table.frame), dtype=np.int64) if stratum is None else stratum
    if cluster is None:
        return np.arange(len(stratum)), stratum
    both, pairs = pd.factorize(stratum * (cluster.max() + 1) + cluster)
    crossing = len(pairs) - (int(cluster.max()) + 1)
    if crossing and not design.nested:
        problem = f"clusters of {design.cluster!r} lie in more than one stratum of {design.stratum!r}"
        remedy = "If cluster numbers restart in every stratum, set nested; otherwise correct them"
        raise InputError("cluster", problem, remedy)
    stratum_of = np.empty(len(pairs), dtype=np.int64)
    stratum_of[both] = stratum
    return both.astype(np.int64), stratum_of


def _read_fractions(
    table: Table, design: SurveyDesign, stratum: NDArray[np.int64], stratum_of: NDArray[np.int64]
) -> Floats:
    """Sampling fraction of every stratum."""
    drawn = np.bincount(stratum_of).astype(np.float64)
    name = design.population
    if name is None:
        return np.zeros(len(drawn))
    values = _read_numbers(table, name, "population")
    if (values <= 0).any():
        problem = f"{int((values <= 0).sum()):,} records have a value of {name!r} that is not above 0"
        raise InputError("population", problem, "Give numbers of units, or fractions")
    by_stratum = np.empty(len(drawn))
    by_stratum[stratum] = values
    changing = len(np.unique(stratum[by_stratum[stratum] != values]))
    if changing:
        where = f"within {changing:,} of {len(drawn):,} strata" if design.stratum else "and there is no stratum"
        problem = f"{name!r} is not the same for all records, {where}"
        raise InputError("population", problem, "Name the stratum variable it refers to, or correct it")
    if (by_stratum <= 1).all():
        return by_stratum
    if (by_stratum < 1).any():
        problem = f"{name!r} contains both fractions and numbers above 1"
        raise InputError("population", problem, "Give either numbers of units or fractions in all strata")
    fewer = int((by_stratum < drawn).sum())
    if fewer:
        units = "clusters" if design.cluster else "records"
        problem = f"in {fewer:,} strata {name!r} is smaller than the number of {units} in the sample"
        raise InputError("population", problem, f"Give the number of {units} of the stratum in the population")
    return drawn / by_stratum


def _check_single(design: SurveyDesign, stratum_of: NDArray[np.int64], fractions: Floats) -> None:
    if len(stratum_of) == 1:
        what = f"{design.cluster!r} is the same for every record" if design.cluster else "there is one record"
        raise InputError("cluster" if design.cluster else "data", what, "A variance needs at least two units")
    alone = int(((np.bincount(stratum_of) == 1) & (fractions < 1)).sum())
    if alone and design.single == "error":
        units = "cluster" if design.cluster else "record"
        problem = f"{alone:,} strata of {design.stratum!r} have a single {units}"
        remedy = "Combine such strata, or use single='adjust', or 'certainty' for units drawn with certainty"
        raise InputError("stratum", problem, remedy)


def _read_replicates(table: Table, design: SurveyDesign) -> Replicates:
    # Replicate weights may be negative, for example in the American Community Survey.
    values = np.stack([_read_numbers(table, name, "replicates") for name in design.replicates])
    number = len(values)
    scales = {"jk1": (number - 1) / number, "jkn": 1.0, "successive": 4 / number}
    usual = scales.get(design.method or "", 1 / (number * (1 - design.fay) ** 2))
    factors = np.array(design.factors or np.ones(number)) * (usual if design.scale is None else design.scale)
    records = np.arange(values.shape[1])
    degrees = max(float(_rank(values) - 1), 1.0)
    return Replicates(freeze(values), records, np.ones(len(records)), freeze(factors), design.centre, degrees)


def _methods() -> str:
    return f"Choose a method: {', '.join(map(repr, get_args(ReplicateMethod)))}"
