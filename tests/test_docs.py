"""Examples and commands of the documentation run, its figures, names and references are those of the code."""

import doctest
import importlib
import re
import shlex
import sys
import tomllib
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import molehill
from agreement import assert_agrees
from drawing import in_words  # noqa: F401
from molehill import SequentialSynthesizer, Settings, models, read_settings, write_table
from molehill.cli.main import app
from molehill.cli.options import read_given
from molehill.larger_than_memory.files import write_files
from molehill.sdc_methods import multiply_noise, topcode
from molehill.synthesis import fitting
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


WITH_PYTHON = [page for page in PAGES if blocks(page, "python", "pycon")]
# What is made smaller of a page so that its calls are run in a second: the same ones, on fewer records.
SMALLER = {
    "attacks": {"np.arange(200)": "np.arange(60)"},
    "columns": {
        "min_leaf_size=30": 'min_leaf_size=30, attacks="none"',
        "datasets=5": "datasets=2",
        "records=1_000": 'records=100, min_leaf_size=50, attacks="none"',
        "[1_000]": "[100]",
    },
    "evaluation": {
        "n=600": "n=150",
        "range(5)": "range(2)",
        "consumer_survey()": "consumer_survey(n=150, seed=1)",
        "6208": "150",
        "range(20)": "range(3)",
    },
    "method": {"1000": "200", "datasets=20": "datasets=2"},
    "quickstart": {
        "n=600": "n=150",
        "expected_risk_draws=0": 'expected_risk_draws=0, min_leaf_size=50, attacks="none"',
    },
    "synthesizers": {"n=400": "n=150", "datasets=20": "datasets=2"},
}


def make_smaller(page: Path, text: str) -> str:
    for large, small in SMALLER.get(page.stem, {}).items():
        text = text.replace(large, small)
    return text


def run_page(page: Path, change: Callable[[str], str]) -> None:
    """Run all blocks of a page in order, in one namespace, as a reader would type them."""
    names: dict[str, object] = {"__name__": "__main__"}
    for kind, block in blocks(page, "python", "pycon"):
        text = change(block)
        if kind == "python":
            exec(compile(text, str(page), "exec"), names)  # noqa: S102
            continue
        example = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
        said: list[str] = []
        result = runner.run(example, out=said.append, clear_globs=False)
        names = example.globs
        assert result.failed == 0, "".join(said)


@pytest.fixture
def by_forests(monkeypatch):
    """Fit forests, in a moment, in place of models that are sampled by chains; all else of `fit` is as it is."""

    def grow(synthesizer: Any, table: Any, weights: Any, how: Any) -> Any:
        forests = tuple(models.forest(name, []) for name in synthesizer.sensitive)
        return fitting._fit(forests[0] if len(forests) == 1 else SequentialSynthesizer(forests), table, weights, how)

    monkeypatch.setattr(fitting, "_sample", grow)


# These take seconds even so.
DEAR = {"attacks", "columns", "surveys"}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow) if page.stem in DEAR else page for page in WITH_PYTHON],
    ids=lambda page: page.stem,
)
@pytest.mark.usefixtures("by_forests", "in_words")
def test_the_python_of_a_page_runs_on_few_records(page, tmp_path, monkeypatch, capsys):
    text = "".join(text for _, text in blocks(page, "python", "pycon"))
    assert [large for large in SMALLER.get(page.stem, {}) if large not in text] == []
    monkeypatch.chdir(tmp_path)
    run_page(page, lambda block: make_smaller(page, block))
    if page.stem == "quickstart":
        said_so = "Release(5 tables of 150 records, unweighted, compared with topcoding)"
        assert capsys.readouterr().out.startswith(said_so)
        assert (tmp_path / "survey-release" / "release" / "synthetic_05.csv").exists()


# Of the other pages nothing is made smaller, and nothing is fitted by chains.
OTHERWISE = [page for page in WITH_PYTHON if page.stem in (*SMALLER, "own-model")]


@pytest.mark.slow
@pytest.mark.parametrize("page", OTHERWISE, ids=lambda page: page.stem)
def test_the_python_of_a_page_runs_as_it_stands(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_page(page, str)
    if page.stem == "quickstart":
        said_so = "Release(5 tables of 600 records, unweighted, compared with topcoding)"
        assert capsys.readouterr().out.startswith(said_so)


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
def test_a_command_of_a_page_can_be_given(page, command):
    """It is read as the program reads it, with every option and setting, and not carried out."""
    # Whichever Click typer brings: groups are those that look commands up.
    found: Any = get_command(app)
    context, left = None, command
    while hasattr(found, "resolve_command"):
        context = found.make_context(found.name, list(left), parent=context, resilient_parsing=True)
        _, found, left = found.resolve_command(context, list(left))
        assert found is not None, page
    given = found.make_context(found.name, list(left), parent=context, resilient_parsing=False)
    settings = given.params.get("given") or []
    assert len(settings) == command.count("--set")
    assert Settings(synthesize="income", known="age").but(**read_given(settings))


def run_command(command: list[str], folder: Path) -> None:
    """Run a command on files or folders of the names that it has."""
    survey = consumer_survey(n=400, seed=1)
    for file in {word for word in re.split("[ =]", " ".join(command)) if re.search(r"\.(csv|sav)$", word)}:
        released = file.startswith("synth")
        table = multiply_noise(survey, "income", seed=1) if released else survey
        table = topcode(table, "income") if file.startswith("topcoded") else table
        write_table(table, folder / file.replace("*", "1"))
    for name in (word for word in command if word.endswith("/")):
        table = multiply_noise(survey, "income", seed=1) if name.startswith("synth") else survey
        write_files([to_arrow(as_table(table).frame)], folder / name)
    done = CliRunner().invoke(app, [word.replace("*", "1") for word in command])
    assert done.exit_code == 0, done.output


# Those that write a report or hold people out take seconds.
LONG = {"attacks.md", "evaluation.md", "review-boards.md"}
RUN = [
    pytest.param(command, id=f"{page} {command[0]}", marks=[pytest.mark.slow] if page in LONG else [])
    for page, command in SHOWN
    if command[0] in QUICK_COMMANDS
]


@pytest.mark.parametrize("command", RUN)
def test_a_quick_command_of_a_page_runs(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_command(command, tmp_path)


def test_the_example_of_the_readme_runs(capsys):
    ((_, example),) = blocks(ROOT / "README.md", "python")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(example, "README.md", "exec"), {"__name__": "__main__"})  # noqa: S102
    assert capsys.readouterr().out.startswith("ConfidentialRisk(order=2, 6,208 records, mean risk 0.7")


def run_example(name: str, capsys) -> str:
    """Run an example, and give what it prints."""
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        importlib.import_module(name).main()
    finally:
        sys.path.remove(str(ROOT / "examples"))
    return capsys.readouterr().out


@pytest.mark.slow
def test_the_example_of_a_joint_model_carries_the_relation_of_its_columns(capsys):
    said = run_example("joint_model", capsys)
    assert "converged" in said
    assert "NOT" not in said
    before, after = map(float, re.findall(r"0\.\d\d", said.splitlines()[1]))
    # Of 800 couples, with about as much again for the uncertainty of the fit and for two digits that are shown; columns
    # that were drawn without each other would have none.
    error = np.hypot(np.sqrt(2) * (1 - before**2) / np.sqrt(800), 0.005)
    assert_agrees(after, before, error, detects=before, of="correlation")


@pytest.mark.usefixtures("by_forests")
def test_the_example_of_an_own_model_says_what_its_page_says(capsys):
    said = run_example("own_model", capsys)
    page = (ROOT / "docs" / "own-model.md").read_text(encoding="utf-8")
    shown = re.findall(r"^    (mean .*?: [\d.]+)", page, re.MULTILINE)
    assert shown
    assert [words for words in shown if words not in said] == []


@pytest.mark.slow
def test_the_example_of_an_own_model_converges(capsys):
    said = run_example("own_model", capsys)
    assert "converged" in said
    assert "NOT" not in said


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


def test_the_pages_on_results_show_what_exists():
    shown = re.findall(
        r"^::: ([\w.]+)\.(\w+)$", (ROOT / "docs" / "results.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [name for module, name in shown if not hasattr(importlib.import_module(module), name)] == []


def test_contributing_lists_the_packages_in_the_order_of_the_layers():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.split("| in `src/molehill` |")[1].split("\n\n")[0]
    listed = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines()[2:]]
    # `python -m molehill` is the command line, and no room of its own.
    assert listed == [sorted(re.findall(r"\w+", layer)) for layer in reversed(layers) if layer != "__main__"]
    # A folder that git has emptied still holds what Python compiled.
    names = {path.relative_to(ROOT / "src" / "molehill").parts[0] for path in ROOT.glob("src/molehill/**/*.py")}
    there = [Path(name).stem for name in names if not name.startswith("_")]
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
