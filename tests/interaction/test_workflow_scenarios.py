"""Scenarios S264 to S302: workflows whose steps are functions that follow each other by themselves."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from signpost.adapters.alarm import alarm
from signpost.adapters.clock import SystemTimestamps
from signpost.adapters.memory import MemoryDirectory, MemoryMasterKeys
from signpost.catalogue.publishing.catalogue import CataloguePublisher
from signpost.catalogue.publishing.publish_functions import PublishFunctions
from signpost.catalogue.publishing.publisher import Publisher
from signpost.cli import main
from signpost.content.api.errors import RegistryRefusal
from signpost.content.callers import Caller
from signpost.contract import Executor
from signpost.directory.keys import keys_of
from signpost.model import Json, JsonObject, Principal
from signpost.schema.validation import Validators
from signpost.signing.capability_tokens import TokenVerifier
from signpost.signing.key_ring import KeyRing
from signpost.toolkit import Function, ToolError
from signpost.toolkit.context import ContextServices
from signpost.toolkit.function import ExecutorFunctions
from signpost.toolkit.harness import Harness
from signpost.toolkit.hosting import functions_by_id
from signpost.workflow.engine.permissions import MAY_RESOLVE
from tests.support.function_host import MemoryLog, build_secrets
from tests.support.gateway_workflows import TENANT, GatewayWorkflows
from tests.support.memory_workflows import run_until_idle
from tests.support.played_executors import ExecutorCrash

type Run = Callable[[Any], Any]
type Document = dict[str, Any]

FLOW = "flow"
LATER = 3.0
"""Seconds after which every gateway has heard of a change."""
LEASE_OVER = 200.0
"""Seconds after which nobody can be executing anything that was begun."""
WORK = Executor("arn:work", "secret:work", timeout_ms=60_000)
CALLERS = {
    "agent": Principal("agent", TENANT, "t"),
    "resolver": Principal("rosa", TENANT, "t", permissions=frozenset({MAY_RESOLVE})),
}
ADMINISTRATOR = Caller(TENANT, CALLERS["agent"], 0.0)
SCORED = "$.context.score > 5"
OUTCOMES = {"executor.succeeded": "well", "executor.failed": "badly"}
CONSENT: Mapping[str, Any] = {"retry": {"maxAttempts": 1}}
COMMANDS = ["df -h /", "uname -a"]
LISTED: JsonObject = {"type": "object", "properties": {"command": {"enum": COMMANDS}}, "required": ["command"]}
ILL = {
    "a target that is not there": ("a: {transitions: {go: {target: b}}}", "b"),
    "a branch that leads nowhere": (
        "a: {transitions: {go: {target: a, branches: [{when: {kind: role, role: r}, target: nowhere}]}}}",
        "nowhere",
    ),
    "a capability that is not there": ("a: {transitions: {go: {target: a, executor: {capability: gone}}}}", "gone"),
    "an executor without kind": ("a: {transitions: {go: {target: a, executor: {function: f}}}}", "kind"),
    "two states of one name": ("a: {terminal: true}, a: {terminal: true}", "'a'"),
}


class ScenarioWorld(GatewayWorkflows):
    """A gateway that is called by its protocol, and an executor with real functions, which remember their turn."""

    def __init__(self, schemas: Mapping[str, JsonObject] | None = None, /, **functions: Run) -> None:
        super().__init__(CALLERS)
        self.called: list[str] = []
        self.deaths = 0
        """How often whoever calls the executor dies next, when it has run."""
        hosted = functions_by_id(
            [self._remembered(name, run, (schemas or {}).get(name)) for name, run in functions.items()]
        )
        gateway, keys = self._gateway, MemoryMasterKeys(keys_of(WORK.arn, self._gateway.adapters.master_keys.read()))
        harness = Harness(
            ExecutorFunctions(hosted),
            tokens=TokenVerifier(KeyRing(store=keys, clock=self.clock), clock=self.clock),
            clock=self.clock,
            validators=Validators(alarm),
            services=ContextServices(None, build_secrets({}), MemoryLog()),
        )
        assert MemoryDirectory(gateway.functions).place(TENANT, WORK, [one.hosted for one in hosted.values()]) == []
        gateway.executors[WORK.arn] = lambda message: self._survived(harness.handle(message, 60_000))

    def _remembered(self, name: str, run: Run, schema: JsonObject | None) -> Function:
        def remembered(arguments: Any) -> Any:
            self.called.append(name)
            return run(arguments)

        return Function(f"work::{name}", remembered, schema)

    def _survived(self, answer: JsonObject) -> JsonObject:
        if self.deaths > 0:
            self.deaths -= 1
            raise ExecutorCrash
        return answer

    def run(self, document: Document, **given: Any) -> Any:
        self.publish(FLOW, document)
        return self.start(**given)

    def start(self, definition_id: str = FLOW, **given: Any) -> Any:
        return self.call("workflow.start", {"definitionId": definition_id, "input": given}, "agent")

    def listed(self) -> list[str]:
        """Return the ids of the listed workflows."""
        return [item["id"] for item in self.call("gateway.home", {}, "agent")["items"] if item["kind"] == "workflow"]

    def get(self, seen: Any, caller: str = "agent") -> Any:
        return self.call("workflow.get", {"workflowId": seen["workflowId"]}, caller)

    def take(self, seen: Any, transition: str, caller: str = "agent", **arguments: Any) -> Any:
        """By its link, with these arguments besides."""
        (args,) = [link["args"] for link in seen["links"] if link["args"].get("transition") == transition]
        return self.call("workflow.submit", {**args, "arguments": {**args["arguments"], **arguments}}, caller)

    def audit(self, seen: Any, kind: str) -> Sequence[Any]:
        told = self.instances.audit(TENANT, seen["workflowId"])
        return [event.record.payload for event in told if event.record.type == kind]

    def sweep(self) -> None:
        """As once a minute, for what is due and for what was asked for."""
        run_until_idle(self._gateway.composition.workflow_services().waker, self.instances, self.clock, is_swept=True)

    def administer(self, function: str, payload: JsonObject) -> Any:
        """A function of the registry, on what this gateway reads."""
        there = self._gateway.adapters
        catalogues = CataloguePublisher(content=there.content, values=there.values, definitions=there.definitions)
        publisher = Publisher(
            content=there.content, bodies=there.bodies, catalogues=catalogues, timestamps=SystemTimestamps()
        )
        return PublishFunctions(publisher).call(function, payload, ADMINISTRATOR)


def function(name: str, takes: Json = None) -> Document:
    """The executor. Without a mapping the function gets the arguments of the transition."""
    return {"kind": "function", "function": f"work::{name}", **({} if takes is None else {"arguments": takes})}


def step(name: str, to: str, takes: Json = None, *, branches: Mapping[str, str] | None = None, **more: Any) -> Document:
    """A state that runs a function and keeps its answer under the same name; where it leads depends on conditions."""
    on: Document = {"target": to, "executor": function(name, takes), "output": {name: "$.output"}, **more}
    chosen = [{"when": {"kind": "expr", "expr": when}, "target": target} for when, target in (branches or {}).items()]
    return {"transitions": {name: {"actor": "deterministic", **on, "branches": chosen}}}


def flow(more: Mapping[str, Any] | None = None, /, **states: Document) -> Document:
    return {"initialState": next(iter(states)), "states": {**states, "done": {"terminal": True}}, **(more or {})}


def linear_flow(*names: str) -> Document:
    """Steps that follow each other."""
    return flow(**{name: step(name, to) for name, to in zip(names, [*names[1:], "done"], strict=True)})


def answering(value: Any) -> Run:
    return lambda _arguments: value


def refusing(message: str) -> Run:
    def refuse(_arguments: Any) -> Any:
        raise ToolError(message)

    return refuse


def raise_error(_arguments: Any) -> Any:
    raise RuntimeError


def return_arguments(arguments: Any) -> Any:
    return arguments


def sleep_long(_arguments: Any) -> Any:
    time.sleep(60)


def run_command(arguments: Any) -> Any:
    done = subprocess.run(arguments["command"].split(), capture_output=True, text=True, check=True)
    return done.stdout


def step_with_fallback(name: str, to: str, by: str, **more: Any) -> Document:
    """With another function that does it, or does without it, in its place."""
    return step(name, to, reliability={"fallback": {"executors": [function(by, more.pop("takes", {}))]}}, **more)


def world_with_branch(score: int) -> tuple[ScenarioWorld, Document]:
    """After `score` it goes on to `publish` if that was high, else to `file`; `file` leads to `publish` as well."""
    shop = ScenarioWorld(score=answering(score), file=answering("filed"), publish=answering("published"))
    states = {"file": step("file", "publish"), "publish": step("publish", "done")}
    return shop, flow(score=step("score", "file", branches={SCORED: "publish"}), **states)


def world_with_open_breaker(**functions: Run) -> ScenarioWorld:
    """`fetch` has crashed three times in a row, in another workflow."""
    shop = ScenarioWorld(fetch=raise_error, **functions)
    shop.publish("crashing", linear_flow("fetch"))
    for _ in range(3):
        assert shop.start("crashing")["inDoubt"]["transition"] == "fetch"
    shop.clock.advance(LATER)
    shop.called.clear()
    return shop


def run_check(manifest: str, folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    (folder / "manifest.yaml").write_text(manifest)
    code = main(["check", str(folder / "manifest.yaml"), *options])
    return code, capsys.readouterr().out


def linked(seen: Any) -> list[str]:
    return [link["args"].get("transition", link["rel"]) for link in seen["links"]]


def failure_and_state(seen: Any) -> tuple[str, str]:
    """Why it did not go on, and where it stands."""
    return seen["error"]["message"], seen["state"]


def test_s264_a_disabled_workflow_is_neither_listed_nor_started() -> None:
    shop = ScenarioWorld(fetch=answering(1))
    shop.publish("other", linear_flow("fetch"))
    assert shop.run({**linear_flow("fetch"), "enabled": False})["error"]["code"] == "NOT_FOUND"
    assert shop.listed() == ["other"]
    assert shop.called == []


def test_s264_a_switched_off_workflow_is_not_started_and_its_instances_continue() -> None:
    shop = ScenarioWorld(fetch=answering(1))
    waits = {"transitions": {"go": {"target": "fetch"}}}
    running = shop.run(flow(wait=waits, fetch=step("fetch", "done")))
    assert shop.listed() == [FLOW]
    shop.administer("manifest::switch", {"id": FLOW, "enabled": False})
    shop.clock.advance(LATER)
    assert shop.start()["error"]["code"] == "NOT_FOUND"
    assert shop.listed() == []
    assert shop.take(running, "go")["state"] == "done"
    shop.administer("manifest::switch", {"id": FLOW, "enabled": True})
    shop.clock.advance(LATER)
    assert shop.start()["state"] == "wait"


def test_s265_an_unknown_workflow_is_an_error_with_links_to_home_and_search() -> None:
    refused = ScenarioWorld().start("nowhere")
    assert refused["error"]["code"] == "NOT_FOUND"
    assert linked(refused) == ["home", "search"]


def test_s266_a_workflow_without_steps_ends_at_its_start() -> None:
    seen = ScenarioWorld().run({"initialState": "done", "states": {"done": {"terminal": True}}})
    assert (seen["terminal"], seen["context"], seen["links"]) == (True, {}, [])


def test_s267_one_step_is_executed_and_its_result_is_stored() -> None:
    shop = ScenarioWorld(fetch=answering({"title": "News"}))
    seen = shop.run(linear_flow("fetch"))
    assert (seen["state"], seen["terminal"], seen["context"]) == ("done", True, {"fetch": {"title": "News"}})
    assert shop.called == ["fetch"]


def test_s268_two_steps_are_recorded_in_their_order() -> None:
    shop = ScenarioWorld(fetch=answering(1), score=answering(2))
    seen = shop.run(linear_flow("fetch", "score"))
    assert list(seen["context"].items()) == [("fetch", 1), ("score", 2)]
    assert [(hop["transition"], hop["version"]) for hop in seen["chain"]] == [("fetch", 2), ("score", 3)]
    assert shop.called == ["fetch", "score"]


def test_s269_an_unknown_function_fails_the_step_by_name() -> None:
    shop = ScenarioWorld(fetch=answering(1))
    seen = shop.run(linear_flow("nobody", "fetch"))
    assert seen["error"]["code"] == "CHAIN_FAILED"
    assert failure_and_state(seen) == ("There is no function work::nobody.", "nobody")
    (told,) = shop.audit(seen, "executor.failed")
    assert (told["transition"], told["error"]) == ("nobody", "There is no function work::nobody.")
    assert shop.called == []


def test_s270_a_failed_first_step_stops_the_chain() -> None:
    shop = ScenarioWorld(fetch=refusing("The feed is gone."), score=answering(2))
    seen = shop.run(linear_flow("fetch", "score"))
    assert failure_and_state(seen) == ("The feed is gone.", "fetch")
    assert (seen["version"], seen["context"], shop.called) == (1, {}, ["fetch"])


def test_s271_a_failed_second_step_keeps_the_first_result_and_shows_its_fault() -> None:
    shop = ScenarioWorld(fetch=answering(1), score=refusing("The feed is gone."))
    seen = shop.run(linear_flow("fetch", "score"))
    assert failure_and_state(seen) == ("The feed is gone.", "score")
    assert (seen["version"], seen["context"]) == (2, {"fetch": 1})
    assert shop.get(seen)["fault"]["transition"] == "score"
    assert shop.get(seen)["fault"]["message"] == "The feed is gone."


def test_s272_a_step_failed_for_a_missing_provider_can_be_submitted_again() -> None:
    providers: list[str] = []

    def transform(_arguments: Any) -> Any:
        if not providers:
            raise ToolError("There is no provider for this model.")
        return providers[0]

    shop = ScenarioWorld(transform=transform)
    seen = shop.run(linear_flow("transform"))
    assert failure_and_state(seen) == ("There is no provider for this model.", "transform")
    assert linked(seen) == ["self", "transform", "$cancel"]
    providers.append("a provider")
    again = shop.take(seen, "transform")
    assert (again["state"], again["context"]) == ("done", {"transform": "a provider"})


def test_s273_a_value_that_is_no_path_is_passed_unchanged() -> None:
    shop = ScenarioWorld(summarise=return_arguments)
    takes = {"text": "Summarise it for $5.", "n": 3, "braces": "{input}", "$": [1]}
    assert shop.run(flow(summarise=step("summarise", "done", takes)))["context"] == {"summarise": takes}


@pytest.mark.parametrize("given", [{}, {"text": ""}, {"text": None}])
def test_s274_a_missing_or_empty_input_is_passed_as_null_or_empty(given: JsonObject) -> None:
    shop = ScenarioWorld(summarise=return_arguments)
    takes = {"text": "$.workflow.input.text", "deeper": "$.workflow.input.text.of.it", "said": "$.context.nothing"}
    seen = shop.run(flow(summarise=step("summarise", "done", takes)), **given)
    assert seen["context"]["summarise"] == {"text": given.get("text"), "deeper": None, "said": None}


def test_s275_an_object_input_is_passed_whole_and_as_json_in_texts() -> None:
    shop = ScenarioWorld(summarise=return_arguments)
    takes = {"of": "$.workflow.input.item", "prompt": {"concat": ["Summarise ", "$.workflow.input.item"]}}
    item = {"title": "News", "tags": ["ä", None]}
    seen = shop.run(flow(summarise=step("summarise", "done", takes)), item=item)
    prompt = 'Summarise {"title": "News", "tags": ["ä", null]}'
    assert seen["context"]["summarise"] == {"of": item, "prompt": prompt}


@pytest.mark.parametrize(("takes", "given"), [(None, {}), ({}, {}), ({"prompt": ""}, {"prompt": ""})])
def test_s276_a_step_without_arguments_or_with_an_empty_text_is_executed(takes: Json, given: JsonObject) -> None:
    shop = ScenarioWorld(summarise=return_arguments)
    assert shop.run(flow(summarise=step("summarise", "done", takes)))["context"] == {"summarise": given}


def test_s277_two_starts_of_one_workflow_are_two_instances() -> None:
    shop = ScenarioWorld(summarise=return_arguments)
    document = flow(summarise=step("summarise", "done", {"n": "$.workflow.input.n"}))
    one, other = shop.run(document, n=1), shop.start(n=2)
    assert one["workflowId"] != other["workflowId"]
    assert [shop.get(seen)["context"]["summarise"]["n"] for seen in (one, other)] == [1, 2]


def test_s278_ten_steps_have_ten_results() -> None:
    names = [f"step_{number}" for number in range(10)]
    shop = ScenarioWorld(**{name: answering(number) for number, name in enumerate(names)})
    seen = shop.run(linear_flow(*names))
    assert seen["context"] == dict(zip(names, range(10), strict=True))
    assert (seen["version"], shop.called) == (11, names)


def test_s279_steps_without_branches_follow_their_targets() -> None:
    shop = ScenarioWorld(a=answering(1), b=answering(2), c=answering(3))
    seen = shop.run(linear_flow("a", "b", "c"))
    assert [(hop["fromState"], hop["toState"]) for hop in seen["chain"]] == [("a", "b"), ("b", "c"), ("c", "done")]
    assert shop.audit(seen, "transition.branched") == []


def test_s280_the_branch_of_each_step_is_recorded() -> None:
    shop, document = world_with_branch(score=9)
    seen = shop.run(document)
    assert [(hop["transition"], hop["toState"]) for hop in seen["chain"]] == [("score", "publish"), ("publish", "done")]
    assert shop.audit(seen, "transition.branched") == [{"branchIndex": 0, "fromState": "score", "toState": "publish"}]


def test_s281_a_passing_branch_skips_a_step() -> None:
    shop, document = world_with_branch(score=9)
    seen = shop.run(document)
    assert (seen["state"], seen["context"]) == ("done", {"score": 9, "publish": "published"})
    assert shop.called == ["score", "publish"]


def test_s282_a_branch_on_a_problem_result_leads_to_another_step() -> None:
    shop = ScenarioWorld(
        fetch=answering({"ok": False, "problem": "The feed is gone."}), alert=answering("told"), score=answering(1)
    )
    fetch = step("fetch", "score", branches={"$.context.fetch.ok == false": "alert"})
    seen = shop.run(flow(fetch=fetch, score=step("score", "done"), alert=step("alert", "done")))
    assert (seen["state"], "error" in seen, shop.called) == ("done", False, ["fetch", "alert"])
    assert seen["context"]["fetch"]["problem"] == "The feed is gone."


def test_s282_a_failed_step_links_the_other_transitions() -> None:
    shop = ScenarioWorld(fetch=refusing("The feed is gone."), alert=answering("told"))
    other = {"target": "alert", "inputSchema": {"type": "object", "properties": {"why": {"type": "string"}}}}
    asks = step("fetch", "done", actor="agent")
    asks["transitions"]["give_up"] = {**other, "output": {"problem": "$.arguments.why"}}
    refused = shop.take(shop.run(flow(fetch=asks, alert=step("alert", "done"))), "fetch")
    assert (refused["error"]["code"], linked(refused)) == (
        "EXECUTOR_FAILED",
        ["self", "fetch", "give_up", "$cancel"],
    )
    seen = shop.take(refused, "give_up", why=refused["error"]["message"])
    assert (seen["state"], seen["context"]) == ("done", {"problem": "The feed is gone.", "alert": "told"})


def test_s283_without_a_passing_branch_a_step_can_lead_to_a_terminal_state() -> None:
    shop = ScenarioWorld(score=answering(1), publish=answering("published"))
    score = step("score", "done", branches={SCORED: "publish"})
    seen = shop.run(flow(score=score, publish=step("publish", "done")))
    assert (seen["terminal"], seen["state"], shop.called) == (True, "done", ["score"])


def test_s284_a_branch_can_lead_to_a_terminal_state() -> None:
    shop, document = world_with_branch(score=9)
    document["states"]["score"] = step("score", "file", branches={SCORED: "done"})
    seen = shop.run(document)
    assert (seen["terminal"], shop.called) == (True, ["score"])


def test_s285_without_a_passing_branch_the_step_leads_to_its_target() -> None:
    shop, document = world_with_branch(score=1)
    assert shop.run(document)["state"] == "done"
    assert shop.called == ["score", "file", "publish"]


def test_s286_a_step_that_leads_to_itself_stops_at_the_chain_limit() -> None:
    shop = ScenarioWorld(fetch=answering(1))
    seen = shop.run(flow({"maxChainDepth": 5}, fetch=step("fetch", "fetch")))
    assert (seen["state"], seen["version"], len(shop.called), linked(seen)) == ("fetch", 6, 5, ["fetch"])
    shop.clock.advance(LEASE_OVER)
    shop.sweep()
    assert (shop.get(seen)["version"], len(shop.called)) == (6, 5)


def test_s286_an_endless_automatic_loop_is_a_finding_of_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    looping = "{initialState: a, states: {a: {transitions: {go: {actor: deterministic, target: a}}}}}"
    code, printed = run_check(f"version: 1\nworkflows:\n  looping: {looping}\n", tmp_path, capsys, "--strict")
    assert code == 1
    assert "a → a" in printed


def test_s287_steps_with_and_without_branches_follow_each_other() -> None:
    shop = ScenarioWorld(a=answering(9), b=answering(2), c=answering(3))
    states = {"a": step("a", "c", branches={"$.context.a > 5": "b"}), "b": step("b", "c"), "c": step("c", "done")}
    assert shop.run(flow(**states))["state"] == "done"
    assert shop.called == ["a", "b", "c"]


def test_s288_a_missing_function_is_replaced_by_its_fallback() -> None:
    shop = ScenarioWorld(skip=answering({"skipped": True}), score=answering(1), alert=answering("told"))
    missing = step_with_fallback("nobody", "score", "skip", branches={"$.context.nobody.found == true": "alert"})
    seen = shop.run(flow(nobody=missing, score=step("score", "done"), alert=step("alert", "done")))
    assert (seen["state"], seen["context"]) == ("done", {"nobody": {"skipped": True}, "score": 1})
    assert shop.called == ["skip", "score"]
    (told,) = shop.audit(seen, "fallback.selected")
    assert told["previousError"] == "There is no function work::nobody."


def test_s289_a_step_reads_the_result_of_an_earlier_one_by_name() -> None:
    shop = ScenarioWorld(fetch=answering("first"), score=answering("second"), publish=return_arguments)
    publish = step("publish", "done", {"text": "$.context.fetch"})
    seen = shop.run(flow(fetch=step("fetch", "score"), score=step("score", "publish"), publish=publish))
    assert seen["context"]["publish"] == {"text": "first"}


def test_s290_a_step_after_a_branch_reads_the_result_of_the_previous_step() -> None:
    shop = ScenarioWorld(fetch=answering(9), file=answering(0), publish=return_arguments)
    kept = {"before": "$.output"}
    states = {
        "fetch": step("fetch", "file", branches={"$.context.before > 5": "publish"}, output=kept),
        "file": step("file", "publish", output=kept),
        "publish": step("publish", "done", {"given": "$.context.before"}),
    }
    seen = shop.run(flow(**states))
    assert (seen["context"]["publish"], shop.called) == ({"given": 9}, ["fetch", "publish"])


def test_s291_a_step_after_a_problem_branch_reads_the_problem() -> None:
    shop = ScenarioWorld(fetch=answering({"problem": "The feed is gone."}), score=answering(1), alert=return_arguments)
    states = {
        "fetch": step("fetch", "score", branches={"$.context.fetch.problem != null": "alert"}),
        "score": step("score", "done"),
        "alert": step("alert", "done", {"why": "$.context.fetch.problem"}),
    }
    assert shop.run(flow(**states))["context"]["alert"] == {"why": "The feed is gone."}
    assert shop.called == ["fetch", "alert"]


def test_s292_a_step_with_an_open_breaker_fails_with_a_retry_delay() -> None:
    shop = world_with_open_breaker(score=answering(1))
    seen = shop.run(linear_flow("fetch", "score"))
    assert seen["error"]["code"] == "CHAIN_FAILED"
    assert "not called for a while" in seen["error"]["message"]
    assert seen["error"]["retryAfterMs"] > 0
    assert (linked(seen), "inDoubt" in seen, shop.called) == (
        ["self", "fetch", "$cancel"],
        False,
        [],
    )


def test_s292_a_step_with_an_open_breaker_can_pass_on_an_earlier_result() -> None:
    shop = world_with_open_breaker(
        first=answering("first"), keep=lambda arguments: arguments["text"], score=return_arguments
    )
    fetch = step_with_fallback("fetch", "score", "keep", takes={"text": "$.context.first"})
    score = step("score", "done", {"text": "$.context.fetch"})
    seen = shop.run(flow(first=step("first", "fetch"), fetch=fetch, score=score))
    assert (seen["context"]["score"], shop.called) == ({"text": "first"}, ["first", "keep", "score"])


def test_s292_a_fallback_replaces_a_function_with_an_open_breaker() -> None:
    shop = world_with_open_breaker(other=answering("by another"))
    seen = shop.run(flow(fetch=step_with_fallback("fetch", "done", "other")))
    assert (seen["state"], seen["context"], shop.called) == ("done", {"fetch": "by another"}, ["other"])


def test_s292_an_unknown_fallback_function_fails_the_step() -> None:
    shop = world_with_open_breaker()
    seen = shop.run(flow(fetch=step_with_fallback("fetch", "done", "nobody")))
    assert failure_and_state(seen) == ("There is no function work::nobody.", "fetch")


def test_s294_the_outcome_branch_and_time_of_each_step_are_recorded() -> None:
    def slow(_arguments: Any) -> Any:
        shop.clock.advance(2)
        return 9

    shop = ScenarioWorld(score=slow, publish=slow, alert=refusing("Nobody is there."))
    states = {"publish": step("publish", "alert"), "alert": step("alert", "done")}
    began = shop.clock.now()
    seen = shop.run(flow(score=step("score", "done", branches={SCORED: "publish"}), **states))
    ends = [event for event in shop.instances.audit(TENANT, seen["workflowId"]) if event.record.type in OUTCOMES]
    assert [(OUTCOMES[event.record.type], event.record.payload["transition"]) for event in ends] == [
        ("well", "score"),
        ("well", "publish"),
        ("badly", "alert"),
    ]
    assert [event.at - began for event in ends] == [2, 4, 4]
    assert [event.record.payload["elapsedMs"] for event in ends] == [2_000, 2_000, 0]
    assert ends[2].record.payload["error"] == "Nobody is there."
    assert [told["toState"] for told in shop.audit(seen, "transition.branched")] == ["publish"]
    assert seen["context"] == {"score": 9, "publish": 9}


def test_s295_a_step_is_stopped_after_its_declared_timeout() -> None:
    shop = ScenarioWorld(fetch=sleep_long)
    began = time.monotonic()
    seen = shop.run(flow(fetch=step("fetch", "done", reliability={"timeoutMs": 200})))
    assert time.monotonic() - began < 10
    assert seen["error"]["errorClass"] == "timeout"
    assert (seen["state"], seen["inDoubt"]["transition"]) == ("fetch", "fetch")


@pytest.mark.parametrize("harmful", [sleep_long, raise_error])
def test_s296_a_function_that_hangs_or_raises_is_replaced_by_its_fallback(harmful: Run) -> None:
    shop = ScenarioWorld(fetch=harmful, alert=answering("told"), score=return_arguments)
    fetch = step_with_fallback("fetch", "score", "alert")
    fetch["transitions"]["fetch"]["reliability"]["timeoutMs"] = 200
    fetch["transitions"]["fetch"]["executor"]["idempotent"] = True
    seen = shop.run(flow(fetch=fetch, score=step("score", "done", {"given": "$.context.fetch"})))
    assert (seen["state"], seen["context"]["score"]) == ("done", {"given": "told"})
    assert shop.called == ["fetch", "alert", "score"]


def test_s297_the_result_of_an_instance_is_that_of_its_last_executed_step() -> None:
    shop = ScenarioWorld(score=answering(9), early=answering("the last"), late=answering("never"))
    kept = {"result": "$.output"}
    states = {
        "early": step("early", "done", output=kept),
        "score": step("score", "late", branches={SCORED: "early"}),
        "late": step("late", "done", output=kept),
    }
    seen = shop.run({**flow(**states), "initialState": "score"})
    assert (seen["context"]["result"], shop.called) == ("the last", ["score", "early"])
    assert shop.get(seen)["context"]["result"] == "the last"


@pytest.mark.parametrize(("states", "said"), ILL.values(), ids=ILL)
def test_s298_dangling_names_and_duplicate_states_are_errors_of_check(
    states: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = f"version: 1\nworkflows:\n  ill:\n    initialState: a\n    states: {{{states}}}\n"
    code, printed = run_check(manifest, tmp_path, capsys)
    assert code == 1
    (error,) = [one for one in printed.splitlines() if ": error: " in one]
    assert said in error


def test_s298_an_invalid_definition_is_refused_by_the_registry() -> None:
    broken = flow(a={"transitions": {"go": {"target": "nowhere"}}})
    refused = ScenarioWorld().administer(
        "manifest::bodies", {"definitions": {"version": 1, "workflows": {"ill": broken}}}
    )
    assert isinstance(refused, RegistryRefusal)
    assert "nowhere" in refused.message


def test_s300_a_step_interrupted_by_a_crash_is_in_doubt_and_continues_once_resolved() -> None:
    shop = ScenarioWorld(pay=answering("paid"), score=return_arguments)
    waits: Document = {"transitions": {"go": {"target": "pay"}}}
    score = step("score", "done", {"of": "$.context.pay"})
    begun = shop.run(flow(wait=waits, pay=step("pay", "score"), score=score))
    shop.deaths = 1
    assert "error" in shop.take(begun, "go")
    assert shop.get(begun)["pending"]["transition"] == "pay"
    shop.clock.advance(LEASE_OVER)
    shop.sweep()
    seen = shop.get(begun, "resolver")
    assert (seen["inDoubt"]["transition"], linked(seen)) == ("pay", ["self", "$retry", "$resolve"])
    answer = shop.take(seen, "$resolve", "resolver", happened=True, output="found in the books")
    assert (answer["state"], answer["context"]["score"]) == ("done", {"of": "found in the books"})
    assert shop.called == ["pay", "score"]


def test_s300_a_step_with_consent_is_repeated_after_its_worker_died() -> None:
    shop = ScenarioWorld(digest=answering("digested"), score=answering(1))
    slow = {**CONSENT, "timeoutMs": 100_000}
    begun = shop.run(flow(digest=step("digest", "score", reliability=slow), score=step("score", "done")))
    assert (begun["pending"]["transition"], shop.called) == ("digest", [])
    shop.deaths = 1
    with pytest.raises(ExecutorCrash):
        shop.sweep()
    assert shop.get(begun)["pending"]["transition"] == "digest"
    shop.clock.advance(LEASE_OVER)
    shop.sweep()
    seen = shop.get(begun)
    assert (seen["state"], seen["context"]) == ("done", {"digest": "digested", "score": 1})
    assert shop.called == ["digest", "digest", "score"]


def test_s300_an_abandoned_instance_is_ended_by_its_deadline() -> None:
    shop = ScenarioWorld(fetch=answering(1))
    waits: Document = {"transitions": {"go": {"target": "fetch"}}}
    ends = {"timeoutMs": 60_000, "onTimeout": {"target": "late"}}
    begun = shop.run(flow(ends, wait=waits, fetch=step("fetch", "done"), late={"terminal": True}))
    shop.clock.advance(61)
    shop.sweep()
    assert shop.audit(begun, "workflow.timed_out")
    assert (shop.get(begun)["state"], shop.get(begun)["terminal"]) == ("late", True)


def test_s301_starts_with_the_same_client_token_start_one_instance() -> None:
    shop = ScenarioWorld(fetch=answering(1))
    waits: Document = {"transitions": {"go": {"target": "fetch"}}}
    shop.publish(FLOW, flow(wait=waits, fetch=step("fetch", "done")))

    def due(occasion: str) -> Any:
        return shop.call("workflow.start", {"definitionId": FLOW, "input": {}, "clientToken": occasion}, "agent")

    monday, again, tuesday = due("monday"), due("monday"), due("tuesday")
    assert monday["workflowId"] == again["workflowId"]
    assert tuesday["workflowId"] != monday["workflowId"]
    assert {shop.get(seen)["state"] for seen in (monday, tuesday)} == {"wait"}


def test_s302_a_function_runs_only_the_commands_of_its_schema() -> None:
    shop = ScenarioWorld({"shell": LISTED}, shell=run_command)
    for command in COMMANDS:
        seen = shop.run(flow(shell=step("shell", "done", {"command": "$.workflow.input.command"})), command=command)
        assert (seen["state"], bool(seen["context"]["shell"].strip())) == ("done", True)
    refused = shop.start(command="env")
    assert (refused["state"], "command" in refused["error"]["message"]) == ("shell", True)
    assert "inDoubt" not in refused
    assert shop.called == ["shell", "shell"]
