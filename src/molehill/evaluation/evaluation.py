"""What a release gives away and what it keeps: risk and utility of any released tables, in tidy frames."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from molehill.arrays import Floats, derive_seed
from molehill.attacks.rates import Trial
from molehill.attacks.worst_case.attributes import SPREAD, AttributeRisk, attribute_risk
from molehill.attacks.worst_case.membership import Membership, membership
from molehill.errors import InputError, check_choice, nearest
from molehill.evaluation.attack_data import read_control
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.catalogue.attribute import WORST_CASE_MEASURES as ATTRIBUTE_RISKS
from molehill.evaluation.catalogue.attribute import right_guesses
from molehill.evaluation.catalogue.identity import found_moles
from molehill.evaluation.catalogue.membership import WORST_CASE_MEASURES as MEMBERSHIP_ADVANTAGES
from molehill.evaluation.context import Context
from molehill.evaluation.curves import COLUMNS as SHAPE_COLUMNS
from molehill.evaluation.curves import list_shapes
from molehill.evaluation.measure import (
    COLUMNS,
    CONFIDENTIAL,
    Measure,
    check_measures,
    describe_measures,
    leave_out,
    measure_context,
)
from molehill.evaluation.options import EvaluationOptions
from molehill.evaluation.scorecard import describe_rules, list_rules, read_bounds, score, set_rules
from molehill.evaluation.showing import show_html
from molehill.evaluation.telling import cut_name
from molehill.evaluation.verdict import judge
from molehill.risk.expected import ExpectedRisk, expected_risk
from molehill.risk.identification import ConfidentialRisk, confidential_risk
from molehill.risk.intruder import Intruder, Reading, View, as_view, find_rows, read_released
from molehill.risk.profile import describe_groups, pattern_groups, size_groups, top_records
from molehill.runtime import doing, is_spreading, parallel_map, progress_bar
from molehill.tables.formats.formats import read_table, write_table
from molehill.tables.labels import align_rows
from molehill.tables.resolution import holds_dates
from molehill.tables.table import Table, find_columns

if TYPE_CHECKING:
    from molehill.synthesis.posterior import Posterior

# Seconds from which on a bar is shown.
_PATIENCE = 2.0
# Records of either kind that membership is told of, and how many draws times records are looked at for it at most.
_MEMBERS, _MOST_REMOVED = 25, 2**25
# Records of either kind whose values are guessed.
_GUESSED = 15
FRAMES = ("risk", "utility", "groups", "top", "records", "measures", "shapes", "rules")


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Risk and utility of releases, ready to print, save and plot.

    Attributes
    ----------
    risk, utility
        scheme, column, measure, of, at, group, name, value, low, high: one figure a row. `measure` is the id of the
        measure, `of` and `at` what it is of (an analysis, a classifier) and at (a radius, a step), `name` says it all
        in words. The confidential table itself is the scheme "confidential". The ends are missing where a figure rests
        on one table.
    groups
        scheme, column, by, group, records, measure, value, low, high: mean risk and right guesses by pattern and by
        size of the sensitive value.
    top
        list, column, rank, range, scheme, risk: the riskiest records of the confidential table and of the first
        release, and those with the largest values, values as ranges.
    records
        scheme, record, pattern_size, risk, error, is_close, expected_risk, expected_error, rise, mole: a row a record.
        Not for publication.
    measures
        What each measure is: the fields of `molehill.evaluation.measure.Measure`, one row a measure.
    shapes
        scheme, column, by, group, curve, level, at, value: the curves of
        `molehill.evaluation.curves.list_shapes`. Not for publication.
    edit_rules
        By which it is judged: the fields of `molehill.evaluation.scorecard.Rule`, one row a rule. Not for publication.
    """

    risk: pd.DataFrame
    utility: pd.DataFrame
    groups: pd.DataFrame
    top: pd.DataFrame
    records: pd.DataFrame
    measures: pd.DataFrame = field(default_factory=lambda: describe_measures(MEASURES))
    shapes: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=SHAPE_COLUMNS))
    rules: pd.DataFrame = field(default_factory=describe_rules)

    @property
    def schemes(self) -> tuple[str, ...]:
        """Names of the releases, without the confidential table."""
        return tuple(name for name in self.risk["scheme"].unique() if name != CONFIDENTIAL)

    @property
    def is_linked(self) -> bool:
        """Whether released records are those of people, whose risk was measured: not so of tables of new people."""
        return "risk_mean" in set(self.risk.loc[self.risk["scheme"] != CONFIDENTIAL, "measure"])

    def __str__(self) -> str:
        return _tell_evaluation(self)

    def _repr_html_(self) -> str:
        return show_html(self, self.schemes[0], judge(self))

    def __repr__(self) -> str:
        records = len(self.records) // (len(self.schemes) + 1)
        return f"Evaluation({', '.join(self.schemes)}: {records:,} records)"

    def save(self, folder: str | Path, *, ending: Literal["csv", "parquet"] = "csv") -> None:
        """Write each frame as a file named like it, readable by the owner only, each whole or not at all.

        Parameters
        ----------
        folder
            It is made, for the owner only, if it is not there. Files of an earlier evaluation are replaced.
        ending
            "csv" or "parquet".
        """
        check_choice("ending", ending, ("csv", "parquet"))
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in FRAMES:
            path, frame = Path(folder) / f"{name}.{ending}", getattr(self, name)
            if len(frame):
                write_table(frame, path, private=True)
            else:
                path.unlink(missing_ok=True)


def read_evaluation(folder: str | Path) -> Evaluation:
    """Read an evaluation that was saved as Parquet."""
    paths = {name: Path(folder) / f"{name}.parquet" for name in FRAMES}
    # A frame without a row has no file.
    nothing = dict.fromkeys(FRAMES, pd.DataFrame(columns=COLUMNS)) | {"shapes": pd.DataFrame(columns=SHAPE_COLUMNS)}
    # Earlier versions judged by our bounds alone, and kept none.
    nothing["rules"] = describe_rules()
    return Evaluation(
        **{name: read_table(path).frame if path.exists() else nothing[name] for name, path in paths.items()}
    )


def evaluate(
    data: Any, released: Any, intruder: Intruder | None = None, options: EvaluationOptions | None = None
) -> Evaluation:
    """Measure the disclosure risk and the utility of one or more releases, whoever made them.

    One call for what these make one by one: `confidential_risk`, `release_risk`, `match_rates`, the attacks of
    `molehill.risk.attacks` and of `molehill.attacks`, `molehill.risk.expected.expected_risk`,
    `molehill.risk.moles.moles`, and the measures of `molehill.utility`.

    Parameters
    ----------
    data
        The confidential data, or how an intruder sees them.
    released
        One released dataset, a sequence of them, or by name several of either:
        `{"pairwise": datasets, "topcoded": dataset}`.
    intruder
        What the intruder knows, and what counts as close: the radius that the agency made its weights with.
    options
        What to measure and how, and what else is known of the releases: see `EvaluationOptions`.

    Examples
    --------
    >>> data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 110.0, 120.0, 900.0]})
    >>> released = {"topcoded": data.assign(pay=[100.0, 110.0, 120.0, 120.0])}
    >>> evaluation = evaluate(data, released, Intruder(known="town", sensitive="pay", radius=0.1, count_self=True))
    >>> evaluation.risk.query("measure == 'risk_mean'")[["scheme", "value"]].to_dict("split")["data"]
    [['confidential', 0.5], ['topcoded', 0.1875]]
    """
    options = EvaluationOptions() if options is None else options
    if not isinstance(options, EvaluationOptions):
        problem = f"it is of type {type(options).__name__}"
        raise InputError("options", problem, "Give for instance molehill.EvaluationOptions(seed=1)")
    everything = check_measures(MEASURES if options.measures is None else options.measures)
    wished = leave_out(everything, options.skip)
    thresholds = {} if options.thresholds is None else options.thresholds
    judged_by = set_rules(read_bounds(thresholds, "thresholds"), everything, "thresholds")
    view, linked = as_view(data, intruder), not options.fully_synthetic
    schemes = _read_releases(view, released, options.id_column, linked=linked)
    known = _check_names(schemes, options.posteriors if linked else None, options.reference if linked else None)
    reference = options.reference if linked else None
    taken = [one for one in wished if linked or "own record" not in (one.needs or ())]
    if options.related:
        find_columns(view.table, options.related, "related")
    if options.survey is not None:
        options.survey.read(view.table)
    radii: Any = options.radii
    for radius in radii or ():
        view.at(radius)
    people = None
    if options.control is not None:
        people = read_control(options.control, (*view.intruder.known, *view.intruder.sensitive))
    controls = _set_trials(view, schemes, people, options.trials)
    confidential = confidential_risk(view)
    asked, guessed = (any(one in of for one in taken) for of in (MEMBERSHIP_ADVANTAGES, ATTRIBUTE_RISKS))
    # What was made how travels no further.
    how = replace(options, posteriors=None, holdouts=None, trials=None, control=None)
    with progress_bar("measuring risk and utility", shown=options.progress, patience=_PATIENCE) as (extend, advance):
        # Expected risk of a release takes about as long as its measures.
        extend(len(taken) * (1 + len(schemes) + len(known)))
        expected = {}
        for name, posterior in known.items():
            with doing(f"expected risk of {name}"):
                expected[name] = _expect(view, posterior, name, len(schemes[name]), options)
            advance(len(taken))
        members = _find_members(confidential, known, schemes, options.seed) if asked else {}
        attributes = _guess_attributes(view, confidential, known, schemes, options.seed) if guessed else {}
        about = {
            name: {
                "holdout": (options.holdouts or {}).get(name),
                "membership": members.get(name),
                "attributes": attributes.get(name, ()),
                "trial": controls.get(name),
            }
            for name in (CONFIDENTIAL, *schemes)
        }
        contexts = _set_contexts(view, confidential, schemes, how, expected, reference, about)
        beside = None if reference is None else contexts[reference]
        # Who measures elsewhere cannot move a bar here.
        moves = None if is_spreading() else advance
        shared = (view, view.table, confidential, beside, taken, moves)
        found = {}
        for name, seen in zip(contexts, parallel_map(_measure, list(contexts.items()), shared=shared), strict=True):
            found[name] = seen
            advance(0 if moves else len(taken))
    own = {name: one for name, one in found.items() if one.realised is not None}
    first = next((one for name, one in own.items() if name != CONFIDENTIAL), None)
    realised = {name: one.realised for name, one in own.items()}
    return Evaluation(
        pd.DataFrame([row for one in found.values() for row in one.rows["risk"]], columns=COLUMNS),
        pd.DataFrame([row for one in found.values() for row in one.rows["utility"]], columns=COLUMNS),
        pd.concat([one.groups for one in own.values()], ignore_index=True),
        top_records(confidential, view.table, realised, released=None if first is None else first.rank),
        pd.concat([one.records for one in found.values()], ignore_index=True),
        describe_measures(taken),
        list_shapes(contexts),
        describe_rules(judged_by),
    )


class _Seen(NamedTuple):
    """What is told of one context: rows of figures by family, groups, records; and of people's records their risk."""

    rows: Mapping[str, list[tuple[Any, ...]]]
    groups: pd.DataFrame | None
    records: pd.DataFrame
    realised: Floats | None
    rank: Floats | None


def _measure(
    view: View,
    _table: Table,
    _confidential: ConfidentialRisk,
    _reference: Context | None,
    measures: Sequence[Measure],
    advance: Callable[[int], None] | None,
    name: str,
    context: Context,
) -> _Seen:
    """Take all measures of a context. What the contexts share is named, so that it travels once."""
    column, moves = ", ".join(view.intruder.sensitive), advance or (lambda _: None)
    rows = {
        family: measure_context([one for one in measures if one.family == family], context, name, column, moves)
        for family in ("risk", "utility")
    }
    # Nobody's records have no risk.
    if context.is_release and not context.is_linked:
        return _Seen(rows, None, _list_records(name, context), None, None)
    realised = context.risk.realised if context.is_release else context.confidential.risk
    rank = _rank(context) if context.is_release else None
    return _Seen(rows, _describe(name, context), _list_records(name, context), realised, rank)


def _read_releases(view: View, released: Any, key: str | None, *, linked: bool) -> dict[str, list[Reading]]:
    named = released if isinstance(released, Mapping) else {"released": released}
    if not named:
        raise InputError("released", "it names no release", "Give tables, or tables by name")
    for name in named:
        if not isinstance(name, str) or not name or name == CONFIDENTIAL:
            problem = f"{name!r} cannot be the name of a release"
            raise InputError("released", problem, f"Use any text but {CONFIDENTIAL!r}")
    found = {name: read_released(view, tables, key, linked=linked) for name, tables in named.items()}
    if key is not None or not linked:
        return found
    return {
        name: [one if one.rows is not None else replace(one, rows=find_rows(view, one)) for one in readings]
        for name, readings in found.items()
    }


def _check_names(schemes: Mapping[str, Any], posteriors: Any, reference: Any) -> "Mapping[str, Posterior]":
    """Accept names of releases, and give the posteriors by them."""
    known = {} if posteriors is None else posteriors
    if not isinstance(known, Mapping):
        problem = f"it is of type {type(known).__name__}, not posteriors by the name of their release"
        raise InputError("posteriors", problem, "Write for instance {'released': posterior}")
    for argument, names in (("posteriors", list(known)), ("reference", [] if reference is None else [reference])):
        for name in names:
            if not isinstance(name, str):
                problem = f"it is of type {type(name).__name__}, not text"
                raise InputError(argument, problem, nearest("", schemes))
            if name not in schemes:
                raise InputError(argument, f"there is no release {name!r}", nearest(name, schemes))
    for name, posterior in known.items():
        # By what it can do: to ask for its type would load JAX.
        if not callable(getattr(posterior, "predict_batch", None)):
            problem = f"that of {name!r} is of type {type(posterior).__name__}, not a Posterior"
            raise InputError("posteriors", problem, "Give what `fit` gave")
    return known


def _expect(view: View, posterior: "Posterior", name: str, tables: int, options: EvaluationOptions) -> ExpectedRisk:
    if len(posterior.table.frame) != view.records:
        raise InputError("posteriors", "one was fitted to a table of another length", "Give those of this table")
    return expected_risk(
        posterior,
        view,
        datasets=options.datasets,
        tables_in_run=min(tables, max(options.datasets // 2, 1)),
        seed=derive_seed(options.seed, "expected", name),
        unconverged=options.unconverged,
    )


def _find_members(
    confidential: ConfidentialRisk,
    posteriors: "Mapping[str, Posterior]",
    schemes: Mapping[str, list[Reading]],
    seed: int,
) -> dict[str, Membership]:
    """What the first release shows of records having been in the data, if its posterior can say it in a moment."""
    name = next(iter(schemes))
    posterior = posteriors.get(name)
    if posterior is None or not posterior.is_removable:
        return {}
    if len(posterior.table.frame) * posterior.number > _MOST_REMOVED:
        return {}
    tables, own_seed = len(schemes[name]), derive_seed(seed, "membership", name)
    with doing("membership"):
        told = membership(posterior, datasets=tables, seed=own_seed, riskiest=confidential.risk, number=_MEMBERS)
    return {name: told}


def _guess_attributes(
    view: View,
    confidential: ConfidentialRisk,
    posteriors: "Mapping[str, Posterior]",
    schemes: Mapping[str, list[Reading]],
    seed: int,
) -> dict[str, list[AttributeRisk]]:
    """What the first release tells of single values, by column, if its posterior can say it in a moment."""
    name = next(iter(schemes))
    posterior = posteriors.get(name)
    if posterior is None or len(posterior.table.frame) * posterior.number > _MOST_REMOVED:
        return {}
    about: dict[str, Any] = {"datasets": len(schemes[name]), "riskiest": confidential.risk, "number": _GUESSED}
    found = []
    with doing("guesses of single values", len(view.intruder.sensitive)) as told:
        for column in view.intruder.sensitive:
            told.count()
            if column not in posterior.synthesizer.sensitive or not posterior.can_guess(column):
                continue
            if holds_dates(posterior.table.frame[column]):
                continue
            own = derive_seed(seed, "attribute", name, column)
            # Of a category both would be the same.
            spreads = [SPREAD] if column in posterior.levels else [SPREAD, None]
            found += [attribute_risk(posterior, column, seed=own, spread=spread, **about) for spread in spreads]
    return {name: found}


def _set_trials(
    view: View, schemes: Mapping[str, list[Reading]], control: Table | None, given: Mapping[str, Trial] | None
) -> dict[str, Trial]:
    """Set the control beside every release and the confidential table; what a release has of its own goes first."""
    trials = dict(given or {})
    for name in trials:
        if name not in schemes:
            raise InputError("trials", f"there is no release {name!r}", nearest(name, schemes))
    if control is not None:
        shared = {name: Trial(view.table, [one.table for one in tables], control) for name, tables in schemes.items()}
        trials = {CONFIDENTIAL: Trial(view.table, [view.table], control), **shared, **trials}
    return trials


def _set_contexts(
    view: View,
    confidential: ConfidentialRisk,
    schemes: Mapping[str, list[Reading]],
    options: EvaluationOptions,
    expected: Mapping[str, ExpectedRisk],
    reference: str | None,
    about: Mapping[str, Mapping[str, Any]],
) -> dict[str, Context]:
    """Set every release beside the confidential table, which comes first, and beside the reference.

    `about` has, by name, what else is known of each.
    """
    base = None
    if reference is not None:
        base = Context(view, confidential, schemes[reference], options, expected.get(reference), **about[reference])
    contexts = {}
    for name, readings in schemes.items():
        own = Context(view, confidential, readings, options, expected.get(name), base, **about[name])
        contexts[name] = base if base is not None and name == reference else own
    first = Context(view, confidential, [], options, beside=next(iter(contexts.values())), **about[CONFIDENTIAL])
    return {CONFIDENTIAL: first} | contexts


def _rank(context: Context) -> Floats:
    """Risk by which the riskiest records of a release are found: the expected one, without the luck of the draw."""
    return context.risk.realised if context.expected is None else context.expected.risk


def _describe(scheme: str, context: Context) -> pd.DataFrame:
    patterns, sizes = pattern_groups(context.confidential), size_groups(context.confidential, context.view.table)
    frames = [describe_groups(group, {"risk_mean": context.by_dataset}) for group in (patterns, *sizes)]
    for column, measures in right_guesses(context).items():
        about = [group for group in sizes if group.column == column]
        frames += [describe_groups(group, measures).assign(column=column) for group in (patterns, *about)]
    joined = pd.concat(frames, ignore_index=True)
    joined.insert(0, "scheme", scheme)
    return joined


def _list_records(scheme: str, context: Context) -> pd.DataFrame:
    nothing = np.full(context.view.records, np.nan)
    risk, expected, found = context.risk if context.is_linked else None, context.expected, found_moles(context)
    tables = len(context.readings)
    error = risk.by_dataset.std(axis=0, ddof=1) / np.sqrt(tables) if risk is not None and tables > 1 else nothing
    return pd.DataFrame(
        {
            "scheme": scheme,
            "record": np.arange(1, len(nothing) + 1),
            "pattern_size": context.confidential.pattern_size,
            "risk": risk.realised if risk is not None else nothing if context.is_release else context.confidential.risk,
            "error": error,
            "is_close": nothing if risk is None else risk.is_close.mean(axis=0),
            "expected_risk": nothing if expected is None else expected.risk,
            "expected_error": nothing if expected is None else expected.error,
            "rise": nothing if found is None else found.rise,
            "mole": pd.array([None] * len(nothing) if found is None else found.records, dtype="boolean"),
        }
    )


def _tell_evaluation(evaluation: Evaluation) -> str:
    """An evaluation as text: one line a measure, one column a scheme, values of records as ranges only."""
    parts = [f"{cut_name(evaluation.schemes[0])}: {judge(evaluation).sentence}"]
    parts += ["\n".join(["Scorecard", *(f"{one.family}: {one.why}" for one in score(evaluation))])]
    changed = [f"{rule.family}: {rule}" for rule in list_rules(evaluation) if rule.ours]
    parts += ["\n".join(["Bounds that the agency set", *changed])] if changed else []
    parts += tell_figures("Risk (95% intervals over the tables)", evaluation.risk)
    # An estimate such as a median can be the value of a record: only what compares with it is printed.
    parts += tell_figures("Utility", evaluation.utility[evaluation.utility["scheme"] != CONFIDENTIAL])
    for (which, column), rows in evaluation.top.groupby(["list", "column"], sort=False):
        wide = rows.pivot_table(index=["rank", "range"], columns="scheme", values="risk", sort=False)
        wide = wide.reset_index().rename_axis(columns=None)
        title = f"{which} {column}".strip()
        parts += [f"{title}: risk of the first {rows['rank'].max()} records (values as ranges)", _align(wide)]
    return "\n\n".join(parts)


def tell_figures(title: str, figures: pd.DataFrame) -> list[str]:
    """Tell rows of risk or utility: for every column its name, and a line for every measure."""
    parts = []
    for column, rows in figures.groupby("column", sort=False):
        told = rows.assign(told=[_tell(*row) for row in rows[["value", "low", "high"]].to_numpy(dtype=float)])
        wide = told.pivot_table(index="name", columns="scheme", values="told", aggfunc="first", sort=False)
        wide = wide.fillna("").reset_index().rename(columns={"name": "measure"})
        parts += [f"{title}: {column}", _align(wide.rename_axis(columns=None))]
    return parts


def _tell(value: float, low: float, high: float) -> str:
    interval = "" if np.isnan(low) or np.isnan(high) else f" [{_number(low)}, {_number(high)}]"
    return _number(value) + interval


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _align(frame: pd.DataFrame) -> str:
    """Set text left and numbers right, two spaces between the columns."""
    numeric = [pd.api.types.is_float_dtype(frame[name]) for name in frame]
    rows = [
        [f"{name}" for name in frame.columns],
        *(
            [f"{value:.4f}" if isinstance(value, float) else f"{value}" for value in values]
            for values in frame.itertuples(index=False)
        ),
    ]
    return "\n".join(align_rows(rows, numeric))
