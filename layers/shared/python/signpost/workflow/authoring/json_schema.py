"""The JSON Schema of a manifest: editors complete names from it, and `signpost check` compares names with it.

It lists the names and values that may be written, with short reasons. The meaning of a definition is decided by the
modules that read it.
"""

from collections.abc import Mapping, Sequence

from signpost.model import Json, JsonObject
from signpost.policy.rules_format import DEFAULT_NAME, EFFECTS
from signpost.policy.rules_format import KINDS as RULE_KINDS
from signpost.schema.validation import DIALECT
from signpost.workflow.authoring.discovery import INCLUDE_KINDS
from signpost.workflow.definition import ACTORS, BY_GUARDS, DECISIONS, DEEPEST_CHAIN
from signpost.workflow.guards import KINDS

EXTENSION_PREFIX = "x-"
"""Names with this prefix are the author's own, for example to hold the values that YAML aliases refer to."""
OTHER_PARTS = ("skills", "prompts", "triggers", "webhooks")
"""Parts of a manifest that other modules read."""
ERROR_CLASSES = ("timeout", "rate_limited", "transient_error", "connection_error", "permanent_error")
RANKINGS = ("rule", "fused")

_TEXT: JsonObject = {"type": "string"}
_TEXTS: JsonObject = {"type": "array", "items": _TEXT}
_FLAG: JsonObject = {"type": "boolean"}
_OBJECT: JsonObject = {"type": "object"}
_COUNT: JsonObject = {"type": "integer", "minimum": 1}
_MILLISECONDS: JsonObject = {"type": "integer", "minimum": 0}


def _describe(schema: JsonObject, description: str) -> JsonObject:
    return {**schema, "description": description}


def _one_of(*values: str) -> JsonObject:
    return {"enum": list(values)}


def _ref(name: str) -> JsonObject:
    return {"$ref": f"#/$defs/{name}"}


def _list_of(name: str) -> JsonObject:
    return {"type": "array", "items": _ref(name)}


def _map_of(name: str) -> JsonObject:
    return {"type": "object", "additionalProperties": _ref(name)}


def _closed_object(properties: Mapping[str, Json], required: Sequence[str] = ()) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "patternProperties": {f"^{EXTENSION_PREFIX}": True},
        "additionalProperties": False,
        **({"required": list(required)} if required else {}),
    }


_DESCRIPTIVE_MEMBERS: JsonObject = {
    "title": _TEXT,
    "description": _TEXT,
    "tags": _describe(_TEXTS, "A search weighs them like aliases."),
    "aliases": _describe(_TEXTS, "Other words for it, which a search finds."),
    "examples": _describe({"type": "array"}, "What somebody may ask who needs it."),
}
_EXECUTION_MEMBERS: JsonObject = {
    "inputSchema": _describe(_OBJECT, "JSON Schema 2020-12 of the arguments."),
    "guards": _list_of("guard"),
    "executor": _ref("executor"),
    "reliability": _ref("reliability"),
}
_CAPABILITY: JsonObject = {**_DESCRIPTIVE_MEMBERS, **_EXECUTION_MEMBERS}

_GUARD = _closed_object(
    {
        "kind": _describe({"type": "string", "examples": list(KINDS)}, "What it asks for."),
        "permission": _TEXT,
        "role": _TEXT,
        "expr": _describe(_TEXT, "One comparison: $.context.attempts < 3"),
        "requires": _describe(
            {"type": "array", "items": {"anyOf": [_TEXT, _ref("evidence")]}}, "Kinds of evidence, or how many of them."
        ),
        "distinct": _describe(_FLAG, "Whether each has to come from somebody else."),
        "guards": _list_of("guard"),
        "guard": _ref("guard"),
        "description": _TEXT,
    },
    ["kind"],
)
_EVIDENCE = _closed_object({"kind": _TEXT, "count": _COUNT, "distinct": _FLAG}, ["kind"])
COMMON_SETTINGS: JsonObject = {
    "kind": _TEXT,
    "capability": _TEXT,
    "executor": _OBJECT,
    "idempotent": _describe(_FLAG, "Whether doing it twice is as good as doing it once."),
    "idempotencyKey": {"anyOf": [_FLAG, _TEXT]},
    "description": _TEXT,
}
EXECUTOR_SETTINGS: Mapping[str, JsonObject] = {
    "noop": {},
    "function": {"function": _TEXT, "arguments": _OBJECT},
    "human": {
        "queue": _TEXT,
        "shows": _describe(_TEXTS, "Names of the context that are to be approved."),
        "expiresMs": _COUNT,
    },
    "workflow": {
        "definitionId": _TEXT,
        "input": True,
        "timeoutMs": _describe(_MILLISECONDS, "Until it has to have ended."),
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
"""The settings of an executor, by its kind. Only the executor of any other kind knows its settings."""
REQUIRED_SETTINGS: Mapping[str, Sequence[str]] = {
    "function": ("function",),
    "workflow": ("definitionId",),
    "mcp": ("connection", "tool"),
    "rest": ("connection",),
}
_EXECUTOR: JsonObject = {
    "type": "object",
    "properties": {
        name: schema for settings in (COMMON_SETTINGS, *EXECUTOR_SETTINGS.values()) for name, schema in settings.items()
    },
}
_RELIABILITY = _closed_object(
    {
        "timeoutMs": _describe(_MILLISECONDS, "Of each attempt."),
        "retry": _closed_object(
            {
                "maxAttempts": _COUNT,
                "backoff": _one_of("none", "fixed", "exponential"),
                "initialDelayMs": _MILLISECONDS,
                "maxDelayMs": _MILLISECONDS,
                "retryOn": {"type": "array", "items": _one_of(*ERROR_CLASSES)},
            }
        ),
        "fallback": _closed_object(
            {"strategy": _one_of("first_success"), "executors": _list_of("executor")}, ["executors"]
        ),
    }
)
_TRANSITION = _closed_object(
    {
        "target": _describe(_TEXT, "The state that it leads to."),
        **_DESCRIPTIVE_MEMBERS,
        "actor": _describe(_one_of(*ACTORS), "Who takes it; what is deterministic follows by itself."),
        "decision": _describe(_one_of(*DECISIONS), "What a person says by it to what was asked."),
        **_EXECUTION_MEMBERS,
        "output": _describe(_OBJECT, "What is kept in the context: names, and where their values come from."),
        "prefill": _describe(_OBJECT, "Arguments that links carry already."),
        "branches": {"type": "array", "items": _ref("branch")},
    },
    ["target"],
)
_STATE = _closed_object(
    {
        "title": _TEXT,
        "description": _TEXT,
        "goal": _describe(_TEXT, "What is to be reached here, for whoever has to decide."),
        "guidance": _describe(_TEXT, "How, for whoever has to decide."),
        "terminal": _describe(_FLAG, "Whether it ends here. Nothing else ends a workflow."),
        "onEnter": _ref("onEnter"),
        "linkFilter": _ref("linkFilter"),
        "transitions": _map_of("transition"),
    }
)
_ON_ENTER = _closed_object(
    {"executor": _ref("executor"), "guards": _list_of("guard"), "output": _OBJECT, "reliability": _ref("reliability")}
)
_WORKFLOW = _closed_object(
    {
        **_DESCRIPTIVE_MEMBERS,
        "version": _describe({"type": ["string", "number"]}, "For people; definitions are told apart by their digest."),
        "enabled": _describe(_FLAG, "A disabled one is not listed and cannot be started."),
        "readers": _describe(
            {"type": "array", "items": _ref("guard")}, "Who may see instances, where not everybody may."
        ),
        "inputSchema": _describe(_OBJECT, "JSON Schema 2020-12 of what it is started with."),
        "initialState": _TEXT,
        "initialContext": _OBJECT,
        "states": _map_of("state"),
        "timeoutMs": _COUNT,
        "onTimeout": _closed_object({"target": _TEXT}, ["target"]),
        "linkFilter": _ref("linkFilter"),
        "maxChainDepth": _describe({**_COUNT, "maximum": DEEPEST_CHAIN}, "Of what follows by itself at once."),
    },
    ["initialState", "states"],
)
_CONNECTION = _closed_object(
    {
        **_DESCRIPTIVE_MEMBERS,
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
_POLICY = _closed_object(
    {
        "kind": _one_of(*RULE_KINDS),
        "description": _TEXT,
        "who": _describe(_TEXTS, "`subject:`, `role:` or `permission:` with a pattern behind it, or `*`."),
        "what": _describe(_TEXTS, "Patterns of names, as lists show them."),
    },
    ["kind", "what"],
)
_EXPOSURE = _closed_object({"name": _TEXT, "capability": _TEXT, "as": _TEXT, **_CAPABILITY})
_MANIFEST: Mapping[str, Json] = {
    "version": _describe({"type": ["number", "string"]}, "Of the form of this file: 1."),
    "include": _describe(_TEXTS, "Other manifests, relative to this one, which it is put on top of."),
    "capabilities": _map_of("capability"),
    "connections": _map_of("connection"),
    "proxy": _closed_object({"expose": {"type": "array", "items": _ref("exposure")}}),
    "workflows": _map_of("workflow"),
    "discovery": _closed_object(
        {"include": {"type": "array", "items": _one_of(*INCLUDE_KINDS)}, "ranking": _one_of(*RANKINGS)},
    ),
    "audit": _OBJECT,
    "policies": _describe(
        {"type": "object", "properties": {DEFAULT_NAME: _one_of(*EFFECTS)}, "additionalProperties": _ref("policy")},
        "Who may use what, and what goes where no rule decides.",
    ),
    **dict.fromkeys(OTHER_PARTS, True),
}


def manifest_schema() -> JsonObject:
    """Return the schema of a manifest file. No part is required, because an included file may leave out any of them."""
    return {
        "$schema": DIALECT,
        "title": "Signpost manifest",
        **_closed_object({"$schema": _TEXT, **_MANIFEST}),
        "$defs": {
            "capability": _closed_object({"wraps": _TEXT, **_CAPABILITY}),
            "exposure": _EXPOSURE,
            "connection": _CONNECTION,
            "workflow": _WORKFLOW,
            "state": _STATE,
            "transition": _TRANSITION,
            "branch": _closed_object({"when": _ref("guard"), "target": _TEXT}, ["when", "target"]),
            "onEnter": _ON_ENTER,
            "guard": _GUARD,
            "evidence": _EVIDENCE,
            "executor": _EXECUTOR,
            "reliability": _RELIABILITY,
            "linkFilter": _one_of("all", BY_GUARDS),
            "policy": _POLICY,
        },
    }
