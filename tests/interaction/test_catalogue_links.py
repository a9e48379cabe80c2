"""The fidelity of the links that find things: from `gateway.home` on, every link is accepted, and leads to everything
that its caller can start, read, render or continue. In generated catalogues, with runs that schedules have started."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from signpost.adapters.memory import MemoryDirectory
from signpost.calling import wire
from signpost.content.callers import Caller
from signpost.content.model import Skill, StoredPrompt
from signpost.contract import Executor, HostedFunction, Result
from signpost.mcp.names import simplify_name
from signpost.model import PROXY_WORKFLOW, JsonObject, Principal
from signpost.workflow.engine.permissions import CANCEL
from tests.support.effort import count_examples
from tests.support.line_output import ShowLine
from tests.support.link_tally import LinkTally
from tests.support.random_catalogues import GUEST_ROLE, RandomCatalogue, generate_catalogue
from tests.support.scheduled_gateway import TENANT, ScheduledGateway
from tests.support.schema_values import generate_arguments

pytestmark = pytest.mark.no_cover

BLOCKS, CATALOGUES = 2, count_examples(4)
NOON, HOUR = datetime(2026, 6, 1, 12, tzinfo=UTC), 3600
YARD = Executor("arn:yard", "secret:yard", 60_000)
RENDER = HostedFunction("yard::render", hidden=True)
PROTOCOL_METHODS = ("resources/read", "prompts/get")
HIDDEN_TOOLS = ("skill__fetch",)
WORKFLOWS_URI = "signpost://workflows"
CALLERS: Mapping[str, Sequence[str]] = {"agent": (), "guest": (GUEST_ROLE,)}
"""The roles of each caller."""

type Move = tuple[str, str]
"""What a link does (start, read, render, continue), and to which thing."""


class CatalogueWorld:
    """A tenant with the content of a generated catalogue, an hour later."""

    def __init__(self, catalogue: RandomCatalogue, *, portable_names: bool) -> None:
        self.catalogue = catalogue
        self.timed = ScheduledGateway(NOON)
        self._gateway = self.timed.gateway
        self._query = {"names": "portable"} if portable_names else {}
        self._components = {one.function: one.component for one in catalogue.hosted}
        self._gateway.executors[YARD.arn] = self._answer
        assert MemoryDirectory(self._gateway.functions).place(TENANT, YARD, [*catalogue.hosted, RENDER]) == []
        self._register()
        self.timed.publish(**catalogue.manifest)
        self.timed.sweep_and_work()
        self.timed.clock.advance(HOUR)
        self.timed.sweep_and_work()
        self.scheduled = {run.id: run.definition_id for run in self.timed.runs}
        """The workflows of the runs that schedules have started, by run."""

    def request(self, caller: str, method: str, params: JsonObject) -> Any:
        credential = self._gateway.make_token(sub=caller, tenant=TENANT, roles=list(CALLERS[caller]))
        return self._gateway.request(method, params, credential=credential, query=self._query).json

    def _register(self) -> None:
        documents = self._gateway.composition.documents
        author = Caller(TENANT, Principal("author", TENANT, "tests"), 0)
        for skill_id, body in self.catalogue.documents.items():
            assert isinstance(documents.skills.register(skill_id, body, author), Skill)
        for name, arguments in self.catalogue.prompts.items():
            stored = documents.prompts.register(name, "Asks.", RENDER.function, arguments, author)
            assert isinstance(stored, StoredPrompt), stored

    def _answer(self, message: JsonObject) -> JsonObject:
        call: Any = message["call"]
        component = self._components.get(call["function"])
        form = "prompt" if call["function"] == RENDER.function else "" if component is None else component.kind
        said: JsonObject = {"role": "user", "content": {"type": "text", "text": "Well."}}
        values: Mapping[str, Any] = {
            "": call["arguments"],
            "prompt": {"messages": [said]},
            "resource": {"contents": [{"text": "Green."}]},
            "template": {"contents": [{"text": "Green."}]},
        }
        return wire.reply_message(Result(values[form]))


@dataclass(slots=True)
class Visit:
    """What one caller learns by following every link, beginning with `gateway.home`."""

    world: CatalogueWorld
    caller: str
    random: Random
    tally: LinkTally
    moves: set[Move] = field(default_factory=set[Move])
    listed: dict[str, str] = field(default_factory=dict[str, str])

    def follow_everything(self) -> None:
        tools = self.world.request(self.caller, "tools/list", {})["result"]["tools"]
        self.listed = {simplify_name(tool["name"]): tool["name"] for tool in tools}
        for item in [*self._list_items()]:
            self._visit(item)
        for workflow in self._read_overview(WORKFLOWS_URI)["workflows"]:
            shown = self._read_overview(f"{WORKFLOWS_URI}/{workflow['id']}")
            for link in shown["links"]:
                self._follow(link, shown.get("inputSchema", {}))

    def try_everything(self) -> None:
        """Try what could be possible without any link, and compare it with the links."""
        for move, method, params in self._list_moves():
            if not self._is_accepted(self.world.request(self.caller, method, params)):
                assert move not in self.moves, f"{self.caller} {move} was accepted, and is not"
            elif move[1] in self._hidden_names():
                self.tally.outside["hidden, and called by name"] += 1
            elif move[1] in self._runs_of_denied_workflows():
                self.tally.outside["runs of workflows that policy denies, and read by id"] += 1
            else:
                self.tally.possible += 1
                self.tally.linked += move in self.moves
                if move not in self.moves:
                    self.tally.violations.append(f"{self.caller}: not linked, but possible: {move}")

    def _list_items(self) -> Iterator[Any]:
        home, _ = self._call(self.listed["gateway_home"], {})
        yield from home["items"]
        for link in home["links"]:
            pages: list[Any] = [link]
            while pages:
                answer, _ = self._follow(pages.pop())
                yield from [result["item"] for result in answer.get("results", [])]
                pages = [following for following in answer.get("links", []) if following["rel"] == "next"]
        found, _ = self._call(self.listed["gateway_search"], {"query": "", "limit": 200})
        yield from (result["item"] for result in found["results"])

    def _visit(self, item: Any) -> None:
        params: JsonObject = {"id": item["id"], "kind": item["kind"]}
        described, accepted = self._call(self.listed["gateway_describe"], params)
        if not accepted:
            self.tally.violations.append(f"{self.caller}: listed, but not described: {item}")
            return
        schema = described["links"][0].get("input_schema", {})
        for link in [*item["links"], *described["links"]]:
            self._follow(link, schema)

    def _read_overview(self, uri: str) -> Any:
        read = self.world.request(self.caller, "resources/read", {"uri": uri})
        return json.loads(read["result"]["contents"][0]["text"])

    def _follow(self, link: Any, schema: Any = None) -> tuple[Any, bool]:
        """Follow a link, with generated values where it is to be filled in, and the links of a run that it answers."""
        args = _fill_in(link, schema or {}, self.random)
        answer, accepted = self._call(link["method"], args)
        self.tally.followed += 1
        self.tally.accepted += accepted
        if not accepted:
            self.tally.violations.append(f"{self.caller}: linked, but refused: {link} with {args}: {answer}")
            return answer, accepted
        self._remember(link)
        for transition in _links_of_run(answer):
            if transition["args"]["transition"] != CANCEL:
                self._follow_transition(transition)
        if link["rel"] == "start":
            self._cancel(answer["workflowId"])
        return answer, accepted

    def _cancel(self, workflow_id: str) -> None:
        """Cancel a run that the caller has started, by the link that every answer has in which it can be cancelled."""
        seen, _ = self._call(self.listed["workflow_get"], {"workflowId": workflow_id})
        links = [link for link in seen["links"] if link["args"].get("transition") == CANCEL]
        is_possible = not seen.get("terminal")
        self.tally.possible += is_possible
        self.tally.linked += is_possible and len(links) == 1
        if is_possible != (len(links) == 1):
            self.tally.violations.append(f"{self.caller}: cancelled or not against the rule: {seen}")
        for link in links:
            self._follow_transition(link)
            self.tally.cancelled += 1

    def _follow_transition(self, link: Any) -> None:
        made = generate_arguments(link["inputSchema"], link["args"]["arguments"], self.random)
        assert made is not None
        _, accepted = self._call(link["method"], {**link["args"], "arguments": made.value})
        self.tally.followed += 1
        self.tally.accepted += accepted
        if not accepted:
            self.tally.violations.append(f"{self.caller}: linked, but refused: {link}")

    def _remember(self, link: Any) -> None:
        args, rel = link["args"], link["rel"]
        if rel == "start":
            name = args["definitionId"]
            self.moves.add(("start", args["input"]["capability"] if name == PROXY_WORKFLOW else name))
        elif rel in ("read", "doc"):
            self.moves.add(("read", args.get("uri", "")))
        elif rel == "render":
            self.moves.add(("render", args["name"]))
        elif rel == "self":
            self.moves.add(("continue", args["workflowId"]))

    def _call(self, method: str, params: JsonObject) -> tuple[Any, bool]:
        if method in PROTOCOL_METHODS:
            answer = self.world.request(self.caller, method, params)
            return answer, self._is_accepted(answer)
        if method not in {*self.listed.values(), *HIDDEN_TOOLS}:
            self.tally.violations.append(f"a link names {method}, the list {sorted(self.listed.values())}")
        answer = self.world.request(self.caller, "tools/call", {"name": method, "arguments": params})
        return answer.get("result", answer).get("structuredContent", answer), self._is_accepted(answer)

    def _is_accepted(self, answer: Any) -> bool:
        result = answer.get("result", {"isError": True})
        return not result.get("isError") and "error" not in result.get("structuredContent", {})

    def _hidden_names(self) -> set[str]:
        published = {one["name"] for one in self.world.catalogue.manifest.get("proxy", {}).get("expose", [])}
        return {str(one.name) for one in self.world.catalogue.hosted if one.hidden} - published

    def _runs_of_denied_workflows(self) -> set[str]:
        denied = set(self.world.catalogue.manifest["policies"].get("no", {}).get("what", []))
        is_guest = GUEST_ROLE in CALLERS[self.caller]
        return {run for run, name in self.world.scheduled.items() if is_guest and f"workflow:{name}" in denied}

    def _list_moves(self) -> Iterator[tuple[Move, str, JsonObject]]:
        catalogue, start, get = self.world.catalogue, self.listed["workflow_start"], self.listed["workflow_get"]
        for name, document in catalogue.manifest["workflows"].items():
            made = generate_arguments(document.get("inputSchema", {"type": "object"}), {}, self.random)
            assert made is not None
            yield ("start", name), "tools/call", _build_call(start, definitionId=name, input=made.value)
        exposed = [one["name"] for one in catalogue.manifest.get("proxy", {}).get("expose", [])]
        for name in {*exposed, *(str(one.name) for one in catalogue.hosted if one.component is None)}:
            arguments: JsonObject = {"capability": name}
            yield ("start", name), "tools/call", _build_call(start, definitionId=PROXY_WORKFLOW, input=arguments)
        for document in catalogue.documents:
            yield ("read", f"iii://{document}"), "resources/read", {"uri": f"iii://{document}"}
        yield from self._list_component_moves()
        for run in self.world.scheduled:
            yield ("continue", run), "tools/call", _build_call(get, workflowId=run)

    def _list_component_moves(self) -> Iterator[tuple[Move, str, JsonObject]]:
        required: JsonObject = {"tree": "oak", "size": "tall"}
        components = [(one, one.component) for one in self.world.catalogue.hosted if one.component is not None]
        declared = {str(one.name) for one, component in components if component.kind == "prompt"}
        for name in sorted({*self.world.catalogue.prompts, *declared}):
            yield ("render", name), "prompts/get", {"name": name, "arguments": required}
        for _, component in components:
            if component.kind != "prompt":
                yield ("read", str(component.uri)), "resources/read", {"uri": str(component.uri).replace("{n}", "1")}


def _build_call(tool: str, **arguments: Any) -> JsonObject:
    return {"name": tool, "arguments": arguments}


def _fill_in(link: Any, schema: Any, random: Random) -> JsonObject:
    """Return the arguments of a link, with generated values where it is to be filled in."""
    args = dict(link["args"])
    member = {"start": "input", "render": "arguments"}.get(link["rel"])
    if member is not None:
        made = generate_arguments(schema or {"type": "object"}, {}, random)
        assert made is not None
        args[member] = {**made.value, **args[member]}
    if "uriTemplate" in link:
        args["uri"] = str(args["uri"]).replace("{n}", "1")
    return args


def _links_of_run(answer: Any) -> Sequence[Any]:
    """Return the transitions of an answer that shows a run."""
    return [link for link in answer["links"] if link["rel"] == "transition"] if "workflowId" in answer else []


def explore(block: int, *, portable_names: bool) -> LinkTally:
    random, tally = Random(f"catalogue {block}"), LinkTally()  # noqa: S311 - for a test to be the same every time
    for _ in range(CATALOGUES):
        catalogue = generate_catalogue(random)
        for caller in CALLERS:
            world = CatalogueWorld(catalogue, portable_names=portable_names)
            tally.besides["runs that schedules have started"] += len(world.scheduled)
            visit = Visit(world, caller, random, tally)
            visit.follow_everything()
            visit.try_everything()
    return tally


@pytest.mark.invariant(143)
@pytest.mark.parametrize("portable_names", [False, True], ids=["as named", "portable"])
@pytest.mark.parametrize("block", range(BLOCKS))
def test_links_of_generated_catalogues_are_sound_and_complete(
    block: int, portable_names: bool, show_line: ShowLine
) -> None:
    tally = explore(block, portable_names=portable_names)
    show_line(f"generated catalogues, block {block}{', portable names' if portable_names else ''}: {tally}")
    assert tally.is_whole, "\n".join(tally.violations[:5])
    assert tally.followed > 40 * CATALOGUES
    assert tally.possible > 15 * CATALOGUES
    assert tally.cancelled > 10 * CATALOGUES
    assert tally.besides["runs that schedules have started"] > CATALOGUES
