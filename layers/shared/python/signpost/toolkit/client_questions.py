"""Asks the client of a call questions, by replay: each round runs the function from its start, and a question returns
the answer that was recorded for its key.

A question without a recorded answer ends the pass by an exception. What was asked stays recorded here, so that code of
the author that catches everything cannot swallow it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from signpost.calling.client_needs import is_declared
from signpost.contract import CallClient, FunctionCall
from signpost.directory.listing import NEEDS
from signpost.model import InputRequired, JsonObject
from signpost.records import dataclass
from signpost.toolkit.answers import AskClient, QuestionRefused

if TYPE_CHECKING:
    from signpost.toolkit.questions import Ask

LONGEST_KEY = 200


@dataclass(frozen=True, slots=True)
class ContextClient:
    """The client behind a call as it describes itself. Nothing may be decided by its name."""

    capabilities: JsonObject
    name: str
    version: str


class ClientQuestions:
    """The questions of one pass of a function."""

    def __init__(self, call: FunctionCall) -> None:
        self._client = call.client
        self._answers = call.answers
        self._state = call.state
        self._asked: dict[str, JsonObject] = {}
        """All questions of this pass, by key."""
        self._open: dict[str, JsonObject] = {}
        """Those of them without an answer."""
        self._is_single_use = False

    @property
    def client(self) -> ContextClient:
        client = self._client or CallClient()
        return ContextClient(client.capabilities, _text_in(client.info, "name"), _text_in(client.info, "version"))

    def can(self, need: str) -> bool:
        """Tell whether the client can be asked this. Raises ValueError for a word that means nothing."""
        if need not in NEEDS:
            raise ValueError(f"{need!r} is not one of {', '.join(NEEDS)}")
        client = self._client
        return client is not None and client.can_answer and is_declared(need, client.capabilities)

    def ask(self, asks: "Mapping[str, Ask]", *, single_use: bool = False) -> Mapping[str, Any]:
        """Return the answers by key. Raises AskClient if one is missing, and QuestionRefused."""
        from signpost.toolkit.questions import read_answer  # noqa: PLC0415 - few functions ask

        for key, ask in asks.items():
            self._record(key, ask.request)
        answers = {key: read_answer(ask, self._answers[key]) for key, ask in asks.items() if key in self._answers}
        missing = {key: ask.request for key, ask in asks.items() if answers.get(key) is None}
        if missing:
            self._open |= missing
            self._is_single_use = self._is_single_use or single_use
            raise AskClient(f"The client is asked {', '.join(map(repr, missing))} first.")
        return {key: read[0] for key, read in answers.items() if read is not None}

    def input_required(self) -> InputRequired | None:
        """Return what the client is asked before the function can go on; None if all its questions had an answer."""
        return InputRequired(self._open, self._state, single_use=self._is_single_use) if self._open else None

    def _record(self, key: object, request: JsonObject) -> None:
        if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY:
            raise QuestionRefused(f"the key {key!r} of a question is not a text of 1 to {LONGEST_KEY} characters")
        if self._asked.setdefault(key, request) != request:
            raise QuestionRefused(f"two different questions have the key {key!r}, so their answers would be one")


def _text_in(info: JsonObject, name: str) -> str:
    value = info.get(name)
    return value if isinstance(value, str) else ""
