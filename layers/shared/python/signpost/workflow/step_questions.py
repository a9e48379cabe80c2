"""The questions that the function of a step asks before it goes on, as the instance keeps them while it waits."""

from collections.abc import Mapping
from dataclasses import field

from signpost.model import Json, JsonObject
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class StepQuestions:
    """The questions of a parked step, and the answers of all rounds so far."""

    id: str
    """Names this round, so that an answer to another one is recognised."""
    requests: Mapping[str, JsonObject]
    """The requests to a client that are open, by their keys; empty once all are answered."""
    answers: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The accepted answers by key, those of earlier rounds included."""
    state: Json = None
    """The function's own state of the last round."""
    round: int = 1
    thread: str = ""
    """The thread of the request whose earlier rounds were asked before the run began; empty for that of the step."""

    @property
    def is_answered(self) -> bool:
        return not self.requests
