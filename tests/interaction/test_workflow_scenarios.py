"""Scenarios S264 to S302: workflows whose steps are functions that follow each other by themselves."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from signpost.adapters.clock import SystemTimestamps
from signpost.adapters.memory import MemoryDirectory, MemoryMasterKeys
from signpost.catalogue.publishing.catalogue import CataloguePublisher
from signpost.catalogue.publishing.publisher import Publisher, PublishFunctions
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
from tests.support.hosted import KeptLog, secrets_of
from tests.support.machines import Crash
from tests.support.workflow_world import TENANT, WorkflowWorld
from tests.support.workshop import settle

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


class Shop(WorkflowWorld):
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
            validators=Validators(),
            services=ContextServices(None, secrets_of({}), KeptLog()),
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
            raise Crash
        return answer

    def run(self, document: Document, **given: Any) -> Any:
        self.publish(FLOW, document)
        return self.start(**given)

    def start(self, definition_id: str = FLOW, **given: Any) -> Any:
        return self.call("workflow.start", {"definitionId": definition_id, "input": given}, "agent")

    def listed(self) -> list[str]:
        return [item["id"] for item in self.call("gateway.home", {}, "agent")["items"]]

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
        settle(self._gateway.composition.workflow_services().waker, self.instances, self.clock, is_swept=True)

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


def line(*names: str) -> Document:
    """Steps that follow each other."""
    return flow(**{name: step(name, to) for name, to in zip(names, [*names[1:], "done"], strict=True)})


def answers(value: Any) -> Run:
    return lambda _arguments: value


def refuses(message: str) -> Run:
    def refuse(_arguments: Any) -> Any:
        raise ToolError(message)

    return refuse


def breaks(_arguments: Any) -> Any:
    raise RuntimeError


def hands_on(arguments: Any) -> Any:
    return arguments


def sleeps(_arguments: Any) -> Any:
    time.sleep(60)


def executes(arguments: Any) -> Any:
    done = subprocess.run(arguments["command"].split(), capture_output=True, text=True, check=True)
    return done.stdout


def skipping(name: str, to: str, by: str, **more: Any) -> Document:
    """With another function that does it, or does without it, in its place."""
    return step(name, to, reliability={"fallback": {"executors": [function(by, more.pop("takes", {}))]}}, **more)


def routed(score: int) -> tuple[Shop, Document]:
    """After `score` it goes on to `publish` if that was high, else to `file`; `file` leads to `publish` as well."""
    shop = Shop(score=answers(score), file=answers("filed"), publish=answers("published"))
    states = {"file": step("file", "publish"), "publish": step("publish", "done")}
    return shop, flow(score=step("score", "file", branches={SCORED: "publish"}), **states)


def opened(**functions: Run) -> Shop:
    """`fetch` has crashed three times in a row, in another workflow."""
    shop = Shop(fetch=breaks, **functions)
    shop.publish("crashing", line("fetch"))
    for _ in range(3):
        assert shop.start("crashing")["inDoubt"]["transition"] == "fetch"
    shop.clock.advance(LATER)
    shop.called.clear()
    return shop


def checked(manifest: str, folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    (folder / "manifest.yaml").write_text(manifest)
    code = main(["check", str(folder / "manifest.yaml"), *options])
    return code, capsys.readouterr().out


def linked(seen: Any) -> list[str]:
    return [link["args"].get("transition", link["rel"]) for link in seen["links"]]


def failed_of(seen: Any) -> tuple[str, str]:
    """Why it did not go on, and where it stands."""
    return seen["error"]["message"], seen["state"]


def test_s264_a_workflow_that_its_author_disabled_is_neither_listed_nor_started() -> None:
    shop = Shop(fetch=answers(1))
    shop.publish("other", line("fetch"))
    assert shop.run({**line("fetch"), "enabled": False})["error"]["code"] == "NOT_FOUND"
    assert shop.listed() == ["other"]
    assert shop.called == []


def test_s264_a_workflow_that_an_operator_switched_off_is_not_started_and_what_runs_goes_on() -> None:
    shop = Shop(fetch=answers(1))
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


def test_s265_an_unknown_workflow_is_an_error_with_links_to_look_for_another() -> None:
    refused = Shop().start("nowhere")
    assert refused["error"]["code"] == "NOT_FOUND"
    assert linked(refused) == ["home", "search"]


def test_s266_a_workflow_without_steps_has_ended_when_it_is_started() -> None:
    seen = Shop().run({"initialState": "done", "states": {"done": {"terminal": True}}})
    assert (seen["terminal"], seen["context"], seen["links"]) == (True, {}, [])


def test_s267_one_step_is_run_and_its_result_kept() -> None:
    shop = Shop(fetch=answers({"title": "News"}))
    seen = shop.run(line("fetch"))
    assert (seen["state"], seen["terminal"], seen["context"]) == ("done", True, {"fetch": {"title": "News"}})
    assert shop.called == ["fetch"]


def test_s268_two_steps_are_recorded_in_their_order() -> None:
    shop = Shop(fetch=answers(1), score=answers(2))
    seen = shop.run(line("fetch", "score"))
    assert list(seen["context"].items()) == [("fetch", 1), ("score", 2)]
    assert [(hop["transition"], hop["version"]) for hop in seen["chain"]] == [("fetch", 2), ("score", 3)]
    assert shop.called == ["fetch", "score"]


def test_s269_a_function_that_nobody_hosts_fails_the_step_by_name() -> None:
    shop = Shop(fetch=answers(1))
    seen = shop.run(line("nobody", "fetch"))
    assert seen["error"]["code"] == "CHAIN_FAILED"
    assert failed_of(seen) == ("There is no function work::nobody.", "nobody")
    (told,) = shop.audit(seen, "executor.failed")
    assert (told["transition"], told["error"]) == ("nobody", "There is no function work::nobody.")
    assert shop.called == []


def test_s270_after_a_first_step_that_failed_no_second_one_is_run() -> None:
    shop = Shop(fetch=refuses("The feed is gone."), score=answers(2))
    seen = shop.run(line("fetch", "score"))
    assert failed_of(seen) == ("The feed is gone.", "fetch")
    assert (seen["version"], seen["context"], shop.called) == (1, {}, ["fetch"])


def test_s271_of_a_second_step_that_failed_the_first_is_kept_and_the_error_stays_to_be_read() -> None:
    shop = Shop(fetch=answers(1), score=refuses("The feed is gone."))
    seen = shop.run(line("fetch", "score"))
    assert failed_of(seen) == ("The feed is gone.", "score")
    assert (seen["version"], seen["context"]) == (2, {"fetch": 1})
    assert shop.get(seen)["fault"]["transition"] == "score"
    assert shop.get(seen)["fault"]["message"] == "The feed is gone."


def test_s272_a_function_that_lacks_what_it_works_with_says_so_and_can_be_tried_again() -> None:
    providers: list[str] = []

    def transform(_arguments: Any) -> Any:
        if not providers:
            raise ToolError("There is no provider for this model.")
        return providers[0]

    shop = Shop(transform=transform)
    seen = shop.run(line("transform"))
    assert failed_of(seen) == ("There is no provider for this model.", "transform")
    assert linked(seen) == ["self", "transform"]
    providers.append("a provider")
    again = shop.take(seen, "transform")
    assert (again["state"], again["context"]) == ("done", {"transform": "a provider"})


def test_s273_a_value_that_is_no_path_is_given_as_it_is() -> None:
    shop = Shop(summarise=hands_on)
    takes = {"text": "Summarise it for $5.", "n": 3, "braces": "{input}", "$": [1]}
    assert shop.run(flow(summarise=step("summarise", "done", takes)))["context"] == {"summarise": takes}


@pytest.mark.parametrize("given", [{}, {"text": ""}, {"text": None}])
def test_s274_an_input_that_is_empty_or_not_there_breaks_nothing(given: JsonObject) -> None:
    shop = Shop(summarise=hands_on)
    takes = {"text": "$.workflow.input.text", "deeper": "$.workflow.input.text.of.it", "said": "$.context.nothing"}
    seen = shop.run(flow(summarise=step("summarise", "done", takes)), **given)
    assert seen["context"]["summarise"] == {"text": given.get("text"), "deeper": None, "said": None}


def test_s275_an_input_that_is_a_map_is_given_whole_and_in_a_text_as_json() -> None:
    shop = Shop(summarise=hands_on)
    takes = {"of": "$.workflow.input.item", "prompt": {"concat": ["Summarise ", "$.workflow.input.item"]}}
    item = {"title": "News", "tags": ["ä", None]}
    seen = shop.run(flow(summarise=step("summarise", "done", takes)), item=item)
    prompt = 'Summarise {"title": "News", "tags": ["ä", null]}'
    assert seen["context"]["summarise"] == {"of": item, "prompt": prompt}


@pytest.mark.parametrize(("takes", "given"), [(None, {}), ({}, {}), ({"prompt": ""}, {"prompt": ""})])
def test_s276_a_step_without_settings_or_with_an_empty_text_is_run(takes: Json, given: JsonObject) -> None:
    shop = Shop(summarise=hands_on)
    assert shop.run(flow(summarise=step("summarise", "done", takes)))["context"] == {"summarise": given}


def test_s277_the_same_workflow_twice_is_two_runs() -> None:
    shop = Shop(summarise=hands_on)
    document = flow(summarise=step("summarise", "done", {"n": "$.workflow.input.n"}))
    one, other = shop.run(document, n=1), shop.start(n=2)
    assert one["workflowId"] != other["workflowId"]
    assert [shop.get(seen)["context"]["summarise"]["n"] for seen in (one, other)] == [1, 2]


def test_s278_ten_steps_have_ten_results() -> None:
    names = [f"step_{number}" for number in range(10)]
    shop = Shop(**{name: answers(number) for number, name in enumerate(names)})
    seen = shop.run(line(*names))
    assert seen["context"] == dict(zip(names, range(10), strict=True))
    assert (seen["version"], shop.called) == (11, names)


def test_s279_without_branches_each_step_leads_to_the_next() -> None:
    shop = Shop(a=answers(1), b=answers(2), c=answers(3))
    seen = shop.run(line("a", "b", "c"))
    assert [(hop["fromState"], hop["toState"]) for hop in seen["chain"]] == [("a", "b"), ("b", "c"), ("c", "done")]
    assert shop.audit(seen, "transition.branched") == []


def test_s280_of_each_step_it_is_recorded_which_branch_it_took() -> None:
    shop, document = routed(score=9)
    seen = shop.run(document)
    assert [(hop["transition"], hop["toState"]) for hop in seen["chain"]] == [("score", "publish"), ("publish", "done")]
    assert shop.audit(seen, "transition.branched") == [{"branchIndex": 0, "fromState": "score", "toState": "publish"}]


def test_s281_a_branch_that_passes_leads_past_a_step_which_then_has_no_result() -> None:
    shop, document = routed(score=9)
    seen = shop.run(document)
    assert (seen["state"], seen["context"]) == ("done", {"score": 9, "publish": "published"})
    assert shop.called == ["score", "publish"]


def test_s282_a_problem_that_a_function_answers_leads_elsewhere_and_is_kept() -> None:
    shop = Shop(fetch=answers({"ok": False, "problem": "The feed is gone."}), alert=answers("told"), score=answers(1))
    fetch = step("fetch", "score", branches={"$.context.fetch.ok == false": "alert"})
    seen = shop.run(flow(fetch=fetch, score=step("score", "done"), alert=step("alert", "done")))
    assert (seen["state"], "error" in seen, shop.called) == ("done", False, ["fetch", "alert"])
    assert seen["context"]["fetch"]["problem"] == "The feed is gone."


def test_s282_where_a_step_failed_the_other_ways_on_are_linked_and_lead_to_the_end() -> None:
    shop = Shop(fetch=refuses("The feed is gone."), alert=answers("told"))
    other = {"target": "alert", "inputSchema": {"type": "object", "properties": {"why": {"type": "string"}}}}
    asks = step("fetch", "done", actor="agent")
    asks["transitions"]["give_up"] = {**other, "output": {"problem": "$.arguments.why"}}
    refused = shop.take(shop.run(flow(fetch=asks, alert=step("alert", "done"))), "fetch")
    assert (refused["error"]["code"], linked(refused)) == ("EXECUTOR_FAILED", ["self", "fetch", "give_up"])
    seen = shop.take(refused, "give_up", why=refused["error"]["message"])
    assert (seen["state"], seen["context"]) == ("done", {"problem": "The feed is gone.", "alert": "told"})


def test_s283_where_no_branch_passes_the_run_ends_if_its_step_leads_to_an_end() -> None:
    shop = Shop(score=answers(1), publish=answers("published"))
    score = step("score", "done", branches={SCORED: "publish"})
    seen = shop.run(flow(score=score, publish=step("publish", "done")))
    assert (seen["terminal"], seen["state"], shop.called) == (True, "done", ["score"])


def test_s284_a_branch_may_lead_to_an_end() -> None:
    shop, document = routed(score=9)
    document["states"]["score"] = step("score", "file", branches={SCORED: "done"})
    seen = shop.run(document)
    assert (seen["terminal"], shop.called) == (True, ["score"])


def test_s285_where_no_branch_passes_the_target_of_the_step_counts() -> None:
    shop, document = routed(score=1)
    assert shop.run(document)["state"] == "done"
    assert shop.called == ["score", "file", "publish"]


def test_s286_a_step_that_leads_to_itself_stops_at_the_limit_of_chains_with_a_link_to_go_on() -> None:
    shop = Shop(fetch=answers(1))
    seen = shop.run(flow({"maxChainDepth": 5}, fetch=step("fetch", "fetch")))
    assert (seen["state"], seen["version"], len(shop.called), linked(seen)) == ("fetch", 6, 5, ["fetch"])
    shop.clock.advance(LEASE_OVER)
    shop.sweep()
    assert (shop.get(seen)["version"], len(shop.called)) == (6, 5)


def test_s286_a_loop_that_nothing_ends_is_seen_before_it_is_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    looping = "{initialState: a, states: {a: {transitions: {go: {actor: deterministic, target: a}}}}}"
    code, printed = checked(f"version: 1\nworkflows:\n  looping: {looping}\n", tmp_path, capsys, "--strict")
    assert code == 1
    assert "a → a" in printed


def test_s287_steps_with_and_without_branches_follow_each_other() -> None:
    shop = Shop(a=answers(9), b=answers(2), c=answers(3))
    states = {"a": step("a", "c", branches={"$.context.a > 5": "b"}), "b": step("b", "c"), "c": step("c", "done")}
    assert shop.run(flow(**states))["state"] == "done"
    assert shop.called == ["a", "b", "c"]


def test_s288_a_missing_function_is_passed_over_where_its_author_says_by_what() -> None:
    shop = Shop(skip=answers({"skipped": True}), score=answers(1), alert=answers("told"))
    missing = skipping("nobody", "score", "skip", branches={"$.context.nobody.found == true": "alert"})
    seen = shop.run(flow(nobody=missing, score=step("score", "done"), alert=step("alert", "done")))
    assert (seen["state"], seen["context"]) == ("done", {"nobody": {"skipped": True}, "score": 1})
    assert shop.called == ["skip", "score"]
    (told,) = shop.audit(seen, "fallback.selected")
    assert told["previousError"] == "There is no function work::nobody."


def test_s289_a_step_takes_what_an_earlier_one_answered_by_its_name() -> None:
    shop = Shop(fetch=answers("first"), score=answers("second"), publish=hands_on)
    publish = step("publish", "done", {"text": "$.context.fetch"})
    seen = shop.run(flow(fetch=step("fetch", "score"), score=step("score", "publish"), publish=publish))
    assert seen["context"]["publish"] == {"text": "first"}


def test_s290_after_a_jump_a_step_takes_what_the_one_that_was_run_before_it_answered() -> None:
    shop = Shop(fetch=answers(9), file=answers(0), publish=hands_on)
    kept = {"before": "$.output"}
    states = {
        "fetch": step("fetch", "file", branches={"$.context.before > 5": "publish"}, output=kept),
        "file": step("file", "publish", output=kept),
        "publish": step("publish", "done", {"given": "$.context.before"}),
    }
    seen = shop.run(flow(**states))
    assert (seen["context"]["publish"], shop.called) == ({"given": 9}, ["fetch", "publish"])


def test_s291_the_step_that_a_problem_leads_to_is_given_the_problem() -> None:
    shop = Shop(fetch=answers({"problem": "The feed is gone."}), score=answers(1), alert=hands_on)
    states = {
        "fetch": step("fetch", "score", branches={"$.context.fetch.problem != null": "alert"}),
        "score": step("score", "done"),
        "alert": step("alert", "done", {"why": "$.context.fetch.problem"}),
    }
    assert shop.run(flow(**states))["context"]["alert"] == {"why": "The feed is gone."}
    assert shop.called == ["fetch", "alert"]


def test_s292_while_the_breaker_of_its_function_is_open_a_step_fails_and_says_when_to_come_again() -> None:
    shop = opened(score=answers(1))
    seen = shop.run(line("fetch", "score"))
    assert seen["error"]["code"] == "CHAIN_FAILED"
    assert "not called for a while" in seen["error"]["message"]
    assert seen["error"]["retryAfterMs"] > 0
    assert (linked(seen), "inDoubt" in seen, shop.called) == (["self", "fetch"], False, [])


def test_s292_a_step_whose_breaker_is_open_may_be_skipped_with_what_came_before_it() -> None:
    shop = opened(first=answers("first"), keep=lambda arguments: arguments["text"], score=hands_on)
    fetch = skipping("fetch", "score", "keep", takes={"text": "$.context.first"})
    score = step("score", "done", {"text": "$.context.fetch"})
    seen = shop.run(flow(first=step("first", "fetch"), fetch=fetch, score=score))
    assert (seen["context"]["score"], shop.called) == ({"text": "first"}, ["first", "keep", "score"])


def test_s292_while_the_breaker_is_open_another_function_does_it() -> None:
    shop = opened(other=answers("by another"))
    seen = shop.run(flow(fetch=skipping("fetch", "done", "other")))
    assert (seen["state"], seen["context"], shop.called) == ("done", {"fetch": "by another"}, ["other"])


def test_s292_another_function_that_nobody_hosts_fails_the_step() -> None:
    shop = opened()
    seen = shop.run(flow(fetch=skipping("fetch", "done", "nobody")))
    assert failed_of(seen) == ("There is no function work::nobody.", "fetch")


def test_s294_of_each_step_it_is_recorded_what_came_of_it_where_it_led_and_when() -> None:
    def slow(_arguments: Any) -> Any:
        shop.clock.advance(2)
        return 9

    shop = Shop(score=slow, publish=slow, alert=refuses("Nobody is there."))
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


def test_s295_a_step_is_stopped_after_the_time_that_its_author_gives_it() -> None:
    shop = Shop(fetch=sleeps)
    began = time.monotonic()
    seen = shop.run(flow(fetch=step("fetch", "done", reliability={"timeoutMs": 200})))
    assert time.monotonic() - began < 10
    assert seen["error"]["errorClass"] == "timeout"
    assert (seen["state"], seen["inDoubt"]["transition"]) == ("fetch", "fetch")


@pytest.mark.parametrize("harmful", [sleeps, breaks])
def test_s296_a_function_that_hangs_or_raises_is_bounded_and_another_takes_its_place(harmful: Run) -> None:
    shop = Shop(fetch=harmful, alert=answers("told"), score=hands_on)
    fetch = skipping("fetch", "score", "alert")
    fetch["transitions"]["fetch"]["reliability"]["timeoutMs"] = 200
    fetch["transitions"]["fetch"]["executor"]["idempotent"] = True
    seen = shop.run(flow(fetch=fetch, score=step("score", "done", {"given": "$.context.fetch"})))
    assert (seen["state"], seen["context"]["score"]) == ("done", {"given": "told"})
    assert shop.called == ["fetch", "alert", "score"]


def test_s297_what_a_run_comes_to_is_what_the_last_step_that_was_run_says() -> None:
    shop = Shop(score=answers(9), early=answers("the last"), late=answers("never"))
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
def test_s298_what_leads_nowhere_or_stands_twice_is_refused_before_it_is_published(
    states: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = f"version: 1\nworkflows:\n  ill:\n    initialState: a\n    states: {{{states}}}\n"
    code, printed = checked(manifest, tmp_path, capsys)
    assert code == 1
    (error,) = [one for one in printed.splitlines() if ": error: " in one]
    assert said in error


def test_s298_what_is_sent_past_the_check_is_refused_by_the_registry_too() -> None:
    broken = flow(a={"transitions": {"go": {"target": "nowhere"}}})
    refused = Shop().administer("manifest::bodies", {"definitions": {"version": 1, "workflows": {"ill": broken}}})
    assert isinstance(refused, RegistryRefusal)
    assert "nowhere" in refused.message


def test_s300_what_was_under_way_when_its_gateway_died_is_shown_and_goes_on_when_somebody_says_what_came_of_it() -> (
    None
):
    shop = Shop(pay=answers("paid"), score=hands_on)
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


def test_s300_a_worker_that_dies_is_followed_by_another_where_the_author_allows_it_to_be_done_twice() -> None:
    shop = Shop(digest=answers("digested"), score=answers(1))
    slow = {**CONSENT, "timeoutMs": 100_000}
    begun = shop.run(flow(digest=step("digest", "score", reliability=slow), score=step("score", "done")))
    assert (begun["pending"]["transition"], shop.called) == ("digest", [])
    shop.deaths = 1
    with pytest.raises(Crash):
        shop.sweep()
    assert shop.get(begun)["pending"]["transition"] == "digest"
    shop.clock.advance(LEASE_OVER)
    shop.sweep()
    seen = shop.get(begun)
    assert (seen["state"], seen["context"]) == ("done", {"digest": "digested", "score": 1})
    assert shop.called == ["digest", "digest", "score"]


def test_s300_what_nobody_goes_on_with_is_ended_by_its_deadline() -> None:
    shop = Shop(fetch=answers(1))
    waits: Document = {"transitions": {"go": {"target": "fetch"}}}
    ends = {"timeoutMs": 60_000, "onTimeout": {"target": "late"}}
    begun = shop.run(flow(ends, wait=waits, fetch=step("fetch", "done"), late={"terminal": True}))
    shop.clock.advance(61)
    shop.sweep()
    assert shop.audit(begun, "workflow.timed_out")
    assert (shop.get(begun)["state"], shop.get(begun)["terminal"]) == ("late", True)


def test_s301_whoever_starts_a_workflow_twice_for_the_same_occasion_starts_it_once() -> None:
    shop = Shop(fetch=answers(1))
    waits: Document = {"transitions": {"go": {"target": "fetch"}}}
    shop.publish(FLOW, flow(wait=waits, fetch=step("fetch", "done")))

    def due(occasion: str) -> Any:
        return shop.call("workflow.start", {"definitionId": FLOW, "input": {}, "clientToken": occasion}, "agent")

    monday, again, tuesday = due("monday"), due("monday"), due("tuesday")
    assert monday["workflowId"] == again["workflowId"]
    assert tuesday["workflowId"] != monday["workflowId"]
    assert {shop.get(seen)["state"] for seen in (monday, tuesday)} == {"wait"}


def test_s302_a_workflow_runs_the_commands_that_a_function_lists_and_no_other() -> None:
    shop = Shop({"shell": LISTED}, shell=executes)
    for command in COMMANDS:
        seen = shop.run(flow(shell=step("shell", "done", {"command": "$.workflow.input.command"})), command=command)
        assert (seen["state"], bool(seen["context"]["shell"].strip())) == ("done", True)
    refused = shop.start(command="env")
    assert (refused["state"], "command" in refused["error"]["message"]) == ("shell", True)
    assert "inDoubt" not in refused
    assert shop.called == ["shell", "shell"]
