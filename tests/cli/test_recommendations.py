"""What is not recommended is not released, on the line as in Python."""

import json

import numpy as np
import pandas as pd
import pytest

from drawing import in_words  # noqa: F401
from molehill.plan.settings import write_settings
from molehill.report.dossier import read_dossier
from processes import run_command
from small_release import SETTINGS

# Of the family identity, where a red stops a release.
NO_RISK = {"risk_mean": {"amber": 1e-9, "red": 2e-9, "family": "identity"}}
# The exit code of a run whose recommendation is "do not release".
NOT_RECOMMENDED = 5


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A settings file whose release passes a threshold of the agency: some risk that nothing can be without."""
    folder = tmp_path_factory.mktemp("asked")
    random = np.random.default_rng(3)
    people = pd.DataFrame({"town": random.choice(["A", "B"], 60), "visits": random.poisson(5, 60)})
    people.to_csv(folder / "people.csv", index=False)
    write_settings(SETTINGS.but(attacks="none", thresholds=NO_RISK), folder / "settings.toml")
    return folder / "settings.toml"


@pytest.mark.usefixtures("in_words")
def test_what_is_not_recommended_is_not_released_unless_asked_for_by_name(asked, tmp_path):
    out = tmp_path / "out"
    refused = run_command("run", asked, "--out", out, "--quiet")
    assert refused.returncode == NOT_RECOMMENDED
    # The reasons are on the terminal, be it quiet, and what to do.
    assert "Do not release, because identity is red: mean" in refused.stderr
    assert "--release-anyway" in refused.stderr
    assert [path.name for path in out.iterdir()] == ["internal"]
    manifest = json.loads((out / "internal" / "manifest.json").read_text())
    assert manifest["publication"] == "not recommended"
    assert not [name for name in manifest["files"] if name.startswith("release/")]
    assert read_dossier(out).publication == "not recommended"
    page = (out / "internal" / "report.html").read_text()
    assert "Nothing was released." in page
    assert "The recommendation is not to release." in page
    # Check, and make the report again: nothing more appears.
    assert run_command("verify", out).returncode == 0
    assert run_command("report", out).returncode == 0
    assert [path.name for path in out.iterdir()] == ["internal"]
    assert run_command("verify", out).returncode == 0

    released = run_command("run", asked, "--out", out, "--overwrite", "--release-anyway", "--json")
    assert released.returncode == 0
    told = json.loads(released.stdout)
    assert (told["recommendation"]["decision"], told["released"]) == ("do not release", True)
    assert (out / "release" / "synthetic_01.csv").is_file()
    assert run_command("verify", out).returncode == 0
    words = "released against the recommendation"
    assert json.loads((out / "internal" / "manifest.json").read_text())["publication"] == words
    assert json.loads((out / "internal" / "dossier.json").read_text())["release"]["publication"] == words
    assert words.capitalize() in (out / "internal" / "report.html").read_text()
    # In public the recommendation would be no news.
    assert "recommendation" not in (out / "release" / "report.html").read_text().partition("<script")[0]


# Releases of which a report once said "publish" although a family of the scorecard was red: what the intruder knows,
# the sensitive variable, the share of the people whose value is released as it is, and the measure that decides.
RED = {
    "true match rate of 8%": ("town,kids", "pay", 0.1, "identity", "matches_gain"),
    "replicated uniques of one half": ("town,age,kids", "pay", 0.0, "identity", "replicated_uniques_risk"),
    "DiSCO risk of 0.4": ("town,age,kids", "job", 0.55, "attribute", "disclosive_risk"),
    "closest records at 0.9": ("town,kids", "pay", 0.95, "membership", "closest_records"),
}
# What other measures of the same families would see as well.
ALONE = (
    "isolated_mean",
    "largest_mean",
    "attribution_gain",
    "singling_out",
    "linkability",
    "inference",
    "unchanged_inference",
)


@pytest.mark.parametrize("case", RED)
def test_a_red_of_identity_attribute_or_membership_stops_a_release(case, tmp_path):
    known, sensitive, share, family, measure = RED[case]
    random = np.random.default_rng(1)
    people = pd.DataFrame({"town": random.choice(list("ABCD"), 800), "age": random.integers(20, 80, 800)})
    people = people.assign(kids=random.integers(0, 3, 800), job=random.choice(list("uvwxyz"), 800))
    people["pay"] = np.exp(random.normal(10, 1, 800)).round()
    own, control = people.iloc[:400], people.iloc[400:]
    own.to_csv(tmp_path / "own.csv", index=False)
    control.to_csv(tmp_path / "control.csv", index=False)
    drawn = own.assign(**{sensitive: control[sensitive].to_numpy()})
    kept = random.random(400) < share
    drawn.loc[kept, sensitive] = own.loc[kept, sensitive]
    drawn.to_csv(tmp_path / "drawn.csv", index=False)
    asked = ["--known", known, "--sensitive", sensitive, "--radius", 0.02, "--control", tmp_path / "control.csv"]
    without = [part for name in ALONE for part in ("--skip", name)]
    told = run_command("evaluate", tmp_path / "own.csv", tmp_path / "drawn.csv", *asked, *without, "--json")
    assert told.returncode == 0, told.stderr
    content = json.loads(told.stdout)
    [rated] = [one for one in content["scorecard"] if one["family"] == family]
    assert rated["colour"] == "red"
    [figure] = [one for one in content["risk"] if one["scheme"] == "released" and one["measure"] == measure]
    assert content["recommendation"]["decision"] == "do not release"
    reasons = content["recommendation"]["sentence"].partition(" Points for the board")[0]
    assert f"{family} is red" in reasons
    assert f"{figure['value']:.3g}"[:5] in reasons
