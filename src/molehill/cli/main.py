"""Commands: thin doors to the library, nothing that the library cannot do.

Each command imports what it needs when it is called: help must not wait for pandas, nor risk for JAX.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from multiprocessing import active_children
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

import molehill
from molehill.cli.entry import StoppedError, answer_signals, still_wanted, stop, tell_stop
from molehill.cli.options import SettingsCommand, read_given
from molehill.errors import InputError
from molehill.runtime import find_stop

if TYPE_CHECKING:
    from molehill.larger_than_memory.files import ParquetFiles
    from molehill.plan.settings import Settings
    from molehill.risk.intruder import Intruder

NOTHING_FOUND, NOT_THE_SAME, NOT_RECOMMENDED = 3, 4, 5
# Names of files in folders of results, which may be written over.
_RESULTS = r"(groups|measures|records|risk|rules|shapes|top|utility)\.(csv|parquet)"
EXIT_CODES = (
    "Exit codes: 0 done, 1 the system refused (such as a full disk), 2 bad input, 3 no release keeps the targets, "
    "4 verification failed, 5 the recommendation is not to release, "
    "130 interrupted, 143 terminated."
)

Known = Annotated[
    list[str],
    typer.Option(help="Key variables: what an intruder is assumed to know (comma-separated; repeatable)."),
]
Sensitive = Annotated[list[str], typer.Option(help="Sensitive variables (comma-separated; repeatable).")]
Radius = Annotated[float, typer.Option(help="How near to the true value counts as close: 0.2 is within 20%.")]
MinRadius = Annotated[float, typer.Option(help="Smallest radius, in the units of the variable.")]
CountSelf = Annotated[
    bool, typer.Option("--count-self", help="Count the record itself as a close neighbour, as the paper does.")
]
SmallPatterns = Annotated[str, typer.Option(help="A pattern too small for the order: maximum_risk, marginal, error.")]
MissingValues = Annotated[str, typer.Option(help="A missing sensitive value: error, keep.")]
Breaks = Annotated[list[str] | None, typer.Option(help="Groups of a known column: age=25,35,50,65.")]
Kinds = Annotated[
    list[str] | None, typer.Option(help="Kind of a column: income=continuous (or count, semicontinuous, categorical).")
]
MissingCodes = Annotated[
    list[str] | None,
    typer.Option(help="NAME=CODE: cells of a column, in all files, that stand for a missing value; may repeat."),
]
Data = Annotated[
    Path, typer.Argument(help="Confidential table: .csv, .tsv, .xlsx, .parquet, .dta, .sav, .sas7bdat or .xpt.")
]
SettingsFile = Annotated[Path, typer.Argument(help="Settings file, as init writes it.")]
Given = Annotated[
    list[str] | None, typer.Option("--set", help="NAME=VALUE: a setting, in place of what the file says; may repeat.")
]
Out = Annotated[Path | None, typer.Option(help="Folder for the release; by default named like the file.")]
Encoding = Annotated[str | None, typer.Option(help="Text encoding; detected if omitted.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what exists.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")]
ReleaseAnyway = Annotated[
    bool, typer.Option("--release-anyway", help='Write release/ even if the recommendation is "do not release".')
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors only.")]
Scheduler = Annotated[
    str | None,
    typer.Option(help='Run pieces of the work on a Dask cluster: "local", "local:2" or an address; the same result.'),
]
MemoryGib = Annotated[
    float | None,
    typer.Option(
        help="GiB to hold at once, in every process, of a folder of Parquet files or of a larger one; else half of "
        "what is free."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

app = typer.Typer(
    name="molehill",
    help=f"Publish synthetic microdata, and defend it.\n\n{EXIT_CODES}",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line: turn errors and signals into one clear line and an exit code."""
    # Left to itself, the command parser ends an interrupted run like any failed one.
    answer_signals(stop)
    try:
        _call_commands()
    except StoppedError as stopped:
        for child in active_children():
            child.terminate()
        _complain(tell_stop(stopped.code), stopped.code)
    except InputError as error:
        _complain(str(error), 2)
    except OSError as error:
        where = "" if error.filename is None else f" ({str(error.filename)!r})"
        _complain(f"the system refused: {error.strerror or type(error).__name__}{where}", 1)
    finally:
        # All is written, or given up; what is left is Python's to end.
        answer_signals(signal.SIG_DFL)


def _call_commands() -> None:
    try:
        app()
    except SystemError as error:
        if stopped := find_stop(error):
            raise stopped from None
        raise


def _complain(text: str, code: Any) -> None:
    Console(stderr=True, soft_wrap=True).print(Text.assemble(("Error: ", "bold red"), text))
    sys.exit(code)


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
    data: Data,
    known: Known,
    sensitive: Sensitive,
    radius: Radius,
    order: Annotated[int, typer.Option(help="1 marginal, 2 pairwise, k.")] = 1,
    min_radius: MinRadius = 0.0,
    count_self: CountSelf = False,
    small_patterns: SmallPatterns = "maximum_risk",
    missing_values: MissingValues = "error",
    breaks: Breaks = None,
    kind: Kinds = None,
    missing_codes: MissingCodes = None,
    encoding: Encoding = None,
    out: Annotated[Path | None, typer.Option(help="Write record-level risk and weights here (owner only).")] = None,
    chart: Annotated[Path | None, typer.Option(help="Write the chart here: .html, .svg or .png.")] = None,
    memory_gib: MemoryGib = None,
    scheduler: Scheduler = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Measure the identification risk of confidential data, record by record.

    A folder of Parquet files is one dataset, which may be larger than memory; --out is then a folder too.

    Example: molehill risk survey.csv --known gender,age,region --sensitive income --radius 0.2 --order 2
    """
    from molehill.charts import risk_histogram, save_chart
    from molehill.cli.large_files import bytes_of, is_large, names_of, refuse_options
    from molehill.cli.terminal import parse_codes, plain_risk, print_profile, record_level
    from molehill.cluster import connect
    from molehill.larger_than_memory.files import open_files
    from molehill.larger_than_memory.risk import measure_confidential
    from molehill.risk.profile import profile_risk
    from molehill.tables.cells import declare_missing

    for path, argument in ((out, "out"), (chart, "chart")):
        _refuse_existing(path, argument, overwrite=overwrite, read=[data])
    policies = {"count_self": count_self, "small_patterns": small_patterns, "missing_values": missing_values}
    if is_large(data, memory_gib):
        refuse_options({"chart": chart, "missing_codes": missing_codes, "encoding": encoding})
        files = open_files(data)
        intruder = _intruder(names_of(files), known, sensitive, radius, min_radius, breaks, kind, policies)
        with connect(scheduler), _working("Measuring the risk"):
            found = measure_confidential(files, intruder, order=order, out=out, memory=bytes_of(memory_gib))
        if as_json:
            _print_json(plain_risk(found, found.profile))
        else:
            print_profile(found, found.profile)
        return
    if scheduler is not None:
        problem = "the risk of a table in memory is measured here, in a moment"
        raise InputError("scheduler", problem, "Leave it out, or give a folder of Parquet files")
    with _working("Reading the table"):
        table = declare_missing(molehill.read_table(data, encoding=encoding), parse_codes(missing_codes or []))
    with _working("Measuring the risk"):
        intruder = _intruder(table, known, sensitive, radius, min_radius, breaks, kind, policies)
        result = molehill.confidential_risk(table, intruder, order=order)
    profile = profile_risk(result, table)
    if out is not None:
        molehill.write_table(record_level(result), out, private=True)
    if chart is not None:
        with _working("Drawing the chart"):
            save_chart(risk_histogram({f"order {result.order}": profile.histogram}), chart)
    if as_json:
        _print_json(plain_risk(result, profile))
    else:
        print_profile(result, profile)


@app.command()
def evaluate(
    confidential: Annotated[Path, typer.Argument(help="Confidential table.")],
    released: Annotated[list[Path], typer.Argument(help="Released tables, whoever made them.")],
    known: Known,
    sensitive: Sensitive,
    radius: Radius,
    compare: Annotated[
        list[str] | None, typer.Option(help="Another release to compare with: NAME=FILE,FILE (repeatable).")
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id", help="Variable that identifies a record in all files; otherwise by row or unchanged variables."
        ),
    ] = None,
    fully_synthetic: Annotated[
        bool, typer.Option("--fully-synthetic", help="Released records do not correspond to individual respondents.")
    ] = False,
    min_radius: MinRadius = 0.0,
    count_self: CountSelf = False,
    missing_values: MissingValues = "error",
    breaks: Breaks = None,
    kind: Kinds = None,
    missing_codes: MissingCodes = None,
    encoding: Encoding = None,
    regression: Annotated[
        list[str] | None, typer.Option(help="A regression of the users: 'income ~ age + region'; may repeat.")
    ] = None,
    survey: Annotated[
        list[str] | None,
        typer.Option(help="The design of a survey, PART=COLUMN: weight=PWGTP (or stratum, cluster, ...); may repeat."),
    ] = None,
    control: Annotated[
        Path | None, typer.Option(help="Records of comparable people that were not used to fit the model.")
    ] = None,
    skip: Annotated[
        list[str] | None, typer.Option(help="Measure or attack to leave out, such as singling_out (repeatable).")
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(help="Amber and red thresholds: matches_true=0.02,0.1 (or =off, =,0.1, =0.02,never; repeatable)."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write the report here, one HTML page (owner only).")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for all results, record-level ones included (owner only).")
    ] = None,
    memory_gib: MemoryGib = None,
    scheduler: Scheduler = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Measure disclosure risk and utility of synthetic data from any source.

    Folders of Parquet files are datasets, which may be larger than memory: identification risk, match rates, and the
    distances of sensitive variables are measured.

    Example: molehill evaluate survey.csv synthetic_*.csv --known gender,age,region --sensitive income --radius 0.2
    --compare topcoded=topcoded.csv --regression 'income ~ age + region' --report page.html
    """
    from dataclasses import asdict

    from molehill.cli.large_files import is_large, name_releases, names_of, refuse_options
    from molehill.cli.terminal import parse_bounds, parse_codes, parse_design, plain_evaluation, read_releases
    from molehill.cluster import connect
    from molehill.evaluation.catalogue.estimates import default_analyses
    from molehill.evaluation.verdict import judge
    from molehill.files import write_text
    from molehill.larger_than_memory.files import open_files
    from molehill.report.others import report_tables
    from molehill.tables.cells import declare_missing
    from molehill.utility import regression as fit_formula

    for path, argument in ((out, "out"), (report, "report")):
        read = [confidential, *released, *([] if control is None else [control])]
        _refuse_existing(path, argument, overwrite=overwrite, read=read)
    if fully_synthetic and id_column is not None:
        problem = "it cannot be combined with --fully-synthetic: such records have no counterpart"
        raise InputError("id", problem, "Leave out one of the two")
    policies = {"count_self": count_self, "missing_values": missing_values}
    if any(is_large(path, memory_gib) for path in (confidential, *released)):
        whole = {
            "regression": regression,
            "survey": survey,
            "report": report,
            "id": id_column,
            "fully_synthetic": fully_synthetic,
            "control": control,
            "skip": skip,
            "threshold": threshold,
            "out": out,
        }
        refuse_options(whole | {"missing_codes": missing_codes, "encoding": encoding})
        files = open_files(confidential)
        intruder = _intruder(names_of(files), known, sensitive, radius, min_radius, breaks, kind, policies)
        with connect(scheduler):
            _evaluate_large(files, name_releases(released, compare or []), intruder, memory_gib, as_json=as_json)
        return
    # What is wrong with them is told before anything is read.
    bounds = parse_bounds(threshold or [])
    with _working("Reading the tables"):
        codes = parse_codes(missing_codes or [])
        table = declare_missing(molehill.read_table(confidential, encoding=encoding), codes)
        releases = read_releases(released, compare or [], encoding, codes)
        people = None if control is None else declare_missing(molehill.read_table(control, encoding=encoding), codes)
    with connect(scheduler):
        intruder = _intruder(table, known, sensitive, radius, min_radius, breaks, kind, policies)
        view = intruder.view(table)
        options = molehill.EvaluationOptions(
            analyses=[*default_analyses(view.schema), *map(fit_formula, regression or [])],
            id_column=id_column,
            fully_synthetic=fully_synthetic,
            survey=parse_design(survey or []),
            control=people,
            skip=skip or (),
            thresholds=bounds,
        )
        result = molehill.evaluate(view, releases, options=options)
    if out is not None:
        result.save(out)
    if report is not None:
        with _working("Making the report"):
            write_text(report, report_tables(view, releases, result), private=True)
        typer.echo(f"Open {report} in a browser; it is not for publication.", err=True)
    if as_json:
        _print_json({"recommendation": asdict(judge(result)), **plain_evaluation(result)})
    else:
        typer.echo(str(result))


def _evaluate_large(
    files: "ParquetFiles", named: dict[str, list[Path]], intruder: "Intruder", memory: float | None, *, as_json: bool
) -> None:
    from molehill.cli.large_files import bytes_of, lay_out_figures, plain_evaluation, tell_evaluation
    from molehill.larger_than_memory.risk import measure_confidential, measure_release

    with _working("Measuring risk and utility"):
        bound = bytes_of(memory)
        own = measure_confidential(files, intruder, memory=bound)
        releases = {name: measure_release(files, paths, intruder, memory=bound) for name, paths in named.items()}
    risk, utility = lay_out_figures(own, releases)
    if as_json:
        _print_json(plain_evaluation(risk, utility, releases))
    else:
        typer.echo(tell_evaluation(risk, utility, releases))


@app.command()
def init(
    data: Data,
    out: Annotated[Path, typer.Option(help="Settings file to write (owner only).")] = Path("settings.toml"),
    encoding: Encoding = None,
    separator: Annotated[str | None, typer.Option(help="What divides the cells of a text file.")] = None,
    decimal: Annotated[str | None, typer.Option(help="Decimal mark of a text file.")] = None,
    sheet: Annotated[str | None, typer.Option(help="Sheet of a workbook.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Look at a table and write settings to edit, with the reasons as comments."""
    from molehill.cli.terminal import ask_about, tell_suggestion
    from molehill.plan.settings import write_settings
    from molehill.plan.suggest import suggest_settings

    _refuse_existing(out, "out", overwrite=overwrite)
    with _working("Looking at the table"):
        # A run looks for the table from where the settings lie.
        path = os.path.relpath(data, out.parent)
        reading: dict[str, Any] = {"encoding": encoding, "separator": separator, "decimal": decimal, "sheet": sheet}
        suggested = suggest_settings(molehill.read_table(data, **reading), path=path, reading=reading)
    settings = ask_about(suggested) if sys.stdin.isatty() and sys.stdout.isatty() else suggested.settings
    write_settings(settings, out, notes=suggested.notes, reasons=suggested.reasons, brief=True)
    typer.echo(tell_suggestion(suggested, settings))
    typer.echo(f"Written to {out}. Review and edit it, then run `molehill plan {out}` and `molehill run {out}`.")


@app.command(cls=SettingsCommand)
def plan(settings: SettingsFile, given: Given = None) -> None:
    """Say on one page what will be made of a table, before anything is fitted: every column and its fate."""
    from molehill.plan.plan import plan_settings

    chosen, table = _read(settings, given or [])
    typer.echo(str(plan_settings(table, chosen)))


@app.command(cls=SettingsCommand)
def run(
    settings: SettingsFile,
    given: Given = None,
    out: Out = None,
    resume: Resume = False,
    scheduler: Scheduler = None,
    quiet: Quiet = False,
    overwrite: Overwrite = False,
    release_anyway: ReleaseAnyway = False,
    progress: Annotated[
        Path | None, typer.Option(help="Write every stage, as it begins, to this file: lines of JSON (owner only).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make the release that a settings file describes: tables to publish, and the report behind them.

    With targets, such as --set targets='["mean expected <= 0.12", "overlap >= 0.6"]', it is the one that keeps the most
    under them; if none keeps them, the report says why. If the recommendation is "do not release", only the internal
    report is written, and the exit code is 5: --release-anyway writes release/ all the same. Ctrl-C and kill lose
    little: the same command with --resume goes on, to the same bytes.
    """
    from molehill.cli.progress import watched

    chosen, table = _read(settings, given or [])
    chosen = chosen if scheduler is None else chosen.but(scheduler=scheduler)
    folder = out or Path(f"{settings.stem}-release")
    how: dict[str, Any] = {"resume": resume, "overwrite": overwrite, "progress": not quiet}
    how["release_anyway"] = release_anyway
    with _stages(quiet=quiet) as said, watched(progress, said) as (on_stage, write_seconds):

        def show_plan(planned: Any) -> None:
            write_seconds(planned.seconds)
            if not quiet:
                typer.echo(f"{planned}\n", err=True)

        on_plan = None if quiet and progress is None else show_plan
        release = molehill.run(table, chosen, folder, on_stage=on_stage, on_plan=on_plan, **how)
    _report_release(release, folder, as_json=as_json, quiet=quiet, release_anyway=release_anyway)


@app.command()
def report(folder: Annotated[Path, typer.Argument(help="Folder of a saved release.")]) -> None:
    """Make the report of a saved release again, in both editions, without fitting."""
    from molehill.release.release import rebuild_report

    with _working("Making the report"):
        written = rebuild_report(folder, on_stage=lambda text: typer.echo(text, err=True))
    typer.echo(f"Written: {' and '.join(map(str, written))}")


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of a saved release.")],
    published: Annotated[
        Path | None, typer.Option(help="Folder of what was published: it must be release/, byte for byte.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that a folder is the release that its dossier describes: every file, and nothing else to publish.

    Links are not followed, and no value is read. The exit code is 4 if something is not as it was written.

    Example: molehill verify survey-release --published published-survey
    """
    from molehill.cli.terminal import hashing_bar, plain_verification, tell_verification
    from molehill.report.trail import verify_release

    with hashing_bar() as advance:
        found = verify_release(folder, published=published, advance=advance)
    if as_json:
        _print_json({"folder": str(folder), **plain_verification(found)})
    else:
        typer.echo(tell_verification(found, folder, published))
    if not found.holds:
        raise typer.Exit(NOT_THE_SAME)


@app.command()
def studio(
    folders: Annotated[
        list[Path] | None, typer.Argument(help="Folders whose files may be opened; projects go into the first one.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port on this machine; by default any that is free.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open it in a browser.")] = True,
) -> None:
    """Open the studio: the whole job in a browser, on this machine only. Runs go on when it is closed.

    Example: molehill studio ~/surveys
    """
    try:
        from molehill.studio.serving import open_studio
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        problem = f"the package {error.name!r} is not installed"
        raise InputError("studio", problem, "Install it: pip install 'molehill[studio]'") from None

    open_studio(folders or [Path()], port=port, browser=browser, tell=typer.echo)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("molehill-demo"),
    overwrite: Overwrite = False,
    resume: Resume = False,
    scheduler: Scheduler = None,
    quiet: Quiet = False,
    release_anyway: ReleaseAnyway = False,
) -> None:
    """Release a built-in, simulated survey of 2,000 consumer units, and write its report."""
    from molehill.tables.populations import consumer_survey

    survey = consumer_survey(2_000)
    chosen = molehill.Settings(
        synthesize=("education", "income"),
        keep=[name for name in survey.columns if name not in ("education", "income")],
        known=("gender", "age", "region"),
        regressions=("income ~ region + urban + earner",),
        lower={"income": -100_000.0},
        upper={"income": 2_000_000.0},
        datasets=10,
        compare=("pairwise", "topcoding"),
        seed=1,
        scheduler=scheduler,
    )
    how: dict[str, Any] = {"resume": resume, "overwrite": overwrite, "progress": not quiet}
    how["release_anyway"] = release_anyway
    with _stages(quiet=quiet) as on_stage:
        release = molehill.run(survey, chosen, out, on_stage=on_stage, **how)
    _report_release(release, out, as_json=False, quiet=quiet, release_anyway=release_anyway)


def _intruder(
    table: Any,
    known: list[str],
    sensitive: list[str],
    radius: float,
    min_radius: float,
    breaks: list[str] | None,
    kinds: list[str] | None,
    policies: dict[str, Any],
) -> "Intruder":
    from molehill.cli.terminal import parse_breaks, parse_kinds, split_names

    return molehill.Intruder(
        known=split_names(known, table),
        sensitive=split_names(sensitive, table),
        radius=radius,
        min_radius=min_radius,
        breaks=parse_breaks(breaks or []),
        kinds=parse_kinds(kinds or []),
        **policies,
    )


def _read(path: Path, given: list[str]) -> "tuple[Settings, Any]":
    """Read settings, those given on the line in place of the file's, and then the table."""
    chosen = molehill.read_settings(path, **read_given(given))
    if chosen.data is None:
        raise InputError("settings", "'data' is missing", "Say in the file where the confidential table is")
    return chosen, molehill.read_table(path.parent / chosen.data, **chosen.reading)


@contextmanager
def _stages(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Tell every stage, when it began and that it goes on, on standard error."""
    from molehill.cli.progress import telling

    def heed(on_stage: Callable[[str], None], stage: str) -> None:
        still_wanted()
        on_stage(stage)

    with nullcontext(lambda _: None) if quiet else telling(lambda line: typer.echo(line, err=True)) as on_stage:
        yield partial(heed, on_stage)


def _report_release(release: Any, folder: Path, *, as_json: bool, quiet: bool, release_anyway: bool) -> None:
    from dataclasses import asdict

    from molehill.cli.terminal import plain_evaluation, plain_search, print_release, tell_search

    found, verdict = release.search, release.verdict
    withheld = release.is_found and verdict.decision == "do not release" and not release_anyway
    if as_json:
        content = {"folder": str(folder), "scheme": release.scheme, "seconds": dict(release.seconds)}
        content |= {"recommendation": asdict(verdict), "released": release.is_found and not withheld}
        content |= {} if found is None else {"search": plain_search(found)}
        _print_json(content | plain_evaluation(release.evaluation))
    elif not quiet:
        typer.echo("" if found is None else f"{tell_search(found)}\n", nl=False)
        print_release(release)
        against = "" if release.is_released else ", against the recommendation"
        published = release.is_found and not withheld
        typer.echo(f"\nTo publish{against}: {folder / 'release'}" if published else "\nNothing was released.")
        typer.echo(f"To keep: {folder / 'internal'}\nOpen {folder / 'internal' / 'report.html'} in a browser.")
    if not release.is_found:
        raise typer.Exit(NOTHING_FOUND)
    if withheld:
        remedy = "The same command with --overwrite --release-anyway writes release/ all the same."
        typer.echo(f"Nothing was written to publish. {verdict.sentence} {remedy}", err=True)
        raise typer.Exit(NOT_RECOMMENDED)


def _print_json(content: Any) -> None:
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


@contextmanager
def _working(what: str) -> Iterator[None]:
    """Show a spinner while a stage runs, on a terminal only."""
    with Console(stderr=True).status(f"{what} ..."):
        try:
            yield
        except KeyboardInterrupt:
            # What a signal raises while DuckDB works, whichever it was.
            still_wanted()
            raise


def _is_result(path: Path) -> bool:
    """Whether a file is of the results of Molehill: that of a folder by its columns, as any dataset has such names."""
    import pyarrow as pa
    from pyarrow import parquet

    from molehill.larger_than_memory.risk import COLUMNS

    if not path.name.startswith("part-"):
        return re.fullmatch(_RESULTS, path.name) is not None
    try:
        return set(parquet.read_schema(path).names) == set(COLUMNS)
    except (OSError, pa.ArrowException):
        return False


def _refuse_existing(path: Path | None, argument: str, *, overwrite: bool, read: Sequence[Path] = ()) -> None:
    """Refuse to write over what is there, or, however it is asked for, into, over or around what is read."""
    if path is None:
        return
    written = path.resolve()
    for other in (one.resolve() for one in read):
        if written == other or other in written.parents or written in other.parents:
            raise InputError(argument, f"{str(path)!r} is what is read, or holds it, or lies in it", "Write elsewhere")
    if path.exists() and not overwrite:
        raise InputError(argument, f"{str(path)!r} exists already", "Choose another name, or add --overwrite")
    # A folder is replaced whole, with whatever is in it.
    if path.is_dir() and argument == "out" and not all(map(_is_result, path.iterdir())):
        problem = f"{str(path)!r} holds other things than results of Molehill, which would be lost"
        raise InputError(argument, problem, "Choose another name")
