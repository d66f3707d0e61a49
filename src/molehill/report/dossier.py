"""The evidence on a release: all that the report needs, so that it can be made again without fitting."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from molehill.errors import InputError
from molehill.evaluation.criteria import Criterion
from molehill.evaluation.evaluation import Evaluation, read_evaluation
from molehill.files import write_text
from molehill.plan.settings import Settings, read_settings, write_settings
from molehill.tables.formats.formats import read_table, write_table

# What became of the datasets. What is not recommended is released only if that is asked for by name.
Publication = Literal["released", "released against the recommendation", "not recommended", "nothing found"]
_SEARCH_FRAMES = ("candidates", "blocking_records", "baselines")
_FRAMES = ("weights", "fits", "diagnostics")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Searched:
    """What a search found, without its fits and tables.

    Attributes
    ----------
    met
        Whether a release that keeps every target was found.
    verdict
        The answer in plain words.
    targets
        The rules.
    points
        One row a point: how it was made (`rounds` of feedback among it), risk and utility with their errors, whether
        the targets are met; and for the first target `target_1_value`, `target_1_error`, `target_1_chance` (of breaking
        it), `target_1_records` (expected to break it), `target_1_met`, and so on. Without targets `met` says whether
        it keeps as much as the best. By which criterion each was chosen or not: `decided_by`, and `decided_why` in
        words.
    place, next_places
        Number of the chosen point, or of the closest one if none meets the targets, and of the next best.
    blocking_records
        pattern, range, records: who breaks the targets at the closest point, values as ranges. Empty if none does.
    baselines
        scheme, risk, risk_low, risk_high, U_m, U_m_low, U_m_high: the confidential table, topcoding and noise.
    cost
        fits; and, of a search that has not been saved, cold and warm (mean seconds of such a fit), measuring (mean
        seconds of a point), seconds in all.
    probability, probability_low, probability_high
        That L fresh tables break a realised target: the share of independent runs of the confirmation that did, with
        a 95% interval (Clopper and Pearson). NaN without such targets.
    fresh
        The U_m that a fresh sample of the same size would show.
    releases, redrawn, may_redraw
        How many releases were drawn until one kept the realised targets, how many records of it were drawn anew, and
        whether any could be.
    note
        What a settings file says of it.
    """

    met: bool
    verdict: str
    targets: tuple[Criterion, ...]
    candidates: pd.DataFrame
    place: int
    next_places: tuple[int, ...]
    blocking_records: pd.DataFrame
    baselines: pd.DataFrame
    cost: Mapping[str, float]
    probability: float
    probability_low: float
    probability_high: float
    fresh: float
    releases: int
    redrawn: int
    may_redraw: bool
    note: str

    @property
    def chosen(self) -> pd.Series:
        """The row of the chosen point, or of the closest one."""
        return self.candidates.iloc[self.place]

    @property
    def next_best(self) -> pd.DataFrame:
        """The rows of the next best points."""
        return self.candidates.iloc[list(self.next_places)]

    @property
    def fit_to_publish(self) -> bool:
        """Whether the targets are kept by a fit that has converged."""
        return self.met and bool(self.chosen["converged"])

    def __str__(self) -> str:
        return self.verdict

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'met' if self.met else 'not met'}: {len(self.candidates)} points)"


def tell_runners_up(searched: Searched) -> list[str]:
    """Say in a sentence each how the next best points stand to the targets."""
    lines = []
    for row in searched.next_best.to_dict("records"):
        kept = ("keeps the targets", "misses the targets") if searched.targets else ("keeps as much", "keeps less")
        state = kept[0] if row["met"] else kept[1]
        risk = f"mean expected risk {row['mean_expected_risk']:.3f}, U_m {row['U_m']:.4f}"
        decided = f" Decided by: {row['decided_why']}." if row.get("decided_why") else ""
        lines.append(f"Point {row['point'] + 1}, {row['scheme']}: {state}, {risk}.{decided}")
    return lines


def tell_cost(searched: Searched) -> str:
    """Say what the search cost, and what a warm start saves."""
    cost = searched.cost
    if not cost["fits"]:
        return "No fit was made."
    points = f"{len(searched.candidates)} point{'' if len(searched.candidates) == 1 else 's'}"
    told = f"{cost['fits']:.0f} fit{'' if cost['fits'] == 1 else 's'} and {points}"
    if "seconds" not in cost:
        return f"{told}."
    told += f" in {cost['seconds']:.0f} s; a cold fit took {cost['cold']:.1f} s"
    told += "" if math.isnan(cost["warm"]) else f", one that starts from the draws of another {cost['warm']:.1f} s"
    return f"{told}, measuring a point {cost['measuring']:.1f} s."


@dataclass(frozen=True, eq=False)
class Dossier:
    """The evidence on a release.

    Attributes
    ----------
    settings
        What made it, the seed included.
    scheme
        The name of the release among the schemes of the evaluation.
    evaluation
        Risk and utility of the release and of what it is compared with.
    weights
        record, value (of the first replaced column, then value_2 and so on), risk, weight, row (in the published
        tables): one row a record. Not for
        publication.
    fits
        scheme, converged, problems, sweeps, effective_size, largest_rhat, divergent: one row a fitted scheme.
    diagnostics
        scheme, functional, mean, sd, rhat, bulk, tail, error.
    policies
        How many records each edge policy touched.
    facts
        records, patterns, tables; model (its name), words (what the model is); outside, the share of predictive mass
        outside the support; columns, what became of each: column, label, fate, kind, model, limits, remark, handling;
        order, the replaced columns that the order of the file tells of, and shuffled, whether the records were put in
        another; drawn, the replaced columns in the order of drawing; rules, what every record keeps to, with how many
        confidential ones break it; together, by which columns records
        belong together; and accepted, the share of records that kept to constraints when first drawn;
        kind and reason of the column; files, how those of text are written; ours, false if others made the
        tables; versions; input, the hashes of the confidential table; publication, what became of the datasets.
        Nothing in it tells the time.
    search
        What a search found, if the release comes from one.
    """

    settings: Settings
    scheme: str
    evaluation: Evaluation
    weights: pd.DataFrame
    fits: pd.DataFrame
    diagnostics: pd.DataFrame
    policies: Mapping[str, int]
    facts: Mapping[str, Any]
    search: Searched | None = None

    @property
    def is_ours(self) -> bool:
        """Whether Molehill made the tables; of others' tables there is neither model nor weight."""
        return bool(self.facts.get("ours", True))

    @property
    def publication(self) -> Publication:
        """What became of the datasets, as it was settled when the folder was written.

        Earlier versions released whatever a search did not refuse.
        """
        if self.search is not None and not self.search.fit_to_publish:
            return "nothing found"
        return self.facts.get("publication", "released")

    @property
    def fit_to_publish(self) -> bool:
        """Whether there is something to publish: not if a search found nothing, nor if it is not recommended."""
        return self.publication in ("released", "released against the recommendation")

    @property
    def notes(self) -> dict[str, str]:
        """What the settings file of the release says beside its settings."""
        notes = {} if self.search is None else {"release_criteria": self.search.note}
        if self.settings.synthesizer == "custom":
            notes["synthesizer"] = (
                f"The synthesizer {self.facts['model']} was given in Python: `molehill run` cannot make this release.\n"
                "Call molehill.synthesize(data, settings, synthesizer=...) with it."
            )
        return notes


def write_dossier(dossier: Dossier, folder: Path) -> None:
    """Write the evidence into a folder that is there, every file for its owner only."""
    write_settings(dossier.settings, folder / "settings.toml", notes=dossier.notes)
    dossier.evaluation.save(folder / "evaluation", ending="parquet")
    for name in _FRAMES:
        write_table(getattr(dossier, name), folder / f"{name}.parquet", private=True)
    content = {"scheme": dossier.scheme, "policies": dict(dossier.policies), "facts": dict(dossier.facts)}
    _write_json(content, folder / "facts.json")
    if dossier.search is not None:
        _write_searched(dossier.search, folder)


def read_dossier(folder: str | Path) -> Dossier:
    """Read the evidence of a saved release, from its folder or from `internal/` in it."""
    path = Path(folder)
    path = path / "internal" if (path / "internal").is_dir() else path
    if not (path / "facts.json").is_file():
        raise InputError("folder", f"{str(folder)!r} holds no saved release", "Give the folder that `run` wrote")
    content = _read_json(path / "facts.json")
    frames = {name: _read_frame(path / f"{name}.parquet") for name in _FRAMES}
    settings, evaluation = read_settings(path / "settings.toml"), read_evaluation(path / "evaluation")
    return Dossier(settings, evaluation=evaluation, search=_read_searched(path), **frames, **content)


def _write_searched(searched: Searched, folder: Path) -> None:
    for name in _SEARCH_FRAMES:
        frame = getattr(searched, name)
        if len(frame):
            write_table(frame, folder / f"search_{name}.parquet", private=True)
    fields = [name for name in Searched.__dataclass_fields__ if name not in _SEARCH_FRAMES]
    content = {name: _plain(getattr(searched, name)) for name in fields}
    _write_json(content | {"targets": list(map(asdict, searched.targets))}, folder / "search.json")


def _read_searched(folder: Path) -> Searched | None:
    if not (folder / "search.json").is_file():
        return None
    content = _read_json(folder / "search.json")
    frames = {name: _read_frame(folder / f"search_{name}.parquet") for name in _SEARCH_FRAMES}
    # JSON has no number that says "not known"; only the place of the chosen point may be missing otherwise.
    numbers = {name: math.nan for name, value in content.items() if value is None and name != "place"}
    cost = {name: math.nan if value is None else value for name, value in content["cost"].items()}
    targets = tuple(Criterion(**target) for target in content["targets"])
    read = {"targets": targets, "next_places": tuple(content["next_places"]), "cost": cost}
    return Searched(**{**content, **numbers, **frames, **read})


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


def _write_json(content: Mapping[str, Any], path: Path) -> None:
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False), private=True)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise InputError("folder", f"{str(path)!r} is damaged", "Restore it, or make the release again") from None


def _read_frame(path: Path) -> pd.DataFrame:
    return read_table(path).frame if path.exists() else pd.DataFrame()
