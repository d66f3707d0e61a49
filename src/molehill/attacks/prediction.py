"""Prediction: what a person's variables that are released unchanged disclose of a synthesized one.

A synthesized variable may follow from others that are released unchanged: a sum from its components, a score from age
and experience. Whoever makes the synthetic values, their noise is averaged out by a fit to many released records.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Booleans, Floats, Integers
from molehill.attacks.linking import normal_scores
from molehill.attacks.rates import NOTHING, excess, rate_of
from molehill.attacks.single_variables import SOURCES, UNIT, as_numbers, guess_by_single, look_beside
from molehill.errors import InputError, check_names, check_number, check_whole
from molehill.runtime import call_alone
from molehill.tables.intervals import Figure
from molehill.tables.patterns import learn_patterns, match_patterns
from molehill.tables.resolution import column_unit, holds_dates
from molehill.tables.schema import column_numbers, cut_into_groups, is_number
from molehill.tables.table import Table, as_table, as_tables, find_columns

# Values as close as this, relative to the true one, are not predicted by a relation, but computed by a formula.
FINE = 0.01
# Parts into which people are divided, each predicted by a fit to the others; and records in all fits together.
_PARTS, _RECORDS = 5, 5_000
# Variables, and indicators, that a fit sees at most.
_VARIABLES = 150
# Levels of a category that a linear fit sees, and different values of a number by which amounts may be divided.
_LEVELS, _DIVISORS, _MOST_DIVISORS = 20, 100, 8
# Rounds of a fit that gives records far from it less weight, from so many median distances on.
_ROUNDS, _FAR = 4, 2.0
# Of fewer people nothing is learned, and of fewer nothing is grouped.
_LEAST, _GROUPED = 20, 50
# Of fewer people with a level nothing is said of it.
_HOLDERS = 10
# Guesses that are right by so little more are no better: the simplest come first.
_ALIKE = 0.005
# Least records in a leaf of either tree.
_LEAVES = (5, 20)
# Records are alike if a probability, and a size, is in the same of these ranges; so many cells are looked at, at most.
_CHANCES, _CELLS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98), 50_000_000
# So many ranges of sizes, and records in each at least: what predicts closely needs narrow ones. A leaf has one of so
# many records.
_RANGES, _IN_RANGE, _OF_LEAF = (5, 40), 15, 40


@dataclass(frozen=True)
class Prediction:
    """How often a synthesized variable of a person is predicted right, by fits to the released records of others.

    Attributes
    ----------
    column
        The synthesized variable.
    rate
        Share of the people predicted right from all variables that are released unchanged.
    baseline
        The same from the key variables alone.
    risk
        `(rate - baseline) / (1 - baseline)`: of what the key variables leave to be learned, the share that is.
    fine
        Of a number, the share predicted within 1% of the true value; NaN where values are too coarse to say so.
    fine_baseline, fine_risk
        The same as above.
    level
        Of a category, the gain of the level that is redrawn the least: `(o - e) / (1 - e)`, with o the share of the
        people with a true level to whom the release gives it again, and e what the predictions for them say.
    by, fine_by
        What alone predicts as well, within the radius and within 1%: a variable, or the order of the rows; else empty.
    """

    column: str
    rate: Figure
    baseline: Figure
    risk: Figure
    fine: Figure = NOTHING
    fine_baseline: Figure = NOTHING
    fine_risk: Figure = NOTHING
    level: Figure = NOTHING
    by: str = ""
    fine_by: str = ""


def predict_synthesized(
    data: Any,
    released: Any,
    column: str,
    kept: Sequence[str] | str,
    *,
    known: Sequence[str] | str = (),
    breaks: Mapping[str, Sequence[float]] | None = None,
    beside: Sequence[str] = (),
    places: Sequence[Integers] = (),
    radius: float = 0.2,
    least: float = 0.0,
    exact: bool = False,
    seed: int,
) -> Prediction:
    """Predict a synthesized variable of every person from variables released unchanged.

    The people are divided into parts (of records of a household, all into one). An intruder fits to the released
    records of the other parts, averaged over the datasets, and applies that to what is released unchanged of a person:
    linear fits of the value, of its logarithm, and of the value times and divided by another variable, with records far
    from the fit counting for less, with coefficients near whole numbers rounded, and with the released values handed
    out in the order of the predictions, which restores a relation that synthesis has flattened; and regression trees.
    The intruder knows what kind of relation holds: that which is right most often for the people of the other parts.
    Functions of single variables are tried too, released values of other synthesized variables among these (see
    `molehill.attacks.single_variables`); some are learned from the true values of other people.
    Within 1%, the intruder may also know the formula by which the true values follow from these variables.
    The baseline predicts likewise from the key variables, by trees, and from no variable at all.

    Parameters
    ----------
    data, released
        The confidential table, and one released table or a sequence of them, record by record.
    column
        The synthesized variable.
    kept
        Variables that are released unchanged.
    known, breaks
        Key variables, and the ends of the groups in which the intruder knows numbers among them.
    beside
        Other variables of the released tables, such as other synthesized ones.
    places
        Where every person stands in the released files; none where these are put in random order.
    radius, least
        A number counts as right within `max(radius * |y|, least)`.
    exact
        Whether the variable is a category, which must be predicted exactly.
    seed
        Of the division into parts.
    """
    check_whole("seed", seed, 0)
    if check_number("radius", radius) < 0:
        raise InputError("radius", "it is negative", "Give a share, such as 0.2")
    names, keys = (check_names(of, some) if some else () for of, some in (("kept", kept), ("known", known)))
    table, tables = as_table(data), as_tables(released)
    find_columns(table, list(dict.fromkeys([column, *names, *keys])), "data")
    for one in tables:
        find_columns(one, [column], "released")
        if len(one.frame) != len(table.frame):
            problem = f"it has {len(one.frame):,} records where the confidential table has {len(table.frame):,}"
            raise InputError("released", problem, "Give tables of the same records in the same order")
    truth, told = read_target(table, tables, column, exact=exact)
    groups = _find_groups(table, names)
    rows, part = _divide(len(truth), groups, np.random.default_rng(seed))
    usable = ~np.isnan(truth[rows]) & ~np.isnan(told[:, rows]).any(axis=0)
    rows, part = rows[usable], part[usable]
    if len(rows) < _LEAST:
        return Prediction(column, NOTHING, NOTHING, NOTHING)
    every, truth, told = truth, truth[rows], told[:, rows]
    names = put_first(table, names, truth, rows)
    own = _read_inputs(table, names, {}, groups, rows)
    by_key = _read_inputs(table, keys, breaks or {}, None, rows)
    about: dict[str, Any] = {"beside": beside, "places": places}
    about["patterns"] = learn_patterns(table, keys, breaks).codes if keys else None
    near = look_beside(table, tables, column, names, **about, levels=learn_patterns(table, [column]) if exact else None)
    single = guess_by_single(every, told, near, rows, exact=exact)
    if exact:
        shares, simple = (_classify(told, inputs, part) for inputs in (own, by_key))
        best = _take_best(single, truth, [np.zeros(len(truth))])
        right = [shares.argmax(axis=1) == truth, *(one == truth for _, one in best)]
        figures = _compare(_choose(right, part), simple.argmax(axis=1) == truth)
        level = _find_level(truth.astype(np.int64), told, shares)
        return Prediction(column, *figures, level=level, by=_name_best(right, best))
    simple = [*_guess_typical(told, part), *_guess_by_trees(told, by_key, part)]
    linear = call_alone(_guess_linear, told, own, part)
    ranked = [_map_to_released(one, told) for one in linear]
    # Of coarse values, such as years of school, 1% is less than the step from one to the next.
    reach, fine = np.maximum(radius * np.abs(truth), least), FINE * np.abs(truth)
    best = _take_best(single, truth, [reach, fine])
    guesses = [*linear, *ranked, *_guess_by_trees(told, own, part), *simple, *(one for _, one in best)]
    # A share of a date means nothing.
    is_fine = (truth != 0) & (fine >= column_unit(table.frame[column])) & (not holds_dates(table.frame[column]))
    # A formula may be known from elsewhere, though the released values do not keep to it.
    formulas = call_alone(_guess_linear, truth[None], own, part)
    by_formula = ([*formulas, *guesses], [*simple, *_guess_typical(truth[None], part)])
    figures, named = [], []
    for within, people, tried in (
        (reach, is_fine | True, (guesses, simple)),
        (fine, is_fine, by_formula),
    ):
        right = [[(np.abs(one - truth) <= within)[people] for one in some] for some in tried]
        figures += _compare(*(_choose(one, part[people]) for one in right)) if people.sum() >= _LEAST else [NOTHING] * 3
        named.append(_name_best(right[0], best) if people.sum() >= _LEAST else "")
    return Prediction(column, *figures, by=named[0], fine_by=named[1])


def group_by_kept(table: Table, released: Floats, kept: Sequence[str], *, exact: bool, seed: int) -> Integers | None:
    """Group records by what variables that are released unchanged say of a synthesized one.

    Who does not work has no wage, and whoever sees the one knows the other: that is true of all people like that, and
    owed to no record. Trees predict, from the released records of other people, the most likely level of a category; of
    a number whether it has the most frequent value, such as zero, and how large it is. Records of a group are alike in
    what is predicted, and in how sure it is.

    Parameters
    ----------
    table
        A table with the variables that are released unchanged.
    released
        (datasets, records): the released numbers, or codes of levels, NaN where missing.
    kept
        Variables that are released unchanged.
    exact
        Whether these are codes of levels.
    seed
        Of the division of the people into parts.

    Returns
    -------
    array
        One per record; None of fewer than 50 records, or where nothing is released unchanged.
    """
    # Imported here because it loads slowly and most commands do not need it.
    from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415

    values, counts = np.unique(released[~np.isnan(released)], return_counts=True)
    if not kept or released.shape[1] < _GROUPED or len(values) < 2:
        return None
    frequent = values[np.argsort(-counts, kind="stable")[: _LEVELS if exact else 1]]
    targets = [(released == value).mean(axis=0) for value in frequent]
    if not exact:
        size = float(np.median(np.abs(released[(released != 0) & ~np.isnan(released)])))
        targets.append(np.arcsinh(np.nan_to_num(released) / (0.1 * size)).mean(axis=0))
    records = released.shape[1]
    looked = np.flatnonzero(~np.isnan(released).any(axis=0))[:_RECORDS]
    kept = put_first(table, kept, released[0, looked], looked)
    seen = [
        column_numbers(table, name) if is_number(table, name) else pd.factorize(table.frame[name])[0]
        for name in kept[: max(min(_VARIABLES, _CELLS // records), 1)]
    ]
    inputs = np.column_stack(seen).astype(np.float32)
    place = np.random.default_rng(seed).permutation(records)
    predicted = np.empty((records, len(targets)))
    # Of few records, leaves of many would find no difference.
    leaf = int(np.clip(records // _OF_LEAF, *_LEAVES))
    # The levels of a category by one tree; whether a number is the most frequent one, and how large, by one each.
    outcomes = [np.arange(len(targets))] if exact else [np.array([0]), np.array([1])]
    for number in range(_PARTS):
        used, asked = (place % _PARTS != number) & (place < _RECORDS), place % _PARTS == number
        for columns in outcomes:
            tree = DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0)
            tree.fit(inputs[used], np.column_stack([targets[column] for column in columns])[used])
            predicted[np.ix_(asked, columns)] = tree.predict(inputs[asked]).reshape(-1, len(columns))
    likely = predicted.max(axis=1) if exact else predicted[:, 0]
    groups = np.searchsorted(_CHANCES, likely, side="right")
    if exact:
        what = np.argmax(predicted, axis=1)
    else:
        sizes, number = predicted[:, 1], int(np.clip(records // _IN_RANGE, *_RANGES))
        ends = np.quantile(sizes, np.arange(1, number) / number)
        what = np.where(likely < _CHANCES[-1], np.searchsorted(ends, sizes), 0)
    return np.unique(groups * records + what, return_inverse=True)[1].reshape(-1)


@dataclass(frozen=True, eq=False)
class _Inputs:
    """What a fit sees of the people: amounts, indicators of levels, both for trees, and what amounts are divided by."""

    amounts: Floats
    indicators: Floats
    mixed: Floats
    divisors: Floats


def read_target(table: Table, tables: Sequence[Table], column: str, *, exact: bool) -> tuple[Floats, Floats]:
    """Give true and released values, (datasets, records), NaN where there is none; categories by their number."""
    if not exact:
        return column_numbers(table, column), np.array([column_numbers(one, column, "released") for one in tables])
    levels = learn_patterns(table, [column])
    told = np.array([match_patterns(levels, one) for one in tables], dtype=np.float64)
    return levels.codes.astype(np.float64), np.where(told < 0, np.nan, told)


def indicate_kept(table: Table, kept: Sequence[str]) -> Floats:
    """Give what a linear fit sees of variables released unchanged: amounts, their ranks, and indicators of levels."""
    inputs = _read_inputs(table, kept, {}, None, np.arange(len(table.frame)))
    return np.column_stack([inputs.amounts, normal_scores(inputs.amounts), inputs.indicators])


def put_first(table: Table, names: Sequence[str], truth: Floats, rows: Integers) -> Sequence[str]:
    """Put the variables first that are associated most with some values, where not all of very many are looked at.

    By the larger of two correlations: of ranks, and Chatterjee's, which is 1 where the values are any function of the
    variable, whatever its codes.
    """
    if len(names) <= SOURCES or len(rows) < 2:
        return names
    order = np.argsort(truth, kind="stable")
    above = len(truth) - np.searchsorted(truth[order], truth)
    scale = 2 * float((above * (len(truth) - above)).sum())
    strength = {}
    for name in names:
        values = as_numbers(table, name)[rows]
        values = np.where(np.isnan(values), -np.inf, values)
        by_rank = np.argsort(values, kind="stable")
        found = 1 - len(truth) * float(np.abs(np.diff(above[by_rank])).sum()) / scale if scale else 0.0
        ranks = pd.Series(values).rank().to_numpy()
        both = ranks.std() * above.std()
        linear = 0.0 if both == 0 else abs(float(((ranks - ranks.mean()) * (above - above.mean())).mean() / both))
        strength[name] = max(found, linear)
    return sorted(names, key=lambda name: -strength[name])


def _find_groups(table: Table, names: Sequence[str]) -> Integers | None:
    """Find a variable that numbers groups of a few records, such as households, and give the group of every record.

    Within a household some other variables do not vary, such as its size: the more there are, the surer it is one.
    """
    codes = {name: pd.factorize(table.frame[name], use_na_sentinel=False)[0].astype(np.int64) for name in names}
    most, groups = 0, None
    for one in codes.values():
        number = int(one.max(initial=0)) + 1
        if number <= _GROUPED or not UNIT[0] <= len(one) / number <= UNIT[1]:
            continue
        first = np.unique(one, return_index=True)[1][one]
        # A variable with hardly any levels may be constant by chance.
        constant = sum(
            other is not one and other.max() > 1 and bool((other == other[first]).all()) for other in codes.values()
        )
        if constant > most:
            most, groups = constant, one
    return groups


def _divide(records: int, groups: Integers | None, random: np.random.Generator) -> tuple[Integers, Integers]:
    """Choose records for the fits, and give each a part; records of a group stay together."""
    of = np.arange(records) if groups is None else groups
    place = random.permutation(int(of.max()) + 1)[of]
    rows = np.sort(np.argsort(place, kind="stable")[:_RECORDS])
    return rows, place[rows] % _PARTS


def _read_inputs(
    table: Table, names: Sequence[str], breaks: Mapping[str, Sequence[float]], groups: Integers | None, rows: Integers
) -> _Inputs:
    """Read variables for the fits: amounts with their sums over a group, and indicators of frequent levels."""
    amounts, indicators, mixed = [], [], []
    for name in names[:_VARIABLES]:
        codes, levels = pd.factorize(table.frame[name].iloc[rows])
        if breaks.get(name):
            codes = cut_into_groups(column_numbers(table, name), breaks[name], name)[rows]
            mixed.append(codes.astype(np.float64))
        elif is_number(table, name):
            values = column_numbers(table, name)
            sums = [] if groups is None else [np.bincount(groups, np.nan_to_num(values))[groups][rows]]
            values = values[rows]
            mixed += [values, *sums]
            missing = np.isnan(values)
            amounts += [np.where(missing, 0.0 if missing.all() else np.nanmedian(values), values), *sums]
            # Of an amount it is seen where it is missing.
            codes = codes if len(levels) <= _LEVELS else np.where(missing, 0, -1)
        else:
            mixed.append(codes.astype(np.float64))
        frequent = np.argsort(-np.bincount(codes[codes >= 0], minlength=1), kind="stable")[:_LEVELS]
        indicators += [(codes == level).astype(np.float64) for level in frequent if len(indicators) < _VARIABLES]
    if groups is not None:
        amounts.append(np.bincount(groups)[groups][rows].astype(np.float64))
        mixed.append(amounts[-1])
    divisors = [one for one in amounts if 1 < len(np.unique(one)) <= _DIVISORS and one.min() > 0][:_MOST_DIVISORS]
    empty = np.empty((len(rows), 0))
    return _Inputs(*(np.column_stack(some) if some else empty for some in (amounts, indicators, mixed, divisors)))


def _guess_linear(told: Floats, inputs: _Inputs, part: Integers) -> list[Floats]:
    """Linear fits: of the value, of its logarithm, and of the value times and divided by another variable."""
    plain = np.column_stack([inputs.amounts, inputs.indicators])
    mean, ones = told.mean(axis=0), np.ones(len(part))
    if not plain.shape[1]:
        return []
    guesses = _fit_parts(plain, mean, ones, part)
    factors = [*inputs.divisors.T, *(1 / inputs.divisors.T)]
    # By one fit to all, only the one that explains the most is taken further.
    errors = [np.median(np.abs(mean - _fit(plain, mean * one, ones > 0, rounds=1)[0] / one)) for one in factors]
    if errors:
        guesses += _fit_parts(plain, mean, factors[int(np.argmin(errors))], part)
    if (told > 0).all():
        positive = inputs.amounts[:, (inputs.amounts > 0).all(axis=0)]
        logs = np.column_stack([np.log(positive), plain])
        guesses += [np.exp(_fit_parts(logs, np.log(told).mean(axis=0), ones, part)[0])]
    return guesses


def _fit_parts(inputs: Floats, target: Floats, factor: Floats, part: Integers) -> list[Floats]:
    """Predict every part by a fit to the others of target times factor: as fitted, and by rounded coefficients."""
    guesses = np.empty((2, len(target)))
    for number in range(_PARTS):
        guesses[:, part == number] = _fit(inputs, target * factor, part != number)[:, part == number]
    return [*(guesses / factor)]


def _fit(inputs: Floats, target: Floats, used: Booleans, *, rounds: int = _ROUNDS) -> Floats:
    """Fit to the records used, those far from the fit with less weight, and predict all: (as fitted, rounded)."""
    centre, spread = inputs[used].mean(axis=0), inputs[used].std(axis=0)
    varies = spread > 0
    scaled = np.column_stack([np.ones(len(inputs)), (inputs[:, varies] - centre[varies]) / spread[varies]])
    x, y = scaled[used], target[used]
    weight, slopes, inverse, usual = np.ones(len(y)), np.zeros(x.shape[1]), np.eye(x.shape[1]), 0.0
    for _ in range(rounds):
        inverse = np.linalg.inv((x * weight[:, None]).T @ x + 1e-9 * len(y) * np.eye(x.shape[1]))
        slopes = inverse @ (x.T @ (weight * y))
        left = np.abs(y - x @ slopes)
        usual = max(float(np.median(left)), 1e-12 * float(np.abs(y).max(initial=1.0)))
        weight = np.minimum(1.0, _FAR * usual / np.maximum(left, 1e-300))
    fitted = scaled @ slopes
    error = 1.48 * usual * np.sqrt(np.maximum(np.diag(inverse), 0.0))[1:] / spread[varies]
    raw = slopes[1:] / spread[varies]
    near = (np.abs(raw - np.rint(raw)) <= 3 * error) & (error <= 0.15)
    rounded = inputs[:, varies] @ np.where(near, np.rint(raw), raw)
    return np.array([fitted, rounded + np.median(y - rounded[used])])


def _guess_by_trees(told: Floats, inputs: _Inputs, part: Integers) -> Iterator[Floats]:
    """Regression trees, on a scale where amounts of any size count alike: the median of released values in a leaf."""
    # Imported here because it loads slowly and most commands do not need it.
    from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415

    if not inputs.mixed.shape[1]:
        return
    size = float(np.median(np.abs(told[told != 0]))) if (told != 0).any() else 1.0
    scaled = np.arcsinh(told / (0.1 * size)).mean(axis=0)
    for leaf in _LEAVES:
        guess = np.empty(len(part))
        for number in range(_PARTS):
            used = part != number
            tree = DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0).fit(inputs.mixed[used], scaled[used])
            places = tree.apply(inputs.mixed)
            guess[~used] = _leaf_medians(places[used], told[:, used], tree.tree_.node_count)[places[~used]]
        yield guess


def _leaf_medians(places: Integers, told: Floats, number: int) -> Floats:
    """Give the median of all released values in each leaf; 0 in a place that has none."""
    leaf, values = np.tile(places, len(told)), told.ravel()
    order = np.lexsort((values, leaf))
    sizes = np.bincount(leaf, minlength=number)
    starts = np.cumsum(sizes) - sizes
    middle = [values[order][np.minimum(starts + np.maximum(sizes - 1 + odd, 0) // 2, len(leaf) - 1)] for odd in (0, 1)]
    return np.where(sizes > 0, (middle[0] + middle[1]) / 2, 0.0)


def _guess_typical(told: Floats, part: Integers) -> Iterator[Floats]:
    """The median and the most frequent of the released values of the others."""
    guesses = np.empty((2, len(part)))
    for number in range(_PARTS):
        others = told[:, part != number].ravel()
        values, counts = np.unique(others, return_counts=True)
        guesses[:, part == number] = np.array([[np.median(others)], [values[np.argmax(counts)]]])
    yield from guesses


def _map_to_released(guess: Floats, told: Floats) -> Floats:
    """Give the people the released values in the order of their guesses: a relation that was flattened is restored."""
    order = np.argsort(np.argsort(guess, kind="stable"), kind="stable")
    return np.quantile(told, (order + 0.5) / len(guess))


def _take_best(
    guesses: Iterable[tuple[str, Floats]], truth: Floats, reaches: Sequence[Floats]
) -> list[tuple[str, Floats]]:
    """Take of many guesses, for each of some reaches, that which is right the most often; the first of nearly equal."""
    best, most = [("", np.full(len(truth), np.nan))] * len(reaches), [0.0] * len(reaches)
    for name, one in guesses:
        away = np.abs(one - truth)
        for place, reach in enumerate(reaches):
            share = float((away <= reach).mean())
            if share > most[place] + _ALIKE:
                best[place], most[place] = (name, one), share
    return best


def _name_best(right: Sequence[Booleans], best: Sequence[tuple[str, Floats]]) -> str:
    """Name the single variable that is right the most often, if one of these is; they come last."""
    shares = [float(one.mean()) for one in right]
    names = [""] * (len(right) - len(best)) + [name for name, _ in best]
    return names[int(np.argmax(shares))]


def _choose(right: Sequence[Booleans], part: Integers) -> Booleans:
    """Take for every part what is right the most often for the people of the others."""
    tried = np.array(right)
    chosen = np.empty(len(part), dtype=bool)
    for number in range(_PARTS):
        best = int(np.argmax(tried[:, part != number].mean(axis=1)))
        chosen[part == number] = tried[best, part == number]
    return chosen


def _classify(told: Floats, inputs: _Inputs, part: Integers) -> Floats:
    """Predict a category: (records, levels), shares of the levels by a tree fitted to all datasets of the others."""
    # Imported here because it loads slowly and most commands do not need it.
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415

    shares = np.zeros((len(part), int(told.max()) + 1))
    mixed = inputs.mixed if inputs.mixed.shape[1] else np.zeros((len(part), 1))
    for number in range(_PARTS):
        used = part != number
        tree = DecisionTreeClassifier(min_samples_leaf=10 * len(told), random_state=0)
        tree.fit(np.tile(mixed[used], (len(told), 1)), told[:, used].ravel())
        shares[np.ix_(~used, np.asarray(tree.classes_, dtype=np.int64))] = tree.predict_proba(mixed[~used])
    return shares


def _find_level(truth: Integers, told: Floats, shares: Floats) -> Figure:
    """Find the level that people have again the most, beyond what is predicted for them."""
    found = [NOTHING]
    for level in np.flatnonzero(np.bincount(truth, minlength=shares.shape[1])[: shares.shape[1]] >= _HOLDERS):
        own = truth == level
        expected = float(shares[own, level].mean())
        rate = rate_of((told[:, own] == level).astype(np.float64))
        found.append(excess(rate, Figure(expected, expected, expected)))
    return max(found, key=lambda one: -np.inf if np.isnan(one.low) else one.low)


def _compare(own: Booleans, simple: Booleans) -> list[Figure]:
    """Give the share that is right, that of the baseline, and what is gained; the people are the same."""
    both = [rate_of(one[None].astype(np.float64)) for one in (own, simple)]
    correlation = float(np.corrcoef(own, simple)[0, 1]) if own.std() and simple.std() else 0.0
    return [*both, excess(*both, correlation=correlation)]
