"""Code that combines the tables of a release, as the methods note shows it: in R, Python, Stata and SAS."""

import codecs
import re
from collections.abc import Mapping, Sequence
from typing import Any

from molehill.report.dossier import Dossier
from molehill.surveys.design import SurveyDesign

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
{lonely}fit_one = function(file) {{
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
    strata = [t for _, t in totals.groupby(level=0)]
    return mean, sum(len(t) / max(len(t) - 1, 1) * ((t - {centre}) ** 2).sum() for t in strata)

q, v = np.transpose([fit_one(table) for table in tables])"""
_STATA_SURVEY = "svyset {cluster}[pweight = {weight}], {strata}singleunit({alone})\n    svy: regress {name}"
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
USUAL = {"ending": ".csv", "separator": ",", "decimal": ".", "thousands": "", "encoding": "utf-8"}
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


def tell_code(public: Dossier, tables: int, files: Mapping[str, Any], times: str) -> str:
    """Code that combines the tables, with the first replaced number whose name a program can take."""
    if tables == 1:
        return ""
    published = [row["column"] for row in public.facts["columns"] if row["fate"] != "drop"]
    numbers = [row["column"] for row in public.facts["columns"] if row["kind"] not in ("categorical", "date")]
    own = public.settings.survey_design
    design = None if own is None else own.among(published)
    needed = [] if design is None else [design.weight, *filter(None, (design.stratum, design.cluster))]
    # With replicate weights, or names that a program could not take, the text says what to do.
    if design is not None and (design.replicates or not all(map(_is_plain, needed))):
        return ""
    named = [name for name in public.settings.synthesize if name in numbers and name not in needed]
    if not named:
        return ""
    plain = [name for name in named if _is_plain(name)]
    name = plain[0] if plain else "value"
    width = max(2, len(str(tables)))
    about = {"pattern": f"%0{width}d", "digits": f"0{width}", "shown": f"%0{width}.0f", "ending": files["ending"]}
    # Only some columns have marks between thousands.
    files = {**files, "thousands": files["thousands"] if name in files.get("grouped", ()) else ""}
    reading = _tell_reading(files, name, width, _read_in_order([name, *needed], published) if plain else "")
    fits = _tell_fits(name, design, reading)
    return _CODE.format(name=name, tables=tables, fewer=tables - 1, times=times, **about, **reading, **fits)


def _is_plain(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,31}", name) is not None


def _tell_fits(name: str, design: SurveyDesign | None, reading: Mapping[str, str]) -> dict[str, str]:
    """Lines that make an estimate and its squared standard error, by program."""
    if design is None:
        plain = {"r_fit": _R_FIT, "python_fit": _PYTHON_FIT, "stata_fit": "regress {name}", "sas_fit": _SAS_FIT}
        return {program: line.format(**{**reading, "name": name}) for program, line in plain.items()}
    stratum, cluster, weight = design.stratum, design.cluster, design.weight
    more = f", strata = ~{stratum}" if stratum else ""
    more += ", nest = TRUE" if design.nested else ""
    lists = f" strata {stratum};" if stratum else ""
    lists += f" cluster {cluster};" if cluster else ""
    alone = {"adjust": "centered", "certainty": "certainty"}.get(design.single, "missing")
    units = f"{cluster} " if cluster else ""
    strata = f"strata({stratum}) " if stratum else ""
    lonely = "" if design.single == "error" else f'options(survey.lonely.psu = "{design.single}")\n'
    ids = f"~{cluster}" if cluster else "~1"
    columns = {"stratum": f'table["{stratum}"]' if stratum else "0 * table.index"}
    columns["cluster"] = f'table["{cluster}"]' if cluster else "table.index"
    # Who is alone in a stratum is set against all others, or was sure to be drawn.
    centre = "(t.mean() if len(t) > 1 else totals.mean())" if design.single == "adjust" else "t.mean()"
    return {
        "r_fit": _R_SURVEY.format(**reading, weight=weight, ids=ids, more=more, lonely=lonely),
        "python_fit": _PYTHON_SURVEY.format(name=name, weight=weight, centre=centre, **columns),
        "stata_fit": _STATA_SURVEY.format(name=name, weight=weight, cluster=units, strata=strata, alone=alone),
        "sas_fit": _SAS_SURVEY.format(name=name, weight=weight, more=lists),
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
    unusual = {key: files[key] for key, usual in USUAL.items() if key != "ending" and files[key] != usual}
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
