"""What a deployment ships: a folder `skills` beside the code, and perhaps a file of prompts."""

from pathlib import Path
from typing import Any

from signpost.adapters.skill_folder import skills_in
from signpost.adapters.written_files import SUFFIXES, Unreadable, parsed
from signpost.registry.skill_trees import Shipped


def shipped_in(folder: Path) -> Shipped:
    skills, problems = skills_in(folder / "skills"), list[str]()
    prompts: Any = []
    for path in (found for suffix in SUFFIXES if (found := folder / f"prompts{suffix}").is_file()):
        try:
            prompts = parsed(path)
        except Unreadable as fault:
            problems.append(str(fault))
    return Shipped(skills.skills, prompts, [*skills.problems, *problems])
