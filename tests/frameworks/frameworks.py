"""The agent frameworks that drive a workflow, and the package whose version their row shows."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from local.emulator import PROJECT
from tests.support.client_blocks import NODE_FRAMEWORKS, PINS, ClientBlock, read_blocks

_REQUIREMENTS = PROJECT / "requirements"


@dataclass(frozen=True, slots=True)
class Framework:
    name: str
    """The name in docs/clients.md."""
    package: str
    """The package that connects the framework to MCP servers."""
    is_quick: bool = False
    """Whether `make test` has it drive a workflow, too."""

    @property
    def version(self) -> str:
        """The version that is pinned."""
        if self.name in PINS:
            pins = (_REQUIREMENTS / f"{PINS[self.name]}.txt").read_text()
            found = re.search(rf"^{re.escape(self.package)}==(\S+)", pins, re.MULTILINE)
            assert found, f"{self.package} is not in {PINS[self.name]}.txt"
            return found[1]
        folder = "clients-node" if self.name in NODE_FRAMEWORKS else "node"
        pinned = json.loads((_REQUIREMENTS / folder / "package.json").read_text())
        return str(pinned["devDependencies"][self.package])

    @property
    def block(self) -> ClientBlock:
        """Its configuration in docs/clients.md."""
        return next(block for block in read_blocks() if block.client == self.name)


FRAMEWORKS = (
    Framework("openai-agents", "openai-agents", is_quick=True),
    Framework("LangChain", "langchain-mcp-adapters", is_quick=True),
    Framework("pydantic-ai", "pydantic-ai-slim", is_quick=True),
    Framework("Strands Agents", "strands-agents"),
    Framework("Semantic Kernel", "semantic-kernel"),
    Framework("AutoGen", "autogen-ext"),
    Framework("CrewAI", "crewai-tools"),
    Framework("Google ADK", "google-adk"),
    Framework("LlamaIndex", "llama-index-tools-mcp"),
    Framework("AI SDK", "@ai-sdk/mcp"),
    Framework("Mastra", "@mastra/mcp"),
    Framework("mcp-remote", "mcp-remote", is_quick=True),
)
FRAMEWORKS_BY_NAME: Mapping[str, Framework] = {framework.name: framework for framework in FRAMEWORKS}
