"""Commands: thin doors to the library, nothing that the library cannot do."""

import json
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

import molehill
from molehill.errors import InputError
from molehill.figures import risk_histogram, save_figure
from molehill.frames import Table
from molehill.profile import RiskProfile, count_bins, profile_risk
from molehill.risk import ConfidentialRisk, confidential_risk
from molehill.schema import Kind
from molehill.simulation import consumer_survey
from molehill.table import read_table, write_table
from molehill.weights import risk_weights

EXIT_CODES = """Exit codes: 0 done, 1 the system refused (such as a full disk), 2 bad input, 130 interrupted."""

app = typer.Typer(
    name="molehill",
    help=f"Publish synthetic microdata, and defend it.\n\n{EXIT_CODES}",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line: turn errors into one clear line and an exit code."""
    # Left to itself, the command parser ends an interrupted run like any failed one.
    signal.signal(signal.SIGINT, lambda *_: _complain("interrupted; no file was written in part", 130))
    try:
        app()
    except InputError as error:
        _complain(str(error), 2)
    except OSError as error:
        _complain(f"the system refused: {error.strerror or type(error).__name__}", 1)


def _complain(text: str, code: int) -> None:
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
            known=_split_names(known, table),
            sensitive=_split_names(sensitive, table),
            radius=radius,
            order=order,
            floor=floor,
            singletons=singletons,  # pyright: ignore[reportArgumentType]
            small_patterns=small_patterns,  # pyright: ignore[reportArgumentType]
            missing=missing,  # pyright: ignore[reportArgumentType]
            breaks=_parse_breaks(breaks or []),
            kinds=_parse_kinds(kind or []),
        )
    _present(result, table, out=out, figure=figure, as_json=as_json)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("molehill-demo"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier demo.")] = False,
) -> None:
    """Measure the risk of a built-in survey of 6,208 consumer units (simulated, nobody's data)."""
    names = ("survey.csv", "risk.html", "risk.svg", "records.csv")
    for name in names:
        _refuse_existing(out / name, "out", overwrite=overwrite)
    out.mkdir(parents=True, exist_ok=True)
    survey = consumer_survey()
    write_table(survey, out / "survey.csv")
    settings: dict[str, Any] = {"known": ["gender", "age", "region"], "sensitive": "income", "radius": 0.2}
    with _working("Measuring the risk"):
        results = {order: confidential_risk(survey, **settings, order=order) for order in (1, 2)}
    _present(results[2], Table(survey), out=out / "records.csv", figure=None, as_json=False)
    with _working("Drawing the figure"):
        titles = {1: "order 1, marginal", 2: "order 2, pairwise"}
        chart = risk_histogram({titles[order]: count_bins(result.risk) for order, result in results.items()})
        for ending in (".html", ".svg"):
            save_figure(chart, out / f"risk{ending}")
    typer.echo(f"\nWritten to {out}: {', '.join(names)}. Open risk.html in a browser.")


def _working(what: str) -> Any:
    """Show a spinner while a stage runs, on a terminal only."""
    return Console(stderr=True).status(f"{what} ...")


def _refuse_existing(path: Path | None, argument: str, *, overwrite: bool) -> None:
    if path is not None and path.exists() and not overwrite:
        raise InputError(argument, f"{str(path)!r} exists already", "Choose another name, or add --overwrite")


def _split_names(given: list[str], table: Table) -> list[str]:
    """Names with commas between; a name that itself has a comma is taken whole."""
    names = []
    for text in given:
        names += [text] if text in table.frame.columns else [name.strip() for name in text.split(",")]
    return [name for name in names if name]


def _parse_pairs(given: list[str], argument: str, example: str) -> dict[str, str]:
    pairs = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        if not equals or not name or not value:
            raise InputError(argument, f"{text!r} is not of the form NAME=...", f"Write {example}")
        pairs[name] = value
    return pairs


def _parse_breaks(given: list[str]) -> dict[str, list[float]]:
    breaks = {}
    for name, value in _parse_pairs(given, "breaks", "age=25,35,50,65").items():
        try:
            breaks[name] = [float(number) for number in value.split(",")]
        except ValueError:
            raise InputError("breaks", f"those of {name!r} are not numbers", "Write age=25,35,50,65") from None
    return breaks


def _parse_kinds(given: list[str]) -> dict[str, Kind]:
    return _parse_pairs(given, "kind", "income=continuous")  # pyright: ignore[reportReturnType]


def _present(result: ConfidentialRisk, table: Table, *, out: Path | None, figure: Path | None, as_json: bool) -> None:
    profile = profile_risk(result, table)
    if out is not None:
        write_table(_record_level(result), out, private=True)
    if figure is not None:
        with _working("Drawing the figure"):
            save_figure(risk_histogram({f"order {result.order}": profile.histogram}), figure)
    if as_json:
        typer.echo(json.dumps(_as_plain(result, profile), indent=2, ensure_ascii=False))
    else:
        _print_profile(result, profile)


def _record_level(result: ConfidentialRisk) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "record": np.arange(1, len(result.risk) + 1),
            "risk": result.risk,
            "weight": risk_weights(result),
            "pattern_size": result.pattern_size,
            "within": result.within,
        }
    )


def _as_plain(result: ConfidentialRisk, profile: RiskProfile) -> dict[str, Any]:
    patterns = profile.patterns
    return {
        "records": len(result.risk),
        "order": result.order,
        "patterns": result.patterns.number,
        "distribution": dict(zip(profile.distribution["measure"], profile.distribution["value"], strict=True)),
        "above": profile.above.to_dict("records"),
        "histogram": profile.histogram.to_dict("records"),
        "riskiest_patterns": [
            {part: patterns[part].iloc[row].to_dict() for part in ("known", "measure")} for row in range(len(patterns))
        ],
        "policies": dict(result.policies),
    }


def _print_profile(result: ConfidentialRisk, profile: RiskProfile) -> None:
    console = Console(highlight=False)
    known, sensitive = result.schema.having("known"), result.schema.having("sensitive")
    console.print(
        Text(
            f"Identification risk of order {result.order}: {len(result.risk):,} records, "
            f"{result.patterns.number:,} patterns of {', '.join(known) or 'no known column'}"
        ),
        style="bold",
    )
    for name in sensitive:
        console.print(Text(f"Sensitive: {name} ({result.schema[name].kind}: {result.schema[name].reason})"))
    bars = _grid("risk", "records", "share", "")
    widest = max(profile.histogram["share"].max(), 1e-12)
    for low, high, records, share in profile.histogram.to_numpy().tolist():
        bar = "█" * round(40 * share / widest) or ("▏" if records else "")
        bars.add_row(f"{low:.2f} to {high:.2f}", f"{records:,.0f}", f"{share:.1%}", Text(bar, "blue"))
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
