"""A study as a folder: tidy tables, charts and a page in Markdown that shows them beside the paper's numbers."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from molehill.charts import densities, draw_svg, estimate_intervals, risk_scatter, risk_violins, weights_scatter
from molehill.charts.style import COLOURS, CONFIDENTIAL, dress
from molehill.errors import InputError
from molehill.evaluation.evaluation import Evaluation
from molehill.evaluation.measure import COLUMNS
from molehill.files import write_text
from molehill.reproduction.claims import APPLICATION_CLAIMS, SIMULATION_CLAIMS, judge_claims
from molehill.reproduction.paper import (
    APPLICATION_ECDF,
    APPLICATION_ESTIMATES,
    APPLICATION_RISK_IQR,
    SIMULATION_DATA,
    SIMULATION_ECDF,
    SIMULATION_TABLES,
)
from molehill.reproduction.replicates import TABLES
from molehill.reproduction.results import (
    DATA,
    UNWEIGHTED,
    Results,
    ecdf_table,
    estimates_table,
    fits_table,
    rises_table,
    risk_table,
)
from molehill.reproduction.studies import (
    MARGINALS,
    TOPCODED_ABOVE,
    TOPCODING,
    data_row,
    length_table,
    top_means,
    top_table,
)
from molehill.tables.populations import nb_mixture

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
SIMULATION_PAGE = """\
## The simulation study (section 2.4, supplement section 6), on {which}

    {command}

{results.view.records:,} counts; {replicates} replicates of the first fit of every scheme, and {fits} fit(s) in all. \
The intruder knows nothing but the outcome: all records are in one pattern.

{warning}{how_to_read}
{claims}
### Figure 4: the data

{chart[data]}

### Tables 5 and S2: distance of the empirical distributions

{table[ecdf]:5}
The three- and four-way rows are ours: the paper mentions these weights and prints no number.

{chart[ecdf]}

### Table 6, first row: the data

Bootstrapped with the random numbers that R gives the authors' program.

{table[data]:2}
### Table 6: estimates and intervals by the number of tables L

`pooled` is the paper's interval: the bootstrap values of all tables together. It holds the noise between the tables \
whole and so grows with L. `combined` is the rule for partially synthetic data, which divides that noise by L: it \
shrinks with L, and is the library's default.

{table[lengths]:2}
{chart[lengths]}

### Figures 7 and S4: estimates with the paper's intervals

{table[estimates]:2}
{chart[estimates]}

### Figures 5a, 6 and S2: risk

{table[risk]:4}
{chart[violins-r30]}

{chart[violins-r25]}

{chart[violins-r20]}

{chart[violins-r15]}

{chart[violins-marginal]}

### Figures 5b and S3: the whack-a-mole, with what chance alone gives

`rises` counts the records whose realised risk is above that under Synthesizer by more than {results.study.step:g}; \
`by_chance` is the same count between two runs of Synthesizer itself. `largest_expected_rise` is the largest rise of a \
record's expected risk, and `moles` the records that rise by more than the step there, beyond three Monte Carlo errors.

{table[rises]:3}
{chart[moles-marginal]}

{chart[moles-pairwise]}

### Weights by order

{chart[weights]}

### Fits

{table[fits]:3}"""
APPLICATION_PAGE = """\
## The application (sections 2.3 and 3.2, supplement section 7), on {which}

    {command}

{results.view.records:,} records, sensitive `{results.study.survey.sensitive}`, known {known} ({alone} records are \
alone in their pattern), radius 0.2. {replicates} replicates of 20 tables from each of {fits} fit(s) of every scheme. \
The paper's sample of 6,208 consumer units is confidential, so its numbers stand beside ours for their pattern, not to \
agree. Incomes are synthesized by the semicontinuous model: sign, then a mixture of regressions of the logarithm.

{warning}{how_to_read}
{claims}
### Tables 7, S1 and S3: distance of the empirical distributions

{table[ecdf]:6}
{chart[ecdf]}

### Tables 2 and 3: the ten riskiest and the ten largest records

Values are told as ranges. `one run` is the realised risk of 20 tables, as in the paper; `expected` is the mean over \
all our tables. Topcoding puts the values above the {topcoded:g}% quantile to that quantile.

{table[top_means]:4}
{table[top]:3}
### Table 4, figures 10 and S6: estimates

The coefficient is that of `{results.study.survey.term[0]}` = {results.study.survey.term[1]} in a linear \
regression on {regressors}, by the combining rule; the others have the paper's pooled intervals.

{table[estimates]:0}
{chart[estimates]}

### Figures 2, 8 and S7: risk

{table[risk]:4}
{chart[violins]}

{chart[violins-adjusted]}

### Figures 3 and 9: the whack-a-mole, with what chance alone gives

`rises` counts the records whose realised risk is above that under Synthesizer by more than {results.study.step:g}; \
`by_chance` is the same count between two runs of Synthesizer itself. `largest_expected_rise` is the largest rise of a \
record's expected risk, and `moles` the records that rise by more than the step there, beyond three Monte Carlo errors.

{table[rises]:3}
{chart[moles-marginal]}

{chart[moles-pairwise]}

### Figure S5: weights

{chart[weights]}

{chart[weights-adjusted]}

### Fits

{table[fits]:3}"""
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
_ORDERS = ("Marginal r=.15", "Pairwise r=.15", "3-way r=.15", "4-way r=.15")
_APPLIED = (UNWEIGHTED, "Marginal", "Pairwise")
_ADJUSTED = ("Pairwise", "Pairwise c=1.5", "Pairwise g=.1")


def write_simulation(results: Results, folder: Path, command: str) -> None:
    """Write the simulation study: tables, charts and page."""
    tables = {
        "ecdf": ecdf_table(results, SIMULATION_ECDF),
        "data": data_row(results),
        "lengths": length_table(results),
        "estimates": estimates_table(results, {**SIMULATION_TABLES, (DATA, TABLES): SIMULATION_DATA}),
        "risk": risk_table(results, {}),
        "rises": rises_table(results, [name for name in results.fits if name != UNWEIGHTED]),
        "fits": fits_table(results),
        "claims": judge_claims(SIMULATION_CLAIMS, results),
    }
    charts: Charts = {
        "data": _draw_counts(results),
        "ecdf": _draw_distances(tables["ecdf"]),
        "lengths": _draw_lengths(tables["lengths"]),
        "estimates": _draw_estimates(results),
        "violins-r30": _draw_violins(results, [UNWEIGHTED, MARGINALS[0.30]], 0.30),
        "violins-r25": _draw_violins(results, [UNWEIGHTED, MARGINALS[0.25]], 0.25),
        "violins-r20": _draw_violins(results, [UNWEIGHTED, MARGINALS[0.20]], 0.20),
        "violins-r15": _draw_violins(results, [UNWEIGHTED, *_ORDERS], 0.15),
        "violins-marginal": _draw_violins(results, list(MARGINALS.values())),
        "moles-marginal": _draw_moles(results, "Marginal r=.15"),
        "moles-pairwise": _draw_moles(results, "Pairwise r=.15"),
        "weights": _draw_weights(results, _ORDERS),
    }
    own = results.printed_on
    which = "the paper's own data" if own else "data drawn with the paper's parameters"
    warning = "" if own else "These are not the data of which the paper prints numbers.\n\n"
    words = {"which": which, "command": command, "warning": warning}
    outcome = _tell_outcome(f"The simulation study, on {which}", tables["claims"])
    _write(folder, "simulation", results, tables, charts, SIMULATION_PAGE, words, outcome)


def write_application(results: Results, folder: Path, command: str, name: str) -> None:
    """Write the application: tables, charts and page; `name` says which survey it is."""
    shown = [*_APPLIED, TOPCODING]
    printed = {(scheme, TABLES): estimates for scheme, estimates in APPLICATION_ESTIMATES.items()}
    tables = {
        "ecdf": ecdf_table(results, APPLICATION_ECDF),
        "estimates": estimates_table(results, printed),
        "risk": risk_table(results, APPLICATION_RISK_IQR),
        "rises": rises_table(results, [*_APPLIED[1:], *_ADJUSTED[1:]]),
        "top": top_table(results, shown),
        "top_means": top_means(results, shown),
        "fits": fits_table(results),
        "claims": judge_claims(APPLICATION_CLAIMS, results),
    }
    charts: Charts = {
        "ecdf": _draw_distances(tables["ecdf"]),
        "estimates": _draw_estimates(results),
        "violins": _draw_violins(results, shown),
        "violins-adjusted": _draw_violins(results, [UNWEIGHTED, *_ADJUSTED]),
        "moles-marginal": _draw_moles(results, "Marginal"),
        "moles-pairwise": _draw_moles(results, "Pairwise"),
        # A chart holds at most 5,000 points: two panels each.
        "weights": _draw_weights(results, ("Marginal", "Pairwise")),
        "weights-adjusted": _draw_weights(results, _ADJUSTED[1:]),
    }
    survey, which = results.study.survey, f"the {name.replace('-', ' ')}"
    words = {
        "which": which,
        "command": command,
        "known": ", ".join(survey.known),
        "alone": int((results.view.sizes == 1).sum()),
        "warning": _tell_convergence(tables["fits"]),
        "topcoded": TOPCODED_ABOVE,
        "regressors": ", ".join(survey.regressors),
    }
    outcome = _tell_outcome(f"The application, on {which}", tables["claims"])
    _write(folder, name, results, tables, charts, APPLICATION_PAGE, words, outcome)


def join_pages(folders: Sequence[Path], docs: Path) -> Path:
    """Make the documentation's page from the folders of studies, and copy their figures into `images/`."""
    (docs / "images").mkdir(parents=True, exist_ok=True)
    for folder in folders:
        if not (folder / PAGE).exists():
            raise InputError("folders", f"{str(folder)!r} holds no {PAGE}", "Run the study first")
        for path in sorted(folder.glob("reproduction-*.svg")):
            shutil.copyfile(path, docs / "images" / path.name)
    outcomes, pages = ([(folder / name).read_text(encoding="utf-8") for folder in folders] for name in (OUTCOME, PAGE))
    pages = [page.replace("](reproduction-", "](images/reproduction-") for page in pages]
    write_text(docs / PAGE, "\n".join([INTRODUCTION, *outcomes, *pages]))
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


def _write(
    folder: Path,
    name: str,
    results: Results,
    tables: Mapping[str, pd.DataFrame],
    charts: Charts,
    template: str,
    words: Mapping[str, Any],
    outcome: str,
) -> None:
    for key, table in tables.items():
        write_text(folder / f"{key}.csv", table.to_csv(index=False, float_format="%.10g", lineterminator="\n"))
    for key, chart in charts.items():
        write_text(folder / f"reproduction-{name}-{key}.svg", draw_svg(chart))
    fits, called = results.fits[UNWEIGHTED], name.replace("-", " ")
    filled = {
        "results": results,
        "replicates": len(fits[0]["U_m"]),
        "fits": len(fits),
        "how_to_read": HOW_TO_READ,
        "claims": _tell_claims(tables["claims"], name),
        "table": {key: _Shown(table[list(_FIT.get(key, table))]) for key, table in tables.items()},
        "chart": {key: f"![{called}: {key.replace('-', ' ')}](reproduction-{name}-{key}.svg)" for key in charts},
    }
    write_text(folder / PAGE, template.format_map({**words, **filled}))
    write_text(folder / OUTCOME, outcome)


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


def _tell_convergence(fits: pd.DataFrame) -> str:
    """Which fits cannot be trusted."""
    worst = fits[~fits["converged"]]
    if worst.empty:
        return "All fits converged.\n\n"
    told = ", ".join(f"{row.scheme} (fit {row.fit}, R-hat {row.rhat:.3f})" for row in worst.itertuples())
    return (
        "These fits did not meet the library's limits of convergence, and are shown all the same; what is compared "
        f"with them is known less well than its error says: {told}.\n\n"
    )


def _short(number: float, digits: int) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.{digits}g}"


def _draw_violins(results: Results, schemes: Sequence[str], radius: float | None = None) -> alt.TopLevelMixin:
    """Risk of the records in one release of each scheme, at one radius or at that of each scheme's weights."""
    shown = {scheme: radius or results.schemes[scheme].radius for scheme in schemes}
    return risk_violins(_as_evaluation(results, shown, radius or results.schemes[UNWEIGHTED].radius))


def _draw_counts(results: Results) -> alt.TopLevelMixin:
    """Density of the counts, beside that of another sample of the population that the paper says they come from."""
    another = nb_mixture(results.view.records, results.study.seed + 1)
    released = {"another sample of the same mixture": another}
    return densities(results.view.table, released, results.study.survey.sensitive)


def _draw_moles(results: Results, scheme: str) -> alt.TopLevelMixin:
    """The paper's whack-a-mole scatter of one release, with what chance alone gives beside."""
    radius = results.schemes[scheme].radius
    evaluation = _as_evaluation(results, {UNWEIGHTED: radius, scheme: radius}, radius)
    return risk_scatter(evaluation, scheme, UNWEIGHTED, measure="realised", step=results.study.step)


def _draw_estimates(results: Results) -> alt.TopLevelMixin:
    """Estimates with the paper's intervals, of one release of each scheme."""
    column, rows = results.study.survey.sensitive, []
    for name in results.study.estimates:
        for scheme in (DATA, *results.fits):
            row = (_in_charts(scheme), column, "estimate", name, np.nan, "", name)
            rows.append((*row, *results.estimate(scheme, name)[0]))
    utility = pd.DataFrame(rows, columns=COLUMNS)
    return estimate_intervals(Evaluation(utility, utility, pd.DataFrame(), pd.DataFrame(), pd.DataFrame()))


def _draw_weights(results: Results, schemes: Sequence[str]) -> alt.TopLevelMixin:
    """Weights of the records against their values, a panel a scheme."""
    weights = {scheme: results.fits[scheme][0]["weights"] for scheme in schemes}
    return weights_scatter(weights, results.view.values[:, 0], column=results.study.survey.sensitive)


def _draw_distances(table: pd.DataFrame) -> alt.TopLevelMixin:
    """U_m of every scheme."""
    rows = table[table["measure"] == "U_m"].rename(columns={"scheme": "row"})
    return _draw_rows(rows, "U_m", "U_m: the paper's number and ours")


def _draw_lengths(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Table 6: length of the pooled interval of the mean by the number of tables."""
    rows = table[table["estimate"] == "mean"]
    lengths = {"paper": rows["paper_length"], "ours": rows["pooled_length"], "spread": rows["pooled_length_spread"]}
    rows = rows.assign(row=rows["scheme"] + ", L = " + rows["tables"].astype(str), **lengths)
    return _draw_rows(rows, "length of the 95% interval of the mean", "Interval length by number of tables")


def _draw_rows(rows: pd.DataFrame, axis: str, title: str) -> alt.TopLevelMixin:
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
    return dress(chart, title, subtitle=subtitle, description=f"{title}. {words}.")


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
            rows.append((*about, "rises_by_chance", "", step, "", "", *ends))
    nothing = pd.DataFrame()
    everyone = pd.concat(records, ignore_index=True).assign(expected_risk=np.nan, expected_error=np.nan)
    return Evaluation(pd.DataFrame(rows, columns=COLUMNS), nothing, nothing, nothing, everyone)


def _in_charts(scheme: str) -> str:
    return CONFIDENTIAL if scheme == DATA else scheme
