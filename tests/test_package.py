"""The public names, and what importing them loads."""

import subprocess
import sys

import molehill


def test_public_names_are_these():
    assert molehill.__all__ == [
        "InputError",
        "Synthesizer",
        "Table",
        "confidential_risk",
        "draw",
        "evaluate",
        "fit",
        "infer_schema",
        "match_rates",
        "read_table",
        "release_risk",
        "risk_weights",
        "synthesize",
        "weighted",
        "write_table",
    ]
    assert len(molehill.__all__) <= 15
    assert all(hasattr(molehill, name) for name in molehill.__all__)


def test_the_risk_half_does_not_load_jax():
    code = "import sys, molehill, molehill.cli; print('jax' in sys.modules, 'numpyro' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["False", "False"]
