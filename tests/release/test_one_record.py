"""No single person switches anything: pairs of files that differ in one record, from the command line to `release/`."""

import datetime
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from drawing import in_words, without_drawings  # noqa: F401
from molehill import Settings, Table, read_table, write_table
from molehill.plan.settings import write_settings
from molehill.tables.resolution import column_unit
from processes import run_command

N = 240
LIMITS = {
    "lower": {"pay": -1e6, "hired": datetime.date(1900, 1, 1)},
    "upper": {"pay": 1e7, "hired": datetime.date(2100, 1, 1)},
}
# The job, pay and first day of a record that has what nobody else has.
ODD = ("bishop", -12_345.67, datetime.datetime(1903, 5, 7))


def people() -> pd.DataFrame:
    random = np.random.default_rng(4)
    days = pd.Timestamp("2001-01-01") + pd.to_timedelta(random.integers(0, 3000, N), unit="D")
    return pd.DataFrame(
        {
            "town": random.choice(["A", "B"], N),
            "job": random.choice(["clerk", "nurse", "smith"], N),
            "pay": 100 * np.maximum(np.rint(random.lognormal(3.5, 0.5, N)), 1).astype(int),
            "hired": days,
        }
    )


def released(folder: Path, name: str, table: Table, ending: str, **changes: Any) -> Path:
    write_table(table, folder / f"{name}{ending}")
    names = [column for column in table.frame.columns if column != "town"]
    few: Any = {
        "datasets": 2,
        "compare": [],
        "expected_risk_draws": 0,
        "attacks": "none",
        "min_leaf_size": 25.0,
        "seed": 11,
    }
    about: Any = {"synthesize": names, "keep": ["town"], "known": ["town"]} | few | changes
    write_settings(Settings(data=f"{folder / name}{ending}", **about), folder / f"{name}.toml")
    done = run_command("run", folder / f"{name}.toml", "--out", folder / name)
    assert done.returncode == 0, done.stderr
    return folder / name / "release"


def in_kind(release: Path) -> dict[str, Any]:
    """What is released but for its numbers: files, columns, types, levels, units, and all words."""
    tables = [read_table(path) for path in sorted(release.glob("synthetic*"))]
    frame = pd.concat([table.frame for table in tables], ignore_index=True)
    html = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", (release / "report.html").read_text(), flags=re.DOTALL)
    words = [(release / "methods.md").read_text(), html]
    return {
        "files": sorted(path.name for path in release.iterdir()),
        "types": frame.dtypes.astype(str).to_dict(),
        "labels": [(table.column_labels, table.value_labels) for table in tables],
        "levels": {name: set(frame[name]) for name in ("town", "job")},
        "unit": column_unit(frame["pay"]),
        "negative": bool((frame["pay"] < 0).any()),
        "words": [re.sub(r"\s+", " ", re.sub(r"-?\d[\d,.]*", "#", text)) for text in words],
    }


@pytest.mark.usefixtures("in_words")
def test_one_odd_record_changes_nothing_in_kind(tmp_path):
    frame = people()
    odd = frame.astype({"pay": float})
    odd.loc[77, ["job", "pay", "hired"]] = ODD
    without, with_it = (
        released(tmp_path, name, Table(each), ".csv", **LIMITS) for name, each in (("without", frame), ("odd", odd))
    )
    assert in_kind(with_it) == in_kind(without)
    for path in with_it.iterdir():
        assert b"bishop" not in path.read_bytes(), path
    rows = "".join(path.read_text() for path in with_it.glob("synthetic*"))
    assert not [word for word in ("12345", "1903-") if word in rows]
    # As far apart as without that record: it lies a hundred years before all others.
    spans = [np.ptp(read_table(release / "synthetic_01.csv").frame["hired"]) for release in (without, with_it)]
    assert spans[1] / spans[0] < 1.5


@pytest.mark.usefixtures("in_words")
@pytest.mark.parametrize(("ending", "records"), [(".sav", 1), (".parquet", 4)])
def test_a_level_of_few_people_is_not_published_nor_is_its_label(ending, records, tmp_path):
    frame = people()[["town", "job"]]
    frame.loc[77 : 76 + records, "job"] = "bishop"
    names = {1: "clerk", 2: "nurse", 3: "smith", 4: "bishop", 5: "pope"}
    if ending == ".sav":
        codes = {name: code for code, name in names.items()}
        table = Table(frame.assign(job=frame["job"].map(codes)), {}, {"job": {**names}})
    else:
        table = Table(frame.assign(job=pd.Categorical(frame["job"], list(names.values()))))
    release = released(tmp_path, "people", table, ending)
    for path in release.iterdir():
        text = path.read_bytes()
        # "Pope" is a level that nobody has.
        assert not [word for word in (b"bishop", b"pope") if word in text], path
    made = read_table(release / f"synthetic_01{ending}")
    assert made.frame["job"].nunique() == 3
    if ending == ".sav":
        assert dict(made.value_labels["job"]) == {1: "clerk", 2: "nurse", 3: "smith"}
    assert "Levels of `job` that fewer than 5 records have are pooled" in (release / "methods.md").read_text()
