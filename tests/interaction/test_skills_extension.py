"""Skill documents as Agent Skills (SEP-2640): enumerated, described, read and verified by a client of 2026-07-28."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest
import yaml

from signpost.content.agent_skills import tree
from signpost.content.callers import Caller
from signpost.content.model import SkillChange
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.mcp import pages
from signpost.mcp.revisions import LEGACY_VERSIONS
from signpost.mcp.surface import Surface
from signpost.model import JsonObject, Principal
from tests.support.memory_gateway import MemoryGateway

TENANT = "default"
OPERATOR = Principal("operator", TENANT, "signpost:operator")
SKILLS = "io.modelcontextprotocol/skills"
OWN = "---\nname: review\ndescription: Reviews code.\nmetadata:\n  version: '1.0'\n---\n\n# Review\n"


class VerifyingClient:
    """A client that takes nothing on trust: it checks whatever it reads against the digests it was given."""

    def __init__(self) -> None:
        self.gateway = MemoryGateway()
        self.key = str(self.gateway.make_key())

    def registers(self, skill_id: str, body: str, tenant: str | None = TENANT) -> None:
        caller = Caller(tenant, OPERATOR, self.gateway.clock.now() + 20)
        payload: JsonObject = {"id": skill_id, "skill": body}
        answer = self.gateway.composition.documents.functions.call("skills::register", payload, caller)
        assert isinstance(answer, dict), answer
        self.gateway.clock.advance(REVALIDATION_INTERVAL)

    def ask(self, method: str, params: JsonObject | None = None) -> Any:
        answer = self.gateway.request(method, params, credential=self.key)
        assert answer.status == 200, answer.text
        return answer.json["result"]

    def refused(self, method: str, params: JsonObject) -> Any:
        return self.gateway.request(method, params, credential=self.key).json["error"]

    def listed(self) -> list[Any]:
        entries: list[Any] = []
        cursor: JsonObject = {}
        while True:
            result = self.ask("skills/list", cursor)
            entries += result["skills"]
            if "nextCursor" not in result:
                return entries
            cursor = {"cursor": result["nextCursor"]}

    def get(self, skill_id: str) -> Any:
        return self.ask("skills/get", {"uri": f"skill://{skill_id}/SKILL.md"})["skill"]

    def read(self, uri: str) -> str:
        (content,) = self.ask("resources/read", {"uri": uri})["contents"]
        assert (content["uri"], content["mimeType"]) == (uri, "text/markdown")
        return content["text"]

    def directory(self, uri: str) -> list[tuple[str, str, str]]:
        children = self.ask("resources/directory/read", {"uri": uri})["resources"]
        return [(child["uri"], child["name"], child["mimeType"]) for child in children]

    def verifies(self, entry: Any) -> None:
        for file in entry["resources"]:
            written = self.read(file["uri"]).encode()
            assert (file["digest"], file["size"]) == (f"sha256:{hashlib.sha256(written).hexdigest()}", len(written))
        front_matter = yaml.safe_load(self.read(entry["uri"]).split("---\n")[1])
        assert front_matter == entry["frontmatter"]


@pytest.fixture
def verifier() -> VerifyingClient:
    return VerifyingClient()


def test_the_extension_is_advertised_where_it_is_served(verifier: VerifyingClient) -> None:
    assert verifier.ask("server/discover")["capabilities"]["extensions"] == {SKILLS: {"directoryRead": True}}
    verifier.gateway.serve_surface(Surface("bare", ""))
    assert "extensions" not in verifier.ask("server/discover")["capabilities"]


@pytest.mark.parametrize("method", ["skills/list", "skills/get", "resources/directory/read"])
def test_the_skill_methods_exist_only_in_the_newest_revision_with_a_provider(
    verifier: VerifyingClient, method: str
) -> None:
    params = {"uri": "skill://a/SKILL.md"}
    for version in LEGACY_VERSIONS:
        answer = verifier.gateway.request_legacy(method, params, version, verifier.key)
        assert (answer.status, answer.json["error"]["code"]) == (200, -32601)
    verifier.gateway.serve_surface(Surface("bare", ""))
    answer = verifier.gateway.request(method, params, credential=verifier.key)
    assert (answer.status, answer.json["error"]["code"]) == (404, -32601)


def test_the_extension_is_not_advertised_to_legacy_clients(verifier: VerifyingClient) -> None:
    client: JsonObject = {"name": "old", "version": "1"}
    params: JsonObject = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    answered = verifier.gateway.request_legacy("initialize", params, "2025-11-25", verifier.key).json["result"]
    assert answered["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}


def test_a_tenant_without_documents_has_an_empty_list_of_skills(verifier: VerifyingClient) -> None:
    result = verifier.ask("skills/list")
    assert (result["skills"], result["ttlMs"], result["cacheScope"]) == ([], 2000, "private")


def test_every_listed_digest_matches_the_read_file(verifier: VerifyingClient) -> None:
    verifier.registers("resend", "# Resend\n\nSends mail.")
    verifier.registers("resend/email/send", "# Send\r\n\r\nOne mail — “genau”.\r\n")
    verifier.registers("review", OWN)
    verifier.registers("jekyll", "---\ntitle: A page\nlayout: [a, {b: 1.5}]\n---\n# Page\n\nIs about something.")
    verifier.registers("rules", "---\n\nA paragraph between rules.\n\n---\n")
    verifier.registers("mistaken", "---\nname: mistaken\ndescription: with: a mistake\n---\n# Mistaken\n")
    verifier.registers("marked", "\ufeff" + OWN.replace("review", "marked"))
    verifier.registers("other-name", OWN)
    verifier.registers("long", f"---\nname: long\ndescription: {'words ' * 400}\n---\n# Long\n")
    entries = verifier.listed()
    assert len(entries) == 9
    for entry in entries:
        verifier.verifies(entry)
        assert verifier.get(entry["uri"][8:-9]) == entry


def test_front_matter_is_generated_from_title_and_description(verifier: VerifyingClient) -> None:
    verifier.registers("resend", "# Resend\n\nSends mail.")
    verifier.registers("titled", "# Only a title\n")
    assert verifier.read("skill://resend/SKILL.md") == (
        '---\nname: "resend"\ndescription: "Sends mail."\n---\n\n# Resend\n\nSends mail.'
    )
    assert verifier.get("titled")["frontmatter"] == {"name": "titled", "description": "Only a title"}


def test_front_matter_of_the_author_stays_unchanged(verifier: VerifyingClient) -> None:
    verifier.registers("review", OWN)
    assert verifier.read("skill://review/SKILL.md") == OWN
    assert verifier.get("review")["frontmatter"] == {
        "name": "review",
        "description": "Reviews code.",
        "metadata": {"version": "1.0"},
    }


def test_incomplete_front_matter_and_another_name_are_corrected(verifier: VerifyingClient) -> None:
    verifier.registers("page", "---\ntitle: A page\n---\n# Page\n\nIs about something.")
    verifier.registers("copy", OWN)
    assert verifier.get("page")["frontmatter"] == {
        "title": "A page",
        "name": "page",
        "description": "Is about something.",
    }
    assert verifier.get("copy")["frontmatter"]["name"] == "copy"
    assert verifier.read("skill://copy/SKILL.md").endswith("---\n\n# Review\n")


def test_a_skill_below_another_one_is_also_a_file_of_it(verifier: VerifyingClient) -> None:
    for skill_id in ("resend", "resend-more", "resend/email", "resend/email/send", "other/place"):
        verifier.registers(skill_id, f"# {skill_id}\n")
    files = {entry["uri"]: [file["uri"] for file in entry["resources"]] for entry in verifier.listed()}
    send, email = "skill://resend/email/send/SKILL.md", "skill://resend/email/SKILL.md"
    assert files["skill://resend/SKILL.md"] == ["skill://resend/SKILL.md", email, send]
    assert (files[email], files[send]) == ([email, send], [send])
    assert len(files) == 5


def test_directories_follow_from_the_ids(verifier: VerifyingClient) -> None:
    for skill_id in ("resend", "resend/email", "resend/email-more", "resend/email/send", "other/place"):
        verifier.registers(skill_id, f"# Title of {skill_id}\n")
    assert verifier.directory("skill://resend") == [
        ("skill://resend/SKILL.md", "resend", "text/markdown"),
        ("skill://resend/email", "email", "inode/directory"),
        ("skill://resend/email-more", "email-more", "inode/directory"),
    ]
    assert verifier.directory("skill://other") == [("skill://other/place", "place", "inode/directory")]
    (file,) = verifier.ask("resources/directory/read", {"uri": "skill://other/place"})["resources"]
    assert file["description"] == "Title of other/place"


def test_directories_are_paged_with_their_own_cursors(
    verifier: VerifyingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE_SIZE", 2)
    for skill_id in ("a", "a/b", "a/c", "b/b", "b/c", "b/d"):
        verifier.registers(skill_id, "# Title")
    first = verifier.ask("resources/directory/read", {"uri": "skill://a"})
    second = verifier.ask("resources/directory/read", {"uri": "skill://a", "cursor": first["nextCursor"]})
    assert [child["name"] for child in (*first["resources"], *second["resources"])] == ["a", "b", "c"]
    elsewhere: JsonObject = {"uri": "skill://b", "cursor": first["nextCursor"]}
    assert verifier.refused("resources/directory/read", elsewhere)["code"] == -32602


def test_lists_of_skills_are_paged(verifier: VerifyingClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_SIZE", 3)
    for number in range(8):
        verifier.registers(f"skill-{number}", "# Title")
    assert [entry["frontmatter"]["name"] for entry in verifier.listed()] == [f"skill-{number}" for number in range(8)]


@pytest.mark.parametrize("skill_id", ["under_score", "-a", "a-", "a--b", "a/b_c", "_/b"])
def test_documents_with_invalid_skill_names_are_only_at_their_iii_uri(verifier: VerifyingClient, skill_id: str) -> None:
    verifier.registers(skill_id, "# Title")
    verifier.registers("good", "# Title")
    assert [entry["uri"] for entry in verifier.listed()] == ["skill://good/SKILL.md"]
    assert verifier.ask("resources/read", {"uri": f"iii://{skill_id}"})["contents"][0]["text"] == "# Title"
    for method in ("skills/get", "resources/read"):
        assert verifier.refused(method, {"uri": f"skill://{skill_id}/SKILL.md"})["code"] == -32602
    assert verifier.refused("resources/directory/read", {"uri": f"skill://{skill_id}"})["code"] == -32602


def test_skill_uris_are_not_listed_as_resources(verifier: VerifyingClient) -> None:
    verifier.registers("resend", "# Resend\n\nSends mail.")
    listed = verifier.ask("resources/list")["resources"]
    assert [resource["uri"] for resource in listed] == ["iii://skills", "iii://resend"]
    assert verifier.ask("resources/read", {"uri": "iii://resend"})["contents"][0]["text"] == "# Resend\n\nSends mail."


NOWHERE = (
    "skill://nowhere/SKILL.md",
    "skill://resend",
    "skill://resend/",
    "skill://resend/skill.md",
    "skill://resend//SKILL.md",
    "skill://resend/../resend/SKILL.md",
    "skill://resend/%2e/SKILL.md",
    "skill://RESEND/SKILL.md",
    "SKILL://resend/SKILL.md",
    "skill:///SKILL.md",
    "skill://SKILL.md",
    "skill://",
    "skill://" + "a/" * 600 + "SKILL.md",
    "iii://resend",
    "",
)


@pytest.mark.parametrize("uri", NOWHERE)
def test_a_uri_of_no_skill_is_an_invalid_parameter(verifier: VerifyingClient, uri: str) -> None:
    verifier.registers("resend", "# Resend")
    error = verifier.refused("skills/get", {"uri": uri})
    assert (error["code"], error["data"]["uri"]) == (-32602, uri)
    if uri != "iii://resend":
        assert verifier.refused("resources/read", {"uri": uri})["code"] == -32602


@pytest.mark.parametrize(
    "uri", ["skill://resend/SKILL.md", "skill://resend/", "skill://", "skill://nowhere", "iii://resend", ""]
)
def test_a_uri_of_no_directory_is_an_invalid_parameter(verifier: VerifyingClient, uri: str) -> None:
    verifier.registers("resend", "# Resend")
    error = verifier.refused("resources/directory/read", {"uri": uri})
    assert (error["code"], error["data"]["uri"]) == (-32602, uri)


@pytest.mark.parametrize("method", ["skills/get", "resources/directory/read"])
@pytest.mark.parametrize("params", [{}, {"uri": None}, {"uri": 42}, {"uri": ["skill://a/SKILL.md"]}])
def test_parameters_without_a_valid_uri_are_refused(verifier: VerifyingClient, method: str, params: JsonObject) -> None:
    assert verifier.refused(method, params)["code"] == -32602


def test_a_changed_skill_has_its_new_digests_at_once(verifier: VerifyingClient) -> None:
    """Who finds that a digest does not agree asks again, and must not be answered the same."""
    verifier.registers("resend", "# Resend")
    verifier.registers("resend/email", "# Email")
    verifier.verifies(verifier.get("resend"))
    verifier.registers("resend/email", "# Another")
    verifier.verifies(verifier.get("resend"))


def test_a_skill_with_too_many_files_is_not_listed_and_skills_below_are(
    verifier: VerifyingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "MOST_FILES", 3)
    for skill_id in ("a", "a/b", "a/b/c", "a/d"):
        verifier.registers(skill_id, "# Title")
    assert [entry["uri"] for entry in verifier.listed()] == [
        f"skill://{skill_id}/SKILL.md" for skill_id in ("a/b", "a/b/c", "a/d")
    ]
    assert verifier.refused("skills/get", {"uri": "skill://a/SKILL.md"})["code"] == -32602
    assert len(verifier.directory("skill://a")) == 3


def test_a_skill_that_is_too_large_is_not_listed(verifier: VerifyingClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "LARGEST_SKILL", 200)
    for skill_id in ("a", "a/b"):
        verifier.registers(skill_id, f"# Title\n\n{'words ' * 10}")
    assert [entry["uri"] for entry in verifier.listed()] == ["skill://a/b/SKILL.md"]


@pytest.mark.parametrize("form", [None, 0])
def test_skills_stored_by_an_earlier_release_are_described_from_their_bodies(
    verifier: VerifyingClient, form: int | None
) -> None:
    for skill_id, body in (("resend", "# Resend\n\nSends mail."), ("review", OWN)):
        verifier.registers(skill_id, body)
        skill = verifier.gateway.adapters.content.skill(TENANT, skill_id).own
        assert skill is not None
        assert skill.manifest is not None
        earlier = None if form is None else replace(skill.manifest, form=form, digest="0" * 64)
        verifier.gateway.adapters.content.apply(TENANT, [SkillChange(skill_id, replace(skill, manifest=earlier))])
    entries = verifier.listed()
    assert [entry["frontmatter"]["description"] for entry in entries] == ["Sends mail.", "Reviews code."]
    for entry in entries:
        verifier.verifies(entry)


def test_own_skills_hide_shipped_ones_and_other_tenants_are_not_visible(verifier: VerifyingClient) -> None:
    verifier.registers("shared", "# Shipped", tenant=None)
    verifier.registers("resend", "# Resend")
    verifier.registers("shared", "# Own")
    assert [entry["frontmatter"]["description"] for entry in verifier.listed()] == ["Resend", "Own"]
    verifier.verifies(verifier.get("shared"))
    verifier.key = str(verifier.gateway.make_key("umbrella"))
    assert [entry["frontmatter"]["description"] for entry in verifier.listed()] == ["Shipped"]
    assert verifier.refused("skills/get", {"uri": "skill://resend/SKILL.md"})["code"] == -32602
    assert verifier.refused("resources/read", {"uri": "skill://resend/SKILL.md"})["code"] == -32602


def test_lists_read_no_bodies(verifier: VerifyingClient) -> None:
    verifier.registers("resend", "# Resend")
    verifier.registers("review", OWN)

    class Unreadable:
        def keep(self, tenant: str | None, digest: str, body: bytes) -> None: ...

        def read(self, tenant: str | None, digest: str) -> bytes:
            raise AssertionError((tenant, digest))

    verifier.gateway.replace_adapters(bodies=Unreadable())
    assert len(verifier.listed()) == 2
    assert verifier.get("review")["frontmatter"]["name"] == "review"
    assert len(verifier.directory("skill://review")) == 1
