"""Figures of a report: each as a specification that a page can draw and as a picture that needs no script."""

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from altair.utils.schemapi import debug_mode

from molehill.charts.estimates import estimate_intervals
from molehill.charts.files import draw_svg, specify
from molehill.charts.maps import (
    BARS,
    OWN,
    Choice,
    list_choices,
    measure_map,
    risk_utility_map,
    search_map,
    tell_corner,
)
from molehill.charts.risk import radius_lines, risk_histogram, risk_scatter, risk_violins
from molehill.charts.shapes import group_spread, level_shares, pair_matrix, shape_curve
from molehill.charts.style import evaluation_looks, is_shown
from molehill.charts.values import weights_scatter
from molehill.evaluation.measure import CONFIDENTIAL
from molehill.evaluation.telling import Edition, cut_name
from molehill.report.dossier import Dossier
from molehill.report.public import public_bins
from molehill.runtime import doing

# Height of a panel of the histogram: low, as there is one for every scheme.
_PANEL = 80
# A mark of a picture: its place, and how it looks. Text from data has no angle brackets here, they are escaped.
_MARK = re.compile(r'<path transform="translate\(([-\d.e]+),([-\d.e]+)\)" ([^<>]*)/>')
# So many are alike before they are worth sharing.
_ALIKE = 10


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure of the report.

    Attributes
    ----------
    name, section
        Unique in the report, and where it stands.
    specification
        In Vega-Lite, with the data inside.
    scheme
        Number of the scheme that it is about alone, if any.
    caption
        How to read it.
    more
        Whether it stands behind what is seen at first.
    column
        The replaced column that it is about alone, if any: its place among them, from 1 on.
    """

    name: str
    section: str
    specification: Mapping[str, Any]
    caption: str
    scheme: int | None = None
    more: bool = False
    column: int = 0

    @property
    def description(self) -> str:
        """What the figure shows, in words."""
        return self.specification.get("description", "")

    def draw(self) -> str:
        """Give the picture as the address of an image that holds it."""
        with doing(f"drawing {self.name}"):
            svg = share_marks(draw_svg(dict(self.specification)))
        return "data:image/svg+xml;base64," + b64encode(svg.encode()).decode()


def list_pictures(dossier: Dossier, shown: Dossier, edition: Edition) -> list[Picture]:
    """Make the figures that a dossier has the numbers for and an edition, which shows another one of it, may show."""
    # Charts are the same whatever the numbers: tests check them against the schema, which takes longer than all else.
    with debug_mode(arg=False):
        linked = dossier.evaluation.is_linked
        if edition == "public":
            return [_public_histogram(dossier, shown), *_shared(shown)] if linked else []
        of_people = (_profiles, _scatters, _shared) if linked else ()
        agency = (_search, _shapes, *of_people, _two_measures, _intervals, _agency)
        found = []
        with doing("figures: kinds listed", len(agency)) as told:
            for part in agency:
                found += part(dossier)
                told.count()
        return found


def _specify(chart: Any) -> dict[str, Any]:
    return specify(chart, validate=False)


def share_marks(svg: str) -> str:
    """Write marks that are alike but for their place once and refer to them: thousands of points take little room.

    Examples
    --------
    >>> point = '<path transform="translate(1.25,2)" d="M1,0"/>'
    >>> len(share_marks("<svg>" + 1000 * point + "</svg>")) < 0.8 * 1000 * len(point)
    True
    """
    counts = Counter(found[3] for found in _MARK.finditer(svg))
    shared = {
        look: f"m{place}" for place, look in enumerate(look for look, number in counts.items() if number > _ALIKE)
    }

    def refer(found: re.Match[str]) -> str:
        if found[3] not in shared:
            return found[0]
        return f'<use href="#{shared[found[3]]}" x="{float(found[1]):.5g}" y="{float(found[2]):.5g}"/>'

    opening, closing, rest = svg.partition(">")
    marks = "".join(f'<path id="{name}" {look}/>' for look, name in shared.items())
    return opening + closing + (f"<defs>{marks}</defs>" if marks else "") + _MARK.sub(refer, rest)


def _public_histogram(dossier: Dossier, shown: Dossier) -> Picture:
    specification = _specify(risk_histogram(public_bins(dossier)))
    labels = [look.label for look in evaluation_looks(shown.evaluation).values()]
    # The histogram has a panel a scheme; to choose among them the page needs the parameter that other figures have.
    specification["params"] = [{"name": "shown", "value": labels}]
    specification["spec"]["height"] = _PANEL
    specification["transform"] = [{"filter": is_shown()}]
    caption = (
        "How the risk is spread over the records, by scheme. The further left the bars, the safer. Counts are in tens, "
        "and bars of fewer than ten records are left out."
    )
    return Picture("histogram", "risk", specification, caption)


def _search(dossier: Dossier) -> Iterator[Picture]:
    searched = dossier.search
    if searched is not None:
        about: dict[str, Any] = {"fresh": searched.fresh, "chosen": searched.place, "rule": bool(searched.targets)}
        figure = search_map(searched.candidates, searched.baselines, **about, column=dossier.settings.column)
        caption = (
            "Risk is the expected one for a synthesizer, and that of the tables themselves for topcoding and noise. "
            "Left of the fresh sample nothing is gained: so much would another sample of the same size differ."
        )
        yield Picture("search", "found", _specify(figure), caption)


# How every curve of a column is to be read.
_CURVES: dict[Any, str] = {
    "density": "Where the values lie. Peaks that are missing or new were made by the model.",
    "below": "The share of the records at or below each value. The greatest vertical gap is U_m.",
    "above": "The share of the records above each value, both scales logarithmic: at the right the few largest ones.",
    "beneath": "The share of the records below each loss, both scales logarithmic.",
}


def _shapes(dossier: Dossier) -> Iterator[Picture]:
    """Every replaced column, confidential against released; before all how pairs of columns go together."""
    shapes, release = dossier.evaluation.shapes, dossier.scheme
    if len(shapes[(shapes["curve"] == "pair") & (shapes["scheme"] == release)]):
        caption = "How well relations are kept: a dark cell is a pair of columns that users should not rely on."
        yield Picture("pairs", "pairs", _specify(pair_matrix(dossier.evaluation, release)), caption)
    for number, column in enumerate(dossier.settings.synthesize, 1):
        own = shapes[(shapes["column"] == column) & (shapes["scheme"] == release)]
        # Of few records beyond the body there may be a tail within groups, and none of all of them.
        found = set(own.loc[own["by"] == "", "curve"])
        if "level" in found:
            caption = "The share of every level. Differences of a hundredth or two are what another sample would show."
            yield Picture(
                f"levels-{number}",
                "data",
                _specify(level_shares(dossier.evaluation, column, release)),
                caption,
                column=number,
            )
        for curve, caption in _CURVES.items():
            if curve in found:
                figure = shape_curve(dossier.evaluation, column, release, curve=curve)
                yield Picture(f"{curve}-{number}", "data", _specify(figure), caption, column=number)
        if "quantile" in set(own["curve"]):
            caption = "Bars of a pair should begin and end together. A short one has lost its tails."
            yield Picture(
                f"groups-{number}",
                "data",
                _specify(group_spread(dossier.evaluation, column, release)),
                caption,
                column=number,
            )
        by_group = own[own["curve"].isin(["density", "above"]) & (own["by"] != "")]
        for place, ((by, curve), _) in enumerate(by_group.groupby(["by", "curve"], sort=False), 1):
            kind: Any = curve
            figure = shape_curve(dossier.evaluation, column, release, curve=kind, by=f"{by}")
            caption = f"The same within every group of {cut_name(f'{by}')}."
            name = f"{curve}-{number}-{place}"
            yield Picture(name, "data", _specify(figure), caption, more=True, column=number)


def _profiles(dossier: Dossier) -> Iterator[Picture]:
    evaluation = dossier.evaluation
    caption = (
        "How the risk in the released tables is spread over the records. A wide place holds many records. The further "
        "left, the safer; a tail to the right is records that stand out."
    )
    expected = evaluation.records["expected_risk"].notna().any()
    yield Picture("violins", "risk", _specify(risk_violins(evaluation)), caption, more=bool(expected))
    if expected:
        caption = (
            "The same over all tables that a scheme could have drawn: without the luck of those that were released."
        )
        yield Picture("expected", "risk", _specify(risk_violins(evaluation, measure="expected")), caption)


def _scatters(dossier: Dossier) -> Iterator[Picture]:
    evaluation, release = dossier.evaluation, dossier.scheme
    others = [name for name in ("unweighted",) if name in evaluation.schemes and name != release]
    for reference in (CONFIDENTIAL, *others):
        measure = "realised" if reference == CONFIDENTIAL else None
        figure = risk_scatter(evaluation, release, reference, measure=measure)
        caption = (
            f"A point is a record. Below the dashed line it is safer in the release than under {cut_name(reference)}."
        )
        place = list(evaluation_looks(evaluation)).index(release)
        yield Picture(f"scatter-{reference}", "risk", _specify(figure), caption, place, more=reference != CONFIDENTIAL)


def _shared(dossier: Dossier) -> Iterator[Picture]:
    evaluation = dossier.evaluation
    if "U_m" in set(evaluation.utility["measure"]):
        caption = (
            "Down is safer, left is closer to the confidential distribution. A scheme with another one below and to "
            "the left of it is beaten by that one."
        )
        yield Picture("map", "map", _specify(risk_utility_map(evaluation)), caption)


# What the map of any two measures shows at first, the first that there is: upwards a risk, across a loss.
_FIRST_UP = ("risk_mean", "membership_distance", "closer_to_participants", "inference_risk")
_FIRST_ACROSS = ("U_m_combined", "agreement_2", "U_m", "variation", "overlap")


def _two_measures(dossier: Dossier) -> Iterator[Picture]:
    choices = list_choices(dossier.evaluation)
    places = _first_choices(choices)
    if places is not None:
        up, across = (choices[place].which for place in places)
        caption = (
            "A scheme without an interval has no bar. Hide those that lie far away, and the others are seen closer."
        )
        specification = _specify(measure_map(dossier.evaluation, across, up))
        specification["usermeta"] = {"first": places, **_describe_choices(dossier, choices)}
        yield Picture("two", "two", specification, caption)


def _describe_choices(dossier: Dossier, choices: Sequence[Choice]) -> dict[str, Any]:
    """Give all that a page needs to draw the map of any two measures: see `report.js`."""
    looks, ways = evaluation_looks(dossier.evaluation), ("lower", "higher", "")
    return {
        "bars": BARS,
        "own": looks[CONFIDENTIAL].label,
        "line": OWN,
        "labels": [look.label for look in looks.values()],
        "corners": {up: {across: tell_corner(up, across) for across in ways} for up in ways},
        "figures": [
            {
                "block": one.block,
                "name": one.name,
                "title": one.title,
                "better": one.better,
                # One for every label; without a number there is nothing.
                "values": [
                    [None if np.isnan(end) else end for end in one.values[name]] if name in one.values else None
                    for name in looks
                ],
            }
            for one in choices
        ],
    }


def _first_choices(choices: Sequence[Choice]) -> tuple[int, int] | None:
    """Say which two figures are shown at first, upwards and across; none if no release has two that go some way."""
    ids = [one.which.measure for one in choices]
    # What goes no way is no risk and no loss; of what does, risks come first.
    others = [place for place, one in enumerate(choices) if one.better]
    ups = [*(ids.index(name) for name in _FIRST_UP if name in ids), *others]
    acrosses = [*(ids.index(name) for name in _FIRST_ACROSS if name in ids), *reversed(others)]
    pairs = ((up, across) for up in ups for across in acrosses if up != across)
    return next((pair for pair in pairs if _share_release(*(choices[place] for place in pair))), None)


def _share_release(one: Choice, other: Choice) -> bool:
    return bool(set(one.values) & set(other.values) - {CONFIDENTIAL})


def _intervals(dossier: Dossier) -> Iterator[Picture]:
    if "estimate" in set(dossier.evaluation.utility["measure"]):
        caption = "A good release has its point on the black line and its bar as long as the grey band is wide."
        yield Picture("intervals", "utility", _specify(estimate_intervals(dossier.evaluation)), caption)


def _agency(dossier: Dossier) -> Iterator[Picture]:
    """Figures of what only the agency may see."""
    weights = dossier.weights
    for place, column in enumerate(dossier.settings.synthesize, 1):
        held = "value" if place == 1 else f"value_{place}"
        if not dossier.is_ours or held not in weights or not pd.api.types.is_numeric_dtype(weights[held]):
            continue
        values = weights[held].to_numpy(dtype=float)
        if np.isfinite(values).any():
            figure = weights_scatter(weights["weight"].to_numpy(), values, column=cut_name(column))
            caption = "Low weights mark the records that the model was told to lean on less: those that stand out."
            yield Picture("weights" if place == 1 else f"weights-{place}", "weights", _specify(figure), caption)
    if "radius_mean" in set(dossier.evaluation.risk["measure"]):
        radius = dossier.settings.radius
        figure = radius_lines(dossier.evaluation, radius=None if isinstance(radius, dict) else radius)
        caption = "The release should not be much riskier to an intruder who takes another radius than the agency did."
        yield Picture("radius", "radius", _specify(figure), caption)
