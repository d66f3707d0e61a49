"""Examples and commands of the documentation run, its figures, names and references are those of the code."""

import doctest
import importlib
import re
import shlex
import subprocess
import sys
import tomllib
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

import molehill
from molehill import Settings, read_settings, write_table
from molehill.baselines import multiply_noise, topcode
from molehill.cli.main import app
from molehill.cli.options import read_given
from molehill.parts.dataset import write_dataset
from molehill.tables.populations import consumer_survey
from molehill.tables.table import as_table, to_arrow

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
QUICK_COMMANDS = ("risk", "evaluate", "init")


def blocks(page: Path, *languages: str) -> list[tuple[str, str]]:
    return [(kind, text) for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")) if kind in languages]


def script(name: str) -> ModuleType:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(ROOT / "docs"))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python", "pycon")], ids=lambda page: page.stem
)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    """All blocks of a page in order, in one namespace, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for kind, text in blocks(page, "python", "pycon"):
        if kind == "python":
            exec(compile(text, str(page), "exec"), names)  # noqa: S102
            continue
        example = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
        said: list[str] = []
        result = runner.run(example, out=said.append, clear_globs=False)
        names = example.globs
        assert result.failed == 0, "".join(said)
    if page.stem == "quickstart":
        said_so = "Release(5 tables of 600 records, unweighted, compared with topcoding)"
        assert capsys.readouterr().out.startswith(said_so)
        assert (tmp_path / "survey-release" / "release" / "synthetic_05.csv").exists()


def commands(page: Path) -> list[list[str]]:
    """Commands of Molehill that a page shows, in fences and in indented lines."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = re.findall(r"^(?:    )?(molehill [a-z].*)$", text, re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for line in lines if not line.endswith(":")]


SHOWN = [
    (page.name, command)
    for page in [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for command in commands(page)
]


@pytest.mark.parametrize(("page", "command"), SHOWN, ids=[f"{page} {command[0]}" for page, command in SHOWN])
def test_a_command_of_a_page_can_be_given(page, command, tmp_path, monkeypatch):
    """Quick commands run on files or folders of these names; of the others, options and settings must exist."""
    runner, name = CliRunner(), command[0]
    if name not in QUICK_COMMANDS:
        told = runner.invoke(app, [*command[: 2 if name == "reproduce" else 1], "--help"])
        assert told.exit_code == 0, page
        options = set(re.findall(r"--[a-z-]+", told.output))
        assert {word.split("=")[0] for word in command if word.startswith("--")} <= options
        given = [value for word, value in pairwise(command) if word == "--set"]
        assert Settings(replace="income", known="age").but(**read_given(given))
        return
    monkeypatch.chdir(tmp_path)
    survey = consumer_survey(n=400, seed=1)
    for file in {word for word in re.split("[ =]", " ".join(command)) if re.search(r"\.(csv|sav)$", word)}:
        released = file.startswith("synth")
        table = multiply_noise(survey, "income", seed=1) if released else survey
        table = topcode(table, "income") if file.startswith("topcoded") else table
        write_table(table, tmp_path / file.replace("*", "1"))
    for folder in (word for word in command if word.endswith("/")):
        table = multiply_noise(survey, "income", seed=1) if folder.startswith("synth") else survey
        write_dataset([to_arrow(as_table(table).frame)], tmp_path / folder)
    done = runner.invoke(app, [word.replace("*", "1") for word in command])
    assert done.exit_code == 0, done.output


def test_the_example_of_the_readme_runs():
    ((_, example),) = blocks(ROOT / "README.md", "python")
    done = subprocess.run([sys.executable, "-W", "error", "-c", example], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ConfidentialRisk(order=2, 6,208 records, mean risk 0.7")


def run_example(name: str, capsys) -> str:
    """Run an example, and give what it prints."""
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        importlib.import_module(name).main()
    finally:
        sys.path.remove(str(ROOT / "examples"))
    said = capsys.readouterr().out
    assert "converged" in said
    assert "NOT" not in said
    return said


def test_the_example_of_a_joint_model_carries_the_relation_of_its_columns(capsys):
    said = run_example("joint_model", capsys)
    before, after = map(float, re.findall(r"0\.\d\d", said.splitlines()[1]))
    assert abs(before - after) < 0.1


def test_the_example_of_an_own_model_says_what_its_page_says(capsys):
    said = run_example("own_model", capsys)
    page = (ROOT / "docs" / "own-model.md").read_text(encoding="utf-8")
    for shown in re.findall(r"^    (mean .*?: [\d.]+)", page, re.MULTILINE):
        assert shown in said


def test_the_figures_of_betty_are_those_of_the_code():
    figures = script("betty_figures")
    risks = [figures.released_case(incomes)[1] for incomes in figures.RELEASED.values()]
    assert risks == [Fraction(10, 13), Fraction(5, 13), 0, 0]
    assert figures.confidential_case()[1] == Fraction(9, 13)
    for name, picture in figures.draw_all().items():
        assert (figures.IMAGES / name).read_text(encoding="utf-8") == picture


def test_the_pairs_of_betty_make_her_risk_of_order_two():
    figures = script("betty_figures")
    incomes = figures.CONFIDENTIAL
    near = [figures.covered(incomes, middle) for middle in incomes]
    uncovered = [sum(not (mine or theirs) for mine, theirs in zip(near[0], other, strict=True)) for other in near[1:]]
    assert figures.pair_case()[1] == pytest.approx(sum(uncovered) / 12 / 13, abs=1e-12)


def test_the_reference_of_the_settings_is_that_of_the_code():
    reference = script("settings_reference")
    assert reference.PAGE.read_text(encoding="utf-8") == reference.render()


def test_the_settings_of_the_readme_can_be_read(tmp_path):
    ((_, example),) = blocks(ROOT / "README.md", "toml")
    (tmp_path / "settings.toml").write_text(example)
    assert read_settings(tmp_path / "settings.toml").breaks == {"age": (25, 35, 50, 65)}


@pytest.mark.parametrize(
    ("section", "last", "last_of_supplement"), [("Equations", 10, 10), ("Tables", 7, 3), ("Figures", 10, 7)]
)
def test_every_number_of_the_paper_is_in_the_index(section, last, last_of_supplement):
    """Counted in the authors' source: numbered equations, and captions of tables and figures."""
    page = (ROOT / "docs" / "paper-index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (S?\d+) \|", page.split(f"## {section}\n")[1].split("\n## ")[0], re.MULTILINE)
    assert rows == [*map(str, range(1, last + 1)), *(f"S{i}" for i in range(1, last_of_supplement + 1))]


def test_the_api_page_has_the_public_names_and_no_others():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    shown = [path.split(".")[1] for path in re.findall(r"^::: (molehill\.[\w.]+)$", page, re.MULTILINE)]
    assert sorted(set(shown)) == molehill.__all__
    whole = re.findall(r"^::: molehill\.(\w+)$", page, re.MULTILINE)
    assert sorted(whole) == molehill.__all__


def test_contributing_lists_the_packages_in_the_order_of_the_layers():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.split("| in `src/molehill` |")[1].split("\n\n")[0]
    listed = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines()[2:]]
    # `python -m molehill` is the command line, and no room of its own.
    assert listed == [sorted(re.findall(r"\w+", layer)) for layer in reversed(layers) if layer != "__main__"]
    there = [path.stem for path in (ROOT / "src" / "molehill").iterdir() if not path.name.startswith(("_", "py."))]
    assert sorted(name for names in listed for name in names) == sorted(there)


def test_contributing_names_files_and_functions_that_are_there():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:\w+/)*\w+\.py)`(?:, `(\w+)`)?", page)
    assert len(named) > 20
    for file, function in named:
        (found, *_) = [path for path in (ROOT / file, *(ROOT / "src" / "molehill").rglob(file)) if path.exists()]
        assert not function or f"def {function}(" in found.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_a_page_names_tests_and_modules_that_are_there(page):
    text = page.read_text(encoding="utf-8")
    assert all(
        (ROOT / path).exists() for path in re.findall(r"\b(?:tests|docs|benchmarks|examples)/\w[\w/]*\.py", text)
    )
    for path in re.findall(r"`(molehill(?:\.\w+)+)", text):
        found = molehill
        for name in path.split(".")[1:]:
            found = getattr(found, name, None) or importlib.import_module(f"{found.__name__}.{name}")


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_beside_the_site_lead_somewhere(page):
    """Links between the pages of the site are checked as it is built."""
    links = re.findall(r"\]\(([^)#]+)(#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8"))
    assert all((ROOT / link).exists() for link, _ in links if not link.startswith("http"))


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("nav:\n")[1]
    assert sorted(re.findall(r": ([\w-]+\.md)$", navigation, re.MULTILINE)) == [page.name for page in PAGES]
