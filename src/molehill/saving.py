"""Releases on disk: two folders, one to publish and one to keep, that appear whole or not at all."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from molehill.dossier import make_dossier, read_dossier, write_dossier
from molehill.errors import InputError
from molehill.files import write_text, written_whole
from molehill.release import Release
from molehill.report import methods_note, render_report
from molehill.table import write_table


def save_release(release: Release, folder: str | Path, *, overwrite: bool = False) -> Path:
    """Write a release: `release/` to publish, `internal/` to keep. The folder appears whole or not at all.

    If a search found nothing that is fit to publish, there is no `release/`.

    Parameters
    ----------
    release
        From `molehill.synthesize`.
    folder
        Where to; it must not exist yet.
    overwrite
        Replace a folder that holds an earlier release.
    """
    target = Path(folder)
    check_target(target, overwrite=overwrite)
    dossier = make_dossier(release)
    with _whole_folder(target) as temporary:
        public, internal = temporary / "release", temporary / "internal"
        internal.mkdir(mode=0o700)
        if dossier.fit_to_publish:
            public.mkdir()
            _write_tables(release, public)
            write_text(public / "methods.md", methods_note(dossier))
            write_text(public / "report.html", render_report(dossier, edition="public"))
        write_dossier(dossier, internal)
        write_text(internal / "report.html", render_report(dossier, edition="internal"), private=True)
        with written_whole(internal / "draws.npz", private=True) as path:
            np.savez(path, allow_pickle=False, **release.posterior.draws)
        manifest = {"files": _hash_files(temporary), **dossier.facts}
        write_text(internal / "manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False), private=True)
    return target


def rebuild_report(folder: str | Path) -> tuple[Path, ...]:
    """Make the report of a saved release again, in both editions if it is published, and give their paths."""
    dossier, path = read_dossier(folder), Path(folder)
    public, internal = path / "release" / "report.html", path / "internal" / "report.html"
    if dossier.fit_to_publish:
        write_text(public, render_report(dossier, edition="public"))
    write_text(internal, render_report(dossier, edition="internal"), private=True)
    return (public, internal) if dossier.fit_to_publish else (internal,)


def check_target(target: Path, *, overwrite: bool) -> None:
    """Refuse a folder that exists, unless it holds an earlier release that may be replaced."""
    if target.exists() and not overwrite:
        raise InputError("out", f"{str(target)!r} exists already", "Choose another folder, or allow to overwrite it")
    if target.exists() and not (target / "internal" / "facts.json").is_file():
        problem = f"{str(target)!r} exists and holds no release of Molehill"
        raise InputError("out", problem, "Choose another folder: only an earlier release is overwritten")


@contextmanager
def _whole_folder(target: Path) -> Iterator[Path]:
    """Give a temporary folder beside the target; it takes the target's place once the block ends without an error."""
    target.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{target.name}.writing-"
    for left in target.parent.glob(f"{prefix}*"):
        shutil.rmtree(left)
    temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=prefix))
    try:
        yield temporary
        temporary.chmod(0o755)
        old = temporary.with_name(temporary.name + "-old")
        if target.exists():
            target.rename(old)
        temporary.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_tables(release: Release, folder: Path) -> None:
    """Write the synthetic tables, in the format of the confidential one where that can be written."""
    ending = Path(release.settings.data or "").suffix.lower()
    ending = ending if ending in (".parquet", ".dta", ".sav", ".xpt") else ".csv"
    digits = max(2, len(str(len(release.datasets))))
    for number, table in enumerate(release.datasets, start=1):
        write_table(table, folder / f"synthetic_{number:0{digits}}{ending}")


def _hash_files(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
