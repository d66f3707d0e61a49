"""Figures at the level of records, for the internal edition only: scheme against scheme, weights against values."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from molehill.arguments import check_choice
from molehill.errors import InputError
from molehill.figures.risk_charts import Measure, evaluation_looks, risk_axis
from molehill.figures.style import COLOURS, dress, number_axis, scheme_looks, short_label
from molehill.moles import moles
from molehill.schema import nearest

if TYPE_CHECKING:
    from molehill.evaluation import Evaluation

Floats = NDArray[np.float64]

MOST_POINTS = 2000
_RISING = COLOURS[4]
# Cells of the grid that weights and values are counted in, at first: along and up.
_CELLS = (160, 100)


def risk_scatter(
    evaluation: "Evaluation", scheme: str, reference: str, *, measure: Measure | None = None, step: float = 0.2
) -> alt.TopLevelMixin:
    """Draw every record's risk under one scheme against its risk under another, with the rises marked.

    At the level of records, so for the internal edition only. At most 2,000 records are drawn, taken at random, and
    with them all that are marked. Its table is `Evaluation.records`.

    Parameters
    ----------
    evaluation
        Of `molehill.evaluation.evaluate`.
    scheme, reference
        Names of releases, or "confidential": upwards and to the right.
    measure
        "expected" risk, where a marked record is a mole: it rises by more than `step` beyond Monte Carlo error. Or
        "realised", where a marked record rises by more than `step`, be it by chance. By default expected if known.
    step
        Smallest rise that is marked.
    """
    names = ("confidential", *evaluation.schemes)
    for argument, name in (("scheme", scheme), ("reference", reference)):
        if name not in names:
            raise InputError(argument, f"there is no scheme {name!r}", nearest(f"{name}", names))
    if measure is not None:
        check_choice("measure", measure, ("realised", "expected"))
    table, measure = _pair(evaluation, scheme, reference, measure, step)
    marked = table[table["marked"]]
    rest = table[~table["marked"]]
    thinned = rest.sample(MOST_POINTS, random_state=0).sort_index() if len(rest) > MOST_POINTS else rest

    looks = evaluation_looks(evaluation)
    own, other = looks[scheme].label, looks[reference].label
    axes = {"x": risk_axis(alt.X, "across", f"{measure} risk, {other}")}
    axes["y"] = risk_axis(alt.Y, "up", f"{measure} risk, {own}")
    tooltip = [
        alt.Tooltip(f"{field}:Q", title=label, format=".2f") for field, label in (("across", other), ("up", own))
    ]
    points = alt.Chart(thinned[["across", "up"]].round(3)).mark_point(
        size=16, filled=True, opacity=0.4, color="#777777"
    )
    rising = alt.Chart(marked[["record", "across", "up"]].round(3))
    rising = rising.mark_point(shape="triangle-up", size=48, color=_RISING, opacity=0.9, strokeWidth=1.6)
    equal = alt.Chart(pd.DataFrame({"across": [0.0, 1.0], "up": [0.0, 1.0]}))
    line = equal.mark_line(color="black", strokeDash=[5, 3], strokeWidth=1.5).encode(**axes)
    layers = [points.encode(**axes, tooltip=tooltip), line]
    if len(marked):
        layers.append(rising.encode(**axes, tooltip=[alt.Tooltip("record:Q"), *tooltip]))

    what = "moles: records whose expected risk rises" if measure == "expected" else "records whose risk rises"
    told = [f"Triangles: {len(marked):,} of {len(table):,} {what} by more than {step:g}."]
    told += _tell_chance(evaluation, scheme, reference, step) if measure == "realised" else []
    few = f" Of the others {len(thinned):,} are drawn." if len(thinned) < len(rest) else ""
    higher, lower = int((table["up"] > table["across"]).sum()), int((table["up"] < table["across"]).sum())
    return dress(
        alt.layer(*layers).properties(width=400, height=400),
        f"Risk of the records: {own} against {other}",
        subtitle=[*told, f"Dashed: the same risk under both.{few}"],
        description=(
            f"Scatter of the {measure} identification risk of each record under {own}, upwards, against {other}, "
            f"to the right. {' '.join(told)} {higher:,} records lie above the line of equal risk, {lower:,} below it."
        ),
    )


def weights_scatter(
    weights: ArrayLike | Mapping[str, ArrayLike], values: ArrayLike, *, column: str = "sensitive value"
) -> alt.TopLevelMixin:
    """Draw the weights of the records against their sensitive values.

    For the internal edition only. The records are counted in the cells of a fine grid, at most 2,000 of them filled;
    a point is a cell, the larger the more records it holds. So every record counts, and no value is in the figure.

    Parameters
    ----------
    weights
        One from 0 to 1 per record, as of `risk_weights`; or several of these by name, each for a panel.
    values
        One per record. A record without a value is left out.
    column
        What the values are, for the axis.
    """
    panels = dict(weights) if isinstance(weights, Mapping) else {"": weights}
    numbers = np.asarray(values, dtype=np.float64)
    for one in panels.values():
        if np.shape(np.asarray(one)) != numbers.shape or numbers.ndim != 1:
            raise InputError("weights", "they are not of the length of the values", "Give one weight per record")
    present = np.isfinite(numbers)
    if not present.any():
        raise InputError("values", "there is none", "Give one value per record")
    looks = scheme_looks(panels)
    name = short_label(column)
    numbers = numbers[present]
    up = {label: np.asarray(one, dtype=np.float64)[present] for label, one in panels.items()}
    bend = _bend(numbers)
    cells = pd.concat(
        [_count_cells(numbers, one, bend).assign(scheme=looks[label].label) for label, one in up.items()],
        ignore_index=True,
    )
    most = int(cells["records"].max())
    area = alt.Scale(domain=[0, most], range=[0, min(18 * most, 500)])
    legend = alt.Legend(title="records", values=sorted({1, max(most // 2, 1), most}), format=",d")
    size = alt.Size("records:Q", scale=area, legend=legend)
    points = alt.Chart(cells).mark_point(filled=True, opacity=0.55, color=COLOURS[0])
    points = points.encode(
        x=_value_axis(numbers, bend, name),
        y=alt.Y("weight:Q", title="weight", scale=alt.Scale(domain=[0, 1], nice=False), axis=alt.Axis(tickCount=5)),
        size=size,
        tooltip=[alt.Tooltip("weight:Q", format=".2f"), alt.Tooltip("records:Q", format=",")],
    )
    points = points.properties(width=480, height=260)
    if isinstance(weights, Mapping):
        header = alt.Header(labelOrient="top", labelAnchor="start", labelFontSize=13)
        order = [look.label for look in looks.values()]
        points = points.facet(row=alt.Row("scheme:N", title=None, sort=order, header=header))
    description = f"Weights of the records against {name}. " + "; ".join(
        f"{looks[label].label + ': ' if label else ''}mean weight {one.mean():.2f}, "
        f"{one[numbers >= np.quantile(numbers, 0.9)].mean():.2f} in the highest tenth of {name}"
        for label, one in up.items()
    )
    return dress(
        points,
        f"Weights against {name}",
        subtitle=["Larger points: more records. Values are told to about a hundredth of the scale."],
        description=description,
    )


def _pair(
    evaluation: "Evaluation", scheme: str, reference: str, measure: Measure | None, step: float
) -> tuple[pd.DataFrame, Measure]:
    """Columns record, across, up, marked; and the measure, chosen if it was not."""
    own, other = (evaluation.records.query("scheme == @name") for name in (scheme, reference))
    known = all(side["expected_risk"].notna().any() for side in (own, other))
    if measure == "expected" and not known:
        problem = "the expected risk of one of the two is not known"
        raise InputError("measure", problem, "Give its posterior to evaluate, or choose 'realised'")
    if measure is None:
        measure = "expected" if known else "realised"
    field = "expected_risk" if measure == "expected" else "risk"
    up, across = (side[field].to_numpy(dtype=np.float64) for side in (own, other))
    if measure == "expected":
        errors = [side["expected_error"].to_numpy(dtype=np.float64) for side in (own, other)]
        marked = moles(up, errors[0], across, errors[1], step=step).records
    else:
        marked = up - across > step
    table = pd.DataFrame({"record": own["record"].to_numpy(), "across": across, "up": up, "marked": marked})
    return table.dropna().reset_index(drop=True), measure


def _tell_chance(evaluation: "Evaluation", scheme: str, reference: str, step: float) -> list[str]:
    """How many would rise by chance alone, if the evaluation compared these two with this step."""
    words = f"records whose risk rises by more than {step:g}"
    rows = evaluation.risk
    compared = set(rows.loc[rows["measure"] == words, "scheme"])
    null = rows[(rows["scheme"] == scheme) & (rows["measure"] == f"{words}, by chance alone")]
    if [name for name in evaluation.schemes if name not in compared] != [reference] or null.empty:
        return []
    value, low, high = (float(null[field].iloc[0]) for field in ("value", "low", "high"))
    return [f"By chance alone there would be {value:,.0f} (95%: {low:,.0f} to {high:,.0f})."]


def _bend(values: Floats) -> float:
    """Where an axis turns from linear to logarithmic, so that a long tail leaves the rest room; 0 for nowhere."""
    quarter, three = np.quantile(values, [0.25, 0.75])
    sizes = np.abs(values[values != 0])
    if not len(sizes) or np.ptp(values) <= 12 * (three - quarter):
        return 0.0
    return float(10.0 ** np.floor(np.log10(np.median(sizes)) - 0.5))


def _value_axis(values: Floats, bend: float, title: str) -> alt.X:
    if not bend:
        return alt.X("value:Q", scale=alt.Scale(zero=False), axis=number_axis(title))
    powers = bend * 10.0 ** np.arange(np.ceil(np.log10(np.abs(values).max() / bend)) + 1)
    ticks = [*(-powers[::-1] if values.min() < 0 else []), 0.0, *powers]
    ticks = [tick for tick in ticks if values.min() <= tick <= values.max() or tick == 0]
    scale = alt.Scale(type="symlog", constant=bend, nice=False, zero=bool(values.min() >= 0))
    return alt.X("value:Q", scale=scale, axis=number_axis(f"{title} (logarithmic scale)", ticks))


def _count_cells(values: Floats, weights: Floats, bend: float) -> pd.DataFrame:
    """Columns value, weight, records: centres of the filled cells of a grid, which lies on round places."""
    places = np.sign(values) * np.log1p(np.abs(values) / bend) if bend else values
    fineness = 1.0
    while True:
        steps = np.array([np.ptp(places) / _CELLS[0] or 1.0, 1 / _CELLS[1]]) / fineness
        cells, counts = np.unique(np.rint(np.column_stack([places, weights]) / steps), axis=0, return_counts=True)
        if len(cells) <= MOST_POINTS:
            break
        fineness *= 0.8
    along, up = (cells * steps).T
    value = np.sign(along) * bend * np.expm1(np.abs(along)) if bend else along
    digits = np.array([float(f"{number:.3g}") for number in value])
    return pd.DataFrame({"value": digits, "weight": up.round(3), "records": counts})
