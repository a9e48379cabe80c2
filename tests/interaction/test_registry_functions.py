"""The registry functions over stores in memory: what is read and called for an answer, and what a change leaves."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.adapters.alarm import alarm
from signpost.calling.failures import failure, reported_failure
from signpost.content.api.errors import RegistryRefusal
from signpost.content.api.functions import resource_of
from signpost.content.api.specs import FUNCTIONS
from signpost.content.documents import LARGEST_BODY, LARGEST_FETCH_ANSWER, MOST_URIS
from signpost.contract import CallReply, KeptResult
from signpost.list_revisions import REMEMBERED_TENANTS, REVALIDATION_INTERVAL
from signpost.model import InputRequired
from signpost.schema.validation import Validators
from tests.support.registry import TENANT, MemoryRegistry


@pytest.fixture
def registry() -> MemoryRegistry:
    return MemoryRegistry()


def register(registry: MemoryRegistry, skill_id: str, body: str = "# T\n", tenant: str | None = TENANT) -> Any:
    return registry.call("skills::register", {"id": skill_id, "skill": body}, tenant)


def register_prompt(registry: MemoryRegistry, name: str, function: str, tenant: str | None = TENANT) -> Any:
    return registry.call("prompts::register", {"name": name, "description": "says", "function_id": function}, tenant)


def ids(registry: MemoryRegistry, tenant: str | None = TENANT) -> list[str]:
    return [skill["id"] for skill in registry.call("skills::list", None, tenant)["skills"]]


class TestReadsAndWrites:
    def test_reading_a_document_reads_one_row_and_one_body(self, registry: MemoryRegistry) -> None:
        register(registry, "a", "# A\nbody")
        registry.content.called_methods.clear()
        assert registry.read("iii://a") == "# A\nbody"
        assert registry.content.called_methods == ["skill"]
        assert len(registry.bodies.read_digests) == 1

    def test_lists_and_the_index_read_only_versions_when_cached(self, registry: MemoryRegistry) -> None:
        register(registry, "a")
        registry.call("skills::list")
        registry.content.called_methods.clear()
        for function in ("skills::list", "skills::resources-list"):
            registry.call(function)
        registry.read("iii://skills")
        assert registry.content.called_methods == ["versions"] * 3
        assert registry.bodies.read_digests == []

    def test_a_body_that_is_already_stored_is_not_written_again(self, registry: MemoryRegistry) -> None:
        first = register(registry, "a", "same")
        again = register(registry, "a", "same")
        assert len(registry.bodies.kept_digests) == 1
        assert again["registered_at"] > first["registered_at"]
        assert len(registry.content.events) == 2

    def test_registering_another_body_replaces_the_first(self, registry: MemoryRegistry) -> None:
        register(registry, "a", "one")
        register(registry, "a", "two")
        assert registry.read("iii://a") == "two"

    def test_a_body_is_kept_before_its_row_is_written(
        self, registry: MemoryRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def lost(*_: Any) -> Any:
            raise ConnectionError

        monkeypatch.setattr(registry.content, "apply", lost)
        with pytest.raises(ConnectionError):
            register(registry, "a", "body")
        assert registry.bodies.kept_digests == [hashlib.sha256(b"body").hexdigest()]
        assert registry.content.events == []

    def test_a_refused_request_reads_and_writes_no_row(self, registry: MemoryRegistry) -> None:
        registry.expect_refusal("skills::register", {"id": "Bad", "skill": "x"})
        registry.expect_refusal("skills::unregister", {"id": "Bad"})
        registry.expect_refusal("prompts::register", {"name": "a", "description": " ", "function_id": "f"})
        assert registry.content.called_methods == []
        assert registry.bodies.kept_digests == []


class TestLists:
    def test_a_list_lags_by_two_seconds_at_most(self, registry: MemoryRegistry) -> None:
        lagging = registry.make_caller(fresh=False)
        assert registry.skills.list_readable(lagging) == []
        register(registry, "a")
        assert registry.skills.list_readable(lagging) == []
        registry.clock.advance(REVALIDATION_INTERVAL)
        assert [skill.id for skill in registry.skills.list_readable(lagging)] == ["a"]

    def test_a_fresh_list_shows_earlier_changes(self, registry: MemoryRegistry) -> None:
        assert ids(registry) == []
        register(registry, "a")
        assert ids(registry) == ["a"]

    def test_lists_are_read_again_only_after_a_change(self, registry: MemoryRegistry) -> None:
        register(registry, "a")
        assert ids(registry) == ["a"]
        registry.content.called_methods.clear()
        registry.clock.advance(REVALIDATION_INTERVAL)
        assert ids(registry) == ["a"]
        assert registry.content.called_methods == ["versions"]

    def test_shipped_content_is_read_once_for_all_tenants(self, registry: MemoryRegistry) -> None:
        register(registry, "core", tenant=None)
        for number in range(3):
            assert ids(registry, f"t{number}") == ["core"]
        assert registry.content.called_methods.count("skills of None") == 1

    def test_a_change_of_shipped_content_is_seen(self, registry: MemoryRegistry) -> None:
        register(registry, "a", tenant=None)
        assert ids(registry) == ["a"]
        register(registry, "b", tenant=None)
        assert ids(registry) == ["a", "b"]

    def test_the_cache_of_tenants_is_bounded(self, registry: MemoryRegistry) -> None:
        for number in range(REMEMBERED_TENANTS + 1):
            registry.view.prompts(f"t{number}")
        registry.content.called_methods.clear()
        registry.view.prompts("t1")
        assert registry.content.called_methods == []
        registry.view.prompts("t0")
        assert registry.content.called_methods == ["versions", "prompts of t0"]

    def test_the_list_and_the_index_and_the_resources_agree(self, registry: MemoryRegistry) -> None:
        for skill_id in ("tree-x", "tree/leaf", "tree", "skills"):
            register(registry, skill_id)
        index = registry.read("iii://skills")
        resources = registry.call("skills::resources-list")["resources"]
        assert ids(registry) == ["skills", "tree", "tree-x", "tree/leaf"]
        assert all(f"(iii://{skill_id})" in index for skill_id in ids(registry))
        assert [one["uri"] for one in resources] == ["iii://skills", "iii://tree", "iii://tree-x", "iii://tree/leaf"]

    def test_a_resource_has_name_description_type_and_size(self, registry: MemoryRegistry) -> None:
        register(registry, "a", "# Ä\n\nWords.")
        (skill,) = registry.skills.list_readable(registry.make_caller())
        assert resource_of(skill) == {
            "uri": "iii://a",
            "name": "Ä",
            "description": "Words.",
            "mimeType": "text/markdown",
            "size": 12,
        }


class TestLayers:
    def test_own_documents_hide_shipped_ones(self, registry: MemoryRegistry) -> None:
        register(registry, "a", "shipped", tenant=None)
        register(registry, "b", "shipped b", tenant=None)
        register(registry, "a", "own")
        assert registry.read("iii://a") == "own"
        assert registry.read("iii://b") == "shipped b"
        assert registry.read("iii://a", "other") == "shipped"
        assert registry.read("iii://a", None) == "shipped"
        assert ids(registry) == ["a", "b"]

    def test_a_tenant_that_switched_shipped_content_off_sees_none(self, registry: MemoryRegistry) -> None:
        register(registry, "a", tenant=None)
        register_prompt(registry, "p", "f", tenant=None)
        registry.host("f", "hello")
        registry.settings.set(TENANT, None, "shipped_content", 0)
        assert ids(registry) == []
        assert registry.call("prompts::list") == {"prompts": []}
        assert registry.expect_refusal("skills::resources-read", {"uri": "iii://a"}).code == "not_found"
        assert registry.expect_refusal("prompts::mcp-get", {"name": "p"}).code == "not_found"
        assert ids(registry, None) == ["a"]

    def test_removing_an_own_prompt_shows_the_shipped_one_again(self, registry: MemoryRegistry) -> None:
        register_prompt(registry, "p", "shipped::f", tenant=None)
        register_prompt(registry, "p", "own::f")
        assert registry.call("prompts::list")["prompts"][0]["function_id"] == "own::f"
        assert registry.call("prompts::unregister", {"name": "p"})["removed"]
        assert registry.call("prompts::list")["prompts"][0]["function_id"] == "shipped::f"
        assert not registry.call("prompts::unregister", {"name": "p"})["removed"]

    def test_equal_bodies_of_two_layers_are_stored_separately(self, registry: MemoryRegistry) -> None:
        register(registry, "a", "same", tenant=None)
        register(registry, "a", "same")
        assert len(registry.bodies.kept_digests) == 2


class TestSections:
    def test_a_section_calls_its_function_without_arguments_within_its_time_limit(
        self, registry: MemoryRegistry
    ) -> None:
        registry.host("tide::now", "high")
        assert registry.read("iii://fn/tide/now") == "high"
        (request,) = registry.executors.requests
        assert request.arguments == {}
        assert request.principal.tenant == TENANT
        assert request.ends_at == registry.clock.now() + 10

    def test_the_time_limit_of_a_section_is_a_setting_of_the_tenant(self, registry: MemoryRegistry) -> None:
        registry.settings.set(TENANT, None, "state_timeout_ms", 2_000)
        registry.host("tide::now", "high")
        registry.read("iii://fn/tide/now")
        assert registry.executors.requests[0].ends_at == registry.clock.now() + 2

    def test_a_section_ends_with_the_deadline_of_the_caller(self, registry: MemoryRegistry) -> None:
        registry.host("tide::now", "high")
        registry.skills.read("iii://fn/tide/now", registry.make_caller(seconds=3))
        assert registry.executors.requests[0].ends_at == registry.clock.now() + 3

    def test_an_unreadable_function_is_refused_like_an_absent_one(self, registry: MemoryRegistry) -> None:
        registry.host("secret::x", "SECRET", readable=False)
        closed = registry.expect_refusal("skills::resources-read", {"uri": "iii://fn/secret/x"})
        absent = registry.expect_refusal("skills::resources-read", {"uri": "iii://fn/absent/x"})
        assert closed.code == absent.code == "function_failed"
        assert closed.message == absent.message.replace("absent", "secret")
        assert registry.list_calls() == []

    def test_an_unreadable_function_can_render_a_prompt(self, registry: MemoryRegistry) -> None:
        registry.host("secret::x", "rendered", readable=False)
        register_prompt(registry, "p", "secret::x")
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
    def test_a_reply_without_a_result_is_refused_with_function_and_cause(
        self, registry: MemoryRegistry, reply: CallReply, says: str
    ) -> None:
        registry.host("f", reply)
        register_prompt(registry, "p", "f")
        of_section = registry.expect_refusal("skills::resources-read", {"uri": "iii://fn/f"})
        assert says in of_section.message
        assert of_section.data["function"] == "f"
        assert of_section.data["uri"] == "iii://fn/f"
        assert registry.expect_refusal("prompts::mcp-get", {"name": "p"}).message == of_section.message

    def test_a_refusal_carries_the_time_to_retry(self, registry: MemoryRegistry) -> None:
        registry.host("f", failure("circuit_open", "f", retry_after_ms=1500))
        assert registry.expect_refusal("skills::resources-read", {"uri": "iii://fn/f"}).data["retryAfterMs"] == 1500

    def test_an_answer_nested_too_deep_is_refused(self, registry: MemoryRegistry) -> None:
        deep: Any = 1
        for _ in range(5_000):
            deep = [deep]
        registry.host("f", deep)
        assert "nested" in registry.expect_refusal("skills::resources-read", {"uri": "iii://fn/f"}).message


class TestFetch:
    def test_uris_take_precedence_over_uri_unless_empty(self, registry: MemoryRegistry) -> None:
        register(registry, "a", "A\n\n")
        register(registry, "b", "B")
        assert registry.call("skill::fetch", {"uri": "iii://a", "uris": []}) == "# iii://a\n\nA"
        assert registry.call("skill::fetch", {"uri": "iii://a", "uris": ["iii://b"]}) == "# iii://b\n\nB"
        assert registry.call("skill::fetch", {"uris": ["iii://a", " ", " iii://b\n"]}) == (
            "# iii://a\n\nA\n\n---\n\n# iii://b\n\nB"
        )

    def test_no_document_is_read_before_all_uris_are_valid(self, registry: MemoryRegistry) -> None:
        register(registry, "a")
        registry.host("f", "x")
        registry.content.called_methods.clear()
        for bad in ("ftp://nope", "iii://a//b", "iii://fn/state/set", "iii://Bad", "iii://fn"):
            refused = registry.expect_refusal("skill::fetch", {"uris": ["iii://fn/f", "iii://a", bad]})
            assert bad in refused.message
            assert refused.data["uri"] == bad
        assert registry.list_calls() == []
        assert registry.content.called_methods == []

    def test_the_number_of_uris_is_limited(self, registry: MemoryRegistry) -> None:
        register(registry, "a", "x")
        assert registry.call("skill::fetch", {"uris": ["iii://a"] * MOST_URIS}).count("---") == MOST_URIS - 1
        refused = registry.expect_refusal("skill::fetch", {"uris": ["iii://a"] * (MOST_URIS + 1)})
        assert refused.code == "too_much"
        assert f"at most {MOST_URIS} at a time" in refused.message

    def test_the_size_of_a_fetched_text_is_limited(self, registry: MemoryRegistry) -> None:
        register(registry, "big", "x" * LARGEST_BODY)
        fits = LARGEST_FETCH_ANSWER // LARGEST_BODY
        assert len(registry.call("skill::fetch", {"uris": ["iii://big"] * fits})) > fits * LARGEST_BODY
        refused = registry.expect_refusal("skill::fetch", {"uris": ["iii://big"] * (fits + 5)})
        assert refused.code == "too_much"
        assert f"Fetch the {fits} before it first" in refused.message
        assert len(registry.bodies.read_digests) == fits + fits + 1

    def test_a_single_section_can_exceed_the_limit(self, registry: MemoryRegistry) -> None:
        registry.host("f", "é" * LARGEST_FETCH_ANSWER)
        assert "Read it alone" in registry.expect_refusal("skill::fetch", {"uri": "iii://fn/f"}).message

    def test_a_failed_section_is_named(self, registry: MemoryRegistry) -> None:
        registry.host("f", failure("crashed", "f"))
        refused = registry.expect_refusal("skill::fetch", {"uri": "iii://fn/f"})
        assert "iii://fn/f" in refused.message
        assert "f failed: f crashed." in refused.message

    def test_fetching_the_fetch_function_is_refused_for_its_missing_uri(self, registry: MemoryRegistry) -> None:
        assert "Provide uri" in registry.expect_refusal("skill::fetch", {"uri": "iii://fn/skill/fetch"}).message


class TestPrompts:
    def test_the_handler_gets_the_arguments_unchanged(self, registry: MemoryRegistry) -> None:
        registry.host("f", lambda arguments: {"content": str(arguments)})
        register_prompt(registry, "p", "  f ")
        registry.call("prompts::mcp-get", {"name": "p", "arguments": {"undeclared": 1}})
        registry.call("prompts::mcp-get", {"name": "p", "arguments": None})
        assert registry.list_calls() == [("f", {"undeclared": 1}), ("f", {})]

    @pytest.mark.parametrize("function", ["state::set", "iii.on_boot", " stream::x", "skills::register"])
    def test_an_internal_handler_is_never_called(self, registry: MemoryRegistry, function: str) -> None:
        registry.host(function.strip(), "SECRET")
        register_prompt(registry, "p", function)
        assert registry.expect_refusal("prompts::mcp-get", {"name": "p"}).code == "internal_namespace"
        assert registry.list_calls() == []

    def test_messages_are_returned_unchanged(self, registry: MemoryRegistry) -> None:
        odd = [{"role": "nobody"}, 5]
        registry.host("f", {"messages": odd, "content": "ignored"})
        register_prompt(registry, "p", "f")
        assert registry.call("prompts::mcp-get", {"name": "p"}) == {"description": "says", "messages": odd}

    def test_a_prompt_too_large_for_a_row_is_refused(self, registry: MemoryRegistry) -> None:
        payload = {"name": "p", "description": "d" * 300_000, "function_id": "f"}
        assert "too large" in registry.expect_refusal("prompts::register", payload).message


class TestPayloads:
    @pytest.mark.parametrize("payload", [None, [], "x", 5, True])
    def test_a_payload_that_is_no_object_is_refused(self, registry: MemoryRegistry, payload: Any) -> None:
        answer = registry.functions.call("skills::list", payload, registry.make_caller())
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
    def test_an_invalid_argument_is_refused_with_its_path(
        self, registry: MemoryRegistry, argument: Any, says: str
    ) -> None:
        payload = {"name": "p", "description": "d", "function_id": "f", "arguments": [argument]}
        assert says in registry.expect_refusal("prompts::register", payload).message

    def test_half_a_surrogate_pair_is_refused(self, registry: MemoryRegistry) -> None:
        half = "\ud800"
        for function, payload in (
            ("skills::register", {"id": "a", "skill": half}),
            ("skill::fetch", {"uri": f"iii://{half}"}),
            ("skill::fetch", {"uris": [f"iii://{half}"]}),
            ("prompts::register", {"name": "p", "description": half, "function_id": "f"}),
            ("prompts::register", {"name": "p", "description": "d", "function_id": "f", "arguments": [{"name": half}]}),
        ):
            refused = registry.expect_refusal(function, payload)
            assert refused.code == "invalid_payload"
            assert refused.message.encode()
        assert registry.content.events == []

    def test_a_payload_nested_too_deep_is_refused(self, registry: MemoryRegistry) -> None:
        deep: Any = {}
        for _ in range(5_000):
            deep = {"a": deep}
        assert "nested" in registry.expect_refusal("prompts::mcp-get", {"name": "p", "arguments": deep}).message

    def test_an_unknown_function_is_refused_with_the_nearest_name(self, registry: MemoryRegistry) -> None:
        assert "Did you mean skills::register?" in registry.expect_refusal("skill::register").message
        assert "The functions are skills::register, " in registry.expect_refusal("???").message


def test_every_answer_satisfies_its_published_schema(registry: MemoryRegistry) -> None:
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
        violation = Validators(alarm).find_violation(function.response, json.loads(json.dumps(answer)))
        assert violation is None, (function.id, violation)


@dataclass
class RegistryModel:
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


def _change(registry: MemoryRegistry, model: RegistryModel, kind: str, operation: str, key: str, content: str) -> None:
    subject: Mapping[str, Any] = {"id": key} if kind == "skills" else {"name": key}
    body = {"skill": content} if kind == "skills" else {"description": content, "function_id": "f"}
    payload = {**subject, **(body if operation == "register" else {})}
    answer = registry.functions.call(f"{kind}::{operation}", payload, registry.make_caller())
    good = key not in ("Bad", "") and not (kind == "prompts" and operation == "register" and not content.strip())
    assert isinstance(answer, RegistryRefusal) is not good
    if not good:
        return
    if operation == "register":
        model.register(kind, key, content)
    else:
        assert answer == {**subject, "removed": model.unregister(kind, key)}


@given(CHANGES, st.booleans())
def test_any_changes_leave_the_state_and_events_of_the_model(changes: list[Any], lists_between: bool) -> None:
    registry, model = MemoryRegistry(), RegistryModel()
    for change in changes:
        _change(registry, model, *change)
        if lists_between:
            registry.call("skills::resources-list")
    assert ids(registry) == sorted(model.skills)
    assert {skill_id: registry.read(f"iii://{skill_id}") for skill_id in model.skills} == model.skills
    listed = registry.call("prompts::mcp-list")["prompts"]
    assert [(one["name"], one["description"]) for one in listed] == sorted(model.prompts.items())
    assert [(event.type, event.op, event.key) for event in registry.content.events] == model.events
