"""What files of skills may be called, and what they are."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.adapters.dynamodb.content_rows import size_of
from signpost.adapters.dynamodb.content_store import LARGEST_ENTRY
from signpost.content.agent_skills.files import (
    DEEPEST_PATH,
    FORBIDDEN,
    LONGEST_PATH,
    MOST_FILES,
    find_collisions,
    mime_type_of,
    path_in,
    possible_owners,
    problem_with_file,
    uri_path,
)
from signpost.content.agent_skills.skill_md import LONGEST_DESCRIPTION, LONGEST_FRONT_MATTER
from signpost.content.documents import LONGEST_TITLE
from signpost.content.model import Skill, SkillChange, SkillMd, StoredFile
from signpost.model import JsonObject

GOOD = (
    "a", "LICENSE", "README.md", "references/FORMS.md", "scripts/extract_v2.py", "a b/c (1).txt", "C#.md", "übung.md",
    "日本語/説明.md", "v1.2/x", "a..b", "..a", "CONSOLE.md", "auxiliary/x", "a,b;c=d@e!f",
    "SKILL.md.bak", "my-skill.md",
)  # fmt: skip
BAD = {
    "": "no name",
    "../x": ". or ..",
    "a/../b": ". or ..",
    "a/../../x": ". or ..",
    "..": ". or ..",
    ".": ". or ..",
    "./x": ". or ..",
    "a/./b": ". or ..",
    "/etc/passwd": "absolute",
    "//host/share": "absolute",
    "C:/x": "drive",
    "c:x": "drive",
    "C:\\x": "backslash",
    "..\\x": "backslash",
    "\\\\host\\share": "backslash",
    "a\\b": "backslash",
    "a\0b": "unprintable",
    "a\nb": "unprintable",
    "a\x7fb": "unprintable",
    "a\x85b": "unprintable",
    "a\u202egnp.md": "unprintable",
    "a\u200bb": "unprintable",
    "a\U000e0041": "unprintable",
    "a\u2028b": "unprintable",
    "a\u00a0b": "unprintable",
    "a\ud800": "unprintable",
    "a//b": "empty part",
    "a/": "empty part",
    "a ": "space",
    "a./b": "dot",
    " a": "space",
    "a/b.": "dot",
    "ab:c": "one of",
    ".../x": "dot",
    "a/x.txt:stream": "one of",
    "a?": "one of",
    "a*": "one of",
    "a|b": "one of",
    "%2e%2e/x": "one of",
    '"a"': "one of",
    "NUL": "device",
    "a/con.txt": "device",
    "COM1.md": "device",
    "Aux/x": "device",
    "SKILL.md": "SKILL.md",
    "skill.md": "SKILL.md",
    "a/Skill.MD": "SKILL.md",
    "\uff33\uff2b\uff29\uff2c\uff2c.md": "SKILL.md",
    "\u017fkill.md": "SKILL.md",
    "x" * (LONGEST_PATH + 1): "more than 200 bytes",
    "é" * 101: "more than 200 bytes",
    "/".join("a" * (DEEPEST_PATH + 1)): "parts",
}  # fmt: skip


@pytest.mark.parametrize("path", GOOD)
def test_a_portable_path_is_accepted(path: str) -> None:
    assert problem_with_file(path) is None


@pytest.mark.parametrize("path", BAD)
def test_s233_a_path_that_leads_out_or_is_not_portable_is_refused(path: str) -> None:
    assert BAD[path] in (problem_with_file(path) or "")


@given(st.text(max_size=40))
def test_any_path_is_judged_and_an_accepted_one_stays_in_its_folder(path: str) -> None:
    if problem_with_file(path) is None:
        parts = path.split("/")
        assert not {"", ".", ".."} & set(parts)
        assert not set(path) & set(FORBIDDEN + "\\\0")
        assert path_in(uri_path(path)) == path_in(path) == path
        assert uri_path(path).isascii()


COLLISIONS: Mapping[tuple[str, ...], set[str]] = {
    ("a", "a"): {"a"},
    ("README.md", "readme.md"): {"readme.md"},
    ("straße", "STRASSE"): {"STRASSE"},
    ("caf\u00e9", "cafe\u0301"): {"cafe\u0301"},
    ("\ufb01le", "file"): {"file"},
    ("\u212a", "k"): {"k"},
    ("a", "a/b"): {"a"},
    ("A", "a/b"): {"A"},
    ("docs/a", "Docs/b"): {"Docs/b"},
    ("x/y/a", "x/Y/b"): {"x/Y/b"},
    ("a/b", "a/c", "b"): set[str](),
    ("a-b", "a_b"): set[str](),
}


@pytest.mark.parametrize("paths", COLLISIONS)
def test_paths_that_collide_on_some_file_systems_are_found(paths: tuple[str, ...]) -> None:
    assert {path for path, _ in find_collisions(paths)} == COLLISIONS[paths]


@pytest.mark.parametrize(
    ("path", "body", "mime_type"),
    [
        ("a.md", b"# A", "text/markdown"),
        ("a.PY", b"x", "text/x-python"),
        ("LICENSE", b"MIT", "text/plain"),
        ("md", b"x", "text/plain"),
        ("a.toml", "ü".encode(), "text/plain"),
        ("a.md", b"\xff\xfe", "application/octet-stream"),
        ("a.txt", b"a\0b", "application/octet-stream"),
        ("a.bin", b"\x89\x00", "application/octet-stream"),
        ("a.pdf", b"%PDF-1.4", "application/pdf"),
        ("a.svg", b"<svg/>", "image/svg+xml"),
        ("a.zip", b"PK", "application/zip"),
    ],
)
def test_a_mime_type_follows_from_name_and_bytes(path: str, body: bytes, mime_type: str) -> None:
    assert mime_type_of(path, body) == mime_type


def test_a_file_may_belong_to_each_folder_above_it() -> None:
    assert list(possible_owners("a/b/c.txt")) == [("a/b", "c.txt"), ("a", "b/c.txt")]
    assert list(possible_owners("a")) == []
    assert len(list(possible_owners("/".join("a" * 600)))) == DEEPEST_PATH


@pytest.mark.parametrize("text", ["a%2Fb", "%41", "a%2e", "a%zz", "a%ff", "%2e%2e/a"])
def test_a_path_has_one_encoded_form(text: str) -> None:
    found = path_in(text)
    assert found is None or problem_with_file(found) is not None


def test_the_largest_skill_that_may_be_published_fits_into_its_row() -> None:
    path = "\U0001f600" * (LONGEST_PATH // 4)
    files = tuple(StoredFile(path, "f" * 64, 3_000_000, "application/octet-stream") for _ in range(MOST_FILES - 1))
    front_matter: JsonObject = {"name": "x" * 64, "description": "\U0001f600" * LONGEST_DESCRIPTION}
    front_matter = {**front_matter, "metadata": "\U0001f600" * LONGEST_FRONT_MATTER}
    manifest = SkillMd(1, "f" * 64, 300_000, front_matter)
    title = "\x01" * LONGEST_TITLE
    skill = Skill(
        "x" * 1024, title, "\x01" * 143, 262_144, "2026-11-18T12:00:00.000000+00:00", "f" * 64, manifest, files
    )
    assert size_of(SkillChange(skill.id, skill)) < LARGEST_ENTRY
