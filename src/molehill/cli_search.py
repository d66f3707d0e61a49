"""The command `molehill search`: from a settings file and targets to the release that keeps the most utility."""

import json
import math
import shutil
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer

from molehill.errors import InputError
from molehill.searched import tell_cost, tell_runners_up
from molehill.settings import read_settings
from molehill.table import read_table
from molehill.targets import read_targets

if TYPE_CHECKING:
    from molehill.search import Found

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
        found = import_module("molehill.search").search_settings(
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
