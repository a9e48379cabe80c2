"""A client of /mcp in a tenant that has executors and documents, and has published no manifest."""

from collections.abc import Mapping, Sequence
from typing import Any

from signpost.content.callers import Caller
from signpost.content.model import Skill, StoredPrompt
from signpost.contract import HostedFunction
from signpost.model import Principal, PromptArgument
from tests.support.function_tools import TENANT, FunctionToolClient
from tests.support.memory_gateway import MODERN
from tests.support.memory_workflows import run_until_idle

AUTHOR = Principal("author", TENANT, "tests")


class CapabilityClient(FunctionToolClient):
    """A client of /mcp in a tenant that has published nothing."""

    def __init__(self, *hosted: HostedFunction | str) -> None:
        super().__init__(MODERN, "/mcp")
        self.host(*hosted)

    def run_worker(self) -> None:
        services = self.gateway.composition.workflow_services()
        run_until_idle(services.waker, self.gateway.instances, self.gateway.clock, is_swept=False)

    def ask(self, tool: str, **arguments: Any) -> Any:
        return self.call(tool, arguments)["structuredContent"]

    def start(self, capability: Any, **others: Any) -> Any:
        return self.ask("workflow.start", definitionId="proxy_default", input={"capability": capability, **others})

    def take(self, link: Mapping[str, Any], **arguments: Any) -> Any:
        return self.ask(link["method"], **{**link["args"], "arguments": {**link["args"]["arguments"], **arguments}})

    def search(self, query: str = "", **arguments: Any) -> Sequence[tuple[str, str]]:
        """Return the kinds and ids of the results, best first."""
        results = self.ask("gateway.search", query=query, **arguments)["results"]
        return [(result["item"]["kind"], result["item"]["id"]) for result in results]

    def register(self, skill_id: str, body: str) -> None:
        registered = self.gateway.composition.documents.skills.register(skill_id, body, Caller(TENANT, AUTHOR, 0))
        assert isinstance(registered, Skill), registered

    def register_prompt(self, name: str, description: str, *arguments: PromptArgument) -> None:
        prompts = self.gateway.composition.documents.prompts
        registered = prompts.register(name, description, "yard::render", arguments, Caller(TENANT, AUTHOR, 0))
        assert isinstance(registered, StoredPrompt), registered
