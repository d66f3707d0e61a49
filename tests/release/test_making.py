"""The one-call door: the schemes it makes, the choices it makes for the user, and that it repeats itself."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest

from agreement import assert_agrees
from molehill import Intruder, Settings, confidential_risk, draw, fit, risk_weights, synthesize
from molehill.arrays import derive_seed
from molehill.errors import InputError
from molehill.models import forest, negative_binomial
from molehill.plan.settings import read_settings
from molehill.release import release as saving
from molehill.release.making import choose_scheme, choose_synthesizer, make_baselines, prepare, publish
from molehill.risk import intruder
from molehill.synthesis.synthesizer import Prediction, Synthesizer
from molehill.tables.patterns import learn_patterns
from molehill.tables.table import Table

RNG = np.random.default_rng(3)
PEOPLE = pd.DataFrame(
    {
        "town": RNG.choice(["A", "B"], 120),
        "sex": RNG.choice(["f", "m"], 120),
        "visits": RNG.negative_binomial(3, 0.02, 120),
    }
)
CALL: dict[str, Any] = {
    "synthesize": "visits",
    "keep": ["town", "sex"],
    "known": ["town", "sex"],
    "lower": 0.0,
    "upper": 100_000.0,
    "shuffle": False,
    "datasets": 3,
    "expected_risk_draws": 40,
    "regressions": ["visits ~ sex"],
    "risk_order": 2,
    "seed": 5,
    "attacks": "none",
}
# Nothing but the release, and what is quickly measured of it.
FEW: Any = {"compare": (), "expected_risk_draws": 0, "regressions": ()}


@contextmanager
def looks() -> Iterator[tuple[list[Any], list[Any]]]:
    """How often the table is looked at through the key variables, and its patterns learned."""
    looked, learned, whole = [], [], intruder._see

    def see(own, *given):
        looked.extend([own] if own.known else [])
        return whole(own, *given)

    def learn(table, names, *given):
        learned.extend([names] if names else [])
        return learn_patterns(table, names, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intruder, "_see", see)
        patch.setattr(intruder, "learn_patterns", learn)
        yield looked, learned


@pytest.fixture(scope="module")
def made():
    stages = []
    with looks() as counted:
        release = synthesize(PEOPLE, Settings(**CALL), on_stage=stages.append, progress=False)
    return release, stages, [len(calls) for calls in counted]


def test_it_makes_the_release_and_what_it_is_compared_with(made):
    release, stages, _ = made
    assert release.scheme == "pairwise"
    assert list(release.comparisons) == ["marginal", "unweighted", "topcoding"]
    assert release.evaluation.schemes == ("pairwise", "marginal", "unweighted", "topcoding")
    assert [len(tables) for tables in release.comparisons.values()] == [3, 3, 1]
    assert stages[0] == "measuring the risk"
    assert list(release.seconds) == stages
    assert set(release.diagnostics) == {"pairwise", "marginal", "unweighted"}


def test_only_the_sensitive_column_changes(made):
    for table in made[0].datasets:
        pd.testing.assert_frame_equal(table.drop(columns="visits"), PEOPLE.drop(columns="visits"))
        assert table["visits"].dtype == PEOPLE["visits"].dtype
        assert not table["visits"].equals(PEOPLE["visits"])


def test_weights_are_those_of_the_longer_call(made):
    risk = confidential_risk(PEOPLE, Intruder(["town", "sex"], "visits", radius=0.2), order=2)
    assert (made[0].weights == risk_weights(risk)).all()


def test_tables_are_those_of_the_longer_calls(made):
    release = made[0]
    # By the name of the scheme, whatever it is compared with.
    seeds = [derive_seed(5, what, "pairwise") for what in ("fit", "draw")]
    # The regression names sex: so the model conditions on that, and on nothing that nobody asked for.
    synthesizer = forest("visits", ["sex"], lower=0, upper=100_000, seed=5)
    posterior = fit(synthesizer, PEOPLE, release.weights, seed=seeds[0], progress=False)
    for mine, theirs in zip(draw(posterior, datasets=3, seed=seeds[1]), release.datasets, strict=True):
        pd.testing.assert_frame_equal(mine, theirs)


def test_the_expected_risk_and_moles_are_there(made):
    measures = set(made[0].evaluation.risk["measure"])
    assert {"expected_mean", "moles"} <= measures


def test_regressions_stand_beside_the_usual_analyses(made):
    utility = made[0].evaluation.utility
    own = utility[(utility["scheme"] == "pairwise") & utility["of"].isin(["mean of visits", "sex[m] in visits ~ sex"])]
    figures = own.set_index(["measure", "of"])["value"]
    assert {measure for measure, _ in figures.index} == {
        *("estimate", "overlap", "overlap_benchmark", "width_ratio", "relative_bias")
    }
    means = [table.groupby("sex")["visits"].mean() for table in made[0].datasets]
    difference = np.mean([mean["m"] - mean["f"] for mean in means])
    assert figures["estimate", "sex[m] in visits ~ sex"] == pytest.approx(difference)


def test_another_order_or_scale_has_a_name_of_its_own():
    settings: Any = {**CALL, **FEW, "known": ("town",), "datasets": 1}
    del settings["seed"]
    release = synthesize(
        PEOPLE, Settings(**{**settings, "risk_order": 3}, weight_scale=1.5, weight_shift=0.1, seed=1), progress=False
    )
    assert release.scheme == "order 3, scale 1.5, shift 0.1"
    assert list(release.comparisons) == []
    risk = confidential_risk(PEOPLE, Intruder("town", "visits", radius=0.2), order=3)
    assert (release.weights == risk_weights(risk, scale=1.5, shift=0.1)).all()


def test_without_a_seed_two_releases_differ(monkeypatch):
    settings: Any = {**CALL, **FEW, "known": "town", "datasets": 1, "seed": None}
    assert len({prepare(PEOPLE, Settings(**settings)).settings.seed for _ in range(10)}) == 10
    # A fit of so small a table does not converge with every seed: these two do.
    fresh = iter([1, 2])
    monkeypatch.setattr("molehill.release.making.secrets.randbits", lambda _: next(fresh))
    one, two = (synthesize(PEOPLE, Settings(**settings), progress=False) for _ in range(2))
    assert (one.settings.seed, two.settings.seed) == (1, 2)
    assert not one.datasets[0].equals(two.datasets[0])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "b"] * 30, "multinomial"),
        (np.arange(60) * 7, "negative_binomial"),
        (np.linspace(1.5, 90.2, 60), "tdp_mixture"),
        (np.linspace(-3.5, 90.2, 60), "tdp_mixture"),
        (np.r_[np.zeros(10), np.linspace(-3.5, 90.2, 50)], "semicontinuous"),
    ],
)
def test_the_synthesizer_suits_the_kind_of_the_column(values, kind):
    table = Table(pd.DataFrame({"y": values, "x": ["u", "v", "w"] * 20}))
    settings = Settings(synthesize=("y",), known=("x",), predictors=("x",))
    view = settings.intruder.view(table)
    assert choose_synthesizer(view, settings).name == "forest"
    # The paper's, where its scheme or something that only a mixture has is asked for.
    for asked in ({"method": "paper"}, {"priors": "paper"}):
        assert choose_synthesizer(view, settings.but(**asked)).name == kind
    chosen = choose_synthesizer(view, settings.but(priors="paper"))
    assert chosen.words
    if kind == "tdp_mixture":
        assert isinstance(chosen, Synthesizer)
        assert chosen.learn is not None
        transform = chosen.learn(table, np.ones(len(table.frame))).facts["transform"]
        assert transform == ("log" if table.frame["y"].min() > 0 else "signed")


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"synthesize": "visit"}, "synthesize"),
        ({"known": ["twon"]}, "known"),
        ({"predictors": ["visits"]}, "sensitive"),
        ({"keep": ["town"]}, "columns"),
        ({"keep": ["town"], "undecided": ["sex"]}, "columns"),
        ({"keep": ["town"], "drop": ["sex"]}, "known"),
        ({"keep": ["town", "sex", "visits"]}, "settings"),
        ({"upper": None}, "columns"),
        ({"kinds": {"visits": "categorical"}}, "lower"),
        ({"kinds": {"visits": "categorical"}, "lower": None, "upper": None}, "synthesize"),
        ({"radius": 2}, "settings"),
        ({"compare": ["everything"]}, "settings"),
        ({"weight_scale": 1e-9, "weight_shift": -1.0}, "weight_scale"),
        ({"thresholds": {"U_n": {"amber": 0.1, "red": 0.2}}}, "thresholds"),
        ({"regressions": ["visits ~ twon"]}, "regressions"),
        ({"regressions": ["visits ~ __import__('os')"]}, "regressions"),
    ],
)
def test_bad_input_is_told_before_any_work(change, argument):
    with pytest.raises(InputError) as caught:
        synthesize(PEOPLE, Settings(**(CALL | change)), progress=False)
    assert caught.value.argument == argument


def test_the_table_is_looked_at_once(made):
    assert made[2] == [1, 1]
    baselines = ("topcoding", "noise", "swapping", "microaggregation")
    with looks() as (looked, learned):
        tables = make_baselines(prepare(PEOPLE, Settings(**CALL | {"compare": baselines})))
    assert tuple(tables) == baselines
    assert (len(looked), len(learned)) == (1, 1)


def test_what_is_dropped_is_gone_and_the_order_is_nobodys():
    people = PEOPLE.assign(id=np.arange(5000, 5120), note="x").sort_values("visits", ignore_index=True)
    few: Any = {**FEW, "shuffle": True, "drop": ["id", "note"]}
    release = synthesize(people, Settings(**CALL | few), progress=False)
    assert [list(table.columns) for table in release.datasets] == [["town", "sex", "visits"]] * 3
    # The same order in every table; the key leads back to the records.
    for table in release.datasets:
        pd.testing.assert_frame_equal(
            table[["town", "sex"]], people[["town", "sex"]].iloc[release.order].reset_index(drop=True)
        )
    assert sorted(release.order) == list(range(120))
    order = np.corrcoef(release.order, np.arange(120))[0, 1]
    assert_agrees(order, 0, 1 / np.sqrt(119), detects=1, of="the order of the records")
    assert release.plan.order == ("visits",)
    assert "The order of the rows tells of visits: the records are published in another order." in str(release.plan)


def test_labels_of_codes_that_no_record_has_stay_inside():
    people = PEOPLE.assign(town=PEOPLE["town"].map({"A": 1.0, "B": 2.0}), note="x")
    values: Any = {"town": {1: "North", 2: "South", 4: "secret"}, "sex": {"x": "secret"}, "note": {"x": "secret"}}
    table = Table(people, {"town": "Town", "note": "Note"}, values)
    job = prepare(table, Settings(**CALL | {"drop": ["note"]}))
    released = publish(table, job)
    assert released.value_labels == {"town": {1: "North", 2: "South"}}
    assert released.column_labels == {"town": "Town"}


def test_what_may_name_people_is_kept_only_knowingly():
    people = PEOPLE.assign(id=np.arange(5000, 5120))
    few: Any = {**FEW, "keep": ["town", "sex", "id"]}
    with pytest.raises(InputError, match="'id' may name people \\(numbers that count up\\)"):
        synthesize(people, Settings(**CALL | few), progress=False)
    job = prepare(people, Settings(**CALL | few, accept_identifying="id"))
    assert job.settings.predictors == ("town", "sex")
    assert "may name people (numbers that count up), accepted" in str(job.plan)


def visits_model(visits=None):
    rate = numpyro.sample("rate", dist.Gamma(1.0, 0.01))
    with numpyro.plate("records", 120):
        numpyro.sample("visits", dist.Poisson(rate), obs=visits)


def test_a_model_of_ones_own_is_told_in_its_authors_words(made, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "render_report", lambda *_, **__: "this is about the note and the settings")
    monkeypatch.setattr(sys.modules[synthesize.__module__], "evaluate_schemes", lambda *_, **__: made[0].evaluation)
    own = Synthesizer(visits_model, ("visits",), name="one_rate", words="one rate for everybody")
    release = synthesize(PEOPLE, Settings(**CALL | FEW), synthesizer=own, progress=False)
    release.save(tmp_path / "out", release_anyway=True)
    note = (tmp_path / "out" / "release" / "methods.md").read_text()
    assert "one rate for everybody" in note
    assert "mixture" not in note
    assert "negative binomial" not in note
    settings = (tmp_path / "out" / "internal" / "settings.toml").read_text()
    assert "The synthesizer one_rate was given in Python" in settings
    with pytest.raises(InputError, match="given in Python"):
        synthesize(PEOPLE, read_settings(tmp_path / "out" / "internal" / "settings.toml"))


def test_a_synthesizer_of_another_column_makes_no_release():
    other = negative_binomial("age", ["town"])
    people = PEOPLE.assign(age=RNG.integers(1, 90, 120))
    with pytest.raises(InputError, match="it replaces 'age', and the settings 'visits'"):
        prepare(people, Settings(**CALL | {"keep": ["town", "sex", "age"]}), synthesizer=other)


def test_values_that_were_collected_are_never_published(monkeypatch):
    def parrot(key, draw, inputs):
        del key, draw
        return Prediction({"visits": inputs["visits"]})

    # What is found of the tables does not matter.
    monkeypatch.setattr(sys.modules[synthesize.__module__], "evaluate_schemes", lambda *_, **__: None)
    copied = Synthesizer(visits_model, ("visits",), predict=parrot)
    with pytest.raises(InputError, match="are the collected ones"):
        synthesize(PEOPLE, Settings(**CALL | FEW), synthesizer=copied, progress=False)


def test_what_the_table_cannot_do_is_told_before_fitting(monkeypatch):
    monkeypatch.setattr("molehill.release.making.fit_quietly", None)
    with pytest.raises(InputError):
        synthesize(PEOPLE, Settings(**CALL | {"regressions": ["town ~ visits"]}), progress=False)
    # Topcoded already: the comparison stays as it is, and is no reason to fail.
    heaped = PEOPLE.assign(visits=PEOPLE["visits"].clip(upper=100))
    (topcoded,) = make_baselines(prepare(heaped, Settings(**CALL)))["topcoding"]
    assert topcoded.frame["visits"].equals(heaped["visits"])


def test_a_fit_that_fails_stops_the_run_before_anything_is_compared_with_it():
    def lost(visits=None):
        """Chains begin on either side of two modes and stay there."""
        modes = dist.Normal(np.array([-50.0, 50.0]), 0.1)
        place = numpyro.sample("place", dist.MixtureSameFamily(dist.Categorical(np.array([0.5, 0.5])), modes))
        with numpyro.plate("records", 120):
            numpyro.sample("visits", dist.Normal(0.0 * place, 100.0), obs=visits)

    stages = []
    model = Synthesizer(lost, "visits")
    with pytest.raises(InputError, match="the fit of the release has not converged") as caught:
        synthesize(PEOPLE, Settings(**CALL), synthesizer=model, on_stage=stages.append, progress=False)
    assert stages == ["measuring the risk", "fitting: pairwise"]
    assert "synthesizer =" in str(caught.value)


# Of forests, and by a chain alone, tests/release/test_several.py and tests/synthesis/test_chains_of_columns.py show it.
@pytest.mark.slow
def test_several_columns_are_replaced_one_after_the_other():
    people = PEOPLE.assign(pay=np.exp(RNG.normal(8, 1, 120)).round(2) + PEOPLE["visits"])
    limits = {"visits": 100_000.0, "pay": 1e6}
    call = {
        **CALL,
        **FEW,
        "synthesize": ["visits", "pay"],
        "upper": limits,
        # Models with parameters, of which this is compiled in the least time.
        "synthesizer": "normal_linear",
    }
    release = synthesize(people, Settings(**call), progress=False)
    assert release.posterior.synthesizer.sensitive == ("visits", "pay")
    links = release.posterior.parts
    assert [list(links[name].learned.facts["design"]["centre"]) for name in links] == [[], ["visits"]]
    for table in release.datasets:
        pd.testing.assert_frame_equal(table[["town", "sex"]], people[["town", "sex"]])
        assert not table["visits"].equals(people["visits"])
        assert not table["pay"].equals(people["pay"])
    assert set(release.evaluation.utility["column"]) >= {"visits", "pay"}


def figures(**by_scheme: tuple[float, float]) -> Any:
    """An evaluation of schemes with a distance and a risk each, known to 0.01."""
    rows = [
        {"scheme": name, "measure": measure, "column": column, "group": "", "value": value, "low": value - 0.01}
        | {"high": value + 0.01}
        for name, (distance, risk) in by_scheme.items()
        for measure, column, value in (("U_m", "pay", distance), ("expected_mean", "", risk))
    ]
    frame = pd.DataFrame(rows)
    return SimpleNamespace(utility=frame[frame["column"] != ""], risk=frame[frame["column"] == ""])


def test_without_a_word_on_weights_the_safest_of_those_that_keep_most_is_released():
    names = ["unweighted", "pairwise"]
    # It keeps more; it keeps as much and neither is safer; as much, and the other is; the other keeps more.
    cases = [
        ((0.02, 0.2), (0.06, 0.1)),
        ((0.02, 0.2), (0.03, 0.19)),
        ((0.02, 0.2), (0.03, 0.1)),
        ((0.06, 0.1), (0.02, 0.2)),
    ]
    chosen = [choose_scheme(figures(unweighted=one, pairwise=other), names) for one, other in cases]
    assert chosen == ["unweighted", "unweighted", "pairwise", "pairwise"]
    auto = {name: value for name, value in CALL.items() if name != "risk_order"}
    job = prepare(PEOPLE, Settings(**auto))
    assert job.settings.method == "auto"
    with pytest.raises(InputError, match='for method = "risk_weighted"'):
        Settings(**auto, method="auto", risk_order=3)
