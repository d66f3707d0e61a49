"""What can be computed from what is kept: synthesized variables that follow from variables released unchanged.

A synthesized variable protects nobody if its true value can be computed from variables that stand beside it as they
were collected: a total beside its components, an hourly wage beside pay and hours, a household's income beside those of
its members. Formulas are searched for (sums and differences, products and ratios, logarithms, totals within a unit such
as a household), then functions of one or two categories, then anything that a tree or a regression predicts.

What is found is told by names and by coefficients that stand in any codebook (small whole numbers, 1 / 12, 0.19), never
by fitted ones or by a value.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from molehill.arrays import Booleans, Floats
from molehill.attacks.reconstruction import typical_others
from molehill.attacks.single_variables import find_anywhere
from molehill.errors import InputError
from molehill.plan.settings import Settings
from molehill.rules.formulas import quote_part, read_formula_of
from molehill.tables.resolution import column_unit, holds_dates
from molehill.tables.schema import column_numbers, infer_kind
from molehill.tables.table import Table

# A formula that gives the values of so many records is one, and a net that predicts so many; each must leave no more
# than this share of what the best constant leaves unpredicted, so that a variable that hardly varies is not found.
FORMULA, FORMULA_LEFT = 0.9, 0.25
# One that gives fewer is mentioned, and stops nothing: the board asks whose values these are.
PARTLY, PARTLY_LEFT = 0.5, 0.6
NET, NET_LEFT = 0.99, 0.1
# Fewer records show nothing: of a formula, and of a net.
_LEAST, _LEAST_NET = 20, 100
# Records that are searched; a formula is verified on all of them.
_LOOKED_AT, _GROWN_ON = 3_000, 2_000
# Most numbers that are searched at once, most parts of a formula, and most factors and denominators that are tried.
_MOST, _MOST_PARTS, _MOST_FACTORS, _TRIED = 80, 40, 40, 3
# Records of a group, on average at least, within which a factor is looked for.
_OF_A_GROUP = 5
# Variables of which every two are tried together.
_PAIRED = 12
# Units: records that share them are so many on average and at most.
_UNIT_MEAN, _UNIT_MOST = 1.1, 60
_SHOWN = 5
# Of wider tables those numbers are searched that correlate most with what is looked for, and some other variables.
_WIDEST, _OTHERS = 400, 100
_LARGEST_LOG = 50.0
# Nothing is a formula that leaves more than this share of the squares: by a factor, and by none, as some records may
# break it.
_POOR, _HOPELESS = 0.5, 0.9


# What was found in a table, as long as it lives: a plan is made before a run, and whenever something is clicked.
_SEEN: WeakKeyDictionary[Table, dict[Any, "tuple[Derivable, ...]"]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Derivable:
    """A variable that follows from others.

    Attributes
    ----------
    column
        The synthesized variable.
    parts
        What it follows from, the unit of a total included.
    formula
        How, as `molehill.rules.formulas` reads it; empty if only that it does was found.
    share
        Of the records that have a value, how many the formula gives, or how many are predicted within the radius.
    how
        Where there is no formula, how near it is predicted, in words.
    partly
        Whether the formula gives too few of the values to stop anything.
    """

    column: str
    parts: tuple[str, ...]
    formula: str
    share: float
    how: str = ""
    partly: bool = False

    def __str__(self) -> str:
        of = f"for {_percent(self.share)} of the records"
        if self.formula:
            return f"{self.column} = {self.formula}, {of}"
        return f"{self.column} follows from {_list(self.parts)}: predicted {self.how} {of}"


def _key(name: str) -> str:
    """Write a name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _percent(share: float) -> str:
    # Rounded down: not all records are all of them.
    return f"{np.floor(1000 * share) / 10:.12g}%"


def find_derivable(table: Table, settings: Settings) -> tuple[Derivable, ...]:
    """Find the synthesized and the derived variables that follow from variables that are released unchanged.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> people = pd.DataFrame({"age": random.integers(20, 60, 200), "years": random.integers(0, 20, 200)})
    >>> people["grade"] = people["age"] - people["years"] - 6
    >>> settings = Settings(synthesize=["grade"], keep=["age", "years"], known=["age"])
    >>> print(*find_derivable(Table(people), settings))
    grade = age - years - 6, for 100% of the records
    """
    asked = (settings.synthesize, settings.keep, settings.drop, *settings.derived)
    key = (*asked, settings.radius, settings.min_radius, settings.kinds)
    seen = _SEEN.setdefault(table, {})
    if key not in seen:
        # Of these sizes several threads are slower than one.
        with threadpool_limits(1, user_api="blas"):
            aims = [_aim(table, settings, name) for name in (*settings.synthesize, *settings.derived)]
            kept = _likely(table, settings.keep, aims)
            pool = _gather(table, kept, [*kept, *settings.drop[:_WIDEST]])
            found = [_find_one(aim, pool) for aim in aims]
        seen[key] = tuple(one for one in found if one is not None)
    return seen[key]


def refuse_derivable(found: Sequence[Derivable], settings: Settings) -> None:
    """Refuse variables whose true values can be computed from what is kept, unless that is accepted by name."""
    left = [one for one in found if not one.partly and one.column not in settings.accept_derivable]
    if not left:
        return
    told = "; ".join(f"{one}" for one in left)
    problem = f"true values can be computed from variables that are released unchanged: {told}"
    raise InputError("columns", problem, "; ".join(tell_remedies(one) for one in left))


def tell_remedies(found: Derivable) -> str:
    """Say what can be done about a variable that follows from what is kept, as it is written under [columns].

    Examples
    --------
    >>> print(tell_remedies(Derivable("y", ("a", "b"), "a + b", 1.0)).replace("; ", chr(10)))
    For y: synthesize parts of it (a, b) and compute it again: y = { release = "derived", formula = "a + b" }
    or y = "drop"
    or accept it knowingly: accept_derivable = true in its entry, in Python accept_derivable=['y']
    """
    parts = ", ".join(found.parts)
    told = f"For {found.column}: synthesize parts of it ({parts})"
    if found.formula:
        entry = f'{{ release = "derived", formula = {json.dumps(found.formula, ensure_ascii=False)} }}'
        told += f" and compute it again: {_key(found.column)} = {entry}"
    accepted = f"accept_derivable = true in its entry, in Python accept_derivable=[{found.column!r}]"
    return f'{told}; or {_key(found.column)} = "drop"; or accept it knowingly: {accepted}'


def find_ties(table: Table, settings: Settings) -> tuple[Derivable, ...]:
    """Find the synthesized variables that follow from other synthesized ones, beside what is kept: by a formula.

    Synthetic values of these keep to no such formula, unless one of them is derived or a constraint says so.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> people = pd.DataFrame({"pay": random.integers(900, 5000, 200), "rent": random.integers(300, 900, 200)})
    >>> people["left"] = people["pay"] - people["rent"]
    >>> settings = Settings(synthesize=["pay", "rent", "left"], known=[])
    >>> print(*find_ties(Table(people), settings))
    pay = rent + left, for 100% of the records
    """
    found: list[Derivable] = []
    for name in settings.synthesize if len(settings.synthesize) > 1 else ():
        seen = (*settings.keep, *(other for other in settings.synthesize if other != name))
        with threadpool_limits(1, user_api="blas"):
            aim = _aim(table, settings, name)
            likely = _likely(table, seen, [aim])
            one = _find_formula(aim, _gather(table, likely, likely))
        # That of three the second follows from the others is said by how the first does.
        told = any({name, *(one.parts if one else ())} <= {other.column, *other.parts} for other in found)
        if one is not None and not one.partly and {*one.parts} & {*settings.synthesize} and not told:
            found.append(one)
    return tuple(found)


# What is searched for, and among what.


@dataclass(frozen=True, eq=False)
class _Aim:
    """A variable to be found: its values, and within what a prediction is right."""

    name: str
    table: Table
    numeric: bool
    values: Floats
    """Of a number its values, of a category codes of its levels; NaN where it is missing."""
    exact: Floats
    """How far a number may be from what a formula gives: what rounding explains."""
    radius: Floats

    @property
    def nearness(self) -> str:
        """How near a prediction that counts as right is."""
        return "exactly" if (self.radius == self.exact).all() else "within the radius"

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Records that are searched, always the same."""
        rows = np.flatnonzero(np.isfinite(self.values))
        if len(rows) <= _LOOKED_AT:
            return rows
        return np.sort(np.random.default_rng(len(self.values)).choice(rows, _LOOKED_AT, replace=False))

    @cached_property
    def base(self) -> tuple[float, float]:
        """Share of the records that the best constant gives: exactly, and within the radius."""
        values, radius = self.values[self.rows], self.radius[self.rows]
        mode = float(np.unique(values, return_counts=True)[1].max() / max(len(values), 1)) if len(values) else 1.0
        if not self.numeric:
            return mode, mode
        lows, highs = np.sort(values - radius), np.sort(values + radius)
        covered = np.searchsorted(lows, lows, "right") - np.searchsorted(highs, lows, "left")
        return mode, float(covered.max(initial=0) / max(len(values), 1))

    def shows_net(self, share: float) -> bool:
        """Whether to predict so many records within the radius is more than chance."""
        enough = len(self.rows) >= _LEAST_NET and share > max(NET, self.base[1])
        return enough and 1 - share <= NET_LEFT * (1 - self.base[1])


def _aim(table: Table, settings: Settings, name: str) -> _Aim:
    column = table.frame[name]
    kind = settings.kinds.get(name)
    if kind is None:
        try:
            kind = infer_kind(table, name)[0]
        except InputError:
            # Not decided yet, and searched as it is.
            kind = "categorical"
    dated = holds_dates(column)
    if not dated and (not pd.api.types.is_numeric_dtype(column.dtype) or column.dtype.kind in "bc"):
        codes = pd.factorize(column)[0].astype(np.float64)
        codes[codes < 0] = np.nan
        return _Aim(name, table, numeric=False, values=codes, exact=np.zeros(len(codes)), radius=np.zeros(len(codes)))
    values = column_numbers(table, name)
    values = np.where(np.isfinite(values), values, np.nan)
    sizes = np.abs(values)
    # Of few levels none is a rounded one.
    unit = column_unit(column) if len(np.unique(values[np.isfinite(values)])) > 20 else 0.0
    exact = np.maximum(0.5000001 * unit, 1e-6 * sizes + 1e-9)
    if kind == "categorical" and not dated:
        return _Aim(name, table, numeric=True, values=values, exact=exact, radius=exact)
    share = 0.0 if dated else settings.of_column("radius", name)
    floor = settings.of_column("min_radius", name)
    radius = np.maximum(exact, np.maximum((share or 0.0) * sizes, floor or 0.0))
    return _Aim(name, table, numeric=True, values=values, exact=exact, radius=radius)


@dataclass(frozen=True)
class _Term:
    """A number that a formula may have: a variable, or what it adds up to within a unit."""

    part: str = ""
    unit: str = ""
    dated: bool = False


@dataclass(frozen=True, eq=False)
class _Pool:
    """What is searched among: numbers, missing ones as NaN, and every variable as codes of its levels."""

    table: Table
    terms: tuple[_Term, ...]
    numbers: Floats
    codes: Mapping[str, NDArray[np.intp]]


def _likely(table: Table, names: Sequence[str], aims: Sequence[_Aim]) -> list[str]:
    """Choose what is searched of a very wide table."""
    if len(names) <= _WIDEST or not aims:
        return list(names)
    some = np.random.default_rng(len(names)).permutation(len(table.frame))[:_LOOKED_AT]
    frame = table.frame.iloc[some][list(names)]
    numeric = frame.select_dtypes("number")
    values = _filled(numeric.to_numpy(dtype=np.float64, na_value=np.nan))
    values = (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-300)
    chosen = {*[name for name in names if name not in numeric][:_OTHERS]}
    for aim in aims:
        own = _filled(aim.values[some])
        told = np.abs(values.T @ (own - own.mean()))
        chosen |= {*numeric.columns[np.argsort(-told)[: max(_WIDEST // len(aims), 20)]]}
    return [name for name in names if name in chosen]


def _gather(table: Table, names: Sequence[str], units: Sequence[str]) -> _Pool:
    """Gather variables, and totals within the unit that an intruder can put together."""
    codes = {name: _code(table.frame[name]) for name in dict.fromkeys((*names, *units))}
    plain = {name: values for name in names if (values := _numbers(table, name)) is not None}
    found: dict[_Term, Floats] = {
        _Term(name, dated=holds_dates(table.frame[name])): values for name, values in plain.items()
    }
    for unit in _find_units(table, codes, names, units):
        records = codes[unit]
        members = np.bincount(records)
        if (members[records] != _filled(plain.get(unit, records))).any():
            found[_Term("", unit)] = _filled(members[records])
        for name, values in plain.items():
            if _Term(name) in found and not _is_constant(codes[name], records):
                found[_Term(name, unit)] = _filled(np.bincount(records, weights=_filled(values))[records])
    varying = {term: values for term, values in found.items() if np.nanmin(values) < np.nanmax(values)}
    numbers = np.column_stack([*varying.values()]) if varying else np.zeros((len(table.frame), 0))
    return _Pool(table, tuple(varying), numbers, {name: codes[name] for name in names})


def _numbers(table: Table, name: str) -> Floats | None:
    column = table.frame[name]
    if not (pd.api.types.is_numeric_dtype(column.dtype) or holds_dates(column)) or column.dtype.kind == "c":
        return None
    values = column_numbers(table, name)
    values = np.where(np.isfinite(values), values, np.nan)
    return values if np.isfinite(values).any() else None


def _code(column: pd.Series) -> NDArray[np.intp]:
    try:
        return pd.factorize(column, use_na_sentinel=False)[0]
    except TypeError:
        return np.zeros(len(column), dtype=np.intp)


def _filled(values: NDArray) -> Floats:
    return np.nan_to_num(np.asarray(values, dtype=np.float64))


def _is_constant(codes: NDArray[np.intp], unit: NDArray[np.intp]) -> bool:
    """Whether records that share a unit share this as well."""
    first = np.empty(int(unit.max()) + 1, dtype=np.intp)
    first[unit[::-1]] = np.arange(len(unit))[::-1]
    return bool((codes == codes[first][unit]).all())


def _find_units(
    table: Table, codes: Mapping[str, NDArray[np.intp]], names: Sequence[str], units: Sequence[str]
) -> Iterator[str]:
    """Find the variable that says which records belong together, if an intruder has it or can put it together.

    It has many values, each in a few records, and other variables are alike within it.
    """
    best: tuple[int, bool, str] = (0, False, "")
    for unit in units:
        sizes = np.bincount(codes[unit])
        if len(sizes) < 10 or len(codes[unit]) < _UNIT_MEAN * len(sizes) or sizes.max() > _UNIT_MOST:
            continue
        alike = [
            name
            for name in names
            if name != unit and np.bincount(codes[name]).max() < 0.9 * len(codes[name])
            if _is_constant(codes[name], codes[unit])
        ]
        if unit not in names:
            together = pd.DataFrame({name: codes[name] for name in alike})
            if not alike or len(together.drop_duplicates()) < 0.9 * len(sizes):
                continue
        # An amount that members share names them as well as their number does.
        best = max(best, (len(alike), _is_whole(table.frame[unit]), unit))
    if best[0]:
        yield best[2]


def _is_whole(column: pd.Series) -> bool:
    return not pd.api.types.is_float_dtype(column.dtype) or bool((column.dropna() % 1 == 0).all())


# What it follows from.


def _find_one(aim: _Aim, pool: _Pool) -> Derivable | None:
    if len(aim.rows) < _LEAST or aim.base[0] == 1:
        return None
    formula = _find_formula(aim, pool)
    if formula is not None and not formula.partly:
        return formula
    searches = (_find_levels, _find_order, _find_factors, _grow, _find_elsewhere)
    found = next((found for search in searches if (found := search(aim, pool)) is not None), None)
    return formula if formula is not None and (found is None or found.partly) else found


def _find_formula(aim: _Aim, pool: _Pool) -> Derivable | None:
    """Find a formula by sparse regressions: of the variable times or by others, and of logarithms."""
    if not aim.numeric or len(aim.rows) < _LEAST or aim.base[0] == 1:
        return None
    best: Derivable | None = None
    for texts in _propose(aim, pool):
        found = _verify(aim, pool, texts)
        if found is not None and (best is None or found.share > best.share + 1e-3):
            best = found
        if best is not None and best.share > 1 - 1e-9:
            break
    return best


def _propose(aim: _Aim, pool: _Pool) -> Iterator[tuple[str, ...]]:
    """Propose formulas, the simplest first, with missing parts left out and counted as nothing; to be verified."""
    values, exact = aim.values[aim.rows], aim.exact[aim.rows]
    # Formulas are of numbers; what follows from dates is found without one.
    usable = np.array([not term.dated for term in pool.terms], dtype=bool)
    own_terms = [term for term in pool.terms if not term.dated]
    numbers = pool.numbers[aim.rows][:, usable]
    for place in np.flatnonzero((np.abs(numbers - values[:, None]) <= exact[:, None]).mean(axis=0) >= PARTLY):
        yield (_write_term(own_terms[place]),)
    numbers, kept = _closest(_filled(numbers), values)
    terms = [own_terms[place] for place in kept.tolist()]
    if not terms:
        return
    # Errors count as shares of the value, so that no large one decides.
    size = _sizes(values)
    own = np.column_stack([numbers, np.ones(len(values))])
    weighed = own / size[:, None]
    factors = [place for place in range(len(terms)) if (numbers[:, place] > 0).mean() > NET][:_MOST_FACTORS]
    by = {("", 0): np.ones(len(values))}
    for place in factors:
        above = np.where(numbers[:, place] > 0, numbers[:, place], np.nan)
        by |= {("/", place): above, ("*", place): 1 / above}
    aims = {key: np.where(np.isnan(times), 0.0, values * times) for key, times in by.items()}
    for (sign, place), gram in _screen(aims, weighed, size):
        aimed, room = aims[sign, place], np.nan_to_num(exact * by[sign, place])
        fitted = _regress(weighed, aimed / size, room / size, gram)
        for found in _simplify(fitted, own, aimed, room):
            texts = (_write_sum(found, terms, gaps=gaps) for gaps in (False, True))
            beside = [_write_term(terms[place], gaps=gaps) for gaps in (False, True)]
            single = np.count_nonzero(found) == 1
            yield tuple(
                f"{text if single else f'({text})'} {sign} {other}" if sign else text
                for text, other in zip(texts, beside, strict=True)
            )
    yield from _propose_logarithms(values, numbers, terms, exact)


def _propose_logarithms(
    values: Floats, numbers: Floats, terms: Sequence[_Term], exact: Floats
) -> Iterator[tuple[str, ...]]:
    """Propose products of powers, and a logarithm or its inverse of a sum."""
    above = values > 0
    own = np.column_stack([numbers, np.ones(len(values))])
    if above.mean() > 0.5:
        able = np.flatnonzero((numbers[above] > 0).mean(axis=0) > FORMULA)
        factors = numbers[np.ix_(above, able)]
        logs = np.column_stack([np.log(np.where(factors > 0, factors, 1.0)), np.ones(len(factors))])
        aimed, room = np.log(values[above]), exact[above] / values[above]
        if len(able):
            yield from _write_product(_regress(logs, aimed, room, None), [terms[place] for place in able.tolist()])
        for found in _simplify(_regress(own[above], aimed, room, None), own[above], aimed, room):
            yield tuple(f"exp({_write_sum(found, terms, gaps=gaps)})" for gaps in (False, True))
    if np.abs(values).max() < _LARGEST_LOG:
        aimed = np.exp(values)
        fitted = _regress(own / aimed[:, None], np.ones(len(values)), exact, None)
        for found in _simplify(fitted, own, aimed, exact * aimed):
            yield tuple(f"log({_write_sum(found, terms, gaps=gaps)})" for gaps in (False, True))


def _sizes(values: Floats) -> Floats:
    """How large values are, small ones counting as half of a usual one."""
    there = np.abs(values[values != 0])
    return np.maximum(np.abs(values), 0.5 * np.median(there) if len(there) else 1.0)


def _closest(numbers: Floats, values: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Leave out numbers that are twice there and, of very many, those that correlate least."""
    kept = np.array([*dict.fromkeys(_first_alike(numbers))], dtype=np.intp)
    if len(kept) > _MOST:
        with np.errstate(invalid="ignore", divide="ignore"):
            told = np.nan_to_num(np.abs(np.corrcoef(numbers[:, kept].T, values)[-1, :-1]))
        kept = np.sort(kept[np.argsort(-told)[:_MOST]])
    return numbers[:, kept], kept


def _first_alike(numbers: Floats) -> Iterator[int]:
    """Give for every number the first one that is the same throughout."""
    seen: dict[bytes, int] = {}
    for place in range(numbers.shape[1]):
        yield seen.setdefault(numbers[:, place].tobytes(), place)


def _screen(
    aims: Mapping[tuple[str, int], Floats], weighed: Floats, size: Floats
) -> list[tuple[tuple[str, int], "_Gram"]]:
    """Choose what all numbers together explain best: the variable itself, and times or by which others."""
    scale = np.sqrt((weighed**2).sum(axis=0))
    scaled = weighed / np.where(scale > 0, scale, 1.0)
    targets = np.column_stack([aim / size for aim in aims.values()])
    gram, moments = scaled.T @ scaled, scaled.T @ targets
    squares = (targets**2).sum(axis=0)
    explained = (moments * (np.linalg.pinv(gram, rcond=1e-11, hermitian=True) @ moments)).sum(axis=0)
    left = (squares - explained) / np.maximum(squares - moments[-1] ** 2, 1e-300)
    others = np.argsort(left[1:], kind="stable")[:_TRIED] + 1
    order = [0, *(place for place in others if left[place] < _POOR)]
    keys = [*aims]
    return [(keys[place], _Gram(gram, moments[:, place], squares[place], scale)) for place in order]


@dataclass(frozen=True, eq=False)
class _Gram:
    """Products of scaled predictors with each other and with what they shall explain."""

    products: Floats
    moments: Floats
    square: float
    scale: Floats


def _gram_of(predictors: Floats, aim: Floats) -> _Gram:
    scale = np.sqrt((predictors**2).sum(axis=0))
    scaled = predictors / np.where(scale > 0, scale, 1.0)
    return _Gram(scaled.T @ scaled, scaled.T @ aim, float(aim @ aim), scale)


def _regress(predictors: Floats, aim: Floats, room: Floats, gram: _Gram | None) -> Floats:
    """Regress on few predictors: orthogonal matching pursuit, then least absolute deviations, which pass by some rows.

    `room` is how far a row may be off and is still hit: the coefficients are those of the rows that are.
    """
    gram = gram or _gram_of(predictors, aim)
    chosen: list[int] = []
    left, fitted = gram.moments.copy(), np.zeros(0)
    for _ in range(min(_MOST_PARTS, predictors.shape[1], len(aim) // 3)):
        left[chosen] = 0.0
        place = int(np.argmax(np.abs(left)))
        if left[place] ** 2 <= 1e-20 * gram.square:
            break
        chosen.append(place)
        own = gram.products[np.ix_(chosen, chosen)]
        fitted = np.linalg.lstsq(own, gram.moments[chosen], rcond=1e-13)[0]
        left = gram.moments - gram.products[:, chosen] @ fitted
        if gram.square - fitted @ gram.moments[chosen] <= 1e-14 * gram.square:
            break
    coefficients = np.zeros(predictors.shape[1])
    if not chosen or gram.square - fitted @ gram.moments[chosen] > _HOPELESS * _about_mean(gram):
        return coefficients
    used = predictors[:, chosen] / gram.scale[chosen]
    largest = float(np.abs(aim).max())
    # Rounded values are off by up to the room; the others, by anything.
    near = np.maximum(3 * room, 1e-5 * np.abs(aim))
    for least in (1e-2, 1e-3, 1e-4, 1e-4, 1e-5, 1e-5, 1e-6, 1e-6, 1e-6):
        off = np.abs(aim - used @ fitted)
        if (off <= near).all():
            break
        if least < 1e-3 and (off <= np.maximum(near, 0.01 * np.abs(aim))).mean() < 0.5:
            return coefficients
        weighted = used / np.maximum(off, least * largest)[:, None]
        fitted = np.linalg.lstsq(weighted.T @ used, weighted.T @ aim, rcond=1e-14)[0]
    for bound in (near, np.maximum(room, 1e-5 * np.abs(aim))):
        hit = np.abs(aim - used @ fitted) <= bound
        if hit.sum() > len(chosen):
            fitted = np.linalg.lstsq(used[hit], aim[hit], rcond=1e-12)[0]
    coefficients[chosen] = fitted / gram.scale[chosen]
    return coefficients


def _about_mean(gram: _Gram) -> float:
    """The squares about what the last predictor, a constant, explains."""
    return float(gram.square - gram.moments[-1] ** 2)


def _simplify(coefficients: Floats, predictors: Floats, aim: Floats, room: Floats) -> list[Floats]:
    """Round coefficients to such as stand in a codebook, and leave out what is not needed; none, or one of them."""
    room = room * (1 + 1e-9) + 1e-9 * np.abs(aim)
    # What moves the sum by less than rounding does is noise.
    used = np.abs(coefficients) * predictors.std(axis=0) > 0.5 * np.median(room)
    used[-1] = True
    hit = np.abs(predictors @ coefficients - aim) <= 1.01 * room
    if not used[:-1].any() or hit.sum() <= used.sum():
        return []
    rounded = np.zeros(len(coefficients))
    fitted = np.linalg.lstsq(predictors[np.ix_(hit, used)], aim[hit], rcond=1e-13)[0]
    rounded[used] = [_obvious(one) for one in fitted]

    def hits(tried: Floats) -> float:
        return float((np.abs(predictors @ tried - aim) <= room).mean())

    share = hits(rounded)
    weight = np.abs(rounded) * np.abs(predictors).mean(axis=0)
    for place in [place for place in np.argsort(weight) if rounded[place]]:
        tried = rounded.copy()
        tried[place] = 0.0
        if (without := hits(tried)) >= share - 1e-4 or (share < FORMULA and without >= share):
            rounded, share = tried, without
    if share < PARTLY - 0.05 or not rounded[:-1].any():
        return []
    # The plainest that gives as much.
    for place in np.flatnonzero(rounded):
        for plain in (np.rint(rounded[place]), np.round(rounded[place], 1)):
            tried = rounded.copy()
            tried[place] = plain
            if plain and plain != rounded[place] and hits(tried) >= share:
                rounded = tried
                break
    return [rounded]


def _obvious(coefficient: float) -> float:
    """Give the number of a codebook that a coefficient is nearly, or 0 if there is none.

    Examples
    --------
    >>> [_obvious(one) for one in (-5.9999, 0.0833334, 0.19001, 1e-7, 0.123456)]
    [-6.0, 0.08333333333333333, 0.19, 0.0, 0.0]
    """
    size = abs(coefficient)
    if size < 1e-6 or not np.isfinite(coefficient):
        return 0.0
    whole, over = np.rint(size), int(np.rint(1 / size))
    usual = over in (365, 1_000) or 0 < over <= 60 or (60 < over <= 500 and over % 20 == 0)
    for tried in (whole if whole <= 10_000 else 0.0, 1 / over if usual else 0.0):
        if tried and abs(tried - size) <= 2e-3 * min(size, 1.0 + size / 50):
            return float(np.sign(coefficient) * tried)
    digits = 1 - int(np.floor(np.log10(size)))
    for tried in (np.round(size, 1), np.round(size, 2), np.round(12 * size) / 12, np.round(size, min(digits, 3))):
        if tried and abs(tried - size) <= 5e-4 * size:
            return float(np.sign(coefficient) * tried)
    return 0.0


# Formulas in words of their own.


def _write_term(term: _Term, *, gaps: bool = False) -> str:
    if term.unit:
        return f"{f'sum({quote_part(term.part)})' if term.part else 'count()'} by {quote_part(term.unit)}"
    return f"coalesce({quote_part(term.part)}, 0)" if gaps else quote_part(term.part)


def _write_sum(coefficients: Floats, terms: Sequence[_Term], *, gaps: bool) -> str:
    """Write a sum, with totals within the same unit as one total."""
    parts = [(float(one), term) for one, term in zip(coefficients[:-1], terms, strict=True) if one]
    within = [(one, term) for one, term in parts if term.unit and term.part]
    shown: list[tuple[float, str]] = []
    if len(within) > 1 and len({abs(one) for one, _ in within}) == 1:
        size, unit = abs(within[0][0]), within[0][1].unit
        inside = _join([(one / size, _write_term(_Term(term.part), gaps=gaps)) for one, term in within])
        shown, parts = [(size, f"sum({inside}) by {quote_part(unit)}")], [one for one in parts if one not in within]
    shown += [(one, _write_term(term, gaps=gaps)) for one, term in parts]
    return _join([*shown, *([(float(coefficients[-1]), "")] if coefficients[-1] else [])])


def _join(parts: Sequence[tuple[float, str]]) -> str:
    told = ""
    for coefficient, text in sorted(parts, key=lambda part: (part[0] < 0, part[1] == "")):
        sign = "-" if coefficient < 0 else "+"
        own = _write_multiple(abs(coefficient), text)
        told += f" {sign} {own}" if told else f"-{own}" if sign == "-" else own
    return told


def _write_multiple(size: float, text: str) -> str:
    if not text:
        return _write_number(size)
    if size == 1:
        return text
    for over in range(2, 1_001):
        if abs(size * over - 1) < 1e-9:
            return f"{text} / {over}"
    return f"{_write_number(size)} * {text}"


def _write_number(size: float) -> str:
    return f"{size:.12g}" if abs(size * 100 - np.rint(size * 100)) < 1e-9 else f"{np.rint(size * 12):.12g} / 12"


def _write_product(coefficients: Floats, terms: Sequence[_Term]) -> Iterator[tuple[str, ...]]:
    """Write a product of powers that are whole or halves, if they are so."""
    powers = np.rint(2 * coefficients[:-1]) / 2
    if (np.abs(powers - coefficients[:-1]) > 0.02).any() or np.abs(powers).sum() > 8 or not powers.any():
        return
    times = _obvious(float(np.exp(np.clip(coefficients[-1], -20, 20))))
    above, below = [], []
    for power, term in zip(powers, terms, strict=True):
        text = _write_term(term)
        own = [text] * int(abs(power)) + ([f"sqrt({text})"] if abs(power) % 1 else [])
        (above if power > 0 else below).extend(own)
    if not times:
        return
    upper = _write_multiple(times, " * ".join(above)) if above else _write_number(times)
    lower = below[0] if len(below) == 1 else f"({' * '.join(below)})"
    yield (f"{upper} / {lower}" if below else upper,)


def _verify(aim: _Aim, pool: _Pool, texts: Iterable[str]) -> Derivable | None:
    """Compute formulas for all records, and give the one that holds for most of those that have a value."""
    best: Derivable | None = None
    present = np.isfinite(aim.values)
    for text in dict.fromkeys(texts):
        formula = read_formula_of(aim.name, text)
        values = formula.values(pool.table)
        able = present & np.isfinite(values)
        if able.sum() < max(_LEAST, 0.1 * present.sum()):
            continue
        right = np.abs(values - aim.values) <= aim.exact * (1 + 1e-9)
        share = float(right[able].mean())
        of = float(np.unique(aim.values[able], return_counts=True)[1].max() / able.sum())
        if share < PARTLY or of == 1 or 1 - share > PARTLY_LEFT * (1 - of):
            continue
        partly = share < FORMULA or 1 - share > FORMULA_LEFT * (1 - of)
        covered = float(right[able].sum() / present.sum())
        if best is None or covered > best.share + 1e-9:
            best = Derivable(aim.name, (*formula.parts, *formula.units), text, covered, partly=partly)
    return best


# Where there is no formula.


def _find_levels(aim: _Aim, pool: _Pool) -> Derivable | None:
    """Find one or two categories of which it is a function: guessed from the other records that share them."""
    rows = aim.rows
    own = np.unique(aim.values[rows], return_inverse=True)[1]
    by = {name: np.unique(codes[rows], return_inverse=True)[1] for name, codes in pool.codes.items()}
    by = {name: codes for name, codes in by.items() if 1 < codes.max() + 1 <= len(rows) / 3}
    shares = {name: _guessed(codes, own) for name, codes in by.items()}
    order = sorted(shares, key=lambda name: -shares[name])
    if order and aim.shows_net(shares[order[0]]):
        return Derivable(aim.name, (order[0],), "", shares[order[0]], "exactly")
    for one, other in combinations(order[:_PAIRED], 2):
        both = by[one].astype(np.int64) * (by[other].max() + 1) + by[other]
        share = _guessed(both, own)
        if aim.shows_net(share):
            return Derivable(aim.name, (one, other), "", share, "exactly")
    return None


def _guessed(codes: NDArray[np.integer], own: NDArray[np.integer]) -> float:
    """Share of the records whose level is the most frequent one among the others of their group."""
    levels = int(own.max()) + 1
    cells, counts = np.unique(codes.astype(np.int64) * levels + own, return_counts=True)
    groups = cells // levels
    order = np.lexsort((-counts, groups))
    groups, counts = groups[order], counts[order]
    first = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    second = np.append(counts, 0)[first + 1] * (np.append(groups, -1)[first + 1] == groups[first])
    return float(counts[first][counts[first] - 1 > second].sum() / len(own))


def _find_order(aim: _Aim, pool: _Pool) -> Derivable | None:
    """Find a number of which it is a function: guessed from the two records that are next to it by that number."""
    # Of records that share the number, the order of the file must not tell.
    rows, best = np.random.default_rng(len(aim.rows)).permutation(aim.rows), (0.0, "")
    for place, term in enumerate(pool.terms):
        by = pool.numbers[rows, place]
        order = np.argsort(by, kind="stable")[: int(np.isfinite(by).sum())]
        if len(order) < _LEAST_NET:
            continue
        values = aim.values[rows][order]
        beside = np.stack([np.r_[values[1], values[:-1]], np.r_[values[1:], values[-2]]])
        right = np.abs(beside - values) <= aim.radius[rows][order]
        between = np.abs(beside.mean(axis=0) - values) <= aim.radius[rows][order]
        right = between if aim.numeric else right.all(axis=0)
        best = max(best, (float(right.sum() / len(rows)), term.part or term.unit))
    if not aim.shows_net(best[0]):
        return None
    return Derivable(aim.name, (best[1],), "", best[0], aim.nearness)


def _find_factors(aim: _Aim, pool: _Pool) -> Derivable | None:
    """Find a number from which it differs by a factor, or an amount, that is the same within a group, as a currency."""
    if not aim.numeric or len(aim.rows) < _LEAST_NET:
        return None
    rows = aim.rows
    groups = {name: np.unique(codes[rows], return_inverse=True)[1] for name, codes in pool.codes.items()}
    groups = {name: codes for name, codes in groups.items() if 1 < codes.max() + 1 <= len(rows) / _OF_A_GROUP}
    terms = [(term, pool.numbers[rows, place]) for place, term in enumerate(pool.terms) if not term.unit]
    values, best = aim.values[rows], (0.0, ("", ""))
    for group in sorted(groups, key=lambda name: -int(groups[name].max()))[:_PAIRED]:
        for term, numbers in terms[:_MOST_FACTORS]:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = values / numbers
            for apart, put_back in ((ratio, np.multiply), (values - numbers, np.add)):
                usable = np.where(np.isfinite(apart), groups[group], -1).astype(np.int64)
                usual = typical_others(np.nan_to_num(apart), usable, np.arange(len(rows)), groups[group])
                right = np.abs(put_back(numbers, usual) - values) <= aim.radius[rows]
                best = max(best, (float(right.mean()), (term.part, group)))
    if not aim.shows_net(best[0]):
        return None
    return Derivable(aim.name, best[1], "", best[0], aim.nearness)


def _find_elsewhere(aim: _Aim, pool: _Pool) -> Derivable | None:
    """Find a number that has the true values in the records of others, such as the income of the partner."""
    if not aim.numeric or len(aim.rows) < _LEAST_NET:
        return None
    present = np.isfinite(aim.values)
    kept = [(term.part, pool.numbers[:, place]) for place, term in enumerate(pool.terms) if not term.unit]
    unit = column_unit(aim.table.frame[aim.name])
    found = {name: float((~np.isnan(guess)).mean()) for name, guess in find_anywhere(aim.values[present], kept, unit)}
    name = max(found, key=lambda one: found[one], default="")
    if not name or found[name] < PARTLY:
        return None
    how = "exactly, by the record of another person,"
    return Derivable(aim.name, (name,), "", found[name], how, partly=found[name] < FORMULA)


def _grow(aim: _Aim, pool: _Pool) -> Derivable | None:
    """Predict it from all that is kept by a regression and by a tree, each learned on the other half of the records."""
    rows = aim.rows
    # Of categories with very many levels a tree tells nothing.
    many = not aim.numeric and len(np.unique(aim.values[rows])) > _MOST
    if len(rows) < _LEAST_NET or not pool.codes or many:
        return None
    random = np.random.default_rng(len(rows))
    rows = random.permutation(rows)[:_GROWN_ON]
    text = [name for name in pool.codes if not any(term.part == name for term in pool.terms)]
    # Imported here because it loads slowly and most commands do not need it.
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # noqa: PLC0415

    numbers = pool.numbers[rows]
    numbers = np.where(np.isnan(numbers), np.nanmin(numbers, axis=0) - 1, numbers) if numbers.size else numbers
    inputs = np.column_stack([numbers, *(pool.codes[name][rows] for name in text)])
    named = [*(term.part or term.unit for term in pool.terms), *text]
    values, radius = aim.values[rows], aim.radius[rows]
    half = np.arange(len(rows)) < len(rows) // 2
    guesses: list[Floats] = []
    importance = np.zeros(len(named))
    scale = max(float(np.median(np.abs(values))), 1e-300)
    seen, aimed = inputs.astype(np.float32), np.arcsinh(values / scale) if aim.numeric else values
    tree = np.empty(len(rows))
    for learned in (half, ~half):
        grown = (DecisionTreeRegressor if aim.numeric else DecisionTreeClassifier)(random_state=0)
        grown.fit(seen[learned], aimed[learned])
        tree[~learned] = grown.predict(seen[~learned])
        importance += grown.feature_importances_
    guesses.append(np.sinh(tree) * scale if aim.numeric else tree)
    if aim.numeric:
        guesses += _regress_halves(numbers, values, half)
    shares = [float((np.abs(guess - values) <= radius + 1e-9).mean()) for guess in guesses]
    if not aim.shows_net(max(shares)):
        return None
    parts = tuple(dict.fromkeys(named[place] for place in np.argsort(-importance) if importance[place] > 0.02))[:_SHOWN]
    return Derivable(aim.name, parts, "", max(shares), aim.nearness)


def _regress_halves(numbers: Floats, values: Floats, half: Booleans) -> list[Floats]:
    """Predict by linear regressions, of the values and of their logarithms."""
    ones = np.ones((len(values), 1))
    size = _sizes(values)
    with_logs = np.column_stack([numbers, np.log(np.maximum(numbers, 1e-3)), ones])
    linear, by_logs = np.zeros(len(values)), np.zeros(len(values))
    logs = np.log(np.maximum(values, 1e-3))
    for learned in (half, ~half):
        own = np.column_stack([numbers, ones])
        fitted = _solve(own[learned] / size[learned, None], (values / size)[learned])
        linear[~learned] = own[~learned] @ fitted
        fitted = _solve(with_logs[learned], logs[learned])
        by_logs[~learned] = np.exp(np.clip(with_logs[~learned] @ fitted, -700, 700))
    return [linear, by_logs]


def _solve(predictors: Floats, aim: Floats) -> Floats:
    gram = _gram_of(predictors, aim)
    return np.linalg.lstsq(gram.products, gram.moments, rcond=1e-11)[0] / np.where(gram.scale > 0, gram.scale, 1.0)


def _list(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
