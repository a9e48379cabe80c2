"""Reads the content that a deployment ships: a folder `skills` beside the code, and optionally a file of prompts."""

from pathlib import Path
from typing import Any

from signpost.adapters.skill_folder import skills_in
from signpost.adapters.source_files import SUFFIXES, UnreadableFile, read_values
from signpost.content.agent_skills.folders import ShippedContent


def read_shipped(folder: Path) -> ShippedContent:
    skills, problems = skills_in(folder / "skills"), list[str]()
    prompts: Any = []
    for path in (file for suffix in SUFFIXES if (file := folder / f"prompts{suffix}").is_file()):
        try:
            prompts = read_values(path)
        except UnreadableFile as fault:
            problems.append(str(fault))
    return ShippedContent(skills.skills, prompts, [*skills.problems, *problems])
