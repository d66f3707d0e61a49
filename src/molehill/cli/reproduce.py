"""Commands that run the paper's studies again: `molehill reproduce simulation`, `application` and `page`."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

import molehill
from molehill.errors import InputError

app = typer.Typer(
    name="reproduce",
    help="Run the studies of the paper again: its numbers and ours, side by side.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Data = Annotated[Path | None, typer.Option(help="Confidential table; without it, simulated data.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer replicates and fits, the same tables.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with an interrupted study, to the same bytes.")]
Scheduler = Annotated[
    str | None,
    typer.Option(help='Run pieces of the work on a Dask cluster: "local", "local:2" or an address; the same result.'),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")]


@app.command()
def simulation(
    *,
    data: Data = None,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("reproduction-simulation"),
    quick: Quick = False,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 1,
    resume: Resume = False,
    scheduler: Scheduler = None,
    quiet: Quiet = False,
) -> None:
    """Section 2.4 and supplement section 6: counts, radii .30 to .15, orders 1 to 4, 1 to 30 tables."""
    from molehill.cluster import connect
    from molehill.reproduction import page, stages, studies

    frame = studies.read_counts(None if data is None else molehill.read_table(data), seed=seed)
    folder = stages.open_folder(out, resume=resume)
    sizes = {"replicates": 20, "refits": 1} if quick else {}
    with connect(scheduler):
        results = studies.run_simulation(frame, folder, seed=seed, tell=_tell(quiet=quiet), **sizes)
    page.write_simulation(results, folder, _command("simulation", data=data, quick=quick, seed=seed))
    _done(folder, quiet=quiet)


@app.command()
def application(
    *,
    data: Data = None,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("reproduction-application"),
    sensitive: Annotated[str | None, typer.Option(help="Of a table that Molehill does not know: the amount.")] = None,
    known: Annotated[list[str] | None, typer.Option(help="What the intruder knows, with commas between.")] = None,
    predictors: Annotated[list[str] | None, typer.Option(help="What the model conditions on.")] = None,
    regressors: Annotated[list[str] | None, typer.Option(help="Columns of the regression.")] = None,
    term: Annotated[str | None, typer.Option(help="Whose coefficient: COLUMN=LEVEL.")] = None,
    name: Annotated[str | None, typer.Option(help="What to call the survey in the page.")] = None,
    quick: Quick = False,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 1,
    resume: Resume = False,
    scheduler: Scheduler = None,
    quiet: Quiet = False,
) -> None:
    """Sections 2.3 and 3.2, supplement section 7: incomes of a survey; the built-in one, the CE sample, or your own."""
    from molehill.cli.terminal import parse_pairs, split_names
    from molehill.cluster import connect
    from molehill.reproduction import page, stages, studies
    from molehill.reproduction.replicates import Survey

    table = None if data is None else molehill.read_table(data)
    parts = None
    given = (sensitive, known, predictors, regressors, term)
    if any(part is not None for part in given):
        if table is None or None in given:
            raise InputError(
                "data", "only some of the columns are named", "Give --data and all of the five options on columns"
            )
        names = [tuple(split_names(part or [], table)) for part in (known, predictors, regressors)]
        ((column, level),) = parse_pairs([term or ""], "term", "earner=no").items()
        parts = Survey(sensitive or "", names[0], names[1], names[2], (column, level))
    frame, survey = studies.read_survey(table, parts)
    folder = stages.open_folder(out, resume=resume)
    sizes = {"replicates": 4, "refits": 1} if quick else {}
    with connect(scheduler):
        results = studies.run_application(frame, survey, folder, seed=seed, tell=_tell(quiet=quiet), **sizes)
    called = name or ("survey" if data is None else "CE-sample" if parts is None else "own-survey")
    command = _command("application", data=data, quick=quick, seed=seed)
    page.write_application(results, folder, command, called.replace(" ", "-"))
    _done(folder, quiet=quiet)


@app.command()
def page(
    folders: Annotated[list[Path], typer.Argument(help="Folders of studies.")],
    out: Annotated[Path, typer.Option(help="Folder of the documentation.")] = Path("docs"),
) -> None:
    """Join the pages of studies into one for the documentation, with their figures in images/."""
    from molehill.reproduction.page import join_pages

    typer.echo(f"Written: {join_pages(folders, out)}")


def _command(name: str, *, data: Path | None, quick: bool, seed: int) -> str:
    parts = ["molehill reproduce", name]
    parts += [] if data is None else [f"--data {data}"]
    parts += ["--quick"] if quick else []
    return " ".join(parts if seed == 1 else [*parts, f"--seed {seed}"])


def _tell(*, quiet: bool) -> Callable[[str], None] | None:
    """Tell every stage that is done and when, on standard error if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        return None
    begun = time.monotonic()
    return lambda stage: typer.echo(f"{time.monotonic() - begun:6.1f} s  done, {stage}", err=True)


def _done(folder: Path, *, quiet: bool) -> None:
    if not quiet:
        typer.echo(f"Open {folder / 'reproduction.md'}; tables and figures are beside it.")
