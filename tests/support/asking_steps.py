"""Workflows in memory whose steps call functions that ask questions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from signpost.adapters.memory import FunctionTable, MemoryBreakers, MemoryDirectory, MemoryFunctionStates
from signpost.calling.breaker import Breaker
from signpost.calling.lookup import FunctionView
from signpost.contract import CallReply, CallRequest, Executor, HostedFunction
from signpost.model import InputRequired, JsonObject, Principal
from signpost.workflow.engine.permissions import ANSWER
from signpost.workflow.engine.steps import FUNCTION_KIND
from signpost.workflow.running.executors.function import FunctionStepExecutor
from tests.support.memory_workflows import MemoryWorkflows
from tests.support.step_cases import AGENT

ASKER = "shop::order"
CALL: JsonObject = {"kind": FUNCTION_KIND, "function": ASKER}
type Reply = CallReply | Callable[[CallRequest], CallReply]


def form(message: str = "Which size?", **properties: Any) -> JsonObject:
    """Return a question for these fields, all of them required; for a size if there are none."""
    fields = properties or {"size": {"type": "integer", "minimum": 1}}
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


PAGE: JsonObject = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "Please sign.", "url": "https://sign.example/1"},
}
SAMPLE: JsonObject = {
    "method": "sampling/createMessage",
    "params": {"maxTokens": 5, "messages": [{"role": "user", "content": {"type": "text", "text": "Name a colour."}}]},
}
ROOTS: JsonObject = {"method": "roots/list"}
MESSAGE: JsonObject = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Red."}}


def accept(**content: Any) -> JsonObject:
    return {"action": "accept", "content": content}


def ask(*keys: str, state: Any = None) -> InputRequired:
    return InputRequired({key: form() for key in keys}, state)


def ignore_notice(tenant: str, function: str, position: str, why: str | None, stopped: str | None) -> None:
    del tenant, function, position, why, stopped


class PlayedFunctions:
    """The executors of functions: each call is recorded and gets the next reply."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.requests: list[CallRequest] = []

    def invoke(self, request: CallRequest) -> CallReply:
        self.requests.append(request)
        reply = self.replies.pop(0)
        return reply(request) if callable(reply) else reply


def build_function_steps(shop: MemoryWorkflows, functions: PlayedFunctions, **hosted: Any) -> FunctionStepExecutor:
    table = FunctionTable()
    MemoryDirectory(table).place(None, Executor("arn:shop", "arn:keys", 60_000), [HostedFunction(ASKER, **hosted)])
    view = FunctionView(states=MemoryFunctionStates(table), clock=shop.clock)
    breaker = Breaker(view=view, store=MemoryBreakers(table), clock=shop.clock, notice=ignore_notice)
    return FunctionStepExecutor(
        functions=view, executors=functions, breaker=breaker, validators=shop.workflows.validators
    )


class AskingWorkflow:
    """One run of a workflow whose step `go` calls a function that asks."""

    def __init__(
        self, *replies: Reply, document: Mapping[str, Any] | None = None, hosted: Mapping[str, Any] | None = None
    ) -> None:
        self.functions = PlayedFunctions(*replies)
        self.shop = MemoryWorkflows()
        self.shop.step_executors[FUNCTION_KIND] = build_function_steps(self.shop, self.functions, **(hosted or {}))
        self.shop.publish("demo", document or one_step())
        self.started = self.shop.start(AGENT)
        self.id = self.started["workflowId"]

    @property
    def requests(self) -> Sequence[CallRequest]:
        return self.functions.requests

    @property
    def claim(self) -> Any:
        return self.shop.load_instance(self.id).claim

    @property
    def events(self) -> Sequence[str]:
        return self.shop.list_event_types(self.id)

    def go(self, by: Principal = AGENT) -> Any:
        return self.shop.submit(self.id, "go", by)

    def get(self, by: Principal = AGENT) -> Any:
        return self.shop.get(self.id, by)

    def answer(self, by: Principal = AGENT, **answers: Any) -> Any:
        """Answer by the link that the first principal is shown, as this one."""
        link = self.find_link(AGENT)
        prefilled: JsonObject = {} if link is None else link["args"]["arguments"]
        return self.shop.submit(self.id, ANSWER, by, {**prefilled, **answers})

    def find_link(self, by: Principal = AGENT, transition: str = ANSWER) -> Any:
        links = [link for link in self.get(by)["links"] if link["args"].get("transition") == transition]
        return links[0] if links else None


def one_step(**transition: Any) -> Mapping[str, Any]:
    go = {"target": "b", "executor": CALL, "output": {"went": "$.output"}, **transition}
    other = {"target": "b"}
    return {
        "initialState": "a",
        "states": {"a": {"transitions": {"go": go, "other": other}}, "b": {"transitions": {"back": {"target": "a"}}}},
    }
