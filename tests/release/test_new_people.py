"""Tables of new people: every column drawn, any number of records, and what can be asked of them."""

import sys

import numpy as np
import pandas as pd
import pytest

from agreement import assert_agrees, assert_rate
from drawing import in_words  # noqa: F401
from molehill import EvaluationOptions, InputError, Intruder, Settings, evaluate, synthesize
from molehill.models import forest
from molehill.release.making import prepare
from molehill.release.measuring import hold_out
from molehill.release.release import make_dossier
from molehill.release.search.new_people import find_parts
from molehill.report.dossier import read_dossier
from molehill.report.page.page import render_report
from molehill.synthesis.fitting import draw, fit
from molehill.synthesis.synthesizer import SequentialSynthesizer
from molehill.utility import combine


def people(records=400, seed=1):
    """Amounts and categories that go together, some missing where somebody is young."""
    random = np.random.default_rng(seed)
    age = random.choice(["child", "young", "old"], records, p=[0.2, 0.4, 0.4])
    pay = np.round(np.exp(random.normal(np.where(age == "old", 10.5, 10.0), 0.4)), -2)
    rent = np.round(pay * random.uniform(0.1, 0.6, records))
    return pd.DataFrame(
        {
            "id": np.arange(records),
            "sex": random.choice(["f", "m"], records),
            "age": age,
            "pay": np.where(age == "child", np.nan, pay),
            "rent": rent,
        }
    )


HOW = {
    "lower": {"pay": 0, "rent": 0},
    "upper": {"pay": 1_000_000, "rent": 1_000_000},
    "missing_values": "model",
    "seed": 3,
}
COLUMNS = ["sex", "age", "pay", "rent"]


def settings(**changes):
    given = {
        "synthesize": COLUMNS,
        "drop": ["id"],
        "known": ["sex", "age"],
        "fully_synthetic_records": 250,
        "datasets": 2,
        "compare": (),
    }
    return Settings(**{**given, **HOW, **changes})


@pytest.fixture(scope="module")
def release():
    return synthesize(people(), settings(constraints=["rent <= 500000"]), progress=False)


def test_every_table_has_as_many_new_people_as_asked_for_and_nothing_else(release):
    for table in release.datasets:
        assert list(table.columns) == COLUMNS
        assert len(table) == 250
        # What follows from other columns does so of new people, too.
        assert (table["pay"].isna() == (table["age"] == "child")).all()
    assert release.settings.min_leaf_size != "auto"
    assert not release.evaluation.is_linked
    assert {"membership_distance", "closer_to_participants", "lookup_gain"} <= set(release.evaluation.risk["measure"])
    assert "risk_mean" not in set(release.evaluation.risk["measure"])
    assert set(release.evaluation.shapes["column"]) == set(COLUMNS)


def test_more_people_than_were_asked_have_the_same_distribution_and_the_same_begin():
    table = people()
    job = prepare(table, settings(min_leaf_size=20))
    posterior = fit(job.model, job.table, seed=1, progress=False)
    few, many = (draw(posterior, datasets=2, seed=4, records=number) for number in (150, 6000))
    for one, other in zip(few, many, strict=True):
        pd.testing.assert_frame_equal(one, other.head(150).reset_index(drop=True))
        assert len(other) == 6000
        # Draws of one distribution: the first 2000 and the others; of the age they would differ by 0.2 if any was even.
        first, rest = other["age"].iloc[:2000] == "old", other["age"].iloc[2000:] == "old"
        assert_agrees(first.mean(), rest.mean(), np.sqrt(0.25 / 2000 + 0.25 / 4000), detects=0.2)
        assert not other.iloc[:400].reset_index(drop=True).equals(other.iloc[400:800].reset_index(drop=True))


@pytest.mark.usefixtures("in_words")
def test_it_is_saved_with_a_report_in_both_editions_that_speaks_of_new_people(release, tmp_path):
    folder = release.save(tmp_path / "out", release_anyway=True)
    note = (folder / "release" / "methods.md").read_text(encoding="utf-8")
    assert "*fully synthetic*" in note
    assert "2 tables of 250 records" in note
    assert "*T* = 0.625 *v* + *b* / 2" in note
    assert "0.625 * v.mean() + b / 2" in note
    inside, public = ((folder / name / "report.html").read_text(encoding="utf-8") for name in ("internal", "release"))
    for page in (inside, public):
        assert "2 tables of 250 new people" in page
        assert "No record of the tables is anybody" in page
        assert 'id="map"' not in page
        assert "k-anonymity" not in page
    # How many patterns there are, and who is alone in one, no table shows.
    assert "patterns." in inside
    assert "patterns." not in public
    assert "row" not in read_dossier(folder).weights
    assert sorted(path.name for path in (folder / "release").glob("*.csv")) == ["synthetic_01.csv", "synthetic_02.csv"]


def test_the_same_seed_makes_the_same_people_and_the_settings_that_were_found_do_too(release, monkeypatch):
    # What is found of the tables does not matter here.
    making = sys.modules[synthesize.__module__]
    monkeypatch.setattr(making, "evaluate_new_people", lambda *_, **__: release.evaluation)
    again = synthesize(people(), release.settings, progress=False)
    for one, other in zip(release.datasets, again.datasets, strict=True):
        pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"synthesize": ["age", "pay", "rent"], "keep": ["sex"]}, "nothing is kept"),
        ({"missing_values": "keep"}, "no missing values to keep"),
        ({"component_draw": "posterior"}, "no component is drawn given a true value"),
        ({"method": "paper", "missing_values": "model"}, "no component"),
        ({"release_criteria": ["mean expected <= 0.1"]}, "release_criteria"),
        ({"predictors": ["id"]}, "predictors"),
        ({"known": COLUMNS}, "every column"),
        ({"fully_synthetic_records": 0}, "'fully_synthetic_records' must be a whole number"),
        ({"fully_synthetic_records": 2.5}, "'fully_synthetic_records' must be a whole number"),
    ],
)
def test_what_new_people_cannot_have_is_refused(changes, told):
    with pytest.raises(InputError, match=told):
        settings(**changes)


def test_an_own_synthesizer_is_drawn_from_by_hand():
    with pytest.raises(InputError, match="needs synthesizers that Molehill knows"):
        synthesize(people(), settings(), synthesizer=forest("rent", []), progress=False)


def test_values_that_come_from_collected_people_make_no_new_ones():
    table = people().dropna()
    posterior = fit(forest("rent", ["pay"], lower=0, upper=10**6), table, seed=1, progress=False)
    with pytest.raises(InputError, match="given 'pay', which new records do not have"):
        draw(posterior, datasets=1, seed=1, records=10)
    chain = SequentialSynthesizer(
        (forest("pay", [], lower=0, upper=10**6), forest("rent", ["pay"], lower=0, upper=10**6))
    )
    whole = fit(chain, table, seed=1, progress=False)
    assert len(draw(whole, datasets=1, seed=1, records=7)[0]) == 7
    gaps = fit(forest("pay", [], lower=0, upper=10**6), people(), seed=1, progress=False)
    with pytest.raises(InputError, match="missingness of 'pay' is not modelled"):
        draw(gaps, datasets=1, seed=1, records=7)


def test_tables_that_repeat_people_show_who_was_in_the_data_and_large_parts_do_not():
    table = people(900, seed=5).drop(columns="id").fillna({"pay": 0.0})
    own = {**HOW, "missing_values": "error", "drop": []}
    shares = {}
    for leaf in (1.0, 400.0):
        job = prepare(table, settings(**own, min_leaf_size=leaf))
        posterior = fit(job.model, job.table, seed=1, progress=False)
        shares[leaf] = hold_out(job, posterior, "x")[0].members()
    assert shares[1.0].low > 0.55
    assert shares[400.0].low < 0.53
    assert shares[400.0].value < shares[1.0].value


def test_the_largest_parts_that_keep_how_columns_go_together_are_taken():
    random = np.random.default_rng(2)
    town = random.choice(list("abcd"), 2000)
    alone = pd.DataFrame({"home": town, "job": random.choice(list("xyz"), 2000)})
    # One in 36 lives in a street, which tells the job.
    street = np.char.add(town.astype(str), random.choice(list("123456789"), 2000))
    tied = pd.DataFrame({"home": street, "job": np.where(random.random(2000) < 0.9, np.char.upper(street), "X")})
    found = {}
    for name, table in {"alone": alone, "tied": tied}.items():
        job = prepare(table, Settings(synthesize=["home", "job"], known=["home"], fully_synthetic_records=2000, seed=1))
        found[name] = find_parts(job, progress=False).settings.min_leaf_size
    # Where nothing goes together nothing need be told apart.
    assert found["alone"] == 400.0
    assert found["tied"] < found["alone"]


def test_intervals_of_new_people_hold_the_truth_whatever_their_number():
    # Means and a slope of a normal pair, drawn by conjugate-like models of the right form: 300 samples.
    random = np.random.default_rng(7)
    for share in (0.5, 1.0, 3.0):
        hits = []
        for _ in range(300):
            own = random.normal(size=(200, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
            centre, spread = own.mean(axis=0), np.cov(own.T)
            # Parameters fixed at their estimates, as those of a large forest nearly are.
            made = [random.multivariate_normal(centre, spread, int(200 * share)) for _ in range(5)]
            slopes = [_slope(one) for one in made]
            points = [(one[:, 0].mean(), slope) for one, (slope, _) in zip(made, slopes, strict=True)]
            errors = [(one[:, 0].var(ddof=1) / len(one), error) for one, (_, error) in zip(made, slopes, strict=True)]
            found = combine(points, errors, size=share)
            hits.append((found.low <= np.array([0.0, 0.5])) & (found.high >= np.array([0.0, 0.5])))
        # Were their number not counted, three times as many would be as sure as three samples: 0.75 are held.
        for hit in np.sum(hits, axis=0):
            assert_rate(hit, 300, 0.95, detects=0.15, of=f"intervals of {share} times as many")


def _slope(pair):
    """The slope of a regression, and its variance."""
    x, y = (pair - pair.mean(axis=0)).T
    square = x @ x
    slope = x @ y / square
    left = y - slope * x
    return slope, left @ left / (len(x) - 2) / square


def test_anybodys_tables_of_new_people_can_be_judged():
    table = people().drop(columns="id").fillna({"pay": 0.0})
    intruder = Intruder(known=["sex", "age"], sensitive=["pay", "rent"], radius=0.2)
    fresh = [people(700, seed=seed).drop(columns="id").fillna({"pay": 0.0}) for seed in (11, 12, 13)]
    with pytest.raises(InputError, match="fully_synthetic=True"):
        evaluate(table, fresh, intruder)
    found = evaluate(table, {"fresh": fresh, "itself": table}, intruder, EvaluationOptions(fully_synthetic=True))
    gain = found.risk[found.risk["measure"] == "lookup_gain"].set_index(["scheme", "column"])["value"]
    # The table itself tells of everybody, a fresh sample of nobody.
    assert gain["itself", "rent"] > 0.01 > abs(gain["fresh", "rent"])
    # Whose record stands where says nothing.
    shuffled = evaluate(
        table, {"itself": table.sample(frac=1, random_state=1)}, intruder, EvaluationOptions(fully_synthetic=True)
    ).risk
    again = shuffled[shuffled["measure"] == "lookup_gain"].set_index(["scheme", "column"])["value"]
    assert again["itself", "rent"] == pytest.approx(gain["itself", "rent"])


@pytest.mark.usefixtures("in_words")
def test_a_column_that_is_constant_in_half_of_the_records_stops_nothing_and_leaves_something_open():
    table = people(150).assign(prize=np.where(np.arange(150) == 7, 1234.5, 0.0))
    limits = {end: {"rent": HOW[end]["rent"], "prize": value} for end, value in (("lower", 0), ("upper", 5000))}
    own = {"synthesize": ["sex", "rent", "prize"], "drop": ["id", "age", "pay"], "known": ["sex"], "min_leaf_size": 50}
    made = synthesize(table, settings(**own, **limits, attacks="none"), progress=False)
    assert "membership_distance" not in set(made.evaluation.risk["measure"])
    page = render_report(make_dossier(made), edition="internal")
    assert "Whether tables show who was in the data was not measured" in page
