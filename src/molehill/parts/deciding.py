"""What is decided of a whole dataset before its buckets are measured: kinds of columns, and what it is refused for.

A first pass finds facts about every column. A small table is made of these, about which `Intruder.decide` says what it
would say of the whole one; and every bucket is told.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute

from molehill.arrays import Floats
from molehill.errors import InputError
from molehill.parts.buckets import Sizes, numbers_of
from molehill.parts.dataset import Dataset, read_batches, to_frame
from molehill.risk.intruder import Intruder, check_missing
from molehill.tables.cells import are_numbers, judge_cells
from molehill.tables.schema import LOOKED_AT, Schema, column_numbers, infinite_in, numbers_in_text, stray_among
from molehill.tables.table import Table, find_columns

# Arrow makes these functions while it is imported: type checkers do not see them.
pc: Any = pyarrow.compute

# Different dates that are counted, and different texts: a column with more of these is no column of numbers or codes.
_MOST_DATES, _MOST_TEXTS = 51, 1_000_000
_SHOWN = 5


@dataclass(eq=False)
class _Found:
    """What is known of a column, as batch after batch is looked at."""

    present: int = 0
    least: float = np.inf
    most: float = -np.inf
    infinite: int = -1
    # One number with a fraction and one that has no label, if there are such; the first numbers; different values.
    odd: dict[str, float] = field(default_factory=dict)
    first: list[Floats] = field(default_factory=list)
    texts: Counter[str] | None = field(default_factory=Counter)
    others: Any = None


@dataclass(frozen=True)
class Facts:
    """What a first pass found of a dataset.

    Attributes
    ----------
    columns
        What was found of each.
    gaps
        The columns that have a missing value.
    incomplete, empty
        Of the sensitive columns: how many records lack any and how many lack all, and the first such row, from 0.
    """

    columns: Mapping[str, _Found]
    gaps: frozenset[str]
    incomplete: tuple[int, int]
    empty: tuple[int, int]


def check_columns(dataset: Dataset, intruder: Intruder) -> list[str]:
    """Give the known and sensitive columns, all of which the dataset must have."""
    if not isinstance(intruder, Intruder):
        problem = "it is not an Intruder"
        raise InputError("intruder", problem, "Write Intruder(known=['age'], sensitive='income', radius=0.2)")
    names = Table(pd.DataFrame(columns=dataset.schema.names))
    arguments = ("known", "sensitive") if dataset.argument == "data" else (dataset.argument,) * 2
    found = [
        find_columns(names, columns, argument)
        for columns, argument in zip((intruder.known, intruder.sensitive), arguments, strict=True)
    ]
    return list(dict.fromkeys([*found[0], *found[1]]))


def find_facts(dataset: Dataset, columns: Sequence[str], sensitive: Sequence[str], sizes: Sizes) -> Facts:
    """Look at every record once, and at no more than a batch at a time."""
    found, place = {name: _Found() for name in columns}, 0
    lacking = {"any": [0, -1], "all": [0, -1]}
    for batch in read_batches(dataset, columns, records=sizes.batch):
        there = {name: _look_at(found[name], batch, name, dataset, place) for name in columns}
        if sensitive:
            missing = np.stack([~there[name] for name in sensitive])
            for which, rows in (("any", missing.any(axis=0)), ("all", missing.all(axis=0))):
                number = int(rows.sum())
                if number and not lacking[which][0]:
                    lacking[which][1] = place + int(rows.argmax())
                lacking[which][0] += number
        place += len(batch)
    gaps = frozenset(name for name in columns if found[name].present < place)
    return Facts(found, gaps, (lacking["any"][0], lacking["any"][1]), (lacking["all"][0], lacking["all"][1]))


def decide(dataset: Dataset, intruder: Intruder, facts: Facts, sizes: Sizes) -> Schema:
    """Settle role and kind of the columns of a dataset, as `Intruder.decide` does of a table."""
    for name, found in facts.columns.items():
        if _is_text(dataset, name) and found.texts and (name in intruder.sensitive or name not in intruder.kinds):
            _check_texts(dataset, name, found.texts, sizes)
            if name in intruder.sensitive and are_numbers(list(found.texts)):
                raise numbers_in_text(name)
    return intruder.decide(_stand_in(dataset, facts, intruder, sizes))


def check_values(
    dataset: Dataset, facts: Facts, intruder: Intruder, numeric: Sequence[str], argument: str = "data"
) -> None:
    """Refuse infinite values and missing ones, as a table in memory is."""
    for name in (*intruder.breaks, *numeric):
        if facts.columns[name].infinite >= 0:
            raise infinite_in(name, facts.columns[name].infinite, argument if name in numeric else "data")
    gaps, first = facts.incomplete if intruder.missing_values == "error" else facts.empty
    if gaps:
        check_missing(dataset.records, gaps, first, intruder.missing_values, argument)


def check_numeric(dataset: Dataset, names: Sequence[str]) -> None:
    """Refuse columns that are no numbers, by their type."""
    none = to_frame(dataset.schema.empty_table().select(list(names)), frozenset())
    for name in names:
        column_numbers(Table(none), name, dataset.argument)


def is_numbers(type_: pa.DataType) -> bool:
    """Whether a type is of numbers; what is missing throughout counts as such."""
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
    return any(kind(type_) for kind in kinds)


def _is_dates(type_: pa.DataType) -> bool:
    return pa.types.is_date(type_) or pa.types.is_timestamp(type_)


def _is_text(dataset: Dataset, name: str) -> bool:
    type_ = dataset.schema.field(name).type
    of = getattr(type_, "value_type", type_) if pa.types.is_dictionary(type_) else type_
    return pa.types.is_string(of) or pa.types.is_large_string(of)


def _look_at(found: _Found, batch: pa.Table, name: str, dataset: Dataset, place: int) -> np.ndarray:
    """Add what a batch says of a column, and give where it is not missing."""
    column, type_ = batch[name], dataset.schema.field(name).type
    if is_numbers(type_):
        values = numbers_of(batch, name, dataset.argument)
        there = ~np.isnan(values)
        _look_at_numbers(found, values[there], dataset.value_labels.get(name, {}))
        if found.infinite < 0 and np.isinf(values).any():
            found.infinite = place + int(np.isinf(values).argmax())
        return there
    there = ~column.is_null().to_numpy()
    found.present += int(there.sum())
    if _is_text(dataset, name):
        _look_at_texts(found, column)
    elif found.others is None or (_is_dates(type_) and len(found.others) < _MOST_DATES):
        different = pc.unique(column.drop_null()) if _is_dates(type_) else column.drop_null().combine_chunks()
        joined = different if found.others is None else pc.unique(pa.concat_arrays([found.others, different]))
        found.others = joined[:_MOST_DATES] if len(joined) else None
    return there


def _look_at_numbers(found: _Found, values: Floats, labels: Mapping[float | str, str]) -> None:
    if not len(values):
        return
    if found.present < LOOKED_AT:
        found.first.append(values[: LOOKED_AT - found.present])
    found.present += len(values)
    found.least, found.most = min(found.least, float(values.min())), max(found.most, float(values.max()))
    codes = [code for code in labels if not isinstance(code, str)]
    odd = {"fraction": values != np.floor(values)}
    if codes:
        odd["unlabelled"] = ~np.isin(values, np.array(codes, dtype=np.float64))
    for which, rows in odd.items():
        if which not in found.odd and rows.any():
            found.odd[which] = float(values[rows.argmax()])


def _look_at_texts(found: _Found, column: pa.ChunkedArray) -> None:
    if found.texts is None:
        return
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    for entry in pc.value_counts(plain.drop_null()).to_pylist():
        found.texts[entry["values"].strip()] += entry["counts"]
    if len(found.texts) > _MOST_TEXTS:
        found.texts = None


def _check_texts(dataset: Dataset, name: str, texts: Counter[str], sizes: Sizes) -> None:
    """Refuse text that is numbers, or dates, but for some cells."""
    cells = list(texts)
    wrong, others = judge_cells(cells, np.array(list(texts.values())))
    if not len(wrong):
        return
    stray, rows, place = {cells[index] for index in wrong}, [], 0
    for batch in read_batches(dataset, [name], records=sizes.batch):
        values = batch[name].to_pylist()
        rows += [place + row + 1 for row, cell in enumerate(values) if cell is not None and cell.strip() in stray]
        place += len(batch)
        if len(rows) >= _SHOWN:
            break
    raise stray_among(name, others, sum(texts[cell] for cell in stray), rows[:_SHOWN])


def _stand_in(dataset: Dataset, facts: Facts, intruder: Intruder, sizes: Sizes) -> Table:
    """Make a small table about which is decided what would be of the whole one."""
    wanted = [name for name, found in facts.columns.items() if found.present > LOOKED_AT and name not in intruder.kinds]
    numbers = [name for name in wanted if is_numbers(dataset.schema.field(name).type)]
    sampled = _sample(dataset, numbers, facts, sizes)
    columns = {}
    for name, found in facts.columns.items():
        type_ = dataset.schema.field(name).type
        if is_numbers(type_):
            columns[name] = pd.Series(_stand_for(found, sampled.get(name)))
        elif pa.types.is_dictionary(type_):
            columns[name] = pd.Series(pd.Categorical(["a"] if found.present else [None]))
        elif _is_text(dataset, name):
            columns[name] = pd.Series(["a"] if found.present else [None], dtype=object)
        else:
            values = pa.array([], type_) if found.others is None else found.others
            columns[name] = to_frame(pa.table({name: values}), frozenset([name]))[name]
    rows = range(max(1, *(len(column) for column in columns.values())))
    frame = pd.DataFrame({name: column.reindex(rows) for name, column in columns.items()})
    absent = {name: pd.Series(None, index=rows, dtype=object) for name in dataset.schema.names if name not in frame}
    return Table(pd.concat([frame, pd.DataFrame(absent)], axis=1), value_labels=dataset.value_labels)


def _stand_for(found: _Found, sampled: Floats | None) -> Floats:
    """Numbers whose kind is that of the whole column.

    The ones that are looked at stand at every second place, where `infer_kind` looks in a column of just that length;
    and the smallest, the largest and the odd ones between them.
    """
    if sampled is None:
        return np.concatenate(found.first) if found.first else np.full(1, np.nan)
    made = np.full(2 * LOOKED_AT - 1, sampled[0])
    made[::2] = sampled
    between = [found.least, found.most, *found.odd.values()]
    made[1 : 2 * len(between) : 2] = between
    return made


def _sample(dataset: Dataset, names: Sequence[str], facts: Facts, sizes: Sizes) -> dict[str, Floats]:
    """Numbers evenly spaced among those that are not missing."""
    if not names:
        return {}
    ranks = {name: np.linspace(0, facts.columns[name].present - 1, LOOKED_AT).astype(np.int64) for name in names}
    taken: dict[str, list[Floats]] = {name: [] for name in names}
    before = dict.fromkeys(names, 0)
    for batch in read_batches(dataset, names, records=sizes.batch):
        for name in names:
            values = numbers_of(batch, name, dataset.argument)
            values = values[~np.isnan(values)]
            first, last = np.searchsorted(ranks[name], [before[name], before[name] + len(values)])
            taken[name].append(values[ranks[name][first:last] - before[name]])
            before[name] += len(values)
    return {name: np.concatenate(pieces) for name, pieces in taken.items()}
