"""Expected risk: against a plain mean over drawn tables, and its error against independent repeats."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from agreement import assert_agrees, standard_error
from conjugate import pay_by_town
from molehill.arrays import derive_seed
from molehill.errors import InputError
from molehill.models import normal_linear
from molehill.risk.expected import BLOCKS, expected_risk
from molehill.risk.identification import release_risk
from molehill.risk.intruder import Intruder
from molehill.synthesis.fitting import draw
from molehill.synthesis.posterior import predict_from, put_back, spread_draws
from molehill.synthesis.synthesizer import Composite

NEIGHBOUR = Intruder(known="town", sensitive="pay", radius=0.1)


@pytest.fixture
def people():
    return pay_by_town()[0]


@pytest.fixture
def posterior():
    return pay_by_town()[1]


def test_it_is_the_mean_over_the_tables(people, posterior):
    ours = expected_risk(posterior, NEIGHBOUR, seed=5, datasets=40, tables_in_run=4)
    tables = [table for batch in posterior.predict_tables(40, seed=5) for table in batch]
    by_dataset = release_risk(people, tables, NEIGHBOUR).by_dataset
    assert ours.risk == pytest.approx(by_dataset.mean(axis=0))
    # Blocks are neighbours, runs are spread: table t is in block t * 20 // 40 and in run t % 10.
    assert ours.blocks[3] == pytest.approx(by_dataset[6:8].mean(axis=0))
    assert ours.runs[3] == pytest.approx(by_dataset[3::10].mean(axis=0))
    assert ours.runs.shape == (10, 40)
    blocks = by_dataset.reshape(BLOCKS, 2, -1).mean(axis=1)
    assert ours.error == pytest.approx(blocks.std(axis=0, ddof=1) / np.sqrt(BLOCKS))


def test_it_agrees_with_the_tables_that_draw_gives(people, posterior):
    ours = expected_risk(posterior, NEIGHBOUR, seed=5)
    drawn = draw(posterior, datasets=200, seed=6, unconverged="allow")
    realised = release_risk(people, drawn, NEIGHBOUR).by_dataset
    error = np.hypot(ours.error, realised.std(axis=0, ddof=1) / np.sqrt(200))
    # A record that is never close to its own value, or always, is off by more than this; over all records, variance of
    # the predictions that is left out.
    assert_agrees(ours.risk, realised.mean(axis=0), error, detects=0.4)
    every = np.hypot(standard_error(ours.blocks.mean(axis=1)), standard_error(realised.mean(axis=1)))
    assert_agrees(ours.risk.mean(), realised.mean(), every, detects=0.05)


def test_the_error_is_the_spread_of_independent_repeats(posterior):
    # Ten stretches of the chains, each with tables of its own: as good as ten fits of 200 draws.
    repeats = []
    for part in range(10):
        draws = {name: values[:, 100 * part : 100 * (part + 1)] for name, values in posterior.draws.items()}
        repeats.append(expected_risk(replace(posterior, draws=draws), NEIGHBOUR, seed=part, datasets=200))
    found = np.stack([repeat.risk for repeat in repeats]).var(axis=0, ddof=1)
    told = np.mean([repeat.error**2 for repeat in repeats], axis=0)
    error = np.hypot(standard_error(found) / found.mean(), standard_error(told) / told.mean())
    # An error that is told as half of what it is, or as twice.
    assert_agrees(np.log(told.mean() / found.mean()), 0.0, error, detects=np.log(4))


def test_batches_do_not_repeat_a_draw(people, posterior, monkeypatch):
    monkeypatch.setattr("molehill.risk.expected._BATCH", 7 * 40)
    batches = list(posterior.predict_tables(40, seed=5, at_once=7))
    assert [len(batch) for batch in batches] == [7, 7, 7, 7, 7, 5]
    pays = np.array([table["pay"].to_numpy() for batch in batches for table in batch])
    assert len(np.unique(pays[:, 0])) == 40
    with jax.enable_x64(new_val=True):
        second = predict_from(posterior, spread_draws(posterior, 40)[7:14], derive_seed(5, "batch", 7))
    assert pays[7] == pytest.approx(put_back(posterior.table, second[0].values, {}).frame["pay"].to_numpy())
    by_dataset = release_risk(people, [table for batch in batches for table in batch], NEIGHBOUR).by_dataset
    assert expected_risk(posterior, NEIGHBOUR, seed=5, datasets=40).risk == pytest.approx(by_dataset.mean(axis=0))


def test_a_table_that_was_looked_at_is_taken_as_seen(people, posterior):
    seen = expected_risk(posterior, NEIGHBOUR.view(people), seed=5, datasets=40)
    assert (seen.risk == expected_risk(posterior, NEIGHBOUR, seed=5, datasets=40).risk).all()


def test_a_synthesizer_of_parts_is_joined(people, posterior):
    composite = Composite(
        ("pay",), lambda _: {"main": normal_linear("pay", "town")}, lambda values, _: {"pay": values["main"]["pay"]}
    )
    whole = replace(posterior, synthesizer=composite, parts={"main": posterior})
    ours = expected_risk(whole, NEIGHBOUR, seed=6, datasets=40, tables_in_run=2)
    seed = int(np.random.SeedSequence(6).generate_state(1)[0])
    plain = expected_risk(posterior, NEIGHBOUR, seed=seed, datasets=40, tables_in_run=2)
    assert (ours.risk == plain.risk).all()
    # And what is joined can be something else than what a part gives.
    constant = replace(composite, join=lambda values, _: {"pay": 0 * values["main"]["pay"]})
    nothing = expected_risk(replace(whole, synthesizer=constant), NEIGHBOUR, seed=6, datasets=40, tables_in_run=2)
    assert (nothing.risk == 0).all()
    assert len(nothing.risk) == len(people)


def test_same_seed_same_risk(posterior):
    one, same, other = (
        expected_risk(posterior, NEIGHBOUR, seed=seed, datasets=40, tables_in_run=2).risk for seed in (1, 1, 2)
    )
    assert (one == same).all()
    assert (one != other).any()


def test_wrong_arguments_are_refused(posterior):
    for datasets in (30, 20, 0):
        with pytest.raises(InputError, match="datasets"):
            expected_risk(posterior, NEIGHBOUR, seed=1, datasets=datasets)
    with pytest.raises(InputError, match="datasets: 4000 tables need as many draws; there are 2000"):
        expected_risk(posterior, NEIGHBOUR, seed=1, datasets=4000)
    with pytest.raises(InputError, match="tables_in_run"):
        expected_risk(posterior, NEIGHBOUR, seed=1, datasets=40, tables_in_run=21)
    short = replace(posterior, diagnostics=replace(posterior.diagnostics, problems=("it is too short",)))
    with pytest.raises(InputError, match="has not converged"):
        expected_risk(short, NEIGHBOUR, seed=1, datasets=40)
    allowed = expected_risk(short, NEIGHBOUR, seed=1, datasets=40, tables_in_run=20, unconverged="allow")
    assert "40 tables, 40 records" in repr(allowed)
