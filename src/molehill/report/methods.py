"""The methods note that goes out with the released tables: what was done to them, in plain words."""

import re
from collections.abc import Iterable
from html import escape

from molehill.plan.settings import Settings
from molehill.report.dossier import Dossier
from molehill.tables.labels import short_label

_LONGEST_WORDS = 500

_NOTE = """\
# How these tables were made

{number}. They are *partially synthetic*: the values of {column} are not those that were collected.
Every one of them was replaced, anew in every table.{missing} {kept}

{order}

## How the values were made

A statistical model, {model}, describes {column} given
{predictors}. The new values are random draws from what the model, fitted to the collected data, predicts for every
record.

{weighting}{redrawing}

## How to use them

{use}

## What not to do

- Do not take a value of {column} for the true value of anybody: it is a draw.
- Be careful with extremes, with small groups, and with how {column} relates to columns that the model does not use.

Made with Molehill {version}, after Hu, Savitsky and Williams, *Risk-Efficient Bayesian Data Synthesis for Privacy
Protection*.
"""

_SHUFFLED = "The records were put in a random order: where one stands says nothing."
_SAME_ROW = "A record stands in the same row of every table."

_WEIGHTED = """\
Records that stand out among those with the same {known} are easier to recognise. The model was
therefore fitted with weights between 0 and 1: the more a record stands out, the less it counts. The tables follow the
bulk of the data closely, and its rare values less closely."""

_UNWEIGHTED = """\
Every record counts the same in the fit. The model is smoother than the data: the tables follow the bulk of the data
closely, and its rare values less closely."""

_REDRAWN = """

The agency has a rule on how often the new values of a record may be close to the collected one. Values that broke it
by chance could be drawn anew until the rule was kept."""

_SEVERAL = """\
Make the same analysis in every table, then combine the results:

1. The estimate *q* is the mean of the {tables} estimates.
2. *v* is the mean of their {tables} variances (squared standard errors).
3. *b* is the variance of the {tables} estimates around their mean (divide by {fewer}).
4. The variance of *q* is *T* = *v* + *b* / {tables}.
5. A 95% interval is *q* ± *t* √*T*, with *t* from Student's distribution. Its degrees of freedom are {fewer} times the
   square of 1 + {tables} *v* / *b*; where they are many, *t* is 1.96.

This is the rule for partially synthetic data (Reiter 2003). The rule for imputed missing values is another one, and
would be wrong here. One table alone gives intervals that are too short."""

_ONE = """\
With one table, an estimate and its variance are computed as usual. The variance does not count that the values of
{column} are draws, so that intervals are too short."""


def methods_note(dossier: Dossier) -> str:
    """Say in Markdown what was replaced and how, and how to use the tables; nothing in it is confidential.

    Parameters
    ----------
    dossier
        Of the release. Of what it holds only public settings, the number of records and tables, the words that the
        author of the synthesizer has for it, the version, whether there are weights, and whether draws
        could be made anew are used. All columns are named, those that were dropped too.
    """
    settings, facts = dossier.settings.public, dossier.facts
    tables, records, column = int(facts["tables"]), int(facts["records"]), _list(settings.replace)
    number = f"There are {tables} tables of {records:,} records, one file each"
    note, order = _NOTE, [_SHUFFLED] if settings.shuffle else []
    if tables == 1:
        number = f"There is 1 table of {records:,} records"
        note = note.replace("They are *", "It is *").replace(", anew in every table", "").replace("every table", "it")
    else:
        order.append(_SAME_ROW)
    return note.format(
        number=number,
        column=column,
        kept=_tell_columns(settings),
        order=" ".join(order),
        model=_inert(tell_model(dossier)),
        predictors=_list(settings.predictors) if settings.predictors else "the other columns",
        weighting=_WEIGHTED.format(known=_list(settings.known)) if is_weighted(dossier) else _UNWEIGHTED,
        redrawing=_REDRAWN if dossier.search is not None and dossier.search.may_redraw else "",
        missing=" Missing values stayed missing." if settings.missing == "keep" else "",
        use=(_ONE if tables == 1 else _SEVERAL).format(tables=tables, fewer=tables - 1, column=column),
        version=short_label(f"{facts['versions']['molehill']}"),
    )


def _tell_columns(settings: Settings) -> str:
    """Name what is published as it was collected, and what is not published."""
    kept = f"As they were collected: {_list(settings.keep)}." if settings.keep else "No other column is published."
    return f"{kept} Not published: {_list(settings.drop)}." if settings.drop else kept


def tell_model(dossier: Dossier) -> str:
    """Say what the model is, in the words of its author."""
    return short_label(f"{dossier.facts['words']}", _LONGEST_WORDS)


def is_weighted(dossier: Dossier) -> bool:
    """Whether any record counts less than another in the fit."""
    weights = dossier.weights.loc[dossier.weights["value"].notna(), "weight"]
    return bool(weights.nunique() > 1)


def _list(names: Iterable[str]) -> str:
    coded = [_code(name) for name in names]
    return " and ".join([", ".join(coded[:-1]), coded[-1]] if len(coded) > 1 else coded)


def _code(name: str) -> str:
    """Set a name as code, where Markdown leaves every sign as it is."""
    return "`" + short_label(name, 80).replace("`", "'") + "`"


def _inert(words: str) -> str:
    """Keep words as they are in Markdown, where some signs would mean more: they may hold names from data."""
    return re.sub(r"([\\`*\[\]])", r"\\\1", escape(words, quote=False))
