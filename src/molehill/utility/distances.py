"""Distances between confidential and released data: distribution functions, two-way tables, propensity score test."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from molehill.arrays import Floats
from molehill.errors import InputError, check_choice, check_whole
from molehill.runtime import workers
from molehill.surveys.design import SurveyDesign
from molehill.surveys.distances import weighted_distances
from molehill.tables.intervals import mean_over_tables
from molehill.tables.patterns import Patterns, learn_patterns
from molehill.tables.schema import Missing, column_numbers, is_number
from molehill.tables.table import Table, as_table
from molehill.utility.sides import GroupColumns, Side, read_complete, read_numbers, read_parts, read_whole

MOST_LEVELS = 100
# pMSE that is due to rounding.
_NOTHING = 1e-12

# U_m_benchmark is published, so it must depend on the numbers of records alone, also where there are ties.
# The mean of Kolmogorov's distribution, sqrt(pi / 2) log(2).
_KOLMOGOROV_MEAN = float(np.sqrt(np.pi / 2) * np.log(2))


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances of released datasets from the confidential data.

    Attributes
    ----------
    summary
        One row per measure: `column`, `measure`, `value` (the mean over the datasets) and its 95% interval from `low`
        to `high`, missing for a single dataset; with groups, also `group`.
    by_dataset
        The same measures for every dataset, numbered from 1 in the column `table`.
    """

    summary: pd.DataFrame
    by_dataset: pd.DataFrame

    def value(self, measure: str, *, column: str | None = None, group: str | None = None) -> float:
        """Return one mean over the datasets; name the variable or group if there are several."""
        rows = self.summary[self.summary["measure"] == measure]
        for name, wanted in (("column", column), ("group", group)):
            if wanted is not None and name in rows:
                rows = rows[rows[name] == wanted]
        if len(rows) != 1:
            measures = ", ".join(map(repr, self.summary["measure"].unique()))
            problem = f"{len(rows)} rows of the summary are {measure!r} with that variable and group"
            raise InputError("measure", problem, f"The measures are {measures}; name the variable or the group as well")
        return float(rows["value"].iloc[0])


def ecdf_distances(
    data: Any,
    released: Any,
    column: str,
    *,
    groups: GroupColumns = None,
    missing: Missing = "error",
    design: SurveyDesign | None = None,
    hidden: Sequence[str] = (),
) -> Distances:
    """Compare the empirical distribution functions of one numeric variable.

    Over the pooled values z of both datasets, each as often as it occurs, `U_m` is the largest |F(z) - F*(z)| and `U_a`
    the mean of (F(z) - F*(z))^2. `U_m_benchmark` and `U_a_benchmark` are the sampling benchmark: the expected values
    for a new sample from the same population, as large as the released dataset.

    Parameters
    ----------
    data
        The confidential data.
    released
        One released dataset, or a sequence of them.
    column
        A numeric variable.
    groups
        Variables that define groups; distances are computed within each group.
    missing
        Missing values: "error", or "keep" (the record is left out).
    design, hidden
        As in `estimate`: with a survey design the distribution functions are weighted.

    References
    ----------
    Woo, Reiter, Oganian and Karr, Global Measures of Data Utility for Microdata Masked for Disclosure Limitation
    (2009).

    Examples
    --------
    >>> data, released = pd.DataFrame({"pay": [1.0, 2.0]}), pd.DataFrame({"pay": [2.0, 3.0]})
    >>> found = ecdf_distances(data, released, "pay")
    >>> found.value("U_m"), found.value("U_a")
    (0.5, 0.1875)
    """
    if design is None:
        return _compare_numbers(data, released, column, groups, missing, _ecdf_measures)
    about: dict[str, Any] = {"groups": groups, "missing": missing, "design": design, "hidden": hidden}
    rows = []
    for part in read_parts(data, released, [column], argument="column", **about):
        own, *others = (_read_weighted(side, column, missing) for side in part.sides)
        for number, other in enumerate(others, 1):
            called = {"group": part.group, "table": number, "column": column}
            found = weighted_distances(*own, *other)._asdict()
            rows += [{**called, "measure": name, "value": value} for name, value in found.items()]
    return gather(rows, grouped=groups is not None)


def _read_weighted(side: Side, column: str, missing: Missing) -> tuple[Floats, Floats]:
    """Values of a variable and survey weights of the records included."""
    values, rows = read_whole(side, [column], missing)
    return values[0, rows], side.weights[rows]


def wasserstein(
    data: Any, released: Any, column: str, *, groups: GroupColumns = None, missing: Missing = "error"
) -> Distances:
    """Compute the first Wasserstein distance of one numeric variable.

    The area between the two empirical distribution functions, in the units of the variable ("wasserstein") and in
    standard deviations of the confidential values ("wasserstein_sd").

    Parameters
    ----------
    data, released, column, groups, missing
        As in `ecdf_distances`.

    Examples
    --------
    >>> data, released = pd.DataFrame({"pay": [1.0, 2.0]}), pd.DataFrame({"pay": [2.0, 5.0]})
    >>> wasserstein(data, released, "pay").value("wasserstein")
    2.0
    """
    return _compare_numbers(data, released, column, groups, missing, _wasserstein_measures)


def table_difference(
    data: Any,
    released: Any,
    pairs: Sequence[tuple[str, str]],
    *,
    breaks: Mapping[str, Sequence[float]] | None = None,
    groups: GroupColumns = None,
    design: SurveyDesign | None = None,
    hidden: Sequence[str] = (),
) -> Distances:
    """Compare the shares of records in the cells of two-way tables.

    "variation" is half the sum of the absolute differences over all cells (total variation distance), "difference" the
    largest absolute difference. A missing value is a category of its own.

    Parameters
    ----------
    data
        The confidential data.
    released
        One released dataset, or a sequence of them.
    pairs
        Pairs of categorical variables, such as `[("region", "earner")]`.
    breaks
        Bins of numeric variables, by name, left-closed: `{"income": [20_000, 50_000]}`.
    groups
        Variables that define groups; distances are computed within each group.
    design, hidden
        As in `estimate`: with a survey design the shares are weighted.

    Examples
    --------
    >>> data = pd.DataFrame({"town": ["A", "A", "B", "B"], "sex": ["f", "m", "f", "m"]})
    >>> released = data.assign(sex=["f", "f", "f", "m"])
    >>> table_difference(data, released, [("town", "sex")]).value("variation")
    0.25
    """
    listed = list(pairs)
    for pair in listed or [("", "")]:
        if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
            raise InputError("pairs", "a pair must name two variables", "For example [('region', 'earner')]")
    names = list(dict.fromkeys(name for pair in listed for name in pair))
    about: dict[str, Any] = {"groups": groups, "missing": "keep", "design": design, "hidden": hidden}
    rows = []
    for part in read_parts(data, released, names, argument="pairs", **about):
        by_pair: dict[tuple[str, str], list[dict[str, Any]]] = {pair: [] for pair in listed}
        for number, side in enumerate(part.released, 1):
            coded = {name: _code_column(part.confidential, side, name, (breaks or {}).get(name)) for name in names}
            for pair in listed:
                cells = _cell_differences(part.confidential, side, *(coded[name] for name in pair))
                called = {"group": part.group, "table": number, "column": " x ".join(pair)}
                by_pair[pair].append({**called, "measure": "variation", "value": float(np.abs(cells).sum() / 2)})
                by_pair[pair].append({**called, "measure": "difference", "value": float(np.abs(cells).max())})
        rows += [row for pair in listed for row in by_pair[pair]]
    return gather(rows, grouped=groups is not None)


def gather(rows: list[dict[str, Any]], *, grouped: bool) -> Distances:
    """Build the result from rows with group, table, column, measure and value."""
    by_dataset = pd.DataFrame(rows)
    summary = []
    for (group, column, measure), values in by_dataset.groupby(["group", "column", "measure"], sort=False)["value"]:
        named = {"group": group, "column": column, "measure": measure}
        summary.append(named | mean_over_tables(values.to_numpy())._asdict())
    frames = (pd.DataFrame(summary), by_dataset)
    return Distances(*(frame if grouped else frame.drop(columns="group") for frame in frames))


def _compare_numbers(
    data: Any, released: Any, column: str, groups: GroupColumns, missing: Missing, measures: Any
) -> Distances:
    rows = []
    for part in read_parts(data, released, [column], groups=groups, missing=missing, argument="column"):
        own = np.sort(read_numbers(part.confidential, [column], missing)[0])
        for number, side in enumerate(part.released, 1):
            other = np.sort(read_numbers(side, [column], missing)[0])
            called = {"group": part.group, "table": number, "column": column}
            rows += [{**called, "measure": name, "value": value} for name, value in measures(own, other).items()]
    return gather(rows, grouped=groups is not None)


def _pooled_differences(own: Floats, other: Floats) -> tuple[Floats, Floats, Floats]:
    """The pooled points in order, F - F* there, and how many of the pooled points lie at or below each."""
    pooled = np.sort(np.concatenate([own, other]), kind="stable")
    first = np.searchsorted(own, pooled, side="right")
    second = np.searchsorted(other, pooled, side="right")
    return pooled, first / len(own) - second / len(other), (first + second).astype(np.float64)


def _ecdf_measures(own: Floats, other: Floats) -> dict[str, float]:
    _, difference, below = _pooled_differences(own, other)
    total = len(own) + len(other)
    return {"U_m": float(np.abs(difference).max()), "U_a": float((difference**2).mean())} | expect_ecdf(
        float((below * (total - below)).mean()), len(own), len(other)
    )


def expect_ecdf(spread: float, first: int, second: int) -> dict[str, float]:
    """Sampling benchmark of U_m and U_a for datasets with `first` and `second` values.

    `spread` is the mean, over the pooled points, of (points at or below) times (points above).
    """
    number, total = first * second, first + second
    # Under random labels the number of confidential points at or below z is hypergeometric.
    return {
        "U_m_benchmark": _KOLMOGOROV_MEAN * float(np.sqrt(total / number)),
        "U_a_benchmark": float(spread / (number * (total - 1))),
    }


def _wasserstein_measures(own: Floats, other: Floats) -> dict[str, float]:
    pooled, difference, _ = _pooled_differences(own, other)
    area = float((np.abs(difference[:-1]) * np.diff(pooled)).sum())
    spread = float(own.std(ddof=1)) if len(own) > 1 else 0.0
    scaled = area / spread if spread > 0 else np.nan
    return {"wasserstein": area, "wasserstein_sd": scaled}


def _code_column(own: Side, other: Side, name: str, breaks: Sequence[float] | None) -> Patterns:
    """Code the values of a variable in both datasets, stacked."""
    own_values, other_values = (side.frame.loc[side.group, name] for side in (own, other))
    if breaks is None:
        values = own_values.drop_duplicates()
        if len(values) > MOST_LEVELS:
            problem = f"variable {name!r} has more than {MOST_LEVELS} different values"
            raise InputError("pairs", problem, f"Group it, for example by breaks={{{name!r}: [...]}}")
        # A rare category may be missing from a released dataset by chance.
        if other_values.notna().any() and not other_values.isin(values).any():
            problem = f"no value of variable {name!r} occurs in the confidential data"
            raise other.refuse(problem, "Use the labels or numbers of the confidential data")
    stacked = pd.concat([own_values.astype(object), other_values.astype(object)], ignore_index=True)
    stacked = stacked if breaks is None else stacked.astype(np.float64)
    return learn_patterns(Table(stacked.to_frame(name)), [name], {} if breaks is None else {name: breaks})


def _cell_differences(own: Side, other: Side, first: Patterns, second: Patterns) -> Floats:
    """Released minus confidential share of every cell that occurs in either dataset."""
    cells = first.codes.astype(np.int64) * second.number + second.codes
    shares = []
    for side, codes in zip((own, other), np.split(cells, [int(own.group.sum())]), strict=True):
        weights = side.weights[side.group]
        if not weights.any():
            raise side.refuse("no record has a weight", "Use coarser groups")
        shares.append(np.bincount(codes, weights, first.number * second.number) / weights.sum())
    # Empty cells are left out, so that sums are the same to the last digit.
    occurs = np.bincount(cells, minlength=first.number * second.number) > 0
    return (shares[1] - shares[0])[occurs]


Method = Literal["logistic", "tree"]

PERMUTATIONS = 100
LEAST_LEAF = 20
MOST_TERMS = 500
# Larger datasets are sampled for the classifier.
MOST_RECORDS = 20_000

# Ridge penalty so small that it only matters under perfect separation, where coefficients would diverge.
_SHRINKAGE = 1e-8
_SINGULAR = 1e-9


def propensity(
    data: Any,
    released: Any,
    columns: str | Sequence[str],
    *,
    method: Method = "logistic",
    permutations: int | None = None,
    interactions: bool = True,
    pairs: bool | None = None,
    most_records: int | None = MOST_RECORDS,
    seed: int = 0,
    groups: GroupColumns = None,
    missing: Missing = "error",
) -> Distances:
    """Propensity score test: the pMSE and its ratio to the expectation for a new sample.

    The two datasets are stacked, N records of which a share c are released, and a classifier estimates for every record
    the probability p of being released. "pmse" is the mean of (p - c)^2, from 0 (indistinguishable) to c (1 - c)
    (perfectly separated). "pmse_expected" is its expectation for a new sample from the same population, and
    "pmse_ratio" their ratio: about 1 if the release is as good as a new sample.

    Parameters
    ----------
    data
        The confidential data.
    released
        One released dataset, or a sequence of them.
    columns
        The variables to use; categorical or numeric as `infer_schema` finds them. Of a category with more than 101
        levels, the 100 most frequent are used and all others are combined.
    method
        "logistic" regression, or a classification "tree" with at least 20 records per leaf.
    permutations
        Number of permutations that estimate the expectation, distributed over the datasets. None: 100 for a tree; for
        logistic regression, a formula is used instead.
    interactions
        Whether the logistic regression includes all pairwise products and squares of numbers. Without these it compares
        means and shares only.
    pairs
        For datasets in which only some of `columns` were synthesized: whether permutations swap a confidential record
        with the released record of the same row, so that unchanged variables remain equal. None: if all datasets have
        the same number of records and some, but not all, of the variables are equal in every row.
    most_records
        Maximum number of records, sampled at random (the same rows of paired datasets); None for all. Where the
        datasets differ, the ratio grows with the number of records: compare ratios for equal numbers only.
    seed
        Of the permutations and of the sample of records.
    groups
        Variables that define groups; the test is done within each group.
    missing
        Missing values: "error", or "keep" (the record is left out).

    References
    ----------
    Snoke, Raab, Nowok, Dibben and Slavkovic, General and Specific Utility Measures for Synthetic Data (2018). Their
    expectation takes the confidential data as the truth, and is 1 - c times this one.

    Examples
    --------
    >>> data = pd.DataFrame({"pay": [float(pay) for pay in range(100)]})
    >>> propensity(data, data, "pay").value("pmse") < 1e-12
    True
    """
    check_choice("method", method, ("logistic", "tree"))
    check_whole("seed", seed, 0)
    most = None if most_records is None else check_whole("most_records", most_records, LEAST_LEAF)
    several = [columns] if isinstance(columns, str) else list(columns)
    if not several:
        raise InputError("columns", "no variable is named", "Name the variables to compare")
    number = PERMUTATIONS if permutations is None else check_whole("permutations", permutations, 1)
    closed = permutations is None and method == "logistic"
    if pairs and missing == "keep":
        raise InputError("pairs", "missing='keep' leaves out records of pairs", "Use only one of the two")
    table = as_table(data)
    parts = read_parts(table, released, several, groups=groups, missing=missing, argument="columns")
    numeric = [name for name in several if is_number(table, name)]
    rows = []
    for place, part in enumerate(parts):
        own = read_complete(part.confidential, several, missing, least=2)
        others = [read_complete(side, several, missing, least=2) for side in part.released]
        paired = pairs is not False and _find_pairs(own, others, part.released, asked=bool(pairs))
        own, *others = (_sample(one, most, [seed, place, 1]) for one in (own, *others))
        labels = [np.repeat([0, 1], [len(own), len(other)]) for other in others]
        generator = np.random.default_rng([seed, place])
        tries = [] if closed else [step % len(others) for step in range(number)]
        mixed = [(at, _shuffle(labels[at], generator, paired=paired)) for at in tries]
        seen = partial(_look, own, numeric, method, interactions=interactions, paired=paired if closed else None)
        shuffles = [[shuffled for at, shuffled in mixed if at == table] for table in range(len(others))]
        found, expected = zip(*_on_all_cores(seen, others, part.released, labels, shuffles), strict=True)
        if not closed:
            expected = [float(np.concatenate(expected).mean())] * len(others)
        for table_number, (pmse, null) in enumerate(zip(found, expected, strict=True), 1):
            called = {"group": part.group, "table": table_number, "column": ", ".join(several)}
            measures = {"pmse": pmse, "pmse_expected": null, "pmse_ratio": pmse / null if null > _NOTHING else np.nan}
            rows += [{**called, "measure": name, "value": value} for name, value in measures.items()]
    return gather(rows, grouped=groups is not None)


def _sample(frame: pd.DataFrame, most: int | None, seed: list[int]) -> pd.DataFrame:
    """A random sample of records in their order; the same rows for datasets of equal length."""
    if most is None or len(frame) <= most:
        return frame
    return frame.iloc[np.sort(np.random.default_rng(seed).choice(len(frame), most, replace=False))]


def _stack(own: pd.DataFrame, other: pd.DataFrame, numeric: Sequence[str], side: Side, *, interactions: bool) -> Floats:
    """Design matrix of both datasets, stacked: standardized numbers, and indicators of all categories but the first."""
    blocks: list[Floats] = []
    for name in own.columns:
        if name in numeric:
            halves = [column_numbers(Table(own), name), column_numbers(Table(other), name, side.argument)]
            values = np.concatenate(halves)
            if not np.isfinite(values).all():
                raise side.refuse(f"variable {name!r} holds an infinite value", "Correct or remove the record")
            spread = values.std()
            blocks.append(((values - values.mean()) / spread)[:, None] if spread > 0 else np.empty((len(values), 0)))
        else:
            codes, levels = pd.factorize(pd.concat([own[name].astype(object), other[name].astype(object)]))
            shown = np.arange(1, len(levels))
            if len(shown) > MOST_LEVELS:
                # The most frequent levels of both datasets together; all others are combined.
                shown = np.argsort(-np.bincount(codes[codes >= 0]), kind="stable")[:MOST_LEVELS]
            blocks.append(np.equal.outer(codes, shown).astype(np.float64))
    if interactions:
        # Products of all pairs, and squares of numbers.
        couples = [
            (first, second)
            for place, first in enumerate(blocks)
            for second in (blocks[place:] if own.columns[place] in numeric else blocks[place + 1 :])
        ]
        blocks += [np.einsum("ni,nj->nij", *couple).reshape(len(couple[0]), -1) for couple in couples]
    if sum(block.shape[1] for block in blocks) > MOST_TERMS:
        problem = f"they make more than {MOST_TERMS} terms"
        raise InputError("columns", problem, "Name fewer, or use interactions=False, or method='tree'")
    design = np.concatenate(blocks, axis=1)
    if not design.shape[1]:
        raise side.refuse("every variable is constant in both datasets", "Name other variables")
    return design


def _on_all_cores(look: Callable[..., tuple[float, Any]], *tables: Sequence[Any]) -> list[tuple[float, Any]]:
    """Evaluate all datasets in parallel, at most one design matrix per core at a time."""
    # Imported here because it loads slowly and most commands do not need it.
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415

    # BLAS threads within these would compete for the cores.
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(workers()) as pool:
        # Under perfect separation the coefficients diverge, but the scores hardly change.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return list(pool.map(look, *tables))


def _look(
    own: pd.DataFrame,
    numeric: Sequence[str],
    method: Method,
    other: pd.DataFrame,
    side: Side,
    labels: np.ndarray,
    shuffles: Sequence[np.ndarray],
    *,
    interactions: bool,
    paired: bool | None,
) -> tuple[float, Any]:
    """The pMSE of one dataset, and its expectation by the formula or the pMSE of every permutation."""
    design = _stack(own, other, numeric, side, interactions=interactions and method == "logistic")
    found = _pmse(design, labels, method)
    if paired is not None:
        return found, _expect(design, labels, paired=paired)
    return found, np.array([_pmse(design, shuffled, method) for shuffled in shuffles])


def _pmse(design: Floats, labels: np.ndarray, method: Method) -> float:
    # Imported here because it loads slowly and most commands do not need it.
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415

    share = labels.mean()
    if method == "logistic":
        weight = 1 / _SHRINKAGE / len(labels)
        classifier = LogisticRegression(C=weight, solver="newton-cholesky", tol=1e-8, max_iter=200)
    else:
        classifier = DecisionTreeClassifier(min_samples_leaf=LEAST_LEAF, random_state=0)
    scores = np.asarray(classifier.fit(design, labels).predict_proba(design))[:, 1]
    return float(((scores - share) ** 2).mean())


def _expect(design: Floats, labels: np.ndarray, *, paired: bool) -> float:
    """Expected pMSE under permuted, centred labels s: E(s' H s) / N with H the projection on the design."""
    share = labels.mean()
    centred = design - design.mean(axis=0)
    sizes = np.sqrt((centred**2).sum(axis=0))
    unit = centred[:, sizes > 0] / sizes[sizes > 0]
    weights, axes = np.linalg.eigh(unit.T @ unit)
    axes = axes[:, weights > _SINGULAR] / np.sqrt(weights[weights > _SINGULAR])
    if not paired:
        return float(axes.shape[1] * share * (1 - share) / len(labels))
    first, second = np.split(unit, 2)
    return float((((first - second) @ axes) ** 2).sum() / 4 / len(labels))


def _find_pairs(own: pd.DataFrame, others: Sequence[pd.DataFrame], sides: Sequence[Side], *, asked: bool) -> bool:
    """Whether the rows of all datasets correspond; an error if pairs were requested and are not possible."""
    for other, side in zip(others, sides, strict=True):
        if asked and len(other) != len(own):
            problem = f"it has {len(other):,} records, the confidential data {len(own):,}"
            raise side.refuse(problem, "Pairs need the same records in the same order: leave out `pairs`")
    if asked:
        return True
    kept = [[len(other) == len(own) and own[name].equals(other[name]) for name in own.columns] for other in others]
    return all(any(each) and not all(each) for each in kept)


def _shuffle(labels: np.ndarray, generator: np.random.Generator, *, paired: bool) -> np.ndarray:
    if not paired:
        return generator.permutation(labels)
    swapped = generator.integers(0, 2, len(labels) // 2)
    return np.concatenate([swapped, 1 - swapped])
