"""Agent frameworks drive a workflow of four steps to its end, with the blocks of docs/clients.md and a model that
follows links. `make clients` has all of them do so."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.command import drive_in_folder, publish_workflow
from tests.frameworks.drives import ENDPOINTS
from tests.frameworks.frameworks import FRAMEWORKS, Framework
from tests.support.laptop import Laptop, Stack

pytestmark = pytest.mark.cloud
TENANT = "frameworks"


@pytest.fixture(scope="module")
def key(laptop: Laptop, product_stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a key of a tenant that has the workflow."""
    publish_workflow(laptop, product_stack, TENANT, tmp_path_factory.mktemp("manifest"))
    return laptop.make_key(product_stack, TENANT)


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("framework", [it for it in FRAMEWORKS if it.is_quick], ids=lambda it: it.name)
def test_a_framework_drives_a_workflow_to_its_end(
    framework: Framework, endpoint: str, product_stack: Stack, key: str, tmp_path: Path
) -> None:
    done = drive_in_folder(framework, endpoint, product_stack, key, tmp_path)
    assert done.has_passed, f"{done}\n{read_output(tmp_path)}"
    assert framework.block.documented_revisions <= set(done.revisions)


@pytest.mark.invariant(147)
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_client_sends_objects_as_json_text(endpoint: str, product_stack: Stack, key: str) -> None:
    def call(tool: str, **arguments: Any) -> Any:
        answer = product_stack.request(key, "tools/call", {"name": tool, "arguments": arguments}, path=endpoint)
        assert answer.status == 200, answer.text
        return answer.json["result"]["structuredContent"]

    started = call("workflow.start", definitionId="office_move", input='{"team": "maps"}')
    args = started["links"][0]["args"]
    assert args["transition"] == "count_desks", started
    moved = call("workflow.submit", **{**args, "arguments": '{"desks": 3}'})
    assert (moved["version"], moved["context"]) == (2, {"desks": 3}), moved


def read_output(logs: Path) -> Mapping[str, str]:
    return {str(log): log.read_text() for log in logs.rglob("output.log")}
