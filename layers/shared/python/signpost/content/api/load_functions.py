"""The functions that load executors of other stacks into the directory of an administrator's tenant."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from signpost.calling.skill_names import skill_name
from signpost.content.api import payloads
from signpost.content.api.errors import RegistryAnswer, RegistryRefusal, quote_text
from signpost.content.callers import Caller
from signpost.directory.loader import Loader
from signpost.directory.model import DirectoryChange, LoadOperation, PlacementRefusal
from signpost.hazards.model import warnings_field
from signpost.model import Json, JsonObject

EXECUTOR = re.compile(r"[A-Za-z0-9_-]{1,64}|arn:[a-z-]+:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_:$-]{1,200}")


class _ChangeLoad(Protocol):
    def __call__(self, executor: str, tenant: str, *, strict: bool) -> DirectoryChange | PlacementRefusal: ...


class LoadFunctions:
    """Serves `skills::load`, `skills::unload` and `skills::reload`. Like the functions that `signpost publish` calls,
    they are not among the thirteen functions of the registry."""

    def __init__(self, loader: Loader) -> None:
        self._by_id: Mapping[str, _ChangeLoad] = {
            "skills::load": loader.load,
            "skills::unload": loader.unload,
            "skills::reload": loader.reload,
        }

    @property
    def ids(self) -> Sequence[str]:
        return list(self._by_id)

    def call(self, function_id: str, payload: Json, caller: Caller) -> RegistryAnswer:
        """Call one of `ids`."""
        checked = payloads.payload_of(payload)
        fields = checked if isinstance(checked, RegistryRefusal) else payloads.text_fields(checked, "executor")
        if isinstance(fields, RegistryRefusal):
            return fields
        executor = fields[0].strip()
        if EXECUTOR.fullmatch(executor) is None or caller.tenant is None:
            return RegistryRefusal(
                "invalid_payload", f"{quote_text(executor)} must be the ARN or the name of a Lambda function."
            )
        strict = payloads.flag_in(checked, "strict") if isinstance(checked, Mapping) else False
        if isinstance(strict, RegistryRefusal):
            return strict
        change = self._by_id[function_id](executor, caller.tenant, strict=strict)
        if isinstance(change, PlacementRefusal):
            return RegistryRefusal(change.code, change.message)
        return _answer_of(change)


def _answer_of(change: DirectoryChange) -> JsonObject:
    return {
        "executor": change.executor.arn,
        "version": change.terms.version if change.terms is not None else None,
        "functions": [
            {
                "id": hosted.function,
                "name": skill_name(hosted),
                "permissions": sorted(hosted.permissions),
                "calls": sorted(hosted.callees),
            }
            for hosted in sorted(change.hosted, key=lambda hosted: hosted.function)
        ],
        "loaded": _names_of(change, "load"),
        "reloaded": _names_of(change, "reload"),
        "unloaded": _names_of(change, "unload"),
        **warnings_field(change.warnings),
    }


def _names_of(change: DirectoryChange, op: LoadOperation) -> Sequence[str]:
    return [notice.name for notice in change.notices if notice.op == op]
