"""The three criteria of the Article 29 Working Party: singling out, linkability and inference.

Each is an attack with a release, on people who were in the data and on control records: people like them who were not.
Who succeeds as often on the latter learns of kinds of people and of no person. Several tables are attacked one by one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.special import gammaln

from molehill.arrays import Booleans, Floats, Integers, derive_seed
from molehill.attacks.neighbours import find_neighbours, learn_places, read_tables
from molehill.attacks.rates import NOTHING, Attack, compare, excess, rate_of
from molehill.errors import InputError, check_choice, check_number, check_whole
from molehill.risk.holdout import Places, Scale, choose_rows
from molehill.tables.intervals import Figure
from molehill.tables.table import Table, as_table, as_tables

_EQUAL, _OTHER, _AT_MOST, _AT_LEAST, _BELOW, _ABOVE = range(6)
# Predicates that are tried for each one that is asked for: few may match one released record alone.
_TRIES = 50
# Times that people are shared out again, and the most people whom a predicate may hold for to matter there.
_SHARINGS, _MOST_HOLDING = 200, 60
_Z = 1.96
_SCALES = ("range", "rank")


def inference(
    data: Any,
    released: Any,
    known: Sequence[str] | str,
    secret: str,
    *,
    control: Any = None,
    tolerance: float = 0.05,
    attacks: int = 2_000,
    scale: Scale = "range",
    seed: int,
) -> Attack:
    """Guess a secret of a person from the released record that looks most like the person.

    The intruder knows some columns of a person, takes the nearest released record, one of them at random if several are
    equally near, and guesses that the person's secret is what it says there. A category, and a missing value, must be
    guessed exactly; a number y within `tolerance * |y|`. The baseline takes the secret of any released record; its rate
    is worked out and not played.

    Parameters
    ----------
    data, released, control
        The confidential table, one released table or a sequence of them, and records of people like those of the
        confidential table that were not used to make the release. Without these there is no risk.
    known, secret
        What the intruder knows, and wants to know.
    tolerance
        Of a number, relative to the true value.
    attacks
        People that are attacked at most, and as many controls; the same in every table.
    scale
        Numbers are compared by their place in the "range" of all, as Gower and anonymeter do, or by "rank".
    seed
        Of the choice of people and among the equally near.

    References
    ----------
    Article 29 Working Party, Opinion 05/2014 on Anonymisation Techniques. Giomi, Boenisch, Wehmeyer and Tasnadi, A
    Unified Framework for Quantifying Privacy Risk in Synthetic Data (2023), whose attacks these are. Their program,
    anonymeter 1.1, takes the tolerance of the guess and counts any negative guess of a number as right.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"age": [20, 30, 40, 50], "job": ["a", "b", "c", "d"]})
    >>> people = pd.DataFrame({"age": [21, 33], "job": ["b", "b"]})
    >>> found = inference(data, data, "age", "job", control=people, seed=1)
    >>> found.rate.value, found.control.value, found.baseline.value, found.risk.value
    (1.0, 0.5, 0.25, 1.0)
    """
    check_whole("attacks", attacks, 1)
    check_choice("scale", scale, _SCALES)
    if check_number("tolerance", tolerance) < 0:
        raise InputError("tolerance", "it is negative", "Give a share, such as 0.05")
    names, table, tables, held = read_tables(data, released, control, known, "known")
    column = _one_column(secret, names)
    read_tables(table, tables, held, column, "secret")
    others = [*tables, *([held] if held else [])]
    places = learn_places(table, others, names, scale)
    secrets = learn_places(table, others, [column], "none")
    random = np.random.default_rng(seed)
    sides = [(one, choose_rows(random, len(one.frame), attacks)) for one in (table, held) if one]
    from_tables = [(places.of(one), secrets.of(one)[:, 0]) for one in tables]
    succeeded, naive = [], NOTHING
    for side, (one, rows) in enumerate(sides):
        asked, truth = places.of(one)[rows], secrets.of(one)[rows, 0]
        right = []
        for number, (to, told) in enumerate(from_tables):
            own = derive_seed(seed, "inference", side, number)
            nearest = find_neighbours(asked, to, places.exact, 1, seed=own)[0][:, 0]
            right.append(_is_right(told[nearest], truth, tolerance, exact=bool(secrets.exact[0])))
        succeeded.append(np.array(right, dtype=np.float64))
        if not side:
            shares = [_share_right(told, truth, tolerance, exact=bool(secrets.exact[0])) for _, told in from_tables]
            naive = rate_of(np.array(shares))
    return compare(succeeded[0], succeeded[1] if held else None, naive)


def _one_column(secret: Any, known: Sequence[str]) -> str:
    if not isinstance(secret, str):
        problem = f"it is of type {type(secret).__name__}, not the name of a column"
        raise InputError("secret", problem, "Name one column; call once for each of several")
    if secret in known:
        raise InputError("secret", f"{secret!r} is also known", "Leave it out of the known columns")
    return secret


def _is_right(guess: Floats, truth: Floats, tolerance: float, *, exact: bool) -> Booleans:
    """Whether guesses are right; a level that nobody learned is none."""
    missing = np.isnan(guess) & np.isnan(truth)
    return missing | (guess == truth if exact else np.abs(guess - truth) <= tolerance * np.abs(truth))


def _share_right(told: Floats, truth: Floats, tolerance: float, *, exact: bool) -> Floats:
    """Share of all released secrets that would be right, for every person."""
    present = np.sort(told[~np.isnan(told)])
    reach = np.zeros(len(truth)) if exact else tolerance * np.abs(truth)
    found = np.searchsorted(present, truth + reach, "right") - np.searchsorted(present, truth - reach, "left")
    return np.where(np.isnan(truth), len(told) - len(present), found) / len(told)


def linkability(
    data: Any,
    released: Any,
    first: Sequence[str] | str,
    second: Sequence[str] | str,
    *,
    control: Any = None,
    neighbours: int = 1,
    attacks: int = 2_000,
    scale: Scale = "range",
    seed: int,
) -> Attack:
    """Link two files about the same people, which share no column, by way of a released table.

    The intruder has two sets of columns of the same people in two files, and wants to know which records are of one
    person. Of either half of a person the nearest released records are found; where the two lists share a record, the
    halves are linked. The baseline takes lists at random: with n released records and k neighbours they share one with
    chance `1 - C(n - k, k) / C(n, k)`.

    Parameters
    ----------
    data, released, control, attacks, scale, seed
        As in `inference`.
    first, second
        The columns of either file, none in both.
    neighbours
        Released records in each list.

    References
    ----------
    As of `inference`. Where many are equally near, anonymeter takes those that its sort puts first; here each list
    takes its own at random.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"age": [20, 30, 40, 50], "pay": [1.5, 2.5, 3.5, 4.5]})
    >>> people = pd.DataFrame({"age": [21, 49], "pay": [4.4, 4.6]})
    >>> found = linkability(data, data, "age", "pay", control=people, seed=1)
    >>> found.rate.value, found.control.value, round(found.baseline.value, 6), found.risk.value
    (1.0, 0.5, 0.25, 1.0)
    """
    check_whole("attacks", attacks, 1)
    check_whole("neighbours", neighbours, 1)
    check_choice("scale", scale, _SCALES)
    names, table, tables, held = read_tables(data, released, control, first, "first")
    other_names, *_ = read_tables(table, tables, held, second, "second")
    both = [name for name in names if name in other_names]
    if both:
        raise InputError("second", f"{both[0]!r} is also in the first", "Give sets that share no column")
    least = min(len(one.frame) for one in tables)
    if neighbours > least:
        raise InputError("neighbours", "it is more than a released table has records", f"Give at most {least}")
    others = [*tables, *([held] if held else [])]
    halves = [learn_places(table, others, columns, scale) for columns in (names, other_names)]
    random = np.random.default_rng(seed)
    sides = [(one, choose_rows(random, len(one.frame), attacks)) for one in (table, held) if one]
    asked = [[half.of(one)[rows] for half in halves] for one, rows in sides]
    linked: list[list[Booleans]] = [[] for _ in sides]
    for number, released_table in enumerate(tables):
        to = [half.of(released_table) for half in halves]
        for side, of_people in enumerate(asked):
            lists = [
                find_neighbours(
                    people, near, half.exact, neighbours, seed=derive_seed(seed, "link", side, number, which)
                )[0]
                for which, (people, near, half) in enumerate(zip(of_people, to, halves, strict=True))
            ]
            linked[side].append((lists[0][:, :, None] == lists[1][:, None, :]).any(axis=(1, 2)))
    chances = [_share_by_chance(len(one.frame), neighbours) for one in tables]
    succeeded = [np.array(side, dtype=np.float64) for side in linked]
    naive = Figure(float(np.mean(chances)), np.nan, np.nan)
    return compare(succeeded[0], succeeded[1] if held else None, naive)


def _share_by_chance(records: int, neighbours: int) -> float:
    """Chance that two lists at random share a record."""
    if 2 * neighbours > records:
        return 1.0
    left = records - neighbours
    none = 2 * gammaln(left + 1) - gammaln(left - neighbours + 1) - gammaln(records + 1)
    return float(-np.expm1(none))


def singling_out(
    data: Any,
    released: Any,
    columns: Sequence[str] | str | None = None,
    *,
    control: Any = None,
    size: int = 3,
    attacks: int = 2_000,
    seed: int,
) -> Attack:
    """Find, from a released table, what is true of one person alone.

    The intruder looks for predicates that hold for one released record, and claims that they hold for exactly one
    person of the data. With `size` 1 they are the values that occur once in a column, the least and the largest. With
    more, a released record and some columns are taken at random: a category is to be the same, a number as large or
    larger if it lies above the median, and else as small or smaller. A predicate that holds for nobody is a failure, as
    is one that holds for two, be they alike in every column. The baseline draws columns, values and relations at
    random.

    Whether a predicate singles out depends on how many people there are. Where the control has fewer records than the
    data, or more, both are judged among as many as the smaller has: with c of N people meeting the predicate, one and
    no more is among m of them, taken at random, with chance `c C(N - c, m - 1) / C(N, m)`. Predicates speak of the same
    people again and again: the interval of the risk is no narrower than what sharing out all people anew, into data and
    control, makes of rate less control.

    Parameters
    ----------
    data, released, control, seed
        As in `inference`.
    columns
        What predicates are made of; by default all that the tables share.
    size
        Columns in a predicate.
    attacks
        Predicates at most, over all tables; there may be fewer that hold for one released record.

    References
    ----------
    As of `inference`. Cohen and Nissim, Towards Formalizing the GDPR's Notion of Singling Out (2020). anonymeter drops
    the records that repeat another from every table first, so that it singles out two people who are alike; and it
    fits a curve to control records to make up for their number.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"age": [20, 30, 40, 40], "pay": [1.5, 2.5, 3.5, 3.5]})
    >>> people = pd.DataFrame({"age": [21, 49, 52, 18], "pay": [4.4, 4.6, 2.5, 2.6]})
    >>> found = singling_out(data, data, control=people, size=1, seed=1)
    >>> found.attacks, found.rate.value, round(found.control.value, 3)
    (6, 1.0, 0.333)
    """
    check_whole("attacks", attacks, 1)
    check_whole("size", size, 1)
    names, table, tables, held = _shared(data, released, control, columns)
    if size > len(names):
        raise InputError("size", f"there are {len(names)} columns", "Give at most as many, or more columns")
    places = learn_places(table, [*tables, *([held] if held else [])], names, "none")
    random = np.random.default_rng(seed)
    own, others = places.of(table), None if held is None else places.of(held)
    people = len(own) if others is None else min(len(own), len(others))
    found: list[list[Floats]] = [[], [], []]
    every: list[_Predicates] = []
    # As many from every table, the first ones of a few more if they cannot be shared out.
    shares = [attacks // len(tables) + (number < attacks % len(tables)) for number in range(len(tables))]
    for one, share in zip(tables, shares, strict=True):
        values = places.of(one)
        made = _find_predicates(values, places, size, share, random)
        naive = _random_predicates(values, places, size, share, random)
        every.append(made)
        found[0].append(_alone(own, made, people))
        found[1].append(_alone(others, made, people) if others is not None else np.empty(0))
        found[2].append(_alone(own, naive, people))
    attacked, controlled, drawn = (np.concatenate(one)[None] for one in found)
    rate, baseline = rate_of(attacked), rate_of(drawn)
    if others is None:
        return Attack(rate, NOTHING, baseline, NOTHING, attacked.size, 0)
    control_rate = rate_of(controlled)
    risk = excess(rate, control_rate, correlation=_correlation(attacked[0], controlled[0]))
    spread = _spread_by_chance(own, others, _join(every), people, random)
    return Attack(rate, control_rate, baseline, _widen(risk, spread, control_rate), attacked.size, controlled.size)


def _widen(risk: Figure, spread: float, control: Figure) -> Figure:
    """Make an interval at least as wide as chance alone makes it, by the standard deviation of the difference."""
    if np.isnan(risk.value):
        return risk
    reach = _Z * spread / (1 - control.value)
    return Figure(risk.value, min(risk.low, risk.value - reach), min(max(risk.high, risk.value + reach), 1.0))


def _spread_by_chance(
    own: Floats, others: Floats, predicates: "_Predicates", people: int, random: np.random.Generator
) -> float:
    """Standard deviation of rate less control if it were a matter of chance who was in the data, and who a control.

    Predicates that speak of the same people succeed and fail together, so that many tell no more than a few. All people
    are put together and shared out again.
    """
    pool, number = np.concatenate([own, others]), len(predicates.columns)
    if not number:
        return 0.0
    rows, counts = _list_holding(pool, predicates.columns, predicates.relations, predicates.values, _MOST_HOLDING)
    # Who is beyond the list is nobody: a predicate of so many singles out nobody, however they are shared out.
    few = counts <= _MOST_HOLDING
    rows = rows[few]
    differences = []
    for _ in range(_SHARINGS):
        inside = np.append(random.permutation(len(pool)) < len(own), False)
        one = inside[rows].sum(axis=1)
        chances = [_chance_alone(one, len(own), people), _chance_alone(counts[few] - one, len(others), people)]
        differences.append((chances[0].sum() - chances[1].sum()) / number)
    return float(np.std(differences))


class _Predicates(NamedTuple):
    """Conditions that hold together, (predicates, conditions): column, relation and value, NaN for missing."""

    columns: Integers
    relations: Integers
    values: Floats


def _shared(
    data: Any, released: Any, control: Any, columns: Sequence[str] | str | None
) -> tuple[list[str], Table, list[Table], Table | None]:
    table, tables = as_table(data), as_tables(released)
    held = None if control is None else as_table(control, argument="control")
    everywhere = [one.frame.columns for one in (*tables, *([held] if held else []))]
    shared = [name for name in table.frame.columns if all(name in names for names in everywhere)]
    return read_tables(table, tables, held, shared if columns is None else columns, "columns")


def _find_predicates(
    values: Floats, places: Places, size: int, number: int, random: np.random.Generator
) -> _Predicates:
    """Make predicates that hold for one record of a released table, at most so many."""
    if size == 1:
        made = _rare_values(values, places.exact)
        made = _take(made, _count(values, made, 1) == 1)
        return _take(made, choose_rows(random, len(made.columns), number))
    middle = np.array([np.median(one[~np.isnan(one)]) if (~np.isnan(one)).any() else 0.0 for one in values.T])
    kept, tried = _empty(size), 0
    while len(kept.columns) < number and tried < _TRIES * number:
        batch = max(number, 1_000)
        rows = random.integers(len(values), size=batch)
        chosen = np.sort(random.random((batch, values.shape[1])).argsort(axis=1)[:, :size], axis=1)
        held = values[rows[:, None], chosen]
        sides = np.where(held > middle[chosen], _AT_LEAST, _AT_MOST)
        made = _Predicates(chosen, np.where(places.exact[chosen] | np.isnan(held), _EQUAL, sides), held)
        kept = _distinct(_join([kept, _take(made, _count(values, made, 1) == 1)]))
        tried += batch
    return _take(kept, slice(number))


def _rare_values(values: Floats, exact: Booleans) -> _Predicates:
    """Every value of a column that occurs once, and the ends of the numbers."""
    made = []
    for column, own in enumerate(values.T):
        distinct, times = np.unique(own, return_counts=True, equal_nan=True)
        made += [(column, _EQUAL, value) for value in distinct[times == 1]]
        present = own[~np.isnan(own)]
        if not exact[column] and len(present):
            made += [(column, _AT_MOST, present.min()), (column, _AT_LEAST, present.max())]
    if not made:
        return _empty(1)
    columns, relations, held = zip(*made, strict=True)
    return _Predicates(np.array(columns)[:, None], np.array(relations)[:, None], np.array(held)[:, None])


def _random_predicates(
    values: Floats, places: Places, size: int, number: int, random: np.random.Generator
) -> _Predicates:
    """Draw columns, values that occur, each as likely, and relations."""
    chosen = np.sort(random.random((number, values.shape[1])).argsort(axis=1)[:, :size], axis=1)
    held = np.empty(chosen.shape)
    for column, own in enumerate(values.T):
        here = chosen == column
        held[here] = random.choice(np.unique(own), int(here.sum()))
    plain = places.exact[chosen] | np.isnan(held)
    relations = np.where(plain, random.integers(2, size=chosen.shape), random.integers(6, size=chosen.shape))
    return _Predicates(chosen, relations, held)


def _empty(size: int) -> _Predicates:
    return _Predicates(np.empty((0, size), dtype=np.int64), np.empty((0, size), dtype=np.int64), np.empty((0, size)))


def _take(predicates: _Predicates, rows: Any) -> _Predicates:
    return _Predicates(predicates.columns[rows], predicates.relations[rows], predicates.values[rows])


def _join(several: Sequence[_Predicates]) -> _Predicates:
    return _Predicates(
        np.concatenate([one.columns for one in several]),
        np.concatenate([one.relations for one in several]),
        np.concatenate([one.values for one in several]),
    )


def _distinct(predicates: _Predicates) -> _Predicates:
    """Keep the first of those that say the same."""
    said = np.hstack([predicates.columns, predicates.relations, np.nan_to_num(predicates.values, nan=np.inf)])
    _, first = np.unique(said, axis=0, return_index=True)
    return _take(predicates, np.sort(first))


def _count(values: Floats, predicates: _Predicates, most: int) -> Integers:
    """Count the records that each predicate holds for; beyond `most` any number that is beyond."""
    return _count_holding(values, predicates.columns, predicates.relations, predicates.values, most)


@njit(nogil=True, cache=True)
def _holds(record: Floats, columns: Integers, relations: Integers, held: Floats) -> bool:
    """Whether all conditions of a predicate hold for a record."""
    for k in range(len(columns)):
        own, value, relation = record[columns[k]], held[k], relations[k]
        if relation <= _OTHER:
            same = own == value or (np.isnan(own) and np.isnan(value))
            holds = same == (relation == _EQUAL)
        elif relation == _AT_MOST:
            holds = own <= value
        elif relation == _AT_LEAST:
            holds = own >= value
        elif relation == _BELOW:
            holds = own < value
        else:
            holds = own > value
        if not holds:
            return False
    return True


@njit(nogil=True, cache=True)
def _count_holding(values: Floats, columns: Integers, relations: Integers, held: Floats, most: int) -> Integers:
    counts = np.zeros(len(columns), dtype=np.int64)
    for q in range(len(columns)):
        for i in range(len(values)):
            counts[q] += _holds(values[i], columns[q], relations[q], held[q])
            if counts[q] > most:
                break
    return counts


@njit(nogil=True, cache=True)
def _list_holding(
    values: Floats, columns: Integers, relations: Integers, held: Floats, most: int
) -> tuple[Integers, Integers]:
    """List the records that each predicate holds for, at most so many, and count them; the rest is a last record."""
    rows = np.full((len(columns), most), len(values), dtype=np.int64)
    counts = np.zeros(len(columns), dtype=np.int64)
    for q in range(len(columns)):
        for i in range(len(values)):
            if _holds(values[i], columns[q], relations[q], held[q]):
                if counts[q] < most:
                    rows[q, counts[q]] = i
                counts[q] += 1
                if counts[q] > most:
                    break
    return rows, counts


def _alone(values: Floats, predicates: _Predicates, people: int) -> Floats:
    """Chance that each predicate holds for exactly one of so many of the records."""
    most = 1 if people == len(values) else len(values)
    return _chance_alone(_count(values, predicates, most), len(values), people)


def _chance_alone(counts: Integers, records: int, people: int) -> Floats:
    """Chance that exactly one of some of the records is among so many of all, taken at random."""
    if people == records:
        return (counts == 1).astype(np.float64)
    possible = (counts > 0) & (records - counts >= people - 1)
    rest = np.where(possible, records - counts, people - 1).astype(np.float64)
    ways = gammaln(rest + 1) - gammaln(people) - gammaln(rest - people + 2)
    every = gammaln(records + 1) - gammaln(people + 1) - gammaln(records - people + 1)
    return np.where(possible, counts * np.exp(ways - every), 0.0)


def _correlation(one: Floats, other: Floats) -> float:
    """Correlation of two rows of successes, 0 where one never varies, and never below 0."""
    if len(one) < 2 or one.std() == 0 or other.std() == 0:
        return 0.0
    return max(float(np.corrcoef(one, other)[0, 1]), 0.0)
