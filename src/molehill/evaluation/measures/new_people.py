"""Measures that need no person's own record: what look-alikes tell, and whether tables show who was in the data.

They are all that can be asked of fully synthetic tables, in which no record is anybody's.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from molehill.arrays import Booleans, Floats
from molehill.evaluation.measure import FEW, Measure, Value
from molehill.evaluation.measures.standing_out import find_isolated
from molehill.evaluation.scene import Scene
from molehill.tables.intervals import Figure, mean_over_tables

LOOK_ALIKES = "Asking those who look like a person"
MEMBERS = "Whether it shows who was in the data"
# In a box of many columns nearly everybody may be as isolated as can be.
_MOST_ISOLATED = 0.05


def _alike(choose: Callable[[Floats, Floats], Floats], *, isolated: bool = False) -> Callable[[Scene], Iterable[Value]]:
    """Mean over the records, or over the most isolated of them, of something about look-alikes."""

    def compute(scene: Scene) -> Iterable[Value]:
        # Where people have records of their own, these are asked: see the guesses.
        for column, found in scene.attributions.items() if not scene.is_linked else ():
            told = choose(found.by_dataset, found.without[None])
            chosen = _isolated(scene) if isolated else np.ones(scene.view.records, dtype=bool)
            told = told[:, chosen & ~np.isnan(found.without)]
            if told.shape[1]:
                figure = mean_over_tables(told.mean(axis=1), least=-1.0, most=1.0)
                # What is the same for every table has no interval over them.
                yield Value(figure if len(told) > 1 else Figure(figure.value, np.nan, np.nan), column)

    return compute


def _isolated(scene: Scene) -> Booleans:
    """The most isolated 1%; nobody where so many are as isolated that they are not the few who stand out."""
    found = find_isolated(scene.confidential.risk) & scene.view.part
    return found if found.mean() <= _MOST_ISOLATED else np.zeros(len(found), dtype=bool)


def _members(scene: Scene) -> Iterable[Value]:
    return [] if scene.holdout is None else [Value(scene.holdout.members())]


def _isolated_members(scene: Scene) -> Iterable[Value]:
    if scene.holdout is None:
        return []
    figure = scene.holdout.members(_isolated(scene))
    return [] if np.isnan(figure.value) else [Value(figure)]


def _nearer(scene: Scene) -> Iterable[Value]:
    return [] if scene.holdout is None else [Value(scene.holdout.share())]


def _measure(id_: str, words: str, block: str, compute: Callable[[Scene], Iterable[Value]], reveals: str) -> Measure:
    few = 100 * FEW if "isolated" in id_ else 0
    about = {"public": bool(reveals), "reveals": reveals, "least_records": few, "of_anybody": True}
    return Measure(id_, words, "risk", block, "share", compute, **about)


NEW_PEOPLE_MEASURES: Sequence[Measure] = (
    _measure(
        "lookup_correct",
        "a look-alike has the person's values",
        LOOK_ALIKES,
        _alike(lambda released, _: released),
        "how often a released record with a person's known values has the other values too, on average",
    ),
    _measure(
        "lookup_leave_one_out",
        "so has another person of the confidential table",
        LOOK_ALIKES,
        _alike(lambda _, without: without),
        "",
    ),
    _measure(
        "lookup_gain",
        "gain over asking the other people",
        LOOK_ALIKES,
        _alike(lambda released, without: released - without),
        "",
    ),
    _measure(
        "lookup_isolated_gain",
        "that gain for the most isolated 1%",
        LOOK_ALIKES,
        _alike(lambda released, without: released - without, isolated=True),
        "",
    ),
    _measure(
        "membership_distance",
        "tables lie nearer to who was in the data (half: no sign of it)",
        MEMBERS,
        _members,
        "whether the tables show on average that a person was in the data; nothing of one of them",
    ),
    _measure(
        "membership_distance_isolated",
        "that for the most isolated 1%",
        MEMBERS,
        _isolated_members,
        "",
    ),
    _measure(
        "closer_to_participants",
        "released records nearer to who was in the data than to who was held out (half: no sign)",
        MEMBERS,
        _nearer,
        "whether released records lie nearer to the people in the data than to others, on average",
    ),
)
