"""The stubs of a case on a deployed stack: each is a function of the executor that plays scripts."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from signpost.contract import HostedFunction
from tests.acceptance.deployed import Deployment

STUB = "stub"
PLAYER_S_OWN = ("kind", "id", "script")
"""Members of a stub that say what it plays, and nothing to whoever runs it."""

type Written = Mapping[str, Any]


class Stubs:
    """Those of one tenant."""

    def __init__(self, deployment: Deployment, tenant: str) -> None:
        self._deployment = deployment
        self._tenant = tenant
        self._functions: dict[str, str] = {}
        """By what is played, and under which id."""
        self._written: dict[str, Written] = {}
        """By what was published in its place."""

    def placed(self, manifest: Written) -> Written:
        """With a function in the place of each stub, wherever it stands."""
        before = len(self._functions)
        resolved = self._resolved(manifest)
        if len(self._functions) > before:
            # Hidden, since the cases count what is listed and none of them publishes a skill.
            hosted = [HostedFunction(function, hidden=True) for function in self._functions.values()]
            self._deployment.place(self._tenant, hosted)
        return resolved

    def calls(self, stub: str) -> Sequence[Written]:
        """First call first."""
        executors = self._deployment.executors
        named = [function for key, function in self._functions.items() if json.loads(key)[0] == stub]
        called = [call for function in named for call in executors.list_calls(self._tenant, function)]
        return [_call_record(call) for call in sorted(called, key=lambda call: call["at"])]

    def as_written(self, answered: Any) -> Any:
        """With each executor that is shown exactly as it was published as its author had it."""
        if isinstance(answered, list):
            return [self.as_written(one) for one in answered]  # pyright: ignore[reportUnknownVariableType] - JSON
        if not isinstance(answered, Mapping):
            return answered
        known = self._written.get(_text(answered))
        if known is not None:
            return known
        return {name: self.as_written(member) for name, member in answered.items()}  # pyright: ignore[reportUnknownVariableType] - JSON

    def _resolved(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._resolved(one) for one in value]  # pyright: ignore[reportUnknownVariableType] - JSON
        if not isinstance(value, Mapping):
            return value
        members: Written = value  # pyright: ignore[reportUnknownVariableType] - JSON
        resolved = {name: self._resolved(member) for name, member in members.items()}
        return self._function_for(members) if members.get("kind") == STUB and "script" in members else resolved

    def _function_for(self, stub: Written) -> Written:
        key = _text([stub.get("id", ""), stub["script"]])
        if key not in self._functions:
            self._functions[key] = f"{STUB}::{len(self._functions) + 1}"
            self._deployment.executors.write_script(self._tenant, self._functions[key], stub["script"])
        rest = {name: member for name, member in stub.items() if name not in PLAYER_S_OWN}
        published = {"kind": "function", "function": self._functions[key], **rest}
        self._written[_text(published)] = stub
        return published


def _call_record(call: Mapping[str, Any]) -> Written:
    """The name of a transition may have dots."""
    workflow, named = call["step"].split(".", 1)
    transition = named.rsplit(".", 1)[0]
    key = call["idempotencyKey"]
    return {
        "workflowId": workflow,
        "transition": transition,
        "arguments": call["arguments"],
        "idempotencyKey": key,
    }


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
