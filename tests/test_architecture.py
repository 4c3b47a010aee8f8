"""The architecture: imports only go downwards, and each room keeps to its responsibility."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Bottom up; rooms of one floor do not import each other. Each is a folder or a file of nmtlab.
FLOORS = [
    ("nmtlab",),  # __init__.py: the version
    ("errors", "locks", "languages"),
    ("files", "reading"),
    ("recipe", "workspace"),
    ("text", "nn", "alignment", "language_model", "evaluation", "jobs", "device"),
    ("models", "runs", "figures"),
    ("search",),
    ("translation",),
    ("baselines",),
    ("systems",),
    ("training", "interchange", "synthetic", "selection"),
    ("analysis", "rounds"),
    ("triplets",),
    ("grids",),
    ("thesis",),
    ("progress", "demo"),
    ("dashboards",),
    ("cli",),
    ("__main__",),
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
SUB_ROOMS = {
    "text": [("corpora",), ("artificial", "importers", "noise", "segmentation"), ("checks", "batching")],
    "analysis": [
        ("access",),
        ("attention", "dynamics", "search"),
        ("lexical",),
        ("attribution", "comparison", "languages", "states"),
    ],
    "grids": [("declared",), ("running",), ("results",)],
    "thesis": [("tables",), ("claims",), ("shown",)],
    "dashboards": [("widgets",), ("frame",), ("parts",), ("pages", "serving")],
}
MAY_PRINT = {"progress", "cli", "dashboards", "__main__"}
WITHOUT_TORCH = ("recipe", "text", "evaluation")


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((ROOT / "nmtlab").rglob("*.py"))}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else module


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def trees() -> None:
    """Parse every module before the first test, which is not slow for that."""
    for module in MODULES:
        imported(module)


@cache
def imported(module: str) -> list[str]:
    """Return what a module imports, at any level: modules, or names in modules as `module.name`."""
    names = []
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}, line {node.lineno}: write imports out in full"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def own(module: str) -> set[str]:
    """Return the modules of nmtlab that a module imports."""
    names = (name for name in imported(module) if name.split(".")[0] == "nmtlab")
    return {name if name in MODULES else name.rpartition(".")[0] for name in names}


def packages(module: str) -> set[str]:
    """Return the packages that a module imports from."""
    return {name.split(".")[0] for name in imported(module)}


SAFE_LOADS = {"torch.load": ("weights_only", "True"), "np.load": ("allow_pickle", "False")}


def unsafe_loads(module: str) -> Iterator[str]:
    """Yield the places where a module loads a file that may execute code."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Call) and (safe := SAFE_LOADS.get(ast.unparse(node.func))):
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
            if given.get(safe[0]) != safe[1]:
                yield f"{module}, line {node.lineno}"


def names_used(module: str) -> Iterator[str]:
    """Yield every name and attribute as it is written: `print`, `sys.stdout`."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Name | ast.Attribute):
            yield ast.unparse(node)


def test_every_room_has_its_floor():
    assert {room(module) for module in MODULES} <= FLOOR.keys()


def test_imports_only_go_downwards():
    upwards = {
        (module, other)
        for module in MODULES
        for other in own(module)
        if room(other) != room(module) and FLOOR[room(other)] >= FLOOR[room(module)]
    }
    assert upwards == set()


def sub_room(module: str) -> str:
    """Return the sub-room of a module, empty for a module beside the sub-rooms, which may import from all of them."""
    name = ".".join(module.split(".")[:3])
    return module.split(".")[2] if MODULES.get(name, Path()).name == "__init__.py" and name.count(".") > 1 else ""


@pytest.mark.parametrize("of", SUB_ROOMS)
def test_within_a_room_imports_only_go_downwards(of):
    floor = {name: number for number, names in enumerate(SUB_ROOMS[of]) for name in names}
    inside = [module for module in MODULES if room(module) == of and sub_room(module)]
    assert {sub_room(module) for module in inside} == floor.keys()
    upwards = {
        (module, other)
        for module in inside
        for other in own(module)
        if room(other) == of and sub_room(other) not in (sub_room(module), "")
        if floor[sub_room(other)] >= floor[sub_room(module)]
    }
    assert upwards == set()


def test_no_two_files_import_each_other():
    try:
        TopologicalSorter({module: own(module) for module in MODULES}).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(error.args[1][::-1]))


def test_text_recipes_and_scores_do_without_torch():
    modules = [module for module in MODULES if room(module) in WITHOUT_TORCH]
    assert [module for module in modules if {"torch", "safetensors"} & packages(module)] == []


def test_text_recipes_and_scores_load_nothing_that_loads_torch():
    modules = [module for module in MODULES if room(module) in WITHOUT_TORCH]
    program = f"import importlib, sys\nfor m in {modules}: importlib.import_module(m)\n"
    program += "print(*sorted({'torch', 'sklearn'} & set(sys.modules)), 'end')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "end\n"


@pytest.mark.parametrize("words", ["", "runs", "corpus import"])
def test_the_help_of_the_command_loads_nothing_heavy(words):
    program = (
        f"import sys; from nmtlab.cli import main; sys.argv = {['nmtlab', *words.split(), '--help']}\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'torch', 'pandas', 'numpy', 'plotly', 'sacrebleu', 'sentencepiece'}\n"
        "heavy |= {'scipy', 'sklearn', 'statsmodels', 'langcodes', 'unicode_segmentation_rs'}\n"
        "print(*sorted(heavy & set(sys.modules)), 'end')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Usage" in done.stdout
    assert done.stdout.splitlines()[-1] == "end"


def test_only_recipes_and_the_builder_of_models_know_families_by_name():
    """What a family can do is said by its settings (`recipe/family.py`) and asked of them."""
    knowing = {
        f"{module}, line {node.lineno}"
        for module in MODULES
        if room(module) != "recipe" and module != "nmtlab.models.build"
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Compare)
        and any(ast.unparse(one).endswith(".family") for one in (node.left, *node.comparators))
    }
    assert knowing == set()


def test_nothing_below_the_command_line_prints():
    modules = [module for module in MODULES if room(module) not in MAY_PRINT]
    assert [module for module in modules if {"print", "sys.stdout", "sys.stderr"} & set(names_used(module))] == []
    assert [module for module in modules if {"rich", "tqdm", "typer", "logging"} & packages(module)] == []


@pytest.mark.full  # in the quick tier every module is imported by tests of its own
def test_every_module_can_be_imported():
    for module in MODULES:
        if module != "nmtlab.__main__":
            importlib.import_module(module)


def test_every_module_public_function_and_public_class_says_what_it_is():
    public = {
        (module, node.name): node
        for module in MODULES
        for node in tree(module).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    assert [module for module in MODULES if not ast.get_docstring(tree(module))] == []
    assert [name for name, node in public.items() if not ast.get_docstring(node)] == []


def test_nothing_is_pickled():
    pickling = {"pickle", "dill", "joblib", "shelve", "marshal"}
    assert [module for module in MODULES if pickling & packages(module)] == []
    unsafe = {"torch.save", "pd.read_pickle", "pickle.load"}
    assert [module for module in MODULES if unsafe & set(names_used(module))] == []
    assert [place for module in MODULES for place in unsafe_loads(module)] == []


# Text that is committed

TEXT = {".py", ".md", ".toml", ".yml", ".yaml", ".cff", ".sh", ".ipynb", ".cfg", ".txt", ".csv", ".j2", ".css", ""}
FOLDERS = (".ci", "nmtlab", "tests", "notebooks", "docs", "figures", "data/evidence/published")
# Assembled here so that this file does not match itself.
MACHINE = re.compile("|".join(map(re.escape, ("/" + "work/", "/" + "root/", "/" + "home/"))))
REGISTRY = re.compile("|".join(name + ending for name, ending in (
    ("files.pythonhosted", r"\.org"), ("pypi", r"\.org"), ("download.pytorch", r"\.org"), ("conda.anaconda", r"\.org"),
)))  # fmt: skip


def committed() -> list[Path]:
    below = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    files = (
        path for path in (*ROOT.iterdir(), *below) if path.is_file() and path.suffix in TEXT and path.name != ".git"
    )
    return sorted(path for path in files if "__pycache__" not in path.parts)


@pytest.mark.parametrize("pattern", [MACHINE, REGISTRY], ids=["machine", "registry"])
def test_no_committed_text_names_a_path_of_one_machine_or_the_host_of_a_registry(pattern):
    assert len(committed()) > 50
    found = {
        f"{path.relative_to(ROOT)}, line {number}: {line.strip()[:80]}"
        for path in committed()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line)
    }
    assert found == set()
