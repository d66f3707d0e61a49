"""The methods note that goes out with the released tables: what was done to them, in plain words."""

from collections.abc import Iterable

from molehill.dossier import Dossier
from molehill.figure_style import short_label

MODELS = {
    "tdp_mixture": "a mixture of regressions",
    "semicontinuous": "a regression of whether the value is negative, zero or positive, and mixtures of regressions of its size",
    "negative_binomial": "a negative binomial regression",
    "poisson": "a Poisson regression",
    "normal_linear": "a normal linear regression",
    "multinomial": "a multinomial regression",
}
_BY_KIND = {"categorical": "multinomial", "count": "negative_binomial", "semicontinuous": "semicontinuous"}


def methods_note(dossier: Dossier) -> str:
    """Say in Markdown what was replaced and how, and how to use the tables; nothing in it is confidential.

    Parameters
    ----------
    dossier
        Of the release. Of what it holds only the names of columns, the number of records and tables, the kind of model
        and the versions are used.
    """
    settings, facts = dossier.settings, dossier.facts
    tables, records, column = int(facts["tables"]), int(facts["records"]), _code(settings.sensitive)
    many = tables > 1
    predictors = _list(settings.predictors) if settings.predictors else "the other columns"
    lines = [
        "# How these tables were made",
        "",
        f"{'There are' if many else 'There is'} {tables} table{'s' if many else ''} of {records:,} records"
        f"{', one file each' if many else ''}. {'They are' if many else 'It is'} *partially synthetic*: the values of "
        f"{column} are not those that were collected. Every one of them was replaced"
        f"{', anew in every table' if many else ''}. All other columns are as they were collected, and a record stands in "
        f"the same row of {'every' if many else 'the'} table.",
        "",
        "## How the values were made",
        "",
        f"A statistical model, {describe_model(dossier)}, describes {column} given {predictors}. The new values are random "
        "draws from what the model, fitted to the collected data, predicts for every record.",
        "",
        f"Records that stand out among those with the same {_list(settings.known)} are easier to recognise. The model was "
        "therefore fitted with weights between 0 and 1: the more a record stands out, the less it counts. The tables follow the "
        "bulk of the data closely, and its rare values less closely.",
        "",
        "## How to use them",
        "",
        *_use(tables, column),
        "",
        "## What not to do",
        "",
        f"- Do not take a value of {column} for the true value of anybody: it is a draw.",
        f"- Be careful with extremes, with small groups, and with how {column} relates to columns that the model does not use.",
        "",
        f"Made with Molehill {short_label(str(facts['versions'].get('molehill', '')))}, after Hu, Savitsky and Williams, "
        "*Risk-Efficient Bayesian Data Synthesis for Privacy Protection*.",
    ]
    return "\n".join(lines) + "\n"


def describe_model(dossier: Dossier) -> str:
    """Name the kind of model in words."""
    name = dossier.settings.synthesizer
    if name == "auto":
        name = _BY_KIND.get(f"{dossier.facts.get('kind', '')}", "tdp_mixture")
    return MODELS[name]


def _use(tables: int, column: str) -> list[str]:
    if tables == 1:
        return [
            "With one table, an estimate and its variance are computed as usual. The variance does not count that the values "
            f"of {column} are draws, so that intervals are too short."
        ]
    return [
        "Make the same analysis in every table, then combine the results:",
        "",
        f"1. The estimate *q* is the mean of the {tables} estimates.",
        f"2. *v* is the mean of their {tables} variances (squared standard errors).",
        f"3. *b* is the variance of the {tables} estimates around their mean (divide by {tables - 1}).",
        f"4. The variance of *q* is *T* = *v* + *b* / {tables}.",
        f"5. A 95% interval is *q* ± *t* √*T*, with *t* from Student's distribution with {tables - 1} × (1 + {tables} *v* / *b*)² "
        "degrees of freedom: about 1.96 where that is large.",
        "",
        "This is the rule for partially synthetic data (Reiter 2003). The rule for imputed missing values is another one, and "
        "would be wrong here. One table alone gives intervals that are too short.",
    ]


def _list(names: Iterable[str]) -> str:
    coded = [_code(name) for name in names]
    return " and ".join([", ".join(coded[:-1]), coded[-1]] if len(coded) > 1 else coded)


def _code(name: str) -> str:
    """Set a name as code, where Markdown leaves every sign as it is."""
    return "`" + short_label(name, 80).replace("`", "'") + "`"
