"""A copy of the built code, with defences removed."""

import py_compile
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from local.sources import digest_of_pairs
from local.stack import Build
from tests.attacks.defence import Defence

LAYER, LAYER_SOURCES = "SharedLayer/python", "layers/shared/python/"
FUNCTION_FOLDERS: Mapping[str, str] = {"functions/executor_core/": "ExecutorCoreFunction"}
"""The folders of a build by the folders of the sources of functions. Code of other functions is in the layer."""


def make_open_build(build: Build, folder: Path, defences: Sequence[Defence]) -> Build:
    """Copy a build into a new folder and remove the defences from the copy. Raises MisfitError."""
    shutil.copytree(build.directory, folder)
    for defence in defences:
        for removal in defence.removals:
            path = folder / find_built_path(removal.file)
            _write_module(path, defence.remove_from(removal, path.read_text("utf-8")))
    removed = {f"{it.name} {n}": removal.instead for it in defences for n, removal in enumerate(it.removals)}
    return Build(folder, digest_of_pairs({"": build.digest, **removed}))


def find_built_path(file: str) -> str:
    """Return the path of a source file in the folder of a build."""
    if file.startswith(LAYER_SOURCES):
        return f"{LAYER}/{file.removeprefix(LAYER_SOURCES)}"
    for sources, built in FUNCTION_FOLDERS.items():
        if file.startswith(sources):
            return f"{built}/{file.removeprefix(sources)}"
    raise ValueError(f"{file} is not in a build. Name a file of the package or of the core executor.")


def _write_module(path: Path, text: str) -> None:
    """Write a module, and its byte code, which the sandboxes use without comparing it with the text."""
    path.write_text(text, "utf-8")
    byte_code = path.parent / "__pycache__" / f"{path.stem}.cpython-313.pyc"
    byte_code.unlink(missing_ok=True)
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(path), cfile=str(byte_code), invalidation_mode=mode, doraise=True)
