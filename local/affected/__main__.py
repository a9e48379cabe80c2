"""python -m local.affected [--base REV] [--cloud] [--explain] [--list] [pytest's arguments]"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from local.affected.changes import Repository
from local.affected.selection import Selected, Selection, select
from local.errors import CloudError
from local.project import Project

_NO_TESTS = 5
"""Pytest's exit code if all that was selected is deselected."""
_SHOWN = 12


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m local.affected", description="Tests what a change can affect.", allow_abbrev=False
    )
    parser.add_argument("--base", default="HEAD", help="the revision that the work tree is compared with")
    parser.add_argument("--cloud", action="store_true", help="tests on the cloud too")
    parser.add_argument("--explain", action="store_true", help="say of each file how it reaches the change")
    parser.add_argument("--list", action="store_true", help="say what would run, and run nothing")
    given, passed_on = parser.parse_known_args()
    project = Project()
    try:
        found = select(Repository(project.root, given.base), cloud=given.cloud, folders=project.logical_ids())
    except CloudError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(summary(found, given.base, explain=given.explain)), flush=True)
    if given.list or not found.selected:
        return 0
    return _run(project.root, found.arguments, passed_on, cloud=given.cloud)


def summary(found: Selection, base: str, *, explain: bool) -> Sequence[str]:
    """The lines that say what was selected and what was not."""
    if not found.changed:
        return [f"Nothing has changed since {base}."]
    lines = [f"{_counted(len(found.changed), 'changed file')} since {base}: {_some(found.changed)}"]
    tests = sum(len(one.tests) for one in found.selected)
    lines.append(f"{tests} of {found.total} test functions in {_counted(len(found.selected), 'file')} can be affected.")
    lines += [f"  {one.path}: {_part(one)}: {one.why}" for one in (found.selected if explain else ())]
    if found.left_out:
        left_out = sum(len(one.tests) for one in found.left_out)
        lines.append(f"{left_out} tests on the cloud are left out: {_some([one.path for one in found.left_out])}")
    return lines


def _part(one: Selected) -> str:
    return "all tests" if one.is_whole else _counted(len(one.tests), "test")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _run(root: Path, selected: Sequence[str], passed_on: Sequence[str], *, cloud: bool) -> int:
    marked = () if cloud else ("-m", "not cloud")
    done = subprocess.run([sys.executable, "-m", "pytest", *marked, *passed_on, *selected], cwd=root, check=False)
    return 0 if done.returncode == _NO_TESTS else done.returncode


if __name__ == "__main__":
    sys.exit(main())
