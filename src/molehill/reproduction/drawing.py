"""The figures of a study, drawn by the library's own charts from the first replicate of every scheme."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from molehill.evaluation import Evaluation
from molehill.figures import densities, estimate_intervals, risk_scatter, risk_violins, weights_scatter
from molehill.figures.style import COLOURS, CONFIDENTIAL, dress
from molehill.reproduction.results import UNWEIGHTED, Results, chance_rises
from molehill.reproduction.simulation import BY_TABLES
from molehill.simulation import nb_mixture

Figures = dict[str, alt.TopLevelMixin]


def draw_violins(results: Results, schemes: Sequence[str], radius: float | None = None) -> alt.TopLevelMixin:
    """Risk of the records in one release of each scheme, at one radius or at that of each scheme's weights."""
    shown = {scheme: results.radius[scheme] if radius is None else radius for scheme in schemes}
    return risk_violins(_evaluation(results, shown, data_radius=radius or results.radius[UNWEIGHTED]))


def draw_counts(results: Results) -> alt.TopLevelMixin:
    """Density of the counts, beside that of another sample of the population that the paper says they come from."""
    another = nb_mixture(len(results.data), results.study.seed + 1)
    return densities(results.data, {"another sample of the same mixture": another}, results.study.column)


def draw_moles(results: Results, scheme: str) -> alt.TopLevelMixin:
    """The paper's whack-a-mole scatter of one release, with what chance alone gives beside."""
    radius = results.radius[scheme]
    evaluation = _evaluation(results, {UNWEIGHTED: radius, scheme: radius}, data_radius=radius)
    return risk_scatter(evaluation, scheme, UNWEIGHTED, measure="realised", step=results.study.step)


def draw_estimates(results: Results, schemes: Sequence[str]) -> alt.TopLevelMixin:
    """Estimates with the paper's intervals, of one release of each scheme."""
    rows = []
    for name in results.study.estimates:
        key = f"pooled/{name}" if f"pooled/{name}" in results.confidential else f"combined/{name}"
        found = {CONFIDENTIAL: results.confidential[key]}
        found |= {scheme: results.estimate(scheme, name)[0] for scheme in schemes}
        for scheme, (value, low, high) in found.items():
            row: dict[str, Any] = {"scheme": scheme, "column": results.study.column, "measure": name}
            rows.append(row | {"value": value, "low": low, "high": high})
    utility = pd.DataFrame(rows)
    risk = pd.DataFrame({"scheme": [CONFIDENTIAL, *schemes], "measure": "", "value": 0.0})
    return estimate_intervals(Evaluation(risk, utility, pd.DataFrame(), pd.DataFrame(), pd.DataFrame()))


def draw_weights(results: Results, schemes: Sequence[str]) -> alt.TopLevelMixin:
    """Weights of the records against their values, a panel a scheme."""
    weights = {scheme: results.schemes[scheme][0]["weights"] for scheme in schemes}
    return weights_scatter(weights, results.data[results.study.column].to_numpy(), column=results.study.column)


def draw_distances(table: pd.DataFrame) -> alt.TopLevelMixin:
    """U_m of every scheme: the paper's number as a cross, ours with two spreads to either side."""
    rows = table[table["measure"] == "U_m"].assign(
        low=lambda t: t["ours"] - 2 * t["spread"], high=lambda t: t["ours"] + 2 * t["spread"]
    )
    return _draw_rows(rows, "scheme", "U_m", "U_m: the paper's number and ours")


def draw_lengths(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Table 6: length of the pooled interval of the mean by the number of tables."""
    rows = table[(table["estimate"] == "mean") & table["scheme"].isin(BY_TABLES)].assign(
        row=lambda t: t["scheme"] + ", L = " + t["tables"].astype(str),
        ours=lambda t: t["pooled_length"],
        paper=lambda t: t["paper_length"],
        low=lambda t: t["pooled_length"] - 2 * t["pooled_length_spread"],
        high=lambda t: t["pooled_length"] + 2 * t["pooled_length_spread"],
    )
    return _draw_rows(rows, "row", "length of the 95% interval of the mean", "Interval length by number of tables")


def _draw_rows(rows: pd.DataFrame, field: str, axis: str, title: str) -> alt.TopLevelMixin:
    shown = rows[[field, "paper", "ours", "low", "high"]].round(5)
    base = alt.Chart(shown)
    place = alt.Y(f"{field}:N", title=None, sort=None, axis=alt.Axis(labelLimit=200))
    bars = base.mark_rule(strokeWidth=2.5, color=COLOURS[0]).encode(x=alt.X("low:Q", title=axis), x2="high:Q", y=place)
    ours = base.mark_point(filled=True, size=70, opacity=1, color=COLOURS[0]).encode(x="ours:Q", y=place)
    paper = alt.Chart(shown.dropna(subset="paper")).mark_point(shape="cross", size=90, filled=True, color=COLOURS[4])
    layers = alt.layer(bars, ours, paper.encode(x="paper:Q", y=place))
    words = "; ".join(
        f"{row[field]}: ours {row['ours']:.4g}" + (f", paper {row['paper']:.4g}" if np.isfinite(row["paper"]) else "")
        for row in shown.to_dict("records")
    )
    subtitle = ["Points: mean of our replicates, with two standard deviations to either side. Crosses: the paper."]
    chart = layers.properties(width=420, height=24 * len(shown))
    return dress(chart, title, subtitle=subtitle, description=f"{title}. {words}.")


def _evaluation(results: Results, radii: Mapping[str, float], *, data_radius: float) -> Evaluation:
    """The first replicate of some schemes, as the library's charts take it."""
    records = [_records(CONFIDENTIAL, results.confidential[f"risk/{data_radius}"])]
    words = f"records whose risk rises by more than {results.study.step:g}"
    rows: list[dict[str, Any]] = [
        {"scheme": CONFIDENTIAL, "measure": "", "value": np.nan, "low": np.nan, "high": np.nan}
    ]
    for scheme, radius in radii.items():
        records.append(_records(scheme, results.schemes[scheme][0][f"risk/{radius}"][0]))
        rows.append({"scheme": scheme, "measure": "", "value": np.nan, "low": np.nan, "high": np.nan})
        if scheme != UNWEIGHTED:
            chance = chance_rises(results, radius)
            low, high = np.quantile(chance, [0.025, 0.975])
            ends = {"value": float(chance.mean()), "low": float(low), "high": float(high)}
            rows.append({"scheme": scheme, "measure": words, "value": np.nan, "low": np.nan, "high": np.nan})
            rows.append({"scheme": scheme, "measure": f"{words}, by chance alone"} | ends)
    return Evaluation(
        pd.DataFrame(rows), pd.DataFrame(), pd.DataFrame(), pd.DataFrame(), pd.concat(records, ignore_index=True)
    )


def _records(scheme: str, risk: Any) -> pd.DataFrame:
    numbers = np.arange(1, len(risk) + 1)
    return pd.DataFrame(
        {
            "scheme": scheme,
            "record": numbers,
            "risk": np.asarray(risk, float),
            "expected_risk": np.nan,
            "expected_error": np.nan,
        }
    )
