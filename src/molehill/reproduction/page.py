"""A study as a folder: tidy tables, figures and a page in Markdown that shows them beside the paper's numbers."""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from molehill.charts import densities, draw_svg, estimate_intervals, risk_scatter, risk_violins, weights_scatter
from molehill.charts.style import COLOURS, CONFIDENTIAL, dress
from molehill.errors import InputError
from molehill.evaluation.evaluation import Evaluation
from molehill.files import write_text
from molehill.reproduction.claims import APPLICATION_CLAIMS, SIMULATION_CLAIMS, judge_claims
from molehill.reproduction.paper import APPLICATION_ECDF, APPLICATION_ESTIMATES, APPLICATION_RISK_IQR, SIMULATION_ECDF
from molehill.reproduction.results import (
    UNWEIGHTED,
    Results,
    chance_rises,
    ecdf_table,
    estimates_table,
    fits_table,
    rises_table,
    risk_table,
)
from molehill.reproduction.studies import (
    BY_TABLES,
    TOPCODED_ABOVE,
    TOPCODING,
    data_row,
    length_table,
    printed_estimates,
    protected_alone,
    top_means,
    top_table,
)
from molehill.tables.populations import nb_mixture

HOW_TO_READ = """Every table shows the paper's number, ours (the mean over replicates), and `spread`: the standard
deviation of one run, that is of one release of so many tables. `spread_of_fits` is the standard deviation of the means
of independent fits with other seeds. The paper shows one run. A difference below two spreads may be chance.
"""
CLAIM_RULE = """Each conclusion of the paper is turned into a margin that is positive where the conclusion is true; the
number is its mean over all replicates, the error its standard deviation, the noise of one run. It **holds** if the
margin is above two errors, **does not hold** if it is below minus two, and is **within noise** otherwise: then one run,
such as the paper's, cannot tell. The last but one column says what many runs tell: whether the margin is on average
above 0 (**true**), below (**false**), or neither beyond two standard errors of the mean (**open**).
"""


def figure_links(name: str) -> Callable[[str], str]:
    """Give a function that shows a figure of a study by its name."""

    def show(key: str) -> str:
        return f"![{name.replace('-', ' ')}: {key.replace('-', ' ')}](reproduction-{name}-{key}.svg)\n"

    return show


def claims_text(claims: pd.DataFrame, name: str) -> str:
    """The table of claims, and how many there are of each verdict."""
    counts = claims["verdict"].value_counts()
    told = ", ".join(f"{counts.get(word, 0)} {word}" for word in ("holds", "does not hold", "within noise"))
    shown = claims.assign(
        figure=[f"[figure](reproduction-{name}-{key}.svg)" for key in claims["figure"]],
        number=[f"{_short(a, 4)} ({_short(b, 2)})" for a, b in zip(claims["number"], claims["error"], strict=True)],
        verdict=[f"**{word}**" for word in claims["verdict"]],
    )
    shown = shown[["section", "sentence", "measure", "number", "verdict", "on_average", "figure"]]
    return f"Of {len(claims)}: {told}.\n\n" + markdown_table(
        shown.rename(columns={"number": "margin (error)"}), digits=4
    )


def markdown_table(table: pd.DataFrame, *, digits: int) -> str:
    """A frame as a table in Markdown; numbers that are missing are left blank."""

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


def short_estimates(table: pd.DataFrame) -> pd.DataFrame:
    """The columns of the estimates that fit on a page."""
    names = ["estimate", "scheme", "paper", "paper_low", "paper_high", "ours", "spread", "pooled_low", "pooled_high"]
    return table[[*names, "combined_low", "combined_high"]]


def short_lengths(table: pd.DataFrame) -> pd.DataFrame:
    """The columns of table 6 that fit on a page."""
    names = ["estimate", "scheme", "tables", "paper", "ours", "spread", "paper_length", "pooled_length"]
    return table[[*names, "pooled_length_spread", "paper_away_in_spreads", "combined_length"]]


def other_data(results: Results) -> str:
    """A warning where the data are not the paper's."""
    return "" if results.printed_on else "These are not the data of which the paper prints numbers.\n\n"


def rises_words(results: Results) -> str:
    """What the table of rises says."""
    return (
        f"`rises` counts the records whose realised risk is above that under Synthesizer by more than "
        f"{results.study.step:g}; `by_chance` is the same count between two runs of Synthesizer itself. "
        "`largest_expected_rise` is the largest rise of a record's expected risk, and `moles` the records that rise by "
        "more than the step there, beyond three Monte Carlo errors.\n"
    )


def convergence_text(fits: pd.DataFrame) -> str:
    """Which fits cannot be trusted."""
    worst = fits[~fits["converged"]]
    if worst.empty:
        return "All fits converged.\n"
    told = ", ".join(f"{row.scheme} (fit {row.fit}, R-hat {row.rhat:.3f})" for row in worst.itertuples())
    return (
        "These fits did not meet the library's limits of convergence, and are shown all the same; what is compared "
        f"with them is known less well than its error says: {told}.\n"
    )


def _short(number: float, digits: int) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.{digits}g}"


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


PAGE = "reproduction.md"
_MARGINALS = ("Marginal r=.30", "Marginal r=.25", "Marginal r=.20", "Marginal r=.15")
_ORDERS = ("Marginal r=.15", "Pairwise r=.15", "3-way r=.15", "4-way r=.15")
_APPLIED = (UNWEIGHTED, "Marginal", "Pairwise")
_ADJUSTED = ("Pairwise", "Pairwise c=1.5", "Pairwise g=.1")


def write_simulation(results: Results, folder: Path, command: str) -> None:
    """Write the simulation study: tables, figures and page."""
    tables = {
        "ecdf": ecdf_table(results, SIMULATION_ECDF),
        "data": data_row(results),
        "lengths": length_table(results),
        "estimates": estimates_table(results, printed_estimates()),
        "risk": risk_table(results, {}),
        "rises": rises_table(results, [name for name in results.schemes if name != UNWEIGHTED]),
        "fits": fits_table(results),
        "claims": judge_claims(SIMULATION_CLAIMS, results),
    }
    figures: Figures = {
        "data": draw_counts(results),
        "ecdf": draw_distances(tables["ecdf"]),
        "lengths": draw_lengths(tables["lengths"]),
        "estimates": draw_estimates(results, list(results.schemes)),
        "violins-r15": draw_violins(results, [UNWEIGHTED, *_ORDERS], 0.15),
        "violins-marginal": draw_violins(results, _MARGINALS),
        "moles-marginal": draw_moles(results, "Marginal r=.15"),
        "moles-pairwise": draw_moles(results, "Pairwise r=.15"),
        "weights": draw_weights(results, _ORDERS),
    }
    for radius in (0.3, 0.25, 0.2):
        name = f"Marginal r=.{round(100 * radius)}"
        figures[f"violins-r{round(100 * radius)}"] = draw_violins(results, [UNWEIGHTED, name], radius)
    replicates = len(results.schemes[UNWEIGHTED][0]["U_m"])
    fits = len(results.schemes[UNWEIGHTED])
    which = "the paper's own data" if results.printed_on else "data drawn with the paper's parameters"
    figure = figure_links("simulation")
    text = [
        f"## The simulation study (section 2.4, supplement section 6), on {which}\n",
        f"    {command}\n",
        (
            f"{len(results.data):,} counts; {replicates} replicates of the first fit of every "
            f"scheme, and {fits} fit(s) in "
            "all. The intruder knows nothing but the outcome: all records are in one pattern.\n"
        ),
        other_data(results) + HOW_TO_READ,
        "### Claims\n",
        CLAIM_RULE,
        claims_text(tables["claims"], "simulation"),
        "### Figure 4: the data\n",
        figure("data"),
        "### Tables 5 and S2: distance of the empirical distributions\n",
        markdown_table(tables["ecdf"], digits=5),
        "The three- and four-way rows are ours: the paper mentions these weights and prints no number.\n",
        figure("ecdf"),
        "### Table 6, first row: the data\n",
        "Bootstrapped with the random numbers that R gives the authors' program.\n",
        markdown_table(tables["data"], digits=2),
        "### Table 6: estimates and intervals by the number of tables L\n",
        (
            "`pooled` is the paper's interval: the bootstrap values of all tables together. It "
            "holds the noise between the "
            "tables whole and so grows with L. `combined` is the rule for partially synthetic data, which divides that "
            "noise by L: it shrinks with L, and is the library's default.\n"
        ),
        markdown_table(short_lengths(tables["lengths"]), digits=2),
        figure("lengths"),
        "### Figures 7 and S4: estimates with the paper's intervals\n",
        markdown_table(short_estimates(tables["estimates"]), digits=2),
        figure("estimates"),
        "### Figures 5a, 6 and S2: risk\n",
        markdown_table(tables["risk"].drop(columns="paper"), digits=4),
        *(figure(f"violins-{name}") for name in ("r30", "r25", "r20", "r15", "marginal")),
        "### Figures 5b and S3: the whack-a-mole, with what chance alone gives\n",
        rises_words(results),
        markdown_table(tables["rises"], digits=3),
        figure("moles-marginal"),
        figure("moles-pairwise"),
        "### Weights by order\n",
        figure("weights"),
        "### Fits\n",
        markdown_table(tables["fits"], digits=3),
    ]
    _write(folder, "simulation", tables, figures, text)


def write_application(results: Results, folder: Path, command: str, name: str) -> None:
    """Write the application: tables, figures and page; `name` says which survey it is."""
    shown = [*_APPLIED, TOPCODING]
    tables = {
        "ecdf": ecdf_table(results, APPLICATION_ECDF),
        "estimates": estimates_table(results, APPLICATION_ESTIMATES),
        "risk": risk_table(results, APPLICATION_RISK_IQR),
        "rises": rises_table(results, [*_APPLIED[1:], *_ADJUSTED[1:]]),
        "top": top_table(results, shown),
        "top_means": top_means(results, shown),
        "fits": fits_table(results),
        "claims": judge_claims(APPLICATION_CLAIMS, results),
    }
    figures: Figures = {
        "ecdf": draw_distances(tables["ecdf"]),
        "estimates": draw_estimates(results, list(results.schemes)),
        "violins": draw_violins(results, shown),
        "violins-adjusted": draw_violins(results, [UNWEIGHTED, *_ADJUSTED]),
        "moles-marginal": draw_moles(results, "Marginal"),
        "moles-pairwise": draw_moles(results, "Pairwise"),
        # A chart holds at most 5,000 points: two panels each.
        "weights": draw_weights(results, ("Marginal", "Pairwise")),
        "weights-adjusted": draw_weights(results, _ADJUSTED[1:]),
    }
    study = results.study
    figure = figure_links(name)
    replicates, fits = len(results.schemes[UNWEIGHTED][0]["U_m"]), len(results.schemes[UNWEIGHTED])
    column, level = study.term
    text = [
        f"## The application (sections 2.3 and 3.2, supplement section 7), on the {name.replace('-', ' ')}\n",
        f"    {command}\n",
        (
            f"{len(results.data):,} records, sensitive `{study.column}`, known {', '.join(study.known)} "
            f"({protected_alone(results)} records are alone in their pattern), radius 0.2. "
            f"{replicates} replicates of 20 "
            f"tables from each of {fits} fit(s) of every scheme. The paper's sample of 6,208 consumer units is "
            "confidential, so its numbers stand beside ours for their pattern, not to agree. "
            "Incomes are synthesized by "
            "the semicontinuous model: sign, then a mixture of regressions of the logarithm.\n"
        ),
        convergence_text(tables["fits"]),
        HOW_TO_READ,
        "### Claims\n",
        CLAIM_RULE,
        claims_text(tables["claims"], name),
        "### Tables 7, S1 and S3: distance of the empirical distributions\n",
        markdown_table(tables["ecdf"].drop(columns="paper_away_in_spreads"), digits=6),
        figure("ecdf"),
        "### Tables 2 and 3: the ten riskiest and the ten largest records\n",
        (
            "Values are told as ranges. `one run` is the realised risk of 20 tables, as in the "
            "paper; `expected` is the "
            f"mean over all our tables. Topcoding puts the values above the {TOPCODED_ABOVE:g}% "
            "quantile to that quantile.\n"
        ),
        markdown_table(tables["top_means"], digits=4),
        markdown_table(tables["top"], digits=3),
        (
            f"### Table 4, figures 10 and S6: estimates\n\nThe coefficient is that of `{column}` = {level} in a linear "
            f"regression on {', '.join(study.regressors)}, by the combining rule; the others have the paper's pooled "
            "intervals.\n"
        ),
        markdown_table(short_estimates(tables["estimates"]), digits=0),
        figure("estimates"),
        "### Figures 2, 8 and S7: risk\n",
        markdown_table(tables["risk"], digits=4),
        figure("violins"),
        figure("violins-adjusted"),
        "### Figures 3 and 9: the whack-a-mole, with what chance alone gives\n",
        rises_words(results),
        markdown_table(tables["rises"], digits=3),
        figure("moles-marginal"),
        figure("moles-pairwise"),
        "### Figure S5: weights\n",
        figure("weights"),
        figure("weights-adjusted"),
        "### Fits\n",
        markdown_table(tables["fits"], digits=3),
    ]
    _write(folder, name, tables, figures, text)


def join_pages(folders: Sequence[Path], docs: Path) -> Path:
    """Make the documentation's page from the folders of studies, and copy their figures into `images/`."""
    parts = [
        (
            "# The paper, reproduced\n\nJingchen Hu, Terrance Savitsky and Matthew Williams, "
            "*Risk-Efficient Bayesian Data "
            "Synthesis for Privacy Protection*: their tables and figures by number, their numbers "
            "and ours. This page and "
            "its figures are the output of the commands that are written in it.\n"
        )
    ]
    (docs / "images").mkdir(parents=True, exist_ok=True)
    pages = []
    for folder in folders:
        if not (folder / PAGE).exists():
            raise InputError("folders", f"{str(folder)!r} holds no {PAGE}", "Run the study first")
        text = (folder / PAGE).read_text(encoding="utf-8")
        parts.append(_outcome(text, pd.read_csv(folder / "claims.csv", dtype={"on_average": str})))
        pages.append(text.replace("](reproduction-", "](images/reproduction-"))
        for path in sorted(folder.glob("reproduction-*.svg")):
            shutil.copyfile(path, docs / "images" / path.name)
    parts += pages
    write_text(docs / PAGE, "\n".join(parts))
    return docs / PAGE


def _outcome(text: str, claims: pd.DataFrame) -> str:
    """Say in short what a study found: how many claims hold, and which are false."""
    title = re.sub(r"^## | \(.*\)", "", text.split("\n", 1)[0])
    counts = claims["verdict"].value_counts()
    told = f"of {len(claims)} claims {counts.get('holds', 0)} hold, {counts.get('does not hold', 0)} do not"
    lines = [f"- **{title}**: {told}, {counts.get('within noise', 0)} are within the noise of one run."]
    wrong = claims[(claims["verdict"] == "does not hold") | (claims["on_average"] == "false")]
    lines += [f"    - Not so on average: {row.sentence} (section {row.section})" for row in wrong.itertuples()]
    return "\n".join(lines) + "\n"


def _write(folder: Path, name: str, tables: Mapping[str, pd.DataFrame], figures: Figures, text: Sequence[str]) -> None:
    for key, table in tables.items():
        write_text(folder / f"{key}.csv", table.to_csv(index=False, float_format="%.10g", lineterminator="\n"))
    for key, figure in figures.items():
        write_text(folder / f"reproduction-{name}-{key}.svg", draw_svg(figure))
    write_text(folder / PAGE, "\n".join(text))
