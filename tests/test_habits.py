"""What a newcomer looks for is there and true: hooks, workflow, templates that ask for no data, the security policy."""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
FORMS = [path for path in FORMS if path.name != "config.yml"]
REQUEST = ROOT / ".github" / "pull_request_template.md"
# The sentence that every template has; what else it asks for must not be one of these.
NO_VALUES = (
    "Do not paste values of a confidential table: no cell, no row, no picture of one, and no file from internal/."
)
DATA = re.compile(
    r"attach|upload|screenshot|excerpt|extract|sample of|your (data|file|values)|\brows|\bcells", re.IGNORECASE
)


def read(path: Path | str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def plain(text: str) -> str:
    return " ".join(re.sub(r"[*`]", "", text).split())


def commands(target: str) -> list[str]:
    """Commands of a target of the Makefile, as the shell gets them."""
    makefile = read("Makefile")
    variables = dict(re.findall(r"^(\w+) :?= (.*)$", makefile, re.MULTILINE))
    (recipe,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    return [re.sub(r"\$\((\w+)\)", lambda name: variables[name[1]], line.strip()) for line in recipe.splitlines()]


# Checks before a commit and after a push.


def test_the_hooks_are_the_checks_of_make_lint():
    (repo,) = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    assert repo["repo"] == "local"  # nothing is fetched
    assert [hook["entry"] for hook in repo["hooks"]] == commands("lint")
    assert len({hook["id"] for hook in repo["hooks"]}) == len(repo["hooks"])
    for hook in repo["hooks"]:
        assert hook["language"] == "system"
        # Names of files would be put behind a command that already says what to check.
        assert hook["pass_filenames"] is False
        assert all(re.search(hook["files"], name) for name in ("src/molehill/errors.py", "pyproject.toml"))


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
JOBS = [(path.stem, name) for path in WORKFLOWS for name in yaml.safe_load(read(path))["jobs"]]
# Minutes after which a job is ended.
LONGEST = {"ci": 60, "slow": 360}


def read_job(workflow: str, name: str) -> dict[str, Any]:
    return yaml.safe_load(read(f".github/workflows/{workflow}.yml"))["jobs"][name]


def list_runs(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def list_actions(job: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {step["uses"].partition("@")[0]: step for step in job["steps"] if "uses" in step}


@pytest.mark.parametrize(("workflow", "name"), JOBS)
def test_a_job_may_only_read_ends_and_uses_actions_of_known_versions(workflow, name):
    whole, job = yaml.safe_load(read(f".github/workflows/{workflow}.yml")), read_job(workflow, name)
    assert whole["permissions"] == {"contents": "read"}
    assert whole["concurrency"]["cancel-in-progress"] is True
    # What a job says of its own would take the place of what the workflow says.
    assert "permissions" not in job
    assert job["timeout-minutes"] <= LONGEST[workflow]
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/(checkout|setup-python|cache)@v\d+", action) for action in used)
    actions = list_actions(job)
    assert list(actions)[:2] == ["actions/checkout", "actions/setup-python"]
    assert actions["actions/checkout"]["with"]["persist-credentials"] is False


def test_on_linux_every_push_runs_what_every_submission_must_pass():
    job = read_job("ci", "full")
    assert list_runs(job) == ["bash .ci/run"]
    assert {"make lint", "make test"} <= set(read(".ci/run").splitlines())
    allowed = SpecifierSet(tomllib.loads(read("pyproject.toml"))["project"]["requires-python"])
    first = next(minor for minor in range(100) if f"3.{minor}" in allowed)
    # Unquoted, YAML would read 3.10 as 3.1.
    assert job["strategy"]["matrix"]["python"] == [f"3.{minor}" for minor in range(first, 15)]
    assert list_actions(job)["actions/setup-python"]["with"]["python-version"] == "${{ matrix.python }}"


def test_other_systems_and_versions_run_the_tests_of_make_test():
    (command,) = commands("test")
    tests = command.removeprefix("$(BIN)/")
    for name in ("systems", "lowest", "newest"):
        assert list_runs(read_job("ci", name))[-1] == tests
    assert read_job("ci", "systems")["strategy"]["matrix"]["system"] == ["macos-latest", "windows-latest"]
    # The lowest versions that pyproject.toml allows, of the lowest Python.
    lowest = read_job("ci", "lowest")
    assert "--resolution lowest-direct" in list_runs(lowest)[-2]
    python = list_actions(lowest)["actions/setup-python"]["with"]["python-version"]
    assert python == read_job("ci", "full")["strategy"]["matrix"]["python"][0]
    # Only what is not released yet may fail.
    assert [name for workflow, name in JOBS if read_job(workflow, name).get("continue-on-error")] == ["newest"]


def test_the_long_tests_run_every_night_and_before_a_release():
    workflow = yaml.safe_load(read(".github/workflows/slow.yml"))
    # YAML takes a bare `on` for a truth.
    when = workflow[True]
    assert when["push"] == {"tags": ["v*"]}
    assert len(when["schedule"]) == 1
    assert list_runs(read_job("slow", "slow"))[-1] == "make test-slow"
    assert list_runs(read_job("ci", "documentation")) == ["make docs"]


# Templates ask what a table looks like, and never for what is in it.


@pytest.mark.parametrize("path", [*FORMS, REQUEST], ids=lambda path: path.stem)
def test_a_template_asks_for_no_values(path):
    text = plain(read(path))
    assert text.count(NO_VALUES) == 1
    assert DATA.findall(text.replace(NO_VALUES, "")) == []
    assert "SECURITY.md" in text
    for words in ("kinds", "names changed", "number of records", "pattern sizes"):
        assert words in text.lower()


# What is promised.


def test_every_promise_has_its_tests():
    promises = read("SECURITY.md").split("## What the program promises")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (?!promise|--)(.+) \| (.+) \|$", promises, re.MULTILINE)
    assert len(rows) == promises.count("\n|") - 2  # heading and line
    for promise, tests in rows:
        files = re.findall(r"`(tests/[\w/]+\.py)`", tests)
        assert files, promise
        assert all("def test_" in read(file) for file in files), promise


def test_what_the_security_policy_points_to_exists():
    policy = read("SECURITY.md")
    named = re.findall(r"`((?:docs|src|tests)/[^`]+)`", policy)
    linked = re.findall(r"\]\(([^)#:]+)(?:#([^)]+))?\)", policy)
    assert len(named) >= 10
    assert linked
    for path in (*named, *(path for path, _ in linked)):
        assert (ROOT / path).is_file(), path
    for path, heading in linked:
        headings = [re.sub(r"[^\w]+", "-", line.lower()) for line in re.findall(r"^#+ (.*)$", read(path), re.MULTILINE)]
        assert not heading or heading in headings


LOADERS = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}
NETWORK = {"aiohttp", "ftplib", "http", "httpx", "requests", "smtplib", "socket", "urllib"}
# Pieces of work go to workers and back, as packets that only those who hold the keys of a cluster can send.
ALLOWED = {
    "src/molehill/cluster.py": {"cloudpickle", "pickle", "socket", "urllib"},
    # It listens on this machine, and reads a name that was sent.
    "src/molehill/studio/serving.py": {"socket", "urllib"},
}
BUILT_IN = {"__import__", "compile", "eval", "exec"}
METHODS = {"eval", "query", "read_pickle", "to_pickle"}


def dangers(tree: ast.AST) -> set[str]:
    """Name what could run text from data, load a pickle or open a connection."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names} & (LOADERS | NETWORK)
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}".partition(".")[0]} & (LOADERS | NETWORK)
        if isinstance(node, ast.Call):
            found |= {getattr(node.func, "id", "")} & BUILT_IN | {getattr(node.func, "attr", "")} & METHODS
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False":
            found.add("allow_pickle")
    return found


def test_the_source_runs_no_text_loads_no_pickle_and_opens_no_connection():
    sources = sorted((ROOT / "src").rglob("*.py"))
    assert len(sources) > 50
    found = {str(path.relative_to(ROOT)): dangers(ast.parse(read(path))) for path in sources}
    assert {path: names for path, names in found.items() if names} == ALLOWED
    bad = "import pickle\nfrom urllib import request\nframe.query('x')\neval('1')\nnp.load(path, allow_pickle=True)"
    assert dangers(ast.parse(bad)) == {"pickle", "urllib", "query", "eval", "allow_pickle"}


def test_tests_lie_in_the_folders_of_what_they_test():
    tested = {path.parent.relative_to(ROOT / "src" / "molehill") for path in ROOT.glob("src/molehill/**/*.py")}
    tests = {path.parent.relative_to(ROOT / "tests") for path in ROOT.glob("tests/**/test_*.py")}
    assert tests == tested | {Path("studies")}
