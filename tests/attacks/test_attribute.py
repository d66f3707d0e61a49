"""Attribute disclosure against tables of a few rows, counted by hand."""

import numpy as np
import pandas as pd
import pytest

from molehill import InputError
from molehill.attacks.attribute import correct_attribution, disco, l_diversity

# Town A: x x y, B: x x, C: y, D: x y, E: z.
DATA = pd.DataFrame({"town": list("AAABBCDDE"), "job": list("xxyxxyxyz")})
# A: x x x, B: x y, C: y y, D: y, F: z; nobody of E.
RELEASED = pd.DataFrame({"town": list("AAABBCCDF"), "job": list("xxxxyyyyz")})


def test_diversity_is_that_of_the_least_diverse_pattern():
    data = pd.DataFrame({"town": list("AAAABBBB"), "job": list("xxyzxxyy")})
    found = l_diversity(data, "town", "job")
    entropies = [-(0.5 * np.log(0.5) + 2 * 0.25 * np.log(0.25)), np.log(2)]
    assert found.distinct == 2
    assert found.entropy == pytest.approx(2.0)
    assert found.mean_entropy == pytest.approx(np.mean(np.exp(entropies)))
    assert found.homogeneous == 0
    assert l_diversity(DATA, "town", "job").homogeneous == pytest.approx(4 / 9)


def test_numbers_are_cut_where_it_is_said():
    data = pd.DataFrame({"town": list("AABB"), "pay": [1.5, 2.5, 1.5, 9.5]})
    assert l_diversity(data, "town", "pay").homogeneous == 0
    assert l_diversity(data, "town", "pay", breaks={"pay": [5]}).homogeneous == 0.5


def test_disco_is_that_of_the_definition():
    found = disco(DATA, RELEASED, "town", "job")
    assert found.original.value == pytest.approx(4 / 9)  # B, C and E
    assert found.synthetic.value == pytest.approx(7 / 9)  # all but B
    assert found.found.value == pytest.approx(8 / 9)  # all but E
    assert found.disclosive.value == pytest.approx(6 / 9)  # A, C and D
    assert found.correct.value == pytest.approx(4 / 9)  # x of A twice, y of C, y of D
    assert found.correct_of_disclosive.value == pytest.approx(4 / 6)
    # Guesses by the shares 5/9 of x, 3/9 of y: for x x y of A, y of C, x and y of D.
    assert found.attack.baseline.value == pytest.approx((3 * 5 / 9 + 3 * 3 / 9) / 9)
    assert np.isnan(found.attack.risk.value)


def test_control_records_are_looked_up_in_the_release_too():
    # Of people who were not in the data: x of A is told rightly, z of F too, y of B is not told, x of C told wrongly.
    people = pd.DataFrame({"town": list("AFBC"), "job": list("xzyx")})
    found = disco(DATA, RELEASED, "town", "job", control=people).attack
    assert found.control.value == 0.5
    assert found.rate.value == pytest.approx(4 / 9)
    assert found.risk.value == pytest.approx((4 / 9 - 0.5) / 0.5)
    assert (found.attacks, found.controls) == (9, 4)


def test_what_is_drawn_for_people_alone_in_their_pattern_is_no_disclosure():
    # Nobody of the control has the known values of anybody: looked up, nothing is found of them.
    random = np.random.default_rng(1)
    people = pd.DataFrame(
        {"code": np.arange(400).astype(str), "job": random.choice(list("abc"), 400, p=[0.7, 0.2, 0.1])}
    )
    drawn = people.assign(job=random.permutation(people["job"]))
    control = people.assign(code=np.arange(400, 800).astype(str))
    about = {"known": "code", "target": "job", "control": control}
    found = disco(people, drawn, **about).attack
    assert found.rate.value > 0.4
    assert found.risk.low < 0
    assert disco(people, people, **about).attack.risk.value == 1.0


def test_targeted_attribution_is_that_of_both_definitions():
    found = correct_attribution(DATA, RELEASED, "town", "job")
    # Sure are x of A (thrice), y of C (twice), y of D and z of F; nobody of the data is of F.
    assert found.sure.value == pytest.approx(7 / 9)
    assert found.targeted.value == pytest.approx((3 * 2 / 3 + 2 * 1 + 1 * 0.5) / 6)
    assert found.targeted_original.value == pytest.approx(4 / 8)
    # Of the data: x x y of A have shares 1 1 0, x x of B 1/2 each, y of C 1, x y of D 0 1, z of E 0.
    assert found.general.value == pytest.approx((2 + 1 + 1 + 1) / 9)
    assert found.within.value == pytest.approx((2 * 2 / 3 + 1 / 3 + 2 + 1 + 1 + 1) / 9)
    assert found.baseline.value == pytest.approx((5**2 + 3**2 + 1) / 81)


def test_less_agreement_may_be_enough_to_be_sure():
    released = pd.DataFrame({"town": list("AAAAB"), "job": list("xxxyz")})
    found = correct_attribution(DATA, released, "town", "job", least=0.75)
    assert found.sure.value == pytest.approx(4 / 5)  # x of A thrice, and z of B
    assert found.targeted.value == pytest.approx((3 * 2 / 3 + 0) / 4)


def test_several_tables_are_averaged():
    found = disco(DATA, [RELEASED, DATA], "town", "job")
    assert found.correct.value == pytest.approx((4 / 9 + 4 / 9) / 2)
    assert found.synthetic.value == pytest.approx((7 / 9 + 4 / 9) / 2)
    assert found.synthetic.low < found.synthetic.high


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="target: 'town' is also known"):
        disco(DATA, RELEASED, "town", "town")
    with pytest.raises(InputError, match="target: it is of type list"):
        l_diversity(DATA, "town", ["job"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="breaks: 'age' is neither known nor the target"):
        l_diversity(DATA, "town", "job", breaks={"age": [1]})
    with pytest.raises(InputError, match="least: it is no share"):
        correct_attribution(DATA, RELEASED, "town", "job", least=0)
    with pytest.raises(InputError, match="released: no value of variable 'job' occurs"):
        disco(DATA, RELEASED.assign(job="w"), "town", "job")
