"""Tables and texts of a study in Markdown."""

import re
from collections.abc import Callable

import numpy as np
import pandas as pd

from molehill.reproduction.results import Results

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
