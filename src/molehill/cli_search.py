"""The command `molehill search`: from a settings file and targets to the release that keeps the most utility."""

import json
import math
import shutil
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
import typer

from molehill.baselines import add_noise, topcode
from molehill.distances import ecdf_distances
from molehill.errors import InputError
from molehill.figures import risk_utility_map, save_figure
from molehill.files import write_text
from molehill.frames import Table
from molehill.over_tables import mean_over_tables
from molehill.risk import confidential_risk, release_risk
from molehill.settings import Settings, read_settings
from molehill.table import read_table, write_table

if TYPE_CHECKING:
    from molehill.evaluation import Evaluation
    from molehill.search import Found

NOTHING_FOUND = 3
DEFAULT_TARGET = "maximum realised <= 0.5"
RISK, DISTANCE = "mean risk", "U_m"
_NOISE_TABLES = 20


def search(
    settings: Annotated[Path, typer.Argument(help="Settings file, as init writes it and run reads it.")],
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="A rule to keep: 'maximum realised <= 0.5' (the default), '99% expected <= 0.4', "
            "'mean expected <= 0.15', 'moles 0.1 <= 0', 'U_m <= 0.03', 'overlap >= 0.6'; may repeat."
        ),
    ] = None,
    fits: Annotated[int, typer.Option(help="How many fits at most.")] = 12,
    seconds: Annotated[float | None, typer.Option(help="No fit is begun after so many seconds.")] = None,
    chance: Annotated[float, typer.Option(help="Largest chance that fresh tables break a realised target.")] = 0.2,
    redraw: Annotated[
        float, typer.Option(help="Share of records that may be drawn anew to keep a realised target; 0: none.")
    ] = 0.001,
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
    if chosen.data is None:
        raise InputError("settings", "'data' is missing", "Say in the file where the confidential table is")
    # All of them are read, and told what is wrong with, before the table is.
    wanted = import_module("molehill.search_targets").read_targets(target or [DEFAULT_TARGET])
    folder = out or Path(f"{settings.stem}-search")
    unfinished = _open_folder(folder, resume=resume)
    table = read_table(settings.parent / chosen.data, encoding=encoding)
    try:
        found = import_module("molehill.search").search_settings(
            table,
            chosen,
            wanted,
            fits=fits,
            seconds=seconds,
            chance=chance,
            redraw=redraw,
            checkpoint=unfinished,
            progress=not quiet,
            tell=None if quiet or as_json else lambda text: typer.echo(text, err=True),
        )
    except BaseException:
        # Refused or interrupted before any work was done: there is nothing to go on with.
        if unfinished.exists() and not any(unfinished.rglob("chunk-*.bin")):
            shutil.rmtree(unfinished)
        raise
    _write_results(found, table, chosen, folder)
    shutil.rmtree(unfinished, ignore_errors=True)
    if as_json:
        typer.echo(json.dumps(plain_found(found), indent=2, ensure_ascii=False))
    elif not quiet:
        typer.echo(tell_found(found))
        typer.echo(f"Written to {folder}.")
    if not found.met:
        raise typer.Exit(NOTHING_FOUND)


def tell_found(found: "Found") -> str:
    """Say what a search found, with its runners-up, in plain words."""
    lines = [found.verdict]
    for number, row in enumerate(found.runners_up.to_dict("records"), 1):
        state = "keeps the targets" if row["met"] else "misses the targets"
        risk = f"mean expected risk {row['mean_expected_risk']:.3f}, U_m {row['U_m']:.4f}"
        lines.append(f"Runner-up {number}: {row['scheme']}: {state}, {risk}.")
    cost = found.cost
    if cost["fits"]:
        told = (
            f"{cost['fits']:.0f} fits in {cost['seconds']:.0f} s; a cold fit took {cost['seconds of a cold fit']:.1f} s"
        )
        warm = cost["seconds of a warm fit"]
        lines.append(told + ("." if math.isnan(warm) else f", a warm one {warm:.1f} s."))
    return "\n".join(lines)


def plain_found(found: "Found") -> dict[str, Any]:
    """Give what a search found as JSON takes it, without anything at the level of records."""

    def rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
        return frame.astype(object).where(frame.notna(), None).to_dict("records")  # pyright: ignore[reportReturnType]

    def number(value: float) -> float | None:
        return None if math.isnan(value) else value

    return {
        "met": found.met,
        "verdict": found.verdict,
        "chosen": None if found.chosen is None else rows(found.points.iloc[[int(found.chosen["point"])]])[0],
        "runners_up": rows(found.runners_up),
        "points": rows(found.points),
        "standing_in_the_way": rows(found.standing_in_the_way),
        "probability": number(found.probability),
        "probability_low": number(found.probability_low),
        "probability_high": number(found.probability_high),
        "noise_floor": number(found.floor),
        "cost": {name: number(value) for name, value in found.cost.items()},
    }


def frontier(found: "Found", table: Table, settings: Settings) -> "Evaluation":
    """Gather every point and the baselines for the map of risk against utility.

    Risk is the mean over records and tables: for a synthesizer the expected one, for topcoding and noise that of the
    tables themselves.
    """
    # It loads statsmodels, which takes a while: only whoever searches waits for it.
    evaluation = import_module("molehill.evaluation")
    confidential, columns = evaluation.CONFIDENTIAL, evaluation.COLUMNS
    shared: dict[str, Any] = {name: getattr(settings, name) for name in ("known", "sensitive", "radius", "floor")}
    shared |= {"missing": settings.missing, "kinds": settings.kinds, "singletons": settings.singletons}
    shared["breaks"] = {name: ends for name, ends in settings.breaks.items() if name in settings.known}
    column = settings.sensitive
    risks: list[tuple[Any, ...]] = []
    losses: list[tuple[Any, ...]] = []
    own = float(np.nanmean(confidential_risk(table, **shared).risk))
    risks.append((confidential, column, RISK, own, np.nan, np.nan))
    for row in found.points.to_dict("records"):
        reach = {name: 1.96 * row[f"{name}_error"] for name in ("mean_expected_risk", "U_m")}
        for rows, measure, name in ((risks, RISK, "mean_expected_risk"), (losses, DISTANCE, "U_m")):
            ends = (row[name] - reach[name], row[name] + reach[name])
            rows.append((f"{row['point'] + 1}: {row['scheme']}", column, measure, row[name], *ends))
    noisy = [add_noise(table, column, scale=0.1, seed=number) for number in range(_NOISE_TABLES)]
    for name, tables in {"topcoding": [topcode(table, column)], "noise, 10% of the sd": noisy}.items():
        by_table = np.nanmean(release_risk(table, tables, **shared).by_table, axis=1)
        risks.append((name, column, RISK, *mean_over_tables(by_table, least=0.0, most=1.0)))
        found_distances = ecdf_distances(table, tables, column, missing=settings.missing)  # pyright: ignore[reportArgumentType]
        measured = found_distances.summary.set_index("measure")
        losses.append((name, column, DISTANCE, *measured.loc[DISTANCE, ["value", "low", "high"]]))
    losses.append((confidential, column, f"{DISTANCE} of a fresh sample", found.floor, np.nan, np.nan))
    empty = pd.DataFrame()
    frames = [pd.DataFrame(rows, columns=columns) for rows in (risks, losses)]
    return evaluation.Evaluation(*frames, groups=empty, top=empty, records=empty)


def _open_folder(folder: Path, *, resume: bool) -> Path:
    """Give the hidden folder beside the target that an unfinished search lives in."""
    if folder.exists():
        raise InputError("out", f"{str(folder)!r} exists already", "Choose another folder, or remove this one")
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    if unfinished.exists() and not resume:
        problem = f"an unfinished search for this folder is in {str(unfinished)!r}"
        raise InputError("resume", problem, "Add --resume to go on with it, or remove that folder")
    return unfinished


def _write_results(found: "Found", table: Table, settings: Settings, folder: Path) -> None:
    """Write results for the owner only: what is at the level of records into a folder of mode 0700.

    They are gathered beside the folder, which appears whole or not at all.
    """
    gathered = folder.with_name(f".{folder.name}.writing")
    shutil.rmtree(gathered, ignore_errors=True)
    gathered.mkdir(mode=0o700, parents=True)
    try:
        write_text(gathered / "found.txt", tell_found(found) + "\n", private=True)
        if len(found.points):
            write_table(found.points, gathered / "points.csv", private=True)
            write_text(gathered / "settings.toml", found.settings, private=True)
            shown = frontier(found, table, settings)
            save_figure(risk_utility_map(shown, utility=DISTANCE, risk=RISK), gathered / "frontier.svg")
            internal = gathered / "internal"
            internal.mkdir(mode=0o700)
            if len(found.standing_in_the_way):
                write_table(found.standing_in_the_way, internal / "standing_in_the_way.csv", private=True)
            records = pd.DataFrame({"record": np.arange(1, len(table.frame) + 1), "weight": found.weights})
            if found.by_prior is not None:
                records["chance_of_prior_membership"] = found.by_prior
            write_table(records, internal / "records.csv", private=True)
        # What has not converged is not fit to publish, as for `molehill run`.
        if found.datasets and found.chosen is not None and found.chosen["converged"]:
            released = gathered / "release"
            released.mkdir()
            digits = max(2, len(str(len(found.datasets))))
            for number, made in enumerate(found.datasets, 1):
                write_table(made, released / f"synthetic_{number:0{digits}}.csv")
        gathered.rename(folder)
    finally:
        shutil.rmtree(gathered, ignore_errors=True)
