"""The commands of docs/local-invoke.md, which are those that `make sam-local` runs."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from local.errors import CloudError
from local.sam import format_override

PAGE = "docs/local-invoke.md"
_BLOCK = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INVOKE = re.compile(r"sam local invoke (\S+) --event (\S+) (.*? Architecture=\$ARCHITECTURE)( .*)?")
_START_API = re.compile(r"sam local start-api --port (\d+) .*")
_GENERATE = re.compile(r"sam local generate-event .*")


@dataclass(frozen=True, slots=True)
class Page:
    """One command of each kind, with its line breaks removed."""

    invoke: str
    start_api: str
    generate: str

    @classmethod
    def read(cls, root: Path) -> "Page":
        """Read the page. Raises CloudError if it has a kind of command not at all, or in two forms."""
        text = (root / PAGE).read_text("utf-8")
        lines = [line for block in _BLOCK.findall(text) for line in block.replace("\\\n", " ").splitlines()]
        commands = [re.sub(r" +", " ", line).strip() for line in lines]
        return cls(*(_only(pattern, commands) for pattern in (_INVOKE, _START_API, _GENERATE)))

    def invoke_case(self, function: str, event: str, parameters: Mapping[str, str]) -> str:
        """Return the page's `sam local invoke` for another function, event and parameters."""
        options = _match(_INVOKE, self.invoke)[3]
        overrides = (shlex.quote(format_override(name, value)) for name, value in parameters.items())
        return " ".join(["sam local invoke", function, "--event", shlex.quote(event), options, *overrides])

    @property
    def port(self) -> int:
        """The port of the page's `sam local start-api`."""
        return int(_match(_START_API, self.start_api)[1])

    def api_parameters(self) -> dict[str, str]:
        """Return the template parameters of the page's `sam local start-api`."""
        _, _, overrides = self.start_api.partition(" Architecture=$ARCHITECTURE")
        return dict(word.split("=", 1) for word in shlex.split(overrides))


def _only(pattern: re.Pattern[str], commands: list[str]) -> str:
    found = sorted({command for command in commands if pattern.fullmatch(command)})
    if len(found) != 1:
        raise CloudError(f"{PAGE}: expected one command of the form {pattern.pattern}, found {len(found)}")
    return found[0]


def _match(pattern: re.Pattern[str], command: str) -> re.Match[str]:
    match = pattern.fullmatch(command)
    if match is None:
        raise CloudError(f"{PAGE}: {command} has not the form {pattern.pattern}")
    return match
