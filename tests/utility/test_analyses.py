import pytest

from molehill import InputError
from molehill.utility.analyses import read_formula


def test_columns_get_neutral_names_and_their_own_again():
    read = read_formula("`log` ~ `family size`*C(class) + I(age**2) - 1")
    assert read.text == "column_0_ ~ column_1_*C(column_2_) + I(column_3_**2) - 1"
    assert read.columns == ("log", "family size", "class", "age")
    assert read.restore("column_1_:C(column_2_)[T.b]") == "family size:C(class)[b]"


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("income ~ __import__('os')", "'__import__' is not a function"),
        ("income ~ np.log(age)", "the sign '.' cannot be used"),
        ("income ~ {age}", "the sign '{' cannot be used"),
        ("income ~ age[0]", "the sign '\\[' cannot be used"),
        ("income ~ eval(age)", "'eval' is not a function"),
        ("income", "does not have one outcome"),
        ("~ age", "does not have one outcome"),
        ("income + age ~ region", "does not have one outcome"),
        ("income ~ age ~ region", "does not have one outcome"),
        (3, "it is of type int"),
    ],
)
def test_what_is_not_a_plain_formula_is_refused(formula, message):
    with pytest.raises(InputError, match=f"formula: .*{message}"):
        read_formula(formula)
