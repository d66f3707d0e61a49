"""Numbers are put in groups, rare levels pooled, and rare decimals rounded, before all else, whatever the model.

All that comes after works on that table: models, risk, attacks, utility, labels and the files. So a record of a rare
level is measured as one of the level that it was pooled into, which is what its released value can match.

No single record decides which levels and which unit are released. Fewer than `min_level_records` records are always too
few for a level; from how many on they are enough is drawn for every level, from the seed of the release. So is how many
numbers may be no multiples of the unit that all others are written in. With one record more or less the outcome is
another with a probability of at most 1/5 for a level (with the default of 5), and 1/4 or less for the unit of 100
values or more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Floats, derive_seed
from molehill.errors import InputError
from molehill.plan.settings import Settings
from molehill.synthesis.design import find_levels
from molehill.tables.resolution import (
    are_multiples,
    count_others,
    dates_like,
    holds_dates,
    resolution,
    round_to_unit,
)
from molehill.tables.schema import column_numbers, cut_into_groups, group_labels, infer_kind
from molehill.tables.table import Table, find_columns, with_columns

# A level needs up to so many records more than the least number.
_MARGIN = 5


@dataclass(frozen=True)
class Pooled:
    """Levels of a variable that were pooled: how many, of how many records in all, fewer than `least` each, and how.

    Fewer than `least`, or than the threshold of the level, if a seed draws it.
    """

    name: str
    levels: int
    records: int
    least: int
    how: str

    def __str__(self) -> str:
        one = self.levels == 1
        return (
            f"{self.levels:,} level{'' if one else 's'} of fewer than {self.least} records ({self.records:,} in all) "
            f"{'is' if one else 'are'} pooled into {self.how}"
        )


def group_values(table: Table, settings: Settings) -> Table:
    """Put the values of the variables in groups that settings say are released so: levels, in their order.

    Examples
    --------
    >>> settings = Settings(synthesize=["pay"], keep=["age"], known=["age"], breaks={"age": [18, 65]}, grouped=["age"])
    >>> group_values(Table(pd.DataFrame({"age": [17, 18, 80], "pay": [0, 9, 3]})), settings).frame["age"].tolist()
    ['under 18', '18 to under 65', '65 and over']
    """
    made = {}
    for name in settings.grouped:
        find_columns(table, name, "grouped")
        if not pd.api.types.is_numeric_dtype(table.frame[name].dtype):
            problem = f"{name!r} is not numeric"
            raise InputError("grouped", problem, "Only numbers can be put in groups; rare levels of others are pooled")
        ends = settings.breaks[name]
        codes = cut_into_groups(column_numbers(table, name), ends, name)
        levels = [label for code, label in enumerate(group_labels(ends)) if (codes == code).any()]
        labels = np.array([*group_labels(ends), None], dtype=object)
        made[name] = pd.Categorical(labels[codes], categories=levels, ordered=True)
    if not made:
        return table
    labels = {name: own for name, own in table.value_labels.items() if name not in made}
    return _with_labels(with_columns(table, made), labels)


def pool_levels(table: Table, settings: Settings) -> tuple[Table, tuple[Pooled, ...]]:
    """Pool the levels of synthesized categories, and of kept ones that settings name, that too few records have.

    Levels with an order (`levels`, an ordered category, numbers without labels, dates) go to the nearest level that
    stays, the lower of two. All others become one level, "other", or the most frequent level where even together they
    are too few. What is missing is no level.

    Examples
    --------
    >>> people = Table(pd.DataFrame({"job": ["a"] * 9 + ["b"] * 8 + ["c", "d"] * 3}))
    >>> made, (pooled,) = pool_levels(people, Settings(synthesize=["job"], known=[]))
    >>> made.frame["job"].unique().tolist(), f"{pooled}"
    (['a', 'b', 'other'], '2 levels of fewer than 5 records (6 in all) are pooled into one level')
    """
    told = []
    for name in settings.pooled:
        found = pool_column(table, settings, name) if _is_category(table, settings, name) else None
        if found is not None:
            table, pooled = found
            told.append(pooled)
    return table, tuple(told)


def count_rare(table: Table, name: str, least: int) -> tuple[int, int]:
    """How many levels of a column fewer records have than that, and how many records these are in all."""
    records = table.frame[name].value_counts()
    rare = records[(records > 0) & (records < least)]
    return len(rare), int(rare.sum())


def _is_category(table: Table, settings: Settings, name: str) -> bool:
    if name in settings.kinds:
        return settings.kinds[name] == "categorical"
    return not holds_dates(table.frame[name]) and infer_kind(table, name)[0] == "categorical"


def pool_column(table: Table, settings: Settings, name: str) -> tuple[Table, Pooled] | None:
    """Pool the rare levels of one category; None if it has none."""
    column: Any = table.frame[name]
    least = settings.least_records(name)
    levels = [level for level in find_levels(column, name, "synthesize") if level is not None]
    held = dict(column.value_counts().items())
    records = np.array([held[level] for level in levels], dtype=np.int64)
    rare = records < [draw_least(settings, name, f"{level!r}", least) for level in levels]
    rare = rare if (~rare).sum() > 1 else records < least
    if not rare.any():
        return None
    if (~rare).sum() < 2:
        problem = f"{name!r} has fewer than two levels that {least} records or more have"
        raise InputError("min_level_records", problem, "Group its levels, drop it, or give a smaller one for it")
    order, labels = _find_order(table, settings, name, levels), dict(table.value_labels.get(name, {}))
    few = [level for level, own in zip(levels, rare.tolist(), strict=True) if own]
    kept = [level for level, own in zip(levels, rare.tolist(), strict=True) if not own]
    if order is not None:
        places, staying = np.array(order), np.array(order)[~rare]
        # From the lowest up: of two as near the first is taken.
        upwards = np.argsort(staying)
        nearest = upwards[np.abs(places[rare][:, None] - staying[upwards]).argmin(axis=1)]
        into, how = [kept[place] for place in nearest.tolist()], "the nearest level"
    elif records[rare].sum() < draw_least(settings, name, "all others", least):
        into, how = (
            [kept[int(records[~rare].argmax())]] * len(few),
            "the most frequent level, too few for one of their own",
        )
    else:
        other = _name_other(kept, [*labels, *settings.missing_codes.get(name, ())])
        into, how = [other] * len(few), "one level"
        if labels:
            labels[other] = _name_text(set(labels.values()))
    gone = {*few} - {*into}
    made = with_columns(table, {name: _replace(column, dict(zip(few, into, strict=True)))})
    # A kind that was inferred from the levels stays: the pooled ones may look otherwise.
    made.seen_kinds.update({name: table.seen_kinds[name]} if name in table.seen_kinds else {})
    if name in table.value_labels:
        own = {code: label for code, label in labels.items() if code not in gone}
        made = _with_labels(made, {**table.value_labels, name: own})
    return made, Pooled(name, len(few), int(records[rare].sum()), least, how)


def draw_least(settings: Settings, name: str, level: str, least: int) -> int:
    """How many records a level must have, drawn evenly from the seed: none fewer than `least`."""
    return least + _draw(settings.seed, min(least, _MARGIN), "pooled", name, level)


def _draw(seed: int | None, number: int, *names: str) -> int:
    """A number from 0 up to one below that; 0 without a seed."""
    return 0 if seed is None else int(np.random.default_rng(derive_seed(seed, *names)).integers(number))


def write_in_units(table: Table, settings: Settings) -> Table:
    """Write every released number in its unit: the few that are no multiples of it as the nearest that is one.

    How many may be none is drawn from the seed of the settings: the usual number (`count_others`), or up to twice as
    many and one.

    Examples
    --------
    >>> people = Table(pd.DataFrame({"pay": [*range(100, 40_100, 100), 12_345, 30]}))
    >>> made = write_in_units(people, Settings(synthesize=["pay"], known=[], seed=1))
    >>> made.frame["pay"].tolist()[-2:]
    [12300, 100]
    """
    made = {}
    for name in (*settings.synthesize, *settings.derived):
        column = table.frame[name]
        if _is_category(table, settings, name) or not (pd.api.types.is_numeric_dtype(column) or holds_dates(column)):
            continue
        values = column_numbers(table, name)
        usual = count_others(int((np.isfinite(values) & (values != 0)).sum()))
        unit = resolution(values, usual + _draw(settings.seed, usual + 2, "unit", name))
        off = np.isfinite(values) & ~are_multiples(values, unit) if unit else np.zeros(len(values), dtype=bool)
        if off.any():
            # Nothing becomes zero, which means something else.
            written = np.sign(values) * np.maximum(np.abs(round_to_unit(values, unit)), unit)
            made[name] = _write(column, np.where(off, written, values))
    return with_columns(table, made) if made else table


def _write(column: pd.Series, values: Floats) -> pd.Series:
    if holds_dates(column):
        return dates_like(values, column)
    return pd.Series(values, index=column.index).astype(column.dtype)


def _with_labels(table: Table, labels: Mapping[str, Mapping[float | str, str]]) -> Table:
    made = replace(table, value_labels=labels)
    made.seen_kinds.update(table.seen_kinds)
    return made


def _find_order(table: Table, settings: Settings, name: str, levels: Sequence[Any]) -> list[float] | None:
    """Where levels stand, if they have an order; the names of categories, and codes with labels, have none."""
    column: Any = table.frame[name]
    if name in settings.levels:
        return [float(settings.levels[name].index(level)) for level in levels]
    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = list(column.cat.categories)
        return [float(categories.index(level)) for level in levels] if column.cat.ordered else None
    if holds_dates(column) or pd.api.types.is_bool_dtype(column.dtype):
        return [float(place) for place in range(len(levels))]
    if pd.api.types.is_numeric_dtype(column.dtype) and not table.value_labels.get(name):
        return [float(level) for level in levels]
    return None


def _name_other(kept: Sequence[Any], codes: Sequence[Any]) -> Any:
    """Name a level as none that stays and none that has a label is: by nothing that is rare."""
    if not all(isinstance(level, int | float) for level in kept):
        return _name_text({f"{level}" for level in (*kept, *codes)})
    taken = {float(code) for code in (*kept, *codes) if not isinstance(code, str)}
    return next(code for code in (10**digits - 1 for digits in count(1)) if code not in taken)


def _name_text(taken: set[str]) -> str:
    return next(name for name in chain(("other", "all others"), (f"other {i}" for i in count(2))) if name not in taken)


def _replace(column: Any, into: Mapping[Any, Any]) -> pd.Series:
    """Put other levels in the place of some; categories that nobody has any more are taken out."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        new = [level for level in into.values() if level not in column.cat.categories]
        plain = column.cat.add_categories(dict.fromkeys(new)) if new else column
        for level, other in into.items():
            plain = plain.mask(plain == level, other)
        return plain.cat.remove_categories([level for level in into if level not in into.values()])
    rare = column.isin(list(into))
    made = column.astype(object)
    made[rare] = [into[level] for level in column[rare]]
    largest = max((abs(level) for level in into.values() if isinstance(level, int)), default=0)
    kind: Any = getattr(column.dtype, "numpy_dtype", column.dtype)
    narrow = isinstance(kind, np.dtype) and kind.kind in "iu" and largest > np.iinfo(kind).max
    return made.astype(("Int64" if column.isna().any() else "int64") if narrow else column.dtype)
