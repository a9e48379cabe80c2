"""What a manifest resolves to: capabilities in their places, exposures compiled, the catalogue listed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from signpost.adapters.alarm import alarm
from signpost.cli.publish.manifest_files import read_manifest
from signpost.model import Json, JsonObject, Principal
from signpost.schema.validation import Validators
from signpost.workflow.authoring.compile import CatalogueEntry, CompiledManifest, compile_manifest
from signpost.workflow.authoring.discovery import visible_kinds
from signpost.workflow.authoring.problems import Problem
from signpost.workflow.authoring.source_tree import build_source_node
from signpost.workflow.engine.argument_schemas import NO_ARGUMENTS
from signpost.workflow.engine.engine import Engine, NewInstance
from signpost.workflow.guards import Permission

ENGINE = Engine(Validators(alarm))

AGENT = Principal("agent-1", "acme", "test")
NEW_INSTANCE = NewInstance("wf_1", "digest", {})
MAY_PAY: JsonObject = {"kind": "permission", "permission": "pay"}
IS_LARGE: JsonObject = {"kind": "expr", "expr": "$.context.amount > 100"}
BANK: JsonObject = {"kind": "function", "function": "bank::pay"}
POST: JsonObject = {"kind": "function", "function": "post::pay"}
ASKS_FOR_AMOUNT: JsonObject = {"type": "object", "properties": {"amount": {"type": "number"}}}
NOOP: JsonObject = {"kind": "noop"}


def compile_valid(**fields: Any) -> CompiledManifest:
    found = compile_manifest(build_source_node({"version": 1, **fields}))
    assert isinstance(found, CompiledManifest), found
    return found


def compile_errors(**fields: Any) -> list[str]:
    found = compile_manifest(build_source_node({"version": 1, **fields}))
    assert not isinstance(found, CompiledManifest)
    return [problem.message for problem in found]


def workflow(**transition: Any) -> JsonObject:
    return {
        "initialState": "open",
        "states": {"open": {"transitions": {"go": {"target": "done", **transition}}}, "done": {"terminal": True}},
    }


def transition_with(capabilities: JsonObject, **transition: Any) -> Mapping[str, Any]:
    configuration = compile_valid(capabilities=capabilities, workflows={"demo": workflow(**transition)})
    states: Any = configuration.workflows["demo"]["states"]
    return states["open"]["transitions"]["go"]


PAY: JsonObject = {"executor": BANK, "guards": [MAY_PAY], "inputSchema": ASKS_FOR_AMOUNT}

CHAIN: JsonObject = {
    "pay": {
        "title": "Pay",
        "description": "Pays.",
        "tags": ["money"],
        "examples": ["pay the rent"],
        "guards": [MAY_PAY],
        "executor": BANK,
        "reliability": {"timeoutMs": 1},
        "inputSchema": ASKS_FOR_AMOUNT,
    },
    "pay_much": {"wraps": "pay", "title": "Pay much", "tags": ["money", "much"], "guards": [IS_LARGE]},
    "pay_once": {
        "wraps": "pay_much",
        "reliability": {"timeoutMs": 2},
        "guards": [{"kind": "role", "role": "boss"}],
    },
}

DEPLOY: JsonObject = {
    "title": "Deploy Pipeline",
    "description": "Deploys.",
    "tags": ["deploy"],
    "aliases": ["release"],
    "examples": ["ship it"],
    "inputSchema": {"type": "object"},
    "initialState": "lint",
    "states": {
        "lint": {"goal": "No lint", "transitions": {"run": {"target": "done", "title": "Run linter"}}},
        "done": {"terminal": True, "guidance": "Rest."},
    },
}

FIELDS: JsonObject = {
    "workflows": {"deploy": DEPLOY, "bare": {**workflow(), "enabled": False}},
    "connections": {"github": {"kind": "mcp", "url": "http://127.0.0.1:9"}},
    "capabilities": {"issues": {"title": "List issues", "aliases": ["bugs"], "inputSchema": ASKS_FOR_AMOUNT}},
    "proxy": {"expose": [{"capability": "issues", "as": "github.issues", "aliases": ["tickets"]}, {"name": "ping"}]},
}


class TestCapability:
    def test_a_capability_is_inlined_where_it_is_named(self) -> None:
        found = transition_with({"pay": PAY}, executor={"capability": "pay"})
        assert found == {"target": "done", "inputSchema": ASKS_FOR_AMOUNT, "executor": BANK, "guards": [MAY_PAY]}

    def test_guards_of_a_capability_come_before_those_of_the_place(self) -> None:
        found = transition_with({"pay": PAY}, executor={"capability": "pay"}, guards=[IS_LARGE])
        assert found["guards"] == [MAY_PAY, IS_LARGE]

    def test_schema_and_reliability_of_the_place_override_those_of_a_capability(self) -> None:
        pay = {**PAY, "reliability": {"timeoutMs": 1000, "retry": {"maxAttempts": 3}}}
        schema = {"type": "object"}
        local = {"timeoutMs": 5}
        found = transition_with({"pay": pay}, executor={"capability": "pay"}, inputSchema=schema, reliability=local)
        assert (found["inputSchema"], found["reliability"]) == (schema, local)

    def test_the_reliability_of_a_capability_applies_where_the_place_has_none(self) -> None:
        pay = {**PAY, "reliability": {"timeoutMs": 1000}}
        assert transition_with({"pay": pay}, executor={"capability": "pay"})["reliability"] == {"timeoutMs": 1000}

    @pytest.mark.parametrize(
        "executor", [{"capability": "pay", **POST}, {"capability": "pay", "executor": POST}], ids=["beside", "inside"]
    )
    def test_an_executor_of_the_place_overrides_a_capability_but_not_its_guards(self, executor: Json) -> None:
        """Otherwise one tenant's calls would run against another one's backend."""
        found = transition_with({"pay": PAY}, executor=executor)
        assert (found["executor"], found["guards"]) == (POST, [MAY_PAY])

    def test_single_settings_of_the_place_override_those_of_a_capability(self) -> None:
        capability = {"executor": {"kind": "rest", "connection": "a", "path": "/x"}}
        found = transition_with({"read": capability}, executor={"capability": "read", "connection": "b"})
        assert found["executor"] == {"kind": "rest", "connection": "b", "path": "/x"}
        assert transition_with({"read": capability}, executor={"capability": "read", **NOOP})["executor"] == NOOP

    def test_an_empty_capability_is_a_noop(self) -> None:
        assert transition_with({"idle": {}}, executor={"capability": "idle"})["executor"] == NOOP

    def test_guards_of_a_fallback_capability_apply_to_the_transition(self) -> None:
        capabilities = {"pay": PAY, "post": {"executor": POST, "guards": [IS_LARGE]}}
        fallback: Json = {"executors": [{"capability": "post"}, NOOP]}
        found = transition_with(capabilities, executor={"capability": "pay"}, reliability={"fallback": fallback})
        assert found["reliability"]["fallback"]["executors"] == [POST, NOOP]
        assert found["guards"] == [IS_LARGE, MAY_PAY]

    def test_guards_of_a_capability_apply_on_entering_a_state(self) -> None:
        entering = {"executor": {"capability": "idle"}, "output": {"entered": True}}
        document = {"initialState": "open", "states": {"open": {"onEnter": entering}}}
        found = compile_valid(capabilities={"idle": {"guards": [MAY_PAY]}}, workflows={"demo": document})
        assert found.workflows["demo"]["states"] == {
            "open": {"onEnter": {"executor": NOOP, "output": {"entered": True}, "guards": [MAY_PAY]}}
        }
        refused = ENGINE.start(found.definitions["demo"], NEW_INSTANCE, AGENT, 0.0)
        assert (refused.refusal is not None, refused.instance.context) == (True, {})
        teller = Principal("t", "acme", "test", permissions=frozenset({"pay"}))
        assert ENGINE.start(found.definitions["demo"], NEW_INSTANCE, teller, 0.0).instance.context == {"entered": True}

    def test_guards_of_a_capability_that_are_no_list_are_kept(self) -> None:
        found = transition_with({"pay": {"executor": BANK, "guards": MAY_PAY}}, executor={"capability": "pay"})
        assert found["guards"] == MAY_PAY
        local = transition_with({"pay": {"guards": "all"}}, executor={"capability": "pay"}, guards=[IS_LARGE])
        assert local["guards"] == ["all", IS_LARGE]


@pytest.mark.invariant(46)
def test_the_guards_of_a_capability_apply_wherever_it_is_named() -> None:
    named: Json = {"capability": "deep"}
    stands_in: JsonObject = {"executor": NOOP, "reliability": {"fallback": {"executors": [named]}}}
    found = compile_valid(
        capabilities={"pay": PAY, "deep": {"wraps": "pay"}},
        proxy={"expose": [{"capability": "deep"}, {"name": "other", **stands_in}]},
        workflows={
            "demo": {
                "initialState": "open",
                "states": {
                    "open": {
                        "transitions": {
                            "go": {"target": "done", "executor": named},
                            "over": {"target": "done", "executor": {**POST, "capability": "deep"}},
                            "again": {"target": "done", **stands_in},
                        }
                    },
                    "done": {"onEnter": {"executor": named}, "terminal": True},
                },
            }
        },
    )
    states = [state for one in found.definitions.values() for state in one.states.values()]
    transitions = [one for state in states for one in state.transitions.values()]
    entering = [state.on_enter for state in states if state.on_enter]
    assert (len(transitions), len(entering)) == (5, 1)
    assert [list(one.guards) for one in (*transitions, *entering)] == [[Permission("pay")]] * 6


class TestWraps:
    def exposed(self, **exposure: Any) -> Mapping[str, Any]:
        found = compile_valid(capabilities=CHAIN, proxy={"expose": [{"capability": "pay_once", **exposure}]})
        states: Any = found.workflows["proxy_default"]["states"]
        ((name, transition),) = states["ready"]["transitions"].items()
        return {"name": name, **transition}

    def test_wraps_append_guards_and_lists_and_override_other_members(self) -> None:
        found = self.exposed()
        assert found["guards"] == [MAY_PAY, IS_LARGE, {"kind": "role", "role": "boss"}]
        assert (found["title"], found["description"], found["executor"]) == ("Pay much", "Pays.", BANK)
        assert (found["tags"], found["examples"]) == (["money", "much"], ["pay the rent"])
        assert (found["reliability"], found["inputSchema"]) == ({"timeoutMs": 2}, ASKS_FOR_AMOUNT)

    def test_naming_a_capability_as_executor_wraps_it(self) -> None:
        again = {"executor": {"capability": "pay"}}
        found = transition_with({"pay": PAY, "again": again}, executor={"capability": "again"})
        assert (found["executor"], found["guards"]) == (BANK, [MAY_PAY])

    def test_an_exposure_adds_to_its_capability(self) -> None:
        found = self.exposed(**{"as": "bank.pay", "aliases": ["transfer"], "examples": ["send 5"], "executor": POST})
        assert (found["name"], found["executor"]) == ("bank.pay", POST)
        assert (found["aliases"], found["examples"]) == (["transfer"], ["pay the rent", "send 5"])

    def test_a_chain_of_wraps_may_be_long(self) -> None:
        chain = {f"c{n}": {"wraps": f"c{n - 1}"} if n else {"executor": BANK} for n in range(3000)}
        assert transition_with(chain, executor={"capability": "c2999"})["executor"] == BANK

    def test_a_cycle_of_wraps_is_reported_once_with_its_members(self) -> None:
        circle = {"a": {"wraps": "b"}, "b": {"wraps": "c"}, "c": {"wraps": "b"}}
        assert compile_errors(capabilities=circle) == ["the capabilities wrap each other in a cycle: b → c → b"]


class TestExposures:
    def test_exposures_are_transitions_of_one_state_to_itself(self) -> None:
        found = compile_valid(proxy={"expose": [{"name": "ping"}, {"name": "pay", "executor": BANK, "title": "Pay"}]})
        definition = found.definitions["proxy_default"]
        assert (definition.initial_state, list(definition.states)) == ("ready", ["ready"])
        ping, pay = definition.states["ready"].transitions.values()
        assert (ping.target, ping.actor, ping.input_schema) == ("ready", "agent", NO_ARGUMENTS)
        assert (ping.executor and ping.executor.kind, ping.output) == ("noop", {"lastResult": "$"})
        assert (pay.executor and pay.executor.settings, pay.title) == (BANK, "Pay")

    def test_without_exposures_there_is_no_proxy(self) -> None:
        assert compile_valid(proxy={"expose": []}).workflows == {}


def test_compiling_a_compiled_manifest_changes_nothing() -> None:
    found = compile_valid(
        capabilities=CHAIN,
        connections={"crm": {"kind": "rest", "baseUrl": "http://127.0.0.1:9"}},
        discovery={"include": ["connections", "proxy", "workflows"]},
        proxy={"expose": [{"capability": "pay_once", "as": "p", "aliases": ["x"]}]},
        workflows={"demo": workflow(executor={"capability": "pay_much"})},
    )
    assert compile_manifest(build_source_node(found.manifest)) == found


class TestCatalogue:
    def listed(self, **fields: Any) -> Mapping[str, CatalogueEntry]:
        return {entry.id: entry for entry in compile_valid(**FIELDS, **fields).entries}

    def test_the_catalogue_lists_workflows_and_exposures_with_search_texts(self) -> None:
        entries = self.listed()
        assert list(entries) == ["deploy", "bare", "github.issues", "ping", "connection:github"]
        assert entries["deploy"] == CatalogueEntry(
            "deploy", "workflow", "Deploy Pipeline", "Deploys.", ("deploy",), ("release",), ("ship it",),
            "lint No lint run Run linter done Rest.", {"type": "object"},
        )  # fmt: skip
        assert entries["github.issues"] == CatalogueEntry(
            "github.issues", "capability", "List issues", aliases=("bugs", "tickets"), text="github.issues",
            input_schema=ASKS_FOR_AMOUNT,
        )  # fmt: skip

    def test_an_entry_without_a_title_is_titled_by_its_id_and_may_lack_a_schema(self) -> None:
        entries = self.listed()
        assert (entries["bare"].title, entries["ping"].title) == ("bare", "ping")
        assert (entries["bare"].input_schema, entries["ping"].input_schema) == (None, None)
        assert (entries["deploy"].enabled, entries["bare"].enabled) == (True, False)

    def test_the_catalogue_lists_connections(self) -> None:
        connection = self.listed()["connection:github"]
        assert (connection.kind, connection.title, connection.text) == ("connection", "github", "github mcp")

    @pytest.mark.parametrize(
        ("discovery", "shown"),
        [
            ({}, {"capability", "workflow"}),
            ({"include": ["workflows", "connections"]}, {"workflow", "connection"}),
            ({"include": ["nonsense", 3]}, set[str]()),
            ({"include": "workflows"}, {"capability", "workflow"}),
        ],
    )
    def test_visible_kinds_are_those_that_discovery_includes(self, discovery: JsonObject, shown: set[str]) -> None:
        assert visible_kinds(discovery) == shown


class TestIncludes:
    def manifest(self, root: Path, **files: str) -> tuple[CompiledManifest | None, list[Problem]]:
        for name, text in files.items():
            (root / f"{name}.yaml").write_text(text)
        found = read_manifest(root / "main.yaml")
        assert found.manifest is not None
        configuration = compile_manifest(found.manifest)
        if isinstance(configuration, CompiledManifest):
            return configuration, list(found.problems)
        return None, [*found.problems, *configuration]

    def test_included_mappings_merge_lists_append_and_the_including_file_wins(self, tmp_path: Path) -> None:
        found, problems = self.manifest(
            tmp_path,
            main="version: 1\ninclude: [a.yaml, b.yaml]\nconnections: {c: {kind: rest, baseUrl: main}}\n"
            "proxy: {expose: [{name: three}]}",
            a="connections: {c: {kind: mcp, baseUrl: a}, d: {kind: cli}}\nproxy: {expose: [{name: one}]}",
            b="connections: {c: {baseUrl: b, headers: {x: y}}}\nproxy: {expose: [{name: two}]}",
        )
        assert found
        assert not problems
        assert found.connections == {
            "c": {"kind": "rest", "baseUrl": "main", "headers": {"x": "y"}},
            "d": {"kind": "cli"},
        }
        assert [entry.id for entry in found.entries if entry.kind == "capability"] == ["one", "two", "three"]

    def test_a_problem_in_an_included_file_has_its_place_there(self, tmp_path: Path) -> None:
        _, (problem,) = self.manifest(
            tmp_path,
            main="version: 1\ninclude: [a.yaml, b.yaml]\n",
            a="workflows:\n  first:\n    states:\n      a: {terminal: true}\n",
            b="workflows:\n  second:\n    initialState: a\n    states: {a: {terminal: true}}\n",
        )
        assert (problem.place.file, problem.place.line) == (str(tmp_path / "a.yaml"), 2)
        assert problem.message == "first: has no `initialState`"

    def test_a_file_included_twice_counts_once(self, tmp_path: Path) -> None:
        found, problems = self.manifest(
            tmp_path,
            main="version: 1\ninclude: [a.yaml, b.yaml]",
            a="include: [c.yaml]",
            b="include: [./c.yaml]",
            c="proxy: {expose: [{name: one}]}",
        )
        assert found
        assert not problems
        assert [entry.id for entry in found.entries] == ["one"]

    def test_a_cycle_of_includes_is_reported_where_it_closes(self, tmp_path: Path) -> None:
        _, (problem,) = self.manifest(
            tmp_path, main="version: 1\ninclude: [a.yaml]", a="include: [b.yaml]", b="\ninclude:\n  - a.yaml\n"
        )
        assert (problem.place.file, problem.place.line) == (str(tmp_path / "b.yaml"), 3)
        assert problem.message.endswith(f"{tmp_path}/a.yaml → {tmp_path}/b.yaml → {tmp_path}/a.yaml")

    def test_a_problem_in_a_capability_has_the_place_of_its_declaration(self, tmp_path: Path) -> None:
        _, problems = self.manifest(
            tmp_path,
            main="version: 1\ninclude: [a.yaml]\nproxy: {expose: [{capability: pay}]}\nworkflows:\n  demo:\n"
            "    initialState: a\n    states:\n      a: {transitions: {t: {target: a, executor: {capability: pay}}}}\n",
            a="capabilities:\n  pay:\n    executor: {kind: noop}\n    inputSchema: {type: objekt}\n",
        )
        assert problems
        assert {(problem.place.file, problem.place.line) for problem in problems} == {(str(tmp_path / "a.yaml"), 4)}
