"""One release beside the confidential table: what measures share, each part computed once and when it is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from molehill.arrays import Booleans, Floats, Integers, derive_seed
from molehill.errors import InputError, check_choice, check_number, check_whole
from molehill.evaluation.scenery.all_datasets import AllDatasets
from molehill.evaluation.scenery.attacking import Attacks, Trial
from molehill.risk.attacks import Attribution, Guesses, PooledRisk, attribution, guess_values, pooled_mean, pooled_risk
from molehill.risk.holdout import Holdout
from molehill.risk.identification import (
    ConfidentialRisk,
    MatchRates,
    ReleaseRisk,
    confidential_risk,
    match_rates,
    matches_beyond_chance,
    release_risk,
    risk_by_chance,
    risk_floor,
)
from molehill.risk.intruder import Radius, Reading, View, read_released
from molehill.risk.moles import Moles, Rises, count_increases, moles
from molehill.risk.profile import ABOVE, LEAST_TABLES, estimate_above, profile_release
from molehill.rules.rules import Rules
from molehill.surveys.design import Sample, SurveyDesign
from molehill.surveys.rarity import PopulationRisk, population_risk
from molehill.tables.intervals import Figure
from molehill.tables.resolution import holds_dates
from molehill.tables.schema import is_number
from molehill.tables.table import Table
from molehill.utility import (
    Agreement,
    Analysis,
    Distances,
    agreement,
    ecdf_distances,
    estimate,
    propensity,
    table_difference,
    wasserstein,
)
from molehill.utility.distances import MOST_LEVELS, MOST_TERMS, Method
from molehill.utility.marginals import MOST_SETS
from molehill.utility.tails import FreshRange, fresh_range

if TYPE_CHECKING:
    from molehill.evaluation.scenery.attribute import AttributeRisk
    from molehill.evaluation.scenery.expected import ExpectedRisk
    from molehill.evaluation.scenery.membership import Membership

METHODS = {"logistic": "logistic", "tree": "classification tree"}
# Shuffles for what a fresh sample would show, over all tables of a release.
PERMUTATIONS = 20
# Of fewer records a classifier says nothing.
LEAST_RECORDS = 50
# Indicators of known columns that the classifier sees at most; their products with each other make many more.
_MOST_INDICATORS = 30
# A classifier sees records that are complete: a column with which fewer than this share would be is left out.
_LEAST_COMPLETE = 0.2
_MOST_LEVELS = 100
# Where confidential and baseline risk differ by less, nothing can be left of it.
_LEAST_LEFT = 0.01
# Pairs of datasets whose records are matched in each other.
_MATCHED = 5
# A record is at high risk from here on; and standard errors from the middle to the ends of 99 of 100 cases.
HIGH, _CASES, _REACH = ABOVE["above_80"], 0.99, 2.576
# Releases that are simulated for what chance shows.
_SIMULATED = 5
# Datasets that are compared with what all others combined give.
_COMBINED = 3
# Columns whose pairs and triples are compared at most; of more than this many records in all tables, fewer of the sets.
_MOST_RELATED = 25
_MOST_COUNTED = 4_000_000_000
_LEAST_SETS = 200


@dataclass(frozen=True)
class Options:
    """How an evaluation measures: the arguments of `evaluate` that are about measuring."""

    analyses: Sequence[Analysis]
    groups: str | Sequence[str] | None
    interval: Literal["combined", "bootstrap"]
    rule: Literal["partial", "full"]
    methods: Sequence[Method]
    radii: Sequence[Radius]
    step: float
    seed: int
    related: Sequence[str] | None = None
    survey: SurveyDesign | None = None
    hidden: Sequence[str] = ()
    population: bool = False
    rules: Rules | None = None
    shuffled: bool = False

    def __post_init__(self) -> None:
        check_choice("interval", self.interval, ("combined", "bootstrap"))
        check_choice("rule", self.rule, ("partial", "full"))
        check_number("step", self.step)
        object.__setattr__(self, "seed", check_whole("seed", self.seed, 0))
        if not all(isinstance(one, Analysis) for one in self.analyses):
            raise InputError("analyses", "it holds something else", "Give for instance [mean('income')]")
        for method in self.methods:
            check_choice("propensity_methods", method, tuple(METHODS))
        for radius in self.radii:
            if not isinstance(radius, Real | Mapping):
                problem = f"one is of type {type(radius).__name__}, not a radius"
                raise InputError("radii", problem, "Give numbers such as [0.1, 0.3], or numbers by column")


@dataclass(frozen=True, eq=False)
class Scene:
    """One release, or the confidential table itself, as measures look at it.

    Attributes
    ----------
    view, confidential
        The confidential table through the intruder's eyes, and its risk.
    readings
        The released tables; none for the confidential table itself.
    options
        How to measure.
    expected
        Expected risk, where the posterior is known.
    reference
        The release that this one is compared with record by record, if any.
    beside
        Of the confidential table: the first release, whose analyses tell those of the confidential table too.
    holdout
        How near tables lie to who was in the data and who was not, where that was tried.
    membership
        What the release shows of some records having been in the data, where the posterior can say it.
    attributes
        What the release tells of single values of some records to who knows all else, where the posterior can say it.
    trial
        People who were not used, with what they are a control of; None without them.
    """

    view: View
    confidential: ConfidentialRisk
    readings: list[Reading]
    options: Options
    expected: "ExpectedRisk | None" = None
    reference: "Scene | None" = None
    beside: "Scene | None" = None
    holdout: Holdout | None = None
    membership: "Membership | None" = None
    attributes: "Sequence[AttributeRisk]" = ()
    trial: Trial | None = None

    @property
    def is_release(self) -> bool:
        """Whether there are released tables, or only the confidential one."""
        return bool(self.readings)

    @property
    def is_linked(self) -> bool:
        """Whether some released record is a person's own; none is in tables of new people."""
        return any(reading.rows is None or (reading.rows >= 0).any() for reading in self.readings)

    @property
    def tables(self) -> list[Table]:
        """The released tables."""
        return [reading.table for reading in self.readings]

    @cached_property
    def attacks(self) -> Attacks:
        """The attacks that boards know, each made when it is asked for."""
        return Attacks(self)

    @cached_property
    def all_datasets(self) -> AllDatasets:
        """What an intruder learns who follows a person's row through all datasets."""
        return AllDatasets(self)

    @cached_property
    def risk(self) -> ReleaseRisk:
        """Risk of every record in the released tables."""
        return release_risk(self.view, self.readings)

    @cached_property
    def risk_by_chance(self) -> dict[str, tuple[Floats, Floats]]:
        """How likely released values are close by chance, in several ways, and the risk: `risk_by_chance`; or nothing.

        Nothing where no record is a person's own, or where it is not sure what the intruder knows.
        """
        if not self.is_linked or self.view.intruder.knowledge_probability:
            return {}
        return risk_by_chance(self.view, self.readings, alike=self._close_by_kept(self.view))

    def mean_by_chance(self, rows: Booleans, ways: Sequence[str] = ("pattern", "anybody")) -> Figure:
        """Mean risk of some records by chance, and the ends between which it lies in 99 of 100 cases.

        The largest of what values of the pattern, of anybody, and others as asked for, would show.
        """
        # Here, because most commands do without, and should not wait for it to load.
        from scipy.stats import binom  # noqa: PLC0415

        found = [self.risk_by_chance[way] for way in ways]
        chance, risk = max(found, key=lambda one: float((one[0] * one[1])[:, rows].mean()))
        chance, risk = chance[:, rows], risk[:, rows]
        mean, share = float((chance * risk).mean()), float(chance.mean())
        if not share > 0:
            return Figure(mean, mean, mean)
        # Of few records one that is found decides.
        ends = binom.ppf([(1 - _CASES) / 2, (1 + _CASES) / 2], chance.size, share) / chance.size
        return Figure(mean, *(float(end) * mean / share for end in ends))

    @cached_property
    def high_by_chance(self) -> Figure:
        """How many records have a high risk by chance: the expected one from three datasets on, the realised one below.

        The largest number that one of the ways shows, and the ends between which it lies in 99 of 100 cases. What
        predicts a value is known from a fit to it, so that a tenth more is no surprise.
        """
        few, numbers = len(self.readings) < LEAST_TABLES, []
        random = np.random.default_rng(derive_seed(self.options.seed, "high by chance"))
        for chance, risk in self.risk_by_chance.values():
            if few:
                numbers.append(float(((risk.mean(axis=0) > HIGH) * chance.prod(axis=0))[self.view.part].sum()))
                continue
            # The estimate is rough for few datasets: what it makes of values that are close by chance.
            close = [(random.random(chance.shape) < chance.mean(axis=0)) & self.view.part for _ in range(_SIMULATED)]
            made = [estimate_above(np.where(one, risk, 0.0), one, self.confidential.risk, HIGH) for one in close]
            numbers.append(float(np.mean(made)))
        expected = max(numbers)
        reach = _REACH * np.sqrt(1.1 * expected)
        return Figure(expected, max(0.9 * expected - reach, 0.0), 1.1 * expected + reach)

    def _close_by_kept(self, view: View) -> Floats | None:
        """(datasets, records): how often values of records that kept variables predict alike are close to the own."""
        alike, anybody = self.attacks.alike, replace(view.intruder, known=(), breaks={}).view(view)
        if not self.is_linked or not alike:
            return None
        columns = [(anybody.alone(column), alike.get(column)) for column in view.intruder.sensitive]
        return np.prod([guess_values(own, self.readings, alike=one).without for own, one in columns], axis=0)

    @property
    def by_dataset(self) -> Floats:
        """(tables, records): risk in every table; of the confidential table its own."""
        return self.risk.by_dataset if self.is_release else self.confidential.risk[None]

    @cached_property
    def profile(self) -> dict[str, Figure]:
        """How risk is spread over the records."""
        return profile_release(self.by_dataset)

    @cached_property
    def expected_profile(self) -> dict[str, Figure]:
        """How expected risk is spread over the records; empty where it is not known."""
        return {} if self.expected is None else profile_release(self.expected.blocks)

    @cached_property
    def risk_floor(self) -> float:
        """Mean risk of tables that tell nothing of a person beyond the pattern."""
        return float(np.nanmean(risk_floor(self.view)))

    @cached_property
    def profile_by_radius(self) -> list[tuple[Radius, dict[str, Figure]]]:
        """The same to intruders with other radii."""
        radii = self.options.radii if self.is_release else ()
        risks = [(radius, release_risk(self.view.at(radius), self.readings)) for radius in radii]
        return [(radius, profile_release(risk.by_dataset)) for radius, risk in risks]

    @cached_property
    def beyond_baseline_by_radius(self) -> list[tuple[Radius, Figure, Figure]]:
        """By radius, what is left of the risk above the baseline, and the true match rate above its baseline.

        The baseline is that of values drawn from their own pattern, or of anybody's; of match rates, of released values
        in any order within the pattern. A larger radius has more close values by chance, and so a higher baseline. Of
        match rates it is, if that is more, the rate at which one dataset's records are matched in another: a true value
        is like one more draw, however much predictors tell of it.
        """
        found = []
        for radius, profile in self.profile_by_radius if self.is_linked else ():
            view = self.view.at(radius)
            own, floor = confidential_risk(view), float(np.nanmean(risk_floor(view)))
            if not view.intruder.knowledge_probability:
                ways = risk_by_chance(view, self.readings).values()
                floor = max(floor, *(float((chance * risk)[:, view.part].mean()) for chance, risk in ways))
            before = float(np.nanmean(own.risk)) - floor
            by_chance, gain = matches_beyond_chance(view, self.readings, alike=self._close_by_kept(view))
            # What goes beyond that, where one dataset is matched in another.
            more = max(self._match_each_other(view) - float(by_chance.mean()), 0.0)
            if before > _LEAST_LEFT:
                left = Figure(*((end - floor) / before for end in profile["mean"]))
                found.append((radius, left, Figure(*(end - more for end in gain))))
        return found

    def _match_each_other(self, view: View) -> float:
        """True match rate of a dataset in the one after it, as if its values were the true ones; of the first few."""
        pairs = pairwise(self.readings[: _MATCHED + 1])
        rates = [float(match_rates(_as_truth(view, one), [other]).true[0]) for one, other in pairs]
        return float(np.mean(rates)) if rates else 0.0

    @cached_property
    def combined_by_chance(self) -> Figure:
        """Mean risk with all datasets combined, if a person's true value were one more draw; of two datasets at least.

        Each of the first few datasets is left out, and its values take the place of the true ones: what variables that
        are released unchanged tell of a true value, they tell of a drawn one as well.
        """
        gains = []
        for place, reading in enumerate(self.readings[:_COMBINED]):
            others = self.readings[:place] + self.readings[place + 1 :]
            true, drawn = (pooled_mean(view, others).value for view in (self.view, _as_truth(self.view, reading)))
            gains.append(true - drawn)
        value = self.pooled.mean.value - float(np.mean(gains))
        # Of so many records, true ones and drawn ones.
        variance = value * (1 - value) * (1 + 1 / len(gains)) / self.view.part.sum()
        reach = _REACH * float(np.sqrt(max(variance, 0.0)))
        return Figure(value, value - reach, value + reach)

    @cached_property
    def alone(self) -> dict[str, tuple[Figure, float]]:
        """Where several columns are sensitive, for each the mean risk if it were the only one, and its floor."""
        columns = self.view.intruder.sensitive
        if not self.is_linked or len(columns) < 2:
            return {}
        views = {column: self.view.alone(column) for column in columns}
        risks = {column: release_risk(own, self.readings).by_dataset for column, own in views.items()}
        return {
            column: (profile_release(risks[column])["mean"], float(np.nanmean(risk_floor(views[column]))))
            for column in columns
        }

    @cached_property
    def rates(self) -> MatchRates:
        """An intruder's matches; of the confidential table, those if it were published as it is."""
        return match_rates(self.view, self.readings or self.view.table)

    @cached_property
    def matches_beyond_chance(self) -> Figure:
        """How much higher the true match rate is than by chance; of the confidential table, if it were published."""
        alike = self._close_by_kept(self.view)
        return matches_beyond_chance(self.view, self.readings or self.view.table, alike=alike)[1]

    @cached_property
    def pooled(self) -> PooledRisk:
        """What pooling the tables gives: of one table, and of the confidential one, what it gives itself."""
        return pooled_risk(self.view, self.readings or self.view.table)

    @cached_property
    def guesses(self) -> dict[str, Guesses]:
        """How well every sensitive column is guessed."""
        columns = self.view.intruder.sensitive if self.is_release else ()
        alike = self.attacks.alike if self.is_linked else {}
        return {
            column: guess_values(self.view.alone(column), self.readings, alike=alike.get(column)) for column in columns
        }

    @cached_property
    def attributions(self) -> dict[str, Attribution]:
        """What released records that look like a person tell of every sensitive column of the person."""
        columns = self.view.intruder.sensitive if self.is_release else ()
        return {column: attribution(self.view.alone(column), self.readings) for column in columns}

    @cached_property
    def moles(self) -> Moles | None:
        """Records whose expected risk rises against the reference."""
        if self.expected is None or self.reference is None or self.reference.expected is None:
            return None
        base = self.reference.expected
        return moles(self.expected.risk, self.expected.error, base.risk, base.error, step=self.options.step)

    @cached_property
    def rises(self) -> Rises | None:
        """Records whose realised risk rises against the reference, beside how many would by chance."""
        if self.reference is None:
            return None
        how: dict[str, Any] = {"step": self.options.step, "runs": self.usable_runs, "seed": self.options.seed}
        return count_increases(self.risk.by_dataset, self.reference.risk.by_dataset, **how)

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """What the analyses find, in the confidential table and in the release, with how the two compare."""
        options = self.options
        if not options.analyses or not self.is_release:
            return pd.DataFrame(columns=["analysis", "column", "group"])
        return self._estimate(design=options.survey, hidden=options.hidden)

    @cached_property
    def unweighted(self) -> pd.DataFrame:
        """What the analyses find in the tables as they are, where estimates are weighted; else nothing."""
        if self.estimates.empty or self.options.survey is None:
            return self.estimates.iloc[:0]
        return self._estimate()

    def _estimate(self, **about: Any) -> pd.DataFrame:
        options = self.options
        how: dict[str, Any] = {"interval": options.interval, "rule": options.rule, "seed": options.seed, **about}
        how["missing"] = self.view.intruder.missing_values
        if not self.is_linked:
            # New people may be more or fewer.
            how["size"] = float(np.mean([len(table.frame) for table in self.tables])) / self.view.records
            if about and self.sample is not None and not any(self.sample.weight in one.frame for one in self.tables):
                # Drawn as if evenly, they are no surer than the sample, which tells less than as many even records.
                how["size"] *= self.view.records / self.sample.effective
        frames = [estimate(self.view.table, self.tables, options.analyses, **how).assign(group="")]
        if options.groups is not None:
            frames.append(estimate(self.view.table, self.tables, options.analyses, groups=options.groups, **how))
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def compared(self) -> "Scene":
        """What tables are compared in: where they are the population's, every record as often as its weight says.

        A table that was drawn from the population, and not given the weight, is not to look like the sample. Records of
        the same people are repeated in both tables; of new people those of the confidential table alone.
        """
        if not self.options.population or self.sample is None:
            return self
        rows = self.sample.expanded
        view = self.view.intruder.view(_take(self.view.table, rows))
        linked = self.is_linked
        tables = [_take(table, rows) for table in self.tables] if linked else self.tables
        readings = read_released(view, tables, linked=linked) if tables else []
        options = replace(self.options, survey=None, population=False)
        return Scene(view, confidential_risk(view), readings, options)

    @cached_property
    def fresh_ranges(self) -> dict[str, FreshRange]:
        """By numeric column, where spread, tails and extremes of correct releases of as many tables would lie."""
        found = {}
        for column in self.view.numeric if self.is_release else ():
            own = self.view.column(column)
            own = own[~np.isnan(own)]
            sizes = [int((~np.isnan(reading.column(column))).sum()) for reading in self.readings]
            if len(own) and min(sizes):
                found[column] = fresh_range(own, len(sizes), round(sum(sizes) / len(sizes)))
        return found

    @cached_property
    def sample(self) -> Sample | None:
        """How the confidential records were drawn, if that is known."""
        return None if self.options.survey is None else self.options.survey.read(self.view.table)

    @cached_property
    def population(self) -> PopulationRisk | None:
        """How rare the patterns of the records are in the population, where the weights of a survey tell it.

        None where weights add up to the records and not to a population, and of tables of new people.
        """
        known, breaks = self.view.intruder.known, self.view.intruder.breaks
        of_people = not self.is_release or self.is_linked
        if self.sample is None or not known or not of_people or not self.sample.expands:
            return None
        return population_risk(self.view.table, known, self.sample.weights, breaks=breaks)

    @cached_property
    def knowing_weight(self) -> View | None:
        """The confidential table to an intruder who knows the weight as well, where releases have it as collected."""
        survey, own = self.options.survey, self.view.intruder
        if survey is None or survey.weight in {*own.known, *own.sensitive, *self.options.hidden}:
            return None
        tables = self.tables if self.beside is None else self.beside.tables
        kept = all(
            survey.weight in table.frame and table.frame[survey.weight].equals(self.view.table.frame[survey.weight])
            for table in tables
        )
        return replace(own, known=[*own.known, survey.weight]).view(self.view.table) if kept else None

    @cached_property
    def weighted_distances(self) -> pd.DataFrame:
        """How far weighted distributions and two-way tables lie apart, as in `distances`; empty without a design."""
        options = self.options
        how: dict[str, Any] = {"design": options.survey, "hidden": options.hidden}
        frames = []
        if self.is_release and options.survey is not None:
            missing = self.view.intruder.missing_values
            frames = [
                ecdf_distances(self.view.table, self.tables, column, missing=missing, **how).summary
                for column in self.view.numeric
            ]
            frames += [table_difference(self.view.table, self.tables, pairs, **how).summary for pairs in self._pairs()]
        nothing = pd.DataFrame(columns=["column", "measure", "value", "low", "high"])
        return pd.concat(frames, ignore_index=True) if frames else nothing

    @cached_property
    def distances(self) -> pd.DataFrame:
        """How far the tables themselves lie apart: column, measure, of, group, value, low, high.

        Distances of every numeric sensitive column; two-way tables of every categorical one with each known column of
        few levels; and, from 50 records up, how well a classifier tells released records by the sensitive and known
        columns. Where the known columns were kept as they are, that is compared with shuffling each pair of a
        confidential and a released record.
        """
        nothing = pd.DataFrame(columns=["column", "measure", "of", "group", "value", "low", "high"])
        if not self.is_release:
            return nothing
        frames = [*self._numeric_distances(), *self._table_distances(), *self.told_apart()]
        told = [frame.assign(**dict.fromkeys({"of", "group"} - set(frame), "")) for frame in frames]
        return pd.concat(told, ignore_index=True) if told else nothing

    @cached_property
    def agreement(self) -> Agreement | None:
        """How well pairs and triples of columns agree that contain a sensitive one; None for the confidential table.

        The columns are the sensitive and the known ones (or those named as related), the first 25 of them, without
        categories of more than 100 levels: nothing could be said of their cells. For large tables fewer of the sets are
        compared, at least 200.
        """
        if not self.is_release:
            return None
        frame, schema = self.view.table.frame, self.view.schema
        sensitive = schema.having("sensitive")
        # Codes that were declared to be categories are not cut like numbers.
        exact = {column.name for column in schema.columns if column.kind == "categorical"}
        related = [
            name
            for name in self._related
            if name not in sensitive
            and (
                (name not in exact and (pd.api.types.is_numeric_dtype(frame[name].dtype) or holds_dates(frame[name])))
                or frame[name].nunique(dropna=False) <= _MOST_LEVELS
            )
        ]
        columns = [*sensitive, *related][:_MOST_RELATED]
        counted = sum(len(other.frame) for other in self.tables)
        return agreement(
            self.view.table,
            self.tables,
            columns[: len(sensitive)],
            columns=columns,
            breaks={name: () for name in columns if name in exact},
            most_sets=max(_LEAST_SETS, min(MOST_SETS, _MOST_COUNTED // counted)),
        )

    def _numeric_distances(self) -> list[pd.DataFrame]:
        groupings = [{}] if self.options.groups is None else [{}, {"groups": self.options.groups}]
        how: dict[str, Any] = {"missing": self.view.intruder.missing_values}
        return [
            measure(self.view.table, self.tables, column, **how, **grouping).summary
            for column in self.view.numeric
            for measure in (ecdf_distances, wasserstein)
            for grouping in groupings
        ]

    def _table_distances(self) -> list[pd.DataFrame]:
        return [table_difference(self.view.table, self.tables, pairs).summary for pairs in self._pairs()]

    def _pairs(self) -> list[list[tuple[str, str]]]:
        """Give the pairs of a sensitive category and a related column of few levels: one list, or none of them."""
        frame, schema = self.view.table.frame, self.view.schema
        related = self._related
        few = [
            name
            for name in (*related, *schema.having("sensitive"))
            if frame[name].nunique(dropna=False) <= _MOST_LEVELS
        ]
        exact = [name for name in schema.having("sensitive") if name not in self.view.numeric and name in few]
        pairs = [(name, other) for name in exact for other in few if other in related]
        return [pairs] if pairs else []

    def told_apart(self) -> list[pd.DataFrame]:
        """How well classifiers tell released records."""
        table, schema = self.view.table, self.view.schema
        columns = self._complete_enough([*schema.having("sensitive"), *self._seen_by_classifier()])
        if not {*columns} & {*schema.having("sensitive")}:
            return []
        if len(table.frame) < LEAST_RECORDS or all(table.frame[name].nunique(dropna=False) < 2 for name in columns):
            return []
        widths = [self._indicators(name) for name in columns]
        # What is not looked at cannot make them differ; the sensitive ones come first.
        columns = [name for name, wide in zip(columns, np.cumsum(widths), strict=True) if wide <= MOST_TERMS]
        widths, kept = widths[: len(columns)], self._kept_as_they_are(columns)
        # With the products of any two columns, and the squares of numbers; of many columns these would be thousands.
        squares = sum(is_number(table, name) for name in columns)
        terms = sum(widths) + squares + (sum(widths) ** 2 - sum(width**2 for width in widths)) // 2
        found: dict[str, Distances] = {
            method: propensity(
                table,
                self.tables,
                columns,
                method=method,
                # What a logistic regression tells by chance is known by a formula, of pairs, too.
                permutations=PERMUTATIONS if method == "tree" else None,
                interactions=terms <= MOST_TERMS,
                pairs=kept,
                seed=self.options.seed,
                missing="error" if kept else "keep",
            )
            for method in self.options.methods
        }
        return [distances.summary.assign(of=METHODS[method]) for method, distances in found.items()]

    @property
    def _related(self) -> Sequence[str]:
        """The columns whose relation to the sensitive ones is looked at: the known ones, unless others are named."""
        return self.view.schema.having("known") if self.options.related is None else self.options.related

    def _seen_by_classifier(self) -> list[str]:
        chosen, indicators = [], 0
        for name in self._related:
            indicators += self._indicators(name)
            if indicators > _MOST_INDICATORS:
                break
            chosen.append(name)
        return chosen

    def _complete_enough(self, columns: Sequence[str]) -> list[str]:
        """The columns without those with which hardly any record of some table would be complete."""
        frames = [table.frame for table in (self.view.table, *self.tables)]
        complete, chosen = [np.ones(len(frame), dtype=bool) for frame in frames], []
        for name in columns:
            left = [so_far & frame[name].notna() for so_far, frame in zip(complete, frames, strict=True)]
            if all(some.sum() >= max(_LEAST_COMPLETE * len(some), 2) for some in left):
                complete, chosen = left, [*chosen, name]
        return chosen

    def _indicators(self, name: str) -> int:
        """How many columns a classifier sees of a column."""
        if is_number(self.view.table, name):
            return 1
        levels = {level for table in (self.view.table, *self.tables) for level in table.frame[name].unique()}
        return min(len(levels) - 1, MOST_LEVELS)

    def _kept_as_they_are(self, columns: Sequence[str]) -> bool:
        """Whether every table has the known values of the confidential one, record by record, and none is missing."""
        frame, known = self.view.table.frame, [*{*self.view.schema.having("known"), *self._related}]
        return not frame[list(columns)].isna().any(axis=None) and all(
            len(other.frame) == len(frame)
            and other.frame[known].equals(frame[known])
            and not other.frame[list(columns)].isna().any(axis=None)
            for other in self.tables
        )

    @property
    def usable_runs(self) -> Floats | None:
        """Independent runs of the reference, if they have as many tables as both releases."""
        if self.reference is None or self.reference.expected is None:
            return None
        numbers = {len(self.readings), len(self.reference.readings), self.reference.expected.tables_in_run}
        return self.reference.expected.runs if len(numbers) == 1 else None

    @property
    def right_guesses(self) -> dict[str, dict[str, Floats]]:
        """By column and measure, (tables, records): 1 for a right guess, from the record itself and without it."""
        return {
            column: {"attribution_correct": found.own, "attribution_leave_one_out": found.without}
            for column, found in self.guesses.items()
        }


def _as_truth(view: View, reading: Reading) -> View:
    """Take the released values of every person for the true ones."""
    cells = reading.own_cells
    return replace(view, values=reading.own_values, cells=cells, part=view.part & (cells >= 0))


def _take(table: Table, rows: Integers) -> Table:
    return replace(table, frame=table.frame.iloc[rows].reset_index(drop=True))


def fixed_ends(figure: Figure) -> Figure:
    """Take the interval away of what is the same for every table, such as an expectation."""
    same = bool(np.isclose(figure.low, figure.high, rtol=1e-9, atol=0.0))
    return Figure(figure.value, np.nan, np.nan) if same else figure
