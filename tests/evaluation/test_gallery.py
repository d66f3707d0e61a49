"""Some releases of the gallery (docs/gallery.md), and the recommendation that they must get."""

import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from molehill import EvaluationOptions, Intruder, evaluate
from molehill.evaluation.verdict import judge

PATH = Path(__file__).parents[2] / "benchmarks" / "gallery.py"


def sort_rows(frame):
    return frame.sort_values(list(frame), ignore_index=True)


@pytest.fixture(scope="module")
def gallery():
    spec = spec_from_file_location("gallery", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Data classes look their module up.
    sys.modules["gallery"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["gallery"]


def test_a_release_drawn_from_the_true_model_is_not_refused(gallery):
    verdict, why = gallery.recommend(next(gallery.list_safe()))
    assert verdict.decision == "no objection", why


@pytest.mark.parametrize(
    ("leak", "because"),
    [
        ("7 a total whose components are released unchanged", "predicted from other released variables"),
        ("12 new values that end in the digits of the true ones", "by a multiple of"),
    ],
)
def test_a_release_that_leaks_at_full_strength_is_not_recommended(gallery, leak, because):
    verdict, why = gallery.recommend(gallery.make_leak(leak, "full"))
    assert verdict.decision == "do not release"
    assert because in why


@pytest.mark.parametrize(("strength", "decision"), [("weak", "no objection"), ("medium", "do not release")])
def test_copies_in_one_dataset_are_found_without_repetitions(gallery, strength, decision):
    leak = gallery.make_leak("1 values of some people, in every dataset", strength)
    verdict, _ = gallery.recommend(replace(leak, datasets=leak.datasets[:1]))
    assert verdict.decision == decision
    assert "people with their true value, one that few have, beyond chance" in verdict.sentence


@pytest.mark.parametrize("datasets", [1, 2])
def test_draws_in_few_datasets_are_no_matter_for_a_board(gallery, datasets):
    safe = next(gallery.list_safe())
    verdict, why = gallery.recommend(replace(safe, datasets=safe.datasets[:datasets]))
    assert verdict.decision == "no objection", why
    assert "by chance" in verdict.sentence


def test_a_coin_is_found_by_chance_and_refused_as_a_copy_alone():
    random = np.random.default_rng(1)
    # Everybody is alone in the key variables: any released value that is right is matched uniquely.
    data = pd.DataFrame({"code": np.arange(200) % 100, "sex": random.permutation(np.repeat(["f", "m"], 100))})
    data = data.sort_values(["sex", "code"], ignore_index=True).assign(code=np.tile(np.arange(100), 2), coin="heads")
    coins = [random.choice(["heads", "tails"], 200) for _ in range(6)]
    data, intruder = data.assign(coin=coins[0]), Intruder(known=["code", "sex"], sensitive="coin", breaks={})
    how = EvaluationOptions(progress=False)
    for own, decision in ((coins[1:], "no objection"), (coins[:1] * 5, "do not release")):
        found = evaluate(data, [data.assign(coin=one) for one in own], intruder, how)
        assert judge(found).decision == decision, judge(found).sentence


def test_the_gallery_has_thirty_releases_and_says_which_recommendation_is_wrong(gallery):
    leaks = [gallery.make_leak(leak, strength) for leak in gallery.LEAKS for strength in ("weak", "full")]
    assert len(gallery.LEAKS) * len(gallery.STRENGTHS) + len(list(gallery.list_useless())) >= 30
    assert [gallery.must(one, "no objection") for one in leaks] == ["", "missed"] * len(gallery.LEAKS)
    assert gallery.must(next(gallery.list_safe()), "do not release") == "refused"
    for one in leaks:
        # Nothing but the synthesized variables, and the order, differs from the confidential data.
        rest = [name for name in one.world.data if name not in (one.world.column, *one.world.beside)]
        own = one.world.data[rest]
        if one.character.startswith("21"):
            assert all(sort_rows(made[rest]).equals(sort_rows(own)) for made in one.datasets)
        else:
            assert all(made[rest].equals(own) for made in one.datasets)
