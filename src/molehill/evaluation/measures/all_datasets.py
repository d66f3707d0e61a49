"""Measures of all datasets of a release: the worst of them, and what follows from a person's rows in all of them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from molehill.arrays import Floats
from molehill.attacks.worst_dataset import copied_records, worst_dataset
from molehill.evaluation.measure import Measure, Unit, Value
from molehill.evaluation.measures.standing_out import find_isolated, find_largest
from molehill.evaluation.scene import Scene
from molehill.tables.intervals import Figure

WORST = "The worst of the datasets"
REPEATED = "A person's row in all datasets: repeated values"
COPIED = "Copies of the confidential data"
TURNED_BACK = "Released values that avoid the true one, or can be turned back"


class Series(NamedTuple):
    """One share per dataset: of which variable, and of how many records."""

    column: str
    values: Floats
    records: float


def _risk(scene: Scene) -> Iterable[Series]:
    if scene.is_linked:
        yield Series("", np.nanmean(scene.by_dataset, axis=1), float(scene.view.part.sum()))


def _isolated(scene: Scene) -> Iterable[Series]:
    chosen = find_isolated(scene.confidential.risk) & scene.view.part
    if scene.is_linked and chosen.any():
        yield Series("", scene.by_dataset[:, chosen].mean(axis=1), float(chosen.sum()))


def _largest(scene: Scene) -> Iterable[Series]:
    for column, found in find_largest(scene.view) if scene.is_linked else ():
        chosen = found & scene.view.part
        if chosen.any():
            yield Series(column, scene.by_dataset[:, chosen].mean(axis=1), float(chosen.sum()))


def _matches(scene: Scene) -> Iterable[Series]:
    if scene.is_linked:
        yield Series("", np.asarray(scene.rates.true, dtype=np.float64), float(scene.view.part.sum()))


def _guesses(scene: Scene) -> Iterable[Series]:
    for column, found in scene.guesses.items() if scene.is_linked else ():
        guessed = ~np.isnan(found.own)
        # What few people have may be drawn for nobody in one of the datasets.
        if guessed.any(axis=1).all():
            yield Series(column, np.nanmean(found.own, axis=1), float(guessed[0].sum()))


def _alike(scene: Scene) -> Iterable[Series]:
    for column, found in scene.attributions.items() if not scene.is_linked else ():
        yield Series(column, np.nanmean(found.by_dataset, axis=1), float((~np.isnan(found.by_dataset[0])).sum()))


def _disclosed(scene: Scene) -> Iterable[Series]:
    for column, (found, _) in scene.attacks.disclosure.items():
        yield Series(column, np.array(found.by_dataset), float(scene.view.records))


def _uniques(scene: Scene) -> Iterable[Series]:
    found = scene.attacks.uniques
    if found is not None:
        yield Series("", np.array(found.by_dataset), float(scene.view.records))


def _copies(scene: Scene) -> Iterable[Series]:
    view, released = scene.view, [(reading.cells, reading.values) for reading in scene.readings]
    yield Series("", copied_records(view.cells, view.values, released), float(min(len(one) for one, _ in released)))


def _worst(series: Callable[[Scene], Iterable[Series]]) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        for one in series(scene) if len(scene.readings) > 1 else ():
            if len(one.values) > 1:
                figure, place = worst_dataset(one.values, one.records)
                yield Value(figure, one.column, of=f" (dataset {place + 1})" if figure.low > 0 else "")

    return compute


def _above(id_: str, words: str, series: Callable[[Scene], Iterable[Series]], *, of_anybody: bool = False) -> Measure:
    told = f"{words}: the highest of a dataset{{of}}, above that of the others"
    return Measure(f"worst_{id_}", told, "risk", WORST, "share", _worst(series), of_anybody=of_anybody, part_of="worst")


def _repeats(choose: Callable[..., Figure], end: str) -> Measure:
    words = {
        "claims": "people of whom a value is claimed that repeats {of}",
        "right": "of these claims, right",
        "control": "of these claims, right by chance",
        "risk": "claims of values that repeat {of}: right beyond chance",
        "unique": "claims of values that repeat {of}: right, and of nobody else in the pattern",
    }

    def compute(scene: Scene) -> Iterable[Value]:
        return [Value(choose(found), column, of=how) for (column, how), found in scene.all_datasets.repeats.items()]

    unit: Unit = "count" if end == "claims" else "share"
    better: Literal["lower", ""] = "" if end in ("claims", "control") else "lower"
    text = words[end] if "{of}" in words[end] else f"{words[end]} (values that repeat {{of}})"
    return Measure(f"repeats_{end}", text, "risk", REPEATED, unit, compute, better, part_of="repeats")


def _fixed(value: float) -> Figure:
    return Figure(float(value), np.nan, np.nan)


def _turned(choose: Callable[..., Figure], id_: str, words: str, better: Literal["lower", ""]) -> Measure:
    names = {"factors": "how far they lie off", "map": "a monotone map"}

    def compute(scene: Scene) -> Iterable[Value]:
        found = scene.all_datasets.turned_back.items()
        return [Value(choose(one), column, of=names[how]) for (column, how), one in found]

    return Measure(id_, words, "risk", TURNED_BACK, "share", compute, better, part_of="turned_back")


def _avoided(scene: Scene) -> Iterable[Value]:
    return [Value(figure, column) for column, figure in scene.all_datasets.avoided.items()]


def _copied(scene: Scene) -> Iterable[Value]:
    names = {"records": "records", "values": "values of all synthesized numbers"}
    found = scene.all_datasets.copied.items()
    return [Value(figure, of=names[what]) for what, figure in found if not np.isnan(figure.value)]


def _copied_own(scene: Scene) -> Iterable[Value]:
    found = scene.all_datasets.copied_own.items()
    return [Value(figure, column) for column, figure in found if not np.isnan(figure.value)]


def _copied_together(scene: Scene) -> Iterable[Value]:
    found = scene.all_datasets.copied_together
    return [] if found is None or np.isnan(found.value) else [Value(found)]


ALL_DATASETS_MEASURES: Sequence[Measure] = (
    _above("risk", "mean risk", _risk),
    _above("matches", "true match rate", _matches),
    _above("isolated", "mean risk of the most isolated 1%", _isolated),
    _above("largest", "mean risk of the largest 1% of values", _largest),
    _above("guesses", "correct attribution rate", _guesses),
    _above("alike", "correct attribution rate, from records that share the key variables", _alike, of_anybody=True),
    _above("disclosive", "DiSCO", _disclosed, of_anybody=True),
    _above("uniques", "replicated uniques", _uniques, of_anybody=True),
    _above("copies", "records of the confidential data", _copies, of_anybody=True),
    _repeats(lambda found: _fixed(len(found.records)), "claims"),
    _repeats(lambda found: found.right, "right"),
    _repeats(lambda found: _fixed(found.control), "control"),
    _repeats(lambda found: found.risk, "risk"),
    _repeats(lambda found: found.unique, "unique"),
    Measure(
        "copied_gain",
        "{of} of anybody that are released, in any order, beyond chance",
        "risk",
        COPIED,
        "share",
        _copied,
        of_anybody=True,
        part_of="copies",
    ),
    Measure(
        "copied_own_gain",
        "people with their true value, one that few have, in their own record, beyond chance",
        "risk",
        COPIED,
        "share",
        _copied_own,
        part_of="copies",
    ),
    Measure(
        "copied_together_gain",
        "people with two true values or more in their own record, beyond chance",
        "risk",
        COPIED,
        "share",
        _copied_together,
        part_of="copies",
    ),
    Measure(
        "avoided",
        "released values close to the true one: fewer than by chance, as a share of these",
        "risk",
        TURNED_BACK,
        "share",
        _avoided,
        "",
        part_of="avoided",
    ),
    _turned(lambda one: _fixed(one.rate), "turned_back", "true values found, having learned {of}", ""),
    _turned(lambda one: _fixed(one.control), "turned_back_control", "by chance, having learned {of}", ""),
    _turned(lambda one: one.risk, "turned_back_risk", "true values found beyond chance, having learned {of}", "lower"),
)
