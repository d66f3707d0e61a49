"""The settings of a release: one frozen value, from which the commented TOML file, help and documentation are made.

A setting is one field of `Settings`: its type and limits, the comment that people read, what it wants in words, and
whether it may be published. Nothing else lists the settings.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, InstanceOf, ValidationError, field_validator, model_validator

from molehill.arrays import FrozenDict
from molehill.errors import MOST_ORDER, InputError, nearest
from molehill.evaluation.criteria import EXAMPLES, parse_criteria
from molehill.evaluation.scorecard import read_bounds
from molehill.files import write_text
from molehill.risk.intruder import Intruder
from molehill.sdc_methods import BASELINES
from molehill.surveys.design import SurveyDesign
from molehill.tables.resolution import day_of
from molehill.tables.schema import Kind

# `custom` is a synthesizer that was given in Python; the others are those of `molehill.models`.
SYNTHESIZERS = (
    "auto",
    "forest",
    "tdp_mixture",
    "semicontinuous",
    "negative_binomial",
    "poisson",
    "normal_linear",
    "multinomial",
    "custom",
)
COMPARED = ("unweighted", "marginal", "pairwise", *BASELINES)

# How a variable can be treated: synthesized, released unchanged, not released; `undecided` is for one that waits.
FATES = ("synthesize", "keep", "drop", "undecided")
# What the entry of a column in a settings file may say beside its treatment, and the setting that it belongs to.
OF_COLUMNS = {
    "lower": "lower",
    "upper": "upper",
    "radius": "radius",
    "min_radius": "min_radius",
    "kind": "kinds",
    "breaks": "breaks",
    "missing_codes": "missing_codes",
    "knowledge_probability": "knowledge_probability",
    "levels": "levels",
    "min_level_records": "min_level_records",
}

# The same the other way: what the entry of a column calls a setting.
OF_KEYS = {field: key for key, field in OF_COLUMNS.items()}
# Settings of columns that a file has with its columns, beside treatments and what `OF_COLUMNS` names.
BESIDE = ("derived", "accept_identifying", "accept_derivable", "grouped")
# What the entry of a column says by `true`.
FLAGS = BESIDE[1:]

# What `method = "paper"` stands for.
PAPER = {
    "components": 10,
    "component_draw": "posterior",
    "transform": "log",
    "count_self": True,
    "weight_scale": 1.0,
    "weight_shift": 0.0,
}
# What only a mixture understands.
OF_MIXTURES = ("components", "component_draw", "transform", "priors", "standardize")
# Settings of the risk weights, with their defaults.
WEIGHTING = {"risk_order": 2, "weight_scale": 1.0, "weight_shift": 0.0}

# The tables of a settings file, in their order.
TABLES = ("file", "columns", "intruder", "model", "mixture", "survey", "search", "evaluation", "expert")
REFERENCE = "docs/settings.md"
# What settings, and their entries of a column, were called in files of earlier versions.
FORMER = {
    "replace": "synthesize",
    "decide": "undecided",
    "accept": "accept_identifying",
    "identifying": "accept_identifying",
    "derivable": "accept_derivable",
    "relations": "preserve",
    "survey": "survey_design",
    "sandwich": "design_variance",
    "floor": "min_radius",
    "likely": "knowledge_probability",
    "scheme": "method",
    "order": "risk_order",
    "scale": "weight_scale",
    "shift": "weight_shift",
    "leaf": "min_leaf_size",
    "membership": "component_draw",
    "standardise": "standardize",
    "records": "fully_synthetic_records",
    "expected_tables": "expected_risk_draws",
    "scorecard": "thresholds",
    "targets": "release_criteria",
    "fits": "max_fits",
    "seconds": "max_seconds",
    "chance": "max_failure_probability",
    "redraw": "max_redraw_share",
    "search_tables": "search_draws",
    "cover": "count_self",
    "missing": "missing_values",
    "executor": "scheduler",
}

WHOLE = "a whole number, 1 or more"
# How many records must have a level of a category, if nothing is said of it.
FEWEST = 5
# No rule for combining gains from more, and all of them lie in memory.
MOST_TABLES = 1_000

Name = Annotated[str, Field(min_length=1)]
Names = tuple[Name, ...]
Share = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(ge=0)]
Limit = float | date


def setting(
    default: Any,
    comment: str,
    wanted: str,
    *,
    table: str = "expert",
    main: bool = False,
    public: bool = False,
    **limits: Any,
) -> Any:
    """Describe a setting.

    A comment for people, what it wants in words, its table in a settings file, whether `init` writes it in any case,
    and whether it may be published.
    """
    fixed = FrozenDict(default) if isinstance(default, dict) else default
    about: dict[str, Any] = {"wanted": wanted, "table": table, "main": main, "public": public}
    return Field(fixed, description=comment, json_schema_extra=about, **limits)


def _one_of(choices: Any) -> str:
    return " or ".join(f'"{choice}"' for choice in choices)


class Settings(BaseModel):
    """Everything that decides a release beside the table: what `molehill.synthesize` takes.

    Examples
    --------
    >>> Settings(synthesize=["income"], known=["gender", "age"]).radius
    0.2
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True)

    data: Name | None = setting(
        None,
        "The confidential table: .csv, .tsv, .xlsx, .parquet, .dta, .sav, .sas7bdat or .xpt.",
        "a path",
        table="file",
        main=True,
    )
    encoding: Name | None = setting(None, "Encoding of a text file; left out, it is found out.", "a name", table="file")
    separator: Name | None = setting(
        None, "What divides cells of a text file; left out, it is found out.", "a mark", table="file"
    )
    decimal: Name | None = setting(
        None, "Decimal mark of a text file; left out, it is found out.", '"." or ","', table="file"
    )
    thousands: str | None = setting(
        None,
        "Mark between thousands of a text file; left out, it is found out.",
        'a mark, or "" for none',
        table="file",
    )
    sheet: Name | None = setting(None, "Sheet of a workbook, if several hold something.", "a name", table="file")
    synthesize: Names = setting(
        ...,
        "Variables whose values are synthesized, in the order of synthesis.",
        "a list of column names",
        public=True,
        min_length=1,
        table="columns",
    )
    keep: Names = setting(
        (),
        "Variables that are released unchanged.",
        "a list of column names",
        public=True,
        table="columns",
    )
    drop: Names = setting(
        (), "Variables that are not released.", "a list of column names", public=True, table="columns"
    )
    undecided: Names = setting(
        (),
        "Variables whose treatment is not decided yet: nothing is made before it is.",
        "a list of column names",
        table="columns",
    )
    accept_identifying: Names = setting(
        (),
        "Variables that may identify people directly and are released unchanged all the same.",
        "a list of column names",
        public=True,
        table="columns",
    )
    derived: dict[Name, Name] = setting(
        {},
        "Columns that are computed again in every dataset, from others that are replaced or kept, and never contradict "
        "them. Formulas have + - * / and parentheses, log, exp, sqrt, abs, min, max, coalesce(x, 0), and sum(x) by a "
        "column.",
        'formulas by column, such as { grade = "age - experience - 6" }',
        public=True,
        table="columns",
    )
    accept_derivable: Names = setting(
        (),
        "Columns that are replaced or derived although their true values can be computed from kept ones, knowingly.",
        "a list of column names",
        table="columns",
    )
    grouped: Names = setting(
        (),
        "Variables that are released in the groups of their `breaks` instead of single values.",
        "a list of column names",
        public=True,
        table="columns",
    )
    known: Names = setting(
        ...,
        "Key variables: what an intruder is assumed to know of a person.",
        "a list of column names",
        public=True,
        table="intruder",
        main=True,
    )
    predictors: Names | None = setting(
        None,
        "What models condition on; left out: the columns of relations and regressions or, without them, all kept ones.",
        "a list of column names",
        public=True,
        table="model",
    )
    preserve: Names = setting(
        (),
        "Unchanged variables whose relationships with the synthesized ones are to be preserved, beside those of the "
        "regressions.",
        "a list of column names",
        public=True,
        table="model",
        main=True,
    )
    constraints: Names = setting(
        (),
        'What must be so in every released record, such as "rent <= income" or "age < 15 -> marital = \'single\'".',
        "a list of constraints, each named once",
        table="model",
        main=True,
    )
    survey_design: InstanceOf[SurveyDesign] | None = setting(
        None,
        "How the table was sampled, if it is a sample of a survey: the columns of design weight, stratum, cluster, "
        "population sizes and replicate weights. Estimates are then weighted, with the variances of the design.",
        "a table: weight, and as there are stratum, cluster, nested, population, single, replicates, method, fay, "
        "scale, factors, centre",
        public=True,
        table="survey",
        main=True,
    )
    survey_fit: Literal["auto", "both", "weights", "predictor", "ignore"] = setting(
        "auto",
        "How models use the design weight. weights: every record's likelihood is raised to it, beside the weight for "
        "its risk, as if the population were fitted to. predictor: new values are drawn given it. auto: both where the "
        "weight is published, collected or drawn, else weights. ignore: neither.",
        _one_of(("auto", "both", "weights", "predictor", "ignore")),
        public=True,
        table="survey",
    )
    design_variance: bool = setting(
        default=True,
        comment="Whether the variance of weighted draws is corrected for the survey design (sandwich correction).",
        wanted="true or false",
        table="survey",
    )
    radius: Share | dict[Name, Share] = setting(
        0.2,
        "How near to the true value counts as close: 0.2 is within 20%.",
        "a number from 0 to 1, or one per column",
        table="intruder",
        main=True,
    )
    min_radius: Amount | dict[Name, Amount] = setting(
        0.0,
        "Smallest radius, in the units of the variable.",
        "a number from 0 up, or one per column",
        table="intruder",
    )
    knowledge_probability: dict[Name, Annotated[float, Field(gt=0, le=1)]] = setting(
        {},
        "Probability that an intruder knows a synthesized variable approximately; 1 if not given.",
        "numbers above 0, up to 1",
        public=True,
        table="columns",
    )
    method: Literal["auto", "risk_weighted", "paper"] = setting(
        "auto",
        "The method of protection. auto: unweighted, and weighted if release criteria need it. risk_weighted: by "
        "risk_order, weight_scale, weight_shift. paper: all as published (10 components drawn from the posterior, a "
        "record counts as its own close neighbour, weights 1 - risk).",
        _one_of(("auto", "risk_weighted", "paper")),
        table="model",
    )
    risk_order: int = setting(
        2,
        "Order of the risk that weights are computed from: 1 marginal, 2 pairwise, k.",
        f"a whole number from 1 to {MOST_ORDER:,}",
        ge=1,
        le=MOST_ORDER,
    )
    weight_scale: float = setting(
        1.0,
        "Risk weights are weight_scale * (1 - risk) + weight_shift, cut to between 0 and 1 (c in the paper).",
        "a number above 0",
        gt=0,
    )
    weight_shift: float = setting(
        0.0, "Constant added to the risk weights (g in the paper); see weight_scale.", "a number"
    )
    synthesizer: str = setting(
        "auto",
        "What replaces the values. auto: a forest or, with the paper's scheme or settings of a mixture, the model that "
        "the paper has for the kind of the column.",
        _one_of(SYNTHESIZERS),
        public=True,
        table="model",
    )
    min_leaf_size: Annotated[float, Field(ge=1)] | Literal["auto"] = setting(
        "auto",
        "Minimum number of records per leaf of a forest. Larger leaves lower the risk and lose detail. auto: selected "
        "by search.",
        'a number from 1 up, or "auto"',
        table="model",
    )
    components: Annotated[int, Field(ge=1)] | Literal["auto"] = setting(
        "auto",
        "Components of a mixture; auto is the largest of 10, 5, 4, 3 and 2 whose chains converge.",
        f'{WHOLE}, or "auto"',
        table="mixture",
    )
    component_draw: Literal["posterior", "prior"] = setting(
        "prior",
        "How a mixture draws a record's component: given its true value, as the paper does, or from the prior: less "
        "risk at no loss.",
        _one_of(("posterior", "prior")),
        table="mixture",
    )
    transform: Literal["auto", "log", "root"] = setting(
        "auto",
        "The scale of a mixture: logarithms, as the paper's, or sixth roots, whichever fits positive amounts better.",
        _one_of(("auto", "log", "root")),
        table="mixture",
    )
    priors: Literal["weak", "paper"] = setting(
        "weak",
        "Priors of a mixture: half-normal, or half-t(3) as in the paper, whose tails allow absurd values.",
        _one_of(("weak", "paper")),
        table="mixture",
    )
    standardize: bool = setting(
        default=True,
        comment="Whether the priors of a mixture see the amounts centred and scaled; the paper's supplement does not.",
        wanted="true or false",
        table="mixture",
    )
    lower: float | dict[Name, Limit] | None = setting(
        None,
        "Smallest value that may be released, from a codebook; never the confidential minimum.",
        "a number, or a number or date per column",
        table="model",
    )
    upper: float | dict[Name, Limit] | None = setting(
        None,
        "Largest value that may be released, from a codebook; never the confidential maximum.",
        "a number, or a number or date per column",
        table="model",
    )
    datasets: int = setting(
        20,
        "Number of synthetic datasets.",
        f"a whole number from 1 to {MOST_TABLES:,}",
        public=True,
        ge=1,
        le=MOST_TABLES,
        table="model",
        main=True,
    )
    fully_synthetic_records: int | None = setting(
        None,
        "Full synthesis: number of records per dataset. All released variables are synthesized and no record "
        "corresponds to a respondent.",
        "a whole number, 2 or more",
        public=True,
        ge=2,
        table="model",
    )
    compare: Names = setting(
        COMPARED[:4],
        "What the report shows beside the release.",
        "a list of " + ", ".join(f'"{name}"' for name in COMPARED),
        table="evaluation",
    )
    regressions: Names = setting(
        (),
        "Linear regressions whose coefficients the report compares, beside mean, median, 90% quantile and sd.",
        'a list of formulas such as "income ~ age + region"',
        table="evaluation",
        main=True,
    )
    expected_risk_draws: int = setting(
        200,
        "Number of predicted datasets that expected risk is computed from; 0 leaves it out.",
        "a whole number: 0, or a multiple of 20 from 40 up",
        ge=0,
        multiple_of=20,
    )
    attacks: Literal["auto", "always", "none"] = setting(
        "auto",
        "The attacks and checks that boards know: with people held out as a control where refitting takes seconds, "
        'with them whatever it takes ("all"), or not at all.',
        _one_of(("auto", "always", "none")),
        table="evaluation",
    )
    thresholds: dict[Name, Any] = setting(
        {},
        "Amber and red thresholds of the scorecard and the recommendation, by the id of a measure; measures that are "
        'not named keep their defaults, and "off" disables one. Datasets do not depend on them.',
        'a table such as { matches_true = { amber = 0.02, red = 0.1 }, closest_records = "off" }; red may be "never"; '
        "a measure without a default needs both, and may have a family",
        table="evaluation",
    )
    release_criteria: Names = setting(
        (),
        'Release criteria, such as "mean expected <= 0.15". Molehill searches for the release with the highest utility '
        "that meets all of them.",
        f'a list of rules such as "{EXAMPLES[0]}"',
        table="search",
        main=True,
    )
    max_fits: int = setting(12, "Largest number of fits of a search.", WHOLE, ge=1, table="search")
    max_seconds: float | None = setting(
        None, "A search starts no fit after this many seconds.", "a number above 0", gt=0, table="search"
    )
    max_failure_probability: float = setting(
        0.2,
        "A criterion on realised risk counts as met if newly drawn datasets would violate it with at most this "
        "probability.",
        "a number between 0 and 1",
        gt=0,
        lt=1,
    )
    max_redraw_share: float = setting(
        0.0,
        "Share of the records that may be drawn again to meet a criterion on realised risk; 0: none.",
        "a number from 0 to below 1",
        ge=0,
        lt=1,
    )
    search_draws: int = setting(
        400,
        "Number of predicted datasets by which a search measures each of its candidates.",
        "a whole number, a multiple of 20 from 40 up",
        ge=40,
        multiple_of=20,
    )
    count_self: bool = setting(
        default=False,
        comment="Whether a record counts as its own close neighbour, as in the paper.",
        wanted="true or false",
    )
    small_patterns: Literal["maximum_risk", "marginal", "error"] = setting(
        "maximum_risk",
        "A pattern too small for the order: give its records risk 1 and weight 0, take order 1 there, or refuse.",
        _one_of(("maximum_risk", "marginal", "error")),
    )
    missing_values: Literal["error", "keep", "model"] = setting(
        "error",
        "A missing sensitive value: refuse the data, leave it missing, or model which values are missing as well.",
        _one_of(("error", "keep", "model")),
        public=True,
        table="model",
        main=True,
    )
    seed: int | None = setting(
        None,
        "Omit for a random seed. The seed is confidential: with the confidential data it reproduces every draw.",
        "a whole number from 0 up, below 2**63",
        ge=0,
        lt=2**63,
    )
    scheduler: Name | None = setting(
        None,
        "Where pieces of the work run: left out, here; on a worker for every core; or on a Dask cluster. The result is "
        "the same.",
        '"local", "local:2" (so many workers), or the address of a scheduler such as "tls://host:8786"',
    )
    breaks: dict[Name, Annotated[tuple[float, ...], Field(min_length=1)]] = setting(
        {},
        "Groups of a numeric key variable or predictor, or of a grouped variable: where each begins.",
        "lists of numbers",
        table="columns",
    )
    levels: dict[Name, Annotated[tuple[float | str, ...], Field(min_length=2)]] = setting(
        {},
        "The levels of a replaced category that has an order, from the first to the last.",
        "lists of levels",
        table="columns",
    )
    min_level_records: Annotated[int, Field(ge=1)] | dict[Name, Annotated[int, Field(ge=1)]] = setting(
        FEWEST,
        "How many records must have a level of a replaced category, and of a kept one with this in its entry. Rarer "
        'ones are pooled: into the nearest level if they have an order, else into "other"; 1 pools none.',
        f"{WHOLE}, or one per column",
        public=True,
        table="model",
    )
    missing_codes: dict[Name, tuple[float | str, ...]] = setting(
        {},
        "Cells that stand for a missing value, by column.",
        "lists of codes",
        table="columns",
    )
    shuffle: bool = setting(
        default=True,
        comment="Publish the records in a random order, the same in every table.",
        wanted="true or false",
        public=True,
    )
    kinds: dict[Name, Kind] = setting(
        {},
        "Kinds of columns, where the inferred one is wrong.",
        "kinds of columns: " + ", ".join(f'"{kind}"' for kind in Kind.__args__),
        table="columns",
    )

    def __init__(self, /, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            problems = _list_problems(type(self), error)
            told = problems[0] if len(problems) == 1 else f"{len(problems)} problems: " + "; ".join(problems)
            remedy = "Correct it" if len(problems) == 1 else "Correct each of them"
            # Not chained: pydantic keeps what was given.
            raise InputError("settings", told, remedy) from None
        except RecursionError:
            raise InputError("settings", "they are nested too deeply", "Correct what is set") from None

    @classmethod
    def model_validate(cls, obj: Any) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take settings from a table of them by name, checked as a call is."""
        if isinstance(obj, cls):
            return obj
        if not isinstance(obj, Mapping) or not all(isinstance(name, str) for name in obj):
            problem = "they are not a table of settings by name"
            raise InputError("settings", problem, "Write for instance {'synthesize': ['income'], 'known': ['age']}")
        return cls(**obj)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take settings from the text of a JSON object."""
        try:
            given = json.loads(json_data)
        except (ValueError, RecursionError):
            raise InputError("settings", "they are not JSON", "Write it by model_dump_json") from None
        return cls.model_validate(given)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Give the same settings with some changed, checked like any others."""
        del deep  # Nothing in them can be changed, so that there is nothing to copy.
        return self.but(**(update or {}))

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in type(self).model_fields))

    @field_validator("*", mode="after")
    @classmethod
    def _fix(cls, value: Any) -> Any:
        return FrozenDict(value) if isinstance(value, dict) else value

    @model_validator(mode="before")
    @classmethod
    def _take_lists(cls, given: Any) -> Any:
        """Take one text for a list of one, lists, of which TOML has no other kind, for tuples, and columns apart."""
        given = spread_columns(given)
        given = settle_method(given)
        if isinstance(given.get("levels"), Mapping):
            # What has levels is a category, whatever its codes look like.
            kinds = dict.fromkeys(given["levels"], "categorical")
            given = {**given, "kinds": {**kinds, **_by_column(given.get("kinds"))}}
        listed = [name for name, field in cls.model_fields.items() if field.annotation in (Names, Names | None)]
        taken = {
            name: (value,) if name in listed and isinstance(value, str) else value for name, value in given.items()
        }
        taken = {name: _plain_tuples(value) for name, value in taken.items()}
        if "survey_design" in taken:
            taken["survey_design"] = read_design(taken["survey_design"])
        return {name: _read_dates(value) if name in ("lower", "upper") else value for name, value in taken.items()}

    @field_validator(
        "synthesize",
        "keep",
        "drop",
        "undecided",
        "accept_identifying",
        "accept_derivable",
        "grouped",
        "known",
        "predictors",
        "preserve",
        "compare",
        "regressions",
        "constraints",
        "release_criteria",
    )
    @classmethod
    def _once_each(cls, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if names is not None and len(set(names)) < len(names):
            raise ValueError("one is named twice")
        return names

    @field_validator("compare", "synthesizer")
    @classmethod
    def _is_choice(cls, value: Any, info: Any) -> Any:
        choices = COMPARED if info.field_name == "compare" else SYNTHESIZERS
        if not set((value,) if isinstance(value, str) else value) <= set(choices):
            raise ValueError("it is not a choice")
        return value

    @field_validator("thresholds", mode="before")
    @classmethod
    def _are_bounds(cls, given: Any) -> Any:
        try:
            return read_bounds(given)
        except InputError as error:
            raise _ToldError(f"{error.problem}. {error.remedy}") from None

    @field_validator("expected_risk_draws")
    @classmethod
    def _enough_for_blocks(cls, number: int) -> int:
        if number == 20:
            raise ValueError("20 datasets make no two in a block")
        return number

    @field_validator("release_criteria")
    @classmethod
    def _can_be_read(cls, targets: tuple[str, ...]) -> tuple[str, ...]:
        problems = parse_criteria(targets)[1]
        if problems:
            raise _ToldError("; ".join(problems))
        return targets

    @classmethod
    def describe(cls, name: str) -> dict[str, Any]:
        """Give what is said of a setting: comment, wanted, public."""
        field = cls.model_fields[name]
        about: Any = field.json_schema_extra
        return {"comment": field.description, **about}

    @model_validator(mode="after")
    def _one_fate_each(self) -> Self:
        fates = [name for fate in (*FATES, "derived") for name in getattr(self, fate)]
        twice = sorted({name for name in fates if fates.count(name) > 1})
        if twice:
            raise _ToldError(f"{twice[0]!r} has two fates: name it under one of {', '.join(FATES)} and derived")
        return self

    @model_validator(mode="after")
    def _groups_begin(self) -> Self:
        other = [name for name in self.grouped if name not in (*self.keep, *self.synthesize)]
        if other:
            raise _ToldError(f"'grouped' names {other[0]!r}, which is not released: keep or synthesize it")
        other = [name for name in self.grouped if name not in self.breaks]
        if other:
            raise _ToldError(f"'grouped' needs to know where the groups of {other[0]!r} begin: give its breaks")
        return self

    @model_validator(mode="after")
    def _design_stays(self) -> Self:
        """Refuse what would undo a replaced or dropped weight, or make the design of the release another."""
        if self.survey_design is None:
            if self.survey_fit not in ("auto", "ignore"):
                raise _ToldError("'survey_fit' needs 'survey_design': name the column of the survey weight there")
            return self
        told = self.survey_design.columns
        changed = [name for role, name in told if role != "weight" and name in self.synthesize]
        if changed:
            raise _ToldError(
                f"'survey_design' says by {changed[0]!r} how records were drawn: keep or drop it, or leave it out there"
            )
        if (
            self.survey_fit == "weights"
            and self.fully_synthetic_records is not None
            and self.survey_design.weight in self.synthesize
        ):
            raise _ToldError(
                "'fully_synthetic_records' and survey_fit = \"weights\" draw people from the population, who need no "
                f"weight: drop {self.survey_design.weight!r}"
            )
        if self.survey_design.weight in self.synthesize[1:] and self.survey_fit != "ignore":
            raise _ToldError(
                f"{self.survey_design.weight!r} is the survey weight: draw it first of all replaced columns, which can "
                'then be drawn given it; or survey_fit = "ignore"'
            )
        weight, telling = (
            self.survey_design.weight,
            [*self.survey_design.replicates, *filter(None, [self.survey_design.population])],
        )
        shown = [name for name in telling if name in self.keep]
        if shown and weight not in self.keep:
            raise _ToldError(f"{shown[0]!r} tells {weight!r}, which is not published as it is: drop it too")
        if self.survey_fit in ("both", "predictor"):
            if weight in self.drop:
                raise _ToldError(f'nothing is drawn given {weight!r}, which is dropped: survey_fit = "weights"')
            if weight in self.keep and self.predictors is not None and weight not in self.predictors:
                raise _ToldError(f"nothing is drawn given {weight!r}, which 'predictors' leaves out: name it there")
        return self

    @model_validator(mode="after")
    def _likely_replaced(self) -> Self:
        other = [name for name in self.knowledge_probability if name not in self.synthesize or name in self.known]
        if other:
            raise _ToldError(
                "'knowledge_probability' is for synthesized variables that are not known for sure: leave "
                f"{other[0]!r} out"
            )
        return self

    @model_validator(mode="after")
    def _new_people(self) -> Self:
        if self.fully_synthetic_records is None:
            return self
        if self.keep:
            raise _ToldError(
                f"'fully_synthetic_records' makes new people, of whom nothing is kept: replace or drop {self.keep[0]!r}"
            )
        if self.missing_values == "keep":
            raise _ToldError(
                "'fully_synthetic_records' makes new people, who have no missing values to keep: missing_values = "
                '"model"'
            )
        if self.component_draw == "posterior":
            raise _ToldError(
                "'fully_synthetic_records' makes new people: no component is drawn given a true value, nor by the paper"
            )
        if self.predictors:
            raise _ToldError(
                "'fully_synthetic_records' makes new people: leave 'predictors' out, each column is given those before "
                "it"
            )
        if self.synthesizer == "custom":
            raise _ToldError(
                "'fully_synthetic_records' needs synthesizers that Molehill knows: draw from your own by "
                "draw(records=...)"
            )
        if self.release_criteria or self.max_redraw_share:
            raise _ToldError(
                "'fully_synthetic_records' makes new people, whom 'release_criteria' do not apply to: leave them out"
            )
        if not {*self.synthesize} - {*self.known}:
            raise _ToldError("'known' names every column: leave out what an intruder would like to learn")
        return self

    def but(self, **changes: Any) -> Self:
        """Give the same settings with some changed."""
        return type(self)(**{name: getattr(self, name) for name in self.model_fields_set} | changes)

    @property
    def intruder(self) -> Intruder:
        """Whose eyes the release is measured with: of new people some replaced columns may be known."""
        sensitive = (
            self.synthesize
            if self.fully_synthetic_records is None
            else [name for name in self.synthesize if name not in self.known]
        )
        shared = ("known", "radius", "min_radius", "kinds", "count_self", "small_patterns")
        named: dict[str, Any] = {name: getattr(self, name) for name in shared}
        breaks = {name: ends for name, ends in self.number_breaks.items() if name in self.known}
        likely = {name: chance for name, chance in self.knowledge_probability.items() if name in sensitive}
        return Intruder(
            sensitive=sensitive, breaks=breaks, missing_values=self.absent, knowledge_probability=likely, **named
        )

    @property
    def pooled(self) -> tuple[str, ...]:
        """Whose rare levels are pooled, if it has levels: what is synthesized, and of what is kept what is named."""
        own = self.min_level_records
        return (*self.synthesize, *(name for name in self.keep if isinstance(own, Mapping) and name in own))

    @property
    def number_breaks(self) -> dict[str, tuple[float, ...]]:
        """The breaks of what is released as numbers: what is released in groups has its groups for levels."""
        return {name: ends for name, ends in self.breaks.items() if name not in self.grouped}

    @property
    def is_parametric(self) -> bool:
        """Whether the models of the paper are asked for: by its scheme, or by anything that is of a mixture alone."""
        fields = type(self).model_fields
        return self.method == "paper" or any(getattr(self, name) != fields[name].default for name in OF_MIXTURES)

    @property
    def weighs(self) -> Literal["both", "weights", "predictor", ""]:
        """How models use the design weight, if at all; docs/surveys.md has what was measured of these ways."""
        if self.survey_design is None or self.survey_fit == "ignore":
            return ""
        if self.survey_fit != "auto":
            return self.survey_fit
        given = self.predictors is None or self.survey_design.weight in self.predictors
        # What a synthesizer of the caller's is given, nobody can tell.
        given = given and self.survey_design.weight in self.keep and self.synthesizer != "custom"
        return "both" if given or self.survey_design.weight in self.synthesize else "weights"

    @property
    def fits_by_weight(self) -> bool:
        """Whether the likelihood of a record is raised to its design weight."""
        return self.weighs in ("both", "weights")

    @property
    def fits_given_weight(self) -> bool:
        """Whether new values are drawn given the design weight."""
        return self.weighs in ("both", "predictor")

    @property
    def absent(self) -> Literal["error", "keep"]:
        """What becomes of a record without a sensitive value in what is measured."""
        return "error" if self.missing_values == "error" else "keep"

    @property
    def reading(self) -> dict[str, Any]:
        """How the file is read: what `molehill.read_table` takes beside the path."""
        return {name: getattr(self, name) for name in ("encoding", "separator", "decimal", "thousands", "sheet")}

    @property
    def column(self) -> str:
        """What the replaced columns are called together."""
        return ", ".join(self.synthesize)

    def of_column(self, name: str, column: str) -> Any:
        """Give a setting that may be one for all columns, or one for each, for one of them; a date as a day."""
        value = getattr(self, name)
        own = value.get(column) if isinstance(value, dict) else value
        return day_of(own) if isinstance(own, date) else own

    def least_records(self, column: str) -> int:
        """How many records must have a level of a column."""
        own = self.of_column("min_level_records", column)
        return FEWEST if own is None else int(own)

    @property
    def public(self) -> Self:
        """The settings that may be published, all others as if they had been left out."""
        kept = {name: getattr(self, name) for name in self.model_fields_set if self.describe(name)["public"]}
        if self.grouped:
            # The released tables show the groups.
            kept["breaks"] = {name: self.breaks[name] for name in self.grouped}
        if self.survey_design is not None:
            # Of a design what the published columns tell, and how the weight is called.
            known = self.survey_design.among((*self.keep, *self.synthesize))
            kept["survey_design"] = known or SurveyDesign(weight=self.survey_design.weight)
        return type(self)(**kept)


def read_design(given: Any) -> Any:
    """Take the design of a survey from the name of a weight, or from a table of its parts.

    Examples
    --------
    >>> read_design({"weight": "w", "stratum": "area"})
    SurveyDesign(weight='w', stratum='area')
    """
    if isinstance(given, str):
        given = {"weight": given}
    if not isinstance(given, Mapping):
        return given
    parts = [one.name for one in fields(SurveyDesign)]
    wrong = [name for name in given if name not in parts]
    if wrong:
        raise _ToldError(f"'survey_design' has no {wrong[0]!r}: {nearest(f'{wrong[0]}', parts)}")
    if "weight" not in given:
        raise _ToldError("'survey_design' does not name the column of the survey weight: weight = \"...\"")
    try:
        return SurveyDesign(**given)
    except InputError as error:
        raise _ToldError(f"'survey_design', {error.argument}: {error.problem}. {error.remedy}") from None


class _ToldError(ValueError):
    """What is wrong, in words that tell it all."""


def _plain_tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_plain_tuples, value))
    if isinstance(value, Mapping):
        return {name: _plain_tuples(entry) for name, entry in value.items()}
    return value


def _read_dates(value: Any) -> Any:
    """Take text that is a date for one: JSON, and people, write it so."""
    if not isinstance(value, Mapping):
        return value
    dated = {}
    for name, entry in value.items():
        dated[name] = entry.date() if isinstance(entry, datetime) else entry
        if isinstance(entry, str):
            with suppress(ValueError):
                dated[name] = date.fromisoformat(entry)
    return dated


def _list_problems(settings: type[Settings], error: ValidationError) -> list[str]:
    """Say everything that is wrong, each setting once and without the value that was given."""
    problems: dict[str, str] = {}
    for found in error.errors(include_input=False, include_url=False):
        name = f"{found['loc'][0]}" if found["loc"] else "settings"
        if found["type"] == "extra_forbidden":
            known = f"it is {FORMER[name]!r} now" if name in FORMER else nearest(name, settings.model_fields)
            problems[name] = f"there is no setting {name!r}: {known}"
        elif found["type"] == "missing":
            problems[name] = f"{name!r} is missing"
        elif isinstance(raised := found.get("ctx", {}).get("error"), _ToldError):
            problems[name] = f"{raised}" if name == "settings" else f"{name!r}: {raised}"
        else:
            problems.setdefault(name, f"{name!r} must be {settings.describe(name)['wanted']}")
    return list(problems.values())


def read_settings(path: str | Path, **changes: Any) -> Settings:
    """Read settings from a TOML file, with some of them changed; every problem in it is told at once."""
    text, remedy = _read_text(Path(path)), "Correct the file, or begin with init"
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError("settings", f"it is not TOML ({error})", remedy) from None
    except RecursionError:
        raise InputError("settings", "it is nested too deeply", remedy) from None
    except ValueError:
        # The one thing in TOML that Python refuses to read.
        raise InputError("settings", "a number in it has too many digits", remedy) from None
    flat = flatten_tables(content)
    given = {**flat, **changes}
    contradicted = [name for name in _contradict_paper(given) if name not in changes]
    if contradicted:
        found = {name: re.search(rf"^\s*[\"']?{name}[\"']?\s*=", text, re.MULTILINE) for name in contradicted}
        told = [
            f"{name!r}{'' if line is None else f' (line {text.count(chr(10), 0, line.end()) + 1})'}"
            for name, line in found.items()
        ]
        problem = f'method = "paper" sets what the file says otherwise: {", ".join(told)}'
        raise InputError("settings", problem, "Leave these lines out, or the method")
    settings = Settings(**flat)
    return settings.but(**changes) if changes else settings


def flatten_tables(content: Mapping[str, Any]) -> dict[str, Any]:
    """Give the settings of a file, which stand in tables there, by their names; what stands elsewhere is refused.

    Examples
    --------
    >>> flatten_tables({"intruder": {"known": ["age"]}, "columns": {"income": "synthesize"}})
    {'known': ['age'], 'columns': {'income': 'synthesize'}}
    """
    flat: dict[str, Any] = {}
    problems = []
    design = [one.name for one in fields(SurveyDesign)]
    for place, entries in content.items():
        if place == "columns":
            flat[place] = entries
        elif place not in TABLES or not isinstance(entries, Mapping):
            _place(place, entries, "", flat, problems)
        else:
            parts = {name: value for name, value in entries.items() if place == "survey" and name in design}
            flat |= {"survey_design": parts} if parts else {}
            for name, value in entries.items():
                if name not in parts:
                    _place(name, value, place, flat, problems)
    if problems:
        told = problems[0] if len(problems) == 1 else f"{len(problems)} problems: " + "; ".join(problems)
        raise InputError("settings", told, "Correct the file, or begin with init")
    return flat


def _place(name: str, value: Any, place: str, flat: dict[str, Any], problems: list[str]) -> None:
    """Take a setting of a file, or say where it belongs; what is no setting at all is told with the values."""
    now = FORMER.get(name, name)
    table = Settings.describe(now)["table"] if now in Settings.model_fields else place
    if table == "columns":
        entry = f'"{now}"' if now in FATES else f"{{ {OF_KEYS.get(now, now)} = ... }}"
        problems.append(f"{name!r} is set by column: [columns] income = {entry}")
    elif now == "survey_design":
        problems.append(f'{name!r} is the table [survey]: [survey] weight = "..."')
    elif now != name:
        problems.append(f"{name!r} is {now!r} now, in [{table}]")
    elif table != place:
        problems.append(f"{name!r} belongs in [{table}]")
    else:
        flat[name] = value


def _contradict_paper(given: Mapping[str, Any]) -> list[str]:
    """Name the settings that say something else than the method of the paper, if that is asked for."""
    asked = given.get("method") == "paper"
    return [name for name, value in PAPER.items() if asked and given.get(name, value) != value]


def _read_text(path: Path) -> str:
    try:
        # Of a pipe there may be no end.
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError("settings", f"{str(path)!r} is no file", "Give the path of a settings file")
        # Editors on Windows begin a file with a mark of its encoding.
        return path.read_text(encoding="utf-8-sig")
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("settings", f"there is no file {str(path)!r}", "Make one with `molehill init DATA`") from None
    except OSError as error:
        problem = f"{str(path)!r} cannot be read ({error.strerror})"
        raise InputError("settings", problem, "Give the path of a settings file that you may read") from None
    except UnicodeDecodeError as error:
        problem = f"it is not TOML (byte {error.start + 1} is not UTF-8)"
        raise InputError("settings", problem, "Save the file in UTF-8, or begin with init") from None
    except ValueError:
        problem = f"{str(path)!r} cannot be the name of a file"
        raise InputError("settings", problem, "Give the path of a settings file") from None


def write_settings(
    settings: Settings,
    path: str | Path,
    *,
    notes: Mapping[str, str] | None = None,
    reasons: Mapping[str, str] | None = None,
    brief: bool = False,
) -> None:
    """Write settings as TOML, as `format_settings` gives them, for their owner only."""
    text = format_settings(settings, notes=notes, reasons=reasons, brief=brief)
    write_text(Path(path), text, private=True, argument="settings")


def format_settings(
    settings: Settings,
    *,
    notes: Mapping[str, str] | None = None,
    reasons: Mapping[str, str] | None = None,
    brief: bool = False,
) -> str:
    """Give settings as the text of a TOML file, in the tables of `TABLES`, each setting with a comment.

    `notes` adds to the comments of some settings, and `reasons` are comments on single columns. A brief file has the
    main settings, and of the others those that are not at their default.
    """
    document, notes = tomlkit.document(), notes or {}
    document.add(tomlkit.comment("Settings of a release: `molehill run` with this file makes it."))
    if brief:
        document.add(tomlkit.comment(f"All other settings have a default: see {REFERENCE}."))
    for name in TABLES:
        table = tomlkit.table()
        if name == "columns":
            _fill_columns(table, settings, notes, reasons or {}, brief=brief)
        else:
            _fill_table(table, settings, name, notes, brief=brief)
        if table.as_string().strip():
            document.add(tomlkit.nl())
            document.add(name, table)
    return tomlkit.dumps(document)


def _fill_table(table: Any, settings: Settings, place: str, notes: Mapping[str, str], *, brief: bool) -> None:
    """Write the settings of one table of the file; what is set by column stands with the columns."""
    for name, field in type(settings).model_fields.items():
        about, value = settings.describe(name), getattr(settings, name)
        by_column = name in OF_COLUMNS.values() and isinstance(value, Mapping)
        usual = not about["main"] and name not in notes and value == field.get_default()
        if about["table"] != place or by_column or (brief and usual):
            continue
        if table.as_string():
            table.add(tomlkit.nl())
        # A table within a table comes last, as the field of the thresholds does.
        told = tomlkit.table() if isinstance(value, Mapping) and value else table
        for line in [_tell(settings, name), *notes.get(name, "").splitlines()]:
            told.add(tomlkit.comment(printable(line)))
        entries = _list_entries(name, value)
        for key, entry in entries.items():
            told.add(key, _as_item(entry))
        if not entries:
            told.add(tomlkit.comment(f"{'weight' if name == 'survey_design' else name} ="))
        if told is not table:
            table.add(name, told)


def _list_entries(name: str, value: Any) -> dict[str, Any]:
    """Give the lines that a setting has in the file: several for a design and a mapping, none if it is left out."""
    if isinstance(value, SurveyDesign):
        return tell_design(value)
    if isinstance(value, Mapping):
        return dict(value)
    return {} if value is None else {name: value}


def _as_item(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return tomlkit.item(list(entry) if isinstance(entry, tuple) else entry)
    item = tomlkit.inline_table()
    item.update(entry)
    return item


def tell_design(design: SurveyDesign) -> dict[str, Any]:
    """Give what is said of a design, as a settings file has it."""
    told = {one.name: getattr(design, one.name) for one in fields(design) if getattr(design, one.name) != one.default}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}


def _fill_columns(
    table: Any, settings: Settings, notes: Mapping[str, str], reasons: Mapping[str, str], *, brief: bool
) -> None:
    """Write the treatment of every column, with all that is set for it."""
    told = [
        'Treatment of every column: such as income = "synthesize", or a table with it as `release` and more of it.',
        "A column that is not named here stops the run.",
        *(f"{fate}: {_tell(settings, fate)}" for fate in FATES),
    ]
    if not brief:
        told += [
            f'release = "derived" with a formula: {_tell(settings, "derived")}',
            *(f"{name} = true: {_tell(settings, name)}" for name in FLAGS),
            *(f"{key}: {_tell(settings, field)}" for key, field in OF_COLUMNS.items()),
        ]
    for line in [*told, *notes.get("columns", "").splitlines()]:
        table.add(tomlkit.comment(printable(line)))
    for name, entry in gather_columns(settings).items():
        if list(entry) == ["release"]:
            item: Any = tomlkit.item(entry["release"])
        else:
            item = tomlkit.inline_table()
            item.update(entry)
        if name in reasons:
            item.comment(printable(reasons[name]))
        table.add(name, item)


def _tell(settings: Settings, name: str) -> str:
    about = settings.describe(name)
    return f"{about['comment']} ({about['wanted']})"


def gather_columns(settings: Settings) -> dict[str, dict[str, Any]]:
    """Give all that is set for every column, as the table of columns in a settings file has it."""
    entries: dict[str, dict[str, Any]] = {name: {"release": fate} for fate in FATES for name in getattr(settings, fate)}
    entries |= {name: {"release": "derived", "formula": text} for name, text in settings.derived.items()}
    for key, field in OF_COLUMNS.items():
        value = getattr(settings, field)
        for name, entry in value.items() if isinstance(value, dict) else ():
            entries.setdefault(name, {})[key] = list(entry) if isinstance(entry, tuple) else entry
    for flag in FLAGS:
        for name in getattr(settings, flag):
            entries.setdefault(name, {})[flag] = True
    return entries


def spread_columns(given: Mapping[str, Any]) -> dict[str, Any]:
    """Take a table of columns apart into settings; what is said of all columns stays for those it says nothing of.

    Examples
    --------
    >>> columns = {"income": {"release": "synthesize", "upper": 9}, "age": "keep"}
    >>> spread_columns({"columns": columns, "known": ["age"]})
    {'known': ['age'], 'synthesize': ['income'], 'upper': {'income': 9}, 'keep': ['age']}
    """
    spread = {name: value for name, value in given.items() if name != "columns"}
    columns = given.get("columns", {})
    if not isinstance(columns, Mapping):
        raise _ToldError("'columns' must be a table of columns, each with its fate")
    for name, told in columns.items():
        entry = {"release": told} if isinstance(told, str) else dict(told) if isinstance(told, Mapping) else {"": told}
        _check_entry(name, entry)
        fate = entry.get("release")
        if fate == "derived":
            spread["derived"] = {**_by_column(spread.get("derived")), name: entry["formula"]}
        elif fate is not None:
            spread[fate] = [*_as_list(spread.get(fate)), name]
        for key in (key for key in FLAGS if key in entry):
            spread[key] = [*_as_list(spread.get(key)), name]
        for key, field in OF_COLUMNS.items():
            if key in entry:
                spread[field] = {**_by_column(spread.get(field)), name: entry[key]}
    for field in ("radius", "min_radius", "lower", "upper", "min_level_records"):
        # A number for all columns holds for those that have none of their own.
        if isinstance(given.get(field), int | float) and isinstance(spread[field], dict):
            spread[field] = {**dict.fromkeys(_as_list(spread.get("synthesize")), given[field]), **spread[field]}
    return spread


def _check_entry(name: str, entry: Mapping[str, Any]) -> None:
    """Refuse an entry of a column that says nothing that can be taken."""
    fate, keys = entry.get("release"), ("release", "formula", *FLAGS, *OF_COLUMNS)
    former = [key for key in entry if key in FORMER and key not in keys]
    if former:
        now = "missing_codes" if former[0] == "missing" else FORMER[former[0]]
        raise _ToldError(f"column {name!r}: {former[0]!r} is {now!r} now")
    other = [key for key in FLAGS if entry.get(key, True) is not True]
    if other or fate not in (None, "derived", *FATES) or not {*entry} <= {*keys}:
        raise _ToldError(f"column {name!r}: write one of {_one_of(FATES)}, or a table of {', '.join(keys)}")
    if ("formula" in entry) != (fate == "derived"):
        raise _ToldError(f'column {name!r}: write {{ release = "derived", formula = "a + b" }}, or neither of the two')


def settle_method(given: Mapping[str, Any]) -> dict[str, Any]:
    """Say by which method records are protected, and all that it stands for.

    Examples
    --------
    >>> settle_method({"risk_order": 1})
    {'risk_order': 1, 'method': 'risk_weighted'}
    """
    method, own = given.get("method"), [name for name in WEIGHTING if name in given]
    if method is None:
        return {**given, "method": "risk_weighted"} if own else dict(given)
    if method == "auto" and any(given[name] != WEIGHTING[name] for name in own):
        raise _ToldError(f'{", ".join(WEIGHTING)} are for method = "risk_weighted": say so, or leave them out')
    if method != "paper":
        return dict(given)
    other = _contradict_paper(given)
    if other:
        told = ", ".join(f"{name!r} to {PAPER[name]!r}" for name in other)
        raise _ToldError(f'method = "paper" sets {told}: leave these out, or the method')
    return {**given, **PAPER}


def _as_list(value: Any) -> list[Any]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _by_column(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def printable(text: str) -> str:
    """Leave out what may not stand in a comment: a column's name can hold anything."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
