"""An earlier release of the product: its sources from the history of the repository, its build and its commands."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from local.progress import Progress
from local.sam import tool_environment
from local.stack import PROJECT, Build, build
from tests.support.laptop import Laptop

COMMIT = "ff3ae2d"
"""The release whose stacks are upgraded in tests."""
_FOLDER = PROJECT / ".local/releases"
_COMMAND = "import sys; from signpost.cli import main; sys.exit(main())"


class MissingHistoryError(AssertionError):
    """The repository does not have the commit of the earlier release."""


@dataclass(frozen=True, slots=True)
class EarlierRelease:
    root: Path
    """The folder with its sources."""

    def build(self, log: Path) -> Build:
        """Build its functions and layer by its own template and pins, unless that has been done."""
        return build("product", log=log, progress=Progress(io.StringIO()), project=self.root)

    def run(self, laptop: Laptop, *arguments: str, **added: str) -> str:
        """Run its `signpost` command with the rights of the account's owner. Return the output of the command."""
        environment = {
            **tool_environment(),
            **laptop.emulator.environment(),
            "PYTHONPATH": str(self.root / "layers/shared/python"),
            **added,
        }
        done = subprocess.run(
            [sys.executable, "-c", _COMMAND, *arguments],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"signpost {' '.join(arguments)} of {COMMIT}:\n{done.stdout}\n{done.stderr}"
        return done.stdout


def unpack_release(commit: str = COMMIT) -> EarlierRelease:
    """Return the earlier release. Its sources are kept below `.local`, so that its build is reused."""
    root = _FOLDER / commit
    if not root.exists():
        archive = subprocess.run(["git", "archive", commit], cwd=PROJECT, capture_output=True, check=False)
        if archive.returncode != 0:
            raise MissingHistoryError(
                f"The history of this repository has no commit {commit}, from which the test upgrades a stack. "
                f"Fetch it: git fetch --unshallow. ({archive.stderr.decode().strip()})"
            )
        unfinished = root.with_suffix(f".{os.getpid()}")
        shutil.rmtree(unfinished, ignore_errors=True)
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as sources:
            sources.extractall(unfinished, filter="data")
        unfinished.rename(root)
    return EarlierRelease(root)
