"""The public names, and what importing them loads and sets."""

import os
import subprocess
import sys

import molehill

NAMES = [
    "Chain",
    "InputError",
    "Intruder",
    "Measure",
    "Settings",
    "Synthesizer",
    "Table",
    "baselines",
    "charts",
    "confidential_risk",
    "draw",
    "evaluate",
    "fit",
    "infer_schema",
    "match_rates",
    "models",
    "read_settings",
    "read_table",
    "release_risk",
    "risk_weights",
    "run",
    "synthesize",
    "utility",
    "weighted",
    "write_table",
]


def python(code: str) -> str:
    # Other tests may have set JAX up in this process.
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    return subprocess.check_output([sys.executable, "-c", code], text=True, env=environment).strip()


def test_public_names_are_these_and_no_others():
    assert molehill.__all__ == NAMES
    assert dir(molehill) == sorted([*NAMES, "__version__"])
    assert all(hasattr(molehill, name) for name in NAMES)
    assert not hasattr(molehill, "pandas")


def test_names_stay_themselves_whatever_was_loaded_before():
    # Loading a module of a package of the same name must not put the module in the place of the function.
    code = "import molehill.release.synthesize, molehill.release.runs, molehill.evaluation.evaluation, molehill; "
    code += "print(callable(molehill.synthesize), callable(molehill.run), callable(molehill.evaluate))"
    assert python(code) == "True True True"


def test_importing_loads_little_and_sets_nothing():
    assert python("import sys, molehill; print('pandas' in sys.modules, 'jax' in sys.modules)") == "False False"
    risk = "import sys, molehill; molehill.confidential_risk, molehill.Settings; print('jax' in sys.modules)"
    assert python(risk) == "False"
    everything = (
        "import os, molehill; [getattr(molehill, name) for name in molehill.__all__]\n"
        "import jax; print('XLA_FLAGS' in os.environ, jax.config.jax_compilation_cache_dir, "
        "jax.config.jax_enable_x64, jax.config.jax_num_cpu_devices)"
    )
    plain = "import jax; print(jax.config.jax_compilation_cache_dir, jax.config.jax_enable_x64, "
    plain += "jax.config.jax_num_cpu_devices)"
    assert python(everything) == f"False {python(plain)}"
