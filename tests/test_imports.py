"""The parts of the package depend on one another in one direction, and none of them on the command line."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import paceline

PACKAGE = Path(paceline.__file__).parent


def imported(node: ast.AST) -> Iterator[str]:
    """The parts that a module imports, also those that it imports late; not what only its types need."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.If) and ast.unparse(inner.test) == "TYPE_CHECKING":
            continue
        if isinstance(inner, ast.ImportFrom) and inner.module == "paceline":
            yield from (alias.name for alias in inner.names)
        elif isinstance(inner, ast.ImportFrom) and str(inner.module).startswith("paceline."):
            yield str(inner.module).split(".")[1]
        yield from imported(inner)


def test_no_part_depends_on_one_that_depends_on_it() -> None:
    """Sweeps needed the options of commands, which needed sweeps; experiments and what reproduces them did so, too."""
    needed: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if part != "__init__":
            needed.setdefault(part, set()).update(set(imported(ast.parse(path.read_text(encoding="utf-8")))) - {part})
    assert list(TopologicalSorter(needed).static_order())  # raises CycleError
    assert {part for part, others in needed.items() if "cli" in others} == {"__main__"}
