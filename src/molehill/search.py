"""From a rule to a release: the scheme that keeps the most utility under targets of risk, or why there is none.

Arguments and settings are checked, and what they need is chosen; `search_order` then tries one move after the other,
`search_points` fits and measures them, and `search_found` confirms the best. Every point is kept.
"""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from molehill.arguments import check_choice
from molehill.errors import InputError
from molehill.files import written_whole
from molehill.frames import Table, as_table
from molehill.release import choose_synthesizer, column_roles, complete_settings, read_regressions
from molehill.schema import infer_schema
from molehill.search_found import EXPECTED_TABLES, Budget, Found, conclude, nothing_found
from molehill.search_order import try_moves
from molehill.search_points import open_bench
from molehill.settings import Settings
from molehill.synthesizer import Composite, Synthesizer
from molehill.targets import Target, impossible, read_targets
from molehill.utility import Analysis
from molehill.utility_figures import default_analyses

__all__ = ["Found", "search", "search_settings"]

Tell = Callable[[str], None]


def search(
    data: Any,
    *,
    sensitive: str,
    known: str | Sequence[str],
    radius: float = 0.2,
    targets: str | Target | Sequence[str | Target],
    predictors: str | Sequence[str] | None = None,
    synthesizer: str | Synthesizer | Composite = "auto",
    components: int = 10,
    datasets: int = 20,
    seed: int | None = None,
    fits: int = 12,
    seconds: float | None = None,
    chance: float = 0.2,
    redraw: float = 0.001,
    expected_tables: int = EXPECTED_TABLES,
    order: int = 2,
    floor: float = 0.0,
    lower: float | None = None,
    upper: float | None = None,
    analyses: Sequence[Analysis] | None = None,
    singletons: str = "protect",
    missing: str = "error",
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, str] | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = True,
    tell: Tell | None = None,
) -> Found:
    """Find the release that keeps the most utility under targets, or say that there is none and why.

    Parameters
    ----------
    data, sensitive, known, predictors, radius, floor, synthesizer, components, lower, upper, datasets
        As in `molehill.synthesize`. The sensitive column must be numeric.
    targets
        One or several: "maximum realised <= 0.5", "99% expected <= 0.4", "mean expected <= 0.15", "moles 0.1 <= 0" (no
        record's expected risk rises by more than 0.1 against the unweighted fit), "U_m <= 0.03", "overlap >= 0.6",
        "overlap of mean of income >= 0.6".
    seed
        The same data, settings, seed and versions give the same result, unless the budget is in seconds.
    fits, seconds
        The budget. No fit is begun once that many were made or so many seconds have been spent on fits and
        measurements. How much is done within a number of seconds depends on the machine.
    chance
        The largest chance that a release breaks a realised target which still counts as meeting it.
    redraw
        A realised maximum also counts as met if no expected risk is above its bound and no larger share of the records
        (or one record, if that is more) is expected to pass it by bad luck. Those are drawn anew until they keep it. 0
        forbids it.
    expected_tables
        How many predicted tables each point is measured with: a multiple of 20.
    order
        Of the weights along the path of strength; other orders are tried after it.
    analyses
        What the overlap is of; by default mean, median, 90% quantile and standard deviation.
    singletons, missing, breaks, kinds
        As in `confidential_risk`.
    checkpoint
        Folder to keep every fit and every measured point in (record-level: owner only). An interrupted call, made
        again with the same arguments, goes on from there and ends with the same result.
    progress, tell
        As in `molehill.synthesize`.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 110.0, 120.0, 900.0]})
    >>> search(data, sensitive="pay", known="town", targets="maximum expected <= 0").met
    False
    """
    settings = Settings(
        sensitive=sensitive,
        known=known,  # pyright: ignore[reportArgumentType]
        predictors=predictors,  # pyright: ignore[reportArgumentType]
        radius=radius,
        floor=floor,
        order=order,
        synthesizer=synthesizer if isinstance(synthesizer, str) else "auto",
        components=components,
        lower=lower,
        upper=upper,
        datasets=datasets,
        singletons=singletons,
        small_patterns="marginal",
        missing=missing,
        seed=seed,
        breaks={name: tuple(ends) for name, ends in (breaks or {}).items()},
        kinds=dict(kinds or {}),
    )
    return search_settings(
        data,
        settings,
        targets,
        fits=fits,
        seconds=seconds,
        chance=chance,
        redraw=redraw,
        expected_tables=expected_tables,
        synthesizer=None if isinstance(synthesizer, str) else synthesizer,
        analyses=analyses,
        checkpoint=checkpoint,
        progress=progress,
        tell=tell,
    )


def search_settings(
    data: Any,
    settings: Settings,
    targets: str | Target | Sequence[str | Target] | None = None,
    *,
    fits: int = 12,
    seconds: float | None = None,
    chance: float = 0.2,
    redraw: float = 0.001,
    expected_tables: int = EXPECTED_TABLES,
    synthesizer: Synthesizer | Composite | None = None,
    analyses: Sequence[Analysis] | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = True,
    tell: Tell | None = None,
) -> Found:
    """Search from settings as a file has them: `search` with its arguments in one value.

    Order and synthesizer of the settings are where it begins; scale, shift and membership are for the search to find,
    and noise is balanced. Targets take the place of those in the settings.
    """
    wanted = read_targets(settings.targets if targets is None else targets)
    _check_budget(fits, seconds, chance, redraw, expected_tables)
    reasons = impossible(wanted)
    if reasons:
        told = " ".join(f"{reason}." for reason in reasons)
        return nothing_found(f"No release can meet the targets. {told}", wanted)
    table = as_table(data)
    read_regressions(settings, table)
    settings = _complete(replace(settings, targets=tuple(map(str, wanted))), table, checkpoint)
    schema = infer_schema(table, **column_roles(settings))
    if schema[settings.sensitive].kind == "categorical":
        raise InputError("sensitive", f"{settings.sensitive!r} is categorical", "The search is for numbers only")
    looked_at = list(default_analyses(schema) if analyses is None else analyses)
    _check_overlaps(wanted, looked_at)

    @cache
    def choose(components: int) -> Synthesizer | Composite:
        return choose_synthesizer(table, replace(settings, components=components), schema)

    bench = open_bench(
        table,
        settings,
        synthesizer or choose(settings.components),
        wanted,
        tables=expected_tables,
        chance=chance,
        redraw=redraw,
        analyses=looked_at,
        checkpoint=checkpoint,
        progress=progress,
        fewer=choose if synthesizer is None else None,
    )
    budget = Budget(fits, seconds)
    for point in try_moves(bench, budget):
        if tell is not None:
            state = "meets the targets" if point.met else "misses them"
            tell(f"point {point.number + 1}: {point}: {state}, U_m {point.distance:.4f}")
    return conclude(bench, budget, tell)


def _complete(settings: Settings, table: Table, checkpoint: str | Path | None) -> Settings:
    # Scale, shift and membership are for the search to find: they must not make two searches differ. Balanced noise
    # costs no record more risk, and keeps more.
    found = {"scale": 1.0, "shift": 0.0, "membership": "posterior", "noise": "balanced", "small_patterns": "marginal"}
    completed = complete_settings(settings, table)
    return replace(completed, seed=_keep_seed(settings.seed, checkpoint), **found)


def _keep_seed(given: int | None, checkpoint: str | Path | None) -> int:
    """Take a fresh seed where none is given, and that of the interrupted search where there is one."""
    if checkpoint is None:
        return secrets.randbits(62) if given is None else given
    folder = Path(checkpoint)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    note = folder / "seed.json"
    if note.exists():
        seed = int(json.loads(note.read_text(encoding="utf-8"))["seed"])
        if given not in (None, seed):
            raise InputError("seed", "the interrupted search has another", "Leave the seed out, or remove the folder")
        return seed
    seed = secrets.randbits(62) if given is None else given
    with written_whole(note, private=True, argument="checkpoint") as temporary:
        temporary.write_text(json.dumps({"seed": seed}), encoding="utf-8")
    return seed


def _check_budget(fits: int, seconds: float | None, chance: float, redraw: float, expected_tables: int) -> None:
    if isinstance(fits, bool) or not isinstance(fits, int) or fits < 1:
        raise InputError("fits", "it must be a whole number from 1 up", "12 is usual")
    if seconds is not None and not seconds > 0:
        raise InputError("seconds", "it must be a number above 0", "Leave it out for a budget of fits alone")
    if not 0 < chance < 1:
        raise InputError("chance", "it must be between 0 and 1", "0.2 lets one release in five break the target")
    if not 0 <= redraw < 1:
        raise InputError("redraw", "it must be from 0 to below 1", "0.001 is one record in a thousand, 0 is none")
    if expected_tables < 40 or expected_tables % 20:
        raise InputError("expected_tables", "it must be a multiple of 20, from 40 up", "400 is usual")


def _check_overlaps(targets: Sequence[Target], analyses: Sequence[Analysis]) -> None:
    names = [analysis.name for analysis in analyses]
    for target in targets:
        if target.measure == "overlap":
            if not names:
                raise InputError("targets", f"{str(target)!r}: there are no analyses", "Give some")
            if target.analysis:
                check_choice("targets", target.analysis, names)
