"""Maps of risk and utility, or of any two measures, of methods and of the candidates of a search."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from molehill.arrays import Floats
from molehill.charts.style import (
    COLOURS,
    CONFIDENTIAL,
    Look,
    by_scheme,
    dress,
    evaluation_looks,
    four_digits,
    have_ends,
    is_shown,
    number_axis,
    scheme_legend,
    scheme_looks,
    tell_numbers,
    title_panel,
)
from molehill.errors import InputError, nearest
from molehill.tables.labels import short_label

if TYPE_CHECKING:
    from molehill.evaluation.evaluation import Evaluation

# By measure: the id of its sampling benchmark, and an addition to its short name on the axis.
_FRESH = {"U_m": "U_m_benchmark", "U_a": "U_a_benchmark"}
_SAYS = {
    "U_m": ", largest difference of distribution functions",
    "U_a": ", mean squared difference of distribution functions",
}
_CORNER = {"lower": ("Lower", "left"), "higher": ("Upper", "right")}
_ENDS = ["value", "low", "high"]
# Fields of a point: position and ends of its bars, horizontally and vertically.
_ACROSS, _UP = ["across", "left", "right"], ["up", "bottom", "top"]
_KEEPS, _MISSES = Look("meets the criteria", COLOURS[0], "circle"), Look("fails a criterion", "#8a8f98", "diamond")
# Without release criteria.
_AS_MUCH, _LESS = replace(_KEEPS, label="utility within tolerance"), replace(_MISSES, label="lower utility")
# Explanation of bars, and label of the confidential data.
BARS, OWN = "Bars: 95% intervals over the released datasets.", "confidential data"
_LONGEST = 80
_WHOLE, _HALF = (460, 320), (310, 290)


def risk_utility_map(
    evaluation: "Evaluation",
    *,
    utility: str = "U_m",
    risk: str = "risk_mean",
    column: str | None = None,
    of: str | None = None,
) -> alt.TopLevelMixin:
    """Draw disclosure risk against loss of utility, by method.

    Data: `Evaluation.risk` and `Evaluation.utility`.

    Parameters
    ----------
    evaluation
        Of `molehill.evaluate`.
    utility, risk
        Ids of measures, as in `Evaluation.measures`.
    column, of
        Variable, and analysis or classifier, of the utility measure; by default the first.
    """
    losses = _by_scheme(evaluation.utility, utility, "utility", column=column, of=of)
    risks = _by_scheme(evaluation.risk, risk, "risk")
    both = [name for name in evaluation.schemes if name in losses.index and name in risks.index]
    looks = evaluation_looks(evaluation, both)
    numbers = np.column_stack([frame.loc[list(looks), _ENDS].to_numpy(dtype=float) for frame in (losses, risks)])
    table = pd.DataFrame(four_digits(numbers), columns=[*_ACROSS, *_UP])
    table["scheme"] = [look.label for look in looks.values()]

    column = f"{losses['column'].iloc[0]}"
    rows = evaluation.utility
    fresh = rows[(rows["measure"] == _FRESH.get(utility)) & (rows["column"] == column) & (rows["group"] == "")]
    lines = (float(fresh["value"].median()), float(risks["value"].get(CONFIDENTIAL, np.nan)))
    reach = (_reach(table[_ACROSS], 0.0, lines[0]), _reach(table[_UP], 0.0, lines[1]))
    name, loss, risky = (short_label(f"{text}") for text in (column, losses["name"].iloc[0], risks["name"].iloc[0]))
    base = alt.Chart(table).transform_filter(is_shown())
    titles = (f"{loss}{_SAYS.get(utility, '')} ({name})", risky)
    layers = _draw_lines(lines, reach[0], _WHOLE)
    layers += _draw_points(base, looks.values(), reach, titles, [alt.Tooltip("scheme:N")])
    bars = table[["left", "bottom"]].notna().any(axis=None)
    subtitle = [BARS] if bars else []
    better = dict(zip(evaluation.measures["id"], evaluation.measures["better"], strict=True))
    if better.get(risk) in _CORNER and better.get(utility) in _CORNER:
        corner = f"{_CORNER[better[risk]][0]} {_CORNER[better[utility]][1]}"
        subtitle.append(f"{corner}: lower risk and higher utility.")
    return dress(
        alt.layer(*layers).properties(width=_WHOLE[0], height=_WHOLE[1]),
        "Risk and utility by method",
        subtitle=subtitle,
        description=f"{risky} against {loss} of {name}, by method. "
        + "; ".join(f"{row.scheme}: {risky} {row.up:.3g}, {loss} {row.across:.3g}" for row in table.itertuples()),
        shown=looks.values(),
    )


class Which(NamedTuple):
    """Selects one figure of a measure by variable, analysis and number; None is the first."""

    measure: str
    column: str | None = None
    of: str | None = None
    at: float | None = None


@dataclass(frozen=True, eq=False)
class Choice:
    """A figure by which methods can be compared.

    Attributes
    ----------
    which
        The measure, its variable, analysis and number.
    block
        Its table in the report.
    name
        Description, with the variable if there are several.
    better
        "lower", "higher", or empty.
    values
        By method: value, low and high; NaN without interval.
    """

    which: Which
    block: str
    name: str
    better: str
    values: Mapping[str, tuple[float, float, float]]

    @property
    def title(self) -> list[str]:
        """Axis title: the name, and below it the table and the better direction."""
        return [self.name, f"{self.block}; {self.better} is better" if self.better else self.block]

    @property
    def reach(self) -> tuple[float, float]:
        """Range of the axis, not below 0 for non-negative figures."""
        values = np.array(list(self.values.values()))
        low, high = _reach(values)
        return (low if np.nanmin(values) < 0 else max(low, 0.0), high)


def measure_map(evaluation: "Evaluation", across: str | Which, up: str | Which) -> alt.TopLevelMixin:
    """Draw methods by any two measures, with intervals.

    The confidential data are a point if both figures are defined, a line if one is. Data: `Evaluation.risk` and
    `Evaluation.utility`.

    Parameters
    ----------
    evaluation
        Of `molehill.evaluate`.
    across, up
        Ids of measures, as in `Evaluation.measures`, or `Which` to select among several figures of a measure.
    """
    choices, looks = list_choices(evaluation), evaluation_looks(evaluation)
    right, upwards = (_choose(choices, which, name) for which, name in ((across, "across"), (up, "up")))
    both = [name for name in looks if name in right.values and name in upwards.values]
    if not set(both) - {CONFIDENTIAL}:
        problem = f"no release has both {upwards.which.measure!r} and {right.which.measure!r}"
        raise InputError("up", problem, "Use measures of the same releases")
    points = pd.DataFrame([(*right.values[name], *upwards.values[name]) for name in both], columns=[*_ACROSS, *_UP])
    points["scheme"] = [looks[name].label for name in both]
    # Named, so that a page can replace them.
    rows = {"points": _rows_of(points), "lines": _list_lines(right, upwards, looks[CONFIDENTIAL].label)}
    base = alt.Chart(alt.NamedData("points")).transform_filter(is_shown())
    layers = _draw_confidential()
    layers += _draw_points(
        base, looks.values(), (right.reach, upwards.reach), (right.title, upwards.title), [alt.Tooltip("scheme:N")]
    )
    return dress(
        alt.layer(*layers, datasets=rows).properties(width=_WHOLE[0], height=_WHOLE[1]),
        "Methods by two measures",
        subtitle=[f"{tell_corner(upwards.better, right.better)} {BARS}"],
        description=f"{upwards.name} against {right.name}, by method. "
        + "; ".join(f"{row.scheme}: {row.up:.3g} against {row.across:.3g}" for row in points.itertuples()),
        shown=looks.values(),
    )


def list_choices(evaluation: "Evaluation") -> list[Choice]:
    """All figures of releases, for all records, in the order of the measures."""
    about = evaluation.measures.set_index("id")
    both = pd.concat([evaluation.risk, evaluation.utility], ignore_index=True)
    both = both[(both["group"] == "") & np.isfinite(both["value"].astype(float))]
    places = {name: place for place, name in enumerate(about.index)}
    both = both.iloc[np.argsort([places[name] for name in both["measure"]], kind="stable")]
    columns = both.groupby("measure")["column"].nunique()
    choices = []
    groups: Any = both.groupby(["measure", "column", "of", "at"], sort=False, dropna=False)
    for (measure, column, of, at), rows in groups:
        numbers = four_digits(rows[_ENDS].to_numpy(dtype=float)).tolist()
        values = {
            scheme: (value, low, high) for scheme, (value, low, high) in zip(rows["scheme"], numbers, strict=True)
        }
        if not set(values) - {CONFIDENTIAL}:
            continue
        name = short_label(f"{rows['name'].iloc[0]}", _LONGEST)
        name = f"{name}, {short_label(f'{column}')}" if columns[measure] > 1 else name
        block, better = (f"{about.loc[measure, field]}" for field in ("block", "better"))
        which = Which(measure, column, of, None if np.isnan(at) else at)
        choices.append(Choice(which, short_label(block, _LONGEST), name, better, values))
    return choices


def tell_corner(up: str, across: str) -> str:
    """Which direction of a chart is better, given that of each measure.

    Examples
    --------
    >>> tell_corner("lower", "higher"), tell_corner("lower", "")
    ('Lower right is better.', 'Lower is better.')
    """
    if up and across:
        return f"{_CORNER[up][0]} {_CORNER[across][1]} is better."
    if up:
        return f"{'Higher' if up == 'higher' else 'Lower'} is better."
    return f"{_CORNER[across][1].capitalize()} is better." if across else "No direction is better."


def _choose(choices: Sequence[Choice], which: str | Which, argument: str) -> Choice:
    """The selected figure."""
    wanted = Which(which) if isinstance(which, str) else which
    found = [one for one in choices if one.which.measure == wanted.measure]
    if not found:
        known = dict.fromkeys(one.which.measure for one in choices)
        problem = f"there is no measure {wanted.measure!r} that a release has"
        raise InputError(argument, problem, nearest(f"{wanted.measure}", known))
    for field, given in zip(Which._fields[1:], wanted[1:], strict=True):
        if given is None:
            continue
        known = [f"{getattr(one.which, field)}" for one in found]
        found = [one for one in found if getattr(one.which, field) == given]
        if not found:
            problem = f"there is no {wanted.measure!r} whose {field!r} is {given!r}"
            raise InputError(argument, problem, nearest(f"{given}", dict.fromkeys(known)))
    return found[0]


def _list_lines(across: Choice, up: Choice, label: str) -> list[dict[str, Any]]:
    """The line of confidential data with only one of the two figures; `far` puts its label to the left."""
    own = [choice.values.get(CONFIDENTIAL, (np.nan,))[0] for choice in (across, up)]
    if np.isnan(own).sum() != 1:
        return []
    if np.isnan(own[0]):
        return [{"scheme": label, "label": OWN, "up": own[1]}]
    return [{"scheme": label, "label": OWN, "across": own[0], "far": own[0] > sum(across.reach) / 2}]


def _rows_of(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """Rows of a specification, with None for NaN."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def _draw_confidential() -> list[alt.Chart]:
    """Draw the lines of `_list_lines` with their labels."""
    base = alt.Chart(alt.NamedData("lines")).transform_filter(is_shown())
    upright, level = (base.transform_filter(f"isValid(datum.{field})") for field in ("across", "up"))
    layers = [
        upright.mark_rule(strokeDash=[2, 3]).encode(x="across:Q"),
        level.mark_rule(strokeDash=[2, 3]).encode(y="up:Q"),
        level.mark_text(align="right", baseline="bottom", dy=-3, fontStyle="italic").encode(
            x=alt.value(_WHOLE[0] - 4), y="up:Q", text="label:N"
        ),
    ]
    sides: tuple[tuple[str, Any, int], ...] = (("datum.far", "right", -5), ("!datum.far", "left", 5))
    for far, side, away in sides:
        text = upright.transform_filter(far).mark_text(align=side, baseline="top", dx=away, fontStyle="italic")
        layers.append(text.encode(x="across:Q", y=alt.value(4), text="label:N"))
    return layers


def search_map(
    points: pd.DataFrame, baselines: pd.DataFrame, *, fresh: float, chosen: int, column: str, rule: bool = True
) -> alt.TopLevelMixin:
    """Draw risk against utility for all candidates of a search, with SDC methods, and for the candidates alone.

    Candidates are numbered from 1, and a ring marks the selected one.

    Parameters
    ----------
    points, baselines, fresh
        Of `molehill.report.dossier.Searched`.
    chosen
        Index of the selected candidate, or of the closest one.
    column
        The sensitive variable.
    rule
        Whether candidates were judged by release criteria, or by utility within tolerance of the best.
    """
    others = baselines[baselines["scheme"] != CONFIDENTIAL]
    own = baselines.loc[baselines["scheme"] == CONFIDENTIAL, "risk"]
    ways = scheme_looks(others["scheme"])
    kept, lost = (_KEEPS, _MISSES) if rule else (_AS_MUCH, _LESS)
    looks = [kept, lost, *ways.values()]
    tried = _list_points(points, chosen)
    tried["scheme"] = np.where(points["met"].astype(bool), kept.label, lost.label)
    others = pd.DataFrame(
        four_digits(others[["U_m", "U_m_low", "U_m_high", "risk", "risk_low", "risk_high"]].to_numpy(dtype=float)),
        columns=[*_ACROSS, *_UP],
    ).assign(scheme=[look.label for look in ways.values()], number="", chosen=False, decided="")
    everything = pd.concat([tried, others.assign(label=others["scheme"])], ignore_index=True)
    lines = (fresh, float(own.median()))
    # With all methods, candidates lie close together: only the selected one is numbered.
    everything["number"] = everything["number"].where(everything["chosen"], "")
    whole = (_reach(everything[_ACROSS], 0.0, lines[0]), _reach(everything[_UP], 0.0, lines[1]))
    panels = [_search_panel(everything, looks, lines, whole, "candidates and SDC methods", column)]
    if len(tried) > 1:
        close = (_reach(tried[_ACROSS]), _reach(tried[_UP]))
        inside = (fresh if close[0][0] < fresh < close[0][1] else np.nan, np.nan)
        panels.append(_search_panel(tried, looks, inside, close, "candidates only", column))
    marked = "selected" if not rule or points["met"].iloc[chosen] else "closest"
    return dress(
        alt.hconcat(*panels, spacing=30).resolve_scale(color="shared", shape="shared"),
        "Candidates of the search",
        subtitle=[f"Numbers: candidates. Ring: the {marked} one. Bars: 95% intervals. Lower left is better."],
        description=f"Mean risk against U_m of {short_label(column)} for every candidate of the search. "
        + "; ".join(
            f"{row.label} ({f'{row.scheme}, {marked}' if row.chosen else row.scheme}): "
            f"mean risk {row.up:.3g}, U_m {row.across:.3g}"
            for row in everything.itertuples()
        ),
    )


def _by_scheme(
    frame: pd.DataFrame, measure: str, argument: str, *, column: str | None = None, of: str | None = None
) -> pd.DataFrame:
    """Rows of one measure for all records, one per method, of one variable and one analysis."""
    found = frame[(frame["measure"] == measure) & (frame["group"] == "") & np.isfinite(frame["value"].astype(float))]
    if found.empty:
        raise InputError(argument, f"there is no measure {measure!r}", nearest(measure, frame["measure"].unique()))
    for field, given in {"column": column, "of": of}.items():
        known = found[field].unique()
        if given is not None and given not in known:
            raise InputError(field, f"there is no {measure!r} of {given!r}", nearest(given, known))
        found = found[found[field] == (known[0] if given is None else given)]
    return found.drop_duplicates("scheme").set_index("scheme")


def _list_points(points: pd.DataFrame, chosen: int) -> pd.DataFrame:
    """Positions, bars and labels of the candidates of a search."""
    distance, risk = points["U_m"], points["mean_expected_risk"]
    wide, tall = 1.96 * points["U_m_error"], 1.96 * points["mean_expected_risk_error"]
    numbers = np.column_stack([distance, distance - wide, distance + wide, risk, risk - tall, risk + tall])
    table = pd.DataFrame(four_digits(numbers), columns=[*_ACROSS, *_UP])
    table["number"] = [f"{number + 1}" for number in points["point"]]
    table["chosen"] = np.arange(len(points)) == chosen
    table["label"] = [
        f"{number}: {short_label(name, 60)}" for number, name in zip(table["number"], points["scheme"], strict=True)
    ]
    table["decided"] = points["decided_why"].to_numpy() if "decided_why" in points else ""
    return table


def _search_panel(
    table: pd.DataFrame,
    looks: Sequence[Look],
    lines: tuple[float, float],
    reach: tuple[Any, Any],
    title: str,
    column: str,
) -> Any:
    base = alt.Chart(table)
    titles = (f"U_m of {short_label(column, 24)}", "mean risk of a record")
    tooltip = [alt.Tooltip("label:N", title="candidate"), alt.Tooltip("scheme:N", title="result")]
    tooltip += [alt.Tooltip("decided:N", title="decided by")] if table["decided"].any() else []
    ring = base.transform_filter("datum.chosen").mark_point(
        filled=False, size=320, color="black", strokeWidth=2, opacity=1, shape="circle"
    )
    number = base.mark_text(align="left", baseline="bottom", dx=8, dy=-6)
    layers = [
        *_draw_lines(lines, reach[0], _HALF),
        # Below the point, so that its tooltip works.
        ring.encode(x="across:Q", y="up:Q"),
        *_draw_points(base, looks, reach, titles, tooltip),
        number.encode(x="across:Q", y="up:Q", text="number:N"),
    ]
    return alt.layer(*layers).properties(title=title_panel(title), width=_HALF[0], height=_HALF[1])


def _draw_points(
    base: alt.Chart, looks: Iterable[Look], reach: tuple[Any, Any], titles: Sequence[Any], tooltip: list[Any]
) -> list[alt.Chart]:
    """Draw points with their bars, and the legend."""
    scales = [alt.Scale(domain=list(ends), nice=False, zero=False) for ends in reach]
    x = alt.X("across:Q", scale=scales[0], axis=number_axis(titles[0], ticks=6))
    y = alt.Y("up:Q", scale=scales[1], axis=number_axis(titles[1], ticks=6))
    looks = list(looks)
    legend = scheme_legend(looks, lines=False)
    colour, shape = (by_scheme(looks, kind, legend=legend) for kind in ("color", "shape"))
    wide = base.transform_filter(have_ends("left", "right")).mark_rule(strokeWidth=1.5)
    tall = base.transform_filter(have_ends("bottom", "top")).mark_rule(strokeWidth=1.5)
    # The first line of a title is the name.
    names = [title if isinstance(title, str) else title[0] for title in titles]
    numbers = tell_numbers(dict(zip(("across", "up"), names, strict=True)), ".3~g")
    return [
        wide.encode(x="left:Q", x2="right:Q", y=y, color=colour),
        tall.encode(x=x, y="bottom:Q", y2="top:Q", color=colour),
        base.mark_point(filled=True, size=90, opacity=1).encode(
            x=x, y=y, color=colour, shape=shape, tooltip=[*tooltip, *numbers]
        ),
    ]


def _draw_lines(lines: tuple[float, float], ends: tuple[float, float], size: tuple[int, int]) -> list[alt.Chart]:
    """Draw the sampling benchmark and the risk of the confidential data as dashed lines, if known."""
    across, up = lines
    # Labels are on the wider side of the vertical line.
    side, place, away = ("right", 4, -5) if across > sum(ends) / 2 else ("left", size[0] - 4, 5)
    layers = []
    if np.isfinite(across):
        fresh = alt.Chart(pd.DataFrame({"across": [across], "label": ["sampling benchmark"]}))
        text = fresh.mark_text(align=side, baseline="bottom", dx=away, fontStyle="italic")
        layers += [fresh.mark_rule(strokeDash=[2, 3]).encode(x="across:Q")]
        layers += [text.encode(x="across:Q", y=alt.value(size[1] - 4), text="label:N")]
    if np.isfinite(up):
        own = alt.Chart(pd.DataFrame({"up": [up], "label": [OWN]}))
        text = own.mark_text(align="left" if side == "right" else "right", baseline="bottom", dy=-3, fontStyle="italic")
        layers += [own.mark_rule(strokeDash=[2, 3]).encode(y="up:Q")]
        layers += [text.encode(x=alt.value(place), y="up:Q", text="label:N")]
    return layers


def _reach(values: pd.DataFrame | Floats, *also: float) -> tuple[float, float]:
    """Range of an axis with a margin; it begins at 0 if that is the minimum."""
    everything = np.append(np.asarray(values, dtype=float), also)
    low, high = float(np.nanmin(everything)), float(np.nanmax(everything))
    margin = 0.1 * ((high - low) or abs(high) or 1.0)
    return (low - margin if low else 0.0, high + margin)
