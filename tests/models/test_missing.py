"""Which values are missing is synthesized too: its share, what it depends on, and that nothing of it is kept."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from drawing import in_words  # noqa: F401
from molehill import Settings, synthesize
from molehill.models import multinomial, normal_linear, semicontinuous
from molehill.models.missing import model_missing
from molehill.synthesis.fitting import draw
from people import COUNT, people, quick_fit

RNG = np.random.default_rng(8)
MAKE = {
    "pay": lambda: normal_linear("pay", ["age"]),
    "income": lambda: semicontinuous("income", components=2, lower=-1e6, upper=1e6),
    "job": lambda: multinomial("job", ["age"]),
}


@pytest.mark.parametrize(
    ("column", "records"),
    [
        ("pay", 600),
        # Few tell less of shares; they are as many as in other tests, whose compiled code is used again.
        ("income", COUNT),
        ("job", COUNT),
        pytest.param("income", 600, marks=pytest.mark.slow),
        pytest.param("job", 600, marks=pytest.mark.slow),
    ],
)
def test_missing_values_have_their_share_in_every_group_and_are_others(column, records):
    # Half of those in the west have no value, and hardly anybody else.
    whole, random = people(records), np.random.default_rng(8)
    west = (whole["region"] == "W").to_numpy()
    gone = random.uniform(size=records) < np.where(west, 0.5, 0.05)
    data = whole.assign(**{column: whole[column].mask(gone)})
    posterior = quick_fit(model_missing(MAKE[column](), ["region"]), data, np.where(gone, 0.0, 1.0))
    assert (posterior.parts["missing"].weights == 1).all()
    # As many values in all, whatever the records.
    tables = draw(posterior, datasets=12_000 // records, seed=2, unconverged="allow")
    absent = np.array([table[column].isna() for table in tables])
    for group, share in ((west, 0.5), (~west, 0.05)):
        spread = np.sqrt(share / group.sum())
        assert absent[:, group].mean() == pytest.approx(gone[group].mean(), abs=5 * spread)
    assert absent[:, west].mean() > absent[:, ~west].mean() + 0.2
    # A record's own fate says nothing beyond its predictors.
    assert absent[:, gone & west].mean() == pytest.approx(absent[:, ~gone & west].mean(), abs=0.1)
    assert tables[0][column].dtype == data[column].dtype
    assert set(tables[0][column].dropna()) <= set(data[column].dropna()) or column != "job"


@pytest.mark.usefixtures("in_words")
def test_settings_ask_for_it_and_the_release_says_so(tmp_path):
    whole = pd.DataFrame({"town": RNG.choice(["A", "B"], 120), "pay": np.exp(RNG.normal(8, 1, 120)).round()})
    data = whole.assign(pay=whole["pay"].where(whole.index >= 36))
    call: dict[str, Any] = {"replace": "pay", "keep": "town", "known": "town", "lower": 0.0, "upper": 1e6, "seed": 3}
    call |= {"missing": "model", "shuffle": False, "synthesizer": "normal_linear", "compare": (), "expected_tables": 40}
    release = synthesize(data, Settings(**call, datasets=5), progress=False)
    gone = np.array([table["pay"].isna() for table in release.datasets])
    assert gone[:, 36:].any()
    assert not gone[:, :36].all()
    assert gone.mean() == pytest.approx(0.3, abs=0.1)
    release.save(tmp_path / "out")
    note = (tmp_path / "out" / "release" / "methods.md").read_text()
    assert "Which values are missing was predicted" in note
    # Where nothing is missing there is nothing to model.
    other = synthesize(whole[36:].reset_index(drop=True), Settings(**call, datasets=2), progress=False)
    assert other.posterior.synthesizer.name == "normal_linear"
    assert "missing" not in other.posterior.parts


def test_parts_that_can_be_done_without_still_can():
    inner = semicontinuous("income", ["age"], components=2, lower=-1e6, upper=1e6)
    assert model_missing(inner, ["age"]).optional == inner.optional == ("positive", "negative")
