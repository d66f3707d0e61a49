"""Rows of the table in issue 33: what can be computed from what is kept, through the command line."""

import re

import numpy as np
import pandas as pd
import pytest

from drawing import in_words  # noqa: F401
from molehill import read_table, write_table
from processes import run_command

QUICK = [
    *("--set", "datasets=2", "--set", "compare=[]", "--set", "expected_risk_draws=0", "--set", "min_leaf_size=20"),
    *("--set", "attacks=none", "--set", "seed=3", "--set", "shuffle=false", "--quiet"),
]


def households() -> pd.DataFrame:
    """Persons of households with their incomes, the household's and its equivalized sum, as EU-SILC has them."""
    random = np.random.default_rng(12)
    number, size = 120, random.integers(1, 5, 120)
    household = np.repeat(np.arange(number), size)
    pay = np.where(random.random(len(household)) < 0.3, 0, random.lognormal(9.5, 0.6, len(household)).round(2))
    pension = np.where(random.random(len(household)) < 0.8, 0, random.lognormal(9, 0.4, len(household)).round(2))
    rents = np.where(random.random(number) < 0.5, 0, random.lognormal(7, 1, number).round(2))[household]
    tax = random.lognormal(6, 0.5, number).round(2)[household]
    weight = (0.5 + 0.5 * size)[household]
    total = pd.Series(pay + pension).groupby(household).transform("sum").to_numpy()
    return pd.DataFrame(
        {
            "home": household + 1,
            "region": random.choice(["n", "s", "w"], number)[household],
            "sex": random.choice(["f", "m"], len(household)),
            "pay": pay,
            "pension": pension,
            "rents": rents,
            "tax": tax,
            "eqsize": weight,
            "eqincome": (total + rents - tax) / weight,
        }
    )


FORMULA = "(sum(pay + pension) by home + rents - tax) / eqsize"


@pytest.mark.usefixtures("in_words")
def test_household_income_beside_its_parts_stops_until_it_is_derived(tmp_path):
    write_table(households(), tmp_path / "people.csv")
    settings = tmp_path / "settings.toml"
    kept = "\n".join(f'{name} = "keep"' for name in ("region", "sex", "eqsize"))
    kept += '\nhome = { release = "keep", accept_identifying = true }'
    head = f'[file]\ndata = "people.csv"\n[intruder]\nknown = ["region", "sex"]\n[columns]\n{kept}\n'
    parts = ("pay", "pension", "rents", "tax")
    limits = "lower = 0, upper = 1000000"
    settings.write_text(
        head
        + "".join(f'{name} = "keep"\n' for name in parts)
        + 'eqincome = { release = "synthesize", lower = -100000, upper = 1000000 }\n'
    )
    planned = run_command("plan", settings)
    assert planned.returncode == 0, planned.stderr
    assert f"TRUE VALUES can be computed from what is released unchanged: eqincome = {FORMULA}" in planned.stdout
    stopped = run_command("run", settings, "--out", tmp_path / "out", *QUICK)
    assert stopped.returncode == 2
    assert f"eqincome = {FORMULA}, for 100% of the records" in stopped.stderr
    line = f'eqincome = {{ release = "derived", formula = "{FORMULA}" }}'
    assert line in stopped.stderr
    assert "accept_derivable = true" in stopped.stderr
    assert not (tmp_path / "out").exists()

    settings.write_text(
        head + "".join(f'{name} = {{ release = "synthesize", {limits} }}\n' for name in parts) + f"{line}\n"
    )
    done = run_command("run", settings, "--out", tmp_path / "out", *QUICK)
    assert done.returncode == 0, done.stderr
    for name in ("synthetic_01.csv", "synthetic_02.csv"):
        made = read_table(tmp_path / "out" / "release" / name).frame
        total = (made["pay"] + made["pension"]).groupby(made["home"]).transform("sum")
        expected = (total + made["rents"] - made["tax"]) / made["eqsize"]
        np.testing.assert_allclose(made["eqincome"], expected, rtol=1e-9)
        assert list(made.columns) == list(households().columns)
        assert not np.isclose(made["eqincome"], households()["eqincome"]).any()
    told = (tmp_path / "out" / "release" / "methods.md").read_text()
    assert f"computed: {FORMULA}" in told.replace("\\", "")


def test_grade_beside_age_and_experience_stops_with_the_formula(tmp_path):
    random = np.random.default_rng(13)
    age = random.integers(20, 60, 300)
    experience = np.clip(age - random.integers(18, 28, 300), 0, None)
    people = pd.DataFrame({"age": age, "experience": experience, "grade": age - experience - 6})
    write_table(people.assign(sex=random.choice(["f", "m"], 300)), tmp_path / "school.csv")
    settings = tmp_path / "settings.toml"
    settings.write_text(
        '[file]\ndata = "school.csv"\n[intruder]\nknown = ["sex"]\n[columns]\nage = "keep"\nexperience = "keep"\n'
        'sex = "keep"\n'
        'grade = { release = "synthesize", kind = "count", lower = 0, upper = 60 }\n'
    )
    stopped = run_command("run", settings, "--out", tmp_path / "out", *QUICK)
    assert stopped.returncode == 2
    assert "grade = age - experience - 6, for 100% of the records" in stopped.stderr
    assert not (tmp_path / "out").exists()


def test_init_of_households_proposes_what_the_plan_accepts(tmp_path, shared):
    path = shared / "households" / "eusilc.csv"
    settings = tmp_path / "settings.toml"
    made = run_command("init", path, "--out", settings)
    assert made.returncode == 0, made.stderr
    assert "derived    eqIncome" in made.stdout
    assert re.search(r"eqIncome = \(sum\(py.* by db030 \+ hy", made.stdout)
    planned = run_command("plan", settings)
    assert planned.returncode == 0, planned.stderr
    assert "TRUE VALUES" not in planned.stdout
