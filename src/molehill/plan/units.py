"""Records that belong together: a variable whose values repeat for the members of a household or the years of a person.

A number that names a group of records is told from a category by what goes with it: other variables never change within
it, or never repeat within it, and its records stand together in the file. A classification has such variables too: a
major group of occupations never changes within an occupation. So what only groups neighbouring codes counts for
nothing, and neither does a code with many records.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.tables.table import Table

# Fewer values are categories; with so many records of a value it is no household, and no person over some years.
LEAST_VALUES, MOST_RECORDS = 20, 30
# So many groups with two records at least show what goes with them; so many more pairs than chance explains are enough.
_LEAST_GROUPS, _BEYOND_CHANCE = 20, 12.0
_LOOKED_AT = 5_000
# Of data that people enter a few pairs disagree, and a few records lie elsewhere.
_NEARLY = 0.01
_SHOWN = 3


@dataclass(frozen=True)
class Unit:
    """A variable that names what several records belong to, and the evidence.

    Attributes
    ----------
    name, records, values
        The variable, the records that have it, and how many different values there are.
    constant, differing
        Variables with one value within each of its groups, and variables that never have the same value twice there.
    contiguous
        Whether the records of each of its values stand together in the file.
    beside
        Another variable, where only both together name it; empty if it does so alone.
    """

    name: str
    records: int
    values: int
    constant: tuple[str, ...]
    differing: tuple[str, ...]
    contiguous: bool
    beside: str = ""

    def __str__(self) -> str:
        told = [f"together with {self.beside!r}"] if self.beside else []
        told += [f"{self.records:,} records, {self.values:,} values"]
        for names, words in ((self.constant, "constant within it"), (self.differing, "never the same within it")):
            if names:
                shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
                one = len(names) == 1
                told.append(f"{len(names)} variable{'' if one else 's'} {'is' if one else 'are'} {words} ({shown})")
        return "; ".join(told)


def find_units(table: Table, candidates: Mapping[str, bool]) -> dict[str, Unit]:
    """Find variables that name households, persons with several records, or other units.

    Parameters
    ----------
    table
        The table.
    candidates
        Variables of codes, numbers or text that may do so, and whether they are called like the number of a person.

    Examples
    --------
    >>> size = np.arange(40) % 3 + 1
    >>> home = np.repeat(np.arange(40), size)
    >>> people = pd.DataFrame({"home": home, "size": size[home], "sex": ["f", "m", "m"] * 26 + ["f"]})
    >>> print(find_units(Table(people), {"home": False})["home"])
    79 records, 40 values; 1 variable is constant within it (size)
    """
    found = {name: _look(table, name, called=called) for name, called in candidates.items()}
    return {name: unit for name, unit in found.items() if unit is not None}


def _look(table: Table, name: str, *, called: bool) -> Unit | None:
    codes, values = pd.factorize(table.frame[name], sort=False)
    present = codes[codes >= 0]
    sizes = np.bincount(present, minlength=len(values))
    if len(values) < LEAST_VALUES or (sizes > 1).sum() < _LEAST_GROUPS:
        return None
    small = int(sizes.max()) <= MOST_RECORDS
    if not small and not called:
        return None
    contiguous = int((np.diff(present) != 0).sum()) + 1 <= (1 + _NEARLY) * len(values)
    first, last, second = _pairs(codes, sizes)
    constant, differing, alone = [], [], 0
    in_order = np.argsort(_ranks(table.frame[name].iloc[first]), kind="stable")
    for other in table.frame.columns:
        if other == name:
            continue
        column = table.frame[other]
        try:
            seen = pd.factorize(
                pd.concat([column.iloc[rows] for rows in (first, last, second)]), use_na_sentinel=False
            )[0]
        except TypeError:
            # What nobody can compare goes with nothing.
            continue
        at_first, at_last, at_second = np.split(seen, 3)
        shares = np.bincount(seen) / len(seen)
        by_chance = float((shares**2).sum())
        agreeing = float((at_first == at_last).mean())
        if agreeing >= 1 - _NEARLY and len(first) * (1 - by_chance) >= _BEYOND_CHANCE:
            levels = len(np.unique(at_first))
            many = levels > len(first) / 2
            if not _is_grouping(at_first[in_order], column.iloc[first[in_order]], many=many):
                constant.append(other)
                alone += many
        elif not agreeing and not (at_first == at_second).any() and len(first) * by_chance >= _BEYOND_CHANCE:
            differing.append(other)
    # What has a value of its own for every value, as a label for its code, is evidence only where records lie together.
    several = len(constant) - alone + len(differing)
    if not (constant or differing) or not (contiguous or (several and called) or several > 1):
        return None
    return Unit(name, len(present), len(values), tuple(constant), tuple(differing), contiguous)


def _is_grouping(codes: NDArray[np.intp], values: pd.Series, *, many: bool) -> bool:
    """Whether a variable, in the order of another one, only groups its neighbours; with many values, follows it."""
    if not many:
        return 1 + int((np.diff(codes) != 0).sum()) <= 1.2 * len(np.unique(codes)) + 1
    steps = np.sign(np.diff(_ranks(values)))
    return abs(float(np.nansum(steps))) >= (1 - 2 * _NEARLY) * np.count_nonzero(steps)


def _pairs(codes: NDArray[np.intp], sizes: NDArray[np.intp]) -> tuple[NDArray[np.intp], ...]:
    """Rows of the first, the last and the second record of some groups of several."""
    order = np.argsort(codes, kind="stable")[int((codes < 0).sum()) :]
    starts = np.cumsum(sizes) - sizes
    several = np.flatnonzero(sizes > 1)
    several = several[np.linspace(0, len(several) - 1, min(len(several), _LOOKED_AT)).astype(np.intp)]
    return order[starts[several]], order[starts[several] + sizes[several] - 1], order[starts[several] + 1]


def _ranks(values: pd.Series) -> NDArray[np.float64]:
    if pd.api.types.is_numeric_dtype(values.dtype):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    return pd.factorize(values.astype(str), sort=True)[0].astype(np.float64)
