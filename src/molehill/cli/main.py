"""Commands: thin doors to the library, nothing that the library cannot do."""

import json
import math
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.text import Text

import molehill
from molehill.charts import risk_histogram, save_figure
from molehill.cli import reproduce as cli_reproduce
from molehill.cli.terminal import (
    parse_breaks,
    parse_kinds,
    plain_evaluation,
    plain_risk,
    print_profile,
    print_release,
    read_releases,
    record_level,
    split_names,
)
from molehill.dossier import tell_cost, tell_runners_up
from molehill.errors import InputError
from molehill.plan.settings import Settings, read_settings, write_settings
from molehill.plan.suggest import suggest_settings
from molehill.plan.targets import read_targets
from molehill.risk.identification import ConfidentialRisk, confidential_risk
from molehill.risk.profile import profile_risk
from molehill.tables.formats import read_table, write_table
from molehill.tables.populations import consumer_survey
from molehill.tables.table import Table

if TYPE_CHECKING:
    from molehill.release.search.order import Found

NOTHING_FOUND = 3
DEFAULT_TARGET = "maximum realised <= 0.5"


def search(
    settings: Annotated[Path, typer.Argument(help="Settings file, as init writes it and run reads it.")],
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="A rule to keep, in place of those in the settings ('maximum realised <= 0.5' if there are none): "
            "'99% expected <= 0.4', 'mean expected <= 0.15', 'moles 0.1 <= 0', 'U_m <= 0.03', 'overlap >= 0.6'; may "
            "repeat."
        ),
    ] = None,
    fits: Annotated[int, typer.Option(help="How many fits at most.")] = 12,
    seconds: Annotated[float | None, typer.Option(help="No fit is begun after so many seconds.")] = None,
    chance: Annotated[float, typer.Option(help="Largest chance that fresh tables break a realised target.")] = 0.2,
    redraw: Annotated[
        float, typer.Option(help="Share of records that may be drawn anew to keep a realised target; 0: none.")
    ] = 0.001,
    expected_tables: Annotated[int, typer.Option(help="Predicted tables that a point is measured with.")] = 400,
    order: Annotated[
        int | None, typer.Option(help="Of the weights to begin with, if not that in the settings.")
    ] = None,
    components: Annotated[
        int | None, typer.Option(help="Of a mixture to begin with, if not that in the settings.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the results; by default named like the file.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted search.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    seed: Annotated[int | None, typer.Option(help="Instead of the one in the settings; keep it to yourself.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of a .csv file, if not UTF-8.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Find the release that keeps the most utility under a rule, or say that there is none and why.

    Example: molehill search settings.toml --target 'maximum realised <= 0.5' --target 'U_m <= 0.03' --fits 8
    """
    chosen = read_settings(settings)
    chosen = chosen if seed is None else replace(chosen, seed=seed)
    chosen = chosen if order is None else replace(chosen, order=order)
    chosen = chosen if components is None else replace(chosen, components=components)
    if chosen.data is None:
        raise InputError("settings", "'data' is missing", "Say in the file where the confidential table is")
    # All of them are read, and told what is wrong with, before the table is.
    wanted = read_targets(target or chosen.targets or [DEFAULT_TARGET])
    folder = out or Path(f"{settings.stem}-search")
    unfinished = _open_folder(folder, resume=resume)
    table = read_table(settings.parent / chosen.data, encoding=encoding)
    tell = None if quiet or as_json else lambda text: typer.echo(text, err=True)
    try:
        found = import_module("molehill.release.search.order").search_settings(
            table,
            chosen,
            wanted,
            fits=fits,
            seconds=seconds,
            chance=chance,
            redraw=redraw,
            expected_tables=expected_tables,
            checkpoint=unfinished,
            progress=not quiet,
            tell=tell,
        )
        if found.point is not None:
            release = found.release(tell)
            if tell is not None:
                tell("writing the report")
            release.save(folder)
    except BaseException:
        # Refused or interrupted before any work was done: there is nothing to go on with.
        if unfinished.exists() and not any(unfinished.rglob("chunk-*.bin")):
            shutil.rmtree(unfinished)
        raise
    shutil.rmtree(unfinished, ignore_errors=True)
    if as_json:
        typer.echo(json.dumps(plain_found(found), indent=2, ensure_ascii=False))
    elif not quiet:
        typer.echo(tell_found(found))
        typer.echo(_tell_folder(found, folder))
    if not found.met:
        raise typer.Exit(NOTHING_FOUND)


def tell_found(found: "Found") -> str:
    """Say what a search found, with its runners-up, in plain words."""
    return "\n".join([found.verdict, *(f"Runner-up: {line}" for line in tell_runners_up(found)), tell_cost(found)])


def _tell_folder(found: "Found", folder: Path) -> str:
    if found.point is None:
        return "Nothing was written."
    published = f"To publish: {folder / 'release'}\n" if found.fit_to_publish else "Nothing was released.\n"
    return f"\n{published}To keep: {folder / 'internal'}\nOpen {folder / 'internal' / 'report.html'} in a browser."


def plain_found(found: "Found") -> dict[str, Any]:
    """Give what a search found as JSON takes it, without anything at the level of records."""

    def rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
        return frame.astype(object).where(frame.notna(), None).to_dict("records")  # pyright: ignore[reportReturnType]

    def number(value: float) -> float | None:
        return None if math.isnan(value) else value

    return {
        "met": found.met,
        "targets": list(found.targets),
        "verdict": found.verdict,
        "released": found.fit_to_publish,
        "repeat": found.command,
        "chosen": None if found.place is None else rows(found.points.iloc[[found.place]])[0],
        "runners_up": rows(found.runners_up),
        "points": rows(found.points),
        "standing_in_the_way": rows(found.standing_in_the_way),
        "probability": number(found.probability),
        "probability_low": number(found.probability_low),
        "probability_high": number(found.probability_high),
        "noise_floor": number(found.floor),
        "cost": {name: number(value) for name, value in found.cost.items()},
    }


def _open_folder(folder: Path, *, resume: bool) -> Path:
    """Give the hidden folder beside the target that an unfinished search lives in."""
    if folder.exists():
        raise InputError("out", f"{str(folder)!r} exists already", "Choose another folder, or remove this one")
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    if unfinished.exists() and not resume:
        problem = f"an unfinished search for this folder is in {str(unfinished)!r}"
        raise InputError("resume", problem, "Add --resume to go on with it, or remove that folder")
    return unfinished


# Commands that synthesize or evaluate import what they need when they are called: JAX and statsmodels take seconds.

EXIT_CODES = (
    "Exit codes: 0 done, 1 the system refused (such as a full disk), 2 bad input, 3 a search found nothing, "
    "130 interrupted."
)

app = typer.Typer(
    name="molehill",
    help=f"Publish synthetic microdata, and defend it.\n\n{EXIT_CODES}",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(cli_reproduce.app)


def main() -> None:
    """Run the command line: turn errors into one clear line and an exit code."""
    # Left to itself, the command parser ends an interrupted run like any failed one.
    resumable = "; add --resume to go on" if {"run", "demo", "reproduce", "search"} & set(sys.argv[1:2]) else ""
    signal.signal(signal.SIGINT, lambda *_: _complain(f"interrupted; no file was written in part{resumable}", 130))
    try:
        app()
    except InputError as error:
        _complain(str(error), 2)
    except OSError as error:
        _complain(f"the system refused: {error.strerror or type(error).__name__}", 1)


def _complain(text: str, code: int) -> None:
    Console(stderr=True, soft_wrap=True).print(Text.assemble(("Error: ", "bold red"), text))
    sys.exit(code)


app.command()(search)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 (Typer's callback)
    if wanted:
        typer.echo(f"molehill {molehill.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options that stand before any command."""


@app.command()
def risk(
    data: Annotated[Path, typer.Argument(help="Confidential table: .csv, .parquet, .dta, .sav, .sas7bdat or .xpt.")],
    known: Annotated[list[str], typer.Option(help="Columns that an intruder knows, with commas between; may repeat.")],
    sensitive: Annotated[list[str], typer.Option(help="Columns to protect, with commas between; may repeat.")],
    radius: Annotated[float, typer.Option(help="Relative radius of what counts as close: 0.2 is 20%.")],
    order: Annotated[int, typer.Option(help="1 marginal, 2 pairwise, k.")] = 1,
    floor: Annotated[float, typer.Option(help="Least radius, in the units of the data.")] = 0.0,
    singletons: Annotated[
        str, typer.Option(help="A record alone in its pattern: protect, formula, error.")
    ] = "protect",
    small_patterns: Annotated[str, typer.Option(help="A pattern smaller than the order: error, marginal.")] = "error",
    missing: Annotated[str, typer.Option(help="A missing sensitive value: error, keep.")] = "error",
    breaks: Annotated[list[str] | None, typer.Option(help="Groups of a known column: age=25,35,50,65.")] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Kind of a column: income=continuous (or count, semicontinuous, categorical)."),
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of a .csv file, if not UTF-8.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write record-level risk and weights here (owner only).")] = None,
    figure: Annotated[Path | None, typer.Option(help="Write the figure here: .html, .svg or .png.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Say how risky a confidential table is, record by record.

    Example: molehill risk survey.csv --known gender,age,region --sensitive income --radius 0.2 --order 2
    """
    for path, argument in ((out, "out"), (figure, "figure")):
        _refuse_existing(path, argument, overwrite=overwrite)
    with _working("Reading the table"):
        table = read_table(data, encoding=encoding)
    with _working("Measuring the risk"):
        result = confidential_risk(
            table,
            known=split_names(known, table),
            sensitive=split_names(sensitive, table),
            radius=radius,
            order=order,
            floor=floor,
            singletons=singletons,  # pyright: ignore[reportArgumentType]
            small_patterns=small_patterns,  # pyright: ignore[reportArgumentType]
            missing=missing,  # pyright: ignore[reportArgumentType]
            breaks=parse_breaks(breaks or []),
            kinds=parse_kinds(kind or []),
        )
    _present(result, table, out=out, figure=figure, as_json=as_json)


@app.command()
def evaluate(
    confidential: Annotated[Path, typer.Argument(help="Confidential table.")],
    released: Annotated[list[Path], typer.Argument(help="Released tables, whoever made them.")],
    known: Annotated[list[str], typer.Option(help="Columns that an intruder knows, with commas between; may repeat.")],
    sensitive: Annotated[list[str], typer.Option(help="Columns to protect, with commas between; may repeat.")],
    radius: Annotated[float, typer.Option(help="Relative radius of what counts as close: 0.2 is 20%.")],
    against: Annotated[
        list[str] | None, typer.Option(help="Another release to compare with: NAME=FILE,FILE; may repeat.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Column that names the record; else records go by position.")] = None,
    floor: Annotated[float, typer.Option(help="Least radius, in the units of the data.")] = 0.0,
    singletons: Annotated[
        str, typer.Option(help="A record alone in its pattern: protect, formula, error.")
    ] = "protect",
    missing: Annotated[str, typer.Option(help="A missing sensitive value: error, keep.")] = "error",
    breaks: Annotated[list[str] | None, typer.Option(help="Groups of a known column: age=25,35,50,65.")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Kind of a column: income=continuous.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of .csv files, if not UTF-8.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for all results, record-level ones included (owner only).")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Say what released tables give away and what they keep, whoever made them.

    Example: molehill evaluate survey.csv synthetic_*.csv --known gender,age,region --sensitive income --radius 0.2
    --against topcoded=topcoded.csv
    """
    _refuse_existing(out, "out", overwrite=overwrite)
    with _working("Reading the tables"):
        table = read_table(confidential, encoding=encoding)
        releases = read_releases(released, against or [], encoding)
    with _working("Measuring risk and utility"):
        result = import_module("molehill.evaluation.evaluation").evaluate(
            table,
            releases,
            known=split_names(known, table),
            sensitive=split_names(sensitive, table),
            radius=radius,
            key=key,
            floor=floor,
            singletons=singletons,
            missing=missing,
            breaks=parse_breaks(breaks or []),
            kinds=parse_kinds(kind or []),
        )
    if out is not None:
        result.save(out)
    typer.echo(json.dumps(plain_evaluation(result), indent=2, ensure_ascii=False) if as_json else str(result))


@app.command()
def init(
    data: Annotated[Path, typer.Argument(help="Confidential table: .csv, .parquet, .dta, .sav, .sas7bdat or .xpt.")],
    out: Annotated[Path, typer.Option(help="Settings file to write (owner only).")] = Path("settings.toml"),
    encoding: Annotated[str | None, typer.Option(help="Encoding of a .csv file, if not UTF-8.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that exists.")] = False,
) -> None:
    """Look at a table and write settings to edit, with the reasons as comments."""
    _refuse_existing(out, "out", overwrite=overwrite)
    with _working("Looking at the table"):
        settings, notes = suggest_settings(read_table(data, encoding=encoding), path=str(data))
    write_settings(settings, out, notes=notes)
    typer.echo(f"Sensitive: {settings.sensitive}. Known: {', '.join(settings.known)}.\n{notes['known']}")
    typer.echo(f"Written to {out}. Read it, correct it, then: molehill run {out}")


@app.command()
def run(
    settings: Annotated[Path, typer.Argument(help="Settings file, as init writes it.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the release; by default named like the file.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    seed: Annotated[int | None, typer.Option(help="Instead of the one in the settings; keep it to yourself.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of a .csv file, if not UTF-8.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier release.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Make the release that a settings file describes: tables to publish, and the report behind them.

    Ctrl-C and kill lose little: the same command with --resume goes on, to the same bytes.
    """
    chosen = read_settings(settings)
    chosen = chosen if seed is None else replace(chosen, seed=seed)
    if chosen.data is None:
        raise InputError("settings", "'data' is missing", "Say in the file where the confidential table is")
    if chosen.targets and not quiet:
        typer.echo("The settings name targets: only `molehill search` keeps to them, this run does not.", err=True)
    folder = out or Path(f"{settings.stem}-release")
    table = read_table(settings.parent / chosen.data, encoding=encoding)
    how: dict[str, Any] = {"resume": resume, "overwrite": overwrite, "progress": not quiet}
    release = import_module("molehill.release.runs").run_settings(
        table, chosen, folder, tell=_stages(quiet=quiet), **how
    )
    _report_release(release, folder, as_json=as_json, quiet=quiet)


@app.command()
def report(folder: Annotated[Path, typer.Argument(help="Folder of a saved release.")]) -> None:
    """Make the report of a saved release again, in both editions, without fitting."""
    with _working("Making the report"):
        written = import_module("molehill.release.release").rebuild_report(folder)
    typer.echo(f"Written: {' and '.join(map(str, written))}")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("molehill-demo"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier demo.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted demo.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Release a built-in survey of 6,208 consumer units (simulated, nobody's data), and report on it."""
    chosen = Settings(
        sensitive="income",
        known=("gender", "age", "region"),
        regressions=("income ~ region + urban + earner",),
        lower=-100_000,
        upper=2_000_000,
        seed=1,
    )
    how: dict[str, Any] = {"resume": resume, "overwrite": overwrite, "progress": not quiet}
    release = import_module("molehill.release.runs").run_settings(
        consumer_survey(), chosen, out, tell=_stages(quiet=quiet), **how
    )
    _report_release(release, out, as_json=False, quiet=quiet)


def _stages(*, quiet: bool) -> Callable[[str], None]:
    """Tell every stage and when it began, on standard error."""
    begun = time.monotonic()

    def tell(stage: str) -> None:
        if not quiet:
            typer.echo(f"{time.monotonic() - begun:6.1f} s  {stage}", err=True)

    return tell


def _report_release(release: Any, folder: Path, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        content = {"folder": str(folder), "scheme": release.scheme, "seconds": dict(release.seconds)}
        typer.echo(json.dumps(content | plain_evaluation(release.evaluation), indent=2, ensure_ascii=False))
    elif not quiet:
        print_release(release)
        typer.echo(f"\nTo publish: {folder / 'release'}\nTo keep: {folder / 'internal'}")
        typer.echo(f"Open {folder / 'internal' / 'report.html'} in a browser.")


def _working(what: str) -> Any:
    """Show a spinner while a stage runs, on a terminal only."""
    return Console(stderr=True).status(f"{what} ...")


def _refuse_existing(path: Path | None, argument: str, *, overwrite: bool) -> None:
    if path is not None and path.exists() and not overwrite:
        raise InputError(argument, f"{str(path)!r} exists already", "Choose another name, or add --overwrite")


def _present(result: ConfidentialRisk, table: Table, *, out: Path | None, figure: Path | None, as_json: bool) -> None:
    profile = profile_risk(result, table)
    if out is not None:
        write_table(record_level(result), out, private=True)
    if figure is not None:
        with _working("Drawing the figure"):
            save_figure(risk_histogram({f"order {result.order}": profile.histogram}), figure)
    if as_json:
        typer.echo(json.dumps(plain_risk(result, profile), indent=2, ensure_ascii=False))
    else:
        print_profile(result, profile)
