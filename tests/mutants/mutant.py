"""A mutant as a value: which text of which file it replaces, and which tests must fail then."""

import ast
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

type Needs = Literal["memory", "table", "cloud"]
"""What the tests of a mutant run against: ports in memory, a DynamoDB engine alone, or the laptop cloud."""

ENGINE = "dynoxide" if (platform.system(), platform.machine()) == ("Linux", "x86_64") else "ministack"
"""Which engine of tests/contract the tests of adapters run against here. dynoxide starts at once, and is published for
one kind of machine alone."""
OPTIONS: Mapping[Needs, Sequence[str]] = {
    "memory": ("-m", "not cloud"),
    "table": ("-k", ENGINE),
    "cloud": ("-m", "cloud"),
}
"""How pytest selects among the named tests those that run against it."""


class MisfitError(ValueError):
    """A mutant cannot be made of the sources as they are."""


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    invariant: int
    """The number of the promise in docs/invariants.md that it breaks."""
    file: str
    there: str
    """The text that is replaced. The file has it once."""
    instead: str
    tests: tuple[str, ...]
    """Files of tests, or single tests as pytest takes them. At least one of them must fail."""
    needs: Needs = "memory"

    def changed(self, source: str) -> str:
        """The text of the file with the mutant in it. Raises MisfitError."""
        count = source.count(self.there)
        if count != 1:
            raise MisfitError(f"{self.name} does not fit any more: {self.file} has its text {count} times, not once.")
        changed = source.replace(self.there, self.instead)
        if self.file.endswith(".py"):
            self._ensure_valid(changed)
        return changed

    def _ensure_valid(self, changed: str) -> None:
        """A module that cannot be imported fails every test, and so shows nothing of any."""
        try:
            ast.parse(changed)
        except SyntaxError as fault:
            raise MisfitError(f"{self.name} makes line {fault.lineno} of {self.file} invalid: {fault.msg}.") from fault
