"""A copy of the project in a temporary folder, for mutants and the tests of them."""

import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from local.affected.changes import Repository
from tests.mutants.mutant import Mutant
from tests.support.effort import PROVE

LINKED_FOLDERS = (".venv", ".tools")
"""Folders that tests need and that git does not have. Nothing writes into them."""
PACKAGES_PATH = "layers/shared/python"


@dataclass(frozen=True, slots=True)
class CopiedProject:
    root: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of the tests: it imports the package of the copy, because `.venv` has that of the project,
        and sets the effort of `make test`."""
        return {"PYTHONPATH": str(self.root / PACKAGES_PATH), PROVE: "0"}

    @contextmanager
    def apply_mutant(self, mutant: Mutant) -> Generator[None]:
        """Apply the mutant to the copy while the context is open. Raises MisfitError."""
        file = self.root / mutant.file
        source = file.read_text("utf-8")
        file.write_text(mutant.apply_to(source), "utf-8")
        try:
            yield
        finally:
            file.write_text(source, "utf-8")


@contextmanager
def copy_project(project: Path) -> Generator[CopiedProject]:
    """Copy every file that git tracks or would add."""
    with tempfile.TemporaryDirectory(prefix="signpost-mutants-") as folder:
        root = Path(folder)
        for name in Repository(project).files():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(project / name, root / name)
        for name in LINKED_FOLDERS:
            if (project / name).exists():
                (root / name).symlink_to((project / name).resolve())
        yield CopiedProject(root)
