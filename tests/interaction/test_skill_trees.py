"""Agent Skills with files, from a publication to a client that verifies what it reads."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pytest

from signpost.adapters.clock import SystemTimestamps
from signpost.catalogue.publishing.publisher import Publisher, PublishFunctions
from signpost.content.agent_skills import files as skill_files
from signpost.content.agent_skills import tree
from signpost.content.agent_skills.files import LARGEST_FILE
from signpost.content.api.errors import RegistryRefusal
from signpost.content.callers import Caller
from signpost.mcp.dispatch import LONGEST_ANSWER
from signpost.model import Json, JsonObject, Principal
from tests.support.catalogues import catalogues
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


class World:
    """A publisher, and a client of the tenant it publishes for."""

    def __init__(self) -> None:
        self.gateway = MemoryGateway()
        self.key = str(self.gateway.make_key())
        adapters = self.gateway.adapters
        publisher = Publisher(
            content=adapters.content,
            catalogues=catalogues(adapters.content),
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
        answer = self.gateway.ask(method, params, credential=self.key)
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
def world() -> World:
    return World()


class TestReading:
    def test_every_file_is_read_as_it_was_published_under_the_digest_that_is_listed(self, world: World) -> None:
        world.publish({"office/pdf": TREE})
        files = world.files_of("office/pdf")
        assert files == [
            "skill://office/pdf/SKILL.md",
            "skill://office/pdf/LICENSE",
            "skill://office/pdf/assets/My%20Notes.txt",
            "skill://office/pdf/assets/logo.png",
            "skill://office/pdf/empty",
            "skill://office/pdf/references/FORMS.md",
        ]
        (listed,) = world.ask("skills/list")["skills"]
        assert [file["uri"] for file in listed["resources"]] == files
        assert world.read("skill://office/pdf/references/FORMS.md") == FORMS
        assert world.read("skill://office/pdf/assets/logo.png") == LOGO

    def test_text_is_sent_as_text_and_anything_else_as_a_blob(self, world: World) -> None:
        world.publish({"pdf": {**TREE, "broken.txt": b"\xff", "large.txt": b'"' * LARGEST_FILE}})
        kinds = {
            file: next(iter({"text", "blob"} & content.keys())) + " " + content["mimeType"]
            for file in ("references/FORMS.md", "assets/logo.png", "LICENSE", "broken.txt", "large.txt")
            for content in world.ask("resources/read", {"uri": f"skill://pdf/{file}"})["contents"]
        }
        assert kinds == {
            "references/FORMS.md": "text text/markdown",
            "assets/logo.png": "blob image/png",
            "LICENSE": "text text/plain",
            "broken.txt": "blob application/octet-stream",
            "large.txt": "blob text/plain",  # as JSON it would be too long
        }
        assert world.read("skill://pdf/large.txt") == b'"' * LARGEST_FILE
        assert LARGEST_FILE * 4 // 3 < LONGEST_ANSWER

    def test_a_relative_link_leads_there_encoded_or_not(self, world: World) -> None:
        world.publish({"pdf": {"assets/My Notes.txt": b"notes", "\u00fcbung.md": b"x"}})
        for uri in ("assets/My%20Notes.txt", "assets/My Notes.txt"):
            assert world.read(f"skill://pdf/{uri}") == b"notes"
        for uri in ("\u00fcbung.md", "%C3%BCbung.md"):
            assert world.read(f"skill://pdf/{uri}") == b"x"

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
    def test_nothing_else_is_there(self, world: World, uri: str) -> None:
        world.publish({"pdf": TREE})
        assert world.read(uri) is None

    def test_the_document_is_what_it_was_at_its_own_address(self, world: World) -> None:
        world.publish({"pdf": TREE})
        assert world.read("iii://pdf") == world.read("skill://pdf/SKILL.md") == skill_md("pdf").encode()

    def test_files_are_on_no_list_of_resources(self, world: World) -> None:
        world.publish({"pdf": TREE})
        uris = [resource["uri"] for resource in world.ask("resources/list")["resources"]]
        assert uris == ["iii://skills", "iii://pdf"]

    def test_directories_have_what_is_directly_in_them(self, world: World) -> None:
        world.publish({"office/pdf": TREE, "office/pdf/nested": {"a.txt": b"A"}})
        assert world.directory("skill://office") == [("pdf", "inode/directory")]
        assert world.directory("skill://office/pdf") == [
            ("pdf", "text/markdown"),
            ("LICENSE", "text/plain"),
            ("assets", "inode/directory"),
            ("empty", "text/plain"),
            ("nested", "inode/directory"),
            ("references", "inode/directory"),
        ]
        assert world.directory("skill://office/pdf/assets") == [
            ("My Notes.txt", "text/plain"),
            ("logo.png", "image/png"),
        ]
        assert world.directory("skill://office/pdf/nested") == [("nested", "text/markdown"), ("a.txt", "text/plain")]
        for nowhere in ("office/pdf/LICENSE", "office/pdf/", "office/pdf/assets/", "office//pdf", "pdf", ""):
            assert world.directory(f"skill://{nowhere}") == []

    def test_every_child_of_a_directory_can_be_read(self, world: World) -> None:
        world.publish({"pdf": {**TREE, "a b/c d.txt": b"1"}})

        def walk(uri: str) -> list[str]:
            children = world.ask("resources/directory/read", {"uri": uri})["resources"]
            folders = [child["uri"] for child in children if child["mimeType"] == "inode/directory"]
            files = [child["uri"] for child in children if child["mimeType"] != "inode/directory"]
            return [*files, *(found for folder in folders for found in walk(folder))]

        assert sorted(walk("skill://pdf")) == sorted(world.files_of("pdf"))


class TestNesting:
    def test_the_files_of_an_inner_skill_are_also_the_outer_ones(self, world: World) -> None:
        world.publish({"a": {"x.txt": b"x"}, "a/b": {"y.txt": b"y"}, "a/b/c": {}})
        assert world.files_of("a") == [
            "skill://a/SKILL.md", "skill://a/x.txt", "skill://a/b/SKILL.md", "skill://a/b/y.txt", "skill://a/b/c/SKILL.md",
        ]  # fmt: skip
        assert world.files_of("a/b") == ["skill://a/b/SKILL.md", "skill://a/b/y.txt", "skill://a/b/c/SKILL.md"]

    def test_where_both_have_a_file_it_is_the_inner_ones(self, world: World) -> None:
        world.publish({"a": {"b/x.txt": b"outer", "b/only": b"outer"}})
        entry_, files = entry("a/b", {"x.txt": b"inner"}), [sent_file("x.txt", b"inner")]
        world.manifest("publish", {"skills": [entry_], "files": files})
        assert world.read("skill://a/b/x.txt") == b"inner"
        assert world.read("skill://a/b/only") == b"outer"
        assert sorted(world.files_of("a")) == [
            "skill://a/SKILL.md", "skill://a/b/SKILL.md", "skill://a/b/only", "skill://a/b/x.txt",
        ]  # fmt: skip
        assert [name for name, _ in world.directory("skill://a/b")] == ["b", "only", "x.txt"]

    def test_together_they_may_be_too_much(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tree, "MOST_FILES", 4)
        world.publish({"a": {"x": b"x"}, "a/b": {"y": b"y", "z": b"z"}})
        assert [skill["uri"] for skill in world.ask("skills/list")["skills"]] == ["skill://a/b/SKILL.md"]
        monkeypatch.setattr(tree, "MOST_FILES", 5)
        monkeypatch.setattr(tree, "LARGEST_SKILL", 300)
        assert len(world.ask("skills/list")["skills"]) == 2
        world.publish({"a": {"x": b"x"}, "a/b": {"y": b"y", "z": b"z" * 300}})
        world.gateway.clock.advance(2)  # lists may lag
        assert world.ask("skills/list")["skills"] == []


class TestChanging:
    def test_a_changed_file_is_a_changed_skill_with_its_event(self, world: World) -> None:
        world.publish({"pdf": TREE})
        answer = world.publish({"pdf": {**TREE, "LICENSE": b"Apache"}})
        assert (answer["skills"]["changed"], answer["skills"]["same"]) == (["pdf"], [])
        assert answer["sequence"] == 2
        assert world.read("skill://pdf/LICENSE") == b"Apache"
        assert world.publish({"pdf": {**TREE, "LICENSE": b"Apache"}})["skills"]["same"] == ["pdf"]
        fewer = {path: body for path, body in TREE.items() if path != "LICENSE"}
        assert world.publish({"pdf": fewer})["skills"]["changed"] == ["pdf"]
        assert world.read("skill://pdf/LICENSE") is None
        world.get("pdf")

    def test_registering_the_document_replaces_all_of_it(self, world: World) -> None:
        world.publish({"pdf": TREE})
        world.register("pdf", "# Only this")
        assert world.files_of("pdf") == ["skill://pdf/SKILL.md"]
        assert world.read("skill://pdf/LICENSE") is None

    def test_what_is_pruned_has_no_files_any_more(self, world: World) -> None:
        world.publish({"pdf": TREE})
        assert world.publish({})["skills"]["removed"] == ["pdf"]
        assert world.read("skill://pdf/LICENSE") is None

    def test_bodies_are_kept_once_and_sent_once(self, world: World) -> None:
        rows = [{"id": name, "digest": digest(skill_md(name).encode()), "files": named(TREE)} for name in ("a", "b")]
        unsent = world.manifest("plan", {"skills": rows})["unsent"]
        assert sorted(file["path"] for file in unsent) == sorted(TREE)
        world.publish({"a": TREE})
        assert world.manifest("plan", {"skills": rows})["unsent"] == []
        moved: JsonObject = {"skills": [{**rows[0], "files": named({"COPYING": b"MIT"})}]}
        assert [file["path"] for file in world.manifest("plan", moved)["unsent"]] == ["COPYING"]

    def test_a_part_vouches_for_what_was_sent_ahead(self, world: World) -> None:
        body = skill_md("pdf")
        sent = world.manifest(
            "bodies", {"skills": [{"id": "pdf", "skill": body}], "files": [sent_file(*one) for one in TREE.items()]}
        )
        row: JsonObject = {"id": "pdf", "digest": digest(body.encode()), "files": named(TREE)}
        world.manifest("publish", {"skills": [row], "parts": [sent["part"]]})
        world.get("pdf")
        assert len(world.files_of("pdf")) == len(TREE) + 1


def named(files: Mapping[str, bytes]) -> Json:
    return [{"path": path, "digest": digest(body)} for path, body in files.items()]


class TestTenants:
    def test_nobody_reads_or_names_the_files_of_another(self, world: World) -> None:
        world.publish({"pdf": TREE}, tenant="umbrella")
        assert world.read("skill://pdf/LICENSE") is None
        rows: JsonObject = {"skills": [entry("pdf", {"LICENSE": b"MIT"})]}
        assert "was not sent" in world.problems("publish", rows)

    def test_what_is_shipped_has_files_and_lies_under_what_the_tenant_has(self, world: World) -> None:
        world.publish({"pdf": TREE}, tenant=None)
        world.get("pdf")
        assert world.read("skill://pdf/LICENSE") == b"MIT"
        world.register("pdf", "# Own")
        assert world.read("skill://pdf/LICENSE") is None


def with_files(*paths: str, skill_id: str = "a", digest: str = "0" * 64) -> JsonObject:
    return {"id": skill_id, "skill": "x", "files": [{"path": path, "digest": digest} for path in paths]}


REFUSED: Mapping[str, tuple[JsonObject, str]] = {
    "a path that leads out": (with_files("../x"), "has a part . or .."),
    "an absolute path": (with_files("/x"), "absolute"),
    "a second SKILL.md": (with_files("skill.MD"), "SKILL.md"),
    "no digest": (with_files("x", digest="0"), "SHA-256"),
    "no list": ({"id": "a", "skill": "x", "files": {"x": "0" * 64}}, "must be a list"),
    "no object": ({"id": "a", "skill": "x", "files": ["x"]}, "must be {path, digest}"),
    "an id that is no name": (with_files("x", skill_id="a_b"), "names of Agent Skills"),
    "twice the same": (with_files("x", "x"), "occurs twice"),
    "two that are one": (with_files("x", "X"), "is x in another case or Unicode form"),
    "a file and a folder": (with_files("x", "x/y"), "both a file and a folder"),
    "too many": (with_files(*(f"x{number}" for number in range(512))), "512 files at most"),
    "a body that nobody sent": (with_files("x"), "was not sent"),
}


class TestWhatIsRefused:
    @pytest.mark.parametrize("name", REFUSED)
    def test_a_skill_with_it_is_not_published_and_nothing_else_is(self, world: World, name: str) -> None:
        wrong, says = REFUSED[name]
        fine: JsonObject = {"id": "fine", "skill": "# Fine"}
        assert says in world.problems("publish", {"skills": [fine, wrong]})
        assert world.ask("skills/list")["skills"] == []

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
    def test_a_body_that_is_none_is_refused(self, world: World, function: str, file: Json, says: str) -> None:
        assert says in world.problems(function, {"files": [file]})

    def test_all_files_of_a_skill_together_have_so_many_bytes(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(skill_files, "LARGEST_SKILL", 200)
        sent: Json = [sent_file("x", b"x" * 100), sent_file("y", b"y" * 100)]
        payload: JsonObject = {"skills": [entry("a", {"x": b"x" * 100, "y": b"y" * 100})], "files": sent}
        assert "200 bytes at most" in world.problems("publish", payload)

    def test_no_file_stands_where_another_skill_is(self, world: World) -> None:
        skills: Json = [entry("a", {"b": b"1", "c/d": b"1"}), entry("a/b/x", {}), entry("a/c", {"d": b"1"})]
        said = world.problems("publish", {"skills": skills, "files": [sent_file("b", b"1"), sent_file("d", b"1")]})
        assert said.count("is also the path of another skill or of one of its files") == 3

    def test_a_document_cannot_pose_as_a_file_nor_a_file_as_a_part(self, world: World) -> None:
        forged = json.dumps({"skills": [], "files": [{"path": "x", "digest": "0" * 64, "size": 1, "mime_type": "a/b"}]})
        world.publish({"a": {"part.json": forged.encode()}})
        rows: JsonObject = {"skills": [entry("b", {"x": b"?"})], "parts": [digest(forged.encode())]}
        assert "does not have this part" in world.problems("publish", rows)
