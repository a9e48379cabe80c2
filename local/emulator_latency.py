"""Let changes in the emulator take effect later, as on AWS: permissions and event source mappings.

The emulator applies both at once. On AWS a policy of a role and a permission of a function hold everywhere only seconds
after they are made, and a mapping begins to read its source up to a minute later. `local/emulator_app.py` loads this
file if the emulator is started with a latency; it runs in the emulator's interpreter.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote

_NOTE_SECONDS = 0.2
"""The pause between two looks at all roles and functions. A change is noted at most this late."""
SOURCE_HEADER = "x-invoked-by-api"
"""The header by which `local/api_gateway.py` names the request for which it invokes a function, as the end of the ARN
that the function's permission names."""
_NOT_PERMITTED = (403, {"Content-Type": "application/json"}, b'{"Message":"API Gateway may not invoke the function."}')
"""The answer of Lambda to API Gateway, whose client gets 500."""

type Clock = Callable[[], float]
type Seconds = Callable[[], float]
type ReadModule = Callable[[str], dict[str, Any]]
"""A function from the name of a module of the emulator to the names that it defines, which may be replaced."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds after which changes take effect. It is kept in a file, so that it can be changed while the emulator
    runs."""

    permissions: float = 0.0
    """Of policies of roles, and of permissions that let a service invoke a function."""
    mappings: float = 0.0
    """Of new event source mappings."""

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls(**json.loads(path.read_text()))

    def write(self, path: Path) -> None:
        """Write the file in one step: the emulator reads it at any time."""
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(asdict(self)))
        draft.replace(path)


class Timeline[Value]:
    """The values that something had, each with the time at which it was first seen."""

    def __init__(self) -> None:
        self._values: list[tuple[float, Value]] = []
        self._lock = threading.Lock()

    def note(self, now: float, value: Value) -> None:
        """Note the present value, if it is another one than before."""
        with self._lock:
            if not self._values or self._values[-1][1] != value:
                self._values.append((now, value))

    def value_at(self, moment: float) -> Value | None:
        """Return the newest value that was seen by that moment; None if there was none."""
        with self._lock:
            return next((value for seen, value in reversed(self._values) if seen <= moment), None)


class Timelines[Key, Value]:
    """A timeline for each key."""

    def __init__(self, seconds: Seconds, clock: Clock = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._timelines: dict[Key, Timeline[Value]] = {}

    def note(self, key: Key, value: Value) -> None:
        self._timelines.setdefault(key, Timeline()).note(self._clock(), value)

    def effective(self, key: Key, value: Value) -> Value | None:
        """Note the present value, and return the value that is in effect."""
        self.note(key, value)
        return self._timelines[key].value_at(self._clock() - self._seconds())


def delay_changes(read_module: ReadModule, latency: Path) -> None:
    """Make the emulator apply changes after the latency in the file."""
    policies = DelayedPolicies(read_module, lambda: Latency.read(latency).permissions)
    invocations = DelayedInvocations(read_module, lambda: Latency.read(latency).permissions)
    mappings = DelayedMappings(read_module, lambda: Latency.read(latency).mappings)
    for delayed in (policies, invocations, mappings):
        delayed.replace()
    threading.Thread(target=_note_changes, args=((policies, invocations),), daemon=True).start()


def _note_changes(delayed: "Sequence[DelayedPolicies | DelayedInvocations]") -> None:
    while True:
        for one in delayed:
            one.note_all()
        time.sleep(_NOTE_SECONDS)


class DelayedPolicies:
    """The policies of roles."""

    def __init__(self, read_module: ReadModule, seconds: Seconds) -> None:
        self._evaluator = read_module("core.iam_evaluator")
        self._roles = read_module("services.iam")["_roles"]
        self._gather = self._evaluator["_gather_role_policies"]
        self._policies = Timelines[tuple[str, str, str], Any](seconds)

    def replace(self) -> None:
        """Make requests be judged by the policies that are in effect."""
        self._evaluator["_gather_role_policies"] = self._gather_effective

    def note_all(self) -> None:
        """Note the policies of all roles."""
        for account, role in list(self._roles.to_dict()):
            self._policies.note(self._key_of(role, account), self._gather(role, account))

    def _gather_effective(self, role: str, account: str) -> Any:
        return self._policies.effective(self._key_of(role, account), self._gather(role, account)) or []

    def _key_of(self, role: str, account: str) -> tuple[str, str, str]:
        found = self._roles.get_scoped(account, None, role)
        # a role that is made again under the name is another one
        return account, role, found["RoleId"] if found else ""


class DelayedInvocations:
    """The permissions by which API Gateway and rules invoke functions. The emulator alone asks for none."""

    def __init__(self, read_module: ReadModule, seconds: Seconds) -> None:
        self._functions = read_module("services.lambda_svc")
        self._rules = read_module("services.eventbridge")
        self._matches = read_module("core.iam_evaluator")["fnmatch_iam_cs"]
        self._answer = self._functions["handle_request"]
        self._dispatch = self._rules["_dispatch_to_lambda"]
        self._permissions = Timelines[str, Sequence[Any]](seconds)

    def replace(self) -> None:
        """Make API Gateway and rules invoke only functions whose permission for them is in effect."""
        self._functions["handle_request"] = self._answer_if_permitted
        self._rules["_dispatch_to_lambda"] = self._dispatch_if_permitted

    def note_all(self) -> None:
        """Note the permissions of all functions."""
        for function in list(self._functions["_functions"].to_dict().values()):
            self._permissions.note(*_permissions_of(function))

    async def _answer_if_permitted(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, query_params: Any
    ) -> Any:
        source = headers.get(SOURCE_HEADER)
        if source is not None:
            name = unquote(path).removesuffix("/invocations").rpartition("/")[2]
            function, _, _ = self._functions["_get_func_record_for_ref"](name)
            if function is not None and not self._permits(function, "apigateway.amazonaws.com", source):
                return _NOT_PERMITTED
        return await self._answer(method, path, headers, body, query_params)

    def _dispatch_if_permitted(self, arn: str, payload: Any) -> None:
        function, _, _ = self._functions["_get_func_record_for_ref"](arn)
        if function is None or self._permits(function, "events.amazonaws.com", None):
            self._dispatch(arn, payload)

    def _permits(self, function: Mapping[str, Any], service: str, source: str | None) -> bool:
        in_effect = self._permissions.effective(*_permissions_of(function)) or []
        return any(
            statement["Principal"] == {"Service": service} and self._is_from(statement, source)
            for statement in in_effect
        )

    def _is_from(self, statement: Mapping[str, Any], source: str | None) -> bool:
        """Whether the statement permits a source: the last part of its ARN, such as the path in an API, if known."""
        pattern = statement.get("Condition", {}).get("ArnLike", {}).get("AWS:SourceArn")
        return pattern is None or source is None or self._matches(source, pattern.split(":", 5)[5])


def _permissions_of(function: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    """Return the ARN of a function and the statements of its policy."""
    return function["config"]["FunctionArn"], list(function["policy"]["Statement"])


class DelayedMappings:
    """The event source mappings. A mapping that is not active yet is reported as being created."""

    def __init__(self, read_module: ReadModule, seconds: Seconds) -> None:
        self._functions = read_module("services.lambda_svc")
        self._list = self._functions["_iter_all_esms"]
        self._describe = self._functions["_esm_response"]
        self._seen = Timelines[str, bool](seconds)
        self._active: set[str] = set()

    def replace(self) -> None:
        """Make the emulator read only the sources of active mappings."""
        self._functions["_iter_all_esms"] = self._list_active
        self._functions["_esm_response"] = self._describe_with_state

    def _list_active(self) -> Iterator[Any]:
        return (found for found in self._list() if self._is_active(found[2]))

    def _describe_with_state(self, mapping: Mapping[str, Any]) -> Any:
        described = self._describe(mapping)
        return described if self._is_active(mapping) else {**described, "State": "Creating"}

    def _is_active(self, mapping: Mapping[str, Any]) -> bool:
        name = mapping["UUID"]
        if name not in self._active and self._seen.effective(name, value=True):
            self._active.add(name)
            if mapping.get("StartingPosition") == "LATEST":  # it misses what was written before it was active
                self._functions["_dynamodb_stream_positions"].pop(name, None)
        return name in self._active
