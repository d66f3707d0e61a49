"""The methods note that goes out with the released tables: what was done to them, in plain words."""

import codecs
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from molehill.evaluation.measure import RANGES
from molehill.evaluation.telling import list_figures
from molehill.plan.predictors import uncarried_relations
from molehill.plan.settings import Settings
from molehill.report.dossier import Dossier
from molehill.report.public import redact
from molehill.surveys.design import SurveyDesign
from molehill.tables.labels import short_label

_LONGEST_WORDS = 500

_NOTE = """\
# How these tables were made

{number}. {fate}{missing} {kept}

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
- Do not rely on extremes, nor on small groups.
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
Records that stand out among those with the same {known} are easier to recognise. The model was
therefore fitted with weights between 0 and 1: the more a record stands out, the less it counts. The tables follow the
bulk of the data closely, and its rare values less closely."""

_UNWEIGHTED = """\
Every record counts the same in the fit. The model is smoother than the data: the tables follow the bulk of the data
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
The records are a sample that was not drawn evenly: {weight} says how many of the population a record stands for.
{how} Estimates of the population weight every record by it; plain ones are those of the sample.{design}

"""

_SAMPLED = {
    "both": "New values were drawn given it, by a model that counted every record as often.",
    "weights": "The model counted every record as often as that in the fit: new values are drawn from the population.",
    "predictor": "New values were drawn given it, and carry how they relate to it.",
    "": "The model did not use it.",
}

_NO_WEIGHT = """\
The data are a sample that was not drawn evenly, and the weights that say how are not published.
{how} Estimates from these tables are those of the sample in all columns that were kept.

"""

_POPULATION = """\
The data were a sample that was not drawn evenly. The model counted every record as often as its weight says, so that
the tables are like samples that were drawn evenly from the population: no weights are needed.

"""

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

# Every one does the same, for the mean of a column; a name that a program could not take is left to the reader.
_CODE = """
## Combining in R, Python, Stata and SAS

The mean of one column, with its 95% interval. For another analysis change the line that makes an estimate and its
squared standard error; for files that are not text the line that reads them.

```r
files = sprintf("synthetic_{pattern}{ending}", 1:{tables})
{r_fit}
q = sapply(fits, function(fit) fit[1, 1])
v = sapply(fits, function(fit) fit[1, 2]^2)
b = var(q)
total = {times}mean(v) + b / {tables}
df = {fewer} * (1 + {tables} * {times}mean(v) / b)^2
mean(q) + c(0, -1, 1) * qt(0.975, df) * sqrt(total)
```

```python
import numpy as np
import pandas as pd
from scipy.stats import t

tables = [pd.read_csv(f"synthetic_{{number:{digits}}}{ending}"{python}) for number in range(1, {tables} + 1)]
{python_fit}
b = q.var(ddof=1)
total = {times}v.mean() + b / {tables}
df = {fewer} * (1 + {tables} * {times}v.mean() / b) ** 2
print(q.mean() + np.array([0, -1, 1]) * t.ppf(0.975, df) * np.sqrt(total))
```

```stata
matrix results = J({tables}, 2, .)
forvalues l = 1/{tables} {{
    local number : display {shown} `l'
    import delimited "synthetic_`number'{ending}", clear case(preserve){stata}
    {stata_fit}
    matrix results[`l', 1] = _b[_cons]
    matrix results[`l', 2] = _se[_cons]^2
}}
clear
svmat results
summarize results1
scalar q = r(mean)
scalar b = r(Var)
summarize results2
scalar v = r(mean)
scalar total = {times}v + b / {tables}
scalar df = {fewer} * (1 + {tables} * {times}v / b)^2
display q, q - invttail(df, 0.025) * sqrt(total), q + invttail(df, 0.025) * sqrt(total)
```

```sas
%macro fit;
  %do l = 1 %to {tables};
    {sas}
    {sas_fit}
  %end;
%mend;
%fit
data fits; set fit1-fit{tables}; v = se**2; run;
proc means data=fits noprint; var q v; output out=both mean(q)=q var(q)=b mean(v)=v; run;
data result;
  set both;
  total = {times}v + b / {tables};
  df = {fewer} * (1 + {tables} * {times}v / b)**2;
  low = q - quantile("T", 0.975, df) * sqrt(total);
  high = q + quantile("T", 0.975, df) * sqrt(total);
run;
proc print data=result; var q low high; run;
```
"""


_R_FIT = "fits = lapply(files, function(file) summary(lm({value} ~ 1, data = read.csv(file{r})))$coefficients)"
_R_SURVEY = """\
library(survey)
fit_one = function(file) {{
  design = svydesign(ids = {ids}, weights = ~{weight}, data = read.csv(file{r}){more})
  summary(svyglm({value} ~ 1, design))$coefficients
}}
fits = lapply(files, fit_one)"""
_PYTHON_FIT = """\
q = np.array([table["{name}"].mean() for table in tables])
v = np.array([table["{name}"].var() / table["{name}"].count() for table in tables])"""
_PYTHON_SURVEY = """\

def fit_one(table):
    weight = table["{weight}"].where(table["{name}"].notna())
    weight = weight / weight.sum()
    mean = (weight * table["{name}"]).sum()
    parts = (weight * (table["{name}"] - mean)).fillna(0)
    totals = parts.groupby([{stratum}, {cluster}]).sum()
    strata = [t for _, t in totals.groupby(level=0) if len(t) > 1]
    return mean, sum(len(t) / (len(t) - 1) * ((t - t.mean()) ** 2).sum() for t in strata)

q, v = np.transpose([fit_one(table) for table in tables])"""
_STATA_SURVEY = "svyset {cluster}[pweight = {weight}], {strata}singleunit(centered)\n    svy: regress {name}"
_SAS_FIT = "proc means data=one noprint; var {name}; output out=fit&l mean=q stderr=se; run;"
_SAS_SURVEY = """\
proc surveymeans data=one mean; var {name}; weight {weight};{more}
      ods output statistics=fit&l(rename=(mean=q stderr=se)); run;"""

_SAS = 'proc import datafile="synthetic_%sysfunc(putn(&l, z{width})){ending}" out=one dbms=csv replace; run;'
# `proc import` knows no decimal comma. What stands before the column is skipped.
_SAS_UNUSUAL = """data one;
      infile "synthetic_%sysfunc(putn(&l, z{width})){ending}"
        dlm={cut} dsd firstobs=2 truncover lrecl=1000000{encoding};
      input {columns};
    run;"""

# How text files are written unless it is said, and how programs are told of another way.
_USUAL = {"ending": ".csv", "separator": ",", "decimal": ".", "thousands": "", "encoding": "utf-8"}
_OPTIONS = {
    "r": {"separator": ', sep = "{}"', "decimal": ', dec = "{}"', "encoding": ', fileEncoding = "{}"'},
    "python": {
        "separator": ', sep="{}"',
        "decimal": ', decimal="{}"',
        "thousands": ', thousands="{}"',
        "encoding": ', encoding="{}"',
    },
    "stata": {"separator": ' delimiters("{}")', "encoding": ' encoding("{}")'},
    "sas": {"encoding": ' encoding="{}"'},
}
# What they call the encodings that Python calls so.
_ENCODINGS = {
    "cp1252": {"r": "windows-1252", "stata": "windows-1252", "sas": "wlatin1"},
    "iso8859-1": {"r": "latin1", "stata": "latin1", "sas": "latin1"},
    "utf-8-sig": {"r": "UTF-8-BOM", "stata": "utf-8", "sas": "utf-8"},
}


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
    tables, records, column = int(facts["tables"]), int(facts["records"]), _list(settings.replace)
    made = settings.records or records
    number = f"There are {tables} tables of {made:,} records, one file each"
    fate = (_PARTIAL if settings.records is None else _FULL).format(column=column, records=records)
    note, order = _NOTE, [_SHUFFLED] if settings.shuffle else []
    if tables == 1:
        number = f"There is 1 table of {made:,} records"
        fate = fate.replace("They are *", "It is *").replace(", anew in every table", "")
    elif settings.records is None:
        order.append(_SAME_ROW)
    if settings.records is not None:
        order = [_ANY_ORDER]
    # As many digits as tell whole numbers of records apart.
    times = "" if made == records else f"{made / records:.10g} * "
    rule = _PARTIAL_RULE if settings.records is None else _FULL_RULE.format(made=made, records=records)
    return note.format(
        number=number,
        fate=fate,
        column=column,
        kept=_tell_columns(settings),
        order=" ".join(order),
        model=_inert(tell_model(dossier)),
        predictors=_tell_predictors(settings),
        relations=_tell_relations(settings),
        weighting=_WEIGHTED.format(known=_list(settings.known)) if weighted else _UNWEIGHTED,
        redrawing=_REDRAWN if dossier.search is not None and dossier.search.may_redraw else "",
        missing=_MISSING[settings.missing],
        coverage=_NOT_COVERED if weighted else _ONE_COVERS if tables == 1 else _COVERED,
        reliance=_tell_reliance(public),
        codebook=_tell_codebook(public),
        code=_tell_code(public, tables, {**_USUAL, **facts.get("written_as", {})}, times),
        survey=_tell_sample(settings),
        use=(_ONE if tables == 1 else _SEVERAL).format(
            tables=tables, fewer=tables - 1, column=column, by=times.replace(" * ", " "), rule=rule
        ),
        version=short_label(f"{facts['versions']['molehill']}"),
    )


def _tell_sample(settings: Settings) -> str:
    """Say how the records stand for the population, and what users do about it."""
    design = settings.survey
    if design is None:
        return ""
    how = _SAMPLED[settings.weighs]
    if settings.records is not None and settings.weighs == "weights":
        return _POPULATION
    known = design.among([*settings.keep, *settings.replace])
    if known is None:
        return _NO_WEIGHT.format(how=how)
    if known.weight in settings.replace:
        others = _list(name for name in settings.replace if name != known.weight)
        how = f"It was drawn anew itself, together with {others}." if others else "It was drawn anew itself."
    told = []
    if known.replicates:
        names = f"`{short_label(known.replicates[0], 80)}` to `{short_label(known.replicates[-1], 80)}`"
        told.append(f"variances come from the {len(known.replicates)} replicate weights {names} ({known.method})")
    told += [f"strata are {_code(known.stratum)}"] if known.stratum else []
    told += [f"clusters {_code(known.cluster)}"] if known.cluster else []
    told += [f"{_code(known.population)} has the size of the population for its correction"] if known.population else []
    of_design = f" Of the design, {'; '.join(told)}." if told else ""
    return _SAMPLE.format(weight=_code(known.weight), how=how, design=of_design)


def _tell_predictors(settings: Settings) -> str:
    if settings.records is not None:
        return "those of them that were drawn before"
    return _list(settings.predictors) if settings.predictors else "the other columns"


def _tell_columns(settings: Settings) -> str:
    """Name what is published as it was collected, and what is not published."""
    kept = f"As they were collected: {_list(settings.keep)}." if settings.keep else "No other column is published."
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
    fates = {"replace": "replaced by draws", "keep": "as collected", "drop": "not published"}
    rows = [
        (_code(row["column"]), _cell(row["label"]), _cell(row["kind"]), fates[row["fate"]])
        for row in public.facts["columns"]
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _tell_code(public: Dossier, tables: int, files: Mapping[str, Any], times: str) -> str:
    """Code that combines the tables, with the first replaced number whose name a program can take."""
    if tables == 1:
        return ""
    published = [row["column"] for row in public.facts["columns"] if row["fate"] != "drop"]
    numbers = [row["column"] for row in public.facts["columns"] if row["kind"] not in ("categorical", "date")]
    named = [name for name in public.settings.replace if name in numbers]
    plain = [name for name in named if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,31}", name)]
    name = plain[0] if plain else "value"
    width = max(2, len(str(tables)))
    about = {"pattern": f"%0{width}d", "digits": f"0{width}", "shown": f"%0{width}.0f", "ending": files["ending"]}
    # Only some columns have marks between thousands.
    files = {**files, "thousands": files["thousands"] if name in files.get("grouped", ()) else ""}
    design = _published_design(public.settings)
    needed = [] if design is None else [design.weight, *filter(None, (design.stratum, design.cluster))]
    reading = _tell_reading(files, name, width, _read_in_order([name, *needed], published) if plain else "")
    fits = _tell_fits(name, design, reading)
    return _CODE.format(name=name, tables=tables, fewer=tables - 1, times=times, **about, **reading, **fits)


def _published_design(settings: Settings) -> SurveyDesign | None:
    """Give the design as far as published columns say it, without names that a program could not take."""
    design = settings.survey
    plain = [name for name in (*settings.keep, *settings.replace) if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,31}", name)]
    return None if design is None else design.among(plain)


def _tell_fits(name: str, design: SurveyDesign | None, reading: Mapping[str, str]) -> dict[str, str]:
    """Lines that make an estimate and its squared standard error, by program."""
    if design is None:
        r, python, stata, sas = _R_FIT, _PYTHON_FIT, f"regress {name}", _SAS_FIT
        about: dict[str, str] = {}
    else:
        r, python, stata, sas = _R_SURVEY, _PYTHON_SURVEY, _STATA_SURVEY, _SAS_SURVEY
        about = {"weight": design.weight, "cluster": design.cluster or "_n"}
    stratum, cluster = (None, None) if design is None else (design.stratum, design.cluster)
    more = f", strata = ~{stratum}" if stratum else ""
    more += ", nest = TRUE" if design is not None and design.nested else ""
    lists = f" strata {stratum};" if stratum else ""
    lists += f" cluster {cluster};" if cluster else ""
    columns = {"stratum": f'table["{stratum}"]' if stratum else "0 * table.index"}
    columns["cluster"] = f'table["{cluster}"]' if cluster else "table.index"
    return {
        "r_fit": r.format(**reading, **about, ids=f"~{cluster}" if cluster else "~1", more=more),
        "python_fit": python.format(name=name, **{**about, **columns}),
        "stata_fit": stata.format(
            name=name,
            **{**about, "cluster": f"{cluster} " if cluster else ""},
            strata=f"strata({stratum}) " if stratum else "",
        ),
        "sas_fit": sas.format(name=name, **about, more=lists),
    }


def _read_in_order(names: Sequence[str], published: Sequence[str]) -> str:
    """The columns of a line that SAS is to read, the first of them a number, with what stands between them skipped."""
    told, before, skipped = [], 0, 0
    for place in sorted(published.index(name) for name in names):
        between = place - before
        if between:
            told.append(f"(skip{skipped + 1}-skip{skipped + between}) (:$1.)")
        informat = "{informat}32." if published[place] in names[:2] else "$200."
        told.append(f"{published[place]} :{informat}")
        before, skipped = place + 1, skipped + between
    return " ".join(told)


def _tell_reading(files: Mapping[str, Any], name: str, width: int, columns: str) -> dict[str, str]:
    """What programs are told to read the files: nothing, where these are written in the usual way.

    `columns` are those that SAS is to read, `width` that of the digits in the name of a file.
    """
    files = {**files, "encoding": codecs.lookup(files["encoding"]).name}
    unusual = {key: files[key] for key, usual in _USUAL.items() if key != "ending" and files[key] != usual}
    marks = {key: mark.replace("\\", "\\\\").replace("\t", "\\t") for key, mark in unusual.items()}
    told = {}
    for program, options in _OPTIONS.items():
        own = {**marks, "encoding": _ENCODINGS.get(files["encoding"], {}).get(program, files["encoding"])}
        told[program] = "".join(option.format(own[key]) for key, option in options.items() if key in unusual)
    value, comma = name, " dpcomma" if files["decimal"] == "," else ""
    if comma or files["thousands"]:
        told["stata"] += " stringcols(_all)"
    if files["thousands"]:
        told["stata"] += f'\n    replace {name} = subinstr({name}, "{files["thousands"]}", "", .)'
    if comma or files["thousands"]:
        told["stata"] += f"\n    destring {name}, replace{comma}"
    if files["thousands"]:
        # R takes such numbers for text, or, where no value needs the mark, for numbers.
        told["r"] += f', colClasses = c({name} = "character")'
        value = f'gsub("{files["thousands"]}", "", {name}, fixed = TRUE)'
        value = f'as.numeric(sub("{files["decimal"]}", ".", {value}, fixed = TRUE))'
    sas = {"ending": files["ending"], "width": width, "name": name, "encoding": told["sas"]}
    sas["cut"] = "'09'x" if files["separator"] == "\t" else f'"{files["separator"]}"'
    informat = "commax" if comma else "comma"
    sas["columns"] = (columns or f"{name} :{{informat}}32.").format(informat=informat)
    return {**told, "value": value, "sas": (_SAS_UNUSUAL if unusual else _SAS).format(**sas)}


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
    if settings.synthesizer == "own" or settings.predictors is None:
        return ""
    if settings.records is not None:
        return "The tables carry how these columns go together."
    column, used = _list(settings.replace), settings.predictors
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
