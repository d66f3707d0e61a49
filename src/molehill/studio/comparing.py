"""What the steps after a run show: the verdict and what it rests on, other intruders, other points, and the signing."""

import json
import stat
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.context import Context
from molehill.evaluation.criteria import read_criteria
from molehill.evaluation.options import EvaluationOptions
from molehill.evaluation.scorecard import score
from molehill.evaluation.telling import Teller
from molehill.files import write_text, written_whole
from molehill.plan.plan import take_table
from molehill.plan.pooling import pool_levels
from molehill.plan.settings import Settings
from molehill.report.dossier import Dossier, read_dossier
from molehill.report.page.first_page import judge_release, list_cards, list_remarks
from molehill.report.page.page import leads_nowhere
from molehill.report.page.pictures import Picture, list_pictures
from molehill.report.page.tables import list_group_tables
from molehill.report.trail import Verification, describe_maker, show_fingerprint, verify_release
from molehill.risk.identification import confidential_risk
from molehill.risk.intruder import read_released
from molehill.runtime import call_alone
from molehill.studio.looking import look
from molehill.studio.projects import Project
from molehill.studio.running import Run
from molehill.tables.cells import declare_missing
from molehill.tables.formats.formats import read_table
from molehill.tables.table import Table

# Tables that another intruder looks at: enough to tell, and read in a moment.
FIRST_TABLES = 5
SIGNED = "sign-off.json"
DECISIONS = ("publish", "do not publish", "publish after changes")
_SIGNING = ("name", "role", "decision", "remark")
_LONGEST_NAME, _LONGEST_REMARK = 200, 5_000
# Bytes of all signatures at most: more are not ours.
_LARGEST = 4 * 2**20


def read_run(run: Run) -> Dossier:
    """Read the evidence of a finished run."""
    manifest = run.out / "internal" / "manifest.json"
    if not manifest.exists():
        raise InputError("run", "it has not ended with a release yet", "Wait for it, or begin another")
    return _read(run.out, manifest.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _read(out: Path, _stamp: int) -> Dossier:
    try:
        return read_dossier(out)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("run", "its evidence is damaged", "Make it again, or open another") from None


def tell_result(run: Run) -> dict[str, Any]:
    """Tell the verdict on a run, its figures, what the board should look at, and its scorecard."""
    dossier = read_run(run)
    teller = Teller("internal", int(dossier.facts["records"]))
    return {
        "verdict": judge_release(dossier, teller),
        "cards": list_cards(dossier, teller),
        "remarks": list_remarks(dossier, teller),
        "scores": score(dossier.evaluation, dossier.scheme),
        "scheme": dossier.scheme,
        "published": dossier.fit_to_publish,
        "publication": dossier.publication,
    }


def tell_comparison(run: Run) -> dict[str, Any]:
    """Tell what a run found beside its verdict: points to choose from, pictures, and the groups at most risk."""
    dossier = read_run(run)
    teller = Teller("internal", int(dossier.facts["records"]))
    linked = dossier.evaluation.is_linked
    pictures = list_run_pictures(run)
    return {
        "points": list_points(dossier),
        "pictures": [picture for picture in pictures.values() if picture.section in _SHOWN and not picture.more],
        "others": [picture for picture in pictures.values() if picture.section not in _SHOWN or picture.more],
        "groups": list_group_tables(dossier, teller) if linked else [],
        "linked": linked,
        "used": dossier.settings,
    }


# Sections of a report whose figures are shown at once: pairs of columns, and every column.
_SHOWN = ("pairs", "data")


def list_run_pictures(run: Run) -> dict[str, Picture]:
    """Give the figures of a run by their names."""
    dossier = read_run(run)
    return _pictures(dossier)


@lru_cache(maxsize=2)
def _pictures(dossier: Dossier) -> dict[str, Picture]:
    return {picture.name: picture for picture in list_pictures(dossier, dossier, "internal")}


def draw_picture(run: Run, name: str) -> str:
    """Draw a figure of a run as the address of an image that holds it."""
    pictures = list_run_pictures(run)
    if name not in pictures:
        raise InputError("picture", "there is no such figure", "Choose one that is listed")
    return _draw(pictures[name])


@lru_cache(maxsize=64)
def _draw(picture: Picture) -> str:
    return picture.draw()


def list_points(dossier: Dossier) -> list[dict[str, Any]]:
    """Give the points that a search tried, each with its figures and whether settings can fix it."""
    if dossier.search is None:
        return []
    return lay_out_points(dossier.search.candidates.to_dict("records"), chosen=dossier.search.place)


def lay_out_points(points: Sequence[Mapping[Any, Any]], *, chosen: int | None = None) -> list[dict[str, Any]]:
    """Lay points out on a map of 100 by 100: risk upwards, what is lost to the right."""
    risks = [float(point["mean_expected_risk"]) for point in points]
    lost = [float(point["U_m"] or 0.0) for point in points]

    def place(value: float, values: Sequence[float]) -> float:
        low, high = min(values), max(values)
        return 50.0 if high <= low else 8 + 84 * (value - low) / (high - low)

    return [
        {
            "number": int(point["point"]),
            "scheme": point["scheme"],
            "risk": risk,
            "lost": away,
            "agreement": float(point["agreement"]),
            "met": bool(point["met"]),
            "decided": f"{point.get('decided_why', '')}",
            "chosen": chosen is not None and int(point["point"]) == chosen,
            "can_choose": not point.get("rounds") and not point.get("membership"),
            "x": round(place(away, lost), 1),
            "y": round(100 - place(risk, risks), 1),
        }
        for point, risk, away in zip(points, risks, lost, strict=True)
    ]


def settle_point(settings: Settings, run: Run, number: Any) -> Settings:
    """Give settings that fix a point of a run's search, which a run then makes without searching."""
    dossier = read_run(run)
    rows = [] if dossier.search is None else dossier.search.candidates.to_dict("records")
    found = [row for row in rows if f"{row['point']}" == f"{number}"]
    if not found:
        raise InputError("point", "there is no such point", "Choose one that is listed")
    row = found[0]
    if row["rounds"] or row["membership"]:
        raise InputError("point", "its weights were found record by record", "Set a rule that leads to it")
    changes: dict[str, Any] = {"release_criteria": ()}
    if row["leaf"]:
        changes["min_leaf_size"] = float(row["leaf"])
    if row["order"]:
        changes |= {"method": "risk_weighted", "risk_order": int(row["order"])}
        changes |= {"weight_scale": float(row["scale"]), "weight_shift": float(row["shift"])}
    return settings.but(**changes)


def tell_other_intruder(project: Project, run: Run, known: Sequence[str], radius: float) -> dict[str, Any]:
    """Tell what a release gives away to an intruder with other knowledge, or another radius."""
    dossier = read_run(run)
    settings = dossier.settings
    if settings.fully_synthetic_records is not None:
        raise InputError("run", "no record of it is anybody's", "Look at what look-alikes tell, in the report")
    if not dossier.fit_to_publish:
        raise InputError("run", "nothing was released", "Look at the report")
    kept = [name for name in settings.keep if name in known]
    # As it was when it was released: in groups, rare levels pooled.
    table = pool_levels(take_table(look(project, settings).table, settings), settings)[0]
    tables = _read_tables(run.out, (run.out / "internal" / "manifest.json").stat().st_mtime_ns)
    breaks = {name: ends for name, ends in settings.breaks.items() if name in (*kept, *settings.grouped)}
    other = settings.but(known=kept, radius=radius, breaks=breaks)
    return call_alone(_measure_other, table, tables, other)


def _measure_other(table: Table, tables: Sequence[Table], settings: Settings) -> dict[str, Any]:
    view = settings.intruder.view(table)
    context = Context(view, confidential_risk(view), read_released(view, list(tables)), EvaluationOptions())
    before, after = context.confidential, context.risk
    return {
        "patterns": int((view.sizes > 0).sum()),
        "alone": int((view.sizes == 1).sum()),
        "before": float(np.nanmean(before.risk)),
        "after": float(np.nanmean(after.realised)),
        "floor": context.baseline_risk,
        "above": int((np.nan_to_num(after.realised) > 0.5).sum()),
        "tables": len(tables),
    }


@lru_cache(maxsize=2)
def _read_tables(out: Path, _stamp: int) -> tuple[Table, ...]:
    """Read the first released tables, their records in the order of the confidential ones."""
    dossier = read_dossier(out)
    settings = dossier.settings
    rows = dossier.weights["row"].to_numpy(dtype=np.int64) - 1
    taken = []
    for path in sorted((out / "release").glob("synthetic_*"))[:FIRST_TABLES]:
        table = read_table(path)
        codes = {name: own for name, own in settings.missing_codes.items() if name in table.frame}
        table = declare_missing(table, codes) if codes else table
        frame = table.frame.iloc[rows].reset_index(drop=True)
        taken.append(Table(frame, table.column_labels, table.value_labels, table.dialect))
    return tuple(taken)


def find_report(run: Run, part: str) -> Path:
    """Give the path of a report, `internal` or `release`, of a run that is as it was written."""
    if not verify_release(run.out).holds:
        problem = "the folder is not as it was written, and its report may not be ours"
        raise InputError("run", problem, "Make it again: molehill report, or another run")
    path = run.out / part / "report.html"
    # A folder from elsewhere may be as it was written, by somebody who wrote something else.
    if not leads_nowhere(path.read_text(encoding="utf-8", errors="replace")):
        problem = "its report holds links or elements that ours have not"
        raise InputError("run", problem, "Make it again: molehill report")
    return path


def tell_signing(run: Run) -> dict[str, Any]:
    """Tell what is needed to sign a release: whether it is as it was written, its fingerprint, who has signed."""
    found: Verification = verify_release(run.out)
    return {
        "holds": found.holds,
        "problems": [f"{problem}" for problem in found.problems],
        "fingerprint": show_fingerprint(found.described),
        "files": found.files,
        "signed": read_signatures(run),
        "decisions": DECISIONS,
        "user": describe_maker()["user"],
    }


def read_signatures(run: Run) -> list[dict[str, Any]]:
    """Give who has signed a release, with the fingerprint that each of them saw."""
    path = run.out / "internal" / SIGNED
    if not path.exists():
        return []
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise ValueError
        signed = json.loads(path.read_text(encoding="utf-8"))["signed"]
        return [{name: f"{one[name]}" for name in (*_SIGNING, "at", "user", "host", "fingerprint")} for one in signed]
    except (OSError, ValueError, TypeError, KeyError):
        raise InputError("sign-off", f"{SIGNED!r} is damaged", "Move it elsewhere, and sign again") from None


def sign(run: Run, fields: Mapping[str, Any]) -> None:
    """Write down what somebody has decided on a release, with the fingerprint of what was decided on."""
    told = {name: f"{fields.get(name, '')}".strip() for name in _SIGNING}
    if not told["name"] or len(told["name"]) > _LONGEST_NAME or len(told["role"]) > _LONGEST_NAME:
        raise InputError("name", "it is empty, or too long", "Write who decides")
    if told["decision"] not in DECISIONS:
        raise InputError("decision", "none was made", f"Choose one of {', '.join(DECISIONS)}")
    if len(told["remark"]) > _LONGEST_REMARK:
        raise InputError("remark", "it is too long", f"Write at most {_LONGEST_REMARK:,} characters")
    found = verify_release(run.out)
    if not found.holds:
        raise InputError("run", "the folder is not as it was written", "Look at what has changed, and run it again")
    if not found.described and told["decision"] != DECISIONS[1]:
        raise InputError("decision", "there is nothing to publish", f"Choose {DECISIONS[1]!r}, or run it again")
    by = describe_maker()
    about = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "user": by["user"], "host": by["host"]}
    signed = [*read_signatures(run), {**told, **about, "fingerprint": found.described}]
    content = json.dumps({"signed": signed}, indent=2, ensure_ascii=False)
    write_text(run.out / "internal" / SIGNED, content, private=True)


def pack_release(run: Run) -> Path:
    """Pack what may be published into one file, and nothing else."""
    public, packed = run.out / "release", run.project.folder / f"run-{run.number}-release.zip"
    if not public.is_dir():
        raise InputError("run", "there is nothing to publish", "Look at the report")
    if not verify_release(run.out).holds:
        raise InputError("run", "the folder is not as it was written", "Run it again before anything is published")
    with (
        written_whole(packed, private=True) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as file,
    ):
        for path in sorted(public.iterdir()):
            if path.is_file() and not path.is_symlink():
                # A fixed time: when it was packed is nobody's business.
                entry = zipfile.ZipInfo(f"release/{path.name}", (1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                file.writestr(entry, path.read_bytes())
    return packed


# Release criteria to choose from: as they are written, a bound to begin with, and what they mean.
OFFERED = tuple(
    (f"{statistic} {words.text}".strip(), bound, meaning)
    for measure in MEASURES
    for words in measure.criteria
    for statistic, bound, meaning in words.offers
)


def list_rules(settings: Settings) -> list[dict[str, Any]]:
    """Give the rules of settings, each with its words and its bound, for the sliders."""
    told = []
    for text in settings.release_criteria:
        target = read_criteria(text)[0]
        meaning = next((own for rule, _, own in OFFERED if rule == target.words), "a rule of your own words")
        about = {"text": text, "words": target.words, "meaning": meaning, "bound": target.bound}
        most = 1.0 if target.is_share else max(100.0, 2 * target.bound)
        told.append({**about, "most": most, "higher": target.sign == ">="})
    return told
