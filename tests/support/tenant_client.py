"""A client of one tenant, as the tests of earlier releases use it: requests, tools and runs of workflows."""

from dataclasses import dataclass
from typing import Any

from tests.support.laptop import Stack


@dataclass(frozen=True, slots=True)
class TenantClient:
    """Sends requests with the tenant's API key, or with another credential (`by`), and returns their results."""

    stack: Stack
    key: str

    def request(self, method: str, path: str = "/mcp", by: str = "", **params: Any) -> Any:
        """Send a request and return its result."""
        answer = self.stack.request(by or self.key, method, params, path)
        assert answer.status == 200, answer.text
        assert "result" in answer.json, f"{method} {params}: {answer.text}"
        return answer.json["result"]

    def call(self, tool: str, by: str = "", **arguments: Any) -> Any:
        return self.request("tools/call", by=by, name=tool, arguments=arguments)["structuredContent"]

    def get(self, run: str, by: str = "") -> Any:
        return self.call("workflow.get", by, workflowId=run)

    def submit(self, run: str, transition: str, by: str = "", **arguments: Any) -> Any:
        version = self.get(run)["version"]
        submitted = {"workflowId": run, "expectedVersion": version, "transition": transition, "arguments": arguments}
        return self.call("workflow.submit", by, **submitted)
