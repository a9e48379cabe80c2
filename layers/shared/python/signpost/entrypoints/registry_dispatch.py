"""Finds the registry function of an id, decides whether the caller needs to be an administrator, and limits answers."""

import json
from collections.abc import Mapping, Sequence
from typing import Protocol

from signpost.content.api.errors import RegistryAnswer, RegistryRefusal
from signpost.content.api.functions import RegistryFunctions
from signpost.content.callers import Caller
from signpost.model import Json
from signpost.strict_json import is_encodable

LONGEST_ANSWER = 5_900_000
"""Bytes of an answer. Lambda allows 6 MB."""


class AdministrationFunctions(Protocol):
    """Functions of the registry that administrators call: publications and loads."""

    @property
    def ids(self) -> Sequence[str]: ...

    def call(self, function_id: str, payload: Json, caller: Caller) -> RegistryAnswer: ...


class RegistryDispatcher:
    """All functions of the registry under their ids."""

    def __init__(self, functions: RegistryFunctions, administration: Sequence[AdministrationFunctions]) -> None:
        self._functions = functions
        self._administration: Mapping[str, AdministrationFunctions] = {
            function_id: group for group in administration for function_id in group.ids
        }

    @property
    def ids(self) -> Sequence[str]:
        return [*self._functions.ids, *self._administration]

    def needs_administrator(self, function_id: str) -> bool:
        return function_id in self._administration or function_id in self._functions.changing_ids

    def call(self, function_id: str, payload: Json, caller: Caller) -> RegistryAnswer:
        return self._administration.get(function_id, self._functions).call(function_id, payload, caller)


def limit_answer(answer: RegistryAnswer) -> RegistryAnswer:
    """Refuse an answer that is longer than Lambda allows; Lambda's own error would not explain the cause."""
    if isinstance(answer, RegistryRefusal):
        return answer
    encodable = replace_half_surrogates(answer)
    size = len(json.dumps(encodable, ensure_ascii=False).encode())
    if size <= LONGEST_ANSWER:
        return encodable
    return RegistryRefusal(
        "too_much",
        f"The answer has {size} bytes, and an invocation returns at most {LONGEST_ANSWER}. Fetch less at once; the MCP "
        "endpoint lists in pages.",
    )


def replace_half_surrogates(answer: Json) -> Json:
    """Replace each half of a surrogate pair by a replacement character.

    Lambda's runtime encodes the answer without escapes after the handler returned, and a half pair would end the
    sandbox.
    """
    text = json.dumps(answer, ensure_ascii=False)
    if is_encodable(text):
        return answer
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
