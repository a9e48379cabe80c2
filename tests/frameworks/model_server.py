"""A server of language models on loopback, which answers as OpenAI's API does and follows links."""

import json
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Protocol, Self, cast

from local.door import Door
from local.wire import Answer, Head
from signpost.model import JsonObject
from tests.frameworks import chat_wire, responses_wire
from tests.frameworks.following_model import FollowingModel, OfferedTool, ToolCall
from tests.frameworks.tool_names import build_refusal, find_name_refusal
from tests.frameworks.tool_schemas import find_schema_refusal

PATH = "/v1"
_JSON = "application/json"


class ModelWire(Protocol):
    """The wire form of requests to a model: the tools that are offered, the results so far, and the answer."""

    def read_tools(self, request: JsonObject) -> Sequence[OfferedTool]: ...

    def read_results(self, request: JsonObject) -> Sequence[str]: ...

    def build_answer(self, request: JsonObject, decided: ToolCall | str, number: int) -> JsonObject: ...

    def stream_answer(self, request: JsonObject, decided: ToolCall | str, number: int) -> Iterator[str]: ...


WIRES: Mapping[str, ModelWire] = {f"{PATH}/chat/completions": chat_wire, f"{PATH}/responses": responses_wire}


class ModelServer(Door):
    """Answers the requests of a framework, and keeps the last text: the end of the conversation."""

    def __init__(self, model: FollowingModel) -> None:
        super().__init__(0, self._answer_request)
        self.last_text = ""
        self._model = model

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables with which frameworks find the API."""
        url = f"{self.url}{PATH}"
        return {"OPENAI_BASE_URL": url, "OPENAI_API_BASE": url, "OPENAI_API_KEY": "sk-unused"}

    def _answer_request(self, head: Head, body: bytes, _peer: str) -> Answer:
        wire = WIRES.get(head.path.partition("?")[0])
        if head.method != "POST" or wire is None:
            return self._refuse(HTTPStatus.NOT_FOUND, f"This server has no {head.method} {head.path}.")
        request = cast("JsonObject", json.loads(body))
        tools, results = wire.read_tools(request), wire.read_results(request)
        if refusal := find_name_refusal(tools) or find_schema_refusal(tools):
            return self._refuse(HTTPStatus.BAD_REQUEST, refusal)
        decided = self._model.decide(tools, results)
        self.last_text = decided if isinstance(decided, str) else ""
        if request.get("stream") is True:
            events = "".join(wire.stream_answer(request, decided, len(results)))
            return _build_answer(HTTPStatus.OK, "text/event-stream", events)
        return _build_answer(HTTPStatus.OK, _JSON, json.dumps(wire.build_answer(request, decided, len(results))))

    def _refuse(self, status: HTTPStatus, message: str) -> Answer:
        self.last_text = f"The model's API refused the request: {message}"
        return _build_answer(status, _JSON, json.dumps(build_refusal(message)))


def _build_answer(status: HTTPStatus, content_type: str, body: str) -> Answer:
    return Answer(status, status.phrase, (("Content-Type", content_type),), body.encode())
