"""Commands: thin doors to the library, nothing that the library cannot do."""

import json
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

import molehill
from molehill import cli_reproduce
from molehill.cli_arguments import parse_breaks, parse_kinds, read_releases, split_names
from molehill.cli_search import search
from molehill.cli_text import plain_evaluation, plain_risk, print_profile, print_release, record_level
from molehill.errors import InputError
from molehill.figures import risk_histogram, save_figure
from molehill.frames import Table
from molehill.profile import profile_risk
from molehill.risk import ConfidentialRisk, confidential_risk
from molehill.settings import Settings, read_settings, write_settings
from molehill.simulation import consumer_survey
from molehill.suggest import suggest_settings
from molehill.table import read_table, write_table

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
        result = import_module("molehill.evaluation").evaluate(
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
    release = import_module("molehill.running").run_settings(table, chosen, folder, tell=_stages(quiet=quiet), **how)
    _report_release(release, folder, as_json=as_json, quiet=quiet)


@app.command()
def report(folder: Annotated[Path, typer.Argument(help="Folder of a saved release.")]) -> None:
    """Make the report of a saved release again, in both editions, without fitting."""
    with _working("Making the report"):
        written = import_module("molehill.saving").rebuild_report(folder)
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
    release = import_module("molehill.running").run_settings(
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
