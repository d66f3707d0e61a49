"""Key variables: what an intruder may know of a person, and how it is released so that few people are alone with it.

What is observable about a person (age, sex, place, household, education, occupation) is either a key variable, which
tells few people apart, or it is synthesized. Numbers are put in groups and rare levels pooled before a variable is
synthesized for that. Where several records belong to one person or household, people are counted, not records.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from molehill.attacks.identity import SIZES
from molehill.plan.columns import Finding
from molehill.plan.plan import pattern_sizes, read_formulas
from molehill.plan.pooling import count_rare, group_values, pool_column
from molehill.plan.settings import Settings
from molehill.tables.patterns import learn_patterns
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table

# At most this share of the records may be alone with their key variables.
MOST_ALONE = 0.05
# Levels of key variables that fewer records have are pooled where too many people are alone.
FEWEST_OF_A_KEY = 20
# Groups of an age in years, from narrow to wide: wider ones leave room for more key variables.
AGE_BREAKS = ((15.0, 25.0, 35.0, 50.0, 65.0), (25.0, 45.0, 65.0), (40.0, 65.0))
_ORDER = (
    *("age", "sex", "place", "marital status", "origin", "household", "education", "occupation", "industry"),
    "housing",
)
# Numbers of these meanings are quantities, which can be put in groups; others are codes.
QUANTITIES = ("age", "household", "education")
MANY = 20


@dataclass(frozen=True)
class KeyVariables:
    """The key variables that are proposed.

    Attributes
    ----------
    known
        Variables that are released, in groups or with rare levels pooled where that is said.
    breaks, pooled
        The groups of the numbers among them, and how many records a level of a category must have.
    synthesize
        Observable variables with which too many people would be alone.
    reasons
        What is proposed for a variable, and why.
    note
        How many records share their key variables with how many others, before and after.
    """

    known: tuple[str, ...]
    breaks: Mapping[str, tuple[float, ...]]
    pooled: Mapping[str, int]
    synthesize: tuple[str, ...]
    reasons: Mapping[str, str]
    note: str


@dataclass(frozen=True, eq=False)
class _Release:
    """How key variables would be released; who is alone is counted by units, if records belong together."""

    table: Table
    breaks: Mapping[str, tuple[float, ...]]
    pooled: Mapping[str, int]

    def sizes(self, names: Sequence[str], units: Sequence[str]) -> np.ndarray:
        """Count for every record the records, or units, that share its key variables."""
        return pattern_sizes(self.table, names, {}, units)

    def alone(self, names: Sequence[str], units: Sequence[str]) -> int:
        """Count the records whose key variables nobody else has."""
        return int((self.sizes(names, units) <= 1).sum())


def choose_key_variables(
    table: Table,
    settings: Settings,
    kept: Sequence[Finding],
    *,
    fixed: Sequence[str] = (),
    units: Sequence[str] = (),
) -> KeyVariables:
    """Choose key variables, the likeliest first, as long as few people are alone with them.

    Parameters
    ----------
    table, settings, kept
        The confidential table, settings without key variables, and what was found of the variables that these keep.
    fixed
        Variables of these that cannot be synthesized, as the strata of a survey.
    units
        Variables by which records belong together: who is alone is counted by these.
    """
    likely = _sort_likely(kept, units)
    if not likely:
        return KeyVariables((), {}, {}, (), {}, "")
    names = [found.name for found in likely]
    whole = _Release(table, {}, {})
    most = MOST_ALONE * len(table.frame)
    best, chosen = whole, names
    if whole.alone(names, units) > most:
        best, chosen = _coarsen(table, settings, likely, fixed, units, most)
    synthesized = tuple(name for name in names if name not in (*chosen, *fixed))
    breaks = {name: ends for name, ends in best.breaks.items() if name in chosen}
    pooled = {name: least for name, least in best.pooled.items() if name in chosen}
    reasons = dict.fromkeys(breaks, "released in groups, so that fewer people are alone with their key variables")
    reasons |= {
        name: f"levels of fewer than {least} records are pooled, so that fewer people are alone"
        for name, least in pooled.items()
    }
    for name in synthesized:
        alone = best.alone([*chosen, name], units)
        reasons[name] = (
            f"synthesized, because with it {_share(alone, table)} of the records would be alone with their key "
            f"variables, above {MOST_ALONE:.0%}"
        )
    patterns = np.bincount(learn_patterns(best.table, chosen).codes)
    note = f"{len(patterns):,} patterns, of {patterns.min():,} to {patterns.max():,} records.\n"
    note += _tell_sizes(whole.sizes(names, units), best.sizes(chosen, units), units)
    return KeyVariables(tuple(chosen), breaks, pooled, synthesized, reasons, note)


def _sort_likely(kept: Sequence[Finding], units: Sequence[str]) -> list[Finding]:
    """Sort what an intruder may know: the first of every meaning before the second of any."""
    seen = [found.knowable for found in kept]
    again = {found.name: seen[:place].count(found.knowable) for place, found in enumerate(kept)}
    # Three columns of place tell little more than one.
    likely = sorted(
        (found for found in kept if found.knowable),
        key=lambda found: (again[found.name], _ORDER.index(found.knowable)),
    )
    likely = likely or [found for found in kept if found.kind == "categorical" and 1 < found.levels <= MANY]
    # Of which wave a record is, anybody knows: where records belong together, it parts those of a person.
    return [*(found for found in kept if units and found.timing), *likely]


def _coarsen(
    table: Table,
    settings: Settings,
    likely: Sequence[Finding],
    fixed: Sequence[str],
    units: Sequence[str],
    most: float,
) -> tuple[_Release, list[str]]:
    """Put numbers in groups, then pool rare levels, then take wider groups: until most key variables can stay."""
    rare = {
        found.name: FEWEST_OF_A_KEY
        for found in likely
        if found.kind == "categorical"
        and count_rare(table, found.name, FEWEST_OF_A_KEY)[0]
        and table.frame[found.name].value_counts().nlargest(2).min() >= FEWEST_OF_A_KEY
    }
    tried = [_release(table, settings, likely, 0, {})]
    tried += [_release(table, settings, likely, width, rare) for width in range(len(AGE_BREAKS))]
    best, chosen = tried[0], list[str]()
    for release in tried:
        stay = _add(release, likely, fixed, units, most)
        if len(stay) > len(chosen):
            best, chosen = release, stay
    return best, chosen


def _add(
    release: _Release, likely: Sequence[Finding], fixed: Sequence[str], units: Sequence[str], most: float
) -> list[str]:
    chosen = [found.name for found in likely if found.name in fixed or found.timing]
    for found in likely:
        if found.name not in chosen and release.alone([*chosen, found.name], units) <= most:
            chosen.append(found.name)
    return chosen


def _release(
    table: Table, settings: Settings, likely: Sequence[Finding], width: int, pooled: Mapping[str, int]
) -> _Release:
    # A group is no number that a formula can take.
    parts = {part for formula in read_formulas(settings).values() for part in formula.parts}
    breaks = {
        found.name: ends for found in likely if found.name not in parts and (ends := _breaks(table, found, width))
    }
    settings = settings.but(breaks=breaks, grouped=tuple(breaks), min_level_records={**pooled})
    made = group_values(table, settings)
    for name in pooled:
        found = pool_column(made, settings, name)
        made = made if found is None else found[0]
    return _Release(made, breaks, pooled)


def _breaks(table: Table, found: Finding, width: int) -> tuple[float, ...]:
    """Groups of a known number with many values: the wider, the fewer."""
    if found.kind == "categorical" or found.dates or found.knowable not in QUANTITIES:
        return ()
    if found.levels <= (MANY if width == 0 else 2):
        return ()
    values = column_numbers(table, found.name)
    values = values[np.isfinite(values)]
    if found.knowable == "age" and values.min() >= -1 and values.max() <= 130:
        return tuple(end for end in AGE_BREAKS[width] if values.min() < end <= values.max())
    # Round numbers, which are nobody's value.
    step = 10.0 ** np.floor(np.log10(max(np.ptp(values), 1e-300) / 2)) * (1, 2, 5)[width]
    first = np.ceil(values.min() / step) * step
    return tuple(float(end) for end in np.arange(first, values.max(), step) if end > values.min())


def _share(records: int, table: Table) -> str:
    return f"{records / len(table.frame):.1%}"


def _tell_sizes(before: np.ndarray, after: np.ndarray, units: Sequence[str]) -> str:
    """Tell how many records share their key variables with how many others, before and after."""
    counted = f"values of {json.dumps(units[0], ensure_ascii=False)}" if units else "records"
    told = [f"Records by how many {counted} share all key variables, before and after what is proposed:"]
    for words, (low, high) in SIZES.items():
        least, most = (0 if low == 1 else low), (np.inf if high is None else high)
        numbers = [int(((sizes >= least) & (sizes <= most)).sum()) for sizes in (before, after)]
        shares = [f"{number:,} ({number / len(before):.1%})" for number in numbers]
        told.append(f"  {words + ' (alone)' if low == 1 == high else words:12} {shares[0]:>16} -> {shares[1]:>16}")
    return "\n".join(told)
