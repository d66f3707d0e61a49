"""A release: synthetic tables with the evidence for and against publishing them, in memory and on disk."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from molehill.errors import InputError
from molehill.evaluation.evaluation import Evaluation
from molehill.evaluation.showing import show_html, side_by_side
from molehill.evaluation.telling import Teller
from molehill.evaluation.verdict import Verdict
from molehill.files import folder_written_whole, hash_file, is_set_aside, restore_folder, write_text, written_whole
from molehill.plan.plan import Plan
from molehill.plan.settings import Settings
from molehill.release.locks import held
from molehill.report.archive import archive_dossier
from molehill.report.dossier import Dossier, Publication, Searched, read_dossier, write_dossier
from molehill.report.methods import methods_note
from molehill.report.page.first_page import judge_release
from molehill.report.page.page import render_report
from molehill.report.trail import (
    ARCHIVE,
    MANIFEST,
    TIMES,
    describe_maker,
    fingerprint_files,
    hash_files,
    list_files,
    published_part,
)
from molehill.risk.identification import ConfidentialRisk
from molehill.synthesis.posterior import Posterior
from molehill.synthesis.sampling.diagnostics import Diagnostics
from molehill.tables.formats.formats import released_ending, write_table
from molehill.tables.table import Dialect, as_table

_TIMED = ("fit_seconds", "seconds")
VERSIONS = ("molehill", "numpy", "pandas", "jax", "numpyro", "blackjax", "numba")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release:
    """Synthetic tables, and the evidence for and against publishing them.

    Attributes
    ----------
    datasets
        The synthetic tables.
    scheme
        What the release is called beside the schemes that it is compared with.
    weights, risk
        Weight of every record, and the confidential risk that it comes from.
    posterior
        The fitted synthesizer.
    comparisons
        The tables of the other schemes, by name.
    fits, diagnostics
        Of every fitted scheme, whether its draws can be trusted: one row a scheme, and all of it by name.
    evaluation
        Risk and utility of all of them.
    settings
        What made it, the seed included: not for publication.
    seconds
        Wall time by stage.
    plan, order
        The treatment of each variable; and of every row of the tables, the record of the confidential table that it is
        of, from 0 on: not for publication.
    source
        Hashes of the confidential table: `file`, of the bytes of the file that it was read from, if it was, and
        `content`. Not for publication.
    search
        How it was found, if there was a rule to keep. If nothing that was found is fit to publish, the tables are those
        of the closest point, and `save` leaves them out.
    """

    datasets: Sequence[Any]
    scheme: str
    weights: np.ndarray
    risk: ConfidentialRisk
    posterior: Posterior
    comparisons: Mapping[str, Sequence[Any]]
    fits: pd.DataFrame
    diagnostics: Mapping[str, Diagnostics]
    evaluation: Evaluation
    settings: Settings
    seconds: Mapping[str, float]
    plan: Plan
    order: np.ndarray
    source: Mapping[str, str | None]
    search: Searched | None = None

    def __repr__(self) -> str:
        beside = f", compared with {', '.join(self.comparisons)}" if self.comparisons else ""
        records = len(as_table(self.datasets[0]).frame)
        return f"Release({len(self.datasets)} tables of {records:,} records, {self.scheme}{beside})"

    def __str__(self) -> str:
        return f"{self!r}\n{self.verdict.sentence}\n\n{side_by_side(self.evaluation).to_string()}"

    def _repr_html_(self) -> str:
        return show_html(self.evaluation, self.scheme, self.verdict)

    @property
    def is_found(self) -> bool:
        """Whether there are tables to publish: always, unless no point that was tried keeps the targets."""
        return self.search is None or self.search.fit_to_publish

    @property
    def is_released(self) -> bool:
        """Whether `save` writes what may be published: there are such tables, and they are not to be withheld."""
        return self.is_found and self.verdict.decision != "do not release"

    @cached_property
    def dossier(self) -> Dossier:
        """The evidence, as it is saved. Not for publication."""
        return make_dossier(self)

    @cached_property
    def verdict(self) -> Verdict:
        """What to do with it, and why, in a sentence: as the internal report says it."""
        return judge_release(self.dossier, Teller("internal", len(self.weights)))

    def save(self, folder: str | Path, *, overwrite: bool = False, release_anyway: bool = False) -> Path:
        """Write `release/`, to publish, and `internal/`, to keep, into a new folder: see `save_release`."""
        return save_release(self, folder, overwrite=overwrite, release_anyway=release_anyway)


def save_release(
    release: Release, folder: str | Path, *, overwrite: bool = False, release_anyway: bool = False
) -> Path:
    """Write a release: `release/` to publish, `internal/` to keep. The folder appears whole or not at all.

    If a search found nothing that is fit to publish, or the recommendation is "do not release", there is no `release/`.
    When it was made, by whom, where and how
    long it took is in `internal/times.json` alone: all else is the same bytes for the same table, settings, seed and
    versions.

    Parameters
    ----------
    release
        From `molehill.synthesize`.
    folder
        Where to; it must not exist yet.
    overwrite
        Replace a folder that holds an earlier release.
    release_anyway
        Write `release/` also against the recommendation; report, dossier and manifest then say so.
    """
    target = Path(folder)
    check_target(target, overwrite=overwrite)
    with held(target):
        take_back(target)
        check_target(target, overwrite=overwrite)
        write_release(release, target, release_anyway=release_anyway)
    return target


def write_release(release: Release, target: Path, *, release_anyway: bool = False) -> None:
    """Write a release in place of whatever is there; the caller holds the target (see `molehill.release.locks`)."""
    dossier = _settle(release, release_anyway=release_anyway)
    with folder_written_whole(target) as temporary:
        public, internal = temporary / "release", temporary / "internal"
        internal.mkdir(mode=0o700)
        if dossier.fit_to_publish:
            public.mkdir()
            _write_tables(release, public)
            write_text(public / "methods.md", methods_note(dossier))
            write_text(public / "report.html", render_report(dossier, edition="public"))
        write_dossier(dossier, internal)
        with written_whole(internal / "draws.npz", private=True) as path:
            np.savez(path, allow_pickle=False, **release.posterior.draws)
        _write_evidence(dossier, temporary, hash_files(public) if dossier.fit_to_publish else {})
        manifest = _write_manifest(temporary, hash_files(temporary), dossier.facts)
        _write_json(temporary / TIMES, {**_tell_times(release), "manifest": manifest})


def _settle(release: Release, *, release_anyway: bool) -> Dossier:
    """Settle what becomes of the datasets, by the recommendation; it stays so when a report is made again."""
    dossier = release.dossier
    settled: Publication = dossier.publication
    if settled == "released" and release.verdict.decision == "do not release":
        settled = "released against the recommendation" if release_anyway else "not recommended"
    return replace(dossier, facts={**dossier.facts, "publication": settled})


def _write_evidence(dossier: Dossier, folder: Path, published: Mapping[str, str]) -> None:
    """Write the internal report, and the dossier for archives: both name the published files by their hashes."""
    page = render_report(dossier, edition="internal", fingerprint=fingerprint_files(published))
    write_text(folder / "internal" / "report.html", page, private=True)
    settings = hash_file(folder / "internal" / "settings.toml")
    write_text(folder / ARCHIVE, archive_dossier(dossier, published=published, settings=settings), private=True)


def _write_manifest(folder: Path, files: Mapping[str, str], facts: Mapping[str, Any]) -> str:
    """Write what is in a folder and of what it was made, and give the hash of that."""
    fingerprint = fingerprint_files(published_part(files))
    _write_json(folder / MANIFEST, {"files": dict(sorted(files.items())), "fingerprint": fingerprint, **facts})
    return hash_file(folder / MANIFEST)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False), private=True)


def make_dossier(release: Release) -> Dossier:
    """Gather the evidence on a release."""
    tables = [
        found.table.rename_axis("functional").reset_index().assign(scheme=scheme)
        for scheme, found in release.diagnostics.items()
    ]
    posterior, risk, settings = release.posterior, release.risk, release.settings
    weights = pd.DataFrame({"record": np.arange(1, len(release.weights) + 1)})
    for place, name in enumerate(settings.synthesize, 1):
        weights["value" if place == 1 else f"value_{place}"] = posterior.table.frame[name].to_numpy()
    rows = np.empty(len(weights), dtype=np.int64)
    rows[release.order] = np.arange(1, len(weights) + 1)
    weights = weights.assign(risk=risk.risk, weight=release.weights)
    if settings.fully_synthetic_records is None:
        # New people have no row of anybody's.
        weights = weights.assign(row=rows)
    column = risk.schema[settings.synthesize[0]]
    facts = {
        "records": len(weights),
        "patterns": risk.patterns.number,
        "tables": len(release.datasets),
        "model": posterior.synthesizer.name,
        "words": posterior.synthesizer.words,
        "outside": posterior.mass_outside_range,
        "columns": release.plan.columns.to_dict("records"),
        "order": list(release.plan.order),
        "shuffled": release.plan.shuffled,
        "drawn": list(release.plan.drawn),
        "rules": dict(release.plan.rules),
        "together": list(release.plan.together),
        **_tell_unevenness(release),
        "survey": [*release.plan.survey, *_tell_correction(posterior)],
        "accepted": posterior.acceptance_rate,
        "kind": column.kind,
        "reason": column.reason,
        "written_as": _tell_files(release),
        "versions": {name: version(name) for name in VERSIONS},
        "input": dict(release.source),
    }
    return Dossier(
        settings,
        release.scheme,
        release.evaluation,
        weights,
        release.fits.drop(columns="seconds"),
        pd.concat(tables, ignore_index=True),
        dict(risk.policies),
        facts,
        None if release.search is None else _without_times(release.search),
    )


def _tell_unevenness(release: Release) -> dict[str, float]:
    """Of new people drawn from the population: records of the sample for each that tells as much, upwards in tenths."""
    settings, survey = release.settings, release.posterior.survey
    if settings.fully_synthetic_records is None or settings.weighs != "weights" or survey is None:
        return {}
    return {"uneven": math.ceil(10 * survey.sample.records / survey.sample.effective) / 10}


def _tell_correction(posterior: Posterior) -> list[str]:
    """Say what the design of a survey did to the uncertainty of the fit, and why where it did nothing."""
    found = posterior.correction
    if found is None:
        return []
    effects = found.table
    told = [f"Uncertainty of the fit under the design: {found.words}."]
    if len(effects):
        middle, most = effects["median_effect"].median(), effects["largest_effect"].max()
        told.append(
            f"Variances under the design, and by how values really differ from the model, are {middle:.2f} times those "
            f"of the model (median over what was looked at; at most {most:.2f})."
        )
    return told


def _tell_files(release: Release) -> dict[str, Any]:
    """Say how the text files of the release are written; nothing of other files."""
    ending, dialect = released_ending(release.settings.data), as_table(release.datasets[0]).dialect or Dialect()
    if ending not in (".csv", ".tsv"):
        return {}
    told = {name: getattr(dialect, name) for name in ("separator", "decimal", "thousands", "encoding")}
    return {
        "ending": ending,
        **told,
        **({"separator": "\t"} if ending == ".tsv" else {}),
        "grouped": list(dialect.grouped),
    }


def _tell_times(release: Release) -> dict[str, Any]:
    """Say when a release was made and by whom, and the seconds of its stages, fits, and points of a search."""
    told: dict[str, Any] = {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "by": describe_maker(),
        "seconds": dict(release.seconds),
        "fits": dict(zip(release.fits["scheme"], release.fits["seconds"], strict=True)),
    }
    if release.search is not None:
        cost = {name: None if math.isnan(value) else value for name, value in release.search.cost.items()}
        told["search"] = {"cost": cost, "candidates": release.search.candidates[list(_TIMED)].to_dict("list")}
    return told


def _without_times(found: Searched) -> Searched:
    """Give of what a search found all but how long it took."""
    fields = {name: getattr(found, name) for name in Searched.__dataclass_fields__}
    cost = {"fits": found.cost["fits"]}
    return Searched(**{**fields, "candidates": found.candidates.drop(columns=list(_TIMED)), "cost": cost})


def rebuild_report(folder: str | Path, *, on_stage: Callable[[str], None] | None = None) -> tuple[Path, ...]:
    """Make the report of a saved release again, in both editions if it is published, and give their paths.

    A release that was about to be replaced when its process was killed is first taken back to its place, and `tell` is
    called with that. So it is if the public edition becomes another, as by another version; manifest and times say so.
    """
    path = Path(folder)
    if is_set_aside(path):
        with held(path):
            take_back(path, on_stage)
    dossier = read_dossier(path)
    public, internal = path / "release" / "report.html", path / "internal" / "report.html"
    manifest = _read_json(path / MANIFEST)
    # Hashes of other files are those of the release, and not of what may have become of them.
    listed = list_files(manifest)
    files = hash_files(path) if listed is None else dict(listed)
    if dossier.fit_to_publish:
        write_text(public, render_report(dossier, edition="public"))
        files["release/report.html"] = hash_file(public)
    _write_evidence(dossier, path, published_part(files) if dossier.fit_to_publish else {})
    files |= {name: hash_file(path / name) for name in ("internal/report.html", ARCHIVE)}
    if listed is not None and files != listed:
        _note_again(path, files, manifest)
        if on_stage is not None and published_part(files) != published_part(listed):
            on_stage("the public report is another than before: what was signed or published is not this release")
    return (public, internal) if dossier.fit_to_publish else (internal,)


def _note_again(folder: Path, files: Mapping[str, str], manifest: Mapping[str, Any]) -> None:
    """Write down that reports made again are others than before, as by another version, and who made them."""
    facts = {name: value for name, value in manifest.items() if name not in ("files", "fingerprint")}
    found = _write_manifest(folder, files, facts)
    times = _read_json(folder / TIMES)
    again = {"made": datetime.now(UTC).isoformat(timespec="seconds"), "molehill": version("molehill")}
    again |= {"fingerprint_before": manifest.get("fingerprint"), "by": describe_maker()}
    _write_json(folder / TIMES, {**times, "manifest": found, "again": [*times.get("again", []), again]})


def _read_json(path: Path) -> dict[str, Any]:
    """Read a file of JSON; nothing if it is not there, or damaged: `molehill verify` tells that."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return {}


def take_back(target: Path, on_stage: Callable[[str], None] | None = None) -> None:
    """Take back to its place a release that was about to be replaced when its process was killed, and tell it."""
    if restore_folder(target) and on_stage is not None:
        on_stage(f"the earlier release is back in {str(target)!r}: a run was killed that was about to replace it")


def check_target(target: Path, *, overwrite: bool) -> None:
    """Refuse a folder that exists, unless it holds an earlier release that may be replaced."""
    if target.exists() and not overwrite:
        raise InputError("out", f"{str(target)!r} exists already", "Choose another folder, or allow to overwrite it")
    if target.exists() and not (target / "internal" / "facts.json").is_file():
        problem = f"{str(target)!r} exists and holds no release of Molehill"
        raise InputError("out", problem, "Choose another folder: only an earlier release is overwritten")


def _write_tables(release: Release, folder: Path) -> None:
    """Write the synthetic tables, in the format of the confidential one where that can be written."""
    ending = released_ending(release.settings.data)
    digits = max(2, len(str(len(release.datasets))))
    for number, table in enumerate(release.datasets, start=1):
        write_table(table, folder / f"synthetic_{number:0{digits}}{ending}")
