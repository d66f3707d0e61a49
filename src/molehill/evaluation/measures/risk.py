"""Every measure of risk that ships."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from molehill.evaluation.measure import FEW, Measure, Unit, Value
from molehill.evaluation.scene import Scene
from molehill.risk.intruder import Radius
from molehill.risk.profile import ABOVE, LEAST_TABLES, QUANTILES, estimate_above
from molehill.tables.intervals import Figure, mean_over_tables

if TYPE_CHECKING:
    from molehill.risk.attacks import Gain, Guesses

# An intruder's radius as a multiple of the agency's.
RADII = (0.5, 1.5, 2.0)
RECORDS = "Risk of the records"
EXPECTED = "Expected risk of the records"
ALONE = "Every column by itself"
POOLED = "An intruder who pools the tables"
RISES = "Rises and moles"
MATCHES = "Matches"
GUESSES = "Guessing the value"
BY_RADIUS = "If the intruder takes another radius"


def _profile(name: str) -> list[Measure]:
    """Mean, quantiles and counts of the realised or the expected risk."""
    what, block = ("risk", RECORDS) if name == "risk" else ("expected risk", EXPECTED)

    def take(key: str) -> Callable[[Scene], Iterable[Value]]:
        def compute(scene: Scene) -> Iterable[Value]:
            profile = scene.profile if name == "risk" else scene.expected_profile
            return [Value(profile[key])] if key in profile else []

        return compute

    over = "in the tables" if name == "risk" else "over all tables that the scheme could have drawn"
    told = f"the identification risk of a record on average, {over}; with the tables, roughly the agency's radius"
    found = [Measure(f"{name}_mean", f"mean {what}", "risk", block, "share", take("mean"), public=True, reveals=told)]
    for key, share in QUANTILES.items():
        words = {"median": f"median {what}", "largest": f"largest {what}"}.get(key, f"{share:.0%} quantile of {what}")
        # The largest risk is that of one record; the other quantiles need enough records beyond them.
        least = 0 if share == 1 else math.ceil(FEW / min(share, 1 - share) - 1e-9)
        about: dict[str, Any] = {"public": share < 1, "least_records": least}
        about["reveals"] = f"the risk that {share:.0%} of the records do not pass, {over}; not whose it is"
        found.append(Measure(f"{name}_{key}", words, "risk", block, "share", take(key), **about))
    for key, threshold in ABOVE.items():
        words = f"records with {what} above {threshold}"
        about = {"public": True, "reveals": f"how many records have a risk above {threshold}, {over}; not which"}
        found.append(Measure(f"{name}_{key}", words, "risk", block, "count", take(key), **about))
    return found


def _floor(scene: Scene) -> Iterable[Value]:
    return [Value(Figure(scene.risk_floor, np.nan, np.nan))] if scene.is_release else []


def _excess(scene: Scene) -> Iterable[Value]:
    # The mean over the released tables estimates the same where the posterior is not known.
    mean = (scene.expected_profile or scene.profile)["mean"]
    return [Value(Figure(*(end - scene.risk_floor for end in mean)))] if scene.is_release else []


def _estimated(scene: Scene) -> Iterable[Value]:
    """Of a release whose model is not known; where it is, what is expected is computed."""
    if scene.expected is not None or not scene.is_release or not scene.is_linked:
        return []
    own = scene.risk
    number = estimate_above(own.by_dataset, own.is_close, scene.confidential.risk, ABOVE["above_80"])
    return [] if np.isnan(number) else [Value(Figure(number, np.nan, np.nan))]


def _by_luck(name: str) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        few = len(scene.readings) < LEAST_TABLES
        told = scene.expected is None and few == (name == "risk")
        return [Value(scene.high_by_chance)] if told and scene.risk_by_chance else []

    return compute


def _mean_by_luck(scene: Scene) -> Iterable[Value]:
    return [Value(scene.mean_by_chance(scene.view.part))] if scene.risk_by_chance else []


def _alone(scene: Scene) -> Iterable[Value]:
    return [Value(mean, column) for column, (mean, _) in scene.alone.items()]


def _alone_floor(scene: Scene) -> Iterable[Value]:
    return [Value(Figure(floor, np.nan, np.nan), column) for column, (_, floor) in scene.alone.items()]


def _by_radius(key: str) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        return [_at_radius(radius, profile[key]) for radius, profile in scene.profile_by_radius]

    return compute


def _beyond(place: int) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        return [_at_radius(radius, figures[place]) for radius, *figures in scene.beyond_baseline_by_radius]

    return compute


def _at_radius(radius: Radius, figure: Figure) -> Value:
    if isinstance(radius, Mapping):
        return Value(figure, of=", ".join(f"{value:g} of {name}" for name, value in radius.items()))
    return Value(figure, at=np.nan if radius is None else float(radius))


def _pooled(name: str) -> Callable[[Scene], Iterable[Value]]:
    return lambda scene: [] if scene.pooled is None else [Value(getattr(scene.pooled, name))]


def _pooled_draws(scene: Scene) -> Iterable[Value]:
    several = scene.is_linked and len(scene.readings) > 1
    return [Value(scene.combined_by_chance)] if several else []


def _matches(name: str) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        if scene.rates is None:
            return []
        most = 1.0 if name in {"true", "false"} else float(scene.view.records)
        values = np.asarray(getattr(scene.rates, name), dtype=np.float64)
        return [Value(mean_over_tables(values, least=0.0, most=most))]

    return compute


def _rises(scene: Scene) -> Iterable[Value]:
    return [] if scene.rises is None else [Value(_exactly(scene.rises.number), at=scene.options.step)]


def _chance(scene: Scene) -> Iterable[Value]:
    found = scene.rises
    return [] if found is None else [Value(Figure(found.null, found.null_low, found.null_high), at=found.step)]


def _moles(scene: Scene) -> Iterable[Value]:
    return [] if scene.moles is None else [Value(_exactly(scene.moles.number), at=scene.options.step)]


def _exactly(number: int) -> Figure:
    return Figure(float(number), np.nan, np.nan)


def _guessed(choose: "Callable[[Guesses], Gain | None]", end: str) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        gains = {column: choose(guesses) for column, guesses in scene.guesses.items()}
        return [Value(getattr(gain, end), column) for column, gain in gains.items() if gain is not None]

    return compute


def _guesses(id_: str, words: str, guess: str, choose: "Callable[[Guesses], Gain | None]") -> list[Measure]:
    ends = {
        "own": ("", "", "a person's own record"),
        "without": ("_leave_one_out", ", without the record", "the others"),
    }
    ends["gain"] = ("_gain", ", gain over without the record", "a person's own record beyond the others")
    return [
        Measure(
            f"{id_.removesuffix('_correct') if suffix else id_}{suffix}",
            f"{words}{more}",
            "risk",
            GUESSES,
            "share",
            _guessed(choose, end),
            public=True,
            reveals=f"{guess}, from {whose}, over all records; nothing of one of them",
        )
        for end, (suffix, more, whose) in ends.items()
    ]


def _count(id_: str, words: str, unit: Unit, name: str, reveals: str = "") -> Measure:
    about: dict[str, Any] = {"public": bool(reveals), "reveals": reveals}
    return Measure(f"matches_{id_}", words, "risk", MATCHES, unit, _matches(name), **about)


RISK_MEASURES = (
    *_profile("risk"),
    Measure(
        "risk_baseline",
        "mean risk of tables that tell nothing beyond the pattern",
        "risk",
        RECORDS,
        "share",
        _floor,
        "",
    ),
    Measure(
        "estimated_above_80",
        f"records with expected risk above {ABOVE['above_80']}, estimated from the tables",
        "risk",
        RECORDS,
        "expectation",
        _estimated,
    ),
    *(
        Measure(
            f"{name}_above_80_benchmark",
            f"records with {words} above {ABOVE['above_80']} by chance",
            "risk",
            RECORDS,
            "expectation",
            _by_luck(name),
            "",
        )
        for name, words in (("risk", "risk"), ("estimated", "expected risk"))
    ),
    Measure("risk_benchmark", "mean risk by chance", "risk", RECORDS, "share", _mean_by_luck, ""),
    Measure("risk_excess", "mean risk above that floor", "risk", RECORDS, "share", _excess),
    Measure("single_variable_mean", "mean risk, if nothing else were known roughly", "risk", ALONE, "share", _alone),
    Measure(
        "single_variable_baseline",
        "of tables that tell nothing beyond the pattern",
        "risk",
        ALONE,
        "share",
        _alone_floor,
        "",
    ),
    Measure("radius_mean", "mean risk, intruder radius {at}", "risk", BY_RADIUS, "share", _by_radius("mean")),
    Measure(
        "radius_above_50",
        "records with risk above 0.5, intruder radius {at}",
        "risk",
        BY_RADIUS,
        "count",
        _by_radius("above_50"),
    ),
    Measure(
        "radius_left",
        "share of the risk above the baseline that is left, intruder radius {at}",
        "risk",
        BY_RADIUS,
        "share",
        _beyond(0),
    ),
    Measure(
        "radius_matches",
        "true match rate above its baseline, intruder radius {at}",
        "risk",
        BY_RADIUS,
        "share",
        _beyond(1),
    ),
    Measure(
        "combined_mean",
        "mean risk, tables pooled",
        "risk",
        POOLED,
        "share",
        _pooled("mean"),
        public=True,
        reveals="the identification risk of a record on average, if an intruder combines all datasets",
    ),
    Measure(
        "combined_benchmark",
        "mean risk of drawn values in place of the true ones, tables pooled",
        "risk",
        POOLED,
        "share",
        _pooled_draws,
        "",
    ),
    Measure(
        "combined_match_rate",
        "share of right picks, tables pooled",
        "risk",
        POOLED,
        "share",
        _pooled("right_picks"),
        public=True,
        reveals="how often such an intruder picks the right record; not when",
    ),
    _count(
        "expected",
        "expected right matches",
        "count",
        "expected",
        "how many records would be matched rightly by picking among the close ones; not which",
    ),
    _count("unique", "unique matches", "count", "unique", "how often exactly one record is close; not when"),
    Measure(
        "matches_gain",
        "true match rate above that by chance",
        "risk",
        MATCHES,
        "share",
        lambda scene: [Value(scene.matches_beyond_chance)],
    ),
    _count("true", "true match rate", "share", "true", "how many of the records are matched uniquely and rightly"),
    # A share of the unique matches, which may be few.
    _count("false", "false match rate", "share", "false"),
    *_profile("expected"),
    Measure(
        "increases",
        "records whose risk rises by more than {at}",
        "risk",
        RISES,
        "count",
        _rises,
        public=True,
        reveals="how many records are at more risk than without weights, be it by chance; not which",
    ),
    Measure(
        "increases_by_chance",
        "records whose risk rises by more than {at}, by chance alone",
        "risk",
        RISES,
        "expectation",
        _chance,
        "",
        public=True,
        reveals="how many would rise between two runs without weights",
    ),
    Measure(
        "moles",
        "moles: records whose expected risk rises by more than {at}",
        "risk",
        RISES,
        "count",
        _moles,
        public=True,
        reveals="how many records are at more risk because of the weights; not which",
    ),
    *_guesses(
        "attribution_correct",
        "right guesses of the value",
        "how often a guess of the value is close",
        lambda guesses: guesses.right,
    ),
    *_guesses(
        "attribution_error",
        "mean relative error of the guess",
        "how far such a guess is off on average, each at most 1",
        lambda guesses: guesses.error,
    ),
    *_guesses(
        "combined_attribution_correct",
        "right guesses of the value, tables pooled",
        "how often a guess from all tables is close",
        lambda guesses: guesses.pooled,
    ),
)


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
