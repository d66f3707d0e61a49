"""Attributes: what a release discloses of a person's sensitive values, whether the person's record is found or not.

The released value as a guess, what released records with the person's key variables have, predictions from variables
that are released unchanged, and what follows from a person's row in all datasets. A number is looked up in groups: cut
at round numbers near the fifths of the confidential values.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from molehill.arrays import Booleans, Floats, derive_seed
from molehill.attacks.attribute import Attribution, Disclosure, correct_attribution, disco, l_diversity
from molehill.attacks.prediction import Prediction, predict_synthesized
from molehill.attacks.reconstruction import Reconstruction, infer_unchanged
from molehill.attacks.repeats import Repeats, code_values, repeated_values
from molehill.attacks.transformations import TurnedBack, avoided, in_radii, turned_back
from molehill.attacks.worst_case.attributes import SPREAD, AttributeRisk
from molehill.evaluation.attack_data import (
    BEYOND_CONTROL,
    TABLES,
    TOLERANCE,
    Tried,
    alike,
    as_categories,
    attack_measures,
    attack_seed,
    breaks,
    data,
    followed,
    in_order,
    is_readable,
    kept,
    known,
    released,
    sensitive,
    trial,
    unchanged,
)
from molehill.evaluation.catalogue.dependence import HELD
from molehill.evaluation.catalogue.identity import Series, find_isolated, worst_measure
from molehill.evaluation.context import Context, alone, fixed_ends
from molehill.evaluation.measure import FEW, Block, Measure, Threshold, Value, risk_measure, shared
from molehill.evaluation.telling import cut_name
from molehill.risk.attacks import Attribution as Lookup
from molehill.risk.attacks import Gain, Guesses, attribution, guess_values
from molehill.tables.intervals import Figure, mean_over_tables
from molehill.tables.schema import column_numbers, cut_into_groups
from molehill.tables.table import Table

Compute = Callable[[Context], Iterable[Value]]

# Right guesses that are owed to the person's own record, beyond what its kept columns tell, or beyond what other people
# would tell. docs/evaluation.md has how often correct releases reach them.
GAINED = (0.05, 0.2)
# Values predicted from other released variables: within the radius, and within 1%, which takes a formula.
PREDICTED, COMPUTED = (0.4, 0.7), (0.05, 0.1)
# Released values near the true one that there should be, and are not. Chance alone never takes away half of them.
AVOIDED = (0.5, 0.8)
# In a box of many variables nearly everybody may be as isolated as can be.
_MOST_ISOLATED = 0.05
# Values within this share of the radius count as the same, in a search for values that nearly repeat.
_NEARLY = 0.1

GUESSES = Block(
    "Guessing the value",
    "The released value of the person's record as a guess, against a guess from the others of the same pattern.",
)
LOOK_ALIKES = Block(
    "Asking those who look like a person",
    "The released records that have a person's known values, against other people who have them.",
    first=True,
)
REPEATED = Block(
    "A person's row in all datasets: repeated values",
    "A value that one row has in many datasets, and hardly any other row, was not drawn anew each time. The "
    "intruder takes it for the true one. Intervals of 99%.",
)
TURNED_BACK = Block(
    "Released values that avoid the true one, or can be turned back",
    "What lies just outside of the radius is close to nobody. An intruder who knows some people learns how true "
    "and released values lie to each other, and finds those of other people. Intervals of 99%.",
)
DISCLOSED = Block(
    "Looking people up by the known columns",
    "Where all records with a person's known values say the same, nobody need be found. Numbers are looked up in "
    "five groups, cut at round numbers near the fifths of the confidential values.",
    attack=True,
)
UNCHANGED = Block(
    "A kept column of who knows all the others",
    "Of columns that are published as collected. What is owed to the own record is the gain; the rest is how "
    "columns depend on each other.",
    attack=True,
)
PREDICTION = Block("Synthesized values predicted from other released variables", attack=True)
WORST_CASE = Block("A value guessed by who knows everybody else")


# The released value of a person as a guess.
@shared
def guesses(context: Context) -> dict[str, Guesses]:
    """How well every sensitive variable is guessed."""
    columns = context.view.intruder.sensitive if context.is_release else ()
    groups = alike(context) if context.is_linked else {}
    return {
        column: guess_values(context.view.alone(column), context.readings, alike=groups.get(column))
        for column in columns
    }


def right_guesses(context: Context) -> dict[str, dict[str, Floats]]:
    """By variable and measure, (datasets, records): 1 for a right guess, from the record itself and without it."""
    return {
        column: {"attribution_correct": found.own, "attribution_leave_one_out": found.without}
        for column, found in guesses(context).items()
    }


def _guesses(
    id_: str,
    words: str,
    guess: str,
    choose: Callable[[Guesses], Gain | None],
    explanations: Sequence[str],
    threshold: Threshold | None = None,
) -> list[Measure]:
    ends = {
        "own": ("", "", "a person's own record"),
        "without": ("_leave_one_out", ", without the record", "the others"),
        "gain": ("_gain", ", gain over without the record", "a person's own record beyond the others"),
    }

    def compute(end: str) -> Compute:
        def values(context: Context) -> Iterable[Value]:
            gains = {column: choose(found) for column, found in guesses(context).items()}
            return [Value(getattr(gain, end), column) for column, gain in gains.items() if gain is not None]

        return values

    return [
        risk_measure(
            f"{id_.removesuffix('_correct') if suffix else id_}{suffix}",
            f"{words}{more}",
            GUESSES,
            compute(end),
            explanation,
            threshold=threshold if end == "gain" else None,
            public=True,
            reveals=f"{guess}, from {whose}, over all records; nothing of one of them",
        )
        for (end, (suffix, more, whose)), explanation in zip(ends.items(), explanations, strict=True)
    ]


_GUESS_MEASURES = (
    *_guesses(
        "attribution_correct",
        "right guesses of the value",
        "how often a guess of the value is close",
        lambda found: found.right,
        (
            "the released value of the person is close to the true one",
            "that of another record of the pattern, with the same kept variables, is close",
            "what is disclosed of the person, not of people like them",
        ),
        Threshold("attribute", *GAINED, "right guesses that are owed to the person's own record"),
    ),
    *_guesses(
        "attribution_error",
        "mean relative error of the guess",
        "how far such a guess is off on average, each at most 1",
        lambda found: found.error,
        (
            "how far the guess is off, as a share of the value",
            "the same of another record of the pattern",
            "how much smaller the error is with the person's record",
        ),
    ),
    *_guesses(
        "combined_attribution_correct",
        "right guesses of the value, tables pooled",
        "how often a guess from all tables is close",
        lambda found: found.pooled,
        ("the same with all tables together", "", ""),
    ),
)


# What records with the person's key variables have: all that can be asked of fully synthetic data.
@shared
def lookups(context: Context) -> dict[str, Lookup]:
    """What released records that share a person's key variables disclose of every sensitive variable."""
    columns = context.view.intruder.sensitive if context.is_release else ()
    return {column: attribution(context.view.alone(column), context.readings) for column in columns}


def few_isolated(context: Context) -> Booleans:
    """The most isolated 1%; nobody where so many are as isolated that they are not the few who stand out."""
    found = find_isolated(context.confidential.risk) & context.view.part
    return found if found.mean() <= _MOST_ISOLATED else np.zeros(len(found), dtype=bool)


def _lookup(choose: Callable[[Floats, Floats], Floats], *, isolated: bool = False) -> Compute:
    """Mean over the records, or over the most isolated of them, of something about those who share key variables."""

    def compute(context: Context) -> Iterable[Value]:
        # Where people have records of their own, these are asked: see the guesses.
        for column, found in lookups(context).items() if not context.is_linked else ():
            told = choose(found.by_dataset, found.without[None])
            chosen = few_isolated(context) if isolated else np.ones(context.view.records, dtype=bool)
            told = told[:, chosen & ~np.isnan(found.without)]
            if told.shape[1]:
                figure = mean_over_tables(told.mean(axis=1), least=-1.0, most=1.0)
                # What is the same for every dataset has no interval over them.
                yield Value(figure if len(told) > 1 else alone(figure.value), column)

    return compute


_LOOKUP_MEASURES = (
    risk_measure(
        "lookup_correct",
        "a look-alike has the person's values",
        LOOK_ALIKES,
        _lookup(lambda released, _: released),
        "one picked at random among those with the person's known values is close",
        needs=(),
        public=True,
        reveals="how often a released record with a person's known values has the other values too, on average",
    ),
    risk_measure(
        "lookup_leave_one_out",
        "so has another person of the confidential table",
        LOOK_ALIKES,
        _lookup(lambda _, without: without),
        "the same among the other people of the confidential table: known without any release",
        needs=(),
    ),
    risk_measure(
        "lookup_gain",
        "gain over asking the other people",
        LOOK_ALIKES,
        _lookup(lambda released, without: released - without),
        "what is disclosed of the person, not of people like them; below 0 the tables are smoother",
        needs=(),
        threshold=Threshold("attribute", *GAINED, "right guesses beyond what other people would tell"),
    ),
    risk_measure(
        "lookup_isolated_gain",
        "that gain for the most isolated 1%",
        LOOK_ALIKES,
        _lookup(lambda released, without: released - without, isolated=True),
        "the records with the fewest others close to them",
        needs=(),
        least_records=100 * FEW,
    ),
)


# Looking people up by the key variables.
def _grouped(context: Context, table: Table, column: str) -> Table:
    """Give a dataset with a number in groups, as targets are looked up."""
    ends = breaks(context).get(column)
    if not ends:
        return table
    codes = cut_into_groups(column_numbers(table, column), ends, column)
    names = np.array(["missing", *(f"group {place}" for place in range(len(ends) + 1))])
    grouped = Table(table.frame.assign(**{column: as_categories(codes + 1, names)}))
    grouped.seen_kinds.update({**table.seen_kinds, column: ("categorical", "")})
    return grouped


@shared
def _by_target(context: Context) -> dict[str, tuple[Table, list[Table]]]:
    """By sensitive variable, the confidential data and those released, with that variable in groups."""
    columns = sensitive(context) if known(context) else ()
    return {
        column: (
            _grouped(context, data(context), column),
            [_grouped(context, one, column) for one in released(context)],
        )
        for column in columns
    }


@shared
def disclosures(context: Context) -> dict[str, tuple[Disclosure, Tried]]:
    """By sensitive variable, what looking people up in the release discloses of it."""
    found, people = {}, trial(context)
    for column, (own_data, tables) in _by_target(context).items():
        if people is None or people.data is not data(context):
            own = disco(own_data, tables, known(context), column)
        else:
            control = _grouped(context, people.control, column)
            own = disco(own_data, tables, known(context), column, control=control)
        held = own.attack if people is not None else None
        if people is not None and people.data is not data(context):
            trial_tables = [_grouped(context, one, column) for one in people.released]
            inside, outside = (_grouped(context, one, column) for one in (people.data, people.control))
            held = disco(inside, trial_tables, known(context), column, control=outside).attack
        found[column] = own, Tried(own.attack, held)
    return found


@shared
def attributions(context: Context) -> dict[str, Attribution]:
    """By sensitive variable, how often that is true which the release is sure of."""
    found = _by_target(context).items()
    return {column: correct_attribution(own, tables, known(context), column) for column, (own, tables) in found}


def _diversity(context: Context) -> Iterable[Value]:
    for column in sensitive(context) if known(context) else ():
        tables = [_grouped(context, table, column) for table in released(context)[:TABLES]]
        least = [float(l_diversity(table, known(context), column).distinct) for table in tables]
        yield Value(fixed_ends(mean_over_tables(np.array(least), least=0.0)), column)


def _disclosed(choose: Callable[[Disclosure], Figure]) -> Compute:
    return lambda context: [Value(choose(found), column) for column, (found, _) in disclosures(context).items()]


def _attributed(choose: Callable[[Attribution], Figure]) -> Compute:
    def compute(context: Context) -> Iterable[Value]:
        found = {column: choose(one) for column, one in attributions(context).items()}
        return [Value(figure, column) for column, figure in found.items() if not np.isnan(figure.value)]

    return compute


def _tried(context: Context) -> list[tuple[Value, Tried]]:
    return [(Value(tried.attack.rate, column), tried) for column, (_, tried) in disclosures(context).items()]


def _looked_up(id_: str, words: str, compute: Compute, explanation: str, part_of: str, **about: Any) -> Measure:
    return risk_measure(id_, words, DISCLOSED, compute, explanation, needs=(), part_of=part_of, **about)


_DISCLOSURE_MEASURES = (
    _looked_up(
        "l_diversity",
        "fewest different values in a pattern (l)",
        _diversity,
        "1: there is a pattern in which all have the same",
        "",
        better="higher",
        unit="number",
    ),
    _looked_up(
        "disclosive_original",
        "the data give the value away (Dorig)",
        _disclosed(lambda found: found.original),
        "all with a person's known values have the same: if the data were published",
        "disclosive",
        better="",
    ),
    _looked_up(
        "disclosive",
        "the release does, and rightly (DiSCO)",
        _disclosed(lambda found: found.correct),
        "all released records with a person's known values say the same, and it is true",
        "disclosive",
    ),
    *attack_measures(
        "disclosive",
        DISCLOSED,
        "DiSCO",
        _tried,
        only_control=True,
        threshold=Threshold("attribute", *BEYOND_CONTROL, "people given away beyond the control", null=0.0),
    ),
    _looked_up(
        "attribution",
        "true, of what the release is sure of (TCAP)",
        _attributed(lambda found: found.targeted),
        "of people with the known values of a released record that is sure, those with its value",
        "attribution",
    ),
    _looked_up(
        "attribution_baseline",
        "TCAP: by chance",
        _attributed(lambda found: found.baseline),
        "by the shares of the values in the data",
        "attribution",
        better="",
    ),
)


# Variables that are released unchanged: one from all the others, and synthesized ones from them.
@shared
def reconstructions(context: Context) -> list[Reconstruction]:
    """What an intruder learns of an unchanged variable who knows all the others."""
    if len(kept(context)) < 2 or (context.is_release and not context.is_linked):
        return []
    return infer_unchanged(data(context), released(context)[:1], kept(context), tolerance=TOLERANCE)


def _gain_of_record(found: Reconstruction) -> Figure:
    # Without the own record a guess may fall below the most frequent value, which is no sign.
    return alone(found.rate.value - max(found.without.value, found.baseline.value))


def _inferred(
    id_: str, words: str, explanation: str, choose: Callable[[Reconstruction], Figure], **about: Any
) -> Measure:
    def compute(context: Context) -> Iterable[Value]:
        found = [(one.column, choose(one)) for one in reconstructions(context)]
        return [Value(figure, column) for column, figure in found if not np.isnan(figure.value)]

    return risk_measure(id_, words, UNCHANGED, compute, explanation, part_of="unchanged_inference", **about)


@shared
def predictions(context: Context) -> list[Prediction]:
    """What variables that are released unchanged disclose of every synthesized one."""
    view, same, tables = context.view, unchanged(context), in_order(context)
    reach = {name: (view.radius[place], view.min_radius[place]) for place, name in enumerate(view.numeric)}
    keys = [name for name in known(context) if name in same]
    left_out = {*same, *context.options.hidden}
    others = {f"{name}": one for one in tables for name in one.frame if name not in left_out}
    beside = [name for name, one in others.items() if is_readable(one, name)]
    # Where every person stands in the released files, unless these are put in random order.
    everyone = np.arange(view.records)
    rows = () if context.options.shuffled else context.readings
    places = [everyone if one.rows is None else one.rows for one in rows]
    found = []
    for column in sensitive(context) if tables else ():
        radius, least = reach.get(column, (0.0, 0.0))
        about: dict[str, Any] = {"radius": float(radius), "least": float(least), "exact": column not in reach}
        about |= {"known": keys, "breaks": view.intruder.breaks, "seed": attack_seed(context, "predict", column)}
        about |= {"beside": beside, "places": places}
        found.append(predict_synthesized(view.table, tables, column, same, **about))
    return [one for one in found if not np.isnan(one.rate.value)]


def _predicted(
    id_: str,
    words: str,
    explanation: str,
    choose: Callable[[Prediction], Figure],
    by: Callable[[Prediction], str] = lambda _: "",
    **about: Any,
) -> Measure:
    """`by` gives the variable that alone predicts as well, if there is one."""

    def compute(context: Context) -> Iterable[Value]:
        found = [(one.column, choose(one), by(one)) for one in predictions(context)]
        return [
            Value(figure, column, of=f" (by {cut_name(name)} alone)" if name and figure.low > 0 else "")
            for column, figure, name in found
            if not np.isnan(figure.value)
        ]

    return risk_measure(id_, words, PREDICTION, compute, explanation, part_of="prediction", **about)


_UNCHANGED_MEASURES = (
    _inferred(
        "unchanged_inference",
        "guessed right",
        "by the released records that agree on all other kept columns",
        lambda one: one.rate,
    ),
    _inferred(
        "unchanged_inference_leave_one_out",
        "guessed right without the person's record",
        "how columns depend on each other, without the person",
        lambda one: one.without,
        better="",
    ),
    _inferred(
        "unchanged_inference_baseline",
        "guessed right by the most frequent value",
        "without any other column",
        lambda one: one.baseline,
        better="",
    ),
    _inferred(
        "unchanged_inference_gain",
        "gain over the better of these",
        "what the person's own record adds",
        _gain_of_record,
        threshold=Threshold("unchanged_inference", 0.1, 0.5, "a kept column guessed right, owed to the own record"),
    ),
    _inferred(
        "unchanged_inference_unique",
        "alone in all the other columns",
        "one released record, or none, agrees on all other kept columns",
        lambda one: one.alone,
        better="",
    ),
    _predicted(
        "predicted",
        "predicted right",
        "by fits to the records of other people, or from one variable, another row, or the order of the rows",
        lambda one: one.rate,
    ),
    _predicted(
        "predicted_baseline",
        "predicted right from the key variables",
        "by trees on the key variables alone, or a typical value",
        lambda one: one.baseline,
        better="",
    ),
    _predicted(
        "predicted_gain",
        "predicted right{of}, gain over the key variables",
        "share of what the key variables leave to be learned",
        lambda one: one.risk,
        lambda one: one.by,
        threshold=Threshold(
            "attribute",
            *PREDICTED,
            "synthesized values predicted from other released variables or the row order{of}, beyond the key variables",
            null=0.0,
        ),
    ),
    _predicted(
        "predicted_fine",
        "predicted within 1% of the true value",
        "so near only a formula comes; values too coarse for it are left out",
        lambda one: one.fine,
    ),
    _predicted(
        "predicted_fine_baseline",
        "predicted within 1% from the key variables",
        "by trees on the key variables alone, or a typical value",
        lambda one: one.fine_baseline,
        better="",
    ),
    _predicted(
        "predicted_fine_gain",
        "predicted within 1%{of}, gain over the key variables",
        "share of what the key variables leave to be learned",
        lambda one: one.fine_risk,
        lambda one: one.fine_by,
        threshold=Threshold(
            "attribute", *COMPUTED, "synthesized values computed to within 1% from these{of}", null=COMPUTED[0]
        ),
    ),
    _predicted(
        "level_gain",
        "people of the level of a category that is redrawn least: have it again, gain over predictions",
        "1: nobody of that level ever gets another one",
        lambda one: one.level,
        threshold=Threshold("attribute", *HELD, "people of one level who have it again, beyond predictions", null=0.0),
    ),
)


# A person's row in all datasets.
@shared
def followed_in_radii(context: Context) -> dict[str, tuple[Floats, Floats]]:
    """True and released values in radii; without variables of which only equal values are close."""
    view, found = context.view, {}
    for name, both in followed(context).items():
        place = view.numeric.index(name)
        radius, floor = float(view.radius[place]), float(view.min_radius[place])
        sizes = [np.abs(one[np.nan_to_num(one) != 0]) for one in both]
        least = min((float(one.min()) for one in sizes if len(one)), default=0.0)
        if (radius > 0 or floor > 0) and least > 0:
            truth, values = (in_radii(one, radius, floor, least) for one in both)
            found[name] = truth, values
    return found


@shared
def repeats(context: Context) -> dict[tuple[str, str], Repeats]:
    """By variable, and "exactly" or "nearly", a search for values that repeat."""
    patterns, found = context.view.patterns.codes, {}
    for name, both in followed(context).items():
        one = repeated_values(*code_values(*both), patterns)
        if one is not None:
            found[name, "exactly"] = one
        if name not in followed_in_radii(context):
            continue
        truth, values = followed_in_radii(context)[name]
        # Values on two sides of an edge are not the same: a second grid has its edges between those of the first.
        grids = [code_values(*(np.floor(one / _NEARLY + shift) for one in (truth, values))) for shift in (0.0, 0.5)]
        nearly = [one for one in (repeated_values(*grid, patterns) for grid in grids) if one is not None]
        if nearly:
            found[name, "nearly"] = max(nearly, key=lambda one: one.risk.low)
    return found


def _repeats(end: str, words: str, explanation: str, choose: Callable[[Repeats], Figure], **about: Any) -> Measure:
    def compute(context: Context) -> Iterable[Value]:
        return [Value(choose(found), column, of=how) for (column, how), found in repeats(context).items()]

    return risk_measure(f"repeats_{end}", words, REPEATED, compute, explanation, part_of="repeats", **about)


def _avoided(context: Context) -> Iterable[Value]:
    """By variable, how much less often the released value is close to the true one than others are."""
    view = context.view
    for name in followed_in_radii(context):
        truth, values = followed(context)[name]
        place = view.numeric.index(name)
        reach = np.maximum(np.abs(truth) * view.radius[place], view.min_radius[place])
        figure = avoided(truth, values, view.patterns.codes, truth - reach, truth + reach)
        if not np.isnan(figure.value):
            yield Value(figure, name)


@shared
def turned(context: Context) -> dict[tuple[str, str], TurnedBack]:
    """By variable and intruder, true values found by what was learned from other people."""
    found = {}
    for name, both in followed_in_radii(context).items():
        seed = derive_seed(context.options.seed, "turned back", name)
        groups = alike(context).get(name)
        for how, one in turned_back(*both, context.view.patterns.codes, alike=groups, seed=seed).items():
            found[name, how] = one
    return found


def _turned(id_: str, words: str, explanation: str, choose: Callable[[TurnedBack], Figure], **about: Any) -> Measure:
    names = {"factors": "how far they lie off", "map": "a monotone map"}

    def compute(context: Context) -> Iterable[Value]:
        return [Value(choose(one), column, of=names[how]) for (column, how), one in turned(context).items()]

    return risk_measure(id_, words, TURNED_BACK, compute, explanation, part_of="turned_back", **about)


# A few claims that are right are no evidence: the whole interval, of 99%, is to lie above what is amber.
_REPEATS_MEASURES = (
    _repeats(
        "claims",
        "people of whom a value is claimed that repeats {of}",
        "a value that one row has in many datasets, and hardly any other row",
        lambda found: alone(len(found.records)),
        unit="count",
        better="",
    ),
    _repeats(
        "right",
        "of these claims, right (values that repeat {of})",
        "the claimed value is the confidential one",
        lambda found: found.right,
    ),
    _repeats(
        "control",
        "of these claims, right by chance (values that repeat {of})",
        "the same, if the claim were of another record of the pattern",
        lambda found: alone(found.control),
        better="",
    ),
    _repeats(
        "risk",
        "claims of values that repeat {of}: right beyond chance",
        "of what chance leaves to be won, the share that is won",
        lambda found: found.risk,
        threshold=Threshold(
            "attribute", *BEYOND_CONTROL, "values that repeat {of}, right beyond chance", null=BEYOND_CONTROL[0]
        ),
    ),
    _repeats(
        "unique",
        "claims of values that repeat {of}: right, and of nobody else in the pattern",
        "the value is right, and nobody else in the pattern has it",
        lambda found: found.unique,
        threshold=Threshold(
            "identity", *BEYOND_CONTROL, "people found by values that repeat {of}", null=BEYOND_CONTROL[0]
        ),
    ),
    risk_measure(
        "avoided",
        "released values close to the true one: fewer than by chance, as a share of these",
        TURNED_BACK,
        _avoided,
        "0: as many as if rows were exchanged; 1: none; below 0: more",
        better="",
        threshold=Threshold("attribute", *AVOIDED, "close values that are missing around the true one", null=0.0),
        part_of="avoided",
    ),
    _turned(
        "turned_back",
        "true values found, having learned {of}",
        "learned from half of the people, tried on the others",
        lambda one: alone(one.rate),
        better="",
    ),
    _turned(
        "turned_back_control",
        "by chance, having learned {of}",
        "the true value of another person of the pattern, or the released one of another dataset",
        lambda one: alone(one.control),
        better="",
    ),
    _turned(
        "turned_back_risk",
        "true values found beyond chance, having learned {of}",
        "of what chance leaves to be won, the share that is won",
        lambda one: one.risk,
        threshold=Threshold("attribute", *BEYOND_CONTROL, "true values found by who has learned {of}", null=0.0),
    ),
)


# The worst of the datasets.
def _worst_guesses(context: Context) -> Iterable[Series]:
    for column, found in guesses(context).items() if context.is_linked else ():
        guessed = ~np.isnan(found.own)
        # What few people have may be drawn for nobody in one of the datasets.
        if guessed.any(axis=1).all():
            yield Series(column, np.nanmean(found.own, axis=1), float(guessed[0].sum()))


def _worst_lookup(context: Context) -> Iterable[Series]:
    for column, found in lookups(context).items() if not context.is_linked else ():
        yield Series(column, np.nanmean(found.by_dataset, axis=1), float((~np.isnan(found.by_dataset[0])).sum()))


def _worst_disclosed(context: Context) -> Iterable[Series]:
    for column, (found, _) in disclosures(context).items():
        yield Series(column, np.array(found.by_dataset), float(context.view.records))


_WORST_MEASURES = (
    worst_measure(
        "guesses",
        "correct attribution rate",
        "the released value of the person is close to the true one",
        _worst_guesses,
        "attribute",
        GAINED,
    ),
    worst_measure(
        "alike",
        "correct attribution rate, from records that share the key variables",
        "a released record with the person's key variables is close",
        _worst_lookup,
        "attribute",
        GAINED,
        "correct attribution rate by the key variables",
        of_anybody=True,
    ),
    worst_measure(
        "disclosive",
        "DiSCO",
        "all released records with a person's key variables have the same value, and it is true",
        _worst_disclosed,
        "attribute",
        BEYOND_CONTROL,
        of_anybody=True,
    ),
)


# The worst-case intruder, who knows every other record and the fitted model. In internal reports only.
_AMONG = {
    "levels": "its levels",
    "near": f"guesses within {SPREAD:.0%} of it",
    "quantiles": "quantiles of the column",
    "given": "the guesses",
}


def _worst_case(
    id_: str, words: str, tell: Callable[[AttributeRisk], Figure], better: Literal["lower", ""] = "lower"
) -> Measure:
    def compute(context: Context) -> Iterable[Value]:
        found = [(one, tell(one)) for one in context.attributes]
        return [Value(figure, one.column, _AMONG[one.among]) for one, figure in found if not np.isnan(figure.value)]

    about: dict[str, Any] = {"reference": "Hornby and Hu (2021)", "needs": ("own record", "posterior")}
    return risk_measure(id_, words, WORST_CASE, compute, better=better, part_of="attribute_risk", **about)


WORST_CASE_MEASURES = (
    _worst_case(
        "attribute_risk",
        "probability of the true value among {of}, mean over records chosen at random",
        lambda found: found.mean(),
    ),
    _worst_case(
        "attribute_risk_baseline",
        "the same without the release, among {of}",
        lambda found: alone(found.baseline()),
        "",
    ),
    _worst_case("attribute_risk_largest", "the largest of these, among {of}", lambda found: found.largest()),
    _worst_case(
        "attribute_risk_likeliest",
        "how often the true value is the likeliest among {of}",
        lambda found: found.likeliest(),
    ),
    _worst_case(
        "attribute_risk_riskiest",
        "probability of the true value among {of}, mean over the riskiest records",
        lambda found: found.mean(riskiest=True),
    ),
    _worst_case(
        "attribute_risk_riskiest_largest",
        "the largest of the riskiest, among {of}",
        lambda found: found.largest(riskiest=True),
    ),
    _worst_case(
        "attribute_risk_unsure",
        "share of the random records, among {of}, of which the draws cannot say it",
        lambda found: alone(found.unsure()),
    ),
)

ATTRIBUTE_MEASURES: Sequence[Measure] = (
    *_GUESS_MEASURES,
    *_LOOKUP_MEASURES,
    *_DISCLOSURE_MEASURES,
    *_UNCHANGED_MEASURES,
    *_REPEATS_MEASURES,
    *_WORST_MEASURES,
    *WORST_CASE_MEASURES,
)
