"""Traditional SDC methods: topcoding, noise, rank swapping, microaggregation.

Each changes the values of the named variables and nothing else: variables, order, records and types stay (integer
variables get rounded values), and missing values stay missing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

import narwhals
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.arrays import Floats
from molehill.errors import InputError, check_choice, check_number, check_whole
from molehill.tables.schema import column_numbers, refuse_infinite
from molehill.tables.table import Table, as_table, find_columns

AnyTable = TypeVar("AnyTable")
# As the Consumer Expenditure Surveys topcode incomes.
USUAL_PERCENTILE = 97.5

Replacement = Literal["mean", "threshold"]


def topcode(
    data: AnyTable,
    column: str,
    *,
    percentile: float | None = None,
    value: float | None = None,
    bottom_percentile: float | None = None,
    bottom_value: float | None = None,
    replacement: Replacement = "mean",
) -> AnyTable:
    """Topcode a variable, as the Consumer Expenditure Surveys do with incomes.

    Values above the threshold are replaced by their mean, which keeps the mean of the variable, or by the threshold.

    Parameters
    ----------
    data
        A `Table` or a frame.
    column
        A numeric variable.
    percentile
        The threshold as a percentile of the variable, 97.5 if nothing else is given.
    value
        The threshold as a value, instead.
    bottom_percentile, bottom_value
        A lower threshold, below which values are replaced likewise (bottom coding), for example for losses.
    replacement
        "mean" of the replaced values, or the "threshold".

    Examples
    --------
    >>> data = pd.DataFrame({"pay": [10, 20, 30, 100, 140]})
    >>> topcode(data, "pay", value=50)["pay"].tolist()
    [10, 20, 30, 120, 120]
    """
    check_choice("replacement", replacement, ("mean", "threshold"))
    if percentile is None and value is None:
        percentile = USUAL_PERCENTILE
    values, present = _read(data, column)
    top = _threshold(values[present], percentile, value, "percentile", "value")
    coded = values.copy()
    if top is not None:
        _replace(coded, values > top, top, replacement, ("percentile", "value")[percentile is None], "above")
    bottom = _threshold(values[present], bottom_percentile, bottom_value, "bottom_percentile", "bottom_value")
    if bottom is not None:
        argument = ("bottom_percentile", "bottom_value")[bottom_percentile is None]
        if top is not None and bottom > top:
            raise InputError(argument, "it lies above the other threshold", "Use a lower one")
        _replace(coded, values < bottom, bottom, replacement, argument, "below")
    return _put_back(data, {column: coded})


def add_noise(data: AnyTable, columns: str | Sequence[str], *, scale: float = 0.1, seed: int) -> AnyTable:
    """Add normal noise to numeric variables, independent for every value.

    Parameters
    ----------
    data
        A `Table` or a frame.
    columns
        One numeric variable or several.
    scale
        Standard deviation of the noise, as a share of the variable's own.
    seed
        Random seed.

    Examples
    --------
    >>> data = pd.DataFrame({"pay": [10.0, 20.0, 30.0]})
    >>> add_noise(data, "pay", scale=0.1, seed=1)["pay"].round(2).tolist()
    [10.35, 20.82, 30.33]
    """
    check_number("scale", scale, above=0.0)
    generator = _generator(seed)
    changed = {}
    for name in _named(data, columns):
        values, present = _read(data, name)
        noise = generator.normal(0.0, scale * _spread(name, values[present]), len(values))
        changed[name] = values + noise
    return _put_back(data, changed)


def multiply_noise(
    data: AnyTable, columns: str | Sequence[str], *, least: float = 0.05, most: float = 0.15, seed: int
) -> AnyTable:
    """Multiplicative noise bounded away from 1, as the Census Bureau uses for establishments.

    Every value is increased or decreased, with equal probability, by a share of itself between `least` and `most`.

    Parameters
    ----------
    data
        A `Table` or a frame.
    columns
        One numeric variable or several.
    least, most
        The smallest and the largest share.
    seed
        Random seed.

    References
    ----------
    Evans, Zayatz and Slanta, Using Noise for Disclosure Limitation of Establishment Tabular Data (1998).

    Examples
    --------
    >>> data = pd.DataFrame({"pay": [10.0, 20.0, 30.0]})
    >>> multiply_noise(data, "pay", seed=1)["pay"].round(2).tolist()
    [9.36, 22.9, 32.44]
    """
    if check_number("least", least) < 0:
        raise InputError("least", "it is negative", "Give a share such as 0.05")
    check_number("most", most, above=0.0)
    if not least <= most < 1:
        raise InputError("most", "it must be at least `least`, and below 1", "For example least=0.05, most=0.15")
    generator = _generator(seed)
    changed = {}
    for name in _named(data, columns):
        values, _ = _read(data, name)
        signs = generator.choice([-1.0, 1.0], len(values))
        changed[name] = values * (1 + signs * generator.uniform(least, most, len(values)))
    return _put_back(data, changed)


def swap_ranks(data: AnyTable, columns: str | Sequence[str], *, window: float = 0.05, seed: int) -> AnyTable:
    """Rank swapping: exchange values between records with close ranks, separately for every variable.

    In increasing order, each value not swapped yet is exchanged with a random one of those not swapped yet within the
    window. The marginal distribution is unchanged.

    Parameters
    ----------
    data
        A `Table` or a frame.
    columns
        One numeric variable or several.
    window
        Maximum difference of ranks, as a share of the records.
    seed
        Random seed.

    References
    ----------
    Moore, Controlled Data-Swapping Techniques for Masking Public Use Microdata Sets (1996).

    Examples
    --------
    >>> data = pd.DataFrame({"pay": [10, 20, 30, 40]})
    >>> swap_ranks(data, "pay", window=0.25, seed=1)["pay"].tolist()
    [20, 10, 40, 30]
    """
    check_number("window", window, above=0.0)
    if window > 1:
        raise InputError("window", "it is above 1", "For 5 percent of the records write 0.05")
    generator = _generator(seed)
    changed = {}
    for name in _named(data, columns):
        values, present = _read(data, name)
        _spread(name, values[present])
        order = present[np.argsort(values[present], kind="stable")]
        partner = _partners(len(order), max(1, int(window * len(order))), generator)
        swapped = values.copy()
        swapped[order] = values[order[partner]]
        changed[name] = swapped
    return _put_back(data, changed)


def microaggregate(data: AnyTable, columns: str | Sequence[str], *, size: int = 3) -> AnyTable:
    """Microaggregation: replace values by the mean of a small group of similar records.

    With one variable, records are sorted and grouped `size` at a time; the last group may be larger. With several,
    groups are formed jointly on standardized values, around the record farthest from the centre and the record farthest
    from that one, and so on (MDAV).

    Parameters
    ----------
    data
        A `Table` or a frame.
    columns
        One numeric variable or several; records with a missing value in any are unchanged.
    size
        The smallest group.

    References
    ----------
    Domingo-Ferrer and Mateo-Sanz, Practical Data-Oriented Microaggregation for Statistical Disclosure Control (2002).

    Examples
    --------
    >>> data = pd.DataFrame({"pay": [40, 10, 60, 20, 30]})
    >>> microaggregate(data, "pay", size=2)["pay"].tolist()
    [43, 15, 43, 15, 43]
    """
    check_whole("size", size, 2)
    names = _named(data, columns)
    values = np.column_stack([_read(data, name)[0] for name in names])
    places = np.flatnonzero(~np.isnan(values).any(axis=1))
    if len(places) < size:
        raise InputError("size", f"there are {len(places)} records for groups of {size}", "Give a smaller size")
    if len(names) == 1:
        order = np.argsort(values[places, 0], kind="stable")
        groups = np.split(order, np.arange(size, len(order) - size + 1, size))
    else:
        spreads = np.array([_spread(name, values[places, i]) for i, name in enumerate(names)])
        groups = _form_groups(values[places] / spreads, size)
    averaged = values.copy()
    for group in groups:
        averaged[places[group]] = values[places[group]].mean(axis=0)
    return _put_back(data, {name: averaged[:, i] for i, name in enumerate(names)})


def _topcode_all(data: Any, columns: Sequence[str], _seed: int) -> Any:
    """Topcode every variable with at least two values above the threshold."""
    for column in columns:
        values, present = _read(data, column)
        if (values[present] > np.quantile(values[present], USUAL_PERCENTILE / 100)).sum() > 1:
            data = topcode(data, column)
    return data


# Methods for comparison, by their names in settings: `(table, columns, seed) -> table`.
BASELINES: dict[str, Callable[[Any, Sequence[str], int], Any]] = {
    "topcoding": _topcode_all,
    "noise": lambda data, columns, seed: add_noise(data, columns, seed=seed),
    "swapping": lambda data, columns, seed: swap_ranks(data, columns, seed=seed),
    "microaggregation": lambda data, columns, _: microaggregate(data, columns),
}


def _named(data: Any, columns: str | Sequence[str]) -> list[str]:
    names = find_columns(as_table(data), columns, "columns")
    if not names:
        raise InputError("columns", "no variable is named", "Name the variables to change")
    return names


def _read(data: Any, column: str) -> tuple[Floats, NDArray[np.intp]]:
    """Values of a variable, NaN where missing, and the rows where they are not."""
    table = as_table(data)
    find_columns(table, column, "column")
    values = column_numbers(table, column)
    refuse_infinite(values, column)
    present = np.flatnonzero(~np.isnan(values))
    if len(present) < 2:
        problem = f"{len(present)} records have a value, but 2 are needed"
        raise InputError("data", problem, "Use more records")
    return values, present


def _spread(name: str, values: Floats) -> float:
    spread = float(values.std(ddof=1))
    if spread == 0:
        problem = f"variable {name!r} is the same for every record"
        raise InputError("data", problem, "Omit it: there is nothing to protect")
    return spread


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(check_whole("seed", seed, 0))


def _threshold(
    values: Floats, percentile: float | None, value: float | None, percentile_name: str, value_name: str
) -> float | None:
    if percentile is not None and value is not None:
        raise InputError(value_name, f"{percentile_name} is given as well", "Give only one of the two")
    if value is not None:
        check_number(value_name, value)
        return float(value)
    if percentile is None:
        return None
    check_number(percentile_name, percentile, above=0.0)
    if percentile >= 100:
        raise InputError(percentile_name, "it must be below 100", "For the 97.5th percentile write 97.5")
    return float(np.quantile(values, percentile / 100))


def _replace(
    coded: Floats, chosen: np.ndarray, threshold: float, replacement: Replacement, argument: str, word: str
) -> None:
    number = int(chosen.sum())
    if number == 0:
        raise InputError(argument, f"no value lies {word} it", "Use another threshold")
    if number == 1 and replacement == "mean":
        problem = f"a single value lies {word} it, which would equal its mean"
        raise InputError(argument, problem, "Use a threshold with more values beyond it, or replacement='threshold'")
    coded[chosen] = coded[chosen].mean() if replacement == "mean" else threshold


def _partners(number: int, window: int, generator: np.random.Generator) -> np.ndarray:
    """For every rank, the rank it is swapped with; itself if there is none."""
    partner = np.arange(number)
    free = np.ones(number, dtype=bool)
    chances = generator.random(number)
    for rank in range(number):
        if free[rank]:
            near = rank + 1 + np.flatnonzero(free[rank + 1 : rank + 1 + window])
            if len(near):
                chosen = near[int(chances[rank] * len(near))]
                partner[rank], partner[chosen] = chosen, rank
                free[chosen] = False
    return partner


def _form_groups(points: Floats, size: int) -> list[np.ndarray]:
    """MDAV: rows of every group."""
    left = np.arange(len(points))
    groups = []

    def take_around(centre: Floats) -> None:
        nonlocal left
        order = np.argsort(((points[left] - centre) ** 2).sum(axis=1), kind="stable")
        groups.append(left[order[:size]])
        left = np.delete(left, order[:size])

    def farthest_from(centre: Floats) -> Floats:
        return points[left[np.argmax(((points[left] - centre) ** 2).sum(axis=1))]]

    while len(left) >= 3 * size:
        first = farthest_from(points[left].mean(axis=0))
        take_around(first)
        take_around(farthest_from(first))
    if len(left) >= 2 * size:
        take_around(farthest_from(points[left].mean(axis=0)))
    groups.append(left)
    return groups


def _put_back(data: Any, changed: dict[str, Floats]) -> Any:
    """The given dataset with new values, in its own types."""
    frame = as_table(data).frame
    new = {name: _like(frame[name], values) for name, values in changed.items()}
    if isinstance(data, Table):
        return replace(data, frame=frame.assign(**new))
    if isinstance(data, pd.DataFrame):
        return data.assign(**{name: column.set_axis(data.index) for name, column in new.items()})
    native = narwhals.from_native(data, eager_only=True)
    # Outside pandas, missing and NaN differ.
    lists = {name: column.astype(object).where(column.notna(), None).to_list() for name, column in new.items()}
    series = [
        narwhals.new_series(name, values, native.schema[name], backend=native.implementation)
        for name, values in lists.items()
    ]
    return native.with_columns(*series).to_native()


def _like(column: pd.Series, values: Floats) -> pd.Series:
    """Values in the type of a variable, rounded for integers."""
    whole = pd.api.types.is_integer_dtype(column.dtype)
    rounded = pd.Series(np.round(values) if whole else values, index=column.index)
    return rounded.astype(column.dtype)
