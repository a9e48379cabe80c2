"""The functions by which administrators put executors of other stacks into their tenant's directory."""

import re
from collections.abc import Callable, Mapping, Sequence

from signpost.execution.loader import Loader
from signpost.execution.skill_names import skill_name
from signpost.loads import Loading, LoadOperation, NotPlaced
from signpost.model import Json, JsonObject
from signpost.registry import payloads
from signpost.registry.callers import Caller
from signpost.registry.refusals import Refused, quoted

EXECUTOR = re.compile(r"[A-Za-z0-9_-]{1,64}|arn:[a-z-]+:lambda:[a-z0-9-]+:\d{12}:function:[A-Za-z0-9_:$-]{1,200}")

type Answer = Json | Refused


class LoadingFunctions:
    """Beside the thirteen, as those that `signpost publish` calls."""

    def __init__(self, loader: Loader) -> None:
        self._by_id: Mapping[str, Callable[[str, str], Loading | NotPlaced]] = {
            "skills::load": loader.load,
            "skills::unload": loader.unload,
            "skills::reload": loader.reload,
        }

    @property
    def ids(self) -> Sequence[str]:
        return list(self._by_id)

    def call(self, function_id: str, payload: Json, caller: Caller) -> Answer:
        """One of `ids`."""
        read = payloads.payload_of(payload)
        fields = read if isinstance(read, Refused) else payloads.texts(read, "executor")
        if isinstance(fields, Refused):
            return fields
        executor = fields[0].strip()
        if EXECUTOR.fullmatch(executor) is None or caller.tenant is None:
            return Refused(
                "invalid_payload", f"{quoted(executor)} is neither the ARN nor the name of a Lambda function."
            )
        done = self._by_id[function_id](executor, caller.tenant)
        return Refused(done.code, done.message) if isinstance(done, NotPlaced) else _answer(done)


def _answer(done: Loading) -> JsonObject:
    return {
        "executor": done.executor.arn,
        "version": done.terms.version if done.terms is not None else None,
        "functions": [
            {"id": one.function, "name": skill_name(one), "permissions": sorted(one.permissions)}
            for one in sorted(done.hosted, key=lambda one: one.function)
        ],
        "loaded": _told(done, "load"),
        "reloaded": _told(done, "reload"),
        "unloaded": _told(done, "unload"),
    }


def _told(done: Loading, op: LoadOperation) -> Sequence[str]:
    return [one.name for one in done.told if one.op == op]
