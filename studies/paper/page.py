"""A study as a folder: tidy tables, charts and a page in Markdown that shows them beside the paper's numbers."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from molehill import Evaluation
from molehill.charts import COLOURS, draw_svg, estimate_intervals, risk_scatter, risk_violins, weights_scatter
from studies.paper.claims import Claim, judge_claims
from studies.paper.results import DATA, UNWEIGHTED, Results

Charts = dict[str, alt.TopLevelMixin]

PAGE, OUTCOME = "reproduction.md", "outcome.md"
INTRODUCTION = """# The paper, reproduced

Jingchen Hu, Terrance Savitsky and Matthew Williams, *Risk-Efficient Bayesian Data Synthesis for Privacy Protection*: \
their tables and figures by number, their numbers and ours. This page and its figures are the output of the commands \
that are written in it.
"""
HOW_TO_READ = """Every table shows the paper's number, ours (the mean over replicates), and `spread`: the standard
deviation of one run, that is of one release of so many tables. `spread_of_fits` is the standard deviation of the means
of independent fits with other seeds. The paper shows one run. A difference below two spreads may be chance.

### Claims

Each conclusion of the paper is turned into a margin that is positive where the conclusion is true; the
number is its mean over all replicates, the error its standard deviation, the noise of one run. It **holds** if the
margin is above two errors, **does not hold** if it is below minus two, and is **within noise** otherwise: then one run,
such as the paper's, cannot tell. The last but one column says what many runs tell: whether the margin is on average
above 0 (**true**), below (**false**), or neither beyond two standard errors of the mean (**open**).
"""
RISES = """\
`rises` counts the records whose realised risk is above that under Synthesizer by more than {step:g}; `by_chance` is \
the same count between two runs of Synthesizer itself. `largest_expected_rise` is the largest rise of a record's \
expected risk, and `moles` the records that rise by more than the step there, beyond three Monte Carlo errors."""
# Of the frames of an evaluation, where the confidential data are a scheme of this name.
_COLUMNS = ["scheme", "column", "measure", "of", "at", "group", "name", "value", "low", "high"]
CONFIDENTIAL = "confidential"
# The columns of tables that fit on a page, where these are not all.
_FIT = {
    "estimates": (
        *("estimate", "scheme", "paper", "paper_low", "paper_high", "ours", "spread", "pooled_low", "pooled_high"),
        *("combined_low", "combined_high"),
    ),
    "lengths": (
        *("estimate", "scheme", "tables", "paper", "ours", "spread", "paper_length", "pooled_length"),
        *("pooled_length_spread", "paper_away_in_spreads", "combined_length"),
    ),
}


def join_pages(folders: Sequence[Path], docs: Path) -> Path:
    """Make the documentation's page from the folders of studies, and copy their figures into `images/`."""
    (docs / "images").mkdir(parents=True, exist_ok=True)
    for folder in folders:
        for path in sorted(folder.glob("reproduction-*.svg")):
            shutil.copyfile(path, docs / "images" / path.name)
    outcomes, pages = ([(folder / name).read_text(encoding="utf-8") for folder in folders] for name in (OUTCOME, PAGE))
    pages = [page.replace("](reproduction-", "](images/reproduction-") for page in pages]
    (docs / PAGE).write_text("\n".join([INTRODUCTION, *outcomes, *pages]), encoding="utf-8")
    return docs / PAGE


def markdown_table(table: pd.DataFrame, *, digits: int) -> str:
    """Write a frame as a table in Markdown; numbers that are missing are left blank."""

    def cell(value: object) -> str:
        if isinstance(value, bool | np.bool_):
            return "yes" if value else "no"
        if isinstance(value, float | np.floating):
            return "" if np.isnan(value) else f"{value:,.{digits}f}"
        return re.sub(r"\s+", " ", str(value)).replace("|", "/")

    numbers = [kind.kind in "iuf" for kind in table.dtypes]
    lines = ["| " + " | ".join(str(name).replace("_", " ") for name in table.columns) + " |"]
    lines.append("|" + "|".join("---:" if number else "---" for number in numbers) + "|")
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in table.itertuples(index=False)]
    return "\n".join(lines) + "\n"


class _Shown(NamedTuple):
    """A frame in a template: `{frame:2}` writes it with two digits, without the columns in which nothing stands."""

    frame: pd.DataFrame

    def __format__(self, digits: str) -> str:
        return markdown_table(self.frame.dropna(axis="columns", how="all"), digits=int(digits))


def write_study(
    folder: Path,
    name: str,
    title: str,
    results: Results,
    claims: Sequence[Claim],
    tables: Mapping[str, pd.DataFrame],
    charts: Charts,
    template: str,
    words: Mapping[str, Any],
) -> None:
    """Write the tables, charts and pages of a study: `words` and what is measured fill the template."""
    judged = judge_claims(claims, results)
    for key, table in {**tables, "claims": judged}.items():
        table.to_csv(folder / f"{key}.csv", index=False, float_format="%.10g", lineterminator="\n")
    for key, chart in charts.items():
        (folder / f"reproduction-{name}-{key}.svg").write_text(draw_svg(chart), encoding="utf-8")
    fits, called = results.fits[UNWEIGHTED], name.replace("-", " ")
    filled = {
        "results": results,
        "replicates": len(fits[0]["U_m"]),
        "fits": len(fits),
        "how_to_read": HOW_TO_READ,
        "rises": RISES.format(step=results.study.step),
        "claims": _tell_claims(judged, name),
        "table": {key: _Shown(table[list(_FIT.get(key, table))]) for key, table in tables.items()},
        "chart": {key: f"![{called}: {key.replace('-', ' ')}](reproduction-{name}-{key}.svg)" for key in charts},
    }
    (folder / PAGE).write_text(template.format_map({**words, **filled}), encoding="utf-8")
    (folder / OUTCOME).write_text(_tell_outcome(title, judged), encoding="utf-8")


def _tell_claims(claims: pd.DataFrame, name: str) -> str:
    """The table of claims, and how many there are of each verdict."""
    counts = claims["verdict"].value_counts()
    told = ", ".join(f"{counts.get(word, 0)} {word}" for word in ("holds", "does not hold", "within noise"))
    margins = zip(claims["number"], claims["error"], strict=True)
    shown = claims[["section", "sentence", "measure"]].assign(
        margin=[f"{_short(number, 4)} ({_short(error, 2)})" for number, error in margins],
        verdict="**" + claims["verdict"] + "**",
        on_average=claims["on_average"],
        figure=f"[figure](reproduction-{name}-" + claims["figure"] + ".svg)",
    )
    table = markdown_table(shown.rename(columns={"margin": "margin (error)"}), digits=4)
    return f"Of {len(claims)}: {told}.\n\n{table}"


def _tell_outcome(title: str, claims: pd.DataFrame) -> str:
    """Say in short what a study found: how many claims hold, and which are false."""
    counts = claims["verdict"].value_counts()
    told = f"of {len(claims)} claims {counts.get('holds', 0)} hold, {counts.get('does not hold', 0)} do not"
    lines = [f"- **{title}**: {told}, {counts.get('within noise', 0)} are within the noise of one run."]
    wrong = claims[(claims["verdict"] == "does not hold") | (claims["on_average"] == "false")]
    lines += [f"    - Not so on average: {row.sentence} (section {row.section})" for row in wrong.itertuples()]
    return "\n".join(lines) + "\n"


def _short(number: float, digits: int) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.{digits}g}"


def draw_violins(results: Results, schemes: Sequence[str], radius: float | None = None) -> alt.TopLevelMixin:
    """Risk of the records in one release of each scheme, at one radius or at that of each scheme's weights."""
    shown = {scheme: radius or results.schemes[scheme].radius for scheme in schemes}
    return risk_violins(_as_evaluation(results, shown, radius or results.schemes[UNWEIGHTED].radius))


def draw_moles(results: Results, scheme: str) -> alt.TopLevelMixin:
    """The paper's whack-a-mole scatter of one release, with what chance alone gives beside."""
    radius = results.schemes[scheme].radius
    evaluation = _as_evaluation(results, {UNWEIGHTED: radius, scheme: radius}, radius)
    return risk_scatter(evaluation, scheme, UNWEIGHTED, measure="realised", step=results.study.step)


def draw_estimates(results: Results) -> alt.TopLevelMixin:
    """Estimates with the paper's intervals, of one release of each scheme."""
    column, rows = results.study.survey.sensitive, []
    for name in results.study.estimates:
        for scheme in (DATA, *results.fits):
            row = (_in_charts(scheme), column, "estimate", name, np.nan, "", name)
            rows.append((*row, *results.estimate(scheme, name)[0]))
    utility = pd.DataFrame(rows, columns=_COLUMNS)
    return estimate_intervals(Evaluation(utility, utility, pd.DataFrame(), pd.DataFrame(), pd.DataFrame()))


def draw_weights(results: Results, schemes: Sequence[str]) -> alt.TopLevelMixin:
    """Weights of the records against their values, a panel a scheme."""
    weights = {scheme: results.fits[scheme][0]["weights"] for scheme in schemes}
    return weights_scatter(weights, results.values, column=results.study.survey.sensitive)


def draw_distances(table: pd.DataFrame) -> alt.TopLevelMixin:
    """U_m of every scheme."""
    rows = table[table["measure"] == "U_m"].rename(columns={"scheme": "row"})
    return draw_rows(rows, "U_m", "U_m: the paper's number and ours")


def draw_rows(rows: pd.DataFrame, axis: str, title: str) -> alt.TopLevelMixin:
    """The paper's numbers as crosses, ours with two spreads to either side."""
    reach = 2 * rows["spread"]
    rows = rows.assign(low=rows["ours"] - reach, high=rows["ours"] + reach)
    shown = rows[["row", "paper", "ours", "low", "high"]].round(5)
    base = alt.Chart(shown)
    place = alt.Y("row:N", title=None, sort=None, axis=alt.Axis(labelLimit=200))
    bars = base.mark_rule(strokeWidth=2.5, color=COLOURS[0]).encode(x=alt.X("low:Q", title=axis), x2="high:Q", y=place)
    ours = base.mark_point(filled=True, size=70, opacity=1, color=COLOURS[0]).encode(x="ours:Q", y=place)
    paper = alt.Chart(shown.dropna(subset="paper")).mark_point(shape="cross", size=90, filled=True, color=COLOURS[4])
    layers = alt.layer(bars, ours, paper.encode(x="paper:Q", y=place))
    words = "; ".join(
        f"{row['row']}: ours {row['ours']:.4g}" + (f", paper {row['paper']:.4g}" if np.isfinite(row["paper"]) else "")
        for row in shown.to_dict("records")
    )
    subtitle = ["Points: mean of our replicates, with two standard deviations to either side. Crosses: the paper."]
    chart = layers.properties(width=420, height=24 * len(shown))
    heading = alt.TitleParams(title, subtitle=subtitle, anchor="start", fontSize=15, subtitleColor="#555555", offset=12)
    return chart.properties(title=heading, description=f"{title}. {words}.", background="white", padding=8)


def _as_evaluation(results: Results, radii: Mapping[str, float], data_radius: float) -> Evaluation:
    """The first replicate of some schemes, as the library's charts take it."""
    records, rows = [], []
    for scheme, radius in {DATA: data_radius, **radii}.items():
        risk = results.risks(scheme, radius)[0].astype(np.float64)
        records.append(
            pd.DataFrame({"scheme": _in_charts(scheme), "record": np.arange(1, len(risk) + 1), "risk": risk})
        )
        about = (_in_charts(scheme), results.study.survey.sensitive)
        rows.append((*about, "risk_mean", "", np.nan, "", "", float(risk.mean()), np.nan, np.nan))
        if scheme not in {DATA, UNWEIGHTED}:
            chance, step = results.chance_rises(radius), results.study.step
            rows.append((*about, "rises", "", step, "", "", float(results.rises(scheme)[0]), np.nan, np.nan))
            ends = (float(chance.mean()), *np.quantile(chance, [0.025, 0.975]))
            rows.append((*about, "increases_by_chance", "", step, "", "", *ends))
    nothing = pd.DataFrame()
    everyone = pd.concat(records, ignore_index=True).assign(expected_risk=np.nan, expected_error=np.nan)
    return Evaluation(pd.DataFrame(rows, columns=_COLUMNS), nothing, nothing, nothing, everyone)


def _in_charts(scheme: str) -> str:
    return CONFIDENTIAL if scheme == DATA else scheme
