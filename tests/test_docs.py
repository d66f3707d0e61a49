"""Examples in the README run, and say what they say."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

from molehill.settings import read_settings

ROOT = Path(__file__).parents[1]


def test_the_example_of_the_readme_runs():
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    done = subprocess.run([sys.executable, "-W", "error", "-c", example], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ConfidentialRisk(order=2, 6,208 records, mean risk 0.7")


def test_the_example_of_an_own_model_runs():
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", str(ROOT / "examples" / "own_model.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "converged" in done.stdout
    assert "NOT" not in done.stdout


def test_the_reference_of_the_settings_is_that_of_the_code():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        reference = importlib.import_module("settings_reference")
    finally:
        sys.path.remove(str(ROOT / "docs"))
    assert reference.PAGE.read_text(encoding="utf-8") == reference.render()


def test_the_example_of_the_quickstart_runs(tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "quickstart.md").read_text(), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Release(5 tables of 600 records, pairwise, compared with topcoding)")
    assert (tmp_path / "survey-release" / "release" / "synthetic_05.csv").exists()


def test_the_settings_of_the_readme_can_be_read(tmp_path):
    (example,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "settings.toml").write_text(example)
    assert read_settings(tmp_path / "settings.toml").breaks == {"age": [25, 35, 50, 65]}
