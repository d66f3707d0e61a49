"""The evidence on a release: all that the report needs, so that it can be made again without fitting."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from molehill.errors import InputError
from molehill.evaluation import Evaluation
from molehill.files import write_text
from molehill.release import Release
from molehill.searched import Searched, read_searched, write_searched
from molehill.settings import Settings, read_settings, write_settings
from molehill.table import read_table, write_table

EVALUATION = ("risk", "utility", "groups", "top", "records")
VERSIONS = ("molehill", "numpy", "pandas", "jax", "numpyro", "blackjax", "numba")


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
        record, value, risk, weight, and by_prior, the chance of prior membership, where a search chose it: one row a
        record. Not for publication.
    fits
        scheme, converged, problems, sweeps, effective_size, largest_rhat, divergent, seconds: one row a fitted scheme.
    diagnostics
        scheme, functional, mean, sd, rhat, bulk, tail, error.
    policies
        How many records each edge policy touched.
    facts
        records, patterns, tables, share of predictive mass outside the support, versions, when it was made, seconds
        by stage.
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
    def fit_to_publish(self) -> bool:
        """Whether there is something to publish: always, unless a search found nothing that is."""
        return self.search is None or self.search.fit_to_publish


def make_dossier(release: Release) -> Dossier:
    """Gather the evidence on a release."""
    fits, tables = [], []
    for scheme, diagnostics in release.diagnostics.items():
        table = diagnostics.table
        fits.append(
            {
                "scheme": scheme,
                "converged": not diagnostics.problems,
                "problems": "; ".join(diagnostics.problems),
                "sweeps": diagnostics.sweeps,
                "effective_size": diagnostics.effective_size,
                "largest_rhat": float(table["rhat"].max()),
                "divergent": diagnostics.divergent,
                "seconds": release.seconds.get(f"fitting: {scheme}", float("nan")),
            }
        )
        tables.append(table.rename_axis("functional").reset_index().assign(scheme=scheme))
    column = release.posterior.table.frame[release.settings.sensitive]
    weights = pd.DataFrame(
        {
            "record": np.arange(1, len(column) + 1),
            "value": column.to_numpy(),
            "risk": release.risk.risk,
            "weight": release.weights,
        }
    )
    if release.by_prior is not None:
        weights["by_prior"] = release.by_prior
    facts = {
        "records": len(column),
        "patterns": release.risk.patterns.number,
        "tables": len(release.datasets),
        "outside": release.posterior.outside,
        "kind": release.risk.schema[release.settings.sensitive].kind,
        "reason": release.risk.schema[release.settings.sensitive].reason,
        "versions": {name: version(name) for name in VERSIONS},
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": dict(release.seconds),
    }
    return Dossier(
        release.settings,
        release.scheme,
        release.evaluation,
        weights,
        pd.DataFrame(fits),
        pd.concat(tables, ignore_index=True),
        dict(release.risk.policies),
        facts,
        release.search,
    )


def write_dossier(dossier: Dossier, folder: Path) -> None:
    """Write the evidence into a folder that is there, every file for its owner only."""
    write_settings(dossier.settings, folder / "settings.toml", notes=settings_notes(dossier))
    dossier.evaluation.save(folder / "evaluation", ending="parquet")
    for name in ("weights", "fits", "diagnostics"):
        write_table(getattr(dossier, name), folder / f"{name}.parquet", private=True)
    content = {"scheme": dossier.scheme, "policies": dict(dossier.policies), "facts": dict(dossier.facts)}
    write_text(folder / "facts.json", json.dumps(content, indent=2, ensure_ascii=False), private=True)
    if dossier.search is not None:
        write_searched(dossier.search, folder)


def settings_notes(dossier: Dossier) -> dict[str, str]:
    """Give what the settings file of a release says beside its settings."""
    return {} if dossier.search is None else {"targets": dossier.search.note}


def read_dossier(folder: str | Path) -> Dossier:
    """Read the evidence of a saved release, from its folder or from `internal/` in it."""
    path = Path(folder)
    path = path / "internal" if (path / "internal").is_dir() else path
    if not (path / "facts.json").is_file():
        raise InputError("folder", f"{str(folder)!r} holds no saved release", "Give the folder that `run` wrote")
    content = json.loads((path / "facts.json").read_text(encoding="utf-8"))
    frames = {name: _read_frame(path / "evaluation" / f"{name}.parquet") for name in EVALUATION}
    rest = {name: _read_frame(path / f"{name}.parquet") for name in ("weights", "fits", "diagnostics")}
    settings = read_settings(path / "settings.toml")
    return Dossier(
        settings,
        content["scheme"],
        Evaluation(**frames),
        rest["weights"],
        rest["fits"],
        rest["diagnostics"],
        content["policies"],
        content["facts"],
        read_searched(path),
    )


def _read_frame(path: Path) -> pd.DataFrame:
    return read_table(path).frame if path.exists() else pd.DataFrame()
