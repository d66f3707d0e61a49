"""Identification risk, record by record: of the confidential table and of released tables.

The intruder knows a person's *known* columns and the true value of the *sensitive* ones, looks in the table at
hand for records with that pattern whose value is close to the true one, and picks one of them at random. A record
is at risk when few others are close to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from molehill.arrays import Booleans, Floats, Integers, freeze
from molehill.errors import InputError, check_order
from molehill.risk import balls, kernels
from molehill.risk.intruder import Intruder, Reading, View, as_view, read_released
from molehill.tables.intervals import Figure
from molehill.tables.patterns import Patterns
from molehill.tables.schema import Schema

# Of the interval of what is no chance.
_LEVEL = 0.99


@dataclass(frozen=True, eq=False, repr=False)
class ConfidentialRisk:
    """The risk of every record of a confidential table.

    Attributes
    ----------
    risk
        One per record, in the table's order, from 0 to 1; NaN for a record that takes no part (`missing="keep"`).
    pattern_size
        Records of the pattern, the record itself included.
    within
        Records of the pattern in the record's ball, itself included.
    policies
        How many records each edge policy touched, by its name in words.
    order
        The order of the risk.
    patterns
        The patterns that the known columns form; `patterns.codes` is the pattern of every record.
    schema
        Role and kind of the known and sensitive columns, with the reason.
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
    """The risk of every confidential record when tables are released.

    Attributes
    ----------
    by_dataset
        (tables, records): the risk of every record in every table.
    realised
        One per record: the mean over the tables.
    linked
        (tables, records): T, whether the record's own released value is in the ball around its true value, with
        its true pattern.
    """

    by_dataset: Floats
    realised: Floats
    is_close: Booleans

    def __repr__(self) -> str:
        tables, records = self.by_dataset.shape
        mean = float(np.nanmean(self.realised))
        return f"ReleaseRisk({tables} tables, {records:,} records, mean risk {mean:.4f})"


@dataclass(frozen=True)
class MatchRates:
    """How an intruder fares who declares a match wherever exactly one released record is close.

    Each is one value per table. With no unique match at all, there is no false one either: `false` is 0.

    Attributes
    ----------
    expected
        Expected number of right picks when picking at random among the close: the sum of T / c.
    true
        Unique matches that are right, as a share of all records.
    false
        Unique matches that are wrong, as a share of the unique matches.
    unique
        Number of unique matches.
    """

    expected: Floats
    true: Floats
    false: Floats
    unique: NDArray[np.int64]

    def mean(self) -> dict[str, float]:
        """Average each rate over the tables."""
        return {name: float(getattr(self, name).mean()) for name in ("expected", "true", "false", "unique")}


def confidential_risk(data: Any, intruder: Intruder | None = None, *, order: int = 1) -> ConfidentialRisk:
    """Measure how exposed every record of a confidential table is.

    Order 1 (the paper's Marginal) is the share of the others of the record's pattern that are not close to it. Order k
    is the mean, over all sets of the record and k - 1 others of its pattern, of the share of the rest of the pattern
    that is close to none of the set (order 2: the paper's Pairwise). It is exact for every order: with `c_h` the number
    of balls that hold record h and M the size of the pattern,

        risk_i = sum over h not in B_i of C(M - 1 - c_h, k - 1) / ((M - k) C(M - 1, k - 1)).

    The paper counts the set itself as covered, and divides by M instead of M - k: `Intruder(count_self=True)`.

    Parameters
    ----------
    data
        A pandas or polars frame, a `Table`, or the view that `Intruder.look` gave of one.
    intruder
        What the intruder knows, and what counts as close; a view says it itself.
    order
        1 marginal, 2 pairwise, k.

    Returns
    -------
    ConfidentialRisk
        Frozen; `risk`, `pattern_size`, `within`, `policies` and more.

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
    # To who knows no sensitive column, only who is hidden by nobody stands out.
    nobody = _coverable(view.sizes, order, view.intruder)[1][view.patterns.codes] == 0
    parts = [
        (chance, nobody if part is None else _measure_confidential(part, order).risk) for chance, part in view.may_know
    ]
    return replace(found, risk=_mean_over_sets(view, parts))


def _mean_over_sets(view: View, parts: Sequence[tuple[float, Any]]) -> Floats:
    """The mean over what an intruder may know, each by its chance; who has no value of a set is not found by it."""
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
    # From the smallest up, so that a sum of several cells does not depend on how they happen to be numbered.
    rising = np.argsort(covered.total, kind="stable") if view.by_cell is not view.patterns else slice(None)
    totals = np.bincount(view.pattern_of_cell[rising], covered.total[rising], minlength=len(sizes))
    risk, pattern_size = covered.inside, np.empty(view.records, dtype=balls.count_type(view.records))

    def finish(first: int, last: int) -> None:
        kernels.finish_risk(view.patterns.codes, view.part, totals, sizes, coverable, first, last, risk, pattern_size)

    balls.over_records(finish, view.records)
    frozen = (freeze(risk), freeze(pattern_size), freeze(covered.within))
    return ConfidentialRisk(*frozen, _count_policies(view, order), order, view.patterns, view.schema)


def release_risk(
    data: Any, released: Any, intruder: Intruder | None = None, *, id_column: str | None = None
) -> ReleaseRisk:
    """Measure how exposed every confidential record is once tables are released.

    The intruder draws the ball around the TRUE value and looks in the released table, among the records with the
    true pattern there. The risk is the share of the others among those that are not close, if the record's own
    released value is close (T = 1), and 0 if it is not; the paper takes the share of all (`count_self=True`). Patterns
    are formed in each released table from its own known columns. Where the record is the only one there, and T = 1,
    its risk is 1.

    Parameters
    ----------
    data, intruder
        The confidential table, as in `confidential_risk`.
    released
        One released table, or a sequence of them.
    key
        Column that names the record, in all tables; without it records are linked by position. A record without a
        released counterpart has T = 0.

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
    # Who knows no sensitive column finds only who is alone with the known ones.
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
    """Say what risk every record has when tables tell nothing of a person beyond the pattern.

    Draw every record's value, independently, from the confidential values of its pattern: such a table is blind to the
    person, and yet its value falls into the ball with the chance p, the share of the pattern (the record itself
    included) that is there; each other value stays outside with the chance 1 - p, so that the expected risk is

        floor_i = p (1 - p), and p (1 - p) (M - 1) / M with `count_self=True`.

    Less would mean to avoid the truth, which tells as well. So risk is read against this floor. Who is alone in the
    pattern has floor 0: there is nobody to hide behind, and nothing excuses a risk. NaN for who takes no part.

    Parameters
    ----------
    data, intruder
        The confidential table, as in `confidential_risk`.

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
    # Who knows no sensitive column learns nothing from any.
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
    """Count an intruder's right and wrong matches in released tables.

    For every record let c be the number of released records with its true pattern in the ball around its true
    value, and T whether its own released record is one of them. Where c = 1 the intruder declares a match.

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
    """Compare the true match rate with that of released values in any order within the pattern.

    Where exactly one of the M released values of a pattern is close to a true one, it is the person's own with the
    chance 1 / M, if each could have come to any of them. Who is alone in the pattern is compared with everybody: the
    chance is the share of the other released values that are close. Small patterns have many matches by chance.
    Variables that are released unchanged may say more: where nobody else of the pattern is close, the match is right
    with the chance that the own value is close, as far as these predict it. Of the two, what is more on average counts.

    Parameters
    ----------
    data, released, intruder, key
        As in `release_risk`.
    alike
        (datasets, records): the chance that the own value is close, as other variables predict it.

    Returns
    -------
    tuple
        The rate by chance of every released table; and the mean over the tables of the true match rate above it, with
        an interval of 99% over the records.

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
    # Never less than if one person more had been matched.
    error = max(float(gains.std()), 1 / np.sqrt(len(gains))) / np.sqrt(len(gains))
    gain, reach = float(gains.mean()), float(ndtri((1 + _LEVEL) / 2)) * error
    return freeze(by_chance.mean(axis=1)), Figure(gain, gain - reach, min(gain + reach, 1.0))


def risk_by_chance(
    data: Any, released: Any, intruder: Intruder | None = None, *, alike: Floats | None = None
) -> dict[str, tuple[Floats, Floats]]:
    """Say how likely a released value is close to the true one by chance, and the risk of the record if it is.

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
    """Give every record's chance to be picked by who picks at random among the close: T / c, (tables, records).

    c and T are those of `match_rates`. NaN for a record that takes no part.

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
    """One released table against the confidential one: c, M and T of every confidential record."""

    within: NDArray[np.int64]
    size: NDArray[np.int64]
    linked: Booleans


def _share_of_anybody(view: View, readings: Sequence[Reading]) -> Floats:
    """(datasets, records): the share of all other released values that are close."""
    anybody = replace(view.intruder, known=(), breaks={}).view(view)
    matches = _match_tables(anybody, read_released(anybody, readings))
    return np.stack([(match.within - match.linked) / np.maximum(match.size - 1, 1) for match in matches])


def _coverable(sizes: Integers, order: int, intruder: Intruder) -> tuple[Integers, Integers]:
    """For every pattern the order to work out, and how many records can be covered or not; 0: it is protected."""
    others = not intruder.count_self
    small = (sizes == 1) | (sizes < order + others)
    if intruder.small_patterns == "error":
        refuse_small(*count_small(sizes, order, intruder), order)
    orders = np.where(small, 1, order)
    coverable = sizes - orders if others else sizes.copy()
    coverable[small if intruder.small_patterns == "maximum_risk" else sizes <= 1] = 0
    return orders, coverable


def count_small(sizes: Integers, order: int, intruder: Intruder) -> tuple[int, int]:
    """How many patterns, of these sizes, are too small for an order, and how many records they have."""
    small = (sizes == 1) | (sizes < order + (not intruder.count_self))
    found = sizes[small & (sizes > 0)]
    return len(found), int(found.sum())


def refuse_small(patterns: int, records: int, order: int) -> None:
    """Refuse patterns that are too small for an order, if there is one."""
    if patterns:
        raise InputError(
            "small_patterns",
            f"{patterns} patterns ({records} records) are too small for risk of order {order}",
            "Use coarser known columns, a lower order, or small_patterns='protect' (risk 1) or 'marginal' (order 1)",
        )


def refuse_alone(table: int, records: int) -> None:
    """Refuse a released table, counted from 1, in which linked records are alone in their pattern."""
    if records:
        raise InputError(
            "small_patterns",
            f"in released table {table}, {records} records are alone in their pattern",
            "Use coarser known columns, or small_patterns='protect' (risk 1)",
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
        "alone in the pattern": int((sizes == 1).sum()),
        "in a pattern smaller than the order": int(sizes[small].sum()),
        "in a pattern as small as the order": int(sizes[whole].sum()),
        "negative value": int(negative),
        "ball without width": int(flat),
        "ball widened to the floor": int(widened),
        "missing known value": int(known_missing.sum()),
        "missing sensitive value": int((~part).sum()),
    }


def _match_tables(view: View, readings: Sequence[Reading]) -> list[_Match]:
    low, high = balls.bounds(view.values, view.radius, view.min_radius)
    grouped = balls.group(view.cells, view.by_cell.number)
    around = balls.sort_cells(view.values, grouped)
    # Tables with the confidential known columns, the usual case, are counted in one go.
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
