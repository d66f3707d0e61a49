"""Which values are missing is synthesized too: its share, what it depends on, and that nothing of it is kept."""

import numpy as np
import pandas as pd
import pytest

from agreement import assert_agrees, assert_mean
from molehill import Settings, synthesize
from molehill.models import multinomial, normal_linear, semicontinuous
from molehill.models.missing import model_missing
from molehill.release.making import choose_synthesizer
from molehill.release.release import make_dossier
from molehill.report.methods import methods_note
from molehill.synthesis.fitting import draw
from molehill.synthesis.posterior import spread_draws
from molehill.synthesis.synthesizer import Composite, Synthesizer
from molehill.tables.table import Table
from people import COUNT, PEOPLE, quick_fit

RNG = np.random.default_rng(8)
MAKE = {
    "pay": lambda: normal_linear("pay", ["region"]),
    "income": lambda: semicontinuous("income", ["region"], loss_predictors=["region"], transform="log"),
    "job": lambda: multinomial("job", ["region"]),
}


WEST = (PEOPLE["region"] == "W").to_numpy()


def exact_shares(gone: np.ndarray) -> np.ndarray:
    """Mean of the share that is missing in every region, by the posterior of a logistic regression on a grid."""
    axes = np.linspace(-7, 3, 60), np.linspace(-4, 4, 50), np.linspace(-4, 4, 50)
    first, south, west = np.meshgrid(*axes, indexing="ij")
    logs = -0.5 * ((first / 2.5) ** 2 + south**2 + west**2)
    shares = [1 / (1 + np.exp(-logit)) for logit in (first, first + south, first + west)]
    for region, share in zip("NSW", shares, strict=True):
        own = gone[(PEOPLE["region"] == region).to_numpy()]
        logs += own.sum() * np.log(share) + (~own).sum() * np.log1p(-share)
    weights = np.exp(logs - logs.max())
    return np.array([(weights * share).sum() for share in shares]) / weights.sum()


@pytest.mark.parametrize("column", MAKE)
def test_missing_values_have_their_share_in_every_group_and_are_others(column):
    # Half of those in the west have no value, and hardly anybody else.
    gone = np.random.default_rng(8).uniform(size=COUNT) < np.where(WEST, 0.5, 0.05)
    data = PEOPLE.assign(**{column: PEOPLE[column].mask(gone)})
    posterior = quick_fit(model_missing(MAKE[column](), ["region"]), data, np.where(gone, 0.0, 1.0))
    absence = posterior.parts["missing"]
    assert (absence.weights == 1).all()
    assert absence.learned.facts["levels"] == ("there", "missing")
    datasets = 80
    tables = draw(posterior, datasets=datasets, seed=2, unconverged="allow")
    absent = np.array([table[column].isna() for table in tables])
    # What the part says of every record, by the draw that a table is from: nothing but its predictors, and chance.
    places = spread_draws(posterior, datasets)
    logits = np.array([absence.learned.inputs["design"] @ absence.draws["beta"][place][:, 0] for place in places])
    chance = 1 / (1 + np.exp(-logits))
    for chosen in (WEST, ~WEST, gone & WEST, ~gone & WEST):
        own = chance[:, chosen]
        error = np.sqrt((own * (1 - own)).sum()) / own.size
        assert_agrees(absent[:, chosen].mean(), own.mean(), error, detects=0.15, of="missing")
    # In the regions as the posterior of a regression on them has it. Draws of a short fit are worth a quarter of their
    # number at least. Without the region a fifth would be missing everywhere: 0.2 less in the west, 0.1 more elsewhere.
    beta = absence.draws["beta"][..., 0].reshape(-1, 3)
    for place, (share, detects) in enumerate(zip(exact_shares(gone), (0.1, 0.1, 0.15), strict=True)):
        drawn = 1 / (1 + np.exp(-beta[:, 0] - (beta[:, place] if place else 0.0)))
        assert_mean(drawn, share, effective=len(drawn) / 4, detects=detects, of=f"region {place}")
    assert tables[0][column].dtype == data[column].dtype
    assert set(tables[0][column].dropna()) <= set(data[column].dropna()) or column != "job"


WHOLE = pd.DataFrame({"town": RNG.choice(["A", "B"], COUNT), "pay": np.exp(RNG.normal(8, 1, COUNT)).round()})
ASKED = Settings(
    synthesize="pay", keep="town", known="town", lower=0.0, upper=1e6, seed=3, missing_values="model", shuffle=False
)


def test_settings_ask_for_it_where_values_are_missing():
    asked = ASKED.but(synthesizer="normal_linear")
    gaps = WHOLE.assign(pay=WHOLE["pay"].where(WHOLE.index >= 36))
    chosen, plain = (choose_synthesizer(asked.intruder.view(frame), asked) for frame in (gaps, WHOLE))
    assert isinstance(chosen, Composite)
    assert list(chosen.parts(Table(gaps))) == ["missing", "value"]
    assert isinstance(plain, Synthesizer)
    assert chosen.name == plain.name == "normal_linear"


def test_a_release_with_other_missing_values_says_so():
    gaps = WHOLE.assign(pay=WHOLE["pay"].where(WHOLE.index >= 36))
    quickly = ASKED.but(synthesizer="forest", compare=(), expected_risk_draws=0, datasets=2)
    release = synthesize(gaps, quickly, progress=False)
    gone = np.array([table["pay"].isna() for table in release.datasets])
    assert gone[:, 36:].any()
    assert not gone[:, :36].all()
    assert "Which values are missing was predicted" in methods_note(make_dossier(release))


def test_parts_that_can_be_done_without_still_can():
    inner = semicontinuous("income", ["age"], components=2, lower=-1e6, upper=1e6)
    assert model_missing(inner, ["age"]).optional == inner.optional == ("positive", "negative")
