"""The three criteria against tables of a few rows, counted by hand."""

import numpy as np
import pandas as pd
import pytest

from molehill import InputError
from molehill.attacks import criteria
from molehill.attacks.criteria import inference, linkability, singling_out
from molehill.attacks.neighbours import learn_places
from molehill.tables.table import as_table

DATA = pd.DataFrame({"age": [20.5, 30.5, 40.5, 50.5], "pay": [100.0, 200.0, 0.0, -50.0], "job": list("abca")})


def test_guesses_are_those_of_the_nearest_record():
    released = pd.DataFrame({"age": [22.0, 39.0, 60.0], "pay": [104.0, 0.0, -60.0], "job": list("abc")})
    # 20.5 is nearest to 22, 30.5 to 22 and 39, as near (8.5), 40.5 to 39, 50.5 to 60.
    found = inference(DATA.drop(index=1), released, "age", "job", seed=1)
    assert found.rate.value == pytest.approx(1 / 3)  # a rightly; b for c, c for a
    assert found.baseline.value == pytest.approx(1 / 3)
    found = inference(DATA.drop(index=1), released, "age", "pay", tolerance=0.05, seed=1)
    assert found.rate.value == pytest.approx(2 / 3)  # 104 for 100, 0 for 0; -60 for -50 is too far
    assert found.baseline.value == pytest.approx((1 / 3 + 1 / 3 + 0) / 3)
    assert inference(DATA.drop(index=1), released, "age", "pay", tolerance=0.2, seed=1).rate.value == 1.0


def test_a_negative_guess_is_right_only_if_it_is_near():
    released = DATA.assign(pay=-1.0)
    assert inference(DATA, released, "age", "pay", seed=1).rate.value == 0


def test_a_missing_secret_is_guessed_by_a_missing_one():
    data = DATA.assign(pay=[np.nan, 200.0, np.nan, 5.0], job=pd.Series(["a", None, "c", None]))
    assert inference(data, data, "age", "pay", seed=1).rate.value == 1.0
    assert inference(data, data, "age", "pay", seed=1).baseline.value == pytest.approx((2 + 1 + 2 + 1) / 16)
    assert inference(data, data, "age", "job", seed=1).rate.value == 1.0


def test_people_are_linked_where_both_halves_find_the_same_record():
    released = pd.DataFrame({"age": [21.0, 31.0, 41.0, 51.0], "pay": [110.0, 210.0, -45.0, 0.0], "job": list("abca")})
    # The first two find the same record twice; the others find each other's pay.
    found = linkability(DATA, released, "age", "pay", seed=1)
    assert found.rate.value == 0.5
    assert found.baseline.value == pytest.approx(1 / 4)
    # With two neighbours 40.5 finds 41 and 31 or 51 (as near but for half a year: 31), and 0 finds 0 and -45: linked.
    wider = linkability(DATA, released, "age", "pay", neighbours=2, seed=1)
    assert wider.baseline.value == pytest.approx(1 - 1 / 6)
    assert wider.rate.value == 1.0


def test_lists_that_fill_the_table_always_share_a_record():
    assert linkability(DATA, DATA, "age", "pay", neighbours=3, seed=1).baseline.value == 1.0


def test_single_values_and_ends_single_out():
    # Of the released age: 20.5 once, 30.5 twice, 60.5 once; at most 20.5, at least 60.5. Of the job: b once.
    released = pd.DataFrame({"age": [20.5, 30.5, 30.5, 60.5], "job": list("aaba")})
    data = pd.DataFrame({"age": [20.5, 20.5, 60.5, 70.5], "job": list("bccc")})
    found = singling_out(data, released, size=1, seed=1)
    # 20.5: two; 60.5: one; at most 20.5: two; at least 60.5: two; b: one.
    assert found.attacks == 5
    assert found.rate.value == pytest.approx(2 / 5)


def test_a_predicate_that_holds_for_nobody_or_for_two_alike_is_a_failure():
    released = pd.DataFrame({"job": ["a", "b"]})
    assert singling_out(pd.DataFrame({"job": ["c", "c"]}), released, size=1, seed=1).rate.value == 0
    assert singling_out(pd.DataFrame({"job": ["a", "a", "b", "b"]}), released, size=1, seed=1).rate.value == 0
    assert singling_out(pd.DataFrame({"job": ["a", "b"]}), released, size=1, seed=1).rate.value == 1


def test_a_missing_value_is_a_value_of_its_own():
    released = pd.DataFrame({"pay": [np.nan, 1.5, 1.5]})
    found = singling_out(pd.DataFrame({"pay": [np.nan, 2.5, 2.5]}), released, size=1, seed=1)
    # Only "missing" holds for one released record: both ends are shared by two.
    assert (found.attacks, found.rate.value) == (1, 1.0)


def test_predicates_of_several_columns_go_away_from_the_median():
    data = pd.DataFrame({"age": [10.5, 20.5, 30.5], "pay": [1.5, 2.5, 3.5]})
    places = learn_places(as_table(data), [], ["age", "pay"], "none")
    made = criteria._find_predicates(places.of(as_table(data)), places, 2, 50, np.random.default_rng(1))
    said = {(tuple(r), tuple(v)) for r, v in zip(made.relations.tolist(), made.values.tolist(), strict=True)}
    low, high = criteria._AT_MOST, criteria._AT_LEAST
    # At most 20.5 and 2.5 holds for two.
    assert said == {((low, low), (10.5, 1.5)), ((high, high), (30.5, 3.5))}


def test_both_sides_are_judged_among_as_many_people():
    released = pd.DataFrame({"job": ["a", "b", "c", "c"]})
    data, people = pd.DataFrame({"job": list("aabd")}), pd.DataFrame({"job": ["a", "d"]})
    found = singling_out(data, released, control=people, size=1, seed=1)
    # Of two of the four: exactly one a with chance 2 * 2 / 6, the b with chance 3 / 6.
    assert found.rate.value == pytest.approx((4 / 6 + 3 / 6) / 2)
    assert found.control.value == 0.5


def test_without_predicates_nothing_is_told():
    released = pd.DataFrame({"job": ["a", "a"]})
    found = singling_out(released, released, control=released, size=1, seed=1)
    assert found.attacks == 0
    assert np.isnan([*found.rate, *found.control, *found.risk]).all()


def test_predicates_are_shared_out_among_tables():
    found = singling_out(DATA, [DATA, DATA, DATA], size=1, attacks=7, seed=1)
    assert found.attacks == 7


def test_the_same_seed_gives_the_same():
    random = np.random.default_rng(1)
    data, other, people = (pd.DataFrame(random.integers(9, size=(60, 3)), columns=list("abc")) for _ in range(3))
    calls = (
        lambda seed: inference(data, other, ["a", "b"], "c", control=people, attacks=40, seed=seed),
        lambda seed: linkability(data, other, ["a", "b"], "c", control=people, attacks=40, seed=seed),
        lambda seed: singling_out(data, other, size=2, control=people, attacks=40, seed=seed),
    )
    for call in calls:
        assert call(1) == call(1) != call(2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: inference(DATA, DATA, "age", "age", seed=1), "secret: 'age' is also known"),
        (lambda: inference(DATA, DATA, "age", ["pay"], seed=1), "secret: it is of type list"),  # pyright: ignore
        (lambda: inference(DATA, DATA, "age", "pay", tolerance=-1, seed=1), "tolerance: it is negative"),
        (lambda: inference(DATA, DATA, "age", "pay", attacks=0, seed=1), "attacks: it must be a whole number from 1"),
        (lambda: inference(DATA, DATA, "age", "pay", scale="log", seed=1), "scale: 'log' is not a choice"),  # pyright: ignore
        (lambda: inference(DATA, DATA[["age"]], "age", "pay", seed=1), "released: there is no variable 'pay'"),
        (lambda: linkability(DATA, DATA, "age", ["pay", "age"], seed=1), "second: 'age' is also in the first"),
        (lambda: linkability(DATA, DATA, "age", "pay", neighbours=5, seed=1), "neighbours: it is more than"),
        (lambda: singling_out(DATA, DATA, size=4, seed=1), "size: there are 3 columns"),
        (lambda: singling_out(DATA, pd.DataFrame({"town": ["A"]}), seed=1), "columns: no column is named"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()
