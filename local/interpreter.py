"""A Python that sees only what it is shown: the project's venv is not among it."""

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


def isolated(*arguments: str, python: Path = Path(sys.executable)) -> list[str]:
    """A command that runs without site-packages (-S, -s), without the working directory on its path (-P),
    and that writes no bytecode into what it was given (-B), as if that were Lambda's read-only disk."""
    return [str(python), "-S", "-s", "-P", "-B", *arguments]


def environment(search_path: Iterable[Path], variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of an isolated process: nothing of the caller's but where programs are and what it speaks."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {**inherited, **variables, "PYTHONPATH": os.pathsep.join(str(folder) for folder in search_path)}


def runtime_folder(root: Path = _RUNTIMES) -> Path:
    """A folder with the pinned awslambdaric and what it needs, and nothing else; made at first use."""
    distributions = [distribution(name) for name in _RUNTIME_DISTRIBUTIONS]
    folder = root / "+".join(f"{found.name}-{found.version}" for found in distributions)
    if not folder.is_dir():
        _install(distributions, folder)
    return folder


def _install(distributions: Iterable[Distribution], folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Made aside and renamed, so that nobody sees half of it.
    aside = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
    for found in distributions:
        _copy(found, aside)
    compileall.compile_dir(aside, quiet=2)
    try:
        aside.rename(folder)
    except OSError:
        shutil.rmtree(aside)
        # Another process may have been faster, and made the same.
        if not folder.is_dir():
            raise


def _copy(found: Distribution, folder: Path) -> None:
    for file in found.files or ():
        source = Path(str(file.locate()))
        if ".." not in file.parts and source.is_file():
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
