"""The shape of the code: who may import whom, what only one place may do, and how long things may get."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import townsquare
from townsquare.core import registry

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "townsquare"
SOURCE = ROOT / "src" / PACKAGE
MAX_FILE_LINES = 450
MAX_FUNCTION_LINES = 80
P95_FUNCTION_LINES = 45
MAX_PUBLIC_NAMES = 30

ROOMS: dict[str, str] = {
    "core": "",
    "settings": "core",
    "record": "core",
    "models": "core settings",
    "scenario": "core settings",
    "beliefs": "core settings models",
    "simulation": "core settings record models scenario beliefs",
    "analysis": "core settings record models beliefs",
    "experiments": "core settings record models scenario beliefs simulation analysis",
    "debate": "core settings record models beliefs analysis experiments",
    "humans": "core settings record models scenario beliefs simulation analysis experiments",
    "testing": "core settings record models scenario beliefs simulation analysis experiments debate humans",
    "pages": "core settings record models scenario beliefs simulation analysis experiments debate humans",
    "cli": "core settings record models scenario beliefs simulation analysis experiments debate humans testing pages",
}
"""The law of the house, from the ground up: each room, and the rooms that it may import. There are no exceptions."""
AT_THE_ROOT = {"__init__.py", "__main__.py"}
SMALL_FILE_LINES = 50
FAMILIES_BY_FOLDER = {"adapters"}
"""Folders whose files are members of a family that the registry does not list."""
MAX_POSITIONAL = 8
ONLY_CLI = {"rich", "cyclopts"}

Function = ast.FunctionDef | ast.AsyncFunctionDef
BLOCKS = ("finalbody", "orelse", "handlers", "cases", "body")
"""Fields of a node that hold statements, or what holds statements."""


# --- reading the source ------------------------------------------------------------------------------------


@cache
def modules() -> dict[str, Path]:
    """Dotted name of every module of the package, with its file."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join((PACKAGE, *parts)).removesuffix(".__init__")] = path
    return found


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Every node of a file, as `ast.walk` gives them: many tests look at all of them."""
    return list(ast.walk(tree(path)))


@cache
def statements(path: Path) -> list[tuple[ast.stmt, bool]]:
    """Every statement of a file, and whether it stands inside a function; expressions are not entered."""
    found: list[tuple[ast.stmt, bool]] = []
    ahead: list[tuple[ast.AST, bool]] = [(tree(path), False)]
    while ahead:
        node, inside = ahead.pop()
        if isinstance(node, ast.stmt):
            found.append((node, inside))
        inside = inside or isinstance(node, Function)
        ahead += [(child, inside) for name in BLOCKS for child in reversed(getattr(node, name, ()))]
    return found


def family(module: str) -> str:
    """The first part below the package: `beliefs` for `townsquare.beliefs.exposure`."""
    return [*module.split("."), ""][1]


def targets(node: ast.AST, module: str, names: dict[str, Path]) -> Iterator[str]:
    """Full names of the modules that an import statement in `module` reaches; nothing for other nodes."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            is_package = names[module].name == "__init__.py"
            above = module.split(".")[: len(module.split(".")) - node.level + is_package]
            base = ".".join([*above, base] if base else above)
        for alias in node.names:
            full = f"{base}.{alias.name}"
            yield full if full in names else base


@cache
def imports_of(module: str) -> list[tuple[str, int, bool]]:
    """Each import in a module: full name, line, and whether it stands inside a function."""
    names = modules()

    found = []
    for statement, inside in statements(names[module]):
        found += [(target, statement.lineno, inside) for target in targets(statement, module, names)]
    return found


def is_own(target: str) -> bool:
    return target == PACKAGE or target.startswith(PACKAGE + ".")


def place(path: Path, line: int = 0) -> str:
    return f"{path.relative_to(ROOT)}:{line}" if line else str(path.relative_to(ROOT))


def report(title: str, rows: list[str]) -> None:
    assert not rows, title + "\n  " + "\n  ".join(rows)


def nodes_outside(*families: str) -> Iterator[tuple[Path, ast.AST]]:
    for module, path in modules().items():
        if family(module) not in families:
            for node in nodes(path):
                yield path, node


# --- who imports whom --------------------------------------------------------------------------------------


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """One cycle of a directed graph as a closed path, or an empty list."""
    done: set[str] = set()
    path: list[str] = []

    def visit(name: str) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        path.append(name)
        for target in sorted(graph.get(name, ())):
            if cycle := visit(target):
                return cycle
        path.pop()
        done.add(name)
        return []

    for start in sorted(graph):
        if cycle := visit(start):
            return cycle
    return []


def test_the_finder_finds_a_cycle() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_relative_and_absolute_imports_resolve() -> None:
    names = {"townsquare.beliefs": Path("__init__.py"), "townsquare.beliefs.exposure": Path("exposure.py")}
    cases = [
        ("from . import exposure", "townsquare.beliefs", "townsquare.beliefs.exposure"),
        ("from .exposure import step", "townsquare.beliefs", "townsquare.beliefs.exposure"),
        ("from . import Rule", "townsquare.beliefs.exposure", "townsquare.beliefs"),
        ("from ..core.errors import E", "townsquare.beliefs.exposure", "townsquare.core.errors"),
        ("from townsquare.beliefs import exposure", "townsquare.beliefs", "townsquare.beliefs.exposure"),
        ("import townsquare.core.draws", "townsquare.beliefs", "townsquare.core.draws"),
    ]
    for text, module, expected in cases:
        assert list(targets(ast.parse(text).body[0], module, names)) == [expected], text


def test_no_cycle_between_modules() -> None:
    names = modules()
    graph = {m: {t for t, _, inside in imports_of(m) if is_own(t) and not inside} for m in names}
    cycle = find_cycle(graph)
    assert not cycle, "modules import each other in a circle: " + " -> ".join(cycle)


def test_own_package_is_imported_at_the_top_of_files() -> None:
    names = modules()
    rows = [
        f"{place(names[module], line)} imports {target} inside a function"
        for module in names
        if family(module) != "cli"
        for target, line, inside in imports_of(module)
        if inside and is_own(target)
    ]
    report("only cli/ imports our own package inside functions:", rows)


def test_rooms() -> None:
    names = modules()
    rows = []
    for module, path in names.items():
        room = family(module)
        for target, line, _ in imports_of(module):
            other = family(target) if is_own(target) else ""
            if room in ROOMS and other and other != room and other not in ROOMS[room].split():
                rows.append(f"{place(path, line)}: {room} may not import {target}")
    report("a room imports one that it may not:", rows)


def test_every_file_is_in_a_room() -> None:
    assert {path.name for path in SOURCE.glob("*.py")} == AT_THE_ROOT
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert rooms - {"data"} == set(ROOMS)


def test_small_files_have_several_importers() -> None:
    """One with a single importer is a function of that importer, unless it is a member, a contract or a command."""
    names = modules()
    members = {target.partition(":")[0] for family in registry._FAMILIES.values() for target in family.values()}
    importers: dict[str, set[str]] = {}
    for module in names:
        for target, _, _ in imports_of(module):
            importers.setdefault(target, set()).add(module)
    rows = [
        f"{place(path)}: only {next(iter(importers[module]))} imports it"
        for module, path in names.items()
        if len(path.read_text(encoding="utf-8").splitlines()) < SMALL_FILE_LINES
        and len(importers.get(module, ())) == 1
        and module not in members
        and family(module) != "cli"
        and path.name not in {"contract.py", "__init__.py"}
        and path.parent.name not in FAMILIES_BY_FOLDER
    ]
    report(f"files under {SMALL_FILE_LINES} lines with one importer:", rows)


def test_functions_take_few_positional_parameters() -> None:
    many = {
        f"{path.relative_to(SOURCE)} {function.name}"
        for module, path in modules().items()
        if family(module) != "cli" and not path.name.endswith("kernels.py")
        for function in (node for node in nodes(path) if isinstance(node, Function))
        if len(function.args.posonlyargs) + len(function.args.args) > MAX_POSITIONAL
    }
    assert not many


def test_only_the_command_line_knows_the_terminal() -> None:
    names = modules()
    rows = [
        f"{place(names[module], line)} imports {target}"
        for module in names
        if family(module) != "cli"
        for target, line, _ in imports_of(module)
        if target.split(".")[0] in ONLY_CLI
    ]
    report(f"only cli/ imports {', '.join(sorted(ONLY_CLI))}:", rows)


def test_only_the_command_line_prints() -> None:
    rows = [
        place(path, node.lineno)
        for path, node in nodes_outside("cli")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    report("print outside cli/:", rows)


def test_lazy_frames_are_read_in_one_place() -> None:
    """It alone keeps joins in the order in which they are written: any other may take all memory there is."""
    rows = []
    one_place = {SOURCE / "core" / "frames.py"}
    for path, node in ((path, node) for path, node in nodes_outside() if path not in one_place):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        of_gc = isinstance(node.func.value, ast.Name) and node.func.value.id == "gc"
        sinks = node.func.attr.startswith("sink_") and all(given.arg != "optimizations" for given in node.keywords)
        eager = node.func.attr == "SQLContext" and any(given.arg == "eager" for given in node.keywords)
        if (node.func.attr in {"collect", "collect_all"} and not of_gc) or sinks or eager:
            rows.append(f"{place(path, node.lineno)} calls {node.func.attr}")
    report("townsquare.core.frames.collected reads lazy frames:", rows)


def test_no_broad_except() -> None:
    def broad(node: ast.ExceptHandler) -> bool:
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        return any(k is None or getattr(k, "id", "") in {"Exception", "BaseException"} for k in kinds)

    rows = [
        place(path, node.lineno)
        for path, node in nodes_outside("cli", "models")
        if isinstance(node, ast.ExceptHandler) and broad(node)
    ]
    report("except without a precise type, outside cli/ and models/:", rows)


# --- how long things get -----------------------------------------------------------------------------------


def python_files() -> list[Path]:
    return sorted(p for folder in ("src", "tests", "benchmarks") for p in (ROOT / folder).rglob("*.py"))


@cache
def functions(path: Path) -> list[tuple[Function, int]]:
    """Each function of a file and its lines, from `def` to its end; tables of data are left out."""
    found = [node for node, _ in statements(path) if isinstance(node, Function)]
    return [(f, f.end_lineno - f.lineno + 1) for f in found if f.end_lineno and not is_table(f)]


def is_table(function: Function) -> bool:
    """A function with three statements at most, docstring included, is long only by the data in it."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(function)) - 1 <= 3


def test_files_are_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in python_files()}
    rows = [f"{place(path)}: {n} lines" for path, n in lengths.items() if n > MAX_FILE_LINES]
    report(f"files over {MAX_FILE_LINES} lines:", rows)


def test_functions_are_short() -> None:
    rows = [
        f"{place(path, f.lineno)} {f.name}: {n} lines"
        for path in python_files()
        for f, n in functions(path)
        if n > MAX_FUNCTION_LINES
    ]
    report(f"functions over {MAX_FUNCTION_LINES} lines:", rows)


def test_most_functions_fit_a_screen() -> None:
    lengths = sorted(n for path in modules().values() for _, n in functions(path))
    if not lengths:
        pytest.skip("no functions yet")
    p95 = lengths[max(0, -(-95 * len(lengths) // 100) - 1)]
    assert p95 <= P95_FUNCTION_LINES, f"95 % of functions should have at most {P95_FUNCTION_LINES} lines; p95 is {p95}"


# --- what leaves the machine -------------------------------------------------------------------------------


def repository_files() -> list[Path]:
    """Every file that is in the repository or would be added to it."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [path for name in listing.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_path_of_one_machine() -> None:
    # The words are put together here, so that this file does not hold what it looks for.
    folders = ["wo" + "rk", "ro" + "ot", "ho" + "me", "Us" + "ers"]
    pattern = re.compile(rb"(?<![\w.\-/])/(?:" + "|".join(folders).encode() + rb")/")
    rows = [
        f"{place(path, number)} {match.group().decode()}"
        for path in repository_files()
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1)
        if (match := pattern.search(line))
    ]
    report("a path of one machine:", rows)


def test_the_lock_names_no_host() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        assert "://" not in (ROOT / name).read_text(encoding="utf-8"), name


# --- the public names --------------------------------------------------------------------------------------


def test_public_names() -> None:
    names = getattr(townsquare, "__all__", None)
    if names is None:
        pytest.skip("townsquare has no __all__ yet")
    assert list(names) == sorted(set(names))
    assert len(names) <= MAX_PUBLIC_NAMES
    missing = [name for name in names if not hasattr(townsquare, name)]
    assert not missing, f"in __all__ but not there: {missing}"
    defined = {k for k, v in vars(townsquare).items() if not k.startswith("_") and not isinstance(v, ModuleType)}
    extra = sorted(defined - set(names) - {"annotations"})
    assert not extra, f"public but not in __all__: {extra}"
