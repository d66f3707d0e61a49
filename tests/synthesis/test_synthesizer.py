"""What a synthesizer is: a model from outside the package, several in a chain, and names that a column may have."""

import os
import stat
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest

from agreement import assert_agrees
from molehill.models import forest, normal_linear
from molehill.synthesis import model_fit
from molehill.synthesis.fitting import _learn_by_name, draw
from molehill.synthesis.posterior import Posterior, spread_draws
from molehill.synthesis.sampling import chains as sampling
from molehill.synthesis.sampling.chains import sample
from molehill.synthesis.sampling.checkpoints import write_chunk
from molehill.synthesis.synthesizer import Composite, Learned, SequentialSynthesizer, Synthesizer
from molehill.tables.table import Table
from people import COUNT, PEOPLE, WAGES, WEIGHTS, made_posterior, plain_fit, quick_fit, refusal, wages


def tables_of(posterior: Posterior, datasets: int = 4, seed: int = 3) -> list[Any]:
    return draw(posterior, datasets=datasets, seed=seed, unconverged="allow")


# A synthesizer of one's own.


def heavy_tails(age, region, pay=None):
    """A model that the package does not have."""
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    level: Any = numpyro.sample("level", dist.Normal(0, 1).expand([3]).to_event(1))
    with numpyro.plate("records", len(age)):
        numpyro.sample("pay", dist.Laplace(slope * age + level[region], 1), obs=pay)


def test_a_model_from_outside_the_package_is_fitted_drawn_and_called_by_its_own_words():
    words = "a regression with Laplace errors"
    synthesizer = Synthesizer(heavy_tails, sensitive=("pay",), name="heavy tails", words=words)
    posterior = quick_fit(synthesizer, PEOPLE, WEIGHTS)
    assert posterior.draws.keys() == {"slope", "level"}
    # True is 2; the posterior is about 0.1 wide. A slope that was not fitted would be drawn from its prior.
    assert_agrees(posterior.draws["slope"].mean(), 2.0, 0.2, detects=2.0, of="slope")
    assert (posterior.synthesizer.name, posterior.synthesizer.words) == ("heavy tails", words)
    assert posterior.options == {}
    for released in tables_of(posterior):
        pd.testing.assert_frame_equal(released.drop(columns="pay"), PEOPLE.drop(columns="pay"))
        assert not np.isclose(released["pay"], PEOPLE["pay"]).any()


def test_without_a_name_a_model_is_called_what_its_function_is():
    assert WAGES.name == "wages"
    assert WAGES.words == "the agency's own model, called wages"


def test_one_column_may_be_named_alone():
    one: Any = "pay"
    assert Synthesizer(wages, sensitive=one).sensitive == ("pay",)
    assert Synthesizer(wages, sensitive=["pay", "bonus"]).sensitive == ("pay", "bonus")  # pyright: ignore[reportArgumentType]
    parts: Any = {}
    assert Composite(one, parts, parts).sensitive == ("pay",)
    found = quick_fit(Synthesizer(wages, sensitive=one), PEOPLE, WEIGHTS)
    assert found.draws["slope"].tobytes() == plain_fit().draws["slope"].tobytes()


@pytest.mark.parametrize(
    ("make", "given", "argument", "words"),
    [
        (Synthesizer, (wages, None), "sensitive", "it is of type NoneType, not names of variables"),
        (Synthesizer, (wages, ()), "sensitive", "no variable is named"),
        (Synthesizer, (wages, (1,)), "sensitive", "a variable's name must be text, not int"),
        (Synthesizer, ("wages", "pay"), "model", "it is of type str, not a function"),
        (Composite, ((), dict, dict), "sensitive", "no variable is named"),
        (SequentialSynthesizer, ((),), "links", "it contains no synthesizer"),
        (SequentialSynthesizer, ("pay",), "links", "it contains something of type str, not a synthesizer"),
        (SequentialSynthesizer, ((WAGES, "bonus"),), "links", "it contains something of type str, not a synthesizer"),
        (SequentialSynthesizer, (None,), "links", "it is of type NoneType, not synthesizers"),
    ],
)
def test_what_cannot_be_a_synthesizer_is_named_at_once(make: Any, given: Any, argument, words):
    assert words in refusal(lambda: make(*given), argument)


def test_a_chain_of_one_or_of_a_list_is_a_chain():
    alone: Any = WAGES
    listed: Any = [WAGES, BONUS]
    assert SequentialSynthesizer(alone).links == (WAGES,)
    assert SequentialSynthesizer(listed).links == (WAGES, BONUS)


@pytest.mark.parametrize("given", ["x", None, wages, WAGES.model, PEOPLE])
def test_what_is_fitted_is_a_synthesizer(given: Any):
    text = refusal(lambda: quick_fit(given, PEOPLE), "synthesizer")
    assert "of type" in text
    assert "not a Synthesizer" in text


def test_a_seed_of_numpy_is_the_same_seed(tmp_path):
    seed: Any = np.int64(1)
    found = quick_fit(SequentialSynthesizer((WAGES, BONUS)), FIRM, WEIGHTS, seed=seed, checkpoint=tmp_path)
    for site, values in found.draws.items():
        assert values.tobytes() == chain_fit().draws[site].tobytes()


def test_what_was_learned_shows_names_and_shapes_and_no_value():
    shown = repr(_learn_by_name(WAGES, Table(PEOPLE)))
    assert shown == f"Learned(inputs: age ({COUNT},), pay ({COUNT},); facts: levels)"


def test_a_predictor_may_be_called_weights():
    def model(weights, pay=None):
        wages(weights, pay)

    posterior = quick_fit(Synthesizer(model, ("pay",)), PEOPLE.rename(columns={"age": "weights"}), WEIGHTS)
    assert posterior.draws["slope"].tobytes() == plain_fit().draws["slope"].tobytes()


def test_the_sensitive_column_may_be_called_weights():
    def model(age, weights=None):
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        with numpyro.plate("records", len(age)):
            numpyro.sample("weights", dist.Normal(slope * age, 1), obs=weights)

    posterior = quick_fit(Synthesizer(model, ("weights",)), PEOPLE.rename(columns={"pay": "weights"}), WEIGHTS)
    plain = plain_fit()
    assert posterior.draws["slope"].tobytes() == plain.draws["slope"].tobytes()
    for one, other in zip(tables_of(posterior), tables_of(plain), strict=True):
        pd.testing.assert_frame_equal(one, other.rename(columns={"pay": "weights"}))


KINDS = {
    "number": PEOPLE["age"],
    "text": PEOPLE["region"],
    "ordered": PEOPLE["job"],
    "boolean": PEOPLE["age"] > 0,
    "text with gaps": PEOPLE["region"].where(PEOPLE.index > 9),
    "categories with gaps": PEOPLE["job"].where(PEOPLE.index > 9),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_columns_of_a_users_model_are_read_again_as_they_were_learned(kind):
    def model(given, pay=None):
        del given, pay

    table = Table(PEOPLE.assign(given=KINDS[kind]))
    learned = _learn_by_name(Synthesizer(model, ("pay",)), table)
    assert learned.again is not None
    again = learned.again(table)
    assert again.keys() == {"given"}
    np.testing.assert_array_equal(again["given"], learned.inputs["given"])
    backwards = replace(table, frame=table.frame[::-1].reset_index(drop=True))
    np.testing.assert_array_equal(learned.again(backwards)["given"], learned.inputs["given"][::-1])


# Columns drawn one after the other.


NOISE = 0.3
FIRM = PEOPLE.assign(bonus=0.5 * PEOPLE["pay"] + np.random.default_rng(8).normal(0, NOISE, COUNT))


def bonuses(pay, bonus=None):
    share = numpyro.sample("share", dist.Normal(0, 1))
    with numpyro.plate("records", len(pay)):
        numpyro.sample("bonus", dist.Normal(share * pay, NOISE), obs=bonus)


BONUS = Synthesizer(bonuses, ("bonus",))
IN_PARTS = Composite(("bonus",), lambda _: {"only": BONUS}, lambda values, _: values["only"])


@cache
def chain_fit() -> Posterior:
    return quick_fit(SequentialSynthesizer((WAGES, BONUS)), FIRM, WEIGHTS)


def test_a_chain_says_what_its_links_say():
    posterior = chain_fit()
    chain = posterior.synthesizer
    assert chain.sensitive == ("pay", "bonus")
    assert chain.name == "wages, bonuses"
    assert chain.words == f"{WAGES.words} (pay); then {BONUS.words} (bonus)"
    mixed = SequentialSynthesizer((replace(WAGES, options={"colour": "red"}), BONUS))
    assert mixed.options == {"colour": "red"}
    assert posterior.draws.keys() == {"pay.slope", "bonus.share"}
    assert list(posterior.parts) == list(posterior.learned.facts) == ["pay", "bonus"]
    assert {name.split(".")[0] for name in posterior.diagnostics.table.index} == {"pay", "bonus"}
    assert repr(posterior).startswith("Posterior(pay, bonus: 2 chains x 100 draws")


def test_one_column_through_a_chain_is_that_column_alone():
    alone, chained = plain_fit(), quick_fit(SequentialSynthesizer((WAGES,)), FIRM, WEIGHTS)
    assert chained.draws["pay.slope"].tobytes() == alone.draws["slope"].tobytes()
    for one, other in zip(tables_of(chained), tables_of(alone), strict=True):
        pd.testing.assert_frame_equal(one.drop(columns="bonus"), other, check_exact=True)
    # The first of several too.
    both = chain_fit()
    assert both.draws["pay.slope"].tobytes() == alone.draws["slope"].tobytes()
    for one, other in zip(tables_of(both), tables_of(alone), strict=True):
        assert one["pay"].to_numpy().tobytes() == other["pay"].to_numpy().tobytes()


@pytest.mark.parametrize("second", [BONUS, IN_PARTS], ids=["synthesizer", "composite"])
def test_a_second_column_goes_with_the_first_as_drawn_and_not_as_it_was(second):
    posterior = chain_fit() if second is BONUS else quick_fit(SequentialSynthesizer((WAGES, IN_PARTS)), FIRM, WEIGHTS)
    datasets = 20
    tables = tables_of(posterior, datasets)
    part = posterior.parts["bonus"]
    share = part.draws["share" if second is BONUS else "only.share"]
    # What the model says of a bonus, given the drawn pay and the draw that the table is of: noise and nothing else.
    rest = [
        (table["bonus"] - share[place] * table["pay"]) / NOISE
        for table, place in zip(tables, spread_draws(part, datasets), strict=True)
    ]
    assert_noise(np.concatenate(rest))
    true = FIRM["pay"] - FIRM["pay"].mean()
    # Given the true pay, as one would draw without a chain, it would go with that.
    slopes = np.array(rest) @ true.to_numpy() / (true**2).sum()
    error = 1 / np.sqrt(datasets * (true**2).sum())
    assert_agrees(slopes.mean(), 0.0, error, detects=0.5 / NOISE, of="what goes with the collected pay")
    for table in tables:
        pd.testing.assert_frame_equal(table.drop(columns=["pay", "bonus"]), PEOPLE.drop(columns="pay"))


def assert_noise(rest: np.ndarray) -> None:
    """Assert that numbers are standard normal: a bonus that goes with another pay is many times as far away."""
    error = 1 / np.sqrt(rest.size)
    assert_agrees(rest.mean(), 0.0, error, detects=1.0, of="mean of the noise")
    assert_agrees(rest.std(), 1.0, error / np.sqrt(2), detects=1.0, of="spread of the noise")


def spied(synthesizer: Synthesizer, seen: list[pd.DataFrame]) -> Synthesizer:
    """The same synthesizer, noting the tables that it is learned again from."""
    learn = synthesizer.learn
    assert learn is not None

    def watch(table: Table, weights: Any) -> Learned:
        learned = learn(table, weights)
        again = learned.again
        assert again is not None

        def note(drawn: Table) -> Any:
            seen.append(drawn.frame)
            return again(drawn)

        return replace(learned, again=note)

    return replace(synthesizer, learn=watch)


def test_levels_survive_a_chain_and_the_design_is_made_again_from_them():
    seen: list[pd.DataFrame] = []
    gaps = PEOPLE.assign(job=PEOPLE["job"].where(PEOPLE.index > 1), pay=PEOPLE["pay"] + 20.0 * (PEOPLE["job"] == "top"))
    links = forest("job", ["region"], trees=20), spied(normal_linear("pay", "job", lower=-40, upper=40), seen)
    posterior = quick_fit(SequentialSynthesizer(links), gaps)
    # Once before the fit, to see that it can be done.
    pd.testing.assert_frame_equal(seen.pop(), gaps)
    tables = tables_of(posterior)
    assert len(seen) == len(tables)
    for table, given in zip(tables, seen, strict=True):
        pd.testing.assert_series_equal(given["job"], table["job"])
        assert table["job"].dtype == gaps["job"].dtype
        assert np.flatnonzero(table["job"].isna()).tolist() == [0, 1]
        assert not table["job"].equals(gaps["job"])
        assert table["pay"].between(-40, 40).all()
        # The pay goes with the new job: the two are 20 apart, with a noise of 2 to 3.
        top, others = table["pay"][table["job"] == "top"], table["pay"][table["job"] != "top"]
        error = np.hypot(3.0, 3.0) / np.sqrt(len(top))
        assert_agrees(top.mean() - others.mean(), 20.0, error, detects=20.0, of="pay of the new job")


def test_what_is_replaced_later_is_not_there_to_learn_from():
    columns = []

    def learn(table: Table, weights: Any) -> Learned:
        del weights
        columns.append(list(table.frame.columns))
        return _learn_by_name(WAGES, table)

    quick_fit(SequentialSynthesizer((replace(WAGES, learn=learn), BONUS)), FIRM)
    assert columns == [[name for name in FIRM.columns if name != "bonus"]]
    assert "no variable 'pay'" in refusal(lambda: quick_fit(SequentialSynthesizer((BONUS, WAGES)), FIRM), "model")


def test_a_column_is_replaced_once():
    assert "more than once" in refusal(
        lambda: quick_fit(SequentialSynthesizer((WAGES, BONUS, WAGES)), FIRM), "sensitive"
    )


def test_a_link_that_cannot_be_learned_again_is_refused_before_it_is_fitted(monkeypatch):
    def learn(table: Table, weights: Any) -> Learned:
        del weights
        return replace(_learn_by_name(BONUS, table), again=None)

    once = replace(BONUS, learn=learn)
    quick_fit(SequentialSynthesizer((once,)), FIRM)
    fitted = []

    def watched(*given: Any, title: str, **named: Any) -> Any:
        fitted.append(title)
        return sample(*given, title=title, **named)

    monkeypatch.setattr(model_fit, "sample", watched)
    text = refusal(lambda: quick_fit(SequentialSynthesizer((WAGES, once)), FIRM), "synthesizer")
    assert "the inputs of 'bonuses' cannot be recomputed" in text
    assert fitted == ["fitting pay"]


@pytest.mark.posix
def test_a_chain_that_was_interrupted_goes_on_to_the_same_bytes(tmp_path, monkeypatch):
    folder = tmp_path / "kept"

    def interrupt(store: Any, number: int, *rest: Any) -> None:
        write_chunk(store, number, *rest)
        if store.folder.name == "link-1":
            raise KeyboardInterrupt

    mask = os.umask(0o022)
    with monkeypatch.context() as patch:
        patch.setattr(sampling, "write_chunk", interrupt)
        with pytest.raises(KeyboardInterrupt):
            quick_fit(SequentialSynthesizer((WAGES, BONUS)), FIRM, WEIGHTS, checkpoint=folder)
    os.umask(mask)
    assert {path.name for path in folder.iterdir()} == {"link-0", "link-1"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())} == {0o700}
    assert len(list(folder.rglob("chunk-*"))) == len(list((folder / "link-0").glob("chunk-*"))) + 1
    resumed, whole = quick_fit(SequentialSynthesizer((WAGES, BONUS)), FIRM, WEIGHTS, checkpoint=folder), chain_fit()
    for site, values in whole.draws.items():
        assert resumed.draws[site].tobytes() == values.tobytes()
    for one, other in zip(tables_of(resumed), tables_of(whole), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_each_link_starts_from_its_own_draws(monkeypatch):
    first, started = chain_fit(), []
    find = model_fit._starting_draws
    monkeypatch.setattr(
        model_fit, "_starting_draws", lambda posterior, learned: started.append(posterior) or find(posterior, learned)
    )
    quick_fit(SequentialSynthesizer((WAGES, BONUS)), FIRM, start_from=first)
    assert started == list(first.parts.values())


def test_options_reach_the_links_that_have_them():
    coloured = replace(WAGES, options={"colour": "red"})
    first, second = made_posterior(coloured, FIRM, slope=2.0), made_posterior(BONUS, FIRM, share=0.5)
    posterior = replace(
        first, synthesizer=SequentialSynthesizer((coloured, BONUS)), parts={"pay": first, "bonus": second}
    )
    changed = posterior.drawing_by(colour="blue")
    assert (posterior.options, changed.options) == ({"colour": "red"}, {"colour": "blue"})
    assert changed.parts["bonus"] is second


def test_tables_of_a_chain_come_in_batches_that_cover_the_whole_posterior():
    posterior = chain_fit()
    batches = list(posterior.predict_tables(5, seed=3, at_once=2))
    assert [len(batch) for batch in batches] == [2, 2, 1]
    tables = [table for batch in batches for table in batch]
    share = posterior.parts["bonus"].draws["share"]
    for table, place in zip(tables, spread_draws(posterior, 5), strict=True):
        assert_noise(((table["bonus"] - share[place] * table["pay"]) / NOISE).to_numpy())
    assert len({table["pay"].to_numpy().tobytes() for table in tables}) == 5
    (whole,) = posterior.predict_tables(4, seed=3, at_once=9)
    for one, other in zip(whole, tables_of(posterior), strict=True):
        pd.testing.assert_frame_equal(one, other)
