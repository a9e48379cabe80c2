"""Publications over stores in memory: what is compared, what is checked, and that it is all or nothing."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.catalogue.publishing.publish_functions import PublishFunctions
from signpost.catalogue.publishing.publisher import Publisher
from signpost.catalogue.publishing.request import MOST_BODIES
from signpost.cli import main, remote
from signpost.cli.failure import CommandFailed
from signpost.cli.publish.collection import CollectedPublication
from signpost.cli.publish.upload import MOST_AT_ONCE, RemotePublisher
from signpost.content.api.errors import RegistryRefusal
from signpost.content.documents import LARGEST_BODY
from signpost.content.subscriptions import MOST_SUBSCRIPTIONS
from signpost.errors import Unavailable
from signpost.model import Json, JsonObject
from tests.support.catalogues import build_catalogue_publisher
from tests.support.registry import TENANT, CountingTimestamps, MemoryRegistry

GREET: JsonObject = {"name": "greet", "description": "Greets.", "function_id": "demo::greet"}


class PublishingStage(MemoryRegistry):
    def __init__(self) -> None:
        super().__init__()
        publisher = Publisher(
            content=self.content,
            catalogues=build_catalogue_publisher(self.content),
            bodies=self.bodies,
            timestamps=CountingTimestamps(),
        )
        self.manifests = PublishFunctions(publisher)
        self.sent: list[tuple[str, JsonObject]] = []

    def asked(self, function: str, payload: JsonObject, tenant: str | None = TENANT) -> Any:
        return self.manifests.call(f"manifest::{function}", payload, self.make_caller(tenant))

    def publish(self, tenant: str | None = TENANT, *, prune: bool = False, **bodies: str) -> Any:
        skills = [{"id": skill_id.replace("_", "/"), "skill": body} for skill_id, body in bodies.items()]
        answer = self.asked("publish", {"skills": skills, "prune": prune}, tenant)
        assert not isinstance(answer, RegistryRefusal), answer
        return answer

    def problems(self, payload: JsonObject, function: str = "publish") -> list[tuple[str, str]]:
        """Of a payload that is refused, by id."""
        answer = self.asked(function, payload)
        assert isinstance(answer, RegistryRefusal), answer
        problems: Any = answer.data["problems"]
        return [(problem["id"], problem["message"]) for problem in problems]

    def ids(self, tenant: str | None = TENANT) -> list[str]:
        return [skill.id for skill in self.content.skills(tenant)]

    def ask(self, function: str, payload: JsonObject) -> JsonObject:
        """As the command asks, over JSON."""
        self.sent.append((function, payload))
        answer = self.manifests.call(function, json.loads(json.dumps(payload)), self.make_caller())
        if isinstance(answer, RegistryRefusal):
            raise CommandFailed(answer.message)
        return json.loads(json.dumps(answer))


@pytest.fixture
def stage() -> PublishingStage:
    return PublishingStage()


def changes_of(answer: Any, kind: str = "skills") -> tuple[list[str], ...]:
    return tuple(list(answer[kind][what]) for what in ("added", "changed", "same", "removed"))


def digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


class TestChanges:
    def test_entries_are_added_changed_kept_and_removed(self, stage: PublishingStage) -> None:
        stage.publish(a="# A", b="# B", d="# D")
        answer = stage.publish(a="# A", b="# B again", c="# C", prune=True)
        assert changes_of(answer) == (["c"], ["b"], ["a"], ["d"])
        assert stage.ids() == ["a", "b", "c"]
        assert stage.read("iii://b") == "# B again"

    def test_without_prune_no_entry_is_removed(self, stage: PublishingStage) -> None:
        stage.publish(a="# A")
        assert changes_of(stage.publish(b="# B")) == (["b"], [], [], [])
        assert stage.ids() == ["a", "b"]

    def test_an_unchanged_document_is_registered_again_with_a_change_event(self, stage: PublishingStage) -> None:
        first = stage.publish(a="# A")
        kept = list(stage.bodies.kept_digests)
        again = stage.publish(a="# A")
        (skill,) = stage.content.skills(TENANT)
        assert skill.registered_at == again["registered_at"] > first["registered_at"]
        assert [(event.op, event.key) for event in stage.content.events] == [("register", "a")] * 2
        assert stage.bodies.kept_digests == kept

    def test_a_publication_is_one_change_with_the_sequence_of_its_last_event(self, stage: PublishingStage) -> None:
        answer = stage.publish(a="# A", b="# B")
        assert stage.content.called_methods.count("apply") == 1
        assert answer["sequence"] == stage.content.events[-1].sequence == 2

    def test_prompts_are_added_changed_and_removed_like_documents(self, stage: PublishingStage) -> None:
        assert changes_of(stage.asked("publish", {"prompts": [GREET]}), "prompts") == (["greet"], [], [], [])
        changed = {**GREET, "arguments": [{"name": "who"}]}
        assert changes_of(stage.asked("publish", {"prompts": [changed]}), "prompts") == ([], ["greet"], [], [])
        assert changes_of(stage.asked("publish", {"prompts": [changed]}), "prompts") == ([], [], ["greet"], [])
        gone = stage.asked("publish", {"prompts": [], "prune": True})
        assert changes_of(gone, "prompts") == ([], [], [], ["greet"])

    def test_a_kind_missing_in_the_request_is_not_pruned(self, stage: PublishingStage) -> None:
        stage.publish(a="# A")
        stage.asked("publish", {"prompts": [GREET], "prune": True})
        assert stage.ids() == ["a"]
        stage.publish(prune=True)
        assert [prompt.name for prompt in stage.content.prompts(TENANT)] == ["greet"]

    def test_shipped_content_and_other_tenants_are_left_unchanged(self, stage: PublishingStage) -> None:
        stage.publish(None, shipped="# S")
        stage.publish("other", theirs="# T")
        assert changes_of(stage.publish(prune=True)) == ([], [], [], [])
        assert (stage.ids(None), stage.ids("other")) == (["shipped"], ["theirs"])

    def test_a_plan_changes_no_entry(self, stage: PublishingStage) -> None:
        stage.publish(a="# A", b="# B")
        before = len(stage.content.events)
        rows = [{"id": "a", "digest": digest("# A")}, {"id": "c", "digest": digest("# C")}]
        assert changes_of(stage.asked("plan", {"skills": rows, "prune": True})) == (["c"], [], ["a"], ["b"])
        assert len(stage.content.events) == before


TRIGGER: JsonObject = {"trigger_type": "skills::on-change", "function_id": "mail::index", "config": {"index": "main"}}
WEBHOOK: JsonObject = {"trigger_type": "prompts::on-change", "url": "https://hooks.test/a"}
A_TRIGGER, A_WEBHOOK = "trigger skills::on-change mail::index", "webhook prompts::on-change https://hooks.test/a"


class TestSubscriptions:
    def test_triggers_and_webhooks_are_added_changed_and_removed_like_documents(self, stage: PublishingStage) -> None:
        both: JsonObject = {"triggers": [TRIGGER], "webhooks": [WEBHOOK]}
        answer = stage.asked("publish", both)
        assert (changes_of(answer, "triggers"), changes_of(answer, "webhooks")) == (
            ([A_TRIGGER], [], [], []),
            ([A_WEBHOOK], [], [], []),
        )
        answer = stage.asked("publish", {"triggers": [{**TRIGGER, "config": {}}], "webhooks": [WEBHOOK], "prune": True})
        assert (changes_of(answer, "triggers"), changes_of(answer, "webhooks")) == (
            ([], [A_TRIGGER], [], []),
            ([], [], [A_WEBHOOK], []),
        )
        answer = stage.asked("publish", {"triggers": [], "webhooks": [], "prune": True})
        assert (changes_of(answer, "triggers")[3], changes_of(answer, "webhooks")[3]) == ([A_TRIGGER], [A_WEBHOOK])

    def test_pruning_triggers_leaves_webhooks(self, stage: PublishingStage) -> None:
        stage.asked("publish", {"triggers": [TRIGGER], "webhooks": [WEBHOOK]})
        answer = stage.asked("publish", {"triggers": [], "prune": True})
        assert (changes_of(answer, "triggers")[3], changes_of(answer, "webhooks")[3]) == ([A_TRIGGER], [])

    def test_subscriptions_are_published_without_change_events(self, stage: PublishingStage) -> None:
        answer = stage.asked(
            "publish", {"skills": [{"id": "a", "skill": "# A"}], "triggers": [TRIGGER], "webhooks": [WEBHOOK]}
        )
        assert answer["sequence"] == 1
        assert [(event.sequence, event.key) for event in stage.content.events] == [(1, "a")]
        assert stage.asked("publish", {"triggers": [TRIGGER]})["sequence"] is None
        assert stage.publish(b="# B")["sequence"] == 5

    def test_subscriptions_are_listed_as_published(self, stage: PublishingStage) -> None:
        published = stage.asked("publish", {"triggers": [TRIGGER], "webhooks": [WEBHOOK]})
        at = {"registered_at": published["registered_at"]}
        listed = {"triggers": [{**TRIGGER, **at}], "webhooks": [{**WEBHOOK, **at}]}
        assert stage.asked("subscriptions", {}) == listed
        assert stage.asked("subscriptions", {}, "other") == {"triggers": [], "webhooks": []}

    def test_a_repeated_trigger_replaces_the_earlier_one(self, stage: PublishingStage) -> None:
        stage.asked("publish", {"triggers": [TRIGGER, {**TRIGGER, "config": {"last": True}}]})
        (listed,) = stage.asked("subscriptions", {})["triggers"]
        assert listed["config"] == {"last": True}

    def test_all_problems_of_subscriptions_are_reported_at_once(self, stage: PublishingStage) -> None:
        triggers: list[Json] = [
            TRIGGER,
            {**TRIGGER, "trigger_type": "skills::on-read"},
            {**TRIGGER, "function_id": "skills::register"},
            {**TRIGGER, "function_id": "no function"},
            {**TRIGGER, "function_id": "large", "config": {"x": "y" * 20_000}},
            {**TRIGGER, "function_id": "odd", "config": []},
            {"trigger_type": "skills::on-change"},
            1,
        ]
        webhooks: list[Json] = [
            WEBHOOK,
            {**WEBHOOK, "url": "ftp://hooks.test"},
            {**WEBHOOK, "url": "https://user@hooks.test/"},
            {**WEBHOOK, "url": f"https://hooks.test/{'a' * 900}"},
            {**WEBHOOK, "trigger_type": "on-change", "url": "https://hooks.test/b"},
            {"url": "https://hooks.test/c"},
            None,
        ]
        found = stage.problems({"triggers": triggers, "webhooks": webhooks})
        said = " ".join(message for _, message in found)
        assert len(found) == len(triggers) + len(webhooks) - 2
        for expected in ("use one of skills::on-change", "internal namespace",
                         "is not a valid function id", "too large",
                         "`config` must be an object", "`function_id` is missing", "A trigger must be {",
                         "must begin with https", "a user, a password", "too long", "`trigger_type` is missing",
                         "A webhook must be {"):  # fmt: skip
            assert expected in said, expected
        assert stage.asked("subscriptions", {}) == {"triggers": [], "webhooks": []}

    def test_the_number_of_subscriptions_of_a_tenant_is_limited(self, stage: PublishingStage) -> None:
        many: list[Json] = [{**TRIGGER, "function_id": f"f{number}"} for number in range(MOST_SUBSCRIPTIONS)]
        stage.asked("publish", {"triggers": many})
        assert "at most" in stage.problems({"webhooks": [WEBHOOK]})[0][1]
        assert not isinstance(stage.asked("publish", {"triggers": many}), RegistryRefusal)
        assert not isinstance(stage.asked("publish", {"triggers": [TRIGGER], "prune": True}), RegistryRefusal)


class TestRefusals:
    def test_all_problems_are_reported_at_once_and_no_entry_changes(self, stage: PublishingStage) -> None:
        skills = [
            {"id": "fine", "skill": "# F"},
            {"id": "Bad", "skill": "x"},
            {"id": "empty", "skill": ""},
            {"id": "large", "skill": "x" * (LARGEST_BODY + 1)},
            {"id": "twice", "skill": "1"},
            {"id": "twice", "skill": "2"},
            "none",
            {"skill": "x"},
            {"id": "short", "digest": "abc"},
        ]
        prompts = [{**GREET, "description": " "}, {**GREET, "name": "No"}, {"name": "bare"}, 1]
        found = dict(stage.problems({"skills": skills, "prompts": prompts, "prune": 1, "purge": True}))
        assert set(found) == {
            "Bad", "empty", "large", "twice", "skills[6]", "skills[7]", "short",
            "greet", "No", "bare", "prompts[3]", "manifest",
        }  # fmt: skip
        assert "too large" in found["large"]
        assert stage.ids() == []
        assert stage.bodies.kept_digests == []

    def test_a_body_that_was_never_sent_cannot_be_published_by_its_digest(self, stage: PublishingStage) -> None:
        stage.publish(a="# A")
        rows = [{"id": "a", "digest": digest("# other")}, {"id": "b", "digest": digest("# A")}]
        assert [skill_id for skill_id, _ in stage.problems({"skills": rows})] == ["a", "b"]

    def test_a_document_cannot_be_used_as_a_part(self, stage: PublishingStage) -> None:
        forged = json.dumps(
            [{"id": "x", "title": "T", "description": None, "size": 1, "registered_at": "", "digest": "0" * 64}]
        )
        stage.publish(forged=forged)
        answer = stage.problems({"skills": [{"id": "x", "digest": "0" * 64}], "parts": [digest(forged)]})
        assert answer == [(digest(forged), "The gateway does not have this part. Publish again.")]

    def test_a_part_of_another_tenant_is_unknown(self, stage: PublishingStage) -> None:
        kept = stage.asked("bodies", {"skills": [{"id": "a", "skill": "# A"}]}, "other")
        assert stage.problems({"skills": [{"id": "a", "digest": digest("# A")}], "parts": [kept["part"]]})

    def test_the_number_of_bodies_in_a_request_is_limited(self, stage: PublishingStage) -> None:
        many = [{"id": f"s{number}", "skill": "x"} for number in range(MOST_BODIES + 1)]
        assert "too many bodies" in stage.problems({"skills": many}, "bodies")[0][1]

    @given(
        st.dictionaries(
            st.sampled_from(["skills", "prompts", "triggers", "webhooks", "prune", "parts", "x"]),
            st.recursive(
                st.none() | st.booleans() | st.text(max_size=3) | st.sampled_from(["a", "0" * 64]),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["id", "skill", "digest", "name"]), inner, max_size=3)
                ),
                max_leaves=6,
            ),
        ),
        st.sampled_from(["plan", "bodies", "publish", "subscriptions"]),
    )
    def test_any_payload_is_answered_or_refused(self, payload: JsonObject, function: str) -> None:
        assert isinstance(PublishingStage().asked(function, payload), Mapping | RegistryRefusal)


class TestRemotePublisher:
    def publisher(self, world: PublishingStage, said: list[str] | None = None) -> RemotePublisher:
        return RemotePublisher(world.ask, show_line=(said if said is not None else []).append)

    def run(self, world: PublishingStage, bodies: Mapping[str, str], said: list[str] | None = None) -> Sequence[str]:
        publication = CollectedPublication(bodies, [GREET])
        publisher = self.publisher(world, said)
        planned = publisher.plan(publication, prune=True)
        publisher.publish(publication, planned, prune=True)
        return [f"{change.sign} {change.name}" for change in planned]

    def test_only_new_bodies_are_sent_before_the_publication(self, stage: PublishingStage) -> None:
        assert self.run(stage, {"a": "# A", "b": "# B"}) == ["+ a", "+ b", "+ prompt:greet"]
        stage.sent.clear()
        assert self.run(stage, {"a": "# A", "b": "# B 2"}) == ["= a", "~ b", "= prompt:greet"]
        (sent,) = [payload for function, payload in stage.sent if function == "manifest::bodies"]
        assert sent == {"skills": [{"id": "b", "skill": "# B 2"}]}
        assert stage.read("iii://b") == "# B 2"

    def test_a_large_folder_is_sent_in_batches_and_published_as_one_change(self, stage: PublishingStage) -> None:
        bodies = {f"s{number:03}": f"# {number}\n\nWhat it says." for number in range(2 * MOST_AT_ONCE + 1)}
        said: list[str] = []
        assert len(self.run(stage, bodies, said)) == len(bodies) + 1
        assert said == [f"sent {sent} of 201 documents" for sent in (100, 200, 201)]
        assert len(stage.ids()) == 201
        assert stage.content.called_methods.count("apply") == 1
        (skill, *_) = stage.content.skills(TENANT)
        assert (skill.title, skill.description) == ("0", "What it says.")

    def test_batches_are_limited_by_their_size_as_json(self, stage: PublishingStage) -> None:
        self.run(stage, {f"s{number}": "\x01" * 250_000 for number in range(6)})
        sizes = [len(json.dumps(payload)) for function, payload in stage.sent if function == "manifest::bodies"]
        assert max(sizes) < 4_000_000
        assert len(sizes) == 3

    def test_a_publication_that_is_too_large_is_refused_before_it_is_sent(self, stage: PublishingStage) -> None:
        bodies = {f"{'a' * 60}/{'b' * 60}/{'c' * 60}/{'d' * 60}/{number}": "x" for number in range(20_000)}
        with pytest.raises(CommandFailed, match="The publication is too large"):
            self.publisher(stage).plan(CollectedPublication(bodies, None), prune=False)
        assert stage.sent == []


class TestRetryLoop:
    def persistent(self, *, lasting: float = 0) -> tuple[remote.RetryLoop, list[float], list[str]]:
        time, pauses, said = [0.0], list[float](), list[str]()

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            time[0] += seconds

        def clock() -> float:
            time[0] += lasting / 2  # looked at before and after an attempt
            return time[0]

        return remote.RetryLoop(clock, sleep, said.append), pauses, said

    def failing(self, times: int, fault: Exception) -> Callable[[], str]:
        left = [times]

        def attempt() -> str:
            left[0] -= 1
            if left[0] >= 0:
                raise fault
            return "done"

        return attempt

    def test_a_transient_failure_is_retried_after_growing_pauses(self) -> None:
        persistent, pauses, said = self.persistent()
        assert persistent.run(self.failing(3, Unavailable("Overloaded."))) == "done"
        assert pauses == [5, 10, 20]
        assert said[0] == "attempt 1 failed: Overloaded; next attempt in 5 s"

    def test_the_retry_loop_gives_up_after_seven_attempts(self) -> None:
        persistent, pauses, _ = self.persistent()
        with pytest.raises(CommandFailed, match="Given up after 7 attempts in 195 s: Overloaded"):
            persistent.run(self.failing(99, Unavailable("Overloaded.")))
        assert pauses == [5, 10, 20, 40, 60, 60]

    def test_a_refusal_is_not_retried(self) -> None:
        persistent, pauses, _ = self.persistent()
        with pytest.raises(CommandFailed, match="no"):
            persistent.run(self.failing(1, CommandFailed("no")))
        assert pauses == []


@pytest.mark.parametrize("credential", ["", "  "])
def test_an_empty_credential_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, credential: str
) -> None:
    """As it is when the command that should have printed one has failed."""
    monkeypatch.setenv(remote.AUTHORIZATION, credential)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    (tmp_path / "prompts.json").write_text(json.dumps([GREET]))
    assert main(["publish", str(tmp_path)]) == 1
    assert "is set, but empty" in capsys.readouterr().err


def test_publish_manifest_describes_the_command_without_connecting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["publish", "--manifest"]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["default_config"] == {
        "scopes": {"skills": "skills", "prompts": "prompts"},
        "state_timeout_ms": 10_000,
    }
    assert {"--prune", "--dry-run", "--config", "--url", "--manifest", "--help"} <= {
        option["name"] for option in described["options"]
    }


def test_publish_without_a_path_is_refused_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["publish"]) == 1
    assert "The path is missing" in capsys.readouterr().err


def test_an_invalid_folder_is_refused_before_a_request_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills/Bad.md").write_text("# B")
    assert main(["publish", str(tmp_path), "--url", "http://127.0.0.1:1"]) == 1
    assert "Bad.md" in capsys.readouterr().err
