"""Attribute: what the released records with a person's known values tell of the person.

Records of a pattern that all say the same give it away without anybody being found. Shares are from 0 to 1, where
synthpop gives percentages. What importance weights of our own posteriors tell, as Hornby and Hu's (2021), is in
`molehill.attacks.worst_case.attributes`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from molehill.arrays import Booleans, Floats, Integers
from molehill.attacks.identity import Breaks, learn_known
from molehill.attacks.rates import Attack, compare, excess
from molehill.errors import InputError, check_names, check_number
from molehill.tables.intervals import Figure, mean_over_tables
from molehill.tables.patterns import match_patterns
from molehill.tables.table import Table, as_table, as_tables, find_columns


@dataclass(frozen=True)
class Diversity:
    """How many different targets there are in the patterns.

    Attributes
    ----------
    distinct
        Different targets in the pattern that has the fewest: the table is distinct l-diverse for this l.
    entropy
        exp of the entropy of the targets in the pattern where it is least: entropy l-diverse for this l.
    mean_entropy
        The mean of exp of the entropy over the records.
    homogeneous
        Share of the records in patterns with one target only: synthpop's Dorig, Disclosive in Original.
    """

    distinct: int
    entropy: float
    mean_entropy: float
    homogeneous: float


def l_diversity(data: Any, known: Sequence[str] | str, target: str, *, breaks: Breaks = None) -> Diversity:
    """Say how different the targets are within the patterns.

    An intruder who knows the known columns of a person need not find the person where all who look alike have the same
    target. With shares p of the targets of a pattern its entropy is `- sum of p log p`, and exp of that the number of
    equally frequent targets that would have it.

    Parameters
    ----------
    data
        Any table.
    known, target
        The columns, and the one that the intruder wants to know.
    breaks
        Groups of numeric columns, of the target as well: without them numbers are compared exactly.

    References
    ----------
    Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, l-Diversity: Privacy Beyond k-Anonymity (2007).

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A", "A", "B", "B"], "job": ["x", "y", "x", "x"]})
    >>> l_diversity(data, "town", "job")
    Diversity(distinct=1, entropy=1.0, mean_entropy=1.5, homogeneous=0.5)
    """
    counts = _Counts(as_table(data), known, target, breaks)
    cells, sizes = counts.own, counts.sizes
    filled = cells.number > 0
    pattern, share = cells.pattern[filled], cells.number[filled] / sizes[cells.pattern[filled]]
    distinct = np.bincount(pattern, minlength=len(sizes))
    entropy = np.bincount(pattern, weights=-share * np.log(share), minlength=len(sizes))
    effective = np.exp(entropy)
    return Diversity(
        int(distinct.min()),
        float(effective.min()),
        float((effective * sizes).sum() / sizes.sum()),
        float(sizes[distinct == 1].sum() / sizes.sum()),
    )


@dataclass(frozen=True)
class Disclosure:
    """What looking people up in the release tells of a target; each a share, a mean over the tables.

    Attributes
    ----------
    original
        Dorig: confidential records in patterns with one target only.
    synthetic
        Dsyn: released records in patterns with one target only.
    found
        Confidential records whose known values are in the release: synthpop's iS.
    disclosive
        DiS: those whose pattern has one target only in the release.
    correct
        DiSCO: those of whom that target is true.
    correct_of_disclosive
        DiSCO over DiS: how sure the intruder may be.
    attack
        DiSCO as an attack, with its control: the same for people who were not in the data. The baseline guesses by the
        confidential shares of the targets, and only people whose pattern discloses something: what DiSCO would be if
        that something had been drawn at random. The risk is what goes beyond the larger of the two.
    by_dataset
        DiSCO of every released table.
    """

    original: Figure
    synthetic: Figure
    found: Figure
    disclosive: Figure
    correct: Figure
    correct_of_disclosive: Figure
    attack: Attack
    by_dataset: tuple[float, ...]


def disco(
    data: Any,
    released: Any,
    known: Sequence[str] | str,
    target: str,
    *,
    control: Any = None,
    breaks: Breaks = None,
) -> Disclosure:
    """Count the people of whom the release gives a target away, and rightly: DiSCO.

    An intruder looks up a person's known values in the release. Where all records that have them agree on the target,
    it is taken for the person's: it is Disclosive in the Synthetic table, and it counts if it is Correct in the
    Original. With d and s records of pattern q and target t in the confidential table of N and in the released one,
    `Dorig = sum of d_tq where d_tq = d_q, over N`, and `DiSCO = sum of d_tq where s_tq = s_q > 0, over N`. Much of it
    may be what everybody knows, such as that children do not work: the control tells.

    Parameters
    ----------
    data, released, control
        The confidential table, one released table or a sequence of them, and records of people like those of the
        confidential table that were not used to make the release, if there are any.
    known, target, breaks
        As in `l_diversity`.

    References
    ----------
    Raab, Nowok and Dibben, Practical Privacy Metrics for Synthetic Data (2024); the vignette of synthpop 1.9.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A", "A", "B", "B", "C"], "job": ["x", "y", "x", "x", "y"]})
    >>> released = data.assign(job=["x", "x", "x", "y", "y"])
    >>> found = disco(data, released, "town", "job")
    >>> [figure.value for figure in (found.original, found.disclosive, found.correct)]
    [0.6, 0.6, 0.4]
    """
    table, people = as_table(data), None if control is None else as_table(control, argument="control")
    counts = _Counts(table, known, target, breaks)
    marginal = np.bincount(counts.targets.codes, minlength=counts.levels) / len(table.frame)
    rows, succeeded, controlled, naive = [], [], [], []
    for one in as_tables(released):
        # Whoever is asked about, in the data or not, is looked up by what the release has.
        counts.check(one)
        told = _Counts(one, known, target, breaks)
        agreed, correct, here = told.look_up(table, "data")
        succeeded.append(correct)
        naive.append(float((agreed * marginal[counts.targets.codes]).mean()))
        if people is not None:
            controlled.append(told.look_up(people, "control")[1])
        share = correct.sum() / agreed.sum() if agreed.any() else np.nan
        rows.append((told.homogeneous, here.mean(), agreed.mean(), correct.mean(), share))
    figures = [mean_over_tables(share, least=0.0, most=1.0) for share in np.array(rows, dtype=np.float64).T]
    baseline = mean_over_tables(np.array(naive), least=0.0, most=1.0)
    against = None if people is None else np.array(controlled, dtype=np.float64)
    attack = compare(np.array(succeeded, dtype=np.float64), against, baseline)
    if baseline.value > attack.control.value:
        # Of people who were not used nothing is disclosed where nobody else has their known values; that of the others
        # something is disclosed does not make it true.
        attack = replace(attack, risk=excess(attack.rate, Figure(*[baseline.value] * 3)))
    found = dict(zip(("synthetic", "found", "disclosive", "correct", "correct_of_disclosive"), figures, strict=True))
    original, by_dataset = Figure(counts.homogeneous, np.nan, np.nan), tuple(float(row[3]) for row in rows)
    return Disclosure(original=original, **found, attack=attack, by_dataset=by_dataset)


@dataclass(frozen=True)
class Attribution:
    """Chances that the release attributes a target correctly; each a mean over the tables.

    Attributes
    ----------
    targeted
        TCAP: over the released records that are sure of their target, the share of the confidential records with the
        same known values that have it. Released records whose known values nobody has are left out. NaN if none is
        left.
    targeted_original
        TCAP as synthpop counts it, of confidential records: DiSCO over those whose known values are in the release.
    sure
        Share of the released records that are sure: whose target has at least the share `least` of their pattern
        (WEAP).
    general
        DCAP: over the confidential records, the share of the released ones with the same known values that have the
        same target; 0 where there is none.
    within
        The same among the confidential records themselves, each included: what who has the data would get (CAPd).
    baseline
        The chance to be right by the shares of the targets alone: the sum of their squares.
    """

    targeted: Figure
    targeted_original: Figure
    sure: Figure
    general: Figure
    within: Figure
    baseline: Figure


def correct_attribution(
    data: Any,
    released: Any,
    known: Sequence[str] | str,
    target: str,
    *,
    breaks: Breaks = None,
    least: float = 1.0,
) -> Attribution:
    """Ask how often the release is right where it is sure: targeted correct attribution probability, TCAP.

    An intruder goes through the release for patterns whose records agree on the target, and then looks for people with
    these known values, all of whom are taken to have it. For a released record with known values q and target t,
    `WEAP = s_tq / s_q`; where that is at least `least`, the chance of being right is `d_tq / d_q` among the
    confidential records; TCAP is its mean. It is read against the baseline `sum of p_t^2`.

    Parameters
    ----------
    data, released, known, target, breaks
        As in `disclosive`.
    least
        How much the released records of a pattern must agree to be sure, above 0 and up to 1.

    References
    ----------
    Taub, Elliot, Pampaka and Smith, Differential Correct Attribution Probability for Synthetic Data (2018). Taub and
    Elliot, The Synthetic Data Challenge (2019). Little, Elliot and Allmendinger, Comparing the Utility and Disclosure
    Risk of Synthetic Data with Samples of Microdata (2022).

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A", "A", "B", "B", "C"], "job": ["x", "y", "x", "x", "y"]})
    >>> released = data.assign(job=["x", "x", "x", "y", "y"])
    >>> found = correct_attribution(data, released, "town", "job")
    >>> round(found.targeted.value, 4), found.targeted_original.value, found.sure.value
    (0.6667, 0.4, 0.6)
    """
    if not 0 < check_number("least", least) <= 1:
        raise InputError("least", "it is no share above 0", "Give a number above 0, up to 1")
    table = as_table(data)
    counts = _Counts(table, known, target, breaks)
    patterns, targets = counts.patterns.codes, counts.targets.codes
    inside = counts.own.share(patterns, targets, counts.sizes)
    rows = []
    for one in as_tables(released):
        counts.check(one)
        told = _Counts(one, known, target, breaks)
        sure = told.own.share(told.patterns.codes, told.targets.codes, told.sizes) >= least
        at, of = counts.find(one, "released")
        kept = sure & (at >= 0)
        right = counts.own.share(at[kept], of[kept], counts.sizes)
        _, correct, here = told.look_up(table, "data", least)
        rows.append(
            (
                right.mean() if kept.any() else np.nan,
                correct.sum() / here.sum() if here.any() else np.nan,
                sure.mean(),
                told.own.share(*told.find(table, "data"), told.sizes).mean(),
            )
        )
    figures = [mean_over_tables(share, least=0.0, most=1.0) for share in np.array(rows, dtype=np.float64).T]
    targeted, targeted_original, sure, general = figures
    marginal = np.bincount(targets, minlength=counts.levels) / len(targets)
    within, baseline = float(inside.mean()), float((marginal**2).sum())
    return Attribution(
        targeted, targeted_original, sure, general, Figure(within, np.nan, np.nan), Figure(baseline, np.nan, np.nan)
    )


class _Cells:
    """How many records have each pattern and target, for those that occur: sorted, so that any can be looked up."""

    def __init__(self, patterns: Integers, targets: Integers, levels: int) -> None:
        self.levels = levels
        here = (patterns >= 0) & (targets >= 0)
        places = patterns[here].astype(np.int64) * levels + targets[here]
        self.places, self.number = np.unique(places, return_counts=True)
        self.pattern = self.places // levels

    def count(self, patterns: Integers, targets: Integers) -> Integers:
        """Count the records with such a pattern and target."""
        wanted = patterns.astype(np.int64) * self.levels + targets
        if not len(self.places):
            return np.zeros(len(wanted), dtype=np.int64)
        at = np.minimum(np.searchsorted(self.places, wanted), len(self.places) - 1)
        return np.where((self.places[at] == wanted) & (patterns >= 0) & (targets >= 0), self.number[at], 0)

    def share(self, patterns: Integers, targets: Integers, sizes: Integers) -> Floats:
        """Share of the records of a pattern that have the target; 0 where there is none."""
        return self.count(patterns, targets) / np.maximum(np.where(patterns >= 0, sizes[patterns], 0), 1)


class _Counts:
    """A table by pattern and target, and how people of others are looked up in it."""

    def __init__(self, table: Table, known: Sequence[str] | str, target: str, breaks: Breaks) -> None:
        names = check_names("known", known)
        if not isinstance(target, str):
            problem = f"it is of type {type(target).__name__}, not the name of a column"
            raise InputError("target", problem, "Name one column; call once for each of several")
        if target in names:
            raise InputError("target", f"{target!r} is also known", "Leave it out of the known columns")
        cut = dict(breaks or {})
        unknown = [name for name in cut if name not in (*names, target)]
        if unknown:
            raise InputError("breaks", f"{unknown[0]!r} is neither known nor the target", "Leave it out")
        self.patterns = learn_known(table, known, {name: cut[name] for name in names if name in cut})
        own = {target: cut[target]} if target in cut else None
        self.targets = learn_known(table, target, own, "target")
        self.levels = self.targets.number
        self.sizes = np.bincount(self.patterns.codes, minlength=self.patterns.number)
        self.own = _Cells(self.patterns.codes, self.targets.codes, self.levels)

    @property
    def homogeneous(self) -> float:
        """Share of the records in patterns with one target only."""
        return float(
            (self.own.count(self.patterns.codes, self.targets.codes) == self.sizes[self.patterns.codes]).mean()
        )

    def check(self, released: Table) -> None:
        """Refuse a released table that lacks a column, or codes one otherwise."""
        self.find(released, "released", whole=True)

    def find(self, table: Table, argument: str, *, whole: bool = False) -> tuple[Integers, Integers]:
        """Pattern and target of every record of another table, -1 for one that this table has not."""
        for patterns in (self.patterns, self.targets):
            find_columns(table, [coding.name for coding in patterns.codings], argument)
        return (
            match_patterns(self.patterns, table, argument, whole=whole),
            match_patterns(self.targets, table, argument, whole=whole),
        )

    def look_up(self, table: Table, argument: str, least: float = 1.0) -> tuple[Booleans, Booleans, Booleans]:
        """Whether people's patterns agree on a target here, whether on the true one, and whether they are here."""
        patterns, targets = self.find(table, argument)
        largest = np.zeros(len(self.sizes), dtype=np.int64)
        np.maximum.at(largest, self.own.pattern, self.own.number)
        size = np.where(patterns >= 0, self.sizes[patterns], 0)
        agreed = (size > 0) & (largest[patterns] >= least * size)
        return agreed, agreed & (self.own.count(patterns, targets) >= least * size), size > 0
