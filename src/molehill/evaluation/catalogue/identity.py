"""Identity: whether a person's record is found among those released.

The paper's identification risk, expected and realised, the match rates of an intruder, records that stand out, uniques
on the key variables, copies of the confidential data, and how rare records are in the population of a survey.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from molehill.arrays import Booleans, Floats, derive_seed
from molehill.attacks.copies import copied_anywhere, copied_own, copied_together
from molehill.attacks.digits import Digits, shared_digits
from molehill.attacks.identity import (
    Linkage,
    Uniques,
    k_anonymity,
    linkage,
    replicated_uniques,
    replicated_uniques_vs_control,
)
from molehill.attacks.rates import Attack
from molehill.attacks.worst_dataset import copied_records, worst_dataset
from molehill.evaluation.attack_data import (
    Tried,
    attack_measures,
    attack_seed,
    data,
    followed,
    in_order,
    is_date,
    known,
    numbers,
    released,
    try_attack,
)
from molehill.evaluation.chance import (
    as_truth,
    close_by_kept,
    combined_by_chance,
    high_by_chance,
    mean_by_chance,
    ways_of_chance,
)
from molehill.evaluation.context import Context, alone, fixed_ends
from molehill.evaluation.measure import (
    FEW,
    Block,
    CriterionWords,
    Measure,
    Threshold,
    Unit,
    Value,
    risk_measure,
    shared,
)
from molehill.risk.attacks import PooledRisk, pooled_risk
from molehill.risk.identification import (
    MatchRates,
    confidential_risk,
    match_rates,
    matches_beyond_chance,
    release_risk,
    risk_by_chance,
    risk_floor,
)
from molehill.risk.intruder import Radius, View
from molehill.risk.moles import Moles, Rises, count_increases, moles
from molehill.risk.profile import ABOVE, LEAST_TABLES, QUANTILES, estimate_above, profile_release
from molehill.surveys.rarity import PopulationRisk, population_risk
from molehill.tables.intervals import Figure, mean_over_tables
from molehill.tables.resolution import column_unit
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table

Compute = Callable[[Context], Iterable[Value]]

# An intruder's radius as a multiple of the agency's.
RADII = (0.5, 1.5, 2.0)
# Where confidential and baseline risk differ by less, nothing can be left of it.
_LEAST_LEFT = 0.01
# Pairs of datasets whose records are matched in each other.
_MATCHED = 5
# Patterns of fewer records are small; the share of the records that stand out most.
SMALL, _SHARE = 5, 0.01
_LARGE = "10 and more"
# Mean risk of those who stand out most, amber and red: the baseline of a typical record is about a tenth.
EXPOSED = (0.2, 0.5)

# The one sentence on what the paper's measure is, wherever it stands.
IDENTIFICATION_RISK = (
    "Identification risk is the share of the pattern's other records that are not close to the true value, if the "
    "record's own released value is close, and 0 if it is not; it is no probability of being recognized."
)
EXPECTED = Block(
    "Expected risk of the records",
    "Over all tables that the scheme could have drawn: without the luck of the draw.",
    first=True,
)
STANDING_OUT = Block("High-risk records", "Those whom an intruder finds first.")
RECORDS = Block(
    "Risk of the records",
    "The paper's measure: of every record the mean over the released tables. The more tables, the fewer records "
    "lie above a threshold, whatever the scheme.",
)
ALONE = Block(
    "Every column by itself",
    "The intruder knows one sensitive column roughly, and none of the others: a wider net than all together.",
)
POOLED = Block("An intruder who pools the tables", "Taking all released tables together.")
RISES = Block(
    "Rises and moles",
    "Against the scheme without weights. Some rise by chance alone; a mole is a record whose expected risk rises.",
)
MATCHES = Block("Matches", "Records that an intruder would pick by the known columns and a value that is close.")
POPULATION = Block(
    "In the population",
    "The paper's intruder knows that a person is in the sample. One who does not must find the person in the "
    "population, of which the survey weights tell how many have a pattern.",
)
WEIGHT = Block(
    "If the intruder knows the survey weight",
    "The survey weight is published as collected: to who knows it, it is one known column more.",
)
BY_RADIUS = Block("Sensitivity to the radius")
WORST = Block(
    "The worst of the datasets",
    "A mean over the datasets hides the one that discloses more. The highest is compared with the median of the "
    "others.",
)
PATTERNS = Block(
    "Who share all known columns",
    "Who has few like them is found by the known columns alone, whatever is released of the others.",
    attack=True,
)
UNIQUES = Block(
    "Who is alone in the known columns",
    "As synthpop counts them. Where the known columns are kept, all four are the same.",
    attack=True,
)
LINKS = Block(
    "Linking by the known columns alone",
    "The known columns were changed: so many people are still found by them.",
    attack=True,
)
COPIED = Block("Copies of the confidential data")
DIGITS = Block("Last digits of released and true values", attack=True)


_NEVER_ZERO = (
    "every released value can fall near the true one by chance, so that no risk is 0; ask for a small risk above 0"
)


# Identification risk, realised and expected.
_PROFILE = {
    "mean": "of all records; no probability of being recognized",
    "q25": "a quarter of the records have less",
    "median": "half of the records have less",
    "q75": "three quarters of the records have less",
    "q99": "all but one in a hundred have less",
    "largest": "of the one record at most risk",
    "above_50": "before release: fewer than half of the pattern's other records are close",
    "above_80": "before release: fewer than one in five of the pattern's other records are close",
    "above_95": "before release: fewer than one in twenty of the pattern's other records are close",
}


_CRITERIA = {
    "expected": CriterionWords(
        "expected",
        "records",
        _NEVER_ZERO,
        offers=(
            ("mean", 0.15, "the risk of a record on average"),
            ("99%", 0.4, "the risk that only one record in a hundred passes"),
            ("maximum", 0.6, "the risk of the riskiest record"),
        ),
    ),
    "risk": CriterionWords("realised", "records", _NEVER_ZERO),
}


@shared
def expected_profile(context: Context) -> dict[str, Figure]:
    """How expected risk is spread over the records; empty where it is not known."""
    return {} if context.expected is None else profile_release(context.expected.blocks)


def _profile(name: Literal["risk", "expected"]) -> list[Measure]:
    """Mean, quantiles and counts of the realised or the expected risk."""
    what, block = ("risk", RECORDS) if name == "risk" else ("expected risk", EXPECTED)
    over = "in the tables" if name == "risk" else "over all tables that the scheme could have drawn"
    needs = ("own record",) if name == "risk" else ("own record", "posterior")

    def one(key: str, words: str, unit: Unit = "share", **about: Any) -> Measure:
        def compute(context: Context) -> Iterable[Value]:
            profile = context.profile if name == "risk" else expected_profile(context)
            return [Value(profile[key])] if key in profile else []

        return risk_measure(f"{name}_{key}", words, block, compute, _PROFILE[key], unit=unit, needs=needs, **about)

    told = f"the identification risk of a record on average, {over}; with the tables, roughly the agency's radius"
    found = [one("mean", f"mean {what}", criteria=(_CRITERIA[name],), public=True, reveals=told)]
    for key, share in QUANTILES.items():
        words = {"median": f"median {what}", "largest": f"largest {what}"}.get(key, f"{share:.0%} quantile of {what}")
        # The largest risk is that of one record; the other quantiles need enough records beyond them.
        least = 0 if share == 1 else math.ceil(FEW / min(share, 1 - share) - 1e-9)
        told = f"the risk that {share:.0%} of the records do not pass, {over}; not whose it is"
        found.append(one(key, words, public=share < 1, least_records=least, reveals=told))
    for key, bound in ABOVE.items():
        told = f"how many records have a risk above {bound}, {over}; not which"
        found.append(one(key, f"records with {what} above {bound}", "count", public=True, reveals=told))
    return found


def _baseline(context: Context) -> Iterable[Value]:
    return [Value(alone(context.baseline_risk))] if context.is_release else []


def _excess(context: Context) -> Iterable[Value]:
    # The mean over the released datasets estimates the same where the posterior is not known.
    mean = (expected_profile(context) or context.profile)["mean"]
    return [Value(Figure(*(end - context.baseline_risk for end in mean)))] if context.is_release else []


def _estimated(context: Context) -> Iterable[Value]:
    """Of a release whose model is not known; where it is, what is expected is computed."""
    if context.expected is not None or not context.is_release or not context.is_linked:
        return []
    own = context.risk
    number = estimate_above(own.by_dataset, own.is_close, context.confidential.risk, ABOVE["above_80"])
    return [] if np.isnan(number) else [Value(alone(number))]


def _by_luck(name: str) -> Compute:
    def compute(context: Context) -> Iterable[Value]:
        few = len(context.readings) < LEAST_TABLES
        told = context.expected is None and few == (name == "risk")
        return [Value(high_by_chance(context))] if told and ways_of_chance(context) else []

    return compute


def _mean_by_luck(context: Context) -> Iterable[Value]:
    return [Value(mean_by_chance(context, context.view.part))] if ways_of_chance(context) else []


@shared
def single_variables(context: Context) -> dict[str, tuple[Figure, float]]:
    """Where several variables are sensitive, for each the mean risk if it were the only one, and its baseline."""
    columns = context.view.intruder.sensitive
    if not context.is_linked or len(columns) < 2:
        return {}
    views = {column: context.view.alone(column) for column in columns}
    risks = {column: release_risk(own, context.readings).by_dataset for column, own in views.items()}
    return {
        column: (profile_release(risks[column])["mean"], float(np.nanmean(risk_floor(views[column]))))
        for column in columns
    }


def _single(context: Context) -> Iterable[Value]:
    return [Value(mean, column) for column, (mean, _) in single_variables(context).items()]


def _single_baseline(context: Context) -> Iterable[Value]:
    return [Value(alone(baseline), column) for column, (_, baseline) in single_variables(context).items()]


_RISK_MEASURES = (
    *_profile("expected"),
    *_profile("risk"),
    risk_measure(
        "risk_baseline",
        "mean risk of tables that tell nothing beyond the pattern",
        RECORDS,
        _baseline,
        "what tables cost that say nothing of a person beyond the known columns",
        better="",
        reference="p (1 - p), averaged over the records, with p the share of the pattern that is close",
    ),
    risk_measure(
        "estimated_above_80",
        f"records with expected risk above {ABOVE['above_80']}, estimated from the tables",
        RECORDS,
        _estimated,
        "without the luck of few tables, by which the realised risk is high as well",
        unit="expectation",
    ),
    *(
        risk_measure(
            f"{name}_above_80_benchmark",
            f"records with {words} above {ABOVE['above_80']} by chance",
            RECORDS,
            _by_luck(name),
            "if only the pattern, or what is released unchanged, decided the released values",
            unit="expectation",
            better="",
        )
        for name, words in (("risk", "risk"), ("estimated", "expected risk"))
    ),
    risk_measure(
        "risk_benchmark",
        "mean risk by chance",
        RECORDS,
        _mean_by_luck,
        "if released values were those of others of the pattern, or of anybody",
        better="",
    ),
    risk_measure(
        "risk_excess",
        "mean risk above that floor",
        RECORDS,
        _excess,
        "what is said of a person beyond the known columns",
    ),
    risk_measure(
        "single_variable_mean",
        "mean risk, if nothing else were known roughly",
        ALONE,
        _single,
        "in the released tables; that of all columns together is lower, but for high-risk records",
    ),
    risk_measure(
        "single_variable_baseline",
        "of tables that tell nothing beyond the pattern",
        ALONE,
        _single_baseline,
        "what tables cost that say nothing of a person beyond the known columns",
        better="",
    ),
)


# Other radii.
@shared
def profile_by_radius(context: Context) -> list[tuple[Radius, dict[str, Figure]]]:
    """How risk is spread over the records, to intruders with other radii."""
    radii: Any = context.options.radii if context.is_release else ()
    radii = other_radii(context.view.intruder.radius) if radii is None else radii
    risks = [(radius, release_risk(context.view.at(radius), context.readings)) for radius in radii]
    return [(radius, profile_release(risk.by_dataset)) for radius, risk in risks]


@shared
def beyond_baseline_by_radius(context: Context) -> list[tuple[Radius, Figure, Figure]]:
    """By radius, what is left of the risk above the baseline, and the true match rate above its baseline.

    The baseline is that of values drawn from their own pattern, or of anybody's; of match rates, of released values in
    any order within the pattern. A larger radius has more close values by chance, and so a higher baseline. Of match
    rates it is, if that is more, the rate at which one dataset's records are matched in another: a true value is like
    one more draw, however much predictors tell of it.
    """
    found = []
    for radius, profile in profile_by_radius(context) if context.is_linked else ():
        view = context.view.at(radius)
        own, baseline = confidential_risk(view), float(np.nanmean(risk_floor(view)))
        if not view.intruder.knowledge_probability:
            ways = risk_by_chance(view, context.readings).values()
            baseline = max(baseline, *(float((chance * risk)[:, view.part].mean()) for chance, risk in ways))
        before = float(np.nanmean(own.risk)) - baseline
        by_chance, gain = matches_beyond_chance(view, context.readings, alike=close_by_kept(context, view))
        # What goes beyond that, where one dataset is matched in another.
        more = max(_match_each_other(context, view) - float(by_chance.mean()), 0.0)
        if before > _LEAST_LEFT:
            left = Figure(*((end - baseline) / before for end in profile["mean"]))
            found.append((radius, left, Figure(*(end - more for end in gain))))
    return found


def _match_each_other(context: Context, view: View) -> float:
    """True match rate of a dataset in the one after it, as if its values were the true ones; of the first few."""
    pairs = pairwise(context.readings[: _MATCHED + 1])
    rates = [float(match_rates(as_truth(view, one), [other]).true[0]) for one, other in pairs]
    return float(np.mean(rates)) if rates else 0.0


def _by_radius(key: str) -> Compute:
    return lambda context: [_at_radius(radius, profile[key]) for radius, profile in profile_by_radius(context)]


def _beyond(place: int) -> Compute:
    return lambda context: [_at_radius(radius, own[place]) for radius, *own in beyond_baseline_by_radius(context)]


def _at_radius(radius: Radius, figure: Figure) -> Value:
    if isinstance(radius, Mapping):
        return Value(figure, of=", ".join(f"{value:g} of {name}" for name, value in radius.items()))
    return Value(figure, at=np.nan if radius is None else float(radius))


def other_radii(radius: Radius) -> list[Radius]:
    """Multiples of a radius, none above 1 and each once.

    Examples
    --------
    >>> other_radii(0.6)
    [0.3, 0.9, 1.0]
    """
    radii: list[Radius] = []
    for factor in RADII:
        if isinstance(radius, Mapping):
            other: Radius = {name: _round(factor * value) for name, value in radius.items()}
        else:
            other = None if radius is None else _round(factor * radius)
        if other != radius and other not in radii:
            radii.append(other)
    return radii


def _round(radius: float) -> float:
    # Half as much again of 0.2 is 0.3, and not a hair above it.
    return min(round(radius, 12), 1.0)


_RADIUS_MEASURES = (
    risk_measure("radius_mean", "mean risk, intruder radius {at}", BY_RADIUS, _by_radius("mean")),
    risk_measure(
        "radius_above_50",
        "records with risk above 0.5, intruder radius {at}",
        BY_RADIUS,
        _by_radius("above_50"),
        unit="count",
    ),
    # A larger radius has more close values by chance: judged is what goes beyond that.
    risk_measure(
        "radius_left",
        "share of the risk above the baseline that is left, intruder radius {at}",
        BY_RADIUS,
        _beyond(0),
        "of what the confidential risk has beyond values drawn from the pattern; 1: nothing was won",
        threshold=Threshold(
            "identity",
            0.5,
            0.75,
            "share of the risk above the baseline that is left, to the intruder radius {at}",
        ),
    ),
    # Predictors that are kept tell more than the key variables do.
    risk_measure(
        "radius_matches",
        "true match rate above its baseline, intruder radius {at}",
        BY_RADIUS,
        _beyond(1),
        "beyond values drawn from the pattern, or one dataset's records matched in another",
        threshold=Threshold(
            "identity", 0.03, 0.1, "true match rate above its baseline, to the intruder radius {at}", null=0.0
        ),
    ),
)


# Matches, with one dataset and with all of them.
@shared
def pooled(context: Context) -> PooledRisk:
    """What combining the datasets gives: of one dataset, and of the confidential data, what it gives itself."""
    return pooled_risk(context.view, context.readings or context.view.table)


@shared
def rates(context: Context) -> MatchRates:
    """An intruder's matches; of the confidential data, those if they were published as they are."""
    return match_rates(context.view, context.readings or context.view.table)


def _matches(name: Literal["expected", "unique", "true", "false"]) -> Compute:
    def compute(context: Context) -> Iterable[Value]:
        most = 1.0 if name in {"true", "false"} else float(context.view.records)
        values = np.asarray(getattr(rates(context), name), dtype=np.float64)
        return [Value(mean_over_tables(values, least=0.0, most=most))]

    return compute


def _gain(context: Context) -> Iterable[Value]:
    released_or_not, by_kept = context.readings or context.view.table, close_by_kept(context, context.view)
    return [Value(matches_beyond_chance(context.view, released_or_not, alike=by_kept)[1])]


def _combined_draws(context: Context) -> Iterable[Value]:
    several = context.is_linked and len(context.readings) > 1
    return [Value(combined_by_chance(context, pooled(context)))] if several else []


_MATCH_MEASURES = (
    risk_measure(
        "combined_mean",
        "mean risk, tables pooled",
        POOLED,
        lambda context: [Value(pooled(context).mean)],
        "the middle of a record's released values is taken for its value",
        criteria=(CriterionWords("pooled mean", impossible=_NEVER_ZERO),),
        public=True,
        reveals="the identification risk of a record on average, if an intruder combines all datasets",
    ),
    risk_measure(
        "combined_benchmark",
        "mean risk of drawn values in place of the true ones, tables pooled",
        POOLED,
        _combined_draws,
        "what is released unchanged predicts drawn values as well as the true ones",
        better="",
    ),
    risk_measure(
        "combined_match_rate",
        "share of right picks, tables pooled",
        POOLED,
        lambda context: [Value(pooled(context).right_picks)],
        "the record that fits best over all tables is the right one",
        public=True,
        reveals="how often such an intruder picks the right record; not when",
    ),
    risk_measure(
        "matches_expected",
        "expected right matches",
        MATCHES,
        _matches("expected"),
        "right ones, if one of the close records is picked at random",
        unit="count",
        reference="Reiter and Mitra (2009): the sum of T / c",
        criteria=(
            CriterionWords("pick", "records", _NEVER_ZERO, is_share=True),
            CriterionWords(
                "right picks",
                impossible=_NEVER_ZERO,
                is_share=True,
                offers=(("", 0.01, "records that an intruder picks rightly among those that are close"),),
            ),
        ),
        public=True,
        reveals="how many records would be matched rightly by picking among the close ones; not which",
    ),
    risk_measure(
        "matches_unique",
        "unique matches",
        MATCHES,
        _matches("unique"),
        "exactly one record is close",
        unit="count",
        public=True,
        reveals="how often exactly one record is close; not when",
    ),
    # In small patterns many are matched by chance: where that was taken away, it tells more.
    risk_measure(
        "matches_gain",
        "true match rate above that by chance",
        MATCHES,
        _gain,
        "beyond one in M, where exactly one of the M released values of the pattern is close",
        threshold=Threshold("identity", 0.01, 0.05, "records matched uniquely and rightly, beyond chance", null=0.0),
    ),
    risk_measure(
        "matches_true",
        "true match rate",
        MATCHES,
        _matches("true"),
        "exactly one record is close, and it is the right one: share of all records",
        reference="Reiter and Mitra (2009)",
        threshold=Threshold("identity", 0.01, 0.05, "records matched uniquely and rightly", unless="matches_gain"),
        criteria=(
            CriterionWords(
                "unique matches",
                impossible=_NEVER_ZERO,
                offers=(("", 0.001, "records that an intruder matches uniquely and rightly"),),
            ),
        ),
        public=True,
        reveals="how many of the records are matched uniquely and rightly",
    ),
    # A share of the unique matches, which may be few.
    risk_measure(
        "matches_false",
        "false match rate",
        MATCHES,
        _matches("false"),
        "of the unique matches, those that are wrong",
        reference="Reiter and Mitra (2009)",
    ),
)


# Increases against the scheme without weights.
@shared
def increases(context: Context) -> Rises | None:
    """Records whose realised risk increases against the reference, beside how many would by chance."""
    if context.reference is None:
        return None
    how: dict[str, Any] = {"step": context.options.step, "runs": _usable_runs(context), "seed": context.options.seed}
    return count_increases(context.risk.by_dataset, context.reference.risk.by_dataset, **how)


def _usable_runs(context: Context) -> Floats | None:
    """Independent runs of the reference, if they have as many datasets as both releases."""
    if context.reference is None or context.reference.expected is None:
        return None
    lengths = {len(context.readings), len(context.reference.readings), context.reference.expected.tables_in_run}
    return context.reference.expected.runs if len(lengths) == 1 else None


@shared
def found_moles(context: Context) -> Moles | None:
    """Records whose expected risk increases against the reference."""
    if context.expected is None or context.reference is None or context.reference.expected is None:
        return None
    base = context.reference.expected
    return moles(context.expected.risk, context.expected.error, base.risk, base.error, step=context.options.step)


def _increases(context: Context) -> Iterable[Value]:
    found = increases(context)
    return [] if found is None else [Value(alone(found.number), at=context.options.step)]


def _increases_by_chance(context: Context) -> Iterable[Value]:
    found = increases(context)
    return [] if found is None else [Value(Figure(found.null, found.null_low, found.null_high), at=found.step)]


def _moles(context: Context) -> Iterable[Value]:
    found = found_moles(context)
    return [] if found is None else [Value(alone(found.number), at=context.options.step)]


_INCREASE_MEASURES = (
    risk_measure(
        "increases",
        "records whose risk rises by more than {at}",
        RISES,
        _increases,
        "riskier in this scheme than without weights",
        unit="count",
        public=True,
        reveals="how many records are at more risk than without weights, be it by chance; not which",
    ),
    risk_measure(
        "increases_by_chance",
        "records whose risk rises by more than {at}, by chance alone",
        RISES,
        _increases_by_chance,
        "as many would be between two runs of the same scheme",
        unit="expectation",
        better="",
        public=True,
        reveals="how many would rise between two runs without weights",
    ),
    risk_measure(
        "moles",
        "moles: records whose expected risk rises by more than {at}",
        RISES,
        _moles,
        "riskier because of the weights, and not by chance",
        criteria=(CriterionWords("moles", "step"),),
        unit="count",
        needs=("own record", "posterior"),
        public=True,
        reveals="how many records are at more risk because of the weights; not which",
    ),
)


# High-risk records: a mean over all records is mostly about typical ones. Whom weights are for is seen here.
def find_isolated(risk: Floats) -> Booleans:
    """Say which records are the most isolated 1%, and all that are as isolated, by their confidential risk."""
    return risk >= np.nanquantile(risk, 1 - _SHARE)


def find_largest(view: View) -> list[tuple[str, Booleans]]:
    """Say of every amount which records have the largest 1% of its values."""
    amounts = [column for column in view.numeric if view.schema[column].kind != "date"]
    sizes = {column: np.abs(view.column(column)) for column in amounts}
    return [(column, size >= np.nanquantile(size, 1 - _SHARE)) for column, size in sizes.items()]


def _isolated(context: Context) -> list[tuple[str, Booleans]]:
    return [("", find_isolated(context.confidential.risk))]


def _mean_of(choose: Callable[[Context], list[tuple[str, Booleans]]]) -> Compute:
    """Mean risk of some records; expected where the model is known, else in the datasets, whose mean estimates that."""

    def compute(context: Context) -> Iterable[Value]:
        values, blocks = [], context.best_known_risk
        for column, chosen in choose(context):
            own = blocks[:, chosen & ~np.isnan(blocks).any(axis=0)]
            if own.shape[1]:
                values.append(Value(mean_over_tables(own.mean(axis=1), least=0.0, most=1.0), column))
        return values

    return compute


def _mean_of_chance(choose: Callable[[Context], list[tuple[str, Booleans]]]) -> Compute:
    def compute(context: Context) -> Iterable[Value]:
        ways = [*ways_of_chance(context)]
        rows = [(column, chosen & context.view.part) for column, chosen in (choose(context) if ways else ())]
        return [Value(mean_by_chance(context, chosen, ways), column) for column, chosen in rows if chosen.any()]

    return compute


def _sizes(context: Context) -> Any:
    # Those without a sensitive value take no part, and may have patterns of their own.
    return context.view.size[context.view.part]


_STANDING_OUT_MEASURES = (
    risk_measure(
        "isolated_mean",
        "mean expected risk of the most isolated 1%",
        STANDING_OUT,
        _mean_of(_isolated),
        "the records with the fewest others close to them",
        criteria=(
            CriterionWords(
                "isolated expected", impossible=_NEVER_ZERO, offers=(("", 0.05, "the risk of the most isolated 1%"),)
            ),
        ),
        # Where much of a narrow variable is close to any value, who is alone is found by chance.
        threshold=Threshold(
            "identity", *EXPOSED, "mean risk of the most isolated 1%", benchmark="isolated_mean_benchmark"
        ),
        public=True,
        least_records=100 * FEW,
        reveals="the identification risk, on average, of the records that stand out most; not who they are",
    ),
    risk_measure(
        "largest_mean",
        "mean expected risk of the largest 1% of the amounts",
        STANDING_OUT,
        _mean_of(lambda context: find_largest(context.view)),
        "the values that people talk about",
        threshold=Threshold("identity", *EXPOSED, "mean risk of the largest 1%", benchmark="largest_mean_benchmark"),
        public=True,
        least_records=100 * FEW,
        reveals="the identification risk, on average, of the records with the largest values; not who they are",
    ),
    *(
        risk_measure(
            f"{name}_benchmark",
            f"the same by chance: {words}",
            STANDING_OUT,
            _mean_of_chance(choose),
            "if released values were those of others of the pattern, of anybody, or as kept variables predict them",
            better="",
        )
        for name, words, choose in (
            ("isolated_mean", "the most isolated 1%", _isolated),
            ("largest_mean", "the largest 1%", lambda context: find_largest(context.view)),
        )
    ),
    risk_measure(
        "smallest_pattern",
        "records in the smallest pattern (k)",
        STANDING_OUT,
        lambda context: alone(_sizes(context).min()),
        "k-anonymity: who share all known columns",
        unit="number",
        better="",
    ),
    risk_measure(
        "in_small_patterns",
        f"records in patterns of fewer than {SMALL}",
        STANDING_OUT,
        lambda context: alone((_sizes(context) < SMALL).sum()),
        "whom the known columns alone nearly single out",
        unit="count",
        better="",
        public=True,
        reveals="how many records share their known values with few others, which columns that are kept show",
    ),
)


# Uniques on the key variables, and linking by them.
@shared
def keeps_known(context: Context) -> bool:
    """Whether every dataset has the key variables as collected, whatever the order of its records."""
    own = data(context).frame[list(known(context))]
    tables = [one.frame for one in released(context)]
    return all(len(table) == len(own) and table[list(known(context))].equals(own) for table in tables)


def _differing(context: Context) -> list[Table]:
    """The released datasets: the first, where the key variables are kept, so that it tells of all."""
    return released(context)[:1] if known(context) and keeps_known(context) else released(context)


def _pattern_sizes(context: Context) -> Iterable[Value]:
    if not known(context):
        return []
    found = [k_anonymity(table, known(context)).records for table in _differing(context)]
    return [
        Value(fixed_ends(mean_over_tables(np.array([float(one[size]) for one in found]), least=0.0)), of=size)
        for size in found[0]
        if size != _LARGE
    ]


@shared
def uniques(context: Context) -> Uniques | None:
    """Who is unique by the key variables, in the data and in the release."""
    return replicated_uniques(data(context), _differing(context), known(context)) if known(context) else None


def _uniques(choose: Callable[[Uniques], Figure]) -> Compute:
    def compute(context: Context) -> Iterable[Value]:
        found = uniques(context)
        return [] if found is None else [Value(fixed_ends(choose(found)))]

    return compute


@shared
def uniques_vs_control(context: Context) -> Tried | None:
    """Who is unique in the data and in the release, beyond those who were not used; none without a control."""
    if not known(context) or context.trial is None:
        return None
    seed = attack_seed(context, "again")

    def attack(data: Table, released: Sequence[Table], control: Table | None) -> Attack:
        return replicated_uniques_vs_control(data, list(released), known(context), control=control, seed=seed)

    return try_attack(context, attack)


def _replicated(context: Context) -> list[tuple[Value, Tried]]:
    tried = uniques_vs_control(context)
    return [] if tried is None else [(Value(tried.attack.rate), tried)]


@shared
def linkages(context: Context) -> Linkage | None:
    """What linking by the key variables gives, where some of these were changed."""
    if not known(context) or not context.is_linked or keeps_known(context):
        return None
    tables = []
    for reading, table in zip(context.readings, released(context), strict=True):
        if reading.rows is not None and (reading.rows < 0).any():
            return None
        tables.append(table if reading.rows is None else Table(table.frame.iloc[reading.rows]))
    return linkage(data(context), tables, known(context))


def _links(choose: Callable[[Linkage], Figure]) -> Compute:
    def compute(context: Context) -> Iterable[Value]:
        found = linkages(context) if context.is_release else None
        return [] if found is None else [Value(choose(found))]

    return compute


def _unique(id_: str, words: str, explanation: str, choose: Callable[[Uniques], Figure], **about: Any) -> Measure:
    about = {"better": "", "needs": (), "part_of": "replicated_uniques", **about}
    return risk_measure(id_, words, UNIQUES, _uniques(choose), explanation, **about)


def _linked(id_: str, words: str, explanation: str, choose: Callable[[Linkage], Figure]) -> Measure:
    return risk_measure(id_, words, LINKS, _links(choose), explanation, unit="expectation", part_of="linkage")


_UNIQUE_MEASURES = (
    risk_measure(
        "k_anonymity",
        "records in patterns of {of}",
        PATTERNS,
        _pattern_sizes,
        "who are as many with the same known values",
        unit="count",
        better="",
        needs=(),
    ),
    _unique(
        "uniques",
        "alone in the confidential table (UiO)",
        "nobody else in the data has their known values",
        lambda found: found.original,
    ),
    _unique(
        "uniques_released",
        "released records alone in their table (UiS)",
        "nobody else in the released table has their known values",
        lambda found: found.synthetic,
    ),
    _unique(
        "uniques_found",
        "alone in the data, and their known values are released (UiOiS)",
        "some released record has the known values of a person who is alone",
        lambda found: found.found,
    ),
    # People who were not used are replicated too, by chance: where these were asked, they tell more. Without them the
    # share of a correct release is not known, so that it warns, and condemns nothing.
    _unique(
        "replicated_uniques",
        "alone in the data and in the release (repU)",
        "exactly one released record has the known values of a person who is alone",
        lambda found: found.replicated,
        better="lower",
        threshold=Threshold(
            "identity",
            0.01,
            words="people alone in the known columns, released as such (by chance too: only a control file tells how "
            "many)",
            unless="replicated_uniques_risk",
        ),
    ),
    # Chance is what people who were not used show.
    *(
        one
        for one in attack_measures(
            "replicated_uniques",
            UNIQUES,
            "repU",
            _replicated,
            only_control=True,
            threshold=Threshold(
                "identity",
                0.01,
                0.1,
                "people alone in the known columns, released as such beyond the control",
                null=0.0,
            ),
        )
        if one.id != "replicated_uniques_baseline"
    ),
    _linked(
        "linkage_expected",
        "right matches expected",
        "one of those with the person's known values is picked at random",
        lambda found: found.expected,
    ),
    _linked(
        "linkage_unique",
        "people with whom one released record agrees",
        "the intruder is sure, rightly or not",
        lambda found: found.unique,
    ),
    _linked("linkage_right", "of these the right one", "sure and right", lambda found: found.right),
)


# One dataset that discloses more than the others: judged by how much more, if that is no chance.
class Series(NamedTuple):
    """One share per dataset: of which variable, and of how many records."""

    column: str
    values: Floats
    records: float


def worst_measure(
    id_: str,
    words: str,
    explanation: str,
    series: Callable[[Context], Iterable[Series]],
    family: Literal["identity", "attribute"],
    bounds: tuple[float, float],
    rule: str = "",
    *,
    of_anybody: bool = False,
) -> Measure:
    """Give the measure of how much the dataset that is worst by some share lies above the others.

    `rule` is what it is called on the scorecard, if not as in `words`.
    """

    def compute(context: Context) -> Iterable[Value]:
        for one in series(context) if len(context.readings) > 1 else ():
            if len(one.values) > 1:
                figure, place = worst_dataset(one.values, one.records)
                yield Value(figure, one.column, of=f" (dataset {place + 1})" if figure.low > 0 else "")

    return risk_measure(
        f"worst_{id_}",
        f"{words}: the highest of a dataset{{of}}, above that of the others",
        WORST,
        compute,
        f"{explanation}; an interval above 0: more than chance",
        threshold=Threshold(family, *bounds, f"{rule or words} of a dataset{{of}}, above that of the others", null=0.0),
        needs=() if of_anybody else None,
        part_of="worst",
    )


def _worst_risk(context: Context) -> Iterable[Series]:
    if context.is_linked:
        yield Series("", np.nanmean(context.by_dataset, axis=1), float(context.view.part.sum()))


def _worst_matches(context: Context) -> Iterable[Series]:
    if context.is_linked:
        yield Series("", np.asarray(rates(context).true, dtype=np.float64), float(context.view.part.sum()))


def _worst_of(choose: Callable[[Context], list[tuple[str, Booleans]]]) -> Callable[[Context], Iterable[Series]]:
    def series(context: Context) -> Iterable[Series]:
        for column, found in choose(context) if context.is_linked else ():
            chosen = found & context.view.part
            if chosen.any():
                yield Series(column, context.by_dataset[:, chosen].mean(axis=1), float(chosen.sum()))

    return series


def _worst_uniques(context: Context) -> Iterable[Series]:
    found = uniques(context)
    if found is not None:
        yield Series("", np.array(found.by_dataset), float(context.view.records))


def _worst_copies(context: Context) -> Iterable[Series]:
    view, pairs = context.view, [(reading.cells, reading.values) for reading in context.readings]
    yield Series("", copied_records(view.cells, view.values, pairs), float(min(len(one) for one, _ in pairs)))


_WORST_MEASURES = (
    worst_measure("risk", "mean risk", "of all records", _worst_risk, "identity", (0.05, 0.2)),
    worst_measure(
        "matches",
        "true match rate",
        "exactly one record is close, and it is the right one",
        _worst_matches,
        "identity",
        (0.01, 0.05),
    ),
    worst_measure(
        "isolated",
        "mean risk of the most isolated 1%",
        "the records with the fewest others close to them",
        _worst_of(_isolated),
        "identity",
        EXPOSED,
    ),
    worst_measure(
        "largest",
        "mean risk of the largest 1% of values",
        "the largest values",
        _worst_of(lambda context: find_largest(context.view)),
        "identity",
        EXPOSED,
    ),
    worst_measure(
        "uniques",
        "replicated uniques",
        "exactly one released record has the key variables of a unique person",
        _worst_uniques,
        "identity",
        (0.01, 0.1),
        of_anybody=True,
    ),
    worst_measure(
        "copies",
        "records of the confidential data",
        "equal in all key and all synthesized variables, in any order",
        _worst_copies,
        "identity",
        (0.05, 0.2),
        "share of records of the confidential data",
        of_anybody=True,
    ),
)


# Copies of the confidential data, and of the last digits of its values.
def _copied(context: Context) -> Iterable[Value]:
    """Released records, and joint values, that are true ones of anybody, in any order; beyond chance."""
    names = {"records": "records", "values": "values of all synthesized numbers"}
    view, pairs = context.view, [(reading.cells, reading.values) for reading in context.readings]
    seed = derive_seed(context.options.seed, "copied")
    found = copied_anywhere(view.cells, view.values, pairs, view.patterns.codes, seed=seed) if pairs else {}
    return [Value(figure, of=names[what]) for what, figure in found.items() if not np.isnan(figure.value)]


def _copied_own(context: Context) -> Iterable[Value]:
    """People whose own released record has their true value, one that few have; beyond chance."""
    patterns = context.view.patterns.codes
    found = {name: copied_own(*both, patterns) for name, both in followed(context).items()}
    return [Value(figure, column) for column, figure in found.items() if not np.isnan(figure.value)]


def _copied_together(context: Context) -> Iterable[Value]:
    """People whose own released record has two true values, beyond chance; of two synthesized numbers at least."""
    both = [*followed(context).values()]
    if len(both) < 2:
        return []
    truth, values = (np.stack([one[place] for one in both], axis=-1) for place in (0, 1))
    found = copied_together(truth, values, context.view.patterns.codes)
    return [] if found is None or np.isnan(found.value) else [Value(found)]


@shared
def digits(context: Context) -> dict[str, list[Digits]]:
    """By sensitive number, how often released values end like the true ones."""
    found, table = {}, context.view.table
    for name in numbers(context) if in_order(context) else ():
        values = np.array([column_numbers(one, name, "released") for one in in_order(context)])
        unit = column_unit(table.frame[name])
        found[name] = [] if is_date(context, name) else shared_digits(column_numbers(table, name), values, unit)
    return found


def _digits(id_: str, words: str, explanation: str, choose: Callable[[Digits], Figure], **about: Any) -> Measure:
    def compute(context: Context) -> Iterable[Value]:
        found = digits(context).items()
        return [Value(fixed_ends(choose(one)), column, at=one.step) for column, several in found for one in several]

    return risk_measure(id_, words, DIGITS, compute, explanation, part_of="digits", **about)


_COPY_MEASURES = (
    risk_measure(
        "copied_gain",
        "{of} of anybody that are released, in any order, beyond chance",
        COPIED,
        _copied,
        "1: the release is the confidential data in another order",
        needs=(),
        threshold=Threshold(
            "identity", 0.3, 0.7, "{of} of the confidential data, in any order, beyond chance", null=0.0
        ),
        part_of="copies",
    ),
    risk_measure(
        "copied_own_gain",
        "people with their true value, one that few have, in their own record, beyond chance",
        COPIED,
        _copied_own,
        "of numbers; by chance a released value is another record's, or in two datasets the same",
        threshold=Threshold(
            "identity", 0.005, 0.03, "people with their true value, one that few have, beyond chance", null=0.0
        ),
        part_of="copies",
    ),
    risk_measure(
        "copied_together_gain",
        "people with two true values or more in their own record, beyond chance",
        COPIED,
        _copied_together,
        "without values that many have; several true values together find a person",
        threshold=Threshold("identity", 0.01, 0.03, "people with two true values or more, beyond chance", null=0.0),
        part_of="copies",
    ),
    _digits(
        "digits",
        "released values that differ from the true one by a multiple of {at}",
        "they end in the same digits; endings that many people have are left out",
        lambda one: one.rate,
        better="",
    ),
    _digits(
        "digits_baseline",
        "by chance, a multiple of {at}",
        "if the released values were those of any other record",
        lambda one: one.baseline,
        better="",
    ),
    _digits(
        "digits_gain",
        "gain over chance, a multiple of {at}",
        "an intruder who knows a few exact amounts finds these people",
        lambda one: one.gain,
        threshold=Threshold(
            "identity", 0.02, 0.1, "values that differ from the true one by a multiple of {at}", null=0.0
        ),
    ),
)


# Samples of a survey. The paper's intruder knows that a person is in the sample. One who does not must find the person
# in the population: a record that is alone in the sample is rarely alone there.
@shared
def population(context: Context) -> PopulationRisk | None:
    """How rare the patterns of the records are in the population, where the weights of a survey tell it.

    None where weights add up to the records and not to a population, and of fully synthetic data.
    """
    keys, groups = context.view.intruder.known, context.view.intruder.breaks
    of_people = not context.is_release or context.is_linked
    if context.sample is None or not keys or not of_people or not context.sample.expands:
        return None
    return population_risk(context.view.table, keys, context.sample.weights, breaks=groups)


def _of_population(tell: Callable[[PopulationRisk], float]) -> Compute:
    """What the key variables tell of the population, which is the same whatever is released."""

    def compute(context: Context) -> Iterable[Value]:
        found = None if context.is_release else population(context)
        return [] if found is None else [Value(alone(tell(found)))]

    return compute


def _not_knowing(key: str) -> Compute:
    """Risk from an intruder who does not know who is in the sample: times the chance that a double in the sample is."""

    def compute(context: Context) -> Iterable[Value]:
        found = population(context)
        return [] if found is None else [Value(profile_release(context.best_known_risk * found.in_sample)[key])]

    return compute


@shared
def knowing_weight(context: Context) -> View | None:
    """The confidential data to an intruder who knows the weight as well, where releases have it as collected."""
    survey, own, table = context.options.survey, context.view.intruder, context.view.table
    if survey is None or survey.weight in {*own.known, *own.sensitive, *(context.options.hidden)}:
        return None
    tables = [one.frame for one in (context.tables if context.beside is None else context.beside.tables)]
    name = survey.weight
    same = all(name in one and one[name].equals(table.frame[name]) for one in tables)
    return replace(own, known=[*own.known, name]).view(table) if same else None


def _knowing_weight(key: str) -> Compute:
    def compute(context: Context) -> Iterable[Value]:
        view = knowing_weight(context)
        if view is None or not context.is_linked or not context.is_release:
            return []
        return [Value(profile_release(release_risk(view, context.tables).by_dataset)[key])]

    return compute


def _unique_by_weight(context: Context) -> Iterable[Value]:
    view = None if context.is_release else knowing_weight(context)
    return [] if view is None else [Value(alone((view.size[view.part] == 1).sum()))]


def _survey(id_: str, words: str, block: Block, compute: Compute, explanation: str, **about: Any) -> Measure:
    return risk_measure(id_, words, block, compute, explanation, needs=("own record", "survey design"), **about)


_SURVEY_MEASURES = (
    _survey(
        "sample_uniques",
        "records alone in their pattern in the sample",
        POPULATION,
        _of_population(lambda found: float((found.sample_frequency == 1).sum())),
        "nobody else in the sample has their known values",
        unit="count",
        better="",
    ),
    _survey(
        "population_uniques",
        "of these expected to be alone in the population",
        POPULATION,
        _of_population(lambda found: found.expected_uniques),
        "the sum of the chances that nobody else has their known values (Benedetti and Franconi)",
        unit="expectation",
        better="",
        reference="Benedetti and Franconi (1998)",
    ),
    _survey(
        "population_smallest",
        "people in the population of the rarest pattern, as the weights say",
        POPULATION,
        _of_population(lambda found: float(found.population_frequency.min())),
        "the sum of the weights of a pattern, where that is least",
        unit="number",
        better="",
    ),
    _survey(
        "population_matches",
        "right matches expected if every record is looked for in the population",
        POPULATION,
        _of_population(lambda found: found.expected_matches),
        "one picked at random in the population among those with the known values of a record",
        unit="expectation",
        better="",
    ),
    _survey(
        "population_mean",
        "mean risk if the intruder does not know who is in the sample",
        POPULATION,
        _not_knowing("mean"),
        "the risk, times the chance that who has the known values is in the sample at all",
        criteria=(CriterionWords("population", "records", _NEVER_ZERO),),
    ),
    _survey(
        "population_largest",
        "largest risk if the intruder does not know who is in the sample",
        POPULATION,
        _not_knowing("largest"),
        "of the one record at most risk",
    ),
    _survey(
        "uniques_by_weight",
        "records alone in their pattern if it has the weight",
        WEIGHT,
        _unique_by_weight,
        "nobody else has their known values and their weight",
        unit="count",
        better="",
    ),
    _survey(
        "weight_mean",
        "mean risk",
        WEIGHT,
        _knowing_weight("mean"),
        "of all records; no probability of being recognized",
    ),
    _survey("weight_largest", "largest risk", WEIGHT, _knowing_weight("largest"), "of the one record at most risk"),
)

IDENTITY_MEASURES: Sequence[Measure] = (
    *_RISK_MEASURES,
    *_STANDING_OUT_MEASURES,
    *_RADIUS_MEASURES,
    *_MATCH_MEASURES,
    *_INCREASE_MEASURES,
    *_UNIQUE_MEASURES,
    *_WORST_MEASURES,
    *_COPY_MEASURES,
    *_SURVEY_MEASURES,
)
