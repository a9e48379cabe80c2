"""The blocks of docs/clients.md: each is the configuration of one client, with a URL and a key to replace."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from local.emulator import PROJECT
from tests.support.client_programs import NODE_MODULES, NODE_PROGRAMS

PAGE = PROJECT / "docs/clients.md"
PORTABLE = "?names=portable"
DOCUMENTED_URL = "http://localhost:8765/mcp"
DOCUMENTED_KEY = "YOUR_KEY"
REVISION = re.compile(r"\d{4}-\d\d-\d\d")
_BLOCK = re.compile(r"(?:^<!-- client: ([^\n]+) -->\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TOOLS = PROJECT / ".tools"
PINS: Mapping[str, str] = {
    "Python SDK 2.x": "dev",
    "Python SDK 1.x": "clients-mcp1",
    "openai-agents": "clients-agents",
    "LangChain": "clients-langchain",
    "pydantic-ai": "clients-pydantic-ai",
    "Strands Agents": "clients-strands",
    "Semantic Kernel": "clients-semantic-kernel",
    "AutoGen": "clients-autogen",
    "CrewAI": "clients-crewai",
    "Google ADK": "clients-adk",
    "LlamaIndex": "clients-llama-index",
}
"""The file of `requirements` that a Python client is installed from, which is also the name of its environment."""
NODE_FRAMEWORKS = ("AI SDK", "Mastra")
"""The clients that are installed from `requirements/clients-node`."""


@dataclass(frozen=True, slots=True)
class ClientBlock:
    client: str
    language: str
    code: str

    def __str__(self) -> str:
        return self.client

    def paste(self, url: str, key: str) -> str:
        """Return the code with this URL of an endpoint, and this key."""
        assert DOCUMENTED_URL in self.code, self.client
        assert DOCUMENTED_KEY in self.code, self.client
        return self.code.replace(DOCUMENTED_URL, url).replace(DOCUMENTED_KEY, key)

    def prepare(self, home: Path, code: str) -> list[str | Path]:
        """Return the command that runs the code in this folder, with the packages of the client in reach."""
        (home / "node_modules").symlink_to(self._node_modules)
        if self.language == "bash":
            return ["bash", "-euo", "pipefail", "-c", code]
        script = home / ("client.mjs" if self.language == "js" else "client.py")
        script.write_text(code)
        return [NODE_PROGRAMS / "node" if self.language == "js" else self._python, script]

    @property
    def is_portable(self) -> bool:
        """Whether the client asks for portable names."""
        return PORTABLE in self.code

    @property
    def documented_revisions(self) -> set[str]:
        return set(REVISION.findall(read_rows()[self.client]["speaks"]))

    @property
    def _python(self) -> Path:
        pins = PINS[self.client]
        return (PROJECT / ".venv" if pins == "dev" else _TOOLS / pins) / "bin/python"

    @property
    def _node_modules(self) -> Path:
        return _TOOLS / "clients-node/node_modules" if self.client in NODE_FRAMEWORKS else NODE_MODULES


@cache
def read_blocks() -> Sequence[ClientBlock]:
    """Return the blocks in the order of the page."""
    return [ClientBlock(*found) for found in _BLOCK.findall(PAGE.read_text())]


@cache
def read_rows() -> Mapping[str, Mapping[str, str]]:
    """Return the rows of the table of clients, by client."""
    lines = PAGE.read_text().split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith("| client |"))
    last = next(number for number, line in enumerate(lines) if number > first and not line.startswith("|"))
    columns, _, *body = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[first:last]]
    return {row[0]: dict(zip(columns, row, strict=True)) for row in body}
