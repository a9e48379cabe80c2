"""Tells which modules a fresh process imports."""

import subprocess
import sys
from collections.abc import Collection
from importlib.util import find_spec


def imported_by(program: str, names: Collection[str]) -> set[str]:
    """Run a program in a new process, and return those of the modules that it has imported.

    Each module must exist: a check that a renamed module is not imported would hold for ever.
    """
    missing = [name for name in names if find_spec(name) is None]
    assert not missing, f"There is no module {', '.join(missing)}."
    code = f"{program}\nimport sys\nprint()\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n")[-2].split()) & set(names)
