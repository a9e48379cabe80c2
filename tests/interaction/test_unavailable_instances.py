"""A store that cannot be read now is no fault of anybody's: whoever asks is told to look again, and can."""

from collections.abc import Callable, Mapping
from typing import Any, override

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from signpost.adapters.dynamodb.instances import DynamoInstanceStore
from signpost.adapters.memory import MemoryTextStore
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.errors import Unavailable
from signpost.workflow.instance import Instance, InstanceWrite, WriteCondition
from tests.interaction.test_workflow_tools import ANYWHERE
from tests.support.gateway_workflows import TENANT
from tests.support.manifests import publish
from tests.support.memory_gateway import MemoryGateway

MANIFEST: Mapping[str, Any] = {
    "version": 1,
    "workflows": {
        "small": {
            "initialState": "open",
            "states": {"open": {"transitions": {"close": {"target": "closed"}}}, "closed": {"terminal": True}},
        }
    },
}
CODES = ("ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded", "InternalServerError")


class OverloadedInstanceStore(MemoryInstanceStore):
    """As often as it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.unread = self.unheard = 0
        """Loads that fail, and saves of whose success nobody hears."""
        self.is_overtaken = False
        """By somebody who does the same before the next save, after which it cannot be read."""

    @override
    def load(self, tenant: str, workflow_id: str, may_see: Callable[[Instance], bool] | None = None) -> Instance | None:
        if self.unread > 0:
            self.unread -= 1
            raise Unavailable("An AWS service that this request needs is overloaded.")
        return super().load(tenant, workflow_id, may_see)

    @override
    def save(self, tenant: str, entry: InstanceWrite, *, replacing: WriteCondition | None) -> bool:
        saved = super().save(tenant, entry, replacing=replacing)
        if self.unheard > 0:
            self.unheard -= 1
            raise Unavailable("An AWS service that this request needs is overloaded.")
        if self.is_overtaken:
            self.is_overtaken, self.unread = False, 1
            return False
        return saved


class WorkflowClient:
    def __init__(self, instances: Any) -> None:
        self._gateway = MemoryGateway()
        self._gateway.replace_adapters(instances=lambda: instances)
        adapters = self._gateway.adapters
        publish(adapters.content, adapters.values, adapters.definitions, TENANT, MANIFEST)

    def result(self, tool: str, args: Mapping[str, Any]) -> Any:
        credential = self._gateway.make_token(tenant=TENANT, sub="somebody")
        answer = self._gateway.request("tools/call", {"name": tool, "arguments": args}, credential=credential)
        assert answer.status == 200, answer.text
        return answer.json["result"]

    def ask(self, tool: str, **args: Any) -> Any:
        return self.result(tool, args)["structuredContent"]

    def told_to_look_again(self, tool: str, **args: Any) -> Any:
        """Answers the link that it is to be done by."""
        result = self.result(tool, args)
        answer = result["structuredContent"]
        error, (link, *anywhere) = answer["error"], answer["links"]
        assert (result["isError"], error["code"], error["retryAfterMs"]) == (True, "STALE_WORKFLOW_VERSION", 1_000)
        assert (link["rel"], link["method"], anywhere) == ("self", "workflow.get", ANYWHERE)
        return link["args"]


@pytest.fixture
def store() -> OverloadedInstanceStore:
    return OverloadedInstanceStore()


@pytest.fixture
def caller(store: OverloadedInstanceStore) -> WorkflowClient:
    return WorkflowClient(store)


def test_a_get_of_an_unreadable_instance_can_be_repeated(
    store: OverloadedInstanceStore, caller: WorkflowClient
) -> None:
    begun = caller.ask("workflow.start", definitionId="small")
    store.unread = 1
    link = caller.told_to_look_again("workflow.get", workflowId=begun["workflowId"])
    assert caller.ask("workflow.get", **link)["version"] == 1


@pytest.mark.parametrize("unread", [1, 2])
def test_a_submission_to_an_unreadable_instance_can_be_repeated(
    store: OverloadedInstanceStore, caller: WorkflowClient, unread: int
) -> None:
    workflow_id = caller.ask("workflow.start", definitionId="small")["workflowId"]
    step = {"workflowId": workflow_id, "expectedVersion": 1, "transition": "close"}
    store.unread = unread
    for _ in range(unread):
        assert caller.told_to_look_again("workflow.submit", **step) == {"workflowId": workflow_id}
    assert caller.ask("workflow.submit", **step)["state"] == "closed"


def test_an_overtaken_submission_with_an_unreadable_instance_links_to_get(
    store: OverloadedInstanceStore, caller: WorkflowClient
) -> None:
    workflow_id = caller.ask("workflow.start", definitionId="small")["workflowId"]
    step = {"workflowId": workflow_id, "expectedVersion": 1, "transition": "close"}
    store.is_overtaken = True
    link = caller.told_to_look_again("workflow.submit", **step)
    assert caller.ask("workflow.get", **link)["state"] == "closed"


def test_a_start_with_a_lost_answer_links_to_its_instance(
    store: OverloadedInstanceStore, caller: WorkflowClient
) -> None:
    store.unheard = 10**6
    link = caller.told_to_look_again("workflow.start", definitionId="small")
    assert caller.ask("workflow.get", **link)["state"] == "open"


def test_a_repeated_start_of_an_unreadable_instance_links_to_it(
    store: OverloadedInstanceStore, caller: WorkflowClient
) -> None:
    begun = caller.ask("workflow.start", definitionId="small", clientToken="mine")
    store.unread = 1
    link = caller.told_to_look_again("workflow.start", definitionId="small", clientToken="mine")
    assert link == {"workflowId": begun["workflowId"]}


def refusing_store(code: str) -> DynamoInstanceStore:
    """By a table that refuses all reads for that, and all writes because it stands otherwise."""
    client = boto3.client("dynamodb", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")

    answered = AWSResponse("https://table", 400, HTTPHeaders(), None)

    def answer(model: Any, **_: Any) -> tuple[Any, Mapping[str, Any]]:
        if model.name != "TransactWriteItems":
            return answered, {"Error": {"Code": code, "Message": "a fault"}}
        reasons = [{"Code": "ConditionalCheckFailed", "Message": "no"}]
        return answered, {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": reasons}

    hooks: Any = client.meta.events
    hooks.register("before-call.dynamodb", answer)
    return DynamoInstanceStore(client, "workflows", MemoryTextStore())


@pytest.mark.parametrize("code", CODES)
def test_an_overloaded_table_is_an_unavailable_store(code: str) -> None:
    caller = WorkflowClient(refusing_store(code))
    caller.told_to_look_again("workflow.get", workflowId="wf_1")
    caller.told_to_look_again("workflow.submit", workflowId="wf_1", expectedVersion=1, transition="close")
    caller.told_to_look_again("workflow.start", definitionId="small", clientToken="mine")
