"""What init proposes for key variables, through the command line: groups and pooled levels are all that leaves."""

import numpy as np
import pandas as pd
import pytest

from drawing import in_words  # noqa: F401
from molehill import read_table, write_table
from processes import run_command

N = 400
QUICK = [
    *("--set", "datasets=2", "--set", "compare=[]", "--set", "expected_risk_draws=0", "--set", "min_leaf_size=20"),
    *("--set", "attacks=none", "--set", "seed=3", "--quiet"),
]


def people() -> pd.DataFrame:
    random = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "age": random.integers(18, 90, N),
            "sex": random.choice(["f", "m"], N),
            "region": random.choice(["N", "S", "E", "W"], N),
            "citizenship": random.choice(["here", "near", "far", "island"], N, p=[0.8, 0.16, 0.03, 0.01]),
            "occupation": random.choice([f"job {place}" for place in range(12)], N),
            "pay": random.lognormal(8, 0.6, N).round(2),
        }
    )


@pytest.mark.usefixtures("in_words")
def test_groups_and_pooled_levels_are_released_and_said_to_be(tmp_path):
    confidential = people()
    write_table(confidential, tmp_path / "people.csv")
    settings = tmp_path / "settings.toml"
    made = run_command("init", tmp_path / "people.csv", "--out", settings)
    assert made.returncode == 0, made.stderr
    text = settings.read_text()
    assert "age = {release = " in text
    assert "grouped = true" in text
    assert "share all key variables, before and after" in text
    entry = next(line for line in text.splitlines() if line.startswith("citizenship = "))
    text = text.replace(entry, 'citizenship = { release = "keep", min_level_records = 20 }')
    settings.write_text(text)
    planned = run_command("plan", settings)
    assert "in groups: under 25, 25 to under 35" in " ".join(planned.stdout.split())
    done = run_command("run", settings, "--out", tmp_path / "out", "--release-anyway", *QUICK)
    assert done.returncode in (0, 5), done.stderr
    for path in sorted((tmp_path / "out" / "release").glob("synthetic_*.csv")):
        released = read_table(path).frame
        groups = {"under 25", "25 to under 35", "35 to under 50", "50 to under 65", "65 and over"}
        assert set(released["age"].astype(str)) == groups
        counted = pd.cut(confidential["age"], [0, 24, 34, 49, 64, 200]).value_counts()
        assert sorted(released["age"].value_counts()) == sorted(counted)
        assert "island" not in set(released["citizenship"])
    note = (tmp_path / "out" / "release" / "methods.md").read_text()
    assert "In groups of the collected values: `age`." in " ".join(note.split())
    assert "| `age` |  | categorical | in groups: under 25, 25 to under 35," in note
    assert "Levels of `citizenship` that fewer than 20 records have are pooled" in " ".join(note.split())
    assert "As they were collected, but for rare levels: `citizenship`." in " ".join(note.split())
    assert "| `citizenship` |  | categorical | as collected, rare levels pooled |" in note
    for part in ("release", "internal"):
        assert "published in groups" in (tmp_path / "out" / part / "report.html").read_text()
    assert run_command("verify", tmp_path / "out").returncode == 0
    # The settings that were saved make the same release again.
    saved = tmp_path / "out" / "internal" / "settings.toml"
    again = run_command(
        "run",
        saved,
        "--set",
        f'data="{tmp_path / "people.csv"}"',
        "--out",
        tmp_path / "again",
        "--release-anyway",
        "--quiet",
    )
    assert again.returncode in (0, 5), again.stderr
    for path in (tmp_path / "out" / "release").glob("synthetic_*.csv"):
        assert path.read_bytes() == (tmp_path / "again" / "release" / path.name).read_bytes()


def test_what_cannot_be_grouped_is_refused_with_the_remedy(tmp_path):
    write_table(people(), tmp_path / "people.csv")
    head = '[intruder]\nknown = ["sex"]\n[file]\ndata = "people.csv"\n[columns]\noccupation = "drop"\nage = "keep"\n'
    head += 'sex = "keep"\ncitizenship = "keep"\npay = { release = "synthesize", lower = 0, upper = 90000 }\n'
    settings = tmp_path / "settings.toml"
    for entry, told in (
        ('region = { release = "keep", grouped = true }', "give its breaks"),
        ('region = { release = "keep", grouped = true, breaks = [1, 2] }', "'region' is not numeric"),
        ('region = { release = "drop", grouped = true, breaks = [1, 2] }', "keep or synthesize it"),
        ('region = { release = "keep", grouped = false, breaks = [1, 2] }', "column 'region': write one of"),
    ):
        settings.write_text(f"{head}{entry}\n")
        done = run_command("plan", settings)
        assert done.returncode == 2
        assert told in " ".join(done.stderr.split())
