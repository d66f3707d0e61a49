"""The attacks of boards through `evaluate`: by hand, on releases of which is known what must come out, and left out."""

import numpy as np
import pandas as pd
import pytest

from agreement import assert_rate_at_most
from molehill.attacks.rates import Trial
from molehill.errors import InputError
from molehill.evaluation.attack_data import round_breaks
from molehill.evaluation.catalogue import ATTACK_MEASURES, MEASURES
from molehill.evaluation.evaluation import evaluate
from molehill.evaluation.options import EvaluationOptions
from molehill.evaluation.scorecard import RULES, Rule, score
from molehill.risk.intruder import Intruder
from molehill.rules import read_constraints
from molehill.rules.rules import Rules
from molehill.tables.table import Table

KNOWN, SENSITIVE = ["age", "sex", "town"], ["pay", "job"]
INTRUDER = Intruder(known=KNOWN, sensitive=SENSITIVE, radius=0.2)
SMALL = Intruder(known="town", sensitive="job")
CRITERIA = ("singling out", "linkability", "inference")


def sample(random, number=300):
    age, sex = random.integers(18, 80, number), random.choice(["f", "m"], number)
    town = random.choice(list("ABCDE"), number, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    pay = np.exp(9 + age / 80 + 0.3 * (sex == "m") + random.normal(0, 0.5, number)).round(2)
    job = np.where(random.random(number) < 0.6, random.choice(list("xyz"), number), town)
    return pd.DataFrame({"age": age, "sex": sex, "town": town, "pay": pay, "job": job})


@pytest.fixture(scope="module")
def references():
    """The data themselves, half of the values drawn anew, and a fresh sample, with people who were not used."""
    random = np.random.default_rng(1)
    data, people, fresh = sample(random), sample(random), sample(random)
    again = sample(random).apply(lambda column: random.permutation(column.to_numpy()))
    chosen = pd.DataFrame(random.random(data.shape) < 0.5, columns=data.columns)
    releases = {"data": data, "noise": data.mask(chosen, again), "fresh": fresh}
    how = {"measures": MEASURES, "control": people, "seed": 1}
    linked = evaluate(data, {name: releases[name] for name in ("data", "noise")}, INTRUDER, EvaluationOptions(**how))
    return {
        "data": (linked, "data"),
        "noise": (linked, "noise"),
        "fresh": (evaluate(data, {"fresh": fresh}, INTRUDER, EvaluationOptions(fully_synthetic=True, **how)), "fresh"),
    }


def figure(evaluation, scheme, measure, column=None, at=None):
    rows = pd.concat([evaluation.risk, evaluation.utility])
    rows = rows[(rows["scheme"] == scheme) & (rows["measure"] == measure)]
    rows = rows if column is None else rows[rows["column"] == column]
    rows = rows if at is None else rows[rows["at"] == at]
    (value,) = rows["value"]
    return value


def test_a_small_table_by_hand():
    data = pd.DataFrame({"town": ["A", "A", "B", "B", "C"], "job": ["x", "y", "x", "x", "y"]})
    released = data.assign(job=["x", "x", "x", "y", "y"])
    found = evaluate(data, {"one": released}, SMALL, EvaluationOptions(measures=ATTACK_MEASURES, analyses=[]))
    sizes = found.risk.query("measure == 'k_anonymity' and scheme == 'one'").set_index("of")["value"]
    assert sizes.to_dict() == {"1": 1, "2": 4, "3 to 4": 0, "5 to 9": 0}
    for measure in ("uniques", "uniques_released", "uniques_found", "replicated_uniques"):
        assert figure(found, "one", measure) == 0.2
    assert figure(found, "one", "disclosive_original") == 0.6
    assert figure(found, "one", "disclosive") == pytest.approx(0.4)
    # Two of five have y, three x: guessing by these shares whoever the release is sure of, A twice and C.
    assert figure(found, "one", "disclosive_baseline") == pytest.approx((0.6 + 0.4 + 0.4) / 5)
    assert figure(found, "one", "attribution_baseline") == pytest.approx(0.6**2 + 0.4**2)
    # Sure are A, x, twice, of which half is true, and C, y, which is.
    assert figure(found, "one", "attribution") == pytest.approx((0.5 + 0.5 + 1) / 3)
    assert figure(found, "confidential", "l_diversity") == 1
    # The known column is kept: there is nothing to link by, and no control to compare with.
    assert not set(found.risk["measure"]) & {"linkage_right", "inference_risk", "closest_records"}


def test_known_columns_that_were_changed_are_linked_by():
    data = pd.DataFrame({"town": ["A", "B", "C", "D"], "job": ["x", "y", "x", "y"]})
    released = data.assign(town=["A", "C", "C", "B"])
    found = evaluate(data, {"one": released}, SMALL, EvaluationOptions(measures=ATTACK_MEASURES, analyses=[]))
    assert figure(found, "one", "linkage_expected") == 1.5
    assert figure(found, "one", "linkage_unique") == 2
    assert figure(found, "one", "linkage_right") == 1
    keyed = data.assign(id=[1, 2, 3, 4])
    shuffled = released.assign(id=[1, 2, 3, 4]).iloc[[2, 0, 3, 1]].reset_index(drop=True)
    again = evaluate(
        keyed, {"one": shuffled}, SMALL, EvaluationOptions(measures=ATTACK_MEASURES, analyses=[], id_column="id")
    )
    assert figure(again, "one", "linkage_right") == 1


def test_codes_that_are_categories_and_groups_are_no_numbers():
    data = pd.DataFrame({"age": [20, 21, 60, 61], "job": [1, 2, 1, 2]})
    intruder = Intruder(known="age", sensitive="job", breaks={"age": [40]}, kinds={"job": "categorical"})
    found = evaluate(
        data, {"one": data.assign(job=[1.0, 1.0, 2.0, 2.0])}, intruder, EvaluationOptions(measures=ATTACK_MEASURES)
    )
    assert figure(found, "one", "disclosive") == 0.5
    assert not set(found.utility["measure"]) & {"beyond_range", "at_ends"}


def test_values_beyond_the_range_and_pairs_that_nobody_has():
    data = pd.DataFrame({"age": ["young", "young", "old", "old"], "pay": [10.5, 10.5, 10.5, 99.5]})
    intruder = Intruder(known="age", sensitive="pay", radius=0.1)
    found = evaluate(
        data, {"one": data.assign(pay=[99.5, 10.5, 8.0, 120.0])}, intruder, EvaluationOptions(measures=ATTACK_MEASURES)
    )
    assert figure(found, "one", "beyond_range") == 2
    assert figure(found, "one", "beyond_range_benchmark") == pytest.approx(2 * 4 / 5)
    assert figure(found, "one", "at_ends") == 0.5
    assert figure(found, "one", "new_pairs") >= 1


def test_small_cells_heaps_dates_and_rules_are_measured_and_judged():
    random = np.random.default_rng(1)
    when = pd.Series(pd.date_range("1991-01-01", periods=200, freq="MS")).to_numpy()
    pay = 100.0 * np.where(
        random.random(200) < 0.6, 100 * random.integers(1, 50, 200), random.integers(100, 5_000, 200)
    )
    data = pd.DataFrame({"town": random.choice(list("ABCDEFGH"), 200), "rent": 99, "pay": pay, "when": when})
    intruder = Intruder(known="town", sensitive=["pay", "when"], radius=0.1)
    rules = Rules(constraints=read_constraints("rent < pay", data))
    released = data.assign(pay=data["pay"] * 0 + 50.5, when=data["when"] + pd.Timedelta(days=14))
    schemes = {"copy": data, "made": released}
    found = evaluate(
        data, schemes, intruder, EvaluationOptions(measures=ATTACK_MEASURES, analyses=[], edit_rules=rules)
    )
    assert figure(found, "copy", "small_cells") == figure(found, "confidential", "small_cells") > 0
    assert (figure(found, "copy", "small_cells_kept"), figure(found, "copy", "small_cells_gain")) == (1, 1)
    assert figure(found, "made", "excess_digits", "pay") == 1
    assert figure(found, "confidential", "round_values", "pay") == figure(found, "made", "round_gap", "pay")
    firsts = found.utility.query("measure == 'dates' and of == 'the first of a month'").set_index("scheme")["value"]
    assert firsts.to_dict() == {"confidential": 1, "copy": 1, "made": 0}
    assert figure(found, "made", "dates_gap") == 1
    broken = found.utility.query("measure == 'edit_failures'").set_index(["scheme", "of"])["value"]
    assert broken["made", "rent < pay"] == broken["made", "any rule"] == 200
    assert figure(found, "made", "edit_failures_excess") == 1
    scores = {name: {one.family: one for one in score(found, name)}["consistency"] for name in schemes}
    assert {one.colour for one in scores.values()} == {"red"}
    assert "break a rule" in scores["made"].why
    assert "cells of one or two" in scores["copy"].why
    # What shows that values were made warns.
    loose = evaluate(data, {"made": released}, intruder, EvaluationOptions(measures=ATTACK_MEASURES, analyses=[]))
    warned = {one.family: one for one in score(loose)}["consistency"]
    assert warned.colour == "amber"
    for words in ("round values", "as nobody's are", "dates on a day"):
        assert words in warned.why
    names = ("small_cells", "heaps", "dates", "rules")
    less = evaluate(
        data, schemes, intruder, EvaluationOptions(measures=ATTACK_MEASURES, analyses=[], edit_rules=rules, skip=names)
    )
    assert not {one.id for one in ATTACK_MEASURES if one.part_of in names} & set(less.utility["measure"])


def test_groups_of_a_number_end_at_round_numbers():
    assert round_breaks(np.array([np.nan, np.nan])) == ()
    assert round_breaks(np.array([3.0, 3.0])) == ()
    assert round_breaks(np.linspace(12_345, 98_765, 50)) == (30_000.0, 47_000.0, 64_000.0, 81_000.0)


def test_the_data_themselves_are_red(references):
    scores = {one.family: one for one in score(*references["data"])}
    for family in ("identity", "attribute", *CRITERIA, "membership"):
        assert scores[family].colour == "red", scores[family]
        assert "red from" in scores[family].why


def test_a_fresh_sample_shows_nothing_beyond_its_control(references):
    scores = {one.family: one for one in score(*references["fresh"])}
    for family in (*CRITERIA, "membership", "attribute"):
        assert scores[family].colour == "green", scores[family]
    # Nobody has an own record there.
    assert scores["unchanged_inference"].colour == "not judged"


def test_noise_lies_between(references):
    for measure, column, at in [
        ("inference_risk", "job", None),
        ("linkability_risk", None, None),
        ("singling_out_risk", None, 3.0),
        ("closest_records", None, None),
    ]:
        found = [references[name] for name in ("data", "noise", "fresh")]
        whole, noise, fresh = (figure(evaluation, scheme, measure, column, at) for evaluation, scheme in found)
        assert fresh < noise < whole, measure


def test_the_confidential_table_is_attacked_as_if_it_were_published(references):
    evaluation, _ = references["data"]
    for measure, at in (("linkability", None), ("singling_out", 1.0), ("replicated_uniques", None)):
        confidential, copied = (figure(evaluation, name, measure, at=at) for name in ("confidential", "data"))
        assert confidential == copied, measure


def test_without_a_control_there_is_a_rate_but_no_colour():
    data = sample(np.random.default_rng(2), 60)
    evaluation = evaluate(data, {"one": data}, INTRUDER, EvaluationOptions(seed=1))
    assert figure(evaluation, "one", "linkability") > figure(evaluation, "one", "linkability_baseline")
    scores = {one.family: one for one in score(evaluation)}
    assert {scores[family].colour for family in CRITERIA} == {"not judged"}
    assert "needed as a control" in scores["inference"].why
    assert scores["identity"].colour == "red"


def test_a_release_with_a_trial_of_its_own_is_told_beside_it():
    random = np.random.default_rng(3)
    data = sample(random, 120)
    half = data.iloc[:60].reset_index(drop=True)
    trial = Trial(Table(half), [Table(half)], Table(data.iloc[60:].reset_index(drop=True)))
    evaluation = evaluate(
        data, {"one": data, "two": data}, INTRUDER, EvaluationOptions(trials={"one": trial}, measures=ATTACK_MEASURES)
    )
    rows = evaluation.risk[evaluation.risk["measure"].str.endswith(("_half", "_control", "_risk"))]
    assert set(rows["scheme"]) == {"one"}
    assert figure(evaluation, "one", "linkability_half") > figure(evaluation, "one", "linkability_control")
    with pytest.raises(InputError, match="no release 'three'"):
        evaluate(data, {"one": data}, INTRUDER, EvaluationOptions(trials={"three": trial}))


def test_the_slow_ones_are_left_out_by_name():
    data = sample(np.random.default_rng(2), 60)
    found = evaluate(data, {"one": data}, INTRUDER, EvaluationOptions(skip=("singling_out", "inference_baseline")))
    gone = {one.id for one in MEASURES if one.part_of == "singling_out"} | {"inference_baseline"}
    assert len(gone) == 6
    assert not gone & set(found.risk["measure"])
    assert not gone & set(found.measures["id"])
    assert "inference" in set(found.risk["measure"])
    with pytest.raises(InputError, match="Did you mean 'singling_out'"):
        evaluate(data, {"one": data}, INTRUDER, EvaluationOptions(skip="singling_ou"))


def test_a_control_must_have_the_columns():
    data = sample(np.random.default_rng(2), 60)
    with pytest.raises(InputError, match="pay"):
        evaluate(data, {"one": data}, INTRUDER, EvaluationOptions(control=data.drop(columns="pay")))


def test_nothing_of_it_is_public():
    assert not [one.id for one in ATTACK_MEASURES if one.public]


def test_every_rule_is_about_a_measure_that_ships_and_goes_one_way():
    ids = {one.id: one for one in MEASURES}
    for rule in RULES:
        assert rule.measure in ids
        assert rule.amber != rule.red
        assert f"amber {'below' if rule.red < rule.amber else 'from'}" in f"{rule}"


def test_a_board_may_have_rules_of_its_own(references):
    evaluation, scheme = references["noise"]
    (own,) = score(evaluation, scheme, [Rule("identity", 0.0, 0.0001, "alone", measure="replicated_uniques")])
    assert own.colour == "red"
    assert own.rules == ("alone: amber from 0, red from 0.0001",)


# Over many replications, through `evaluate`: what the attacks find by themselves must not be lost on the way.

# Half is no sign of the one, 0 of all others.
NO_SIGN = {
    **dict.fromkeys(("inference_risk", "linkability_risk", "singling_out_risk", "disclosive_risk"), 0.0),
    "closest_records": 0.5,
}
JUDGED = [one for one in MEASURES if one.id in NO_SIGN]


def list_risks(evaluation, scheme):
    """By attack and what it is about, value and interval of every risk, from what would be no sign on."""
    risk = evaluation.risk[(evaluation.risk["scheme"] == scheme) & evaluation.risk["measure"].isin(NO_SIGN)]
    figures = risk[["value", "low", "high"]].to_numpy() - risk["measure"].map(NO_SIGN).to_numpy()[:, None]
    keys = zip(risk["measure"], risk["column"], risk["at"].fillna(0.0), strict=True)
    return dict(zip(keys, figures, strict=True))


def redraw(data, share, random):
    """Draw each value anew, with such a chance, as of any person."""
    again = sample(random, len(data)).apply(lambda column: random.permutation(column.to_numpy()))
    return data.mask(pd.DataFrame(random.random(data.shape) < share, columns=data.columns), again)


def count_signs(replications):
    """How often a fresh sample shows each risk above, and below, no sign at all."""
    counts = {}
    for run in range(replications):
        random = np.random.default_rng(run)
        data, people, fresh = (sample(random, 150) for _ in range(3))
        how = {"fully_synthetic": True, "control": people, "measures": JUDGED, "analyses": [], "seed": run}
        for key, (_, low, high) in list_risks(
            evaluate(data, {"fresh": fresh}, INTRUDER, EvaluationOptions(**how)), "fresh"
        ).items():
            counts.setdefault(key, []).append((low > 0, high < 0))
    return {key: np.array(told).sum(axis=0) for key, told in counts.items()}


@pytest.mark.slow
def test_a_fresh_sample_is_a_sign_as_often_as_chance_allows_through_evaluate():
    replications = 200
    # One side of a 95% interval: 1 in 40, or less often.
    counts = count_signs(replications)
    assert len(counts) == 8
    for key, (above, below) in counts.items():
        print(key, above, below)  # noqa: T201 (with -s: the table of docs/attacks.md)
        for hits in (above, below):
            assert_rate_at_most(hits, replications, 0.025, detects=0.2, of=key)


@pytest.mark.slow
def test_the_data_are_red_in_every_replication_and_more_noise_is_less_risk_through_evaluate():
    shares, levels = (0.0, 0.25, 0.5, 1.0), []
    for share in shares:
        found = []
        for run in range(12):
            random = np.random.default_rng(run)
            data, people = sample(random), sample(random)
            released = redraw(data, share, random)
            measures = MEASURES if share == 0 else JUDGED
            how = {"control": people, "measures": measures, "analyses": [], "seed": run, "propensity_methods": ()}
            evaluation = evaluate(data, {"noise": released}, INTRUDER, EvaluationOptions(**how))
            if share == 0:
                scores = {one.family: one for one in score(evaluation)}
                for family in ("identity", "attribute", *CRITERIA, "membership"):
                    assert scores[family].colour == "red", (run, scores[family])
            found.append([value for value, _, _ in list_risks(evaluation, "noise").values()])
        levels.append(np.mean(found, axis=0))
    falls = -np.diff(levels, axis=0)
    assert (falls[:2] > 0).all()
    # From a half on some attacks fail already, and what is left to fall is noise.
    assert (falls[2] > -0.05).all()
    assert (np.abs(levels[-1]) < 0.1).all()
