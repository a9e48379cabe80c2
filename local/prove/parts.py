"""The parts of a proof: commands that pass or fail by themselves."""

import ast
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

PARTS_BY_FILE = ("acceptance", "conformance", "contract", "differential", "docs", "e2e", "fuzz", "model")
"""Folders of tests whose files take minutes each."""
_EFFORT = "tests.support.effort"
"""A test that imports it tries more in a proof."""


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    tests: tuple[str, ...] = ()
    """What pytest is given."""
    command: tuple[str, ...] = ()
    """What is run if the part is no tests."""
    is_parallel: bool = False
    """Whether its files may run side by side."""

    @property
    def folder(self) -> str:
        """The folder of tests that the part belongs to; of other parts their name."""
        return self.tests[0].split("/")[1] if self.tests else self.name


CHECKS = (
    Part("make check", command=("make", "check")),
    Part("make invoke", command=(sys.executable, "-m", "local.invoke")),
    Part("make bench", command=(sys.executable, "-m", "bench")),
)
"""What `make test` runs beside the tests."""
MUTANTS = Part("mutants", command=(sys.executable, "-m", "tests.mutants", "--cloud"))
"""Promises broken on purpose, each of which the tests have to notice."""


def parts_of(root: Path) -> Sequence[Part]:
    """The checks, the files that are quick, a part a folder, each file that is slow, and the mutants."""
    together: dict[str, list[str]] = {}
    alone: list[str] = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        name = str(path.relative_to(root))
        folder = name.split("/")[1]
        if folder in PARTS_BY_FILE or _tries_more(path):
            alone.append(name)
        else:
            together.setdefault(folder, []).append(name)
    quick = [Part(f"tests/{folder}: the rest", tuple(files), is_parallel=True) for folder, files in together.items()]
    return [*CHECKS, *quick, *(Part(file, (file,)) for file in alone), MUTANTS]


def chosen(parts: Iterable[Part], names: Sequence[str]) -> Sequence[Part]:
    """The parts whose names hold one of these texts; all of them if there is none."""
    return [part for part in parts if not names or any(name in part.name for name in names)]


def _tries_more(path: Path) -> bool:
    tree = ast.parse(path.read_text("utf-8"))
    imports = any(isinstance(node, ast.ImportFrom) and node.module == _EFFORT for node in ast.walk(tree))
    marked = any(
        isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.mark.prove" for node in ast.walk(tree)
    )
    return imports or marked
