"""Masses of records: that their weighted mean has the variance of the design, and whom a forest protects under one."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from agreement import assert_agrees, assert_differs, assert_mean
from molehill.models import forest
from molehill.models.forests.forest import SITES
from molehill.models.forests.grid import LEAST_IN_BIN, learn_grid
from molehill.models.forests.masses import draw_masses, draw_units
from molehill.models.forests.trees import find_leaves, grow_tree
from molehill.surveys import SurveyDesign
from molehill.surveys.variances import linearised
from molehill.synthesis.fitting import draw, fit
from molehill.synthesis.survey_fit import Survey, design_variances, read_survey
from molehill.tables.table import as_table

DRAWS = 6_000


def strata(sizes: Any = (40, 60, 30, 50)) -> pd.DataFrame:
    random, stratum = np.random.default_rng(1), np.repeat(np.arange(len(sizes)), sizes)
    number = len(stratum)
    frame = pd.DataFrame({"s": stratum, "c": np.arange(number) // 5, "w": random.gamma(2.0, size=number) + 0.2})
    frame["records"] = 1.25 * np.bincount(stratum)[stratum]
    frame["clusters"] = 2.0 * np.bincount(stratum)[stratum] / 5
    frame["y"] = 0.5 * stratum + 0.7 * random.normal(size=number // 5)[frame["c"]] + random.normal(size=number)
    return frame


DESIGNS: dict[str, dict[str, Any]] = {
    "one by one": {},
    "strata": {"stratum": "s"},
    "strata and their sizes": {"stratum": "s", "population": "records"},
    "clusters": {"cluster": "c"},
    "clusters in strata": {"stratum": "s", "cluster": "c"},
    "clusters in strata and their numbers": {"stratum": "s", "cluster": "c", "population": "clusters"},
}


def survey_of(frame: pd.DataFrame, *, sandwich: bool = True, **design: Any) -> Survey:
    found = read_survey(SurveyDesign(weight="w", **design), as_table(frame), sandwich=sandwich)
    assert found is not None
    return found


def influence(frame: pd.DataFrame, powers: np.ndarray) -> np.ndarray:
    """What a record of weight 1 adds to the weighted mean."""
    y = frame["y"].to_numpy()
    return (y - powers @ y / powers.sum()) / powers.sum()


def masses_of(survey: Survey, weights: np.ndarray, seed: int = 2) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.stack([draw_masses(random, weights, survey) for _ in range(DRAWS)])


def assert_variance(found: np.ndarray, variance: float, detects: float = 0.2) -> None:
    """Assert that draws have a variance: one that is off by a fifth, as without a stratum or a fraction, is found."""
    apart = (found - found.mean()) ** 2
    assert_mean(apart, variance, detects=detects * variance, of="variance")


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_the_weighted_mean_of_masses_varies_as_the_design_says(design: dict[str, Any]):
    frame = strata()
    survey, ones = survey_of(frame, **design), np.ones(len(frame))
    scores = influence(frame, survey.times)
    made = masses_of(survey, ones)
    assert_variance(made @ scores, float(linearised(survey.sample, survey.times * scores)))
    assert (made >= 0).all()
    # A record of another's mass.
    assert_mean(made, survey.times, detects=survey.times / 2, of="mean mass")


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
def test_risk_weights_make_it_less_sure_by_what_they_take(design: dict[str, Any]):
    frame = strata()
    survey, weights = survey_of(frame, **design), np.random.default_rng(3).uniform(0.0, 1.0, len(frame))
    weights[:20] = 0.0
    scores = influence(frame, weights * survey.times)
    made = masses_of(survey, weights)
    assert (made[:, :20] == 0).all()
    assert_variance(made @ scores, float(design_variances(survey, weights, scores[:, None])[0, 0]))


def test_the_variance_of_units_is_right_in_closed_form():
    # Dirichlet(c) times n: variance (n - 1) / (n c + 1) of each, which is 1 - f, and the sum has none.
    frame = strata((20, 60, 40))
    survey = survey_of(frame, stratum="s", population="records")
    random = np.random.default_rng(4)
    made = np.stack([draw_units(random, survey.sample) for _ in range(DRAWS)])
    # Not corrected for the population, it would be 1.
    assert_mean(((made - 1) ** 2).mean(axis=1), 1 - 1 / 1.25, detects=0.1, of="variance")
    for one in range(3):
        own = made[:, frame["s"] == one]
        np.testing.assert_allclose(own.sum(axis=1), own.shape[1])


def test_pairs_and_single_units():
    frame = pd.DataFrame({"s": [0, 0, 1, 2, 2, 2], "w": 1.0, "all": [0.5, 0.5, 0.5, 1.0, 1.0, 1.0]})
    random = np.random.default_rng(5)
    certain = survey_of(frame, stratum="s", single="certainty")
    made = np.stack([draw_units(random, certain.sample) for _ in range(4_000)])
    # One of two, twice.
    assert set(np.unique(made[:, :2].round(9))) == {0.0, 2.0}
    assert_mean(made[:, :2], 1.0, detects=0.2, of="one of two")
    assert (made[:, 2] == 1).all()
    adjusted = survey_of(frame, stratum="s", single="adjust", population="all")
    made = np.stack([draw_units(random, adjusted.sample) for _ in range(DRAWS)])
    assert_mean((made[:, 2] - 1) ** 2, 0.5, detects=0.25, of="variance of a single unit")
    assert_mean(made[:, 2], 1.0, detects=0.2, of="mean of a single unit")
    # All of the third stratum was drawn.
    assert (made[:, 3:] == 1).all()


def test_without_the_correction_masses_are_those_of_the_plain_pseudo_posterior():
    frame = strata()
    weights = np.random.default_rng(6).uniform(size=len(frame))
    survey = survey_of(frame, cluster="c", sandwich=False)
    found = draw_masses(np.random.default_rng(7), weights, survey)
    np.testing.assert_array_equal(found, np.random.default_rng(7).standard_gamma(weights * survey.times))
    np.testing.assert_array_equal(
        draw_masses(np.random.default_rng(7), weights), np.random.default_rng(7).standard_gamma(weights)
    )


# What a forest makes of them.


def grown(frame: pd.DataFrame, weights: Any = None, *, sandwich: bool = True, column: str = "y", **about: Any) -> Any:
    design = about.pop("design", {})
    survey = SurveyDesign(weight="w", **design)
    made = forest(column, about.pop("predictors", None), **about)
    return fit(made, frame, weights, survey=survey, sandwich=sandwich, seed=1, progress=False)


@pytest.mark.parametrize("sandwich", [True, False])
def test_what_is_drawn_is_the_populations(sandwich: bool):
    random = np.random.default_rng(8)
    rich = random.random(2_000) < 0.5
    frame = pd.DataFrame(
        {"w": np.where(rich, 1.0, 9.0), "y": np.where(rich, 50.0, 10.0) + 5 * random.normal(size=2_000)}
    )
    frame["level"] = np.where(rich, "rich", "poor")
    for column in ("y", "level"):
        posterior = grown(frame, column=column, sandwich=sandwich)
        tables = draw(posterior, datasets=20, seed=2)
        share = np.mean([(t["y"] > 30).mean() if column == "y" else (t["level"] == "rich").mean() for t in tables])
        wanted = rich.sum() / (rich.sum() + 9 * (~rich).sum())
        # Every table has the error of a bootstrap of the collected records and that of its own.
        error = np.sqrt(wanted * (1 - wanted) / len(frame) * (1 + 2 / 20))
        assert_agrees(share, wanted, error, detects=0.5 - wanted, of=f"the rich by {column}")
        np.testing.assert_allclose(posterior.weights, posterior.survey_weights)


def test_trees_differ_as_much_as_the_design_says():
    random = np.random.default_rng(9)
    cluster = np.arange(1_000) // 10
    yes = random.random(1_000) < np.where(random.random(100) < 0.5, 0.9, 0.1)[cluster]
    frame = pd.DataFrame({"w": random.uniform(0.5, 3, 1_000), "c": cluster, "y": np.where(yes, "yes", "no")})
    survey = survey_of(frame, cluster="c")
    wanted = linearised(survey.sample, survey.times * (yes - survey.times @ yes / 1_000) / 1_000)
    corrected, plain = (
        grown(frame, design={"cluster": "c"}, trees=1_000, sandwich=on).draws["shares"][0, :, 0, 1].var()
        for on in (True, False)
    )
    # A variance from a thousand trees; without the design it is a quarter at most.
    assert_agrees(corrected / wanted, 1.0, np.sqrt(2 / 1_000), detects=0.75, of="variance of shares")
    assert_differs(plain / wanted, 1.0, np.sqrt(2 / 1_000), effect=-0.75, of="variance without the design")


def heavy(number: int = 400) -> pd.DataFrame:
    """One record stands for as many as half of all others; it has a place, and a value, of its own."""
    random = np.random.default_rng(10)
    frame = pd.DataFrame({"w": 1.0, "x": random.normal(size=number), "y": 100 + 10 * random.normal(size=number)})
    frame.loc[0, ["w", "x", "y"]] = [number / 2, 9.0, 777.25]
    return frame


@pytest.mark.parametrize("sandwich", [True, False])
def test_a_record_that_stands_for_many_gets_no_part_and_no_value_of_its_own(sandwich: bool):
    frame = heavy()
    posterior = grown(frame, predictors=["x"], sandwich=sandwich)
    feature, left, child = (posterior.draws[site][0] for site in SITES[:3])
    codes = np.ascontiguousarray(posterior.learned.inputs["codes"])
    for tree in range(len(child)):
        leaves = find_leaves(codes, feature[tree], left[tree], child[tree])
        assert np.bincount(leaves)[np.unique(leaves)].min() >= 30
    cells = posterior.learned.facts["cells"][0, codes[:, 0]]
    assert np.bincount(cells).min() >= 30
    grid = posterior.learned.facts["levels"]
    assert 777.25 not in (*grid.spikes, *grid.heaps)
    assert np.bincount(grid.codes(frame["y"].to_numpy())).min() >= LEAST_IN_BIN
    assert not any((table["y"] == 777.25).any() for table in draw(posterior, datasets=10, seed=2))


def test_what_a_heavy_record_shows_is_shrunk_as_one_record():
    frame = heavy()
    frame["y"] = np.where(frame.index == 0, "rare", np.where(frame["x"] > 0, "a", "b"))
    posterior = grown(frame, predictors=["x"], min_leaf_size=150)
    survey = posterior.survey
    codes = np.zeros((400, 1), dtype=np.uint8)
    outcome = np.searchsorted(["a", "b", "rare"], frame["y"])
    about = (codes, np.array([1]), np.array([False]), outcome, 3, np.empty(0), 30.0, 1)
    # Arrays that may be written to, as in a fit: others would be compiled anew.
    ones, times = np.ones(400), survey.times.copy()
    *_, shares = grow_tree(*about, times, 1, 2.0, who=ones, times=times)
    worth = 400**2 / (survey.times**2).sum()
    rare = survey.times[0] / 400
    assert worth < 10
    np.testing.assert_allclose(shares[0, 2], (worth * rare + 1 / 3) / (worth + 1), rtol=1e-6)


def test_bins_of_a_heavy_record_are_joined_and_zero_stays_an_end():
    random = np.random.default_rng(11)
    values = np.append(random.normal(50, 10, 500), [*np.linspace(-3.0, -2.0, 20), 49.123])
    times = np.append(np.ones(520), 400.0)
    grid = learn_grid(values, np.ones(521), (-np.inf, np.inf), times=times)
    held = np.bincount(grid.codes(values))
    assert 0.0 in grid.ends
    assert held[0] == 20
    assert held[1:].min() >= LEAST_IN_BIN
    assert grid.bins > 5
    # A value that nine share is not shared, however many they stand for; twenty do.
    for number, found in ((9, []), (20, [7.0])):
        values = np.append(random.normal(50, 10, 500), np.full(number, 7.0))
        times = np.append(np.ones(500), np.full(number, 30.0))
        assert learn_grid(values, np.ones(len(values)), (-np.inf, np.inf), times=times).spikes.tolist() == found


def test_times_of_one_change_nothing_in_a_grid():
    values = np.random.default_rng(12).normal(size=1_000).round(1)
    weights = np.random.default_rng(13).uniform(size=1_000)
    one, other = (learn_grid(values, weights, (-10.0, 10.0), times=times) for times in (None, np.ones(1_000)))
    for name in ("spikes", "heaps", "heap_shares"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name))


def test_a_record_of_no_design_weight_has_no_part():
    frame = heavy(398)
    frame.loc[0, "w"] = 0.0
    with_it, without = (grown(one, predictors=["x"], sandwich=False) for one in (frame, frame.iloc[1:]))
    assert with_it.weights[0] == 0
    np.testing.assert_allclose(with_it.learned.facts["levels"].ends, without.learned.facts["levels"].ends)


def test_replicate_weights_are_told_not_to_be_used():
    frame = heavy()
    frame["r1"], frame["r2"] = 2.0 * frame["w"], 0.0
    frame.loc[::2, ["r1", "r2"]] = frame.loc[::2, ["r2", "r1"]].to_numpy()
    posterior = grown(frame, design={"replicates": ("r1", "r2"), "method": "brr"}, trees=20)
    assert "without its replicate weights" in posterior.correction.words
