"""Skill documents as Agent Skills (SEP-2640): enumerated, described, read and verified by a client of 2026-07-28."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest
import yaml

from signpost.content.agent_skills import tree
from signpost.content.callers import Caller
from signpost.content.model import SkillChange
from signpost.mcp import pages
from signpost.mcp.revisions import LEGACY_VERSIONS
from signpost.mcp.surface import Surface
from signpost.model import JsonObject, Principal
from tests.support.memory_gateway import MemoryGateway

TENANT = "default"
OPERATOR = Principal("operator", TENANT, "signpost:operator")
SKILLS = "io.modelcontextprotocol/skills"
OWN = "---\nname: review\ndescription: Reviews code.\nmetadata:\n  version: '1.0'\n---\n\n# Review\n"


class Host:
    """A client that takes nothing on trust: it checks whatever it reads against the digests it was given."""

    def __init__(self) -> None:
        self.gateway = MemoryGateway()
        self.key = str(self.gateway.make_key())

    def registers(self, skill_id: str, body: str, tenant: str | None = TENANT) -> None:
        caller = Caller(tenant, OPERATOR, self.gateway.clock.now() + 20)
        payload: JsonObject = {"id": skill_id, "skill": body}
        answer = self.gateway.composition.documents.functions.call("skills::register", payload, caller)
        assert isinstance(answer, dict), answer

    def ask(self, method: str, params: JsonObject | None = None) -> Any:
        answer = self.gateway.ask(method, params, credential=self.key)
        assert answer.status == 200, answer.text
        return answer.json["result"]

    def refused(self, method: str, params: JsonObject) -> Any:
        return self.gateway.ask(method, params, credential=self.key).json["error"]

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
def host() -> Host:
    return Host()


def test_the_extension_is_advertised_where_it_is_served(host: Host) -> None:
    assert host.ask("server/discover")["capabilities"]["extensions"] == {SKILLS: {"directoryRead": True}}
    host.gateway.serve(Surface("bare", ""))
    assert "extensions" not in host.ask("server/discover")["capabilities"]


@pytest.mark.parametrize("method", ["skills/list", "skills/get", "resources/directory/read"])
def test_its_methods_exist_in_the_newest_revision_and_with_a_provider_only(host: Host, method: str) -> None:
    params = {"uri": "skill://a/SKILL.md"}
    for version in LEGACY_VERSIONS:
        answer = host.gateway.ask_legacy(method, params, version, host.key)
        assert (answer.status, answer.json["error"]["code"]) == (200, -32601)
    host.gateway.serve(Surface("bare", ""))
    answer = host.gateway.ask(method, params, credential=host.key)
    assert (answer.status, answer.json["error"]["code"]) == (404, -32601)


def test_older_revisions_are_not_told_of_it(host: Host) -> None:
    client: JsonObject = {"name": "old", "version": "1"}
    params: JsonObject = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    answered = host.gateway.ask_legacy("initialize", params, "2025-11-25", host.key).json["result"]
    assert answered["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}


def test_without_documents_nothing_is_listed(host: Host) -> None:
    result = host.ask("skills/list")
    assert (result["skills"], result["ttlMs"], result["cacheScope"]) == ([], 2000, "private")


def test_every_digest_is_of_what_is_read(host: Host) -> None:
    host.registers("resend", "# Resend\n\nSends mail.")
    host.registers("resend/email/send", "# Send\r\n\r\nOne mail — “genau”.\r\n")
    host.registers("review", OWN)
    host.registers("jekyll", "---\ntitle: A page\nlayout: [a, {b: 1.5}]\n---\n# Page\n\nIs about something.")
    host.registers("rules", "---\n\nA paragraph between rules.\n\n---\n")
    host.registers("mistaken", "---\nname: mistaken\ndescription: with: a mistake\n---\n# Mistaken\n")
    host.registers("marked", "\ufeff" + OWN.replace("review", "marked"))
    host.registers("other-name", OWN)
    host.registers("long", f"---\nname: long\ndescription: {'words ' * 400}\n---\n# Long\n")
    entries = host.listed()
    assert len(entries) == 9
    for entry in entries:
        host.verifies(entry)
        assert host.get(entry["uri"][8:-9]) == entry


def test_the_front_matter_is_made_of_title_and_description(host: Host) -> None:
    host.registers("resend", "# Resend\n\nSends mail.")
    host.registers("titled", "# Only a title\n")
    assert host.read("skill://resend/SKILL.md") == (
        '---\nname: "resend"\ndescription: "Sends mail."\n---\n\n# Resend\n\nSends mail.'
    )
    assert host.get("titled")["frontmatter"] == {"name": "titled", "description": "Only a title"}


def test_a_front_matter_of_the_authors_own_stays_as_it_is(host: Host) -> None:
    host.registers("review", OWN)
    assert host.read("skill://review/SKILL.md") == OWN
    assert host.get("review")["frontmatter"] == {
        "name": "review",
        "description": "Reviews code.",
        "metadata": {"version": "1.0"},
    }


def test_a_front_matter_that_says_too_little_or_another_name_is_completed(host: Host) -> None:
    host.registers("page", "---\ntitle: A page\n---\n# Page\n\nIs about something.")
    host.registers("copy", OWN)
    assert host.get("page")["frontmatter"] == {
        "title": "A page",
        "name": "page",
        "description": "Is about something.",
    }
    assert host.get("copy")["frontmatter"]["name"] == "copy"
    assert host.read("skill://copy/SKILL.md").endswith("---\n\n# Review\n")


def test_what_is_below_a_skill_is_a_file_of_it_and_a_skill_of_its_own(host: Host) -> None:
    for skill_id in ("resend", "resend-more", "resend/email", "resend/email/send", "other/place"):
        host.registers(skill_id, f"# {skill_id}\n")
    files = {entry["uri"]: [file["uri"] for file in entry["resources"]] for entry in host.listed()}
    send, email = "skill://resend/email/send/SKILL.md", "skill://resend/email/SKILL.md"
    assert files["skill://resend/SKILL.md"] == ["skill://resend/SKILL.md", email, send]
    assert (files[email], files[send]) == ([email, send], [send])
    assert len(files) == 5


def test_directories_follow_from_the_ids(host: Host) -> None:
    for skill_id in ("resend", "resend/email", "resend/email-more", "resend/email/send", "other/place"):
        host.registers(skill_id, f"# Title of {skill_id}\n")
    assert host.directory("skill://resend") == [
        ("skill://resend/SKILL.md", "resend", "text/markdown"),
        ("skill://resend/email", "email", "inode/directory"),
        ("skill://resend/email-more", "email-more", "inode/directory"),
    ]
    assert host.directory("skill://other") == [("skill://other/place", "place", "inode/directory")]
    (file,) = host.ask("resources/directory/read", {"uri": "skill://other/place"})["resources"]
    assert file["description"] == "Title of other/place"


def test_directories_have_pages_of_their_own(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_SIZE", 2)
    for skill_id in ("a", "a/b", "a/c", "b/b", "b/c", "b/d"):
        host.registers(skill_id, "# Title")
    first = host.ask("resources/directory/read", {"uri": "skill://a"})
    second = host.ask("resources/directory/read", {"uri": "skill://a", "cursor": first["nextCursor"]})
    assert [child["name"] for child in (*first["resources"], *second["resources"])] == ["a", "b", "c"]
    elsewhere: JsonObject = {"uri": "skill://b", "cursor": first["nextCursor"]}
    assert host.refused("resources/directory/read", elsewhere)["code"] == -32602


def test_lists_come_in_pages(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_SIZE", 3)
    for number in range(8):
        host.registers(f"skill-{number}", "# Title")
    assert [entry["frontmatter"]["name"] for entry in host.listed()] == [f"skill-{number}" for number in range(8)]


@pytest.mark.parametrize("skill_id", ["under_score", "-a", "a-", "a--b", "a/b_c", "_/b"])
def test_ids_that_are_no_names_stay_where_they_were(host: Host, skill_id: str) -> None:
    host.registers(skill_id, "# Title")
    host.registers("good", "# Title")
    assert [entry["uri"] for entry in host.listed()] == ["skill://good/SKILL.md"]
    assert host.ask("resources/read", {"uri": f"iii://{skill_id}"})["contents"][0]["text"] == "# Title"
    for method in ("skills/get", "resources/read"):
        assert host.refused(method, {"uri": f"skill://{skill_id}/SKILL.md"})["code"] == -32602
    assert host.refused("resources/directory/read", {"uri": f"skill://{skill_id}"})["code"] == -32602


def test_its_uris_are_read_and_not_listed(host: Host) -> None:
    host.registers("resend", "# Resend\n\nSends mail.")
    listed = host.ask("resources/list")["resources"]
    assert [resource["uri"] for resource in listed] == ["iii://skills", "iii://resend"]
    assert host.ask("resources/read", {"uri": "iii://resend"})["contents"][0]["text"] == "# Resend\n\nSends mail."


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
def test_what_is_no_skill_is_an_invalid_parameter(host: Host, uri: str) -> None:
    host.registers("resend", "# Resend")
    error = host.refused("skills/get", {"uri": uri})
    assert (error["code"], error["data"]["uri"]) == (-32602, uri)
    if uri != "iii://resend":
        assert host.refused("resources/read", {"uri": uri})["code"] == -32602


@pytest.mark.parametrize(
    "uri", ["skill://resend/SKILL.md", "skill://resend/", "skill://", "skill://nowhere", "iii://resend", ""]
)
def test_what_is_no_directory_is_an_invalid_parameter(host: Host, uri: str) -> None:
    host.registers("resend", "# Resend")
    error = host.refused("resources/directory/read", {"uri": uri})
    assert (error["code"], error["data"]["uri"]) == (-32602, uri)


@pytest.mark.parametrize("method", ["skills/get", "resources/directory/read"])
@pytest.mark.parametrize("params", [{}, {"uri": None}, {"uri": 42}, {"uri": ["skill://a/SKILL.md"]}])
def test_what_has_no_uri_is_an_invalid_parameter(host: Host, method: str, params: JsonObject) -> None:
    assert host.refused(method, params)["code"] == -32602


def test_a_changed_skill_is_described_anew_at_once(host: Host) -> None:
    """Who finds that a digest does not agree asks again, and must not be answered the same."""
    host.registers("resend", "# Resend")
    host.registers("resend/email", "# Email")
    host.verifies(host.get("resend"))
    host.registers("resend/email", "# Another")
    host.verifies(host.get("resend"))


def test_a_skill_of_too_many_files_is_left_out_and_those_below_it_are_not(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "MOST_FILES", 3)
    for skill_id in ("a", "a/b", "a/b/c", "a/d"):
        host.registers(skill_id, "# Title")
    assert [entry["uri"] for entry in host.listed()] == [
        f"skill://{skill_id}/SKILL.md" for skill_id in ("a/b", "a/b/c", "a/d")
    ]
    assert host.refused("skills/get", {"uri": "skill://a/SKILL.md"})["code"] == -32602
    assert len(host.directory("skill://a")) == 3


def test_a_skill_that_is_too_large_is_left_out(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "LARGEST_SKILL", 200)
    for skill_id in ("a", "a/b"):
        host.registers(skill_id, f"# Title\n\n{'words ' * 10}")
    assert [entry["uri"] for entry in host.listed()] == ["skill://a/b/SKILL.md"]


@pytest.mark.parametrize("form", [None, 0])
def test_rows_of_an_earlier_release_are_described_from_their_bodies(host: Host, form: int | None) -> None:
    for skill_id, body in (("resend", "# Resend\n\nSends mail."), ("review", OWN)):
        host.registers(skill_id, body)
        skill = host.gateway.adapters.content.skill(TENANT, skill_id).own
        assert skill is not None
        assert skill.manifest is not None
        earlier = None if form is None else replace(skill.manifest, form=form, digest="0" * 64)
        host.gateway.adapters.content.apply(TENANT, [SkillChange(skill_id, replace(skill, manifest=earlier))])
    entries = host.listed()
    assert [entry["frontmatter"]["description"] for entry in entries] == ["Sends mail.", "Reviews code."]
    for entry in entries:
        host.verifies(entry)


def test_a_tenant_sees_its_own_before_what_is_shipped_and_nothing_of_another(host: Host) -> None:
    host.registers("shared", "# Shipped", tenant=None)
    host.registers("resend", "# Resend")
    host.registers("shared", "# Own")
    assert [entry["frontmatter"]["description"] for entry in host.listed()] == ["Resend", "Own"]
    host.verifies(host.get("shared"))
    host.key = str(host.gateway.make_key("umbrella"))
    assert [entry["frontmatter"]["description"] for entry in host.listed()] == ["Shipped"]
    assert host.refused("skills/get", {"uri": "skill://resend/SKILL.md"})["code"] == -32602
    assert host.refused("resources/read", {"uri": "skill://resend/SKILL.md"})["code"] == -32602


def test_lists_read_no_bodies(host: Host) -> None:
    host.registers("resend", "# Resend")
    host.registers("review", OWN)

    class Unreadable:
        def keep(self, tenant: str | None, digest: str, body: bytes) -> None: ...

        def read(self, tenant: str | None, digest: str) -> bytes:
            raise AssertionError((tenant, digest))

    host.gateway.exchange(bodies=Unreadable())
    assert len(host.listed()) == 2
    assert host.get("review")["frontmatter"]["name"] == "review"
    assert len(host.directory("skill://review")) == 1
