"""`signpost publish` on a deployed stack: a folder in, a document out, and what the stack ships itself."""

import base64
import shutil
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from signpost.identity.permissions import ADMINISTRATION
from tests.support.commands import ProcessRunner
from tests.support.laptop import Laptop, MakeKey, Stack

pytestmark = pytest.mark.cloud

DOCUMENTS = 120
"""More than a transaction takes, and more than go in one batch."""


@pytest.fixture(scope="module")
def registry_stack(laptop: Laptop) -> Stack:
    return laptop.deploy("publishing", AuthMode="both")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    skills = tmp_path / "skills" / "handbook"
    skills.mkdir(parents=True)
    (skills / "index.md").write_text("# Handbook\n\nWhere to begin.\n")
    for number in range(1, DOCUMENTS):
        (skills / f"page-{number:03}.md").write_text(f"# Page {number}\n\nWhat page {number} says.\n")
    greet = "- name: greet\n  description: Greets somebody.\n  function_id: demo::greet\n  arguments: [{name: who}]\n"
    (tmp_path / "prompts.yaml").write_text(greet)
    return tmp_path


def run_publish(signpost: ProcessRunner, folder: Path, *options: str) -> tuple[list[str], str]:
    """The lines of the diff, and the one that sums it up."""
    done = signpost("publish", str(folder), "--stack", "publishing", *options)
    assert done.returncode == 0, done.stderr
    *diff, summary = done.stdout.splitlines()
    return diff, summary


def list_handbook_uris(registry: Stack, key: str) -> list[str]:
    resources = registry.request(key, "resources/list").json["result"]["resources"]
    return [resource["uri"] for resource in resources if "handbook" in resource["uri"]]


def test_a_folder_is_published_read_published_again_and_pruned(
    registry_stack: Stack, signpost: ProcessRunner, make_key: MakeKey, folder: Path
) -> None:
    key = make_key(registry_stack)
    diff, summary = run_publish(signpost, folder, "--dry-run")
    assert (len(diff), {line[0] for line in diff}) == (DOCUMENTS + 1, {"+"})
    assert summary.startswith("would be published: 121 added")

    first = signpost("publish", str(folder), "--stack", "publishing", "--prune")
    assert first.returncode == 0, first.stderr
    assert "+ handbook/page-119" in first.stdout.splitlines()
    assert f"sent {DOCUMENTS} of {DOCUMENTS} documents" in first.stderr
    read = registry_stack.request(key, "resources/read", {"uri": "iii://handbook/page-007"}).json
    assert "result" in read, read
    assert read["result"]["contents"][0]["text"] == "# Page 7\n\nWhat page 7 says.\n"
    assert len(list_handbook_uris(registry_stack, key)) == DOCUMENTS
    assert registry_stack.request(key, "prompts/list").json["result"]["prompts"][0]["name"] == "greet"

    diff, _ = run_publish(signpost, folder, "--prune")
    assert {line[0] for line in diff} == {"="}

    for path in (folder / "skills/handbook").glob("page-1*.md"):
        path.unlink()
    (folder / "skills/handbook/index.md").write_text("# Handbook\n\nIt got shorter.\n")
    diff, summary = run_publish(signpost, folder, "--prune")
    assert (diff[0], [line for line in diff if line[0] == "-"][-1]) == ("~ handbook", "- handbook/page-119")
    assert summary == "published: 0 added, 1 changed, 100 same, 20 removed"
    gone = registry_stack.request(key, "resources/read", {"uri": "iii://handbook/page-119"}).json
    assert gone["error"]["code"] == -32602


def test_a_folder_with_problems_is_reported_and_not_published(
    registry_stack: Stack, signpost: ProcessRunner, folder: Path
) -> None:
    del registry_stack  # it must be there
    (folder / "skills/Bad.md").write_text("# Bad")
    (folder / "skills/empty.md").write_text("")
    done = signpost("publish", str(folder), "--stack", "publishing")
    assert done.returncode == 1
    assert "Problems to fix: 2\n" in done.stderr
    assert done.stdout == ""


FILES = {
    "pdf/SKILL.md": b"---\nname: pdf\ndescription: Fills forms.\n---\n\n# PDF\n\nSee `references/FORMS.md`.\n",
    "pdf/references/FORMS.md": b"# Forms\r\n",
    "pdf/assets/logo.png": b"\x89PNG\r\n\0" + bytes(range(256)) * 40,
    "pdf/assets/large.bin": b"".join(sha256(b"%d" % number).digest() for number in range(90_000)),
    "pdf/nested/SKILL.md": b"---\nname: nested\ndescription: Lies inside.\n---\n",
}


def pack_skills(folder: Path, how: str) -> Path:
    """A folder with the skills, or an archive of it."""
    for path, body in FILES.items():
        (folder / "skills" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "skills" / path).write_bytes(body)
    return folder if how == "folder" else Path(shutil.make_archive(str(folder / "packed"), how, folder / "skills"))


def read_verified_skill(registry: Stack, key: str, skill: str) -> dict[str, bytes]:
    """What a host that trusts nothing reads of a skill, by path."""
    entry = registry.request(key, "skills/get", {"uri": f"skill://{skill}/SKILL.md"}).json["result"]["skill"]
    read = dict[str, bytes]()
    for file in entry["resources"]:
        (content,) = registry.request(key, "resources/read", {"uri": file["uri"]}).json["result"]["contents"]
        body = base64.b64decode(content["blob"]) if "blob" in content else content["text"].encode()
        assert (f"sha256:{sha256(body).hexdigest()}", len(body)) == (file["digest"], file["size"])
        read[file["uri"].removeprefix("skill://")] = body
    return read


@pytest.mark.invariant(41)
@pytest.mark.parametrize("how", ["folder", "zip", "gztar"])
def test_a_tree_of_agent_skills_is_published_and_verified_by_a_client(
    registry_stack: Stack, signpost: ProcessRunner, tmp_path: Path, how: str
) -> None:
    path = pack_skills(tmp_path, how)
    tenant = f"trees-{how}"
    permission = ("--permission", ADMINISTRATION)
    key = signpost("keys", "create", "author", "--tenant", tenant, *permission, "--stack", "publishing").stdout.strip()
    done = signpost("publish", str(path), "--stack", "publishing", SIGNPOST_AUTHORIZATION=key)
    assert done.stdout.splitlines() == ["+ pdf", "+ pdf/nested", "published: 2 added, 0 changed, 0 same, 0 removed"], (
        done
    )
    assert read_verified_skill(registry_stack, key, "pdf") == FILES
    assert set(read_verified_skill(registry_stack, key, "pdf/nested")) == {"pdf/nested/SKILL.md"}
    children = registry_stack.request(key, "resources/directory/read", {"uri": "skill://pdf/assets"}).json["result"][
        "resources"
    ]
    assert [child["name"] for child in children] == ["large.bin", "logo.png"]
    again = signpost("publish", str(path), "--stack", "publishing", SIGNPOST_AUTHORIZATION=key)
    assert again.stdout.splitlines()[:2] == ["= pdf", "= pdf/nested"]


def test_an_archive_that_leads_out_of_its_folder_is_refused(
    registry_stack: Stack, signpost: ProcessRunner, tmp_path: Path, make_key: MakeKey
) -> None:
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr("evil/SKILL.md", "---\nname: evil\ndescription: Leads out.\n---\n")
        archive.writestr("../../outside.txt", "x")
    done = signpost("publish", str(tmp_path / "evil.zip"), "--stack", "publishing")
    assert (done.returncode, done.stdout) == (1, "")
    assert "'../../outside.txt' has a part . or .." in done.stderr
    assert (
        "error"
        in registry_stack.request(make_key(registry_stack), "resources/read", {"uri": "skill://evil/SKILL.md"}).json
    )


def test_a_publication_to_a_missing_stack_fails_without_retries(
    registry_stack: Stack, signpost: ProcessRunner, folder: Path
) -> None:
    del registry_stack  # the emulator must be there
    done = signpost("publish", str(folder), "--stack", "nowhere")
    assert done.returncode == 1
    assert "nowhere" in done.stderr
    assert "next attempt" not in done.stderr


def test_every_tenant_reads_shipped_content_until_it_is_disabled(
    registry_stack: Stack, signpost: ProcessRunner, make_key: MakeKey
) -> None:
    key = make_key(registry_stack)
    read = registry_stack.request(key, "resources/read", {"uri": "iii://signpost"}).json
    assert read["result"]["contents"][0]["text"].startswith("# Signpost\n")
    for link in ("reading", "calling", "writing"):
        assert "result" in registry_stack.request(key, "resources/read", {"uri": f"iii://signpost/{link}"}).json
    signpost("settings", "set", "shipped_content", "0", "--stack", "publishing")
    try:
        assert "error" in registry_stack.request(key, "resources/read", {"uri": "iii://signpost"}).json
    finally:
        signpost("settings", "unset", "shipped_content", "--stack", "publishing")
