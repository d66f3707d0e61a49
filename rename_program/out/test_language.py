"""The words of the field: names, documentation and every surface that users read, without those of the guide's left column.

A word is banned here once nothing uses it; LANGUAGE.md has what to say instead. Names are read from the syntax tree, so that
a local variable counts as much as a class; pages, help and docstrings are read as text without code.
"""

import ast
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from small_release import made_release

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
TEMPLATES = sorted((ROOT / "src").rglob("*.html"))

# Parts of names, each with what the guide has in its place.
NAMES = {
    "alone": "unique, single variable",
    "anybody": "every record",
    "bench": "search state",
    "dossier": "release record",
    "fate": "treatment",
    "fates": "treatments",
    "lean": "rake",
    "leaning": "raking",
    "likely": "probable, knowledge probability",
    "looked": "inspected",
    "masses": "bootstrap weights",
    "nobody": "no record",
    "owed": "gain",
    "scene": "context",
    "scenery": "quantities",
    "secret": "sensitive variable",
    "teller": "formatter",
    "told": "described, reported",
    "trail": "audit",
    "verdict": "recommendation",
    "whoever": "intruder",
}
# Names that have such a part for another reason.
ALLOWED_NAMES = {"secrets"}
# Words of text, as regular expressions. Add one as soon as no page has it: the guide's left column is the list to come.
WORDS: dict[str, str] = {}
# The list to come, for the stage of the prose; a word moves up as it goes.
TO_COME = {
    r"\bfates?\b": "treatment",
    r"\bdossiers?\b": "release record",
    r"\b(?:is|are|was|be|been) told\b": "reported, disclosed",
    r"\btells?\b": "reports, discloses, shows",
    r"\bowed to\b": "attributable to",
    r"\bnobody\b|\banybody\b|\beverybody else\b": "no record, no respondent, every other record",
    r"\bsecrets?\b": "sensitive variable",
    r"\bgives? away\b|\bgiven away\b": "discloses",
    r"\bleans?\b|\bleaning\b": "is raked",
    r"\bmasses\b": "bootstrap weights",
    r"\blook-alikes?\b": "records that share the key variables",
    r"\bfresh samples?\b": "sampling benchmark",
    r"\bverdicts?\b": "recommendation",
    r"\bparts of \d": "minimum leaf size",
    r"\bstrongest (?:intruder|attacker)\b": "worst-case intruder",
    r"\bwhat leaves the building\b": "what is published, and what it reveals",
}


def name_parts(name: str) -> set[str]:
    """The words that a name is made of."""
    return {part.lower() for part in re.findall(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+", name)}


def names_of(text: str) -> set[str]:
    """Every name that a module defines: functions, classes, parameters, attributes, variables."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found - ALLOWED_NAMES


def prose_of(text: str) -> str:
    """Text without code: no fences, no backticks, no tags, no expressions of templates."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`]*`|\{\{.*?\}\}|\{%.*?%\}", "", text, flags=re.DOTALL)
    text = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", text)


def banned_in(text: str) -> list[str]:
    prose = prose_of(text)
    return [
        f"{match.group(0)!r}: say {instead}"
        for pattern, instead in WORDS.items()
        for match in re.finditer(pattern, prose, re.IGNORECASE)
    ]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT / "src").as_posix())
def test_names_are_those_of_the_field(path):
    names = {name for name in names_of(path.read_text(encoding="utf-8")) | {path.stem} if name_parts(name) & set(NAMES)}
    assert not names, {name: [NAMES[part] for part in name_parts(name) & set(NAMES)] for name in names}


def test_no_two_modules_and_no_two_public_names_are_the_same():
    modules = [path.stem for path in SOURCES if not path.stem.startswith("__")]
    assert sorted({name for name in modules if modules.count(name) > 1}) == []
    public: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            named = [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
            if isinstance(node, ast.Assign):
                named = [target.id for target in node.targets if isinstance(target, ast.Name)]
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                named = [node.target.id]
            for name in named:
                if not name.startswith("_"):
                    public.setdefault(name, []).append(path.name)
    assert {name: paths for name, paths in public.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("path", [*PAGES, *TEMPLATES], ids=lambda path: path.name)
def test_pages_have_the_words_of_the_field(path):
    assert banned_in(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT / "src").as_posix())
def test_docstrings_and_messages_have_the_words_of_the_field(path):
    texts = [
        node.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    ]
    assert [one for text in texts for one in banned_in(text)] == []


def test_the_rendered_report_has_the_words_of_the_field(tmp_path_factory):
    folder, _ = made_release(tmp_path_factory)
    for path in sorted(folder.rglob("*.html")):
        assert banned_in(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "command",
    [[], ["init"], ["plan"], ["run"], ["report"], ["verify"], ["risk"], ["evaluate"], ["studio"], ["demo"]],
    ids=lambda command: " ".join(command) or "molehill",
)
def test_help_has_the_words_of_the_field(command):
    from molehill.cli.commands import app  # noqa: PLC0415

    found = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"})
    assert found.exit_code == 0
    assert banned_in(found.output) == []


def test_a_banned_word_is_found():
    assert name_parts("tellerOfFates") & {"teller", "fates"} == {"teller", "fates"}
    assert names_of("def f(told):\n    self.fate = [scene for scene in told]") == {"f", "told", "fate", "scene"}
    assert prose_of("a <b title='told'>b</b> `told` {{ told }}\n```\ntold\n```\n").split() == ["a", "b"]
