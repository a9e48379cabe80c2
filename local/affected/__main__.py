"""python -m local.affected [--base REV] [--cloud] [--explain] [--list] [pytest's arguments]"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from local.affected.changes import Repository
from local.affected.selection import SelectedFile, Selection, select
from local.errors import CloudError
from local.project import Project

_NO_TESTS = 5
"""Pytest's exit code if it deselects all selected tests."""
_MAX_SHOWN_NAMES = 12


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m local.affected", description="Runs the tests that a change can affect.", allow_abbrev=False
    )
    parser.add_argument("--base", default="HEAD", help="the revision that the work tree is compared with")
    parser.add_argument("--cloud", action="store_true", help="also select tests on the cloud")
    parser.add_argument("--explain", action="store_true", help="print for each file how it depends on the change")
    parser.add_argument("--list", action="store_true", help="print the selection without running it")
    options, pytest_arguments = parser.parse_known_args()
    project = Project()
    try:
        selection = select(Repository(project.root, options.base), cloud=options.cloud, folders=project.logical_ids())
    except CloudError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(summarize(selection, options.base, explain=options.explain)), flush=True)
    if options.list or not selection.selected:
        return 0
    return _run(project.root, selection.arguments, pytest_arguments, cloud=options.cloud)


def summarize(selection: Selection, base: str, *, explain: bool) -> Sequence[str]:
    """Return lines with the selected tests and those that were left out."""
    if not selection.changed:
        return [f"Nothing has changed since {base}."]
    lines = [f"{_count(len(selection.changed), 'changed file')} since {base}: {_shorten(selection.changed)}"]
    tests = sum(len(file.tests) for file in selection.selected)
    files = _count(len(selection.selected), "file")
    lines.append(f"{tests} of {selection.total} test functions in {files} can be affected.")
    lines += [f"  {file.path}: {_extent(file)}: {file.why}" for file in (selection.selected if explain else ())]
    if selection.left_out:
        left_out = sum(len(file.tests) for file in selection.left_out)
        paths = _shorten([file.path for file in selection.left_out])
        lines.append(f"{left_out} tests on the cloud are left out: {paths}")
    return lines


def _extent(file: SelectedFile) -> str:
    return "all tests" if file.is_whole else _count(len(file.tests), "test")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _shorten(names: Sequence[str]) -> str:
    more = len(names) - _MAX_SHOWN_NAMES
    return ", ".join(names[:_MAX_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def _run(root: Path, tests: Sequence[str], pytest_arguments: Sequence[str], *, cloud: bool) -> int:
    markers = () if cloud else ("-m", "not cloud")
    process = subprocess.run(
        [sys.executable, "-m", "pytest", *markers, *pytest_arguments, *tests], cwd=root, check=False
    )
    return 0 if process.returncode == _NO_TESTS else process.returncode


if __name__ == "__main__":
    sys.exit(main())
