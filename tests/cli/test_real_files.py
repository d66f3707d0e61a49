"""Files as the world writes them, walked from `init` to a saved release by the commands of the README alone."""

import datetime
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from drawing import in_words  # noqa: F401
from molehill import Table, read_settings, read_table, write_table
from molehill.plan.settings import write_settings
from molehill.release import release as saving
from molehill.report.page.page import render_report
from processes import run_command

README = Path(__file__).parents[2] / "README.md"
N = 160
REGIONS = {1: "North <b>", 2: 'the "South"', 3: "West"}
EDUCATION = {1: "low", 2: "middle", 3: "high"}
# Why somebody gave no answer: the label of a code that is missing.
REASON = "no answer, in prison"
ABSENT = np.arange(N) % 16 == 5


def people() -> pd.DataFrame:
    random = np.random.default_rng(11)
    first = datetime.date(1931, 5, 1)
    days = random.choice(25_000, N, replace=False)
    words = ["moved", "house", "after", "winter", "lost", "keys", "likes", "rain", "twice", "never", "old", "bridge"]
    return pd.DataFrame(
        {
            "person": random.choice(10**7, N, replace=False) + 61_000_000,
            "born": [first + datetime.timedelta(days=int(day)) for day in days],
            "age": random.integers(18, 90, N),
            "sex": random.choice(["f", "m"], N),
            "region": random.integers(1, 4, N),
            "education": random.integers(1, 4, N),
            "illness": random.choice(["none", "chronic"], N),
            "remark": [f"{' '.join(random.choice(words, 6))} {number}" for number in range(N)],
            "income": np.exp(random.normal(7.8, 0.4, N)).round(2),
        }
    )


def write_spss(frame: Any, path: Path) -> None:
    coded = frame.assign(income=frame["income"].mask(ABSENT, -9), education=frame["education"].mask(ABSENT, 9))
    labels: Any = {"region": REGIONS, "education": {**EDUCATION, 9: REASON}, "income": {-9: REASON}}
    declared: Any = {"income": [-9], "education": [9]}
    pyreadstat.write_sav(coded, str(path), missing_ranges=declared, variable_value_labels=labels)


def write_stata(frame: Any, path: Path) -> None:
    tagged = {name: frame[name].astype(object).mask(ABSENT, "a") for name in ("income", "education")}
    labels: Any = {"region": REGIONS, "education": {**EDUCATION, "a": REASON}}
    kinds: Any = {"income": ["a"], "education": ["a"]}
    # A fraction beside a tag is text to pyreadstat: whole numbers only.
    tagged["income"] = frame["income"].round().astype(int).astype(object).mask(ABSENT, "a")
    pyreadstat.write_dta(
        frame.assign(**tagged), str(path), missing_user_values=kinds, variable_value_labels=labels, version=15
    )


def written_out(frame: pd.DataFrame) -> pd.DataFrame:
    """The table for files that have no labels."""
    return frame.assign(
        region=frame["region"].map(REGIONS),
        education=frame["education"].map(EDUCATION).mask(ABSENT),
        born=pd.to_datetime(frame["born"]),
    )


def write_workbook(frame: pd.DataFrame, path: Path) -> None:
    table = written_out(frame)
    write_table(table.assign(income=table["income"].mask(ABSENT)), path.with_suffix(".xlsx"))
    path.with_suffix(".xlsx").rename(path)


def write_semicolons(frame: pd.DataFrame, path: Path) -> None:
    table = written_out(frame)
    income = table["income"].map(lambda pay: f"{pay:,.2f}".translate(str.maketrans(",.", ".,"))).mask(ABSENT, "k.A.")
    table = table.assign(income=income, born=table["born"].dt.strftime("%d.%m.%Y"))
    table.to_csv(path, sep=";", index=False, encoding="cp1252")


FILES = {".sav": write_spss, ".dta": write_stata, ".xlsm": write_workbook, ".csv": write_semicolons}
RELEASED = {".xlsm": ".xlsx"}


def commands(name: str) -> list[list[str]]:
    """The commands of the README that release one's own file."""
    section = README.read_text(encoding="utf-8").split("## Release your own file", 1)[1]
    lines = re.findall(r"(?m)^    (molehill .*)$", section.split("```", 1)[0])
    words = [shlex.split(line.replace("survey.sav", name), comments=True)[1:] for line in lines]
    # Of so few people some are matched.
    return [[*one, *(["--release-anyway"] if one[0] == "run" else [])] for one in words]


def answer(settings: Path) -> None:
    """Decide otherwise where that is sensible, look the limits up, and keep the fit cheap."""
    text = settings.read_text(encoding="utf-8")
    assert re.findall(r'(?m)^(\w+) = "(?:undecided|synthesize)"', text) == ["illness", "education"]
    text = re.sub(r'(?m)^(illness|education) = "synthesize"', r'\1 = "keep"', text).replace(", grouped = true", "")
    text, limits = re.subn(r"lower = [\d.]+, upper = [\d.]+", "lower = 0.0, upper = 60000.0", text)
    assert limits == 1
    settings.write_text(text, encoding="utf-8")
    cheap: Any = {"datasets": 2, "compare": [], "expected_risk_draws": 0, "attacks": "none", "min_leaf_size": 20}
    write_settings(read_settings(settings, **cheap), settings)


def released_text(path: Path) -> str:
    """All that a published file says, unpacked and as text."""
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as archive:
            packed = "\n".join(archive.read(part).decode("utf-8") for part in archive.namelist())
    else:
        packed = path.read_bytes().decode("latin-1")
    if path.name.startswith("synthetic"):
        table = read_table(path)
        packed += table.frame.astype(object).to_csv(index=False) + str(dict(table.value_labels))
    return packed


@pytest.mark.parametrize(
    "ending", [pytest.param(end, marks=() if end == ".csv" else pytest.mark.slow) for end in FILES]
)
@pytest.mark.usefixtures("in_words")
def test_a_new_user_gets_from_a_file_to_a_release(tmp_path, monkeypatch, ending):
    # Made again by the last command but one, a report has the same bytes, as tests/release/test_runs.py shows.
    pages: dict[str, str] = {}

    def render_once(dossier: Any, *, edition: Any, **how: Any) -> str:
        if edition not in pages:
            pages[edition] = render_report(dossier, edition=edition, **how)
        return pages[edition]

    monkeypatch.setattr(saving, "render_report", render_once)
    confidential = people()
    FILES[ending](confidential, tmp_path / f"people{ending}")
    init, *others = commands(f"people{ending}")
    said = []
    for command in (init, *others):
        done = run_command(*command, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout + done.stderr)
        if command is init:
            answer(tmp_path / "settings.toml")
    for column, reason in {"person": "may name people", "born": "exact dates", "remark": "free text"}.items():
        assert re.search(rf"drop +{column}: .*{reason}", said[0]), column
    assert "1 replaced, 5 published as collected, 3 dropped" in said[1]
    assert "Traceback" not in "".join(said)
    out = tmp_path / "survey-release"
    made = sorted((out / "release").iterdir())
    wanted = RELEASED.get(ending, ending)
    assert {path.name for path in made} == {
        "methods.md",
        "report.html",
        f"synthetic_01{wanted}",
        f"synthetic_02{wanted}",
    }
    check_released(confidential, read_table(out / "release" / f"synthetic_01{wanted}"), ending)
    if ending == ".csv":
        check_code(out / "release")
    days = pd.to_datetime(confidential["born"])
    secrets = [*confidential["person"].astype(str), *confidential["remark"], REASON]
    secrets += [*days.dt.strftime("%Y-%m-%d"), *days.dt.strftime("%d.%m.%Y"), *days.dt.strftime("%m/%d/%Y")]
    for text in [*said, *map(released_text, made)]:
        assert not [secret for secret in secrets if secret in text]


def check_code(folder: Path) -> None:
    """The Python of the methods note reads the published files, thousands marks and all, with no dialect found out."""
    (code,) = re.findall(r"```python\n(.*?)```", (folder / "methods.md").read_text(encoding="utf-8"), re.DOTALL)
    ran = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    means = [read_table(path).frame["income"].mean() for path in sorted(folder.glob("synthetic_*"))]
    assert float(re.findall(r"\d+\.\d*", ran.stdout)[0]) == pytest.approx(np.mean(means), rel=1e-6)


def check_released(confidential: pd.DataFrame, released: Table, ending: str) -> None:
    frame = released.frame
    assert list(frame.columns) == ["age", "sex", "region", "education", "illness", "income"]
    assert len(frame) == N
    # The records stand in another order, the same people all the same.
    assert sorted(frame["age"]) == sorted(confidential["age"])
    assert frame["education"].isna().sum() == ABSENT.sum()
    # Which incomes are missing is drawn anew: about as many.
    assert 0 < frame["income"].isna().sum() < 3 * ABSENT.sum()
    pay = frame["income"].dropna().astype(float)
    assert pay.between(0, 60_000).all()
    unit = 1 if ending == ".dta" else 0.01
    assert np.allclose(pay / unit, (pay / unit).round())
    assert len({*pay} & {*confidential["income"], *confidential["income"].round()}) < N / 4
    if ending in (".sav", ".dta"):
        assert dict(released.value_labels) == {"region": REGIONS, "education": EDUCATION}
    else:
        assert {*frame["region"]} == {*REGIONS.values()}
        assert {*frame["education"].dropna()} == {*EDUCATION.values()}
    if ending == ".csv":
        assert released.dialect is not None
        assert (released.dialect.separator, released.dialect.decimal) == (";", ",")
        assert released.dialect.encoding in ("cp1252", "utf-8")
