"""The JSON Schema of a manifest: editors complete names from it, and `signpost check` compares names with it.

It lists the names and values that may be written, with short reasons. The meaning of a definition is decided by the
modules that read it.
"""

from collections.abc import Mapping, Sequence

from signpost.content.changes import ENTRY_LISTS
from signpost.model import Json, JsonObject
from signpost.policy.rules_format import DEFAULT_NAME, EFFECTS
from signpost.policy.rules_format import KINDS as RULE_KINDS
from signpost.schema.validation import DIALECT
from signpost.workflow.authoring.discovery import INCLUDE_KINDS
from signpost.workflow.definition import ACTORS, BY_GUARDS, DECISIONS, DEEPEST_CHAIN, NESTED_VALUES
from signpost.workflow.engine.steps import CHILD_WORKFLOW_KIND, FUNCTION_KIND, HUMAN_KIND, NOOP_KIND
from signpost.workflow.guards import KINDS

EXTENSION_PREFIX = "x-"
"""Names with this prefix are the author's own, for example to hold the values that YAML aliases refer to."""
ERROR_CLASSES = ("timeout", "rate_limited", "transient_error", "connection_error", "permanent_error")
RANKINGS = ("rule", "fused")

_TEXT: JsonObject = {"type": "string"}
_TEXTS: JsonObject = {"type": "array", "items": _TEXT}
_TEXT_OR_NUMBER: JsonObject = {"anyOf": [{"type": "string"}, {"type": "number"}]}
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
    "tags": _describe(_TEXTS, "Words for the search, with the same weight as aliases."),
    "aliases": _describe(_TEXTS, "Other names under which a search finds it."),
    "examples": _describe({"type": "array"}, "Example requests that it serves."),
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
        "kind": _describe({"type": "string", "examples": list(KINDS)}, "The kind of the condition."),
        "permission": _TEXT,
        "role": _TEXT,
        "expr": _describe(_TEXT, "One comparison, such as $.context.attempts < 3."),
        "requires": _describe(
            {"type": "array", "items": {"anyOf": [_TEXT, _ref("evidence")]}},
            "The kinds of evidence that are required, each with an optional count.",
        ),
        "distinct": _describe(
            _FLAG, "Whether each piece has to come from a different principal, an approval also not from its requester."
        ),
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
    "idempotent": _describe(_FLAG, "Whether running it twice has the same effect as running it once."),
    "idempotencyKey": {"anyOf": [_FLAG, _TEXT]},
    "description": _TEXT,
}
EXECUTOR_SETTINGS: Mapping[str, JsonObject] = {
    NOOP_KIND: {},
    HUMAN_KIND: {
        "queue": _TEXT,
        "shows": _describe(_TEXTS, "Names of the context values that the approver sees and approves."),
        "expiresMs": _COUNT,
    },
    FUNCTION_KIND: {"function": _TEXT, "arguments": _OBJECT},
    CHILD_WORKFLOW_KIND: {
        "definitionId": _TEXT,
        "input": _OBJECT,
        "timeoutMs": _describe(_MILLISECONDS, "The time limit of the child workflow, in milliseconds."),
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
    FUNCTION_KIND: ("function",),
    CHILD_WORKFLOW_KIND: ("definitionId",),
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
        "timeoutMs": _describe(_MILLISECONDS, "The time limit of each attempt, in milliseconds."),
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
_VALUES = _describe(
    _one_of(NESTED_VALUES), "Written when it is published: its values are resolved inside of lists and objects too."
)
_TRANSITION = _closed_object(
    {
        "target": _describe(_TEXT, "The state that the transition leads to."),
        **_DESCRIPTIVE_MEMBERS,
        "actor": _describe(
            _one_of(*ACTORS), "The actor that takes the transition. The engine takes deterministic ones automatically."
        ),
        "decision": _describe(_one_of(*DECISIONS), "The answer to an approval request that a person gives by it."),
        **_EXECUTION_MEMBERS,
        "output": _describe(_OBJECT, "The values that it writes into the context: names, and paths or values."),
        "prefill": _describe(_OBJECT, "Arguments that are filled in when a link is built."),
        "branches": {"type": "array", "items": _ref("branch")},
        "values": _VALUES,
    },
    ["target"],
)
_STATE = _closed_object(
    {
        "title": _TEXT,
        "description": _TEXT,
        "goal": _describe(_TEXT, "The goal of this state, for the actor that takes the next transition."),
        "guidance": _describe(_TEXT, "How to reach the goal, for the actor that takes the next transition."),
        "terminal": _describe(_FLAG, "Whether a workflow ends in this state."),
        "onEnter": _ref("onEnter"),
        "linkFilter": _ref("linkFilter"),
        "timeoutMs": _describe(_COUNT, "The longest stay in this state, in milliseconds; then `onTimeout` follows."),
        "onTimeout": _closed_object({"target": _TEXT}, ["target"]),
        "transitions": _map_of("transition"),
    }
)
_ON_ENTER = _closed_object(
    {
        "executor": _ref("executor"),
        "guards": _list_of("guard"),
        "output": _OBJECT,
        "reliability": _ref("reliability"),
        "values": _VALUES,
    }
)
_WORKFLOW = _closed_object(
    {
        **_DESCRIPTIVE_MEMBERS,
        "version": _describe(_TEXT_OR_NUMBER, "For readers. Definitions are identified by their digest."),
        "enabled": _describe(_FLAG, "If false, the workflow is not listed and cannot be started."),
        "readers": _describe(
            {"type": "array", "items": _ref("guard")}, "Guards that a caller must pass to see instances."
        ),
        "inputSchema": _describe(_OBJECT, "JSON Schema 2020-12 of the input of a start."),
        "initialState": _TEXT,
        "initialContext": _OBJECT,
        "states": _map_of("state"),
        "timeoutMs": _COUNT,
        "onTimeout": _closed_object({"target": _TEXT}, ["target"]),
        "linkFilter": _ref("linkFilter"),
        "maxChainDepth": _describe({**_COUNT, "maximum": DEEPEST_CHAIN}, "The most automatic transitions in a row."),
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
        "who": _describe(
            _TEXTS, "`identity:`, `subject:`, `role:` or `permission:`, each followed by a pattern, or `*`."
        ),
        "what": _describe(_TEXTS, "Patterns of names, in the form in which lists show them."),
    },
    ["kind", "what"],
)
_SCHEDULE = _closed_object(
    {
        "workflow": _describe(_TEXT, "The id of the workflow to start."),
        "cron": _describe(_TEXT, "Five fields: minute, hour, day of month, month, day of week."),
        "rate": _describe(_TEXT, "A number and a unit, such as 15 minutes, counted from the publication."),
        "timezone": _describe(_TEXT, "The IANA name of the time zone of `cron`; UTC by default."),
        "input": _describe(_OBJECT, "The input of each start."),
        "enabled": _describe(_FLAG, "If false, it starts nothing."),
        "description": _TEXT,
        "roles": _describe(_TEXTS, "Roles of its principal; its publisher must have them."),
        "permissions": _describe(_TEXTS, "Permissions of its principal; its publisher must have them."),
    },
    ["workflow"],
)
_EXPOSURE = _closed_object({"name": _TEXT, "capability": _TEXT, "as": _TEXT, **_CAPABILITY})
_MANIFEST: Mapping[str, Json] = {
    "version": _describe({"enum": [1, "1", "1.0"]}, "The version of the manifest format: 1."),
    "include": _describe(_TEXTS, "Paths of other manifests, relative to this file. This file overrides them."),
    "capabilities": _map_of("capability"),
    "connections": _map_of("connection"),
    "proxy": _closed_object({"expose": {"type": "array", "items": _ref("exposure")}}),
    "workflows": _map_of("workflow"),
    "discovery": _closed_object(
        {"include": {"type": "array", "items": _one_of(*INCLUDE_KINDS)}, "ranking": _one_of(*RANKINGS)},
    ),
    "audit": _describe(_closed_object({}), "Reserved. There are no settings of the audit."),
    "policies": _describe(
        {"type": "object", "properties": {DEFAULT_NAME: _one_of(*EFFECTS)}, "additionalProperties": _ref("policy")},
        "Rules for which callers may use which items, and the default where no rule matches.",
    ),
    "schedules": _describe(_map_of("schedule"), "Workflows that start by themselves, by an id."),
    **dict.fromkeys(ENTRY_LISTS, True),
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
            "schedule": _SCHEDULE,
        },
    }
