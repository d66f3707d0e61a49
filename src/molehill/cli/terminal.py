"""What is typed turned into arguments of the library, and what it gives turned into what is printed."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as Grid
from rich.text import Text

from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.scorecard import OFF, read_bounds, score, set_rules
from molehill.evaluation.verdict import MATCH_RATES
from molehill.larger_than_memory.risk import ConfidentialSummary
from molehill.plan.settings import FATES, Settings, printable
from molehill.plan.suggest import Suggestion
from molehill.report.dossier import tell_cost, tell_runners_up
from molehill.report.trail import WORDS, Verification, show_fingerprint
from molehill.risk.identification import ConfidentialRisk, risk_weights
from molehill.risk.profile import RiskProfile
from molehill.surveys.design import SurveyDesign
from molehill.tables.cells import declare_missing
from molehill.tables.formats.formats import read_table
from molehill.tables.schema import Kind
from molehill.tables.table import Table

if TYPE_CHECKING:
    from molehill.evaluation.evaluation import Evaluation
    from molehill.report.dossier import Searched

# Seconds of hashing from which on a bar is shown.
_PATIENCE = 2.0
# What is printed of a release, by the ids of the measures.
SHOWN = (*MATCH_RATES, "expected_mean", "risk_mean", "isolated_mean", "U_m")


def split_names(given: list[str], table: Table) -> list[str]:
    """Names with commas between; a name that itself has a comma is taken whole."""
    names = []
    for text in given:
        names += [text] if text in table.frame.columns else [name.strip() for name in text.split(",")]
    return [name for name in names if name]


def parse_pairs(given: list[str], argument: str, example: str) -> dict[str, str]:
    """Take texts of the form NAME=...; the name may hold an equals sign itself."""
    pairs = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        if not equals or not name or not value:
            raise InputError(argument, f"{text!r} is not of the form NAME=...", f"Write {example}")
        if name in pairs:
            raise InputError(argument, f"{name!r} is given more than once", "Give it once")
        pairs[name] = value
    return pairs


def parse_breaks(given: list[str]) -> dict[str, list[float]]:
    """Take texts such as age=25,35,50,65."""
    breaks = {}
    for name, value in parse_pairs(given, "breaks", "age=25,35,50,65").items():
        try:
            breaks[name] = [float(number) for number in value.split(",")]
        except ValueError:
            raise InputError("breaks", f"those of {name!r} are not numbers", "Write age=25,35,50,65") from None
    return breaks


def parse_kinds(given: list[str]) -> dict[str, Kind]:
    """Take texts such as income=continuous."""
    return parse_pairs(given, "kind", "income=continuous")  # pyright: ignore[reportReturnType]


def parse_design(given: list[str]) -> SurveyDesign | None:
    """Take the design of a survey from texts of the form PART=COLUMN, as a settings file has it.

    Examples
    --------
    >>> parse_design(["weight=PWGTP", "stratum=area"])
    SurveyDesign(weight='PWGTP', stratum='area')
    """
    if not given:
        return None
    parts = [one.name for one in fields(SurveyDesign)]
    taken: dict[str, Any] = {}
    for text in given:
        part, equals, value = (piece.strip() for piece in text.partition("="))
        remedy = f"Write for instance --survey weight=PWGTP --survey stratum=area; parts are {', '.join(parts)}"
        if not equals or part not in parts:
            raise InputError("survey", f"{text!r} is no part of a design with its column", remedy)
        if part in taken:
            raise InputError("survey", f"{part!r} is given twice", "Give every part once, with commas between several")
        taken[part] = _read_part(part, value)
    if "weight" not in taken:
        raise InputError("survey", "there is no weight", "Write for instance --survey weight=PWGTP")
    return SurveyDesign(**taken)


def _read_part(part: str, text: str) -> Any:
    try:
        if part in ("fay", "scale"):
            return float(text)
        if part == "factors":
            return tuple(map(float, text.split(",")))
    except ValueError:
        raise InputError("survey", f"{part!r} is no number", f"Write for instance --survey {part}=0.5") from None
    if part == "nested":
        if text.lower() not in ("true", "false"):
            raise InputError("survey", "'nested' is neither true nor false", "Write --survey nested=true")
        return text.lower() == "true"
    return tuple(name.strip() for name in text.split(",")) if part == "replicates" else text


def parse_bounds(given: list[str]) -> dict[str, Any]:
    """Take bounds of the scorecard: NAME=AMBER,RED, either of which may be left out, or NAME=off.

    Examples
    --------
    >>> parse_bounds(["matches_true=0.02,0.1", "advantage_random=0.7", "closest_records=off"])
    {'matches_true': {'amber': 0.02, 'red': 0.1}, 'advantage_random': {'amber': 0.7}, 'closest_records': 'off'}
    """
    example = "matches_true=0.02,0.1"
    taken: dict[str, Any] = {}
    for name, value in parse_pairs(given, "threshold", example).items():
        amber, *others = (part.strip() for part in value.split(","))
        if len(others) > 1:
            raise InputError("threshold", f"{name!r} has more than two thresholds", f"Write {example}")
        parts = dict(zip(("amber", "red"), (amber, *others), strict=False))
        taken[name] = OFF if value.strip() == OFF else {part: _read_bound(text) for part, text in parts.items() if text}
    bounds = read_bounds(taken, "threshold")
    set_rules(bounds, MEASURES, "threshold")
    return bounds


def _read_bound(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def parse_codes(given: list[str]) -> dict[str, list[str]]:
    """Take texts such as income=N; a column may have several."""
    codes: dict[str, list[str]] = {}
    for text in given:
        name, equals, code = text.rpartition("=")
        if not equals or not name or not code:
            raise InputError("missing_codes", f"{text!r} is not of the form NAME=CODE", "Write income=N")
        codes.setdefault(name, []).append(code)
    return codes


def read_releases(
    files: list[Path], compare: list[str], encoding: str | None, codes: dict[str, list[str]]
) -> dict[str, list[Table]]:
    """Read the released tables, and those of other releases given as NAME=FILE,FILE, with the same codes missing."""
    named = {"released": files}
    for name, value in parse_pairs(compare, "compare", "topcoded=top.csv").items():
        if name in ("released", "confidential"):
            raise InputError("compare", f"{name!r} is taken", "Choose another name, such as topcoded=top.csv")
        named[name] = [Path(file) for file in value.split(",")]

    def read(file: Path) -> Table:
        table = read_table(file, encoding=encoding)
        # A release need not have every column.
        return declare_missing(table, {name: of_column for name, of_column in codes.items() if name in table.frame})

    return {name: [read(file) for file in paths] for name, paths in named.items()}


def ask_about(suggested: Suggestion) -> Settings:
    """Ask on a terminal what is left to be decided: the fate of columns that look sensitive, and the limits."""
    settings, fates = suggested.settings, {"keep": [], "drop": []}
    for name in settings.undecided:
        told = printable(f"{name}: {suggested.reasons[name]}. Keep it as collected, or drop it?")
        while (answer := typer.prompt(f"{told} (keep, drop)", default="drop")) not in fates:
            typer.echo("Write keep or drop.")
        fates[answer].append(name)
    limits: dict[str, dict[str, float]] = {}
    for end in ("lower", "upper"):
        proposed = getattr(settings, end) or {}
        limits[end] = {
            name: typer.prompt(printable(f"{end} limit of {name}, from a codebook"), type=float, default=value)
            for name, value in proposed.items()
        }
    decided = {fate: (*getattr(settings, fate), *names) for fate, names in fates.items()}
    return settings.but(undecided=(), **decided, **{end: value for end, value in limits.items() if value})


def tell_suggestion(suggested: Suggestion, settings: Settings) -> str:
    """Say what was suggested for every column, with the reason."""
    fates = {name: fate for fate in (*FATES, "derived") for name in getattr(settings, fate)}
    rows = [(fates[name], name, reason) for name, reason in suggested.reasons.items()]
    lines = [f"{fate:11}{name}: {reason}" for fate, name, reason in rows]
    lines.append(f"The intruder may know {', '.join(settings.known) or 'nothing'}: {suggested.notes['known']}")
    lines += [suggested.notes[name] for name in ("columns", "missing_values", "radius") if name in suggested.notes]
    return "\n".join(printable(line) for text in lines for line in text.splitlines())


def record_level(result: ConfidentialRisk) -> pd.DataFrame:
    """Give risk and weight of every record, for a file that only its owner reads."""
    return pd.DataFrame(
        {
            "record": np.arange(1, len(result.risk) + 1),
            "risk": result.risk,
            "weight": risk_weights(result),
            "pattern_size": result.pattern_size,
            "within": result.within,
        }
    )


def _size(result: ConfidentialRisk | ConfidentialSummary) -> tuple[int, int]:
    """How many records and patterns there are."""
    if isinstance(result, ConfidentialSummary):
        return result.records, result.patterns
    return len(result.risk), result.patterns.number


def plain_risk(result: ConfidentialRisk | ConfidentialSummary, profile: RiskProfile) -> dict[str, Any]:
    """Give the summary of a risk as JSON takes it."""
    patterns = profile.patterns
    records, number = _size(result)
    return {
        "records": records,
        "order": result.order,
        "patterns": number,
        "distribution": dict(zip(profile.distribution["measure"], profile.distribution["value"], strict=True)),
        "above": profile.above.to_dict("records"),
        "histogram": profile.histogram.to_dict("records"),
        "riskiest_patterns": [
            {part: patterns[part].iloc[row].to_dict() for part in ("known", "measure")} for row in range(len(patterns))
        ],
        "policies": dict(result.policies),
    }


def print_profile(result: ConfidentialRisk | ConfidentialSummary, profile: RiskProfile) -> None:
    """Print the summary of a risk, values as ranges."""
    console = Console(highlight=False)
    records, number = _size(result)
    known, sensitive = result.schema.having("known"), result.schema.having("sensitive")
    console.print(
        Text(
            f"Identification risk of order {result.order}: {records:,} records, "
            f"{number:,} patterns of {', '.join(known) or 'no known column'}"
        ),
        style="bold",
    )
    for name in sensitive:
        console.print(Text(f"Sensitive: {name} ({result.schema[name].kind}: {result.schema[name].reason})"))
    bars = _grid("risk", "records", "share", "")
    widest = max(profile.histogram["share"].max(), 1e-12)
    for low, high, of_bin, share in profile.histogram.to_numpy().tolist():
        bar = "█" * round(40 * share / widest) or ("▏" if of_bin else "")
        bars.add_row(f"{low:.2f} to {high:.2f}", f"{of_bin:,.0f}", f"{share:.1%}", Text(bar, "blue"))
    console.print(bars)
    measures = _grid("measure", "risk")
    for row in profile.distribution.itertuples():
        measures.add_row(str(row.measure), f"{row.value:.4f}")
    for row in profile.above.itertuples():
        measures.add_row(f"records above {row.threshold}", f"{row.records:,} ({row.share:.1%})")
    console.print(measures)
    _print_patterns(console, profile.patterns)
    if len(profile.policies):
        touched = _grid("policy touched", "records")
        for row in profile.policies.itertuples():
            touched.add_row(str(row.policy), f"{row.records:,}")
        console.print(touched)


def _print_patterns(console: Console, patterns: pd.DataFrame) -> None:
    console.print(Text(f"The {len(patterns)} riskiest patterns (values as ranges)"), style="bold")
    grid = _grid(*(f"{name}" for _, name in patterns.columns))
    for values in patterns.itertuples(index=False):
        grid.add_row(*(Text(f"{value:.4f}" if isinstance(value, float) else f"{value}") for value in values))
    console.print(grid)


def _grid(*headings: str) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD)
    for heading in headings:
        grid.add_column(Text(heading))
    return grid


def plain_evaluation(evaluation: "Evaluation") -> dict[str, Any]:
    """Give the risk and utility of releases as JSON takes it."""
    # An estimate of the confidential table, such as a median, can be the value of a record.
    compared = evaluation.utility[evaluation.utility["scheme"] != "confidential"]
    frames = {"risk": rows_of(evaluation.risk), "utility": rows_of(compared), "top": rows_of(evaluation.top)}
    return {"scorecard": list(map(asdict, score(evaluation))), **frames}


def plain_search(found: "Searched") -> dict[str, Any]:
    """Give what a search found as JSON takes it, without anything at the level of records."""
    return {
        "met": found.met,
        "targets": list(map(str, found.targets)),
        "verdict": found.verdict,
        "found": found.fit_to_publish,
        "chosen": rows_of(found.candidates.iloc[[found.place]])[0],
        "next_best": rows_of(found.next_best),
        "candidates": rows_of(found.candidates),
        "blocking_records": rows_of(found.blocking_records),
        "probability": _number(found.probability),
        "probability_low": _number(found.probability_low),
        "probability_high": _number(found.probability_high),
        "fresh": _number(found.fresh),
        "cost": {name: _number(value) for name, value in found.cost.items()},
    }


def tell_search(found: "Searched") -> str:
    """Say what a search found, with its runners-up, in plain words."""
    return "\n".join([found.verdict, *(f"Runner-up: {line}" for line in tell_runners_up(found)), tell_cost(found)])


def print_release(release: Any) -> None:
    """Print what a release gives away and keeps, beside the schemes that it is compared with."""
    console = Console(highlight=False)
    number, what = len(release.weights), "records"
    if release.settings.fully_synthetic_records is not None:
        number, what = release.settings.fully_synthetic_records, "new people"
    console.print(Text(f"{len(release.datasets)} tables of {number:,} {what}: {release.scheme}", "bold"))
    console.print(Text(release.verdict.sentence))
    evaluation = release.evaluation
    about = evaluation.measures.set_index("id")
    figures = pd.concat([evaluation.risk, evaluation.utility]).drop_duplicates(["scheme", "measure"])
    figures = figures.set_index(["scheme", "measure"])["value"]
    there = set(figures.index.get_level_values("measure"))
    shown = [name for name in (*SHOWN, "membership_distance", "closer_to_participants") if name in there]
    grid = _grid("scheme", *(about["label"][name] for name in shown))
    for scheme in ("confidential", *evaluation.schemes):
        cells = [_tell(about["unit"][name], figures.get((scheme, name), np.nan)) for name in shown]
        grid.add_row(Text(scheme), *cells)
    console.print(grid)
    for scheme, diagnostics in release.diagnostics.items():
        if diagnostics.problems:
            console.print(Text(f"{scheme} has not converged: {diagnostics.problems[0]}", "yellow"))


@contextmanager
def hashing_bar() -> Iterator[Callable[[int, int], None]]:
    """Give a function that takes bytes done and bytes in all, and shows a bar once that takes longer, on a terminal."""
    console, begun = Console(stderr=True), time.monotonic()
    columns = (TextColumn("Reading the files"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("", total=None)

    def advance(done: int, total: int) -> None:
        if console.is_terminal and time.monotonic() - begun > _PATIENCE:
            bar.start()
            bar.update(task, completed=done, total=total)

    try:
        yield advance
    finally:
        # One that was never started would leave an empty line.
        if bar.live.is_started:
            bar.stop()


def plain_verification(found: Verification) -> dict[str, Any]:
    """Give what a check of a folder found as JSON takes it."""
    problems = [{**asdict(problem), "words": WORDS[problem.kind]} for problem in found.problems]
    return {"holds": found.holds, **asdict(found), "problems": problems}


def tell_verification(found: Verification, folder: Path, published: Path | None) -> str:
    """Say what a check of a folder found; the fingerprint is what stands on the page that was signed."""
    lines = []
    for problem in found.problems:
        where = folder if problem.where == "folder" else published
        lines.append(f"{printable(str(where))}: {problem}")
    lines += [f"Beside it, not of the release: {name}" for name in found.notes]
    told = {"Fingerprint of the dossier": found.described, "Fingerprint of release/": found.fingerprint}
    told |= {} if found.published is None else {"Fingerprint of the published folder": found.published}
    if len(set(told.values())) == 1:
        told = {"Fingerprint of release/": found.described}
    lines += [f"{name}: {show_fingerprint(value) or 'nothing is there'}" for name, value in told.items()]
    number = len(found.problems)
    files = f"{found.files:,} files are as they were written."
    lines.append(files if found.holds else f"Not as it was written: {number} problem{'' if number == 1 else 's'}.")
    return "\n".join(lines)


def _tell(unit: str, value: float) -> str:
    return "" if np.isnan(value) else f"{value:,.0f}" if unit == "count" else f"{value:.4f}"


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Give the rows of a frame as JSON takes them."""
    # JSON has no word for what is missing but null.
    return frame.astype(object).where(frame.notna(), None).to_dict("records")  # pyright: ignore[reportReturnType]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
