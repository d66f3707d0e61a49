import json
import os
import stat
import subprocess
import sys

import pandas as pd
import pytest

import molehill
from molehill.simulation import consumer_survey

SURVEY = ["--known", "gender,age,region", "--sensitive", "income", "--radius", "0.2"]


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", "from molehill.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "200"} | environment,
    )


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    path = tmp_path_factory.mktemp("survey") / "survey.csv"
    molehill.write_table(consumer_survey(), path)
    return path


def test_version_and_help():
    assert run("--version").stdout.strip() == f"molehill {molehill.__version__}"
    for arguments in (["--help"], ["risk", "--help"], ["demo", "--help"]):
        shown = run(*arguments)
        assert shown.returncode == 0
        assert "Usage" in shown.stdout
    assert "Exit codes" in run("--help").stdout


def test_risk_prints_a_summary_without_values_or_records(survey):
    done = run("risk", survey, *SURVEY, "--order", 2)
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
    done = run("risk", survey, *SURVEY, "--json")
    summary = json.loads(done.stdout)
    result = molehill.confidential_risk(
        molehill.read_table(survey), known=["gender", "age", "region"], sensitive="income", radius=0.2
    )
    assert summary["distribution"]["mean"] == pytest.approx(result.risk.mean(), abs=1e-12)
    assert summary["above"][2]["records"] == int((result.risk > 0.95).sum())
    assert summary["records"] == 6208
    assert len(summary["riskiest_patterns"]) == 10


def test_record_level_results_only_when_asked_and_for_the_owner(survey, tmp_path):
    out, figure = tmp_path / "records.csv", tmp_path / "risk.svg"
    done = run("risk", survey, *SURVEY, "--out", out, "--figure", figure)
    assert done.returncode == 0, done.stderr
    records = pd.read_csv(out)
    assert list(records) == ["record", "risk", "weight", "pattern_size", "within"]
    assert len(records) == 6208
    assert (records["risk"] + records["weight"]).round(12).eq(1).all()
    assert stat.S_IMODE(out.stat().st_mode) == stat.S_IMODE(figure.stat().st_mode) == 0o600
    again = run("risk", survey, *SURVEY, "--out", out)
    assert again.returncode == 2
    assert "out:" in again.stderr
    assert "--overwrite" in again.stderr
    assert run("risk", survey, *SURVEY, "--out", out, "--overwrite").returncode == 0


def test_output_is_plain_when_piped_and_without_colour(survey):
    assert "\x1b" not in run("risk", survey, *SURVEY).stdout
    assert "\x1b" not in run("risk", survey, *SURVEY, NO_COLOR="1", FORCE_COLOR="").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["none.csv", *SURVEY], 2, "none.csv"),
        (["--known", "gender", "--sensitive", "income", "--radius", "0.2"], 2, "Missing argument"),
        ("known", 2, "Did you mean 'gender'"),
        ("radius", 2, "radius: a relative radius above 1"),
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
    done = run("risk", *(changed[arguments] if isinstance(arguments, str) else arguments))
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_names_with_commas_and_markup_are_taken_whole(tmp_path):
    path = tmp_path / "odd.csv"
    frame = pd.DataFrame({"age, in years": [30, 30, 40, 40], "[red]pay": [1.5, 2.5, 3.5, 9.5]})
    molehill.write_table(frame, path)
    done = run("risk", path, "--known", "age, in years", "--sensitive", "[red]pay", "--radius", "0.2")
    assert done.returncode == 0, done.stderr
    assert "[red]pay" in done.stdout
    grouped = run(
        *("risk", path, "--known", "age, in years", "--breaks", "age, in years=35"),
        *("--sensitive", "[red]pay", "--radius", "0.2", "--kind", "[red]pay=continuous"),
    )
    assert "35 and over" in grouped.stdout


def test_a_full_disk_is_told_in_one_line(survey, tmp_path):
    code = (
        "import resource, signal, sys\n"
        "import molehill.cli, molehill\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "molehill.cli.main()\n"
    )
    arguments = ["risk", str(survey), *SURVEY, "--out", str(tmp_path / "records.csv")]
    # Compiled code is cached already; a process that cannot write may not be able to cache it.
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["Error: the system refused: File too large"]
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_ends_with_130_and_leaves_nothing_in_part(survey, tmp_path):
    code = (
        "import os, signal, molehill.cli as cli, molehill.csv_files as files\n"
        "files._csv_text = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        "cli.main()\n"
    )
    arguments = ["risk", str(survey), *SURVEY, "--out", str(tmp_path / "records.csv")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr.splitlines() == ["Error: interrupted; no file was written in part"]
    assert list(tmp_path.iterdir()) == []


def test_demo_writes_its_files_and_never_over_others(tmp_path):
    done = run("demo", "--out", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    names = {"survey.csv", "risk.html", "risk.svg", "records.csv"}
    assert {file.name for file in (tmp_path / "demo").iterdir()} == names
    again = run("demo", "--out", tmp_path / "demo")
    assert again.returncode == 2
    assert "exists already" in again.stderr
    assert run("demo", "--out", tmp_path / "demo", "--overwrite").returncode == 0
