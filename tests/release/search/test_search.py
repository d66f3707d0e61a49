"""A rule: releases that are known beforehand to be best under it, resuming, the command, and what is written."""

import json
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from typer.testing import CliRunner

from agreement import assert_agrees
from drawing import in_words  # noqa: F401
from measured import hash_frame, measuring_once
from modes import is_private
from molehill import Intruder, Settings, release_risk, write_table
from molehill.cli.main import app
from molehill.errors import InputError
from molehill.evaluation.criteria import read_criteria
from molehill.plan.settings import read_settings, write_settings
from molehill.release import release as saving
from molehill.release.making import fit_quietly, prepare
from molehill.release.search import outcome, points
from molehill.release.search.judging import judge
from molehill.release.search.outcome import Found
from molehill.release.search.points import CONFIRMED_WITH, fresh_distance, open_bench
from molehill.release.search.search import search
from molehill.report.dossier import read_dossier
from molehill.synthesis.synthesizer import Prediction, Synthesizer

RNG = np.random.default_rng(11)
# Values that no round number of a report can be mistaken for.
PEOPLE = pd.DataFrame({"town": np.repeat(["A", "B"], 60), "pay": np.exp(RNG.normal(7.0, 0.5, 120)).round(3) + 0.0007})
INTRUDER = Intruder(known="town", sensitive="pay", radius=0.2)
CALL: dict[str, Any] = {"synthesize": "pay", "keep": "town", "known": "town", "radius": 0.2, "datasets": 5}
CALL |= {"lower": 0.0, "upper": 100_000.0}
QUICK: dict[str, Any] = {**CALL, "seed": 4, "search_draws": 200, "attacks": "none", "expected_risk_draws": 40}


def find(synthesizer, release_criteria, *, checkpoint=None, **changes) -> Found:
    settings = Settings(**{**QUICK, "release_criteria": release_criteria, **changes})
    job = prepare(PEOPLE, settings, synthesizer=synthesizer)
    return search(job, checkpoint=checkpoint, progress=False)


def by_membership(key, draw, inputs, *, component_draw, off):
    """Given its own value a record keeps it, within 2%; without it, it takes any value of the population."""
    noise = jax.random.normal(key, inputs["pay"].shape)
    free = jnp.exp(draw["centre"] + off + 0.5 * noise)
    return Prediction({"pay": inputs["pay"] * (1 + 0.02 * jnp.tanh(noise)) if component_draw == "posterior" else free})


def model(pay=None):
    centre = numpyro.sample("centre", dist.Normal(7.0, 1.0))
    with numpyro.plate("records", 120):
        numpyro.sample("pay", dist.LogNormal(centre, 0.5), obs=pay)


MIXTURE = Synthesizer(model, ("pay",), predict=by_membership, options={"component_draw": "posterior", "off": 0.0})


FITTED: dict[Any, Any] = {}


def fit_once(model, table, weights, *, checkpoint, seed, start_from, **how) -> Any:
    """Fit, or give what the same call gave before: a fit takes a second, and most tests are about what follows it."""
    if checkpoint is not None:
        return fit_quietly(model, table, weights, checkpoint=checkpoint, seed=seed, start_from=start_from, **how)
    key = (model, hash_frame(table.frame), weights.tobytes(), seed, start_from, *sorted(how.items()))
    if key not in FITTED:
        FITTED[key] = fit_quietly(model, table, weights, checkpoint=None, seed=seed, start_from=start_from, **how)
    return FITTED[key]


@pytest.fixture(autouse=True, scope="module")
def short():
    """Fit nothing twice as well."""
    with measuring_once() as patch:
        patch.setattr(points, "fit_quietly", fit_once)
        yield
    FITTED.clear()


def bare(found: Found) -> pd.DataFrame:
    return found.candidates.drop(columns=["seconds", "fit_seconds"])


@pytest.fixture(scope="module")
def lowered():
    """The risk is that of a release without the records' own values, which needs no second fit."""
    return find(MIXTURE, "mean expected <= 0.43")


@pytest.mark.slow
def test_membership_is_tried_before_anything_else(lowered):
    points = lowered.candidates.set_index("membership")
    assert points.index.tolist() == ["posterior", "prior"]
    assert (points["mean_expected_risk"] > 0.43).tolist() == [True, False]
    assert lowered.met
    assert lowered.cost["fits"] == 1
    assert lowered.chosen["scheme"] == "unweighted"
    assert len(lowered.blocking_records) == 0
    assert len(lowered.datasets) == 5
    assert np.isnan(lowered.probability)
    assert "Found: unweighted keeps mean expected <= 0.43" in lowered.verdict


def test_what_is_as_near_as_a_fresh_sample_is_good_enough(monkeypatch):
    # How often a release breaks a rule is counted in releases: with fewer tables these are too few to be sure.
    monkeypatch.setattr(points, "CONFIRMED_WITH", CONFIRMED_WITH)
    found = find(MIXTURE, "maximum realised <= 0.61", max_failure_probability=0.5)
    assert found.met
    assert found.chosen is not None
    # One fit of twelve; and as all are as good as a fresh sample, the one with the least risk is chosen.
    assert found.cost["fits"] == 1
    assert found.chosen["membership"] == "prior"
    realised = release_risk(PEOPLE, found.datasets, INTRUDER).realised
    assert realised.max() <= 0.61 + 1e-9
    assert found.probability_low <= found.probability <= found.probability_high
    for table in found.datasets:
        assert (table["town"] == PEOPLE["town"]).all()


@pytest.mark.slow
def test_what_settings_fix_is_one_point():
    found = find(MIXTURE, "mean expected <= 0.001", method="risk_weighted", risk_order=1, weight_scale=0.7, max_fits=5)
    assert found.candidates["scheme"].tolist() == ["marginal, scale 0.7, posterior component draw"]
    assert not found.met
    assert find(MIXTURE, "mean expected <= 0.999", risk_order=1, weight_scale=0.7).met


@pytest.fixture(scope="module")
def both():
    """With either membership; picks are measured because a rule asks for them."""
    return find(MIXTURE, ["mean expected <= 0.43", "maximum pick <= 1"])


RULES = ("pooled mean", "right picks", "isolated expected", "unique matches", "mean pick", "99% pick")


@pytest.mark.parametrize("rule", RULES)
def test_other_rules_are_judged_by_what_they_say(rule, both):
    """The release that keeps the values has more of each than the one that draws from the population."""
    kept, free = (judged(point, rule) for point in both.bench.points)
    assert free < kept
    middle = (free + kept) / 2
    found = find(MIXTURE, f"{rule} <= {middle:.6f}", max_fits=1)
    assert found.met
    assert found.chosen["membership"] == "prior"


def judged(point, rule: str) -> float:
    (target,) = read_criteria(f"{rule} <= 0.5")
    return judge(target, point.measured, tables=5, chance=0.2).value


@pytest.mark.slow
def test_rules_are_judged_with_cover_by_others():
    """In patterns of two the paper's cover has no risk above one half, whatever is released."""
    pairs = PEOPLE.assign(town=np.repeat(np.arange(60), 2).astype(str))
    settings = Settings(
        **{**QUICK, "release_criteria": "maximum expected <= 0.6", "count_self": True, "accept_identifying": "town"}
    )
    keeps = replace(MIXTURE, options={"component_draw": "posterior", "off": 0.0})
    found = search(prepare(pairs, settings, synthesizer=keeps), progress=False)
    assert found.candidates["target_1_value"].iloc[0] > 0.9


@pytest.mark.slow
def test_a_fit_that_has_converged_is_preferred(monkeypatch):
    monkeypatch.setattr("molehill.release.search.points.Fitted.converged", property(lambda self: self.scheme.order > 0))
    found = find(MIXTURE, "mean expected <= 1", max_fits=2)
    # The unweighted fit keeps the target, with either membership, but cannot be trusted: the search goes on.
    assert found.candidates["met"].all()
    assert found.candidates["converged"].tolist()[:3] == [False, False, True]
    assert found.chosen is not None
    assert found.chosen["converged"]
    assert found.fit_to_publish
    # If no fit has converged, the answer says so, and nothing is released.
    monkeypatch.setattr("molehill.release.search.points.Fitted.converged", property(lambda _: False))
    doubtful = find(MIXTURE, "mean expected <= 1", max_fits=1)
    assert doubtful.met
    assert not doubtful.fit_to_publish
    assert "has not converged" in doubtful.verdict


def test_bad_luck_is_drawn_anew_and_the_rule_then_holds():
    # About 7 of the 120 records pass one half in a release of 5 tables, none of them in expectation.
    found = find(MIXTURE, "maximum realised <= 0.5", max_fits=1, max_redraw_share=0.1)
    assert found.met
    assert 0 < found.redrawn < 25
    assert found.probability > 0.9
    realised = release_risk(PEOPLE, found.datasets, INTRUDER).realised
    assert realised.max() <= 0.5 + 1e-9
    assert f"{found.redrawn} record{' was' if found.redrawn == 1 else 's were'} drawn anew" in found.verdict
    assert not find(MIXTURE, "maximum realised <= 0.5", max_fits=1, max_redraw_share=0.0).met


TARGETS = ["maximum expected <= 0.02", "overlap of mean of pay >= 0.01"]


@pytest.fixture(scope="module")
def missed():
    return find(MIXTURE, TARGETS, max_fits=2)


def test_a_budget_that_runs_out_gives_the_closest_point_and_who_stands_in_the_way(missed):
    assert not missed.met
    assert missed.cost["fits"] == 2
    assert missed.chosen is not None
    assert missed.chosen["gap"] == missed.candidates["gap"].min()
    assert missed.chosen["membership"] == "prior"
    assert missed.candidates["warm"].tolist() == [False, False, True, True]
    way = missed.blocking_records
    assert 0 < way["records"].sum() <= 120
    assert set(way["pattern"]) <= {"town A", "town B"}
    assert len(missed.datasets) == 0
    # Between round numbers only: no value of the table is in the answer.
    told = missed.verdict + way.to_string() + missed.note + missed.candidates.to_string()
    for value in PEOPLE["pay"]:
        assert f"{value}" not in told
        assert f"{value:,.2f}" not in told
    for text in way["range"]:
        assert all(float(end.replace(",", "")) % 10 == 0 for end in text.split(" to "))
    assert "records stand in the way" in missed.verdict


def test_an_interrupted_search_goes_on_to_the_same_result(missed, tmp_path, monkeypatch):
    whole, calls = points.measure, []

    def fail(*arguments, **named):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return whole(*arguments, **named)

    monkeypatch.setattr(points, "measure", fail)
    with pytest.raises(KeyboardInterrupt):
        find(MIXTURE, TARGETS, max_fits=2, checkpoint=tmp_path / "kept")
    calls.append(1)
    found = find(MIXTURE, TARGETS, max_fits=2, checkpoint=tmp_path / "kept")
    # Two points were kept: of the four, only the other two were measured.
    assert len(calls) == 4 + 2
    pd.testing.assert_frame_equal(bare(found), bare(missed))
    assert found.verdict == missed.verdict
    assert is_private(tmp_path / "kept")
    for change in ({"release_criteria": "mean expected <= 0.1"}, {"seed": 5}):
        with pytest.raises(InputError, match="contains a run with other data, settings"):
            find(MIXTURE, **{"release_criteria": TARGETS, "max_fits": 2, **change}, checkpoint=tmp_path / "kept")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"max_fits": 0}, "max_fits"),
        ({"max_seconds": 0}, "max_seconds"),
        ({"max_failure_probability": 1.0}, "max_failure_probability"),
        ({"max_redraw_share": 1}, "max_redraw_share"),
        ({"search_draws": 50}, "multiple of 20"),
        (
            {
                "synthesize": "town",
                "keep": "pay",
                "known": [],
                "lower": None,
                "upper": None,
                "release_criteria": "U_m <= 0.1",
            },
            "no replaced column is a number",
        ),
        ({"release_criteria": "overlap of median of town >= 0.5"}, "is not a choice"),
        ({"known": "city"}, "city"),
    ],
)
def test_bad_arguments_are_refused_before_any_fit(change, words):
    with pytest.raises(InputError, match=words):
        find(None, **{"release_criteria": "mean expected <= 0.4", **change})


def test_a_fresh_sample_is_one_of_two():
    values = np.random.default_rng(3).normal(size=5122)
    # The mean of Kolmogorov's distribution, two samples of this size being a little below; of one it is 0.005 less.
    fresh = fresh_distance(values, seed=1)
    assert_agrees(fresh, 0.8687 * np.sqrt(2 / 5122), 0.00035, detects=0.005, of="a fresh sample")
    # Of two values the absolute difference of two shares; without regard to ties it would be twice that.
    ties = fresh_distance(np.repeat([0.0, 1.0], 500), seed=1)
    assert_agrees(ties, np.sqrt(2 / np.pi / 2000), np.sqrt((1 - 2 / np.pi) / 2000 / 200), detects=0.02)


def test_of_several_columns_the_fresh_sample_of_the_furthest_counts():
    """A column of few different values comes first, of which a fresh sample shows less."""
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"x": ["a", "b"] * 100, "few": np.repeat([10, 20], 100), "many": rng.lognormal(size=200)})
    fates: dict[str, Any] = {"synthesize": ("few", "many"), "keep": "x", "known": "x", "lower": 0.0, "upper": 1000.0}
    settings = Settings(**fates, kinds={"few": "continuous"}, seed=1)
    bench = open_bench(prepare(table, settings), checkpoint=None, progress=False)
    few, many = (fresh_distance(table[name].to_numpy(float), seed=1) for name in ("few", "many"))
    assert few < 0.8 * many
    assert bench.fresh == many


# The command


@pytest.fixture
def project(tmp_path):
    write_table(PEOPLE, tmp_path / "people.csv")
    how: dict[str, Any] = {"synthesizer": "forest", "min_leaf_size": 20, "data": "people.csv", "seed": 3, "datasets": 3}
    settings = Settings(
        synthesize=("pay",),
        keep=("town",),
        known=("town",),
        lower=0.0,
        upper=1e5,
        expected_risk_draws=0,
        attacks="none",
        search_draws=40,
        max_fits=1,
        **how,
    )
    write_settings(settings, tmp_path / "settings.toml")
    return tmp_path


def run_rule(project, *options):
    arguments = ["run", str(project / "settings.toml"), *options]
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


@pytest.mark.usefixtures("in_words")
def test_the_command_writes_a_release_like_any_other_and_can_repeat_it(project, monkeypatch):
    settings = read_settings(project / "settings.toml")
    write_settings(settings.but(release_criteria="mean expected <= 0.9"), project / "settings.toml")
    out = project / "out"
    done = run_rule(project, "--out", str(out), "--quiet")
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in project.iterdir()) == ["out", "people.csv", "settings.toml"]
    tables = {f"synthetic_{number:02}.csv" for number in (1, 2, 3)}
    assert {path.name for path in (out / "release").iterdir()} == tables | {"methods.md", "report.html"}
    kept = {path.name for path in (out / "internal").iterdir()}
    assert {"report.html", "search.json", "search_candidates.parquet", "draws.npz", "manifest.json"} <= kept
    assert all(map(is_private, [out / "internal", *(out / "internal").rglob("*")]))

    dossier = read_dossier(out)
    assert (dossier.scheme, dossier.evaluation.schemes) == ("unweighted", ("unweighted", "topcoding"))
    assert dossier.settings.release_criteria == ("mean expected <= 0.9",)
    assert (dossier.settings.method, dossier.settings.seed) == ("auto", 3)
    report = (out / "internal" / "report.html").read_text()
    assert "Found: unweighted keeps mean expected &lt;= 0.9." in report
    assert "Every record counts the same" in (out / "release" / "methods.md").read_text()

    # The settings that were written, where the first ones lay.
    written = (out / "internal" / "settings.toml").read_text()
    assert "`molehill run` with this file finds the same again." in written
    (project / "settings.toml").write_text(written)
    monkeypatch.setattr(saving, "render_report", lambda *_, **__: "the report was looked at above")
    monkeypatch.setattr(outcome, "evaluate_schemes", lambda *_, **__: dossier.evaluation)
    again = run_rule(project, "--out", str(project / "again"), "--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout)["search"]["met"]
    for name in tables:
        assert (out / "release" / name).read_bytes() == (project / "again" / "release" / name).read_bytes()
    with pytest.raises(InputError, match="exists already"):
        run_rule(project, "--out", str(out))


@pytest.mark.usefixtures("in_words")
def test_nothing_found_is_kept_and_nothing_released(project, monkeypatch):
    settings = read_settings(project / "settings.toml")
    write_settings(settings.but(release_criteria="mean expected <= 0.9"), project / "settings.toml")
    out = project / "out"
    how = ["--set", "release_criteria=maximum expected <= 0.01"]
    done = run_rule(project, *how, "--out", str(out))
    assert done.exit_code == 3
    assert "Nothing was released." in done.stdout
    assert [path.name for path in out.iterdir()] == ["internal"]
    dossier = read_dossier(out)
    assert dossier.settings.release_criteria == ("maximum expected <= 0.01",)
    assert dossier.search is not None
    assert not dossier.search.met
    report = (out / "internal" / "report.html").read_text()
    assert "Nothing was released." in report[: report.index("<nav")]
    assert "Records that stand in the way" in report
    # That it is made again to the same bytes, tests/release/test_runs.py shows.
    monkeypatch.setattr(saving, "render_report", lambda *_, edition, **__: f"{edition} again")
    assert saving.rebuild_report(out) == (out / "internal" / "report.html",)
    assert [path.name for path in out.iterdir()] == ["internal"]
    assert (out / "internal" / "report.html").read_text() == "internal again"
    # What the search says is in ranges: the list of who stands in the way, and the words.
    section = report[report.index('<section id="found"') : report.index('<section id="done"')]
    assert not [value for value in PEOPLE["pay"] if f"{value}" in section or f"{value:,.2f}" in section]


@pytest.fixture(scope="module")
def closest(missed):
    """The last point, as if it had been the closest."""
    return replace(missed, place=3).release()


def test_a_found_release_stands_beside_what_was_fitted_anyway(missed, closest, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "render_report", lambda *_, **__: "this is about the dossier")
    release = closest
    # Two fits: unweighted, and pairwise with shift 0.5, which is not the paper's.
    assert release.scheme == missed.candidates["scheme"][3] == "pairwise, shift 0.5"
    assert list(release.comparisons) == ["unweighted", "topcoding"]
    assert set(release.diagnostics) == {release.scheme, "unweighted"}
    assert "moles" in set(release.evaluation.risk["measure"])
    assert not release.search.fit_to_publish
    release.save(tmp_path / "out")
    again = read_dossier(tmp_path / "out")
    np.testing.assert_allclose(again.weights["weight"], missed.bench.points[3].fitted.weights)
    assert again.settings == missed.bench.settings


@pytest.mark.usefixtures("in_words")
def test_what_has_not_converged_is_not_released(missed, closest, tmp_path):
    assert replace(missed, met=True).fit_to_publish
    doubtful = replace(missed, met=True, candidates=missed.candidates.assign(converged=False))
    replace(closest, search=doubtful).save(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["internal"]
    assert "its fit has not converged" in (tmp_path / "out" / "internal" / "report.html").read_text()


def test_the_command_says_that_zero_cannot_be_and_what_is_wrong_with_targets(project):
    arguments = ["--out", str(project / "out"), "--json"]
    with pytest.raises(InputError, match="no release can meet them"):
        run_rule(project, *arguments, "--set", "release_criteria=mean expected <= 0")
    # Nothing stands in the way of another try.
    assert sorted(path.name for path in project.iterdir()) == ["people.csv", "settings.toml"]
    with pytest.raises(InputError, match=r"'mean <= 1': say of which risk: .*; 'x': it has no <= or >="):
        run_rule(project, *arguments, "--set", "release_criteria=['mean <= 1', 'x']")
