import numpy as np
import pandas as pd
import pytest

from molehill import InputError
from molehill.surveys import SurveyDesign, weighted_mean
from molehill.tables.table import Table

TABLE = pd.DataFrame(
    {
        "w": [2.0, 2.0, 5.0, 5.0, 1.0, 1.0],
        "area": ["A", "A", "B", "B", "B", "A"],
        "psu": [1, 2, 3, 4, 4, 2],
        "size": [10, 10, 8, 8, 8, 10],
        "pay": [3.0, 5.0, 2.0, 8.0, 6.0, 1.0],
    }
)


def refused(table, **design):
    with pytest.raises(InputError) as error:
        SurveyDesign(**design).read(table)
    return error.value


def test_reading_gives_units_strata_and_fractions():
    sample = SurveyDesign("w", stratum="area", cluster="psu", population="size").read(TABLE)
    assert sample.cluster.tolist() == [0, 1, 2, 3, 3, 1]
    assert sample.stratum_of.tolist() == [0, 0, 1, 1]
    assert sample.fractions.tolist() == [2 / 10, 2 / 8]
    assert sample.degrees == 2
    assert repr(sample) == "Sample(6 records, 2 strata, 4 units of the first stage, 2 degrees of freedom)"
    assert not sample.weights.flags.writeable
    # A labelled table will do as well.
    assert SurveyDesign("w").read(Table(TABLE)).degrees == 5


def test_reading_leaves_the_table_as_it_was():
    table = TABLE.copy()
    SurveyDesign("w", population="share").read(table.assign(share=0.5))
    table.loc[0, "w"] = 9.0
    assert table["w"].iloc[0] == 9.0


def test_fractions_and_numbers_of_units_say_the_same():
    numbers = SurveyDesign("w", stratum="area", population="size").read(TABLE)
    fractions = SurveyDesign("w", stratum="area", population="size").read(TABLE.assign(size=3 / TABLE["size"]))
    assert numbers.fractions.tolist() == pytest.approx(fractions.fractions.tolist())


def test_cluster_numbers_may_begin_again_in_every_stratum():
    table = TABLE.assign(psu=[1, 2, 1, 2, 2, 2])
    error = refused(table, weight="w", stratum="area", cluster="psu")
    assert error.argument == "cluster"
    assert "nested" in error.remedy
    again = SurveyDesign("w", stratum="area", cluster="psu", nested=True).read(table)
    once = SurveyDesign("w", stratum="area", cluster="psu").read(TABLE)
    assert again.cluster.tolist() == once.cluster.tolist()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([np.nan, np.nan, 1, 1, 1, 1], "2 records have a missing value of 'w'"),
        ([-7.25, 1, 1, 1, 1, 1], "1 records have a negative value of 'w'"),
        ([0.0] * 6, "'w' is zero for every record"),
        ([1, 1, np.inf, 1, 1, 1], "infinite in row 3"),
        (list("abcdef"), "not numeric"),
    ],
)
def test_weights_that_cannot_be_are_refused_without_a_value(values, words):
    error = refused(TABLE.assign(w=values), weight="w")
    assert error.argument == "weight"
    assert words in error.problem
    assert "7.25" not in str(error)


def test_unknown_columns_are_told_with_the_nearest():
    error = refused(TABLE, weight="w", stratum="aera")
    assert (error.argument, error.problem) == ("stratum", "there is no variable 'aera'")
    assert "Did you mean 'area'?" in error.remedy


def test_a_column_has_one_part():
    with pytest.raises(InputError, match=r"^stratum: 'w' is also the weight"):
        SurveyDesign("w", stratum="w")


def test_missing_strata_are_refused():
    error = refused(TABLE.assign(area=pd.Series(["A", None, "B", "B", "B", "A"])), weight="w", stratum="area")
    assert error.problem == "1 records have a missing value of 'area'"


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ([10, 10, 2, 2, 2, 10], "in 1 strata 'size' is smaller than the number of records"),
        ([10, 11, 8, 8, 8, 10], "'size' is not the same for all records, within 1 of 2 strata"),
        ([0.5, 0.5, 8, 8, 8, 0.5], "contains both fractions and numbers above 1"),
        ([0, 0, 8, 8, 8, 0], "3 records have a value of 'size' that is not above 0"),
    ],
)
def test_population_sizes_that_cannot_be_are_refused(sizes, words):
    error = refused(TABLE.assign(size=sizes), weight="w", stratum="area", population="size")
    assert error.argument == "population"
    assert words in error.problem


def test_population_sizes_that_differ_need_a_stratum():
    assert "there is no stratum" in refused(TABLE, weight="w", population="size").problem


def test_a_stratum_with_a_single_cluster_needs_a_decision():
    table = TABLE.assign(psu=[1, 2, 3, 3, 3, 2])
    error = refused(table, weight="w", stratum="area", cluster="psu")
    assert error.argument == "stratum"
    assert "1 strata of 'area' have a single cluster" in error.problem
    for single in ("adjust", "certainty"):
        assert SurveyDesign("w", stratum="area", cluster="psu", single=single).read(table).degrees == 1
    # All of a stratum that was drawn needs none.
    drawn = table.assign(size=[10, 10, 1, 1, 1, 10])
    assert SurveyDesign("w", stratum="area", cluster="psu", population="size").read(drawn).fractions[1] == 1
    assert "the same for every record" in refused(table.assign(psu=1), weight="w", cluster="psu").problem


REPLICATES = TABLE.assign(r1=TABLE["w"] * 2, r2=TABLE["w"] * 0.5, r3=TABLE["w"][::-1].to_numpy())
NAMES = ("r1", "r2", "r3")


@pytest.mark.parametrize(
    ("extra", "factors"),
    [
        ({"method": "brr"}, [1 / 3] * 3),
        ({"method": "fay", "fay": 0.5}, [4 / 3] * 3),
        ({"method": "jk1"}, [2 / 3] * 3),
        ({"method": "jkn", "factors": (0.5, 0.5, 0.75)}, [0.5, 0.5, 0.75]),
        ({"method": "bootstrap"}, [1 / 3] * 3),
        ({"method": "successive"}, [4 / 3] * 3),
        ({"method": "successive", "scale": 0.05}, [0.05] * 3),
    ],
)
def test_replicates_have_the_factors_of_their_method(extra, factors):
    sample = SurveyDesign("w", replicates=NAMES, **extra).read(REPLICATES)
    assert sample.replicates is not None
    assert sample.replicates.factors.tolist() == pytest.approx(factors)
    # The first two are multiples of each other.
    assert sample.degrees == 1
    # By hand: the variance is the sum of factor times squared distance from the estimate.
    y = REPLICATES["pay"].to_numpy()
    means = [np.average(y, weights=REPLICATES[name]) for name in NAMES]
    point = np.average(y, weights=REPLICATES["w"])
    found = weighted_mean(sample, y)
    assert found.variance == pytest.approx(sum(f * (m - point) ** 2 for f, m in zip(factors, means, strict=True)))


def test_replicates_may_be_centred_at_their_mean():
    sample = SurveyDesign("w", replicates=NAMES, method="brr", centre="mean").read(REPLICATES)
    means = [np.average(REPLICATES["pay"], weights=REPLICATES[name]) for name in NAMES]
    assert weighted_mean(sample, REPLICATES["pay"]).variance == pytest.approx(np.var(means))


@pytest.mark.parametrize(
    ("design", "argument"),
    [
        ({"replicates": NAMES}, "method"),
        ({"method": "brr"}, "method"),
        ({"replicates": NAMES, "method": "jackknife"}, "method"),
        ({"replicates": NAMES, "method": "jkn"}, "factors"),
        ({"replicates": NAMES, "method": "jkn", "factors": (1.0,)}, "factors"),
        ({"replicates": NAMES, "method": "fay", "fay": 1.0}, "fay"),
        ({"replicates": NAMES, "method": "brr", "fay": 0.5}, "fay"),
        ({"replicates": ("r1",), "method": "brr"}, "replicates"),
        ({"replicates": ("r1", "r1"), "method": "brr"}, "replicates"),
        ({"single": "remove"}, "single"),
        ({"stratum": 3}, "stratum"),
    ],
)
def test_designs_that_cannot_be_are_refused_before_any_table(design, argument):
    with pytest.raises(InputError) as error:
        SurveyDesign("w", **design)
    assert error.value.argument == argument


def test_a_design_as_far_as_some_columns_tell_it():
    whole = SurveyDesign(weight="w", stratum="area", cluster="psu", nested=True, population="fpc", single="adjust")
    assert whole.among(["w", "area", "psu", "fpc", "pay"]) == whole
    assert whole.among(["area", "psu"]) is None
    # What is drawn of a stratum means nothing to who does not know the strata.
    assert whole.among(["w", "psu", "fpc"]) == SurveyDesign(weight="w", cluster="psu", nested=True, single="adjust")
    assert whole.among(["w", "area"]) == SurveyDesign(weight="w", stratum="area", single="adjust")
    replicated = SurveyDesign(weight="w", replicates=("r1", "r2"), method="brr")
    assert replicated.among(["w", "r1", "r2"]) == replicated
    assert replicated.among(["w", "r1"]) == SurveyDesign(weight="w")


def test_weights_by_their_sum():
    sample = SurveyDesign(weight="w").read(pd.DataFrame({"w": [1.0, 3.0, 4.0]}))
    assert sample.normalised.tolist() == [0.375, 1.125, 1.5]
    # 8 squared over 1 + 9 + 16.
    assert sample.effective == pytest.approx(64 / 26)
    assert sample.expands
    assert not SurveyDesign(weight="w").read(pd.DataFrame({"w": [0.5, 1.5]})).expands
