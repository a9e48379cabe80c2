"""Python processes that can import only the given folders, and nothing of the project's venv."""

import compileall
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distribution
from pathlib import Path

_RUNTIMES = Path(__file__).resolve().parents[1] / ".local" / "runtime"
_RUNTIME_DISTRIBUTIONS = ("awslambdaric", "simplejson", "snapshot-restore-py")
_INHERITED = ("PATH", "LANG")


def isolated_command(*arguments: str, python: Path = Path(sys.executable)) -> list[str]:
    """Return a command that runs Python without site-packages (-S, -s) and without the working directory on its path
    (-P), and that writes no bytecode (-B), as on Lambda's read-only disk."""
    return [str(python), "-S", "-s", "-P", "-B", *arguments]


def environment(search_path: Iterable[Path], variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an isolated process. Of this process's environment it inherits PATH and LANG only."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {**inherited, **variables, "PYTHONPATH": os.pathsep.join(str(folder) for folder in search_path)}


def runtime_folder(root: Path = _RUNTIMES) -> Path:
    """Return a folder with the pinned awslambdaric and its dependencies only. It is made at first use."""
    distributions = [distribution(name) for name in _RUNTIME_DISTRIBUTIONS]
    folder = root / "+".join(f"{needed.name}-{needed.version}" for needed in distributions)
    if not folder.is_dir():
        _install(distributions, folder)
    return folder


def _install(distributions: Iterable[Distribution], folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Made in a draft folder and renamed, so that no other process sees an incomplete one.
    draft = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
    for installed in distributions:
        _copy(installed, draft)
    compileall.compile_dir(draft, quiet=2)
    try:
        draft.rename(folder)
    except OSError:
        shutil.rmtree(draft)
        # Another process may have made the same folder first.
        if not folder.is_dir():
            raise


def _copy(installed: Distribution, folder: Path) -> None:
    for file in installed.files or ():
        source = Path(str(file.locate()))
        if ".." not in file.parts and source.is_file():
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
