"""Detection of the survey design from names, labels and values of variables: a proposal to be confirmed by the user.

A name alone is not enough: a variable called weight may be a body weight, one called cluster the result of a cluster
analysis. Values must be consistent with the role, and must support it where the name is ambiguous.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from molehill.arrays import Floats
from molehill.surveys.design import ReplicateMethod, SurveyDesign
from molehill.tables.labels import align_rows
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table, as_table

DesignRole = Literal["weight", "stratum", "cluster", "population", "replicates"]

# Unambiguous names: those of public surveys, and names that contain "survey" or "design".
_WEIGHTS = re.compile(
    r"pwgtp|wgtp|wtfa(_\w+)?|finlwt\d*|finalwgt|fnlwgt|perwt|hhwt|asecwt|marsupwt|wtint\d\w*|wtmec\d\w*|wtss\w*|llcpwt"
    r"|pweight|(survey|sampling|design|person|household|grossing)_?(weight|wgt|wt)"
    r"|(weight|wgt|wt)_?(survey|sampling|design|person|household)|(design|hochrechnungs)_?(gewicht|faktor)"
    # EU-SILC, the labour force survey of the EU, the European Social Survey, and panels of persons.
    r"|rb050a?|rb06[0-4]|db090|db095|pb040|pb060|pb070|rl070|coeffw?|hhwgt|perweight|popwgt|pweight|dhhwt|phrf|hhrf"
    r"|poids_?sondage|pondera\w*|factor_?expansion|dweight|pspwght|anweight"
)
# Ambiguous names, for example of body weights.
_DOUBTFUL = re.compile(
    r"((final|base|sample)_?)?(weights?|wt|wgt|wght|poids|gewicht|gewichtung|peso|pw|w)(_?(final|sample))?\d?"
)
_STRATA = re.compile(
    r"(strat|strata|stratum|stratid|strat_?id|(ve|v|sdmv|var)_?str(a|at|ata|atum)?|estrato|strate|schicht)\w?"
)
_CLUSTERS = re.compile(
    r"(psu|psu_?id|cluster|cluster_?id|clusters|clust|dnum|(ve|v|sdmv)_?psu|ppsu|secu|upm|grappe|klumpen)\w?"
)
_POPULATIONS = re.compile(r"(fpc\d?|fpc_\w+|pop_?size|population_?size|n_?pop|stratum_?size)")
_REPLICATE = re.compile(
    r"(?P<stem>[a-z_]*?(wgtp|wgt|wt|weight|rep|repl|brr|fay|jkn?|jack|bsw|bs|boot)[a-z_]*)(?P<number>\d+)"
)
# Method of replicate weights, by the beginning of their names.
_METHODS: tuple[tuple[str, ReplicateMethod], ...] = (
    (r"(p|)wgtp", "successive"),
    (r".*brr", "brr"),
    (r".*(bsw|boot|bs)", "bootstrap"),
)
# Words in labels.
_WEIGHT_WORDS = re.compile(
    r"\b(survey|sampling|sample|design|person'?s?|household|expansion|grossing) (weight|factor)|hochrechnung|de sondage"
)
_STRATA_WORDS = re.compile(r"\b(stratum|strata|stratification)\b")
_CLUSTER_WORDS = re.compile(r"\b(primary sampling unit|psu)\b|\bcluster (number|id)")
_POPULATION_WORDS = re.compile(r"\bfinite population|\bpopulation size")
_BODY_WORDS = re.compile(r"\b(kg|kilo\w*|lbs?|pounds?|grams?|body|birth|k(oe|ö)rper\w*|corporel\w*|corporal)\b|_kg|_lb")
_BODY_COLUMNS = re.compile(r"(height|bmi|stature|taille|gr(oe|ö)(ss|ß)e|altura|waist|hgt|ht)(_?(cm|m|in))?")
# Without a telling name, a weight must have few distinct values above 1 with many decimals: minimum number of records
# per distinct value, maximum ratio of the largest to the smallest, minimum mean.
_ALIKE, _MOST_UNEVEN, _LEAST_EXPANSION = 5, 100.0, 2.0
_LEAST_REPLICATES = 8
_MOST_STRATA = 50
# Above any mean body weight in kilograms or pounds.
_HEAVY = 400.0
# Whole numbers with more than this share of distinct values are identifiers.
_NUMBERED = 0.9


@dataclass(frozen=True)
class Suggested:
    """A design role, the variables that may have it, and the reason.

    `taken` is whether it is in the proposal; `open` that it is not, and that the user must decide.
    """

    role: DesignRole
    columns: tuple[str, ...]
    reason: str
    taken: bool = True
    open: bool = False


@dataclass(frozen=True)
class Recognised:
    """A proposed design (None if no weight was found), and the reasons for and against each variable.

    It contains names and reasons only, no values. The user must confirm it.
    """

    design: SurveyDesign | None
    suggested: tuple[Suggested, ...]

    def __str__(self) -> str:
        rows = [("role", "variable", "proposed", "reason")]
        for one in self.suggested:
            shown = one.columns[0] if len(one.columns) == 1 else f"{one.columns[0]} ... {one.columns[-1]}"
            rows.append((one.role, shown, "yes" if one.taken else "no", one.reason))
        return "\n".join(align_rows(rows)) if self.suggested else "no survey design detected"


def detect_design(data: Any) -> Recognised:
    """Propose a survey design by names, labels and values of variables.

    Parameters
    ----------
    data
        The dataset; the labels of a `Table` are used too.

    Examples
    --------
    >>> table = pd.DataFrame({"PWGTP": [12, 30, 7, 55], "psu": [1, 1, 2, 2], "income": [5, 4, 9, 1]})
    >>> print(detect_design(table))
    role     variable  proposed  reason
    weight   PWGTP     yes       named like a survey weight; all values are above 0
    cluster  psu       yes       named like a cluster variable; 2 distinct values
    """
    table = as_table(data)
    replicates = _find_replicates(table)
    taken = {name for one in replicates for name in one.columns}
    rest = [name for name in table.frame.columns if name not in taken]
    # Replicate weights come with a weight.
    found = [*_find_weights(table, rest, replicates)]
    weight = _first(found, "weight")
    population = _find_population(table, rest)
    strata = _find_strata(table, rest, weight, _first(population, "population"))
    clusters = _find_clusters(table, rest, weight, _first(strata, "stratum"), _first(population, "population"))
    found += [*strata, *clusters, *population, *replicates]
    return Recognised(_propose(table, found), tuple(found))


def _propose(table: Table, found: Iterable[Suggested]) -> SurveyDesign | None:
    chosen = {one.role: one.columns for one in reversed(list(found)) if one.taken}
    if "weight" not in chosen:
        return None
    parts: dict[str, Any] = {role: names[0] for role, names in chosen.items() if role != "replicates"}
    if "stratum" in parts and "cluster" in parts:
        parts["nested"] = _begins_again(table, parts["stratum"], parts["cluster"])
    if "replicates" in chosen:
        names = chosen["replicates"]
        parts |= {"replicates": names, "method": _method(names)}
    return SurveyDesign(**parts)


def _first(found: Iterable[Suggested], role: DesignRole) -> str | None:
    return next((one.columns[0] for one in found if one.role == role and one.taken), None)


def _numbers(table: Table, name: str) -> Floats | None:
    """Values of a numeric variable without missing values; None otherwise."""
    column = table.frame[name]
    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return None
    values = column_numbers(table, name)
    return values if np.isfinite(values).all() else None


def _find_weights(table: Table, names: list[str], replicates: list[Suggested]) -> list[Suggested]:
    found: list[Suggested] = []
    for name in names:
        plain = name.lower()
        label = table.column_labels.get(name, "").lower()
        called, labelled = _WEIGHTS.fullmatch(plain), _WEIGHT_WORDS.search(label)
        if not (called or labelled or _DOUBTFUL.fullmatch(plain)):
            continue
        values = _numbers(table, name)
        if values is None or (values < 0).any() or not values.any():
            why = "named like a weight, but it has missing, negative or non-numeric values"
            found.append(Suggested("weight", (name,), why, taken=False))
            continue
        body = _body_reason(table, plain, label)
        if (called or labelled) and not _BODY_WORDS.search(label):
            above = "above 0" if (values > 0).all() else "0 or more"
            why = f"{'named' if called else 'labelled'} like a survey weight; all values are {above}"
            found.append(Suggested("weight", (name,), why))
        elif body:
            found.append(Suggested("weight", (name,), f"may be a body weight: {body}", taken=False))
        else:
            why = _speaks_for(table, values, replicates)
            shown = why or "ambiguous name, and no evidence in its values for a survey weight"
            found.append(Suggested("weight", (name,), shown, taken=bool(why)))
    if not any(one.taken for one in found):
        other = {one.columns[0] for one in found}
        reasons = {name: _looks_like_weight(table, name) for name in names if name not in other}
        found += [Suggested("weight", (name,), why, taken=False, open=True) for name, why in reasons.items() if why]
    # At most one weight is proposed: the first with an unambiguous name, or else the first.
    order = sorted(found, key=lambda one: (not one.taken, not _WEIGHTS.fullmatch(one.columns[0].lower())))
    later = [
        Suggested(one.role, one.columns, f"{one.reason}; another weight is preferred", taken=False, open=True)
        if one.taken
        else one
        for one in order[1:]
    ]
    return [*order[:1], *later]


def _body_reason(table: Table, plain: str, label: str) -> str:
    if _BODY_WORDS.search(label) or _BODY_WORDS.search(plain):
        return "by its name or label"
    beside = [name for name in table.frame.columns if _BODY_COLUMNS.fullmatch(name.lower())]
    return f"the data also contain {beside[0]!r}" if beside else ""


def _speaks_for(table: Table, values: Floats, replicates: list[Suggested]) -> str:
    """Evidence for a survey weight in a variable with an ambiguous name; empty if there is none."""
    mean = float(values.mean())
    sizes = {other: _numbers(table, other) for other in table.frame.columns if _POPULATIONS.fullmatch(other.lower())}
    summed = [other for other, size in sizes.items() if size is not None and _adds_up(values, size, size)]
    # Scales show at most two decimals.
    fine = float(np.mean(np.abs(values * 100 - np.round(values * 100)) > 1e-6))
    # Whole numbers that are nearly all distinct are identifiers.
    numbered = bool((values == np.round(values)).all()) and len(np.unique(values)) > _NUMBERED * len(values)
    reasons = {
        "the data also contain replicate weights": bool(replicates),
        f"its sums within the groups of {(*summed, '')[0]!r} equal these sizes": bool(summed),
        "its mean is 1, like that of scaled weights": abs(mean - 1) < 1e-3 and bool(np.ptp(values) > 0),
        "its values are larger than body weights": mean > _HEAVY and not numbered,
        "its values have more decimals than body weights": fine > 0.5 and mean > 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _looks_like_weight(table: Table, name: str) -> str:
    """Evidence for a survey weight in the values alone; empty if there is not enough. The user must decide."""
    values = _numbers(table, name)
    if values is None or len(values) < _ALIKE or (values <= 0).any() or not np.ptp(values) > 0:
        return ""
    if (
        values.max() > _MOST_UNEVEN * values.min()
        or np.mean(np.abs(values * 1e3 - np.round(values * 1e3)) > 1e-6) < 0.5
    ):
        return ""
    if abs(values.mean() - 1) < 1e-4 and values.std() < 2:
        return "its values are above 0 and their mean is 1, like those of scaled survey weights"
    alike = len(values) / len(np.unique(values))
    if values.min() < 1 or values.mean() < _LEAST_EXPANSION or alike < _ALIKE:
        return ""
    return "groups of records share a value above 1 with many decimals, like survey weights"


def _adds_up(weights: Floats, sizes: Floats, groups: Any) -> bool:
    """Whether weights add up to the sizes within groups, within 1%."""
    group, _ = pd.factorize(groups)
    return bool(np.allclose(np.bincount(group, weights)[group], sizes, rtol=0.01))


def _is_called(table: Table, name: str, names: re.Pattern[str], words: re.Pattern[str]) -> str:
    """Whether a variable is "named" or "labelled" like a design variable; empty if neither."""
    if names.fullmatch(name.lower()):
        return "named"
    return "labelled" if words.search(table.column_labels.get(name, "").lower()) else ""


def _find_population(table: Table, names: list[str]) -> list[Suggested]:
    found = []
    for name in names:
        called = _is_called(table, name, _POPULATIONS, _POPULATION_WORDS)
        if not called:
            continue
        values = _numbers(table, name)
        fractions = values is not None and bool(((values > 0) & (values <= 1)).all())
        if values is None or not (fractions or (values >= 1).all()):
            continue
        what = "fractions" if fractions else "numbers of 1 or more"
        found.append(Suggested("population", (name,), f"{called} like a population size; its values are {what}"))
    return found[:1]


def _find_strata(table: Table, names: list[str], weight: str | None, population: str | None) -> list[Suggested]:
    records = len(table.frame)
    for name in names:
        number = table.frame[name].nunique()
        called = _is_called(table, name, _STRATA, _STRATA_WORDS)
        if called and name != weight and 2 <= number <= records / 2 and not table.frame[name].isna().any():
            return [Suggested("stratum", (name,), f"{called} like a stratum variable; {number:,} distinct values")]
    if weight is None or population is None or table.frame[population].nunique() < 2:
        return []
    # Varying population sizes belong to strata: a category with one size and one weight per level.
    sizes = table.frame[[population, weight]]
    number = len(sizes.drop_duplicates())
    for name in names:
        if name in (weight, population) or number > _MOST_STRATA or table.frame[name].nunique() != number:
            continue
        if len(sizes.assign(level=table.frame[name].astype(str)).drop_duplicates()) == number:
            why = f"{population!r} and {weight!r} are constant within each of its {number} levels"
            return [Suggested("stratum", (name,), why)]
    return []


def _find_clusters(
    table: Table, names: list[str], weight: str | None, stratum: str | None, population: str | None
) -> list[Suggested]:
    records = len(table.frame)
    for name in names:
        number = table.frame[name].nunique()
        called = _is_called(table, name, _CLUSTERS, _CLUSTER_WORDS)
        whole = 2 <= number < records and not table.frame[name].isna().any()
        if not called or not whole or name in (weight, stratum):
            continue
        sizes = None if population is None else _numbers(table, population)
        heavy = None if weight is None else _numbers(table, weight)
        groups = sizes if stratum is None else table.frame[stratum]
        why = f"{called} like a cluster variable; "
        if heavy is not None and sizes is not None and _adds_up(heavy, sizes, groups):
            why += f"but the weights add up to {population!r}: records were drawn individually"
            return [Suggested("cluster", (name,), why, taken=False, open=True)]
        why += f"{number:,} distinct values"
        if stratum and _begins_again(table, stratum, name):
            why += ", which restart in every stratum"
        return [Suggested("cluster", (name,), why)]
    return []


def _begins_again(table: Table, stratum: str, cluster: str) -> bool:
    pairs = table.frame[[stratum, cluster]].drop_duplicates()
    return bool(pairs[cluster].duplicated().any())


def _find_replicates(table: Table) -> list[Suggested]:
    stems: dict[str, dict[int, str]] = {}
    for name in table.frame.columns:
        match = _REPLICATE.fullmatch(name.lower())
        if match:
            stems.setdefault(match["stem"], {})[int(match["number"])] = name
    found = []
    for numbered in stems.values():
        complete = sorted(numbered) == list(range(min(numbered), min(numbered) + len(numbered)))
        if len(numbered) < _LEAST_REPLICATES or not complete or min(numbered) > 1 or not _are_weights(table, numbered):
            continue
        names = tuple(numbered[number] for number in sorted(numbered))
        method = _method(names)
        why = f"{len(names)} numbered variables with similar means, like replicate weights"
        why += f"; by their names, of method {method!r}" if method else "; their method is unknown: set `method`"
        found.append(Suggested("replicates", names, why, taken=method is not None))
    return found[:1]


def _are_weights(table: Table, numbered: Mapping[int, str]) -> bool:
    means = []
    for name in numbered.values():
        values = _numbers(table, name)
        if values is None or values.mean() <= 0:
            return False
        means.append(float(values.mean()))
    # Every replicate estimates the same population.
    return max(means) < 1.5 * min(means)


def _method(names: tuple[str, ...]) -> ReplicateMethod | None:
    stem = names[0].lower().rstrip("0123456789")
    # The American Community Survey always has 80.
    return next(
        (
            method
            for words, method in _METHODS
            if re.match(words, stem) and (method != "successive" or len(names) == 80)
        ),
        None,
    )
