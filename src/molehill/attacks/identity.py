"""Identity: who shares the known columns with nobody, in the data and in a release.

The checks that sdcMicro's and synthpop's users know. Shares are from 0 to 1, where synthpop gives percentages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Floats, FrozenDict, Integers
from molehill.attacks.rates import NOTHING, Attack, compare
from molehill.errors import InputError, check_names
from molehill.tables.intervals import Figure, mean_over_tables
from molehill.tables.patterns import Patterns, learn_patterns, match_patterns
from molehill.tables.table import Table, as_table, as_tables, find_columns

Breaks = Mapping[str, Sequence[float]] | None
# Sizes of patterns that boards ask about: from, and up to.
SIZES = {"1": (1, 1), "2": (2, 2), "3 to 4": (3, 4), "5 to 9": (5, 9), "10 and more": (10, None)}


@dataclass(frozen=True)
class Anonymity:
    """How many records share their known values with how many others.

    Attributes
    ----------
    smallest
        The table is k-anonymous for this k: records in its smallest pattern.
    records
        Records in patterns of 1, 2, 3 to 4, 5 to 9, and 10 or more.
    patterns
        How many patterns there are.
    """

    smallest: int
    records: Mapping[str, int]
    patterns: int


def k_anonymity(data: Any, known: Sequence[str] | str, *, breaks: Breaks = None) -> Anonymity:
    """Count the records by the size of their pattern.

    An intruder who knows some columns of a person finds, in a table that keeps them, as many records as have the same
    values, and no fewer than k if it is k-anonymous. It says nothing of what these records tell: see `l_diversity`.

    Parameters
    ----------
    data
        Any table: the confidential one, or one that is released.
    known, breaks
        The columns, and groups of numeric ones, as of an `Intruder`.

    References
    ----------
    Samarati and Sweeney, Protecting Privacy when Disclosing Information (1998).

    Examples
    --------
    >>> data = pd.DataFrame({"town": ["A", "A", "A", "B", "B", "C"]})
    >>> k_anonymity(data, "town").records
    {'1': 1, '2': 2, '3 to 4': 3, '5 to 9': 0, '10 and more': 0}
    """
    table = as_table(data)
    patterns = learn_known(table, known, breaks)
    sizes = np.bincount(patterns.codes, minlength=patterns.number)
    most = int(sizes.max())
    counted = {
        name: int(sizes[(sizes >= low) & (sizes <= (high or most))].sum()) for name, (low, high) in SIZES.items()
    }
    return Anonymity(int(sizes.min()), FrozenDict(counted), patterns.number)


def learn_known(table: Table, known: Sequence[str] | str, breaks: Breaks, argument: str = "known") -> Patterns:
    """Learn the patterns of columns, at least one."""
    names = find_columns(table, check_names(argument, known), argument)
    if not names:
        raise InputError(argument, "no column is named", "Name at least one")
    unknown = [name for name in breaks or {} if name not in names]
    if unknown:
        raise InputError("breaks", f"{unknown[0]!r} is not among the columns in {argument}", "Leave it out")
    return learn_patterns(table, names, breaks)


@dataclass(frozen=True)
class Uniques:
    """Who is unique by the known columns; each a share of the records, a mean over the tables.

    Attributes
    ----------
    original
        Unique in the confidential table: synthpop's UiO.
    synthetic
        Of the released records, unique in their table: UiS.
    found
        Unique in the confidential table, and some released record has the same known values: UiOiS.
    replicated
        Unique in the confidential table and in the released one: repU, of all confidential records.
    replicated_of_uniques
        The same, of those that are unique in the confidential table; NaN if there is none.
    by_dataset
        `replicated` of every released table.
    """

    original: Figure
    synthetic: Figure
    found: Figure
    replicated: Figure
    replicated_of_uniques: Figure
    by_dataset: tuple[float, ...]


def replicated_uniques(data: Any, released: Any, known: Sequence[str] | str, *, breaks: Breaks = None) -> Uniques:
    """Say how many people are unique by the known columns, and are so again in the release.

    An intruder who knows that a person is unique looks for the same known values in the release, and where one record
    has them, takes it for the person's. Where the known columns are kept, every unique is replicated: then this says no
    more than `k_anonymity`. With d and s records of a pattern in the confidential table of N records and in the
    released one, `UiO = #{d = 1} / N`, `UiOiS = #{d = 1, s > 0} / N`, `repU = #{d = 1, s = 1} / N`.

    Parameters
    ----------
    data, released
        The confidential table, and one released table or a sequence of them, of any number of records.
    known, breaks
        As in `k_anonymity`.

    References
    ----------
    Raab, Nowok and Dibben, Practical Privacy Metrics for Synthetic Data (2024); the vignette of synthpop 1.9.

    Examples
    --------
    >>> data = pd.DataFrame({"town": ["A", "B", "C", "D", "D"]})
    >>> released = pd.DataFrame({"town": ["A", "B", "B", "D", "E"]})
    >>> found = replicated_uniques(data, released, "town")
    >>> [figure.value for figure in (found.original, found.synthetic, found.found, found.replicated)]
    [0.6, 0.6, 0.4, 0.2]
    """
    table, tables = as_table(data), as_tables(released)
    patterns = learn_known(table, known, breaks)
    own = np.bincount(patterns.codes, minlength=patterns.number)
    records, unique = len(table.frame), int((own == 1).sum())
    rows = []
    for one in tables:
        counts = count_known(patterns, one, known)
        learned = learn_known(one, known, breaks)
        synthetic = np.bincount(learned.codes, minlength=learned.number)
        replicated = int(((own == 1) & (counts == 1)).sum())
        rows.append(
            (
                (synthetic == 1).sum() / len(one.frame),
                ((own == 1) & (counts > 0)).sum() / records,
                replicated / records,
                replicated / unique if unique else np.nan,
            )
        )
    shares = np.array(rows, dtype=np.float64)
    # The confidential table is what it is: no other would have been drawn.
    original = Figure(unique / records, np.nan, np.nan)
    figures = [mean_over_tables(share, least=0.0, most=1.0) for share in shares.T]
    return Uniques(original, *figures, by_dataset=tuple(shares[:, 2].tolist()))


def replicated_uniques_vs_control(
    data: Any,
    released: Any,
    known: Sequence[str] | str,
    *,
    control: Any = None,
    breaks: Breaks = None,
    seed: int = 0,
) -> Attack:
    """Say how many people are unique by the known columns and so in the release, and how many who were not used.

    A fresh sample of other people replicates uniques too, by chance: only what goes beyond such people is owed to the
    release. Who is unique depends on how many there are, so that as many people are asked on both sides.

    Parameters
    ----------
    data, released, known, breaks
        As in `replicated_uniques`.
    control
        People like those of the data who were not used.
    seed
        Of whom are asked, where there are more on one side.

    Examples
    --------
    >>> data, control = pd.DataFrame({"town": ["A", "B", "C", "D"]}), pd.DataFrame({"town": ["A", "E", "F", "F"]})
    >>> found = replicated_uniques_vs_control(data, data, "town", control=control)
    >>> found.rate.value, found.control.value, found.risk.value
    (1.0, 0.25, 1.0)
    """
    tables, people = as_tables(released), [as_table(one) for one in (data, control) if one is not None]
    number = min(len(one.frame) for one in people)
    random = np.random.default_rng(seed)
    asked = [_find_again(_some(one, number, random), tables, known, breaks) for one in people]
    return compare(asked[0], asked[1] if control is not None else None, NOTHING)


def _some(table: Table, number: int, random: np.random.Generator) -> Table:
    if len(table.frame) == number:
        return table
    rows = np.sort(random.choice(len(table.frame), number, replace=False))
    some = Table(table.frame.iloc[rows].reset_index(drop=True))
    some.seen_kinds.update(table.seen_kinds)
    return some


def _find_again(people: Table, tables: Sequence[Table], known: Sequence[str] | str, breaks: Breaks) -> Floats:
    """Say of every person whether they are unique, and one record of a table has their known values."""
    patterns = learn_known(people, known, breaks)
    alone = np.bincount(patterns.codes, minlength=patterns.number) == 1
    again = [alone & (count_known(patterns, one, known) == 1) for one in tables]
    return np.array([one[patterns.codes] for one in again], dtype=np.float64)


def count_known(patterns: Patterns, table: Table, known: Sequence[str] | str) -> Integers:
    """Count the records of a released table in every pattern that was learned."""
    find_columns(table, check_names("known", known), "released")
    codes = match_patterns(patterns, table)
    return np.bincount(codes[codes >= 0], minlength=patterns.number)


@dataclass(frozen=True)
class Linkage:
    """What linking by the known columns gives; each a mean over the tables.

    Attributes
    ----------
    found
        Share of the people whose known values some released record has.
    expected
        Right matches expected by who picks one of these at random; a number of people.
    unique
        People with whom one released record agrees.
    right
        Those of them whose own record it is; a number of people.
    right_share
        Of the unique matches, the share that is right; NaN in tables without any.
    """

    found: Figure
    expected: Figure
    unique: Figure
    right: Figure
    right_share: Figure


def linkage(
    data: Any, released: Any, known: Sequence[str] | str, *, breaks: Breaks = None, key: str | None = None
) -> Linkage:
    """Link people to released records by the known columns alone, where these were replaced, too.

    An intruder knows some columns of a person and looks for them in the release. Of c records that have the person's
    true values one is taken at random; where c is 1 the intruder is sure. T says whether the person's own record is
    among them: a match is expected to be right `sum of T / c` times. Who knows sensitive values as well is in
    `match_rates`.

    Parameters
    ----------
    data, released, known, breaks
        As in `replicated_uniques`; released records are those of the same people.
    key
        Column that names the record, in all tables; without it records are linked by position.

    References
    ----------
    Reiter and Mitra, Estimating Risks of Identification Disclosure in Partially Synthetic Data (2009).

    Examples
    --------
    >>> data = pd.DataFrame({"town": ["A", "B", "C", "D"]})
    >>> released = pd.DataFrame({"town": ["A", "C", "C", "B"]})
    >>> found = linkage(data, released, "town")
    >>> found.found.value, found.expected.value, found.unique.value, found.right.value, found.right_share.value
    (0.75, 1.5, 2.0, 1.0, 0.5)
    """
    table, tables = as_table(data), as_tables(released)
    patterns = learn_known(table, known, breaks)
    rows = []
    for one in tables:
        counts = count_known(patterns, one, known)[patterns.codes]
        places = _link(table, one, key)
        own = np.append(match_patterns(patterns, one), -1)[places]
        linked = own == patterns.codes
        unique, right = int((counts == 1).sum()), int(((counts == 1) & linked).sum())
        expected = float((linked / np.maximum(counts, 1)).sum())
        rows.append(((counts > 0).mean(), expected, unique, right, right / unique if unique else np.nan))
    found, expected, unique, right, share = np.array(rows, dtype=np.float64).T
    shares = [mean_over_tables(one, least=0.0, most=1.0) for one in (found, share)]
    counts = [mean_over_tables(one, least=0.0, most=float(len(table.frame))) for one in (expected, unique, right)]
    return Linkage(shares[0], counts[0], counts[1], counts[2], shares[1])


def _link(table: Table, released: Table, key: str | None) -> Integers:
    """Row of the released table for every confidential record, -1 if there is none."""
    if key is None:
        if len(released.frame) != len(table.frame):
            problem = f"it has {len(released.frame):,} records where the confidential table has {len(table.frame):,}"
            raise InputError("released", problem, "Give the column that names the record as `key`")
        return np.arange(len(table.frame))
    if not isinstance(key, str):
        raise InputError("key", f"it is of type {type(key).__name__}, not the name of a column", "Name one column")
    for one, called in ((table, "data"), (released, "released")):
        find_columns(one, key, "key")
        names = one.frame[key]
        if names.isna().any() or not names.is_unique:
            raise InputError("key", f"column {key!r} of {called} has repeated or missing values", "Use a unique key")
    return pd.Index(released.frame[key]).get_indexer(pd.Index(table.frame[key]))
