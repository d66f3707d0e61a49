"""Names and modules renamed by a table, on whatever commit a checkout is at.

Every edit is found on the syntax tree (libcst, which also sees into f-strings) and made in the text, so that nothing else
of a file changes. Kinds of rules:

any     an identifier wherever it stands in code, and in text where it is unmistakably code
attr    an attribute, method, field or keyword: `.old`, `old=` in calls, a name in the body of a class
global  a name of one module, followed through imports, re-exports, `module.name` and monkeypatched strings
local   a name that a function binds; a parameter also where it is given by keyword, and as key of `**` arguments
prefix  a function whose name begins with the word (`tell_` and `_tell_`)
string  a string that is exactly this
text    a pattern in text, as it stands
"""

import ast
import csv
import hashlib
import pickle
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

KINDS = ("any", "attr", "global", "local", "prefix", "string", "text")


@dataclass
class Rule:
    old: str
    new: list[str]
    kind: str
    path: str
    inside: str
    used: int = 0


def read_rules(path: Path) -> list[Rule]:
    rules = []
    with path.open(newline="") as file:
        for row in csv.DictReader(line for line in file if line.strip() and not line.startswith("#")):
            assert row["kind"] in KINDS, row
            where, _, inside = (row["scope"] or "").strip().partition("::")
            rules.append(Rule(row["old"].strip(), row["new"].strip().split("|"), row["kind"], where, inside))
    return rules


def matches(path: str, where: str) -> bool:
    return not where or path == where or (where.endswith("/") and path.startswith(where))


@dataclass
class File:
    path: str
    text: str
    names: list = field(default_factory=list)  # (line, column, name, role, chain, owner)
    strings: list = field(default_factory=list)  # (line, column, raw, value, chain, role)
    imports: dict = field(default_factory=dict)  # local name -> (module, name or None)
    imports_in: dict = field(default_factory=dict)  # (outermost function, local name) -> (module, name or None)
    bound: dict = field(default_factory=dict)  # qualname of an outermost function -> names that it binds
    params: dict = field(default_factory=dict)  # qualname -> parameters
    seen: dict = field(default_factory=dict)  # qualname -> identifiers that stand in it
    globals: set = field(default_factory=set)
    star_calls: dict = field(default_factory=dict)  # qualname -> functions called with **
    edits: dict = field(default_factory=dict)  # (line, column) -> (old, new)

    @property
    def module(self) -> str:
        return module_of(self.path)


def module_of(path: str) -> str:
    name = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    return name.removesuffix(".__init__")


class _Collect(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider, ParentNodeProvider)

    def __init__(self, file: File) -> None:
        self.file, self.chain, self.annotations = file, [], 0

    def _place(self, node):
        at = self.get_metadata(PositionProvider, node).start
        return at.line, at.column

    def visit_FunctionDef(self, node):
        self._name(node.name, "def")
        for one in (node.decorators, [node.returns] if node.returns else []):
            for part in one:
                part.visit(self)
        self.chain.append(("f", node.name.value))
        node.params.visit(self)
        node.body.visit(self)
        self.chain.pop()
        return False

    def visit_ClassDef(self, node):
        self._name(node.name, "def")
        for part in (*node.decorators, *node.bases, *node.keywords):
            part.visit(self)
        self.chain.append(("c", node.name.value))
        node.body.visit(self)
        self.chain.pop()
        return False

    def visit_Attribute(self, node):
        node.value.visit(self)
        base = node.value.value if isinstance(node.value, cst.Name) else None
        self._name(node.attr, "attribute", base)
        return False

    def visit_Arg(self, node):
        if node.keyword is not None:
            call = self.get_metadata(ParentNodeProvider, node)
            owner = _called(call) if isinstance(call, cst.Call) else ""
            self._name(node.keyword, "keyword", owner)
        node.value.visit(self)
        return False

    def visit_Call(self, node):
        if any(arg.star == "**" for arg in node.args):
            self.file.star_calls.setdefault(self._outer(), set()).add(_called(node))

    def visit_Param(self, node):
        self._name(node.name, "param")
        for part in (node.annotation, node.default):
            if part is not None:
                part.visit(self)
        return False

    def visit_ImportFrom(self, node):
        module = _dotted(node.module) if node.module else ""
        if isinstance(node.names, cst.ImportStar):
            return False
        for alias in node.names:
            name = alias.name.value
            self._name(alias.name, "import", module)
            local = name
            if alias.asname:
                local = alias.asname.name.value
                self._name(alias.asname.name, "asname")
            self.file.imports.setdefault(local, (module, name))
            self.file.imports_in[self._outer(), local] = (module, name)
        return False

    def visit_Import(self, node):
        for alias in node.names:
            if alias.asname:
                self._name(alias.asname.name, "asname")
                self.file.imports.setdefault(alias.asname.name.value, (_dotted(alias.name), None))
                self.file.imports_in[self._outer(), alias.asname.name.value] = (_dotted(alias.name), None)
        return False

    def visit_Name(self, node):
        role = "name"
        parent = self.get_metadata(ParentNodeProvider, node)
        if self.chain and self.chain[-1][0] == "c" and isinstance(parent, cst.AssignTarget | cst.AnnAssign) and (
            not isinstance(parent, cst.AnnAssign) or parent.target is node
        ):
            role = "field"
        self._name(node, role)

    def visit_Annotation(self, node):
        self.annotations += 1

    def leave_Annotation(self, original_node):
        self.annotations -= 1

    def visit_SimpleString(self, node):
        if self.annotations or re.fullmatch(r'"[A-Z]\w*(\[[\w, |\[\].]*\])?( \| \w+)*"', node.value):
            line, column = self._place(node)
            for match in re.finditer(r"(\.?)([A-Za-z_]\w*)", node.value):
                role = "attribute" if match.group(1) else "annotation"
                self.file.names.append((line, column + match.start(2), match.group(2), role, tuple(self.chain), ""))
        try:
            value = node.evaluated_value
        except Exception:
            return
        parent = self.get_metadata(ParentNodeProvider, node)
        role = "key" if isinstance(parent, cst.DictElement) and parent.key is node else ""
        if isinstance(parent, cst.Index):
            role = "key"
        if isinstance(parent, cst.Arg):
            call = self.get_metadata(ParentNodeProvider, parent)
            if isinstance(call, cst.Call) and _called(call) in ("setattr", "patch", "getattr", "hasattr", "delattr"):
                first = call.args[0].value
                role = "attr:" + (first.value if isinstance(first, cst.Name) else "?")
        if isinstance(value, str):
            self.file.strings.append((*self._place(node), node.value, value, tuple(self.chain), role))

    def _outer(self):
        return outer(self.chain)

    def _name(self, node, role, owner=""):
        self.file.names.append((*self._place(node), node.value, role, tuple(self.chain), owner))


def _called(call):
    func = call.func
    if isinstance(func, cst.Name):
        return func.value
    return func.attr.value if isinstance(func, cst.Attribute) else ""


def _dotted(node):
    return node.value if isinstance(node, cst.Name) else f"{_dotted(node.value)}.{node.attr.value}"


def outer(chain) -> str:
    """The outermost function of a chain, with its classes; empty outside of functions."""
    parts = []
    for kind, name in chain:
        parts.append(name)
        if kind == "f":
            return ".".join(parts)
    return ""


def read_file(path: str, text: str) -> File:
    key = hashlib.sha256(f"{path}\n{text}\n2".encode()).hexdigest()
    kept = Path(__file__).parent / "cache" / key[:2] / f"{key}.pickle"
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    file = _read_file(path, text)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(pickle.dumps(file))
    return file


def _read_file(path: str, text: str) -> File:
    file = File(path, text)
    tree = ast.parse(text)
    _bindings(tree, (), file)
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    wrapper.visit(_Collect(file))
    for _, _, name, role, chain, _ in file.names:
        if role not in ("attribute", "keyword"):
            file.seen.setdefault(outer(chain), set()).add(name)
            if not chain:
                file.globals.add(name)
    return file


def _bindings(node, chain, file: File) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            here = (*chain, ("f", child.name))
            key = outer(here)
            into = file.bound.setdefault(key, set())
            args = child.args
            own = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
            into |= {*own, *(a.arg for a in (args.vararg, args.kwarg) if a)}
            file.params.setdefault(".".join(name for _, name in here), own)
            if outer(chain):
                into.add(child.name)
            _bindings(child, here, file)
        elif isinstance(child, ast.ClassDef):
            _bindings(child, (*chain, ("c", child.name)), file)
        else:
            key = outer(chain)
            if key:
                into = file.bound.setdefault(key, set())
                if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                    into.add(child.id)
                elif isinstance(child, ast.arg):
                    into.add(child.arg)
                elif isinstance(child, ast.ExceptHandler) and child.name:
                    into.add(child.name)
            _bindings(child, chain, file)


class Renaming:
    def __init__(self, files: dict[str, File], rules: list[Rule]) -> None:
        self.files, self.rules, self.problems = files, rules, []
        self.modules = {file.module: file for file in files.values()}
        self.keywords = defaultdict(set)  # (function, old) -> {new}
        self.importers = defaultdict(list)
        self.keepers = set()  # (function, parameter) that some function of the name keeps

    def _index(self) -> None:
        self.by_name, self.by_string, self.by_import = defaultdict(list), defaultdict(list), defaultdict(list)
        for file in self.files.values():
            for entry in file.names:
                self.by_name[entry[2]].append((file, entry))
            for entry in file.strings:
                self.by_string[entry[3]].append((file, entry))

    def _named(self, name: str):
        grouped: dict[str, list] = {}
        for file, entry in self.by_name[name]:
            grouped.setdefault(file.path, []).append(entry)
        strings: dict[str, list] = {}
        for file, entry in self.by_string[name]:
            strings.setdefault(file.path, []).append(entry)
        for path in sorted({*grouped, *strings}):
            yield self.files[path], grouped.get(path, []), strings.get(path, [])

    def run(self) -> None:
        self._index()
        by_kind = defaultdict(list)
        for rule in self.rules:
            by_kind[rule.kind].append(rule)
        for rule in by_kind["global"]:
            self._global(rule)
        for rule in by_kind["any"] + by_kind["attr"]:
            self._anywhere(rule)
        self._prefixes(by_kind["prefix"])
        self._locals(by_kind["local"])
        self._keywords()
        self._strings(by_kind["string"])

    def module_names(self, moved: dict[str, str]) -> None:
        """Uses of a module by its name, where it gets another; the import itself follows with the paths."""
        for file in self.files.values():
            for line, column, name, role, chain, _ in file.names:
                target = file.imports_in.get((outer(chain), name)) or file.imports_in.get(("", name))
                if role != "name" or target is None or target[1] is None or name in file.bound.get(outer(chain), ()):
                    continue
                new = moved.get(f"{target[0]}.{target[1]}")
                if new and target[1] == name and new.rpartition(".")[2] != name:
                    self._edit(file, (line, column), name, new.rpartition(".")[2])

    def tests(self, pairs: list[tuple[str, str]]) -> dict[str, str]:
        """Name tests in the words of the field: the first whole name that fits, or every word."""
        whole = [(re.compile(f"^{old}"), new) for old, new in pairs if old.endswith("$")]
        words = [(re.compile(old), new) for old, new in pairs if not old.endswith("$")]
        renamed = {}
        for file in self.files.values():
            if not file.path.startswith("tests/"):
                continue
            defined = {name for _, _, name, role, *_ in file.names if role == "def"}
            for line, column, name, role, _, _ in file.names:
                if role != "def" or not name.startswith("test_"):
                    continue
                bare = name.removeprefix("test_")
                new = next((to for pattern, to in whole if pattern.search(bare)), None)
                if new is None:
                    new = bare
                    for pattern, to in words:
                        new = pattern.sub(to, new)
                if new != bare and f"test_{new}" not in defined:
                    self._edit(file, (line, column), name, f"test_{new}")
                    renamed[name] = f"test_{new}"
        return renamed

    def _edit(self, file: File, place, old: str, new: str) -> bool:
        if place in file.edits:
            return False
        file.edits[place] = (old, new)
        return True

    # --- names of modules
    def _exports(self, module: str, name: str) -> set[tuple[str, str]]:
        """The (module, name) by which a name can be imported: its own, and those of re-exports."""
        if not self.importers:
            for file in self.files.values():
                for local, (source, imported) in file.imports.items():
                    if local == imported:
                        self.importers[source, imported].append((file.module, local))
        found, queue = set(), [(module, name)]
        while queue:
            one = queue.pop()
            if one not in found:
                found.add(one)
                queue += self.importers[one]
        return found

    def _global(self, rule: Rule) -> None:
        own = self.files.get(rule.path)
        if own is None:
            return
        new = rule.new[0]
        if rule.old not in own.globals:
            return
        exports = self._exports(own.module, rule.old)
        for file, names_here, strings_here in self._named(rule.old):
            here = file is own or any(
                target in exports and local == rule.old for (_, local), target in file.imports_in.items()
            )
            modules = {
                local
                for local, (module, name) in file.imports.items()
                if ((f"{module}.{name}" if name else module), rule.old) in exports
            }
            count = 0
            for line, column, name, role, chain, owner in names_here:
                target = file.imports_in.get((outer(chain), name)) or file.imports_in.get(("", name))
                foreign = target is not None and target not in exports
                if foreign and role not in ("import", "attribute"):
                    continue
                if not foreign and target is None and file is not own and role not in ("import", "attribute"):
                    continue
                shadowed = role in ("name", "param", "def", "field") and name in file.bound.get(outer(chain), ())
                hit = (
                    (here and role in ("name", "asname", "annotation") and not shadowed)
                    or (file is own and role == "def" and not chain)
                    or (role == "import" and (owner, name) in exports)
                    or (role == "attribute" and owner in modules)
                )
                if role == "import" and (owner, name) in exports and file.imports.get(name, ("", ""))[1] != name:
                    hit = True
                if hit:
                    count += self._edit(file, (line, column), name, new)
            for line, column, raw, value, chain, role in strings_here:
                if (role.startswith("attr:") and role[5:] in modules) or (
                    file.path.endswith("__init__.py") and here
                ):
                    count += self._edit(file, (line, column), raw, raw.replace(rule.old, new))
            if here and new in file.globals:
                self.problems.append(f"{file.path}: {rule.old} -> {new}: the new name is there already")
            if here:
                for key, names in file.seen.items():
                    if rule.old in names and new in names and key:
                        self.problems.append(f"{file.path}::{key}: {rule.old} -> {new}: a local has the new name")
            rule.used += count

    # --- identifiers wherever they stand
    def _anywhere(self, rule: Rule) -> None:
        new = rule.new[0]
        roles = {"attribute", "keyword", "field", "method"} if rule.kind == "attr" else None
        for file, names_here, strings_here in self._named(rule.old):
            if not matches(file.path, rule.path):
                continue
            for line, column, name, role, chain, owner in names_here:
                if not _within(chain, rule.inside):
                    continue
                # Fields of a text or template, and columns of a frame, are no attributes.
                if rule.kind == "attr" and role == "keyword" and owner in ("format", "assign", "render", "dict"):
                    continue
                if role == "def" and chain and chain[-1][0] == "c":
                    role = "method"
                if roles is None or role in roles:
                    rule.used += self._edit(file, (line, column), name, new)
            if rule.kind == "attr":
                # Fields that are set by `replace` or a constructor from a mapping.
                for line, column, raw, value, chain, role in strings_here:
                    called = file.star_calls.get(outer(chain), ())
                    if role == "key" and any(one == "replace" or one[:1].isupper() for one in called):
                        rule.used += self._edit(file, (line, column), raw, raw.replace(rule.old, new))
            if rule.kind == "any":
                for line, column, raw, value, chain, role in strings_here:
                    if (role.startswith("attr:") or file.path.endswith("__init__.py")):
                        rule.used += self._edit(file, (line, column), raw, raw.replace(rule.old, new))

    def _prefixes(self, rules: list[Rule]) -> None:
        defined = defaultdict(set)
        for file in self.files.values():
            for _, _, name, role, _, _ in file.names:
                if role == "def":
                    defined[name].add(file.path)
        taken = {name for file in self.files.values() for _, _, name, *_ in file.names}
        for rule in rules:
            renamed = {}
            for name in defined:
                bare = name.lstrip("_")
                named = any(one.old == name and one.kind in ("any", "global") and one.used for one in self.rules)
                if not named and bare.startswith(rule.old) and any(matches(path, rule.path) for path in defined[name]):
                    new = name[: len(name) - len(bare)] + rule.new[0] + bare[len(rule.old) :]
                    if new in taken:
                        self.problems.append(f"prefix: {name} -> {new}: the new name is there already")
                        continue
                    renamed[name] = new
            for file in self.files.values():
                for line, column, name, role, _, _ in file.names:
                    if name in renamed:
                        rule.used += self._edit(file, (line, column), name, renamed[name])
                for line, column, raw, value, chain, role in file.strings:
                    if value in renamed and (role.startswith("attr:") or file.path.endswith("__init__.py")):
                        rule.used += self._edit(file, (line, column), raw, raw.replace(value, renamed[value]))
            self.renamed_by_prefix = getattr(self, "renamed_by_prefix", {}) | renamed

    # --- locals and parameters
    def _locals(self, rules: list[Rule]) -> None:
        by_old = defaultdict(list)
        for rule in rules:
            by_old[rule.old].append(rule)
        for file in self.files.values():
            chosen: dict[tuple[str, str], str] = {}
            taken = {key: set(names) for key, names in file.seen.items()}
            for key, bound in file.bound.items():
                for old in sorted(bound & set(by_old)):
                    rule = _best(by_old[old], file.path, key)
                    if rule is None or rule.new == ["-"]:
                        continue
                    if file.path.startswith("tests/") and old in file.params.get(key, ()) and (
                        key.startswith("test_")
                        or any(one[3] == old for one in file.strings)
                        or re.search(rf"@pytest\.fixture[^\n]*\ndef {key}\(", file.text)
                    ):
                        # Filled by fixtures and parametrizations, by name.
                        continue
                    new = next((one for one in rule.new if one not in taken.get(key, ())), None)
                    if new is None:
                        self.problems.append(f"{file.path}::{key}: {old} -> {'|'.join(rule.new)}: taken")
                        continue
                    taken[key].add(new)
                    chosen[key, old] = new
                    rule.used += 1
            for line, column, name, role, chain, _ in file.names:
                new = chosen.get((outer(chain), name))
                if new and role in ("name", "param", "asname", "def") and not (role == "def" and len(chain) < 1):
                    if role == "param" or role == "name" or (role == "def" and outer(chain)):
                        self._edit(file, (line, column), name, new)
            # Parameters of functions without a name, outside of others.
            for line, _, name, role, chain, _ in list(file.names):
                if role != "param" or outer(chain) or name not in by_old:
                    continue
                rule = _best(by_old[name], file.path, "")
                if rule is None or rule.inside or rule.new[0] in file.seen.get("", ()) or rule.new == ["-"]:
                    continue
                for at, column, other, kind, where, _ in file.names:
                    if other == name and kind in ("name", "param") and not outer(where):
                        self._edit(file, (at, column), name, rule.new[0])
            for qualname, own in file.params.items():
                function = qualname.rsplit(".", 1)[-1]
                key = outer([("f" if i else "c", n) for i, n in []]) if False else _outer_of(qualname, file)
                names = [function]
                if function == "__init__":
                    names = [qualname.split(".")[-2]]
                for parameter in own:
                    new = chosen.get((key, parameter))
                    for one in names:
                        if new:
                            self.keywords[one, parameter].add(new)
                        else:
                            self.keepers.add((one, parameter))
            file.chosen = chosen

    def _keywords(self) -> None:
        for (function, old), news in sorted(self.keywords.items()):
            if len(news) > 1 or (function, old) in self.keepers:
                local = self._keyword_uses(function, old)
                if local:
                    self.problems.append(f"{function}({old}=): several functions of the name, {sorted(news)}: {local[:4]}")
            new = sorted(news)[0]
            for file, names_here, strings_here in self._named(old):
                for line, column, name, role, _, owner in names_here:
                    if role == "keyword" and owner == function:
                        self._edit(file, (line, column), name, new)
                for line, column, raw, value, chain, role in strings_here:
                    if role == "key" and function in file.star_calls.get(outer(chain), ()):
                        self._edit(file, (line, column), raw, raw.replace(old, new))

    def _keyword_uses(self, function: str, old: str) -> list[str]:
        return [
            f"{file.path}:{line}"
            for file, (line, _, name, role, _, owner) in self.by_name[old]
            if role == "keyword" and owner == function
        ]

    def _strings(self, rules: list[Rule]) -> None:
        for rule in rules:
            for file, _, strings_here in self._named(rule.old):
                if matches(file.path, rule.path):
                    for line, column, raw, value, chain, _ in strings_here:
                        if _within(chain, rule.inside):
                            rule.used += self._edit(file, (line, column), raw, raw.replace(rule.old, rule.new[0]))


def _outer_of(qualname: str, file: File) -> str:
    parts = qualname.split(".")
    for end in range(1, len(parts) + 1):
        if ".".join(parts[:end]) in file.bound:
            return ".".join(parts[:end])
    return qualname


def _within(chain, inside: str) -> bool:
    if not inside:
        return True
    name = ".".join(one for _, one in chain)
    return name == inside or name.startswith(f"{inside}.")


def _best(rules: list[Rule], path: str, key: str) -> Rule | None:
    fitting = [
        rule
        for rule in rules
        if matches(path, rule.path) and (not rule.inside or key == rule.inside or key.startswith(f"{rule.inside}."))
    ]
    return max(fitting, key=lambda rule: (bool(rule.inside), len(rule.path)), default=None)


def apply_edits(file: File) -> str:
    lines = file.text.splitlines(keepends=True)
    by_line = defaultdict(list)
    for (line, column), (old, new) in sorted(file.edits.items()):
        by_line[line].append((column, old, new))
    for line, edits in by_line.items():
        text, out, end = lines[line - 1], [], 0
        for column, old, new in edits:
            # A name within a string that is renamed as a whole.
            if column < end:
                continue
            assert text[column:].startswith(old), (file.path, line, column, old, text)
            out += [text[end:column], new]
            end = column + len(old)
        lines[line - 1] = "".join([*out, text[end:]])
    return "".join(lines)
