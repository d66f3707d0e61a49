"""The methods note that goes out with the released tables: what was done to them, in plain words."""

import re
from collections.abc import Iterable
from html import escape

from molehill.evaluation.measure import RANGES
from molehill.evaluation.telling import list_figures
from molehill.plan.predictors import uncarried_relations
from molehill.plan.settings import Settings
from molehill.report.dossier import Dossier
from molehill.report.programs import USUAL, tell_code
from molehill.report.public import redact
from molehill.tables.labels import short_label
from molehill.tables.schema import group_labels

_LONGEST_WORDS = 500

_NOTE = """\
# How these tables were made

{number}. {fate}{missing}{pooled} {kept}

{order}

## How the values were made

A statistical model, {model}, describes {column} given
{predictors}. The new values are random draws from what the model, fitted to the collected data, predicts. {relations}

{weighting}{redrawing}

## How to use them

{survey}{use}

## How far intervals can be relied on

{coverage}

## What not to rely on

- Do not take a value of {column} for the true value of anybody: it is a draw.
- Do not rely on extremes, on standard deviations where a few values are extreme, nor on small groups.
{reliance}

## Codebook

| column | label | kind | what became of it |
|---|---|---|---|
{codebook}
{code}

Made with Molehill {version}, after Hu, Savitsky and Williams, *Risk-Efficient Bayesian Data Synthesis for Privacy
Protection*.
"""

_PARTIAL = """\
They are *partially synthetic*: the values of {column} are not those that were collected.
Every one of them was replaced, anew in every table."""

_FULL = """\
They are *fully synthetic*: no record is that of a person, in no column. All values of
{column} were drawn, each given those before it, anew in every table; {records:,} people were asked for the data that
the model was fitted to."""

_SHUFFLED = "The records were put in a random order: where one stands says nothing."
_ANY_ORDER = "The order of the records says nothing, and a row of one table has nothing to do with that of another."
_SAME_ROW = "A record stands in the same row of every table."

_WEIGHTED = """\
Records that stand out among those with the same {known} have the highest identification risk. The model was
therefore fitted with weights between 0 and 1: the more a record stands out, the less it counts. The tables follow the
bulk of the data closely, and its rare values less closely."""

_UNWEIGHTED = """\
{first} record counts the same in the fit. The model is smoother than the data: the tables follow the bulk of the data
closely, and its rare values less closely."""

_MISSING = {
    "error": "",
    "keep": " Missing values stayed missing.",
    "model": " Which values are missing was predicted by the model as well.",
}

_REDRAWN = """

The agency has a rule on how often the new values of a record may be close to the collected one. Values that broke it
by chance could be drawn anew until the rule was kept."""

_SEVERAL = """\
Make the same analysis in every table, then combine the results:

1. The estimate *q* is the mean of the {tables} estimates.
2. *v* is the mean of their {tables} variances (squared standard errors).
3. *b* is the variance of the {tables} estimates around their mean (divide by {fewer}).
4. The variance of *q* is *T* = {by}*v* + *b* / {tables}.
5. A 95% interval is *q* ± *t* √*T*, with *t* from Student's distribution. Its degrees of freedom are {fewer} times the
   square of 1 + {tables} {by}*v* / *b*; where they are many, *t* is 1.96.

{rule} One table alone gives intervals that are too short."""

_PARTIAL_RULE = """\
This is the rule for partially synthetic data (Reiter 2003). The rule for imputed missing values is another one, and
would be wrong here."""

_FULL_RULE = """\
This is the rule for synthetic tables of {made:,} records made from {records:,} (Raab, Nowok and Dibben 2016): *v* is
the variance that so many records would have, and what is known rests on those that were asked. The rule for imputed
missing values, and that for tables each of which has its own draw of the parameters (Raghunathan, Reiter and Rubin
2003), would be wrong here."""

_ONE = """\
With one table, an estimate and its variance are computed as usual. The variance does not count that the values of
{column} are draws, so that intervals are too short."""


_SAMPLE = """\
The records are a sample of a survey, and {weight} is its weight: how many of the population a record stands for, or in
what proportion. {how} Estimates of the population weight every record by it; plain ones are {plain}.{design}

"""

_SAMPLED = {
    "both": "New values were drawn given it, by a model that counted every record as often.",
    "weights": "The model counted every record as often as that in the fit: new values are drawn from the population.",
    "predictor": "New values were drawn given it, and carry how they relate to it.",
    "": "The model did not use it: weighted estimates of {column} lie off as far as it goes together with the weight.",
}

_NO_WEIGHT = """\
The data are a sample of a survey, and the weights that say how it was drawn are not published.
{how} Estimates from these tables are those of the sample in all columns that were kept.

"""

_POPULATION = """\
The data were a sample of a survey. The model counted every record as often as its weight says, so that the tables are
like samples that were drawn evenly from the population: no weights are needed. What is known rests on a sample that
tells as much of a mean as one drawn evenly of fewer people, which the rule below counts by a factor.

"""

_SURVEY_COVERED = """\
In simulations of a sample whose design goes with the values, weighted intervals by this rule held the truth about as
often as they should, 95 times in 100, where all records have the same weight for risk, as here. Take them as a guide.
With few clusters, take no more degrees of freedom than there are clusters less strata."""

_COVERED = """\
In simulations, intervals by this rule held the truth about as often as they should, 95 times in 100, where all records
count the same, as here, and the model is right. No model is quite right: take them as a guide."""

_ONE_COVERS = """\
One table tells nothing of how much its drawn values differ from others that might have been drawn: intervals that are
computed from it as from collected data are too short, and hold the truth less often than they say."""

_NOT_COVERED = """\
**Intervals are too short, or lie beside the truth.** Weights draw estimates away from what the collected data show. In
a small simulation of tables made with such weights, intervals that are to hold the truth 95 times in 100 did so 84
times for a mean, 85 for a 90% quantile, 68 for a standard deviation and 55 for the slope of a regression; without
weights about 95 times. Take an interval for the least that is uncertain."""


def methods_note(dossier: Dossier) -> str:
    """Say in Markdown what was replaced and how, and how to use the tables; nothing in it is confidential.

    Parameters
    ----------
    dossier
        Of the release. Of what it holds only public settings, the number of records and tables, the words that the
        author of the synthesizer has for it, the version, whether there are weights, whether draws could be made anew,
        how the files are written, and what the public edition of the report tells of overlaps and distributions are
        used. All columns are named, those that were dropped too.
    """
    settings, facts, weighted, public = dossier.settings.public, dossier.facts, is_weighted(dossier), redact(dossier)
    tables, records, column = int(facts["tables"]), int(facts["records"]), _list(settings.synthesize)
    made = settings.fully_synthetic_records or records
    number = f"There are {tables} tables of {made:,} records, one file each"
    fate = (_PARTIAL if settings.fully_synthetic_records is None else _FULL).format(column=column, records=records)
    note, order = _NOTE, [_SHUFFLED] if settings.shuffle else []
    if tables == 1:
        number = f"There is 1 table of {made:,} records"
        fate = fate.replace("They are *", "It is *").replace(", anew in every table", "")
    elif settings.fully_synthetic_records is None:
        order.append(_SAME_ROW)
    if settings.fully_synthetic_records is not None:
        order = [_ANY_ORDER]
    # As many digits as tell whole numbers of records apart.
    uneven = float(facts.get("uneven", 1.0))
    times = "" if made == records and uneven == 1 else f"{uneven * made / records:.10g} * "
    rule = _PARTIAL_RULE if settings.fully_synthetic_records is None else _FULL_RULE.format(made=made, records=records)
    return note.format(
        number=number,
        fate=fate,
        column=column,
        kept=_tell_columns(settings),
        order=" ".join(order),
        model=_inert(tell_model(dossier)),
        predictors=_tell_predictors(settings),
        relations=_tell_relations(settings),
        weighting=_tell_weighting(settings, weighted=weighted),
        redrawing=_REDRAWN if dossier.search is not None and dossier.search.may_redraw else "",
        missing=_MISSING[settings.missing_values],
        pooled=_tell_pooling(settings, public),
        coverage=_tell_coverage(settings, tables, weighted=weighted),
        reliance=_tell_reliance(public),
        codebook=_tell_codebook(public),
        code=tell_code(public, tables, {**USUAL, **facts.get("written_as", {})}, times),
        survey=_tell_sample(settings),
        use=(_ONE if tables == 1 else _SEVERAL).format(
            tables=tables, fewer=tables - 1, column=column, by=times.replace(" * ", " "), rule=rule
        ),
        version=short_label(f"{facts['versions']['molehill']}"),
    )


def _tell_pooling(settings: Settings, public: Dossier) -> str:
    """Say what is done to rare levels: always, and not only where there were some."""
    kinds = {row["column"]: row["kind"] for row in public.facts["columns"]}
    least = {name: settings.least_records(name) for name in settings.pooled if kinds.get(name) == "categorical"}
    told = [
        f" Levels of {_list(name for name, own in least.items() if own == number)} that fewer than {number} records "
        'have are pooled: into "other", or into the nearest or the most frequent level. '
        "Some that a few more have are, too."
        for number in sorted({*least.values()} - {1})
    ]
    return "".join(told)


def _tell_sample(settings: Settings) -> str:
    """Say how the records stand for the population, and what users do about it."""
    design = settings.survey_design
    if design is None:
        return ""
    how = tell_survey_use(settings)
    if settings.fully_synthetic_records is not None and settings.weighs == "weights":
        return _POPULATION
    known = design.among([*settings.keep, *settings.synthesize])
    if known is None:
        return _NO_WEIGHT.format(how=how)
    if known.weight in settings.synthesize:
        others = _list(name for name in settings.synthesize if name != known.weight)
        how = f"It was drawn anew itself, together with {others}." if others else "It was drawn anew itself."
    told = []
    if known.replicates:
        names = f"{_code(known.replicates[0])} to {_code(known.replicates[-1])}"
        told.append(
            f"variances come from the {len(known.replicates)} replicate weights {names} ({known.method}): estimate "
            "again with each of them in every table, as programs for surveys do"
        )
    told += [f"strata are {_code(known.stratum)}"] if known.stratum else []
    told += [f"clusters {_code(known.cluster)}"] if known.cluster else []
    if known.population:
        told.append(f"{_code(known.population)} is for a finite population correction, which the code below leaves out")
    of_design = f" Of the design, {'; '.join(told)}." if told else ""
    plain = "those of the sample"
    if settings.weighs == "weights":
        plain = "the population's in no column that was kept, nor the sample's in those that were replaced"
    return _SAMPLE.format(weight=_code(known.weight), how=how, plain=plain, design=of_design)


def tell_survey_use(settings: Settings) -> str:
    """Say how models used the weight of a survey; nothing without one."""
    if settings.survey_design is None:
        return ""
    others = [name for name in settings.synthesize if name != settings.survey_design.weight]
    return _SAMPLED[settings.weighs].format(column=_list(others))


def _tell_weighting(settings: Settings, *, weighted: bool) -> str:
    if weighted:
        return _WEIGHTED.format(known=_list(settings.known))
    return _UNWEIGHTED.format(first="But for the survey weight, every" if settings.fits_by_weight else "Every")


def _tell_coverage(settings: Settings, tables: int, *, weighted: bool) -> str:
    if weighted:
        return _NOT_COVERED
    if tables == 1:
        return _ONE_COVERS
    return _SURVEY_COVERED if settings.weighs == "both" else _COVERED


def _tell_predictors(settings: Settings) -> str:
    if settings.fully_synthetic_records is not None:
        return "those of them that were drawn before"
    return _list(settings.predictors) if settings.predictors else "the other columns"


def _tell_columns(settings: Settings) -> str:
    """Name what is published as it was collected, and what is not published."""
    pooled = [name for name in settings.pooled if name in settings.keep]
    plain = [name for name in settings.keep if name not in (*settings.grouped, *pooled)]
    kept = f"As they were collected: {_list(plain)}." if plain else "No other column is published as it was collected."
    kept += f" In groups of the collected values: {_list(settings.grouped)}." if settings.grouped else ""
    kept += f" As they were collected, but for rare levels: {_list(pooled)}." if pooled else ""
    if settings.derived:
        kept += f" Computed again from the others, in every table: {_list([*settings.derived])}."
    return f"{kept} Not published: {_list(settings.drop)}." if settings.drop else kept


def _tell_reliance(public: Dossier) -> str:
    """Name the estimates that came out far, and how far distributions lie apart: as coarsely as the public edition."""
    overlaps = {row["of"]: row["value"] for row in list_figures(public.evaluation.utility, public.scheme, "overlap")}
    low = [name for name, value in overlaps.items() if value < RANGES["half"][0]]
    lines = []
    if low:
        lines.append(
            f"- Do not rely on these estimates: {_list(low)}. They lie further than about two standard errors from "
            "what the collected data show."
        )
    near = [name for name in overlaps if name not in low]
    if near:
        lines.append(f"- Within about two standard errors of what the collected data show: {_list(near)}.")
    lines += [
        f"- The share of records below any value of {_code(row['column'])} differs from that in the collected data "
        f"by up to {row['value']:.2f}."
        for row in list_figures(public.evaluation.utility, public.scheme, "U_m")
    ]
    return "\n".join(lines)


def _tell_codebook(public: Dossier) -> str:
    """One line a column; of those that were dropped the name alone."""
    fates = {"synthesize": "replaced by draws", "keep": "as collected", "drop": "not published"}
    formulas = public.settings.derived
    fates |= {name: f"computed: {_cell(text)}" for name, text in formulas.items()}
    grouped = {name: f"in groups: {', '.join(group_labels(ends))}" for name, ends in public.settings.breaks.items()}
    pooled = {
        name: "as collected, rare levels pooled" for name in public.settings.pooled if name in public.settings.keep
    }
    changed = pooled | grouped
    rows = [
        (
            _code(row["column"]).replace("|", "\\|"),
            _cell(row["label"]),
            _cell(row["kind"]),
            changed.get(row["column"]) or fates[row["column"] if row["fate"] == "derived" else row["fate"]],
        )
        for row in public.facts["columns"]
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(text: str) -> str:
    return _inert(short_label(text, 80)).replace("|", "\\|") if text else ""


def tell_model(dossier: Dossier) -> str:
    """Say what the model is, in the words of its author."""
    return short_label(f"{dossier.facts['words']}", _LONGEST_WORDS)


def is_weighted(dossier: Dossier) -> bool:
    """Whether any record counts less than another in the fit."""
    weights = dossier.weights.loc[dossier.weights["value"].notna(), "weight"]
    return bool(weights.nunique() > 1)


def _tell_relations(settings: Settings) -> str:
    """Say which relations the tables carry, and which they do not."""
    if settings.synthesizer == "custom" or settings.predictors is None:
        return ""
    if settings.fully_synthetic_records is not None:
        return "The tables carry how these columns go together."
    column, used = _list(settings.synthesize), settings.predictors
    carried = f"The tables carry how {column} relates to {_list(used)}" if used else f"{column} was drawn by itself"
    others = uncarried_relations(settings)
    if not others:
        return f"{carried}."
    through = f", but for what follows from {_list(used)}" if used else ""
    return f"{carried}. They do not carry how it relates to {_list(others)}{through}: do not estimate that from them."


def _list(names: Iterable[str]) -> str:
    coded = [_code(name) for name in names]
    return " and ".join([", ".join(coded[:-1]), coded[-1]] if len(coded) > 1 else coded)


def _code(name: str) -> str:
    """Set a name as code, where Markdown leaves every sign as it is."""
    return "`" + short_label(name, 80).replace("`", "'") + "`"


def _inert(words: str) -> str:
    """Keep words as they are in Markdown, where some signs would mean more: they may hold names from data."""
    return re.sub(r"([\\`*\[\]])", r"\\\1", escape(words, quote=False))
