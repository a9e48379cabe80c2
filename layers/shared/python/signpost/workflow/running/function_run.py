"""Builds the definitions of runs that call one function: long calls, and callable skills that were started as
capabilities. Both are instances of `proxy_default` with one transition.

No author publishes such a definition. It follows from a text about the call that stands in the place of the digest of
the definition, and so it never changes either.
"""

import re
from dataclasses import replace

from signpost.model import PROXY_WORKFLOW, JsonObject, Principal
from signpost.records import dataclass
from signpost.workflow.definition import Definition
from signpost.workflow.definition_reader import parse_published_definition
from signpost.workflow.engine.capability_focus import ARGUMENTS, CAPABILITY
from signpost.workflow.engine.permissions import is_starter, may_resolve
from signpost.workflow.instance import Instance
from signpost.workflow.ports import PublishedDefinition
from signpost.workflow.proxy_default import READY, RESULT, document_of
from signpost.workflow.run_summary import RunSummary

_DIGEST = re.compile(r"call:(once|again):(\S+)(?: as (.+))?")
ONCE, AGAIN = "once", "again"


@dataclass(frozen=True, slots=True)
class FunctionRun:
    """The call that a run makes."""

    function: str
    idempotent: bool
    """The consent of the function's author to another execution if the result of one is not received."""
    capability: str | None = None
    """The wire name under which the function was started as a capability; None for a long call."""

    @property
    def digest(self) -> str:
        """The text that stands in the place of the digest of the definition."""
        name = "" if self.capability is None else f" as {self.capability}"
        return f"call:{AGAIN if self.idempotent else ONCE}:{self.function}{name}"

    @property
    def transition(self) -> str:
        """The name of the only transition."""
        return self.function if self.capability is None else self.capability


@dataclass(frozen=True, slots=True)
class TransitionTexts:
    """The title, the description and the schema that links and explanations show of the call. They may change while
    the run goes on, because the executor checks the arguments again."""

    title: str
    description: str
    input_schema: JsonObject


def build_function_run(run: FunctionRun, texts: TransitionTexts | None = None) -> PublishedDefinition:
    definition = _build_definition(run)
    return PublishedDefinition(definition if texts is None else show_texts(definition, texts), run.digest)


def input_of(function: str, arguments: JsonObject) -> JsonObject:
    """Return the input of the run of a long call."""
    return {CAPABILITY: function, ARGUMENTS: arguments}


def parse_digest(digest: str) -> FunctionRun | None:
    """Read the call from the text in the place of the digest; None for the digest of a published definition."""
    call = _DIGEST.fullmatch(digest)
    return None if call is None else FunctionRun(call[2], call[1] == AGAIN, call[3])


def is_hidden_run(run: Instance | RunSummary, principal: Principal) -> bool:
    """Return whether the run calls one function for another principal. Such a run is between its starter and the
    function, and its id can be guessed: others see it only with the permission to resolve it."""
    return parse_digest(run.digest) is not None and not (is_starter(run, principal) or may_resolve(principal))


def definition_of(digest: str) -> Definition | None:
    """Return the definition of a run that calls one function; None for the digest of a published definition."""
    run = parse_digest(digest)
    return None if run is None else _build_definition(run)


def show_texts(definition: Definition, texts: TransitionTexts) -> Definition:
    """Return the definition of the run with these texts on its transition."""
    ready = definition.states[READY]
    shown = {
        name: replace(transition, title=texts.title, description=texts.description, input_schema=texts.input_schema)
        for name, transition in ready.transitions.items()
    }
    return replace(definition, states={**definition.states, READY: replace(ready, transitions=shown)})


def _build_definition(run: FunctionRun) -> Definition:
    executor: JsonObject = {
        "kind": "function", "function": run.function, "idempotent": run.idempotent, "idempotencyKey": True,
    }  # fmt: skip
    transition: JsonObject = {
        "target": READY,
        "inputSchema": {"type": "object"},
        "executor": executor,
        "output": {RESULT: "$"},
    }
    return parse_published_definition(PROXY_WORKFLOW, document_of({run.transition: transition}))
