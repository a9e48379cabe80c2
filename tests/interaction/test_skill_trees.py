"""Agent Skills with files, from a publication to a client that verifies what it reads."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pytest

from signpost.adapters.clock import SystemTimestamps
from signpost.catalogue.publishing.publish_functions import PublishFunctions
from signpost.catalogue.publishing.publisher import Publisher
from signpost.content.agent_skills import files as skill_files
from signpost.content.agent_skills import tree
from signpost.content.agent_skills.files import LARGEST_FILE
from signpost.content.api.errors import RegistryRefusal
from signpost.content.callers import Caller
from signpost.mcp.dispatch import LONGEST_ANSWER
from signpost.model import Json, JsonObject, Principal
from tests.support.catalogues import build_catalogue_publisher
from tests.support.memory_gateway import MemoryGateway

TENANT = "default"
FORMS, LOGO = b"# Forms\r\n\r\nAsk \xe2\x80\x9cwho\xe2\x80\x9d.\n", b"\x89PNG\r\n\0\xff"
TREE: Mapping[str, bytes] = {
    "references/FORMS.md": FORMS,
    "assets/logo.png": LOGO,
    "assets/My Notes.txt": b"notes",
    "LICENSE": b"MIT",
    "empty": b"",
}


def skill_md(name: str, description: str = "Fills forms.") -> str:
    return f"---\nname: {name}\ndescription: {description}\nlicense: MIT\n---\n\n# A skill\n\nSee references.\n"


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


class SkillTreeStage:
    """A publisher, and a client of the tenant it publishes for."""

    def __init__(self) -> None:
        self.gateway = MemoryGateway()
        self.key = str(self.gateway.make_key())
        adapters = self.gateway.adapters
        publisher = Publisher(
            content=adapters.content,
            catalogues=build_catalogue_publisher(adapters.content),
            bodies=adapters.bodies,
            timestamps=SystemTimestamps(),
        )
        self._manifests = PublishFunctions(publisher)

    def _caller(self, tenant: str | None) -> Caller:
        principal = Principal("operator", tenant or TENANT, "signpost:operator")
        return Caller(tenant, principal, self.gateway.clock.now() + 20, fresh=True)

    def manifest(self, function: str, payload: JsonObject, tenant: str | None = TENANT) -> Any:
        answer = self._manifests.call(f"manifest::{function}", json.loads(json.dumps(payload)), self._caller(tenant))
        return answer if isinstance(answer, RegistryRefusal) else json.loads(json.dumps(answer))

    def publish(self, skills: Mapping[str, Mapping[str, bytes]], tenant: str | None = TENANT) -> Any:
        """Skills by id, with the files beside each."""
        entries = [entry(skill_id, files) for skill_id, files in skills.items()]
        sent = [sent_file(path, body) for files in skills.values() for path, body in files.items()]
        answer = self.manifest("publish", {"skills": entries, "files": sent, "prune": True}, tenant)
        assert not isinstance(answer, RegistryRefusal), answer
        return answer

    def problems(self, function: str, payload: JsonObject) -> str:
        answer = self.manifest(function, payload)
        assert isinstance(answer, RegistryRefusal), answer
        listed: Any = answer.data["problems"]
        return " ".join(problem["message"] for problem in listed)

    def register(self, skill_id: str, body: str) -> None:
        payload: JsonObject = {"id": skill_id, "skill": body}
        functions = self.gateway.composition.documents.functions
        assert not isinstance(functions.call("skills::register", payload, self._caller(TENANT)), RegistryRefusal)

    def ask(self, method: str, params: JsonObject | None = None) -> Any:
        answer = self.gateway.request(method, params, credential=self.key)
        return answer.json.get("result", answer.json.get("error"))

    def read(self, uri: str) -> bytes | None:
        """The bytes, as a host would write them to its disk."""
        answer = self.ask("resources/read", {"uri": uri})
        if "contents" not in answer:
            assert answer["code"] == -32602
            return None
        (content,) = answer["contents"]
        assert content["uri"] == uri
        return base64.b64decode(content["blob"]) if "blob" in content else content["text"].encode()

    def get(self, skill_id: str) -> Any:
        entry = self.ask("skills/get", {"uri": f"skill://{skill_id}/SKILL.md"})["skill"]
        for file in entry["resources"]:
            body = self.read(file["uri"])
            assert body is not None
            assert (file["digest"], file["size"]) == (f"sha256:{digest(body)}", len(body)), file["uri"]
        return entry

    def files_of(self, skill_id: str) -> list[str]:
        return [file["uri"] for file in self.get(skill_id)["resources"]]

    def directory(self, uri: str) -> list[tuple[str, str]]:
        children = self.ask("resources/directory/read", {"uri": uri}).get("resources", ())
        return [(child["name"], child["mimeType"]) for child in children]


def entry(skill_id: str, files: Mapping[str, bytes]) -> JsonObject:
    named: Json = [{"path": path, "digest": digest(body)} for path, body in files.items()]
    return {"id": skill_id, "skill": skill_md(skill_id.rpartition("/")[2]), "files": named}


def sent_file(path: str, body: bytes) -> JsonObject:
    return {"path": path, "base64": base64.b64encode(body).decode()}


@pytest.fixture
def stage() -> SkillTreeStage:
    return SkillTreeStage()


class TestReading:
    def test_every_file_is_read_as_published_and_matches_its_listed_digest(self, stage: SkillTreeStage) -> None:
        stage.publish({"office/pdf": TREE})
        files = stage.files_of("office/pdf")
        assert files == [
            "skill://office/pdf/SKILL.md",
            "skill://office/pdf/LICENSE",
            "skill://office/pdf/assets/My%20Notes.txt",
            "skill://office/pdf/assets/logo.png",
            "skill://office/pdf/empty",
            "skill://office/pdf/references/FORMS.md",
        ]
        (listed,) = stage.ask("skills/list")["skills"]
        assert [file["uri"] for file in listed["resources"]] == files
        assert stage.read("skill://office/pdf/references/FORMS.md") == FORMS
        assert stage.read("skill://office/pdf/assets/logo.png") == LOGO

    def test_text_files_are_sent_as_text_and_other_files_as_blobs(self, stage: SkillTreeStage) -> None:
        stage.publish({"pdf": {**TREE, "broken.txt": b"\xff", "large.txt": b'"' * LARGEST_FILE}})
        kinds = {
            file: next(iter({"text", "blob"} & content.keys())) + " " + content["mimeType"]
            for file in ("references/FORMS.md", "assets/logo.png", "LICENSE", "broken.txt", "large.txt")
            for content in stage.ask("resources/read", {"uri": f"skill://pdf/{file}"})["contents"]
        }
        assert kinds == {
            "references/FORMS.md": "text text/markdown",
            "assets/logo.png": "blob image/png",
            "LICENSE": "text text/plain",
            "broken.txt": "blob application/octet-stream",
            "large.txt": "blob text/plain",  # as JSON it would be too long
        }
        assert stage.read("skill://pdf/large.txt") == b'"' * LARGEST_FILE
        assert LARGEST_FILE * 4 // 3 < LONGEST_ANSWER

    def test_a_file_is_read_by_its_encoded_and_unencoded_uri(self, stage: SkillTreeStage) -> None:
        stage.publish({"pdf": {"assets/My Notes.txt": b"notes", "\u00fcbung.md": b"x"}})
        for uri in ("assets/My%20Notes.txt", "assets/My Notes.txt"):
            assert stage.read(f"skill://pdf/{uri}") == b"notes"
        for uri in ("\u00fcbung.md", "%C3%BCbung.md"):
            assert stage.read(f"skill://pdf/{uri}") == b"x"

    @pytest.mark.parametrize(
        "uri",
        [
            "skill://pdf/nowhere.md",
            "skill://pdf/references",
            "skill://pdf/references/",
            "skill://pdf/references/forms.md",
            "skill://pdf//references/FORMS.md",
            "skill://pdf/references/../references/FORMS.md",
            "skill://pdf/references/%46ORMS.md",
            "skill://pdf/references%2FFORMS.md",
            "skill://pdf/../pdf/LICENSE",
            "skill://other/references/FORMS.md",
            "skill:///references/FORMS.md",
            "skill://references/FORMS.md",
            "skill://pdf/a/b/c/d/e/f/g/h/i/j/k",
            "iii://pdf/references/FORMS.md",
            "SKILL://pdf/LICENSE",
            "file://pdf/LICENSE",
        ],
    )
    def test_other_uris_are_not_found(self, stage: SkillTreeStage, uri: str) -> None:
        stage.publish({"pdf": TREE})
        assert stage.read(uri) is None

    def test_the_document_is_the_same_at_both_uris(self, stage: SkillTreeStage) -> None:
        stage.publish({"pdf": TREE})
        assert stage.read("iii://pdf") == stage.read("skill://pdf/SKILL.md") == skill_md("pdf").encode()

    def test_files_are_not_listed_as_resources(self, stage: SkillTreeStage) -> None:
        stage.publish({"pdf": TREE})
        uris = [resource["uri"] for resource in stage.ask("resources/list")["resources"]]
        assert uris == ["iii://skills", "iii://pdf"]

    def test_a_directory_lists_its_direct_children(self, stage: SkillTreeStage) -> None:
        stage.publish({"office/pdf": TREE, "office/pdf/nested": {"a.txt": b"A"}})
        assert stage.directory("skill://office") == [("pdf", "inode/directory")]
        assert stage.directory("skill://office/pdf") == [
            ("pdf", "text/markdown"),
            ("LICENSE", "text/plain"),
            ("assets", "inode/directory"),
            ("empty", "text/plain"),
            ("nested", "inode/directory"),
            ("references", "inode/directory"),
        ]
        assert stage.directory("skill://office/pdf/assets") == [
            ("My Notes.txt", "text/plain"),
            ("logo.png", "image/png"),
        ]
        assert stage.directory("skill://office/pdf/nested") == [("nested", "text/markdown"), ("a.txt", "text/plain")]
        for nowhere in ("office/pdf/LICENSE", "office/pdf/", "office/pdf/assets/", "office//pdf", "pdf", ""):
            assert stage.directory(f"skill://{nowhere}") == []

    def test_every_child_of_a_directory_can_be_read(self, stage: SkillTreeStage) -> None:
        stage.publish({"pdf": {**TREE, "a b/c d.txt": b"1"}})

        def walk(uri: str) -> list[str]:
            children = stage.ask("resources/directory/read", {"uri": uri})["resources"]
            folders = [child["uri"] for child in children if child["mimeType"] == "inode/directory"]
            files = [child["uri"] for child in children if child["mimeType"] != "inode/directory"]
            return [*files, *(found for folder in folders for found in walk(folder))]

        assert sorted(walk("skill://pdf")) == sorted(stage.files_of("pdf"))


class TestNesting:
    def test_files_of_an_inner_skill_belong_to_the_outer_skill_too(self, stage: SkillTreeStage) -> None:
        stage.publish({"a": {"x.txt": b"x"}, "a/b": {"y.txt": b"y"}, "a/b/c": {}})
        assert stage.files_of("a") == [
            "skill://a/SKILL.md", "skill://a/x.txt", "skill://a/b/SKILL.md", "skill://a/b/y.txt", "skill://a/b/c/SKILL.md",
        ]  # fmt: skip
        assert stage.files_of("a/b") == ["skill://a/b/SKILL.md", "skill://a/b/y.txt", "skill://a/b/c/SKILL.md"]

    def test_a_file_of_the_inner_skill_hides_one_of_the_outer_skill(self, stage: SkillTreeStage) -> None:
        stage.publish({"a": {"b/x.txt": b"outer", "b/only": b"outer"}})
        entry_, files = entry("a/b", {"x.txt": b"inner"}), [sent_file("x.txt", b"inner")]
        stage.manifest("publish", {"skills": [entry_], "files": files})
        assert stage.read("skill://a/b/x.txt") == b"inner"
        assert stage.read("skill://a/b/only") == b"outer"
        assert sorted(stage.files_of("a")) == [
            "skill://a/SKILL.md", "skill://a/b/SKILL.md", "skill://a/b/only", "skill://a/b/x.txt",
        ]  # fmt: skip
        assert [name for name, _ in stage.directory("skill://a/b")] == ["b", "only", "x.txt"]

    def test_an_outer_skill_over_the_limits_is_not_listed(
        self, stage: SkillTreeStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tree, "MOST_FILES", 4)
        stage.publish({"a": {"x": b"x"}, "a/b": {"y": b"y", "z": b"z"}})
        assert [skill["uri"] for skill in stage.ask("skills/list")["skills"]] == ["skill://a/b/SKILL.md"]
        monkeypatch.setattr(tree, "MOST_FILES", 5)
        monkeypatch.setattr(tree, "LARGEST_SKILL", 300)
        assert len(stage.ask("skills/list")["skills"]) == 2
        stage.publish({"a": {"x": b"x"}, "a/b": {"y": b"y", "z": b"z" * 300}})
        stage.gateway.clock.advance(2)  # lists may lag
        assert stage.ask("skills/list")["skills"] == []


class TestChanging:
    def test_a_changed_file_is_a_changed_skill_with_its_event(self, stage: SkillTreeStage) -> None:
        stage.publish({"pdf": TREE})
        answer = stage.publish({"pdf": {**TREE, "LICENSE": b"Apache"}})
        assert (answer["skills"]["changed"], answer["skills"]["same"]) == (["pdf"], [])
        assert answer["sequence"] == 2
        assert stage.read("skill://pdf/LICENSE") == b"Apache"
        assert stage.publish({"pdf": {**TREE, "LICENSE": b"Apache"}})["skills"]["same"] == ["pdf"]
        fewer = {path: body for path, body in TREE.items() if path != "LICENSE"}
        assert stage.publish({"pdf": fewer})["skills"]["changed"] == ["pdf"]
        assert stage.read("skill://pdf/LICENSE") is None
        stage.get("pdf")

    def test_registering_the_document_removes_its_files(self, stage: SkillTreeStage) -> None:
        stage.publish({"pdf": TREE})
        stage.register("pdf", "# Only this")
        assert stage.files_of("pdf") == ["skill://pdf/SKILL.md"]
        assert stage.read("skill://pdf/LICENSE") is None

    def test_a_pruned_skill_has_no_files(self, stage: SkillTreeStage) -> None:
        stage.publish({"pdf": TREE})
        assert stage.publish({})["skills"]["removed"] == ["pdf"]
        assert stage.read("skill://pdf/LICENSE") is None

    def test_a_plan_names_only_bodies_that_are_not_stored(self, stage: SkillTreeStage) -> None:
        rows = [
            {"id": name, "digest": digest(skill_md(name).encode()), "files": file_rows(TREE)} for name in ("a", "b")
        ]
        unsent = stage.manifest("plan", {"skills": rows})["unsent"]
        assert sorted(file["path"] for file in unsent) == sorted(TREE)
        stage.publish({"a": TREE})
        assert stage.manifest("plan", {"skills": rows})["unsent"] == []
        moved: JsonObject = {"skills": [{**rows[0], "files": file_rows({"COPYING": b"MIT"})}]}
        assert [file["path"] for file in stage.manifest("plan", moved)["unsent"]] == ["COPYING"]

    def test_a_publication_uses_bodies_sent_ahead_by_their_part(self, stage: SkillTreeStage) -> None:
        body = skill_md("pdf")
        sent = stage.manifest(
            "bodies", {"skills": [{"id": "pdf", "skill": body}], "files": [sent_file(*one) for one in TREE.items()]}
        )
        row: JsonObject = {"id": "pdf", "digest": digest(body.encode()), "files": file_rows(TREE)}
        stage.manifest("publish", {"skills": [row], "parts": [sent["part"]]})
        stage.get("pdf")
        assert len(stage.files_of("pdf")) == len(TREE) + 1


def file_rows(files: Mapping[str, bytes]) -> Json:
    return [{"path": path, "digest": digest(body)} for path, body in files.items()]


class TestTenants:
    def test_files_of_another_tenant_cannot_be_read_or_referenced(self, stage: SkillTreeStage) -> None:
        stage.publish({"pdf": TREE}, tenant="umbrella")
        assert stage.read("skill://pdf/LICENSE") is None
        rows: JsonObject = {"skills": [entry("pdf", {"LICENSE": b"MIT"})]}
        assert "was not sent" in stage.problems("publish", rows)

    def test_a_shipped_skill_has_files_and_is_hidden_by_an_own_one(self, stage: SkillTreeStage) -> None:
        stage.publish({"pdf": TREE}, tenant=None)
        stage.get("pdf")
        assert stage.read("skill://pdf/LICENSE") == b"MIT"
        stage.register("pdf", "# Own")
        assert stage.read("skill://pdf/LICENSE") is None


def skill_with_files(*paths: str, skill_id: str = "a", digest: str = "0" * 64) -> JsonObject:
    return {"id": skill_id, "skill": "x", "files": [{"path": path, "digest": digest} for path in paths]}


REFUSED: Mapping[str, tuple[JsonObject, str]] = {
    "a path that leads out": (skill_with_files("../x"), "has a part . or .."),
    "an absolute path": (skill_with_files("/x"), "absolute"),
    "a second SKILL.md": (skill_with_files("skill.MD"), "SKILL.md"),
    "no digest": (skill_with_files("x", digest="0"), "SHA-256"),
    "no list": ({"id": "a", "skill": "x", "files": {"x": "0" * 64}}, "must be a list"),
    "no object": ({"id": "a", "skill": "x", "files": ["x"]}, "must be {path, digest}"),
    "an id that is no name": (skill_with_files("x", skill_id="a_b"), "names of Agent Skills"),
    "twice the same": (skill_with_files("x", "x"), "occurs twice"),
    "two that are one": (skill_with_files("x", "X"), "is x in another case or Unicode form"),
    "a file and a folder": (skill_with_files("x", "x/y"), "both a file and a folder"),
    "too many": (skill_with_files(*(f"x{number}" for number in range(512))), "512 files at most"),
    "a body that nobody sent": (skill_with_files("x"), "was not sent"),
}


class TestRefusals:
    @pytest.mark.parametrize("name", REFUSED)
    def test_an_invalid_skill_refuses_the_whole_publication(self, stage: SkillTreeStage, name: str) -> None:
        wrong, says = REFUSED[name]
        fine: JsonObject = {"id": "fine", "skill": "# Fine"}
        assert says in stage.problems("publish", {"skills": [fine, wrong]})
        assert stage.ask("skills/list")["skills"] == []

    @pytest.mark.parametrize(
        ("file", "says"),
        [
            ({"path": "../x", "base64": ""}, "has a part . or .."),
            ({"path": "x", "base64": "not base64!"}, "in base64"),
            ({"path": "x", "base64": "\u00fc"}, "in base64"),
            ({"path": "x"}, "missing"),
            ("x", "{path, base64}"),
            ({"path": "x", "base64": base64.b64encode(b"0" * (LARGEST_FILE + 1)).decode()}, "too large"),
        ],
    )
    @pytest.mark.parametrize("function", ["bodies", "publish"])
    def test_an_invalid_body_is_refused(self, stage: SkillTreeStage, function: str, file: Json, says: str) -> None:
        assert says in stage.problems(function, {"files": [file]})

    def test_the_total_size_of_the_files_of_a_skill_is_limited(
        self, stage: SkillTreeStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(skill_files, "LARGEST_SKILL", 200)
        sent: Json = [sent_file("x", b"x" * 100), sent_file("y", b"y" * 100)]
        payload: JsonObject = {"skills": [entry("a", {"x": b"x" * 100, "y": b"y" * 100})], "files": sent}
        assert "200 bytes at most" in stage.problems("publish", payload)

    def test_a_file_at_the_path_of_another_skill_is_refused(self, stage: SkillTreeStage) -> None:
        skills: Json = [entry("a", {"b": b"1", "c/d": b"1"}), entry("a/b/x", {}), entry("a/c", {"d": b"1"})]
        said = stage.problems("publish", {"skills": skills, "files": [sent_file("b", b"1"), sent_file("d", b"1")]})
        assert said.count("is also the path of another skill or of one of its files") == 3

    def test_a_file_cannot_be_used_as_a_part(self, stage: SkillTreeStage) -> None:
        forged = json.dumps({"skills": [], "files": [{"path": "x", "digest": "0" * 64, "size": 1, "mime_type": "a/b"}]})
        stage.publish({"a": {"part.json": forged.encode()}})
        rows: JsonObject = {"skills": [entry("b", {"x": b"?"})], "parts": [digest(forged.encode())]}
        assert "does not have this part" in stage.problems("publish", rows)
