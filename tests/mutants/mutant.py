"""A mutant: the text of a file that it replaces, and the tests that must fail then."""

import ast
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

type NeededStores = Literal["memory", "table", "cloud"]
"""The stores of a mutant's tests: ports in memory, a DynamoDB engine alone, or the laptop cloud."""

ENGINE = "dynoxide" if (platform.system(), platform.machine()) == ("Linux", "x86_64") else "ministack"
"""The engine of tests/contract for the tests of adapters on this machine. dynoxide starts at once, but is published for
one kind of machine only."""
PYTEST_OPTIONS: Mapping[NeededStores, Sequence[str]] = {
    "memory": ("-m", "not cloud"),
    "table": ("-k", ENGINE),
    "cloud": ("-m", "cloud"),
}
"""The options by which pytest selects those of the named tests that run against these stores."""


class MisfitError(ValueError):
    """A mutant cannot be made from the present sources."""


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    invariant: int
    """The number of the promise in docs/invariants.md that the mutant breaks."""
    file: str
    there: str
    """The text that is replaced. It occurs once in the file."""
    instead: str
    tests: tuple[str, ...]
    """Files of tests, or single tests in pytest's notation. At least one of them must fail."""
    needs: NeededStores = "memory"

    def apply_to(self, source: str) -> str:
        """Return the text of the file with the mutant in it. Raises MisfitError."""
        return replace_once(self.name, self.file, source, self.there, self.instead)


def replace_once(name: str, file: str, source: str, there: str, instead: str) -> str:
    """Replace the one occurrence of a text in the source of a file. Raises MisfitError, with the name of the change."""
    count = source.count(there)
    if count != 1:
        raise MisfitError(f"{name} cannot be applied: {file} has its text {count} times instead of once.")
    changed = source.replace(there, instead)
    if file.endswith(".py"):
        _ensure_valid(name, file, changed)
    return changed


def _ensure_valid(name: str, file: str, changed: str) -> None:
    """Raise MisfitError for invalid Python: a module that cannot be imported fails every test and shows nothing."""
    try:
        ast.parse(changed)
    except SyntaxError as fault:
        raise MisfitError(f"{name} makes line {fault.lineno} of {file} invalid: {fault.msg}.") from fault
