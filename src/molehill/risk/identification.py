"""Identification risk of every record, in the confidential data and in released datasets, risk weights and match rates.

The intruder knows a person's key variables and true sensitive values, and searches a dataset for records with the same
pattern (combination of key-variable values) whose sensitive values are close to the true ones. A record is at risk if
it has few close neighbours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from molehill.arrays import Booleans, Floats, Integers, freeze
from molehill.errors import InputError, check_number, check_order
from molehill.risk import balls, kernels
from molehill.risk.intruder import Intruder, Reading, View, as_view, read_released
from molehill.tables.intervals import Figure
from molehill.tables.patterns import Patterns
from molehill.tables.schema import Schema

# Confidence level of the true match rate beyond chance.
_LEVEL = 0.99


@dataclass(frozen=True, eq=False, repr=False)
class ConfidentialRisk:
    """Confidential risk of every record.

    Attributes
    ----------
    risk
        One per record, from 0 to 1; NaN for a record that is left out (`missing_values="keep"`).
    pattern_size
        Records of the pattern, including the record itself.
    within
        Records of the pattern within the radius, including the record itself.
    policies
        Number of records of every special case, by its description.
    order
        Order of the risk.
    patterns
        Patterns of the key variables; `patterns.codes` is the pattern of every record.
    schema
        Role and kind of the key and sensitive variables, with the reason.
    """

    risk: Floats
    pattern_size: Integers
    within: Integers
    policies: Mapping[str, int]
    order: int
    patterns: Patterns
    schema: Schema

    def __repr__(self) -> str:
        mean = float(np.nanmean(self.risk))
        return f"ConfidentialRisk(order={self.order}, {len(self.risk):,} records, mean risk {mean:.4f})"


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseRisk:
    """Risk of every confidential record in released datasets.

    Attributes
    ----------
    by_dataset
        (datasets, records): risk of every record in every dataset.
    realised
        Mean over the datasets, one per record.
    is_close
        (datasets, records): T, whether the record's released values are close to its true ones, in its true pattern.
    """

    by_dataset: Floats
    realised: Floats
    is_close: Booleans

    def __repr__(self) -> str:
        tables, records = self.by_dataset.shape
        mean = float(np.nanmean(self.realised))
        return f"ReleaseRisk({tables} datasets, {records:,} records, mean risk {mean:.4f})"


@dataclass(frozen=True)
class MatchRates:
    """Match rates of an intruder who declares a match wherever exactly one released record is close.

    One value per dataset. Without any unique match, `false` is 0.

    Attributes
    ----------
    expected
        Expected number of correct matches if one close record is picked at random: the sum of T / c.
    true
        Correct unique matches as a share of all records (true match rate).
    false
        Wrong unique matches as a share of the unique matches (false match rate).
    unique
        Number of unique matches, correct or not.
    """

    expected: Floats
    true: Floats
    false: Floats
    unique: NDArray[np.int64]

    def mean(self) -> dict[str, float]:
        """Average each rate over the datasets."""
        return {name: float(getattr(self, name).mean()) for name in ("expected", "true", "false", "unique")}


def confidential_risk(data: Any, intruder: Intruder | None = None, *, order: int = 1) -> ConfidentialRisk:
    """Compute the confidential risk of every record.

    Order 1 (the paper's Marginal) is the share of the other records of the pattern that are not close. Order k (order
    2 is the paper's Pairwise) is the mean, over all sets of the record and k - 1 others of its pattern, of the share
    of the remaining records of the pattern that are close to no record of the set. With `c_h` the number of balls that
    contain record h and M the size of the pattern, it equals

        risk_i = sum over h not in B_i of C(M - 1 - c_h, k - 1) / ((M - k) C(M - 1, k - 1)).

    With `Intruder(count_self=True)`, as in the paper, the set itself is counted and M replaces M - k.

    Parameters
    ----------
    data
        A pandas or polars frame, a `Table`, or the result of `Intruder.view`.
    intruder
        Key variables, sensitive variables and radius; not needed for a view.
    order
        1 (marginal), 2 (pairwise), or higher.

    References
    ----------
    Hu, Savitsky and Williams, Risk-Efficient Bayesian Data Synthesis for Privacy Protection, equations 2 and 6 to 9.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 110.0, 120.0, 900.0]})
    >>> confidential_risk(data, Intruder(known="town", sensitive="pay", radius=0.1)).risk
    array([0.66666667, 0.33333333, 0.66666667, 1.        ])
    """
    order = check_order(order)
    view = as_view(data, intruder)
    found = _measure_confidential(view, order)
    if not view.intruder.knowledge_probability:
        return found
    # An intruder who knows no sensitive variable identifies only the records treated as maximum risk.
    nobody = _coverable(view.sizes, order, view.intruder)[1][view.patterns.codes] == 0
    parts = [
        (chance, nobody if part is None else _measure_confidential(part, order).risk) for chance, part in view.may_know
    ]
    return replace(found, risk=_mean_over_sets(view, parts))


def _mean_over_sets(view: View, parts: Sequence[tuple[float, Any]]) -> Floats:
    """Average over the sets of variables that the intruder may know; NaN risks count as 0."""
    mean = sum(chance * np.nan_to_num(np.asarray(risk, dtype=np.float64)) for chance, risk in parts)
    return freeze(np.where(view.part, mean, np.nan))


def _measure_confidential(view: View, order: int) -> ConfidentialRisk:
    sizes = view.sizes
    orders, coverable = _coverable(sizes, order, view.intruder)
    covered = balls.cover(
        view.values,
        view.cells,
        size=sizes[view.pattern_of_cell],
        order=orders[view.pattern_of_cell],
        radius=view.radius,
        floor=view.min_radius,
    )
    # Summed in increasing order, so that the result does not depend on the numbering of cells.
    rising = np.argsort(covered.total, kind="stable") if view.by_cell is not view.patterns else slice(None)
    totals = np.bincount(view.pattern_of_cell[rising], covered.total[rising], minlength=len(sizes))
    risk, pattern_size = covered.inside, np.empty(view.records, dtype=balls.count_type(view.records))

    def finish(first: int, last: int) -> None:
        kernels.finish_risk(view.patterns.codes, view.part, totals, sizes, coverable, first, last, risk, pattern_size)

    balls.over_records(finish, view.records)
    frozen = (freeze(risk), freeze(pattern_size), freeze(covered.within))
    return ConfidentialRisk(*frozen, _count_policies(view, order), order, view.patterns, view.schema)


def risk_weights(
    risk: ConfidentialRisk | Floats | Sequence[float], *, scale: float = 1.0, shift: float = 0.0
) -> Floats:
    """Compute risk weights: the higher a record's risk, the less it influences the model.

        weight_i = clip(scale * (1 - risk_i) + shift, 0, 1)

    Scale and shift are the paper's c and g. A larger scale raises the weights of low-risk records most; a larger shift
    raises all weights equally.

    Parameters
    ----------
    risk
        The result of `confidential_risk`, or one risk from 0 to 1 per record. A record without risk (its sensitive
        value is missing) has weight 0.
    scale
        c, 0 or larger.
    shift
        g, any finite number.

    References
    ----------
    Hu, Savitsky and Williams, equation 3 and supplement, section 7.

    Examples
    --------
    >>> risk_weights([0.0, 0.5, 0.7, 1.0])
    array([1. , 0.5, 0.3, 0. ])
    >>> risk_weights([0.0, 0.5, 0.8, 1.0], scale=1.5)
    array([1.  , 0.75, 0.3 , 0.  ])
    """
    for argument, number in (("scale", scale), ("shift", shift)):
        check_number(argument, number)
    if scale < 0:
        raise InputError("scale", "it is negative, which would give high-risk records higher weights", "Use 0 or more")
    whole = isinstance(risk, ConfidentialRisk)
    values = np.asarray(risk.risk if whole else risk, dtype=np.float64)
    part = ~np.isnan(values) if whole else np.ones(values.shape, dtype=bool)
    if values.ndim != 1:
        raise InputError("risk", f"it has {values.ndim} dimensions", "Give one risk per record")
    # NaN fails the comparison as well.
    if not ((values[part] >= 0) & (values[part] <= 1)).all():
        raise InputError("risk", "it has values outside 0 to 1", "Give risks as returned by confidential_risk")
    weights = np.clip(scale * (1 - values) + shift, 0.0, 1.0)
    weights[~part] = 0.0
    return freeze(weights)


def release_risk(
    data: Any, released: Any, intruder: Intruder | None = None, *, id_column: str | None = None
) -> ReleaseRisk:
    """Compute the identification risk of every confidential record in released datasets.

    The intruder searches the records of the person's true pattern in a released dataset for values within the radius
    of the TRUE value. If the record's own released value is close (T = 1), its risk is the share of the other records
    of the pattern that are not close (with `count_self=True`, as in the paper, the share of all); otherwise it is 0.
    Patterns are formed from the key variables of each released dataset. A record that is unique there has risk 1 if
    T = 1.

    Parameters
    ----------
    data, intruder
        The confidential data, as in `confidential_risk`.
    released
        One released dataset, or a sequence of them.
    key
        Variable that identifies a record in all datasets; without it records are linked by position. A record without
        a released counterpart has T = 0.

    References
    ----------
    Hu, Savitsky and Williams, equation 1.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 110.0, 120.0, 900.0]})
    >>> released = data.assign(pay=[105.0, 300.0, 118.0, 200.0])
    >>> release_risk(data, released, Intruder(known="town", sensitive="pay", radius=0.1)).realised
    array([1., 0., 1., 0.])
    """
    view = as_view(data, intruder)
    readings = read_released(view, released, id_column)
    found = _measure_released(view, readings)
    if not view.intruder.knowledge_probability:
        return found
    # An intruder who knows no sensitive variable identifies only uniques on the key variables.
    sizes = np.stack([reading.size for reading in readings])
    own = np.stack(
        [reading.patterns if reading.rows is None else reading.patterns[reading.rows] for reading in readings]
    )
    nobody = (sizes == 1) & (own == view.patterns.codes)
    parts = [
        (chance, nobody if part is None else _measure_released(part, read_released(part, readings)).by_dataset)
        for chance, part in view.may_know
    ]
    by_dataset = _mean_over_sets(view, parts)
    return replace(found, by_dataset=by_dataset, realised=freeze(by_dataset.mean(axis=0)))


def _measure_released(view: View, readings: Sequence[Reading]) -> ReleaseRisk:
    matches = _match_tables(view, readings)
    by_dataset = np.empty((len(matches), view.records))
    others = not view.intruder.count_self
    for number, match in enumerate(matches):
        alone = kernels.risk_from_counts(match.within, match.size, match.linked, others, by_dataset[number])
        if view.intruder.small_patterns == "error":
            refuse_alone(number + 1, alone)
    linked = np.stack([match.linked for match in matches])
    by_dataset[:, ~view.part] = np.nan
    return ReleaseRisk(freeze(by_dataset), freeze(by_dataset.mean(axis=0)), freeze(linked))


def risk_floor(data: Any, intruder: Intruder | None = None) -> Floats:
    """Compute the baseline risk of every record: the expected risk if values depended on the key variables only.

    Every value is drawn at random from the confidential values of its pattern. It is close to the true value with
    probability p, the share of the pattern (the record itself included) within the radius, and every other value is
    not close with probability 1 - p, so that the expected risk is

        baseline_i = p (1 - p), or p (1 - p) (M - 1) / M with `count_self=True`.

    It is a reference value, not a lower bound: a release can lie below it, for example if a model ignores some key
    variables. A unique record has baseline 0, a record that is left out NaN.

    Parameters
    ----------
    data, intruder
        The confidential data, as in `confidential_risk`.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 110.0, 120.0, 900.0]})
    >>> risk_floor(data, Intruder(known="town", sensitive="pay", radius=0.1))
    array([0.25  , 0.1875, 0.25  , 0.1875])
    """
    view = as_view(data, intruder)
    if not view.intruder.knowledge_probability:
        return _measure_floor(view)
    # An intruder who knows no sensitive variable has baseline 0.
    return _mean_over_sets(view, [(chance, _measure_floor(part)) for chance, part in view.may_know if part is not None])


def _measure_floor(view: View) -> Floats:
    found = _measure_confidential(view, 1)
    size = np.where(view.part, found.pattern_size, np.nan)
    share = found.within / size
    outside = share * (1 - share)
    return freeze(outside if not view.intruder.count_self else outside * (size - 1) / size)


def match_rates(
    data: Any, released: Any, intruder: Intruder | None = None, *, id_column: str | None = None
) -> MatchRates:
    """Compute the expected, true and false match rates in released datasets (Reiter and Mitra).

    For every record, c is the number of released records of its true pattern within the radius of its true value, and
    T whether its own released record is one of them. The intruder declares a match if c = 1.

    Parameters
    ----------
    data, released, intruder, key
        As in `release_risk`.

    References
    ----------
    Reiter and Mitra, Estimating Risks of Identification Disclosure in Partially Synthetic Data (2009).

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 110.0, 120.0, 900.0]})
    >>> released = data.assign(pay=[105.0, 300.0, 118.0, 200.0])
    >>> match_rates(data, released, Intruder(known="town", sensitive="pay", radius=0.1)).mean()
    {'expected': 2.0, 'true': 0.5, 'false': 0.0, 'unique': 2.0}
    """
    view = as_view(data, intruder)
    rows = []
    for match in _match_tables(view, read_released(view, released, id_column)):
        unique = match.within == 1
        number = int(unique.sum())
        right = int((unique & match.linked).sum())
        expected = float((match.linked / np.maximum(match.within, 1)).sum())
        rows.append((expected, right / int(view.part.sum()), (number - right) / max(number, 1), number))
    expected, true, false, unique = (np.array(column) for column in zip(*rows, strict=True))
    return MatchRates(*map(freeze, (expected, true, false, unique)))


def matches_beyond_chance(
    data: Any,
    released: Any,
    intruder: Intruder | None = None,
    *,
    key: str | None = None,
    alike: Floats | None = None,
) -> tuple[Floats, Figure]:
    """Compare the true match rate with the rate expected by chance.

    If the released values of a pattern of size M were permuted at random, a unique match would be correct with
    probability 1 / M. For a record that is unique in its pattern, all records are used: the chance is the share of
    the other released records whose values are close. Unchanged variables may predict the value: where no other record
    of the pattern is close, the match is correct with the probability that the own value is close as predicted by them
    (`alike`). Of the two, the larger on average is used.

    Parameters
    ----------
    data, released, intruder, key
        As in `release_risk`.
    alike
        (datasets, records): the chance that the own value is close, as other variables predict it.

    Returns
    -------
    tuple
        The rate expected by chance in every released dataset; and the true match rate above it, averaged over the
        datasets, with a 99% interval over the records.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 110.0, 120.0, 900.0]})
    >>> released = data.assign(pay=[300.0, 400.0, 500.0, 905.0])
    >>> by_chance, gain = matches_beyond_chance(data, released, Intruder(known="town", sensitive="pay", radius=0.1))
    >>> by_chance.tolist(), gain.value
    ([0.0625], 0.1875)
    """
    view = as_view(data, intruder)
    readings = read_released(view, released, key)
    matches, anybody = _match_tables(view, readings), _share_of_anybody(view, readings)
    chances = np.stack(
        [
            np.where(match.size == 1, share, (match.within == 1) / np.maximum(match.size, 1))
            for match, share in zip(matches, anybody, strict=True)
        ]
    )
    if alike is not None:
        # Nobody else is close, whether or not the own value is.
        predicted = np.where(np.stack([match.within == match.linked for match in matches]), alike, 0.0)
        chances = max(chances, predicted, key=lambda one: one[:, view.part].mean())
    right = np.stack([(match.within == 1) & match.linked for match in matches])
    by_chance, gains = chances[:, view.part], (right - chances)[:, view.part].mean(axis=0)
    # The standard error is at least that of one additional match.
    error = max(float(gains.std()), 1 / np.sqrt(len(gains))) / np.sqrt(len(gains))
    gain, reach = float(gains.mean()), float(ndtri((1 + _LEVEL) / 2)) * error
    return freeze(by_chance.mean(axis=1)), Figure(gain, gain - reach, min(gain + reach, 1.0))


def risk_by_chance(
    data: Any, released: Any, intruder: Intruder | None = None, *, alike: Floats | None = None
) -> dict[str, tuple[Floats, Floats]]:
    """Probability that a released value is close to the true one by chance, and the risk of the record if it is.

    By chance it is somebody else's: of the "pattern" (of anybody, for who is alone in it), or of "anybody". Where
    variables that are released unchanged say how likely it is, these are a third way, "alike". The risk if it is close
    is the share of the others of the pattern that are not, and 1 for who is alone.

    Parameters
    ----------
    data, released, intruder
        As in `release_risk`.
    alike
        (datasets, records): how likely the own value is close, as other variables predict it.

    Returns
    -------
    dict
        By way, the chances and the risks, both (datasets, records).

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A", "A", "A", "B"], "pay": [100.0, 105.0, 400.0, 900.0]})
    >>> released = data.assign(pay=[101.0, 300.0, 404.0, 700.0])
    >>> found = risk_by_chance(data, released, Intruder(known="town", sensitive="pay", radius=0.1))
    >>> [one.tolist() for one in found["pattern"]]
    [[[0.0, 0.5, 0.0, 0.0]], [[1.0, 0.5, 1.0, 1.0]]]
    """
    view = as_view(data, intruder)
    readings = read_released(view, released)
    anybody, matches = _share_of_anybody(view, readings), _match_tables(view, readings)
    others = np.stack([match.size for match in matches]) - 1
    within = np.stack([match.within - match.linked for match in matches])
    chances = np.where(others > 0, within / np.maximum(others, 1), anybody)
    counted = others + view.intruder.count_self
    risks = np.where(counted > 0, (others - within) / np.maximum(counted, 1), 1.0)
    ways = {"pattern": chances, "anybody": anybody, **({} if alike is None else {"alike": alike})}
    return {name: (one, risks) for name, one in ways.items()}


def pick_chances(data: Any, released: Any, intruder: Intruder | None = None, *, id_column: str | None = None) -> Floats:
    """Compute the match probability T / c of every record, (datasets, records).

    It is the probability that an intruder who picks one close record at random picks the right one; T and c as in
    `match_rates`. NaN for a record that is left out.

    Parameters
    ----------
    data, released, intruder, key
        As in `release_risk`.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 110.0, 120.0, 900.0]})
    >>> released = data.assign(pay=[105.0, 300.0, 118.0, 105.0])
    >>> pick_chances(data, released, Intruder(known="town", sensitive="pay", radius=0.1))
    array([[0.5, 0. , 1. , 0. ]])
    """
    view = as_view(data, intruder)
    matches = _match_tables(view, read_released(view, released, id_column))
    chances = np.stack([match.linked / np.maximum(match.within, 1) for match in matches])
    return freeze(np.where(view.part, chances, np.nan))


@dataclass(frozen=True, eq=False)
class _Match:
    """c, M and T of every confidential record in one released dataset."""

    within: NDArray[np.int64]
    size: NDArray[np.int64]
    linked: Booleans


def _share_of_anybody(view: View, readings: Sequence[Reading]) -> Floats:
    """(datasets, records): the share of all other released values that are close."""
    anybody = view.without_known
    matches = _match_tables(anybody, read_released(anybody, readings))
    return np.stack([(match.within - match.linked) / np.maximum(match.size - 1, 1) for match in matches])


def _coverable(sizes: Integers, order: int, intruder: Intruder) -> tuple[Integers, Integers]:
    """Order to compute for every pattern, and the number of records it is a share of (0: maximum risk)."""
    others = not intruder.count_self
    small = (sizes == 1) | (sizes < order + others)
    if intruder.small_patterns == "error":
        refuse_small(*count_small(sizes, order, intruder), order)
    orders = np.where(small, 1, order)
    coverable = sizes - orders if others else sizes.copy()
    coverable[small if intruder.small_patterns == "maximum_risk" else sizes <= 1] = 0
    return orders, coverable


def count_small(sizes: Integers, order: int, intruder: Intruder) -> tuple[int, int]:
    """Count the patterns that are too small for an order, and their records."""
    small = (sizes == 1) | (sizes < order + (not intruder.count_self))
    found = sizes[small & (sizes > 0)]
    return len(found), int(found.sum())


def refuse_small(patterns: int, records: int, order: int) -> None:
    """Raise an error if patterns are too small for an order."""
    if patterns:
        raise InputError(
            "small_patterns",
            f"{patterns} patterns ({records} records) are too small for risk of order {order}",
            "Use coarser key variables, a lower order, or small_patterns='maximum_risk' (risk 1) or 'marginal'",
        )


def refuse_alone(table: int, records: int) -> None:
    """Raise an error if linked records are unique in their pattern in released dataset number `table`."""
    if records:
        raise InputError(
            "small_patterns",
            f"in released dataset {table}, {records} records are unique in their pattern",
            "Use coarser key variables, or small_patterns='maximum_risk' (risk 1)",
        )


def _count_policies(view: View, order: int) -> dict[str, int]:
    part, sizes = view.part, view.sizes
    negative, flat, widened = kernels.count_edges(view.values, part, view.radius, view.min_radius)
    known_missing = np.zeros(len(part), dtype=bool)
    for name in view.schema.having("known"):
        known_missing |= view.table.frame[name].isna().to_numpy()
    small = (sizes > 1) & (sizes < order)
    whole = (sizes > 1) & (sizes == order)
    return {
        "unique in the pattern": int((sizes == 1).sum()),
        "in a pattern smaller than the order": int(sizes[small].sum()),
        "in a pattern as small as the order": int(sizes[whole].sum()),
        "negative value": int(negative),
        "radius of zero": int(flat),
        "minimum radius used": int(widened),
        "missing key variable": int(known_missing.sum()),
        "missing sensitive value": int((~part).sum()),
    }


def _match_tables(view: View, readings: Sequence[Reading]) -> list[_Match]:
    low, high = balls.bounds(view.values, view.radius, view.min_radius)
    grouped = balls.group(view.cells, view.by_cell.number)
    around = balls.sort_cells(view.values, grouped)
    # Datasets with unchanged key variables, the usual case, are counted together.
    alike = all(reading.cells is view.cells for reading in readings)
    batches = [readings] if alike else [[reading] for reading in readings]
    matches = []
    for batch in batches:
        points = grouped if alike else balls.group(batch[0].cells, view.by_cell.number)
        counts = balls.count_within([reading.values for reading in batch], points, low, high, around)
        for reading, within in zip(batch, counts, strict=True):
            linked = np.empty(view.records, dtype=bool)
            kernels.find_linked(view.part, view.cells, reading.own_cells, low, high, reading.own_values, linked)
            matches.append(_Match(within, reading.size, linked))
    return matches
