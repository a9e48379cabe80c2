"""The form of a manifest as JSON Schema: what editors complete and `signpost check` holds names against.

It says what may be written, and a little of why; what a definition means is decided where it is read.
"""

from collections.abc import Mapping, Sequence

from signpost.model import Json, JsonObject
from signpost.policy.written_rules import DEFAULT, EFFECTS
from signpost.policy.written_rules import KINDS as RULE_KINDS
from signpost.schema.validation import DIALECT
from signpost.workflow.definition import ACTORS, BY_GUARDS, DECISIONS, DEEPEST_CHAIN
from signpost.workflow.discovery import LISTED
from signpost.workflow.guards import KINDS

EXTRA = "x-"
"""What begins so is the author's own, as a place for what aliases of YAML stand for."""
ELSEWHERE = ("skills", "prompts", "triggers", "webhooks")
"""Parts of a manifest that others read."""
ERROR_CLASSES = ("timeout", "rate_limited", "transient_error", "connection_error", "permanent_error")
RANKINGS = ("rule", "fused")

_TEXT: JsonObject = {"type": "string"}
_TEXTS: JsonObject = {"type": "array", "items": _TEXT}
_FLAG: JsonObject = {"type": "boolean"}
_OBJECT: JsonObject = {"type": "object"}
_COUNT: JsonObject = {"type": "integer", "minimum": 1}
_MILLISECONDS: JsonObject = {"type": "integer", "minimum": 0}


def _said(form: JsonObject, description: str) -> JsonObject:
    return {**form, "description": description}


def _one_of(*values: str) -> JsonObject:
    return {"enum": list(values)}


def _ref(name: str) -> JsonObject:
    return {"$ref": f"#/$defs/{name}"}


def _list(name: str) -> JsonObject:
    return {"type": "array", "items": _ref(name)}


def _each(name: str) -> JsonObject:
    return {"type": "object", "additionalProperties": _ref(name)}


def _closed(properties: Mapping[str, Json], required: Sequence[str] = ()) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "patternProperties": {f"^{EXTRA}": True},
        "additionalProperties": False,
        **({"required": list(required)} if required else {}),
    }


_ABOUT: JsonObject = {
    "title": _TEXT,
    "description": _TEXT,
    "tags": _said(_TEXTS, "A search weighs them like aliases."),
    "aliases": _said(_TEXTS, "Other words for it, which a search finds."),
    "examples": _said({"type": "array"}, "What somebody may ask who needs it."),
}
_RUNS: JsonObject = {
    "inputSchema": _said(_OBJECT, "JSON Schema 2020-12 of the arguments."),
    "guards": _list("guard"),
    "executor": _ref("executor"),
    "reliability": _ref("reliability"),
}
_CAPABILITY: JsonObject = {**_ABOUT, **_RUNS}

_GUARD = _closed(
    {
        "kind": _said({"type": "string", "examples": list(KINDS)}, "What it asks for."),
        "permission": _TEXT,
        "role": _TEXT,
        "expr": _said(_TEXT, "One comparison: $.context.attempts < 3"),
        "requires": _said(
            {"type": "array", "items": {"anyOf": [_TEXT, _ref("evidence")]}}, "Kinds of evidence, or how many of them."
        ),
        "distinct": _said(_FLAG, "Whether each has to come from somebody else."),
        "guards": _list("guard"),
        "guard": _ref("guard"),
        "description": _TEXT,
    },
    ["kind"],
)
_EVIDENCE = _closed({"kind": _TEXT, "count": _COUNT, "distinct": _FLAG}, ["kind"])
COMMON: JsonObject = {
    "kind": _TEXT,
    "capability": _TEXT,
    "executor": _OBJECT,
    "idempotent": _said(_FLAG, "Whether doing it twice is as good as doing it once."),
    "idempotencyKey": {"anyOf": [_FLAG, _TEXT]},
    "description": _TEXT,
}
SETTINGS: Mapping[str, JsonObject] = {
    "noop": {},
    "function": {"function": _TEXT, "arguments": _OBJECT},
    "human": {
        "queue": _TEXT,
        "shows": _said(_TEXTS, "Names of the context that are to be approved."),
        "expiresMs": _COUNT,
    },
    "workflow": {
        "definitionId": _TEXT,
        "input": True,
        "timeoutMs": _said(_MILLISECONDS, "Until it has to have ended."),
    },
    "rest": {
        "connection": _TEXT,
        "method": _TEXT,
        "path": _TEXT,
        "query": _OBJECT,
        "headers": _OBJECT,
        "body": True,
        "timeoutMs": _MILLISECONDS,
    },
    "mcp": {"connection": _TEXT, "tool": _TEXT, "map": _OBJECT, "arguments": _OBJECT, "timeoutMs": _MILLISECONDS},
    "cli": {
        "connection": _TEXT,
        "command": _TEXT,
        "args": {"type": "array"},
        "env": _OBJECT,
        "treatNonZeroAsFailure": _FLAG,
        "timeoutMs": _MILLISECONDS,
    },
}
"""What an executor may be told, by its kind. What another kind may be told only that one knows."""
NEEDED: Mapping[str, Sequence[str]] = {
    "function": ("function",),
    "workflow": ("definitionId",),
    "mcp": ("connection", "tool"),
    "rest": ("connection",),
}
_EXECUTOR: JsonObject = {
    "type": "object",
    "properties": {name: form for settings in (COMMON, *SETTINGS.values()) for name, form in settings.items()},
}
_RELIABILITY = _closed(
    {
        "timeoutMs": _said(_MILLISECONDS, "Of each attempt."),
        "retry": _closed(
            {
                "maxAttempts": _COUNT,
                "backoff": _one_of("none", "fixed", "exponential"),
                "initialDelayMs": _MILLISECONDS,
                "maxDelayMs": _MILLISECONDS,
                "retryOn": {"type": "array", "items": _one_of(*ERROR_CLASSES)},
            }
        ),
        "fallback": _closed({"strategy": _one_of("first_success"), "executors": _list("executor")}, ["executors"]),
    }
)
_TRANSITION = _closed(
    {
        "target": _said(_TEXT, "The state that it leads to."),
        **_ABOUT,
        "actor": _said(_one_of(*ACTORS), "Who takes it; what is deterministic follows by itself."),
        "decision": _said(_one_of(*DECISIONS), "What a person says by it to what was asked."),
        **_RUNS,
        "output": _said(_OBJECT, "What is kept in the context: names, and where their values come from."),
        "prefill": _said(_OBJECT, "Arguments that links carry already."),
        "branches": {"type": "array", "items": _ref("branch")},
    },
    ["target"],
)
_STATE = _closed(
    {
        "title": _TEXT,
        "description": _TEXT,
        "goal": _said(_TEXT, "What is to be reached here, for whoever has to decide."),
        "guidance": _said(_TEXT, "How, for whoever has to decide."),
        "terminal": _said(_FLAG, "Whether it ends here. Nothing else ends a workflow."),
        "onEnter": _ref("onEnter"),
        "linkFilter": _ref("linkFilter"),
        "transitions": _each("transition"),
    }
)
_ON_ENTER = _closed(
    {"executor": _ref("executor"), "guards": _list("guard"), "output": _OBJECT, "reliability": _ref("reliability")}
)
_WORKFLOW = _closed(
    {
        **_ABOUT,
        "version": _said({"type": ["string", "number"]}, "For people; definitions are told apart by their digest."),
        "enabled": _said(_FLAG, "A disabled one is not listed and cannot be started."),
        "readers": _said({"type": "array", "items": _ref("guard")}, "Who may see instances, where not everybody may."),
        "inputSchema": _said(_OBJECT, "JSON Schema 2020-12 of what it is started with."),
        "initialState": _TEXT,
        "initialContext": _OBJECT,
        "states": _each("state"),
        "timeoutMs": _COUNT,
        "onTimeout": _closed({"target": _TEXT}, ["target"]),
        "linkFilter": _ref("linkFilter"),
        "maxChainDepth": _said({**_COUNT, "maximum": DEEPEST_CHAIN}, "Of what follows by itself at once."),
    },
    ["initialState", "states"],
)
_CONNECTION = _closed(
    {
        **_ABOUT,
        "kind": _one_of("rest", "mcp", "cli"),
        "baseUrl": _TEXT,
        "url": _TEXT,
        "headers": _OBJECT,
        "command": _TEXT,
        "args": {"type": "array"},
        "env": _OBJECT,
        "workingDirectory": _TEXT,
        "timeoutMs": _MILLISECONDS,
    },
    ["kind"],
)
_POLICY = _closed(
    {
        "kind": _one_of(*RULE_KINDS),
        "description": _TEXT,
        "who": _said(_TEXTS, "`subject:`, `role:` or `permission:` with a pattern behind it, or `*`."),
        "what": _said(_TEXTS, "Patterns of names, as lists show them."),
    },
    ["kind", "what"],
)
_EXPOSURE = _closed({"name": _TEXT, "capability": _TEXT, "as": _TEXT, **_CAPABILITY})
_MANIFEST: Mapping[str, Json] = {
    "version": _said({"type": ["number", "string"]}, "Of the form of this file: 1."),
    "include": _said(_TEXTS, "Other manifests, relative to this one, which it is put on top of."),
    "capabilities": _each("capability"),
    "connections": _each("connection"),
    "proxy": _closed({"expose": {"type": "array", "items": _ref("exposure")}}),
    "workflows": _each("workflow"),
    "discovery": _closed(
        {"include": {"type": "array", "items": _one_of(*LISTED)}, "ranking": _one_of(*RANKINGS)},
    ),
    "audit": _OBJECT,
    "policies": _said(
        {"type": "object", "properties": {DEFAULT: _one_of(*EFFECTS)}, "additionalProperties": _ref("policy")},
        "Who may use what, and what goes where no rule decides.",
    ),
    **dict.fromkeys(ELSEWHERE, True),
}


def schema() -> JsonObject:
    """For editors. An included file may leave out what the whole has."""
    return {
        "$schema": DIALECT,
        "title": "Signpost manifest",
        **_closed({"$schema": _TEXT, **_MANIFEST}),
        "$defs": {
            "capability": _closed({"wraps": _TEXT, **_CAPABILITY}),
            "exposure": _EXPOSURE,
            "connection": _CONNECTION,
            "workflow": _WORKFLOW,
            "state": _STATE,
            "transition": _TRANSITION,
            "branch": _closed({"when": _ref("guard"), "target": _TEXT}, ["when", "target"]),
            "onEnter": _ON_ENTER,
            "guard": _GUARD,
            "evidence": _EVIDENCE,
            "executor": _EXECUTOR,
            "reliability": _RELIABILITY,
            "linkFilter": _one_of("all", BY_GUARDS),
            "policy": _POLICY,
        },
    }
