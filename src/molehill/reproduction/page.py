"""A study as a folder: tidy tables, figures and a page in Markdown that shows them beside the paper's numbers."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from molehill.errors import InputError
from molehill.figures import draw_svg
from molehill.files import write_text
from molehill.reproduction.application import TOPCODED_ABOVE, TOPCODING, protected_alone, top_means, top_table
from molehill.reproduction.application_claims import APPLICATION_CLAIMS
from molehill.reproduction.claims import judge_claims
from molehill.reproduction.drawing import (
    Figures,
    draw_counts,
    draw_distances,
    draw_estimates,
    draw_lengths,
    draw_moles,
    draw_violins,
    draw_weights,
)
from molehill.reproduction.markdown import (
    CLAIM_RULE,
    HOW_TO_READ,
    claims_text,
    convergence_text,
    figure_links,
    markdown_table,
    other_data,
    rises_words,
    short_estimates,
    short_lengths,
)
from molehill.reproduction.paper import APPLICATION_ECDF, APPLICATION_ESTIMATES, APPLICATION_RISK_IQR, SIMULATION_ECDF
from molehill.reproduction.results import (
    UNWEIGHTED,
    Results,
    ecdf_table,
    estimates_table,
    fits_table,
    rises_table,
    risk_table,
)
from molehill.reproduction.simulation import data_row, length_table, printed_estimates
from molehill.reproduction.simulation_claims import SIMULATION_CLAIMS

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
