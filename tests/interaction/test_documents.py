"""The registry functions over stores in memory: what is read and called for an answer, and what a change leaves."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.calling.failures import failure, reported_failure
from signpost.content.api.errors import RegistryRefusal
from signpost.content.api.functions import resource_of
from signpost.content.api.specs import FUNCTIONS
from signpost.content.documents import LARGEST_BODY, LARGEST_FETCH_ANSWER, MOST_URIS
from signpost.contract import CallReply, KeptResult
from signpost.list_revisions import REMEMBERED_TENANTS, REVALIDATION_INTERVAL
from signpost.model import InputRequired
from signpost.schema.validation import Validators
from tests.support.registry import TENANT, Registry


@pytest.fixture
def registry() -> Registry:
    return Registry()


def register(registry: Registry, skill_id: str, body: str = "# T\n", tenant: str | None = TENANT) -> Any:
    return registry.call("skills::register", {"id": skill_id, "skill": body}, tenant)


def prompt(registry: Registry, name: str, function: str, tenant: str | None = TENANT) -> Any:
    return registry.call("prompts::register", {"name": name, "description": "says", "function_id": function}, tenant)


def ids(registry: Registry, tenant: str | None = TENANT) -> list[str]:
    return [skill["id"] for skill in registry.call("skills::list", None, tenant)["skills"]]


class TestWhatAnAnswerCosts:
    def test_a_document_is_one_row_and_one_body(self, registry: Registry) -> None:
        register(registry, "a", "# A\nbody")
        registry.content.asked.clear()
        assert registry.read("iii://a") == "# A\nbody"
        assert registry.content.asked == ["skill"]
        assert len(registry.bodies.reads) == 1

    def test_lists_and_the_index_read_no_body_and_no_list_twice(self, registry: Registry) -> None:
        register(registry, "a")
        registry.call("skills::list")
        registry.content.asked.clear()
        for function in ("skills::list", "skills::resources-list"):
            registry.call(function)
        registry.read("iii://skills")
        assert registry.content.asked == ["versions"] * 3
        assert registry.bodies.reads == []

    def test_a_body_that_is_there_already_is_not_written_again(self, registry: Registry) -> None:
        first = register(registry, "a", "same")
        again = register(registry, "a", "same")
        assert len(registry.bodies.kept) == 1
        assert again["registered_at"] > first["registered_at"]
        assert len(registry.content.events) == 2

    def test_another_body_replaces_it(self, registry: Registry) -> None:
        register(registry, "a", "one")
        register(registry, "a", "two")
        assert registry.read("iii://a") == "two"

    def test_a_body_is_kept_before_its_row_is_written(
        self, registry: Registry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def lost(*_: Any) -> Any:
            raise ConnectionError

        monkeypatch.setattr(registry.content, "apply", lost)
        with pytest.raises(ConnectionError):
            register(registry, "a", "body")
        assert registry.bodies.kept == [hashlib.sha256(b"body").hexdigest()]
        assert registry.content.events == []

    def test_a_refusal_reads_nothing_and_changes_nothing(self, registry: Registry) -> None:
        registry.refusal("skills::register", {"id": "Bad", "skill": "x"})
        registry.refusal("skills::unregister", {"id": "Bad"})
        registry.refusal("prompts::register", {"name": "a", "description": " ", "function_id": "f"})
        assert registry.content.asked == []
        assert registry.bodies.kept == []


class TestLists:
    def test_within_two_seconds_a_list_may_lag_and_then_not(self, registry: Registry) -> None:
        lagging = registry.caller(fresh=False)
        assert registry.skills.list_readable(lagging) == []
        register(registry, "a")
        assert registry.skills.list_readable(lagging) == []
        registry.clock.advance(REVALIDATION_INTERVAL)
        assert [skill.id for skill in registry.skills.list_readable(lagging)] == ["a"]

    def test_a_fresh_list_shows_what_was_changed_before(self, registry: Registry) -> None:
        assert ids(registry) == []
        register(registry, "a")
        assert ids(registry) == ["a"]

    def test_lists_are_read_again_only_if_something_changed(self, registry: Registry) -> None:
        register(registry, "a")
        assert ids(registry) == ["a"]
        registry.content.asked.clear()
        registry.clock.advance(REVALIDATION_INTERVAL)
        assert ids(registry) == ["a"]
        assert registry.content.asked == ["versions"]

    def test_what_is_shipped_is_read_once_for_all_tenants(self, registry: Registry) -> None:
        register(registry, "core", tenant=None)
        for number in range(3):
            assert ids(registry, f"t{number}") == ["core"]
        assert registry.content.asked.count("skills of None") == 1

    def test_a_change_of_what_is_shipped_is_seen(self, registry: Registry) -> None:
        register(registry, "a", tenant=None)
        assert ids(registry) == ["a"]
        register(registry, "b", tenant=None)
        assert ids(registry) == ["a", "b"]

    def test_no_more_tenants_are_remembered_than_fit(self, registry: Registry) -> None:
        for number in range(REMEMBERED_TENANTS + 1):
            registry.view.prompts(f"t{number}")
        registry.content.asked.clear()
        registry.view.prompts("t1")
        assert registry.content.asked == []
        registry.view.prompts("t0")
        assert registry.content.asked == ["versions", "prompts of t0"]

    def test_the_list_and_the_index_and_the_resources_agree(self, registry: Registry) -> None:
        for skill_id in ("tree-x", "tree/leaf", "tree", "skills"):
            register(registry, skill_id)
        index = registry.read("iii://skills")
        resources = registry.call("skills::resources-list")["resources"]
        assert ids(registry) == ["skills", "tree", "tree-x", "tree/leaf"]
        assert all(f"(iii://{skill_id})" in index for skill_id in ids(registry))
        assert [one["uri"] for one in resources] == ["iii://skills", "iii://tree", "iii://tree-x", "iii://tree/leaf"]

    def test_a_resource_says_what_it_is_and_how_long(self, registry: Registry) -> None:
        register(registry, "a", "# Ä\n\nWords.")
        (skill,) = registry.skills.list_readable(registry.caller())
        assert resource_of(skill) == {
            "uri": "iii://a",
            "name": "Ä",
            "description": "Words.",
            "mimeType": "text/markdown",
            "size": 12,
        }


class TestLayers:
    def test_the_tenants_own_goes_before_what_is_shipped(self, registry: Registry) -> None:
        register(registry, "a", "shipped", tenant=None)
        register(registry, "b", "shipped b", tenant=None)
        register(registry, "a", "own")
        assert registry.read("iii://a") == "own"
        assert registry.read("iii://b") == "shipped b"
        assert registry.read("iii://a", "other") == "shipped"
        assert registry.read("iii://a", None) == "shipped"
        assert ids(registry) == ["a", "b"]

    def test_a_tenant_that_switched_it_off_sees_nothing_of_it(self, registry: Registry) -> None:
        register(registry, "a", tenant=None)
        prompt(registry, "p", "f", tenant=None)
        registry.host("f", "hello")
        registry.settings.set(TENANT, None, "shipped_content", 0)
        assert ids(registry) == []
        assert registry.call("prompts::list") == {"prompts": []}
        assert registry.refusal("skills::resources-read", {"uri": "iii://a"}).code == "not_found"
        assert registry.refusal("prompts::mcp-get", {"name": "p"}).code == "not_found"
        assert ids(registry, None) == ["a"]

    def test_removing_ones_own_shows_what_is_shipped_again(self, registry: Registry) -> None:
        prompt(registry, "p", "shipped::f", tenant=None)
        prompt(registry, "p", "own::f")
        assert registry.call("prompts::list")["prompts"][0]["function_id"] == "own::f"
        assert registry.call("prompts::unregister", {"name": "p"})["removed"]
        assert registry.call("prompts::list")["prompts"][0]["function_id"] == "shipped::f"
        assert not registry.call("prompts::unregister", {"name": "p"})["removed"]

    def test_the_body_of_one_layer_is_not_taken_for_that_of_the_other(self, registry: Registry) -> None:
        register(registry, "a", "same", tenant=None)
        register(registry, "a", "same")
        assert len(registry.bodies.kept) == 2


class TestSections:
    def test_a_function_is_called_with_nothing_for_the_caller_and_within_its_time(self, registry: Registry) -> None:
        registry.host("tide::now", "high")
        assert registry.read("iii://fn/tide/now") == "high"
        (request,) = registry.executors.requests
        assert request.arguments == {}
        assert request.principal.tenant == TENANT
        assert request.ends_at == registry.clock.now() + 10

    def test_the_time_is_a_setting_of_the_tenant(self, registry: Registry) -> None:
        registry.settings.set(TENANT, None, "state_timeout_ms", 2_000)
        registry.host("tide::now", "high")
        registry.read("iii://fn/tide/now")
        assert registry.executors.requests[0].ends_at == registry.clock.now() + 2

    def test_nobody_waits_longer_than_the_caller(self, registry: Registry) -> None:
        registry.host("tide::now", "high")
        registry.skills.read("iii://fn/tide/now", registry.caller(seconds=3))
        assert registry.executors.requests[0].ends_at == registry.clock.now() + 3

    def test_a_function_that_must_not_be_read_is_answered_like_one_that_is_not_there(self, registry: Registry) -> None:
        registry.host("secret::x", "SECRET", readable=False)
        closed = registry.refusal("skills::resources-read", {"uri": "iii://fn/secret/x"})
        absent = registry.refusal("skills::resources-read", {"uri": "iii://fn/absent/x"})
        assert closed.code == absent.code == "function_failed"
        assert closed.message == absent.message.replace("absent", "secret")
        assert registry.called() == []

    def test_but_it_may_render_a_prompt(self, registry: Registry) -> None:
        registry.host("secret::x", "rendered", readable=False)
        prompt(registry, "p", "secret::x")
        assert registry.call("prompts::mcp-get", {"name": "p"})["messages"][0]["content"]["text"] == "rendered"

    @pytest.mark.parametrize(
        ("reply", "says"),
        [
            (failure("timed_out", "f"), "f timed out"),
            (failure("late", "f"), "f timed out"),
            (reported_failure("permanent_error", "There is no tide."), "f failed: There is no tide."),
            (KeptResult("answers/1.json", 7_000_000, "0"), "7000000 bytes"),
            (InputRequired({}), "input"),
        ],
    )
    def test_what_is_no_result_is_refused_with_function_and_cause(
        self, registry: Registry, reply: CallReply, says: str
    ) -> None:
        registry.host("f", reply)
        prompt(registry, "p", "f")
        of_section = registry.refusal("skills::resources-read", {"uri": "iii://fn/f"})
        assert says in of_section.message
        assert of_section.data["function"] == "f"
        assert of_section.data["uri"] == "iii://fn/f"
        assert registry.refusal("prompts::mcp-get", {"name": "p"}).message == of_section.message

    def test_when_to_come_again_is_said(self, registry: Registry) -> None:
        registry.host("f", failure("circuit_open", "f", retry_after_ms=1500))
        assert registry.refusal("skills::resources-read", {"uri": "iii://fn/f"}).data["retryAfterMs"] == 1500

    def test_an_answer_that_nobody_could_write_down_is_refused(self, registry: Registry) -> None:
        deep: Any = 1
        for _ in range(5_000):
            deep = [deep]
        registry.host("f", deep)
        assert "nested" in registry.refusal("skills::resources-read", {"uri": "iii://fn/f"}).message


class TestFetch:
    def test_several_uris_go_before_one_unless_there_are_none(self, registry: Registry) -> None:
        register(registry, "a", "A\n\n")
        register(registry, "b", "B")
        assert registry.call("skill::fetch", {"uri": "iii://a", "uris": []}) == "# iii://a\n\nA"
        assert registry.call("skill::fetch", {"uri": "iii://a", "uris": ["iii://b"]}) == "# iii://b\n\nB"
        assert registry.call("skill::fetch", {"uris": ["iii://a", " ", " iii://b\n"]}) == (
            "# iii://a\n\nA\n\n---\n\n# iii://b\n\nB"
        )

    def test_nothing_is_read_before_everything_is_good(self, registry: Registry) -> None:
        register(registry, "a")
        registry.host("f", "x")
        registry.content.asked.clear()
        for bad in ("ftp://nope", "iii://a//b", "iii://fn/state/set", "iii://Bad", "iii://fn"):
            refused = registry.refusal("skill::fetch", {"uris": ["iii://fn/f", "iii://a", bad]})
            assert bad in refused.message
            assert refused.data["uri"] == bad
        assert registry.called() == []
        assert registry.content.asked == []

    def test_there_is_a_most_of_uris(self, registry: Registry) -> None:
        register(registry, "a", "x")
        assert registry.call("skill::fetch", {"uris": ["iii://a"] * MOST_URIS}).count("---") == MOST_URIS - 1
        refused = registry.refusal("skill::fetch", {"uris": ["iii://a"] * (MOST_URIS + 1)})
        assert refused.code == "too_much"
        assert f"at most {MOST_URIS} at a time" in refused.message

    def test_there_is_a_most_of_text(self, registry: Registry) -> None:
        register(registry, "big", "x" * LARGEST_BODY)
        fits = LARGEST_FETCH_ANSWER // LARGEST_BODY
        assert len(registry.call("skill::fetch", {"uris": ["iii://big"] * fits})) > fits * LARGEST_BODY
        refused = registry.refusal("skill::fetch", {"uris": ["iii://big"] * (fits + 5)})
        assert refused.code == "too_much"
        assert f"Fetch the {fits} before it first" in refused.message
        assert len(registry.bodies.reads) == fits + fits + 1

    def test_one_section_alone_can_be_too_long(self, registry: Registry) -> None:
        registry.host("f", "é" * LARGEST_FETCH_ANSWER)
        assert "Read it alone" in registry.refusal("skill::fetch", {"uri": "iii://fn/f"}).message

    def test_what_fails_is_named(self, registry: Registry) -> None:
        registry.host("f", failure("crashed", "f"))
        refused = registry.refusal("skill::fetch", {"uri": "iii://fn/f"})
        assert "iii://fn/f" in refused.message
        assert "f failed: f crashed." in refused.message

    def test_a_section_that_is_the_fetch_says_what_it_needs(self, registry: Registry) -> None:
        assert "Provide uri" in registry.refusal("skill::fetch", {"uri": "iii://fn/skill/fetch"}).message


class TestPrompts:
    def test_the_handler_gets_the_arguments_as_they_are(self, registry: Registry) -> None:
        registry.host("f", lambda arguments: {"content": str(arguments)})
        prompt(registry, "p", "  f ")
        registry.call("prompts::mcp-get", {"name": "p", "arguments": {"undeclared": 1}})
        registry.call("prompts::mcp-get", {"name": "p", "arguments": None})
        assert registry.called() == [("f", {"undeclared": 1}), ("f", {})]

    @pytest.mark.parametrize("function", ["state::set", "iii.on_boot", " stream::x", "skills::register"])
    def test_an_internal_handler_is_never_called(self, registry: Registry, function: str) -> None:
        registry.host(function.strip(), "SECRET")
        prompt(registry, "p", function)
        assert registry.refusal("prompts::mcp-get", {"name": "p"}).code == "internal_namespace"
        assert registry.called() == []

    def test_messages_pass_through_as_they_are(self, registry: Registry) -> None:
        odd = [{"role": "nobody"}, 5]
        registry.host("f", {"messages": odd, "content": "ignored"})
        prompt(registry, "p", "f")
        assert registry.call("prompts::mcp-get", {"name": "p"}) == {"description": "says", "messages": odd}

    def test_a_prompt_has_to_fit_into_a_row(self, registry: Registry) -> None:
        payload = {"name": "p", "description": "d" * 300_000, "function_id": "f"}
        assert "too large" in registry.refusal("prompts::register", payload).message


class TestPayloads:
    @pytest.mark.parametrize("payload", [None, [], "x", 5, True])
    def test_a_payload_is_an_object(self, registry: Registry, payload: Any) -> None:
        answer = registry.functions.call("skills::list", payload, registry.caller())
        assert isinstance(answer, RegistryRefusal)
        assert answer.code == "invalid_payload"

    @pytest.mark.parametrize(
        ("argument", "says"),
        [
            (5, "arguments[0]` must be an object"),
            ({}, "arguments[0].name"),
            ({"name": "a", "description": 5}, "arguments[0].description"),
            ({"name": "a", "required": "yes"}, "arguments[0].required"),
        ],
    )
    def test_what_is_wrong_with_an_argument_is_named(self, registry: Registry, argument: Any, says: str) -> None:
        payload = {"name": "p", "description": "d", "function_id": "f", "arguments": [argument]}
        assert says in registry.refusal("prompts::register", payload).message

    def test_half_a_surrogate_pair_is_no_text(self, registry: Registry) -> None:
        half = "\ud800"
        for function, payload in (
            ("skills::register", {"id": "a", "skill": half}),
            ("skill::fetch", {"uri": f"iii://{half}"}),
            ("skill::fetch", {"uris": [f"iii://{half}"]}),
            ("prompts::register", {"name": "p", "description": half, "function_id": "f"}),
            ("prompts::register", {"name": "p", "description": "d", "function_id": "f", "arguments": [{"name": half}]}),
        ):
            refused = registry.refusal(function, payload)
            assert refused.code == "invalid_payload"
            assert refused.message.encode()
        assert registry.content.events == []

    def test_a_payload_may_not_be_nested_without_end(self, registry: Registry) -> None:
        deep: Any = {}
        for _ in range(5_000):
            deep = {"a": deep}
        assert "nested" in registry.refusal("prompts::mcp-get", {"name": "p", "arguments": deep}).message

    def test_a_function_that_is_not_there_is_answered_with_the_nearest(self, registry: Registry) -> None:
        assert "Did you mean skills::register?" in registry.refusal("skill::register").message
        assert "The functions are skills::register, " in registry.refusal("???").message


def test_every_answer_satisfies_its_published_schema(registry: Registry) -> None:
    registry.host("f", "text")
    arguments = [{"name": "a", "description": "b", "required": True}, {"name": "c"}]
    payloads: Mapping[str, Any] = {
        "skills::register": {"id": "a", "skill": "# T\n\nWords."},
        "prompts::register": {"name": "p", "description": "d", "function_id": "f", "arguments": arguments},
        "skills::resources-read": {"uri": "iii://a"},
        "skills::fetch_skill": {"uri": "iii://a"},
        "skill::fetch": {"uri": "iii://fn/f"},
        "prompts::mcp-get": {"name": "p"},
        "skills::unregister": {"id": "a"},
        "prompts::unregister": {"name": "p"},
    }
    ordered = sorted(FUNCTIONS, key=lambda one: (one.id.endswith("::unregister"), not one.id.endswith("::register")))
    for function in ordered:
        answer = registry.call(function.id, payloads.get(function.id))
        violation = Validators().find_violation(function.response, json.loads(json.dumps(answer)))
        assert violation is None, (function.id, violation)


@dataclass
class Model:
    """What a registry has to be like after any changes, in the simplest form."""

    skills: dict[str, str] = field(default_factory=dict[str, str])
    prompts: dict[str, str] = field(default_factory=dict[str, str])
    events: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    def register(self, kind: str, key: str, content: str) -> None:
        (self.skills if kind == "skills" else self.prompts)[key] = content
        self.events.append((f"{kind}::on-change", "register", key))

    def unregister(self, kind: str, key: str) -> bool:
        removed = (self.skills if kind == "skills" else self.prompts).pop(key, None) is not None
        if removed:
            self.events.append((f"{kind}::on-change", "unregister", key))
        return removed


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["skills", "prompts"]),
        st.sampled_from(["register", "unregister"]),
        st.sampled_from(["a", "b", "a-b", "a_0", "Bad", ""]),
        st.sampled_from(["one", "two", " "]),
    ),
    max_size=20,
)


def _change(registry: Registry, model: Model, kind: str, operation: str, key: str, content: str) -> None:
    subject: Mapping[str, Any] = {"id": key} if kind == "skills" else {"name": key}
    body = {"skill": content} if kind == "skills" else {"description": content, "function_id": "f"}
    payload = {**subject, **(body if operation == "register" else {})}
    answer = registry.functions.call(f"{kind}::{operation}", payload, registry.caller())
    good = key not in ("Bad", "") and not (kind == "prompts" and operation == "register" and not content.strip())
    assert isinstance(answer, RegistryRefusal) is not good
    if not good:
        return
    if operation == "register":
        model.register(kind, key, content)
    else:
        assert answer == {**subject, "removed": model.unregister(kind, key)}


@given(CHANGES, st.booleans())
def test_any_changes_leave_exactly_the_models_state_and_its_events(changes: list[Any], lists_between: bool) -> None:
    registry, model = Registry(), Model()
    for change in changes:
        _change(registry, model, *change)
        if lists_between:
            registry.call("skills::resources-list")
    assert ids(registry) == sorted(model.skills)
    assert {skill_id: registry.read(f"iii://{skill_id}") for skill_id in model.skills} == model.skills
    listed = registry.call("prompts::mcp-list")["prompts"]
    assert [(one["name"], one["description"]) for one in listed] == sorted(model.prompts.items())
    assert [(event.type, event.op, event.key) for event in registry.content.events] == model.events
