"""Dependence: any relation of released and true values, of all people or of a group, one by one or all together.

And variables released unchanged that identify a record, whatever the synthesized ones say.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Floats
from molehill.attacks.dependence import dependence
from molehill.attacks.linking import linked_by_values
from molehill.attacks.prediction import indicate_kept, read_target
from molehill.attacks.transformations import permute_within
from molehill.attacks.worst_group import worst_group
from molehill.evaluation.attack_data import alike, attack_seed, in_order, is_published, known, sensitive, unchanged
from molehill.evaluation.context import Context, alone
from molehill.evaluation.measure import Block, Measure, Threshold, Value, risk_measure, shared
from molehill.evaluation.telling import cut_name

# Of the uncertainty of a value, what the released ones remove by whatever relation, beyond what those of others do.
REMOVED = (0.1, 0.3)
# True values that the people of one level, or of one group, have again beyond chance.
HELD = (0.25, 0.5)
# People found by all values together, beyond chance.
FOUND = (0.03, 0.1)
# A variable released unchanged of which so many values are one person's is as good as a number of the person.
ALONE = (0.5, 0.9)
# Of fewer people nearly all have values of their own.
_FEWEST = 50
# Levels of a variable at most, each of which is a group of people, and exchanges of records for what chance shows.
_LEVELS, _EXCHANGES = 100, 5

RELATION = Block(
    "Any relation of released and true values",
    "A released value that is never close to the true one may disclose it all the same. What other people's released "
    "values say is taken off.",
    attack=True,
)
IDENTIFIERS = Block("Variables released unchanged that identify a record", attack=True)


@shared
def _indicators(context: Context) -> Floats:
    """What a linear regression sees of the variables that are released unchanged."""
    return indicate_kept(context.view.table, unchanged(context))


def _dependence(context: Context) -> Iterable[Value]:
    view = context.view
    for name in sensitive(context) if in_order(context) else ():
        exact = name not in view.numeric
        truth, values = read_target(view.table, in_order(context), name, exact=exact)
        about: dict[str, Any] = {"alike": alike(context).get(name), "kept": _indicators(context), "exact": exact}
        figure = dependence(truth, values, view.patterns.codes, seed=attack_seed(context, "dependence", name), **about)
        if not np.isnan(figure.value):
            yield Value(figure, name)


def _worst_group(context: Context) -> Iterable[Value]:
    """By sensitive variable, the people of one level of some variable who have their true values most often."""
    view = context.view
    coded = {name: pd.factorize(view.table.frame[name])[0] for name in unchanged(context)}
    groups = [(name, codes + 1) for name, codes in coded.items() if codes.max(initial=0) < _LEVELS]
    for name in sensitive(context) if groups else ():
        exact = name not in view.numeric
        truth, values = read_target(view.table, in_order(context), name, exact=exact)
        reach = np.zeros_like(truth)
        if not exact:
            place = view.numeric.index(name)
            reach = np.maximum(np.abs(truth) * view.radius[place], view.min_radius[place])
        here = np.flatnonzero(~np.isnan(truth))
        random = np.random.default_rng(attack_seed(context, "worst group", name))
        everyone = np.zeros_like(view.patterns.codes)
        like = alike(context).get(name, everyone)
        within = np.unique(np.stack([like, view.patterns.codes]), axis=1, return_inverse=True)[1].reshape(-1)
        others = [permute_within((everyone, like, within), here, random) for _ in range(_EXCHANGES)]
        close, by_chance = (
            np.concatenate([np.abs(values[:, rows[here]] - truth[here]) <= reach[here] for rows in some])
            for some in ([np.arange(len(truth))], others)
        )
        figure, where = worst_group(close, by_chance, [(one, codes[here]) for one, codes in groups])
        if not np.isnan(figure.value):
            yield Value(figure, name, of=f" of {cut_name(where)}")


def _linked_by_values(context: Context) -> Iterable[Value]:
    view, names = context.view, [name for name in context.view.numeric if name in sensitive(context)]
    if not names or not in_order(context):
        return
    read = [read_target(view.table, in_order(context), name, exact=False) for name in names]
    truth, values = (np.stack([one[place] for one in read], axis=-1) for place in (0, 1))
    seed = attack_seed(context, "linked by values")
    figure = linked_by_values(truth, values, _indicators(context), view.patterns.codes, seed=seed)
    if not np.isnan(figure.value):
        yield Value(figure)


def _identifiers(context: Context) -> Iterable[Value]:
    """By variable that is no key variable, the share of the people whose released value is theirs alone.

    Of variables released unchanged, and of others that are the same in all datasets, of two at least: whoever has such
    a value from elsewhere finds the person's record, whether it is a number, a code of one, or a measurement.
    """
    own, frames = context.view.table.frame, [one.frame for one in in_order(context)]
    if not frames or len(frames[0]) < _FEWEST:
        return
    survey = context.options.survey
    # What a survey's weight discloses is said by a measure of its own.
    asked = {*known(context), *sensitive(context), *([] if survey is None else [name for _, name in survey.columns])}
    for name in [f"{each}" for each in frames[0]]:
        one, others = frames[0][name], [frame[name] for frame in frames[1:] if name in frame]
        if name in asked or not is_published(context, name):
            continue
        others += [own[name]] if name in own and not others else []
        if others and all(one.equals(other) for other in others):
            yield Value(alone(float((one.value_counts() == 1).sum()) / len(one)), of=cut_name(name))


DEPENDENCE_MEASURES: tuple[Measure, ...] = (
    risk_measure(
        "dependence_gain",
        "uncertainty of the true value removed by the released ones of the person, beyond chance",
        RELATION,
        _dependence,
        "0: they say no more than the released values of other people; 1: they determine it",
        threshold=Threshold(
            "attribute", *REMOVED, "uncertainty of the true value removed by the released one", null=0.0
        ),
        part_of="dependence",
    ),
    risk_measure(
        "worst_group_gain",
        "people of a level{of} who have their true value, gain over chance: the level with the most",
        RELATION,
        _worst_group,
        "1: all people of some level have their true value",
        threshold=Threshold(
            "attribute", *HELD, "people of a level{of} who have their true value, beyond chance", null=0.0
        ),
        part_of="worst_group",
    ),
    risk_measure(
        "linked_by_values_gain",
        "people whose own record fits their true values best of all of the pattern, gain over chance",
        RELATION,
        _linked_by_values,
        "noise that hides each value need not hide a person",
        threshold=Threshold(
            "identity", *FOUND, "people found by all synthesized values together, beyond chance", null=0.0
        ),
        part_of="linked_by_values",
    ),
    # Whoever has the value from elsewhere finds the record; a board says whether anybody can have it.
    risk_measure(
        "unchanged_uniques",
        "people who alone have their value of {of}",
        IDENTIFIERS,
        _identifiers,
        "an intruder who has the value from elsewhere finds the person's record",
        threshold=Threshold(
            "unchanged_inference", *ALONE, "people who alone have their value of {of}, released unchanged"
        ),
        part_of="unchanged_uniques",
    ),
)
