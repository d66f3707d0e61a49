"""What is measured of a release: attacks with people held out as a control, as the settings say."""

import numpy as np
import pandas as pd
import pytest

from molehill import Settings, synthesize
from molehill.evaluation.catalogue import ATTACK_MEASURES
from molehill.models import normal_linear
from molehill.release.making import prepare
from molehill.release.measuring import make_trials
from molehill.synthesis.fitting import fit

ATTACKS = {one.id for one in ATTACK_MEASURES}


def people(records=120, seed=1):
    random = np.random.default_rng(seed)
    town = random.choice(["A", "B"], records)
    return pd.DataFrame({"town": town, "pay": np.exp(random.normal(np.where(town == "A", 7, 8), 0.5)).round()})


def settings(**changes):
    given = {"synthesize": ["pay"], "keep": ["town"], "known": ["town"], "lower": 0, "upper": 1e6, "datasets": 2}
    return Settings(
        **{**given, "compare": ("topcoding",), "expected_risk_draws": 0, "min_leaf_size": 10, "seed": 3, **changes}
    )


def test_a_forest_is_fitted_to_half_of_the_people_and_the_others_are_the_control():
    release = synthesize(people(), settings(), progress=False)
    risk = release.evaluation.risk
    assert set(risk.loc[risk["measure"] == "linkability", "scheme"]) == {"confidential", release.scheme, "topcoding"}
    # Only what is released has a control of its own.
    assert set(risk.loc[risk["measure"].isin(["linkability_risk", "closest_records"]), "scheme"]) == {release.scheme}
    again = synthesize(people(), settings(), progress=False)
    pd.testing.assert_frame_equal(risk, again.evaluation.risk)


def test_a_trial_has_each_half_once_and_only_the_people_of_one_are_released():
    table = people()
    job = prepare(table, settings())
    fitted = fit(job.model, table, np.ones(len(table)), seed=1, progress=False)
    (trial,) = make_trials(job, {"unweighted": fitted}).values()
    both = pd.concat([trial.data.frame, trial.control.frame])
    assert sorted(both["pay"]) == sorted(table["pay"])
    for made in trial.released:
        assert made.frame["town"].tolist() == trial.data.frame["town"].tolist()
        assert made.frame["pay"].tolist() != trial.data.frame["pay"].tolist()


def test_attacks_can_be_left_out():
    release = synthesize(people(), settings(attacks="none"), progress=False)
    measured = {*release.evaluation.risk["measure"], *release.evaluation.utility["measure"]}
    assert not measured & ATTACKS
    assert not set(release.evaluation.measures["id"]) & ATTACKS


@pytest.mark.parametrize(("attacks", "number"), [("auto", 0), ("always", 1)])
def test_what_takes_chains_is_fitted_again_only_if_asked_for(attacks, number):
    table = people()
    job = prepare(table, settings(attacks=attacks, synthesizer="normal_linear", min_leaf_size="auto"))
    assert not job.is_grown
    fitted = fit(normal_linear("pay", ["town"]), table, np.ones(len(table)), seed=1, progress=False)
    assert len(make_trials(job, {"unweighted": fitted})) == number
