import numpy as np
import pandas as pd
import pytest

from molehill import InputError, confidential_risk, risk_weights
from molehill.risk.intruder import Intruder


def test_weights_fall_as_risk_rises_and_are_clipped_on_both_sides():
    risk = np.array([0.0, 0.25, 0.5, 1.0])
    assert risk_weights(risk).tolist() == [1.0, 0.75, 0.5, 0.0]
    assert risk_weights(risk, scale=1.5).tolist() == [1.0, 1.0, 0.75, 0.0]
    assert risk_weights(risk, shift=0.25).tolist() == [1.0, 1.0, 0.75, 0.25]
    assert risk_weights(risk, shift=-0.5).tolist() == [0.5, 0.25, 0.0, 0.0]
    assert risk_weights(risk, scale=0.0, shift=0.5).tolist() == [0.5] * 4


def test_weights_take_the_result_and_give_no_weight_to_those_left_out():
    data = pd.DataFrame({"pay": [1.0, 1.0, np.nan, 9.0]})
    result = confidential_risk(data, Intruder(known=[], sensitive="pay", radius=0.1, missing_values="keep"))
    assert risk_weights(result).tolist() == pytest.approx([1 / 2, 1 / 2, 0.0, 0.0])
    assert not risk_weights(result).flags.writeable


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"scale": -1.0}, "scale"),
        ({"scale": np.inf}, "scale"),
        ({"shift": np.nan}, "shift"),
        ({"shift": "0.1"}, "shift"),
        ({"risk": [0.5, 1.1]}, "risk"),
        ({"risk": [-0.1]}, "risk"),
        ({"risk": [np.nan]}, "risk"),
        ({"risk": [[0.5]]}, "risk"),
    ],
)
def test_bad_arguments_are_named(arguments, argument):
    with pytest.raises(InputError) as caught:
        risk_weights(**{"risk": [0.5]} | arguments)
    assert caught.value.argument == argument
