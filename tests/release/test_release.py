"""The one-call door: the schemes it makes, the choices it makes for the user, and that it repeats itself."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from molehill import confidential_risk, draw, fit, risk_weights, synthesize
from molehill.errors import InputError
from molehill.models import negative_binomial
from molehill.plan.settings import Settings
from molehill.release.making import choose_synthesizer, complete_settings, make_release
from molehill.synthesis.synthesizer import Composite
from molehill.tables.schema import infer_schema
from molehill.tables.table import Table, as_table

RNG = np.random.default_rng(3)
PEOPLE = pd.DataFrame(
    {
        "town": RNG.choice(["A", "B"], 160),
        "sex": RNG.choice(["f", "m"], 160),
        "visits": RNG.negative_binomial(3, 0.02, 160),
    }
)
CALL: dict[str, Any] = {
    "sensitive": "visits",
    "known": ["town", "sex"],
    "datasets": 3,
    "expected_tables": 40,
    "regressions": ["visits ~ sex"],
    "seed": 5,
}


@pytest.fixture(scope="module")
def made():
    stages = []
    release = synthesize(PEOPLE, **CALL, tell=stages.append, progress=False)
    return release, stages


def test_it_makes_the_release_and_what_it_is_compared_with(made):
    release, stages = made
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
    risk = confidential_risk(PEOPLE, known=["town", "sex"], sensitive="visits", radius=0.2, order=2)
    assert (made[0].weights == risk_weights(risk)).all()


def test_tables_are_those_of_the_longer_calls(made):
    release = made[0]
    _, *seeds = [int(seed) for seed in np.random.SeedSequence(5).generate_state(3, np.uint64) >> 1]
    synthesizer = negative_binomial("visits", ["town", "sex"])
    posterior = fit(synthesizer, PEOPLE, release.weights, seed=seeds[0], progress=False)
    for mine, theirs in zip(draw(posterior, datasets=3, seed=seeds[1]), release.datasets, strict=True):
        pd.testing.assert_frame_equal(mine, theirs)


def test_the_expected_risk_and_moles_are_there(made):
    measures = set(made[0].evaluation.risk["measure"])
    assert "mean expected risk" in measures
    assert "moles: records whose expected risk rises by more than 0.2" in measures


def test_regressions_stand_beside_the_usual_analyses(made):
    utility = made[0].evaluation.utility
    measures = utility[utility["scheme"] == "pairwise"].set_index("measure")
    assert {"mean of visits", "sex[m] in visits ~ sex", "relative bias of sex[m] in visits ~ sex"} <= set(
        measures.index
    )
    means = [table.groupby("sex")["visits"].mean() for table in made[0].datasets]
    assert measures.loc["sex[m] in visits ~ sex", "value"] == pytest.approx(np.mean([m["m"] - m["f"] for m in means]))


def test_another_order_or_scale_has_a_name_of_its_own():
    settings: Any = {"sensitive": "visits", "known": ("town",), "compare": (), "expected_tables": 0, "datasets": 1}
    release = make_release(PEOPLE, Settings(**settings, order=3, scale=1.5, shift=0.1, seed=1), progress=False)
    assert release.scheme == "order 3, scale 1.5, shift 0.1"
    assert list(release.comparisons) == []
    risk = confidential_risk(PEOPLE, known="town", sensitive="visits", radius=0.2, order=3)
    assert (release.weights == risk_weights(risk, scale=1.5, shift=0.1)).all()


def test_without_a_seed_two_releases_differ(monkeypatch):
    settings: Any = {"known": "town", "compare": (), "expected_tables": 0, "datasets": 1, "sensitive": "visits"}
    table, wanted = as_table(PEOPLE), Settings(sensitive="visits", known=("town",))
    assert len({complete_settings(wanted, table).seed for _ in range(10)}) == 10
    # A fit of so small a table does not converge with every seed: these two do.
    fresh = iter([1, 2])
    monkeypatch.setattr("molehill.release.making.secrets.randbits", lambda _: next(fresh))
    one, two = (synthesize(PEOPLE, **settings, progress=False) for _ in range(2))
    assert (one.settings.seed, two.settings.seed) == (1, 2)
    assert not one.datasets[0].equals(two.datasets[0])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["a", "b"] * 30, "multinomial"),
        (np.arange(60) * 7, "negative_binomial"),
        (np.linspace(1.5, 90.2, 60), "log"),
        (np.linspace(-3.5, 90.2, 60), "signed"),
        (np.r_[np.zeros(10), np.linspace(-3.5, 90.2, 50)], "semicontinuous"),
    ],
)
def test_the_synthesizer_suits_the_kind_of_the_column(values, kind):
    table = Table(pd.DataFrame({"y": values, "x": ["u", "v", "w"] * 20}))
    settings = Settings(sensitive="y", known=("x",), predictors=("x",))
    chosen: Any = choose_synthesizer(table, settings, infer_schema(table, sensitive="y", known="x"))
    if kind == "semicontinuous":
        assert isinstance(chosen, Composite)
    elif kind in ("log", "signed"):
        assert chosen.predict.keywords["transform"] == kind
    else:
        assert kind in chosen.model.__module__ or kind in str(chosen.model)


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"sensitive": "visit"}, "sensitive"),
        ({"known": ["twon"]}, "known"),
        ({"predictors": ["visits"]}, "sensitive"),
        ({"radius": 2}, "settings"),
        ({"compare": ["everything"]}, "settings"),
        ({"scale": 1e-9, "shift": -1.0}, "scale"),
        ({"regressions": ["visits ~ twon"]}, "regressions"),
        ({"regressions": ["visits ~ __import__('os')"]}, "formula"),
    ],
)
def test_bad_input_is_told_before_any_work(change, argument):
    with pytest.raises(InputError) as caught:
        synthesize(PEOPLE, **(CALL | change), progress=False)
    assert caught.value.argument == argument
