"""Generates random definitions with everything that affects the possible next steps."""

from collections.abc import Sequence
from random import Random
from typing import Any

STATES = ("a", "b", "c", "d", "e")
END = "end"
PERMISSION, ROLE = "write", "admin"
INPUT_SCHEMA: Any = {
    "type": "object",
    "required": ["k"],
    "properties": {"k": {"type": "integer", "minimum": 0, "maximum": 3}, "who": {"type": "string", "default": "x"}},
}
_PROPERTIES: Any = {
    "n": {"type": "integer", "minimum": -2, "maximum": 9},
    "half": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5, "maximum": 10},
    "note": {"type": "string", "minLength": 1, "maxLength": 12},
    "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{1,3}(a|b)?$"},
    "mode": {"enum": ["fast", "slow", None]},
    "sure": {"type": "boolean", "default": True},
    "list": {"type": "array", "items": {"type": ["string", "null"]}, "minItems": 1, "maxItems": 3},
    "deep": {
        "type": "object",
        "required": ["x"],
        "properties": {"x": {"$ref": "#/$defs/small"}, "y": {"const": [1, {"z": 2}], "default": [1, {"z": 2}]}},
        "additionalProperties": False,
    },
    "either": {"oneOf": [{"type": "integer", "minimum": 5}, {"type": "string", "maxLength": 3}]},
    "any": {},
}
_SMALL: Any = {"$defs": {"small": {"type": "integer", "minimum": 1, "maximum": 4}}}
_PREFILLS: Any = {
    "n": ["$.context.n", "$.workflow.input.k", 3, {"add": ["$.context.n", 1]}],
    "note": ["$.context.note", "literal", {"concat": ["n is ", "$.context.n"]}, "$.context.nowhere"],
    "mode": ["fast", "$.context.nowhere"],
    "deep": [{"x": 2}],
    "sure": ["$.context.flag"],
    "either": ["$.context.n", "$.context.note"],
}


def generate_definition(random: Random, *, requests_expire: bool = False, states_expire: bool = False) -> Any:
    return _Author(random, requests_expire=requests_expire, states_expire=states_expire).definition()


class _Author:
    def __init__(self, random: Random, *, requests_expire: bool, states_expire: bool) -> None:
        self._random = random
        self._requests_expire = requests_expire
        self._states_expire = states_expire

    def definition(self) -> Any:
        document: dict[str, Any] = {
            "initialState": "a",
            "initialContext": {"n": self._random.randint(0, 3), "flag": False, "note": "first"},
            "inputSchema": INPUT_SCHEMA,
            "linkFilter": "byGuards",
            "maxChainDepth": 4,
            "states": {**{name: self._state() for name in STATES}, END: {"terminal": True}},
        }
        if self._happens(0.3):
            document |= {"timeoutMs": 100_000_000, "onTimeout": {"target": self._random.choice([*STATES, END])}}
        return document

    def _happens(self, chance: float) -> bool:
        return self._random.random() < chance

    def _some(self, most: int, make: Any, least: int = 0) -> Sequence[Any]:
        return [make() for _ in range(self._random.randint(least, most))]

    def _state(self) -> Any:
        if self._happens(0.15):
            return {"transitions": {name: self._transition("deterministic") for name in "xy"[: 1 + self._happens(0.5)]}}
        state: dict[str, Any] = {
            "transitions": {name: self._transition() for name in "xyzvw"[: self._random.randint(1, 5)]}
        }
        if self._happens(0.2):
            state["linkFilter"] = self._random.choice(["all", "byGuards"])
        if self._happens(0.15):
            state["onEnter"] = {"executor": {"kind": self._random.choice(["noop", "scan", "broken", "ask"])}}
        if self._states_expire and self._happens(0.5):
            state |= {"timeoutMs": 30_000_000, "onTimeout": {"target": self._random.choice([*STATES, END])}}
        return state

    def _transition(self, actor: str | None = None) -> Any:
        actors = ["agent"] * 6 + ["human"] * 3 + ["system", "deterministic"]
        transition: dict[str, Any] = {
            "target": self._random.choice([*STATES, *STATES, END]),
            "actor": actor or self._random.choice(actors),
            "guards": self._some(2, self._guard, least=1) if self._happens(0.5) else [],
            "output": self._output(),
        }
        if transition["actor"] != "deterministic" and self._happens(0.6):
            transition["inputSchema"] = self._schema()
        if self._happens(0.5):
            properties = transition.get("inputSchema", {}).get("properties", {})
            transition["prefill"] = {
                name: self._random.choice(values) for name, values in _PREFILLS.items() if name in properties
            }
        if transition["actor"] == "human" and self._happens(0.7):
            transition["decision"] = self._random.choice(["approve", "approve", "reject"])
        if self._happens(0.4):
            transition["executor"] = self._executor()
        if self._happens(0.3):
            transition["branches"] = self._some(
                2, lambda: {"when": self._guard(), "target": self._random.choice([*STATES, END])}
            )
        return transition

    def _executor(self) -> Any:
        asking: dict[str, Any] = {"kind": "human", "queue": "q", "shows": ["n"]}
        if self._requests_expire:
            asking["expiresMs"] = 60_000
        return self._random.choice(
            [asking, asking, {"kind": "noop"}, {"kind": "scan"}, {"kind": "broken"}, {"kind": "ask"}]
        )

    def _output(self) -> Any:
        return self._random.choice(
            [
                {},
                {},
                {"n": {"add": ["$.context.n", 1]}},
                {"n": 0, "flag": True},
                {"note": "$.arguments.note"},
                {"n": "$.arguments.n"},
            ]
        )

    def _schema(self) -> Any:
        names = self._random.sample(list(_PROPERTIES), self._random.randint(0, 4))
        schema: dict[str, Any] = {
            "type": "object",
            **_SMALL,
            "properties": {name: _PROPERTIES[name] for name in names},
            "required": [name for name in names if self._happens(0.6)],
        }
        if self._happens(0.6):
            schema["additionalProperties"] = False
        if self._happens(0.03):
            schema["not"] = {}  # nothing satisfies it
        return schema

    def _guard(self, depth: int = 0) -> Any:
        if depth < 3 and self._happens(0.25):
            kind = self._random.choice(["all_of", "anyOf", "not"])
            if kind == "not":
                return {"kind": "not", "guard": self._guard(depth + 1)}
            return {"kind": kind, "guards": self._some(3, lambda: self._guard(depth + 1))}
        return self._random.choice(
            [
                {"kind": "permission", "permission": PERMISSION},
                {"kind": "role", "role": ROLE},
                {"kind": "expr", "expr": f"$.context.n {self._random.choice(['<', '>=', '==', '!='])} 2"},
                {"kind": "expr", "expr": "$.context.flag == true"},
                {"kind": "expr", "expr": "$.workflow.input.k > 0"},
                {"kind": "expr", "expr": 'starts_with "a"'},
                {"kind": "expr", "expr": "$.arguments.n >= 1"},
                {"kind": "expr", "expr": '$.arguments.note != "literal"'},
                {"kind": "evidence", "requires": ["scan"]},
                {"kind": "evidence", "requires": [{"kind": "scan", "count": 2, "distinct": True}]},
                {"kind": "evidence", "requires": [{"kind": "human_approval", "count": self._random.randint(1, 2)}]},
                {"kind": "evidence", "requires": ["human_approval"], "distinct": True},
                {"kind": "evidence", "requires": ["human_approval"]},
                {"kind": "evidence", "requires": ["human_request"]},
                {"kind": "astrology"},
            ]
        )
