"""Rows of skill documents as the previous release wrote them, and as the next one may."""

import json
from dataclasses import replace

from signpost.content.changes import SKILLS, text_of
from signpost.content.documents import build_skill
from signpost.content.model import SkillChange

SKILL = build_skill(
    "a/b", "---\nname: b\ndescription: Text.\nmetadata: {version: [1, '2']}\n---\n# Title\n", "2026-11-18"
)


def test_a_skill_md_is_read_from_its_row_unchanged() -> None:
    assert SKILL.manifest is not None
    assert SKILL.manifest.front_matter is not None
    assert SKILLS.read("a/b", text_of(SkillChange("a/b", SKILL)) or "") == SKILL


def test_a_row_of_an_earlier_release_has_no_skill_md() -> None:
    members = json.loads(text_of(SkillChange("a/b", SKILL)) or "")
    del members["manifest"]
    assert SKILLS.read("a/b", json.dumps(members)) == replace(SKILL, manifest=None)


def test_unknown_members_of_a_stored_skill_md_are_ignored() -> None:
    members = json.loads(text_of(SkillChange("a/b", SKILL)) or "")
    members["manifest"]["files"] = []
    assert SKILLS.read("a/b", json.dumps(members)) == SKILL
