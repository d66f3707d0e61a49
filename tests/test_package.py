"""The public names, and what importing them loads and sets."""

import hashlib
import json
import os
import subprocess
import sys

import molehill

NAMES = [
    "Evaluation",
    "EvaluationOptions",
    "InputError",
    "Intruder",
    "Measure",
    "SequentialSynthesizer",
    "Settings",
    "Synthesizer",
    "Table",
    "charts",
    "confidential_risk",
    "consumer_survey",
    "draw",
    "evaluate",
    "fit",
    "infer_schema",
    "match_rates",
    "models",
    "moles",
    "nb_mixture",
    "read_settings",
    "read_table",
    "release_risk",
    "risk_weights",
    "run",
    "sdc_methods",
    "synthesize",
    "utility",
    "weight_likelihood",
    "write_table",
]


def test_public_names_are_these_and_no_others():
    assert molehill.__all__ == NAMES
    assert dir(molehill) == sorted([*NAMES, "__version__"])
    assert all(hasattr(molehill, name) for name in NAMES)
    assert not hasattr(molehill, "pandas")


# In a process of its own: other tests have loaded everything, and may have set JAX up.
CODE = """
import os, sys, molehill
print("pandas" in sys.modules, "jax" in sys.modules)
molehill.confidential_risk, molehill.Settings
import molehill.plan.plan
print("jax" in sys.modules)
sys.argv = ["molehill", "verify", sys.argv[1]]
from molehill.cli.main import main
try:
    main()
except SystemExit:
    pass
print([name for name in ("jax", "altair", "sklearn", "statsmodels") if name in sys.modules])
import pandas, molehill.release.runs
table = pandas.DataFrame({"town": ["A", "B"] * 30, "pay": range(60)})
chosen = molehill.Settings(synthesize="pay", keep="town", known="town", lower=0, upper=100, min_leaf_size=10)
chosen = chosen.but(compare=(), expected_risk_draws=40, datasets=2, seed=1)
molehill.run(table, chosen, sys.argv[2] + "/out", progress=False, release_anyway=True)
print([name for name in ("jax", "numpyro", "optax", "blackjax") if name in sys.modules])
import jax, pkgutil
from jax._src import xla_bridge
before = dict(jax.config.values)
for module in pkgutil.walk_packages(molehill.__path__, "molehill."):
    if not module.name.endswith("__main__"):
        __import__(module.name)
every = [getattr(molehill, name) for name in molehill.__all__]
print([name for name, value in jax.config.values.items() if before.get(name, value) != value])
print([name for name in os.environ if name.startswith(("JAX", "XLA"))], xla_bridge.backends_are_initialized())
print(callable(molehill.synthesize), callable(molehill.run), callable(molehill.evaluate))
"""


def test_importing_loads_little_sets_nothing_and_names_stay_themselves(tmp_path):
    # What `molehill verify` needs to take a folder for a release, and to compare a file with its hash.
    content = b"pay"
    for name in ("release", "internal"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "release" / "synthetic_01.csv").write_bytes(content)
    manifest = {"files": {"release/synthetic_01.csv": hashlib.sha256(content).hexdigest()}}
    (tmp_path / "internal" / "manifest.json").write_text(json.dumps(manifest))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX", "XLA"))}
    command = [sys.executable, "-c", CODE, str(tmp_path)]
    told = subprocess.check_output(command, text=True, env=environment).splitlines()
    # Neither pandas nor JAX before a name is used, and no JAX for risk, settings and plans.
    assert told[:2] == ["False False", "False"]
    # A folder is verified, and a release made by a forest, measured, attacked and reported, without JAX.
    assert any(line.startswith("Fingerprint of release/") for line in told)
    assert told[-5:-3] == ["[]", "[]"]
    # Importing any module sets nothing of JAX, and does not start it.
    assert told[-3:-1] == ["[]", "[] False"]
    # Loading a module of a package of the same name must not put the module in the place of the function.
    assert told[-1] == "True True True"
