"""Warnings about entries that can never work as they are published: the registry finds them with the functions, the
documents and the rules of the tenant. They keep nothing from being published unless the publication is strict."""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from signpost.catalogue.publishing.entry_references import EntryReferenceJudge
from signpost.catalogue.publishing.publish_functions import PublishFunctions
from signpost.catalogue.publishing.publisher import Publisher
from signpost.catalogue.publishing.reference_warnings import ReferenceJudge
from signpost.cli import main, remote
from signpost.cli.publish.collection import CollectedPublication
from signpost.cli.publish.upload import RemotePublisher
from signpost.content.api.errors import RegistryRefusal
from signpost.content.api.functions import RegistryFunctions
from signpost.model import Json, JsonObject, as_object
from signpost.wiring.registry_documents import read_executor_kinds
from tests.support.catalogues import build_catalogue_publisher
from tests.support.registry import TENANT, CountingTimestamps, MemoryRegistry

PRICE = "shop::price"
PROMPT: JsonObject = {"name": "ask", "description": "Asks for a price.", "function_id": "shop::prise"}
TRIGGER: JsonObject = {"trigger_type": "skills::on-change", "function_id": "shop::prise", "config": {}}
TAKES_NOTHING: JsonObject = {"type": "object", "additionalProperties": False}
UNHOSTED = (
    "no executor hosts the function 'shop::prise', so calls of it fail until one does; did you mean 'shop::price'?"
)


def step(executor: JsonObject, **fields: Json) -> JsonObject:
    return {"target": "b", "inputSchema": TAKES_NOTHING, "executor": executor, **fields}


def workflow(executor: JsonObject, **fields: Json) -> JsonObject:
    states: JsonObject = {"a": {"transitions": {"go": step(executor, **fields)}}, "b": {"terminal": True}}
    return {"initialState": "a", "states": states}


def function(name: str) -> JsonObject:
    return {"kind": "function", "function": name}


def capability(name: str) -> JsonObject:
    return {"target": "ready", "title": "Price", "inputSchema": TAKES_NOTHING, "executor": function(name),
            "output": {"lastResult": "$.output"}}  # fmt: skip


class ReferenceStage(MemoryRegistry):
    """The functions that publish, for a tenant that hosts one function."""

    def __init__(self) -> None:
        super().__init__()
        self.host(PRICE, "5")
        judge = ReferenceJudge(functions=self.function_lists, kinds=read_executor_kinds)
        publisher = Publisher(
            content=self.content,
            catalogues=build_catalogue_publisher(self.content),
            bodies=self.bodies,
            timestamps=CountingTimestamps(),
            references=judge,
        )
        self.manifests = PublishFunctions(publisher)
        self.functions = RegistryFunctions(
            skills=self.skills, prompts=self.prompts, references=EntryReferenceJudge(judge)
        )
        self.lines: list[str] = []

    def invoke(self, name: str, payload: JsonObject) -> Any:
        return self.manifests.call(f"manifest::{name}", payload, self.make_caller(TENANT))

    def call_registry(self, name: str, payload: JsonObject) -> JsonObject:
        answer = self.manifests.call(name, payload, self.make_caller(TENANT))
        assert not isinstance(answer, RegistryRefusal), answer
        return as_object(answer)

    def publish(self, *, is_preview: bool = False, strict: bool = False, **parts: Any) -> Sequence[str]:
        """Publish as the command does, and return the lines that it shows."""
        bodies, prompts, triggers = (parts.pop(name, None) for name in ("bodies", "prompts", "triggers"))
        definitions: Any = parts
        publication = CollectedPublication(
            bodies=bodies, prompts=prompts, triggers=triggers, definitions=definitions, strict=strict
        )
        lines: list[str] = []
        publisher = RemotePublisher(self.call_registry, show_line=lines.append)
        planned = publisher.plan(publication, prune=False)
        apply = publisher.preview if is_preview else publisher.publish
        apply(publication, planned, prune=False)
        return lines

    def codes(self, payload: JsonObject) -> Sequence[tuple[str, str, str]]:
        answer = self.invoke("publish", payload)
        assert not isinstance(answer, RegistryRefusal), answer
        return [(entry["code"], entry["kind"], entry["id"]) for entry in answer.get("warnings", [])]


@pytest.fixture
def stage() -> ReferenceStage:
    return ReferenceStage()


UNHOSTED_CASES: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "step": ({"workflows": {"buy": workflow(function("shop::prise"))}}, f"workflow buy: warning: a.go: {UNHOSTED}"),
    "fallback": (
        {"workflows": {"buy": workflow(
            function(PRICE), reliability={"fallback": {"executors": [function("shop::prise")]}})}},
        f"workflow buy: warning: a.go: {UNHOSTED}",
    ),
    "onEnter": (
        {"workflows": {"buy": {"initialState": "a", "states": {
            "a": {"onEnter": {"executor": function("shop::prise")}, "terminal": True}}}}},
        f"workflow buy: warning: a.onEnter: {UNHOSTED}",
    ),
    "capability": ({"capabilities": {"cost": capability("shop::prise")}}, f"capability cost: warning: {UNHOSTED}"),
    "prompt": ({"prompts": [PROMPT]}, f"prompt ask: warning: {UNHOSTED}"),
    "trigger": ({"triggers": [TRIGGER]}, f"trigger shop::prise: warning: {UNHOSTED}"),
}  # fmt: skip


@pytest.mark.invariant(129)
@pytest.mark.parametrize(("parts", "line"), UNHOSTED_CASES.values(), ids=UNHOSTED_CASES)
@pytest.mark.parametrize("is_preview", [True, False], ids=["dry run", "publication"])
def test_a_function_that_no_executor_hosts_is_named(
    stage: ReferenceStage, parts: Mapping[str, Any], line: str, *, is_preview: bool
) -> None:
    assert stage.publish(is_preview=is_preview, **parts) == [f"{line} [unhosted_function]"]
    stage.host("shop::prise", "5")
    assert stage.publish(**parts) == []


def test_a_function_that_was_deployed_just_before_the_publication_is_found(stage: ReferenceStage) -> None:
    assert len(stage.publish(prompts=[PROMPT])) == 1
    stage.host("shop::prise", "5")
    assert stage.publish(prompts=[PROMPT]) == []


@pytest.mark.invariant(129)
@pytest.mark.parametrize(("parts", "line"), UNHOSTED_CASES.values(), ids=UNHOSTED_CASES)
def test_a_strict_publication_of_an_unhosted_function_is_refused(
    stage: ReferenceStage, parts: Mapping[str, Any], line: str
) -> None:
    before = stage.content.catalogue(TENANT), stage.content.prompts(TENANT), stage.content.subscriptions(TENANT)
    with pytest.raises(AssertionError, match="unhosted_function"):
        stage.publish(strict=True, **parts)
    after = stage.content.catalogue(TENANT), stage.content.prompts(TENANT), stage.content.subscriptions(TENANT)
    assert after == before
    assert line


@pytest.mark.invariant(129)
@pytest.mark.parametrize("kind", ["rest", "mcp", "cli"])
def test_kinds_of_executors_that_nothing_runs_are_named(stage: ReferenceStage, kind: str) -> None:
    idle: JsonObject = {"kind": kind, "connection": "hub"}
    lines = stage.publish(
        workflows={"buy": workflow(idle)},
        capabilities={"cost": {**capability(PRICE), "executor": idle}},
        connections={"hub": {"kind": kind}},
    )
    assert [line.partition(": warning")[0] for line in lines] == ["connection hub", "workflow buy", "capability cost"]
    assert all(line.endswith("[idle_kind]") for line in lines)


@pytest.mark.parametrize("kind", ["noop", "human", "workflow", "stub"])
def test_kinds_that_run_and_kinds_that_a_deployment_adds_are_not_named(stage: ReferenceStage, kind: str) -> None:
    assert stage.publish(workflows={"buy": workflow({"kind": kind, "definitionId": "buy"})}) == []


LINKS = """# Prices

See [the guide](iii://shop/gide), iii://shop/price. and <iii://shop/guides>.
Sections: iii://fn/shop/price, iii://fn/shop/prise, iii://fn/shop/list and iii://fn/skills/list.
All: iii://skills. A form: iii://shop/{id}, `iii://shop/code`.

```
iii://shop/fenced
```
"""


MISSING = "there is no such document; did you mean 'shop/guide'?"
DEAD: Sequence[tuple[int, str, str]] = [
    (3, "iii://shop/gide", MISSING),
    (3, "iii://shop/guides", MISSING),
    (4, "iii://fn/shop/prise", "no executor hosts the function 'shop::prise'; did you mean 'shop::price'?"),
    (4, "iii://fn/shop/list", "the function 'shop::list' is not declared readable"),
    (
        4,
        "iii://fn/skills/list",
        "'skills::list' is in an internal namespace and cannot be called here. Use another one.",
    ),
]
"""The lines, the links and the reasons."""


def test_links_that_lead_nowhere_are_named_with_their_lines(stage: ReferenceStage) -> None:
    stage.host("shop::list", "5", readable=False)
    stage.publish(bodies={"shop/guide": "# Guide"})
    lines = stage.publish(bodies={"shop/price": "# Price", "shop/all": LINKS})
    found = [line.removeprefix("skill shop/all: line ").removesuffix(" [dead_link]") for line in lines]
    assert found == [f"{line}: warning: {link} leads nowhere: {reason}" for line, link, reason in DEAD]


def test_a_link_to_a_shipped_document_leads_somewhere(stage: ReferenceStage) -> None:
    stage.manifests.call(
        "manifest::publish", {"skills": [{"id": "core/web", "skill": "# Web"}]}, stage.make_caller(None)
    )
    assert stage.publish(bodies={"a": "See iii://core/web."}) == []


def rules(**rule: Json) -> JsonObject:
    return {"guests": {"kind": "deny", "who": ["role:guest"], **rule}}


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("skill:prise", "; did you mean 'skill:price'?"),
        ("shop::prise", "; did you mean 'shop::price'?"),
        ("workflow:bye", "; did you mean 'workflow:buy'?"),
        ("capability:prices", "; did you mean 'capability:price'?"),
        ("connection:hub", ""),
    ],
)
def test_a_rule_about_nothing_is_named(stage: ReferenceStage, pattern: str, hint: str) -> None:
    stage.publish(workflows={"buy": workflow(function(PRICE))}, capabilities={"price": capability(PRICE)})
    [line] = stage.publish(policies=rules(what=[pattern]))
    assert line == (
        f"policy guests: warning: its `what` names {pattern!r}, which does not exist{hint} [rule_about_nothing]"
    )


@pytest.mark.parametrize(
    "pattern",
    [
        "skill:price",
        "shop::price",
        "workflow:buy",
        "capability:other",
        "capability:price",
        "skill:pri*",
        "*",
        "iii://shop/all",
        "x",
    ],
)
def test_a_rule_about_something_or_about_patterns_is_not_named(stage: ReferenceStage, pattern: str) -> None:
    stage.publish(workflows={"buy": workflow(function(PRICE))}, capabilities={"other": capability("shop::else")})
    codes = stage.codes({"policies": rules(what=[pattern])})
    assert [code for code, _, _ in codes] == []


@pytest.mark.parametrize("executor", [{"kind": "noop"}, function("shop::prize")])
def test_a_capability_that_hides_a_skill_is_named(stage: ReferenceStage, executor: JsonObject) -> None:
    stage.host("shop::prize", "5")
    [line] = stage.publish(capabilities={"price": {**capability(PRICE), "executor": executor}})
    assert line == (
        "capability price: warning: it hides the callable skill of this name, which is the function 'shop::price': at "
        "/mcp clients find and start the capability only. Rename one of them [shadowed_skill]"
    )


def test_a_capability_that_stands_for_a_skill_hides_none(stage: ReferenceStage) -> None:
    assert stage.publish(capabilities={"price": capability(PRICE), "cost": capability(PRICE)}) == []


def test_a_rule_about_a_workflow_of_the_same_publication_is_not_named(stage: ReferenceStage) -> None:
    parts: Mapping[str, Any] = {"workflows": {"buy": {**workflow(function(PRICE)), "title": "Buy it"}}}
    assert stage.publish(**parts, policies=rules(what=["workflow:Buy it", "workflow:buy"])) == []


@pytest.mark.invariant(129)
@pytest.mark.parametrize("name", ["skill:price", "shop::price", "shop__price", "skill:*"])
def test_a_capability_in_front_of_a_denied_function_is_named(stage: ReferenceStage, name: str) -> None:
    stage.publish(policies=rules(what=[name]))
    [line] = stage.publish(capabilities={"cost": capability(PRICE)})
    assert line == (
        "capability cost: warning: it calls the function 'shop::price', which the rule 'guests' denies, and no rule "
        "denies the capability itself: callers reach the function through it. Name the capability in the rule too, or "
        "guard it [denied_function]"
    )


def test_a_rule_that_comes_after_the_capability_names_it_too(stage: ReferenceStage) -> None:
    stage.publish(capabilities={"cost": capability(PRICE)})
    assert stage.codes({"policies": rules(what=["skill:price"])}) == [("denied_function", "capability", "cost")]
    assert stage.codes({"policies": rules(what=["skill:price", "capability:cost"])}) == []


@pytest.mark.parametrize(
    ("who", "is_covered"),
    [(["role:guest"], True), (["*"], True), (["role:guest", "role:x"], True), (["role:x"], False)],
)
def test_another_rule_may_cover_the_capability(stage: ReferenceStage, who: list[Json], *, is_covered: bool) -> None:
    stage.publish(capabilities={"cost": capability(PRICE)})
    other: JsonObject = {"front": {"kind": "deny", "who": who, "what": ["capability:cost"]}}
    assert bool(stage.codes({"policies": {**rules(what=["skill:price"]), **other}})) != is_covered


@pytest.fixture
def connected(stage: ReferenceStage, monkeypatch: pytest.MonkeyPatch) -> ReferenceStage:
    """A stage that commands reach as a deployed stack of any name."""

    @contextmanager
    def connect(_stack: str, _url: str | None, _show_line: object) -> Generator[Any]:
        yield stage.call_registry

    monkeypatch.setattr(remote, "connect_registry", connect)
    return stage


def test_a_check_against_a_stack_names_what_the_stack_does_not_have(
    connected: ReferenceStage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({"version": 1, "workflows": {"buy": workflow(function("shop::prise"))}}))
    assert main(["check", str(path), "--strict"]) == 0
    assert main(["check", str(path), "--stack", "any"]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{path}:1:1: warning: workflow buy: a.go: {UNHOSTED} [unhosted_function]\n"
    assert main(["check", str(path), "--stack", "any", "--strict"]) == 1
    assert connected.content.catalogue(TENANT) is None
    connected.host("shop::prise", "5")
    assert main(["check", str(path), "--stack", "any", "--strict"]) == 0


def test_a_check_against_a_stack_names_a_finding_once(
    connected: ReferenceStage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del connected  # it must be there
    path = tmp_path / "manifest.json"
    idle: JsonObject = {"kind": "cli", "command": "true"}
    manifest = {"version": 1, "workflows": {"buy": workflow(idle)}, "connections": {"hub": {"kind": "cli"}}}
    path.write_text(json.dumps(manifest))
    assert main(["check", str(path), "--stack", "any", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["warnings"]
    assert [warning["code"] for warning in found] == ["idle_kind", "idle_kind"]


def test_a_dry_run_shows_the_warnings_and_publishes_nothing(
    connected: ReferenceStage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "prompts.json").write_text(json.dumps([PROMPT]))
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills/guide.md").write_text("# Guide\n\nSee iii://shop/none.\n")
    assert main(["publish", str(tmp_path), "--dry-run"]) == 0
    shown = capsys.readouterr().err
    assert f"prompt ask: warning: {UNHOSTED} [unhosted_function]\n" in shown
    assert "skill guide: line 3: warning: iii://shop/none leads nowhere" in shown
    assert (connected.content.skills(TENANT), connected.content.prompts(TENANT)) == ([], [])


LEADS_NOWHERE: JsonObject = {"trigger_type": "skills::on-change", "workflow": "bye", "config": {}}


@pytest.mark.invariant(132)
@pytest.mark.parametrize(
    "payload",
    [
        {"skills": [{"id": "a", "skill": "# A"}], "prompts": [PROMPT]},
        {"skills": [{"id": "a", "skill": "# A"}], "triggers": [LEADS_NOWHERE]},
        {"prompts": [PROMPT], "strict": True},
        {"workflows": [{"id": "buy", "digest": "0" * 64}]},
    ],
)
def test_a_dry_run_has_the_answer_of_the_publication_and_changes_nothing(
    stage: ReferenceStage, payload: JsonObject
) -> None:
    tried = stage.invoke("publish", {**payload, "dry_run": True})
    assert stage.content.skills(TENANT) == stage.content.prompts(TENANT) == []
    assert stage.content.subscriptions(TENANT) == []
    assert stage.bodies.kept_digests == []
    done = stage.invoke("publish", payload)
    if isinstance(done, RegistryRefusal):
        assert tried == done
    else:
        assert tried == {name: value for name, value in done.items() if name not in ("registered_at", "sequence")}


@pytest.mark.parametrize("flag", ["dry_run", "functions_follow"])
def test_a_flag_that_is_no_flag_is_refused(stage: ReferenceStage, flag: str) -> None:
    refused = stage.invoke("publish", {"prompts": [PROMPT], flag: "yes"})
    assert isinstance(refused, RegistryRefusal)
    assert f"`{flag}` must be true or false" in refused.message
    assert stage.content.prompts(TENANT) == []


def test_a_rule_about_a_function_that_follows_is_not_named(stage: ReferenceStage) -> None:
    payload: JsonObject = {"policies": rules(what=["capability:buy", "shop::buy", "skill:buy"])}
    assert stage.codes({**payload, "functions_follow": True, "dry_run": True}) == []
    assert [code for code, _, _ in stage.codes(payload)] == ["rule_about_nothing"] * 3


@pytest.mark.invariant(144)
def test_a_registered_document_has_the_warnings_of_a_published_one(stage: ReferenceStage) -> None:
    stage.host("shop::list", "5", readable=False)
    stage.call("skills::register", {"id": "shop/guide", "skill": "# Guide"})
    stage.call("skills::register", {"id": "shop/price", "skill": "# Price"})
    registered = stage.call("skills::register", {"id": "shop/all", "skill": LINKS})["warnings"]
    published = stage.invoke("publish", {"skills": [{"id": "shop/all", "skill": LINKS}]})["warnings"]
    assert registered == published
    assert [(warning["line"], warning["code"]) for warning in registered] == [(line, "dead_link") for line, *_ in DEAD]
    itself = stage.call("skills::register", {"id": "shop/self", "skill": "# Self\n\nSee iii://shop/self."})
    assert "warnings" not in itself


@pytest.mark.invariant(144)
def test_a_registered_prompt_has_the_warnings_of_a_published_one(stage: ReferenceStage) -> None:
    registered = stage.call("prompts::register", PROMPT)["warnings"]
    assert registered == stage.invoke("publish", {"prompts": [PROMPT]})["warnings"]
    assert [(warning["code"], warning["message"]) for warning in registered] == [("unhosted_function", UNHOSTED)]
    stage.host("shop::prise", "5")
    assert "warnings" not in stage.call("prompts::register", PROMPT)


def test_a_prompt_may_be_registered_before_its_function_and_is_refused_if_strict(stage: ReferenceStage) -> None:
    """No function has a similar name, so it is no mistyped one."""
    early: JsonObject = {**PROMPT, "function_id": "quay::book"}
    assert sorted(stage.call("prompts::register", early)) == ["name", "registered_at"]
    assert stage.expect_refusal("prompts::register", {**early, "strict": True}).code == "invalid_content"


@pytest.mark.invariant(144)
@pytest.mark.parametrize(
    ("function", "payload"),
    [
        ("skills::register", {"id": "a", "skill": "# A\n\nSee iii://shop/gide.", "strict": True}),
        ("prompts::register", {**PROMPT, "strict": True}),
    ],
)
def test_a_strict_registration_of_a_reference_to_nothing_is_refused(
    stage: ReferenceStage, function: str, payload: JsonObject
) -> None:
    assert stage.expect_refusal(function, payload).code == "invalid_content"
    assert stage.content.skills(TENANT) == stage.content.prompts(TENANT) == []


def test_references_of_shipped_entries_are_not_judged(stage: ReferenceStage) -> None:
    assert "warnings" not in stage.call("prompts::register", PROMPT, None)
    assert "warnings" not in stage.call("skills::register", {"id": "a", "skill": "See iii://shop/gide."}, None)


def test_only_a_document_with_links_is_compared_with_functions_and_documents_afresh(stage: ReferenceStage) -> None:
    def count_looks(body: str) -> int:
        stage.content.called_methods.clear()
        stage.call("skills::register", {"id": "a", "skill": body})
        return stage.content.called_methods.count("versions")

    count_looks("# A")  # fills the caches
    assert (count_looks("# A"), count_looks("# A\n\nSee iii://a.")) == (0, 2)


def test_a_function_with_spaces_around_its_name_is_the_function(stage: ReferenceStage) -> None:
    """It is called without them."""
    spaced: JsonObject = {**PROMPT, "function_id": f" {PRICE} "}
    assert "warnings" not in stage.call("prompts::register", spaced)
    assert stage.publish(prompts=[spaced]) == []
