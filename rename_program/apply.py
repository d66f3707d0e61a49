"""Rename modules and names of a checkout of Molehill: `python apply.py CHECKOUT [--report FILE]`.

Reads modules.csv and every other table beside it; see engine.py for the kinds of rules. Works on whatever commit is
checked out, changes files in place (modules by `git mv`), can be called again, and prints what it could not do.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
_PYTHON = HERE / "venv" / "bin" / "python"
if Path(sys.prefix).resolve() != (HERE / "venv").resolve():
    raise SystemExit(subprocess.run([str(_PYTHON), str(Path(__file__).resolve()), *sys.argv[1:]], check=False).returncode)

from engine import Renaming, apply_edits, matches, module_of, read_file, read_rules  # noqa: E402

TABLES = ("public.csv", "concepts.csv", "locals.csv", "tests.csv")
CODE = ("src/", "tests/", "benchmarks/", "studies/", "docs/", "examples/")
TOP = ("src/", "tests/", "benchmarks/", "studies/", "docs/", "examples/", "README", "CONTRIBUTING", "mkdocs", "pyproject")
TEXT = (".md", ".toml", ".yml", ".yaml", ".html", ".js", ".css", ".py", ".json", ".cff", ".ini", "Makefile", "run")
# What came before is history; what a program wrote is data.
SKIP = ("CHANGELOG.md", "docs/images/", "LICENSE")


def main() -> int:
    root = Path(sys.argv[1]).resolve()
    rules = []
    for table in TABLES:
        if (HERE / table).exists():
            rules += read_rules(HERE / table)
    for rule in rules:
        if rule.path and not rule.path.startswith(TOP):
            rule.path = f"src/molehill/{rule.path}"
    listed = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout.split("\n")
    tracked = [name for name in listed if name and (root / name).is_file() and not name.startswith(SKIP)]
    replaced = replace_text(root, tracked, read_pairs(HERE / "text_before.csv"))
    code = [name for name in tracked if name.endswith(".py") and name.startswith(CODE)]
    files = {name: read_file(name, (root / name).read_text(encoding="utf-8")) for name in code}
    work = Renaming(files, rules)
    work.module_names(plan_modules(root)[1])
    work.run()
    tests = work.tests([pair[:2] for pair in read_pairs(HERE / "testwords.csv")])
    for name, file in files.items():
        if file.edits:
            (root / name).write_text(apply_edits(file), encoding="utf-8")
    words = rename_words(root, tracked, rules, work)
    moved = move_modules(root)
    tidy(root)
    replaced += replace_text(root, list_tracked(root), read_pairs(HERE / "text_after.csv"))
    edits = sum(len(file.edits) for file in files.values())
    tidy(root)
    print(f"{edits} names in {sum(bool(f.edits) for f in files.values())} files, {words} in text, {moved} files moved, {replaced} texts")
    for problem in work.problems:
        print("PROBLEM", problem)
    unused = [f"{rule.old} -> {'|'.join(rule.new)} ({rule.kind}, {rule.path})" for rule in rules if not rule.used]
    print(f"{len(unused)} rules found nothing")
    if "--unused" in sys.argv:
        print("\n".join(unused))
    return 0


def list_tracked(root: Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout.split("\n")
    return [name for name in listed if name and (root / name).is_file() and not name.startswith(SKIP)]


def read_pairs(path: Path) -> list[tuple[str, str, str]]:
    import csv

    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [(row["old"], row["new"], row.get("scope") or "") for row in csv.DictReader(file) if row["old"] and not row["old"].startswith("# ")]


def replace_text(root: Path, names: list[str], pairs: list[tuple[str, str, str]]) -> int:
    """Replace regular expressions in files whose path matches a scope (itself a regular expression)."""
    count = 0
    for name in names:
        if not name.endswith(TEXT):
            continue
        own = [(old, new) for old, new, scope in pairs if re.search(scope, name)]
        if not own:
            continue
        text = before = (root / name).read_text(encoding="utf-8")
        for old, new in own:
            text, found = re.subn(old, new, text, flags=re.MULTILINE)
            count += found
        if text != before:
            (root / name).write_text(text, encoding="utf-8")
    return count


RUFF = "/work/h/venv/bin/ruff"
_LONGEST = 120


def tidy(root: Path) -> None:
    """Order imports, lay the code out, and break comments and docstrings that became too long."""
    for _ in range(2):
        for command in (["check", "-q", "--select", "I,RUF022", "--fix", "."], ["format", "-q", "."]):
            subprocess.run([RUFF, *command], cwd=root, check=False, capture_output=True)
        found = subprocess.run(
            [RUFF, "check", "-q", "--select", "E501", "--output-format", "concise", "."],
            cwd=root, check=False, capture_output=True, text=True,
        ).stdout
        lines = defaultdict(list)
        for one in found.splitlines():
            path, _, rest = one.partition(":")
            if path.endswith(".py"):
                lines[path].append(int(rest.split(":")[0]))
        for path, numbers in lines.items():
            text = (root / path).read_text(encoding="utf-8").split("\n")
            prose = find_prose("\n".join(text))
            for number in sorted(numbers, reverse=True):
                if number in prose:
                    break_line(text, number - 1)
            (root / path).write_text("\n".join(text), encoding="utf-8")


def find_prose(text: str) -> set[int]:
    """The lines of docstrings, and those that are nothing but a comment."""
    import ast

    found = {number for number, line in enumerate(text.split("\n"), 1) if line.lstrip().startswith("# ")}
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                # A summary is one line.
                found |= set(range(first.lineno + 1, (first.end_lineno or 0) + 1))
    return found


def break_line(lines: list[str], at: int) -> None:
    """Carry the words of a comment or docstring that do not fit to the next line of its paragraph."""
    line = lines[at]
    while len(line) > _LONGEST:
        bare = line.lstrip()
        indent = line[: len(line) - len(bare)]
        mark = "# " if bare.startswith("# ") else ""
        if not mark and (bare.startswith((">>>", "...", '"', "'", "f\"", "raise", "return")) or " = " in bare[:40]):
            return
        if "# noqa" in line or "# pyright" in line or "# type" in line:
            return
        cut = line.rfind(" ", 0, _LONGEST + 1)
        if cut <= len(indent) + len(mark):
            return
        head, rest = line[:cut], line[cut + 1 :]
        lines[at] = head
        following = lines[at + 1] if at + 1 < len(lines) else ""
        own = following.lstrip()
        goes_on = (
            bool(own)
            and len(following) - len(own) == len(indent)
            and (own.startswith(mark) if mark else not own.startswith((">>>", "---", '"\"\"', "- ", "|", "* ")))
            and not (not mark and rest.endswith('"""'))
            and own[:1].islower() | own[:1].isdigit() | (own[:1] in "`(")
        )
        if goes_on:
            lines[at + 1] = f"{indent}{mark}{rest} {own.removeprefix(mark)}"
        else:
            lines.insert(at + 1, f"{indent}{mark}{rest}")
        at += 1
        line = lines[at]


# --- names in comments, docstrings and pages
def rename_words(root: Path, tracked: list[str], rules: list, work: Renaming) -> int:
    """Rename what is surely a name: in backticks, in examples, or with an underscore or a capital within."""
    everywhere, own, keywords = {}, defaultdict(dict), defaultdict(set)
    for rule in rules:
        if rule.kind == "any" and not rule.path and rule.used:
            everywhere[rule.old] = rule.new[0]
        elif rule.kind == "global" and rule.used:
            own[rule.path][rule.old] = rule.new[0]
    everywhere |= getattr(work, "renamed_by_prefix", {})
    # A name that one module had and is renamed there is renamed in all text.
    defined = defaultdict(set)
    for file in work.files.values():
        for _, _, name, role, chain, _ in file.names:
            if (role == "def" and len(chain) < 2) or (not chain and role == "name"):
                defined[name].add(file.path)
    for path, names in own.items():
        for old, new in names.items():
            if defined[old] <= {path} and ("_" in old.strip("_") or re.search(r"[a-z][A-Z]", old)):
                everywhere.setdefault(old, new)
    imported = {}
    for path, names in own.items():
        if path in work.files:
            for old, new in names.items():
                imported |= {one: new for one in work._exports(work.files[path].module, old)}
    dots = {}
    for (module, old), new in imported.items():
        dots[f"{module}.{old}"] = f"{module}.{new}"
    for old, new in everywhere.items():
        for path in defined[old]:
            dots[f"{module_of(path)}.{old}"] = f"{module_of(path)}.{new}"
    by_dots = re.compile(r"(?<![\w.])(" + "|".join(map(re.escape, sorted(dots, key=len, reverse=True))) + r")(?!\w)") if dots else None
    for (function, old), new in work.keywords.items():
        keywords[function].add((old, sorted(new)[0]))
    count = 0
    for name in tracked:
        if not name.endswith((".py", ".md", ".html", ".toml", ".yml")):
            continue
        text = (root / name).read_text(encoding="utf-8")
        here = everywhere | own.get(name, {})
        members = [
            (rule.old, rule.new[0])
            for rule in rules
            if rule.kind == "attr" and rule.used and not rule.inside and (matches(name, rule.path) if name.endswith(".py") else not rule.path)
        ]
        for module, names in re.findall(r"from (molehill[\w.]*) import ([^\n(]+)", text):
            if not name.endswith(".py") or f">>> from {module} import" in text:
                for one in names.split(","):
                    new = imported.get((module, one.strip()))
                    if new:
                        here = here | {one.strip(): new}
        if by_dots:
            text = by_dots.sub(lambda m: dots[m.group(1)], text)
        changed, found = _rename_text(text, here, everywhere, name.endswith(".py"), keywords, members)
        if changed != (root / name).read_text(encoding="utf-8"):
            (root / name).write_text(changed, encoding="utf-8")
            count += found
    return count


_WORD = re.compile(r"(?<![\w/])[A-Za-z_]\w*")


def _rename_text(text, here, everywhere, is_code, keywords, members):
    count = 0

    def swap(match, table):
        nonlocal count
        new = table.get(match.group(0))
        if new is None:
            return match.group(0)
        count += 1
        return new

    def distinct(table):
        return {
            old: new for old, new in table.items() if "_" in old.strip("_") or re.search(r"[a-z][A-Z]|^_", old) or old.isupper()
        }

    plain = distinct(everywhere)
    lines = []
    fenced = False
    for line in text.split("\n"):
        stripped = line.lstrip()
        if not is_code and stripped.startswith("```"):
            fenced = not fenced
        example = stripped.startswith((">>>", "... ")) or fenced
        if example:
            line = _WORD.sub(lambda m: swap(m, here), line)
            for old, new in members:
                line = re.sub(rf"(?<=\w\.){old}\b|(?<=\)\.){old}\b|(?<=[(\s,]){old}(?==[^=])", new, line)
            for function, pairs in keywords.items():
                if f"{function}(" in line:
                    for old, new in pairs:
                        line = re.sub(rf"(?<=[(\s,]){old}=", f"{new}=", line)
        elif not is_code:
            line = re.sub(r"`[^`]+`", lambda m: _WORD.sub(lambda n: swap(n, here), m.group(0)), line)
            line = _WORD.sub(lambda m: swap(m, plain), line)
            line = re.sub(r"(\{\{|\{%).*?(\}\}|%\})", lambda m: _WORD.sub(lambda n: swap(n, here), m.group(0)), line)
        else:
            comment = "#" in line or "`" in line
            if comment:
                line = re.sub(r"`[^`]+`", lambda m: _WORD.sub(lambda n: swap(n, here), m.group(0)), line)
            line = _WORD.sub(lambda m: swap(m, plain), line)
        lines.append(line)
    return "\n".join(lines), count


# --- modules
def plan_modules(root: Path):
    """The moves of files, the modules that get another name, and the folders."""
    import csv

    with (HERE / "modules.csv").open(newline="") as file:
        rows = [
            (row["old"], row["new"]) for row in csv.DictReader(line for line in file if line.strip() and line[0] != "#")
        ]
    folders = [(old, new) for old, new in rows if old.endswith("/")]
    singles = [(old, new) for old, new in rows if not old.endswith("/")]
    base = "src/molehill/"
    moves: list[tuple[str, str]] = []

    def place(path: str) -> str:
        for old, new in sorted(folders, key=lambda pair: -len(pair[0])):
            if path.startswith(old):
                return new + path.removeprefix(old)
        return path

    for old, new in singles:
        if (root / base / old).is_file():
            moves.append((base + old, base + place(new)))
            test, to = _test_of(old), _test_of(place(new))
            if (root / test).is_file():
                moves.append((test, to))
    known = {one for one, _ in moves}
    for name in list_tracked(root):
        for top in (base, "tests/"):
            rest = name.removeprefix(top)
            if name.startswith(top) and place(rest) != rest and name not in known:
                moves.append((name, top + place(rest)))
    dotted = {
        module_of(old): module_of(new) for old, new in moves if old.startswith(base) and old.endswith(".py")
    }
    return moves, dotted, folders


def move_modules(root: Path) -> int:
    moves, _, folders = plan_modules(root)
    base = "src/molehill/"
    dotted, paths = {}, {}
    count = 0
    for old, new in moves:
        if not (root / old).exists():
            continue
        if (root / new).exists():
            print("PROBLEM", f"{new} is there already: {old} stays")
            continue
        (root / new).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "mv", old, new], cwd=root, check=True)
        count += 1
        paths[old] = new
        if old.startswith(base) and old.endswith(".py"):
            dotted[module_of(old)] = module_of(new)
    for old, _ in folders:
        for top in (base, "tests/"):
            _remove_empty(root / top / old)
    _rewrite_references(root, paths, dotted, folders)
    return count


def _test_of(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"tests/{folder}/test_{name}".replace("//", "/")


def _remove_empty(folder: Path) -> None:
    if not folder.is_dir():
        return
    for cache in sorted(folder.rglob("__pycache__")):
        for file in cache.iterdir():
            file.unlink()
        cache.rmdir()
    for one in sorted((p for p in [folder, *folder.rglob("*")] if p.is_dir()), reverse=True):
        if not any(one.iterdir()):
            one.rmdir()


def _rewrite_references(root: Path, paths: dict[str, str], dotted: dict[str, str], folders) -> None:
    for old, new in folders:
        name = "molehill." + old.strip("/").replace("/", ".")
        if not (root / "src/molehill" / old).is_dir() and any(one.startswith(f"{name}.") or one == name for one in dotted):
            dotted.setdefault(name, "molehill." + new.strip("/").replace("/", "."))
    if not paths:
        return
    longest = sorted(dotted, key=len, reverse=True)
    by_dots = re.compile(r"(?<![\w.])(" + "|".join(map(re.escape, longest)) + r")(?![\w])") if longest else None
    short = {one.removeprefix("molehill."): new.removeprefix("molehill.") for one, new in dotted.items()}
    files = {}
    for old, new in paths.items():
        for top in ("src/molehill/", "src/", ""):
            if old.startswith(top):
                files[old.removeprefix(top)] = new.removeprefix(top)
    files = {old: new for old, new in files.items() if "/" in old}
    by_path = re.compile(r"(?<![\w/.-])(" + "|".join(map(re.escape, sorted(files, key=len, reverse=True))) + r")(?![\w])")
    folder_names = {}
    for old, new in folders:
        folder_names[f"src/molehill/{old}"] = f"src/molehill/{new}"
        folder_names[f"tests/{old}"] = f"tests/{new}"
    packages: dict[str, dict[str, tuple[str, str]]] = {}
    for old, new in dotted.items():
        package, _, leaf = old.rpartition(".")
        to, _, name = new.rpartition(".")
        packages.setdefault(package, {})[leaf] = (to, name)
    for name in list_tracked(root):
        if not name.endswith(TEXT):
            continue
        text = before = (root / name).read_text(encoding="utf-8")
        if name.endswith(".py"):
            text = _rewrite_from_imports(text, packages)
        if by_dots:
            text = by_dots.sub(lambda m: dotted[m.group(1)], text)
        text = by_path.sub(lambda m: files[m.group(1)], text)
        for old, new in folder_names.items():
            text = text.replace(old, new)
        if name in ("src/molehill/__init__.py", "src/molehill/models/__init__.py"):
            text = re.sub(
                r'"((?:\w+\.)+\w+)"',
                lambda m: f'"{_short(m.group(1), name, short)}"',
                text,
            )
        if text != before:
            (root / name).write_text(text, encoding="utf-8")


def _short(value: str, name: str, short: dict[str, str]) -> str:
    return short.get(value, value)


def _rewrite_from_imports(text: str, packages: dict[str, dict[str, tuple[str, str]]]) -> str:
    """`from molehill.studio import looking`: the module and every use of its name in the file."""
    renamed: dict[str, str] = {}

    def one(match):
        indent, package, names = match.group(1), match.group(2), match.group(3)
        known = packages.get(package, {})
        parts = [part.strip() for part in names.strip("()").split(",") if part.strip()]
        if not any(part.split(" as ")[0].strip() in known for part in parts):
            return match.group(0)
        out: dict[str, list[str]] = {}
        for part in parts:
            leaf, _, alias = (piece.strip() for piece in part.partition(" as "))
            to, new = known.get(leaf, (package, leaf))
            if leaf in known and not alias and new != leaf:
                renamed[leaf] = new
            out.setdefault(to, []).append(f"{new} as {alias}" if alias else new)
        return "\n".join(f"{indent}from {to} import {', '.join(sorted(found))}" for to, found in out.items())

    text = re.sub(r"^([ \t]*)from (molehill(?:\.\w+)*) import (\([^)]*\)|[^\n(#]+)", one, text, flags=re.MULTILINE)
    return text


if __name__ == "__main__":
    sys.exit(main())
