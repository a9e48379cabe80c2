"""The parts of a proof: test files and commands that pass or fail independently."""

import ast
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

PARTS_BY_FILE = ("acceptance", "attacks", "conformance", "contract", "differential", "docs", "e2e", "fuzz", "model")
"""Folders of tests in which each file is a part, because a file takes minutes."""
_EFFORT = "tests.support.effort"
"""The module with the effort of a test. A test that imports it tries more in a proof."""


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    tests: tuple[str, ...] = ()
    """The test files, as arguments of pytest."""
    command: tuple[str, ...] = ()
    """The command of a part without test files."""
    is_parallel: bool = False
    """Whether several workers may run its files in parallel."""

    @property
    def folder(self) -> str:
        """The folder of tests that the part belongs to, or the name of a part without test files."""
        return self.tests[0].split("/")[1] if self.tests else self.name


CHECKS = (
    Part("make check", command=("make", "check")),
    Part("make invoke", command=(sys.executable, "-m", "local.invoke")),
    Part("make sam-local", command=(sys.executable, "-m", "local.sam_local")),
    Part("make bench", command=(sys.executable, "-m", "bench")),
)
"""The checks that `make test` runs besides the tests, and the cases in containers."""
MUTANTS = Part("mutants", command=(sys.executable, "-m", "tests.mutants", "--cloud"))
"""Changes that break the product on purpose; the tests have to fail for each of them."""
ATTACKS = Part("attacks", command=(sys.executable, "-m", "tests.attacks"))
"""Attacks against a deployed stack. Each has to fail there, and to succeed without the defence that it meets."""

CLIENTS = Part("clients", command=("make", "clients"))
"""Agent frameworks that drive a workflow of a deployed stack."""


def find_parts(root: Path) -> Sequence[Part]:
    """Return the checks, a part for the quick test files of each folder, the attacks, the clients, a part for each
    slow file, and the mutants."""
    quick_files: dict[str, list[str]] = {}
    slow_files: list[str] = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        name = str(path.relative_to(root))
        folder = name.split("/")[1]
        if folder in PARTS_BY_FILE or _tries_more(path):
            slow_files.append(name)
        else:
            quick_files.setdefault(folder, []).append(name)
    quick = [Part(f"tests/{folder}: the rest", tuple(files), is_parallel=True) for folder, files in quick_files.items()]
    # The attacks and the clients come before the tests, which read the tables that they write.
    return [*CHECKS, *quick, ATTACKS, CLIENTS, *(Part(file, (file,)) for file in slow_files), MUTANTS]


def select_parts(parts: Iterable[Part], texts: Sequence[str]) -> Sequence[Part]:
    """Return the parts with one of these texts in their names, or all parts if there are no texts."""
    return [part for part in parts if not texts or any(text in part.name for text in texts)]


def _tries_more(path: Path) -> bool:
    tree = ast.parse(path.read_text("utf-8"))
    imports_effort = any(isinstance(node, ast.ImportFrom) and node.module == _EFFORT for node in ast.walk(tree))
    is_marked = any(
        isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.mark.prove" for node in ast.walk(tree)
    )
    return imports_effort or is_marked
