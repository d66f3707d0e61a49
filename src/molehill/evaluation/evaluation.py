"""What a release gives away and what it keeps: risk and utility of any released tables, in tidy frames."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.errors import InputError, check_choice, nearest
from molehill.evaluation.risk_measures import Figures, measure_guesses, measure_rises, measure_risk
from molehill.evaluation.utility_measures import (
    Interval,
    Method,
    Rule,
    compare_estimates,
    compare_tables,
    default_analyses,
)
from molehill.risk.identification import ConfidentialRisk, ReleaseRisk, Singletons, confidential_risk, release_risk
from molehill.risk.intruder import Breaks, Floor, Kinds, Missing, Radius, as_tables
from molehill.risk.moles import Moles, moles
from molehill.risk.profile import describe_groups, pattern_groups, profile_release, size_groups, top_records
from molehill.tables.formats import write_table
from molehill.tables.table import Table, as_table
from molehill.utility import Analysis

_RISK_TITLE = "Risk (95% intervals over the tables)"
_UTILITY_TITLE = "Utility"


def tell(risk: pd.DataFrame, utility: pd.DataFrame, top: pd.DataFrame) -> str:
    """Put the frames of an evaluation into words; estimates of the confidential table are left out."""
    parts = _tell_figures(_RISK_TITLE, risk)
    # An estimate such as a median can be the value of a record: only what compares with it is printed.
    parts += _tell_figures(_UTILITY_TITLE, utility[utility["scheme"] != "confidential"])
    for title, rows in top.groupby("list", sort=False):
        wide = rows.pivot_table(index=["rank", "range"], columns="scheme", values="risk", sort=False)
        wide = wide.reset_index().rename_axis(columns=None)
        parts += [f"{title}: risk of the first {rows['rank'].max()} records (values as ranges)", _align(wide)]
    return "\n\n".join(parts)


def _tell_figures(title: str, figures: pd.DataFrame) -> list[str]:
    parts = []
    for column, rows in figures.groupby("column", sort=False):
        told = rows.assign(told=[_tell(*row) for row in rows[["value", "low", "high"]].to_numpy(dtype=float)])
        wide = told.pivot_table(index="measure", columns="scheme", values="told", aggfunc="first", sort=False)
        parts += [f"{title}: {column}", _align(wide.fillna("").reset_index().rename_axis(columns=None))]
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
    widths = [max(len(cell) for cell in cells) for cells in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in rows
    ]
    return "\n".join(lines)


if TYPE_CHECKING:
    from molehill.evaluation.expected import ExpectedRisk
    from molehill.synthesis.posterior import Posterior

Floats = NDArray[np.float64]

CONFIDENTIAL = "confidential"
COLUMNS = ["scheme", "column", "measure", "value", "low", "high"]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Risk and utility of releases, ready to print, save and plot.

    Attributes
    ----------
    risk, utility
        scheme, column, measure, value, low, high: one figure a row. The confidential table itself is the scheme
        "confidential". The ends are missing where a figure rests on one table.
    groups
        scheme, column, by, group, records, measure, value, low, high: mean risk and right guesses by pattern and by
        range of the sensitive value.
    top
        list, rank, range, scheme, risk: the riskiest records and those with the largest values, values as ranges.
    records
        scheme, record, pattern_size, risk, error, linked, expected_risk, expected_error, rise, mole: one row a record.
        Not for publication.
    """

    risk: pd.DataFrame
    utility: pd.DataFrame
    groups: pd.DataFrame
    top: pd.DataFrame
    records: pd.DataFrame

    @property
    def schemes(self) -> tuple[str, ...]:
        """Names of the releases, without the confidential table."""
        return tuple(name for name in self.risk["scheme"].unique() if name != CONFIDENTIAL)

    def __str__(self) -> str:
        return tell(self.risk, self.utility, self.top)

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
        for name in ("risk", "utility", "groups", "top", "records"):
            path, frame = Path(folder) / f"{name}.{ending}", getattr(self, name)
            if len(frame):
                write_table(frame, path, private=True)
            else:
                path.unlink(missing_ok=True)


def evaluate(
    data: Any,
    released: Any,
    *,
    known: str | Sequence[str],
    sensitive: str | Sequence[str],
    radius: Radius,
    analyses: Sequence[Analysis] | None = None,
    groups: str | Sequence[str] | None = None,
    interval: Interval = "combined",
    rule: Rule = "partial",
    propensity_methods: Sequence[Method] = ("logistic", "tree"),
    posteriors: "Mapping[str, Posterior] | None" = None,
    reference: str | None = None,
    radii: Sequence[Radius] | None = None,
    step: float = 0.2,
    datasets: int = 400,
    unconverged: Literal["error", "allow"] = "error",
    seed: int = 0,
    floor: Floor = 0.0,
    key: str | None = None,
    singletons: Singletons = "protect",
    missing: Missing = "error",
    breaks: Breaks = None,
    kinds: Kinds = None,
) -> Evaluation:
    """Say what releases give away and what they keep, whoever made them.

    One call for what these make one by one: `confidential_risk`, `release_risk`, `match_rates`,
    `molehill.release_profile.profile_release`, `molehill.pooling.pooled_risk`, `molehill.disclosure.guess_values`,
    `molehill.expected.expected_risk`, `molehill.moles.moles`, and the measures of `molehill.utility`.

    Parameters
    ----------
    data
        The confidential table.
    released
        One released table, a sequence of them, or by name several of either: `{"pairwise": tables, "topcoded": table}`.
    known, sensitive
        Columns that the intruder knows, and those that are protected.
    radius
        What counts as close, as in `release_risk`: the radius that the agency made its weights with.
    analyses
        What users will compute, from `molehill.utility`; by default mean, median, 90% quantile and standard deviation
        of every numeric sensitive column. An empty list leaves them out.
    groups
        Columns within whose groups utility is measured as well.
    interval, rule
        Of the estimates, as in `molehill.utility.estimate`.
    propensity_methods
        How to tell released records from confidential ones: "logistic", "tree", both or, empty, not at all.
    posteriors
        By the name of the release, the posterior that it was drawn from: adds the expected risk of every record.
    reference
        Name of the release that the others are compared with, record by record, to count rises and find moles.
    radii
        Other radii that an intruder may use; by default half, one and a half times and twice the `radius`.
    step
        Smallest rise of risk that counts.
    datasets, seed
        Tables for the expected risk, and random numbers for it and for what chance alone would show.
    unconverged
        "error" refuses a posterior that has not converged, as `draw` does.
    floor, key, singletons, missing, breaks, kinds
        As in `release_risk`.

    Examples
    --------
    >>> data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 110.0, 120.0, 900.0]})
    >>> released = {"topcoded": data.assign(pay=[100.0, 110.0, 120.0, 120.0])}
    >>> evaluation = evaluate(data, released, known="town", sensitive="pay", radius=0.1)
    >>> evaluation.risk.query("measure == 'mean risk'")[["scheme", "value"]].to_dict("split")["data"]
    [['confidential', 0.5], ['topcoded', 0.1875]]
    """
    table = as_table(data)
    schemes = _name_releases(released)
    _check_names(schemes, posteriors or {}, reference)
    settings: dict[str, Any] = {"known": known, "sensitive": sensitive, "radius": radius, "floor": floor}
    settings |= {"missing": missing, "breaks": breaks, "kinds": kinds}
    confidential = confidential_risk(table, singletons=singletons, **settings)
    linked = {**settings, "key": key}
    risks = {name: release_risk(table, tables, singletons=singletons, **linked) for name, tables in schemes.items()}
    about = {**settings, "singletons": singletons, "unconverged": unconverged}
    expected = _expect(posteriors or {}, schemes, about, datasets, seed)
    found = _find_moles(expected, reference, step)

    schema = confidential.schema
    column = ", ".join(schema.having("sensitive"))
    wanted = default_analyses(schema) if analyses is None else list(analyses)
    risk_rows = _rows(CONFIDENTIAL, {column: profile_release(confidential.risk[None])})
    utility_rows: list[tuple[Any, ...]] = []
    described = [_describe(CONFIDENTIAL, confidential, table, confidential.risk[None], {})]
    for name, tables in schemes.items():
        about = {"settings": linked, "singletons": singletons, "radii": radii}
        figures = measure_risk(table, tables, risks[name], schema, **about)
        if name in expected:
            figures[column] |= profile_release(expected[name].blocks, "expected risk")
        if reference is not None and name != reference:
            runs = _usable_runs(expected.get(reference), len(tables), len(schemes[reference]))
            compared = {"runs": runs, "found": found.get(name), "step": step, "seed": seed}
            figures[column] |= measure_rises(risks[name], risks[reference], **compared)
        guessed, by_record = measure_guesses(table, tables, schema, settings=linked)
        risk_rows += _rows(name, figures) + _rows(name, guessed)
        described.append(_describe(name, confidential, table, risks[name].by_table, by_record))

        shared: dict[str, Any] = {"groups": groups, "missing": missing, "seed": seed}
        own, estimates = compare_estimates(table, tables, wanted, interval=interval, rule=rule, **shared)
        distances = compare_tables(table, tables, schema, methods=propensity_methods, **shared)
        utility_rows += ([] if utility_rows else _rows(CONFIDENTIAL, own)) + _rows(name, estimates)
        utility_rows += _rows(name, distances)
    realised = {CONFIDENTIAL: confidential.risk} | {name: risk.realised for name, risk in risks.items()}
    return Evaluation(
        pd.DataFrame(risk_rows, columns=COLUMNS),
        pd.DataFrame(utility_rows, columns=COLUMNS),
        pd.concat(described, ignore_index=True),
        top_records(confidential, table, realised),
        _list_records(confidential, risks, expected, found),
    )


def _name_releases(released: Any) -> dict[str, list[Table]]:
    if not isinstance(released, Mapping):
        return {"released": as_tables(released)}
    if not released:
        raise InputError("released", "it names no release", "Give tables, or tables by name")
    for name in released:
        if not isinstance(name, str) or not name or name == CONFIDENTIAL:
            problem = f"{name!r} cannot be the name of a release"
            raise InputError("released", problem, f"Use any text but {CONFIDENTIAL!r}")
    return {name: as_tables(tables) for name, tables in released.items()}


def _check_names(schemes: Mapping[str, Any], posteriors: Mapping[str, Any], reference: str | None) -> None:
    for argument, names in (("posteriors", list(posteriors)), ("reference", [] if reference is None else [reference])):
        for name in names:
            if name not in schemes:
                raise InputError(argument, f"there is no release {name!r}", nearest(str(name), schemes))


def _expect(
    posteriors: "Mapping[str, Posterior]",
    schemes: Mapping[str, list[Table]],
    settings: Mapping[str, Any],
    datasets: int,
    seed: int,
) -> "dict[str, ExpectedRisk]":
    if not posteriors:
        return {}
    # It needs JAX, which whoever has a posterior has loaded; to evaluate other people's files must not wait for it.
    expected_risk = import_module("molehill.evaluation.expected").expected_risk
    found = {}
    for number, (name, posterior) in enumerate(posteriors.items()):
        own = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
        run = min(len(schemes[name]), max(datasets // 2, 1))
        found[name] = expected_risk(posterior, datasets=datasets, tables_in_run=run, seed=own, **settings)
    lengths = {len(risk.risk) for risk in found.values()} | {len(next(iter(schemes.values()))[0].frame)}
    if len(lengths) > 1:
        raise InputError("posteriors", "one was fitted to a table of another length", "Give those of this table")
    return found


def _find_moles(expected: "Mapping[str, ExpectedRisk]", reference: str | None, step: float) -> dict[str, Moles]:
    if reference is None or reference not in expected:
        return {}
    base = expected[reference]
    return {
        name: moles(mean.risk, mean.error, base.risk, base.error, step=step)
        for name, mean in expected.items()
        if name != reference
    }


def _usable_runs(expected: "ExpectedRisk | None", tables: int, reference: int) -> Floats | None:
    """Runs of the reference, if they have as many tables as both releases."""
    if expected is None or not tables == reference == expected.tables_in_run:
        return None
    return expected.runs


def _rows(scheme: str, figures: Figures) -> list[tuple[Any, ...]]:
    return [
        (scheme, column, measure, *figure)
        for column, of_column in figures.items()
        for measure, figure in of_column.items()
    ]


def _describe(
    scheme: str,
    confidential: ConfidentialRisk,
    table: Table,
    risk: Floats,
    by_column: Mapping[str, Mapping[str, Floats]],
) -> pd.DataFrame:
    patterns, sizes = pattern_groups(confidential), size_groups(confidential, table)
    frames = [describe_groups(group, {"mean risk": risk}) for group in (patterns, *sizes)]
    for column, measures in by_column.items():
        about = [group for group in sizes if group.column == column]
        frames += [describe_groups(group, measures).assign(column=column) for group in (patterns, *about)]
    joined = pd.concat(frames, ignore_index=True)
    joined.insert(0, "scheme", scheme)
    return joined


def _list_records(
    confidential: ConfidentialRisk,
    risks: Mapping[str, ReleaseRisk],
    expected: "Mapping[str, ExpectedRisk]",
    found: Mapping[str, Moles],
) -> pd.DataFrame:
    records = len(confidential.risk)
    nothing = np.full(records, np.nan)
    frames = []
    for name, risk in {CONFIDENTIAL: None, **risks}.items():
        tables = 0 if risk is None else len(risk.by_table)
        error = risk.by_table.std(axis=0, ddof=1) / np.sqrt(tables) if risk is not None and tables > 1 else nothing
        frames.append(
            pd.DataFrame(
                {
                    "scheme": name,
                    "record": np.arange(1, records + 1),
                    "pattern_size": confidential.pattern_size,
                    "risk": confidential.risk if risk is None else risk.realised,
                    "error": error,
                    "linked": nothing if risk is None else risk.linked.mean(axis=0),
                    "expected_risk": expected[name].risk if name in expected else nothing,
                    "expected_error": expected[name].error if name in expected else nothing,
                    "rise": found[name].rise if name in found else nothing,
                    "mole": pd.array(found[name].records if name in found else [None] * records, dtype="boolean"),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)
