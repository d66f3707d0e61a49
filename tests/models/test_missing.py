"""Which values are missing is synthesized too: its share, what it depends on, and that nothing of it is kept."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from molehill import Settings, synthesize
from molehill.models import multinomial, normal_linear, semicontinuous
from molehill.models.missing import model_missing
from molehill.synthesis.fitting import draw
from people import people, quick_fit

RNG = np.random.default_rng(8)
ALLOWED: Any = {"datasets": 20, "seed": 2, "unconverged": "allow"}
# Half of those in the west have no value, and hardly anybody else.
WHOLE = people(600)
WEST = (WHOLE["region"] == "W").to_numpy()
GONE = RNG.uniform(size=600) < np.where(WEST, 0.5, 0.05)


@pytest.mark.parametrize(
    ("column", "make"),
    [
        ("pay", lambda: normal_linear("pay", ["age"])),
        ("income", lambda: semicontinuous("income", ["age"], components=2, lower=-1e6, upper=1e6)),
        ("job", lambda: multinomial("job", ["age"])),
    ],
)
def test_missing_values_have_their_share_in_every_group_and_are_others(column, make):
    data = WHOLE.assign(**{column: WHOLE[column].mask(GONE)})
    posterior = quick_fit(model_missing(make(), ["region"]), data, np.where(GONE, 0.0, 1.0))
    assert (posterior.parts["missing"].weights == 1).all()
    tables = draw(posterior, **ALLOWED)
    absent = np.array([table[column].isna() for table in tables])
    for group, share in ((WEST, 0.5), (~WEST, 0.05)):
        spread = np.sqrt(share / group.sum())
        assert absent[:, group].mean() == pytest.approx(GONE[group].mean(), abs=5 * spread)
    # A record's own fate says nothing beyond its predictors.
    assert absent[:, GONE & WEST].mean() == pytest.approx(absent[:, ~GONE & WEST].mean(), abs=0.1)
    assert tables[0][column].dtype == data[column].dtype
    assert set(tables[0][column].dropna()) <= set(data[column].dropna()) or column != "job"


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
    other = synthesize(whole, Settings(**call, datasets=2), progress=False)
    assert other.posterior.synthesizer.name == "normal_linear"
    assert "missing" not in other.posterior.parts


def test_parts_that_can_be_done_without_still_can():
    inner = semicontinuous("income", ["age"], components=2, lower=-1e6, upper=1e6)
    assert model_missing(inner, ["age"]).optional == inner.optional == ("positive", "negative")
