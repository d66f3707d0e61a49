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
from molehill.baselines import BASELINES
from molehill.errors import MOST_ORDER, InputError, nearest
from molehill.evaluation.scorecard import read_bounds
from molehill.files import write_text
from molehill.plan.targets import EXAMPLES, parse_targets
from molehill.risk.intruder import Intruder
from molehill.surveys.design import SurveyDesign
from molehill.tables.resolution import day_of
from molehill.tables.schema import Kind

# `own` is a synthesizer that was given in Python; the others are those of `molehill.models`.
SYNTHESIZERS = (
    "auto",
    "forest",
    "tdp_mixture",
    "semicontinuous",
    "negative_binomial",
    "poisson",
    "normal_linear",
    "multinomial",
    "own",
)
COMPARED = ("unweighted", "marginal", "pairwise", *BASELINES)

# What can become of a column; `decide` is for one that nobody has decided on yet.
FATES = ("replace", "keep", "drop", "decide")
# What the entry of a column in a settings file may say beside its fate, and the setting that it belongs to.
OF_COLUMNS = {
    "lower": "lower",
    "upper": "upper",
    "radius": "radius",
    "floor": "floor",
    "kind": "kinds",
    "breaks": "breaks",
    "missing": "missing_codes",
    "likely": "likely",
    "levels": "levels",
    "min_level_records": "min_level_records",
}

# Settings of columns that a file has with its columns, beside fates and what `OF_COLUMNS` names.
BESIDE = ("derived", "accept", "accept_derivable")
# What is accepted knowingly of a column, as its entry says it.
ACCEPTED = {"identifying": "accept", "derivable": "accept_derivable"}

# What `scheme = "paper"` stands for.
PAPER = {
    "components": 10,
    "membership": "posterior",
    "transform": "log",
    "cover": "paper",
    "scale": 1.0,
    "shift": 0.0,
}
# What only a mixture understands.
OF_MIXTURES = ("components", "membership", "transform", "priors", "standardise")
# What a weighted scheme is said by, if nothing else is said.
WEIGHTING = {"order": 2, "scale": 1.0, "shift": 0.0}

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


def setting(default: Any, comment: str, wanted: str, *, public: bool = False, **limits: Any) -> Any:
    """Describe a setting: a comment for people, what it wants in words, and whether it may be published."""
    fixed = FrozenDict(default) if isinstance(default, dict) else default
    return Field(fixed, description=comment, json_schema_extra={"wanted": wanted, "public": public}, **limits)


def _one_of(choices: Any) -> str:
    return " or ".join(f'"{choice}"' for choice in choices)


class Settings(BaseModel):
    """Everything that decides a release beside the table: what `molehill.synthesize` takes.

    Examples
    --------
    >>> Settings(replace=["income"], known=["gender", "age"]).radius
    0.2
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True)

    data: Name | None = setting(
        None, "The confidential table: .csv, .tsv, .xlsx, .parquet, .dta, .sav, .sas7bdat or .xpt.", "a path"
    )
    encoding: Name | None = setting(None, "Encoding of a text file; left out, it is found out.", "a name")
    separator: Name | None = setting(None, "What divides cells of a text file; left out, it is found out.", "a mark")
    decimal: Name | None = setting(None, "Decimal mark of a text file; left out, it is found out.", '"." or ","')
    thousands: str | None = setting(
        None, "Mark between thousands of a text file; left out, it is found out.", 'a mark, or "" for none'
    )
    sheet: Name | None = setting(None, "Sheet of a workbook, if several hold something.", "a name")
    replace: Names = setting(
        ..., "The columns to protect: their values are replaced.", "a list of column names", public=True, min_length=1
    )
    keep: Names = setting(
        (), "Columns that are published as they were collected.", "a list of column names", public=True
    )
    drop: Names = setting((), "Columns that are not published.", "a list of column names", public=True)
    decide: Names = setting(
        (), "Columns whose fate is still open: nothing is made until it is decided.", "a list of column names"
    )
    accept: Names = setting(
        (), "Columns that may name people and are kept all the same.", "a list of column names", public=True
    )
    derived: dict[Name, Name] = setting(
        {},
        "Columns that are computed again in every dataset, from others that are replaced or kept, and never contradict "
        "them. Formulas have + - * / and parentheses, log, exp, sqrt, abs, min, max, coalesce(x, 0), and sum(x) by a "
        "column.",
        'formulas by column, such as { grade = "age - experience - 6" }',
        public=True,
    )
    accept_derivable: Names = setting(
        (),
        "Columns that are replaced or derived although their true values can be computed from kept ones, knowingly.",
        "a list of column names",
    )
    known: Names = setting(
        ..., "Columns that an intruder may know about a person.", "a list of column names", public=True
    )
    predictors: Names | None = setting(
        None,
        "What models condition on; left out: the columns of relations and regressions or, without them, all kept ones.",
        "a list of column names",
        public=True,
    )
    relations: Names = setting(
        (),
        "Kept columns whose relation to the replaced ones the tables shall carry, beside those of the regressions.",
        "a list of column names",
        public=True,
    )
    constraints: Names = setting(
        (),
        'What must be so in every released record, such as "rent <= income" or "age < 15 -> marital = \'single\'".',
        "a list of constraints, each named once",
    )
    survey: InstanceOf[SurveyDesign] | None = setting(
        None,
        "How the table was sampled, if it is a sample of a survey: the columns of design weight, stratum, cluster, "
        "population sizes and replicate weights. Estimates are then weighted, with the variances of the design.",
        "a table: weight, and as there are stratum, cluster, nested, population, single, replicates, method, fay, "
        "scale, factors, centre",
        public=True,
    )
    survey_fit: Literal["auto", "both", "weights", "predictor", "ignore"] = setting(
        "auto",
        "How models use the design weight. weights: every record's likelihood is raised to it, beside the weight for "
        "its risk, as if the population were fitted to. predictor: new values are drawn given it. auto: both where the "
        "weight is published, collected or drawn, else weights. ignore: neither.",
        _one_of(("auto", "both", "weights", "predictor", "ignore")),
        public=True,
    )
    sandwich: bool = setting(
        default=True,
        comment="Whether draws that are weighted by design get the spread of the design (the sandwich correction).",
        wanted="true or false",
    )
    radius: Share | dict[Name, Share] = setting(
        0.2, "What counts as close to the true value: 0.2 is within 20%.", "a number from 0 to 1, or one per column"
    )
    floor: Amount | dict[Name, Amount] = setting(
        0.0, "Least radius, in the units of the data.", "a number from 0 up, or one per column"
    )
    likely: dict[Name, Annotated[float, Field(gt=0, le=1)]] = setting(
        {},
        "How likely an intruder knows a replaced column roughly; 1 if nothing is said.",
        "numbers above 0, up to 1",
        public=True,
    )
    scheme: Literal["auto", "weighted", "paper"] = setting(
        "auto",
        "How records are weighted. auto: the safest of those that keep as much as the best. weighted: by order, scale, "
        "shift. paper: all as published (10 components, posterior membership, the paper's cover, weights 1 - risk).",
        _one_of(("auto", "weighted", "paper")),
    )
    order: int = setting(
        2,
        "1 marginal, 2 pairwise, k: how risk is measured for the weights.",
        f"a whole number from 1 to {MOST_ORDER:,}",
        ge=1,
        le=MOST_ORDER,
    )
    scale: float = setting(
        1.0, "Weights are scale * (1 - risk) + shift, cut to between 0 and 1.", "a number above 0", gt=0
    )
    shift: float = setting(0.0, "See scale.", "a number")
    synthesizer: str = setting(
        "auto",
        "What replaces the values. auto: a forest or, with the paper's scheme or settings of a mixture, the model that "
        "the paper has for the kind of the column.",
        _one_of(SYNTHESIZERS),
        public=True,
    )
    leaf: Annotated[float, Field(ge=1)] | Literal["auto"] = setting(
        "auto",
        "Least number of records that a forest tells apart: more tell less of a person. auto: the safest that keeps as "
        "much as the best.",
        'a number from 1 up, or "auto"',
    )
    components: Annotated[int, Field(ge=1)] | Literal["auto"] = setting(
        "auto",
        "Components of a mixture; auto is the largest of 10, 5, 4, 3 and 2 whose chains come together.",
        f'{WHOLE}, or "auto"',
    )
    membership: Literal["posterior", "prior"] = setting(
        "prior",
        "How a mixture draws a record's component: given its true value, as the paper does, or from the prior: less "
        "risk at no loss.",
        _one_of(("posterior", "prior")),
    )
    transform: Literal["auto", "log", "root"] = setting(
        "auto",
        "The scale of a mixture: logarithms, as the paper's, or sixth roots, whichever fits positive amounts better.",
        _one_of(("auto", "log", "root")),
    )
    priors: Literal["weak", "paper"] = setting(
        "weak",
        "Priors of a mixture: half-normal, or half-t(3) as in the paper, whose tails allow absurd values.",
        _one_of(("weak", "paper")),
    )
    standardise: bool = setting(
        default=True,
        comment="Whether the priors of a mixture see the amounts centred and scaled; the paper's supplement does not.",
        wanted="true or false",
    )
    lower: float | dict[Name, Limit] | None = setting(
        None,
        "Least value that may be released, from a codebook; never the confidential minimum.",
        "a number, or a number or date per column",
    )
    upper: float | dict[Name, Limit] | None = setting(
        None,
        "Largest value that may be released, from a codebook; never the confidential maximum.",
        "a number, or a number or date per column",
    )
    datasets: int = setting(
        20,
        "How many synthetic tables to release.",
        f"a whole number from 1 to {MOST_TABLES:,}",
        public=True,
        ge=1,
        le=MOST_TABLES,
    )
    records: int | None = setting(
        None,
        "How many new people every table holds, where nothing is kept: no record is anybody's then. Left out: the "
        "records of the table, with new values.",
        "a whole number, 2 or more",
        public=True,
        ge=2,
    )
    compare: Names = setting(
        COMPARED[:4],
        "What the report shows beside the release.",
        "a list of " + ", ".join(f'"{name}"' for name in COMPARED),
    )
    regressions: Names = setting(
        (),
        "Linear regressions whose coefficients the report compares, beside mean, median, 90% quantile and sd.",
        'a list of formulas such as "income ~ age + region"',
    )
    expected_tables: int = setting(
        200,
        "How many predicted tables the expected risk rests on; 0 leaves it out.",
        "a whole number: 0, or a multiple of 20 from 40 up",
        ge=0,
        multiple_of=20,
    )
    attacks: Literal["auto", "all", "none"] = setting(
        "auto",
        "The attacks and checks that boards know: with people held out as a control where refitting takes seconds, "
        'with them whatever it takes ("all"), or not at all.',
        _one_of(("auto", "all", "none")),
    )
    scorecard: dict[Name, Any] = setting(
        {},
        "Where a measure makes its family amber and red in the report, by the id of the measure, in place of our "
        'bounds; what is not named keeps ours, and "off" is not asked. The verdict goes by the same bounds. Tables do '
        "not depend on them.",
        'a table such as { matches_true = { amber = 0.02, red = 0.1 }, closest_records = "off" }; red may be "never"; '
        "of a measure that we have no rule for both are needed, and family can be said",
    )
    targets: Names = setting(
        (),
        "Rules that the release shall keep: the one that keeps the most under them is searched for.",
        f'a list of rules such as "{EXAMPLES[0]}"',
    )
    fits: int = setting(12, "How many fits a search makes at most.", WHOLE, ge=1)
    seconds: float | None = setting(None, "A search begins no fit after so many seconds.", "a number above 0", gt=0)
    chance: float = setting(
        0.2,
        "Largest chance that fresh tables break a realised target which still counts as meeting it.",
        "a number between 0 and 1",
        gt=0,
        lt=1,
    )
    redraw: float = setting(
        0.0,
        "Share of the records that may be drawn anew to keep a realised target, if bad luck broke it; 0: none.",
        "a number from 0 to below 1",
        ge=0,
        lt=1,
    )
    search_tables: int = setting(
        400,
        "How many predicted tables a search measures each of its points with.",
        "a whole number, a multiple of 20 from 40 up",
        ge=40,
        multiple_of=20,
    )
    cover: Literal["others", "paper"] = setting(
        "others",
        "Who covers a record of a pattern: only the others, or, as the paper counts, also the record itself.",
        _one_of(("others", "paper")),
    )
    small_patterns: Literal["protect", "marginal", "error"] = setting(
        "protect",
        "A pattern too small for the order: give its records risk 1 and weight 0, take order 1 there, or refuse.",
        _one_of(("protect", "marginal", "error")),
    )
    missing: Literal["error", "keep", "model"] = setting(
        "error",
        "A missing sensitive value: refuse the table, leave it missing, or model which values are missing as well.",
        _one_of(("error", "keep", "model")),
        public=True,
    )
    seed: int | None = setting(
        None,
        "Leave it out for fresh randomness. A seed can undo the protection: keep it to yourself.",
        "a whole number from 0 up, below 2**63",
        ge=0,
        lt=2**63,
    )
    executor: Name | None = setting(
        None,
        "Where pieces of the work run: left out, here; on a worker for every core; or on a Dask cluster. The result is "
        "the same.",
        '"local", "local:2" (so many workers), or the address of a scheduler such as "tls://host:8786"',
    )
    breaks: dict[Name, Annotated[tuple[float, ...], Field(min_length=1)]] = setting(
        {}, "Groups of a numeric known column or predictor: where each begins.", "lists of numbers"
    )
    levels: dict[Name, Annotated[tuple[float | str, ...], Field(min_length=2)]] = setting(
        {}, "The levels of a replaced category that has an order, from the first to the last.", "lists of levels"
    )
    min_level_records: Annotated[int, Field(ge=1)] | dict[Name, Annotated[int, Field(ge=1)]] = setting(
        FEWEST,
        "How many records must have a level of a replaced category. Rarer ones are pooled: into the nearest level if "
        'they have an order, else into "other"; 1 pools none.',
        f"{WHOLE}, or one per column",
        public=True,
    )
    missing_codes: dict[Name, tuple[float | str, ...]] = setting(
        {}, "Cells that stand for a missing value, by column.", "lists of codes"
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
            raise InputError("settings", problem, "Write for instance {'replace': ['income'], 'known': ['age']}")
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
        given = settle_scheme(given)
        if isinstance(given.get("levels"), Mapping):
            # What has levels is a category, whatever its codes look like.
            kinds = dict.fromkeys(given["levels"], "categorical")
            given = {**given, "kinds": {**kinds, **_by_column(given.get("kinds"))}}
        listed = [name for name, field in cls.model_fields.items() if field.annotation in (Names, Names | None)]
        taken = {
            name: (value,) if name in listed and isinstance(value, str) else value for name, value in given.items()
        }
        taken = {name: _plain_tuples(value) for name, value in taken.items()}
        if "survey" in taken:
            taken["survey"] = read_design(taken["survey"])
        return {name: _read_dates(value) if name in ("lower", "upper") else value for name, value in taken.items()}

    @field_validator(
        "replace",
        "keep",
        "drop",
        "decide",
        "accept",
        "accept_derivable",
        "known",
        "predictors",
        "relations",
        "compare",
        "regressions",
        "constraints",
        "targets",
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

    @field_validator("scorecard", mode="before")
    @classmethod
    def _are_bounds(cls, given: Any) -> Any:
        try:
            return read_bounds(given)
        except InputError as error:
            raise _ToldError(f"{error.problem}. {error.remedy}") from None

    @field_validator("expected_tables")
    @classmethod
    def _enough_for_blocks(cls, number: int) -> int:
        if number == 20:
            raise ValueError("20 tables make no two in a block")
        return number

    @field_validator("targets")
    @classmethod
    def _can_be_read(cls, targets: tuple[str, ...]) -> tuple[str, ...]:
        problems = parse_targets(targets)[1]
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
    def _design_stays(self) -> Self:
        """Refuse what would undo a replaced or dropped weight, or make the design of the release another."""
        if self.survey is None:
            if self.survey_fit not in ("auto", "ignore"):
                raise _ToldError("'survey_fit' needs 'survey': name the column of the design weight there")
            return self
        told = self.survey.columns
        changed = [name for role, name in told if role != "weight" and name in self.replace]
        if changed:
            raise _ToldError(
                f"'survey' says by {changed[0]!r} how records were drawn: keep or drop it, or leave it out there"
            )
        if self.survey_fit == "weights" and self.records is not None and self.survey.weight in self.replace:
            raise _ToldError(
                f"'records' and survey_fit = \"weights\" draw people from the population, who need no weight: drop "
                f"{self.survey.weight!r}"
            )
        if self.survey.weight in self.replace[1:] and self.survey_fit != "ignore":
            raise _ToldError(
                f"{self.survey.weight!r} is the design weight: draw it first of all replaced columns, which can then "
                'be drawn given it; or survey_fit = "ignore"'
            )
        weight, telling = self.survey.weight, [*self.survey.replicates, *filter(None, [self.survey.population])]
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
        other = [name for name in self.likely if name not in self.replace or name in self.known]
        if other:
            raise _ToldError(f"'likely' is for replaced columns that are not known for sure: leave {other[0]!r} out")
        return self

    @model_validator(mode="after")
    def _new_people(self) -> Self:
        if self.records is None:
            return self
        if self.keep:
            raise _ToldError(f"'records' makes new people, of whom nothing is kept: replace or drop {self.keep[0]!r}")
        if self.missing == "keep":
            raise _ToldError("'records' makes new people, who have no missing values to keep: missing = \"model\"")
        if self.membership == "posterior":
            raise _ToldError("'records' makes new people: no component is drawn given a true value, nor by the paper")
        if self.predictors:
            raise _ToldError("'records' makes new people: leave 'predictors' out, each column is given those before it")
        if self.synthesizer == "own":
            raise _ToldError(
                "'records' needs synthesizers that Molehill knows: draw from your own by draw(records=...)"
            )
        if self.targets or self.redraw:
            raise _ToldError("'records' makes new people, whom the rules in 'targets' do not speak of: leave them out")
        if not {*self.replace} - {*self.known}:
            raise _ToldError("'known' names every column: leave out what an intruder would like to learn")
        return self

    def but(self, **changes: Any) -> Self:
        """Give the same settings with some changed."""
        return type(self)(**{name: getattr(self, name) for name in self.model_fields_set} | changes)

    @property
    def intruder(self) -> Intruder:
        """Whose eyes the release is measured with: of new people some replaced columns may be known."""
        sensitive = self.replace if self.records is None else [name for name in self.replace if name not in self.known]
        named: dict[str, Any] = {
            name: getattr(self, name) for name in ("known", "radius", "floor", "kinds", "cover", "small_patterns")
        }
        breaks = {name: ends for name, ends in self.breaks.items() if name in self.known}
        likely = {name: chance for name, chance in self.likely.items() if name in sensitive}
        return Intruder(sensitive=sensitive, breaks=breaks, missing=self.absent, likely=likely, **named)

    @property
    def is_parametric(self) -> bool:
        """Whether the models of the paper are asked for: by its scheme, or by anything that is of a mixture alone."""
        fields = type(self).model_fields
        return self.scheme == "paper" or any(getattr(self, name) != fields[name].default for name in OF_MIXTURES)

    @property
    def weighs(self) -> Literal["both", "weights", "predictor", ""]:
        """How models use the design weight, if at all; docs/surveys.md has what was measured of these ways."""
        if self.survey is None or self.survey_fit == "ignore":
            return ""
        if self.survey_fit != "auto":
            return self.survey_fit
        given = self.predictors is None or self.survey.weight in self.predictors
        # What a synthesizer of the caller's is given, nobody can tell.
        given = given and self.survey.weight in self.keep and self.synthesizer != "own"
        return "both" if given or self.survey.weight in self.replace else "weights"

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
        return "error" if self.missing == "error" else "keep"

    @property
    def reading(self) -> dict[str, Any]:
        """How the file is read: what `molehill.read_table` takes beside the path."""
        return {name: getattr(self, name) for name in ("encoding", "separator", "decimal", "thousands", "sheet")}

    @property
    def column(self) -> str:
        """What the replaced columns are called together."""
        return ", ".join(self.replace)

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
        if self.survey is not None:
            # Of a design what the published columns tell, and how the weight is called.
            known = self.survey.among((*self.keep, *self.replace))
            kept["survey"] = known or SurveyDesign(weight=self.survey.weight)
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
        raise _ToldError(f"'survey' has no {wrong[0]!r}: {nearest(f'{wrong[0]}', parts)}")
    if "weight" not in given:
        raise _ToldError("'survey' does not name the column of the design weight: weight = \"...\"")
    try:
        return SurveyDesign(**given)
    except InputError as error:
        raise _ToldError(f"'survey', {error.argument}: {error.problem}. {error.remedy}") from None


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
            problems[name] = f"there is no setting {name!r}: {nearest(name, settings.model_fields)}"
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
    given = {**content, **changes}
    contradicted = [name for name in _contradict_paper(given) if name not in changes]
    if contradicted:
        found = {name: re.search(rf"^\s*[\"']?{name}[\"']?\s*=", text, re.MULTILINE) for name in contradicted}
        told = [
            f"{name!r}{'' if line is None else f' (line {text.count(chr(10), 0, line.end()) + 1})'}"
            for name, line in found.items()
        ]
        problem = f'scheme = "paper" sets what the file says otherwise: {", ".join(told)}'
        raise InputError("settings", problem, "Leave these lines out, or the scheme")
    settings = Settings(**content)
    return settings.but(**changes) if changes else settings


def _contradict_paper(given: Mapping[str, Any]) -> list[str]:
    """Name the settings that say something else than the scheme of the paper, if that is asked for."""
    asked = given.get("scheme") == "paper"
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
) -> None:
    """Write settings as TOML, each with a comment; `notes` adds to the comments of some, `reasons` to columns."""
    text = format_settings(settings, notes=notes, reasons=reasons)
    write_text(Path(path), text, private=True, argument="settings")


def format_settings(
    settings: Settings, *, notes: Mapping[str, str] | None = None, reasons: Mapping[str, str] | None = None
) -> str:
    """Give settings as the text of a TOML file; `reasons` are comments on single columns."""
    document = tomlkit.document()
    document.add(tomlkit.comment("Settings of a release: `molehill run` with this file makes it."))
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if name in (*FATES, *BESIDE, *OF_COLUMNS.values()) and (isinstance(value, dict | tuple) or value is None):
            # These stand with the columns.
            continue
        if name in ("survey", "scorecard"):
            # A table must come after all that is none.
            continue
        document.add(tomlkit.nl())
        told = [_tell(settings, name), *(notes or {}).get(name, "").splitlines()]
        for comment in told:
            document.add(tomlkit.comment(printable(comment)))
        if value is None:
            document.add(tomlkit.comment(f"{name} ="))
        else:
            document.add(name, tomlkit.item(list(value) if isinstance(value, tuple) else value))
    _add_survey(document, settings, notes or {})
    _add_scorecard(document, settings)
    _add_columns(document, settings, notes or {}, reasons or {})
    return tomlkit.dumps(document)


def _add_survey(document: tomlkit.TOMLDocument, settings: Settings, notes: Mapping[str, str]) -> None:
    document.add(tomlkit.nl())
    for line in [_tell(settings, "survey"), *notes.get("survey", "").splitlines()]:
        document.add(tomlkit.comment(printable(line)))
    if settings.survey is None:
        document.add(tomlkit.comment("[survey]"))
        document.add(tomlkit.comment("weight ="))
        return
    table = tomlkit.table()
    for name, value in tell_design(settings.survey).items():
        table.add(name, tomlkit.item(value))
    document.add("survey", table)


def _add_scorecard(document: tomlkit.TOMLDocument, settings: Settings) -> None:
    document.add(tomlkit.nl())
    document.add(tomlkit.comment(_tell(settings, "scorecard")))
    if not settings.scorecard:
        document.add(tomlkit.comment("[scorecard]"))
        document.add(tomlkit.comment("matches_true = { amber = , red = }"))
        return
    table = tomlkit.table()
    for name, entry in settings.scorecard.items():
        item: Any = tomlkit.item(entry) if isinstance(entry, str) else tomlkit.inline_table()
        if not isinstance(entry, str):
            item.update(entry)
        table.add(name, item)
    document.add("scorecard", table)


def tell_design(design: SurveyDesign) -> dict[str, Any]:
    """Give what is said of a design, as a settings file has it."""
    told = {one.name: getattr(design, one.name) for one in fields(design) if getattr(design, one.name) != one.default}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}


def _add_columns(
    document: tomlkit.TOMLDocument, settings: Settings, notes: Mapping[str, str], reasons: Mapping[str, str]
) -> None:
    """Write what becomes of every column, with all that is set for it: a table, which must come last."""
    document.add(tomlkit.nl())
    told = [
        "What becomes of every column: the name of a fate, or a table with it as `release` and more of the column.",
        "A column that is not named here stops the run.",
        *(f"{fate}: {_tell(settings, fate)}" for fate in FATES),
        f'release = "derived" with a formula: {_tell(settings, "derived")}',
        *(f'{key} = "accept": {_tell(settings, field)}' for key, field in ACCEPTED.items()),
        *(f"{key}: {_tell(settings, field)}" for key, field in OF_COLUMNS.items()),
        *notes.get("columns", "").splitlines(),
    ]
    for line in told:
        document.add(tomlkit.comment(printable(line)))
    table = tomlkit.table()
    for name, entry in gather_columns(settings).items():
        if list(entry) == ["release"]:
            item: Any = tomlkit.item(entry["release"])
        else:
            item = tomlkit.inline_table()
            item.update(entry)
        if name in reasons:
            item.comment(printable(reasons[name]))
        table.add(name, item)
    document.add("columns", table)


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
    for key, field in ACCEPTED.items():
        for name in getattr(settings, field):
            entries.setdefault(name, {})[key] = "accept"
    return entries


def spread_columns(given: Mapping[str, Any]) -> dict[str, Any]:
    """Take a table of columns apart into settings; what is said of all columns stays for those it says nothing of.

    Examples
    --------
    >>> columns = {"income": {"release": "replace", "upper": 9}, "age": "keep"}
    >>> spread_columns({"columns": columns, "known": ["age"]})
    {'known': ['age'], 'replace': ['income'], 'upper': {'income': 9}, 'keep': ['age']}
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
        for key in (key for key in ACCEPTED if key in entry):
            spread[ACCEPTED[key]] = [*_as_list(spread.get(ACCEPTED[key])), name]
        for key, field in OF_COLUMNS.items():
            if key in entry:
                spread[field] = {**_by_column(spread.get(field)), name: entry[key]}
    for field in ("radius", "floor", "lower", "upper", "min_level_records"):
        # A number for all columns holds for those that have none of their own.
        if isinstance(given.get(field), int | float) and isinstance(spread[field], dict):
            spread[field] = {**dict.fromkeys(_as_list(spread.get("replace")), given[field]), **spread[field]}
    return spread


def _check_entry(name: str, entry: Mapping[str, Any]) -> None:
    """Refuse an entry of a column that says nothing that can be taken."""
    fate, keys = entry.get("release"), ("release", "formula", *ACCEPTED, *OF_COLUMNS)
    other = [key for key in ACCEPTED if entry.get(key, "accept") != "accept"]
    if other or fate not in (None, "derived", *FATES) or not {*entry} <= {*keys}:
        raise _ToldError(f"column {name!r}: write one of {_one_of(FATES)}, or a table of {', '.join(keys)}")
    if ("formula" in entry) != (fate == "derived"):
        raise _ToldError(f'column {name!r}: write {{ release = "derived", formula = "a + b" }}, or neither of the two')


def settle_scheme(given: Mapping[str, Any]) -> dict[str, Any]:
    """Say by which scheme records are weighted, and all that it stands for.

    Examples
    --------
    >>> settle_scheme({"order": 1})
    {'order': 1, 'scheme': 'weighted'}
    """
    scheme, own = given.get("scheme"), [name for name in WEIGHTING if name in given]
    if scheme is None:
        return {**given, "scheme": "weighted"} if own else dict(given)
    if scheme == "auto" and any(given[name] != WEIGHTING[name] for name in own):
        raise _ToldError('order, scale and shift are for scheme = "weighted": say so, or leave them out')
    if scheme != "paper":
        return dict(given)
    other = _contradict_paper(given)
    if other:
        told = ", ".join(f"{name!r} to {PAPER[name]!r}" for name in other)
        raise _ToldError(f'scheme = "paper" sets {told}: leave these out, or the scheme')
    return {**given, **PAPER}


def _as_list(value: Any) -> list[Any]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _by_column(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def printable(text: str) -> str:
    """Leave out what may not stand in a comment: a column's name can hold anything."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
