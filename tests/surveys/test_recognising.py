import numpy as np
import pandas as pd
import pytest

from molehill.surveys import SurveyDesign, detect_design
from molehill.tables.table import Table

RNG = np.random.default_rng(4)
N = 200
INCOME = RNG.lognormal(10, 1, N).round()


def parts(found):
    return {one.role: one.columns[0] for one in found.suggested if one.taken}


@pytest.mark.parametrize("name", ["PWGTP", "WTFA", "WTFA_SA", "FINLWT21", "perwt", "survey_weight", "fnlwgt"])
def test_names_of_survey_weights_are_known(name):
    found = detect_design(pd.DataFrame({"income": INCOME, name: RNG.integers(3, 300, N)}))
    assert found.design == SurveyDesign(name)
    assert "named like a survey weight" in found.suggested[0].reason


@pytest.mark.parametrize("name", ["weight", "wgt", "poids", "Gewicht", "wt", "w"])
def test_kilograms_are_no_survey_weight(name):
    kilograms = RNG.normal(75, 12, N).round(1)
    found = detect_design(pd.DataFrame({"income": INCOME, name: kilograms}))
    assert found.design is None
    assert [one.taken for one in found.suggested] == [False]
    assert "ambiguous name" in found.suggested[0].reason
    # Nor with a height beside, whatever decimals pounds turned into kilograms have.
    pounds = kilograms / 0.45359237
    assert detect_design(pd.DataFrame({name: pounds, "height": RNG.normal(1.7, 0.1, N)})).design is None
    # Nor if a label says so.
    labelled = Table(pd.DataFrame({name: pounds}), column_labels={name: "Body weight in kg"})
    assert detect_design(labelled).design is None


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (RNG.gamma(4, 500, N), "larger than body weights"),
        (RNG.gamma(4, 20, N), "more decimals than body weights"),
        (np.append(np.full(N // 2, 0.5), np.full(N // 2, 1.5)), "mean is 1"),
    ],
)
@pytest.mark.parametrize("name", ["weight", "wgt", "poids", "gewicht"])
def test_a_name_with_two_meanings_needs_values_that_speak(name, values, words):
    found = detect_design(pd.DataFrame({"income": INCOME, name: values}))
    assert found.design == SurveyDesign(name)
    assert words in found.suggested[0].reason


def test_labels_may_speak():
    table = Table(pd.DataFrame({"weight": RNG.integers(40, 90, N)}), column_labels={"weight": "Final survey weight"})
    assert detect_design(table).design == SurveyDesign("weight")
    # As in the files of the Demographic and Health Surveys.
    frame = pd.DataFrame({"v005": RNG.integers(10**5, 10**6, N), "v021": np.arange(N) // 5, "v022": np.arange(N) // 20})
    labels = {"v005": "Women's individual sample weight", "v021": "Primary sampling unit", "v022": "Sample strata"}
    found = detect_design(Table(frame, column_labels=labels))
    assert found.design == SurveyDesign("v005", stratum="v022", cluster="v021")
    assert {one.reason.split(" like")[0] for one in found.suggested} == {"labelled"}


@pytest.mark.parametrize("name", ["pw", "final_weight", "sample_weight", "w"])
def test_widths_of_petals_and_grams_are_no_survey_weight(name):
    assert detect_design(pd.DataFrame({name: RNG.gamma(4, 0.3, N).round(1) + 0.1, "pl": INCOME})).design is None


@pytest.mark.parametrize("values", [np.full(N, -1.0), np.zeros(N), np.append(np.nan, np.ones(N - 1)), ["a"] * N])
def test_values_that_no_weight_has_are_not_proposed(values):
    assert detect_design(pd.DataFrame({"PWGTP": values, "income": INCOME})).design is None


def test_one_weight_is_proposed():
    table = pd.DataFrame({"weight": RNG.gamma(4, 500, N), "PWGTP": RNG.integers(3, 300, N)})
    found = detect_design(table)
    assert found.design == SurveyDesign("PWGTP")
    assert [one.taken for one in found.suggested] == [True, False]


def test_strata_clusters_and_sizes():
    area, psu = np.repeat(np.arange(20), 10), np.tile(np.repeat([1, 2], 5), 20)
    table = pd.DataFrame({"WTFA": RNG.gamma(4, 500, N), "VESTR": area, "VEPSU": psu, "income": INCOME})
    found = detect_design(table)
    assert found.design == SurveyDesign("WTFA", stratum="VESTR", cluster="VEPSU", nested=True)
    assert SurveyDesign("WTFA", stratum="VESTR", cluster="VEPSU", nested=True).read(table).degrees == 20
    assert "restart in every stratum" in str(found)


def test_what_has_no_weight_has_no_design():
    found = detect_design(pd.DataFrame({"strata": [1, 1, 2, 2], "income": [1.0, 2.0, 3.0, 4.0]}))
    assert found.design is None
    assert parts(found) == {"stratum": "strata"}
    assert str(detect_design(pd.DataFrame({"income": INCOME}))) == "no survey design detected"


def test_a_cluster_for_every_record_is_none():
    assert parts(detect_design(pd.DataFrame({"pw": RNG.gamma(4, 5, N), "cluster": np.arange(N)}))) == {"weight": "pw"}


def replicates(stem, number, weight):
    noise = RNG.uniform(0.5, 1.5, (number, N))
    return {f"{stem}{i + 1}": (weight * noise[i]).round() for i in range(number)}


def test_replicates_of_the_american_community_survey():
    weight = RNG.integers(20, 300, N).astype(float)
    table = pd.DataFrame({"PWGTP": weight, **replicates("PWGTP", 80, weight), "income": INCOME})
    found = detect_design(table)
    assert found.design is not None
    assert found.design.method == "successive"
    assert found.design.replicates == tuple(f"PWGTP{i}" for i in range(1, 81))
    sample = found.design.read(table)
    assert sample.replicates is not None
    np.testing.assert_allclose(sample.replicates.factors, 4 / 80)
    assert "PWGTP1 ... PWGTP80" in str(found)


def test_replicates_whose_method_no_name_tells_are_left_to_people():
    weight = RNG.gamma(4, 500, N)
    table = pd.DataFrame({"weight": weight, **replicates("repwt", 20, weight)})
    found = detect_design(table)
    assert found.design == SurveyDesign("weight")
    assert [one.role for one in found.suggested if not one.taken] == ["replicates"]
    # Numbered columns that are not alike are something else.
    other = pd.DataFrame({"weight": weight, **{f"wt{i}": RNG.gamma(4, 10.0**i, N) for i in range(1, 10)}})
    assert "replicates" not in {one.role for one in detect_design(other).suggested}


def test_sizes_that_the_weights_add_up_to_speak_for_records_drawn_one_by_one():
    # As in the stratified sample of schools: sizes belong to a category whose name says nothing.
    table = schools([4421, 755, 1018])
    found = detect_design(table)
    assert found.design == SurveyDesign("weight", stratum="kind", population="fpc")
    assert "records were drawn individually" in str(found)
    # Where two strata are of the same size, the stratum must have a name that says what it is.
    found = detect_design(schools([4421, 755, 755]).rename(columns={"kind": "stratum"}).assign(pweight=1.0))
    assert parts(found) == {"weight": "pweight", "stratum": "stratum", "cluster": "dnum", "population": "fpc"}
    found = detect_design(schools([4421, 755, 755]).rename(columns={"kind": "stratum", "weight": "pweight"}))
    assert parts(found) == {"weight": "pweight", "stratum": "stratum", "population": "fpc"}


def schools(sizes):
    kind = np.repeat(["E", "H", "M"], [100, 50, 50])
    size = np.repeat(sizes, [100, 50, 50])
    weight = size / np.repeat([100, 50, 50], [100, 50, 50])
    return pd.DataFrame({"kind": kind, "dnum": RNG.integers(0, 150, N), "weight": weight, "fpc": size})


def test_the_samples_of_schools(shared):
    stratified, clustered = (detect_design(pd.read_csv(shared / f"api_{name}.csv")) for name in ("strat", "clus1"))
    assert stratified.design == SurveyDesign("pw", stratum="stype", population="fpc")
    assert clustered.design == SurveyDesign("pw", cluster="dnum", population="fpc")
    people = detect_design(pd.read_csv(shared / "nist_ma.csv", low_memory=False))
    assert people.design == SurveyDesign("PWGTP")


def test_values_alone_put_a_weight_to_a_person():
    weight = np.repeat(RNG.uniform(200, 900, 10), N // 10)
    for values, words in ((weight, "groups of records share"), (RNG.permutation(weight / weight.mean()), "mean is 1")):
        found = detect_design(pd.DataFrame({"v7": values, "income": INCOME}))
        assert found.design is None
        assert [(one.columns, one.taken, one.open) for one in found.suggested] == [(("v7",), False, True)]
        assert words in found.suggested[0].reason
    # Prices, shares, means of regions with a decimal, and scores are none.
    for values in (RNG.lognormal(3, 1, N), RNG.uniform(0, 1, N), np.round(weight, 1), RNG.normal(0, 1, N)):
        assert detect_design(pd.DataFrame({"v7": values})).suggested == ()
    assert detect_design(pd.DataFrame({"db090": weight, "rb050": weight})).design == SurveyDesign("db090")


def test_numbers_of_people_are_no_weight_whatever_they_are_called():
    random = np.random.default_rng(4)
    numbers = random.choice(np.arange(10**8, 10**9, 7), 300, replace=False)
    people = pd.DataFrame({"w3": numbers, "age": random.integers(18, 90, 300)})
    assert detect_design(Table(people)).design is None
