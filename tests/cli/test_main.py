import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import molehill
from drawing import in_words, said_in_words  # noqa: F401
from modes import is_private
from molehill import Table, read_table, write_table
from molehill.cli import entry
from molehill.cli import main as cli
from molehill.plan.settings import write_settings
from molehill.release import release as saving
from molehill.tables.formats import csv
from molehill.tables.populations import consumer_survey
from processes import run_command
from small_release import make_release

SURVEY = ["--known", "gender,age,region", "--sensitive", "income", "--radius", "0.2"]


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    path = tmp_path_factory.mktemp("survey") / "survey.csv"
    molehill.write_table(consumer_survey(), path)
    return path


def test_version_and_help():
    assert run_command("--version").stdout.strip() == f"molehill {molehill.__version__}"
    for arguments in (
        ["--help"],
        *([name, "--help"] for name in ("risk", "evaluate", "init", "plan", "run", "report", "verify", "demo")),
    ):
        shown = run_command(*arguments)
        assert shown.returncode == 0
        assert "Usage" in shown.stdout
    said = " ".join(run_command("--help").stdout.split())
    assert "Exit codes" in said
    assert "4 verification failed" in said
    # The help of what makes a release is made from the settings.
    told = " ".join(run_command("run", "--help").stdout.split())
    for name in molehill.Settings.model_fields:
        assert f"{name} {molehill.Settings.describe(name)['comment']}" in told


def test_help_waits_for_nothing():
    code = (
        "import sys; sys.argv = ['molehill', '--help']\n"
        "from molehill.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'pandas', 'jax', 'numba', 'altair', 'pydantic'} & set(sys.modules); print(sorted(heavy))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()[-1] == "[]"


def test_a_setting_on_the_line_takes_the_place_of_the_files(tmp_path):
    (tmp_path / "settings.toml").write_text('[columns]\na = "synthesize"\n[intruder]\nknown = ["b"]\n')
    wrong = run_command("run", tmp_path / "settings.toml", "--set", "radius=7", "--set", "risk_ordr=1")
    assert wrong.returncode == 2
    assert "2 problems" in wrong.stderr
    assert "Did you mean 'risk_order'" in wrong.stderr
    assert "NAME=VALUE" in run_command("run", tmp_path / "settings.toml", "--set", "radius").stderr


def test_risk_prints_a_summary_without_values_or_records(survey):
    done = run_command("risk", survey, *SURVEY, "--order", 2)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "Identification risk of order 2: 6,208 records, 40 patterns of gender, age, region" in done.stdout
    for words in ("records above 0.5", "records above 0.95", "riskiest patterns", "maximum", "negative value"):
        assert words in done.stdout
    table = pd.read_csv(survey)
    unusual = table["income"][table["income"] % 100 != 0].drop_duplicates()
    words = set(done.stdout.replace(",", "").split())
    assert not words & {str(value) for value in unusual if abs(value) > 6208}


def test_risk_as_json_agrees_with_the_library(survey):
    done = run_command("risk", survey, *SURVEY, "--json")
    summary = json.loads(done.stdout)
    intruder = molehill.Intruder(known=["gender", "age", "region"], sensitive="income", radius=0.2)
    result = molehill.confidential_risk(molehill.read_table(survey), intruder)
    assert summary["distribution"]["mean"] == pytest.approx(result.risk.mean(), abs=1e-12)
    assert summary["above"][2]["records"] == int((result.risk > 0.95).sum())
    assert summary["records"] == 6208
    assert len(summary["riskiest_patterns"]) == 10


def test_record_level_results_only_when_asked_and_for_the_owner(survey, tmp_path):
    out, chart = tmp_path / "records.csv", tmp_path / "risk.svg"
    done = run_command("risk", survey, *SURVEY, "--out", out, "--chart", chart)
    assert done.returncode == 0, done.stderr
    records = pd.read_csv(out)
    assert list(records) == ["record", "risk", "weight", "pattern_size", "within"]
    assert len(records) == 6208
    assert (records["risk"] + records["weight"]).round(12).eq(1).all()
    assert is_private(out)
    assert is_private(chart)
    again = run_command("risk", survey, *SURVEY, "--out", out)
    assert again.returncode == 2
    assert "out:" in again.stderr
    assert "--overwrite" in again.stderr
    assert run_command("risk", survey, *SURVEY, "--out", out, "--overwrite").returncode == 0


def test_output_is_plain_when_piped_and_without_colour(survey):
    assert "\x1b" not in run_command("risk", survey, *SURVEY).stdout
    assert "\x1b" not in run_command("risk", survey, *SURVEY, NO_COLOR="1", FORCE_COLOR="").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["none.csv", *SURVEY], 2, "none.csv"),
        (["--known", "gender", "--sensitive", "income", "--radius", "0.2"], 2, "Missing argument"),
        ("known", 2, "Did you mean 'gender'"),
        ("radius", 2, "radius: it is 20, but must lie between 0 and 1"),
        ("kind", 2, "kind: 'income' is not of the form"),
        ("breaks", 2, "breaks: those of 'age' are not numbers"),
    ],
)
def test_bad_input_gets_one_clear_line_and_exit_code_2(survey, arguments, code, words):
    changed = {
        "known": [survey, "--known", "gnder", *SURVEY[2:]],
        "radius": [survey, *SURVEY[:-1], "20"],
        "kind": [survey, *SURVEY, "--kind", "income"],
        "breaks": [survey, *SURVEY, "--breaks", "age=x,y"],
    }
    done = run_command("risk", *(changed[arguments] if isinstance(arguments, str) else arguments))
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_names_with_commas_and_markup_are_taken_whole(tmp_path):
    path = tmp_path / "odd.csv"
    frame = pd.DataFrame({"age, in years": [30, 30, 40, 40], "[red]pay": [1.5, 2.5, 3.5, 9.5]})
    molehill.write_table(frame, path)
    done = run_command("risk", path, "--known", "age, in years", "--sensitive", "[red]pay", "--radius", "0.2")
    assert done.returncode == 0, done.stderr
    assert "[red]pay" in done.stdout
    grouped = run_command(
        *("risk", path, "--known", "age, in years", "--breaks", "age, in years=35"),
        *("--sensitive", "[red]pay", "--radius", "0.2", "--kind", "[red]pay=continuous"),
    )
    assert "35 and over" in grouped.stdout


@pytest.mark.posix
def test_a_full_disk_is_told_in_one_line(survey, tmp_path):
    import resource  # noqa: PLC0415

    # A process that may write 1,000 bytes to a file meets the same error as a full disk.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        done = run_command("risk", survey, *SURVEY, "--out", tmp_path / "records.csv")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["Error: the system refused: File too large"]
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_ends_with_130_and_leaves_nothing_in_part(survey, tmp_path, monkeypatch):
    monkeypatch.setattr(entry, "_ASKED", [])
    monkeypatch.setattr(csv, "_as_written", lambda *_: signal.raise_signal(signal.SIGINT))
    done = run_command("risk", survey, *SURVEY, "--out", tmp_path / "records.csv")
    assert done.returncode == 130
    assert done.stderr.splitlines() == ["Error: interrupted; no file was written in part"]
    assert list(tmp_path.iterdir()) == []


def test_demo_releases_the_survey(tmp_path, monkeypatch):
    called = []
    monkeypatch.setattr(molehill, "run", lambda *given, **how: called.append((given, how)))
    monkeypatch.setattr(cli, "_report_release", lambda *_, **__: None)
    done = run_command("demo", "--out", tmp_path / "demo", "--overwrite")
    assert done.returncode == 0, done.stderr
    (((data, settings, out), how),) = called
    assert (len(data), settings.synthesize, settings.known) == (
        2000,
        ("education", "income"),
        ("gender", "age", "region"),
    )
    assert (Path(out), how["overwrite"]) == (tmp_path / "demo", True)


# Anybody's files.


@pytest.mark.usefixtures("in_words")
def test_a_correct_release_of_a_heavy_tailed_variable_has_no_objection(tmp_path):
    # The standard deviations are 4.4 times the confidential one on average, and a value lies 32 times as far out.
    random = np.random.default_rng(15)
    town = random.choice(["A", "B", "C"], 1000)
    people, *tables = (pd.DataFrame({"town": town, "pay": random.lognormal(8, 2, 1000).round(2)}) for _ in range(6))
    files = [tmp_path / f"{number}.csv" for number in range(6)]
    for path, table in zip(files, (people, *tables), strict=True):
        table.to_csv(path, index=False)
    known = ["--known", "town", "--sensitive", "pay", "--radius", "0.2"]
    told = " ".join(run_command("evaluate", *files, *known).stdout.split())
    assert told.startswith("released: No objection")
    assert re.search(r"consistency: Green: .* 3[12][.\d]* \(correct releases show [\d.]+ to [\d.]+\)", told)
    assert re.search(r"utility: Green: .* 4[.]4\d* \(correct releases show [\d.]+ to [\d.]+\)", told)
    # The same release with one value that nobody would believe.
    tables[2].loc[5, "pay"] = 1000 * people["pay"].max()
    tables[2].to_csv(files[3], index=False)
    told = " ".join(run_command("evaluate", *files, *known).stdout.split())
    assert told.startswith("released: Do not release, because")
    assert re.search(r"the largest pay lies 1,\d{3} times as far out", told)


@pytest.mark.usefixtures("in_words")
def test_evaluate_tells_what_anybodys_files_give_away(tmp_path):
    people = pd.DataFrame({"town": ["A"] * 60 + ["B"] * 60, "pay": np.arange(120.0) ** 2 + 5})
    people.to_csv(tmp_path / "people.csv", index=False)
    for number in (1, 2):
        people.assign(pay=people["pay"] * (1 + number / 100)).to_csv(tmp_path / f"made_{number}.csv", index=False)
    people.assign(pay=people["pay"].clip(upper=9000)).to_csv(tmp_path / "top.csv", index=False)
    files = [tmp_path / "people.csv", tmp_path / "made_1.csv", tmp_path / "made_2.csv"]
    known = [
        "--known",
        "town",
        "--sensitive",
        "pay",
        "--radius",
        "0.1",
        "--compare",
        f"topcoded={tmp_path / 'top.csv'}",
    ]
    page = tmp_path / "page.html"
    written = ["--regression", "pay ~ town", "--out", tmp_path / "out", "--report", page]
    done = run_command("evaluate", *files, *known, *written)
    assert done.returncode == 0, done.stderr
    assert "mean risk" in done.stdout
    assert "topcoded" in done.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"risk.csv", "utility.csv", "records.csv"}
    assert is_private(page)
    html = page.read_text(encoding="utf-8")
    assert "town[B] in pay ~ town" in html
    assert "<strong>Do not release</strong>, because" in html
    assert run_command("evaluate", *files, *known, "--out", tmp_path / "out").returncode == 2
    assert run_command("evaluate", *files, *known, "--report", page).returncode == 2
    assert (
        "there is no variable 'village'"
        in run_command("evaluate", *files, *known, "--regression", "pay ~ village").stderr
    )
    bounds = ["--threshold", "matches_true=0.0123,never", "--threshold", "closest_records=off"]
    held = ["--control", files[0], "--skip", "singling_out", "--skip", "linkability"]
    content = json.loads(run_command("evaluate", *files, *known, *bounds, *held, "--json").stdout)
    identity = next(one for one in content["scorecard"] if one["family"] == "identity")
    own = "amber from 0.0123, never red (set by the agency; ours: amber from 0.01, red from 0.05)"
    assert sum(own in rule for rule in identity["rules"]) == 1
    assert {row["scheme"] for row in content["risk"]} == {"confidential", "released", "topcoded"}
    told = {row["measure"] for row in content["risk"]}
    assert "inference_control" in told
    assert not told & {"singling_out", "singling_out_risk", "linkability"}
    refused = run_command("evaluate", *files, *known, "--skip", "singling")
    assert "Did you mean 'singling_out'" in refused.stderr
    wrong = run_command("evaluate", *files, *known[:-1], "topcoded")
    assert wrong.returncode == 2
    assert "NAME=" in wrong.stderr


def test_cells_can_be_declared_missing_on_the_line(tmp_path):
    random = np.random.default_rng(1)
    pay = np.exp(random.normal(7, 1, 120)).round(2).astype(str).astype(object)
    age = random.integers(20, 60, 120).astype(str).astype(object)
    pay[[5, 9]], pay[11], age[7] = "N", "refused", "N"
    people = pd.DataFrame({"town": ["A", "B"] * 60, "age": age, "pay": pay})
    people.to_csv(tmp_path / "people.csv", index=False)
    people.drop(columns="age").to_csv(tmp_path / "made.csv", index=False)
    call = [
        tmp_path / "people.csv",
        "--known",
        "town",
        "--sensitive",
        "pay",
        "--radius",
        "0.1",
        "--missing-values",
        "keep",
    ]
    against = ["--compare", f"other={tmp_path / 'made.csv'}"]
    wrong = run_command("evaluate", call[0], tmp_path / "made.csv", *call[1:], *against)
    assert wrong.returncode == 2
    assert "--missing-codes pay=CODE" in wrong.stderr
    codes = ["--missing-codes", "pay=N", "--missing-codes", "pay=refused", "--missing-codes", "age=N"]
    done = run_command("evaluate", call[0], tmp_path / "made.csv", *call[1:], *against, *codes, "--json")
    assert done.returncode == 0, done.stderr
    assert {row["scheme"] for row in json.loads(done.stdout)["risk"]} == {"confidential", "released", "other"}
    assert run_command("risk", *call, *codes).returncode == 0
    assert "'wage'" in run_command("risk", *call, "--missing-codes", "wage=N").stderr
    assert "NAME=CODE" in run_command("risk", *call, "--missing-codes", "N").stderr


def test_init_tells_of_a_column_without_a_name(tmp_path):
    consumer_survey(n=60, seed=1).to_csv(tmp_path / "people.csv")
    told = run_command("init", tmp_path / "people.csv", "--out", tmp_path / "settings.toml").stderr
    assert "column 1 has no name" in told


# A new user: from a file of their own to a saved release.


PLANTED = 8273


def labelled_people() -> Table:
    random = np.random.default_rng(2)
    visits = pd.array(random.negative_binomial(4, 0.05, 150), dtype="Int64")
    visits[3] = pd.NA
    visits[8] = PLANTED
    frame = pd.DataFrame(
        {
            "id": np.arange(1000, 1150),
            "region": random.integers(1, 4, 150),
            "sex": random.choice(["f", "m"], 150),
            "visits": visits,
        }
    )
    labels: dict[float | str, str] = {1: "North <b>", 2: 'the "South"', 3: "\u897f"}
    return Table(frame, {"visits": "Visits to a doctor"}, {"region": labels})


@pytest.mark.usefixtures("in_words")
def test_a_count_goes_from_init_to_a_release(tmp_path, monkeypatch):
    people, ending = labelled_people(), ".sav"
    write_table(people, tmp_path / f"people{ending}")
    settings = tmp_path / "settings.toml"
    made = run_command("init", tmp_path / f"people{ending}", "--out", settings)
    assert made.returncode == 0, made.stderr
    assert "synthesize visits: count" in made.stdout
    assert "drop       id: may name people: numbers that count up" in made.stdout
    assert "The intruder may know sex, region: 6 patterns" in made.stdout
    text = settings.read_text()
    assert 'id = "drop" # may name people: numbers that count up' in text
    assert 'visits = {release = "synthesize", lower = 0.0, upper = 20000.0}' in text
    assert 'missing_values = "model"' in text
    fast: Any = {"datasets": 2, "compare": ["topcoding"], "min_leaf_size": 20, "attacks": "none"}
    write_settings(molehill.read_settings(settings, **fast, expected_risk_draws=0), settings)
    out = tmp_path / "out"
    planned = run_command("plan", settings)
    assert planned.returncode == 0, planned.stderr
    assert "1 replaced, 2 published as collected, 1 dropped" in planned.stdout
    asked = ["--set", "seed=5", "--set", "shuffle=false", "--json", "--release-anyway"]
    done = run_command("run", settings, "--out", out, *asked)
    assert done.returncode == 0, done.stderr
    assert planned.stdout.partition("\n\n")[0] in done.stderr
    assert json.loads(done.stdout)["scheme"] == "unweighted"
    assert "search" not in json.loads(done.stdout)
    assert "5" not in re.findall(r"seed\D+(\d+)", done.stdout + done.stderr)
    for text in (made.stdout, made.stderr, done.stdout, done.stderr, settings.read_text()):
        # Not within the many digits of another number.
        assert not re.search(rf"(?<![\d.]){PLANTED}(?!\d)", text.replace(",", ""))
    for path in (out / "release").iterdir():
        assert str(PLANTED).encode() not in path.read_bytes().replace(b",", b""), path
    released = read_table(out / "release" / f"synthetic_01{ending}")
    assert list(released.frame.columns) == ["region", "sex", "visits"]
    # Which are missing is drawn anew: about as many.
    assert released.frame["visits"].isna().sum() <= 4 * people.frame["visits"].isna().sum()
    assert released.frame["region"].tolist() == people.frame["region"].tolist()
    assert dict(released.value_labels["region"]) == dict(people.value_labels["region"])
    assert released.column_labels["visits"] == "Visits to a doctor"
    again = run_command("run", settings, "--out", out)
    assert again.returncode == 2
    assert "exists already" in again.stderr
    monkeypatch.setattr(saving, "render_report", lambda *_, **__: "made again")
    assert run_command("report", out).returncode == 0
    assert (out / "release" / "report.html").read_text() == "made again"


def test_run_tells_every_problem_of_the_settings(tmp_path):
    (tmp_path / "settings.toml").write_text(
        '[columns]\na = "synthesize"\n[intruder]\nknown = ["b"]\nradius = 7\n[expert]\nrisk_order = 0\n'
    )
    done = run_command("run", tmp_path / "settings.toml")
    assert done.returncode == 2
    assert "2 problems" in done.stderr
    (tmp_path / "settings.toml").write_text('[columns]\na = "synthesize"\n[intruder]\nknown = ["b"]\n')
    assert "'data' is missing" in run_command("run", tmp_path / "settings.toml").stderr
    assert "molehill init" in run_command("run", tmp_path / "none.toml").stderr


def test_report_of_nothing_is_told(tmp_path):
    done = run_command("report", tmp_path)
    assert done.returncode == 2
    assert "holds no saved release" in done.stderr


def test_evaluate_weights_by_the_design_of_a_survey(tmp_path):
    survey = consumer_survey(120, seed=1).assign(weight=np.linspace(10, 50, 120))
    for name, frame in (("own", survey), ("made", survey.assign(income=survey["income"][::-1].to_numpy()))):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    words = ["evaluate", tmp_path / "own.csv", tmp_path / "made.csv", "--known", "gender", "--sensitive", "income"]
    ended = run_command(*words, "--radius", "0.2", "--survey", "weight=weight", "--json")
    assert ended.returncode == 0
    found = json.loads(ended.stdout)
    assert "population_mean" in {row["measure"] for row in found["risk"]}
    assert "U_m_weighted" in {row["measure"] for row in found["utility"]}
    for given in ("stratum=gender", "wait=weight", "weight", "fay=half", "nested=maybe"):
        ended = run_command(*words, "--radius", "0.2", "--survey", given)
        assert ended.returncode == 2
        assert "Write" in ended.stderr
        assert "--survey" in ended.stderr


# A folder is the release that its dossier describes, or not.


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with said_in_words():
        return make_release(tmp_path_factory.mktemp("verified"))


def test_verify_says_that_all_is_as_it_was_and_the_fingerprint(made):
    said = run_command("verify", made, "--published", made / "release")
    assert said.returncode == 0
    assert said.stderr == ""
    fingerprint = json.loads((made / "internal" / "manifest.json").read_text())["fingerprint"]
    grouped = " ".join(re.findall("....", fingerprint))
    first, last = said.stdout.splitlines()
    assert first == f"Fingerprint of release/: {grouped}"
    assert re.fullmatch(r"\d+ files are as they were written\.", last)
    assert grouped in (made / "internal" / "report.html").read_text(encoding="utf-8")
    plain = json.loads(run_command("verify", made, "--json").stdout)
    assert plain["holds"] is True
    assert plain["fingerprint"] == plain["described"] == fingerprint
    assert plain["published"] is None
    assert plain["problems"] == plain["notes"] == []


def test_verify_tells_every_problem_and_ends_with_four(made, tmp_path):
    folder = shutil.copytree(made, tmp_path / "out")
    copy = shutil.copytree(made / "release", tmp_path / "copy")
    (folder / "release" / "more.csv").write_text("x")
    (folder / "signed.pdf").write_text("x")
    (copy / "methods.md").write_text("x")
    said = run_command("verify", folder, "--published", copy)
    assert said.returncode == 4
    lines = said.stdout.splitlines()
    assert lines[:2] == [
        f"{folder}: release/more.csv does not belong to the release",
        f"{copy}: methods.md is another file than the one that was written",
    ]
    assert lines[2] == "Beside it, not of the release: signed.pdf"
    assert [line.split(":")[0] for line in lines[3:6]] == [
        "Fingerprint of the dossier",
        "Fingerprint of release/",
        "Fingerprint of the published folder",
    ]
    assert lines[6] == "Not as it was written: 2 problems."
    plain = run_command("verify", folder, "--published", copy, "--json")
    assert plain.returncode == 4
    told = json.loads(plain.stdout)
    assert told["holds"] is False
    assert [(one["kind"], one["where"], one["file"]) for one in told["problems"]] == [
        ("added", "folder", "release/more.csv"),
        ("changed", "published", "methods.md"),
    ]


def test_verify_refuses_what_is_no_release_in_one_line(made, tmp_path):
    for path, words in (
        (tmp_path, "holds no saved release"),
        (tmp_path / "nowhere", "there is no folder"),
        (made / "release" / "methods.md", "is no folder"),
    ):
        said = run_command("verify", path)
        assert said.returncode == 2
        assert words in said.stderr
        assert said.stdout == ""


def people_with_numbers(years):
    """People with a number each, in every year."""
    random = np.random.default_rng(12)
    person = np.repeat(np.sort(random.choice(12_000, 60, replace=False)) + 13, years)
    frame = pd.DataFrame(
        {
            "nr": person,
            "year": np.tile(np.arange(years) + 1980, 60),
            "sex": random.choice(["f", "m"], 60).repeat(years),
            "region": random.choice(["N", "S"], 60).repeat(years),
            "wage": random.lognormal(8, 0.5, 60 * years).round(2),
        }
    )
    return frame.drop(columns=[] if years > 1 else "year")


def test_a_panel_with_the_number_of_the_person_kept_is_not_released(tmp_path):
    write_table(people_with_numbers(5), tmp_path / "panel.csv")
    settings = tmp_path / "settings.toml"
    made = run_command("init", tmp_path / "panel.csv", "--out", settings)
    assert "drop       nr: may name people: number of a unit" in made.stdout
    assert "300 records, 60 values" in made.stdout
    text = settings.read_text()
    kept = re.sub(r"(?m)^nr = .*$", 'nr = "keep"', text)
    assert kept != text
    settings.write_text(kept)
    done = run_command("run", settings, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "records belong together" in done.stderr
    assert "300 records, 60 values" in " ".join(done.stderr.split())
    assert 'nr = "drop"' in done.stderr
    assert not (tmp_path / "out").exists()
    # What is proposed is a decision, and the plan names what it does not change.
    settings.write_text(text)
    planned = run_command("plan", settings)
    assert planned.returncode == 0, planned.stderr
    assert "risk is measured per record, not per person or household" in planned.stdout


def test_a_number_of_its_own_for_every_record_is_dropped(tmp_path):
    write_table(people_with_numbers(1), tmp_path / "people.csv")
    made = run_command("init", tmp_path / "people.csv", "--out", tmp_path / "settings.toml")
    assert "drop       nr: may name people" in made.stdout
    assert "belong together" not in made.stdout
    assert run_command("plan", tmp_path / "settings.toml").returncode == 0
