"""From a rule to a release: the scheme that keeps the most utility under targets of risk, or why there is none."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from molehill.errors import InputError, check_choice
from molehill.plan.settings import Settings
from molehill.plan.targets import Target, impossible, read_targets
from molehill.release.making import Tell, prepare
from molehill.release.search.moves import try_moves
from molehill.release.search.outcome import Found, conclude, nothing_found
from molehill.release.search.points import open_bench
from molehill.synthesis.synthesizer import AnySynthesizer
from molehill.utility import Analysis


def search(
    data: Any,
    settings: Settings,
    *,
    synthesizer: AnySynthesizer | None = None,
    analyses: Sequence[Analysis] | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = True,
    tell: Tell | None = None,
) -> Found:
    """Find the release that keeps the most utility under the targets of the settings, or say why there is none.

    Order and synthesizer of the settings are where it begins; scale, shift and membership are for the search to find.
    `fits`, `seconds`, `chance`, `redraw` and `search_tables` are its own settings. It abbreviates:

        bench = open_bench(prepare(data, settings))
        points = list(try_moves(bench))          # fit, measure and judge, one after the other
        found = conclude(bench)                  # the best confirmed with fresh draws, and put into words

    Parameters
    ----------
    data, synthesizer, analyses, progress, tell
        As in `molehill.synthesize`. The replaced columns must be numbers.
    settings
        What to keep, in `targets`: "maximum realised <= 0.5", "99% expected <= 0.4", "mean expected <= 0.15",
        "moles 0.1 <= 0" (no record's expected risk rises by more than 0.1 against the unweighted fit), "U_m <= 0.03",
        "overlap >= 0.6", "overlap of mean of income >= 0.6"; and all the rest, as in `molehill.synthesize`. The same
        settings, seed and versions give the same result, unless the budget is in seconds.
    checkpoint
        Folder to keep every fit and every measured point in (record-level: owner only). An interrupted call, made
        again with the same settings, the seed among them, goes on from there and ends with the same result.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 110.0, 120.0, 900.0]})
    >>> search(data, Settings(replace="pay", known="town", targets="maximum expected <= 0")).met
    False
    """
    if not isinstance(settings, Settings):
        raise InputError("settings", "they are not Settings", "Write Settings(replace=['income'], known=['age'])")
    targets = read_targets(settings.targets)
    reasons = impossible(targets)
    if reasons:
        told = " ".join(f"{reason}." for reason in reasons)
        return nothing_found(f"No release can meet the targets. {told}", targets)
    # What the search finds must not make two searches differ.
    begun = settings.but(scale=1.0, shift=0.0, membership="posterior")
    job = prepare(data, begun, synthesizer=synthesizer, analyses=analyses)
    if not job.view.numeric:
        raise InputError("replace", f"{settings.replace[0]!r} is categorical", "The search is for numbers only")
    _check_overlaps(targets, job.analyses)
    bench = open_bench(job, checkpoint=checkpoint, progress=progress)
    for point in try_moves(bench):
        if tell is not None:
            state = "meets the targets" if point.met else "misses them"
            tell(f"point {point.number + 1}: {point}: {state}, U_m {point.distance:.4f}")
    return conclude(bench, tell)


def _check_overlaps(targets: Sequence[Target], analyses: Sequence[Analysis]) -> None:
    names = [analysis.name for analysis in analyses]
    for target in targets:
        if target.subject == "overlap":
            if not names:
                raise InputError("targets", f"{str(target)!r}: there are no analyses", "Give some")
            if target.analysis:
                check_choice("targets", target.analysis, names)
